//! The estimate of aggregation on the path (bbr_update_ack_aggregation): the largest number of
//! segments acknowledged in excess of those that the bandwidth explains, over five to ten round
//! trips. Wi-Fi's aggregates and delayed acknowledgements cause such excess. Counts are in segments,
//! times in microseconds, bandwidths in segments per microsecond times 2^24.

use super::BANDWIDTH_SHIFT;

/// Round trips after which the older half of the window is forgotten (bbr_extra_acked_win_rtts).
const HALF_ROUNDS: u32 = 5;
/// Segments of an epoch after which another begins (bbr_ack_epoch_acked_reset_thresh).
const EPOCH_SEGMENTS_MAX: u64 = 1 << 20;
/// Time at the bandwidth that bounds the excess: 100 ms (bbr_extra_acked_max_us).
const EXCESS_MICROS_MAX: u64 = 100_000;

/// The state of the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Aggregation {
    epoch_start: u64,
    /// Segments acknowledged in the epoch.
    epoch_segments: u64,
    /// Largest excess in each half of the window.
    halves: [u32; 2],
    half: usize,
    rounds: u32,
}

impl Aggregation {
    /// Begins an epoch at `now`.
    pub(super) fn restart(&mut self, now: u64) {
        self.epoch_start = now;
        self.epoch_segments = 0;
    }

    /// Handles `acknowledged` segments, delivered at `now`. The excess counts up to `window`.
    pub(super) fn handle_acknowledgement(
        &mut self,
        now: u64,
        acknowledged: u32,
        is_round_start: bool,
        bandwidth: u32,
        window: u32,
    ) {
        if is_round_start {
            self.rounds += 1;
            if self.rounds >= HALF_ROUNDS {
                self.rounds = 0;
                self.half = 1 - self.half;
                self.halves[self.half] = 0;
            }
        }
        let acknowledged = u64::from(acknowledged);
        let epoch = u128::from(now.saturating_sub(self.epoch_start));
        let mut expected = ((u128::from(bandwidth) * epoch) >> BANDWIDTH_SHIFT) as u64;
        // Acknowledgements slower than the bandwidth: no aggregate explains them.
        if self.epoch_segments <= expected
            || self.epoch_segments + acknowledged >= EPOCH_SEGMENTS_MAX
        {
            self.restart(now);
            expected = 0;
        }
        self.epoch_segments = (self.epoch_segments + acknowledged).min(EPOCH_SEGMENTS_MAX - 1);
        let excess = (self.epoch_segments - expected).min(u64::from(window)) as u32;
        self.halves[self.half] = self.halves[self.half].max(excess);
    }

    /// Segments to add to the window.
    pub(super) fn excess(&self, bandwidth: u32) -> u32 {
        let most = (u64::from(bandwidth) * EXCESS_MICROS_MAX) >> BANDWIDTH_SHIFT;
        let excess = self.halves[0].max(self.halves[1]);
        excess.min(u32::try_from(most).unwrap_or(u32::MAX))
    }
}
