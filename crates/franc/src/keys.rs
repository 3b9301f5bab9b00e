//! Authentication and encryption. HMAC-SHA-256 (RFC 2104) derives keys, SipHash-2-4
//! (Aumasson, Bernstein: "SipHash: a fast short-input PRF") tags each datagram on
//! each hop with 8 bytes, ChaCha20-Poly1305 (RFC 8439) seals symbols and pulses end
//! to end.
//!
//! The keys of a session derive from the shared key, one fresh public key of each
//! end, and the secret that they agree on (X25519). So recordings of one session
//! are meaningless in another, and whoever obtains the shared key later cannot
//! decrypt them. The place of a symbol (block and index) is its AEAD nonce and is
//! used once. Helpers and recoders have the hop key, which is derived from the
//! shared key, not the other way round. Leaves out: lengths and times of datagrams
//! are not hidden, and holders of the hop key can forge ENC datagrams (what the
//! decoder then computes fails to open and is not delivered).

use crate::config::{Key, Keys};
use crate::secret::{Ephemeral, PublicKey, SECRET_BYTES, Secret, is_same};
use crate::wire::{Hello, LinkReport, NodeId, PROOF_BYTES, Pulse, SEALED_PULSE_BYTES, TAG_BYTES};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use chacha20poly1305::aead::{AeadInOut, KeyInit, Tag};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use core::hash::Hasher;
use siphasher::sip::SipHasher24;
use zeroize::Zeroize;

/// Length of a seal in bytes.
pub(crate) const SEAL_BYTES: usize = 16;

/// Largest number of epochs for which keys are derived ahead: a window of 255 blocks with new keys
/// every 16.
const EPOCHS_AHEAD_MAX: usize = 17;

/// The key that is used if there is no shared key.
const KNOWN_KEY: Key = [0; SECRET_BYTES];

/// The key for nodes that recode but must not decrypt: helpers, recoders,
/// forwarders.
///
/// ```
/// use lasthop_franc::hop_key;
///
/// let shared = [7; 32];
/// assert_ne!(hop_key(&shared), shared);
/// assert_ne!(hop_key(&shared), hop_key(&[8; 32]));
/// ```
pub fn hop_key(shared: &Key) -> Key {
    *hop_secret(&Secret::new(*shared)).as_bytes()
}

fn hop_secret(shared: &Secret) -> Secret {
    shared.derive(&[b"lasthop franc hop"])
}

/// Tags the datagrams of one session, or HELLOs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Tagger(u64, u64);

impl Drop for Tagger {
    fn drop(&mut self) {
        self.0.zeroize();
        self.1.zeroize();
    }
}

impl core::fmt::Debug for Tagger {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Tagger(..)")
    }
}

impl Tagger {
    fn from_key(key: &Secret) -> Self {
        let half = |at: usize| {
            let half = key.as_bytes()[at..at + 8].try_into();
            u64::from_le_bytes(half.expect("eight bytes were taken"))
        };
        Self(half(0), half(8))
    }

    /// Appends the tag of `datagram`.
    pub fn seal(&self, datagram: &mut Vec<u8>) {
        let tag = self.tag(datagram);
        datagram.extend(tag);
    }

    /// Whether the last bytes are the tag of the others.
    pub fn is_authentic(&self, datagram: &[u8]) -> bool {
        let Some(at) = datagram.len().checked_sub(TAG_BYTES) else { return false };
        let (message, tag) = datagram.split_at(at);
        is_same(&self.tag(message), tag)
    }

    fn tag(&self, message: &[u8]) -> [u8; TAG_BYTES] {
        let mut hasher = SipHasher24::new_with_keys(self.0, self.1);
        hasher.write(message);
        hasher.finish().to_le_bytes()
    }
}

/// The secrets of the link that a node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secrets {
    shared: Option<Secret>,
    hop: Secret,
}

