//! The receiver of an endpoint: bytes that arrived, in order and beyond, and the time of
//! acknowledgements. The receiver models delayed ([RFC 1122], 4.2.3.2, [RFC 5681], 4.2) and
//! selective acknowledgements ([RFC 2018], [RFC 2883]), timestamps ([RFC 7323]) and ECN ([RFC
//! 3168]), as in Linux: the first segments of a connection are acknowledged one by one, as are
//! those after duplicates or a pause. While segments are missing, the first three acknowledgements
//! are immediate and later ones are compressed to one per millisecond (or per twentieth of a round
//! trip).
//!
//! The application reads at once; the window has its configured size, and its right edge never
//! moves back. With `DelayedAck::stretches` acknowledgements follow macOS instead (`stretch`). Left out: the memory of segments out of order, receive buffer tuning, and adaptation
//! of the delay to the gaps between segments.
//!
//! [RFC 1122]: https://www.rfc-editor.org/rfc/rfc1122
//! [RFC 2018]: https://www.rfc-editor.org/rfc/rfc2018
//! [RFC 2883]: https://www.rfc-editor.org/rfc/rfc2883
//! [RFC 3168]: https://www.rfc-editor.org/rfc/rfc3168
//! [RFC 5681]: https://www.rfc-editor.org/rfc/rfc5681
//! [RFC 7323]: https://www.rfc-editor.org/rfc/rfc7323

mod stretch;

use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

use crate::accurate_ecn::{Counter, write_flags};
use crate::rtt::{RoundTripTime, TIMEOUT_INITIAL};
use crate::{Config, DelayedAck, SackBlock, Segment};
use stretch::Stretching;

/// Number of SACK blocks that are stored; three fit beside timestamps.
const BLOCKS_MAX: usize = 4;
/// Number of immediate acknowledgements of segments out of order, before compression begins.
const AT_ONCE_MAX: u32 = 3;
/// Limit of acknowledgements that are compressed into one (tcp_comp_sack_nr).
const COMPRESSED_MAX: u32 = 44;
/// Position among the most recent SACK blocks: a change of a block beyond it ends compression
/// (TCP_SACK_BLOCKS_EXPECTED).
const BLOCKS_UNREPORTED_MAX: usize = 2;
/// Longest delay by compression (tcp_comp_sack_delay_ns), and its share of the
/// round-trip time.
const COMPRESSED_DELAY_MAX: Duration = Duration::from_millis(1);
const COMPRESSED_DELAY_SHARE: u64 = 20;
/// Shortest interval between answers to segments below the window without data
/// (tcp_invalid_ratelimit).
const OUT_OF_WINDOW_INTERVAL: Duration = Duration::from_millis(500);
/// Number of segments acknowledged one by one after a congestion mark.
const QUICK_AFTER_CONGESTION: u32 = 2;

