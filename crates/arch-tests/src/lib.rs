//! The rules of the source tree, as tests. No other crate depends on this one.
//!
//! | test | subject |
//! |---|---|
//! | `crates` | the table of crates in ARCHITECTURE.md against `cargo metadata` |
//! | `packages` | published crates are whole, and their READMEs show what examples print |
//! | `purity` | pure crates build without `std` |
//! | `texts` | links, file headers, lengths, the list of limits of the model |
//! | `idioms` | tuples as parameters, `match` on a bool, types that share a name, `fn of` |
//! | `prose` | the share of weak sentences in documents, help and doc comments |
//! | `contract` | every machine keeps the promise of [`lasthop_units::Machine`] |
//!
//! The modules are the common parts of the tests: [`architecture`] reads the table, [`cargo`]
//! runs cargo, [`files`] walks the tree, [`idioms`] finds idioms, [`prose`] finds sentences,
//! [`contract`] drives a machine.

#![forbid(unsafe_code)]

pub mod architecture;
pub mod cargo;
pub mod contract;
pub mod files;
pub mod idioms;
pub mod prose;
