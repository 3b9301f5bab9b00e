//! Tests of BBR v3: sequences of states and bounds, derived by hand from the pseudocode of
//! draft-ietf-ccwg-bbr. A round of segments leaves together and is acknowledged together, so that
//! each acknowledgement begins a round. The round trip has 2^15 microseconds: bandwidths of whole
//! segments a round have no remainder, and are given as segments a round.

mod losses;

use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

use super::output::{DOWN_GAIN, DRAIN_GAIN, STARTUP_GAIN, UP_GAIN};
use super::{Bbr3, NONE, Now, Stage, UNIT};
use crate::congestion::{Control, Model, Window};
use crate::delivery_rate::{Loss, RateSample};
use crate::{Config, CongestionControlKind, State};

const ROUND: u64 = 1 << 15;
const SECOND: u64 = 1_000_000;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// A control beside the counts that a sender keeps.
struct Trace {
    bbr: Bbr3,
    window: Window,
    micros: u64,
    /// Segments in flight after an acknowledgement.
    in_flight: u32,
    state: State,
    round_trip: u64,
    is_application_limited: bool,
}

impl Trace {
    fn with(config: &Config) -> Self {
        let mut bbr = Bbr3::new(config);
        let mut window = Window { size: 10, fraction: 0, threshold: 20 };
        bbr.open(at(ROUND), Some(Duration::from_micros(ROUND)), &mut window);
        Self {
            bbr,
            window,
            micros: ROUND,
            in_flight: 100_000,
            state: State::Open,
            round_trip: ROUND,
            is_application_limited: false,
        }
    }

    fn seeded(seed: u64) -> Self {
        let congestion_control = CongestionControlKind::Bbr3;
        Self::with(&Config { congestion_control, seed, ..Config::default() })
    }

    fn new() -> Self {
        Self::seeded(1)
    }

    /// A flow whose pipe is full at `segments` a round, in `Down`.
    fn full(segments: u32) -> Self {
        Self::new().fill(segments)
    }

    fn fill(mut self, segments: u32) -> Self {
        for sent in [10, 20] {
            self.round(sent);
        }
        self.reach(Stage::Drain, segments);
        self.reach(Stage::Down, segments);
        self
    }

    /// Continues with rounds of `segments` until `stage` begins.
    fn reach(&mut self, stage: Stage, segments: u32) {
        for _ in 0..200 {
            if self.bbr.stage == stage {
                return;
            }
            self.round(segments);
        }
        panic!("not {stage:?} but {:?}", self.bbr.stage);
    }

    fn now(&self) -> Now {
        let now = at(self.micros);
        let smoothed = Some(Duration::from_micros(ROUND));
        Now { now, departure: now, in_flight: self.in_flight, state: self.state, smoothed }
    }

    /// A round trip of `segments`, acknowledged together.
    fn round(&mut self, segments: u32) {
        self.lossy_round(segments, &[]);
    }

    /// A round trip of `segments` that are acknowledged together, and show `losses`.
    fn lossy_round(&mut self, segments: u32, losses: &[Loss]) {
        self.micros += self.round_trip;
        let prior_delivered = self.bbr.rates.delivered();
        self.acknowledge(segments, prior_delivered, losses);
    }

    /// An acknowledgement of `segments`, sent when `prior_delivered` had been delivered.
    fn acknowledge(&mut self, segments: u32, prior_delivered: u64, losses: &[Loss]) {
        self.bbr.rates.count_delivered(at(self.micros), segments);
        for loss in losses {
            self.bbr.handle_loss(at(self.micros), loss, &self.window);
        }
        let lost = losses.len() as u32;
        let sample = RateSample {
            delivered: Some(self.bbr.rates.delivered() - prior_delivered),
            interval_micros: Some(self.round_trip),
            prior_delivered,
            is_application_limited: self.is_application_limited,
            acknowledged: segments,
            lost,
            prior_in_flight: segments + lost,
            sent_in_flight: segments + lost,
            lost_since: lost,
            round_trip: Some(Duration::from_micros(self.round_trip)),
            is_delayed: false,
        };
        self.bbr.control(&self.now(), &sample, &mut self.window);
    }

