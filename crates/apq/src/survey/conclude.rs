//! The report of a direction: estimates, verdicts and doubts, from the results so
//! far. Shares are 0 to 1; the units of the report are in [`crate::report`]. Leaves
//! out its text and JSON form.

use super::fast;
use super::known::{Direct, Load, Sized};
use super::step::Search;
use super::{Method, SurveyConfig};
use crate::estimate::limit_unit::{Capacities, limit_unit};
use crate::estimate::symptoms::Filled;
use crate::estimate::{Session, Symptoms, discipline, statistics, symptoms};
use crate::report::{
    DirectionReport, Discipline, Doubt, Estimate, Judgement, LoadPoint, SizeReport, Unit,
};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// The report. `search` returns the state of the search with the packet length of an index.
pub(super) fn report(
    known: &Direct,
    config: &SurveyConfig,
    search: impl Fn(usize) -> Search,
    done: bool,
) -> DirectionReport {
    let managed = known.is_managed();
    let sizes: Vec<_> = known
        .sizes
        .iter()
        .enumerate()
        .map(|(index, size)| size_report(size, search(index), managed))
        .collect();
    // A rate that was configured may be too low to fill the queue.
    let is_below = |size: &Sized| {
        let sessions = &size.sessions;
        !sessions.is_empty() && !sessions.iter().any(|(session, _)| session.refused)
    };
    let never = (0..known.sizes.len()).any(|index| search(index) == Search::Never)
        || (matches!(config.method, Method::Exact(_)) && known.sizes.iter().any(is_below));
    DirectionReport {
        direction: known.direction,
        limit_unit: counted_unit(known, managed),
        discipline: (config.discipline || matches!(config.method, Method::Fast(_)))
            .then(|| verdict(known)),
        driver_queue_packets: driver_queue(known),
        doubts: doubts(known, config, never, done),
        measured: known.measured,
        sizes,
    }
}

/// The verdict without any evidence.
const UNKNOWN: Judgement<Discipline> =
    Judgement { verdict: Discipline::CannotTell, confidence: 0.0 };

/// Highest confidence if measurements contradict each other.
const CONTRADICTED: f64 = 0.5;

/// The verdict of the steady overload, unless the bursts contradict it.
fn verdict(known: &Direct) -> Judgement<Discipline> {
    let Some(steady) = &known.steady else { return UNKNOWN };
    let contradicted = is_bounded(steady.judgement.verdict) && {
        let counted = known.sizes.first().and_then(|size| statistics::mean(&size.counted()));
        let both = steady.evidence.refused_at.zip(counted);
        both.is_some_and(|(slight, heavy)| !discipline::is_same_bound(slight, heavy))
    };
    if !contradicted {
        return steady.judgement;
    }
    let confidence = steady.judgement.confidence.min(CONTRADICTED);
    Judgement { verdict: Discipline::CannotTell, confidence }
}

fn is_bounded(discipline: Discipline) -> bool {
    matches!(discipline, Discipline::DropTail | Discipline::FairDropTail)
}

fn counted_unit(known: &Direct, managed: bool) -> Option<Judgement<Unit>> {
    let [first, second, ..] = &known.sizes[..] else { return None };
    let nothing = Judgement { verdict: Unit::CannotTell, confidence: 0.0 };
    // There is no limit after all, so it has no unit.
    let contradicted = known.steady.is_some_and(|steady| is_bounded(steady.judgement.verdict))
        && verdict(known).verdict == Discipline::CannotTell;
    if managed || contradicted {
        return Some(nothing);
    }
    let of = |size: &Sized| size.counted();
    let judgement = limit_unit(
        Capacities { packet_bytes: first.packet_bytes, packets: &of(first) },
        Capacities { packet_bytes: second.packet_bytes, packets: &of(second) },
    );
    Some(judgement.unwrap_or(nothing))
}

fn driver_queue(known: &Direct) -> Option<Estimate> {
    let steady = known.steady.as_ref()?;
    let fair = matches!(steady.judgement.verdict, Discipline::FairDropTail | Discipline::FqCoDel);
    let mean = discipline::driver_queue_packets(&steady.evidence, steady.rate_pps);
    fair.then_some(Estimate { mean, half_width: None, values: 1 })
}

fn size_report(size: &Sized, search: Search, managed: bool) -> SizeReport {
    let all = |of: &dyn Fn(&Session) -> f64| {
        statistics::estimate(
            &size.sessions.iter().map(|(session, _)| of(session)).collect::<Vec<_>>(),
        )
    };
    let bytes = f64::from(size.packet_bytes);
    let counted = size.counted();
    let counted_bytes: Vec<_> = counted.iter().map(|packets| packets * bytes).collect();
    // A queue with controlled delay has no limit to report.
    let bounded = |estimate: Option<Estimate>| estimate.filter(|_| !managed);
    SizeReport {
        packet_bytes: size.packet_bytes,
        search: load_points(&size.loads),
        saturation_pps: match search {
            Search::Found(rate) => Some(rate),
            Search::Try(_) | Search::Never => None,
        },
        sessions: size.sessions.iter().map(|(session, _)| session.report).collect(),
        capacity_packets: bounded(statistics::estimate(&counted)),
        capacity_bytes: bounded(statistics::estimate(&counted_bytes)),
        equation_1_packets: bounded(all(&|session| session.report.equation_1_packets)),
        throughput_bps: all(&|session| session.report.throughput_bps),
        queueing_delay_ns: all(&|session| session.report.queueing_delay_ns),
    }
}

