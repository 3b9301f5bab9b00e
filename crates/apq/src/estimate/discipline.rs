//! Infers the discipline of a queue from one phase of constant, slight overload
//! (paper `apq`; RFC 8289, 3.3). Two questions are answered separately.
//!
//! **Are flows kept apart?** Then packets of the sparse flow overtake those of the
//! saturation flow that are waiting, and none of them is refused. **Does a limit
//! cause the drops?** Then packets are refused only when the queue is at its
//! longest, regardless of the rate of service: the occupancy before each refusal is
//! always the same. CoDel drops while the queue is first short, then long, then
//! short again: its n-th drop comes 2 sqrt(n) intervals after the first, because
//! each follows after interval / sqrt(n). At an overload of v packets per second it
//! has caught up after 2 v intervals squared, and the delay falls from then on.
//!
//! Anything else gives no verdict: other active queue management, a queue shared
//! with much other traffic, a phase that is too short. Times are in seconds.

use super::session::{Gap, Occupancy, refusals};
use super::statistics::{median, quantile, sorted};
use super::timeline::{Timeline, Window};
use crate::plan::StreamKind;
use crate::report::{Discipline, Judgement};
use alloc::vec::Vec;
use core::ops::Range;

/// Share of the packets before one of the sparse flow that it overtakes: up to the
/// first value all flows share a queue, from the second value on they do not,
/// except for a driver queue.
const OVERTAKEN: Range<f64> = 0.03..0.15;

/// Packets that arrive within this time have no order, in seconds.
const TOGETHER_S: f64 = 200e-6;

/// Time between aggregates relative to the queueing delay: above this the whole
/// queue leaves at once, and no packet can overtake.
const AGGREGATE_MAX: f64 = 0.4;

/// Loss of the sparse flow relative to that of the other: up to the first value it
/// has its own queue, from the second value on it has none.
const LOSS_SHARED: Range<f64> = 0.03..0.2;

/// The sparse flow must be expected to lose this many packets before their absence
/// is significant.
const LOSSES_MIN: f64 = 8.0;

/// Occupancy before refusals, its lowest tenth relative to the highest: 1 for a
/// limit, or slightly less if other hosts also have packets in the queue; up to the
/// first value there is no limit. Queues that drop early at random are in between.
const AT_BOUND: Range<f64> = 0.72..0.92;

/// Possible error of a count in packets, and the count from which on it is allowed
/// for.
const COUNT_PACKETS: f64 = 1.0;
const MANY_PACKETS: f64 = 15.0;

/// The first refusals count like the lowest tenth: a queue that drops early starts
/// before it is full.
const FIRST_REFUSALS: usize = 9;

/// The time at which a packet leaves the queue is uncertain by its transmission time, which in an
/// aggregate includes other packets. Departures earlier by this many service times are tried, and
/// the one that most resembles a limit is used.
const SERVICES: [f64; 5] = [1.0, 2.0, 3.0, 5.0, 8.0];

/// The queue has fallen when it is below this share of its longest.
const FALLEN: f64 = 0.5;

/// Time at which it has fallen, relative to when CoDel should have caught up with the overload; the
/// queue then needs as long again to fall.
const CAUGHT_UP: (f64, f64) = (0.7, 5.0);

/// CoDel's interval in RFC 8289 and in Linux, in seconds.
const INTERVAL_S: f64 = 0.1;

/// The intervals that are accepted as CoDel's: drops are noticed late at first,
/// while the queue is long, and packets of other hosts take some of the drops.
const INTERVAL_RANGE_S: (f64, f64) = (0.055, 0.15);

/// Largest ratio of the intervals computed from single drops, highest to lowest
/// tenth; evenly spaced losses give 3.
const INTERVAL_SPREAD: f64 = 1.6;

/// The drops, by number, from which the interval is computed: the first few are
/// counted from a first drop that may be an unrelated loss.
const LAW_DROPS: (usize, usize) = (16, 200);

/// Smallest number of refusals that are significant.
const REFUSALS_MIN: usize = 12;

/// CoDel tolerates a delay above its target for one interval. A delay above this
/// many seconds that lasts for [`STANDING_S`] without a drop is not managed.
const UNMANAGED_DELAY_S: f64 = 0.05;

