//! The estimates of one session, an empty, a full and an empty queue (paper `apq`,
//! algorithm 2): equation 1 and the counted capacity.
//!
//! Equation 1 uses medians, so it gives the usual length of the queue. If packets
//! leave in aggregates, a full queue is between its limit and one aggregate less,
//! and the median lies in between. The counted capacity is the occupancy just
//! before packets were refused, counted packet by packet. Both flows count in both
//! estimates, because both are in the queue; throughput and loss are those of the
//! saturation flow. Times are in seconds. Packets of other hosts are not seen here.

use super::statistics::{densest, median, pause, quantile, sorted};
use super::timeline::{Timeline, Window, Windows};
use crate::plan::StreamKind;
use crate::report::SessionReport;
use alloc::vec::Vec;

/// Smallest number of refusals from which the limit is computed.
const REFUSALS_MIN: usize = 8;

/// Occupancies before refusals count as equal within this, in packets and relative:
/// timestamps jitter, and other hosts may have a packet in the queue.
const ALIKE: (f64, f64) = (1.0, 0.005);

/// The quantile of the occupancy at all entries that is taken for the limit if
/// refusals do not show it: with aggregates of a third of the limit and a load of
/// 1.3, the last tenth of each fill is within one or two packets of the limit.
const ENTRY_QUANTILE: f64 = 0.97;

/// If more than this share of packets was not sent, a gap in the numbers does not
/// indicate a refusal.
const UNSENT_MAX: f64 = 0.005;

/// Largest number of packets that leave together, with one pause overlooked: the Block Ack window
/// of 802.11ax.
const AGGREGATE_MAX: usize = 2 * 256;

/// The estimates of a session, and values that later steps need.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The estimates that are reported.
    pub report: SessionReport,
    /// Packets of both flows that arrived per second while the queue was full.
    pub rate_pps: f64,
    /// Whether packets of the saturation flow were refused.
    pub refused: bool,
}

/// The estimates from `timeline`, whose drift was removed: it was `drift`. `unsent`
/// is the share of packets that were not sent. `None` if a window that is needed
/// has no packet.
pub fn session(
    timeline: &Timeline,
    windows: Windows,
    packet_bytes: u16,
    drift: f64,
    unsent: f64,
) -> Option<Session> {
    let empty_delay = empty_delay(timeline, windows)?;
    let full_delay = median(timeline.sent_in(StreamKind::Bulk, windows.full).map(|p| p.delay))?;
    let queueing = full_delay - empty_delay;

    let arrived = |kind| {
        timeline
            .of_stream(kind)
            .filter(|passage| windows.full.contains(passage.received() - empty_delay))
            .count()
    };
    let bulk = arrived(StreamKind::Bulk);
    let rate_pps = (bulk + arrived(StreamKind::Sparse)) as f64 / windows.full.length();
    if bulk == 0 {
        return None;
    }
    let refusals = refusals(timeline, windows.full);
    let occupancy = Occupancy::new(timeline, empty_delay, 1.0 / rate_pps);
    let counted = counted_packets(timeline, &occupancy, windows.full, &refusals, unsent)?;
    let missing: u32 = refusals.iter().map(|refusal| refusal.packets).sum();
    let sent = timeline.sent_in(StreamKind::Bulk, windows.full).count() as f64;
    Some(Session {
        report: SessionReport {
            equation_1_packets: queueing * rate_pps,
            counted_packets: counted,
            throughput_bps: bulk as f64 * f64::from(packet_bytes) * 8.0 / windows.full.length(),
            queueing_delay_ns: queueing * 1e9,
            loss: f64::from(missing) / (f64::from(missing) + sent).max(1.0),
            drift_ppm: drift * 1e6,
        },
        rate_pps,
        refused: !refusals.is_empty(),
    })
}

/// The median delay of the baseline flow in both empty windows.
pub fn empty_delay(timeline: &Timeline, windows: Windows) -> Option<f64> {
    let both = |passage: &&super::Passage| {
        windows.before.contains(passage.sent) || windows.after.contains(passage.sent)
    };
    median(timeline.of_stream(StreamKind::Sparse).filter(both).map(|passage| passage.delay))
}

