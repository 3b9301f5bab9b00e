//! The air's part of spatial reuse (IEEE 802.11ax-2021, 26.10.2): PPDUs below their transmitter's
//! usual power, the facts that a station knows at the end of HE-SIG-A, and PPDUs that a station
//! ignores from then on, so that it can lock to another one.
//!
//! Powers are in mW, means of the link. A station decodes HE-SIG-A from the SINR at which it
//! detects a preamble; as for all third parties, no randomness is involved.

use super::lead::{Lead, lead_needed};
use super::{Air, Flight, Interval, MARGIN, Overheard, PREAMBLE_DETECTION_THRESHOLD};
use super::{Interference, Level, SnrThreshold, Together};
use crate::phy::{ChannelWidth, UNTIL_SIGNAL_A};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::{Db, Dbm, Instant};

/// Reduction of a PPDU's power below its transmitter's usual power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reduction {
    pub(super) db: Db,
    /// The reduction as a factor, above 0 and up to 1.
    pub(super) factor: f64,
}

/// A PPDU that a station ignores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ignored {
    transmitter: StationId,
    /// Start and end of the PPDU, and the instant from which it is ignored.
    start: Instant,
    end: Instant,
    from: Instant,
}

/// The PPDUs that stations ignore.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct IgnoredPpdus {
    /// By receiver; as many as needed.
    of: Vec<Vec<Ignored>>,
    /// Number of all.
    all: usize,
}

impl IgnoredPpdus {
    /// Whether no station ignores one.
    pub const fn is_empty(&self) -> bool {
        self.all == 0
    }

    fn by(&self, receiver: StationId) -> &[Ignored] {
        self.of.get(receiver.index()).map_or(&[], |of| of)
    }

    fn add(&mut self, receiver: StationId, ignored: Ignored) {
        let needed = receiver.index() + 1;
        if self.of.len() < needed {
            self.of.resize(needed, Vec::new());
        }
        self.of[receiver.index()].push(ignored);
        self.all += 1;
    }

    /// Keeps those that end after an instant.
    fn retain_after(&mut self, oldest: Instant) {
        self.of.iter_mut().for_each(|of| of.retain(|ignored| ignored.end > oldest));
        self.all = self.of.iter().map(Vec::len).sum();
    }
}

/// Stations that may miss the preamble of a PPDU because another one began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Nobody,
    Only(StationId),
    Anybody,
}

impl Missing {
    /// Whether a station may miss it.
    pub fn may_be(self, station: StationId) -> bool {
        match self {
            Self::Nobody => false,
            Self::Only(one) => one == station,
            Self::Anybody => true,
        }
    }
}

impl Reduction {
    /// The usual power.
    pub const NONE: Self = Self { db: Db(0.0), factor: 1.0 };

    /// A reduction by `db`, which is at least 0 dB.
    pub fn new(db: Db) -> Self {
        if db.0 > 0.0 { Self { db, factor: (-db).as_linear() } } else { Self::NONE }
    }

    /// Returns the greater of two reductions.
    pub fn max(self, other: Self) -> Self {
        if other.db.0 > self.db.0 { other } else { self }
    }
}

impl Flight {
    /// Whether this is an HE or EHT PPDU, whose HE-SIG-A or U-SIG carries the BSS colour.
    pub fn has_colour(&self) -> bool {
        use super::Carried::{MultiUser, Triggered, TriggeredBlockAck};
        let is_he =
            matches!(self.carried, MultiUser { .. } | Triggered { .. } | TriggeredBlockAck { .. });
        is_he || self.rate.is_he() || self.rate.is_eht()
    }

    /// The end of its HE-SIG-A or U-SIG.
    pub fn signal_field_end(&self) -> Option<Instant> {
        self.has_colour().then(|| self.start + UNTIL_SIGNAL_A)
    }
}

impl Air {
    /// The stations that sense a PPDU of `transmitter` with this power and width on their primary
    /// channels, the transmitter excluded.
    pub fn sensing(
        &self,
        transmitter: StationId,
        reduction: Reduction,
        width: ChannelWidth,
    ) -> impl Iterator<Item = StationId> {
        let usual = self.listeners[transmitter.index()].iter().copied();
        usual.filter(move |&listener| {
            (reduction == Reduction::NONE
                || self.power_mw(transmitter, listener) * reduction.factor >= self.carrier_sense_mw)
                && self.covers(transmitter, width, listener)
        })
    }

    /// The PPDUs on the air, in the order in which they began.
    pub fn flights(&self) -> impl Iterator<Item = &Flight> {
        self.flights.iter()
    }

    /// Number of changes of mean SNRs so far.
    pub const fn changed(&self) -> u64 {
        self.changed
    }

    /// The PPDUs whose HE-SIG-A ends at `now`.
    pub fn signal_fields(&self, now: Instant) -> impl Iterator<Item = &Flight> {
        self.flights.iter().filter(move |flight| flight.signal_field_end() == Some(now))
    }

    /// The end of the next HE-SIG-A after `now`; [`Instant::MAX`] if none is on the air.
    pub fn next_signal_field(&self, now: Instant) -> Instant {
        let ends = self.flights.iter().filter_map(Flight::signal_field_end);
        ends.filter(|end| *end > now).min().unwrap_or(Instant::MAX)
    }

