//! The report of an acknowledgement: delivered segments, round-trip times, and redundant
//! retransmissions; then the change of state and window. The sources are Linux' tcp_ack and the
//! functions that it calls; RFC 9293, 3.10.7.4 (window updates), RFC 6298, 3 and RFC 7323, 4
//! (round-trip times), RFC 2883 (duplicates), RFC 8985, 7.4 (the loss probe). Counts are in
//! segments, positions in bytes of the stream.

use lasthop_units::{Duration, Instant};

use super::{Sender, State};
use crate::accurate_ecn::read_flags;
use crate::congestion::{Acknowledgement, Control};
use crate::{Recovery, SackBlock, Segment};

/// Report of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    /// Whether the cumulative acknowledgement advanced.
    pub is_advance: bool,
    /// Segments newly acknowledged in order.
    pub acknowledged: u32,
    /// Segments newly known to have been delivered, in order or selectively.
    pub delivered: u32,
    /// Whether some of them are selectively acknowledged.
    pub has_sacked: bool,
    /// Whether it reports a duplicate (D-SACK).
    pub has_duplicate: bool,
    /// Whether the reported duplicate is that of the loss probe.
    pub is_probe_duplicate: bool,
    /// Whether a segment was delivered that was sent once, before the present state
    /// began.
    pub has_original: bool,
    /// Whether a segment that was retransmitted was acknowledged: the original or
    /// the retransmission.
    pub has_retransmission: bool,
    /// Whether that segment was not the first one acknowledged.
    pub has_later_retransmission: bool,
    /// Whether all newly sacked segments were sent once, before F-RTO's timeout.
    pub has_only_originals: bool,
    /// Whether congestion is echoed (ECE), or the peer's counter of marks has grown.
    pub has_echo: bool,
    /// Growth of the peer's counter of marks, in packets.
    pub marked: u32,
    /// Number of duplicate acknowledgements that it stands for.
    pub duplicates: u32,
    /// Whether it is a duplicate acknowledgement: nothing new in order, and no
    /// change of window, data or reported duplicate explains it.
    pub is_duplicate: bool,
    /// Whether a retransmission was found to be lost.
    pub has_lost_retransmission: bool,
    /// Whether the loss probe or the timeout must start again.
    pub must_restart_timer: bool,
    pub echoed: Option<Instant>,
    /// Round-trip time of the newest segment delivered, or of the timestamp echo.
    pub latest: Option<Duration>,
    /// Whether only one segment, shorter than full, is newly acknowledged, with none sacked.
    pub is_short: bool,
    /// Transmission times of the oldest and the newest segment that were acknowledged in order and
    /// sent once; then those of segments acknowledged selectively.
    in_order: Option<(Instant, Instant)>,
    out_of_order: Option<(Instant, Instant)>,
    /// Lowest byte, sent once, that was delivered after a higher one.
    overtaken: Option<u64>,
}

impl Said {
    /// Adds the transmission time of a delivered segment that was sent once.
    fn note(times: &mut Option<(Instant, Instant)>, sent: Instant) {
        *times =
            Some(times.map_or((sent, sent), |(first, last)| (first.min(sent), last.max(sent))));
    }
}

impl Sender {
    /// Handles the peer's acknowledgement, window and congestion echo.
    pub(crate) fn handle_acknowledgement(&mut self, now: Instant, segment: &Segment) {
        let Some(acknowledged) = segment.acknowledgement else {
            return;
        };
        if acknowledged > self.next || self.una == 0 {
            return;
        }
        self.is_refused = false;
        if self.board.is_empty() {
            // Nothing to acknowledge, but the peer's window may have opened, and acknowledgements
            // that we sent may have been marked.
            if let Some(marks) = &mut self.marks {
                marks.take(read_flags(segment), 0, false, segment.sent);
            }
            let has_new_window = self.update_window(segment, acknowledged, false);
            self.rearm_persist(now, has_new_window);
            return;
        }
        self.is_settled = false;
        if matches!(self.turn, super::transmit::Turn::NewData(_)) {
            self.turn = super::transmit::Turn::Usual;
        }
        if self.is_plain(segment, acknowledged) {
            #[cfg(test)]
            let expected = {
                let mut sender = self.clone();
                sender.take(now, segment, acknowledged);
                sender
            };
            self.take_plain(now, segment, acknowledged);
            #[cfg(test)]
            assert_eq!(*self, expected, "the short way leads elsewhere");
        } else {
            self.take(now, segment, acknowledged);
        }
    }

