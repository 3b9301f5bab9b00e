//! Flows of a wired capture, which has no stations: packets of each end since the previous reading.

use crate::analysis::Analysis;
use crate::transport::{Direction, FlowKey};
use std::collections::BTreeMap;

/// Packets of one end of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Protocol, sender and receiver with their ports.
    pub name: String,
    /// Packets per second.
    pub packets_per_s: f64,
    /// Payload in Mb/s, each byte once.
    pub throughput_mbps: f64,
    /// Retransmitted TCP segments since the start; 0 for UDP.
    pub retransmissions: u64,
    /// Mean time from a segment of TCP to its acknowledgement at the monitor in ms, since the
    /// start.
    pub ack_ms: Option<f64>,
}

/// Packets and bytes of payload of both directions of each flow, up to the previous reading.
#[derive(Debug, Default)]
pub(super) struct Wire(BTreeMap<FlowKey, [(u64, u64); 2]>);

impl Wire {
    /// Returns the flows with packets in the last `interval_ns`, the fastest first.
    pub(super) fn read(&mut self, analysis: &Analysis, interval_ns: u64) -> Vec<FlowRow> {
        let mut rows = Vec::new();
        let mut now = BTreeMap::new();
        for (key, flow) in analysis.main.flows.iter() {
            let counts = flow.directions.each_ref().map(|d| (d.packets, d.payload_bytes));
            // A flow that was dropped and returned counts from zero.
            let before = self.0.get(key).copied().unwrap_or_default();
            for (index, direction) in flow.directions.iter().enumerate() {
                let packets = counts[index].0.saturating_sub(before[index].0);
                let bytes = counts[index].1.saturating_sub(before[index].1);
                if packets > 0 {
                    let per_s = 1e9 / interval_ns as f64;
                    let mbps = bytes as f64 * 8e-6 * per_s;
                    rows.push(FlowRow::new(key, index, direction, packets as f64 * per_s, mbps));
                }
            }
            now.insert(*key, counts);
        }
        self.0 = now;
        // The sort is stable: flows with equal throughput keep their order.
        rows.sort_by(|a, b| b.throughput_mbps.total_cmp(&a.throughput_mbps));
        rows
    }
}

impl FlowRow {
    fn new(key: &FlowKey, index: usize, direction: &Direction, packets: f64, mbps: f64) -> Self {
        let [from, to] = [key.ends[index], key.ends[1 - index]].map(|end| end.to_string());
        let protocol =
            if key.protocol == lasthop_packet::ip::protocol::TCP { "tcp" } else { "udp" };
        let tcp = direction.tcp.as_deref();
        Self {
            name: format!("{protocol} {from} > {to}"),
            packets_per_s: packets,
            throughput_mbps: mbps,
            retransmissions: tcp.map_or(0, |tcp| tcp.retransmissions),
            ack_ms: tcp
                .and_then(|tcp| tcp.rtt)
                .map(|(_, sum, _, number)| sum as f64 / number.max(1) as f64 / 1e6),
        }
    }
}
