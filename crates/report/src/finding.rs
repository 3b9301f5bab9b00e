//! Findings of a run: its faults, each with the numbers that show it. Findings are a pure function
//! of the run's document. Thresholds were chosen on one half of a grid of scenarios with known
//! causes (`tests/judge.rs`). Delays are one-way, in milliseconds; shares are 0 to 1. Queues that a
//! document of an earlier version does not describe count as first in, first out. The document does
//! not distinguish a receive window from a send buffer, or a long path from a slow host on it, so
//! findings do not either.

mod aggregation;
mod air;
mod delay;
mod flow;
mod multi_link;
mod overload;
mod roaming;
mod switching;
mod tcp;
mod wire;

use flow::Flow;
use lasthop_trace::{DelayPartsSummary, RunDocument};

/// A fault of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Kind of the fault.
    pub kind: Kind,
    /// Fault and its numbers, in one or two sentences without the last full stop.
    pub sentence: String,
    /// Cost of the fault, 0 to 1; findings are in descending order of their weight.
    pub weight: f64,
    /// Changes of the scenario that may help together, as `PART.KEY=VALUE`.
    /// [`remedy`](crate::remedy) finds the keys at which the scenario accepts them.
    pub remedy: Vec<String>,
    /// Remedy on real devices, as a sentence without the last full stop.
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
    /// Packets wait for a node that leaves its channel by a clock.
    Absence,
    /// Packets wait for a station that saves power.
    Sleep,
    /// A station is without an access point, or changes it too often or too slowly.
    Roaming,
    /// An access point moves to another channel.
    ChannelSwitch,
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
    /// A link of a device is idle although packets wait.
    IdleLink,
    /// Packets of one link of a device wait for those of another.
    Reordering,
    /// A device with one radio takes long to turn it between links.
    Switching,
}

impl Kind {
    /// Returns the kind as a word for programs, such as `own_queue`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OwnQueue => "own_queue",
            Self::DriverQueue => "driver_queue",
            Self::Overload => "overload",
            Self::Scan => "scan",
            Self::Absence => "absence",
            Self::Sleep => "sleep",
            Self::Roaming => "roaming",
            Self::ChannelSwitch => "channel_switch",
            Self::Contention => "contention",
            Self::Retries => "retries",
            Self::SlowStation => "slow_station",
            Self::Aggregation => "aggregation",
            Self::Wire => "wire",
            Self::TcpWindow => "tcp_window",
            Self::IdleLink => "idle_link",
            Self::Reordering => "reordering",
            Self::Switching => "link_switching",
        }
    }

    /// Returns the kind as a heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::OwnQueue => "A queue that is too long (bufferbloat)",
            Self::DriverQueue => "A driver's queue that is too long (bufferbloat)",
            Self::Overload => "More is offered than the hop carries",
            Self::Scan => "A station that scans",
            Self::Absence => "Absences by a clock",
            Self::Sleep => "A station that saves power",
            Self::Roaming => "Roaming",
            Self::ChannelSwitch => "An access point that changes its channel",
            Self::Contention => "Contention and collisions",
            Self::Retries => "Retransmissions on the air",
            Self::SlowStation => "A slow station that takes the air",
            Self::Aggregation => "Short aggregates",
            Self::Wire => "The wire",
            Self::TcpWindow => "TCP's window",
            Self::IdleLink => "A link that is idle while packets queue",
            Self::Reordering => "Packets that wait for those on the other link",
            Self::Switching => "One radio that turns between links",
        }
    }
}

/// Returns the findings of a run in descending order of weight.
pub fn findings(run: &RunDocument) -> Vec<Finding> {
    let flows = Flow::all(run);
    let mut found: Vec<Finding> = Vec::new();
    found.extend(delay::scan(run, &flows));
    found.extend(delay::clock(run, &flows));
    found.extend(delay::sleep(run, &flows));
    found.extend(roaming::roaming(run));
    found.extend(switching::moves(run));
    found.extend(wire::wire(run, &flows));
    found.extend(overload::coded(run, &flows));
    found.extend(tcp::window(run));
    found.extend(aggregation::short(run));
    found.extend(multi_link::links(run, &flows));
    let mut retries = air::retries(run, &flows);
    let (mut overload, mut queue) = (overload::overload(&flows), delay::own_queue(run, &flows));
    // UDP that does not slow down fills the queue, unless TCP would fill it without it.
    if let (Some((overload, flow)), Some((queue, _))) = (&mut overload, &mut queue) {
        let node = flow.nodes.first().copied();
        let fills = |flow: &Flow<'_>| flow.load.is_bulk() && flow.waits_at(node);
        if flows.iter().any(fills) {
            overload.weight = overload.weight.min(queue.weight / 2.0)
        } else {
            overload.weight = overload.weight.max(queue.weight);
            queue.weight = queue.weight.min(overload.weight / 2.0);
        }
    }
    // Retransmissions take the airtime that the offered packets need.
    if let (Some(retries), Some((overload, flow))) = (&mut retries, &mut overload)
        && air::would_carry(run, flow)
    {
        come_first(retries, [overload]);
    }
    let mut filled: Vec<(Finding, &Flow<'_>)> = overload.into_iter().chain(queue).collect();
    // Contention for the air fills the queue.
    if let Some(mut contention) = air::contention(run, &flows) {
        come_first(&mut contention, filled.iter_mut().map(|(queue, _)| queue));
        found.push(contention);
    }
    // A slow station fills the queues of others; its own queue is long without them, too.
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

/// A kind of finding over several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Often {
    /// Finding of the run in which it weighs most.
    pub finding: Finding,
    /// Number of that run.
    pub run: u64,
    /// Number of runs with a finding of this kind.
    pub runs: usize,
    /// Sum of the weights over all runs.
    pub weight: f64,
}

/// Returns the kinds of findings in descending order of their weight over all runs.
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

/// Puts a cause before its effects: the cause gets the greatest weight, an effect half of that at
/// most.
fn come_first<'a>(cause: &mut Finding, effects: impl IntoIterator<Item = &'a mut Finding>) {
    let effects: Vec<&mut Finding> = effects.into_iter().collect();
    cause.weight = effects.iter().fold(cause.weight, |most, effect| most.max(effect.weight));
    for effect in effects {
        effect.weight = effect.weight.min(cause.weight / 2.0);
    }
}

/// Sender and receiver of a direction, without the name of its link: names of nodes have no `@`.
fn ends(direction: &str) -> Option<(&str, &str)> {
    let (from, to) = direction.split_once("->")?;
    Some((from, to.split_once('@').map_or(to, |(to, _)| to)))
}

/// The sum of the parts of a delay.
fn total(parts: &DelayPartsSummary) -> f64 {
    let DelayPartsSummary {
        queue,
        away,
        asleep,
        roam,
        contention,
        retries,
        reorder,
        air,
        wire,
        other,
    } = *parts;
    let absent = away + asleep + roam;
    queue + absent + contention + retries + reorder + air + wire + other.unwrap_or(0.0)
}

/// Returns the cost of a part of a delay: its share of the delay, less for short parts.
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
            roam: 0.0,
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
