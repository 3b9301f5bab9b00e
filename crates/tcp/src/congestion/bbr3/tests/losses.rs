//! Tests of the reaction to losses: 5.3.1.3, 5.5.10 and 5.5.11 of the draft.

use super::*;

/// A trace in `Startup` and recovery at 100 segments a round, `count` segments lost, each
/// `step`-th.
fn startup_with_losses(count: u32, step: u64, state: State) -> Trace {
    let mut trace = Trace::new();
    for sent in [25, 50, 100] {
        trace.round(sent);
    }
    trace.state = state;
    trace.bbr.threshold_after_loss(at(trace.micros), &trace.window);
    // The first round shows the losses, the second is the round of recovery at whose end they
    // count.
    trace.lossy_round(100, &losses(100, count, step));
    assert_eq!(trace.bbr.stage, Stage::Startup);
    trace.micros += ROUND;
    let prior_delivered = trace.bbr.rates.delivered();
    trace.bbr.rates.count_delivered(at(trace.micros), 110);
    let sample = RateSample {
        delivered: Some(110),
        interval_micros: Some(ROUND),
        prior_delivered,
        acknowledged: 110,
        sent_in_flight: 100,
        lost_since: count,
        ..RateSample::default()
    };
    trace.bbr.control(&trace.now(), &sample, &mut trace.window);
    trace
}

/// 5.3.1.3: six ranges, more than 2 %, a round of recovery; the bound is the larger of the product,
/// 100 segments a round as of the last acknowledgement, and the 110 delivered.
#[test]
fn startup_ends_by_six_ranges_of_losses() {
    let trace = startup_with_losses(6, 2, State::Recovery);
    assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Drain, 110));
    assert!(trace.bbr.is_pipe_full);
    for (count, step, state) in [
        (5, 2, State::Recovery),
        // One range.
        (6, 1, State::Recovery),
        (20, 1, State::Recovery),
        (6, 2, State::Loss),
        (6, 2, State::Disorder),
    ] {
        let trace = startup_with_losses(count, step, state);
        assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Startup, NONE), "{count} {step}");
    }
}

/// LossThresh: six of 300 are not more than 2 %.
#[test]
fn startup_continues_at_two_percent() {
    for (in_flight, stage) in [(300, Stage::Startup), (299, Stage::Drain)] {
        let mut trace = Trace::new();
        trace.round(300);
        trace.state = State::Recovery;
        trace.lossy_round(in_flight - 6, &losses(in_flight, 6, 2));
        let is_lossy = trace.bbr.is_too_high(6, in_flight);
        assert_eq!(is_lossy, stage == Stage::Drain);
        trace.micros += ROUND;
        let prior_delivered = trace.bbr.rates.delivered();
        trace.bbr.rates.count_delivered(at(trace.micros), 300);
        let sample = RateSample {
            delivered: Some(300),
            interval_micros: Some(ROUND),
            prior_delivered,
            acknowledged: 300,
            sent_in_flight: in_flight,
            lost_since: 6,
            ..RateSample::default()
        };
        trace.bbr.control(&trace.now(), &sample, &mut trace.window);
        assert_eq!(trace.bbr.stage, stage);
    }
}

/// Without SACK any loss in recovery ends `Startup`.
#[test]
fn without_sack_one_loss_ends_startup() {
    for (sack, stage) in [(false, Stage::Drain), (true, Stage::Startup)] {
        let congestion_control = CongestionControlKind::Bbr3;
        let mut trace = Trace::with(&Config { congestion_control, sack, ..Config::default() });
        trace.round(10);
        trace.state = State::Recovery;
        trace.lossy_round(19, &losses(1_000, 1, 1));
        assert_eq!(trace.bbr.stage, stage);
    }
}

/// 5.6.2: a loss that ends `Startup` before a sample of the bandwidth leaves the initial rate.
#[test]
fn without_a_bandwidth_the_initial_rate_remains() {
    let congestion_control = CongestionControlKind::Bbr3;
    let mut trace = Trace::with(&Config { congestion_control, sack: false, ..Config::default() });
    let rate = trace.bbr.pacing_rate();
    trace.state = State::Recovery;
    let sample = RateSample { acknowledged: 1, lost: 1, ..RateSample::default() };
    trace.bbr.control(&trace.now(), &sample, &mut trace.window);
    assert_eq!((trace.bbr.stage, trace.bbr.bandwidth), (Stage::Drain, 0));
    assert_eq!(trace.bbr.pacing_rate(), rate);
}

