//! Tests of IP headers against etherparse, another parser, with arbitrary packets,
//! and against the worked examples of RFC 1071 and RFC 1624. Reading is also tested
//! with arbitrary bytes: it must not panic.

use super::checksum::{fold, of_sum, sum, updated};
use super::*;
use alloc::vec::Vec;
use etherparse::{IpSlice, PacketBuilder};
use proptest::prelude::*;

/// RFC 1071, section 3: the sum of these bytes is ddf2.
#[test]
fn the_sum_of_the_rfc() {
    assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
}

/// RFC 1624, section 4: a header whose checksum is dd2f; its word 5555 becomes
/// 3285.
#[test]
fn the_update_of_the_rfc() {
    assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
}

/// Wikipedia, "IPv4 header checksum": the checksum of this header is b861.
#[test]
fn the_checksum_of_a_known_header() {
    let header = Ipv4 {
        dscp: 0,
        ecn: Ecn::NotCapable,
        total_bytes: 0x73,
        identification: 0,
        fragment_bits: Ipv4::DONT_FRAGMENT,
        time_to_live: 64,
        protocol: protocol::UDP,
        source: [192, 168, 0, 1],
        destination: [192, 168, 0, 199],
    };
    assert_eq!(header.to_bytes()[10..12], [0xb8, 0x61]);
}

#[derive(Clone, Copy, Debug)]
enum Transport {
    Tcp,
    Udp,
    Echo,
}

fn built(v6: bool, transport: Transport, ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let builder = if v6 {
        PacketBuilder::ipv6([1; 16], [2; 16], 20)
    } else {
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 20)
    };
    let mut bytes = Vec::new();
    let written = match (transport, v6) {
        (Transport::Tcp, _) => builder.tcp(ports[0], ports[1], 1, 2).write(&mut bytes, payload),
        (Transport::Udp, _) => builder.udp(ports[0], ports[1]).write(&mut bytes, payload),
        (Transport::Echo, false) => {
            builder.icmpv4_echo_request(ports[0], 1).write(&mut bytes, payload)
        }
        (Transport::Echo, true) => {
            builder.icmpv6_echo_request(ports[0], 1).write(&mut bytes, payload)
        }
    };
    written.expect("a vector takes it");
    bytes
}

fn any_transport() -> impl Strategy<Value = Transport> {
    prop_oneof![Just(Transport::Tcp), Just(Transport::Udp), Just(Transport::Echo)]
}

fn header_sum(packet: &[u8]) -> u16 {
    of_sum(sum(&packet[..IPV4_BYTES]))
}

