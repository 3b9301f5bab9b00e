//! Writes a Parquet file one row group at a time, so that memory does not grow with the number of
//! rows, or keeps all rows in memory (`memory`). Columns are optional: a row may leave out any of
//! them. A caller that fills rows only appends their values to a batch. With more than one core and
//! one batch, a thread of the table encodes (`encoding`) and writes (`groups`) the batches.

mod encoding;
mod groups;
pub(crate) mod memory;
#[cfg(test)]
mod tests;

use crate::output::{OutputError, PartFile};
use groups::Groups;
pub(crate) use groups::{field, io_error};
use memory::Builder;
pub(crate) use memory::Columns;
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// Largest number of columns: a row has a bit for each.
const COLUMNS_MAX: usize = u32::BITS as usize;
/// Number of rows in a full batch.
const BATCH_ROWS: usize = 1024;
/// Capacity of a column of a batch, in values. Columns start at different offsets in a page of memory,
/// so that their ends use different cache sets.
const BATCH_VALUES: usize = BATCH_ROWS + 8;
/// Largest number of batches that wait for the encoding thread: the rows of a group, while another
/// one is encoded.
const BATCHES_WAITING: usize = 64;

/// Type of the values in a column.
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

/// Number of a text of the table, made once by [`Table::word`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(u32);

/// Destination of a table's rows.
pub(crate) enum Destination {
    /// Into a Parquet file.
    File(PartFile),
    /// Memory: [`Table::finish`] returns the rows.
    Memory,
}

impl From<PartFile> for Destination {
    fn from(file: PartFile) -> Self {
        Self::File(file)
    }
}

/// A table that is being written.
pub(crate) struct Table {
    batch: Batch,
    words: BTreeMap<Box<str>, Word>,
    kinds: Vec<Kind>,
    /// Writer of the rows; `None` after an error.
    writing: Option<Writing>,
}

/// Rows as filled, by column, with words as numbers.
struct Batch {
    /// Columns in which each row has a value; bit 0 is the first.
    sets: Box<[u32; BATCH_ROWS]>,
    /// Number of rows.
    length: usize,
    /// Bits of the values of each column, and their number.
    values: Box<[[u64; BATCH_VALUES]; COLUMNS_MAX]>,
    lengths: [u32; COLUMNS_MAX],
    /// Words that first occur in this batch.
    words: Vec<Box<str>>,
}

/// Writer of the batches.
enum Writing {
    /// The thread that fills them.
    Here(Box<Groups>),
    /// A separate thread.
    Beside(Beside),
    /// Memory: the rows are kept.
    Kept(Builder),
}

struct Beside {
    filled: SyncSender<Batch>,
    /// Batches to fill again.
    emptied: Receiver<Batch>,
    thread: JoinHandle<Result<Box<Groups>, OutputError>>,
}

impl Table {
    /// Makes an empty table; `metadata` is stored in the footer of the file.
    pub(crate) fn new(
        destination: impl Into<Destination>,
        columns: &[(&str, Kind)],
        metadata: &[(&str, String)],
    ) -> Result<Self, OutputError> {
        assert!(columns.len() <= COLUMNS_MAX, "a row has a bit for each column");
        let writing = match destination.into() {
            Destination::File(file) => {
                Writing::Here(Box::new(Groups::new(file, columns, metadata)?))
            }
            Destination::Memory => Writing::Kept(Builder::new(columns.iter().copied(), metadata)),
        };
        Ok(Self {
            batch: Batch::new(),
            words: BTreeMap::new(),
            kinds: columns.iter().map(|&(_, kind)| kind).collect(),
            writing: Some(writing),
        })
    }

    /// Returns the word for a text, after a search.
    pub(crate) fn word(&mut self, text: &str) -> Word {
        if let Some(word) = self.words.get(text) {
            return *word;
        }
        let word = Word(self.words.len() as u32);
        self.words.insert(text.into(), word);
        self.batch.words.push(text.into());
        word
    }

    /// Starts a row, whose columns are set by index.
    #[inline]
    pub(crate) fn row(&mut self) -> Result<Row<'_>, OutputError> {
        if self.batch.is_full() {
            self.hand_over()?;
        }
        Ok(Row { batch: &mut self.batch, present: 0, kinds: &self.kinds })
    }

    /// Writes the remaining rows and the footer.
    pub(crate) fn close(self) -> Result<(), OutputError> {
        self.finish().map(drop)
    }

    /// Writes the remaining rows and the footer; returns the rows if they are in memory.
    pub(crate) fn finish(mut self) -> Result<Option<Columns>, OutputError> {
        let mut groups = match self.writing.take() {
            Some(Writing::Here(groups)) => groups,
            Some(Writing::Beside(beside)) => beside.join()?,
            Some(Writing::Kept(mut columns)) => {
                columns.add(&mut self.batch);
                return Ok(Some(columns.finish()));
            }
            None => return Ok(None),
        };
        groups.add(&mut self.batch)?;
        groups.close().map(|()| None)
    }

    /// Passes the batch on and takes an empty one.
    #[cold]
    fn hand_over(&mut self) -> Result<(), OutputError> {
        let has_cores = || thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        let beside = match self.writing.take() {
            Some(Writing::Here(groups)) if has_cores() => Beside::new(groups),
            Some(Writing::Here(mut groups)) => {
                groups.add(&mut self.batch)?;
                self.writing = Some(Writing::Here(groups));
                return Ok(());
            }
            Some(Writing::Kept(mut columns)) => {
                columns.add(&mut self.batch);
                self.writing = Some(Writing::Kept(columns));
                return Ok(());
            }
            Some(Writing::Beside(beside)) => beside,
            // The error was returned already.
            None => {
                self.batch.clear();
                return Ok(());
            }
        };
        let empty = beside.emptied.try_recv().unwrap_or_else(|_| Batch::new());
        let batch = std::mem::replace(&mut self.batch, empty);
        if beside.filled.send(batch).is_err() {
            // The thread ended early.
            return beside.join().map(drop);
        }
        self.writing = Some(Writing::Beside(beside));
        Ok(())
    }
}

