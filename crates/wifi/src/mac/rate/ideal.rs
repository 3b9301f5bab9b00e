//! The rate with the highest expected throughput at the receiver's SNR.
//!
//! Expected throughput is bit rate times the probability that one MPDU of the given length arrives.
//! At construction the choice is tabulated as thresholds. A faster rate takes over at the SNR at
//! which it carries more than the next slower one, but not before its packet error rate has fallen
//! to a bound. SNR is in dB. Left out: preambles, contention and aggregation, which would favour
//! fast rates a little more. Below the lowest threshold the most robust rate is used.

use super::{Algorithm, Attempt, RateChain, RateSet};
use crate::phy::{Band, ErrorModel, Rate};
use alloc::vec::Vec;
use lasthop_units::{Db, Duration, Instant, Probability};

/// Tables for MPDUs of the configured length, twice, four and eight times as long.
const LENGTHS: usize = 4;
const RESOLUTION_DB: f64 = 0.01;
/// Length of the delimiter that every MPDU of HE has.
const DELIMITER: u32 = 4;
/// aPPDUMaxTime (IEEE 802.11-2020, table 19-25; the same in HE).
const PPDU_DURATION_MAX: Duration = Duration::from_micros(5_484);

/// Thresholds of SNR by MPDU length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ideal {
    tables: [Thresholds; LENGTHS],
    current: Rate,
}

/// Table of choices for MPDUs of up to this many bytes.
#[derive(Clone, Debug, PartialEq)]
struct Thresholds {
    bytes: u32,
    /// Thresholds, ascending in both SNR and bit rate; at least one.
    thresholds: Vec<Threshold>,
}

/// SNR from which `rate` is the best choice, up to the next threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Threshold {
    snr: Db,
    rate: Rate,
}

impl Ideal {
    pub(super) fn new(
        rates: &RateSet,
        error_model: &ErrorModel,
        bytes: u16,
        per_max: Probability,
    ) -> Self {
        let tables = core::array::from_fn(|doublings| {
            let bytes = u32::from(bytes.max(1)) << doublings;
            let receiver = Knowledge { error_model, bytes, per_max: per_max.as_f64() };
            Thresholds { bytes, thresholds: receiver.thresholds(rates) }
        });
        let current = tables[0].thresholds[0].rate;
        Self { tables, current }
    }

    /// The best rate for an MPDU of that length at that SNR.
    pub(super) fn choice(&self, snr: Db, msdu_bytes: u16) -> Rate {
        let long_enough = |table: &&Thresholds| u32::from(msdu_bytes) <= table.bytes;
        let table = self.tables.iter().find(long_enough).unwrap_or(&self.tables[LENGTHS - 1]);
        let reached = table.thresholds.partition_point(|threshold| threshold.snr <= snr);
        let place = reached.saturating_sub(1);
        match table.thresholds[place].rate {
            rate if rate.is_extended_range() => table.short_enough(place, msdu_bytes),
            rate => rate,
        }
    }
}

impl Thresholds {
    /// The rate at this index, or the next one at which a PPDU with a frame of `bytes` stays within
    /// the longest PPDU: the slowest rates of extended range take too long for a packet.
    #[cold]
    fn short_enough(&self, place: usize, bytes: u16) -> Rate {
        let bytes = DELIMITER + u32::from(bytes);
        let is_short = |rate: Rate| rate.ppdu_duration(bytes, Band::Ghz5) <= PPDU_DURATION_MAX;
        let mut later = self.thresholds[place..].iter().map(|threshold| threshold.rate);
        let usable = later.clone().find(|rate| is_short(*rate));
        usable.or_else(|| later.next_back()).expect("a place has a rate")
    }
}

impl Algorithm for Ideal {
    fn chain(&mut self, _now: Instant, snr: Db, msdu_bytes: u16) -> RateChain {
        self.current = self.choice(snr, msdu_bytes);
        RateChain::new(&[Attempt { rate: self.current, tries: u8::MAX }], false)
    }

    fn report(&mut self, _now: Instant, _rate: Rate, _mpdus_sent: u16, _mpdus_acked: u16) {}

    fn main_rate(&self) -> Rate {
        self.current
    }
}

/// The sender's knowledge of the receiver.
struct Knowledge<'a> {
    error_model: &'a ErrorModel,
    bytes: u32,
    per_max: f64,
}

impl Knowledge<'_> {
    /// Thresholds of all rates that are the best choice at some SNR.
    fn thresholds(&self, rates: &RateSet) -> Vec<Threshold> {
        let mut thresholds: Vec<Threshold> = Vec::new();
        for candidate in self.candidates(rates) {
            // Where a faster rate takes over before a slower one did, the slower has no place.
            let mut snr = self.takes_over_at(candidate, thresholds.last());
            while thresholds.pop_if(|slower| snr <= slower.snr).is_some() {
                snr = self.takes_over_at(candidate, thresholds.last());
            }
            thresholds.push(Threshold { snr, ..candidate });
        }
        thresholds
    }

    /// The rates that need less SNR than every faster one, with the SNR at the bound on losses;
    /// slowest first. Of the two rates of 26 Mb/s, for example, MCS 3 with one stream and MCS 9
    /// with two, the list has the more robust one.
    fn candidates(&self, rates: &RateSet) -> Vec<Threshold> {
        let needed = |&rate| Threshold { snr: self.needed(rate, self.per_max), rate };
        let mut candidates: Vec<Threshold> = rates.rates.iter().map(needed).collect();
        candidates.sort_by(|a, b| {
            let faster_first = b.rate.bitrate().cmp(&a.rate.bitrate());
            faster_first.then(a.snr.0.total_cmp(&b.snr.0))
        });
        let mut least = Db(f64::INFINITY);
        candidates.retain(|candidate| {
            let needs_less = candidate.snr < least;
            least = if needs_less { candidate.snr } else { least };
            needs_less
        });
        candidates.reverse();
        candidates
    }

    /// The SNR from which `candidate` carries more than `slower`, within the bound on its losses.
    fn takes_over_at(&self, candidate: Threshold, slower: Option<&Threshold>) -> Db {
        let Threshold { snr: mut too_low, rate } = candidate;
        let Some(&Threshold { rate: slower, .. }) = slower else { return too_low };
        // Here it carries as much as a lossless `slower`.
        let ratio = slower.bitrate().as_bps() as f64 / rate.bitrate().as_bps() as f64;
        let mut enough = self.needed(rate, 1.0 - ratio);
        while enough.0 - too_low.0 > RESOLUTION_DB {
            let middle = Db(0.5 * (too_low.0 + enough.0));
            if self.throughput(rate, middle) >= self.throughput(slower, middle) {
                enough = middle;
            } else {
                too_low = middle;
            }
        }
        too_low
    }

    /// Expected throughput in bit/s.
    fn throughput(&self, rate: Rate, snr: Db) -> f64 {
        let success = self.error_model.success(rate, snr, self.bytes);
        rate.bitrate().as_bps() as f64 * success.as_f64()
    }

    /// The SNR at which `rate` loses this share of MPDUs.
    fn needed(&self, rate: Rate, per: f64) -> Db {
        self.error_model.sensitivity_snr(rate, per, self.bytes)
    }
}
