//! Ethernet frames (without FCS) for packets whose bytes do not exist: IPv4
//! (RFC 791) with UDP, or an ICMP echo in a ping flow. Node n is 10.0.0.0 + n + 1,
//! flow f goes from port 45000 + f to port 55000 + f; the tag is the IP
//! identification and the first eight bytes of the payload; the access category
//! and ECN are the traffic class. Lengths and checksums are right. TCP flows
//! are written as UDP too: their sequence numbers are not known.

use crate::names::{FlowKind, Names};
use lasthop_packet::{AccessCategory, FlowId, Fragment, NodeId, Packet};
use lasthop_units::MacAddr;

/// EtherType of IPv4.
const IPV4: u16 = 0x0800;
/// EtherType for local experiments (IEEE 802-2014, 9.2.4).
const EXPERIMENTAL: u16 = 0x88b5;
const IP_HEADER_BYTES: usize = 20;
/// UDP, and ICMP echo.
const TRANSPORT_HEADER_BYTES: usize = 8;
const ICMP: u8 = 1;
const UDP: u8 = 17;
/// The flag DF (RFC 791, section 3.1).
const DONT_FRAGMENT: u16 = 1 << 14;
/// For experiments (RFC 3692): a packet too short for UDP.
const EXPERIMENT: u8 = 253;
/// Ports of traffic that belongs to no flow: discard (RFC 863).
const DISCARD: u16 = 9;

/// Length of destination, source and EtherType.
pub(crate) const HEADER_BYTES: usize = 14;

/// The frame of a packet.
pub(crate) fn frame(packet: &Packet, names: &Names) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER_BYTES + usize::from(packet.bytes));
    frame.extend_from_slice(&node_address(packet.destination, names).0);
    frame.extend_from_slice(&node_address(packet.source, names).0);
    if usize::from(packet.bytes) < IP_HEADER_BYTES {
        frame.extend_from_slice(&EXPERIMENTAL.to_be_bytes());
        frame.resize(HEADER_BYTES + usize::from(packet.bytes), 0);
        return frame;
    }
    frame.extend_from_slice(&IPV4.to_be_bytes());
    let kind = names.flows.get(usize::from(packet.flow.0)).map(|flow| flow.kind);
    let protocol = match kind {
        _ if whole_bytes(packet) < IP_HEADER_BYTES + TRANSPORT_HEADER_BYTES => EXPERIMENT,
        Some(FlowKind::Ping) => ICMP,
        _ => UDP,
    };
    ip_header(&mut frame, packet, protocol);
    frame.resize(HEADER_BYTES + usize::from(packet.bytes), 0);
    let ip = HEADER_BYTES..HEADER_BYTES + IP_HEADER_BYTES;
    let transport = ip.end;
    // What follows the IP header of later parts is payload.
    if packet.fragment.offset_bytes() > 0 {
        return frame;
    }
    let payload = transport + TRANSPORT_HEADER_BYTES;
    if let Some(room) = frame.get_mut(payload..payload + 8) {
        room.copy_from_slice(&packet.tag.to_be_bytes());
    }
    let forward =
        names.flows.get(usize::from(packet.flow.0)).is_none_or(|flow| flow.from == packet.source);
    match protocol {
        UDP => udp_header(&mut frame[ip.start..], packet, forward),
        ICMP => icmp_header(&mut frame[transport..], packet, forward),
        _ => {}
    }
    frame
}

/// The address of a node's interface; broadcast for all of them.
pub(crate) fn node_address(node: NodeId, names: &Names) -> MacAddr {
    match node {
        Packet::EVERYWHERE => MacAddr::BROADCAST,
        node => names.nodes.get(node.index()).map_or(MacAddr::default(), |n| n.address),
    }
}

