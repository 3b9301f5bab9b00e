//! Coded links: the machines of the daemon in nodes of the network. Packets of flows that reach an
//! end of a link enter it as real bytes (those of a driver unchanged); the same bytes must leave at
//! the other end, once. Datagrams are packets without a flow between neighbours; their content is
//! kept here under the tag of the packet.
//!
//! A machine does not report dropped packets, except acknowledgements that later ones replace. The
//! machine keeps the packets of a flow in order, and all parts of cut packets between two hosts, so a
//! packet after a gap shows that those before it are lost.

mod bytes;
mod plain;

use crate::HostsConfig;
use crate::HostsError;
use crate::in_flight::InFlight;
use crate::{
    FrancLink, FrancLinkChange, FrancMachine, FrancNodeReport, FrancPart, FrancReport, Sink,
};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use bytes::{Made, Mark};
use lasthop_franc::{Address, Entropy, Event, Node, Stats};
use lasthop_net::network::Network;
use lasthop_packet::ip;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet, Released};
use lasthop_tcp::Segment;
use lasthop_units::{Duration, Identity, Instant, Machine as _, Seed, Stream};
use plain::Plain;

/// A wake-up of a node of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FrancWake {
    pub at: Instant,
    link: usize,
    /// Index of the node; of the first one, if it is about a link.
    index: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Timer,
    Dies,
    Begins,
    /// One of two links dies, or works again.
    LinkDies(u8),
    LinkBegins(u8),
}

/// Time after its arrival for which a datagram may still be overheard: longer than an A-MPDU lasts,
/// and than an MPDU is retransmitted.
const OVERHEARD_AFTER_MAX: Duration = Duration::from_millis(100);

/// All coded links of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Francs {
    links: Vec<Link>,
    /// Indices of `links`, ordered by name: the order of actions at one instant.
    order: Vec<usize>,
    /// Link and index in it of each node of the network.
    members: Vec<Option<(usize, usize)>>,
    in_flight: InFlight<LinkDatagram>,
    /// Datagrams of links with more than two nodes that have arrived, by tag of the packet, and
    /// when: some may still be overheard.
    arrived: BTreeMap<u64, LinkDatagram>,
    arrivals: VecDeque<(Instant, u64)>,
    wakes: Vec<FrancWake>,
}

/// The content of a packet between two nodes of a link.
#[derive(Clone, Debug, PartialEq)]
struct LinkDatagram {
    link: usize,
    from: usize,
    /// The link of two on which it goes, 0 or 1.
    on: u8,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
struct Link {
    config: FrancLink,
    /// The identity of each node of the network.
    identities: Arc<[Identity]>,
    members: Vec<Member>,
    seed: Seed,
    /// The packets inside the link, by number.
    inside: BTreeMap<u32, Inside>,
    /// Mark and number of each packet inside, to find it by its bytes.
    marks: BTreeSet<(Mark, u32)>,
    /// The packets that keep their order among each other.
    order: BTreeMap<Ordered, Order>,
    next_number: u32,
    corrupt: u64,
    /// Whether each of two links is dead.
    is_dead: [bool; 2],
}

/// Packets that keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ordered {
    /// Packets between the same sockets in one direction.
    Flow(FlowId, NodeId, u32),
    /// Parts of cut packets, which have no ports, from one host to another.
    Parts(NodeId, NodeId),
}

/// The order of such packets.
#[derive(Clone, Debug, Default, PartialEq)]
struct Order {
    /// Numbers of those inside, in the order in which they entered.
    numbers: VecDeque<u32>,
    /// Identification of the next packet; like Linux, it counts within a connection.
    next_identification: u16,
}

#[derive(Clone, Debug, PartialEq)]
struct Inside {
    packet: Packet,
    /// Bytes of the packet on the link.
    bytes: Vec<u8>,
    /// The mark by which it is found.
    mark: Mark,
    /// Index of the end at which it entered.
    end: usize,
    since: Instant,
}

#[derive(Clone, Debug, PartialEq)]
struct Member {
    node: NodeId,
    /// The machine; `None` during an outage.
    machine: Option<Machine>,
    /// Number of earlier machines in this node.
    lives: u64,
    /// Counters of these machines, less those from before the end of the warm-up.
    counted: Stats,
    /// Number of frames in the interface of the node.
    held: u32,
    /// The earliest wake-up that it has asked for.
    asked: Instant,
}

