//! Rows of bytes in aligned memory: symbols, or the coefficients of packets.
//!
//! Each row is padded with zeros to a whole and odd number of cache lines of 64
//! bytes, so that equal columns of different rows map to different sets of the
//! cache. Leaves out growing: the number of rows is fixed.

use crate::kernel::lines::{LINE_BYTES, Lines};

/// A fixed number of rows of equal length.
///
/// ```
/// use lasthop_rlnc::Symbols;
///
/// let mut symbols = Symbols::new(2, 4);
/// symbols.row_mut(1).copy_from_slice(b"air!");
/// assert_eq!((symbols.row(0), symbols.row(1)), ([0; 4].as_slice(), b"air!".as_slice()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbols {
    lines: Lines,
    rows: usize,
    bytes: usize,
    stride: usize,
}

impl Symbols {
    /// `rows` rows of `bytes` zeros each.
    pub fn new(rows: usize, bytes: usize) -> Self {
        let lines = bytes.div_ceil(LINE_BYTES) | 1;
        Self { lines: Lines::new(rows * lines), rows, bytes, stride: lines * LINE_BYTES }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes per row, without padding.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The row with this index. Panics if there is none.
    pub fn row(&self, row: usize) -> &[u8] {
        &self.padded(row)[..self.bytes]
    }

    /// The row with this index, for writing. Panics if there is none.
    pub fn row_mut(&mut self, row: usize) -> &mut [u8] {
        let bytes = self.bytes;
        &mut self.padded_mut(row)[..bytes]
    }

    /// Copies `bytes` into row `row` and fills the rest of it with zeros. Panics if
    /// it is too long.
    pub(crate) fn write(&mut self, row: usize, bytes: &[u8]) {
        let (written, rest) = self.row_mut(row).split_at_mut(bytes.len());
        written.copy_from_slice(bytes);
        rest.fill(0);
    }

    /// Copies row `from` to row `to`.
    pub(crate) fn copy_row(&mut self, from: usize, to: usize) {
        let start = from * self.stride;
        self.lines.bytes_mut().copy_within(start..start + self.stride, to * self.stride);
    }

    /// The row with this index and its padding.
    #[inline]
    pub(crate) fn padded(&self, row: usize) -> &[u8] {
        &self.lines.bytes()[row * self.stride..][..self.stride]
    }

    /// The row with this index and its padding, which must stay zero.
    #[inline]
    pub(crate) fn padded_mut(&mut self, row: usize) -> &mut [u8] {
        &mut self.lines.bytes_mut()[row * self.stride..][..self.stride]
    }

    /// All rows with their padding, one every [`Symbols::stride`] bytes.
    #[inline]
    pub(crate) fn all(&self) -> &[u8] {
        self.lines.bytes()
    }

    /// All rows with their padding, for writing.
    #[inline]
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        self.lines.bytes_mut()
    }

    /// Bytes of a row in whole cache lines; at most [`Symbols::stride`].
    #[inline]
    pub(crate) fn row_bytes(&self) -> usize {
        self.bytes.next_multiple_of(LINE_BYTES)
    }

    /// Bytes from one row to the next: an odd number of cache lines.
    #[inline]
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }
}
