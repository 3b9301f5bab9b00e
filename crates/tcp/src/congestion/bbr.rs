//! BBR v1: congestion control by a model of the path, the maximum of the delivery rate over ten
//! round trips and the minimum of the round-trip time over ten seconds. The rules and constants are
//! those of Linux 6 (tcp_bbr.c); [draft-cardwell-iccrg-bbr-congestion-control-00] describes them.
//! Windows are in segments, bandwidths in segments per microsecond times 2^24, gains in 1/256.
//!
//! | mode | pacing gain | window gain | ends |
//! |---|---|---|---|
//! | `Startup` | 739 (2.89) | 739 | three rounds without 25 % more bandwidth: `Drain` |
//! | `Drain` | 88 (0.34) | 739 | at most one product of bandwidth and delay is in the network: `ProbeBandwidth` |
//! | `ProbeBandwidth` | 320, 192, six times 256 | 512 | ten seconds without a new minimum: `ProbeRoundTrip` |
//! | `ProbeRoundTrip` | 256 | 256, at most 4 segments | 200 ms and a round with at most 4 segments in flight: `ProbeBandwidth`, or `Startup` before the pipe was full |
//!
//! A phase of `ProbeBandwidth` lasts longer than the minimum round trip. That of 320 also waits until
//! its gain is in flight, or a loss; that of 192 ends when the queue is drained. The first phase is
//! random, and never that of 192. `Startup` and `Drain`, too, pass into `ProbeRoundTrip`.
//!
//! The window is set with every acknowledgement, in recovery too; there is no reduction in
//! proportion ([`crate::prr`]), growth or validation of the window. The threshold only records the
//! product of bandwidth and delay when the pipe is full. The first round of a recovery conserves
//! segments, and its end restores the window; a policer on the path is recognised (`policer`), and
//! aggregation compensated (`aggregation`).
//!
//! Left out: ticks (HZ): times of seconds are exact. Segments of a buffer of several
//! ([`crate::Config::send_offload`]) are paced one by one.
//!
//! [draft-cardwell-iccrg-bbr-congestion-control-00]: https://datatracker.ietf.org/doc/html/draft-cardwell-iccrg-bbr-congestion-control-00

mod aggregation;
mod policer;
#[cfg(test)]
mod tests;

use lasthop_units::{Bitrate, Duration, Instant, Seed, Stream};

use super::windowed_max::WindowedMax;
use super::{Acknowledgement, Control, Model, Window};
use crate::delivery_rate::{DeliveryRate, RateSample, micros};
use crate::{Config, Pacing, SmallQueues, State};
use aggregation::Aggregation;
use policer::{Change, Policer};

/// Scale of bandwidths (BW_SCALE).
pub(super) const BANDWIDTH_SHIFT: u32 = 24;
/// Gain of 1 (BBR_UNIT).
pub(super) const UNIT: u32 = 256;
/// Gain that doubles the rate each round: 2 / ln 2 (bbr_high_gain).
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
/// Gain that drains the queue of the start in a round (bbr_drain_gain).
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// Gain of the window while probing for bandwidth (bbr_cwnd_gain).
const WINDOW_GAIN: u32 = UNIT * 2;
/// Pacing gains of the cycle (bbr_pacing_gain).
const CYCLE: [u32; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Number of phases in which a cycle may begin (bbr_cycle_rand).
const FIRST_PHASES: u32 = 7;
/// Round trips over which the bandwidth is the maximum (bbr_bw_rtts).
const BANDWIDTH_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// Time over which the round-trip time is the minimum (bbr_min_rtt_win_sec).
const MINIMUM_LIFETIME: Duration = Duration::from_secs(10);
/// Least time with few segments in flight (bbr_probe_rtt_mode_ms).
const PROBE_TIME: Duration = Duration::from_millis(200);
/// Least window in segments (bbr_cwnd_min_target).
const WINDOW_MIN: u32 = 4;
/// Window before the first round-trip time (TCP_INIT_CWND).
const WINDOW_INITIAL: u32 = 10;
/// Growth of the bandwidth after which the pipe may hold more (bbr_full_bw_thresh).
const FULL_GROWTH: u32 = UNIT * 5 / 4;
/// Rounds with less growth after which it is full (bbr_full_bw_cnt).
const FULL_ROUNDS: u8 = 3;
/// Percent below the bandwidth of the pacing rate (bbr_pacing_margin_percent).
const MARGIN_PERCENT: u64 = 1;
/// Rate in bytes per second below which a buffer may have one segment (bbr_min_tso_rate).
const SINGLE_RATE_MAX: u64 = 1_200_000 / 8;
/// Most bytes and segments of a buffer (GSO_MAX_SIZE less MAX_TCP_HEADER, bbr_tso_segs_goal).
const BUFFER_BYTES_MAX: u64 = 65_536 - 1 - 320;
const BUFFER_SEGMENTS_MAX: u64 = 0x7F;

/// Linux' sk_pacing_shift where no driver sets it.
const PACING_SHIFT: u8 = 10;

/// The mode of the control, see the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRoundTrip,
}