#[derive(Clone, Debug, PartialEq)]
enum Machine {
    Coded(Box<Node>),
    Plain(Box<Plain>),
}

/// The content of a packet that enters a link.
#[derive(Clone, Debug)]
pub(crate) enum Content<'a> {
    /// Filling bytes that depend on the number of the packet.
    Filling,
    /// A TCP segment that was not cut.
    Segment(&'a Segment),
    /// An Ethernet frame of the driver; `None` if the driver no longer has it.
    Frame(Option<Vec<u8>>),
}

impl<'a> Content<'a> {
    /// The content of a packet of a flow of the model.
    pub fn from_segment(segment: Option<&'a Segment>) -> Self {
        segment.map_or(Self::Filling, Self::Segment)
    }
}

/// The network and the sink on which nodes of a link act.
pub(crate) struct Outside<'a, S> {
    pub network: &'a mut Network,
    pub sink: &'a mut S,
}

impl Francs {
    /// Returns the links of `hosts`, not started.
    pub fn new(hosts: &HostsConfig, network: &mut Network, seed: Seed) -> Result<Self, HostsError> {
        let mut members = vec![None; hosts.nodes.len()];
        let mut links = Vec::new();
        let mut wakes = Vec::new();
        let identities: Arc<[Identity]> = hosts.nodes.iter().copied().collect();
        for (index, config) in hosts.francs.iter().enumerate() {
            for (member, node) in config.nodes.iter().enumerate() {
                members[node.node.index()] = Some((index, member));
            }
            let ends = [config.nodes[0].node, config.nodes[config.path - 1].node];
            for (end, interface) in
                [0, config.path - 1].into_iter().zip(config.second.iter().flatten())
            {
                members[interface.index()] = Some((index, end));
            }
            network.divert(ends[0], ends[1], config.mtu);
            network.divert(ends[1], ends[0], config.mtu);
            links.push(Link::new(config, Arc::clone(&identities), seed)?);
        }
        let mut order: Vec<usize> = (0..links.len()).collect();
        order.sort_by(|&one, &other| links[one].config.name.cmp(&links[other].config.name));
        for &link in &order {
            for outage in &links[link].config.outages {
                let (index, dies, begins) = match outage.part {
                    FrancPart::Node(index) => (index, What::Dies, What::Begins),
                    FrancPart::Link(link) => (0, What::LinkDies(link), What::LinkBegins(link)),
                };
                let wake = |at, what| FrancWake { at, link, index, what };
                wakes.push(wake(outage.from, dies));
                wakes.extend(outage.until.map(|at| wake(at, begins)));
            }
        }
        Ok(Self {
            links,
            order,
            members,
            in_flight: InFlight::default(),
            arrived: BTreeMap::new(),
            arrivals: VecDeque::new(),
            wakes,
        })
    }

    /// Starts all links.
    pub fn start<S: Sink>(&mut self, now: Instant, mut outside: Outside<'_, S>) {
        for turn in 0..self.order.len() {
            let link = self.order[turn];
            for index in 0..self.links[link].members.len() {
                self.act(link, index, now, &mut outside);
            }
        }
    }

    /// Returns the next wake-up that was asked for.
    pub fn poll_wake(&mut self) -> Option<FrancWake> {
        self.wakes.pop()
    }

    /// Handles a wake-up.
    pub fn wake<S: Sink>(&mut self, wake: FrancWake, mut outside: Outside<'_, S>) {
        let FrancWake { at: now, link: number, index, what } = wake;
        let link = &mut self.links[number];
        match what {
            // An earlier wake-up was asked for later, and has done everything.
            What::Timer if now != link.members[index].asked => return,
            What::Timer => {
                link.members[index].asked = Instant::MAX;
                if let Some(Machine::Coded(node)) = &mut link.members[index].machine {
                    node.handle_timeout(now);
                }
            }
            What::Dies => link.members[index].die(now),
            What::Begins => {
                let machine = link.machine(index, now).expect("it was made before");
                link.members[index].machine = Some(machine);
            }
            What::LinkDies(on) => link.is_dead[usize::from(on)] = true,
            What::LinkBegins(on) => link.is_dead[usize::from(on)] = false,
        }
        self.act(number, index, now, &mut outside);
    }

