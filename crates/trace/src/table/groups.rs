//! Row groups of a Parquet file: splits batches of rows into columns, and after every 64 Ki rows
//! encodes the columns, one page each, compresses them with Snappy and writes them. Integers are
//! delta-encoded, texts dictionary-encoded. The `parquet` crate writes everything but the values:
//! headers of pages and the footer.

use super::encoding::{Sets, bits, deltas, indices, levels, octets, plain, signed};
use super::{BATCH_ROWS, Batch, COLUMNS_MAX, Kind};
use crate::output::{OutputError, PartFile};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, Type};
use std::io;
use std::sync::Arc;

/// Number of rows of a row group, which is held in memory.
const ROW_GROUP_ROWS: usize = 64 * 1024;
/// Capacity of a column, in values. Columns start at different offsets in a page of memory, so that
/// their ends, which grow together, use different cache sets.
const COLUMN_VALUES_MAX: usize = ROW_GROUP_ROWS + BATCH_ROWS + 8;
/// Index of each column's first value.
const COLUMNS_BEGIN: [usize; COLUMNS_MAX] = {
    let mut begin = [0; COLUMNS_MAX];
    let mut column = 1;
    while column < COLUMNS_MAX {
        begin[column] = column * COLUMN_VALUES_MAX;
        column += 1;
    }
    begin
};

/// File of a table, and the row group that is being filled.
pub(super) struct Groups {
    writer: SerializedFileWriter<PartFile>,
    kinds: Vec<Kind>,
    /// Words of the table.
    words: Vec<Box<str>>,
    /// Columns in which each row has a value; bit 0 is the first.
    rows: Vec<u32>,
    /// Space for [`COLUMN_VALUES_MAX`] values of each column.
    values: Vec<u64>,
    /// Index after each column's last value; [`COLUMNS_BEGIN`] has the first.
    ends: [usize; COLUMNS_MAX],
    encoder: Encoder,
}

/// Encoder of a column, with buffers reused for the next one.
struct Encoder {
    /// Definition levels of all columns.
    levels: Vec<u8>,
    sets: Sets,
    page: Vec<u8>,
    snappy: Snappy,
    /// Number of each word of the table in a column's dictionary, or [`NO_NUMBER`].
    numbers: Vec<u32>,
    /// Numbers of a column's values in its dictionary, if that has at most 256 words.
    octets: Vec<u8>,
    /// Dictionary of a column: words by number.
    dictionary: Vec<u64>,
}

