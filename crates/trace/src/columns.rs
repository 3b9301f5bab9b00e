//! A table in memory, as Arrow's columnar format (1.4) lays it out: the values of a
//! column without gaps, one bit a row that says whether there is a value, and texts as
//! views of 16 bytes (`Utf8View`), of which those up to 12 bytes need no other memory.
//! Whoever hands it to an Arrow library copies nothing. Arrow itself is not linked: its
//! crates would be built into every command. Leaves out nested types and several batches.

use crate::table::{Kind, Values};
use std::collections::BTreeMap;

/// A table whose rows are all in memory. A million rows of events take 270 MB.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Number of rows.
    pub rows: usize,
    /// The columns, each with as many rows.
    pub columns: Vec<Column>,
    /// What the footer of the Parquet file would have, as key and value.
    pub metadata: Vec<(String, String)>,
}

/// A column of [`Columns`].
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, with the unit.
    pub name: String,
    /// A value for each row; of a row without one it is zero, and means nothing.
    pub values: ColumnValues,
    /// Whether a row has a value: a bit each, the lowest bit of the first byte is row 0.
    pub valid: Vec<u8>,
    /// Number of rows without a value.
    pub nulls: usize,
}

/// The values of a [`Column`].
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// A bit for each row, as [`Column::valid`].
    Bool(Vec<u8>),
    /// Counts.
    Int32(Vec<i32>),
    /// Counts, and times in ns.
    Int64(Vec<i64>),
    /// Numbers.
    Double(Vec<f64>),
    /// Texts in UTF-8. A view has, from its lowest bits on, 32 bits of length and the
    /// text, if it has at most 12 bytes; otherwise its first 4 bytes, 32 bits of zero,
    /// and 32 bits that say where in `data` it begins.
    Text {
        /// A view for each row.
        views: Vec<u128>,
        /// The texts that do not fit in views, each once.
        data: Vec<u8>,
    },
}

/// Longest text in bytes that is in its view.
const INLINE_BYTES_MAX: usize = 12;

/// [`Columns`] that are being filled.
pub(crate) struct Builder {
    columns: Columns,
    /// The views of the longer texts of each column.
    known: Vec<BTreeMap<Box<[u8]>, u128>>,
}

impl Builder {
    pub(crate) fn new<'a>(
        columns: impl IntoIterator<Item = (&'a str, Kind)>,
        metadata: &[(&str, String)],
    ) -> Self {
        let columns: Vec<_> =
            columns.into_iter().map(|(name, kind)| Column::new(name, kind)).collect();
        let metadata = metadata.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let known = columns.iter().map(|_| BTreeMap::new()).collect();
        Self { columns: Columns { rows: 0, columns, metadata }, known }
    }

    /// Adds rows: `rows` has a bit for each column in which a row has a value, and
    /// `values` these values, by column.
    pub(crate) fn add(&mut self, rows: &[u32], values: &[Values]) {
        for (index, values) in values.iter().enumerate() {
            let with_value = rows.iter().zip(self.columns.rows..);
            let with_value = with_value.filter(|(present, _)| **present >> index & 1 == 1);
            let at = with_value.map(|(_, row)| row);
            let known = &mut self.known[index];
            let column = &mut self.columns.columns[index];
            match values {
                Values::Bool(values) => {
                    at.zip(values).for_each(|(row, value)| column.set_bool(row, *value));
                }
                Values::Int32(values) => {
                    at.zip(values).for_each(|(row, value)| column.set_int32(row, *value));
                }
                Values::Int64(values) => {
                    at.zip(values).for_each(|(row, value)| column.set_int64(row, *value));
                }
                Values::Double(values) => {
                    at.zip(values).for_each(|(row, value)| column.set_double(row, *value));
                }
                Values::Text(values) => {
                    at.zip(values)
                        .for_each(|(row, value)| column.set_text(row, value.data(), known));
                }
            }
        }
        self.columns.rows += rows.len();
    }

    /// Starts a row.
    pub(crate) fn row(&mut self) {
        self.columns.rows += 1;
    }

    /// Sets a number in the last row.
    pub(crate) fn number(&mut self, column: usize, value: f64) {
        let row = self.columns.rows - 1;
        self.columns.columns[column].set_double(row, value);
    }

    /// Sets a count in the last row.
    pub(crate) fn count(&mut self, column: usize, value: i64) {
        let row = self.columns.rows - 1;
        self.columns.columns[column].set_int64(row, value);
    }

    /// Sets a truth in the last row.
    pub(crate) fn bool(&mut self, column: usize, value: bool) {
        let row = self.columns.rows - 1;
        self.columns.columns[column].set_bool(row, value);
    }