/// A gap in the saturation flow: packets that did not arrive, and the packets
/// around them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Time at which the last packet before the gap was sent.
    pub entered: f64,
    /// Time at which the first packet after the gap arrived.
    pub noticed: f64,
    /// Number of missing packets.
    pub packets: u32,
}

/// The gaps in the sequence numbers of the saturation flow, between packets sent in
/// `window`, in the order of sending.
pub fn refusals(timeline: &Timeline, window: Window) -> Vec<Gap> {
    let mut bulk: Vec<_> = timeline.sent_in(StreamKind::Bulk, window).collect();
    bulk.sort_by_key(|passage| passage.sequence);
    let gap = |pair: &[&super::Passage]| Gap {
        entered: pair[0].sent,
        noticed: pair[1].received(),
        packets: pair[1].sequence - pair[0].sequence - 1,
    };
    bulk.windows(2).map(gap).filter(|refusal| refusal.packets > 0).collect()
}

/// Number of packets in the queue and in transmission, as a function of time.
#[derive(Clone, Debug)]
pub struct Occupancy {
    /// Times at which the packets that arrived were sent, sorted.
    entered: Vec<f64>,
    /// Times at which they left the queue, on the same time axis, sorted.
    left: Vec<f64>,
}

impl Occupancy {
    /// Computes the occupancy from arrivals. `empty_delay`, the delay with an empty
    /// queue, includes a packet's own transmission, which takes about `service`
    /// seconds. Departures count as half of it earlier, so that a packet in
    /// transmission is before one that enters then.
    pub fn new(timeline: &Timeline, empty_delay: f64, service: f64) -> Self {
        let shift = service / 2.0 - empty_delay;
        let mut left = timeline.arrivals();
        leave_together(&mut left);
        left.iter_mut().for_each(|time| *time += shift);
        Self { entered: timeline.passages.iter().map(|passage| passage.sent).collect(), left }
    }

    /// The occupancy just after the packet sent at `time` entered.
    pub fn at(&self, time: f64) -> f64 {
        let entered = self.entered.partition_point(|&sent| sent <= time);
        let left = self.left.partition_point(|&left| left <= time);
        entered.saturating_sub(left) as f64
    }
}

/// Moves sorted arrivals to the end of their aggregate, where there are aggregates whose packets
/// arrive one by one: each occupies the queue until all are acknowledged.
fn leave_together(arrivals: &mut [f64]) {
    let gaps = sorted(arrivals.windows(2).map(|pair| pair[1] - pair[0]));
    let Some(pause) = pause(&gaps) else { return };
    // What has no such pauses for longer than any aggregate is paced by something else.
    let all = arrivals.chunk_by(|one, next| next - one < pause);
    if all.map(<[f64]>::len).max() > Some(AGGREGATE_MAX) {
        return;
    }
    for aggregate in arrivals.chunk_by_mut(|one, next| next - one < pause) {
        let end = aggregate[aggregate.len() - 1];
        aggregate.fill(end);
    }
}

