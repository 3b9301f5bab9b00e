//! Real bytes for simulated packets: an IPv4 header (RFC 791) with the addresses of the
//! flow, ports, and a filling that depends on the number of the packet, so that any
//! wrong byte is noticed. A TCP segment has the header and the options that it would
//! have in Linux (RFC 9293, 7323, 2018), so that a link treats it like a real one; in
//! all other packets the number follows the ports. ECN bits are those of the packet
//! (RFC 3168).

use alloc::vec::Vec;
use lasthop_packet::ip::protocol::{TCP, UDP};
use lasthop_packet::ip::{self, Ecn, IPV4_BYTES, Ipv4, View, checksum};
use lasthop_packet::{NodeId, Packet, Transport};
use lasthop_tcp::Segment;
use lasthop_tcp::wire::{self, Announced, Header};
use lasthop_units::{Identity, fnv_1a};

/// Length of the IPv4 header, the ports and the number.
const BYTES_MIN: usize = 28;
const PORTS_AT: usize = 20;
const NUMBER_AT: usize = 24;
/// Offset of the identification in the IPv4 header.
const IDENTIFICATION_AT: usize = 4;
/// Offsets of the checksum in the IPv4 header.
const CHECKSUM_AT: core::ops::Range<usize> = 10..12;
/// Length of the header of an Ethernet frame (IEEE 802.3, 3.1.1).
const ETHERNET_BYTES: usize = 14;
const SOURCE_AT: usize = 12;
/// Options that Linux announces on Ethernet.
const ANNOUNCED: Announced =
    Announced { segment_bytes: 1_460, sack: true, window_shift: Announced::WINDOW_SHIFT };

/// Key that distinguishes the packets inside a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The mark of a TCP segment: source address, ports and identification.
    Segment([u8; 4], [u8; 4], u16),
    /// The mark of other packets made by [`packet_bytes`]: the number.
    Number(u32),
    /// The mark of a driver's packet: a hash of all bytes that no queue on the path
    /// changes.
    Frame(u64),
}

impl Mark {
    /// The mark of bytes made by [`packet_bytes`]; `None` if they are too short.
    pub fn of_made(bytes: &[u8]) -> Option<Self> {
        let behind_ports = bytes.get(NUMBER_AT..BYTES_MIN)?.try_into().expect("it has four bytes");
        let is_whole = bytes[6..8] == [0, 0];
        Some(if bytes[9] == TCP && is_whole {
            Self::Segment(
                bytes[SOURCE_AT..SOURCE_AT + 4].try_into().expect("it has four bytes"),
                bytes[PORTS_AT..PORTS_AT + 4].try_into().expect("it has four bytes"),
                u16::from_be_bytes([bytes[IDENTIFICATION_AT], bytes[IDENTIFICATION_AT + 1]]),
            )
        } else {
            Self::Number(u32::from_be_bytes(behind_ports))
        })
    }

    /// The mark of a packet of a driver: a hash of all bytes except the one with the
    /// ECN field and the checksum of IPv4.
    pub fn of_frame(bytes: &[u8]) -> Self {
        let is_ipv4 = bytes.first().is_some_and(|byte| byte >> 4 == 4);
        let changes = |at: usize| at == 1 || (is_ipv4 && CHECKSUM_AT.contains(&at));
        let kept = bytes.iter().enumerate().filter(|(at, _)| !changes(*at));
        Self::Frame(fnv_1a(kept.map(|(_, byte)| *byte)))
    }
}

/// Input of [`packet_bytes`].
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    /// The packet to make bytes of.
    pub packet: &'a Packet,
    /// The TCP segment, if the packet is one and was not cut.
    pub segment: Option<&'a Segment>,
    /// Number of the packet in its link.
    pub number: u32,
    /// Number of the packet in its connection and direction; for a part, that of the whole packet.
    /// Other packets do not use it.
    pub identification: u16,
}

