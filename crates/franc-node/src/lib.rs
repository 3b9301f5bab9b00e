//! A node of a coded link as files.
//!
//! | module | contents |
//! |---|---|
//! | `file` | `franc.toml`, the configuration of a node: [`load`], [`keys`], [`schema`] |
//! | [`coding`] | the keys of the coding, which `[[franc]]` of a scenario has too |
//! | [`document`] | the state and the counters of a node, as JSON and for Prometheus |
//!
//! The crate knows no socket and no device; it builds for every target with `std`. The feature
//! `schema` derives `schemars::JsonSchema` of the document, for the test that compares the kept
//! JSON Schema with it.
//!
//! A key of `franc.toml` is also a flag of the command.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

pub mod coding;
pub mod document;
mod file;

pub use file::{Key, Link, Transport, UdpNeighbour, keys, load, parse, reference, schema};

use std::marker::PhantomData;

/// A value of `T` by its name, where `T` is a type of another crate.
#[derive(Clone, Copy, Debug)]
pub struct Word<T>(PhantomData<T>);
