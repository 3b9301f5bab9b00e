//! The content of a symbol: its length (2 bytes), and, sealed end to end, one record after the
//! other: the bucket of a flow (1), the number of a packet in it (2), and the packet, whole or
//! compressed as in [`crate::headers`]. A whole packet has its length in its header (IPv4, RFC 791;
//! IPv6, RFC 8200). If the path carries less than the longest packet needs, a packet can be sent in
//! pieces. Each piece has its number, flags for the first and last piece of the packet (1), its
//! length (2) and its bytes. Leaves out sealing (`keys`).

use crate::headers;
use alloc::vec::Vec;

/// Length of a record before its packet.
pub(crate) const RECORD_BYTES: usize = 3;
/// Length of a piece before its bytes.
pub(crate) const PIECE_BYTES: usize = 3;

/// The first four bits of a piece: not a version of IP, and not those of a short
/// record.
const PIECE: u8 = 0x10;
const FIRST: u8 = 1;
const LAST: u8 = 2;

/// A piece of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub is_first: bool,
    pub is_last: bool,
    pub bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    /// The piece in a record; `None` if the record is a packet.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let (head, bytes) = record.split_at_checked(PIECE_BYTES)?;
        let ends = head[0] ^ PIECE;
        (ends & !(FIRST | LAST) == 0).then_some(Self {
            is_first: ends & FIRST != 0,
            is_last: ends & LAST != 0,
            bytes,
        })
    }

    pub fn emit(&self, out: &mut Vec<u8>) {
        let first = if self.is_first { FIRST } else { 0 };
        let last = if self.is_last { LAST } else { 0 };
        out.push(PIECE | first | last);
        let length = u16::try_from(self.bytes.len()).expect("a packet is shorter than 64 KiB");
        out.extend(length.to_be_bytes());
        out.extend(self.bytes);
    }
}

/// Starts a record; its packet follows.
pub(crate) fn begin(symbol: &mut Vec<u8>, bucket: u8, number: u16) {
    symbol.push(bucket);
    symbol.extend(number.to_be_bytes());
}

/// The records of an opened symbol: bucket, number, packet; `None` for a truncated
/// one.
pub(crate) fn records(mut bytes: &[u8]) -> impl Iterator<Item = Option<(u8, u16, &[u8])>> {
    core::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let record = record(bytes);
        bytes = record.map_or(&[], |(_, _, packet)| &bytes[RECORD_BYTES + packet.len()..]);
        Some(record)
    })
}

fn record(bytes: &[u8]) -> Option<(u8, u16, &[u8])> {
    let (head, rest) = bytes.split_at_checked(RECORD_BYTES)?;
    let length = if headers::is_short(rest) {
        headers::short_length(rest)?
    } else if Piece::parse(rest).is_some() {
        PIECE_BYTES + usize::from(u16::from_be_bytes([rest[1], rest[2]]))
    } else {
        headers::ip_length(rest)?
    };
    Some((head[0], u16::from_be_bytes([head[1], head[2]]), rest.get(..length)?))
}

/// Prepends the length to a sealed symbol.
pub(crate) fn frame(sealed: &[u8]) -> Vec<u8> {
    let mut symbol = Vec::with_capacity(2 + sealed.len());
    let length = u16::try_from(sealed.len()).expect("a symbol is shorter than 64 KiB");
    symbol.extend(length.to_be_bytes());
    symbol.extend(sealed);
    symbol
}

/// The sealed part of a symbol.
pub(crate) fn unframe(symbol: &[u8]) -> Option<&[u8]> {
    let (length, rest) = symbol.split_at_checked(2)?;
    rest.get(..usize::from(u16::from_be_bytes([length[0], length[1]])))
}
