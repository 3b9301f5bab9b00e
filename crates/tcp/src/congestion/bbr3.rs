//! BBR v3: congestion control by a model of the path, with bounds of the bandwidth and of the data in
//! flight that losses teach. The rules are those of [draft-ietf-ccwg-bbr]; where it leaves things
//! open, those of Google's branch v3 of Linux (tcp_bbr.c). Windows are in segments, bandwidths in
//! segments per microsecond times 2^24, gains in 1/256, times in microseconds.
//!
//! | state | pacing gain | window gain | ends |
//! |---|---|---|---|
//! | `Startup` | 710 (2.77) | 512 | three rounds without 25 % more bandwidth, or six losses in a round and more than 2 % lost: `Drain` |
//! | `Drain` | 128 (0.5) | 512 | at most one product of bandwidth and delay is in flight: `Down` |
//! | `Down` | 230 (0.9) | 512 | the product, less headroom, is in flight: `Cruise`; or as `Cruise` |
//! | `Cruise` | 256 | 512 | 2 to 3 s, or as many rounds as the product has segments, at most 62 or 63, since `Down` began: `Refill` |
//! | `Refill` | 256 | 512 | a round: `Up` |
//! | `Up` | 320 (1.25) | 576 | three rounds without growth, more than 2 % lost, or the long-term bound after such losses: `Down` |
//! | `ProbeRoundTrip` | 256 | 128 | 200 ms and a round with half a product in flight: `Cruise`, or `Startup` before the pipe was full |
//!
//! Every state enters `ProbeRoundTrip` after five seconds without a new minimum. The long-term bound
//! (inflight_longterm, the kernel's inflight_hi) falls when a probe loses more than 2 %, and rises by
//! 1, 2, 4, ... segments a round in `Up`. The short-term bounds (bw_shortterm, inflight_shortterm; bw_lo,
//! inflight_lo) fall to seven tenths, at least to what was delivered, after a round with a loss
//! outside of probes; `Refill` lifts them.
//!
//! Left out: the response to ECN, which the kernel has only on routes with the feature `ecn_low`, and
//! the draft not at all; protective load balancing (PLB); losses that only a tail loss probe repaired;
//! the fast path; ticks (HZ).
//!
//! [draft-ietf-ccwg-bbr]: https://datatracker.ietf.org/doc/draft-ietf-ccwg-bbr/

use lasthop_units::{Bitrate, Duration, Instant, Seed, Stream};

use super::bbr::aggregation::Aggregation;
use super::bbr::{BANDWIDTH_SHIFT, UNIT, bytes_per_second, is_recovering};
use super::{Acknowledgement, Control, Model, Now, Window};
use crate::delivery_rate::{DeliveryRate, Loss, RateSample, micros};
use crate::{Config, Pacing, SmallQueues, State};

