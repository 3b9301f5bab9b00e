//! Losses of BBR v3: the bounds that they set for a short and for a long time (draft-ietf-ccwg-bbr,
//! 5.5.10). Amounts are in segments.

use super::{Bbr3, Before, NONE, Stage};
use crate::congestion::Window;
use crate::delivery_rate::{Loss, RateSample};

/// Percent of losses above which too much is in flight (LossThresh; bbr_loss_thresh).
const LOSS_PERCENT: u64 = 2;
/// Percent that a bound keeps (Beta; 1 - bbr_beta).
const KEEP_PERCENT: u64 = 70;

impl Bbr3 {
    pub(super) fn update_signals(&mut self, sample: &RateSample, window: &Window) {
        self.is_loss_round_start = false;
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
        if self.has_loss && !self.stage.is_accelerating() {
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

    pub(super) fn advance_signals(&mut self, sample: &RateSample) {
        if self.is_loss_round_start {
            self.latest_bandwidth = self.sample;
            self.latest_delivered = sample.delivered.unwrap_or(0) as u32;
        }
    }

    pub(super) fn reset_signals(&mut self) {
        self.has_loss = false;
        self.latest_bandwidth = 0;
        self.latest_delivered = 0;
    }

    pub(super) fn lift_short_bounds(&mut self) {
        self.bandwidth_short = NONE;
        self.short = NONE;
    }

    /// Whether more than 2 % of the segments in flight are lost, or any without SACK
    /// (IsInflightTooHigh).
    pub(super) fn is_too_high(&self, lost: u32, in_flight: u32) -> bool {
        let is_above = u64::from(lost) * 100 > u64::from(in_flight) * LOSS_PERCENT;
        is_above || (lost > 0 && !self.has_sack)
    }

    /// HandleInflightTooHigh, at `in_flight` segments.
    pub(super) fn handle_too_high(
        &mut self,
        now: u64,
        in_flight: u32,
        is_limited: bool,
        window: &Window,
    ) {
        self.was_too_high = true;
        self.is_probe_sample = false;
        if !is_limited {
            self.long = in_flight.max(keep(self.wanted(window)));
        }
        if self.stage == Stage::Up {
            self.before.left = Some(Stage::Up);
            self.start_down(now);
        }
    }

    /// Saves the state before an episode of losses (SaveStateUponLoss). NoteLoss of the pseudocode
    /// also saves it with the first loss of each round, which forgets the state to restore with the
    /// next loss after HandleInflightTooHigh.
    pub(super) fn save_state(&mut self, window: &Window) {
        self.save_window(window);
        self.before = Before {
            left: None,
            bandwidth: self.bandwidth_short,
            short: self.short,
            long: self.long,
        };
    }

    /// Restores the state of before an episode of losses that were none
    /// (HandleSpuriousLossDetection).
    pub(super) fn restore_state(&mut self, window: &mut Window) {
        window.size = window.size.max(self.window_before);
        self.has_loss = false;
        self.reset_full();
        self.bandwidth_short = self.bandwidth_short.max(self.before.bandwidth);
        self.short = self.short.max(self.before.short);
        self.long = self.long.max(self.before.long);
        let is_probe = self.stage == Stage::ProbeRoundTrip;
        match self.before.left.take().filter(|&left| left != self.stage) {
            Some(Stage::Startup) => {
                self.is_pipe_full = false;
                if !is_probe {
                    self.stage = Stage::Startup;
                }
            }
            Some(_) if !is_probe => self.start_refill(),
            _ => {}
        }
    }
}

pub(super) fn percent(segments: u32, percent: u64) -> u32 {
    (u64::from(segments) * percent / 100) as u32
}

/// The part of a bound that remains after a loss.
pub(super) fn keep(bound: u32) -> u32 {
    percent(bound, KEEP_PERCENT)
}

/// Whole segments in flight at which losses exceed 2 % (InflightAtLoss): those before the lost one,
/// and the part of it until then, which is not negative.
pub(super) fn in_flight_at_loss(loss: &Loss) -> u32 {
    let before = loss.sent_in_flight.saturating_sub(1);
    let lost_before = u64::from(loss.lost_since.saturating_sub(1));
    let budget_percent = u64::from(before) * LOSS_PERCENT;
    let prefix = budget_percent.saturating_sub(lost_before * 100) / (100 - LOSS_PERCENT);
    before + prefix as u32
}
