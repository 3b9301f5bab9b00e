//! The parameters of an endpoint: which kernel's rules it follows, its congestion control, its
//! windows in bytes, its timers, and the options it uses. Defaults are those of Linux 6, unless the
//! field says otherwise. Ranges are not checked here; the reader of a configuration does that.

use crate::{PACKET_OVERHEAD_BYTES, Recovery};
use lasthop_units::{Bitrate, Bytes, Duration};

/// The parameters of an endpoint.
///
/// ```
/// use lasthop_tcp::{Config, CongestionControlKind, Endpoint, Recovery};
///
/// let old = Config {
///     congestion_control: CongestionControlKind::NewReno,
///     recovery: Recovery::Linux32,
///     initial_window: 3,
///     ..Config::default()
/// };
/// assert_eq!(Endpoint::new(&old).cwnd_packets(), 3);
/// assert_eq!(Endpoint::new(&Config::default()).cwnd_packets(), 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Largest payload of a segment in bytes: the MTU less 40 for the headers
    /// less 12 for timestamps. 1448 on Ethernet.
    pub segment_bytes: u16,
    /// Kernel version whose loss detection, recovery and window growth the endpoint follows.
    pub recovery: Recovery,
    /// Congestion control of its sender.
    pub congestion_control: CongestionControlKind,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// Validation of a congestion window that is not fully used.
    pub window_validation: WindowValidation,
    /// Limit of a connection's data in the sending node's queues.
    pub small_queues: SmallQueues,
    /// Whether segments leave in buffers of several (GSO): as many as the pacing rate sends in
    /// `2^-shift` seconds, at least two, at most 64 KiB (tcp_tso_autosize). [`SmallQueues::Pacing`]
    /// has the shift, and counts whole buffers.
    pub send_offload: bool,
    /// Spacing of segments in time.
    pub pacing: Pacing,
    /// Timing of the receiver's acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Largest window that the receiver advertises. Linux' tcp_rmem allows 6 MiB of
    /// memory, of which half is window. There is no receive buffer tuning: the
    /// window is fully open from the start.
    pub receive_window: Bytes,
    /// Limit of bytes in flight by the send buffer (tcp_wmem: 4 MiB of memory, overhead included).
    pub send_window: Bytes,
    /// Whether selective acknowledgements (RFC 2018) are used, and with them RACK-TLP (RFC 8985) or
    /// its predecessors, depending on [`Config::recovery`].
    pub sack: bool,
    /// Lower bound of the retransmission timeout. The value of Linux is 200 ms.
    pub timeout_min: Duration,
    /// Whether a full queue of the sending node refuses a segment instead of dropping it: the
    /// sender then reduces its window (Linux' CWR state) and sends the segment again later.
    /// Queueing disciplines in front of a driver that stops its queue do so; today's mac80211
    /// queues drop without notice.
    pub local_congestion: bool,
    /// Slow start threshold of the connection in segments, as left by earlier ones to the same peer;
    /// `None` for none.
    pub threshold_initial: Option<u32>,
    /// Whether the endpoint requests and accepts explicit congestion notification (RFC 3168). A
    /// connection uses it if both ends do.
    pub ecn: bool,
    /// Whether it requests and accepts accurate feedback (RFC 9768), too; `ecn` has to be set.
    pub accurate_ecn: bool,
    /// Seed of the endpoint's random choices: the first phase of BBR's cycle.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            segment_bytes: 1448,
            recovery: Recovery::Today,
            congestion_control: CongestionControlKind::Cubic { hystart: HyStart::Linux },
            initial_window: 10,
            window_validation: WindowValidation::Linux,
            small_queues: SmallQueues::Pacing {
                limit: Bytes::new(4 << 20),
                shift: 10,
                overhead: Bytes::new(PACKET_OVERHEAD_BYTES),
            },
            send_offload: false,
            pacing: Pacing::Off,
            delayed_ack: DelayedAck::default(),
            receive_window: Bytes::new(3 << 20),
            send_window: Bytes::new(4 << 20),
            sack: true,
            timeout_min: Duration::from_millis(200),
            local_congestion: false,
            threshold_initial: None,
            ecn: false,
            accurate_ecn: false,
            seed: 0,
        }
    }
}

