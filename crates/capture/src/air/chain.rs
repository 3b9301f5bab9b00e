//! Attempts of each MPDU, by sequence number: their number, whether the MPDU was acknowledged, and
//! which attempts the monitor missed.
//!
//! An attempt counts as missed only if captured frames prove it: a Block Ack newly acknowledges an
//! MPDU that was not in the PPDU before it; the first captured attempt has the Retry bit; or a
//! number is left out, since a sender numbers its MPDUs to one receiver in one TID without gaps
//! (IEEE 802.11-2020, 10.3.2.14.2). A failed attempt leaves no such trace if other attempts were
//! captured, and is not counted. On a complete capture no attempt counts as missed.

use crate::numbers::Numbers;
use lasthop_units::SeqNo12;

/// MPDUs from one sender to one receiver in one sequence number space.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// State of each number; empty while the link rests.
    slots: Numbers<Slot>,
    /// While the link rests, a bit for each acknowledged number.
    compacted: Vec<u64>,
    /// Newest sequence number that was captured or acknowledged.
    newest: Option<SeqNo12>,
    /// Numbers that were left out, and neither captured nor acknowledged since.
    unseen: u64,
    /// First number that was captured since the start of the capture, or of the receiver's stay on
    /// the channel.
    first: Option<SeqNo12>,
    /// Whether a Block Ack was captured since then.
    answered: bool,
    /// Numbers that the latest Block Ack acknowledged.
    named: Named,
    counts: ChainCounts,
}

/// Counts of MPDUs and their attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainCounts {
    /// Number of MPDUs with different numbers.
    pub msdus: u64,
    /// Number of MPDUs that were sent n + 1 times, at index n; the last index includes all larger
    /// numbers.
    pub attempts: [u64; ATTEMPTS],
    /// MPDUs that were acknowledged.
    pub acknowledged: u64,
    /// Attempts that were captured, and attempts that are known to be missed.
    pub captured: u64,
    /// Attempts that the monitor missed.
    pub missed: u64,
    /// Missed attempts other than the first.
    pub missed_retries: u64,
}

/// Numbers of attempts that are counted separately.
pub const ATTEMPTS: usize = 16;

/// Acknowledged numbers: a bit for each of 256 from `start` on. The bitmaps of a recipient overlap, so
/// most bits of a Block Ack repeat the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    start: SeqNo12,
    words: [u64; NAMED_WORDS],
}

/// Words of [`Named`].
pub(super) const NAMED_WORDS: usize = 4;

impl Default for Named {
    fn default() -> Self {
        Self { start: SeqNo12::new(0), words: [0; NAMED_WORDS] }
    }
}

impl Named {
    /// Returns the bits of the numbers from `start` on.
    fn from(&self, start: SeqNo12) -> [u64; NAMED_WORDS] {
        let skipped = usize::from(start.distance_from(self.start));
        let (words, bits) = (skipped / BITS, skipped % BITS);
        let word = |n: usize| self.words.get(n).copied().unwrap_or_default();
        // Shifted twice: a shift by all bits of a word is none.
        core::array::from_fn(|n| {
            word(n + words) >> bits | word(n + words + 1) << 1 << (BITS - 1 - bits)
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    attempts: u8,
    captured: u8,
    acknowledged: bool,
    /// Whether the last attempt failed: a Block Ack left it out, or the whole PPDU failed.
    missing: bool,
    /// Whether later numbers were captured before it.
    skipped: bool,
}

/// A captured attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Whether it is the first captured attempt with this number.
    pub new: bool,
    /// Number of missed attempts before it.
    pub missed_before: u8,
}

/// An attempt that the monitor missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// No attempt with this number was captured.
    Only,
    /// The attempt follows one that failed.
    Again,
}

/// Largest distance of an old number from the newest; beyond it, the sender has restarted its
/// numbers.
const WINDOW_MAX: u16 = 1_024;
/// Bits of a word of `compacted`.
const BITS: usize = u64::BITS as usize;

/// Largest number of consecutive numbers that a monitor may miss. After more, the sender has
/// restarted its numbers, or the monitor was on another channel.
const SKIPPED_MAX: u16 = 256;

impl Chains {
    /// Handles a captured MPDU.
    pub fn handle_mpdu(&mut self, sequence: SeqNo12, retry: bool) -> Attempt {
        self.wake();
        self.first.get_or_insert(sequence);
        self.advance(sequence);
        let counts = &mut self.counts;
        let slot = self.slots.at(sequence.as_u16());
        self.unseen -= u64::from(std::mem::take(&mut slot.skipped));
        // A known number without the Retry bit is a new MSDU: its sender has restarted its numbers.
        if !retry {
            let previous = std::mem::take(slot);
            if previous.acknowledged {
                self.named = Named::default();
            }
            counts.add(&previous);
        }
        let new = slot.captured == 0;
        let missed_before = u8::from(retry && slot.attempts == 0);
        slot.attempts = slot.attempts.saturating_add(1 + missed_before);
        slot.captured = slot.captured.saturating_add(1);
        slot.missing = false;
        counts.captured += 1;
        counts.missed += u64::from(missed_before);
        Attempt { new, missed_before }
    }