/// Largest difference of two measurements of one limit, in packets and relative to
/// the larger.
const SAME_PACKETS: f64 = 4.0;
/// The relative part of the bound above ([`SAME_PACKETS`]).
const SAME: f64 = 0.15;

/// See [`UNMANAGED_DELAY_S`]; ten intervals, in seconds.
const STANDING_S: f64 = 1.0;

/// Lowest confidence of a verdict.
pub const CONFIDENCE_MIN: f64 = 0.7;

/// Highest confidence: there are more kinds of queues than are known here.
pub const CONFIDENCE_MAX: f64 = 0.99;

/// The quantile of the gaps between packets that is taken for the time between
/// aggregates of up to 60 packets.
const CLUMP: f64 = 0.985;

/// Number of parts into which a phase of overload is divided to measure the queue's
/// length.
const PARTS: usize = 24;

/// Evidence from a phase of constant overload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Share of the packets before one of the sparse flow that it overtakes: 0 if
    /// they share a queue. `None` if there was hardly a queue.
    pub overtaken: Option<f64>,
    /// Loss of the sparse flow relative to that of the saturation flow: 1 if they
    /// share a queue. `None` if too little was lost.
    pub sparse_loss: Option<f64>,
    /// Time between aggregates relative to the queueing delay.
    pub aggregate: f64,
    /// Occupancy before refusals, the smaller of the first and the lowest tenth
    /// relative to the highest: 1 for a limit. `None` if there were too few
    /// refusals.
    pub at_bound: Option<f64>,
    /// CoDel's interval in seconds, supposing that refusals are CoDel's drops.
    pub interval: Option<f64>,
    /// Time at which the queue had fallen to half its longest, relative to when CoDel would have
    /// caught up with the overload; `None` if it had not.
    pub caught_up: Option<f64>,
    /// Time for which the queueing delay was above 50 ms before the first drop, in
    /// seconds.
    pub standing: f64,
    /// Median queueing delay of the sparse flow in the second half, in seconds.
    pub sparse_delay: f64,
    /// Occupancy of the queue at its longest, in packets.
    pub longest: f64,
    /// Median occupancy before refusals, in packets: the limit, if there is one.
    /// `None` if there were too few refusals.
    pub refused_at: Option<f64>,
}

