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
use lasthop_wifi_wire::management::FixedFields;
use std::collections::BTreeMap;

/// Frames that begin and end associations.
#[derive(Debug, Default)]
pub struct Joining {
    /// Deauthentications and disassociations, by network.
    pub removals: BTreeMap<MacAddr, Removals>,
    /// Refusals, those that count together under one key.
    pub refusals: BTreeMap<RefusalKey, Seen>,
    /// Requests to join, by access point and station.
    pub requests: BTreeMap<(MacAddr, MacAddr), Requests>,
    /// Deauthentications and disassociations of all networks.
    pub all_removals: RemovalRate,
    /// Handshakes, by access point and station.
    pub handshakes: BTreeMap<(MacAddr, MacAddr), Handshake>,
    /// Frames of pairs and networks beyond `FOLLOWED_MAX`.
    pub left_out: u64,
    /// Listen intervals in beacon intervals, by station.
    listen_intervals: BTreeMap<MacAddr, u16>,
    /// Number of handshakes that have begun and not ended.
    open: u32,
    /// Number of stations that wait for an answer.
    waiting: u32,
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
    /// Authentication of a station: open, or by another algorithm.
    Authentication,
    /// Authentication with a shared key (WEP).
    SharedKey,
    /// First message of SAE: the group and the password element.
    SaeCommit,
    /// Second message of SAE: the proof of the password.
    SaeConfirm,
    /// Authentication for a fast transition (802.11r).
    FastTransition,
    /// Association or reassociation of a station.
    Association,
}

impl Step {
    /// Returns the step of an Authentication frame (9.4.1.1, 12.4.4, 13.5).
    const fn of_authentication(algorithm: u16, transaction: u16) -> Self {
        match (algorithm, transaction) {
            (1, _) => Self::SharedKey,
            (2, _) => Self::FastTransition,
            (3, 1) => Self::SaeCommit,
            (3, _) => Self::SaeConfirm,
            _ => Self::Authentication,
        }
    }

    /// Returns the name of the step.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::SharedKey => "shared key authentication",
            Self::SaeCommit => "SAE commit",
            Self::SaeConfirm => "SAE confirm",
            Self::FastTransition => "fast transition",
            Self::Association => "association",
        }
    }
}

/// Requests of a station to authenticate or associate, without MAC retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Step of the latest request.
    pub step: Step,
    /// Longest row of requests before a captured answer.
    late: Seen,
    /// Requests since the last answer.
    open: Seen,
}

impl Requests {
    /// Returns the longest row of requests without an answer.
    pub const fn unanswered(&self) -> Seen {
        if self.open.count > self.late.count { self.open } else { self.late }
    }

    /// Handles a captured answer: the monitor would have heard earlier ones.
    const fn handle_answer(&mut self) {
        self.late = self.unanswered();
        self.open = Seen { count: 0, frames: (0, 0), times: (0, 0) };
    }

    /// Handles a frame that the station sends after an answer, which was missed.
    fn handle_progress(&mut self) {
        self.open = Seen::default();
    }
}

/// Number of frames, and their largest number in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovalRate {
    /// Frames without the Retry bit.
    pub seen: Seen,
    /// Largest number of these in one second.
    pub most_a_second: u64,
    second: (u64, u64),
}

impl RemovalRate {
    fn add(&mut self, frame: &Frame<'_>) {
        self.seen.add(frame);
        let second = frame.at_ns / 1_000_000_000;
        let count = if self.second.0 == second { self.second.1 + 1 } else { 1 };
        self.second = (second, count);
        self.most_a_second = self.most_a_second.max(count);
    }
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
    /// Frames from the access point's address to one station, and to all.
    pub by_access_point: (u64, u64),
    /// Frames without the Retry bit.
    pub rate: RemovalRate,
    /// Sum of the levels in dBm of frames from the access point's address, and their number.
    pub signal: (i64, u64),
    /// Number of frames by reason code; `None` if it is encrypted.
    pub reasons: BTreeMap<Option<u16>, u64>,
    /// Removals by station, or by the group address.
    pub stations: BTreeMap<MacAddr, Removed>,
}

