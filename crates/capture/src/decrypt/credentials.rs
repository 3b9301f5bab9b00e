//! Credentials of the user: passphrases and pre-shared keys (IEEE 802.11-2020, J.4), for one
//! network or for all, and the PMKs that follow from them. A passphrase has 8 to 63 printable ASCII
//! characters, a key 64 hexadecimal digits, an SSID 1 to 32 octets.
//!
//! In `SSID:PASSPHRASE` either part may contain a colon, and so may a passphrase without SSID.
//! Every valid reading is tried; the MIC of a handshake shows the right one.

use super::keys::{Pmk, Secret, psk};
use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// Largest number of PMKs computed: each takes some milliseconds, and SSIDs come from the air.
pub const PMKS_MAX: usize = 1_024;

/// Longest SSID, in octets.
const SSID_LEN_MAX: usize = 32;

/// Passphrases and pre-shared keys.
#[derive(Clone, Default)]
pub struct Credentials {
    readings: Vec<CredentialReading>,
}

/// Reading of a credential.
#[derive(Clone)]
enum CredentialReading {
    /// A pre-shared key.
    Psk(Pmk),
    /// A passphrase for the network with this SSID, or for all networks.
    Passphrase { ssid: Option<Vec<u8>>, passphrase: Zeroizing<Vec<u8>> },
}

/// Error for text that is not a credential. The message does not contain the text, which may be a
/// secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a passphrase of 8 to 63 printable ASCII characters or a key of 64 hexadecimal \
     digits, alone or behind an SSID of up to 32 octets and a colon, found {octets} octets that \
     are neither"
)]
pub struct CredentialError {
    /// Length of the text in octets.
    pub octets: usize,
}

impl Credentials {
    /// Adds `[SSID:]PASSPHRASE` or `[SSID:]KEY`.
    ///
    /// # Errors
    ///
    /// Fails for text that is neither.
    pub fn add(&mut self, text: &[u8]) -> Result<(), CredentialError> {
        let before = self.readings.len();
        self.add_reading(None, text);
        for at in (0..text.len()).filter(|at| text[*at] == b':') {
            let ssid = (at > 0).then(|| text[..at].to_vec());
            if at <= SSID_LEN_MAX {
                self.add_reading(ssid, &text[at + 1..]);
            }
        }
        if self.readings.len() > before {
            Ok(())
        } else {
            Err(CredentialError { octets: text.len() })
        }
    }

    /// Adds the credentials of a file, one on each line; empty lines are skipped.
    ///
    /// # Errors
    ///
    /// Fails at the first invalid line, and returns its number from 1.
    pub fn add_lines(&mut self, text: &[u8]) -> Result<(), (usize, CredentialError)> {
        for (index, line) in text.split(|octet| *octet == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                self.add(line).map_err(|error| (index + 1, error))?;
            }
        }
        Ok(())
    }

    /// Whether there are no credentials.
    pub const fn is_empty(&self) -> bool {
        self.readings.is_empty()
    }

    fn add_reading(&mut self, ssid: Option<Vec<u8>>, secret: &[u8]) {
        if let Some(key) = key_of(secret) {
            self.readings.push(CredentialReading::Psk(key));
        } else if (8..=63).contains(&secret.len()) && secret.iter().all(|c| (32..127).contains(c)) {
            let passphrase = Zeroizing::new(secret.to_vec());
            self.readings.push(CredentialReading::Passphrase { ssid, passphrase });
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({} readings)", self.readings.len())
    }
}

