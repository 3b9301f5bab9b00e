//! Selection of the files that a run writes.

use lasthop_scenario::Scenario;
use lasthop_trace::{AirInfo, AirLink, Files, NodeFrames};
use lasthop_units::Duration;
use lasthop_wifi::cell::{Role, StationConfig};
use lasthop_wifi::phy::Subchannel;
use lasthop_wifi::{BssId, StationId};

/// Returns the files of a run. `events`: also the file of events; `captures`: also captures on the
/// air and at nodes, with these frames. Captured frames with generated contents are cut after their
/// headers.
pub fn files(scenario: &Scenario, events: bool, captures: Option<NodeFrames>) -> Files {
    Files {
        events,
        series: true,
        air: captures.and_then(|_| air(scenario)),
        nodes: captures,
        cut: captures == Some(NodeFrames::MadeUp),
    }
}

/// Returns the parameters of a capture on the air; `None` without a cell. Without a channel in
/// the scenario it is the usual first one of the band.
pub fn air(scenario: &Scenario) -> Option<AirInfo> {
    let cell = scenario.network.cell.as_ref()?;
    let access_point = cell.stations.iter().find(|station| station.role == Role::AccessPoint);
    let primary = |station: &StationConfig| cell.channel_of(station.bss).primary;
    let channels: Vec<u8> =
        cell.stations.iter().map(|station| primary(station).number(cell.band)).collect();
    let mut networks: Vec<Vec<StationId>> = Vec::new();
    for roaming in cell.stations.iter().filter_map(|station| station.roaming.as_ref()) {
        let is_member = |set: BssId| roaming.members.iter().any(|member| member.bss == set);
        let access_points = cell
            .stations
            .iter()
            .enumerate()
            .filter(|(_, station)| station.role == Role::AccessPoint && is_member(station.bss));
        let network = access_points.map(|(index, _)| StationId(index as u16)).collect();
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    Some(AirInfo {
        band: cell.band,
        channel: access_point.map_or(Subchannel::default(), primary).number(cell.band),
        channels: if cell.devices.is_empty() && channels.iter().all(|it| *it == channels[0]) {
            Vec::new()
        } else {
            channels
        },
        links: if cell.devices.is_empty() {
            Vec::new()
        } else {
            let link = |station: &StationConfig| AirLink {
                band: primary(station).band(cell.band),
                rates: station.capabilities.rates.clone(),
                address: station.address,
                beacon_offset: station.beacon_offset,
            };
            cell.stations.iter().map(link).collect()
        },
        devices: cell
            .devices
            .iter()
            .map(|device| device.links.clone())
            .filter(|links| cell.stations[links[0].index()].role == Role::AccessPoint)
            .collect(),
        ssid: scenario.name.clone(),
        beacon_interval: cell.beacon_interval.unwrap_or(Duration::ZERO),
        basic_rates: cell.basic_rates.clone(),
        rates: access_point.map(|station| station.capabilities.rates.clone()).unwrap_or_default(),
        colour: access_point
            .and_then(|station| cell.colours.get(usize::from(station.bss.0)).copied())
            .unwrap_or(0),
        roams: !networks.is_empty(),
        networks,
        amsdu: cell.stations.iter().any(|station| station.aggregation.amsdu_bytes_max > 0),
    })
}
