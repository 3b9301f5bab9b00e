//! Scenario files: TOML to typed, validated configuration. Nothing is executed.
//!
//! | module | what it does |
//! |---|---|
//! | `tree` | TOML as a tree whose keys and values know where they came from |
//! | `set` | `--set path=value`, on the tree and on the text |
//! | `raw` | every key: documentation, type, default (`table`: how they are declared) |
//! | `scalar`, [`quantity`] | single values and their units |
//! | `attached` | other files that a scenario names |
//! | [`file`](mod@file) | files, read with a bound |
//! | `build` | what may stand together; names to indices; the machines' configuration |
//! | [`franc`] | `franc.toml`, a file of its own: one node of a coded link |
//! | `error` | what is wrong, with file, line and key |
//!
//! [`load`] and [`parse`] go through them in this order and return everything
//! that is wrong at once: first all keys and values, then all combinations.

#![forbid(unsafe_code)]

mod attached;
mod build;
mod error;
pub mod file;
pub mod franc;
pub mod quantity;
mod raw;
#[cfg(test)]
mod reference;
mod scalar;
mod set;
mod table;
mod tree;
mod warnings;

pub use error::{Problem, ScenarioError};

use crate::error::{Place, Problems};
use crate::file::Accepts;
use crate::tree::{Node as Tree, Origin};
use lasthop_apq::{HostClock, SurveyConfig};
use lasthop_net::{NetworkConfig, SourceConfig};
use lasthop_packet::{AccessCategory, NodeId};
use lasthop_units::{Bitrate, Bytes, Db, Duration, Identity, Instant, Probability, Seed};
use std::path::Path;

/// Longest scenario text that is read.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// A scenario, valid and complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How long the run lasts.
    pub duration: Duration,
    /// Left out of the results at the beginning.
    pub warmup: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// The nodes; the index is the [`NodeId`].
    pub nodes: Vec<Node>,
    /// What the nodes are joined by, every link at its mean; [`Scenario::network_for`]
    /// draws the shadowing of one run.
    pub network: NetworkConfig,
    /// Links of [`Scenario::network`] whose shadowing is drawn.
    shadowed: Vec<Shadowed>,
    /// Standard deviation of that shadowing.
    shadowing: Db,
    /// Links that are coded.
    pub francs: Vec<FrancLink>,
    /// Traffic that lasthop makes; the index is the [`FlowId`](lasthop_packet::FlowId).
    pub flows: Vec<Flow>,
    /// Programs to start in the nodes (emulation only).
    pub programs: Vec<Program>,
    /// Time between two samples of the series.
    pub series_interval: Duration,
    /// How it is emulated.
    pub emulation: Emulation,
    /// What changed the file, as `key=value`, in order.
    pub set: Vec<String>,
    /// The scenario as run: the file's text with every `--set` applied. It
    /// parses to the same scenario again, wherever it is: paths are absolute in it.
    pub source_text: String,
}

/// A link of the cell whose shadowing is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shadowed {
    /// Index in [`CellConfig::links`](lasthop_wifi::cell::CellConfig::links).
    link: usize,
    /// The pair of nodes; both directions share the shadowing.
    pair: Identity,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: Role,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The access point of the cell.
    AccessPoint,
    /// A station of the cell.
    Station,
    /// A host behind wires.
    Host,
    /// A wired box that only passes packets on; nothing begins or ends there.
    Relay,
}

impl Role {
    /// On the air.
    pub const fn is_wifi(self) -> bool {
        matches!(self, Self::AccessPoint | Self::Station)
    }
}

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

/// A program to start in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The node.
    pub node: NodeId,
    /// The program and its arguments; at least the program.
    pub command: Vec<String>,
    /// When it is started.
    pub start: Instant,
}

/// How a scenario is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// A run is late if one delivery in a thousand is later than this.
    pub lateness_max: Duration,
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

impl Node {
    /// Whose random streams it draws from.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.name)
    }
}

