//! Decryption of WPA2-PSK (IEEE 802.11-2020, 12.5.3, 12.7), with a passphrase or key
//! ([`credentials`]) and the handshakes in the capture (`handshake`), for CCMP-128 (`ccmp`).
//!
//! One pass in the order of the file: frames before their handshake are not opened, as in
//! Wireshark. Every protected frame is counted as opened, or by the reason why it was not
//! ([`DecryptCounts`]). Memory is bounded. Not supported: SAE, OWE, IEEE 802.1X, fast transitions,
//! TKIP, WEP, CCMP-256, GCMP, links between stations (TDLS, IBSS), stations with several links (MLD),
//! protected management frames.

mod ccmp;
pub mod credentials;
mod handshake;
mod keys;

pub use ccmp::HEADER_LEN;
pub use credentials::{CredentialError, Credentials};

use crate::frame::Frame;
use ccmp::{Protected, Refused};
use credentials::Pmks;
use handshake::{Ends, GroupKey, Obstacle, Pair, unsupported_cipher};
use keys::Secret;
use lasthop_units::MacAddr;
use lasthop_wifi_wire::elements::{Cipher, Elements};
use lasthop_wifi_wire::{Error, Kind, eapol, llc};
use std::collections::BTreeMap;

/// Largest number of pairs of access point and station whose handshakes are followed.
pub const PAIRS_MAX: usize = 16_384;
/// Largest number of networks whose names are remembered.
pub const NETWORKS_MAX: usize = 65_536;
/// Largest number of remembered names of one network, and of remembered group keys with one number.
const NAMES_MAX: usize = 4;
const GROUP_KEYS_MAX: usize = 4;

/// Decryption of protected frames.
#[derive(Debug)]
pub struct Decryption {
    pmks: Pmks,
    networks: BTreeMap<MacAddr, Network>,
    /// State by access point and station.
    pairs: BTreeMap<(MacAddr, MacAddr), Pair>,
    counts: DecryptCounts,
    /// Latest plaintext body.
    body: Vec<u8>,
}

/// Protected frames by result: each frame is in one of the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecryptCounts {
    /// Frames that were opened with the right MIC.
    pub opened: u64,
    /// Frames that were opened without their MIC, which a snap length has cut off: they begin like
    /// an MSDU.
    pub opened_cut: u64,
    /// Frames between stations of which no complete handshake was captured before.
    pub no_handshake: u64,
    /// Frames whose handshake no passphrase fits.
    pub wrong_passphrase: u64,
    /// Frames of a network whose name was not captured, where all passphrases are for all networks.
    pub ssid_unknown: u64,
    /// Frames by the name of an unsupported AKM or cipher.
    pub unsupported: BTreeMap<&'static str, u64>,
    /// Frames for which a key is known but does not fit: a later handshake was missed, or the frame
    /// is damaged.
    pub mic_wrong: u64,
    /// Frames that a snap length has cut too short to check a key.
    pub cut: u64,
    /// Management frames, and data frames without a body.
    pub not_data: u64,
    /// Frames with a wrong check sequence.
    pub bad_fcs: u64,
    /// Handshakes that led to a key.
    pub handshakes: u64,
    /// Handshake messages of pairs beyond [`PAIRS_MAX`].
    pub left_out: u64,
}

impl DecryptCounts {
    /// Sums all protected frames.
    pub fn protected(&self) -> u64 {
        self.opened
            + self.opened_cut
            + self.no_handshake
            + self.wrong_passphrase
            + self.ssid_unknown
            + self.unsupported.values().sum::<u64>()
            + self.mic_wrong
            + self.cut
            + self.not_data
            + self.bad_fcs
    }
}

/// State of a network.
#[derive(Debug, Default)]
struct Network {
    ssids: Vec<Vec<u8>>,
    group_cipher: Option<Cipher>,
    /// Group keys by their number, the newest last.
    group_keys: [Vec<(Secret<16>, ccmp::Key)>; 4],
    /// Cipher of the group, if it is unsupported.
    group_unsupported: Option<&'static str>,
    /// Reason why the last handshake led to no key.
    obstacle: Option<Obstacle>,
}

/// Result for a protected frame.
enum Outcome {
    Opened,
    Obstacle(Obstacle),
    NoHandshake,
    MicWrong,
}

impl Decryption {
    /// Creates a decryption with the user's credentials.
    pub fn new(credentials: Credentials) -> Self {
        Self {
            pmks: Pmks::new(credentials),
            networks: BTreeMap::new(),
            pairs: BTreeMap::new(),
            counts: DecryptCounts::default(),
            body: Vec::new(),
        }
    }

    /// Returns the protected frames by result.
    pub const fn counts(&self) -> &DecryptCounts {
        &self.counts
    }

