//! Reno's congestion window ([RFC 5681](https://www.rfc-editor.org/rfc/rfc5681), 3.1), in segments:
//! slow start, then growth by one segment per round trip, and half the window after a loss. As in
//! Linux, growth counts acknowledged segments, not acknowledgements, so delayed acknowledgements do
//! not slow it down. Left out: recovery across partial acknowledgements (RFC 6582), which makes it
//! NewReno; the sender does that for all controls.

use lasthop_units::Instant;

use super::{Acknowledgement, Control, Window};

/// Smallest threshold in segments (RFC 5681, equation 4).
pub(super) const THRESHOLD_MIN: u32 = 2;

/// Congestion control by Reno's window. All of its state is in the [`Window`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewReno;

impl Control for NewReno {
    fn handle_acknowledgement(
        &mut self,
        _now: Instant,
        ack: &Acknowledgement,
        window: &mut Window,
    ) {
        if !ack.is_limited {
            return;
        }
        let mut segments = ack.segments;
        if window.is_slow_start() {
            segments = window.increase_to_threshold(segments);
        }
        if segments > 0 {
            window.increase_every(window.size, segments);
        }
    }

    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        (window.size / 2).max(THRESHOLD_MIN)
    }

    fn handle_timeout(&mut self, _now: Instant) {}
}
