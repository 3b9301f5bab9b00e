//! Findings: what is wrong with a run, each with the numbers that show it. A pure function
//! of the run's document. Thresholds were chosen on one half of a grid of scenarios with
//! known causes (`tests/judge.rs`); below them there is no finding. Delays are one-way, in
//! milliseconds; shares are 0 to 1. A document of an earlier version does not say which
//! queues there are: they count as first in, first out. What the document does not tell apart is not told
//! apart here: a receive window from a send buffer, a long path from a slow host on it.

mod aggregation;
mod air;
mod delay;
mod flow;
mod overload;
mod tcp;
mod wire;

use crate::remedy::Remedies;
use flow::Flow;
use lasthop_trace::{DelayPartsSummary, FindingSummary, RunDocument};

/// Something that is wrong with a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// What is wrong and what shows it, in one or two sentences without the last full stop.
    pub sentence: String,
    /// What it costs, 0 to 1; findings are in descending order of it.
    pub weight: f64,
    /// A change of the scenario that may help, as `PART.KEY=VALUE`; several belong together.
    /// [`remedy`](crate::remedy) finds the keys at which the scenario takes it, if it does.
    pub remedy: Vec<String>,
    /// The same on real devices, as a sentence without the last full stop.
    pub device: Option<&'static str>,
}

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Packets wait behind others in a queue of the Wi-Fi hop (bufferbloat).
    OwnQueue,
    /// Packets wait in the queue of a driver, below the managed one.
    DriverQueue,
    /// UDP offers more than the hop carries.
    Overload,
    /// Packets wait for a station that scans.
    Scan,
    /// Packets wait for a station that saves power.
    Sleep,
    /// Transmissions collide, or wait long for the channel.
    Contention,
    /// Much of the airtime goes into frames that fail without a collision.
    Retries,
    /// A station with a low rate takes most of the airtime.
    SlowStation,
    /// A-MPDUs are short although packets wait.
    Aggregation,
    /// Wires lose packets or hold them long.
    Wire,
    /// TCP sends less than its congestion window and the path allow.
    TcpWindow,
}

impl Kind {
    /// The kind as a word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OwnQueue => "own_queue",
            Self::DriverQueue => "driver_queue",
            Self::Overload => "overload",
            Self::Scan => "scan",
            Self::Sleep => "sleep",
            Self::Contention => "contention",
            Self::Retries => "retries",
            Self::SlowStation => "slow_station",
            Self::Aggregation => "aggregation",
            Self::Wire => "wire",
            Self::TcpWindow => "tcp_window",
        }
    }

    /// The kind as a heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::OwnQueue => "A queue that is too long (bufferbloat)",
            Self::DriverQueue => "A driver's queue that is too long (bufferbloat)",
            Self::Overload => "More is offered than the hop carries",
            Self::Scan => "A station that scans",
            Self::Sleep => "A station that saves power",
            Self::Contention => "Contention and collisions",
            Self::Retries => "Retransmissions on the air",
            Self::SlowStation => "A slow station that takes the air",
            Self::Aggregation => "Short aggregates",
            Self::Wire => "The wire",
            Self::TcpWindow => "TCP's window",
        }
    }
}

/// The findings of a run in descending order of weight; none if nothing is wrong.
pub fn findings(run: &RunDocument) -> Vec<Finding> {
    let flows = Flow::all(run);
    let mut found: Vec<Finding> = Vec::new();
    found.extend(delay::scan(&flows));
    found.extend(delay::sleep(run, &flows));
    found.extend(wire::wire(run, &flows));
    found.extend(tcp::window(run));
    found.extend(aggregation::short(run));
    let mut retries = air::retries(run, &flows);
    let (mut overload, mut queue) = (overload::overload(&flows), delay::own_queue(run, &flows));
    // UDP that does not slow down fills the queue, unless TCP would fill it without it.
    if let (Some((overload, flow)), Some((queue, _))) = (&mut overload, &mut queue) {
        let node = flow.nodes.first().copied();
        let fills = |flow: &Flow<'_>| flow.load.is_bulk() && flow.waits_at(node);
        match flows.iter().any(fills) {
            true => overload.weight = overload.weight.min(queue.weight / 2.0),
            false => {
                overload.weight = overload.weight.max(queue.weight);
                queue.weight = queue.weight.min(overload.weight / 2.0);
            }
        }
    }
    // What is sent again takes the place of what is offered.
    if let (Some(retries), Some((overload, flow))) = (&mut retries, &mut overload)
        && air::would_carry(run, flow)
    {
        come_first(retries, [overload]);
    }
    let mut filled: Vec<(Finding, &Flow<'_>)> = overload.into_iter().chain(queue).collect();
    // What takes the air fills the queue.
    if let Some(mut contention) = air::contention(run, &flows) {
        come_first(&mut contention, filled.iter_mut().map(|(queue, _)| queue));
        found.push(contention);
    }
    // A slow station fills those of others: what waits at itself is slow without them.
    if let Some((mut slow, station)) = air::slow_station(run, &flows) {
        let of_others = filled
            .iter_mut()
            .filter(|(_, flow)| flow.nodes.first().is_none_or(|it| *it != station));
        come_first(&mut slow, of_others.map(|(queue, _)| queue));
        found.push(slow);
    }
    found.extend(retries);
    found.extend(filled.into_iter().map(|(finding, _)| finding));
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.kind.cmp(&b.kind)));
    found
}

