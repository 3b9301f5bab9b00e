//! Congestion window validation: rules for a window that the application or the receiver does not
//! let the sender use. Validation decides whether acknowledgements may increase the window, and
//! decreases a window that was idle or partly used for a long time. Windows are in segments. Each
//! rule set is a file in `validation/`, and has no effect on recovery.
//!
//! | kind | growth | after idle | partly used for a timeout |
//! |---|---|---|---|
//! | `Off` | always | kept | kept |
//! | `Rfc2861` | if the window was full | halved per timeout, at least 1 | to the middle between used and window |
//! | `Rfc7661` | if half of the window was acknowledged in a round trip | kept for 5 minutes, then halved | the same |
//! | `Linux` | if the window was full in this flight; in slow start up to twice the segments out | halved per timeout, at least the initial window | as RFC 2861, at least the initial window |
//! | `Linux3` | if the window was full but for 3 segments | as `Linux` | as `Linux` |

mod linux;
mod rfc2861;
mod rfc7661;

use lasthop_units::{Duration, Instant};

use crate::WindowValidation;
use crate::congestion::Window;
use linux::Linux;
use rfc2861::Rfc2861;
use rfc7661::Rfc7661;

/// The sender's use of its window, after it has sent as much as the limits permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Segments sent and not acknowledged, sacked and lost ones included (Linux'
    /// packets_out).
    pub segments_out: u32,
    /// The next byte that the receiver expects (SND.UNA).
    pub acknowledged: u64,
    /// The next byte to be sent (SND.NXT).
    pub next: u64,
    /// The retransmission timeout.
    pub timeout: Duration,
    /// Whether the congestion window stopped the sender.
    pub is_window_limited: bool,
    /// Whether a lack of data stopped it (not the receiver's window, nor the sending node's
    /// queues).
    pub is_application_limited: bool,
    /// Whether it recovers from a loss; windows then stay unchanged.
    pub is_recovering: bool,
}

/// The state of window validation for one connection.
///
/// ```
/// use lasthop_tcp::WindowValidation;
/// use lasthop_tcp::congestion::Window;
/// use lasthop_tcp::validation::Validation;
///
/// // A window of 40 segments in congestion avoidance, of which 10 are in flight.
/// let window = Window { size: 40, fraction: 0, threshold: 20 };
/// let grows = |kind| Validation::new(kind, 10).is_limited(10, &window);
/// assert!(grows(WindowValidation::Off));
/// assert!(!grows(WindowValidation::Rfc2861));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Off,
    Rfc2861(Rfc2861),
    Rfc7661(Rfc7661),
    Linux(Linux),
}

impl Validation {
    /// Returns the state of a connection; after a restart the window is at least `initial_window`
    /// segments.
    pub fn new(kind: WindowValidation, initial_window: u32) -> Self {
        Self(match kind {
            WindowValidation::Off => Kind::Off,
            WindowValidation::Rfc2861 => Kind::Rfc2861(Rfc2861::default()),
            WindowValidation::Rfc7661 => Kind::Rfc7661(Rfc7661::new(initial_window)),
            WindowValidation::Linux => Kind::Linux(Linux::new(linux::Rule::Flight, initial_window)),
            WindowValidation::Linux3 => Kind::Linux(Linux::new(linux::Rule::Burst, initial_window)),
        })
    }

    /// Records that the sender has sent as much as the limits permit.
    pub fn handle_sent(&mut self, now: Instant, usage: &Usage, window: &mut Window) {
        match &mut self.0 {
            Kind::Off => {}
            Kind::Rfc2861(state) => state.handle_sent(now, usage, window),
            Kind::Rfc7661(state) => state.handle_sent(now, window),
            Kind::Linux(state) => state.handle_sent(now, usage, window),
        }
    }

    /// Records that `segments` were acknowledged or sacked; call it before the window grows.
    /// `round_trip` is the smoothed round-trip time.
    pub fn handle_acknowledgement(&mut self, now: Instant, segments: u32, round_trip: Duration) {
        if let Kind::Rfc7661(state) = &mut self.0 {
            state.handle_acknowledgement(now, segments, round_trip);
        }
    }

    /// Whether the window may grow. `in_flight` is the number of segments before the
    /// acknowledgement.
    pub fn is_limited(&self, in_flight: u32, window: &Window) -> bool {
        match &self.0 {
            Kind::Off => true,
            Kind::Rfc2861(_) => in_flight >= window.size,
            Kind::Rfc7661(state) => state.is_validated(window),
            Kind::Linux(state) => state.is_limited(in_flight, window),
        }
    }

    /// Handles a transmission after `idle` without one, with no segment in flight.
    pub fn handle_idle(
        &mut self,
        now: Instant,
        idle: Duration,
        timeout: Duration,
        window: &mut Window,
    ) {
        match &mut self.0 {
            Kind::Off => {}
            Kind::Rfc2861(state) => state.handle_idle(now, idle, timeout, window),
            Kind::Rfc7661(state) => state.handle_sent(now, window),
            Kind::Linux(state) => state.handle_idle(now, idle, timeout, window),
        }
    }

    /// The slow start threshold after a loss with `in_flight` segments in flight;
    /// `threshold` is the congestion control's value.
    pub fn threshold_after_loss(&mut self, in_flight: u32, threshold: u32, window: &Window) -> u32 {
        match &mut self.0 {
            Kind::Rfc7661(state) => state.threshold_after_loss(in_flight, threshold, window),
            _ => threshold,
        }
    }
}

/// Raises the threshold to three quarters of a window that shrinks without a loss
/// (RFC 2861, 3.2; tcp_current_ssthresh).
fn keep_threshold(window: &mut Window) {
    window.threshold = window.threshold.max(window.size - window.size / 4);
}

#[cfg(test)]
mod tests;
