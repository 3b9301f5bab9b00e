//! A series as JSON: one time axis, and for each flow, node and link one array a quantity, with
//! null for missing values. Quantities without any value are left out.

use lasthop_trace::{SeriesOf, SeriesTable};
use serde::Serialize;
use std::collections::BTreeMap;

/// Quantities over time.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Series<'a> {
    /// Ends of the intervals, in seconds.
    at_s: Vec<f64>,
    flows: Vec<Entry<'a>>,
    nodes: Vec<Entry<'a>>,
    links: Vec<Entry<'a>>,
    /// Whether the file has more rows, which were not read.
    is_cut: bool,
}

#[derive(Debug, PartialEq, Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(flatten)]
    quantities: BTreeMap<&'a str, Vec<Option<f64>>>,
}

impl<'a> Series<'a> {
    pub(crate) fn new(table: &'a SeriesTable) -> Self {
        let mut times = table.at_ns.clone();
        times.sort_unstable();
        times.dedup();
        let mut entries: Vec<Entry<'_>> = table
            .names
            .iter()
            .map(|of| match of {
                SeriesOf::Flow(name) | SeriesOf::Node(name) | SeriesOf::Link(name) => {
                    Entry { name, quantities: BTreeMap::new() }
                }
            })
            .collect();
        for (quantity, values) in &table.quantities {
            for (row, value) in values.iter().enumerate().filter(|(_, value)| value.is_some()) {
                let Ok(at) = times.binary_search(&table.at_ns[row]) else { continue };
                let column = entries[table.of[row]].quantities.entry(quantity);
                column.or_insert_with(|| vec![None; times.len()])[at] = *value;
            }
        }
        let mut series = Self {
            at_s: times.iter().map(|at| *at as f64 / 1e9).collect(),
            flows: Vec::new(),
            nodes: Vec::new(),
            links: Vec::new(),
            is_cut: table.is_cut,
        };
        for (of, entry) in table.names.iter().zip(entries) {
            match of {
                SeriesOf::Flow(_) => series.flows.push(entry),
                SeriesOf::Node(_) => series.nodes.push(entry),
                SeriesOf::Link(_) => series.links.push(entry),
            }
        }
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_null_and_what_has_no_value_is_left_out() {
        let table = SeriesTable {
            at_ns: vec![100_000_000, 100_000_000, 200_000_000],
            of: vec![0, 1, 0],
            names: vec![SeriesOf::Flow("f".to_owned()), SeriesOf::Node("n".to_owned())],
            quantities: vec![
                ("throughput_mbps".to_owned(), vec![Some(1.5), None, Some(2.0)]),
                ("queue_packets".to_owned(), vec![None, Some(3.0), None]),
            ],
            is_cut: false,
        };
        let json = serde_json::to_string(&Series::new(&table)).expect("it is JSON");
        assert_eq!(
            json,
            r#"{"at_s":[0.1,0.2],"flows":[{"name":"f","throughput_mbps":[1.5,2.0]}],"nodes":[{"name":"n","queue_packets":[3.0,null]}],"links":[],"is_cut":false}"#
        );
    }
}
