//! What is known of one rate: this window's counts and the filtered success
//! probability.
//!
//! Linux replaced the exponentially weighted average of the probability by a
//! second-order low-pass in 5.8, which follows a change as fast and lets less
//! noise through: John Ehlers' "super smoother" with a period of 16 windows.

/// Coefficients of the low-pass: for the new value, the last average and the
/// one before. With a = exp(-sqrt(2) pi / 16): 2 a cos(2 sqrt(2) pi / 16) and
/// -a^2, as Linux has them in 1/4096; the first makes their sum one.
const FILTER_NEW: f64 = 1.0 - FILTER_LAST - FILTER_BEFORE;
const FILTER_LAST: f64 = 5_273.0 / 4_096.0;
const FILTER_BEFORE: f64 = -2_350.0 / 4_096.0;

/// The smallest probability that is still knowledge; zero means "never tried".
const PROBABILITY_MIN: f64 = 1.0 / 4_096.0;

/// Counts and average of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Statistics {
    /// MPDUs sent in this window.
    pub(super) attempts: u32,
    /// MPDUs of them acknowledged.
    pub(super) successes: u32,
    /// Filtered success probability; zero if nothing is known.
    pub(super) probability: f64,
    probability_before: f64,
    /// Was ever used, so that the probability is its own.
    tried: bool,
}

impl Statistics {
    /// Counts one PPDU.
    pub(super) fn count(&mut self, mpdus_sent: u16, mpdus_acked: u16) {
        self.attempts += u32::from(mpdus_sent);
        self.successes += u32::from(mpdus_acked);
    }

    /// Ends the window. `faster` is the best probability among the faster
    /// rates of the group: a rate never tried does no worse than those.
    /// Returns what the next slower rate may take for granted.
    pub(super) fn fold(&mut self, faster: f64) -> f64 {
        if self.attempts > 0 {
            self.tried = true;
            self.filter(f64::from(self.successes) / f64::from(self.attempts));
            self.attempts = 0;
            self.successes = 0;
        }
        if self.tried {
            return self.probability.max(faster);
        }
        self.probability = self.probability.max(faster);
        faster
    }

    fn filter(&mut self, ratio: f64) {
        let ratio = ratio.max(PROBABILITY_MIN);
        let last = self.probability;
        if last == 0.0 {
            self.probability = ratio;
            self.probability_before = ratio;
            return;
        }
        let filtered =
            FILTER_NEW * ratio + FILTER_LAST * last + FILTER_BEFORE * self.probability_before;
        self.probability_before = last;
        self.probability = filtered.clamp(PROBABILITY_MIN, 1.0);
    }

    /// "Sudden death": more than 30 attempts in this window and not a quarter succeeded.
    pub(super) fn collapsed(&self) -> bool {
        self.attempts > 30 && self.successes < self.attempts / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coefficients by their definition, not by their value.
    #[test]
    fn the_filter_has_period_sixteen() {
        let pi = core::f64::consts::PI;
        let root = libm::sqrt(2.0);
        let a = libm::exp(-pi * root / 16.0);
        assert!((FILTER_LAST - 2.0 * a * libm::cos(root * 2.0 * pi / 16.0)).abs() < 1e-3);
        assert!((FILTER_BEFORE + a * a).abs() < 1e-3);
    }

    #[test]
    fn the_average_settles_at_the_ratio() {
        let mut statistics = Statistics::default();
        for (ratio_percent, windows) in [(100, 1), (40, 30), (90, 30)] {
            for _ in 0..windows {
                statistics.count(100, ratio_percent);
                statistics.fold(0.0);
            }
            let ratio = f64::from(ratio_percent) / 100.0;
            assert!((statistics.probability - ratio).abs() < 0.01, "{statistics:?}");
        }
    }

    #[test]
    fn an_untried_rate_inherits_from_faster_ones() {
        let mut untried = Statistics::default();
        assert_eq!(untried.fold(0.7), 0.7);
        assert_eq!(untried.probability, 0.7);
        let mut tried = Statistics::default();
        tried.count(10, 2);
        assert_eq!(tried.fold(0.7), 0.7);
        assert_eq!(tried.probability, 0.2);
    }
}
