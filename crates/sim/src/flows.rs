//! The scenario's flows in virtual time: sources that send, saturated ones that
//! refill, pings that are answered.

use crate::SimError;
use lasthop_net::network::{Network, NetworkConfig};
use lasthop_net::{NodeId, Sink, Source, SourceConfig};
use lasthop_scenario::{FlowKind, Scenario};
use lasthop_units::{Instant, Seed};
use lasthop_wifi::{AccessCategory, FlowId, Packet};
use std::collections::BTreeMap;

/// Odd, so that flows differ in every bit of the hash (Knuth's multiplicative hash).
const HASH_FACTOR: u32 = 2_654_435_761;

pub(crate) struct Flows {
    flows: Vec<Flow>,
    /// By node.
    saturated: Vec<Saturated>,
}

struct Flow {
    id: FlowId,
    from: NodeId,
    to: NodeId,
    access_category: AccessCategory,
    source: Source,
    next_tag: u64,
    /// Pings under way by tag; none for other kinds.
    requests: Option<BTreeMap<u64, Instant>>,
}

/// The saturated flows that begin at one node, served in turn.
#[derive(Clone, Debug, Default)]
struct Saturated {
    flows: Vec<usize>,
    turn: usize,
    /// Packets that the node should hold.
    backlog: u32,
}

impl Flows {
    pub fn new(scenario: &Scenario, config: &NetworkConfig, seed: Seed) -> Result<Self, SimError> {
        let end = Instant::ZERO + scenario.duration;
        let mut flows = Vec::with_capacity(scenario.flows.len());
        let mut saturated = vec![Saturated::default(); config.nodes.len()];
        for (index, flow) in scenario.flows.iter().enumerate() {
            let ping;
            let source = match &flow.kind {
                FlowKind::Tcp(_) => return Err(SimError::Tcp(flow.name.clone())),
                FlowKind::Udp(source) | FlowKind::Video(source) => source,
                &FlowKind::Ping { interval, bytes } => {
                    ping = SourceConfig::Ping { interval, bytes };
                    &ping
                }
            };
            if let SourceConfig::Saturated { bytes } = *source {
                let node = &mut saturated[flow.from.index()];
                node.flows.push(index);
                node.backlog = config.saturated_backlog(flow.from, bytes);
            }
            let stop = flow.stop.unwrap_or(end).min(end);
            let stream = seed.indexed("flow/source", index as u64);
            flows.push(Flow {
                id: FlowId(index as u16),
                from: flow.from,
                to: flow.to,
                access_category: flow.access_category,
                source: Source::new(source, flow.start, stop, stream),
                next_tag: 0,
                requests: matches!(flow.kind, FlowKind::Ping { .. }).then(BTreeMap::new),
            });
        }
        Ok(Self { flows, saturated })
    }

    /// Sends what the flow sends at `now`; returns when it sends again.
    pub fn depart<S: Sink>(
        &mut self,
        index: usize,
        now: Instant,
        network: &mut Network,
        sink: &mut S,
    ) -> Option<Instant> {
        let flow = &mut self.flows[index];
        while let Some(departure) = flow.source.poll_packet(now) {
            let packet = flow.packet(departure.bytes, now);
            if let Some(requests) = &mut flow.requests {
                requests.insert(packet.tag, now);
            }
            sink.sent(now, &packet);
            network.handle_packet(now, packet);
        }
        if flow.source.refill(now).is_some() {
            let from = flow.from;
            self.refill_at(from, now, network, sink);
        }
        self.flows[index].source.next_departure()
    }

    /// `node` has room: its saturated flows fill it up in turn.
    pub fn refill<S: Sink>(&mut self, node: NodeId, network: &mut Network, sink: &mut S) {
        let now = network.now();
        self.refill_at(node, now, network, sink);
    }

    fn refill_at<S: Sink>(
        &mut self,
        node: NodeId,
        now: Instant,
        network: &mut Network,
        sink: &mut S,
    ) {
        let saturated = &mut self.saturated[node.index()];
        if saturated.flows.is_empty() {
            return;
        }
        let mut held = network.queue_packets(node);
        let mut idle = 0;
        while held < saturated.backlog && idle < saturated.flows.len() {
            let index = saturated.flows[saturated.turn];
            let flow = &mut self.flows[index];
            let bytes = flow.source.refill(now);
            let parts = bytes.map_or(0, |bytes| network.packets_for(node, bytes));
            if parts > 1 && held > 0 && held + parts > saturated.backlog {
                return;
            }
            saturated.turn = (saturated.turn + 1) % saturated.flows.len();
            let Some(bytes) = bytes else {
                idle += 1;
                continue;
            };
            idle = 0;
            held += parts;
            let packet = flow.packet(bytes, now);
            sink.sent(now, &packet);
            network.handle_packet(now, packet);
        }
    }

    /// Answers pings, and takes the time of answers.
    pub fn arrived<S: Sink>(
        &mut self,
        at: Instant,
        node: NodeId,
        packet: &Packet,
        network: &mut Network,
        sink: &mut S,
    ) {
        let flow = &mut self.flows[usize::from(packet.flow.0)];
        let Some(requests) = &mut flow.requests else { return };
        if node == flow.from {
            if let Some(sent) = requests.remove(&packet.tag) {
                sink.round_trip(at, flow.id, at - sent);
            }
        } else {
            let answer = Packet {
                source: flow.to.0,
                destination: flow.from.0,
                ..flow.packet_with(packet.tag, packet.bytes, at)
            };
            sink.sent(at, &answer);
            network.handle_packet(at, answer);
        }
    }

    /// A ping that was lost on the way there or back gets no answer.
    pub fn dropped(&mut self, packet: &Packet) {
        if let Some(requests) = &mut self.flows[usize::from(packet.flow.0)].requests {
            requests.remove(&packet.tag);
        }
    }
}

impl Flow {
    fn packet(&mut self, bytes: u16, now: Instant) -> Packet {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.packet_with(tag, bytes, now)
    }

    fn packet_with(&self, tag: u64, bytes: u16, now: Instant) -> Packet {
        Packet {
            flow: self.id,
            flow_hash: (u32::from(self.id.0) + 1).wrapping_mul(HASH_FACTOR),
            source: self.from.0,
            destination: self.to.0,
            access_category: self.access_category,
            ..Packet::new(tag, bytes, now)
        }
    }
}
