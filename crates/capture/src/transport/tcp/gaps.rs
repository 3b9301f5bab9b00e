//! Gaps in one direction of TCP: a later segment came first.

use super::super::Carrier;
use super::is_after;
use std::collections::VecDeque;

/// Gaps from the oldest on, and the segments in order around them.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    list: VecDeque<Gap>,
    /// First segment that was captured. Earlier bytes are unknown.
    begin: Option<(u32, Edge)>,
    /// Newest segment in order.
    newest: Edge,
}

/// A gap, from the first missing byte to the first captured byte behind it.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u32,
    behind: u32,
    /// Segments around the gap.
    before: Edge,
    after: Edge,
}

/// Identification and time of a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    id: Option<u16>,
    at_ns: u64,
}

/// Reason why the bytes of a gap come late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// Later segments have overtaken them.
    Overtaken,
    /// The sender retransmitted them; the previous copy was lost before the monitor, or missed.
    SentAgain,
}

/// Largest number of gaps remembered for a direction.
const GAPS_MAX: usize = 256;
/// Largest distance of two IP identifications of one sender that are close to each other.
const NEAR: u16 = 0x4000;
/// Longest time by which a segment is overtaken without other evidence, in ns; the same as in
/// tshark.
const OVERTAKEN_NS: u64 = 3_000_000;

impl Gaps {
    /// Handles a segment that starts with `first`, at or behind the awaited byte `next`.
    pub fn advance(&mut self, next: u32, first: u32, id: Option<u16>, at_ns: u64) {
        let edge = Edge { id, at_ns };
        if self.begin.is_none() {
            self.begin = Some((first, edge));
        } else if is_after(first, next) {
            if self.list.len() >= GAPS_MAX {
                self.list.pop_front();
            }
            self.list.push_back(Gap {
                first: next,
                behind: first,
                before: self.newest,
                after: edge,
            });
        }
        self.newest = edge;
    }

    /// Handles a segment before the newest one. Returns the reason why it comes late if none of its
    /// bytes was captured before; these bytes are no longer missing then.
    pub fn fill(
        &mut self,
        first: u32,
        behind: u32,
        id: Option<u16>,
        carrier: Carrier,
        least_rtt_ns: Option<u64>,
    ) -> Option<Late> {
        let this = Edge { id, at_ns: carrier.at_ns };
        let holds = |gap: &Gap| !is_after(gap.first, first) && !is_after(behind, gap.behind);
        if let Some(index) = self.list.iter().rposition(holds) {
            let gap = self.list.remove(index)?;
            for rest in [Gap { behind: first, ..gap }, Gap { first: behind, ..gap }] {
                if is_after(rest.behind, rest.first) {
                    self.list.push_back(rest);
                }
            }
            return Some(self.why(this, Some(gap.before), gap.after, carrier, least_rtt_ns));
        }
        let (begin, after) = self.begin?;
        if is_after(behind, begin) {
            return None;
        }
        // Only once: bytes between this segment and the previous first one are a gap.
        self.begin = Some((first, this));
        if is_after(begin, behind) && self.list.len() < GAPS_MAX {
            self.list.push_front(Gap { first: behind, behind: begin, before: this, after });
        }
        Some(self.why(this, None, after, carrier, least_rtt_ns))
    }

    fn why(
        &self,
        this: Edge,
        before: Option<Edge>,
        after: Edge,
        carrier: Carrier,
        least_rtt_ns: Option<u64>,
    ) -> Late {
        // Distance from the first to the second identification, if it is positive and small.
        let ahead = |first: Option<u16>, second: Option<u16>| {
            let ahead = second?.wrapping_sub(first?);
            (1..NEAR).contains(&ahead).then_some(ahead)
        };
        let is_between = before.is_none_or(|before| ahead(before.id, this.id).is_some());
        if is_between && ahead(this.id, after.id).is_some() {
            return Late::Overtaken;
        }
        let counts = before.is_none_or(|before| ahead(before.id, after.id).is_some());
        if counts && ahead(self.newest.id, this.id).is_some() {
            return Late::SentAgain;
        }
        // A MAC retransmission whose first copy was not captured.
        let limit = least_rtt_ns.map_or(OVERTAKEN_NS, |rtt| OVERTAKEN_NS.max(rtt / 2));
        if carrier.retry || this.at_ns.saturating_sub(after.at_ns) <= limit {
            Late::Overtaken
        } else {
            Late::SentAgain
        }
    }
}
