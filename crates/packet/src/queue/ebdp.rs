//! A drop-tail queue that adapts its capacity, in packets, to its rate of service: the emulated
//! bandwidth-delay product, eBDP (Li, Leith and Malone, "Buffer Sizing for 802.11 Based Networks",
//! IEEE/ACM Transactions on Networking, 2011). The capacity is the number of packets served in a
//! target delay plus a few packets for bursts, up to a limit.
//!
//! A service time is the time between two dequeues, the first of which leaves packets in the queue;
//! it is averaged with exponential weights. With `flows` the target is divided by the square root
//! of the number of flows (Appenzeller, Keslassy and McKeown, "Sizing Router Buffers", SIGCOMM
//! 2004). A bit vector of hashes counts them over an interval, with a correction for collisions
//! (Morris, "Scalable TCP Congestion Control", INFOCOM 2000). When the capacity shrinks, queued
//! packets stay, and arriving ones are dropped until there is space. Left out: adaptation to the
//! queue's own losses (ALT and A* of the same paper). The time for which packets of a dozing
//! station wait counts as their service. The model was compared with the abstract of the paper
//! only: except for the target, the constants of `QueueConfig::EMULATED_BDP` are lasthop's.

use super::fifo::Fifo;
use super::{Held, PeerId};
use crate::Packet;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant};

/// The parameters of eBDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Upper bound of the capacity in packets; packets held below the queue count.
    pub limit_packets: u32,
    /// Delay that the capacity allows: the packets served in this time, plus a burst.
    pub target: Duration,
    /// Capacity for bursts in packets, at least 1.
    pub burst_packets: u32,
    /// Number of packets over which service times are averaged (the inverse of the
    /// newest one's weight), at least 1.
    pub average_packets: u32,
    /// Interval over which arriving flows are counted; the target is divided by the square root of
    /// their number. `None`: not divided.
    pub flows: Option<Duration>,
}

/// A drop-tail queue that adapts its capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct EmulatedBdp {
    config: Config,
    fifo: Fifo,
    service: Service,
    /// The state before the last dequeue, which may be reverted.
    before: Service,
    flows: FlowCount,
}

/// The measured service time of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Service {
    /// Mean service time in nanoseconds.
    mean_ns: f64,
    /// Number of service times in the mean, up to `average_packets`.
    samples: u32,
    /// Time of the last dequeue, if it left packets in the queue.
    since: Option<Instant>,
}

impl EmulatedBdp {
    pub(super) fn new(config: Config) -> Self {
        let service = Service { mean_ns: 0.0, samples: 0, since: None };
        let flows = FlowCount::new();
        Self { config, fifo: Fifo::new(), service, before: service, flows }
    }

    pub(super) fn set_limit(&mut self, packets: u32) {
        self.config.limit_packets = packets;
    }

    /// Capacity in packets, including those held below the queue: at least `burst_packets` and at
    /// most `limit_packets`, which applies until a service time was measured.
    pub fn capacity(&self) -> u32 {
        let Config { limit_packets, target, burst_packets, flows, .. } = self.config;
        let root = if flows.is_some() { libm::sqrt(self.flows.count()) } else { 1.0 };
        let served = target.as_nanos() as f64 / (self.service.mean_ns * root);
        if self.service.samples == 0 || !served.is_finite() {
            return limit_packets;
        }
        (served as u32).saturating_add(burst_packets).min(limit_packets)
    }

    pub(super) fn enqueue(
        &mut self,
        peer: PeerId,
        packet: Packet,
        held: Held,
        dropped: &mut Vec<Packet>,
    ) {
        if let Some(interval) = self.config.flows {
            self.flows.see(packet.arrived, packet.flow_hash, interval);
        }
        if self.admits(&packet, held) {
            self.fifo.push(peer, &packet, packet.arrived, ());
        } else {
            dropped.push(packet);
        }
    }

    pub(super) fn admits(&self, _packet: &Packet, held: Held) -> bool {
        self.fifo.packets() + held.packets < self.capacity()
    }

    pub(super) fn next_peer_where(&self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        self.fifo.oldest_where(eligible)
    }

    pub(super) fn dequeue_for(
        &mut self,
        now: Instant,
        peer: PeerId,
        _dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let packet = self.fifo.pop(peer)?;
        self.before = self.service;
        self.service.take(now, self.config.average_packets, self.fifo.packets() > 0);
        Some(packet)
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        let peer = self.fifo.oldest_where(|_| true)?;
        self.dequeue_for(now, peer, dropped).map(|packet| (peer, packet))
    }

    pub(super) fn put_back(&mut self, peer: PeerId, packet: Packet) {
        self.service = self.before;
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

impl Service {
    /// Records that a packet left at `now`. `left` is whether others are still in the queue.
    fn take(&mut self, now: Instant, average_packets: u32, left: bool) {
        if let Some(since) = self.since {
            // Until there are `average_packets` samples, the plain mean of all of them.
            self.samples = (self.samples + 1).min(average_packets);
            let sample = now.saturating_since(since).as_nanos() as f64;
            self.mean_ns += (sample - self.mean_ns) / f64::from(self.samples);
        }
        self.since = left.then_some(now);
    }
}

/// Number of bits in the vector of hashes.
const FLOW_BITS: usize = 4096;

/// The number of flows that arrive in an interval.
#[derive(Clone, Debug, PartialEq)]
struct FlowCount {
    bits: Vec<u64>,
    set: usize,
    /// Number of bits that were set in the previous interval.
    set_before: usize,
    began: Instant,
}

impl FlowCount {
    fn new() -> Self {
        let bits = vec![0; FLOW_BITS / 64];
        Self { bits, set: 0, set_before: 0, began: Instant::ZERO }
    }

    fn see(&mut self, now: Instant, hash: u32, interval: Duration) {
        if now.saturating_since(self.began) >= interval {
            self.bits.fill(0);
            (self.set_before, self.set, self.began) = (self.set, 0, now);
        }
        let at = hash as usize % FLOW_BITS;
        let (word, bit) = (&mut self.bits[at / 64], 1 << (at % 64));
        self.set += usize::from(*word & bit == 0);
        *word |= bit;
    }

    /// The estimated number of flows, at least 1. The previous interval counts as well, because a
    /// new one has seen few packets.
    fn count(&self) -> f64 {
        let bits = FLOW_BITS as f64;
        let free = bits - self.set.max(self.set_before) as f64;
        (bits * libm::log(bits / free.max(1.0))).max(1.0)
    }
}
