//! The summary of a run as one JSON document: the content of `run.json`, and the output
//! of `--json`. Names carry units; a key that does not apply is absent, never null. Two
//! simulations with equal scenario, seed and run number give equal bytes except for
//! `wall_s`: maps are ordered by name, and numbers are rounded to what whole
//! nanoseconds, bits or packets support. The doc comments of types are the descriptions
//! in the published JSON Schema.

use crate::apq::ApqFlowSummary;
use crate::coded::CodedLinkSummary;
use crate::names::FlowKind;
use crate::value::{
    CountSummary, DelayPartsSummary, LossReason, TimeSummary, WindowSummary, kept_schema, to_json,
};
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
    /// Length of the run in seconds of the scenario's time.
    pub duration_s: f64,
    /// Seconds at the start that are left out of goodput, delays, round trips and windows,
    /// and of what is counted for nodes, links and wires.
    pub warmup_s: f64,
    /// Seconds that a clock on the wall showed.
    pub wall_s: f64,
    /// Version of lasthop that made the run.
    pub version: String,
    /// What changed the scenario file, as `key=value`: `--set` and options that
    /// stand for it, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub set: Vec<String>,
    /// What makes the results other than one might expect.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// The findings, worst first, as the report of the run has them; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub findings: Vec<FindingSummary>,
    /// The flows by name.
    pub flows: BTreeMap<String, FlowSummary>,
    /// The flows of real programs, each direction for itself, as
    /// `protocol source -> destination`; only of an emulated run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub programs: BTreeMap<String, ProgramSummary>,
    /// The flows of programs that are not among `programs`; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub programs_left_out: Option<LeftOutSummary>,
    /// The Wi-Fi nodes by name, those of neighbours left out.
    pub nodes: BTreeMap<String, NodeSummary>,
    /// The neighbours on the channel by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub neighbours: BTreeMap<String, NeighbourSummary>,
    /// The directions of the Wi-Fi links that carried data, as `sender->receiver`; those of
    /// neighbours left out.
    pub links: BTreeMap<String, LinkSummary>,
    /// The directions of the wires, as `from->to`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub wires: BTreeMap<String, WireSummary>,
    /// The coded links by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub franc: BTreeMap<String, CodedLinkSummary>,
    /// How well real time was kept; only of an emulated run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub emulation: Option<EmulationSummary>,
}

/// Something that is wrong with a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingSummary {
    /// The kind as a word, such as `own_queue`.
    pub kind: String,
    /// The same as a heading.
    pub title: String,
    /// The numbers that show it, as a sentence.
    pub sentence: String,
    /// The cost, 0 to 1; findings are in descending order of it.
    pub weight: f64,
    /// Changes of the scenario that may help, together, as arguments of `--set`; absent if the
    /// scenario takes none.
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

/// One flow, in the direction from its sender to its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowSummary {
    /// Kind of traffic.
    pub kind: FlowKind,
    /// The node at which its data enters the network; absent in documents of earlier
    /// versions, as `receiver` is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender: Option<String>,
    /// The node at which its data leaves the network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receiver: Option<String>,
    /// It always has a packet to send, so that it fills its share of the queue; absent if
    /// not, and of other traffic than UDP.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub saturated: bool,
    /// Payload of UDP (video, too) that entered the network after the warm-up, while the
    /// flow was on, in Mb/s: what there would be of `goodput_mbps` if everything arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered_mbps: Option<f64>,
    /// Payload delivered after the warm-up, while the flow was on, in Mb/s
    /// (10^6 bits a second). Payload is what UDP, ICMP or TCP carry; of a TCP
    /// flow it is what the sender saw acknowledged, if the sender was read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub goodput_mbps: Option<f64>,
    /// Round-trip times after the warm-up in ms: of echo requests, or of a TCP
    /// sender. In simulation these are all segments that were sent once, from
    /// transmission to acknowledgement; in emulation regular readings of what the
    /// kernel has smoothed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_ms: Option<TimeSummary>,
    /// From entering the network to leaving it, of the packets that arrived
    /// after the warm-up, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way_delay_ms: Option<TimeSummary>,
    /// From an application's write to the read of its last byte at the other end of a
    /// TCP connection, of what was read after the warm-up, in ms. A bulk transfer,
    /// which always has more to write, has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub application_delay_ms: Option<TimeSummary>,
    /// Congestion window after the warm-up in segments, over regular readings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwnd_packets: Option<WindowSummary>,
    /// Packets that entered the network, over the whole run.
    pub packets_sent: u64,
    /// Packets that arrived, over the whole run.
    pub packets_received: u64,
    /// Packets that the network gave up, over the whole run. What is neither
    /// received nor lost was on its way when the run ended.
    pub packets_lost: u64,
    /// The lost packets by reason; reasons that did not occur are absent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub packets_lost_by_reason: BTreeMap<LossReason, u64>,
    /// Segments that the TCP sender retransmitted, over the whole run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmissions: Option<u64>,
    /// Where the one-way delay went, in ms a packet; the parts add up to its mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_parts_ms: Option<DelayPartsSummary>,
    /// The same of the slowest 1 % of these packets, at least one; the parts add
    /// up to their mean delay. Delays within 1.6 % of each other are not told apart.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_parts_slowest_ms: Option<DelayPartsSummary>,
    /// The nodes whose absences packets waited for (`away`, `asleep`): those at
    /// the flow's ends or, if none of these was absent, all that were.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub absent_nodes: Vec<String>,
    /// What an APQ flow found out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub apq: Option<ApqFlowSummary>,
}

