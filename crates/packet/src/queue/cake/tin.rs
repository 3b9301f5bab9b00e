//! A tin of CAKE: 1 024 queues in sets of eight, served by deficit round robin (DRR++) whose
//! quanta shrink with the number of busy flows of a host.
//!
//! A flow uses its home queue, or another one of the same set if that is taken; a ninth flow of a
//! set shares. New flows go first, as in FQ-CoDel. A flow without packets whose COBALT state has
//! not come to rest decays: it is visited once a packet. Lengths are in bytes of Ethernet frames.
//! Left out: statistics.

use super::overflow::Overflow;
use super::{Context, Isolation, Overhead, PeerId, QUEUES, frame_bytes};
use crate::Packet;
use crate::aqm::{Cobalt, CobaltParameters, Queueable, Verdict};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{Instant, Stream};

/// Queues of a set.
const WAYS: usize = 8;

/// Flows of a tin.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tin {
    /// Index among the tins.
    number: usize,
    codel: CobaltParameters,
    quantum: i64,
    isolation: Isolation,
    overhead: Overhead,
    is_silent: bool,
    flows: Vec<FlowState>,
    /// Hash of the flow that each queue belongs to.
    tags: Vec<u32>,
    bytes: u64,
    sources: Hosts,
    destinations: Hosts,
    lists: [VecDeque<u16>; 3],
}

/// Indices of [`Tin::lists`].
const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;

#[derive(Clone, Debug, Default, PartialEq)]
struct FlowState {
    packets: VecDeque<Arrival>,
    deficit: i64,
    control: Cobalt,
    source: u16,
    destination: u16,
    state: State,
}

/// The kind of list that a flow is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// In no list.
    #[default]
    None,
    /// In the list of new flows.
    Sparse,
    /// In the list of old flows, without packets when its deficit was used up.
    SparseWait,
    /// In the list of old flows.
    Bulk,
    /// In the list of flows whose COBALT comes to rest.
    Decaying,
}

/// The place of a flow in a list.
#[derive(Clone, Copy, Debug)]
struct Listed {
    list: usize,
    index: usize,
}

/// Hosts by their hash, each with its number of bulk flows.
#[derive(Clone, Debug, PartialEq)]
struct Hosts {
    tags: Vec<u32>,
    bulk: Vec<u16>,
}

/// Hashes of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) flow: u32,
    pub(super) source: u32,
    pub(super) destination: u32,
}

/// A packet and its receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub(super) peer: PeerId,
    pub(super) packet: Packet,
}

/// The queue that a packet left, and its state before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Left {
    flow: u16,
    control: Cobalt,
    charged: i64,
}

impl Tin {
    pub(super) fn new(
        number: usize,
        codel: CobaltParameters,
        quantum: i64,
        isolation: Isolation,
        overhead: Overhead,
    ) -> Self {
        let hosts = || Hosts { tags: Vec::new(), bulk: Vec::new() };
        Self {
            number,
            codel,
            quantum,
            isolation,
            overhead,
            is_silent: false,
            flows: Vec::new(),
            tags: Vec::new(),
            bytes: 0,
            sources: hosts(),
            destinations: hosts(),
            lists: Default::default(),
        }
    }

