//! Scenario files: TOML to typed, validated configuration. Nothing is executed.
//!
//! | module | what it does |
//! |---|---|
//! | `tree` | TOML as a tree whose keys and values know where they came from |
//! | `set` | `--set path=value`, on the tree and on the text |
//! | `raw` | every key: documentation, type, default (`table`: how they are declared) |
//! | `scalar`, [`quantity`] | single values and their units |
//! | `change` | what becomes different while it runs |
//! | `evolving` | the same from outside, by somebody who watches it; `knobs`: what can be turned |
//! | `paths` | what can follow a path of `--set` that is half written |
//! | [`reference`](mod@reference) | every key as documentation has it |
//! | `attached` | other files that a scenario names |
//! | [`file`](mod@file) | files, read with a bound |
//! | `assemble` | what may stand together; names to indices; the machines' configuration |
//! | [`franc`] | `franc.toml`, a file of its own: one node of a coded link |
//! | `coding` | the keys that `[[franc]]` and `franc.toml` have in common |
//! | `error` | what is wrong, with file, line and key |
//!
//! [`load`] and [`parse`] go through them in this order and return everything
//! that is wrong at once: first all keys and values, then all combinations.

#![forbid(unsafe_code)]

mod assemble;
mod attached;
mod change;
mod coding;
mod error;
mod evolving;
pub mod file;
pub mod franc;
mod knobs;
mod paths;
pub mod quantity;
mod raw;
pub mod reference;
mod scalar;
mod set;
mod setting;
mod table;
mod tree;
mod warnings;

pub use error::{Problem, ScenarioError};
pub use evolving::{Evolving, Recorded};
pub use knobs::{Knob, KnobKind};
pub use paths::{Completion, complete};
pub use scalar::did_you_mean;
pub use set::matches;

use crate::error::{Place, Problems};
use crate::file::Accepts;
use crate::setting::{LeftOut, Named};
use crate::tree::{Node as Tree, Origin};
use lasthop_hosts::{Endpoints, Flow, FlowKind, FrancLink, HostsConfig};
use lasthop_net::NetworkConfig;
use lasthop_net::network::Change;
use lasthop_packet::NodeId;
use lasthop_units::{Db, Duration, Identity, Instant, Probability, Seed};
use lasthop_wifi::StationId;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// Neighbours on the channel, whose nodes come behind all others.
    pub neighbours: Vec<Neighbour>,
    /// What the nodes are joined by, every link at its mean; [`Scenario::network_for`]
    /// draws the shadowing of one run.
    pub network: NetworkConfig,
    /// Pairs of stations of [`Scenario::network`] whose shadowing is drawn.
    shadowed: Vec<(StationId, StationId)>,
    /// Standard deviation of that shadowing.
    shadowing: Db,
    /// Links that are coded.
    pub francs: Vec<FrancLink>,
    /// Traffic that lasthop makes; the index is the [`FlowId`](lasthop_packet::FlowId).
    pub flows: Vec<Flow>,
    /// Programs to start in the nodes (emulation only).
    pub programs: Vec<Program>,
    /// What becomes different while it runs, in ascending order of instants.
    pub changes: Vec<(Instant, Change)>,
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

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Whether it is a neighbour's: no program runs there, and no flow of the file begins or
    /// ends there.
    pub is_neighbours: bool,
}

/// A neighbour on the channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Its name.
    pub name: String,
    /// Its access point, and its stations.
    pub nodes: Vec<NodeId>,
    /// Share of the time in which a PPDU of its own is on the air while nobody else sends.
    pub busy: Probability,
    /// Its traffic, which is not among [`Scenario::flows`].
    pub flows: Vec<Flow>,
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

/// A program to start in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The node.
    pub node: NodeId,
    /// The program and its arguments; at least the program.
    pub command: Vec<String>,
    /// The earliest instant at which it is started.
    pub start: Instant,
    /// When it is ready: those after it are started then. `None`: nothing waits for it.
    pub ready: Option<Ready>,
    /// How long it may take to be ready.
    pub ready_timeout: Duration,
}

/// When a program is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Once a TCP socket of its node listens at this port.
    Tcp(u16),
    /// Once a UDP socket of its node has this port.
    Udp(u16),
    /// Once this file is there that was not when it was started, or is changed.
    File(PathBuf),
    /// So long after its start.
    After(Duration),
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(port) => write!(f, "tcp:{port}"),
            Self::Udp(port) => write!(f, "udp:{port}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::After(time) => write!(f, "{time}"),
        }
    }
}

/// How a scenario is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// A run is late if one delivery in a thousand is later than this.
    pub lateness_max: Duration,
}

impl Node {
    /// Whose random streams it draws from.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.name)
    }
}

