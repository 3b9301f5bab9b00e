//! The tables of a sweep: one row for each run, and one row for each flow, link, node and wire of a
//! run. Columns come from the schema of a run's document ([`DocumentSchema`]), so they are the same
//! in every shard and for every scenario.
//!
//! `runs` also has totals over all flows, and the numbers of each flow if there are few flows.
//! Lists are left out (the journal has them), except words, and the directions of a measured queue,
//! which have a table.

use crate::asked::Asked;
use crate::error::StoreError;
use crate::record::Ended;
use crate::value::{Value, ValueColumn, ValueKind};
use lasthop_trace::{
    Cell, ColumnKind, Columns, DocumentColumn, DocumentSchema, OutputDir, RowsWriter,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

/// The table with a row for each run.
const RUNS: &str = "runs";

/// All possible tables.
pub(crate) const NAMES: [&str; 8] =
    [RUNS, "flows", "links", "nodes", "wires", "apq", "franc_nodes", "franc_directions"];

/// A table beside `runs`: places of its rows in a document, outermost first, each with the column
/// for its name. A name with `[]` is a list, whose elements have columns.
const TIDY: [(&str, &[(&str, &str)]); 7] = [
    ("flows", &[("flows", "flow")]),
    ("links", &[("links", "link")]),
    ("nodes", &[("nodes", "node")]),
    ("wires", &[("wires", "wire")]),
    ("apq", &[("flows", "flow"), ("apq/directions[]", "direction")]),
    ("franc_nodes", &[("franc", "franc"), ("nodes", "node")]),
    ("franc_directions", &[("franc", "franc"), ("directions", "direction")]),
];

/// Tables that are written even without rows.
const ALWAYS: usize = 3;

/// Largest number of columns that `runs` has for single flows.
const FLOW_COLUMNS_MAX: usize = 1_000;

/// Returns the columns of a flow.
pub(crate) fn flow_columns() -> Vec<DocumentColumn> {
    DocumentSchema::of_a_run().columns_at(&["flows"])
}

/// Returns a cell, and the text that it borrows if the text is made here.
fn cell<'a>(value: Option<&'a Json>, kind: ColumnKind, text: &'a mut String) -> Cell<'a> {
    match (value, kind) {
        (Some(Json::Bool(truth)), ColumnKind::Bool) => Cell::Bool(*truth),
        (Some(Json::Number(number)), ColumnKind::Int) => {
            number.as_i64().map_or(Cell::Null, Cell::Int)
        }
        (Some(Json::Number(number)), ColumnKind::Double) => {
            number.as_f64().map_or(Cell::Null, Cell::Double)
        }
        (Some(Json::String(value)), ColumnKind::Text) => Cell::Text(value),
        (Some(list @ Json::Array(_)), ColumnKind::Text) => {
            let Some(words) = DocumentColumn::words(list) else { return Cell::Null };
            *text = words;
            Cell::Text(text)
        }
        _ => Cell::Null,
    }
}

fn value_cell(value: &Value) -> Cell<'_> {
    match value {
        Value::Int(number) => Cell::Int(*number),
        Value::Float(number) => Cell::Double(*number),
        Value::Bool(truth) => Cell::Bool(*truth),
        Value::Text(text) => Cell::Text(text),
    }
}

/// Contents of a sweep's runs, which decide on tables and columns.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Names of flows.
    pub flows: BTreeSet<String>,
    /// Tables with at least one row.
    tables: BTreeSet<&'static str>,
}

impl Found {
    pub fn add(&mut self, sketch: &Sketch) {
        for (name, flow) in &sketch.flows {
            if !self.flows.contains(name) {
                self.flows.insert(name.clone());
            }
            if flow.apq.is_some() {
                self.tables.insert("apq");
            }
        }
        if !sketch.wires.is_empty() {
            self.tables.insert("wires");
        }
        if !sketch.franc.is_empty() {
            self.tables.extend(["franc_nodes", "franc_directions"]);
        }
    }
}

/// Keys of a document that show its contents.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Sketch {
    flows: BTreeMap<String, FlowSketch>,
    #[serde(default)]
    wires: BTreeMap<String, IgnoredAny>,
    #[serde(default)]
    franc: BTreeMap<String, IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct FlowSketch {
    #[serde(default)]
    apq: Option<IgnoredAny>,
}

/// Tables in memory by name.
pub type NamedTables = Vec<(&'static str, Columns)>;

/// Destination of tables.
pub(crate) enum Destination<'a> {
    /// Parquet files in a folder, with this before their extension.
    Files(&'a mut OutputDir, String),
    /// No files: [`Tables::finish`] returns the tables.
    Memory,
}

/// Tables during writing.
pub(crate) struct Tables<'a> {
    keys: &'a [(ValueColumn, Vec<Value>)],
    /// Whether a key is the seed, which has a column already.
    has_seed: bool,
    runs: Runs,
    tidy: Vec<Tidy>,
}

