//! The parameters that sender and receiver of a code share, and the errors of
//! symbols and packets that do not fit them. A symbol has at least one byte; a
//! block, or a window, has 1 to 65 535 symbols and takes at most
//! [`Code::BYTES_MAX`]. Leaves out how the parameters are agreed on.

use crate::field::Field;
use crate::vector::Vector;
use thiserror::Error;

/// The parameters of a code: field, symbols per block (or in a window), bytes per
/// symbol.
///
/// ```
/// use lasthop_rlnc::{Code, CodeError, Field};
///
/// let code = Code::new(Field::Gf16, 64, 1400)?;
/// // Two coefficients fit in a byte.
/// assert_eq!((code.symbols(), code.packed_bytes()), (64, 32));
/// assert_eq!(Code::new(Field::Gf16, 0, 1400), Err(CodeError::Empty));
/// # Ok::<(), CodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    field: Field,
    symbols: u16,
    symbol_bytes: usize,
}

impl Code {
    /// A code with `symbols` symbols per block (or in a window) of `symbol_bytes`
    /// bytes each.
    ///
    /// # Errors
    ///
    /// If either is zero, or if a decoder would need more than [`Code::BYTES_MAX`].
    pub fn new(field: Field, symbols: u16, symbol_bytes: usize) -> Result<Self, CodeError> {
        if symbols == 0 || symbol_bytes == 0 {
            return Err(CodeError::Empty);
        }
        let columns = usize::from(symbols);
        let row = symbol_bytes.checked_add(columns);
        let bytes = row.and_then(|row| row.checked_mul(columns));
        match bytes.filter(|&bytes| bytes <= Self::BYTES_MAX) {
            Some(_) => Ok(Self { field, symbols, symbol_bytes }),
            None => Err(CodeError::TooLarge { allowed: Self::BYTES_MAX }),
        }
    }

    /// Largest number of bytes that the symbols of a block and their coefficients may take.
    pub const BYTES_MAX: usize = 1 << 28;

    /// The field of coefficients and symbols.
    pub fn field(&self) -> Field {
        self.field
    }

    /// Symbols per block, or most symbols in a window.
    pub fn symbols(&self) -> usize {
        usize::from(self.symbols)
    }

    /// Bytes per symbol, which is also the length of a packet's payload.
    pub fn symbol_bytes(&self) -> usize {
        self.symbol_bytes
    }

    /// Bytes of the coefficients of a whole block when they are transmitted in
    /// full.
    pub fn packed_bytes(&self) -> usize {
        self.field.packed_bytes(self.symbols())
    }

    /// Checks that a packet's vector is well-formed and that its payload has the
    /// right length.
    pub(crate) fn check(&self, vector: Vector<'_>, payload: &[u8]) -> Result<(), PacketError> {
        if payload.len() != self.symbol_bytes {
            let (is, expected) = (payload.len(), self.symbol_bytes);
            return Err(PacketError::PayloadLength { is, expected });
        }
        if !vector.is_sound(self.field) {
            return Err(PacketError::Coefficients);
        }
        Ok(())
    }

    /// The same, and that the packet combines symbols of one block only.
    pub(crate) fn check_block(
        &self,
        vector: Vector<'_>,
        payload: &[u8],
    ) -> Result<(), PacketError> {
        self.check(vector, payload)?;
        match vector.range() {
            Some((_, end)) if end <= u64::from(self.symbols) => Ok(()),
            _ => Err(PacketError::Range),
        }
    }
}

/// Whether a received packet was useful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The packet increased the rank by one.
    Innovative,
    /// The packet is a combination of packets received before.
    Redundant,
}

/// Why a code cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CodeError {
    /// The code has no symbols, or symbols without bytes.
    #[error("a code needs at least one symbol of at least one byte")]
    Empty,
    /// The code needs too much memory.
    #[error("symbols with their coefficients must not take more than {allowed} bytes")]
    TooLarge {
        /// The limit in bytes.
        allowed: usize,
    },
}

/// Why a packet does not fit the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// The payload does not have the length of a symbol.
    #[error("the payload has {is} bytes instead of {expected}")]
    PayloadLength {
        /// Length of the payload in bytes.
        is: usize,
        /// Length of a symbol in bytes.
        expected: usize,
    },
    /// There are no coefficients, or their number of bytes does not match their
    /// count.
    #[error("the coefficients are missing, or their number is wrong")]
    Coefficients,
    /// The packet combines symbols outside of the block, or more symbols than a window holds.
    #[error("the combination reaches beyond the block or the window")]
    Range,
    /// The packet needs symbols that are no longer in the window.
    #[error("the combination has symbols that the window has left behind")]
    Stale,
}

/// Why a source symbol is not taken, or a packet cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SymbolError {
    /// The block or the window is full.
    #[error("the block or window holds {symbols} symbols at most")]
    Full {
        /// The capacity in symbols.
        symbols: usize,
    },
    /// The data is longer than a symbol.
    #[error("{is} bytes do not fit in a symbol of {allowed}")]
    TooLong {
        /// Length of the data in bytes.
        is: usize,
        /// Length of a symbol in bytes.
        allowed: usize,
    },
    /// There is no symbol to combine.
    #[error("there is no symbol to combine")]
    Nothing,
}
