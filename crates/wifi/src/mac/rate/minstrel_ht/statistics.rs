//! Statistics of one rate: this window's counts and the filtered success probability.
//!
//! In 5.8 Linux replaced the exponentially weighted average of the probability by a second-order
//! low-pass, which follows a change as fast and suppresses more noise: John Ehlers' "super
//! smoother" with a period of 16 windows. The arithmetic is that of Linux, in integers.

/// Fractions are in 1/4096 (MINSTREL_SCALE).
pub(super) const SCALE_BITS: u32 = 12;
/// The fraction 1 in this scale.
pub(super) const ONE: u32 = 1 << SCALE_BITS;

/// Coefficients of the low-pass: for the new value, the last average and the
/// one before. With a = exp(-sqrt(2) pi / 16): 2 a cos(2 sqrt(2) pi / 16) and
/// -a^2, in 1/4096; the first makes their sum one.
const FILTER_NEW: i32 = 4_096 - FILTER_LAST - FILTER_BEFORE;
const FILTER_LAST: i32 = 5_273;
const FILTER_BEFORE: i32 = -2_350;

/// `numerator / denominator`, truncated (MINSTREL_FRAC).
pub(super) const fn fraction(numerator: u32, denominator: u32) -> u32 {
    (numerator << SCALE_BITS) / denominator
}

/// Counts and average of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Statistics {
    /// MPDUs sent in this window.
    pub(super) attempts: u32,
    /// MPDUs of these that were acknowledged.
    pub(super) successes: u32,
    /// Filtered success probability in 1/4096; zero if nothing is known.
    pub(super) probability: u32,
    probability_before: u32,
    /// MPDUs sent and acknowledged in the last window.
    pub(super) last: (u32, u32),
    /// MPDUs sent and acknowledged in all windows. If any was sent, the probability comes from the
    /// rate's own counts.
    pub(super) total: (u64, u64),
}

impl Statistics {
    /// Counts transmissions of MPDUs.
    pub(super) fn count(&mut self, mpdus_sent: u32, mpdus_acked: u32) {
        self.attempts += mpdus_sent;
        self.successes += mpdus_acked;
    }

    /// Ends the window. `faster` is the best probability among the faster rates of the group: a
    /// rate never tried has at least that. Returns the least probability of the next slower rate.
    pub(super) fn fold(&mut self, faster: u32) -> u32 {
        self.last = (self.attempts, self.successes);
        if self.attempts > 0 {
            self.filter(fraction(self.successes, self.attempts));
            self.total.0 += u64::from(self.attempts);
            self.total.1 += u64::from(self.successes);
            self.attempts = 0;
            self.successes = 0;
        }
        if self.total.0 > 0 {
            return self.probability.max(faster);
        }
        self.probability = self.probability.max(faster);
        faster
    }

    fn filter(&mut self, ratio: u32) {
        // Zero would mean that nothing is known.
        let ratio = ratio.max(1);
        let last = self.probability;
        if last == 0 {
            self.probability = ratio;
            self.probability_before = ratio;
            return;
        }
        let filtered = (FILTER_NEW * ratio as i32
            + FILTER_LAST * last as i32
            + FILTER_BEFORE * self.probability_before as i32)
            >> SCALE_BITS;
        self.probability_before = last;
        self.probability = if filtered < 0 { 1 } else { (filtered as u32).min(ONE) };
    }

    /// Whether the rate failed suddenly: more than 30 attempts in this window, and less than a
    /// quarter succeeded.
    pub(super) fn collapsed(&self) -> bool {
        self.attempts > 30 && self.successes < self.attempts / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coefficients follow from their definition.
    #[test]
    fn the_filter_has_period_sixteen() {
        let pi = core::f64::consts::PI;
        let root = libm::sqrt(2.0);
        let a = libm::exp(-pi * root / 16.0);
        let scaled = |coefficient: i32| f64::from(coefficient) / 4_096.0;
        assert!((scaled(FILTER_LAST) - 2.0 * a * libm::cos(root * 2.0 * pi / 16.0)).abs() < 1e-3);
        assert!((scaled(FILTER_BEFORE) + a * a).abs() < 1e-3);
    }

    #[test]
    fn the_average_settles_at_the_ratio() {
        let mut statistics = Statistics::default();
        for (ratio_percent, windows) in [(100, 1), (40, 30), (90, 30)] {
            for _ in 0..windows {
                statistics.count(100, ratio_percent);
                statistics.fold(0);
            }
            let off = statistics.probability.abs_diff(fraction(ratio_percent, 100));
            assert!(off < fraction(1, 100), "{statistics:?}");
        }
    }

    #[test]
    fn an_untried_rate_inherits_from_faster_ones() {
        let mut untried = Statistics::default();
        assert_eq!(untried.fold(fraction(7, 10)), fraction(7, 10));
        assert_eq!(untried.probability, fraction(7, 10));
        let mut tried = Statistics::default();
        tried.count(10, 2);
        assert_eq!(tried.fold(fraction(7, 10)), fraction(7, 10));
        assert_eq!(tried.probability, fraction(2, 10));
    }
}