impl Batch {
    fn new() -> Self {
        let boxed = |columns: Vec<[u64; BATCH_VALUES]>| columns.into_boxed_slice().try_into().ok();
        Self {
            sets: Box::new([0; BATCH_ROWS]),
            length: 0,
            // Memory that is not written to is not taken.
            values: boxed(vec![[0; BATCH_VALUES]; COLUMNS_MAX]).expect("as many columns"),
            lengths: [0; COLUMNS_MAX],
            words: Vec::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.length >= BATCH_ROWS
    }

    /// Columns in which each row has a value.
    fn rows(&self) -> &[u32] {
        &self.sets[..self.length]
    }

    /// Values of a column.
    fn column(&self, column: usize) -> &[u64] {
        &self.values[column][..self.lengths[column] as usize]
    }

    fn clear(&mut self) {
        self.words.clear();
        self.length = 0;
        self.lengths = [0; COLUMNS_MAX];
    }
}

impl Beside {
    /// Starts the thread, which ends without further batches, or after an error.
    fn new(mut groups: Box<Groups>) -> Self {
        let (filled, batches) = mpsc::sync_channel::<Batch>(BATCHES_WAITING);
        let (returned, emptied) = mpsc::sync_channel(BATCHES_WAITING + 2);
        let thread = thread::spawn(move || {
            for mut batch in batches {
                groups.add(&mut batch)?;
                // The last batches are not returned.
                let _ = returned.try_send(batch);
            }
            Ok(groups)
        });
        Self { filled, emptied, thread }
    }

    /// Waits until all batches are written.
    fn join(self) -> Result<Box<Groups>, OutputError> {
        drop(self.filled);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// A row that is being filled; it becomes part of the table when dropped. Each column may be set at
/// most once.
pub(crate) struct Row<'a> {
    batch: &'a mut Batch,
    /// Columns that are set.
    present: u32,
    kinds: &'a [Kind],
}

impl Row<'_> {
    pub(crate) fn bool(&mut self, column: usize, value: bool) -> &mut Self {
        self.set(column, Kind::Bool, value.into())
    }

    pub(crate) fn int32(&mut self, column: usize, value: i32) -> &mut Self {
        self.set(column, Kind::Int32, value.cast_unsigned().into())
    }

    /// Sets a count or a time in nanoseconds; all are below 2^63.
    pub(crate) fn int64(&mut self, column: usize, value: u64) -> &mut Self {
        self.set(column, Kind::Int64, value)
    }

    /// Sets neighbouring columns from `first` on, as [`int64`](Self::int64) does.
    #[inline]
    pub(crate) fn int64s<const N: usize>(&mut self, first: usize, numbers: [u64; N]) -> &mut Self {
        let Batch { values, lengths, .. } = &mut *self.batch;
        for (column, number) in (first..).zip(numbers) {
            debug_assert_eq!(self.kinds[column], Kind::Int64, "a value of the column's kind");
            debug_assert_eq!(self.present >> column & 1, 0, "set once");
            // Other rows may set one of these columns alone, so each has its own length.
            let column = column % COLUMNS_MAX;
            let length = &mut lengths[column];
            values[column][*length as usize % BATCH_ROWS] = number;
            *length += 1;
        }
        self.present |= ((1 << N) - 1) << first;
        self
    }

    pub(crate) fn double(&mut self, column: usize, value: f64) -> &mut Self {
        self.set(column, Kind::Double, value.to_bits())
    }

    pub(crate) fn text(&mut self, column: usize, value: Word) -> &mut Self {
        self.set(column, Kind::Text, value.0.into())
    }

    #[inline]
    fn set(&mut self, column: usize, kind: Kind, value: u64) -> &mut Self {
        debug_assert_eq!(self.kinds[column], kind, "a value of the column's kind");
        debug_assert_eq!(self.present >> column & 1, 0, "set once");
        // There are fewer values than rows, so that the remainders change nothing.
        let column = column % COLUMNS_MAX;
        let length = &mut self.batch.lengths[column];
        self.batch.values[column][*length as usize % BATCH_ROWS] = value;
        *length += 1;
        self.present |= 1 << column;
        self
    }
}

impl Drop for Row<'_> {
    #[inline]
    fn drop(&mut self) {
        self.batch.sets[self.batch.length % BATCH_ROWS] = self.present;
        self.batch.length += 1;
    }
}
