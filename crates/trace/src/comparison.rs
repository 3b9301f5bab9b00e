//! Compares runs of one scenario under `simulate` and under `emulate`: the TCP model
//! with the kernel's TCP over the same modelled hop. Values are means over runs; units
//! are in their names. The doc comments of types are the descriptions in the JSON
//! Schema.

use crate::document::{FlowSummary, NodeSummary, RunDocument};
use crate::run_set::Estimate;
use crate::value::{kept_schema, rounded, to_json};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A scenario in virtual and in real time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the runs' random numbers.
    pub seed: u64,
    /// Number of runs of each kind.
    pub runs: u32,
    /// Duration of a run, in seconds of the scenario's time.
    pub duration_s: f64,
    /// Seconds at the start that are left out of all values but counts.
    pub warmup_s: f64,
    /// Number of emulated runs that were late; do not trust their delays.
    pub late_runs: u32,
    /// Flows by name.
    pub flows: BTreeMap<String, FlowComparison>,
    /// Wi-Fi nodes by name.
    pub nodes: BTreeMap<String, NodeComparison>,
}

/// A value from both kinds of run. A side is absent if its runs lack the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// Value in virtual time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated: Option<f64>,
    /// Value in real time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub emulated: Option<f64>,
    /// Simulated divided by emulated value; absent if the latter is zero.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<f64>,
}

/// A flow in both kinds of run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowComparison {
    /// Goodput in Mb/s.
    pub goodput_mbps: Pair,
    /// Median round-trip time in ms.
    pub rtt_p50_ms: Pair,
    /// Mean one-way delay in ms.
    pub one_way_delay_mean_ms: Pair,
    /// Mean congestion window in segments.
    pub cwnd_mean_packets: Pair,
    /// Segments that the TCP sender retransmitted.
    pub retransmissions: Pair,
    /// Packets that the network gave up.
    pub packets_lost: Pair,
}

/// A Wi-Fi node in both kinds of run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeComparison {
    /// Mean number of packets in the node's queues.
    pub queue_mean_packets: Pair,
    /// Packets dropped by a full queue or by active queue management.
    pub queue_drops: Pair,
    /// Share of the time in which the node transmitted, 0 to 1.
    pub airtime_fraction: Pair,
}

impl Comparison {
    /// Compares runs of one scenario; `None` without emulated runs.
    pub fn new(simulated: &[RunDocument], emulated: &[RunDocument]) -> Option<Self> {
        let first = emulated.first()?;
        let flows = names(simulated, emulated, |run| run.flows.keys());
        let nodes = names(simulated, emulated, |run| run.nodes.keys());
        let is_late =
            |run: &&RunDocument| run.emulation.as_ref().is_some_and(|emulation| emulation.late);
        Some(Self {
            scenario: first.scenario.clone(),
            seed: first.seed,
            runs: emulated.len() as u32,
            duration_s: first.duration_s,
            warmup_s: first.warmup_s,
            late_runs: emulated.iter().filter(is_late).count() as u32,
            flows: flows
                .map(|name| (name.clone(), FlowComparison::new(simulated, emulated, name)))
                .collect(),
            nodes: nodes
                .map(|name| (name.clone(), NodeComparison::new(simulated, emulated, name)))
                .collect(),
        })
    }

    /// Returns the document as indented JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Returns the JSON Schema (2020-12) of a [`Comparison`].
pub fn comparison_schema() -> serde_json::Value {
    kept_schema(include_str!("../schemas/comparison.json"))
}

impl Pair {
    /// Pairs two values, with their ratio rounded to four decimal places.
    pub fn new(simulated: Option<f64>, emulated: Option<f64>) -> Self {
        let ratio = || {
            let (simulated, emulated) = (simulated?, emulated.filter(|value| *value != 0.0)?);
            Some(rounded(simulated / emulated, 4))
        };
        Self { simulated, emulated, ratio: ratio() }
    }

