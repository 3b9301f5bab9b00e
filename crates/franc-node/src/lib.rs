//! A node of a coded link as files.
//!
//! | module | contents |
//! |---|---|
//! | [`document`] | the state and the counters of a node, as JSON and for Prometheus |
//!
//! The crate knows no socket and no device; it builds for every target with `std`. The feature
//! `schema` derives `schemars::JsonSchema` of the document, for the test that compares the kept
//! JSON Schema with it.

#![forbid(unsafe_code)]

pub mod document;
