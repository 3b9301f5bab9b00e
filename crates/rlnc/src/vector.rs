//! Coding vectors: which combination of source symbols a packet is.
//!
//! A vector is transmitted as the number of one symbol, as a seed from which both
//! sides draw the same coefficients, or in full, which is necessary after recoding.
//! Source symbols are numbered from 0; a block has those below its size, a sliding
//! window any range. Leaves out the bytes of seeds and numbers on the wire.
//!
//! Seeds initialise SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
//! number generators", OOPSLA 2014), which is not linear over any of the fields.
//! With a linear generator (an LFSR, xorshift) every row would obey one recurrence,
//! and no block above its order could ever be decoded.

use crate::field::Field;

/// The share of coefficients of a seeded vector that are not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Density(u16);

impl Density {
    /// Coefficients are uniform over the field, zero included.
    pub const DENSE: Self = Self(u16::MAX);

    /// Each coefficient is not zero with probability `(parts + 1) / 65 536`, and
    /// then uniform over the non-zero elements. 65 535 is [`Density::DENSE`].
    pub const fn from_parts(parts: u16) -> Self {
        Self(parts)
    }

    /// The argument of [`Density::from_parts`].
    pub const fn parts(self) -> u16 {
        self.0
    }
}

/// The coding vector of a packet.
///
/// ```
/// use lasthop_rlnc::{Density, Vector};
///
/// let vector = Vector::Seeded { seed: 1, first: 100, count: 8, density: Density::DENSE };
/// assert_eq!(vector.range(), Some((100, 108)));
/// assert_eq!(Vector::Source(100).range(), Some((100, 101)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vector<'a> {
    /// The source symbol with this number, uncoded.
    Source(u64),
    /// Coefficients drawn from a seed; at least one of them is not zero.
    Seeded {
        /// Seed of the vector.
        seed: u64,
        /// Number of the first symbol in the combination.
        first: u64,
        /// Number of symbols in the combination, at least 1.
        count: u16,
        /// The share of coefficients that are not zero.
        density: Density,
    },
    /// Coefficients in full, in [`Field::packed_bytes`] bytes, the lowest bits
    /// first.
    Full {
        /// Number of the symbol to which the first coefficient belongs.
        first: u64,
        /// Number of coefficients.
        count: u16,
        /// The coefficients, packed.
        packed: &'a [u8],
    },
}

impl Vector<'_> {
    /// The numbers of the symbols that may be in the combination: the first, and
    /// one past the last. `None` if they exceed 64 bits.
    pub fn range(&self) -> Option<(u64, u64)> {
        let (first, count) = match *self {
            Self::Source(index) => (index, 1),
            Self::Seeded { first, count, .. } | Self::Full { first, count, .. } => (first, count),
        };
        Some((first, first.checked_add(u64::from(count))?))
    }

    /// Whether the vector is well-formed: at least one symbol, and the right number
    /// of bytes.
    pub(crate) fn is_sound(&self, field: Field) -> bool {
        match *self {
            Self::Source(_) => true,
            Self::Seeded { count, .. } => count > 0,
            Self::Full { count, packed, .. } => {
                count > 0 && packed.len() == field.packed_bytes(usize::from(count))
            }
        }
    }

    /// Writes the coefficients into `row`: symbol `i` has column `i` modulo
    /// `columns`, and all other columns become zero. The vector must be well-formed
    /// and have at most `columns` symbols.
    pub(crate) fn expand(&self, field: Field, columns: usize, row: &mut [u8]) {
        row.fill(0);
        match *self {
            Self::Source(index) => set(field, row, column(index, columns), 1),
            Self::Seeded { seed, first, count, density: Density::DENSE }
                if column(first, columns) == 0 && usize::from(count) <= columns =>
            {
                draw_dense(field, seed, usize::from(count), row);
            }
            Self::Seeded { seed, first, count, density } => {
                let first = column(first, columns);
                draw(field, seed, usize::from(count), density, |i, c| {
                    let at = first + i;
                    set(field, row, if at < columns { at } else { at - columns }, c);
                });
            }
            Self::Full { first, count, packed } => {
                let first = column(first, columns);
                for i in 0..usize::from(count) {
                    let at = first + i;
                    let c = packed_coefficient(field, packed, i);
                    set(field, row, if at < columns { at } else { at - columns }, c);
                }
            }
        }
    }
}

/// The column of symbol `index`.
pub(crate) fn column(index: u64, columns: usize) -> usize {
    (index % columns as u64) as usize
}