proptest! {
    /// The other parser reads the same values, and both find every checksum
    /// correct.
    #[test]
    fn packets_are_read_as_etherparse_reads_them(
        v6: bool,
        transport in any_transport(),
        ports: [u16; 2],
        payload in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let bytes = built(v6, transport, ports, &payload);
        let view = View::new(&bytes).expect("it is a packet");
        let theirs = IpSlice::from_slice(&bytes).expect("they wrote it");
        prop_assert_eq!(view.addresses(), [theirs.source_addr(), theirs.destination_addr()]);
        let (protocol, upper) = view.upper();
        prop_assert_eq!(protocol, theirs.payload_ip_number().0);
        prop_assert_eq!(upper, theirs.payload().payload);
        let expected: Vec<u8> = match transport {
            Transport::Echo => ports[0].to_be_bytes().to_vec(),
            _ => [ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat(),
        };
        prop_assert_eq!(view.flow().ports, &expected);
        prop_assert!(!view.is_later_fragment());
        let pseudo = match (transport, v6) {
            (Transport::Echo, false) => 0,
            _ => checksum::pseudo_header(view.address_bytes(), protocol, upper.len()),
        };
        prop_assert_eq!(of_sum(pseudo + sum(upper)), 0);
        prop_assert!(v6 || header_sum(&bytes) == 0);
    }

    /// A written header has the values that the other parser reads.
    #[test]
    fn headers_are_written_as_etherparse_reads_them(
        dscp in 0..64u8,
        ecn in 0..4u8,
        payload in 0..200u16,
        identification: u16,
        offset in 0..0x1fff_u16,
        more: bool,
        protocol: u8,
        addresses: [u32; 2],
    ) {
        let [source, destination] = addresses.map(u32::to_be_bytes);
        let header = Ipv4 {
            dscp,
            ecn: Ecn::from_bits(ecn),
            total_bytes: IPV4_BYTES as u16 + payload,
            identification,
            fragment_bits: offset | u16::from(more) << 13,
            time_to_live: 64,
            protocol,
            source,
            destination,
        };
        let mut bytes = header.to_bytes().to_vec();
        bytes.resize(usize::from(header.total_bytes), 0);
        let theirs = etherparse::Ipv4HeaderSlice::from_slice(&bytes).expect("it is a header");
        prop_assert_eq!(theirs.dcp().value(), dscp);
        prop_assert_eq!(theirs.ecn().value(), ecn);
        prop_assert_eq!(theirs.total_len(), header.total_bytes);
        prop_assert_eq!(theirs.identification(), identification);
        prop_assert_eq!(theirs.fragments_offset().value(), offset);
        prop_assert_eq!(theirs.more_fragments(), more);
        prop_assert_eq!(theirs.source(), source);
        prop_assert_eq!(theirs.destination(), destination);
        prop_assert_eq!(theirs.to_header().calc_header_checksum(), theirs.header_checksum());
        let view = View::new(&bytes).expect("it is a packet");
        prop_assert_eq!((view.dscp(), view.ecn()), (dscp, header.ecn));
        prop_assert_eq!(view.is_later_fragment(), offset > 0);
        prop_assert_eq!(view.flow().ports.is_empty() || (offset == 0 && !more), true);
    }

    /// Only ECN-capable packets are marked, and IPv4's checksum stays correct.
    #[test]
    fn marks_keep_the_checksum_right(v6: bool, tos: u8, ports: [u16; 2]) {
        let mut bytes = built(v6, Transport::Udp, ports, &[1, 2, 3]);
        if v6 {
            (bytes[0], bytes[1]) = (0x60 | tos >> 4, tos << 4);
        } else {
            bytes[1] = tos;
            super::ipv4::set_checksum(&mut bytes[..IPV4_BYTES]);
        }
        let before = bytes.clone();
        let is_capable = tos & 0b11 != 0;
        prop_assert_eq!(mark_congestion(&mut bytes), is_capable);
        let after = View::new(&bytes).expect("it still is one");
        prop_assert_eq!(after.dscp(), tos >> 2);
        prop_assert_eq!(after.ecn() == Ecn::Congestion, is_capable);
        prop_assert!(v6 || header_sum(&bytes) == 0);
        prop_assert!(is_capable || bytes == before);
    }

    /// Sums of parts can be added, if all but the last have an even number of
    /// bytes.
    #[test]
    fn sums_add_up(bytes in proptest::collection::vec(any::<u8>(), 0..100), at in 0..50_usize) {
        let at = (2 * at).min(bytes.len() & !1);
        let (one, other) = bytes.split_at(at);
        let words = bytes.chunks(2).map(|word| {
            u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0))
        });
        prop_assert_eq!(fold(sum(one) + sum(other)), fold(words.sum()));
    }

    /// Arbitrary bytes do not cause a panic.
    #[test]
    fn any_bytes_are_read(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), first: u8) {
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        let view = View::new(&bytes);
        prop_assert_eq!(
            view.is_some(),
            matches!((first >> 4, bytes.len()), (4, 20..) | (6, 40..)) && !bytes.is_empty()
        );
        if let Some(view) = view {
            view.flow();
            view.addresses();
            view.is_later_fragment();
        }
        mark_congestion(&mut bytes);
    }
}

