//! Figures of papers, beside those of lasthop. Each figure of a paper is one or more
//! runs of a shipped scenario, the quantities that the paper states with the bands in
//! which ours have to be, and a plot.
//!
//! | module | content |
//! |---|---|
//! | [`papers`] | the registry, one module per paper; says how to add a figure |
//! | [`figure`] | what a figure consists of: runs, quantities, verdicts |
//! | [`data`] | the data of a run, by name and over time |
//! | [`heard`] | what a capture of its air shows |
//! | [`kernels`] | measurements on real kernels, beside those of the model |
//! | [`run`](mod@run) | runs scenarios in parallel; the number of threads changes no result |
//! | [`record`] | the sink of such a run |
//! | [`air`] | the air of a run captured, and analysed meanwhile |
//! | [`report`] | the JSON document and its schema |
//! | [`page`] | one HTML page per paper |
//! | [`markdown`] | one Markdown page and one table (CSV) per paper |
//! | [`files`](mod@files) | all of them, and the plots, as files |
//! | [`words`], [`number`](mod@number) | quantities as text |
//!
//! The crate reads no clock and writes no file: the caller does.
//!
//! The feature `schema` derives `schemars::JsonSchema` of the document, for the test that
//! compares the kept JSON Schema, `schemas`, with it.

#![forbid(unsafe_code)]

pub mod air;
pub mod data;
pub mod figure;
pub mod files;
pub mod heard;
pub mod kernels;
pub mod markdown;
pub mod number;
pub mod page;
pub mod papers;
pub mod record;
pub mod report;
pub mod request;
pub mod run;
pub mod words;

pub use data::RunData;
pub use figure::{
    Calibrated, Claim, Figure, Findings, LEFT_OPEN, Ours, Paper, Quantity, Statement, Tested,
};
pub use files::files;
pub use papers::{PAPERS, UnknownFigure, select};
pub use report::{Report, date, schema};
pub use run::{Cost, Costs, Outcome, ReproduceError, costs, reproduce};

/// The name of the plot of a figure, without extension.
pub fn plot_name(outcome: &Outcome) -> String {
    format!("{}-{}", outcome.paper.key, outcome.figure.id)
}
