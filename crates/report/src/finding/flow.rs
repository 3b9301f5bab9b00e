//! Flows for findings: the load of each flow on the hop, the nodes in whose queues it waits, and
//! the queue discipline there.

use super::ends;
use lasthop_trace::{
    CodedNodeSummary, DelayPartsSummary, DriverQueueSummary, FlowKind, FlowSummary, LossReason,
    NodeSummary, ProgramSummary, QueueSummary, RunDocument,
};
use std::collections::BTreeMap;

/// Minimum share of a flow's offered rate, dropped by queues on its way, for the flow to offer more
/// than they carry.
pub(super) const EXCESS: f64 = 0.05;
/// Minimum mean length of an IP packet, in bytes, and minimum rate, in Mb/s, for a program's TCP
/// connection to count as a bulk transfer.
const BULK_BYTES: f64 = 1_000.0;
const BULK_MBPS: f64 = 1.0;

/// Airtime that mac80211 hands to a driver for a station (Linux 5.5, the higher of the limits of
/// `aql_txq_limit`), in ms.
pub(super) const DRIVER_AIRTIME_MS: f64 = 12.0;

/// Minimum number of sent segments, none of which arrives, for a transfer to be starved.
const STARVED: u64 = 5;
/// The parts of the delay of a flow of which nothing arrives.
const NOTHING: DelayPartsSummary = DelayPartsSummary {
    queue: 0.0,
    away: 0.0,
    asleep: 0.0,
    roam: 0.0,
    contention: 0.0,
    retries: 0.0,
    reorder: 0.0,
    air: 0.0,
    wire: 0.0,
    other: None,
};

/// A flow of the scenario or of a program, with the parts of its delay.
#[derive(Clone, Debug)]
pub(super) struct Flow<'a> {
    pub(super) name: &'a str,
    pub(super) mean: &'a DelayPartsSummary,
    pub(super) slowest: &'a DelayPartsSummary,
    pub(super) absent_nodes: &'a [String],
    /// Sender and receiver, if the document names them.
    pub(super) ends: [Option<&'a str>; 2],
    pub(super) load: Load,
    /// Packets behind the means.
    pub(super) packets: u64,
    /// Whether it is a TCP flow of which nothing arrives.
    pub(super) is_starved: bool,
    /// Wi-Fi nodes in whose queues the flow waits, the fullest first; empty if the document does
    /// not name the ends of the flow.
    pub(super) nodes: Vec<&'a str>,
    /// The queue of the first of these nodes.
    pub(super) queue: Option<QueueSummary>,
    /// Share of the packets held there that are in the driver's queue below, 0 to 1.
    pub(super) driver_share: f64,
    /// Share of its packets that coded links drop, 0 to 1.
    pub(super) coded_losses: f64,
}

/// The way in which a flow uses spare capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Load {
    /// TCP that always has more to send.
    Bulk,
    /// TCP that asks for answers, which may be long.
    Requests,
    /// UDP that offers more than arrives.
    Excess(Excess),
    /// Anything else: calls, films, pings.
    Sparse,
}

/// UDP that offers more than the path carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess {
    pub(super) offered: Offered,
    /// Rate that arrives, in Mb/s.
    pub(super) carried_mbps: Option<f64>,
    /// Share of the packets that queues drop.
    pub(super) dropped: f64,
}

/// The offered rate of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Offered {
    /// So many Mb/s of payload.
    Mbps(f64),
    /// A saturated sender, which fills every free place in its queue.
    Saturated,
    /// Not known: a program may have sent for a part of the run only.
    Unknown,
}

impl Load {
    pub(super) const fn is_bulk(self) -> bool {
        matches!(self, Self::Bulk)
    }

    /// Whether it may fill a queue.
    pub(super) const fn fills(self) -> bool {
        !matches!(self, Self::Sparse)
    }

