//! Means of a table's columns over groups of rows, with confidence intervals.

use crate::table::{Table, bug};
use arrow_array::array::{Array, ArrayRef, Float64Array, Int64Array, UInt64Array};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::take::take;
use lasthop_trace::Estimate;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the mean of ``of`` over the rows with the same values of ``by``, with the
/// half-width of its 95 % confidence interval from Student's distribution. Rows without a
/// finite value do not count. Groups are in the order of their first rows.
#[pyfunction]
pub fn mean_ci(table: &Bound<'_, Table>, by: Vec<String>, of: Vec<String>) -> PyResult<Table> {
    let table = table.get();
    let keys = by.iter().map(|name| Ok((name, table.column_at(name)?)));
    let keys = keys.collect::<PyResult<Vec<_>>>()?;
    let numbers = of.iter().map(|name| Ok((name, numbers(name, table.column_at(name)?)?)));
    let numbers = numbers.collect::<PyResult<Vec<_>>>()?;
    // The first row of each group, and the group of each row.
    let mut groups: BTreeMap<Vec<Key<'_>>, usize> = BTreeMap::new();
    let (mut first, mut group) = (Vec::new(), Vec::new());
    for row in 0..table.batch.num_rows() {
        let key = keys.iter().map(|(_, column)| Key::at(column, row)).collect();
        let at = *groups.entry(key).or_insert(first.len());
        if at == first.len() {
            first.push(row as u64);
        }
        group.push(at);
    }
    let rows = UInt64Array::from(first);
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (name, column) in keys {
        arrays.push(take(column, &rows, None).map_err(bug)?);
        fields.push(Field::new(name, column.data_type().clone(), true));
    }
    for (name, values) in numbers {
        let mut of_group = vec![Vec::new(); rows.len()];
        for (&group, value) in group.iter().zip(values) {
            of_group[group].extend(value.filter(|value| value.is_finite()));
        }
        let estimates: Vec<_> =
            of_group.iter().map(|values| Estimate::from_values(values)).collect();
        let estimates = estimates.iter().map(Option::as_ref);
        let means: Float64Array = estimates.clone().map(|e| e.map(|e| e.mean)).collect();
        let halves: Float64Array = estimates.clone().map(|e| e.and_then(|e| e.ci95)).collect();
        let counts: Int64Array =
            estimates.map(|e| Some(e.map_or(0, |e| i64::from(e.runs)))).collect();
        let columns: [(&str, ArrayRef); 3] =
            [("mean", Arc::new(means)), ("ci95", Arc::new(halves)), ("n", Arc::new(counts))];
        for (what, array) in columns {
            fields.push(Field::new(format!("{name}.{what}"), array.data_type().clone(), true));
            arrays.push(array);
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(bug)?;
    Ok(Table { batch })
}

/// A value by which rows are grouped.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    None,
    Bool(bool),
    Int(i64),
    /// Bits of a number.
    Double(u64),
    Text(&'a str),
}

impl<'a> Key<'a> {
    fn at(column: &'a ArrayRef, row: usize) -> Self {
        if column.is_null(row) {
            return Self::None;
        }
        match column.data_type() {
            DataType::Boolean => Self::Bool(column.as_boolean().value(row)),
            DataType::Int32 => Self::Int(column.as_primitive::<Int32Type>().value(row).into()),
            DataType::Int64 => Self::Int(column.as_primitive::<Int64Type>().value(row)),
            DataType::Float64 => {
                Self::Double(column.as_primitive::<Float64Type>().value(row).to_bits())
            }
            _ => Self::Text(column.as_string_view().value(row)),
        }
    }
}

/// Returns the values of a column as numbers.
fn numbers(name: &str, column: &ArrayRef) -> PyResult<Vec<Option<f64>>> {
    Ok(match column.data_type() {
        DataType::Boolean => {
            column.as_boolean().iter().map(|v| v.map(|v| f64::from(u8::from(v)))).collect()
        }
        DataType::Int32 => {
            column.as_primitive::<Int32Type>().iter().map(|v| v.map(f64::from)).collect()
        }
        DataType::Int64 => {
            column.as_primitive::<Int64Type>().iter().map(|v| v.map(|v| v as f64)).collect()
        }
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().collect(),
        _ => return Err(PyTypeError::new_err(format!("{name} is text, which has no mean"))),
    })
}
