//! Names of the nodes, stations and flows of a run. Machines refer to them by index; documents and
//! files show these names to readers. An index without a name is shown as `?`.

use crate::experience::ExperienceKind;
use lasthop_packet::NodeId;
use lasthop_units::{Instant, MacAddr};
use lasthop_wifi::StationId;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The names of a run, by index.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Names {
    /// Nodes by [`NodeId`]; those of neighbours follow all others.
    pub nodes: Vec<NodeName>,
    /// Neighbours on the channel.
    pub neighbours: Vec<NeighbourName>,
    /// Node of each Wi-Fi station, by [`StationId`].
    pub stations: Vec<NodeId>,
    /// Access point of each station's basic service set, by [`StationId`]; an access point's is
    /// itself.
    pub access_points: Vec<StationId>,
    /// Names of the links of devices, by number: their bands; empty if each node has one link.
    pub links: Vec<String>,
    /// Number of the link of each Wi-Fi station, by [`StationId`].
    pub link_of: Vec<u8>,
    /// Whether a node changes its access point: tables have the part `roam` of delays only then.
    pub roams: bool,
    /// Flows of the scenario, by [`FlowId`](lasthop_packet::FlowId).
    pub flows: Vec<FlowName>,
    /// Names of the coded links, by index.
    pub francs: Vec<String>,
    /// Names of the addresses in programs' packets (emulation); an address without a name is shown
    /// as it is.
    pub hosts: BTreeMap<IpAddr, String>,
}

/// The name and address of a node.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeName {
    /// Name in the scenario.
    pub name: String,
    /// Address of the node's interface; of the Wi-Fi interface if there are several.
    pub address: MacAddr,
}

/// A neighbour on the channel.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NeighbourName {
    /// Name in the scenario.
    pub name: String,
    /// Nodes of the neighbour.
    pub nodes: Vec<NodeId>,
    /// Share of the time in which the neighbour's PPDUs are on the air without other traffic, 0 to
    /// 1.
    pub busy: f64,
}

/// A flow with its name and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowName {
    /// Name in the scenario.
    pub name: String,
    /// Name of several flows that the scenario describes together.
    pub table: Option<String>,
    /// Kind of traffic.
    pub kind: FlowKind,
    /// Whether the flow is UDP that always has a packet to send.
    pub saturated: bool,
    /// Properties of a flow whose quality is measured as a person notices it; `None` for other flows.
    pub experience: Option<ExperienceKind>,
    /// Node at which the flow's data enters the network. Only packets from there are counted.
    pub from: NodeId,
    /// Destination of the flow's data.
    pub to: NodeId,
    /// Instant of the first transmission.
    pub start: Instant,
    /// Instant at which the flow stops; `None` for the end of the run.
    pub stop: Option<Instant>,
}

/// Kinds of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// A TCP connection.
    Tcp,
    /// UDP packets at a rate, or saturated.
    Udp,
    /// ICMP echo requests.
    Ping,
    /// Bursts of UDP packets, one for each video frame.
    Video,
    /// UDP packets of speech in one direction of a call.
    Call,
    /// UDP packets that measure a queue.
    Apq,
}

impl FlowKind {
    /// Returns the name in files: `tcp`, `udp`, `ping`, `video`, `call` or `apq`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Ping => "ping",
            Self::Video => "video",
            Self::Call => "call",
            Self::Apq => "apq",
        }
    }

    /// Returns the bytes of an IP packet that are not payload: IPv4 (20) with UDP or ICMP (8), or
    /// with TCP and its timestamps option (32).
    pub const fn header_bytes(self) -> u16 {
        match self {
            Self::Tcp => 52,
            Self::Udp | Self::Ping | Self::Video | Self::Call | Self::Apq => 28,
        }
    }
}

impl Names {
    /// Returns the name of a node; `?` for an index without a node.
    pub fn node(&self, node: NodeId) -> &str {
        self.nodes.get(node.index()).map_or("?", |node| &node.name)
    }

    /// Number of nodes, without those of neighbours.
    pub fn own_nodes(&self) -> usize {
        self.nodes.len() - self.neighbours.iter().map(|it| it.nodes.len()).sum::<usize>()
    }

    /// Whether a node belongs to a neighbour.
    pub fn is_neighbours(&self, node: NodeId) -> bool {
        node.index() >= self.own_nodes()
    }

    /// Whether a station belongs to a neighbour.
    pub fn sends_for_neighbour(&self, station: StationId) -> bool {
        self.stations.get(station.index()).is_some_and(|node| self.is_neighbours(*node))
    }

    /// Whether a station is an access point.
    pub fn is_access_point(&self, station: StationId) -> bool {
        self.access_points.get(station.index()) == Some(&station)
    }

    /// Returns the name of a direction between two nodes on this link: with `@` and the link's name
    /// where nodes have several.
    pub fn on_link(&self, direction: String, link: u8) -> String {
        match self.links.get(usize::from(link)) {
            Some(name) => format!("{direction}@{name}"),
            None => direction,
        }
    }

    /// Returns the name of data from one station to another: `sender->receiver`, with `@` and the
    /// link's name where nodes have several.
    pub fn direction(&self, from: StationId, to: StationId) -> String {
        let name = format!("{}->{}", self.station(from), self.station(to));
        self.on_link(name, self.link_of.get(from.index()).copied().unwrap_or(0))
    }

    /// Returns the name of a station's node; `?` for an index without a station.
    pub fn station(&self, station: StationId) -> &str {
        self.stations.get(station.index()).map_or("?", |&node| self.node(node))
    }
}