    /// Whether the acknowledgement only advances, and no loss, probe or congestion
    /// echo is pending.
    fn is_plain(&self, segment: &Segment, acknowledged: u64) -> bool {
        self.has_short_way
            && self.state == State::Open
            && acknowledged > self.una
            && segment.sack_blocks == 0
            && !segment.ecn_echo
            && self.probe.is_none()
            && !self.board.has_marks()
    }

    /// Does the same as [`Sender::take`] for plain acknowledgements, in less time.
    fn take_plain(&mut self, now: Instant, segment: &Segment, acknowledged: u64) {
        let in_flight = self.board.in_flight();
        self.una = acknowledged;
        self.timeouts_in_a_row = 0;
        self.update_window(segment, acknowledged, true);
        let (mut first, mut last, mut count) = (None, None, 0);
        while let Some(segment) = self.board.acknowledge_head(acknowledged) {
            first = first.or(Some(segment.at));
            self.round_trips.push(now - segment.at);
            last = Some(segment);
            count += 1;
        }
        if let (Some(first), Some(last)) = (first, last) {
            let latest = now - last.at;
            self.rack.advance(now, last.at, last.number, false, None);
            self.round_trip.update_latest(now, latest);
            self.round_trip.update(now - first, acknowledged, self.next);
        }
        self.rack.update_steps(acknowledged, self.next);
        if count > 0 {
            self.restart_timer(now);
        }
        self.validate(now, count);
        if count > 0 {
            self.grow(now, count, in_flight, self.round_trip.latest());
        }
        self.update_pacing_rate();
    }

    /// Handles any acknowledgement: its report, then state, timers and window.
    fn take(&mut self, now: Instant, segment: &Segment, acknowledged: u64) {
        let una_before = self.una;
        let in_flight_before = self.board.in_flight();
        let lost_before = self.board.lost_ever();
        self.resume_after_probe(now);
        let mut said = Said {
            is_advance: acknowledged > una_before,
            has_echo: segment.ecn_echo && self.has_ecn && self.marks.is_none(),
            echoed: segment.echoed,
            ..Said::default()
        };
        if said.is_advance {
            self.una = acknowledged;
            self.timeouts_in_a_row = 0;
        }
        let has_new_window = self.update_window(segment, acknowledged, said.is_advance);
        if self.has_sack && segment.sack_blocks > 0 {
            self.take_sacks(now, segment, acknowledged, una_before, &mut said);
        }
        self.take_acknowledged(now, acknowledged, una_before, &mut said);
        if let Some(marks) = self.marks.as_mut().filter(|_| acknowledged >= una_before) {
            let is_progress = said.is_advance || said.has_sacked;
            let flags = read_flags(segment);
            said.marked = marks.take(flags, said.delivered, is_progress, segment.sent);
            said.has_echo = said.marked > 0;
            self.report_marks(&said);
        }
        self.measure(now, &mut said);
        self.rack.update_steps(self.una, self.next);
        let is_duplicate = acknowledged == una_before
            && !has_new_window
            && !said.has_duplicate
            && segment.payload_bytes == 0;
        said.is_duplicate = is_duplicate;
        if self.rules.counts() {
            self.take_by_count(now, &mut said, in_flight_before);
            self.settle_probe(now, segment, acknowledged, has_new_window, &said);
            self.schedule_probe(now, said.is_advance);
            return;
        }
        self.settle_probe(now, segment, acknowledged, has_new_window, &said);
        let is_dubious = is_duplicate
            || said.has_sacked
            || said.has_duplicate
            || said.has_echo
            || self.state != State::Open;
        if is_dubious {
            said.duplicates = u32::from(is_duplicate);
            self.process(now, &mut said);
        }
        if said.must_restart_timer {
            self.restart_timer(now);
        }
        let newly_lost = (self.board.lost_ever() - lost_before) as u32;
        self.control_window(now, &said, in_flight_before, newly_lost);
    }

