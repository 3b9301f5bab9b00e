//! Queues: the one above the MAC or before a wire, and that of driver and hardware.
//! `assemble::queue` decides which keys belong to a discipline, and the defaults on the air and on
//! wires.

use super::Positive;
use lasthop_config::choices;
use lasthop_config::scalar::{Factor, OrOff, Whole};
use lasthop_config::tables;
use lasthop_units::{Bitrate, Bytes, Duration};

/// Discipline of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    DropTail,
    CoDel,
    FqCodel,
    EmulatedBdp,
    DualPi2,
    Cake,
}

choices! {
    QueueKind {
        "drop-tail" => Self::DropTail,
        "codel" => Self::CoDel,
        "fq-codel" => Self::FqCodel,
        "ebdp" => Self::EmulatedBdp,
        "dualpi2" => Self::DualPi2,
        "cake" => Self::Cake,
    }
}

/// Sharing among hosts, in the words of `tc-cake`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsolationKind {
    Flows,
    Sources,
    Destinations,
    Triple,
}

choices! {
    IsolationKind {
        "flows" => Self::Flows,
        "dual-srchost" => Self::Sources,
        "dual-dsthost" => Self::Destinations,
        "triple-isolate" => Self::Triple,
    }
}

/// Tins, in the words of `tc-cake`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TinsKind {
    BestEffort,
    Diffserv3,
    Diffserv4,
}

choices! {
    TinsKind {
        "besteffort" => Self::BestEffort,
        "diffserv3" => Self::Diffserv3,
        "diffserv4" => Self::Diffserv4,
    }
}

/// Packets that a threshold of sojourn time marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectorKind {
    Any,
    Ect1,
}

choices! {
    SelectorKind {
        "any" => Self::Any,
        "ect1" => Self::Ect1,
    }
}

