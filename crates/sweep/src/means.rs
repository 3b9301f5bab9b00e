//! Means of a sweep's runs, by quantity and combination. A quantity is a number of a run, or the
//! mean of a number over the flows of a run; a run counts once, whatever its number of flows.

use crate::asked::Asked;
use crate::tables;
use crate::value::{Value, ValueColumn};
use lasthop_trace::{Cell, ColumnKind, DocumentColumn, Estimate};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Largest number of flows with separate quantities.
const FLOWS_MAX: usize = 6;

/// Means of a finished sweep, with the keys of its combinations.
#[derive(Clone, Debug)]
pub struct Means<'a> {
    /// The request, as in `sweep.json`.
    pub asked: &'a Asked,
    /// A column for each key, with the values of all combinations by index.
    pub keys: &'a [(ValueColumn, Vec<Value>)],
    /// Indices of the combinations, in the order of their values.
    pub ordered: &'a [u32],
    /// The quantities: totals; then, of each column, the mean of flows and each flow. `None` with
    /// more than [`Means::COMBINATIONS_MAX`] combinations.
    pub quantities: Option<Vec<QuantityMeans>>,
}

/// A quantity's estimates.
#[derive(Clone, Debug)]
pub struct QuantityMeans {
    /// Name of the quantity.
    pub name: String,
    /// Estimates from the runs of a combination, by its index.
    pub estimates: BTreeMap<u32, Estimate>,
}

/// Collects the means while the runs are read.
pub(crate) struct Collector {
    is_wanted: bool,
    /// Columns of flows with numbers.
    columns: Vec<DocumentColumn>,
    /// Flows with separate quantities.
    flows: Vec<String>,
    quantities: Vec<QuantityMeans>,
    /// The current combination, and the values of its runs by quantity.
    current: (u32, Vec<Vec<f64>>),
}

impl Means<'_> {
    /// Largest number of combinations whose means are computed.
    pub const COMBINATIONS_MAX: usize = 20_000;
}

impl Collector {
    /// Returns a collector without runs for this number of combinations, of runs with these flows.
    pub fn new(combinations: usize, flows: impl ExactSizeIterator<Item = String>) -> Self {
        let flows: Vec<String> = if flows.len() > FLOWS_MAX { Vec::new() } else { flows.collect() };
        let is_number =
            |column: &DocumentColumn| matches!(column.kind, ColumnKind::Int | ColumnKind::Double);
        let columns: Vec<DocumentColumn> =
            tables::flow_columns().into_iter().filter(is_number).collect();
        let mut names: Vec<String> =
            tables::TOTALS.iter().map(|(name, _)| (*name).to_owned()).collect();
        for column in &columns {
            names.push(format!("{}, mean of flows", column.name));
            names.extend(flows.iter().map(|flow| format!("{flow}: {}", column.name)));
        }
        let empty = |name| QuantityMeans { name, estimates: BTreeMap::new() };
        Self {
            is_wanted: combinations <= Means::COMBINATIONS_MAX,
            columns,
            flows,
            current: (0, vec![Vec::new(); names.len()]),
            quantities: names.into_iter().map(empty).collect(),
        }
    }

    /// Adds a run of the combination `values`. All runs of one combination follow each other, so
    /// that only their values are in memory.
    pub fn add(&mut self, values: u32, document: &Json) {
        if !self.is_wanted {
            return;
        }
        if self.current.0 != values {
            self.close_combination();
            self.current.0 = values;
        }
        let mut quantities = self.current.1.iter_mut();
        let mut note = |value: Option<f64>| {
            quantities.next().expect("there is one for each name").extend(value);
        };
        for total in tables::totals(document) {
            note(match total {
                Cell::Int(number) => Some(number as f64),
                Cell::Double(number) => Some(number),
                _ => None,
            });
        }
        let Some(flows) = document["flows"].as_object() else { return };
        // The only flow is its own mean.
        let has_mean = self.flows.len() != 1;
        for column in &self.columns {
            let number = |flow: &Json| column.value(flow)?.as_f64();
            let (sum, count) = flows
                .values()
                .filter_map(number)
                .fold((0.0, 0), |(sum, count), number| (sum + number, count + 1));
            note((has_mean && count > 0).then(|| sum / f64::from(count)));
            for flow in &self.flows {
                note(flows.get(flow).and_then(number));
            }
        }
    }

    /// Returns the means of all added runs.
    pub fn finish<'a>(
        mut self,
        asked: &'a Asked,
        keys: &'a [(ValueColumn, Vec<Value>)],
        ordered: &'a [u32],
    ) -> Means<'a> {
        self.close_combination();
        Means { asked, keys, ordered, quantities: self.is_wanted.then_some(self.quantities) }
    }

    fn close_combination(&mut self) {
        let (combination, values) = &mut self.current;
        for (values, quantity) in values.iter_mut().zip(&mut self.quantities) {
            let estimate = Estimate::from_values(values);
            quantity.estimates.extend(estimate.map(|estimate| (*combination, estimate)));
            values.clear();
        }
    }
}
