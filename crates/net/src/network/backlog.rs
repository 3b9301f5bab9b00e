//! How much a saturated source keeps before the first queue on its way. Both
//! drivers ask here, so that a saturated flow is the same in either.

use super::NetworkConfig;
use crate::sink::NodeId;
use lasthop_wifi::queue::{Limit, QueueConfig};

/// Most packets kept before a queue with active management: far more than an
/// aggregate, and no burden to the queue.
const MANAGED_PACKETS_MAX: u32 = 1_000;

impl NetworkConfig {
    /// How many packets a saturated source of packets of `bytes` keeps at `node`:
    /// as many as its queue takes, and never one that it would drop on arrival.
    /// The parts of packets longer than the MTU count each for itself.
    pub fn saturated_backlog(&self, node: NodeId, bytes: u16) -> u32 {
        let station = self.nodes[node.index()].station.zip(self.cell.as_ref());
        let queue = match station {
            Some((station, cell)) => Some(cell.stations[station.index()].queue),
            None => self.wires.iter().find_map(|wire| {
                let end = wire.ends.iter().position(|end| *end == node)?;
                Some(wire.directions[end].queue)
            }),
        };
        let bytes = bytes.min(self.nodes[node.index()].mtu);
        let packets = |limit| match limit {
            Limit::Packets(packets) => packets,
            Limit::Bytes(limit) => {
                (limit.as_u64() / u64::from(bytes).max(1)).try_into().unwrap_or(u32::MAX)
            }
        };
        match queue {
            Some(QueueConfig::DropTail { limit }) => packets(limit),
            Some(QueueConfig::CoDel { limit, .. }) => packets(limit).min(MANAGED_PACKETS_MAX),
            Some(QueueConfig::FqCodel { limit_packets, memory_limit, .. }) => {
                packets(Limit::Bytes(memory_limit)).min(limit_packets).min(MANAGED_PACKETS_MAX)
            }
            None => MANAGED_PACKETS_MAX,
        }
    }
}
