//! What begins and ends at hosts: flows and coded links, as a scenario has them.

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
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// What it is.
    pub kind: FlowKind,
    /// When it begins.
    pub start: Instant,
    /// When it ends; the end of the run if `None`.
    pub stop: Option<Instant>,
    /// Priority on the air.
    pub access_category: AccessCategory,
    /// Who sends and receives.
    pub endpoints: Endpoints,
}

/// What the endpoints of a flow are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Endpoints {
    /// Machines of this crate.
    #[default]
    Model,
    /// Sockets of a kernel: a driver in real time brings their packets, and takes them out.
    Kernel,
}

/// Kinds of traffic.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowKind {
    /// An application over TCP.
    Tcp(Box<TcpFlow>),
    /// Datagrams: constant, Poisson, on-off or saturated.
    Udp(SourceConfig),
    /// Video frames as bursts of datagrams.
    Video(SourceConfig),
    /// Requests that are answered at once.
    Ping {
        /// Time between two requests.
        interval: Duration,
        /// Length of request and answer, IP header included.
        bytes: u16,
    },
    /// A measurement of a queue on the way.
    Apq(Box<ApqFlow>),
}

/// A measurement of a queue: the host where the flow begins fills it.
#[derive(Clone, Debug, PartialEq)]
pub struct ApqFlow {
    /// What is measured, and how.
    pub survey: SurveyConfig,
    /// The end where the flow begins is the one that measures; else it is the other.
    pub measured_by_sender: bool,
    /// The clock of the end that answers. The other one's is that of the run.
    pub far_clock: HostClock,
}

/// A coded link: nodes of the network, and the machine in each.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancLink {
    /// Its name.
    pub name: String,
    /// Its nodes: from one end over the relays to the other, then helpers.
    pub nodes: Vec<FrancNode>,
    /// How many of them are on the path; at least 2.
    pub path: usize,
    /// Longest packet that it carries.
    pub mtu: u16,
    /// Frames of it that a node's interface holds; `None`: as many as the nodes send,
    /// which pace themselves.
    pub interface_packets: Option<u32>,
    /// Times at which nodes are dead, by index in `nodes`.
    pub outages: Vec<FrancOutage>,
}

/// A node of a coded link.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancNode {
    /// Where.
    pub node: NodeId,
    /// The number by which the link's nodes know it is its index plus one.
    pub machine: FrancMachine,
}

/// What a node of a coded link runs.
#[derive(Clone, Debug, PartialEq)]
pub enum FrancMachine {
    /// FRANC.
    Coded(Box<lasthop_franc::Config>),
    /// A program that passes packets on one by one, and loses some.
    Plain {
        /// Packets that wait at most.
        packets_max: u32,
        /// By index in [`FrancLink::nodes`]: what is lost of the frames from there.
        loss_from: Vec<Probability>,
    },
}

/// A node of a coded link is dead for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrancOutage {
    /// Its index in [`FrancLink::nodes`].
    pub index: usize,
    /// From here on.
    pub from: Instant,
    /// Until it begins anew.
    pub until: Option<Instant>,
}

/// An application over TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpFlow {
    /// Congestion control, by the kernel's name.
    pub congestion_control: String,
    /// How many bytes are sent; as many as fit into the time if `None`.
    pub bytes: Option<Bytes>,
    /// What the application does.
    pub application: TcpApplication,
    /// The endpoints in virtual time, where the flow begins and where it ends;
    /// `None` with a congestion control that only kernels have.
    pub endpoints: Option<[lasthop_tcp::Config; 2]>,
}

/// What an application does with its TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpApplication {
    /// It always has more to send.
    Bulk,
    /// It writes at this rate, counted at the payload.
    Rate(Bitrate),
    /// It asks, waits for the answer, and thinks.
    Requests {
        /// Bytes of a request.
        request: Bytes,
        /// Bytes of an answer.
        response: Bytes,
        /// From an answer to the next request.
        think: Duration,
    },
}

impl Flow {
    /// Whose random streams it draws from, and what tells it from others in a queue.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.name)
    }
}

impl FrancLink {
    /// Whose random streams its nodes draw from, each together with its own identity.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.name)
    }
}
