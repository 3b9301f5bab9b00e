//! F-RTO as in Linux before 3.10 ([RFC 4138], with selective acknowledgements). A timeout
//! retransmits the head and marks nothing as lost. The first acknowledgement that advances allows
//! two new segments. If the next one is for data that was sent once, the timeout was spurious and
//! the window is halved gradually; otherwise everything is lost. See tcp_enter_frto,
//! tcp_process_frto and tcp_enter_frto_loss. Windows are in segments. Left out: F-RTO without SACK.
//!
//! [RFC 4138]: https://www.rfc-editor.org/rfc/rfc4138

use lasthop_units::Instant;

use super::acknowledge::Said;
use super::transmit::Turn;
use super::{Sender, State};
use crate::congestion::Control;

/// Current step of the detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    /// No detection in progress.
    #[default]
    Off,
    /// The head was retransmitted.
    Head,
    /// New segments were sent after it.
    NewData,
}

/// The state of F-RTO until 3.9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Frto {
    pub step: Step,
    /// End of the data in flight at the timeout (frto_highmark).
    pub high: u64,
}

impl Frto {
    pub fn is_on(&self) -> bool {
        self.step != Step::Off
    }
}

impl Sender {
    /// Starts the detection at a retransmission timeout (tcp_enter_frto).
    pub(super) fn enter_frto(&mut self, now: Instant) {
        let is_on = self.frto.is_on();
        let is_undisturbed = !is_on && matches!(self.state, State::Open | State::Disorder);
        let is_again = (is_on || self.state == State::Loss) && self.timeouts_in_a_row == 0;
        if is_undisturbed || self.una == self.high || is_again {
            self.undo.remember(self.window.size, Some(self.current_threshold()));
            let window = self.window.size;
            if is_on {
                // The former timeout did not reduce the window yet.
                self.window.size = 2;
            }
            self.lower_threshold(now);
            self.window.size = window;
        }
        self.undo.begin(self.una, 0);
        if self.board.head().is_some_and(|head| head.is_repeated()) {
            self.undo.forbid();
        }
        self.board.forget_head_retransmission();
        self.window.size = self.window.size.min(self.board.in_flight() + 1);
        let was_recovering = is_on || matches!(self.state, State::Recovery | State::Loss);
        let high = if was_recovering && self.high > self.una { self.high } else { self.next };
        self.frto = Frto { step: Step::Head, high };
        self.state = State::Disorder;
        self.high = self.next;
        self.turn = Turn::Head;
    }

    /// Handles an acknowledgement during the detection (tcp_process_frto). Returns whether the
    /// window must not grow.
    pub(super) fn process_frto(&mut self, now: Instant, said: &Said) -> bool {
        let step = self.frto.step;
        let has_acknowledged = said.acknowledged > 0;
        if said.has_later_retransmission || (step == Step::NewData && said.has_retransmission) {
            self.undo.forbid();
        }
        if self.una >= self.frto.high {
            self.lose_after_frto(now, if step == Step::Head { 2 } else { 3 }, has_acknowledged);
            return true;
        }
        if step == Step::Head {
            if !has_acknowledged {
                self.window.size = self.window.size.min(self.board.in_flight()).max(1);
                return true;
            }
            self.window.size = self.board.in_flight() + 2;
            self.frto.step = Step::NewData;
            if self.may_send_new() {
                self.turn = Turn::Usual;
            } else {
                self.lose_after_frto(now, 2, true);
            }
            return true;
        }
        let has_progress = has_acknowledged || said.has_sacked;
        if !has_progress || (said.has_sacked && !said.has_only_originals) {
            if has_progress || said.is_duplicate {
                self.lose_after_frto(now, 3, has_acknowledged);
            }
            return true;
        }
        // Spurious: the default response, tcp_ratehalving_spur_to_response.
        self.begin_halving(now, false);
        self.frto.step = Step::Off;
        self.undo.forbid();
        false
    }

    /// Handles a timeout that was not spurious (tcp_enter_frto_loss): `allowed` segments may be
    /// sent.
    fn lose_after_frto(&mut self, now: Instant, allowed: u32, has_acknowledged: bool) {
        let keeps_head = self.frto.step == Step::Head && !has_acknowledged;
        if self.board.has_repeated(usize::from(keeps_head)) {
            self.undo.forbid();
        }
        self.board.lose_all_but_retransmissions(keeps_head);
        self.control.handle_timeout(now);
        self.window.size = (self.board.in_flight() + allowed).max(1);
        self.window.fraction = 0;
        self.frto.step = Step::Off;
        self.rack.reordering = self.rack.reordering.min(crate::rack::REORDERING_INITIAL);
        self.state = State::Loss;
        self.high = self.next;
        self.must_tell_reduction = self.has_ecn;
        self.turn = Turn::Usual;
    }

    /// Reduces the window without a loss by the rule before 3.7 (tcp_enter_cwr): it shrinks by one
    /// segment for every two acknowledgements (tcp_cwnd_down). `must_lower` states whether the slow
    /// start threshold is also lowered.
    pub(super) fn begin_halving(&mut self, now: Instant, must_lower: bool) {
        if !matches!(self.state, State::Open | State::Disorder) {
            return;
        }
        self.undo.forbid();
        if must_lower {
            self.lower_threshold(now);
        }
        self.window.size = self.window.size.min(self.board.in_flight() + 1);
        self.window.fraction = 0;
        self.high = self.next;
        self.must_tell_reduction = self.has_ecn;
        self.state = State::Reduced;
    }

    /// Reduces the window by one segment with every second acknowledgement.
    pub(super) fn halve(&mut self, said: &Said) {
        let has_progress = said.is_advance || said.has_sacked || said.has_duplicate;
        if !has_progress && (self.has_sack || !said.is_duplicate) {
            return;
        }
        let steps = self.window.fraction + 1;
        self.window.fraction = steps & 1;
        if steps >> 1 > 0 && self.window.size > self.window.threshold {
            self.window.size -= steps >> 1;
        }
        self.window.size = self.window.size.min(self.board.in_flight() + 1).max(1);
    }
}
