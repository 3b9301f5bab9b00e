//! What is wrong with a run, and why.
//!
//! | module | content |
//! |---|---|
//! | [`expectation`] | what a run shall be, and whether it is |
//! | [`finding`] | findings, by a pure function of a run's document |
//! | [`remedy`] | which remedies a scenario takes |
//! | [`trial`] | what remedies bring: the scenario with and without each, run by what is given |
//! | [`plots`] | series and delays as panels |
//! | [`page`] | all of it as one HTML page |
//!
//! Simulated and emulated runs have the same document, and the same function judges both. The
//! crate runs nothing and reads and writes no file.

#![forbid(unsafe_code)]

pub mod expectation;
pub mod finding;
pub mod page;
pub mod plots;
pub mod remedy;
pub mod trial;
