//! Nodes and the ways between them in virtual time.

use super::*;

/// A way from one node to another.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) bytes_per_s: f64,
    pub(super) delay: Duration,
    pub(super) loss: f64,
    pub(super) queue_max: Duration,
    pub(super) free_at: Instant,
    pub(super) reorder: f64,
    /// Delays vary evenly by up to so much, and nothing is overtaken.
    pub(super) jitter: Duration,
    pub(super) last_at: Instant,
    pub(super) duplicate: f64,
    pub(super) corrupt: f64,
    /// Longest datagram carried, in bytes; longer ones are lost without a report.
    pub(super) carries: usize,
}

impl Link {
    pub(super) fn new(mbps: f64, delay_ms: u64, loss: f64) -> Self {
        Self {
            bytes_per_s: mbps * 1e6 / 8.0,
            delay: Duration::from_millis(delay_ms),
            loss,
            queue_max: Duration::from_millis(100),
            free_at: Instant::ZERO,
            reorder: 0.0,
            jitter: Duration::ZERO,
            last_at: Instant::ZERO,
            duplicate: 0.0,
            corrupt: 0.0,
            carries: usize::MAX,
        }
    }
}

/// Share of packets of `length` bytes in the bytes on the way, one packet in a symbol. Their
/// headers travel whole: all packets here are UDP.
pub(super) fn share_of_packets(length: usize) -> f64 {
    let datagram = crate::wire::enc_bytes(2) + crate::wire::SYMBOL_OVERHEAD_BYTES;
    length as f64 / (AROUND + datagram + length) as f64
}

/// Bytes that a datagram has around it on the way (UDP over IPv4).
pub(super) const AROUND: usize = 28;

/// A datagram on its way.
#[derive(Clone, Debug)]
pub(super) struct Flying {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) datagram: Vec<u8>,
}

/// A node whose keys cannot be guessed, with its random stream.
pub(super) fn node(config: Config, mut stream: Stream, now: Instant) -> Node {
    let entropy = Entropy::from_stream(&mut stream);
    Node::new(config, entropy, stream, now).expect("the configuration is sound")
}

/// A node's address on its second link, and the end of the way there, are those of this many nodes
/// further on.
pub(super) const SECOND: u8 = 100;

/// Nodes and ways in virtual time.
#[derive(Clone)]
pub(super) struct Net {
    pub(super) now: Instant,
    pub(super) nodes: BTreeMap<NodeId, Node>,
    pub(super) links: BTreeMap<(NodeId, NodeId), Link>,
    /// Nodes that overhear all datagrams between these two.
    pub(super) helpers: Vec<(NodeId, [NodeId; 2])>,
    pub(super) air: BTreeMap<(Instant, u64), Flying>,
    /// Places where nodes expect others, if these are elsewhere.
    pub(super) places: BTreeMap<(NodeId, NodeId), Address>,
    /// Bytes sent to addresses without a node of this network, by address.
    pub(super) strays: BTreeMap<NodeId, usize>,
    /// Everything that was transmitted, if it is recorded.
    pub(super) recorded: Option<Vec<Flying>>,
    /// A node that is where another would be: its datagrams come from there, and those for
    /// there are for it.
    pub(super) moved: Option<(NodeId, NodeId)>,
    /// Times that a node took a neighbour to be elsewhere.
    pub(super) moves: usize,
    pub(super) count: u64,
    pub(super) stream: Stream,
    /// Packets delivered at each end, with their times.
    pub(super) out: BTreeMap<NodeId, Vec<(Instant, Vec<u8>)>>,
    pub(super) events: Vec<(NodeId, Event)>,
}

