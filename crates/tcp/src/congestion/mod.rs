//! Congestion control: how the window grows with acknowledgements and shrinks
//! with losses. One file a control; the sender knows only this interface, which
//! has the shape of Linux' `tcp_congestion_ops`.

use lasthop_units::{Duration, Instant};

/// The window, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub size: u32,
    /// Acknowledgements that count towards the next increase.
    pub fraction: u32,
    /// Slow start threshold; `u32::MAX` before the first loss.
    pub threshold: u32,
}

impl Window {
    /// In slow start.
    pub fn is_slow_start(&self) -> bool {
        self.size < self.threshold
    }
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Segments that it newly acknowledged or sacked.
    pub segments: u32,
    /// Its cumulative acknowledgement, a byte of the stream.
    pub acknowledged: u64,
    /// The next byte to be sent.
    pub next: u64,
    /// Segments in flight before it.
    pub in_flight: u32,
    /// Round-trip time of the newest segment that it acknowledged and that was
    /// sent once.
    pub round_trip: Option<Duration>,
    /// Smallest round-trip time seen so far.
    pub round_trip_min: Duration,
    /// The window may grow: it is what limits the sender (window validation).
    pub is_limited: bool,
}

/// A congestion control.
pub trait Control {
    /// An acknowledgement outside of recovery. Measures, and grows the window
    /// if [`Acknowledgement::is_limited`].
    fn handle_acknowledgement(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window);

    /// The slow start threshold after a loss now; at least 2.
    fn threshold_after_loss(&mut self, now: Instant, window: &Window) -> u32;

    /// A retransmission timeout: what was learned is forgotten.
    fn handle_timeout(&mut self, now: Instant);

    /// The window grows again after the sender was idle for `idle`.
    fn handle_restart(&mut self, _now: Instant, _idle: Duration) {}
}