/// The rates that were tried. Clocks drift during a search, so a line through the
/// shortest delay of each rate is subtracted first.
fn load_points(loads: &[Load]) -> Vec<LoadPoint> {
    let shortest: Vec<_> = loads.iter().filter_map(|load| load.shortest).collect();
    let drift = statistics::slope(&shortest);
    let without = |(at, delay): (f64, f64)| delay - drift * at;
    let mut least = f64::INFINITY;
    let point = |load: &Load| {
        least = load.shortest.map_or(least, without).min(least);
        let queueing = load.median.map_or(0.0, |median| without(median) - least);
        LoadPoint {
            offered_pps: load.offered_pps,
            received_pps: load.received_pps,
            loss: load.loss,
            queueing_delay: Duration::from_secs_f64(queueing.max(0.0)),
        }
    };
    loads.iter().map(point).collect()
}

fn doubts(known: &Direct, config: &SurveyConfig, never: bool, done: bool) -> Vec<Doubt> {
    let managed = known.is_managed();
    let bursts: Vec<&Symptoms> = known
        .sizes
        .iter()
        .flat_map(|size| size.sessions.iter().filter_map(|(_, symptoms)| symptoms.as_ref()))
        .collect();
    let steady = known.steady.as_ref().and_then(|steady| steady.symptoms.as_ref());
    // The median of the sessions; a steady overload counts as one more.
    let typical = |of: &dyn Fn(&Symptoms) -> Option<f64>| {
        statistics::median(bursts.iter().copied().chain(steady).filter_map(of))
    };
    let mut doubts = Vec::new();
    if never {
        doubts.push(Doubt::NeverSaturated);
    }
    let behind = known.sizes.iter().flat_map(|size| &size.loads).any(|load| load.behind);
    let sender = typical(&|s| Some(s.sender)).unwrap_or(1.0);
    if sender < symptoms::SENDER || (never && behind) {
        doubts.push(Doubt::SenderIsBottleneck(if sender < symptoms::SENDER {
            sender
        } else {
            managed_share(known)
        }));
    }
    doubts.extend(
        typical(&|s| s.unsteady)
            .filter(|&share| share > symptoms::UNSTEADY)
            .map(Doubt::ThroughputUnsteady),
    );
    if !managed {
        let half =
            |of: &Vec<&Symptoms>| of.iter().filter(|s| s.peaks.is_some()).count() * 2 > of.len();
        let peaks = statistics::median(bursts.iter().filter_map(|s| s.peaks));
        doubts.extend(peaks.filter(|_| half(&bursts)).map(Doubt::DelayMultimodal));
    }
    let above = |share: Option<f64>, least: f64| share.filter(|&share| share > least);
    let varying = above(typical(&|s| s.others), symptoms::OTHERS).filter(|_| !managed);
    let between = above(typical(&|s| s.between), symptoms::BETWEEN);
    let by_length = above(others_by_length(known), symptoms::OTHERS_BY_LENGTH);
    let others = [varying, between, by_length].into_iter().flatten().reduce(f64::max);
    doubts.extend(others.map(Doubt::OtherTraffic));
    let spread = typical(&|s| Some(s.baseline)).unwrap_or(0.0);
    let relative = typical(&|s| Some(s.baseline_relative)).unwrap_or(0.0);
    if spread > symptoms::BASELINE_S && relative > symptoms::BASELINE {
        doubts.push(Doubt::BaselineUnsteady(spread * 1e9));
    }
    let evenness = typical(&|s| s.evenness);
    let limit = if is_inverse(known) { symptoms::TOO_EVEN_BY_LENGTH } else { symptoms::TOO_EVEN };
    doubts.extend(evenness.filter(|&even| even < limit).map(Doubt::BottleneckNotWifi));
    if let (Method::Fast(fast), false, false, true) = (&config.method, never, managed, done) {
        let loose = |size: &&Sized| !fast::is_tight(size, fast.precision);
        let width = |size: &Sized| {
            let full = size.sessions.iter().any(|(session, _)| session.refused);
            let estimate = statistics::estimate(&size.counted()).filter(|_| full);
            estimate.and_then(|e| Some(e.half_width? / e.mean)).unwrap_or(1.0)
        };
        let widest = known.sizes.iter().filter(loose).map(width).reduce(f64::max);
        doubts.extend(widest.map(Doubt::Imprecise));
    }
    doubts
}

/// Share of packets of other hosts in the queue, if two packet lengths reveal it.
fn others_by_length(known: &Direct) -> Option<f64> {
    let [first, second, ..] = &known.sizes[..] else { return None };
    if known.is_managed() || counted_unit(known, false)?.verdict == Unit::Bytes {
        return None;
    }
    let of = |size: &Sized| {
        let counted = statistics::mean(&size.counted())?;
        let delays =
            size.sessions.iter().map(|(session, _)| session.report.queueing_delay_ns / 1e9);
        Some(Filled { packets: counted, delay_s: statistics::median(delays)? })
    };
    symptoms::others_by_length(of(first)?, of(second)?)
}

/// The lowest share of its rate that a sender achieved that fell behind.
fn managed_share(known: &Direct) -> f64 {
    let behind = known.sizes.iter().flat_map(|size| &size.loads).filter(|load| load.behind);
    behind.map(|load| load.sender).fold(1.0, f64::min)
}

/// Whether rates are inversely proportional to packet lengths: there is no cost per
/// packet, as on a wire.
fn is_inverse(known: &Direct) -> bool {
    let [first, second, ..] = &known.sizes[..] else { return false };
    let (Some(a), Some(b)) = (first.capacity_pps(), second.capacity_pps()) else { return false };
    let (long, short) = (f64::from(first.packet_bytes), f64::from(second.packet_bytes));
    let bits = (a * long) / (b * short);
    bits.min(1.0 / bits) > symptoms::INVERSE
}
