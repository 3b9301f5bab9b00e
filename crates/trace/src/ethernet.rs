//! Makes Ethernet frames (without FCS) for packets without bytes: IPv4 (RFC 791) with TCP in a TCP
//! flow, ICMP echo in a ping flow, and UDP in others. Node n has the address 10.0.0.1 + n; flow f
//! uses source port 45000 + f and destination port 55000 + f; its further connections at a time have
//! destination ports from 10001 on. The tag is the IP identification, and
//! the first eight bytes of the payload except under TCP, where all are zero; access category and
//! ECN are the traffic class; lengths and checksums are correct. A TCP packet with an unknown
//! segment, and a packet too short for an IP or transport header, have protocol numbers for
//! experiments.

use crate::names::{FlowKind, Names};
use crate::segments::{Segments, TcpHeader};
use lasthop_hosts::connection_of;
use lasthop_packet::ip::protocol::{EXPERIMENT, ICMP, TCP, UDP};
use lasthop_packet::ip::{Ecn, IPV4_BYTES, Ipv4, checksum};
use lasthop_packet::{AccessCategory, FlowId, Fragment, NodeId, Packet};
use lasthop_tcp::wire::{CHECKSUM_AT, Header};
use lasthop_units::MacAddr;

/// EtherType of IPv4.
const IPV4: u16 = 0x0800;
/// EtherType for local experiments (IEEE 802-2014, 9.2.4).
const EXPERIMENTAL: u16 = 0x88b5;
/// Length in bytes of the headers of UDP and of ICMP echo.
const TRANSPORT_HEADER_BYTES: usize = 8;
/// Added to the number of a further connection of a flow: its port at the flow's end.
const FURTHER_CONNECTIONS: u16 = 10_000;
/// Port of packets outside flows: discard (RFC 863).
const DISCARD: u16 = 9;

/// Length of destination, source and EtherType, in bytes.
pub(crate) const HEADER_BYTES: usize = 14;

/// Smallest number of payload bytes made. `capture` distinguishes datagrams by these bytes.
const PAYLOAD_BYTES: usize = 16;

/// Appends the frame for a packet, and returns the number of bytes left out at its end; `segment` is
/// the header of a TCP packet. The payload is zero after the tag. Only its first 16 bytes are
/// made, and none under TCP, unless the frame would be shorter than `bytes_made`. Bytes left out
/// count as zero, and all checksums are those of the whole frame.
fn frame(
    packet: &Packet,
    names: &Names,
    segment: Option<&[u8]>,
    bytes_made: usize,
    out: &mut Vec<u8>,
) -> usize {
    let length = HEADER_BYTES + usize::from(packet.bytes);
    let begin = out.len();
    let mut head = [0; HEADER_BYTES + IPV4_BYTES];
    head[0..6].copy_from_slice(&node_address(packet.destination, names).0);
    head[6..12].copy_from_slice(&node_address(packet.source, names).0);
    if usize::from(packet.bytes) < IPV4_BYTES {
        head[12..14].copy_from_slice(&EXPERIMENTAL.to_be_bytes());
        out.extend_from_slice(&head[..length]);
        return 0;
    }
    head[12..14].copy_from_slice(&IPV4.to_be_bytes());
    let kind = names.flows.get(usize::from(packet.flow.0)).map(|flow| flow.kind);
    let protocol = match (kind, segment) {
        (_, Some(_)) => TCP,
        (Some(FlowKind::Tcp), None) => EXPERIMENT,
        _ if whole_bytes(packet) < IPV4_BYTES + TRANSPORT_HEADER_BYTES => EXPERIMENT,
        (Some(FlowKind::Ping), None) => ICMP,
        _ => UDP,
    };
    head[HEADER_BYTES..].copy_from_slice(&ip_header(packet, protocol));
    out.extend_from_slice(&head);
    let ip = HEADER_BYTES..HEADER_BYTES + IPV4_BYTES;
    let transport = ip.end;
    let offset_bytes = usize::from(packet.fragment.offset_bytes());
    let headers = match segment {
        Some(segment) => transport + segment.len().saturating_sub(offset_bytes),
        // In later fragments, everything after the IP header is payload.
        None if offset_bytes > 0 => transport + PAYLOAD_BYTES,
        None => transport + TRANSPORT_HEADER_BYTES + PAYLOAD_BYTES,
    };
    let made = headers.max(bytes_made).min(length);
    out.resize(begin + made, 0);
    let frame = &mut out[begin..];
    if let Some(segment) = segment {
        tcp_header(&mut frame[ip.start..], packet, segment);
        return length - made;
    }
    if offset_bytes > 0 {
        return length - made;
    }
    let payload = transport + TRANSPORT_HEADER_BYTES;
    if let Some(room) = frame.get_mut(payload..payload + 8) {
        room.copy_from_slice(&packet.tag.to_be_bytes());
    }
    match protocol {
        UDP => udp_header(&mut frame[ip.start..], packet, names),
        ICMP => icmp_header(&mut frame[transport..], packet, names),
        _ => {}
    }
    length - made
}