    /// Handles an acknowledged number. `in_ppdu`: its MPDU was captured in the PPDU that is
    /// answered. Returns the attempt that the monitor missed, if the acknowledgement proves one.
    pub fn handle_acknowledged(&mut self, sequence: SeqNo12, in_ppdu: bool) -> Option<Missed> {
        let behind = self.newest.map_or(0, |newest| newest.distance_from(sequence));
        if (WINDOW_MAX..2048).contains(&behind) {
            return None;
        }
        self.wake();
        self.advance(sequence);
        let slot = self.slots.at(sequence.as_u16());
        if slot.acknowledged {
            return None;
        }
        slot.acknowledged = true;
        self.unseen -= u64::from(std::mem::take(&mut slot.skipped));
        if in_ppdu || slot.attempts > 0 && !slot.missing {
            return None;
        }
        let missed = if slot.attempts == 0 { Missed::Only } else { Missed::Again };
        self.counts.missed += 1;
        self.counts.missed_retries += u64::from(missed == Missed::Again);
        slot.attempts = slot.attempts.saturating_add(1);
        Some(missed)
    }

    /// Whether an MPDU that a Block Ack acknowledges may be older than the capture: the Block Ack
    /// is the first one, and the number lies before the first captured one.
    pub fn is_older(&self, sequence: SeqNo12) -> bool {
        !self.answered && self.first.is_none_or(|first| sequence.is_before(first))
    }

    /// Notes that a Block Ack was read.
    pub const fn handle_answered(&mut self) {
        self.answered = true;
    }

    /// Handles an acknowledged number that [may be older](Self::is_older), so that no attempt was
    /// missed.
    pub fn handle_older(&mut self, sequence: SeqNo12) {
        self.wake();
        self.advance(sequence);
        let slot = self.slots.at(sequence.as_u16());
        slot.acknowledged = true;
        self.unseen -= u64::from(std::mem::take(&mut slot.skipped));
    }

    /// Returns numbers that were acknowledged before, so that another acknowledgement of them has no
    /// effect: a bit for each number from `start` on.
    pub(super) fn named(&self, start: SeqNo12) -> [u64; NAMED_WORDS] {
        // Beyond the window no number is accepted.
        if self.newest.is_some_and(|newest| newest.distance_from(start) < WINDOW_MAX) {
            self.named.from(start)
        } else {
            [0; NAMED_WORDS]
        }
    }

    /// Notes the numbers that a Block Ack acknowledged, in this form; other ones are ignored.
    pub(super) fn name(&mut self, start: SeqNo12, mut words: [u64; NAMED_WORDS]) {
        let before = self.named(start);
        for ((word, before), base) in words.iter_mut().zip(before).zip((0u16..).step_by(BITS)) {
            let mut new = *word & !before;
            while new != 0 {
                let bit = new.trailing_zeros();
                if !self.is_acknowledged(start.plus(base + bit as u16)) {
                    *word &= !(1 << bit);
                }
                new &= new - 1;
            }
        }
        self.named = Named { start, words };
        if let Some(newest) = self.newest {
            self.forget_named(newest);
        }
    }

    /// Forgets the named numbers if `newest` is so far ahead that they may soon be used again.
    fn forget_named(&mut self, newest: SeqNo12) {
        if newest.distance_from(self.named.start) >= SeqNo12::MODULUS / 2 {
            self.named = Named::default();
        }
    }

