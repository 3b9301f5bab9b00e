//! The results so far in one direction. The methods select the next step from them, and the report
//! is computed from them (`telling`). Rates are in packets per second, times in seconds unless they
//! are durations. The estimates themselves are in [`crate::estimate`].

use super::step::SurveyStep;
use crate::estimate::{
    Evidence, Passage, Session, Symptoms, Timeline, Window, Windows, discipline, session,
    statistics, symptoms,
};
use crate::plan::{Direction, PhasePlan, StreamKind};
use crate::record::PhaseRecord;
use crate::report::{Discipline, Judgement};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// Packets that a queue is assumed to hold while nothing is known of it.
const QUEUE_PACKETS: f64 = 400.0;

/// Factor of the length of a queue that was not full, for its possible length.
const QUEUE_MORE: f64 = 2.0;

/// Longest wait for a queue to become empty, in seconds.
pub(super) const SETTLE_MAX_S: f64 = 5.0;

/// Largest number of phases of steady overload: a second one if the first filled no queue.
pub(super) const STEADY_TRIES: u32 = 2;

/// A train was too fast if it was received at less than this share of its rate.
const TRAIN_RECEIVED: f64 = 0.92;

/// Delay of the end of such a train, at least, in packets and in seconds: losses
/// alone do not delay packets.
const TRAIN_WAIT: (f64, f64) = (3.0, 0.000_3);

/// The results for one direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Direct {
    pub(super) direction: Direction,
    pub(super) sizes: Vec<Sized>,
    /// Duration of all phases so far.
    pub(super) measured: Duration,
    /// Number of phases so far.
    pub(super) phases: u32,
    /// Time after the end of the last phase at which the queue is empty, in
    /// seconds.
    pub(super) settle: f64,
    pub(super) steady: Option<Steady>,
    /// Number of phases of steady overload so far.
    pub(super) steady_tries: u32,
    /// Clock and delay of the first record, relative to which later ones are
    /// placed.
    origin: Option<Origin>,
}

/// The results of a steady overload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Steady {
    pub(super) evidence: Evidence,
    pub(super) judgement: Judgement<Discipline>,
    pub(super) symptoms: Option<Symptoms>,
    /// The capacity as known at that time, in packets per second.
    pub(super) rate_pps: f64,
}

/// The results for one packet length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sized {
    pub(super) packet_bytes: u16,
    pub(super) loads: Vec<Load>,
    /// Number of sessions, with or without a result.
    pub(super) attempts: u32,
    pub(super) sessions: Vec<(Session, Option<Symptoms>)>,
}

/// The results for one rate of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) offered_pps: f64,
    pub(super) received_pps: f64,
    pub(super) loss: f64,
    /// Whether it was received slower than sent, with increasing delay.
    pub(super) saturated: bool,
    /// Whether the sender could not send that fast.
    pub(super) behind: bool,
    /// Share of its rate that the sender achieved.
    pub(super) sender: f64,
    /// The median delay: time in seconds since the first phase of the survey, and
    /// delay relative to its first sample.
    pub(super) median: Option<(f64, f64)>,
    /// The shortest delay, in the same form.
    pub(super) shortest: Option<(f64, f64)>,
}

/// A reading of the sender's clock, and a delay.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Origin {
    started_ns: u64,
    delay_ns: i64,
}

impl Sized {
    pub(super) fn new(packet_bytes: u16) -> Self {
        Self { packet_bytes, loads: Vec::new(), attempts: 0, sessions: Vec::new() }
    }

    /// Packets per second that the link carries: the median of the sessions, or
    /// else of the lowest rate that was too high.
    pub(super) fn capacity_pps(&self) -> Option<f64> {
        let sessions =
            statistics::median(self.sessions.iter().map(|(session, _)| session.rate_pps));
        let too_fast = self.loads.iter().filter(|load| load.saturated);
        let slowest = too_fast.min_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
        sessions.or(slowest.map(|load| load.received_pps)).filter(|&rate| rate > 0.0)
    }

    /// The counted capacities in packets: of the sessions that filled the queue, or
    /// of all if none did.
    pub(super) fn counted(&self) -> Vec<f64> {
        let full = self.sessions.iter().any(|(session, _)| session.refused);
        let counts = self.sessions.iter().filter(|(session, _)| session.refused || !full);
        counts.map(|(session, _)| session.report.counted_packets).collect()
    }
}

impl Direct {
    pub(super) fn new(direction: Direction, packet_bytes: &[u16]) -> Self {
        Self {
            direction,
            sizes: packet_bytes.iter().map(|&bytes| Sized::new(bytes)).collect(),
            measured: Duration::ZERO,
            phases: 0,
            settle: 0.0,
            steady: None,
            steady_tries: 0,
            origin: None,
        }
    }

