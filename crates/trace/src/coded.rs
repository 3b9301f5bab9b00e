//! The summary of coded links (FRANC) in the document of a run: counters of their nodes
//! and the delays of packets, after the warm-up. The doc comments of types are the
//! descriptions in the JSON Schema.

use crate::histogram::Histogram;
use crate::names::Names;
use crate::value::{TimeSummary, rounded, time_ms};
use lasthop_franc::Stats;
use lasthop_franc::stats::LinkStats;
use lasthop_hosts::{FrancLinkChange, FrancNodeReport, FrancReport};
use lasthop_packet::NodeId;
use lasthop_units::{Duration, Instant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A coded link, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodedLinkSummary {
    /// Packets that left the link without having entered it, or twice: zero, or a bug.
    pub corrupt: u64,
    /// Directions from each end to the other, as `from->to`; absent without traffic.
    pub directions: BTreeMap<String, CodedDirectionSummary>,
    /// Nodes of the link by name.
    pub nodes: BTreeMap<String, CodedNodeSummary>,
}

/// One direction of a coded link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodedDirectionSummary {
    /// Packets that left the link.
    pub packets: u64,
    /// Delay from entering to leaving the link, in ms.
    pub delay_ms: TimeSummary,
}

/// A node of a coded link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodedNodeSummary {
    /// Role of the node.
    pub role: CodedRole,
    /// Packets that entered the link here.
    pub packets_in: u64,
    /// Packets that left the link here.
    pub packets_out: u64,
    /// Packets dropped by the backlog.
    pub backlog_drops: u64,
    /// Blocks acknowledged by the other end.
    pub blocks: u64,
    /// Datagrams sent with an uncoded symbol; of a plain link, frames.
    pub source_sent: u64,
    /// Datagrams sent with combinations of symbols.
    pub coded_sent: u64,
    /// Mean number of `source_sent` and `coded_sent` for a block of this end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub transmissions_per_block: Option<f64>,
    /// Number of encoder timeouts.
    pub timeouts: u64,
    /// Mean number of encoder timeouts for a block of this end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeouts_per_block: Option<f64>,
    /// Number of acknowledgements sent.
    pub acks_sent: u64,
    /// Innovative datagrams received: those that raised the rank of their block.
    pub innovative: u64,
    /// Redundant datagrams received.
    pub redundant: u64,
    /// Stale datagrams received, of completed blocks.
    pub stale: u64,
    /// Injected losses of datagrams here.
    pub injected_losses: u64,
    /// Bytes of the datagrams sent.
    pub datagram_bytes_sent: u64,
    /// Symbols given up because their sender restarted or vanished.
    pub symbols_lost: u64,
    /// Number of sessions begun.
    pub sessions: u64,
    /// Share of the datagrams to this node that were lost, by neighbour, as estimated at the end.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub loss_in: BTreeMap<String, f64>,
    /// TCP acknowledgements in the backlog that later ones replaced.
    #[serde(default)]
    pub acks_replaced: u64,
    /// The links of an end with two, by the node whose network interface is the end's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub links: BTreeMap<String, CodedEndLinkSummary>,
}

/// One of two links of an end, with estimates as of the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodedEndLinkSummary {
    /// Number of the link, from 1 on.
    pub link: u8,
    /// Whether the link is in use; otherwise the end only tests it.
    pub alive: bool,
    /// Bytes of the datagrams that this end sent on the link.
    pub datagram_bytes_sent: u64,
    /// Share of the bytes that this end sent on both, once something was sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<f64>,
    /// Share of the other end's datagrams lost on the link, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_in: Option<f64>,
    /// Share of this end's datagrams lost on the link, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_out: Option<f64>,
    /// Smoothed round-trip time in ms, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip_ms: Option<f64>,
    /// Sending rate in Mb/s.
    pub pace_mbps: f64,
    /// Times at which the link was dead, over the whole run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub silences: Vec<CodedSilence>,
}

/// A time at which a link was dead, as an end noticed it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodedSilence {
    /// Time at which the last datagram was sent that arrived, in s since the start of the run.
    pub from_s: f64,
    /// Time at which the end knew that datagrams arrive again; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until_s: Option<f64>,
}

/// Roles of a node of a coded link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CodedRole {
    /// Encoder and decoder at an end of the link.
    End,
    /// Relay between the ends.
    Relay,
    /// Helper beside the ends.
    Helper,
}

/// Counters of a coded link during a run.
#[derive(Debug)]
pub(crate) struct CodedTally {
    /// Start of the measured time: the end of the warm-up.
    from: Instant,
    delays: BTreeMap<NodeId, Histogram>,
    report: Option<FrancReport>,
    /// By end and link.
    silences: BTreeMap<(NodeId, u8), Vec<CodedSilence>>,
}

impl CodedTally {
    pub fn new(from: Instant) -> Self {
        Self { from, delays: BTreeMap::new(), report: None, silences: BTreeMap::new() }
    }

