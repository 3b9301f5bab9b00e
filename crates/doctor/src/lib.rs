//! Checks a machine for lasthop: usable verbs, delay added by its Wi-Fi, and remedies.
//!
//! | module | content |
//! |---|---|
//! | [`gather`](mod@gather) | facts: values read from the kernel, and trials |
//! | [`nl80211`], [`qdisc`], [`text`] | parsers of the kernel's answers, as bytes and text (pure) |
//! | [`counter`] | plausibility of a driver's counters (pure) |
//! | [`finding`] | problems and notes, by a pure function of the facts |
//! | [`verb`] | states of the verbs, by another one |
//! | [`document`] | all results as JSON |
//! | `derive` | that document from the facts |
//!
//! A check changes nothing on the machine: a trial's namespace ends with it, no module is loaded,
//! no packet is sent. System calls are those of `linux`.
//!
//! The feature `schema` derives `schemars::JsonSchema` of the document, for the test that
//! compares the kept JSON Schema, `schemas`, with it.
//!
//! A new finding of a machine has its fact in `document` and `gather` (a system call: `linux`), its
//! sentence in `finding`, its key in `docs/doctor.md`, and its verbs in `verb`.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod counter;
mod derive;
pub mod document;
pub mod finding;
pub mod gather;
pub mod nl80211;
pub mod qdisc;
pub mod text;
pub mod verb;

pub use document::{DoctorDocument, Facts, schema};
pub use gather::gather;
