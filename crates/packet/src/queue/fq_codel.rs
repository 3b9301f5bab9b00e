//! FQ-CoDel ([RFC 8290](https://www.rfc-editor.org/rfc/rfc8290)): flows are hashed into queues,
//! each under CoDel, served by deficit round robin with precedence for new flows. With `airtime`,
//! flows belong to a station, and stations are served by deficit round robin over airtime
//! (Hoiland-Jorgensen et al., USENIX ATC 2017, algorithm 3), as in mac80211. Deficits of flows are
//! in bytes of network-layer packets. Flows of different peers never share a queue, which the hash
//! of addresses in the RFC makes almost certain. With [`CeThreshold`] a packet that waited longer
//! than the threshold leaves marked, as in Linux. Left out: the slack target (50 ms) for stations
//! below 12 Mb/s that mac80211 had once (6.12 has not), and its memory of a packet (`truesize`),
//! which lengths replace.

use super::bare::{Bare, Parts};
use super::{CeThreshold, Held, PacketRun, PeerId};
use crate::Packet;
use crate::aqm::{FlowQueues, Members, Parameters, Queueable, RoundRobin, Variant, bucket_of};
use crate::ip::Ecn;
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant};

/// Number of packets that one overflow drops at most from the flow with the most bytes (RFC 8290,
/// 4.1).
const DROP_BATCH_PACKETS: usize = 64;

/// The same number in mac80211 (`fq_flow_drop`).
const DROP_BATCH_PACKETS_MAC80211: usize = 32;

/// Airtime that a station may use per turn in nanoseconds: the default weight of
/// mac80211 (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`, 256 us).
const AIRTIME_QUANTUM_NS: i64 = 256_000;

/// A queue with flow queueing under CoDel.
#[derive(Clone, Debug, PartialEq)]
pub struct FqCodel {
    config: Config,
    perturbation: u32,
    peers: Vec<Peer>,
    flows: FlowQueues<Bare>,
    parts: Parts,
    /// Packets that a queue has just dropped; empty between two calls. The vector is kept to save
    /// allocations.
    dropped: Vec<Bare>,
    /// Slot of the peer of each flow.
    slots: Vec<usize>,
    /// Round robins over flows: one per peer with `airtime`, otherwise a single one.
    tins: Vec<RoundRobin>,
    /// Round robin over the slots of peers; used with `airtime` only.
    stations: RoundRobin,
    packets: u32,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) limit_packets: u32,
    pub(super) memory_limit: Bytes,
    pub(super) flows: u16,
    pub(super) quantum_bytes: u16,
    pub(super) codel: Parameters,
    pub(super) airtime: bool,
    pub(super) ce_threshold: Option<CeThreshold>,
}

#[derive(Clone, Debug, PartialEq)]
struct Peer {
    /// Pairs (bucket of the hash, index into `flows`), sorted; entries are never
    /// removed.
    buckets: Vec<(u16, u32)>,
    packets: u32,
    /// Whether the MAC holds MPDUs for the peer, which then keeps its turn without
    /// packets.
    waiting: bool,
    deficit_ns: i64,
    listed: bool,
}

impl FqCodel {
    pub(super) fn new(config: Config, perturbation: u32) -> Self {
        Self {
            config,
            perturbation,
            peers: Vec::new(),
            flows: FlowQueues::default(),
            parts: Parts::new(),
            dropped: Vec::new(),
            slots: Vec::new(),
            tins: Vec::new(),
            stations: RoundRobin::default(),
            packets: 0,
            bytes: 0,
        }
    }

    pub(super) fn set_limit(&mut self, packets: u32) {
        self.config.limit_packets = packets;
    }

    pub(super) fn set_target(&mut self, target: Duration) {
        self.config.codel.target = target;
    }

    /// Lets the packets leave without marks by their sojourn time alone.
    pub(super) fn silence(&mut self) {
        self.config.ce_threshold = None;
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        peer: PeerId,
        packet: Packet,
        held: Held,
        dropped: &mut Vec<Packet>,
    ) {
        let bare = Bare::new(&packet, packet.arrived, &mut self.parts);
        self.push(peer, packet.flow_hash, bare);
        while self.packets > 0
            && (self.packets + held.packets > self.config.limit_packets
                || self.bytes + held.bytes.as_u64() > self.config.memory_limit.as_u64())
        {
            self.drop_from_fattest(dropped);
        }
    }

    /// Queues as many packets of `run` as the limits admit without a drop, as one; calls `taken` for
    /// each. Returns their number; the run's packet is then the next one.
    pub(super) fn push_run(
        &mut self,
        now: Instant,
        peer: PeerId,
        PacketRun { packet, count }: PacketRun<'_>,
        held: Held,
        mut taken: impl FnMut(&Packet),
    ) -> u32 {
        let Config { limit_packets, memory_limit, .. } = self.config;
        let packets = limit_packets.saturating_sub(self.packets + held.packets);
        let bytes = memory_limit.as_u64().saturating_sub(self.bytes + held.bytes.as_u64());
        let in_bytes = bytes / u64::from(packet.bytes).max(1);
        let count = count.min(packets).min(in_bytes.try_into().unwrap_or(u32::MAX));
        if count < 2 {
            return 0;
        }
        let mut run = Bare::new(packet, now, &mut self.parts);
        run.count = if run.may_be_several() { count } else { 1 };
        self.push(peer, packet.flow_hash, run);
        for _ in 0..run.count {
            taken(packet);
            packet.tag += 1;
        }
        run.count
    }

