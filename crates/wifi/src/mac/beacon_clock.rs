//! Whether a dozing station is awake in time for a beacon (IEEE 802.11-2020, 11.2.3).
//!
//! Between beacons it sleeps by a clock of its own, and turns its radio on some time ahead of the
//! next one. How far that clock has strayed grows from beacon interval to beacon interval as a
//! random walk, and a beacon that it hears sets it right. If it has strayed by more than the time
//! ahead, the radio comes on behind the beacon's preamble, and the beacon is missed. The next one
//! then most likely is, too: misses come in bursts. After several in a row it stays awake until it
//! hears one, as drivers do that look for a lost access point. Left out: a clock that is too fast
//! only costs power; the time for which the radio is on in vain.

use lasthop_units::{Duration, Stream};

/// How well a dozing station keeps time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeClock {
    /// How long ahead of a beacon its radio is to be on.
    pub lead: Duration,
    /// Standard deviation of what it strays by in a beacon interval; zero: it is exact.
    pub jitter: Duration,
    /// Beacons that it misses in a row, behind which it stays awake for the next.
    pub missed_max: u8,
}

impl WakeClock {
    /// A clock that is never wrong.
    pub const EXACT: Self = Self { lead: Duration::ZERO, jitter: Duration::ZERO, missed_max: 0 };
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
    /// A clock that is right.
    pub fn new(config: WakeClock, stream: Stream) -> Self {
        Self { config, stream, late_nanos: 0.0, missed: 0 }
    }

    /// A beacon interval has passed while the station dozed.
    pub fn pass(&mut self) {
        if !self.config.jitter.is_zero() {
            self.late_nanos += self.config.jitter.as_nanos() as f64 * self.stream.normal();
        }
    }

    /// Whether the radio comes on too late for the beacon that is due, which counts as missed then.
    pub fn misses(&mut self) -> bool {
        let is_late = self.late_nanos > self.config.lead.as_nanos() as f64;
        let misses = is_late && self.missed < self.config.missed_max;
        if misses {
            self.missed();
        }
        misses
    }

    /// The station listened to a beacon and did not decode it.
    pub fn missed(&mut self) {
        self.missed = self.missed.saturating_add(1);
    }

    /// The station heard a beacon, or was awake.
    pub fn set(&mut self) {
        (self.late_nanos, self.missed) = (0.0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Seed;

    const MS: Duration = Duration::from_millis(1);

    /// Of a hundred thousand beacons: how many are missed, and how many bursts of misses end
    /// after so many.
    fn bursts(config: WakeClock) -> (usize, [usize; 9]) {
        let mut clock = BeaconClock::new(config, Seed::new(3, 0).stream("test"));
        let (mut missed, mut lengths, mut burst) = (0, [0; 9], 0);
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

    /// The first beacon after one that was heard is missed with the probability of a normal
    /// variable beyond one standard deviation (15.87 %), and of two steps of the walk both beyond
    /// it are 10.6 % (the bivariate normal distribution with a correlation of 1/sqrt(2)).
    #[test]
    fn a_walk_that_has_gone_too_far_stays_there() {
        let (_, lengths) = bursts(WakeClock { lead: MS, jitter: MS, missed_max: 7 });
        let heard: usize = lengths.iter().sum();
        let share = |from: usize| lengths[from..].iter().sum::<usize>() as f64 / heard as f64;
        assert!((share(1) - 0.158_7).abs() < 0.004, "{}", share(1));
        assert!((share(2) - 0.106).abs() < 0.004, "{}", share(2));
        // By then it stays awake.
        assert!(lengths[7] > lengths[6] && lengths[8] == 0, "{lengths:?}");
    }
}
