//! From keys to the machines' configuration: allowed combinations, names to indices, defaults that
//! depend on other keys.
//!
//! `radio` is the channel and the stations, `topology` wires and reachability, `traffic` flows and
//! programs, `apq` and `tcp` those kinds of flow, `franc` coded links, `neighbour` other people's
//! cells. All modules here may assume that each single value is valid, and report every combination
//! that is not.

mod apq;
mod franc;
mod mtu;
mod neighbour;
mod nodes;
mod queue;
mod radio;
mod tcp;
mod topology;
mod traffic;

pub(crate) use nodes::inherit_defaults;
pub(crate) use radio::SwitchRules;

use crate::raw::RawScenario;
use crate::{Emulation, Node, Scenario};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::{At, Name, did_you_mean, positive};
use lasthop_config::tree::Origin;
use lasthop_net::network::{HostCost, NetworkConfig, NodeConfig, ReceiveOffload};
use lasthop_packet::NodeId;
use lasthop_units::{Duration, Identity, Instant};
use lasthop_wifi::StationId;
use lasthop_wifi::mac::adaptive_mtu::AdaptiveMtuConfig;
use mtu::NodeMtu;
use std::collections::BTreeMap;

/// Largest number of nodes, so that a [`NodeId`] and a packet's addresses can hold them. Each pair
/// of nodes with a radio has separate links of some 22 bytes.
pub(crate) const NODES_MAX: usize = 1_024;

/// Shortest interval of the series: shorter than most frame exchanges. A run of a second then has a
/// thousand rows for each subject.
const SERIES_INTERVAL_MIN: Duration = Duration::from_millis(1);

/// Returns the index as a [`NodeId`].
pub(crate) fn node_id(index: usize) -> NodeId {
    NodeId(u16::try_from(index).expect("there are at most NODES_MAX nodes"))
}

/// Assembles everything but the text; `None` only with a problem.
pub(crate) fn scenario(raw: &RawScenario, file: &str, problems: &mut Problems) -> Option<Scenario> {
    times(raw, problems);
    let mut nodes = nodes::expand(&raw.node, problems)?;
    nodes::check_roles(&nodes, raw, problems);
    let (names, own) = (Names::new(&nodes), nodes.len());
    let neighbours = neighbour::raw_nodes(raw, problems);
    nodes::add(&mut nodes, neighbours.iter().flat_map(neighbour::Nodes::expand), problems)?;
    let heard = neighbour::Heard::new(raw, &nodes, &neighbours, &names, problems);
    let cell = radio::cell(raw, &nodes, &names, &heard, problems);
    let (wires, islands) = topology::wires(&nodes, &raw.wire, raw.duration.value, &names, problems);
    let mtus = mtu::mtus(raw, &nodes, &wires, problems);
    let flows = traffic::flows(raw, &nodes, &mtus, &names, islands.as_ref(), problems);
    radio::check_receivers(&nodes, &flows, problems);
    let francs = franc::links(raw, &nodes, &mtus, &flows, &names, islands.as_ref(), problems);
    let programs = traffic::programs(&raw.run, raw.duration.value, &nodes, &names, problems);
    // They are expanded already, and typed for their names alone.
    let _profiles = (&raw.profile, nodes.first().map(|node| &node.raw.settings.profile));
    if !problems.is_empty() {
        return None;
    }
    let (neighbours, cell) = match cell {
        Some((mut cell, shadowed)) => {
            let load = neighbour::load(raw, &neighbours, own, &mut cell, problems);
            (load, Some((cell, shadowed)))
        }
        None => (Vec::new(), None),
    };
    if !problems.is_empty() {
        return None;
    }
    let name = raw.name.as_ref().map_or_else(|| stem(file), |name| name.value.0.clone());
    let (cell, shadowed) = cell.map_or((None, Vec::new()), |(mut cell, shadowed)| {
        cell.ssid_octets = name.len().min(SSID_OCTETS_MAX) as u8;
        (Some(franc::listening(cell, &francs, &nodes)), shadowed)
    });
    let mut network = NetworkConfig { nodes: node_configs(&nodes, &mtus), cell, wires };
    adapt_mtus(&mut network, &mtus);
    Some(Scenario {
        name,
        duration: raw.duration.value,
        warmup: raw.warmup.value,
        seed: raw.seed.value.get(),
        nodes: nodes
            .iter()
            .enumerate()
            .map(|(index, node)| Node {
                name: node.name.clone(),
                role: node.role(),
                is_neighbours: index >= own,
            })
            .collect(),
        neighbours,
        network,
        shadowed,
        shadowing: raw.channel.path_loss.shadowing.value,
        francs,
        flows,
        programs,
        switches: radio::switch_rules(raw, &nodes),
        changes: Vec::new(),
        series_interval: raw.series_interval.value,
        emulation: Emulation { lateness_max: raw.emulation.lateness_max.value },
        set: Vec::new(),
        source_text: String::new(),
    })
}

