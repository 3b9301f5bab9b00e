//! Several runs of one scenario as one JSON document, with the mean of each value and
//! its 95 % confidence interval from Student's distribution. The interval is valid for
//! independent runs. The packets of one run are not independent, so a single run has no
//! interval. The doc comments of types are the descriptions in the JSON Schema.

use crate::document::{FlowSummary, RunDocument};
use crate::value::{kept_schema, rounded, to_json};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Several runs of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSet {
    /// Estimates over all runs, by flow.
    pub summary: BTreeMap<String, FlowEstimates>,
    /// Documents of the runs, in order of their number.
    pub runs: Vec<RunDocument>,
}

/// A flow over several runs; a key is absent if no run has that value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowEstimates {
    /// Goodput in Mb/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub goodput_mbps: Option<Estimate>,
    /// Mean round-trip time in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_mean_ms: Option<Estimate>,
    /// 95th percentile of the round-trip time in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_p95_ms: Option<Estimate>,
    /// Mean one-way delay in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way_delay_mean_ms: Option<Estimate>,
    /// 95th percentile of the one-way delay in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way_delay_p95_ms: Option<Estimate>,
    /// Share of the packets sent that were lost, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_fraction: Option<Estimate>,
}

/// Statistics of one value over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Mean of the runs' values.
    pub mean: f64,
    /// Half-width of the mean's 95 % confidence interval; absent for a single run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ci95: Option<f64>,
    /// Least value of a run.
    pub min: f64,
    /// Greatest value of a run.
    pub max: f64,
    /// Number of runs that have the value.
    pub runs: u32,
}

impl RunSet {
    /// Makes the set of `runs`, sorted by number, with the estimates of each flow.
    pub fn new(mut runs: Vec<RunDocument>) -> Self {
        runs.sort_by_key(|run| run.run);
        let names = runs.iter().flat_map(|run| run.flows.keys().cloned());
        let summary = names
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .map(|name| {
                let estimates =
                    FlowEstimates::new(runs.iter().filter_map(|run| run.flows.get(&name)));
                (name, estimates)
            })
            .collect();
        Self { summary, runs }
    }

    /// Returns the document as indented JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Returns the JSON Schema (2020-12) of a [`RunSet`].
pub fn run_set_schema() -> serde_json::Value {
    kept_schema(include_str!("../schemas/run-set.json"))
}

impl FlowEstimates {
    fn new<'a>(flows: impl Iterator<Item = &'a FlowSummary> + Clone) -> Self {
        let estimate = |value: fn(&FlowSummary) -> Option<f64>| {
            Estimate::from_values(&flows.clone().filter_map(value).collect::<Vec<_>>())
        };
        Self {
            goodput_mbps: estimate(|flow| flow.goodput_mbps),
            rtt_mean_ms: estimate(|flow| Some(flow.rtt_ms?.mean)),
            rtt_p95_ms: estimate(|flow| Some(flow.rtt_ms?.p95)),
            one_way_delay_mean_ms: estimate(|flow| Some(flow.one_way_delay_ms?.mean)),
            one_way_delay_p95_ms: estimate(|flow| Some(flow.one_way_delay_ms?.p95)),
            loss_fraction: estimate(|flow| {
                (flow.packets_sent > 0).then(|| flow.packets_lost as f64 / flow.packets_sent as f64)
            }),
        }
    }
}

impl Estimate {
    /// Estimates from one value of each independent run; `None` without values.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let ci95 = (values.len() > 1).then(|| {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let deviation = (squares / (n - 1.0)).sqrt();
            rounded(student_t_97_5(values.len() - 1) * deviation / n.sqrt(), 6)
        });
        Some(Self {
            mean: rounded(mean, 6),
            ci95,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            runs: values.len() as u32,
        })
    }
}

/// The 97.5 % points of Student's distribution with 1 to 30 degrees of freedom.
const STUDENT_T_97_5: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The 97.5 % point of Student's distribution. Above 30 degrees of freedom it is the
/// point of the normal distribution and the first term of the expansion in 1/degrees,
/// which is correct to three decimal places there.
fn student_t_97_5(degrees: usize) -> f64 {
    const NORMAL: f64 = 1.959_964;
    STUDENT_T_97_5
        .get(degrees - 1)
        .copied()
        .unwrap_or_else(|| NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * degrees as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_a_textbook() {
        // Ten values with mean 10 and deviation 2: 10 +- 2.262 * 2 / sqrt(10).
        let spread = (4.0f64 * 9.0 / 10.0).sqrt();
        let values: Vec<f64> =
            (0..10).map(|i| if i % 2 == 0 { 10.0 + spread } else { 10.0 - spread }).collect();
        let estimate = Estimate::from_values(&values).expect("ten values");
        assert!((estimate.mean - 10.0).abs() < 1e-9);
        assert!((estimate.ci95.expect("more than one") - 2.262 * 2.0 / 10f64.sqrt()).abs() < 1e-4);
    }

    #[test]
    fn one_run_is_not_sure_of_anything() {
        let estimate = Estimate::from_values(&[3.0]).expect("one value");
        assert_eq!((estimate.mean, estimate.ci95, estimate.runs), (3.0, None, 1));
        assert_eq!(Estimate::from_values(&[]), None);
    }

    #[test]
    fn beyond_the_table_it_goes_on() {
        // Tables give 2.021 for 40, 2.000 for 60 and 1.980 for 120 degrees of freedom.
        for (degrees, point) in [(40, 2.021), (60, 2.000), (120, 1.980)] {
            assert!((student_t_97_5(degrees) - point).abs() < 2e-3, "{degrees}");
        }
    }
}
