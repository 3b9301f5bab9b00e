//! Encodes the values of a column as the bytes of a data page (Apache Parquet, Encodings):
//! DELTA_BINARY_PACKED for integers, PLAIN for others, and the hybrid of runs and bit-packed values
//! (RLE) for definition levels and for indices into a dictionary. Functions get a whole column, so
//! that loops are over arrays; an encoder that gets one value at a time costs several times as
//! much.

use super::Kind;
use std::ops::Range;

/// Number of miniblocks in a block of deltas.
const MINIBLOCKS: usize = 4;
/// Groups of eight equal values from which a run is shorter than continued bit-packed values.
const RUN_GROUPS_MIN: usize = 4;

/// Appends integers as DELTA_BINARY_PACKED. `kind` is Int32 or Int64, the type of the values' bits.
pub(super) fn deltas(values: &[u64], kind: Kind, out: &mut Vec<u8>) {
    // Miniblocks as long as a register has bits.
    let miniblock = if kind == Kind::Int32 { 32 } else { 64 };
    let block = MINIBLOCKS * miniblock;
    varint(block as u64, out);
    varint(MINIBLOCKS as u64, out);
    varint(values.len() as u64, out);
    let Some((&first, later)) = values.split_first() else { return zigzag(0, out) };
    zigzag(signed(first, kind), out);
    let mut room = [0; MINIBLOCKS * 64];
    for (later, before) in later.chunks(block).zip(values.chunks(block)) {
        let deltas = &mut room[..later.len()];
        for (delta, (value, before)) in deltas.iter_mut().zip(later.iter().zip(before)) {
            *delta = value.wrapping_sub(*before).cast_signed();
        }
        if kind == Kind::Int32 {
            deltas.iter_mut().for_each(|delta| *delta = i64::from(*delta as i32));
        }
        let is_constant = is_constant(deltas.iter().map(|delta| delta.cast_unsigned()));
        let least = if is_constant { deltas[0] } else { least(deltas) };
        zigzag(least, out);
        let widths = out.len();
        out.extend_from_slice(&[0; MINIBLOCKS]);
        if is_constant {
            continue;
        }
        for (index, deltas) in deltas.chunks(miniblock).enumerate() {
            let above = |delta: &i64| delta.wrapping_sub(least).cast_unsigned();
            let width = width(deltas.iter().fold(0, |bits, delta| bits | above(delta)));
            out[widths + index] = width as u8;
            let begin = out.len();
            pack(deltas.iter().map(above), width, out);
            // The last miniblock is as long as the others.
            if width > 0 {
                out.resize(begin + miniblock / 8 * width as usize, 0);
            }
        }
    }
}

/// Returns the least of one or more numbers. Compares 32-bit numbers if all fit, as differences
/// mostly do: the baseline instruction set of x86-64 cannot compare vectors of 64 bits.
fn least(numbers: &[i64]) -> i64 {
    let above = |number: &i64| number.wrapping_sub(i32::MIN.into()).cast_unsigned() >> 32;
    if numbers.iter().fold(0, |bits, number| bits | above(number)) > 0 {
        return numbers.iter().copied().min().unwrap_or_default();
    }
    numbers.iter().map(|&number| number as i32).min().unwrap_or_default().into()
}

/// Whether all numbers equal the first; there must be at least one.
fn is_constant(mut numbers: impl Iterator<Item = u64>) -> bool {
    let first = numbers.next().unwrap_or_default();
    numbers.fold(0, |bits, number| bits | (number ^ first)) == 0
}

/// Returns the number in the lowest 32 or 64 bits, depending on `kind`.
pub(super) fn signed(bits: u64, kind: Kind) -> i64 {
    match kind {
        Kind::Int32 => i64::from(bits as i32),
        _ => bits.cast_signed(),
    }
}

/// Appends 64-bit numbers in binary (PLAIN).
pub(super) fn plain(values: &[u64], out: &mut Vec<u8>) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

/// Appends booleans (PLAIN).
pub(super) fn bits(values: &[u64], out: &mut Vec<u8>) {
    pack(values.iter().copied(), 1, out);
}

/// Appends indices into a dictionary of `words` words.
pub(super) fn indices(indices: &[u64], words: usize, out: &mut Vec<u8>) {
    let width = width(words.saturating_sub(1) as u64);
    out.push(width as u8);
    let group = |group: usize| &indices[8 * group..indices.len().min(8 * group + 8)];
    let constant = |index: usize| {
        let group = group(index);
        is_constant(group.iter().copied()).then_some(group[0])
    };
    hybrid(indices.len(), width, constant, out, |groups, out| {
        let end = indices.len().min(8 * groups.end);
        let begin = out.len();
        pack(indices[8 * groups.start..end].iter().copied(), width, out);
        out.resize(begin + groups.len() * width as usize, 0);
    });
}

