//! Congestion window validation of [RFC 2861](https://www.rfc-editor.org/rfc/rfc2861), section 3:
//! the window is halved for each timeout of idle time, and moves half way to the used part in a
//! timeout limited by the application. Windows are in segments. Left out: the receiver's window,
//! which is rarely smaller than the congestion window.

use lasthop_units::{Duration, Instant};

use super::{Usage, keep_threshold};
use crate::congestion::Window;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rfc2861 {
    /// Instant at which the window was last full or adjusted (T_prev).
    adjusted: Instant,
    /// Highest number of segments in flight since then (W_used).
    used: u32,
}

impl Rfc2861 {
    pub(super) fn handle_sent(&mut self, now: Instant, usage: &Usage, window: &mut Window) {
        if usage.is_window_limited {
            self.adjusted = now;
            self.used = 0;
            return;
        }
        if !usage.is_application_limited || usage.is_recovering {
            return;
        }
        self.used = self.used.max(usage.segments_out);
        if now.saturating_since(self.adjusted) >= usage.timeout {
            keep_threshold(window);
            if self.used < window.size {
                window.size = (window.size + self.used) / 2;
            }
            self.adjusted = now;
            self.used = 0;
        }
    }

    pub(super) fn handle_idle(
        &mut self,
        now: Instant,
        idle: Duration,
        timeout: Duration,
        window: &mut Window,
    ) {
        if idle < timeout {
            return;
        }
        keep_threshold(window);
        let halvings = u32::try_from(idle / timeout).unwrap_or(u32::MAX);
        window.size = window.size.checked_shr(halvings).unwrap_or(0).max(1);
        self.adjusted = now;
        self.used = 0;
    }
}
