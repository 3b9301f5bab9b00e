//! A first-in-first-out queue over all peers, and within each peer.
//!
//! Each peer has its own list; a number that increases with every arrival defines the order between
//! lists. Peers with packets are in a dense vector, so finding the oldest packet costs O(peers with
//! packets). The disciplines own the limits and pass them with each packet.
//!
//! In large networks saturated queues need most of the memory, so packets are kept [`Bare`], and
//! those of a run that entered together as one.

use super::bare::{Bare, Parts};
use super::{Held, Limit, PacketRun, PeerId};
use crate::Packet;
use crate::aqm::Queueable;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_units::Instant;

/// Packets in order of arrival, also by peer, each with an additional value `A`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fifo<A = ()> {
    lists: Vec<List<A>>,
    parts: Parts,
    /// The peers that have packets, in no particular order.
    heads: Vec<Head>,
    next_number: u64,
    packets: u32,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct List<A> {
    packets: VecDeque<Waiting<A>>,
    /// Number of packets in all runs.
    count: u32,
    /// Index into `heads` while the list has packets.
    head: usize,
    /// Number of the packet that left last.
    left: u64,
}

/// A packet in a list, or a run of equal packets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting<A> {
    /// Arrival number of the first.
    number: u64,
    packet: Bare,
    besides: A,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Head {
    /// Arrival number of the first packet in the list.
    number: u64,
    peer: PeerId,
}

impl Fifo {
    /// Whether a packet fits into a queue with that limit; packets `held` below the queue count.
    pub(super) fn admits(&self, limit: Limit, packet: &Packet, held: Held) -> bool {
        let packets = self.packets() + held.packets;
        let bytes = self.bytes() + held.bytes.as_u64();
        limit.admits(packet, packets, bytes)
    }

    /// Appends a packet if the limit permits; otherwise drops it.
    #[inline]
    pub(super) fn push_within(
        &mut self,
        limit: Limit,
        peer: PeerId,
        packet: Packet,
        held: Held,
        dropped: &mut Vec<Packet>,
    ) {
        if self.admits(limit, &packet, held) {
            self.push(peer, &packet, packet.arrived, ());
        } else {
            dropped.push(packet);
        }
    }

    /// Reverts the last pop from `peer`.
    pub(super) fn unpop(&mut self, peer: PeerId, packet: &Packet) {
        let bare = Bare::new(packet, packet.arrived, &mut self.parts);
        let list = &mut self.lists[peer.index()];
        let number = list.left;
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        if list.packets.is_empty() {
            list.head = self.heads.len();
            self.heads.push(Head { number, peer });
        } else {
            self.heads[list.head].number = number;
        }
        list.count += 1;
        list.packets.push_front(Waiting { number, packet: bare, besides: () });
    }

    pub(super) fn pop(&mut self, peer: PeerId) -> Option<Packet> {
        self.pop_with(peer, |packet, ()| *packet)
    }
}

impl<A: Copy> Fifo<A> {
    pub(super) const fn new() -> Self {
        Self {
            lists: Vec::new(),
            parts: Parts::new(),
            heads: Vec::new(),
            next_number: 0,
            packets: 0,
            bytes: 0,
        }
    }

    #[inline]
    fn grow_to(&mut self, slot: usize) {
        if slot >= self.lists.len() {
            self.lists.resize_with(slot + 1, || List {
                packets: VecDeque::new(),
                count: 0,
                head: 0,
                left: 0,
            });
        }
    }

