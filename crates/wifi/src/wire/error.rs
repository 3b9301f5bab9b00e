//! What can be wrong with bytes, and where: layer, field, offset, reason.
//!
//! Offsets count from the start of the buffer handed to the outermost parser
//! (the MPDU, the radiotap header, the A-MPDU), never beyond its end.

use core::fmt;

/// Bytes that are not what they claim to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{layer}: {field} at offset {offset}: {reason}")]
pub struct Error {
    /// The format, such as "block ack" or "radiotap".
    pub layer: &'static str,
    /// The field in it.
    pub field: &'static str,
    /// Where the field begins, in bytes from the start of the buffer.
    pub offset: usize,
    /// What is wrong.
    pub reason: Reason,
}

impl Error {
    /// The same error in a buffer in which this one begins at `start`.
    #[must_use]
    pub const fn shifted(self, start: usize) -> Self {
        Self { offset: self.offset + start, ..self }
    }
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The buffer ends inside the field.
    Short {
        /// Bytes that the field takes.
        needs: usize,
        /// Bytes that there are.
        left: usize,
    },
    /// The field is longer than its format allows.
    Long {
        /// Bytes that came.
        length: usize,
        /// Bytes that are allowed.
        max: usize,
    },
    /// A value that this format does not have.
    Value {
        /// The value that was found.
        found: u32,
        /// What would have been right.
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
