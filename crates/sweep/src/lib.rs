//! Sweeps: every combination of some keys of a scenario, with many runs each, into tables.
//!
//! | module | what it does |
//! |---|---|
//! | [`vary`] | `--vary PATH=VALUES`: keys and their values |
//! | [`value`](mod@value) | values as columns of tables have them: typed, with a unit |
//! | [`plan`] | which runs a sweep has; whether all combinations can be |
//! | [`engine`] | makes runs on threads |
//! | [`afar`] | makes runs in other processes |
//! | [`record`] | the result of a run |
//! | [`store`] | a sweep in a folder: journal, continuation, shards, tables |
//! | `page` | the page that shows curves |
//! | `tables` | which tables and columns there are |
//!
//! A run is a pure function of scenario, seed, number and version, so it does not matter
//! which thread or machine makes it, or when. Leaves out how one run is made (`run`), and
//! the terminal.
//!
//! The feature `schema` derives `schemars::JsonSchema` of the document, for the test that
//! compares the kept JSON Schema, `schemas`, with it.

#![forbid(unsafe_code)]

pub mod afar;
pub mod engine;
mod page;
pub mod plan;
pub mod record;
pub mod store;
mod tables;
pub mod value;
pub mod vary;

pub use afar::{AfarError, Blueprint, Made, Pending};
pub use engine::{Engine, Progress, Task};
pub use plan::{Impossible, Plan, PlanError, Request};
pub use record::{Outcome, Record};
pub use store::{Asked, FailedRuns, Merged, Shard, Store, StoreError, merge, read_tables};
pub use tables::NamedTables;

/// The JSON Schema (2020-12) of `sweep.json`.
pub fn schema() -> serde_json::Value {
    let text = include_str!("../schemas/sweep.json");
    serde_json::from_str(text).expect("a test compares it with what schemars makes")
}
