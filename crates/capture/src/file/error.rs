//! What can be wrong with a capture file, and where.

use std::fmt;
use std::io;

/// A capture that cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing to read.
    #[error("the file is empty")]
    Empty,
    /// It begins with something else.
    #[error(
        "not a capture: it begins with {}; expected pcap (d4c3b2a1, 4d3cb2a1 or the same reversed) \
         or pcapng (0a0d0d0a), compressed with gzip, zstd or not at all",
        hex(begins)
    )]
    NotACapture {
        /// Its first bytes, four at most.
        begins: Vec<u8>,
    },
    /// A field does not make sense, or the file ends in it.
    #[error("{} field {field} at offset {offset}: {reason}", place(*packet))]
    Field {
        /// Number of the packet that it belongs to, from 1; 0 before the first.
        packet: u64,
        /// Name of the field.
        field: &'static str,
        /// Where it begins in the file.
        offset: u64,
        /// What is wrong.
        reason: Reason,
    },
    /// The system, or what unpacks the file, reports an error.
    #[error("cannot read on at offset {offset}: {source}")]
    Io {
        /// How far it was read.
        offset: u64,
        /// The error.
        source: io::Error,
    },
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The file ends within it.
    Cut {
        /// Bytes that it takes.
        needs: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// Its value is not allowed.
    Value {
        /// What was found.
        found: u64,
        /// What would have been right.
        allowed: &'static str,
    },
}

impl ReadError {
    /// Whether the file just ends too early.
    pub const fn is_cut(&self) -> bool {
        matches!(self, Self::Field { reason: Reason::Cut { .. }, .. })
    }

    /// The packet that it is about, from 1, if there is one.
    pub const fn packet(&self) -> Option<u64> {
        match self {
            Self::Field { packet, .. } if *packet > 0 => Some(*packet),
            _ => None,
        }
    }

    /// Where in the file, if it has a place.
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