/// Parses a key of 64 hexadecimal digits.
fn key_of(text: &[u8]) -> Option<Pmk> {
    if text.len() != 64 {
        return None;
    }
    let mut key = [0; 32];
    for (octet, pair) in key.iter_mut().zip(text.chunks_exact(2)) {
        let digit = |character: u8| char::from(character).to_digit(16);
        *octet = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    let secret = Secret::new(key);
    zeroize::Zeroize::zeroize(&mut key);
    Some(secret)
}

/// PMKs, each of which is computed when a handshake first requires it.
#[derive(Debug)]
pub struct Pmks {
    credentials: Credentials,
    known: BTreeMap<(usize, Vec<u8>), Pmk>,
    /// Number of PMKs that were not computed because of the limit.
    left_out: u64,
}

impl Pmks {
    /// Creates the PMKs of credentials.
    pub const fn new(credentials: Credentials) -> Self {
        Self { credentials, known: BTreeMap::new(), left_out: 0 }
    }

    /// Returns how often a PMK was not computed because of [`PMKS_MAX`].
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Calls `tries` with each PMK that a network with these SSIDs may have, until it returns
    /// `true`. Returns `false` if some passphrases could not be tried, because no name is known or
    /// because of [`PMKS_MAX`].
    pub fn try_each(&mut self, ssids: &[Vec<u8>], mut tries: impl FnMut(&Pmk) -> bool) -> bool {
        let mut all = true;
        for (index, reading) in self.credentials.readings.iter().enumerate() {
            let (named, passphrase) = match reading {
                CredentialReading::Psk(key) if tries(key) => return true,
                CredentialReading::Psk(_) => continue,
                CredentialReading::Passphrase { ssid, passphrase } => (ssid, passphrase),
            };
            let ssids = named.as_ref().map_or(ssids, std::slice::from_ref);
            all &= !ssids.is_empty();
            for ssid in ssids {
                let place = (index, ssid.clone());
                if !self.known.contains_key(&place) {
                    if self.known.len() >= PMKS_MAX {
                        self.left_out += 1;
                        all = false;
                        continue;
                    }
                    self.known.insert(place.clone(), psk(passphrase, ssid));
                }
                if self.known.get(&place).is_some_and(&mut tries) {
                    return true;
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the PMKs of one credential in a network called `IEEE`.
    fn pmks(text: &str) -> Vec<[u8; 32]> {
        let mut credentials = Credentials::default();
        credentials.add(text.as_bytes()).unwrap();
        let mut found = Vec::new();
        let ssids = [b"IEEE".to_vec()];
        Pmks::new(credentials).try_each(&ssids, |pmk| {
            found.push(*pmk.as_bytes());
            false
        });
        found
    }

    /// All notations of the passphrase and SSID of J.4 give its PMK.
    #[test]
    fn each_reading_is_tried() {
        let standard = *psk(b"password", b"IEEE").as_bytes();
        assert_eq!(standard[..4], [0xf4, 0x2c, 0x6f, 0xc5]);
        assert_eq!(pmks("password"), [standard]);
        assert_eq!(pmks(":password"), [*psk(b":password", b"IEEE").as_bytes(), standard]);
        assert!(pmks("IEEE:password").contains(&standard));
        assert!(!pmks("other:password").contains(&standard));
        let text = "a:b:password";
        let expected =
            [psk(b"a:b:password", b"IEEE"), psk(b"b:password", b"a"), psk(b"password", b"a:b")];
        assert_eq!(pmks(text), expected.map(|pmk| *pmk.as_bytes()));
        let digits = "0F".repeat(32);
        assert_eq!(pmks(&digits), [[0x0f; 32]]);
        assert_eq!(pmks(&format!("IEEE:{digits}")), [[0x0f; 32]]);
    }

    #[test]
    fn what_is_neither_is_refused_and_not_shown() {
        let mut credentials = Credentials::default();
        for text in ["", "seven77", "IE:five", &"x".repeat(64), "p\u{e4}ssword", "\x07ssword1"] {
            let error = credentials.add(text.as_bytes()).unwrap_err();
            assert_eq!(error.octets, text.len());
            assert!(text.is_empty() || !error.to_string().contains(text));
        }
        let long = format!("{}:password", "s".repeat(33));
        assert_eq!(credentials.add(long.as_bytes()), Ok(()), "as a passphrase alone");
        let longer = format!("{}:password", "s".repeat(55));
        assert!(credentials.add(longer.as_bytes()).is_err());
        assert_eq!(format!("{credentials:?}"), "Credentials(1 readings)");
    }

    #[test]
    fn a_file_has_one_on_a_line() {
        let mut credentials = Credentials::default();
        assert_eq!(credentials.add_lines(b"password\r\n\nIEEE:password\n"), Ok(()));
        assert_eq!(credentials.readings.len(), 3);
        let (line, _) = credentials.add_lines(b"\npassword\nshort\n").unwrap_err();
        assert_eq!(line, 3);
    }

    /// Thousands of networks do not require an unlimited number of PMKs.
    #[test]
    fn pmks_are_bounded() {
        let mut credentials = Credentials::default();
        credentials.add(b"password").unwrap();
        let mut pmks = Pmks::new(credentials);
        for index in 0..PMKS_MAX {
            pmks.known.insert((0, index.to_le_bytes().to_vec()), Secret::new([0; 32]));
        }
        assert!(!pmks.try_each(&[b"IEEE".to_vec()], |_| true));
        assert_eq!(pmks.left_out(), 1);
    }
}
