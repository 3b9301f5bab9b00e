//! Coding over a window that slides along an endless stream: symbols are numbered
//! from 0, and packets combine a range of them.
//!
//! Symbol `i` uses row and column `i` modulo the window's capacity. A stream always
//! has unresolved symbols, so payloads are eliminated immediately, together with
//! their vectors. As in RFC 8681, a decoder gives up symbols that leave its window.
//! Leaves out when to slide, which the protocol decides.

use crate::code::{Code, PacketError, Received, SymbolError};
use crate::field::Field;
use crate::kernel::{Kernel, Product};
use crate::symbols::Symbols;
use crate::vector::{Density, Vector, column, get, mask, row_bytes, set};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// The sender: holds the symbols of the window and returns combinations of them.
///
/// ```
/// use lasthop_rlnc::window::{WindowDecoder, WindowEncoder};
/// use lasthop_rlnc::{Code, Density, Field, Vector};
///
/// let code = Code::new(Field::Gf256, 8, 4)?;
/// let (mut encoder, mut decoder) = (WindowEncoder::new(code), WindowDecoder::new(code));
/// for index in 0..20u64 {
///     let symbol = format!("{index:4}");
///     encoder.push(symbol.as_bytes())?;
///     // Every fourth symbol is lost. A combination of the window follows and repairs it.
///     if index % 4 == 3 {
///         let (vector, payload) = encoder.coded(index, Density::DENSE)?;
///         decoder.push(vector, payload)?;
///     } else {
///         decoder.push(Vector::Source(index), symbol.as_bytes())?;
///     }
///     assert_eq!(decoder.symbol(index), Some(symbol.as_bytes()));
///     // The window slides past all that arrived.
///     encoder.slide(index + 1);
/// }
/// assert_eq!(encoder.range(), (20, 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WindowEncoder {
    code: Code,
    kernel: Kernel,
    symbols: Symbols,
    first: u64,
    end: u64,
    coefficients: Symbols,
    payload: Symbols,
}

impl WindowEncoder {
    /// An empty window of at most [`Code::symbols`] symbols, with the fastest
    /// kernel.
    pub fn new(code: Code) -> Self {
        Self::with_kernel(code, Kernel::best())
    }

    /// An empty window of at most [`Code::symbols`] symbols, with this kernel.
    pub fn with_kernel(code: Code, kernel: Kernel) -> Self {
        let symbols = code.symbols();
        Self {
            code,
            kernel,
            symbols: Symbols::new(symbols, code.symbol_bytes()),
            first: 0,
            end: 0,
            coefficients: Symbols::new(1, row_bytes(code.field(), symbols)),
            payload: Symbols::new(1, code.symbol_bytes()),
        }
    }

    /// The numbers of the symbols in the window: the first, and one past the last.
    pub fn range(&self) -> (u64, u64) {
        (self.first, self.end)
    }

    /// Adds the next symbol; shorter data is padded with zeros. Returns its
    /// number.
    ///
    /// # Errors
    ///
    /// If the window is full or the data is longer than a symbol.
    pub fn push(&mut self, symbol: &[u8]) -> Result<u64, SymbolError> {
        let symbols = self.code.symbols();
        if self.end - self.first == symbols as u64 {
            return Err(SymbolError::Full { symbols });
        }
        let (is, allowed) = (symbol.len(), self.code.symbol_bytes());
        if is > allowed {
            return Err(SymbolError::TooLong { is, allowed });
        }
        self.symbols.write(column(self.end, symbols), symbol);
        self.end += 1;
        Ok(self.end - 1)
    }

    /// Removes the symbols before `first`: they were received, or are stale.
    pub fn slide(&mut self, first: u64) {
        self.first = first.clamp(self.first, self.end);
    }

    /// Source symbol `index`, while it is in the window.
    pub fn source(&self, index: u64) -> Option<&[u8]> {
        let there = (self.first..self.end).contains(&index);
        there.then(|| self.symbols.row(column(index, self.code.symbols())))
    }

    /// A combination of all symbols in the window: its vector and payload.
    ///
    /// # Errors
    ///
    /// If there is no symbol in the window.
    pub fn coded(
        &mut self,
        seed: u64,
        density: Density,
    ) -> Result<(Vector<'static>, &[u8]), SymbolError> {
        // A window has at most `u16::MAX` symbols.
        let count = (self.end - self.first) as u16;
        if count == 0 {
            return Err(SymbolError::Nothing);
        }
        let vector = Vector::Seeded { seed, first: self.first, count, density };
        let (field, columns) = (self.code.field(), self.code.symbols());
        vector.expand(field, columns, self.coefficients.padded_mut(0));
        combine(self.kernel, field, &self.coefficients, &self.symbols, false, &mut self.payload);
        Ok((vector, self.payload.row(0)))
    }
}

