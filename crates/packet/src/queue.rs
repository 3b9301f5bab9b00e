//! The packet queues above the MAC, one per access category of a station:
//! drop-tail, CoDel (RFC 8289), FQ-CoDel (RFC 8290) with airtime fairness, and a tail-drop
//! queue that adapts its capacity (eBDP).
//!
//! A queue holds packets for several peers (next receivers on the air) and
//! answers two questions: whom to serve next, and which packet of that peer.
//! Nothing is allocated for a peer before its first packet. Classes and
//! shaping are left out; what lies below the queue is [`DriverQueue`].

mod codel;
mod driver;
mod drop_tail;
mod ebdp;
mod fifo;
mod fq_codel;

pub use codel::CoDel;
pub use driver::{DriverLimit, DriverQueue};
pub use drop_tail::DropTail;
pub use ebdp::EmulatedBdp;
pub use fq_codel::FqCodel;

use crate::Packet;
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant};

/// A next hop for which a queue holds packets: a small number, since what a queue keeps of
/// its peers is kept by it. Whose number it is, the queue's owner knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

impl PeerId {
    /// The only one.
    pub const ONLY: Self = Self(0);

    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

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
    /// First in, first out, its standing delay controlled (RFC 8289).
    CoDel {
        /// The bound for bursts, packets held below the queue included.
        limit: Limit,
        /// Acceptable standing delay.
        target: Duration,
        /// Time in which a burst may drain: of the order of the worst round trip.
        interval: Duration,
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool,
    },
    /// A queue under CoDel for each flow, in turn (RFC 8290).
    FqCodel {
        /// Packets over all flows, those held below the queue included.
        limit_packets: u32,
        /// Bytes over all flows, those held below the queue included.
        memory_limit: Bytes,
        /// Buckets of the flow hash for each peer, at least 1.
        flows: u16,
        /// Bytes a flow may send before the next one's turn, at least 1.
        quantum_bytes: u16,
        /// Acceptable standing delay.
        target: Duration,
        /// Time in which a burst may drain.
        interval: Duration,
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool,
        /// Share air time evenly among stations, then bytes among the flows of
        /// a station; otherwise only bytes among all flows.
        airtime: bool,
    },
    /// First in, first out; capacity follows the rate of service (eBDP).
    EmulatedBdp {
        /// The bound of the capacity, packets held below the queue included.
        limit_packets: u32,
        /// What is served in this time has room.
        target: Duration,
        /// Room for a burst beyond it, at least 1.
        burst_packets: u32,
        /// Packets over which service times are averaged, at least 1.
        average_packets: u32,
        /// Divide the target by the root of the number of flows in this time.
        flows: Option<Duration>,
    },
}

impl QueueConfig {
    /// What Linux does with every access point and station whose driver uses
    /// mac80211's queues (ath9k, ath10k, mt76, iwlwifi): 8 192 packets, 4 MiB
    /// (its bound without VHT; 16 MiB with), 4 096 buckets, quantum 300 bytes,
    /// target 20 ms because an aggregate takes milliseconds, airtime fairness.
    pub const MAC80211: Self = Self::FqCodel {
        limit_packets: 8192,
        memory_limit: Bytes::new(4 << 20),
        flows: 4096,
        quantum_bytes: 300,
        target: Duration::from_millis(20),
        interval: Duration::from_millis(100),
        ecn: true,
        airtime: true,
    };

    /// `fq_codel` as a queue discipline above an interface, tuned for wired
    /// Internet links of 1 Mb/s to 10 Gb/s (RFC 8290, 5.2).
    pub const RFC_8290: Self = Self::FqCodel {
        limit_packets: 10_240,
        memory_limit: Bytes::new(32 << 20),
        flows: 1024,
        quantum_bytes: 1514,
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: true,
        airtime: false,
    };

    /// eBDP, for all flows alike. The target is the median round trip of TCP in a trace that
    /// F. Li et al., "Measuring Queue Capacities of IEEE 802.11 Wireless Access Points", used.
    /// The other numbers are lasthop's choice; those of the paper on eBDP are not known here.
    pub const EMULATED_BDP: Self = Self::EmulatedBdp {
        limit_packets: 400,
        target: Duration::from_millis(200),
        burst_packets: 5,
        average_packets: 1000,
        flows: None,
    };

    /// CoDel tuned for wired Internet links (RFC 8289, 4.3 and 4.4), bounded as in Linux.
    pub const RFC_8289: Self = Self::CoDel {
        limit: Limit::Packets(1000),
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
    };
}

impl Default for QueueConfig {
    /// [`QueueConfig::MAC80211`].
    fn default() -> Self {
        Self::MAC80211
    }
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
    /// First in, first out under CoDel.
    CoDel(CoDel),
    /// Flow queueing under CoDel.
    FqCodel(FqCodel),
    /// First in, first out, with a capacity that adapts.
    EmulatedBdp(EmulatedBdp),
}

macro_rules! each {
    ($queue:expr, $inner:ident => $body:expr) => {
        match $queue {
            Queue::DropTail($inner) => $body,
            Queue::CoDel($inner) => $body,
            Queue::FqCodel($inner) => $body,
            Queue::EmulatedBdp($inner) => $body,
        }
    };
}

