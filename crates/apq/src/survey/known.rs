//! What is known so far in one direction. Methods read it to say what is next;
//! the report is made of it.

use super::step::{Search, Step};
use crate::estimate::{Passage, Session, Timeline, Window, session, statistics};
use crate::plan::{Direction, StreamKind};
use crate::record::PhaseRecord;
use crate::report::{DirectionReport, Doubt, LoadPoint, SizeReport};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// One direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Direct {
    pub(super) direction: Direction,
    pub(super) sizes: Vec<Sized>,
    /// Time of all phases so far.
    pub(super) measured: Duration,
    /// Clocks of the first record: what later ones are compared with.
    origin: Option<Origin>,
}

/// One packet length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sized {
    pub(super) packet_bytes: u16,
    pub(super) loads: Vec<Load>,
    /// Sessions that were run, with or without a result.
    pub(super) attempts: u32,
    pub(super) sessions: Vec<Session>,
}

/// A rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) offered_pps: f64,
    pub(super) received_pps: f64,
    pub(super) loss: f64,
    /// The median delay: when, in seconds since the survey's first phase, and
    /// how much longer than the survey's first sample.
    median: Option<(f64, f64)>,
    /// The shortest delay, likewise.
    shortest: Option<(f64, f64)>,
}

/// A sender's clock and a delay.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Origin {
    started_ns: u64,
    delay_ns: i64,
}

impl Sized {
    pub(super) fn new(packet_bytes: u16) -> Self {
        Self { packet_bytes, loads: Vec::new(), attempts: 0, sessions: Vec::new() }
    }
}

impl Direct {
    pub(super) fn new(direction: Direction, packet_bytes: &[u16]) -> Self {
        Self {
            direction,
            sizes: packet_bytes.iter().map(|&bytes| Sized::new(bytes)).collect(),
            measured: Duration::ZERO,
            origin: None,
        }
    }

    /// Takes what became of `step`.
    pub(super) fn absorb(&mut self, step: &Step, record: &PhaseRecord) {
        self.measured += step.plan().duration();
        let mut timeline = Timeline::new(step.plan(), record);
        let origin = *self
            .origin
            .get_or_insert(Origin { started_ns: record.started_ns, delay_ns: timeline.delay_ns });
        match step {
            Step::Load { size, rate_pps, window, .. } => {
                let load = load(&timeline, *rate_pps, *window, record.started_ns, origin);
                self.sizes[*size].loads.push(load);
            }
            Step::Session { size, windows, .. } => {
                let size = &mut self.sizes[*size];
                size.attempts += 1;
                let drift = timeline.remove_drift(windows.before, windows.after);
                let unsent = unsent(record);
                let bytes = size.packet_bytes;
                size.sessions.extend(session::session(&timeline, *windows, bytes, drift, unsent));
            }
        }
    }

    /// What is to be told. `search` says where the search with each packet length ended.
    pub(super) fn report(&self, search: impl Fn(&Sized) -> Search) -> DirectionReport {
        let mut doubts = Vec::new();
        if self.sizes.iter().any(|size| search(size) == Search::Never) {
            doubts.push(Doubt::NeverSaturated);
        }
        let found = |size: &Sized| match search(size) {
            Search::Found(rate) => Some(rate),
            Search::Try(_) | Search::Never => None,
        };
        DirectionReport {
            direction: self.direction,
            sizes: self.sizes.iter().map(|size| size.report(found(size))).collect(),
            unit: None,
            discipline: None,
            driver_queue_packets: None,
            doubts,
            measured: self.measured,
        }
    }
}

impl Sized {
    fn report(&self, saturation_pps: Option<f64>) -> SizeReport {
        let all = |of: &dyn Fn(&Session) -> f64| {
            statistics::estimate(&self.sessions.iter().map(of).collect::<Vec<_>>())
        };
        let bytes = f64::from(self.packet_bytes);
        SizeReport {
            packet_bytes: self.packet_bytes,
            search: self.search(),
            saturation_pps,
            sessions: self.sessions.iter().map(|session| session.report).collect(),
            capacity_packets: all(&|session| session.report.counted_packets),
            capacity_bytes: all(&|session| session.report.counted_packets * bytes),
            equation_1_packets: all(&|session| session.report.equation_1_packets),
            throughput_bps: all(&|session| session.report.throughput_bps),
            queueing_delay_ns: all(&|session| session.report.queueing_delay_ns),
        }
    }

    /// The rates that were tried. The clocks drift apart during a search, so a
    /// line through each rate's shortest delay is taken out first.
    fn search(&self) -> Vec<LoadPoint> {
        let shortest: Vec<_> = self.loads.iter().filter_map(|load| load.shortest).collect();
        let drift = statistics::slope(&shortest);
        let without = |(at, delay): (f64, f64)| delay - drift * at;
        let mut least = f64::INFINITY;
        let point = |load: &Load| {
            least = load.shortest.map(without).unwrap_or(least).min(least);
            let queueing = load.median.map_or(0.0, |median| without(median) - least);
            LoadPoint {
                offered_pps: load.offered_pps,
                received_pps: load.received_pps,
                loss: load.loss,
                queueing_delay: Duration::from_secs_f64(queueing.max(0.0)),
            }
        };
        self.loads.iter().map(point).collect()
    }
}

/// Share of a phase's packets that never left the sender.
fn unsent(record: &PhaseRecord) -> f64 {
    let sum = |of: fn(&crate::StreamCount) -> u32| {
        record.counts.iter().map(|count| f64::from(of(count))).sum::<f64>()
    };
    let (sent, unsent) = (sum(|count| count.sent), sum(|count| count.unsent));
    unsent / (sent + unsent).max(1.0)
}

/// What a rate showed: packets that arrived while it was sent (algorithm 1,
/// lines 6 and 7), so that what a long queue still holds at its end is neither
/// received nor mistaken for a higher rate.
fn load(
    timeline: &Timeline,
    offered_pps: f64,
    window: Window,
    started_ns: u64,
    origin: Origin,
) -> Load {
    let bulk = || timeline.of(StreamKind::Bulk);
    let shortest = bulk().min_by(|a, b| a.delay.total_cmp(&b.delay));
    let least = shortest.map_or(0.0, |passage| passage.delay);
    let arrived = bulk().filter(|p| window.contains(p.received() - least)).count();
    let received_pps = arrived as f64 / window.length();
    let at = started_ns.wrapping_sub(origin.started_ns) as i64 as f64 / 1e9;
    let since = timeline.delay_ns.wrapping_sub(origin.delay_ns) as f64 / 1e9;
    let on_axis = |sent: f64, delay: f64| (at + sent, since + delay);
    let median = |of: fn(&Passage) -> f64| statistics::median(bulk().map(of));
    Load {
        offered_pps,
        received_pps,
        loss: (1.0 - received_pps / offered_pps).max(0.0),
        median: median(|p| p.sent).zip(median(|p| p.delay)).map(|(s, d)| on_axis(s, d)),
        shortest: shortest.map(|passage| on_axis(passage.sent, passage.delay)),
    }
}