    /// Segments a round, of a bandwidth.
    fn per_round(bandwidth: u32) -> f64 {
        f64::from(bandwidth) * ROUND as f64 / f64::from(1 << 24)
    }
}

/// Losses of every `step`-th segment of a flight of `in_flight`, up to the `count`-th.
fn losses(in_flight: u32, count: u32, step: u64) -> Vec<Loss> {
    (1..=count)
        .map(|index| {
            let start = 1_448 * step * u64::from(index);
            Loss {
                start: Some(start),
                end: start + 1_448,
                sent_in_flight: in_flight,
                lost_since: index,
                is_application_limited: false,
            }
        })
        .collect()
}

/// 5.3.1.2: rounds of 10, 20, 40 and 80 segments double the bandwidth. 80 and 99 are two rounds
/// without 25 % more than 80, 100 is 25 % more and begins anew; three rounds later the pipe is
/// full.
#[test]
fn startup_ends_with_the_third_round_without_a_quarter_more() {
    let mut trace = Trace::new();
    for sent in [10, 20, 40, 80, 80, 99, 100, 124, 100] {
        trace.round(sent);
        assert_eq!((trace.bbr.stage, trace.bbr.is_pipe_full), (Stage::Startup, false), "{sent}");
        assert_eq!(trace.bbr.pacing_gain, STARTUP_GAIN);
    }
    // The initial 10, and a segment for each acknowledged while the window is below twice the
    // product and the aggregation of the last two rounds. It is not in the rounds of 100: 339 and
    // 200 + 100, 463 and 248 + 124.
    assert_eq!(trace.window.size, 10 + 10 + 20 + 40 + 80 + 80 + 99 + 124);
    trace.round(124);
    assert_eq!((trace.bbr.stage, trace.bbr.is_pipe_full), (Stage::Drain, true));
    assert_eq!(trace.bbr.pacing_gain, DRAIN_GAIN);
    // Half of 124 segments a round, less 1 %: 1448 * 62 / 32 768 us * 0.99.
    let rate = trace.bbr.pacing_rate().as_bps() as f64 / 8.0;
    assert!((rate - 1_448.0 * 62.0 / 32_768e-6 * 0.99).abs() < 10.0, "{rate}");
}

/// 5.3.1.2: rounds that the application limits do not count, however many.
#[test]
fn an_application_that_writes_little_stays_in_startup() {
    let mut trace = Trace::new();
    trace.round(40);
    trace.is_application_limited = true;
    for _ in 0..30 {
        trace.round(40);
    }
    assert_eq!(trace.bbr.stage, Stage::Startup);
}

/// 5.6.2, InitPacingRate: 10 segments of 1448 bytes in 32 768 us times 710 / 256, without the
/// margin.
#[test]
fn the_first_rate_is_the_initial_window_in_a_round_trip() {
    let trace = Trace::new();
    assert_eq!(trace.bbr.pacing_rate().as_bps() / 8, 14_480 * 2_773_437 / 32_768);
}

/// 5.3.2: `Drain` lasts while more than the product is in flight, at most until more than three
/// rounds have passed. With no bound, `Down` needs no longer to have the product in flight.
#[test]
fn drain_ends_at_the_product_or_after_three_full_rounds() {
    let drain = || {
        let mut trace = Trace::new();
        for sent in [10, 20, 40, 80, 80, 80, 80] {
            trace.round(sent);
        }
        assert_eq!(trace.bbr.stage, Stage::Drain);
        trace
    };
    let mut trace = drain();
    trace.in_flight = 81;
    trace.round(80);
    assert_eq!(trace.bbr.stage, Stage::Drain);
    trace.in_flight = 80;
    trace.round(80);
    assert_eq!(trace.bbr.stage, Stage::Cruise);
    let mut trace = drain();
    for _ in 0..3 {
        trace.round(80);
        assert_eq!(trace.bbr.stage, Stage::Drain);
    }
    trace.round(80);
    assert_eq!((trace.bbr.stage, trace.bbr.pacing_gain), (Stage::Down, DOWN_GAIN));
}

