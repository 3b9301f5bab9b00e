//! The states of congestion control and their transitions: Linux'
//! tcp_fastretrans_alert, with recovery by [RFC 6675] and RACK, or by [RFC 6582]
//! without SACK; proportional rate reduction ([RFC 6937]); F-RTO ([RFC 5682]) after
//! timeouts. Windows are in segments, positions in bytes of the stream.
//!
//! [RFC 5682]: https://www.rfc-editor.org/rfc/rfc5682
//! [RFC 6582]: https://www.rfc-editor.org/rfc/rfc6582
//! [RFC 6675]: https://www.rfc-editor.org/rfc/rfc6675
//! [RFC 6937]: https://www.rfc-editor.org/rfc/rfc6937

use lasthop_units::Instant;

use super::Sender;
use super::acknowledge::Said;
use super::transmit::Turn;
use crate::Recovery;
use crate::congestion::Control;
use crate::prr::{Delivery, ProportionalRateReduction, ReductionBound};
use crate::rack::REORDERING_INITIAL;

/// The state of congestion control (Linux' tcp_ca_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No loss, reordering or reduction.
    Open,
    /// Segments arrived out of order.
    Disorder,
    /// The window is being reduced without a loss: the network or the sending
    /// node's queues signalled congestion (CWR).
    Reduced,
    /// Lost segments are retransmitted (fast recovery).
    Recovery,
    /// The state after a retransmission timeout.
    Loss,
}

impl State {
    /// Whether the window is being reduced in proportion to the delivered segments.
    pub(super) fn is_reducing(self) -> bool {
        matches!(self, Self::Reduced | Self::Recovery)
    }
}

impl Sender {
    /// Changes the state after an acknowledgement that reports more than progress
    /// in order, or in a state other than open.
    pub(super) fn process(&mut self, now: Instant, said: &mut Said) {
        if self.board.is_empty() && !self.has_sack {
            self.board.clear_anonymous();
        }
        if said.has_echo {
            self.undo.forbid_threshold();
        }
        if self.state == State::Open {
            self.undo.forget_retransmissions();
        } else if self.una >= self.high && self.try_leave(said) {
            return;
        }
        match self.state {
            State::Recovery => self.process_recovery(now, said),
            State::Loss => {
                self.process_loss(said);
                if self.rules.counts() {
                    if self.state == State::Open {
                        self.process_usual(now, said);
                    } else {
                        self.moderate();
                    }
                    return;
                }
                self.identify_losses(now, said);
                if self.state == State::Open || said.has_lost_retransmission {
                    self.process_usual(now, said);
                }
            }
            State::Open | State::Disorder | State::Reduced => self.process_usual(now, said),
        }
    }

    /// Leaves the state if all segments in flight at its beginning are acknowledged. Returns
    /// whether no further processing is needed.
    fn try_leave(&mut self, said: &Said) -> bool {
        match self.state {
            // A byte above must be acknowledged: only then has the peer received CWR.
            State::Reduced if self.una > self.high => {
                self.end_reduction();
                self.state = State::Open;
            }
            State::Recovery => {
                if !self.has_sack {
                    self.board.clear_anonymous();
                }
                if self.try_undo_recovery(said.echoed) {
                    return true;
                }
                self.end_reduction_of(State::Recovery);
                self.rack.handle_recovered();
            }
            _ => {}
        }
        false
    }

    fn process_recovery(&mut self, now: Instant, said: &mut Said) {
        if !said.is_advance {
            if !self.has_sack {
                said.delivered += self.board.add_anonymous(said.duplicates);
            }
        } else if self.try_undo_partial(said) {
            return;
        }
        if self.rules.counts() && self.has_sack {
            // In 3.2 reported duplicates undo nothing in recovery.
            if self.rules != Recovery::Linux32 && self.try_undo_duplicates() {
                self.keep_open();
            } else {
                self.count_in_recovery(now, said);
            }
            return;
        }
        if self.try_undo_duplicates() {
            self.try_to_open(now, said);
        }
        self.identify_losses(now, said);
        if self.state != State::Recovery && self.board.lost() > 0 {
            self.enter_recovery(now, said.has_echo);
        }
    }

    fn process_usual(&mut self, now: Instant, said: &mut Said) {
        if !self.has_sack {
            if said.is_advance {
                self.board.clear_anonymous();
            }
            said.delivered += self.board.add_anonymous(said.duplicates);
        }
        if matches!(self.state, State::Open | State::Disorder) {
            self.try_undo_duplicates();
        }
        if self.frto.is_on() {
            return self.try_to_open(now, said);
        }
        if self.rules.counts() && self.has_sack {
            if !self.count_and_recover(now, said) {
                self.try_to_open(now, said);
            }
            return;
        }
        self.identify_losses(now, said);
        if self.board.lost() > 0 {
            self.enter_recovery(now, said.has_echo);
        } else {
            self.try_to_open(now, said);
        }
    }

