//! Reads tables of a run or a measurement back, one row group and one column at a time: unused
//! columns cost nothing, and a row group limits the memory. Files are untrusted: damaged ones and
//! excessive sizes are errors, whatever the `parquet` crate does with them (`pages`). Row groups
//! have at most 2^20 rows and 256 columns.

mod footer;
mod pages;

use pages::{Pages, Source, general, guarded};
use parquet::basic::Type;
use parquet::column::reader::{get_column_reader, get_typed_column_reader};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Largest number of rows of a row group, as other libraries write them; lasthop writes 64 Ki.
const GROUP_ROWS_MAX: i64 = 1 << 20;
/// Largest number of columns of a table; lasthop's tables of a run have 31.
const COLUMNS_MAX: usize = 256;
/// Largest number of rows of a table that is read at once: 40 flows, nodes and links over four
/// days, each second.
const ROWS_MAX: u64 = 1 << 24;

/// Errors of reading a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is no Parquet file, or not a complete one.
    #[error("{}: expected a whole Parquet file: {source}", path.display())]
    Parquet {
        /// Path of the file.
        path: PathBuf,
        /// Error of the Parquet reader.
        source: ParquetError,
    },
    /// A column is missing, or has another type.
    #[error("{}: expected a table of {of}, got one without the column {column}", path.display())]
    Column {
        /// Path of the file.
        path: PathBuf,
        /// Subject of the table's rows.
        of: &'static str,
        /// Name of the column.
        column: String,
    },
    /// A row lacks a value that every row has.
    #[error("{}: row {row}: expected {expected}", path.display())]
    Row {
        /// Path of the file.
        path: PathBuf,
        /// Number of the row, from 0.
        row: usize,
        /// Value that every row has.
        expected: &'static str,
    },
}

/// A table with an open file.
pub(crate) struct TableReader {
    path: PathBuf,
    of: &'static str,
    source: Source,
    footer: ParquetMetaData,
}

/// A row group of a table.
pub(crate) struct Group<'a> {
    table: &'a TableReader,
    footer: &'a RowGroupMetaData,
}

impl TableReader {
    /// Opens the table in the file at `path`; `of` names the subject of its rows.
    pub(crate) fn open(path: &Path, of: &'static str) -> Result<Self, TableError> {
        let file = File::open(path)
            .and_then(Source::new)
            .map_err(|source| TableError::File { path: path.to_owned(), source })?;
        let footer = guarded(|| footer(&file))
            .map_err(|source| TableError::Parquet { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), of, source: file, footer })
    }

    /// Returns the row groups; only every n-th if there are more than `most` of them.
    pub(crate) fn groups(&self, most: usize) -> impl Iterator<Item = Group<'_>> {
        let groups = self.footer.row_groups().iter().step_by(self.step(most));
        groups.map(|footer| Group { table: self, footer })
    }

    /// Returns all row groups.
    ///
    /// # Errors
    /// An error for more than 2^24 rows.
    pub(crate) fn whole(&self) -> Result<impl Iterator<Item = Group<'_>>, TableError> {
        let rows = self.groups(usize::MAX).map(|group| group.rows()).sum::<u64>();
        if rows > ROWS_MAX {
            return Err(self.broken(general(format!("{rows} rows, of at most {ROWS_MAX}"))));
        }
        Ok(self.groups(usize::MAX))
    }

    /// Number of rows of the table.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.footer.file_metadata().num_rows()).unwrap_or(0)
    }

    /// Returns the names of the numeric columns, in their order.
    pub(crate) fn numeric(&self) -> Vec<String> {
        let schema = self.footer.file_metadata().schema_descr();
        let is_number = |kind: Type| matches!(kind, Type::INT32 | Type::INT64 | Type::DOUBLE);
        let columns = schema.columns().iter();
        columns
            .filter(|column| is_number(column.physical_type()))
            .map(|column| column.name().to_owned())
            .collect()
    }

    /// Returns the step from one row group to the next that gives at most `most` of them.
    pub(crate) fn step(&self, most: usize) -> usize {
        self.footer.num_row_groups().div_ceil(most).max(1)
    }

    /// Whether the table has a column of this name.
    pub(crate) fn has(&self, column: &str) -> bool {
        let schema = self.footer.file_metadata().schema_descr();
        schema.columns().iter().any(|known| known.name() == column)
    }

    /// Makes the error of a row that lacks a value.
    pub(crate) fn wrong_row(&self, row: usize, expected: &'static str) -> TableError {
        TableError::Row { path: self.path.clone(), row, expected }
    }

    fn broken(&self, source: ParquetError) -> TableError {
        TableError::Parquet { path: self.path.clone(), source }
    }
}

/// Checks that the file at `path` has a valid Parquet footer.
///
/// # Errors
/// See [`TableError`].
pub fn check_table(path: &Path) -> Result<(), TableError> {
    TableReader::open(path, "anything").map(|_| ())
}

