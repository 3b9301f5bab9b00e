//! The receiver of a block: takes packets one by one and returns each symbol as
//! soon as it is determined.
//!
//! A packet's arrival eliminates coding vectors only ([`Basis`]); its payload is
//! stored under its pivot. One packet may determine several symbols; in a dense
//! block the last packet determines all. One matrix product, whose sums stay in
//! registers, computes them. Leaves out windows ([`crate::window`]) and checks of a
//! payload's integrity.

use crate::basis::{Basis, Column, Taken};
use crate::code::{Code, PacketError, Received};
use crate::kernel::{Kernel, Product, bit};
use crate::symbols::Symbols;
use crate::vector::{Vector, column};
use alloc::vec;
use alloc::vec::Vec;

/// Decodes one block at a time.
///
/// Packets may arrive in any order, and more than once:
///
/// ```
/// use lasthop_rlnc::{Code, Decoder, Field, Received, Vector};
///
/// let mut decoder = Decoder::new(Code::new(Field::Gf2, 2, 1)?);
/// // The exclusive or of both symbols, then the second symbol.
/// let both = Vector::Full { first: 0, count: 2, packed: &[0b11] };
/// assert_eq!(decoder.push(both, &[0b0110])?, Received::Innovative);
/// assert_eq!(decoder.next_known(), None);
/// assert_eq!(decoder.push(Vector::Source(1), &[0b0011])?, Received::Innovative);
/// assert_eq!(decoder.push(both, &[0b0110])?, Received::Redundant);
/// assert!(decoder.is_complete());
/// assert_eq!(decoder.symbol(0), Some([0b0101].as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Decoder {
    code: Code,
    kernel: Kernel,
    basis: Basis,
    /// The payload received for each column: the symbol itself, or that of the
    /// pivot's packet.
    came: Symbols,
    /// Symbols that were computed.
    computed: Symbols,
    /// One bit per symbol, set once it is known; the lowest bit of the first byte
    /// is symbol 0.
    known: Vec<u8>,
    /// Known symbols in the order in which they were determined, and how many were
    /// reported.
    order: Vec<u16>,
    told: usize,
    /// Number of pivots whose symbols are unknown, and those about to be computed.
    unresolved: usize,
    resolved: Vec<(u16, u16)>,
}

impl Decoder {
    /// A decoder for a block of `code`, with the fastest kernel.
    pub fn new(code: Code) -> Self {
        Self::with_kernel(code, Kernel::best())
    }

    /// A decoder for a block of `code`, with this kernel.
    pub fn with_kernel(code: Code, kernel: Kernel) -> Self {
        let symbols = code.symbols();
        Self {
            code,
            kernel,
            basis: Basis::new(code.field(), kernel, symbols),
            came: Symbols::new(symbols, code.symbol_bytes()),
            computed: Symbols::new(symbols, code.symbol_bytes()),
            known: vec![0; symbols.div_ceil(8)],
            order: Vec::with_capacity(symbols),
            told: 0,
            unresolved: 0,
            resolved: Vec::with_capacity(symbols),
        }
    }

    /// The parameters of the code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Starts the next block.
    pub fn clear(&mut self) {
        self.basis.clear();
        self.known.fill(0);
        self.order.clear();
        self.told = 0;
        self.unresolved = 0;
    }

    /// Handles a packet. Packets may be lost, reordered and repeated.
    ///
    /// # Errors
    ///
    /// If the packet does not fit the code; nothing changes then.
    pub fn push(&mut self, vector: Vector<'_>, payload: &[u8]) -> Result<Received, PacketError> {
        self.code.check_block(vector, payload)?;
        let innovative = match vector {
            Vector::Source(index) => self.take(column(index, self.code.symbols()), payload),
            Vector::Seeded { .. } | Vector::Full { .. } => self.insert(vector, payload),
        };
        if !innovative {
            return Ok(Received::Redundant);
        }
        if self.unresolved > 0 {
            self.resolve();
        }
        Ok(Received::Innovative)
    }

    /// Number of independent packets received; at [`Code::symbols`] the block is
    /// complete.
    pub fn rank(&self) -> usize {
        self.basis.rank()
    }

    /// Whether all symbols are known.
    pub fn is_complete(&self) -> bool {
        self.order.len() == self.code.symbols()
    }

    /// Number of known symbols.
    pub fn known(&self) -> usize {
        self.order.len()
    }

    /// One bit per symbol, set if it is known; the lowest bit of the first byte is
    /// symbol 0.
    pub fn bitmap(&self) -> &[u8] {
        &self.known
    }

    /// Symbol `index`, if it is known.
    pub fn symbol(&self, index: u16) -> Option<&[u8]> {
        let index = usize::from(index);
        let known = index < self.code.symbols() && bit(&self.known, index);
        known.then(|| match self.basis.state(index) {
            Column::Given => self.came.row(index),
            Column::Pivot | Column::Free => self.computed.row(index),
        })
    }

    /// The number of the next symbol that has become known; each is reported once.
    pub fn next_known(&mut self) -> Option<u16> {
        let next = self.order.get(self.told).copied();
        self.told += usize::from(next.is_some());
        next
    }

    fn take(&mut self, column: usize, payload: &[u8]) -> bool {
        match self.basis.take(column) {
            Taken::Known => return false,
            Taken::Placed => {}
            Taken::Moved(pivot) => self.came.copy_row(column, pivot),
        }
        self.came.write(column, payload);
        self.learn(column);
        true
    }

    fn insert(&mut self, vector: Vector<'_>, payload: &[u8]) -> bool {
        let Some(pivot) = self.basis.insert(vector) else { return false };
        self.came.write(pivot, payload);
        self.unresolved += 1;
        true
    }

    /// Computes the symbols that the packets received so far determine.
    fn resolve(&mut self) {
        self.resolved.clear();
        let known = &self.known;
        self.basis.resolved(|column| bit(known, column), &mut self.resolved);
        if self.resolved.is_empty() {
            return;
        }
        let factors = self.basis.rows();
        let mut job = Product {
            out_stride: self.computed.stride(),
            out: self.computed.all_mut(),
            rows: &self.resolved,
            coefficients: factors.all(),
            coefficients_stride: factors.stride(),
            inputs: self.came.all(),
            inputs_stride: self.came.stride(),
            count: self.code.symbols(),
            row_bytes: self.came.row_bytes(),
            add: false,
        };
        self.kernel.multiply(self.code.field(), &mut job);
        self.unresolved -= self.resolved.len();
        for i in 0..self.resolved.len() {
            self.learn(usize::from(self.resolved[i].0));
        }
    }

    fn learn(&mut self, column: usize) {
        self.known[column / 8] |= 1 << (column % 8);
        self.order.push(column as u16);
    }
}