    /// Handles a packet of a flow that is diverted at `node`, an end of a link.
    pub fn diverted<S: Sink>(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: Packet,
        content: Content<'_>,
        mut outside: Outside<'_, S>,
    ) {
        let (number, index) = self.members[node.index()].expect("ends divert");
        let link = &mut self.links[number];
        let key = Ordered::from_packet(&packet);
        let Some(bytes) = link.take_in(index, packet, content, now) else {
            return outside.network.handle_lost(now, node, packet, DropReason::CodedLink);
        };
        let next = link.towards(index, link.other_end(index));
        match &mut link.members[index].machine {
            Some(Machine::Coded(machine)) => {
                let before = machine.acks_superseded();
                machine.handle_packet(now, &bytes);
                if machine.acks_superseded() > before
                    && let Some(replaced) = link.forget_before_last(key)
                {
                    let reason = DropReason::AckReplaced;
                    outside.network.handle_lost(now, node, replaced.packet, reason);
                }
            }
            Some(Machine::Plain(plain)) => plain.handle_packet(next, bytes),
            None => unreachable!("nothing is taken in at a dead end"),
        }
        self.act(number, index, now, &mut outside);
    }

    /// Handles a datagram that arrived at its destination.
    pub fn arrived<S: Sink>(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: &Packet,
        mut outside: Outside<'_, S>,
    ) {
        let datagram = self.in_flight.take(packet.tag);
        self.keep(now, packet.tag, &datagram);
        let LinkDatagram { link: number, from, on, bytes } = datagram;
        let (_, index) = self.members[node.index()].expect("a datagram is for a node of its link");
        let link = &mut self.links[number];
        let next = link.onwards(from, index);
        match &mut link.members[index].machine {
            Some(Machine::Coded(node)) => {
                node.handle_datagram(now, address(from, on), &bytes);
            }
            Some(Machine::Plain(plain)) => plain.handle_frame(from, next, bytes),
            None => {}
        }
        self.act(number, index, now, &mut outside);
    }

    /// Keeps a datagram that arrived, if it may still be overheard: at the end of its A-MPDU, after
    /// a lost Ack and a retransmission, or behind a busy processor.
    fn keep(&mut self, now: Instant, tag: u64, datagram: &LinkDatagram) {
        while let Some((at, tag)) = self.arrivals.front()
            && now.saturating_since(*at) > OVERHEARD_AFTER_MAX
        {
            self.arrived.remove(tag);
            self.arrivals.pop_front();
        }
        if self.links[datagram.link].members.len() > 2 {
            self.arrived.insert(tag, datagram.clone());
            self.arrivals.push_back((now, tag));
        }
    }

    /// Handles a datagram that `node` overheard.
    pub fn overheard<S: Sink>(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: &Packet,
        mut outside: Outside<'_, S>,
    ) {
        let datagram = self.in_flight.get(packet.tag).or_else(|| self.arrived.get(&packet.tag));
        let Some(datagram) = datagram else { return };
        let Some((number, index)) = self.members[node.index()] else { return };
        if datagram.link != number {
            return;
        }
        if let Some(Machine::Coded(node)) = &mut self.links[number].members[index].machine {
            node.handle_datagram(now, address(datagram.from, datagram.on), &datagram.bytes);
            self.act(number, index, now, &mut outside);
        }
    }

    /// Handles the loss of a datagram.
    pub fn dropped<S: Sink>(&mut self, now: Instant, packet: &Packet, outside: Outside<'_, S>) {
        let LinkDatagram { link, bytes, .. } = self.in_flight.take(packet.tag);
        let (_, index) = self.members[packet.source.index()].expect("it was sent by one");
        let link = &mut self.links[link];
        if let Some(Machine::Plain(_)) = link.members[index].machine {
            let node = link.members[index].node;
            link.lost(now, node, &bytes, outside.network);
        }
    }

    /// Handles datagrams that left a node, whose interface then has space.
    pub fn released<S: Sink>(&mut self, released: Released, mut outside: Outside<'_, S>) {
        let now = outside.network.now();
        let Some((link, index)) = self.members[released.source.index()] else { return };
        self.links[link].members[index].held -= released.packets;
        self.act(link, index, now, &mut outside);
    }

    /// Ends the warm-up: counters restart at zero.
    pub fn clear_stats(&mut self, now: Instant) {
        for link in &mut self.links {
            link.corrupt = 0;
            for member in &mut link.members {
                let so_far = member.machine.as_ref().map(|machine| machine.stats(now));
                member.counted = Stats::default();
                if let Some(stats) = so_far {
                    member.counted.subtract_counters(&stats);
                }
            }
        }
    }

