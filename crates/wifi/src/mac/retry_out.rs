//! Pseudo retry-out (M. Nomoto et al., "A Solution for Bufferbloat Problem in Upload TCP
//! Communication over IEEE 802.11n WLAN Only by Modifying Access Point", section III). At a low
//! data rate a receiver gives up an MPDU after a few erroneous receptions, as if its sender had, so
//! that TCP loses a segment and slows down.
//!
//! The receiver knows erroneous MPDUs from CRC error reports of its hardware. The method assumes
//! that the sequence number in such a report is correct, and also whether a TCP segment is inside.
//!
//! Rates are in kb/s. The file uses integers, fixed arrays and no allocation, so that it can be
//! ported to a C driver line by line. The caller provides the reorder buffer, whose head the
//! functions require.

use super::block_ack::Bitmap;
use lasthop_units::SeqNo12;

/// Highest number of steps of a [`RateTable`].
pub const STEPS_MAX: usize = 4;

/// One step of a [`RateTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// Smoothed data rate in kb/s, up to 16 000 000, below which the step applies; a step with zero
    /// never applies.
    pub below_kbps: u32,
    /// Retransmissions before an MPDU is given up.
    pub retransmissions: u8,
}

/// Number of retransmissions as a function of the smoothed data rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateTable {
    /// Steps in ascending order; above the last one there is no limit.
    pub steps: [RateStep; STEPS_MAX],
    /// Weight of a new MPDU's data rate in the smoothed one, in 256ths, 1 to 256.
    pub weight_256: u16,
}

impl RateTable {
    /// Table I of the paper, with its smoothing coefficient of 0.25.
    pub const PAPER: Self = Self {
        steps: [
            RateStep { below_kbps: 25_000, retransmissions: 2 },
            RateStep { below_kbps: 50_000, retransmissions: 5 },
            RateStep { below_kbps: 100_000, retransmissions: 8 },
            RateStep { below_kbps: 0, retransmissions: 0 },
        ],
        weight_256: 64,
    };
}

/// A smoothed data rate with its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmoothedRate {
    table: RateTable,
    /// Smoothed rate in kb/s times 256; zero before the first MPDU.
    kbps_256: u32,
}

impl SmoothedRate {
    /// Returns a smoothed data rate before the first MPDU.
    pub const fn new(table: RateTable) -> Self {
        Self { table, kbps_256: 0 }
    }

    /// Updates the smoothed rate with the data rate of an MPDU; the first one sets it.
    pub fn update(&mut self, kbps: u32) {
        let new_256 = kbps * 256;
        if self.kbps_256 == 0 {
            self.kbps_256 = new_256;
            return;
        }
        let weight = u64::from(self.table.weight_256);
        let smaller = u64::from(self.kbps_256) * weight / 256;
        self.kbps_256 = self.kbps_256 - smaller as u32 + kbps * u32::from(self.table.weight_256);
    }

    /// The smoothed data rate in kb/s.
    pub fn kbps(&self) -> u32 {
        self.kbps_256 / 256
    }

    /// Limit of retransmissions at the smoothed data rate; `None` above the last step of the table.
    pub fn retransmissions(&self) -> Option<u8> {
        for step in self.table.steps {
            if self.kbps_256 < step.below_kbps * 256 {
                return Some(step.retransmissions);
            }
        }
        None
    }
}

/// Decision on an MPDU, or on the report of an erroneous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// In sequence: deliver it, and the MPDUs that wait for it.
    Deliver,
    /// Out of sequence: keep it in the reorder buffer.
    Buffer,
    /// Before the head of the reorder buffer, which decides about it.
    Old,
    /// Marked as lost before: acknowledge it, but do not deliver it.
    Ignore,
    /// Erroneous: only count it; the number of retransmissions so far by the count of errors.
    CountOnly(u8),
    /// Erroneous, and marked as lost with this reception, after this many retransmissions: later
    /// MPDUs need not wait for it.
    Lost(u8),
}

