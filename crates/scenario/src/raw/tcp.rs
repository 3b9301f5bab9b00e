//! `tcp` of a `[[flow]]`: how the model's endpoints behave. Defaults are those of Linux 6; those
//! that change with another kernel's rules are options, decided in `assemble::tcp`. Windows and
//! limits are bytes, but for the initial window, in segments.

use crate::scalar::{Whole, choices};
use crate::table::tables;
use lasthop_tcp::{HyStart, Recovery, WindowValidation};
use lasthop_units::{Bitrate, Bytes, Duration};

/// How much of a connection may wait in its node's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmallQueuesKind {
    Off,
    Pacing,
    Fixed(Bytes),
}

impl crate::scalar::Scalar for SmallQueuesKind {
    fn allowed() -> String {
        format!("{}, \"pacing\" or \"off\"", Bytes::allowed())
    }
    fn read(value: &crate::tree::Value) -> Result<Self, Option<String>> {
        match value {
            crate::tree::Value::String(text) if text == "off" => Ok(Self::Off),
            crate::tree::Value::String(text) if text == "pacing" => Ok(Self::Pacing),
            _ => Bytes::read(value).map(Self::Fixed),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "enum": ["pacing", "off"] }, Bytes::schema()]
        })
    }
}

/// Spacing of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacingKind {
    Off,
    Window,
    Rate(Bitrate),
}

impl crate::scalar::Scalar for PacingKind {
    fn allowed() -> String {
        format!("{}, \"window\" or \"off\"", Bitrate::allowed())
    }
    fn read(value: &crate::tree::Value) -> Result<Self, Option<String>> {
        match value {
            crate::tree::Value::String(text) if text == "off" => Ok(Self::Off),
            crate::tree::Value::String(text) if text == "window" => Ok(Self::Window),
            _ => Bitrate::read(value).map(Self::Rate),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "enum": ["window", "off"] }, Bitrate::schema()]
        })
    }
}

/// What becomes of a segment that its own node's queue has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalDrop {
    Lost,
    Refused,
}

choices! {
    HyStart { "linux" => Self::Linux, "hystart++" => Self::PlusPlus, "off" => Self::Off }
    WindowValidation {
        "linux" => Self::Linux,
        "linux-3" => Self::Linux3,
        "rfc2861" => Self::Rfc2861,
        "rfc7661" => Self::Rfc7661,
        "off" => Self::Off,
    }
    Recovery {
        "linux-3.2" => Self::Linux32,
        "linux-3.13" => Self::Linux313,
        "today" => Self::Today,
    }
    LocalDrop { "lost" => Self::Lost, "refused" => Self::Refused }
}

tables! {
    /// A TCP endpoint in virtual time. The defaults are those of Linux 6.
    RawTcp {
        /// Whose rules for losses, recovery and growth both ends follow: those of an
        /// older kernel, or today's ([kernels.md](kernels.md) has the differences). Where
        /// window_validation and small_queues are left out, they are that kernel's, too.
        value recovery: Recovery = "today";
        /// Initial window in segments (RFC 6928).
        value initial_window: Whole<1, 1_000> = 10;
        /// How CUBIC's slow start ends before there is loss: as in Linux
        /// (ack trains and delay), by RFC 9406, or not at all.
        value hystart: HyStart = "linux";
        /// What happens to a window that is not used: no growth and a restart
        /// after idle as in Linux, the stricter rule of Linux 3.2 to 3.13,
        /// RFC 2861, RFC 7661, or nothing.
        option window_validation: WindowValidation = "\"linux\"; \"linux-3\" with an older kernel's recovery";
        /// TCP small queues: how much may wait in the sending node's own queue, that of its
        /// radio or of a wire with `interface = true`. A wire without it is a line, and what
        /// waits there is not counted. A fixed limit was Linux' way from 3.6 to 3.13, with
        /// 128 KiB; "pacing" is today's: what the pacing rate sends in a millisecond, 8 ms
        /// above Wi-Fi.
        option small_queues: SmallQueuesKind = "\"pacing\"; with recovery = \"linux-3.2\" \"off\", with \"linux-3.13\" \"128KiB\"";
        /// Memory that a queued packet takes beside its own bytes, counted by
        /// a fixed limit. Linux counts the whole buffer: 2304 bytes for an
        /// Ethernet-sized segment.
        value small_queues_overhead: Bytes = "804B";
        /// Spacing of segments: at 200 % and 120 % of the window over the
        /// round-trip time as with Linux' fq, at a fixed rate, or none, as with Linux'
        /// other queue disciplines.
        value pacing: PacingKind = "off";
        /// A receiver acknowledges every so many full segments (RFC 5681: 2).
        /// More are stretch acknowledgements, as receive offloads make them.
        value ack_segments: Whole<1, 64> = 2;
        /// Or after this time.
        value ack_delay: Duration = "40ms";
        /// So many segments at the start are acknowledged one by one.
        value quick_acks: Whole<0, 1_000> = 16;
        /// Most that a receiver lets be in flight: half of Linux' tcp_rmem.
        value receive_window: Bytes = "3MiB";
        /// Most that a sender lets be in flight: Linux' tcp_wmem of 4 MiB less
        /// the overhead of buffers.
        value send_window: Bytes = "2621440B";
        /// Selective acknowledgements, and with them what recovery says of losses: today
        /// RACK and tail loss probes.
        value sack: bool = true;
        /// Shortest retransmission timeout.
        value timeout_min: Duration = "200ms";
        /// A segment for which the own node's queue has no room is lost, as
        /// under mac80211's queues, or refused, as by a qdisc above the
        /// driver: the sender then reduces its window and sends it later.
        value local_drop: LocalDrop = "lost";
        /// Explicit congestion notification (RFC 3168). Linux answers to it,
        /// but does not ask.
        value ecn: bool = false;
    }
}
