//! A phase of constant, slight overload, from which the discipline is inferred.
//! Rates are in packets per second, times in seconds. Leaves out the evaluation
//! (`estimate::discipline`).
//!
//! The overload is slight because CoDel needs time to catch up with it: it drops `t
//! / (2 interval^2)` packets per second after `t` seconds, so with an interval of
//! 100 ms it needs v / 50 s for an overload of v packets per second, and the queue
//! needs as long again to fall. But it is no slighter than the precision of the
//! capacity.

use super::known::{SETTLE_MAX_S, STEADY_TRIES};
use super::step::SurveyStep;
use crate::estimate::{Window, Windows};
use crate::interval_of;
use crate::plan::{PhasePlan, StreamKind, StreamPlan};
use lasthop_units::Duration;

/// Overload in packets per second: CoDel catches up in 4 s.
const OVERLOAD_PPS: f64 = 200.0;

/// Bounds of the overload relative to the capacity.
const OVERLOAD: (f64, f64) = (0.05, 0.5);

/// Additional relative overload if the last one filled no queue.
const OVERLOAD_MORE: f64 = 0.12;

/// Time to catch up and let the queue fall, relative to the time to catch up.
const CATCH_UPS: f64 = 2.3;

/// Bounds of the duration of the overload in seconds.
const LENGTH_S: (f64, f64) = (7.0, 11.0);

/// Time without load before and after, in seconds.
const EMPTY_S: f64 = 0.8;

/// Additional time for the queue to become empty, in seconds.
const LATE_S: f64 = 0.3;

/// Rate of the sparse flow relative to the capacity, and its bounds in packets per
/// second.
const SPARSE: f64 = 0.08;
const SPARSE_PPS: (f64, f64) = (10.0, 50.0);

/// The rate of the sparse flow for a capacity of `rate_pps`.
pub(super) fn sparse_pps(rate_pps: f64) -> f64 {
    (rate_pps * SPARSE).clamp(SPARSE_PPS.0, SPARSE_PPS.1)
}

/// The longest duration of such a phase, in seconds.
pub(super) fn longest_s() -> f64 {
    let overload = OVERLOAD.1 + OVERLOAD_MORE * f64::from(STEADY_TRIES);
    SETTLE_MAX_S + 2.0 * EMPTY_S + LENGTH_S.1 * (1.0 + overload) + LATE_S
}

/// The step of slight overload. `rate_pps` is the capacity, `tries` the number of such phases
/// before, `settle` the time until the queue is empty, in seconds. The saturation flow is sent at
/// no more than `rate_max_pps`.
pub(super) fn steady(
    size: usize,
    packet_bytes: u16,
    rate_pps: f64,
    rate_max_pps: f64,
    tries: u32,
    settle: f64,
) -> SurveyStep {
    let sparse_pps = sparse_pps(rate_pps);
    let overload =
        (OVERLOAD_PPS / rate_pps).clamp(OVERLOAD.0, OVERLOAD.1) + OVERLOAD_MORE * f64::from(tries);
    let offered_pps = (rate_pps * (1.0 + overload)).min(rate_max_pps + sparse_pps);
    let catch_up = overload * rate_pps / 50.0;
    let length = (CATCH_UPS * catch_up).clamp(LENGTH_S.0, LENGTH_S.1);
    let begin = settle + EMPTY_S;
    let bulk = Window::new(begin, begin + length);
    // What the queue can hold at the end, and some additional time.
    let after = Window::new(bulk.end + length * overload + LATE_S, 0.0);
    let after = Window::new(after.begin, after.begin + EMPTY_S);
    let at = Duration::from_secs_f64;
    let sparse = StreamPlan {
        kind: StreamKind::Sparse,
        packet_bytes,
        interval: interval_of(sparse_pps),
        begin: Duration::ZERO,
        end: at(after.end),
    };
    let saturating = StreamPlan {
        kind: StreamKind::Bulk,
        interval: interval_of((offered_pps - sparse_pps).max(1.0)),
        begin: at(bulk.begin),
        end: at(bulk.end),
        ..sparse
    };
    SurveyStep::Steady {
        size,
        windows: Windows {
            before: Window::new(settle, bulk.begin),
            full: Window::new(bulk.begin + length / 2.0, bulk.end),
            after,
        },
        bulk,
        offered_pps,
        plan: PhasePlan { streams: [sparse, saturating].into() },
    }
}
