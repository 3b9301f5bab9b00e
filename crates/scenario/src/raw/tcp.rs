//! `tcp` of a `[[flow]]`: settings of the model's endpoints. Defaults are those of Linux 6; keys
//! whose default depends on the kernel's rules are options, decided in `assemble::tcp`. Windows and
//! limits are bytes, except the initial window, in segments.

use crate::scalar::Word;
use lasthop_config::choices;
use lasthop_config::scalar::Whole;
use lasthop_config::tables;
use lasthop_tcp::{HyStart, Recovery, WindowValidation};
use lasthop_units::{Bitrate, Bytes, Duration};

/// Limit of a connection's bytes in the queues of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmallQueuesKind {
    Off,
    Pacing,
    Fixed(Bytes),
}

impl lasthop_config::scalar::Scalar for SmallQueuesKind {
    type Value = Self;

    fn allowed() -> String {
        format!("{}, \"pacing\" or \"off\"", Bytes::allowed())
    }
    fn read(value: &lasthop_config::tree::Value) -> Result<Self, Option<String>> {
        match value {
            lasthop_config::tree::Value::String(text) if text == "off" => Ok(Self::Off),
            lasthop_config::tree::Value::String(text) if text == "pacing" => Ok(Self::Pacing),
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

impl lasthop_config::scalar::Scalar for PacingKind {
    type Value = Self;

    fn allowed() -> String {
        format!("{}, \"window\" or \"off\"", Bitrate::allowed())
    }
    fn read(value: &lasthop_config::tree::Value) -> Result<Self, Option<String>> {
        match value {
            lasthop_config::tree::Value::String(text) if text == "off" => Ok(Self::Off),
            lasthop_config::tree::Value::String(text) if text == "window" => Ok(Self::Window),
            _ => Bitrate::read(value).map(Self::Rate),
        }
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "enum": ["window", "off"] }, Bitrate::schema()]
        })
    }
}

/// Fate of a segment that the full queue of its node cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalDrop {
    Lost,
    Refused,
}

/// Operating system of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiverKind {
    Linux,
    MacOs,
}

choices! {
    Word<ReceiverKind> as ReceiverKind { "linux" => ReceiverKind::Linux, "macos-10.11" => ReceiverKind::MacOs }
    Word<HyStart> as HyStart { "linux" => HyStart::Linux, "hystart++" => HyStart::PlusPlus, "off" => HyStart::Off }
    Word<WindowValidation> as WindowValidation {
        "linux" => WindowValidation::Linux,
        "linux-3" => WindowValidation::Linux3,
        "rfc2861" => WindowValidation::Rfc2861,
        "rfc7661" => WindowValidation::Rfc7661,
        "off" => WindowValidation::Off,
    }
    Word<Recovery> as Recovery {
        "linux-3.2" => Recovery::Linux32,
        "linux-3.13" => Recovery::Linux313,
        "today" => Recovery::Today,
    }
    LocalDrop { "lost" => Self::Lost, "refused" => Self::Refused }
}