    fn from_runs(
        simulated: &[RunDocument],
        emulated: &[RunDocument],
        value: impl Fn(&RunDocument) -> Option<f64>,
    ) -> Self {
        let mean = |runs: &[RunDocument]| {
            Estimate::from_values(&runs.iter().filter_map(&value).collect::<Vec<_>>())
                .map(|estimate| estimate.mean)
        };
        Self::new(mean(simulated), mean(emulated))
    }
}

impl FlowComparison {
    fn new(simulated: &[RunDocument], emulated: &[RunDocument], name: &str) -> Self {
        let pair = |value: fn(&FlowSummary) -> Option<f64>| {
            Pair::from_runs(simulated, emulated, |run| value(run.flows.get(name)?))
        };
        Self {
            goodput_mbps: pair(|flow| flow.goodput_mbps),
            rtt_p50_ms: pair(|flow| Some(flow.rtt_ms?.p50)),
            one_way_delay_mean_ms: pair(|flow| Some(flow.one_way_delay_ms?.mean)),
            cwnd_mean_packets: pair(|flow| Some(flow.cwnd_packets?.mean)),
            retransmissions: pair(|flow| Some(flow.retransmissions? as f64)),
            packets_lost: pair(|flow| Some(flow.packets_lost as f64)),
        }
    }
}

impl NodeComparison {
    fn new(simulated: &[RunDocument], emulated: &[RunDocument], name: &str) -> Self {
        let pair = |value: fn(&NodeSummary) -> Option<f64>| {
            Pair::from_runs(simulated, emulated, |run| value(run.nodes.get(name)?))
        };
        Self {
            queue_mean_packets: pair(|node| Some(node.queue_packets?.mean)),
            queue_drops: pair(|node| Some(node.queue_drops as f64)),
            airtime_fraction: pair(|node| Some(node.airtime_fraction)),
        }
    }
}

/// Returns the names that occur in any of the runs, once each, in alphabetical order.
fn names<'a, Names: Iterator<Item = &'a String>>(
    simulated: &'a [RunDocument],
    emulated: &'a [RunDocument],
    of: impl Fn(&'a RunDocument) -> Names,
) -> impl Iterator<Item = &'a String> {
    let all: std::collections::BTreeSet<_> =
        simulated.iter().chain(emulated).flat_map(of).collect();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_something_to_divide_by() {
        assert_eq!(Pair::new(Some(3.0), Some(2.0)).ratio, Some(1.5));
        assert_eq!(Pair::new(Some(3.0), Some(0.0)).ratio, None);
        assert_eq!(Pair::new(None, Some(2.0)).ratio, None);
    }

    fn run(goodput_mbps: f64, is_late: Option<bool>) -> RunDocument {
        let emulation = is_late.map_or(String::new(), |late| {
            format!(r#", "emulation": {{"late": {late}, "deliveries": 7}}"#)
        });
        let text = format!(
            r#"{{"scenario": "s", "seed": 1, "run": 0, "duration_s": 2, "warmup_s": 0, "wall_s": 1,
                "version": "0", "links": {{}},
                "nodes": {{"ap": {{"queue_drops": 4, "airtime_fraction": 0.5}}}},
                "flows": {{"up": {{"kind": "tcp", "goodput_mbps": {goodput_mbps}, "packets_sent": 9,
                "packets_received": 8, "packets_lost": 1, "retransmissions": 0}}}}{emulation}}}"#
        );
        serde_json::from_str(&text).expect("a sound document")
    }

    #[test]
    fn both_sides_are_means_over_their_runs() {
        let simulated = [run(9.0, None), run(11.0, None)];
        let emulated = [run(7.0, Some(false)), run(9.0, Some(true))];
        let comparison = Comparison::new(&simulated, &emulated).expect("two runs");
        let up = comparison.flows["up"];
        assert_eq!(up.goodput_mbps, Pair::new(Some(10.0), Some(8.0)));
        assert_eq!(up.goodput_mbps.ratio, Some(1.25));
        assert_eq!(up.rtt_p50_ms, Pair::default());
        assert_eq!(up.retransmissions.ratio, None);
        assert_eq!(comparison.nodes["ap"].queue_drops.ratio, Some(1.0));
        assert_eq!((comparison.runs, comparison.late_runs), (2, 1));
        assert_eq!(Comparison::new(&[], &[]), None);
    }
}
