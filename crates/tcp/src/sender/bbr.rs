//! The sender beside BBR ([`crate::congestion::Bbr`]): it reports transmissions, deliveries, losses
//! and idle times, and adopts the window and the pacing rate. Every function has no effect with
//! other controls. The source is Linux' tcp_cong_control and tcp_rate.c. Windows are in segments.

use lasthop_units::Instant;

use super::Sender;
use super::acknowledge::Said;
use crate::congestion::Now;

impl Sender {
    fn now(&self, now: Instant) -> Now {
        Now {
            now,
            departure: self.pacer.next(),
            in_flight: self.board.in_flight(),
            state: self.state,
            smoothed: self.round_trip.smoothed(),
        }
    }

    /// Records that data leaves that ends at `end`. Call it before the scoreboard and the pacer
    /// count it.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Instant, end: u64) {
        if self.has_model {
            self.report_sent(now, end);
        }
    }

    fn report_sent(&mut self, now: Instant, end: u64) {
        let at = self.now(now);
        let Some(bbr) = self.control.bbr() else { return };
        if at.in_flight == 0 {
            bbr.handle_start(&at, &mut self.window);
            self.pacing_rate = bbr.pacing_rate();
        }
        if at.in_flight + 1 >= self.window.size {
            bbr.handle_full_window();
        }
        bbr.rates().set_in_flight(at.in_flight);
        bbr.rates().handle_sent(now, end, self.board.is_empty());
    }

    /// Marks samples as limited by the application, if it writes when nothing else stops the sender
    /// (tcp_rate_check_app_limited).
    pub(super) fn note_limit_of_application(&mut self) {
        if !self.has_model {
            return;
        }
        let in_flight = self.board.in_flight();
        let is_limited = self.written.saturating_sub(self.next) < u64::from(self.segment_bytes)
            && self.queue.is_empty()
            && in_flight < self.window.size
            && self.board.lost() <= self.board.retransmitted();
        if let Some(bbr) = self.control.bbr().filter(|_| is_limited) {
            bbr.rates().limit(in_flight);
        }
    }

    /// Reports segments that were found to be lost since the last report, if the control needs them.
    pub(super) fn report_losses(&mut self, now: Instant) {
        let Some(bbr) = self.control.bbr().filter(|bbr| bbr.needs_losses()) else { return };
        if self.board.lost_ever() == bbr.rates().lost() {
            return;
        }
        for index in 0..self.board.len() as usize {
            let lost = self.board.get(index).filter(|segment| segment.is_missing());
            if let Some(loss) = lost.and_then(|segment| bbr.rates().find_loss(segment.end())) {
                bbr.handle_loss(now, &loss, &self.window);
            }
        }
    }

    /// Lets BBR control window and pacing rate by an acknowledgement. Returns whether it does.
    #[inline]
    pub(super) fn control_by_model(
        &mut self,
        now: Instant,
        said: &Said,
        in_flight: u32,
        newly_lost: u32,
    ) -> bool {
        if !self.has_model {
            return false;
        }
        self.report_acknowledgement(now, said, in_flight, newly_lost);
        true
    }

    fn report_acknowledgement(
        &mut self,
        now: Instant,
        said: &Said,
        in_flight: u32,
        newly_lost: u32,
    ) {
        let Some(bbr) = self.control.bbr() else { return };
        bbr.rates().count_delivered(now, said.delivered);
        self.report_losses(now);
        let at = self.now(now);
        let minimum = self.round_trip.minimum();
        let Some(bbr) = self.control.bbr() else { return };
        bbr.rates().set_lost(self.board.lost_ever());
        bbr.rates().handle_acknowledged(self.una);
        let mut sample = bbr.rates().sample(now, said.delivered, newly_lost, minimum);
        sample.prior_in_flight = in_flight;
        sample.round_trip = said.latest;
        // FLAG_ACK_MAYBE_DELAYED of tcp_clean_rtx_queue.
        sample.is_delayed = said.is_short
            && !said.has_sacked
            && !said.has_duplicate
            && !said.has_echo
            && sample.prior_delivered + 1 == bbr.rates().delivered();
        bbr.control(&at, &sample, &mut self.window);
        self.pacing_rate = bbr.pacing_rate();
    }
}
