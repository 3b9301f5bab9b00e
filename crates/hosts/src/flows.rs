//! All flows of a run: their packets at a wake-up, when a queue becomes shorter, and in answer to
//! arrivals. Flows of the model are served here; of flows between sockets of a kernel only the
//! saturated ones are counted. Left out: coded links (`franc`).

use crate::HostsConfig;
use crate::HostsError;
use crate::apq::Apq;
use crate::config;
use crate::datagrams::Datagrams;
use crate::fetching::{Fetcher, Fetching};
use crate::port::{Shared, Wake};
use crate::saturation::{Backlog, KernelFlow, Saturation};
use crate::tcp::Tcp;
use crate::{CallConfig, Endpoints, FlowKind, Sink, Source, SourceConfig};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_net::network::{Backlogs, Network, NetworkConfig, SaturatedFlow};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet, Released};
use lasthop_tcp::Segment;
use lasthop_units::{Instant, Seed};

/// All flows of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flows {
    /// Flows by [`FlowId`], followed by those in the background.
    flows: Vec<FlowMachine>,
    /// The saturated flows that start at each node, ordered by name.
    saturated: Vec<Vec<usize>>,
    backlogs: Backlogs,
    /// Wake-ups of the flows, and thresholds of connections that ended.
    shared: Shared,
    /// Number of flows that keep the run going: all but completed measurements.
    lasting: usize,
    /// Flows that each flow to the group sends for, with the node at which each ends, by the index
    /// of the sending flow.
    groups: BTreeMap<usize, Vec<(FlowId, NodeId)>>,
}

#[derive(Clone, Debug, PartialEq)]
enum FlowMachine {
    Datagrams(Box<Datagrams>),
    Tcp(Box<Tcp>),
    /// A flow with several connections, one after the other or at a time.
    Fetching(Box<Fetching>),
    Apq(Box<Apq>),
    /// A flow between sockets of a kernel.
    Kernel(Box<KernelFlow>),
    /// A flow whose packets another one of its group sends.
    SentFor,
}