/// 5.3.3: with 20 segments as the product, `Down` until they are in flight, `Cruise` until 20
/// rounds have passed since `Down` began, or 19 if the draw of 0 or 1 is 1, `Refill` for a round,
/// `Up` for three rounds without growth.
#[test]
fn a_cycle_of_a_small_product_lasts_as_many_rounds_as_it_has_segments() {
    let mut draws = [false; 2];
    for seed in 0..8 {
        let mut trace = Trace::seeded(seed).fill(20);
        let draw = trace.bbr.rounds_since_probe;
        draws[draw as usize] = true;
        let mut stages = Vec::new();
        for round in 0..30 {
            trace.in_flight = if round < 3 { 21 } else { 20 };
            trace.round(20);
            stages.push(trace.bbr.stage);
        }
        let cruise = 20 - draw as usize - 4;
        let expected = [
            (Stage::Down, 3),
            (Stage::Cruise, cruise),
            (Stage::Refill, 1),
            (Stage::Up, 3),
            (Stage::Down, 1),
        ];
        let expected: Vec<Stage> = expected
            .into_iter()
            .flat_map(|(stage, rounds)| core::iter::repeat_n(stage, rounds))
            .collect();
        assert_eq!(stages[..expected.len()], expected, "{seed}");
    }
    assert_eq!(draws, [true; 2]);
}

/// 5.3.3.8.2: min(product, 62 or 63) rounds, or a time drawn from 2 to 3 s. 63 rounds of 32.768 ms
/// are 2.06 s; with a round trip of 100 ms the time comes first.
#[test]
fn a_large_product_waits_for_two_to_three_seconds_or_63_rounds() {
    let (mut least, mut most, mut by_rounds) = (u64::MAX, 0, 0);
    for seed in 0..40 {
        let mut trace = Trace::seeded(seed).fill(100);
        let (began, rounds) = (trace.micros, trace.bbr.rounds);
        trace.in_flight = 100;
        trace.reach(Stage::Refill, 100);
        let waited = trace.micros - began;
        let rounds = trace.bbr.rounds - rounds;
        let draw = u32::from(trace.bbr.rounds_since_probe != rounds);
        assert!(waited >= 2 * SECOND - ROUND, "{waited}");
        assert!(rounds <= 63 - draw);
        by_rounds += u32::from(rounds == 63 - draw);

        let mut trace = Trace::seeded(seed).fill(100);
        let began = trace.micros;
        trace.round_trip = 100_000;
        trace.in_flight = 100;
        // 305 segments in 100 ms are 100 in 32.768 ms.
        trace.reach(Stage::Refill, 305);
        least = least.min(trace.micros - began);
        most = most.max(trace.micros - began);
    }
    assert!(by_rounds > 30, "{by_rounds}");
    assert!((2 * SECOND..2_200_000).contains(&least), "{least}");
    assert!((2_900_000..3_100_000).contains(&most), "{most}");
}

