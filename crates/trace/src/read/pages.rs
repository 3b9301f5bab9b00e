//! Checks between the `parquet` crate and a file that may be damaged or hostile. The crate reserves
//! memory for the sizes in page headers (the pages of a chunk follow each other in the file, each
//! after a header), and panics if a value ends after its page. These checks compare a page with its
//! possible size before its values are decoded, and turn panics into errors. They also decompress
//! the page, because the crate would first fill as many bytes as the header claims. Encodings whose
//! decoders reserve memory by other counts, and which no table of lasthop has, are unsupported:
//! `DELTA_LENGTH_BYTE_ARRAY` and `DELTA_BYTE_ARRAY`.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Longest output of a Snappy copy, and its input, in bytes: no block expands more.
const COPY_BYTES_MAX: usize = 64;
const COPY_BYTES: usize = 3;
/// Bytes of the shortest value in a dictionary: a 32-bit integer, or the length of a text.
const DICTIONARY_VALUE_BYTES: usize = 4;

/// Calls `read` and turns a panic into an error. Only for calls of the `parquet` crate, which
/// checks its input by assertions in some decoders
/// ([apache/arrow-rs#9742](https://github.com/apache/arrow-rs/issues/9742)).
pub(super) fn guarded<T>(
    read: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(general(format!("its content is damaged: {}", text.unwrap_or("no reason is known"))))
    })
}

pub(super) fn general(message: impl Into<String>) -> ParquetError {
    ParquetError::General(message.into())
}

/// A file with checked reads: the crate reserves memory before it reads.
#[derive(Clone)]
pub(super) struct Source {
    file: Arc<File>,
    bytes: u64,
}

impl Source {
    pub(super) fn new(file: File) -> std::io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), bytes })
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Source {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at byte {start}, of a file of {} bytes",
                self.bytes
            )));
        }
        self.file.get_bytes(start, length)
    }
}

/// Pages of a column in a row group, each with no more values than possible.
pub(super) struct Pages {
    raw: SerializedPageReader<Source>,
    is_compressed: bool,
    rows: usize,
}

