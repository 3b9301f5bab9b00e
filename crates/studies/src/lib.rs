//! lasthop beside others: figures of papers, and judges of the models.
//!
//! | module | content |
//! |---|---|
//! | [`reproduce`] | figures of papers, for `lasthop reproduce` |
//! | [`validate`] | ns-3, closed forms and the kernel, for the program `validate` (feature `validate`) |
//! | [`verdict`] | whether two figures agree |
//! | [`table`] | tables with verdicts, as Markdown |
//!
//! The feature `schema` derives `schemars::JsonSchema` of documents, for a test.

#![forbid(unsafe_code)]

pub mod reproduce;
pub mod table;
#[cfg(feature = "validate")]
pub mod validate;
pub mod verdict;

pub use verdict::Verdict;
