//! The bitmap of a compressed Block Ack (IEEE 802.11-2020, 9.3.1.8.2; IEEE 802.11be, 9.3.1.8.2): up
//! to 1 024 bits. A set of MPDUs of one PPDU uses the same type: bit n is MPDU n of the PPDU, in
//! the order of transmission.

use alloc::vec::Vec;
use core::ops::Range;

/// Up to 1 024 bits, the least significant bit of the first word first. A new bitmap has only bits
/// of 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Bitmap {
    words: [u64; Bitmap::BITS / 64],
}

impl Bitmap {
    /// Bits in the longest bitmap (IEEE 802.11be).
    pub const BITS: usize = 1_024;

    /// A bitmap with all bits 0.
    pub const EMPTY: Self = Self { words: [0; Self::BITS / 64] };

    /// A bitmap with bit 0 alone.
    pub const FIRST: Self = {
        let mut first = Self::EMPTY;
        first.words[0] = 1;
        first
    };

    /// Length of the bitmap in a Block Ack under an agreement over `window` MPDUs, in bits:
    /// 64 (802.11n), 256 (802.11ax), 512 or 1 024 (802.11be).
    pub const fn bits_for(window: u16) -> u16 {
        match window {
            0..=64 => 64,
            65..=256 => 256,
            257..=512 => 512,
            _ => 1_024,
        }
    }

    /// Whether bit `n` is 1; `false` from [`Bitmap::BITS`] on.
    #[inline]
    pub const fn contains(&self, n: usize) -> bool {
        n < Self::BITS && self.words[n / 64] >> (n % 64) & 1 == 1
    }

    /// Whether all bits are 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().fold(0, |any, word| any | word) == 0
    }

    /// The number of bits that are 1.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Sets bit `n`, below [`Bitmap::BITS`], to 1.
    #[inline]
    pub const fn insert(&mut self, n: usize) {
        self.words[n / 64] |= 1 << (n % 64);
    }

    /// Sets bit `n`, below [`Bitmap::BITS`], to 0.
    #[inline]
    pub const fn remove(&mut self, n: usize) {
        self.words[n / 64] &= !(1 << (n % 64));
    }

    /// Sets the bits of `range`, below [`Bitmap::BITS`], to 1.
    pub fn insert_all(&mut self, range: Range<usize>) {
        self.each_word(range, |word, mask| *word |= mask);
    }

    /// Sets the bits of `range`, below [`Bitmap::BITS`], to 0.
    pub fn remove_all(&mut self, range: Range<usize>) {
        self.each_word(range, |word, mask| *word &= !mask);
    }

    /// Calls `change` with each word that holds bits of `range`, and with a word in which those
    /// bits are 1.
    #[inline]
    fn each_word(&mut self, range: Range<usize>, mut change: impl FnMut(&mut u64, u64)) {
        let mut from = range.start;
        while from < range.end {
            let bits = (64 - from % 64).min(range.end - from);
            change(&mut self.words[from / 64], ones(bits) << (from % 64));
            from += bits;
        }
    }

    /// Number of consecutive bits of 1 from bit `n` on, at most `most`.
    pub fn run_from(&self, n: usize, most: usize) -> usize {
        let mut run = 0;
        while run < most && n + run < Self::BITS {
            let at = n + run;
            let ones = (self.words[at / 64] >> (at % 64)).trailing_ones() as usize;
            run += ones;
            if ones < 64 - at % 64 {
                break;
            }
        }
        run.min(most)
    }

    /// Returns `count` bits (at most `ring`) of a ring of the first `ring` bits (a multiple of 64):
    /// bit n is bit `start` + n of the ring.
    pub fn of_ring(&self, ring: usize, start: usize, count: usize) -> Self {
        let mut bitmap = Self::EMPTY;
        let (words, shift) = (ring / 64, start % 64);
        for (n, word) in bitmap.words.iter_mut().take(count.div_ceil(64)).enumerate() {
            let at = start / 64 + n;
            *word = self.words[at % words] >> shift;
            if shift > 0 {
                *word |= self.words[(at + 1) % words] << (64 - shift);
            }
            *word &= ones((count - 64 * n).min(64));
        }
        bitmap
    }

    /// Returns the first `bits` (a multiple of 8) as octets, as on the air.
    pub fn to_octets(&self, bits: u16) -> Vec<u8> {
        let octets = self.words.iter().flat_map(|word| word.to_le_bytes());
        octets.take(usize::from(bits / 8)).collect()
    }

    /// Reads octets as on the air; bits from [`Bitmap::BITS`] on are ignored.
    pub fn from_octets(octets: &[u8]) -> Self {
        let mut bitmap = Self::EMPTY;
        for (index, octet) in octets.iter().enumerate().take(Self::BITS / 8) {
            bitmap.words[index / 8] |= u64::from(*octet) << (index % 8 * 8);
        }
        bitmap
    }
}