/// The identity of a session: the public keys of the end with the lower and of the
/// end with the higher number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    ends: [NodeId; 2],
    keys: [PublicKey; 2],
}

impl Pair {
    /// The pair of two ends with their keys, in the same order.
    pub fn new(ends: [NodeId; 2], keys: [PublicKey; 2]) -> Self {
        let ([a, b], [key_a, key_b]) = (ends, keys);
        if a < b { Self { ends, keys } } else { Self { ends: [b, a], keys: [key_b, key_a] } }
    }

    /// The pair of a HELLO that names both keys; `None` for others.
    pub fn from_hello(hello: &Hello) -> Option<Self> {
        let is_both = hello.echo != [0; SECRET_BYTES];
        let pair = Self::new([hello.origin, hello.destination], [hello.key, hello.echo]);
        is_both.then_some(pair)
    }

    /// The ends, the lower number first.
    pub fn ends(&self) -> [NodeId; 2] {
        self.ends
    }

    /// The key of an end.
    pub fn key_of(&self, end: NodeId) -> PublicKey {
        self.keys[usize::from(end == self.ends[1])]
    }

    fn pieces<'a>(&'a self, purpose: &'static [u8], ids: &'a [u8; 2]) -> [&'a [u8]; 4] {
        [purpose, ids, &self.keys[0], &self.keys[1]]
    }
}

/// The end-to-end keys of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionKeys(Secret);

impl SessionKeys {
    /// The first key with which `origin` seals symbols.
    pub fn symbols(&self, origin: NodeId) -> Secret {
        self.0.derive(&[b"symbols", &[origin.0]])
    }

    /// The key with which `origin` seals pulses.
    pub fn pulses(&self, origin: NodeId) -> Secret {
        self.0.derive(&[b"pulses", &[origin.0]])
    }
}

impl Secrets {
    pub fn new(keys: &Keys) -> Self {
        let (shared, hop) = match keys {
            Keys::Shared(shared) => {
                let shared = Secret::new(*shared);
                let hop = hop_secret(&shared);
                (Some(shared), hop)
            }
            Keys::Insecure => {
                let shared = Secret::new(KNOWN_KEY);
                let hop = hop_secret(&shared);
                (Some(shared), hop)
            }
            Keys::Hop(hop) => (None, Secret::new(*hop)),
        };
        Self { shared, hop }
    }

    /// The tagger for HELLOs and CALLs, which belong to no session.
    pub fn hello_tagger(&self) -> Tagger {
        Tagger::from_key(&self.hop.derive(&[b"hello"]))
    }

    /// Number and tagger of a session.
    pub fn session(&self, pair: &Pair) -> (u16, Tagger) {
        let ids = pair.ends.map(|end| end.0);
        let key = self.hop.derive(&pair.pieces(b"session", &ids));
        let id = [key.as_bytes()[16], key.as_bytes()[17]];
        (u16::from_be_bytes(id), Tagger::from_key(&key))
    }

    /// The keys of a session that this end begins with its key pair `ours`, which
    /// is in `pair`, given the other end's `hello` and this end's `blocks_max`
    /// blocks in flight. `None` if the other end's key is not valid, or without the
    /// shared key. Ends that disagree about parameters derive different keys.
    pub fn agree(
        &self,
        pair: &Pair,
        ours: &Ephemeral,
        hello: &Hello,
        blocks_max: u8,
    ) -> Option<SessionKeys> {
        let agreed = ours.agree(&hello.key)?;
        let ids = pair.ends.map(|end| end.0);
        let [purpose, ends, low, high] = pair.pieces(b"ends", &ids);
        let is_low = pair.ends[0] == hello.origin;
        let blocks =
            if is_low { [hello.blocks_max, blocks_max] } else { [blocks_max, hello.blocks_max] };
        let digest = hello.digest.to_be_bytes();
        let pieces = [purpose, ends, low, high, &blocks, &digest, agreed.as_bytes()];
        Some(SessionKeys(self.shared.as_ref()?.derive(&pieces)))
    }

