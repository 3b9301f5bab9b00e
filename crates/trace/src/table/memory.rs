//! A table in memory in Arrow's columnar format (1.4): the values of a column without gaps, one
//! validity bit a row, and texts as views of 16 bytes (`Utf8View`), which hold texts of up to 12
//! bytes. Passing it to an Arrow library copies no data. Arrow itself is not linked, because its
//! crates would be built into every command. Leaves out nested types and several batches.

use super::{Batch, Kind};
use std::collections::BTreeMap;

/// A table with all rows in memory. A million rows of events need 270 MB.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Number of rows.
    pub rows: usize,
    /// Columns of the table, each with as many rows.
    pub columns: Vec<Column>,
    /// Texts too long for a view, in UTF-8.
    pub text: Vec<u8>,
    /// Metadata of the Parquet file's footer, as key and value.
    pub metadata: Vec<(String, String)>,
}

/// A column of [`Columns`].
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column, with the unit.
    pub name: String,
    /// Values, one for each row; zero for a row without one.
    pub values: ColumnValues,
    /// Whether a row has a value: a bit each, the lowest bit of the first byte is row 0.
    pub valid: Vec<u8>,
    /// Number of rows without a value.
    pub nulls: usize,
}

/// Values of a [`Column`].
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Booleans, one bit for each row, as [`Column::valid`].
    Bool(Vec<u8>),
    /// Counts as 32-bit integers.
    Int32(Vec<i32>),
    /// Counts, and times in ns.
    Int64(Vec<i64>),
    /// Numbers of double precision.
    Double(Vec<f64>),
    /// Texts as views. From its lowest bits on, a view has 32 bits of length and, for at most 12
    /// bytes, the text; otherwise its first 4 bytes, 32 zero bits, and a 32-bit offset into
    /// [`Columns::text`].
    Text(Vec<u128>),
}

/// Longest text in a view, in bytes.
const INLINE_BYTES_MAX: usize = 12;

/// [`Columns`] under construction.
pub(crate) struct Builder {
    columns: Columns,
    /// The view of each word of the table.
    words: Vec<u128>,
    /// Views of texts that were added one by one, each stored once.
    texts: BTreeMap<Box<str>, u128>,
}

impl Builder {
    pub(crate) fn new<'a>(
        columns: impl IntoIterator<Item = (&'a str, Kind)>,
        metadata: &[(&str, String)],
    ) -> Self {
        let columns = columns.into_iter().map(|(name, kind)| Column::new(name, kind)).collect();
        let metadata = metadata.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let columns = Columns { rows: 0, columns, text: Vec::new(), metadata };
        Self { columns, words: Vec::new(), texts: BTreeMap::new() }
    }

    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, batch: &mut Batch) {
        for word in &batch.words {
            let view = view(word, &mut self.columns.text);
            self.words.push(view);
        }
        let first = self.columns.rows;
        for (index, column) in self.columns.columns.iter_mut().enumerate() {
            let rows = (first..).zip(batch.rows()).filter(|(_, set)| *set >> index & 1 == 1);
            for ((row, _), &bits) in rows.zip(batch.column(index)) {
                match &mut column.values {
                    ColumnValues::Bool(values) => set_bit(values, row, bits != 0),
                    ColumnValues::Int32(values) => put(values, row, (bits as u32).cast_signed()),
                    ColumnValues::Int64(values) => put(values, row, bits.cast_signed()),
                    ColumnValues::Double(values) => put(values, row, f64::from_bits(bits)),
                    ColumnValues::Text(views) => put(views, row, self.words[bits as usize]),
                }
                set_bit(&mut column.valid, row, true);
            }
        }
        self.columns.rows += batch.rows().len();
        batch.clear();
    }

    /// Starts a row.
    pub(crate) fn row(&mut self) {
        self.columns.rows += 1;
    }

    /// Sets a number in the last row.
    pub(crate) fn number(&mut self, column: usize, value: f64) {
        let (row, column) = self.last(column);
        match &mut column.values {
            ColumnValues::Double(values) => put(values, row, value),
            _ => panic!("{} has no numbers", column.name),
        }
    }

    /// Sets a count in the last row; in a column of numbers, the number.
    pub(crate) fn count(&mut self, column: usize, value: i64) {
        let (row, column) = self.last(column);
        match &mut column.values {
            ColumnValues::Int64(values) => put(values, row, value),
            ColumnValues::Double(values) => put(values, row, value as f64),
            _ => panic!("{} has no counts", column.name),
        }
    }

    /// Sets a boolean in the last row.
    pub(crate) fn bool(&mut self, column: usize, value: bool) {
        let (row, column) = self.last(column);
        match &mut column.values {
            ColumnValues::Bool(values) => set_bit(values, row, value),
            _ => panic!("{} has no truths", column.name),
        }
    }

    /// Sets a text in the last row.
    pub(crate) fn text(&mut self, column: usize, value: &str) {
        let view = match self.texts.get(value) {
            Some(&view) => view,
            None => {
                let view = view(value, &mut self.columns.text);
                self.texts.insert(value.into(), view);
                view
            }
        };
        let (row, column) = self.last(column);
        match &mut column.values {
            ColumnValues::Text(views) => put(views, row, view),
            _ => panic!("{} has no texts", column.name),
        }
    }

    /// Returns the last row and a column, and marks its value as present.
    fn last(&mut self, column: usize) -> (usize, &mut Column) {
        let (row, column) = (self.columns.rows - 1, &mut self.columns.columns[column]);
        set_bit(&mut column.valid, row, true);
        (row, column)
    }

    pub(crate) fn finish(mut self) -> Columns {
        let rows = self.columns.rows;
        self.columns.columns.iter_mut().for_each(|column| column.finish(rows));
        self.columns
    }
}

