//! Findings about devices of several links: a link that is idle while packets queue, packets that
//! wait for those on the other link, and the time that one radio takes to turn between links. Times
//! in ms.

use super::flow::{Flow, Load};
use super::{Finding, Kind, ends, ms, percent, total, weight};
use lasthop_trace::{FlowLinkSummary, IdleLinkSummary, LinkSummary, MultiLinkSummary, RunDocument};
use std::collections::BTreeMap;

/// Least share of a flow's mean delay that a fault costs: the least change of a number that counts as
/// one (`trial`).
const COST_SHARE: f64 = 0.1;
/// Least cost of a fault, in ms a packet.
const COST_MS: f64 = 1.0;
/// Longest duration of PPDUs that other packets wait for: the default TXOP limit of voice (IEEE
/// 802.11-2020, table 9-155).
const SHORT_PPDU: &str = "1.504ms";
/// Largest Block Ack window (IEEE 802.11be-2024, 9.4.1.13).
const WINDOW_MAX: u16 = 1_024;

/// Least share by which a bulk transfer or a flood would carry more without the fault.
const GAIN: f64 = 0.1;

/// The cost of a fault for a flow.
struct Cost<'a, 'b> {
    flow: &'b Flow<'a>,
    /// In ms a packet of the mean delay.
    ms: f64,
    /// Share by which a bulk transfer or a flood would carry more; 0 for other flows.
    gain: f64,
}

impl Cost<'_, '_> {
    fn is_enough(&self) -> bool {
        let is_long = self.ms >= COST_MS && self.ms >= COST_SHARE * total(self.flow.mean);
        is_long || self.gain >= GAIN
    }

    /// The share of the delay, or of what could be carried.
    fn weight(&self) -> f64 {
        weight(self.ms, self.flow.mean).max(self.gain / (1.0 + self.gain))
    }
}

/// The flow with the greatest cost of a fault, if the cost is enough; `of` has the cost in ms a packet,
/// and `gain` the share by which bulk transfers and floods would carry more without the fault.
fn worst<'a, 'b>(
    flows: impl Iterator<Item = &'b Flow<'a>>,
    of: impl Fn(&Flow<'a>) -> f64,
    gain: f64,
) -> Option<Cost<'a, 'b>>
where
    'a: 'b,
{
    let takes_all = |flow: &Flow<'_>| matches!(flow.load, Load::Bulk | Load::Excess(_));
    let cost = |flow| {
        let gain = if takes_all(flow) { gain } else { 0.0 };
        Cost { flow, ms: of(flow), gain }
    };
    let costs = flows.map(cost).filter(Cost::is_enough);
    costs.max_by(|a, b| a.weight().total_cmp(&b.weight()))
}

/// Links of the packets of a flow; none for a flow between nodes with one link.
fn links_of<'a>(
    run: &'a RunDocument,
    flow: &Flow<'_>,
) -> Option<&'a BTreeMap<String, FlowLinkSummary>> {
    let links = run.flows.get(flow.name).map(|it| &it.links);
    let links = links.or_else(|| run.programs.get(flow.name).map(|it| &it.links));
    links.filter(|links| !links.is_empty())
}

/// Whether packets of a flow leave this node on links of a device.
fn leaves(run: &RunDocument, flow: &Flow<'_>, node: &str) -> bool {
    hops(run, flow).any(|(from, _)| from == node)
}

/// Sender and receiver of each direction in which the packets of a flow cross links of devices.
fn hops<'a>(
    run: &'a RunDocument,
    flow: &Flow<'_>,
) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    links_of(run, flow).into_iter().flat_map(|links| links.keys().filter_map(|name| ends(name)))
}

