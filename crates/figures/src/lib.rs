//! Plots, and the frame of HTML pages.
//!
//! | module | content |
//! |---|---|
//! | [`plot`] | panels, drawn as SVG and PNG |
//! | [`page`] | the frame of HTML pages, and tables |
//! | [`text`] | numbers and escaped texts, without the feature `plots` too |
//!
//! The crate knows neither scenarios nor runs, reads no clock and writes no file.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

#[cfg(feature = "plots")]
pub mod page;
#[cfg(feature = "plots")]
pub mod plot;
pub mod text;
