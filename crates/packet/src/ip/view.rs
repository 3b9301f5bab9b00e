//! An IP packet, read in place: version, traffic class, addresses, transport protocol, ports, and
//! whether it is a fragment (RFC 791, RFC 8200). All accessors accept any bytes after a complete
//! fixed header. Left out: checks of lengths and checksums.

use super::protocol::{DCCP, ICMP, ICMPV6, SCTP, TCP, UDP, UDP_LITE};
use super::{Ecn, IPV4_BYTES, IPV6_BYTES};
use core::net::IpAddr;

/// IPv6 extension headers that may precede the transport header (RFC 8200, 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;

/// Number of extension headers that are skipped at most.
const EXTENSIONS_MAX: usize = 4;

/// Types of echo request and reply: ICMP, ICMPv6 (RFC 792, RFC 4443).
const ECHO: [u8; 2] = [0, 8];
const ECHO_V6: [u8; 2] = [128, 129];

/// The version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

/// An IP packet with a complete fixed header.
///
/// ```
/// use lasthop_packet::ip::{Version, View, protocol};
///
/// // IPv6 to a resolver: 40 bytes of header, then UDP.
/// let mut packet = [0; 48];
/// packet[0] = 0x60;
/// packet[6] = protocol::UDP;
/// packet[7] = 64;
/// packet[23] = 1;
/// packet[39] = 2;
/// packet[40..44].copy_from_slice(&[0x30, 0x39, 0, 53]);
/// let view = View::new(&packet).expect("a complete header");
/// assert_eq!(view.version(), Version::V6);
/// assert_eq!(view.addresses().map(|address| address.to_string()), ["::1", "::2"]);
/// assert_eq!((view.flow().protocol, view.flow().ports), (17, [0x30, 0x39, 0, 53].as_slice()));
/// assert!(View::new(&packet[..39]).is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    packet: &'a [u8],
    version: Version,
}

/// Properties that all packets of a flow share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow<'a> {
    /// Source and destination address.
    pub addresses: &'a [u8],
    /// Protocol number of the payload; 0 for fragments, which all belong to one
    /// flow.
    pub protocol: u8,
    /// Source and destination port, or the identifier of an echo, or no bytes.
    pub ports: &'a [u8],
}

impl<'a> View<'a> {
    /// Returns a view of `packet`, if it starts with a complete header of a known version.
    pub fn new(packet: &'a [u8]) -> Option<Self> {
        let (version, header_bytes) = match packet.first()? >> 4 {
            4 => (Version::V4, IPV4_BYTES),
            6 => (Version::V6, IPV6_BYTES),
            _ => return None,
        };
        (packet.len() >= header_bytes).then_some(Self { packet, version })
    }

    /// The version of IP.
    pub const fn version(self) -> Version {
        self.version
    }

    /// Type of service of IPv4 or traffic class of IPv6.
    pub const fn traffic_class(self) -> u8 {
        match self.version {
            Version::V4 => self.packet[1],
            Version::V6 => self.packet[0] << 4 | self.packet[1] >> 4,
        }
    }

    /// The ECN field (RFC 3168).
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.traffic_class())
    }

    /// Differentiated services code point, 0 to 63.
    pub const fn dscp(self) -> u8 {
        self.traffic_class() >> 2
    }

    /// Source and destination address as in the header: 8 or 32 bytes.
    pub fn address_bytes(self) -> &'a [u8] {
        match self.version {
            Version::V4 => &self.packet[12..IPV4_BYTES],
            Version::V6 => &self.packet[8..IPV6_BYTES],
        }
    }

    /// Source and destination address.
    pub fn addresses(self) -> [IpAddr; 2] {
        let (source, destination) = match self.version {
            Version::V4 => (12, 16),
            Version::V6 => (8, 24),
        };
        [source, destination].map(|at| match self.version {
            Version::V4 => IpAddr::from(self.array::<4>(at)),
            Version::V6 => IpAddr::from(self.array::<16>(at)),
        })
    }

    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        *self.packet[at..].first_chunk().expect("the fixed header is there")
    }

    /// Whether this is a fragment other than the first one, which has no transport header.
    pub fn is_later_fragment(self) -> bool {
        match self.version {
            Version::V4 => u16::from_be_bytes(self.array(6)) & 0x1fff != 0,
            Version::V6 => match self.upper() {
                (FRAGMENT, [_, _, high, low, ..]) => u16::from_be_bytes([*high, *low]) >> 3 != 0,
                _ => false,
            },
        }
    }

    /// Properties that the fragments of a packet share besides its addresses: protocol and
    /// identification (RFC 791, section 3.2; RFC 8200, section 4.5). `None` for a complete packet.
    pub fn fragment_of(self) -> Option<(u8, u32)> {
        if !self.is_fragment() {
            return None;
        }
        match self.version {
            Version::V4 => Some((self.packet[9], u16::from_be_bytes(self.array(4)).into())),
            Version::V6 => match self.upper().1 {
                &[next, _, _, _, a, b, c, d, ..] => Some((next, u32::from_be_bytes([a, b, c, d]))),
                _ => None,
            },
        }
    }

    /// Whether this is a fragment.
    fn is_fragment(self) -> bool {
        match self.version {
            // Every bit of the field except "don't fragment": more fragments, or an offset.
            Version::V4 => self.packet[6] & 0x3f != 0 || self.packet[7] != 0,
            Version::V6 => self.upper().0 == FRAGMENT,
        }
    }

    /// The protocol number of the payload, and the payload. In a fragment other
    /// than the first the payload does not start with a header; for an IPv6
    /// fragment the protocol is that of the fragment header.
    pub fn upper(self) -> (u8, &'a [u8]) {
        match self.version {
            Version::V4 => {
                let header = usize::from(self.packet[0] & 0x0f) * 4;
                (self.packet[9], self.packet.get(header..).unwrap_or(&[]))
            }
            Version::V6 => {
                let (mut protocol, mut rest) = (self.packet[6], &self.packet[IPV6_BYTES..]);
                for _ in 0..EXTENSIONS_MAX {
                    match (protocol, rest) {
                        (HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS, &[next, length, ..]) => {
                            let behind = rest.get((usize::from(length) + 1) * 8..);
                            (protocol, rest) = (next, behind.unwrap_or(&[]));
                        }
                        _ => break,
                    }
                }
                (protocol, rest)
            }
        }
    }

    /// The flow of the packet. Fragments have no ports, so all fragments are
    /// assigned by their addresses alone.
    pub fn flow(self) -> Flow<'a> {
        let addresses = self.address_bytes();
        if self.is_fragment() {
            return Flow { addresses, protocol: 0, ports: &[] };
        }
        let (protocol, transport) = self.upper();
        Flow { addresses, protocol, ports: ports(protocol, transport) }
    }
}

/// The bytes of a transport header that distinguish flows.
fn ports(protocol: u8, transport: &[u8]) -> &[u8] {
    let bytes = match (protocol, transport.first()) {
        (TCP | UDP | DCCP | SCTP | UDP_LITE, _) => transport.get(..4),
        (ICMP, Some(kind)) if ECHO.contains(kind) => transport.get(4..6),
        (ICMPV6, Some(kind)) if ECHO_V6.contains(kind) => transport.get(4..6),
        _ => None,
    };
    bytes.unwrap_or(&[])
}
