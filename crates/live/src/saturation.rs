//! Saturated flows: real datagrams, as many as the queue at the beginning of
//! their path has room for.
//!
//! A socket gives no hint of that queue: the kernel counts a datagram as sent
//! once its interface has taken it. So the loop lets the traffic thread send as
//! many datagrams as would fill the queue, and then as many as have left it; no
//! one waits busily, and no packet is sent only to be dropped. Flows that begin
//! at the same node share its room evenly.

use lasthop_net::network::NetworkConfig;
use lasthop_net::{NodeId, SourceConfig};
use lasthop_scenario::{FlowKind, Scenario};
use lasthop_units::Instant;
use lasthop_wifi::FlowId;

/// Room is granted once it is more than this share of the backlog: a wake-up of
/// the sender for every packet would cost more than the packet.
const GRANT_SHARE: u32 = 8;
/// Until the first packet has entered, no more are granted than the kernel keeps while it asks
/// for the destination's address (`unres_qlen_bytes`, 208 KiB).
const FIRST_PACKETS: u32 = 32;

/// All saturated flows, by the node where they begin.
#[derive(Debug)]
pub struct Saturation {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    node: NodeId,
    /// Packets that it should hold.
    backlog: u32,
    flows: Vec<Flow>,
}

#[derive(Debug)]
struct Flow {
    id: FlowId,
    start: Instant,
    stop: Instant,
    /// Packets that it was allowed to send so far.
    granted: u64,
    /// The least that was on its way at any moment since the last check.
    coming_min: u64,
}

impl Saturation {
    /// The saturated flows of a scenario, until `end`.
    pub fn new(scenario: &Scenario, config: &NetworkConfig, end: Instant) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            let FlowKind::Udp(SourceConfig::Saturated { bytes }) = flow.kind else { continue };
            let entry = Flow {
                id: FlowId(index as u16),
                start: flow.start,
                stop: flow.stop.map_or(end, |stop| stop.min(end)),
                granted: 0,
                coming_min: u64::MAX,
            };
            match nodes.iter_mut().find(|node| node.node == flow.from) {
                Some(node) => node.flows.push(entry),
                None => {
                    let backlog = config.saturated_backlog(flow.from, bytes);
                    nodes.push(Node { node: flow.from, backlog, flows: vec![entry] });
                }
            }
        }
        Self { nodes }
    }

    /// When the next flow begins, after `now`.
    pub fn next_start(&self, now: Instant) -> Option<Instant> {
        let flows = self.nodes.iter().flat_map(|node| &node.flows);
        flows.map(|flow| flow.start).filter(|start| *start > now).min()
    }

    /// Grants what there is room for. `held` gives the packets that a node holds,
    /// `entered` those of a flow that have entered the network so far.
    pub fn grant(
        &mut self,
        now: Instant,
        held: impl Fn(NodeId) -> u32,
        entered: impl Fn(FlowId) -> u64,
        mut allow: impl FnMut(FlowId, u32),
    ) {
        for node in &mut self.nodes {
            let flows = &mut node.flows;
            // What was granted and has not entered yet is on its way.
            let coming: u64 = flows.iter_mut().map(|flow| flow.coming(entered(flow.id))).sum();
            let taken = held(node.node).saturating_add(coming.try_into().unwrap_or(u32::MAX));
            let room = node.backlog.saturating_sub(taken);
            let active = |flow: &&mut Flow| flow.start <= now && now < flow.stop;
            let count = flows.iter_mut().filter(active).count() as u32;
            if count == 0 || room <= node.backlog / GRANT_SHARE {
                continue;
            }
            for flow in flows.iter_mut().filter(active) {
                let mut share = room.div_ceil(count);
                if entered(flow.id) == 0 {
                    let first = u64::from(FIRST_PACKETS).saturating_sub(flow.granted);
                    share = share.min(first as u32);
                }
                if share > 0 {
                    flow.granted += u64::from(share);
                    allow(flow.id, share);
                }
            }
        }
    }

    /// To be called now and then, at intervals longer than a datagram takes to
    /// enter: what was on its way all the time since the last call is lost (nobody
    /// answered ARP, say), and may be granted again.
    pub fn forget_lost(&mut self, entered: impl Fn(FlowId) -> u64) {
        for flow in self.nodes.iter_mut().flat_map(|node| &mut node.flows) {
            flow.coming(entered(flow.id));
            flow.granted -= flow.coming_min;
            flow.coming_min = u64::MAX;
        }
    }
}

impl Flow {
    /// Packets that were granted and are not among the `entered`.
    fn coming(&mut self, entered: u64) -> u64 {
        let coming = self.granted.saturating_sub(entered);
        self.coming_min = self.coming_min.min(coming);
        coming
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const TWO_FLOWS: &str = r#"
duration = "10s"
[[node]]
name = "a"
role = "host"
[[node]]
name = "b"
role = "host"
[[wire]]
between = ["a", "b"]
rate = "10Mb/s"
[[flow]]
name = "one"
from = "a"
to = "b"
kind = "udp"
rate = "saturated"
[[flow]]
name = "two"
from = "a"
to = "b"
kind = "udp"
rate = "saturated"
start = "1s"
"#;

    /// What each of the two flows is granted at `seconds` while the node holds
    /// `held` and all that was granted has entered.
    fn granted(saturation: &mut Saturation, seconds: u64, held: u32) -> [u32; 2] {
        let granted = RefCell::new([0; 2]);
        let now = Instant::from_nanos(seconds * 1_000_000_000);
        saturation.grant(
            now,
            |_| held,
            |_| u64::MAX,
            |flow, packets| granted.borrow_mut()[usize::from(flow.0)] += packets,
        );
        granted.into_inner()
    }

    #[test]
    fn room_is_shared_by_the_flows_that_have_begun() {
        let scenario = lasthop_scenario::parse("test.toml", TWO_FLOWS, &[]).unwrap();
        let end = Instant::ZERO + scenario.duration;
        let mut saturation = Saturation::new(&scenario, &scenario.network, end);
        let backlog = saturation.nodes[0].backlog;
        assert_eq!(granted(&mut saturation, 0, 0), [backlog, 0]);
        assert_eq!(granted(&mut saturation, 2, 0), [backlog / 2, backlog / 2]);
        assert_eq!(granted(&mut saturation, 2, backlog - 1), [0, 0]);
        assert_eq!(granted(&mut saturation, 10, 0), [0, 0]);
    }

    #[test]
    fn what_is_on_its_way_is_not_granted_twice() {
        let scenario = lasthop_scenario::parse("test.toml", TWO_FLOWS, &[]).unwrap();
        let end = Instant::ZERO + scenario.duration;
        let mut saturation = Saturation::new(&scenario, &scenario.network, end);
        let grant = |saturation: &mut Saturation| {
            let granted = RefCell::new(0);
            saturation.grant(Instant::ZERO, |_| 0, |_| 0, |_, n| *granted.borrow_mut() += n);
            granted.into_inner()
        };
        assert!(grant(&mut saturation) > 0);
        assert_eq!(grant(&mut saturation), 0);
        // The interval in which it was granted, and one in which it did not come.
        saturation.forget_lost(|_| 0);
        assert_eq!(grant(&mut saturation), 0);
        saturation.forget_lost(|_| 0);
        assert!(grant(&mut saturation) > 0);
    }
}