impl Scenario {
    /// The nodes of the file, those of neighbours left out.
    pub fn own_nodes(&self) -> &[Node] {
        &self.nodes[..self.nodes.partition_point(|node| !node.is_neighbours)]
    }

    /// The node called `name`; those of neighbours are not to be named.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let index = self.own_nodes().iter().position(|node| node.name == name)?;
        Some(assemble::node_id(index))
    }

    /// What begins and ends at its nodes in virtual time, which no kernel knows: all
    /// endpoints are the model's.
    pub fn hosts(&self, seed: Seed) -> HostsConfig {
        let mut hosts = self.emulated_hosts(Instant::ZERO + self.duration, seed);
        for flow in &mut hosts.flows {
            flow.endpoints = Endpoints::Model;
        }
        hosts
    }

    /// The same in real time, until `end`: each flow has the endpoints that the file says.
    pub fn emulated_hosts(&self, end: Instant, seed: Seed) -> HostsConfig {
        HostsConfig {
            nodes: self.nodes.iter().map(Node::identity).collect(),
            flows: self.flows.clone(),
            background: self.neighbours.iter().flat_map(|it| it.flows.iter().cloned()).collect(),
            francs: self.francs.clone(),
            end,
            warmup: self.warmup,
            sample_interval: self.series_interval,
            changes: self.changes_in(seed),
        }
    }

    /// The network of one run: the shadowing of every pair of stations that
    /// `[channel]` gives one is drawn from `seed`.
    pub fn network_for(&self, seed: Seed) -> NetworkConfig {
        let mut network = self.network.clone();
        let Some(cell) = &mut network.cell else { return network };
        if self.shadowed.is_empty() {
            return network;
        }
        let links = Arc::make_mut(&mut cell.links);
        for &(from, to) in &self.shadowed {
            let snr = links.snr(from, to).expect("every two stations have a link");
            links.set_snr(from, to, snr - self.shadow(from, to, seed));
        }
        network
    }

    /// What changes in one run.
    pub fn changes_in(&self, seed: Seed) -> Vec<(Instant, Change)> {
        self.drawn(self.changes.clone(), seed)
    }

    /// Changes as they are in one run: links keep the shadowing that [`Scenario::network_for`]
    /// draws.
    fn drawn(&self, mut changes: Vec<(Instant, Change)>, seed: Seed) -> Vec<(Instant, Change)> {
        if self.shadowed.is_empty() {
            return changes;
        }
        let station_of = |node: NodeId| self.network.nodes[node.index()].station;
        for (_, change) in &mut changes {
            let Change::Link { from, to, snr, .. } = change else { continue };
            let ends = [*from, *to].map(|node| station_of(node).expect("links are of radios"));
            if self.shadowed.contains(&(ends[0], ends[1])) {
                *snr = *snr - self.shadow(ends[0], ends[1], seed);
            }
        }
        changes
    }

    /// The shadowing of a pair, which both directions share.
    fn shadow(&self, from: StationId, to: StationId, seed: Seed) -> Db {
        let stations = &self.network.cell.as_ref().expect("stations are in a cell").stations;
        let [one, other] = [from, to].map(|station| stations[station.index()].identity);
        let mut stream = seed.stream_of("scenario/shadowing", one.beside(other));
        Db(self.shadowing.0 * stream.normal())
    }

    /// The same without TCP small queues of flows that the kernel has when emulated: what can
    /// be compared with its TCP behind a TAP device. Such a device takes packets from the
    /// kernel at once (it orphans them), so there they hold nothing back. Endpoints of the
    /// model keep theirs, as they do when emulated.
    pub fn without_small_queues(mut self) -> Self {
        let is_kernels = |flow: &&mut Flow| flow.endpoints == Endpoints::Kernel;
        for flow in self.flows.iter_mut().filter(is_kernels) {
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

/// The text of the scenario file at `path`.
///
/// # Errors
/// If it is unreadable or no text.
pub fn read_text(path: &Path) -> Result<String, ScenarioError> {
    let file = path.display().to_string();
    let unreadable = |why: file::FileError| ScenarioError::unreadable(&file, why.to_string());
    let bytes =
        file::read(path, Accepts::FilesAndPipes, TEXT_BYTES_MAX as u64).map_err(unreadable)?;
    file::text(&bytes).map(str::to_owned).map_err(unreadable)
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
    let mut left_out = LeftOut::default();
    loop {
        let mut found = Problems::default();
        let (scenario, named) = parse_but(&left_out, file, text, sets, &mut found);
        if !left_out.add(&named, &found) {
            *problems = found;
            return scenario;
        }
    }
}

/// The scenario, and which elements the patterns of `sets` named that are not left out.
fn parse_but(
    left_out: &LeftOut,
    file: &str,
    text: &str,
    sets: &[String],
    problems: &mut Problems,
) -> (Option<Scenario>, Vec<Named>) {
    let Some((mut tree, mut document)) = read_toml(text, problems) else {
        return (None, Vec::new());
    };
    let named = set::apply(sets, left_out, &mut tree, &mut document, problems);
    attached::make_absolute(file, &mut tree, &mut document);
    (typed(file, &tree, document, sets, problems), named)
}

/// The scenario in `tree`, whose text is `document`; `None` with a problem.
fn typed(
    file: &str,
    written: &Tree,
    mut document: toml_edit::DocumentMut,
    sets: &[String],
    problems: &mut Problems,
) -> Option<Scenario> {
    let mut tree = written.clone();
    assemble::inherit_defaults(&mut tree, problems);
    let raw = table::read::<raw::RawScenario>(&tree, Place::new("", Origin::Absent), problems);
    if !problems.is_empty() {
        return None;
    }
    let raw = raw?;
    let mut scenario = assemble::scenario(&raw, file, problems)?;
    change::add(&mut scenario, &raw.change, written, file, problems);
    // The text that is kept has another file's name.
    document.entry("name").or_insert_with(|| toml_edit::value(&scenario.name));
    scenario.source_text = document.to_string();
    scenario.set = sets.to_vec();
    Some(scenario)
}

/// The text as a tree, and as a document that keeps its form.
fn read_toml(text: &str, problems: &mut Problems) -> Option<(Tree, toml_edit::DocumentMut)> {
    match (Tree::parse(text), text.parse()) {
        (Ok(tree), Ok(document)) => Some((tree, document)),
        (Err(why), _) | (_, Err(why)) => {
            let origin = why.span().map_or(Origin::Absent, Origin::File);
            let message = format!("this is not TOML: {}", why.message());
            problems.push(&Place::new("", origin), message);
            None
        }
    }
}

fn too_long(bytes: u64) -> String {
    format!("expected at most {TEXT_BYTES_MAX} bytes of text, got {bytes}")
}

/// What a sweep needs of a scenario file before anything is varied: the scenario itself may
/// be complete with the varied keys only.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepBase {
    /// The keys and values to vary, as `path=values`.
    pub vary: Vec<String>,
    /// Whether values are taken together instead of every combination.
    pub zip: bool,
    /// Runs of each combination, at least one.
    pub runs: u32,
    /// The text with every `--set` applied and paths made absolute, without `[sweep]`.
    pub text: String,
    /// Other files that it names, by absolute path.
    pub attached: Vec<PathBuf>,
}

/// Reads of the text of a scenario what a sweep needs; parameters as those of [`parse`].
///
/// # Errors
/// If it is no TOML, a `--set` names nothing, or a key of `[sweep]` is wrong.
pub fn sweep_base(file: &str, text: &str, sets: &[String]) -> Result<SweepBase, ScenarioError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(ScenarioError::unreadable(file, too_long(text.len() as u64)));
    }
    let mut problems = Problems::default();
    let base = sweep_base_into(file, text, sets, &mut problems);
    match (problems.into_error(file, text, sets), base) {
        (Some(error), _) => Err(error),
        (None, Some(base)) => Ok(base),
        (None, None) => unreachable!("without a base there is a problem"),
    }
}