impl Groups {
    pub(super) fn new(
        file: PartFile,
        columns: &[(&str, Kind)],
        metadata: &[(&str, String)],
    ) -> Result<Self, OutputError> {
        let path = file.path().to_owned();
        let pair = |(key, value): &(&str, String)| KeyValue::new((*key).to_owned(), value.clone());
        let properties = WriterProperties::builder()
            .set_created_by(format!("lasthop {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(metadata.iter().map(pair).collect()))
            .build();
        let fields = columns.iter().map(|&(name, kind)| Arc::new(field(name, kind))).collect();
        let schema = Type::group_type_builder("row").with_fields(fields).build();
        let writer = schema
            .and_then(|schema| {
                SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            })
            .map_err(|error| OutputError::File { path, source: io_error(error) })?;
        Ok(Self {
            writer,
            kinds: columns.iter().map(|&(_, kind)| kind).collect(),
            words: Vec::new(),
            rows: Vec::new(),
            // Memory that is not written to is not taken.
            values: vec![0; COLUMN_VALUES_MAX * columns.len()],
            ends: COLUMNS_BEGIN,
            encoder: Encoder::new(),
        })
    }

    /// Adds the rows of a batch, and writes the row group if it is full.
    pub(super) fn add(&mut self, batch: &mut Batch) -> Result<(), OutputError> {
        self.words.append(&mut batch.words);
        self.rows.extend_from_slice(batch.rows());
        for (end, (column, _)) in self.ends.iter_mut().zip(self.kinds.iter().enumerate()) {
            let added = batch.column(column);
            self.values[*end..*end + added.len()].copy_from_slice(added);
            *end += added.len();
        }
        batch.clear();
        if self.rows.len() >= ROW_GROUP_ROWS { self.write() } else { Ok(()) }
    }

    /// Writes the remaining rows and the footer.
    pub(super) fn close(mut self) -> Result<(), OutputError> {
        self.write()?;
        let finished = self.writer.finish().map(drop);
        finished.map_err(|error| self.writer.inner().error(io_error(error)))
    }

    fn write(&mut self) -> Result<(), OutputError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let written = self.write_group();
        self.rows.clear();
        self.ends = COLUMNS_BEGIN;
        written.map_err(|error| self.writer.inner().error(io_error(error)))
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let Self { writer, kinds, words, rows, values, ends, encoder } = self;
        let descriptions = writer.schema_descr().columns().to_vec();
        let stride = rows.len().div_ceil(8);
        encoder.levels.resize(COLUMNS_MAX * stride, 0);
        encoder.sets.spread(rows, kinds.len(), &mut encoder.levels, stride);
        let mut group = writer.next_row_group()?;
        let columns = kinds.iter().zip(values.chunks_mut(COLUMN_VALUES_MAX));
        for (index, ((&kind, values), description)) in columns.zip(descriptions).enumerate() {
            let length = ends[index] - COLUMNS_BEGIN[index];
            encoder.page.clear();
            let present = &encoder.levels[index * stride..][..stride];
            levels(present, rows.len(), &mut encoder.page);
            let (chunk, close) =
                encoder.column(description, kind, &mut values[..length], words, rows.len())?;
            group.append_column(&bytes::Bytes::from(chunk), close)?;
        }
        group.close().map(drop)
    }
}

impl Encoder {
    fn new() -> Self {
        Self {
            levels: Vec::new(),
            sets: Sets::default(),
            page: Vec::new(),
            snappy: Snappy { encoder: snap::raw::Encoder::new(), room: Vec::new() },
            numbers: Vec::new(),
            octets: Vec::new(),
            dictionary: Vec::new(),
        }
    }