/// One direction of a flow of real programs, over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramSummary {
    /// The program that sends, as the kernel has its name (up to 15 bytes); absent if it was
    /// gone before it could be found, or sends from outside.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<String>,
    /// The node at which its packets enter the network; absent in documents of earlier
    /// versions, as `receiver` is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sender: Option<String>,
    /// The node at which they leave the network.
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
    /// The lost packets by reason; reasons that did not occur are absent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub packets_lost_by_reason: BTreeMap<LossReason, u64>,
    /// From entering the network to leaving it, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub one_way_delay_ms: Option<TimeSummary>,
    /// Where the one-way delay went, in ms a packet; the parts add up to its mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_parts_ms: Option<DelayPartsSummary>,
    /// The same of the slowest 1 % of these packets, at least one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_parts_slowest_ms: Option<DelayPartsSummary>,
    /// The nodes whose absences packets waited for, as of a flow.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub absent_nodes: Vec<String>,
}

/// Flows of real programs beyond those that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutSummary {
    /// How many flows; 65536 stands for that and more.
    pub flows: u64,
    /// Their packets.
    pub packets: u64,
}

/// One Wi-Fi node, after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeSummary {
    /// Packets in its Wi-Fi queues (driver queue and those in flight included), over time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_packets: Option<WindowSummary>,
    /// Of `queue_packets`, those below the queue above the MAC, over time: in the driver's queue
    /// and in flight; absent without a driver's queue.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver_queue_packets: Option<WindowSummary>,
    /// Its queue above the MAC: there is one for each access category.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<QueueSummary>,
    /// The driver's queue below that; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver_queue: Option<DriverQueueSummary>,
    /// What bounds the A-MPDUs that it sends; absent if it sends none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aggregation: Option<AggregationSummary>,
    /// Packets that found no room or were dropped by active queue management.
    pub queue_drops: u64,
    /// Share of the time after the warm-up in which it transmitted, 0 to 1.
    pub airtime_fraction: f64,
    /// What it gave up as a receiver; absent if that is nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pseudo_retry_outs: Option<PseudoRetryOutSummary>,
    /// Its absences, by scans or power save; absent if it was always there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub absences: Option<AbsenceSummary>,
}

/// A neighbour on the channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourSummary {
    /// Share of the time in which a PPDU of its own would be on the air if nobody else sent,
    /// 0 to 1: what the scenario asks for.
    pub busy: f64,
    /// Share of the time after the warm-up in which one of its nodes transmitted, 0 to 1:
    /// less than `busy` where it found no room, more where it sent again after collisions.
    pub airtime_fraction: f64,
}

/// A queue as the scenario has it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueSummary {
    /// Its discipline.
    pub kind: QueueKind,
    /// Most packets in it; absent if there is no such limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_packets: Option<u32>,
    /// Most bytes in it; absent if there is no such limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_bytes: Option<u64>,
    /// Standing delay that it accepts in ms (CoDel and FQ-CoDel), or the delay of a full
    /// queue (eBDP); absent with drop-tail.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_ms: Option<f64>,
}

/// The queue of driver and hardware as the scenario has it. Active queue management does not
/// reach it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverQueueSummary {
    /// Most packets in it, those in flight included; absent if there is no such limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_packets: Option<u32>,
    /// Most estimated airtime in it for each receiver in ms (Airtime Queue Limits); absent if
    /// there is no such limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit_airtime_ms: Option<f64>,
}

