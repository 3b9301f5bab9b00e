//! Flows of TCP and UDP.

use super::{millis, rounded, seconds};
use crate::document::channel::mbps;
use crate::transport::{self, Direction, FlowKey, Flows};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A flow of both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowSummary {
    /// `tcp` or `udp`.
    pub protocol: String,
    /// From each end: address and port of the sender, and what it sent. An end that sent nothing
    /// is absent.
    pub from: BTreeMap<String, FlowDirectionSummary>,
}

/// What one end of a flow sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowDirectionSummary {
    /// Time of the first packet.
    pub from_s: f64,
    /// Time of the last packet.
    pub to_s: f64,
    /// Packets; what the MAC repeats counts once.
    pub packets: u64,
    /// Bytes of them, with IP headers.
    pub bytes: u64,
    /// Payload, each byte once.
    pub payload_bytes: u64,
    /// The same in Mb/s, from the first to the last packet; absent if there is only one moment.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throughput_mbps: Option<f64>,
    /// Segments of TCP with payload.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments: Option<u64>,
    /// Segments that were sent again: their bytes were seen before, or were passed over and carry
    /// a later identification of IP than the segments that have overtaken them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmissions: Option<u64>,
    /// Of them, those whose copy before was never acknowledged on the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_on_air: Option<u64>,
    /// Of them, those whose copy before was acknowledged on the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_elsewhere: Option<u64>,
    /// Segments that others have overtaken; not among `retransmissions`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub out_of_order: Option<u64>,
    /// Acknowledgements that repeat the one before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duplicate_acks: Option<u64>,
    /// Most bytes that were sent and not acknowledged, as the monitor sees it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flight_bytes_max: Option<u32>,
    /// From a segment to its acknowledgement at the monitor in ms: mean, least, greatest. The
    /// times of both directions add up to the round trip.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ack_ms: Option<[f64; 3]>,
}

pub(super) fn flows(flows: &Flows, begin_ns: u64) -> BTreeMap<String, FlowSummary> {
    let summary = |(key, flow): (&FlowKey, &transport::Flow)| {
        let from = key.ends.iter().zip(&flow.directions).filter_map(|(end, direction)| {
            let (address, port) = *end;
            let summary = FlowDirectionSummary::new(direction, begin_ns)?;
            Some((transport::end(address, port), summary))
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
