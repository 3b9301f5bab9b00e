//! Findings of a run and their remedies.
//!
//! | module | content |
//! |---|---|
//! | [`begin`] | a scenario from the metadata of flent's results |
//! | [`advice`] | findings with remedies and trials, as in documents |
//! | [`expectation`] | expected values of a run, and the check |
//! | [`finding`] | findings, by a pure function of a run's document |
//! | [`remedy`] | remedies as arguments of `--set` that a scenario accepts |
//! | [`trial`] | trials of remedies: the scenario without each and with it, run by a callback |
//! | [`plots`] | series and delays as panels |
//! | [`page`] | findings, trials and plots as one HTML page |
//! | [`capture`] | a capture as text and as a page |
//! | [`sweep`] | the means of a sweep as a page |
//! | [`apq`] | a measured queue as text and as plots |
//! | [`table`], [`style`] | tables as text, and its look |
//! | [`ways`] | drops between nodes and the machine (`--reach`, `--publish`), as text |
//!
//! Simulated and emulated runs have the same document, and the same function judges both. The
//! crate runs nothing and reads and writes no file. Pages, plots and expectations use values that
//! were read from files; they require the feature `files`, which is on by default.
//!
//! A new finding of a run is in `finding`, judged by new draws in `tests/drawn`; its remedy is in
//! `remedy`. Captures, measured queues and sweeps are features: `capture`,
//! `apq` and `sweep`.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

pub mod advice;
#[cfg(feature = "files")]
pub mod apq;
#[cfg(feature = "files")]
pub mod begin;
#[cfg(feature = "capture")]
pub mod capture;
#[cfg(feature = "files")]
pub mod expectation;
pub mod finding;
#[cfg(feature = "files")]
pub mod page;
#[cfg(feature = "files")]
pub mod plots;
pub mod remedy;
pub mod style;
#[cfg(feature = "sweep")]
pub mod sweep;
pub mod table;
pub mod trial;
pub mod ways;
