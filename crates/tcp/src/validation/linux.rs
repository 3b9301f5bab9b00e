//! Congestion window validation of Linux: tcp_is_cwnd_limited, tcp_cwnd_validate,
//! tcp_cwnd_restart and tcp_cwnd_application_limited, with
//! tcp_slow_start_after_idle on (the default). [`Rule::Burst`] is the rule for
//! growth of Linux 3.2 to 3.13, for a device without segmentation offload, as Wi-Fi
//! devices of that time were. Windows are in segments.

use lasthop_units::{Duration, Instant};

use super::{Usage, keep_threshold};
use crate::congestion::Window;

/// Number of segments of the window that may be unused (tcp_max_burst: tcp_reordering).
const BURST_MAX: u32 = 3;

/// The condition under which the window may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The window was full in this flight; in slow start also while it is less than
    /// twice the most segments in flight.
    Flight,
    /// All but [`BURST_MAX`] segments of the window were in flight at the
    /// acknowledgement.
    Burst,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Linux {
    rule: Rule,
    initial_window: u32,
    /// Whether the window was full in this flight.
    is_full: bool,
    /// Highest number of segments in flight during this flight.
    out_max: u32,
    /// Position at which this flight ends.
    flight_end: u64,
    /// Highest number of segments in flight since the window was last full (snd_cwnd_used).
    used: u32,
    /// Instant at which the window was last full or adjusted (snd_cwnd_stamp).
    stamp: Instant,
}

impl Linux {
    pub(super) fn new(rule: Rule, initial_window: u32) -> Self {
        Self {
            rule,
            initial_window,
            is_full: false,
            out_max: 0,
            flight_end: 0,
            used: 0,
            stamp: Instant::ZERO,
        }
    }

    pub(super) fn handle_sent(&mut self, now: Instant, usage: &Usage, window: &mut Window) {
        // A new flight, or more segments in flight than before.
        if usage.acknowledged >= self.flight_end
            || usage.is_window_limited
            || (!self.is_full && usage.segments_out > self.out_max)
        {
            self.is_full = usage.is_window_limited;
            self.out_max = usage.segments_out;
            self.flight_end = usage.next;
        }
        let is_used = match self.rule {
            Rule::Flight => self.is_full_enough(window),
            Rule::Burst => usage.segments_out >= window.size,
        };
        if is_used {
            self.used = 0;
            self.stamp = now;
            return;
        }
        self.used = self.used.max(usage.segments_out);
        if now.saturating_since(self.stamp) < usage.timeout {
            return;
        }
        // Only a lack of data counts, not a full send buffer.
        if !usage.is_recovering && usage.is_application_limited {
            let used = self.used.max(self.initial_window);
            if used < window.size {
                keep_threshold(window);
                window.size = (window.size + used) / 2;
            }
            self.used = 0;
        }
        self.stamp = now;
    }

    pub(super) fn is_limited(&self, in_flight: u32, window: &Window) -> bool {
        match self.rule {
            Rule::Flight => self.is_full_enough(window),
            Rule::Burst => window.size.saturating_sub(in_flight) <= BURST_MAX,
        }
    }

    pub(super) fn handle_idle(
        &mut self,
        now: Instant,
        idle: Duration,
        timeout: Duration,
        window: &mut Window,
    ) {
        if idle <= timeout {
            return;
        }
        let restart = self.initial_window.min(window.size);
        keep_threshold(window);
        let mut left = idle.saturating_sub(timeout);
        while !left.is_zero() && window.size > restart {
            window.size /= 2;
            left = left.saturating_sub(timeout);
        }
        window.size = window.size.max(restart);
        self.stamp = now;
        self.used = 0;
    }

    fn is_full_enough(&self, window: &Window) -> bool {
        self.is_full || (window.is_slow_start() && window.size < self.out_max.saturating_mul(2))
    }
}
