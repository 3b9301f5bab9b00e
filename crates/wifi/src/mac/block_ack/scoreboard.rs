//! The recipient's scoreboard context (IEEE 802.11-2020, 10.25.6.3): which of
//! the last 64 sequence numbers were received, as a compressed Block Ack tells.

use lasthop_units::SeqNo12;

/// 64 sequence numbers from [`Scoreboard::start`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scoreboard {
    start: SeqNo12,
    bitmap: u64,
}

impl Scoreboard {
    const WINDOW: u16 = 64;

    /// An empty scoreboard from `start` (WinStartR) on.
    pub const fn new(start: SeqNo12) -> Self {
        Self { start, bitmap: 0 }
    }

    /// First sequence number of the bitmap.
    pub const fn start(&self) -> SeqNo12 {
        self.start
    }

    /// Bit n: `start + n` was received.
    pub const fn bitmap(&self) -> u64 {
        self.bitmap
    }

    /// `sequence` lies in the bitmap and was received.
    pub fn contains(&self, sequence: SeqNo12) -> bool {
        let offset = sequence.distance_from(self.start);
        offset < Self::WINDOW && self.bitmap >> offset & 1 == 1
    }

    /// Data with `sequence` was received.
    pub fn record(&mut self, sequence: SeqNo12) {
        let offset = sequence.distance_from(self.start);
        if offset < Self::WINDOW {
            self.bitmap |= 1 << offset;
        } else if offset < 2048 {
            // Beyond the window: it becomes the last one.
            self.shift(offset - (Self::WINDOW - 1));
            self.bitmap |= 1 << (Self::WINDOW - 1);
        }
    }

    /// A Block Ack Request asks from `start` on.
    pub fn request(&mut self, start: SeqNo12) {
        let offset = start.distance_from(self.start);
        if offset < 2048 {
            self.shift(offset);
        }
    }

    fn shift(&mut self, by: u16) {
        self.start = self.start.plus(by);
        self.bitmap = if by < Self::WINDOW { self.bitmap >> by } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        /// A plain set with the rule "only the last 64 up to the greatest" says the same.
        #[test]
        fn agrees_with_a_set(first in 0u16..4096, steps in proptest::collection::vec(0i64..100, 1..200)) {
            let mut board = Scoreboard::new(SeqNo12::new(first));
            let mut window_start = i64::from(first);
            let mut set = BTreeSet::new();
            for step in steps {
                // Numbers from ten behind to 89 ahead of the window's start.
                let number = window_start + step - 10;
                board.record(SeqNo12::new(number.rem_euclid(4096) as u16));
                if number >= window_start {
                    set.insert(number);
                    window_start = window_start.max(number - 63);
                }
                for probe in window_start..window_start + 64 {
                    let sequence = SeqNo12::new(probe.rem_euclid(4096) as u16);
                    prop_assert_eq!(board.contains(sequence), set.contains(&probe));
                }
            }
        }
    }
}
