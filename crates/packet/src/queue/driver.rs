//! The driver's queue below the upper queue, as in real devices: one FIFO per peer, limited in
//! total by packets, or per peer by estimated airtime (Airtime Queue Limits, mac80211 since Linux
//! 5.5).
//!
//! The upper queue's management does not apply to packets here, so even FQ-CoDel has a high delay
//! above a long driver queue. A packet counts until it is popped. Left out: the device's descriptor
//! rings.

use super::PeerId;
use super::fifo::Fifo;
use crate::Packet;
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant};

/// Limit of packets that the driver takes from the upper queue before transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DriverLimit {
    /// No driver queue: the MAC takes packets from the upper queue when it builds
    /// an aggregate, and they count against that queue's limit until they are
    /// acknowledged.
    #[default]
    None,
    /// A number of packets over all peers.
    Packets(u32),
    /// Estimated airtime per peer (mac80211: 5 ms when the device is busy).
    Airtime(Duration),
}

/// The queue of a driver.
///
/// ```
/// use lasthop_packet::Packet;
/// use lasthop_packet::queue::{DriverLimit, DriverQueue, PeerId};
/// use lasthop_units::{Duration, Instant};
///
/// // Airtime Queue Limits: 5 ms for each station.
/// let limit = DriverLimit::Airtime(Duration::from_millis(5));
/// let (mut queue, phone) = (DriverQueue::new(limit), PeerId(7));
/// let mut taken = 0;
/// while queue.has_space(phone) {
///     let packet = Packet::new(taken, 1500, Instant::ZERO);
///     queue.push(Instant::ZERO, phone, packet, Duration::from_millis(2));
///     taken += 1;
/// }
/// assert_eq!((taken, queue.airtime_for(phone)), (3, Duration::from_millis(6)));
/// assert!(queue.has_space(PeerId(8)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DriverQueue {
    limit: DriverLimit,
    fifo: Fifo<Timed>,
    /// Estimated airtime of the packets of each peer.
    airtime: Vec<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Timed {
    since: Instant,
    airtime: Duration,
}

impl DriverQueue {
    /// Returns an empty driver queue.
    pub fn new(limit: DriverLimit) -> Self {
        Self { limit, fifo: Fifo::new(), airtime: Vec::new() }
    }

    /// The limit that it was created with.
    pub fn limit(&self) -> DriverLimit {
        self.limit
    }

    /// Whether there is a driver queue.
    pub fn is_used(&self) -> bool {
        self.limit != DriverLimit::None
    }

    /// Whether one more packet for `peer` may be pushed; `false` without a driver queue. One packet
    /// may exceed the limit of airtime, so that a long packet at a low rate never gets stuck.
    pub fn has_space(&self, peer: PeerId) -> bool {
        match self.limit {
            DriverLimit::None => false,
            DriverLimit::Packets(limit) => self.fifo.packets() < limit,
            DriverLimit::Airtime(limit) => self.airtime_for(peer) < limit,
        }
    }

    /// Takes a packet at `now` whose transmission takes an estimated `airtime`. The
    /// caller has checked [`DriverQueue::has_space`].
    pub fn push(&mut self, now: Instant, peer: PeerId, packet: Packet, airtime: Duration) {
        let slot = peer.index();
        if slot >= self.airtime.len() {
            self.airtime.resize(slot + 1, Duration::ZERO);
        }
        self.airtime[slot] += airtime;
        self.fifo.push(peer, &packet, packet.arrived, Timed { since: now, airtime });
    }

    /// Takes the next packet for `peer`.
    pub fn pop(&mut self, peer: PeerId) -> Option<Packet> {
        let (packet, timed) = self.fifo.pop_with(peer, |packet, timed| (*packet, timed))?;
        self.airtime[peer.index()] -= timed.airtime;
        Some(packet)
    }

    /// The receiver of the oldest packet.
    pub fn next_peer(&self) -> Option<PeerId> {
        self.next_peer_where(|_| true)
    }

    /// The receiver of the oldest packet, among the peers that `eligible` accepts.
    pub fn next_peer_where(&self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        self.fifo.oldest_where(eligible)
    }

    /// Length in bytes of the next packet for `peer`.
    pub fn peek_len_for(&self, peer: PeerId) -> Option<u16> {
        self.fifo.front(peer).map(|(bytes, _)| bytes)
    }

