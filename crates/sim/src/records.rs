//! Properties of a scenario that a recorder needs: names for indices, and quantities to measure. A
//! recorder (`trace`) knows no scenario. Emulations use most of this, too.

use lasthop_hosts::{FlowKind, SourceConfig, TcpApplication};
use lasthop_packet::NodeId;
use lasthop_scenario::Scenario;
use lasthop_trace::{
    ExperienceKind, FlowKind as Kind, FlowName, Names, NeighbourName, NodeName, Recording, RunInfo,
};
use lasthop_units::MacAddr;
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{CellConfig, Role, StationConfig};
use std::collections::BTreeMap;

/// Returns the names of nodes, stations and flows.
pub fn names(scenario: &Scenario) -> Names {
    let cell = scenario.network.cell.as_ref();
    let stations = cell.map_or(&[][..], |cell| &cell.stations);
    let at_node = |station: usize| {
        let head = |cell: &CellConfig| cell.head_of(StationId(station as u16)).0.index();
        let station = cell.map_or(station, head);
        let is_it = |node: &lasthop_net::network::NodeConfig| {
            node.station.is_some_and(|id| id.index() == station)
        };
        let node = scenario.network.nodes.iter().position(is_it);
        NodeId(node.expect("a scenario has a node for every station") as u16)
    };
    let node_name = |(index, node): (usize, &lasthop_scenario::Node)| NodeName {
        name: node.name.clone(),
        address: match scenario.network.nodes[index].station {
            Some(station) => stations[station.index()].address,
            None => MacAddr::local(index as u32),
        },
    };
    let flow_name = |flow: &lasthop_hosts::Flow| FlowName {
        name: flow.name.clone(),
        table: flow.table.clone(),
        kind: match flow.kind {
            FlowKind::Tcp(_) => Kind::Tcp,
            FlowKind::Udp(_) => Kind::Udp,
            FlowKind::Video(_) => Kind::Video,
            FlowKind::Ping { .. } => Kind::Ping,
            FlowKind::Call(_) => Kind::Call,
            FlowKind::Apq(_) => Kind::Apq,
        },
        experience: match &flow.kind {
            FlowKind::Call(call) => Some(ExperienceKind::Call(*call)),
            FlowKind::Tcp(tcp) => match tcp.application {
                TcpApplication::Web(_) => Some(ExperienceKind::Web),
                TcpApplication::Stream(_) => Some(ExperienceKind::Stream),
                _ => None,
            },
            _ => flow.deadline.map(ExperienceKind::Deadline),
        },
        saturated: matches!(flow.kind, FlowKind::Udp(SourceConfig::Saturated { .. })),
        from: flow.from,
        to: flow.to,
        start: flow.start,
        stop: flow.stop,
    };
    let access_point_of = |station: &StationConfig| {
        let is_it = |it: &StationConfig| it.role == Role::AccessPoint && it.bss == station.bss;
        let index = stations.iter().position(is_it);
        StationId(index.expect("each basic service set has an access point") as u16)
    };
    Names {
        nodes: scenario.nodes.iter().enumerate().map(node_name).collect(),
        neighbours: scenario
            .neighbours
            .iter()
            .map(|neighbour| NeighbourName {
                name: neighbour.name.clone(),
                nodes: neighbour.nodes.clone(),
                busy: neighbour.busy.as_f64(),
            })
            .collect(),
        stations: (0..stations.len()).map(at_node).collect(),
        access_points: stations.iter().map(access_point_of).collect(),
        links: cell.map_or_else(Vec::new, link_names),
        link_of: (0..stations.len())
            .map(|station| cell.map_or(0, |it| it.head_of(StationId(station as u16)).1 as u8))
            .collect(),
        roams: stations.iter().any(|station| station.roaming.is_some()),
        flows: scenario.flows.iter().map(flow_name).collect(),
        francs: scenario.francs.iter().map(|link| link.name.clone()).collect(),
        hosts: BTreeMap::new(),
    }
}

/// Returns the names of the links of devices: their bands, with the channel where two have the same.
fn link_names(cell: &CellConfig) -> Vec<String> {
    let longest = cell.devices.iter().max_by_key(|device| device.links.len());
    let links = longest.map_or(&[][..], |device| &device.links);
    let channel = |link: &StationId| cell.channel_of(cell.stations[link.index()].bss).primary;
    let band = |link: &StationId| channel(link).band(cell.band);
    let name = |link: &StationId| {
        let is_alone = links.iter().filter(|other| band(other) == band(link)).count() == 1;
        if is_alone {
            band(link).to_string()
        } else {
            format!("{}:{}", band(link), channel(link).number(cell.band))
        }
    };
    links.iter().map(name).collect()
}

/// Returns the settings of a recorder for a run as long as the scenario.
pub fn recording(scenario: &Scenario) -> Recording {
    Recording {
        warmup: scenario.warmup,
        duration: scenario.duration,
        interval: scenario.series_interval,
        watch_air: false,
    }
}

/// Returns the facts about a run in virtual time that a recorder cannot know; `wall_s` is its real
/// duration in seconds.
pub fn info(scenario: &Scenario, number: u64, wall_s: f64) -> RunInfo {
    RunInfo {
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        run: number,
        duration: scenario.duration,
        wall_s,
        lateness_max: None,
        set: scenario.set.clone(),
        warnings: scenario.warnings(),
        network: scenario.network.clone(),
    }
}
