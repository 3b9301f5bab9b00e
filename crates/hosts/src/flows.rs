//! The flows: who sends what at a wake-up, when
//! there is room, and in answer to what arrives.

use crate::HostsConfig;
use crate::HostsError;
use crate::apq::Apq;
use crate::config;
use crate::datagrams::Datagrams;
use crate::port::{Port, Wake};
use crate::saturation::{Backlog, KernelFlow, Saturation};
use crate::tcp::Tcp;
use crate::{Endpoints, FlowKind, Sink, Source, SourceConfig};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_net::network::{Backlogs, Network, NetworkConfig, SaturatedFlow};
use lasthop_packet::{FlowId, NodeId, Packet, Released};
use lasthop_tcp::Segment;
use lasthop_units::{Instant, Seed};

/// All flows of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flows {
    flows: Vec<Flow>,
    /// By node: the saturated flows that begin there, by name.
    saturated: Vec<Vec<usize>>,
    backlogs: Backlogs,
    /// Wake-ups that flows with machines at their ends ask for.
    wakes: Vec<Wake>,
    /// Flows that are not over before the run is: all but measurements, and
    /// those that are not done.
    lasting: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Flow {
    Datagrams(Box<Datagrams>),
    Tcp(Box<Tcp>),
    Apq(Box<Apq>),
    /// Sockets outside of the model.
    Kernel(Box<KernelFlow>),
}

/// Flows in order: those that do something at one instant do it in this order.
pub(crate) fn by_name(flows: &[config::Flow]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by(|&one, &other| flows[one].name.cmp(&flows[other].name));
    order
}

impl Flows {
    pub fn new(
        hosts: &HostsConfig,
        config: &NetworkConfig,
        network: &Network,
        seed: Seed,
    ) -> Result<Self, HostsError> {
        let end = hosts.end;
        let mut flows = Vec::with_capacity(hosts.flows.len());
        let mut saturated = vec![Vec::new(); config.nodes.len()];
        let mut places = vec![None; hosts.flows.len()];
        let mut always_ready = Vec::new();
        for index in by_name(&hosts.flows) {
            let flow = &hosts.flows[index];
            let FlowKind::Udp(SourceConfig::Saturated { bytes }) = flow.kind else { continue };
            if flow.endpoints == Endpoints::Model {
                saturated[flow.from.index()].push(index);
            }
            let stop = flow.stop.unwrap_or(end).min(end);
            let saturated = SaturatedFlow {
                from: flow.from,
                to: flow.to,
                access_category: flow.access_category,
                bytes,
                start: flow.start,
                stop,
            };
            places[index] = Some(always_ready.len());
            always_ready.push(saturated);
        }
        let backlogs = Backlogs::new(config, network, always_ready);
        for (index, flow) in hosts.flows.iter().enumerate() {
            let id = FlowId(index as u16);
            let hash = flow.identity().hash();
            let stop = flow.stop.unwrap_or(end).min(end);
            let saturation = places[index].map(|place| Saturation {
                place,
                held: 0,
                is_diverted: network.diverts(flow.from, flow.to),
                adapts: network.adaptive_mtu(flow.from, flow.to).is_some(),
            });
            if flow.endpoints == Endpoints::Kernel {
                let kernel = KernelFlow { from: flow.from, saturation, entered: 0 };
                flows.push(Flow::Kernel(Box::new(kernel)));
                continue;
            }
            let ping;
            let source = match &flow.kind {
                FlowKind::Tcp(tcp) => {
                    flows.push(Flow::Tcp(Box::new(Tcp::new(id, flow, tcp, hash, stop, network)?)));
                    continue;
                }
                FlowKind::Apq(apq) => {
                    flows.push(Flow::Apq(Box::new(Apq::new(id, flow, apq, hash, seed))));
                    continue;
                }
                FlowKind::Udp(source) | FlowKind::Video(source) => source,
                &FlowKind::Ping { interval, bytes } => {
                    ping = SourceConfig::Ping { interval, bytes };
                    &ping
                }
            };
            let stream = seed.stream_of("flow/source", flow.identity());
            flows.push(Flow::Datagrams(Box::new(Datagrams {
                id,
                from: flow.from,
                to: flow.to,
                hash,
                access_category: flow.access_category,
                source: Source::new(source, flow.start, stop, stream),
                next_tag: 0,
                saturation,
                requests: matches!(flow.kind, FlowKind::Ping { .. }).then(BTreeMap::new),
            })));
        }
        let lasting = flows.len();
        Ok(Self { flows, saturated, backlogs, wakes: Vec::new(), lasting })
    }