/// The findings about links of devices.
pub(super) fn links(run: &RunDocument, flows: &[Flow<'_>]) -> Vec<Finding> {
    let found = [idle(run, flows), reordering(run, flows), switching(run, flows)];
    found.into_iter().flatten().collect()
}

fn devices(run: &RunDocument) -> impl Iterator<Item = (&str, &MultiLinkSummary)> {
    run.nodes.iter().filter_map(|(name, node)| Some((name.as_str(), node.multi_link.as_ref()?)))
}

/// Time for which a link is idle, in all.
fn idle_fraction(link: &IdleLinkSummary) -> f64 {
    link.window_fraction + link.engaged_fraction + link.barred_fraction
}

/// The link with the most expensive idle time. The cost is the share of the wait in the queue in
/// which the link is idle, and the traffic that its rate would carry meanwhile on a free channel.
fn idle(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let of_node = |(node, device): (&str, &MultiLinkSummary)| {
        let (name, link) = device
            .links
            .iter()
            .max_by(|(_, a), (_, b)| idle_fraction(a).total_cmp(&idle_fraction(b)))?;
        let idle = idle_fraction(link);
        let share = idle / device.queued_fraction.max(f64::MIN_POSITIVE);
        let from = run.links.iter().filter(|(it, _)| ends(it).is_some_and(|(it, _)| it == node));
        let rate = |link: &LinkSummary| link.data_rate_mbps.map_or(0.0, |rate| rate.mean);
        let carried = from.clone().map(|(_, it)| rate(it) * it.airtime_fraction).sum::<f64>();
        let is_it = |it: &&String| it.rsplit_once('@').is_some_and(|(_, link)| link == name);
        let its = from.filter(|(it, _)| is_it(it)).map(|(_, it)| rate(it)).fold(0.0, f64::max);
        let gain = idle * its / carried.max(f64::MIN_POSITIVE);
        let leaving = flows.iter().filter(|flow| leaves(run, flow, node));
        let cost = worst(leaving, |it| it.mean.queue * share, gain)?;
        let (because, remedy, on_devices) = reason(run, node, link, cost.flow);
        let sentence = format!(
            "The link of {node} at {name} is idle for {} of the time although packets wait: \
             {because}. Packets of {} wait {} in the queue, {} of their delay",
            percent(idle),
            cost.flow.name,
            ms(cost.flow.mean.queue),
            percent(cost.flow.mean.queue / total(cost.flow.mean)),
        );
        let (device, weight) = (Some(on_devices), cost.weight());
        Some(Finding { kind: Kind::IdleLink, sentence, weight, remedy, device })
    };
    devices(run).filter_map(of_node).max_by(|a, b| a.weight.total_cmp(&b.weight))
}

/// Reason for which a link of `node` is idle, as a clause, and its remedies.
fn reason(
    run: &RunDocument,
    node: &str,
    link: &IdleLinkSummary,
    flow: &Flow<'_>,
) -> (String, Vec<String>, &'static str) {
    let &IdleLinkSummary { window_fraction, engaged_fraction, barred_fraction } = link;
    if window_fraction >= engaged_fraction.max(barred_fraction) {
        let peers = peers(run, node, flow);
        let ends = || [node].into_iter().chain(peers.iter().copied());
        let window = |name: &str| Some(run.nodes.get(name)?.aggregation?.block_ack_window);
        let least = ends().filter_map(window).min();
        let because = match least {
            Some(window) => format!("the Block Ack window of {window} MPDUs is full"),
            None => "the Block Ack window is full".to_owned(),
        };
        let is_less = |name: &&str| window(name).is_none_or(|window| window < WINDOW_MAX);
        let set = |name: &str| format!("node.{name}.block_ack.window={WINDOW_MAX}");
        return (
            because,
            ends().filter(is_less).map(set).collect(),
            "One window serves all links: more of it (802.11be has 1 024), or a slow link that is \
             left out",
        );
    }
    if engaged_fraction >= barred_fraction {
        let has_one_radio = |name: &str| {
            run.nodes.get(name).and_then(|it| it.multi_link.as_ref()?.switching).is_some()
        };
        let radio = [node].into_iter().chain(peers(run, node, flow));
        let radio = radio.into_iter().find(|name| has_one_radio(name)).unwrap_or(node);
        return (
            format!("{radio} has one radio, which is on another link"),
            vec![format!("node.{radio}.multi_link=str")],
            "Only a device with a radio for each link uses both at once (STR); expect the mean of \
             both links of this one, not their sum",
        );
    }
    let because = "link_use or power_save of an end keeps them off it".to_owned();
    (because, Vec::new(), "Let this traffic use all links: link_use of both ends, and power_save")
}

/// Nodes that a flow reaches from `node` on links of devices.
fn peers<'a>(run: &'a RunDocument, node: &str, flow: &Flow<'_>) -> Vec<&'a str> {
    let to = hops(run, flow).filter(|(from, _)| *from == node).map(|(_, to)| to);
    let mut peers: Vec<&str> = to.collect();
    peers.dedup();
    peers
}

/// Packets that wait in the reorder buffer for earlier ones on another link.
fn reordering(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let wait = |flow: &Flow<'_>| {
        let links = links_of(run, flow).into_iter().flat_map(BTreeMap::values);
        let all = links.fold((0.0, 0.0), |(wait, packets), link| {
            let number = link.packets as f64;
            (wait + number * link.reorder_ms, packets + number)
        });
        all.0 / f64::max(all.1, 1.0)
    };
    let cost = worst(flows.iter(), wait, 0.0)?;
    let links = links_of(run, cost.flow)?;
    // Those that wait come on the fast link, for those on the slow one.
    let ms_of_ppdu = |name: &str| {
        let link = run.links.get(name)?;
        let counted_s = Some(run.duration_s - run.warmup_s).filter(|it| *it > 0.0);
        let counted_ms = 1e3 * counted_s.unwrap_or(run.duration_s);
        Some(link.airtime_fraction * counted_ms / link.ppdus.max(1) as f64)
    };
    let (fast, _) = links.iter().max_by(|(_, a), (_, b)| {
        (a.reorder_ms * a.packets as f64).total_cmp(&(b.reorder_ms * b.packets as f64))
    })?;
    let direction = fast.split_once('@').map_or(fast.as_str(), |it| it.0);
    let is_slow = |name: &&String| *name != fast && name.starts_with(direction);
    let slow = links.keys().filter(is_slow);
    let (slow, slow_ms) = slow
        .filter_map(|name| Some((name, ms_of_ppdu(name)?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let (from, to) = ends(direction)?;
    let link_of = |name: &str| name.rsplit_once('@').map_or_else(String::new, |it| it.1.to_owned());
    Some(Finding {
        kind: Kind::Reordering,
        sentence: format!(
            "Packets of {} that arrive at {to} on one link wait {} a packet for earlier ones on \
             the other, {} of their delay: most came at {}, and PPDUs at {} last {slow_ms:.2} ms",
            cost.flow.name,
            ms(cost.ms),
            percent(cost.ms / total(cost.flow.mean)),
            link_of(fast),
            link_of(slow),
        ),
        weight: weight(cost.ms, cost.flow.mean),
        remedy: vec![format!("node.{from}.aggregation.ampdu_duration_max={SHORT_PPDU}")],
        device: Some(
            "Shorter PPDUs, or the slow link left out: one reorder buffer waits for the slowest link",
        ),
    })
}

/// Time that a device with one radio takes to turn it between links.
fn switching(run: &RunDocument, flows: &[Flow<'_>]) -> Option<Finding> {
    let of_node = |(node, device): (&str, &MultiLinkSummary)| {
        let it = device.switching?;
        let turning = it.request_fraction + it.transition_fraction;
        let busy = it.exchange_fraction + it.transition_fraction;
        let share = turning / busy.max(f64::MIN_POSITIVE);
        let touches =
            |flow: &Flow<'_>| hops(run, flow).any(|(from, to)| [from, to].contains(&node));
        // Without it the queue would be served so much faster.
        let own = it.request_ms + it.transition_ms;
        let touching = flows.iter().filter(|flow| touches(flow));
        let gain = share / (1.0 - share).max(f64::MIN_POSITIVE);
        let cost = worst(touching, |flow| own + share * flow.mean.queue, gain)?;
        let sentence = format!(
            "The one radio of {node} takes {} of the time for turning between links: {} for requests \
             before data, of which {} is padding, and {} to return. Packets of {} wait {} for them and \
             {} in the queue",
            percent(turning),
            percent(it.request_fraction),
            percent(it.padding_fraction),
            percent(it.transition_fraction),
            cost.flow.name,
            ms(own),
            ms(cost.flow.mean.queue),
        );
        Some(Finding {
            kind: Kind::Switching,
            sentence,
            weight: cost.weight(),
            remedy: vec![format!("node.{node}.multi_link=off")],
            device: Some(
                "Leave several links off on this device (one link needs no turns), or take one with \
                 a radio for each",
            ),
        })
    };
    devices(run).filter_map(of_node).max_by(|a, b| a.weight.total_cmp(&b.weight))
}
