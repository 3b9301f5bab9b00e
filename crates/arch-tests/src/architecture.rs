//! Reads the tables of ARCHITECTURE.md, the only place that lists the crates, their kinds, the
//! crates on which each may depend, and what else it may touch. The column of tasks is not read.

use crate::files;
use std::collections::{BTreeMap, BTreeSet};

/// The first cells of the headers of the tables.
const CRATES: &str = "| crate | kind | may depend on |";
const TOUCHES: &str = "| it touches | crates |";
const LAYERS: &str = "| layer | modules |";

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
    rows(CRATES).iter().map(|line| row(line)).collect()
}

/// Returns the crates that touch each thing besides crates of the workspace, by the thing's name.
pub fn touches() -> BTreeMap<String, BTreeSet<String>> {
    let quoted = |line: &String| {
        let mut names = quoted(line).into_iter();
        (names.next().expect("a row names a thing"), names.collect())
    };
    rows(TOUCHES).iter().map(quoted).collect()
}

/// Returns the modules of the layers of `wifi`, the lowest layer first.
pub fn wifi_layers() -> Vec<BTreeSet<String>> {
    rows(LAYERS).iter().map(|line| quoted(line).into_iter().collect()).collect()
}

/// Returns the files and folders of crates that the page names, with their extensions or slashes.
pub fn paths() -> BTreeSet<String> {
    let text = files::read("ARCHITECTURE.md");
    let text = text.lines().filter(|line| !line.starts_with("```")).collect::<Vec<_>>();
    let names = text.into_iter().flat_map(quoted);
    names.filter(|name| name.contains("/src/") || name.contains("/tests/")).collect()
}

/// The rows of the table with this header.
fn rows(header: &str) -> Vec<String> {
    let text = files::read("ARCHITECTURE.md");
    let rows = text.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let rows: Vec<String> =
        rows.take_while(|line| line.starts_with('|')).map(str::to_owned).collect();
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no table that begins `{header}`");
    rows
}

/// The names of a line between backticks.
fn quoted(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
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
