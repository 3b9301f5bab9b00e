//! Reads tables of a run or a measurement back, a row group and a column at a time, so that
//! columns that are not asked for cost nothing and memory is bounded by a row group.

use parquet::basic::Type;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

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
    file: SerializedFileReader<File>,
}

/// A row group of a table.
pub(crate) struct Group<'a> {
    table: &'a TableReader,
    reader: Box<dyn RowGroupReader + 'a>,
}

impl TableReader {
    /// The table in the file at `path`, whose rows are `of` something.
    pub(crate) fn open(path: &Path, of: &'static str) -> Result<Self, TableError> {
        let file = File::open(path)
            .map_err(|source| TableError::File { path: path.to_owned(), source })?;
        let file = SerializedFileReader::new(file)
            .map_err(|source| TableError::Parquet { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), of, file })
    }

    /// Its row groups; of more than `most` of them every n-th, so that they are no more.
    pub(crate) fn groups(
        &self,
        most: usize,
    ) -> impl Iterator<Item = Result<Group<'_>, TableError>> {
        (0..self.file.num_row_groups()).step_by(self.step(most)).map(|index| {
            let reader = self.file.get_row_group(index).map_err(|source| self.broken(source))?;
            Ok(Group { table: self, reader })
        })
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// The names of its columns of numbers, in their order.
    pub(crate) fn numeric(&self) -> Vec<String> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let is_number = |kind: Type| matches!(kind, Type::INT32 | Type::INT64 | Type::DOUBLE);
        let columns = schema.columns().iter();
        columns
            .filter(|column| is_number(column.physical_type()))
            .map(|column| column.name().to_owned())
            .collect()
    }

    /// From one row group to the next, if there are `most` of them.
    pub(crate) fn step(&self, most: usize) -> usize {
        self.file.num_row_groups().div_ceil(most).max(1)
    }

    /// Whether there is a column of this name.
    pub(crate) fn has(&self, column: &str) -> bool {
        let schema = self.file.metadata().file_metadata().schema_descr();
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
        u64::try_from(self.reader.metadata().num_rows()).unwrap_or(0)
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
        let schema = self.table.file.metadata().file_metadata().schema_descr();
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
        let schema = table.file.metadata().file_metadata().schema_descr();
        let known = schema.columns().iter().position(|known| known.name() == column);
        let index = known.ok_or_else(missing)?;
        let description = schema.column(index);
        if description.physical_type() != T::get_physical_type()
            || (description.max_def_level(), description.max_rep_level()) != (1, 0)
        {
            return Err(missing());
        }
        let broken = |source| table.broken(source);
        let reader = self.reader.get_column_reader(index).map_err(broken)?;
        let mut reader = get_typed_column_reader::<T>(reader);
        let rows = usize::try_from(self.reader.metadata().num_rows()).unwrap_or(0);
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        while levels.len() < rows {
            let left = rows - levels.len();
            let (records, ..) =
                reader.read_records(left, Some(&mut levels), None, &mut values).map_err(broken)?;
            if records == 0 {
                return Err(broken(ParquetError::EOF(format!(
                    "{column} has {} of {rows} rows",
                    levels.len()
                ))));
            }
        }
        let mut values = values.into_iter();
        Ok(levels.iter().map(|&level| if level == 0 { None } else { values.next() }).collect())
    }
}

fn floats<T>(values: Vec<Option<T>>, of: fn(T) -> f64) -> Vec<Option<f64>> {
    values.into_iter().map(|value| value.map(of)).collect()
}
