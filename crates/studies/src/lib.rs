//! lasthop beside others: figures of papers, and judges of the models.
//!
//! | module | content |
//! |---|---|
//! | [`reproduce`] | figures of papers, for `lasthop reproduce` |
//! | [`validate`] | ns-3, closed forms and the kernel, for the program `validate` (feature `validate`) |
//! | [`verdict`] | whether two figures agree |
//! | [`table`] | tables with verdicts, as Markdown |
//!
//! Papers and judges are one crate, because both compare lasthop with others, by the same verdicts
//! and tables. The command's feature `studies` adds the papers; a default build leaves them out and
//! starts sooner. Judges are behind a feature, because they need namespaces, other programs and hours.
//!
//! A figure that the model must meet is in `validate`. A figure of a paper is in `reproduce::papers`,
//! with its source in the header and its tested statements in the paper's `claims.rs`. Its scenario is
//! in `scenarios/<key>`; `lasthop reproduce --out` writes `docs/reproduce/<key>.md`, `<key>.csv` and
//! the plots.
//!
//! The feature `schema` derives `schemars::JsonSchema` of documents, for a test.

#![forbid(unsafe_code)]

pub mod reproduce;
pub mod table;
#[cfg(feature = "validate")]
pub mod validate;
pub mod verdict;

pub use verdict::Verdict;
