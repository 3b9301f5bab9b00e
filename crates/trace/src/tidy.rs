//! Parts of a summary as tables: a row for each flow, node or link, and a column for every number,
//! boolean and word in the document's schema, whether or not a row has it. Names of nested keys are
//! joined, the unit last (`rtt_ms` with `p95` is `rtt_p95_ms`). Types and names follow from the
//! schema, so that a new key of the document is a new column. Lists of words become words joined by
//! commas; other lists are left out.

use crate::document::{RunDocument, run_schema};
use crate::rows::ColumnKind;
use crate::table::memory::Builder;
use crate::table::{Columns, Kind};
use crate::value::LossReason;
use serde_json::{Map, Value};

/// Parts of a [`RunDocument`] that are tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tidy {
    /// Flows by name, in the column `flow`.
    Flows,
    /// Wi-Fi nodes by name, in the column `node`.
    Nodes,
    /// Directions of Wi-Fi links by name, in the column `link`.
    Links,
}

/// A column with values from an object of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentColumn {
    /// Name of the column.
    pub name: String,
    /// Path of keys from the row's object inwards.
    pub path: Vec<String>,
    /// Type of the values.
    pub kind: ColumnKind,
}

/// Schema of a run's document, for the columns of tables.
#[derive(Clone, Debug)]
pub struct DocumentSchema(Value);

/// Units at the end of names: nested keys are inserted before them.
const UNITS: [&str; 9] =
    ["_ms", "_us", "_s", "_mbps", "_packets", "_bytes", "_fraction", "_db", "_dbm"];

impl DocumentColumn {
    /// Returns the column's value in `object`, if present.
    pub fn value<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.path.iter().try_fold(object, |object, key| object.get(key))
    }

    /// Joins the words of a list; `None` for other values and empty lists.
    pub fn words(value: &Value) -> Option<String> {
        let words: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl DocumentSchema {
    /// Returns the schema of a run.
    pub fn of_a_run() -> Self {
        Self(run_schema())
    }

    /// Returns the columns of the document itself.
    pub fn columns(&self) -> Vec<DocumentColumn> {
        self.columns_of(&self.0)
    }

    /// Returns the columns of the rows at `place`: maps of the document, outermost first, whose
    /// entries are rows. Each place is a path of keys joined by `/`; `[]` ends the path of a list.
    ///
    /// # Panics
    /// If the schema has no such place.
    pub fn columns_at(&self, place: &[&str]) -> Vec<DocumentColumn> {
        let mut object = &self.0;
        for path in place {
            for key in path.trim_end_matches("[]").split('/') {
                object = self.resolve(&object["properties"][key]);
            }
            let inner = if path.ends_with("[]") { "items" } else { "additionalProperties" };
            object = self.resolve(&object[inner]);
        }
        assert!(object["properties"].is_object(), "{place:?} is not in a document");
        self.columns_of(object)
    }

    fn columns_of(&self, object: &Value) -> Vec<DocumentColumn> {
        let mut columns = Vec::new();
        self.collect(object, "", &mut Vec::new(), &mut columns);
        columns
    }

    /// Follows references and options to the schema of the value.
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(target) = schema["$ref"].as_str() {
            let target = self.0.pointer(target.trim_start_matches('#'));
            return self.resolve(target.expect("the schema is whole"));
        }
        match schema["anyOf"].as_array() {
            Some(choices) => {
                let there = choices.iter().find(|choice| choice["type"] != "null");
                self.resolve(there.expect("a value that may be absent"))
            }
            None => schema,
        }
    }

    /// Adds the columns of an object. Keys that are always present come first, in the order of the
    /// document.
    fn collect(
        &self,
        object: &Value,
        name: &str,
        path: &mut Vec<String>,
        to: &mut Vec<DocumentColumn>,
    ) {
        let none = Map::new();
        let properties = object["properties"].as_object().unwrap_or(&none);
        let always = object["required"].as_array().map_or(&[][..], Vec::as_slice);
        let first = always.iter().filter_map(Value::as_str);
        let others = properties.keys().filter(|key| !always.contains(&Value::from(key.as_str())));
        for key in first.chain(others.map(String::as_str)) {
            let schema = self.resolve(&properties[key]);
            let name = joined(name, key);
            path.push(key.to_owned());
            match kind(schema) {
                Some(kind) => to.push(DocumentColumn { name, path: path.clone(), kind }),
                // The only map of numbers in a row: packets by reason.
                None if key.ends_with("_by_reason") => {
                    for reason in LossReason::ALL {
                        let (name, mut path) = (joined(&name, reason.as_str()), path.clone());
                        path.push(reason.as_str().to_owned());
                        to.push(DocumentColumn { name, path, kind: ColumnKind::Int });
                    }
                }
                None => self.collect(schema, &name, path, to),
            }
            path.pop();
        }
    }
}

