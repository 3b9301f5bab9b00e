//! Congestion control: how the window grows with acknowledgements and shrinks
//! with losses. One file a control; the sender knows only this interface, which
//! has the shape of Linux' `tcp_congestion_ops`.

mod cubic;
mod hystart;
mod hystart_plus_plus;
mod new_reno;
#[cfg(test)]
mod tests;

use lasthop_units::{Duration, Instant};

pub use cubic::Cubic;
pub use new_reno::NewReno;

use crate::CongestionControlKind;

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

    /// Slow start: one segment for each acknowledged one, up to the threshold
    /// (RFC 5681, 3.1, with the acknowledged segments counted as in RFC 3465).
    /// Returns the segments that are left over at the threshold.
    fn increase_to_threshold(&mut self, segments: u32) -> u32 {
        let room = self.threshold.saturating_sub(self.size);
        let used = segments.min(room);
        self.size += used;
        segments - used
    }

    /// Congestion avoidance: one segment for each `count` acknowledged ones.
    fn increase_every(&mut self, count: u32, segments: u32) {
        // What was counted towards a longer interval is worth one segment now.
        if self.fraction >= count {
            self.fraction = 0;
            self.size = self.size.saturating_add(1);
        }
        self.fraction += segments;
        self.size = self.size.saturating_add(self.fraction / count);
        self.fraction %= count;
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

/// Any of the congestion controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// RFC 5681 and RFC 6582.
    NewReno(NewReno),
    /// RFC 9438.
    Cubic(Cubic),
}

impl CongestionControl {
    /// The control of a new connection. `is_paced`: the sender spaces its
    /// segments, so a burst of acknowledgements says more about the path.
    pub fn new(kind: CongestionControlKind, is_paced: bool) -> Self {
        match kind {
            CongestionControlKind::NewReno => Self::NewReno(NewReno),
            CongestionControlKind::Cubic { hystart } => Self::Cubic(Cubic::new(hystart, is_paced)),
        }
    }
}

impl Control for CongestionControl {
    fn handle_acknowledgement(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window) {
        match self {
            Self::NewReno(control) => control.handle_acknowledgement(now, ack, window),
            Self::Cubic(control) => control.handle_acknowledgement(now, ack, window),
        }
    }

    fn threshold_after_loss(&mut self, now: Instant, window: &Window) -> u32 {
        match self {
            Self::NewReno(control) => control.threshold_after_loss(now, window),
            Self::Cubic(control) => control.threshold_after_loss(now, window),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::NewReno(control) => control.handle_timeout(now),
            Self::Cubic(control) => control.handle_timeout(now),
        }
    }

    fn handle_restart(&mut self, now: Instant, idle: Duration) {
        match self {
            Self::NewReno(control) => control.handle_restart(now, idle),
            Self::Cubic(control) => control.handle_restart(now, idle),
        }
    }
}
