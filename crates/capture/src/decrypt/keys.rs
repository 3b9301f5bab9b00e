//! Keys of an RSN and their derivation (IEEE 802.11-2020, 12.7.1): PMK from a passphrase (J.4:
//! PBKDF2, RFC 8018), PTK from PMK and nonces (12.7.1.3; PRF of 12.7.1.2, KDF of 12.7.1.6.2), MIC
//! and encryption of EAPOL-Key frames (table 12-10; CMAC: RFC 4493, key wrap: RFC 3394). Keys are
//! erased when they are dropped, and never displayed. Only the AKMs 00-0F-AC:2 (PSK) and :6
//! (PSK-SHA256) with CCMP-128 are supported. MICs are not compared in constant time: an attacker
//! who could measure the time has the file.

use aes::Aes128;
use aes_kw::KwAes128;
use cmac::Cmac;
use hmac::{Hmac, KeyInit, Mac};
use lasthop_units::MacAddr;
use lasthop_wifi_wire::eapol;
use sha1::Sha1;
use sha2::Sha256;
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// A nonce of a handshake.
pub type Nonce = [u8; 32];

/// A key of `N` octets, which is erased when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<const N: usize>([u8; N]);

impl<const N: usize> Secret<N> {
    /// Creates a key with these octets. The caller erases the original.
    pub const fn new(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    /// Returns the octets of the key.
    pub const fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// Returns `M` octets from `start` on.
    fn part<const M: usize>(&self, start: usize) -> Secret<M> {
        let mut part = Secret([0; M]);
        part.0.copy_from_slice(&self.0[start..start + M]);
        part
    }
}

impl<const N: usize> Drop for Secret<N> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<const N: usize> fmt::Debug for Secret<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A pairwise master key. For AKMs with pre-shared keys, it is the PSK.
pub type Pmk = Secret<32>;

/// Derives the PSK of a passphrase in a network (J.4): 4 096 rounds, some milliseconds.
pub fn psk(passphrase: &[u8], ssid: &[u8]) -> Pmk {
    let mut key = Secret([0; 32]);
    pbkdf2::pbkdf2_hmac::<Sha1>(passphrase, ssid, 4_096, &mut key.0);
    key
}

/// Functions that derive keys and protect EAPOL-Key frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Functions {
    /// Key Descriptor Version 2: PRF with HMAC-SHA-1, MIC by HMAC-SHA-1-128.
    Sha1,
    /// Key Descriptor Version 3: KDF with HMAC-SHA-256, MIC by AES-128-CMAC.
    Sha256,
}

impl Functions {
    /// Returns the functions of a Key Descriptor Version, if it is known.
    pub const fn of_version(version: u8) -> Option<Self> {
        match version {
            2 => Some(Self::Sha1),
            3 => Some(Self::Sha256),
            _ => None,
        }
    }
}

/// One side of a 4-way handshake.
#[derive(Clone, Copy, Debug)]
pub struct Party<'a> {
    /// Address of the station or access point.
    pub address: MacAddr,
    /// Nonce that it has sent.
    pub nonce: &'a Nonce,
}

/// A pairwise transient key of CCMP-128: 384 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptk {
    functions: Functions,
    /// Key confirmation key, for the MIC of EAPOL-Key frames.
    kck: Secret<16>,
    /// Key encryption key, for their Key Data.
    kek: Secret<16>,
    /// Temporal key, for data.
    tk: Secret<16>,
}

impl Ptk {
    /// Derives the key of an access point and a station from their nonces (12.7.1.3).
    pub fn new(
        functions: Functions,
        pmk: &Pmk,
        authenticator: Party<'_>,
        supplicant: Party<'_>,
    ) -> Self {
        let (aa, spa) = (authenticator.address.0, supplicant.address.0);
        let mut context = [0; 76];
        context[..6].copy_from_slice(&aa.min(spa));
        context[6..12].copy_from_slice(&aa.max(spa));
        context[12..44].copy_from_slice(authenticator.nonce.min(supplicant.nonce));
        context[44..].copy_from_slice(authenticator.nonce.max(supplicant.nonce));
        let label = b"Pairwise key expansion";
        let key: Secret<48> = match functions {
            Functions::Sha1 => prf(pmk.as_bytes(), label, &context),
            Functions::Sha256 => kdf(pmk.as_bytes(), label, &context),
        };
        Self { functions, kck: key.part(0), kek: key.part(16), tk: key.part(32) }
    }

