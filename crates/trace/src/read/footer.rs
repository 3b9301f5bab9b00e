//! Checks the footer of a Parquet file against the limits of a table, before the `parquet` crate
//! reads it. The crate reserves memory for as many children as a schema node claims, recurses for
//! each level of them, and skips lists of unknown fields by their length: a few bytes could end the
//! process or keep it busy for ever, and no error of the crate would be in time. A table is flat:
//! all nodes of its schema are children of the first one. The bytes are those of Thrift's compact
//! protocol; the check reads only the values that limit the crate's work, and leaves fields of
//! unexpected types to the crate.

use super::pages::Source;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

/// Bytes after the footer: its length, and `PAR1`.
const TAIL_BYTES: u64 = 8;
/// Deepest nesting accepted; the format has six levels.
const DEPTH_MAX: usize = 12;

/// Types of Thrift's compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Field numbers: the schema in `FileMetaData`, and in `SchemaElement` the number of its children.
const SCHEMA: i16 = 2;
const CHILDREN: i16 = 5;

/// Checks the footer of a file, if it has one.
pub(super) fn check(file: &Source) -> Result<(), ParquetError> {
    let Some(tail_at) = file.len().checked_sub(TAIL_BYTES) else { return Ok(()) };
    let tail = file.get_bytes(tail_at, TAIL_BYTES as usize)?;
    let (&[a, b, c, d], b"PAR1") = tail.split_first_chunk().expect("there are eight bytes") else {
        return Ok(());
    };
    let length = u32::from_le_bytes([a, b, c, d]);
    let Some(begin) = tail_at.checked_sub(length.into()) else { return Ok(()) };
    let footer = file.get_bytes(begin, length as usize)?;
    let is_sound = Compact(&footer).file().is_some();
    let why = "expected a footer of columns side by side, none within another";
    if is_sound { Ok(()) } else { Err(super::general(why)) }
}

/// Unread bytes of Thrift's compact protocol. Methods return `None` for invalid input.
struct Compact<'a>(&'a [u8]);

impl<'a> Compact<'a> {
    /// Reads a `FileMetaData`.
    fn file(&mut self) -> Option<()> {
        self.fields(|it, id, kind| match (id, kind) {
            (SCHEMA, LIST) => it.schema(),
            (SCHEMA, _) => None,
            _ => it.skip(kind, DEPTH_MAX),
        })
    }

    /// Reads the nodes of a schema.
    fn schema(&mut self) -> Option<()> {
        let (kind, nodes) = self.list()?;
        (kind == STRUCT || nodes == 0).then_some(())?;
        for node in 0..nodes {
            let children_max = if node == 0 { nodes - 1 } else { 0 };
            self.fields(|it, id, kind| match (id, kind) {
                (CHILDREN, I32) => {
                    let children = it.signed()?;
                    let is_flat = usize::try_from(children).is_ok_and(|it| it <= children_max);
                    is_flat.then_some(())
                }
                (CHILDREN, _) => None,
                _ => it.skip(kind, DEPTH_MAX),
            })?;
        }
        Some(())
    }

    /// Calls `each` with the identifier and the type of each field, whose value it must read.
    fn fields(&mut self, mut each: impl FnMut(&mut Self, i16, u8) -> Option<()>) -> Option<()> {
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            let (delta, kind) = (head >> 4, head & 0x0f);
            if kind == 0 {
                return Some(());
            }
            id = match delta {
                0 => self.signed()?.try_into().ok()?,
                delta => id.checked_add(delta.into())?,
            };
            each(self, id, kind)?;
        }
    }

    /// Reads the type and the number of a list's elements; the number cannot exceed the bytes left.
    /// The format has no list of booleans in a footer.
    fn list(&mut self) -> Option<(u8, usize)> {
        let head = self.byte()?;
        let (short, kind) = (head >> 4, head & 0x0f);
        let size = match short {
            15 => usize::try_from(self.unsigned()?).ok()?,
            short => short.into(),
        };
        (size <= self.0.len() && ![TRUE, FALSE].contains(&kind)).then_some((kind, size))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            TRUE | FALSE => Some(()),
            BYTE => self.byte().map(drop),
            I16 | I32 | I64 => self.unsigned().map(drop),
            DOUBLE => self.bytes(8).map(drop),
            BINARY => {
                let length = self.unsigned()?;
                self.bytes(length.try_into().ok()?).map(drop)
            }
            UUID => self.bytes(16).map(drop),
            LIST | SET => {
                let depth = depth.checked_sub(1)?;
                let (kind, size) = self.list()?;
                (0..size).try_for_each(|_| self.skip(kind, depth))
            }
            STRUCT => {
                let depth = depth.checked_sub(1)?;
                self.fields(|it, _, kind| it.skip(kind, depth))
            }
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    /// Reads a varint: seven bits a byte, the lowest first.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a varint whose lowest bit is the sign.
    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a `FileMetaData` with a version and nodes, each with its number of children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 0x02, 0x19, (children.len() as u8) << 4 | STRUCT];
        for children in children {
            // A repetition, a name of one letter, and the children.
            bytes.extend([0x35, 0x02, 0x18, 0x01, b'a', 0x15, children << 1, 0x00]);
        }
        bytes.push(0x00);
        bytes
    }

    #[test]
    fn a_schema_is_flat() {
        assert!(Compact(&footer(&[2, 0, 0])).file().is_some());
        for children in [&[2, 1, 0][..], &[3, 0, 0], &[1, 1, 1, 1]] {
            assert!(Compact(&footer(children)).file().is_none(), "{children:?}");
        }
        let whole = footer(&[1, 0]);
        for end in 0..whole.len() {
            assert!(Compact(&whole[..end]).file().is_none(), "{end} bytes");
        }
    }

    #[test]
    fn unknown_fields_are_skipped_in_the_time_that_their_bytes_take() {
        let of = |field: &[u8]| [field, &[0x00]].concat();
        // Field 12: a list of two integers, of four billion truth values, of more than there are.
        assert!(Compact(&of(&[0xc9, 0x25, 0x02, 0x04])).file().is_some());
        assert!(Compact(&of(&[0xc9, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x0f])).file().is_none());
        assert!(Compact(&of(&[0xc9, 0x55, 0x02])).file().is_none());
        // Lists in lists.
        let nested = |depth: usize| [&[0xc9][..], &vec![0x19; depth], &[0x03]].concat();
        assert!(Compact(&of(&nested(DEPTH_MAX - 1))).file().is_some());
        assert!(Compact(&of(&nested(DEPTH_MAX))).file().is_none());
    }
}
