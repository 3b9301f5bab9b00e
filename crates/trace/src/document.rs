//! The summary of a run as one JSON document: the content of `run.json`, and the output
//! of `--json`. Names carry units; a key that does not apply is absent, never null. Two
//! simulations with equal scenario, seed and run number give equal bytes except for
//! `wall_s`: maps are ordered by name, and numbers are rounded to what whole
//! nanoseconds, bits or packets support. The doc comments of types are the descriptions
//! in the published JSON Schema.

use crate::apq::ApqFlowSummary;
use crate::call::CallSummary;
use crate::coded::CodedLinkSummary;
use crate::deadline::DeadlineSummary;
use crate::multi_link::{FlowLinkSummary, MultiLinkSummary};
use crate::names::FlowKind;
use crate::stream::StreamSummary;
use crate::value::{
    CountSummary, DelayPartsSummary, LossReason, TimeSummary, WindowSummary, kept_schema, to_json,
};
use crate::web::WebSummary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The summary of one run of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunDocument {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run's random numbers.
    pub seed: u64,
    /// Number of the run; runs of one seed differ in their random numbers.
    pub run: u64,
    /// Duration of the run, in seconds of the scenario's time.
    pub duration_s: f64,
    /// Seconds at the start that are left out of goodput, delays, round trips and windows, and of
    /// the counters of nodes, links and wires.
    pub warmup_s: f64,
    /// Elapsed real time, in seconds.
    pub wall_s: f64,
    /// Version of lasthop that made the run.
    pub version: String,
    /// Changes of the scenario file as `key=value`, in their order: arguments of `--set`, and of
    /// options that set a key.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub set: Vec<String>,
    /// Warnings about settings that distort the results.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// Findings of the run's report, worst first; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub findings: Vec<FindingSummary>,
    /// Summaries of the flows, by name.
    pub flows: BTreeMap<String, FlowSummary>,
    /// Flows that the scenario describes together, by a count or a pattern; absent if there are
    /// none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub flow_groups: BTreeMap<String, FlowGroupSummary>,
    /// Flows of real programs, each direction separately, as `protocol source -> destination`; of
    /// emulated runs only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub programs: BTreeMap<String, ProgramSummary>,
    /// Flows of programs beyond those in `programs`; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub programs_left_out: Option<LeftOutSummary>,
    /// Wi-Fi nodes by name, without those of neighbours.
    pub nodes: BTreeMap<String, NodeSummary>,
    /// Neighbours on the channel, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub neighbours: BTreeMap<String, NeighbourSummary>,
    /// Directions of the Wi-Fi links that carried data, as `sender->receiver`, without those of
    /// neighbours; where devices have several links, each as `sender->receiver@band`.
    pub links: BTreeMap<String, LinkSummary>,
    /// Directions of the wires, as `from->to`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub wires: BTreeMap<String, WireSummary>,
    /// Coded links by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub franc: BTreeMap<String, CodedLinkSummary>,
    /// Timing of an emulated run; absent in simulated ones.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub emulation: Option<EmulationSummary>,
}

/// A problem of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingSummary {
    /// Kind of the finding as a word, such as `own_queue`.
    pub kind: String,
    /// Heading of the finding.
    pub title: String,
    /// Evidence in numbers, as a sentence.
    pub sentence: String,
    /// Cost of the problem, 0 to 1; findings are in descending order of it.
    pub weight: f64,
    /// Changes of the scenario that may help together, as arguments of `--set`; absent if there are
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remedy: Vec<String>,
    /// The result of the remedy in virtual time; absent if the remedy was not tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trial: Option<TrialSummary>,
    /// The reason why the remedy was not tried, as a clause; absent if it was tried, or if there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_tried: Option<String>,
    /// The remedy on real devices, as a sentence; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device: Option<String>,
}

/// The result of a remedy: the scenario without it and with it, in virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialSummary {
    /// Whether the quantity that the finding is about gets better by a tenth or more.
    pub helps: bool,
    /// The longest delay and the goodput, where flows have them.
    pub quantities: Vec<TrialQuantity>,
}

