//! The declared keys of a file, for manual pages and documentation.

use crate::table::Keys;
use std::collections::BTreeMap;

/// A table and its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReference {
    /// Places of the table, such as `[channel] error_model`; empty for the top level.
    pub places: Vec<String>,
    /// Description of the table, in sentences.
    pub docs: String,
    /// Keys of the table, in order.
    pub keys: Vec<KeyReference>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReference {
    /// Name of the key.
    pub name: &'static str,
    /// Allowed values in words, without lists of units.
    pub allowed: String,
    /// Default, as written in a file or in words; `None` for a required key.
    pub default: Option<String>,
    /// Meaning of the key, in sentences.
    pub docs: String,
}

/// Returns the tables of a file, outer ones first: `all` has the name in the schema, the
/// documentation and the keys of each, and `root` is the name of the outermost.
pub fn tables(all: Vec<(String, String, Keys)>, root: &str) -> Vec<TableReference> {
    let tables = all.into_iter().map(|(name, docs, keys)| (name, (docs, keys))).collect();
    let mut tables = Tables { tables, places: BTreeMap::new(), order: Vec::new() };
    tables.visit(root, "");
    let Tables { tables, mut places, order } = tables;
    let table = |name: &String| {
        let (docs, keys) = &tables[name];
        let places = places.remove(name).unwrap_or_default();
        let places = places.into_iter().filter(|place| !place.is_empty()).collect();
        TableReference { places, docs: docs.clone(), keys: described(keys) }
    };
    order.iter().map(table).collect()
}

fn described(keys: &Keys) -> Vec<KeyReference> {
    let key = |key: &crate::table::Key| KeyReference {
        name: key.name,
        allowed: without_units(&key.allowed),
        default: match (&key.default, key.required, &key.table) {
            // Lists break between their elements.
            (Some(default), ..) => Some(default.replace("\",\"", "\", \"")),
            (None, true, _) => None,
            (None, false, Some(_)) if key.allowed == "tables" => Some("none".into()),
            (None, false, _) => Some("its defaults".into()),
        },
        docs: key.docs.clone(),
    };
    keys.0.iter().map(key).collect()
}

/// Tables by name, and the places of each.
struct Tables {
    tables: BTreeMap<String, (String, Keys)>,
    places: BTreeMap<String, Vec<String>>,
    order: Vec<String>,
}

impl Tables {
    /// Visits `table` at `place`, then the tables inside it.
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

/// Returns the place of the key `name` inside the table at `place`.
fn inside(place: &str, name: &str, allowed: &str) -> String {
    match (place, allowed) {
        ("", "tables") => format!("[[{name}]]"),
        ("", _) => format!("[{name}]"),
        _ => format!("{place} {name}"),
    }
}

/// Removes the lists of units from `allowed`; pages list units once.
fn without_units(allowed: &str) -> String {
    match allowed.split_once(" (units: ") {
        Some((before, rest)) => {
            let (_, after) = rest.split_once(')').expect("a list of units ends");
            format!("{before}{after}")
        }
        None => allowed.into(),
    }
}
