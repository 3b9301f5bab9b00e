//! What several captures show together. Times are seconds since the first packet of the file, by the
//! clock of the place of reference.

mod build;

pub use build::begin_ns;

use super::{ErrorSummary, UnusedSummary};
use crate::analysis::Analysis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What several captures show together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JoinedSummary {
    /// The capture by whose clock all times here are.
    pub reference: String,
    /// The other files.
    pub files: Vec<FileSummary>,
    /// The places of capture: the interfaces of all files that have seen packets of IP.
    pub places: Vec<PlaceSummary>,
    /// What could not be put together, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
    /// Flows of TCP that several places have seen.
    pub flows: BTreeMap<String, JoinedFlowSummary>,
    /// Flows of TCP that one place only has seen, or whose path is not known.
    pub flows_alone: u64,
    /// The segments that took the longest, slowest first.
    pub slowest: Vec<SlowSegmentSummary>,
    /// How often segments were put together before 20 s were over, because there were too many.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub hurried: u64,
    /// It was interrupted: what came later is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub interrupted: bool,
    /// What else was measured in these minutes, as it was said to be.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub context: Vec<ContextSummary>,
}

/// A file besides the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSummary {
    /// The file, as it was named.
    pub file: String,
    /// Packets.
    pub frames: u64,
    /// Packets by the kind of header in front of them.
    pub link_types: BTreeMap<String, u64>,
    /// What is malformed: the first 1 000.
    pub errors: Vec<ErrorSummary>,
    /// Errors that are not among `errors`.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub errors_left_out: u64,
    /// What could not be used, or only in part.
    pub unused: UnusedSummary,
}

/// An interface that has seen packets of IP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceSummary {
    /// Its name in what follows: the file, and the interface if there are several.
    pub name: String,
    /// The file.
    pub file: String,
    /// The interface in it.
    pub interface: u32,
    /// It captures the air.
    pub air: bool,
    /// Packets of IP that it has seen; on the air, each attempt.
    pub packets: u64,
    /// Its clock; absent at the place of reference, and where it is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<ClockSummary>,
}

/// A clock compared with that of another place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockSummary {
    /// The other place.
    pub against: String,
    /// Packets in common that come from there and go there.
    pub packets: [u64; 2],
    /// What this clock shows more than the other one, in the middle of the common time, in s.
    pub offset_s: f64,
    /// How much faster it runs, in parts per million.
    pub drift_ppm: f64,
    /// How far the drift may be off.
    pub drift_uncertainty_ppm: f64,
    /// How far its times may be off against those of the place of reference, in ms: half of the
    /// least round trip between them. Absent if packets are known in one direction only: then the
    /// offset holds their least delay.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ms: Option<f64>,
    /// How much the least delays vary in the direction in which they vary less, in ms: how far the
    /// offset may be off if least delays are the same in both directions.
    pub spread_ms: f64,
    /// By how much times contradict each other, in ms: packets are stamped late. It is part of
    /// `bound_ms`.
    #[serde(skip_serializing_if = "is_nothing", default)]
    pub stamped_late_ms: f64,
    /// Time of the first and the last packet in common.
    pub common_s: [f64; 2],
    /// An earlier place that is the same: no packet goes from the one to the other.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub same_as: Option<String>,
    /// Flows that have another address or port here: they are translated between the two.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub translated_flows: u64,
}

/// A flow that several places have seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JoinedFlowSummary {
    /// From each end: address and port of the sender, and what became of what it sent.
    pub from: BTreeMap<String, JoinedDirectionSummary>,
}

/// What became of what one end of a flow sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JoinedDirectionSummary {
    /// The places on its path that are used, in the order in which packets pass them.
    pub path: Vec<String>,
    /// Segments with payload, each copy: as they were on the air, or as they left where they were
    /// not heard there.
    pub segments: u64,
    /// Their payload in bytes.
    pub payload_bytes: u64,
    /// Segments that were heard on the air.
    pub heard: u64,
    /// Segments that were seen elsewhere, and not heard on the air.
    pub unheard: u64,
    /// Segments that were heard and whose departure was not captured, though its place is.
    pub without_departure: u64,
    /// Packets that a place on a wire has captured twice within 1 ms; they count once.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub captured_twice: u64,
    /// Packets that are left out, because their bytes were seen more than 64 times within 20 s.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub left_out: u64,
    /// Segments by how often they were sent on the air, from 1; the last number holds all above.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attempts: Vec<u64>,
    /// Parts of the delay of segments that got across.
    pub parts: PartsSummary,
    /// The same of acknowledgements without payload that this end sent.
    pub acknowledgements: PartsSummary,
    /// From leaving until the acknowledgement came back, of segments that were sent once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip: Option<DelaySummary>,
    /// Segments by what became of them.
    pub fates: FatesSummary,
    /// What was sent again.
    pub retransmissions: RetransmissionSummary,
}

