//! Round-trip times and the retransmission timeout: [RFC 6298] as Linux computes it. The timeout is
//! the smoothed time plus four mean deviations; the latter are at least the minimum timeout (200
//! ms) and the maximum over each round trip, so the timeout falls slowly. The minimum round-trip
//! time is that of the last 300 s (tcp_min_rtt_wlen). Times are in nanoseconds; Linux has
//! microseconds.
//!
//! [RFC 6298]: https://www.rfc-editor.org/rfc/rfc6298

use lasthop_units::{Duration, Instant};

/// Timeout before the first measurement (RFC 6298, 2.1).
pub(crate) const TIMEOUT_INITIAL: Duration = Duration::from_secs(1);
/// Upper bound of the timeout after back-off (Linux' TCP_RTO_MAX).
pub(crate) const TIMEOUT_MAX: Duration = Duration::from_secs(120);
/// Time for which a minimum is kept.
const MINIMUM_LIFETIME: Duration = Duration::from_secs(300);

/// The round-trip time of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoundTripTime {
    latest: Option<Duration>,
    /// Eight times the smoothed time in ns; 0 before the first measurement.
    smoothed_8: u64,
    /// Four times the mean deviation in ns.
    deviation_4: u64,
    /// Maximum of `deviation_4` in this round trip, at least `timeout_min`.
    deviation_max_4: u64,
    /// Part of the timeout beyond the smoothed time, in ns.
    allowance: u64,
    /// Byte whose acknowledgement ends the present round trip.
    round_end: u64,
    timeout_min: Duration,
    timeout: Duration,
    minimum: Minimum,
}

impl RoundTripTime {
    pub(crate) fn new(timeout_min: Duration) -> Self {
        Self {
            latest: None,
            smoothed_8: 0,
            deviation_4: 0,
            deviation_max_4: 0,
            allowance: 0,
            round_end: 0,
            timeout_min,
            timeout: TIMEOUT_INITIAL,
            minimum: Minimum::default(),
        }
    }

    /// Handles a sample for the timeout, and ends its back-off. `acknowledged` and `next` are
    /// offsets into the stream: a round trip lasts from one `next` to its acknowledgement.
    pub(crate) fn update(&mut self, measured: Duration, acknowledged: u64, next: u64) {
        let measured = measured.as_nanos();
        let timeout_min = self.timeout_min.as_nanos();
        if self.smoothed_8 == 0 {
            self.smoothed_8 = (measured * 8).max(1);
            self.deviation_4 = measured * 2;
            self.allowance = self.deviation_4.max(timeout_min);
            self.deviation_max_4 = self.allowance;
            self.round_end = next;
        } else {
            let error = measured as i64 - (self.smoothed_8 / 8) as i64;
            self.smoothed_8 = (self.smoothed_8 as i64 + error).max(1) as u64;
            let mut change = error.abs() - (self.deviation_4 / 4) as i64;
            // A shorter round trip says little about the next longer one (a rule of Linux,
            // not of RFC 6298).
            if error < 0 && change > 0 {
                change /= 8;
            }
            self.deviation_4 = (self.deviation_4 as i64 + change) as u64;
            self.deviation_max_4 = self.deviation_max_4.max(self.deviation_4);
            self.allowance = self.allowance.max(self.deviation_max_4);
            if acknowledged > self.round_end {
                if self.deviation_max_4 < self.allowance {
                    self.allowance -= (self.allowance - self.deviation_max_4) / 4;
                }
                self.round_end = next;
                self.deviation_max_4 = timeout_min;
            }
        }
        self.timeout = Duration::from_nanos(self.smoothed_8 / 8 + self.allowance).min(TIMEOUT_MAX);
    }

    /// Handles the round-trip time of the newest segment that was just acknowledged.
    pub(crate) fn update_latest(&mut self, now: Instant, measured: Duration) {
        self.latest = Some(measured);
        self.minimum.update(now, measured);
    }

    /// Doubles the timeout (RFC 6298, 5.5).
    pub(crate) fn back_off(&mut self) {
        self.timeout = (self.timeout * 2).min(TIMEOUT_MAX);
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn latest(&self) -> Option<Duration> {
        self.latest
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        (self.smoothed_8 > 0).then(|| Duration::from_nanos(self.smoothed_8 / 8))
    }

    pub(crate) fn minimum(&self) -> Option<Duration> {
        self.latest.map(|_| self.minimum.samples[0].1)
    }
}

/// The minimum over a sliding time, from three samples (Kathleen Nichols'
/// algorithm): the smallest, and twice the smallest of those after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Minimum {
    samples: [(Instant, Duration); 3],
    is_set: bool,
}

