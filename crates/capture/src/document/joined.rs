//! Results of several captures that were analysed together. Times are seconds since the first
//! packet of the first file, by the clock of the reference capture.

mod build;

pub use build::begin_ns;

use super::{ErrorSummary, UnusedSummary};
use crate::analysis::Analysis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Results of several captures that were analysed together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JoinedSummary {
    /// Name of the reference capture, whose clock gives all times in this document.
    pub reference: String,
    /// Files other than the first one.
    pub files: Vec<FileSummary>,
    /// Capture places: the interfaces of all files that captured packets of IP.
    pub places: Vec<PlaceSummary>,
    /// Captures that could not be aligned with the others, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
    /// TCP flows that several places captured.
    pub flows: BTreeMap<String, JoinedFlowSummary>,
    /// Number of TCP flows that only one place captured, or whose path is unknown.
    pub flows_alone: u64,
    /// Slowest segments, in descending order of their delay.
    pub slowest: Vec<SlowSegmentSummary>,
    /// Number of times that segments were matched before 20 s had passed, because the limit on kept
    /// packets was reached.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub hurried: u64,
    /// Whether reading was interrupted, so that later packets are missing.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub interrupted: bool,
    /// Results of other measurements in the same minutes, as given with `--context`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub context: Vec<ContextSummary>,
}

/// A file other than the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSummary {
    /// Name of the file as given on the command line.
    pub file: String,
    /// Number of packets in the file.
    pub frames: u64,
    /// Number of packets by link-layer header type.
    pub link_types: BTreeMap<String, u64>,
    /// Malformed packets, at most 1 000.
    pub errors: Vec<ErrorSummary>,
    /// Number of malformed packets that are not in `errors`.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub errors_left_out: u64,
    /// Packets that could not be used, or only in part.
    pub unused: UnusedSummary,
}

/// An interface that captured packets of IP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceSummary {
    /// Name of the place in the rest of the document: the file, followed by the interface if the
    /// file has several.
    pub name: String,
    /// Name of the capture file.
    pub file: String,
    /// Number of the interface in the file.
    pub interface: u32,
    /// Whether the interface captures 802.11 frames.
    pub air: bool,
    /// Number of captured packets of IP; on the air, each attempt counts.
    pub packets: u64,
    /// Clock of the place. Absent at the reference place, and where the clock is unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<ClockSummary>,
}

/// A clock, compared with the clock of another place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockSummary {
    /// Name of the place it is compared with.
    pub against: String,
    /// Number of packets that both places captured: from the other place to this one, and back.
    pub packets: [u64; 2],
    /// Offset of this clock in the middle of the common time, in seconds; positive if it is ahead
    /// of the other clock.
    pub offset_s: f64,
    /// Rate by which this clock is faster than the other one, in parts per million.
    pub drift_ppm: f64,
    /// Uncertainty of the drift, in parts per million.
    pub drift_uncertainty_ppm: f64,
    /// Largest error of its times relative to the reference place, in ms: half of the least round
    /// trip between the two places. Absent if packets are known in one direction only; the offset
    /// then includes their least delay.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ms: Option<f64>,
    /// Variation of the least delays in the steadier direction, in ms. The offset is wrong by at
    /// most this much if the least delays of both directions are equal.
    pub spread_ms: f64,
    /// Amount by which least differences contradict each other because hosts stamp packets late, in
    /// ms. `bound_ms` includes it.
    #[serde(skip_serializing_if = "is_nothing", default)]
    pub stamped_late_ms: f64,
    /// Times of the first and the last packet that both places captured.
    pub common_s: [f64; 2],
    /// An earlier place at the same point of the path: no packet travels between the two.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub same_as: Option<String>,
    /// Number of flows with another address or port at this place: a translator (NAT) lies between
    /// the two.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub translated_flows: u64,
}

/// A flow that several places captured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JoinedFlowSummary {
    /// Results by direction, under the address and port of the sender.
    pub from: BTreeMap<String, JoinedDirectionSummary>,
}

/// One direction of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JoinedDirectionSummary {
    /// Places on the path, in the order in which packets pass them.
    pub path: Vec<String>,
    /// Copies of segments with payload: captured on the air, or captured where they left and not
    /// heard on the air.
    pub segments: u64,
    /// Payload of these segments, in bytes.
    pub payload_bytes: u64,
    /// Segments that were captured on the air.
    pub heard: u64,
    /// Segments that another place captured, and the monitor did not.
    pub unheard: u64,
    /// Segments that were captured on the air but not at the place where they left.
    pub without_departure: u64,
    /// Packets that a wired place captured twice within 1 ms. They count once.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub captured_twice: u64,
    /// Packets that are left out because their bytes appeared more than 64 times within 20 s.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub left_out: u64,
    /// Segments by their number of attempts on the air, from 1; the last number includes all larger
    /// ones.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attempts: Vec<u64>,
    /// Parts of the delay of segments that got across.
    pub parts: PartsSummary,
    /// Parts of the delay of acknowledgements without payload.
    pub acknowledgements: PartsSummary,
    /// Time from departure until the acknowledgement came back, for segments that were sent once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip: Option<DelaySummary>,
    /// Segments by fate.
    pub fates: FatesSummary,
    /// Retransmissions of segments.
    pub retransmissions: RetransmissionSummary,
}

