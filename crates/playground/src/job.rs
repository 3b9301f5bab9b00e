//! One run in virtual time that proceeds in chunks. Between two chunks the caller may drop the run
//! or read its progress. Chunks do not change the results.

use crate::Request;
use crate::answer::Answer;
use crate::watch::Watch;
use lasthop_scenario::Scenario;
use lasthop_sim::Simulation;
use lasthop_sim::{info, names, recording};
use lasthop_units::{Duration, Instant, Seed};

/// Longest run, in seconds of the scenario's time.
pub const DURATION_S_MAX: f64 = 86_400.0;

/// Largest number of readings, one for each flow and node in each interval of the series.
const READINGS_MAX: f64 = 2e6;

/// A begun run, not yet finished.
#[derive(Debug)]
pub struct Job {
    scenario: Scenario,
    text: String,
    number: u64,
    simulation: Simulation,
    watch: Watch,
}

impl Job {
    /// Begins the run of a request.
    ///
    /// # Errors
    /// All faults of the scenario, a line each, in the command's words; or an excess of its
    /// length.
    pub fn new(request: &Request) -> Result<Self, String> {
        let Request { file, text, sets, run } = request;
        let scenario =
            lasthop_scenario::parse(file, text, sets).map_err(|error| error.to_string())?;
        let duration_s = scenario.duration.as_secs_f64();
        if duration_s > DURATION_S_MAX {
            return Err(format!(
                "{file}: duration: expected at most {DURATION_S_MAX} s here, got {duration_s} s; \
                 the command has no such limit"
            ));
        }
        let things = 1 + scenario.flows.len() + scenario.nodes.len();
        let readings = duration_s / scenario.series_interval.as_secs_f64() * things as f64;
        if readings > READINGS_MAX {
            return Err(format!(
                "{file}: series_interval: expected one with at most {READINGS_MAX} readings of \
                 flows and nodes here, got {readings:.0}; the command has no such limit"
            ));
        }
        let mut watch = Watch::new(names(&scenario), recording(&scenario));
        let simulation = Simulation::new(&scenario, Seed::new(scenario.seed, *run), &mut watch)
            .map_err(|why| format!("{file}: {why}"))?;
        Ok(Self { text: scenario.source_text.clone(), scenario, number: *run, simulation, watch })
    }

    /// Advances by `seconds`; returns whether the run is unfinished. Negative numbers and NaN
    /// advance by nothing.
    pub fn advance(&mut self, seconds: f64) -> bool {
        let nanos = (seconds.clamp(0.0, DURATION_S_MAX) * 1e9) as u64;
        self.simulation.advance(self.now() + Duration::from_nanos(nanos), &mut self.watch);
        !self.simulation.is_over()
    }

    /// Completed share of the run, 0 to 1.
    pub fn done(&self) -> f64 {
        match self.scenario.duration.as_secs_f64() {
            _ if self.simulation.is_over() => 1.0,
            0.0 => 1.0,
            duration => (self.now() - Instant::ZERO).as_secs_f64() / duration,
        }
    }

    /// Ends the run at the current instant.
    pub fn finish(mut self) -> Answer {
        let stats = self.simulation.finish(&mut self.watch);
        let info = info(&self.scenario, self.number, 0.0);
        self.watch.answer(&self.text, &info, &stats)
    }

    fn now(&self) -> Instant {
        self.simulation.now()
    }
}

/// Makes the whole run of a request.
///
/// # Errors
/// The errors of [`Job::new`].
pub fn run(request: &Request) -> Result<Answer, String> {
    let mut job = Job::new(request)?;
    while job.advance(DURATION_S_MAX) {}
    Ok(job.finish())
}