/// The sender's state at an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub now: Instant,
    /// Instant at which pacing lets the next segment leave.
    pub departure: Instant,
    /// Segments in flight.
    pub in_flight: u32,
    pub state: State,
    /// Smoothed round-trip time.
    pub smoothed: Option<Duration>,
}

/// Congestion control by BBR v1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bbr {
    pub(crate) rates: DeliveryRate,
    segment_bytes: u32,
    /// Upper bound of the pacing rate in bytes per second (SO_MAX_PACING_RATE).
    rate_max: u64,
    pacing_shift: u8,
    random: Stream,

    // The model of the path.
    bandwidth: WindowedMax,
    /// Minimum round-trip time in microseconds, and the instant of its measurement.
    minimum: Option<u64>,
    minimum_at: Instant,
    /// Number of round trips, counted by segments.
    rounds: u32,
    /// Count of delivered segments at which the round ends.
    round_end: u64,
    is_round_start: bool,
    policer: Policer,
    aggregation: Aggregation,

    // The mode.
    mode: Mode,
    phase: usize,
    /// Start of the phase in microseconds.
    phase_start: u64,
    is_pipe_full: bool,
    /// Bandwidth when it last grew, and rounds since.
    full_bandwidth: u32,
    full_rounds: u8,
    /// Earliest end of the mode `ProbeRoundTrip`, once few segments are in flight.
    probe_end: Option<Instant>,
    has_probe_round: bool,
    /// Whether the connection was idle and nothing was acknowledged since.
    is_restart: bool,

    // Results.
    pacing_gain: u32,
    window_gain: u32,
    /// Bytes per second.
    rate: u64,
    has_round_trip: bool,

    // Recovery.
    state_before: State,
    window_before: u32,
    conserves: bool,
}

