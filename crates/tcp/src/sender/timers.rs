//! The timer of the sender. As in Linux there is one, armed for the earliest of: retransmission
//! timeout (RFC 6298), loss probe (RFC 8985, 7), reordering (RFC 8985, 6.2), closed window (RFC
//! 9293, 3.8.6.1), and in Linux 3.13 early retransmit (RFC 5827). Pacing has a separate timer. Left
//! out: keep-alives and the limit on retransmissions.

use lasthop_units::{Duration, Instant};

use super::transmit::Turn;
use super::{Sender, State};
use crate::Recovery;
use crate::rtt::{TIMEOUT_INITIAL, TIMEOUT_MAX};
use crate::scoreboard::Sent;

/// Addition to the timeouts of loss probes and reordering (Linux' TCP_TIMEOUT_MIN).
const SLACK: Duration = Duration::from_millis(2);
/// Delay of a timeout that is overdue: a later instant, so that the machine is not
/// woken twice at one.
const SOON: Duration = Duration::from_nanos(1);
/// Time for which the probe of a single segment waits for a delayed acknowledgement (tcp_rto_min).
const DELAYED_ACK_MAX: Duration = Duration::from_millis(200);
/// Shortest delay of a loss probe in 3.13.
const PROBE_WAIT_MIN: Duration = Duration::from_millis(10);
/// Shortest interval of window probes (TCP_RTO_MIN).
const PERSIST_MIN: Duration = Duration::from_millis(200);

/// Purpose for which the sender's timer is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    Retransmission,
    LossProbe,
    Reordering,
    EarlyRetransmit,
    Persist,
}

impl Sender {
    pub(crate) fn timeout(&self) -> Option<(Instant, Timer)> {
        self.timer
    }

    /// The time until which a segment waits for pacing.
    pub(crate) fn pacing_due(&self) -> Option<Instant> {
        self.pacer.due()
    }

