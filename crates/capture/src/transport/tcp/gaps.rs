//! Bytes of a direction of TCP that were passed over: a later segment came first.

use super::super::Carrier;
use super::is_after;
use std::collections::VecDeque;

/// Gaps, the oldest first, and the edges of the segments in order.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    list: VecDeque<Gap>,
    /// The first segment that was captured: bytes before it were not seen.
    begin: Option<(u32, Edge)>,
    /// The newest segment in order.
    newest: Edge,
}

/// A gap, from the first byte that was not seen to the first one behind it that was.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u32,
    behind: u32,
    /// The segments around it.
    before: Edge,
    after: Edge,
}

/// Identification and time of a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    id: Option<u16>,
    at_ns: u64,
}

/// Why bytes come late that were passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// Later segments have overtaken theirs.
    Overtaken,
    /// The sender has sent them again; the copy before was lost before here, or missed.
    SentAgain,
}

/// Gaps of a direction that are remembered.
const GAPS_MAX: usize = 256;
/// Segments between two of a sender that are near each other by their identification.
const NEAR: u16 = 0x4000;
/// Longest time by which a segment is overtaken without other evidence, in ns: that of tshark.
const OVERTAKEN_NS: u64 = 3_000_000;

impl Gaps {
    /// A segment that begins with `first`, at or behind the `next` byte that was awaited.
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

    /// A segment that lies before the newest one. Why, if none of its bytes was seen before: they
    /// are not missing any more then.
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
        // Only once: what lies between it and what was the first is a gap like others.
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
        // How far the second is ahead of the first, if it is so, and not far.
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
        // The MAC has repeated it, and its first copy was not captured.
        let limit = least_rtt_ns.map_or(OVERTAKEN_NS, |rtt| OVERTAKEN_NS.max(rtt / 2));
        match carrier.retry || this.at_ns.saturating_sub(after.at_ns) <= limit {
            true => Late::Overtaken,
            false => Late::SentAgain,
        }
    }
}