/// The table of runs.
struct Runs {
    writer: RowsWriter,
    columns: Vec<DocumentColumn>,
    /// The flows with separate columns, and these columns.
    flows: Vec<String>,
    flow_columns: Vec<DocumentColumn>,
}

/// A table with a row for each element of a kind in a run.
struct Tidy {
    place: &'static [(&'static str, &'static str)],
    columns: Vec<DocumentColumn>,
    writer: Option<RowsWriter>,
}

/// Numbers over all flows of a run.
pub(crate) const TOTALS: [(&str, ColumnKind); 7] = [
    ("flows", ColumnKind::Int),
    ("goodput_total_mbps", ColumnKind::Double),
    ("goodput_least_mbps", ColumnKind::Double),
    ("goodput_fairness", ColumnKind::Double),
    ("packets_sent_total", ColumnKind::Int),
    ("packets_received_total", ColumnKind::Int),
    ("packets_lost_total", ColumnKind::Int),
];

impl<'a> Tables<'a> {
    pub fn new(
        mut to: Destination<'_>,
        asked: &Asked,
        keys: &'a [(ValueColumn, Vec<Value>)],
        found: &Found,
    ) -> Result<Self, StoreError> {
        let schema = DocumentSchema::of_a_run();
        let has_seed = keys.iter().any(|(column, _)| column.name == "seed");
        let mut begin: Vec<(String, ColumnKind)> =
            keys.iter().map(|(column, _)| (column.name.clone(), stored(column.kind))).collect();
        if !has_seed {
            begin.push(("seed".into(), ColumnKind::Int));
        }
        begin.push(("run".into(), ColumnKind::Int));
        let metadata = [
            ("lasthop.scenario", asked.scenario.clone()),
            ("lasthop.command", asked.command.clone()),
        ];
        let mut writer = |name: &str, columns: &[(String, ColumnKind)]| {
            let all: Vec<_> = begin.iter().chain(columns).cloned().collect();
            match &mut to {
                Destination::Files(directory, part) => {
                    let file = directory.file(&format!("{name}{part}.parquet"))?;
                    RowsWriter::new(file, &all, &metadata)
                }
                Destination::Memory => Ok(RowsWriter::in_memory(&all, &metadata)),
            }
        };
        let named = |columns: &[DocumentColumn]| -> Vec<(String, ColumnKind)> {
            columns.iter().map(|column| (column.name.clone(), column.kind)).collect()
        };
        // What is the same in all runs, or in the columns before, says nothing.
        let said = ["seed", "run", "scenario", "set", "version"];
        let top = schema.columns();
        let columns: Vec<DocumentColumn> = top
            .into_iter()
            .filter(|column| !said.contains(&column.name.as_str()))
            .filter(|column| !["emulation", "programs_left_out"].contains(&column.path[0].as_str()))
            .collect();
        let flow_columns = flow_columns();
        let is_few = found.flows.len() * flow_columns.len() <= FLOW_COLUMNS_MAX;
        let flows = if is_few { found.flows.iter().cloned().collect() } else { Vec::new() };
        let mut all = vec![("error".to_owned(), ColumnKind::Text)];
        all.extend(named(&columns));
        all.extend(TOTALS.map(|(name, kind)| (name.to_owned(), kind)));
        for flow in &flows {
            let of_flow =
                |column: &DocumentColumn| (format!("{flow}.{}", column.name), column.kind);
            all.extend(flow_columns.iter().map(of_flow));
        }
        let runs = Runs { writer: writer(RUNS, &all)?, columns, flows, flow_columns };
        let mut tidy = Vec::new();
        for (index, (name, place)) in TIDY.into_iter().enumerate() {
            let path: Vec<&str> = place.iter().map(|(path, _)| *path).collect();
            let columns = schema.columns_at(&path);
            let mut all: Vec<_> =
                place.iter().map(|(_, label)| ((*label).to_owned(), ColumnKind::Text)).collect();
            let columns: Vec<DocumentColumn> = columns
                .into_iter()
                .filter(|column| all.iter().all(|(label, _)| *label != column.name))
                .collect();
            all.extend(named(&columns));
            let writer = if index < ALWAYS || found.tables.contains(name) {
                Some(writer(name, &all)?)
            } else {
                None
            };
            tidy.push(Tidy { place, columns, writer });
        }
        Ok(Self { keys, has_seed, runs, tidy })
    }

    /// Adds a run; its keys have the values at index `values`.
    pub fn add(&mut self, values: usize, run: u32, ended: &Ended) -> Result<(), StoreError> {
        let json = ended.document.as_ref();
        let keys = self.keys.iter().map(|(_, of_key)| value_cell(&of_key[values]));
        let seed = json.and_then(|json| json["seed"].as_i64()).map_or(Cell::Null, Cell::Int);
        let seed = (!self.has_seed).then_some(seed);
        let begin: Vec<Cell<'_>> = keys.chain(seed).chain([Cell::Int(i64::from(run))]).collect();
        self.runs.add(&begin, ended.error.as_deref(), json)?;
        let Some(json) = json else { return Ok(()) };
        for tidy in &mut self.tidy {
            let Some(writer) = &mut tidy.writer else { continue };
            let mut labels = Vec::new();
            add_rows(writer, &tidy.columns, tidy.place, json, &begin, &mut labels)?;
        }
        Ok(())
    }