tables! {
    /// A queue of packets. The defaults are those of mac80211 on the air, and of RFC 8289, RFC 8290
    /// and Linux' interfaces on wires.
    RawQueue {
        /// Queue discipline. "ebdp" is a drop-tail queue that holds the packets served in the
        /// target delay (Li, Leith, Malone, "Buffer Sizing for 802.11 Based Networks", 2011);
        /// "dualpi2" has an L4S queue beside a classic one (RFC 9332, Linux 6.17); "cake" shares
        /// among hosts and flows, and can shape (Linux 6.12).
        option kind: QueueKind = "\"fq-codel\" on the air (Linux since 2016), \"drop-tail\" on wires";
        /// Limit of the queue in packets.
        option packets: Positive = "1000 for drop-tail and codel (Linux' txqueuelen); fq-codel: 8192 on the air, 10240 on wires; ebdp: 400 at any rate (lasthop's choice); dualpi2: 10000";
        /// drop-tail on the air: most packets that wait for one station, as in drivers and firmwares
        /// that count those of each. Packets in flight count in the limit of the queue only.
        option station_packets: Positive = "no limit but that of the queue";
        /// Limit of the queue in bytes; for drop-tail and codel instead of packets.
        option bytes: Bytes = "none for drop-tail and codel; fq-codel: 4 MiB on the air (mac80211 without VHT), 32 MiB on wires; cake: frames of four rtt at the bandwidth, 4 MiB to 15.5 MB, without bandwidth 15.5 MB";
        /// Standing delay that codel and fq-codel accept, "off" for fair queueing without CoDel;
        /// ebdp: delay of a full queue; dualpi2: delay that the controller keeps.
        option target: OrOff<Duration> = "20 ms on the air, where an aggregate takes milliseconds, 5 ms on wires; ebdp: 200 ms, the median round trip of TCP in the trace of the apq paper; dualpi2: 15 ms";
        /// Time in which a burst may drain (codel, fq-codel); ebdp with count_flows: period over
        /// which flows are counted.
        option interval: Duration = "100ms; ebdp: 1s";
        /// ebdp: further packets for a burst, beyond those served in the target.
        option burst_packets: Positive = "5 (lasthop's choice)";
        /// ebdp: packets over which the service time is averaged.
        option average_packets: Positive = "1000 (lasthop's choice)";
        /// ebdp: divide the target by the root of the number of flows (Appenzeller, Keslassy,
        /// McKeown, "Sizing Router Buffers", 2004).
        option count_flows: bool = "false";
        /// dualpi2: time between updates of the controller.
        option tupdate: Duration = "16ms";
        /// dualpi2: integral gain in hertz.
        option alpha: Factor = "0.16";
        /// dualpi2: proportional gain in hertz.
        option beta: Factor = "3.2";
        /// dualpi2: probability of marks in the L4S queue for each unit of the base probability.
        option coupling_factor: Whole<1, 255> = "2";
        /// dualpi2: sojourn time beyond which a packet of the L4S queue is marked.
        option step_thresh: Duration = "1ms";
        /// dualpi2: share of the classic queue in percent of bytes, while both queues hold packets.
        option classic_protection: Whole<0, 100> = "10";
        /// dualpi2: drop packets of both queues once the L4S queue would mark all of its packets.
        option drop_on_overload: bool = "true";
        /// cake on wires: rate of its shaper, overhead included.
        option bandwidth: Bitrate = "no shaper";
        /// cake: time in which a burst may drain; the standing delay that it accepts is a twentieth.
        /// Both are longer at bandwidths that need more than the latter for one and a half packets.
        option rtt: Duration = "100ms";
        /// cake: even shares of flows only, of sources, of destinations, or of the busier of a flow's
        /// two hosts, and then of their flows. Hosts are the nodes at both ends.
        option isolation: IsolationKind = "\"triple-isolate\"";
        /// cake: one tin; or bulk (at most 1/16 of the rate before others), best effort and voice (1/4), by
        /// access category; or also video (1/2).
        option diffserv: TinsKind = "\"diffserv3\"";
        /// cake: bytes of a frame beside the network-layer packet, for shaper and shares.
        option overhead_bytes: Whole<0, 256> = "14, the header of Ethernet";
        /// fq-codel: buckets of the flow hash.
        option flows: Whole<1, 65_535> = "4096 on the air, 1024 on wires";
        /// fq-codel: bytes that a flow sends in a turn.
        option quantum_bytes: Whole<1, 65_535> = "300 on the air, 1514 on wires";
        /// Mark ECN-capable packets instead of dropping them (codel, fq-codel).
        option ecn: bool = "true for fq-codel, false for codel, as in Linux";
        /// fq-codel: sojourn time beyond which every ECN-capable packet leaves marked, in addition to
        /// CoDel's marks; for DCTCP and Prague.
        option ce_threshold: Duration = "no such marks; with ce_threshold_selector = \"ect1\": the node's longest A-MPDU on the air, about the time between two A-MPDUs (5.484 ms without limits of a driver), 1 ms on wires (RFC 9332)";
        /// fq-codel: packets that ce_threshold marks, "any" with ECT(0) or ECT(1), or "ect1" for L4S
        /// traffic only (RFC 9331). With "ect1" the queue of a flow at an access point is an L4S
        /// queue, beside those of classic flows; its marks follow the rate of the station.
        option ce_threshold_selector: SelectorKind = "\"any\"";
        /// Equal airtime for all stations (fq-codel on the air), as in mac80211 since Linux 4.11.
        option airtime_fairness: bool = "true";
    }

    /// Queue of driver and hardware, out of reach of the queue above. At most one key.
    RawDriverQueue {
        /// Limit of the driver queue in packets.
        option packets: Positive = "no driver queue: the MAC takes from the queue above when it builds an aggregate";
        /// Limit of estimated airtime for each peer (mac80211 since Linux 5.5: 5 to 12 ms).
        option airtime: Duration = "no driver queue";
    }
}
