//! BBR v3: congestion control by a model of the path, with bounds of the bandwidth and of the data
//! in flight that losses teach. The rules are those of [draft-ietf-ccwg-bbr], as of August 2026.
//! Windows are in whole segments, bandwidths in segments per microsecond times 2^24, gains in
//! 1/256, times in microseconds.
//!
//! | state | pacing gain | window gain | ends |
//! |---|---|---|---|
//! | `Startup` | 710 (2.77) | 512 | three rounds without 25 % more bandwidth, or six ranges lost in a round of recovery and more than 2 %: `Drain` |
//! | `Drain` | 128 (0.5) | 512 | at most one product of bandwidth and delay is in flight, or three full rounds: `Down` |
//! | `Down` | 230 (0.9) | 512 | the product, less headroom, is in flight: `Cruise`; or as `Cruise` |
//! | `Cruise` | 256 | 512 | 2 to 3 s, or as many rounds as the product has segments, at most 62 or 63, since `Down` began: `Refill` |
//! | `Refill` | 256 | 512 | a round: `Up` |
//! | `Up` | 320 (1.25) | 576 | three rounds without growth, more than 2 % lost, or the long-term bound after such losses: `Down` |
//! | `ProbeRoundTrip` | 256 | 128 | 200 ms and a round with half a product in flight: `Cruise`, or `Startup` before the pipe was full |
//!
//! Every state enters `ProbeRoundTrip` after five seconds without a new minimum. The long-term
//! bound (inflight_longterm, the kernel's inflight_hi) falls when a probe loses more than 2 %, and
//! rises by 1, 2, 4, ... segments a round in `Up`. The short-term bounds (bw_shortterm,
//! inflight_shortterm; bw_lo, inflight_lo) fall to seven tenths, but not below the delivery of the
//! last round, after a round with a loss outside of probes; `Refill` lifts them.
//!
//! The draft leaves these open, or contradicts itself:
//!
//! - State for an undo is saved once an episode of losses (5.5.11.1), not in each round of one
//!   (NoteLoss); Google's later kernels do the same (loss_yet_in_recovery).
//! - `Drain` has no long-term bound (BoundCwndForModel, not the table of 5.6.1).
//! - After idle, the acknowledged segments of aggregation are counted from zero.
//! - The part of a lost segment below 2 % is not negative (InflightAtLoss).
//! - The bandwidth's filter has two slots: the present cycle and the last (5.5.6).
//!
//! Google's branch v3 of Linux, as of November 2023, differs: `Drain` has a gain of 0.35, compares
//! with the maximum bandwidth and has no end by rounds; `Down` has 0.91; acknowledgements with
//! losses count instead of ranges; a budget of losses is rounded up; the product that a flow wants
//! has the allowance for buffers, and buffers grow on short paths; aggregation is the maximum of
//! two halves of five rounds, at most 100 ms; a sample equal to the minimum renews it; a timeout
//! resets the search for a full pipe, whose baseline every acknowledgement raises; an undo changes
//! no state.
//!
//! Left out: the kernel's response to ECN (feature `ecn_low`), protective load balancing (PLB) and
//! fast path, which the draft does not have; losses that only a tail loss probe repaired; ticks
//! (HZ).
//!
//! [draft-ietf-ccwg-bbr]: https://datatracker.ietf.org/doc/draft-ietf-ccwg-bbr/

mod losses;
mod output;
mod path;
mod states;
#[cfg(test)]
mod tests;

use lasthop_units::{Bitrate, Duration, Instant, Seed, Stream};

use super::bbr::UNIT;
use super::windowed_max::WindowedMax;
use super::{Acknowledgement, Control, Model, Now, Window};
use crate::delivery_rate::{DeliveryRate, Loss, RateSample, micros};
use crate::{Config, Pacing, State};
use losses::in_flight_at_loss;
use output::{STARTUP_GAIN, WINDOW_GAIN};

/// Least window in segments (MinPipeCwnd; bbr_cwnd_min_target).
const WINDOW_MIN: u32 = 4;
/// A bound that is not set.
const NONE: u32 = u32::MAX;

/// The state of the control, see the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRoundTrip,
}

impl Stage {
    fn is_probe_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether the sender accelerates (IsProbingBW).
    fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// The part of a probe that acknowledgements are from (ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Arriving,
    Stopping,
}

