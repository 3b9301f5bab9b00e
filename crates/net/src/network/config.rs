//! What a network is made of.

use crate::cable::CableConfig;
use alloc::vec::Vec;
use lasthop_packet::NodeId;
use lasthop_units::{Duration, Identity};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::CellConfig;

/// Everything that [`Network::new`](super::Network::new) needs.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// The nodes; the index is the [`NodeId`].
    pub nodes: Vec<NodeConfig>,
    /// The Wi-Fi cell; hosts and wires alone make a link emulator.
    pub cell: Option<CellConfig>,
    /// The wired links.
    pub wires: Vec<WiredLink>,
}

/// One node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Whose random streams the wires that begin and end here draw from; no two
    /// nodes of a network share one.
    pub identity: Identity,
    /// Its station in the cell, if it has Wi-Fi.
    pub station: Option<StationId>,
    /// Longest packet that it puts on a link, at least
    /// [`MTU_BYTES_MIN`](crate::fragment::MTU_BYTES_MIN); longer ones are cut. Group
    /// packets go whole. On the air it may be less for the while, if the
    /// station's MTU is adaptive.
    pub mtu: u16,
    /// What a packet costs its processor, if that matters.
    pub host_cost: Option<HostCost>,
}

impl Default for NodeConfig {
    /// A host with Ethernet's MTU that is never the bottleneck. Its identity is
    /// number 0: a network of several gives each its own.
    fn default() -> Self {
        Self { identity: Identity::default(), station: None, mtu: 1_500, host_cost: None }
    }
}

/// Processor time for a packet that a node sends or receives; the parts of one
/// that was cut count each for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCost {
    /// For every packet.
    pub per_packet: Duration,
    /// For every byte of it.
    pub per_byte: Duration,
}

/// A wired link, both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct WiredLink {
    /// Its ends.
    pub ends: [NodeId; 2],
    /// From the first end to the second, and back.
    pub directions: [CableConfig; 2],
}