    /// Completes the tables; returns those in memory, by name.
    pub fn finish(self) -> Result<NamedTables, StoreError> {
        let tidy = TIDY.into_iter().zip(self.tidy);
        let tidy = tidy.filter_map(|((name, _), tidy)| Some((name, tidy.writer?)));
        let mut tables = Vec::new();
        for (name, writer) in iter::once((RUNS, self.runs.writer)).chain(tidy) {
            tables.extend(writer.finish()?.map(|columns| (name, columns)));
        }
        Ok(tables)
    }
}

impl Runs {
    fn add(
        &mut self,
        begin: &[Cell<'_>],
        error: Option<&str>,
        json: Option<&Json>,
    ) -> Result<(), StoreError> {
        let count = self.columns.len() + self.flows.len() * self.flow_columns.len();
        let mut texts = vec![String::new(); count];
        let mut texts = texts.iter_mut();
        let mut row: Vec<Cell<'_>> = begin.to_vec();
        row.push(error.map_or(Cell::Null, Cell::Text));
        for column in &self.columns {
            let value = json.and_then(|json| column.value(json));
            row.push(cell(value, column.kind, texts.next().expect("one for each")));
        }
        row.extend(json.map_or([Cell::Null; TOTALS.len()], totals));
        for flow in &self.flows {
            let json = json.and_then(|json| json["flows"].get(flow));
            for column in &self.flow_columns {
                let value = json.and_then(|json| column.value(json));
                row.push(cell(value, column.kind, texts.next().expect("one for each")));
            }
        }
        Ok(self.writer.row(row)?)
    }
}

/// Adds the rows in `object` at `place`.
fn add_rows(
    writer: &mut RowsWriter,
    columns: &[DocumentColumn],
    place: &[(&str, &str)],
    object: &Json,
    begin: &[Cell<'_>],
    labels: &mut Vec<String>,
) -> Result<(), StoreError> {
    let Some(((path, label), rest)) = place.split_first() else {
        let mut texts = vec![String::new(); columns.len()];
        let mut row: Vec<Cell<'_>> = begin.to_vec();
        row.extend(labels.iter().map(|label| Cell::Text(label)));
        for (column, text) in columns.iter().zip(&mut texts) {
            row.push(cell(column.value(object), column.kind, text));
        }
        return Ok(writer.row(row)?);
    };
    let mut keys = path.trim_end_matches("[]").split('/');
    let within: Vec<(String, &Json)> = match keys.try_fold(object, |at, key| at.get(key)) {
        Some(Json::Object(map)) => map.iter().map(|(name, row)| (name.clone(), row)).collect(),
        Some(Json::Array(list)) => {
            let name = |row: &Json| row[*label].as_str().unwrap_or_default().to_owned();
            list.iter().map(|row| (name(row), row)).collect()
        }
        _ => Vec::new(),
    };
    for (name, row) in within {
        labels.push(name);
        add_rows(writer, columns, rest, row, begin, labels)?;
        labels.pop();
    }
    Ok(())
}

/// Sums of a run, for the columns of [`TOTALS`]. Fairness is Jain's index of the goodputs, (Σx)² /
/// (n Σx²).
pub(crate) fn totals(document: &Json) -> [Cell<'static>; TOTALS.len()] {
    let flows: Vec<&Json> =
        document["flows"].as_object().into_iter().flat_map(|flows| flows.values()).collect();
    let goodputs: Vec<f64> =
        flows.iter().filter_map(|flow| flow["goodput_mbps"].as_f64()).collect();
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    let number =
        |value: Option<f64>| value.map_or(Cell::Null, |value| Cell::Double(rounded(value)));
    let count =
        |key: &str| Cell::Int(flows.iter().filter_map(|flow| flow[key].as_i64()).sum::<i64>());
    [
        Cell::Int(flows.len() as i64),
        number((!goodputs.is_empty()).then_some(sum)),
        number(goodputs.iter().copied().reduce(f64::min)),
        number((squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))),
        count("packets_sent"),
        count("packets_received"),
        count("packets_lost"),
    ]
}

/// Rounds to six decimal places, as in documents.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn stored(kind: ValueKind) -> ColumnKind {
    match kind {
        ValueKind::Int => ColumnKind::Int,
        ValueKind::Float => ColumnKind::Double,
        ValueKind::Bool => ColumnKind::Bool,
        ValueKind::Text => ColumnKind::Text,
    }
}
