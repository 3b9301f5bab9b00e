//! A transmitter whose rate changes at instants that are known from the start, once or in every
//! period. If the rate changes during a packet, the rest of the packet leaves at the new rate.
//!
//! Rates are in bit/s of Ethernet frames. Times are exact, as those of [`Pace`]: no rounding error
//! carries over from packet to packet.

use alloc::collections::VecDeque;
use lasthop_units::{Bitrate, Duration, Instant, Pace};

/// A change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// Instant from which the new rate applies.
    pub at: Instant,
    /// New rate in bit/s of Ethernet frames, above zero.
    pub rate: Bitrate,
}

/// State of a transmitter: the instant at which its bytes leave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transmitter {
    pace: Pace,
    /// Changes to come, the next one first.
    changes: VecDeque<RateChange>,
    /// Time after which each change repeats.
    period: Option<Duration>,
}

impl Transmitter {
    /// Returns an idle transmitter, whose changes repeat after each `period`. Panics if a rate is
    /// zero, if the changes are not in ascending order of their instants, or not within the first
    /// period.
    pub(crate) fn new(rate: Bitrate, changes: &[RateChange], period: Option<Duration>) -> Self {
        assert!(changes.is_sorted_by(|one, other| one.at < other.at), "changes follow each other");
        assert!(changes.iter().all(|change| change.rate.as_bps() > 0), "a rate is above zero");
        if let (Some(period), Some(last)) = (period, changes.last()) {
            assert!(last.at < Instant::ZERO + period, "changes are within a period");
        }
        let changes = changes.iter().copied().collect();
        Self { pace: Pace::new(rate, Instant::ZERO), changes, period }
    }

    /// The first whole nanosecond at which all bytes passed so far have left.
    pub(crate) fn now(&self) -> Instant {
        self.pace.now()
    }

    /// Ends an idle period at `at`: the next byte leaves from then on.
    pub(crate) fn restart(&mut self, at: Instant) {
        while let Some(&change) = self.changes.front().filter(|change| change.at <= at) {
            self.pace = Pace::new(change.rate, at);
            self.advance();
        }
        self.pace.restart(at);
    }

    /// Sets the rate for bytes passed from now on, after all bytes passed so far.
    pub(crate) fn change_rate(&mut self, now: Instant, rate: Bitrate) {
        self.pace = Pace::new(rate, self.pace.now().max(now));
    }

    /// Sends `bytes` after all bytes passed so far.
    pub(crate) fn pass(&mut self, bytes: u32) {
        let mut left = Pace::nanobits(bytes);
        while let Some(&change) = self.changes.front() {
            match self.pace.pass_until(left, change.at) {
                0 => return,
                rest => left = rest,
            }
            self.pace = Pace::new(change.rate, change.at);
            self.advance();
        }
        self.pace.pass_nanobits(left);
    }