    /// Does the rest of [`Sender::take`] by the rules of Linux 3: the window grows before the state
    /// is known, and the timer restarts before that.
    fn take_by_count(&mut self, now: Instant, said: &mut Said, in_flight: u32) {
        if said.must_restart_timer {
            self.rearm(now);
        }
        let is_held = self.frto.is_on() && self.process_frto(now, said);
        if !is_held && self.may_grow(said) {
            let sent = said.in_order.filter(|_| !said.has_retransmission);
            let round_trip = sent.map(|(_, last)| self.rules.delay(now, last));
            self.grow(now, said.acknowledged, in_flight, round_trip);
        }
        let is_dubious = said.is_duplicate
            || said.has_sacked
            || said.has_duplicate
            || said.has_echo
            || self.state != State::Open;
        if is_dubious {
            said.duplicates = u32::from(said.is_duplicate);
            self.process(now, said);
            if self.state == State::Reduced && self.rules == Recovery::Linux32 {
                self.halve(said);
            } else if self.state.is_reducing() {
                self.reduce(said.delivered, 0, said.is_advance);
            }
        }
        self.update_pacing_rate();
    }

    /// Whether the window may grow by the rules of Linux 3 (tcp_may_raise_cwnd).
    fn may_grow(&self, said: &Said) -> bool {
        if self.state.is_reducing() {
            return false;
        }
        let has_news = said.acknowledged > 0;
        match self.rules {
            Recovery::Linux32 => has_news && (!said.has_echo || self.window.is_slow_start()),
            _ => {
                let is_reordered = self.rack.reordering > crate::rack::REORDERING_INITIAL;
                has_news || (said.has_sacked && is_reordered)
            }
        }
    }

    /// Adopts the peer's window if it is newer (RFC 9293, 3.10.7.4). Returns whether it changed.
    fn update_window(&mut self, segment: &Segment, acknowledged: u64, is_advance: bool) -> bool {
        if acknowledged < self.una {
            return false;
        }
        let end = acknowledged + u64::from(segment.window_bytes);
        let is_newer = is_advance
            || segment.sequence > self.window_updated_by
            || (segment.sequence == self.window_updated_by && end > self.window_end);
        if !is_newer {
            return false;
        }
        self.window_updated_by = segment.sequence;
        let has_changed = !is_advance && end != self.window_end;
        self.window_end = end;
        has_changed
    }

    /// Arms or stops the window probe when nothing is in flight: the window may
    /// have opened.
    fn rearm_persist(&mut self, now: Instant, has_new_window: bool) {
        if self.next >= self.end() && self.timer.is_none() {
            return;
        }
        self.is_settled = false;
        if has_new_window || self.next < self.window_end {
            self.persist_backoff = 0;
            self.timer = None;
        }
        self.arm_persist(now);
    }

    fn take_sacks(
        &mut self,
        now: Instant,
        segment: &Segment,
        acknowledged: u64,
        una_before: u64,
        said: &mut Said,
    ) {
        let mut blocks = [SackBlock::default(); 3];
        let mut count = 0;
        for (index, &block) in segment.sack().iter().enumerate() {
            if index == 0 && is_duplicate_report(segment, acknowledged) {
                self.take_duplicate(block, una_before, said);
                continue;
            }
            // Blocks of data never sent, or already acknowledged, are ignored.
            if block.start < block.end && block.end <= self.next && block.end > una_before {
                blocks[count] = SackBlock { start: block.start.max(una_before), ..block };
                count += 1;
            }
        }
        let blocks = &mut blocks[..count];
        // At most three, in ascending order, so that reordering is recognised.
        blocks.sort_unstable_by_key(|block| block.start);
        for block in blocks.iter() {
            let mut start = block.start;
            for known in self.known_sacks {
                if known.end > start && known.start < block.end {
                    if known.start > start {
                        self.take_sack(now, start, known.start, said);
                    }
                    start = known.end;
                }
            }
            if start < block.end {
                self.take_sack(now, start, block.end, said);
            }
        }
        self.known_sacks = [SackBlock::default(); 3];
        self.known_sacks[..count].copy_from_slice(blocks);
        self.count_lost_retransmissions();
    }

    fn take_sack(&mut self, now: Instant, start: u64, end: u64, said: &mut Said) {
        let Self { board, rack, round_trip, round_trips, high, frto, control, .. } = self;
        let minimum = round_trip.minimum();
        let delivered = board.sack(start, end, |delivered| {
            let segment = &delivered.segment;
            if let Some(bbr) = control.bbr() {
                bbr.rates().handle_delivered(segment.end(), segment.at);
            }
            rack.advance(now, segment.at, segment.number, segment.is_repeated(), minimum);
            if segment.is_repeated() {
                return;
            }
            if delivered.is_overtaken {
                let lowest = said.overtaken.unwrap_or(u64::MAX);
                said.overtaken = Some(lowest.min(segment.start));
            }
            said.has_original |= segment.end() <= *high;
            said.has_only_originals |= segment.end() <= frto.high;
            Said::note(&mut said.out_of_order, segment.at);
            round_trips.push(now - segment.at);
        });
        said.delivered += delivered;
        said.has_sacked |= delivered > 0;
        said.has_only_originals &= end <= self.frto.high;
    }

