//! The recipient's scoreboard context (IEEE 802.11-2020, 10.25.6.3): the recently received sequence
//! numbers, as a compressed Block Ack reports them. The scoreboard has as many bits as that Block
//! Ack: 64 to 1 024 ([`Bitmap::bits_for`] the agreed window).

use super::Bitmap;
use lasthop_units::SeqNo12;

/// The sequence numbers from [`Scoreboard::start`] on, as many as [`Scoreboard::bits`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scoreboard {
    start: SeqNo12,
    bits: u16,
    /// Received numbers, by sequence number modulo `bits`, which divides 4096: no bit moves when
    /// the window does.
    received: Bitmap,
}

impl Scoreboard {
    /// Returns an empty scoreboard from `start` (WinStartR) on, for an agreement over `window`
    /// MPDUs.
    pub const fn new(start: SeqNo12, window: u16) -> Self {
        Self { start, bits: Bitmap::bits_for(window), received: Bitmap::EMPTY }
    }

    /// First sequence number of the bitmap.
    pub const fn start(&self) -> SeqNo12 {
        self.start
    }

    /// Length of the bitmap in bits: 64, 256, 512 or 1 024.
    pub const fn bits(&self) -> u16 {
        self.bits
    }

    /// The bitmap: bit n is whether `start + n` was received.
    pub fn bitmap(&self) -> Bitmap {
        self.received_from(self.start, self.bits)
    }

    /// Returns a bitmap of `count` numbers (at most [`Bitmap::BITS`]): bit n is whether `first + n`
    /// lies in the bitmap and was received.
    pub fn received_from(&self, first: SeqNo12, count: u16) -> Bitmap {
        if u32::from(first.distance_from(self.start)) + u32::from(count) <= u32::from(self.bits) {
            let ring = usize::from(self.bits);
            return self.received.of_ring(ring, self.slot(first), usize::from(count));
        }
        let received = |n: &usize| self.contains(first.plus(*n as u16));
        (0..usize::from(count)).filter(received).collect()
    }

    /// Whether `sequence` lies in the bitmap and was received.
    pub fn contains(&self, sequence: SeqNo12) -> bool {
        let offset = sequence.distance_from(self.start);
        offset < self.bits && self.received.contains(self.slot(sequence))
    }

    /// Records that an MPDU with `sequence` was received.
    #[inline]
    pub fn record(&mut self, sequence: SeqNo12) {
        let offset = sequence.distance_from(self.start);
        if offset >= 2048 {
            return;
        }
        if offset >= self.bits {
            // Beyond the window: it becomes the last one, in the slot of the last one that goes.
            let by = offset - (self.bits - 1);
            self.forget(by - 1);
            self.start = self.start.plus(by);
        }
        self.received.insert(self.slot(sequence));
    }

    /// Records that the MPDUs with `count` numbers from `first` on were received, in order.
    pub fn record_all(&mut self, first: SeqNo12, count: u16) {
        let offset = first.distance_from(self.start);
        if count > self.bits || offset >= 2048 || offset + count > 2048 {
            return (0..count).for_each(|n| self.record(first.plus(n)));
        }
        if let Some(by) = (offset + count).checked_sub(self.bits) {
            self.forget(by);
            self.start = self.start.plus(by);
        }
        let (ring, slot) = (usize::from(self.bits), self.slot(first));
        let before_wrap = usize::from(count).min(ring - slot);
        self.received.insert_all(slot..slot + before_wrap);
        self.received.insert_all(0..usize::from(count) - before_wrap);
    }

    /// Moves the start to that of a Block Ack Request, unless that lies before it.
    pub fn request(&mut self, start: SeqNo12) {
        let offset = start.distance_from(self.start);
        if offset < 2048 {
            self.forget(offset);
            self.start = start;
        }
    }

    /// Removes the first `count` numbers from the bitmap.
    fn forget(&mut self, count: u16) {
        let (count, ring) = (usize::from(count.min(self.bits)), usize::from(self.bits));
        let slot = self.slot(self.start);
        let before_wrap = count.min(ring - slot);
        self.received.remove_all(slot..slot + before_wrap);
        self.received.remove_all(0..count - before_wrap);
    }

    fn slot(&self, sequence: SeqNo12) -> usize {
        usize::from(sequence.as_u16() & (self.bits - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        /// The scoreboard agrees with a plain set that keeps only the last numbers up to the
        /// greatest.
        #[test]
        fn agrees_with_a_set(
            first in 0u16..4096,
            window in 1u16..=1_024,
            steps in proptest::collection::vec((0i64..1_100, 1u16..=1_024), 1..200),
            by_run in any::<bool>(),
        ) {
            let mut board = Scoreboard::new(SeqNo12::new(first), window);
            let bits = i64::from(Bitmap::bits_for(window));
            let mut window_start = i64::from(first);
            let mut set = BTreeSet::new();
            for (step, count) in steps {
                // Numbers from ten behind to some ahead of the bitmap.
                let number = window_start + step % (bits + 76) - 10;
                let sequence = SeqNo12::new(number.rem_euclid(4096) as u16);
                let count = if by_run { count } else { 1 };
                if by_run { board.record_all(sequence, count) } else { board.record(sequence) }
                for number in (number..).take(usize::from(count)) {
                    if number >= window_start {
                        set.insert(number);
                        window_start = window_start.max(number - (bits - 1));
                    }
                }
                let received = board.received_from(sequence, count);
                for (n, number) in (number..).take(usize::from(count)).enumerate() {
                    let is_there = number >= window_start && set.contains(&number);
                    prop_assert_eq!(received.contains(n), is_there);
                }
                for probe in window_start..window_start + bits {
                    let sequence = SeqNo12::new(probe.rem_euclid(4096) as u16);
                    prop_assert_eq!(board.contains(sequence), set.contains(&probe));
                }
            }
        }
    }
}
