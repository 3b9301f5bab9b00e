//! Congestion control: growth of the congestion window with acknowledgements, and its reduction
//! after losses. The sender uses only the interface [`Control`], which has the shape of Linux'
//! `tcp_congestion_ops`; each algorithm is a separate file. Windows are in segments. Left out: the
//! reduction during recovery ([`crate::prr`]) and window validation ([`crate::validation`]), which
//! all algorithms share.

mod bbr;
mod bbr3;
mod cubic;
mod cubic_linux3;
mod dctcp;
mod hystart;
mod hystart_plus_plus;
mod new_reno;
mod prague;
mod reno_linux3;
#[cfg(test)]
mod tests;
mod windowed_max;

use alloc::boxed::Box;
use lasthop_units::{Bitrate, Duration, Instant};

pub use bbr::Bbr;
pub(crate) use bbr::Now;
pub use bbr3::Bbr3;
pub use cubic::Cubic;
pub use cubic_linux3::CubicLinux3;
pub use dctcp::Dctcp;
pub use new_reno::NewReno;
pub(crate) use prague::Moment;
pub use prague::Prague;
pub use reno_linux3::RenoLinux3;

use crate::delivery_rate::{DeliveryRate, Loss, RateSample};
use crate::{Config, CongestionControlKind, Pacing, Recovery};

/// The congestion window, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window (cwnd).
    pub size: u32,
    /// Acknowledged segments, or acknowledgements, counted towards the next
    /// increase (snd_cwnd_cnt).
    pub fraction: u32,
    /// Slow start threshold (ssthresh); `u32::MAX` before the first loss.
    pub threshold: u32,
}

impl Window {
    /// Whether the sender is in slow start: the window is below the threshold.
    pub fn is_slow_start(&self) -> bool {
        self.size < self.threshold
    }

    /// Slow start: grows by one segment for each acknowledged segment, up to the
    /// threshold (RFC 5681, 3.1, counting segments as in RFC 3465). Returns the
    /// segments that remain once the threshold is reached.
    fn increase_to_threshold(&mut self, segments: u32) -> u32 {
        let room = self.threshold.saturating_sub(self.size);
        let used = segments.min(room);
        self.size += used;
        segments - used
    }

    /// Congestion avoidance: grows by one segment for each `count` acknowledged
    /// segments.
    fn increase_every(&mut self, count: u32, segments: u32) {
        // Segments counted towards a longer interval than the present one make one
        // increase.
        if self.fraction >= count {
            self.fraction = 0;
            self.size = self.size.saturating_add(1);
        }
        self.fraction += segments;
        self.size = self.size.saturating_add(self.fraction / count);
        self.fraction %= count;
    }

    /// Whether the sender is in slow start by the rule of Linux 3, which includes a window equal to
    /// the threshold.
    fn may_start_slowly(&self) -> bool {
        self.size <= self.threshold
    }

    /// Slow start of Linux 3: grows by one segment for an acknowledgement, and
    /// since 3.13 (commit 9f9843a751d0) by one for each of its `segments`; to at
    /// most one segment above the threshold.
    fn start_slowly(&mut self, rules: Recovery, segments: u32) {
        let segments = if rules == Recovery::Linux32 { 1 } else { segments };
        let end = self.size.saturating_add(segments);
        self.size = end.min(self.threshold.saturating_add(1));
    }

    /// Congestion avoidance of Linux 3: counts `count` acknowledgements and grows
    /// with the one after them (tcp_cong_avoid_ai before 4.0).
    fn count_acknowledgement(&mut self, count: u32) {
        if self.fraction >= count {
            self.size = self.size.saturating_add(1);
            self.fraction = 0;
        } else {
            self.fraction += 1;
        }
    }
}

/// Measurements that a congestion control gets with an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Segments newly acknowledged, in order or selectively. With the rules of Linux 3: segments
    /// acknowledged in order, sacked before or not.
    pub segments: u32,
    /// The cumulative acknowledgement: an offset into the stream, in bytes.
    pub acknowledged: u64,
    /// Offset of the next byte to be sent (SND.NXT).
    pub next: u64,
    /// Segments in flight before this acknowledgement.
    pub in_flight: u32,
    /// Round-trip time of the newest segment that it acknowledges and that was sent
    /// only once.
    pub round_trip: Option<Duration>,
    /// Smallest round-trip time measured so far.
    pub round_trip_min: Duration,
    /// Whether the window may grow because it limits the sender (window validation).
    pub is_limited: bool,
    /// Whether no loss or reordering was known before it (Linux' state Open).
    pub is_open: bool,
}

