//! A node between sender and receiver: stores the independent packets of a block, and returns new
//! combinations of them without decoding. The vectors of these are transmitted in full, because no
//! seed yields them. Leaves out windows, and the integrity of packets.

use crate::basis::Basis;
use crate::code::{Code, PacketError, Received, SymbolError};
use crate::kernel::{Kernel, Product};
use crate::symbols::Symbols;
use crate::vector::{Density, Vector, pack, row_bytes};
use alloc::vec;
use alloc::vec::Vec;

/// Recodes one block at a time.
///
/// ```
/// use lasthop_rlnc::{Code, Decoder, Density, Encoder, Field, Recoder};
///
/// let code = Code::new(Field::Gf256, 2, 4)?;
/// let (mut encoder, mut recoder, mut decoder) =
///     (Encoder::new(code), Recoder::new(code), Decoder::new(code));
/// encoder.push(b"over")?;
/// encoder.push(b"air!")?;
/// // The recoder overhears two packets, and the destination neither.
/// for seed in [1, 2] {
///     let (vector, payload) = encoder.coded(seed, Density::DENSE)?;
///     recoder.push(vector, payload)?;
/// }
/// assert_eq!(recoder.rank(), 2);
/// for seed in [3, 4] {
///     let (vector, payload) = recoder.recode(seed, Density::DENSE)?;
///     decoder.push(vector, payload)?;
/// }
/// assert_eq!(decoder.symbol(0), Some(b"over".as_slice()));
/// assert_eq!(decoder.symbol(1), Some(b"air!".as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Recoder {
    code: Code,
    kernel: Kernel,
    basis: Basis,
    /// Independent packets in the order of arrival.
    vectors: Symbols,
    payloads: Symbols,
    /// The factor of each stored packet in a combination.
    factors: Symbols,
    /// The combination that was made last.
    vector: Symbols,
    payload: Symbols,
    packed: Vec<u8>,
}

impl Recoder {
    /// A recoder for a block of `code`, with the fastest kernel.
    pub fn new(code: Code) -> Self {
        Self::with_kernel(code, Kernel::best())
    }

    /// A recoder for a block of `code`, with this kernel.
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

    /// The parameters of the code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Starts the next block.
    pub fn clear(&mut self) {
        self.basis.clear();
    }

    /// Number of independent packets received.
    pub fn rank(&self) -> usize {
        self.basis.rank()
    }

    /// Handles a packet: coded, recoded, or a source symbol.
    ///
    /// # Errors
    ///
    /// If the packet does not fit the code; nothing changes then.
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

    /// A combination of all packets received so far, with factors drawn from
    /// `seed`: its vector, written out in full, and its payload.
    ///
    /// # Errors
    ///
    /// If no packet was received yet.
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