/// A quantity without a remedy and with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialQuantity {
    /// The flow and its quantity, such as `upload carries`.
    pub quantity: String,
    /// The unit, `ms` or `Mb/s`.
    pub unit: String,
    /// The value without the remedy; absent if nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<f64>,
    /// The value with the remedy; absent if nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<f64>,
}

/// A flow, in the direction from its sender to its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowSummary {
    /// Kind of traffic.
    pub kind: FlowKind,
    /// Node at which the flow's data enters the network; absent, as `receiver`, in documents of
    /// earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender: Option<String>,
    /// Node at which the flow's data leaves the network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receiver: Option<String>,
    /// Whether the flow always has a packet to send, and so fills its share of the queue; absent if
    /// not, and for other traffic than UDP.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub saturated: bool,
    /// UDP payload (video, too) that entered the network after the warm-up, while the flow was on,
    /// in Mb/s: the value of `goodput_mbps` without losses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered_mbps: Option<f64>,
    /// Payload delivered after the warm-up, while the flow was on, in Mb/s (10^6 bits a second).
    /// Payload is the content of UDP, ICMP or TCP; for a TCP flow, the data that the sender saw
    /// acknowledged, if the sender was read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub goodput_mbps: Option<f64>,
    /// Payload that the sender's socket accepted in the time of `goodput_mbps`, in Mb/s: netperf
    /// and iperf count this where they send. Of simulated TCP senders only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub written_mbps: Option<f64>,
    /// Round-trip times after the warm-up, in ms: of echo requests, or of a TCP sender. In
    /// simulation, they are the times from transmission to acknowledgement of all segments sent
    /// once; in emulation, regular readings of the kernel's smoothed round-trip time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_ms: Option<TimeSummary>,
    /// Delay from entering to leaving the network, in ms, of the packets that arrived after the
    /// warm-up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way_delay_ms: Option<TimeSummary>,
    /// Delay from an application's write to the read of its last byte at the other end of a TCP
    /// connection, in ms, for data read after the warm-up. Absent for a bulk transfer, which always
    /// has more to write.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub application_delay_ms: Option<TimeSummary>,
    /// Congestion window after the warm-up, in segments, over regular readings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwnd_packets: Option<WindowSummary>,
    /// Packets that entered the network, over the whole run.
    pub packets_sent: u64,
    /// Packets that arrived, over the whole run.
    pub packets_received: u64,
    /// Packets that the network gave up, over the whole run. Packets neither received nor lost were
    /// in flight when the run ended.
    pub packets_lost: u64,
    /// Lost packets by reason; reasons that did not occur are absent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub packets_lost_by_reason: BTreeMap<LossReason, u64>,
    /// Segments that the TCP sender retransmitted, over the whole run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmissions: Option<u64>,
    /// Parts of the one-way delay, in ms a packet; their sum is its mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_parts_ms: Option<DelayPartsSummary>,
    /// Parts of the delay of the slowest 1 % of these packets, at least one; their sum is the mean
    /// delay of these. Delays within 1.6 % of each other count as equal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_parts_slowest_ms: Option<DelayPartsSummary>,
    /// Nodes whose absences packets waited for (`away`, `asleep`, `roam`): the flow's ends, or all
    /// absent nodes if neither end was absent.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub absent_nodes: Vec<String>,
    /// Links of devices of several links that its packets took, as `sender->receiver@band`, after the
    /// warm-up; absent if each node has one link.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub links: BTreeMap<String, FlowLinkSummary>,
    /// Quality of one direction of a call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<CallSummary>,
    /// Web pages of a reader.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub web: Option<WebSummary>,
    /// Streamed video of a viewer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stream: Option<StreamSummary>,
    /// Packets that came too late or never, of a flow with a deadline.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline: Option<DeadlineSummary>,
    /// Result of an APQ flow.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub apq: Option<ApqFlowSummary>,
}

