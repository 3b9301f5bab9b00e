//! Drop-tail: first in, first out; an arriving packet that does not fit is dropped.
//! The limit counts network-layer packets or their bytes, including those held
//! below the queue.

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
}

impl DropTail {
    pub(super) fn new(limit: Limit) -> Self {
        Self { limit, fifo: Fifo::new() }
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
        }
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
        let limit = self.limit;
        let fits = |packet: &Packet, packets: u32, bytes: u64| {
            limit.admits(packet, packets + held.packets, bytes + held.bytes.as_u64())
        };
        self.fifo.push_run(peer, run, now, (), fits, taken)
    }

    pub(super) fn admits(&self, packet: &Packet, held: Held) -> bool {
        self.fifo.admits(self.limit, packet, held)
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
        self.fifo.pop(peer)
    }

    #[inline]
    pub(super) fn dequeue_with<R>(
        &mut self,
        peer: PeerId,
        take: impl FnOnce(&Packet) -> R,
    ) -> Option<R> {
        self.fifo.pop_with(peer, |packet, ()| take(packet))
    }

    #[inline]
    pub(super) fn dequeue_runs(
        &mut self,
        peer: PeerId,
        mut take: impl FnMut(&Packet, u32) -> (u32, bool),
    ) {
        self.fifo.pop_runs(peer, |packet, count, ()| take(packet, count));
    }

    pub(super) fn dequeue(
        &mut self,
        _now: Instant,
        _dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        let peer = self.fifo.oldest_where(|_| true)?;
        self.fifo.pop(peer).map(|packet| (peer, packet))
    }

    pub(super) fn put_back(&mut self, peer: PeerId, packet: Packet) {
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
