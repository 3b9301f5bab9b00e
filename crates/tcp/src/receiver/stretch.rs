//! Stretch acknowledgements of macOS: while data arrives fast, a receiver acknowledges every eighth
//! segment and not every second. Rules of xnu-3248.60.10 (macOS 10.11): `tcp_stretch_ack_enable`,
//! `tcp_reset_stretch_ack` and their callers.
//!
//! Left out: PSH, which makes an acknowledgement immediate, and the 15 minutes after which a
//! connection that stopped stretching may begin again.

use lasthop_units::{Duration, Instant};

/// Segments for each acknowledgement while it is stretched (maxseg_unacked).
pub(super) const SEGMENTS: u32 = 8;
/// Time in which bytes are counted (TCPTV_UNACKWIN).
const COUNTED: Duration = Duration::from_millis(100);
/// Time after the end of a count from which the connection was idle (TCPTV_MAXRCVIDLE).
const IDLE: Duration = Duration::from_millis(200);
/// Segments after the start or a loss before which it is not stretched: the sender's slow start
/// (TCP_RCV_SS_PKTCOUNT).
const SLOW_START: u32 = 512;
/// Delayed acknowledgements after which a connection stretches no more
/// (TCP_STRETCHACK_DELAY_THRESHOLD).
const LATE_MAX: u32 = 5;

/// Whether acknowledgements are stretched, and what decides it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretching {
    is_on: bool,
    /// Bytes that arrived before `counted_until`.
    bytes: u64,
    counted_until: Instant,
    /// Segments since the start or the last loss; `None` once it was stretched after that.
    waited: Option<u32>,
    late: u32,
}

impl Stretching {
    pub(super) fn new() -> Self {
        Self { waited: Some(0), ..Self::default() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Handles the arrival of data: decides by the bytes before it, then counts its own.
    pub(super) fn handle_data(&mut self, now: Instant, bytes: u32, segment_bytes: u32) {
        if let Some(waited) = &mut self.waited {
            *waited += 1;
        }
        self.is_on = self.late <= LATE_MAX
            && self.bytes >= u64::from(SEGMENTS * segment_bytes)
            && self.counted_until + IDLE > now
            && self.waited.is_none_or(|segments| segments >= SLOW_START);
        if self.is_on {
            self.waited = None;
        }
        if self.counted_until > now {
            self.bytes += u64::from(bytes);
        } else {
            self.counted_until = now + COUNTED;
            self.bytes = u64::from(bytes);
        }
    }

    /// Handles a loss, a reordering, a congestion mark or a reduced window of the sender, which then
    /// needs acknowledgements to grow.
    pub(super) fn handle_loss(&mut self, now: Instant) {
        self.is_on = false;
        self.bytes = 0;
        self.counted_until = now + COUNTED;
        self.waited = Some(0);
    }

    /// Handles the end of the longest delay of an acknowledgement for `segments` segments: the flow
    /// is too slow.
    pub(super) fn handle_delayed(&mut self, now: Instant, segments: u64) {
        if self.is_on {
            self.late += u32::from(segments > 1 && segments < u64::from(SEGMENTS));
            self.handle_loss(now);
        }
    }
}
