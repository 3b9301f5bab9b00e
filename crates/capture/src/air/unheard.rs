//! MPDUs whose Block Acks are captured while the MPDUs are not. A monitor that cannot decode the
//! rate, the width or the streams of data still hears its answers. Each number that a bitmap
//! acknowledges for the first time is an MPDU that was sent (IEEE 802.11-2020, 10.25.6.5). The
//! numbers of the first Block Ack may be older than the capture. These MPDUs need only some bytes
//! of memory.

use lasthop_units::SeqNo12;
use lasthop_wifi_wire::control::Bitmap;

/// Acknowledged numbers of one TID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unheard {
    newest: Option<SeqNo12>,
    /// A bit for each of the latest numbers. The newest is bit 0 of the first word.
    acknowledged: [u64; WORDS],
}

/// Words for the 1 024 numbers that a Block Ack names at most.
const WORDS: usize = 1_024 / 64;

impl Unheard {
    /// Returns how many numbers are acknowledged for the first time, and how many of these MPDUs
    /// were sent after the start of the capture.
    pub fn handle_block_ack(&mut self, bitmap: &Bitmap<'_>) -> (u64, u64) {
        let is_first = self.newest.is_none();
        let acknowledged = bitmap.received().map(|number| u64::from(self.is_new(number))).sum();
        (acknowledged, if is_first { 0 } else { acknowledged })
    }

    fn is_new(&mut self, number: SeqNo12) -> bool {
        let newest = *self.newest.get_or_insert(number);
        if newest.is_before(number) {
            self.shift(usize::from(number.distance_from(newest)));
            self.newest = Some(number);
        }
        let behind = usize::from(self.newest.unwrap_or(number).distance_from(number));
        if behind >= 64 * WORDS {
            // No Block Ack is so late: the sender has restarted its numbers.
            *self = Self { newest: Some(number), ..Self::default() };
        }
        let behind = if behind >= 64 * WORDS { 0 } else { behind };
        let word = &mut self.acknowledged[behind / 64];
        let bit = 1 << (behind % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Shifts the bits by `ahead` newer numbers.
    fn shift(&mut self, ahead: usize) {
        let (words, bits) = (ahead / 64, ahead % 64);
        for to in (0..WORDS).rev() {
            let from = |back: usize| to.checked_sub(words + back).map(|at| self.acknowledged[at]);
            let low = from(0).unwrap_or_default() << bits;
            let high = from(1).unwrap_or_default().checked_shr(64 - bits as u32);
            self.acknowledged[to] = low | high.unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// A set of all acknowledged numbers, counted without their wrap, gives the same result.
        #[test]
        fn it_counts_each_number_once(
            start in 0u16..4_096,
            steps in prop::collection::vec((0u16..150, any::<u64>()), 1..80),
        ) {
            let (mut unheard, mut known) = (Unheard::default(), BTreeSet::new());
            let mut at = u64::from(start);
            for (ahead, bits) in steps {
                at += u64::from(ahead);
                let octets = bits.to_le_bytes();
                let bitmap = Bitmap {
                    start: SeqNo12::new((at % 4_096) as u16),
                    octets: &octets,
                    bits_per_msdu: 1,
                };
                let is_first = known.is_empty();
                let named = (0..64).filter(|bit| bits >> bit & 1 == 1);
                let count = named.filter(|bit| known.insert(at + bit)).count() as u64;
                let expected = (count, if is_first { 0 } else { count });
                prop_assert_eq!(unheard.handle_block_ack(&bitmap), expected);
            }
        }
    }
}
