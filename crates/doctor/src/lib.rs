//! What a machine can do for lasthop, what its Wi-Fi does to delay, and what helps.
//!
//! | module | what it is |
//! |---|---|
//! | [`gather`](mod@gather) | facts: what is read of the kernel, and tried with its leave |
//! | [`nl80211`], [`qdisc`], [`text`] | what the kernel says, as bytes and text, read (pure) |
//! | [`counter`] | whether a driver's counters can be what they are called (pure) |
//! | [`finding`] | what is wrong or worth knowing, by a pure function of the facts |
//! | [`verb`] | which verbs of lasthop work, by another one |
//! | [`document`] | all of it as JSON |
//!
//! Nothing of the machine is changed: a namespace that is made ends with the trial that made it,
//! no module is loaded, no packet is sent. System calls are `live::os`'s.
//!
//! The feature `schema` derives `schemars::JsonSchema` of the document, for the test that
//! compares the kept JSON Schema, `schemas`, with it.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod counter;
pub mod document;
pub mod finding;
pub mod gather;
pub mod nl80211;
pub mod qdisc;
pub mod text;
pub mod verb;

pub use document::{DoctorDocument, Facts, schema};
pub use gather::gather;