impl Bbr {
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
            random: Seed::new(config.seed, 0).stream("tcp/bbr"),
            bandwidth: WindowedMax::default(),
            minimum: None,
            minimum_at: Instant::ZERO,
            rounds: 0,
            round_end: 0,
            is_round_start: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            mode: Mode::Startup,
            phase: 0,
            phase_start: 0,
            is_pipe_full: false,
            full_bandwidth: 0,
            full_rounds: 0,
            probe_end: None,
            has_probe_round: false,
            is_restart: false,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            rate: u64::MAX,
            has_round_trip: false,
            state_before: State::Open,
            window_before: 0,
            conserves: false,
        }
    }

    /// Starts the control when the connection opens (bbr_init). `minimum` is the round-trip time of
    /// the handshake.
    pub(crate) fn open(&mut self, now: Instant, minimum: Option<Duration>, window: &mut Window) {
        window.threshold = u32::MAX;
        self.minimum = minimum.map(Duration::as_micros);
        self.minimum_at = now;
        self.start_rate(minimum, window);
        self.policer.reset(&self.rates);
        self.aggregation.restart(micros(now));
    }

    /// The pacing rate, in payload bits per second.
    pub(crate) fn pacing_rate(&self) -> Bitrate {
        Bitrate::from_bps(self.rate.saturating_mul(8))
    }

    /// Handles the transmission of data with nothing in flight (CA_EVENT_TX_START).
    pub(crate) fn handle_start(&mut self, at: &Now, window: &mut Window) {
        if !self.rates.is_application_limited() {
            return;
        }
        self.is_restart = true;
        self.aggregation.restart(micros(at.now));
        match self.mode {
            Mode::ProbeBandwidth => self.set_rate(UNIT, at.smoothed, window),
            Mode::ProbeRoundTrip => self.check_probe(at.now, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Handles an acknowledgement: updates the model, the mode, the pacing rate and the window.
    pub(crate) fn control(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        self.update_bandwidth(sample);
        self.update_aggregation(sample, window);
        if self.mode == Mode::ProbeBandwidth && self.is_phase_over(at, sample) {
            self.advance_phase();
        }
        self.check_pipe(sample);
        self.check_drain(at, window);
        self.update_minimum(at, sample, window);
        self.update_gains();
        self.set_rate(self.pacing_gain, at.smoothed, window);
        self.set_window(at, sample, window);
    }

    /// Handles a reduction that was not necessary. The window stays as it is (bbr_undo_cwnd).
    pub(crate) fn handle_undo(&mut self) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.policer.reset(&self.rates);
    }

    // The model.

    /// The bandwidth in use (bbr_bw).
    fn bandwidth(&self) -> u32 {
        self.policer.bandwidth().unwrap_or(self.bandwidth.value())
    }

    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.is_round_start = false;
        let Some((delivered, interval)) = sample.observation() else {
            return;
        };
        if sample.prior_delivered >= self.round_end {
            self.round_end = self.rates.delivered();
            self.rounds += 1;
            self.is_round_start = true;
            self.conserves = false;
        }
        self.sample_policer(sample);
        let bandwidth =
            u32::try_from((delivered << BANDWIDTH_SHIFT) / interval).unwrap_or(u32::MAX);
        // Samples that the application limits tell of the path only if they are high.
        if !sample.is_application_limited || bandwidth >= self.bandwidth.value() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, bandwidth);
        }
    }

    fn sample_policer(&mut self, sample: &RateSample) {
        let segment_bytes = self.segment_bytes;
        let change = self.policer.handle_sample(
            &self.rates,
            sample,
            self.is_round_start,
            self.mode == Mode::ProbeBandwidth,
            |bandwidth| bytes_per_second(u64::from(bandwidth), segment_bytes, UNIT),
        );
        match change {
            Change::None => {}
            Change::Begins => self.pacing_gain = UNIT,
            Change::Ends => self.probe_bandwidth(),
        }
    }

    fn update_aggregation(&mut self, sample: &RateSample, window: &Window) {
        if sample.acknowledged > 0 && sample.observation().is_some() {
            let bandwidth = self.bandwidth();
            self.aggregation.handle_acknowledgement(
                self.rates.delivered_at(),
                sample.acknowledged,
                self.is_round_start,
                bandwidth,
                window.size,
            );
        }
    }

    /// The product of bandwidth, minimum round-trip time and gain in segments, rounded up (bbr_bdp).
    fn product(&self, bandwidth: u32, gain: u32) -> u32 {
        let Some(minimum) = self.minimum else {
            return WINDOW_INITIAL;
        };
        let product =
            u128::from(bandwidth) * u128::from(minimum) * u128::from(gain) / u128::from(UNIT);
        let segments = product.div_ceil(1 << BANDWIDTH_SHIFT);
        u32::try_from(segments).unwrap_or(u32::MAX / 2)
    }

    /// Adds the segments that wait in buffers of both hosts (bbr_quantization_budget).
    fn quantize(&self, segments: u32) -> u32 {
        let mut segments = segments.saturating_add(3 * self.buffer_segments());
        segments += segments & 1;
        if self.mode == Mode::ProbeBandwidth && self.phase == 0 {
            segments += 2;
        }
        segments
    }

    /// Segments of a buffer at the pacing rate (bbr_tso_segs_goal).
    fn buffer_segments(&self) -> u32 {
        let bytes = (self.rate >> self.pacing_shift).min(BUFFER_BYTES_MAX);
        let least = if self.rate < SINGLE_RATE_MAX { 1 } else { 2 };
        (bytes / u64::from(self.segment_bytes)).max(least).min(BUFFER_SEGMENTS_MAX) as u32
    }

    /// Segments in flight that a gain calls for (bbr_inflight).
    fn target(&self, bandwidth: u32, gain: u32) -> u32 {
        self.quantize(self.product(bandwidth, gain))
    }

    /// Segments that will be in the network when the next one leaves (bbr_packets_in_net_at_edt).
    fn in_network(&self, at: &Now, in_flight: u32) -> u32 {
        let wait = at.departure.saturating_since(at.now).as_micros();
        let delivered =
            ((u128::from(self.bandwidth()) * u128::from(wait)) >> BANDWIDTH_SHIFT) as u64;
        let buffer = if self.pacing_gain > UNIT { self.buffer_segments() } else { 0 };
        u64::from(in_flight + buffer).saturating_sub(delivered) as u32
    }

    // Modes.

    fn is_phase_over(&self, at: &Now, sample: &RateSample) -> bool {
        let elapsed = self.rates.delivered_at().saturating_sub(self.phase_start);
        let is_long = self.minimum.is_some_and(|minimum| elapsed > minimum);
        if self.pacing_gain == UNIT {
            return is_long;
        }
        let in_network = self.in_network(at, sample.prior_in_flight);
        let bandwidth = self.bandwidth.value();
        if self.pacing_gain > UNIT {
            is_long && (sample.lost > 0 || in_network >= self.target(bandwidth, self.pacing_gain))
        } else {
            is_long || in_network <= self.target(bandwidth, UNIT)
        }
    }

    fn advance_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = self.rates.delivered_at();
    }

    /// Enters `ProbeBandwidth` in a random phase (bbr_reset_probe_bw_mode).
    fn probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.phase = CYCLE.len() - 1 - self.random.up_to(FIRST_PHASES - 1) as usize;
        self.advance_phase();
    }

    fn check_pipe(&mut self, sample: &RateSample) {
        if self.is_pipe_full || !self.is_round_start || sample.is_application_limited {
            return;
        }
        let grown = u64::from(self.full_bandwidth) * u64::from(FULL_GROWTH) / u64::from(UNIT);
        if u64::from(self.bandwidth.value()) >= grown {
            self.full_bandwidth = self.bandwidth.value();
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
            self.is_pipe_full = self.full_rounds >= FULL_ROUNDS;
        }
    }

    fn check_drain(&mut self, at: &Now, window: &mut Window) {
        let target = |control: &Self| control.target(control.bandwidth.value(), UNIT);
        if self.mode == Mode::Startup && self.is_pipe_full {
            self.mode = Mode::Drain;
            window.threshold = target(self);
        }
        if self.mode == Mode::Drain && self.in_network(at, at.in_flight) <= target(self) {
            self.probe_bandwidth();
        }
    }

    fn update_minimum(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        let is_expired = at.now > self.minimum_at + MINIMUM_LIFETIME;
        if let Some(round_trip) = sample.round_trip.map(Duration::as_micros) {
            let is_lower = self.minimum.is_none_or(|minimum| round_trip <= minimum);
            if is_lower || (is_expired && !sample.is_delayed) {
                self.minimum = Some(round_trip);
                self.minimum_at = at.now;
            }
        }
        if is_expired && !self.is_restart && self.mode != Mode::ProbeRoundTrip {
            self.mode = Mode::ProbeRoundTrip;
            self.save_window(window);
            self.probe_end = None;
        }
        if self.mode == Mode::ProbeRoundTrip {
            // Samples of this mode are low.
            self.rates.limit(at.in_flight);
            if self.probe_end.is_none() && at.in_flight <= WINDOW_MIN {
                self.probe_end = Some(at.now + PROBE_TIME);
                self.has_probe_round = false;
                self.round_end = self.rates.delivered();
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

    /// Leaves `ProbeRoundTrip` if its time is over (bbr_check_probe_rtt_done).
    fn check_probe(&mut self, now: Instant, window: &mut Window) {
        if self.probe_end.is_none_or(|end| now <= end) {
            return;
        }
        self.minimum_at = now;
        window.size = window.size.max(self.window_before);
        if self.is_pipe_full {
            self.probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.bandwidth().is_some() => (UNIT, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRoundTrip => (UNIT, UNIT),
        };
    }

    // Results.

    /// Sets the rate before the first sample: the window in a round trip, or in a millisecond.
    fn start_rate(&mut self, smoothed: Option<Duration>, window: &Window) {
        let micros = smoothed.map_or(1_000, |smoothed| smoothed.as_micros().max(1));
        self.has_round_trip = smoothed.is_some();
        let bandwidth = (u64::from(window.size) << BANDWIDTH_SHIFT) / micros;
        let bandwidth = bandwidth.min(u64::from(u32::MAX));
        self.rate = bytes_per_second(bandwidth, self.segment_bytes, HIGH_GAIN).min(self.rate_max);
    }

    fn set_rate(&mut self, gain: u32, smoothed: Option<Duration>, window: &Window) {
        let bandwidth = u64::from(self.bandwidth());
        let rate = bytes_per_second(bandwidth, self.segment_bytes, gain).min(self.rate_max);
        if !self.has_round_trip && smoothed.is_some() {
            self.start_rate(smoothed, window);
        }
        if self.is_pipe_full || rate > self.rate {
            self.rate = rate;
        }
    }

    fn set_window(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        let acknowledged = sample.acknowledged;
        if acknowledged > 0 && !self.conserve(at, sample, window) {
            let bandwidth = self.bandwidth();
            let mut target = self.product(bandwidth, self.window_gain);
            if self.is_pipe_full {
                target = target.saturating_add(self.aggregation.excess(bandwidth));
            }
            let target = self.quantize(target);
            let grown = window.size.saturating_add(acknowledged);
            if self.is_pipe_full {
                window.size = grown.min(target);
            } else if window.size < target || self.rates.delivered() < u64::from(WINDOW_INITIAL) {
                window.size = grown;
            }
            window.size = window.size.max(WINDOW_MIN);
        }
        if self.mode == Mode::ProbeRoundTrip {
            window.size = window.size.min(WINDOW_MIN);
        }
    }

    /// Adapts the window at the start and the end of a recovery, and after losses. Returns whether
    /// the window conserves the segments in flight (bbr_set_cwnd_to_recover_or_restore).
    fn conserve(&mut self, at: &Now, sample: &RateSample, window: &mut Window) -> bool {
        let conserved = at.in_flight.saturating_add(sample.acknowledged);
        window.size = window.size.saturating_sub(sample.lost).max(1);
        if at.state == State::Recovery && self.state_before != State::Recovery {
            self.conserves = true;
            self.round_end = self.rates.delivered();
            window.size = conserved;
        } else if is_recovering(self.state_before) && !is_recovering(at.state) {
            window.size = window.size.max(self.window_before);
            self.conserves = false;
        }
        self.state_before = at.state;
        if self.conserves {
            window.size = window.size.max(conserved);
        }
        self.conserves
    }

    /// Keeps the window of before a recovery, or before `ProbeRoundTrip` (bbr_save_cwnd).
    fn save_window(&mut self, window: &Window) {
        if is_recovering(self.state_before) || self.mode == Mode::ProbeRoundTrip {
            self.window_before = self.window_before.max(window.size);
        } else {
            self.window_before = window.size;
        }
    }
}

impl Model for Bbr {
    fn rates(&mut self) -> &mut DeliveryRate {
        &mut self.rates
    }

    fn open(&mut self, now: Instant, minimum: Option<Duration>, window: &mut Window) {
        Self::open(self, now, minimum, window);
    }

    fn set_segment_bytes(&mut self, bytes: u32) {
        self.segment_bytes = bytes;
    }

    fn pacing_rate(&self) -> Bitrate {
        Self::pacing_rate(self)
    }

    fn handle_start(&mut self, at: &Now, window: &mut Window) {
        Self::handle_start(self, at, window);
    }

    fn control(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        Self::control(self, at, sample, window);
    }

    fn handle_undo(&mut self, _window: &mut Window) {
        Self::handle_undo(self);
    }
}

impl Control for Bbr {
    /// Has no effect: [`Bbr`] sets the window with every acknowledgement, in every state.
    fn handle_acknowledgement(&mut self, _: Instant, _: &Acknowledgement, _: &mut Window) {}

    /// Returns the threshold as it is: a loss does not lower it (bbr_ssthresh).
    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        self.save_window(window);
        window.threshold
    }

    /// Ends a round, and the search for a full pipe begins anew (bbr_set_state).
    fn handle_timeout(&mut self, _now: Instant) {
        self.state_before = State::Loss;
        self.full_bandwidth = 0;
        self.is_round_start = true;
        self.sample_policer(&RateSample { lost: 1, ..RateSample::default() });
    }
}

/// A bandwidth with a gain, less the margin, in payload bytes per second (bbr_rate_bytes_per_sec).
pub(super) fn bytes_per_second(bandwidth: u64, segment_bytes: u32, gain: u32) -> u64 {
    let rate = bandwidth * u64::from(segment_bytes) * u64::from(gain) / u64::from(UNIT);
    rate.saturating_mul(1_000_000 / 100 * (100 - MARGIN_PERCENT)) >> BANDWIDTH_SHIFT
}

/// Whether lost segments are being repaired.
pub(super) fn is_recovering(state: State) -> bool {
    matches!(state, State::Recovery | State::Loss)
}
