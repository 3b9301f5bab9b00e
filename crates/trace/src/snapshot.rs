//! The readings of one interval: the source of the rows of the series, and the content of a live
//! view. Throughput counts payload that arrived; delays and round-trip times are means over the
//! interval; a missing reading is `None`.

use crate::value::DelayPartsSummary;
use lasthop_packet::NodeId;
use lasthop_units::{Bytes, Duration, Instant};
use lasthop_wifi::StationId;
use lasthop_wifi::phy::Rate;

/// Readings of one interval.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Snapshot {
    /// End of the interval.
    pub at: Instant,
    /// Duration of the interval; zero before the first one has ended.
    pub interval: Duration,
    /// Flows by [`FlowId`](lasthop_packet::FlowId): those of the scenario, then those of programs
    /// that have begun.
    pub flows: Vec<FlowReading>,
    /// Nodes by [`NodeId`].
    pub nodes: Vec<NodeReading>,
    /// Directions of links that carried data in the interval; empty unless the cell records events.
    pub links: Vec<LinkReading>,
}

/// Readings of a flow in one interval, in its forward direction.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct FlowReading {
    /// Payload of the packets that arrived.
    pub payload: Bytes,
    /// Payload that the socket of a simulated TCP sender accepted; `None` for other flows.
    pub written: Option<Bytes>,
    /// Packets that entered the network.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that the network gave up.
    pub lost: u64,
    /// Acknowledgements of TCP that coded links replaced by later ones.
    pub acks_replaced: u64,
    /// Mean one-way delay of the packets that arrived; `None` without any.
    pub delay: Option<Duration>,
    /// Mean parts of that delay, for the packets that arrived in the measured time (after the
    /// warm-up); `None` without packets, and without a reader.
    pub parts: Option<DelayPartsSummary>,
    /// Mean of the reported round-trip times, of echo requests or of segments of a simulated TCP
    /// sender; `None` without any.
    pub rtt: Option<Duration>,
    /// Last reading of the TCP sender's congestion window in segments.
    pub cwnd_packets: Option<u32>,
    /// Last reading of the TCP sender's smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// Last reading of the TCP sender's retransmitted segments since the start of the run.
    pub retransmissions: Option<u64>,
}

/// Readings of a node in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct NodeReading {
    /// Node of the readings.
    pub node: NodeId,
    /// Last reading of the packets in the node's Wi-Fi queues; `None` for a node without Wi-Fi, and
    /// before the first reading.
    pub queue_packets: Option<u32>,
    /// Time in which the node transmitted; zero unless the cell records events.
    pub airtime: Duration,
}

/// Readings of a direction of a link in one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkReading {
    /// Station that transmits.
    pub from: StationId,
    /// Station that receives.
    pub to: StationId,
    /// Data PPDUs sent.
    pub ppdus: u64,
    /// Data MPDUs in these PPDUs.
    pub mpdus: u64,
    /// MPDUs among them that the receiver did not decode.
    pub mpdus_failed: u64,
    /// PHY rate of the last data PPDU.
    pub rate: Rate,
}

impl Snapshot {
    /// Throughput of a flow in Mb/s over the interval; 0 for an interval of zero duration.
    pub fn throughput_mbps(&self, reading: &FlowReading) -> f64 {
        match self.interval.as_nanos() {
            0 => 0.0,
            nanos => reading.payload.as_u64() as f64 * 8e3 / nanos as f64,
        }
    }
}
