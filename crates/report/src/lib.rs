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
//! | [`ways`] | drops of the ways to the machine, in words |
//!
//! Simulated and emulated runs have the same document, and the same function judges both. The
//! crate runs nothing and reads and writes no file. Pages, plots and expectations take what
//! was read back from files and need the feature `files`, which is on by default.

#![forbid(unsafe_code)]

#[cfg(feature = "files")]
pub mod expectation;
pub mod finding;
#[cfg(feature = "files")]
pub mod page;
#[cfg(feature = "files")]
pub mod plots;
pub mod remedy;
pub mod trial;
pub mod ways;
