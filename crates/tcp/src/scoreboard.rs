//! The scoreboard: every segment sent and not yet acknowledged in order, with its marks by
//! selective acknowledgements ([RFC 2018]) and loss detection. The counts are those of Linux: the
//! segments in flight are those sent, less those sacked or lost, plus those retransmitted and still
//! in flight.
//!
//! Segments keep their bounds: a retransmission covers the original range, or the rest of it if its
//! beginning is acknowledged. Left out: splitting and merging of segments.
//!
//! [RFC 2018]: https://www.rfc-editor.org/rfc/rfc2018

use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

use crate::rack::Rack;

/// Mark of a segment that the receiver has.
const SACKED: u8 = 1;
/// Mark of a segment whose first transmission, or older retransmission, counts as lost.
const LOST: u8 = 2;
/// Mark of a segment with a retransmission in flight.
const RETRANSMITTED: u8 = 4;
/// Mark of a segment that was retransmitted at least once.
const REPEATED: u8 = 8;

/// A segment that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Offset of its first byte in the stream.
    pub start: u64,
    /// Time of its last transmission.
    pub at: Instant,
    /// Bytes of the stream, FIN included.
    pub bytes: u32,
    /// Number of its last transmission among all data packets passed to the sending
    /// node.
    pub number: u32,
    flags: u8,
}

impl Sent {
    /// Offset of the byte after its last one.
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.bytes)
    }

    fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Whether the receiver has the segment.
    pub(crate) fn is_sacked(&self) -> bool {
        self.is(SACKED)
    }

    /// Whether the segment was sent more than once.
    pub(crate) fn is_repeated(&self) -> bool {
        self.is(REPEATED)
    }

    /// Whether the segment is lost and not retransmitted.
    pub(crate) fn is_missing(&self) -> bool {
        self.flags & (LOST | RETRANSMITTED | SACKED) == LOST
    }

    /// Whether RACK watches the segment: neither sacked, nor lost without a retransmission in
    /// flight.
    fn is_under_way(&self) -> bool {
        !self.is(SACKED) && !self.is_missing()
    }
}

/// All segments between the first unacknowledged byte and the next byte to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Number of segments removed at the front: `segments[i]` is number `base + i` of the
    /// connection.
    base: u64,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Number of segments that are lost and not retransmitted.
    missing: u32,
    /// Number of losses since the start, those of retransmissions included.
    lost_ever: u64,
    /// First byte of the highest sacked segment.
    highest_sacked: Option<u64>,
    /// Number below which no segment is missing.
    missing_from: u64,
    /// Number below which all segments are sacked, lost or retransmitted.
    rack_from: u64,
    /// Retransmissions in the order of time; entries may be outdated.
    retransmissions: VecDeque<Retransmission>,
}

/// A retransmission of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Retransmission {
    /// Number of the segment in the connection.
    number: u64,
    at: Instant,
    /// Offset of the next byte to send at that time.
    next: u64,
}

/// A segment that a selective acknowledgement newly reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub segment: Sent,
    /// Whether a higher segment was sacked before it.
    pub is_overtaken: bool,
}

impl Scoreboard {
    pub(crate) fn new() -> Self {
        Self {
            segments: VecDeque::new(),
            base: 0,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            missing: 0,
            lost_ever: 0,
            highest_sacked: None,
            missing_from: 0,
            rack_from: 0,
            retransmissions: VecDeque::new(),
        }
    }

