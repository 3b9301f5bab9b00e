//! Data of a run for a page, as JSON: the document as text, findings with the applicable remedies,
//! readings of each interval, distributions. A missing reading is `null`. Delays are in ms, goodput
//! in Mb/s, shares 0 to 1, times in s.

use lasthop_report::finding::findings;
use lasthop_report::remedy;
use lasthop_trace::{DelayPartsSummary, FlowReading, Histogram, Names, RunDocument, Snapshot};
use lasthop_units::{Duration, Instant};
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of points of a distribution.
const QUANTILES: u32 = 100;

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The [`RunDocument`] as `lasthop simulate --json` prints it; `wall_s` is 0.
    pub document: String,
    /// Findings, in descending order of weight.
    pub findings: Vec<Finding>,
    /// Ends of the intervals, in seconds.
    pub at_s: Vec<f64>,
    /// The flows, in the scenario's order.
    pub flows: Vec<Flow>,
    /// The nodes with Wi-Fi, in the scenario's order.
    pub nodes: Vec<Node>,
}

/// A fault of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The kind as a word for programs.
    pub kind: &'static str,
    /// The kind as a heading.
    pub title: &'static str,
    /// The fault and its evidence, as a sentence.
    pub sentence: String,
    /// Remedies as arguments of `--set` that this scenario accepts; may be empty.
    pub remedy: Vec<String>,
}

/// The readings of a flow in its forward direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// Name of the flow.
    pub name: String,
    /// The kind of traffic.
    pub kind: &'static str,
    /// Goodput in Mb/s, of delivered payload.
    pub throughput_mbps: Vec<f64>,
    /// Mean one-way delay of delivered packets.
    pub delay_ms: Vec<Option<f64>>,
    /// Mean of the round-trip times.
    pub rtt_ms: Vec<Option<f64>>,
    /// The congestion window at the end of the interval in segments.
    pub cwnd_packets: Vec<Option<u32>>,
    /// The parts of the mean one-way delay.
    pub parts_ms: Parts,
    /// Distribution of one-way delays after the warm-up.
    pub delay_curve: Curve,
    /// Distribution of round-trip times after the warm-up.
    pub rtt_curve: Curve,
}

/// The readings of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// Packets in its Wi-Fi queues and in flight at the end of the interval.
    pub queue_packets: Vec<Option<u32>>,
    /// Share of the interval in which the node transmitted, 0 to 1.
    pub airtime: Vec<f64>,
}

/// The document's parts of the mean delay of packets delivered in each interval after the
/// warm-up; `null` in intervals without deliveries.
#[derive(Clone, Debug, PartialEq, Serialize, Default)]
#[expect(missing_docs, reason = "DelayPartsSummary says what they are")]
pub struct Parts {
    pub queue: Vec<Option<f64>>,
    pub away: Vec<Option<f64>>,
    pub asleep: Vec<Option<f64>>,
    /// Empty if no packet waited for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roam: Vec<Option<f64>>,
    pub contention: Vec<Option<f64>>,
    pub retries: Vec<Option<f64>>,
    pub reorder: Vec<Option<f64>>,
    pub air: Vec<Option<f64>>,
    pub other: Vec<Option<f64>>,
    pub wire: Vec<Option<f64>>,
}

impl Parts {
    fn new(intervals: &[Snapshot], flow: usize) -> Self {
        let column = |part: fn(&DelayPartsSummary) -> f64| -> Vec<Option<f64>> {
            let parts = intervals.iter().map(|interval| interval.flows[flow].parts.as_ref());
            parts.map(|parts| parts.map(|parts| short(part(parts)))).collect()
        };
        let mut roam = column(|parts| parts.roam);
        if !roam.iter().flatten().any(|part| *part > 0.0) {
            roam.clear();
        }
        Self {
            roam,
            queue: column(|parts| parts.queue),
            away: column(|parts| parts.away),
            asleep: column(|parts| parts.asleep),
            contention: column(|parts| parts.contention),
            retries: column(|parts| parts.retries),
            reorder: column(|parts| parts.reorder),
            air: column(|parts| parts.air),
            other: column(|parts| parts.other.unwrap_or(0.0)),
            wire: column(|parts| parts.wire),
        }
    }
}

/// A cumulative distribution of delays.
#[derive(Clone, Debug, PartialEq, Serialize, Default)]
pub struct Curve {
    /// Delays in ms, ascending.
    pub ms: Vec<f64>,
    /// Shares of values up to each delay, 0 to 1.
    pub share: Vec<f64>,
}

impl Curve {
    pub(crate) fn from_histogram(histogram: &Histogram) -> Self {
        let steps = u64::from(QUANTILES).min(histogram.count()) as u32;
        let shares = (1..=steps).map(|step| f64::from(step) / f64::from(steps));
        // The slowest have points of their own, but for the very last ones.
        let shares = shares.filter(|share| *share < 0.99).chain([0.99, 0.995, 0.999]);
        let points = shares.filter_map(|share| Some((histogram.quantile(share)?, share)));
        let (ms, share) = points.map(|(nanos, share)| (short(nanos as f64 / 1e6), share)).unzip();
        Self { ms, share }
    }
}

impl Answer {
    pub(crate) fn new(
        document: &RunDocument,
        text: &str,
        names: &Names,
        intervals: &[Snapshot],
        [delays, round_trips]: [Vec<Curve>; 2],
    ) -> Self {
        let findings = findings(document).into_iter().map(|finding| Finding {
            kind: finding.kind.as_str(),
            title: finding.kind.title(),
            remedy: remedy::applicable(text, &finding),
            sentence: finding.sentence,
        });
        let flows = names.flows.iter().enumerate().zip(delays).zip(round_trips);
        let flows = flows.map(|(((index, name), delay_curve), rtt_curve)| {
            let readings = || intervals.iter().map(move |it| (it, &it.flows[index]));
            let ms = |of: fn(&FlowReading) -> Option<Duration>| {
                let ms = |(_, reading)| of(reading).map(|time| short(time.as_millis_f64()));
                readings().map(ms).collect()
            };
            Flow {
                name: name.name.clone(),
                kind: name.kind.as_str(),
                throughput_mbps: readings()
                    .map(|(interval, reading)| short(interval.throughput_mbps(reading)))
                    .collect(),
                delay_ms: ms(|reading| reading.delay),
                rtt_ms: ms(|reading| reading.rtt),
                cwnd_packets: readings().map(|(_, reading)| reading.cwnd_packets).collect(),
                parts_ms: Parts::new(intervals, index),
                delay_curve,
                rtt_curve,
            }
        });
        let stations: BTreeMap<usize, ()> =
            names.stations.iter().map(|node| (node.index(), ())).collect();
        let nodes = stations.into_keys().map(|index| {
            let readings = || intervals.iter().map(move |it| (it, &it.nodes[index]));
            let share = |(interval, reading): (&Snapshot, &lasthop_trace::NodeReading)| {
                short(reading.airtime.as_secs_f64() / interval.interval.as_secs_f64())
            };
            Node {
                name: names.nodes[index].name.clone(),
                queue_packets: readings().map(|(_, reading)| reading.queue_packets).collect(),
                airtime: readings().map(share).collect(),
            }
        });
        Self {
            document: document.to_json(),
            findings: findings.collect(),
            at_s: intervals.iter().map(|it| (it.at - Instant::ZERO).as_secs_f64()).collect(),
            flows: flows.collect(),
            nodes: nodes.collect(),
        }
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an answer has string keys")
    }
}

/// Rounds to four decimal places, which suffice for plots.
fn short(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
