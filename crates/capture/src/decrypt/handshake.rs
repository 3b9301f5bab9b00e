//! Key agreement of an access point and a station (IEEE 802.11-2020, 12.7.6, 12.7.7), as a monitor
//! observes it: messages 1 to 4 of the 4-way handshake, both messages of the group key handshake,
//! retransmissions, and rekeying. The MIC of a message proves a key.
//!
//! Two nonces and one message with a MIC are enough: messages 1 and 2, or 2 and 3, in either order.
//! Message 1 has no MIC and can be forged, so several nonces are remembered, and only a key that a
//! MIC proves replaces another one. PSK and PSK-SHA256 with CCMP-128 are supported;
//! [`Obstacle::Unsupported`] names all others.

use super::ccmp;
use super::credentials::Pmks;
use super::keys::{Functions, Nonce, Party, Ptk, Secret};
use lasthop_units::MacAddr;
use lasthop_wifi_wire::eapol::{Kdes, Key};
use lasthop_wifi_wire::elements::{Cipher, KeyManagement, Rsn};

/// Largest number of nonces remembered for each side.
const NONCES_MAX: usize = 3;
/// Largest number of messages remembered until a key fits them, and their largest length in octets.
const PENDING_MAX: usize = 3;
const PENDING_LEN_MAX: usize = 1_024;
/// Largest number of pairwise keys remembered: the newest, and keys of frames that were sent before
/// it.
const SESSIONS_MAX: usize = 3;
/// Largest difference of the replay counters of message 2 and its message 3.
const RETRANSMISSIONS_MAX: u64 = 4;

/// An access point and a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The authenticator: the access point.
    pub authenticator: MacAddr,
    /// The supplicant: the station.
    pub supplicant: MacAddr,
}

/// Reason why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No credential fits the handshake.
    WrongPassphrase,
    /// The name of the network was not captured before it was required.
    SsidUnknown,
    /// The AKM or the cipher is not supported.
    Unsupported(&'static str),
}

/// State of the keys of a pair.
#[derive(Debug, Default)]
pub struct Pair {
    /// Nonces of the access point and of the station with their replay counters, the newest last.
    a_nonces: Vec<(Nonce, u64)>,
    s_nonces: Vec<(Nonce, u64)>,
    /// Messages with a MIC that no key fits yet.
    pending: Vec<Vec<u8>>,
    /// Keys of the pair, the newest last.
    sessions: Vec<Session>,
    /// Number of handshakes that led to a key.
    followed: u64,
    obstacle: Option<Obstacle>,
}

/// The keys of one handshake.
#[derive(Debug)]
pub struct Session {
    nonces: (Nonce, Nonce),
    ptk: Ptk,
    key: ccmp::Key,
}

/// A group key that an access point has sent to a station.
#[derive(Debug)]
pub struct GroupKey {
    /// Number of the key, 0 to 3.
    pub id: u8,
    /// Key; `None` if its length is not that of CCMP-128.
    pub key: Option<Secret<16>>,
    /// Cipher in the RSN element of the same message.
    pub cipher: Option<Cipher>,
}

impl Pair {
    /// Returns the keys for data, the newest first.
    pub fn keys(&self) -> impl Iterator<Item = &ccmp::Key> {
        self.sessions.iter().rev().map(|session| &session.key)
    }

    /// Returns the reason why there is no key.
    pub const fn obstacle(&self) -> Option<Obstacle> {
        self.obstacle
    }

    /// Returns the number of handshakes that led to a key.
    pub const fn followed(&self) -> u64 {
        self.followed
    }

