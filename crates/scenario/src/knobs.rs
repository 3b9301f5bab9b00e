//! What somebody who watches a run would turn by hand: the keys that may change while it runs
//! ([`change`](crate::change)), with what they are now and how far they reasonably go. Of many
//! stations the first have knobs; any key that may change can be set by its path all the same.

use crate::Role;
use crate::change::Evolved;
use crate::tree::Node;
use lasthop_net::CableConfig;
use lasthop_net::cable::Jitter;
use lasthop_net::loss::Loss;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_units::{Db, Duration, Probability};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{Role as CellRole, StationConfig};

/// Most stations with knobs of their own, and most wires.
const STATIONS_MAX: usize = 8;
const WIRES_MAX: usize = 4;
/// How far delays and jitter go, in ms, and rates of wires, in Mb/s, unless they are beyond that.
const DELAY_MAX_MS: f64 = 500.0;
const JITTER_MAX_MS: f64 = 100.0;
const RATE_MAX_MBPS: f64 = 100.0;
/// The signal-to-noise ratios of links, in dB: nothing is decoded below, nothing gained above.
const SNR_DB: core::ops::RangeInclusive<u8> = 0..=45;
/// The losses that are offered of a link.
const LOSSES: [&str; 6] = ["off", "0.05", "0.1", "0.3", "0.5", "1"];
/// The queues that are offered.
const QUEUES: [&str; 3] = ["drop-tail", "codel", "fq-codel"];
/// The scans that are offered: none, what shows within seconds, and a laptop's.
const SCANS: [&str; 3] = [
    "off",
    "{ start = \"0s\", period = \"10s\", channels = 5 }",
    "{ start = \"0s\", period = \"120s\" }",
];
/// The operating modes that are offered: all that a station can, and what phones save power with.
const MODES: [&str; 2] = ["off", "{ width = \"20MHz\", streams = 1 }"];
/// How many packets a queue holds.
const PACKETS_MAX: f64 = 2_000.0;

/// Something that can be turned while a scenario runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// The path that is set.
    pub path: String,
    /// What it is, in words.
    pub label: String,
    /// What it can be.
    pub kind: KnobKind,
}

/// What a knob can be.
#[derive(Clone, Debug, PartialEq)]
pub enum KnobKind {
    /// A number; what is set is the number followed by its unit.
    Number {
        /// What it is.
        value: f64,
        /// Its unit; empty without one.
        unit: &'static str,
        /// The least that is offered.
        min: f64,
        /// The most that is offered.
        max: f64,
        /// From one to the next.
        step: f64,
    },
    /// One of several words.
    Choice {
        /// What it is.
        value: String,
        /// What is offered.
        choices: Vec<String>,
    },
}

/// The knobs of a scenario as it is by now: links first, then queues, then wires.
pub(crate) fn of(evolved: &Evolved) -> Vec<Knob> {
    let mut knobs = Vec::new();
    links(evolved, &mut knobs);
    queues(evolved, &mut knobs);
    scans(evolved, &mut knobs);
    operating_modes(evolved, &mut knobs);
    wires(evolved, &mut knobs);
    knobs
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
    Knob { path, label, kind }
}

fn choice(path: String, label: String, value: String, choices: &[&str]) -> Knob {
    let mut choices: Vec<String> = choices.iter().map(|&choice| choice.to_owned()).collect();
    if !choices.contains(&value) {
        choices.push(value.clone());
    }
    Knob { path, label, kind: KnobKind::Choice { value, choices } }
}

/// Elements of a list of the file, each with what it is called.
fn elements<'a>(evolved: &'a Evolved, list: &str) -> Vec<(String, &'a Node)> {
    let elements = evolved.tree().child(list).and_then(Node::elements).unwrap_or_default();
    elements.iter().enumerate().map(|(index, element)| (element.label(index), element)).collect()
}

