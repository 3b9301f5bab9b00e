//! Makes Ethernet frames (without FCS) for packets without bytes: IPv4 (RFC 791) with TCP in a TCP
//! flow, ICMP echo in a ping flow, and UDP in others. Node n has the address 10.0.0.1 + n; flow f
//! uses source port 45000 + f and destination port 55000 + f; its further connections at a time have
//! destination ports from 10001 on. The tag is the IP identification, and
//! the first eight bytes of the payload except under TCP, where all are zero; access category and
//! ECN are the traffic class; lengths and checksums are correct. A TCP packet with an unknown
//! segment, and a packet too short for an IP or transport header, have protocol numbers for
//! experiments.

use crate::names::{FlowKind, Names};
use crate::segments::Segments;
use lasthop_hosts::connection_of;
use lasthop_packet::ip::protocol::{EXPERIMENT, ICMP, TCP, UDP};
use lasthop_packet::ip::{IPV4_BYTES, Ipv4, checksum};
use lasthop_packet::{FlowId, Fragment, NodeId, Packet};
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

/// Appends the frame for a packet, and returns the number of bytes left out at its end; `segments`
/// has the headers of TCP packets. The payload is zero after the tag. Only its first 16 bytes are
/// made, and none under TCP, unless the frame would be shorter than `bytes_made`. Bytes left out
/// count as zero, and all checksums are those of the whole frame.
pub(crate) fn frame(
    packet: &Packet,
    names: &Names,
    segments: &Segments,
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
    let segment = segments.get(packet);
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

/// Returns the TCP header of the segment with this tag from `source`, with checksum 0.
pub(crate) fn segment(
    flow: FlowId,
    tag: u64,
    source: NodeId,
    header: &Header<'_>,
    names: &Names,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(header.header_bytes());
    let mut ports = ports(flow, source, names);
    let connection = connection_of(tag);
    if connection > 0 {
        let at_end = usize::from(is_forward(flow, source, names));
        ports[at_end] = FURTHER_CONNECTIONS + u16::from(connection);
    }
    header.emit(ports, &mut bytes);
    bytes
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
