//! How much saturated flows keep before the first queue on their way. Both drivers
//! ask here, so that a saturated flow is the same in either.
//!
//! Each flow keeps its own packets there, however fast those of others leave: an
//! access category, or a station in a queue that is fair, is served from what waits
//! for it. Flows whose packets wait in one queue share its limit evenly. Packets
//! longer than the MTU count as their parts.

use super::route::Hop;
use super::{Network, NetworkConfig};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use lasthop_packet::{AccessCategory, NodeId};
use lasthop_units::Instant;

/// Most packets that a flow keeps before a queue with active management: far more
/// than an aggregate, and no burden to the queue.
const MANAGED_PACKETS_MAX: u32 = 1_000;

/// A flow that is always ready to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaturatedFlow {
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Priority on the air.
    pub access_category: AccessCategory,
    /// Length of a packet.
    pub bytes: u16,
    /// When it begins.
    pub start: Instant,
    /// When it ends.
    pub stop: Instant,
}

/// The packets that saturated flows keep; a flow is known by its place among those
/// that [`Backlogs::new`] was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlogs {
    flows: Vec<Entry>,
    /// Flows that begin or end, in the order of their instants; the first `changed`
    /// are past.
    changes: Vec<Instant>,
    changed: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    flow: SaturatedFlow,
    queue: FirstQueue,
    /// What the queue takes, in packets as they are put on the link.
    limit: u32,
    /// The same for one flow, whatever is left for the others.
    flow_limit: u32,
    /// Packets as they are put on the link that one of the flow's becomes.
    parts: u32,
    target: u32,
}

/// The queue in which packets wait that leave their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FirstQueue {
    Wire(usize),
    Air(NodeId, AccessCategory),
}

impl Backlogs {
    /// Those of `flows` in a network that was made from `config`.
    pub fn new(
        config: &NetworkConfig,
        network: &Network,
        flows: impl IntoIterator<Item = SaturatedFlow>,
    ) -> Self {
        let entry = |flow: SaturatedFlow| {
            let (queue, place) = match network.routes.next(flow.from, flow.to) {
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
            let flow_limit = match queue.is_delay_managed() {
                true => limit.min(MANAGED_PACKETS_MAX),
                false => limit,
            };
            let parts = match network.adaptive_mtu(from, to) {
                // Its packets are as long as fits.
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

    /// How many packets the flow should keep at its source at `now`, which never
    /// decreases; none before it begins and after it ended.
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
            // What does not divide goes to the first ones.
            let share = *limit / count + u32::from(*turn < *limit % count);
            *target = (share.min(*flow_limit) / *parts).max(1);
            *turn += 1;
        }
    }
}
