//! The contention window of an EDCAF and the backoffs that are drawn from it (IEEE
//! 802.11-2020, 10.23.2.2 and 10.3.3). Windows and backoffs are in slots.

use lasthop_units::Stream;

/// Contention window and its random numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// CWmin and CWmax, 2^n - 1.
    limits: (u16, u16),
    /// Consecutive failures after which the window is reset to the smallest one.
    retry_limit: u8,
    window: u16,
    stream: Stream,
    /// Consecutive exchanges that failed (QSRC).
    failures: u8,
}

impl Backoff {
    /// Returns the smallest window, between CWmin and CWmax.
    pub const fn new(cw_min: u16, cw_max: u16, retry_limit: u8, stream: Stream) -> Self {
        Self { limits: (cw_min, cw_max), retry_limit, window: cw_min, stream, failures: 0 }
    }

    /// Sets other bounds CWmin and CWmax, and moves the current window within them.
    pub fn set_limits(&mut self, cw_min: u16, cw_max: u16) {
        self.limits = (cw_min, cw_max);
        self.window = self.window.clamp(cw_min, cw_max);
    }

    /// Draws a backoff from the contention window.
    pub fn draw(&mut self) -> u32 {
        self.stream.up_to(u32::from(self.window))
    }

    /// Resets the window after a success, otherwise doubles it.
    pub fn reset_or_widen(&mut self, success: bool) {
        if success {
            self.reset();
        } else {
            self.widen();
        }
    }

    /// Doubles the contention window, or resets it after as many failures as
    /// the retry limit.
    pub fn widen(&mut self) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= self.retry_limit {
            self.reset();
        } else {
            self.window = (2 * self.window + 1).min(self.limits.1);
        }
    }

    /// Resets the contention window to the smallest one.
    pub const fn reset(&mut self) {
        self.failures = 0;
        self.window = self.limits.0;
    }
}
