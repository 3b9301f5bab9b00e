//! Configuration of the flows and coded links that start and end at hosts, as a scenario describes
//! them. Lengths are in bytes of network-layer packets. `scenario` makes these values from a file
//! after checking them.

use crate::player::StreamConfig;
use crate::playout::CallConfig;
use crate::receive_offload::ReceiveOffload;
use crate::traffic::SourceConfig;
use crate::web::WebConfig;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use lasthop_apq::{HostClock, SurveyConfig};
use lasthop_packet::{AccessCategory, NodeId};
use lasthop_units::{Bitrate, Bytes, Duration, Identity, Instant, Probability};

/// Traffic from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Name of the flow, unique in a scenario: the key of its random streams.
    pub name: String,
    /// Name of several flows that a scenario describes together; `None` for one alone.
    pub table: Option<String>,
    /// The node at which the flow starts.
    pub from: NodeId,
    /// The node at which the flow ends.
    pub to: NodeId,
    /// The kind of traffic.
    pub kind: FlowKind,
    /// Instant at which the flow starts.
    pub start: Instant,
    /// Instant at which the flow stops sending; the end of the run if `None`.
    pub stop: Option<Instant>,
    /// Access category of its packets.
    pub access_category: AccessCategory,
    /// Whether the model or a kernel sends and receives.
    pub endpoints: Endpoints,
    /// One-way delay after which its packets are late, for the summary; `None` for no deadline.
    pub deadline: Option<Duration>,
    /// Index of the flow that sends for this one, by packets to [`Packet::EVERYWHERE`]: itself, or
    /// one from the same node. Only datagrams with endpoints of the model may have it. If `None`,
    /// the packets are for the last node alone.
    ///
    /// [`Packet::EVERYWHERE`]: lasthop_packet::Packet::EVERYWHERE
    pub group: Option<usize>,
}

/// Whether the model or a kernel sends and receives the packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Endpoints {
    /// Endpoints of the model: machines of this crate.
    #[default]
    Model,
    /// Sockets of a kernel: a driver in real time adds and removes their packets.
    Kernel,
}

/// The kind of traffic of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowKind {
    /// An application over TCP.
    Tcp(Box<TcpFlow>),
    /// Datagrams at a constant rate, as a Poisson process, on and off, or saturated.
    Udp(SourceConfig),
    /// Video frames, each a burst of datagrams.
    Video(SourceConfig),
    /// Requests with an immediate answer each.
    Ping {
        /// Time between two requests.
        interval: Duration,
        /// Length of a request and of an answer.
        bytes: u16,
    },
    /// One direction of a call: packets at a regular interval, played by a jitter buffer.
    Call(CallConfig),
    /// A measurement of a queue on the path.
    Apq(Box<ApqFlow>),
}

/// A measurement of a queue on the path. The host at which the flow starts fills the
/// queue.
#[derive(Clone, Debug, PartialEq)]
pub struct ApqFlow {
    /// Parameters of the measurement.
    pub survey: SurveyConfig,
    /// Whether the host at which the flow starts measures; otherwise the other one does.
    pub measured_by_sender: bool,
    /// The clock of the host that answers. The host that measures has the clock of the
    /// run.
    pub far_clock: HostClock,
}

/// A coded link: nodes of the network, with a machine in each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancLink {
    /// Name of the link: the key of its random streams.
    pub name: String,
    /// Nodes of the link: from one end over the relays to the other, then helpers.
    pub nodes: Vec<FrancNode>,
    /// Number of these nodes that are on the path; at least 2.
    pub path: usize,
    /// Length of the longest packet that it carries.
    pub mtu: u16,
    /// Limit of the link's frames in the interface of a node; `None` for no limit, because the
    /// nodes pace themselves.
    pub interface_packets: Option<u32>,
    /// Nodes that are the second network interface of each end: datagrams on the second link enter
    /// the network at one and leave it at the other. `None`: there is one link.
    pub second: Option<[NodeId; 2]>,
    /// Outages of its nodes and links.
    pub outages: Vec<FrancOutage>,
}

/// A node of a coded link.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancNode {
    /// The node of the network.
    pub node: NodeId,
    /// Machine in the node. Other nodes of the link identify it by its index plus one.
    pub machine: FrancMachine,
}

/// The machine in a node of a coded link.
#[derive(Clone, Debug, PartialEq)]
pub enum FrancMachine {
    /// A node of FRANC.
    Coded(Box<lasthop_franc::Config>),
    /// A program that forwards packets one by one, and injects losses.
    Plain {
        /// Limit of waiting packets.
        packets_max: u32,
        /// Probability of losing a frame from each node, by index in [`FrancLink::nodes`].
        loss_from: Vec<Probability>,
    },
}

/// The dead part of a coded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrancPart {
    /// The node with this index in [`FrancLink::nodes`].
    Node(usize),
    /// One of two links, 0 or 1: its datagrams are lost.
    Link(u8),
}

/// An outage of a node or a link of a coded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrancOutage {
    /// The dead part.
    pub part: FrancPart,
    /// Instant at which the outage starts.
    pub from: Instant,
    /// Instant at which it ends, for a node with a new machine; `None` for never.
    pub until: Option<Instant>,
}

/// An application over TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpFlow {
    /// Congestion control, by its name in Linux.
    pub congestion_control: String,
    /// Number of bytes to send; `None` for as many as fit into the time.
    pub bytes: Option<Bytes>,
    /// Behaviour of the application.
    pub application: TcpApplication,
    /// Whether a connection starts with the slow start threshold that connections between the same
    /// nodes left when they ended, and leaves its own (Linux' tcp_metrics).
    pub metrics_save: bool,
    /// Segments that are merged when they arrive at either end; `None` for none.
    pub receive_offload: Option<ReceiveOffload>,
    /// The endpoints in virtual time, at the start and the end of the flow; `None` with
    /// a congestion control that only a kernel has.
    pub endpoints: Option<[lasthop_tcp::Config; 2]>,
}

/// Behaviour of an application with its TCP connection.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpApplication {
    /// Always has more to send.
    Bulk,
    /// Writes payload at this rate in bit/s.
    Rate(Bitrate),
    /// Sends a request, waits for the response, then for the think time.
    Requests {
        /// Length of a request in bytes of payload.
        request: Bytes,
        /// Length of a response in bytes of payload.
        response: Bytes,
        /// Time from a response to the next request.
        think: Duration,
    },
    /// Sends web pages to a reader at the end of the flow, who opens the connections.
    Web(WebConfig),
    /// Sends a film in segments to a player at the end of the flow, which opens the connection.
    Stream(StreamConfig),
}

impl Flow {
    /// Returns the identity, derived from the name: the key of the flow's random streams and of its
    /// flow hash.
    pub fn identity(&self) -> Identity {
        Identity::from_name(&self.name)
    }
}

impl FrancLink {
    /// Returns the identity, derived from the name: with the identity of a node, the key of the
    /// random streams of that node in this link.
    pub fn identity(&self) -> Identity {
        Identity::from_name(&self.name)
    }
}
