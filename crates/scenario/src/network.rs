//! What joins the nodes: the cell, the wires, and which node is where.

use lasthop_net::{NodeId, WireConfig};
use lasthop_units::Duration;
use lasthop_wifi::StationId;
use lasthop_wifi::cell::CellConfig;

/// The network of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig {
    /// The nodes; the index is the [`NodeId`].
    pub nodes: Vec<NodeConfig>,
    /// The cell; `None` with hosts and wires only.
    pub cell: Option<CellConfig>,
    /// The wires.
    pub wires: Vec<WiredLink>,
}

/// A node of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Which station of the cell it is, if it has a radio.
    pub station: Option<StationId>,
    /// CPU time that packets cost it; nothing if `None`.
    pub host_cost: Option<HostCost>,
}

/// CPU time of a host for every packet that it sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCost {
    /// For every packet.
    pub per_packet: Duration,
    /// For every byte.
    pub per_byte: Duration,
}

/// A wire between two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WiredLink {
    /// Its ends.
    pub ends: [NodeId; 2],
    /// From the first end to the second, and back.
    pub directions: [WireConfig; 2],
}
