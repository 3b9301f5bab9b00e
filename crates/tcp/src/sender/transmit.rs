//! Selects the next segment: a retransmission, or new data within the congestion window, the peer's
//! window, the send buffer, Nagle's rule (RFC 1122, 4.2.3.4, in Minshall's variant), the sending
//! node's queues and pacing. The sources are Linux' tcp_write_xmit and tcp_xmit_retransmit_queue,
//! one segment at a time. Positions are in bytes of the stream. Left out: deferral of small buffers.

use lasthop_units::Instant;

use super::{ENDLESS, Sender};
use crate::Recovery;
use crate::congestion::Control;
use crate::segment::HEADER_BYTES;
use crate::validation::Usage;

/// A range of the stream that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub start: u64,
    pub payload_bytes: u32,
    pub has_fin: bool,
    /// Whether it reports the reduced window to the peer (CWR).
    pub window_reduced: bool,
    /// Whether queues may mark its packet instead of dropping it.
    pub ecn_capable: bool,
}

/// Segment to send first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Lost segments, then new data.
    Usual,
    /// A loss probe: one new segment regardless of the window, or the last segment again.
    Probe,
    /// F-RTO before Linux 3.10: the head again, whether or not it is lost.
    Head,
    /// New data of F-RTO, which shows whether the timeout was spurious. With `true` some was sent,
    /// and retransmissions wait for an acknowledgement.
    NewData(bool),
}

/// A loss probe in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// Position that its acknowledgement acknowledges at least.
    pub high: u64,
    /// Whether it retransmitted data, and carried nothing new.
    pub is_retransmission: bool,
}