impl Net {
    pub(super) fn new(configs: Vec<Config>, links: Vec<(u8, u8, Link)>, seed: u64) -> Self {
        let seed = Seed::new(seed, 0);
        let nodes = configs.into_iter().map(|config| {
            let id = config.id;
            let stream = seed.indexed("node", u64::from(id.0));
            (id, node(config, stream, Instant::ZERO))
        });
        Self {
            now: Instant::ZERO,
            nodes: nodes.collect(),
            links: links.into_iter().map(|(a, b, link)| ((NodeId(a), NodeId(b)), link)).collect(),
            helpers: Vec::new(),
            air: BTreeMap::new(),
            places: BTreeMap::new(),
            strays: BTreeMap::new(),
            recorded: None,
            moved: None,
            moves: 0,
            count: 0,
            stream: seed.stream("net"),
            out: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Two ends and a way both ways.
    pub(super) fn pair(adjust: impl Fn(&mut Config), link: &Link, seed: u64) -> Self {
        let configs = [(1, 2), (2, 1)].map(|(id, peer)| {
            let mut config = end(id, peer, peer);
            adjust(&mut config);
            config
        });
        Self::new(configs.into(), vec![(1, 2, link.clone()), (2, 1, link.clone())], seed)
    }

    pub(super) fn chance(&mut self, p: f64) -> bool {
        self.stream.uniform() < p
    }

    pub(super) fn drain(&mut self) {
        let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        for id in ids {
            loop {
                let is_full = self.is_full(id);
                let node = self.nodes.get_mut(&id).expect("it is there");
                if !is_full && let Some(transmit) = node.poll_transmit(self.now) {
                    assert!(transmit.datagram.len() <= 1472, "{}", transmit.datagram.len());
                    self.carry(id, transmit);
                    continue;
                }
                if let Some(packet) = node.poll_packet() {
                    self.out.entry(id).or_default().push((self.now, packet));
                    continue;
                }
                let Some(event) = node.poll_event() else { break };
                self.events.push((id, event));
            }
        }
    }

    /// The interface takes no more: the driver's part where nothing is paced.
    pub(super) fn is_full(&self, id: NodeId) -> bool {
        let limit = self.now + Duration::from_millis(4);
        matches!(self.nodes[&id].config().mode, Mode::Paper { .. })
            && self.links.iter().any(|(&(from, _), link)| from == id && link.free_at > limit)
    }

    pub(super) fn carry(&mut self, from: NodeId, transmit: Transmit) {
        let on_link = |node: NodeId| NodeId(node.0 + SECOND * transmit.link);
        let place = self.places.get(&(from, on_link(transmit.to))).copied();
        let (from, to) = match transmit.reply.or(place) {
            Some(Address::Node(node)) => (on_link(from), node),
            _ => (on_link(from), on_link(transmit.to)),
        };
        let Some(link) = self.links.get(&(from, to)).cloned() else {
            *self.strays.entry(to).or_default() += transmit.datagram.len();
            return;
        };
        if let Some(recorded) = &mut self.recorded {
            recorded.push(Flying { from, to, datagram: transmit.datagram.clone() });
        }
        if transmit.datagram.len() > link.carries {
            return;
        }
        let start = link.free_at.max(self.now);
        if start.saturating_since(self.now) > link.queue_max {
            return;
        }
        let time = (transmit.datagram.len() + AROUND) as f64 / link.bytes_per_s;
        let sent = start + Duration::from_secs_f64(time);
        self.links.get_mut(&(from, to)).expect("it is there").free_at = sent;
        let mut listeners = vec![to];
        listeners.extend(self.helpers.iter().filter_map(|&(helper, ends)| {
            (ends.contains(&from) && ends.contains(&to)).then_some(helper)
        }));
        for to in listeners {
            // A listener's losses are its own way's, or made at the listener.
            let loss = self.links.get(&(from, to)).map_or(0.0, |link| link.loss);
            for _ in 0..1 + usize::from(self.chance(link.duplicate)) {
                if self.chance(loss) {
                    continue;
                }
                let mut datagram = transmit.datagram.clone();
                if self.chance(link.corrupt) {
                    let at = self.stream.up_to(datagram.len() as u32 - 1) as usize;
                    datagram[at] ^= 1 << self.stream.up_to(7);
                }
                let extra = if self.chance(link.reorder) {
                    Duration::from_micros(u64::from(self.stream.up_to(8_000)))
                } else {
                    Duration::ZERO
                };
                let mut at = sent + link.delay + extra;
                if link.jitter > Duration::ZERO {
                    let jitter_us = link.jitter.as_micros() as u32;
                    at += Duration::from_micros(u64::from(self.stream.up_to(jitter_us)));
                    let link = self.links.get_mut(&(from, to)).expect("it is there");
                    at = at.max(link.last_at);
                    link.last_at = at;
                }
                self.count += 1;
                let flying = Flying { from, to, datagram };
                self.air.insert((at, self.count), flying);
            }
        }
    }

    /// Runs until `end`; `feed` says when and where the next packet goes in.
    pub(super) fn run(&mut self, end: Instant, mut feed: impl FnMut(&mut Self) -> Option<Instant>) {
        let mut feed_at = feed(self);
        let mut standstill = 0;
        loop {
            self.drain();
            let timers = self.nodes.values().filter_map(|node| node.poll_timeout());
            let timer = timers.map(|(at, _)| at).min().unwrap_or(Instant::MAX);
            let air = self.air.keys().next().map_or(Instant::MAX, |&(at, _)| at);
            let room = self
                .nodes
                .keys()
                .filter(|&&id| self.is_full(id))
                .map(|_| self.now + Duration::from_millis(1));
            let timer = timer.min(room.min().unwrap_or(Instant::MAX));
            let next = timer.min(air).min(feed_at.unwrap_or(Instant::MAX)).max(self.now);
            if next >= end {
                self.now = end;
                return;
            }
            standstill = if next == self.now { standstill + 1 } else { 0 };
            let wishes = || self.nodes.values().map(|node| node.poll_timeout()).collect::<Vec<_>>();
            assert!(standstill < 10_000, "{} goes on and on: {:?}", self.now, wishes());
            self.now = next;
            if air <= next {
                let (_, flying) = self.air.pop_first().expect("it is there");
                self.arrive(&flying);
            } else if feed_at.is_some_and(|at| at <= next) {
                feed_at = feed(self);
            } else {
                for node in self.nodes.values_mut() {
                    node.handle_timeout(self.now);
                }
            }
        }
    }

    /// A datagram arrives at a node, if that is there, from wherever it says.
    pub(super) fn arrive(&mut self, flying: &Flying) {
        let place = |node: NodeId| match self.moved {
            Some((moved, to)) if moved == node => to,
            _ => node,
        };
        let (now, from) = (self.now, Address::Node(place(flying.from)));
        let to = match self.moved {
            Some((moved, to)) if to == flying.to => moved,
            _ => flying.to,
        };
        // Attackers are no nodes.
        let to = if to.0 >= SECOND { NodeId(to.0 - SECOND) } else { to };
        let Some(node) = self.nodes.get_mut(&to) else { return };
        if let Some(heard) = node.handle_datagram(now, from, &flying.datagram)
            && heard.is_moved
        {
            let sender = NodeId(heard.sender.0 + SECOND * heard.link);
            let before = self.places.insert((to, sender), from);
            let before = before.unwrap_or(Address::Node(sender));
            self.moves += usize::from(before != from);
        }
    }

    pub(super) fn send(&mut self, to: u8, packet: &[u8]) {
        let now = self.now;
        self.nodes.get_mut(&NodeId(to)).expect("it is there").handle_packet(now, packet);
    }

    pub(super) fn stats(&self, id: u8) -> Stats {
        self.nodes[&NodeId(id)].stats(self.now)
    }

    pub(super) fn out(&self, id: u8) -> &[(Instant, Vec<u8>)] {
        self.out.get(&NodeId(id)).map_or(&[], Vec::as_slice)
    }
}
