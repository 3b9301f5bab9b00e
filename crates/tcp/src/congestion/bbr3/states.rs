//! The states of BBR v3 and their ends (draft-ietf-ccwg-bbr, 5.3). Times are in microseconds,
//! amounts in segments.

use lasthop_units::{Duration, Instant};

use super::super::bbr::UNIT;
use super::output::WINDOW_GAIN_PROBE;
use super::{Bbr3, Feedback, NONE, Stage, WINDOW_MIN};
use crate::State;
use crate::congestion::{Now, Window};
use crate::delivery_rate::{RateSample, micros};

/// Ranges of lost segments in a round that end `Startup` (BBRStartupFullLossCnt).
const FULL_LOSSES: u8 = 6;
/// Rounds without growth after which the pipe is full (bbr_full_bw_cnt).
const FULL_ROUNDS: u8 = 3;
/// Growth of the bandwidth after which the pipe may hold more (bbr_full_bw_thresh).
const FULL_GROWTH: u32 = UNIT * 5 / 4;
/// Full rounds after which `Drain` ends in any case (CheckDrainDone).
const DRAIN_ROUNDS: u32 = 3;
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

impl Bbr3 {
    pub(super) fn reset_full(&mut self) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.is_full_now = false;
    }

    pub(super) fn check_pipe(&mut self, sample: &RateSample) {
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

    /// Ends `Startup` after many losses (CheckStartupHighLoss). Losses start a round of them, so
    /// that its end is at least a round of recovery after the first.
    pub(super) fn check_losses(&mut self, at: &Now, sample: &RateSample) {
        let is_lossy = if self.has_sack {
            let is_lossy = self.is_loss_round_start
                && self.lost_ranges >= FULL_LOSSES
                && self.is_too_high(sample.lost_since, sample.sent_in_flight);
            if self.is_loss_round_start {
                (self.lost_ranges, self.lost_end) = (0, 0);
            }
            is_lossy
        } else {
            sample.lost > 0
        };
        if is_lossy
            && at.state == State::Recovery
            && self.stage == Stage::Startup
            && !self.is_pipe_full
        {
            self.before.left = Some(Stage::Startup);
            self.is_pipe_full = true;
            self.long = self.product(self.bandwidth, UNIT).max(self.latest_delivered);
        }
    }

    /// Begins `Drain` when the pipe is full, and ends it (EnterDrain, CheckDrainDone).
    pub(super) fn check_drain(&mut self, at: &Now, window: &mut Window) {
        if self.stage == Stage::Startup && self.is_pipe_full {
            self.stage = Stage::Drain;
            self.drain_start = self.rounds;
            window.threshold = self.target(self.maximum());
        }
        if self.stage == Stage::Drain {
            let is_late = self.rounds > self.drain_start + DRAIN_ROUNDS;
            if is_late || at.in_flight <= self.target(self.bandwidth) {
                self.start_down(micros(at.now));
            }
        }
    }

    pub(super) fn start_down(&mut self, now: u64) {
        self.reset_signals();
        self.up_each = NONE;
        self.rounds_since_probe = self.random.up_to(1);
        self.wait = PROBE_WAIT + u64::from(self.random.up_to(PROBE_WAIT_RANDOM - 1));
        self.cycle_start = now;
        self.feedback = Feedback::Stopping;
        self.start_round();
        self.stage = Stage::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.lift_short_bounds();
        self.up_rounds = 0;
        self.up_segments = 0;
        self.was_careful = false;
        self.feedback = Feedback::Refilling;
        self.start_round();
        self.stage = Stage::Refill;
    }

    pub(super) fn start_up(&mut self, window: &Window) {
        self.feedback = Feedback::Starting;
        self.start_round();
        self.reset_full();
        self.full_bandwidth = self.sample;
        self.stage = Stage::Up;
        self.raise_slope(window);
    }

    pub(super) fn raise_slope(&mut self, window: &Window) {
        self.up_each = (window.size >> self.up_rounds).max(1);
        self.up_rounds = (self.up_rounds + 1).min(30);
    }

    pub(super) fn is_window_limited(&self) -> bool {
        self.is_limited[0] || self.is_limited[1]
    }

    /// Whether the long-term bound, and not the path, stops the flow.
    pub(super) fn is_at_bound(&self, window: &Window) -> bool {
        self.is_window_limited() && window.size >= self.long
    }

    /// Adapts the maximum and the long-term bound (AdaptLongTermModel). Returns whether it decided
    /// on the state.
    pub(super) fn adapt_long(&mut self, sample: &RateSample, window: &Window) -> bool {
        if self.feedback == Feedback::Starting && self.is_round_start {
            self.feedback = Feedback::Arriving;
        }
        if self.feedback == Feedback::Stopping && self.is_round_start {
            self.is_probe_sample = false;
            self.feedback = Feedback::None;
            if self.stage.is_probe_bandwidth() {
                if !sample.is_application_limited && self.maxima[1] > 0 {
                    self.maxima = [self.maxima[1], 0];
                }
                if self.was_careful && !self.was_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.is_too_high(sample.lost_since, sample.sent_in_flight) || self.long == NONE {
            return false;
        }
        self.long = self.long.max(sample.sent_in_flight);
        if self.stage == Stage::Up && self.is_at_bound(window) {
            self.up_segments += sample.acknowledged;
            self.long += self.up_segments / self.up_each;
            self.up_segments %= self.up_each;
            if self.is_round_start {
                self.raise_slope(window);
            }
        }
        false
    }

    pub(super) fn is_time_to_probe(&self, now: u64, window: &Window) -> bool {
        let rounds = self.wanted(window).min(PROBE_ROUNDS_MAX);
        now > self.cycle_start + self.wait || self.rounds_since_probe >= rounds
    }

    pub(super) fn is_time_to_go_down(&mut self, at: &Now, window: &Window) -> bool {
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

    fn check_up(&mut self, at: &Now, window: &Window) {
        if self.is_time_to_go_down(at, window) {
            self.was_too_high = false;
            self.start_down(micros(at.now));
        }
    }

    pub(super) fn update_cycle(&mut self, at: &Now, sample: &RateSample, window: &Window) {
        if !self.is_pipe_full || self.adapt_long(sample, window) {
            return;
        }
        let now = micros(at.now);
        match self.stage {
            Stage::Down | Stage::Cruise if self.is_time_to_probe(now, window) => {
                self.start_refill();
            }
            Stage::Down => {
                let most = self.with_headroom().min(self.target(self.maximum()));
                if at.in_flight <= most {
                    self.stage = Stage::Cruise;
                }
            }
            Stage::Refill if self.is_round_start => {
                self.is_probe_sample = true;
                self.start_up(window);
            }
            Stage::Up => self.check_up(at, window),
            _ => {}
        }
    }

    /// UpdateMinRTT and CheckProbeRTT (bbr_update_min_rtt).
    pub(super) fn update_minimum(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        let is_due = at.now > self.probe_minimum_at + PROBE_INTERVAL;
        if let Some(round_trip) = sample.round_trip.map(Duration::as_micros) {
            let is_lower = self.probe_minimum.is_none_or(|minimum| round_trip < minimum);
            if is_lower || is_due {
                self.probe_minimum = Some(round_trip);
                self.probe_minimum_at = at.now;
            }
        }
        let is_expired = at.now > self.minimum_at + MINIMUM_LIFETIME;
        if let Some(lowest) = self.probe_minimum
            && (is_expired || self.minimum.is_none_or(|minimum| lowest < minimum))
        {
            self.minimum = Some(lowest);
            self.minimum_at = self.probe_minimum_at;
        }
        if is_due && !self.is_restart && self.stage != Stage::ProbeRoundTrip {
            // A window that losses or an earlier probe reduced does not replace the larger one.
            self.stage = Stage::ProbeRoundTrip;
            self.save_window(window);
            self.probe_end = None;
            self.feedback = Feedback::Stopping;
            self.start_round();
        }
        if self.stage == Stage::ProbeRoundTrip {
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

    pub(super) fn probe_window(&self) -> u32 {
        self.product(self.bandwidth, WINDOW_GAIN_PROBE).max(WINDOW_MIN)
    }

    /// Leaves `ProbeRoundTrip` if its time is over (CheckProbeRTTDone).
    pub(super) fn check_probe(&mut self, now: Instant, window: &mut Window) {
        if self.probe_end.is_none_or(|end| now <= end) {
            return;
        }
        self.probe_minimum_at = now;
        window.size = window.size.max(self.window_before);
        self.lift_short_bounds();
        if self.is_pipe_full {
            self.start_down(micros(now));
            self.stage = Stage::Cruise;
        } else {
            self.stage = Stage::Startup;
        }
    }
}
