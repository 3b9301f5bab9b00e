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
//! | [`links`] | links of devices that packets took, as rows of a table |
//! | [`plots`] | series and delays as panels |
//! | [`page`] | findings, trials and plots as one HTML page |
//! | [`capture`] | a capture as text and as a page |
//! | [`sweep`] | the means of a sweep as a page |
//! | [`apq`] | a measured queue as text and as plots |
//! | [`franc`] | a coded link: events, state and counters as text |
//! | [`table`], [`style`] | tables as text, and its look |
//! | [`together`] | groups of flows, and what senders wrote, as sentences |
//! | [`ways`] | drops between nodes and the machine (`--reach`, `--publish`), as text |
//!
//! Simulated and emulated runs have the same document, and the same function judges both. The
//! crate runs nothing and reads and writes no file. Findings require
//! the feature `runs`. Pages, plots and expectations use values that were read from files; they
//! require the feature `files`. All features are on by default.
//!
//! A new finding of a run is in `finding`, judged by new draws in `tests/drawn`; its remedy is in
//! `remedy`. Captures, measured queues, sweeps and coded links are features: `capture`, `apq`,
//! `sweep` and `franc`.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

#[cfg(feature = "runs")]
pub mod advice;
#[cfg(feature = "files")]
pub mod apq;
#[cfg(feature = "files")]
pub mod begin;
#[cfg(feature = "capture")]
pub mod capture;
#[cfg(feature = "files")]
pub mod expectation;
#[cfg(feature = "runs")]
pub mod finding;
#[cfg(feature = "franc")]
pub mod franc;
#[cfg(feature = "runs")]
pub mod links;
#[cfg(feature = "files")]
pub mod page;
#[cfg(feature = "files")]
pub mod plots;
#[cfg(feature = "runs")]
pub mod remedy;
pub mod style;
#[cfg(feature = "sweep")]
pub mod sweep;
#[cfg(feature = "runs")]
pub mod table;
#[cfg(feature = "runs")]
pub mod together;
#[cfg(feature = "runs")]
pub mod trial;
#[cfg(feature = "runs")]
pub mod ways;