/// 5.3.3.5: the long-term bound of a flow that uses it up grows by 1, 2, 4, 8 and 16 segments in
/// successive rounds, and not in a round in which the window was not used up.
#[test]
fn the_long_term_bound_grows_by_twice_as_much_each_round() {
    let mut trace = Trace::full(1_000);
    trace.bbr.long = 1_100;
    trace.reach(Stage::Up, 1_000);
    assert_eq!(trace.bbr.pacing_gain, UP_GAIN);
    for growth in [1, 2, 4, 8, 16] {
        assert_eq!(trace.window.size, trace.bbr.long);
        let before = trace.bbr.long;
        trace.bbr.handle_full_window();
        // The bound rises by one for each 1/2^n of the window at the start of the round.
        let window = trace.bbr.up_each * growth;
        trace.round(window);
        assert_eq!(trace.bbr.long - before, growth);
        // The window follows, and the path is not full.
        trace.acknowledge(1, trace.bbr.round_end - 999, &[]);
        assert_eq!(trace.bbr.long - before, growth);
    }
    let before = trace.bbr.long;
    trace.bbr.is_limited = [false; 2];
    trace.round(1_000);
    assert_eq!((trace.bbr.stage, trace.bbr.long), (Stage::Up, before));
}

/// 5.3.3.7: while the bound and not the path stops the flow, the search for a full pipe begins
/// anew.
#[test]
fn up_continues_while_the_bound_stops_the_flow() {
    let mut trace = Trace::full(100);
    trace.bbr.long = 120;
    trace.reach(Stage::Up, 100);
    for _ in 0..4 {
        trace.bbr.handle_full_window();
        trace.round(99);
        // An acknowledgement that raises the bound finds the window below it. This one does not.
        trace.acknowledge(1, trace.bbr.round_end - 99, &[]);
        assert_eq!(trace.bbr.stage, Stage::Up);
    }
    trace.bbr.is_limited = [false; 2];
    for _ in 0..2 {
        trace.round(100);
        assert_eq!(trace.bbr.stage, Stage::Up);
    }
    trace.round(100);
    assert_eq!(trace.bbr.stage, Stage::Down);
}

/// 5.3.3.1 and 5.6.4.7: with a bound of 100, `Down` lasts until 85 segments are in flight, which
/// bound the window of `Cruise`.
#[test]
fn cruise_leaves_headroom() {
    let mut trace = Trace::full(100);
    trace.bbr.long = 100;
    trace.in_flight = 86;
    trace.round(100);
    assert_eq!((trace.bbr.stage, trace.window.size), (Stage::Down, 100));
    trace.in_flight = 85;
    trace.round(85);
    // The sample of 100 in flight confirms the bound.
    assert_eq!((trace.bbr.stage, trace.window.size), (Stage::Cruise, 85));
}

/// 5.6.4.2 and 5.5.9: twice the product of 100 segments, 2.25 times and two segments in `Up`, and
/// the 100 segments that are acknowledged at once.
#[test]
fn the_window_is_the_product_with_gain_and_aggregation() {
    let mut trace = Trace::full(100);
    for _ in 0..4 {
        trace.round(100);
    }
    assert_eq!(trace.window.size, 2 * 100 + 100);
    trace.reach(Stage::Up, 100);
    trace.round(100);
    assert_eq!(trace.window.size, 225 + 100 + 2);
}

/// 5.3.4: after five seconds without a lower sample, half the product until it is in flight, then
/// for 200 ms and a round; then `Cruise`, with the window of before. The next is five seconds
/// later.
#[test]
fn the_round_trip_is_probed_for_200_ms_every_five_seconds() {
    let mut trace = Trace::full(100);
    trace.in_flight = 100;
    let mut probes = Vec::new();
    for _ in 0..2 {
        trace.reach(Stage::ProbeRoundTrip, 100);
        probes.push(trace.micros);
        let before = trace.bbr.window_before;
        assert_eq!((trace.window.size, trace.bbr.pacing_gain), (50, UNIT));
        for in_flight in [100, 51] {
            trace.in_flight = in_flight;
            trace.round(50);
            assert_eq!(trace.bbr.probe_end, None);
        }
        trace.in_flight = 50;
        trace.round(50);
        let began = trace.micros;
        while trace.bbr.stage == Stage::ProbeRoundTrip {
            assert_eq!(trace.window.size, 50);
            trace.round(50);
        }
        // The first acknowledgement after more than 200 ms: seven rounds are 229 ms.
        assert_eq!(trace.micros - began, 7 * ROUND);
        assert_eq!(trace.bbr.stage, Stage::Cruise);
        assert_eq!(trace.window.size, before.min(300));
        trace.in_flight = 100;
    }
    // The samples equal the first, at the opening: no lower one, so it expires after 5 s. 153
    // rounds are 5.01 s, and the probe lasts for 3 rounds before its 7.
    assert_eq!(probes[0], ROUND + 153 * ROUND);
    assert_eq!(probes[1] - probes[0], (3 + 7 + 153) * ROUND);
}

