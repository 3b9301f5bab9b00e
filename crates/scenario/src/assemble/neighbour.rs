//! Neighbours on the channel: an access point and stations for each `[[neighbour]]`, levels in both
//! directions, and the load that gives the requested busy share.
//!
//! The load is a closed form. All exchanges of a neighbour are alike: `packets` packets in a data
//! PPDU, and its response (`wifi::cell::SteadyExchange`), together `T` on the air. Packets come in
//! bursts of that number, each burst fills one PPDU, so with beacons of length `B` every `I` the
//! air is busy for
//!
//! ```text
//! busy = B / I + bursts a second * T
//! ```
//!
//! of the time while others are silent, as long as one contender can send all bursts. Left out:
//! collisions among the stations of the neighbour, which add to this.

use super::nodes::Expanded;
use super::{Names, node_id};
use crate::raw::{RateControlKind, RawNeighbour, RawNode, RawNodeSettings, RawScenario};
use crate::{Neighbour, Role};
use lasthop_config::error::Problems;
use lasthop_config::scalar::{At, Name, Whole};
use lasthop_config::table;
use lasthop_hosts::{Endpoints, Flow, FlowKind, SourceConfig};
use lasthop_packet::AccessCategory;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_units::{Bitrate, Db, Dbm, Instant};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::CellConfig;
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::Standard;
use std::collections::BTreeSet;

/// Transmit power of a neighbour's nodes, as of most access points and laptops.
const TX_POWER: Dbm = Dbm(20.0);
/// Level between the nodes of a neighbour, -40 dBm: a strong link, on which every MCS arrives.
const OWN_PATH_LOSS: Db = Db(60.0);
/// Largest share of the capacity of one contender that may be offered. Closer to the capacity the
/// queue takes longer to settle than a run lasts.
const LOAD_MAX: f64 = 0.98;
/// PPDUs that a neighbour's queues hold: 200 ms of 2 ms each.
const QUEUE_PPDUS: u32 = 100;

/// Returns the nodes of the neighbours with a load, the access point of each first.
pub(super) fn raw_nodes(raw: &RawScenario, problems: &mut Problems) -> Vec<Nodes> {
    let mut names = BTreeSet::new();
    let mut nodes = Vec::new();
    for (index, neighbour) in raw.neighbour.iter().enumerate() {
        let name = &neighbour.name.value.0;
        if !names.insert(name) {
            let message = format!("there are two neighbours called {name:?}");
            problems.push(&neighbour.name.place, message);
        }
        if raw.node.iter().any(|node| node.name.value.0 == *name) {
            let message = format!("a node is called {name:?}; a neighbour needs another name");
            problems.push(&neighbour.name.place, message);
        }
        if raw.channel.independent.value {
            let message = "an independent cell has no neighbours: theirs have access points";
            problems.push(&neighbour.here, message);
        }
        if neighbour.level.value.0 > TX_POWER.0 {
            let message = format!("expected at most {TX_POWER}, with which it sends");
            problems.push(&neighbour.level.place, message);
        }
        if neighbour.busy.value.as_f64() > 0.0 {
            nodes.extend(Nodes::new(index, neighbour, raw.channel.standard.value, problems));
        }
    }
    nodes
}

/// The nodes of one neighbour.
pub(super) struct Nodes {
    /// Index of the neighbour in the file.
    neighbour: usize,
    access_point: RawNode,
    station: RawNode,
    stations: usize,
}

impl Nodes {
    fn new(
        neighbour: usize,
        raw: &RawNeighbour,
        standard: Standard,
        problems: &mut Problems,
    ) -> Option<Self> {
        let place = &raw.here;
        let node = |role: Role, problems: &mut Problems| {
            let settings =
                table::read::<RawNodeSettings>(&table::NOTHING, place.clone(), problems)?;
            let name = &raw.name.value.0;
            let at = |name: String| At { value: Name(name), place: raw.name.place.clone() };
            Some(RawNode {
                here: place.clone(),
                name: at(name.clone()),
                role: At { value: role, place: place.clone() },
                count: None,
                position: None,
                ring: None,
                waypoints: Vec::new(),
                path: None,
                trace: None,
                failed: At { value: false, place: place.clone() },
                bss: Some(at(format!("{name}:"))),
                address: None,
                settings: with_rate(settings, raw, standard),
            })
        };
        Some(Self {
            neighbour,
            access_point: node(Role::AccessPoint, problems)?,
            station: node(Role::Station, problems)?,
            stations: raw.stations.value.get(),
        })
    }

    /// Returns the nodes, named after the neighbour with a suffix that no other name has.
    pub fn expand(&self) -> impl Iterator<Item = Expanded<'_>> {
        let name = &self.access_point.name.value.0;
        let expanded = |name, raw| Expanded { name, raw, index: 0, count: 1 };
        let stations =
            (1..=self.stations).map(move |n| expanded(format!("{name}:sta{n}"), &self.station));
        core::iter::once(expanded(format!("{name}:ap"), &self.access_point)).chain(stations)
    }
}