    /// Sets a text in the last row.
    pub(crate) fn text(&mut self, column: usize, value: &str) {
        let row = self.columns.rows - 1;
        let known = &mut self.known[column];
        self.columns.columns[column].set_text(row, value.as_bytes(), known);
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
            Kind::Text => ColumnValues::Text { views: Vec::new(), data: Vec::new() },
        };
        Self { name: name.to_owned(), values, valid: Vec::new(), nulls: 0 }
    }

    fn set_bool(&mut self, row: usize, value: bool) {
        if let ColumnValues::Bool(values) = &mut self.values {
            set_bit(values, row, value);
            self.mark(row);
        }
    }

    fn set_int32(&mut self, row: usize, value: i32) {
        if let ColumnValues::Int32(values) = &mut self.values {
            put(values, row, value);
            self.mark(row);
        }
    }

    fn set_int64(&mut self, row: usize, value: i64) {
        if let ColumnValues::Int64(values) = &mut self.values {
            put(values, row, value);
            self.mark(row);
        }
    }

    fn set_double(&mut self, row: usize, value: f64) {
        if let ColumnValues::Double(values) = &mut self.values {
            put(values, row, value);
            self.mark(row);
        }
    }

    fn set_text(&mut self, row: usize, value: &[u8], known: &mut BTreeMap<Box<[u8]>, u128>) {
        if let ColumnValues::Text { views, data } = &mut self.values {
            let view = short_view(value).unwrap_or_else(|| match known.get(value) {
                Some(view) => *view,
                None => {
                    let view = long_view(value, data.len());
                    data.extend_from_slice(value);
                    known.insert(value.into(), view);
                    view
                }
            });
            put(views, row, view);
            self.mark(row);
        }
    }

    /// Notes that `row` has a value. Rows without one are counted at the end.
    fn mark(&mut self, row: usize) {
        set_bit(&mut self.valid, row, true);
    }

    /// Completes the rows after the last value.
    fn finish(&mut self, rows: usize) {
        let bytes = rows.div_ceil(8);
        match &mut self.values {
            ColumnValues::Bool(values) => values.resize(bytes, 0),
            ColumnValues::Int32(values) => complete(values, rows, 0),
            ColumnValues::Int64(values) => complete(values, rows, 0),
            ColumnValues::Double(values) => complete(values, rows, 0.0),
            ColumnValues::Text { views, .. } => complete(views, rows, 0),
        }
        self.valid.resize(bytes, 0);
        let valid: u32 = self.valid.iter().map(|byte| byte.count_ones()).sum();
        self.nulls = rows - valid as usize;
    }
}

/// The view of a text that fits in it.
fn short_view(text: &[u8]) -> Option<u128> {
    if text.len() > INLINE_BYTES_MAX {
        return None;
    }
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
    bytes[4..4 + text.len()].copy_from_slice(text);
    Some(u128::from_le_bytes(bytes))
}

/// The view of a longer text that begins at `offset` of the column's data.
fn long_view(text: &[u8], offset: usize) -> u128 {
    let bound = |bytes: usize| i32::try_from(bytes).expect("names are far shorter than 2 GiB");
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&bound(text.len()).to_le_bytes());
    bytes[4..8].copy_from_slice(&text[..4]);
    bytes[12..].copy_from_slice(&bound(offset).to_le_bytes());
    u128::from_le_bytes(bytes)
}

/// Writes the value of a row, after zeros for the rows before it that have none.
fn put<T: Copy + Default>(values: &mut Vec<T>, row: usize, value: T) {
    values.resize(row, T::default());
    values.push(value);
}

/// Fills up with zeros. A column without any value takes no memory that is written.
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
    use super::*;

    #[test]
    fn a_text_is_in_its_view_up_to_twelve_bytes() {
        let mut builder = Builder::new([("text", Kind::Text)], &[]);
        for text in ["", "twelve bytes", "thirteen byte", "thirteen byte"] {
            builder.row();
            builder.text(0, text);
        }
        builder.row();
        let columns = builder.finish();
        let column = &columns.columns[0];
        let ColumnValues::Text { views, data } = &column.values else { panic!("it is text") };
        // The layout of `Utf8View` in Arrow's format: length, then text or prefix, buffer
        // and offset.
        let bytes: Vec<[u8; 16]> = views.iter().map(|view| view.to_le_bytes()).collect();
        assert_eq!(bytes[0], [0; 16]);
        assert_eq!(&bytes[1], b"\x0c\0\0\0twelve bytes");
        assert_eq!(&bytes[2], b"\x0d\0\0\0thir\0\0\0\0\0\0\0\0");
        assert_eq!(bytes[2], bytes[3], "it is kept once");
        assert_eq!(data, b"thirteen byte");
        assert_eq!((column.valid.as_slice(), column.nulls), (&[0b1111][..], 1));
    }

    #[test]
    fn rows_without_a_value_are_null() {
        let names = [("count", Kind::Int64), ("truth", Kind::Bool), ("never", Kind::Double)];
        let mut builder = Builder::new(names, &[("key", "value".into())]);
        let none = || Values::Double(Vec::new());
        let group = [Values::Int64(vec![7]), Values::Bool(vec![true]), none()];
        builder.add(&[0b01, 0b10, 0b00], &group);
        let group = [Values::Int64(vec![-9]), Values::Bool(vec![false]), none()];
        builder.add(&[0b11], &group);
        let columns = builder.finish();
        let [count, truth, never] = &columns.columns[..] else { panic!("three columns") };
        assert_eq!(columns.rows, 4);
        assert_eq!(count.values, ColumnValues::Int64(vec![7, 0, 0, -9]));
        assert_eq!((count.valid.as_slice(), count.nulls), (&[0b1001][..], 2));
        assert_eq!(truth.values, ColumnValues::Bool(vec![0b0010]));
        assert_eq!((truth.valid.as_slice(), truth.nulls), (&[0b1010][..], 2));
        assert_eq!((&never.values, never.nulls), (&ColumnValues::Double(vec![0.0; 4]), 4));
    }
}
