//! Timers of a cell: the next due instant, and due work. The file touches only its own lists: the end
//! of PPDUs and the instants of channel access come from the air and from contention.
//!
//! Work that is due at one instant is handed out in this order: ends of PPDUs, response timeouts,
//! gaps of reorder buffers, beacons, ends of HE-SIG-A, timers of uplink OFDMA, actions SIFS after a
//! PPDU, channel access, absences. Held back interrupts are raised, and rests of EDCAFs end, before the actions. Within a list, work added first comes first; the list of gaps has no
//! order.

use super::Reason;
use super::edcaf::BEACON_EDCAF;
use crate::air::{Carried, Flight, Overlaps, Reduction};
use crate::mac::contention::{ContenderId, Contention};
use crate::phy::Rate;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Instants and actions that a cell waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timers {
    /// The next instant at which something is due, and the reason; [`Instant::MAX`] for none.
    next: (Instant, Reason),
    /// The same without the arrivals of MPDUs that [`Timers::merge`] adds.
    next_step: (Instant, Reason),
    /// The earliest of these timers that were known then: all but the ends of PPDUs, the actions after
    /// them, and channel access.
    first_timer: Instant,
    /// Actions of stations SIFS after the end of a PPDU.
    sequels: Vec<Pending>,
    /// Response timeouts: their end, and the station that waits for a response.
    timeouts: Vec<(Instant, StationId)>,
    gaps: Vec<Gap>,
    /// EDCAFs whose driver is busy, and the instant until which.
    rests: Vec<Rest>,
    first_rest: Instant,
    /// The next interrupt that a device has held back.
    pub interrupt: Instant,
    /// The next instant at which an access point queues a beacon.
    pub beacon: Instant,
    /// The next step of a station's scan or power save.
    pub absence: Instant,
    uplink: Vec<UplinkTimer>,
    /// The first of these timers.
    first_uplink: Instant,
    /// The end of the next HE-SIG-A after which stations may ignore a PPDU.
    pub signal_field: Instant,
    /// Contenders that gain the channel now; kept to save allocations.
    winners: Vec<ContenderId>,
}

/// An action of a station SIFS after the end of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pending {
    at: Instant,
    station: StationId,
    sequel: Sequel,
}

/// A reorder buffer with a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    /// The instant at which the gap is given up.
    at: Instant,
    receiver: StationId,
    /// Index of its recipient at the receiver.
    recipient: usize,
}

/// An EDCAF whose driver is busy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rest {
    until: Instant,
    station: StationId,
    edcaf: usize,
}

/// A timer of uplink OFDMA.
#[derive(Clone, Copy, Debug, PartialEq)]
struct UplinkTimer {
    at: Instant,
    of: UplinkWait,
}

/// The EDCAF that a timer of uplink OFDMA belongs to, and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UplinkWait {
    pub station: StationId,
    pub edcaf: usize,
    pub kind: Timer,
}

/// Kind of a timer of uplink OFDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// An access point's wait before it asks for buffer status again.
    Poll,
    /// A station's MUEDCATimer.
    MuEdca,
}

/// The action that follows a PPDU after SIFS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sequel {
    /// Sends the response to a frame.
    Response(OwedResponse),
    /// Sends the next frame of its exchange.
    Frame,
    /// Begins another exchange in its transmission opportunity.
    Opportunity { edcaf: usize, end: Instant },
    /// Acknowledges the solicited PPDUs.
    MultiStationBlockAck,
}

/// The response that a station owes to a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OwedResponse {
    pub to: StationId,
    pub carried: Carried,
    pub rate: Rate,
    pub psdu_bytes: u32,
    pub duration: Duration,
    pub reserves_until: Instant,
}

impl OwedResponse {
    /// The PPDU of `transmitter` with the response, which begins at `start`.
    pub fn flight(self, transmitter: StationId, start: Instant) -> Flight {
        let Self { to, carried, rate, psdu_bytes, duration, reserves_until } = self;
        Flight {
            transmitter,
            receiver: Address::Station(to),
            start,
            end: start + duration,
            rate,
            psdu_bytes,
            reserves_until,
            carried,
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        }
    }
}

impl Timers {
    /// No work at all.
    pub fn new() -> Self {
        Self {
            next: (Instant::MAX, Reason::PpduEnd),
            next_step: (Instant::MAX, Reason::PpduEnd),
            first_timer: Instant::MAX,
            sequels: Vec::new(),
            timeouts: Vec::new(),
            gaps: Vec::new(),
            rests: Vec::new(),
            first_rest: Instant::MAX,
            interrupt: Instant::MAX,
            beacon: Instant::MAX,
            absence: Instant::MAX,
            uplink: Vec::new(),
            first_uplink: Instant::MAX,
            signal_field: Instant::MAX,
            winners: Vec::new(),
        }
    }

