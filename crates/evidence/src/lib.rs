//! Figures held against those of others, for whoever holds them: a paper's (`reproduce`),
//! another simulator's or a kernel's (`validate`).
//!
//! | module | what it is |
//! |---|---|
//! | [`verdict`] | whether two figures agree |
//! | [`table`] | rows with verdicts, as Markdown |
//! | [`plot`] | panels, drawn as SVG and PNG |
//!
//! It knows no scenario and no run, reads no clock and writes no file.

#![forbid(unsafe_code)]

pub mod plot;
pub mod table;
pub mod verdict;

pub use verdict::Verdict;