    /// Reports the counters at the end of the run.
    pub fn stop<S: Sink>(&self, now: Instant, sink: &mut S) {
        for (number, link) in self.links.iter().enumerate() {
            let report = |member: &Member| {
                let machine = member.machine.as_ref();
                let mut stats = machine.map_or_else(Stats::default, |machine| machine.stats(now));
                stats.add_counters(&member.counted);
                FrancNodeReport { node: member.node, stats }
            };
            let nodes = link.members.iter().map(report).collect();
            let FrancLink { path, second, .. } = link.config;
            let report = FrancReport { nodes, path, second, corrupt: link.corrupt };
            sink.franc(now, number, &report);
        }
    }

    /// Delivers the outputs of a machine, lets it send, and asks for its next wake-up.
    fn act<S: Sink>(
        &mut self,
        number: usize,
        index: usize,
        now: Instant,
        outside: &mut Outside<'_, S>,
    ) {
        let Self { links, in_flight, wakes, .. } = self;
        let link = &mut links[number];
        link.hand_out(number, index, now, outside);
        let node = link.members[index].node;
        let held_max = link.config.interface_packets;
        while held_max.is_none_or(|most| link.members[index].held < most) {
            let next = match &mut link.members[index].machine {
                Some(Machine::Coded(node)) => node.poll_transmit(now).map(|transmit| {
                    // The number of a node is its index plus one.
                    let to = usize::from(transmit.to.0) - 1;
                    (to, transmit.link, transmit.datagram)
                }),
                Some(Machine::Plain(plain)) => {
                    plain.poll_transmit().map(|(to, packet)| (to, 0, packet))
                }
                None => None,
            };
            let Some((to, on, bytes)) = next else { break };
            if link.is_dead[usize::from(on)] {
                continue;
            }
            let (source, to) = match link.config.second.filter(|_| on > 0) {
                Some([one, other]) if index == 0 => (one, other),
                Some([one, other]) => (other, one),
                None => (node, link.config.nodes[link.towards(index, to)].node),
            };
            let length = u16::try_from(bytes.len()).expect("a datagram fits into an MTU");
            let datagram = LinkDatagram { link: number, from: index, on, bytes };
            let packet = Packet {
                source,
                destination: to,
                flow_hash: link.config.identity().hash(),
                notify: held_max.is_some(),
                ..Packet::new(in_flight.put(datagram), length, now)
            };
            link.members[index].held += u32::from(packet.notify);
            outside.sink.sent(now, &packet);
            outside.network.handle_packet(now, packet);
        }
        let member = &mut link.members[index];
        let Some(Machine::Coded(machine)) = &mut member.machine else { return };
        if machine.poll_timeout().is_some_and(|(at, _)| at <= now) {
            machine.handle_timeout(now);
        }
        // A timer that is already due waits for space in the interface, which is
        // reported.
        if let Some((at, _)) = machine.poll_timeout()
            && at > now
            && at < member.asked
        {
            member.asked = at;
            wakes.push(FrancWake { at, link: number, index, what: What::Timer });
        }
    }
}

/// The address of the node with this index, for its neighbours, on one of two links.
fn address(index: usize, on: u8) -> Address {
    let number = u8::try_from(index + 1).expect("a link has few nodes");
    Address::Node(lasthop_franc::NodeId(number | on << 7))
}

impl Link {
    fn new(
        config: &FrancLink,
        identities: Arc<[Identity]>,
        seed: Seed,
    ) -> Result<Self, HostsError> {
        let mut link = Self {
            config: config.clone(),
            identities,
            members: Vec::new(),
            seed,
            inside: BTreeMap::new(),
            marks: BTreeSet::new(),
            order: BTreeMap::new(),
            next_number: 0,
            corrupt: 0,
            is_dead: [false; 2],
        };
        for (index, node) in config.nodes.iter().enumerate() {
            link.members.push(Member {
                node: node.node,
                machine: None,
                lives: 0,
                counted: Stats::default(),
                held: 0,
                asked: Instant::MAX,
            });
            link.members[index].machine = Some(link.machine(index, Instant::ZERO)?);
        }
        Ok(link)
    }

