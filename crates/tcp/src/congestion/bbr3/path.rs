//! BBR v3's model of the path: rounds, bandwidth, aggregation, and the amounts in flight that
//! follow (draft-ietf-ccwg-bbr, 5.5 and 5.6.4.2). Amounts are in segments.

use super::super::bbr::{BANDWIDTH_SHIFT, UNIT};
use super::losses::percent;
use super::{Bbr3, NONE, Stage, WINDOW_MIN};
use crate::congestion::Window;
use crate::delivery_rate::RateSample;

/// Percent of the long-term bound left to others (Headroom; bbr_inflight_headroom).
const HEADROOM_PERCENT: u64 = 15;
/// Rounds over which aggregation is the maximum (ExtraAckedFilterLen).
const EXCESS_ROUNDS: u32 = 10;
/// Largest buffer of several segments (SetSendQuantum).
const QUANTUM_BYTES_MAX: u64 = 64 << 10;

impl Bbr3 {
    pub(super) fn maximum(&self) -> u32 {
        self.maxima[0].max(self.maxima[1])
    }

    /// Updates the bandwidth from the maximum and its bound (BoundBWForModel).
    pub(super) fn bound_bandwidth(&mut self) {
        self.bandwidth = self.maximum().min(self.bandwidth_short);
    }

    pub(super) fn start_round(&mut self) {
        self.round_end = self.rates.delivered();
    }

    pub(super) fn update_round(&mut self, sample: &RateSample) {
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
            self.rounds += 1;
            self.rounds_since_probe += 1;
            self.is_limited = [false, self.is_limited[0]];
        }
    }

    /// UpdateACKAggregation: the most segments acknowledged beyond those that the bandwidth
    /// explains, over the last ten rounds, or one before the pipe was full.
    pub(super) fn update_aggregation(&mut self, now: u64, sample: &RateSample, window: &Window) {
        let interval = u128::from(now.saturating_sub(self.interval_start));
        let bandwidth = u128::from(self.bandwidth);
        let mut expected = ((bandwidth * interval) >> BANDWIDTH_SHIFT) as u64;
        if self.interval_segments <= expected {
            self.start_interval(now);
            expected = 0;
        }
        self.interval_segments += u64::from(sample.acknowledged);
        let excess = (self.interval_segments - expected).min(u64::from(window.size)) as u32;
        let rounds = if self.is_pipe_full { EXCESS_ROUNDS } else { 1 };
        self.excess.update(rounds, self.rounds, excess);
    }

    pub(super) fn start_interval(&mut self, now: u64) {
        self.interval_start = now;
        self.interval_segments = 0;
    }

    /// The product of bandwidth, minimum round-trip time and gain in segments, rounded up
    /// (BDPMultiple; bbr_bdp).
    pub(super) fn product(&self, bandwidth: u32, gain: u32) -> u32 {
        let Some(minimum) = self.minimum else {
            return self.window_initial;
        };
        let product =
            u128::from(bandwidth) * u128::from(minimum) * u128::from(gain) / u128::from(UNIT);
        u32::try_from(product.div_ceil(1 << BANDWIDTH_SHIFT)).unwrap_or(NONE / 2)
    }

    /// Adds the allowance for offloading and for short paths (QuantizationBudget).
    pub(super) fn quantize(&self, segments: u32) -> u32 {
        let segments = segments.max(self.offload_budget()).max(WINDOW_MIN);
        if self.stage == Stage::Up { segments + 2 } else { segments }
    }

    /// Three buffers, each of a millisecond, at least two segments (SetSendQuantum,
    /// UpdateOffloadBudget).
    fn offload_budget(&self) -> u32 {
        let segment = u64::from(self.segment_bytes);
        let quantum = (self.rate / 1_000).min(QUANTUM_BYTES_MAX).max(2 * segment);
        (3 * quantum / segment) as u32
    }

    pub(super) fn target(&self, bandwidth: u32) -> u32 {
        self.quantize(self.product(bandwidth, UNIT))
    }

    /// Segments in flight that the flow wants: the product, without the allowance for buffers
    /// (TargetInflight).
    pub(super) fn wanted(&self, window: &Window) -> u32 {
        self.product(self.bandwidth, UNIT).min(window.size)
    }

    pub(super) fn with_headroom(&self) -> u32 {
        if self.long == NONE {
            return NONE;
        }
        let headroom = percent(self.long, HEADROOM_PERCENT).max(1);
        self.long.saturating_sub(headroom).max(WINDOW_MIN)
    }
}
