//! An IP packet, read where it lies.

use super::protocol::{DCCP, ICMP, ICMPV6, SCTP, TCP, UDP, UDP_LITE};
use super::{Ecn, IPV4_BYTES, IPV6_BYTES};
use core::net::IpAddr;

/// IPv6 extension headers that may stand before the transport header (RFC 8200, 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;

/// At most this many of them are looked behind.
const EXTENSIONS_MAX: usize = 4;

/// Echo and its reply: ICMP, ICMPv6 (RFC 792, RFC 4443).
const ECHO: [u8; 2] = [0, 8];
const ECHO_V6: [u8; 2] = [128, 129];

/// Which IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// An IP packet of whose fixed header every byte is there.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    packet: &'a [u8],
    version: Version,
}

/// What packets of a flow have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow<'a> {
    /// Source and destination address.
    pub addresses: &'a [u8],
    /// Protocol above IP; 0 of a fragment, all of which are of one flow.
    pub protocol: u8,
    /// Source and destination port, the identifier of an echo, or nothing.
    pub ports: &'a [u8],
}

impl<'a> View<'a> {
    /// `packet`, if it begins with a header of a known version.
    pub fn new(packet: &'a [u8]) -> Option<Self> {
        let (version, header_bytes) = match packet.first()? >> 4 {
            4 => (Version::V4, IPV4_BYTES),
            6 => (Version::V6, IPV6_BYTES),
            _ => return None,
        };
        (packet.len() >= header_bytes).then_some(Self { packet, version })
    }

    /// Which IP it is.
    pub const fn version(self) -> Version {
        self.version
    }

    /// IPv4's type of service or IPv6's traffic class.
    pub const fn traffic_class(self) -> u8 {
        match self.version {
            Version::V4 => self.packet[1],
            Version::V6 => self.packet[0] << 4 | self.packet[1] >> 4,
        }
    }

    /// The ECN field.
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.traffic_class())
    }

    /// Differentiated services code point, 0 to 63.
    pub const fn dscp(self) -> u8 {
        self.traffic_class() >> 2
    }

    /// Source and destination address as they lie there, 8 or 32 bytes.
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

    /// Where it is a part of a packet, and not the first: there is no transport header in it.
    pub fn is_later_fragment(self) -> bool {
        match self.version {
            Version::V4 => u16::from_be_bytes(self.array(6)) & 0x1fff != 0,
            Version::V6 => match self.upper() {
                (FRAGMENT, [_, _, high, low, ..]) => u16::from_be_bytes([*high, *low]) >> 3 != 0,
                _ => false,
            },
        }
    }

    /// Whether it is a part of a packet.
    fn is_fragment(self) -> bool {
        match self.version {
            // All of the field but "don't fragment": more fragments, or an offset.
            Version::V4 => self.packet[6] & 0x3f != 0 || self.packet[7] != 0,
            Version::V6 => self.upper().0 == FRAGMENT,
        }
    }

    /// Protocol above IP, and the bytes of it. Of a later fragment there is no header in them;
    /// of an IPv6 fragment the protocol is that of the fragment header.
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

    /// The flow it belongs to. Fragments have no ports, so all of a packet's go by addresses
    /// alone.
    pub fn flow(self) -> Flow<'a> {
        let addresses = self.address_bytes();
        if self.is_fragment() {
            return Flow { addresses, protocol: 0, ports: &[] };
        }
        let (protocol, transport) = self.upper();
        Flow { addresses, protocol, ports: ports(protocol, transport) }
    }
}

/// The bytes of a transport header that tell flows apart.
fn ports(protocol: u8, transport: &[u8]) -> &[u8] {
    let bytes = match (protocol, transport.first()) {
        (TCP | UDP | DCCP | SCTP | UDP_LITE, _) => transport.get(..4),
        (ICMP, Some(kind)) if ECHO.contains(kind) => transport.get(4..6),
        (ICMPV6, Some(kind)) if ECHO_V6.contains(kind) => transport.get(4..6),
        _ => None,
    };
    bytes.unwrap_or(&[])
}
