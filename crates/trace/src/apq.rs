//! A measured queue as JSON: the output of `lasthop apq measure --json`, and `apq.json`. Names
//! carry units; a key that does not apply is absent, never null. The doc comments of types are the
//! descriptions in the JSON Schema.

#[cfg(feature = "files")]
pub(crate) mod read;
#[cfg(feature = "files")]
pub(crate) mod samples;

use crate::value::{kept_schema, rounded, to_json};
use lasthop_apq::Direction;
use lasthop_apq::report::{
    self, DirectionReport, Discipline, Doubt, Judgement, LoadPoint, Report, SessionReport,
    SizeReport, Unit,
};
use lasthop_hosts::ApqEnding;
use serde::{Deserialize, Serialize};

/// The result of measuring an access point's queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqDocument {
    /// Name of the far host, as given.
    pub host: String,
    /// Method of the measurement.
    pub method: ApqMethod,
    /// Elapsed real time, in seconds.
    pub wall_s: f64,
    /// Round-trip time with empty queues, in ms: the sum of the shortest delays of both directions,
    /// in which the offset of the clocks cancels. It includes the drift of the clocks between the
    /// two measurements. Absent if only one direction was measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle_rtt_ms: Option<f64>,
    /// Version of lasthop that measured.
    pub version: String,
    /// Results for each direction, in the order of measurement.
    pub directions: Vec<ApqDirection>,
}

/// The result of a simulated measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqFlowSummary {
    /// End of the measurement; the results until then are present in any case.
    pub ending: ApqFlowEnding,
    /// Reason of the failure, if it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Results for each direction, in the order of measurement.
    pub directions: Vec<ApqDirection>,
}

/// Ends of a simulated measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApqFlowEnding {
    /// The measurement is complete.
    Done,
    /// The run ended before the measurement did.
    Unfinished,
    /// The measurement failed.
    Failed,
}

/// Methods of measuring a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApqMethod {
    /// Algorithms 1 and 2 of the paper.
    Exact,
    /// Bisection and short bursts, until the confidence interval is tight enough.
    Fast,
}

/// The queue in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqDirection {
    /// Direction of the packets, as seen by the measuring host.
    pub direction: ApqWay,
    /// Whether the result is without doubts.
    pub trusted: bool,
    /// Reasons why the result may be wrong.
    pub doubts: Vec<ApqDoubt>,
    /// Results for each packet length, in the order of measurement.
    pub sizes: Vec<ApqSize>,
    /// Unit of the queue's limit, packets or bytes; absent if not tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<ApqUnitJudgement>,
    /// Discipline of the queue; absent if not tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub discipline: Option<ApqDisciplineJudgement>,
    /// Packets in a queue below the upper one, if the measurement shows them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub driver_queue_packets: Option<ApqEstimate>,
    /// Duration of the phases, in seconds, without the pauses between them.
    pub measured_s: f64,
}

/// Directions of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApqWay {
    /// From the far host to the measuring host.
    Down,
    /// From the measuring host to the far host.
    Up,
}

/// A reason why a result may be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqDoubt {
    /// Kind of the doubt, in one word.
    pub kind: String,
    /// The doubt as a sentence.
    pub sentence: String,
}

/// Results with packets of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqSize {
    /// Length of the IP packets in bytes.
    pub packet_bytes: u16,
    /// The capacity in packets, counted packet by packet: the largest number in the queue and in
    /// transmission when another one was accepted, that one included.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity_packets: Option<ApqEstimate>,
    /// The capacity in bytes of IP packets, counted in the same way.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity_bytes: Option<ApqEstimate>,
    /// Equation 1 of the paper, in packets: median queueing delay times throughput.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub equation_1_packets: Option<ApqEstimate>,
    /// Throughput with a full queue in Mb/s, IP headers included.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throughput_mbps: Option<ApqEstimate>,
    /// Median delay with a full queue minus that with an empty queue, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queueing_delay_ms: Option<ApqEstimate>,
    /// Rate of the saturation flow in packets a second.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub saturation_pps: Option<f64>,
    /// The search for that rate, in the order of measurement.
    pub search: Vec<ApqLoad>,
    /// The sessions, in the order of measurement.
    pub sessions: Vec<ApqSession>,
}