impl Sender {
    /// Whether no segment leaves before the next event.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled || self.una == 0
    }

    /// Returns the next segment; poll until there is none.
    #[inline]
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Outgoing> {
        if self.is_settled() {
            return None;
        }
        if self.turn != Turn::Usual {
            match self.turn {
                Turn::Probe => {
                    self.turn = Turn::Usual;
                    if let Some(outgoing) = self.poll_probe(now) {
                        return Some(outgoing);
                    }
                }
                Turn::NewData(has_sent) => {
                    if let Some(outgoing) = self.poll_new(now, false) {
                        self.turn = Turn::NewData(true);
                        return Some(outgoing);
                    }
                    if has_sent {
                        self.end_burst(now, false);
                        return None;
                    }
                    self.is_timeout_doubtful = false;
                    self.turn = Turn::Usual;
                }
                Turn::Head => {
                    self.turn = Turn::Usual;
                    if !self.board.is_empty()
                        && let Some(outgoing) = self.retransmit(now, 0)
                    {
                        return Some(outgoing);
                    }
                }
                Turn::Usual => {}
            }
        }
        if self.is_refused {
            self.end_burst(now, false);
            return None;
        }
        if self.board.has_missing()
            && let Some(outgoing) = self.poll_missing(now)
        {
            return Some(outgoing);
        }
        let outgoing = self.poll_new(now, false).or_else(|| self.poll_hole(now));
        if outgoing.is_none() {
            let is_limited = self.board.in_flight() >= self.window.size;
            self.end_burst(now, is_limited);
        }
        outgoing
    }

    /// Retransmits a lost segment.
    fn poll_missing(&mut self, now: Instant) -> Option<Outgoing> {
        if self.board.in_flight() >= self.window.size || self.pacer.must_wait(now) {
            return None;
        }
        let index = self.board.missing()?;
        let outgoing = self.retransmit(now, index)?;
        if self.state.is_reducing() {
            self.reduction.handle_sent(1);
        }
        if index == 0 && !matches!(self.timer, Some((_, super::Timer::Reordering))) {
            self.set_retransmission_timer(now);
        }
        Some(outgoing)
    }

    /// Retransmits a hole that is not known to be lost, by the rules of older
    /// kernels.
    fn poll_hole(&mut self, now: Instant) -> Option<Outgoing> {
        let index = self.forward_hole()?;
        if self.board.has_missing() || self.may_send_new() || self.pacer.must_wait(now) {
            return None;
        }
        let outgoing = self.retransmit(now, index)?;
        self.reduction.handle_sent(1);
        Some(outgoing)
    }

    /// Retransmits a segment, unless its last copy is still in the sending node's
    /// queues.
    fn retransmit(&mut self, now: Instant, index: usize) -> Option<Outgoing> {
        let segment = *self.board.get(index)?;
        let packet_bytes = u32::from(HEADER_BYTES) + segment.bytes;
        let is_queued = self.queue.holds(segment.number)
            || (self.board.len() > 1 && self.queue.is_full(packet_bytes, self.pacing_rate, true));
        // Before 3.15 retransmissions ignored the limit of small queues (commit
        // 1f3279ae0c13).
        let is_throttled = is_queued && !self.rules.counts();
        if is_throttled {
            self.is_throttled = true;
            return None;
        }
        let outgoing = self.describe(segment.start, segment.end());
        self.note_sent(now, segment.end());
        let number = self.hand_over(now, outgoing.payload_bytes);
        let segment = self.board.retransmit(index, now, number);
        self.undo.handle_retransmission(segment.at);
        self.retransmissions += 1;
        Some(outgoing)
    }

    /// Sends the next new segment. A probe ignores the congestion window and
    /// Nagle's rule.
    fn poll_new(&mut self, now: Instant, is_probe: bool) -> Option<Outgoing> {
        let end = self.next_end(is_probe)?;
        // A buffer leaves whole, and the next one waits for all of its segments.
        if !self.queue.is_within_buffer() && self.pacer.must_wait(now) {
            return None;
        }
        let in_flight = self.board.in_flight();
        if in_flight >= self.window.size && !is_probe {
            return None;
        }
        let bytes = (end - self.next) as u32;
        if self.board.len() > 1
            && self.queue.must_wait(u32::from(HEADER_BYTES) + bytes, self.pacing_rate)
        {
            self.is_throttled = true;
            return None;
        }
        if in_flight == 0
            && let Some(last) = self.last_sent
        {
            self.control.handle_restart(now, now.saturating_since(last));
        }
        let mut outgoing = self.describe(self.next, end);
        if outgoing.payload_bytes > 0 {
            // RFC 3168, 6.1.2 and 6.1.5: both are for data that was not sent before.
            outgoing.ecn_capable = self.has_ecn;
            outgoing.window_reduced = core::mem::take(&mut self.must_tell_reduction);
        }
        self.note_sent(now, end);
        let number = self.hand_over(now, outgoing.payload_bytes);
        let was_empty = self.board.is_empty();
        self.board.push(self.next, bytes, now, number);
        if outgoing.payload_bytes < self.segment_bytes {
            self.small_end = end;
        }
        self.next = end;
        self.has_sent_new = true;
        if self.state.is_reducing() {
            self.reduction.handle_sent(1);
        }
        if was_empty {
            self.rearm(now);
        }
        Some(outgoing)
    }

    /// The end of the next new segment, if the peer's window, the send buffer and
    /// Nagle's rule allow one.
    pub(super) fn next_end(&self, is_probe: bool) -> Option<u64> {
        let left = self.written.saturating_sub(self.next);
        if left == 0 && (!self.is_finished || self.next > self.written) {
            return None;
        }
        let bytes = left.min(u64::from(self.segment_bytes));
        let mut end = self.next + bytes;
        if self.is_finished && end == self.written && end < ENDLESS {
            end += 1;
        }
        if end > self.window_end {
            // A segment is shortened to the window only if nothing is in flight.
            if !self.board.is_empty() || self.next >= self.window_end {
                return None;
            }
            end = self.window_end;
        }
        if end - self.una > self.send_window && !self.board.is_empty() {
            return None;
        }
        let is_partial = bytes < u64::from(self.segment_bytes);
        if is_partial && !self.is_finished && !is_probe && self.small_end > self.una {
            return None;
        }
        Some(end)
    }

    /// Sends one segment regardless of the congestion window (RFC 8985, 7.3).
    fn poll_probe(&mut self, now: Instant) -> Option<Outgoing> {
        let has_new = self.next < self.end() && self.next < self.window_end;
        let outgoing = if has_new {
            self.poll_new(now, true)
        } else {
            let last = (self.board.len() as usize).checked_sub(1)?;
            self.resend(now, last)
        }?;
        if !(has_new && self.rules == Recovery::Linux313) {
            self.probe = Some(Probe { high: self.next, is_retransmission: !has_new });
        }
        Some(outgoing)
    }

    /// Sends the last segment as a probe, which 3.13 does not mark as a
    /// retransmission (__tcp_retransmit_skb).
    fn resend(&mut self, now: Instant, last: usize) -> Option<Outgoing> {
        if self.rules != Recovery::Linux313 {
            return self.retransmit(now, last);
        }
        let segment = *self.board.get(last)?;
        let outgoing = self.describe(segment.start, segment.end());
        let number = self.hand_over(now, outgoing.payload_bytes);
        self.board.resend(last, now, number);
        self.retransmissions += 1;
        Some(outgoing)
    }

    /// Ends a burst: validates the window and arms the timers.
    fn end_burst(&mut self, now: Instant, is_window_limited: bool) {
        self.is_settled = true;
        self.queue.end_buffer();
        if self.burst == 0 && !is_window_limited {
            self.arm_persist(now);
            return;
        }
        let usage = Usage {
            segments_out: self.board.len(),
            acknowledged: self.una,
            next: self.next,
            timeout: self.round_trip.timeout(),
            is_window_limited: is_window_limited || self.board.in_flight() >= self.window.size,
            is_application_limited: self.next >= self.end(),
            is_recovering: self.state != super::State::Open,
        };
        self.validation.handle_sent(now, &usage, &mut self.window);
        self.burst = 0;
        if self.has_sent_new {
            self.has_sent_new = false;
            let is_probing = matches!(self.timer, Some((_, super::Timer::LossProbe)));
            if !self.schedule_probe(now, false) && is_probing {
                self.rearm(now);
            }
        }
    }

    fn hand_over(&mut self, now: Instant, payload_bytes: u32) -> u32 {
        self.burst += 1;
        self.last_sent = Some(now);
        self.pacer.handle_sent(now, payload_bytes, self.pacing_rate);
        self.queue.hand_over(payload_bytes > 0)
    }

    fn describe(&self, start: u64, end: u64) -> Outgoing {
        let has_fin = self.is_finished && end > self.written;
        let payload_bytes = (end - start) as u32 - u32::from(has_fin);
        Outgoing { start, payload_bytes, has_fin, window_reduced: false, ecn_capable: false }
    }

    /// Takes back a segment that was just sent and that the full queue of the sending node refused;
    /// the window is reduced (Linux' local congestion). `packet_bytes` is its length; `None`
    /// without payload.
    pub(crate) fn handle_refused(&mut self, now: Instant, start: u64, packet_bytes: Option<u32>) {
        self.is_refused = true;
        self.is_settled = false;
        if let Some(packet_bytes) = packet_bytes {
            self.queue.take_back(packet_bytes);
        }
        let last = (self.board.len() as usize).checked_sub(1);
        let last = last.and_then(|index| self.board.get(index)).copied();
        if self.board.take_back_retransmission(start, self.queue.number()) {
            self.retransmissions -= 1;
            self.undo.handle_taken_back();
        } else if last.is_some_and(|last| last.start == start && !last.is_repeated()) {
            self.board.pop();
            if let Some(bbr) = self.control.bbr() {
                bbr.rates().take_back();
            }
            self.next = start;
            self.small_end = self.small_end.min(start);
        }
        if self.state.is_reducing() {
            self.reduction.handle_taken_back();
        }
        self.enter_reduction(now);
        if self.board.is_empty() {
            self.timer = None;
            self.arm_persist(now);
        }
    }
}
