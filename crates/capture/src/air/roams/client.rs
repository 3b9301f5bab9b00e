//! A station as a client of access points: its present access point, and its attempt to join
//! another one. Only frames that the station sends, and Acks of data to it, show that it is at an
//! access point: others may be sent in vain after it has left.

use super::attempt::{Ended, JoinAttempt, RoamOutcome, RoamPhase as Joining, Why};
use super::{Mark, Span};
use crate::air::joining::handshake::Message;
use crate::air::joining::words;
use crate::air::stations::StationId;
use crate::limits::IDLE_NS;
use lasthop_units::MacAddr;
use lasthop_wifi_wire::Kind;

/// A station that is followed.
#[derive(Debug, Default)]
pub(super) struct Client {
    place: Option<Whereabouts>,
    attempt: Option<JoinAttempt>,
    /// Probe Requests since the last data, and their number.
    probes: (Option<Span>, u32),
    /// Data to another access point, whose joining was not captured: its number, and the first.
    elsewhere: Option<(MacAddr, u32, Mark)>,
    /// Latest frames of joining, to the access point and from it.
    latest: [Option<(Kind, u16)>; 2],
    ended: Option<Whereabouts>,
}

/// A stay of a station at an access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stay {
    /// Station that stays.
    pub station: StationId,
    /// Access point of the stay.
    pub access_point: MacAddr,
    /// First and last sign of the stay, in ns since 1970.
    pub times: (u64, u64),
    /// Numbers of these frames.
    pub frames: (u64, u64),
    /// Sum of the levels of the station's data in dBm, and their number.
    pub signal: (i64, u64),
}

#[derive(Clone, Copy, Debug)]
struct Whereabouts {
    access_point: MacAddr,
    mhz: Option<u16>,
    since: Mark,
    seen: Mark,
    /// Latest data of the station, and latest acknowledged data.
    sent: Option<Mark>,
    delivered: Option<Mark>,
    /// Latest pauses between data, in us, and their number.
    pauses: [u32; PAUSES],
    paused: u32,
    signal: (i64, u64),
    /// Deauthentication or disassociation since the last data.
    removed: Option<Why>,
    /// Request of the access point to change (802.11v).
    asked: Option<Mark>,
}

/// A data frame between the station and an access point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub here: Mark,
    /// Whether the station is the sender.
    pub is_up: bool,
    pub mhz: Option<u16>,
    pub signal_dbm: Option<i8>,
}

/// A frame of authentication or association.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub access_point: MacAddr,
    pub here: Mark,
    pub mhz: Option<u16>,
    /// Whether it is a MAC retransmission of the frame before.
    pub is_again: bool,
}

/// Number of pauses kept, and the number below which the longest says little.
const PAUSES: usize = 16;
const PAUSES_MIN: u32 = 8;
/// Number of data frames to another access point that show a change without captured joining. One
/// may be damaged where frames have no check sequence.
const MOVED_MIN: u32 = 3;
/// Longest time from a request to change to the change, in ns.
const ASKED_NS: u64 = 10_000_000_000;

impl Client {
    /// Whether the station is at this access point and joins no other.
    pub fn is_at(&self, access_point: MacAddr) -> bool {
        self.attempt.is_none()
            && self.place.as_ref().is_some_and(|place| place.access_point == access_point)
    }

    /// Handles data with the access point of [`is_at`](Self::is_at).
    pub fn handle_usual(&mut self, data: &Data) {
        if !data.is_up {
            return;
        }
        if let Some(place) = &mut self.place {
            place.handle_sent(data);
        }
        self.probes = (None, 0);
        self.elsewhere = None;
    }

    /// Handles data with an access point.
    pub fn handle_data(&mut self, access_point: MacAddr, data: &Data) -> Option<Ended> {
        let is_here = self.place.is_some_and(|place| place.access_point == access_point);
        if let Some(attempt) = &mut self.attempt
            && attempt.to == access_point
            && (attempt.accepted && attempt.failure.is_none() || data.is_up && !is_here)
        {
            attempt.moments.first_data = Some(data.here);
            attempt.mhz = attempt.mhz.or(data.mhz);
            let ended = self.close();
            self.handle_usual(data);
            return ended;
        }
        if !data.is_up {
            return None;
        }
        if is_here {
            self.handle_usual(data);
            // The station has given up another access point.
            let is_over = |attempt: &JoinAttempt| {
                let has_failed = matches!(attempt.outcome(), RoamOutcome::Failed(..));
                attempt.to != access_point
                    && !attempt.accepted
                    && (has_failed || attempt.requests[1] > 0)
            };
            return if self.attempt.as_ref().is_some_and(is_over) { self.close() } else { None };
        }
        if self.place.is_none() {
            self.place = Some(Whereabouts::new(access_point, data.mhz, data.here));
            self.handle_usual(data);
            return None;
        }
        let (count, first) = match self.elsewhere {
            Some((other, count, first)) if other == access_point => (count + 1, first),
            _ => (1, data.here),
        };
        self.elsewhere = Some((access_point, count, first));
        if count < MOVED_MIN {
            return None;
        }
        if self.attempt.is_some() {
            return self.close();
        }
        let mut attempt = JoinAttempt::new(access_point);
        attempt.mhz = data.mhz;
        attempt.moments.first_data = Some(first);
        (attempt.moments.probes, attempt.moments.probe_requests) = std::mem::take(&mut self.probes);
        self.attempt = Some(attempt);
        let ended = self.close();
        self.handle_usual(data);
        ended
    }

