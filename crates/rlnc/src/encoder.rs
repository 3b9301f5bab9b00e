//! The source of a block: takes symbols one by one and gives combinations of
//! those it has, at any time.

use crate::code::{Code, SymbolError};
use crate::kernel::{Kernel, Product};
use crate::symbols::Symbols;
use crate::vector::{Density, Vector, row_bytes};
use alloc::vec::Vec;

/// Encodes one block after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    code: Code,
    kernel: Kernel,
    symbols: Symbols,
    taken: u16,
    coefficients: Symbols,
    /// The payload of a packet that is asked for by itself.
    payload: Symbols,
    /// `(0, 0)`, `(1, 1)` and so on: vector and payload of a packet.
    pairs: Vec<(u16, u16)>,
}

/// A batch has up to this many packets more than the block has symbols.
const BATCH_BEYOND: usize = 64;

/// Below this density, packets of a batch are made one by one.
const SPARSE: Density = Density::from_parts(u16::MAX / 4);

impl Encoder {
    /// An empty block of `code`.
    pub fn new(code: Code) -> Self {
        Self::with_kernel(code, Kernel::best())
    }

    /// The same, with instructions of choice.
    pub fn with_kernel(code: Code, kernel: Kernel) -> Self {
        let row = row_bytes(code.field(), code.symbols());
        let batch = code.symbols() + BATCH_BEYOND;
        Self {
            code,
            kernel,
            symbols: Symbols::new(code.symbols(), code.symbol_bytes()),
            taken: 0,
            coefficients: Symbols::new(batch, row),
            payload: Symbols::new(1, code.symbol_bytes()),
            pairs: (0..=u16::MAX).take(batch).map(|row| (row, row)).collect(),
        }
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Takes the next source symbol, of at most a symbol's bytes; zeros follow it.
    /// Returns its number in the block.
    ///
    /// # Errors
    ///
    /// If the block is full or the symbol is too long.
    pub fn push(&mut self, symbol: &[u8]) -> Result<u16, SymbolError> {
        if self.is_full() {
            return Err(SymbolError::Full { symbols: self.code.symbols() });
        }
        let (is, allowed) = (symbol.len(), self.code.symbol_bytes());
        if is > allowed {
            return Err(SymbolError::TooLong { is, allowed });
        }
        self.symbols.write(usize::from(self.taken), symbol);
        self.taken += 1;
        Ok(self.taken - 1)
    }

    /// How many symbols the block has so far.
    pub fn len(&self) -> u16 {
        self.taken
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Whether it takes no more.
    pub fn is_full(&self) -> bool {
        usize::from(self.taken) == self.code.symbols()
    }

    /// Source symbol `index`, for a packet of [`Vector::Source`].
    pub fn source(&self, index: u16) -> Option<&[u8]> {
        (index < self.taken).then(|| self.symbols.row(usize::from(index)))
    }

    /// Begins the next block.
    pub fn clear(&mut self) {
        self.taken = 0;
    }

    /// A combination of all symbols so far, and its payload.
    ///
    /// # Errors
    ///
    /// If there is no symbol yet.
    pub fn coded(
        &mut self,
        seed: u64,
        density: Density,
    ) -> Result<(Vector<'static>, &[u8]), SymbolError> {
        let vector = self.vector(seed, density)?;
        Ok((vector, self.combine(vector)))
    }

    /// A dense combination of `count` symbols from number `first` on, and its payload.
    ///
    /// # Errors
    ///
    /// If the block does not have all of them yet, or they are none.
    pub fn coded_range(
        &mut self,
        seed: u64,
        first: u16,
        count: u16,
    ) -> Result<(Vector<'static>, &[u8]), SymbolError> {
        if count == 0 || first.checked_add(count).is_none_or(|end| end > self.taken) {
            return Err(SymbolError::Nothing);
        }
        let density = Density::DENSE;
        let vector = Vector::Seeded { seed, first: u64::from(first), count, density };
        Ok((vector, self.combine(vector)))
    }

    /// The payload of a combination of symbols that are there.
    fn combine(&mut self, vector: Vector<'_>) -> &[u8] {
        vector.expand(self.code.field(), self.code.symbols(), self.coefficients.padded_mut(0));
        let (out_stride, out) = (self.payload.stride(), self.payload.all_mut());
        let mut job = Product {
            out,
            out_stride,
            rows: &[(0, 0)],
            coefficients: self.coefficients.all(),
            coefficients_stride: self.coefficients.stride(),
            inputs: self.symbols.all(),
            inputs_stride: self.symbols.stride(),
            count: usize::from(self.taken),
            row_bytes: self.symbols.row_bytes(),
            add: false,
        };
        self.kernel.multiply(self.code.field(), &mut job);
        self.payload.row(0)
    }

    /// Combinations of all symbols so far, one for each seed, into the first rows of
    /// `payloads`: faster by far than one by one. [`Encoder::vector`] says what they
    /// are. Panics if `payloads` has too few rows or rows of another length.
    ///
    /// # Errors
    ///
    /// If there is no symbol yet.
    pub fn coded_many(
        &mut self,
        seeds: &[u64],
        density: Density,
        payloads: &mut Symbols,
    ) -> Result<(), SymbolError> {
        assert_eq!(payloads.bytes(), self.code.symbol_bytes(), "rows are symbols");
        assert!(payloads.rows() >= seeds.len(), "a row for each seed");
        if self.is_empty() {
            return Err(SymbolError::Nothing);
        }
        let (field, columns) = (self.code.field(), self.code.symbols());
        let stride = payloads.stride();
        let batch = self.pairs.len();
        let outs = payloads.all_mut().chunks_mut(batch * stride);
        for (seeds, out) in seeds.chunks(batch).zip(outs) {
            for (row, &seed) in seeds.iter().enumerate() {
                let vector = self.vector(seed, density)?;
                vector.expand(field, columns, self.coefficients.padded_mut(row));
            }
            // A tile multiplies by zeros too; a row by itself leaves them out.
            let together = if density < SPARSE { 1 } else { seeds.len() };
            for rows in self.pairs[..seeds.len()].chunks(together) {
                let mut job = Product {
                    out,
                    out_stride: stride,
                    rows,
                    coefficients: self.coefficients.all(),
                    coefficients_stride: self.coefficients.stride(),
                    inputs: self.symbols.all(),
                    inputs_stride: self.symbols.stride(),
                    count: usize::from(self.taken),
                    row_bytes: self.symbols.row_bytes(),
                    add: false,
                };
                self.kernel.multiply(field, &mut job);
            }
        }
        Ok(())
    }

    /// The vector of the combination that `seed` gives now.
    ///
    /// # Errors
    ///
    /// If there is no symbol yet.
    pub fn vector(&self, seed: u64, density: Density) -> Result<Vector<'static>, SymbolError> {
        match self.taken {
            0 => Err(SymbolError::Nothing),
            count => Ok(Vector::Seeded { seed, first: 0, count, density }),
        }
    }
}
