//! Tests of CUBIC: the curve of RFC 9438 and its closed form for the average
//! window, fast convergence, and values of the kernel's arithmetic (bictcp_update)
//! calculated by hand. Windows are in segments, times in 1/1024 s where they are
//! CUBIC's.

use lasthop_units::{Duration, Instant};

use super::{Path, ack};
use crate::HyStart;
use crate::congestion::{Control, Cubic, Window};

fn cubic() -> Cubic {
    Cubic::new(HyStart::Off, false)
}

fn window(size: u32, threshold: u32) -> Window {
    Window { size, fraction: 0, threshold }
}

/// RFC 9438, equations 1 and 2: W(t) = C (t - K)^3 + W_max, K = cbrt((W_max - W)/C).
#[test]
fn the_window_follows_the_curve_around_the_last_maximum() {
    let round_trip = Duration::from_millis(100);
    let mut path = Path::new(cubic(), window(2_000, 2_000), round_trip);
    path.lose();
    assert_eq!(path.window.size, 1_400); // 2 000 * 717 / 1024, rounded down
    let k = libm::cbrt(600.0 / 0.4);
    for second in 1..=18 {
        while path.now < Instant::ZERO + Duration::from_secs(second) {
            path.step();
        }
        let expected = 0.4 * (second as f64 - k).powi(3) + 2_000.0;
        let size = f64::from(path.window.size);
        assert!((size / expected - 1.0).abs() < 0.015, "{second} s: {size}, RFC {expected}");
    }
}

/// RFC 9438, section 5.1: every 1/p-th segment is lost; the average window is the
/// larger of CUBIC's, 1.054 (RTT / p)^(3/4), and Reno's, 1.2 / sqrt(p).
#[test]
fn the_average_window_is_that_of_the_closed_form() {
    for round_trip in [0.1, 0.01] {
        for interval in [100_u32, 1_000, 10_000, 100_000, 1_000_000] {
            let interval_f64 = f64::from(interval);
            let reno = (1.5 * interval_f64).sqrt();
            let expected = reno.max(1.054 * (round_trip * interval_f64).powf(0.75));
            // Starts at the maximum of the steady state, because the curve is flat there: a
            // loss within about a second of it leaves the maximum unchanged.
            let maximum = (expected / 0.925) as u32;
            let mut path =
                Path::new(cubic(), window(maximum, 1), Duration::from_secs_f64(round_trip));
            path.lose();
            let average = path.average_window(interval.into(), 16);
            let ratio = average / expected;
            let tolerance = if interval > 1_000 { 0.06 } else { 0.15 }; // tens: whole ones
            assert!((ratio - 1.0).abs() < tolerance, "{round_trip} s, 1/{interval}: {ratio}");
        }
    }
}

#[test]
fn a_loss_leaves_717_of_1024_and_at_least_two() {
    for (size, threshold) in [(1_024, 717), (100, 70), (3, 2), (1, 2)] {
        assert_eq!(cubic().threshold_after_loss(Instant::ZERO, &window(size, 1)), threshold);
    }
}

/// Fast convergence (4.7): below the old maximum the new one is W (1 + beta)/2.
#[test]
fn a_second_loss_below_the_maximum_makes_room() {
    let mut control = cubic();
    control.threshold_after_loss(Instant::ZERO, &window(1_000, 1));
    assert_eq!(control.window_max, 1_000);
    control.threshold_after_loss(Instant::ZERO, &window(800, 1));
    assert_eq!(control.window_max, 680); // 800 * 1741 / 2048
    control.threshold_after_loss(Instant::ZERO, &window(700, 1));
    assert_eq!(control.window_max, 700);
}

/// Values of bictcp_update calculated by hand: before the first loss, at a window
/// of 100, the curve is flat (target = cwnd), so cnt is 20, the bound until the
/// first loss.
#[test]
fn until_the_first_loss_the_window_grows_by_a_twentieth() {
    let mut control = cubic();
    let mut window = window(100, 100);
    let round_trip = Duration::from_millis(20);
    control.handle_acknowledgement(Instant::from_nanos(1), &ack(19, round_trip), &mut window);
    assert_eq!((window.size, window.fraction, control.count), (100, 19, 20));
    control.handle_acknowledgement(Instant::from_nanos(2), &ack(1, round_trip), &mut window);
    assert_eq!((window.size, window.fraction), (101, 0));
}

/// Calculated by hand: W_max 1 000, window 700, K = cbrt(300 << 40 / 410) = 9
/// 300/1024 s (9.08 s). After 2 s and a round trip of 51.2 ms, t = 2 100/1024 s, so
/// target = 1 000 - 410 * 7 200^3 >> 40 = 861, cnt = 700 / 161 = 4.
#[test]
fn the_count_is_that_of_the_kernels_arithmetic() {
    let mut control = cubic();
    let mut window = window(1_000, 1_000);
    window.size = control.threshold_after_loss(Instant::ZERO, &window);
    window.threshold = window.size;
    let round_trip = Duration::from_nanos(51_200_000);
    control.handle_acknowledgement(Instant::ZERO, &ack(1, round_trip), &mut window);
    assert_eq!(control.epoch.expect("in an epoch").origin_after, 9_300);
    // After 52/1024 s: 1 000 - (410 * 9 248^3 >> 40) = 1 000 - 294.
    assert_eq!(control.count, 700 / 6);
    let later = Instant::ZERO + Duration::from_secs(2);
    control.handle_acknowledgement(later, &ack(1, round_trip), &mut window);
    assert_eq!(control.count, 4);
}

#[test]
fn growth_is_at_most_half_a_window_each_round_trip() {
    let mut control = cubic();
    let mut window = window(1_000, 1_000);
    window.size = control.threshold_after_loss(Instant::ZERO, &window);
    window.threshold = window.size;
    let round_trip = Duration::from_millis(10);
    control.handle_acknowledgement(Instant::ZERO, &ack(1, round_trip), &mut window);
    let later = Instant::ZERO + Duration::from_secs(600);
    control.handle_acknowledgement(later, &ack(1, round_trip), &mut window);
    assert_eq!(control.count, 2);
}

/// The curve does not advance while the sender is idle for a minute.
#[test]
fn idle_time_is_not_time_of_growth() {
    let round_trip = Duration::from_millis(100);
    let run = |idle: Duration| {
        let mut path = Path::new(cubic(), window(1_000, 1_000), round_trip);
        path.lose();
        while path.now < Instant::ZERO + Duration::from_secs(3) {
            path.step();
        }
        path.now += idle;
        path.control.handle_restart(path.now, idle);
        for _ in 0..2_000 {
            path.step();
        }
        path.window.size
    };
    let (without, with) = (run(Duration::ZERO), run(Duration::from_secs(60)));
    assert!(without.abs_diff(with) <= 2, "{without} {with}");
}

/// tcp_enter_loss takes the threshold first and then resets the control
/// (bictcp_reset), so the next growth starts from a flat curve at the present
/// window.
#[test]
fn a_timeout_forgets_the_maximum() {
    let mut control = cubic();
    let mut window = window(1_000, 1_000);
    window.threshold = control.threshold_after_loss(Instant::ZERO, &window);
    control.handle_timeout(Instant::ZERO);
    window.size = 700;
    let round_trip = Duration::from_millis(10);
    control.handle_acknowledgement(Instant::ZERO, &ack(1, round_trip), &mut window);
    assert_eq!(control.epoch.expect("in an epoch").origin, 700);
    assert_eq!(control.count, 20);
}
