//! The whole network as one machine: nodes, the wires between them, and a Wi-Fi cell. The network
//! forwards packets hop by hop along the only path between two nodes: it is a tree, like switches
//! without a spanning tree protocol, or several trees beside each other.
//!
//! `sim` feeds it from traffic sources, `emulate` from real interfaces. A node may have a
//! [`HostCost`], the time that its processor takes for each packet that the node sends, receives or
//! forwards. A packet that is longer than [`NodeConfig::mtu`] of a node that forwards it is cut as
//! in IPv4 and reassembled at its destination; it is reported once, after the end of its last part.
//! Packets of a link can be diverted ([`Network::divert`]): the driver carries them to the far end
//! inside other packets. Left out: routing, and more than one cell.

mod backlog;
mod change;
mod config;
mod datagrams;
mod host;
mod mtu;
mod offload;
mod route;
#[cfg(test)]
mod tests;
mod time;

pub use backlog::{Backlogs, SaturatedFlow};
pub use change::Change;
pub use config::{HostCost, NetworkConfig, NetworkError, NodeConfig, WiredLink};
pub use offload::ReceiveOffload;

use crate::cable::{Cable, CableConfig, CableReason};
use crate::fragment;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use datagrams::Datagrams;
use host::Host;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet, Released, Transport};
use lasthop_units::{Duration, Instant, Machine, Seed};
use lasthop_wifi::cell::{AdjustError, Adjustment, Cell, Output as CellOutput};
use lasthop_wifi::event::Event;
use lasthop_wifi::stats::multi_link::{FlowLinkStats, MultiLinkStats};
use lasthop_wifi::stats::{LinkStats, StationStats};
use lasthop_wifi::{Address, StationId};
use mtu::Mtu;
use offload::Batch;
use route::{Hop, Routes};

/// Output of [`Network::poll_output`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output {
    /// A packet arrived at its destination.
    Arrived {
        /// Instant of its arrival; at most the last instant handled.
        at: Instant,
        /// The destination of the packet.
        node: NodeId,
        /// The packet, with complete delay parts.
        packet: Packet,
    },
    /// A packet was dropped or lost.
    Dropped {
        /// Instant of the drop.
        at: Instant,
        /// The node that held it, or failed to receive it.
        node: NodeId,
        /// The packet that was dropped.
        packet: Packet,
        /// Reason for the drop or loss.
        reason: DropReason,
    },
    /// A diverted packet ([`Network::divert`]). The driver carries it, and ends with
    /// [`Network::handle_carried`] or [`Network::handle_lost`].
    Diverted {
        /// Instant of the diversion.
        at: Instant,
        /// The node at which it left the network.
        node: NodeId,
        /// The packet to carry.
        packet: Packet,
    },
    /// A promiscuous station overheard a whole packet to another station.
    Overheard {
        /// Instant at which it was received.
        at: Instant,
        /// The node that overheard it.
        node: NodeId,
        /// The packet, which is reported at its destination too.
        packet: Packet,
    },
    /// The last copy of a packet to [`Packet::EVERYWHERE`] has ended, so its tag is free. For other
    /// packets, `Arrived` and `Dropped` have this meaning.
    Released {
        /// The tag of the packet.
        tag: u64,
    },
    /// Packets with [`Packet::notify`] left their source.
    Left(Released),
    /// The queues of a node became shorter, so that a saturated source may refill them.
    Space {
        /// The node of the queues.
        node: NodeId,
    },
}

/// Reason for the next wake-up of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The reason of the cell.
    Cell(lasthop_wifi::cell::Reason),
    /// The reason of a wire.
    Wire(CableReason),
    /// The processor of a node has finished a packet, or its wires interrupt.
    Host,
}

/// The counters of one direction of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WireStats {
    /// Number of packets that arrived at the far end.
    pub packets: u64,
    /// Number of packets dropped by the queue.
    pub queue_drops: u64,
    /// Number of packets lost after transmission.
    pub lost: u64,
    /// Sum of the times for which transmitted packets waited for the transmitter; zero without a
    /// rate.
    pub waited: Duration,
}

/// All counters of a network.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NetworkStats {
    /// The counters of each node with Wi-Fi.
    pub stations: Vec<(NodeId, StationStats)>,
    /// The counters of each pair (from, to) of nodes with Wi-Fi that exchanged frames.
    pub links: Vec<(NodeId, NodeId, LinkStats)>,
    /// The counters of each node with several links.
    pub devices: Vec<(NodeId, MultiLinkStats)>,
    /// The counters of flows between such nodes (from, to), by link.
    pub flow_links: Vec<(NodeId, NodeId, FlowLinkStats)>,
    /// The counters of each direction (from, to) of each wire.
    pub wires: Vec<(NodeId, NodeId, WireStats)>,
}

