//! Plots, and the frame of HTML pages.
//!
//! | module | content |
//! |---|---|
//! | [`plot`] | panels, drawn as SVG and PNG |
//! | [`page`] | the frame of HTML pages, and tables |
//!
//! The crate knows neither scenarios nor runs, reads no clock and writes no file.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

pub mod page;
pub mod plot;
