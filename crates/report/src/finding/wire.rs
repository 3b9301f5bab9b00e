//! Findings about wires: packets that they lose, queues before them, long paths. The
//! document has the time on all wires of a flow together.

use super::flow::Load;
use super::{Finding, Flow, Kind, delay, ms, percent, total, weight};
use lasthop_trace::{FlowKind, LossReason, RunDocument, WireSummary};
use std::collections::BTreeMap;

/// Minimum share of lost packets in one direction for a finding. TCP's throughput falls with the
/// root of it (Mathis et al., 1997).
const LOST: f64 = 0.004;
/// Mean time in the queue before a wire above which the queue is too long, in ms; the same as for
/// the queue of the hop.
const QUEUE_MEAN_MS: f64 = 25.0;
/// The same where a flow that fills the queue makes others wait.
const SHARED_MEAN_MS: f64 = 5.0;
/// Time, in ms, by which the slowest 1 % of the packets must exceed the mean time on wires to count
/// as late.
const RISE_MS: f64 = 30.0;
/// Mean time on wires above which a queue that drops packets is a finding, in ms, in documents
/// without the time of packets before a wire.
const WIRE_MEAN_MS: f64 = 60.0;

/// Wires that lose packets, or hold them.
pub(super) fn wire(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    held(run, flows).into_iter().chain(lossy(run)).max_by(|a, b| a.weight.total_cmp(&b.weight))
}

fn lossy(run: &RunDocument) -> Option<Finding> {
    let loses = |reasons: &BTreeMap<LossReason, u64>| reasons.contains_key(&LossReason::WireLoss);
    let is_missed = run.flows.values().any(|flow| loses(&flow.packets_lost_by_reason))
        || run.programs.values().any(|flow| loses(&flow.packets_lost_by_reason));
    // A coded link replaces the datagrams that its wires lose.
    if !run.franc.is_empty() && !is_missed {
        return None;
    }
    let lost = |wire: &WireSummary| {
        wire.packets_lost as f64 / (wire.packets + wire.packets_lost).max(1) as f64
    };
    let (name, wire) = run.wires.iter().max_by(|(_, a), (_, b)| lost(a).total_cmp(&lost(b)))?;
    if lost(wire) < LOST {
        return None;
    }
    // What the air loses beside it TCP takes for the same.
    let lost_by = |reason: LossReason| -> u64 {
        let tcp = run.flows.values().filter(|flow| flow.kind == FlowKind::Tcp);
        tcp.filter_map(|flow| flow.packets_lost_by_reason.get(&reason)).sum()
    };
    let (on_wires, on_air) = (lost_by(LossReason::WireLoss), lost_by(LossReason::RetryLimit));
    let share = match on_wires + on_air {
        0 => 1.0,
        all => on_wires as f64 / all as f64,
    };
    Some(Finding {
        kind: Kind::Wire,
        sentence: format!(
            "The wire {name} loses {:.1} % of its packets ({} of {}), which TCP takes for \
             congestion{}",
            100.0 * lost(wire),
            wire.packets_lost,
            wire.packets + wire.packets_lost,
            match on_air {
                0 => "; the Wi-Fi hop has no part in that".to_owned(),
                air => format!("; {air} more are given up on the air"),
            },
        ),
        weight: share * (0.5 + 10.0 * lost(wire)).min(0.95),
        remedy: Vec::new(),
        device: Some(
            "Find the hop that loses: mtr along the path, error counters of both ends (ip -s link), \
             another cable; inform the provider of the line",
        ),
    })
}

