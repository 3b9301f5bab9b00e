//! The whole network as one pure machine: nodes, the wires between them, and a
//! Wi-Fi cell. It forwards packets hop by hop along the only path there is (a
//! network is a tree: a switch without spanning tree wants no loops).
//!
//! `sim` feeds it from traffic sources, `live` from real interfaces. A node may
//! have a [`HostCost`]: the time its processor needs for every packet that it
//! sends or receives itself; forwarding costs nothing. A packet longer than
//! [`NodeConfig::mtu`] of the node that sends it on is cut as IPv4 does, and put
//! together at its destination; it still ends once, when its last part has.
//! Something else may take the packets of a link ([`Network::divert`]) and carry
//! them to its other end in packets of its own.
//! Left out: routing, and more than one cell.

mod backlog;
mod config;
mod datagrams;
mod host;
mod route;
#[cfg(test)]
mod tests;

pub use backlog::{Backlogs, SaturatedFlow};
pub use config::{HostCost, NetworkConfig, NodeConfig, WiredLink};

use crate::cable::{Cable, CableReason};
use crate::fragment;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use datagrams::Datagrams;
use host::Host;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet, Released, Transport};
use lasthop_units::{Instant, Machine, Seed};
use lasthop_wifi::cell::{Cell, CellError, Output as CellOutput};
use lasthop_wifi::event::Event;
use lasthop_wifi::stats::{LinkStats, StationStats};
use lasthop_wifi::{Address, StationId};
use route::{Hop, Routes};

/// A network that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The cell's configuration is unsound.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// There is no path between two nodes.
    #[error("nodes {0} and {1} are not connected")]
    Unreachable(u16, u16),
    /// There is more than one path.
    #[error("the links make a loop through node {0}")]
    Loop(u16),
    /// A wire ends at a node that is not there, or where it begins.
    #[error("wire {0} does not connect two nodes")]
    Wire(usize),
    /// A node names a station that is not in the cell, or another node has it.
    #[error("node {0} has no station of its own in the cell")]
    Station(u16),
    /// Two nodes would draw the same random numbers.
    #[error("nodes {0} and {1} have the same identity")]
    SameIdentity(u16, u16),
    /// An MTU that leaves no room beside a header.
    #[error("node {0} has an MTU of {1} bytes, and IPv4 needs 68")]
    Mtu(u16, u16),
}

/// What came out of the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output {
    /// A packet is at its destination.
    Arrived {
        /// The instant; the last one handled at the latest.
        at: Instant,
        /// The destination.
        node: NodeId,
        /// The packet, its delay parts complete.
        packet: Packet,
    },
    /// A packet was given up.
    Dropped {
        /// The instant.
        at: Instant,
        /// Who held it, or failed to receive it.
        node: NodeId,
        /// The packet.
        packet: Packet,
        /// Why.
        reason: DropReason,
    },
    /// A packet that somebody else carries from here ([`Network::divert`]); it goes on
    /// by [`Network::resume`] or ends by [`Network::give_up`].
    Diverted {
        /// The instant.
        at: Instant,
        /// Where it is.
        node: NodeId,
        /// The packet.
        packet: Packet,
    },
    /// A promiscuous station heard a whole packet on its way to another one.
    Overheard {
        /// The instant.
        at: Instant,
        /// Who heard it.
        node: NodeId,
        /// The packet, which ends elsewhere.
        packet: Packet,
    },
    /// The last copy of a packet for [`Packet::EVERYWHERE`] is gone: its tag is
    /// free. For other packets, `Arrived` and `Dropped` say so.
    Released {
        /// The tag.
        tag: u64,
    },
}

/// Why the network wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The cell.
    Cell(lasthop_wifi::cell::Reason),
    /// A wire.
    Wire(CableReason),
    /// A node's processor is done with a packet.
    Host,
}

/// Counters of one direction of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WireStats {
    /// Packets that came out at the far end.
    pub packets: u64,
    /// Packets dropped by its queue.
    pub queue_drops: u64,
    /// Packets lost on the way.
    pub lost: u64,
}