impl Minimum {
    fn update(&mut self, now: Instant, measured: Duration) {
        let sample = (now, measured);
        let [best, second, third] = &mut self.samples;
        if !self.is_set || measured <= best.1 || now - third.0 > MINIMUM_LIFETIME {
            (self.samples, self.is_set) = ([sample; 3], true);
            return;
        }
        if measured <= second.1 {
            (*second, *third) = (sample, sample);
        } else if measured <= third.1 {
            *third = sample;
        }
        let age = now - best.0;
        if age > MINIMUM_LIFETIME {
            (*best, *second, *third) = (*second, *third, sample);
            if now - best.0 > MINIMUM_LIFETIME {
                (*best, *second) = (*second, *third);
            }
        } else if second.0 == best.0 && age > MINIMUM_LIFETIME / 4 {
            (*second, *third) = (sample, sample);
        } else if third.0 == second.0 && age > MINIMUM_LIFETIME / 2 {
            *third = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_first_measurement_gives_three_times_itself() {
        // RFC 6298, 2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
        let mut time = RoundTripTime::new(MS(1));
        assert_eq!(time.timeout(), Duration::from_secs(1));
        time.update(MS(500), 1, 2);
        assert_eq!((time.smoothed(), time.timeout()), (Some(MS(500)), MS(1_500)));
    }

    #[test]
    fn later_ones_are_weighted_by_an_eighth_and_a_quarter() {
        // RFC 6298, 2.3, R' = 540 after 500: RTTVAR = 3/4 * 250 + 1/4 * 40 = 197.5,
        // SRTT = 505. Linux keeps the largest RTTVAR of the round, 250.
        let mut time = RoundTripTime::new(MS(1));
        time.update(MS(500), 1, 2);
        time.update(MS(540), 2, 3);
        assert_eq!(time.smoothed(), Some(MS(505)));
        assert_eq!(time.deviation_4, MS(790).as_nanos());
        assert_eq!(time.timeout(), MS(505 + 1_000));
    }

    #[test]
    fn a_steady_path_times_out_after_its_round_trip_and_200_ms() {
        let mut time = RoundTripTime::new(MS(200));
        for round in 1..200 {
            time.update(MS(20), round + 1, round + 1);
        }
        assert_eq!(time.timeout(), MS(220));
    }

    #[test]
    fn backing_off_doubles_until_two_minutes_and_ends_with_a_measurement() {
        let mut time = RoundTripTime::new(MS(200));
        let mut seen = [0; 9];
        for timeout in &mut seen {
            *timeout = time.timeout().as_nanos() / 1_000_000_000;
            time.back_off();
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        time.update(MS(20), 1, 2);
        assert_eq!(time.timeout(), MS(220));
    }

    #[test]
    fn a_timeout_is_two_minutes_at_most() {
        let mut time = RoundTripTime::new(MS(200));
        time.update(Duration::from_secs(100), 1, 2);
        assert_eq!(time.timeout(), Duration::from_secs(120));
        assert_eq!(time.smoothed(), Some(Duration::from_secs(100)));
    }

    /// Linux' tcp_rtt_estimator. 100 ms, four deviations of 50: 300 ms. Two more samples of 100 ms
    /// leave three quarters of the deviations each, 150 and 112.5, but the largest of the round
    /// trip, 200, stays. When the round trip is over (at byte 10, and only an acknowledgement
    /// beyond it shows that), the search for the largest restarts. When the next one is over, the
    /// allowance falls by a quarter of its excess over that round trip's 112.5: 178.125.
    #[test]
    fn the_timeout_falls_by_a_quarter_each_round_trip() {
        let mut time = RoundTripTime::new(MS(40));
        let mut timeout = |acknowledged, next| {
            time.update(MS(100), acknowledged, next);
            time.timeout().as_nanos()
        };
        assert_eq!(timeout(1, 10), 300_000_000);
        assert_eq!(timeout(11, 20), 300_000_000);
        assert_eq!(timeout(20, 30), 300_000_000, "the end itself is in the round trip");
        assert_eq!(timeout(21, 40), 278_125_000);
    }

    /// Linux' tcp_rtt_estimator: a round trip that is shorter by more than the deviation changes
    /// the deviation by an eighth of RFC 6298's amount. 500 ms, deviation 250; 100 ms is 400 below,
    /// 150 more than the deviation: 4 * 250 + 150 / 8 = 1018.75, beside 450. One that is longer by
    /// as much, 850 - 450, counts in full: 1018.75 + 400 - 254.6875 = 1164.0625, beside 500.
    #[test]
    fn a_shorter_round_trip_says_little() {
        let mut time = RoundTripTime::new(MS(1));
        time.update(MS(500), 1, 100);
        time.update(MS(100), 2, 100);
        assert_eq!(time.smoothed(), Some(MS(450)));
        assert_eq!(time.timeout(), Duration::from_micros(450_000 + 1_018_750));
        time.update(MS(850), 3, 100);
        assert_eq!(time.timeout().as_nanos(), 500_000_000 + 1_164_062_500);
    }

    #[test]
    fn nothing_is_known_before_the_first_measurement() {
        let mut time = RoundTripTime::new(MS(200));
        assert_eq!((time.latest(), time.smoothed(), time.minimum()), (None, None, None));
        let at = |ms| Instant::ZERO + MS(ms);
        time.update_latest(at(30), MS(30));
        time.update_latest(at(80), MS(50));
        assert_eq!((time.latest(), time.minimum()), (Some(MS(50)), Some(MS(30))));
        // A path without length.
        time.update(Duration::ZERO, 1, 2);
        assert_eq!((time.smoothed(), time.timeout()), (Some(Duration::ZERO), MS(200)));
    }

    proptest! {
        /// RFC 6298, 2.3, in real numbers: SRTT = 7/8 SRTT + 1/8 R', and while round trips get
        /// longer, RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|. In one round trip the timeout has the
        /// largest RTTVAR.
        #[test]
        fn it_is_the_estimator_of_the_rfc(
            first in 1_000_000..500_000_000u64,
            longer in prop::collection::vec(0..100_000_000u64, 0..60),
            any in prop::collection::vec(1_000..1_000_000_000u64, 0..60),
        ) {
            let mut time = RoundTripTime::new(Duration::from_nanos(1));
            time.update(Duration::from_nanos(first), 1, 1_000);
            let (mut smoothed, mut deviation) = (first as f64, first as f64 / 2.0);
            let mut largest = deviation;
            let near = |found: Duration, expected: f64| {
                (found.as_nanos() as f64 - expected).abs() < 20.0
            };
            for more in longer {
                let measured = smoothed.ceil() as u64 + more;
                time.update(Duration::from_nanos(measured), 1, 1_000);
                deviation += ((measured as f64 - smoothed).abs() - deviation) / 4.0;
                smoothed += (measured as f64 - smoothed) / 8.0;
                largest = largest.max(deviation);
                prop_assert!(near(time.smoothed().expect("measured"), smoothed));
                let timeout = (smoothed + 4.0 * largest).min(120e9);
                prop_assert!(near(time.timeout(), timeout), "{:?} {timeout}", time.timeout());
            }
            for measured in any {
                time.update(Duration::from_nanos(measured), 1, 1_000);
                smoothed += (measured as f64 - smoothed) / 8.0;
                prop_assert!(near(time.smoothed().expect("measured"), smoothed));
            }
        }

        /// The minimum was measured in the last 300 s, and the newest sample is not below it; as
        /// long as no sample has expired, none is.
        #[test]
        fn a_minimum_is_that_of_the_window(
            samples in prop::collection::vec((0..60_000u64, 1..200u64), 1..200),
        ) {
            let mut minimum = Minimum::default();
            let mut now = Instant::ZERO;
            let mut all: Vec<(Instant, Duration)> = Vec::new();
            for (pause, measured) in samples {
                now += MS(pause);
                all.push((now, MS(measured)));
                minimum.update(now, MS(measured));
                let (at, found) = minimum.samples[0];
                prop_assert!(all.contains(&(at, found)) && now - at <= MINIMUM_LIFETIME);
                prop_assert!(found <= MS(measured));
                if now - Instant::ZERO <= MINIMUM_LIFETIME {
                    let least = all.iter().map(|(_, measured)| *measured).min();
                    prop_assert_eq!(Some(found), least);
                }
            }
        }
    }

    #[test]
    fn a_minimum_is_forgotten_after_300_s() {
        let mut minimum = Minimum::default();
        let mut at = |s, ms| {
            minimum.update(Instant::ZERO + Duration::from_secs(s), MS(ms));
            minimum.samples[0].1
        };
        assert_eq!(at(0, 10), MS(10));
        assert_eq!(at(200, 30), MS(10));
        assert_eq!(at(299, 20), MS(10));
        assert_eq!(at(301, 40), MS(20));
    }

    /// Linux' lib/win_minmax.c: the second sample is of the second quarter of the window (75 s),
    /// the third of its second half (150 s), or a smaller one since. The second sample replaces the
    /// first when that is more than 300 s old; when the third is, only the newest counts.
    #[test]
    fn a_minimum_has_two_heirs() {
        let mut minimum = Minimum::default();
        let samples = [
            (0, 10, 10),
            (75, 20, 10),
            (76, 30, 10),  // second and third
            (100, 25, 10), // less than both
            (150, 40, 10),
            (151, 45, 10), // third
            (300, 60, 10),
            (301, 50, 25), // of 100 s; then 45 and 50
            (400, 60, 25),
            (401, 60, 45), // of 151 s; then 50 and 60
            (451, 70, 45),
            (452, 70, 50),  // of 301 s; then 60 and 70
            (701, 80, 60),  // of 401 s; then 70 and 80
            (702, 85, 70),  // of 452 s; then 80 and 85
            (1002, 90, 85), // of 702 s, as that of 701 s is too old, too
            (1303, 95, 95),
            (1303, 99, 95),
            (1304, 94, 94),
        ];
        for (s, measured, expected) in samples {
            minimum.update(Instant::ZERO + Duration::from_secs(s), MS(measured));
            assert_eq!(minimum.samples[0].1, MS(expected), "{s} s");
        }
    }
}