/// Returns the packet as bytes; `nodes` are those of the network. The last part of a
/// cut packet may be too short for the number; it is then up to 7 bytes longer here.
pub fn packet_bytes(content: Made<'_>, nodes: &[Identity]) -> Vec<u8> {
    let Made { packet, segment, number, identification } = content;
    let length = usize::from(packet.bytes).max(BYTES_MIN);
    let mut bytes = Vec::with_capacity(length);
    let protocol = match packet.transport {
        Transport::Tcp => TCP,
        Transport::Other => UDP,
    };
    let is_numbered = segment.is_some() || !packet.fragment.is_whole();
    let identification = if is_numbered { identification } else { number as u16 };
    let header = Ipv4 {
        dscp: 0,
        ecn: packet.ecn(),
        total_bytes: length as u16,
        identification,
        fragment_bits: packet.fragment.header_bits(),
        time_to_live: 64,
        protocol,
        source: address(nodes, packet.source),
        destination: address(nodes, packet.destination),
    };
    bytes.extend(header.to_bytes());
    let ports = [(packet.flow_hash >> 16) as u16, packet.flow_hash as u16];
    match segment {
        Some(segment) => {
            let header = Header { segment, announced: ANNOUNCED, initial: [0; 2], push: false };
            header.emit(ports, &mut bytes);
        }
        None => {
            bytes.extend(packet.flow_hash.to_be_bytes());
            bytes.extend(number.to_be_bytes());
        }
    }
    let mut state = u64::from(number) << 32 | 1;
    while bytes.len() < length {
        state = next(state);
        let rest = length - bytes.len();
        bytes.extend(&state.to_be_bytes()[..rest.min(8)]);
    }
    if segment.is_some() {
        let sum = tcp_checksum(&bytes);
        bytes[TCP_CHECKSUM_AT..TCP_CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// Returns the packet in an Ethernet frame of a driver, marked "congestion experienced"
/// if `packet` is.
pub fn of_frame(packet: &Packet, mut frame: Vec<u8>) -> Vec<u8> {
    frame.drain(..ETHERNET_BYTES.min(frame.len()));
    if packet.ecn_marked {
        ip::mark_congestion(&mut frame);
    }
    frame
}

/// Whether a queue on the path marked the packet "congestion experienced".
pub fn is_marked(bytes: &[u8]) -> bool {
    View::new(bytes).is_some_and(|packet| packet.ecn() == Ecn::Congestion)
}

/// Offset of the checksum of TCP in an IPv4 packet.
const TCP_CHECKSUM_AT: usize = IPV4_BYTES + wire::CHECKSUM_AT;

/// The address of a node, by which queues distinguish flows. No route depends on it, so
/// two nodes may have the same.
fn address(nodes: &[Identity], node: NodeId) -> [u8; 4] {
    let [_, high, middle, low] = nodes[node.index()].hash().to_be_bytes();
    [10, high, middle, low]
}

/// The checksum of TCP, over addresses, protocol, length and the whole segment, whose
/// own checksum is zero.
fn tcp_checksum(bytes: &[u8]) -> u16 {
    let segment = &bytes[IPV4_BYTES..];
    let pseudo = checksum::pseudo_header(&bytes[SOURCE_AT..IPV4_BYTES], TCP, segment.len());
    checksum::of_sum(pseudo + checksum::sum(segment))
}

/// A step of xorshift: each state has a different successor.
fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ state << 17
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
    use lasthop_tcp::SackBlock;
    use lasthop_units::Instant;

    fn nodes() -> [Identity; 3] {
        ["a", "b", "c"].map(Identity::from_name)
    }

    fn content(packet: &Packet, number: u32) -> Made<'_> {
        Made { packet, segment: None, number, identification: 0 }
    }

    #[test]
    fn packets_differ_in_every_part() {
        let packet = Packet {
            source: NodeId(1),
            destination: NodeId(2),
            ..Packet::new(0, 600, Instant::ZERO)
        };
        let of = |packet, number| packet_bytes(content(packet, number), &nodes());
        let (one, other) = (of(&packet, 1), of(&packet, 2));
        let numbers = [Some(Mark::Number(1)), Some(Mark::Number(2))];
        assert_eq!((one.len(), [Mark::of_made(&one), Mark::of_made(&other)]), (600, numbers));
        let differ = |range: core::ops::Range<usize>| one[range.clone()] != other[range];
        assert!((28..600).step_by(8).all(|at| differ(at..(at + 8).min(600))));
        assert!(!is_marked(&one));
        let capable = Packet { ecn_capable: true, ..packet };
        let marked = Packet { ecn_marked: true, ..capable };
        let marked = of(&marked, 1);
        assert!(is_marked(&marked));
        let mut marked_late = of(&capable, 1);
        assert!(ip::mark_congestion(&mut marked_late));
        assert_eq!(marked_late, marked);
        assert_eq!(Mark::of_made(&one[..27]), None);
        // Addresses are those of the nodes, in 10.0.0.0/8 (RFC 1918).
        let addresses = |packet| {
            let bytes = of(packet, 1);
            [12, 16].map(|at| <[u8; 4]>::try_from(&bytes[at..at + 4]).expect("four bytes"))
        };
        let [source, destination] = addresses(&packet);
        let back = Packet { source: NodeId(2), destination: NodeId(1), ..packet };
        assert_eq!(addresses(&back), [destination, source]);
        assert_ne!(source, destination);
        assert_eq!([source[0], destination[0]], [10; 2]);
    }

    /// A queue may mark a driver's packet (RFC 3168), which changes its checksum; the packet is
    /// still the same. A change of any other byte makes another packet.
    #[test]
    fn a_mark_survives_congestion_and_nothing_else() {
        let packet = Packet { ecn_capable: true, ..Packet::new(0, 60, Instant::ZERO) };
        let bytes = packet_bytes(content(&packet, 1), &nodes());
        let mut marked = bytes.clone();
        assert!(ip::mark_congestion(&mut marked) && marked != bytes);
        assert_eq!(Mark::of_frame(&marked), Mark::of_frame(&bytes));
        for at in 0..60 {
            let mut other = bytes.clone();
            other[at] ^= 0x11;
            // The byte with the ECN field, and the checksum.
            let is_same = [1, 10, 11].contains(&at);
            assert_eq!(Mark::of_frame(&other) == Mark::of_frame(&bytes), is_same, "{at}");
        }
        let frame = [&[7; 14][..], &bytes].concat();
        assert_eq!(of_frame(&Packet { ecn_marked: true, ..packet }, frame.clone()), marked);
        assert_eq!(of_frame(&packet, frame), bytes);
        // What is not IPv4 has no checksum there: IPv6 (RFC 8200), whose ECN field is in the
        // second byte, too.
        let other = |at: usize| {
            let mut bytes = vec![0x60; 60];
            bytes[at] ^= 1;
            Mark::of_frame(&bytes)
        };
        assert_eq!(other(1), Mark::of_frame(&[0x60; 60]));
        assert!([2, 10, 11].iter().all(|&at| other(at) != other(1)));
        assert_eq!(of_frame(&packet, vec![1; 9]), []);
    }

    /// Checksums and options are those that another program reads.
    #[test]
    fn segments_have_the_headers_that_others_read() {
        let segment = Segment {
            sequence: (7 << 32) + 5,
            payload_bytes: 301,
            acknowledgement: Some(9),
            window_bytes: 1 << 20,
            sent: Instant::from_nanos(12_345_678_901),
            echoed: Some(Instant::from_nanos(12_000_000_000)),
            ..Segment::default()
        };
        let sack = [(20, 30), (40, 50)].map(|(start, end)| SackBlock { start, end });
        let holes = Segment { sack: [sack[0], sack[1], sack[1]], sack_blocks: 2, ..segment };
        let (sent, echoed) = (12_345, 12_000);
        let timestamps = || TcpOptionElement::Timestamp(sent, echoed);
        let noop = || TcpOptionElement::Noop;
        let opening = [
            TcpOptionElement::MaximumSegmentSize(1_460),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
            timestamps(),
            noop(),
            TcpOptionElement::WindowScale(7),
        ];
        let sacks =
            TcpOptionElement::SelectiveAcknowledgement((20, 30), [Some((40, 50)), None, None]);
        let cases = [
            (segment, vec![noop(), noop(), timestamps()]),
            (Segment { syn: true, payload_bytes: 0, ..segment }, opening.to_vec()),
            (holes, vec![noop(), noop(), timestamps(), noop(), noop(), sacks]),
        ];
        for (segment, options) in cases {
            let bytes = u16::try_from(segment.packet_bytes()).expect("it is short");
            let packet = Packet {
                transport: Transport::Tcp,
                flow_hash: 0x1234_5678,
                ..Packet::new(0, bytes, Instant::ZERO)
            };
            let nodes = nodes();
            let made = packet_bytes(
                Made { segment: Some(&segment), identification: 77, ..content(&packet, 3) },
                &nodes,
            );
            let read = SlicedPacket::from_ip(&made).expect("it is a packet");
            let Some(NetSlice::Ipv4(ip)) = &read.net else { panic!("not IPv4: {read:?}") };
            let ip = ip.header().to_header();
            assert_eq!((ip.identification, ip.header_checksum), (77, ip.calc_header_checksum()));
            let Some(TransportSlice::Tcp(tcp)) = &read.transport else {
                panic!("not TCP: {read:?}")
            };
            let header = tcp.to_header();
            let checksum = header.calc_checksum_ipv4(&ip, tcp.payload()).expect("it is short");
            assert_eq!(header.checksum, checksum);
            assert_eq!((header.source_port, header.destination_port), (0x1234, 0x5678));
            assert_eq!((header.sequence_number, header.acknowledgment_number), (5, 9));
            assert_eq!((header.ack, header.syn, header.fin), (true, segment.syn, false));
            assert_eq!(header.window_size, if segment.syn { u16::MAX } else { 1 << 13 });
            assert_eq!(tcp.payload().len(), segment.payload_bytes as usize);
            let got: Vec<_> = tcp.options_iterator().map(|option| option.expect("known")).collect();
            assert_eq!(got, options);
        }
    }
}