fn ip_header(frame: &mut Vec<u8>, packet: &Packet, protocol: u8) {
    let ecn = match (packet.ecn_marked, packet.ecn_capable) {
        (true, _) => 3,
        (false, true) => 2,
        (false, false) => 0,
    };
    let start = frame.len();
    frame.extend_from_slice(&[0x45, dscp(packet.access_category) << 2 | ecn]);
    frame.extend_from_slice(&packet.bytes.to_be_bytes());
    frame.extend_from_slice(&(packet.tag as u16).to_be_bytes());
    let part = match packet.fragment {
        Fragment::WHOLE => DONT_FRAGMENT,
        part => part.header_bits(),
    };
    frame.extend_from_slice(&part.to_be_bytes());
    // A TTL of 64; the checksum comes last.
    frame.extend_from_slice(&[64, protocol, 0, 0]);
    frame.extend_from_slice(&ip_address(packet.source));
    frame.extend_from_slice(&ip_address(packet.destination));
    let checksum = checksum(0, &frame[start..]);
    frame[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
}

/// `ip` begins at the IP header and ends with the packet.
fn udp_header(ip: &mut [u8], packet: &Packet, forward: bool) {
    let (client, server) = match packet.flow {
        FlowId::NONE => (DISCARD, DISCARD),
        FlowId(index) => (45_000u16.wrapping_add(index), 55_000u16.wrapping_add(index)),
    };
    let (source, destination) = if forward { (client, server) } else { (server, client) };
    let (ip, udp) = ip.split_at_mut(IP_HEADER_BYTES);
    // All bytes that other parts have are zero, and count for nothing.
    let length = (whole_bytes(packet) - IP_HEADER_BYTES) as u16;
    udp[0..2].copy_from_slice(&source.to_be_bytes());
    udp[2..4].copy_from_slice(&destination.to_be_bytes());
    udp[4..6].copy_from_slice(&length.to_be_bytes());
    // The pseudo header: addresses, protocol, length (RFC 768).
    let pseudo = sum(u32::from(UDP) + u32::from(length), &ip[12..20]);
    let checksum = match checksum(pseudo, udp) {
        0 => 0xffff,
        other => other,
    };
    udp[6..8].copy_from_slice(&checksum.to_be_bytes());
}

fn icmp_header(icmp: &mut [u8], packet: &Packet, forward: bool) {
    const ECHO_REQUEST: u8 = 8;
    const ECHO_REPLY: u8 = 0;
    icmp[0] = if forward { ECHO_REQUEST } else { ECHO_REPLY };
    icmp[4..6].copy_from_slice(&packet.flow.0.to_be_bytes());
    icmp[6..8].copy_from_slice(&(packet.tag as u16).to_be_bytes());
    let checksum = checksum(0, icmp);
    icmp[2..4].copy_from_slice(&checksum.to_be_bytes());
}

/// Length of the packet, or of that which it is a part of.
fn whole_bytes(packet: &Packet) -> usize {
    usize::from(packet.bytes.max(packet.fragment.whole_bytes()))
}

/// 10.0.0.0 + node + 1; the limited broadcast for all nodes.
fn ip_address(node: NodeId) -> [u8; 4] {
    match node {
        Packet::EVERYWHERE => [255; 4],
        node => (0x0a00_0000 + u32::from(node.0) + 1).to_be_bytes(),
    }
}

/// Code points that map to the category's user priority (RFC 8325).
fn dscp(access_category: AccessCategory) -> u8 {
    match access_category {
        AccessCategory::Background => 8,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 34,
        AccessCategory::Voice => 46,
    }
}

/// The Internet checksum (RFC 1071) on top of a sum.
fn checksum(start: u32, bytes: &[u8]) -> u16 {
    let mut total = sum(start, bytes);
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

/// At most 65 535 bytes: no overflow.
fn sum(start: u32, bytes: &[u8]) -> u32 {
    bytes.chunks(2).fold(start, |sum, pair| {
        sum + (u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_rfc_1071() {
        // The sum of the example in section 3 is 0xddf2.
        assert_eq!(checksum(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }
}