/// Maker of frames, which keeps the last one of each kind of packet: alike packets differ by tag and
/// TCP header, on which few bytes and the checksums depend.
#[derive(Default)]
pub(crate) struct Frames {
    kept: Vec<Option<Kept>>,
}

/// Properties of a packet that determine its frame, but for tag and TCP header.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Alike {
    flow: FlowId,
    source: NodeId,
    destination: NodeId,
    bytes: u16,
    /// Traffic class of the IP header.
    class: (AccessCategory, Ecn),
    /// Length of the TCP header in bytes; 0 without one.
    header_bytes: u8,
    bytes_made: usize,
}

/// The frame of alike packets.
struct Kept {
    alike: Alike,
    /// The frame of such a packet with tag 0 and a TCP header of zeros.
    frame: Vec<u8>,
    left_out: usize,
    /// Sum of the IP header's words, without the checksum.
    ip_sum: u64,
    /// Sum of the words that the checksum of the transport header covers.
    transport_sum: u64,
    protocol: u8,
}

impl Frames {
    /// Number of kinds of packets whose frames are kept.
    const KEPT: usize = 256;

    /// Appends the frame for a packet from its byte `from` on, which is 0 or the end of the Ethernet
    /// header. Returns the number of bytes left out at its end, as [`frame`] does.
    pub(crate) fn append(
        &mut self,
        packet: &Packet,
        names: &Names,
        segments: &Segments,
        bytes_made: usize,
        from: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        let segment = segments.get(packet);
        let header = segment.map(TcpHeader::as_bytes);
        let header_bytes = header.map_or(0, <[u8]>::len);
        if !packet.fragment.is_whole() || usize::from(packet.bytes) < IPV4_BYTES + header_bytes {
            let mut whole = Vec::new();
            let left_out = frame(packet, names, header, bytes_made, &mut whole);
            out.extend_from_slice(&whole[from..]);
            return left_out;
        }
        let alike = Alike {
            flow: packet.flow,
            source: packet.source,
            destination: packet.destination,
            bytes: packet.bytes,
            class: (packet.access_category, packet.ecn()),
            header_bytes: header_bytes as u8,
            bytes_made,
        };
        if self.kept.is_empty() {
            self.kept.resize_with(Self::KEPT, || None);
        }
        let parts = [packet.flow.0, packet.source.0, packet.bytes, header_bytes as u16];
        let key = parts.into_iter().fold(0, |key, part| key << 16 | u64::from(part));
        // Multiplied by 2^64 over the golden ratio, whose upper bits depend on all parts.
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % Self::KEPT;
        let kept = match &mut self.kept[place] {
            Some(kept) if kept.alike == alike => kept,
            other => other.insert(Kept::new(alike, packet, names)),
        };
        let begin = out.len();
        out.extend_from_slice(&kept.frame[from..]);
        kept.complete(packet, segment, from, &mut out[begin..]);
        kept.left_out
    }
}

