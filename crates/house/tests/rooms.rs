//! The rooms and what they depend on, against ARCHITECTURE.md. Dependencies of
//! every kind count, those of tests and build scripts too.

use lasthop_house::{architecture, cargo};
use std::collections::BTreeSet;

#[test]
fn the_table_has_every_room_and_no_other() {
    let described: BTreeSet<_> = architecture::rooms().into_keys().collect();
    let there: BTreeSet<_> = cargo::rooms().into_keys().collect();
    assert_eq!(described, there, "left: ARCHITECTURE.md, right: crates/");
}

#[test]
fn a_room_depends_on_what_the_table_allows() {
    let table = architecture::rooms();
    let rooms = cargo::rooms();
    for (name, package) in &rooms {
        let allowed = &table[name].may_depend_on;
        let used = rooms.iter().filter(|(_, other)| package.dependencies.contains(&other.name));
        let beyond: Vec<_> = used.map(|(room, _)| room).filter(|r| !allowed.contains(*r)).collect();
        assert!(
            beyond.is_empty(),
            "{name} depends on {beyond:?}; ARCHITECTURE.md allows {allowed:?}"
        );
    }
}

#[test]
fn the_table_itself_keeps_the_drivers_apart() {
    let table = architecture::rooms();
    assert!(!table["sim"].may_depend_on.contains("live"));
    assert!(!table["live"].may_depend_on.contains("sim"));
    assert!(table["trace"].may_depend_on.iter().all(|room| table[room].is_pure()));
}

#[test]
fn pure_rooms_depend_on_pure_rooms() {
    let table = architecture::rooms();
    for (name, room) in table.iter().filter(|(_, room)| room.is_pure()) {
        for dependency in &room.may_depend_on {
            assert!(
                table[dependency].is_pure(),
                "{name} may depend on {dependency}, which is not pure"
            );
        }
    }
}

#[test]
fn only_trace_knows_arrow_and_parquet() {
    let column_stores = |name: &str| name == "parquet" || name.starts_with("arrow");
    for (name, package) in cargo::rooms() {
        let uses = package.dependencies.iter().any(|dependency| column_stores(dependency));
        assert!(!uses || name == "trace", "{name} writes columns; that is trace's work");
    }
}

#[test]
fn nothing_is_asynchronous() {
    const RUNTIMES: [&str; 5] = ["tokio", "async-std", "smol", "async-io", "futures-executor"];
    for package in cargo::packages().values() {
        assert!(!RUNTIMES.contains(&package.name.as_str()), "the graph holds {}", package.name);
    }
}