    pub(super) fn silence(&mut self) {
        self.is_silent = true;
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a flow has its turn: one with packets for eligible peers, or one without packets that
    /// leaves its list.
    pub(super) fn is_busy(&self, eligible: &impl Fn(PeerId) -> bool) -> bool {
        let serves = |flow: &FlowState| flow.packets.is_empty() || flow.has_any(eligible);
        [NEW, OLD].iter().any(|list| self.first_of(*list, serves).is_some())
    }

    pub(super) fn has_any(&self, eligible: &impl Fn(PeerId) -> bool) -> bool {
        [NEW, OLD].iter().any(|list| self.first_of(*list, |flow| flow.has_any(eligible)).is_some())
    }

    /// Drops the first packet of a queue.
    pub(super) fn drop_from(
        &mut self,
        queue: usize,
        now: Instant,
        overflow: &mut Overflow,
    ) -> Option<Arrival> {
        let flow = &mut self.flows[queue];
        let gone = flow.packets.pop_front()?;
        flow.control.note_full(now, &self.codel);
        self.uncount(queue, &gone, overflow);
        Some(gone)
    }

    pub(super) fn push(&mut self, key: Key, arrival: Arrival, cx: &mut Context) {
        let at = self.classify(key);
        self.count(at, &arrival, &mut cx.overflow);
        self.flows[at].packets.push_back(arrival);
        self.list(at, &mut cx.stream);
    }

    /// Puts a packet before the others of its flow.
    pub(super) fn push_front(&mut self, key: Key, arrival: Arrival, cx: &mut Context) {
        let at = self.classify(key);
        self.count(at, &arrival, &mut cx.overflow);
        self.flows[at].packets.push_front(arrival);
        self.list(at, &mut cx.stream);
    }

    /// Reverts the last [`Tin::take`].
    pub(super) fn put_back(&mut self, left: Left, arrival: Arrival, cx: &mut Context) {
        let at = usize::from(left.flow);
        self.count(at, &arrival, &mut cx.overflow);
        let flow = &mut self.flows[at];
        flow.control = left.control;
        flow.deficit += left.charged;
        flow.packets.push_front(arrival);
        self.list(at, &mut cx.stream);
    }

    /// Takes the next packet for an eligible peer; `None` after a flow without packets left its
    /// list, so that another tin may have its turn. The first visit of a request, `is_first`, is
    /// that of a decaying flow. Dropped packets are appended to `dropped`.
    pub(super) fn take(
        &mut self,
        now: Instant,
        is_first: &mut bool,
        eligible: &impl Fn(PeerId) -> bool,
        cx: &mut Context,
        dropped: &mut Vec<Arrival>,
    ) -> Option<(Arrival, Left)> {
        let Context { stream, overflow } = cx;
        let (at, listed) = loop {
            let order = [DECAYING, NEW, OLD, DECAYING];
            let order = &order[usize::from(!core::mem::take(is_first))..];
            let serves = |flow: &FlowState| flow.packets.is_empty() || flow.has_any(eligible);
            let place = order.iter().find_map(|list| self.first_of(*list, serves))?;
            let at = self.at(place);
            if self.flows[at].deficit > 0 {
                break (at, place);
            }
            self.renew(at, place, stream);
        };
        loop {
            let flow = &mut self.flows[at];
            let place = flow.packets.iter().position(|arrival| eligible(arrival.peer));
            let Some(mut arrival) = place.and_then(|place| flow.packets.remove(place)) else {
                self.rest(now, at, listed);
                return None;
            };
            let before = flow.control.clone();
            let sojourn = now.saturating_since(arrival.packet.arrived);
            let mark = || arrival.packet.mark();
            let draw = || (stream.next_u64() >> 32) as u32;
            let verdict = if self.is_silent {
                Verdict::Pass
            } else {
                flow.control.decide(now, sojourn, &self.codel, mark, draw)
            };
            let is_last = !flow.has_any(eligible);
            self.uncount(at, &arrival, overflow);
            if verdict == Verdict::Drop && !is_last {
                dropped.push(arrival);
                continue;
            }
            let charged = self.overhead.charged_bytes(&arrival.packet) as i64;
            self.flows[at].deficit -= charged;
            return Some((arrival, Left { flow: at as u16, control: before, charged }));
        }
    }

    /// The flow whose turn it is among those with packets for eligible peers.
    pub(super) fn turn(
        &mut self,
        eligible: &impl Fn(PeerId) -> bool,
        stream: &mut Stream,
    ) -> Option<&Arrival> {
        let at = loop {
            let serves = |flow: &FlowState| flow.has_any(eligible);
            let place = [NEW, OLD].iter().find_map(|list| self.first_of(*list, serves))?;
            let at = self.at(place);
            if self.flows[at].deficit > 0 {
                break at;
            }
            self.renew(at, place, stream);
        };
        self.flows[at].packets.iter().find(|arrival| eligible(arrival.peer))
    }

    fn at(&self, Listed { list, index }: Listed) -> usize {
        usize::from(self.lists[list][index])
    }

    /// Place of the first flow of a list that `serves` accepts.
    fn first_of(&self, list: usize, serves: impl Fn(&FlowState) -> bool) -> Option<Listed> {
        let accepts = |flow: &u16| serves(&self.flows[usize::from(*flow)]);
        self.lists[list].iter().position(accepts).map(|index| Listed { list, index })
    }

    /// Moves a flow that used up its deficit to the end of the old ones, with another quantum.
    fn renew(&mut self, at: usize, Listed { list, index }: Listed, stream: &mut Stream) {
        if self.flows[at].state == State::Sparse {
            if self.flows[at].packets.is_empty() {
                self.flows[at].state = State::SparseWait;
            } else {
                self.become_bulk(at);
            }
        }
        self.flows[at].deficit += self.quantum_of(at, stream);
        self.lists[list].remove(index);
        self.lists[OLD].push_back(at as u16);
    }

    /// Unlists a flow without packets, or lets it decay.
    fn rest(&mut self, now: Instant, at: usize, Listed { list, index }: Listed) {
        let flow = &mut self.flows[at];
        flow.control.note_empty(now, &self.codel);
        let before = flow.state;
        flow.state = if flow.control.is_at_rest(now) { State::None } else { State::Decaying };
        let is_decaying = flow.state == State::Decaying;
        self.lists[list].remove(index);
        if is_decaying {
            self.lists[DECAYING].push_back(at as u16);
        }
        if before == State::Bulk {
            self.count_hosts(at, |count| count - 1);
        }
    }

    /// Lists a flow that has a new packet.
    fn list(&mut self, at: usize, stream: &mut Stream) {
        match self.flows[at].state {
            State::None | State::Decaying => {
                if self.flows[at].state == State::Decaying {
                    self.lists[DECAYING].retain(|flow| usize::from(*flow) != at);
                }
                self.lists[NEW].push_back(at as u16);
                self.flows[at].state = State::Sparse;
                self.flows[at].deficit = self.quantum_of(at, stream);
            }
            State::SparseWait => self.become_bulk(at),
            State::Sparse | State::Bulk => {}
        }
    }

    fn become_bulk(&mut self, at: usize) {
        self.flows[at].state = State::Bulk;
        self.count_hosts(at, |count| count + 1);
    }

    /// The quantum of a flow, divided by the number of bulk flows of its host. A draw rounds it, so
    /// that errors do not add up.
    fn quantum_of(&self, at: usize, stream: &mut Stream) -> i64 {
        let dither = (stream.next_u64() >> 48) as i64;
        let flow = &self.flows[at];
        let source = self.sources.bulk[usize::from(flow.source)];
        let destination = self.destinations.bulk[usize::from(flow.destination)];
        let load = match self.isolation {
            Isolation::Flows => 1,
            Isolation::DualSource => source,
            Isolation::DualDestination => destination,
            Isolation::Triple => source.max(destination),
        };
        (self.quantum * i64::from(u16::MAX / load.max(1)) + dither) >> 16
    }

    fn count_hosts(&mut self, at: usize, change: impl Fn(u16) -> u16) {
        let FlowState { source, destination, .. } = self.flows[at];
        if self.isolation.has_sources() {
            let count = &mut self.sources.bulk[usize::from(source)];
            *count = change(*count);
        }
        if self.isolation.has_destinations() {
            let count = &mut self.destinations.bulk[usize::from(destination)];
            *count = change(*count);
        }
    }

    fn count(&mut self, at: usize, arrival: &Arrival, overflow: &mut Overflow) {
        let bytes = frame_bytes(&arrival.packet);
        overflow.add(self.number, at, bytes);
        self.bytes += bytes;
    }

    fn uncount(&mut self, at: usize, arrival: &Arrival, overflow: &mut Overflow) {
        let bytes = frame_bytes(&arrival.packet);
        overflow.remove(self.number, at, bytes);
        self.bytes -= bytes;
    }

    /// Makes the queues, before the first packet.
    fn allocate(&mut self) {
        self.flows = vec![FlowState::default(); QUEUES];
        self.tags = vec![0; QUEUES];
        for hosts in [&mut self.sources, &mut self.destinations] {
            *hosts = Hosts { tags: vec![0; QUEUES], bulk: vec![0; QUEUES] };
        }
    }

    /// The queue of a flow.
    fn classify(&mut self, key: Key) -> usize {
        if self.flows.is_empty() {
            self.allocate();
        }
        let home = key.flow as usize % QUEUES;
        let is_listed = |at: usize| self.flows[at].state != State::None;
        if self.tags[home] == key.flow && is_listed(home) {
            return home;
        }
        let same = ways(home).find(|at| self.tags[*at] == key.flow);
        let free = || ways(home).find(|at| !is_listed(*at));
        let (at, is_new) = match same {
            Some(at) => (at, !is_listed(at)),
            None => (free().unwrap_or(home), true),
        };
        self.tags[at] = key.flow;
        if is_new {
            // A queue that is shared counts for the hosts of its last flow.
            let is_bulk = self.flows[at].state == State::Bulk;
            if is_bulk {
                self.count_hosts(at, |count| count - 1);
            }
            self.flows[at].source = self.sources.find(key.source);
            self.flows[at].destination = self.destinations.find(key.destination);
            if is_bulk {
                self.count_hosts(at, |count| count + 1);
            }
        }
        at
    }
}

impl FlowState {
    fn has_any(&self, eligible: &impl Fn(PeerId) -> bool) -> bool {
        self.packets.iter().any(|arrival| eligible(arrival.peer))
    }
}

impl Hosts {
    /// The entry of a host: the one it has, or one without bulk flows.
    fn find(&mut self, hash: u32) -> u16 {
        let home = hash as usize % QUEUES;
        let same = ways(home).find(|at| self.tags[*at] == hash);
        let free = || ways(home).find(|at| self.bulk[*at] == 0);
        let at = same.or_else(free).unwrap_or(home);
        self.tags[at] = hash;
        at as u16
    }
}

impl Isolation {
    fn has_sources(self) -> bool {
        matches!(self, Self::DualSource | Self::Triple)
    }

    fn has_destinations(self) -> bool {
        matches!(self, Self::DualDestination | Self::Triple)
    }
}

/// The entries of a set, from `home` on.
fn ways(home: usize) -> impl Iterator<Item = usize> {
    let (inner, outer) = (home % WAYS, home - home % WAYS);
    (0..WAYS).map(move |way| outer + (inner + way) % WAYS)
}