/// Packets that an acknowledgement reports as arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryReport {
    /// Number of packets, in order or selectively.
    pub packets: u32,
    /// Number of marked packets, by accurate feedback.
    pub marked: u32,
    /// The cumulative acknowledgement: an offset into the stream, in bytes.
    pub acknowledged: u64,
    /// Offset of the next byte to be sent (SND.NXT).
    pub next: u64,
}

/// A congestion control algorithm.
///
/// CUBIC keeps seven tenths of a window after a loss (RFC 9438, 4.6), Reno half of it (RFC 5681):
///
/// ```
/// use lasthop_tcp::congestion::{CongestionControl, Control, Window};
/// use lasthop_tcp::{Config, CongestionControlKind, HyStart};
/// use lasthop_units::Instant;
///
/// let window = Window { size: 100, fraction: 0, threshold: u32::MAX };
/// let after_loss = |congestion_control| {
///     let mut control =
///         CongestionControl::new(&Config { congestion_control, ..Config::default() });
///     control.threshold_after_loss(Instant::ZERO, &window)
/// };
/// assert_eq!(after_loss(CongestionControlKind::NewReno), 50);
/// assert_eq!(after_loss(CongestionControlKind::Cubic { hystart: HyStart::Off }), 70);
/// ```
pub trait Control {
    /// Handles an acknowledgement outside of recovery. The control takes its measurements, and
    /// grows the window if [`Acknowledgement::is_limited`].
    fn handle_acknowledgement(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window);

    /// Returns the slow start threshold after a loss at `now`: at least 2 segments.
    fn threshold_after_loss(&mut self, now: Instant, window: &Window) -> u32;

    /// Handles a retransmission timeout: discards the measurements of the path.
    fn handle_timeout(&mut self, now: Instant);

    /// Handles the first transmission after the sender was idle for `idle`.
    fn handle_restart(&mut self, _now: Instant, _idle: Duration) {}

    /// Handles the marks that an acknowledgement reports, in any state, before
    /// [`Control::handle_acknowledgement`] and [`Control::threshold_after_loss`].
    fn handle_delivered(&mut self, _report: &DeliveryReport) {}

    /// Handles the beginning of a recovery from losses, or a timeout, after
    /// [`Control::threshold_after_loss`].
    fn handle_lost(&mut self, _window: &mut Window) {}
}

/// A control by a model of the path, which sets window and pacing rate itself.
pub(crate) trait Model {
    /// The samples of the delivery rate.
    fn rates(&mut self) -> &mut DeliveryRate;

    /// Starts the control when the connection opens. `minimum` is the round-trip time of the
    /// handshake.
    fn open(&mut self, now: Instant, minimum: Option<Duration>, window: &mut Window);

    fn set_segment_bytes(&mut self, bytes: u32);

    /// The pacing rate, in payload bits per second.
    fn pacing_rate(&self) -> Bitrate;

    /// Handles the transmission of data with nothing in flight.
    fn handle_start(&mut self, at: &Now, window: &mut Window);

    /// Handles an acknowledgement.
    fn control(&mut self, at: &Now, sample: &RateSample, window: &mut Window);

    /// Handles a reduction that was not necessary.
    fn handle_undo(&mut self, window: &mut Window);

    /// Handles the window of before a retransmission timeout.
    fn handle_timeout_window(&mut self, _window: &Window) {}

    /// Handles a transmission that uses up the window.
    fn handle_full_window(&mut self) {}

    /// Whether the control must know which segments are lost.
    fn needs_losses(&self) -> bool {
        false
    }

    /// Handles a segment that was just found to be lost.
    fn handle_loss(&mut self, _now: Instant, _loss: &Loss, _window: &Window) {}
}

/// The congestion control of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// NewReno (RFC 5681 and RFC 6582).
    NewReno(NewReno),
    /// CUBIC (RFC 9438) of today.
    Cubic(Cubic),
    /// Reno of Linux 3.
    RenoLinux3(RenoLinux3),
    /// CUBIC of Linux 3.
    CubicLinux3(CubicLinux3),
    /// BBR v1 of Linux 6.
    Bbr(Box<Bbr>),
    /// BBR v3 of the draft.
    Bbr3(Box<Bbr3>),
    /// DCTCP (RFC 8257).
    Dctcp(Dctcp),
    /// Prague, of L4S.
    Prague(Box<Prague>),
}

impl CongestionControl {
    /// Whether the control is BBR of any version.
    pub(crate) fn is_bbr(&self) -> bool {
        matches!(self, Self::Bbr(_) | Self::Bbr3(_))
    }

