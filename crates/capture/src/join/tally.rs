//! Counts of the ways of segments: parts of the delay, attempts, and fates of previous copies by
//! direction of a flow, and the slowest segments.

use super::way::{SegmentWay, Trigger, WayFate};
use std::collections::BTreeMap;

/// Parts of a delay, each with the number of segments that have it.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Time between the two wired places before the air.
    pub wire_before: Delays,
    /// Time from the last wired place before the air until the first attempt begins.
    pub wait: Delays,
    /// Time from the start of the first attempt to the end of the successful one.
    pub air: Delays,
    /// Time from the end of the successful attempt until the segment arrives.
    pub behind: Delays,
    /// Time from departure to arrival.
    pub total: Delays,
}

/// Delays in ns, with order statistics within 0.4 %. Memory grows with their spread, not with their
/// number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Number of delays in bins, [`BINS`] for each octave.
    bins: BTreeMap<u16, u64>,
    count: u64,
    /// Number of negative delays: the clocks are further apart than estimated.
    pub below_zero: u64,
    range_ns: Option<(i64, i64)>,
}

/// Number of bins in an octave.
const BINS: u64 = 128;

impl Delays {
    /// Adds a delay. In order statistics, negative delays count as zero.
    pub fn add(&mut self, delay_ns: i64) {
        let (least, greatest) = self.range_ns.unwrap_or((delay_ns, delay_ns));
        self.range_ns = Some((least.min(delay_ns), greatest.max(delay_ns)));
        self.below_zero += u64::from(delay_ns < 0);
        self.count += 1;
        *self.bins.entry(bin(u64::try_from(delay_ns).unwrap_or_default())).or_default() += 1;
    }

    /// Returns the number of delays.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns least, median, 95th percentile and greatest delay in ns; `None` without delays.
    /// Least and greatest are exact.
    pub fn summary_ns(&self) -> Option<[i64; 4]> {
        let (least, greatest) = self.range_ns?;
        let quantile = |share: f64| {
            let mut left = (self.count as f64 * share).ceil() as u64;
            let bin = self.bins.iter().find(|(_, count)| {
                left = left.saturating_sub(**count);
                left == 0
            });
            middle(bin.map_or(0, |(bin, _)| *bin)).clamp(least, greatest)
        };
        Some([least, quantile(0.5), quantile(0.95), greatest])
    }
}

/// Returns the bin of a value. Values below [`BINS`] have one each.
fn bin(value: u64) -> u16 {
    let octave = (value / BINS).checked_ilog2().map_or(0, |log| log + 1);
    match octave {
        0 => value as u16,
        _ => (u64::from(octave) * BINS + (value >> (octave - 1)) - BINS) as u16,
    }
}

/// Returns the middle of a bin.
fn middle(bin: u16) -> i64 {
    let (octave, within) = (u64::from(bin) / BINS, u64::from(bin) % BINS);
    match octave {
        0 => within as i64,
        _ => ((BINS + within) << (octave - 1)) as i64 + ((1i64 << (octave - 1)) - 1) / 2,
    }
}

impl Parts {
    pub(super) fn add(&mut self, way: &SegmentWay) {
        for (delays, delay_ns) in [
            (&mut self.wire_before, way.wire_before_ns()),
            (&mut self.wait, way.wait_ns()),
            (&mut self.air, way.air_ns()),
            (&mut self.behind, way.behind_ns()),
            (&mut self.total, way.total_ns()),
        ] {
            if let Some(delay_ns) = delay_ns {
                delays.add(delay_ns);
            }
        }
    }
}