    /// Handles a message of either handshake, from or to the access point.
    pub fn handle_message(
        &mut self,
        ends: Ends,
        message: &Key<'_>,
        pmks: &mut Pmks,
        ssids: &[Vec<u8>],
    ) -> Vec<GroupKey> {
        let information = message.information;
        if information.is_smk() || information.is_request() {
            return Vec::new();
        }
        if message.descriptor != Key::RSN {
            self.obstacle = Some(Obstacle::Unsupported("WPA"));
            return Vec::new();
        }
        // Message 2 contains the station's choice.
        if !information.has_ack()
            && !information.is_encrypted()
            && let Ok(Some(rsn)) = Kdes::new(message.key_data).elements().rsn()
            && let Some(name) = unsupported(&rsn)
        {
            self.obstacle = Some(Obstacle::Unsupported(name));
            return Vec::new();
        }
        if Functions::of_version(information.version()).is_none() {
            let name = if information.version() == 1 { "TKIP" } else { OTHER_AKM };
            if !matches!(self.obstacle, Some(Obstacle::Unsupported(_))) {
                self.obstacle = Some(Obstacle::Unsupported(name));
            }
            return Vec::new();
        }
        let heard = (message.nonce, message.replay_counter);
        if information.is_pairwise() && message.nonce != [0; 32] {
            let nonces =
                if information.has_ack() { &mut self.a_nonces } else { &mut self.s_nonces };
            push(nonces, heard, NONCES_MAX);
        }
        if information.has_mic() {
            self.handle_mic(ends, message, None, pmks, ssids)
        } else if information.has_ack() {
            self.retry(ends, Some(&message.nonce), pmks, ssids)
        } else {
            Vec::new()
        }
    }

    /// Tries messages without a fitting key again, because a nonce (`a_nonce`) or a name has become
    /// known.
    pub fn retry(
        &mut self,
        ends: Ends,
        a_nonce: Option<&Nonce>,
        pmks: &mut Pmks,
        ssids: &[Vec<u8>],
    ) -> Vec<GroupKey> {
        let mut group_keys = Vec::new();
        for frame in std::mem::take(&mut self.pending) {
            if let Ok(Some(message)) = Key::parse(&frame) {
                group_keys.extend(self.handle_mic(ends, &message, a_nonce, pmks, ssids));
            }
        }
        group_keys
    }

    /// Handles a message with a MIC: a known key fits it, or it makes a key known. With `a_nonce`,
    /// only keys of this nonce are tried.
    fn handle_mic(
        &mut self,
        ends: Ends,
        message: &Key<'_>,
        a_nonce: Option<&Nonce>,
        pmks: &mut Pmks,
        ssids: &[Vec<u8>],
    ) -> Vec<GroupKey> {
        if let Some(session) = self.sessions.iter().rev().find(|known| known.ptk.verifies(message))
        {
            return session.group_key(message).into_iter().collect();
        }
        if !message.information.is_pairwise() {
            return Vec::new();
        }
        if !self.find_session(ends, message, a_nonce, pmks, ssids) {
            if message.frame.len() <= PENDING_LEN_MAX {
                push(&mut self.pending, message.frame.to_vec(), PENDING_MAX);
            }
            return Vec::new();
        }
        let mut group_keys: Vec<_> = self
            .sessions
            .last()
            .and_then(|session| session.group_key(message))
            .into_iter()
            .collect();
        // Message 3 may have come before message 2, or before the network's name.
        group_keys.extend(self.retry(ends, None, pmks, ssids));
        group_keys
    }

