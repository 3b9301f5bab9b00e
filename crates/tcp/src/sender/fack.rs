//! Losses by the rules of Linux 3.2 and 3.13: forward acknowledgements (FACK: all below
//! the highest selectively acknowledged segment, but for three, is lost) until
//! reordering is seen, then [RFC 6675]'s count of what is sacked above; a retransmission
//! is lost once something sent after it has arrived. With 3.13 a short flight retransmits
//! after one duplicate and a quarter round trip ([RFC 5827], 3, with delay); with 3.2 a
//! head that is older than the timeout is lost. tcp_time_to_recover, tcp_update_scoreboard,
//! tcp_mark_lost_retrans and tcp_pause_early_retransmit.
//!
//! Without selective acknowledgements nothing differs from today.
//!
//! [RFC 5827]: https://www.rfc-editor.org/rfc/rfc5827
//! [RFC 6675]: https://www.rfc-editor.org/rfc/rfc6675

use lasthop_units::{Duration, Instant};

use super::acknowledge::Said;
use super::{Sender, State, Timer};
use crate::Recovery;
use crate::rack::REORDERING_INITIAL;

/// The most that reordering moves the count to (TCP_MAX_REORDERING).
const REORDERING_MAX: u32 = 127;
/// The shortest delay of an early retransmit.
const EARLY_DELAY_MIN: Duration = Duration::from_millis(2);
/// Segments out for which a retransmit may be early: fewer.
const EARLY_SEGMENTS: u32 = 4;

impl Sender {
    /// Something that was sent once arrived so many segments behind the newest
    /// (tcp_update_reordering): from here on FACK is off.
    pub(super) fn note_reordering_by_count(&mut self, segments: u32) {
        if segments > self.rack.reordering {
            self.rack.reordering = segments.min(REORDERING_MAX);
            self.rack.has_reordering = true;
        }
    }

    fn has_fack(&self) -> bool {
        !self.rack.has_reordering
    }

    /// The acknowledgement gives reason to look for losses.
    pub(super) fn may_have_lost(&self, said: &Said) -> bool {
        said.is_duplicate || (said.has_sacked && self.board.forward() > self.rack.reordering)
    }

    /// After an acknowledgement in recovery.
    pub(super) fn count_in_recovery(&mut self, now: Instant, said: &Said) {
        let must_look = if said.is_advance {
            self.board.forward() > self.rack.reordering
        } else {
            self.may_have_lost(said)
        };
        if must_look || self.has_head_timed_out(now) {
            self.count_losses(now, false);
        }
    }

    /// After an acknowledgement outside of recovery. Returns whether recovery begins.
    pub(super) fn count_and_recover(&mut self, now: Instant, said: &Said) -> bool {
        if !self.must_recover(now, said.has_echo) {
            return false;
        }
        self.enter_recovery(now, said.has_echo);
        if self.may_have_lost(said) || self.has_head_timed_out(now) {
            self.count_losses(now, true);
        }
        true
    }

    /// tcp_mark_lost_retrans.
    pub(super) fn count_lost_retransmissions(&mut self) {
        if self.rules.counts() && self.state == State::Recovery && self.has_fack() {
            self.board.lose_retransmissions();
        }
    }

    /// tcp_time_to_recover.
    fn must_recover(&mut self, now: Instant, has_echo: bool) -> bool {
        let (out, sacked) = (self.board.len(), self.board.sacked());
        let reordering = self.rack.reordering;
        let count = if self.has_fack() { self.board.forward() } else { sacked + 1 };
        if self.board.lost() > 0 || count > reordering || self.has_head_timed_out(now) {
            return true;
        }
        if self.may_send_new() {
            return false;
        }
        // Nothing else can come that would be acknowledged.
        if out <= reordering && sacked >= (out / 2).max(REORDERING_INITIAL) {
            return true;
        }
        let is_early = self.rules == Recovery::Linux313
            && self.has_fack()
            && self.board.retransmitted() == 0
            && (1..out).contains(&sacked)
            && out < EARLY_SEGMENTS;
        is_early && !self.delay_early_retransmit(now, has_echo)
    }

    /// Starts the timer of an early retransmit, unless there is no reason to wait.
    fn delay_early_retransmit(&mut self, now: Instant, has_echo: bool) -> bool {
        let Some(smoothed) = self.round_trip.smoothed().filter(|_| !has_echo) else {
            return false;
        };
        let due = now + (smoothed / 4).max(EARLY_DELAY_MIN);
        let is_first = self.timer.is_some_and(|(at, _)| at > due);
        if is_first {
            self.timer = Some((due, Timer::EarlyRetransmit));
        }
        is_first
    }

    /// The timer of an early retransmit has run out.
    pub(super) fn retransmit_early(&mut self, now: Instant) {
        self.resume_retransmission_timer(now);
        if self.has_fack() && !self.board.is_empty() {
            self.enter_recovery(now, false);
            self.count_losses(now, true);
        }
    }

    /// tcp_update_scoreboard. `is_first`: recovery begins.
    fn count_losses(&mut self, now: Instant, is_first: bool) {
        // 3.2 marks only what was out when recovery began.
        let high = if self.rules == Recovery::Linux32 { self.high } else { self.next };
        let reordering = self.rack.reordering;
        if self.has_fack() {
            let lost = self.board.forward().saturating_sub(reordering).max(1);
            self.board.lose_first(lost, high);
        } else if self.board.sacked() >= reordering {
            self.board.lose_below(reordering, high);
        } else if is_first {
            self.board.lose_first(1, high);
        }
        if self.has_head_timed_out(now) {
            self.board.lose_sent_before(now - self.round_trip.timeout());
        }
    }

    /// The timer starts anew with each acknowledgement, so the head may be older than the
    /// timeout (tcp_head_timedout of 3.2).
    fn has_head_timed_out(&self, now: Instant) -> bool {
        let timeout = self.round_trip.timeout();
        self.rules == Recovery::Linux32
            && self.has_fack()
            && self.board.head().is_some_and(|head| now.saturating_since(head.at) > timeout)
    }

    /// New data could leave: window, peer and Nagle allow it (tcp_may_send_now).
    pub(super) fn may_send_new(&self) -> bool {
        self.board.in_flight() < self.window.size && self.next_end(false).is_some()
    }

    /// In recovery, with nothing lost and nothing new to send, the next hole goes again
    /// (tcp_can_forward_retransmit).
    pub(super) fn forward_hole(&self) -> Option<usize> {
        let may = self.rules.counts()
            && self.has_sack
            && self.state == State::Recovery
            && self.board.in_flight() < self.window.size;
        if may { self.board.hole() } else { None }
    }

    /// No burst after an acknowledgement that says something else than "next"
    /// (tcp_moderate_cwnd of 3.2).
    pub(super) fn moderate(&mut self) {
        if self.rules == Recovery::Linux32 {
            let allowed = self.board.in_flight() + self.rack.reordering;
            self.window.size = self.window.size.min(allowed).max(1);
        }
    }
}
