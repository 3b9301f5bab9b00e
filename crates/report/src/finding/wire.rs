//! Findings about wires: packets that they lose, queues before them, long paths. The
//! document has the time on all wires of a flow together.

use super::{Finding, Flow, Kind, delay, ms, percent, total, weight};
use lasthop_trace::{FlowKind, LossReason, RunDocument, WireSummary};

/// Share of the packets of a direction that are lost on the way, from which it is a
/// finding. TCP's throughput falls with the root of it (Mathis et al., 1997).
const LOST: f64 = 0.004;
/// Mean time on wires from which it is one, in ms.
const WIRE_MEAN_MS: f64 = 60.0;
/// The time that the slowest 1 % spend there beyond the mean, from which it is one, too, in ms.
const WIRE_RISE_MS: f64 = 30.0;
/// The slowest 1 % relative to the mean from which a queue makes the difference.
const QUEUE_RISE: f64 = 1.1;

/// Wires that lose packets, or hold them.
pub(super) fn wire(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    held(run, flows).into_iter().chain(lossy(run)).max_by(|a, b| a.weight.total_cmp(&b.weight))
}

fn lossy(run: &RunDocument) -> Option<Finding> {
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

fn held(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let rise = |flow: &Flow<'_>| flow.slowest.wire - flow.mean.wire;
    let is_long = |flow: &&Flow<'_>| flow.mean.wire > WIRE_MEAN_MS || rise(flow) > WIRE_RISE_MS;
    let flow = delay::worst(flows.iter().filter(is_long), |parts| parts.wire)?;
    let full = fullest(run, flow);
    let dropped = full.filter(|(_, wire)| wire.queue_drops > 0);
    let is_queue = dropped.is_some() || flow.slowest.wire > QUEUE_RISE * flow.mean.wire;
    let why = match dropped {
        Some((name, wire)) => {
            format!("; the queue before {name} is full and drops {} packets", wire.queue_drops)
        }
        None if is_queue => {
            format!("; the slowest 1 % spend {} there, so a queue builds up", ms(flow.slowest.wire))
        }
        None => "; the slowest 1 % spend no more, so it is the length of the path".to_owned(),
    };
    let remedy =
        full.filter(|_| is_queue).map(|(name, _)| format!("wire.{name}.queue.kind=fq-codel"));
    Some(Finding {
        kind: Kind::Wire,
        sentence: format!(
            "Packets of {} spend {} on wires, {} of their one-way delay{why}",
            flow.name,
            ms(flow.mean.wire),
            percent(flow.mean.wire / total(flow.mean)),
        ),
        weight: weight(flow.mean.wire, flow.mean).max(weight(rise(flow), flow.slowest)),
        remedy: remedy.into_iter().collect(),
        device: is_queue.then_some(
            "Manage the queue at the router in front of the line (SQM): tc qdisc replace dev IFACE \
             root cake bandwidth RATE, a little below the line's rate, for each direction",
        ),
    })
}

/// The wire whose queue a flow waits in: of those on its way, or of all if its way is not known,
/// the one that drops most, or the slowest one.
fn fullest<'a>(run: &'a RunDocument, flow: &Flow<'_>) -> Option<(&'a str, &'a WireSummary)> {
    let way = match flow.ends {
        [Some(sender), Some(receiver)] => way(run, sender, receiver),
        _ => None,
    };
    let is_on_way = |name: &str| way.as_ref().is_none_or(|way| way.contains(&name));
    let wires = run.wires.iter().filter(|(name, _)| is_on_way(name));
    let rate = |wire: &WireSummary| wire.rate_mbps.unwrap_or(f64::INFINITY);
    let fuller = |a: &WireSummary, b: &WireSummary| {
        a.queue_drops.cmp(&b.queue_drops).then(rate(b).total_cmp(&rate(a)))
    };
    let fullest = wires.max_by(|(_, a), (_, b)| fuller(a, b));
    fullest.map(|(name, wire)| (name.as_str(), wire))
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
