//! Tests of BBR: traces calculated by hand from the kernel's arithmetic (tcp_bbr.c). Segments of a
//! round leave together and are acknowledged together; a segment carries 1448 bytes,
//! and the minimum round-trip time is 40 ms.

use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

use super::{Bbr, CYCLE, Mode, Now};
use crate::congestion::{Control, Window};
use crate::delivery_rate::RateSample;
use crate::{Config, CongestionControlKind, State};

const MINIMUM: Duration = Duration::from_millis(40);

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// A control beside the counts that a sender keeps.
struct Trace {
    bbr: Bbr,
    window: Window,
    micros: u64,
    end: u64,
    in_flight: u32,
    state: State,
}

impl Trace {
    fn new() -> Self {
        let config = Config { congestion_control: CongestionControlKind::Bbr, ..Config::default() };
        let mut bbr = Bbr::new(&config);
        let mut window = Window { size: 10, fraction: 0, threshold: 20 };
        bbr.open(at(40_000), Some(MINIMUM), &mut window);
        Self { bbr, window, micros: 40_000, end: 0, in_flight: 0, state: State::Open }
    }

    fn now(&self) -> Now {
        let now = at(self.micros);
        let smoothed = Some(MINIMUM);
        Now { now, departure: now, in_flight: self.in_flight, state: self.state, smoothed }
    }

    /// A round: `sent` segments leave at once, and are acknowledged together after `micros`.
    fn round(&mut self, sent: u32, micros: u64) {
        self.lossy_round(sent, 0, micros);
    }

    /// A round of which `lost` segments are found to be lost.
    fn lossy_round(&mut self, sent: u32, lost: u32, micros: u64) {
        let left = at(self.micros);
        for index in 0..sent {
            self.bbr.rates.handle_sent(left, self.end + 1 + u64::from(index), index == 0);
        }
        self.micros += micros;
        for index in 0..sent - lost {
            self.bbr.rates.handle_delivered(self.end + 1 + u64::from(index), left);
        }
        self.end += u64::from(sent);
        self.bbr.rates.handle_acknowledged(self.end);
        self.bbr.rates.set_lost(self.bbr.rates.lost() + u64::from(lost));
        self.bbr.rates.count_delivered(at(self.micros), sent - lost);
        let sample = self.bbr.rates.sample(at(self.micros), sent - lost, lost, Some(MINIMUM));
        let round_trip = Some(Duration::from_micros(micros));
        let sample = RateSample { round_trip, prior_in_flight: sent.max(self.in_flight), ..sample };
        let now = self.now();
        self.bbr.control(&now, &sample, &mut self.window);
    }

    fn rate(&self) -> u64 {
        self.bbr.pacing_rate().as_bps() / 8
    }
}

/// bbr_init_pacing_rate_from_rtt: 10 segments in 40 ms are 10 * 2^24 / 40 000 = 4 194 (all divisions
/// round down); times 1448 * 739 / 256, 17 530 788; times 990 000 / 2^24, 1 034 467 bytes a second.
/// Without a round-trip time, 10 segments in a millisecond: 167 772, 701 281 717, 41 381 651.
#[test]
fn the_first_rate_is_the_initial_window_in_a_round_trip() {
    let mut trace = Trace::new();
    assert_eq!(trace.rate(), 1_034_467);
    assert_eq!(trace.window.threshold, u32::MAX);
    trace.bbr.open(at(0), None, &mut trace.window);
    assert_eq!(trace.rate(), 41_381_651);
}

/// A trace whose pipe is full at 40 segments in a round trip.
fn full() -> Trace {
    let mut trace = Trace::new();
    for sent in [10, 20, 40, 40, 40, 40] {
        trace.round(sent, 40_000);
    }
    trace
}

