//! Scenarios that run in a browser, built for `wasm32-unknown-unknown`.
//!
//! | module | content |
//! |---|---|
//! | [`job`] | a run in chunks: newer input may end it between two of them |
//! | [`answer`] | what a page is given: the document, findings, series, causes, distributions |
//! | [`knobs`] | what of a scenario can be changed by sliders, as `--set` has it |
//! | `watch` | what is read of a run besides its document |
//! | `abi` | the functions that JavaScript calls |
//!
//! The document is that of `lasthop simulate --json`, byte for byte but for `wall_s`, which is 0:
//! there is no clock here. Times are in seconds of the scenario's time unless a name says
//! otherwise. Left out: files that a scenario names, programs (`[[run]]`), several runs.

#![deny(unsafe_code)]

pub mod answer;
pub mod job;
pub mod knobs;

#[cfg(target_family = "wasm")]
mod abi;
mod watch;

use serde::Deserialize;

/// A scenario and its changes, as a page asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What error messages call the scenario, such as `hello.toml`.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Changes as `--set` has them, in order.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Number of the run.
    #[serde(default)]
    pub run: u64,
}