/// An IPv6 packet with extension headers, and fragments of one.
#[test]
fn extension_headers_are_looked_behind() {
    let mut packet = [0; 40].to_vec();
    packet[0] = 0x60;
    packet[6] = 0;
    packet.extend([60, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend([protocol::UDP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend([1, 2, 3, 4, 0, 8, 0, 0]);
    let view = View::new(&packet).expect("a packet");
    assert_eq!(view.upper().0, protocol::UDP);
    assert_eq!(view.flow().ports, [1, 2, 3, 4]);
    // Both fragments of a packet belong to one flow; only the second has no
    // transport header.
    for (bits, is_later) in [(1_u16, false), (8, true)] {
        let mut part = packet[..40].to_vec();
        part[6] = 44;
        part.extend([protocol::UDP, 0]);
        part.extend(bits.to_be_bytes());
        part.extend([0, 0, 0, 1, 1, 2, 3, 4]);
        let view = View::new(&part).expect("a packet");
        assert_eq!((view.is_later_fragment(), view.flow().ports), (is_later, &[][..]));
        assert_eq!(view.flow().protocol, 0);
    }
}

/// RFC 8200, 4: a header's length is in units of eight bytes beyond the first. Parsing ends after
/// more headers than real packets have.
#[test]
fn extension_headers_end() {
    let behind = |extensions: usize| {
        let mut packet = [0; 40].to_vec();
        packet[0] = 0x60;
        packet[6] = 60;
        for number in 1..=extensions {
            let next = if number == extensions { protocol::UDP } else { 60 };
            packet.extend([next, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
        }
        packet.extend([1, 2, 3, 4, 0, 8, 0, 0]);
        let (protocol, upper) = View::new(&packet).expect("a packet").upper();
        (protocol, upper.len())
    };
    assert_eq!(behind(1), (protocol::UDP, 8));
    assert_eq!(behind(4), (protocol::UDP, 8));
    assert_eq!(behind(5), (60, 24));
}

/// RFC 791, 3.1: the header's length is in words of four bytes, here six, because there is an
/// option.
#[test]
fn options_are_skipped() {
    let header = Ipv4 {
        dscp: 0,
        ecn: Ecn::NotCapable,
        total_bytes: 32,
        identification: 1,
        fragment_bits: Ipv4::DONT_FRAGMENT,
        time_to_live: 64,
        protocol: protocol::UDP,
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
    };
    let mut packet = header.to_bytes().to_vec();
    packet[0] = 0x46;
    packet.extend([1, 1, 1, 0]);
    packet.extend([0x12, 0x34, 0x56, 0x78, 0, 8, 0, 0]);
    let theirs = IpSlice::from_slice(&packet).expect("a packet");
    let view = View::new(&packet).expect("a packet");
    assert_eq!(view.version(), Version::V4);
    assert_eq!(view.upper(), (protocol::UDP, theirs.payload().payload));
    assert_eq!(view.flow().ports, [0x12, 0x34, 0x56, 0x78]);
}

/// Distinction of flows: ports of RFC 9293, 768, 4340, 9260 and 3828, identifiers of echoes (RFC
/// 792, 4443). Other messages and protocols have none, nor has a fragment.
#[test]
fn flows_are_told_apart_by_ports_and_identifiers() {
    let v4 = |protocol: u8, bits: u16, kind: u8| {
        let mut packet = [0; 28].to_vec();
        (packet[0], packet[9]) = (0x45, protocol);
        packet[6..8].copy_from_slice(&bits.to_be_bytes());
        packet[20..].copy_from_slice(&[kind, 2, 3, 4, 5, 6, 7, 8]);
        View::new(&packet).expect("a packet").flow().ports.to_vec()
    };
    for with_ports in [6, 17, 33, 132, 136] {
        assert_eq!(v4(with_ports, 0, 1), [1, 2, 3, 4], "protocol {with_ports}");
        assert_eq!(v4(with_ports, Ipv4::DONT_FRAGMENT, 1), [1, 2, 3, 4]);
        for bits in [1 << 13, 1, 0x100, 0x1fff] {
            assert_eq!(v4(with_ports, bits, 1), [], "a part: {bits:x}");
        }
    }
    for (icmp, echoes, others) in [(1, [0, 8], [3, 11]), (58, [128, 129], [1, 135])] {
        echoes.iter().for_each(|&kind| assert_eq!(v4(icmp, 0, kind), [5, 6], "{icmp} {kind}"));
        others.iter().for_each(|&kind| assert_eq!(v4(icmp, 0, kind), [], "{icmp} {kind}"));
    }
    for without in [0, 4, 47, 50] {
        assert_eq!(v4(without, 0, 8), [], "protocol {without}");
    }
}

#[test]
fn ecn_is_two_bits() {
    for bits in 0..4 {
        assert_eq!(Ecn::from_bits(bits).bits(), bits);
        assert_eq!(Ecn::from_bits(0xfc | bits).is_capable(), bits != 0);
    }
}
