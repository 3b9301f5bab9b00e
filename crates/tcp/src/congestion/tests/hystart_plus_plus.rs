//! Tests of HyStart++ (RFC 9406): the start of Conservative Slow Start, its growth,
//! its end after five rounds, and the return to slow start. Limits in ms are those
//! of section 4.3.

use lasthop_units::{Duration, Instant};

use crate::HyStart;
use crate::congestion::hystart_plus_plus::HystartPlusPlusState;
use crate::congestion::{Acknowledgement, Control, Cubic, Window};

/// Drives [`HystartPlusPlusState`] in rounds: each consists of acknowledgements of one segment
/// with the same round-trip time.
struct Rounds {
    state: HystartPlusPlusState,
    window: Window,
    acknowledged: u64,
}

impl Rounds {
    fn new() -> Self {
        Self {
            state: HystartPlusPlusState::new(false),
            window: Window { size: 100, fraction: 0, threshold: u32::MAX },
            acknowledged: 0,
        }
    }

    fn round(&mut self, millis: u64, acks: u32) {
        let next = self.acknowledged + 1_000;
        for _ in 0..acks {
            let ack = Acknowledgement {
                acknowledged: self.acknowledged + 1,
                next,
                ..super::ack(1, Duration::from_millis(millis))
            };
            self.state.handle_acknowledgement(&ack, &mut self.window);
        }
        self.acknowledged = next;
    }
}

/// RttThresh = max(4 ms, min(lastRoundMinRTT / 8, 16 ms)), met or exceeded.
#[test]
fn a_rise_begins_conservative_slow_start() {
    for (base, rise, is_conservative) in [
        (16, 4, true),
        (16, 3, false),
        (80, 10, true),
        (80, 9, false),
        (400, 16, true),
        (400, 15, false),
    ] {
        let mut rounds = Rounds::new();
        rounds.round(base, 8);
        rounds.round(base + rise, 8);
        assert_eq!(rounds.state.is_conservative(), is_conservative, "{base} + {rise} ms");
    }
}

#[test]
fn seven_samples_are_too_few() {
    let mut rounds = Rounds::new();
    rounds.round(40, 8);
    rounds.round(80, 7);
    assert!(!rounds.state.is_conservative());
}

#[test]
fn conservative_growth_is_a_quarter() {
    let mut rounds = Rounds::new();
    assert_eq!(rounds.state.growth(4), 4);
    rounds.round(40, 8);
    rounds.round(80, 8);
    let growth: u32 = (0..40).map(|_| rounds.state.growth(1)).sum();
    assert_eq!(growth, 10);
}

#[test]
fn unpaced_an_acknowledgement_counts_for_eight_segments_at_most() {
    assert_eq!(HystartPlusPlusState::new(false).growth(30), 8);
    assert_eq!(HystartPlusPlusState::new(true).growth(30), 30);
}

/// The round in which Conservative Slow Start begins is the first of the five.
#[test]
fn five_rounds_later_slow_start_is_over() {
    let mut rounds = Rounds::new();
    rounds.round(40, 8);
    for _ in 0..5 {
        rounds.round(80, 8);
        assert!(rounds.window.is_slow_start());
    }
    rounds.round(80, 1);
    assert_eq!(rounds.window.threshold, 100);
}

#[test]
fn a_fall_below_the_baseline_resumes_slow_start() {
    let mut rounds = Rounds::new();
    rounds.round(40, 8);
    rounds.round(80, 8);
    rounds.round(79, 8);
    assert!(!rounds.state.is_conservative());
    // It can begin again.
    rounds.round(120, 8);
    assert!(rounds.state.is_conservative());
}

/// Section 4.3: applies to the first slow start only.
#[test]
fn after_a_loss_slow_start_is_the_standard_one() {
    let mut control = Cubic::new(HyStart::PlusPlus, false);
    let mut window = Window { size: 100, fraction: 0, threshold: u32::MAX };
    window.threshold = control.threshold_after_loss(Instant::ZERO, &window);
    window.size = 1;
    let mut acknowledged = 0;
    for (millis, acks) in [(40, 10), (400, 10)] {
        for _ in 0..acks {
            let ack = Acknowledgement {
                acknowledged: acknowledged + 1,
                next: acknowledged + 1_000,
                ..super::ack(1, Duration::from_millis(millis))
            };
            control.handle_acknowledgement(Instant::ZERO, &ack, &mut window);
        }
        acknowledged += 1_000;
    }
    assert_eq!((window.size, window.threshold), (21, 70));
}
