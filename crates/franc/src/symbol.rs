//! What a symbol holds: its length (2 bytes), and sealed from end to end one record after
//! another: a flow's bucket (1), a packet's number there (2), and the packet, whole or as
//! [`crate::headers`] shortens it. The length of a whole one is in its own header (IPv4,
//! RFC 791; IPv6, RFC 8200).

use crate::headers;
use alloc::vec::Vec;

/// Bytes of a record before its packet.
pub(crate) const RECORD_BYTES: usize = 3;

/// The length that an IP packet at the beginning of `bytes` says it has, if it has a
/// header.
pub(crate) fn ip_length(bytes: &[u8]) -> Option<usize> {
    let word =
        |at: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    match bytes.first()? >> 4 {
        4 => word(2).filter(|&length| length >= 20),
        6 => Some(40 + word(4)?),
        _ => None,
    }
}

/// Whether `packet` is one IP packet, whole.
pub(crate) fn is_ip(packet: &[u8]) -> bool {
    let header = match packet.first().map(|first| first >> 4) {
        Some(4) => 20,
        Some(6) => 40,
        _ => return false,
    };
    packet.len() >= header && ip_length(packet) == Some(packet.len())
}

/// Begins a record; its packet follows.
pub(crate) fn begin(symbol: &mut Vec<u8>, bucket: u8, number: u16) {
    symbol.push(bucket);
    symbol.extend(number.to_be_bytes());
}

/// The records of an open symbol: bucket, number, packet. `None` at one that is cut off.
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
    let length = match headers::is_short(rest) {
        true => headers::short_length(rest)?,
        false => ip_length(rest)?,
    };
    Some((head[0], u16::from_be_bytes([head[1], head[2]]), rest.get(..length)?))
}

/// Puts the length before a sealed symbol.
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