    /// Returns the temporal key.
    pub const fn temporal(&self) -> &Secret<16> {
        &self.tk
    }

    /// Whether the MIC of an EAPOL-Key frame is right.
    pub fn verifies(&self, key: &eapol::Key<'_>) -> bool {
        Functions::of_version(key.information.version()) == Some(self.functions)
            && mic(self.functions, self.kck.as_bytes(), key.frame) == Some(key.mic)
    }

    /// Decrypts the Key Data of a frame; `None` if another key encrypted it.
    pub fn key_data(&self, wrapped: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        unwrap(&self.kek, wrapped)
    }
}

/// Computes the MIC of an EAPOL-Key frame (12.7.2), over the whole frame with zeros in the MIC
/// field. `None` if the frame is too short for a MIC.
fn mic(functions: Functions, kck: &[u8; 16], frame: &[u8]) -> Option<[u8; eapol::MIC_LEN]> {
    let before = frame.get(..eapol::MIC_OFFSET)?;
    let behind = frame.get(eapol::MIC_OFFSET + eapol::MIC_LEN..)?;
    let parts = [before, &[0; eapol::MIC_LEN], behind];
    match functions {
        Functions::Sha1 => code::<Hmac<Sha1>>(kck, &parts),
        Functions::Sha256 => code::<Cmac<Aes128>>(kck, &parts),
    }
    .first_chunk()
    .copied()
}

/// Computes the MAC of a message in several parts.
fn code<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("its length is the function's");
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().to_vec())
}

/// Unwraps AES key wrap (RFC 3394); `None` if another key wrapped the data.
fn unwrap(kek: &Secret<16>, wrapped: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    // The shortest data in the RFC has two blocks of eight octets.
    if wrapped.len() < 24 {
        return None;
    }
    let mut data = Zeroizing::new(vec![0; wrapped.len() - 8]);
    let length = KwAes128::new(kek.as_bytes().into()).unwrap_key(wrapped, &mut data).ok()?.len();
    data.truncate(length);
    Some(data)
}

/// Computes the PRF with `N` octets (12.7.1.2).
fn prf<const N: usize>(key: &[u8], label: &[u8], context: &[u8]) -> Secret<N> {
    let mut out = Secret([0; N]);
    for (index, chunk) in (0_u8..).zip(out.0.chunks_mut(20)) {
        let part = code::<Hmac<Sha1>>(key, &[label, &[0], context, &[index]]);
        chunk.copy_from_slice(&part[..chunk.len()]);
    }
    out
}

