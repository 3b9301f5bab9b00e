//! Writes a Parquet file one row group at a time, so memory does not grow with the
//! number of rows, or keeps all rows in memory ([`Columns`]). Columns are optional (a row
//! may leave out any of them). In a file they are compressed with Snappy; integers are
//! delta-encoded and text is dictionary-encoded. The column writers of the `parquet`
//! crate are used directly: record batches would add all of Arrow as dependencies, with
//! no benefit.

use crate::columns::{Builder, Columns};
use crate::output::{OutputError, PartFile};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io;
use std::sync::Arc;

/// Number of rows in a row group, which is held in memory.
const ROW_GROUP_ROWS: usize = 64 * 1024;

/// The type of the values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int32,
    Int64,
    Double,
    Text,
}

/// Declares the columns of a table: a constant with the index of each, and the list
/// `COLUMNS` for the schema.
macro_rules! columns {
    ($($index:ident $name:literal $kind:ident),* $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Position { $($index),* }
        $(const $index: usize = Position::$index as usize;)*
        pub(crate) const COLUMNS: &[(&str, Kind)] = &[$(($name, Kind::$kind)),*];
    };
}
pub(crate) use columns;

/// Where the rows of a table go.
pub(crate) enum Destination {
    /// Into a Parquet file.
    File(PartFile),
    /// Nowhere else: [`Table::finish`] returns them.
    Memory,
}

impl From<PartFile> for Destination {
    fn from(file: PartFile) -> Self {
        Self::File(file)
    }
}

/// A table that is being written.
pub(crate) struct Table {
    writer: Writer,
    /// The values of the current row group, by column.
    columns: Vec<Values>,
    /// The columns in which each row of the current group has a value: bit 0 is the first.
    rows: Vec<u32>,
    /// Room for the definition levels of one column.
    levels: Vec<i16>,
}

enum Writer {
    File(Box<SerializedFileWriter<PartFile>>),
    Memory(Builder),
}

/// The values of a column; a row may have none.
pub(crate) enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Double(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl Table {
    /// An empty table; `metadata` is stored in the footer of the file.
    pub(crate) fn new(
        destination: impl Into<Destination>,
        columns: &[(&str, Kind)],
        metadata: &[(&str, String)],
    ) -> Result<Self, OutputError> {
        assert!(columns.len() <= u32::BITS as usize, "a row has a bit for each column");
        let writer = match destination.into() {
            Destination::File(file) => {
                Writer::File(Box::new(file_writer(file, columns, metadata)?))
            }
            Destination::Memory => Writer::Memory(Builder::new(columns.iter().copied(), metadata)),
        };
        Ok(Self {
            writer,
            columns: columns.iter().map(|&(_, kind)| Values::new(kind)).collect(),
            rows: Vec::new(),
            levels: Vec::new(),
        })
    }

    /// Starts a row. Its columns are set by index.
    pub(crate) fn row(&mut self) -> Row<'_> {
        self.rows.push(0);
        let present = self.rows.last_mut().expect("it was just added");
        Row { columns: &mut self.columns, present }
    }

    /// Writes the current row group if it is full.
    pub(crate) fn flush_if_full(&mut self) -> Result<(), OutputError> {
        if self.rows.len() >= ROW_GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes the remaining rows and the footer.
    pub(crate) fn close(self) -> Result<(), OutputError> {
        self.finish().map(drop)
    }

    /// The same; returns the rows if they are in memory.
    pub(crate) fn finish(mut self) -> Result<Option<Columns>, OutputError> {
        self.flush()?;
        match self.writer {
            Writer::File(mut writer) => {
                let finished = writer.finish().map(|_| None);
                finished.map_err(|error| writer.inner().error(io_error(error)))
            }
            Writer::Memory(columns) => Ok(Some(columns.finish())),
        }
    }

    fn flush(&mut self) -> Result<(), OutputError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let Self { writer, columns, rows, levels } = self;
        let written = match writer {
            Writer::File(writer) => write_group(writer, columns, rows, levels)
                .map_err(|error| writer.inner().error(io_error(error))),
            Writer::Memory(builder) => {
                builder.add(rows, columns);
                columns.iter_mut().for_each(Values::clear);
                Ok(())
            }
        };
        rows.clear();
        written
    }
}

/// A row that is being filled. Each column may be set once at most.
pub(crate) struct Row<'a> {
    columns: &'a mut [Values],
    present: &'a mut u32,
}