    /// Sends what the flow sends at `now`; returns when it sends again, if it
    /// does so of its own accord.
    pub fn depart<S: Sink>(
        &mut self,
        index: usize,
        now: Instant,
        network: &mut Network,
        sink: &mut S,
    ) -> Option<Instant> {
        let flow = match &mut self.flows[index] {
            Flow::Datagrams(flow) => flow,
            Flow::Tcp(tcp) => {
                tcp.start(now, &mut Port { network, sink, wakes: &mut self.wakes });
                return None;
            }
            Flow::Apq(apq) => {
                apq.start(now, &mut Port { network, sink, wakes: &mut self.wakes });
                return None;
            }
            // Its sockets send when they do.
            Flow::Kernel(_) => return None,
        };
        while let Some(departure) = flow.source.poll_packet(now) {
            let packet = flow.packet(departure.bytes, now);
            sink.sent(now, &packet);
            network.handle_packet(now, packet);
        }
        let next = flow.source.next_departure();
        if flow.source.refill(now).is_some() {
            let from = flow.from;
            self.refill_at(from, now, network, sink);
        }
        next
    }

    /// A wake-up that a flow asked for.
    pub fn wake<S: Sink>(&mut self, wake: Wake, network: &mut Network, sink: &mut S) {
        let mut port = Port { network, sink, wakes: &mut self.wakes };
        match &mut self.flows[usize::from(wake.flow.0)] {
            Flow::Tcp(tcp) => tcp.wake(wake, &mut port),
            Flow::Apq(apq) => {
                let was_done = apq.is_done();
                apq.wake(wake, &mut port);
                self.lasting -= usize::from(apq.is_done() && !was_done);
            }
            Flow::Datagrams(_) | Flow::Kernel(_) => {
                unreachable!("a source is woken by its departures")
            }
        }
    }

    /// The next wake-up that was asked for.
    pub fn poll_wake(&mut self) -> Option<Wake> {
        self.wakes.pop()
    }

    /// `node` has room: its saturated flows fill it up.
    #[inline]
    pub fn refill<S: Sink>(&mut self, node: NodeId, network: &mut Network, sink: &mut S) {
        if !self.saturated[node.index()].is_empty() {
            let now = network.now();
            self.refill_at(node, now, network, sink);
        }
    }

    /// Each saturated flow of `node` keeps as many packets there as its share of the
    /// queue is; they take turns, packet by packet.
    fn refill_at<S: Sink>(
        &mut self,
        node: NodeId,
        now: Instant,
        network: &mut Network,
        sink: &mut S,
    ) {
        let mut is_full = false;
        for &index in &self.saturated[node.index()] {
            if let Flow::Datagrams(flow) = &mut self.flows[index]
                && let Some(saturation) = &mut flow.saturation
                && saturation.is_diverted
            {
                saturation.held = network.queue_packets(node);
            }
        }
        while !is_full {
            is_full = true;
            for turn in 0..self.saturated[node.index()].len() {
                let index = self.saturated[node.index()][turn];
                is_full &= !self.add_packet(index, now, network, sink);
            }
        }
    }

    /// A saturated flow sends one packet, if it keeps too few and its queue takes it.
    fn add_packet<S: Sink>(
        &mut self,
        index: usize,
        now: Instant,
        network: &mut Network,
        sink: &mut S,
    ) -> bool {
        let Flow::Datagrams(flow) = &mut self.flows[index] else { return false };
        let Some(Saturation { place, held, adapts, .. }) = flow.saturation else { return false };
        let Some(bytes) = flow.source.refill(now) else { return false };
        if held >= self.backlogs.target(now, place) {
            return false;
        }
        let mtu = if adapts { network.adaptive_mtu(flow.from, flow.to) } else { None };
        let bytes = mtu.map_or(bytes, |mtu| bytes.min(mtu));
        let packet = flow.packet_with(flow.next_tag, bytes, now);
        if !network.offer_packet(now, packet) {
            return false;
        }
        flow.next_tag += 1;
        flow.saturation = flow.saturation.map(|state| Saturation { held: held + 1, ..state });
        sink.sent(now, &packet);
        true
    }