    /// Returns the pages of a column chunk, and its entry in the footer. `page` has the definition
    /// levels.
    fn column(
        &mut self,
        description: ColumnDescPtr,
        kind: Kind,
        values: &mut [u64],
        words: &[Box<str>],
        rows: usize,
    ) -> Result<(Vec<u8>, ColumnCloseResult), ParquetError> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let mut sizes = [0; 2];
        let mut write = |page: Page, bytes: usize| -> Result<u64, ParquetError> {
            let page = pages.write_page(CompressedPage::new(page, bytes))?;
            sizes[0] += page.compressed_size as i64;
            sizes[1] += page.uncompressed_size as i64;
            Ok(page.offset)
        };
        let mut dictionary_offset = None;
        let encoding = match kind {
            Kind::Bool => {
                bits(values, &mut self.page);
                Encoding::PLAIN
            }
            Kind::Double => {
                plain(values, &mut self.page);
                Encoding::PLAIN
            }
            Kind::Int32 | Kind::Int64 => {
                deltas(values, kind, &mut self.page);
                Encoding::DELTA_BINARY_PACKED
            }
            Kind::Text => {
                if self.number_in_octets(values, words.len()) {
                    octets(&self.octets, self.dictionary.len(), &mut self.page);
                } else {
                    self.number(values, words.len());
                    indices(values, self.dictionary.len(), &mut self.page);
                }
                let mut plain = Vec::new();
                for word in self.dictionary.iter().map(|&word| &words[word as usize]) {
                    plain.extend_from_slice(&(word.len() as u32).to_le_bytes());
                    plain.extend_from_slice(word.as_bytes());
                }
                let page = Page::DictionaryPage {
                    buf: self.snappy.compress(&plain)?,
                    num_values: self.dictionary.len() as u32,
                    encoding: Encoding::PLAIN,
                    is_sorted: false,
                };
                dictionary_offset = Some(write(page, plain.len())? as i64);
                Encoding::RLE_DICTIONARY
            }
        };
        let page = Page::DataPage {
            buf: self.snappy.compress(&self.page)?,
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let data_offset = write(page, self.page.len())? as i64;
        let mut encodings = vec![Encoding::RLE, encoding];
        encodings.extend(dictionary_offset.map(|_| Encoding::PLAIN));
        let mut metadata = ColumnChunkMetaData::builder(description)
            .set_compression(Compression::SNAPPY)
            .set_encodings(encodings)
            .set_num_values(rows as i64)
            .set_total_compressed_size(sizes[0])
            .set_total_uncompressed_size(sizes[1])
            .set_data_page_offset(data_offset)
            .set_dictionary_page_offset(dictionary_offset);
        if let Some(statistics) = statistics(values, kind, rows) {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: sizes[0] as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((sink.into_inner()?, close))
    }

    /// Makes the dictionary of a column, in the order of its words, and replaces their numbers in
    /// the table by those in the dictionary.
    fn number(&mut self, values: &mut [u64], words: usize) {
        self.begin_dictionary(words);
        for value in values {
            let number = &mut self.numbers[*value as usize];
            if *number == NO_NUMBER {
                *number = self.dictionary.len() as u32;
                self.dictionary.push(*value);
            }
            *value = u64::from(*number);
        }
    }

    /// Makes the dictionary, and the numbers of the values in octets. Returns whether these are
    /// enough.
    fn number_in_octets(&mut self, values: &[u64], words: usize) -> bool {
        self.begin_dictionary(words);
        self.octets.clear();
        self.octets.resize(values.len(), 0);
        for (octet, &value) in self.octets.iter_mut().zip(values) {
            let number = &mut self.numbers[value as usize];
            if *number == NO_NUMBER {
                *number = self.dictionary.len() as u32;
                self.dictionary.push(value);
                if self.dictionary.len() > 256 {
                    return false;
                }
            }
            *octet = *number as u8;
        }
        true
    }

    fn begin_dictionary(&mut self, words: usize) {
        self.dictionary.clear();
        self.numbers.clear();
        self.numbers.resize(words, NO_NUMBER);
    }
}

/// A word that is not in a column's dictionary.
const NO_NUMBER: u32 = u32::MAX;

/// A compressor, with space for its results.
struct Snappy {
    encoder: snap::raw::Encoder,
    room: Vec<u8>,
}

impl Snappy {
    fn compress(&mut self, bytes: &[u8]) -> Result<bytes::Bytes, ParquetError> {
        let longest = snap::raw::max_compress_len(bytes.len());
        if self.room.len() < longest {
            self.room.resize(longest, 0);
        }
        let length = self.encoder.compress(bytes, &mut self.room).map_err(external)?;
        Ok(bytes::Bytes::copy_from_slice(&self.room[..length]))
    }
}

/// Returns minimum and maximum of an integer column without missing values, such as times, by which
/// readers select row groups. In other columns the range would select nothing.
fn statistics(values: &[u64], kind: Kind, rows: usize) -> Option<Statistics> {
    if kind != Kind::Int64 || values.len() < rows {
        return None;
    }
    let first = signed(*values.first()?, kind);
    let (mut least, mut most) = (first, first);
    for &bits in values {
        let number = signed(bits, kind);
        least = least.min(number);
        most = most.max(number);
    }
    Some(Statistics::int64(Some(least), Some(most), None, Some(0), false))
}

pub(crate) fn field(name: &str, kind: Kind) -> Type {
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

fn external(error: snap::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// Returns the system's error in `error`, if any.
pub(crate) fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => {
            inner.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error)
        }
        other => io::Error::other(other),
    }
}
