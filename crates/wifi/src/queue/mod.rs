//! The packet queues above the MAC, one per access category of a station:
//! drop-tail, bounded by packets or bytes.
//!
//! A queue holds packets for several peers (next receivers on the air) and
//! answers two questions: whom to serve next, and which packet of that peer.
//! Nothing is allocated for a peer before its first packet. Classes and
//! shaping are left out; what lies below the queue is [`DriverQueue`].

mod driver;
mod drop_tail;
mod fifo;

pub use driver::{DriverLimit, DriverQueue};
pub use drop_tail::DropTail;

use crate::packet::{Address, Packet};
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant};

/// How much a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets, whatever their length.
    Packets(u32),
    /// So many bytes of network-layer packets.
    Bytes(Bytes),
}

/// Which queue, and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueConfig {
    /// First in, first out; what does not fit is dropped on arrival.
    DropTail {
        /// The bound, packets held below the queue included.
        limit: Limit,
    },
}

/// Packets that were taken out of a queue but still count against its limit:
/// without a driver queue, those that are not yet acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Held {
    /// How many.
    pub packets: u32,
    /// Their length together.
    pub bytes: Bytes,
}

impl Held {
    /// Nothing is held.
    pub const NONE: Self = Self { packets: 0, bytes: Bytes::ZERO };
}

/// A queue of packets for several peers.
#[derive(Clone, Debug, PartialEq)]
pub enum Queue {
    /// First in, first out.
    DropTail(DropTail),
}

macro_rules! each {
    ($queue:expr, $inner:ident => $body:expr) => {
        match $queue {
            Queue::DropTail($inner) => $body,
        }
    };
}

impl Queue {
    /// An empty queue. `perturbation` keys the flow hash (RFC 8290, 4.1.2);
    /// queues that do not hash ignore it.
    pub fn new(config: &QueueConfig, _perturbation: u32) -> Self {
        match *config {
            QueueConfig::DropTail { limit } => Self::DropTail(DropTail::new(limit)),
        }
    }

    /// Takes in a packet that will go to `peer`, and stamps [`Packet::arrived`] with `now`.
    ///
    /// What does not fit any more (this packet or others) is appended to
    /// `dropped`, to be reported as [`DropReason::QueueFull`](crate::event::DropReason::QueueFull).
    pub fn enqueue(
        &mut self,
        now: Instant,
        peer: Address,
        mut packet: Packet,
        held_below: Held,
        dropped: &mut Vec<Packet>,
    ) {
        packet.arrived = now;
        each!(self, queue => queue.enqueue(peer, packet, held_below, dropped));
    }

    /// Who is served next: the receiver of the oldest packet. Asking again
    /// gives the same answer until the queue changes.
    pub fn next_peer(&mut self) -> Option<Address> {
        self.next_peer_where(|_| true)
    }

    /// Who is served next among the peers that `eligible` accepts (a dozing
    /// station is passed over and keeps its turn).
    pub fn next_peer_where(&mut self, eligible: impl Fn(Address) -> bool) -> Option<Address> {
        each!(self, queue => queue.next_peer_where(eligible))
    }

    /// The next packet for `peer`.
    ///
    /// What active queue management gives up on the way is appended to
    /// `dropped`, to be reported as [`DropReason::ActiveQueue`](crate::event::DropReason::ActiveQueue);
    /// a packet may therefore be longer than [`Queue::peek_len_for`] announced,
    /// and goes back with [`Queue::put_back`] if it does not fit.
    pub fn dequeue_for(
        &mut self,
        now: Instant,
        peer: Address,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        each!(self, queue => queue.dequeue_for(now, peer, dropped))
    }

    /// The next packet in the queue's own order, and whom it is for.
    pub fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Packet>,
    ) -> Option<(Address, Packet)> {
        each!(self, queue => queue.dequeue(now, dropped))
    }

    /// Undoes the last dequeue: `packet` is again the next one for `peer`. No limit applies.
    pub fn put_back(&mut self, peer: Address, packet: Packet) {
        each!(self, queue => queue.put_back(peer, packet));
    }

    /// Length in bytes of the next packet for `peer`, before any drop by
    /// active queue management; `None` if there is none.
    pub fn peek_len_for(&mut self, peer: Address) -> Option<u16> {
        each!(self, queue => queue.peek_len_for(peer))
    }

    /// Accounts air time that `peer` used, retries included. Only queues that
    /// schedule by air time care.
    pub fn charge_airtime(&mut self, _peer: Address, _used: Duration) {
        match self {
            Self::DropTail(_) => {}
        }
    }

    /// Packets in the queue.
    pub fn len_packets(&self) -> u32 {
        each!(self, queue => queue.len_packets())
    }

    /// Their length together.
    pub fn len_bytes(&self) -> Bytes {
        each!(self, queue => queue.len_bytes())
    }

    /// Packets in the queue for `peer`.
    pub fn len_packets_for(&self, peer: Address) -> u32 {
        each!(self, queue => queue.len_packets_for(peer))
    }

    /// No packet in the queue.
    pub fn is_empty(&self) -> bool {
        self.len_packets() == 0
    }
}

impl Limit {
    /// Whether `packet` fits beside `packets` packets of `bytes` in all.
    fn admits(self, packet: &Packet, packets: u32, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets < limit,
            Self::Bytes(limit) => bytes + u64::from(packet.bytes) <= limit.as_u64(),
        }
    }
}

/// Peers as small indices: the group is 0, station n is n + 1.
fn slot_of(peer: Address) -> usize {
    match peer {
        Address::Group => 0,
        Address::Station(station) => station.index() + 1,
    }
}

#[cfg(test)]
mod tests;