    /// Handles an expired timer. Returns whether a probe of the peer's closed
    /// window is to be sent.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.pacer.due().is_some_and(|due| due <= now) {
            self.pacer.is_waiting = false;
            self.is_settled = false;
        }
        let Some((_, timer)) = self.timer.filter(|&(due, _)| due <= now) else {
            return false;
        };
        self.timer = None;
        self.is_refused = false;
        self.is_settled = false;
        match timer {
            Timer::Retransmission => self.handle_retransmission_timeout(now),
            Timer::LossProbe => {
                // In 3.13 only a probe without new data waits for its acknowledgement.
                let may_send = self.rules == Recovery::Linux313 && self.next < self.end();
                if self.probe.is_none() || may_send {
                    self.turn = Turn::Probe;
                    self.set_retransmission_timer(now);
                } else {
                    self.resume_retransmission_timer(now);
                }
            }
            Timer::Reordering => self.handle_reordering_timeout(now),
            Timer::EarlyRetransmit => self.retransmit_early(now),
            Timer::Persist => {
                self.persist_backoff = (self.persist_backoff + 1).min(16);
                self.arm_persist(now);
                return self.next >= self.window_end;
            }
        }
        false
    }

    fn handle_retransmission_timeout(&mut self, now: Instant) {
        if self.board.is_empty() {
            return;
        }
        self.enter_loss(now);
        self.timeouts += 1;
        self.timeouts_in_a_row += 1;
        self.round_trip.back_off();
        self.set_retransmission_timer(now);
    }

    fn handle_reordering_timeout(&mut self, now: Instant) {
        let lost_before = self.board.lost_ever();
        self.update_rack_window();
        self.board.detect_losses(now, &self.rack);
        let newly_lost = (self.board.lost_ever() - lost_before) as u32;
        if newly_lost > 0 && self.state != State::Recovery {
            self.enter_recovery(now, false);
            self.reduce(1, newly_lost, false);
        }
        self.report_losses(now);
        self.resume_retransmission_timer(now);
    }

    /// Arms the retransmission timeout, starting from `now`.
    pub(super) fn set_retransmission_timer(&mut self, now: Instant) {
        self.timer = Some((now + self.round_trip.timeout(), Timer::Retransmission));
    }

    /// Arms the retransmission timeout, or stops the timer if nothing is in flight.
    /// After another timer, the time since the head was sent counts.
    pub(super) fn rearm(&mut self, now: Instant) {
        if matches!(
            self.timer,
            Some((_, Timer::LossProbe | Timer::Reordering | Timer::EarlyRetransmit))
        ) {
            self.resume_retransmission_timer(now);
        } else if self.board.is_empty() {
            self.timer = None;
        } else {
            self.set_retransmission_timer(now);
        }
    }

    /// Arms the retransmission timeout instead of another timer, measured from the last
    /// transmission of the head (tcp_rearm_rto).
    pub(super) fn resume_retransmission_timer(&mut self, now: Instant) {
        let due = |head: &Sent| (head.at + self.round_trip.timeout()).max(now + SOON);
        self.timer = self.board.head().map(due).map(|due| (due, Timer::Retransmission));
    }

    /// Arms the loss probe, or else the retransmission timeout, after the acknowledgement advanced.
    pub(super) fn restart_timer(&mut self, now: Instant) {
        if !self.schedule_probe(now, true) {
            self.rearm(now);
        }
    }

    /// Arms the timer of a loss probe if one may be sent (RFC 8985, 7.2). Returns
    /// whether it did.
    pub(super) fn schedule_probe(&mut self, now: Instant, is_advance: bool) -> bool {
        match self.rules {
            Recovery::Linux32 => return false,
            Recovery::Linux313 => {
                self.schedule_probe_or_timeout(now);
                return true;
            }
            Recovery::Today => {}
        }
        let may_probe = self.has_sack && matches!(self.state, State::Open | State::Reduced);
        let Some(head) = self.board.head().filter(|_| may_probe) else {
            return false;
        };
        let mut wait = match self.round_trip.smoothed() {
            Some(smoothed) if self.board.len() == 1 => smoothed * 2 + DELAYED_ACK_MAX,
            Some(smoothed) => smoothed * 2 + SLACK,
            None => TIMEOUT_INITIAL,
        };
        // Not later than the retransmission timeout.
        let timeout = self.round_trip.timeout();
        let left = if is_advance { timeout } else { (head.at + timeout).saturating_since(now) };
        if !left.is_zero() && left < wait {
            wait = left;
        }
        self.timer = Some((now + wait, Timer::LossProbe));
        true
    }

    /// Rearms the retransmission timeout after an acknowledgement arrived or new data left while a
    /// loss probe or an early retransmit was pending (tcp_rearm_rto of 3.13).
    pub(super) fn resume_after_probe(&mut self, now: Instant) {
        if self.rules == Recovery::Linux313
            && matches!(self.timer, Some((_, Timer::LossProbe | Timer::EarlyRetransmit)))
        {
            self.resume_retransmission_timer(now);
        }
    }

    /// Replaces the retransmission timeout by a loss probe if the window or a lack
    /// of data stops the sender (tcp_schedule_loss_probe of 3.13).
    fn schedule_probe_or_timeout(&mut self, now: Instant) {
        if matches!(self.timer, Some((_, Timer::LossProbe))) {
            self.resume_after_probe(now);
        }
        let Some((timeout, Timer::Retransmission)) = self.timer else { return };
        let Some(smoothed) = self.round_trip.smoothed() else { return };
        let is_stopped = self.board.in_flight() >= self.window.size || self.next >= self.end();
        if !self.has_sack || self.state != State::Open || self.board.is_empty() || !is_stopped {
            return;
        }
        let mut wait = (smoothed * 2).max(PROBE_WAIT_MIN);
        if self.board.len() == 1 {
            wait = wait.max(smoothed * 3 / 2 + DELAYED_ACK_MAX);
        }
        let due = (now + wait).min(timeout.max(now + SOON));
        self.timer = Some((due, Timer::LossProbe));
    }

    /// Arms the timer to look for losses again after `wait`.
    pub(super) fn set_reordering_timer(&mut self, now: Instant, wait: Duration) {
        self.timer = Some((now + wait + SLACK, Timer::Reordering));
    }

    /// Arms the timer of window probes, if no segment is in flight and there is data that may not
    /// be sent.
    pub(super) fn arm_persist(&mut self, now: Instant) {
        if !self.board.is_empty() || self.timer.is_some() || self.next >= self.end() {
            return;
        }
        let is_stuck = self.next >= self.window_end || self.is_refused;
        if is_stuck {
            let interval = self.round_trip.timeout().max(PERSIST_MIN) * (1 << self.persist_backoff);
            self.timer = Some((now + interval.min(TIMEOUT_MAX), Timer::Persist));
        }
    }
}
