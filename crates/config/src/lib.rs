//! Configuration files in TOML: keys with units, declared once, and all problems of a file at once.
//!
//! | module | purpose |
//! |---|---|
//! | [`file`](mod@file) | files, read with a limit |
//! | [`tree`] | TOML as a tree; keys and values know their origin |
//! | [`table`] | tables of keys, declared by [`tables!`] |
//! | [`scalar`] | single values; closed sets of words, declared by [`choices!`] |
//! | [`quantity`] | numbers with units |
//! | [`edit`] | changes of a tree and of its text |
//! | [`reference`](mod@reference) | the declared keys, for documentation |
//! | [`error`] | problems, with file, line and key |
//!
//! The crate knows no key and no machine. Elements of an array of tables are called by one
//! convention: by their `name`, by their two ends (`between`, or `from` and `to`), by their `node`,
//! or by their index.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![forbid(unsafe_code)]

pub mod edit;
pub mod error;
pub mod file;
pub mod quantity;
pub mod reference;
pub mod scalar;
pub mod table;
pub mod tree;

pub use error::{ConfigError, Problem};
pub use scalar::did_you_mean;

#[doc(hidden)]
pub mod export {
    //! Crates that the code of the macros uses.
    pub use schemars;
    pub use serde_json;
}
