//! Generic receive offload (GRO) at the wires of a node: packets that arrive in one interrupt reach
//! the node together, and full segments of a TCP connection that follow each other as one. A
//! merged packet counts once for limits of packets and for the processor ([`Packet::follows`]);
//! radios and wires send its segments.
//!
//! The rules are those of Linux' tcp_gro_receive, as far as a packet shows them: data of the same
//! socket, the same millisecond (timestamps) and ECN codepoint, no longer than the first; a shorter
//! one is the last. Left out: sequence numbers (a segment after a gap counts as the next), the
//! number of connections that are merged at once, and packets from the air, which drivers of that
//! time pass on one by one.

use alloc::vec::Vec;
use lasthop_packet::{NodeId, Packet, Transport};
use lasthop_units::{Duration, Instant};

/// Length in bytes of the longest packet without data: IPv4 and TCP headers with all options.
const BARE_BYTES_MAX: u16 = 80;
/// Most bytes of a merged packet (GRO_MAX_SIZE).
const BYTES_MAX: u32 = 65_535;
/// Bytes of a full segment's headers, which the following ones lose.
const HEADER_BYTES: u32 = 52;

/// Receive offload of a node's wired interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveOffload {
    /// Shortest time between two interrupts: a packet after a longer pause is handled at once, and
    /// those that follow in this time together.
    pub interval: Duration,
    /// Most segments in a merged packet: 17 in Linux before 3.13, then as many as fit into 64 KiB.
    pub segments_max: u32,
}

/// Packets of one interrupt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Batch {
    rules: ReceiveOffload,
    /// Packets with the neighbour that sent each.
    packets: Vec<(NodeId, Packet)>,
    due: Instant,
    /// The first instant at which the interface may interrupt again.
    ready: Instant,
}

/// Packets that are merged.
struct Merged {
    packets: Vec<(NodeId, Packet)>,
    bytes: u32,
    is_open: bool,
}

impl Batch {
    pub fn new(rules: ReceiveOffload) -> Self {
        Self { rules, packets: Vec::new(), due: Instant::MAX, ready: Instant::ZERO }
    }

    pub fn take_in(&mut self, now: Instant, from: NodeId, packet: &Packet) {
        if self.packets.is_empty() {
            self.due = self.ready.max(now);
        }
        self.packets.push((from, *packet));
    }

    /// Instant of the interrupt; [`Instant::MAX`] without packets.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Removes the packets of the interrupt at `now`, those that are merged together.
    pub fn finish(&mut self, now: Instant) -> Vec<(NodeId, Packet)> {
        if self.due > now {
            return Vec::new();
        }
        let rules = self.rules;
        (self.due, self.ready) = (Instant::MAX, now + rules.interval);
        let mut all: Vec<Merged> = Vec::new();
        for (from, packet) in self.packets.drain(..) {
            let is_data = packet.transport == Transport::Tcp
                && packet.bytes > BARE_BYTES_MAX
                && packet.fragment.is_whole();
            let same = all.iter_mut().rev().find(|merged| merged.is_same(from, &packet));
            if let Some(merged) = same {
                if is_data && merged.may_take(rules, &packet) {
                    merged.is_open = packet.bytes == merged.packets[0].1.bytes;
                    merged.bytes += u32::from(packet.bytes) - HEADER_BYTES;
                    merged.packets.push((from, Packet { follows: true, ..packet }));
                    continue;
                }
                merged.is_open = false;
            }
            let bytes = u32::from(packet.bytes);
            all.push(Merged { packets: [(from, packet)].into(), bytes, is_open: is_data });
        }
        all.into_iter().flat_map(|merged| merged.packets).collect()
    }
}

impl Merged {
    /// Whether a packet is of the same connection and direction.
    fn is_same(&self, from: NodeId, packet: &Packet) -> bool {
        let (neighbour, first) = &self.packets[0];
        let socket = |packet: &Packet| {
            (packet.flow, packet.flow_hash, packet.source, packet.destination, packet.transport)
        };
        *neighbour == from && socket(first) == socket(packet)
    }

