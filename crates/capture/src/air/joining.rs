//! Stations that join a network, are refused, or are removed: Authentication, (Re)Association,
//! Deauthentication and Disassociation frames (IEEE 802.11-2020, 9.3.3, 11.3), and the messages of
//! the 4-way handshake ([`handshake`]; 12.7.6). MAC retransmissions count once. At most
//! `FOLLOWED_MAX` pairs of addresses are followed; others are counted.

pub mod handshake;
pub mod words;

use crate::frame::Frame;
use handshake::{Handshake, Message};
use lasthop_units::MacAddr;
use lasthop_wifi_wire::Kind;
use std::collections::BTreeMap;

/// Frames that begin and end associations.
#[derive(Debug, Default)]
pub struct Joining {
    /// Deauthentications and disassociations, by network.
    pub removals: BTreeMap<MacAddr, Removals>,
    /// Refusals, those that count together under one key.
    pub refusals: BTreeMap<RefusalKey, Seen>,
    /// Handshakes, by access point and station.
    pub handshakes: BTreeMap<(MacAddr, MacAddr), Handshake>,
    /// Frames of pairs and networks beyond `FOLLOWED_MAX`.
    pub left_out: u64,
    /// Listen intervals in beacon intervals, by station.
    listen_intervals: BTreeMap<MacAddr, u16>,
    /// Number of handshakes that have begun and not ended.
    open: u32,
}

/// The refusals that count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusalKey {
    /// Access point that refuses.
    pub access_point: MacAddr,
    /// Station that is refused.
    pub station: MacAddr,
    /// Step that is refused.
    pub step: Step,
    /// Status code of the refusing frame.
    pub status: u16,
}

impl RefusalKey {
    const fn new(access_point: MacAddr, station: MacAddr, step: Step, status: u16) -> Self {
        Self { access_point, station, step, status }
    }
}

/// A step of joining a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Authentication of a station.
    Authentication,
    /// Association or reassociation of a station.
    Association,
}

/// Number, places and times of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Number of the frames.
    pub count: u64,
    /// Numbers of the first and the last frame.
    pub frames: (u64, u64),
    /// Times of the first and the last frame, in ns since 1970.
    pub times: (u64, u64),
}

/// Deauthentications and disassociations of a network.
#[derive(Clone, Debug, Default)]
pub struct Removals {
    /// Number of these frames, including MAC retransmissions.
    pub all: u64,
    /// Disassociations among them.
    pub disassociations: u64,
    /// Frames without the Retry bit.
    pub seen: Seen,
    /// Largest number of frames without the Retry bit in one second.
    pub most_a_second: u64,
    /// Number of frames by reason code; `None` if it is encrypted.
    pub reasons: BTreeMap<Option<u16>, u64>,
    /// Removals by station, or by the group address.
    pub stations: BTreeMap<MacAddr, Removed>,
    second: (u64, u64),
}

/// Removals of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Number of frames that remove the station.
    pub frames: u64,
    /// Number of removals that are seconds apart.
    pub times: u64,
    latest_ns: u64,
}

/// Largest number of networks, pairs and stations followed.
const FOLLOWED_MAX: usize = 4_096;
/// Largest number of reasons and stations of a network.
const REASONS_MAX: usize = 64;
const STATIONS_MAX: usize = 256;
/// Time between two frames above which they are two removals.
const APART_NS: u64 = 2_000_000_000;

impl Seen {
    fn add(&mut self, frame: &Frame<'_>) {
        if self.count == 0 {
            (self.frames.0, self.times.0) = (frame.number, frame.at_ns);
        }
        self.count += 1;
        (self.frames.1, self.times.1) = (frame.number, frame.at_ns.max(self.times.1));
    }
}