/// A network of nodes, wires and a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    now: Instant,
    /// Instant of the next step, [`Instant::MAX`] for none; updated with every change, as are the
    /// instants of the wires below.
    next: Instant,
    routes: Routes,
    /// The MTU of each node.
    mtus: Vec<Mtu>,
    /// Diverted packets of each node; empty without diversions.
    taps: Vec<Option<Tap>>,
    /// Packets that were cut and whose parts travel.
    datagrams: Datagrams,
    /// The processor of each node that has a [`HostCost`].
    hosts: Vec<Option<Host>>,
    /// The nodes in `hosts`, usually few or none, ordered by identity.
    with_host: Vec<NodeId>,
    /// Packets that wait for an interrupt, of each node with [`ReceiveOffload`].
    batches: Vec<Option<Batch>>,
    /// The nodes in `batches`, ordered by identity.
    with_batch: Vec<NodeId>,
    /// Whether a node has either: the one check of networks without.
    has_processors: bool,
    /// The node of each station.
    node_of: Vec<NodeId>,
    cell: Option<Cell>,
    /// Two directions for each link: indices 2n and 2n + 1.
    wires: Vec<DirectedWire>,
    /// Indices of `wires`, ordered by identity: the order of arrivals at one instant.
    wire_order: Vec<usize>,
    /// Flow, tag and number of copies of each packet to [`Packet::EVERYWHERE`].
    copies: Vec<((FlowId, u64), u32)>,
    /// First instant at which a wire is due, [`Instant::MAX`] for none.
    next_wire: Instant,
    /// Whether a wire has an output.
    wires_moved: bool,
    /// Whether a wire may have a report for [`Output::Left`].
    wires_released: bool,
    /// Outputs, which precede the packets that are left in the cell ([`Network::poll_passive`]).
    outputs: VecDeque<Output>,
    /// Nodes for [`Output::Space`].
    space: VecDeque<NodeId>,
    /// Reports of packets that left their source by being diverted.
    released: VecDeque<Released>,
}

/// Diversion of packets at a node.
#[derive(Clone, Debug, PartialEq)]
struct Tap {
    /// Whether packets to each destination are diverted.
    beyond: Vec<bool>,
    /// Longest packet to divert, in bytes.
    mtu: u16,
}

#[derive(Clone, Debug, PartialEq)]
struct DirectedWire {
    from: NodeId,
    to: NodeId,
    wire: Cable,
    /// The value of [`CableConfig::is_interface`](crate::CableConfig::is_interface).
    is_interface: bool,
    /// The next wake-up of the wire, updated with every change.
    due: (Instant, CableReason),
    stats: WireStats,
}

/// The `due` of a wire that asks for no wake-up.
const NEVER: (Instant, CableReason) = (Instant::MAX, CableReason::Arrival);

