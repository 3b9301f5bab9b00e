//! A first-in-first-out queue under CoDel ([`crate::aqm::codel`], RFC 8289), limited in packets or
//! bytes. One control state applies to all peers, also when packets are taken by peer. Left out:
//! head drop on overflow; a full queue drops the arriving packet.

use super::fifo::Fifo;
use super::{Held, Limit, PeerId};
use crate::Packet;
use crate::aqm::{Control, Parameters, Source};
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant};

/// A first-in-first-out queue under CoDel; when it is full it drops the arriving
/// packet.
#[derive(Clone, Debug, PartialEq)]
pub struct CoDel {
    limit: Limit,
    parameters: Parameters,
    control: Control,
    fifo: Fifo,
}

impl CoDel {
    pub(super) fn new(limit: Limit, parameters: Parameters) -> Self {
        Self { limit, parameters, control: Control::new(), fifo: Fifo::new() }
    }

    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    pub(super) fn set_target(&mut self, target: Duration) {
        self.parameters.target = target;
    }

    pub(super) fn enqueue(
        &mut self,
        peer: PeerId,
        packet: Packet,
        held: Held,
        dropped: &mut Vec<Packet>,
    ) {
        self.fifo.push_within(self.limit, peer, packet, held, dropped);
    }

    pub(super) fn admits(&self, packet: &Packet, held: Held) -> bool {
        self.fifo.admits(self.limit, packet, held)
    }

    pub(super) fn next_peer_where(&self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        self.fifo.oldest_where(eligible)
    }

    pub(super) fn dequeue_for(
        &mut self,
        now: Instant,
        peer: PeerId,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let mut source = OfPeer { fifo: &mut self.fifo, peer };
        self.control.dequeue(now, &self.parameters, &mut source, dropped)
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        let mut source = Oldest { fifo: &mut self.fifo, peer: PeerId::ONLY };
        let packet = self.control.dequeue(now, &self.parameters, &mut source, dropped)?;
        Some((source.peer, packet))
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

/// The packets for one peer, as CoDel takes them.
struct OfPeer<'a> {
    fifo: &'a mut Fifo,
    peer: PeerId,
}

impl Source for OfPeer<'_> {
    type Packet = Packet;

    fn pop(&mut self) -> Option<Packet> {
        self.fifo.pop(self.peer)
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}

/// All packets in order of arrival; `peer` is the receiver of the last one taken.
struct Oldest<'a> {
    fifo: &'a mut Fifo,
    peer: PeerId,
}

impl Source for Oldest<'_> {
    type Packet = Packet;

    fn pop(&mut self) -> Option<Packet> {
        self.peer = self.fifo.oldest_where(|_| true)?;
        self.fifo.pop(self.peer)
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