    /// The power in mW with which `listener`, which is not away, receives a PPDU whose HE-SIG-A
    /// ends now; `None` if it does not decode HE-SIG-A. Trigger-based PPDUs that answer the same
    /// Trigger frame share one preamble, so their powers add up.
    pub fn hears_signal_field(
        &self,
        flight: &Flight,
        together: &Together,
        listener: StationId,
    ) -> Option<f64> {
        let end = flight.signal_field_end()?;
        if !self.locks_with(flight, together, listener) {
            return None;
        }
        let power_mw =
            |flight: &Flight| self.power_mw(flight.transmitter, listener) * flight.reduction.factor;
        let received_mw: f64 = match flight.answers() {
            None => power_mw(flight),
            answers => {
                let is_beside = |it: &&Flight| it.answers() == answers && it.start == flight.start;
                self.flights.iter().filter(is_beside).map(power_mw).sum()
            }
        };
        let interference_mw =
            together.most_mw(self, listener, Interval { from: flight.start, until: end });
        let noise_mw = self.noise_mw(flight.transmitter, listener);
        let needed = PREAMBLE_DETECTION_THRESHOLD.linear * (noise_mw + interference_mw);
        (received_mw >= needed).then_some(received_mw)
    }

    /// The mean power in mW of a transmitter at another station.
    pub fn level_mw(&self, from: StationId, reduction: Reduction, to: StationId) -> f64 {
        self.power_mw(from, to) * reduction.factor
    }

    /// The mean power in mW of a PPDU at `listener`.
    pub fn received_mw(&self, flight: &Flight, listener: StationId) -> f64 {
        self.power_mw(flight.transmitter, listener) * flight.reduction.factor
    }

    /// Makes `receiver` ignore the PPDU with this number, which is on the air, from `now` on.
    pub fn ignore(&mut self, receiver: StationId, number: u64, now: Instant) {
        let flights = self.flights.iter().filter(|flight| flight.overlaps.number() == number);
        for &Flight { transmitter, start, end, .. } in flights {
            let is_it = |it: &Ignored| (it.transmitter, it.start) == (transmitter, start);
            if !self.ignored.by(receiver).iter().any(is_it) {
                self.ignored.add(receiver, Ignored { transmitter, start, end, from: now });
            }
        }
    }

    /// The stations that may miss a PPDU because of the one that began last: by then the preamble and
    /// header of most are over, so that only its transmitter does.
    pub fn missing_by_last(&self, flight: &Flight) -> Missing {
        match self.overlapping.last_with(&flight.overlaps) {
            None => Missing::Nobody,
            Some(last) if lead_needed(last.order, self.capture_margin) == Lead::Always => {
                Missing::Only(last.transmitter)
            }
            Some(_) => Missing::Anybody,
        }
    }

    /// Whether `receiver` ignored another PPDU when a PPDU began at `start`.
    pub(super) fn ignores(
        &self,
        receiver: StationId,
        other: &Interference,
        start: Instant,
    ) -> bool {
        self.ignored.by(receiver).iter().any(|ignored| {
            ignored.transmitter == other.transmitter
                && (ignored.start, ignored.end) == (other.start, other.end)
                && ignored.from <= start
        })
    }

    /// Forgets ignored PPDUs that ended before the oldest PPDU on the air began.
    #[cold]
    pub(super) fn forget_ignored(&mut self) {
        match self.flights.iter().map(|flight| flight.start).min() {
            None => self.ignored.retain_after(Instant::MAX),
            Some(oldest) => self.ignored.retain_after(oldest),
        }
    }

    /// The outcome at `listener`, which senses the PPDU that ends now, unless it is the addressee,
    /// by the rules of [`Air::overhear`]; `None` if the PPDU stays unnoticed.
    pub fn overhears(&mut self, flight: &Flight, listener: StationId) -> Option<Overheard> {
        if flight.receiver == Address::Station(listener) {
            return None;
        }
        let needed = self.overhear_threshold(flight.rate);
        let level = Level {
            snr: self.links.row(flight.transmitter)[listener.index()] - flight.reduction.db,
            power_mw: self.received_mw(flight, listener),
            noise_mw: self.noise_mw(flight.transmitter, listener),
        };
        if !self.is_disturbed_anywhere(flight) {
            let is_decoded = level.snr >= needed.snr && self.understands(listener, flight.rate);
            return Some(if is_decoded { Overheard::Decoded } else { Overheard::Failed });
        }
        let interference_mw = self.most_interference_mw(flight, listener, flight.span());
        let reaches = |needed: SnrThreshold| level.reaches(needed, interference_mw);
        let is_decoded = reaches(needed);
        if !is_decoded && !reaches(PREAMBLE_DETECTION_THRESHOLD) || !self.locks(flight, listener) {
            return None;
        }
        let is_decoded = is_decoded && self.understands(listener, flight.rate);
        Some(if is_decoded { Overheard::Decoded } else { Overheard::Failed })
    }
}

/// Whether a power in mW is below a level. A power within rounding of the level is not below it.
pub(crate) fn is_below(power_mw: f64, level: Dbm) -> bool {
    power_mw < level.as_milliwatts() * (1.0 - MARGIN)
}