fn links(evolved: &Evolved, knobs: &mut Vec<Knob>) {
    let network = &evolved.scenario().network;
    let nodes = &evolved.scenario().nodes;
    let Some(cell) = &network.cell else { return };
    let name_of = |station: StationId| {
        let node = network.nodes.iter().position(|node| node.station == Some(station));
        &nodes[node.expect("stations are of nodes")].name
    };
    let stations = || (0..).map(StationId).zip(&cell.stations);
    let clients = stations().filter(|(_, client)| client.role == CellRole::Station);
    for (station, client) in clients.take(STATIONS_MAX) {
        let is_its = |it: &StationConfig| it.role == CellRole::AccessPoint && it.bss == client.bss;
        let Some((access_point, _)) = stations().find(|(_, it)| is_its(it)) else { continue };
        let (ap, name) = (name_of(access_point), name_of(station));
        let Some(pair) = cell.links.pair(access_point, station) else { continue };
        if !pair.snr_changes.is_empty() {
            continue;
        }
        let own = [format!("{ap}-{name}"), format!("{name}-{ap}")];
        let known = elements(evolved, "link");
        let link = known.iter().map(|(label, _)| label).find(|label| own.contains(label));
        let link = link.unwrap_or(&own[0]);
        let loss = pair.link.loss.map_or("off".to_owned(), |loss| loss.as_f64().to_string());
        knobs.push(choice(
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
            knobs.push(Knob {
                path: format!("link.{link}.snr"),
                label: format!("signal to noise between {ap} and {name}"),
                kind: KnobKind::Number {
                    value: (value * 10.0).round() / 10.0,
                    unit: "dB",
                    min: f64::from(least).min(value.floor()),
                    max: f64::from(most).max(value.ceil()),
                    step: 0.5,
                },
            });
        }
    }
}

fn queues(evolved: &Evolved, knobs: &mut Vec<Knob>) {
    let network = &evolved.scenario().network;
    let Some(cell) = &network.cell else { return };
    let mut radios = 0;
    for (name, _) in elements(evolved, "node") {
        // Nodes that are many have other names.
        let node = evolved.scenario().node(&name).and_then(|it| network.nodes.get(it.index()));
        let Some(station) = node.and_then(|node| node.station) else { continue };
        radios += 1;
        if radios > STATIONS_MAX {
            return;
        }
        let queue = cell.stations[station.index()].queue;
        let kind = match queue {
            QueueConfig::DropTail { .. } => QUEUES[0],
            QueueConfig::CoDel { .. } => QUEUES[1],
            QueueConfig::FqCodel { .. } => QUEUES[2],
            QueueConfig::EmulatedBdp { .. } => continue,
        };
        let path = format!("node.{name}.queue");
        let label = format!("queue of {name}");
        knobs.push(choice(format!("{path}.kind"), label, kind.into(), &QUEUES));
        let packets = match queue {
            QueueConfig::DropTail { limit: Limit::Packets(packets) }
            | QueueConfig::CoDel { limit: Limit::Packets(packets), .. }
            | QueueConfig::FqCodel { limit_packets: packets, .. } => packets,
            _ => continue,
        };
        let kind = KnobKind::Number {
            value: f64::from(packets),
            unit: "",
            min: 1.0,
            max: PACKETS_MAX.max(f64::from(packets)),
            step: 1.0,
        };
        knobs.push(Knob {
            path: format!("{path}.packets"),
            label: format!("packets that the queue of {name} holds"),
            kind,
        });
    }
}

/// The stations that are offered, with their names.
fn stations(evolved: &Evolved) -> Vec<(String, StationId)> {
    let scenario = evolved.scenario();
    let named = elements(evolved, "node").into_iter().filter_map(|(name, _)| {
        let node = scenario.node(&name)?;
        let is_station = scenario.nodes[node.index()].role == Role::Station;
        let station = scenario.network.nodes[node.index()].station.filter(|_| is_station)?;
        Some((name, station))
    });
    named.take(STATIONS_MAX).collect()
}

fn operating_modes(evolved: &Evolved, knobs: &mut Vec<Knob>) {
    let Some(cell) = &evolved.scenario().network.cell else { return };
    for (name, station) in stations(evolved) {
        if !cell.has_operating_modes(station) {
            continue;
        }
        let mode = cell.stations[station.index()].operating_mode;
        let value = mode.map_or(MODES[0].to_owned(), |mode| {
            format!("{{ width = \"{}\", streams = {} }}", mode.width, mode.receive_streams)
        });
        let (path, label) =
            (format!("node.{name}.operating_mode"), format!("operating mode of {name}"));
        knobs.push(choice(path, label, value, &MODES));
    }
}

fn scans(evolved: &Evolved, knobs: &mut Vec<Knob>) {
    let Some(cell) = &evolved.scenario().network.cell else { return };
    for (name, station) in stations(evolved) {
        let station = &cell.stations[station.index()];
        if station.power_save.is_some() || station.service_periods.is_some() {
            continue;
        }
        let value = station.scan.map_or(SCANS[0].to_owned(), |scan| {
            let is_it = |shown: &&&str| shown.contains(&format!("period = \"{}\"", scan.period));
            let shown = SCANS.iter().find(is_it).map(|shown| (*shown).to_owned());
            shown.unwrap_or_else(|| format!("{{ period = \"{}\" }}", scan.period))
        });
        knobs.push(choice(format!("node.{name}.scan"), format!("scans of {name}"), value, &SCANS));
    }
}

fn wires(evolved: &Evolved, knobs: &mut Vec<Knob>) {
    let wires = &evolved.scenario().network.wires;
    for ((label, element), wire) in elements(evolved, "wire").into_iter().zip(wires).take(WIRES_MAX)
    {
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
    }
}

/// The knobs of a wire at `path`, which goes `way`.
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
        knobs.push(Knob {
            path: format!("{path}.rate"),
            label: format!("rate of the wire {way}"),
            kind,
        });
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
