//! Congestion window validation: what happens to a window that the application
//! or the receiver does not let the sender use. It decides whether
//! acknowledgements may make the window grow, and shrinks a window that was
//! idle or partly used for long. One file a rule set in `validation/`.
//!
//! | kind | growth | after idle | partly used for a timeout |
//! |---|---|---|---|
//! | `Off` | always | kept | kept |
//! | `Rfc2861` | if the window was full | halved per timeout, at least 1 | to the middle between used and window |
//! | `Rfc7661` | if half of the window was acknowledged in a round trip | kept for 5 minutes, then halved | the same |
//! | `Linux` | if the window was full in this flight; in slow start up to twice what was out | halved per timeout, at least the initial window | as RFC 2861, at least the initial window |
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

/// The sender, after it has sent all that it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Segments sent and not acknowledged (Linux' packets_out: sacked and lost
    /// ones are among them).
    pub segments_out: u32,
    /// Next byte that the receiver expects (SND.UNA).
    pub acknowledged: u64,
    /// Next byte to be sent (SND.NXT).
    pub next: u64,
    /// Retransmission timeout.
    pub timeout: Duration,
    /// The window is what stopped it.
    pub is_window_limited: bool,
    /// It had no more data to send (not: no more window of the receiver, no
    /// more room in the own queues).
    pub is_application_limited: bool,
    /// It recovers from a loss; then windows are left alone.
    pub is_recovering: bool,
}

/// The state of window validation for one connection.
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
    /// `initial_window` in segments: the window that a restart leaves at least.
    pub fn new(kind: WindowValidation, initial_window: u32) -> Self {
        Self(match kind {
            WindowValidation::Off => Kind::Off,
            WindowValidation::Rfc2861 => Kind::Rfc2861(Rfc2861::default()),
            WindowValidation::Rfc7661 => Kind::Rfc7661(Rfc7661::new(initial_window)),
            WindowValidation::Linux => Kind::Linux(Linux::new(linux::Rule::Flight, initial_window)),
            WindowValidation::Linux3 => Kind::Linux(Linux::new(linux::Rule::Burst, initial_window)),
        })
    }

    /// The sender has sent, or could not because of its window.
    pub fn handle_sent(&mut self, now: Instant, usage: &Usage, window: &mut Window) {
        match &mut self.0 {
            Kind::Off => {}
            Kind::Rfc2861(state) => state.handle_sent(now, usage, window),
            Kind::Rfc7661(state) => state.handle_sent(now, window),
            Kind::Linux(state) => state.handle_sent(now, usage, window),
        }
    }

    /// `segments` were acknowledged or sacked; before the window grows.
    /// `round_trip`: the smoothed round-trip time.
    pub fn handle_acknowledgement(&mut self, now: Instant, segments: u32, round_trip: Duration) {
        if let Kind::Rfc7661(state) = &mut self.0 {
            state.handle_acknowledgement(now, segments, round_trip);
        }
    }

    /// Whether the window may grow. `in_flight`: segments, before the
    /// acknowledgement.
    pub fn is_limited(&self, in_flight: u32, window: &Window) -> bool {
        match &self.0 {
            Kind::Off => true,
            Kind::Rfc2861(_) => in_flight >= window.size,
            Kind::Rfc7661(state) => state.is_validated(window),
            Kind::Linux(state) => state.is_limited(in_flight, window),
        }
    }

    /// The sender is about to send after `idle` without sending, with nothing
    /// in flight.
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

    /// The threshold after a loss with `in_flight` segments in flight, where the
    /// congestion control asks for `threshold`.
    pub fn threshold_after_loss(&mut self, in_flight: u32, threshold: u32, window: &Window) -> u32 {
        match &mut self.0 {
            Kind::Rfc7661(state) => state.threshold_after_loss(in_flight, threshold, window),
            _ => threshold,
        }
    }
}

/// What is remembered of a window that shrinks without loss: three quarters of
/// it (RFC 2861, 3.2; tcp_current_ssthresh).
fn keep_threshold(window: &mut Window) {
    window.threshold = window.threshold.max(window.size - window.size / 4);
}

#[cfg(test)]
mod tests;
