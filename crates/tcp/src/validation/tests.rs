//! Tests of congestion window validation: the RFCs' rules with the limits of their sections, and
//! the kernel's with values calculated by hand. Windows are in segments; a flight is the segments
//! sent in one round trip.

use super::*;

const TIMEOUT: Duration = Duration::from_millis(200);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn window(size: u32, threshold: u32) -> Window {
    Window { size, fraction: 0, threshold }
}

/// The usage of a flight of `out` segments of 1 byte, all acknowledged before the
/// next one.
fn flight(number: u64, out: u32, is_window_limited: bool) -> Usage {
    Usage {
        segments_out: out,
        acknowledged: number * 1_000,
        next: (number + 1) * 1_000,
        timeout: TIMEOUT,
        is_window_limited,
        is_application_limited: !is_window_limited,
        is_recovering: false,
    }
}

#[test]
fn off_always_lets_it_grow() {
    let validation = Validation::new(WindowValidation::Off, 10);
    assert!(validation.is_limited(0, &window(100, 1)));
}

mod linux {
    use super::*;

    fn new() -> Validation {
        Validation::new(WindowValidation::Linux, 10)
    }

    /// tcp_is_cwnd_limited: in slow start cwnd < 2 * max_packets_out.
    #[test]
    fn slow_start_probes_up_to_twice_what_was_out() {
        let mut validation = new();
        let mut w = window(40, u32::MAX);
        validation.handle_sent(at(0), &flight(0, 20, false), &mut w);
        assert!(!validation.is_limited(20, &w));
        validation.handle_sent(at(10), &flight(1, 21, false), &mut w);
        assert!(validation.is_limited(21, &w));
        // In congestion avoidance only a full window counts.
        assert!(!validation.is_limited(21, &window(40, 40)));
    }

    #[test]
    fn a_full_window_is_remembered_until_the_flight_is_acknowledged() {
        let mut validation = new();
        let mut w = window(40, 40);
        validation.handle_sent(at(0), &flight(0, 40, true), &mut w);
        // The same flight (nothing acknowledged) with fewer segments in flight.
        let same = Usage { segments_out: 30, ..flight(0, 30, false) };
        validation.handle_sent(at(5), &same, &mut w);
        assert!(validation.is_limited(30, &w));
        validation.handle_sent(at(10), &flight(1, 30, false), &mut w);
        assert!(!validation.is_limited(30, &w));
    }

    /// tcp_cwnd_application_limited: (cwnd + max(used, initial)) / 2 once per
    /// timeout.
    #[test]
    fn a_partly_used_window_decays_once_a_timeout() {
        let mut validation = new();
        let mut w = window(100, 50);
        validation.handle_sent(at(0), &flight(0, 100, true), &mut w);
        for number in 1..20 {
            validation.handle_sent(at(number * 10), &flight(number, 20, false), &mut w);
        }
        assert_eq!(w.size, 100);
        validation.handle_sent(at(200), &flight(20, 4, false), &mut w);
        assert_eq!((w.size, w.threshold), (60, 75));
        validation.handle_sent(at(400), &flight(21, 4, false), &mut w);
        assert_eq!((w.size, w.threshold), (35, 75));
    }

    #[test]
    fn a_sender_held_up_by_buffers_or_recovery_keeps_its_window() {
        let base = flight(1, 20, false);
        for usage in
            [Usage { is_application_limited: false, ..base }, Usage { is_recovering: true, ..base }]
        {
            let mut validation = new();
            let mut w = window(100, 50);
            validation.handle_sent(at(0), &flight(0, 100, true), &mut w);
            validation.handle_sent(at(1_000), &usage, &mut w);
            assert_eq!(w, window(100, 50));
        }
    }

    /// tcp_cwnd_restart: nothing for the first timeout, then the window is halved
    /// for each one that begins, not below the initial window.
    #[test]
    fn idle_time_halves_down_to_the_initial_window() {
        for (idle, size) in [(200, 160), (201, 80), (400, 80), (401, 40), (600, 40), (5_000, 10)] {
            let mut w = window(160, 100);
            new().handle_idle(at(9_000), Duration::from_millis(idle), TIMEOUT, &mut w);
            let threshold = if idle > 200 { 120 } else { 100 };
            assert_eq!((w.size, w.threshold), (size, threshold), "{idle} ms");
        }
        // A window below the initial one is not raised.
        let mut w = window(4, 100);
        new().handle_idle(at(9_000), Duration::from_secs(5), TIMEOUT, &mut w);
        assert_eq!(w.size, 4);
    }

    /// Linux 3.13: cwnd - in_flight <= tcp_max_burst, also in slow start.
    #[test]
    fn the_old_rule_wants_all_but_three_segments_in_flight() {
        let validation = Validation::new(WindowValidation::Linux3, 10);
        for threshold in [u32::MAX, 10] {
            let w = window(40, threshold);
            assert!(validation.is_limited(40, &w));
            assert!(validation.is_limited(37, &w));
            assert!(!validation.is_limited(36, &w));
        }
    }