/// bbr_check_full_bw_reached, bbr_check_drain: rounds of 10, 20 and 40 segments in 40 ms double the
/// bandwidth, to 40 * 2^24 / 40 000 = 16 777. After three more rounds of 40 the pipe is full.
#[test]
fn three_rounds_without_growth_fill_the_pipe() {
    let mut trace = Trace::new();
    for sent in [10, 20, 40] {
        trace.round(sent, 40_000);
    }
    // 16 777 * 1448 * 739 / 256 = 70 127 335; times 990 000 / 2^24.
    assert_eq!(trace.rate(), 4_138_115);
    // One for each acknowledged segment, below the target of ceil(40 * 2.89) and more.
    assert_eq!(trace.window.size, 10 + 10 + 20 + 40);
    for _ in 0..2 {
        trace.round(40, 40_000);
        assert_eq!((trace.bbr.mode, trace.bbr.is_pipe_full), (Mode::Startup, false));
    }
    trace.in_flight = 47;
    trace.round(40, 40_000);
    assert_eq!((trace.bbr.mode, trace.bbr.is_pipe_full), (Mode::Drain, true));
    assert_eq!((trace.bbr.pacing_gain, trace.bbr.window_gain), (88, 739));
    // 16 777 * 1448 * 88 / 256 = 8 350 751; times 990 000 / 2^24.
    assert_eq!(trace.rate(), 492_766);
    // ceil(16 777 * 40 000 / 2^24) = 40, and three buffers of 4 138 115 / 1024 / 1448 = 2 segments.
    assert_eq!(trace.window.threshold, 46);
    trace.in_flight = 46;
    trace.round(40, 40_000);
    assert_eq!(trace.bbr.mode, Mode::ProbeBandwidth);
    assert!(trace.bbr.phase != 1, "a cycle never begins with the gain of 3/4");
}

/// A quarter more in the third round begins the count anew: 16 777 * 320 / 256 = 20 971, and 50
/// segments in 40 ms are 20 971.
#[test]
fn a_quarter_more_keeps_the_start() {
    for (sent, ends) in [(50, false), (49, true)] {
        let mut trace = Trace::new();
        for sent in [10, 20, 40, 40, 40, sent] {
            trace.round(sent, 40_000);
        }
        assert_eq!(trace.bbr.is_pipe_full, ends, "{sent}");
    }
}

/// bbr_set_cwnd: the window is at its target: twice the product (bbr_bdp with a gain of 512:
/// ceil(79.998)), the excess of bursts (bbr_update_ack_aggregation), three buffers of two segments,
/// rounded up to an even number, and in phase 0 two more. bbr_bw_to_pacing_rate: 16 777 * 1448 * gain / 256 * 990
/// 000 / 2^24 for the gains 320, 192 and 256.
#[test]
fn the_window_is_twice_the_product_and_the_rate_cycles() {
    let mut trace = full();
    let (mut phases, mut rates) = (Vec::new(), Vec::new());
    for round in 0..24 {
        // Longer than the minimum, with more in flight than any target.
        trace.in_flight = 200;
        trace.round(41, 41_000);
        assert_eq!(trace.bbr.mode, Mode::ProbeBandwidth);
        phases.push(trace.bbr.phase);
        rates.push(trace.rate());
        // 80, 42 and 6: two bursts of 41 in the 40.998 that the bandwidth explains, rounded down.
        let excess = if round < 2 { 41..=42 } else { 42..=42 };
        let first = if trace.bbr.phase == 0 { 2 } else { 0 };
        let windows = [*excess.start(), *excess.end()].map(|excess| {
            let window = 80 + excess + 6;
            window + (window & 1) + first
        });
        assert!(windows.contains(&trace.window.size), "{windows:?} {}", trace.window.size);
    }
    for (before, after) in phases.iter().zip(&phases[1..]) {
        assert_eq!((before + 1) % 8, *after);
    }
    for (phase, rate) in phases.iter().zip(rates) {
        let expected = match CYCLE[*phase] {
            320 => 1_791_876,
            192 => 1_075_126,
            _ => 1_433_501,
        };
        assert_eq!(rate, expected, "phase {phase}");
    }
}