    /// Appends the packets of a run as long as `admits` accepts the current packets and bytes; calls
    /// `taken` for each. Returns their number; the run's packet is then the next one.
    #[inline]
    pub(super) fn push_run(
        &mut self,
        peer: PeerId,
        PacketRun { packet, count }: PacketRun<'_>,
        arrived: Instant,
        besides: A,
        admits: impl Fn(&Packet, u32, u64) -> bool,
        mut taken: impl FnMut(&Packet),
    ) -> u32 {
        if count == 0 || !admits(packet, self.packets, self.bytes) {
            return 0;
        }
        self.grow_to(peer.index());
        let list = &mut self.lists[peer.index()];
        if list.packets.is_empty() {
            list.head = self.heads.len();
            self.heads.push(Head { number: self.next_number, peer });
        }
        let each = u64::from(packet.bytes);
        let (mut packets, mut bytes, mut pushed) = (self.packets, self.bytes, 0);
        let mut goes_on = true;
        while goes_on {
            let mut run = Bare::new(packet, arrived, &mut self.parts);
            run.count = 0;
            while goes_on && (run.count == 0 || run.may_be_several()) {
                taken(packet);
                (packets, bytes) = (packets + 1, bytes + each);
                (packet.tag, run.count) = (packet.tag + 1, run.count + 1);
                goes_on = pushed + run.count < count && admits(packet, packets, bytes);
            }
            let number = self.next_number;
            list.packets.push_back(Waiting { number, packet: run, besides });
            self.next_number += u64::from(run.count);
            pushed += run.count;
        }
        list.count += pushed;
        (self.packets, self.bytes) = (packets, bytes);
        pushed
    }

    #[inline]
    pub(super) fn push(&mut self, peer: PeerId, packet: &Packet, arrived: Instant, besides: A) {
        let slot = peer.index();
        self.grow_to(slot);
        let number = self.next_number;
        self.next_number += 1;
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        let bare = Bare::new(packet, arrived, &mut self.parts);
        let list = &mut self.lists[slot];
        if list.packets.is_empty() {
            list.head = self.heads.len();
            self.heads.push(Head { number, peer });
        }
        list.count += 1;
        list.packets.push_back(Waiting { number, packet: bare, besides });
    }

    /// Removes the first packet of `peer` with its additional value; `take` copies the fields that
    /// it needs.
    #[inline]
    pub(super) fn pop_with<R>(
        &mut self,
        peer: PeerId,
        take: impl FnOnce(&Packet, A) -> R,
    ) -> Option<R> {
        let slot = peer.index();
        let list = self.lists.get_mut(slot)?;
        let Waiting { number, packet, besides } = *list.packets.front()?;
        list.passed(1);
        list.left = number;
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        self.first_left(slot);
        Some(take(&packet.into_packet(&mut self.parts), besides))
    }

    /// Removes packets of `peer` from its first on, run by run. The closure `take` gets the first
    /// packet of a run and the number of packets that differ from it only by their tags, which
    /// count up. The closure returns how many of them it takes, at least one, and whether it takes
    /// more.
    #[inline]
    pub(super) fn pop_runs(
        &mut self,
        peer: PeerId,
        mut take: impl FnMut(&Packet, u32, A) -> (u32, bool),
    ) {
        let slot = peer.index();
        let Some(list) = self.lists.get_mut(slot) else { return };
        let before = list.count;
        let mut bytes = 0;
        while let Some(&Waiting { number, packet, besides }) = list.packets.front() {
            let (taken, goes_on) =
                take(&packet.into_packet(&mut self.parts), packet.count, besides);
            debug_assert!((1..=packet.count).contains(&taken));
            list.passed(taken);
            list.left = number + u64::from(taken) - 1;
            bytes += u64::from(packet.bytes) * u64::from(taken);
            if taken < packet.count || !goes_on {
                break;
            }
        }
        let popped = before - list.count;
        self.packets -= popped;
        self.bytes -= bytes;
        if popped > 0 {
            self.first_left(slot);
        }
    }

    /// Updates the head of a list whose first packet left.
    #[inline(always)]
    fn first_left(&mut self, slot: usize) {
        let list = &self.lists[slot];
        let head = list.head;
        if let Some(next) = list.packets.front() {
            self.heads[head].number = next.number;
        } else {
            self.heads.swap_remove(head);
            if let Some(moved) = self.heads.get(head) {
                self.lists[moved.peer.index()].head = head;
            }
        }
    }