/// The bounds before an episode of losses (SaveStateUponLoss).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Before {
    /// State that ended because of the losses: `Startup` or `Up` (undo_state).
    left: Option<Stage>,
    bandwidth: u32,
    short: u32,
    long: u32,
}

/// Congestion control by BBR v3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bbr3 {
    rates: DeliveryRate,
    segment_bytes: u32,
    /// Upper bound of the pacing rate in bytes per second (SO_MAX_PACING_RATE).
    rate_max: u64,
    window_initial: u32,
    /// Whether several losses in a round trip are known (has_selective_acks).
    has_sack: bool,
    random: Stream,

    // The model of the path.
    /// Maximum bandwidth of the last cycle, and of this one (bw_hi).
    maxima: [u32; 2],
    sample: u32,
    /// The smaller of the maximum and the bound for a short time, as of the last acknowledgement
    /// (bw).
    bandwidth: u32,
    minimum: Option<u64>,
    minimum_at: Instant,
    /// Minimum of five seconds, and the instant of its measurement.
    probe_minimum: Option<u64>,
    probe_minimum_at: Instant,
    round_end: u64,
    is_round_start: bool,
    /// Rounds since the start (round_count).
    rounds: u32,
    /// Start of the interval in which acknowledged segments are counted, and their count
    /// (extra_acked_interval_start, extra_acked_delivered).
    interval_start: u64,
    interval_segments: u64,
    /// Segments acknowledged in excess of the bandwidth (extra_acked_filter).
    excess: WindowedMax,

    // Bounds.
    bandwidth_short: u32,
    short: u32,
    long: u32,
    /// Largest bandwidth and delivery of this round of losses.
    latest_bandwidth: u32,
    latest_delivered: u32,
    loss_round_end: u64,
    is_loss_round_start: bool,
    has_loss: bool,
    /// Ranges of lost segments in this round of losses, with others between them.
    lost_ranges: u8,
    /// End of the last segment lost.
    lost_end: u64,
    before: Before,

    // The state.
    stage: Stage,
    feedback: Feedback,
    is_pipe_full: bool,
    is_full_now: bool,
    full_bandwidth: u32,
    full_rounds: u8,
    /// Round in which `Drain` began.
    drain_start: u32,
    /// Start of the cycle in microseconds, and its length.
    cycle_start: u64,
    wait: u64,
    rounds_since_probe: u32,
    up_rounds: u32,
    up_segments: u32,
    /// Acknowledged segments after which the long-term bound rises by one.
    up_each: u32,
    is_probe_sample: bool,
    was_too_high: bool,
    was_careful: bool,
    probe_end: Option<Instant>,
    has_probe_round: bool,
    is_restart: bool,
    /// Whether the window was used up in this round, and in the last.
    is_limited: [bool; 2],

    // Results.
    pacing_gain: u32,
    window_gain: u32,
    /// Bytes per second.
    rate: u64,
    has_round_trip: bool,
    state_before: State,
    window_before: u32,
}

impl Bbr3 {
    /// Returns the control of a new connection.
    pub fn new(config: &Config) -> Self {
        let rate_max = match config.pacing {
            Pacing::Fixed(most) => most.as_bps() / 8,
            Pacing::Off | Pacing::Linux => u64::MAX,
        };
        Self {
            rates: DeliveryRate::new(),
            segment_bytes: u32::from(config.segment_bytes).max(1),
            rate_max,
            window_initial: config.initial_window.max(1),
            has_sack: config.sack,
            random: Seed::new(config.seed, 0).stream("tcp/bbr3"),
            maxima: [0; 2],
            sample: 0,
            bandwidth: 0,
            minimum: None,
            minimum_at: Instant::ZERO,
            probe_minimum: None,
            probe_minimum_at: Instant::ZERO,
            round_end: 0,
            is_round_start: false,
            rounds: 0,
            interval_start: 0,
            interval_segments: 0,
            excess: WindowedMax::default(),
            bandwidth_short: NONE,
            short: NONE,
            long: NONE,
            latest_bandwidth: 0,
            latest_delivered: 0,
            loss_round_end: 0,
            is_loss_round_start: false,
            has_loss: false,
            lost_ranges: 0,
            lost_end: 0,
            before: Before { left: None, bandwidth: 0, short: 0, long: 0 },
            stage: Stage::Startup,
            feedback: Feedback::None,
            is_pipe_full: false,
            is_full_now: false,
            full_bandwidth: 0,
            full_rounds: 0,
            drain_start: 0,
            cycle_start: 0,
            wait: 0,
            rounds_since_probe: 0,
            up_rounds: 0,
            up_segments: 0,
            up_each: NONE,
            is_probe_sample: false,
            was_too_high: false,
            was_careful: false,
            probe_end: None,
            has_probe_round: false,
            is_restart: false,
            is_limited: [false; 2],
            pacing_gain: STARTUP_GAIN,
            window_gain: WINDOW_GAIN,
            rate: u64::MAX,
            has_round_trip: false,
            state_before: State::Open,
            window_before: 0,
        }
    }
}