    /// Whether a steady overload is still needed: none was sent, or it filled no
    /// queue.
    pub(super) fn wants_steady(&self) -> bool {
        let empty = |steady: &Steady| steady.evidence.overtaken.is_none();
        self.steady_tries == 0
            || (self.steady_tries < STEADY_TRIES && self.steady.as_ref().is_none_or(empty))
    }

    /// Whether the delay of the queue is controlled, so that there is no limit to
    /// measure.
    pub(super) fn is_managed(&self) -> bool {
        self.steady.as_ref().is_some_and(|steady| {
            matches!(steady.judgement.verdict, Discipline::CoDel | Discipline::FqCoDel)
        })
    }

    /// Estimated number of packets of that length in a full queue.
    pub(super) fn queue_packets(&self, index: usize) -> f64 {
        let of = |size: &Sized| {
            let longest = size.counted().into_iter().reduce(f64::max)?;
            let full = size.sessions.iter().any(|(session, _)| session.refused);
            Some(if full { longest } else { QUEUE_MORE * longest })
        };
        let steady = || {
            let evidence = self.steady.as_ref()?.evidence;
            let full = evidence.at_bound.is_some();
            Some(if full { evidence.longest } else { QUEUE_MORE * evidence.longest })
        };
        let size = &self.sizes[index];
        if let Some(packets) = of(size) {
            return packets;
        }
        // As many packets, or as many bytes, whichever is more.
        let other = |(other, packets): (&Sized, f64)| {
            packets * (f64::from(other.packet_bytes) / f64::from(size.packet_bytes)).max(1.0)
        };
        let known = self.sizes.iter().filter_map(|size| Some((size, of(size)?)));
        let first = self.sizes.first().zip(steady());
        known.chain(first).map(other).reduce(f64::max).unwrap_or(QUEUE_PACKETS)
    }

    /// Handles the record of `step`.
    pub(super) fn absorb(&mut self, step: &SurveyStep, record: &PhaseRecord) {
        let plan = step.plan();
        self.measured += plan.duration();
        self.phases += 1;
        let mut timeline = Timeline::new(plan, record);
        let delay_ns = timeline.delay_ns;
        let origin = *self.origin.get_or_insert(Origin { started_ns: record.started_ns, delay_ns });
        self.settle = settle(&timeline, plan);
        let axis = Axis {
            at: record.started_ns.wrapping_sub(origin.started_ns) as i64 as f64 / 1e9,
            delay: delay_ns.wrapping_sub(origin.delay_ns) as f64 / 1e9,
        };
        match step {
            SurveyStep::Load { size, rate_pps, window, .. } => {
                self.sizes[*size].loads.push(load(&timeline, *rate_pps, *window, axis));
            }
            SurveyStep::Train { size, rate_pps, .. } => {
                let share = symptoms::sender_share(&timeline, plan, record);
                self.sizes[*size].loads.push(train(&timeline, plan, *rate_pps, share, axis));
            }
            SurveyStep::Session { size, windows, .. } => {
                let size = &mut self.sizes[*size];
                size.attempts += 1;
                let bytes = size.packet_bytes;
                size.sessions.extend(take_session(&mut timeline, plan, record, *windows, bytes));
            }
            SurveyStep::Steady { size, windows, bulk, offered_pps, .. } => {
                self.steady_tries += 1;
                let rate = self.sizes[*size].capacity_pps().unwrap_or(*offered_pps);
                let share = symptoms::sender_share(&timeline, plan, record);
                let windows = remove_drift(&mut timeline, *windows).0;
                let steady = steady(&timeline, windows, *bulk, *offered_pps, share, rate);
                self.steady = steady.or(self.steady);
            }
        }
    }
}

/// Removes the drift of the clocks. Returns the windows to use and the drift in
/// seconds per second. If the queue was not empty afterwards, that window is not
/// used.
fn remove_drift(timeline: &mut Timeline, windows: Windows) -> (Windows, f64) {
    match timeline.remove_drift(windows.before, windows.after) {
        Some(drift) => (windows, drift),
        None => (Windows { after: windows.before, ..windows }, 0.0),
    }
}

fn take_session(
    timeline: &mut Timeline,
    plan: &PhasePlan,
    record: &PhaseRecord,
    windows: Windows,
    packet_bytes: u16,
) -> Option<(Session, Option<Symptoms>)> {
    let share = symptoms::sender_share(timeline, plan, record);
    let (windows, drift) = remove_drift(timeline, windows);
    let unsent = unsent(record);
    let session = session::session(timeline, windows, packet_bytes, drift, unsent)?;
    let empty = session::empty_delay(timeline, windows)?;
    Some((session, symptoms::symptoms(timeline, windows, windows.full, empty, share)))
}

