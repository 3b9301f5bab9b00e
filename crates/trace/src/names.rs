//! What the nodes, stations and flows of a run are called. The machines count
//! with indices; everything a person reads has these names.

use lasthop_packet::NodeId;
use lasthop_units::{Instant, MacAddr};
use lasthop_wifi::StationId;

/// The names of a run, by index.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Names {
    /// The nodes; the index is the [`NodeId`].
    pub nodes: Vec<NodeName>,
    /// The node of each Wi-Fi station; the index is the [`StationId`].
    pub stations: Vec<NodeId>,
    /// Which station is the access point, if there is a cell.
    pub access_point: Option<StationId>,
    /// The flows; the index is the [`FlowId`](lasthop_packet::FlowId).
    pub flows: Vec<FlowName>,
    /// The coded links.
    pub francs: Vec<String>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeName {
    /// Its name in the scenario.
    pub name: String,
    /// The address of its interface, of the Wi-Fi one if it has several.
    pub address: MacAddr,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowName {
    /// Its name in the scenario.
    pub name: String,
    /// What kind of traffic it is.
    pub kind: FlowKind,
    /// Where its data enters the network; only this direction is counted.
    pub from: NodeId,
    /// Where its data goes.
    pub to: NodeId,
    /// When it starts to send.
    pub start: Instant,
    /// When it stops; with the run if `None`.
    pub stop: Option<Instant>,
}

/// The kinds of flows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// A TCP connection with an endless supply of data.
    Tcp,
    /// UDP packets at a rate, or as many as fit.
    Udp,
    /// Echo requests.
    Ping,
    /// Bursts of UDP packets, one a video frame.
    Video,
    /// The measurement of a queue: UDP packets.
    Apq,
}

impl FlowKind {
    /// As in files: `tcp`, `udp`, `ping`, `video`, `apq`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Ping => "ping",
            Self::Video => "video",
            Self::Apq => "apq",
        }
    }

    /// Bytes of a network-layer packet that are not payload: IPv4 (20) and UDP
    /// or ICMP (8), or TCP with the timestamps option (32).
    pub const fn header_bytes(self) -> u16 {
        match self {
            Self::Tcp => 52,
            Self::Udp | Self::Ping | Self::Video | Self::Apq => 28,
        }
    }
}

impl Names {
    /// The name of a node; `?` for an index that is none.
    pub fn node(&self, node: NodeId) -> &str {
        self.nodes.get(node.index()).map_or("?", |node| &node.name)
    }

    /// The name of a station's node; `?` for an index that is none.
    pub fn station(&self, station: StationId) -> &str {
        self.stations.get(station.index()).map_or("?", |&node| self.node(node))
    }
}
