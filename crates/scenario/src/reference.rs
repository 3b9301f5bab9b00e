//! Every key of scenario files and of `franc.toml`, as documentation has it: for manual pages,
//! for `docs/scenario.md` and, of `franc.toml`, for `docs/franc.md`. What is above a marker on
//! those pages is written by hand, what is below it is made here from the declarations in `raw`
//! and `franc`. With `UPDATE_DOCS=1` the test writes the pages anew.

use crate::raw;
use crate::table::Keys;
use std::collections::BTreeMap;

/// A table and its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReference {
    /// Where it may stand, such as `[channel] error_model`; empty for the top level.
    pub places: Vec<String>,
    /// What it is, in sentences.
    pub docs: String,
    /// Its keys, in order.
    pub keys: Vec<KeyReference>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReference {
    /// Its name.
    pub name: &'static str,
    /// What is allowed, in words; lists of units are left out.
    pub allowed: String,
    /// The default, as it is written in a file or in words; `None` if the key must be there.
    pub default: Option<String>,
    /// What it means, in sentences.
    pub docs: String,
}

/// The tables of a scenario file, outer ones first.
pub fn scenario() -> Vec<TableReference> {
    let tables = raw::all().into_iter().map(|(name, docs, keys)| (name, (docs, keys))).collect();
    let mut tables = Tables { tables, places: BTreeMap::new(), order: Vec::new() };
    tables.visit("Scenario", "");
    let Tables { tables, mut places, order } = tables;
    let table = |name: &String| {
        let (docs, keys) = &tables[name];
        let places = places.remove(name).unwrap_or_default();
        let places = places.into_iter().filter(|place| !place.is_empty()).collect();
        TableReference { places, docs: docs.clone(), keys: told(keys) }
    };
    order.iter().map(table).collect()
}

/// The only table of `franc.toml`.
pub fn franc() -> TableReference {
    let (_, docs, keys) = crate::franc::all().remove(0);
    TableReference { places: Vec::new(), docs, keys: told(&keys) }
}

fn told(keys: &Keys) -> Vec<KeyReference> {
    let key = |key: &crate::table::Key| KeyReference {
        name: key.name,
        allowed: without_units(&key.allowed),
        default: match (&key.default, key.required, &key.table) {
            (Some(default), ..) => Some(default.clone()),
            (None, true, _) => None,
            (None, false, Some(_)) if key.allowed == "tables" => Some("none".into()),
            (None, false, _) => Some("its defaults".into()),
        },
        docs: key.docs.clone(),
    };
    keys.0.iter().map(key).collect()
}

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
            .filter_map(|key| Some((key.table.clone()?, inside(place, key.name, &key.allowed))))
            .collect();
        for (table, place) in inner {
            self.visit(&table, &place);
        }
    }
}

/// How one writes the key `name` of a table that stands at `place`.
fn inside(place: &str, name: &str, allowed: &str) -> String {
    match (place, allowed) {
        ("", "tables") => format!("[[{name}]]"),
        ("", _) => format!("[{name}]"),
        _ => format!("{place} {name}"),
    }
}

/// What is allowed, without the lists of units, which are elsewhere on a page.
fn without_units(allowed: &str) -> String {
    match allowed.split_once(" (units: ") {
        Some((before, rest)) => {
            let (_, after) = rest.split_once(')').expect("a list of units ends");
            format!("{before}{after}")
        }
        None => allowed.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    const MARKER: &str =
        "<!-- Below this line the page is made from crates/scenario/src/raw. -->\n";
    const FRANC_MARKER: &str =
        "<!-- Below this line the page is made from crates/scenario/src/franc.rs. -->\n";

    fn page() -> String {
        let mut page = String::new();
        for table in scenario() {
            let places: Vec<String> =
                table.places.iter().map(|place| format!("`{place}`")).collect();
            let title = match places.is_empty() {
                true => "Top level".to_owned(),
                false => places.join(", "),
            };
            let is_inner = table.places.first().is_some_and(|place| place.contains(' '));
            let depth = if is_inner { "###" } else { "##" };
            let _ = writeln!(page, "\n{depth} {title}\n\n{}\n", table.docs);
            rows(&mut page, &table.keys);
        }
        page
    }

    /// A row a key.
    fn rows(page: &mut String, keys: &[KeyReference]) {
        let _ = writeln!(page, "| key | value | default | meaning |\n|---|---|---|---|");
        for key in keys {
            let default = key.default.as_deref().unwrap_or("**required**");
            let cells = [&format!("`{}`", key.name), &key.allowed, default, &key.docs];
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
    }

    fn franc_page() -> String {
        let table = franc();
        let mut page = format!(
            "\n## All keys\n\n{} Each is a flag too: `block_symbols` is `--block-symbols`, lists \
             are separated by commas.\n\n",
            table.docs
        );
        rows(&mut page, &table.keys);
        page
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
                assert!(
                    old == new,
                    "docs/{name}.md is out of date: run this test with UPDATE_DOCS=1"
                );
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
}
