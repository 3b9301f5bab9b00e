//! Tables in memory: the same rows as in the files, value by value; and the flows, nodes
//! and links of a summary, against its JSON.

use crate::scene;
use crate::tables::{field, rows};
use lasthop_net::network::NetworkStats;
use lasthop_trace::{Column, ColumnValues, Columns, Files, Recorder, Tables, Tidy};
use serde_json::Value;

/// The value of a row, as other readers of the layout see it.
fn value(table: &Columns, column: &Column, row: usize) -> Value {
    let bit = |bits: &[u8]| bits[row / 8] >> (row % 8) & 1 == 1;
    if !bit(&column.valid) {
        return Value::Null;
    }
    match &column.values {
        ColumnValues::Bool(values) => bit(values).into(),
        ColumnValues::Int32(values) => values[row].into(),
        ColumnValues::Int64(values) => values[row].into(),
        ColumnValues::Double(values) => values[row].into(),
        ColumnValues::Text(views) => {
            let view = views[row].to_le_bytes();
            let word =
                |at: usize| u32::from_le_bytes(view[at..at + 4].try_into().unwrap()) as usize;
            let text = match word(0) {
                length @ ..=12 => &view[4..4 + length],
                length => &table.text[word(12)..word(12) + length],
            };
            std::str::from_utf8(text).unwrap().into()
        }
    }
}

fn kept(play: impl Fn(&mut Recorder)) -> Tables<Option<Columns>> {
    let wanted = Tables { events: true, series: true };
    let mut recorder = Recorder::with_tables(scene::names(), scene::recording(), &wanted).unwrap();
    play(&mut recorder);
    let stats = NetworkStats::default();
    recorder.finish_with_tables(&scene::info(), &stats).unwrap().1
}

#[test]
fn tables_in_memory_have_the_rows_of_the_files() {
    let path = scene::scratch("kept");
    scene::record(&path, &scene::files(), scene::play);
    let Tables { events, series } = kept(scene::play);
    for (file, table) in [("events.parquet", events), ("series.parquet", series)] {
        let (table, expected) = (table.unwrap(), rows(&path.join(file)));
        assert!(table.rows > 10, "{file}");
        assert_eq!(table.rows, expected.len(), "{file}");
        for column in &table.columns {
            let values: Vec<_> = (0..table.rows).map(|row| value(&table, column, row)).collect();
            let expected: Vec<_> = expected.iter().map(|row| field(row, &column.name)).collect();
            assert_eq!(values, expected, "{file}: {}", column.name);
            let nulls = values.iter().filter(|value| value.is_null()).count();
            assert_eq!(column.nulls, nulls, "{file}: {}", column.name);
        }
        let names: Vec<_> = table.columns.iter().map(|column| column.name.clone()).collect();
        assert_eq!(names, crate::tables::columns(&path.join(file)));
    }
}

/// More rows than a file would have in a group.
#[test]
fn rows_of_all_groups_are_kept() {
    const ROWS: u64 = 150_000;
    let tables = kept(|recorder| {
        for tag in 0..ROWS {
            let packet = scene::packet(tag, 1_500, 0, scene::LAPTOP, scene::SERVER);
            lasthop_hosts::Sink::sent(recorder, lasthop_units::Instant::ZERO, &packet);
        }
    });
    let events = tables.events.unwrap();
    let tag = events.columns.iter().find(|column| column.name == "tag").unwrap();
    assert_eq!(tag.values, ColumnValues::Int64((0..ROWS as i64).collect()));
    assert_eq!((events.rows as u64, tag.nulls), (ROWS, 0));
}

#[test]
fn what_is_not_wanted_is_not_kept() {
    let recorder = Recorder::new(scene::names(), scene::recording());
    let (_, tables) =
        recorder.finish_with_tables(&scene::info(), &NetworkStats::default()).unwrap();
    assert_eq!(tables, Tables::default());
}

/// Every number of a flow in the JSON document is in the table, and nothing else is.
#[test]
fn flows_are_those_of_the_summary() {
    let path = scene::scratch("tidy");
    let document = scene::record(&path, &scene::files(), scene::play);
    let table = Tidy::Flows.table(&document);
    assert_eq!(table.rows, document.flows.len());
    let columns = |name: &str| table.columns.iter().find(|column| column.name == name);
    let flows = serde_json::to_value(&document.flows).unwrap();
    let mut numbers = 0;
    for (row, (name, flow)) in flows.as_object().unwrap().iter().enumerate() {
        assert_eq!(value(&table, columns("flow").unwrap(), row), **name);
        let mut found = Vec::new();
        leaves(flow, "", &mut found);
        numbers += found.len();
        for (key, expected) in &found {
            let column = columns(key).unwrap_or_else(|| panic!("a column {key}"));
            let (is, expected) = (value(&table, column, row), expected);
            // A number that happens to be whole is the same number.
            let same = is.as_f64().zip(expected.as_f64()).map_or(is == *expected, |(a, b)| a == b);
            assert!(same, "{name} {key}: {is}, expected {expected}");
        }
        let there =
            table.columns[1..].iter().filter(|column| !value(&table, column, row).is_null());
        assert_eq!(there.count(), found.len(), "{name}");
    }
    assert!(numbers > 20, "the flows of the scene have some");
}

/// The columns of nodes and links, with their keys, are there without any row.
#[test]
fn columns_follow_from_the_schema() {
    let path = scene::scratch("tidy-empty");
    let document = scene::record(&path, &Files::default(), |_| {});
    let document = lasthop_trace::RunDocument {
        nodes: Default::default(),
        links: Default::default(),
        ..document
    };
    for (tidy, some) in [
        (Tidy::Nodes, ["node", "airtime_fraction", "queue_p95_packets", "absences_count"]),
        (Tidy::Links, ["link", "ppdus", "data_rate_mean_mbps", "mpdu_error_rate"]),
    ] {
        let table = tidy.table(&document);
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!((table.rows, names[0]), (0, some[0]));
        assert!(some.iter().all(|name| names.contains(name)), "{names:?}");
    }
}

fn leaves(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                // The unit is the last word of a name.
                let units = ["_ms", "_mbps", "_packets", "_fraction"];
                let unit = units.into_iter().find(|unit| path.ends_with(unit));
                let path = match (path, unit) {
                    ("", _) => key.clone(),
                    (path, Some(unit)) => format!("{}_{key}{unit}", path.trim_end_matches(unit)),
                    (path, None) => format!("{path}_{key}"),
                };
                leaves(inner, &path, found);
            }
        }
        // Words; of other lists nothing is a column.
        Value::Array(list) if list.first().is_some_and(Value::is_string) => {
            let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            found.push((path.to_owned(), words.join(", ").into()));
        }
        Value::Array(_) => {}
        plain => found.push((path.to_owned(), plain.clone())),
    }
}
