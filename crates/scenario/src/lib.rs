//! Scenario files: from TOML to typed, validated configuration, without running anything.
//!
//! | module | purpose |
//! |---|---|
//! | `set` | `--set path=value`, on the tree and on the text |
//! | `raw` | every key: documentation, type, default ([`lasthop_config::table`]: the form of declarations) |
//! | `scalar` | kinds of values that only scenarios have |
//! | `change` | changes during the run |
//! | `evolving` | changes by a user who watches the run; `knobs`: the keys on offer |
//! | `flent` | tests of flent, as flows |
//! | `paths` | completions of half-written `--set` paths |
//! | [`reference`](mod@reference) | every key, for documentation |
//! | `attached` | other files that a scenario names |
//! | `assemble` | allowed combinations; names to indices; the machines' configuration |
//!
//! [`load`] and [`parse`] use them in this order and return all problems at once: first those of
//! keys and values, then those of combinations.
//!
//! A key of `[[change]]` is in the machine, then in `net`'s `network::change`; the difference of two
//! scenarios is in `change`, with a test in `sim`'s `tests/runs/changes.rs`.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

mod assemble;
mod attached;
mod change;
mod evolving;
mod flent;
mod knobs;
mod paths;
mod profile;
mod raw;
pub mod reference;
mod scalar;
mod set;
mod setting;
mod warnings;

pub use evolving::{Evolving, Recorded, WrittenChange, written_changes};
pub use knobs::{Knob, KnobKind};
pub use lasthop_config::edit::matches;
pub use lasthop_config::file::TEXT_BYTES_MAX;
pub use lasthop_config::{ConfigError as ScenarioError, Problem, did_you_mean};
pub use lasthop_config::{file, quantity};
pub use lasthop_tcp::CongestionControlKind;
pub use paths::{Completion, complete};

use crate::setting::{LeftOut, Named};
use lasthop_config::error::{Place, Problems};
use lasthop_config::file::Accepts;
use lasthop_config::tree::{Node as Tree, Origin};
use lasthop_hosts::{Endpoints, Flow, FlowKind, FrancLink, HostsConfig};
use lasthop_net::NetworkConfig;
use lasthop_net::network::Change;
use lasthop_packet::NodeId;
use lasthop_units::{Db, Duration, Identity, Instant, Probability, Seed};
use lasthop_wifi::StationId;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario, valid and complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name of the scenario.
    pub name: String,
    /// Duration of the run.
    pub duration: Duration,
    /// Time at the beginning that results leave out.
    pub warmup: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// The nodes; the index is the [`NodeId`].
    pub nodes: Vec<Node>,
    /// Neighbours on the channel; their nodes come after all others.
    pub neighbours: Vec<Neighbour>,
    /// Links between the nodes, each at its mean; [`Scenario::network_for`] draws the shadowing of
    /// one run.
    pub network: NetworkConfig,
    /// Pairs of stations of [`Scenario::network`] with drawn shadowing.
    shadowed: Vec<(StationId, StationId)>,
    /// Standard deviation of that shadowing.
    shadowing: Db,
    /// Coded links (FRANC) of the scenario.
    pub francs: Vec<FrancLink>,
    /// Traffic that lasthop generates; the index is the [`FlowId`](lasthop_packet::FlowId).
    pub flows: Vec<Flow>,
    /// Programs to start in the nodes (emulation only).
    pub programs: Vec<Program>,
    /// Rules by which sets move to other channels, by [`BssId`](lasthop_wifi::BssId).
    switches: Vec<Option<assemble::SwitchRules>>,
    /// Changes during the run, in ascending order of instants.
    pub changes: Vec<(Instant, Change)>,
    /// Time between two samples of the series.
    pub series_interval: Duration,
    /// Limits of an emulation.
    pub emulation: Emulation,
    /// Changes of the file by `--set`, as `key=value`, in order.
    pub set: Vec<String>,
    /// The scenario as run: the file's text with every `--set` applied. Paths are absolute, so the
    /// text parses to the same scenario from any folder.
    pub source_text: String,
}