    /// Number of segments not yet acknowledged in order.
    pub(crate) fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Number of segments believed to be in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        (self.len() + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether any segment is sacked, lost or retransmitted.
    pub(crate) fn has_marks(&self) -> bool {
        self.sacked + self.lost + self.retransmitted > 0 || !self.retransmissions.is_empty()
    }

    pub(crate) fn lost_ever(&self) -> u64 {
        self.lost_ever
    }

    pub(crate) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Whether any segment is lost and not retransmitted.
    pub(crate) fn has_missing(&self) -> bool {
        self.missing > 0
    }

    /// First byte of the highest sacked segment.
    pub(crate) fn highest_sacked(&self) -> Option<u64> {
        self.highest_sacked
    }

    pub(crate) fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Sent> {
        self.segments.get(index)
    }

    /// Adds a new segment that is sent at `at`.
    pub(crate) fn push(&mut self, start: u64, bytes: u32, at: Instant, number: u32) {
        self.segments.push_back(Sent { start, at, bytes, number, flags: 0 });
    }

    /// Removes the newest segment, which was not sent after all.
    pub(crate) fn pop(&mut self) {
        if let Some(segment) = self.segments.pop_back() {
            debug_assert!(segment.flags == 0);
        }
    }

    /// Index of the next lost segment to retransmit.
    pub(crate) fn missing(&mut self) -> Option<usize> {
        if self.missing == 0 {
            return None;
        }
        let from = self.missing_from.saturating_sub(self.base) as usize;
        let found = (from..self.segments.len()).find(|&i| self.segments[i].is_missing());
        debug_assert!(found.is_some(), "the count says that something is missing");
        self.missing_from = self.base + found.unwrap_or(self.segments.len()) as u64;
        found
    }

    /// Records a retransmission of the segment at `index`.
    pub(crate) fn retransmit(&mut self, index: usize, at: Instant, number: u32) -> Sent {
        let segment = &mut self.segments[index];
        self.missing -= u32::from(segment.is_missing());
        self.retransmitted += u32::from(!segment.is(RETRANSMITTED));
        segment.flags |= RETRANSMITTED | REPEATED;
        segment.at = at;
        segment.number = number;
        let segment = *segment;
        let next = self.segments.back().map_or(0, Sent::end);
        let number = self.base + index as u64;
        self.retransmissions.push_back(Retransmission { number, at, next });
        segment
    }

    /// Records a transmission that does not count as a retransmission (the loss
    /// probe of 3.13).
    pub(crate) fn resend(&mut self, index: usize, at: Instant, number: u32) {
        let segment = &mut self.segments[index];
        (segment.at, segment.number) = (at, number);
    }

    /// Takes back the retransmission of the segment at `start`, which was not sent after all.
    /// `number` is that of the transmission before it. Returns whether there was such a
    /// retransmission.
    pub(crate) fn take_back_retransmission(&mut self, start: u64, number: u32) -> bool {
        let index = self.index_of(start);
        match self.segments.get_mut(index) {
            Some(segment) if segment.start == start && segment.is(RETRANSMITTED) => {
                segment.flags &= !RETRANSMITTED;
                segment.number = number;
                self.retransmitted -= 1;
                if segment.is_missing() {
                    self.missing += 1;
                    self.missing_from = self.missing_from.min(self.base + index as u64);
                }
                true
            }
            _ => false,
        }
    }

    /// Removes the first segment if it ends by `acknowledged`, or shortens it.
    /// Returns it if removed.
    pub(crate) fn acknowledge_head(&mut self, acknowledged: u64) -> Option<Sent> {
        let head = self.segments.front_mut()?;
        if head.end() > acknowledged {
            if head.start < acknowledged {
                head.bytes -= (acknowledged - head.start) as u32;
                head.start = acknowledged;
            }
            return None;
        }
        let head = *head;
        self.segments.pop_front();
        self.base += 1;
        if head.flags != 0 {
            self.forget(&head);
        }
        Some(head)
    }

    fn forget(&mut self, head: &Sent) {
        self.sacked -= u32::from(head.is(SACKED));
        self.lost -= u32::from(head.is(LOST));
        self.retransmitted -= u32::from(head.is(RETRANSMITTED));
        self.missing -= u32::from(head.is_missing());
        if self.highest_sacked == Some(head.start) || self.segments.is_empty() {
            self.highest_sacked = None;
        }
        while self.retransmissions.front().is_some_and(|sent| sent.number < self.base) {
            self.retransmissions.pop_front();
        }
    }

    /// Marks the segments in `start..end` as sacked, and calls `delivered` for each
    /// that was not. Returns their number.
    pub(crate) fn sack(
        &mut self,
        start: u64,
        end: u64,
        mut delivered: impl FnMut(Delivered),
    ) -> u32 {
        let mut count = 0;
        let first = self.index_of(start);
        let highest = self.highest_sacked;
        for segment in self.segments.range_mut(first..) {
            if segment.end() > end {
                break;
            }
            if segment.start < start || segment.is(SACKED) {
                continue;
            }
            let was = *segment;
            self.missing -= u32::from(was.is_missing());
            if was.is(LOST) {
                self.lost -= 1;
                // Only a lost segment loses this mark: otherwise the retransmission is believed
                // to be still in flight, besides the original that has arrived.
                self.retransmitted -= u32::from(was.is(RETRANSMITTED));
                segment.flags &= !(LOST | RETRANSMITTED);
            }
            segment.flags |= SACKED;
            self.sacked += 1;
            self.highest_sacked = self.highest_sacked.max(Some(was.start));
            count += 1;
            delivered(Delivered {
                segment: was,
                is_overtaken: highest.is_some_and(|highest| was.start < highest),
            });
        }
        count
    }

    /// Records that the receiver reported `start..end` as duplicate: retransmissions in it have
    /// arrived. Returns the number of segments in it that were ever retransmitted.
    pub(crate) fn duplicate(&mut self, start: u64, end: u64) -> u32 {
        let mut count = 0;
        let first = self.index_of(start);
        for segment in self.segments.range_mut(first..) {
            if segment.end() > end {
                break;
            }
            count += u32::from(segment.is(REPEATED));
            if segment.is(RETRANSMITTED) {
                segment.flags &= !RETRANSMITTED;
                self.retransmitted -= 1;
                if segment.is_missing() {
                    self.missing += 1;
                    self.missing_from = self.missing_from.min(self.base);
                }
            }
        }
        count
    }

    /// Marks the last transmission of a segment as lost.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        if segment.is(SACKED) || segment.is_missing() {
            return;
        }
        if segment.is(LOST) {
            segment.flags &= !RETRANSMITTED;
            self.retransmitted -= 1;
        } else {
            segment.flags |= LOST;
            self.lost += 1;
        }
        self.lost_ever += 1;
        if segment.is_missing() {
            self.missing += 1;
            self.missing_from = self.missing_from.min(self.base + index as u64);
        }
    }

    /// Handles a retransmission timeout: marks all segments as lost, except those that RACK
    /// considers too recent. If the head is sacked, the receiver has discarded data that it had
    /// acknowledged selectively (reneging): then no segment counts as sacked.
    pub(crate) fn mark_all_lost(&mut self, now: Instant, rack: Option<&Rack>) {
        let has_reneged = self.head().is_some_and(Sent::is_sacked);
        if has_reneged {
            self.clear_sacked();
        }
        for index in 0..self.segments.len() {
            let is_recent = |rack: &Rack| !rack.remaining(now, self.segments[index].at).is_zero();
            if index == 0 || has_reneged || !rack.is_some_and(is_recent) {
                self.mark_lost(index);
            }
        }
    }

    /// Handles a retransmission timeout by the rules of Linux 3: marks all segments as lost, with
    /// no retransmission in flight. A sacked head means reneging, as above.
    pub(crate) fn lose_everything(&mut self) {
        if self.head().is_some_and(Sent::is_sacked) {
            self.clear_sacked();
        }
        for segment in &mut self.segments {
            segment.flags &= !(RETRANSMITTED | LOST);
        }
        (self.lost, self.missing, self.retransmitted) = (0, 0, 0);
        self.retransmissions.clear();
        for index in 0..self.segments.len() {
            self.mark_lost(index);
        }
        self.rack_from = self.base;
    }

    /// Marks all segments as lost after F-RTO found that a timeout was not spurious, with no
    /// retransmission in flight except that of the head, if `keeps_head`.
    pub(crate) fn lose_all_but_retransmissions(&mut self, keeps_head: bool) {
        let head = self.segments.front().filter(|head| keeps_head && head.is(RETRANSMITTED));
        let head = head.map(|_| RETRANSMITTED);
        self.lose_everything();
        if let (Some(flag), Some(segment)) = (head, self.segments.front_mut()) {
            self.missing -= u32::from(segment.is_missing());
            segment.flags |= flag;
            self.retransmitted += 1;
        }
    }

    /// Whether any segment from index `from` on was sent more than once.
    pub(crate) fn has_repeated(&self, from: usize) -> bool {
        self.segments.iter().skip(from).any(Sent::is_repeated)
    }

    /// Counts the retransmission of the head as no longer in flight.
    pub(crate) fn forget_head_retransmission(&mut self) {
        if let Some(head) = self.segments.front_mut().filter(|head| head.is(RETRANSMITTED)) {
            head.flags &= !RETRANSMITTED;
            self.retransmitted -= 1;
            if head.is_missing() {
                self.missing += 1;
                self.missing_from = self.base;
            }
        }
    }

    /// Number of segments up to and including the highest sacked one (fackets_out).
    pub(crate) fn forward(&self) -> u32 {
        self.highest_sacked.map_or(0, |highest| self.index_of(highest) as u32 + 1)
    }

    /// Marks the first `count` segments as lost, except those that are sacked and those that end
    /// beyond `high` (tcp_mark_head_lost with FACK).
    pub(crate) fn lose_first(&mut self, count: u32, high: u64) {
        self.rack_from = self.rack_from.max(self.base);
        for index in (self.rack_from - self.base) as usize..count as usize {
            if self.segments.get(index).is_none_or(|segment| segment.end() > high) {
                break;
            }
            self.lose_once(index);
            self.rack_from = self.base + index as u64 + 1;
        }
    }

    /// Marks segments as lost above which at least `sacked` segments have arrived
    /// (tcp_mark_head_lost without FACK).
    pub(crate) fn lose_below(&mut self, sacked: u32, high: u64) {
        let mut above = self.sacked;
        for index in 0..self.segments.len() {
            if above < sacked || self.segments[index].end() > high {
                break;
            }
            if self.segments[index].is(SACKED) {
                above -= 1;
            } else {
                self.lose_once(index);
            }
        }
    }

    /// Marks segments as lost that were last sent before `instant`, from the head up to the first
    /// that was not.
    pub(crate) fn lose_sent_before(&mut self, instant: Instant) {
        for index in 0..self.segments.len() {
            if self.segments[index].at >= instant {
                break;
            }
            self.lose_once(index);
        }
    }

    /// Marks a segment as lost; a retransmission of it that is in flight stays so.
    fn lose_once(&mut self, index: usize) {
        if !self.segments[index].is(SACKED | LOST) {
            let segment = &mut self.segments[index];
            segment.flags |= LOST;
            self.lost += 1;
            self.lost_ever += 1;
            if segment.is_missing() {
                self.missing += 1;
                self.missing_from = self.missing_from.min(self.base + index as u64);
            }
        }
    }

    /// Marks a retransmission as lost if a segment has arrived that was first sent after it
    /// (tcp_mark_lost_retrans).
    pub(crate) fn lose_retransmissions(&mut self) {
        let highest = self.highest_sacked.map(|highest| self.index_of(highest));
        let Some(received) = highest.map(|index| self.segments[index].end()) else { return };
        while let Some(&sent) = self.retransmissions.front().filter(|sent| received > sent.next) {
            self.retransmissions.pop_front();
            let index = sent.number.wrapping_sub(self.base) as usize;
            let segment = self.segments.get_mut(index).filter(|_| sent.number >= self.base);
            let Some(segment) = segment.filter(|s| s.at == sent.at && s.is(RETRANSMITTED)) else {
                continue;
            };
            if segment.is(LOST) {
                self.mark_lost(index);
            } else {
                segment.flags &= !RETRANSMITTED;
                self.retransmitted -= 1;
                self.lose_once(index);
            }
        }
    }

    /// Index of the first segment below the highest sacked one that is neither
    /// sacked, lost nor retransmitted.
    pub(crate) fn hole(&self) -> Option<usize> {
        let highest = self.index_of(self.highest_sacked?);
        (0..highest).find(|&index| !self.segments[index].is(SACKED | LOST | RETRANSMITTED))
    }

    fn clear_sacked(&mut self) {
        for segment in &mut self.segments {
            if segment.is(SACKED) {
                segment.flags &= !(SACKED | RETRANSMITTED);
            }
        }
        self.sacked = 0;
        self.highest_sacked = None;
        self.retransmitted = self.segments.iter().filter(|s| s.is(RETRANSMITTED)).count() as u32;
        self.rack_from = self.base;
    }

    /// Removes all marks of loss, because the reduction is undone.
    pub(crate) fn unmark_lost(&mut self) {
        if self.lost > 0 {
            for segment in &mut self.segments {
                segment.flags &= !LOST;
            }
        }
        self.lost = 0;
        self.missing = 0;
        self.missing_from = self.base + self.segments.len() as u64;
        self.rack_from = self.base;
    }

    /// Marks segments as lost that were sent at least a reordering window before the newest
    /// delivered segment (RACK). Returns the longest time until another one would be lost.
    pub(crate) fn detect_losses(&mut self, now: Instant, rack: &Rack) -> Option<Duration> {
        let mut wait: Option<Duration> = None;
        let mut is_prefix = true;
        self.rack_from = self.rack_from.max(self.base);
        let mut index = (self.rack_from - self.base) as usize;
        while let Some(segment) = self.segments.get(index) {
            // Retransmitted segments follow below, in the order of time.
            if segment.is_under_way() && !segment.is(REPEATED) {
                if !rack.is_sent_before(segment.at, segment.number) {
                    break;
                }
                let remaining = rack.remaining(now, segment.at);
                if remaining.is_zero() {
                    self.mark_lost(index);
                } else {
                    wait = wait.max(Some(remaining));
                    is_prefix = false;
                }
            }
            index += 1;
            if is_prefix {
                self.rack_from = self.base + index as u64;
            }
        }
        let mut position = 0;
        while let Some(&Retransmission { number, at, .. }) = self.retransmissions.get(position) {
            let index = number.wrapping_sub(self.base) as usize;
            let segment = self.segments.get(index).filter(|_| number >= self.base);
            let Some(segment) = segment.filter(|s| s.at == at && s.is_under_way()) else {
                // Outdated entries are removed at the front only.
                if position == 0 {
                    self.retransmissions.pop_front();
                } else {
                    position += 1;
                }
                continue;
            };
            if !rack.is_sent_before(at, segment.number) {
                break;
            }
            let remaining = rack.remaining(now, at);
            if remaining.is_zero() {
                self.mark_lost(index);
            } else {
                wait = wait.max(Some(remaining));
                position += 1;
            }
        }
        wait
    }

    /// Counts duplicate acknowledgements without SACK: each stands for one segment that the
    /// receiver has. Returns how many of `duplicates` were counted.
    pub(crate) fn add_anonymous(&mut self, duplicates: u32) -> u32 {
        let room = self.len().saturating_sub(self.sacked + self.lost.max(1));
        let added = duplicates.min(room);
        self.sacked += added;
        added
    }

    /// Removes `acknowledged` segments that were acknowledged in order: one was missing, and
    /// duplicate acknowledgements stood for the others.
    pub(crate) fn remove_anonymous(&mut self, acknowledged: u32) {
        self.sacked = self.sacked.saturating_sub(acknowledged.saturating_sub(1));
        self.limit_anonymous();
    }

    /// Resets the count of duplicate acknowledgements.
    pub(crate) fn clear_anonymous(&mut self) {
        self.sacked = 0;
    }

    fn limit_anonymous(&mut self) {
        self.sacked = self.sacked.min(self.len().saturating_sub(self.lost));
    }

    /// Index of the segment that holds the byte at `position`, or of the first one
    /// above it.
    fn index_of(&self, position: u64) -> usize {
        self.segments.partition_point(|segment| segment.end() <= position)
    }

    /// Asserts that counts agree with marks. Only tests call it.
    #[cfg(test)]
    pub(crate) fn check(&self, has_sack: bool) {
        let count = |flag: u8| self.segments.iter().filter(|s| s.is(flag)).count() as u32;
        assert_eq!(self.lost, count(LOST));
        assert_eq!(self.retransmitted, count(RETRANSMITTED));
        assert_eq!(self.missing, self.segments.iter().filter(|s| s.is_missing()).count() as u32);
        if has_sack {
            assert_eq!(self.sacked, count(SACKED));
            assert!(self.segments.iter().all(|s| s.flags & (SACKED | LOST) != SACKED | LOST));
        }
        let first_missing = self.segments.iter().position(Sent::is_missing);
        assert!(first_missing.is_none_or(|i| self.base + i as u64 >= self.missing_from));
        assert!(
            self.segments.iter().zip(self.segments.iter().skip(1)).all(|(a, b)| a.end() == b.start)
        );
    }
}

#[cfg(test)]
mod tests;
