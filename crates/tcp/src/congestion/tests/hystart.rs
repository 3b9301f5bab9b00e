//! Tests of HyStart as in Linux' CUBIC: when a train of acknowledgements or a rise
//! of the round-trip time ends slow start. The limits in ms are calculated by hand
//! from hystart_update.

use alloc::vec::Vec;

use lasthop_units::{Duration, Instant};

use super::ack;
use crate::HyStart;
use crate::congestion::{Acknowledgement, Control, Cubic, Window};

const ROUND_TRIP: Duration = Duration::from_millis(40);

/// Runs one round with an acknowledgement every `gap` and these round-trip times. Returns the
/// number of acknowledgements after which slow start ended, if it did.
fn round(
    control: &mut Cubic,
    window: &mut Window,
    start: Instant,
    gap: Duration,
    round_trips: impl IntoIterator<Item = Duration>,
) -> Option<usize> {
    let first = start.as_nanos();
    let mut now = start;
    for (index, round_trip) in round_trips.into_iter().enumerate() {
        let ack = Acknowledgement {
            // The acknowledged offset moves only between rounds.
            acknowledged: first + 1,
            next: first + 2,
            ..ack(1, round_trip)
        };
        control.handle_acknowledgement(now, &ack, window);
        if !window.is_slow_start() {
            return Some(index + 1);
        }
        now += gap;
    }
    None
}

fn start(size: u32, is_paced: bool) -> (Cubic, Window) {
    let window = Window { size, fraction: 0, threshold: u32::MAX };
    (Cubic::new(HyStart::Linux, is_paced), window)
}

/// Half of the sum of 40 ms and the cushion of 1 ms is 20.5 ms. With an acknowledgement every
/// millisecond the 22nd of a train, at 21 ms, exceeds it.
#[test]
fn a_train_of_half_the_round_trip_ends_slow_start() {
    let (mut control, mut window) = start(100, false);
    let gap = Duration::from_millis(1);
    let ended = round(&mut control, &mut window, Instant::ZERO, gap, [ROUND_TRIP; 60]);
    assert_eq!(ended, Some(22));
    assert_eq!(window.threshold, 121);
}

#[test]
fn paced_a_train_may_last_a_whole_round_trip() {
    let (mut control, mut window) = start(100, true);
    let gap = Duration::from_millis(1);
    let ended = round(&mut control, &mut window, Instant::ZERO, gap, [ROUND_TRIP; 60]);
    assert_eq!(ended, Some(43));
}

#[test]
fn gaps_above_two_milliseconds_are_no_train() {
    let (mut control, mut window) = start(100, false);
    let gap = Duration::from_micros(2_001);
    assert_eq!(round(&mut control, &mut window, Instant::ZERO, gap, [ROUND_TRIP; 60]), None);
}

/// A round also begins in a smaller window: the train counts from its beginning, and one that began
/// more than 2 ms before the window has 16 segments is no train.
#[test]
fn below_sixteen_segments_it_does_not_look_but_the_round_has_begun() {
    let (mut control, mut window) = start(4, false);
    let gap = Duration::from_millis(1);
    let ended = round(&mut control, &mut window, Instant::ZERO, gap, [ROUND_TRIP; 60]);
    assert_eq!(ended, None);
    let (mut control, mut window) = start(4, false);
    let gap = Duration::from_micros(100);
    let ended = round(&mut control, &mut window, Instant::ZERO, gap, [ROUND_TRIP; 300]);
    // The 207th comes after 20.6 ms.
    assert_eq!(ended, Some(207));
}

/// Slow start ends where Linux 6.12 ended it: the same acknowledgements give the same windows,
/// one by one.
#[test]
fn slow_start_ends_with_the_same_acknowledgement_as_in_linux() {
    let trace = include_str!("../../../tests/data/slow-start-linux-6.12.txt");
    let (mut control, mut window) = start(10, false);
    let (mut compared, mut ended) = (0, 0);
    let mut before = 0;
    for line in trace.lines() {
        if line.starts_with('#') {
            (control, window) = start(10, false);
            before = 0;
            continue;
        }
        let fields: Vec<u64> =
            line.split(' ').map(|field| field.parse().expect("is a number")).collect();
        let &[micros, acknowledged, next, segments, round_trip, limited, size, threshold] =
            &fields[..]
        else {
            panic!("not eight fields: {line}");
        };
        assert_eq!(u64::from(window.size), size, "{line}");
        assert_eq!(window.threshold != u32::MAX, threshold != 0, "{line}");
        assert!(threshold == 0 || u64::from(window.threshold) == threshold, "{line}");
        compared += 1;
        ended += u32::from(before == 0 && threshold != 0);
        before = threshold;
        let segments = u32::try_from(segments).expect("is small");
        let ack = Acknowledgement {
            acknowledged,
            next,
            is_limited: limited != 0,
            ..ack(segments, Duration::from_micros(round_trip))
        };
        let now = Instant::ZERO + Duration::from_micros(micros);
        control.handle_acknowledgement(now, &ack, &mut window);
    }
    assert_eq!((compared, ended), (180, 4));
}

/// The limit of the rise is an eighth of the smallest round-trip time, between 4
/// and 16 ms; the ninth sample decides.
#[test]
fn a_rise_of_the_round_trip_ends_slow_start_at_the_ninth_sample() {
    let gap = Duration::from_millis(3);
    for (base, rise, is_end) in [
        (16, 5, true),
        (16, 4, false),
        (80, 11, true),
        (80, 10, false),
        (400, 17, true),
        (400, 16, false),
    ] {
        let (mut control, mut window) = start(100, false);
        let base = Duration::from_millis(base);
        round(&mut control, &mut window, Instant::ZERO, gap, [base; 4]);
        let second = Instant::ZERO + Duration::from_secs(1);
        let risen = base + Duration::from_millis(rise);
        let ended = round(&mut control, &mut window, second, gap, [risen; 30]);
        assert_eq!(ended, is_end.then_some(9), "{base} + {rise} ms");
    }
}

/// HyStart works again after a timeout.
#[test]
fn a_timeout_starts_it_afresh() {
    let (mut control, mut window) = start(100, false);
    let gap = Duration::from_millis(1);
    assert!(round(&mut control, &mut window, Instant::ZERO, gap, [ROUND_TRIP; 60]).is_some());
    control.handle_timeout(Instant::from_nanos(1));
    window = Window { size: 100, fraction: 0, threshold: u32::MAX };
    let later = Instant::ZERO + Duration::from_secs(5);
    assert_eq!(round(&mut control, &mut window, later, gap, [ROUND_TRIP; 60]), Some(22));
}
