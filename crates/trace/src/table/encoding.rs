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
        let (is_constant, is_short) = match kind {
            Kind::Int32 => subtract(later, before, deltas, |delta| i64::from(delta as i32)),
            _ => subtract(later, before, deltas, |delta| delta),
        };
        if is_constant {
            zigzag(deltas[0], out);
            out.extend_from_slice(&[0; MINIBLOCKS]);
            continue;
        }
        let least = least(deltas, is_short);
        zigzag(least, out);
        let widths = out.len();
        out.extend_from_slice(&[0; MINIBLOCKS]);
        let number = later.len().div_ceil(miniblock);
        // The last miniblock is as long as the others.
        room[later.len()..number * miniblock].fill(least);
        for (index, deltas) in room[..number * miniblock].chunks_mut(miniblock).enumerate() {
            let mut bits = 0;
            for delta in &mut *deltas {
                *delta = delta.wrapping_sub(least);
                bits |= *delta;
            }
            let width = width(bits.cast_unsigned());
            out[widths + index] = width as u8;
            PACK[width as usize](deltas, out);
        }
    }
}

/// Writes the differences of numbers, after `wrap`, to `deltas`. Returns whether all equal the first
/// one, and whether all have 32 bits or fewer.
#[inline]
fn subtract(
    later: &[u64],
    before: &[u64],
    deltas: &mut [i64],
    wrap: impl Fn(i64) -> i64,
) -> (bool, bool) {
    let difference = |later: u64, before: u64| wrap(later.wrapping_sub(before).cast_signed());
    let first = difference(later[0], before[0]);
    let (mut unlike, mut long) = (0, 0);
    for (delta, (&later, &before)) in deltas.iter_mut().zip(later.iter().zip(before)) {
        *delta = difference(later, before);
        unlike |= *delta ^ first;
        long |= delta.wrapping_sub(i32::MIN.into()).cast_unsigned() >> 32;
    }
    (unlike == 0, long == 0)
}

/// Returns the least of one or more numbers, which have at most 32 bits if `is_short`, as differences
/// mostly do: the baseline instruction set of x86-64 cannot compare vectors of 64 bits.
fn least(numbers: &[i64], is_short: bool) -> i64 {
    if is_short {
        return numbers.iter().map(|&number| number as i32).min().unwrap_or_default().into();
    }
    numbers.iter().copied().min().unwrap_or_default()
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
    let groups = indices.len().div_ceil(8);
    let constant = |group: usize| {
        let group = indices.get(8 * group..indices.len().min(8 * group + 8))?;
        is_constant(group.iter().copied()).then_some(*group.first()?)
    };
    let next = |from: usize| {
        let (begin, value) = (from..groups).find_map(|at| constant(at).map(|value| (at, value)))?;
        let others = (begin..groups).find(|&group| constant(group) != Some(value));
        Some((begin..others.unwrap_or(groups), value))
    };
    hybrid(indices.len(), width, next, out, |groups, out| {
        let end = indices.len().min(8 * groups.end);
        let begin = out.len();
        pack(indices[8 * groups.start..end].iter().copied(), width, out);
        out.resize(begin + groups.len() * width as usize, 0);
    });
}

/// Appends indices into a dictionary of `words` words, 256 at most, as [`indices`] does. Eight
/// indices are one number, whose octets are compared and moved together.
pub(super) fn octets(indices: &[u8], words: usize, out: &mut Vec<u8>) {
    let width = width(words.saturating_sub(1) as u64);
    out.push(width as u8);
    let (groups, rest) = indices.as_chunks::<8>();
    let is_constant =
        |group: &[u8; 8]| u64::from_le_bytes(*group) == u64::from(group[0]) * 0x0101_0101_0101_0101;
    let next = |from: usize| {
        let others = groups.get(from..)?.iter().position(is_constant);
        let begin = others.map_or(groups.len(), |others| from + others);
        let value = *indices.get(8 * begin)?;
        let end = match end_of_run(indices, 8 * begin) {
            end if end == indices.len() => end.div_ceil(8),
            // Of the last octets, which are no group.
            _ if begin == groups.len() => return None,
            end => end / 8,
        };
        Some((begin..end, u64::from(value)))
    };
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let size = width as usize;
    hybrid(indices.len(), width, next, out, |range, out| {
        let begin = out.len();
        out.resize(begin + range.len() * size, 0);
        // Words of no bits are runs.
        for (index, room) in range.zip(out[begin..].chunks_exact_mut(size.max(1))) {
            let joined = joined(u64::from_le_bytes(*groups.get(index).unwrap_or(&last)), width);
            room.copy_from_slice(&joined.to_le_bytes()[..size]);
        }
    });
}

