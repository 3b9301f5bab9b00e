//! Knobs for users who watch a run: the keys that may change ([`change`](crate::change)), with
//! current values and useful ranges, in groups: the first station, the access points, the wires,
//! then all other nodes. Nodes of one table with a `count` share its knobs.

use crate::Role;
use crate::change::Evolved;
use lasthop_config::tree::{Node, Value};
use lasthop_net::CableConfig;
use lasthop_net::cable::Jitter;
use lasthop_net::loss::Loss;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_units::{Db, Duration, Probability};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{Role as CellRole, StationConfig};

/// Upper ends of delays and jitter in ms, and of wire rates in Mb/s, unless current values are
/// higher.
const DELAY_MAX_MS: f64 = 500.0;
const JITTER_MAX_MS: f64 = 100.0;
const RATE_MAX_MBPS: f64 = 100.0;
/// Range of signal-to-noise ratios of links, in dB: nothing is decoded below, nothing gained above.
const SNR_DB: core::ops::RangeInclusive<u8> = 0..=45;
/// Losses of a link on offer.
const LOSSES: [&str; 6] = ["off", "0.05", "0.1", "0.3", "0.5", "1"];
/// Queues on offer.
const QUEUES: [&str; 3] = ["drop-tail", "codel", "fq-codel"];
/// Scans on offer: none, one with effects within seconds, and a laptop's.
const SCANS: [&str; 3] = [
    "off",
    "{ start = \"0s\", period = \"10s\", channels = 5 }",
    "{ start = \"0s\", period = \"120s\" }",
];
/// Operating modes on offer: all capabilities, and a typical mode of phones.
const MODES: [&str; 2] = ["off", "{ width = \"20MHz\", streams = 1 }"];
/// Upper end of the number of packets in a queue.
const PACKETS_MAX: f64 = 2_000.0;

/// A key that a user can change while a scenario runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// Path to set.
    pub path: String,
    /// Label of the knob, in words.
    pub label: String,
    /// Owner of the knob: a node, several nodes, a wire.
    pub group: String,
    /// Whether the owner is the first station, an access point or a wire.
    pub is_first: bool,
    /// Kind of value, with its range.
    pub kind: KnobKind,
}

/// Kind of value of a knob.
#[derive(Clone, Debug, PartialEq)]
pub enum KnobKind {
    /// A number, set as the number followed by its unit.
    Number {
        /// Current value of the knob.
        value: f64,
        /// Unit of the number; empty without one.
        unit: &'static str,
        /// Lowest value on offer.
        min: f64,
        /// Highest value on offer.
        max: f64,
        /// Step between values.
        step: f64,
    },
    /// One of several words.
    Choice {
        /// Current value of the knob.
        value: String,
        /// Values on offer.
        choices: Vec<String>,
    },
}

/// Returns the knobs of the current scenario.
pub(crate) fn list(evolved: &Evolved) -> Vec<Knob> {
    let mut ranked = Vec::new();
    let cell = evolved.scenario().network.cell.as_ref();
    // Radios keep their settings where nodes have several links.
    let has_devices = cell.is_some_and(|cell| !cell.devices.is_empty());
    let radios = if has_devices { Vec::new() } else { radios(evolved) };
    if !has_devices {
        links(evolved, &radios, &mut ranked);
    }
    for radio in &radios {
        let mut knobs = Vec::new();
        queue(evolved, radio, &mut knobs);
        scan(evolved, radio, &mut knobs);
        operating_mode(evolved, radio, &mut knobs);
        ranked.extend(knobs.into_iter().map(|knob| (radio.rank, radio.group(knob))));
    }
    wires(evolved, &mut ranked);
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, knob)| knob).collect()
}

/// Order of knobs: the first station, access points, wires, other nodes. Within these the order of
/// the file, with shared knobs before those of single nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    FirstStation,
    AccessPoint(usize),
    Wire(usize),
    Other(usize, bool),
}