/// Several flows that a scenario describes together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowGroupSummary {
    /// Kind of traffic.
    pub kind: FlowKind,
    /// Number of flows.
    pub flows: usize,
    /// Sum of the flows' `goodput_mbps`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub goodput_mbps: Option<f64>,
    /// Sum of the flows' `written_mbps`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub written_mbps: Option<f64>,
    /// Jain's fairness index of the flows' `goodput_mbps`: 1 if all are equal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fairness: Option<f64>,
    /// Round-trip times of all flows together, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_ms: Option<TimeSummary>,
    /// One-way delays of all flows together, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way_delay_ms: Option<TimeSummary>,
    /// Web pages of all readers together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub web: Option<WebSummary>,
}

/// One direction of a flow of real programs, over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramSummary {
    /// Program that sends, by its name in the kernel (up to 15 bytes); absent if the program had
    /// ended before the look-up, or sends from outside.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<String>,
    /// Node at which the packets enter the network; absent, as `receiver`, in documents of earlier
    /// versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender: Option<String>,
    /// Node at which the packets leave the network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receiver: Option<String>,
    /// Packets that entered the network.
    pub packets_sent: u64,
    /// Packets that arrived.
    pub packets_received: u64,
    /// Bytes of the packets that arrived, IP header included.
    pub bytes_received: u64,
    /// Packets that the network gave up.
    pub packets_lost: u64,
    /// Lost packets by reason; reasons that did not occur are absent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub packets_lost_by_reason: BTreeMap<LossReason, u64>,
    /// Acknowledgements of TCP that a coded link replaced by later ones: nothing is lost with them.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub acks_replaced: u64,
    /// Delay from entering to leaving the network, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way_delay_ms: Option<TimeSummary>,
    /// Parts of the one-way delay, in ms a packet; their sum is its mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_parts_ms: Option<DelayPartsSummary>,
    /// Parts of the delay of the slowest 1 % of these packets, at least one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_parts_slowest_ms: Option<DelayPartsSummary>,
    /// Nodes whose absences packets waited for, as for a flow.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub absent_nodes: Vec<String>,
    /// Links of devices of several links that its packets took, as for a flow.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub links: BTreeMap<String, FlowLinkSummary>,
}

/// Flows of real programs beyond the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutSummary {
    /// Number of flows; 65536 means that number or more.
    pub flows: u64,
    /// Number of packets of these flows.
    pub packets: u64,
}

/// A Wi-Fi node, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeSummary {
    /// Packets in the node's Wi-Fi queues over time, driver queue and packets in flight included.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_packets: Option<WindowSummary>,
    /// Packets of `queue_packets` in the driver's queue and in flight, over time; absent without a
    /// driver's queue.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver_queue_packets: Option<WindowSummary>,
    /// Queue above the MAC, one for each access category.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<QueueSummary>,
    /// Driver's queue below that one; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver_queue: Option<DriverQueueSummary>,
    /// Limits of the node's A-MPDUs; absent if it sends none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aggregation: Option<AggregationSummary>,
    /// Packets dropped by a full queue or by active queue management.
    pub queue_drops: u64,
    /// Share of the time after the warm-up in which the node transmitted, 0 to 1.
    pub airtime_fraction: f64,
    /// MPDUs that the node gave up as a receiver; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pseudo_retry_outs: Option<PseudoRetryOutSummary>,
    /// Absences of the node for scans, by a clock or for power save; absent if it was always
    /// reachable.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub absences: Option<AbsenceSummary>,
    /// Clocks of the node's absences in the scenario; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub absence_clocks: Vec<AbsenceClockSummary>,
    /// Changes of the node's access point; absent if it stayed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub roaming: Option<RoamingSummary>,
    /// Moves of an access point to other channels, after the warm-up; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub channel_switches: Vec<ChannelSwitchSummary>,
    /// Use of its links; absent if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub multi_link: Option<MultiLinkSummary>,
}

/// Absences by a clock, as the scenario has them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbsenceClockSummary {
    /// Length of an absence in ms.
    pub away_ms: f64,
    /// Time from the start of one absence to that of the next in ms; absent for a single one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub every_ms: Option<f64>,
    /// Whether Null frames announce departure and return.
    pub announced: bool,
    /// Number of the channel on which the node is meanwhile; absent if the scenario has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub channel: Option<u8>,
}