/// The indices of the flows, ordered by name: the order of flows that act at one
/// instant.
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
            if flow.group.is_some_and(|sender| sender != index) {
                continue;
            }
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
        let mut groups: BTreeMap<usize, Vec<(FlowId, NodeId)>> = BTreeMap::new();
        for (index, flow) in hosts.flows.iter().enumerate() {
            if let Some(sender) = flow.group {
                groups.entry(sender).or_default().push((FlowId(index as u16), flow.to));
            }
        }
        for (index, flow) in hosts.flows.iter().enumerate() {
            let id = FlowId(index as u16);
            let hash = flow.identity().hash();
            let stop = flow.stop.unwrap_or(end).min(end);
            let saturation = places[index].map(|place| Saturation {
                place,
                held: 0,
                is_diverted: flow.group.is_none() && network.diverts(flow.from, flow.to),
                adapts: flow.group.is_none() && network.adaptive_mtu(flow.from, flow.to).is_some(),
            });
            if flow.group.is_some_and(|sender| sender != index) {
                flows.push(FlowMachine::SentFor);
                continue;
            }
            if flow.endpoints == Endpoints::Kernel {
                let kernel = KernelFlow { from: flow.from, saturation, entered: 0 };
                flows.push(FlowMachine::Kernel(Box::new(kernel)));
                continue;
            }
            let regular;
            let source = match &flow.kind {
                FlowKind::Tcp(tcp) => {
                    let mut stream = seed.stream_of("flow/tcp", flow.identity());
                    let stream_of_reader = seed.stream_of("flow/web", flow.identity());
                    let fetcher = Fetcher::new(&tcp.application, flow.start, stream_of_reader);
                    flows.push(match fetcher {
                        Some(fetcher) => FlowMachine::Fetching(Box::new(Fetching::new(
                            id, flow, tcp, fetcher, stop, network, stream,
                        )?)),
                        None => FlowMachine::Tcp(Box::new(Tcp::new(
                            id,
                            flow,
                            tcp,
                            hash,
                            stop,
                            network,
                            &mut stream,
                        )?)),
                    });
                    continue;
                }
                FlowKind::Apq(apq) => {
                    flows.push(FlowMachine::Apq(Box::new(Apq::new(id, flow, apq, hash, seed))));
                    continue;
                }
                FlowKind::Udp(source) | FlowKind::Video(source) => source,
                &FlowKind::Ping { interval, bytes } => {
                    regular = SourceConfig::Ping { interval, bytes };
                    &regular
                }
                &FlowKind::Call(CallConfig { interval, bytes, .. }) => {
                    regular = SourceConfig::Ping { interval, bytes };
                    &regular
                }
            };
            let stream = seed.stream_of("flow/source", flow.identity());
            flows.push(FlowMachine::Datagrams(Box::new(Datagrams {
                id,
                from: flow.from,
                to: flow.group.map_or(flow.to, |_| Packet::EVERYWHERE),
                hash,
                access_category: flow.access_category,
                source: Source::new(source, flow.start, stop, stream),
                next_tag: 0,
                saturation,
                requests: matches!(flow.kind, FlowKind::Ping { .. }).then(BTreeMap::new),
            })));
        }
        let lasting = flows.len();
        for flow in &hosts.background {
            let (FlowKind::Udp(source) | FlowKind::Video(source)) = &flow.kind else {
                unreachable!("only datagrams are in the background");
            };
            let stop = flow.stop.unwrap_or(end).min(end);
            let stream = seed.stream_of("flow/source", flow.identity());
            flows.push(FlowMachine::Datagrams(Box::new(Datagrams {
                id: FlowId::BACKGROUND,
                from: flow.from,
                to: flow.to,
                hash: flow.identity().hash(),
                access_category: flow.access_category,
                source: Source::new(source, flow.start, stop, stream),
                next_tag: 0,
                saturation: None,
                requests: None,
            })));
        }
        let shared = Shared::default();
        Ok(Self { flows, saturated, backlogs, shared, lasting, groups })
    }

    /// Sends the packets of the flow at `now`; returns when it sends again, if it has a schedule.
    pub fn depart<S: Sink>(
        &mut self,
        index: usize,
        now: Instant,
        network: &mut Network,
        sink: &mut S,
    ) -> Option<Instant> {
        let flow = match &mut self.flows[index] {
            FlowMachine::Datagrams(flow) => flow,
            FlowMachine::Tcp(tcp) => {
                tcp.start(now, &mut self.shared.port(network, sink));
                return None;
            }
            FlowMachine::Fetching(flow) => {
                flow.start(&mut self.shared.port(network, sink));
                return None;
            }
            FlowMachine::Apq(apq) => {
                apq.start(now, &mut self.shared.port(network, sink));
                return None;
            }
            // Its sockets send by themselves.
            FlowMachine::Kernel(_) | FlowMachine::SentFor => return None,
        };
        let mut before = None;
        while let Some(departure) = flow.source.poll_packet(now) {
            let packet = flow.packet(departure.bytes, now);
            report_sent(&self.groups, now, &packet, sink);
            if flow.source.is_bursty() && before == Some(departure.at) {
                network.handle_next_packet(packet);
            } else {
                network.handle_packet(now, packet);
            }
            before = Some(departure.at);
        }
        let next = flow.source.next_departure();
        if flow.source.refill(now).is_some() {
            let from = flow.from;
            self.refill_at(from, now, network, sink);
        }
        next
    }

    /// Handles a wake-up that a flow asked for.
    pub fn wake<S: Sink>(&mut self, wake: Wake, network: &mut Network, sink: &mut S) {
        let mut port = self.shared.port(network, sink);
        match &mut self.flows[usize::from(wake.flow.0)] {
            FlowMachine::Tcp(tcp) => tcp.wake(wake, &mut port),
            FlowMachine::Fetching(flow) => flow.wake(wake, &mut port),
            FlowMachine::Apq(apq) => {
                let was_done = apq.is_done();
                apq.wake(wake, &mut port);
                self.lasting -= usize::from(apq.is_done() && !was_done);
            }
            FlowMachine::Datagrams(_) | FlowMachine::Kernel(_) | FlowMachine::SentFor => {
                unreachable!("a source is woken by its departures")
            }
        }
    }

    /// Returns the next wake-up that was asked for.
    pub fn poll_wake(&mut self) -> Option<Wake> {
        self.shared.wakes.pop()
    }

    /// Refills the queues of `node`, which have space, from its saturated flows.
    #[inline]
    pub fn refill<S: Sink>(&mut self, node: NodeId, network: &mut Network, sink: &mut S) {
        if !self.saturated[node.index()].is_empty() {
            let now = network.now();
            self.refill_at(node, now, network, sink);
        }
    }

    /// Fills up the share of the queue of each saturated flow of `node`. The flows take turns,
    /// packet by packet.
    fn refill_at<S: Sink>(
        &mut self,
        node: NodeId,
        now: Instant,
        network: &mut Network,
        sink: &mut S,
    ) {
        let mut is_full = false;
        for &index in &self.saturated[node.index()] {
            if let FlowMachine::Datagrams(flow) = &mut self.flows[index]
                && let Some(saturation) = &mut flow.saturation
                && saturation.is_diverted
            {
                saturation.held = network.queue_packets(node);
            }
        }
        if let [index] = self.saturated[node.index()][..] {
            while self.add_packets(index, u32::MAX, now, network, sink) {}
            return;
        }
        while !is_full {
            is_full = true;
            for turn in 0..self.saturated[node.index()].len() {
                let index = self.saturated[node.index()][turn];
                is_full &= !self.add_packets(index, 1, now, network, sink);
            }
        }
    }

    /// Sends up to `count` packets of a saturated flow, if it keeps less than its share and the
    /// queue accepts them; returns whether any was sent.
    fn add_packets<S: Sink>(
        &mut self,
        index: usize,
        count: u32,
        now: Instant,
        network: &mut Network,
        sink: &mut S,
    ) -> bool {
        let FlowMachine::Datagrams(flow) = &mut self.flows[index] else { return false };
        let Some(Saturation { place, held, adapts, .. }) = flow.saturation else { return false };
        let Some(bytes) = flow.source.refill(now) else { return false };
        let missing = self.backlogs.target(now, place).saturating_sub(held);
        if missing == 0 {
            return false;
        }
        let mtu = if adapts { network.adaptive_mtu(flow.from, flow.to) } else { None };
        let count = if adapts { 1 } else { count.min(missing) };
        let bytes = mtu.map_or(bytes, |mtu| bytes.min(mtu));
        let first = flow.packet_with(flow.next_tag, bytes, now);
        let groups = &self.groups;
        let sent = |packet: &Packet| report_sent(groups, now, packet, sink);
        let number = network.handle_offer(now, &first, count, sent);
        flow.next_tag += u64::from(number);
        flow.saturation = flow.saturation.map(|it| Saturation { held: held + number, ..it });
        number > 0
    }

    /// Delivers a packet at its destination, which may answer.
    #[inline]
    pub fn arrived<S: Sink>(
        &mut self,
        at: Instant,
        packet: &Packet,
        network: &mut Network,
        sink: &mut S,
    ) {
        let flow = match &mut self.flows[usize::from(packet.flow.0)] {
            FlowMachine::Datagrams(flow) => flow,
            FlowMachine::Tcp(tcp) => {
                let mut port = self.shared.port(network, sink);
                return tcp.arrived(at, packet, &mut port);
            }
            FlowMachine::Fetching(flow) => {
                return flow.arrived(at, packet, &mut self.shared.port(network, sink));
            }
            FlowMachine::Apq(apq) => {
                let mut port = self.shared.port(network, sink);
                let was_done = apq.is_done();
                apq.arrived(at, packet, &mut port);
                self.lasting -= usize::from(apq.is_done() && !was_done);
                return;
            }
            FlowMachine::Kernel(_) => unreachable!("the driver has its packets"),
            FlowMachine::SentFor => unreachable!("it sends no packets"),
        };
        if let Some(answer) = flow.answer(packet, at) {
            sink.sent(at, &answer);
            network.handle_packet(at, answer);
        } else if let Some(sent) = flow.requests.as_mut().and_then(|r| r.remove(&packet.tag)) {
            sink.round_trip(at, flow.id, at - sent);
        }
    }

    /// The TCP segment that a packet of a flow carries; `None` with other packets and
    /// with parts of cut ones.
    pub fn segment(&self, packet: &Packet) -> Option<&Segment> {
        match &self.flows[usize::from(packet.flow.0)] {
            FlowMachine::Tcp(tcp) if packet.fragment.is_whole() => tcp.segment(packet),
            FlowMachine::Fetching(flow) if packet.fragment.is_whole() => flow.segment(packet),
            _ => None,
        }
    }

    /// Reports the end of a packet that was sent to the group ([`Packet::EVERYWHERE`]), for the
    /// flow that ends at `node`: the packet arrived there, or was lost on the air. If the packet
    /// was given up for another reason, it is lost for all flows to the group.
    pub fn ended_in_group<S: Sink>(
        &self,
        at: Instant,
        node: NodeId,
        packet: &Packet,
        lost: Option<DropReason>,
        sink: &mut S,
    ) {
        let is_of_all = lost.is_some_and(|reason| reason != DropReason::GroupLoss);
        let members = self.groups.get(&usize::from(packet.flow.0)).into_iter().flatten();
        for &(flow, destination) in members.filter(|(_, end)| is_of_all || *end == node) {
            let packet = Packet { flow, destination, ..*packet };
            match lost {
                None => sink.arrived(at, node, &packet),
                Some(reason) => sink.dropped(at, node, &packet, reason),
            }
        }
    }

    /// Handles the loss of a packet.
    pub fn dropped(&mut self, packet: &Packet) {
        match &mut self.flows[usize::from(packet.flow.0)] {
            // A ping that was lost on either way gets no answer.
            FlowMachine::Datagrams(flow) => {
                if let Some(requests) = &mut flow.requests {
                    requests.remove(&packet.tag);
                }
            }
            FlowMachine::Tcp(tcp) => tcp.dropped(packet),
            FlowMachine::Fetching(flow) => flow.dropped(packet),
            FlowMachine::Apq(apq) => apq.dropped(packet),
            FlowMachine::Kernel(_) => unreachable!("the driver has its packets"),
            FlowMachine::SentFor => unreachable!("it sends no packets"),
        }
    }

    /// Handles packets that left the node at which they entered.
    #[inline]
    pub fn released<S: Sink>(&mut self, released: Released, network: &mut Network, sink: &mut S) {
        // A flow of a program is not among them.
        let Some(flow) = self.flows.get_mut(usize::from(released.flow.0)) else { return };
        match flow {
            FlowMachine::Tcp(tcp) => {
                tcp.released(released, &mut self.shared.port(network, sink));
            }
            // It sends more when its node reports space.
            FlowMachine::Datagrams(flow) => {
                if let Some(saturation) = &mut flow.saturation {
                    saturation.held -= released.packets;
                }
            }
            FlowMachine::Fetching(flow) => {
                flow.released(released, &mut self.shared.port(network, sink));
            }
            FlowMachine::Apq(_) | FlowMachine::SentFor => {}
            FlowMachine::Kernel(flow) => flow.released(released.packets),
        }
    }

    /// Counts a packet of the driver that enters; returns whether its release has to be
    /// reported.
    pub fn entered(&mut self, packet: &Packet) -> bool {
        match self.flows.get_mut(usize::from(packet.flow.0)) {
            Some(FlowMachine::Kernel(flow)) => flow.enter(packet.source),
            _ => false,
        }
    }

    /// The backlog of a saturated flow of the kernel; `None` for other flows.
    pub fn backlog(&mut self, now: Instant, flow: FlowId, network: &Network) -> Option<Backlog> {
        match self.flows.get(usize::from(flow.0)) {
            Some(FlowMachine::Kernel(flow)) => flow.backlog(now, &mut self.backlogs, network),
            _ => None,
        }
    }

    /// Whether all flows are measurements, and all of them are done.
    pub fn is_done(&self) -> bool {
        self.lasting == 0 && self.flows.iter().any(|flow| matches!(flow, FlowMachine::Apq(_)))
    }

    /// Ends the run: unfinished measurements and pages are reported.
    pub fn stop<S: Sink>(&self, now: Instant, sink: &mut S) {
        for flow in &self.flows {
            match flow {
                FlowMachine::Apq(apq) => apq.stop(now, sink),
                FlowMachine::Fetching(flow) => flow.stop(now, sink),
                _ => {}
            }
        }
    }

    /// Reports the state of every TCP sender.
    pub fn sample<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        for flow in &mut self.flows {
            match flow {
                FlowMachine::Tcp(tcp) => tcp.sample(now, sink),
                FlowMachine::Fetching(flow) => flow.sample(now, sink),
                _ => {}
            }
        }
    }
}

/// Reports a packet of the model that entered the network: of each flow of its group.
fn report_sent<S: Sink>(
    groups: &BTreeMap<usize, Vec<(FlowId, NodeId)>>,
    now: Instant,
    packet: &Packet,
    sink: &mut S,
) {
    if packet.destination != Packet::EVERYWHERE {
        return sink.sent(now, packet);
    }
    for &(flow, destination) in groups.get(&usize::from(packet.flow.0)).into_iter().flatten() {
        sink.sent(now, &Packet { flow, destination, ..*packet });
    }
}