    /// Handles the report of a duplicate ([RFC 2883]).
    ///
    /// [RFC 2883]: https://www.rfc-editor.org/rfc/rfc2883
    fn take_duplicate(&mut self, block: SackBlock, una_before: u64, said: &mut Said) {
        let bytes = block.end.saturating_sub(block.start);
        let segments = bytes.div_ceil(u64::from(self.segment_bytes)).max(1);
        // More duplicates than retransmissions: the network duplicated the segment.
        if segments > self.retransmissions || bytes == 0 {
            return;
        }
        said.has_duplicate = true;
        said.is_probe_duplicate =
            self.probe.is_some_and(|probe| probe.is_retransmission && block.end == probe.high);
        self.rack.handle_duplicate();
        if block.end <= una_before {
            self.undo.handle_duplicates(block.end, segments as u32);
        } else {
            let repeated = self.board.duplicate(block.start, block.end);
            self.undo.handle_duplicates(block.end, repeated);
        }
    }

    /// Removes segments that are acknowledged in order.
    fn take_acknowledged(
        &mut self,
        now: Instant,
        acknowledged: u64,
        una_before: u64,
        said: &mut Said,
    ) {
        if !said.is_advance {
            return;
        }
        let highest_sacked = self.board.highest_sacked().unwrap_or(una_before);
        let minimum = self.round_trip.minimum();
        let mut times: Option<(Instant, Instant)> = None;
        let before = self.round_trips.len();
        let is_short = acknowledged - una_before < u64::from(self.segment_bytes);
        said.is_short = is_short && self.board.sacked() == 0;
        while let Some(segment) = self.board.acknowledge_head(acknowledged) {
            said.acknowledged += 1;
            said.has_later_retransmission |= segment.is_repeated() && said.acknowledged > 1;
            if segment.is_sacked() {
                continue;
            }
            said.delivered += 1;
            if let Some(bbr) = self.control.bbr() {
                bbr.rates().handle_delivered(segment.end(), segment.at);
            }
            if segment.is_repeated() {
                said.has_retransmission = true;
            } else {
                times = Some((times.map_or(segment.at, |(first, _)| first), segment.at));
                self.round_trips.push(now - segment.at);
                if segment.start < highest_sacked {
                    let lowest = said.overtaken.unwrap_or(u64::MAX);
                    said.overtaken = Some(lowest.min(segment.start));
                }
                said.has_original |= segment.end() <= self.high;
            }
            self.rack.advance(now, segment.at, segment.number, segment.is_repeated(), minimum);
        }
        if said.has_retransmission {
            // Those sent once may have arrived long before and waited for the
            // retransmission.
            self.round_trips.truncate(before);
        }
        said.is_short &= said.acknowledged == 1 && !said.has_retransmission;
        said.in_order = times;
        said.must_restart_timer = said.acknowledged > 0;
        if !self.has_sack && said.acknowledged > 0 {
            // Segments counted as duplicate acknowledgements were counted as delivered
            // then.
            let counted = self.board.sacked().min(said.acknowledged - 1);
            said.delivered -= counted;
            self.board.remove_anonymous(said.acknowledged);
        } else if let Some(overtaken) = said.overtaken.filter(|&start| start < highest_sacked) {
            self.note_reordering(highest_sacked - overtaken);
        }
    }

    fn note_reordering(&mut self, bytes: u64) {
        let segments = bytes.div_ceil(u64::from(self.segment_bytes));
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        if self.rules.counts() {
            self.note_reordering_by_count(segments.saturating_add(1));
        } else {
            self.rack.handle_reordering(segments);
        }
    }

