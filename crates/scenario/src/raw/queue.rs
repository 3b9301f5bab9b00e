//! Queues: the one above the MAC or before a wire, and that of driver and hardware. Which keys are
//! of which discipline, and the defaults of each on the air and on wires, is decided in
//! `assemble::queue`.

use super::Positive;
use crate::scalar::{Whole, choices};
use crate::table::tables;
use lasthop_units::{Bytes, Duration};

/// Queue disciplines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    DropTail,
    CoDel,
    FqCodel,
    EmulatedBdp,
}

choices! {
    QueueKind {
        "drop-tail" => Self::DropTail,
        "codel" => Self::CoDel,
        "fq-codel" => Self::FqCodel,
        "ebdp" => Self::EmulatedBdp,
    }
}

tables! {
    /// A queue of packets. On the air the defaults are those of Linux'
    /// mac80211, on wires those of RFC 8289, RFC 8290 and Linux' interfaces.
    RawQueue {
        /// The discipline. "ebdp" is a tail-drop queue that adapts its capacity: what is
        /// served in a target delay has room (Li, Leith, Malone, "Buffer Sizing for 802.11
        /// Based Networks", 2011).
        option kind: QueueKind = "\"fq-codel\" on the air (Linux since 2016), \"drop-tail\" on wires";
        /// Most packets in it.
        option packets: Positive = "1000 for drop-tail and codel (Linux' txqueuelen); for fq-codel 8192 on the air, 10240 on wires; for ebdp, which holds no more at any rate, 400 (lasthop's choice)";
        /// Most bytes in it; for drop-tail and codel instead of packets.
        option bytes: Bytes = "no such limit for drop-tail and codel; for fq-codel 4 MiB on the air (mac80211 without VHT), 32 MiB on wires";
        /// Standing delay that codel and fq-codel accept; with ebdp the delay of a full queue.
        option target: Duration = "20 ms on the air, where an aggregate takes milliseconds, 5 ms on wires; with ebdp 200 ms, the median round trip of TCP in the trace of the paper of reproduce apq";
        /// Time in which a burst may drain (codel and fq-codel); with ebdp and count_flows
        /// the time over which flows are counted.
        option interval: Duration = "100ms; with ebdp 1s";
        /// Room for a burst, beyond what is served in the target (ebdp).
        option burst_packets: Positive = "5 (lasthop's choice)";
        /// Packets over which the time that one takes is averaged (ebdp).
        option average_packets: Positive = "1000 (lasthop's choice)";
        /// Divide the target by the root of the number of flows that arrive (ebdp), as
        /// Appenzeller, Keslassy and McKeown, "Sizing Router Buffers", 2004, have it for
        /// many.
        option count_flows: bool = "false";
        /// Buckets of the flow hash (fq-codel).
        option flows: Whole<1, 65_535> = "4096 on the air, 1024 on wires";
        /// Bytes that a flow may send before the next one's turn (fq-codel).
        option quantum_bytes: Whole<1, 65_535> = "300 on the air, 1514 on wires";
        /// Mark ECN-capable packets instead of dropping them (codel and fq-codel).
        option ecn: bool = "true for fq-codel, false for codel, as in Linux";
        /// Share air time evenly among the stations (fq-codel on the air), as
        /// mac80211 does since Linux 4.11.
        option airtime_fairness: bool = "true";
    }

    /// The queue of driver and hardware; what is in it is out of reach of the
    /// queue above. One of its keys, or none.
    RawDriverQueue {
        /// So many packets.
        option packets: Positive = "no driver queue: the MAC takes from the queue above when it builds an aggregate";
        /// So much estimated air time a peer (mac80211 since Linux 5.5: 5 to 12 ms).
        option airtime: Duration = "no driver queue";
    }
}