    /// Applies the next change; with a period it repeats.
    fn advance(&mut self) {
        let change = self.changes.pop_front();
        if let (Some(RateChange { at, rate }), Some(period)) = (change, self.period) {
            self.changes.push_back(RateChange { at: at + period, rate });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_packet_in_the_transmitter_goes_on_with_the_new_rate() {
        // At 8 Mb/s 1 000 bytes take 1 ms; the second half of them leaves at 4 Mb/s.
        let halves = [RateChange { at: at(1), rate: Bitrate::from_mbps(4) }];
        let mut transmitter = Transmitter::new(Bitrate::from_mbps(8), &halves, None);
        transmitter.restart(at(1) - Duration::from_micros(500));
        transmitter.pass(1_000);
        assert_eq!(transmitter.now(), at(2));
        transmitter.pass(1_000);
        assert_eq!(transmitter.now(), at(4));
    }

    #[test]
    fn a_change_while_nothing_is_sent_counts() {
        let halves = [RateChange { at: at(1), rate: Bitrate::from_mbps(4) }];
        let mut transmitter = Transmitter::new(Bitrate::from_mbps(8), &halves, None);
        transmitter.restart(at(10));
        transmitter.pass(1_000);
        assert_eq!(transmitter.now(), at(12));
    }

    #[test]
    fn changes_come_again_after_each_period() {
        let change = |ms, mbps| RateChange { at: at(ms), rate: Bitrate::from_mbps(mbps) };
        let changes = [change(1, 4), change(2, 8)];
        let period = Some(Duration::from_millis(10));
        let mut transmitter = Transmitter::new(Bitrate::from_mbps(8), &changes, period);
        // At 8 Mb/s 1 000 bytes take 1 ms; from 31 to 32 ms the rate is half of that.
        transmitter.restart(at(30));
        for left_ms in [31, 33] {
            transmitter.pass(if left_ms == 31 { 1_000 } else { 1_500 });
            assert_eq!(transmitter.now(), at(left_ms));
        }
    }

    /// Instant at which each packet (arrival in ns, bytes) has left, computed nanosecond by
    /// nanosecond.
    fn by_hand(
        rate: u64,
        changes: &[(u64, u64)],
        period: Option<u64>,
        packets: &[(u64, u32)],
    ) -> Vec<u64> {
        // In units of 1e-9 bits, so that a nanosecond passes a whole number.
        let (mut now, mut spare, mut out) = (0_u64, 0_u64, Vec::new());
        let rate_at = |now: u64| {
            let last = |now: u64| changes.iter().rev().find(|(at, _)| *at <= now);
            let again = period
                .filter(|period| now >= *period)
                .and_then(|period| last(now % period).or(changes.last()));
            again.or_else(|| last(now)).map_or(rate, |(_, rate)| *rate)
        };
        for &(arrived, bytes) in packets {
            if arrived >= now {
                (now, spare) = (arrived, 0);
            }
            let mut left = u64::from(bytes) * 8_000_000_000;
            // Room in the last nanosecond beside the previous packet.
            let from_spare = spare.min(left);
            (left, spare) = (left - from_spare, spare - from_spare);
            while left > 0 {
                let passes = rate_at(now);
                now += 1;
                spare = passes.saturating_sub(left);
                left = left.saturating_sub(passes);
            }
            out.push(now);
        }
        out
    }

    proptest! {
        #[test]
        fn instants_are_those_of_adding_up_nanoseconds(
            rate in 50_000_000_u64..2_000_000_000,
            gaps in prop::collection::vec((1_u64..4_000, 50_000_000_u64..2_000_000_000), 0..4),
            pause in prop::option::of(1_u64..2_000),
            packets in prop::collection::vec((0_u64..3_000, 1_u32..60), 1..8),
        ) {
            let mut last = 0;
            let changes: Vec<(u64, u64)> = gaps
                .into_iter()
                .map(|(gap, rate)| {
                    last += gap;
                    (last, rate)
                })
                .collect();
            let mut arrived = 0;
            let packets: Vec<(u64, u32)> = packets
                .into_iter()
                .map(|(gap, bytes)| {
                    arrived += gap;
                    (arrived, bytes)
                })
                .collect();
            let config: Vec<RateChange> = changes
                .iter()
                .map(|&(at, rate)| RateChange {
                    at: Instant::from_nanos(at),
                    rate: Bitrate::from_bps(rate),
                })
                .collect();
            let period = pause.map(|pause| last + pause);
            let after = period.map(Duration::from_nanos);
            let mut transmitter = Transmitter::new(Bitrate::from_bps(rate), &config, after);
            let mut ours = Vec::new();
            for &(arrived, bytes) in &packets {
                let arrived = Instant::from_nanos(arrived);
                if transmitter.now() <= arrived {
                    transmitter.restart(arrived);
                }
                transmitter.pass(bytes);
                ours.push(transmitter.now().as_nanos());
            }
            prop_assert_eq!(ours, by_hand(rate, &changes, period, &packets));
        }
    }
}