tables! {
    /// A TCP endpoint in virtual time. The defaults are those of Linux 6.
    RawTcp {
        /// Kernel whose rules for losses, recovery and growth both ends follow
        /// ([differences](kernels.md)). Also decides window_validation and small_queues if they are
        /// left out.
        value recovery: Word<Recovery> = "today";
        /// Initial window in segments (RFC 6928).
        value initial_window: Whole<1, 1_000> = 10;
        /// Slow start threshold in segments that earlier connections to the same peer left
        /// (`ip tcp_metrics show`). Linux keeps it since 5.6 only with
        /// net.ipv4.tcp_no_ssthresh_metrics_save = 0.
        option ssthresh_initial: Whole<2, 1_000_000> = "none: slow start lasts until a loss or `hystart` ends it";
        /// Keep the slow start threshold when the flow ends (its bytes are sent, or it stops) for
        /// those flows between the same nodes that start later and set this key (tcp_metrics of
        /// Linux).
        value metrics_save: bool = false;
        /// End of CUBIC's slow start before loss: as in Linux (ack trains and delay), by RFC 9406,
        /// or not at all.
        value hystart: Word<HyStart> = "linux";
        /// Unused window: no growth and a restart after idle as in Linux, the stricter rule of
        /// Linux 3.2 to 3.13, RFC 2861, RFC 7661, or nothing.
        option window_validation: Word<WindowValidation> = "\"linux\"; \"linux-3\" with an older kernel's recovery";
        /// TCP small queues: limit of waiting bytes in the sending node's own queue, that of its
        /// radio or of a wire with `interface = true`. Other wires do not count.
        /// "pacing", as today: bytes of one millisecond at the pacing rate, 8 ms above Wi-Fi. Linux
        /// 3.6 to 3.13 had a fixed limit of 128 KiB.
        option small_queues: SmallQueuesKind = "\"pacing\"; with recovery = \"linux-3.2\" \"off\", with \"linux-3.13\" \"128KiB\"";
        /// With small_queues = "pacing": its time, 2^-shift seconds at the pacing rate (Linux'
        /// sk_pacing_shift).
        option pacing_shift: Whole<0, 20> = "10; 7 above Wi-Fi, as mac80211 requests since Linux 4.16";
        /// Segments leave in buffers of several (GSO), whose number follows from the pacing rate;
        /// small queues count whole buffers. Linux before 4.17 had such buffers only above devices
        /// with scatter-gather: not above ath9k.
        value send_offload: bool = false;
        /// Memory of a queued packet beside its bytes, which small queues count too. Before 4.17
        /// Linux took 4352 bytes for a packet of 1500 above devices without scatter-gather, ath9k for
        /// one: "2852B".
        option small_queues_overhead: Bytes = "\"896B\"; with a fixed limit \"804B\"";
        /// Spacing of segments: "window", 200 % and 120 % of the window over the round-trip time as
        /// with Linux' fq; a fixed rate; or none, as with other queue disciplines. BBR always paces
        /// at its own rate; a fixed rate is its upper bound.
        value pacing: PacingKind = "off";
        /// Rules for the time of acknowledgements: those of Linux, or of macOS (xnu-3248), which
        /// acknowledges every eighth segment while data arrives fast, otherwise every second, with a
        /// delay of 100 ms. The three keys below are Linux'.
        value receiver: Word<ReceiverKind> = "linux";
        /// Full segments for each acknowledgement (RFC 5681: 2). More make stretch
        /// acknowledgements, as receive offloads do.
        option ack_segments: Whole<1, 64> = "2";
        /// Longest delay of an acknowledgement.
        option ack_delay: Duration = "\"40ms\"";
        /// Segments at the start that are acknowledged one by one.
        option quick_acks: Whole<0, 1_000> = "16";
        /// Most segments that receive offload (GRO) merges: those of one millisecond that arrive
        /// together, as in an A-MPDU, and have one acknowledgement. Linux merges 64 KiB (45), before
        /// 3.13 17 segments; 1 stands for drivers without it.
        value receive_offload: Whole<1, 64> = 1;
        /// Time for which receive offload holds the first segment back: interrupts of the device.
        value receive_offload_wait: Duration = "0s";
        /// Most bytes in flight that a receiver allows: half of Linux' tcp_rmem.
        value receive_window: Bytes = "3MiB";
        /// Most bytes in flight that a sender allows: Linux' tcp_wmem of 4 MiB less the overhead of
        /// buffers.
        value send_window: Bytes = "2621440B";
        /// Selective acknowledgements, and with them the loss detection of `recovery`: today RACK
        /// and tail loss probes.
        value sack: bool = true;
        /// Shortest retransmission timeout.
        value timeout_min: Duration = "200ms";
        /// Segment that does not fit into the node's queue: lost, as under mac80211, or refused, as
        /// by a qdisc above the driver; the sender then reduces its window and sends it later.
        value local_drop: LocalDrop = "lost";
        /// Explicit congestion notification (RFC 3168). Linux accepts it and does not request it.
        value ecn: bool = false;
        /// Accurate feedback of marks (RFC 9768), with `ecn = true`: a counter of marked packets instead
        /// of one echo in a round trip. "dctcp" and "prague" request it in any case.
        value accurate_ecn: bool = false;
    }
}