/// Appends definition levels of 0 and 1, after their length. `levels` has eight in an octet, the
/// first in its lowest bit.
pub(super) fn levels(levels: &[u8], rows: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    let constant = |group: usize| match levels[group] {
        0 => Some(0),
        0xff => Some(1),
        _ => None,
    };
    hybrid(rows, 1, constant, out, |groups, out| out.extend_from_slice(&levels[groups]));
    let length = (out.len() - begin - 4) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
}

/// Appends `count` values of `width` bits in groups of eight, the last of which may be shorter: as
/// a run if several groups in sequence are `constant`, else bit-packed by `packed`.
fn hybrid(
    count: usize,
    width: u32,
    constant: impl Fn(usize) -> Option<u64>,
    out: &mut Vec<u8>,
    packed: impl Fn(Range<usize>, &mut Vec<u8>),
) {
    let groups = count.div_ceil(8);
    let pack = |groups: Range<usize>, out: &mut Vec<u8>| {
        if !groups.is_empty() {
            varint(groups.len() as u64 * 2 + 1, out);
            packed(groups, out);
        }
    };
    // Groups from `waiting` on are not written yet.
    let (mut waiting, mut group) = (0, 0);
    while group < groups {
        let begin = group;
        let value = constant(begin);
        group += 1;
        let Some(value) = value else { continue };
        while group < groups && constant(group) == Some(value) {
            group += 1;
        }
        if group - begin >= RUN_GROUPS_MIN || group - begin == groups {
            pack(waiting..begin, out);
            varint((count.min(8 * group) - 8 * begin) as u64 * 2, out);
            out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
            waiting = group;
        }
    }
    pack(waiting..groups, out);
}

/// Appends the lowest `width` bits of each value, the first in the lowest bits.
fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let (mut word, mut used) = (0, 0);
    for value in values {
        word |= value << used;
        used += width;
        if used >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            used -= u64::BITS;
            word = if used == 0 { 0 } else { value >> (width - used) };
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..used.div_ceil(8) as usize]);
}

/// Writes rows to `levels`, which has `stride` octets for each of 32 columns: bit c of row n
/// becomes bit n of column c.
pub(super) fn transpose(rows: &[u32], levels: &mut [u8], stride: usize) {
    let mut write = |group: usize, rows: &[u32; 8]| {
        for shift in (0..u32::BITS as usize).step_by(8) {
            let gather = |square: u64, row: &u32| square >> 8 | u64::from(row >> shift) << 56;
            let octets = transposed(rows.iter().fold(0, gather)).to_le_bytes();
            for (column, octet) in (shift..).zip(octets) {
                levels[column * stride + group] = octet;
            }
        }
    };
    let (groups, rest) = rows.as_chunks();
    groups.iter().enumerate().for_each(|(group, rows)| write(group, rows));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        write(groups.len(), &last);
    }
}

/// Transposes a matrix of eight by eight bits, a row in an octet (Warren, Hacker's Delight, 7-3).
fn transposed(mut square: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swapped = (square ^ (square >> shift)) & mask;
        square ^= swapped ^ (swapped << shift);
    }
    square
}

/// Number of significant bits.
fn width(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// Appends a number in groups of seven bits (ULEB128).
fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn zigzag(number: i64, out: &mut Vec<u8>) {
    varint((number << 1 ^ number >> 63).cast_unsigned(), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_change_places() {
        let rows: Vec<u32> = (0..21).map(|row| 0x9e37_79b9_u32.wrapping_mul(row + 1)).collect();
        let mut levels = vec![0xa5; 32 * 3];
        transpose(&rows, &mut levels, 3);
        for (at, row) in rows.iter().enumerate() {
            for column in 0..32 {
                let level = levels[3 * column + at / 8] >> (at % 8) & 1;
                assert_eq!(u32::from(level), row >> column & 1, "row {at}, column {column}");
            }
        }
        assert!((0..32).all(|column| levels[3 * column + 2] >> 5 == 0), "no rows beyond the last");
    }

    #[test]
    fn runs_are_short() {
        let mut out = Vec::new();
        levels(&[0xff; 1_000], 8_000, &mut out);
        // The length, a header of two octets, the value.
        assert_eq!(out, [3, 0, 0, 0, 0x80, 0x7d, 1]);
        out.clear();
        indices(&[0; 5], 1, &mut out);
        assert_eq!(out, [0, 10], "a word that needs no bits, five times");
        out.clear();
        indices(&[1, 0, 1], 2, &mut out);
        assert_eq!(out, [1, 3, 0b101]);
    }
}
