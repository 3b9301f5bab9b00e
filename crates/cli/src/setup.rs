//! What the recorder has to know of a scenario, and where it writes.

pub use lasthop_reproduce::record::names;

use lasthop_scenario::Scenario;
use lasthop_trace::{AirInfo, Files, NodeFrames, RunInfo};
use lasthop_units::Duration;
use lasthop_wifi::cell::{CellConfig, Role};
use lasthop_wifi::phy::Band;

/// The files of one run.
pub fn files(scenario: &Scenario, events: bool, captures: Option<NodeFrames>) -> Files {
    Files {
        events,
        series: true,
        air: captures.and(scenario.network.cell.as_ref()).map(|cell| air(scenario, cell)),
        nodes: captures,
    }
}

/// The model knows no channel numbers, and captures need one: the usual first.
fn air(scenario: &Scenario, cell: &CellConfig) -> AirInfo {
    let access_point = cell.stations.iter().find(|station| station.role == Role::AccessPoint);
    AirInfo {
        band: cell.band,
        channel: match cell.band {
            Band::Ghz2_4 => 1,
            Band::Ghz5 => 36,
        },
        ssid: scenario.name.clone(),
        beacon_interval: cell.beacon_interval.unwrap_or(Duration::ZERO),
        basic_rates: cell.basic_rates.clone(),
        rates: access_point.map(|station| station.rates.clone()).unwrap_or_default(),
    }
}

/// What the recorder cannot know of a run under virtual time.
pub fn run_info(scenario: &Scenario, run: u64, wall_s: f64) -> RunInfo {
    RunInfo {
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        run,
        duration: scenario.duration,
        wall_s,
        lateness_max: None,
        set: scenario.set.clone(),
        warnings: scenario.warnings(),
    }
}
