//! The main cause of a drawn scenario, computed: each cause is removed in turn, and the one without
//! which delays or throughput improve most is the truth, if it stands out. The rules below were
//! written before any finding was looked at; the length of a line became no cause later.

use crate::draw::{Cause, Draw, Measure};
use crate::run;
use lasthop_trace::{FlowKind, FlowSummary, RunDocument};
use serde::{Deserialize, Serialize};

/// Least share of the delays that goes away without the cause.
const DELAY_SHARE: f64 = 0.4;
/// Least time in ms that goes away without it.
const DELAY_MS: f64 = 30.0;
/// Least goodput that is gained without it, relative to that with it.
const GOODPUT_GAIN: f64 = 0.25;
/// Improvement by the main cause relative to that by any other cause.
const DOMINANCE: f64 = 1.5;
/// Greatest 99th percentile of a flow in ms with which nothing is wrong, beside the round
/// trip over the wires.
const HEALTHY_MS: f64 = 60.0;

/// A drawn scenario whose trouble has one main cause, or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// The number of the draw.
    pub number: u64,
    /// The word of its cause, or `healthy`.
    pub cause: String,
    /// Measured value with all causes: the sum of delays in ms, or goodput in Mb/s.
    pub before: f64,
    /// The same without each cause.
    pub without: Vec<(String, f64)>,
}

/// The truth about a draw; `None` if no cause stands out.
pub fn truth(draw: &Draw) -> Option<Truth> {
    let number = draw.number;
    let before = run(&draw.text(None));
    if draw.causes.is_empty() {
        let worst = before.flows.values().filter_map(delay).fold(0.0, f64::max);
        let is_healthy = worst <= HEALTHY_MS;
        return is_healthy.then(|| Truth {
            number,
            cause: "healthy".to_owned(),
            before: worst,
            without: Vec::new(),
        });
    }
    let measured = measure(draw, &before);
    let without: Vec<(Cause, f64)> = (draw.causes.iter())
        .map(|&cause| (cause, measure(draw, &run(&draw.text(Some(cause))))))
        .collect();
    let better = |value: f64| match draw.measure {
        Measure::Delay => measured - value,
        Measure::Goodput => value - measured,
    };
    let mut order: Vec<(Cause, f64)> =
        without.iter().map(|&(cause, value)| (cause, better(value))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (cause, most) = *order.first()?;
    let enough = match draw.measure {
        Measure::Delay => most >= DELAY_MS && most >= DELAY_SHARE * measured,
        Measure::Goodput => most >= GOODPUT_GAIN * measured,
    };
    let stands_out = order.get(1).is_none_or(|(_, next)| most >= DOMINANCE * next);
    let without = without.into_iter().map(|(cause, value)| (cause.to_owned(), rounded(value)));
    // The length of a line is no fault; what else is in such a draw is not judged.
    let is_length = cause == "wire" && draw.has_long_line();
    let cause = if is_length { "healthy" } else { cause };
    (enough && stands_out && !(is_length && draw.causes.len() > 1)).then(|| Truth {
        number,
        cause: cause.to_owned(),
        before: rounded(measured),
        without: without.collect(),
    })
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn measure(draw: &Draw, run: &RunDocument) -> f64 {
    match draw.measure {
        Measure::Delay => run.flows.values().filter_map(delay).sum(),
        Measure::Goodput => {
            let bulk = run.flows.iter().filter(|(name, _)| name.starts_with("bulk"));
            bulk.filter_map(|(_, flow)| flow.goodput_mbps).sum()
        }
    }
}

/// The 99th percentile that a flow is felt by; none of a bulk transfer.
fn delay(flow: &FlowSummary) -> Option<f64> {
    match flow.kind {
        FlowKind::Ping => flow.rtt_ms.map(|it| it.p99),
        FlowKind::Udp | FlowKind::Video | FlowKind::Call => flow.one_way_delay_ms.map(|it| it.p99),
        FlowKind::Tcp => flow.application_delay_ms.map(|it| it.p99),
        FlowKind::Apq => None,
    }
}