/// The parts of a delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartsSummary {
    /// Between two wired places before the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wire_before: Option<DelaySummary>,
    /// From the last wired place before the air until the first attempt on it begins: the queue of
    /// the transmitter, and its wait for the channel.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait: Option<DelaySummary>,
    /// `wait` holds the wire from the sender to the access point, too: no place in between is known.
    /// Its least is about the wire's.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub wait_holds_wire: bool,
    /// From the begin of the first attempt to the end of the one that got it across.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub air: Option<DelaySummary>,
    /// From the end of that attempt to the last wired place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub behind: Option<DelaySummary>,
    /// From the first to the last wired place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total: Option<DelaySummary>,
}

/// Delays in milliseconds; the median and the percentile are within 0.4 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelaySummary {
    /// How many.
    pub count: u64,
    /// Least.
    pub least_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// Greatest.
    pub max_ms: f64,
    /// How many were below zero, as the clocks have it: these are further off than they seem.
    #[serde(skip_serializing_if = "super::is_zero", default)]
    pub below_zero: u64,
}

/// Copies of segments by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FatesSummary {
    /// It arrived.
    pub arrived: u64,
    /// It left and was never heard on the air, though the air was captured: lost before the hop or
    /// in its queue, or missed by the monitor each time.
    pub lost_before: u64,
    /// It was heard on the air and never acknowledged there.
    pub lost_on_air: u64,
    /// It was acknowledged on the air and did not arrive.
    pub lost_behind: u64,
    /// It was lost between two places with no capture of the air.
    pub lost_between: u64,
    /// It was acknowledged on the air; nothing behind that is captured.
    pub across_air: u64,
    /// Not known.
    pub unknown: u64,
}

/// What was sent again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetransmissionSummary {
    /// Retransmissions by what became of the copy before. Those whose copy before had arrived are
    /// spurious: the acknowledgement was late, or lost.
    pub copy_before: FatesSummary,
    /// Retransmissions that left within 1 ms after an acknowledgement came: duplicates or SACK.
    pub after_acknowledgement: u64,
    /// Others: a timer.
    pub after_timer: u64,
    /// From the copy before to the retransmission.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<DelaySummary>,
}

/// A segment that took long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowSegmentSummary {
    /// The flow.
    pub flow: String,
    /// Its sender.
    pub from: String,
    /// Number of its first byte, as it is on the wire.
    pub sequence: u32,
    /// Its payload in bytes.
    pub payload_bytes: u32,
    /// When it was seen first.
    pub at_s: f64,
    /// From the first to the last place that has seen it.
    pub seen_ms: f64,
    /// Number of its packet where it left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left_frame: Option<u64>,
    /// Numbers of its first and last attempt in the capture of the air.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub air_frames: Option<[u64; 2]>,
    /// Number of its packet where it arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrived_frame: Option<u64>,
    /// Attempts on the air that were captured.
    pub attempts: u32,
    /// Until its first attempt.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait_ms: Option<f64>,
    /// From its first attempt to the one that got it across.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub air_ms: Option<f64>,
    /// From that to its arrival.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub behind_ms: Option<f64>,
    /// It was sent again after so long.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_again_after_ms: Option<f64>,
    /// What made its sender do so: `acknowledgement` or `timer`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_again_by: Option<String>,
    /// What became of it: a key of `fates`.
    pub fate: String,
}

/// What else was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextSummary {
    /// The file, as it was named.
    pub file: String,
    /// `apq` or `franc`.
    pub kind: String,
    /// Its main figures.
    pub sentences: Vec<String>,
}

/// A file that was read, for the document.
pub struct JoinedFile<'a> {
    /// As it was named.
    pub name: &'a str,
    /// What was read of it.
    pub analysis: &'a Analysis,
}

fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}