/// A congestion control algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControlKind {
    /// NewReno (RFC 5681 and RFC 6582), called reno in Linux.
    NewReno,
    /// CUBIC (RFC 9438), the default of Linux.
    Cubic {
        /// End of slow start before a loss.
        hystart: HyStart,
    },
    /// BBR v1, as in Linux since 4.9. The sender paces at BBR's rate, at most that of
    /// [`Pacing::Fixed`]; window validation and [`Config::threshold_initial`] have no effect, and
    /// recovery is that of [`Recovery::Today`].
    Bbr,
    /// BBR v3, as in draft-ietf-ccwg-bbr; the same settings have no effect.
    Bbr3,
    /// DCTCP (RFC 8257). The endpoint requests accurate feedback of marks.
    Dctcp,
    /// Prague, of L4S. The endpoint requests accurate feedback of marks, sends with ECT(1), and paces
    /// at Prague's rate, at most that of [`Pacing::Fixed`]; [`Config::threshold_initial`] has its
    /// effect, recovery is that of [`Recovery::Today`].
    Prague,
}

impl CongestionControlKind {
    /// Names of the controls, as Linux has them where it does.
    pub const NAMES: [&str; 6] = ["cubic", "reno", "bbr", "bbr3", "dctcp", "prague"];

    /// The control of a name in [`CongestionControlKind::NAMES`]; CUBIC with this end of slow start.
    pub fn named(name: &str, hystart: HyStart) -> Option<Self> {
        Some(match name {
            "cubic" => Self::Cubic { hystart },
            "reno" => Self::NewReno,
            "bbr" => Self::Bbr,
            "bbr3" => Self::Bbr3,
            "dctcp" => Self::Dctcp,
            "prague" => Self::Prague,
            _ => return None,
        })
    }

    /// Whether the control needs accurate feedback of marks. Without it the sender uses NewReno.
    pub fn needs_marks(self) -> bool {
        matches!(self, Self::Dctcp | Self::Prague)
    }

    /// Whether the control sets window and pacing rate by a model of the path.
    pub fn is_bbr(self) -> bool {
        matches!(self, Self::Bbr | Self::Bbr3)
    }
}

/// Rule by which slow start ends before a loss.
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

/// Rule for a congestion window that the application, or the sending node's queues, leave unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WindowValidation {
    /// No validation: the window grows with every acknowledgement.
    Off,
    /// Decay after idle and application-limited times (RFC 2861).
    Rfc2861,
    /// No growth while less than half is used (RFC 7661).
    Rfc7661,
    /// The rule of Linux: the window grows only if it limits the sender (in slow start: up to twice
    /// the segments in flight), and restarts after an idle period (tcp_slow_start_after_idle).
    #[default]
    Linux,
    /// The rule of Linux 3.2 to 3.13: the window grows, in slow start too, only if all but three of
    /// its segments were in flight; it restarts after an idle period.
    Linux3,
}

/// TCP small queues: a limit on the bytes of a connection that wait in the sending
/// node's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallQueues {
    /// No limit on queued bytes.
    Off,
    /// A fixed number of bytes of socket memory (Linux 3.6 to 3.13: 128 KiB).
    Fixed {
        /// The limit in bytes; the packet that exceeds it is still sent.
        limit: Bytes,
        /// Memory of a packet in addition to its own length, in bytes (Linux'
        /// truesize).
        overhead: Bytes,
    },
    /// The bytes sent at the pacing rate in `2^-shift` seconds; at least two segments (two buffers
    /// with [`Config::send_offload`]), at most `limit` (Linux since 3.14; mac80211 sets the shift
    /// to 7 or 6).
    Pacing {
        /// Upper bound in bytes (tcp_limit_output_bytes).
        limit: Bytes,
        /// Linux' sk_pacing_shift; 10 is about a millisecond.
        shift: u8,
        /// Memory of a packet in addition to its own length, in bytes: [`PACKET_OVERHEAD_BYTES`]
        /// above devices with scatter-gather, and everywhere since Linux 4.17.
        overhead: Bytes,
    },
}

/// Spacing of segments in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pacing {
    /// No pacing: segments leave as soon as the windows allow.
    #[default]
    Off,
    /// Pacing at 200 % (slow start) or 120 % of congestion window over round-trip time, as in Linux
    /// with the fq queueing discipline.
    Linux,
    /// Pacing at this rate at most (SO_MAX_PACING_RATE), and never above that of [`Pacing::Linux`].
    Fixed(Bitrate),
}

/// Timing of acknowledgements for data that arrives in order. The receiver acknowledges data out of
/// order at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Full-sized segments per acknowledgement. RFC 5681 requires 2; more is a stretch ACK, as
    /// receive offloads cause.
    pub segments: u32,
    /// Longest delay of an acknowledgement. The value of Linux is 40 ms.
    pub delay: Duration,
    /// Number of segments at the start of a connection that are acknowledged one by
    /// one (Linux' quick acknowledgements).
    pub quick_segments: u32,
    /// Whether the receiver acknowledges every eighth segment while data arrives fast, as macOS
    /// does, and every `segments` otherwise.
    pub stretches: bool,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self { segments: 2, delay: Duration::from_millis(40), quick_segments: 16, stretches: false }
    }
}
