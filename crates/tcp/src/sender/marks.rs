//! The sender beside congestion controls that work by the share of marked packets, DCTCP and Prague
//! ([`crate::congestion::Dctcp`], [`crate::congestion::Prague`]). With other controls every function
//! has no effect. Windows are in segments.

use lasthop_units::Instant;

use super::Sender;
use super::acknowledge::Said;
use crate::congestion::{CongestionControl, Control, DeliveryReport, Moment, NewReno};

/// Largest buffer of segments with Prague: 2^-12 seconds at its rate (prague_burst_shift).
const PRAGUE_BUFFER_SHIFT: u8 = 12;

impl Sender {
    fn moment(&self, now: Instant, in_flight_before: u32) -> Moment {
        Moment {
            now,
            smoothed: self.round_trip.smoothed(),
            in_flight: self.board.in_flight(),
            state: self.state,
            is_limited: self.validation.is_limited(in_flight_before, &self.window),
        }
    }

    fn delivered(&self, said: &Said) -> DeliveryReport {
        DeliveryReport {
            packets: said.delivered,
            marked: said.marked,
            acknowledged: self.una,
            next: self.next,
        }
    }

    /// Starts the control when the connection opens. Without accurate feedback it is NewReno (the
    /// fallback of Linux' dctcp and prague).
    pub(super) fn open_by_marks(&mut self, now: Instant) {
        let needs_marks =
            matches!(self.control, CongestionControl::Dctcp(_) | CongestionControl::Prague(_));
        if !needs_marks {
            return;
        }
        if self.marks.is_none() {
            self.control = CongestionControl::NewReno(NewReno);
            self.needs_rate = true;
            return;
        }
        let at = self.moment(now, 0);
        if let Some(prague) = self.control.prague() {
            prague.open(&at, &self.window);
            self.pacing_rate = prague.pacing_rate();
            self.queue.limit_buffers(PRAGUE_BUFFER_SHIFT);
        }
    }

    /// Whether packets have ECT(1).
    pub(crate) fn is_l4s(&self) -> bool {
        matches!(self.control, CongestionControl::Prague(_))
    }

    /// Tells the control of marks, before the state is known.
    pub(super) fn report_marks(&mut self, said: &Said) {
        let report = self.delivered(said);
        self.control.handle_delivered(&report);
    }

    /// Tells the control that a reduction without a loss has begun.
    pub(super) fn answer_mark(&mut self, now: Instant) {
        if let Some(prague) = self.control.prague() {
            prague.handle_mark(now, &self.window);
        }
    }

    /// Lets Prague control window and pacing rate by an acknowledgement. Returns whether it does.
    pub(super) fn control_by_marks(
        &mut self,
        now: Instant,
        said: &Said,
        in_flight_before: u32,
    ) -> bool {
        if !self.is_l4s() {
            return false;
        }
        let at = self.moment(now, in_flight_before);
        let report = self.delivered(said);
        if let Some(prague) = self.control.prague() {
            prague.control(&at, &report, &mut self.window);
            self.pacing_rate = prague.pacing_rate();
        }
        true
    }
}