/// A node with a radio, or several of one table of the file.
#[derive(Clone, Debug)]
struct Radio {
    /// Name of the node in paths.
    path: String,
    /// Name for users.
    name: String,
    station: StationId,
    is_station: bool,
    rank: Rank,
}

impl Radio {
    fn group(&self, knob: Knob) -> Knob {
        let is_first = !matches!(self.rank, Rank::Other(..));
        Knob { group: self.name.clone(), is_first, ..knob }
    }
}

/// Returns the nodes with radios in the order of the file.
fn radios(evolved: &Evolved) -> Vec<Radio> {
    let scenario = evolved.scenario();
    let first = scenario.own_nodes().iter().position(|node| node.role == Role::Station);
    let radio = |(path, element): (String, &Node)| {
        let single = scenario.node(&path);
        let one = single.or_else(|| scenario.node(&format!("{path}1")))?;
        let station = scenario.network.nodes[one.index()].station?;
        let Some(node) = single else {
            let count = match element.child("count").map(|node| &node.value) {
                Some(Value::Integer(count)) => *count,
                _ => return None,
            };
            let name = match count {
                1 => format!("{path}1"),
                _ => format!("{path}1 to {path}{count}"),
            };
            let is_station = scenario.nodes[one.index()].role == Role::Station;
            let rank = Rank::Other(one.index(), false);
            return Some(Radio { path, name, station, is_station, rank });
        };
        let role = scenario.nodes[node.index()].role;
        let rank = match role {
            _ if Some(node.index()) == first => Rank::FirstStation,
            Role::AccessPoint => Rank::AccessPoint(node.index()),
            _ => Rank::Other(node.index(), true),
        };
        let is_station = role == Role::Station;
        Some(Radio { name: path.clone(), path, station, is_station, rank })
    };
    elements(evolved, "node").into_iter().filter_map(radio).collect()
}

fn number(
    path: String,
    label: String,
    value: f64,
    unit: &'static str,
    max: f64,
    step: f64,
) -> Knob {
    let kind = KnobKind::Number { value, unit, min: 0.0, max: max.max(value), step };
    knob(path, label, kind)
}

/// Returns a knob without a group.
fn knob(path: String, label: String, kind: KnobKind) -> Knob {
    Knob { path, label, group: String::new(), is_first: false, kind }
}

fn choice(path: String, label: String, value: String, choices: &[&str]) -> Knob {
    let mut choices: Vec<String> = choices.iter().map(|&choice| choice.to_owned()).collect();
    if !choices.contains(&value) {
        choices.push(value.clone());
    }
    knob(path, label, KnobKind::Choice { value, choices })
}

/// Returns the elements of a list of the file, each with its name in paths.
fn elements<'a>(evolved: &'a Evolved, list: &str) -> Vec<(String, &'a Node)> {
    let elements = evolved.tree().child(list).and_then(Node::elements).unwrap_or_default();
    elements.iter().enumerate().map(|(index, element)| (element.label(index), element)).collect()
}

