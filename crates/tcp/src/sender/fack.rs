//! Loss detection by the rules of Linux 3.2 and 3.13. Forward acknowledgements (FACK): all segments
//! below the highest sacked one, except the last three, are lost. Once reordering was seen, [RFC
//! 6675]'s count of sacked segments above applies. A retransmission is lost once a segment sent
//! after it was delivered. 3.13 has early retransmit, after one duplicate and a quarter round trip
//! ([RFC 5827], 3, delayed); in 3.2 a head older than the timeout is lost. See tcp_time_to_recover,
//! tcp_update_scoreboard, tcp_mark_lost_retrans and tcp_pause_early_retransmit. Counts are in
//! segments. Without SACK the rules are those of today.
//!
//! [RFC 5827]: https://www.rfc-editor.org/rfc/rfc5827
//! [RFC 6675]: https://www.rfc-editor.org/rfc/rfc6675

use lasthop_units::{Duration, Instant};

use super::acknowledge::Said;
use super::{Sender, State, Timer};
use crate::Recovery;
use crate::rack::REORDERING_INITIAL;

/// Upper bound to which reordering raises the count (TCP_MAX_REORDERING).
const REORDERING_MAX: u32 = 127;
/// Shortest delay of an early retransmit.
const EARLY_DELAY_MIN: Duration = Duration::from_millis(2);
/// Number of segments in flight below which early retransmit applies.
const EARLY_SEGMENTS: u32 = 4;

impl Sender {
    /// Records that a segment sent once was delivered after one that is `segments` above it
    /// (tcp_update_reordering): FACK is off from then on.
    pub(super) fn note_reordering_by_count(&mut self, segments: u32) {
        if segments > self.rack.reordering {
            self.rack.reordering = segments.min(REORDERING_MAX);
            self.rack.has_reordering = true;
        }
    }

    fn has_fack(&self) -> bool {
        !self.rack.has_reordering
    }

    /// Whether the acknowledgement is a reason to look for losses.
    pub(super) fn may_have_lost(&self, said: &Said) -> bool {
        said.is_duplicate || (said.has_sacked && self.board.forward() > self.rack.reordering)
    }

    /// Looks for losses after an acknowledgement in recovery.
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

    /// Enters recovery after an acknowledgement outside of it, if losses are found.
    /// Returns whether it did.
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

    /// Looks for lost retransmissions (tcp_mark_lost_retrans).
    pub(super) fn count_lost_retransmissions(&mut self) {
        if self.rules.counts() && self.state == State::Recovery && self.has_fack() {
            self.board.lose_retransmissions();
        }
    }

    /// Whether recovery must begin (tcp_time_to_recover).
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
        // Without new data no further acknowledgement can come.
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

    /// Starts the timer of an early retransmit. Returns `false` if it need not be
    /// delayed.
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

    /// Retransmits when the timer of an early retransmit has expired.
    pub(super) fn retransmit_early(&mut self, now: Instant) {
        self.resume_retransmission_timer(now);
        if self.has_fack() && !self.board.is_empty() {
            self.enter_recovery(now, false);
            self.count_losses(now, true);
        }
    }

    /// Marks lost segments (tcp_update_scoreboard). `is_first` is whether recovery begins.
    fn count_losses(&mut self, now: Instant, is_first: bool) {
        // 3.2 marks only segments that were in flight when recovery began.
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

    /// Whether the head is older than the timeout (tcp_head_timedout of 3.2):
    /// possible because the timer restarts with each acknowledgement.
    fn has_head_timed_out(&self, now: Instant) -> bool {
        let timeout = self.round_trip.timeout();
        self.rules == Recovery::Linux32
            && self.has_fack()
            && self.board.head().is_some_and(|head| now.saturating_since(head.at) > timeout)
    }

    /// Whether new data could leave: congestion window, peer and Nagle's rule allow
    /// it (tcp_may_send_now).
    pub(super) fn may_send_new(&self) -> bool {
        self.board.in_flight() < self.window.size && self.next_end(false).is_some()
    }

    /// Index of the segment to retransmit in recovery when nothing is lost and no
    /// new data may leave: the next hole (tcp_can_forward_retransmit).
    pub(super) fn forward_hole(&self) -> Option<usize> {
        let may = self.rules.counts()
            && self.has_sack
            && self.state == State::Recovery
            && self.board.in_flight() < self.window.size;
        if may { self.board.hole() } else { None }
    }

    /// Prevents a burst after an acknowledgement that was out of the ordinary
    /// (tcp_moderate_cwnd of 3.2).
    pub(super) fn moderate(&mut self) {
        if self.rules == Recovery::Linux32 {
            let allowed = self.board.in_flight() + self.rack.reordering;
            self.window.size = self.window.size.min(allowed).max(1);
        }
    }
}