    /// Returns a new machine for the node with this index.
    fn machine(&self, index: usize, now: Instant) -> Result<Machine, HostsError> {
        // Each machine of a run has a random stream of its own.
        let life = Identity::numbered(self.members[index].lives);
        let identity = self.identity_at(index).to(life);
        let mut stream: Stream = self.seed.stream_of("franc/node", identity);
        Ok(match &self.config.nodes[index].machine {
            FrancMachine::Coded(config) => {
                let entropy = Entropy::from_stream(&mut stream);
                let node = Node::new((**config).clone(), entropy, stream, now);
                Machine::Coded(Box::new(
                    node.map_err(|why| HostsError::Franc { link: self.config.name.clone(), why })?,
                ))
            }
            FrancMachine::Plain { packets_max, loss_from } => {
                let loss_from = loss_from.iter().enumerate().map(|(from, &loss)| {
                    let identity = identity.to(self.identity_at(from));
                    (loss, self.seed.stream_of("franc/plain", identity))
                });
                Machine::Plain(Box::new(Plain::new(*packets_max, loss_from.collect())))
            }
        })
    }

    /// The identity of the node with this index in this link.
    fn identity_at(&self, index: usize) -> Identity {
        let node = self.config.nodes[index].node;
        self.config.identity().to(self.identities[node.index()])
    }

    fn other_end(&self, index: usize) -> usize {
        if index == 0 { self.config.path - 1 } else { 0 }
    }

    /// The next node on the way from one node of the link to another: its neighbour on
    /// the path; off the path, `to` itself.
    fn towards(&self, from: usize, to: usize) -> usize {
        let path = self.config.path;
        match (from < path && to < path, from < to) {
            (false, _) => to,
            (true, true) => from + 1,
            (true, false) => from - 1,
        }
    }

    /// The node to which `index` forwards packets of its neighbour `from`; `None` at an end.
    fn onwards(&self, from: usize, index: usize) -> Option<usize> {
        let is_end = index == 0 || index + 1 >= self.config.path;
        (!is_end).then(|| if from < index { index + 1 } else { index - 1 })
    }

    /// Accepts a packet at an end, and returns its bytes; `None` during an outage of the machine
    /// there.
    fn take_in(
        &mut self,
        end: usize,
        packet: Packet,
        content: Content<'_>,
        since: Instant,
    ) -> Option<Vec<u8>> {
        self.members[end].machine.as_ref()?;
        let number = self.next_number;
        self.next_number = self.next_number.wrapping_add(1);
        let identification;
        let order = self.order.entry(Ordered::from_packet(&packet)).or_default();
        order.numbers.push_back(number);
        if packet.fragment.is_whole() {
            identification = order.next_identification;
            order.next_identification = identification.wrapping_add(1);
        } else {
            // Parts that are on their way together have the same tag.
            identification = packet.tag as u16;
        }
        let (bytes, mark) = match content {
            Content::Frame(Some(frame)) if packet.fragment.is_whole() => {
                let bytes = bytes::of_frame(&packet, frame);
                let mark = Mark::of_frame(&bytes);
                (bytes, mark)
            }
            content => {
                let segment = match content {
                    Content::Segment(segment) => Some(segment),
                    Content::Filling | Content::Frame(_) => None,
                };
                let made = Made { packet: &packet, segment, number, identification };
                let bytes = bytes::packet_bytes(made, &self.identities);
                let mark = Mark::of_made(&bytes).expect("it is long enough");
                (bytes, mark)
            }
        };
        self.marks.insert((mark, number));
        self.inside.insert(number, Inside { packet, bytes: bytes.clone(), mark, end, since });
        Some(bytes)
    }

    /// Returns packets that left the link at `index` to the network, and reports lost ones.
    fn hand_out<S: Sink>(
        &mut self,
        number: usize,
        index: usize,
        now: Instant,
        outside: &mut Outside<'_, S>,
    ) {
        loop {
            let end = self.members[index].node;
            let (out, lost) = match &mut self.members[index].machine {
                Some(Machine::Coded(node)) => {
                    while let Some(event) = node.poll_event() {
                        if let Event::Link { link, is_alive, silent, .. } = event {
                            let change = FrancLinkChange { end, link, is_alive, silent };
                            outside.sink.franc_link(now, number, &change);
                        }
                    }
                    (node.poll_packet(), None)
                }
                Some(Machine::Plain(plain)) => (plain.arrived.pop_front(), plain.lost.pop_front()),
                None => return,
            };
            let is_idle = out.is_none() && lost.is_none();
            if let Some(lost) = lost {
                self.lost(now, end, &lost, outside.network);
            }
            if let Some(out) = out {
                self.came_out(number, index, &out, now, outside);
            }
            if is_idle {
                return;
            }
        }
    }