impl Scenario {
    /// The node called `name`.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let index = self.nodes.iter().position(|node| node.name == name)?;
        Some(build::node_id(index))
    }

    /// The network of one run: the shadowing of every pair of stations that
    /// `[channel]` gives one is drawn from `seed`.
    pub fn network_for(&self, seed: Seed) -> NetworkConfig {
        let mut network = self.network.clone();
        let Some(cell) = &mut network.cell else { return network };
        for &Shadowed { link, pair } in &self.shadowed {
            let loss = self.shadowing.0 * seed.stream_of("scenario/shadowing", pair).normal();
            cell.links[link].link.snr = cell.links[link].link.snr - Db(loss);
        }
        network
    }

    /// The same without TCP small queues: what can be compared with the kernel's
    /// TCP behind a TAP device. Such a device takes packets from the kernel at
    /// once (it orphans them), so there they hold nothing back.
    pub fn without_small_queues(mut self) -> Self {
        for flow in &mut self.flows {
            let FlowKind::Tcp(tcp) = &mut flow.kind else { continue };
            for endpoint in tcp.endpoints.iter_mut().flatten() {
                endpoint.small_queues = lasthop_tcp::SmallQueues::Off;
            }
        }
        self
    }
}

/// Reads the scenario file at `path`, with the `--set` arguments (`path=value`) applied.
///
/// # Errors
/// Everything that is wrong with it: unreadable, no TOML, unknown keys, wrong
/// values, impossible combinations.
pub fn load(path: &Path, sets: &[String]) -> Result<Scenario, ScenarioError> {
    let file = path.display().to_string();
    let bytes = file::read(path, Accepts::FilesAndPipes, TEXT_BYTES_MAX as u64)
        .map_err(|why| ScenarioError::unreadable(&file, why.to_string()))?;
    parse_bytes(&file, &bytes, sets)
}

/// The same from bytes that should be UTF-8.
///
/// # Errors
/// As [`load`].
pub fn parse_bytes(file: &str, bytes: &[u8], sets: &[String]) -> Result<Scenario, ScenarioError> {
    match file::text(bytes) {
        Ok(text) => parse(file, text, sets),
        Err(why) => Err(ScenarioError::unreadable(file, why.to_string())),
    }
}

/// The same from text; `file` is what messages call it, and without its
/// directory and extension the default name of the scenario. Other files that
/// the scenario names are looked for in that directory.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &str, text: &str, sets: &[String]) -> Result<Scenario, ScenarioError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(ScenarioError::unreadable(file, too_long(text.len() as u64)));
    }
    let mut problems = Problems::default();
    let scenario = parse_into(file, text, sets, &mut problems);
    match (problems.into_error(file, text, sets), scenario) {
        (Some(error), _) => Err(error),
        (None, Some(scenario)) => Ok(scenario),
        (None, None) => unreachable!("without a scenario there is a problem"),
    }
}

fn parse_into(
    file: &str,
    text: &str,
    sets: &[String],
    problems: &mut Problems,
) -> Option<Scenario> {
    let syntax = |problems: &mut Problems, why: toml_edit::TomlError| {
        let origin = why.span().map_or(Origin::Absent, Origin::File);
        problems.push(&Place::new("", origin), format!("this is not TOML: {}", why.message()));
    };
    let mut tree = match Tree::parse(text) {
        Ok(tree) => tree,
        Err(why) => {
            syntax(problems, why);
            return None;
        }
    };
    let mut document: toml_edit::DocumentMut = match text.parse() {
        Ok(document) => document,
        Err(why) => {
            syntax(problems, why);
            return None;
        }
    };
    set::apply(sets, &mut tree, &mut document, problems);
    attached::make_absolute(file, &mut tree, &mut document);
    build::inherit_defaults(&mut tree, problems);
    let raw = table::read::<raw::RawScenario>(&tree, Place::new("", Origin::Absent), problems);
    if !problems.is_empty() {
        return None;
    }
    let mut scenario = build::scenario(&raw?, file, problems)?;
    // The text that is kept has another file's name.
    document.entry("name").or_insert_with(|| toml_edit::value(&scenario.name));
    scenario.source_text = document.to_string();
    scenario.set = sets.to_vec();
    Some(scenario)
}

fn too_long(bytes: u64) -> String {
    format!("expected at most {TEXT_BYTES_MAX} bytes of text, got {bytes}")
}

/// The JSON Schema of a scenario file, for editors and generators.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(raw::RawScenario).to_value();
    schema["title"] = "lasthop scenario".into();
    schema
}