/// Moves the lowest `width` bits of each of eight octets together, the first to the lowest bits; the
/// other bits are 0.
fn joined(octets: u64, width: u32) -> u64 {
    let join = |pairs: u64, low: u64, bits: u32, width: u32| {
        (pairs & low) | ((pairs >> bits & low) << width)
    };
    let pairs = join(octets, 0x00ff_00ff_00ff_00ff, 8, width);
    let fours = join(pairs, 0x0000_ffff_0000_ffff, 16, 2 * width);
    join(fours, 0x0000_0000_ffff_ffff, 32, 4 * width)
}

/// Appends definition levels of 0 and 1, after their length. `levels` has eight in an octet, the
/// first in its lowest bit.
pub(super) fn levels(levels: &[u8], rows: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    let next = |from: usize| {
        let begin =
            from + levels.get(from..)?.iter().position(|&octet| matches!(octet, 0 | 0xff))?;
        Some((begin..end_of_run(levels, begin), u64::from(levels[begin] & 1)))
    };
    hybrid(rows, 1, next, out, |groups, out| out.extend_from_slice(&levels[groups]));
    let length = (out.len() - begin - 4) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
}

/// Returns the end of the equal octets that begin at `begin`.
fn end_of_run(octets: &[u8], begin: usize) -> usize {
    /// Number of octets that are compared together.
    const TOGETHER: usize = 64;
    let value = octets[begin];
    let is_equal = |octets: &&[u8]| octets.iter().fold(0, |bits, it| bits | (it ^ value)) == 0;
    let whole = octets[begin..].chunks_exact(TOGETHER).take_while(is_equal).count();
    let begin = begin + TOGETHER * whole;
    begin + octets[begin..].iter().take_while(|octet| **octet == value).count()
}

