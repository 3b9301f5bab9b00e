//! The rules of the tree, as tests. Nothing depends on this crate.
//!
//! | test | what it holds the tree to |
//! |---|---|
//! | `crates` | the table of crates in ARCHITECTURE.md against `cargo metadata` |
//! | `purity` | pure crates build without `std` |
//! | `texts` | links, file headers, lengths, the list of what is not modelled |
//! | `contract` | every machine keeps the promise of [`lasthop_units::Machine`] |
//!
//! What they share is here: [`architecture`] reads the table, [`cargo`] asks
//! cargo, [`files`] walks the tree, [`contract`] drives a machine.

#![forbid(unsafe_code)]

pub mod architecture;
pub mod cargo;
pub mod contract;
pub mod files;
