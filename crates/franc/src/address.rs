//! Where a datagram came from or goes to, as the driver that carries it says. The machines
//! compare addresses and bind cookies to them; they know nothing else of them.

use crate::wire::NodeId;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use lasthop_units::MacAddr;

/// An address below the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// UDP.
    Udp(SocketAddr),
    /// Ethernet.
    Mac(MacAddr),
    /// Virtual time: the node that transmitted it.
    Node(NodeId),
}

impl Address {
    /// Bytes that are those of no other address.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Udp(address) => {
                let ip = match address.ip() {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                    IpAddr::V6(ip) => ip,
                };
                let mut bytes = ip.octets().to_vec();
                bytes.extend(address.port().to_be_bytes());
                bytes
            }
            Self::Mac(mac) => mac.0.to_vec(),
            Self::Node(node) => [node.0].to_vec(),
        }
    }
}