/// 5.5.10.2: losses of 3 of 100 sent in `Up` end it. 2 % are passed with the third: 99 were in
/// flight before it, of which 2 were lost, (1.98 - 2) / 0.98 of it is less than none. The bound is
/// not below seven tenths of the product.
#[test]
fn losses_above_two_percent_end_up_and_set_the_bound() {
    for (segments, in_flight, expected) in [(100, 100, 99), (100, 60, 70)] {
        let mut trace = Trace::full(segments);
        trace.reach(Stage::Up, segments);
        trace.lossy_round(segments, &losses(in_flight, 3, 2));
        assert_eq!(trace.bbr.stage, Stage::Down);
        assert!(trace.bbr.was_too_high);
        // The sample of what was sent before them shows as many delivered; it does not raise the
        // bound, because it has 3 losses of 103.
        assert_eq!(trace.bbr.long, expected);
    }
    // 2 of 100 are not above.
    let mut trace = Trace::full(100);
    trace.reach(Stage::Up, 100);
    trace.lossy_round(100, &losses(100, 2, 2));
    assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Up, NONE));
}

/// IsInflightTooHigh: without SACK one loss of a thousand is too much.
#[test]
fn without_sack_one_loss_ends_up() {
    for (sack, stage) in [(false, Stage::Down), (true, Stage::Up)] {
        let congestion_control = CongestionControlKind::Bbr3;
        let config = Config { congestion_control, sack, ..Config::default() };
        let mut trace = Trace::with(&config).fill(100);
        trace.reach(Stage::Up, 100);
        trace.lossy_round(100, &losses(1_000, 1, 1));
        assert_eq!(trace.bbr.stage, stage);
    }
}

/// 5.5.10.2, lost_prefix by hand: 59 before, 1 lost, (1.18 - 1) / 0.98 = 0.18; 149 before, 0 lost,
/// and a burst would be 2.98 / 0.98 = 3.04.
#[test]
fn the_bound_is_what_was_in_flight_when_losses_passed_two_percent() {
    let at_loss = |sent_in_flight, lost_since| {
        let loss =
            Loss { start: None, end: 1, sent_in_flight, lost_since, is_application_limited: false };
        super::super::losses::in_flight_at_loss(&loss)
    };
    assert_eq!(at_loss(60, 2), 59);
    assert_eq!(at_loss(150, 1), 149 + 3);
    assert_eq!(at_loss(100, 3), 99);
}

/// Losses of samples that the application limits end `Up` and leave the bound.
#[test]
fn limited_losses_leave_the_bound() {
    let mut trace = Trace::full(100);
    trace.reach(Stage::Up, 100);
    let limited: Vec<Loss> = losses(100, 3, 2)
        .into_iter()
        .map(|loss| Loss { is_application_limited: true, ..loss })
        .collect();
    trace.lossy_round(100, &limited);
    assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Down, NONE));
}

/// 5.3.3.6: after losses the next `Up` ends when the bound is in flight; a round later, without
/// losses, `Refill` follows at once, and the next `Up` stays at the bound.
#[test]
fn the_probe_after_losses_is_careful() {
    let mut trace = Trace::full(100);
    trace.reach(Stage::Up, 100);
    trace.lossy_round(100, &losses(100, 3, 2));
    assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Down, 99));
    trace.in_flight = 80;
    trace.reach(Stage::Up, 99);
    trace.in_flight = 98;
    trace.round(99);
    assert_eq!(trace.bbr.stage, Stage::Up);
    trace.in_flight = 99;
    let mut stages = Vec::new();
    for _ in 0..5 {
        trace.round(99);
        trace.bbr.handle_full_window();
        stages.push(trace.bbr.stage);
    }
    let expected = [Stage::Down, Stage::Refill, Stage::Up, Stage::Up, Stage::Up];
    assert_eq!(stages, expected);
}