    /// The next instant at which something is due, and the reason; [`Instant::MAX`] for none.
    #[inline]
    pub fn next(&self) -> (Instant, Reason) {
        self.next
    }

    /// Determines the next due instant; a PPDU ends at `ppdu_end`. Of several reasons at one instant it
    /// is the first in the order of this function.
    pub fn schedule(&mut self, ppdu_end: Instant, contention: &mut Contention) {
        let sequel = earliest(self.sequels.iter().map(|pending| pending.at));
        let timeout = earliest(self.timeouts.iter().map(|(at, _)| *at));
        let gap = self.first_gap();
        let (beacon, absence) = (self.beacon, self.absence);
        let timer = timeout.min(self.first_of_clocks());
        let horizon = ppdu_end.min(sequel).min(timer);
        let access = contention.next_access(horizon);
        let reason = match horizon.min(access) {
            at if at == ppdu_end => Reason::PpduEnd,
            at if at == sequel => Reason::Sequel,
            at if at == access => Reason::Access,
            at if at == timeout => Reason::ResponseTimeout,
            at if at == gap => Reason::ReorderTimeout,
            at if at == beacon => Reason::Beacon,
            at if at == absence => Reason::Absence,
            at if at == self.first_uplink => Reason::Uplink,
            at if at == self.first_rest => Reason::Driver,
            at if at == self.interrupt => Reason::Interrupt,
            _ => Reason::SignalField,
        };
        self.next_step = (horizon.min(access), reason);
        self.next = self.next_step;
        self.first_timer = timer;
    }

    /// Determines the next due instant after MPDUs have arrived since [`Self::schedule`]; the next one
    /// on which a driver acts arrives at `arrival`.
    pub fn merge(&mut self, arrival: Instant) {
        let mut next = self.next_step;
        let gap = self.first_gap();
        if gap < next.0 {
            next = (gap, Reason::ReorderTimeout);
        }
        if self.interrupt < next.0 {
            next = (self.interrupt, Reason::Interrupt);
        }
        if arrival < next.0 {
            next = (arrival, Reason::MpduEnd);
        }
        self.next = next;
        self.first_timer = self.first_timer.min(gap).min(self.interrupt);
    }

    /// The first end of a timer but response timeouts.
    fn first_of_clocks(&self) -> Instant {
        let uplink = self.first_uplink.min(self.signal_field);
        let timer = self.first_gap().min(self.beacon).min(self.absence).min(uplink);
        timer.min(self.first_rest).min(self.interrupt)
    }

    /// Whether no exchange goes on without the end of a PPDU, and no timer ends up to `until`.
    pub fn are_quiet(&self, until: Instant) -> bool {
        self.sequels.is_empty() && self.timeouts.is_empty() && self.first_of_clocks() > until
    }

    /// Takes the response that is due at `at`, and its station, if it is the only action and no timer
    /// ends up to `until`.
    pub fn take_lone_response(
        &mut self,
        at: Instant,
        until: Instant,
    ) -> Option<(StationId, OwedResponse)> {
        let [Pending { at: due, station, sequel: Sequel::Response(response) }] = self.sequels[..]
        else {
            return None;
        };
        if due != at || !self.timeouts.is_empty() || self.first_of_clocks() <= until {
            return None;
        }
        self.sequels.clear();
        Some((station, response))
    }

    /// Whether a timer has ended by `now`: the one check of most steps.
    #[inline]
    pub fn has_ended(&self, now: Instant) -> bool {
        self.first_timer <= now
    }

    fn first_gap(&self) -> Instant {
        earliest(self.gaps.iter().map(|gap| gap.at))
    }

    /// Lets `station` perform `sequel` at `at`.
    pub fn follow(&mut self, at: Instant, station: StationId, sequel: Sequel) {
        self.sequels.push(Pending { at, station, sequel });
    }

    /// The next action that is due at `now`.
    pub fn take_sequel(&mut self, now: Instant) -> Option<(StationId, Sequel)> {
        let index = self.sequels.iter().position(|pending| pending.at == now)?;
        let Pending { station, sequel, .. } = self.sequels.remove(index);
        Some((station, sequel))
    }

    /// Lets `station` wait for a response until `at`.
    pub fn await_response(&mut self, at: Instant, station: StationId) {
        self.timeouts.push((at, station));
    }

    /// The next station whose response is overdue at `now`.
    pub fn take_overdue(&mut self, now: Instant) -> Option<StationId> {
        let index = self.timeouts.iter().position(|(at, _)| *at == now)?;
        Some(self.timeouts.remove(index).1)
    }