/// The disciplines of queues, by their words in scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// First in, first out; what does not fit is dropped.
    DropTail,
    /// First in, first out, with controlled standing delay (RFC 8289).
    Codel,
    /// A queue for each flow, each under CoDel, served in turn (RFC 8290).
    FqCodel,
    /// First in, first out; the capacity follows the rate of service (eBDP).
    Ebdp,
}

/// The bounds of the A-MPDUs of a node, as the scenario has them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AggregationSummary {
    /// Most MPDUs, the Block Ack window apart.
    pub frames_max: u16,
    /// Most bytes; 0 if it sends no A-MPDUs, although the standard has them.
    pub bytes_max: u32,
    /// Longest time on the air in ms.
    pub duration_max_ms: f64,
    /// Block Ack window of the node in MPDUs; that of the receiver bounds it, too.
    pub block_ack_window: u16,
    /// TXOP limit of best effort in ms; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub txop_limit_ms: Option<f64>,
    /// Packets that its driver holds at most; absent if they are not bounded by number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver_packets: Option<u32>,
}

/// When a node was off its channel or dozed, after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbsenceSummary {
    /// How often.
    pub count: u64,
    /// Share of the time after the warm-up, 0 to 1.
    pub time_fraction: f64,
    /// Null frames sent, retries included.
    pub nulls: u64,
    /// Null frames given up.
    pub nulls_given_up: u64,
    /// PS-Poll frames sent, retries included.
    pub ps_polls: u64,
    /// QoS Null frames that begin service periods sent, retries included.
    #[serde(default)]
    pub triggers: u64,
    /// How it saves power; absent if it scans.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub power_save: Option<PowerSaveKind>,
    /// Time from one target wake time to the next in ms; absent without TWT.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wake_interval_ms: Option<f64>,
    /// How long a service period lasts in ms; absent without TWT.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wake_duration_ms: Option<f64>,
    /// Beacons that it dozed for and did not hear; absent if none.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub beacons_missed: u64,
    /// Packets given up on leaving.
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
    /// The same, but frames are sent without leaving power save mode.
    Firmware,
    /// Service periods that the station's own frames begin.
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
    /// Of the MPDUs sent, retransmissions.
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
    /// RTS sent.
    pub rts: u64,
    /// Block Ack Requests sent.
    pub block_ack_requests: u64,
    /// Share of the time after the warm-up in which its data PPDUs were on the air, 0 to 1.
    pub airtime_fraction: f64,
}

/// The rates of PPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSummary {
    /// Mean over PPDUs.
    pub mean: f64,
    /// Lowest.
    pub min: f64,
    /// Highest.
    pub max: f64,
}

/// One direction of a wire, after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireSummary {
    /// Bit rate in Mb/s at the beginning; absent if it never limits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_mbps: Option<f64>,
    /// The queue before it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<QueueSummary>,
    /// Propagation delay in ms at the beginning of the run; absent in documents of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_ms: Option<f64>,
    /// Mean time that packets waited in the queue before it, in ms; absent without a rate or
    /// packets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_ms: Option<f64>,
    /// Packets that came out at the far end.
    pub packets: u64,
    /// Packets dropped by its queue.
    pub queue_drops: u64,
    /// Packets lost on the way.
    pub packets_lost: u64,
}

/// Lateness of an emulated run, and its ways to the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmulationSummary {
    /// How long after its computed instant a packet was handed over, in us.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lateness_us: Option<LatenessSummary>,
    /// More than one delivery in a thousand was later than the scenario allows:
    /// do not trust the delays.
    pub late: bool,
    /// Packets handed over.
    pub deliveries: u64,
    /// The ways between the nodes and the machine's loopback, by option and value (`--reach 3000`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub ways: BTreeMap<String, WaySummary>,
}

/// The counts of a port between the nodes and the machine (`--reach`, `--publish`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaySummary {
    /// The port at the far side, such as `port 80 of server`.
    pub far_side: String,
    /// Number of TCP connections.
    pub connections: u64,
    /// TCP connections that were reset because nobody listened at the far side.
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

/// The distribution of lateness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatenessSummary {
    /// Median.
    pub p50: f64,
    /// 99 % are at or below.
    pub p99: f64,
    /// 99.9 % are at or below.
    pub p99_9: f64,
    /// Greatest.
    pub max: f64,
}

impl RunDocument {
    /// The document as indented JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// The JSON Schema (2020-12) of a [`RunDocument`].
pub fn run_schema() -> serde_json::Value {
    kept_schema(include_str!("../schemas/run.json"))
}
