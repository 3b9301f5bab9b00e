//! What a real Ethernet frame means to the machines: where it goes, how
//! important it is, which flow it belongs to, whether it may be marked.
//!
//! Looks at the fixed headers of IPv4 (RFC 791), IPv6 (RFC 8200), TCP, UDP and
//! ICMP echo. User priority from DSCP after RFC 8325, section 4, as in Linux's
//! mac80211; ECN after RFC 3168. Leaves out VLAN tags, IPv6 extension headers
//! and the ports of later fragments.

use lasthop_packet::{AccessCategory, Transport};
use lasthop_units::MacAddr;
use std::net::IpAddr;

/// Destination, source and type (IEEE 802.3, 3.1.1).
pub const HEADER_BYTES: usize = 14;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP_ECHO_REPLY: u8 = 0;
const ICMP_ECHO_REQUEST: u8 = 8;
/// ECN field of IP headers (RFC 3168, section 5).
const ECN_MASK: u8 = 3;
const ECN_CE: u8 = 3;

/// A frame's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Destination address.
    pub destination: MacAddr,
    /// Source address.
    pub source: MacAddr,
    /// Bytes of the network-layer packet.
    pub packet_bytes: u16,
    /// Priority on the air.
    pub access_category: AccessCategory,
    /// Hash of addresses, protocol and ports.
    pub flow_hash: u32,
    /// Source and destination address of IP.
    pub addresses: Option<[IpAddr; 2]>,
    /// Protocol above IP.
    pub protocol: u8,
    /// Source and destination port, or the identifier of an ICMP echo twice.
    pub ports: Option<[u16; 2]>,
    /// The transport protocol, of later fragments too.
    pub transport: Transport,
    /// Marked ECT(0), ECT(1) or CE.
    pub ecn_capable: bool,
}

impl Header {
    /// `None` for what is no Ethernet frame.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let (head, packet) = frame.split_at_checked(HEADER_BYTES)?;
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *head else { return None };
        let mut header = Self {
            destination: MacAddr([d0, d1, d2, d3, d4, d5]),
            source: MacAddr([s0, s1, s2, s3, s4, s5]),
            packet_bytes: packet.len().try_into().ok()?,
            access_category: AccessCategory::BestEffort,
            flow_hash: hash(&[head]),
            addresses: None,
            protocol: 0,
            ports: None,
            transport: Transport::Other,
            ecn_capable: false,
        };
        match u16::from_be_bytes([t0, t1]) {
            ETHERTYPE_IPV4 => header.read_ipv4(packet),
            ETHERTYPE_IPV6 => header.read_ipv6(packet),
            _ => None,
        };
        Some(header)
    }

    fn read_ipv4(&mut self, packet: &[u8]) -> Option<()> {
        let fixed = packet.get(..20)?;
        let transport = packet.get(usize::from(fixed[0] & 0xf) * 4..);
        let fragment_offset = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1fff;
        self.read_type_of_service(fixed[1]);
        let transport = transport.filter(|_| fragment_offset == 0);
        self.read_transport(fixed[9], &fixed[12..20], transport);
        Some(())
    }

    fn read_ipv6(&mut self, packet: &[u8]) -> Option<()> {
        let (fixed, transport) = packet.split_at_checked(40)?;
        self.read_type_of_service(fixed[0] << 4 | fixed[1] >> 4);
        self.read_transport(fixed[6], &fixed[8..40], Some(transport));
        Some(())
    }

    fn read_type_of_service(&mut self, byte: u8) {
        self.access_category = AccessCategory::from_user_priority(user_priority(byte >> 2));
        self.ecn_capable = byte & ECN_MASK != 0;
    }

    fn read_transport(&mut self, protocol: u8, addresses: &[u8], transport: Option<&[u8]>) {
        let word = |at: usize| {
            let bytes = transport?.get(at..at + 2)?;
            Some(u16::from_be_bytes([bytes[0], bytes[1]]))
        };
        self.protocol = protocol;
        self.addresses = match *addresses {
            [a, b, c, d, e, f, g, h] => Some([[a, b, c, d], [e, f, g, h]].map(IpAddr::from)),
            _ => addresses.split_at_checked(16).and_then(|(source, destination)| {
                let address = |bytes| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from);
                Some([address(source)?, address(destination)?])
            }),
        };
        if protocol == TCP {
            self.transport = Transport::Tcp;
        }
        self.ports = match (protocol, transport) {
            (TCP | UDP, _) => {
                word(0).zip(word(2)).map(|(source, destination)| [source, destination])
            }
            (ICMP, Some([ICMP_ECHO_REQUEST | ICMP_ECHO_REPLY, ..])) => word(4).map(|id| [id, id]),
            _ => None,
        };
        let [source, destination] = self.ports.unwrap_or_default();
        let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
        self.flow_hash = hash(&[addresses, &[protocol], &ports]);
    }
}

