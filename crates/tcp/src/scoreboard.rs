//! What was sent and is not yet acknowledged in order, segment by segment, and
//! what selective acknowledgements ([RFC 2018]) and loss detection say of each.
//! The counts are those of Linux: in flight is what was sent, less what is
//! sacked or lost, plus what is retransmitted and still in flight.
//!
//! Segments keep their bounds: a retransmission is what was sent first, or its
//! end if the beginning is acknowledged.
//!
//! [RFC 2018]: https://www.rfc-editor.org/rfc/rfc2018

use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

use crate::rack::Rack;

/// The receiver has it.
const SACKED: u8 = 1;
/// Its last transmission before the one in flight, if any, is taken for lost.
const LOST: u8 = 2;
/// A retransmission of it is in flight.
const RETRANSMITTED: u8 = 4;
/// It was retransmitted at least once.
const REPEATED: u8 = 8;

/// A segment that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// First byte.
    pub start: u64,
    /// Last transmission.
    pub at: Instant,
    /// Bytes of the stream, with FIN.
    pub bytes: u32,
    /// Which of all data packets handed to the own node the last transmission was.
    pub number: u32,
    flags: u8,
}

impl Sent {
    /// One beyond the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.bytes)
    }

    fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// The receiver has it.
    pub(crate) fn is_sacked(&self) -> bool {
        self.is(SACKED)
    }

    /// It was sent more than once.
    pub(crate) fn is_repeated(&self) -> bool {
        self.is(REPEATED)
    }

    /// It is lost and not retransmitted.
    fn is_missing(&self) -> bool {
        self.flags & (LOST | RETRANSMITTED | SACKED) == LOST
    }

    /// RACK watches it: on its way as far as is known.
    fn is_under_way(&self) -> bool {
        !self.is(SACKED) && !self.is_missing()
    }
}

/// All segments between the first unacknowledged byte and the next new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// How many were removed in front: `segments[i]` is number `base + i` of the
    /// connection.
    base: u64,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// How many are lost and not retransmitted.
    missing: u32,
    /// Losses ever, of retransmissions too.
    lost_ever: u64,
    /// First byte of the highest sacked segment.
    highest_sacked: Option<u64>,
    /// No segment numbered lower is missing.
    missing_from: u64,
    /// Segments numbered lower are sacked, lost or retransmitted.
    rack_from: u64,
    /// Retransmissions in the order of time; some may be overtaken by events.
    retransmissions: VecDeque<Retransmission>,
}

/// That of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Retransmission {
    /// Number of the segment in the connection.
    number: u64,
    at: Instant,
    /// One beyond the last byte that had been sent by then.
    next: u64,
}

