//! Values shared by the documents: distributions of times, counts and windows, the parts of a
//! delay, reasons of losses; and functions that round and write JSON.
//!
//! The doc comments here are the descriptions in the published JSON Schemas.

use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSummary {
    /// Mean of the times.
    pub mean: f64,
    /// Median of the times.
    pub p50: f64,
    /// Time that 95 % of the values do not exceed.
    pub p95: f64,
    /// Time that 99 % of the values do not exceed.
    pub p99: f64,
    /// Greatest of the times.
    pub max: f64,
}

/// A distribution of counts: mean, 95th percentile, greatest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowSummary {
    /// Mean of the counts.
    pub mean: f64,
    /// Count that 95 % of the values do not exceed.
    pub p95: u32,
    /// Greatest of the counts.
    pub max: u32,
}

/// A distribution of counts with its median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountSummary {
    /// Mean of the counts.
    pub mean: f64,
    /// Median of the counts.
    pub p50: u32,
    /// Count that 95 % of the values do not exceed.
    pub p95: u32,
    /// Greatest of the counts.
    pub max: u32,
}

/// Reasons of packet losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// A queue was full.
    QueueFull,
    /// Dropped by active queue management.
    ActiveQueue,
    /// The retry limit of a Wi-Fi sender was reached.
    RetryLimit,
    /// The lifetime of an MSDU expired.
    Lifetime,
    /// Lost on a wire.
    WireLoss,
    /// A group-addressed frame that the receiver could not decode.
    GroupLoss,
    /// Arrived behind the reorder window or twice.
    Duplicate,
    /// The receiver's reassembly had no space, or timed out.
    Reassembly,
    /// A station left its channel and gave up unsent packets.
    OffChannel,
    /// The station had left or lost its access point, and had not joined another one.
    NotAssociated,
    /// The access point that held the packet, or to which the packet came, had failed.
    Failed,
    /// The access point's buffer for an unreachable station was full.
    PowerSaveBuffer,
    /// Arrived after its receiver had given it up (pseudo retry-out).
    PseudoRetryOut,
    /// A coded link dropped it, or injected its loss.
    CodedLink,
    /// A coded link sent a later acknowledgement of TCP in its place: nothing is lost with it.
    AckReplaced,
    /// No path leads to its destination.
    Unreachable,
}

/// The parts of a mean one-way delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayPartsSummary {
    /// Waiting behind other packets in the queues of the Wi-Fi hop.
    pub queue: f64,
    /// Waiting for a station that was off its channel (background scan): for the sender from the
    /// stop of its queue on, or for the receiver.
    #[serde(default)]
    pub away: f64,
    /// Waiting for a station that dozed (power save), up to its return, its PS-Poll or, of group
    /// frames, the DTIM: for the sender or for the receiver.
    #[serde(default)]
    pub asleep: f64,
    /// Waiting for a station without an access point, the sender or the receiver, until it has joined
    /// one; absent when zero.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub roam: f64,
    /// Waiting for the channel: AIFS, backoff, other stations, RTS/CTS.
    pub contention: f64,
    /// From the first PPDU that carried the packet to the PPDU that delivered it.
    pub retries: f64,
    /// Held in the recipient's reorder buffer.
    pub reorder: f64,
    /// On the air, in the PPDU that delivered the packet.
    pub air: f64,
    /// On wires: queue, serialisation, propagation, jitter.
    pub wire: f64,
    /// Other delay (the processing time of hosts, coded links); absent when zero.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub other: Option<f64>,
}

fn is_zero(part: &f64) -> bool {
    *part == 0.0
}

/// Serialises a document as indented JSON with a final newline.
pub(crate) fn to_json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document)
        .expect("a document has string keys and no fallible serializer");
    text.push('\n');
    text
}

/// Returns the JSON Schema whose kept text is `text`.
pub(crate) fn kept_schema(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("a test compares it with what schemars makes")
}

/// Rounds `value` to `decimals` decimal places.
pub(crate) fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale
}

pub(crate) fn time_ms(histogram: &Histogram) -> Option<TimeSummary> {
    let ms = |nanos: u64| rounded(nanos as f64 / 1e6, 6);
    Some(TimeSummary {
        mean: rounded(histogram.mean()? / 1e6, 6),
        p50: ms(histogram.quantile(0.5)?),
        p95: ms(histogram.quantile(0.95)?),
        p99: ms(histogram.quantile(0.99)?),
        max: ms(histogram.max()?),
    })
}
