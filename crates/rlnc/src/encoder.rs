//! The sender of a block: takes source symbols one by one and returns linear
//! combinations of those it has, at any time: one packet, or a batch at once.
//! Leaves out windows ([`crate::window`]) and how many packets to send.

use crate::code::{Code, SymbolError};
use crate::kernel::{Kernel, Product};
use crate::symbols::Symbols;
use crate::vector::{Density, Vector, row_bytes};
use alloc::vec::Vec;

/// Encodes one block at a time.
///
/// Symbols can leave as they are; a coded packet afterwards replaces any lost one of them:
///
/// ```
/// use lasthop_rlnc::{Code, Decoder, Density, Encoder, Field, Vector};
///
/// let code = Code::new(Field::Gf256, 3, 4)?;
/// let (mut encoder, mut decoder) = (Encoder::new(code), Decoder::new(code));
/// for symbol in [b"lost", b"came", b"last"] {
///     let index = encoder.push(symbol)?;
///     if index != 0 {
///         decoder.push(Vector::Source(index.into()), symbol)?;
///     }
/// }
/// let (vector, payload) = encoder.coded(1, Density::DENSE)?;
/// decoder.push(vector, payload)?;
/// assert_eq!(decoder.symbol(0), Some(b"lost".as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    code: Code,
    kernel: Kernel,
    symbols: Symbols,
    taken: u16,
    coefficients: Symbols,
    /// Payload of a packet that is encoded alone.
    payload: Symbols,
    /// The pairs `(0, 0)`, `(1, 1)` and so on: the rows of a packet's vector and
    /// payload.
    pairs: Vec<(u16, u16)>,
}

/// Largest batch: this many packets more than the block has symbols.
const BATCH_BEYOND: usize = 64;

/// Below this density the packets of a batch are encoded one by one.
const SPARSE: Density = Density::from_parts(u16::MAX / 4);

impl Encoder {
    /// An encoder with an empty block of `code`, with the fastest kernel.
    pub fn new(code: Code) -> Self {
        Self::with_kernel(code, Kernel::best())
    }

    /// An encoder with an empty block of `code`, with this kernel.
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

    /// The parameters of the code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Adds the next source symbol; shorter data is padded with zeros. Returns its
    /// number in the block.
    ///
    /// # Errors
    ///
    /// If the block is full or the data is longer than a symbol.
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

    /// Number of symbols taken so far.
    pub fn len(&self) -> u16 {
        self.taken
    }

    /// Whether the block has no symbols.
    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Whether the block is complete.
    pub fn is_full(&self) -> bool {
        usize::from(self.taken) == self.code.symbols()
    }

    /// Source symbol `index`, for a packet with [`Vector::Source`].
    pub fn source(&self, index: u16) -> Option<&[u8]> {
        (index < self.taken).then(|| self.symbols.row(usize::from(index)))
    }

    /// Starts the next block.
    pub fn clear(&mut self) {
        self.taken = 0;
    }

    /// A combination of all symbols so far: its vector and payload.
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

    /// A dense combination of `count` symbols starting at number `first`: vector
    /// and payload.
    ///
    /// # Errors
    ///
    /// If `count` is zero or the block does not have all of these symbols yet.
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

    /// The payload of a combination of symbols that the block has.
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

    /// Writes one combination of all symbols so far per seed into the first rows of `payloads`:
    /// much faster than one by one. The vectors are those of [`Encoder::vector`]. Panics if
    /// `payloads` has too few rows or rows of another length.
    ///
    /// ```
    /// use lasthop_rlnc::{Code, Density, Encoder, Field, Symbols};
    ///
    /// let mut encoder = Encoder::new(Code::new(Field::Gf256, 2, 4)?);
    /// encoder.push(b"over")?;
    /// encoder.push(b"air!")?;
    /// let seeds = [7, 8, 9];
    /// let mut payloads = Symbols::new(seeds.len(), 4);
    /// encoder.coded_many(&seeds, Density::DENSE, &mut payloads)?;
    /// let (vector, payload) = encoder.coded(8, Density::DENSE)?;
    /// assert_eq!(payloads.row(1), payload);
    /// assert_eq!(encoder.vector(8, Density::DENSE), Ok(vector));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
            // A tile also multiplies by zeros; a row by itself skips them.
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

    /// The vector of the combination that `seed` stands for now.
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