/// Pacing gain of `Startup`: 4 ln 2 (draft, 2.4 StartupPacingGain; bbr_startup_pacing_gain).
const STARTUP_GAIN: u32 = UNIT * 277 / 100 + 1;
/// Pacing gain of `Drain` (DrainPacingGain, 0.5; the kernel has 0.35).
const DRAIN_GAIN: u32 = UNIT / 2;
/// Pacing gain of `Down` (ProbeDownPacingGain, 0.90; the kernel has 0.91).
const DOWN_GAIN: u32 = UNIT * 90 / 100;
/// Pacing gain of `Up` (ProbeUpPacingGain, 1.25).
const UP_GAIN: u32 = UNIT * 5 / 4;
/// Gain of the window (DefaultCwndGain, 2; bbr_cwnd_gain), and in `Up` (ProbeUpCwndGain, 2.25).
const WINDOW_GAIN: u32 = UNIT * 2;
const WINDOW_GAIN_UP: u32 = UNIT * 9 / 4;
/// Gain of the window in `ProbeRoundTrip` (ProbeRTTCwndGain; bbr_probe_rtt_cwnd_gain).
const WINDOW_GAIN_PROBE: u32 = UNIT / 2;
/// Percent of losses above which too much is in flight (LossThresh; bbr_loss_thresh).
const LOSS_PERCENT: u64 = 2;
/// Percent that a bound keeps (Beta; 1 - bbr_beta).
const KEEP_PERCENT: u64 = 70;
/// Percent of the long-term bound left to others (Headroom; bbr_inflight_headroom).
const HEADROOM_PERCENT: u64 = 15;
/// Least window in segments (MinPipeCwnd; bbr_cwnd_min_target).
const WINDOW_MIN: u32 = 4;
/// Losses in a round that end `Startup` (StartupFullLossCnt; bbr_full_loss_cnt).
const FULL_LOSSES: u8 = 6;
/// Rounds without growth after which the pipe is full (bbr_full_bw_cnt).
const FULL_ROUNDS: u8 = 3;
/// Growth of the bandwidth after which the pipe may hold more (bbr_full_bw_thresh).
const FULL_GROWTH: u32 = UNIT * 5 / 4;
/// Most rounds between probes (IsRenoCoexistenceProbeTime; bbr_bw_probe_max_rounds).
const PROBE_ROUNDS_MAX: u32 = 63;
/// Time between probes, and its random part (PickProbeWait; bbr_bw_probe_base_us and rand_us).
const PROBE_WAIT: u64 = 2_000_000;
const PROBE_WAIT_RANDOM: u32 = 1_000_000;
/// Time over which the round-trip time is the minimum (MinRTTFilterLen; bbr_min_rtt_win_sec).
const MINIMUM_LIFETIME: Duration = Duration::from_secs(10);
/// Time between `ProbeRoundTrip` (ProbeRTTInterval; bbr_probe_rtt_win_ms), and its least length
/// (ProbeRTTDuration; bbr_probe_rtt_mode_ms).
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_TIME: Duration = Duration::from_millis(200);
/// Bytes of a buffer on paths of no delay, halved with every 512 us (bbr_tso_rtt_shift).
const BUFFER_BYTES: u64 = 65_536;
const BUFFER_MICROS_SHIFT: u32 = 9;
const BUFFER_BYTES_MAX: u64 = 65_536 - 1 - 320;
/// Linux' sk_pacing_shift where no driver sets it.
const PACING_SHIFT: u8 = 10;
/// A bound that is not set.
const NONE: u32 = u32::MAX;

/// The state of the control, see the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRoundTrip,
}

impl Phase {
    fn is_probe_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether the sender accelerates (IsProbingBW).
    fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// What acknowledgements tell of a probe (ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Arriving,
    Stopping,
}