/// A move of an access point to another channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelSwitchSummary {
    /// Number of the primary channel before.
    pub from_channel: u8,
    /// Number of the new primary channel.
    pub to_channel: u8,
    /// Whether a radar was the cause.
    pub radar: bool,
    /// Whether neither the access point nor its stations were to send data until the move.
    pub quiet: bool,
    /// Time in the run at which the access point was to move, in s.
    pub at_s: f64,
    /// Time from `at_s` to the move, in ms; absent if that did not come.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub announced_ms: Option<f64>,
    /// Time from the move until the access point had heard no radar, in ms; absent without this check.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub check_ms: Option<f64>,
    /// Whether this check had not ended at the end of the run; absent if not.
    #[serde(skip_serializing_if = "core::ops::Not::not", default)]
    pub checking: bool,
    /// Stations of the access point at `at_s`.
    pub stations: u16,
    /// Stations of these that followed by an announcement.
    pub followed: u16,
    /// Longest time without data of a station that followed, in ms; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without_ms: Option<f64>,
}

/// Changes of a station's access point, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoamingSummary {
    /// When it scans for another, and which one it prefers: `simple`, `learn`, `iwd` or `phone`; absent
    /// if it scans only without an access point.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policy: Option<String>,
    /// Level in dBm below which it scans, or scans often; absent without a policy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub threshold_dbm: Option<f64>,
    /// Number of times that it lost its access point.
    pub access_points_lost: u64,
    /// Number of neighbor reports that it received; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub neighbor_reports: Option<u64>,
    /// Number of neighbor reports that did not come; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub neighbor_reports_missed: Option<u64>,
    /// Requests of access points to move, and their results; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steering: Option<SteeringSummary>,
    /// Attempts to join another, in their order.
    pub roams: Vec<RoamSummary>,
    /// Spells of 30 s and more in which it stayed at an access point below -70 dBm while another one
    /// was at least 12 dB stronger.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stays: Vec<StaySummary>,
}

/// A spell in which a station stays at a weak access point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StaySummary {
    /// Access point of the station.
    pub access_point: String,
    /// The strongest one of the network at the end.
    pub stronger: String,
    /// Time in the run at which the spell began, in s.
    pub at_s: f64,
    /// Duration of the spell in s.
    pub duration_s: f64,
    /// Level of the access point at the end, without fading, in dBm.
    pub level_dbm: f64,
    /// Level of the stronger one at the end in dBm.
    pub stronger_dbm: f64,
}

/// Requests of access points to a station to move (802.11v).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteeringSummary {
    /// Number of requests.
    pub requests: u64,
    /// Number of requests that the station accepted.
    pub accepted: u64,
    /// Number of requests that it refused, because it heard no candidate, or none loud enough.
    pub refused: u64,
    /// Number of times that an access point removed it.
    pub removed: u64,
}

/// Reason of a change of the access point that the station did not choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SteeredBy {
    /// The access point asked the station to go, because the station's level was low.
    Signal,
    /// The access point asked the station to go, because another one had fewer stations.
    Stations,
    /// The access point removed the station.
    Removal,
}

/// An attempt of a station to join an access point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoamSummary {
    /// Access point before.
    pub leaves: String,
    /// Access point that it joins.
    pub joins: String,
    /// Time in the run at which it left for it, in s.
    pub at_s: f64,
    /// Reason, if an access point is it; absent if the station chose, or lost its access point.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steered_by: Option<SteeredBy>,
    /// Duration of the scan or search that came before, in ms.
    pub scan_ms: f64,
    /// Channels of that scan; absent if it had all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listed_channels: Option<u16>,
    /// Time from `at_s` to the end of authentication, in ms; absent if that did not come, as below.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub authentication_ms: Option<f64>,
    /// Time from there to the end of association, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub association_ms: Option<f64>,
    /// Time from there to the end of the handshake, in ms; 0 without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handshake_ms: Option<f64>,
    /// Time without data, from the loss of the old access point or from `at_s`, in ms; absent if it
    /// did not join.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without_ms: Option<f64>,
}