/// Returns the column type of a value with this schema, if it has one.
fn kind(schema: &Value) -> Option<ColumnKind> {
    let is = |name: &str| match &schema["type"] {
        Value::Array(types) => types.contains(&Value::from(name)),
        kind => kind == name,
    };
    if is("integer") {
        Some(ColumnKind::Int)
    } else if is("number") {
        Some(ColumnKind::Double)
    } else if is("boolean") {
        Some(ColumnKind::Bool)
    } else if is("string")
        || schema["oneOf"].is_array()
        || schema["enum"].is_array()
        || is("array") && schema["items"]["type"] == "string"
    {
        Some(ColumnKind::Text)
    } else {
        None
    }
}

/// Joins a name with an inner one, the unit last.
fn joined(outer: &str, inner: &str) -> String {
    match UNITS.iter().find_map(|unit| Some((outer.strip_suffix(unit)?, unit))) {
        _ if outer.is_empty() => inner.to_owned(),
        Some((before, unit)) if !inner.ends_with(unit) => format!("{before}_{inner}{unit}"),
        _ => format!("{outer}_{inner}"),
    }
}

impl Tidy {
    /// Makes the table of a run; rows are in the order of their names.
    pub fn table(self, document: &RunDocument) -> Columns {
        let document = serde_json::to_value(document).expect("a document has string keys");
        let (part, key) = match self {
            Self::Flows => ("flows", "flow"),
            Self::Nodes => ("nodes", "node"),
            Self::Links => ("links", "link"),
        };
        let columns = DocumentSchema::of_a_run().columns_at(&[part]);
        let names = columns.iter().map(|column| {
            let kind = match column.kind {
                ColumnKind::Bool => Kind::Bool,
                ColumnKind::Int => Kind::Int64,
                ColumnKind::Double => Kind::Double,
                ColumnKind::Text => Kind::Text,
            };
            (column.name.as_str(), kind)
        });
        let mut table = Builder::new([(key, Kind::Text)].into_iter().chain(names), &[]);
        let none = Map::new();
        for (name, entry) in document[part].as_object().unwrap_or(&none) {
            table.row();
            table.text(0, name);
            for (index, column) in (1..).zip(&columns) {
                match (column.value(entry), column.kind) {
                    (Some(Value::Bool(value)), ColumnKind::Bool) => table.bool(index, *value),
                    (Some(Value::String(value)), ColumnKind::Text) => table.text(index, value),
                    (Some(value @ Value::Array(_)), ColumnKind::Text) => {
                        if let Some(words) = DocumentColumn::words(value) {
                            table.text(index, &words);
                        }
                    }
                    (Some(Value::Number(value)), ColumnKind::Double) => {
                        table.number(index, value.as_f64().unwrap_or(f64::NAN));
                    }
                    (Some(Value::Number(value)), _) => {
                        table.count(index, value.as_i64().unwrap_or(i64::MAX));
                    }
                    _ => {}
                }
            }
        }
        table.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_their_unit() {
        for (outer, inner, name) in [
            ("", "rtt_ms", "rtt_ms"),
            ("rtt_ms", "p95", "rtt_p95_ms"),
            ("cwnd_packets", "mean", "cwnd_mean_packets"),
            ("absences", "time_fraction", "absences_time_fraction"),
            ("mpdus_per_ppdu", "max", "mpdus_per_ppdu_max"),
            ("delay_parts_slowest_ms", "queue", "delay_parts_slowest_queue_ms"),
        ] {
            assert_eq!(joined(outer, inner), name);
        }
    }

    #[test]
    fn columns_are_those_of_the_document() {
        let schema = DocumentSchema::of_a_run();
        let columns = schema.columns_at(&["flows"]);
        let kind = |name: &str| {
            columns.iter().find(|column| column.name == name).map(|column| column.kind)
        };
        assert_eq!(kind("goodput_mbps"), Some(ColumnKind::Double));
        assert_eq!(kind("one_way_delay_p99_ms"), Some(ColumnKind::Double));
        assert_eq!(kind("packets_lost_by_reason_queue_full"), Some(ColumnKind::Int));
        assert_eq!(kind("kind"), Some(ColumnKind::Text));
        assert_eq!(kind("absent_nodes"), Some(ColumnKind::Text));
        let places: [&[&str]; 7] = [
            &["flows"],
            &["links"],
            &["nodes"],
            &["wires"],
            &["flows", "apq/directions[]"],
            &["franc", "nodes"],
            &["franc", "directions"],
        ];
        for place in places {
            let columns = schema.columns_at(place);
            assert!(columns.len() >= 3, "{place:?}: {columns:?}");
            let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), columns.len(), "{place:?}");
        }
    }
}
