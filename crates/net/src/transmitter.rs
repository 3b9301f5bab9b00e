//! A transmitter whose rate changes at instants that are known from the start. The part
//! of a packet that has not left when the rate changes leaves at the new rate.
//!
//! Rates are in bit/s of Ethernet frames. Times are exact, as those of [`Pace`]: no
//! rounding error is passed on from packet to packet.

use alloc::vec::Vec;
use lasthop_units::{Bitrate, Instant, Pace};

/// A change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// When the new rate begins to apply.
    pub at: Instant,
    /// New rate in bit/s of Ethernet frames, above zero.
    pub rate: Bitrate,
}

/// A transmitter: when its bytes leave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transmitter {
    pace: Pace,
    /// Changes to come, the next one last.
    changes: Vec<RateChange>,
}

impl Transmitter {
    /// Returns an idle transmitter. Panics if a rate is zero, or if the changes are not
    /// in ascending order of their instants.
    pub(crate) fn new(rate: Bitrate, changes: &[RateChange]) -> Self {
        assert!(changes.is_sorted_by(|one, other| one.at < other.at), "changes follow each other");
        assert!(changes.iter().all(|change| change.rate.as_bps() > 0), "a rate is above zero");
        let mut changes = changes.to_vec();
        changes.reverse();
        Self { pace: Pace::new(rate, Instant::ZERO), changes }
    }

    /// The first whole nanosecond at which everything passed so far has left.
    pub(crate) fn now(&self) -> Instant {
        self.pace.now()
    }

    /// Ends an idle period at `at`: the next byte leaves from then on.
    pub(crate) fn restart(&mut self, at: Instant) {
        while let Some(change) = self.changes.pop_if(|change| change.at <= at) {
            self.pace = Pace::new(change.rate, at);
        }
        self.pace.restart(at);
    }

    /// What is passed from now on leaves at `rate`, after everything passed so far.
    pub(crate) fn change_rate(&mut self, now: Instant, rate: Bitrate) {
        self.pace = Pace::new(rate, self.pace.now().max(now));
    }

    /// Sends `bytes` after everything passed so far.
    pub(crate) fn pass(&mut self, bytes: u32) {
        let mut left = Pace::nanobits(bytes);
        while let Some(change) = self.changes.last() {
            match self.pace.pass_until(left, change.at) {
                0 => return,
                rest => left = rest,
            }
            self.pace = Pace::new(change.rate, change.at);
            self.changes.pop();
        }
        self.pace.pass_nanobits(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Duration;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_packet_in_the_transmitter_goes_on_with_the_new_rate() {
        // At 8 Mb/s 1 000 bytes take 1 ms; the second half of them leaves at 4 Mb/s.
        let halves = [RateChange { at: at(1), rate: Bitrate::from_mbps(4) }];
        let mut transmitter = Transmitter::new(Bitrate::from_mbps(8), &halves);
        transmitter.restart(at(1) - Duration::from_micros(500));
        transmitter.pass(1_000);
        assert_eq!(transmitter.now(), at(2));
        transmitter.pass(1_000);
        assert_eq!(transmitter.now(), at(4));
    }

    #[test]
    fn a_change_while_nothing_is_sent_counts() {
        let halves = [RateChange { at: at(1), rate: Bitrate::from_mbps(4) }];
        let mut transmitter = Transmitter::new(Bitrate::from_mbps(8), &halves);
        transmitter.restart(at(10));
        transmitter.pass(1_000);
        assert_eq!(transmitter.now(), at(12));
    }

    /// When each packet (arrival in ns, bytes) has left, computed nanosecond by
    /// nanosecond.
    fn by_hand(rate: u64, changes: &[(u64, u64)], packets: &[(u64, u32)]) -> Vec<u64> {
        // In units of 1e-9 bits, so that a nanosecond passes a whole number.
        let (mut now, mut spare, mut out) = (0_u64, 0_u64, Vec::new());
        let rate_at = |now: u64| {
            let last = changes.iter().rev().find(|(at, _)| *at <= now);
            last.map_or(rate, |(_, rate)| *rate)
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
            let mut transmitter = Transmitter::new(Bitrate::from_bps(rate), &config);
            let mut ours = Vec::new();
            for &(arrived, bytes) in &packets {
                let arrived = Instant::from_nanos(arrived);
                if transmitter.now() <= arrived {
                    transmitter.restart(arrived);
                }
                transmitter.pass(bytes);
                ours.push(transmitter.now().as_nanos());
            }
            prop_assert_eq!(ours, by_hand(rate, &changes, &packets));
        }
    }
}