fn sweep_base_into(
    file: &str,
    text: &str,
    sets: &[String],
    problems: &mut Problems,
) -> Option<SweepBase> {
    let mut left_out = LeftOut::default();
    let (tree, mut document, attached) = loop {
        let (mut tree, mut document) = read_toml(text, problems)?;
        let named = set::apply(sets, &left_out, &mut tree, &mut document, problems);
        let attached = attached::make_absolute(file, &mut tree, &mut document);
        // What is wrong with the rest may be complete with the varied keys.
        let mut trial = Problems::default();
        if !named.is_empty() {
            change::assembled(&tree, file, &mut trial);
        }
        if !left_out.add(&named, &trial) {
            break (tree, document, attached);
        }
    };
    let node = tree.child("sweep").unwrap_or(&table::NOTHING);
    let raw = table::read::<raw::RawSweep>(node, Place::new("sweep", Origin::Absent), problems)?;
    document.remove("sweep");
    Some(SweepBase {
        vary: raw.vary.map(|at| at.value).unwrap_or_default(),
        zip: raw.zip.value,
        runs: raw.runs.value.get(),
        text: document.to_string(),
        attached,
    })
}

/// The JSON Schema of a scenario file, for editors and generators.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(raw::RawScenario).to_value();
    schema["title"] = "lasthop scenario".into();
    schema
}
