//! Runs lasthop's models against what others measured (ns-3, the kernel) and derived
//! (closed forms), and tells which figures lie in their bands.
//!
//! [`kernel`] and [`losses`] are the cross-checks with the kernel's TCP, [`links`] and [`tunnels`]
//! compare coded links with what else there is. [`setting`] is one experiment, [`closed_forms`] the theory, [`chapters`] the
//! comparisons, `lasthop_evidence` their presentation.

pub mod chapters;
pub mod closed_forms;
pub mod data;
mod kept;
pub mod kernel;
pub mod links;
pub mod losses;
pub mod paths;
pub mod queues;
pub mod setting;
pub mod tunnels;