    /// The proof in a HELLO, which only holders of the shared key can compute;
    /// zeros without it.
    pub fn proof(&self, hello: &Hello) -> [u8; PROOF_BYTES] {
        match &self.shared {
            Some(shared) => shared.code(&[b"hello", &hello.proven()]),
            None => [0; PROOF_BYTES],
        }
    }

    /// Whether a HELLO was made by a holder of the shared key.
    pub fn is_proven(&self, hello: &Hello) -> bool {
        self.shared.is_some() && is_same(&self.proof(hello), &hello.proof)
    }
}

/// Seals pulses, each with its counter as the nonce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PulseSeal {
    key: Secret,
    /// Counter of the last pulse.
    counter: u64,
}

/// The bit of a pulse's counter that names one of two links.
const COUNTER_LINK_BIT: u32 = 63;

/// The content of a [`Pulse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vital {
    /// Number of the other end's symbols that are known, or were given up.
    pub received: u64,
    /// Number of symbols that arrived.
    pub arrived: u64,
    /// Oldest block of which symbols may still be sent.
    pub oldest: u32,
    /// Length of the longest datagram that arrived recently, in bytes; 0 if none
    /// did.
    pub longest: u16,
    /// The datagrams that arrived on each of two links, without the numbers of nodes; all zero if
    /// there is one.
    pub links: [LinkReport; 2],
}

impl PulseSeal {
    /// Returns the seal of the pulses on a link; the highest bit of their counters names it.
    pub fn new(key: Secret, link: u8) -> Self {
        Self { key, counter: u64::from(link) << COUNTER_LINK_BIT }
    }

    /// Seals the next pulse. Returns its counter and its bytes.
    pub fn seal(&mut self, vital: Vital) -> (u64, Vec<u8>) {
        self.counter += 1;
        let mut sealed = Vec::with_capacity(SEALED_PULSE_BYTES);
        sealed.extend(vital.received.to_be_bytes());
        sealed.extend(vital.arrived.to_be_bytes());
        sealed.extend(vital.oldest.to_be_bytes());
        sealed.extend(vital.longest.to_be_bytes());
        for link in vital.links {
            sealed.extend(link.highest.to_be_bytes());
            sealed.extend(link.received.to_be_bytes());
            sealed.extend(link.heard_at_us.to_be_bytes());
            sealed.extend(link.delay_4us.to_be_bytes());
        }
        sealed.resize(SEALED_PULSE_BYTES - SEAL_BYTES, 0);
        let cipher = ChaCha20Poly1305::new(self.key.as_bytes().into());
        let tag = cipher
            .encrypt_inout_detached(&of_counter(self.counter), &[], sealed.as_mut_slice().into())
            .expect("a pulse is far shorter than the cipher's bound");
        sealed.extend_from_slice(&tag);
        (self.counter, sealed)
    }

    /// Whether it is of this link, and newer than all pulses before.
    pub fn is_new(&self, pulse: &Pulse<'_>) -> bool {
        let is_of_link = (pulse.counter ^ self.counter) >> COUNTER_LINK_BIT == 0;
        is_of_link && pulse.counter > self.counter
    }

