//! A table whose columns are known only at run time, for rows of a sweep, in a Parquet file or in
//! memory. As [`Table`](crate::table::Table), it holds one row group of a file in memory. In
//! contrast, rows arrive complete, the number of columns is unlimited, and no column is optimised.

use crate::output::{OutputError, PartFile};
use crate::table::memory::Builder;
use crate::table::{Columns, Kind, field, io_error};
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

/// Cells of a row group, which is held in memory: about 16 bytes each.
const GROUP_CELLS: usize = 500_000;

/// Types of the values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A column of booleans.
    Bool,
    /// A column of integers.
    Int,
    /// A column of floating-point numbers.
    Double,
    /// A column of texts.
    Text,
}

/// A value of a row. An integer in a column of doubles becomes a double.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value in this row.
    Null,
    /// A value for a column of booleans.
    Bool(bool),
    /// A value for a column of integers.
    Int(i64),
    /// A value for a column of floating-point numbers.
    Double(f64),
    /// A value for a column of texts.
    Text(&'a str),
}

/// Writes a table row by row.
pub struct RowsWriter {
    columns: usize,
    place: Place,
}

/// Destination of the rows.
enum Place {
    File(Box<FileRows>),
    Memory(Builder),
}

/// Rows for a Parquet file.
struct FileRows {
    writer: SerializedFileWriter<PartFile>,
    columns: Vec<RowsColumn>,
    rows: usize,
}

struct RowsColumn {
    values: Values,
    /// Definition level of each row: 1 with a value, else 0.
    levels: Vec<i16>,
}

enum Values {
    Bool(Vec<bool>),
    Int(Vec<i64>),
    Double(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl RowsWriter {
    /// Makes an empty table with these columns in a file; `metadata` is stored in the footer.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn new(
        file: PartFile,
        columns: &[(String, ColumnKind)],
        metadata: &[(&str, String)],
    ) -> Result<Self, OutputError> {
        let rows = FileRows::new(file, columns, metadata)?;
        Ok(Self { columns: columns.len(), place: Place::File(Box::new(rows)) })
    }

    /// Makes an empty table in memory, which [`finish`](Self::finish) returns.
    pub fn in_memory(columns: &[(String, ColumnKind)], metadata: &[(&str, String)]) -> Self {
        let named = columns.iter().map(|(name, kind)| (name.as_str(), kind.stored()));
        let place = Place::Memory(Builder::new(named, metadata));
        Self { columns: columns.len(), place }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    ///
    /// # Panics
    /// If `cells` does not have one value for each column, of its kind.
    pub fn row<'a>(
        &mut self,
        cells: impl IntoIterator<Item = Cell<'a>>,
    ) -> Result<(), OutputError> {
        if let Place::Memory(table) = &mut self.place {
            table.row();
        }
        let mut number = 0;
        for cell in cells {
            match &mut self.place {
                Place::File(rows) => rows.columns[number].push(cell),
                Place::Memory(table) => table.cell(number, cell),
            }
            number += 1;
        }
        assert_eq!(number, self.columns, "a row has a cell for each column");
        match &mut self.place {
            Place::File(rows) => rows.end_row(),
            Place::Memory(_) => Ok(()),
        }
    }

    /// Writes the remaining rows and the footer; returns the table if it is in memory.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn finish(self) -> Result<Option<Columns>, OutputError> {
        match self.place {
            Place::File(rows) => rows.close().map(|()| None),
            Place::Memory(table) => Ok(Some(table.finish())),
        }
    }
}