/// The evidence in `timeline`, whose drift was removed. The overload was sent in
/// the window `bulk`, at `offered_pps` packets per second of both flows.
pub fn evidence(
    timeline: &Timeline,
    bulk: Window,
    empty_delay: f64,
    offered_pps: f64,
) -> Option<Evidence> {
    let sent: Vec<_> = timeline.sent_in(StreamKind::Bulk, bulk).collect();
    let (first, last) = (sent.first()?, sent.last()?);
    let span = last.received() - first.received();
    let sparse: Vec<_> = timeline.sent_in(StreamKind::Sparse, bulk).collect();
    if span <= 0.0 {
        return None;
    }
    let rate = (sent.len() + sparse.len()) as f64 / span;
    let occupancy = Occupancy::new(timeline, empty_delay, 1.0 / rate);

    let part = |index: usize| {
        let at = |share: usize| bulk.begin + bulk.length() * share as f64 / PARTS as f64;
        Window::new(at(index), at(index + 1))
    };
    let in_part = |window: Window| sent.iter().filter(move |p| window.contains(p.sent));
    let lengths: Vec<f64> = (0..PARTS)
        .map(|index| median(in_part(part(index)).map(|p| occupancy.at(p.sent))).unwrap_or(0.0))
        .collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    let peak = lengths.iter().position(|&length| length >= longest).unwrap_or(0);

    // Packets sent before a sparse packet that arrived after it.
    let (mut in_front, mut overtaken) = (0.0, 0.0);
    for packet in &sparse {
        let came = packet.received() + TOGETHER_S;
        let before = &sent[..sent.partition_point(|p| p.sent < packet.sent)];
        in_front += occupancy.at(packet.sent);
        // No packet waits longer than the whole overload.
        overtaken += before.iter().filter(|p| p.received() > came).count() as f64;
    }
    let packets = sparse.len().max(1) as f64;
    let delays = sent.iter().map(|p| p.delay - empty_delay).sum::<f64>() / sent.len() as f64;
    let times = sorted(sent.iter().map(|p| p.received()));
    let distances = sorted(times.windows(2).map(|pair| pair[1] - pair[0]));
    let clump = clump(&distances);

    let refusals = refusals(timeline, bulk);
    let refused: u32 = refusals.iter().map(|refusal| refusal.packets).sum();
    let at_bound = (refusals.len() >= REFUSALS_MIN)
        .then(|| fitted(timeline, empty_delay, rate, clump, &refusals));
    let refused_at = at_bound.as_ref().and_then(|(occupancy, _)| {
        median(refusals.iter().map(|refusal| occupancy.at(refusal.entered)))
    });
    let bulk_loss = f64::from(refused) / (f64::from(refused) + sent.len() as f64);
    let sparse_lost = missing(&sparse);
    let expected = bulk_loss * (sparse_lost + sparse.len() as f64);
    let sparse_loss = (expected >= LOSSES_MIN).then(|| sparse_lost / expected);

    let above = |p: &&&super::Passage| p.delay - empty_delay > UNMANAGED_DELAY_S;
    let long = sent.iter().filter(above).map(|p| p.received() - empty_delay).reduce(f64::min);
    let dropped = refusals
        .first()
        .map_or(last.received() - empty_delay, |refusal| refusal.noticed - empty_delay);
    let overload = (offered_pps - rate).max(f64::from(refused) / span).max(1.0);
    let catch_up = 2.0 * INTERVAL_S * INTERVAL_S * overload;
    let half = (peak..PARTS).find(|&index| lengths[index] < longest * FALLEN);
    let late: Vec<f64> = sparse
        .iter()
        .filter(|p| p.sent > bulk.begin + bulk.length() / 2.0)
        .map(|p| p.delay - empty_delay)
        .collect();
    Some(Evidence {
        // One or two packets are no queue to share.
        overtaken: (in_front / packets > 3.0).then(|| overtaken / in_front),
        sparse_loss,
        aggregate: if delays > 0.0 { clump / delays } else { f64::INFINITY },
        at_bound: at_bound.map(|(_, at_bound)| at_bound),
        refused_at,
        interval: interval(&refusals.iter().map(|r| (r.noticed, r.packets)).collect::<Vec<_>>()),
        caught_up: half.map(|index| (part(index).begin - bulk.begin) / catch_up),
        standing: long.map_or(0.0, |long| dropped - long),
        sparse_delay: median(late).unwrap_or(0.0),
        longest,
    })
}

/// Number of sequence numbers missing between the first and the last.
fn missing(sent: &[&super::Passage]) -> f64 {
    let numbers = || sent.iter().map(|p| p.sequence);
    let span = numbers().max().zip(numbers().min()).map_or(0, |(last, first)| last - first + 1);
    (f64::from(span) - sent.len() as f64).max(0.0)
}

/// The time between aggregates, from the sorted gaps between packets.
pub fn clump(distances: &[f64]) -> f64 {
    quantile(distances, CLUMP).unwrap_or(0.0)
}

/// The occupancy, with the departures placed such that refusals come closest to one
/// length of the queue, and its [`Evidence::at_bound`].
fn fitted(
    timeline: &Timeline,
    empty_delay: f64,
    rate: f64,
    clump: f64,
    refusals: &[Gap],
) -> (Occupancy, f64) {
    let of = |services: f64| {
        let occupancy = Occupancy::new(timeline, empty_delay, services / rate);
        let at_bound = at_bound(&occupancy, refusals);
        (occupancy, at_bound)
    };
    let likely = |&services: &f64| services / rate <= clump;
    let others = SERVICES[1..].iter().copied().filter(likely).map(of);
    others.fold(of(SERVICES[0]), |best, next| if next.1 > best.1 { next } else { best })
}

