//! The pulses of both ends of a session: reports of the symbols that arrived and of the links;
//! probes of the paths' MTUs, which are padded pulses; and the test for a stalled session. Lengths
//! are in bytes.

use super::super::super::Shared;
use super::link::{self, Link, PULSE_INTERVAL};
use super::{Outgoing, Session};
use crate::keys::Vital;
use crate::wire::{self, Body, LinkReport, NodeId, Pulse};
use lasthop_units::{Duration, Instant};

/// Interval after a probe of the path's MTU, so that its result is known soon.
const PULSE_INTERVAL_PROBED: Duration = Duration::from_millis(50);
/// Time for which a session is young.
const YOUNG: Duration = Duration::from_secs(1);
/// Time without progress, while the other end is heard, after which the session has
/// stalled: on a path that loses less than half, and on others.
const STALLED: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// Number of pulses in that time that must report no progress.
const STALLED_PULSES: u32 = 3;
/// If answers are late, this multiple of their lateness replaces a shorter [`STALLED`], up to an
/// upper bound.
const STALLED_LATE: u64 = 10;
const STALLED_LATE_MAX: Duration = Duration::from_secs(6);

/// The state of the pulses of both ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pulses {
    pub(super) last_at: Instant,
    pub(super) next_at: Instant,
    pub(super) began: Instant,
    /// Number of our symbols that were taken, as of the last pulse.
    pub(super) taken: u64,
    /// Largest number of symbols reported as arrived, and as received.
    pub(super) arrived: u64,
    pub(super) received: u64,
    /// Time at which the reports last increased, or nothing was outstanding; and the number of
    /// pulses since then that report no progress.
    pub(super) progress_at: Instant,
    pub(super) since: u32,
}

impl Session {
    /// Returns the time at which the next pulse is due.
    pub(in super::super) fn pulse_at(&self) -> Instant {
        self.pulses.next_at
    }

    /// Makes the next pulse due now.
    pub(in super::super) fn hasten_pulse(&mut self, now: Instant) {
        self.pulses.next_at = self.pulses.next_at.min(now);
    }

    /// Sends a pulse on each link, if one is due.
    pub(in super::super) fn pulse(&mut self, shared: &mut Shared, now: Instant, via: NodeId) {
        if now < self.pulses.next_at {
            return;
        }
        let is_young = now < self.pulses.began + YOUNG;
        self.pulses.next_at = now + PULSE_INTERVAL[usize::from(!is_young)];
        for at in 0..self.links.len() {
            self.emit_pulse(shared, now, via, at, 0);
        }
    }

    /// Sends a probe of each path's MTU, if one is due.
    pub(in super::super) fn probe(&mut self, shared: &mut Shared, now: Instant, via: NodeId) {
        for at in 0..self.links.len() {
            let link = &mut self.links[at];
            if link.probe_at().is_none_or(|at| now < at) {
                continue;
            }
            let answers = link.answers();
            let bytes = link.path_mtu.as_mut().and_then(|path| path.probe(now, answers));
            let Some(bytes) = bytes.map(usize::from) else { continue };
            self.emit_pulse(shared, now, via, at, bytes.saturating_sub(wire::CONTROL_BYTES));
        }
    }

    /// Returns the time at which a probe is due.
    pub(in super::super) fn probe_at(&self) -> Option<Instant> {
        self.links.iter().filter_map(Link::probe_at).min()
    }

    /// Sends a pulse on the link `at`, with `padding` bytes after it.
    fn emit_pulse(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        via: NodeId,
        at: usize,
        padding: usize,
    ) {
        self.pulses.last_at = now;
        let oldest = match &self.outgoing {
            Outgoing::Stream(sender) => sender.oldest(),
            Outgoing::Paper(encoder) => encoder.block(),
        };
        let (received, arrived) = (self.receiver.received(), self.receiver.arrived);
        let links = self.heard_on_both(now);
        let vital =
            Vital { received, arrived, oldest, longest: self.links[at].longest.bytes(now), links };
        let (counter, sealed) = self.links[at].ours.seal(vital);
        let header = self.header(shared, via, at);
        let body = Body::Pulse(Pulse { counter, sealed: &sealed, padding });
        let transmit = shared.emit(&header, &body, &self.tagger);
        self.links[at].path.depart(now, transmit.datagram.len(), None);
        shared.hasten(transmit);
    }

