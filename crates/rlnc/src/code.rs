//! What both sides agree on, and what can be wrong with what they are given.

use crate::field::Field;
use crate::vector::Vector;
use thiserror::Error;

/// Field, size of a block or capacity of a window, and length of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    field: Field,
    symbols: u16,
    symbol_bytes: usize,
}

impl Code {
    /// `symbols` symbols a block (or in a window at once) of `symbol_bytes` bytes each.
    ///
    /// # Errors
    ///
    /// If either is zero, or a decoder would take more than [`Code::BYTES_MAX`].
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

    /// A block of symbols and their coefficients, in bytes, is at most this.
    pub const BYTES_MAX: usize = 1 << 28;

    /// The field.
    pub fn field(&self) -> Field {
        self.field
    }

    /// Symbols of a block, or in a window at most.
    pub fn symbols(&self) -> usize {
        usize::from(self.symbols)
    }

    /// Bytes of a symbol, and of a packet's payload.
    pub fn symbol_bytes(&self) -> usize {
        self.symbol_bytes
    }

    /// Bytes of the coefficients of a whole block when they are written out.
    pub fn packed_bytes(&self) -> usize {
        self.field.packed_bytes(self.symbols())
    }

    /// Whether a packet is sound: its vector by itself, and the length of its payload.
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

    /// Whether a packet is sound and combines symbols of one block only.
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

/// What a packet was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It raised the rank by one.
    Innovative,
    /// It is a combination of what was received before.
    Redundant,
}

/// A code that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CodeError {
    /// No symbols, or symbols of no bytes.
    #[error("a code needs at least one symbol of at least one byte")]
    Empty,
    /// More memory than is sensible.
    #[error("symbols with their coefficients must not take more than {allowed} bytes")]
    TooLarge {
        /// The bound.
        allowed: usize,
    },
}

/// A packet that is not of this code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// The payload is no symbol.
    #[error("the payload has {is} bytes instead of {expected}")]
    PayloadLength {
        /// Its bytes.
        is: usize,
        /// Those of a symbol.
        expected: usize,
    },
    /// No coefficients, or not as many bytes of them as they take.
    #[error("the coefficients are none, or not as many as they say")]
    Coefficients,
    /// It combines symbols that are not in the block, or more than a window holds.
    #[error("the combination reaches beyond the block or the window")]
    Range,
    /// It needs symbols that the window has left behind.
    #[error("the combination has symbols that the window has left behind")]
    Stale,
}

/// A source symbol that is not taken, or a packet that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SymbolError {
    /// The block or the window is full.
    #[error("there is room for {symbols} symbols")]
    Full {
        /// The capacity.
        symbols: usize,
    },
    /// It is longer than a symbol.
    #[error("{is} bytes do not fit in a symbol of {allowed}")]
    TooLong {
        /// Its bytes.
        is: usize,
        /// Those of a symbol.
        allowed: usize,
    },
    /// There is nothing to combine.
    #[error("there is no symbol to combine")]
    Nothing,
}
