//! Errors in bytes: layer, field, offset, reason.
//!
//! Offsets count from the start of the buffer given to the outermost parser (the MPDU, the radiotap
//! header, the A-MPDU), and never exceed its end.

use core::fmt;

/// An error in bytes that do not follow their format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{layer}: {field} at offset {offset}: {reason}")]
pub struct Error {
    /// The format, such as "block ack" or "radiotap".
    pub layer: &'static str,
    /// The field in that format.
    pub field: &'static str,
    /// Offset of the field, in bytes from the start of the buffer.
    pub offset: usize,
    /// Reason of the error.
    pub reason: Reason,
}

impl Error {
    /// Returns the same error relative to a buffer that contains this one from `start` on.
    #[must_use]
    pub const fn shifted(self, start: usize) -> Self {
        Self { offset: self.offset + start, ..self }
    }
}

/// Reason why a field is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The buffer ends inside the field.
    Short {
        /// Number of bytes that the field requires.
        needs: usize,
        /// Number of bytes left.
        left: usize,
    },
    /// The field is longer than its format permits.
    Long {
        /// Length of the field in bytes.
        length: usize,
        /// Longest permitted length in bytes.
        max: usize,
    },
    /// The format does not have the value.
    Value {
        /// The value that was found.
        found: u32,
        /// Values that the format permits.
        allowed: &'static str,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Short { needs: 1, left } => write!(f, "needs 1 byte, {left} left"),
            Self::Short { needs, left } => write!(f, "needs {needs} bytes, {left} left"),
            Self::Long { length, max } => write!(f, "{length} bytes, at most {max} are allowed"),
            Self::Value { found, allowed } => write!(f, "{found:#x}, expected {allowed}"),
        }
    }
}