    /// Measures round-trip times (RFC 6298, 3: never from a segment sent twice, unless timestamps
    /// show which transmission was acknowledged; RFC 7323, 4).
    fn measure(&mut self, now: Instant, said: &mut Said) {
        if !said.is_advance
            && let (Some(overtaken), Some(highest)) = (said.overtaken, self.board.highest_sacked())
        {
            self.note_reordering(highest.saturating_sub(overtaken));
        }
        let mut sample = None;
        let mut latest = None;
        if let Some((first, last)) = said.in_order.filter(|_| !said.has_retransmission) {
            (sample, latest) =
                (Some(self.rules.measure(now, first)), Some(self.rules.measure(now, last)));
        }
        if let Some((first, last)) = said.out_of_order {
            sample = sample.or(Some(self.rules.measure(now, first)));
            latest = Some(self.rules.measure(now, last));
            // Not for segments sent after the last transmission of the head: otherwise the
            // timeout would be postponed for as long as anything arrives
            // (tcp_clean_rtx_queue).
            let is_older = |head: &crate::scoreboard::Sent| first < head.at;
            let has_rule = self.rules != Recovery::Linux32;
            said.must_restart_timer |= has_rule && self.board.head().is_some_and(is_older);
        }
        let echoed = said.echoed.filter(|_| said.acknowledged > 0);
        let echoed = echoed.map(|echoed| self.rules.measure(now, echoed));
        if self.rules == Recovery::Linux32 {
            // The timestamp echo, if any, and only of segments in order (until 3.12, commit
            // 5b08e47caf1f).
            let in_order = said.in_order.filter(|_| !said.has_retransmission);
            sample = echoed.or(in_order.map(|(first, _)| self.rules.measure(now, first)));
        } else if sample.is_none() {
            (sample, latest) = (echoed, echoed);
            self.round_trips.extend(echoed);
        }
        said.latest = latest;
        if let Some(latest) = latest {
            self.round_trip.update_latest(now, latest);
        }
        if let Some(sample) = sample {
            self.round_trip.update(sample, self.una, self.next);
        }
    }

    /// Settles the loss probe by the acknowledgement (RFC 8985, 7.4).
    fn settle_probe(
        &mut self,
        now: Instant,
        segment: &Segment,
        acknowledged: u64,
        has_new_window: bool,
        said: &Said,
    ) {
        let Some(probe) = self.probe.filter(|probe| acknowledged >= probe.high) else {
            return;
        };
        let is_plain =
            segment.payload_bytes == 0 && !said.is_advance && !has_new_window && !said.has_sacked;
        if !probe.is_retransmission || said.is_probe_duplicate {
            self.probe = None;
        } else if acknowledged > probe.high {
            self.reduce_for_probe(now);
        } else if is_plain {
            self.probe = None;
        }
    }

    /// Adapts the window once the state is known.
    fn control_window(&mut self, now: Instant, said: &Said, in_flight: u32, newly_lost: u32) {
        if self.control_by_model(now, said, in_flight, newly_lost) {
            return;
        }
        self.validate(now, said.delivered);
        if self.control_by_marks(now, said, in_flight) {
            return;
        }
        if self.state.is_reducing() {
            self.reduce(said.delivered, newly_lost, said.is_advance);
        } else if said.acknowledged > 0
            || (said.has_sacked && self.rack.reordering > crate::rack::REORDERING_INITIAL)
        {
            let is_measured = !said.has_retransmission || said.out_of_order.is_some();
            let round_trip = self.round_trip.latest().filter(|_| is_measured);
            self.grow(now, said.delivered, in_flight, round_trip);
        }
        self.update_pacing_rate();
    }

    fn validate(&mut self, now: Instant, delivered: u32) {
        let smoothed = self.round_trip.smoothed().unwrap_or(Duration::ZERO);
        self.validation.handle_acknowledgement(now, delivered, smoothed);
    }

    /// Lets congestion control grow the window for `delivered` segments.
    fn grow(&mut self, now: Instant, delivered: u32, in_flight: u32, round_trip: Option<Duration>) {
        let acknowledgement = Acknowledgement {
            segments: delivered,
            acknowledged: self.una,
            next: self.next,
            in_flight,
            round_trip,
            round_trip_min: self.round_trip.minimum().unwrap_or(Duration::ZERO),
            is_limited: self.validation.is_limited(in_flight, &self.window),
            is_open: self.state == State::Open,
        };
        self.control.handle_acknowledgement(now, &acknowledgement, &mut self.window);
    }
}

/// Whether the first block reports a duplicate: it is below the acknowledgement, or
/// inside of the second block (RFC 2883, 4).
fn is_duplicate_report(segment: &Segment, acknowledged: u64) -> bool {
    match segment.sack() {
        [first, ..] if first.start < acknowledged => true,
        [first, second, ..] => first.start >= second.start && first.end <= second.end,
        _ => false,
    }
}