    /// Appends a packet, or a run of them, to its flow.
    #[inline]
    fn push(&mut self, peer: PeerId, flow_hash: u32, bare: Bare) {
        let slot = peer.index();
        self.grow_to(slot);
        let index = self.flow_of(slot, flow_hash);
        let tin = self.tin_of(slot);
        let quantum = i64::from(self.config.quantum_bytes);
        if self.config.airtime && !self.peers[slot].listed {
            // It was found empty since it last had packets: its flows are new again.
            self.head_flow(tin, |_| true);
        }
        self.flows.push(index, bare, quantum, &mut self.tins[tin]);
        self.packets += bare.count;
        self.bytes += u64::from(bare.bytes) * u64::from(bare.count);
        let station = &mut self.peers[slot];
        station.packets += bare.count;
        if self.config.airtime && !station.listed {
            station.listed = true;
            self.stations.join_new(slot as u32);
        }
    }

    pub(super) fn next_peer_where(&mut self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        if self.config.airtime {
            self.head_station(|slot| eligible(peer_of(slot))).map(peer_of)
        } else {
            let flow = self.head_flow(0, |slot| eligible(peer_of(slot)))?;
            Some(peer_of(self.slots[flow as usize]))
        }
    }

    #[inline]
    pub(super) fn dequeue_for(
        &mut self,
        now: Instant,
        peer: PeerId,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let flow = self.head_flow_for(peer)?;
        self.take(flow, now, dropped)
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        let peer = self.next_peer_where(|_| true)?;
        self.dequeue_for(now, peer, dropped).map(|packet| (peer, packet))
    }

