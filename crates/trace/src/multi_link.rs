//! Devices of several links in the summary of a run (802.11be): the links that the packets of a flow
//! took, what they waited for these and would have waited for the others, and the time for which
//! links are idle or a radio turns to them.

use crate::names::Names;
use crate::value::{TimeSummary, rounded};
use lasthop_net::network::NetworkStats;
use lasthop_packet::{FlowId, NodeId};
use lasthop_units::Duration;
use lasthop_wifi::stats::Levels;
use lasthop_wifi::stats::multi_link::{FlowLinkStats, MultiLinkStats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Packets of a flow on one link of two devices, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowLinkSummary {
    /// Packets that the link delivered.
    pub packets: u64,
    /// Their share of the packets that all links of these devices delivered, 0 to 1.
    pub share: f64,
    /// Delay from entering the network to leaving this hop, in ms; percentiles to a hundredth. Absent
    /// if the link delivered none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_ms: Option<TimeSummary>,
    /// Mean time in the reorder buffer, in ms, for earlier packets that another link sent first.
    pub reorder_ms: f64,
    /// Mean wait for this link, of packets that it took first, in ms: from when they were first in
    /// line until the link gained its channel. Absent if the wait for no other link is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait_ms: Option<f64>,
    /// Mean wait that the same packets would have had for each other link, in ms, by its name: until
    /// that link, which contends at the same time, gained its channel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub other_wait_ms: BTreeMap<String, f64>,
}

/// A device of several links, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MultiLinkSummary {
    /// Time for which packets wait in its queue, as a share of the time after the warm-up, 0 to 1;
    /// summed over access categories.
    pub queued_fraction: f64,
    /// Its links by name.
    pub links: BTreeMap<String, IdleLinkSummary>,
    /// Time that a device with one radio (EMLSR) takes to turn it; absent for other devices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub switching: Option<SwitchingSummary>,
}

/// A link that neither contends nor sends although packets wait for a device with this link: shares of
/// the time after the warm-up, 0 to 1, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleLinkSummary {
    /// The Block Ack window is full.
    pub window_fraction: f64,
    /// A device at one end has one radio, which is on another link or returns from it.
    pub engaged_fraction: f64,
    /// The packets may not take the link.
    pub barred_fraction: f64,
}

/// Time that a device with one radio takes to turn it between links (EMLSR, 35.3.17 of IEEE
/// 802.11be-2024). Shares are of the time after the warm-up, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SwitchingSummary {
    /// Initial control frames to it, and RTS that it sends because it lost the state of the medium.
    pub requests: u64,
    /// Requests of these without an answer.
    pub unanswered: u64,
    /// Time from their begin to that of the data.
    pub request_fraction: f64,
    /// Part of `request_fraction` that is padding.
    pub padding_fraction: f64,
    /// Time for its return to all links after exchanges.
    pub transition_fraction: f64,
    /// Time of the exchanges, requests included.
    pub exchange_fraction: f64,
    /// Mean time that a packet waits for its request, in ms, over packets in exchanges with one.
    pub request_ms: f64,
    /// Mean time for which such a packet is first in line while the device returns to its links, in
    /// ms. Backoff goes on meanwhile, so it loses no more than that.
    pub transition_ms: f64,
}

/// Returns the links of the packets of a flow that enters the network at `source`, by direction and
/// link.
pub(crate) fn of_flow(
    flow: FlowId,
    source: NodeId,
    stats: &NetworkStats,
    names: &Names,
) -> BTreeMap<String, FlowLinkSummary> {
    let is_its = |it: &FlowLinkStats| (it.flow, it.source) == (flow, source);
    let of = stats.flow_links.iter().filter(|(.., it)| is_its(it));
    let summary = |(from, to, it): &(NodeId, NodeId, FlowLinkStats)| {
        let between = of.clone().filter(|(a, b, _)| (a, b) == (from, to));
        let all: u64 = between.map(|(.., it)| it.packets).sum();
        let direction = format!("{}->{}", names.node(*from), names.node(*to));
        (names.on_link(direction, it.link), flow_link(it, all, names))
    };
    of.clone().map(summary).filter(|(_, it)| it.packets > 0 || it.wait_ms.is_some()).collect()
}

fn flow_link(it: &FlowLinkStats, all: u64, names: &Names) -> FlowLinkSummary {
    let known: u64 = it.elsewhere.iter().map(|other| other.packets).sum();
    let here: Duration = it.elsewhere.iter().map(|other| other.here).sum();
    let others = it.elsewhere.iter().zip(&names.links).filter(|(other, _)| other.packets > 0);
    FlowLinkSummary {
        packets: it.packets,
        share: rounded(it.packets as f64 / all.max(1) as f64, 9),
        delay_ms: delay(it),
        reorder_ms: mean_ms(it.reorder, it.packets),
        wait_ms: (known > 0).then(|| mean_ms(here, known)),
        other_wait_ms: others
            .map(|(other, name)| (name.clone(), mean_ms(other.there, other.packets)))
            .collect(),
    }
}

fn delay(it: &FlowLinkStats) -> Option<TimeSummary> {
    let ms = |hundredths: u32| rounded(f64::from(hundredths) / 100.0, 6);
    let at = |levels: &Levels, q| levels.quantile(q).map(ms);
    Some(TimeSummary {
        mean: (it.packets > 0).then(|| mean_ms(it.delay, it.packets))?,
        p50: at(&it.delays, 0.5)?,
        p95: at(&it.delays, 0.95)?,
        p99: at(&it.delays, 0.99)?,
        max: it.delays.max().map(ms)?,
    })
}

/// Returns the counts of a device.
pub(crate) fn of_device(
    stats: &MultiLinkStats,
    counted: Duration,
    names: &Names,
) -> MultiLinkSummary {
    let share =
        |time: Duration| rounded(time.as_nanos() as f64 / counted.as_nanos().max(1) as f64, 9);
    let idle = stats.idle.iter().zip(&names.links).map(|(idle, name)| {
        let summary = IdleLinkSummary {
            window_fraction: share(idle.window),
            engaged_fraction: share(idle.engaged),
            barred_fraction: share(idle.barred),
        };
        (name.clone(), summary)
    });
    let it = &stats.switching;
    MultiLinkSummary {
        queued_fraction: share(stats.queued),
        links: idle.collect(),
        switching: (it.requests > 0).then(|| SwitchingSummary {
            requests: it.requests,
            unanswered: it.unanswered,
            request_fraction: share(it.requesting),
            padding_fraction: share(it.padding),
            transition_fraction: share(it.transition),
            exchange_fraction: share(it.engaged),
            request_ms: mean_ms(it.packets_requesting, it.packets),
            transition_ms: mean_ms(it.packets_transition, it.packets),
        }),
    }
}

fn mean_ms(sum: Duration, packets: u64) -> f64 {
    rounded(sum.as_nanos() as f64 / 1e6 / packets.max(1) as f64, 6)
}