/// Bytes of `count` coefficients in a row: one bit each over GF(2), else one byte.
/// A whole number of 64-bit words.
pub(crate) fn row_bytes(field: Field, count: usize) -> usize {
    match field {
        Field::Gf2 => count.div_ceil(64) * 8,
        Field::Gf16 | Field::Gf256 => count.next_multiple_of(8),
    }
}

/// The coefficient in column `i`.
#[inline]
pub(crate) fn get(field: Field, row: &[u8], i: usize) -> u8 {
    match field {
        Field::Gf2 => row[i / 8] >> (i % 8) & 1,
        Field::Gf16 | Field::Gf256 => row[i],
    }
}

/// Sets the coefficient in column `i` to `c`.
#[inline]
pub(crate) fn set(field: Field, row: &mut [u8], i: usize, c: u8) {
    match field {
        Field::Gf2 => row[i / 8] = row[i / 8] & !(1 << (i % 8)) | (c & 1) << (i % 8),
        Field::Gf16 | Field::Gf256 => row[i] = c,
    }
}

/// Sets every bit of column `i` to `on`: for rows that are masks.
#[inline]
pub(crate) fn mask(field: Field, row: &mut [u8], i: usize, on: bool) {
    set(field, row, i, if on { 0xFF } else { 0 });
}

/// Coefficient `i` of the packed ones.
pub(crate) fn packed_coefficient(field: Field, packed: &[u8], i: usize) -> u8 {
    match field {
        Field::Gf2 => packed[i / 8] >> (i % 8) & 1,
        Field::Gf16 => packed[i / 2] >> (4 * (i % 2)) & 15,
        Field::Gf256 => packed[i],
    }
}

/// Packs the first `count` coefficients of `row`.
pub(crate) fn pack(field: Field, row: &[u8], count: usize, packed: &mut [u8]) {
    match field {
        Field::Gf16 => {
            for (byte, pair) in packed.iter_mut().zip(row[..count].chunks(2)) {
                *byte = pair[0] | pair.get(1).map_or(0, |high| high << 4);
            }
        }
        Field::Gf2 | Field::Gf256 => {
            packed.copy_from_slice(&row[..packed.len()]);
        }
    }
}

/// Expands eight nibbles to one byte each.
fn spread(nibbles: u32) -> u64 {
    let mut x = u64::from(nibbles);
    x = (x | x << 16) & 0x0000_FFFF_0000_FFFF;
    x = (x | x << 8) & 0x00FF_00FF_00FF_00FF;
    (x | x << 4) & 0x0F0F_0F0F_0F0F_0F0F
}

/// Draws `count` coefficients, repeatedly until one of them is not zero.
fn draw(field: Field, seed: u64, count: usize, density: Density, mut each: impl FnMut(usize, u8)) {
    let mut random = SplitMix64::mixed(seed);
    let in_word = 64 / field.bits();
    let mut any = 0;
    while any == 0 {
        if density == Density::DENSE {
            for first in (0..count).step_by(in_word) {
                let mut word = random.next();
                for i in first..count.min(first + in_word) {
                    let c = word as u8 & (field.order() - 1) as u8;
                    any |= c;
                    each(i, c);
                    word = word >> (field.bits() - 1) >> 1;
                }
            }
        } else {
            for i in 0..count {
                let word = random.next();
                let chosen = word as u16 <= density.0;
                // An element from 1 to order - 1, uniform up to 2^-24.
                let other = ((word >> 32) * (field.order() as u64 - 1)) >> 32;
                let c = if chosen { other as u8 + 1 } else { 0 };
                any |= c;
                each(i, c);
            }
        }
    }
}

/// The same as `draw` for dense vectors, into columns from 0 on, one word at a
/// time.
fn draw_dense(field: Field, seed: u64, count: usize, row: &mut [u8]) {
    let mut random = SplitMix64::mixed(seed);
    let in_word = 64 / field.bits();
    let mut any = 0;
    while any == 0 {
        for first in (0..count).step_by(in_word) {
            let word = match count - first {
                left if left < in_word => random.next() & ((1 << (left * field.bits())) - 1),
                _ => random.next(),
            };
            any |= word;
            match field {
                Field::Gf2 => row[first / 8..][..8].copy_from_slice(&word.to_le_bytes()),
                Field::Gf16 => {
                    let row = &mut row[first..];
                    row[..8].copy_from_slice(&spread(word as u32).to_le_bytes());
                    if let Some(row) = row.get_mut(8..16) {
                        row.copy_from_slice(&spread((word >> 32) as u32).to_le_bytes());
                    }
                }
                Field::Gf256 => row[first..][..8].copy_from_slice(&word.to_le_bytes()),
            }
        }
    }
}

