//! Real bytes for simulated packets: an IPv4 header (RFC 791) with the flow's addresses
//! and ports, a number that tells packets apart, and a filling that depends on it, so
//! that a byte out of place shows. ECN bits are the packet's (RFC 3168).

use lasthop_units::Identity;
use lasthop_wifi::{Packet, Transport};

/// Header, ports and number.
const BYTES_MIN: usize = 28;
const HEADER_BYTES: usize = 20;
const NUMBER_AT: usize = 24;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ECN_CAPABLE: u8 = 0b10;
const ECN_MARKED: u8 = 0b11;

/// The packet as bytes; `nodes` are those of the network.
///
/// # Panics
/// If it is shorter than the number needs; sources and fragments make none.
pub fn of(packet: &Packet, number: u32, nodes: &[Identity]) -> Vec<u8> {
    let length = usize::from(packet.bytes);
    assert!(length >= BYTES_MIN, "a packet of {length} bytes has no room for its number");
    let mut bytes = vec![0; length];
    let ecn = match packet {
        Packet { ecn_marked: true, .. } => ECN_MARKED,
        Packet { ecn_capable: true, .. } => ECN_CAPABLE,
        _ => 0,
    };
    let protocol = match packet.transport {
        Transport::Tcp => TCP,
        Transport::Other => UDP,
    };
    bytes[..4].copy_from_slice(&[0x45, ecn, packet.bytes.to_be_bytes()[0], packet.bytes as u8]);
    bytes[4..6].copy_from_slice(&(number as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&packet.fragment.header_bits().to_be_bytes());
    (bytes[8], bytes[9]) = (64, protocol);
    bytes[12..16].copy_from_slice(&address(nodes, packet.source));
    bytes[16..20].copy_from_slice(&address(nodes, packet.destination));
    let checksum = checksum(&bytes[..HEADER_BYTES]);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes[20..24].copy_from_slice(&packet.flow_hash.to_be_bytes());
    bytes[NUMBER_AT..BYTES_MIN].copy_from_slice(&number.to_be_bytes());
    let mut state = u64::from(number) << 32 | 1;
    for chunk in bytes[BYTES_MIN..].chunks_mut(8) {
        state = next(state);
        chunk.copy_from_slice(&state.to_be_bytes()[..chunk.len()]);
    }
    bytes
}

/// The number of a packet that [`of`] made.
pub fn number(bytes: &[u8]) -> Option<u32> {
    let number = bytes.get(NUMBER_AT..BYTES_MIN)?;
    Some(u32::from_be_bytes(number.try_into().expect("it has four bytes")))
}

/// A queue on the way marked it "congestion experienced".
pub fn is_marked(bytes: &[u8]) -> bool {
    bytes.get(1).is_some_and(|tos| tos & 0b11 == ECN_MARKED)
}

/// An address by which a queue tells flows apart. Nothing is routed by it, so two
/// nodes may have the same.
fn address(nodes: &[Identity], node: u16) -> [u8; 4] {
    let [_, high, middle, low] = nodes[usize::from(node)].hash().to_be_bytes();
    [10, high, middle, low]
}

/// The header's checksum, its own field being zero.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A xorshift step: any change of the state changes what follows.
fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ state << 17
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Instant;

    /// The example of RFC 1071's arithmetic that everybody uses.
    #[test]
    fn the_checksum_of_a_known_header() {
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0x00,
            0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(checksum(&header), 0xb861);
    }

    #[test]
    fn packets_differ_in_every_part() {
        let packet = Packet { source: 1, destination: 2, ..Packet::new(0, 600, Instant::ZERO) };
        let nodes = ["a", "b", "c"].map(Identity::of);
        let (one, other) = (of(&packet, 1, &nodes), of(&packet, 2, &nodes));
        assert_eq!((one.len(), number(&one), number(&other)), (600, Some(1), Some(2)));
        let differ = |range: core::ops::Range<usize>| one[range.clone()] != other[range];
        assert!((28..600).step_by(8).all(|at| differ(at..(at + 8).min(600))));
        assert!(!is_marked(&one));
        assert!(is_marked(&of(&Packet { ecn_marked: true, ..packet }, 1, &nodes)));
        assert_eq!(number(&one[..27]), None);
    }
}
