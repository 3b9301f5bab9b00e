//! Scenarios that run in a browser, built for `wasm32-unknown-unknown`.
//!
//! | module | content |
//! |---|---|
//! | [`job`] | a run in chunks; newer input may end it between two chunks |
//! | [`answer`] | data for a page: the document, findings, series, causes, distributions |
//! | [`knobs`] | keys of a scenario that sliders change, as `--set` does |
//! | `watch` | distributions of delays, beside the document |
//! | `abi` | the functions for JavaScript |
//!
//! The document is that of `lasthop simulate --json`, byte for byte except `wall_s`, which is 0
//! without a clock. Times are in seconds of the scenario's time unless a name has another unit.
//! Left out: files of a scenario, programs (`[[run]]`), several runs.
//!
//! A slider is in `knobs`; data of a run is in `answer`, then in `web/src/playground`.

#![deny(unsafe_code)]

pub mod answer;
pub mod job;
pub mod knobs;

#[cfg(target_family = "wasm")]
mod abi;
mod watch;

use serde::Deserialize;

/// A page's request: a scenario and its changes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Name of the scenario in error messages, such as `hello.toml`.
    pub file: String,
    /// Text of the scenario.
    pub text: String,
    /// Changes in the notation of `--set`, in order.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Number of the run.
    #[serde(default)]
    pub run: u64,
}