impl Joining {
    /// Handles a management frame.
    pub fn handle_management(&mut self, frame: &Frame<'_>) {
        let (Some(from), Some(bssid)) = (frame.transmitter(), frame.view.bssid()) else { return };
        let to = frame.receiver();
        // Ciphertext and later fragments do not begin with the fixed fields.
        let is_plain = !frame.control.flags.protected
            && frame.view.sequence_control().is_some_and(|control| control.fragment == 0);
        let body = if is_plain { frame.body() } else { &[] };
        let word = |at: usize| body.get(at..)?.first_chunk().copied().map(u16::from_le_bytes);
        let is_repeated = frame.control.flags.retry;
        match frame.kind() {
            Kind::Deauthentication | Kind::Disassociation => {
                self.handle_removal(frame, bssid, from, to, word(0), is_repeated);
            }
            Kind::Authentication if from == bssid && !is_repeated => {
                if let Some(status) = word(4).filter(|status| words::is_refusal(*status)) {
                    self.refuse(frame, RefusalKey::new(from, to, Step::Authentication, status));
                }
            }
            Kind::AssociationResponse | Kind::ReassociationResponse if !is_repeated => {
                if let Some(status) = word(2).filter(|status| words::is_refusal(*status)) {
                    self.refuse(frame, RefusalKey::new(from, to, Step::Association, status));
                }
            }
            Kind::AssociationRequest | Kind::ReassociationRequest => {
                let has_place = self.listen_intervals.len() < FOLLOWED_MAX
                    || self.listen_intervals.contains_key(&from);
                if let (Some(interval), true) = (word(2), has_place) {
                    self.listen_intervals.insert(from, interval);
                }
            }
            _ => {}
        }
    }

    /// Handles a message of the 4-way handshake that is not a MAC retransmission.
    pub fn handle_message(
        &mut self,
        access_point: MacAddr,
        station: MacAddr,
        message: Message,
        number: u64,
        at_ns: u64,
    ) {
        let key = (access_point, station);
        if self.handshakes.len() >= FOLLOWED_MAX && !self.handshakes.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let handshake = self.handshakes.entry(key).or_default();
        let before = handshake.is_open();
        handshake.handle_message(message, number, at_ns);
        self.open = self.open + u32::from(handshake.is_open()) - u32::from(before);
    }

    /// Handles an encrypted data frame between two stations: they have agreed on a key.
    pub fn handle_protected(&mut self, a: MacAddr, b: MacAddr) {
        if self.open == 0 {
            return;
        }
        for (one, other) in [(a, b), (b, a)] {
            self.end(one, other, |handshake| handshake.handle_protected());
        }
    }

    /// Returns the listen interval that a station has announced, in beacon intervals.
    pub fn listen_interval(&self, station: MacAddr) -> Option<u16> {
        self.listen_intervals.get(&station).copied()
    }

    fn end(
        &mut self,
        access_point: MacAddr,
        station: MacAddr,
        change: impl FnOnce(&mut Handshake),
    ) {
        let Some(handshake) = self.handshakes.get_mut(&(access_point, station)) else { return };
        let before = handshake.is_open();
        change(handshake);
        self.open = self.open + u32::from(handshake.is_open()) - u32::from(before);
    }

    fn refuse(&mut self, frame: &Frame<'_>, key: RefusalKey) {
        if self.refusals.len() >= FOLLOWED_MAX && !self.refusals.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        self.refusals.entry(key).or_default().add(frame);
    }

    fn handle_removal(
        &mut self,
        frame: &Frame<'_>,
        bssid: MacAddr,
        from: MacAddr,
        to: MacAddr,
        reason: Option<u16>,
        is_repeated: bool,
    ) {
        for (one, other) in [(from, to), (to, from)] {
            self.end(one, other, |handshake| {
                handshake.handle_removal(reason, frame.number, frame.at_ns)
            });
        }
        if self.removals.len() >= FOLLOWED_MAX && !self.removals.contains_key(&bssid) {
            self.left_out += 1;
            return;
        }
        let removals = self.removals.entry(bssid).or_default();
        removals.all += 1;
        if is_repeated {
            return;
        }
        removals.disassociations += u64::from(frame.kind() == Kind::Disassociation);
        removals.seen.add(frame);
        let second = frame.at_ns / 1_000_000_000;
        let count = if removals.second.0 == second { removals.second.1 + 1 } else { 1 };
        removals.second = (second, count);
        removals.most_a_second = removals.most_a_second.max(count);
        if removals.reasons.len() < REASONS_MAX || removals.reasons.contains_key(&reason) {
            *removals.reasons.entry(reason).or_default() += 1;
        }
        let station = if from == bssid { to } else { from };
        if removals.stations.len() < STATIONS_MAX || removals.stations.contains_key(&station) {
            let removed = removals.stations.entry(station).or_default();
            let is_apart = frame.at_ns.saturating_sub(removed.latest_ns) >= APART_NS;
            removed.frames += 1;
            removed.times += u64::from(is_apart);
            removed.latest_ns = frame.at_ns;
        }
    }
}