    fn came_out<S: Sink>(
        &mut self,
        number: usize,
        index: usize,
        out: &[u8],
        now: Instant,
        outside: &mut Outside<'_, S>,
    ) {
        let Some(id) = self.number_of(out, |end| end != index) else {
            // It came out before, or differs from what entered.
            self.corrupt += 1;
            return;
        };
        let Inside { mut packet, end, since, .. } = self.forget(id).expect("it is inside");
        let key = Ordered::from_packet(&packet);
        if matches!(self.members[index].machine, Some(Machine::Coded(_))) {
            let entered = self.members[end].node;
            while let Some(&first) = self.order.get(&key).and_then(|order| order.numbers.front())
                && is_before(first, id)
            {
                if let Some(missing) = self.forget(first) {
                    outside.network.handle_lost(
                        now,
                        entered,
                        missing.packet,
                        DropReason::CodedLink,
                    );
                }
            }
        }
        packet.ecn_marked |= bytes::is_marked(out);
        outside.sink.carried(now, number, self.members[end].node, now - since);
        outside.network.handle_carried(now, self.members[index].node, packet);
    }

    /// The number of the packet inside that has these bytes and entered at an end that `is_from`
    /// accepts. A queue may have marked it "congestion experienced" since.
    fn number_of(&mut self, bytes: &[u8], is_from: impl Fn(usize) -> bool) -> Option<u32> {
        let Self { marks, inside, .. } = self;
        let is_marked = bytes::is_marked(bytes);
        let mut is_it = |number: u32| {
            let inside = inside.get_mut(&number).expect("it has a mark");
            if is_marked {
                ip::mark_congestion(&mut inside.bytes);
            }
            (is_from(inside.end) && inside.bytes == bytes).then_some(number)
        };
        let numbers = |mark| marks.range((mark, 0)..=(mark, u32::MAX)).map(|&(_, number)| number);
        // Identifications wrap around: the latest packet is meant. Equal frames stay in
        // order.
        let of_made = Mark::of_made(bytes).and_then(|mark| numbers(mark).next_back());
        of_made.and_then(&mut is_it).or_else(|| numbers(Mark::of_frame(bytes)).find_map(is_it))
    }

    /// Reports a packet of a plain link as lost at `node`.
    fn lost(&mut self, now: Instant, node: NodeId, packet: &[u8], network: &mut Network) {
        let number = self.number_of(packet, |_| true).expect("it went in here");
        let inside = self.forget(number).expect("a packet ends once");
        network.handle_lost(now, node, inside.packet, DropReason::CodedLink);
    }

    /// Removes the last but one of the packets that keep this order.
    fn forget_before_last(&mut self, key: Ordered) -> Option<Inside> {
        let numbers = &self.order.get(&key)?.numbers;
        let number = *numbers.get(numbers.len().checked_sub(2)?)?;
        self.forget(number)
    }

    /// Removes a packet that is no longer inside; `None` if it is not inside.
    fn forget(&mut self, number: u32) -> Option<Inside> {
        let inside = self.inside.remove(&number)?;
        self.marks.remove(&(inside.mark, number));
        if let Some(Order { numbers, .. }) =
            self.order.get_mut(&Ordered::from_packet(&inside.packet))
            && let Some(at) = numbers.iter().position(|&other| other == number)
        {
            numbers.remove(at);
        }
        Some(inside)
    }
}

impl Ordered {
    fn from_packet(packet: &Packet) -> Self {
        if packet.fragment.is_whole() {
            Self::Flow(packet.flow, packet.source, packet.flow_hash)
        } else {
            Self::Parts(packet.source, packet.destination)
        }
    }
}

/// Whether `number` is before `other`; numbers wrap around.
fn is_before(number: u32, other: u32) -> bool {
    number != other && other.wrapping_sub(number) < 1 << 31
}

impl Member {
    fn die(&mut self, now: Instant) {
        let Some(machine) = self.machine.take() else { return };
        self.counted.add_counters(&machine.stats(now));
        self.lives += 1;
        self.asked = Instant::MAX;
    }
}

impl Machine {
    fn stats(&self, now: Instant) -> Stats {
        match self {
            Self::Coded(node) => node.stats(now),
            Self::Plain(plain) => plain.stats(),
        }
    }
}