/// Computes the KDF with HMAC-SHA-256 and `N` octets (12.7.1.6.2).
fn kdf<const N: usize>(key: &[u8], label: &[u8], context: &[u8]) -> Secret<N> {
    let mut out = Secret([0; N]);
    let bits = (8 * N as u16).to_le_bytes();
    for (index, chunk) in (1_u16..).zip(out.0.chunks_mut(32)) {
        let part = code::<Hmac<Sha256>>(key, &[&index.to_le_bytes(), label, context, &bits]);
        chunk.copy_from_slice(&part[..chunk.len()]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        digits.chunks(2).map(|pair| octet(pair).unwrap()).collect()
    }

    /// IEEE 802.11-2020, J.4: test vectors.
    #[test]
    fn passphrases_become_keys_as_the_standard_has_it() {
        for (passphrase, ssid, key) in [
            (
                "password",
                "IEEE",
                "f42c6fc52df0ebef9ebb4b90b38a5f90 2e83fe1b135a70e23aed762e9710a12e",
            ),
            (
                "ThisIsAPassword",
                "ThisIsASSID",
                "0dc0d6eb90555ed6419756b9a15ec3e3 209b63df707dd508d14581f8982721af",
            ),
            (
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ",
                "becb93866bb8c3832cb777c2f559807c 8c59afcb6eae734885001300a981cc62",
            ),
        ] {
            assert_eq!(psk(passphrase.as_bytes(), ssid.as_bytes()).as_bytes()[..], hex(key));
        }
    }

    /// IEEE 802.11-2020, J.3: the vectors of the PRF, each of 64 octets.
    #[test]
    fn the_prf_is_the_standards() {
        for (key, data, expected) in [
            (
                vec![0x0b; 20],
                &b"Hi There"[..],
                "bcd4c650b30b9684951829e0d75f9d54 b862175ed9f00606e17d8da35402ffee
                 75df78c3d31e0f889f012120c0862beb 67753e7439ae242edb8373698356cf5a",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?",
                "51f4de5b33f249adf81aeb713a3c20f4 fe631446fabdfa58244759ae58ef9009
                 a99abf4eac2ca5fa87e692c440eb4002 3e7babb206d61de7b92f41529092b8fc",
            ),
            (
                vec![0xaa; 20],
                &[0xdd; 50],
                "e1ac546ec4cb636f9976487be5c86be1 7a0252ca5d8d8df12cfb0473525249ce
                 9dd8d177ead710bc9b590547239107ae f7b4abd43d87f0a68f1cbd9e2b6f7607",
            ),
        ] {
            let out: Secret<64> = prf(&key, b"prefix", data);
            assert_eq!(out.as_bytes()[..], hex(expected));
        }
    }

    /// The KDF of 12.7.1.6.2 has no vector. The test computes its formula over HMAC-SHA-256, which
    /// has one (RFC 4231, test case 4). A network with PSK-SHA256 in `tests/psk` confirms the
    /// formula.
    #[test]
    fn the_kdf_is_hmac_over_counter_label_context_and_length() {
        let key = hex("0102030405060708090a0b0c0d0e0f10111213141516171819");
        let out: Secret<48> = kdf(&key, b"label", b"context");
        let block = |counter: u8| {
            let mut text = vec![counter, 0];
            text.extend(b"labelcontext");
            text.extend([0x80, 0x01]);
            code::<Hmac<Sha256>>(&key, &[&text])
        };
        assert_eq!(out.as_bytes()[..32], block(1)[..]);
        assert_eq!(out.as_bytes()[32..], block(2)[..16]);
        let example = "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b";
        assert_eq!(code::<Hmac<Sha256>>(&key, &[&[0xcd; 50]])[..], hex(example));
    }

    /// Vectors of RFC 4493, section 4.
    #[test]
    fn the_cmac_is_that_of_the_rfc() {
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let message = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
             30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710");
        for (length, expected) in [
            (0, "bb1d6929e95937287fa37d129b756746"),
            (16, "070a16b46b4d4144f79bdd9dd04a287c"),
            (40, "dfa66747de9ae63030ca32611497c827"),
            (64, "51f0bebf7e3b9d92fc49741779363cfe"),
        ] {
            let parts: Vec<_> = message[..length].chunks(7).collect();
            assert_eq!(code::<Cmac<Aes128>>(&key, &parts)[..], hex(expected));
        }
    }

    /// Vectors of RFC 3394, section 4.1.
    #[test]
    fn the_key_wrap_is_that_of_the_rfc() {
        let kek = Secret::new(hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap());
        let mut wrapped = hex("1fa68b0a8112b447 aef34bd8fb5a7b82 9d3e862371d2cfe5");
        let data = hex("00112233445566778899aabbccddeeff");
        assert_eq!(unwrap(&kek, &wrapped).unwrap()[..], data);
        wrapped[9] ^= 1;
        assert!(unwrap(&kek, &wrapped).is_none());
        for length in 0..24 {
            assert!(unwrap(&kek, &wrapped[..length]).is_none());
        }
    }

    #[test]
    fn keys_are_not_shown() {
        let key = Secret::new([0x77; 16]);
        assert_eq!(format!("{key:?}"), "Secret(..)");
    }
}