/// All counters of a run.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NetworkStats {
    /// Of every node with Wi-Fi.
    pub stations: Vec<(NodeId, StationStats)>,
    /// Of every direction between two nodes with Wi-Fi that was used.
    pub links: Vec<(NodeId, NodeId, LinkStats)>,
    /// Of every direction of a wire.
    pub wires: Vec<(NodeId, NodeId, WireStats)>,
}

/// The machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    now: Instant,
    /// When something is due next, [`Instant::MAX`] if nothing is; kept up to date by
    /// whatever changes it. So are the instants of the wires below.
    next: Instant,
    routes: Routes,
    /// By node.
    mtus: Vec<Mtu>,
    /// By node; empty if nobody diverts anything.
    taps: Vec<Option<Tap>>,
    /// Packets that were cut.
    datagrams: Datagrams,
    /// By node.
    hosts: Vec<Option<Host>>,
    /// The nodes with a host, usually few or none, in an order of identities.
    with_host: Vec<NodeId>,
    /// By station: its node.
    node_of: Vec<NodeId>,
    cell: Option<Cell>,
    /// Two directions for each link: 2n and 2n + 1.
    wires: Vec<DirectedWire>,
    /// `wires` in an order of identities: what arrives at one instant is taken in it.
    wire_order: Vec<usize>,
    /// Packets for everywhere: their copies.
    copies: Vec<(u64, u32)>,
    /// When the first of the wires is due, [`Instant::MAX`] if none is.
    next_wire: Instant,
    /// A wire has something to give out.
    wires_moved: bool,
    /// A wire may have something to report to [`Network::poll_released`].
    wires_released: bool,
    outputs: VecDeque<Output>,
    room: VecDeque<NodeId>,
    /// Packets that left their node by being diverted.
    released: VecDeque<Released>,
}

/// The MTU of a node; what lies between the two depends on the link and changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mtu {
    least: u16,
    most: u16,
}

impl Mtu {
    fn of(node: &NodeConfig, config: &NetworkConfig) -> Self {
        let station = node.station.zip(config.cell.as_ref());
        let adaptive = station.and_then(|(s, cell)| cell.stations[s.index()].adaptive_mtu);
        Self { least: adaptive.map_or(node.mtu, |adaptive| adaptive.bytes_min), most: node.mtu }
    }

    fn adapts(self) -> bool {
        self.least < self.most
    }
}

/// What somebody else carries from a node.
#[derive(Clone, Debug, PartialEq)]
struct Tap {
    /// By destination.
    beyond: Vec<bool>,
    /// Longest packet.
    mtu: u16,
}

#[derive(Clone, Debug, PartialEq)]
struct DirectedWire {
    from: NodeId,
    to: NodeId,
    wire: Cable,
    /// What the wire asks for, kept up to date by whatever changes it.
    due: (Instant, CableReason),
    stats: WireStats,
}

/// When a wire that asks for nothing is due.
const NEVER: (Instant, CableReason) = (Instant::MAX, CableReason::Arrival);