/// 5.3.4.4: before the pipe was full, `Startup` goes on. 5.4.1: a flow that restarts from idle does
/// not probe, and paces at the bandwidth itself.
#[test]
fn a_probe_returns_to_startup_and_an_idle_flow_needs_none() {
    let mut trace = Trace::new();
    trace.is_application_limited = true;
    trace.in_flight = 1;
    trace.reach(Stage::ProbeRoundTrip, 10);
    while trace.bbr.stage == Stage::ProbeRoundTrip {
        trace.round(10);
    }
    assert_eq!((trace.bbr.stage, trace.bbr.pacing_gain), (Stage::Startup, STARTUP_GAIN));

    let mut trace = Trace::full(100);
    trace.micros += 6 * SECOND;
    trace.bbr.rates.limit(0);
    trace.in_flight = 0;
    let now = trace.now();
    trace.bbr.handle_start(&now, &mut trace.window);
    let rate = trace.bbr.pacing_rate().as_bps() as f64 / 8.0;
    assert!((rate - 1_448.0 * 100.0 / 32_768e-6 * 0.99).abs() < 10.0, "{rate}");
    trace.in_flight = 100;
    trace.round(100);
    assert_ne!(trace.bbr.stage, Stage::ProbeRoundTrip);
    // The idle time is an attempt to drain: the sample after it renews the minimum.
    assert_eq!(trace.bbr.probe_minimum_at, at(trace.micros));
}

/// 5.3.4.3 and 5.5.7: the path becomes longer. The minimum stays until it is more than ten seconds
/// old, and then becomes that of the last five seconds.
#[test]
fn the_minimum_of_ten_seconds_outlives_that_of_five() {
    let mut trace = Trace::full(100);
    trace.in_flight = 10;
    trace.round_trip = 2 * ROUND;
    let mut changed = None;
    for _ in 0..400 {
        trace.round(200);
        if changed.is_none() && trace.bbr.minimum != Some(ROUND) {
            changed = Some(trace.micros);
        }
        if trace.micros > 6 * SECOND {
            assert_eq!(trace.bbr.probe_minimum, Some(2 * ROUND));
        }
    }
    let expired = ROUND + 10 * SECOND;
    let changed = changed.unwrap();
    assert!((expired + 1..=expired + 2 * ROUND).contains(&changed), "{changed}");
    assert_eq!(trace.bbr.minimum, Some(2 * ROUND));
}

/// 5.3.4.3: samples equal to the minimum do not renew it. After ten seconds it takes that of five
/// seconds, with its age.
#[test]
fn an_equal_sample_does_not_renew_the_minimum() {
    let mut trace = Trace::full(100);
    trace.in_flight = 10;
    while trace.micros + ROUND <= ROUND + 10 * SECOND {
        trace.round(100);
        assert_eq!(trace.bbr.minimum_at, at(ROUND));
    }
    assert!(trace.bbr.probe_minimum_at > at(5 * SECOND));
    trace.round(100);
    assert_eq!(trace.bbr.minimum_at, trace.bbr.probe_minimum_at);
}