/// Stations are numbered in the order of the Wi-Fi nodes.
fn node_configs(nodes: &[nodes::Expanded<'_>], mtus: &[NodeMtu]) -> Vec<NodeConfig> {
    let mut stations = (0..).map(StationId);
    nodes
        .iter()
        .zip(mtus)
        .map(|(node, &mtu)| NodeConfig {
            identity: Identity::from_name(&node.name),
            station: if node.is_wifi() { stations.next() } else { None },
            mtu: mtu.bytes,
            host_cost: node.raw.settings.host_cost.as_ref().map(|cost| HostCost {
                per_packet: cost.per_packet.value,
                per_byte: cost.per_byte.value,
                latency: cost.latency.value,
            }),
            receive_offload: node.raw.settings.receive_offload.as_ref().map(|offload| {
                ReceiveOffload {
                    interval: offload.interval.value,
                    segments_max: offload.segments.value.get(),
                }
            }),
        })
        .collect()
}

/// Sets the adaptive MTU of stations.
fn adapt_mtus(network: &mut NetworkConfig, mtus: &[NodeMtu]) {
    let Some(cell) = &mut network.cell else { return };
    for (node, mtu) in network.nodes.iter().zip(mtus) {
        let (Some(station), Some(bytes_min)) = (node.station, mtu.adaptive_min) else { continue };
        let usual = HostCost::default();
        let cost = node.host_cost.unwrap_or(usual);
        cell.stations[station.index()].adaptive_mtu = Some(AdaptiveMtuConfig {
            bytes_min,
            bytes_max: mtu.bytes,
            host_per_packet: cost.per_packet,
            host_per_byte: cost.per_byte,
        });
    }
}

/// Longest name of a network, for which that of the scenario is cut (IEEE 802.11-2020, 9.4.2.2).
const SSID_OCTETS_MAX: usize = 32;

/// Returns the name of a file without directory and extension, with plain characters only.
fn stem(file: &str) -> String {
    let stem = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = stem.chars().map(plain).take(Name::BYTES_MAX).collect();
    match name.trim_matches('-') {
        "" => "scenario".into(),
        name => name.into(),
    }
}

fn times(raw: &RawScenario, problems: &mut Problems) {
    positive(&raw.duration, problems);
    if raw.series_interval.value < SERIES_INTERVAL_MIN {
        let message =
            format!("expected at least {SERIES_INTERVAL_MIN}, got {}", raw.series_interval.value);
        problems.push(&raw.series_interval.place, message);
    }
    positive(&raw.emulation.lateness_max, problems);
    let (warmup, duration) = (raw.warmup.value, raw.duration.value);
    if warmup >= duration && !duration.is_zero() {
        let message = format!("expected less than the duration of {duration}, got {warmup}");
        problems.push(&raw.warmup.place, message);
    }
}

/// Returns the instant of a change during the run, and stores it in `last`. Reports an instant that
/// is not after `last`, or not before the end.
fn change_at(
    from: &At<Duration>,
    last: &mut Duration,
    duration: Duration,
    problems: &mut Problems,
) -> Instant {
    let at = from.value;
    if at <= *last {
        problems.push(&from.place, format!("expected more than {last}, got {at}"));
    } else if at >= duration {
        let message = format!("expected less than the duration of {duration}, got {at}");
        problems.push(&from.place, message);
    }
    *last = at.max(*last);
    Instant::ZERO + at
}

/// Whether the file, its defaults or a `--set` contain this value.
fn is_written(place: &Place) -> bool {
    place.origin != Origin::Absent
}

/// Nodes by name.
pub(crate) struct Names(BTreeMap<String, usize>);

impl Names {
    fn new(nodes: &[nodes::Expanded<'_>]) -> Self {
        Self(nodes.iter().enumerate().map(|(index, node)| (node.name.clone(), index)).collect())
    }

    /// Returns the node called `name`, or reports that there is none.
    fn find(&self, name: &str, place: &Place, problems: &mut Problems) -> Option<usize> {
        let found = self.0.get(name).copied();
        if found.is_none() {
            problems.push_made(place, &|| self.missing(name));
        }
        found
    }

    /// Returns every node whose name matches `pattern`, in the order of the file.
    fn find_all(&self, pattern: &str, place: &Place, problems: &mut Problems) -> Vec<usize> {
        let fits = |name: &str| lasthop_config::edit::matches(pattern, name);
        let mut found: Vec<usize> = if pattern.contains('*') {
            self.0.iter().filter(|(name, _)| fits(name)).map(|(_, &index)| index).collect()
        } else {
            self.0.get(pattern).copied().into_iter().collect()
        };
        found.sort_unstable();
        if found.is_empty() {
            problems.push_made(place, &|| self.missing(pattern));
        }
        found
    }

    fn missing(&self, name: &str) -> String {
        const SHOWN_MAX: usize = 12;
        let hint = did_you_mean(name, self.0.keys().map(String::as_str)).unwrap_or_else(|| {
            let mut all: Vec<&str> = self.0.keys().map(String::as_str).take(SHOWN_MAX).collect();
            if self.0.len() > SHOWN_MAX {
                all.push("..");
            }
            format!("the nodes are: {}", all.join(", "))
        });
        format!("there is no node {name:?}; {hint}")
    }
}
