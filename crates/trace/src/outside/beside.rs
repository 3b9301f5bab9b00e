//! A measurement beside simulated runs, in one window of time: throughput as its sender counts it,
//! quantiles of round trips, and their distributions. The doc comments of types are the descriptions
//! in the JSON Schema.

use super::measurement::{Measurement, MeasurementKind};
use crate::value::{kept_schema, rounded, to_json};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Decimal places of values.
const DECIMALS: i32 = 6;
/// Shares of a distribution.
const SHARES: [f64; 11] = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0];

/// A measurement by another program beside runs of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredComparison {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the runs' random numbers.
    pub seed: u64,
    /// Number of simulated runs.
    pub runs: u32,
    /// File of the measurement.
    pub file: String,
    /// Program that measured: `flent`, `iperf3`, `irtt` or `capture`.
    pub program: String,
    /// Name of the test; empty if the program has none.
    pub test: String,
    /// Second of the scenario at which the measurement begins.
    pub begin_s: f64,
    /// First second of the compared window, in the scenario's time.
    pub from_s: f64,
    /// Last second of the compared window.
    pub to_s: f64,
    /// Peculiarities of the file.
    pub notes: Vec<String>,
    /// Quantities by name, in the window: `throughput_mbps` is the sum over flows of each one's
    /// mean over time; `rtt_p50_ms` to `rtt_p99_ms` are means over pings of each one's quantile,
    /// `rtt_max_ms` is the greatest value; those with `tcp_` are estimates of TCP senders.
    pub quantities: BTreeMap<String, MeasuredQuantity>,
    /// Distributions of round trips by name, `rtt_ms` and `tcp_rtt_ms`.
    pub distributions: BTreeMap<String, MeasuredDistribution>,
    /// Flows of both sides.
    pub flows: MeasuredFlows,
}

/// Means of each flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredFlows {
    /// Mean throughputs of measured flows in Mb/s, by name.
    pub measured_mbps: BTreeMap<String, f64>,
    /// Mean throughputs of simulated flows in Mb/s, by name; means over runs.
    pub simulated_mbps: BTreeMap<String, f64>,
}

/// A quantity of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredQuantity {
    /// Measured value; absent if the file lacks it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measured: Option<f64>,
    /// Mean over simulated runs; absent if they lack it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated: Option<MeasuredSide>,
    /// Simulated divided by measured value; absent without one of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<f64>,
}

/// A value of simulated runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredSide {
    /// Mean over runs.
    pub mean: f64,
    /// Least value of a run.
    pub least: f64,
    /// Greatest value of a run.
    pub most: f64,
}

/// The distribution of a quantity on both sides: values at shares of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredDistribution {
    /// Shares from 0 to 1.
    pub shares: Vec<f64>,
    /// Measured values at these shares; empty if the file lacks them.
    pub measured: Vec<f64>,
    /// Simulated values at these shares, means over runs; empty if they lack them.
    pub simulated: Vec<f64>,
}

/// Quantities by name.
const QUANTITIES: [(&str, Quantity); 9] = [
    ("throughput_mbps", Quantity::Throughput),
    ("rtt_p50_ms", Quantity::Quantile(MeasurementKind::RoundTrip, 0.5)),
    ("rtt_p95_ms", Quantity::Quantile(MeasurementKind::RoundTrip, 0.95)),
    ("rtt_p99_ms", Quantity::Quantile(MeasurementKind::RoundTrip, 0.99)),
    ("rtt_max_ms", Quantity::Max(MeasurementKind::RoundTrip)),
    ("tcp_rtt_p50_ms", Quantity::Quantile(MeasurementKind::TcpRoundTrip, 0.5)),
    ("tcp_rtt_p95_ms", Quantity::Quantile(MeasurementKind::TcpRoundTrip, 0.95)),
    ("tcp_rtt_p99_ms", Quantity::Quantile(MeasurementKind::TcpRoundTrip, 0.99)),
    ("tcp_rtt_max_ms", Quantity::Max(MeasurementKind::TcpRoundTrip)),
];

/// A quantity of a measurement.
#[derive(Clone, Copy, Debug)]
enum Quantity {
    Throughput,
    Quantile(MeasurementKind, f64),
    Max(MeasurementKind),
}