/// The median occupancy before refusals, for each of `parts` that has any.
pub fn held(
    timeline: &Timeline,
    empty_delay: f64,
    rate: f64,
    distances: &[f64],
    refusals: &[Gap],
    parts: impl Iterator<Item = Window>,
) -> Vec<f64> {
    let (occupancy, _) = fitted(timeline, empty_delay, rate, clump(distances), refusals);
    let before = |refusal: &Gap| occupancy.at(refusal.entered);
    parts
        .filter_map(|part| {
            median(refusals.iter().filter(|refusal| part.contains(refusal.entered)).map(before))
        })
        .collect()
}

/// Computes the value of [`Evidence::at_bound`].
fn at_bound(occupancy: &Occupancy, refusals: &[Gap]) -> f64 {
    let before = |refusal: &Gap| occupancy.at(refusal.entered);
    let all = sorted(refusals.iter().map(before));
    let at = |share| quantile(&all, share).unwrap_or(0.0);
    let first = median(refusals.iter().take(FIRST_REFUSALS).map(before)).unwrap_or(0.0);
    let (low, high) = (at(0.1).min(first), at(0.9));
    let off = if high >= MANY_PACKETS { COUNT_PACKETS } else { 0.0 };
    ((low + off) / (high - off).max(1.0)).min(1.0)
}

/// The interval of a CoDel whose drops were noticed at these times: the n-th one
/// comes nearly 2 sqrt(n) intervals after the first.
fn interval(drops: &[(f64, u32)]) -> Option<f64> {
    /// For large n the sum of 1 / sqrt(k) over k from 1 to n is 2 sqrt(n) less
    /// this: the negative of the zeta function at one half.
    const HEAD_START: f64 = 1.460_354_5;
    let (start, _) = *drops.first()?;
    let mut count = 0;
    let mut intervals = Vec::new();
    for &(at, packets) in drops {
        count += packets as usize;
        if (LAW_DROPS.0..=LAW_DROPS.1).contains(&count) {
            intervals.push((at - start) / (2.0 * libm::sqrt(count as f64) - HEAD_START));
        }
    }
    let intervals = sorted(intervals);
    // Losses that are evenly spaced, or follow the load, do not obey this law.
    let spread = quantile(&intervals, 0.9)? / quantile(&intervals, 0.1)?;
    quantile(&intervals, 0.5).filter(|_| spread < INTERVAL_SPREAD)
}

/// The position of a value between the bounds of a range: 0 at the first, 1 at the
/// second.
fn place(value: f64, range: Range<f64>) -> f64 {
    ((value - range.start) / (range.end - range.start)).clamp(0.0, 1.0)
}

/// The verdict. Its confidence is that of the less certain of the two answers, which is the
/// distance of its value from undecided.
pub fn judge(evidence: &Evidence) -> Judgement<Discipline> {
    let cannot_tell = |confidence| Judgement { verdict: Discipline::CannotTell, confidence };
    let Some(shared) = shared(evidence) else { return cannot_tell(0.0) };
    let Some(bound) = bound(evidence) else { return cannot_tell(0.0) };
    let sure = |place: f64| place.max(1.0 - place);
    let confidence = sure(shared).min(sure(bound)).min(CONFIDENCE_MAX);
    if confidence < CONFIDENCE_MIN {
        return cannot_tell(confidence);
    }
    let verdict = match (shared > 0.5, bound > 0.5) {
        (true, true) => Discipline::DropTail,
        (true, false) => Discipline::CoDel,
        (false, true) => Discipline::FairDropTail,
        (false, false) => Discipline::FqCoDel,
    };
    Judgement { verdict, confidence }
}

/// Whether the limit that refused packets under slight overload, at `slight`
/// packets, is the one that did under heavy overload, at `heavy`. Queues that drop
/// by other rules become longer with more load.
pub fn is_same_bound(slight: f64, heavy: f64) -> bool {
    libm::fabs(slight - heavy) <= SAME_PACKETS.max(SAME * slight.max(heavy))
}

/// Strength of the evidence for one queue shared by all flows (1) or for one per flow (0).
fn shared(evidence: &Evidence) -> Option<f64> {
    let by_order = 1.0 - place(evidence.overtaken?, OVERTAKEN);
    if by_order < 0.5 || evidence.aggregate < AGGREGATE_MAX {
        return Some(by_order);
    }
    // The order says nothing about a queue that leaves at once; losses may.
    evidence.sparse_loss.map(|loss| place(loss, LOSS_SHARED))
}

