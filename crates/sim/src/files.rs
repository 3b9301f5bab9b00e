//! Selection of the files that a run writes, and runs that keep tables.

use crate::records::{info, names, recording};
use crate::{Progress, RunError, observe};
use lasthop_scenario::Scenario;
use lasthop_trace::{AirInfo, Columns, Files, NodeFrames, Recorder, RunDocument, Tables};
use lasthop_units::Duration;
use lasthop_wifi::cell::{Role, StationConfig};
use lasthop_wifi::phy::Subchannel;

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
    Some(AirInfo {
        band: cell.band,
        channel: access_point.map_or(Subchannel::default(), primary).number(cell.band),
        channels: match channels.iter().all(|channel| *channel == channels[0]) {
            true => Vec::new(),
            false => channels,
        },
        ssid: scenario.name.clone(),
        beacon_interval: cell.beacon_interval.unwrap_or(Duration::ZERO),
        basic_rates: cell.basic_rates.clone(),
        rates: access_point.map(|station| station.capabilities.rates.clone()).unwrap_or_default(),
        colour: access_point
            .and_then(|station| cell.colours.get(usize::from(station.bss.0)).copied())
            .unwrap_or(0),
        amsdu: cell.stations.iter().any(|station| station.aggregation.amsdu_bytes_max > 0),
    })
}

/// Makes run `number` of `scenario`; returns its document, and those of `tables` that
/// are wanted.
///
/// # Errors
/// The errors of [`RunError`], except those of files.
pub fn tabulate(
    scenario: &Scenario,
    number: u64,
    tables: &Tables<bool>,
    progress: Progress<'_>,
) -> Result<(RunDocument, Tables<Option<Columns>>), RunError> {
    let mut recorder = Recorder::with_tables(names(scenario), recording(scenario), tables)?;
    #[expect(clippy::disallowed_methods, reason = "how long a run took is part of its document")]
    let begin = std::time::Instant::now();
    let stats = observe(scenario, number, &mut recorder, progress)?;
    let info = info(scenario, number, begin.elapsed().as_secs_f64());
    Ok(recorder.finish_with_tables(&info, &stats)?)
}