    /// Handles an answer to data with an access point.
    pub fn handle_delivered(&mut self, access_point: MacAddr, here: Mark) {
        if let Some(place) = &mut self.place
            && place.access_point == access_point
        {
            place.handle_delivered(here);
            if self.attempt.is_none() {
                self.probes = (None, 0);
            }
        }
    }

    pub fn handle_probe(&mut self, here: Mark) {
        Span::extend(&mut self.probes.0, here);
        self.probes.1 += 1;
    }

    /// Handles a BSS Transition Management Request.
    pub fn handle_request(&mut self, access_point: MacAddr, here: Mark) {
        if let Some(place) = &mut self.place
            && place.access_point == access_point
        {
            place.asked = Some(here);
        }
    }

    /// Whether a frame is a MAC retransmission of the latest one in its direction.
    pub fn is_again(&mut self, is_up: bool, kind: Kind, number: Option<u16>, retry: bool) -> bool {
        let latest = &mut self.latest[usize::from(is_up)];
        let this = number.map(|number| (kind, number));
        retry && std::mem::replace(latest, this) == this || {
            *latest = this;
            false
        }
    }

    /// Handles a station's frame of authentication.
    pub fn handle_authentication(
        &mut self,
        step: Moment,
        algorithm: u16,
        is_first: bool,
    ) -> Option<Ended> {
        let goes_on = |attempt: &JoinAttempt| {
            attempt.failure.is_none() && !attempt.accepted && attempt.moments.association.is_none()
        };
        let ended = self.go_on(step, goes_on)?;
        let attempt = self.attempt.as_mut()?;
        attempt.method.algorithm = Some(algorithm);
        attempt.requests[0] += u32::from(is_first && !step.is_again);
        Span::extend(&mut attempt.moments.authentication, step.here);
        ended
    }

    /// Handles an access point's frame of authentication.
    pub fn handle_authenticated(
        &mut self,
        step: Moment,
        algorithm: u16,
        status: u16,
    ) -> Option<Ended> {
        let goes_on = |attempt: &JoinAttempt| attempt.moments.association.is_none();
        let ended = self.go_on(step, goes_on)?;
        let attempt = self.attempt.as_mut()?;
        attempt.method.algorithm = Some(algorithm);
        attempt.answered[0] = true;
        if attempt.failure.is_none() {
            Span::extend(&mut attempt.moments.authentication, step.here);
            if words::is_refusal(status) {
                attempt.failure = Some((Joining::Authentication, Why::Status(status)));
            }
        }
        ended
    }

    /// Handles an Association or Reassociation Request. `named` is the current access point.
    pub fn handle_association(
        &mut self,
        step: Moment,
        named: Option<MacAddr>,
        is_open: bool,
    ) -> Option<Ended> {
        let goes_on = |attempt: &JoinAttempt| attempt.failure.is_none() && !attempt.accepted;
        let ended = self.go_on(step, goes_on)?;
        let attempt = self.attempt.as_mut()?;
        attempt.named = named;
        attempt.method.reassociation = named.is_some();
        attempt.method.is_open = is_open;
        attempt.requests[1] += u32::from(!step.is_again);
        Span::extend(&mut attempt.moments.association, step.here);
        ended
    }

    /// Handles an Association or Reassociation Response.
    pub fn handle_associated(&mut self, step: Moment, status: u16) -> Option<Ended> {
        let ended = self.go_on(step, |_| true)?;
        let attempt = self.attempt.as_mut()?;
        attempt.answered[1] = true;
        if attempt.failure.is_none() && attempt.messages == [0; 4] {
            Span::extend(&mut attempt.moments.association, step.here);
            attempt.accepted |= status == 0;
            if words::is_refusal(status) {
                attempt.failure = Some((Joining::Association, Why::Status(status)));
            }
        }
        ended
    }

