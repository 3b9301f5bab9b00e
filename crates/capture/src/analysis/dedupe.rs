//! Which MSDUs the MAC only repeats: by sender, receiver, TID and sequence number (IEEE Std
//! 802.11-2020, 10.3.2.14). A frame with the Retry bit whose number was seen less than four seconds
//! ago is a repetition.

use crate::air::stations::StationId;
use lasthop_units::SeqNo12;
use std::collections::BTreeMap;

/// When MSDUs were last seen.
#[derive(Debug, Default)]
pub(super) struct Dedupe {
    seen: BTreeMap<Space, usize>,
    seen_at: Vec<Seen>,
    /// Sender and receiver of each of `seen_at`; no receiver for groups.
    links: Vec<Option<(StationId, StationId)>>,
    /// The last two that were looked for: most often one of the two directions of a flow.
    recent: [Option<(Space, usize)>; 2],
}

/// A sequence number space: sender, receiver and TID, which is 16 for frames without QoS.
type Space = (u32, u32, u8);

#[derive(Debug)]
struct Seen(Vec<u64>);

/// How long the MAC may repeat an MPDU, in ns.
pub(crate) const REPEATS_NS: u64 = 4_000_000_000;

impl Dedupe {
    /// An MSDU was captured: the number of its sequence number space, and whether it is only
    /// repeated.
    pub fn note(
        &mut self,
        from: StationId,
        to: Option<StationId>,
        tid: u8,
        sequence: SeqNo12,
        retry: bool,
        at_ns: u64,
    ) -> (u32, bool) {
        let key = (from.index() as u32, to.map_or(u32::MAX, |to| to.index() as u32), tid);
        let index = self.index(key);
        if self.links.len() < self.seen_at.len() {
            self.links.push(to.map(|to| (from, to)));
        }
        let seen = &mut self.seen_at[index].0;
        let last = std::mem::replace(&mut seen[usize::from(sequence.as_u16())], at_ns.max(1));
        let again = retry && last > 0 && at_ns.saturating_sub(last) < REPEATS_NS;
        (index as u32, again)
    }

    /// Sender and receiver of a sequence number space.
    pub fn link(&self, space: u32) -> Option<(StationId, StationId)> {
        *self.links.get(space as usize)?
    }

    fn index(&mut self, key: Space) -> usize {
        if let Some((_, index)) = self.recent.iter().flatten().find(|(recent, _)| *recent == key) {
            return *index;
        }
        let next = self.seen_at.len();
        let index = *self.seen.entry(key).or_insert(next);
        if index == next {
            self.seen_at.push(Seen(vec![0; usize::from(SeqNo12::MODULUS)]));
        }
        self.recent = [Some((key, index)), self.recent[0]];
        index
    }
}