/// Appends `count` values of `width` bits in groups of eight, the last of which may be shorter: as
/// a run if several groups in sequence have one value, else bit-packed by `packed`. `next` returns the
/// first groups from one on that have one value, and the value.
fn hybrid(
    count: usize,
    width: u32,
    next: impl Fn(usize) -> Option<(Range<usize>, u64)>,
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
    let (mut waiting, mut from) = (0, 0);
    while let Some((run, value)) = next(from) {
        from = run.end;
        if run.len() >= RUN_GROUPS_MIN || run.len() == groups {
            pack(waiting..run.start, out);
            varint((count.min(8 * run.end) - 8 * run.start) as u64 * 2, out);
            out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
            waiting = run.end;
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

/// Appends numbers of one width.
type Packer = fn(&[i64], &mut Vec<u8>);

/// Packs numbers of up to 64 bits, by their width: a multiple of eight of them, without other bits.
const PACK: [Packer; 65] = {
    macro_rules! widths {
        ($($width:literal)*) => { [$(pack_groups::<$width>),*] };
    }
    widths!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62
        63 64
    )
};

/// Appends eight numbers after eight, as [`pack`] does. With a constant width the shifts are
/// constants, and the loop over eight is unrolled.
fn pack_groups<const WIDTH: usize>(numbers: &[i64], out: &mut Vec<u8>) {
    if WIDTH == 0 {
        return;
    }
    let (groups, _) = numbers.as_chunks::<8>();
    // A miniblock has eight groups at most.
    let mut packed = [[0; WIDTH]; 8];
    for (group, packed) in groups.iter().zip(&mut packed) {
        let mut words = [0_u64; 9];
        for (index, number) in group.iter().enumerate() {
            let (word, bit) = (index * WIDTH / 64, index * WIDTH % 64);
            words[word] |= number.cast_unsigned() << bit;
            if bit + WIDTH > 64 {
                words[word + 1] |= number.cast_unsigned() >> (64 - bit);
            }
        }
        packed.copy_from_slice(&words.map(u64::to_le_bytes).as_flattened()[..WIDTH]);
    }
    out.extend_from_slice(packed[..groups.len()].as_flattened());
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

/// Most rows have one of a few sets of columns, of which there are at most this many.
const SETS_MAX: usize = 32;

/// Finds the rows of each set of columns, from which [`levels`] of columns are made.
#[derive(Default)]
pub(super) struct Sets {
    /// Sets, and `None` in places without one.
    places: [Option<u32>; SETS_MAX],
    /// Rows of the set in each place: `stride` octets.
    rows: Vec<u8>,
}

impl Sets {
    /// Writes rows to `levels` as [`transpose`] does, but only for the first `columns` of 32.
    pub(super) fn spread(
        &mut self,
        rows: &[u32],
        columns: usize,
        levels: &mut [u8],
        stride: usize,
    ) {
        if !self.collect(rows, stride) {
            return transpose(rows, levels, stride);
        }
        for (column, level) in levels.chunks_exact_mut(stride).take(columns).enumerate() {
            level.fill(0);
            for (place, rows) in self.places.iter().zip(self.rows.chunks_exact(stride)) {
                if place.is_some_and(|set| set >> column & 1 == 1) {
                    level.iter_mut().zip(rows).for_each(|(level, rows)| *level |= rows);
                }
            }
        }
    }

    /// Collects the rows of each set; returns whether there was place for all.
    fn collect(&mut self, rows: &[u32], stride: usize) -> bool {
        self.places = [None; SETS_MAX];
        self.rows.clear();
        self.rows.resize(SETS_MAX * stride, 0);
        for (group, rows) in rows.chunks(8).enumerate() {
            for (bit, &set) in rows.iter().enumerate() {
                // Multiplied by 2^32 over the golden ratio, whose upper bits depend on all columns.
                let mut place = (set.wrapping_mul(0x9e37_79b9) >> 27) as usize % SETS_MAX;
                if self.places[place] != Some(set) {
                    let Some(found) = self.place(place, set) else { return false };
                    place = found;
                }
                self.rows[place * stride + group] |= 1 << bit;
            }
        }
        true
    }

    /// Finds the place of a set from `place` on, and takes one if it has none.
    #[cold]
    fn place(&mut self, place: usize, set: u32) -> Option<usize> {
        let mut places = (place..place + SETS_MAX).map(|place| place % SETS_MAX);
        let found = places.find(|&place| self.places[place].is_none_or(|it| it == set))?;
        self.places[found] = Some(set);
        Some(found)
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

    /// Compares with the clear versions: a matrix of bits that changes places, values one by one, and
    /// groups of equal values.
    #[test]
    fn the_fast_ways_give_the_same_bytes() {
        let random = |at: u64| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(at * at + 1) >> 13;
        // As many sets of columns as have a place, and more.
        for sets in [1, 3, 29, 32, 33, 70] {
            let rows: Vec<u32> = (0..533).map(|at| random(random(at) % sets) as u32).collect();
            let stride = rows.len().div_ceil(8);
            let mut expected = vec![0; 32 * stride];
            transpose(&rows, &mut expected, stride);
            let mut found = vec![0xa5; 32 * stride];
            let mut places = Sets::default();
            places.spread(&rows[..40], 32, &mut [0; 32 * 5], 5);
            places.spread(&rows, 32, &mut found, stride);
            assert_eq!(found, expected, "{sets} sets");
        }
        for width in 0..=64_u32 {
            let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let values: Vec<u64> = (0..64).map(|at| random(at) << 17 & mask).collect();
            let numbers: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
            for length in [32, 64] {
                let (mut expected, mut found) = (vec![7], vec![7]);
                pack(values[..length].iter().copied(), width, &mut expected);
                PACK[width as usize](&numbers[..length], &mut found);
                assert_eq!(found, expected, "{width} bits");
            }
        }
        for words in [1, 2, 3, 5, 9, 100, 256] {
            for length in [0, 1, 7, 8, 9, 31, 32, 33, 100, 1_000] {
                for run in [1, 2, 30, 200, 2_000] {
                    let value = |at: usize| random(at as u64 / run) % words as u64;
                    let values: Vec<u64> = (0..length).map(value).collect();
                    let narrow: Vec<u8> = values.iter().map(|value| *value as u8).collect();
                    let (mut expected, mut found) = (Vec::new(), Vec::new());
                    indices(&values, words, &mut expected);
                    octets(&narrow, words, &mut found);
                    assert_eq!(found, expected, "{length} of {words} words in runs of {run}");
                }
            }
        }
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