    /// Opens a pulse that is newer than all before.
    pub fn open(&mut self, pulse: &Pulse<'_>) -> Option<Vital> {
        if !self.is_new(pulse) {
            return None;
        }
        let mut open = pulse.sealed.to_vec();
        let (vital, tag) = open.split_last_chunk_mut::<SEAL_BYTES>()?;
        let tag = Tag::<ChaCha20Poly1305>::try_from(&tag[..]).ok()?;
        let cipher = ChaCha20Poly1305::new(self.key.as_bytes().into());
        let nonce = of_counter(pulse.counter);
        cipher.decrypt_inout_detached(&nonce, &[], (&mut *vital).into(), &tag).ok()?;
        self.counter = pulse.counter;
        let (received, rest) = vital.split_first_chunk()?;
        let (arrived, rest) = rest.split_first_chunk()?;
        let [received, arrived] = [received, arrived].map(|bytes| u64::from_be_bytes(*bytes));
        let (oldest, rest) = rest.split_first_chunk()?;
        let oldest = u32::from_be_bytes(*oldest);
        let (longest, mut rest) = rest.split_first_chunk()?;
        let longest = u16::from_be_bytes(*longest);
        let mut links = [LinkReport::default(); 2];
        for link in &mut links {
            let fields: &[u8; 14];
            (fields, rest) = rest.split_first_chunk()?;
            let word =
                |at: usize| u32::from_be_bytes(core::array::from_fn(|byte| fields[at + byte]));
            (link.highest, link.received, link.heard_at_us) = (word(0), word(4), word(8));
            link.delay_4us = u16::from_be_bytes([fields[12], fields[13]]);
        }
        Some(Vital { received, arrived, oldest, longest, links })
    }
}

fn of_counter(counter: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    nonce.into()
}

/// Seals or opens the symbols of one direction, block after block. The key changes
/// every `rekey_blocks` blocks; keys of blocks that are done are erased.
#[derive(Clone, PartialEq)]
pub(crate) struct Seal {
    rekey_blocks: u32,
    /// Epoch of the first of `keys`.
    epoch: u32,
    keys: VecDeque<Secret>,
}

impl core::fmt::Debug for Seal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Seal({})", self.epoch)
    }
}

impl Seal {
    pub fn new(key: Secret, rekey_blocks: u32) -> Self {
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

    /// Opens in place. Returns the length of the plain symbol; `None` if it is not
    /// authentic.
    pub fn open(&mut self, block: u32, index: u16, sealed: &mut [u8]) -> Option<usize> {
        let length = sealed.len().checked_sub(SEAL_BYTES)?;
        let cipher = self.cipher(block)?;
        let (symbol, tag) = sealed.split_at_mut(length);
        let tag = Tag::<ChaCha20Poly1305>::try_from(&*tag).ok()?;
        let nonce = nonce(block, index);
        cipher.decrypt_inout_detached(&nonce, &[], symbol.into(), &tag).ok()?;
        Some(length)
    }

    /// Erases the keys of blocks below `block`.
    pub fn forget_below(&mut self, block: u32) {
        while self.epoch < block / self.rekey_blocks {
            if self.keys.len() == 1 {
                self.keys.push_back(self.keys[0].derive(&[b"next"]));
            }
            self.keys.pop_front();
            self.epoch += 1;
        }
    }

    /// The cipher of a block, unless its key was erased or it is too far ahead.
    fn cipher(&mut self, block: u32) -> Option<ChaCha20Poly1305> {
        let ahead = (block / self.rekey_blocks).checked_sub(self.epoch)? as usize;
        if ahead > EPOCHS_AHEAD_MAX {
            return None;
        }
        while self.keys.len() <= ahead {
            let last = self.keys.back().expect("there is always one");
            let next = last.derive(&[b"next"]);
            self.keys.push_back(next);
        }
        Some(ChaCha20Poly1305::new(self.keys[ahead].as_bytes().into()))
    }
}

fn nonce(block: u32, index: u16) -> Nonce {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&block.to_be_bytes());
    nonce[4..6].copy_from_slice(&index.to_be_bytes());
    nonce.into()
}

/// The numbers of datagrams that were received (as in RFC 4303, 3.4.3): none is
/// accepted twice, nor if it is [`ReplayWindow::WIDTH`] or more below the highest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplayWindow {
    highest: u32,
    /// A ring of bits, by number.
    came: [u64; Self::WORDS],
}

impl ReplayWindow {
    const WORDS: usize = 16;
    /// Width of the window of accepted numbers below the highest.
    pub const WIDTH: u32 = Self::WORDS as u32 * 64;