/// A neighbour on the channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourSummary {
    /// Share of the time in which a PPDU of the neighbour would be on the air without other
    /// traffic, 0 to 1, as the scenario sets it.
    pub busy: f64,
    /// Share of the time after the warm-up in which one of the neighbour's nodes transmitted, 0 to
    /// 1: less than `busy` on a crowded channel, more with retransmissions after collisions.
    pub airtime_fraction: f64,
}

/// Configuration of a queue in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueSummary {
    /// Discipline of the queue.
    pub kind: QueueKind,
    /// Limit of the queue, in packets; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_packets: Option<u32>,
    /// Limit of the queue, in bytes; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_bytes: Option<u64>,
    /// Target of the standing delay (CoDel and FQ-CoDel) or of a full queue's delay (eBDP), in ms;
    /// absent with drop-tail.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_ms: Option<f64>,
}

/// Configuration of the queue of driver and hardware in the scenario. Active queue management does
/// not cover it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverQueueSummary {
    /// Limit in packets, those in flight included; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_packets: Option<u32>,
    /// Limit of the estimated airtime of each receiver's packets, in ms (Airtime Queue Limits);
    /// absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_airtime_ms: Option<f64>,
}

/// Queue disciplines, by their words in scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// First in, first out; drops packets that exceed the limit.
    DropTail,
    /// First in, first out, with controlled standing delay (RFC 8289).
    Codel,
    /// One queue a flow, each under CoDel, served in turn (RFC 8290).
    FqCodel,
    /// First in, first out; the limit follows the rate of service (eBDP).
    Ebdp,
    /// A queue for L4S packets beside a classic one (RFC 9332).
    #[serde(rename = "dualpi2")]
    DualPi2,
    /// Flows isolated by host, with an optional shaper (Linux' cake).
    Cake,
}

/// Limits of a node's A-MPDUs in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AggregationSummary {
    /// Largest number of MPDUs, apart from the Block Ack window.
    pub frames_max: u16,
    /// Largest length in bytes; 0 if the node sends no A-MPDUs although its standard has them.
    pub bytes_max: u32,
    /// Longest duration on the air, in ms.
    pub duration_max_ms: f64,
    /// Block Ack window of the node, in MPDUs; the receiver's limits it, too.
    pub block_ack_window: u16,
    /// TXOP limit of best effort, in ms; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub txop_limit_ms: Option<f64>,
    /// Largest number of packets in the node's driver; absent if there is no such limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver_packets: Option<u32>,
}

/// Times off the channel or dozing, after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbsenceSummary {
    /// Number of absences.
    pub count: u64,
    /// Share of the time after the warm-up, 0 to 1.
    pub time_fraction: f64,
    /// Null frames sent, retries included.
    pub nulls: u64,
    /// Null frames given up.
    pub nulls_given_up: u64,
    /// PS-Poll frames sent, retries included.
    pub ps_polls: u64,
    /// QoS Null frames sent to begin service periods, retries included.
    #[serde(default)]
    pub triggers: u64,
    /// Kind of power save; absent if the node scans or leaves by a clock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power_save: Option<PowerSaveKind>,
    /// Time from one target wake time to the next in ms; absent without TWT.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wake_interval_ms: Option<f64>,
    /// Duration of a service period, in ms; absent without TWT.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wake_duration_ms: Option<f64>,
    /// Beacons missed while the node dozed; absent if none.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub beacons_missed: u64,
    /// Packets given up when the node left, or that came while it had no access point or had
    /// failed.
    pub packets_given_up: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Kinds of power save, by their words in scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PowerSaveKind {
    /// Dozing when idle, beacons, Null frames or PS-Poll.
    Legacy,
    /// As `legacy`, but the station sends frames without leaving power save mode.
    Firmware,
    /// Service periods begun by the station's frames.
    UApsd,
    /// Service periods at target wake times.
    Twt,
}

/// Erroneous MPDUs that a receiver gave up, after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PseudoRetryOutSummary {
    /// MPDUs given up.
    pub mpdus: u64,
    /// Of those, MPDUs that arrived later and were ignored.
    pub ignored: u64,
}