    /// Handles a time in which the receiver was on another channel. MPDUs in this time are not
    /// missed.
    pub fn handle_gap(&mut self) {
        self.compact();
        let counts = std::mem::take(&mut self.counts);
        *self = Self { counts, ..Self::default() };
    }

    /// Handles a failed MPDU: a Block Ack left it out, or its sender repeats the whole PPDU.
    pub fn handle_missing(&mut self, sequence: SeqNo12) {
        self.wake();
        self.slots.at(sequence.as_u16()).missing = true;
    }

    /// Returns the newest number that was captured or acknowledged.
    pub const fn newest(&self) -> Option<SeqNo12> {
        self.newest
    }

    /// Returns the number of MPDUs that were left out: neither they nor their answers were
    /// captured.
    pub const fn unseen(&self) -> u64 {
        self.unseen
    }

    /// Whether an MPDU with this number was acknowledged.
    pub fn is_acknowledged(&self, sequence: SeqNo12) -> bool {
        // A number ahead of the newest was last used 4 096 numbers ago.
        let is_newer = self.newest.is_none_or(|newest| newest.is_before(sequence));
        let number = usize::from(sequence.as_u16());
        let compacted =
            self.compacted.get(number / BITS).is_some_and(|it| it >> (number % BITS) & 1 == 1);
        !is_newer && (compacted || self.slots.get(sequence.as_u16()).acknowledged)
    }

    /// Whether an attempt with this number is known.
    pub fn is_known(&self, sequence: SeqNo12) -> bool {
        // A number ahead of the newest was last used 4 096 numbers ago.
        let is_newer = self.newest.is_none_or(|newest| newest.is_before(sequence));
        !is_newer && self.slots.get(sequence.as_u16()).attempts > 0
    }

    /// Whether the latest MPDU with this number was acknowledged; `None` if none was sent since
    /// the link last compacted.
    pub fn fate(&self, sequence: SeqNo12) -> Option<bool> {
        let slot = self.slots.get(sequence.as_u16());
        (slot.attempts > 0).then_some(slot.acknowledged)
    }

    /// Reduces the state of each number to a bit, because no MPDU will be sent again after so long
    /// a time. Later Block Acks may still acknowledge these numbers.
    pub fn compact(&mut self) {
        if self.slots.is_empty() {
            return;
        }
        self.compacted = vec![0; usize::from(SeqNo12::MODULUS) / BITS];
        for (number, slot) in self.slots.iter() {
            let (word, bit) = (usize::from(number) / BITS, usize::from(number) % BITS);
            self.compacted[word] |= u64::from(slot.acknowledged) << bit;
            self.counts.add(slot);
        }
        self.slots = Numbers::default();
    }

    #[inline]
    fn wake(&mut self) {
        if !self.compacted.is_empty() {
            self.wake_rested();
        }
    }

    #[cold]
    fn wake_rested(&mut self) {
        for (word, base) in std::mem::take(&mut self.compacted).iter().zip((0u16..).step_by(BITS)) {
            let mut rest = *word;
            while rest != 0 {
                self.slots.at(base + rest.trailing_zeros() as u16).acknowledged = true;
                rest &= rest - 1;
            }
        }
    }

    /// Returns the counts, including MPDUs that may still be sent again.
    pub fn counts(&self) -> ChainCounts {
        let mut counts = self.counts.clone();
        self.slots.iter().for_each(|(_, slot)| counts.add(slot));
        counts
    }

    /// Moves the window to a number that is newer than all before.
    fn advance(&mut self, sequence: SeqNo12) {
        let Some(newest) = self.newest else {
            self.newest = Some(sequence);
            return;
        };
        let counts = &mut self.counts;
        let behind = newest.distance_from(sequence);
        if newest.is_before(sequence) {
            let ahead = sequence.distance_from(newest);
            self.slots.take(newest.next(), ahead, |slot| counts.add(&slot));
            if ahead <= SKIPPED_MAX {
                // The last of these numbers is the one that was captured.
                for n in 1..ahead {
                    self.slots.at(newest.plus(n).as_u16()).skipped = true;
                }
                self.unseen += u64::from(ahead) - 1;
            }
            self.forget_named(sequence);
        } else if behind > WINDOW_MAX {
            // Too old for a retry: the sender has restarted its numbers here.
            self.slots.take(sequence, SeqNo12::MODULUS, |slot| counts.add(&slot));
            self.named = Named::default();
        } else {
            return;
        }
        self.newest = Some(sequence);
    }
}

impl ChainCounts {
    /// Adds other counts.
    pub(super) fn sum(&mut self, other: &Self) {
        self.msdus += other.msdus;
        self.acknowledged += other.acknowledged;
        self.captured += other.captured;
        self.missed += other.missed;
        self.missed_retries += other.missed_retries;
        for (sum, attempts) in self.attempts.iter_mut().zip(other.attempts) {
            *sum += attempts;
        }
    }