impl Kept {
    fn new(alike: Alike, packet: &Packet, names: &Names) -> Self {
        let packet = Packet { tag: 0, ..*packet };
        let header = [0; 60];
        let header = &header[..usize::from(alike.header_bytes).min(header.len())];
        let header = Some(header).filter(|header| !header.is_empty());
        let mut bytes = Vec::new();
        let left_out = frame(&packet, names, header, alike.bytes_made, &mut bytes);
        // The complement of a checksum is the sum of the other words.
        let sum_at = |at: usize| match bytes.get(at..at + 2) {
            Some(octets) => u64::from(!u16::from_be_bytes([octets[0], octets[1]])),
            None => 0,
        };
        let protocol = bytes[PROTOCOL_AT];
        let transport_sum = sum_at(TRANSPORT_AT + checksum_at(protocol));
        Self {
            ip_sum: sum_at(IP_CHECKSUM_AT),
            transport_sum,
            protocol,
            left_out,
            alike,
            frame: bytes,
        }
    }

    /// Writes the bytes that depend on tag and TCP header; `frame` is the frame from `from` on.
    fn complete(
        &self,
        packet: &Packet,
        segment: Option<&TcpHeader>,
        from: usize,
        frame: &mut [u8],
    ) {
        let mut write = |at: usize, octets: &[u8]| {
            if let Some(room) = frame.get_mut(at - from..at - from + octets.len()) {
                room.copy_from_slice(octets);
            }
        };
        let identification = packet.tag as u16;
        write(IDENTIFICATION_AT, &identification.to_be_bytes());
        let sum = self.ip_sum + u64::from(identification);
        write(IP_CHECKSUM_AT, &checksum::of_sum(sum).to_be_bytes());
        let sum = match segment {
            Some(header) => {
                write(TRANSPORT_AT, header.as_bytes());
                header.sum()
            }
            None => {
                let tag = packet.tag.to_be_bytes();
                write(PAYLOAD_AT, &tag);
                let has_tag = self.frame.len() >= PAYLOAD_AT + tag.len();
                let sum = if has_tag { checksum::sum(&tag) } else { 0 };
                // An echo has the tag as its number, too.
                match self.protocol {
                    ICMP => {
                        write(TRANSPORT_AT + 6, &identification.to_be_bytes());
                        sum + u64::from(identification)
                    }
                    _ => sum,
                }
            }
        };
        let checksum = match (self.protocol, checksum::of_sum(self.transport_sum + sum)) {
            (UDP, 0) => 0xffff,
            (_, checksum) => checksum,
        };
        if matches!(self.protocol, TCP | UDP | ICMP) {
            write(TRANSPORT_AT + checksum_at(self.protocol), &checksum.to_be_bytes());
        }
    }
}

/// Offsets in a frame.
const IDENTIFICATION_AT: usize = HEADER_BYTES + 4;
const PROTOCOL_AT: usize = HEADER_BYTES + 9;
const IP_CHECKSUM_AT: usize = HEADER_BYTES + 10;
const TRANSPORT_AT: usize = HEADER_BYTES + IPV4_BYTES;
const PAYLOAD_AT: usize = TRANSPORT_AT + TRANSPORT_HEADER_BYTES;

/// Offset of the checksum in a transport header.
const fn checksum_at(protocol: u8) -> usize {
    match protocol {
        TCP => CHECKSUM_AT,
        UDP => 6,
        _ => 2,
    }
}

/// Appends the TCP header of the segment with this tag from `source`, with checksum 0.
pub(crate) fn segment(
    flow: FlowId,
    tag: u64,
    source: NodeId,
    header: &Header<'_>,
    names: &Names,
    out: &mut Vec<u8>,
) {
    let mut ports = ports(flow, source, names);
    let connection = connection_of(tag);
    if connection > 0 {
        let at_end = usize::from(is_forward(flow, source, names));
        ports[at_end] = FURTHER_CONNECTIONS + u16::from(connection);
    }
    header.emit(ports, out);
}

/// EtherType of the frame of a packet.
pub(crate) fn ethertype(packet: &Packet) -> u16 {
    if usize::from(packet.bytes) < IPV4_BYTES { EXPERIMENTAL } else { IPV4 }
}