/// Returns the settings of a node that sends at the rate and power of the neighbour.
fn with_rate(
    mut settings: RawNodeSettings,
    raw: &RawNeighbour,
    standard: Standard,
) -> RawNodeSettings {
    let at = |value| At { value, place: raw.here.clone() };
    let control = &mut settings.rate_control;
    control.kind = Some(At { value: RateControlKind::Fixed, place: raw.here.clone() });
    control.fixed.mcs =
        raw.mcs.as_ref().map(|mcs| At { value: mcs.value, place: mcs.place.clone() });
    control.fixed.rate =
        raw.rate.as_ref().map(|at| At { value: at.value, place: at.place.clone() });
    control.fixed.streams =
        raw.streams.as_ref().map(|at| At { value: at.value, place: at.place.clone() });
    if raw.mcs.is_none() && raw.rate.is_none() {
        match standard {
            Standard::Dot11n => control.fixed.mcs = Some(at(Whole(12))),
            Standard::Dot11ac | Standard::Dot11ax | Standard::Dot11be => {
                control.fixed.mcs = Some(at(Whole(4)));
            }
            Standard::Dot11b => {
                control.fixed.rate =
                    Some(At { value: Bitrate::from_mbps(11), place: raw.here.clone() })
            }
            Standard::Dot11a | Standard::Dot11g => {
                control.fixed.rate =
                    Some(At { value: Bitrate::from_mbps(24), place: raw.here.clone() })
            }
        }
    }
    let streams = match (standard, &control.fixed.mcs) {
        (Standard::Dot11n, Some(mcs)) => mcs.value.0 / 8 + 1,
        _ => raw.streams.as_ref().map_or(2, |at| at.value.0),
    };
    settings.streams.value = Whole(streams);
    settings.width = raw.width.as_ref().map(|at| At { value: at.value, place: at.place.clone() });
    settings.tx_power.value = TX_POWER;
    settings
}

/// Levels of the neighbours at other nodes, and of these at the neighbours.
#[derive(Default)]
pub(super) struct Heard {
    /// Number of nodes before those of neighbours.
    own: usize,
    /// Index of the neighbour, by node of a neighbour.
    of_node: Vec<usize>,
    /// Path loss, by neighbour and node of the file.
    to_own: Vec<Vec<Db>>,
    /// Path loss, by neighbour and neighbour.
    between: Vec<Vec<Db>>,
}