impl Queue {
    /// An empty queue. `perturbation`, from the run's random numbers, keys the
    /// flow hash of FQ-CoDel (RFC 8290, 4.1.2).
    pub fn new(config: &QueueConfig, perturbation: u32) -> Self {
        match *config {
            QueueConfig::DropTail { limit } => Self::DropTail(DropTail::new(limit)),
            QueueConfig::CoDel { limit, target, interval, ecn } => {
                Self::CoDel(CoDel::new(limit, crate::aqm::Parameters { target, interval, ecn }))
            }
            QueueConfig::FqCodel {
                limit_packets,
                memory_limit,
                flows,
                quantum_bytes,
                target,
                interval,
                ecn,
                airtime,
            } => Self::FqCodel(FqCodel::new(
                fq_codel::Config {
                    limit_packets,
                    memory_limit,
                    flows,
                    quantum_bytes,
                    codel: crate::aqm::Parameters { target, interval, ecn },
                    airtime,
                },
                perturbation,
            )),
            QueueConfig::EmulatedBdp {
                limit_packets,
                target,
                burst_packets,
                average_packets,
                flows,
            } => Self::EmulatedBdp(EmulatedBdp::new(ebdp::Config {
                limit_packets,
                target,
                burst_packets,
                average_packets,
                flows,
            })),
        }
    }

    /// Takes in a packet that will go to `peer`, and stamps [`Packet::arrived`] with `now`.
    ///
    /// What does not fit any more (this packet or others) is appended to
    /// `dropped`, to be reported as [`DropReason::QueueFull`](crate::DropReason::QueueFull).
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Instant,
        peer: PeerId,
        mut packet: Packet,
        held_below: Held,
        dropped: &mut Vec<Packet>,
    ) {
        packet.arrived = now;
        each!(self, queue => queue.enqueue(peer, packet, held_below, dropped));
    }

    /// Whether `packet` would be taken in. FQ-CoDel takes every packet, and
    /// gives others up for it.
    pub fn admits(&self, packet: &Packet, held_below: Held) -> bool {
        match self {
            Self::DropTail(queue) => queue.admits(packet, held_below),
            Self::CoDel(queue) => queue.admits(packet, held_below),
            Self::FqCodel(_) => true,
            Self::EmulatedBdp(queue) => queue.admits(packet, held_below),
        }
    }

    /// Who is served next: the receiver of the oldest packet, or of the flow or
    /// station whose turn it is. Asking again gives the same answer until the
    /// queue changes.
    pub fn next_peer(&mut self) -> Option<PeerId> {
        self.next_peer_where(|_| true)
    }

    /// Who is served next among the peers that `eligible` accepts (a dozing
    /// station is passed over and keeps its turn).
    pub fn next_peer_where(&mut self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        each!(self, queue => queue.next_peer_where(eligible))
    }

    /// The next packet for `peer`.
    ///
    /// What active queue management gives up on the way is appended to
    /// `dropped`, to be reported as [`DropReason::ActiveQueue`](crate::DropReason::ActiveQueue);
    /// a packet may therefore be longer than [`Queue::peek_len_for`] announced,
    /// and goes back with [`Queue::put_back`] if it does not fit.
    #[inline]
    pub fn dequeue_for(
        &mut self,
        now: Instant,
        peer: PeerId,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        each!(self, queue => queue.dequeue_for(now, peer, dropped))
    }

    /// The next packet in the queue's own order, and whom it is for.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Packet>) -> Option<(PeerId, Packet)> {
        each!(self, queue => queue.dequeue(now, dropped))
    }

    /// Undoes the last dequeue: `packet` is again the next one for `peer`. No limit applies.
    #[inline]
    pub fn put_back(&mut self, peer: PeerId, packet: Packet) {
        each!(self, queue => queue.put_back(peer, packet));
    }

    /// Length in bytes of the next packet for `peer`, before any drop by
    /// active queue management; `None` if there is none.
    #[inline]
    pub fn peek_len_for(&mut self, peer: PeerId) -> Option<u16> {
        each!(self, queue => queue.peek_len_for(peer))
    }

    /// Accounts air time that `peer` used, retries included. Matters only
    /// to FQ-CoDel with `airtime`.
    pub fn charge_airtime(&mut self, peer: PeerId, used: Duration) {
        if let Self::FqCodel(queue) = self {
            queue.charge_airtime(peer, used);
        }
    }

    /// Peers are served by air time, so that [`Queue::next_peer_where`] decides
    /// for repeated packets, too (see [`Queue::set_waiting`]).
    #[inline]
    pub fn schedules_airtime(&self) -> bool {
        matches!(self, Self::FqCodel(queue) if queue.schedules_airtime())
    }

    /// Whether the MAC holds packets that it must send to `peer` again. Such a
    /// peer takes its turns with no packet in the queue; only queues that
    /// schedule air time care.
    #[inline]
    pub fn set_waiting(&mut self, peer: PeerId, waiting: bool) {
        if let Self::FqCodel(queue) = self
            && queue.schedules_airtime()
        {
            queue.set_waiting(peer, waiting);
        }
    }

    /// Packets in the queue.
    #[inline]
    pub fn len_packets(&self) -> u32 {
        each!(self, queue => queue.len_packets())
    }

    /// Their length together.
    pub fn len_bytes(&self) -> Bytes {
        each!(self, queue => queue.len_bytes())
    }

    /// Packets in the queue for `peer`.
    #[inline]
    pub fn len_packets_for(&self, peer: PeerId) -> u32 {
        each!(self, queue => queue.len_packets_for(peer))
    }

    /// No packet in the queue.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len_packets() == 0
    }
}

impl Limit {
    /// Whether `packet` fits beside `packets` packets of `bytes` in all.
    pub fn admits(self, packet: &Packet, packets: u32, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets < limit,
            Self::Bytes(limit) => bytes + u64::from(packet.bytes) <= limit.as_u64(),
        }
    }
}

#[cfg(test)]
mod tests;