/// Returns the address of a node's interface; broadcast for all nodes.
pub(crate) fn node_address(node: NodeId, names: &Names) -> MacAddr {
    match node {
        Packet::EVERYWHERE => MacAddr::BROADCAST,
        node => names.nodes.get(node.index()).map_or(MacAddr::default(), |n| n.address),
    }
}

fn ip_header(packet: &Packet, protocol: u8) -> [u8; IPV4_BYTES] {
    let header = Ipv4 {
        dscp: packet.access_category.dscp(),
        ecn: packet.ecn(),
        total_bytes: packet.bytes,
        identification: packet.tag as u16,
        fragment_bits: match packet.fragment {
            Fragment::WHOLE => Ipv4::DONT_FRAGMENT,
            part => part.header_bits(),
        },
        time_to_live: 64,
        protocol,
        source: ip_address(packet.source),
        destination: ip_address(packet.destination),
    };
    header.to_bytes()
}

/// Whether packets from `source` travel from the start of the flow to its end.
fn is_forward(flow: FlowId, source: NodeId, names: &Names) -> bool {
    names.flows.get(usize::from(flow.0)).is_none_or(|flow| flow.from == source)
}

/// Returns the source and destination port of packets from `source`.
fn ports(flow: FlowId, source: NodeId, names: &Names) -> [u16; 2] {
    let [client, server] = match flow {
        FlowId::NONE => [DISCARD; 2],
        FlowId(index) => [45_000u16.wrapping_add(index), 55_000u16.wrapping_add(index)],
    };
    if is_forward(flow, source, names) { [client, server] } else { [server, client] }
}

/// Writes the part of a TCP header in this packet, which may be a fragment, and its checksum. `ip`
/// starts at the IP header and ends after the transport header or later.
fn tcp_header(ip: &mut [u8], packet: &Packet, header: &[u8]) {
    let (ip, tcp) = ip.split_at_mut(IPV4_BYTES);
    // The payload is zero and does not change the checksum.
    let pseudo = checksum::pseudo_header(&ip[12..20], TCP, whole_bytes(packet) - IPV4_BYTES);
    let checksum = checksum::of_sum(pseudo + checksum::sum(header)).to_be_bytes();
    let offset_bytes = usize::from(packet.fragment.offset_bytes());
    let behind = header.get(offset_bytes..).unwrap_or(&[]);
    tcp.iter_mut().zip(behind).for_each(|(to, &from)| *to = from);
    for (at, octet) in (CHECKSUM_AT..).zip(checksum) {
        if let Some(to) = at.checked_sub(offset_bytes).and_then(|at| tcp.get_mut(at)) {
            *to = octet;
        }
    }
}

/// Writes the UDP header. `ip` starts at the IP header; bytes missing from it are zero.
fn udp_header(ip: &mut [u8], packet: &Packet, names: &Names) {
    let [source, destination] = ports(packet.flow, packet.source, names);
    let (ip, udp) = ip.split_at_mut(IPV4_BYTES);
    // Bytes that are not made, and those in other fragments, are all zero and do not
    // change the checksum.
    let length = (whole_bytes(packet) - IPV4_BYTES) as u16;
    udp[0..2].copy_from_slice(&source.to_be_bytes());
    udp[2..4].copy_from_slice(&destination.to_be_bytes());
    udp[4..6].copy_from_slice(&length.to_be_bytes());
    let pseudo = checksum::pseudo_header(&ip[12..20], UDP, usize::from(length));
    let checksum = match checksum::of_sum(pseudo + checksum::sum(udp)) {
        0 => 0xffff,
        other => other,
    };
    udp[6..8].copy_from_slice(&checksum.to_be_bytes());
}

fn icmp_header(icmp: &mut [u8], packet: &Packet, names: &Names) {
    const ECHO_REQUEST: u8 = 8;
    const ECHO_REPLY: u8 = 0;
    let forward = is_forward(packet.flow, packet.source, names);
    icmp[0] = if forward { ECHO_REQUEST } else { ECHO_REPLY };
    icmp[4..6].copy_from_slice(&packet.flow.0.to_be_bytes());
    icmp[6..8].copy_from_slice(&(packet.tag as u16).to_be_bytes());
    let checksum = checksum::of_sum(checksum::sum(icmp));
    icmp[2..4].copy_from_slice(&checksum.to_be_bytes());
}