    /// Returns the access points with stations whose handshakes no passphrase fits, and the number
    /// of these stations.
    pub fn refused(&self) -> BTreeMap<MacAddr, u64> {
        let mut refused = BTreeMap::new();
        for ((access_point, _), pair) in &self.pairs {
            let has_none = pair.keys().next().is_none();
            if has_none && pair.obstacle() == Some(Obstacle::WrongPassphrase) {
                *refused.entry(*access_point).or_default() += 1;
            }
        }
        refused
    }

    /// Returns the number of PMKs that were not computed because there are too many networks.
    pub const fn pmks_left_out(&self) -> u64 {
        self.pmks.left_out()
    }

    /// Handles a frame. For a protected data frame that can be opened, returns its plaintext behind
    /// the CCMP header ([`HEADER_LEN`]), without the MIC.
    ///
    /// # Errors
    ///
    /// Fails for a malformed EAPOL-Key frame; offsets count from the start of the MPDU.
    pub fn handle_frame(&mut self, frame: &Frame<'_>) -> Result<Option<&[u8]>, Error> {
        let is_protected = frame.control.flags.protected;
        if frame.radio.bad_fcs {
            self.counts.bad_fcs += u64::from(is_protected);
            return Ok(None);
        }
        if !frame.has_payload() {
            self.counts.not_data += u64::from(is_protected);
            if !is_protected && frame.kind().is_management() {
                self.learn_name(frame);
            }
            return Ok(None);
        }
        if !is_protected {
            let start = frame.view.body_start();
            return self.follow(frame, frame.body(), start).map(|()| None);
        }
        let mut body = std::mem::take(&mut self.body);
        let opened = self.open(frame, &mut body);
        let followed = if opened {
            self.follow(frame, &body, frame.view.body_start() + HEADER_LEN)
        } else {
            Ok(())
        };
        self.body = body;
        followed.map(|()| opened.then_some(self.body.as_slice()))
    }

    /// Opens a protected data frame, and counts it.
    fn open(&mut self, frame: &Frame<'_>, body: &mut Vec<u8>) -> bool {
        let protected = match Protected::new(frame) {
            Ok(protected) => protected,
            Err(why) => {
                match why {
                    Refused::Wep => *self.counts.unsupported.entry("WEP").or_default() += 1,
                    Refused::Short => self.counts.mic_wrong += 1,
                    Refused::Cut => self.counts.cut += 1,
                }
                return false;
            }
        };
        let outcome = self.try_keys(frame, &protected, body);
        let counts = &mut self.counts;
        match outcome {
            Outcome::Opened if protected.is_cut() => counts.opened_cut += 1,
            Outcome::Opened => counts.opened += 1,
            Outcome::MicWrong if protected.is_cut() => counts.cut += 1,
            Outcome::MicWrong => counts.mic_wrong += 1,
            Outcome::NoHandshake => counts.no_handshake += 1,
            Outcome::Obstacle(Obstacle::WrongPassphrase) => counts.wrong_passphrase += 1,
            Outcome::Obstacle(Obstacle::SsidUnknown) => counts.ssid_unknown += 1,
            Outcome::Obstacle(Obstacle::Unsupported(name)) => {
                *counts.unsupported.entry(name).or_default() += 1;
            }
        }
        matches!(outcome, Outcome::Opened)
    }

    fn try_keys(
        &self,
        frame: &Frame<'_>,
        protected: &Protected<'_>,
        body: &mut Vec<u8>,
    ) -> Outcome {
        let Some(transmitter) = frame.transmitter() else { return Outcome::NoHandshake };
        let receiver = frame.receiver();
        if receiver.is_multicast() {
            let Some(network) = self.networks.get(&transmitter) else {
                return Outcome::NoHandshake;
            };
            let keys = &network.group_keys[usize::from(protected.key_id & 3)];
            if keys.iter().rev().any(|(_, key)| protected.open(key, body)) {
                return Outcome::Opened;
            }
            return match (network.group_unsupported, network.obstacle) {
                (Some(name), _) => Outcome::Obstacle(Obstacle::Unsupported(name)),
                _ if !keys.is_empty() => Outcome::MicWrong,
                (None, Some(obstacle)) => Outcome::Obstacle(obstacle),
                (None, None) => Outcome::NoHandshake,
            };
        }
        let mut outcome = Outcome::NoHandshake;
        for pair in [(transmitter, receiver), (receiver, transmitter)] {
            let Some(pair) = self.pairs.get(&pair) else { continue };
            if pair.keys().any(|key| protected.open(key, body)) {
                return Outcome::Opened;
            }
            outcome = match pair.obstacle() {
                _ if pair.keys().next().is_some() => Outcome::MicWrong,
                Some(obstacle) => Outcome::Obstacle(obstacle),
                None => outcome,
            };
        }
        outcome
    }