/// What became known of one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub segment: Sent,
    /// A selective acknowledgement of something higher came before it.
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

    /// Segments not acknowledged in order.
    pub(crate) fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments believed to be in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        (self.len() + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Is anything sacked, lost or retransmitted?
    pub(crate) fn has_marks(&self) -> bool {
        self.sacked + self.lost + self.retransmitted > 0 || !self.retransmissions.is_empty()
    }

    pub(crate) fn lost_ever(&self) -> u64 {
        self.lost_ever
    }

    pub(crate) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Is something lost and not retransmitted?
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

    /// A new segment goes out.
    pub(crate) fn push(&mut self, start: u64, bytes: u32, at: Instant, number: u32) {
        self.segments.push_back(Sent { start, at, bytes, number, flags: 0 });
    }

    /// The newest segment was not sent after all.
    pub(crate) fn pop(&mut self) {
        if let Some(segment) = self.segments.pop_back() {
            debug_assert!(segment.flags == 0);
        }
    }

    /// The next lost segment to retransmit.
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

    /// A segment goes out again.
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

    /// A segment goes out again, and is not counted as a retransmission.
    pub(crate) fn resend(&mut self, index: usize, at: Instant, number: u32) {
        let segment = &mut self.segments[index];
        (segment.at, segment.number) = (at, number);
    }

    /// The retransmission of the segment at `start` was not sent after all; what was
    /// sent before it had `number` at most. Returns whether there is one.
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

    /// Marks what lies in `start..end` as received, and calls `delivered` for each
    /// segment that was not. Returns how many those are.
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
                // Not known to be lost, a retransmission is believed to be still
                // in flight, besides the original that has arrived.
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

    /// The receiver got `start..end` twice: retransmissions in it have arrived.
    /// Returns how many segments in it were ever retransmitted.
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

    /// Takes the last transmission of a segment for lost.
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

    /// A timeout: everything is lost, but what RACK says is too recent. A sacked
    /// head means that the receiver threw away what it had: nothing is sacked then.
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

    /// A timeout by the rules of Linux 3: everything is lost, and no retransmission is under
    /// way. As above, a sacked head means that nothing is sacked.
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

    /// A timeout was no mistake, after F-RTO had marked nothing: all is lost, and no
    /// retransmission is in flight but the head's, if `keeps_head`.
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

    /// Was anything from the segment at `from` on sent more than once?
    pub(crate) fn has_repeated(&self, from: usize) -> bool {
        self.segments.iter().skip(from).any(Sent::is_repeated)
    }

    /// No retransmission of the head is in flight any more.
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

    /// Segments from the first to the highest sacked one (fackets_out).
    pub(crate) fn forward(&self) -> u32 {
        self.highest_sacked.map_or(0, |highest| self.index_of(highest) as u32 + 1)
    }

    /// Takes the first `count` segments for lost, but for those that are sacked and those
    /// that end beyond `high` (tcp_mark_head_lost with FACK).
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

    /// Takes segments for lost above which `sacked` ones have arrived (tcp_mark_head_lost
    /// without FACK).
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

    /// Takes segments for lost, from the first, that were last sent before `instant`.
    pub(crate) fn lose_sent_before(&mut self, instant: Instant) {
        for index in 0..self.segments.len() {
            if self.segments[index].at >= instant {
                break;
            }
            self.lose_once(index);
        }
    }

    /// A segment is lost; a retransmission of it that is in flight is not.
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

    /// Takes retransmissions for lost after which something was first sent that has
    /// arrived (tcp_mark_lost_retrans).
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

    /// The first segment below the highest sacked one that is neither there, lost, nor
    /// in flight again.
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

    /// Nothing is lost: the losses were imagined.
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

    /// Marks as lost what was sent long enough before the segment that RACK knows
    /// to have arrived. Returns when the next one would be.
    pub(crate) fn detect_losses(&mut self, now: Instant, rack: &Rack) -> Option<Duration> {
        let mut wait: Option<Duration> = None;
        let mut is_prefix = true;
        self.rack_from = self.rack_from.max(self.base);
        let mut index = (self.rack_from - self.base) as usize;
        while let Some(segment) = self.segments.get(index) {
            // Those sent again come below, in the order of time.
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
                // Overtaken by events. In the middle it waits for its turn.
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

    /// Without selective acknowledgements each duplicate acknowledgement stands
    /// for a segment that the receiver has. Returns how many are new.
    pub(crate) fn add_anonymous(&mut self, duplicates: u32) -> u32 {
        let room = self.len().saturating_sub(self.sacked + self.lost.max(1));
        let added = duplicates.min(room);
        self.sacked += added;
        added
    }

    /// `acknowledged` segments went in order: one was the hole, the others
    /// stood behind duplicate acknowledgements.
    pub(crate) fn remove_anonymous(&mut self, acknowledged: u32) {
        self.sacked = self.sacked.saturating_sub(acknowledged.saturating_sub(1));
        self.limit_anonymous();
    }

    /// All duplicate acknowledgements are explained.
    pub(crate) fn clear_anonymous(&mut self) {
        self.sacked = 0;
    }

    fn limit_anonymous(&mut self) {
        self.sacked = self.sacked.min(self.len().saturating_sub(self.lost));
    }

    /// The segment that holds byte `position`, or the first behind it.
    fn index_of(&self, position: u64) -> usize {
        self.segments.partition_point(|segment| segment.end() <= position)
    }

    /// Counts agree with marks. For tests.
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