/// The bounds and the state before a loss (SaveStateUponLoss).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Before {
    phase: Phase,
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
    pacing_shift: u8,
    window_initial: u32,
    random: Stream,

    // The model of the path.
    /// Maximum bandwidth of the last cycle, and of this one (bw_hi).
    maxima: [u32; 2],
    sample: u32,
    minimum: Option<u64>,
    minimum_at: Instant,
    /// Minimum of five seconds, and the instant of its measurement.
    probe_minimum: Option<u64>,
    probe_minimum_at: Instant,
    round_end: u64,
    is_round_start: bool,
    aggregation: Aggregation,

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
    losses: u8,
    before: Before,

    // The state.
    phase: Phase,
    feedback: Feedback,
    is_pipe_full: bool,
    is_full_now: bool,
    full_bandwidth: u32,
    full_rounds: u8,
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
        let pacing_shift = match config.small_queues {
            SmallQueues::Pacing { shift, .. } => shift,
            SmallQueues::Off | SmallQueues::Fixed { .. } => PACING_SHIFT,
        };
        Self {
            rates: DeliveryRate::new(),
            segment_bytes: u32::from(config.segment_bytes).max(1),
            rate_max,
            pacing_shift,
            window_initial: config.initial_window.max(1),
            random: Seed::new(config.seed, 0).stream("tcp/bbr3"),
            maxima: [0; 2],
            sample: 0,
            minimum: None,
            minimum_at: Instant::ZERO,
            probe_minimum: None,
            probe_minimum_at: Instant::ZERO,
            round_end: 0,
            is_round_start: false,
            aggregation: Aggregation::default(),
            bandwidth_short: NONE,
            short: NONE,
            long: NONE,
            latest_bandwidth: 0,
            latest_delivered: 0,
            loss_round_end: 0,
            is_loss_round_start: false,
            has_loss: false,
            losses: 0,
            before: Before { phase: Phase::Startup, bandwidth: 0, short: 0, long: 0 },
            phase: Phase::Startup,
            feedback: Feedback::None,
            is_pipe_full: false,
            is_full_now: false,
            full_bandwidth: 0,
            full_rounds: 0,
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

    // The model.

    fn maximum(&self) -> u32 {
        self.maxima[0].max(self.maxima[1])
    }

    fn bandwidth(&self) -> u32 {
        self.maximum().min(self.bandwidth_short)
    }

    fn start_round(&mut self) {
        self.round_end = self.rates.delivered();
    }

    fn update_round(&mut self, sample: &RateSample) {
        self.is_round_start = false;
        self.sample = 0;
        let Some((delivered, interval)) = sample.observation() else {
            return;
        };
        let bandwidth = (delivered << BANDWIDTH_SHIFT).div_ceil(interval);
        self.sample = u32::try_from(bandwidth).unwrap_or(NONE);
        if sample.prior_delivered >= self.round_end {
            self.start_round();
            self.is_round_start = true;
            self.rounds_since_probe += 1;
            self.is_limited = [false, self.is_limited[0]];
        }
    }

    /// UpdateLatestDeliverySignals and UpdateCongestionSignals.
    fn update_signals(&mut self, sample: &RateSample, window: &Window) {
        self.is_loss_round_start = false;
        self.has_loss |= sample.lost > 0;
        let Some((delivered, _)) = sample.observation().filter(|_| sample.acknowledged > 0) else {
            return;
        };
        self.latest_bandwidth = self.latest_bandwidth.max(self.sample);
        self.latest_delivered = self.latest_delivered.max(delivered as u32);
        if sample.prior_delivered >= self.loss_round_end {
            self.loss_round_end = self.rates.delivered();
            self.is_loss_round_start = true;
        }
        if !sample.is_application_limited || self.sample >= self.maximum() {
            self.maxima[1] = self.maxima[1].max(self.sample);
        }
        if !self.is_loss_round_start {
            return;
        }
        if self.has_loss && !self.phase.is_accelerating() {
            if self.bandwidth_short == NONE {
                self.bandwidth_short = self.maximum();
            }
            if self.short == NONE {
                self.short = window.size;
            }
            self.bandwidth_short = self.latest_bandwidth.max(keep(self.bandwidth_short)).max(1);
            self.short = self.latest_delivered.max(keep(self.short));
        }
        self.has_loss = false;
    }

    fn advance_signals(&mut self, sample: &RateSample) {
        if self.is_loss_round_start {
            self.latest_bandwidth = self.sample;
            self.latest_delivered = sample.delivered.unwrap_or(0) as u32;
        }
    }

    fn reset_signals(&mut self) {
        self.has_loss = false;
        self.latest_bandwidth = 0;
        self.latest_delivered = 0;
    }

    fn lift_short_bounds(&mut self) {
        self.bandwidth_short = NONE;
        self.short = NONE;
    }

    fn update_aggregation(&mut self, sample: &RateSample, window: &Window) {
        if sample.acknowledged == 0 || sample.observation().is_none() {
            return;
        }
        if self.is_round_start && !self.is_pipe_full {
            self.aggregation.end_half();
        }
        let bandwidth = self.bandwidth();
        self.aggregation.handle_acknowledgement(
            self.rates.delivered_at(),
            sample.acknowledged,
            self.is_round_start,
            bandwidth,
            window.size,
        );
    }

    /// The product of bandwidth, minimum round-trip time and gain in segments, rounded up
    /// (BDPMultiple; bbr_bdp).
    fn product(&self, bandwidth: u32, gain: u32) -> u32 {
        let Some(minimum) = self.minimum else {
            return self.window_initial;
        };
        let product =
            u128::from(bandwidth) * u128::from(minimum) * u128::from(gain) / u128::from(UNIT);
        u32::try_from(product.div_ceil(1 << BANDWIDTH_SHIFT)).unwrap_or(NONE / 2)
    }

    /// At least three buffers (QuantizationBudget; bbr_quantization_budget).
    fn quantize(&self, segments: u32) -> u32 {
        let minimum = self.minimum.unwrap_or(u64::MAX) >> BUFFER_MICROS_SHIFT;
        let mut bytes = self.rate >> self.pacing_shift;
        if minimum < 32 {
            bytes += BUFFER_BYTES >> minimum;
        }
        let buffer = (bytes.min(BUFFER_BYTES_MAX) / u64::from(self.segment_bytes)).max(2) as u32;
        let segments = segments.max(3 * buffer).max(WINDOW_MIN);
        if self.phase == Phase::Up { segments + 2 } else { segments }
    }

    fn target(&self, bandwidth: u32) -> u32 {
        self.quantize(self.product(bandwidth, UNIT))
    }

    /// Segments in flight that the flow wants (TargetInflight).
    fn wanted(&self, window: &Window) -> u32 {
        self.target(self.bandwidth()).min(window.size)
    }

    fn with_headroom(&self) -> u32 {
        if self.long == NONE {
            return NONE;
        }
        let headroom = percent(self.long, HEADROOM_PERCENT).max(1);
        self.long.saturating_sub(headroom).max(WINDOW_MIN)
    }

    // Losses.

    /// HandleInflightTooHigh, at `in_flight` segments.
    fn handle_too_high(&mut self, now: u64, in_flight: u32, is_limited: bool, window: &Window) {
        self.was_too_high = true;
        self.is_probe_sample = false;
        if !is_limited {
            self.long = in_flight.max(keep(self.wanted(window)));
        }
        if self.phase == Phase::Up {
            self.start_down(now);
        }
    }

    fn save_bounds(&mut self) {
        self.before = Before {
            phase: self.phase,
            bandwidth: self.bandwidth_short,
            short: self.short,
            long: self.long,
        };
    }

    // States.

    fn reset_full(&mut self) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.is_full_now = false;
    }

    fn check_pipe(&mut self, sample: &RateSample) {
        if self.is_full_now || !self.is_round_start || sample.is_application_limited {
            return;
        }
        let grown = u64::from(self.full_bandwidth) * u64::from(FULL_GROWTH) / u64::from(UNIT);
        if u64::from(self.sample) >= grown {
            self.reset_full();
            self.full_bandwidth = self.sample;
            return;
        }
        self.full_rounds += 1;
        self.is_full_now = self.full_rounds >= FULL_ROUNDS;
        self.is_pipe_full |= self.is_full_now;
    }

    /// CheckStartupHighLoss (bbr_check_loss_too_high_in_startup).
    fn check_losses(&mut self, at: &Now, sample: &RateSample) {
        if self.is_pipe_full {
            return;
        }
        self.losses = self.losses.saturating_add(u8::from(sample.lost > 0));
        let is_recovery = at.state == State::Recovery;
        if self.is_loss_round_start
            && is_recovery
            && self.losses >= FULL_LOSSES
            && is_too_high(sample.lost_since, sample.sent_in_flight)
        {
            self.is_pipe_full = true;
            self.long = self.target(self.maximum()).max(self.latest_delivered);
        }
        if self.is_loss_round_start {
            self.losses = 0;
        }
    }

    fn check_drain(&mut self, at: &Now, window: &mut Window) {
        if self.phase == Phase::Startup && self.is_pipe_full {
            self.phase = Phase::Drain;
            window.threshold = self.target(self.maximum());
            self.reset_signals();
        }
        if self.phase == Phase::Drain && at.in_flight <= self.target(self.maximum()) {
            self.start_down(micros(at.now));
        }
    }

    fn start_down(&mut self, now: u64) {
        self.reset_signals();
        self.up_each = NONE;
        self.rounds_since_probe = self.random.up_to(1);
        self.wait = PROBE_WAIT + u64::from(self.random.up_to(PROBE_WAIT_RANDOM - 1));
        self.cycle_start = now;
        self.feedback = Feedback::Stopping;
        self.start_round();
        self.phase = Phase::Down;
    }

    fn start_refill(&mut self) {
        self.lift_short_bounds();
        self.up_rounds = 0;
        self.up_segments = 0;
        self.was_careful = false;
        self.feedback = Feedback::Refilling;
        self.start_round();
        self.phase = Phase::Refill;
    }

    fn start_up(&mut self, window: &Window) {
        self.feedback = Feedback::Starting;
        self.start_round();
        self.reset_full();
        self.full_bandwidth = self.sample;
        self.phase = Phase::Up;
        self.raise_slope(window);
    }

    fn raise_slope(&mut self, window: &Window) {
        self.up_each = (window.size >> self.up_rounds).max(1);
        self.up_rounds = (self.up_rounds + 1).min(30);
    }

    fn is_window_limited(&self) -> bool {
        self.is_limited[0] || self.is_limited[1]
    }

    /// Whether the long-term bound, and not the path, stops the flow.
    fn is_at_bound(&self, window: &Window) -> bool {
        self.is_window_limited() && window.size >= self.long
    }

    /// AdaptLongTermModel. Returns whether it decided on the state.
    fn adapt_long(&mut self, sample: &RateSample, window: &Window) -> bool {
        if self.feedback == Feedback::Starting && self.is_round_start {
            self.feedback = Feedback::Arriving;
        }
        if self.feedback == Feedback::Stopping && self.is_round_start {
            self.is_probe_sample = false;
            self.feedback = Feedback::None;
            if self.phase.is_probe_bandwidth() {
                if !sample.is_application_limited && self.maxima[1] > 0 {
                    self.maxima = [self.maxima[1], 0];
                }
                if self.was_careful && !self.was_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if is_too_high(sample.lost_since, sample.sent_in_flight) || self.long == NONE {
            return false;
        }
        self.long = self.long.max(sample.sent_in_flight);
        if self.phase == Phase::Up && self.is_at_bound(window) {
            self.up_segments += sample.acknowledged;
            self.long += self.up_segments / self.up_each;
            self.up_segments %= self.up_each;
            if self.is_round_start {
                self.raise_slope(window);
            }
        }
        false
    }

    fn is_time_to_probe(&self, now: u64, window: &Window) -> bool {
        let rounds = self.wanted(window).min(PROBE_ROUNDS_MAX);
        now > self.cycle_start + self.wait || self.rounds_since_probe >= rounds
    }

    fn is_time_to_go_down(&mut self, at: &Now, window: &Window) -> bool {
        if self.was_too_high && at.in_flight >= self.long {
            self.was_careful = true;
            return true;
        }
        if self.is_at_bound(window) {
            self.reset_full();
            self.full_bandwidth = self.sample;
            return false;
        }
        self.is_full_now
    }

    fn update_cycle(&mut self, at: &Now, sample: &RateSample, window: &Window) {
        if !self.is_pipe_full || self.adapt_long(sample, window) {
            return;
        }
        let now = micros(at.now);
        match self.phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(now, window) => {
                self.start_refill();
            }
            Phase::Down => {
                let most = self.with_headroom().min(self.target(self.maximum()));
                if at.in_flight <= most {
                    self.phase = Phase::Cruise;
                }
            }
            Phase::Refill if self.is_round_start => {
                self.is_probe_sample = true;
                self.start_up(window);
            }
            Phase::Up => {
                if self.is_time_to_go_down(at, window) {
                    self.was_too_high = false;
                    self.start_down(now);
                }
            }
            _ => {}
        }
    }

    /// UpdateMinRTT and CheckProbeRTT (bbr_update_min_rtt).
    fn update_minimum(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        let is_due = at.now > self.probe_minimum_at + PROBE_INTERVAL;
        if let Some(round_trip) = sample.round_trip.map(Duration::as_micros) {
            let is_lower = self.probe_minimum.is_none_or(|minimum| round_trip < minimum);
            if is_lower || (is_due && !sample.is_delayed) {
                self.probe_minimum = Some(round_trip);
                self.probe_minimum_at = at.now;
            }
        }
        let is_expired = at.now > self.minimum_at + MINIMUM_LIFETIME;
        if let Some(lowest) = self.probe_minimum
            && (is_expired || self.minimum.is_none_or(|minimum| lowest <= minimum))
        {
            self.minimum = Some(lowest);
            self.minimum_at = self.probe_minimum_at;
        }
        if is_due && !self.is_restart && self.phase != Phase::ProbeRoundTrip {
            self.save_window(window);
            self.phase = Phase::ProbeRoundTrip;
            self.probe_end = None;
            self.feedback = Feedback::Stopping;
            self.start_round();
        }
        if self.phase == Phase::ProbeRoundTrip {
            // Samples of this state are low.
            self.rates.limit(at.in_flight);
            if self.probe_end.is_none() && at.in_flight <= self.probe_window() {
                self.probe_end = Some(at.now + PROBE_TIME);
                self.has_probe_round = false;
                self.start_round();
            } else if self.probe_end.is_some() {
                self.has_probe_round |= self.is_round_start;
                if self.has_probe_round {
                    self.check_probe(at.now, window);
                }
            }
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.is_restart = false;
        }
    }

    fn probe_window(&self) -> u32 {
        self.product(self.bandwidth(), WINDOW_GAIN_PROBE).max(WINDOW_MIN)
    }

    /// Leaves `ProbeRoundTrip` if its time is over (CheckProbeRTTDone).
    fn check_probe(&mut self, now: Instant, window: &mut Window) {
        if self.probe_end.is_none_or(|end| now <= end) {
            return;
        }
        self.probe_minimum_at = now;
        window.size = window.size.max(self.window_before);
        self.lift_short_bounds();
        if self.is_pipe_full {
            self.start_down(micros(now));
            self.phase = Phase::Cruise;
        } else {
            self.phase = Phase::Startup;
        }
    }

    // Results.

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.phase {
            Phase::Startup => (STARTUP_GAIN, WINDOW_GAIN),
            Phase::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            Phase::Down => (DOWN_GAIN, WINDOW_GAIN),
            Phase::Cruise | Phase::Refill => (UNIT, WINDOW_GAIN),
            Phase::Up => (UP_GAIN, WINDOW_GAIN_UP),
            Phase::ProbeRoundTrip => (UNIT, WINDOW_GAIN_PROBE),
        };
    }

    /// Sets the rate before the first sample: the window in a round trip, or in a millisecond.
    fn start_rate(&mut self, smoothed: Option<Duration>, window: &Window) {
        let micros = smoothed.map_or(1_000, |smoothed| smoothed.as_micros().max(1));
        self.has_round_trip = smoothed.is_some();
        let bandwidth = ((u64::from(window.size) << BANDWIDTH_SHIFT) / micros).min(u64::from(NONE));
        let rate = bytes_per_second(bandwidth, self.segment_bytes, STARTUP_GAIN);
        self.rate = rate.min(self.rate_max);
    }

    fn set_rate(&mut self, gain: u32, smoothed: Option<Duration>, window: &Window) {
        let bandwidth = u64::from(self.bandwidth());
        let rate = bytes_per_second(bandwidth, self.segment_bytes, gain).min(self.rate_max);
        if !self.has_round_trip && smoothed.is_some() {
            self.start_rate(smoothed, window);
        }
        if self.is_pipe_full || rate > self.rate {
            self.rate = rate.max(1);
        }
    }

    /// SetCwnd, BoundCwndForProbeRTT and BoundCwndForModel.
    fn set_window(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        if is_recovering(self.state_before) && !is_recovering(at.state) {
            window.size = window.size.max(self.window_before);
        }
        if sample.acknowledged > 0 {
            let bandwidth = self.bandwidth();
            let target = self.product(bandwidth, self.window_gain);
            let target = self.quantize(target.saturating_add(self.aggregation.excess(bandwidth)));
            let grown = window.size.saturating_add(sample.acknowledged);
            if self.is_pipe_full {
                window.size = grown.min(target);
            } else if window.size < target
                || self.rates.delivered() < u64::from(self.window_initial)
            {
                window.size = grown;
            }
            window.size = window.size.max(WINDOW_MIN);
        }
        let bound = match self.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.long,
            Phase::Cruise => self.with_headroom(),
            Phase::ProbeRoundTrip => self.with_headroom().min(self.probe_window()),
            Phase::Startup | Phase::Drain => NONE,
        };
        window.size = window.size.min(bound.min(self.short).max(WINDOW_MIN));
    }

    fn save_window(&mut self, window: &Window) {
        if is_recovering(self.state_before) || self.phase == Phase::ProbeRoundTrip {
            self.window_before = self.window_before.max(window.size);
        } else {
            self.window_before = window.size;
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
        self.start_rate(minimum, window);
        self.aggregation.restart(micros(now));
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
        self.aggregation.restart(micros(at.now));
        if self.phase.is_probe_bandwidth() {
            self.set_rate(UNIT, at.smoothed, window);
        } else if self.phase == Phase::ProbeRoundTrip {
            self.check_probe(at.now, window);
        }
    }

    fn control(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        self.update_round(sample);
        self.update_signals(sample, window);
        self.update_aggregation(sample, window);
        self.check_losses(at, sample);
        self.check_pipe(sample);
        self.check_drain(at, window);
        self.update_cycle(at, sample, window);
        self.update_minimum(at, sample, window);
        self.update_gains();
        self.set_rate(self.pacing_gain, at.smoothed, window);
        self.set_window(at, sample, window);
        self.advance_signals(sample);
        self.state_before = at.state;
    }

    /// HandleSpuriousLossDetection.
    fn handle_undo(&mut self, window: &mut Window) {
        window.size = window.size.max(self.window_before);
        self.has_loss = false;
        self.reset_full();
        self.bandwidth_short = self.bandwidth_short.max(self.before.bandwidth);
        self.short = self.short.max(self.before.short);
        self.long = self.long.max(self.before.long);
        if self.phase == Phase::ProbeRoundTrip || self.phase == self.before.phase {
            return;
        }
        match self.before.phase {
            Phase::Startup => self.phase = Phase::Startup,
            Phase::Up => self.start_up(window),
            _ => {}
        }
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
            self.save_bounds();
        }
        self.has_loss = true;
        if self.is_probe_sample && is_too_high(loss.lost_since, loss.sent_in_flight) {
            let in_flight = in_flight_at_loss(loss);
            self.handle_too_high(micros(now), in_flight, loss.is_application_limited, window);
        }
    }
}