    /// Whether the control sets the window itself, in recovery too.
    pub(crate) fn sets_window(&self) -> bool {
        matches!(self, Self::Bbr(_) | Self::Bbr3(_) | Self::Prague(_))
    }

    /// Prague's control, which sets window and pacing rate itself.
    #[inline]
    pub(crate) fn prague(&mut self) -> Option<&mut Prague> {
        match self {
            Self::Prague(control) => Some(control),
            _ => None,
        }
    }

    /// Returns the congestion control of a new connection. If the sender spaces its segments, a
    /// burst of acknowledgements is better evidence of the path.
    pub fn new(config: &Config) -> Self {
        let is_paced = config.pacing != Pacing::Off;
        let rules = config.recovery;
        match (config.congestion_control, rules.counts()) {
            (CongestionControlKind::NewReno, false) => Self::NewReno(NewReno),
            (CongestionControlKind::NewReno, true) => Self::RenoLinux3(RenoLinux3(rules)),
            (CongestionControlKind::Cubic { hystart }, false) => {
                Self::Cubic(Cubic::new(hystart, is_paced))
            }
            (CongestionControlKind::Cubic { hystart }, true) => {
                Self::CubicLinux3(CubicLinux3::new(rules, hystart))
            }
            (CongestionControlKind::Bbr, _) => Self::Bbr(Box::new(Bbr::new(config))),
            (CongestionControlKind::Bbr3, _) => Self::Bbr3(Box::new(Bbr3::new(config))),
            (CongestionControlKind::Dctcp, _) => Self::Dctcp(Dctcp::new()),
            (CongestionControlKind::Prague, _) => Self::Prague(Box::new(Prague::new(config))),
        }
    }

    /// BBR's control, which sets window and pacing rate itself.
    #[inline]
    pub(crate) fn bbr(&mut self) -> Option<&mut dyn Model> {
        match self {
            Self::Bbr(control) => Some(&mut **control),
            Self::Bbr3(control) => Some(&mut **control),
            _ => None,
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
            Self::Bbr(control) => control.handle_acknowledgement(now, ack, window),
            Self::Bbr3(control) => control.handle_acknowledgement(now, ack, window),
            Self::Dctcp(control) => control.handle_acknowledgement(now, ack, window),
            Self::Prague(control) => control.handle_acknowledgement(now, ack, window),
        }
    }

    fn threshold_after_loss(&mut self, now: Instant, window: &Window) -> u32 {
        match self {
            Self::NewReno(control) => control.threshold_after_loss(now, window),
            Self::Cubic(control) => control.threshold_after_loss(now, window),
            Self::RenoLinux3(control) => control.threshold_after_loss(now, window),
            Self::CubicLinux3(control) => control.threshold_after_loss(now, window),
            Self::Bbr(control) => control.threshold_after_loss(now, window),
            Self::Bbr3(control) => control.threshold_after_loss(now, window),
            Self::Dctcp(control) => control.threshold_after_loss(now, window),
            Self::Prague(control) => control.threshold_after_loss(now, window),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::NewReno(control) => control.handle_timeout(now),
            Self::Cubic(control) => control.handle_timeout(now),
            Self::RenoLinux3(control) => control.handle_timeout(now),
            Self::CubicLinux3(control) => control.handle_timeout(now),
            Self::Bbr(control) => control.handle_timeout(now),
            Self::Bbr3(control) => control.handle_timeout(now),
            Self::Dctcp(control) => control.handle_timeout(now),
            Self::Prague(control) => control.handle_timeout(now),
        }
    }

    fn handle_restart(&mut self, now: Instant, idle: Duration) {
        match self {
            Self::NewReno(control) => control.handle_restart(now, idle),
            Self::Cubic(control) => control.handle_restart(now, idle),
            Self::RenoLinux3(control) => control.handle_restart(now, idle),
            Self::CubicLinux3(control) => control.handle_restart(now, idle),
            Self::Bbr(control) => control.handle_restart(now, idle),
            Self::Bbr3(control) => control.handle_restart(now, idle),
            Self::Dctcp(control) => control.handle_restart(now, idle),
            Self::Prague(control) => control.handle_restart(now, idle),
        }
    }

    fn handle_delivered(&mut self, report: &DeliveryReport) {
        if let Self::Dctcp(control) = self {
            control.handle_delivered(report);
        }
    }

    fn handle_lost(&mut self, window: &mut Window) {
        match self {
            Self::Dctcp(control) => control.handle_lost(window),
            Self::Prague(control) => control.handle_lost(window),
            _ => {}
        }
    }
}