impl Column {
    fn new(name: &str, kind: Kind) -> Self {
        let values = match kind {
            Kind::Bool => ColumnValues::Bool(Vec::new()),
            Kind::Int32 => ColumnValues::Int32(Vec::new()),
            Kind::Int64 => ColumnValues::Int64(Vec::new()),
            Kind::Double => ColumnValues::Double(Vec::new()),
            Kind::Text => ColumnValues::Text(Vec::new()),
        };
        Self { name: name.to_owned(), values, valid: Vec::new(), nulls: 0 }
    }

    /// Completes the rows after the last value.
    fn finish(&mut self, rows: usize) {
        let bytes = rows.div_ceil(8);
        match &mut self.values {
            ColumnValues::Bool(values) => values.resize(bytes, 0),
            ColumnValues::Int32(values) => complete(values, rows, 0),
            ColumnValues::Int64(values) => complete(values, rows, 0),
            ColumnValues::Double(values) => complete(values, rows, 0.0),
            ColumnValues::Text(views) => complete(views, rows, 0),
        }
        self.valid.resize(bytes, 0);
        let valid: u32 = self.valid.iter().map(|byte| byte.count_ones()).sum();
        self.nulls = rows - valid as usize;
    }
}

/// Returns the view of a text; adds the text to `texts` if it is too long for a view.
fn view(text: &str, texts: &mut Vec<u8>) -> u128 {
    let bound = |bytes: usize| i32::try_from(bytes).expect("names are far shorter than 2 GiB");
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&bound(text.len()).to_le_bytes());
    if text.len() <= INLINE_BYTES_MAX {
        bytes[4..4 + text.len()].copy_from_slice(text.as_bytes());
    } else {
        bytes[4..8].copy_from_slice(&text.as_bytes()[..4]);
        bytes[12..].copy_from_slice(&bound(texts.len()).to_le_bytes());
        texts.extend_from_slice(text.as_bytes());
    }
    u128::from_le_bytes(bytes)
}

/// Writes the value of a row, after zeros for earlier rows without a value.
fn put<T: Copy + Default>(values: &mut Vec<T>, row: usize, value: T) {
    values.resize(row, T::default());
    values.push(value);
}

/// Fills the column up with zeros. A column without any value writes no memory.
fn complete<T: Copy + Default>(values: &mut Vec<T>, rows: usize, zero: T) {
    if values.is_empty() {
        *values = vec![zero; rows];
    } else {
        values.resize(rows, zero);
        values.shrink_to_fit();
    }
}

fn set_bit(bits: &mut Vec<u8>, row: usize, value: bool) {
    if bits.len() <= row / 8 {
        bits.resize(row / 8 + 1, 0);
    }
    bits[row / 8] |= u8::from(value) << (row % 8);
}

#[cfg(test)]
mod tests {
    use super::super::{Destination, Table};
    use super::*;

    /// The layout of `Utf8View` in Arrow's format: length, then text, or prefix, buffer and
    /// offset.
    #[test]
    fn a_text_is_in_its_view_up_to_twelve_bytes() {
        let mut table = Table::new(Destination::Memory, &[("text", Kind::Text)], &[]).unwrap();
        for text in ["", "twelve bytes", "thirteen byte", "thirteen byte"] {
            let word = table.word(text);
            table.row().unwrap().text(0, word);
        }
        table.row().unwrap();
        let columns = table.finish().unwrap().unwrap();
        let column = &columns.columns[0];
        let ColumnValues::Text(views) = &column.values else { panic!("it is text") };
        let bytes: Vec<[u8; 16]> = views.iter().map(|view| view.to_le_bytes()).collect();
        assert_eq!(bytes[0], [0; 16]);
        assert_eq!(&bytes[1], b"\x0c\0\0\0twelve bytes");
        assert_eq!(&bytes[2], b"\x0d\0\0\0thir\0\0\0\0\0\0\0\0");
        assert_eq!(bytes[2], bytes[3]);
        assert_eq!(columns.text, b"thirteen byte", "it is kept once");
        assert_eq!((column.valid.as_slice(), column.nulls), (&[0b1111][..], 1));
    }

    #[test]
    fn rows_without_a_value_are_null() {
        let names = [("count", Kind::Int64), ("truth", Kind::Bool), ("never", Kind::Double)];
        let mut table = Table::new(Destination::Memory, &names, &[]).unwrap();
        table.row().unwrap().int64(0, 7);
        table.row().unwrap().bool(1, true);
        table.row().unwrap();
        table.row().unwrap().bool(1, false).int64(0, 3);
        let columns = table.finish().unwrap().unwrap();
        let [count, truth, never] = &columns.columns[..] else { panic!("three columns") };
        assert_eq!(columns.rows, 4);
        assert_eq!(count.values, ColumnValues::Int64(vec![7, 0, 0, 3]));
        assert_eq!((count.valid.as_slice(), count.nulls), (&[0b1001][..], 2));
        assert_eq!(truth.values, ColumnValues::Bool(vec![0b0010]));
        assert_eq!((truth.valid.as_slice(), truth.nulls), (&[0b1010][..], 2));
        assert_eq!((&never.values, never.nulls), (&ColumnValues::Double(vec![0.0; 4]), 4));
    }
}
