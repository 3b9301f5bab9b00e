//! The page of a sweep: means over runs with 95 % confidence intervals (Student), as curves
//! over one key, as a heat map of two, and as a table; what is shown is chosen there. It is
//! one file and needs no network. A quantity is a number of a run, or the mean of a number
//! over the flows of a run; a run counts once, however many flows it has.

use crate::record::{Outcome, Record};
use crate::store::Asked;
use crate::tables::{self, Column};
use crate::value::{Value, ValueColumn};
use lasthop_evidence::{page, plot::escaped};
use lasthop_trace::{ColumnKind, Estimate};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Most combinations that a page has.
const COMBINATIONS_MAX: usize = 20_000;
/// Most means that a page has: what a browser opens at once.
const MEANS_MAX: usize = 300_000;
/// Most flows whose numbers are quantities of their own.
const FLOWS_MAX: usize = 6;

/// The values of all quantities, by combination.
pub(crate) struct Page {
    flow_columns: Vec<Column>,
    /// Quantities by name; of each combination the value of every run.
    quantities: BTreeMap<String, BTreeMap<u32, Vec<f64>>>,
    is_wanted: bool,
    flows: Vec<String>,
}

#[derive(Serialize)]
struct Data<'a> {
    keys: Vec<Key<'a>>,
    points: Vec<Vec<usize>>,
    quantities: Vec<Quantity>,
}

/// A key: its values in order, and as numbers if they all are.
#[derive(Serialize)]
struct Key<'a> {
    name: &'a str,
    texts: Vec<String>,
    numbers: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct Quantity {
    name: String,
    mean: Vec<Option<f64>>,
    ci: Vec<Option<f64>>,
    n: Vec<u32>,
}

impl Page {
    /// A page for so many combinations, of runs with these flows.
    pub fn new(combinations: usize, flows: impl ExactSizeIterator<Item = String>) -> Self {
        let flows = if flows.len() > FLOWS_MAX { Vec::new() } else { flows.collect() };
        Self {
            flow_columns: tables::flow_columns(),
            quantities: BTreeMap::new(),
            is_wanted: combinations <= COMBINATIONS_MAX,
            flows,
        }
    }

    /// Adds a run of the combination `values`.
    pub fn add(&mut self, values: u32, record: &Record) {
        let Outcome::Document(document) = &record.outcome else { return };
        if !self.is_wanted {
            return;
        }
        for (name, value) in tables::totals_of(document) {
            self.note(name.to_owned(), values, value);
        }
        let json = serde_json::to_value(&document.flows).expect("it is JSON");
        let Some(flows) = json.as_object() else { return };
        let number = |flow: &Json, column: &Column| tables::at(flow, &column.path)?.as_f64();
        for column in std::mem::take(&mut self.flow_columns) {
            if matches!(column.kind, ColumnKind::Int | ColumnKind::Double) {
                let numbers: Vec<f64> =
                    flows.values().filter_map(|flow| number(flow, &column)).collect();
                if !numbers.is_empty() && (self.flows.is_empty() || self.flows.len() > 1) {
                    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
                    self.note(format!("{}, mean of flows", column.name), values, mean);
                }
                for flow in self.flows.clone() {
                    if let Some(number) = flows.get(&flow).and_then(|flow| number(flow, &column)) {
                        self.note(format!("{flow}: {}", column.name), values, number);
                    }
                }
            }
            self.flow_columns.push(column);
        }
    }

    fn note(&mut self, quantity: String, values: u32, value: f64) {
        self.quantities.entry(quantity).or_default().entry(values).or_default().push(value);
    }

