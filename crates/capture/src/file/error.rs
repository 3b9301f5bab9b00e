//! Errors of a capture file, with their position.

use std::fmt;
use std::io;

/// Error of a capture file that cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file is not a capture.
    #[error(
        "not a capture: it begins with {}; expected pcap (d4c3b2a1, 4d3cb2a1 or the same reversed) \
         or pcapng (0a0d0d0a), compressed with gzip, zstd or not at all",
        hex(begins)
    )]
    NotACapture {
        /// First bytes of the file, at most four.
        begins: Vec<u8>,
    },
    /// A field has an invalid value, or the file ends within it.
    #[error("{} field {field} at offset {offset}: {reason}", place(*packet))]
    Field {
        /// Number of the packet, from 1; 0 before the first.
        packet: u64,
        /// Name of the field.
        field: &'static str,
        /// Offset of the field in the file.
        offset: u64,
        /// Reason of the error.
        reason: Reason,
    },
    /// The operating system or the decompression reports an error.
    #[error("cannot read on at offset {offset}: {source}")]
    Io {
        /// Offset up to which the file was read.
        offset: u64,
        /// Error of the operating system or the decompression.
        source: io::Error,
    },
}

/// Reason why a field is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The file ends within it.
    Cut {
        /// Length of the field, in bytes.
        needs: u64,
        /// Remaining bytes of the file.
        left: u64,
    },
    /// The value is not allowed.
    Value {
        /// Value in the file.
        found: u64,
        /// Values that are allowed.
        allowed: &'static str,
    },
}

impl ReadError {
    /// Whether the file only ends too early.
    pub const fn is_cut(&self) -> bool {
        matches!(self, Self::Field { reason: Reason::Cut { .. }, .. })
    }

    /// Returns the number of the packet with the error, from 1, if there is one.
    pub const fn packet(&self) -> Option<u64> {
        match self {
            Self::Field { packet, .. } if *packet > 0 => Some(*packet),
            _ => None,
        }
    }

    /// Returns the offset of the error in the file, if it has one.
    pub const fn offset(&self) -> Option<u64> {
        match self {
            Self::Field { offset, .. } | Self::Io { offset, .. } => Some(*offset),
            Self::Empty | Self::NotACapture { .. } => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Cut { needs, left } => {
                write!(f, "the file is cut: {needs} bytes are needed, {left} are left")
            }
            Self::Value { found, allowed } => write!(f, "{found} ({found:#x}), expected {allowed}"),
        }
    }
}

fn place(packet: u64) -> String {
    if packet == 0 { "file header:".to_owned() } else { format!("frame {packet}:") }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
