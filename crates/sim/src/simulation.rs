//! The driver in virtual time: jumps from one wake-up of the machines to the next, and reports to
//! a [`Sink`].

use lasthop_hosts::{Hosts, Sink};
use lasthop_net::network::NetworkStats;
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant, Seed};
use std::ops::ControlFlow;

pub use lasthop_hosts::HostsError as SimError;

/// A run in steps, which can be read and changed between them. Any steps give the same run as one
/// step to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    hosts: Hosts,
    now: Instant,
    end: Instant,
    /// Instant at which the last measurement ended.
    done: Option<Instant>,
}

impl Simulation {
    /// Returns the run of `scenario` with `seed`, at its beginning.
    ///
    /// # Errors
    /// The errors of [`SimError`].
    pub fn new<S: Sink>(scenario: &Scenario, seed: Seed, sink: &mut S) -> Result<Self, SimError> {
        let mut network = scenario.network_for(seed);
        if let Some(cell) = &mut network.cell {
            cell.record_events = sink.wants_events();
        }
        let mut hosts = Hosts::new(&scenario.hosts(seed), &network, seed)?;
        hosts.start(Instant::ZERO, sink);
        let end = Instant::ZERO + scenario.duration;
        Ok(Self { hosts, now: Instant::ZERO, end, done: None })
    }

    /// Returns the instant up to which everything happened.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether no further event will happen.
    pub fn is_over(&self) -> bool {
        self.now >= self.end || self.hosts.is_done()
    }

    /// Runs until `until`, or until the end of the scenario, and reports the events up to then.
    pub fn advance<S: Sink>(&mut self, until: Instant, sink: &mut S) {
        let until = until.min(self.end);
        let last = until.saturating_sub(Duration::from_nanos(1));
        while self.done.is_none()
            && let Some(now) = self.hosts.step(last, sink, &|_| None)
        {
            self.done = self.hosts.is_done().then_some(now);
        }
        if until > self.now {
            self.now = until;
            if self.done.is_none() {
                self.hosts.take_arrived(until, sink);
            }
        }
    }

    /// Returns the hosts, to read their counters and to change their radios.
    pub fn hosts(&mut self) -> &mut Hosts {
        &mut self.hosts
    }

    /// Ends the run; returns the counters.
    pub fn finish<S: Sink>(mut self, sink: &mut S) -> NetworkStats {
        self.hosts.finish(self.done.unwrap_or(self.now), sink)
    }
}

/// Runs `scenario` with `seed`; returns the counters at the end, without those of a
/// warm-up. A scenario that consists of measurements ends with the last one
/// ([`Sink::ended`]). `progress` is called with the virtual time, at most once per
/// `series_interval`.
///
/// # Errors
/// The errors of [`SimError`].
pub fn run<S: Sink>(
    scenario: &Scenario,
    seed: Seed,
    sink: &mut S,
    mut progress: impl FnMut(Instant),
) -> Result<NetworkStats, SimError> {
    let stats = run_while(scenario, seed, sink, |now| {
        progress(now);
        ControlFlow::Continue(())
    })?;
    Ok(stats.expect("nothing ended it"))
}

/// Runs `scenario` like [`run`] until `progress` returns [`ControlFlow::Break`];
/// returns `None` in that case.
///
/// # Errors
/// The errors of [`SimError`].
pub fn run_while<S: Sink>(
    scenario: &Scenario,
    seed: Seed,
    sink: &mut S,
    mut progress: impl FnMut(Instant) -> ControlFlow<()>,
) -> Result<Option<NetworkStats>, SimError> {
    let Simulation { mut hosts, end, .. } = Simulation::new(scenario, seed, sink)?;
    let last = end.saturating_sub(Duration::from_nanos(1));
    let mut told = Instant::ZERO;
    while let Some(now) = hosts.step(last, sink, &|_| None) {
        if hosts.is_done() {
            return Ok(Some(hosts.finish(now, sink)));
        }
        if now >= told {
            told = now + scenario.series_interval;
            if progress(now).is_break() {
                return Ok(None);
            }
        }
    }
    Ok(Some(hosts.finish(end, sink)))
}