/// Writes the findings of a run into its document, with the arguments of `--set` that its
/// scenario takes.
pub fn note(run: &mut RunDocument, remedies: &mut Remedies<'_>) {
    let summary = |finding: Finding| FindingSummary {
        kind: finding.kind.as_str().to_owned(),
        title: finding.kind.title().to_owned(),
        remedy: remedies.of(&finding),
        sentence: finding.sentence,
        weight: (finding.weight * 1e6).round() / 1e6,
        device: finding.device.map(str::to_owned),
    };
    run.findings = findings(run).into_iter().map(summary).collect();
}

/// A kind of finding over several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Often {
    /// That of the run in which it weighs most.
    pub finding: Finding,
    /// The number of that run.
    pub run: u64,
    /// In how many runs it is.
    pub runs: usize,
    /// The sum of its weights.
    pub weight: f64,
}

/// The kinds of findings in descending order of their weight over all runs.
pub fn often(runs: &[RunDocument]) -> Vec<Often> {
    let mut all: Vec<Often> = Vec::new();
    for run in runs {
        for finding in findings(run) {
            let weight = finding.weight;
            match all.iter_mut().find(|known| known.finding.kind == finding.kind) {
                Some(known) => {
                    known.runs += 1;
                    known.weight += weight;
                    if weight > known.finding.weight {
                        (known.finding, known.run) = (finding, run.run);
                    }
                }
                None => all.push(Often { finding, run: run.run, runs: 1, weight }),
            }
        }
    }
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.finding.kind.cmp(&b.finding.kind)));
    all
}

/// A cause comes before what follows from it, with the weight of both.
fn come_first<'a>(cause: &mut Finding, effects: impl IntoIterator<Item = &'a mut Finding>) {
    let effects: Vec<&mut Finding> = effects.into_iter().collect();
    cause.weight = effects.iter().fold(cause.weight, |most, effect| most.max(effect.weight));
    for effect in effects {
        effect.weight = effect.weight.min(cause.weight / 2.0);
    }
}

/// The sum of the parts of a delay.
fn total(parts: &DelayPartsSummary) -> f64 {
    let DelayPartsSummary { queue, away, asleep, contention, retries, reorder, air, wire, other } =
        *parts;
    queue + away + asleep + contention + retries + reorder + air + wire + other.unwrap_or(0.0)
}

/// What a part of a delay costs: its share of the delay, and less the shorter it is.
fn weight(part: f64, parts: &DelayPartsSummary) -> f64 {
    /// Delay that costs half, in ms: an eighth of what a call bears (ITU-T G.114 has 150
    /// ms one way as good, and 400 ms as the most that is planned with).
    const HALF_MS: f64 = 50.0;
    let total = total(parts);
    if total <= 0.0 { 0.0 } else { part / total * part / (part + HALF_MS) }
}

/// A share as whole per cent.
fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Milliseconds with as many decimals as say something.
fn ms(value: f64) -> String {
    if value < 9.95 { format!("{value:.1} ms") } else { format!("{value:.0} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_traffic_has_no_finding() {
        let json = r#"{"scenario": "empty", "seed": 1, "run": 0, "duration_s": 1.0,
            "warmup_s": 0.0, "wall_s": 0.0, "version": "0", "flows": {}, "nodes": {},
            "links": {}}"#;
        let run: RunDocument = serde_json::from_str(json).expect("a document");
        assert_eq!(findings(&run), []);
    }

    #[test]
    fn a_long_part_costs_more_than_a_short_one() {
        let parts = |queue, wire| DelayPartsSummary {
            queue,
            wire,
            away: 0.0,
            asleep: 0.0,
            contention: 0.0,
            retries: 0.0,
            reorder: 0.0,
            air: 0.0,
            other: None,
        };
        assert_eq!(weight(50.0, &parts(50.0, 0.0)), 0.5);
        assert_eq!(weight(50.0, &parts(50.0, 50.0)), 0.25);
        assert!(weight(500.0, &parts(500.0, 0.0)) > 0.9);
        assert_eq!(weight(0.0, &parts(0.0, 0.0)), 0.0);
    }
}