    /// Handles an FT Request (`status` is `None`) or FT Response over the distribution system.
    pub fn handle_over_ds(
        &mut self,
        step: Moment,
        via: MacAddr,
        status: Option<u16>,
    ) -> Option<Ended> {
        if self.place.is_none() {
            self.place = Some(Whereabouts::new(via, step.mhz, step.here));
        }
        let goes_on = |attempt: &JoinAttempt| !attempt.accepted;
        let ended = self.go_on(step, goes_on)?;
        let attempt = self.attempt.as_mut()?;
        attempt.method.over_ds = true;
        attempt.method.algorithm = Some(2);
        Span::extend(&mut attempt.moments.authentication, step.here);
        match status {
            None => attempt.requests[0] += u32::from(!step.is_again),
            Some(status) => {
                attempt.answered[0] = true;
                if words::is_refusal(status) {
                    attempt.failure = Some((Joining::Authentication, Why::Status(status)));
                }
            }
        }
        ended
    }

    /// Handles a message of the 4-way handshake, or another EAPOL frame (`None`).
    pub fn handle_key(
        &mut self,
        access_point: MacAddr,
        message: Option<Message>,
        is_retry: bool,
        here: Mark,
    ) {
        let Some(attempt) = &mut self.attempt else { return };
        if attempt.to != access_point || attempt.failure.is_some() {
            return;
        }
        // Only associated stations exchange data.
        attempt.accepted = true;
        let Some(message) = message else {
            Span::extend(&mut attempt.moments.dot1x, here);
            return;
        };
        let count = &mut attempt.messages[message as usize];
        *count += u32::from(!is_retry || *count == 0);
        Span::extend(&mut attempt.moments.keys, here);
    }

    /// Handles a deauthentication or disassociation.
    pub fn handle_removal(
        &mut self,
        access_point: MacAddr,
        is_up: bool,
        reason: Option<u16>,
        here: Mark,
    ) -> Option<Ended> {
        let why = Why::Removed { reason, by_access_point: !is_up };
        let mut ended = None;
        if let Some(attempt) = &mut self.attempt
            && attempt.to == access_point
        {
            let is_ready = attempt.messages[3] > 0
                || attempt.accepted && (attempt.method.is_fast() || attempt.method.is_open);
            if !is_ready && attempt.failure.is_none() {
                let step = match (attempt.accepted, attempt.moments.association) {
                    (true, _) => Joining::Keys,
                    (false, Some(_)) => Joining::Association,
                    (false, None) => Joining::Authentication,
                };
                attempt.failure = Some((step, why));
                attempt.end = Some(here);
                return None;
            }
            if attempt.failure.is_some() {
                return None;
            }
            ended = self.close();
        }
        if let Some(place) = &mut self.place
            && place.access_point == access_point
        {
            place.removed = Some(why);
        }
        ended
    }

    /// Ends the analysis: no more frames follow.
    pub fn finish(&mut self) -> Option<Ended> {
        self.close()
    }

    /// Returns the present stay.
    pub fn stay(&self, station: StationId) -> Option<Stay> {
        self.place.as_ref().map(|place| place.stay(station))
    }

    /// Takes a stay that has ended since the last call.
    pub fn take_stay(&mut self, station: StationId) -> Option<Stay> {
        self.ended.take().map(|place| place.stay(station))
    }

    /// Prepares the attempt to join the access point of a frame: the present one if it goes on,
    /// otherwise a new one. Returns the attempt that ends, and `None` if the frame is a MAC
    /// retransmission that belongs to an earlier step.
    fn go_on(
        &mut self,
        step: Moment,
        goes_on: impl FnOnce(&JoinAttempt) -> bool,
    ) -> Option<Option<Ended>> {
        let mut ended = None;
        match &self.attempt {
            Some(attempt) if attempt.to == step.access_point => {
                if !goes_on(attempt) {
                    if step.is_again {
                        return None;
                    }
                    ended = self.begin(step);
                }
            }
            _ => ended = self.begin(step),
        }
        if let Some(attempt) = &mut self.attempt {
            attempt.mhz = step.mhz.or(attempt.mhz);
        }
        Some(ended)
    }

    fn begin(&mut self, step: Moment) -> Option<Ended> {
        let ended = self.close();
        let mut attempt = JoinAttempt::new(step.access_point);
        (attempt.moments.probes, attempt.moments.probe_requests) = std::mem::take(&mut self.probes);
        self.attempt = Some(attempt);
        ended
    }