impl Heard {
    /// Reports levels at unknown nodes, or at nodes without a radio.
    pub fn new(
        raw: &RawScenario,
        nodes: &[Expanded<'_>],
        theirs: &[Nodes],
        names: &Names,
        problems: &mut Problems,
    ) -> Self {
        let all = &raw.neighbour;
        let count = |nodes: &Nodes| core::iter::repeat_n(nodes.neighbour, nodes.stations + 1);
        let of_node: Vec<usize> = theirs.iter().flat_map(count).collect();
        let own = nodes.len() - of_node.len();
        let loss = |level: Dbm| TX_POWER - level;
        let usual: Vec<Db> = all.iter().map(|neighbour| loss(neighbour.level.value)).collect();
        let weaker = |one: &Db| usual.iter().map(|two| Db(one.0.max(two.0))).collect();
        let mut heard = Self {
            own,
            of_node,
            to_own: usual.iter().map(|&loss| vec![loss; own]).collect(),
            between: usual.iter().map(weaker).collect(),
        };
        for (index, neighbour) in all.iter().enumerate() {
            for said in &neighbour.levels {
                let (pattern, place) = (&said.node.value, &said.node.place);
                let loss = loss(said.level.value);
                if loss.0 < 0.0 {
                    let message = format!("expected at most {TX_POWER}, with which it sends");
                    problems.push(&said.level.place, message);
                }
                let is_it = |other: &RawNeighbour| other.name.value.0 == *pattern;
                if let Some(other) = all.iter().position(is_it) {
                    if other == index {
                        problems.push(place, "its own nodes hear it by a strong link");
                    }
                    heard.between[index][other] = loss;
                    heard.between[other][index] = loss;
                    continue;
                }
                for node in names.find_all(pattern, place, problems) {
                    if nodes[node].is_wifi() {
                        heard.to_own[index][node] = loss;
                    } else if !pattern.contains('*') {
                        problems.push(place, format!("{pattern:?} has no radio"));
                    }
                }
            }
        }
        heard
    }

    /// Returns the path loss between two nodes, if one of them is a neighbour's.
    pub fn path_loss(&self, one: usize, other: usize) -> Option<Db> {
        let of = |node: usize| Some(self.of_node[node.checked_sub(self.own)?]);
        match (of(one), of(other)) {
            (None, None) => None,
            (Some(one), Some(other)) if one == other => Some(OWN_PATH_LOSS),
            (Some(one), Some(other)) => Some(self.between[one][other]),
            (Some(one), None) => Some(self.to_own[one][other]),
            (None, Some(other)) => Some(self.to_own[other][one]),
        }
    }
}

/// Returns the neighbours with a load, with their flows; their stations send one PPDU for each
/// burst. Reports shares that are higher than possible.
pub(super) fn load(
    raw: &RawScenario,
    theirs: &[Nodes],
    own: usize,
    cell: &mut CellConfig,
    problems: &mut Problems,
) -> Vec<Neighbour> {
    let mut neighbours = Vec::new();
    let mut node = own;
    // The further links of devices follow all nodes.
    let further: usize = cell.devices.iter().map(|device| device.links.len() - 1).sum();
    let of_neighbours: usize = theirs.iter().map(|it| it.stations + 1).sum();
    let in_own_cell = cell.stations.len() - further - of_neighbours;
    for nodes in theirs {
        let neighbour = &raw.neighbour[nodes.neighbour];
        let station = in_own_cell + node - own;
        let (down, up) = sources(neighbour, station, nodes.stations, cell, problems);
        let name = &neighbour.name.value.0;
        let mut flows = Vec::new();
        for n in 1..=nodes.stations {
            let both = [("down", (node, node + n), &down), ("up", (node + n, node), &up)];
            for (direction, (from, to), source) in both {
                let Some(source) = source.clone() else { continue };
                flows.push(Flow {
                    name: format!("{name}:sta{n}-{direction}"),
                    from: node_id(from),
                    to: node_id(to),
                    kind: FlowKind::Udp(source),
                    start: Instant::ZERO,
                    stop: None,
                    access_category: AccessCategory::BestEffort,
                    deadline: None,
                    endpoints: Endpoints::Model,
                    table: None,
                    group: None,
                });
            }
        }
        let last = node + nodes.stations;
        neighbours.push(Neighbour {
            name: name.clone(),
            nodes: (node..=last).map(node_id).collect(),
            busy: neighbour.busy.value,
            flows,
        });
        node = last + 1;
    }
    neighbours
}

/// Load from the access point to each station, and from each station to the access point, which is
/// `station` of the cell. Nodes are configured to send one burst in each PPDU.
fn sources(
    raw: &RawNeighbour,
    station: usize,
    stations: usize,
    cell: &mut CellConfig,
    problems: &mut Problems,
) -> (Option<SourceConfig>, Option<SourceConfig>) {
    let access_point = StationId(u16::try_from(station).expect("there are at most NODES_MAX"));
    let RateControlConfig::Fixed { rate } = cell.stations[station].rate_control else {
        unreachable!("a neighbour has a fixed rate");
    };
    let bytes: u16 = raw.packet_bytes.value.get();
    let exchange = cell.steady_exchange(access_point, rate, bytes, raw.ppdu_duration.value);
    let beacons = cell.beacon_interval.map_or(0.0, |interval| {
        cell.beacon_airtime(access_point).as_secs_f64() / interval.as_secs_f64()
    });
    let busy = raw.busy.value.as_f64();
    let most = beacons + (1.0 - beacons) * exchange.busy_max() * LOAD_MAX;
    if busy < beacons {
        let least = (beacons * 1e4).ceil() / 1e4;
        let message = format!("expected 0 or at least {least:.4}, which its beacons take");
        problems.push(&raw.busy.place, message);
    } else if busy > most {
        let message = format!(
            "expected at most {:.3}: between its exchanges of {:.3}ms there is nothing for {:.3}ms \
             in the mean; a longer ppdu_duration makes more of it",
            (most * 1e3).floor() / 1e3,
            exchange.airtime().as_millis_f64(),
            exchange.gap.as_millis_f64(),
        );
        problems.push(&raw.busy.place, message);
    }
    for station in &mut cell.stations[station..=station + stations] {
        station.aggregation.ampdu_frames_max = exchange.packets;
        let packets = QUEUE_PPDUS * u32::from(exchange.packets);
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(packets) };
    }
    let bursts_per_s = (busy - beacons).max(0.0) / exchange.airtime().as_secs_f64();
    let bits = f64::from(bytes) * 8.0 * f64::from(exchange.packets);
    let uplink = raw.uplink.value.as_f64();
    let source = |share: f64| {
        let bps = (bursts_per_s * share / stations as f64 * bits).round();
        let rate = Bitrate::from_bps(bps as u64);
        let packets = exchange.packets;
        (rate > Bitrate::default()).then_some(SourceConfig::Bursts { rate, bytes, packets })
    };
    (source(1.0 - uplink), source(uplink))
}