impl Group<'_> {
    /// Number of rows of the group.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.footer.num_rows()).unwrap_or(0)
    }

    /// Whether the table has a column of this name.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.table.has(column)
    }

    /// Reads a column of 64-bit integers, one for each row.
    pub(crate) fn int64(&self, column: &'static str) -> Result<Vec<Option<i64>>, TableError> {
        self.column::<Int64Type>(column)
    }

    /// Reads a column of 32-bit integers, one for each row.
    pub(crate) fn int32(&self, column: &'static str) -> Result<Vec<Option<i32>>, TableError> {
        self.column::<Int32Type>(column)
    }

    /// Reads a column of texts as bytes, one for each row.
    pub(crate) fn text(&self, column: &'static str) -> Result<Vec<Option<ByteArray>>, TableError> {
        self.column::<ByteArrayType>(column)
    }

    /// Reads a column of booleans, one for each row.
    pub(crate) fn bool(&self, column: &'static str) -> Result<Vec<Option<bool>>, TableError> {
        self.column::<BoolType>(column)
    }

    /// Reads a column of 64-bit floating-point numbers, one for each row.
    pub(crate) fn double(&self, column: &'static str) -> Result<Vec<Option<f64>>, TableError> {
        self.column::<DoubleType>(column)
    }

    /// Reads a column of integers or floating-point numbers, one for each row; NaN becomes `None`.
    pub(crate) fn numbers(&self, column: &str) -> Result<Vec<Option<f64>>, TableError> {
        let schema = self.table.footer.file_metadata().schema_descr();
        let known = schema.columns().iter().find(|known| known.name() == column);
        let numbers = match known.map(|known| known.physical_type()) {
            Some(Type::INT32) => floats(self.column::<Int32Type>(column)?, f64::from),
            Some(Type::INT64) => floats(self.column::<Int64Type>(column)?, |value| value as f64),
            _ => self.column::<DoubleType>(column)?,
        };
        Ok(numbers.into_iter().map(|it| it.filter(|value| value.is_finite())).collect())
    }

    fn column<T: DataType>(&self, column: &str) -> Result<Vec<Option<T::T>>, TableError> {
        let table = self.table;
        let missing = || TableError::Column {
            path: table.path.clone(),
            of: table.of,
            column: column.to_owned(),
        };
        let schema = table.footer.file_metadata().schema_descr();
        let known = schema.columns().iter().position(|known| known.name() == column);
        let index = known.ok_or_else(missing)?;
        let description = schema.column(index);
        if description.physical_type() != T::get_physical_type()
            || (description.max_def_level(), description.max_rep_level()) != (1, 0)
        {
            return Err(missing());
        }
        let (levels, values) =
            guarded(|| self.cells::<T>(index, column)).map_err(|source| table.broken(source))?;
        let mut values = values.into_iter();
        Ok(levels.iter().map(|&level| if level == 0 { None } else { values.next() }).collect())
    }

    /// Returns the definition level of each row of a column, and the present values.
    fn cells<T: DataType>(
        &self,
        index: usize,
        column: &str,
    ) -> Result<(Vec<i16>, Vec<T::T>), ParquetError> {
        let rows = usize::try_from(self.footer.num_rows()).unwrap_or(0);
        let chunk = self.footer.column(index);
        let pages = Pages::new(&self.table.source, chunk, rows)?;
        let reader = get_column_reader(chunk.column_descr_ptr(), Box::new(pages));
        let mut reader = get_typed_column_reader::<T>(reader);
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        while levels.len() < rows {
            let left = rows - levels.len();
            let (records, ..) = reader.read_records(left, Some(&mut levels), None, &mut values)?;
            if records == 0 {
                let read = levels.len();
                return Err(ParquetError::EOF(format!("{column} has {read} of {rows} rows")));
            }
        }
        Ok((levels, values))
    }
}

/// Reads the footer of a file, if lasthop can read such a table.
fn footer(file: &Source) -> Result<ParquetMetaData, ParquetError> {
    footer::check(file)?;
    let footer = ParquetMetaDataReader::new().parse_and_finish(file)?;
    let columns = footer.file_metadata().schema_descr().num_columns();
    if columns > COLUMNS_MAX {
        return Err(general(format!("{columns} columns, of at most {COLUMNS_MAX}")));
    }
    for group in footer.row_groups() {
        let rows = group.num_rows();
        if !(0..=GROUP_ROWS_MAX).contains(&rows) {
            return Err(general(format!("a group of {rows} rows, of at most {GROUP_ROWS_MAX}")));
        }
    }
    Ok(footer)
}

fn floats<T>(values: Vec<Option<T>>, of: fn(T) -> f64) -> Vec<Option<f64>> {
    values.into_iter().map(|value| value.map(of)).collect()
}
