//! Runs lasthop's 802.11 model against what others measured (ns-3) and derived
//! (closed forms), and tells which figures lie in their bands.
//!
//! [`setting`] is one experiment, [`closed_forms`] the theory, [`chapters`] the
//! comparisons, [`table`] their presentation.

pub mod chapters;
pub mod closed_forms;
pub mod data;
pub mod setting;
pub mod table;