    /// Ends the attempt. Returns it if it was one to leave another access point.
    fn close(&mut self) -> Option<Ended> {
        let mut attempt = self.attempt.take()?;
        let outcome = attempt.outcome();
        let begin = attempt.moments.begin();
        let from = self.old_access_point(&attempt, begin);
        let mut ended = None;
        if let Some(from) = from
            && (outcome != RoamOutcome::Unknown || attempt.accepted)
        {
            let place = self.place.as_ref().filter(|place| place.access_point == from);
            // Data that goes on beside an attempt was not interrupted by it.
            let end = attempt.moments.end();
            let last_data = place.and_then(Whereabouts::last_data);
            attempt.moments.last_data = last_data.filter(|last| end.is_none_or(|end| *last <= end));
            let is_recent = |asked: &Mark| {
                begin.is_none_or(|begin| begin.at_ns.saturating_sub(asked.at_ns) <= ASKED_NS)
            };
            ended = Some(Ended {
                attempt,
                from,
                from_mhz: place.and_then(|place| place.mhz),
                removed: place.and_then(|place| place.removed),
                asked: place.and_then(|place| place.asked).is_some_and(|asked| is_recent(&asked)),
                pause_ns: place.and_then(Whereabouts::pause_ns),
            });
        }
        let is_joined = match outcome {
            RoamOutcome::Done => true,
            RoamOutcome::Unknown => attempt.accepted,
            RoamOutcome::Failed(..) => false,
        };
        if let (true, Some(since)) = (is_joined, attempt.moments.end()) {
            self.ended = self.place.replace(Whereabouts::new(attempt.to, attempt.mhz, since));
            self.elsewhere = None;
        }
        ended
    }

    /// Returns the access point that a station leaves.
    fn old_access_point(&self, attempt: &JoinAttempt, begin: Option<Mark>) -> Option<MacAddr> {
        let here = self.place.as_ref().filter(|place| place.access_point == attempt.to);
        // A station that authenticates again names the access point at which it was meanwhile; a
        // Reassociation Request alone may be a late copy.
        let returns = attempt.moments.authentication.is_some();
        let named = attempt.named.filter(|_| here.is_none() || returns);
        let is_recent = |place: &&Whereabouts| {
            let passed = begin.map_or(0, |begin| begin.at_ns.saturating_sub(place.seen.at_ns));
            passed <= IDLE_NS
        };
        let place = self.place.as_ref().filter(is_recent).map(|place| place.access_point);
        named.or(place).filter(|from| *from != attempt.to)
    }
}

impl Whereabouts {
    const fn new(access_point: MacAddr, mhz: Option<u16>, since: Mark) -> Self {
        Self {
            access_point,
            mhz,
            since,
            seen: since,
            sent: None,
            delivered: None,
            pauses: [0; PAUSES],
            paused: 0,
            signal: (0, 0),
            removed: None,
            asked: None,
        }
    }

    fn handle_sent(&mut self, data: &Data) {
        self.note_pause(data.here);
        self.sent = Some(data.here);
        self.seen = data.here;
        self.mhz = data.mhz.or(self.mhz);
        self.removed = None;
        if let Some(dbm) = data.signal_dbm {
            self.signal.0 += i64::from(dbm);
            self.signal.1 += 1;
        }
    }

    fn handle_delivered(&mut self, here: Mark) {
        self.note_pause(here);
        self.delivered = Some(here);
        self.seen = self.seen.max(here);
    }

    fn note_pause(&mut self, here: Mark) {
        if let Some(before) = self.sent.max(self.delivered) {
            let pause_us = here.at_ns.saturating_sub(before.at_ns) / 1_000;
            self.pauses[self.paused as usize % PAUSES] = pause_us.min(u64::from(u32::MAX)) as u32;
            self.paused = self.paused.wrapping_add(1);
        }
    }

    /// Returns the last data that arrived: acknowledged data, or the station's if no Ack was
    /// captured.
    fn last_data(&self) -> Option<Mark> {
        self.delivered.or(self.sent)
    }

    /// Returns the longest of the latest pauses between data, in ns.
    fn pause_ns(&self) -> Option<u64> {
        let longest = self.pauses.iter().max().copied().unwrap_or_default();
        (self.paused >= PAUSES_MIN).then_some(u64::from(longest) * 1_000)
    }

    const fn stay(&self, station: StationId) -> Stay {
        Stay {
            station,
            access_point: self.access_point,
            times: (self.since.at_ns, self.seen.at_ns),
            frames: (self.since.number, self.seen.number),
            signal: self.signal,
        }
    }
}
