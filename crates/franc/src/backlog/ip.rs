//! What a queue must know of an IP packet: which flow it belongs to, and how congestion is
//! marked in it. IPv4 (RFC 791), IPv6 (RFC 8200), ECN (RFC 3168).
//!
//! A flow is addresses, protocol and ports, or the identifier of an echo. Fragments
//! have no ports, so all of a packet's go by addresses alone. Whatever cannot be read is
//! one flow, and cannot be marked.

use core::hash::Hasher;
use siphasher::sip::SipHasher13;

const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// IPv6 extension headers that may come before the protocol (RFC 8200, 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;

/// As many of them are looked behind.
const EXTENSIONS_MAX: usize = 4;

const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;

/// Congestion Experienced, and the mask of the field (RFC 3168, 5).
const CE: u8 = 3;

/// A hash of the flow that `packet` belongs to. Whoever knows its keys can choose flows that
/// collide.
pub(super) fn flow_hash(keys: [u64; 2], packet: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(keys[0], keys[1]);
    match flow(packet) {
        Some(Flow { addresses, protocol, ports }) => {
            hasher.write(addresses);
            hasher.write(&[protocol]);
            hasher.write(ports);
        }
        None => hasher.write_u8(0),
    }
    hasher.finish()
}

/// Marks congestion, and says whether the packet can carry the mark.
pub(super) fn mark(packet: &mut [u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= IPV4_BYTES => mark_ipv4(packet),
        Some(6) if packet.len() >= IPV6_BYTES => {
            // The traffic class spans the first two bytes; its last bits are here.
            let capable = packet[1] >> 4 & CE != 0;
            packet[1] |= if capable { CE << 4 } else { 0 };
            capable
        }
        _ => false,
    }
}

fn mark_ipv4(packet: &mut [u8]) -> bool {
    if packet[1] & CE == 0 {
        return false;
    }
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let before = word(packet, 0);
    packet[1] |= CE;
    let after = word(packet, 0);
    // RFC 1624, equation 3: the new checksum is ~(~checksum + ~before + after).
    let mut sum = u32::from(!word(packet, 10)) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    true
}

struct Flow<'a> {
    addresses: &'a [u8],
    protocol: u8,
    ports: &'a [u8],
}

fn flow(packet: &[u8]) -> Option<Flow<'_>> {
    match packet.first()? >> 4 {
        4 => ipv4_flow(packet),
        6 => ipv6_flow(packet),
        _ => None,
    }
}

fn ipv4_flow(packet: &[u8]) -> Option<Flow<'_>> {
    let addresses = packet.get(12..IPV4_BYTES)?;
    // All of the field but "don't fragment": more fragments, or an offset.
    let fragment = packet[6] & 0x3f != 0 || packet[7] != 0;
    if fragment {
        return Some(Flow { addresses, protocol: 0, ports: &[] });
    }
    let (protocol, header) = (packet[9], usize::from(packet[0] & 0x0f) * 4);
    Some(Flow { addresses, protocol, ports: ports(protocol, packet.get(header..)?) })
}

fn ipv6_flow(packet: &[u8]) -> Option<Flow<'_>> {
    let addresses = packet.get(8..IPV6_BYTES)?;
    let (mut protocol, mut rest) = (packet[6], &packet[IPV6_BYTES..]);
    for _ in 0..EXTENSIONS_MAX {
        match (protocol, rest) {
            (HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS, &[next, length, ..]) => {
                let behind = rest.get((usize::from(length) + 1) * 8..);
                (protocol, rest) = (next, behind.unwrap_or(&[]));
            }
            _ => break,
        }
    }
    if protocol == FRAGMENT {
        return Some(Flow { addresses, protocol: 0, ports: &[] });
    }
    Some(Flow { addresses, protocol, ports: ports(protocol, rest) })
}

/// The bytes behind the IP header that tell flows apart.
fn ports(protocol: u8, transport: &[u8]) -> &[u8] {
    let bytes = match (protocol, transport.first()) {
        (TCP | UDP | DCCP | SCTP | UDP_LITE, _) => transport.get(..4),
        // Echo and its reply have an identifier.
        (ICMP, Some(0 | 8)) | (ICMPV6, Some(128 | 129)) => transport.get(4..6),
        _ => None,
    };
    bytes.unwrap_or(&[])
}