/// bbr_update_min_rtt: ten seconds after the last minimum the window falls to 4 segments; 200 ms and
/// a round after at most 4 are in flight it returns, and ten seconds pass before the next.
#[test]
fn every_ten_seconds_the_round_trip_is_probed() {
    let mut trace = full();
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    // The round trip is 1 ms longer than the minimum, and 0.5 ms while few segments are in flight.
    let mut last_minimum = trace.micros;
    for _ in 0..1_000 {
        let before = trace.bbr.mode;
        trace.in_flight = 4;
        if before == Mode::ProbeRoundTrip {
            trace.round(4, 40_500);
        } else {
            trace.round(41, 41_000);
        }
        let after = trace.bbr.mode;
        if after == Mode::ProbeRoundTrip {
            assert_eq!((trace.bbr.pacing_gain, trace.bbr.window_gain), (256, 256));
            assert_eq!(trace.window.size, 4);
        }
        if before != after && after == Mode::ProbeRoundTrip {
            begins.push(trace.micros - last_minimum);
        } else if before != after && before == Mode::ProbeRoundTrip {
            ends.push(trace.micros - last_minimum - begins[begins.len() - 1]);
            last_minimum = trace.micros;
            // Twice the product of 40 500 us, and three buffers; the excess is that of the probe.
            assert!(trace.window.size >= 81 + 6, "{}", trace.window.size);
        }
    }
    assert!(begins.len() >= 3);
    // The first acknowledgement more than ten seconds after the last minimum: 244 rounds of 41 ms.
    assert!(begins.iter().all(|&begin| begin == 10_004_000), "{begins:?}");
    // Four segments are in flight at once; the first acknowledgement more than 200 ms later is the
    // fifth of 40.5 ms.
    assert!(ends.iter().all(|&end| end == 202_500), "{ends:?}");
}

/// bbr_set_cwnd_to_recover_or_restore: the first acknowledgement of a recovery sets the window to the
/// segments in flight and those it delivers; the next round grows by as many as are acknowledged;
/// the end restores the window.
#[test]
fn a_recovery_conserves_segments_and_its_end_restores_the_window() {
    let mut trace = full();
    trace.in_flight = 100;
    trace.round(40, 40_000);
    let before = trace.window.size;
    assert_eq!(trace.bbr.threshold_after_loss(at(trace.micros), &trace.window.clone()), 46);
    (trace.state, trace.in_flight) = (State::Recovery, 30);
    trace.lossy_round(40, 2, 40_000);
    assert_eq!(trace.window.size, 30 + 38);
    // The next round: 5 of 40 are lost, slow start towards the target.
    let window = trace.window.size;
    trace.lossy_round(40, 5, 40_000);
    assert_eq!(trace.window.size, (window - 5 + 35).min(before));
    trace.state = State::Open;
    trace.window.size = 20;
    trace.round(1, 40_000);
    assert!(trace.window.size >= before.min(88), "{} of {before}", trace.window.size);
}

/// bbr_set_state: a timeout saves the window, and a bandwidth of any size then counts as growth.
#[test]
fn a_timeout_keeps_the_model() {
    let mut trace = full();
    let (before, rate) = (trace.window.size, trace.rate());
    trace.bbr.threshold_after_loss(at(trace.micros), &trace.window.clone());
    trace.bbr.handle_timeout(at(trace.micros));
    trace.window.size = 1;
    trace.state = State::Loss;
    trace.round(1, 40_000);
    assert_eq!(trace.window.size, 4, "one and one, at least four");
    assert!(trace.rate() * 4 > rate, "the rate is that of the model");
    trace.state = State::Open;
    trace.round(4, 40_000);
    assert!(trace.window.size.abs_diff(before) <= 4, "{} of {before}", trace.window.size);
    assert!(trace.bbr.is_pipe_full);
}

/// bbr_lt_bw_sampling: two intervals of at least four rounds with a fifth of losses and the same
/// bandwidth: its rate is used without a cycle, for 48 rounds.
#[test]
fn the_rate_of_a_policer_is_used_for_48_rounds() {
    let mut trace = full();
    let mut rounds = 0;
    while trace.bbr.policer.bandwidth().is_none() {
        trace.lossy_round(50, 10, 40_000);
        rounds += 1;
        assert!(rounds < 20);
    }
    // The first loss begins an interval, which ends with the fourth round after it; its bandwidth is
    // compared with that of the next four.
    assert_eq!(rounds, 8);
    // 40 segments each 40 ms.
    assert_eq!(trace.bbr.policer.bandwidth(), Some(16_777));
    let mut rounds = 0;
    while trace.bbr.policer.bandwidth().is_some() {
        assert_eq!(trace.bbr.pacing_gain, 256);
        trace.round(40, 40_000);
        rounds += 1;
    }
    assert_eq!(rounds, 48);
}