    /// Handles an MSDU that can be read, which starts at `start` in the MPDU and may be a message
    /// of a handshake.
    fn follow(&mut self, frame: &Frame<'_>, msdu: &[u8], start: usize) -> Result<(), Error> {
        let is_part = frame.control.flags.more_fragments
            || frame.view.sequence_control().is_none_or(|sequence| sequence.fragment > 0)
            || frame.view.qos_control().is_some_and(|qos| qos.amsdu_present);
        let Ok((header, payload)) = llc::Repr::parse(msdu) else { return Ok(()) };
        if is_part || header.ethertype != eapol::ETHERTYPE {
            return Ok(());
        }
        let message = match eapol::Key::parse(payload) {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(()),
            // The MIC may have another length than assumed.
            Err(error) => {
                let of_akm = eapol::Key::peek(payload).is_some_and(|key| key.version() == 0);
                return if of_akm { Ok(()) } else { Err(error.shifted(start + llc::LEN)) };
            }
        };
        let Some(transmitter) = frame.transmitter() else { return Ok(()) };
        let receiver = frame.receiver();
        let ends = if message.information.has_ack() {
            Ends { authenticator: transmitter, supplicant: receiver }
        } else {
            Ends { authenticator: receiver, supplicant: transmitter }
        };
        let key = (ends.authenticator, ends.supplicant);
        if receiver.is_multicast() {
            return Ok(());
        }
        if !self.pairs.contains_key(&key) && self.pairs.len() >= PAIRS_MAX {
            self.counts.left_out += 1;
            return Ok(());
        }
        let pair = self.pairs.entry(key).or_default();
        let before = pair.followed();
        let ssids = self.networks.get(&ends.authenticator).map_or(&[][..], |known| &known.ssids);
        let group_keys = pair.handle_message(ends, &message, &mut self.pmks, ssids);
        self.counts.handshakes += pair.followed() - before;
        let obstacle = pair.obstacle();
        self.learn_keys(ends.authenticator, group_keys, obstacle);
        Ok(())
    }

    /// Stores the group keys of a handshake.
    fn learn_keys(
        &mut self,
        access_point: MacAddr,
        group_keys: Vec<GroupKey>,
        obstacle: Option<Obstacle>,
    ) {
        let Some(network) = self.network(access_point) else { return };
        network.obstacle = obstacle;
        for group_key in group_keys {
            network.group_cipher = group_key.cipher.or(network.group_cipher);
            let unsupported = network.group_cipher.and_then(unsupported_cipher);
            let key = match (unsupported, group_key.key) {
                (None, Some(key)) => key,
                (name, _) => {
                    network.group_unsupported = Some(name.unwrap_or("another cipher"));
                    continue;
                }
            };
            network.group_unsupported = None;
            let keys = &mut network.group_keys[usize::from(group_key.id & 3)];
            if keys.iter().any(|(known, _)| *known == key) {
                continue;
            }
            if keys.len() >= GROUP_KEYS_MAX {
                keys.remove(0);
            }
            let cipher = ccmp::Key::new(&key);
            keys.push((key, cipher));
        }
    }

    /// Returns the network of an access point, and adds it if it is new; `None` if there are too
    /// many.
    fn network(&mut self, access_point: MacAddr) -> Option<&mut Network> {
        if !self.networks.contains_key(&access_point) && self.networks.len() >= NETWORKS_MAX {
            return None;
        }
        Some(self.networks.entry(access_point).or_default())
    }

    /// Handles a management frame that names its network. Elements behind a malformed one are not
    /// read.
    fn learn_name(&mut self, frame: &Frame<'_>) {
        let fixed = match frame.kind() {
            Kind::Beacon | Kind::ProbeResponse => 12,
            Kind::AssociationRequest => 4,
            Kind::ReassociationRequest => 10,
            _ => return,
        };
        let (Some(access_point), Some(elements)) =
            (frame.view.bssid(), frame.body().get(fixed..).map(Elements::new))
        else {
            return;
        };
        // The name of a hidden network is empty or zeros.
        let Some(ssid) = elements.ssid().filter(|ssid| ssid.iter().any(|octet| *octet != 0)) else {
            return;
        };
        let Some(network) = self.network(access_point) else { return };
        let is_known = network.ssids.iter().any(|known| known == ssid);
        if is_known || network.ssids.len() >= NAMES_MAX || ssid.len() > 32 {
            return;
        }
        network.ssids.push(ssid.to_vec());
        let ssids = network.ssids.clone();
        let (mut learned, mut obstacle) = (Vec::new(), None);
        let all = (access_point, MacAddr([0; 6]))..=(access_point, MacAddr::BROADCAST);
        for ((authenticator, supplicant), pair) in self.pairs.range_mut(all) {
            let ends = Ends { authenticator: *authenticator, supplicant: *supplicant };
            let before = pair.followed();
            learned.extend(pair.retry(ends, None, &mut self.pmks, &ssids));
            self.counts.handshakes += pair.followed() - before;
            obstacle = pair.obstacle().or(obstacle);
        }
        self.learn_keys(access_point, learned, obstacle);
    }
}