/// One load of the search for the saturation rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqLoad {
    /// Packets sent a second.
    pub offered_pps: f64,
    /// Packets received a second.
    pub received_pps: f64,
    /// Share of lost packets, 0 to 1.
    pub loss_fraction: f64,
    /// Median delay minus the shortest delay of the search so far, in ms.
    pub queueing_delay_ms: f64,
}

/// One session: an empty queue, a full queue, an empty queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqSession {
    /// Capacity by equation 1 of the paper, in packets.
    pub equation_1_packets: f64,
    /// Capacity counted packet by packet, in packets.
    pub counted_packets: f64,
    /// Throughput with a full queue in Mb/s, IP headers included.
    pub throughput_mbps: f64,
    /// Median delay with a full queue minus that with an empty queue, in ms.
    pub queueing_delay_ms: f64,
    /// Share of the saturation flow's packets that were lost, 0 to 1.
    pub loss_fraction: f64,
    /// Drift of the receiver's clock against the sender's, in parts per million; positive if the
    /// receiver's is faster.
    pub drift_ppm: f64,
}

/// A mean over sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqEstimate {
    /// Mean of the values.
    pub mean: f64,
    /// Half-width of the mean's 95 % confidence interval; absent for fewer than two values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ci95: Option<f64>,
    /// Number of values.
    pub values: u32,
}

/// Verdict on the unit of the queue's limit, with its confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqUnitJudgement {
    /// Unit that fits the samples.
    pub verdict: ApqUnit,
    /// Confidence of the verdict, 0 to 1; of `cannot_tell`, that of the likeliest verdict.
    pub confidence: f64,
}

/// Unit of a queue's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApqUnit {
    /// A limit in packets.
    Packets,
    /// A limit in bytes.
    Bytes,
    /// The samples fit neither unit, or both.
    CannotTell,
}

/// Verdict on the discipline of the queue, with its confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApqDisciplineJudgement {
    /// Discipline that fits the samples.
    pub verdict: ApqDiscipline,
    /// Confidence of the verdict, 0 to 1; of `cannot_tell`, that of the likeliest verdict.
    pub confidence: f64,
}

/// Disciplines of a queue: the choice of packets to drop and to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApqDiscipline {
    /// One queue with a limit; packets that arrive at a full one are dropped.
    DropTail,
    /// One queue with managed delay (CoDel and similar).
    #[serde(rename = "codel")]
    CoDel,
    /// One queue a flow, with a limit.
    FairDropTail,
    /// One queue a flow, with managed delay (FQ-CoDel).
    #[serde(rename = "fq_codel")]
    FqCoDel,
    /// None of these disciplines, or more than one.
    CannotTell,
}

impl ApqDocument {
    /// Makes the document of a measurement with the far host `host`, which lasted `wall_s` seconds.
    pub fn new(host: &str, method: ApqMethod, report: &Report, wall_s: f64) -> Self {
        Self {
            host: host.into(),
            method,
            wall_s: rounded(wall_s, 3),
            idle_rtt_ms: None,
            version: env!("CARGO_PKG_VERSION").into(),
            directions: ApqDirection::all(report),
        }
    }

    /// Adds the idle round-trip time from the shortest delays down and up, each the receiver's
    /// clock minus the sender's in ns, if both are known.
    #[must_use]
    pub fn with_shortest(self, delays_ns: [Option<i64>; 2]) -> Self {
        let [down, up] = delays_ns;
        let sum = down.zip(up).map(|(down, up)| down.wrapping_add(up));
        let idle_rtt_ms = sum.filter(|sum| *sum > 0).map(|sum| rounded(sum as f64 * MS, 3));
        Self { idle_rtt_ms, ..self }
    }

    /// Returns the document as indented JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Returns the JSON Schema (2020-12) of an [`ApqDocument`].
pub fn apq_schema() -> serde_json::Value {
    kept_schema(include_str!("../schemas/apq.json"))
}

impl ApqFlowSummary {
    /// Makes the summary of a simulated measurement that ended as `ending`.
    pub fn new(ending: &ApqEnding, report: &Report) -> Self {
        let (ending, error) = match ending {
            ApqEnding::Done => (ApqFlowEnding::Done, None),
            ApqEnding::Unfinished => (ApqFlowEnding::Unfinished, None),
            ApqEnding::Failed(why) => (ApqFlowEnding::Failed, Some(why.to_string())),
        };
        Self { ending, error, directions: ApqDirection::all(report) }
    }
}

impl ApqDirection {
    /// Returns the directions in `report`.
    pub fn all(report: &Report) -> Vec<Self> {
        report.directions.iter().map(Self::from).collect()
    }
}

impl From<&DirectionReport> for ApqDirection {
    fn from(report: &DirectionReport) -> Self {
        Self {
            direction: report.direction.into(),
            trusted: report.doubts.is_empty(),
            doubts: report.doubts.iter().map(ApqDoubt::from).collect(),
            sizes: report.sizes.iter().map(ApqSize::from).collect(),
            unit: report.limit_unit.map(ApqUnitJudgement::from),
            discipline: report.discipline.map(ApqDisciplineJudgement::from),
            driver_queue_packets: report.driver_queue_packets.map(packets),
            measured_s: rounded(report.measured.as_secs_f64(), 6),
        }
    }
}

impl From<Direction> for ApqWay {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Down => Self::Down,
            Direction::Up => Self::Up,
        }
    }
}