/// The type of service byte that puts a packet into `category` on the way
/// through [`Header::parse`]: CS1, default, AF41, EF.
pub const fn type_of_service(category: AccessCategory) -> u8 {
    match category {
        AccessCategory::Background => 8 << 2,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 34 << 2,
        AccessCategory::Voice => 46 << 2,
    }
}

/// Sets "congestion experienced" in an IP packet, and repairs IPv4's checksum.
pub fn mark_congestion(frame: &mut [u8]) {
    let Some((head, packet)) = frame.split_at_mut_checked(HEADER_BYTES) else { return };
    match (u16::from_be_bytes([head[12], head[13]]), packet) {
        (ETHERTYPE_IPV4, packet) if packet.len() >= 20 => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= ECN_CE;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            packet[10..12].copy_from_slice(&update_checksum(checksum, before, after).to_be_bytes());
        }
        (ETHERTYPE_IPV6, packet) if packet.len() >= 40 => packet[1] |= ECN_CE << 4,
        _ => {}
    }
}

/// RFC 1624, equation 3.
fn update_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// RFC 8325, section 4.3: the three upper bits, but for what they would put into the wrong class.
const fn user_priority(dscp: u8) -> u8 {
    match dscp {
        10 | 12 | 14 | 16 => 0, // AF1x, CS2
        18 | 20 | 22 => 3,      // AF2x
        24 | 26 | 28 | 30 => 4, // CS3, AF3x
        44 | 46 => 6,           // VA, EF
        48 => 7,                // CS6
        _ => dscp >> 3,
    }
}

/// FNV-1a, its upper bits folded down.
fn hash(pieces: &[&[u8]]) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in pieces.iter().copied().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The IPv4 header of RFC 1071's usual worked example (Wikipedia, "IPv4 header checksum"):
    /// its checksum is 0xb861.
    const EXAMPLE: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];

    fn ethernet(kind: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = [MacAddr::local(1).0, MacAddr::local(0).0].concat();
        frame.extend(kind.to_be_bytes());
        frame.extend(packet);
        frame
    }

    fn checksum_is_right(packet: &[u8]) -> bool {
        let words = packet[..20].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }

    #[test]
    fn a_datagram_is_recognised() {
        let frame = ethernet(ETHERTYPE_IPV4, &[&EXAMPLE[..], &[0x4e, 0x20, 0x00, 0x35]].concat());
        let header = Header::parse(&frame).unwrap();
        assert_eq!(header.destination, MacAddr::local(1));
        assert_eq!(header.packet_bytes, 24);
        assert_eq!(header.ports, Some([20_000, 53]));
        let addresses = header.addresses.map(|pair| pair.map(|address| address.to_string()));
        assert_eq!(addresses, Some(["192.168.0.1".into(), "192.168.0.199".into()]));
        assert_eq!(header.protocol, UDP);
        assert!(!header.ecn_capable);
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut frame = ethernet(ETHERTYPE_IPV4, &EXAMPLE);
        assert!(checksum_is_right(&frame[14..]));
        mark_congestion(&mut frame);
        assert_eq!(frame[15] & 3, 3);
        assert!(checksum_is_right(&frame[14..]));
    }

    /// RFC 8325, figure 1.
    #[test]
    fn user_priorities_are_those_of_rfc_8325() {
        let table = [
            (48, 7),
            (56, 7),
            (46, 6),
            (44, 6),
            (40, 5),
            (34, 4),
            (36, 4),
            (38, 4),
            (32, 4),
            (26, 4),
            (24, 4),
            (18, 3),
            (22, 3),
            (16, 0),
            (10, 0),
            (0, 0),
            (8, 1),
        ];
        for (dscp, priority) in table {
            assert_eq!(user_priority(dscp), priority, "DSCP {dscp}");
        }
    }

    #[test]
    fn a_category_comes_back_from_its_type_of_service() {
        for category in AccessCategory::ALL {
            let mut packet = EXAMPLE;
            packet[1] = type_of_service(category);
            let frame = ethernet(ETHERTYPE_IPV4, &packet);
            assert_eq!(Header::parse(&frame).unwrap().access_category, category);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(kind in prop_oneof![Just(0x0800u16), Just(0x86dd), any::<u16>()],
                                  packet in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut frame = ethernet(kind, &packet);
            let header = Header::parse(&frame).unwrap();
            prop_assert_eq!(usize::from(header.packet_bytes), packet.len());
            mark_congestion(&mut frame);
            prop_assert_eq!(frame.len(), packet.len() + 14);
        }
    }
}
