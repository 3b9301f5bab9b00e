//! Undoing an unnecessary reduction: the original arrived after all (Eifel, [RFC 3522], by
//! timestamps), or every retransmission was reported as a duplicate ([RFC 3708]). The sources are
//! Linux' tcp_may_undo and its callers. Windows are in segments. F-RTO, which also undoes
//! reductions, is in `state` and `frto`.
//!
//! [RFC 3522]: https://www.rfc-editor.org/rfc/rfc3522
//! [RFC 3708]: https://www.rfc-editor.org/rfc/rfc3708

use lasthop_units::Instant;

use super::acknowledge::Said;
use super::{Sender, State};

/// State required to undo the present reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Undo {
    /// First unacknowledged byte when the reduction began; `None` if it cannot be undone.
    marker: Option<u64>,
    /// Retransmissions not reported as duplicates; `None` before the first.
    open: Option<u32>,
    /// Time of the first retransmission of this recovery (retrans_stamp).
    first_retransmission: Option<Instant>,
    /// Window and threshold before the reduction; no threshold if the reduction
    /// stands.
    window: u32,
    threshold: Option<u32>,
}

impl Undo {
    pub(super) fn handle_retransmission(&mut self, at: Instant) {
        self.first_retransmission.get_or_insert(at);
        self.open = Some(self.open.unwrap_or(0) + 1);
    }

    pub(super) fn handle_taken_back(&mut self) {
        self.open = self.open.map(|open| open.saturating_sub(1));
    }

    /// Handles the report that `segments` retransmissions, which end at `end`, were duplicates.
    pub(super) fn handle_duplicates(&mut self, end: u64, segments: u32) {
        if self.marker.is_some_and(|marker| end > marker) {
            self.open = self.open.map(|open| open.saturating_sub(segments));
        }
    }

    /// Forgets the retransmissions, because none is in flight any more.
    pub(super) fn forget_retransmissions(&mut self) {
        self.first_retransmission = None;
    }

    /// Records the beginning of a reduction that can be undone.
    pub(super) fn begin(&mut self, una: u64, retransmitted: u32) {
        self.marker = Some(una);
        self.open = (retransmitted > 0).then_some(retransmitted);
    }

    /// Stores the window and the threshold to restore.
    pub(super) fn remember(&mut self, window: u32, threshold: Option<u32>) {
        self.window = window;
        self.threshold = threshold;
    }

    /// Records that the reduction cannot be undone any more.
    pub(super) fn forbid(&mut self) {
        self.marker = None;
    }

    pub(super) fn forbid_threshold(&mut self) {
        self.threshold = None;
    }

    pub(super) fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    fn is_all_duplicate(&self) -> bool {
        self.marker.is_some() && self.open == Some(0)
    }

    /// Whether the acknowledgement answers an original: it echoes a timestamp from before the first
    /// retransmission, or nothing was retransmitted.
    fn is_delayed(&self, echoed: Option<Instant>) -> bool {
        match (self.first_retransmission, echoed) {
            (Some(first), Some(echoed)) => echoed < first,
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    /// Whether the reduction was unnecessary.
    fn is_due(&self, echoed: Option<Instant>) -> bool {
        self.marker.is_some() && (self.open == Some(0) || self.is_delayed(echoed))
    }
}

impl Sender {
    fn undo_reduction(&mut self, must_unmark: bool) {
        if must_unmark {
            self.board.unmark_lost();
        }
        if let Some(threshold) = self.undo.threshold {
            if let Some(bbr) = self.control.bbr() {
                bbr.handle_undo(&mut self.window);
            } else if let Some(prague) = self.control.prague() {
                self.window.size = prague.handle_undo(self.window.size);
            } else {
                self.window.size = self.window.size.max(self.undo.window);
            }
            if threshold > self.window.threshold {
                self.window.threshold = threshold;
                self.must_tell_reduction = false;
            }
        }
        self.undo.forbid();
        self.rack.has_advanced = true;
    }

    /// Undoes an unnecessary reduction after all segments in flight at the start of recovery were
    /// acknowledged. Returns whether the state must be kept for now.
    pub(super) fn try_undo_recovery(&mut self, echoed: Option<Instant>) -> bool {
        if self.undo.is_due(echoed) {
            self.undo_reduction(false);
        }
        if self.must_hold_state() {
            return true;
        }
        self.state = State::Open;
        false
    }

    /// Without SACK the state is kept until a byte above `high` is acknowledged:
    /// until then duplicate acknowledgements caused by retransmissions look like
    /// losses (RFC 6582, 4).
    fn must_hold_state(&mut self) -> bool {
        let must = !self.has_sack && self.una == self.high && !self.board.is_empty();
        if must && !self.has_retransmitted() {
            self.undo.forget_retransmissions();
        }
        must
    }

    pub(super) fn try_undo_duplicates(&mut self) -> bool {
        let must = self.undo.is_all_duplicate();
        if must {
            self.rack.persist_longer();
            self.undo_reduction(false);
        }
        must
    }

    pub(super) fn try_undo_loss(&mut self, echoed: Option<Instant>, is_spurious: bool) -> bool {
        if !is_spurious && !self.undo.is_due(echoed) {
            return false;
        }
        self.undo_reduction(true);
        self.timeouts_in_a_row = 0;
        if !self.must_hold_state() && (is_spurious || self.has_sack) {
            self.state = State::Open;
        }
        true
    }

    /// Undoes the reduction after a partial acknowledgement that answers an
    /// original. Returns whether no further processing is needed.
    pub(super) fn try_undo_partial(&mut self, said: &Said) -> bool {
        if !self.undo.is_possible() || !self.undo.is_delayed(said.echoed) {
            return false;
        }
        if self.rules.counts() {
            self.note_reordering_by_count(self.board.forward() + said.acknowledged);
        } else {
            self.rack.has_reordering = true;
        }
        if self.board.retransmitted() > 0 {
            return true;
        }
        if !self.has_retransmitted() {
            self.undo.forget_retransmissions();
        }
        self.undo_reduction(true);
        self.keep_open();
        false
    }

    /// Whether a segment that is still unacknowledged may have been retransmitted.
    pub(super) fn has_retransmitted(&self) -> bool {
        self.board.retransmitted() > 0 || self.board.head().is_some_and(|head| head.is_repeated())
    }
}