impl Model for Bbr3 {
    fn rates(&mut self) -> &mut DeliveryRate {
        &mut self.rates
    }

    fn open(&mut self, now: Instant, minimum: Option<Duration>, window: &mut Window) {
        window.threshold = u32::MAX;
        self.minimum = minimum.map(Duration::as_micros);
        self.minimum_at = now;
        self.probe_minimum = self.minimum;
        self.probe_minimum_at = now;
        self.start_round();
        self.loss_round_end = self.rates.delivered() + 1;
        self.start_rate(minimum);
        self.start_interval(micros(now));
    }

    fn set_segment_bytes(&mut self, bytes: u32) {
        self.segment_bytes = bytes;
    }

    fn pacing_rate(&self) -> Bitrate {
        Bitrate::from_bps(self.rate.saturating_mul(8))
    }

    fn handle_start(&mut self, at: &Now, window: &mut Window) {
        if !self.rates.is_application_limited() {
            return;
        }
        self.is_restart = true;
        self.start_interval(micros(at.now));
        if self.stage.is_probe_bandwidth() {
            self.set_rate(UNIT, at.smoothed);
        } else if self.stage == Stage::ProbeRoundTrip {
            self.check_probe(at.now, window);
        }
    }

    fn control(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        self.update_round(sample);
        self.update_signals(sample, window);
        self.update_aggregation(micros(at.now), sample, window);
        self.check_pipe(sample);
        self.check_losses(at, sample);
        self.check_drain(at, window);
        self.update_cycle(at, sample, window);
        self.update_minimum(at, sample, window);
        self.advance_signals(sample);
        self.bound_bandwidth();
        self.update_gains();
        self.set_rate(self.pacing_gain, at.smoothed);
        self.set_window(at, sample, window);
        self.state_before = at.state;
    }

    fn handle_undo(&mut self, window: &mut Window) {
        self.restore_state(window);
    }

    fn handle_timeout_window(&mut self, window: &Window) {
        self.save_window(window);
    }

    fn handle_full_window(&mut self) {
        self.is_limited[0] = true;
    }

    fn needs_losses(&self) -> bool {
        true
    }

    /// NoteLoss and HandleLostPacket.
    fn handle_loss(&mut self, now: Instant, loss: &Loss, window: &Window) {
        if !self.has_loss {
            self.loss_round_end = self.rates.delivered();
        }
        self.has_loss = true;
        if loss.start != Some(self.lost_end) {
            self.lost_ranges = self.lost_ranges.saturating_add(1);
        }
        self.lost_end = loss.end;
        if self.is_probe_sample && self.is_too_high(loss.lost_since, loss.sent_in_flight) {
            let in_flight = in_flight_at_loss(loss);
            self.handle_too_high(micros(now), in_flight, loss.is_application_limited, window);
        }
    }
}

impl Control for Bbr3 {
    /// Has no effect: [`Bbr3`] sets the window with every acknowledgement, in every state.
    fn handle_acknowledgement(&mut self, _: Instant, _: &Acknowledgement, _: &mut Window) {}

    /// Returns the threshold as it is: a loss does not lower it. Losses or a timeout begin an
    /// episode (OnEnterFastRecovery, OnEnterRTO).
    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        self.save_state(window);
        window.threshold
    }

    fn handle_timeout(&mut self, _now: Instant) {
        self.state_before = State::Loss;
    }
}
