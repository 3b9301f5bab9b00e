//! Secrets: keys of 32 bytes that are erased when they are dropped, compared in
//! constant time and never displayed; and the generation of new ones.
//!
//! HMAC-SHA-256 (RFC 2104) derives keys. [`Entropy`] is a generator with key
//! erasure: each draw replaces its state by a one-way function of it, so that
//! memory read later does not reveal earlier draws. X25519 (RFC 7748) agrees on
//! keys that a later compromise of the shared key does not reveal. Leaves out
//! copies made by the compiler or the kernel: only this crate's copies are erased.

use alloc::vec::Vec;
use core::fmt;
use hmac::{Hmac, KeyInit, Mac};
use lasthop_units::Stream;
use sha2::Sha256;
use zeroize::Zeroize;

/// Length of a secret, and of a public key of X25519, in bytes.
pub const SECRET_BYTES: usize = 32;

/// A key that is erased when it is dropped.
///
/// ```
/// use lasthop_franc::Secret;
///
/// let secret = Secret::new([7; 32]);
/// assert_eq!(secret, Secret::new([7; 32]));
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// ```
#[derive(Clone)]
pub struct Secret([u8; SECRET_BYTES]);

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Secret {
    /// A secret with these bytes; the caller erases its own copy.
    pub const fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes of the secret.
    pub const fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// A key derived one-way from this one and `pieces`. The first piece names its
    /// purpose; the others have fixed lengths.
    pub(crate) fn derive(&self, pieces: &[&[u8]]) -> Self {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0)
            .expect("HMAC takes keys of any length");
        for piece in pieces {
            mac.update(piece);
        }
        Self(mac.finalize().into_bytes().into())
    }

    /// The first bytes of [`Secret::derive`], as a code of a message.
    pub(crate) fn code<const N: usize>(&self, pieces: &[&[u8]]) -> [u8; N] {
        let whole = self.derive(pieces);
        let mut code = [0; N];
        code.copy_from_slice(&whole.0[..N]);
        code
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        is_same(&self.0, &other.0)
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Whether two codes or keys are equal, in a time that depends on their length
/// only.
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && core::hint::black_box(difference) == 0
}

/// A source of secrets: a generator with key erasure over HMAC-SHA-256.
///
/// ```
/// use lasthop_franc::Entropy;
/// use lasthop_units::Seed;
///
/// // On a real network these bytes come from the operating system.
/// let real = Entropy::new([0x5a; 32]);
/// // In virtual time runs are repeatable.
/// let virtual_time = || Entropy::from_stream(&mut Seed::new(1, 0).stream("node"));
/// assert_eq!(virtual_time(), virtual_time());
/// assert_ne!(virtual_time(), real);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entropy(Secret);

impl Entropy {
    /// A source that starts with 32 bytes that cannot be guessed and are never used twice: on a
    /// real network, from the operating system.
    pub const fn new(seed: [u8; SECRET_BYTES]) -> Self {
        Self(Secret::new(seed))
    }

    /// A source for virtual time, where nothing is secret and every run is
    /// repeatable.
    pub fn from_stream(stream: &mut Stream) -> Self {
        let bytes: Vec<u8> = (0..4).flat_map(|_| stream.next_u64().to_le_bytes()).collect();
        Self::new(bytes.try_into().expect("four words are 32 bytes"))
    }

    /// Draws a secret.
    pub(crate) fn secret(&mut self) -> Secret {
        let drawn = self.0.derive(&[b"draw"]);
        self.0 = self.0.derive(&[b"next"]);
        drawn
    }

    /// Draws 64 bits.
    pub(crate) fn word(&mut self) -> u64 {
        let drawn = self.secret();
        u64::from_le_bytes(drawn.0[..8].try_into().expect("eight bytes were taken"))
    }
}

/// A public key of X25519.
pub(crate) type PublicKey = [u8; SECRET_BYTES];

/// A key pair that is used for one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ephemeral {
    secret: Secret,
    public: PublicKey,
}

impl Ephemeral {
    pub fn new(entropy: &mut Entropy) -> Self {
        let secret = entropy.secret();
        let public = x25519_dalek::x25519(secret.0, x25519_dalek::X25519_BASEPOINT_BYTES);
        Self { secret, public }
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The secret shared with the holder of the other key; `None` if `theirs` is a point of low
    /// order, with which the secret would be public (RFC 7748, section 6.1).
    pub fn agree(&self, theirs: &PublicKey) -> Option<Secret> {
        let shared = Secret(x25519_dalek::x25519(self.secret.0, *theirs));
        (!is_same(&shared.0, &[0; SECRET_BYTES])).then_some(shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 1: key of twenty 0x0b (HMAC pads it with zeros), data "Hi There".
    #[test]
    fn keys_are_derived_as_the_rfc_says() {
        let mut key = [0; SECRET_BYTES];
        key[..20].fill(0x0b);
        let code: [u8; 8] = Secret::new(key).code(&[b"Hi ", b"There"]);
        assert_eq!(code, [0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53]);
    }

    /// RFC 7748, section 5.2: the first vector.
    #[test]
    fn keys_are_agreed_on_as_the_rfc_says() {
        let bytes = |text: &str| -> [u8; 32] {
            core::array::from_fn(|at| {
                u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hexadecimal")
            })
        };
        let secret = "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4";
        let theirs = "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c";
        let agreed = "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552";
        let ours = Ephemeral { secret: Secret::new(bytes(secret)), public: [0; 32] };
        let is = ours.agree(&bytes(theirs)).expect("it is a good point");
        assert_eq!(is.as_bytes(), &bytes(agreed));
    }

    #[test]
    fn both_ends_agree_and_nobody_agrees_with_zero() {
        let mut entropy = Entropy::new([1; 32]);
        let (a, b) = (Ephemeral::new(&mut entropy), Ephemeral::new(&mut entropy));
        assert_ne!(a.public(), b.public());
        assert_eq!(a.agree(b.public()), b.agree(a.public()));
        assert_eq!(a.agree(&[0; 32]), None);
    }

    #[test]
    fn what_was_drawn_is_not_drawn_again() {
        let mut entropy = Entropy::new([1; 32]);
        let mut drawn: Vec<Secret> = (0..100).map(|_| entropy.secret()).collect();
        drawn.push(entropy.0.clone());
        for (at, one) in drawn.iter().enumerate() {
            assert!(!drawn[..at].contains(one));
        }
        assert_eq!(alloc::format!("{entropy:?}"), "Entropy(Secret(..))");
    }
}
