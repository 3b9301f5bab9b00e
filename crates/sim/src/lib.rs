//! The driver in virtual time: runs a scenario as fast as the computer allows, always
//! with the same result.
//!
//! A run is a pure function of scenario, seed and run number. Traffic sources and the network are
//! machines; this driver jumps from one wake-up to the next and reports to a [`Sink`], such as
//! a [`Recorder`], which keeps or writes the records. All commands and figures make their runs here,
//! in any thread, process or machine. Left out: the number and schedule of runs, and their evaluation.
//! Without the feature `files`, which is on by default, no files are written and no tables kept.
//!
//! ```
//! use lasthop_hosts::sink::NoSink;
//! use lasthop_units::Seed;
//!
//! let text = r#"
//!     duration = "100ms"
//!     [[node]]
//!     name = "ap"
//!     role = "access-point"
//!     [[node]]
//!     name = "phone"
//!     role = "station"
//!     [[flow]]
//!     name = "down"
//!     from = "ap"
//!     to = "phone"
//!     kind = "udp"
//!     rate = "saturated"
//! "#;
//! let scenario = lasthop_scenario::parse("doc.toml", text, &[])?;
//! let stats = lasthop_sim::simulate(&scenario, Seed::new(1, 0), &mut NoSink, &mut lasthop_sim::go_on)?;
//! assert!(stats.links[0].2.mpdus_acked > 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

#[cfg(feature = "files")]
mod files;
mod records;
mod simulation;

#[cfg(feature = "files")]
pub use files::{air, files};
pub use records::{info, names, recording};
pub use simulation::Simulation;

use lasthop_hosts::{HostsError, Sink};
use lasthop_net::network::NetworkStats;
use lasthop_scenario::Scenario;
use lasthop_trace::{OutputError, Recorder, RunDocument};
use lasthop_units::{Instant, Seed};
use std::ops::ControlFlow;

/// Called with the virtual time, at most once per `series_interval`; the run stops when it returns
/// [`ControlFlow::Break`].
pub type Progress<'a> = &'a mut dyn FnMut(Instant) -> ControlFlow<()>;

/// Reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be simulated.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// `progress` stopped the run.
    #[error("stopped")]
    Stopped,
}

/// Builds the initial state of runs of `scenario`, without making one.
///
/// # Errors
/// If no run can begin.
pub fn check(scenario: &Scenario) -> Result<(), HostsError> {
    let seed = Seed::new(scenario.seed, 0);
    Simulation::new(scenario, seed, &mut lasthop_hosts::sink::NoSink).map(drop)
}

/// Runs `scenario` with `seed`, reports to `sink`, and returns the counters at the end, without those
/// of a warm-up. A scenario that consists of measurements ends with the last one ([`Sink::ended`]).
///
/// # Errors
/// The errors of [`RunError`], except those of files.
pub fn simulate<S: Sink>(
    scenario: &Scenario,
    seed: Seed,
    sink: &mut S,
    progress: Progress<'_>,
) -> Result<NetworkStats, RunError> {
    let mut simulation = Simulation::new(scenario, seed, sink)?;
    let mut next = Instant::ZERO;
    let after = |now: Instant| {
        if now < next {
            return ControlFlow::Continue(());
        }
        next = now + scenario.series_interval;
        progress(now)
    };
    if simulation.advance_while(Instant::MAX, sink, after).is_break() {
        return Err(RunError::Stopped);
    }
    Ok(simulation.finish(sink))
}

/// Makes run `number` of `scenario` and returns the document of `recorder`. For the parameters of a
/// recorder see [`names`] and [`recording`]. All files are complete afterwards.
///
/// # Errors
/// The errors of [`RunError`].
pub fn record(
    scenario: &Scenario,
    number: u64,
    mut recorder: Recorder,
    progress: Progress<'_>,
) -> Result<RunDocument, RunError> {
    #[expect(clippy::disallowed_methods, reason = "how long a run took is part of its document")]
    let begin = std::time::Instant::now();
    let stats = simulate(scenario, Seed::new(scenario.seed, number), &mut recorder, progress)?;
    let info = info(scenario, number, begin.elapsed().as_secs_f64());
    Ok(recorder.finish(&info, &stats)?)
}

/// A [`Progress`] that never stops the run.
pub fn go_on(_: Instant) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