impl Row<'_> {
    pub(crate) fn bool(&mut self, column: usize, value: bool) -> &mut Self {
        self.set(column, |values| {
            if let Values::Bool(v) = values {
                v.push(value)
            }
        })
    }

    pub(crate) fn int32(&mut self, column: usize, value: i32) -> &mut Self {
        self.set(column, |values| {
            if let Values::Int32(v) = values {
                v.push(value)
            }
        })
    }

    /// Sets a count or a time in nanoseconds; all are below 2^63.
    pub(crate) fn int64(&mut self, column: usize, value: u64) -> &mut Self {
        self.set(column, |values| {
            if let Values::Int64(v) = values {
                v.push(value as i64)
            }
        })
    }

    pub(crate) fn double(&mut self, column: usize, value: f64) -> &mut Self {
        self.set(column, |values| {
            if let Values::Double(v) = values {
                v.push(value)
            }
        })
    }

    pub(crate) fn text(&mut self, column: usize, value: &ByteArray) -> &mut Self {
        self.set(column, |values| {
            if let Values::Text(v) = values {
                v.push(value.clone())
            }
        })
    }

    fn set(&mut self, column: usize, push: impl FnOnce(&mut Values)) -> &mut Self {
        let values = &mut self.columns[column];
        let before = values.len();
        push(values);
        debug_assert_eq!(values.len(), before + 1, "a value of the column's kind");
        debug_assert_eq!(*self.present >> column & 1, 0, "set once");
        *self.present |= 1 << column;
        self
    }
}

impl Values {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Bool => Self::Bool(Vec::new()),
            Kind::Int32 => Self::Int32(Vec::new()),
            Kind::Int64 => Self::Int64(Vec::new()),
            Kind::Double => Self::Double(Vec::new()),
            Kind::Text => Self::Text(Vec::new()),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Bool(values) => values.clear(),
            Self::Int32(values) => values.clear(),
            Self::Int64(values) => values.clear(),
            Self::Double(values) => values.clear(),
            Self::Text(values) => values.clear(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }
}

/// Makes a text for a [`Row`]. Cloning it is cheap, so each name is made once.
pub(crate) fn text(value: &str) -> ByteArray {
    ByteArray::from(value)
}

fn field(name: &str, kind: Kind) -> Type {
    let (physical, logical) = match kind {
        Kind::Bool => (PhysicalType::BOOLEAN, None),
        Kind::Int32 => (PhysicalType::INT32, None),
        Kind::Int64 => (PhysicalType::INT64, None),
        Kind::Double => (PhysicalType::DOUBLE, None),
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
        .expect("a string is a byte array, and the others have no logical type")
}

fn file_writer(
    file: PartFile,
    columns: &[(&str, Kind)],
    metadata: &[(&str, String)],
) -> Result<SerializedFileWriter<PartFile>, OutputError> {
    let path = file.path().to_owned();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by(format!("lasthop {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(
            metadata.iter().map(|(k, v)| KeyValue::new((*k).to_owned(), v.clone())).collect(),
        ));
    let mut fields = Vec::new();
    for &(name, kind) in columns {
        let column = ColumnPath::from(name);
        properties = match kind {
            // All row groups have the same few words, so that the least and the
            // greatest tell nobody which to read, and each value would be compared.
            Kind::Text => properties
                .set_column_dictionary_enabled(column.clone(), true)
                .set_column_statistics_enabled(column, EnabledStatistics::None),
            // Counters and times grow in small steps, so their differences are
            // short.
            Kind::Int32 | Kind::Int64 => {
                properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
            }
            Kind::Bool | Kind::Double => properties,
        };
        fields.push(Arc::new(field(name, kind)));
    }
    let schema = Type::group_type_builder("row").with_fields(fields).build();
    schema
        .and_then(|schema| {
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))
        })
        .map_err(|error| OutputError::File { path, source: io_error(error) })
}

fn write_group(
    writer: &mut SerializedFileWriter<PartFile>,
    columns: &mut [Values],
    rows: &[u32],
    levels: &mut Vec<i16>,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (index, values) in columns.iter_mut().enumerate() {
        // The definition level of each row: 1 if it has a value, else 0.
        levels.clear();
        levels.extend(rows.iter().map(|present| (present >> index & 1) as i16));
        match values {
            Values::Bool(values) => write_column::<BoolType>(&mut group, values, levels)?,
            Values::Int32(values) => write_column::<Int32Type>(&mut group, values, levels)?,
            Values::Int64(values) => write_column::<Int64Type>(&mut group, values, levels)?,
            Values::Double(values) => write_column::<DoubleType>(&mut group, values, levels)?,
            Values::Text(values) => write_column::<ByteArrayType>(&mut group, values, levels)?,
        }
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

/// Returns the system's error that `error` contains, if any.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => {
            inner.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error)
        }
        other => io::Error::other(other),
    }
}
