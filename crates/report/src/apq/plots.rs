//! Plots of a session as in the paper: delay and throughput over time (its Figs. 6 and
//! 7), and the distribution of delays with a full and with an empty queue (Figs. 8 and
//! 9). For each direction and packet length the last phase is drawn in which the queue
//! was empty before it was filled. Delays are differences from the shortest one, after
//! the drift between the two clocks is removed.

use super::words::queue;
use lasthop_apq::{Direction, PhaseRecord, Sample, StreamKind};
use lasthop_figures::plot::{Axis, Panel, Point, Series};
use std::collections::BTreeMap;

/// Largest number of points of a series in a plot.
const POINTS_MAX: usize = 1_500;
/// Number of points of throughput in a session.
const BINS: usize = 40;

/// Phases to draw, by direction and packet length.
#[derive(Clone, Debug, Default)]
pub struct Plots {
    sessions: BTreeMap<(Direction, u16), Session>,
}

/// A phase with an empty queue, then with a full one.
#[derive(Clone, Debug, Default)]
struct Session {
    /// Delay in ms over the time in seconds at which packets were sent: sparse, bulk.
    delays: [Vec<Point>; 2],
    /// Throughput in Mb/s over the time in seconds at which packets arrived.
    throughput: Vec<Point>,
    /// Start and end of the saturation flow, in seconds.
    load: (f64, f64),
}

impl Plots {
    /// Stores the points of a phase.
    pub fn phase(&mut self, record: &PhaseRecord) {
        let of_kind = |kind| record.plan.streams.iter().filter(move |stream| stream.kind == kind);
        let Some(bulk) = of_kind(StreamKind::Bulk).next() else { return };
        let Some(sparse) = of_kind(StreamKind::Sparse).map(|stream| stream.begin).min() else {
            return;
        };
        if sparse >= bulk.begin {
            return;
        }
        if let Some(session) = Session::from_phase(record) {
            self.sessions.insert((record.direction, bulk.packet_bytes), session);
        }
    }

    /// Returns the panels of delay and throughput over time.
    pub fn session(&self, host: &str) -> Vec<Panel> {
        let panel = |((direction, bytes), session): (&(Direction, u16), &Session)| {
            let delay = |index: usize| thinned(&session.delays[index]);
            let delays = Axis::new("queueing delay, ms");
            Panel::new(title(*direction, *bytes, host), Axis::new("time, s"), delays)
                .right(Axis::new("throughput, Mb/s"))
                .shade(session.load.0, session.load.1, "saturation flow sent")
                .with(Series::dots("delay, saturation flow", delay(1)))
                .with(Series::dots("delay, baseline flow", delay(0)))
                .with(Series::line("throughput", session.throughput.clone()).on_right())
        };
        self.sessions.iter().map(panel).collect()
    }

    /// Returns the panels of the distributions of delays.
    pub fn delays(&self, host: &str) -> Vec<Panel> {
        let panel = |((direction, bytes), session): (&(Direction, u16), &Session)| {
            let (begin, end) = session.load;
            // In the first half of the load the queue may still be filling.
            let full = (begin + end) / 2.0..end;
            let empty = |at: f64| at < begin;
            let [sparse, bulk] = &session.delays;
            let of = |points: &[Point], is_in: &dyn Fn(f64) -> bool| {
                distribution(points.iter().filter(|point| is_in(point.0)).map(|point| point.1))
            };
            let share = Axis::new("share of packets").range(0.0, 1.0);
            Panel::new(title(*direction, *bytes, host), Axis::new("queueing delay, ms"), share)
                .with(Series::line("empty queue, baseline flow", of(sparse, &empty)))
                .with(Series::line(
                    "full queue, baseline flow",
                    of(sparse, &|at| full.contains(&at)),
                ))
                .with(Series::line(
                    "full queue, saturation flow",
                    of(bulk, &|at| full.contains(&at)),
                ))
        };
        self.sessions.iter().map(panel).collect()
    }
}

impl Session {
    /// Returns the session of a phase; `None` if hardly any packet arrived.
    fn from_phase(record: &PhaseRecord) -> Option<Self> {
        let sent_s =
            |sample: &Sample| sample.sent_ns.wrapping_sub(record.started_ns) as i64 as f64 / 1e9;
        let bulk = record.plan.streams.iter().filter(|stream| stream.kind == StreamKind::Bulk);
        let begin = bulk.clone().map(|stream| stream.begin.as_secs_f64()).reduce(f64::min)?;
        let end = bulk.clone().map(|stream| stream.end.as_secs_f64()).reduce(f64::max)?;
        let length = record.plan.duration().as_secs_f64();
        let first = record.samples.first()?.delay_ns();
        let raw = |sample: &Sample| sample.delay_ns().wrapping_sub(first) as f64 / 1e6;
        // The shortest delays at the start and at the end are those of an empty queue;
        // their difference is the drift of the clocks.
        let shortest = |from: f64, to: f64| {
            let within =
                record.samples.iter().filter(|sample| (from..to).contains(&sent_s(sample)));
            within.map(|sample| (sent_s(sample), raw(sample))).min_by(|a, b| a.1.total_cmp(&b.1))
        };
        let (early, late) = (shortest(0.0, begin)?, shortest((end + length) / 2.0, length));
        let slope = late.map_or(0.0, |late| (late.1 - early.1) / (late.0 - early.0));
        let mut session = Self { load: (begin, end), ..Self::default() };
        let mut bytes = vec![0u64; BINS];
        let bin_s = length / BINS as f64;
        for sample in &record.samples {
            let at = sent_s(sample);
            let delay = raw(sample) - early.1 - slope * (at - early.0);
            session.delays[sample.kind.index()].push((at, delay.max(0.0)));
            let Some((stream, _)) = record.plan.locate(sample.kind, sample.sequence) else {
                continue;
            };
            let bin = ((at + delay / 1e3) / bin_s) as usize;
            if let Some(bytes) = bytes.get_mut(bin) {
                *bytes += u64::from(record.plan.streams[stream].packet_bytes);
            }
        }
        let point = |(bin, bytes): (usize, u64)| {
            ((bin as f64 + 0.5) * bin_s, bytes as f64 * 8.0 / 1e6 / bin_s)
        };
        session.throughput = bytes.into_iter().enumerate().map(point).collect();
        Some(session)
    }
}