/// A word in which the first `bits`, up to 64, are 1.
const fn ones(bits: usize) -> u64 {
    match bits {
        0 => 0,
        bits => u64::MAX >> (64 - bits),
    }
}

impl FromIterator<usize> for Bitmap {
    /// Returns the bitmap in which these bits, each below [`Bitmap::BITS`], are 1.
    fn from_iter<I: IntoIterator<Item = usize>>(bits: I) -> Self {
        let mut bitmap = Self::EMPTY;
        bits.into_iter().for_each(|bit| bitmap.insert(bit));
        bitmap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        /// A bitmap agrees with a set of numbers below 1 024.
        #[test]
        fn agrees_with_a_set(
            numbers in proptest::collection::btree_set(0usize..1_024, 0..200),
            removed in 0usize..1_024,
        ) {
            let mut bitmap: Bitmap = numbers.iter().copied().collect();
            let members = |bitmap: &Bitmap| -> BTreeSet<usize> {
                (0..2_000).filter(|n| bitmap.contains(*n)).collect()
            };
            prop_assert_eq!(&members(&bitmap), &numbers);
            prop_assert_eq!(bitmap.len(), numbers.len());
            prop_assert_eq!(bitmap.is_empty(), numbers.is_empty());
            prop_assert_eq!(Bitmap::from_octets(&bitmap.to_octets(1_024)), bitmap);
            bitmap.remove(removed);
            let mut left = numbers;
            left.remove(&removed);
            prop_assert_eq!(&members(&bitmap), &left);
        }
    }

    proptest! {
        /// Operations on ranges and rings agree with those on single bits.
        #[test]
        fn ranges_are_their_bits(
            numbers in proptest::collection::btree_set(0usize..1_024, 0..900),
            ends in (0usize..=1_024, 0usize..=1_024),
            ring in prop_oneof![Just(64usize), Just(256), Just(512), Just(1_024)],
            part in (0usize..1_024, 0usize..=1_024),
        ) {
            let bitmap: Bitmap = numbers.iter().copied().collect();
            let range = ends.0.min(ends.1)..ends.0.max(ends.1);
            let (mut more, mut fewer) = (bitmap, bitmap);
            more.insert_all(range.clone());
            fewer.remove_all(range.clone());
            let (start, count) = (part.0 % ring, part.1.min(ring));
            let unrolled = bitmap.of_ring(ring, start, count);
            for n in 0..1_024 {
                let (is_in, was) = (range.contains(&n), numbers.contains(&n));
                prop_assert_eq!(more.contains(n), was || is_in);
                prop_assert_eq!(fewer.contains(n), was && !is_in);
                let is_there = n < count && numbers.contains(&((start + n) % ring));
                prop_assert_eq!(unrolled.contains(n), is_there);
            }
            let run = (range.start..1_024).take_while(|n| more.contains(*n)).count();
            prop_assert_eq!(more.run_from(range.start, 1_024), run);
            prop_assert_eq!(more.run_from(range.start, count), run.min(count));
        }
    }

    #[test]
    fn octets_begin_with_the_first_bit() {
        let bitmap: Bitmap = [0, 9, 63, 64].into_iter().collect();
        assert_eq!(bitmap.to_octets(64), [1, 2, 0, 0, 0, 0, 0, 0x80]);
        assert_eq!(bitmap.to_octets(256).len(), 32);
        assert_eq!(bitmap.to_octets(256)[8], 1);
        assert_eq!(Bitmap::FIRST.to_octets(64)[0], 1);
        assert_eq!(Bitmap::FIRST.len(), 1);
    }

    #[test]
    fn lengths_are_those_of_the_standards() {
        let lengths = [1, 64, 65, 256, 257, 512, 513, 1_024].map(Bitmap::bits_for);
        assert_eq!(lengths, [64, 64, 256, 256, 512, 512, 1_024, 1_024]);
    }
}