    /// Searches for nonces and a PMK with which the MIC of a message is right.
    fn find_session(
        &mut self,
        ends: Ends,
        message: &Key<'_>,
        a_nonce: Option<&Nonce>,
        pmks: &mut Pmks,
        ssids: &[Vec<u8>],
    ) -> bool {
        let Some(functions) = Functions::of_version(message.information.version()) else {
            return false;
        };
        // Message 4 has no nonce, and no more information than messages 2 and 3.
        if message.nonce == [0; 32] {
            return false;
        }
        let from_access_point = message.information.has_ack();
        let others = if from_access_point { &self.s_nonces } else { &self.a_nonces };
        for (other, replay_counter) in others.iter().rev() {
            let nonces =
                if from_access_point { (message.nonce, *other) } else { (*other, message.nonce) };
            let is_known = self.sessions.iter().any(|session| session.nonces == nonces);
            if is_known || a_nonce.is_some_and(|wanted| *wanted != nonces.0) {
                continue;
            }
            let mut found = None;
            let all = pmks.try_each(ssids, |pmk| {
                let authenticator = Party { address: ends.authenticator, nonce: &nonces.0 };
                let supplicant = Party { address: ends.supplicant, nonce: &nonces.1 };
                let ptk = Ptk::new(functions, pmk, authenticator, supplicant);
                let fits = ptk.verifies(message);
                found = fits.then_some(ptk);
                fits
            });
            if let Some(ptk) = found {
                let key = ccmp::Key::new(ptk.temporal());
                push(&mut self.sessions, Session { nonces, ptk, key }, SESSIONS_MAX);
                self.followed += 1;
                self.obstacle = None;
                return true;
            }
            // These two messages belong together: the PMK is another one.
            let belongs = if from_access_point {
                message.replay_counter.wrapping_sub(*replay_counter) <= RETRANSMISSIONS_MAX
            } else {
                message.replay_counter == *replay_counter
            };
            if belongs {
                let why = if all { Obstacle::WrongPassphrase } else { Obstacle::SsidUnknown };
                self.obstacle = Some(why);
            }
        }
        false
    }
}

impl Session {
    /// Returns the group key in message 3, or in message 1 of a group key handshake.
    fn group_key(&self, message: &Key<'_>) -> Option<GroupKey> {
        let information = message.information;
        if !information.has_ack() || !information.is_encrypted() {
            return None;
        }
        let data = self.ptk.key_data(message.key_data)?;
        let kdes = Kdes::new(&data);
        let gtk = kdes.gtk()?;
        Some(GroupKey {
            id: gtk.id,
            key: gtk.key.try_into().ok().map(Secret::new),
            cipher: kdes.elements().rsn().ok().flatten().map(|rsn| rsn.group_cipher()),
        })
    }
}

/// Adds an item to a list, which drops its first item when it is full. An item that is already in
/// the list moves to the end.
fn push<T: PartialEqKey>(list: &mut Vec<T>, item: T, max: usize) {
    list.retain(|known| !known.is_same(&item));
    if list.len() >= max {
        list.remove(0);
    }
    list.push(item);
}

/// Equality of two list entries, by the item that they describe.
trait PartialEqKey {
    fn is_same(&self, other: &Self) -> bool;
}

impl PartialEqKey for (Nonce, u64) {
    fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl PartialEqKey for Vec<u8> {
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl PartialEqKey for Session {
    fn is_same(&self, other: &Self) -> bool {
        self.nonces == other.nonces
    }
}

const OTHER_AKM: &str = "another AKM";

/// Returns the name of the unsupported AKM or cipher that a station has chosen.
fn unsupported(rsn: &Rsn<'_>) -> Option<&'static str> {
    let akm = rsn.key_managements().next()?;
    let name = match akm {
        KeyManagement::Psk | KeyManagement::PskSha256 => {
            return rsn.pairwise_ciphers().next().and_then(unsupported_cipher);
        }
        KeyManagement::Dot1x | KeyManagement::Dot1xSha256 => "IEEE 802.1X",
        KeyManagement::SuiteB | KeyManagement::SuiteB192 => "IEEE 802.1X",
        KeyManagement::FtDot1x | KeyManagement::FtPsk => "fast transitions",
        KeyManagement::Owe => "OWE",
        akm if akm.is_sae() => "SAE",
        _ => OTHER_AKM,
    };
    Some(name)
}

/// Returns the name of an unsupported cipher.
pub fn unsupported_cipher(cipher: Cipher) -> Option<&'static str> {
    match cipher {
        Cipher::Ccmp128 | Cipher::UseGroup => None,
        Cipher::Tkip => Some("TKIP"),
        Cipher::Wep40 | Cipher::Wep104 => Some("WEP"),
        Cipher::Gcmp128 | Cipher::Gcmp256 => Some("GCMP"),
        Cipher::Ccmp256 => Some("CCMP-256"),
        _ => Some("another cipher"),
    }
}