/// The receiver: takes packets and returns symbols as soon as they are determined.
///
/// ```
/// use lasthop_rlnc::window::WindowDecoder;
/// use lasthop_rlnc::{Code, Field, PacketError, Vector};
///
/// let mut decoder = WindowDecoder::new(Code::new(Field::Gf256, 4, 4)?);
/// decoder.push(Vector::Source(1), b"came")?;
/// assert_eq!(decoder.next_known(), Some(1));
/// // A newer symbol moves the window, and an older one is given up.
/// decoder.push(Vector::Source(4), b"next")?;
/// assert_eq!(decoder.range(), (1, 5));
/// assert_eq!(decoder.push(Vector::Source(0), b"late"), Err(PacketError::Stale));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WindowDecoder {
    code: Code,
    kernel: Kernel,
    /// Number of the first symbol in the window.
    first: u64,
    states: Vec<State>,
    /// Rows of pivots: coefficients in columns that are neither known nor pivots.
    rows: Symbols,
    /// Known symbols, and the payloads of pivots' rows.
    payloads: Symbols,
    /// Mask: all ones in columns that are neither known nor pivots.
    free: Symbols,
    order: VecDeque<u64>,
    /// A packet being reduced, and the part of its vector that is replaced by rows.
    vector: Symbols,
    payload: Symbols,
    picked: Symbols,
    terms: Vec<(u16, u8)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Pivot,
    Known,
}

impl WindowDecoder {
    /// A window of [`Code::symbols`] symbols from number 0 on, with the fastest kernel. The window
    /// should cover the encoder's window and the packets that may arrive late.
    pub fn new(code: Code) -> Self {
        Self::with_kernel(code, Kernel::best())
    }

    /// The same, with this kernel.
    pub fn with_kernel(code: Code, kernel: Kernel) -> Self {
        let symbols = code.symbols();
        let row = row_bytes(code.field(), symbols);
        let mut free = Symbols::new(1, row);
        for column in 0..symbols {
            mask(code.field(), free.padded_mut(0), column, true);
        }
        Self {
            code,
            kernel,
            first: 0,
            states: vec![State::Free; symbols],
            rows: Symbols::new(symbols, row),
            payloads: Symbols::new(symbols, code.symbol_bytes()),
            free,
            order: VecDeque::with_capacity(symbols),
            vector: Symbols::new(1, row),
            payload: Symbols::new(1, code.symbol_bytes()),
            picked: Symbols::new(1, row),
            terms: Vec::with_capacity(symbols),
        }
    }

    /// The numbers of the symbols that the window covers: the first, and one past
    /// the last.
    pub fn range(&self) -> (u64, u64) {
        (self.first, self.first.saturating_add(self.code.symbols() as u64))
    }

    /// Handles a packet. If the packet has newer symbols, the window slides forward,
    /// and the symbols that leave it are given up.
    ///
    /// # Errors
    ///
    /// If the packet does not fit the code, or has symbols from before the window;
    /// nothing changes then.
    pub fn push(&mut self, vector: Vector<'_>, payload: &[u8]) -> Result<Received, PacketError> {
        self.code.check(vector, payload)?;
        let capacity = self.code.symbols() as u64;
        let (first, end) = vector.range().ok_or(PacketError::Range)?;
        if end - first > capacity {
            return Err(PacketError::Range);
        }
        if first < self.first {
            return Err(PacketError::Stale);
        }
        self.slide(end.saturating_sub(capacity));
        let columns = self.code.symbols();
        vector.expand(self.code.field(), columns, self.vector.padded_mut(0));
        Ok(self.insert(payload))
    }

    /// Gives up the symbols before `first`.
    pub fn slide(&mut self, first: u64) {
        let capacity = self.code.symbols() as u64;
        // No more than a whole window of symbols can leave.
        for index in self.first..first.min(self.first.saturating_add(capacity)) {
            self.leave(column(index, self.code.symbols()));
        }
        if first > self.first {
            self.first = first;
            self.order.retain(|&index| index >= first);
        }
    }

    /// Symbol `index`, if it is known and in the window.
    pub fn symbol(&self, index: u64) -> Option<&[u8]> {
        let (first, end) = self.range();
        let column = column(index, self.code.symbols());
        let known = (first..end).contains(&index) && self.states[column] == State::Known;
        known.then(|| self.payloads.row(column))
    }

    /// The number of the next symbol that has become known and is still in the
    /// window; each is reported once.
    pub fn next_known(&mut self) -> Option<u64> {
        self.order.pop_front()
    }

    /// Number of independent packets in the window: known symbols, and combinations
    /// of unknown ones.
    pub fn rank(&self) -> usize {
        self.states.iter().filter(|&&state| state != State::Free).count()
    }

