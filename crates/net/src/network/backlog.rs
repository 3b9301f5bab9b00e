//! Number of packets that saturated flows keep in the first queue on their path. Both drivers use
//! it, so that a saturated flow behaves alike under both clocks.
//!
//! Each flow keeps separate packets, independent of the rates at which those of others leave: an
//! access category, or a station in a fair queue, is served only while it has packets waiting.
//! Flows that share a queue share its limit evenly. A packet longer than the MTU counts as its
//! parts.

use super::route::Hop;
use super::{Network, NetworkConfig};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use lasthop_packet::{AccessCategory, NodeId};
use lasthop_units::Instant;

/// Limit of packets that a flow keeps in a queue with active management: far more than an aggregate
/// holds, and few enough for the queue to handle.
const MANAGED_PACKETS_MAX: u32 = 1_000;

/// A flow that always has packets to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaturatedFlow {
    /// The node at which the flow starts.
    pub from: NodeId,
    /// The node at which the flow ends.
    pub to: NodeId,
    /// Access category of its packets.
    pub access_category: AccessCategory,
    /// Length of a packet in bytes.
    pub bytes: u16,
    /// Instant at which the flow starts.
    pub start: Instant,
    /// Instant at which the flow ends.
    pub stop: Instant,
}

/// Number of packets that each saturated flow keeps; flows are identified by their index among
/// those given to [`Backlogs::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlogs {
    flows: Vec<Entry>,
    /// Instants at which flows start or end, in order; the first `changed` are past.
    changes: Vec<Instant>,
    changed: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    flow: SaturatedFlow,
    queue: FirstQueue,
    /// Limit of the queue, in packets as they are put on the link.
    limit: u32,
    /// Limit of the packets of one flow, independent of the number of flows that share the queue.
    flow_limit: u32,
    /// Number of packets on the link that a packet of the flow becomes.
    parts: u32,
    target: u32,
}

/// The queue in which packets wait at their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FirstQueue {
    Wire(usize),
    Air(NodeId, AccessCategory),
}

impl Backlogs {
    /// Returns the backlogs of `flows` in `network`, which was made from `config`.
    pub fn new(
        config: &NetworkConfig,
        network: &Network,
        flows: impl IntoIterator<Item = SaturatedFlow>,
    ) -> Self {
        let entry = |flow: SaturatedFlow| {
            // A source of packets that go nowhere is no flow: `Hosts` refuses it.
            let (queue, place) = match network.routes.next(flow.from, flow.to) {
                Hop::None => panic!("nodes {} and {} are joined", flow.from.0, flow.to.0),
                Hop::Wire(index) => {
                    let queue = config.wires[index / 2].directions[index % 2].queue;
                    (queue, FirstQueue::Wire(index))
                }
                Hop::Air(_) => {
                    let station = network.routes.station(flow.from).expect("it sends over the air");
                    let cell = config.cell.as_ref().expect("stations are in a cell");
                    let queue = cell.stations[station.index()].queue;
                    (queue, FirstQueue::Air(flow.from, flow.access_category))
                }
            };
            let SaturatedFlow { from, to, bytes, .. } = flow;
            let limit = queue.packets_max(bytes.min(config.nodes[from.index()].mtu));
            let flow_limit =
                if queue.is_delay_managed() { limit.min(MANAGED_PACKETS_MAX) } else { limit };
            let parts = match network.adaptive_mtu(from, to) {
                // The source makes its packets as long as fits.
                Some(_) => 1,
                None => network.packets_for(from, to, bytes),
            };
            Entry { flow, queue: place, limit, flow_limit, parts, target: 0 }
        };
        let flows: Vec<Entry> = flows.into_iter().map(entry).collect();
        let mut changes: Vec<Instant> =
            flows.iter().flat_map(|entry| [entry.flow.start, entry.flow.stop]).collect();
        changes.sort_unstable();
        Self { flows, changes, changed: 0 }
    }

    /// The number of packets that the flow should keep at its source at `now`; 0 before it starts
    /// and after it ends. `now` must never decrease.
    pub fn target(&mut self, now: Instant, flow: usize) -> u32 {
        if self.changes.get(self.changed).is_some_and(|change| *change <= now) {
            self.changed = self.changes.partition_point(|change| *change <= now);
            self.share_out(now);
        }
        self.flows[flow].target
    }

    fn share_out(&mut self, now: Instant) {
        let is_active = |flow: &SaturatedFlow| flow.start <= now && now < flow.stop;
        let mut sharing: BTreeMap<FirstQueue, u32> = BTreeMap::new();
        for entry in self.flows.iter().filter(|entry| is_active(&entry.flow)) {
            *sharing.entry(entry.queue).or_default() += 1;
        }
        let mut served: BTreeMap<FirstQueue, u32> = BTreeMap::new();
        for Entry { flow, queue, limit, flow_limit, parts, target } in &mut self.flows {
            if !is_active(flow) {
                *target = 0;
                continue;
            }
            let (count, turn) = (sharing[queue], served.entry(*queue).or_default());
            // The remainder goes to the first flows.
            let share = *limit / count + u32::from(*turn < *limit % count);
            *target = (share.min(*flow_limit) / *parts).max(1);
            *turn += 1;
        }
    }
}