/// The receiver of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Receiver {
    /// Next byte in order (RCV.NXT).
    next: u64,
    /// The cumulative acknowledgement that was last sent.
    acknowledged: u64,
    /// One beyond the last byte that the advertised window allows.
    window_end: u64,
    window_bytes: u32,
    segment_bytes: u32,
    /// Ranges received beyond `next`: ascending and disjoint, with gaps between
    /// them.
    ranges: Vec<SackBlock>,
    /// The ranges that changed last, the most recent first.
    recent: [SackBlock; BLOCKS_MAX],
    recent_count: usize,
    duplicate: Option<SackBlock>,
    /// Position after the FIN's byte, once a FIN has arrived.
    fin: Option<u64>,

    has_sack: bool,
    /// Whether acknowledgements are compressed while segments are missing (since
    /// Linux 4.18, commit 5d9f4262b7ea).
    has_compression: bool,
    rules: DelayedAck,
    stretching: Option<Box<Stretching>>,
    /// Whether an acknowledgement is due immediately; otherwise when `timer` expires.
    is_due: bool,
    timer: Option<Instant>,
    /// Number of remaining quick acknowledgements, sent without delay.
    quick: u32,
    last_arrival: Option<Instant>,
    compressed_timer: Option<Instant>,
    compressed: u32,
    at_once: u32,
    at_once_next: u64,
    last_out_of_window: Option<Instant>,

    /// Timestamp to echo (TS.Recent).
    timestamp: Option<Instant>,
    /// The peer's last timestamp echo, and the smoothed round-trip time of such
    /// echoes.
    echoed: Option<Instant>,
    round_trip: Option<Duration>,
    /// Whether the connection uses ECN.
    has_ecn: bool,
    must_echo: bool,
    /// Whether a segment with an ECN codepoint has arrived.
    has_seen_ecn: bool,
    /// The counter of marks, with accurate feedback instead of `must_echo`.
    counter: Option<Box<Counter>>,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            next: 0,
            acknowledged: 0,
            window_end: 0,
            window_bytes: u32::try_from(config.receive_window.as_u64()).unwrap_or(u32::MAX),
            segment_bytes: u32::from(config.segment_bytes).max(1),
            ranges: Vec::new(),
            recent: Default::default(),
            recent_count: 0,
            duplicate: None,
            fin: None,
            has_sack: config.sack,
            has_compression: !config.recovery.counts() && !config.delayed_ack.stretches,
            rules: config.delayed_ack,
            stretching: config.delayed_ack.stretches.then(|| Box::new(Stretching::new())),
            is_due: false,
            timer: None,
            quick: config.delayed_ack.quick_segments,
            last_arrival: None,
            compressed_timer: None,
            compressed: 0,
            at_once: 0,
            at_once_next: 0,
            last_out_of_window: None,
            timestamp: None,
            echoed: None,
            round_trip: None,
            has_ecn: false,
            must_echo: false,
            has_seen_ecn: false,
            counter: None,
        }
    }

    /// Handles the peer's first SYN. `has_ecn` is whether the connection uses ECN.
    pub(crate) fn open(&mut self, segment: &Segment, has_ecn: bool) {
        self.has_ecn = has_ecn;
        self.next = 1;
        self.acknowledged = 1;
        self.window_end = 1 + u64::from(self.window_bytes);
        self.timestamp = Some(segment.sent);
    }

    /// Counts marks from now on (RFC 9768); the next segment answers the peer's SYN or SYN-ACK with
    /// these flags.
    pub(crate) fn count_marks(&mut self, answer: u8) {
        self.counter = Some(Box::new(Counter::new(answer)));
    }

    /// Acknowledges a repeated SYN or SYN-ACK at once; with accurate feedback by these flags.
    pub(crate) fn answer_again(&mut self, answer: u8) {
        if let Some(counter) = &mut self.counter {
            counter.answer_again(answer);
        }
        self.acknowledge_at_once();
    }

    /// Whether the peer's SYN has arrived.
    pub(crate) fn is_open(&self) -> bool {
        self.next > 0
    }

    /// Handles a segment after SYN. `sender` is the round-trip time that the endpoint's sender
    /// measured.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
        is_marked: bool,
        sender: &RoundTripTime,
    ) {
        let end = segment.end();
        if self.counter.is_some() {
            self.count_mark(segment, is_marked);
        }
        if end < self.acknowledged {
            // All of it is acknowledged: it is answered and otherwise ignored, its
            // timestamp too (RFC 7323, 5.3, R2 before R3; tcp_sequence).
            if end == segment.sequence {
                // A window probe or a keep-alive.
                self.answer_out_of_window(now);
            } else {
                self.set_duplicate(segment.sequence, end);
                self.answer_duplicate();
            }
            return;
        }
        // RFC 7323, 4.3: the timestamp of the oldest segment that the next
        // acknowledgement covers.
        if segment.sequence <= self.acknowledged && self.timestamp.is_none_or(|t| segment.sent >= t)
        {
            self.timestamp = Some(segment.sent);
        }
        if segment.sequence >= self.window_end {
            if segment.payload_bytes > 0 || segment.fin {
                self.answer_duplicate();
            }
            return;
        }
        if end == segment.sequence {
            return;
        }
        // Segments may grow with the MTU of the path (Linux: tcp_measure_rcv_mss).
        self.segment_bytes = self.segment_bytes.max(segment.payload_bytes);
        if let Some(stretching) = &mut self.stretching {
            stretching.handle_data(now, segment.payload_bytes, self.segment_bytes);
            let is_in_order = segment.sequence == self.next && self.ranges.is_empty();
            if !is_in_order || is_marked || segment.window_reduced {
                stretching.handle_loss(now);
            }
        }
        if self.has_ecn {
            self.take_ecn(segment, is_marked);
        }
        // A FIN below data that has already arrived is ignored.
        if segment.fin && end > self.next {
            self.fin = self.fin.or(Some(end));
        }
        self.note_arrival(now, segment, sender.timeout());
        if segment.sequence <= self.next && end > self.next {
            self.take_in_order(now, segment, end, sender);
        } else if end <= self.next {
            self.set_duplicate(segment.sequence, end);
            self.answer_duplicate();
        } else {
            let is_news = self.take_out_of_order(segment.sequence, end);
            self.acknowledge_gap(now, is_news, sender);
        }
    }

    /// Counts an arrived packet for accurate feedback.
    #[cold]
    fn count_mark(&mut self, segment: &Segment, is_marked: bool) {
        let must_acknowledge = self.next > self.acknowledged;
        if let Some(counter) = &mut self.counter {
            self.is_due |= counter.count(is_marked, segment.payload_bytes > 0, must_acknowledge);
        }
    }

    /// Sets the flags of accurate feedback.
    pub(crate) fn report_marks(&mut self, segment: &mut Segment) {
        if let Some(counter) = &mut self.counter {
            write_flags(segment, counter.report(segment.syn));
        }
    }

    /// Notes the ECN codepoint and CWR (RFC 3168, 6.1.3), as Linux' tcp_ecn_accept_cwr and
    /// tcp_ecn_check_ce do: a sender that has reduced its window may have a very small one, so
    /// that its segment is acknowledged at once, as are two segments after the first mark, and
    /// after a segment that is probably a retransmission, because it cannot be marked.
    fn take_ecn(&mut self, segment: &Segment, is_marked: bool) {
        if segment.window_reduced {
            self.must_echo = false;
            self.is_due = true;
        }
        let is_capable = segment.ecn_capable || is_marked;
        let is_first_mark = is_marked && !self.must_echo;
        if is_first_mark || (!is_capable && self.has_seen_ecn) {
            self.quick = self.quick.max(QUICK_AFTER_CONGESTION);
        }
        self.must_echo |= is_marked;
        self.has_seen_ecn |= is_capable;
    }

    fn take_in_order(&mut self, now: Instant, segment: &Segment, end: u64, sender: &RoundTripTime) {
        if segment.sequence < self.next {
            self.set_duplicate(segment.sequence, self.next);
        }
        self.next = end;
        if self.ranges.is_empty() {
            let unacknowledged = self.next - self.acknowledged;
            let is_stretched = self.stretching.as_ref().is_some_and(|it| it.is_on());
            let segments = if is_stretched { stretch::SEGMENTS } else { self.rules.segments };
            let most = u64::from(self.segment_bytes) * u64::from(segments.max(1) - 1);
            if unacknowledged > most || self.quick > 0 || segment.fin || self.duplicate.is_some() {
                self.is_due = true;
            } else if self.timer.is_none() {
                self.timer = Some(now + self.rules.delay);
            }
            return;
        }
        self.fill();
        if self.ranges.is_empty() {
            // RFC 5681, 4.2: the gap is filled.
            self.is_due = true;
        } else {
            self.acknowledge_gap(now, false, sender);
        }
    }

    /// Moves `next` over ranges that are now in order.
    fn fill(&mut self) {
        let mut filled = 0;
        for range in &self.ranges {
            if range.start > self.next {
                break;
            }
            if range.end <= self.next || range.start < self.next {
                // Received twice, completely or its beginning.
                let end = range.end.min(self.next);
                self.duplicate = Some(SackBlock { start: range.start, end });
            }
            self.next = self.next.max(range.end);
            filled += 1;
        }
        self.ranges.drain(..filled);
        let next = self.next;
        self.retain_recent(|block| block.start > next);
    }

    /// Inserts a range. Returns whether it changed a block that was not among the
    /// two most recent: another such change may displace an unreported block from
    /// the three that fit.
    fn take_out_of_order(&mut self, start: u64, end: u64) -> bool {
        let first = self.ranges.partition_point(|range| range.end < start);
        let last = first + self.ranges[first..].partition_point(|range| range.start <= end);
        let mut merged = SackBlock { start, end };
        for range in &self.ranges[first..last] {
            if start < range.end && range.start < end && self.duplicate.is_none() {
                let (start, end) = (start.max(range.start), end.min(range.end));
                self.duplicate = Some(SackBlock { start, end });
            }
            merged.start = merged.start.min(range.start);
            merged.end = merged.end.max(range.end);
        }
        match last - first {
            0 => self.ranges.insert(first, merged),
            1 => self.ranges[first] = merged,
            _ => {
                self.ranges[first] = merged;
                self.ranges.drain(first + 1..last);
            }
        }
        let is_apart = |block: &SackBlock| block.end < merged.start || block.start > merged.end;
        let recent = &self.recent[..self.recent_count];
        let changed = recent.iter().position(|block| !is_apart(block)).unwrap_or(recent.len());
        self.retain_recent(is_apart);
        self.recent.copy_within(..BLOCKS_MAX - 1, 1);
        self.recent[0] = merged;
        self.recent_count = (self.recent_count + 1).min(BLOCKS_MAX);
        changed >= BLOCKS_UNREPORTED_MAX
    }

    fn retain_recent(&mut self, keep: impl Fn(&SackBlock) -> bool) {
        let mut kept = 0;
        for index in 0..self.recent_count {
            if keep(&self.recent[index]) {
                self.recent[kept] = self.recent[index];
                kept += 1;
            }
        }
        self.recent_count = kept;
    }

    fn set_duplicate(&mut self, start: u64, end: u64) {
        if self.has_sack {
            self.duplicate = Some(SackBlock { start, end });
        }
    }

    /// Acknowledges a segment while others are missing: immediately or compressed.
    fn acknowledge_gap(&mut self, now: Instant, is_news: bool, sender: &RoundTripTime) {
        if self.at_once_next != self.next {
            self.at_once_next = self.next;
            self.at_once = 0;
        }
        let can_wait = self.has_sack
            && self.has_compression
            && self.quick == 0
            && self.compressed < COMPRESSED_MAX
            && !(is_news && self.compressed > 0)
            && self.at_once >= AT_ONCE_MAX;
        if !can_wait {
            self.at_once = (self.at_once + 1).min(AT_ONCE_MAX);
            self.is_due = true;
            return;
        }
        self.compressed += 1;
        if self.compressed_timer.is_none() {
            let known = self.round_trip.into_iter().chain(sender.smoothed());
            let share = known.min().unwrap_or(TIMEOUT_INITIAL) / COMPRESSED_DELAY_SHARE;
            self.compressed_timer = Some(now + share.min(COMPRESSED_DELAY_MAX));
        }
    }

    /// Answers a segment without new data at once, so that the peer learns that it was redundant.
    fn answer_duplicate(&mut self) {
        self.quick = self.quick.max(self.rules.quick_segments);
        self.is_due = true;
    }

    fn answer_out_of_window(&mut self, now: Instant) {
        let is_early = |last: Instant| now.saturating_since(last) < OUT_OF_WINDOW_INTERVAL;
        if !self.last_out_of_window.is_some_and(is_early) {
            self.last_out_of_window = Some(now);
            self.is_due = true;
        }
    }

    /// Restarts quick acknowledgements after a pause longer than a retransmission
    /// timeout.
    fn note_arrival(&mut self, now: Instant, segment: &Segment, timeout: Duration) {
        if let Some(echoed) = segment.echoed.filter(|_| segment.echoed != self.echoed) {
            self.echoed = segment.echoed;
            let sample = now.saturating_since(echoed);
            self.round_trip =
                Some(self.round_trip.map_or(sample, |smoothed| (smoothed * 7 + sample) / 8));
        }
        let is_pause = |last: Instant| now - last > timeout;
        if self.last_arrival.is_some_and(is_pause) {
            self.quick = self.quick.max(self.rules.quick_segments);
        }
        self.last_arrival = Some(now);
    }

    /// Whether an acknowledgement is to be sent now.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Forces an acknowledgement.
    pub(crate) fn acknowledge_at_once(&mut self) {
        self.is_due = true;
    }

    /// Instant at which a delayed or compressed acknowledgement is due.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        match (self.timer, self.compressed_timer) {
            (Some(delayed), Some(compressed)) => Some(delayed.min(compressed)),
            (delayed, compressed) => delayed.or(compressed),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.timeout().is_some_and(|due| due <= now) {
            if let Some(stretching) = &mut self.stretching {
                let segment_bytes = u64::from(self.segment_bytes);
                stretching
                    .handle_delayed(now, (self.next - self.acknowledged).div_ceil(segment_bytes));
            }
            self.is_due = true;
            self.timer = None;
            self.compressed_timer = None;
        }
    }

    /// Writes acknowledgement, window, timestamp echo, SACK blocks and ECE into a
    /// segment that leaves now.
    pub(crate) fn fill_in(&mut self, segment: &mut Segment) {
        segment.acknowledgement = Some(self.next);
        self.window_end = self.window_end.max(self.next + u64::from(self.window_bytes));
        segment.window_bytes = (self.window_end - self.next) as u32;
        segment.echoed = self.timestamp;
        segment.ecn_echo = self.must_echo;
        if self.has_sack && (self.recent_count > 0 || self.duplicate.is_some()) {
            self.fill_in_sack(segment);
        }
        let is_awaited = self.is_due || self.timer.is_some();
        self.quick = self.quick.saturating_sub(u32::from(is_awaited));
        self.acknowledged = self.next;
        self.is_due = false;
        self.timer = None;
        self.compressed_timer = None;
        self.compressed = 0;
        self.duplicate = None;
    }

    /// Writes SACK blocks: a duplicate first (RFC 2883, 4), then the most recent
    /// ranges.
    fn fill_in_sack(&mut self, segment: &mut Segment) {
        let recent = &self.recent[..self.recent_count];
        let blocks = self.duplicate.iter().chain(recent);
        let mut count = 0;
        for (place, block) in segment.sack.iter_mut().zip(blocks) {
            *place = *block;
            count += 1;
        }
        segment.sack_blocks = count;
    }

    pub(crate) fn window_bytes(&self) -> u32 {
        self.window_bytes
    }

    /// Payload bytes that arrived in order.
    pub(crate) fn received_bytes(&self) -> u64 {
        match self.fin {
            Some(fin) if self.next >= fin => fin - 2,
            _ => self.next.saturating_sub(1),
        }
    }

    /// Whether the peer's stream is complete, FIN included.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|end| self.next >= end)
    }

    /// Asserts that the ranges are in order. Only tests call it.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        assert!(self.ranges.iter().all(|range| range.start < range.end));
        assert!(self.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        assert!(self.ranges.first().is_none_or(|range| range.start > self.next));
        for block in &self.recent[..self.recent_count] {
            assert!(self.ranges.contains(block), "{block:?} not in {:?}", self.ranges);
        }
    }
}

#[cfg(test)]
mod tests;
