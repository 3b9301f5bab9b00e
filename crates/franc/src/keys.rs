//! Who may speak, and who may read. HMAC-SHA-256 (RFC 2104) derives keys, SipHash-2-4
//! (Aumasson, Bernstein: "SipHash: a fast short-input PRF") tags each datagram from hop
//! to hop with 8 bytes, ChaCha20-Poly1305 (RFC 8439) seals symbols from end to end.
//!
//! A session's keys follow from the shared key and one fresh nonce of each end, so what
//! was recorded in one session means nothing in another. A symbol's place (block and
//! index) is its AEAD nonce and is used once. Helpers and recoders have the hop key,
//! which follows from the shared key and not the other way round. Not protected: lengths
//! and times of datagrams, and a link whose own hop-key holders forge ENC datagrams (what
//! comes out of the decoder then fails its seal and is not delivered).

use crate::config::{KEY_BYTES, Key, Keys};
use crate::wire::{Hello, NONCE_BYTES, NodeId, PROOF_BYTES, TAG_BYTES};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use chacha20poly1305::aead::{AeadInOut, KeyInit, Tag};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use core::hash::Hasher;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use siphasher::sip::SipHasher24;

/// Bytes of a seal.
pub(crate) const SEAL_BYTES: usize = 16;

/// Fresh for each session.
pub(crate) type SessionNonce = [u8; NONCE_BYTES];

/// Stands for a shared key where there is none.
const KNOWN_KEY: Key = [0; KEY_BYTES];

fn derive(key: &Key, pieces: &[&[u8]]) -> Key {
    let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(key)
        .expect("HMAC takes keys of any length");
    for piece in pieces {
        mac.update(piece);
    }
    mac.finalize().into_bytes().into()
}

/// The key for nodes that code anew but must not read: of helpers, recoders, forwarders.
pub fn hop_key(shared: &Key) -> Key {
    derive(shared, &[b"lasthop franc hop"])
}

/// Tags datagrams of one session, or HELLOs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tagger(u64, u64);

impl Tagger {
    fn from_key(key: &Key) -> Self {
        let half = |at: usize| {
            u64::from_le_bytes(key[at..at + 8].try_into().expect("eight bytes were taken"))
        };
        Self(half(0), half(8))
    }

    /// Appends the tag of what `datagram` holds.
    pub fn seal(&self, datagram: &mut Vec<u8>) {
        let tag = self.tag(datagram);
        datagram.extend(tag);
    }

    /// Whether the last bytes are the tag of the others.
    pub fn is_authentic(&self, datagram: &[u8]) -> bool {
        let Some(at) = datagram.len().checked_sub(TAG_BYTES) else { return false };
        let (message, tag) = datagram.split_at(at);
        let difference = self.tag(message).iter().zip(tag).fold(0, |sum, (a, b)| sum | (a ^ b));
        core::hint::black_box(difference) == 0
    }

    fn tag(&self, message: &[u8]) -> [u8; TAG_BYTES] {
        let mut hasher = SipHasher24::new_with_keys(self.0, self.1);
        hasher.write(message);
        hasher.finish().to_le_bytes()
    }
}

/// What a node has of the link's secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secrets {
    shared: Option<Key>,
    hop: Key,
}

impl core::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secrets(..)")
    }
}

/// What the keys of a session follow from: the nonces of the end with the lower and of
/// the one with the higher number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonces(pub [SessionNonce; 2]);

impl Nonces {
    /// Of a HELLO that names both.
    pub fn of(hello: &Hello) -> Self {
        match hello.origin < hello.destination {
            true => Self([hello.nonce, hello.echo]),
            false => Self([hello.echo, hello.nonce]),
        }
    }
}

impl Secrets {
    pub fn new(keys: &Keys) -> Self {
        let (shared, hop) = match keys {
            Keys::Shared(shared) => (Some(*shared), hop_key(shared)),
            Keys::Insecure => (Some(KNOWN_KEY), hop_key(&KNOWN_KEY)),
            Keys::Hop(hop) => (None, *hop),
        };
        Self { shared, hop }
    }

    /// For HELLOs, which come before any session.
    pub fn hello_tagger(&self) -> Tagger {
        Tagger::from_key(&derive(&self.hop, &[b"hello"]))
    }

    /// Number and tagger of a session.
    pub fn session(&self, nonces: &Nonces) -> (u16, Tagger) {
        let key = derive(&self.hop, &[b"session", &nonces.0[0], &nonces.0[1]]);
        (u16::from_be_bytes([key[16], key[17]]), Tagger::from_key(&key))
    }