/// 5.5.10.3: a loss in `Cruise` at 100 segments a round, of which 60 are delivered in the round of
/// the loss: the bounds are the larger of that and of seven tenths, 70 segments a round; a second
/// lossy round leaves seven tenths of those, 49, or the 60. `Refill` lifts them.
#[test]
fn losses_outside_of_probes_lower_the_bounds_for_a_short_time() {
    let mut trace = Trace::full(100);
    trace.in_flight = 85;
    trace.reach(Stage::Cruise, 100);
    let window = trace.window.size;
    trace.lossy_round(100, &losses(100, 1, 1));
    assert_eq!((trace.bbr.bandwidth_short, trace.bbr.short), (NONE, NONE));
    // The end of the round of losses: its largest delivery is the 100 of its first sample.
    trace.round(60);
    assert_eq!(Trace::per_round(trace.bbr.bandwidth_short), 100.0);
    assert_eq!(trace.bbr.short, (window * 7 / 10).max(100));
    assert_eq!(trace.window.size, trace.bbr.short);
    trace.lossy_round(60, &losses(100, 1, 1));
    trace.round(60);
    let short = Trace::per_round(trace.bbr.bandwidth_short);
    assert!((69.9..=70.0).contains(&short), "{short}");
    trace.lossy_round(60, &losses(100, 1, 1));
    trace.round(60);
    assert_eq!(Trace::per_round(trace.bbr.bandwidth_short), 60.0);
    assert_eq!(Trace::per_round(trace.bbr.bandwidth), 60.0);
    // The pacing rate follows: 60 segments a round, less 1 %.
    let rate = trace.bbr.pacing_rate().as_bps() as f64 / 8.0;
    assert!((rate - 1_448.0 * 60.0 / 32_768e-6 * 0.99).abs() < 10.0, "{rate}");
    trace.reach(Stage::Refill, 60);
    assert_eq!((trace.bbr.bandwidth_short, trace.bbr.short), (NONE, NONE));
}

/// 5.5.11.2: `Startup` that losses ended goes on, without a bound; a `Startup` that a plateau ended
/// does not.
#[test]
fn a_spurious_recovery_continues_startup() {
    let mut trace = startup_with_losses(6, 2, State::Recovery);
    trace.bbr.handle_undo(&mut trace.window);
    assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Startup, NONE));
    trace.state = State::Open;
    trace.round(200);
    assert_eq!((trace.bbr.stage, trace.bbr.is_pipe_full), (Stage::Startup, false));

    let mut trace = Trace::new();
    for sent in [10, 20, 40, 40, 40] {
        trace.round(sent);
    }
    trace.state = State::Recovery;
    trace.bbr.threshold_after_loss(at(trace.micros), &trace.window);
    trace.lossy_round(40, &losses(100, 1, 1));
    assert_eq!(trace.bbr.stage, Stage::Drain);
    trace.bbr.handle_undo(&mut trace.window);
    assert_eq!((trace.bbr.stage, trace.bbr.is_pipe_full), (Stage::Drain, true));
}

/// 5.5.11.2: after an `Up` that losses ended `Refill` begins, with the bounds and the window of
/// before. More losses in the same acknowledgement change nothing.
#[test]
fn a_spurious_recovery_probes_again() {
    let mut trace = Trace::full(100);
    trace.reach(Stage::Up, 100);
    let window = trace.window.size;
    trace.state = State::Recovery;
    trace.bbr.threshold_after_loss(at(trace.micros), &trace.window);
    trace.lossy_round(100, &losses(100, 10, 2));
    assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Down, 99));
    trace.lossy_round(100, &losses(100, 10, 2));
    trace.bbr.handle_undo(&mut trace.window);
    assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Refill, NONE));
    assert!(trace.window.size >= window);
    // The state is restored once.
    trace.reach(Stage::Down, 100);
    trace.bbr.handle_undo(&mut trace.window);
    assert_eq!(trace.bbr.stage, Stage::Down);
}

/// 5.6.4.4: a timeout keeps the model; the end of the recovery restores the window of before.
#[test]
fn a_timeout_keeps_the_model() {
    let mut trace = Trace::full(100);
    trace.in_flight = 100;
    trace.reach(Stage::Cruise, 100);
    let (window, full) = (trace.window.size, trace.bbr.full_bandwidth);
    trace.bbr.threshold_after_loss(at(trace.micros), &trace.window);
    trace.bbr.handle_timeout_window(&trace.window);
    trace.bbr.handle_timeout(at(trace.micros));
    trace.window.size = 1;
    trace.state = State::Loss;
    trace.round(1);
    // One more for the segment acknowledged, at least four. A window of one segment has waited long
    // enough for a probe after a round (5.3.3.8.3).
    assert_eq!(trace.window.size, 4);
    assert_eq!((trace.bbr.stage, trace.bbr.full_bandwidth), (Stage::Refill, full));
    assert_eq!((trace.bbr.short, Trace::per_round(trace.bbr.maximum())), (NONE, 100.0));
    trace.state = State::Open;
    trace.round(4);
    assert_eq!((trace.bbr.stage, trace.window.size), (Stage::Up, window + 4));
}