    fn of_flow(run: &RunDocument, flow: &FlowSummary) -> Self {
        match flow.kind {
            FlowKind::Tcp if flow.application_delay_ms.is_some() => Self::Requests,
            FlowKind::Tcp => Self::Bulk,
            FlowKind::Udp | FlowKind::Video => {
                let dropped = dropped(run, &flow.packets_lost_by_reason);
                let sent = flow.packets_sent.max(1) as f64;
                let elsewhere = flow.packets_lost.saturating_sub(dropped) as f64 / sent;
                let missing = match (flow.offered_mbps, flow.goodput_mbps) {
                    (Some(offered), Some(goodput)) if offered > 0.0 => 1.0 - goodput / offered,
                    _ => 0.0,
                };
                let is_excess = flow.saturated || missing - elsewhere > EXCESS;
                if !is_excess {
                    return Self::Sparse;
                }
                Self::Excess(Excess {
                    offered: match flow.offered_mbps {
                        _ if flow.saturated => Offered::Saturated,
                        Some(mbps) => Offered::Mbps(mbps),
                        None => Offered::Unknown,
                    },
                    carried_mbps: flow.goodput_mbps,
                    dropped: dropped as f64 / sent,
                })
            }
            FlowKind::Ping | FlowKind::Call | FlowKind::Apq => Self::Sparse,
        }
    }

    fn of_program(run: &RunDocument, name: &str, flow: &ProgramSummary) -> Self {
        let packets = flow.packets_received.max(1) as f64;
        let bytes = flow.bytes_received as f64;
        let mbps = bytes * 8e-6 / run.duration_s.max(1e-9);
        let dropped = dropped(run, &flow.packets_lost_by_reason);
        let dropped = dropped as f64 / flow.packets_sent.max(1) as f64;
        match name.split(' ').next() {
            Some("tcp") if bytes / packets >= BULK_BYTES && mbps >= BULK_MBPS => Self::Bulk,
            Some("udp") if dropped > EXCESS => Self::Excess(Excess {
                offered: Offered::Unknown,
                carried_mbps: Some(mbps),
                dropped,
            }),
            _ => Self::Sparse,
        }
    }
}

impl<'a> Flow<'a> {
    /// The flows of a run of which packets arrived, and those that are starved.
    pub(super) fn all(run: &'a RunDocument) -> Vec<Self> {
        let flows = run.flows.iter().filter_map(|(name, flow)| {
            let ends = [&flow.sender, &flow.receiver];
            let parts = flow.delay_parts_ms.as_ref().zip(flow.delay_parts_slowest_ms.as_ref());
            let is_starved =
                parts.is_none() && flow.kind == FlowKind::Tcp && flow.packets_lost >= STARVED;
            let (mean, slowest) = match parts {
                None if is_starved => (&NOTHING, &NOTHING),
                parts => parts?,
            };
            Some(Self {
                load: Load::of_flow(run, flow),
                packets: flow.packets_received,
                coded_losses: coded_losses(&flow.packets_lost_by_reason, flow.packets_sent),
                absent_nodes: &flow.absent_nodes,
                is_starved,
                ..Self::new(run, name, ends, mean, slowest)
            })
        });
        let programs = run.programs.iter().filter_map(|(name, flow)| {
            let ends = [&flow.sender, &flow.receiver];
            Some(Self {
                load: Load::of_program(run, name, flow),
                packets: flow.packets_received,
                coded_losses: coded_losses(&flow.packets_lost_by_reason, flow.packets_sent),
                absent_nodes: &flow.absent_nodes,
                ..Self::new(
                    run,
                    name,
                    ends,
                    flow.delay_parts_ms.as_ref()?,
                    flow.delay_parts_slowest_ms.as_ref()?,
                )
            })
        });
        flows.chain(programs).collect()
    }