/// A node of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// Role of the node.
    pub role: Role,
    /// Whether the node is a neighbour's: no program runs there, and no flow of the file uses it.
    pub is_neighbours: bool,
}

/// A neighbour on the channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Name of the neighbour.
    pub name: String,
    /// Access point and stations of the neighbour.
    pub nodes: Vec<NodeId>,
    /// Share of the time with a PPDU of the neighbour on the air while others are silent.
    pub busy: Probability,
    /// Traffic of the neighbour, which is not among [`Scenario::flows`].
    pub flows: Vec<Flow>,
}

/// Role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The access point of the cell.
    AccessPoint,
    /// A station of the cell.
    Station,
    /// A host behind wires.
    Host,
    /// A wired box that only forwards packets.
    Relay,
}

impl Role {
    /// Whether nodes of this role are on the air.
    pub const fn is_wifi(self) -> bool {
        matches!(self, Self::AccessPoint | Self::Station)
    }
}

/// A program to start in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Node that runs the program.
    pub node: NodeId,
    /// The program and its arguments; at least the program.
    pub command: Vec<String>,
    /// Earliest instant of its start.
    pub start: Instant,
    /// Condition for starting the programs after it. `None`: they do not wait.
    pub ready: Option<Ready>,
    /// Time within which the program must be ready.
    pub ready_timeout: Duration,
}

/// Condition under which a program is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A TCP socket of the node listens at this port.
    Tcp(u16),
    /// A UDP socket of the node has this port.
    Udp(u16),
    /// This file was created or changed after the start.
    File(PathBuf),
    /// This time has passed since the start.
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

/// Limits of an emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// Lateness that marks a run as late if one delivery in a thousand exceeds it.
    pub lateness_max: Duration,
}

impl Node {
    /// Returns the identity of the node's random streams.
    pub fn identity(&self) -> Identity {
        Identity::from_name(&self.name)
    }
}

impl Scenario {
    /// Returns the nodes of the file, without those of neighbours.
    pub fn own_nodes(&self) -> &[Node] {
        &self.nodes[..self.nodes.partition_point(|node| !node.is_neighbours)]
    }

    /// Returns the node called `name`, which cannot be a neighbour's.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let index = self.own_nodes().iter().position(|node| node.name == name)?;
        Some(assemble::node_id(index))
    }

    /// Returns the traffic in virtual time, without a kernel: all endpoints are the model's.
    pub fn hosts(&self, seed: Seed) -> HostsConfig {
        let mut hosts = self.emulated_hosts(Instant::ZERO + self.duration, seed);
        for flow in &mut hosts.flows {
            flow.endpoints = Endpoints::Model;
        }
        hosts
    }

    /// Returns the traffic in real time, until `end`: each flow has the endpoints of the file.
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

    /// Returns the network of one run; `seed` draws the shadowing of every pair of stations with
    /// shadowing.
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

    /// Returns the changes of one run.
    pub fn changes_in(&self, seed: Seed) -> Vec<(Instant, Change)> {
        self.drawn(self.changes.clone(), seed)
    }

    /// Returns the changes of one run: links keep the shadowing that [`Scenario::network_for`]
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

    /// Returns the shadowing of a pair, which both directions share.
    fn shadow(&self, from: StationId, to: StationId, seed: Seed) -> Db {
        let stations = &self.network.cell.as_ref().expect("stations are in a cell").stations;
        let [one, other] = [from, to].map(|station| stations[station.index()].identity);
        let mut stream = seed.stream_of("scenario/shadowing", one.beside(other));
        Db(self.shadowing.0 * stream.normal())
    }

    /// Returns the scenario without TCP small queues at flows with kernel endpoints, to compare
    /// with the kernel's TCP behind a TAP device. Such a device takes (orphans) packets at once, so
    /// small queues hold nothing back there. Endpoints of the model keep theirs, as when emulated.
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
/// All problems of the file: unreadable, not TOML, unknown keys, wrong values, impossible
/// combinations.
pub fn load(path: &Path, sets: &[String]) -> Result<Scenario, ScenarioError> {
    let file = path.display().to_string();
    let bytes = file::read(path, Accepts::FilesAndPipes, TEXT_BYTES_MAX as u64)
        .map_err(|why| ScenarioError::unreadable(&file, why.to_string()))?;
    parse_bytes(&file, &bytes, sets)
}