impl Network {
    /// A network at rest.
    ///
    /// # Errors
    /// What [`NetworkError`] lists.
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
        let mut wires = Vec::new();
        for link in &config.wires {
            let ends = [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])];
            for (direction, (from, to)) in ends.into_iter().enumerate() {
                let [here, there] = [from, to].map(|end| config.nodes[end.index()].identity);
                let stream = seed.stream_of("wire", here.to(there));
                let wire = Cable::new(&link.directions[direction], stream);
                wires.push(DirectedWire {
                    from,
                    to,
                    wire,
                    due: NEVER,
                    stats: WireStats::default(),
                });
            }
        }
        let hosts: Vec<_> = config.nodes.iter().map(|node| node.host_cost.map(Host::new)).collect();
        let with_host = order.iter().copied().filter(|node| hosts[node.index()].is_some());
        let with_host = with_host.collect();
        let mut wire_order: Vec<usize> = (0..wires.len()).collect();
        wire_order.sort_by_key(|&index| {
            let DirectedWire { from, to, .. } = &wires[index];
            [from, to].map(|end| config.nodes[end.index()].identity)
        });
        let mut network = Self {
            now: Instant::ZERO,
            next: Instant::MAX,
            routes,
            mtus: config.nodes.iter().map(|node| Mtu::of(node, config)).collect(),
            taps: Vec::new(),
            datagrams: Datagrams::default(),
            hosts,
            with_host,
            node_of,
            cell,
            wires,
            wire_order,
            copies: Vec::new(),
            next_wire: Instant::MAX,
            wires_moved: false,
            wires_released: false,
            outputs: VecDeque::new(),
            room: VecDeque::new(),
            released: VecDeque::new(),
        };
        network.next = network.earliest();
        Ok(network)
    }

    /// A packet enters at its source.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) {
        self.catch_up(now);
        self.enter(now, &packet);
    }

    /// The same once everything due before is done.
    fn enter(&mut self, now: Instant, packet: &Packet) {
        self.now = now;
        let source = packet.source;
        if packet.destination == Packet::EVERYWHERE {
            self.copies.push((packet.tag, 1));
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

    /// From now on packets of flows that `node` would send to or through `far_end`
    /// come out ([`Output::Diverted`]), cut so that none is longer than `mtu`; a node
    /// does so towards one far end. Packets of no flow
    /// ([`FlowId::NONE`](lasthop_packet::FlowId::NONE)) pass: they carry the others.
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

    /// A diverted packet goes on from `node`, the far end.
    pub fn resume(&mut self, now: Instant, node: NodeId, packet: Packet) {
        self.handle_timeout(now);
        self.now = now;
        self.receive(node, node, &Packet { arrived: now, ..packet });
        self.collect();
        self.next = self.earliest();
    }

    /// A diverted packet is lost at `node`.
    pub fn give_up(&mut self, now: Instant, node: NodeId, packet: Packet, reason: DropReason) {
        self.handle_timeout(now);
        self.now = now;
        self.drop_packet(node, &packet, reason);
    }

    /// As [`Network::handle_packet`] if the first queue on the way has room;
    /// otherwise the packet is refused and nothing happened: `false`. A node
    /// with a [`HostCost`] takes every packet.
    pub fn offer_packet(&mut self, now: Instant, packet: Packet) -> bool {
        self.catch_up(now);
        let source = packet.source;
        let is_direct = self.hosts[source.index()].is_none()
            && packet.destination != Packet::EVERYWHERE
            && packet.destination != source
            && !self.is_diverted(source, &packet);
        let has_room = !is_direct
            || match self.routes.next(source, packet.destination) {
                Hop::Wire(index) => {
                    let admits = self.wires[index].wire.admits(now, &packet);
                    self.wire_changed(index);
                    admits
                }
                Hop::Air(_) => {
                    let station = self.routes.station(source).expect("it sends over the air");
                    self.cell.as_mut().expect("stations are in a cell").admits(station, &packet)
                }
            };
        if has_room {
            self.enter(now, &packet);
        }
        has_room
    }

    /// Somebody else carries what a flow sends from `node` to `destination`
    /// ([`Network::divert`]).
    pub fn diverts(&self, node: NodeId, destination: NodeId) -> bool {
        self.tap(node, destination).is_some()
    }

    /// Puts out the [`passive`](Packet::passive) packets that have arrived by
    /// `now`: before they are counted.
    pub fn take_arrived(&mut self, now: Instant) {
        if let Some(cell) = &mut self.cell {
            cell.take_arrived(now);
            self.collect();
        }
    }

    /// Does everything due up to `limit`, but stops after the first instant at which
    /// something came out; then it is [`Network::now`].
    pub fn advance(&mut self, limit: Instant) {
        self.run(limit, true);
    }

    /// When something is due next, [`Instant::MAX`] if nothing is: what
    /// [`Machine::poll_timeout`] says, without the reason.
    #[inline]
    pub fn due(&self) -> Instant {
        self.next
    }

    /// A poll may give something; if not, none does.
    #[inline]
    pub fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
            || !self.room.is_empty()
            || self.wires_released
            || self.cell.as_ref().is_some_and(Cell::has_outputs)
    }

    /// The next thing that came out.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The next event of the cell, if it records events.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.cell.as_mut()?.poll_event()
    }

    /// Packets with [`Packet::notify`] that the node at which they entered let go of.
    #[inline]
    pub fn poll_released(&mut self) -> Option<Released> {
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

    /// A node whose queues got shorter: a saturated source can refill them.
    #[inline]
    pub fn poll_room(&mut self) -> Option<NodeId> {
        if let Some(node) = self.room.pop_front() {
            return Some(node);
        }
        let station = self.cell.as_mut()?.poll_room()?;
        Some(self.node_of[station.index()])
    }

    /// Packets (parts of a packet that was cut each for itself) that `node` holds: in its Wi-Fi queues and in flight, in the
    /// queues of the wires that leave it, before its processor.
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

    /// Packets that `node` holds in its Wi-Fi queues and in flight.
    pub fn wifi_packets(&self, node: NodeId) -> u32 {
        match (&self.cell, self.routes.station(node)) {
            (Some(cell), Some(station)) => cell.held_packets(station),
            _ => 0,
        }
    }

    /// The last instant handled.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Packets in which `from` sends one of `bytes` to another node.
    pub fn packets_for(&self, from: NodeId, to: NodeId, bytes: u16) -> u32 {
        fragment::count(bytes, self.mtu(from, to))
    }

    /// Longest packet that gets from one node to another whole: what a TCP
    /// segment may be long, headers included.
    pub fn path_mtu(&self, from: NodeId, to: NodeId) -> u16 {
        self.path(from, to).map(|node| self.mtu(node, to)).min().unwrap_or(u16::MAX)
    }

    /// The same if a node on the way adapts its MTU to the link: then a source
    /// asks for every packet how long it should be.
    pub fn adaptive_mtu(&self, from: NodeId, to: NodeId) -> Option<u16> {
        let adapts = |node: NodeId| self.mtus[node.index()].adapts();
        self.path(from, to).any(adapts).then(|| self.path_mtu(from, to))
    }

    /// The nodes on the way, the last left out.
    fn path(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = NodeId> {
        let next = move |node: &NodeId| Some(self.routes.next_node(*node, to));
        core::iter::successors(Some(from), next).take_while(move |node| *node != to)
    }

    /// The same for a packet: TCP does not allow cuts (DF), and what was made
    /// when an adaptive MTU was longer passes.
    fn mtu_for(&self, node: NodeId, packet: &Packet) -> u16 {
        let on_link = match packet.transport {
            Transport::Tcp => self.mtus[node.index()].most,
            Transport::Other => self.link_mtu(node, packet.destination),
        };
        self.tap_for(node, packet).map_or(on_link, |tap| tap.mtu.min(on_link))
    }

    /// Longest packet of a flow that leaves `node` towards `to` now.
    fn mtu(&self, node: NodeId, to: NodeId) -> u16 {
        let on_link = self.link_mtu(node, to);
        self.tap(node, to).map_or(on_link, |tap| tap.mtu.min(on_link))
    }

    /// Longest packet that `node` puts on its link towards `to` now.
    fn link_mtu(&self, node: NodeId, to: NodeId) -> u16 {
        let mtu = self.mtus[node.index()];
        match (mtu.adapts(), self.routes.station(node), &self.cell) {
            (true, Some(station), Some(cell)) => match self.routes.next(node, to) {
                Hop::Air(peer) => cell.mtu(station, peer).unwrap_or(mtu.most),
                Hop::Wire(_) => mtu.most,
            },
            _ => mtu.most,
        }
    }

    /// The node of a station.
    pub fn node(&self, station: StationId) -> NodeId {
        self.node_of[station.index()]
    }

    /// Sets all counters to zero at `now` (the end of a warm-up).
    pub fn clear_stats(&mut self, now: Instant) {
        if let Some(cell) = &mut self.cell {
            cell.clear_stats(now);
        }
        for wire in &mut self.wires {
            wire.stats = WireStats::default();
        }
    }

    /// All counters, up to `now`.
    pub fn stats(&mut self, now: Instant) -> NetworkStats {
        let mut stats = NetworkStats::default();
        if let Some(cell) = &mut self.cell {
            for (index, &node) in self.node_of.iter().enumerate() {
                let station = StationId(index as u16);
                stats.stations.push((node, cell.station_stats(now, station).clone()));
                for (peer, &to) in self.node_of.iter().enumerate() {
                    let peer = Address::Station(StationId(peer as u16));
                    if let Some(link) = cell.link_stats(station, peer)
                        && *link != LinkStats::default()
                    {
                        stats.links.push((node, to, link.clone()));
                    }
                }
            }
        }
        stats.wires = self.wires.iter().map(|wire| (wire.from, wire.to, wire.stats)).collect();
        stats
    }

    /// A packet of at most the MTU leaves its source through the processor there.
    #[inline]
    fn leave(&mut self, source: NodeId, packet: &Packet) {
        match &mut self.hosts[source.index()] {
            Some(host) => host.take_in(self.now, *packet, host::Direction::Out),
            None => self.send(source, packet),
        }
    }

    /// Who takes what `node` sends to `destination`.
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
        // Where nobody diverts anything, most often the length alone says no.
        (packet.bytes > self.mtus[node.index()].least || !self.taps.is_empty())
            && self.is_cut(node, packet)
    }

    fn is_cut(&self, node: NodeId, packet: &Packet) -> bool {
        packet.destination != node
            && packet.destination != Packet::EVERYWHERE
            && packet.bytes > self.mtu_for(node, packet)
    }

    /// The parts in which a packet leaves `node`.
    fn cut(&mut self, node: NodeId, packet: Packet) -> impl Iterator<Item = Packet> + use<> {
        let mtu = self.mtu_for(node, &packet);
        self.datagrams.cut(&packet, fragment::count(packet.bytes, mtu));
        fragment::cut(packet, mtu)
    }

    /// A packet leaves `node` towards its destination.
    fn send(&mut self, node: NodeId, packet: &Packet) {
        if packet.destination == Packet::EVERYWHERE {
            self.flood(node, None, packet);
        } else if packet.destination == node {
            self.arrive(node, packet);
        } else if self.is_diverted(node, packet) {
            // As a tunnel's interface lets go of what it takes: it may hold it for long.
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
        }
    }

    fn send_by_wire(&mut self, index: usize, packet: &Packet) {
        let wire = &mut self.wires[index];
        // A saturated source wants to hear when its packets leave the queue.
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

    /// The packet goes no further than to `to`, and nothing there depends on it.
    fn ends_at(&self, to: Address, packet: &Packet) -> bool {
        let destination = packet.destination;
        let is_last = |station: StationId| self.node_of[station.index()] == destination;
        matches!(to, Address::Station(station) if is_last(station))
            && packet.fragment.is_whole()
            && self.hosts[destination.index()].is_none()
    }

    /// Copies go out everywhere but where the packet came from; `packet`'s own
    /// copy is used up.
    fn flood(&mut self, node: NodeId, from: Option<NodeId>, packet: &Packet) {
        let hops = self.routes.flood(node, from);
        self.add_copies(packet.tag, hops.len() as u32);
        for hop in hops {
            self.forward(node, hop, packet);
        }
        self.remove_copy(packet);
    }

    /// A packet reached `node` from its neighbour `from`.
    fn receive(&mut self, node: NodeId, from: NodeId, packet: &Packet) {
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
            self.add_copies(packet.tag, 1);
            self.arrive(node, packet);
            return self.flood(node, Some(from), packet);
        }
        self.remove_copy(packet);
    }

    /// A packet is where it was to go, but for the processor there.
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
        if !packet.fragment.is_whole() {
            let end = self.datagrams.lost(node, packet, reason);
            return self.end_cut(end);
        }
        self.outputs.push_back(Output::Dropped { at: self.now, node, packet: *packet, reason });
        self.remove_copy(packet);
    }

    /// The last part of a packet that was cut is no more.
    fn end_cut(&mut self, end: Option<datagrams::End>) {
        let at = self.now;
        self.outputs.extend(end.map(|end| match end {
            datagrams::End::Arrived { node, packet } => Output::Arrived { at, node, packet },
            datagrams::End::Lost { node, packet, reason } => {
                Output::Dropped { at, node, packet, reason }
            }
        }));
    }

    fn add_copies(&mut self, tag: u64, count: u32) {
        if let Some((_, copies)) = self.copies.iter_mut().find(|(known, _)| *known == tag) {
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
        let index = self.copies.iter().position(|(tag, _)| *tag == packet.tag);
        let index = index.expect("a copy was counted when it was made");
        self.copies[index].1 -= 1;
        if self.copies[index].1 == 0 {
            self.copies.swap_remove(index);
            self.outputs.push_back(Output::Released { tag: packet.tag });
        }
    }

    /// Moves on whatever the parts have put out at this instant, until nothing moves.
    #[inline]
    fn collect(&mut self) {
        loop {
            if self.cell.as_ref().is_some_and(Cell::has_packets) {
                self.collect_cell();
            }
            if !core::mem::take(&mut self.wires_moved) {
                return;
            }
            self.collect_wires();
        }
    }

    // Most often nothing moves, and neither this nor the next is called.
    #[inline(never)]
    fn collect_cell(&mut self) {
        while let Some(output) = self.cell.as_mut().and_then(Cell::poll_output) {
            // By reference: what is taken apart by value is copied.
            match &output {
                &CellOutput::Delivered { at, station, ref packet } => {
                    let node = self.node_of[station.index()];
                    if packet.passive {
                        self.outputs.push_back(Output::Arrived { at, node, packet: *packet });
                        continue;
                    }
                    if packet.destination == node {
                        self.arrive(node, packet);
                        continue;
                    }
                    let from = self.routes.sender(node, packet);
                    if packet.destination == Packet::EVERYWHERE && self.routes.is_access_point(from)
                    {
                        // One transmission, many receivers: this is one more copy.
                        self.add_copies(packet.tag, 1);
                    }
                    self.receive(node, from, packet);
                }
                &CellOutput::Dropped { station, ref packet, reason, .. } => {
                    let node = self.node_of[station.index()];
                    if reason == DropReason::GroupLoss {
                        if packet.source != node {
                            let (at, packet) = (self.now, *packet);
                            self.outputs.push_back(Output::Dropped { at, node, packet, reason });
                        }
                    } else {
                        self.drop_packet(node, packet, reason);
                    }
                }
                &CellOutput::Overheard { station, ref packet, .. } => {
                    let node = self.node_of[station.index()];
                    // Parts are put together at the destination only.
                    match &mut self.hosts[node.index()] {
                        _ if !packet.fragment.is_whole() => {}
                        Some(host) => host.take_in(self.now, *packet, host::Direction::Heard),
                        None => self.overhear(node, *packet),
                    }
                }
                CellOutput::GroupSent { packet, .. } => self.remove_copy(packet),
            }
        }
    }

    fn overhear(&mut self, node: NodeId, packet: Packet) {
        self.outputs.push_back(Output::Overheard { at: self.now, node, packet });
    }

    #[inline(never)]
    fn collect_wires(&mut self) {
        for turn in 0..self.wire_order.len() {
            let index = self.wire_order[turn];
            if !self.wires[index].wire.has_outputs() {
                continue;
            }
            let (from, to) = (self.wires[index].from, self.wires[index].to);
            while let Some(packet) = self.wires[index].wire.poll_transmit() {
                self.wires[index].stats.packets += 1;
                self.receive(to, from, &packet);
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

    /// Does everything due up to `limit` in the order of its instants; if it `stops`, up to
    /// the first instant at which something came out.
    fn run(&mut self, limit: Instant, stops: bool) {
        while self.next <= limit {
            let at = self.next;
            while self.next <= at {
                self.step(at);
                self.next = self.earliest();
            }
            if stops && self.has_outputs() {
                return;
            }
        }
    }

    #[inline]
    fn step(&mut self, at: Instant) {
        self.now = at;
        if let Some(cell) = &mut self.cell
            && cell.due() <= at
        {
            cell.handle_timeout(at);
        }
        if self.next_wire <= at {
            self.step_wires(at);
        }
        for index in 0..self.with_host.len() {
            let node = self.with_host[index];
            while let Some((packet, direction)) =
                self.hosts[node.index()].as_mut().and_then(|host| host.finish(at))
            {
                match direction {
                    host::Direction::Out => {
                        self.room.push_back(node);
                        self.send(node, &packet);
                    }
                    host::Direction::In => self.hand_over(node, &packet),
                    host::Direction::Heard => self.overhear(node, packet),
                }
            }
        }
        self.collect();
    }

    fn step_wires(&mut self, at: Instant) {
        for turn in 0..self.wire_order.len() {
            let index = self.wire_order[turn];
            let wire = &mut self.wires[index];
            let (due, reason) = wire.due;
            if due > at {
                continue;
            }
            wire.wire.handle_timeout(at);
            if reason == CableReason::Transmit {
                self.room.push_back(wire.from);
            }
            wire.due = wire.wire.poll_timeout().unwrap_or(NEVER);
            self.wires_moved |= wire.wire.has_outputs();
            self.wires_released |= wire.wire.has_released();
        }
        self.find_next_wire();
    }

    /// A wire took in a packet.
    #[inline]
    fn wire_changed(&mut self, index: usize) {
        let DirectedWire { wire, due, .. } = &mut self.wires[index];
        let before = core::mem::replace(due, wire.poll_timeout().unwrap_or(NEVER));
        let due = *due;
        self.wires_moved |= wire.has_outputs();
        self.wires_released |= wire.has_released();
        if due.0 < self.next_wire {
            self.next_wire = due.0;
        } else if due.0 != before.0 && before.0 == self.next_wire {
            // It may have been the first.
            self.find_next_wire();
        }
    }

    fn find_next_wire(&mut self) {
        self.next_wire = Instant::MAX;
        for wire in &self.wires {
            self.next_wire = self.next_wire.min(wire.due.0);
        }
    }

    /// Does what is due up to `now`, if anything is.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        if self.next <= now {
            self.handle_timeout(now);
        }
    }

    /// When the first of everything is due.
    #[inline]
    fn earliest(&self) -> Instant {
        debug_assert_eq!(
            Some(self.next_wire).filter(|at| *at < Instant::MAX),
            self.wires.iter().filter_map(|wire| wire.wire.poll_timeout()).map(|(at, _)| at).min(),
        );
        let mut next = self.cell.as_ref().map_or(Instant::MAX, Cell::due).min(self.next_wire);
        for node in &self.with_host {
            if let Some(at) = self.hosts[node.index()].as_ref().and_then(Host::next) {
                next = next.min(at);
            }
        }
        next
    }

    /// Who is due at [`Self::due`]: of several the cell, then the first wire.
    fn reason(&self) -> Reason {
        let due = |wire: &&DirectedWire| wire.due.0 == self.next;
        match self.cell.as_ref().and_then(Machine::poll_timeout) {
            Some((at, reason)) if at == self.next => Reason::Cell(reason),
            _ => self.wires.iter().find(due).map_or(Reason::Host, |wire| Reason::Wire(wire.due.1)),
        }
    }
}

/// The nodes in an order of their identities, which does not depend on the configuration's.
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

impl Machine for Network {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        (self.next < Instant::MAX).then(|| (self.next, self.reason()))
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.run(now, false);
    }
}