/// The generator: a counter, and a hash function that mixes it.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    #[cfg(test)]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Starts from a seed that may be a counter: the seed is hashed first, so that
    /// no two seeds yield the same sequence shifted by a few steps.
    pub const fn mixed(seed: u64) -> Self {
        Self(Self(seed).next())
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn coefficients(field: Field, vector: Vector<'_>, columns: usize) -> Vec<u8> {
        let mut row = vec![0; row_bytes(field, columns)];
        vector.expand(field, columns, &mut row);
        (0..columns).map(|i| get(field, &row, i)).collect()
    }

    /// The reference program's first outputs for seed 1234567, as published with it.
    #[test]
    fn the_generator_is_split_mix_64() {
        let mut random = SplitMix64::new(1_234_567);
        let outputs = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(outputs.map(|_| random.next()), outputs);
    }

    #[test]
    fn density_is_the_share_of_what_is_not_zero() {
        for field in Field::ALL {
            for (density, expected) in [
                (Density::from_parts(6_553), 0.1),
                (Density::from_parts(32_767), 0.5),
                (Density::DENSE, 1.0 - 1.0 / field.order() as f64),
            ] {
                let mut others = 0;
                for seed in 0..200 {
                    let vector = Vector::Seeded { seed, first: 0, count: 500, density };
                    let row = coefficients(field, vector, 500);
                    others += row.iter().filter(|&&c| c != 0).count();
                }
                let share = others as f64 / 100_000.0;
                // Four standard deviations of 100 000 draws.
                let bound = 4.0 * 0.5 / 316.0;
                assert!((share - expected).abs() < bound, "{field:?} {density:?}: {share}");
            }
        }
    }

    /// Pearson's chi-squared of how often each element but zero occurs, within four
    /// standard deviations.
    #[test]
    fn sparse_coefficients_are_uniform() {
        for field in [Field::Gf16, Field::Gf256] {
            let density = Density::from_parts(32_767);
            let mut counts = vec![0.0; field.order()];
            for seed in 0..200 {
                let vector = Vector::Seeded { seed, first: 0, count: 500, density };
                for c in coefficients(field, vector, 500) {
                    counts[usize::from(c)] += 1.0;
                }
            }
            let others = &counts[1..];
            let expected = others.iter().sum::<f64>() / others.len() as f64;
            let square = |count: &f64| (count - expected) * (count - expected) / expected;
            let statistic = others.iter().map(square).sum::<f64>();
            // Mean and half of the variance: the degrees of freedom.
            let freedom = others.len() as f64 - 1.0;
            let away = (statistic - freedom) * (statistic - freedom);
            assert!(away < 16.0 * 2.0 * freedom, "{field:?}: {statistic}");
        }
    }

    proptest! {
        /// Coefficients do not depend on the window's place in its ring, nor on the columns that it
        /// does not use.
        #[test]
        fn a_ring_turns_the_same_coefficients(
            field in prop::sample::select(&Field::ALL),
            seed: u64,
            first in 0..1_000u64,
            (columns, count) in (1..200usize).prop_flat_map(|c| (Just(c), 1..=c as u16)),
            sparse: bool,
        ) {
            let density = if sparse { Density::from_parts(9_000) } else { Density::DENSE };
            let block = Vector::Seeded { seed, first: 0, count, density };
            let window = Vector::Seeded { seed, first, count, density };
            let block = coefficients(field, block, columns);
            let window = coefficients(field, window, columns);
            for i in 0..columns {
                prop_assert_eq!(block[i], window[column(first + i as u64, columns)]);
            }
            prop_assert!(block[usize::from(count)..].iter().all(|&c| c == 0));
            prop_assert!(block.iter().any(|&c| c != 0));
        }

        #[test]
        fn what_is_written_out_reads_the_same(
            field in prop::sample::select(&Field::ALL),
            seed: u64,
            count in 1..200u16,
        ) {
            let density = Density::DENSE;
            let mut row = vec![0; row_bytes(field, usize::from(count))];
            let seeded = Vector::Seeded { seed, first: 0, count, density };
            seeded.expand(field, usize::from(count), &mut row);
            let mut packed = vec![0; field.packed_bytes(usize::from(count))];
            pack(field, &row, usize::from(count), &mut packed);
            let full = Vector::Full { first: 0, count, packed: &packed };
            prop_assert!(full.is_sound(field));
            let columns = usize::from(count);
            prop_assert_eq!(coefficients(field, full, columns), coefficients(field, seeded, columns));
        }
    }
}