impl FileRows {
    fn new(
        file: PartFile,
        columns: &[(String, ColumnKind)],
        metadata: &[(&str, String)],
    ) -> Result<Self, OutputError> {
        let path = file.path().to_owned();
        let metadata = metadata.iter().map(|(k, v)| KeyValue::new((*k).to_owned(), v.clone()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("lasthop {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(metadata.collect()))
            .build();
        let fields = columns.iter().map(|(name, kind)| Arc::new(field(name, kind.stored())));
        let schema = Type::group_type_builder("row").with_fields(fields.collect()).build();
        let writer = schema
            .and_then(|schema| {
                SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            })
            .map_err(|error| OutputError::File { path, source: io_error(error) })?;
        let columns = columns.iter().map(|&(_, kind)| RowsColumn::new(kind)).collect();
        Ok(Self { writer, columns, rows: 0 })
    }

    fn end_row(&mut self) -> Result<(), OutputError> {
        self.rows += 1;
        if self.rows * self.columns.len() >= GROUP_CELLS { self.flush() } else { Ok(()) }
    }

    fn close(mut self) -> Result<(), OutputError> {
        self.flush()?;
        let finished = self.writer.finish().map(drop);
        finished.map_err(|error| self.writer.inner().error(io_error(error)))
    }

    fn flush(&mut self) -> Result<(), OutputError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let written = write_group(&mut self.writer, &mut self.columns);
        written.map_err(|error| self.writer.inner().error(io_error(error)))
    }
}

impl Builder {
    /// Sets a value in the last row.
    fn cell(&mut self, column: usize, cell: Cell<'_>) {
        match cell {
            Cell::Null => {}
            Cell::Bool(value) => self.bool(column, value),
            Cell::Int(value) => self.count(column, value),
            Cell::Double(value) => self.number(column, value),
            Cell::Text(value) => self.text(column, value),
        }
    }
}

impl ColumnKind {
    const fn stored(self) -> Kind {
        match self {
            Self::Bool => Kind::Bool,
            Self::Int => Kind::Int64,
            Self::Double => Kind::Double,
            Self::Text => Kind::Text,
        }
    }
}

impl RowsColumn {
    fn new(kind: ColumnKind) -> Self {
        let values = match kind {
            ColumnKind::Bool => Values::Bool(Vec::new()),
            ColumnKind::Int => Values::Int(Vec::new()),
            ColumnKind::Double => Values::Double(Vec::new()),
            ColumnKind::Text => Values::Text(Vec::new()),
        };
        Self { values, levels: Vec::new() }
    }

    fn push(&mut self, cell: Cell<'_>) {
        self.levels.push(i16::from(cell != Cell::Null));
        match (&mut self.values, cell) {
            (_, Cell::Null) => {}
            (Values::Bool(values), Cell::Bool(value)) => values.push(value),
            (Values::Int(values), Cell::Int(value)) => values.push(value),
            (Values::Double(values), Cell::Double(value)) => values.push(value),
            (Values::Double(values), Cell::Int(value)) => values.push(value as f64),
            (Values::Text(values), Cell::Text(value)) => values.push(value.into()),
            (_, cell) => panic!("{cell:?} is not of the column's kind"),
        }
    }
}

fn write_group(
    writer: &mut SerializedFileWriter<PartFile>,
    columns: &mut [RowsColumn],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for RowsColumn { values, levels } in columns {
        match values {
            Values::Bool(values) => write_column::<BoolType>(&mut group, values, levels)?,
            Values::Int(values) => write_column::<Int64Type>(&mut group, values, levels)?,
            Values::Double(values) => write_column::<DoubleType>(&mut group, values, levels)?,
            Values::Text(values) => write_column::<ByteArrayType>(&mut group, values, levels)?,
        }
        levels.clear();
    }
    group.close().map(drop)
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, PartFile>,
    values: &mut Vec<T::T>,
    levels: &[i16],
) -> Result<(), ParquetError> {
    let mut column =
        group.next_column()?.expect("there are as many columns as in the schema they come from");
    column.typed::<T>().write_batch(values, Some(levels), None)?;
    column.close()?;
    values.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnValues;

    #[test]
    fn rows_in_memory_are_what_was_added() {
        let column = |name: &str, kind| (name.to_owned(), kind);
        let columns = [
            column("text", ColumnKind::Text),
            column("number", ColumnKind::Double),
            column("count", ColumnKind::Int),
            column("truth", ColumnKind::Bool),
        ];
        let mut rows = RowsWriter::in_memory(&columns, &[("key", "value".into())]);
        let long = "longer than twelve bytes";
        rows.row([Cell::Text(long), Cell::Int(3), Cell::Int(-1), Cell::Null]).unwrap();
        rows.row([Cell::Null, Cell::Null, Cell::Null, Cell::Bool(true)]).unwrap();
        rows.row([Cell::Text(long), Cell::Double(0.5), Cell::Int(7), Cell::Null]).unwrap();
        let table = rows.finish().unwrap().expect("it is in memory");
        assert_eq!(table.rows, 3);
        assert_eq!(table.text, long.as_bytes(), "it is kept once");
        assert_eq!(table.metadata, [("key".into(), "value".into())]);
        let [text, number, count, truth] = &table.columns[..] else { panic!("four columns") };
        assert_eq!((text.valid.as_slice(), text.nulls), (&[0b101][..], 1));
        assert_eq!(number.values, ColumnValues::Double(vec![3.0, 0.0, 0.5]));
        assert_eq!(count.values, ColumnValues::Int64(vec![-1, 0, 7]));
        assert_eq!((&truth.values, truth.nulls), (&ColumnValues::Bool(vec![0b010]), 2));
    }

    #[test]
    #[should_panic(expected = "number has no texts")]
    fn a_cell_is_of_its_columns_kind() {
        let mut rows = RowsWriter::in_memory(&[("number".into(), ColumnKind::Double)], &[]);
        rows.row([Cell::Text("no number")]).unwrap();
    }
}
