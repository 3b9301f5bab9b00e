//! Sweeps: every combination of some keys of a scenario, with many runs each, into tables.
//!
//! | module | purpose |
//! |---|---|
//! | [`vary`] | `--vary PATH=VALUES`: keys and their values |
//! | [`value`](mod@value) | values in columns of tables: typed, with a unit |
//! | [`plan`] | the runs of a sweep, and the check of all combinations |
//! | [`engine`] | makes runs on threads |
//! | [`afar`] | makes runs in other processes |
//! | [`record`] | the result of a run |
//! | [`store`] | a sweep in a folder: journal, continuation, shards, tables |
//! | `asked` | the request, as in `sweep.json` |
//! | [`means`] | means of the runs, by quantity and combination |
//! | `tables` | the tables and their columns |
//!
//! A run is a pure function of scenario, seed, number and version, so any thread or machine may
//! make it at any time. Left out: making one run (`sim`), the page
//! of the means (`report`), and the terminal.
//!
//! The feature `schema` derives `schemars::JsonSchema` of the document; the test `schemas` compares
//! the kept JSON Schema with it.
//!
//! A notation of values is in `vary`, a table in `tables`, documented in `docs/sweep.md`.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

pub mod afar;
mod asked;
pub mod engine;
mod error;
pub mod means;
pub mod plan;
pub mod record;
pub mod store;
mod tables;
pub mod value;
pub mod vary;

pub use afar::{AfarError, Blueprint, Made, Pending};
pub use asked::{Asked, AskedKey};
pub use engine::{Engine, Progress};
pub use error::StoreError;
pub use means::{Means, QuantityMeans};
pub use plan::{Impossible, Plan, PlanError, Request, Task};
pub use record::{Outcome, Record};
pub use store::{FailedRuns, Merged, Shard, Store, merge, read_tables};
pub use tables::NamedTables;

/// Returns the JSON Schema (2020-12) of `sweep.json`.
pub fn schema() -> serde_json::Value {
    let text = include_str!("../schemas/sweep.json");
    serde_json::from_str(text).expect("a test compares it with what schemars makes")
}
