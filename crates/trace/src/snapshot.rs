//! What happened in the last interval: one row of the series, and what a live
//! view shows. Throughput counts payload that arrived; delays and round trips
//! are means of the interval; a reading that was not made is `None`.

use lasthop_packet::NodeId;
use lasthop_units::{Bytes, Duration, Instant};
use lasthop_wifi::StationId;
use lasthop_wifi::phy::Rate;

/// The readings of one interval.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Snapshot {
    /// The end of the interval.
    pub at: Instant,
    /// Its length.
    pub interval: Duration,
    /// The flows, by [`FlowId`](lasthop_packet::FlowId).
    pub flows: Vec<FlowReading>,
    /// The nodes, by [`NodeId`].
    pub nodes: Vec<NodeReading>,
    /// The directions of links that carried data in the interval (only if the
    /// cell records events).
    pub links: Vec<LinkReading>,
}

/// One flow in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct FlowReading {
    /// Payload that arrived.
    pub payload: Bytes,
    /// Packets that entered the network.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets given up.
    pub lost: u64,
    /// Mean one-way delay of the packets that arrived.
    pub delay: Option<Duration>,
    /// Mean round-trip time of the requests that were answered.
    pub rtt: Option<Duration>,
    /// Congestion window in segments, last reading.
    pub cwnd_packets: Option<u32>,
    /// Smoothed round-trip time of the TCP sender, last reading.
    pub smoothed_rtt: Option<Duration>,
    /// Segments retransmitted since the begin of the run, last reading.
    pub retransmissions: Option<u64>,
}

/// One node in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct NodeReading {
    /// Which node.
    pub node: NodeId,
    /// Packets in its Wi-Fi queues, last reading.
    pub queue_packets: Option<u32>,
    /// Time on the air as transmitter (only if the cell records events).
    pub airtime: Duration,
}

/// One direction of a link in one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkReading {
    /// Sender.
    pub from: StationId,
    /// Receiver.
    pub to: StationId,
    /// Data PPDUs.
    pub ppdus: u64,
    /// Data MPDUs in them.
    pub mpdus: u64,
    /// Of those, not decoded by the receiver.
    pub mpdus_failed: u64,
    /// Rate of the last data PPDU.
    pub rate: Rate,
}

impl Snapshot {
    /// Payload of a flow in Mb/s over the interval.
    pub fn throughput_mbps(&self, reading: &FlowReading) -> f64 {
        match self.interval.as_nanos() {
            0 => 0.0,
            nanos => reading.payload.as_u64() as f64 * 8e3 / nanos as f64,
        }
    }
}