impl Quantity {
    fn value(self, measurement: &Measurement, window: [f64; 2]) -> Option<f64> {
        match self {
            Self::Throughput => measurement.throughput_mbps(window),
            Self::Quantile(kind, share) => measurement.quantile(kind, window, share),
            Self::Max(kind) => measurement.max(kind, window),
        }
    }
}

impl MeasuredQuantity {
    fn new(measured: Option<f64>, runs: &[f64]) -> Self {
        let places = |value| rounded(value, DECIMALS);
        let simulated = (!runs.is_empty()).then(|| MeasuredSide {
            mean: places(mean(runs)),
            least: places(runs.iter().copied().fold(f64::INFINITY, f64::min)),
            most: places(runs.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        });
        let of = measured.filter(|value| *value != 0.0);
        let ratio = of.zip(simulated).map(|(of, side)| rounded(side.mean / of, 4));
        Self { measured: measured.map(places), simulated, ratio: ratio.filter(|it| it.is_finite()) }
    }
}

impl MeasuredComparison {
    /// Compares a measurement with runs between two seconds of the scenario. `begin_s` is the second
    /// of the scenario at which the measurement, already in the scenario's time, began.
    pub fn new(
        scenario: &str,
        seed: u64,
        file: &str,
        measured: &Measurement,
        runs: &[Measurement],
        begin_s: f64,
        window: [f64; 2],
    ) -> Self {
        let mut quantities = BTreeMap::new();
        for (name, quantity) in QUANTITIES {
            let value = quantity.value(measured, window);
            let simulated: Vec<f64> =
                runs.iter().filter_map(|run| quantity.value(run, window)).collect();
            if value.is_some() || !simulated.is_empty() {
                quantities.insert(name.to_owned(), MeasuredQuantity::new(value, &simulated));
            }
        }
        let mut distributions = BTreeMap::new();
        for (name, kind) in
            [("rtt_ms", MeasurementKind::RoundTrip), ("tcp_rtt_ms", MeasurementKind::TcpRoundTrip)]
        {
            let distribution = MeasuredDistribution::new(kind, measured, runs, window);
            if !distribution.measured.is_empty() || !distribution.simulated.is_empty() {
                distributions.insert(name.to_owned(), distribution);
            }
        }
        Self {
            scenario: scenario.to_owned(),
            seed,
            runs: runs.len() as u32,
            file: file.to_owned(),
            program: measured.program.clone(),
            test: measured.test.clone(),
            begin_s,
            from_s: window[0],
            to_s: window[1],
            notes: measured.notes.clone(),
            quantities,
            distributions,
            flows: MeasuredFlows {
                measured_mbps: flows(std::slice::from_ref(measured), window),
                simulated_mbps: flows(runs, window),
            },
        }
    }

    /// Returns the document as indented JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

impl MeasuredDistribution {
    fn new(
        kind: MeasurementKind,
        measured: &Measurement,
        runs: &[Measurement],
        window: [f64; 2],
    ) -> Self {
        let at = |measurement: &Measurement, share| measurement.quantile(kind, window, share);
        let of_runs = |share| {
            let each: Vec<f64> = runs.iter().filter_map(|run| at(run, share)).collect();
            (!each.is_empty()).then(|| rounded(mean(&each), DECIMALS))
        };
        let measured = SHARES.iter().filter_map(|&share| at(measured, share));
        Self {
            shares: SHARES.to_vec(),
            measured: measured.map(|value| rounded(value, DECIMALS)).collect(),
            simulated: SHARES.iter().filter_map(|&share| of_runs(share)).collect(),
        }
    }
}

/// The mean throughput of each flow over runs, by name.
fn flows(runs: &[Measurement], window: [f64; 2]) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for series in runs.iter().flat_map(|run| run.of_kind(MeasurementKind::Throughput)) {
        all.entry(series.name.clone()).or_default().extend(series.mean(window));
    }
    all.retain(|_, values| !values.is_empty());
    all.into_iter().map(|(name, values)| (name, rounded(mean(&values), DECIMALS))).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the JSON Schema (2020-12) of a [`MeasuredComparison`].
pub fn measured_comparison_schema() -> serde_json::Value {
    kept_schema(include_str!("../../schemas/measured-comparison.json"))
}