    /// Instant at which the next packet for `peer` was pushed.
    pub fn since(&self, peer: PeerId) -> Option<Instant> {
        self.fifo.front(peer).map(|(_, timed)| timed.since)
    }

    /// Estimated airtime of the packets for `peer`.
    pub fn airtime_for(&self, peer: PeerId) -> Duration {
        self.airtime.get(peer.index()).copied().unwrap_or(Duration::ZERO)
    }

    /// Number of packets in the queue.
    pub fn len_packets(&self) -> u32 {
        self.fifo.packets()
    }

    /// Sum of the lengths of the packets in the queue.
    pub fn len_bytes(&self) -> Bytes {
        Bytes::new(self.fifo.bytes())
    }

    /// Number of packets in the queue for `peer`.
    pub fn len_packets_for(&self, peer: PeerId) -> u32 {
        self.fifo.packets_for(peer)
    }

    /// Whether the queue has no packets.
    pub fn is_empty(&self) -> bool {
        self.fifo.packets() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PeerId = PeerId(1);
    const B: PeerId = PeerId(8);

    fn packet(tag: u64) -> Packet {
        Packet::new(tag, 1500, Instant::ZERO)
    }

    #[test]
    fn airtime_is_limited_for_each_peer() {
        let mut queue = DriverQueue::new(DriverLimit::Airtime(Duration::from_millis(5)));
        for tag in 0..5 {
            assert!(queue.has_space(A));
            queue.push(Instant::ZERO, A, packet(tag), Duration::from_micros(1200));
        }
        assert!(!queue.has_space(A));
        assert!(queue.has_space(B));
        // The limit itself leaves no space, as in ieee80211_txq_airtime_check.
        queue.push(Instant::ZERO, B, packet(9), Duration::from_millis(5));
        assert!(!queue.has_space(B));
        assert_eq!(queue.pop(A).map(|p| p.tag), Some(0));
        assert_eq!(queue.airtime_for(A), Duration::from_micros(4800));
        assert!(queue.has_space(A));
    }

    #[test]
    fn packets_are_limited_in_all_and_leave_oldest_first() {
        let mut queue = DriverQueue::new(DriverLimit::Packets(3));
        for (tag, peer) in [(0, B), (1, A), (2, B)] {
            assert!(queue.has_space(peer));
            queue.push(Instant::ZERO, peer, packet(tag), Duration::ZERO);
        }
        assert!(!queue.has_space(A));
        assert_eq!(queue.next_peer(), Some(B));
        assert_eq!(queue.next_peer_where(|peer| peer != B), Some(A));
        assert_eq!(queue.pop(B).map(|p| p.tag), Some(0));
        assert_eq!(queue.next_peer(), Some(A));
        assert_eq!(queue.peek_len_for(A), Some(1500));
    }

    #[test]
    fn without_a_driver_queue_nothing_has_space() {
        let queue = DriverQueue::new(DriverLimit::None);
        assert!(!queue.has_space(A) && !queue.is_used() && queue.is_empty());
        assert!(DriverQueue::new(DriverLimit::Packets(1)).is_used());
    }

    /// Two packets of A, 1 and 3 ms after the start, and one of B at 2 ms.
    #[test]
    fn what_is_in_it_is_counted_for_each_peer() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let limit = DriverLimit::Airtime(Duration::from_millis(5));
        let mut queue = DriverQueue::new(limit);
        assert_eq!(queue.limit(), limit);
        for (ms, peer) in [(1, A), (2, B), (3, A)] {
            queue.push(at(ms), peer, packet(ms), Duration::from_micros(100 * ms));
        }
        assert_eq!([A, B].map(|peer| queue.len_packets_for(peer)), [2, 1]);
        assert_eq!([A, B].map(|peer| queue.since(peer)), [Some(at(1)), Some(at(2))]);
        assert_eq!([A, B].map(|peer| queue.airtime_for(peer).as_micros()), [400, 200]);
        assert_eq!((queue.len_packets(), queue.is_empty()), (3, false));
        queue.pop(A);
        assert_eq!((queue.since(A), queue.airtime_for(A).as_micros()), (Some(at(3)), 300));
        assert_eq!((queue.len_packets(), queue.len_packets_for(A)), (2, 1));
        queue.pop(A);
        queue.pop(B);
        assert!(queue.is_empty());
        assert_eq!((queue.since(A), queue.peek_len_for(B), queue.pop(B)), (None, None, None));
    }
}
