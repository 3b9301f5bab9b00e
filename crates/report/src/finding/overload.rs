//! Findings about UDP that offers more than the hop or a coded link carries. UDP does not slow
//! down, so no queue discipline helps: a longer queue delays packets more and drops them later.

use super::flow::{EXCESS, Excess, Flow, Load, Offered, full_backlog};
use super::{Finding, Kind, delay, ms, percent, weight};
use lasthop_trace::RunDocument;

/// Mean time in the queue above which overload is a finding, in ms.
const QUEUE_MEAN_MS: f64 = 25.0;
/// Share of the rate that arrives, which the remedy offers so that the queue drains.
const HEADROOM: f64 = 0.9;
/// The remedy on real devices.
const ON_DEVICES: &str = "Lower the rate at the sender, or shape it there: tc qdisc replace dev IFACE \
                          root cake bandwidth RATE";

/// The flow that waits longest of those that offer too much.
pub(super) fn overload<'a, 'b>(flows: &'b [Flow<'a>]) -> Option<(Finding, &'b Flow<'a>)> {
    let is_it =
        |flow: &&Flow<'_>| matches!(flow.load, Load::Excess(_)) && flow.mean.queue > QUEUE_MEAN_MS;
    let flow = delay::worst(flows.iter().filter(is_it), |parts| parts.queue)?;
    let Load::Excess(Excess { offered, carried_mbps, dropped }) = flow.load else {
        return None;
    };
    let offers = offers(offered, carried_mbps);
    let drops = match dropped {
        dropped if dropped >= 0.005 => {
            format!(", and queues drop {} of its packets", percent(dropped))
        }
        _ => String::new(),
    };
    let finding = Finding {
        kind: Kind::Overload,
        sentence: format!(
            "{} {offers}: the hop carries no more of it. Its packets wait {} behind each other on \
             average{drops}; UDP does not slow down for that, so no queue discipline helps it",
            flow.name,
            ms(flow.mean.queue),
        ),
        weight: weight(flow.slowest.queue, flow.slowest),
        remedy: slower(flow, offered, carried_mbps),
        device: Some(ON_DEVICES),
    };
    Some((finding, flow))
}

/// UDP that offers more than a coded link carries: the link's backlog drops the rest.
pub(super) fn coded(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let (link, node, counts) = full_backlog(run)?;
    let is_it =
        |flow: &&Flow<'_>| matches!(flow.load, Load::Excess(_)) && flow.coded_losses >= EXCESS;
    let flow =
        flows.iter().filter(is_it).max_by(|a, b| a.coded_losses.total_cmp(&b.coded_losses))?;
    let Load::Excess(Excess { offered, carried_mbps, .. }) = flow.load else {
        return None;
    };
    let (inside, slowest) =
        [flow.mean, flow.slowest].map(|parts| parts.other.unwrap_or(0.0)).into();
    Some(Finding {
        kind: Kind::Overload,
        sentence: format!(
            "{} {}: the coded link {link} carries no more of it. The backlog of {node} drops {} of \
             {} packets, and packets that arrive take {} through the link on average; UDP does not \
             slow down for that, so no queue discipline helps it",
            flow.name,
            offers(offered, carried_mbps),
            counts.backlog_drops,
            counts.packets_in,
            ms(inside),
        ),
        weight: weight(slowest, flow.slowest).max(flow.coded_losses),
        remedy: slower(flow, offered, carried_mbps),
        device: Some(ON_DEVICES),
    })
}

/// Returns the offered rate and the rate that arrives, as text.
fn offers(offered: Offered, carried_mbps: Option<f64>) -> String {
    let carried = carried_mbps.unwrap_or(0.0);
    match offered {
        Offered::Mbps(offered) => format!("offers {offered:.1} Mb/s, and {carried:.1} Mb/s arrive"),
        Offered::Saturated => {
            format!("sends as much as there is room for, and {carried:.1} Mb/s arrive")
        }
        Offered::Unknown => "sends more than arrives".to_owned(),
    }
}

/// The remedy: nine tenths of the rate that arrives.
fn slower(flow: &Flow<'_>, offered: Offered, carried_mbps: Option<f64>) -> Vec<String> {
    let carried = carried_mbps.unwrap_or(0.0);
    match offered {
        Offered::Mbps(_) if carried > 0.0 => {
            vec![format!("flow.{}.rate={:.0}kb/s", flow.name, HEADROOM * 1e3 * carried)]
        }
        _ => Vec::new(),
    }
}