impl Control for Bbr3 {
    /// Has no effect: [`Bbr3`] sets the window with every acknowledgement, in every state.
    fn handle_acknowledgement(&mut self, _: Instant, _: &Acknowledgement, _: &mut Window) {}

    /// Returns the threshold as it is: a loss does not lower it (bbr_ssthresh).
    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        self.save_window(window);
        window.threshold
    }

    /// The search for a full pipe begins anew (bbr_set_state).
    fn handle_timeout(&mut self, _now: Instant) {
        self.state_before = State::Loss;
        self.reset_full();
        if !self.phase.is_accelerating() && self.short == NONE {
            self.short = self.window_before;
        }
    }
}

fn percent(segments: u32, percent: u64) -> u32 {
    (u64::from(segments) * percent / 100) as u32
}

/// What a bound keeps after a loss.
fn keep(bound: u32) -> u32 {
    percent(bound, KEEP_PERCENT)
}

/// Whether more than 2 % of the segments in flight are lost (IsInflightTooHigh).
fn is_too_high(lost: u32, in_flight: u32) -> bool {
    u64::from(lost) * 100 > u64::from(in_flight) * LOSS_PERCENT
}

/// Segments in flight at which losses exceed 2 % (InflightAtLoss; bbr_inflight_hi_from_lost_skb).
fn in_flight_at_loss(loss: &Loss) -> u32 {
    let before = loss.sent_in_flight.saturating_sub(1);
    let lost_before = u64::from(loss.lost_since.saturating_sub(1));
    let budget = (u64::from(before) * LOSS_PERCENT).div_ceil(100);
    let prefix = budget.saturating_sub(lost_before) * 100 / (100 - LOSS_PERCENT);
    before + prefix as u32
}
