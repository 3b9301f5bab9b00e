//! MAC retransmissions of MSDUs, recognised by sender, receiver, TID and sequence number (IEEE Std
//! 802.11-2020, 10.3.2.14). A frame with the Retry bit is a retransmission if its number was used
//! less than four seconds before. Sender and receiver are stations of an interface, or the devices of
//! a pair on any of their links.

use crate::limits::{IDLE_NS, REPEATS_NS};
use crate::numbers::Numbers;
use lasthop_units::SeqNo12;
use std::collections::BTreeMap;

/// Times of the latest MSDUs.
#[derive(Debug, Default)]
pub(super) struct Dedupe {
    seen: BTreeMap<Space, usize>,
    seen_at: Vec<SeenFrame>,
    /// Sender and receiver of each entry of `seen_at`.
    ends: Vec<EndNumbers>,
    /// Two latest lookups: most often the two directions of one flow.
    recent: [Option<(Space, usize)>; 2],
}

/// Numbers of a sender and a receiver.
pub(super) type EndNumbers = (u32, u32);

/// Number of a receiver that is a group, or the other end of a pair.
pub(super) const OTHER: u32 = u32::MAX;

/// First number of the sequence number spaces of devices.
pub(super) const DEVICES: u32 = 1 << 31;

/// A sequence number space: sender, receiver and TID, which is 16 for frames without QoS.
type Space = (u32, u32, u8);

/// Time of the latest MSDU of each sequence number, in ns since 1970; empty for an idle space.
#[derive(Debug, Default)]
struct SeenFrame {
    numbers: Numbers<u64>,
    latest_ns: u64,
}

/// Largest number of sequence number spaces in which MSDUs are compared.
const SPACES_MAX: usize = 1 << 20;

impl Dedupe {
    /// Handles a captured MSDU. Returns the number of its sequence number space, and whether it is
    /// a retransmission; `None` if there are too many spaces.
    pub fn note(
        &mut self,
        (from, to): EndNumbers,
        tid: u8,
        sequence: SeqNo12,
        retry: bool,
        at_ns: u64,
    ) -> Option<(u32, bool)> {
        let index = self.index((from, to, tid))?;
        if self.ends.len() < self.seen_at.len() {
            self.ends.push((from, to));
        }
        let seen = &mut self.seen_at[index];
        seen.latest_ns = at_ns;
        seen.numbers.tidy(|last| at_ns.saturating_sub(last) < REPEATS_NS);
        let last = std::mem::replace(seen.numbers.at(sequence.as_u16()), at_ns.max(1));
        let again = retry && last > 0 && at_ns.saturating_sub(last) < REPEATS_NS;
        Some((index as u32, again))
    }

    /// Frees the memory of idle spaces.
    pub fn evict_idle(&mut self, now_ns: u64) {
        for seen in &mut self.seen_at {
            if now_ns.saturating_sub(seen.latest_ns) >= IDLE_NS {
                seen.numbers = Numbers::default();
            }
        }
    }

    /// Returns the sender and the receiver of a sequence number space.
    pub fn ends(&self, space: u32) -> Option<EndNumbers> {
        self.ends.get(space as usize).copied()
    }

    /// Returns the number of a space, and adds the space if it is new.
    fn index(&mut self, key: Space) -> Option<usize> {
        if let Some((_, index)) = self.recent.iter().flatten().find(|(recent, _)| *recent == key) {
            return Some(*index);
        }
        let next = self.seen_at.len();
        let index = match self.seen.get(&key) {
            Some(index) => *index,
            None if next >= SPACES_MAX => return None,
            None => {
                self.seen.insert(key, next);
                self.seen_at.push(SeenFrame::default());
                next
            }
        };
        self.recent = [Some((key, index)), self.recent[0]];
        Some(index)
    }
}