impl Network {
    /// Returns an idle network.
    ///
    /// # Errors
    /// Returns a [`NetworkError`] for an invalid configuration.
    pub fn new(config: &NetworkConfig, seed: Seed) -> Result<Self, NetworkError> {
        let short = |node: &NodeConfig| node.mtu < fragment::MTU_BYTES_MIN;
        if let Some(index) = config.nodes.iter().position(short) {
            return Err(NetworkError::Mtu(index as u16, config.nodes[index].mtu));
        }
        let order = in_order(&config.nodes)?;
        let routes = Routes::new(config)?;
        let cell = config.cell.as_ref().map(|cell| Cell::new(cell, seed)).transpose()?;
        let mut node_of = alloc::vec![NodeId(0); cell.as_ref().map_or(0, Cell::stations)];
        for (index, node) in config.nodes.iter().enumerate() {
            if let Some(station) = node.station {
                node_of[station.index()] = NodeId(index as u16);
            }
        }
        for device in config.cell.iter().flat_map(|cell| &cell.devices) {
            for link in &device.links {
                node_of[link.index()] = node_of[device.links[0].index()];
            }
        }
        let mut wires = Vec::new();
        for link in &config.wires {
            let ends = [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])];
            for (direction, (from, to)) in ends.into_iter().enumerate() {
                let [here, there] = [from, to].map(|end| config.nodes[end.index()].identity);
                let stream = seed.stream_of("wire", here.to(there));
                let cable = &link.directions[direction];
                // Merged packets count as one only where they wait.
                let waits = config.nodes[from.index()].receive_offload.is_some();
                let adjustable = cable.adjustable || waits;
                wires.push(DirectedWire {
                    from,
                    to,
                    wire: Cable::new(&CableConfig { adjustable, ..cable.clone() }, stream),
                    is_interface: cable.is_interface,
                    due: NEVER,
                    stats: WireStats::default(),
                });
            }
        }
        let hosts: Vec<_> = config.nodes.iter().map(|node| node.host_cost.map(Host::new)).collect();
        let with_host = order.iter().copied().filter(|node| hosts[node.index()].is_some());
        let with_host: Vec<_> = with_host.collect();
        let batch = |node: &NodeConfig| node.receive_offload.map(Batch::new);
        let batches: Vec<_> = config.nodes.iter().map(batch).collect();
        let with_batch = order.iter().copied().filter(|node| batches[node.index()].is_some());
        let with_batch: Vec<_> = with_batch.collect();
        let mut wire_order: Vec<usize> = (0..wires.len()).collect();
        wire_order.sort_by_key(|&index| {
            let DirectedWire { from, to, .. } = &wires[index];
            [from, to].map(|end| config.nodes[end.index()].identity)
        });
        let mut network = Self {
            now: Instant::ZERO,
            next: Instant::MAX,
            routes,
            mtus: config.nodes.iter().map(|node| Mtu::for_node(node, config)).collect(),
            taps: Vec::new(),
            datagrams: Datagrams::default(),
            has_processors: !with_host.is_empty() || !with_batch.is_empty(),
            hosts,
            with_host,
            batches,
            with_batch,
            node_of,
            cell,
            wires,
            wire_order,
            copies: Vec::new(),
            next_wire: Instant::MAX,
            wires_moved: false,
            wires_released: false,
            outputs: VecDeque::new(),
            space: VecDeque::new(),
            released: VecDeque::new(),
        };
        network.next = network.earliest();
        Ok(network)
    }

    /// Accepts a packet at its source.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) {
        self.catch_up(now);
        self.enter(now, &packet);
    }

    /// Accepts a packet at its source together with the previous one: steps due at that instant
    /// follow both, so a radio that gains the channel at once has both to send.
    pub fn handle_next_packet(&mut self, packet: Packet) {
        self.enter(self.now, &packet);
    }

    /// Accepts a packet at its source after all steps due before `now`.
    fn enter(&mut self, now: Instant, packet: &Packet) {
        self.fetch_passive();
        self.now = now;
        let source = packet.source;
        if packet.destination == Packet::EVERYWHERE {
            self.copies.push(((packet.flow, packet.tag), 1));
        }
        if self.is_too_long(source, packet) {
            for part in self.cut(source, *packet) {
                self.leave(source, &part);
            }
        } else {
            self.leave(source, packet);
        }
        self.collect();
        self.next = self.earliest();
    }

    /// Diverts packets of flows from `node` to `far_end` and beyond: from now on they are outputs
    /// ([`Output::Diverted`]), in parts of at most `mtu` bytes. A node diverts towards one far end
    /// only. Packets without a flow ([`FlowId::NONE`](lasthop_packet::FlowId::NONE)) are not
    /// diverted, because they carry the others.
    pub fn divert(&mut self, node: NodeId, far_end: NodeId, mtu: u16) {
        let nodes = self.mtus.len();
        self.taps.resize(nodes, None);
        let is_beyond = |destination: usize| {
            let destination = NodeId(destination as u16);
            destination != node
                && (destination == far_end || self.path(node, destination).any(|n| n == far_end))
        };
        let beyond = (0..nodes).map(is_beyond).collect();
        self.taps[node.index()] = Some(Tap { beyond, mtu });
    }

    /// Returns a diverted packet to the network at `node`, the far end.
    pub fn handle_carried(&mut self, now: Instant, node: NodeId, packet: Packet) {
        self.handle_timeout(now);
        self.fetch_passive();
        self.now = now;
        self.pass_on(node, node, &Packet { arrived: now, ..packet });
        self.collect();
        self.next = self.earliest();
    }

    /// Accepts the news that a diverted packet was lost at `node`.
    pub fn handle_lost(&mut self, now: Instant, node: NodeId, packet: Packet, reason: DropReason) {
        self.handle_timeout(now);
        self.fetch_passive();
        self.now = now;
        self.drop_packet(node, &packet, reason);
    }

    /// Accepts up to `count` packets like `first`, with tags that count up from its tag, while the
    /// first queue on their path has space; calls `taken` for each. Returns their number, which may
    /// be lower although there is more space, but is not 0 then. A node with a [`HostCost`] accepts
    /// every packet, and diverted packets are always accepted. Without a path no packet is
    /// accepted.
    ///
    /// In contrast to [`Network::handle_packet`], a full queue drops nothing. One call for many
    /// packets of a saturated source saves most of its instructions.
    pub fn handle_offer(
        &mut self,
        now: Instant,
        first: &Packet,
        count: u32,
        mut taken: impl FnMut(&Packet),
    ) -> u32 {
        self.catch_up(now);
        let source = first.source;
        let is_direct = self.hosts[source.index()].is_none()
            && first.destination != Packet::EVERYWHERE
            && first.destination != source
            && !self.is_diverted(source, first);
        if is_direct {
            match self.routes.next(source, first.destination) {
                Hop::None => return 0,
                Hop::Wire(index) => {
                    let admits = self.wires[index].wire.admits(now, first);
                    self.wire_changed(index);
                    if !admits {
                        return 0;
                    }
                }
                Hop::Air(to) => {
                    let station = self.routes.station(source).expect("it sends over the air");
                    let is_cut = self.is_too_long(source, first);
                    let passive = first.passive && self.ends_at(to, first);
                    let cell = self.cell.as_mut().expect("stations are in a cell");
                    if !is_cut {
                        self.now = now;
                        let first = Packet { passive, ..*first };
                        let number = cell.handle_offer(now, station, to, &first, count, taken);
                        self.collect();
                        self.next = self.earliest();
                        return number;
                    }
                    if !cell.admits(station, to, first) {
                        return 0;
                    }
                }
            }
        }
        self.enter(now, first);
        taken(first);
        1
    }

    /// Whether packets from `node` to `destination` wait first in a queue that `node` owns: that of
    /// its radio, or of a wire that [is an interface](crate::CableConfig::is_interface). A kernel's
    /// TCP notices when its packets leave such a queue, and no other one.
    pub fn has_own_queue(&self, node: NodeId, destination: NodeId) -> bool {
        match self.routes.next(node, destination) {
            Hop::Air(_) => true,
            Hop::Wire(index) => self.wires[index].is_interface,
            Hop::None => false,
        }
    }

    /// Whether packets of flows from `node` to `destination` are diverted there
    /// ([`Network::divert`]).
    pub fn diverts(&self, node: NodeId, destination: NodeId) -> bool {
        self.tap(node, destination).is_some()
    }

    /// Outputs the [`passive`](Packet::passive) packets that have arrived by `now`; call it before
    /// you read counters.
    pub fn take_arrived(&mut self, now: Instant) {
        if let Some(cell) = &mut self.cell {
            cell.take_arrived(now);
            self.collect();
        }
    }

    /// Instant of the next step, [`Instant::MAX`] for none: that of [`Machine::poll_timeout`]
    /// without the reason.
    #[inline]
    pub fn due(&self) -> Instant {
        self.next
    }

    /// Whether a poll may return an output; if not, none does.
    #[inline]
    pub fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
            || !self.space.is_empty()
            || self.wires_released
            || self.cell.as_ref().is_some_and(Cell::has_outputs)
    }

    /// Returns the next output: packets, then reports of packets that left their source, then nodes
    /// whose queues became shorter.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        if self.outputs.is_empty() {
            self.fetch_passive();
        }
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        if let Some(released) = self.next_released() {
            return Some(Output::Left(released));
        }
        self.next_space().map(|node| Output::Space { node })
    }

    /// Passes the next packets of [`Output::Arrived`] that are [`Packet::passive`] to `take`:
    /// instant, node and packet. Returns whether there were any. In contrast to
    /// [`Network::poll_output`], this copies no packet.
    #[inline]
    pub fn poll_passive(&mut self, mut take: impl FnMut(Instant, NodeId, &Packet)) -> bool {
        let Self { cell, outputs, node_of, .. } = self;
        let Some(cell) = cell.as_mut().filter(|cell| cell.has_packets()) else { return false };
        let comes_next = outputs.is_empty() && !cell.has_prompt_packets();
        if comes_next {
            cell.poll_passive(|at, station, packet| take(at, node_of[station.index()], packet));
        }
        comes_next
    }

    /// Returns the next event of the cell, if it records events.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.cell.as_mut()?.poll_event()
    }

    /// Returns the next packets with [`Packet::notify`] that left their source.
    #[inline]
    fn next_released(&mut self) -> Option<Released> {
        if let Some(released) = self.cell.as_mut().and_then(Cell::poll_released) {
            return Some(released);
        }
        if let Some(released) = self.released.pop_front() {
            return Some(released);
        }
        let Self { wires, wire_order, .. } = self;
        if !self.wires_released {
            debug_assert!(wires.iter_mut().all(|wire| wire.wire.poll_released().is_none()));
            return None;
        }
        let released = wire_order.iter().find_map(|&index| wires[index].wire.poll_released());
        self.wires_released = released.is_some();
        released
    }

    /// Returns the next node whose queues became shorter.
    #[inline]
    fn next_space(&mut self) -> Option<NodeId> {
        if let Some(node) = self.space.pop_front() {
            return Some(node);
        }
        let station = self.cell.as_mut()?.poll_space()?;
        Some(self.node_of[station.index()])
    }

    /// The number of packets that `node` holds: in its Wi-Fi queues and in flight, in
    /// the queues of its outgoing wires, and waiting for its processor. Each part of a
    /// cut packet counts.
    pub fn queue_packets(&self, node: NodeId) -> u32 {
        let on_air = match (&self.cell, self.routes.station(node)) {
            (Some(cell), Some(station)) => cell.held_packets(station),
            _ => 0,
        };
        let leaving = self.wires.iter().filter(|wire| wire.from == node);
        let on_wires: u32 = leaving.map(|wire| wire.wire.queue_packets(self.now)).sum();
        let before_host = self.hosts[node.index()].as_ref().map_or(0, Host::waiting);
        on_air + on_wires + before_host
    }

    /// The number of packets that `node` holds in its Wi-Fi queues and in flight.
    pub fn wifi_packets(&self, node: NodeId) -> u32 {
        match (&self.cell, self.routes.station(node)) {
            (Some(cell), Some(station)) => cell.held_packets(station),
            _ => 0,
        }
    }

    /// Whether there is a path between two nodes.
    pub fn joins(&self, one: NodeId, other: NodeId) -> bool {
        self.routes.joins(one, other)
    }

    /// The last instant handled.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The node of a station.
    pub fn node(&self, station: StationId) -> NodeId {
        self.node_of[station.index()]
    }

    /// Changes a setting of the radio of `node` from now on; `None` if it has no radio.
    ///
    /// # Errors
    /// Returns an [`AdjustError`] if the radio cannot have the setting.
    pub fn adjust(&mut self, node: NodeId, what: Adjustment) -> Option<Result<(), AdjustError>> {
        let station = self.routes.station(node)?;
        Some(self.cell.as_mut()?.adjust(station, what))
    }

    /// Counters of the radio of `node` until `now`; `None` if it has no radio.
    pub fn station_stats(&mut self, now: Instant, node: NodeId) -> Option<&StationStats> {
        let station = self.routes.station(node)?;
        Some(self.cell.as_mut()?.station_stats(now, station))
    }

    /// Counters of the radio of `from` for its frames to `to`, if there were any.
    pub fn link_stats(&self, from: NodeId, to: NodeId) -> Option<&LinkStats> {
        let [from, to] = [self.routes.station(from)?, self.routes.station(to)?];
        self.cell.as_ref()?.link_stats(from, Address::Station(to))
    }

    /// Sets all counters to zero at `now` (the end of a warm-up).
    pub fn clear_stats(&mut self, now: Instant) {
        if let Some(cell) = &mut self.cell {
            cell.clear_stats(now);
        }
        for wire in &mut self.wires {
            wire.stats = WireStats::default();
            wire.wire.clear_stats();
        }
    }

    /// All counters, up to `now`.
    pub fn stats(&mut self, now: Instant) -> NetworkStats {
        let mut stats = NetworkStats::default();
        if let Some(cell) = &mut self.cell {
            for (index, &node) in self.node_of.iter().enumerate() {
                let station = StationId(index as u16);
                let (head, number) = cell.head_of(station);
                if head == station {
                    stats.stations.push((node, cell.device_stats(now, station)));
                    let device = cell.multi_link_stats(now, station);
                    stats.devices.extend(device.map(|device| (node, device)));
                }
                for (peer, &to) in self.node_of.iter().enumerate() {
                    let peer = Address::Station(StationId(peer as u16));
                    if let Some(link) = cell.link_stats(station, peer)
                        && *link != LinkStats::default()
                    {
                        let link = LinkStats { link: number, ..link.clone() };
                        stats.links.push((node, to, link));
                    }
                }
            }
        }
        let flow_links = self.cell.iter().flat_map(|cell| cell.flow_link_stats());
        let node = |station: StationId| self.node_of[station.index()];
        stats.flow_links = flow_links.map(|it| (node(it.from), node(it.to), it.clone())).collect();
        let wires = self
            .wires
            .iter()
            .map(|it| (it.from, it.to, WireStats { waited: it.wire.waited(), ..it.stats }));
        stats.wires = wires.collect();
        stats
    }

    /// Sends a packet that needs no cut from its source, through the processor there.
    #[inline]
    fn leave(&mut self, source: NodeId, packet: &Packet) {
        match &mut self.hosts[source.index()] {
            Some(host) => host.take_in(self.now, *packet, host::Direction::Out),
            None => self.send(source, packet),
        }
    }

    /// The diversion of packets of flows from `node` to `destination`, if any.
    fn tap(&self, node: NodeId, destination: NodeId) -> Option<&Tap> {
        let tap = self.taps.get(node.index())?.as_ref()?;
        tap.beyond.get(destination.index()).copied().unwrap_or(false).then_some(tap)
    }

    #[inline]
    fn tap_for(&self, node: NodeId, packet: &Packet) -> Option<&Tap> {
        self.tap(node, packet.destination).filter(|_| packet.flow != FlowId::NONE)
    }

    #[inline]
    fn is_diverted(&self, node: NodeId, packet: &Packet) -> bool {
        !self.taps.is_empty() && self.tap_for(node, packet).is_some()
    }

    #[inline]
    fn is_too_long(&self, node: NodeId, packet: &Packet) -> bool {
        // In a network that diverts nothing the length alone usually decides.
        (packet.bytes > self.mtus[node.index()].least || !self.taps.is_empty())
            && self.is_cut(node, packet)
    }

    fn is_cut(&self, node: NodeId, packet: &Packet) -> bool {
        packet.destination != node
            && packet.destination != Packet::EVERYWHERE
            && packet.bytes > self.mtu_for(node, packet)
    }

    /// Cuts a packet into the parts in which it leaves `node`.
    fn cut(&mut self, node: NodeId, packet: Packet) -> impl Iterator<Item = Packet> + use<> {
        let mtu = self.mtu_for(node, &packet);
        self.datagrams.cut(&packet, fragment::count(packet.bytes, mtu));
        fragment::cut(packet, mtu)
    }

    /// Sends a packet from `node` towards its destination.
    fn send(&mut self, node: NodeId, packet: &Packet) {
        if packet.destination == Packet::EVERYWHERE {
            self.flood(node, None, packet);
        } else if packet.destination == node {
            self.arrive(node, packet);
        } else if self.is_diverted(node, packet) {
            // Like the interface of a tunnel: whoever takes the packet may hold it for
            // long.
            Released::book(packet, &mut self.released);
            let packet = Packet { notify: false, ..*packet };
            self.outputs.push_back(Output::Diverted { at: self.now, node, packet });
        } else {
            let hop = self.routes.next(node, packet.destination);
            self.forward(node, hop, packet);
        }
    }

    #[inline]
    fn forward(&mut self, node: NodeId, hop: Hop, packet: &Packet) {
        match hop {
            Hop::Wire(index) => self.send_by_wire(index, packet),
            Hop::Air(to) => self.send_by_air(node, to, packet),
            Hop::None => self.drop_packet(node, packet, DropReason::Unreachable),
        }
    }

    fn send_by_wire(&mut self, index: usize, packet: &Packet) {
        let wire = &mut self.wires[index];
        // A saturated source has to know when its packets leave the queue.
        let is_watched = packet.source == wire.from && packet.transport != Transport::Tcp;
        wire.wire.handle_packet(self.now, *packet, is_watched);
        self.wire_changed(index);
    }

    fn send_by_air(&mut self, node: NodeId, to: Address, packet: &Packet) {
        let station = self.routes.station(node).expect("a route over the air has one");
        let passive = packet.passive && self.ends_at(to, packet);
        let cell = self.cell.as_mut().expect("stations are in a cell");
        cell.handle_packet(self.now, station, to, Packet { passive, ..*packet });
    }

    /// Whether the packet ends at `to`, and no machine there depends on it.
    fn ends_at(&self, to: Address, packet: &Packet) -> bool {
        let destination = packet.destination;
        let is_last = |station: StationId| self.node_of[station.index()] == destination;
        matches!(to, Address::Station(station) if is_last(station))
            && packet.fragment.is_whole()
            && self.hosts[destination.index()].is_none()
    }

    /// Sends copies on every hop except towards `from`; the copy in `packet` is used
    /// up.
    fn flood(&mut self, node: NodeId, from: Option<NodeId>, packet: &Packet) {
        let hops = self.routes.flood(node, from);
        self.add_copies(packet, hops.len() as u32);
        // The last one is on the air, if any is: the source waits for that.
        let last = hops.len().saturating_sub(1);
        for (index, hop) in hops.into_iter().enumerate() {
            let notify = packet.notify && index == last;
            self.forward(node, hop, &Packet { notify, ..*packet });
        }
        self.remove_copy(packet);
    }

    /// Handles a packet that `node` received from its neighbour `from`, through the processor there
    /// if the node forwards it.
    fn receive(&mut self, node: NodeId, from: NodeId, packet: &Packet) {
        if self.hosts[node.index()].is_some() && self.forwards(node, from, packet) {
            let host = self.hosts[node.index()].as_mut().filter(|host| host.has_space());
            return match host {
                Some(host) => host.take_in(self.now, *packet, host::Direction::Forward(from)),
                None => self.drop_packet(node, packet, DropReason::QueueFull),
            };
        }
        self.pass_on(node, from, packet);
    }

    /// Whether a packet that came from `from` leaves `node` again.
    fn forwards(&self, node: NodeId, from: NodeId, packet: &Packet) -> bool {
        match packet.destination {
            Packet::EVERYWHERE => {
                packet.source != node && !self.routes.flood(node, Some(from)).is_empty()
            }
            destination => destination != node,
        }
    }

    /// Forwards a packet that `node` received from `from`, or delivers it.
    fn pass_on(&mut self, node: NodeId, from: NodeId, packet: &Packet) {
        if packet.destination != Packet::EVERYWHERE {
            if packet.destination == node {
                self.arrive(node, packet);
            } else if self.is_too_long(node, packet) {
                for part in self.cut(node, *packet) {
                    self.send(node, &part);
                }
            } else {
                self.send(node, packet);
            }
            return;
        }
        // Stations discard group frames with their own source address.
        if packet.source != node {
            self.add_copies(packet, 1);
            if self.forwards(node, from, packet) {
                // The processor has had it already.
                self.hand_over(node, packet);
            } else {
                self.arrive(node, packet);
            }
            return self.flood(node, Some(from), packet);
        }
        self.remove_copy(packet);
    }

    /// Delivers a packet at its destination, through the processor there.
    #[inline]
    fn arrive(&mut self, node: NodeId, packet: &Packet) {
        match &mut self.hosts[node.index()] {
            Some(host) => host.take_in(self.now, *packet, host::Direction::In),
            None => self.hand_over(node, packet),
        }
    }

    fn hand_over(&mut self, node: NodeId, packet: &Packet) {
        if !packet.fragment.is_whole() {
            let end = self.datagrams.arrived(self.now, node, packet);
            return self.end_cut(end);
        }
        self.outputs.push_back(Output::Arrived { at: self.now, node, packet: *packet });
        self.remove_copy(packet);
    }

    fn drop_packet(&mut self, node: NodeId, packet: &Packet, reason: DropReason) {
        self.drop_packet_at(self.now, node, packet, reason);
    }

    /// Reports a dropped packet; a passive one may have been lost earlier, at `at`.
    fn drop_packet_at(&mut self, at: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        if !packet.fragment.is_whole() {
            let end = self.datagrams.lost(node, packet, reason);
            return self.end_cut(end);
        }
        self.outputs.push_back(Output::Dropped { at, node, packet: *packet, reason });
        self.remove_copy(packet);
    }

    /// Outputs the end of a packet that was cut.
    fn end_cut(&mut self, end: Option<datagrams::End>) {
        let at = self.now;
        self.outputs.extend(end.map(|end| match end {
            datagrams::End::Arrived { node, packet } => Output::Arrived { at, node, packet },
            datagrams::End::Lost { node, packet, reason } => {
                Output::Dropped { at, node, packet, reason }
            }
        }));
    }

    fn add_copies(&mut self, packet: &Packet, count: u32) {
        let key = (packet.flow, packet.tag);
        if let Some((_, copies)) = self.copies.iter_mut().find(|(known, _)| *known == key) {
            *copies += count;
        }
    }

    #[inline]
    fn remove_copy(&mut self, packet: &Packet) {
        if packet.destination == Packet::EVERYWHERE {
            self.remove_group_copy(packet);
        }
    }

    fn remove_group_copy(&mut self, packet: &Packet) {
        let key = (packet.flow, packet.tag);
        let index = self.copies.iter().position(|(known, _)| *known == key);
        let index = index.expect("a copy was counted when it was made");
        self.copies[index].1 -= 1;
        if self.copies[index].1 == 0 {
            self.copies.swap_remove(index);
            self.outputs.push_back(Output::Released { tag: packet.tag });
        }
    }

    /// Forwards the outputs of the cell and the wires at this instant, until there are none.
    #[inline]
    fn collect(&mut self) {
        loop {
            // Others wait in the cell to be polled.
            if self.cell.as_ref().is_some_and(Cell::has_prompt_packets) {
                self.collect_cell();
            }
            if !core::mem::take(&mut self.wires_moved) {
                return;
            }
            self.collect_wires();
        }
    }

    /// Moves the packets that are left in the cell before an output that follows them.
    #[inline]
    pub(super) fn fetch_passive(&mut self) {
        if self.cell.as_ref().is_some_and(Cell::has_packets) {
            self.collect_cell();
        }
    }

    // Usually there is nothing to forward, and neither this nor `collect_wires` is
    // called.
    #[inline(never)]
    fn collect_cell(&mut self) {
        while let Some(output) = self.cell.as_mut().and_then(Cell::poll_output) {
            // Matched by reference: destructuring the value would copy it.
            match &output {
                &CellOutput::Delivered { at, station, ref packet } => {
                    let node = self.node_of[station.index()];
                    if packet.passive {
                        self.outputs.push_back(Output::Arrived { at, node, packet: *packet });
                        self.collect_passive();
                        continue;
                    }
                    let alone;
                    let packet = if packet.follows {
                        alone = Packet { follows: false, ..*packet };
                        &alone
                    } else {
                        packet
                    };
                    if packet.destination == node {
                        self.arrive(node, packet);
                        continue;
                    }
                    let from = self.routes.sender(node, packet);
                    if packet.destination == Packet::EVERYWHERE && self.routes.is_access_point(from)
                    {
                        // One transmission reaches many receivers: this is one more
                        // copy.
                        self.add_copies(packet, 1);
                    }
                    self.receive(node, from, packet);
                }
                &CellOutput::Dropped { at, station, ref packet, reason } => {
                    let node = self.node_of[station.index()];
                    if reason == DropReason::GroupLoss {
                        if packet.source != node {
                            let packet = *packet;
                            self.outputs.push_back(Output::Dropped { at, node, packet, reason });
                        }
                    } else {
                        self.drop_packet_at(at, node, packet, reason);
                    }
                }
                &CellOutput::Overheard { station, ref packet, .. } => {
                    let node = self.node_of[station.index()];
                    // Only the destination reassembles parts.
                    match &mut self.hosts[node.index()] {
                        _ if !packet.fragment.is_whole() => {}
                        Some(host) => host.take_in(self.now, *packet, host::Direction::Heard),
                        None => self.overhear(node, *packet),
                    }
                }
                CellOutput::GroupSent { packet, .. } => self.remove_copy(packet),
                &CellOutput::Attached { station, access_point, is_known, .. } => {
                    let [node, to] = [station, access_point].map(|it| self.node_of[it.index()]);
                    self.routes.attach(node, to, is_known);
                }
            }
        }
    }

    /// Forwards passive packets as they come. Usually many of them come at once, or none.
    #[inline]
    fn collect_passive(&mut self) {
        let Self { cell, outputs, node_of, .. } = self;
        if let Some(cell) = cell.as_mut().filter(|cell| cell.has_packets()) {
            cell.poll_passive(|at, station, &packet| {
                let node = node_of[station.index()];
                outputs.push_back(Output::Arrived { at, node, packet });
            });
        }
    }

    fn overhear(&mut self, node: NodeId, packet: Packet) {
        self.outputs.push_back(Output::Overheard { at: self.now, node, packet });
    }

    #[inline(never)]
    fn collect_wires(&mut self) {
        self.fetch_passive();
        for turn in 0..self.wire_order.len() {
            let index = self.wire_order[turn];
            if !self.wires[index].wire.has_outputs() {
                continue;
            }
            let (from, to) = (self.wires[index].from, self.wires[index].to);
            while let Some(packet) = self.wires[index].wire.poll_transmit() {
                self.wires[index].stats.packets += 1;
                self.receive_by_wire(to, from, &packet);
            }
            while let Some((packet, reason)) = self.wires[index].wire.poll_drop() {
                let stats = &mut self.wires[index].stats;
                match reason {
                    DropReason::WireLoss => stats.lost += 1,
                    _ => stats.queue_drops += 1,
                }
                self.drop_packet(from, &packet, reason);
            }
        }
    }
}

/// Returns the nodes ordered by identity, which does not depend on their order in the
/// configuration.
fn in_order(nodes: &[NodeConfig]) -> Result<Vec<NodeId>, NetworkError> {
    let mut order: Vec<NodeId> = (0..nodes.len() as u16).map(NodeId).collect();
    let identity = |node: NodeId| nodes[node.index()].identity;
    order.sort_by_key(|&node| identity(node));
    if let Some(pair) = order.windows(2).find(|pair| identity(pair[0]) == identity(pair[1])) {
        let [one, other] = [pair[0].0.min(pair[1].0), pair[0].0.max(pair[1].0)];
        return Err(NetworkError::SameIdentity(one, other));
    }
    Ok(order)
}