    /// Reduces the packet in `vector`, then all rows by it.
    fn insert(&mut self, payload: &[u8]) -> Received {
        let (field, kernel) = (self.code.field(), self.kernel);
        let (picked, vector) = (self.picked.padded_mut(0), self.vector.padded_mut(0));
        for ((picked, vector), free) in picked.iter_mut().zip(vector).zip(self.free.padded(0)) {
            *picked = *vector & !free;
            *vector &= free;
        }
        combine(kernel, field, &self.picked, &self.rows, true, &mut self.vector);
        let columns = self.code.symbols();
        let vector = self.vector.padded(0);
        let oldest = column(self.first, columns);
        let Some(pivot) =
            (oldest..columns).chain(0..oldest).find(|&column| get(field, vector, column) != 0)
        else {
            return Received::Redundant;
        };
        self.payload.write(0, payload);
        combine(kernel, field, &self.picked, &self.payloads, true, &mut self.payload);
        let inverse = field.invert(get(field, vector, pivot));
        kernel.scale(field, self.vector.padded_mut(0), inverse);
        kernel.scale(field, self.payload.padded_mut(0), inverse);
        self.eliminate(pivot);
        set(field, self.vector.padded_mut(0), pivot, 0);
        self.rows.padded_mut(pivot).copy_from_slice(self.vector.padded(0));
        self.payloads.padded_mut(pivot).copy_from_slice(self.payload.padded(0));
        self.states[pivot] = State::Pivot;
        mask(field, self.free.padded_mut(0), pivot, false);
        self.learn();
        Received::Innovative
    }

    /// Makes column `pivot` zero in all rows by adding `vector`, which is one
    /// there.
    fn eliminate(&mut self, pivot: usize) {
        let field = self.code.field();
        let stride = self.rows.stride();
        let coefficients = self.rows.all().chunks_exact(stride).map(|row| get(field, row, pivot));
        let terms = (0..=u16::MAX).zip(coefficients).filter(|&(_, coefficient)| coefficient != 0);
        self.terms.clear();
        self.terms.extend(terms);
        for (rows, row) in [(&mut self.rows, &self.vector), (&mut self.payloads, &self.payload)] {
            let (stride, bytes) = (rows.stride(), rows.row_bytes());
            let row = &row.padded(0)[..bytes];
            self.kernel.scatter(field, rows.all_mut(), stride, &self.terms, row);
        }
    }

    /// Marks pivots as known whose rows have no unknown symbol left.
    fn learn(&mut self) {
        let columns = self.code.symbols();
        let oldest = column(self.first, columns);
        for column in (oldest..columns).chain(0..oldest) {
            let pivot = self.states[column] == State::Pivot;
            if pivot && self.rows.padded(column).iter().all(|&byte| byte == 0) {
                self.states[column] = State::Known;
                let after = (column + columns - oldest) % columns;
                self.order.push_back(self.first + after as u64);
            }
        }
    }

    /// Gives up the symbol of `column`, which another symbol will use.
    fn leave(&mut self, column: usize) {
        let field = self.code.field();
        if self.states[column] == State::Free {
            // One of the rows that depend on it is given up to eliminate it from the
            // others; the pivot of that row is then unknown, without a row.
            let stride = self.rows.stride();
            let told = |row: &[u8]| get(field, row, column) != 0;
            if let Some(spent) = self.rows.all().chunks_exact(stride).position(told) {
                self.vector.padded_mut(0).copy_from_slice(self.rows.padded(spent));
                self.payload.padded_mut(0).copy_from_slice(self.payloads.padded(spent));
                set(field, self.vector.padded_mut(0), spent, 1);
                let inverse = field.invert(get(field, self.vector.padded(0), column));
                self.kernel.scale(field, self.vector.padded_mut(0), inverse);
                self.kernel.scale(field, self.payload.padded_mut(0), inverse);
                self.rows.padded_mut(spent).fill(0);
                self.eliminate(column);
                self.states[spent] = State::Free;
                mask(field, self.free.padded_mut(0), spent, true);
            }
        }
        self.rows.padded_mut(column).fill(0);
        self.states[column] = State::Free;
        mask(field, self.free.padded_mut(0), column, true);
    }
}

/// Computes the sum of `inputs` with the coefficients of a row into `out`; adds to
/// it if `add`.
fn combine(
    kernel: Kernel,
    field: Field,
    coefficients: &Symbols,
    inputs: &Symbols,
    add: bool,
    out: &mut Symbols,
) {
    let mut job = Product {
        out_stride: out.stride(),
        out: out.all_mut(),
        rows: &[(0, 0)],
        coefficients: coefficients.all(),
        coefficients_stride: coefficients.stride(),
        inputs: inputs.all(),
        inputs_stride: inputs.stride(),
        count: inputs.rows(),
        row_bytes: inputs.row_bytes(),
        add,
    };
    kernel.multiply(field, &mut job);
}