/// Counts of one direction of a flow.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of segments; each copy counts.
    pub segments: u64,
    /// Sum of their payload, in bytes.
    pub payload_bytes: u64,
    /// Segments that were captured on the air.
    pub heard: u64,
    /// Segments on the air that went to an access point first.
    pub to_access_point: u64,
    /// Segments that left or arrived, and were not captured on the air.
    pub unheard: u64,
    /// Segments without a captured departure.
    pub without_departure: u64,
    /// Number of segments that were sent n + 1 times on the air, at index n; the last index
    /// includes all larger numbers. Attempts that are known to be missed count.
    pub attempts: [u64; ATTEMPTS],
    /// Parts of the delay of segments.
    pub parts: Parts,
    /// Parts of the delay of acknowledgements without payload.
    pub acknowledgements: Parts,
    /// Time from departure until the acknowledgement came, for segments that were sent once.
    pub round_trip: Delays,
    /// Number of segments by [`WayFate`].
    pub fates: [u64; FATES],
    /// Number of retransmissions by the [`WayFate`] of the previous copy.
    pub sent_again: [u64; FATES],
    /// Retransmissions whose previous copy was not captured, or is too old.
    pub sent_again_unknown: u64,
    /// Retransmissions by trigger: acknowledgements, timers.
    pub triggers: [u64; 2],
    /// Time from the previous copy to the retransmission.
    pub sent_again_after: Delays,
    /// Packets that a place captured twice within 1 ms. They count once.
    pub captured_twice: u64,
    /// Packets that are left out because a place captured their bytes more than 64 times within 20
    /// s.
    pub left_out: u64,
    /// Segments without payload that a place captured more than once, so that they cannot be
    /// followed.
    pub acknowledgements_unclear: u64,
}

/// Numbers of attempts that are counted separately.
pub const ATTEMPTS: usize = 16;
/// Number of [`WayFate`]s.
pub const FATES: usize = 7;
/// Largest number of segments in the list of slowest ones.
pub const SLOWEST_MAX: usize = 20;

impl Tally {
    pub(super) fn add(&mut self, way: &SegmentWay) {
        self.segments += 1;
        self.payload_bytes += u64::from(way.payload_bytes);
        self.without_departure += u64::from(way.left_ns.is_none());
        self.fates[way.fate as usize] += 1;
        if way.attempts > 0 {
            self.heard += 1;
            self.to_access_point += u64::from(way.to_access_point);
            let attempts = way.attempts as usize + usize::from(way.first_attempt_missed);
            self.attempts[attempts.min(ATTEMPTS) - 1] += 1;
        } else {
            self.unheard += 1;
        }
        if way.fate == WayFate::Arrived || way.fate == WayFate::AcrossAir {
            self.parts.add(way);
        }
        if let (Some(left), Some(acknowledged), None, false) =
            (way.left_ns, way.acknowledged_ns, way.sent_again_ns, way.retransmission)
        {
            self.round_trip.add(acknowledged - left);
        }
    }

    pub(super) fn add_sent_again(&mut self, fate: WayFate, after_ns: i64, trigger: Trigger) {
        self.sent_again[fate as usize] += 1;
        self.triggers[trigger as usize] += 1;
        self.sent_again_after.add(after_ns);
    }
}

/// Slowest segments, the slowest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Slowest(Vec<SegmentWay>);

impl Slowest {
    pub fn add(&mut self, way: &SegmentWay) {
        let rank = |way: &SegmentWay| std::cmp::Reverse(way.seen_ns());
        if self.0.len() == SLOWEST_MAX && self.0.last().is_some_and(|last| rank(last) <= rank(way))
        {
            return;
        }
        let place = self.0.partition_point(|known| rank(known) <= rank(way));
        self.0.insert(place, way.clone());
        self.0.truncate(SLOWEST_MAX);
    }

    pub fn list(&self) -> &[SegmentWay] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Order statistics equal those of all values sorted.
        #[test]
        fn order_statistics_are_near(values in prop::collection::vec(-5i64..20_000_000_000, 1..300)) {
            let mut delays = Delays::default();
            values.iter().for_each(|value| delays.add(*value));
            let mut sorted = values;
            sorted.sort_unstable();
            let rank = |share: f64| sorted[(sorted.len() as f64 * share).ceil() as usize - 1].max(0);
            let [least, median, high, greatest] = delays.summary_ns().unwrap();
            prop_assert_eq!([least, greatest], [sorted[0], sorted[sorted.len() - 1]]);
            for (found, is) in [(median, rank(0.5)), (high, rank(0.95))] {
                prop_assert!(found.abs_diff(is) as f64 <= 0.004 * is as f64 + 5.0, "{found} {is}");
            }
        }
    }
}
