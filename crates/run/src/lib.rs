//! One run of a scenario in virtual time: from scenario, seed and run number to its document
//! and files.
//!
//! Commands, figures and whatever makes many runs make each of them here. A run is a pure
//! function of scenario, seed and number but for [`RunInfo::wall_s`](lasthop_trace::RunInfo),
//! so it does not matter which thread, process or machine makes it.

#![forbid(unsafe_code)]

mod records;

pub use records::{files, info, names, recording};

use lasthop_hosts::{HostsError, Sink};
use lasthop_net::network::NetworkStats;
use lasthop_scenario::Scenario;
use lasthop_trace::{OutputError, Recorder, RunDocument};
use lasthop_units::{Instant, Seed};
use std::ops::ControlFlow;

/// Called now and then with the virtual time; the run ends where it says so.
pub type Progress<'a> = &'a mut dyn FnMut(Instant) -> ControlFlow<()>;

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// `progress` ended it.
    #[error("stopped")]
    Stopped,
}

/// Run `number` of `scenario`: what there is to see goes to `sink`, counters are returned.
///
/// # Errors
/// What [`RunError`] lists, but for files.
pub fn observe<S: Sink>(
    scenario: &Scenario,
    number: u64,
    sink: &mut S,
    progress: Progress<'_>,
) -> Result<NetworkStats, RunError> {
    let seed = Seed::new(scenario.seed, number);
    lasthop_sim::run_while(scenario, seed, sink, progress)?.ok_or(RunError::Stopped)
}

/// Run `number` of `scenario`, and the document that `recorder` makes of it; see [`names`] and
/// [`recording`] for what it is made with. Its files, if it has any, are complete.
///
/// # Errors
/// What [`RunError`] lists.
pub fn simulate(
    scenario: &Scenario,
    number: u64,
    mut recorder: Recorder,
    progress: Progress<'_>,
) -> Result<RunDocument, RunError> {
    #[expect(clippy::disallowed_methods, reason = "how long a run took is part of its document")]
    let begin = std::time::Instant::now();
    let stats = observe(scenario, number, &mut recorder, progress)?;
    let info = info(scenario, number, begin.elapsed().as_secs_f64());
    Ok(recorder.finish(&info, &stats)?)
}