/// One direction of a Wi-Fi link, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkSummary {
    /// PHY rates of data PPDUs in Mb/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data_rate_mbps: Option<RateSummary>,
    /// Data PPDUs sent.
    pub ppdus: u64,
    /// Data MPDUs sent, retransmissions included.
    pub mpdus: u64,
    /// Data MPDUs in a PPDU.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mpdus_per_ppdu: Option<CountSummary>,
    /// Retransmissions among the MPDUs sent.
    pub mpdu_retries: u64,
    /// MPDUs that were sent and not acknowledged in that exchange.
    pub mpdus_failed: u64,
    /// Share of the MPDUs sent that were not acknowledged in that exchange, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mpdu_error_rate: Option<f64>,
    /// MPDUs given up (retry limit or lifetime).
    pub mpdus_lost: u64,
    /// Data PPDUs that overlapped with another PPDU at the receiver.
    pub collisions: u64,
    /// RTS frames sent.
    pub rts: u64,
    /// Block Ack Requests sent.
    pub block_ack_requests: u64,
    /// Share of the time after the warm-up in which its data PPDUs were on the air, 0 to 1.
    pub airtime_fraction: f64,
}

/// Rates of PPDUs, in Mb/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSummary {
    /// Mean rate over PPDUs.
    pub mean: f64,
    /// Lowest rate of a PPDU.
    pub min: f64,
    /// Highest rate of a PPDU.
    pub max: f64,
}

/// A direction of a wire, after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireSummary {
    /// Bit rate in Mb/s at the beginning; absent if it never limits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_mbps: Option<f64>,
    /// Queue before the wire.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<QueueSummary>,
    /// Propagation delay in ms at the beginning of the run; absent in documents of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_ms: Option<f64>,
    /// Mean time that packets waited in the queue before it, in ms; absent without a rate or
    /// packets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_ms: Option<f64>,
    /// Packets delivered at the far end.
    pub packets: u64,
    /// Packets dropped by its queue.
    pub queue_drops: u64,
    /// Packets lost on the wire.
    pub packets_lost: u64,
}

/// Lateness of an emulated run, and its ways to the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmulationSummary {
    /// Lateness of deliveries, from the computed to the real instant, in us.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lateness_us: Option<LatenessSummary>,
    /// Whether more than one delivery in a thousand was later than the scenario allows: if so, do
    /// not trust the delays.
    pub late: bool,
    /// Packets delivered, in all.
    pub deliveries: u64,
    /// Ports between the nodes and the machine's loopback, by option and value (`--reach 3000`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub ways: BTreeMap<String, WaySummary>,
}

/// The counts of a port between the nodes and the machine (`--reach`, `--publish`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaySummary {
    /// Port at the far side, such as `port 80 of server`.
    pub far_side: String,
    /// Number of TCP connections.
    pub connections: u64,
    /// TCP connections reset because no program listened at the far side.
    pub connections_refused: u64,
    /// UDP clients, each an address with a port.
    pub clients: u64,
    /// UDP clients that newer ones displaced.
    pub clients_displaced: u64,
    /// Datagrams passed on from clients.
    pub datagrams_sent: u64,
    /// Datagrams passed on to clients.
    pub datagrams_answered: u64,
    /// Datagrams dropped because no program had the port at the far side.
    pub datagrams_refused: u64,
    /// Datagrams dropped at a full buffer.
    pub datagrams_overflowed: u64,
}

/// Distribution of lateness, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatenessSummary {
    /// Median of the lateness.
    pub p50: f64,
    /// Lateness that 99 % of deliveries do not exceed.
    pub p99: f64,
    /// Lateness that 99.9 % of deliveries do not exceed.
    pub p99_9: f64,
    /// Greatest of the lateness.
    pub max: f64,
}

impl RunDocument {
    /// Returns the document as indented JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Returns the JSON Schema (2020-12) of a [`RunDocument`].
pub fn run_schema() -> serde_json::Value {
    kept_schema(include_str!("../schemas/run.json"))
}