fn title(direction: Direction, packet_bytes: u16, host: &str) -> String {
    let queue = queue(direction.into(), host);
    format!("The {queue}, packets of {packet_bytes} bytes")
}

/// Returns every n-th point, at most [`POINTS_MAX`], so that a plot remains small.
fn thinned(points: &[Point]) -> Vec<Point> {
    points.iter().copied().step_by(points.len().div_ceil(POINTS_MAX).max(1)).collect()
}

/// Returns the share of values at or below each value, as a step function.
fn distribution(values: impl Iterator<Item = f64>) -> Vec<Point> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let all = values.len() as f64;
    let every = values.len().div_ceil(POINTS_MAX).max(1);
    let mut points: Vec<Point> = Vec::new();
    for (index, &value) in values.iter().enumerate() {
        if index % every == 0 || index + 1 == values.len() {
            let below = points.last().map_or(0.0, |point| point.1);
            points.push((value, below));
            points.push((value, (index + 1) as f64 / all));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_apq::{PhasePlan, StreamPlan};
    use lasthop_figures::plot;
    use lasthop_units::Duration;

    /// A second with an empty queue, one with a full one (50 ms), one with an empty
    /// one, and clocks that drift by 1 ms per second.
    fn record() -> PhaseRecord {
        let stream = |kind, packet_bytes, begin, end| StreamPlan {
            kind,
            packet_bytes,
            interval: Duration::from_millis(10),
            begin: Duration::from_millis(begin),
            end: Duration::from_millis(end),
        };
        let plan = PhasePlan {
            streams: vec![
                stream(StreamKind::Sparse, 100, 0, 3_000),
                stream(StreamKind::Bulk, 1_500, 1_000, 2_000),
            ],
        };
        let mut samples = Vec::new();
        for stream in &plan.streams {
            for index in 0..stream.packets() {
                let at = stream.departure(index).as_nanos();
                let is_full = (1_000_000_000..2_000_000_000).contains(&at);
                let delay = if is_full { 50_000_000 } else { 2_000_000 } + at / 1_000;
                let sent_ns = 77_000 + at;
                let received_ns = (sent_ns + delay).wrapping_sub(1 << 40);
                samples.push(Sample {
                    kind: stream.kind,
                    sequence: index as u32,
                    sent_ns,
                    received_ns,
                });
            }
        }
        let direction = Direction::Down;
        PhaseRecord {
            direction,
            plan,
            started_ns: 77_000,
            counts: Vec::new(),
            samples,
            duplicates: 0,
        }
    }

    #[test]
    fn delays_are_those_of_the_queue() {
        let session = Session::from_phase(&record()).expect("packets arrived");
        assert_eq!(session.load, (1.0, 2.0));
        for (index, &(at, delay)) in session.delays.iter().flatten().enumerate() {
            let expected = if (1.0..2.0).contains(&at) { 48.0 } else { 0.0 };
            assert!((delay - expected).abs() < 0.01, "{index}: {delay} at {at}");
        }
        let carried: f64 = session.throughput.iter().map(|point| point.1 * 3.0 / BINS as f64).sum();
        // 300 packets of 100 bytes and 100 packets of 1500.
        assert!((carried - 1.44).abs() < 1e-9, "{carried}");
    }

    #[test]
    fn only_a_queue_that_was_empty_first_is_drawn() {
        let mut plots = Plots::default();
        let mut search = record();
        search.plan.streams.remove(0);
        search.samples.retain(|sample| sample.kind == StreamKind::Bulk);
        plots.phase(&search);
        assert!(plots.session("server").is_empty());
        plots.phase(&record());
        assert_eq!(plot::faults(&plots.session("server")), [""; 0]);
        assert_eq!(plot::faults(&plots.delays("server")), [""; 0]);
    }

    #[test]
    fn a_distribution_ends_at_one() {
        let points = distribution([2.0, 1.0, 2.0, 4.0].into_iter());
        assert_eq!(points.first(), Some(&(1.0, 0.0)));
        assert_eq!(points.last(), Some(&(4.0, 1.0)));
        assert!(points.contains(&(2.0, 0.75)));
    }
}