/// Decisions for the MPDUs of one Block Ack agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PseudoRetryOut {
    rate: SmoothedRate,
    /// Number of sequence numbers that are remembered, that of the bits in the Block Ack's bitmap.
    /// The number divides 4096, so the numbers of one window never share a slot.
    slots: u16,
    /// The greatest sequence number seen; the `slots` - 1 numbers before it are remembered too.
    newest: SeqNo12,
    /// Received without error, by slot.
    received: Bitmap,
    /// Marked as lost, by slot.
    lost: Bitmap,
    /// Number of erroneous receptions, by slot.
    errors: [u8; Bitmap::BITS],
}

impl PseudoRetryOut {
    /// Returns the state for an agreement over `window` MPDUs (1 to 1 024) that begins with
    /// `start`.
    pub fn new(table: RateTable, start: SeqNo12, window: u16) -> Self {
        Self {
            rate: SmoothedRate::new(table),
            slots: Bitmap::bits_for(window),
            newest: start.minus(1),
            received: Bitmap::EMPTY,
            lost: Bitmap::EMPTY,
            errors: [0; Bitmap::BITS],
        }
    }

    /// Decides on an MPDU received without error at `kbps`; the reorder buffer waits for `head`.
    pub fn received(&mut self, sequence: SeqNo12, head: SeqNo12, kbps: u32) -> Decision {
        self.rate.update(kbps);
        if !self.remember(sequence) {
            return Decision::Old;
        }
        let slot = self.slot(sequence);
        if self.lost.contains(slot) {
            return Decision::Ignore;
        }
        self.received.insert(slot);
        if sequence == head {
            Decision::Deliver
        } else if head.is_before(sequence) {
            Decision::Buffer
        } else {
            Decision::Old
        }
    }

    /// Decides on an MPDU received with an error at `kbps`; the reorder buffer waits for `head`.
    ///
    /// MPDUs that were received before, or are outside of the reorder buffer's window, are only
    /// counted.
    pub fn errored(
        &mut self,
        sequence: SeqNo12,
        head: SeqNo12,
        kbps: u32,
        carries_tcp: bool,
    ) -> Decision {
        self.rate.update(kbps);
        if !self.remember(sequence) {
            return Decision::CountOnly(0);
        }
        let slot = self.slot(sequence);
        let retransmissions = self.errors[slot];
        self.errors[slot] = retransmissions.saturating_add(1);
        let is_awaited = sequence.distance_from(head) < self.slots;
        let is_settled = self.received.contains(slot) || self.lost.contains(slot);
        let is_open = is_awaited && !is_settled;
        match self.rate.retransmissions() {
            Some(index) if carries_tcp && is_open && retransmissions >= index => {
                self.lost.insert(slot);
                Decision::Lost(retransmissions)
            }
            _ => Decision::CountOnly(retransmissions),
        }
    }

    /// Handles a Block Ack Request: the sender has settled all MPDUs before `start`.
    pub fn request(&mut self, start: SeqNo12) {
        if self.newest.is_before(start) {
            self.remember(start.minus(1));
        }
        for back in 0..self.slots {
            let sequence = self.newest.minus(back);
            if sequence.is_before(start) {
                self.forget(sequence);
            }
        }
    }

    /// The smoothed data rate in kb/s.
    pub fn smoothed_kbps(&self) -> u32 {
        self.rate.kbps()
    }

    /// Makes `sequence` one of the remembered numbers; `false` if it is older than those.
    fn remember(&mut self, sequence: SeqNo12) -> bool {
        if !self.newest.is_before(sequence) {
            return self.newest.distance_from(sequence) < self.slots;
        }
        // Those a whole window back are settled, or the sender could not be here.
        let ahead = sequence.distance_from(self.newest).min(self.slots);
        for back in 0..ahead {
            self.forget(sequence.minus(back));
        }
        self.newest = sequence;
        true
    }

    fn forget(&mut self, sequence: SeqNo12) {
        let slot = self.slot(sequence);
        self.received.remove(slot);
        self.lost.remove(slot);
        self.errors[slot] = 0;
    }

    fn slot(&self, sequence: SeqNo12) -> usize {
        usize::from(sequence.as_u16() & (self.slots - 1))
    }
}

#[cfg(test)]
mod tests;
