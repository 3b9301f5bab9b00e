//! What papers report, beside what lasthop gets. Each figure of a paper is one
//! or more runs of a shipped scenario, the quantities that the paper states
//! with the bands that ours must lie in, and a plot.
//!
//! | module | what it is |
//! |---|---|
//! | [`papers`] | the registry, one module a paper; says how to add a figure |
//! | [`figure`] | what a figure is made of: runs, quantities, verdicts |
//! | [`data`] | what a run left behind, by name and over time |
//! | [`run`](mod@run) | runs scenarios in parallel; the result does not depend on how many at a time |
//! | [`record`] | the sink of such a run, and what a scenario's indices are called |
//! | [`report`] | the JSON document and its schema |
//! | [`page`] | one HTML page a paper |
//! | [`markdown`] | one Markdown page a paper |
//! | [`words`] | quantities as a person reads them |
//!
//! Nothing here reads a clock or writes a file: a door does.

#![forbid(unsafe_code)]

pub mod data;
pub mod figure;
pub mod markdown;
pub mod page;
pub mod papers;
pub mod record;
pub mod report;
pub mod run;
pub mod words;

pub use data::RunData;
pub use figure::{
    Calibrated, Claim, Figure, Findings, LEFT_OPEN, Ours, Paper, Quantity, Statement, Tested,
};
pub use papers::{PAPERS, UnknownFigure, select};
pub use report::{Report, schema};
pub use run::{Outcome, ReproduceError, reproduce};

/// What the plot of a figure is called, without extension.
pub fn plot_name(outcome: &Outcome) -> String {
    format!("{}-{}", outcome.paper.key, outcome.figure.id)
}
