//! Reno's window: slow start, then one segment a round trip, half after a loss
//! ([RFC 5681](https://www.rfc-editor.org/rfc/rfc5681), 3.1). What makes it
//! NewReno, staying in recovery over partial acknowledgements (RFC 6582), is the
//! sender's part. Segments are counted, not acknowledgements, so delayed
//! acknowledgements do not slow it down; so does Linux.

use lasthop_units::Instant;

use super::{Acknowledgement, Control, Window};

/// The smallest threshold in segments (RFC 5681, equation 4).
pub(super) const THRESHOLD_MIN: u32 = 2;

/// Reno. It has no state of its own: all is in the [`Window`].
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
