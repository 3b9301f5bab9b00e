//! Authentication: proof that a client receives datagrams to its address, and that both hosts have
//! the same key. HMAC-SHA-256 (RFC 2104, RFC 6234), truncated to 16 bytes.
//!
//! A token is stateless: the server derives it from its secret, the client's address and the time,
//! and recognises it when the client returns it. So an unproven address costs no memory. Control
//! messages carry a MAC tag under a key of their session, and a number that is used once. Without a
//! shared key, the MAC tag protects against accidents and against strangers who cannot read the
//! traffic. Codes are compared in constant time. Keys are wiped where they are stored, but not on
//! the stack.

use core::net::{IpAddr, SocketAddr};
use hmac::{Hmac, KeyInit, Mac};
use lasthop_units::{Duration, Instant};
use sha2::Sha256;

/// Length of a key or a secret in bytes.
pub const KEY_BYTES: usize = 32;
/// Length of a message's MAC tag in bytes.
pub const MAC_TAG_BYTES: usize = 16;
/// Length of a client's nonce in bytes.
pub const NONCE_BYTES: usize = 16;
/// Length of a token in bytes: the period in which it was made, and a MAC tag.
pub const TOKEN_BYTES: usize = 8 + MAC_TAG_BYTES;
/// A token is valid in the period in which it was made and in the next one.
const TOKEN_PERIOD: Duration = Duration::from_secs(10);

/// A key that two hosts share, or a secret of one host.
pub type Key = [u8; KEY_BYTES];
/// A number that a client chooses anew for each handshake.
pub type Nonce = [u8; NONCE_BYTES];
/// A value that the client must return from the address to which it was sent.
pub type Token = [u8; TOKEN_BYTES];
/// The MAC tag at the end of an authenticated message.
pub type MacTag = [u8; MAC_TAG_BYTES];

/// The key that is used if there is no shared key.
const NO_KEY: Key = [0; KEY_BYTES];

/// Starts the HMAC of several pieces.
fn hmac(key: &[u8], pieces: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for piece in pieces {
        mac.update(piece);
    }
    mac
}

fn key_from(key: &[u8], pieces: &[&[u8]]) -> Key {
    hmac(key, pieces).finalize().into_bytes().into()
}

/// The MAC tag of `message` under `key`.
pub fn mac_tag(key: &Key, message: &[u8]) -> MacTag {
    let whole = key_from(key, &[message]);
    let mut mac_tag = [0; MAC_TAG_BYTES];
    mac_tag.copy_from_slice(&whole[..MAC_TAG_BYTES]);
    mac_tag
}

/// Whether `MAC tag` is that of `message` under `key`; takes constant time.
pub fn is_mac_tag(key: &Key, message: &[u8], mac_tag: &[u8]) -> bool {
    mac_tag.len() == MAC_TAG_BYTES && hmac(key, &[message]).verify_truncated_left(mac_tag).is_ok()
}

/// The key that authenticates a handshake.
pub fn handshake_key(shared: Option<&Key>, nonce: &Nonce, token: &Token) -> Key {
    key_from(shared.unwrap_or(&NO_KEY), &[b"lasthop apq handshake", nonce, token])
}

/// The sender whose messages a key authenticates. Each side has its own key, so a
/// message cannot be reflected to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The host that measures.
    Client,
    /// The host that answers.
    Server,
}

/// The key of the messages that `side` sends in a session.
pub fn session_key(handshake: &Key, session: u64, side: Side) -> Key {
    let side: &[u8] = match side {
        Side::Client => b"client",
        Side::Server => b"server",
    };
    key_from(handshake, &[b"lasthop apq session", &session.to_be_bytes(), side])
}

/// A value that only the holder of `secret` can compute, for this purpose and
/// index.
pub fn unguessable(secret: &Key, purpose: &[u8], index: &[u64]) -> Key {
    let mut mac = hmac(secret, &[b"lasthop apq ", purpose]);
    index.iter().for_each(|number| mac.update(&number.to_be_bytes()));
    mac.finalize().into_bytes().into()
}

/// The token for `address` and `nonce` at `now`.
pub fn token(secret: &Key, address: &SocketAddr, nonce: &Nonce, now: Instant) -> Token {
    token_of(secret, address, nonce, now.as_nanos() / TOKEN_PERIOD.as_nanos())
}

/// Whether `token` was made for `address` and `nonce`, 20 s ago at most.
pub fn is_token(
    secret: &Key,
    address: &SocketAddr,
    nonce: &Nonce,
    token: &Token,
    now: Instant,
) -> bool {
    let period = u64::from_be_bytes(token[..8].try_into().expect("eight bytes were taken"));
    let current = now.as_nanos() / TOKEN_PERIOD.as_nanos();
    let is_fresh = period == current || period.checked_add(1) == Some(current);
    is_fresh && token_mac(secret, address, nonce, period).verify_truncated_left(&token[8..]).is_ok()
}