    pub fn carried(&mut self, now: Instant, end: NodeId, delay: Duration) {
        if now >= self.from {
            self.delays.entry(end).or_default().add(delay.as_nanos());
        }
    }

    pub fn changed(&mut self, now: Instant, change: &FrancLinkChange) {
        let FrancLinkChange { end, link, is_alive, silent } = *change;
        let seconds = |at: Instant| rounded((at - Instant::ZERO).as_secs_f64(), 6);
        let silences = self.silences.entry((end, link)).or_default();
        if !is_alive {
            silences.push(CodedSilence { from_s: seconds(now - silent), until_s: None });
        } else if let Some(last) = silences.last_mut() {
            last.until_s = Some(seconds(now));
        }
    }

    pub fn ended(&mut self, report: &FrancReport) {
        self.report = Some(report.clone());
    }

    /// Returns the summary; `None` before the end of the run.
    pub fn summary(&self, names: &Names) -> Option<CodedLinkSummary> {
        let report = self.report.as_ref()?;
        let ends = [report.nodes.first()?.node, report.nodes.get(report.path - 1)?.node];
        let mut directions = BTreeMap::new();
        for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            let Some(delays) = self.delays.get(&from) else { continue };
            let Some(delay_ms) = time_ms(delays) else { continue };
            let direction = format!("{}->{}", names.node(from), names.node(to));
            let summary = CodedDirectionSummary { packets: delays.count(), delay_ms };
            directions.insert(direction, summary);
        }
        let role = |index: usize| match index {
            _ if index >= report.path => CodedRole::Helper,
            0 => CodedRole::End,
            _ if index + 1 == report.path => CodedRole::End,
            _ => CodedRole::Relay,
        };
        let name_of = |number: usize| {
            let node = report.nodes.get(number.wrapping_sub(1));
            node.map_or_else(|| number.to_string(), |node| names.node(node.node).to_owned())
        };
        let links = |index: usize, node: &FrancNodeReport| -> BTreeMap<_, _> {
            let summary = |link: &LinkStats| {
                let second = report.second.map(|nodes| nodes[usize::from(index > 0)]);
                let interface = second.filter(|_| link.link > 0).unwrap_or(node.node);
                let silences = self.silences.get(&(node.node, link.link));
                let summary = link_summary(&node.stats, link, silences.cloned());
                (names.node(interface).to_owned(), summary)
            };
            node.stats.links.iter().map(summary).collect()
        };
        let nodes = report.nodes.iter().enumerate();
        Some(CodedLinkSummary {
            corrupt: report.corrupt,
            directions,
            nodes: nodes
                .map(|(index, node)| {
                    let summary = node_summary(&node.stats, role(index), &name_of);
                    let links = links(index, node);
                    (names.node(node.node).to_owned(), CodedNodeSummary { links, ..summary })
                })
                .collect(),
        })
    }
}

fn node_summary(
    stats: &Stats,
    role: CodedRole,
    name_of: &dyn Fn(usize) -> String,
) -> CodedNodeSummary {
    let per_block = |count: u64| {
        let is_end = role == CodedRole::End && stats.blocks_done > 0;
        is_end.then(|| rounded(count as f64 / stats.blocks_done as f64, 6))
    };
    let losses = stats.neighbours.iter().filter_map(|neighbour| {
        Some((name_of(usize::from(neighbour.id.0)), rounded(neighbour.loss_in?, 6)))
    });
    CodedNodeSummary {
        role,
        packets_in: stats.packets_in,
        packets_out: stats.packets_out,
        backlog_drops: stats.backlog_drops,
        blocks: stats.blocks_done,
        source_sent: stats.source_sent,
        coded_sent: stats.coded_sent,
        transmissions_per_block: per_block(stats.source_sent + stats.coded_sent),
        timeouts: stats.timeouts,
        timeouts_per_block: per_block(stats.timeouts),
        acks_sent: stats.acks_sent,
        innovative: stats.innovative,
        redundant: stats.redundant,
        stale: stats.stale,
        injected_losses: stats.injected_losses,
        datagram_bytes_sent: stats.datagram_bytes_sent,
        symbols_lost: stats.symbols_lost,
        sessions: stats.sessions,
        loss_in: losses.collect(),
        acks_replaced: stats.acks_superseded,
        links: BTreeMap::new(),
    }
}

fn link_summary(
    stats: &Stats,
    link: &LinkStats,
    silences: Option<Vec<CodedSilence>>,
) -> CodedEndLinkSummary {
    let share = |share: f64| rounded(share, 6);
    CodedEndLinkSummary {
        link: link.link + 1,
        alive: link.is_alive,
        datagram_bytes_sent: link.datagram_bytes_sent,
        share: stats.share_of(link).map(share),
        loss_in: link.loss_in.map(share),
        loss_out: link.loss_out.map(share),
        round_trip_ms: link.round_trip.map(|time| rounded(time.as_millis_f64(), 6)),
        pace_mbps: rounded(link.pace_bps as f64 / 1e6, 6),
        silences: silences.unwrap_or_default(),
    }
}