/// Returns the length of the packet, or of the packet of which it is a fragment, in bytes.
fn whole_bytes(packet: &Packet) -> usize {
    usize::from(packet.bytes.max(packet.fragment.whole_bytes()))
}

/// Returns the address 10.0.0.1 + node; the limited broadcast address for all nodes.
pub(crate) fn ip_address(node: NodeId) -> [u8; 4] {
    match node {
        Packet::EVERYWHERE => [255; 4],
        node => (0x0a00_0000 + u32::from(node.0) + 1).to_be_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::FlowName;
    use lasthop_units::Instant;
    use proptest::prelude::*;

    fn names() -> Names {
        let flow = |kind| FlowName {
            name: "flow".into(),
            table: None,
            kind,
            saturated: false,
            experience: None,
            from: NodeId(0),
            to: NodeId(1),
            start: Instant::ZERO,
            stop: None,
        };
        let node = |index| crate::names::NodeName {
            name: format!("node-{index}"),
            address: MacAddr::local(index),
        };
        Names {
            nodes: vec![node(0), node(1)],
            flows: [FlowKind::Tcp, FlowKind::Udp, FlowKind::Ping].map(flow).to_vec(),
            ..Names::default()
        }
    }

    /// Packets of all kinds; most are alike, but for the tag.
    fn packets() -> impl Strategy<Value = Vec<(Packet, Option<Vec<u8>>)>> {
        let bytes = prop_oneof![0..60_u16, Just(52), Just(1_500), Just(1_500)];
        let tag = prop_oneof![Just(0), 0..4_u64, any::<u64>(), Just(u64::MAX), Just(0xffff)];
        let fragment = prop_oneof![
            6 => Just(Fragment::WHOLE),
            1 => Just(Fragment::new(0, true, 2_028)),
            1 => Just(Fragment::new(1_480, false, 2_028)),
        ];
        let class = (any::<bool>(), any::<bool>(), 0..4_usize);
        let header = proptest::option::of(proptest::collection::vec(any::<u8>(), 20..=60));
        let packet = (bytes, tag, fragment, 0..5_u16, 0..2_u16, class, header).prop_map(
            |(bytes, tag, fragment, flow, source, (capable, marked, category), header)| {
                // Fragments are not as short as the headers in them.
                let bytes = if fragment.is_whole() { bytes } else { 1_500 };
                let packet = Packet {
                    fragment,
                    flow: FlowId(if flow == 4 { FlowId::NONE.0 } else { flow }),
                    source: NodeId(source),
                    destination: if flow == 3 { Packet::EVERYWHERE } else { NodeId(1 - source) },
                    access_category: AccessCategory::ALL[category],
                    ecn_capable: capable,
                    ecn_marked: marked && capable,
                    ..Packet::new(tag, bytes, Instant::ZERO)
                };
                let header = header.filter(|_| flow == 0).map(|mut header| {
                    header.truncate(header.len() / 4 * 4);
                    header[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
                    header
                });
                (packet, header)
            },
        );
        proptest::collection::vec(packet, 1..40)
    }

    proptest! {
        /// Compares with frames that are made one by one.
        #[test]
        fn frames_of_alike_packets_are_right(packets in packets()) {
            let names = names();
            let mut frames = Frames::default();
            for (packet, header) in &packets {
                let mut segments = Segments::default();
                if let Some(header) = header {
                    segments.put(packet.flow, TcpHeader::new(packet.tag, header));
                }
                for (bytes_made, from) in [(0, 0), (0, HEADER_BYTES), (usize::MAX, 0)] {
                    let mut expected = Vec::new();
                    let header = header.as_deref();
                    let left_out = frame(packet, &names, header, bytes_made, &mut expected);
                    let mut found = vec![9];
                    let found_left_out =
                        frames.append(packet, &names, &segments, bytes_made, from, &mut found);
                    prop_assert_eq!(&found[1..], &expected[from..], "{:?}", packet);
                    prop_assert_eq!(found_left_out, left_out);
                }
            }
        }
    }
}
