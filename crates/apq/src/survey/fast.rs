//! The fast method: selects the next step from the results so far. Rates are in
//! packets per second, times in seconds. Leaves out the evaluation of records.
//!
//! 1. **The rate**: short trains of packets, each twice as fast as the last, until
//!    one is received slower than sent and is delayed; then bisection, or a better
//!    estimate if the train shows the capacity of the link, until a train is
//!    slightly too fast.
//! 2. **The discipline**: one phase of slight overload (`steady`), which also shows
//!    the length of the queue.
//! 3. **The capacity**: bursts, in which the queue is empty, filled quickly, kept full
//!    briefly, and empty again; with each packet length in turn, until the
//!    confidence interval is narrow enough or the time is used up.
//!
//! If the queue is not empty at the end of a phase, the next phase waits for it.

use super::known::{Direct, Load, Sized};
use super::steady::{sparse_pps, steady};
use super::step::{Search, SurveyStep, Volume};
use super::{FastConfig, SPARSE_PPS_MAX, SurveyConfig};
use crate::estimate::{Window, Windows, statistics};
use crate::interval_of;
use crate::plan::{PhasePlan, StreamKind, StreamPlan};
use lasthop_units::Duration;

/// Rate of the first train of the first packet length, in packets per second.
const FIRST_PPS: f64 = 100.0;

/// A train is useful up to this many times the capacity of the link.
const GOOD: f64 = 1.6;

/// Rate of the next train relative to the rate at which the last one was received.
const NEXT: f64 = 1.35;

/// Rate of the saturation flow relative to the capacity.
const SATURATING: f64 = 1.5;

/// Largest number of trains per packet length.
const TRAINS_MAX: usize = 14;

/// Duration of a train, and of the times before and after it, in seconds.
const TRAIN_S: f64 = 0.45;
const TRAIN_LEAD_S: f64 = 0.1;
const TRAIN_TAIL_S: f64 = 0.25;

/// Rate of the baseline flow during a train, in packets per second.
const TRAIN_SPARSE_PPS: f64 = 20.0;

/// Rate at which a queue is filled relative to that at which it empties. Above
/// [`FILLING_GENTLY_PPS`] the second value is used, to spare hosts.
const FILLING: (f64, f64) = (2.5, 1.6);
const FILLING_GENTLY_PPS: f64 = 2_000.0;

/// Packets sent to fill the queue relative to its estimated length.
const FILL_MORE: f64 = 1.2;

/// Packets that leave the queue while it is kept full, and bounds of that time in
/// seconds.
const PLATEAU_PACKETS: f64 = 400.0;
const PLATEAU_S: (f64, f64) = (0.4, 2.0);

/// Packets of the baseline flow before and after, and bounds of these times in
/// seconds.
const EMPTY_PACKETS: f64 = 16.0;
const EMPTY_S: (f64, f64) = (0.35, 0.8);

/// Smallest and largest number of bursts per packet length.
const BURSTS: (u32, u32) = (3, 12);

/// Number of bursts for a queue with controlled delay: they measure its throughput.
const BURSTS_MANAGED: u32 = 2;

/// Half width of a confidence interval in packets that is always sufficient.
const ENOUGH_PACKETS: f64 = 1.0;

/// Time needed by hosts for each phase in addition to its plan, in seconds.
const PAUSE_S: f64 = 0.5;

/// Share of the allowed time that the plan uses.
const TIME_SHARE: f64 = 0.97;

/// The state of the search for the saturation rate.
pub(super) fn search(loads: &[Load], first_pps: f64, rate_max_pps: f64) -> Search {
    let slow = loads.iter().filter(|load| !load.saturated).map(|load| load.offered_pps);
    let low = slow.fold(0.0, f64::max);
    let fast = loads.iter().filter(|load| load.saturated);
    let Some(high) = fast.min_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps)) else {
        // A sender that cannot keep up is not asked for higher rates.
        let exhausted = low >= rate_max_pps * 0.999 || loads.iter().any(|load| load.behind);
        if exhausted || loads.len() >= TRAINS_MAX {
            return Search::Never;
        }
        let next = if loads.is_empty() { first_pps } else { 2.0 * low };
        return Search::Try(next.min(rate_max_pps));
    };
    let saturating = (SATURATING * high.received_pps).min(rate_max_pps);
    if high.offered_pps <= GOOD * high.received_pps || loads.len() >= TRAINS_MAX {
        return Search::Found(saturating);
    }
    let next = NEXT * high.received_pps;
    // A train was received that fast without being too fast: take the geometric
    // mean.
    let next = if next > low * 1.05 { next } else { libm::sqrt(low * high.offered_pps) };
    if next >= high.offered_pps * 0.97 { Search::Found(saturating) } else { Search::Try(next) }
}

/// The search with the packet length of that index, which starts where the previous
/// one ended.
pub(super) fn search_of(known: &Direct, index: usize, rate_max_pps: f64) -> Search {
    let before = known.sizes[..index].iter().rev().find_map(Sized::capacity_pps);
    let first = before.map_or(FIRST_PPS, |rate| rate * SATURATING);
    search(&known.sizes[index].loads, first.min(rate_max_pps), rate_max_pps)
}