    pub(super) fn put_back(&mut self, peer: PeerId, packet: Packet) {
        let slot = peer.index();
        let index = self.flow_of(slot, packet.flow_hash);
        let tin = self.tin_of(slot);
        let bare = Bare::new(&packet, packet.arrived, &mut self.parts);
        self.flows.put_back(index, bare, &mut self.tins[tin]);
        let station = &mut self.peers[slot];
        station.packets += 1;
        if self.config.airtime && !station.listed {
            station.listed = true;
            self.stations.rejoin_first(slot as u32);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
    }

    #[inline]
    pub(super) fn peek_len_for(&mut self, peer: PeerId) -> Option<u16> {
        // To look is not to ask in vain.
        if self.len_packets_for(peer) == 0 {
            return None;
        }
        let flow = self.head_flow_for(peer)?;
        self.flows.front(flow).map(|packet| packet.bytes)
    }

    pub(super) fn charge_airtime(&mut self, peer: PeerId, used: Duration) {
        if self.config.airtime {
            let slot = peer.index();
            self.grow_to(slot);
            self.peers[slot].deficit_ns -= used.as_nanos() as i64;
        }
    }

    pub(super) fn set_waiting(&mut self, peer: PeerId, waiting: bool) {
        let slot = peer.index();
        self.grow_to(slot);
        let station = &mut self.peers[slot];
        station.waiting = waiting;
        if waiting && !station.listed {
            station.listed = true;
            self.stations.join_old(slot as u32);
        }
    }

    pub(super) fn schedules_airtime(&self) -> bool {
        self.config.airtime
    }

    pub(super) fn len_packets(&self) -> u32 {
        self.packets
    }

    pub(super) fn len_bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    #[inline]
    pub(super) fn len_packets_for(&self, peer: PeerId) -> u32 {
        self.peers.get(peer.index()).map_or(0, |station| station.packets)
    }

    #[inline]
    fn grow_to(&mut self, slot: usize) {
        if slot >= self.peers.len() {
            self.peers.resize_with(slot + 1, || Peer {
                buckets: Vec::new(),
                packets: 0,
                waiting: false,
                deficit_ns: AIRTIME_QUANTUM_NS,
                listed: false,
            });
        }
        let tin = self.tin_of(slot);
        if tin >= self.tins.len() {
            self.tins.resize_with(tin + 1, RoundRobin::default);
        }
    }

    fn tin_of(&self, slot: usize) -> usize {
        if self.config.airtime { slot } else { 0 }
    }

    /// The flow of a hash within a peer, created on first use.
    #[inline]
    fn flow_of(&mut self, slot: usize, hash: u32) -> u32 {
        let bucket = bucket_of(hash, self.perturbation, self.config.flows);
        let buckets = &mut self.peers[slot].buckets;
        match buckets.binary_search_by_key(&bucket, |&(bucket, _)| bucket) {
            Ok(at) => buckets[at].1,
            Err(at) => {
                let index = self.flows.add();
                buckets.insert(at, (bucket, index));
                self.slots.push(slot);
                index
            }
        }
    }

    /// The peer whose turn it is: it has packets, or retransmissions pending, and airtime left.
    fn head_station(&mut self, eligible: impl Fn(usize) -> bool) -> Option<usize> {
        let mut stations = Stations { peers: &mut self.peers, eligible };
        let turn = self.stations.next(AIRTIME_QUANTUM_NS, &mut stations)?;
        Some(turn.member as usize)
    }

    #[inline]
    fn head_flow_for(&mut self, peer: PeerId) -> Option<u32> {
        let slot = peer.index();
        self.head_flow(self.tin_of(slot), |other| other == slot)
    }

    /// The flow whose turn it is (RFC 8290, 4.2): it has packets and a positive
    /// deficit. If no flow has packets all leave their lists.
    #[inline]
    fn head_flow(&mut self, tin: usize, eligible: impl Fn(usize) -> bool) -> Option<u32> {
        let quantum = i64::from(self.config.quantum_bytes);
        let Self { flows, slots, tins, .. } = self;
        flows.turn(quantum, tins.get_mut(tin)?, |flow| eligible(slots[flow as usize]))
    }

    /// Takes a packet from a flow that has some, through its CoDel. The last packet
    /// of a flow is never dropped (the MTU exception), so there is one.
    #[inline]
    fn take(&mut self, flow: u32, now: Instant, dropped: &mut Vec<Packet>) -> Option<Packet> {
        let (packets, bytes) = (self.flows.packets(flow), self.flows.bytes(flow));
        let packet = self.flows.take(flow, now, &self.config.codel, &mut self.dropped)?;
        self.book(flow, packets, bytes);
        self.hand_over(dropped);
        let mut packet = packet.into_packet(&mut self.parts);
        if let Some(threshold) = &self.config.ce_threshold {
            threshold.apply(now, &self.config.codel, &mut packet);
        }
        Some(packet)
    }

    /// Drops half of the packets, but at most a batch, of the flow with the most bytes. Of an odd
    /// number mac80211 drops the smaller half, but at least one packet.
    fn drop_from_fattest(&mut self, dropped: &mut Vec<Packet>) {
        let batch = |packets: usize| match self.config.codel.variant {
            Variant::Rfc8289 => packets.div_ceil(2).min(DROP_BATCH_PACKETS),
            Variant::Mac80211 => (packets / 2).clamp(1, DROP_BATCH_PACKETS_MAC80211),
        };
        let Some(flow) = self.flows.drop_from_fattest(batch, &mut self.dropped) else { return };
        let gone = &self.dropped;
        self.bytes -= gone.iter().map(|packet| u64::from(packet.bytes)).sum::<u64>();
        self.packets -= gone.len() as u32;
        self.peers[self.slots[flow as usize]].packets -= gone.len() as u32;
        self.hand_over(dropped);
    }

    /// Appends the packets that a queue has just dropped.
    #[inline]
    fn hand_over(&mut self, dropped: &mut Vec<Packet>) {
        if !self.dropped.is_empty() {
            let Self { dropped: gone, parts, .. } = self;
            dropped.extend(gone.drain(..).map(|packet| packet.into_packet(parts)));
        }
    }

    /// Counts the packets that left `flow`, which had `packets` and `bytes` before.
    fn book(&mut self, flow: u32, packets: usize, bytes: u64) {
        let taken = (packets - self.flows.packets(flow)) as u32;
        self.packets -= taken;
        self.bytes -= bytes - self.flows.bytes(flow);
        self.peers[self.slots[flow as usize]].packets -= taken;
    }
}

impl CeThreshold {
    /// Marks a packet that leaves at `now`, if its sojourn time exceeds the threshold and its ECN
    /// field is selected (the end of `codel_dequeue` in Linux). Times are in units of `codel`.
    fn apply(&self, now: Instant, codel: &Parameters, packet: &mut Packet) {
        let is_late =
            codel.sojourn_units(now, packet.arrived) > codel.units(self.sojourn.as_nanos());
        if is_late && (!self.ect1_only || packet.ecn() == Ecn::Capable1) {
            packet.mark();
        }
    }
}

/// The stations as members of a round robin; `eligible` accepts their slots.
struct Stations<'a, F> {
    peers: &'a mut [Peer],
    eligible: F,
}

impl<F: Fn(usize) -> bool> Members for Stations<'_, F> {
    fn is_eligible(&self, member: u32) -> bool {
        (self.eligible)(member as usize)
    }

    fn deficit(&mut self, member: u32) -> &mut i64 {
        &mut self.peers[member as usize].deficit_ns
    }

    fn is_busy(&self, member: u32) -> bool {
        let station = &self.peers[member as usize];
        station.packets > 0 || station.waiting
    }

    fn unlist(&mut self, member: u32) {
        self.peers[member as usize].listed = false;
    }
}

fn peer_of(slot: usize) -> PeerId {
    PeerId(slot as u32)
}
