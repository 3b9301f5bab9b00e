//! Tests of NewReno's window (RFC 5681, 3.1): slow start, congestion avoidance,
//! stretch acknowledgements, and its average against the square-root law. Windows
//! are in segments.

use lasthop_units::{Duration, Instant};

use super::{Path, ack};
use crate::congestion::{Acknowledgement, Control, NewReno, Window};

const ROUND_TRIP: Duration = Duration::from_millis(50);

fn window(size: u32, threshold: u32) -> Window {
    Window { size, fraction: 0, threshold }
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut window = window(10, u32::MAX);
    for doubled in [20, 40, 80] {
        let acks = window.size / 2;
        for _ in 0..acks {
            NewReno.handle_acknowledgement(Instant::ZERO, &ack(2, ROUND_TRIP), &mut window);
        }
        assert_eq!(window.size, doubled);
    }
}

#[test]
fn congestion_avoidance_adds_one_segment_each_round_trip() {
    let mut window = window(10, 10);
    for size in 10..60 {
        assert_eq!(window.size, size);
        for _ in 0..size {
            NewReno.handle_acknowledgement(Instant::ZERO, &ack(1, ROUND_TRIP), &mut window);
        }
    }
}

#[test]
fn a_stretch_ack_counts_for_all_its_segments() {
    let mut window = window(10, 10);
    // The first 10 segments give one increase; the other 15 give 11 for the next,
    // and 4.
    NewReno.handle_acknowledgement(Instant::ZERO, &ack(10, ROUND_TRIP), &mut window);
    assert_eq!((window.size, window.fraction), (11, 0));
    NewReno.handle_acknowledgement(Instant::ZERO, &ack(15, ROUND_TRIP), &mut window);
    assert_eq!((window.size, window.fraction), (12, 4));
}

#[test]
fn slow_start_stops_at_the_threshold_and_the_rest_counts_beyond() {
    let mut window = window(8, 10);
    NewReno.handle_acknowledgement(Instant::ZERO, &ack(7, ROUND_TRIP), &mut window);
    assert_eq!((window.size, window.fraction), (10, 5));
}

#[test]
fn an_unused_window_does_not_grow() {
    for threshold in [u32::MAX, 5] {
        let mut window = window(10, threshold);
        let unused = Acknowledgement { is_limited: false, ..ack(10, ROUND_TRIP) };
        NewReno.handle_acknowledgement(Instant::ZERO, &unused, &mut window);
        assert_eq!((window.size, window.fraction), (10, 0));
    }
}

#[test]
fn a_loss_halves_and_leaves_at_least_two() {
    for (size, threshold) in [(100, 50), (7, 3), (3, 2), (1, 2)] {
        assert_eq!(NewReno.threshold_after_loss(Instant::ZERO, &window(size, u32::MAX)), threshold);
    }
}

/// The square-root law, sqrt(3/2) / sqrt(p): RFC 9438's tables give 1.2 / sqrt(p).
#[test]
fn the_average_window_follows_the_square_root_law() {
    for (interval, expected) in [(100, 12.0), (1_000, 38.0), (10_000, 120.0), (100_000, 379.0)] {
        let path = Path::new(NewReno, window(10, 10), ROUND_TRIP);
        let average = path.average_window(interval, 40);
        assert!((average / expected - 1.0).abs() < 0.06, "1/{interval}: {average} {expected}");
    }
}