fn steady(
    timeline: &Timeline,
    windows: Windows,
    bulk: Window,
    offered_pps: f64,
    sender: f64,
    rate_pps: f64,
) -> Option<Steady> {
    let empty = session::empty_delay(timeline, windows)?;
    let evidence = discipline::evidence(timeline, bulk, empty, offered_pps)?;
    let mut judgement = discipline::judge(&evidence);
    if sender < symptoms::SENDER {
        // The load was not the planned one.
        judgement = Judgement { verdict: Discipline::CannotTell, confidence: judgement.confidence };
    }
    let symptoms = symptoms::symptoms(timeline, windows, bulk, empty, sender);
    Some(Steady { evidence, judgement, symptoms, rate_pps })
}

/// Time after the end of a phase for which the queue may still not be empty: the
/// delay of the last packets.
fn settle(timeline: &Timeline, plan: &PhasePlan) -> f64 {
    let shortest = timeline.passages.iter().map(|p| p.delay).fold(f64::INFINITY, f64::min);
    let last = timeline.passages.iter().map(|p| p.received() - shortest).fold(0.0, f64::max);
    (last - plan.duration().as_secs_f64()).clamp(0.0, SETTLE_MAX_S)
}

/// Share of a phase's packets that were not sent.
fn unsent(record: &PhaseRecord) -> f64 {
    let sum = |of: fn(&crate::StreamCount) -> u32| {
        record.counts.iter().map(|count| f64::from(of(count))).sum::<f64>()
    };
    let (sent, unsent) = (sum(|count| count.sent), sum(|count| count.unsent));
    unsent / (sent + unsent).max(1.0)
}

/// The position of a phase among those of a direction.
#[derive(Clone, Copy)]
struct Axis {
    /// Start of the phase, in seconds from the start of the first one.
    at: f64,
    /// Reference delay of the phase less that of the first one, in seconds.
    delay: f64,
}

impl Axis {
    fn place(self, sent: f64, delay: f64) -> (f64, f64) {
        (self.at + sent, self.delay + delay)
    }

    fn median<'a>(self, packets: impl Iterator<Item = &'a Passage> + Clone) -> Option<(f64, f64)> {
        let sent = statistics::median(packets.clone().map(|p| p.sent))?;
        Some(self.place(sent, statistics::median(packets.map(|p| p.delay))?))
    }

    fn shortest(self, timeline: &Timeline) -> Option<(f64, f64)> {
        let shortest = timeline.passages.iter().min_by(|a, b| a.delay.total_cmp(&b.delay))?;
        Some(self.place(shortest.sent, shortest.delay))
    }
}

/// The result of one rate: packets that arrived while it was sent (algorithm 1,
/// lines 6 and 7), so that packets that a long queue still holds at the end count
/// neither as received nor as a higher rate.
fn load(timeline: &Timeline, offered_pps: f64, window: Window, axis: Axis) -> Load {
    let bulk = timeline.of_stream(StreamKind::Bulk);
    let least = bulk.clone().map(|p| p.delay).fold(f64::INFINITY, f64::min);
    let arrived = bulk.clone().filter(|p| window.contains(p.received() - least)).count();
    let received_pps = arrived as f64 / window.length();
    let loss = (1.0 - received_pps / offered_pps).max(0.0);
    Load {
        offered_pps,
        received_pps,
        loss,
        saturated: loss > 1.0 - TRAIN_RECEIVED,
        behind: false,
        sender: 1.0,
        median: axis.median(bulk),
        shortest: axis.shortest(timeline),
    }
}

/// The result of a short train: the rate at which its packets arrived, and whether
/// their delay increased.
fn train(timeline: &Timeline, plan: &PhasePlan, offered_pps: f64, sender: f64, axis: Axis) -> Load {
    let bulk = timeline.of_stream(StreamKind::Bulk);
    let planned = plan.streams.iter().filter(|stream| stream.kind == StreamKind::Bulk);
    let planned: u64 = planned.map(crate::StreamPlan::packets).sum();
    let arrived = bulk.clone().count();
    let (first, last) = bulk
        .clone()
        .map(Passage::received)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), at| {
            (first.min(at), last.max(at))
        });
    let offered_pps = offered_pps * sender;
    let received_pps = if last > first { (arrived - 1) as f64 / (last - first) } else { 0.0 };
    let shortest = timeline.passages.iter().map(|p| p.delay).fold(f64::INFINITY, f64::min);
    let end = bulk.clone().skip(arrived - arrived / 4).map(|p| p.delay - shortest);
    let waited = statistics::median(end).unwrap_or(0.0);
    let slower = received_pps < TRAIN_RECEIVED * offered_pps;
    Load {
        offered_pps,
        received_pps,
        loss: 1.0 - arrived as f64 / planned.max(1) as f64,
        saturated: slower
            && received_pps > 0.0
            && waited > TRAIN_WAIT.0 / received_pps + TRAIN_WAIT.1,
        behind: sender < symptoms::SENDER,
        sender,
        median: axis.median(bulk),
        shortest: axis.shortest(timeline),
    }
}