    /// The instant up to which `station` is about to act.
    pub fn acts_until(&self, station: StationId) -> Option<Instant> {
        let due = self.sequels.iter().filter(|pending| pending.station == station);
        let due = due.map(|pending| match pending.sequel {
            Sequel::Response(response) => pending.at + response.duration,
            Sequel::Frame | Sequel::Opportunity { .. } | Sequel::MultiStationBlockAck => pending.at,
        });
        due.max()
    }

    /// The first instant after `now` at which an exchange goes on without the end of a PPDU: SIFS
    /// after one, or when no response came.
    pub fn goes_on_after(&self, now: Instant) -> Instant {
        let follows = self.sequels.iter().map(|pending| pending.at);
        let silence = self.timeouts.iter().map(|(at, _)| *at);
        earliest(follows.chain(silence).filter(|at| *at > now))
    }

    /// Sets the instant at which a recipient gives up its gap; `None` if it has no gap.
    #[inline]
    pub fn watch_gap(&mut self, receiver: StationId, recipient: usize, deadline: Option<Instant>) {
        let is_its = |gap: &Gap| (gap.receiver, gap.recipient) == (receiver, recipient);
        let known = self.gaps.iter().position(is_its);
        match (known, deadline) {
            (Some(index), Some(at)) => self.gaps[index].at = at,
            (Some(index), None) => {
                self.gaps.swap_remove(index);
            }
            (None, Some(at)) => self.gaps.push(Gap { at, receiver, recipient }),
            (None, None) => {}
        }
    }

    /// The next receiver that gives up a gap by `now`, and the index of its recipient.
    pub fn take_gap(&mut self, now: Instant) -> Option<(StationId, usize)> {
        let index = self.gaps.iter().position(|gap| gap.at <= now)?;
        let Gap { receiver, recipient, .. } = self.gaps.swap_remove(index);
        Some((receiver, recipient))
    }

    /// Lets the EDCAF rest until `until`.
    pub fn rest(&mut self, until: Instant, station: StationId, edcaf: usize) {
        self.rests.push(Rest { until, station, edcaf });
        self.first_rest = self.first_rest.min(until);
    }

    /// Whether a driver is ready at `now`.
    #[inline]
    pub fn has_rested(&self, now: Instant) -> bool {
        self.first_rest <= now
    }

    /// The next station and EDCAF whose driver is ready at `now`.
    pub fn take_rested(&mut self, now: Instant) -> Option<(StationId, usize)> {
        let index = self.rests.iter().position(|rest| rest.until <= now)?;
        let Rest { station, edcaf, .. } = self.rests.remove(index);
        self.first_rest = earliest(self.rests.iter().map(|rest| rest.until));
        Some((station, edcaf))
    }

    /// Whether a timer of uplink OFDMA or an HE-SIG-A has ended by `now`.
    #[inline]
    pub fn has_uplink(&self, now: Instant) -> bool {
        self.first_uplink.min(self.signal_field) <= now
    }

    /// Sets a timer of uplink OFDMA; replaces the running one.
    pub fn set_uplink(&mut self, at: Instant, of: UplinkWait) {
        debug_assert!(of.edcaf < BEACON_EDCAF, "beacons have none");
        self.uplink.retain(|timer| timer.of != of);
        self.uplink.push(UplinkTimer { at, of });
        self.find_first_uplink();
    }

    /// Ends a timer of uplink OFDMA; returns whether it was running.
    pub fn cancel_uplink(&mut self, of: UplinkWait) -> bool {
        let timers = self.uplink.len();
        self.uplink.retain(|timer| timer.of != of);
        let was_running = self.uplink.len() < timers;
        if was_running {
            self.find_first_uplink();
        }
        was_running
    }

    /// The next timer of uplink OFDMA that has ended by `now`.
    pub fn take_uplink(&mut self, now: Instant) -> Option<UplinkWait> {
        let index = self.uplink.iter().position(|timer| timer.at <= now)?;
        let of = self.uplink.remove(index).of;
        self.find_first_uplink();
        Some(of)
    }

    fn find_first_uplink(&mut self) {
        self.first_uplink = earliest(self.uplink.iter().map(|timer| timer.at));
    }

    /// The contenders that gain the channel at `now`, in order of index; to be
    /// [given back](Self::return_winners).
    #[inline]
    pub fn take_winners(&mut self, contention: &mut Contention, now: Instant) -> Vec<ContenderId> {
        let mut winners = core::mem::take(&mut self.winners);
        contention.winners(now, &mut winners);
        winners
    }

    /// Keeps the vector for the next winners.
    pub fn return_winners(&mut self, mut winners: Vec<ContenderId>) {
        winners.clear();
        self.winners = winners;
    }
}

/// The earliest of these instants; [`Instant::MAX`] if there are none.
pub(super) fn earliest(instants: impl Iterator<Item = Instant>) -> Instant {
    instants.min().unwrap_or(Instant::MAX)
}
