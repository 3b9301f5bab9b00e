//! Addresses of datagrams, as reported by the driver that carries them. The
//! machines compare addresses and derive cookies from them (`node::addresses`), and
//! know nothing else about them. Leaves out how a driver sends to an address.

use crate::wire::NodeId;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use lasthop_units::MacAddr;

/// An address of the layer below the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and port of UDP.
    Udp(SocketAddr),
    /// An address of Ethernet.
    Mac(MacAddr),
    /// In virtual time: the node that transmitted the datagram.
    Node(NodeId),
}

impl Address {
    /// A representation in bytes that no other address has.
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
