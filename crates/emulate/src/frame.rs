//! The facts that the machines need of a real Ethernet frame: its addresses, access category and
//! flow, and whether it may be marked.
//!
//! Reads the headers of IP, TCP, UDP and ICMP echo. User priority from DSCP after RFC 8325,
//! section 4, as in Linux's mac80211; ECN after RFC 3168. Leaves out VLAN tags and the ports of
//! later fragments.

use lasthop_packet::ip::protocol::{ICMP, TCP, UDP};
use lasthop_packet::ip::{self, Ecn, Version, View};
use lasthop_packet::{AccessCategory, Transport};
use lasthop_units::{MacAddr, fnv_1a};
use std::net::IpAddr;

/// Length of the Ethernet header: destination, source and type (IEEE 802.3, 3.1.1).
pub const HEADER_BYTES: usize = 14;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ICMP_ECHO_REPLY: u8 = 0;
const ICMP_ECHO_REQUEST: u8 = 8;

/// The headers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Destination MAC address.
    pub destination: MacAddr,
    /// Source MAC address.
    pub source: MacAddr,
    /// Length of the network-layer packet in bytes.
    pub packet_bytes: u16,
    /// The access category on the air.
    pub access_category: AccessCategory,
    /// Hash of addresses, protocol and ports.
    pub flow_hash: u32,
    /// Source and destination address of IP; `None`: it is not IP.
    pub addresses: Option<[IpAddr; 2]>,
    /// Protocol above IP.
    pub protocol: u8,
    /// Source and destination port, or the identifier of an ICMP echo twice.
    pub ports: Option<[u16; 2]>,
    /// The transport protocol, of later fragments too.
    pub transport: Transport,
    /// Whether the packet has ECT(0), ECT(1) or CE.
    pub ecn_capable: bool,
    /// Whether it has ECT(1).
    pub ecn_l4s: bool,
}

impl Header {
    /// Reads the headers; `None` for bytes that are no Ethernet frame.
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
            ecn_l4s: false,
        };
        let version = match u16::from_be_bytes([t0, t1]) {
            ETHERTYPE_IPV4 => Some(Version::V4),
            ETHERTYPE_IPV6 => Some(Version::V6),
            _ => None,
        };
        if let Some(view) = View::new(packet)
            && version == Some(view.version())
        {
            header.read(view);
        }
        Some(header)
    }

    /// Reads the headers of an IP packet.
    fn read(&mut self, packet: View<'_>) {
        self.access_category = AccessCategory::from_dscp(packet.dscp());
        self.ecn_capable = packet.ecn().is_capable();
        self.ecn_l4s = packet.ecn() == Ecn::Capable1;
        let (protocol, transport) = packet.upper();
        let transport = if packet.is_later_fragment() { &[] } else { transport };
        let word = |at: usize| {
            let bytes = transport.get(at..at + 2)?;
            Some(u16::from_be_bytes([bytes[0], bytes[1]]))
        };
        self.protocol = protocol;
        self.addresses = Some(packet.addresses());
        if protocol == TCP {
            self.transport = Transport::Tcp;
        }
        self.ports = match (protocol, transport) {
            (TCP | UDP, _) => {
                word(0).zip(word(2)).map(|(source, destination)| [source, destination])
            }
            (ICMP, [ICMP_ECHO_REQUEST | ICMP_ECHO_REPLY, ..]) => word(4).map(|id| [id, id]),
            _ => None,
        };
        let [source, destination] = self.ports.unwrap_or_default();
        let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
        self.flow_hash = hash(&[packet.address_bytes(), &[protocol], &ports]);
    }
}

/// Returns the type of service byte for which [`Header::parse`] returns `category`: CS1,
/// default, AF41, EF.
pub const fn type_of_service(category: AccessCategory) -> u8 {
    category.dscp() << 2
}

/// Sets "congestion experienced" in the IP packet of a frame, if it is ECN-capable.
pub fn mark_congestion(frame: &mut [u8]) {
    // What another EtherType carries may look like an IP packet.
    let is_capable = Header::parse(frame).is_some_and(|header| header.ecn_capable);
    if let Some((_, packet)) = frame.split_at_mut_checked(HEADER_BYTES).filter(|_| is_capable) {
        ip::mark_congestion(packet);
    }
}

/// FNV-1a, its upper bits folded down.
fn hash(pieces: &[&[u8]]) -> u32 {
    let hash = fnv_1a(pieces.iter().copied().flatten().copied());
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
        let mut example = EXAMPLE;
        // ECT(0).
        (example[1], example[11]) = (2, example[11] - 2);
        let mut frame = ethernet(ETHERTYPE_IPV4, &example);
        assert!(checksum_is_right(&frame[14..]));
        mark_congestion(&mut frame);
        assert_eq!(frame[15] & 3, 3);
        assert!(checksum_is_right(&frame[14..]));
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