    /// Handles an acknowledgement after a timeout (RFC 5682, 3.1, the version with selective
    /// acknowledgements).
    fn process_loss(&mut self, said: &mut Said) {
        let is_recovered = self.una >= self.high;
        if said.is_advance && self.try_undo_loss(said.echoed, false) {
            return;
        }
        if self.is_timeout_doubtful {
            // Step 3b: a segment was delivered that was sent once.
            if said.has_original && self.try_undo_loss(said.echoed, true) {
                return;
            }
            if self.next > self.high {
                // Step 3a.
                if said.has_sacked || said.duplicates > 0 {
                    self.is_timeout_doubtful = false;
                }
            } else if said.is_advance && !is_recovered {
                // Step 2b.
                self.high = self.next;
                if self.next < self.end() && self.next < self.window_end {
                    self.turn = Turn::NewData(false);
                    return;
                }
                self.is_timeout_doubtful = false;
            }
        }
        if is_recovered {
            self.try_undo_recovery(said.echoed);
            return;
        }
        if !self.has_sack {
            // Duplicate acknowledgements of data sent before the timeout say nothing, those
            // of data sent after it do.
            if self.next > self.high && said.duplicates > 0 {
                said.delivered += self.board.add_anonymous(said.duplicates);
            } else if said.is_advance {
                self.board.clear_anonymous();
            }
        }
    }

    /// Looks for losses after an acknowledgement.
    fn identify_losses(&mut self, now: Instant, said: &mut Said) {
        if self.board.is_empty() {
            return;
        }
        if !self.has_sack {
            let is_threshold = !matches!(self.state, State::Recovery | State::Loss)
                && self.board.sacked() >= self.rack.reordering;
            if is_threshold || (self.state == State::Recovery && said.is_advance) {
                self.board.mark_lost(0);
            }
            return;
        }
        if !self.rack.has_advanced {
            return;
        }
        self.rack.has_advanced = false;
        let retransmitted_before = self.board.retransmitted();
        self.update_rack_window();
        if let Some(wait) = self.board.detect_losses(now, &self.rack) {
            self.set_reordering_timer(now, wait);
            said.must_restart_timer = false;
        }
        said.has_lost_retransmission |= self.board.retransmitted() < retransmitted_before;
    }

    pub(super) fn update_rack_window(&mut self) {
        self.rack.update_window(
            matches!(self.state, State::Recovery | State::Loss),
            self.board.sacked(),
            self.round_trip.minimum(),
            self.round_trip.smoothed(),
        );
    }

    fn try_to_open(&mut self, now: Instant, said: &Said) {
        if !self.has_retransmitted() {
            self.undo.forget_retransmissions();
        }
        if said.has_echo {
            self.enter_reduction(now);
        }
        if self.state != State::Reduced {
            self.keep_open();
            self.moderate();
        }
    }

    /// Returns to open, or to disorder while some segment is sacked, lost or
    /// retransmitted.
    pub(super) fn keep_open(&mut self) {
        let is_disorder = self.board.sacked() + self.board.lost() > 0 || self.has_retransmitted();
        let state = if is_disorder { State::Disorder } else { State::Open };
        if self.state != state {
            self.state = state;
            self.high = self.next;
        }
    }