/// The limit of the queue, from the occupancy when packets were refused.
fn counted_packets(
    timeline: &Timeline,
    occupancy: &Occupancy,
    window: Window,
    refusals: &[Gap],
    unsent: f64,
) -> Option<f64> {
    if refusals.len() >= REFUSALS_MIN && unsent <= UNSENT_MAX {
        let before = sorted(refusals.iter().map(|refusal| occupancy.at(refusal.entered)));
        let middle = quantile(&before, 0.5)?;
        // The most frequent value, not the mean or an extreme: a driver queue below is
        // sometimes not quite full, and packets that wait for a lost one of their
        // aggregate are counted although they have left the queue.
        return densest(&before, 2.0 * ALIKE.0.max(ALIKE.1 * middle));
    }
    let entries = timeline.sent_in(StreamKind::Bulk, window).map(|p| occupancy.at(p.sent));
    quantile(&sorted(entries), ENTRY_QUANTILE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Direction, PhasePlan, StreamPlan};
    use crate::record::{PhaseRecord, Sample};
    use lasthop_units::Duration;

    /// A queue of `bound` packets, 2 ms each, to which one comes every 1.25 ms.
    fn record(bound: usize, clocks_apart: u64) -> (PhasePlan, PhaseRecord) {
        let stream = |kind, interval, begin: u64, end: u64| StreamPlan {
            kind,
            packet_bytes: 1_000,
            interval: Duration::from_micros(interval),
            begin: Duration::from_secs(begin),
            end: Duration::from_secs(end),
        };
        let streams =
            [stream(StreamKind::Sparse, 50_000, 0, 9), stream(StreamKind::Bulk, 1_250, 3, 6)];
        let plan = PhasePlan { streams: streams.into() };
        let packets = |s: &StreamPlan| {
            let s = *s;
            (0..s.packets()).map(move |n| (s.departure(n).as_nanos(), s.kind, n as u32))
        };
        let mut all: Vec<_> = plan.streams.iter().flat_map(packets).collect();
        all.sort_by_key(|&(at, ..)| at);
        let mut departures: Vec<u64> = Vec::new();
        let mut samples = Vec::new();
        for (at, kind, sequence) in all {
            if departures.iter().filter(|&&departure| departure > at).count() < bound {
                let begins = departures.last().map_or(at, |&last| last.max(at));
                departures.push(begins + 2_000_000);
                let received_ns = (begins + 2_000_000).wrapping_add(clocks_apart);
                samples.push(Sample { kind, sequence, sent_ns: at, received_ns });
            }
        }
        let record = PhaseRecord {
            direction: Direction::Down,
            plan: plan.clone(),
            started_ns: 0,
            counts: Vec::new(),
            samples,
            duplicates: 0,
        };
        (plan, record)
    }

    /// Aggregates of `size` packets that arrive one by one, each behind a pause.
    fn aggregates(size: usize) -> Vec<f64> {
        let starts = (0..40).map(|n| f64::from(n) * (size as f64 * 10e-6 + 150e-6));
        starts.flat_map(|start| (0..size).map(move |n| start + n as f64 * 10e-6)).collect()
    }

    #[test]
    fn packets_of_an_aggregate_leave_together() {
        for size in [5, 64, 256] {
            let mut arrivals = aggregates(size);
            let ends: Vec<f64> = arrivals.chunks(size).map(|all| all[size - 1]).collect();
            leave_together(&mut arrivals);
            for (aggregate, end) in arrivals.chunks(size).zip(ends) {
                assert!(aggregate.iter().all(|&time| time == end), "{size}");
            }
        }
    }

    #[test]
    fn what_leaves_one_by_one_is_left_as_it_is() {
        // A wire before and after a pause of the sender; random backoff.
        let wire = (0..2_000).map(|n| f64::from(n) * 1e-4 + if n < 1_000 { 0.0 } else { 1.0 });
        let backoff = (0..2_000).map(|n| f64::from(n) * 1e-3 + f64::from(n * 7 % 16) * 9e-6);
        for arrivals in [wire.collect::<Vec<_>>(), backoff.collect()] {
            let mut moved = arrivals.clone();
            leave_together(&mut moved);
            assert_eq!(moved, arrivals);
        }
    }

    #[test]
    fn a_queue_of_constant_service_is_as_computed() {
        let windows = Windows {
            before: Window::new(0.0, 3.0),
            full: Window::new(4.0, 6.0),
            after: Window::new(7.0, 9.0),
        };
        for clocks_apart in [0, 1 << 63, u64::MAX - 4_000_000_000] {
            for bound in [4, 25, 100] {
                let (plan, record) = record(bound, clocks_apart);
                let timeline = Timeline::new(&plan, &record);
                let session = session(&timeline, windows, 1_000, 0.0, 0.0).unwrap();
                let expected = bound as f64;
                assert_eq!(session.report.counted_packets, expected);
                // The one in transmission has been so for up to 1.25 ms of its 2.
                let equation_1 = session.report.equation_1_packets;
                let range = expected - 1.0 - 1.25 / 2.0..=expected - 1.0;
                assert!(range.contains(&equation_1), "{equation_1}");
                assert!((session.rate_pps - 500.0).abs() < 1.0);
                // 800 are sent a second; 480 of 500 that leave are of this flow.
                assert!((session.report.loss - 0.4).abs() < 0.02, "{}", session.report.loss);
            }
        }
    }
}