/// Removals of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Number of frames that remove the station.
    pub frames: u64,
    /// Those that the access point sent.
    pub by_access_point: u64,
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
        let fields = FixedFields::parse(frame.kind(), body);
        let is_repeated = frame.control.flags.retry;
        if matches!(frame.kind(), Kind::Deauthentication | Kind::Disassociation) {
            let reason = match fields {
                Some(FixedFields::Removal { reason }) => Some(reason),
                _ => None,
            };
            self.handle_removal(frame, bssid, from, to, reason, is_repeated);
            return;
        }
        match fields {
            Some(FixedFields::Authentication { algorithm, transaction, status }) => {
                let step = Step::of_authentication(algorithm, transaction);
                if from != bssid {
                    self.handle_request(frame, step, is_repeated || transaction != 1);
                    return;
                }
                self.handle_answer(from, to);
                if !is_repeated && words::is_refusal(status) {
                    self.refuse(frame, RefusalKey::new(from, to, step, status));
                }
            }
            Some(FixedFields::Response { status }) => {
                self.handle_answer(from, to);
                if !is_repeated && words::is_refusal(status) {
                    self.refuse(frame, RefusalKey::new(from, to, Step::Association, status));
                }
            }
            Some(FixedFields::Request { listen_interval, .. }) => {
                self.handle_request(frame, Step::Association, is_repeated);
                let has_place = self.listen_intervals.len() < FOLLOWED_MAX
                    || self.listen_intervals.contains_key(&from);
                if has_place {
                    self.listen_intervals.insert(from, listen_interval);
                }
            }
            _ => {}
        }
    }

    /// Handles a request to join, of which copies and later messages are `known`.
    fn handle_request(&mut self, frame: &Frame<'_>, step: Step, known: bool) {
        let Some(station) = frame.transmitter().filter(|_| !known) else { return };
        let key = (frame.receiver(), station);
        if self.requests.len() >= FOLLOWED_MAX && !self.requests.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let new = Requests { step, late: Seen::default(), open: Seen::default() };
        let requests = self.requests.entry(key).or_insert(new);
        let before = requests.open.count > 0;
        // A station associates after an answer to its authentication.
        if step == Step::Association && requests.step != step {
            requests.handle_progress();
        }
        requests.step = step;
        requests.open.add(frame);
        self.waiting += u32::from(!before);
    }

    /// Handles an answer of an access point to a station that joins.
    fn handle_answer(&mut self, access_point: MacAddr, station: MacAddr) {
        if let Some(requests) = self.requests.get_mut(&(access_point, station)) {
            self.waiting -= u32::from(requests.open.count > 0);
            requests.handle_answer();
        }
    }

    /// Handles data of a station to an access point, which has let it join.
    pub(super) fn handle_data(&mut self, access_point: MacAddr, station: MacAddr) {
        if self.waiting == 0 {
            return;
        }
        if let Some(requests) = self.requests.get_mut(&(access_point, station)) {
            self.waiting -= u32::from(requests.open.count > 0);
            requests.handle_progress();
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
        self.handle_answer(access_point, station);
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
        let is_down = from == bssid;
        removals.all += 1;
        removals.disassociations += u64::from(frame.kind() == Kind::Disassociation);
        removals.by_access_point.0 += u64::from(is_down && !to.is_multicast());
        removals.by_access_point.1 += u64::from(is_down && to.is_multicast());
        if let (true, Some(dbm)) = (is_down, frame.radio.signal_dbm) {
            removals.signal.0 += i64::from(dbm);
            removals.signal.1 += 1;
        }
        if is_repeated {
            return;
        }
        removals.rate.add(frame);
        self.all_removals.add(frame);
        if removals.reasons.len() < REASONS_MAX || removals.reasons.contains_key(&reason) {
            *removals.reasons.entry(reason).or_default() += 1;
        }
        let station = if is_down { to } else { from };
        if removals.stations.len() < STATIONS_MAX || removals.stations.contains_key(&station) {
            let removed = removals.stations.entry(station).or_default();
            let is_apart = frame.at_ns.saturating_sub(removed.latest_ns) >= APART_NS;
            removed.frames += 1;
            removed.by_access_point += u64::from(is_down);
            removed.times += u64::from(is_apart);
            removed.latest_ns = frame.at_ns;
        }
    }
}