/// Strength of the evidence for a limit (1) or for CoDel (0); `None` if it is for neither.
fn bound(evidence: &Evidence) -> Option<f64> {
    let Some(at_bound) = evidence.at_bound else {
        return (evidence.standing > STANDING_S).then_some(0.9);
    };
    let bound = place(at_bound, AT_BOUND);
    let lawful = evidence
        .interval
        .is_some_and(|interval| interval > INTERVAL_RANGE_S.0 && interval < INTERVAL_RANGE_S.1);
    if bound < 0.5 && lawful {
        // Catching up with a high rate may take longer than the phase.
        let fallen =
            evidence.caught_up.is_some_and(|share| share > CAUGHT_UP.0 && share < CAUGHT_UP.1);
        return Some(if fallen { 0.0 } else { 0.15 });
    }
    // Neither CoDel's behaviour nor that of a limit.
    (bound > 0.5).then_some(bound)
}

/// Packets in a driver queue below a fair upper queue: the delay of the sparse
/// flow, which does not wait in an upper queue, times the rate. Below a single
/// queue for all flows, a driver queue cannot be distinguished from it.
pub fn driver_queue_packets(evidence: &Evidence, rate_pps: f64) -> f64 {
    (evidence.sparse_delay * rate_pps).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded() -> Evidence {
        Evidence {
            overtaken: Some(0.0),
            sparse_loss: Some(1.0),
            aggregate: 0.02,
            at_bound: Some(1.0),
            interval: None,
            caught_up: None,
            standing: 0.3,
            sparse_delay: 0.1,
            longest: 100.0,
            refused_at: Some(100.0),
        }
    }

    fn verdict(evidence: &Evidence) -> Discipline {
        judge(evidence).verdict
    }

    #[test]
    fn every_pair_of_answers_is_a_discipline() {
        let bounded = bounded();
        let codel =
            Evidence { at_bound: Some(0.2), interval: Some(0.09), caught_up: Some(1.6), ..bounded };
        let fair = |of: Evidence| Evidence { overtaken: Some(0.9), sparse_loss: Some(0.0), ..of };
        assert_eq!(verdict(&bounded), Discipline::DropTail);
        assert_eq!(verdict(&fair(bounded)), Discipline::FairDropTail);
        assert_eq!(verdict(&codel), Discipline::CoDel);
        assert_eq!(verdict(&fair(codel)), Discipline::FqCoDel);
    }

    #[test]
    fn what_fits_neither_is_not_told() {
        let bounded = bounded();
        for odd in [
            // No queue; refusals at any length by no law; by a law, but a bound's.
            Evidence { overtaken: None, ..bounded },
            Evidence { at_bound: Some(0.3), ..bounded },
            Evidence { at_bound: Some(0.82), ..bounded },
            Evidence { at_bound: Some(0.3), interval: Some(0.04), ..bounded },
            // Too few refusals, and not for long enough.
            Evidence { at_bound: None, ..bounded },
            // Some overtake, some do not.
            Evidence { overtaken: Some(0.09), ..bounded },
            // The whole queue leaves at once, and too little was lost.
            Evidence { aggregate: 0.8, sparse_loss: None, ..bounded },
        ] {
            assert_eq!(verdict(&odd), Discipline::CannotTell, "{odd:?}");
        }
        let standing = Evidence { at_bound: None, standing: 3.0, ..bounded };
        assert_eq!(verdict(&standing), Discipline::DropTail);
    }

    #[test]
    fn the_law_of_codel_is_told_from_even_losses() {
        // RFC 8289, 3.3: the next drop comes interval / sqrt(count) later.
        let mut at = 3.0;
        let codel: Vec<_> = (1..400)
            .map(|count| {
                at += 0.1 / libm::sqrt(f64::from(count));
                (at, 1)
            })
            .collect();
        assert!((interval(&codel).unwrap() - INTERVAL_S).abs() < 0.01);
        let even: Vec<_> = (0..400).map(|count| (f64::from(count) * 0.02, 1)).collect();
        assert_eq!(interval(&even), None);
        assert_eq!(interval(&[]), None);
    }
}
