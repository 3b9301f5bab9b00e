//! Flows of TCP and UDP.

use crate::rounding::{mbps, millis, rounded, seconds};
use crate::transport::{self, Direction, FlowKey, Flows};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A flow in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowSummary {
    /// Protocol of the flow: `tcp` or `udp`.
    pub protocol: String,
    /// Packets by direction, under the address and port of the sender. An end that sent no packet
    /// is absent.
    pub from: BTreeMap<String, FlowDirectionSummary>,
}

/// Packets of one direction of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowDirectionSummary {
    /// Time of the first packet.
    pub from_s: f64,
    /// Time of the last packet.
    pub to_s: f64,
    /// Number of packets; MAC retransmissions count once.
    pub packets: u64,
    /// Sum of their lengths, including IP headers, in bytes.
    pub bytes: u64,
    /// Payload in bytes, each byte once.
    pub payload_bytes: u64,
    /// Payload in Mb/s, from the first to the last packet. Absent if both have the same time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throughput_mbps: Option<f64>,
    /// TCP segments with payload.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments: Option<u64>,
    /// Retransmitted segments: their bytes were captured before, or they fill a gap and carry a
    /// later IP identification than the segments behind the gap.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmissions: Option<u64>,
    /// Retransmissions whose previous copy was never acknowledged on the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_on_air: Option<u64>,
    /// Retransmissions whose previous copy was acknowledged on the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_elsewhere: Option<u64>,
    /// Segments that others have overtaken. They are no retransmissions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub out_of_order: Option<u64>,
    /// Acknowledgements with the number of the previous one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duplicate_acks: Option<u64>,
    /// Largest number of bytes in flight at the monitor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flight_bytes_max: Option<u32>,
    /// Time from a segment to its acknowledgement at the monitor, in ms: mean, least, greatest. The
    /// times of both directions add up to the round trip.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ack_ms: Option<[f64; 3]>,
}

pub(super) fn flows(flows: &Flows, begin_ns: u64) -> BTreeMap<String, FlowSummary> {
    let summary = |(key, flow): (&FlowKey, &transport::Flow)| {
        let from = key.ends.iter().zip(&flow.directions).filter_map(|(end, direction)| {
            let summary = FlowDirectionSummary::new(direction, begin_ns)?;
            Some((end.to_string(), summary))
        });
        let protocol = if key.protocol == 6 { "tcp" } else { "udp" };
        (key.to_string(), FlowSummary { protocol: protocol.to_owned(), from: from.collect() })
    };
    flows.iter().map(summary).collect()
}

impl FlowDirectionSummary {
    fn new(direction: &Direction, begin_ns: u64) -> Option<Self> {
        let (first, last) = direction.times?;
        let tcp = direction.tcp.as_deref();
        Some(Self {
            from_s: seconds(first.saturating_sub(begin_ns)),
            to_s: seconds(last.saturating_sub(begin_ns)),
            packets: direction.packets,
            bytes: direction.bytes,
            payload_bytes: direction.payload_bytes,
            throughput_mbps: (last > first).then(|| mbps(direction.payload_bytes, last - first)),
            segments: tcp.map(|tcp| tcp.segments),
            retransmissions: tcp.map(|tcp| tcp.retransmissions),
            lost_on_air: tcp.map(|tcp| tcp.fates[0]),
            lost_elsewhere: tcp.map(|tcp| tcp.fates[1]),
            out_of_order: tcp.map(|tcp| tcp.out_of_order),
            duplicate_acks: tcp.map(|tcp| tcp.duplicate_acks),
            flight_bytes_max: tcp.map(|tcp| tcp.flight_bytes_max),
            ack_ms: tcp.and_then(|tcp| tcp.rtt).map(|(least, sum, greatest, number)| {
                [rounded(sum as f64 / number as f64 / 1e6, 1e3), millis(least), millis(greatest)]
            }),
        })
    }
}
