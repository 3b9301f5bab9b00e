//! Comparison of our figures with those of a paper (`reproduce`), of another simulator or of a
//! kernel (`validate`).
//!
//! | module | content |
//! |---|---|
//! | [`verdict`] | whether two figures agree |
//! | [`table`] | tables with verdicts, as Markdown |
//! | [`plot`] | panels, drawn as SVG and PNG |
//! | [`page`] | the frame of HTML pages, and tables |
//!
//! The crate knows neither scenarios nor runs, reads no clock and writes no file.
//!
//! The feature `schema` derives `schemars::JsonSchema` of [`Verdict`], for tests of documents.

#![forbid(unsafe_code)]

pub mod page;
pub mod plot;
pub mod table;
pub mod verdict;

pub use verdict::Verdict;
