//! The parameters of an endpoint: which kernel's rules it follows, its congestion
//! control, its windows in bytes, its timers, and the options it uses. Defaults are
//! those of Linux 6, unless the field says otherwise. Ranges are not checked here:
//! whoever reads a configuration does that.

use crate::Recovery;
use lasthop_units::{Bitrate, Bytes, Duration};

/// The parameters of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Largest payload of a segment in bytes: the MTU less 40 for the headers
    /// less 12 for timestamps. 1448 on Ethernet.
    pub segment_bytes: u16,
    /// The kernel version whose loss detection, recovery and window growth it
    /// follows.
    pub recovery: Recovery,
    /// Congestion control of its sender.
    pub congestion_control: CongestionControlKind,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// What happens to a congestion window that is not fully used.
    pub window_validation: WindowValidation,
    /// How much of a connection may wait in the sending node's queues.
    pub small_queues: SmallQueues,
    /// How segments are spaced in time.
    pub pacing: Pacing,
    /// When the receiver acknowledges data.
    pub delayed_ack: DelayedAck,
    /// Largest window that the receiver advertises. Linux' tcp_rmem allows 6 MiB of
    /// memory, of which half is window. There is no receive buffer tuning: the
    /// window is fully open from the start.
    pub receive_window: Bytes,
    /// Most bytes in flight that the send buffer allows (tcp_wmem: 4 MiB of memory,
    /// overhead included).
    pub send_window: Bytes,
    /// Selective acknowledgements (RFC 2018), and with them RACK-TLP (RFC 8985) or
    /// its predecessors, depending on [`Config::recovery`].
    pub sack: bool,
    /// Lower bound of the retransmission timeout. Linux: 200 ms.
    pub timeout_min: Duration,
    /// A full queue of the sending node refuses a segment instead of dropping it:
    /// the sender reduces its window (Linux' CWR state) and sends the segment again
    /// later. Queueing disciplines in front of a driver that stops its queue behave
    /// so; today's mac80211 queues drop silently.
    pub local_congestion: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            segment_bytes: 1448,
            recovery: Recovery::Today,
            congestion_control: CongestionControlKind::Cubic { hystart: HyStart::Linux },
            initial_window: 10,
            window_validation: WindowValidation::Linux,
            small_queues: SmallQueues::Pacing { limit: Bytes::new(4 << 20), shift: 10 },
            pacing: Pacing::Off,
            delayed_ack: DelayedAck::default(),
            receive_window: Bytes::new(3 << 20),
            send_window: Bytes::new(4 << 20),
            sack: true,
            timeout_min: Duration::from_millis(200),
            local_congestion: false,
            ecn: false,
        }
    }
}

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControlKind {
    /// RFC 5681 and RFC 6582; Linux calls it reno.
    NewReno,
    /// RFC 9438.
    Cubic {
        /// How slow start ends before a loss.
        hystart: HyStart,
    },
}

/// How slow start ends before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HyStart {
    /// Slow start lasts until the first loss.
    Off,
    /// HyStart as in Linux' CUBIC: trains of acknowledgements and a rising delay.
    #[default]
    Linux,
    /// HyStart++ (RFC 9406).
    PlusPlus,
}

/// What happens to a congestion window that the application, or the sending node's
/// queues, leave unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WindowValidation {
    /// No validation: the window grows with every acknowledgement.
    Off,
    /// Decay after idle and application-limited times (RFC 2861).
    Rfc2861,
    /// No growth while less than half is used (RFC 7661).
    Rfc7661,
    /// Linux: the window grows only if it limits the sender (in slow start: up to
    /// twice what was in flight), and restarts after an idle period
    /// (tcp_slow_start_after_idle).
    #[default]
    Linux,
    /// Linux 3.2 to 3.13: the window grows, in slow start too, only if all but
    /// three of its segments were in flight; it restarts after an idle period.
    Linux3,
}

/// TCP small queues: a limit on the bytes of a connection that wait in the sending
/// node's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallQueues {
    /// No limit.
    Off,
    /// A fixed number of bytes of socket memory (Linux 3.6 to 3.13: 128 KiB).
    Fixed {
        /// The limit in bytes; the packet that exceeds it is still sent.
        limit: Bytes,
        /// Memory of a packet in addition to its own length, in bytes (Linux'
        /// truesize).
        overhead: Bytes,
    },
    /// What the pacing rate sends in `2^-shift` seconds; at least two segments, at
    /// most `limit` (Linux since 3.14; mac80211 sets the shift to 7 or 6).
    Pacing {
        /// Upper bound in bytes (tcp_limit_output_bytes).
        limit: Bytes,
        /// Linux' sk_pacing_shift; 10 is about a millisecond.
        shift: u8,
    },
}

/// How segments are spaced in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pacing {
    /// No pacing: segments leave as soon as the windows allow.
    #[default]
    Off,
    /// At 200 % (slow start) or 120 % of congestion window over round-trip time, as
    /// Linux does with the fq queueing discipline.
    Linux,
    /// At this rate at most (SO_MAX_PACING_RATE), and never above that of
    /// [`Pacing::Linux`].
    Fixed(Bitrate),
}

/// When a receiver acknowledges data that arrives in order. Data out of order it
/// acknowledges at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Full-sized segments per acknowledgement. RFC 5681 asks for 2; more is a
    /// stretch ACK, as receive offloads cause.
    pub segments: u32,
    /// Longest delay of an acknowledgement. Linux: 40 ms.
    pub delay: Duration,
    /// Number of segments at the start of a connection that are acknowledged one by
    /// one (Linux' quick acknowledgements).
    pub quick_segments: u32,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self { segments: 2, delay: Duration::from_millis(40), quick_segments: 16 }
    }
}