/// Parts of a delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartsSummary {
    /// Time between two wired places before the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wire_before: Option<DelaySummary>,
    /// Time from the last wired place before the air until the first attempt begins: the
    /// transmitter's queue, and its channel access.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait: Option<DelaySummary>,
    /// Whether `wait` includes the wire from the sender to the access point, because no place in
    /// between was captured. The least value of `wait` is then about the delay of the wire.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub wait_holds_wire: bool,
    /// Time from the start of the first attempt to the end of the successful one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub air: Option<DelaySummary>,
    /// Time from the end of the successful attempt to the last wired place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub behind: Option<DelaySummary>,
    /// Time from the first to the last wired place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total: Option<DelaySummary>,
}

/// Delays in milliseconds. The median and the percentile are within 0.4 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// Number of delays.
    pub count: u64,
    /// Least delay, in ms.
    pub least_ms: f64,
    /// Median delay, in ms.
    pub p50_ms: f64,
    /// 95th percentile of the delay, in ms.
    pub p95_ms: f64,
    /// Greatest delay, in ms.
    pub max_ms: f64,
    /// Number of delays that are negative by the estimated clocks: the clocks are further off than
    /// their bound.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub below_zero: u64,
}

/// Number of copies of segments by fate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FatesSummary {
    /// Copies that arrived.
    pub arrived: u64,
    /// Copies that left and were never captured on the air, although the air was captured: they
    /// were lost before the hop or in its queue, or the monitor missed every attempt.
    pub lost_before: u64,
    /// Copies that were captured on the air and never acknowledged there.
    pub lost_on_air: u64,
    /// Copies that were acknowledged on the air and did not arrive.
    pub lost_behind: u64,
    /// Copies that were lost between two places with no capture of the air between them.
    pub lost_between: u64,
    /// Copies that were acknowledged on the air, where nothing behind the air was captured.
    pub across_air: u64,
    /// Copies whose fate is unknown.
    pub unknown: u64,
}

/// Retransmissions of segments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetransmissionSummary {
    /// Retransmissions by the fate of the previous copy. A retransmission of a copy that had
    /// arrived is spurious: its acknowledgement was late or lost.
    pub copy_before: FatesSummary,
    /// Retransmissions within 1 ms after an acknowledgement came (duplicate acknowledgements or
    /// SACK).
    pub after_acknowledgement: u64,
    /// Other retransmissions, which a timer caused.
    pub after_timer: u64,
    /// Time from the previous copy to the retransmission.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<DelaySummary>,
}

/// A segment with a long delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowSegmentSummary {
    /// Flow of the segment.
    pub flow: String,
    /// Address and port of the sender.
    pub from: String,
    /// Sequence number of its first byte, as on the wire.
    pub sequence: u32,
    /// Payload of the segment, in bytes.
    pub payload_bytes: u32,
    /// Time at which the segment was first captured.
    pub at_s: f64,
    /// Time from the first to the last place that captured it, in ms.
    pub seen_ms: f64,
    /// Packet number in the capture where the segment left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left_frame: Option<u64>,
    /// Packet numbers of its first and last attempt in the capture of the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub air_frames: Option<[u64; 2]>,
    /// Packet number in the capture where the segment arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrived_frame: Option<u64>,
    /// Number of captured attempts on the air.
    pub attempts: u32,
    /// Time until the first attempt, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait_ms: Option<f64>,
    /// Time from the first attempt to the end of the successful one, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub air_ms: Option<f64>,
    /// Time from the successful attempt to the arrival, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub behind_ms: Option<f64>,
    /// Time until the segment was sent again, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_again_after_ms: Option<f64>,
    /// Cause of the retransmission: `acknowledgement` or `timer`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_again_by: Option<String>,
    /// Fate of the segment: a key of `fates`.
    pub fate: String,
}

/// Results of another measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextSummary {
    /// Name of the file as given on the command line.
    pub file: String,
    /// Kind of the measurement: `apq` or `franc`.
    pub kind: String,
    /// Main figures of the measurement.
    pub sentences: Vec<String>,
}

/// A file that was read, for the document.
pub struct JoinedFile<'a> {
    /// Name of the file as given on the command line.
    pub name: &'a str,
    /// Analysis of the file.
    pub analysis: &'a Analysis,
}

fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}