/// Reads the text of the scenario file at `path`.
///
/// # Errors
/// If the file cannot be read, or is not text.
pub fn read_text(path: &Path) -> Result<String, ScenarioError> {
    let file = path.display().to_string();
    let unreadable = |why: file::FileError| ScenarioError::unreadable(&file, why.to_string());
    let bytes =
        file::read(path, Accepts::FilesAndPipes, TEXT_BYTES_MAX as u64).map_err(unreadable)?;
    file::text(&bytes).map(str::to_owned).map_err(unreadable)
}

/// Reads a scenario from bytes, which should be UTF-8.
///
/// # Errors
/// The same errors as [`load`].
pub fn parse_bytes(file: &str, bytes: &[u8], sets: &[String]) -> Result<Scenario, ScenarioError> {
    match file::text(bytes) {
        Ok(text) => parse(file, text, sets),
        Err(why) => Err(ScenarioError::unreadable(file, why.to_string())),
    }
}

/// Reads a scenario from text. `file` is its name in messages and, without directory and extension,
/// the default name of the scenario. Paths of other files are relative to its directory.
///
/// # Errors
/// The same errors as [`load`].
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

/// Returns the scenario, and the elements that patterns of `sets` named and that are not skipped.
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
    let named = setting::apply(sets, left_out, &mut tree, &mut document, problems);
    profile::expand(&mut tree, &mut document, problems);
    attached::make_absolute(file, &mut tree, &mut document);
    (typed(file, &tree, document, sets, problems), named)
}

/// Returns the scenario in `tree`, whose text is `document`; `None` with a problem.
fn typed(
    file: &str,
    written: &Tree,
    mut document: toml_edit::DocumentMut,
    sets: &[String],
    problems: &mut Problems,
) -> Option<Scenario> {
    let mut tree = written.clone();
    flent::expand(&mut tree, problems);
    assemble::inherit_defaults(&mut tree, problems);
    let raw = lasthop_config::table::read::<raw::RawScenario>(
        &tree,
        Place::new("", Origin::Absent),
        problems,
    );
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

/// Returns the text as a tree, and as a document that keeps its form.
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

/// Parts of a scenario file that a sweep needs before it varies keys: the scenario may be complete
/// only with these keys.
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
    /// Other files of the scenario, by absolute path.
    pub attached: Vec<PathBuf>,
}

/// Reads the parts of a scenario text that a sweep needs; parameters as those of [`parse`].
///
/// # Errors
/// If the text is not TOML, a `--set` names nothing, or a key of `[sweep]` is wrong.
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
        let named = setting::apply(sets, &left_out, &mut tree, &mut document, problems);
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
    let node = tree.child("sweep").unwrap_or(&lasthop_config::table::NOTHING);
    let raw = lasthop_config::table::read::<raw::RawSweep>(
        node,
        Place::new("sweep", Origin::Absent),
        problems,
    )?;
    document.remove("sweep");
    Some(SweepBase {
        vary: raw.vary.map(|at| at.value).unwrap_or_default(),
        zip: raw.zip.value,
        runs: raw.runs.value.get(),
        text: document.to_string(),
        attached,
    })
}

/// Returns the JSON Schema of a scenario file, for editors and generators.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(raw::RawScenario).to_value();
    schema["title"] = "lasthop scenario".into();
    schema
}