    /// The key under which `origin` seals symbols at first.
    pub fn sealing_key(&self, nonces: &Nonces, origin: NodeId) -> Key {
        let shared = self.shared.as_ref().unwrap_or(&KNOWN_KEY);
        derive(shared, &[b"seal", &nonces.0[0], &nonces.0[1], &[origin.0]])
    }

    /// What only a holder of the shared key can say of a HELLO.
    pub fn proof(&self, hello: &Hello) -> [u8; PROOF_BYTES] {
        let shared = self.shared.as_ref().unwrap_or(&KNOWN_KEY);
        let ids = [hello.origin.0, hello.destination.0];
        let digest = hello.digest.to_be_bytes();
        let whole = derive(shared, &[b"hello", &ids, &hello.nonce, &hello.echo, &digest]);
        whole[..PROOF_BYTES].try_into().expect("the proof is its first half")
    }
}

/// Seals or opens the symbols of one direction, block after block; its key moves on every
/// so many blocks, and those of blocks that are done are forgotten.
#[derive(Clone, PartialEq)]
pub(crate) struct Seal {
    rekey_blocks: u32,
    /// Of the first of `keys`.
    epoch: u32,
    keys: VecDeque<Key>,
}

impl core::fmt::Debug for Seal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Seal({})", self.epoch)
    }
}

impl Seal {
    pub fn new(key: Key, rekey_blocks: u32) -> Self {
        Self { rekey_blocks, epoch: 0, keys: VecDeque::from([key]) }
    }

    /// Seals in place: `symbol` grows by [`SEAL_BYTES`].
    pub fn seal(&mut self, block: u32, index: u16, symbol: &mut Vec<u8>) {
        let cipher = self.cipher(block).expect("a sender's blocks only go on");
        let tag = cipher
            .encrypt_inout_detached(&nonce(block, index), &[], symbol.as_mut_slice().into())
            .expect("a symbol is far shorter than the cipher's bound");
        symbol.extend_from_slice(&tag);
    }

    /// Opens in place and returns the length of what is open, `None` if it was not sealed so.
    pub fn open(&mut self, block: u32, index: u16, sealed: &mut [u8]) -> Option<usize> {
        let length = sealed.len().checked_sub(SEAL_BYTES)?;
        let cipher = self.cipher(block)?;
        let (symbol, tag) = sealed.split_at_mut(length);
        let tag = Tag::<ChaCha20Poly1305>::try_from(&*tag).ok()?;
        let nonce = nonce(block, index);
        cipher.decrypt_inout_detached(&nonce, &[], symbol.into(), &tag).ok()?;
        Some(length)
    }

    /// Forgets the keys of blocks below `block`.
    pub fn forget_below(&mut self, block: u32) {
        while self.epoch < block / self.rekey_blocks {
            if self.keys.len() == 1 {
                self.keys.push_back(derive(&self.keys[0], &[b"next"]));
            }
            self.keys.pop_front();
            self.epoch += 1;
        }
    }

    /// The cipher of a block that was not forgotten.
    fn cipher(&mut self, block: u32) -> Option<ChaCha20Poly1305> {
        let ahead = (block / self.rekey_blocks).checked_sub(self.epoch)? as usize;
        while self.keys.len() <= ahead {
            let last = self.keys.back().expect("there is always one");
            self.keys.push_back(derive(last, &[b"next"]));
        }
        Some(ChaCha20Poly1305::new((&self.keys[ahead]).into()))
    }
}

fn nonce(block: u32, index: u16) -> Nonce {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&block.to_be_bytes());
    nonce[4..6].copy_from_slice(&index.to_be_bytes());
    nonce.into()
}

/// Which numbers of datagrams came (as RFC 4303, 3.4.3): none is taken twice, and none
/// that is [`ReplayWindow::WIDTH`] or more behind the highest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplayWindow {
    highest: u32,
    /// A ring of bits, by number.
    came: [u64; Self::WORDS],
}

impl ReplayWindow {
    const WORDS: usize = 16;
    /// How far behind the highest a number may be.
    pub const WIDTH: u32 = Self::WORDS as u32 * 64;

    pub const fn new() -> Self {
        Self { highest: 0, came: [0; Self::WORDS] }
    }

    /// The highest number taken.
    pub fn highest(&self) -> u32 {
        self.highest
    }

    /// Takes `number` if it is new; numbers begin at 1.
    pub fn take(&mut self, number: u32) -> bool {
        if number > self.highest {
            for skipped in (number - (number - self.highest).min(Self::WIDTH)) + 1..=number {
                *self.word(skipped) &= !bit(skipped);
            }
            self.highest = number;
        } else if number == 0 || self.highest - number >= Self::WIDTH {
            return false;
        }
        let is_new = *self.word(number) & bit(number) == 0;
        *self.word(number) |= bit(number);
        is_new
    }

