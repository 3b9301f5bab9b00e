//! Drop-tail: first in, first out; an arriving packet that does not fit is dropped.
//! The limit counts network-layer packets or their bytes, including those held
//! below the queue. Packets that were merged count as one ([`Packet::follows`]), and the first
//! decides for all.

use super::fifo::Fifo;
use super::{Held, Limit, PacketRun, PeerId};
use crate::Packet;
use alloc::vec::Vec;
use lasthop_units::{Bytes, Instant};

/// A first-in-first-out queue with a fixed limit.
#[derive(Clone, Debug, PartialEq)]
pub struct DropTail {
    limit: Limit,
    fifo: Fifo,
    /// Number of packets in the queue that follow others, and do not count.
    followers: u32,
    /// Whether the last packet that arrived was queued.
    took_last: bool,
}

impl DropTail {
    pub(super) fn new(limit: Limit) -> Self {
        Self { limit, fifo: Fifo::new(), followers: 0, took_last: false }
    }

    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        peer: PeerId,
        packet: &Packet,
        held: Held,
        dropped: &mut Vec<Packet>,
    ) {
        if !self.offer(now, peer, packet, held) {
            dropped.push(Packet { arrived: now, ..*packet });
        }
    }

    /// Does what [`Self::enqueue`] does if fewer than `peer_packets` packets wait for the peer, else
    /// drops the packet. Kept apart, so that queues without this limit are as fast as before.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue_by_peer(
        &mut self,
        now: Instant,
        peer: PeerId,
        packet: &Packet,
        held: Held,
        peer_packets: u32,
        dropped: &mut Vec<Packet>,
    ) {
        let has_space = packet.follows || self.fifo.packets_for(peer) < peer_packets;
        let fits = has_space && self.admits(packet, held);
        if fits {
            self.fifo.push(peer, packet, now, ());
            self.followers += u32::from(packet.follows);
        } else {
            dropped.push(Packet { arrived: now, ..*packet });
        }
        self.took_last = fits;
    }

    /// Queues a copy of a packet if it fits; returns whether it does.
    #[inline]
    pub(super) fn offer(
        &mut self,
        now: Instant,
        peer: PeerId,
        packet: &Packet,
        held: Held,
    ) -> bool {
        let fits = self.admits(packet, held);
        if fits {
            self.fifo.push(peer, packet, now, ());
            self.followers += u32::from(packet.follows);
        }
        self.took_last = fits;
        fits
    }

    /// Queues the packets of `run`, as [`Fifo::push_run`] does, while they fit.
    #[inline]
    pub(super) fn offer_run(
        &mut self,
        now: Instant,
        peer: PeerId,
        run: PacketRun<'_>,
        held: Held,
        taken: impl FnMut(&Packet),
    ) -> u32 {
        let (limit, followers) = (self.limit, self.followers);
        let fits = |packet: &Packet, packets: u32, bytes: u64| {
            let packets = packets - followers + held.packets;
            limit.admits(packet, packets, bytes + held.bytes.as_u64())
        };
        self.fifo.push_run(peer, run, now, (), fits, taken)
    }

    pub(super) fn admits(&self, packet: &Packet, held: Held) -> bool {
        if packet.follows {
            // The first may have been served without passing through an empty queue.
            return self.took_last || self.fifo.packets() == 0;
        }
        let packets = self.fifo.packets() - self.followers + held.packets;
        self.limit.admits(packet, packets, self.fifo.bytes() + held.bytes.as_u64())
    }

    pub(super) fn next_peer_where(&self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        self.fifo.oldest_where(eligible)
    }

    pub(super) fn dequeue_for(
        &mut self,
        _now: Instant,
        peer: PeerId,
        _dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        self.dequeue_with(peer, |packet| *packet)
    }

    #[inline]
    pub(super) fn dequeue_with<R>(
        &mut self,
        peer: PeerId,
        take: impl FnOnce(&Packet) -> R,
    ) -> Option<R> {
        let followers = &mut self.followers;
        self.fifo.pop_with(peer, |packet, ()| {
            *followers -= u32::from(packet.follows);
            take(packet)
        })
    }

    #[inline]
    pub(super) fn dequeue_runs(
        &mut self,
        peer: PeerId,
        mut take: impl FnMut(&Packet, u32) -> (u32, bool),
    ) {
        let followers = &mut self.followers;
        self.fifo.pop_runs(peer, |packet, count, ()| {
            let (taken, goes_on) = take(packet, count);
            *followers -= if packet.follows { taken } else { 0 };
            (taken, goes_on)
        });
    }

    pub(super) fn dequeue(
        &mut self,
        _now: Instant,
        _dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        let peer = self.fifo.oldest_where(|_| true)?;
        self.dequeue_with(peer, |packet| *packet).map(|packet| (peer, packet))
    }

    pub(super) fn put_back(&mut self, peer: PeerId, packet: Packet) {
        self.followers += u32::from(packet.follows);
        self.fifo.unpop(peer, &packet);
    }

    pub(super) fn peek_len_for(&self, peer: PeerId) -> Option<u16> {
        self.fifo.front(peer).map(|(bytes, ())| bytes)
    }

    pub(super) fn len_packets(&self) -> u32 {
        self.fifo.packets()
    }

    pub(super) fn len_bytes(&self) -> Bytes {
        Bytes::new(self.fifo.bytes())
    }

    pub(super) fn len_packets_for(&self, peer: PeerId) -> u32 {
        self.fifo.packets_for(peer)
    }
}
