//! Where packets spent their time, as a table, and the main cause of the delays of the
//! slowest 1 %, with remedies. Times are in ms per packet; the parts are those of
//! `lasthop_packet::DelayParts`.

use crate::console::Stream;
use crate::table::{self, number, percent, text, value};
use lasthop_trace::{DelayPartsSummary, QueueKind, QueueSummary, RunDocument};
use std::fmt::Write;

/// Mean delay of the slowest 1 % below which there is nothing to remedy, in ms.
const WORTH_A_WORD_MS: f64 = 5.0;

/// If an absence takes more than this share of the time in the queue, the absence is
/// the cause of the queue.
const ABSENCE_SHARE: f64 = 0.1;

/// The parts of the delay of every flow, on average and of the slowest 1 %.
pub fn table(run: &RunDocument, stream: Stream) -> String {
    let columns = [
        text("flow"),
        text("packets"),
        number("", "queue"),
        number("", "away"),
        number("", "asleep"),
        number("", "contention"),
        number("", "retries"),
        number("", "reorder"),
        number("", "air"),
        number("", "wire"),
        number("", "other"),
    ];
    let row = |name: &str, which: &str, parts: &DelayPartsSummary| {
        let nonzero = |part: f64| if part > 0.0 { value(part) } else { String::new() };
        let mut row = vec![name.to_owned(), which.to_owned(), value(parts.queue)];
        row.extend([parts.away, parts.asleep].map(nonzero));
        row.extend([parts.contention, parts.retries, parts.reorder, parts.air].map(value));
        row.extend([value(parts.wire), parts.other.map_or_else(String::new, value)]);
        row
    };
    let mut rows = Vec::new();
    for flow in flows(run) {
        rows.push(row(flow.name, "all", flow.mean));
        rows.extend(flow.slowest.map(|slowest| row("", "slowest 1 %", slowest)));
    }
    table::render(&columns, &rows, stream)
}

/// A line per cause that is the main one for the slowest 1 % of a flow.
pub fn remedies(run: &RunDocument) -> String {
    let mut out = String::new();
    for cause in Cause::ALL {
        let (mut found, mut nodes): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        for flow in flows(run) {
            let Some(slowest) = flow.slowest else { continue };
            let total: f64 = Cause::ALL.iter().map(|cause| cause.of(slowest)).sum();
            if total < WORTH_A_WORD_MS || Cause::to_blame(slowest) != cause {
                continue;
            }
            let share = percent(cause.of(slowest) / total);
            found.push(match Cause::greatest(slowest) {
                greatest if greatest == cause => format!("{} ({share} %)", flow.name),
                _ => format!("{} ({share} %, and the queue behind that)", flow.name),
            });
            nodes.extend(flow.absent_nodes.iter().map(String::as_str));
        }
        nodes.sort_unstable();
        nodes.dedup();
        if !found.is_empty() {
            let _ = writeln!(
                out,
                "  {}: {}",
                found.join(", "),
                cause.remedy(&nodes.join(", "), are_managed(run))
            );
        }
    }
    out
}

/// Whether the delay of all queues that hold packets is managed already.
fn are_managed(run: &RunDocument) -> bool {
    let is_managed =
        |queue: &QueueSummary| matches!(queue.kind, QueueKind::Codel | QueueKind::FqCodel);
    let holding =
        run.nodes.values().filter(|node| node.queue_packets.is_some_and(|held| held.p95 > 0));
    holding.map(|node| node.queue.as_ref()).all(|queue| queue.is_some_and(is_managed))
}

/// A flow of the scenario or of a program.
struct Flow<'a> {
    name: &'a str,
    mean: &'a DelayPartsSummary,
    slowest: Option<&'a DelayPartsSummary>,
    absent_nodes: &'a [String],
}

fn flows(run: &RunDocument) -> impl Iterator<Item = Flow<'_>> {
    let scenario = run.flows.iter().filter_map(|(name, flow)| {
        let (mean, slowest) = (flow.delay_parts_ms.as_ref()?, flow.delay_parts_slowest_ms.as_ref());
        Some(Flow { name, mean, slowest, absent_nodes: &flow.absent_nodes })
    });
    let programs = super::largest(run).filter_map(|(name, flow)| {
        let (mean, slowest) = (flow.delay_parts_ms.as_ref()?, flow.delay_parts_slowest_ms.as_ref());
        Some(Flow { name, mean, slowest, absent_nodes: &flow.absent_nodes })
    });
    programs.chain(scenario)
}

