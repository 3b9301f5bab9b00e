//! Clock of a dozing station, which decides whether it is awake in time for a beacon and receives
//! it (IEEE 802.11-2020, 11.2.3).
//!
//! Between beacons the station sleeps by its own clock, and turns its radio on some time ahead of
//! the next beacon. The clock's error grows from beacon interval to beacon interval as a random
//! walk; a beacon that the station hears resets it. If the error exceeds the time ahead, the radio
//! comes on after the beacon's preamble, and the beacon is missed. The next one is then likely to
//! be missed, too: misses come in bursts. A beacon may also be missed by chance, independent of the
//! clock and of other beacons, as by a radio that switches on badly; a packet then waits for
//! p / (1 - p) intervals more on average. After several consecutive misses the station stays awake
//! until it hears a beacon, as drivers do that search for a lost access point. Left out: a clock
//! that is too fast, which only costs power, and the time for which the radio is on without a
//! beacon.

use lasthop_units::{Duration, Probability, Stream};

/// Accuracy of a dozing station's clock, and of its reception of beacons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WakeClock {
    /// Time ahead of a beacon at which the radio is to be on.
    pub lead: Duration,
    /// Standard deviation of the error that the clock gains in a beacon interval; zero for an exact
    /// clock.
    pub jitter: Duration,
    /// Probability of missing a beacon for which the radio is on in time.
    pub loss: Probability,
    /// Consecutive missed beacons after which the station stays awake for the next.
    pub missed_max: u8,
}

impl WakeClock {
    /// An exact clock.
    pub const EXACT: Self = Self {
        lead: Duration::ZERO,
        jitter: Duration::ZERO,
        loss: Probability::ZERO,
        missed_max: 0,
    };
}

/// The clock of a dozing station.
#[derive(Clone, Debug, PartialEq)]
pub struct BeaconClock {
    config: WakeClock,
    stream: Stream,
    late_nanos: f64,
    missed: u8,
}

impl BeaconClock {
    /// Returns a clock without error.
    pub fn new(config: WakeClock, stream: Stream) -> Self {
        Self { config, stream, late_nanos: 0.0, missed: 0 }
    }

    /// Advances the clock by a beacon interval in which the station dozed.
    pub fn pass(&mut self) {
        if !self.config.jitter.is_zero() {
            self.late_nanos += self.config.jitter.as_nanos() as f64 * self.stream.normal();
        }
    }

    /// Whether the radio comes on too late for the beacon that is due, or misses it by chance; the
    /// beacon then counts as missed.
    pub fn misses(&mut self) -> bool {
        let is_late = self.late_nanos > self.config.lead.as_nanos() as f64;
        let is_lost = self.config.loss > Probability::ZERO && self.stream.chance(self.config.loss);
        let misses = (is_late || is_lost) && self.missed < self.config.missed_max;
        if misses {
            self.missed();
        }
        misses
    }

    /// Counts a beacon that the station listened to and did not decode.
    pub fn missed(&mut self) {
        self.missed = self.missed.saturating_add(1);
    }

    /// Resets the clock: the station heard a beacon, or was awake.
    pub fn set(&mut self) {
        (self.late_nanos, self.missed) = (0.0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Seed;

    const MS: Duration = Duration::from_millis(1);
    /// Lengths of bursts that are counted apart, from 0 on.
    const LONGEST: usize = 40;

    /// Number of misses among a hundred thousand beacons, and the number of bursts by length.
    fn bursts(config: WakeClock) -> (usize, [usize; LONGEST]) {
        let mut clock = BeaconClock::new(config, Seed::new(3, 0).stream("test"));
        let (mut missed, mut lengths, mut burst) = (0, [0; LONGEST], 0);
        for _ in 0..100_000 {
            clock.pass();
            if clock.misses() {
                (missed, burst) = (missed + 1, burst + 1);
            } else {
                clock.set();
                lengths[burst] += 1;
                burst = 0;
            }
        }
        (missed, lengths)
    }

    #[test]
    fn an_exact_clock_misses_nothing() {
        assert_eq!(bursts(WakeClock::EXACT).0, 0);
        let lead = WakeClock { lead: MS, missed_max: 7, ..WakeClock::EXACT };
        assert_eq!(bursts(lead).0, 0);
    }

    /// Misses by chance are independent: a burst of n has the probability p^n (1 - p), and a beacon
    /// that is heard comes after p / (1 - p) missed ones on average.
    #[test]
    fn misses_by_chance_are_independent() {
        for p in [0.2, 0.53, 0.7] {
            let loss = Probability::new(p).expect("a probability");
            let config = WakeClock { lead: MS, loss, missed_max: u8::MAX, ..WakeClock::EXACT };
            let (missed, lengths) = bursts(config);
            let heard = 100_000 - missed;
            let mean = missed as f64 / heard as f64;
            assert!((mean / (p / (1.0 - p)) - 1.0).abs() < 0.02, "{p}: {mean}");
            for (length, count) in lengths.iter().enumerate().take(3) {
                let share = *count as f64 / heard as f64;
                let expected = p.powi(length as i32) * (1.0 - p);
                assert!((share - expected).abs() < 0.005, "{p}, {length}: {share}");
            }
        }
    }

    /// The first beacon after a received one is missed with the probability of a normal variable
    /// beyond one standard deviation (15.87 %). Two steps of the walk are both beyond it with 10.6
    /// % (the bivariate normal distribution with a correlation of 1/sqrt(2)).
    #[test]
    fn a_walk_that_has_gone_too_far_stays_there() {
        let (_, lengths) =
            bursts(WakeClock { lead: MS, jitter: MS, missed_max: 7, ..WakeClock::EXACT });
        let heard: usize = lengths.iter().sum();
        let share = |from: usize| lengths[from..].iter().sum::<usize>() as f64 / heard as f64;
        assert!((share(1) - 0.158_7).abs() < 0.004, "{}", share(1));
        assert!((share(2) - 0.106).abs() < 0.004, "{}", share(2));
        // By then it stays awake.
        assert!(
            lengths[7] > lengths[6] && lengths[8..].iter().all(|count| *count == 0),
            "{lengths:?}"
        );
    }
}
