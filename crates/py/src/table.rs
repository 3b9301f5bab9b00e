//! Tables for Python through the Arrow PyCapsule interface: a consumer gets the memory
//! written by the run, not a copy, and keeps it alive as long as needed. A table is one
//! batch. No library that reads Arrow is required: a table can be read as lists, too.
//! Leaves out conversion to a requested schema, which the interface makes optional.

use arrow_array::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringViewArray,
};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchOptions};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use lasthop_figures::text::escaped;
use lasthop_trace::{Column, ColumnValues, Columns};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of rows shown in a notebook.
const ROWS_SHOWN: usize = 10;

/// A table in memory, for every library that reads Arrow.
///
/// ``polars.DataFrame(table)``, ``pyarrow.table(table)``,
/// ``pandas.DataFrame.from_arrow(table)`` and DuckDB's ``FROM table`` read it without a
/// copy of its values.
#[pyclass(frozen, module = "lasthop")]
pub struct Table {
    pub batch: RecordBatch,
}

impl Table {
    /// Makes a table of the columns, without a copy.
    pub fn new(columns: Columns) -> PyResult<Self> {
        batch(columns).map(|batch| Self { batch }).map_err(bug)
    }

    /// Makes a table of columns with their names, all of one length.
    pub fn from_columns<'a>(
        columns: impl IntoIterator<Item = (&'a str, ArrayRef)>,
    ) -> PyResult<Self> {
        let columns = columns.into_iter().map(|(name, values)| (name, values, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(bug)?;
        Ok(Self { batch })
    }

    /// Returns the column with this name.
    pub fn column_at(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

#[pymethods]
impl Table {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.batch.schema()).map_err(bug)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // To give another schema than this one is optional.
        let _ = requested_schema;
        let batches = [Ok(self.batch.clone())];
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Names of its columns, with units.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Size in memory, in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batch.get_array_memory_size()
    }

    /// Returns the values of a column, None where there is none. Raises ``KeyError``.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        list(py, self.column_at(name)?)
    }

    /// Returns all columns as lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.batch.schema_ref().fields().iter().zip(self.batch.columns()) {
            dict.set_item(field.name(), list(py, column)?)?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!("<lasthop.Table: {} rows; {names}>", self.batch.num_rows())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let shown = self.batch.slice(0, self.batch.num_rows().min(ROWS_SHOWN));
        let mut head = String::new();
        let mut rows = vec![String::new(); shown.num_rows()];
        for (field, column) in shown.schema_ref().fields().iter().zip(shown.columns()) {
            // Columns without any value are left out here, and only here.
            if column.null_count() == column.len() {
                continue;
            }
            head.push_str(&format!("<th>{}</th>", escaped(field.name())));
            for (row, value) in rows.iter_mut().zip(list(py, column)?.iter()) {
                let text = if value.is_none() { String::new() } else { value.str()?.to_string() };
                row.push_str(&format!("<td>{}</td>", escaped(&text)));
            }
        }
        let rows: String = rows.iter().map(|row| format!("<tr>{row}</tr>")).collect();
        let count = self.batch.num_rows();
        Ok(format!("<table><tr>{head}</tr>{rows}</table><p>{count} rows</p>"))
    }
}

/// Makes a column of texts; None is a row without one.
pub fn texts<T: AsRef<str>>(values: impl IntoIterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(StringViewArray::from_iter(values))
}

/// Makes a column of numbers.
pub fn numbers(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(Float64Array::from_iter(values))
}

/// Makes a column of counts, or of other integers below 2^63.
pub fn counts<T: TryInto<i64>>(values: impl IntoIterator<Item = Option<T>>) -> ArrayRef {
    let values = values.into_iter().map(|value| value.and_then(|value| value.try_into().ok()));
    Arc::new(Int64Array::from_iter(values))
}

/// Makes a column of booleans.
pub fn truths(values: impl IntoIterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(BooleanArray::from_iter(values))
}

/// Makes the exception for an error of Arrow, which only a wrong layout of columns can cause.
pub fn bug(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn batch(columns: Columns) -> Result<RecordBatch, ArrowError> {
    let Columns { rows, columns, text, metadata } = columns;
    let text = Buffer::from_vec(text);
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for column in columns {
        let name = column.name.clone();
        let array = array(column, rows, &text)?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let schema =
        Schema::new(fields).with_metadata(metadata.into_iter().collect::<BTreeMap<_, _>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options)
}

/// Converts the column to an array; passes its memory on without a copy.
fn array(column: Column, rows: usize, text: &Buffer) -> Result<ArrayRef, ArrowError> {
    let valid = BooleanBuffer::new(Buffer::from_vec(column.valid), 0, rows);
    let nulls = (column.nulls > 0).then(|| NullBuffer::new(valid));
    Ok(match column.values {
        ColumnValues::Bool(values) => {
            let values = BooleanBuffer::new(Buffer::from_vec(values), 0, rows);
            Arc::new(BooleanArray::new(values, nulls))
        }
        ColumnValues::Int32(values) => Arc::new(Int32Array::try_new(values.into(), nulls)?),
        ColumnValues::Int64(values) => Arc::new(Int64Array::try_new(values.into(), nulls)?),
        ColumnValues::Double(values) => Arc::new(Float64Array::try_new(values.into(), nulls)?),
        ColumnValues::Text(views) => {
            let views = ScalarBuffer::from(views);
            Arc::new(StringViewArray::try_new(views, vec![text.clone()], nulls)?)
        }
    })
}

fn list<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match column.data_type() {
        DataType::Boolean => PyList::new(py, column.as_boolean().iter().collect::<Vec<_>>()),
        DataType::Int32 => {
            PyList::new(py, column.as_primitive::<Int32Type>().iter().collect::<Vec<_>>())
        }
        DataType::Int64 => {
            PyList::new(py, column.as_primitive::<Int64Type>().iter().collect::<Vec<_>>())
        }
        DataType::Float64 => {
            PyList::new(py, column.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())
        }
        _ => PyList::new(py, column.as_string_view().iter().collect::<Vec<_>>()),
    }
}
