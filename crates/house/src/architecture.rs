//! The table of rooms in ARCHITECTURE.md: the one place that says which rooms
//! there are, of which kind, and what each may depend on.

use crate::files;
use std::collections::{BTreeMap, BTreeSet};

/// The first cells of the table's header.
const HEADER: &str = "| room | kind | may depend on |";

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// `pure` or something else.
    pub kind: String,
    /// The rooms it may depend on.
    pub may_depend_on: BTreeSet<String>,
}

impl Room {
    /// Whether the room is to build without `std`.
    pub fn is_pure(&self) -> bool {
        self.kind == "pure"
    }
}

/// All rooms by name, as ARCHITECTURE.md has them. Panics where the table is malformed.
pub fn rooms() -> BTreeMap<String, Room> {
    let text = files::read("ARCHITECTURE.md");
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with(HEADER))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let rooms: BTreeMap<_, _> = rows.map(row).collect();
    assert!(!rooms.is_empty(), "ARCHITECTURE.md has no table that begins `{HEADER}`");
    rooms
}

fn row(line: &str) -> (String, Room) {
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
    (name, Room { kind: kind.to_owned(), may_depend_on })
}
