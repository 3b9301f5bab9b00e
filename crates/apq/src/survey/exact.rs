//! The paper's algorithms 1 and 2, exactly: selects the next step from the results
//! so far. Rates are in packets per second, times in seconds unless they are
//! durations. Leaves out the evaluation of records.

use super::known::{Direct, Load, STEADY_TRIES, Sized};
use super::steady::{longest_s, steady};
use super::step::{Search, SurveyStep, Volume};
use super::{ExactConfig, SPARSE_PPS_MAX, SurveyConfig};
use crate::estimate::{Window, Windows};
use crate::interval_of;
use crate::plan::{PhasePlan, StreamKind, StreamPlan};
use lasthop_units::Duration;

/// A rate is too high if it loses at least this share (algorithm 1, line 8).
const LOSS_MIN: f64 = 0.2;

/// Number of consecutive rates that must be too high (algorithm 1, line 8).
const LOSSY_RATES: usize = 3;

/// Rate of the baseline flow in packets per second (section II).
const BASELINE_PPS: f64 = 10.0;

/// Offset of the baseline flow's first packet, as a share of its interval: not a
/// simple fraction.
const BASELINE_OFFSET: f64 = 0.317;

/// Algorithm 2, in seconds: start and end of the saturation flow, and end of the
/// baseline flow.
const BULK_S: Window = Window::new(30.0, 90.0);
const SESSION_S: f64 = 120.0;

/// Algorithm 2, lines 5 to 7: the windows for medians and throughput, in seconds.
const WINDOWS_S: Windows = Windows {
    before: Window::new(5.0, 25.0),
    full: Window::new(40.0, 80.0),
    after: Window::new(95.0, 115.0),
};

/// The state of algorithm 1 after `loads`.
pub(super) fn search(loads: &[Load], exact: &ExactConfig, rate_max_pps: f64) -> Search {
    if let Some(rate) = exact.saturation_pps {
        return Search::Found(rate);
    }
    if let Some(last) = loads.last_chunk::<LOSSY_RATES>()
        && last.iter().all(|load| load.loss >= LOSS_MIN)
    {
        return Search::Found(last[LOSSY_RATES / 2].offered_pps);
    }
    let rate = exact.step_pps * (loads.len() + 1) as f64;
    if rate > rate_max_pps { Search::Never } else { Search::Try(rate) }
}

/// The next step in one direction; `None` once it is done.
pub(super) fn next(
    config: &SurveyConfig,
    exact: &ExactConfig,
    known: &Direct,
) -> Option<SurveyStep> {
    for (index, size) in known.sizes.iter().enumerate() {
        match search(&size.loads, exact, config.rate_max_pps) {
            Search::Try(rate) => return Some(load(index, size, rate, exact.dwell)),
            Search::Found(rate) if size.attempts < exact.sessions => {
                return Some(session(index, size, rate, exact.time_scale));
            }
            Search::Found(_) | Search::Never => {}
        }
    }
    if !config.discipline || !known.wants_steady() {
        return None;
    }
    let size = known.sizes.first()?;
    let (rate, tries) = (size.capacity_pps()?, known.steady_tries);
    Some(steady(0, size.packet_bytes, rate, config.rate_max_pps, tries, known.settle))
}

/// A step of algorithm 1, line 5.
fn load(size: usize, of: &Sized, rate_pps: f64, dwell: Duration) -> SurveyStep {
    let stream = StreamPlan {
        kind: StreamKind::Bulk,
        packet_bytes: of.packet_bytes,
        interval: interval_of(rate_pps),
        begin: Duration::ZERO,
        end: dwell,
    };
    SurveyStep::Load {
        size,
        rate_pps,
        window: Window::new(0.0, dwell.as_secs_f64()),
        plan: PhasePlan { streams: [stream].into() },
    }
}

/// A session of algorithm 2.
fn session(size: usize, of: &Sized, rate_pps: f64, scale: f64) -> SurveyStep {
    let at = |seconds: f64| Duration::from_secs_f64(seconds * scale);
    let scaled = |window: Window| Window::new(window.begin * scale, window.end * scale);
    let baseline = StreamPlan {
        kind: StreamKind::Sparse,
        packet_bytes: of.packet_bytes,
        interval: interval_of(BASELINE_PPS),
        // Of two packets that arrive at a full queue at the same instant, always the
        // same one is refused, and most rates are multiples of the baseline flow's.
        begin: interval_of(BASELINE_PPS).mul_f64(BASELINE_OFFSET),
        end: at(SESSION_S),
    };
    let bulk = StreamPlan {
        kind: StreamKind::Bulk,
        interval: interval_of(rate_pps),
        begin: at(BULK_S.begin),
        end: at(BULK_S.end),
        ..baseline
    };
    SurveyStep::Session {
        size,
        windows: Windows {
            before: scaled(WINDOWS_S.before),
            full: scaled(WINDOWS_S.full),
            after: scaled(WINDOWS_S.after),
        },
        plan: PhasePlan { streams: [baseline, bulk].into() },
    }
}

/// Upper bounds of the traffic in one direction.
pub(super) fn volume_max(config: &SurveyConfig, exact: &ExactConfig) -> Volume {
    let mut volume = Volume::default();
    for &packet_bytes in &config.packet_bytes {
        let size = Sized::new(packet_bytes);
        let steps = libm::floor(config.rate_max_pps / exact.step_pps).max(0.0);
        let fastest = exact.saturation_pps.unwrap_or(steps * exact.step_pps);
        if exact.saturation_pps.is_none() {
            let dwell = exact.dwell.as_secs_f64();
            let packets = exact.step_pps * dwell * steps * (steps + 1.0) / 2.0;
            // A stream has up to one packet more than its rate times its duration.
            volume.add(packets + steps, packet_bytes, dwell * steps);
        }
        if fastest > 0.0 {
            let plan = session(0, &size, fastest, exact.time_scale).plan().clone();
            volume.add_plan(&plan, exact.sessions);
        }
    }
    if let (true, Some(&packet_bytes)) = (config.discipline, config.packet_bytes.first()) {
        let seconds = f64::from(STEADY_TRIES) * longest_s();
        volume.add((config.rate_max_pps + SPARSE_PPS_MAX) * seconds, packet_bytes, seconds);
    }
    volume
}