    fn may_take(&self, rules: ReceiveOffload, packet: &Packet) -> bool {
        let first = &self.packets[0].1;
        let millisecond = |at: Instant| at.as_nanos() / 1_000_000;
        self.is_open
            && packet.bytes <= first.bytes
            && packet.ecn() == first.ecn()
            && packet.access_category == first.access_category
            && millisecond(packet.created) == millisecond(first.created)
            && (self.packets.len() as u32) < rules.segments_max
            && self.bytes + u32::from(packet.bytes) - HEADER_BYTES <= BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_packet::FlowId;

    fn data(tag: u64, flow: u16) -> Packet {
        Packet {
            flow: FlowId(flow),
            transport: Transport::Tcp,
            ..Packet::new(tag, 1_500, Instant::ZERO)
        }
    }

    /// Tags of the packets of one interrupt, and whether each follows.
    fn merged(rules: ReceiveOffload, packets: &[Packet]) -> Vec<(u64, bool)> {
        let mut batch = Batch::new(rules);
        batch.take_in(Instant::ZERO, NodeId(1), &packets[0]);
        assert_eq!(batch.due(), Instant::ZERO, "nothing came before");
        assert_eq!(batch.finish(Instant::ZERO).len(), 1);
        for packet in packets {
            batch.take_in(Instant::ZERO, NodeId(1), packet);
        }
        let due = Instant::ZERO + rules.interval;
        assert_eq!(batch.due(), due);
        assert!(batch.finish(Instant::ZERO).is_empty());
        let all = batch.finish(due);
        assert_eq!(batch.due(), Instant::MAX);
        all.iter().map(|(_, packet)| (packet.tag, packet.follows)).collect()
    }

    const RULES: ReceiveOffload =
        ReceiveOffload { interval: Duration::from_micros(50), segments_max: 64 };

    /// Two connections in turn are two merged packets. Acknowledgements and other protocols stay
    /// alone, and an acknowledgement ends a merged packet.
    #[test]
    fn segments_of_a_connection_are_merged() {
        let [a, b] = [1, 2].map(|flow| move |tag| data(tag, flow));
        let all = merged(RULES, &[a(1), b(2), a(3), b(4), a(5)]);
        assert_eq!(all, [(1, false), (3, true), (5, true), (2, false), (4, true)]);
        let bare = Packet { bytes: 52, ..a(2) };
        let all = merged(RULES, &[a(1), bare, a(3), a(4)]);
        assert_eq!(all, [(1, false), (2, false), (3, false), (4, true)]);
        let other = |tag| Packet { transport: Transport::Other, ..a(tag) };
        assert_eq!(merged(RULES, &[other(1), other(2)]), [(1, false), (2, false)]);
        // A short segment is the last, a longer one the first.
        let short = |tag| Packet { bytes: 700, ..a(tag) };
        let all = merged(RULES, &[a(1), short(2), short(3), a(4)]);
        assert_eq!(all, [(1, false), (2, true), (3, false), (4, false)]);
        let later = Packet { created: Instant::ZERO + Duration::from_millis(1), ..a(2) };
        assert_eq!(merged(RULES, &[a(1), later]), [(1, false), (2, false)]);
        let marked = Packet { ecn_marked: true, ..a(2) };
        assert_eq!(merged(RULES, &[a(1), marked]), [(1, false), (2, false)]);
    }

    /// 64 KiB have 45 segments of 1 448 bytes and a header.
    #[test]
    fn a_merged_packet_is_bounded() {
        let packets: Vec<Packet> = (0..90).map(|tag| data(tag, 1)).collect();
        for (segments_max, expected) in [(64, 45), (17, 17)] {
            let all = merged(ReceiveOffload { segments_max, ..RULES }, &packets);
            let firsts: Vec<u64> = all.iter().filter(|it| !it.1).map(|it| it.0).collect();
            assert_eq!(firsts[..2], [0, expected]);
        }
    }
}
