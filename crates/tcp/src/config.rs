//! What can be chosen of an endpoint. Defaults are those of Linux 6, unless the
//! field says otherwise.

use crate::Recovery;
use lasthop_units::{Bitrate, Bytes, Duration};

/// An endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Largest payload of a segment in bytes: the MTU less 40 for the headers
    /// less 12 for timestamps. 1448 on Ethernet.
    pub segment_bytes: u16,
    /// Which kernel's rules for losses, recovery and growth it follows.
    pub recovery: Recovery,
    /// Congestion control of its sender.
    pub congestion_control: CongestionControlKind,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// What happens to a window that is not used.
    pub window_validation: WindowValidation,
    /// How much of a connection may wait in the own node's queues.
    pub small_queues: SmallQueues,
    /// Spacing of segments.
    pub pacing: Pacing,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Most that the receiver advertises. Linux' tcp_rmem allows 6 MiB of
    /// memory, of which half is window; the model has no window tuning, the
    /// window is open from the start.
    pub receive_window: Bytes,
    /// Most bytes in flight because of the sender's buffer (tcp_wmem: 4 MiB of
    /// memory, overhead included).
    pub send_window: Bytes,
    /// Selective acknowledgements (RFC 2018), and with them RACK-TLP (RFC 8985), or
    /// what came before it ([`Config::recovery`]).
    pub sack: bool,
    /// Shortest retransmission timeout. Linux: 200 ms.
    pub timeout_min: Duration,
    /// A full queue of the own node refuses a segment instead of losing it: the
    /// sender reduces its window (Linux' CWR state) and sends the segment later.
    /// So do qdiscs in front of a driver that stops its queue; today's mac80211
    /// queues drop silently.
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

/// Congestion controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControlKind {
    /// RFC 5681 and RFC 6582; Linux calls it reno.
    NewReno,
    /// RFC 9438.
    Cubic {
        /// How slow start ends before loss.
        hystart: HyStart,
    },
}

/// How slow start ends before loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HyStart {
    /// It does not.
    Off,
    /// Ack trains and delay, as Linux' CUBIC does.
    #[default]
    Linux,
    /// HyStart++ (RFC 9406).
    PlusPlus,
}

/// What happens to a congestion window that the application, or the own node's
/// queues, leave unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WindowValidation {
    /// Nothing: it grows with every acknowledgement.
    Off,
    /// Decay after idle and application-limited times (RFC 2861).
    Rfc2861,
    /// No growth while less than half is used (RFC 7661).
    Rfc7661,
    /// Linux: no growth unless limited by the window (in slow start up to twice
    /// what was in flight); restart after idle (tcp_slow_start_after_idle).
    #[default]
    Linux,
    /// Linux 3.2 to 3.13: growth, in slow start too, only if all but three
    /// segments of the window were in flight; restart after idle.
    Linux3,
}

/// TCP small queues: how much of a connection may wait in the own node's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallQueues {
    /// Any amount.
    Off,
    /// A fixed number of bytes of socket memory (Linux 3.6 to 3.13: 128 KiB).
    Fixed {
        /// The limit; one packet more than fits may be in flight.
        limit: Bytes,
        /// Memory that a packet takes beside its own length (Linux' truesize).
        overhead: Bytes,
    },
    /// What the pacing rate sends in `2^-shift` seconds, at least two segments,
    /// at most `limit` (Linux since 3.14; mac80211 sets the shift to 7 or 6).
    Pacing {
        /// Upper bound (tcp_limit_output_bytes).
        limit: Bytes,
        /// Linux' sk_pacing_shift: 10 is about a millisecond.
        shift: u8,
    },
}

/// Spacing of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pacing {
    /// Segments leave as windows allow.
    #[default]
    Off,
    /// At 200 % (slow start) and 120 % of window over round-trip time, as Linux
    /// with the fq queue discipline.
    Linux,
    /// At this rate at most (SO_MAX_PACING_RATE).
    Fixed(Bitrate),
}

/// When a receiver acknowledges data in order (out of order it does at once).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// After so many full segments. 2 is RFC 5681's; more is a stretch ACK, as
    /// receive offloads make them.
    pub segments: u32,
    /// Or after this time. Linux: 40 ms.
    pub delay: Duration,
    /// So many segments at the start are acknowledged one by one (Linux' quick
    /// acknowledgements).
    pub quick_segments: u32,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self { segments: 2, delay: Duration::from_millis(40), quick_segments: 16 }
    }
}
