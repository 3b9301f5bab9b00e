//! A first-in-first-out queue over all peers, and within each peer.
//!
//! Each peer has its own list; a number that increases with every arrival defines
//! the order between lists. Peers with packets are in a dense vector, so finding
//! the oldest packet costs O(peers with packets). Limits are the
//! disciplines', who say them with each packet.

use super::{Held, Limit, PeerId};
use crate::Packet;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Packets in order of arrival, also by peer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fifo<T = Packet> {
    lists: Vec<List<T>>,
    /// The peers that have packets, in no particular order.
    heads: Vec<Head>,
    next_number: u64,
    packets: u32,
    bytes: u64,
}

/// An element of a [`Fifo`]: a packet, or a packet with additional data.
pub(super) trait Element {
    fn len_bytes(&self) -> u16;
}

impl Element for Packet {
    fn len_bytes(&self) -> u16 {
        self.bytes
    }
}

#[derive(Clone, Debug, PartialEq)]
struct List<T> {
    packets: VecDeque<(u64, T)>,
    /// Index into `heads` while the list has packets.
    head: usize,
    /// Number of the packet that left last.
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Head {
    /// Arrival number of the first packet in the list.
    number: u64,
    peer: PeerId,
}

impl Fifo<Packet> {
    /// Whether a packet fits into a queue with that limit; what is `held` below the queue
    /// counts.
    pub(super) fn admits(&self, limit: Limit, packet: &Packet, held: Held) -> bool {
        let packets = self.packets() + held.packets;
        let bytes = self.bytes() + held.bytes.as_u64();
        limit.admits(packet, packets, bytes)
    }

    /// Takes a packet in as far as the limit allows; otherwise it is dropped.
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
            self.push(peer, packet);
        } else {
            dropped.push(packet);
        }
    }
}

impl<T: Element + Copy> Fifo<T> {
    pub(super) const fn new() -> Self {
        Self { lists: Vec::new(), heads: Vec::new(), next_number: 0, packets: 0, bytes: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, peer: PeerId, item: T) {
        let slot = peer.index();
        if slot >= self.lists.len() {
            self.lists.resize_with(slot + 1, || List {
                packets: VecDeque::new(),
                head: 0,
                left: 0,
            });
        }
        let number = self.next_number;
        self.next_number += 1;
        self.packets += 1;
        self.bytes += u64::from(item.len_bytes());
        let list = &mut self.lists[slot];
        if list.packets.is_empty() {
            list.head = self.heads.len();
            self.heads.push(Head { number, peer });
        }
        list.packets.push_back((number, item));
    }

    /// Reverts the last pop from `peer`.
    pub(super) fn unpop(&mut self, peer: PeerId, item: T) {
        let list = &mut self.lists[peer.index()];
        let number = list.left;
        self.packets += 1;
        self.bytes += u64::from(item.len_bytes());
        if list.packets.is_empty() {
            list.head = self.heads.len();
            self.heads.push(Head { number, peer });
        } else {
            self.heads[list.head].number = number;
        }
        list.packets.push_front((number, item));
    }

    pub(super) fn pop(&mut self, peer: PeerId) -> Option<T> {
        self.pop_with(peer, |item| *item)
    }

    /// Removes the first item of `peer`; `take` sees it where it is, so that only what it
    /// takes is copied.
    #[inline]
    pub(super) fn pop_with<R>(&mut self, peer: PeerId, take: impl FnOnce(&T) -> R) -> Option<R> {
        let slot = peer.index();
        let list = self.lists.get_mut(slot)?;
        let (number, item) = list.packets.front()?;
        list.left = *number;
        self.packets -= 1;
        self.bytes -= u64::from(item.len_bytes());
        let head = list.head;
        if let Some((number, _)) = list.packets.get(1) {
            self.heads[head].number = *number;
        } else {
            self.heads.swap_remove(head);
            if let Some(moved) = self.heads.get(head) {
                self.lists[moved.peer.index()].head = head;
            }
        }
        let packets = &mut self.lists[slot].packets;
        let (_, item) = packets.front()?;
        let taken = take(item);
        packets.pop_front();
        Some(taken)
    }

    /// The receiver of the oldest packet, among the peers that `eligible` accepts.
    pub(super) fn oldest_where(&self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        self.heads
            .iter()
            .filter(|head| eligible(head.peer))
            .min_by_key(|head| head.number)
            .map(|head| head.peer)
    }

    pub(super) fn front(&self, peer: PeerId) -> Option<&T> {
        self.lists.get(peer.index())?.packets.front().map(|(_, item)| item)
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) fn packets_for(&self, peer: PeerId) -> u32 {
        self.lists.get(peer.index()).map_or(0, |list| list.packets.len() as u32)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
