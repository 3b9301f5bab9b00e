//! The result of a medium between the kernel's simulated radios, as JSON: the output of `lasthop
//! medium --json`. Names carry units; a key that does not apply is absent, never null. The doc
//! comments are the descriptions in the JSON Schema.

use crate::value::{kept_schema, to_json};
use serde::{Deserialize, Serialize};

/// A medium between the kernel's simulated radios, from start to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediumDocument {
    /// Version of lasthop that ran.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// The radios, in the order of the scenario's nodes.
    pub radios: Vec<MediumRadio>,
    /// Frames that the kernel gave up while they waited for the air.
    pub given_up_by_kernel: u64,
    /// Frames at a rate that the model lacks, sent at the next lower one.
    pub rates_replaced: u64,
    /// Frames too long for the kernel's interface, which no radio received.
    pub too_long: u64,
    /// Lateness of receptions against the model: the 99.9th percentile in microseconds; absent
    /// without receptions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lateness_p999_us: Option<f64>,
}

/// A radio of the medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediumRadio {
    /// Name of the radio's node in the scenario.
    pub node: String,
    /// Name of the radio in the kernel.
    pub radio: String,
    /// First interface of the radio when the medium started, if it had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interface: Option<String>,
    /// MAC address of the radio.
    pub address: String,
    /// Activity on each channel that the radio used.
    pub channels: Vec<MediumChannel>,
}

/// Activity of a radio on a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediumChannel {
    /// Centre frequency of the primary channel in MHz.
    pub mhz: u32,
    /// MPDUs received from the kernel for transmission.
    pub frames: u64,
    /// PPDUs with these MPDUs.
    pub ppdus: u64,
    /// MPDUs in these PPDUs, retransmissions included.
    pub mpdus: u64,
    /// Retransmissions among these MPDUs.
    pub retries: u64,
    /// MPDUs that were acknowledged.
    pub acknowledged: u64,
    /// MPDUs given up after all attempts of rate control, without acknowledgement.
    pub given_up: u64,
    /// PPDUs that overlapped with another one at their receiver.
    pub overlapped: u64,
    /// MPDUs that a receiver rejected because it was off, or on another channel.
    pub refused: u64,
    /// Time on the air in seconds, responses included.
    pub airtime_s: f64,
}

impl MediumDocument {
    /// Returns the document as JSON.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Returns the JSON Schema of a [`MediumDocument`].
pub fn medium_schema() -> serde_json::Value {
    kept_schema(include_str!("../schemas/medium.json"))
}