    /// tcp_cwnd_application_limited: nothing changes unless less than the window was used, and
    /// the initial window counts as used.
    #[test]
    fn a_window_that_was_used_up_to_the_initial_one_is_kept() {
        for (size, out, kept) in [(20, 20, true), (20, 19, false), (10, 3, true), (11, 3, false)] {
            let mut validation = new();
            let mut w = window(size, 8);
            validation.handle_sent(at(0), &flight(0, size, true), &mut w);
            validation.handle_sent(at(200), &flight(1, out, false), &mut w);
            let middle = window((size + out.max(10)) / 2, size - size / 4);
            assert_eq!(w, if kept { window(size, 8) } else { middle }, "{out} of {size}");
        }
    }

    /// tcp_cwnd_validate: a full window restarts the time, and discards the earlier use.
    #[test]
    fn a_full_window_begins_the_timeout_again() {
        for kind in [WindowValidation::Linux, WindowValidation::Linux3] {
            let mut validation = Validation::new(kind, 10);
            let mut w = window(100, 50);
            validation.handle_sent(at(0), &flight(0, 90, false), &mut w);
            validation.handle_sent(at(150), &flight(1, 100, true), &mut w);
            validation.handle_sent(at(349), &flight(2, 20, false), &mut w);
            assert_eq!(w, window(100, 50));
            validation.handle_sent(at(350), &flight(3, 20, false), &mut w);
            assert_eq!(w, window(60, 75), "{kind:?}");
        }
    }

    /// tcp_cwnd_validate: more segments in flight than before begin a new flight, fewer do not.
    #[test]
    fn the_most_segments_of_a_flight_count() {
        let mut validation = new();
        let mut w = window(39, u32::MAX);
        let out = |segments_out| Usage { segments_out, ..flight(0, 0, false) };
        for (segments, is_limited) in [(19, false), (20, true), (5, true), (19, true)] {
            validation.handle_sent(at(1), &out(segments), &mut w);
            assert_eq!(validation.is_limited(0, &w), is_limited, "{segments}");
        }
        validation.handle_sent(at(2), &flight(1, 19, false), &mut w);
        assert!(!validation.is_limited(0, &w));
    }
}

mod rfc2861 {
    use super::*;

    fn new() -> Validation {
        Validation::new(WindowValidation::Rfc2861, 10)
    }

    #[test]
    fn only_a_full_window_grows() {
        assert!(new().is_limited(40, &window(40, 1)));
        assert!(!new().is_limited(39, &window(40, 1)));
    }

    /// Section 3.2: halved for each timeout of idle time, to at least one segment;
    /// ssthresh becomes max(ssthresh, 3/4 cwnd).
    #[test]
    fn idle_time_halves_down_to_one_segment() {
        for (idle, size) in [(199, 64), (200, 32), (400, 16), (1_200, 1), (90_000, 1)] {
            let mut w = window(64, 20);
            new().handle_idle(at(100_000), Duration::from_millis(idle), TIMEOUT, &mut w);
            assert_eq!((w.size, w.threshold), (size, if idle < 200 { 20 } else { 48 }));
        }
    }

    /// Section 3.2: cwnd = (cwnd + W_used) / 2 after a timeout.
    #[test]
    fn a_partly_used_window_decays_to_the_middle() {
        let mut validation = new();
        let mut w = window(64, 20);
        validation.handle_sent(at(0), &flight(0, 64, true), &mut w);
        validation.handle_sent(at(100), &flight(1, 16, false), &mut w);
        validation.handle_sent(at(200), &flight(2, 8, false), &mut w);
        assert_eq!((w.size, w.threshold), (40, 48));
    }

    /// Section 3.2: T_prev is set and W_used cleared when the window is full; a part that another
    /// limit than the application leaves unused does not count.
    #[test]
    fn only_time_limited_by_the_application_counts() {
        let mut validation = new();
        let mut w = window(64, 20);
        validation.handle_sent(at(0), &flight(0, 60, false), &mut w);
        validation.handle_sent(at(150), &flight(1, 64, true), &mut w);
        validation.handle_sent(at(349), &flight(2, 16, false), &mut w);
        assert_eq!(w, window(64, 20));
        let base = flight(3, 16, false);
        for usage in
            [Usage { is_application_limited: false, ..base }, Usage { is_recovering: true, ..base }]
        {
            validation.handle_sent(at(500), &usage, &mut w);
            assert_eq!(w, window(64, 20));
        }
        validation.handle_sent(at(500), &base, &mut w);
        assert_eq!(w, window(40, 48));
        // Idle time begins both again, too.
        validation.handle_idle(at(900), TIMEOUT, TIMEOUT, &mut w);
        assert_eq!(w, window(20, 48));
        validation.handle_sent(at(1_099), &flight(4, 2, false), &mut w);
        assert_eq!(w, window(20, 48));
        validation.handle_sent(at(1_100), &flight(5, 2, false), &mut w);
        assert_eq!(w, window(11, 48));
    }
}

mod rfc7661 {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(100);

    /// Acknowledges `segments` per round trip up to `until`.
    fn acknowledge(validation: &mut Validation, from: u64, until: u64, segments: u32) {
        for millis in (from..until).step_by(101) {
            validation.handle_acknowledgement(at(millis), 0, ROUND_TRIP);
            validation.handle_acknowledgement(at(millis + 100), segments, ROUND_TRIP);
        }
    }

