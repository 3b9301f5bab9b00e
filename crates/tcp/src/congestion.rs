//! Congestion control: how the window grows with acknowledgements and shrinks
//! with losses. One file a control; the sender knows only this interface, which
//! has the shape of Linux' `tcp_congestion_ops`.

mod cubic;
mod cubic_linux3;
mod hystart;
mod hystart_plus_plus;
mod new_reno;
mod reno_linux3;
#[cfg(test)]
mod tests;

use lasthop_units::{Duration, Instant};

pub use cubic::Cubic;
pub use cubic_linux3::CubicLinux3;
pub use new_reno::NewReno;
pub use reno_linux3::RenoLinux3;

use crate::{CongestionControlKind, Recovery};

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

    /// In slow start by the rule of Linux 3, which includes the threshold.
    fn may_start_slowly(&self) -> bool {
        self.size <= self.threshold
    }

    /// Slow start of Linux 3: a segment for an acknowledgement of `segments`, or one for
    /// each of them since 3.13 (commit 9f9843a751d0); one beyond the threshold at most.
    fn start_slowly(&mut self, rules: Recovery, segments: u32) {
        let segments = if rules == Recovery::Linux32 { 1 } else { segments };
        let end = self.size.saturating_add(segments);
        self.size = end.min(self.threshold.saturating_add(1));
    }

    /// Congestion avoidance of Linux 3: one segment for each `count` acknowledgements and
    /// the one that finds them complete (tcp_cong_avoid_ai before 4.0).
    fn count_acknowledgement(&mut self, count: u32) {
        if self.fraction >= count {
            self.size = self.size.saturating_add(1);
            self.fraction = 0;
        } else {
            self.fraction += 1;
        }
    }
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Segments that it newly acknowledged or sacked; by the rules of Linux 3 those that
    /// it acknowledged in order, sacked before or not.
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
    /// Nothing was lost or out of order before it.
    pub is_open: bool,
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
    /// Reno of Linux 3.
    RenoLinux3(RenoLinux3),
    /// CUBIC of Linux 3.
    CubicLinux3(CubicLinux3),
}

impl CongestionControl {
    /// The control of a new connection. `is_paced`: the sender spaces its
    /// segments, so a burst of acknowledgements says more about the path.
    pub fn new(kind: CongestionControlKind, rules: Recovery, is_paced: bool) -> Self {
        match (kind, rules.counts()) {
            (CongestionControlKind::NewReno, false) => Self::NewReno(NewReno),
            (CongestionControlKind::NewReno, true) => Self::RenoLinux3(RenoLinux3(rules)),
            (CongestionControlKind::Cubic { hystart }, false) => {
                Self::Cubic(Cubic::new(hystart, is_paced))
            }
            (CongestionControlKind::Cubic { hystart }, true) => {
                Self::CubicLinux3(CubicLinux3::new(rules, hystart))
            }
        }
    }
}

impl Control for CongestionControl {
    fn handle_acknowledgement(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window) {
        match self {
            Self::NewReno(control) => control.handle_acknowledgement(now, ack, window),
            Self::Cubic(control) => control.handle_acknowledgement(now, ack, window),
            Self::RenoLinux3(control) => control.handle_acknowledgement(now, ack, window),
            Self::CubicLinux3(control) => control.handle_acknowledgement(now, ack, window),
        }
    }

    fn threshold_after_loss(&mut self, now: Instant, window: &Window) -> u32 {
        match self {
            Self::NewReno(control) => control.threshold_after_loss(now, window),
            Self::Cubic(control) => control.threshold_after_loss(now, window),
            Self::RenoLinux3(control) => control.threshold_after_loss(now, window),
            Self::CubicLinux3(control) => control.threshold_after_loss(now, window),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::NewReno(control) => control.handle_timeout(now),
            Self::Cubic(control) => control.handle_timeout(now),
            Self::RenoLinux3(control) => control.handle_timeout(now),
            Self::CubicLinux3(control) => control.handle_timeout(now),
        }
    }

    fn handle_restart(&mut self, now: Instant, idle: Duration) {
        match self {
            Self::NewReno(control) => control.handle_restart(now, idle),
            Self::Cubic(control) => control.handle_restart(now, idle),
            Self::RenoLinux3(control) => control.handle_restart(now, idle),
            Self::CubicLinux3(control) => control.handle_restart(now, idle),
        }
    }
}