    /// Handles a pulse of the other end from the link `at`; `false` if it is not authentic or not
    /// the newest there.
    pub(in super::super) fn handle_pulse(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        at: usize,
        pulse: &Pulse<'_>,
    ) -> bool {
        let link = &mut self.links[at];
        if !link.theirs.is_new(pulse) {
            return false;
        }
        let Some(vital) = link.theirs.open(pulse) else {
            shared.stats.corrupt += 1;
            return false;
        };
        self.heard_at = now;
        if pulse.padding > 0 {
            self.hasten_pulse(now.max(self.pulses.last_at + PULSE_INTERVAL_PROBED));
        }
        let link = &mut self.links[at];
        let answers = link.answers();
        if let Some(path) = &mut link.path_mtu {
            path.heard(now, vital.longest, answers);
        }
        self.take_reports(now, vital.links);
        if self.receiver.give_up_below(vital.oldest) {
            self.order.has_gaps();
            self.order.settle(self.receiver.frontier());
            self.opener.forget_below(self.receiver.done());
        }
        let taken = match &self.outgoing {
            Outgoing::Stream(sender) => sender.taken(),
            Outgoing::Paper(_) => 0,
        };
        let pulses = &mut self.pulses;
        let is_idle = vital.received >= taken && taken == pulses.taken;
        // Symbols that are given up count as received without arriving; symbols of a
        // block that restarts again and again arrive without being received.
        let is_progress = vital.arrived > pulses.arrived && vital.received > pulses.received;
        if is_idle || is_progress {
            (pulses.progress_at, pulses.since) = (now, 0);
            (pulses.arrived, pulses.received) = (vital.arrived, vital.received);
        } else {
            pulses.since = pulses.since.saturating_add(1);
        }
        pulses.taken = taken;
        true
    }

    /// The reports about two links, for a pulse.
    fn heard_on_both(&self, now: Instant) -> [LinkReport; 2] {
        let report = |link: &Link| link.path.report(NodeId::default(), now);
        match self.links.as_slice() {
            [one, other] => [one, other].map(report),
            _ => Default::default(),
        }
    }

    /// Handles the reports about two links in a pulse: nothing else reports datagrams of an end that
    /// only acknowledges.
    fn take_reports(&mut self, now: Instant, reports: [LinkReport; 2]) {
        let Self { links, outgoing, .. } = self;
        if links.len() < 2 {
            return;
        }
        for (link, report) in links.iter_mut().zip(reports) {
            // An acknowledgement from before the pulse must not show what is in flight as lost.
            if link.path.timeout_at().is_none() {
                link.path.handle_late_report(now, &report, &mut |cargo| outgoing.reported(cargo));
            }
        }
        link::look(links, now, &mut |cargo| outgoing.landed(now, cargo));
    }

    /// Whether no symbol arrives although the other end is heard: a holder of the hop key sent
    /// false reports to an end or a node between. Later symbols count as well, until all blocks
    /// in flight are full. A new session has no trace of the reports.
    pub(in super::super) fn is_stalled(&self, now: Instant) -> bool {
        let Pulses { progress_at, since, .. } = self.pulses;
        let usable = link::usable(&self.links, self.longest_sent);
        let is_bad = usable.clone().all(|at| self.links[at].path.loss.probability() > 0.5);
        let late = usable.map(|at| self.links[at].path.lateness()).max().unwrap_or_default();
        let late = (late * STALLED_LATE).min(STALLED_LATE_MAX);
        since >= STALLED_PULSES && now >= progress_at + STALLED[usize::from(is_bad)].max(late)
    }
}