impl From<&Doubt> for ApqDoubt {
    fn from(doubt: &Doubt) -> Self {
        Self { kind: doubt.kind().into(), sentence: doubt.to_string() }
    }
}

impl From<&SizeReport> for ApqSize {
    fn from(report: &SizeReport) -> Self {
        Self {
            packet_bytes: report.packet_bytes,
            capacity_packets: report.capacity_packets.map(packets),
            capacity_bytes: report.capacity_bytes.map(|value| estimate(value, 1.0, 0)),
            equation_1_packets: report.equation_1_packets.map(packets),
            throughput_mbps: report.throughput_bps.map(|value| estimate(value, MBPS, 6)),
            queueing_delay_ms: report.queueing_delay_ns.map(|value| estimate(value, MS, 6)),
            saturation_pps: report.saturation_pps.map(|rate| rounded(rate, 3)),
            search: report.search.iter().map(ApqLoad::from).collect(),
            sessions: report.sessions.iter().map(ApqSession::from).collect(),
        }
    }
}

impl From<&LoadPoint> for ApqLoad {
    fn from(point: &LoadPoint) -> Self {
        Self {
            offered_pps: rounded(point.offered_pps, 3),
            received_pps: rounded(point.received_pps, 3),
            loss_fraction: rounded(point.loss, 6),
            queueing_delay_ms: rounded(point.queueing_delay.as_millis_f64(), 6),
        }
    }
}

impl From<&SessionReport> for ApqSession {
    fn from(report: &SessionReport) -> Self {
        Self {
            equation_1_packets: rounded(report.equation_1_packets, 3),
            counted_packets: rounded(report.counted_packets, 3),
            throughput_mbps: rounded(report.throughput_bps * MBPS, 6),
            queueing_delay_ms: rounded(report.queueing_delay_ns * MS, 6),
            loss_fraction: rounded(report.loss, 6),
            drift_ppm: rounded(report.drift_ppm, 3),
        }
    }
}

impl From<Judgement<Unit>> for ApqUnitJudgement {
    fn from(judgement: Judgement<Unit>) -> Self {
        let verdict = match judgement.verdict {
            Unit::Packets => ApqUnit::Packets,
            Unit::Bytes => ApqUnit::Bytes,
            Unit::CannotTell => ApqUnit::CannotTell,
        };
        Self { verdict, confidence: rounded(judgement.confidence, 4) }
    }
}

impl From<Judgement<Discipline>> for ApqDisciplineJudgement {
    fn from(judgement: Judgement<Discipline>) -> Self {
        let verdict = match judgement.verdict {
            Discipline::DropTail => ApqDiscipline::DropTail,
            Discipline::CoDel => ApqDiscipline::CoDel,
            Discipline::FairDropTail => ApqDiscipline::FairDropTail,
            Discipline::FqCoDel => ApqDiscipline::FqCoDel,
            Discipline::CannotTell => ApqDiscipline::CannotTell,
        };
        Self { verdict, confidence: rounded(judgement.confidence, 4) }
    }
}

/// Factor from bits per second to Mb/s.
const MBPS: f64 = 1e-6;
/// Factor from nanoseconds to milliseconds.
const MS: f64 = 1e-6;

fn packets(value: report::Estimate) -> ApqEstimate {
    estimate(value, 1.0, 3)
}

fn estimate(value: report::Estimate, scale: f64, decimals: i32) -> ApqEstimate {
    ApqEstimate {
        mean: rounded(value.mean * scale, decimals),
        ci95: value.half_width.map(|half| rounded(half * scale, decimals)),
        values: value.values,
    }
}
