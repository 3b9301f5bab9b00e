//! On the way: keeps the packets of a block that are independent, and gives new
//! combinations of them without decoding any.
//!
//! The vectors of these are written out in full: no seed gives them.

use crate::basis::Basis;
use crate::code::{Code, PacketError, Received, SymbolError};
use crate::kernel::{Kernel, Product};
use crate::symbols::Symbols;
use crate::vector::{Density, Vector, pack, row_bytes};
use alloc::vec;
use alloc::vec::Vec;

/// Recodes one block after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Recoder {
    code: Code,
    kernel: Kernel,
    basis: Basis,
    /// Independent packets in the order of their arrival.
    vectors: Symbols,
    payloads: Symbols,
    /// How each of them enters a combination.
    factors: Symbols,
    /// The combination.
    vector: Symbols,
    payload: Symbols,
    packed: Vec<u8>,
}

impl Recoder {
    /// For a block of `code`.
    pub fn new(code: Code) -> Self {
        Self::with_kernel(code, Kernel::best())
    }

    /// The same, with instructions of choice.
    pub fn with_kernel(code: Code, kernel: Kernel) -> Self {
        let symbols = code.symbols();
        let row = row_bytes(code.field(), symbols);
        Self {
            code,
            kernel,
            basis: Basis::new(code.field(), kernel, symbols),
            vectors: Symbols::new(symbols, row),
            payloads: Symbols::new(symbols, code.symbol_bytes()),
            factors: Symbols::new(1, row),
            vector: Symbols::new(1, row),
            payload: Symbols::new(1, code.symbol_bytes()),
            packed: vec![0; code.packed_bytes()],
        }
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Begins the next block.
    pub fn clear(&mut self) {
        self.basis.clear();
    }

    /// How many independent packets came.
    pub fn rank(&self) -> usize {
        self.basis.rank()
    }

    /// Takes a packet, coded, recoded or a source symbol.
    ///
    /// # Errors
    ///
    /// If it is not of this code; nothing changed then.
    pub fn push(&mut self, vector: Vector<'_>, payload: &[u8]) -> Result<Received, PacketError> {
        self.code.check_block(vector, payload)?;
        let rank = self.basis.rank();
        if self.basis.insert(vector).is_none() {
            return Ok(Received::Redundant);
        }
        let (field, symbols) = (self.code.field(), self.code.symbols());
        vector.expand(field, symbols, self.vectors.padded_mut(rank));
        self.payloads.write(rank, payload);
        Ok(Received::Innovative)
    }

    /// A combination of all packets so far, with factors drawn from `seed`: its
    /// vector, written out, and its payload.
    ///
    /// # Errors
    ///
    /// If no packet came yet.
    pub fn recode(
        &mut self,
        seed: u64,
        density: Density,
    ) -> Result<(Vector<'_>, &[u8]), SymbolError> {
        let (field, symbols, rank) = (self.code.field(), self.code.symbols(), self.rank());
        if rank == 0 {
            return Err(SymbolError::Nothing);
        }
        let count = rank as u16;
        let draw = Vector::Seeded { seed, first: 0, count, density };
        draw.expand(field, symbols, self.factors.padded_mut(0));
        for (inputs, out) in
            [(&self.vectors, &mut self.vector), (&self.payloads, &mut self.payload)]
        {
            let mut job = Product {
                out_stride: out.stride(),
                out: out.all_mut(),
                rows: &[(0, 0)],
                coefficients: self.factors.all(),
                coefficients_stride: self.factors.stride(),
                inputs: inputs.all(),
                inputs_stride: inputs.stride(),
                count: rank,
                row_bytes: inputs.row_bytes(),
                add: false,
            };
            self.kernel.multiply(field, &mut job);
        }
        pack(field, self.vector.row(0), symbols, &mut self.packed);
        let vector = Vector::Full { first: 0, count: symbols as u16, packed: &self.packed };
        Ok((vector, self.payload.row(0)))
    }
}
