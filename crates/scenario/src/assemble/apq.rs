//! APQ flows: the measurement, and the clocks of the two hosts.

use super::positive;
use crate::raw::{ApqMethod, FlowEnd, RawApq, RawFlow};
use lasthop_apq::survey::{ExactConfig, FastConfig, Method};
use lasthop_apq::{Direction, HostClock, SurveyConfig};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::At;
use lasthop_hosts::ApqFlow;

/// Returns a flow before its ends are known.
pub(super) fn flow(flow: &RawFlow, problems: &mut Problems) -> Box<ApqFlow> {
    let raw = &flow.apq;
    let before = problems.len();
    if let Some(stop) = &flow.stop {
        let message = "a measurement ends when it is done; leave this out";
        problems.push(&stop.place, message);
    }
    let method = match raw.method.value {
        ApqMethod::Exact => {
            only(place(&raw.duration), "fast", problems);
            only(place(&raw.precision), "fast", problems);
            Method::Exact(exact(raw, problems))
        }
        ApqMethod::Fast => {
            let exact = [
                place(&raw.sessions),
                place(&raw.dwell),
                place(&raw.step),
                place(&raw.time_scale),
                place(&raw.saturation_rate),
                place(&raw.discipline),
            ];
            for place in exact {
                only(place, "exact", problems);
            }
            Method::Fast(fast(raw, problems))
        }
    };
    let measured_by_sender = raw.measured_by.value == FlowEnd::From;
    let survey = SurveyConfig {
        directions: vec![if measured_by_sender { Direction::Up } else { Direction::Down }],
        packet_bytes: raw.packet_bytes.value.iter().map(|length| length.get()).collect(),
        method,
        discipline: raw.discipline.as_ref().is_some_and(|at| at.value),
        rate_max_pps: raw.rate_max.value.0 as f64,
    };
    if let Err(why) = survey.check()
        && before == problems.len()
    {
        problems.push(&raw.here, why.to_string());
    }
    Box::new(ApqFlow {
        survey,
        measured_by_sender,
        far_clock: HostClock {
            offset_ns: raw.clock_offset.value.as_nanos(),
            drift_ppm: raw.clock_drift.value.get(),
        },
    })
}

/// Reports packets that would be fragmented: each would be several in the queue.
pub(super) fn check_lengths(raw: &RawApq, mtu: u16, problems: &mut Problems) {
    let lengths = &raw.packet_bytes;
    let longest = lengths.value.iter().map(|length| length.0).max();
    if longest.is_some_and(|longest| longest > i64::from(mtu)) {
        let message = format!("expected at most the MTU of both ends, which is {mtu}");
        problems.push(&lengths.place, message);
    }
}

fn exact(raw: &RawApq, problems: &mut Problems) -> ExactConfig {
    let usual = ExactConfig::default();
    if let Some(dwell) = &raw.dwell {
        positive(dwell, problems);
    }
    if let Some(scale) = &raw.time_scale
        && !(scale.value.0 > 0.0 && scale.value.0 <= 1.0)
    {
        problems.push(&scale.place, "expected more than 0 and at most 1");
    }
    if let Some(rate) = &raw.saturation_rate {
        if raw.packet_bytes.value.len() > 1 {
            let message = "it belongs to one packet length; give packet_bytes one";
            problems.push(&rate.place, message);
        }
        if rate.value.0 > raw.rate_max.value.0 {
            let message = format!("expected at most the rate_max of {}", raw.rate_max.value.0);
            problems.push(&rate.place, message);
        }
        for searching in [place(&raw.dwell), place(&raw.step)].into_iter().flatten() {
            problems.push(searching, "with a saturation_rate nothing is searched for");
        }
    }
    ExactConfig {
        step_pps: raw.step.as_ref().map_or(usual.step_pps, |at| at.value.0 as f64),
        dwell: raw.dwell.as_ref().map_or(usual.dwell, |at| at.value),
        saturation_pps: raw.saturation_rate.as_ref().map(|at| at.value.0 as f64),
        sessions: raw.sessions.as_ref().map_or(usual.sessions, |at| at.value.get()),
        time_scale: raw.time_scale.as_ref().map_or(usual.time_scale, |at| at.value.0),
    }
}

fn fast(raw: &RawApq, problems: &mut Problems) -> FastConfig {
    let usual = FastConfig::default();
    if let Some(duration) = &raw.duration {
        positive(duration, problems);
    }
    if let Some(precision) = &raw.precision {
        positive(precision, problems);
    }
    FastConfig {
        duration_max: raw.duration.as_ref().map_or(usual.duration_max, |at| at.value),
        precision: raw.precision.as_ref().map_or(usual.precision, |at| at.value.as_f64()),
    }
}

fn only(place: Option<&Place>, method: &str, problems: &mut Problems) {
    if let Some(place) = place {
        problems.push_unfit(place, format!("this key is for method = {method:?} only"));
    }
}

fn place<T>(value: &Option<At<T>>) -> Option<&Place> {
    value.as_ref().map(|value| &value.place)
}