    fn new() -> Validation {
        Validation::new(WindowValidation::Rfc7661, 10)
    }

    #[test]
    fn half_a_window_validates_it() {
        let mut validation = new();
        assert!(validation.is_limited(0, &window(1_000, 1)), "undefined counts as valid");
        acknowledge(&mut validation, 0, 500, 20);
        assert!(validation.is_limited(0, &window(40, 1)));
        assert!(!validation.is_limited(0, &window(42, 1)));
    }

    /// 4.2: the maximum over the last max(3 RTT, 1 s).
    #[test]
    fn a_good_round_trip_counts_for_a_second() {
        let mut validation = new();
        acknowledge(&mut validation, 0, 100, 40);
        acknowledge(&mut validation, 200, 700, 4);
        assert!(validation.is_limited(0, &window(80, 1)));
        acknowledge(&mut validation, 800, 1_200, 4);
        assert!(!validation.is_limited(0, &window(80, 1)));
    }

    /// 4.4.3: kept for five minutes, then halved, with 3/4 of it as the threshold.
    #[test]
    fn an_idle_window_is_kept_for_five_minutes() {
        let mut validation = new();
        acknowledge(&mut validation, 0, 500, 4);
        let mut w = window(100, 20);
        validation.handle_idle(at(299_999), Duration::from_secs(299), TIMEOUT, &mut w);
        assert_eq!(w, window(100, 20));
        validation.handle_idle(at(300_000), Duration::from_secs(300), TIMEOUT, &mut w);
        assert_eq!(w, window(50, 75));
    }

    /// 4.4.2: (max(pipeACK, in flight)) / 2, if the window was not validated.
    #[test]
    fn a_loss_counts_from_what_was_in_use() {
        let mut validation = new();
        acknowledge(&mut validation, 0, 500, 20);
        let mut valid = validation.clone();
        assert_eq!(valid.threshold_after_loss(30, 28, &window(40, 1)), 28);
        assert_eq!(validation.threshold_after_loss(30, 70, &window(100, 1)), 15);
        assert!(validation.is_limited(0, &window(100, 1)), "undefined after a loss (4.5.2)");
    }

    /// 4.2: a sample is the total acknowledged in a round trip; the largest of the last max(3 RTT,
    /// 1 s), in quarters of that time (4.5.1), counts.
    #[test]
    fn the_sampling_period_is_three_round_trips_or_a_second() {
        for (round_trip, period) in [(100, 1_000), (250, 1_000), (400, 1_200), (1_000, 3_000)] {
            let mut validation = new();
            let mut sample = |from, segments: [u32; 2]| {
                let round_trip = Duration::from_millis(round_trip);
                validation.handle_acknowledgement(at(from), segments[0], round_trip);
                let until = at(from) + round_trip;
                validation.handle_acknowledgement(until, segments[1], round_trip);
                validation.is_limited(0, &window(80, 1))
            };
            // The samples end in the first quarter of a period, and in the last one that counts.
            let start = 4 * period;
            assert!(sample(start - round_trip, [15, 25]));
            assert!(sample(start + 1, [2, 3]), "the largest of a quarter");
            assert!(sample(start + period - 1 - round_trip, [2, 3]), "{round_trip} ms");
            assert!(!sample(start + period, [2, 3]), "{round_trip} ms");
            assert!(!sample(start + 2 * period, [19, 20]));
            assert!(sample(start + 3 * period, [20, 20]));
        }
    }

    /// 4.4.2: not below 2 segments (RFC 5681, equation 4), nor above the threshold of the
    /// congestion control.
    #[test]
    fn a_loss_leaves_two_segments_and_raises_nothing() {
        for (in_flight, threshold, expected) in [(4, 50, 2), (6, 50, 3), (60, 20, 20), (1, 50, 2)] {
            let mut validation = new();
            acknowledge(&mut validation, 0, 500, 1);
            let w = window(100, 1);
            assert_eq!(validation.threshold_after_loss(in_flight, threshold, &w), expected);
        }
    }

    /// 4.4.3: the window is not halved below the initial one, and the five minutes restart.
    #[test]
    fn each_five_minutes_halve_down_to_the_initial_window() {
        let mut validation = new();
        acknowledge(&mut validation, 0, 500, 1);
        let mut w = window(30, 20);
        for (seconds, size) in [(300, 15), (599, 15), (600, 10), (900, 10)] {
            validation.handle_sent(at(1_000 * seconds), &flight(1, 1, false), &mut w);
            assert_eq!(w.size, size, "{seconds} s");
        }
        // A validated window begins them again, and a smaller one is not raised.
        let mut w = window(2, 20);
        validation.handle_sent(at(1_000_000), &flight(1, 1, false), &mut w);
        w.size = 4;
        validation.handle_sent(at(1_200_000), &flight(1, 1, false), &mut w);
        assert_eq!(w.size, 4);
        validation.handle_sent(at(1_300_000), &flight(1, 1, false), &mut w);
        assert_eq!(w.size, 4);
    }
}