    fn add(&mut self, slot: &Slot) {
        let Some(last) = slot.attempts.checked_sub(1) else { return };
        self.msdus += 1;
        self.attempts[usize::from(last).min(ATTEMPTS - 1)] += 1;
        self.acknowledged += u64::from(slot.acknowledged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A named number may be left out of the next Block Ack: it changes nothing.
        #[test]
        fn named_numbers_change_nothing(
            start in 0u16..4_096,
            steps in prop::collection::vec((0u8..10, 0u16..300, any::<u64>()), 1..40),
        ) {
            let mut chains = Chains::default();
            let mut newest = SeqNo12::new(start);
            for (what, distance, bits) in steps {
                match what {
                    0 => chains.compact(),
                    1 if distance < 20 => chains.handle_gap(),
                    2 => {
                        chains.handle_mpdu(newest.minus(distance * 8), bits & 1 == 1);
                    }
                    3 => {
                        newest = newest.plus(distance * 8);
                        chains.handle_mpdu(newest, false);
                    }
                    4..7 => for _ in 0..distance / 8 {
                        newest = newest.next();
                        chains.handle_mpdu(newest, bits & 1 == 1);
                    },
                    _ => {
                        let first = newest.minus(distance);
                        let words = [bits, !bits, bits.rotate_left(9), u64::MAX];
                        for (word, known) in chains.named(first).into_iter().enumerate() {
                            for bit in (0..64).filter(|bit| known >> bit & 1 == 1) {
                                let number = first.plus(word as u16 * 64 + bit);
                                prop_assert!(chains.is_acknowledged(number));
                                prop_assert!(!chains.is_older(number));
                                let mut other = chains.clone();
                                prop_assert_eq!(other.handle_acknowledged(number, true), None);
                                prop_assert_eq!(other.newest(), chains.newest());
                                prop_assert_eq!(other.unseen(), chains.unseen());
                                prop_assert_eq!(other.counts(), chains.counts());
                            }
                        }
                        for (word, bits) in words.into_iter().enumerate() {
                            for bit in (0..64).filter(|bit| bits >> bit & 1 == 1) {
                                chains.handle_acknowledged(first.plus(word as u16 * 64 + bit), true);
                            }
                        }
                        chains.handle_answered();
                        chains.name(first, words);
                    }
                }
            }
        }

        /// A link that rests between two bursts has the same counts as a link that does not.
        #[test]
        fn rests_change_no_count(
            start in 0u16..4_096,
            bursts in prop::collection::vec(
                (prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 1..90), 0u16..70),
                1..6,
            ),
        ) {
            let (mut rests, mut other) = (Chains::default(), Chains::default());
            let mut number = SeqNo12::new(start);
            for (mpdus, back) in bursts {
                for (is_heard, again, is_acknowledged) in mpdus {
                    number = number.next();
                    // The Block Ack repeats numbers of the previous burst that it named before.
                    let named = (1..back).map(|n| number.minus(n));
                    let named: Vec<_> = named.filter(|n| other.is_acknowledged(*n)).collect();
                    for chains in [&mut rests, &mut other] {
                        if is_heard {
                            chains.handle_mpdu(number, false);
                        }
                        if again {
                            chains.handle_mpdu(number, true);
                        }
                        if is_acknowledged {
                            named.iter().for_each(|n| assert_eq!(chains.handle_acknowledged(*n, false), None));
                            chains.handle_acknowledged(number, is_heard || again);
                        }
                    }
                }
                rests.compact();
                prop_assert!(rests.slots.is_empty());
            }
            prop_assert_eq!(rests.counts(), other.counts());
        }
    }
}