fn links(evolved: &Evolved, radios: &[Radio], ranked: &mut Vec<(Rank, Knob)>) {
    let network = &evolved.scenario().network;
    let nodes = &evolved.scenario().nodes;
    let Some(cell) = &network.cell else { return };
    let node_of = |station: StationId| {
        let node = network.nodes.iter().position(|node| node.station == Some(station));
        node.expect("stations are of nodes")
    };
    let name_of = |station: StationId| &nodes[node_of(station)].name;
    let stations = || (0..).map(StationId).zip(&cell.stations);
    let clients = stations().filter(|(_, client)| client.role == CellRole::Station);
    let known = elements(evolved, "link");
    for (station, client) in clients.filter(|(it, _)| !nodes[node_of(*it)].is_neighbours) {
        let is_its = |it: &StationConfig| it.role == CellRole::AccessPoint && it.bss == client.bss;
        let Some((access_point, _)) = stations().find(|(_, it)| is_its(it)) else { continue };
        let (ap, name) = (name_of(access_point), name_of(station));
        let Some(pair) = cell.links.pair(access_point, station) else { continue };
        if !pair.snr_changes.is_empty() {
            continue;
        }
        let own = [format!("{ap}-{name}"), format!("{name}-{ap}")];
        let link = known.iter().map(|(label, _)| label).find(|label| own.contains(label));
        let link = link.unwrap_or(&own[0]);
        let loss = pair.link.loss.map_or("off".to_owned(), |loss| loss.as_f64().to_string());
        let single = radios.iter().find(|radio| radio.name == *name);
        let rank = single.map_or(Rank::Other(node_of(station), true), |radio| radio.rank);
        let is_first = rank == Rank::FirstStation;
        let mut push = |knob: Knob| {
            ranked.push((rank, Knob { group: name.clone(), is_first, ..knob }));
        };
        push(choice(
            format!("link.{link}.loss"),
            format!("loss between {ap} and {name}"),
            loss,
            &LOSSES,
        ));
        // Who senses whom cannot change.
        let sensed = |snr: &u8| pair.link.is_sensed(Db(f64::from(*snr)), cell.carrier_sense);
        let now = pair.link.is_sensed(pair.link.snr, cell.carrier_sense);
        let mut possible = SNR_DB.filter(|snr| sensed(snr) == now);
        if let (None, Some(least), Some(most)) =
            (pair.link.loss, possible.next(), possible.next_back())
        {
            let value = pair.link.snr.0;
            let kind = KnobKind::Number {
                value: (value * 10.0).round() / 10.0,
                unit: "dB",
                min: f64::from(least).min(value.floor()),
                max: f64::from(most).max(value.ceil()),
                step: 0.5,
            };
            let label = format!("signal to noise between {ap} and {name}");
            push(knob(format!("link.{link}.snr"), label, kind));
        }
    }
}

fn queue(evolved: &Evolved, radio: &Radio, knobs: &mut Vec<Knob>) {
    let Some(cell) = &evolved.scenario().network.cell else { return };
    let queue = cell.stations[radio.station.index()].queue;
    let kind = match queue {
        QueueConfig::DropTail { .. } | QueueConfig::DropTailByPeer { .. } => QUEUES[0],
        QueueConfig::CoDel { .. } => QUEUES[1],
        QueueConfig::FqCodel { .. } => QUEUES[2],
        QueueConfig::EmulatedBdp { .. }
        | QueueConfig::DualPi2 { .. }
        | QueueConfig::Cake { .. } => return,
    };
    let (path, name) = (format!("node.{}.queue", radio.path), &radio.name);
    knobs.push(choice(format!("{path}.kind"), format!("queue of {name}"), kind.into(), &QUEUES));
    let packets = match queue {
        QueueConfig::DropTail { limit: Limit::Packets(packets) }
        | QueueConfig::DropTailByPeer { limit: Limit::Packets(packets), .. }
        | QueueConfig::CoDel { limit: Limit::Packets(packets), .. }
        | QueueConfig::FqCodel { limit_packets: packets, .. } => packets,
        _ => return,
    };
    let kind = KnobKind::Number {
        value: f64::from(packets),
        unit: "",
        min: 1.0,
        max: PACKETS_MAX.max(f64::from(packets)),
        step: 1.0,
    };
    let label = format!("queue limit of {name}, in packets");
    knobs.push(knob(format!("{path}.packets"), label, kind));
}

fn operating_mode(evolved: &Evolved, radio: &Radio, knobs: &mut Vec<Knob>) {
    let Some(cell) = &evolved.scenario().network.cell else { return };
    if !radio.is_station || !cell.has_operating_modes(radio.station) {
        return;
    }
    let mode = cell.stations[radio.station.index()].operating_mode;
    let value = mode.map_or(MODES[0].to_owned(), |mode| {
        format!("{{ width = \"{}\", streams = {} }}", mode.width, mode.receive_streams)
    });
    let path = format!("node.{}.operating_mode", radio.path);
    knobs.push(choice(path, format!("operating mode of {}", radio.name), value, &MODES));
}