    fn word(&mut self, number: u32) -> &mut u64 {
        &mut self.came[(number / 64) as usize % Self::WORDS]
    }
}

fn bit(number: u32) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    #[test]
    fn a_tag_needs_every_bit_of_message_and_key() {
        let tagger = Tagger::from_key(&[7; KEY_BYTES]);
        let mut good = b"a datagram".to_vec();
        tagger.seal(&mut good);
        assert!(tagger.is_authentic(&good));
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!tagger.is_authentic(&bad), "bit {bit}");
        }
        assert!(!Tagger::from_key(&[8; KEY_BYTES]).is_authentic(&good));
        assert!(!tagger.is_authentic(&good[..7]));
    }

    /// The first vector of the SipHash-2-4 paper's appendix: key 00..0f, message 00..0e.
    #[test]
    fn tags_are_sip_hash_2_4() {
        let mut key = [0; KEY_BYTES];
        (0..16).for_each(|i| key[i] = i as u8);
        let message: Vec<u8> = (0..15).collect();
        let tag = Tagger::from_key(&key).tag(&message);
        assert_eq!(u64::from_le_bytes(tag), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_seal_is_of_its_place_and_key() {
        let mut sender = Seal::new([1; KEY_BYTES], 4);
        for block in 0..20 {
            let mut sealed = b"some packets".to_vec();
            sender.seal(block, 3, &mut sealed);
            assert_eq!(sealed.len(), 12 + SEAL_BYTES);
            let open = |block, index, key: u8, sealed: &[u8]| {
                let mut bytes = sealed.to_vec();
                let length = Seal::new([key; KEY_BYTES], 4).open(block, index, &mut bytes)?;
                bytes.truncate(length);
                Some(bytes)
            };
            assert_eq!(open(block, 3, 1, &sealed).as_deref(), Some(&b"some packets"[..]));
            assert_eq!(open(block, 2, 1, &sealed), None);
            assert_eq!(open(block + 1, 3, 1, &sealed), None);
            assert_eq!(open(block, 3, 2, &sealed), None);
        }
    }

    #[test]
    fn keys_of_blocks_that_are_done_are_forgotten() {
        let mut sender = Seal::new([1; KEY_BYTES], 4);
        let mut sealed: Vec<_> = (0..12)
            .map(|block| {
                let mut symbol = b"x".to_vec();
                sender.forget_below(block);
                sender.seal(block, 0, &mut symbol);
                symbol
            })
            .collect();
        let mut receiver = Seal::new([1; KEY_BYTES], 4);
        assert!(receiver.open(8, 0, &mut sealed[8]).is_some());
        assert!(receiver.open(3, 0, &mut sealed[3]).is_some());
        receiver.forget_below(7);
        assert!(receiver.open(2, 0, &mut sealed[2]).is_none());
        assert!(receiver.open(7, 0, &mut sealed[7]).is_some());
        receiver.forget_below(11);
        assert_eq!(receiver.keys.len(), 1);
        assert!(receiver.open(11, 0, &mut sealed[11]).is_some());
    }

    #[test]
    fn the_hop_key_does_not_open() {
        let shared = Secrets::new(&Keys::Shared([5; KEY_BYTES]));
        let hop = Secrets::new(&Keys::Hop(hop_key(&[5; KEY_BYTES])));
        let nonces = Nonces([[1; NONCE_BYTES], [2; NONCE_BYTES]]);
        assert_eq!(shared.session(&nonces), hop.session(&nonces));
        assert_eq!(shared.hello_tagger(), hop.hello_tagger());
        let end = NodeId(1);
        assert_ne!(shared.sealing_key(&nonces, end), hop.sealing_key(&nonces, end));
    }

    proptest! {
        /// Against a set of all numbers that came.
        #[test]
        fn no_number_is_taken_twice(
            steps in proptest::collection::vec((0u32..3_000, 0u32..40), 0..300),
        ) {
            let mut window = ReplayWindow::new();
            let mut came = BTreeSet::new();
            for (start, near) in steps {
                let highest = came.last().copied().unwrap_or(0);
                for number in [start, (highest + near).saturating_sub(20)] {
                    let highest = came.last().copied().unwrap_or(0);
                    let is_new = number > 0
                        && !came.contains(&number)
                        && number + ReplayWindow::WIDTH > highest;
                    prop_assert_eq!(window.take(number), is_new, "{}", number);
                    if is_new {
                        came.insert(number);
                    }
                }
            }
        }
    }
}
