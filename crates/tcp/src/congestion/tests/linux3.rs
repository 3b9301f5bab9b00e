//! Tests of Reno and CUBIC of Linux 3.2 and 3.13: the curve of RFC 9438 for any number of segments
//! per acknowledgement, and values calculated by hand from tcp_cong_avoid_ai, tcp_slow_start and
//! hystart_update. Windows are in segments.

use lasthop_units::{Duration, Instant};

use super::ack;
use crate::congestion::{Acknowledgement, CongestionControl, Control, Cubic, CubicLinux3, Window};
use crate::{Config, CongestionControlKind, HyStart, Recovery};

const OLD: [Recovery; 2] = [Recovery::Linux32, Recovery::Linux313];
const MS: fn(u64) -> Duration = Duration::from_millis;

fn window(size: u32, threshold: u32) -> Window {
    Window { size, fraction: 0, threshold }
}

/// The window at each second, with acknowledgements of `segments` each and a full
/// window.
fn grow(control: &mut impl Control, window: &mut Window, segments: u32) -> [u32; 18] {
    let (mut now, mut sizes) = (Instant::ZERO, [0; 18]);
    let round_trip = MS(100);
    for (second, size) in (1..).zip(&mut sizes) {
        while now < Instant::ZERO + Duration::from_secs(second) {
            now += round_trip * u64::from(segments) / u64::from(window.size);
            control.handle_acknowledgement(now, &ack(segments, round_trip), window);
        }
        *size = window.size;
    }
    sizes
}

/// RFC 9438, equations 1 and 2: delayed acknowledgements do not slow the curve down, because the
/// control counts the segments of each.
#[test]
fn the_curve_is_that_of_the_rfc_whatever_an_acknowledgement_stands_for() {
    let k = libm::cbrt(600.0 / 0.4);
    for recovery in OLD {
        for segments in [1, 2, 4] {
            let mut control = CubicLinux3::new(recovery, HyStart::Off);
            let mut window = window(2_000, 2_000);
            window.threshold = control.threshold_after_loss(Instant::ZERO, &window);
            window.size = window.threshold;
            let sizes = grow(&mut control, &mut window, segments);
            for (second, size) in (1..).zip(sizes) {
                let expected = 0.4 * (f64::from(second) - k).powi(3) + 2_000.0;
                let error = f64::from(size) / expected - 1.0;
                assert!(error.abs() < 0.02, "{segments}, {second} s: {size}, RFC {expected}");
            }
        }
    }
}

fn reno(recovery: Recovery) -> CongestionControl {
    let congestion_control = CongestionControlKind::NewReno;
    CongestionControl::new(&Config { recovery, congestion_control, ..Config::default() })
}

/// tcp_cong_avoid_ai: ten acknowledgements are counted, the eleventh increases the
/// window.
#[test]
fn reno_counts_acknowledgements() {
    for recovery in OLD {
        let mut control = reno(recovery);
        let mut window = window(10, 5);
        for _ in 0..10 {
            control.handle_acknowledgement(Instant::ZERO, &ack(2, MS(100)), &mut window);
        }
        assert_eq!(window.size, 10, "twenty segments, ten acknowledgements");
        control.handle_acknowledgement(Instant::ZERO, &ack(2, MS(100)), &mut window);
        assert_eq!(window.size, 11);
    }
}

/// tcp_slow_start: 3.2 grows by one segment per acknowledgement, 3.13 by one per
/// acknowledged segment; both stop one segment above the threshold.
#[test]
fn slow_start_passes_the_threshold_by_one() {
    for (recovery, sizes) in OLD.into_iter().zip([[11, 12, 13, 13], [12, 13, 13, 13]]) {
        let mut control = reno(recovery);
        let mut window = window(10, 12);
        for size in sizes {
            control.handle_acknowledgement(Instant::ZERO, &ack(2, MS(100)), &mut window);
            assert_eq!(window.size, size, "{recovery:?}");
        }
    }
}

/// Returns the number of the acknowledgement at which slow start ends, if it does,
/// in a round with an acknowledgement every millisecond: the first has the
/// round-trip time `delay`, the others `rise` more.
fn exit(control: &mut impl Control, delay: Duration, rise: Duration) -> Option<u32> {
    let mut window = window(100, u32::MAX);
    let mut acknowledge = |now, acknowledged, round_trip| {
        let ack = Acknowledgement { acknowledged, next: acknowledged + 100, ..ack(1, round_trip) };
        control.handle_acknowledgement(now, &ack, &mut window);
        window.threshold < u32::MAX
    };
    let start = Instant::ZERO + MS(1_000);
    assert!(!acknowledge(start, 1, delay));
    (1..=80).find(|&index| acknowledge(start + delay + MS(u64::from(index)), 102, delay + rise))
}

/// hystart_update: a train of more than half the delay, without today's cushion of
/// a millisecond; a rise by a sixteenth, after eight samples, where today it is an
/// eighth.
#[test]
fn hystart_ends_slow_start_earlier() {
    let exits = |delay, rise| {
        let mut old = CubicLinux3::new(Recovery::Linux32, HyStart::Linux);
        let mut today = Cubic::new(HyStart::Linux, false);
        [exit(&mut old, delay, rise), exit(&mut today, delay, rise)]
    };
    // Half of 3 ms is 1 in whole milliseconds; with the cushion it is 2.
    assert_eq!(exits(MS(3), MS(0)), [Some(3), Some(4)]);
    // 100 / 16 = 6.25 ms, 100 / 8 = 12.5 ms, and half of 100 ms for the train.
    let [old, today] = exits(MS(100), MS(8));
    // The acknowledgement that begins a round is measured before it.
    assert_eq!(old, Some(10));
    assert!(today > Some(50), "{today:?}");
}