    /// The receiver of the oldest packet, among the peers that `eligible` accepts.
    pub(super) fn oldest_where(&self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        self.heads
            .iter()
            .filter(|head| eligible(head.peer))
            .min_by_key(|head| head.number)
            .map(|head| head.peer)
    }

    /// Length in bytes of the first packet of `peer`, and its additional value.
    pub(super) fn front(&self, peer: PeerId) -> Option<(u16, A)> {
        let first = self.lists.get(peer.index())?.packets.front()?;
        Some((first.packet.bytes, first.besides))
    }

    /// Arrival of the oldest packet.
    pub(super) fn oldest_arrival(&self) -> Option<Instant> {
        let peer = self.oldest_where(|_| true)?;
        self.lists[peer.index()].packets.front().map(|first| first.packet.arrived())
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) fn packets_for(&self, peer: PeerId) -> u32 {
        self.lists.get(peer.index()).map_or(0, |list| list.count)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Lists of the same packets are equal, whether these entered as a run or one by one.
impl<A: PartialEq> PartialEq for List<A> {
    fn eq(&self, other: &Self) -> bool {
        let is_same = (self.count, self.head, self.left) == (other.count, other.head, other.left);
        is_same && self.one_by_one().eq(other.one_by_one())
    }
}

impl<A> List<A> {
    /// The packets one by one, without runs: arrival number, packet, additional value.
    fn one_by_one(&self) -> impl Iterator<Item = (u64, Bare, &A)> {
        self.packets.iter().flat_map(|Waiting { number, packet, besides }| {
            let nth = move |place| (number + u64::from(place), packet.nth(place), besides);
            (0..packet.count).map(nth)
        })
    }

    /// Removes the first `count` packets, which are of one run.
    #[inline]
    fn passed(&mut self, count: u32) {
        self.count -= count;
        match self.packets.front_mut() {
            Some(first) if first.packet.count > count => {
                first.packet.pass(count);
                first.number += u64::from(count);
            }
            _ => {
                self.packets.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Fragment, Transport};
    use crate::{Absent, AccessCategory, DelayParts, FlowId, NodeId};
    use lasthop_units::Duration;
    use proptest::prelude::*;

    fn any_packet() -> impl Strategy<Value = Packet> {
        let times = proptest::array::uniform9(prop_oneof![4 => Just(0u64), 1 => 1..1_000u64]);
        let numbers = (any::<u64>(), any::<u16>(), any::<u16>(), any::<u32>(), 0..4usize);
        let ends = (any::<u16>(), any::<u16>(), any::<u16>());
        let is = proptest::array::uniform8(any::<bool>());
        (times, numbers, ends, is).prop_map(|(times, numbers, ends, is)| {
            let [queue, away, asleep, roam, contention, retries, air, reorder, wire] =
                times.map(Duration::from_nanos);
            let (tag, bytes, flow, flow_hash, category) = numbers;
            let tag = tag / 2;
            Packet {
                tag,
                bytes,
                fragment: Fragment::new(ends.2 & 0xfff8, is[0], ends.2),
                flow: FlowId(flow),
                flow_hash,
                source: NodeId(ends.0),
                destination: NodeId(ends.1),
                access_category: AccessCategory::ALL[category],
                ecn_capable: is[1],
                ecn_l4s: is[7],
                ecn_marked: is[2],
                transport: if is[3] { Transport::Tcp } else { Transport::Other },
                passive: is[4],
                notify: is[5],
                follows: is[6],
                created: Instant::from_nanos(tag / 3),
                arrived: Instant::from_nanos(tag / 2),
                parts: DelayParts {
                    queue,
                    absent: Absent::new(away, asleep, roam),
                    contention,
                    retries,
                    air,
                    reorder,
                    wire,
                },
            }
        })
    }

    proptest! {
        /// The queue agrees with a list of packets and their peers: the packet taken for a peer is
        /// its first, unchanged, and is the first again after it is put back.
        #[test]
        fn a_fifo_is_a_list_of_packets(
            operations in proptest::collection::vec((0..7u8, 0..3u32, any_packet()), 0..120),
        ) {
            let mut fifo = Fifo::new();
            let mut list: Vec<(PeerId, Packet)> = Vec::new();
            let mut last = None;
            for (operation, peer, packet) in operations {
                let peer = PeerId(peer);
                let first = list.iter().position(|(of, _)| *of == peer);
                match (operation, last) {
                    (0..=2, _) => {
                        fifo.push(peer, &packet, packet.arrived, ());
                        list.push((peer, packet));
                        last = None;
                    }
                    (5, _) => {
                        let (mut next, mut seen) = (packet, Vec::new());
                        let limit = fifo.packets() + packet.flow_hash % 4;
                        let pushed = fifo.push_run(
                            peer,
                            PacketRun { packet: &mut next, count: 3 },
                            packet.arrived,
                            (),
                            |_, packets, _| packets < limit,
                            |packet| seen.push(*packet),
                        );
                        prop_assert_eq!(pushed, packet.flow_hash % 4);
                        let tags = packet.tag..packet.tag + u64::from(pushed);
                        let run: Vec<Packet> = tags.map(|tag| Packet { tag, ..packet }).collect();
                        prop_assert_eq!(&seen, &run);
                        list.extend(run.into_iter().map(|packet| (peer, packet)));
                        last = None;
                    }
                    (6, _) => {
                        let most = 1 + packet.flow_hash as usize % 4;
                        let mut taken = Vec::new();
                        fifo.pop_runs(peer, |packet, count, ()| {
                            let count = count.min((most - taken.len()) as u32);
                            let tags = packet.tag..packet.tag + u64::from(count);
                            taken.extend(tags.map(|tag| Packet { tag, ..*packet }));
                            (count, taken.len() < most)
                        });
                        let own = list.iter().filter(|(of, _)| *of == peer).take(most);
                        let expected: Vec<Packet> = own.map(|(_, packet)| *packet).collect();
                        prop_assert_eq!(&taken, &expected);
                        for _ in expected {
                            let first = list.iter().position(|(of, _)| *of == peer);
                            first.map(|index| list.remove(index));
                        }
                        last = None;
                    }
                    (3, _) | (_, None) => {
                        let expected = first.map(|index| (index, list.remove(index)));
                        prop_assert_eq!(fifo.pop(peer), expected.map(|(_, (_, packet))| packet));
                        last = expected;
                    }
                    (_, Some((index, (peer, packet)))) => {
                        fifo.unpop(peer, &packet);
                        list.insert(index, (peer, packet));
                        last = None;
                    }
                }
                prop_assert!(!list.is_empty() || fifo.parts == Parts::new());
                prop_assert_eq!(fifo.packets() as usize, list.len());
                let bytes: u64 = list.iter().map(|(_, packet)| u64::from(packet.bytes)).sum();
                prop_assert_eq!(fifo.bytes(), bytes);
                prop_assert_eq!(fifo.oldest_where(|_| true), list.first().map(|(peer, _)| *peer));
                for peer in (0..3).map(PeerId) {
                    let own = || list.iter().filter(|(of, _)| *of == peer);
                    prop_assert_eq!(fifo.packets_for(peer) as usize, own().count());
                    let first = own().next().map(|(_, packet)| (packet.bytes, ()));
                    prop_assert_eq!(fifo.front(peer), first);
                }
            }
        }
    }

    /// Size of a waiting packet, which determines the memory of a thousand saturated stations.
    #[test]
    fn a_packet_that_waits_is_small() {
        assert_eq!((size_of::<Bare>(), size_of::<Waiting<()>>()), (56, 64));
    }
}