/// 5.3.4: the probe lasts for a round, too, if that is longer than 200 ms.
#[test]
fn the_probe_lasts_for_a_round() {
    let mut trace = Trace::full(100);
    trace.reach(Stage::ProbeRoundTrip, 100);
    trace.in_flight = 50;
    trace.round(50);
    for _ in 0..10 {
        trace.micros += 50_000;
        trace.acknowledge(1, trace.bbr.round_end - 1, &[]);
        assert_eq!(trace.bbr.stage, Stage::ProbeRoundTrip);
    }
    trace.round(50);
    assert_eq!(trace.bbr.stage, Stage::Cruise);
}

/// 5.5.9: in `Startup` the aggregation is that of the last rounds, here 10 segments after 100;
/// later that of ten rounds.
#[test]
fn aggregation_is_forgotten_sooner_in_startup() {
    let mut trace = Trace::new();
    trace.round(100);
    trace.window.size = 200;
    trace.round(100);
    assert_eq!(trace.bbr.excess.value(), 100);
    trace.is_application_limited = true;
    for _ in 0..3 {
        trace.round(10);
    }
    assert_eq!((trace.bbr.stage, trace.bbr.excess.value()), (Stage::Startup, 10));

    let mut trace = Trace::full(100);
    trace.is_application_limited = true;
    for _ in 0..10 {
        trace.round(10);
        assert_eq!(trace.bbr.excess.value(), 100);
    }
    trace.round(10);
    assert!(trace.bbr.excess.value() <= 10);
}

/// 5.6.2: the rate does not fall before the pipe is full. 5.6.4.6: the window grows before the
/// initial 10 segments are delivered, above its target of 6 and the aggregation.
#[test]
fn small_samples_reduce_nothing_at_first() {
    let mut trace = Trace::new();
    let rate = trace.bbr.pacing_rate();
    trace.window.size = 50;
    trace.round(9);
    assert_eq!((trace.window.size, trace.bbr.pacing_rate()), (59, rate));
    trace.round(1);
    assert_eq!((trace.window.size, trace.bbr.pacing_rate()), (59, rate));
}

/// 5.5.6: the path loses half of its bandwidth in `Cruise`. The maximum covers the present cycle
/// and the last: it is the old one until a round after the second `Up`.
#[test]
fn the_maximum_is_that_of_two_cycles() {
    let mut trace = Trace::full(40);
    trace.in_flight = 20;
    trace.reach(Stage::Cruise, 40);
    let mut cycles = 0;
    for _ in 0..4 {
        trace.reach(Stage::Up, 20);
        trace.reach(Stage::Down, 20);
        cycles += 1;
        trace.round(20);
        let maximum = Trace::per_round(trace.bbr.maximum());
        assert_eq!(maximum, if cycles < 2 { 40.0 } else { 20.0 }, "{cycles}");
    }
}

/// 5.5.5: samples that the application limits count only if they are larger.
#[test]
fn limited_samples_do_not_lower_the_maximum() {
    let mut trace = Trace::full(40);
    trace.is_application_limited = true;
    trace.in_flight = 10;
    for _ in 0..2_000 {
        trace.round(10);
    }
    assert_eq!(Trace::per_round(trace.bbr.maximum()), 40.0);
    trace.round(50);
    assert_eq!(Trace::per_round(trace.bbr.maximum()), 50.0);
}

/// 5.6.4.3: four segments, at least, with a product of less than one. 5.5.8.1: three buffers of two
/// segments are six.
#[test]
fn the_least_window_keeps_the_path_busy() {
    let mut trace = Trace::new();
    for _ in 0..8 {
        trace.round(1);
    }
    trace.in_flight = 1;
    for _ in 0..20 {
        trace.round(1);
    }
    assert!(trace.bbr.is_pipe_full);
    assert_eq!(trace.window.size, 6);
    trace.bbr.short = 1;
    trace.bbr.stage = Stage::Cruise;
    trace.round(1);
    assert!(trace.window.size >= 4);
}
