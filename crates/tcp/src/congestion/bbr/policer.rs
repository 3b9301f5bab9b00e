//! Long-term sampling of the bandwidth (bbr_lt_bw_sampling): recognises policers with token buckets
//! by two intervals with the same bandwidth and many losses, and then sends at their rate for 48
//! round trips. Bandwidths are in segments per microsecond times 2^24.

use super::{BANDWIDTH_SHIFT, UNIT};
use crate::delivery_rate::{DeliveryRate, RateSample};

/// Least round trips of an interval (bbr_lt_intvl_min_rtts); four times as many are too long.
const ROUNDS_MIN: u32 = 4;
/// Losses over deliveries, in 1/256, above which an interval is lossy: a fifth (bbr_lt_loss_thresh).
const LOSS_THRESHOLD: u64 = 50;
/// Largest difference of two bandwidths that count as the same, in 1/256 (bbr_lt_bw_ratio).
const RATIO_MAX: u64 = UNIT as u64 / 8;
/// Largest difference in bytes per second (bbr_lt_bw_diff).
pub(super) const DIFFERENCE_MAX: u64 = 4_000 / 8;
/// Round trips for which the bandwidth of a policer is used (bbr_lt_bw_max_rtts).
const USE_ROUNDS_MAX: u32 = 48;

/// Effect of a sample on the control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// The path has a policer, and its bandwidth is in use from now on.
    Begins,
    /// The bandwidth is no longer used.
    Ends,
}

/// The state of long-term sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policer {
    is_sampling: bool,
    is_in_use: bool,
    /// Round trips of the interval, or of the use.
    rounds: u32,
    /// Bandwidth of the last interval; zero for none.
    bandwidth: u32,
    // Counts at the start of the interval.
    delivered: u64,
    delivered_at_millis: u64,
    lost: u64,
}

impl Policer {
    /// The bandwidth to use instead of the maximum.
    pub(super) fn bandwidth(&self) -> Option<u32> {
        self.is_in_use.then_some(self.bandwidth)
    }

    /// Forgets all intervals.
    pub(super) fn reset(&mut self, rates: &DeliveryRate) {
        *self = Self::default();
        self.begin(rates);
    }

    fn begin(&mut self, rates: &DeliveryRate) {
        self.delivered_at_millis = rates.delivered_at() / 1_000;
        self.delivered = rates.delivered();
        self.lost = rates.lost();
        self.rounds = 0;
    }

    /// Handles a sample. `is_probing` is whether the control probes for bandwidth, and `to_bytes`
    /// converts a bandwidth to bytes per second.
    pub(super) fn handle_sample(
        &mut self,
        rates: &DeliveryRate,
        sample: &RateSample,
        is_round_start: bool,
        is_probing: bool,
        to_bytes: impl Fn(u32) -> u64,
    ) -> Change {
        if self.is_in_use {
            if is_probing && is_round_start {
                self.rounds += 1;
                if self.rounds >= USE_ROUNDS_MAX {
                    self.reset(rates);
                    return Change::Ends;
                }
            }
            return Change::None;
        }
        // The first loss shows that the bucket is empty: bursts before it say nothing.
        if !self.is_sampling {
            if sample.lost == 0 {
                return Change::None;
            }
            self.begin(rates);
            self.is_sampling = true;
        }
        if sample.is_application_limited {
            self.reset(rates);
            return Change::None;
        }
        self.rounds += u32::from(is_round_start);
        if self.rounds < ROUNDS_MIN {
            return Change::None;
        }
        if self.rounds > 4 * ROUNDS_MIN {
            self.reset(rates);
            return Change::None;
        }
        // An interval ends with a loss, when the bucket is empty again.
        if sample.lost == 0 {
            return Change::None;
        }
        let lost = rates.lost() - self.lost;
        let delivered = rates.delivered() - self.delivered;
        if delivered == 0 || lost * u64::from(UNIT) < LOSS_THRESHOLD * delivered {
            return Change::None;
        }
        let millis = (rates.delivered_at() / 1_000).saturating_sub(self.delivered_at_millis);
        if millis < 1 {
            return Change::None;
        }
        let bandwidth = (delivered << BANDWIDTH_SHIFT) / (millis * 1_000);
        self.end(rates, u32::try_from(bandwidth).unwrap_or(u32::MAX), to_bytes)
    }

    /// Ends an interval with this bandwidth.
    fn end(
        &mut self,
        rates: &DeliveryRate,
        bandwidth: u32,
        to_bytes: impl Fn(u32) -> u64,
    ) -> Change {
        if self.bandwidth > 0 {
            let difference = bandwidth.abs_diff(self.bandwidth);
            let is_close =
                u64::from(difference) * u64::from(UNIT) <= RATIO_MAX * u64::from(self.bandwidth);
            if is_close || to_bytes(difference) <= DIFFERENCE_MAX {
                let sum = u64::from(bandwidth) + u64::from(self.bandwidth);
                self.bandwidth = (sum / 2) as u32;
                self.is_in_use = true;
                self.rounds = 0;
                return Change::Begins;
            }
        }
        self.bandwidth = bandwidth;
        self.begin(rates);
        Change::None
    }
}