    /// The page as HTML. `ordered` are the indices of combinations in the order of their
    /// values, which `keys` has.
    pub fn html(
        self,
        asked: &Asked,
        keys: &[(ValueColumn, Vec<Value>)],
        ordered: &[u32],
    ) -> String {
        let title = format!("{}: sweep", asked.file);
        let what = format!(
            "<h1>{}</h1>\n<p class=\"muted\">{} combinations of {}, {} runs each; lasthop {}.</p>\n",
            escaped(&title),
            ordered.len(),
            escaped(
                &keys.iter().map(|(column, _)| column.name.as_str()).collect::<Vec<_>>().join(", ")
            ),
            asked.runs,
            escaped(&asked.version),
        );
        let command = format!(
            "<section><h2>Made by</h2><pre>{}</pre></section>\n\
             <section><details><summary>The scenario</summary><pre>{}</pre></details></section>",
            escaped(&asked.command),
            escaped(&asked.scenario)
        );
        if !self.is_wanted {
            let much = format!(
                "<p>There are more than {COMBINATIONS_MAX} combinations, too many for a page: \
                 the tables beside it have them.</p>\n"
            );
            return page::document(&title, &[what, much, command].concat());
        }
        let json = serde_json::to_string(&self.data(keys, ordered)).expect("it is valid JSON");
        // Nothing in a script ends it but this.
        let json = json.replace("</", "<\\/");
        let body = format!(
            "<style>{}</style>\n{what}<div id=\"choice\"></div>\n<figure id=\"curves\"></figure>\n\
             <p class=\"muted\">Means over runs; the bars are 95 % confidence intervals.</p>\n\
             <section id=\"map\" hidden><h2>Both keys</h2><figure id=\"heat\"></figure></section>\n\
             <section><h2>Table</h2><div class=\"scroll\" id=\"rows\"></div></section>\n{command}\n\
             <script type=\"application/json\" id=\"data\">{json}</script>\n<script>\n{}</script>",
            include_str!("page.css"),
            include_str!("page.js"),
        );
        page::document(&title, &body)
    }

    fn data<'a>(self, keys: &'a [(ValueColumn, Vec<Value>)], ordered: &[u32]) -> Data<'a> {
        let mut points = vec![Vec::new(); ordered.len()];
        let keys = keys.iter().map(|(column, values)| {
            let mut distinct: Vec<&Value> = Vec::new();
            let mut sorted: Vec<&Value> = ordered.iter().map(|&at| &values[at as usize]).collect();
            sorted.sort_by(|a, b| a.order(b));
            for value in sorted {
                if distinct.last().is_none_or(|last| last.order(value).is_ne()) {
                    distinct.push(value);
                }
            }
            for (point, &at) in points.iter_mut().zip(ordered) {
                let place = distinct.binary_search_by(|other| other.order(&values[at as usize]));
                point.push(place.expect("all values are there"));
            }
            Key {
                name: &column.name,
                texts: distinct.iter().map(|value| value.to_string()).collect(),
                numbers: distinct.iter().map(|value| value.as_f64()).collect(),
            }
        });
        let keys = keys.collect();
        let most = MEANS_MAX / ordered.len().max(1);
        let mut quantities: Vec<(String, _)> = self.quantities.into_iter().collect();
        quantities.sort_by_key(|(name, _)| (interest(name), name.clone()));
        let quantity = |(name, values): (String, BTreeMap<u32, Vec<f64>>)| {
            let estimates: Vec<Option<Estimate>> =
                ordered.iter().map(|at| Estimate::of(values.get(at)?)).collect();
            let estimates = estimates.iter();
            Quantity {
                name,
                mean: estimates.clone().map(|one| Some(one.as_ref()?.mean)).collect(),
                ci: estimates.clone().map(|one| one.as_ref()?.ci95).collect(),
                n: estimates.map(|one| one.as_ref().map_or(0, |one| one.runs)).collect(),
            }
        };
        Data { keys, points, quantities: quantities.into_iter().take(most).map(quantity).collect() }
    }
}

/// What people look for stands first.
fn interest(name: &str) -> usize {
    const FIRST: [&str; 5] =
        ["goodput_total", "goodput_mbps", "one_way_delay_mean", "rtt_mean", "one_way_delay_p99"];
    FIRST.iter().position(|part| name.contains(part)).unwrap_or(FIRST.len())
}
