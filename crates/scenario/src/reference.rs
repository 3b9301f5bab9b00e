//! The reference pages of all keys, `docs/scenario.md` and, for `franc.toml`,
//! `docs/franc.md`: what is above the marker is written by hand, what is below it is
//! made here from the declarations in `raw` and `franc`. With `UPDATE_DOCS=1` the test writes the pages anew.

use crate::raw;
use crate::table::{Key, Keys};
use std::collections::BTreeMap;
use std::fmt::Write;

const MARKER: &str = "<!-- Below this line the page is made from crates/scenario/src/raw.rs. -->\n";

const FRANC_MARKER: &str =
    "<!-- Below this line the page is made from crates/scenario/src/franc.rs. -->\n";

/// The tables by name, and where each of them may stand.
struct Tables {
    tables: BTreeMap<String, (String, Keys)>,
    places: BTreeMap<String, Vec<String>>,
    order: Vec<String>,
}

impl Tables {
    /// Goes through `table`, which stands at `place`, and what is in it.
    fn visit(&mut self, table: &str, place: &str) {
        let places = self.places.entry(table.into()).or_default();
        places.push(place.into());
        if places.len() == 1 {
            self.order.push(table.into());
        }
        let inner: Vec<(String, String)> = self.tables[table]
            .1
            .0
            .iter()
            .filter_map(|key| Some((key.table.clone()?, inside(place, key))))
            .collect();
        for (table, place) in inner {
            self.visit(&table, &place);
        }
    }
}

/// How one writes the key of a table that stands at `place`.
fn inside(place: &str, key: &Key) -> String {
    match (place, key.allowed.as_str()) {
        ("", "tables") => format!("[[{}]]", key.name),
        ("", _) => format!("[{}]", key.name),
        _ => format!("{place} {}", key.name),
    }
}

fn page() -> String {
    let tables = raw::all().into_iter().map(|(name, docs, keys)| (name, (docs, keys))).collect();
    let mut tables = Tables { tables, places: BTreeMap::new(), order: Vec::new() };
    tables.visit("Scenario", "");
    let mut page = String::new();
    for name in &tables.order {
        let (docs, keys) = &tables.tables[name];
        let places = &tables.places[name];
        let title = match places[0].as_str() {
            "" => "Top level".to_owned(),
            _ => places.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(", "),
        };
        let depth = if places[0].contains(' ') { "###" } else { "##" };
        let _ = writeln!(page, "\n{depth} {title}\n\n{docs}\n");
        rows(&mut page, keys);
    }
    page
}

/// A row a key.
fn rows(page: &mut String, keys: &Keys) {
    let _ = writeln!(page, "| key | value | default | meaning |\n|---|---|---|---|");
    for key in &keys.0 {
        let default = match (&key.default, key.required, &key.table) {
            (Some(default), ..) => default.as_str(),
            (None, true, _) => "**required**",
            (None, false, Some(_)) if key.allowed == "tables" => "none",
            (None, false, _) => "its defaults",
        };
        let cells = [&format!("`{}`", key.name), &without_units(&key.allowed), default, &key.docs];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

fn franc_page() -> String {
    let (_, docs, keys) = crate::franc::all().remove(0);
    let mut page = format!(
        "\n## All keys\n\n{docs} Each is a flag too: `block_symbols` is `--block-symbols`, lists are \
         separated by commas.\n\n"
    );
    rows(&mut page, &keys);
    page
}

/// What is allowed, without the lists of units, which are above on the page.
fn without_units(allowed: &str) -> String {
    match allowed.split_once(" (units: ") {
        Some((before, rest)) => {
            let (_, after) = rest.split_once(')').expect("a list of units ends");
            format!("{before}{after}")
        }
        None => allowed.into(),
    }
}

#[test]
fn the_reference_pages_are_up_to_date() {
    for (name, marker, made) in
        [("scenario", MARKER, page()), ("franc", FRANC_MARKER, franc_page())]
    {
        let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
        let old = std::fs::read_to_string(&path).expect("the page is there");
        let (by_hand, _) = old.split_once(marker).expect("it has the marker");
        let new = format!("{by_hand}{marker}{made}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, new).expect("the page can be written");
        } else {
            assert!(old == new, "docs/{name}.md is out of date: run this test with UPDATE_DOCS=1");
        }
    }
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
    let page = page();
    for key in found {
        assert!(page.contains(&format!("\n| `{key}` |")), "{key}");
    }
}