/// The next step in one direction; `None` once it is done.
pub(super) fn next(config: &SurveyConfig, fast: &FastConfig, known: &Direct) -> Option<SurveyStep> {
    let rate_max = config.rate_max_pps;
    let used = known.measured.as_secs_f64() + PAUSE_S * f64::from(known.phases);
    let left = fast.duration_max.as_secs_f64() * TIME_SHARE - used - PAUSE_S;
    let fits = |step: &SurveyStep| step.plan().duration().as_secs_f64() <= left;
    for (index, size) in known.sizes.iter().enumerate() {
        match search_of(known, index, rate_max) {
            Search::Try(rate) => return Some(train(index, size, rate, known.settle)).filter(fits),
            Search::Never => continue,
            Search::Found(_) => {}
        }
        if index == 0 && known.wants_steady() {
            let rate = size.capacity_pps()?;
            let (bytes, tries) = (size.packet_bytes, known.steady_tries);
            let step = steady(0, bytes, rate, rate_max, tries, known.settle);
            if fits(&step) {
                return Some(step);
            }
        }
    }
    let wanting = |&index: &usize| {
        known.sizes[index].capacity_pps().is_some() && !is_done(known, index, fast.precision)
    };
    // In turn, so that changes over time affect all lengths equally.
    let index = (0..known.sizes.len()).filter(wanting).min_by_key(|&i| known.sizes[i].attempts)?;
    Some(burst(known, index, rate_max)?).filter(fits)
}

/// Whether the packet length of that index needs no further burst.
fn is_done(known: &Direct, index: usize, precision: f64) -> bool {
    let size = &known.sizes[index];
    if known.is_managed() {
        return size.attempts >= BURSTS_MANAGED;
    }
    size.attempts >= BURSTS.1 || (size.attempts >= BURSTS.0 && is_tight(size, precision))
}

/// Whether the confidence interval of the capacity is as narrow as requested.
pub(super) fn is_tight(size: &Sized, precision: f64) -> bool {
    let counted = size.counted();
    let tight = |estimate: crate::report::Estimate| {
        estimate
            .half_width
            .is_some_and(|width| width <= ENOUGH_PACKETS.max(precision * estimate.mean))
    };
    counted.len() >= BURSTS.0 as usize && statistics::estimate(&counted).is_some_and(tight)
}

/// The step of a short train.
fn train(size: usize, of: &Sized, rate_pps: f64, settle: f64) -> SurveyStep {
    let begin = settle + TRAIN_LEAD_S;
    let window = Window::new(begin, begin + TRAIN_S);
    let at = Duration::from_secs_f64;
    let sparse = StreamPlan {
        kind: StreamKind::Sparse,
        packet_bytes: of.packet_bytes,
        interval: interval_of(TRAIN_SPARSE_PPS),
        begin: Duration::ZERO,
        end: at(window.end + TRAIN_TAIL_S),
    };
    let bulk = StreamPlan {
        kind: StreamKind::Bulk,
        interval: interval_of(rate_pps),
        begin: at(window.begin),
        end: at(window.end),
        ..sparse
    };
    SurveyStep::Train { size, rate_pps, plan: PhasePlan { streams: [sparse, bulk].into() } }
}

/// The step of a burst; `None` if no allowed rate fills the queue.
fn burst(known: &Direct, index: usize, rate_max_pps: f64) -> Option<SurveyStep> {
    let of = &known.sizes[index];
    let rate = of.capacity_pps()?;
    let queue = known.queue_packets(index);
    let sparse_pps = sparse_pps(rate);
    let factor = if rate > FILLING_GENTLY_PPS { FILLING.1 } else { FILLING.0 };
    let filling_pps = (factor * rate).min(rate_max_pps);
    let plateau_pps = (SATURATING * rate).min(rate_max_pps);
    if plateau_pps + sparse_pps <= rate {
        return None;
    }
    let empty = (EMPTY_PACKETS / sparse_pps).clamp(EMPTY_S.0, EMPTY_S.1);
    let fill = FILL_MORE * queue / (filling_pps + sparse_pps - rate);
    let plateau = (PLATEAU_PACKETS / rate).clamp(PLATEAU_S.0, PLATEAU_S.1);
    let drain = FILL_MORE * queue / rate + 0.1;
    let filling = Window::new(known.settle + empty, known.settle + empty + fill);
    let full = Window::new(filling.end, filling.end + plateau);
    let after = Window::new(full.end + drain, full.end + drain + empty);
    let at = Duration::from_secs_f64;
    let sparse = StreamPlan {
        kind: StreamKind::Sparse,
        packet_bytes: of.packet_bytes,
        interval: interval_of(sparse_pps),
        begin: Duration::ZERO,
        end: at(after.end),
    };
    let bulk = |pps: f64, window: Window| StreamPlan {
        kind: StreamKind::Bulk,
        interval: interval_of(pps),
        begin: at(window.begin),
        end: at(window.end),
        ..sparse
    };
    Some(SurveyStep::Session {
        size: index,
        windows: Windows { before: Window::new(known.settle, filling.begin), full, after },
        plan: PhasePlan {
            streams: [sparse, bulk(filling_pps, filling), bulk(plateau_pps, full)].into(),
        },
    })
}

/// Upper bounds of the traffic in one direction.
pub(super) fn volume_max(config: &SurveyConfig, fast: &FastConfig) -> Volume {
    let longest = config.packet_bytes.iter().copied().max().unwrap_or(0);
    let seconds = fast.duration_max.as_secs_f64();
    let mut volume = Volume::default();
    volume.add((config.rate_max_pps + SPARSE_PPS_MAX) * seconds, longest, seconds);
    volume
}
