//! Compares lasthop's models with what others measured (ns-3, the kernel) and derived
//! (closed forms), and reports which values are within their bands.
//!
//! [`setting`] is one experiment in a Wi-Fi cell, [`closed_forms`] the theory.
//! [`kernel`], [`losses`] and [`places`] are comparisons with the kernel's TCP; [`links`],
//! [`tunnels`] and [`paths`] measure coded links; [`queues`] measures known queues from
//! outside; [`l4s`] runs Prague beside CUBIC; [`radios`] has measurements of real access points; [`instructions`] counts what a packet costs, [`memory`] what many stations take,
//! [`pace`] measures what an emulated packet does and how late it is, [`speed`] compares what
//! simulated ones cost with ns-3's, [`recording`] measures what files add, and batches of
//! runs. [`minstrel`] and [`fq_codel`] replay what mac80211 did, [`roams`] repeats walks between access
//! points. [`chapters`] has the tables,
//! which `lasthop_figures` renders.

pub mod chapters;
pub mod closed_forms;
pub mod data;
pub mod fq_codel;
pub mod instructions;
mod kept;
pub mod kernel;
pub mod l4s;
pub mod links;
pub mod losses;
pub mod memory;
pub mod minstrel;
pub mod pace;
pub mod paths;
pub mod places;
pub mod queues;
pub mod radios;
pub mod recording;
pub mod roams;
pub mod setting;
pub mod speed;
pub mod summary;
pub mod tunnels;
