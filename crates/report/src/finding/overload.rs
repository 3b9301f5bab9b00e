//! Findings about UDP that offers more than the hop carries. It does not slow down, so that
//! no queue discipline helps it: a long queue delays it more and drops it later.

use super::flow::{Excess, Flow, Load, Offered};
use super::{Finding, Kind, delay, ms, percent, weight};

/// Mean time in the queue from which it is a finding, in ms.
const QUEUE_MEAN_MS: f64 = 25.0;
/// What is left of the rate that arrives, so that the queue drains.
const HEADROOM: f64 = 0.9;

/// The flow that waits longest of those that offer too much.
pub(super) fn overload<'a, 'b>(flows: &'b [Flow<'a>]) -> Option<(Finding, &'b Flow<'a>)> {
    let is_it =
        |flow: &&Flow<'_>| matches!(flow.load, Load::Excess(_)) && flow.mean.queue > QUEUE_MEAN_MS;
    let flow = delay::worst(flows.iter().filter(is_it), |parts| parts.queue)?;
    let Load::Excess(Excess { offered, carried_mbps, dropped }) = flow.load else {
        return None;
    };
    let carried = carried_mbps.unwrap_or(0.0);
    let offers = match offered {
        Offered::Mbps(offered) => format!("offers {offered:.1} Mb/s, and {carried:.1} Mb/s arrive"),
        Offered::Saturated => {
            format!("sends as much as there is room for, and {carried:.1} Mb/s arrive")
        }
        Offered::Unknown => "sends more than arrives".to_owned(),
    };
    let drops = match dropped {
        dropped if dropped >= 0.005 => {
            format!(", and queues drop {} of its packets", percent(dropped))
        }
        _ => String::new(),
    };
    let remedy = match offered {
        Offered::Mbps(_) if carried > 0.0 => {
            vec![format!("flow.{}.rate={:.0}kb/s", flow.name, HEADROOM * 1e3 * carried)]
        }
        _ => Vec::new(),
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
        remedy,
        device: Some(
            "Lower the rate at the sender, or shape it there: tc qdisc replace dev IFACE root cake \
             bandwidth RATE",
        ),
    };
    Some((finding, flow))
}