    /// Hands a packet to its destination, which may answer.
    #[inline]
    pub fn arrived<S: Sink>(
        &mut self,
        at: Instant,
        packet: &Packet,
        network: &mut Network,
        sink: &mut S,
    ) {
        let flow = match &mut self.flows[usize::from(packet.flow.0)] {
            Flow::Datagrams(flow) => flow,
            Flow::Tcp(tcp) => {
                let mut port = Port { network, sink, wakes: &mut self.wakes };
                return tcp.arrived(at, packet, &mut port);
            }
            Flow::Apq(apq) => {
                let mut port = Port { network, sink, wakes: &mut self.wakes };
                let was_done = apq.is_done();
                apq.arrived(at, packet, &mut port);
                self.lasting -= usize::from(apq.is_done() && !was_done);
                return;
            }
            Flow::Kernel(_) => unreachable!("the driver has its packets"),
        };
        if let Some(answer) = flow.answer(packet, at) {
            sink.sent(at, &answer);
            network.handle_packet(at, answer);
        } else if let Some(sent) = flow.requests.as_mut().and_then(|r| r.remove(&packet.tag)) {
            sink.round_trip(at, flow.id, at - sent);
        }
    }

    /// What a packet of a flow carries, if it is a TCP segment that was not cut.
    pub fn segment(&self, packet: &Packet) -> Option<&Segment> {
        match &self.flows[usize::from(packet.flow.0)] {
            Flow::Tcp(tcp) if packet.fragment.is_whole() => tcp.segment(packet),
            _ => None,
        }
    }

    /// A packet was given up on its way.
    pub fn dropped(&mut self, packet: &Packet) {
        match &mut self.flows[usize::from(packet.flow.0)] {
            // A ping that was lost on the way there or back gets no answer.
            Flow::Datagrams(flow) => {
                if let Some(requests) = &mut flow.requests {
                    requests.remove(&packet.tag);
                }
            }
            Flow::Tcp(tcp) => tcp.dropped(packet),
            Flow::Apq(apq) => apq.dropped(packet),
            Flow::Kernel(_) => unreachable!("the driver has its packets"),
        }
    }

    /// The node at which they entered let go of packets.
    #[inline]
    pub fn released<S: Sink>(&mut self, released: Released, network: &mut Network, sink: &mut S) {
        // A program's flow has no place here.
        let Some(flow) = self.flows.get_mut(usize::from(released.flow.0)) else { return };
        match flow {
            Flow::Tcp(tcp) => {
                tcp.released(released, &mut Port { network, sink, wakes: &mut self.wakes });
            }
            // It sends more when its node says that there is room.
            Flow::Datagrams(flow) => {
                if let Some(saturation) = &mut flow.saturation {
                    saturation.held -= released.packets;
                }
            }
            Flow::Apq(_) => {}
            Flow::Kernel(flow) => flow.released(released.packets),
        }
    }

    /// A packet of the driver enters; `true` if its release has to be notified.
    pub fn entered(&mut self, packet: &Packet) -> bool {
        match self.flows.get_mut(usize::from(packet.flow.0)) {
            Some(Flow::Kernel(flow)) => flow.enter(packet.source),
            _ => false,
        }
    }

    /// How a saturated flow of the kernel stands; `None` for all others.
    pub fn backlog(&mut self, now: Instant, flow: FlowId, network: &Network) -> Option<Backlog> {
        match self.flows.get(usize::from(flow.0)) {
            Some(Flow::Kernel(flow)) => flow.backlog(now, &mut self.backlogs, network),
            _ => None,
        }
    }

    /// All flows are measurements, and all are done.
    pub fn is_done(&self) -> bool {
        self.lasting == 0 && !self.flows.is_empty()
    }

    /// The run is over: measurements that are not done tell how far they are.
    pub fn stop<S: Sink>(&self, now: Instant, sink: &mut S) {
        for flow in &self.flows {
            if let Flow::Apq(apq) = flow {
                apq.stop(now, sink);
            }
        }
    }

    /// Reads every TCP sender.
    pub fn sample<S: Sink>(&self, now: Instant, sink: &mut S) {
        for flow in &self.flows {
            if let Flow::Tcp(tcp) = flow {
                tcp.sample(now, sink);
            }
        }
    }
}