fn token_of(secret: &Key, address: &SocketAddr, nonce: &Nonce, period: u64) -> Token {
    let mut token = [0; TOKEN_BYTES];
    token[..8].copy_from_slice(&period.to_be_bytes());
    let whole = token_mac(secret, address, nonce, period).finalize().into_bytes();
    token[8..].copy_from_slice(&whole[..MAC_TAG_BYTES]);
    token
}

fn token_mac(secret: &Key, address: &SocketAddr, nonce: &Nonce, period: u64) -> Hmac<Sha256> {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    };
    let (port, period) = (address.port().to_be_bytes(), period.to_be_bytes());
    hmac(secret, &[b"lasthop apq token", &ip, &port, nonce, &period])
}

/// The message numbers that were used (as in RFC 4303, 3.4.3): none is accepted
/// twice, nor if it is 64 or more below the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReplayWindow {
    highest: u32,
    /// Number of messages accepted.
    taken: u32,
    /// Bit `i` is set if the number `highest - i` was used.
    used: u64,
}

impl ReplayWindow {
    /// Accepts `number` if it is new; numbers start at 1. Returns whether it was.
    pub fn take(&mut self, number: u32) -> bool {
        if number > self.highest {
            let ahead = number - self.highest;
            self.used = if ahead < 64 { self.used << ahead } else { 0 } | 1;
            self.highest = number;
            self.taken += 1;
            return true;
        }
        let behind = self.highest - number;
        if number == 0 || behind >= 64 || self.used >> behind & 1 == 1 {
            return false;
        }
        self.used |= 1 << behind;
        self.taken += 1;
        true
    }

    /// Number of messages below the highest number that were lost or are still in
    /// flight.
    pub fn missing(&self) -> u32 {
        self.highest - self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    const SECRET: Key = [7; KEY_BYTES];
    const NONCE: Nonce = [3; NONCE_BYTES];

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("it is an address")
    }

    /// RFC 4231, test case 2 (a key of another length exercises the same function).
    #[test]
    fn codes_are_those_of_the_rfc() {
        let whole = key_from(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        let start = [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e];
        assert_eq!(whole[..8], start);
    }

    #[test]
    fn a_token_is_good_for_its_address_and_its_time_only() {
        let (here, now) = (address("192.0.2.1:4000"), Instant::from_nanos(95_000_000_000));
        let good = token(&SECRET, &here, &NONCE, now);
        assert!(is_token(&SECRET, &here, &NONCE, &good, now));
        assert!(is_token(&SECRET, &here, &NONCE, &good, now + Duration::from_secs(10)));
        assert!(!is_token(&SECRET, &here, &NONCE, &good, now + Duration::from_secs(20)));
        for other in ["192.0.2.1:4001", "192.0.2.2:4000", "[2001:db8::1]:4000"] {
            assert!(!is_token(&SECRET, &address(other), &NONCE, &good, now), "{other}");
        }
        assert!(!is_token(&[8; KEY_BYTES], &here, &NONCE, &good, now));
        assert!(!is_token(&SECRET, &here, &[4; NONCE_BYTES], &good, now));
        for bit in 0..TOKEN_BYTES * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_token(&SECRET, &here, &NONCE, &bad, now), "bit {bit}");
        }
    }

    #[test]
    fn a_code_needs_every_bit_of_message_and_key() {
        let good = mac_tag(&SECRET, b"message");
        assert!(is_mac_tag(&SECRET, b"message", &good));
        assert!(!is_mac_tag(&SECRET, b"massage", &good));
        assert!(!is_mac_tag(&NO_KEY, b"message", &good));
        assert!(!is_mac_tag(&SECRET, b"message", &good[..15]));
        assert!(!is_mac_tag(&SECRET, b"message", &[]));
    }

    proptest! {
        /// Against a set of all numbers that were used.
        #[test]
        fn no_number_is_taken_twice(numbers in proptest::collection::vec(0u32..200, 0..300)) {
            let mut window = ReplayWindow::default();
            let mut used = BTreeSet::new();
            for number in numbers {
                let highest = used.last().copied().unwrap_or(0);
                let is_new = number > 0 && !used.contains(&number) && number + 64 > highest;
                prop_assert_eq!(window.take(number), is_new, "{} after {:?}", number, &used);
                if is_new {
                    used.insert(number);
                }
                let highest = used.last().copied().unwrap_or(0);
                prop_assert_eq!(window.missing(), highest - used.len() as u32);
            }
        }
    }
}