/// A queue before a wire that is too long. The propagation delay of a line is no fault.
fn held(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let rise = |flow: &Flow<'_>| flow.slowest.wire - flow.mean.wire;
    let waiting = flows.iter().filter_map(|flow| {
        let (name, wire) = fullest(run, flow)?;
        let waits = wire.queue_ms.map(|queue| queue.min(flow.mean.wire));
        let is_shared = || {
            let fills = |it: &Flow<'_>| {
                (it.load.is_bulk() || matches!(it.load, Load::Excess(_)))
                    && ways(run, it).is_none_or(|way| way.contains(&name))
            };
            rise(flow) > RISE_MS && flows.iter().any(fills)
        };
        let is_long = match waits {
            Some(waits) => waits > QUEUE_MEAN_MS || waits > SHARED_MEAN_MS && is_shared(),
            None => wire.queue_drops > 0 && (flow.mean.wire > WIRE_MEAN_MS || rise(flow) > RISE_MS),
        };
        is_long.then_some((flow, name, wire, waits))
    });
    let (flow, name, wire, waits) =
        waiting.max_by(|(a, ..), (b, ..)| a.slowest.wire.total_cmp(&b.slowest.wire))?;
    let queue =
        wire.queue.map_or(String::new(), |queue| format!(" ({})", delay::described(&queue)));
    let held =
        wire.queue_ms.map_or("are long".to_owned(), |wait| format!("wait {} on average", ms(wait)));
    let drops = match wire.queue_drops {
        0 => String::new(),
        drops => format!(", which drops {drops}"),
    };
    Some(Finding {
        kind: Kind::Wire,
        sentence: format!(
            "Packets {held} in the queue before the wire {name}{queue}{drops}; those of {} spend {} \
             on wires, {} of their one-way delay, and the slowest 1 % spend {}",
            flow.name,
            ms(flow.mean.wire),
            percent(flow.mean.wire / total(flow.mean)),
            ms(flow.slowest.wire),
        ),
        weight: weight(waits.unwrap_or(flow.mean.wire), flow.mean)
            .max(weight(rise(flow), flow.slowest)),
        remedy: vec![format!("wire.{name}.queue.kind=fq-codel")],
        device: Some(
            "Manage the queue at the router in front of the line (SQM): tc qdisc replace dev IFACE \
             root cake bandwidth RATE, a little below the line's rate, for each direction",
        ),
    })
}

/// The wire before which a flow waits longest: of those on its way, or of all if its way is not
/// known. In documents that do not say how long, the one that drops most, or the slowest one.
fn fullest<'a>(run: &'a RunDocument, flow: &Flow<'_>) -> Option<(&'a str, &'a WireSummary)> {
    let way = ways(run, flow);
    let is_on_way = |name: &str| way.as_ref().is_none_or(|way| way.contains(&name));
    let wires = run.wires.iter().filter(|(name, _)| is_on_way(name));
    let rate = |wire: &WireSummary| wire.rate_mbps.unwrap_or(f64::INFINITY);
    let fuller = |a: &WireSummary, b: &WireSummary| {
        let waits = a.queue_ms.unwrap_or(0.0).total_cmp(&b.queue_ms.unwrap_or(0.0));
        waits.then(a.queue_drops.cmp(&b.queue_drops)).then(rate(b).total_cmp(&rate(a)))
    };
    let fullest = wires.max_by(|(_, a), (_, b)| fuller(a, b));
    fullest.map(|(name, wire)| (name.as_str(), wire))
}

/// The wires on the way of a flow; `None` if the document does not say which they are.
fn ways<'a>(run: &'a RunDocument, flow: &Flow<'_>) -> Option<Vec<&'a str>> {
    match flow.ends {
        [Some(sender), Some(receiver)] => way(run, sender, receiver),
        _ => None,
    }
}

/// The wires from one node to another: wires make no loop, and all of the air is one place. `None`
/// if the document does not join the two.
fn way<'a>(run: &'a RunDocument, from: &str, to: &str) -> Option<Vec<&'a str>> {
    let hops = |of: &'a str| of.split_once("->");
    let mut reached: Vec<(&str, Vec<&'a str>)> = vec![(from, Vec::new())];
    let mut next = 0;
    while let Some((at, way)) = reached.get(next).cloned() {
        if at == to {
            return Some(way);
        }
        next += 1;
        for name in run.links.keys() {
            if let Some((_, far)) = hops(name).filter(|(near, _)| *near == at)
                && reached.iter().all(|(known, _)| *known != far)
            {
                reached.push((far, way.clone()));
            }
        }
        for name in run.wires.keys() {
            if let Some((_, far)) = hops(name).filter(|(near, _)| *near == at)
                && reached.iter().all(|(known, _)| *known != far)
            {
                reached.push((far, way.iter().copied().chain([name.as_str()]).collect()));
            }
        }
    }
    None
}