/// A part of the delay, with a remedy or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Queue,
    Away,
    Asleep,
    Contention,
    Retries,
    Reorder,
    Air,
    Wire,
    Other,
}

impl Cause {
    const ALL: [Self; 9] = [
        Self::Queue,
        Self::Away,
        Self::Asleep,
        Self::Contention,
        Self::Retries,
        Self::Reorder,
        Self::Air,
        Self::Wire,
        Self::Other,
    ];

    fn of(self, parts: &DelayPartsSummary) -> f64 {
        match self {
            Self::Queue => parts.queue,
            Self::Away => parts.away,
            Self::Asleep => parts.asleep,
            Self::Contention => parts.contention,
            Self::Retries => parts.retries,
            Self::Reorder => parts.reorder,
            Self::Air => parts.air,
            Self::Wire => parts.wire,
            Self::Other => parts.other.unwrap_or(0.0),
        }
    }

    fn greatest(parts: &DelayPartsSummary) -> Self {
        let greater = |one: &Self, other: &Self| one.of(parts).total_cmp(&other.of(parts));
        Self::ALL.into_iter().max_by(greater).unwrap_or(Self::Other)
    }

    /// The greatest part, or the absence that caused it: packets that arrive during an
    /// absence are in the queue when it ends.
    fn to_blame(parts: &DelayPartsSummary) -> Self {
        let greatest = Self::greatest(parts);
        let absent = if parts.away > parts.asleep { Self::Away } else { Self::Asleep };
        match greatest {
            Self::Queue if absent.of(parts) > ABSENCE_SHARE * parts.queue => absent,
            other => other,
        }
    }

    /// The cause in words, with the remedy. `nodes` are those that were absent.
    fn remedy(self, nodes: &str, are_managed: bool) -> String {
        let is_one = !nodes.contains(", ");
        match self {
            Self::Queue if are_managed => "queue: behind other packets of queues whose delay is \
                                           managed; a faster link or less traffic helps"
                .into(),
            Self::Queue => "queue: behind other packets; a queue whose delay is managed, as \
                            queue.kind = \"fq-codel\", keeps it short"
                .into(),
            Self::Away => format!(
                "away: {nodes} {} for access points; rarer scans of fewer channels help, \
                 another queue does not",
                if is_one { "scans" } else { "scan" }
            ),
            Self::Asleep => format!(
                "asleep: {nodes} {} power; a longer power_save.idle, or with service periods \
                 a shorter trigger_interval or wake_interval, helps, another queue does not",
                if is_one { "saves" } else { "save" }
            ),
            Self::Contention => "contention: the channel is busy; fewer senders or longer \
                                 aggregates help"
                .into(),
            Self::Retries => {
                "retries: the link loses frames; a better signal or a lower rate helps".into()
            }
            Self::Reorder => {
                "reorder: behind MPDUs that got lost; a better signal or a lower rate \
                              helps"
                    .into()
            }
            Self::Air => "air: the rate is low; a better signal helps".into(),
            Self::Wire => "wire: on the wires behind the access point".into(),
            Self::Other => "other: processing in hosts, or a coded link".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_part_is_named() {
        let none = DelayPartsSummary {
            queue: 0.0,
            away: 0.0,
            asleep: 0.0,
            contention: 0.0,
            retries: 0.0,
            reorder: 0.0,
            air: 0.0,
            wire: 0.0,
            other: None,
        };
        let parts = DelayPartsSummary { queue: 9.0, away: 10.0, other: Some(1.0), ..none };
        assert_eq!(Cause::greatest(&parts), Cause::Away);
        assert_eq!(
            Cause::greatest(&DelayPartsSummary { other: Some(11.0), ..parts }),
            Cause::Other
        );
        let behind = DelayPartsSummary { queue: 80.0, ..parts };
        assert_eq!(
            (Cause::greatest(&behind), Cause::to_blame(&behind)),
            (Cause::Queue, Cause::Away)
        );
        let full = DelayPartsSummary { queue: 200.0, ..parts };
        assert_eq!(Cause::to_blame(&full), Cause::Queue);
        let sum: f64 = Cause::ALL.iter().map(|cause| cause.of(&parts)).sum();
        assert_eq!(sum, 20.0);
    }

    /// Where the delay is managed already, managing it is no advice.
    #[test]
    fn a_managed_queue_is_told_nothing_that_it_has() {
        assert!(Cause::Queue.remedy("", false).contains("fq-codel"));
        assert!(!Cause::Queue.remedy("", true).contains("fq-codel"));
        assert_eq!(Cause::Wire.remedy("", true), Cause::Wire.remedy("", false));
    }
}