    pub const fn new() -> Self {
        Self { highest: 0, came: [0; Self::WORDS] }
    }

    /// The highest number accepted.
    pub fn highest(&self) -> u32 {
        self.highest
    }

    /// Marks all numbers below `next` as received.
    pub fn skip_to(&mut self, next: u32) {
        if next.saturating_sub(1) > self.highest {
            self.highest = next - 1;
            self.came = [u64::MAX; Self::WORDS];
        }
    }

    /// Accepts `number` if it is new; numbers start at 1. Returns whether it was.
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

    /// Count of numbers above `number` that were accepted, as far as they are
    /// remembered.
    pub fn taken_above(&self, number: u32) -> u32 {
        let behind = self.highest.saturating_sub(number).min(Self::WIDTH);
        let above = (0..behind).map(|below| self.highest - below);
        let is_taken = |n: &u32| self.came[(n / 64) as usize % Self::WORDS] & bit(*n) != 0;
        above.filter(is_taken).count() as u32
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
    use crate::secret::Entropy;
    use crate::wire::Hop;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    #[test]
    fn a_tag_needs_every_bit_of_message_and_key() {
        let tagger = Tagger::from_key(&Secret::new([7; SECRET_BYTES]));
        let mut good = b"a datagram".to_vec();
        tagger.seal(&mut good);
        assert!(tagger.is_authentic(&good));
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!tagger.is_authentic(&bad), "bit {bit}");
        }
        assert!(!Tagger::from_key(&Secret::new([8; SECRET_BYTES])).is_authentic(&good));
        assert!(!tagger.is_authentic(&good[..7]));
    }

    /// The first vector of the SipHash-2-4 paper's appendix: key 00..0f, message 00..0e.
    #[test]
    fn tags_are_sip_hash_2_4() {
        let mut key = [0; SECRET_BYTES];
        (0..16).for_each(|i| key[i] = i as u8);
        let message: Vec<u8> = (0..15).collect();
        let tag = Tagger::from_key(&Secret::new(key)).tag(&message);
        assert_eq!(u64::from_le_bytes(tag), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_seal_is_of_its_place_and_key() {
        let mut sender = Seal::new(Secret::new([1; SECRET_BYTES]), 4);
        for block in 0..20 {
            let mut sealed = b"some packets".to_vec();
            sender.seal(block, 3, &mut sealed);
            assert_eq!(sealed.len(), 12 + SEAL_BYTES);
            let open = |block, index, key: u8, sealed: &[u8]| {
                let mut bytes = sealed.to_vec();
                let length = Seal::new(Secret::new([key; SECRET_BYTES]), 4)
                    .open(block, index, &mut bytes)?;
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
        let mut sender = Seal::new(Secret::new([1; SECRET_BYTES]), 4);
        let mut sealed: Vec<_> = (0..12)
            .map(|block| {
                let mut symbol = b"x".to_vec();
                sender.forget_below(block);
                sender.seal(block, 0, &mut symbol);
                symbol
            })
            .collect();
        let mut receiver = Seal::new(Secret::new([1; SECRET_BYTES]), 4);
        assert!(receiver.open(8, 0, &mut sealed[8]).is_some());
        assert!(receiver.open(3, 0, &mut sealed[3]).is_some());
        receiver.forget_below(7);
        assert!(receiver.open(2, 0, &mut sealed[2]).is_none());
        assert!(receiver.open(7, 0, &mut sealed[7]).is_some());
        receiver.forget_below(11);
        assert_eq!(receiver.keys.len(), 1);
        assert!(receiver.open(11, 0, &mut sealed[11]).is_some());
    }

    /// A block far ahead, as a holder of the hop key may name it, costs no work.
    #[test]
    fn keys_are_not_derived_without_end() {
        let mut seal = Seal::new(Secret::new([1; SECRET_BYTES]), 16);
        assert_eq!(seal.open(u32::MAX, 0, &mut [0; 40]), None);
        assert_eq!(seal.keys.len(), 1);
        seal.open(255, 0, &mut [0; 40]);
        assert_eq!(seal.keys.len(), 16);
    }

    #[test]
    fn the_hop_key_tags_and_does_not_open() {
        let shared = Secrets::new(&Keys::Shared([5; SECRET_BYTES]));
        let hop = Secrets::new(&Keys::Hop(hop_key(&[5; SECRET_BYTES])));
        let mut entropy = Entropy::new([1; SECRET_BYTES]);
        let (a, b) = (Ephemeral::new(&mut entropy), Ephemeral::new(&mut entropy));
        let pair = Pair::new([NodeId(1), NodeId(2)], [*a.public(), *b.public()]);
        assert_eq!(pair, Pair::new([NodeId(2), NodeId(1)], [*b.public(), *a.public()]));
        assert_eq!(shared.session(&pair), hop.session(&pair));
        assert_eq!(shared.hello_tagger(), hop.hello_tagger());
        let hello = |origin: u8, key: &Ephemeral, blocks_max| Hello {
            origin: NodeId(origin),
            destination: NodeId(3 - origin),
            key: *key.public(),
            echo: [0; SECRET_BYTES],
            count: 1,
            blocks_max,
            digest: 7,
            proof: [0; PROOF_BYTES],
            hop: Hop::default(),
        };
        let keys = shared.agree(&pair, &a, &hello(2, &b, 16), 9).expect("it has the shared key");
        assert_eq!(Some(&keys), shared.agree(&pair, &b, &hello(1, &a, 9), 16).as_ref());
        assert_ne!(Some(&keys), shared.agree(&pair, &b, &hello(1, &a, 8), 16).as_ref());
        assert_eq!(hop.agree(&pair, &a, &hello(2, &b, 16), 9), None);
        assert_ne!(keys.symbols(NodeId(1)), keys.symbols(NodeId(2)));
        assert_ne!(keys.symbols(NodeId(1)), keys.pulses(NodeId(1)));
        // Nor does the shared key without a private key of the session.
        let other = Ephemeral::new(&mut entropy);
        assert_ne!(Some(keys), shared.agree(&pair, &other, &hello(1, &a, 9), 16));
    }

    #[test]
    fn a_pulse_is_taken_once_and_in_order() {
        let key = || Secret::new([1; SECRET_BYTES]);
        let (mut sender, mut receiver) = (PulseSeal::new(key(), 0), PulseSeal::new(key(), 0));
        let vital = |n: u64| Vital {
            received: n << 33,
            arrived: n << 34,
            oldest: n as u32,
            longest: n as u16,
            links: [1, 2].map(|link| LinkReport {
                highest: n as u32 + link,
                received: n as u32 * 3,
                heard_at_us: 77 * link,
                delay_4us: n as u16 + 5,
                ..LinkReport::default()
            }),
        };
        let pulses: Vec<_> = (1..4).map(|n| sender.seal(vital(n))).collect();
        let mut open = |at: usize| {
            let (counter, sealed) = &pulses[at];
            receiver.open(&Pulse { counter: *counter, sealed, padding: 0 })
        };
        assert_eq!(open(1), Some(vital(2)));
        assert_eq!((open(0), open(1)), (None, None));
        assert_eq!(open(2), Some(vital(3)));
        let (counter, sealed) = sender.seal(vital(9));
        for byte in 0..sealed.len() {
            let mut bad = sealed.clone();
            bad[byte] ^= 1;
            assert_eq!(receiver.open(&Pulse { counter, sealed: &bad, padding: 0 }), None);
        }
        assert_eq!(
            receiver.open(&Pulse { counter: counter + 1, sealed: &sealed, padding: 0 }),
            None
        );
        assert!(receiver.open(&Pulse { counter, sealed: &sealed, padding: 0 }).is_some());
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
