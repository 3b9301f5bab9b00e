//! Reads `series.parquet` by columns: every quantity in the file, also those of later versions, as
//! a column of numbers. [`SeriesReading`](crate::SeriesReading) has the same row by row, with the
//! quantities of this version.

use crate::read::{TableError, TableReader};
use crate::series::read::SeriesOf;
use parquet::data_type::ByteArray;
use std::collections::BTreeMap;
use std::path::Path;

/// Largest number of rows read: 40 flows, nodes and links over three hours, each second.
const ROWS_MAX: u64 = 500_000;

/// A series, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesTable {
    /// End of each row's interval, in ns.
    pub at_ns: Vec<i64>,
    /// Subject of each row, as an index of `names`.
    pub of: Vec<usize>,
    /// Flows, nodes and links in the order of their first rows.
    pub names: Vec<SeriesOf>,
    /// Quantities by name, with a value or none for each row.
    pub quantities: Vec<(String, Vec<Option<f64>>)>,
    /// Whether the file has further rows, which were not read.
    pub is_cut: bool,
}

impl SeriesTable {
    /// Reads the rows of the file at `path`, at most 500 000, in whole row groups.
    ///
    /// # Errors
    /// See [`TableError`]. A row without a subject is left out.
    pub fn read(path: &Path) -> Result<Self, TableError> {
        let file = TableReader::open(path, "series")?;
        let mut table = Self::default();
        let mut known: BTreeMap<SeriesOf, usize> = BTreeMap::new();
        let columns = file.numeric();
        table.quantities = columns
            .into_iter()
            .filter(|name| name != "at_ns")
            .map(|name| (name, Vec::new()))
            .collect();
        for group in file.groups(usize::MAX) {
            if (table.at_ns.len() as u64).saturating_add(group.rows()) > ROWS_MAX {
                table.is_cut = true;
                break;
            }
            let at = group.int64("at_ns")?;
            let (flow, node, link) =
                (group.text("flow")?, group.text("node")?, group.text("link")?);
            let mut rows = Vec::new();
            for row in 0..at.len() {
                let text = |cell: &Option<ByteArray>| {
                    cell.as_ref().map(|it| String::from_utf8_lossy(it.data()).into_owned())
                };
                let of = text(&flow[row])
                    .map(SeriesOf::Flow)
                    .or_else(|| text(&node[row]).map(SeriesOf::Node))
                    .or_else(|| text(&link[row]).map(SeriesOf::Link));
                let (Some(of), Some(at)) = (of, at[row]) else { continue };
                let next = known.len();
                let index = *known.entry(of.clone()).or_insert(next);
                if index == next {
                    table.names.push(of);
                }
                table.at_ns.push(at);
                table.of.push(index);
                rows.push(row);
            }
            for (name, values) in &mut table.quantities {
                let read = group.numbers(name)?;
                values.extend(rows.iter().map(|row| read[*row]));
            }
        }
        Ok(table)
    }
}
