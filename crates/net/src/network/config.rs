//! The configuration of a network: its nodes, wires and cell. Lengths are in bytes of network-layer
//! packets. Left out: flows, which are configured in `hosts`, and random seeds, which are
//! arguments.

use super::offload::ReceiveOffload;
use crate::cable::CableConfig;
use alloc::vec::Vec;
use lasthop_packet::NodeId;
use lasthop_units::{Duration, Identity};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{CellConfig, CellError};

/// The configuration from which [`Network::new`](super::Network::new) makes a network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// The nodes, in the order of their [`NodeId`].
    pub nodes: Vec<NodeConfig>,
    /// The Wi-Fi cell; `None` for a network of wires only.
    pub cell: Option<CellConfig>,
    /// The wired links.
    pub wires: Vec<WiredLink>,
}

/// The configuration of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Identity of the node, unique in the network: the key of the random streams of the wires that
    /// start or end here.
    pub identity: Identity,
    /// The station of the node in the cell; `None` without Wi-Fi.
    pub station: Option<StationId>,
    /// Length in bytes of the longest packet that the node puts on a link, at least
    /// [`MTU_BYTES_MIN`](crate::fragment::MTU_BYTES_MIN). Longer packets are cut; group packets are
    /// sent whole. On the air it may be shorter for some time, if the MTU of the station is
    /// adaptive.
    pub mtu: u16,
    /// Processor time per packet; `None` for no time.
    pub host_cost: Option<HostCost>,
    /// Receive offload of wired interfaces; `None` for packets one by one.
    pub receive_offload: Option<ReceiveOffload>,
}

impl Default for NodeConfig {
    /// Returns a host with the MTU of Ethernet whose processor takes no time. The identity is
    /// number 0, so each node of a larger network needs another one.
    fn default() -> Self {
        Self {
            identity: Identity::default(),
            station: None,
            mtu: 1_500,
            host_cost: None,
            receive_offload: None,
        }
    }
}

/// Processor time per packet that a node sends, receives or forwards. Each part of a cut
/// packet counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCost {
    /// Time per packet; packets that receive offload has merged are one.
    pub per_packet: Duration,
    /// Time per byte.
    pub per_byte: Duration,
    /// Additional delay of each packet, during which the processor handles others.
    pub latency: Duration,
}

/// A wired link with its two directions.
#[derive(Clone, Debug, PartialEq)]
pub struct WiredLink {
    /// The nodes at its ends.
    pub ends: [NodeId; 2],
    /// The cables from the first end to the second, and back.
    pub directions: [CableConfig; 2],
}

/// Reason for rejecting a [`NetworkConfig`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The configuration of the cell is invalid.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// No path joins the two nodes of a flow.
    #[error("nodes {0} and {1} are not connected")]
    Unreachable(u16, u16),
    /// There is more than one path between two nodes.
    #[error("the links make a loop through node {0}")]
    Loop(u16),
    /// An end of a wire is not a node, or both ends are the same node.
    #[error("wire {0} does not connect two nodes")]
    Wire(usize),
    /// The station of a node is not in the cell, or belongs to another node too.
    #[error("node {0} has no station of its own in the cell")]
    Station(u16),
    /// Two nodes would draw the same random numbers.
    #[error("nodes {0} and {1} have the same identity")]
    SameIdentity(u16, u16),
    /// An MTU below [`MTU_BYTES_MIN`](crate::fragment::MTU_BYTES_MIN).
    #[error("node {0} has an MTU of {1} bytes, and IPv4 needs 68")]
    Mtu(u16, u16),
}
