//! What came of a medium between the kernel's simulated radios, as JSON (the output of
//! `lasthop medium --json`). Names carry units; a key that does not apply is absent, never
//! null. The doc comments are the descriptions in the JSON Schema.

use crate::value::{kept_schema, to_json};
use serde::{Deserialize, Serialize};

/// A medium between the kernel's simulated radios, from beginning to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediumDocument {
    /// Version of lasthop that ran.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Seconds that it lasted.
    pub duration_s: f64,
    /// The radios, in the order of the scenario's nodes.
    pub radios: Vec<MediumRadio>,
    /// Frames that the kernel gave up while they waited for the air.
    pub given_up_by_kernel: u64,
    /// Frames at a rate that the model does not have, sent at the next lower one.
    pub rates_replaced: u64,
    /// Frames too long for the kernel's interface, which no radio received.
    pub too_long: u64,
    /// How much later than in the model frames were received: the 99.9th percentile in
    /// microseconds, if any were.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lateness_p999_us: Option<f64>,
}

/// A radio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediumRadio {
    /// Its node in the scenario.
    pub node: String,
    /// Its name in the kernel.
    pub radio: String,
    /// Its first interface when the medium began, if it had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interface: Option<String>,
    /// Its MAC address.
    pub address: String,
    /// What it did on each channel that it used.
    pub channels: Vec<MediumChannel>,
}

/// What a radio did on a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediumChannel {
    /// Centre frequency of the primary channel in MHz.
    pub mhz: u32,
    /// MPDUs that the kernel handed over.
    pub frames: u64,
    /// PPDUs that carried them.
    pub ppdus: u64,
    /// MPDUs in these PPDUs.
    pub mpdus: u64,
    /// Those of them that were sent before.
    pub retries: u64,
    /// MPDUs that were acknowledged.
    pub acknowledged: u64,
    /// MPDUs that were tried as often as rate control says, and not acknowledged.
    pub given_up: u64,
    /// PPDUs that overlapped with another one at their receiver.
    pub overlapped: u64,
    /// MPDUs that a receiver did not take: it was off, or on another channel.
    pub refused: u64,
    /// Seconds that it was on the air, responses included.
    pub airtime_s: f64,
}

impl MediumDocument {
    /// The document as JSON.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// JSON Schema of [`MediumDocument`].
pub fn medium_schema() -> serde_json::Value {
    kept_schema(include_str!("../schemas/medium.json"))
}