    /// Reduces the window without a loss, once per round trip.
    pub(super) fn enter_reduction(&mut self, now: Instant) {
        self.undo.forbid_threshold();
        if self.rules == Recovery::Linux32 {
            self.begin_halving(now, true);
        } else if matches!(self.state, State::Open | State::Disorder) {
            self.undo.forbid();
            self.begin_reduction(now);
            self.state = State::Reduced;
            self.answer_mark(now);
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Instant, has_echo: bool) {
        let counts_probe = self.rules == Recovery::Today;
        let is_probe = self.probe.is_some_and(|probe| probe.is_retransmission && counts_probe);
        let probes = u32::from(is_probe);
        self.undo.begin(self.una, self.board.retransmitted() + probes);
        let (window, threshold) = (self.window.size, self.current_threshold());
        if !self.state.is_reducing() {
            self.undo.remember(window, (!has_echo).then_some(threshold));
            self.begin_reduction(now);
        } else {
            self.undo.forbid_threshold();
            if self.rules == Recovery::Linux32 {
                self.high = self.next;
                self.begin_proportional_reduction();
            }
        }
        self.state = State::Recovery;
        self.control.handle_lost(&mut self.window);
    }

    fn begin_reduction(&mut self, now: Instant) {
        self.high = self.next;
        self.probe = None;
        self.window.fraction = 0;
        self.lower_threshold(now);
        self.begin_proportional_reduction();
        self.must_tell_reduction = self.has_ecn;
    }

    fn begin_proportional_reduction(&mut self) {
        // The bound is conservative in part since 4.3 (commit 3759824da87b).
        let bound =
            if self.rules.counts() { ReductionBound::SlowStart } else { ReductionBound::Linux };
        self.window.fraction = 0;
        self.reduction =
            ProportionalRateReduction::new(bound, self.window.size, self.window.threshold);
    }

    pub(super) fn lower_threshold(&mut self, now: Instant) {
        let threshold = self.control.threshold_after_loss(now, &self.window);
        let in_flight = self.board.in_flight();
        self.window.threshold =
            self.validation.threshold_after_loss(in_flight, threshold, &self.window).max(2);
    }

    /// Sets the window after `delivered` segments: the segments in flight plus the number that
    /// proportional rate reduction permits.
    pub(super) fn reduce(&mut self, delivered: u32, newly_lost: u32, is_advance: bool) {
        if delivered == 0 || self.control.sets_window() {
            return;
        }
        let in_flight = self.board.in_flight();
        let delivery = Delivery { segments: delivered, in_flight, newly_lost, is_advance };
        self.window.size = (in_flight + self.reduction.handle_delivery(&delivery)).max(1);
    }

    fn end_reduction(&mut self) {
        self.end_reduction_of(self.state);
    }

    /// Sets the window to the target of the reduction, unless the reduction was
    /// undone.
    fn end_reduction_of(&mut self, state: State) {
        let is_reduced = state == State::Reduced && self.rules != Recovery::Linux32;
        let stands = is_reduced || self.undo.is_possible();
        // BBR and Prague restore the window themselves (tcp_end_cwnd_reduction).
        if stands && self.window.threshold < u32::MAX && !self.control.sets_window() {
            self.window.size = self.window.threshold;
        }
    }

    /// Handles a retransmission timeout.
    pub(super) fn enter_loss(&mut self, now: Instant) {
        if self.rules == Recovery::Linux32 && self.has_sack {
            return self.enter_frto(now);
        }
        let mut is_new = !matches!(self.state, State::Recovery | State::Loss);
        // Lowers the threshold once per flight.
        let must_lower = matches!(self.state, State::Open | State::Disorder)
            || self.high <= self.una
            || (self.state == State::Loss && self.timeouts_in_a_row == 0);
        if !self.has_sack {
            self.board.clear_anonymous();
        }
        self.known_sacks = Default::default();
        let was_repeated = self.board.has_repeated(0);
        if self.rules.counts() {
            let is_disordered = matches!(self.state, State::Open | State::Disorder)
                && self.board.sacked() >= REORDERING_INITIAL;
            if is_disordered {
                self.rack.reordering = REORDERING_INITIAL;
            }
            is_new = must_lower;
            self.undo.begin(self.una, 0);
            self.board.lose_everything();
        } else {
            self.board.mark_all_lost(now, self.has_sack.then_some(&self.rack));
        }
        if must_lower {
            let retransmitted = self.board.retransmitted();
            self.undo.begin(self.una, retransmitted);
            self.undo.remember(self.window.size, Some(self.current_threshold()));
            self.lower_threshold(now);
            self.control.handle_lost(&mut self.window);
        }
        if self.rules.counts() && was_repeated {
            self.undo.forbid();
        }
        self.report_losses(now);
        if let Some(bbr) = self.control.bbr() {
            bbr.rates().set_lost(self.board.lost_ever());
            bbr.handle_timeout_window(&self.window);
        }
        self.control.handle_timeout(now);
        self.window.size = self.board.in_flight() + 1;
        self.window.fraction = 0;
        self.state = State::Loss;
        self.high = self.next;
        self.probe = None;
        self.must_tell_reduction = self.has_ecn;
        // F-RTO of 3.2 without SACK is left out.
        self.is_timeout_doubtful =
            self.rules != Recovery::Linux32 && (is_new || self.timeouts_in_a_row > 0);
        self.turn = Turn::Usual;
    }

    /// Reduces the window at once, because the acknowledgement of a loss probe shows that a segment
    /// was lost (RFC 8985, 7.4).
    pub(super) fn reduce_for_probe(&mut self, now: Instant) {
        self.begin_reduction(now);
        self.answer_mark(now);
        self.end_reduction_of(State::Reduced);
        self.state = State::Reduced;
        self.keep_open();
    }

    /// The threshold to restore if the next reduction is undone
    /// (tcp_current_ssthresh).
    pub(super) fn current_threshold(&self) -> u32 {
        if self.state.is_reducing() {
            self.window.threshold
        } else {
            self.window.threshold.max(self.window.size / 2 + self.window.size / 4)
        }
    }
}
