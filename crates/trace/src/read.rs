//! Reads tables of a run or a measurement back, a row group and a column at a time, so that
//! columns that are not asked for cost nothing and memory is bounded by a row group. A file may
//! come from anybody: what is damaged or claims too much is an error, whatever the `parquet` crate
//! makes of it (`pages`). Row groups have at most 2^20 rows, of at most 256 columns.

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

/// Most rows of a row group, as other libraries write them: lasthop's have 64 Ki.
const GROUP_ROWS_MAX: i64 = 1 << 20;
/// Most columns; lasthop's tables of a run have 31.
const COLUMNS_MAX: usize = 256;
/// Most rows of a table that is read as a whole: 40 flows, nodes and links over four days, each
/// second.
const ROWS_MAX: u64 = 1 << 24;

/// Why a table cannot be read.
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
    /// It is no Parquet file, or not a whole one.
    #[error("{}: expected a whole Parquet file: {source}", path.display())]
    Parquet {
        /// Path of the file.
        path: PathBuf,
        /// What its reader says.
        source: ParquetError,
    },
    /// A column is missing, or has another type.
    #[error("{}: expected a table of {of}, got one without the column {column}", path.display())]
    Column {
        /// Path of the file.
        path: PathBuf,
        /// What the rows of such a table are.
        of: &'static str,
        /// The column.
        column: String,
    },
    /// A row does not have what every row has.
    #[error("{}: row {row}: expected {expected}", path.display())]
    Row {
        /// Path of the file.
        path: PathBuf,
        /// Number of the row, from 0.
        row: usize,
        /// What every row has.
        expected: &'static str,
    },
}

/// A table that is being read.
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
    /// The table in the file at `path`, whose rows are `of` something.
    pub(crate) fn open(path: &Path, of: &'static str) -> Result<Self, TableError> {
        let file = File::open(path)
            .and_then(Source::new)
            .map_err(|source| TableError::File { path: path.to_owned(), source })?;
        let footer = guarded(|| footer(&file))
            .map_err(|source| TableError::Parquet { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), of, source: file, footer })
    }

    /// Its row groups; of more than `most` of them every n-th, so that they are no more.
    pub(crate) fn groups(&self, most: usize) -> impl Iterator<Item = Group<'_>> {
        let groups = self.footer.row_groups().iter().step_by(self.step(most));
        groups.map(|footer| Group { table: self, footer })
    }

    /// All its row groups.
    ///
    /// # Errors
    /// If they have more than 2^24 rows.
    pub(crate) fn whole(&self) -> Result<impl Iterator<Item = Group<'_>>, TableError> {
        let rows = self.groups(usize::MAX).map(|group| group.rows()).sum::<u64>();
        if rows > ROWS_MAX {
            return Err(self.broken(general(format!("{rows} rows, of at most {ROWS_MAX}"))));
        }
        Ok(self.groups(usize::MAX))
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.footer.file_metadata().num_rows()).unwrap_or(0)
    }

    /// The names of its columns of numbers, in their order.
    pub(crate) fn numeric(&self) -> Vec<String> {
        let schema = self.footer.file_metadata().schema_descr();
        let is_number = |kind: Type| matches!(kind, Type::INT32 | Type::INT64 | Type::DOUBLE);
        let columns = schema.columns().iter();
        columns
            .filter(|column| is_number(column.physical_type()))
            .map(|column| column.name().to_owned())
            .collect()
    }

    /// From one row group to the next, if there are `most` of them.
    pub(crate) fn step(&self, most: usize) -> usize {
        self.footer.num_row_groups().div_ceil(most).max(1)
    }

    /// Whether there is a column of this name.
    pub(crate) fn has(&self, column: &str) -> bool {
        let schema = self.footer.file_metadata().schema_descr();
        schema.columns().iter().any(|known| known.name() == column)
    }

    /// The error of a row without something that every row has.
    pub(crate) fn wrong_row(&self, row: usize, expected: &'static str) -> TableError {
        TableError::Row { path: self.path.clone(), row, expected }
    }

    fn broken(&self, source: ParquetError) -> TableError {
        TableError::Parquet { path: self.path.clone(), source }
    }
}

/// Whether the file at `path` is a whole Parquet file, as far as its footer tells.
///
/// # Errors
/// See [`TableError`].
pub fn check_table(path: &Path) -> Result<(), TableError> {
    TableReader::open(path, "anything").map(|_| ())
}

impl Group<'_> {
    /// How many rows it has.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.footer.num_rows()).unwrap_or(0)
    }

    /// The whole numbers of a column, one for each row.
    pub(crate) fn int64(&self, column: &'static str) -> Result<Vec<Option<i64>>, TableError> {
        self.column::<Int64Type>(column)
    }

    /// The same of a column of 32 bits.
    pub(crate) fn int32(&self, column: &'static str) -> Result<Vec<Option<i32>>, TableError> {
        self.column::<Int32Type>(column)
    }

    /// The texts of a column as bytes, one for each row.
    pub(crate) fn text(&self, column: &'static str) -> Result<Vec<Option<ByteArray>>, TableError> {
        self.column::<ByteArrayType>(column)
    }

    /// The same of a column that is true or false.
    pub(crate) fn bool(&self, column: &'static str) -> Result<Vec<Option<bool>>, TableError> {
        self.column::<BoolType>(column)
    }

    /// The same of a column of numbers of 64 bits with a fraction.
    pub(crate) fn double(&self, column: &'static str) -> Result<Vec<Option<f64>>, TableError> {
        self.column::<DoubleType>(column)
    }

    /// The numbers of a column, whole or not, one for each row; not a number is none.
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

    /// The definition level of each row of a column, and the values that there are.
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

/// What the end of a file says of it, if lasthop can read such a table.
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
