//! The gains, the pacing rate and the window of BBR v3 (draft-ietf-ccwg-bbr, 5.6). The rate is in
//! bytes per second, the window in segments.

use lasthop_units::Duration;

use super::super::bbr::{UNIT, bytes_per_second, is_recovering};
use super::{Bbr3, NONE, Stage, WINDOW_MIN};
use crate::congestion::{Now, Window};
use crate::delivery_rate::RateSample;

/// Pacing gain of `Startup`: 4 ln 2 (draft, 2.4 StartupPacingGain; bbr_startup_pacing_gain).
pub(super) const STARTUP_GAIN: u32 = UNIT * 277 / 100 + 1;
/// Pacing gain of `Drain` (DrainPacingGain, 0.5; the kernel has 0.35).
pub(super) const DRAIN_GAIN: u32 = UNIT / 2;
/// Pacing gain of `Down` (ProbeDownPacingGain, 0.90; the kernel has 0.91).
pub(super) const DOWN_GAIN: u32 = UNIT * 90 / 100;
/// Pacing gain of `Up` (ProbeUpPacingGain, 1.25).
pub(super) const UP_GAIN: u32 = UNIT * 5 / 4;
/// Gain of the window (DefaultCwndGain, 2; bbr_cwnd_gain), and in `Up` (ProbeUpCwndGain, 2.25).
pub(super) const WINDOW_GAIN: u32 = UNIT * 2;
pub(super) const WINDOW_GAIN_UP: u32 = UNIT * 9 / 4;
/// Gain of the window in `ProbeRoundTrip` (ProbeRTTCwndGain; bbr_probe_rtt_cwnd_gain).
pub(super) const WINDOW_GAIN_PROBE: u32 = UNIT / 2;

impl Bbr3 {
    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.stage {
            Stage::Startup => (STARTUP_GAIN, WINDOW_GAIN),
            Stage::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            Stage::Down => (DOWN_GAIN, WINDOW_GAIN),
            Stage::Cruise | Stage::Refill => (UNIT, WINDOW_GAIN),
            Stage::Up => (UP_GAIN, WINDOW_GAIN_UP),
            Stage::ProbeRoundTrip => (UNIT, WINDOW_GAIN_PROBE),
        };
    }

    /// Sets the rate before the first sample, without the margin: the initial window in a round
    /// trip, or in a millisecond (InitPacingRate).
    pub(super) fn start_rate(&mut self, smoothed: Option<Duration>) {
        let micros = smoothed.map_or(1_000, |smoothed| smoothed.as_micros().max(1));
        self.has_round_trip = smoothed.is_some();
        let bytes = u64::from(self.window_initial) * u64::from(self.segment_bytes);
        let rate = bytes.saturating_mul(1_000_000 * u64::from(STARTUP_GAIN) / u64::from(UNIT));
        self.rate = (rate / micros).min(self.rate_max);
    }

    pub(super) fn set_rate(&mut self, gain: u32, smoothed: Option<Duration>) {
        let bandwidth = u64::from(self.bandwidth);
        let rate = bytes_per_second(bandwidth, self.segment_bytes, gain).min(self.rate_max);
        if !self.has_round_trip && smoothed.is_some() {
            self.start_rate(smoothed);
        }
        // Without an estimate of the bandwidth the initial rate remains (5.6.2).
        if self.bandwidth > 0 && (self.is_pipe_full || rate > self.rate) {
            self.rate = rate.max(1);
        }
    }

    /// SetCwnd, BoundCwndForProbeRTT and BoundCwndForModel.
    pub(super) fn set_window(&mut self, at: &Now, sample: &RateSample, window: &mut Window) {
        if is_recovering(self.state_before) && !is_recovering(at.state) {
            window.size = window.size.max(self.window_before);
        }
        if sample.acknowledged > 0 {
            let bandwidth = self.bandwidth;
            let target = self.product(bandwidth, self.window_gain);
            let target = self.quantize(target.saturating_add(self.excess.value()));
            let grown = window.size.saturating_add(sample.acknowledged);
            if self.is_pipe_full {
                window.size = grown.min(target);
            } else if window.size < target
                || self.rates.delivered() <= u64::from(self.window_initial)
            {
                window.size = grown;
            }
            window.size = window.size.max(WINDOW_MIN);
        }
        let bound = match self.stage {
            Stage::Down | Stage::Refill | Stage::Up => self.long,
            Stage::Cruise => self.with_headroom(),
            Stage::ProbeRoundTrip => self.with_headroom().min(self.probe_window()),
            Stage::Startup | Stage::Drain => NONE,
        };
        window.size = window.size.min(bound.min(self.short).max(WINDOW_MIN));
    }

    pub(super) fn save_window(&mut self, window: &Window) {
        if is_recovering(self.state_before) || self.stage == Stage::ProbeRoundTrip {
            self.window_before = self.window_before.max(window.size);
        } else {
            self.window_before = window.size;
        }
    }
}