    fn new(
        run: &'a RunDocument,
        name: &'a str,
        ends: [&'a Option<String>; 2],
        mean: &'a DelayPartsSummary,
        slowest: &'a DelayPartsSummary,
    ) -> Self {
        let ends = ends.map(|end| end.as_deref());
        let nodes = match ends {
            [Some(sender), Some(receiver)] => waits_at(run, sender, receiver),
            _ => Vec::new(),
        };
        let first = nodes.first().and_then(|node| run.nodes.get(*node));
        let queue = first.and_then(|node| node.queue);
        Self {
            name,
            mean,
            slowest,
            absent_nodes: &[],
            ends,
            load: Load::Sparse,
            packets: 0,
            is_starved: false,
            nodes,
            queue,
            driver_share: first.map_or(0.0, driver_share),
            coded_losses: 0.0,
        }
    }

    /// Mean time that it waits in the driver's queue, in ms: as much of that in both queues as the
    /// packets in it are of those in both (Little's law).
    pub(super) fn driver_ms(&self) -> f64 {
        self.mean.queue * self.driver_share
    }

    /// Whether it waits in the queue of `node`; of flows and nodes that are not known, yes.
    pub(super) fn waits_at(&self, node: Option<&str>) -> bool {
        match node {
            Some(node) if !self.nodes.is_empty() => self.nodes.contains(&node),
            _ => true,
        }
    }
}

/// Share of the packets held by a node that are in a driver's queue beyond the bounds of airtime
/// that drivers have: those are for the next aggregates.
fn driver_share(node: &NodeSummary) -> f64 {
    let is_bounded = |driver: DriverQueueSummary| {
        driver.limit_airtime_ms.is_some_and(|ms| ms <= DRIVER_AIRTIME_MS)
    };
    match (node.driver_queue_packets, node.queue_packets) {
        (Some(below), Some(all))
            if all.mean > 0.0 && !node.driver_queue.is_some_and(is_bounded) =>
        {
            (below.mean / all.mean).min(1.0)
        }
        _ => 0.0,
    }
}

/// The nodes that send the packets from `sender` to `receiver` over the air: `sender`, if it
/// has Wi-Fi, and the access point, if it passes them on.
fn waits_at<'a>(run: &'a RunDocument, sender: &'a str, receiver: &str) -> Vec<&'a str> {
    let is_link = |from: &str, to: &str| run.links.keys().any(|it| ends(it) == Some((from, to)));
    let mut nodes: Vec<&str> = Vec::new();
    if run.nodes.contains_key(sender)
        && run.links.keys().any(|link| ends(link).is_some_and(|(from, _)| from == sender))
    {
        nodes.push(sender);
    }
    if !is_link(sender, receiver) && run.nodes.contains_key(receiver) {
        let passes = |node: &&String| node.as_str() != sender && is_link(node, receiver);
        nodes.extend(run.nodes.keys().find(passes).map(String::as_str));
    }
    let held =
        |node: &str| run.nodes.get(node).and_then(|it| it.queue_packets).map_or(0.0, |it| it.mean);
    nodes.sort_by(|a, b| held(b).total_cmp(&held(a)));
    nodes
}

/// The coded link and the node of it whose backlog drops the greatest share of its packets, and that
/// share; `None` below [`EXCESS`].
pub(super) fn full_backlog(run: &RunDocument) -> Option<(&str, &str, &CodedNodeSummary)> {
    let share = |node: &CodedNodeSummary| node.backlog_drops as f64 / node.packets_in.max(1) as f64;
    let nodes = run.franc.iter().flat_map(|(link, it)| {
        it.nodes.iter().map(move |(name, node)| (link.as_str(), name.as_str(), node))
    });
    nodes
        .filter(|(.., node)| share(node) >= EXCESS)
        .max_by(|(.., a), (.., b)| share(a).total_cmp(&share(b)))
}

/// Share of `sent` packets that coded links dropped.
fn coded_losses(reasons: &BTreeMap<LossReason, u64>, sent: u64) -> f64 {
    let lost = reasons.get(&LossReason::CodedLink).copied().unwrap_or(0);
    lost as f64 / sent.max(1) as f64
}

/// Packets that queues dropped, the backlogs of coded links among them.
fn dropped(run: &RunDocument, reasons: &BTreeMap<LossReason, u64>) -> u64 {
    let of = |reason| reasons.get(&reason).copied().unwrap_or(0);
    let coded = if full_backlog(run).is_some() { of(LossReason::CodedLink) } else { 0 };
    of(LossReason::QueueFull) + of(LossReason::ActiveQueue) + coded
}
