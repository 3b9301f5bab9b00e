//! Reno's congestion window of Linux 3.2 and 3.13 (tcp_reno_cong_avoid), in segments. Congestion
//! avoidance counts acknowledgements, not acknowledged segments, so delayed acknowledgements halve
//! its growth; before 3.13 slow start does so, too. All else is as in [`super::NewReno`].

use lasthop_units::Instant;

use super::new_reno::THRESHOLD_MIN;
use super::{Acknowledgement, Control, Window};
use crate::Recovery;

/// Reno of Linux 3.2 and 3.13.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenoLinux3(pub(super) Recovery);

impl Control for RenoLinux3 {
    fn handle_acknowledgement(
        &mut self,
        _now: Instant,
        ack: &Acknowledgement,
        window: &mut Window,
    ) {
        if !ack.is_limited {
            return;
        }
        if window.may_start_slowly() {
            window.start_slowly(self.0, ack.segments);
        } else {
            window.count_acknowledgement(window.size);
        }
    }

    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        (window.size / 2).max(THRESHOLD_MIN)
    }

    fn handle_timeout(&mut self, _now: Instant) {}
}
