//! The flows, nodes or links of a summary as a table: a row each, a column for every
//! number, truth and word that the schema of the document knows, whether or not it
//! applies to some row. Names of nested keys are joined with `_` (`rtt_ms_mean`). Types
//! and names follow from the schema, so that a new key of the document is a new column.
//! Leaves out lists (`absent_nodes`, the directions of an APQ flow).

use crate::document::{RunDocument, run_schema};
use crate::table::memory::Builder;
use crate::table::{Columns, Kind};
use crate::value::LossReason;
use serde_json::{Map, Value};

/// A part of a [`RunDocument`] that is a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tidy {
    /// The flows by name, column `flow`.
    Flows,
    /// The Wi-Fi nodes by name, column `node`.
    Nodes,
    /// The directions of Wi-Fi links by name, column `link`.
    Links,
}

/// A column: where in an entry its value is.
struct Leaf {
    name: String,
    kind: Kind,
    path: Vec<String>,
}

impl Tidy {
    /// The table of one run; rows are in the order of their names.
    pub fn table(self, document: &RunDocument) -> Columns {
        let schema = run_schema();
        let document = serde_json::to_value(document).expect("a document has string keys");
        let (part, key) = match self {
            Self::Flows => ("flows", "flow"),
            Self::Nodes => ("nodes", "node"),
            Self::Links => ("links", "link"),
        };
        let entry = &schema["properties"][part]["additionalProperties"];
        let mut leaves = Vec::new();
        collect(&schema, entry, &mut Vec::new(), &mut leaves);
        let names = leaves.iter().map(|leaf| (leaf.name.as_str(), leaf.kind));
        let mut table = Builder::new([(key, Kind::Text)].into_iter().chain(names), &[]);
        let none = Map::new();
        for (name, entry) in document[part].as_object().unwrap_or(&none) {
            table.row();
            table.text(0, name);
            for (column, leaf) in (1..).zip(&leaves) {
                let value = leaf.path.iter().try_fold(entry, |value, key| value.get(key));
                match (value, leaf.kind) {
                    (Some(Value::Bool(value)), Kind::Bool) => table.bool(column, *value),
                    (Some(Value::String(value)), Kind::Text) => table.text(column, value),
                    (Some(Value::Number(value)), Kind::Double) => {
                        table.number(column, value.as_f64().unwrap_or(f64::NAN));
                    }
                    (Some(Value::Number(value)), _) => {
                        table.count(column, value.as_i64().unwrap_or(i64::MAX));
                    }
                    _ => {}
                }
            }
        }
        table.finish()
    }
}

/// Adds the columns of what `schema` describes, which is in `root`. Keys that are
/// always there come first, in the order of the document.
fn collect(root: &Value, schema: &Value, path: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
    if let Some(target) = schema["$ref"].as_str() {
        let target = root.pointer(target.trim_start_matches('#'));
        return collect(root, target.expect("the schema is whole"), path, leaves);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let there = choices.iter().find(|choice| choice["type"] != "null");
        return collect(root, there.expect("a value that may be absent"), path, leaves);
    }
    if let Some(properties) = schema["properties"].as_object() {
        let always = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        let first = always.iter().filter_map(Value::as_str);
        let others = properties.keys().filter(|key| !always.contains(&Value::from(key.as_str())));
        for key in first.chain(others.map(String::as_str)) {
            path.push(key.to_owned());
            collect(root, &properties[key], path, leaves);
            path.pop();
        }
        return;
    }
    let is = |name: &str| match &schema["type"] {
        Value::Array(types) => types.contains(&Value::from(name)),
        kind => kind == name,
    };
    let mut leaf = |kind, path: &[String]| {
        leaves.push(Leaf { name: path.join("_"), kind, path: path.to_vec() });
    };
    if is("object") {
        // The only map of an entry: packets by reason.
        for reason in LossReason::ALL {
            let path: Vec<_> = path.iter().cloned().chain([reason.as_str().to_owned()]).collect();
            leaf(Kind::Int64, &path);
        }
    } else if is("integer") {
        leaf(Kind::Int64, path);
    } else if is("number") {
        leaf(Kind::Double, path);
    } else if is("boolean") {
        leaf(Kind::Bool, path);
    } else if is("string") || schema["oneOf"].is_array() || schema["enum"].is_array() {
        leaf(Kind::Text, path);
    }
}
