//! The driver in virtual time: jumps from one wake-up of the machines to the next, and reports to
//! a [`Sink`].

use lasthop_hosts::{Hosts, HostsError, Sink};
use lasthop_net::network::NetworkStats;
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant, Seed};
use std::ops::ControlFlow;

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
    /// The errors of [`HostsError`].
    pub fn new<S: Sink>(scenario: &Scenario, seed: Seed, sink: &mut S) -> Result<Self, HostsError> {
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
        let _ = self.advance_while(until, sink, |_| ControlFlow::Continue(()));
    }

    /// Like [`advance`](Self::advance), and calls `after` with the instant of each event. Stops when
    /// it returns [`ControlFlow::Break`].
    pub(crate) fn advance_while<S: Sink>(
        &mut self,
        until: Instant,
        sink: &mut S,
        mut after: impl FnMut(Instant) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let until = until.min(self.end);
        let last = until.saturating_sub(Duration::from_nanos(1));
        while self.done.is_none()
            && let Some(now) = self.hosts.step(last, sink, &|_| None)
        {
            if self.hosts.is_done() {
                self.done = Some(now);
            } else {
                after(now)?;
            }
        }
        if until > self.now {
            self.now = until;
            if self.done.is_none() {
                self.hosts.take_arrived(until, sink);
            }
        }
        ControlFlow::Continue(())
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
