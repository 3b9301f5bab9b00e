//! The configuration of what starts and ends at hosts: flows and coded links, as a
//! scenario describes them. Lengths are in bytes of network-layer packets. `scenario`
//! makes these values from a file, and checks them before.

use crate::traffic::SourceConfig;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use lasthop_apq::{HostClock, SurveyConfig};
use lasthop_packet::{AccessCategory, NodeId};
use lasthop_units::{Bitrate, Bytes, Duration, Identity, Instant, Probability};

/// Traffic from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, unique in a scenario: the key of its random streams.
    pub name: String,
    /// The node at which it starts.
    pub from: NodeId,
    /// The node at which it ends.
    pub to: NodeId,
    /// The kind of traffic.
    pub kind: FlowKind,
    /// When it starts.
    pub start: Instant,
    /// When it stops sending; `None`: at the end of the run.
    pub stop: Option<Instant>,
    /// Access category of its packets.
    pub access_category: AccessCategory,
    /// Whether the model or a kernel sends and receives.
    pub endpoints: Endpoints,
    /// Index of the flow that sends for it, by packets to [`Packet::EVERYWHERE`]: itself, or one
    /// from the same node. Of datagrams with endpoints of the model only; `None`: its packets
    /// are for its last node alone.
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
    /// Sockets of a kernel: a driver in real time adds and takes out their packets.
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
    /// Requests, each answered at once.
    Ping {
        /// Time between two requests.
        interval: Duration,
        /// Length of a request and of an answer.
        bytes: u16,
    },
    /// A measurement of a queue on the path.
    Apq(Box<ApqFlow>),
}

/// A measurement of a queue on the path. The host at which the flow starts fills the
/// queue.
#[derive(Clone, Debug, PartialEq)]
pub struct ApqFlow {
    /// What to measure, and how.
    pub survey: SurveyConfig,
    /// Whether the host at which the flow starts measures; if not, the other one does.
    pub measured_by_sender: bool,
    /// The clock of the host that answers. The host that measures has the clock of the
    /// run.
    pub far_clock: HostClock,
}

/// A coded link: nodes of the network, with a machine in each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancLink {
    /// Its name: the key of its random streams.
    pub name: String,
    /// Its nodes: from one end over the relays to the other, then helpers.
    pub nodes: Vec<FrancNode>,
    /// Number of its nodes that are on the path; at least 2.
    pub path: usize,
    /// Length of the longest packet that it carries.
    pub mtu: u16,
    /// Most of its frames that the interface of a node holds; `None`: no limit, because
    /// the nodes pace themselves.
    pub interface_packets: Option<u32>,
    /// Outages of its nodes.
    pub outages: Vec<FrancOutage>,
}

/// A node of a coded link.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancNode {
    /// The node of the network.
    pub node: NodeId,
    /// Its machine. The nodes of the link know it by its index plus one.
    pub machine: FrancMachine,
}

/// The machine in a node of a coded link.
#[derive(Clone, Debug, PartialEq)]
pub enum FrancMachine {
    /// A node of FRANC.
    Coded(Box<lasthop_franc::Config>),
    /// A program that forwards packets one by one, and injects losses.
    Plain {
        /// Most packets that wait.
        packets_max: u32,
        /// By index in [`FrancLink::nodes`]: probability of losing a frame from that
        /// node.
        loss_from: Vec<Probability>,
    },
}

/// An outage of a node of a coded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrancOutage {
    /// Index of the node in [`FrancLink::nodes`].
    pub index: usize,
    /// When it starts.
    pub from: Instant,
    /// When the node starts again, as a new machine; `None`: never.
    pub until: Option<Instant>,
}

/// An application over TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpFlow {
    /// Congestion control, by its name in Linux.
    pub congestion_control: String,
    /// Number of bytes to send; `None`: as many as fit into the time.
    pub bytes: Option<Bytes>,
    /// What the application does.
    pub application: TcpApplication,
    /// The endpoints in virtual time, at the start and the end of the flow; `None` with
    /// a congestion control that only a kernel has.
    pub endpoints: Option<[lasthop_tcp::Config; 2]>,
}

/// What an application does with its TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl Flow {
    /// The identity, from its name: the key of its random streams and of its flow hash.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.name)
    }
}

impl FrancLink {
    /// The identity, from its name: with the identity of a node, the key of the random
    /// streams of that node in this link.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.name)
    }
}