fn scan(evolved: &Evolved, radio: &Radio, knobs: &mut Vec<Knob>) {
    let Some(cell) = &evolved.scenario().network.cell else { return };
    let station = &cell.stations[radio.station.index()];
    let dozes = station.power_save.is_some() || station.service_periods.is_some();
    let leaves = station.roaming.is_some() || !station.absences.is_empty();
    if !radio.is_station || dozes || leaves {
        return;
    }
    let value = station.scan.map_or(SCANS[0].to_owned(), |scan| {
        let is_it = |shown: &&&str| shown.contains(&format!("period = \"{}\"", scan.period));
        let shown = SCANS.iter().find(is_it).map(|shown| (*shown).to_owned());
        shown.unwrap_or_else(|| format!("{{ period = \"{}\" }}", scan.period))
    });
    let path = format!("node.{}.scan", radio.path);
    knobs.push(choice(path, format!("scans of {}", radio.name), value, &SCANS));
}

fn wires(evolved: &Evolved, ranked: &mut Vec<(Rank, Knob)>) {
    let wires = &evolved.scenario().network.wires;
    let elements = elements(evolved, "wire").into_iter().zip(wires).enumerate();
    for (index, ((label, element), wire)) in elements {
        let knobs = &mut Vec::new();
        let names = wire.ends.map(|end| &*evolved.scenario().nodes[end.index()].name);
        let [one, other] = names;
        let differ = element.child("up").is_some() || element.child("down").is_some();
        let [up, down] = &wire.directions;
        if differ {
            wire_knobs(&format!("wire.{label}.up"), &format!("from {one} to {other}"), up, knobs);
            wire_knobs(
                &format!("wire.{label}.down"),
                &format!("from {other} to {one}"),
                down,
                knobs,
            );
        } else {
            wire_knobs(&format!("wire.{label}"), &format!("between {one} and {other}"), up, knobs);
        }
        let group = format!("wire {label}");
        ranked.extend(knobs.drain(..).map(|knob| {
            (Rank::Wire(index), Knob { group: group.clone(), is_first: true, ..knob })
        }));
    }
}

/// Returns the knobs of a wire at `path` in the direction `way`.
fn wire_knobs(path: &str, way: &str, config: &CableConfig, knobs: &mut Vec<Knob>) {
    let ms = |time: Duration| time.as_millis_f64();
    if let Some(rate) = config.rate.filter(|_| config.rate_changes.is_empty()) {
        let kind = KnobKind::Number {
            value: rate.as_mbps_f64(),
            unit: "Mb/s",
            min: 0.1,
            max: RATE_MAX_MBPS.max(rate.as_mbps_f64()),
            step: 0.1,
        };
        knobs.push(knob(format!("{path}.rate"), format!("rate of the wire {way}"), kind));
    }
    let label = format!("delay of the wire {way}");
    knobs.push(number(format!("{path}.delay"), label, ms(config.delay), "ms", DELAY_MAX_MS, 1.0));
    let most = match config.jitter {
        Jitter::None => Some(Duration::ZERO),
        Jitter::Uniform(most) => Some(most),
        Jitter::Normal { .. } => None,
    };
    if let Some(most) = most {
        let label = format!("jitter of the wire {way}");
        knobs.push(number(format!("{path}.jitter"), label, ms(most), "ms", JITTER_MAX_MS, 1.0));
    }
    let loss = match config.loss {
        Loss::None => Some(Probability::ZERO),
        Loss::Random(probability) => Some(probability),
        Loss::GilbertElliott { .. } => None,
    };
    if let Some(loss) = loss {
        let label = format!("loss of the wire {way}");
        knobs.push(number(format!("{path}.loss"), label, loss.as_f64(), "", 1.0, 0.01));
    }
}
