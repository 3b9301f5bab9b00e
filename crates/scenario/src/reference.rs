//! Reference of every key of scenario files: for manual pages, and for the pages of
//! `docs/scenario/`.
//!
//! The text comes from the declarations in `raw`. In `docs/scenario.md` a marker separates the text
//! written by hand from the generated part below it. `UPDATE_DOCS=1` makes the test rewrite the
//! pages.

use crate::raw;
pub use lasthop_config::reference::{KeyReference, TableReference};
pub use lasthop_config::table::without_links;

/// Returns the tables of a scenario file, outer ones first.
pub fn scenario() -> Vec<TableReference> {
    lasthop_config::reference::tables(raw::all(), "Scenario")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    const MARKER: &str =
        "<!-- Below this line the page is made from crates/scenario/src/raw. -->\n";

    /// Pages below `docs/scenario`: file, title, and the tables on them.
    const PAGES: [(&str, &str, &str); 8] = [
        ("general", "The run", "name and duration; programs, changes, emulation, sweeps"),
        ("node", "Nodes and queues", "roles, positions, radios, MTU, queues, host time"),
        ("mac", "The MAC of a node", "rate control, EDCA, aggregation, Block Ack, OFDMA, MU-MIMO"),
        (
            "absence",
            "Scans, absences, roaming, power save, operating modes",
            "stations that scan, leave by a clock, roam, doze, or reduce their width and streams",
        ),
        (
            "channel",
            "Channel, links, cells, neighbours",
            "standard, path loss, fading, other cells",
        ),
        ("wire", "Wires", "rate, delay, jitter, loss and queue of a cable"),
        ("flow", "Flows", "TCP, UDP, video, pings, measurements of queues"),
        ("franc", "Coded links", "FRANC between nodes of the scenario"),
    ];

    /// Returns the page of the table at `place`, which is empty for the top level.
    fn page_of(place: &str) -> &'static str {
        let is_below = |outer: &str| place == outer || place.starts_with(&format!("{outer} "));
        let is_key =
            |keys: &[&str]| keys.iter().any(|key| is_below(&format!("[node_defaults] {key}")));
        match place {
            _ if is_key(&["scan", "absence", "roaming", "power_save", "operating_mode"]) => {
                "absence"
            }
            _ if is_key(&[
                "rate_control",
                "edca",
                "aggregation",
                "block_ack",
                "ofdma",
                "mu_mimo",
            ]) =>
            {
                "mac"
            }
            _ if is_key(&["low_rate_retry", "pseudo_retry_out"]) => "mac",
            _ if is_below("[node_defaults]") || is_below("[[node]]") => "node",
            _ if ["[channel]", "[[link]]", "[[cell]]", "[[neighbour]]"]
                .iter()
                .any(|it| is_below(it)) =>
            {
                "channel"
            }
            _ if is_below("[[wire]]") => "wire",
            _ if is_below("[[flow]]") => "flow",
            _ if is_below("[[franc]]") => "franc",
            _ => "general",
        }
    }

    fn tables_of<'a>(
        all: &'a [TableReference],
        page: &str,
    ) -> impl Iterator<Item = &'a TableReference> {
        all.iter()
            .filter(move |table| page_of(table.places.first().map_or("", String::as_str)) == page)
    }

    /// Returns the heading of a table: a place of all nodes stands for `[node_defaults]` too, and
    /// one of a wire for both directions.
    fn title_of(table: &TableReference) -> String {
        let wider = |place: &str| {
            let of = |outer: &str, wide: &str| {
                place.strip_prefix(outer).map(|key| format!("{wide} {key}"))
            };
            of("[node_defaults] ", "[[node]]")
                .or_else(|| of("[[wire]] up ", "[[wire]]"))
                .or_else(|| of("[[wire]] down ", "[[wire]]"))
        };
        let is_kept = |place: &&String| wider(place).is_none_or(|it| !table.places.contains(&it));
        let places: Vec<String> =
            table.places.iter().filter(is_kept).map(|place| format!("`{place}`")).collect();
        if places.is_empty() { "Top level".to_owned() } else { places.join(", ") }
    }

    /// Returns the table of `all` whose keys are all in `table`, which has further keys.
    fn part_of<'a>(
        all: &'a [TableReference],
        table: &TableReference,
    ) -> Option<&'a TableReference> {
        let has_all = |part: &&TableReference| {
            let is_more = part.keys.len() > 3 && part.keys.len() < table.keys.len();
            is_more && part.keys.iter().all(|key| table.keys.contains(key))
        };
        all.iter().find(has_all)
    }

    /// Returns the pages of `docs/scenario`, by file.
    fn pages(all: &[TableReference]) -> Vec<(&'static str, String)> {
        PAGES
            .into_iter()
            .map(|(file, title, about)| (file, page(all, file, title, about)))
            .collect()
    }

    fn page(all: &[TableReference], file: &str, title: &str, about: &str) -> String {
        let mut page = format!(
            "# {title}\n\n<!-- Made from crates/scenario/src/raw; do not edit. -->\n\n[Scenario \
             files](../scenario.md): {about}.\n"
        );
        for table in tables_of(all, file) {
            let is_inner = table.places.first().is_some_and(|place| place.contains(' '));
            let has_outer = !["mac", "absence"].contains(&file);
            let depth = if is_inner && has_outer { "###" } else { "##" };
            let (title, docs) = (title_of(table), from_below(&table.docs));
            let _ = writeln!(page, "\n{depth} {title}\n\n{docs}\n");
            let part = part_of(all, table);
            if let Some(part) = part {
                let _ = writeln!(page, "Further keys: those of {}.\n", title_of(part));
            }
            let is_new = |key: &&KeyReference| part.is_none_or(|part| !part.keys.contains(key));
            let _ = writeln!(page, "|key| value| default| meaning|\n|---|---|---|---|");
            for key in table.keys.iter().filter(is_new) {
                let default = match key.default.as_deref() {
                    None => "**required**",
                    Some("its defaults") => "",
                    Some(default) => default,
                };
                let cells = [
                    &format!("`{}`", key.name),
                    &short(&key.allowed),
                    default,
                    &from_below(&key.docs),
                ];
                let cells = cells.map(|cell| cell.replace('|', "\\|"));
                let _ = writeln!(page, "|{}|", cells.join("| "));
            }
        }
        page
    }

    /// Returns `text` with links for a page one folder further down.
    fn from_below(text: &str) -> String {
        text.replace("](", "](../")
    }

    /// Returns the allowed values in the words of the table in `docs/scenario.md`.
    fn short(allowed: &str) -> String {
        const WORDS: [(&str, &str); 19] = [
            ("an array of at least one, each ", "list: "),
            ("an array of two, each ", "two: "),
            ("a number of bytes, plain or with a unit like \"128KiB\"", "size"),
            ("a probability from 0 to 1, or \"0%\" to \"100%\"", "probability"),
            ("a time like \"10ms\"", "time"),
            ("a bit rate like \"300Mb/s\"", "bit rate"),
            ("a power like \"20dBm\"", "power"),
            ("a power ratio like \"7dB\"", "ratio"),
            ("a distance like \"10m\"", "distance"),
            ("a frequency like \"5Hz\"", "frequency"),
            ("a speed like \"1.4m/s\"", "speed"),
            ("a whole number from ", ""),
            ("a number from 0 to 1000000", "number"),
            (" that begins with a letter or digit", ""),
            ("a name of up to 64 letters, digits, \"-\", \"_\" or \".\"", "name"),
            ("true or false", "boolean"),
            ("the path of a file, relative to the scenario's folder", "file"),
            (
                "a program and its arguments like [\"iperf3\", \"-s\"], or a line for the shell",
                "command",
            ),
            ("a table", "table"),
        ];
        WORDS.iter().fold(allowed.to_owned(), |text, (long, short)| text.replace(long, short))
    }

    /// Returns the table of pages in `docs/scenario.md`.
    fn index(all: &[TableReference]) -> String {
        let mut index = String::from("\n## All keys\n\n| page | tables | about |\n|---|---|---|\n");
        for (file, title, about) in PAGES {
            let outer = |table: &TableReference| {
                let [first, ..] = table.places.as_slice() else {
                    return Some("top level".to_owned());
                };
                let (_, inner) = first.split_once(' ').unwrap_or_default();
                match inner {
                    "" => Some(format!("`{first}`")),
                    inner if file == "mac" || file == "absence" => {
                        (!inner.contains(' ')).then(|| format!("`{inner}`"))
                    }
                    _ => None,
                }
            };
            let tables: Vec<String> = tables_of(all, file).filter_map(outer).collect();
            let tables = tables.join(", ");
            let _ = writeln!(index, "| [{title}](scenario/{file}.md) | {tables} | {about} |");
        }
        index
    }

    /// Compares a page of `docs` with `new`, or writes it.
    fn kept(name: &str, new: &str) {
        let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, new).expect("the page can be written");
        } else {
            let old = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(old == new, "docs/{name} is out of date: run this test with UPDATE_DOCS=1");
        }
    }

    #[test]
    fn the_reference_pages_are_up_to_date() {
        let all = scenario();
        let path = format!("{}/../../docs/scenario.md", env!("CARGO_MANIFEST_DIR"));
        let old = std::fs::read_to_string(&path).expect("the page is there");
        let (by_hand, _) = old.split_once(MARKER).expect("it has the marker");
        kept("scenario.md", &format!("{by_hand}{MARKER}{}", index(&all)));
        for (file, page) in pages(&all) {
            kept(&format!("scenario/{file}.md"), &page);
        }
    }

    #[test]
    fn every_table_is_on_one_page() {
        let all = scenario();
        let on_pages: usize =
            PAGES.into_iter().map(|(file, ..)| tables_of(&all, file).count()).sum();
        assert_eq!(on_pages, all.len());
    }

    #[test]
    fn every_key_of_the_schema_is_on_the_page() {
        fn keys(schema: &serde_json::Value, found: &mut Vec<String>) {
            let serde_json::Value::Object(object) = schema else { return };
            if let Some(serde_json::Value::Object(properties)) = object.get("properties") {
                found.extend(properties.keys().cloned());
            }
            if let Some(serde_json::Value::Object(definitions)) = object.get("$defs") {
                definitions.values().for_each(|inner| keys(inner, found));
            }
        }
        let mut found = Vec::new();
        keys(&crate::schema(), &mut found);
        assert!(found.len() > 100, "{}", found.len());
        let pages: String = pages(&scenario()).into_iter().map(|(_, page)| page).collect();
        for key in found {
            assert!(pages.contains(&format!("\n|`{key}`|")), "{key}");
        }
    }
}
