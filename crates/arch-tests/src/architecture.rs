//! Reads the table of crates in ARCHITECTURE.md, the only place that lists the crates,
//! their kinds, and the crates on which each may depend. The column of responsibilities
//! is not read.

use crate::files;
use std::collections::{BTreeMap, BTreeSet};

/// The first cells of the header of the table.
const HEADER: &str = "| crate | kind | may depend on |";

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// The kind of crate, such as `pure`.
    pub kind: String,
    /// The crates on which it may depend.
    pub may_depend_on: BTreeSet<String>,
}

impl Crate {
    /// Whether the crate must build without `std`.
    pub fn is_pure(&self) -> bool {
        self.kind == "pure"
    }
}

/// Returns all crates in ARCHITECTURE.md, by name. Panics if the table is malformed.
pub fn crates() -> BTreeMap<String, Crate> {
    let text = files::read("ARCHITECTURE.md");
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with(HEADER))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let crates: BTreeMap<_, _> = rows.map(row).collect();
    assert!(!crates.is_empty(), "ARCHITECTURE.md has no table that begins `{HEADER}`");
    crates
}

fn row(line: &str) -> (String, Crate) {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, name, kind, dependencies, ..] = cells[..] else {
        panic!("ARCHITECTURE.md: a row needs three cells: {line}");
    };
    let name = name.trim_matches('`').to_owned();
    let may_depend_on = dependencies
        .split(',')
        .map(str::trim)
        .filter(|&dependency| dependency != "-")
        .map(|dependency| dependency.trim_matches('`').to_owned())
        .collect();
    (name, Crate { kind: kind.to_owned(), may_depend_on })
}