impl Pages {
    /// Opens the pages of `chunk`, whose row group has `rows` rows.
    pub(super) fn new(
        source: &Source,
        chunk: &ColumnChunkMetaData,
        rows: usize,
    ) -> Result<Self, ParquetError> {
        let is_compressed = match chunk.compression() {
            Compression::UNCOMPRESSED => false,
            Compression::SNAPPY => true,
            other => {
                let expected = format!("expected compression by SNAPPY or none, got {other}");
                return Err(ParquetError::NYI(expected));
            }
        };
        let chunk = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED);
        let raw = SerializedPageReader::new(Arc::new(source.clone()), &chunk.build()?, rows, None)?;
        Ok(Self { raw, is_compressed, rows })
    }

    fn checked(&self, mut page: Page) -> Result<Page, ParquetError> {
        let levels = match &page {
            Page::DataPageV2 {
                def_levels_byte_len, rep_levels_byte_len, is_compressed, ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                is_compressed.then_some(usize::try_from(levels).unwrap_or(usize::MAX))
            }
            _ => Some(0),
        };
        let (Page::DataPage { buf, .. }
        | Page::DataPageV2 { buf, .. }
        | Page::DictionaryPage { buf, .. }) = &mut page;
        if let Some(levels) = levels.filter(|_| self.is_compressed) {
            *buf = expanded(buf, levels)?;
        }
        match &page {
            Page::DictionaryPage { buf, num_values, .. } => {
                let most = buf.len() / DICTIONARY_VALUE_BYTES;
                if *num_values as usize > most {
                    return Err(general(format!("a dictionary of {num_values} values in {most}")));
                }
            }
            Page::DataPage { num_values, encoding, .. }
            | Page::DataPageV2 { num_values, encoding, .. } => {
                if *num_values as usize > self.rows {
                    let rows = self.rows;
                    return Err(general(format!("a page of {num_values} values of {rows} rows")));
                }
                if [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]
                    .contains(encoding)
                {
                    return Err(ParquetError::NYI(format!("values encoded by {encoding}")));
                }
            }
        }
        Ok(page)
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.raw.get_next_page()?;
        page.map(|page| self.checked(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.raw.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.raw.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Decompresses the content of a page; its first `levels` bytes are not compressed.
fn expanded(page: &Bytes, levels: usize) -> Result<Bytes, ParquetError> {
    let Some((levels, compressed)) = page.split_at_checked(levels) else {
        return Err(general("levels behind the end of their page"));
    };
    // A page without any value.
    if compressed.is_empty() {
        return Ok(page.clone());
    }
    let length = snap::raw::decompress_len(compressed)?;
    if length.div_ceil(COPY_BYTES_MAX) * COPY_BYTES > compressed.len() {
        return Err(general(format!("{length} bytes compressed to {}", compressed.len())));
    }
    let mut out = vec![0; levels.len() + length];
    let (first, rest) = out.split_at_mut(levels.len());
    first.copy_from_slice(levels);
    snap::raw::Decoder::new().decompress(compressed, rest)?;
    Ok(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Type;
    use parquet::data_type::Int64Type;
    use parquet::file::metadata::ParquetMetaDataReader;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    /// A Snappy block begins with its length.
    #[test]
    fn what_snappy_cannot_expand_to_is_refused_before_memory_is_reserved() {
        let content = Bytes::from(vec![7; 64 << 10]);
        let compressed = snap::raw::Encoder::new().compress_vec(&content).expect("it fits");
        assert!(content.len() > 20 * compressed.len(), "nearly all are the longest copies");
        let page = [b"levels", &compressed[..]].concat();
        let whole = expanded(&page.into(), 6).expect("it is whole");
        assert_eq!((&whole[..6], &whole[6..]), (&b"levels"[..], &content[..]));
        let gibibyte: &[u8] = &[0x80, 0x80, 0x80, 0x80, 0x04, 0, 0];
        let error = expanded(&gibibyte.into(), 0).expect_err("7 bytes").to_string();
        assert!(error.contains("1073741824 bytes compressed to 7"), "{error}");
        expanded(&gibibyte.into(), 8).expect_err("there are only 7");
        assert!(expanded(&Bytes::new(), 0).expect("no value").is_empty());
    }

    /// Makes a column chunk, as written by another program, with another number of rows.
    fn pages(rows: usize, properties: WriterProperties) -> Result<Page, ParquetError> {
        let path = std::env::temp_dir().join(format!("lasthop-pages-{}", std::process::id()));
        let open = File::options().read(true).write(true).create_new(true).open(&path);
        let file = open.expect("it is new");
        std::fs::remove_file(&path).expect("it is there");
        let schema = parse_message_type("message row { optional int64 a; }").expect("a schema");
        let to = file.try_clone().expect("it is open");
        let mut writer =
            SerializedFileWriter::new(to, schema.into(), properties.into()).expect("there is room");
        let mut group = writer.next_row_group().expect("there is room");
        let mut column = group.next_column().expect("there is room").expect("there is one");
        let values = [1, 2, 3, 4];
        column
            .typed::<Int64Type>()
            .write_batch(&values, Some(&[1; 4]), None)
            .expect("there is room");
        column.close().expect("there is room");
        group.close().expect("there is room");
        writer.close().expect("there is room");
        let source = Source::new(file).expect("it is open");
        let footer = ParquetMetaDataReader::new().parse_and_finish(&source).expect("it is whole");
        let chunk = footer.row_group(0).column(0);
        assert_eq!(chunk.column_type(), Type::INT64);
        let mut pages = Pages::new(&source, chunk, rows)?;
        pages.next().expect("there is a page")
    }

    #[test]
    fn a_page_has_no_more_values_than_there_are_rows() {
        let plain = || WriterProperties::builder().set_dictionary_enabled(false);
        pages(4, plain().build()).expect("four rows");
        let error = pages(3, plain().build()).expect_err("three rows").to_string();
        assert!(error.contains("a page of 4 values of 3 rows"), "{error}");
        let snappy = plain().set_compression(Compression::SNAPPY);
        assert_eq!(pages(4, snappy.build()).expect("four rows").num_values(), 4);
    }

    #[test]
    fn a_panic_is_an_error() {
        let error = guarded::<()>(|| panic!("at {}", 7)).expect_err("it panics").to_string();
        assert!(error.contains("its content is damaged: at 7"), "{error}");
    }
}
