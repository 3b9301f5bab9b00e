//! The rules of the source tree, as tests. No other crate depends on this one.
//!
//! | test | what it checks |
//! |---|---|
//! | `crates` | the table of crates in ARCHITECTURE.md against `cargo metadata` |
//! | `packages` | published crates are whole, and their READMEs show what examples print |
//! | `purity` | pure crates build without `std` |
//! | `texts` | links, file headers, lengths, the list of what is not modelled |
//! | `contract` | every machine keeps the promise of [`lasthop_units::Machine`] |
//!
//! Their common parts are here: [`architecture`] reads the table, [`cargo`] runs
//! cargo, [`files`] walks the tree, [`contract`] drives a machine.

#![forbid(unsafe_code)]

pub mod architecture;
pub mod cargo;
pub mod contract;
pub mod files;
