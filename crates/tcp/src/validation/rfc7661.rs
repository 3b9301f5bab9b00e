//! Congestion window validation of [RFC 7661](https://www.rfc-editor.org/rfc/rfc7661). A window is
//! validated while at least half of it is acknowledged in a round trip (pipeACK). A non-validated
//! window may be used for five minutes but does not grow, and a loss reduces it to half of the part
//! in actual use. Windows are in segments.
//!
//! Left out: subtracting retransmissions at the end of recovery (4.4.2), and pacing of bulk data
//! after a pause (4.4.1).

use lasthop_units::{Duration, Instant};

use super::keep_threshold;
use crate::congestion::Window;

/// Time for which a window may stay non-validated (4.4.3).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// The pipeACK sampling period in round trips, and its minimum (4.2).
const SAMPLING_ROUND_TRIPS: u64 = 3;
const SAMPLING_PERIOD_MIN: Duration = Duration::from_secs(1);
/// Number of parts of the sampling period; the maximum of each is kept (4.5.1).
const PARTS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rfc7661 {
    initial_window: u32,
    /// Start of the present sample, and the segments acknowledged since then.
    sample: Option<(Instant, u32)>,
    /// Largest sample of each part, with the number of that part since the start.
    maxima: [Option<(u64, u32)>; PARTS],
    /// Highest number of segments acknowledged in a round trip; `None` before the first sample.
    pipe_ack: Option<u32>,
    /// Instant at which the window was last validated.
    validated: Instant,
}

impl Rfc7661 {
    pub(super) fn new(initial_window: u32) -> Self {
        Self {
            initial_window,
            sample: None,
            maxima: [None; PARTS],
            pipe_ack: None,
            validated: Instant::ZERO,
        }
    }

    pub(super) fn handle_acknowledgement(
        &mut self,
        now: Instant,
        segments: u32,
        round_trip: Duration,
    ) {
        let (begin, acknowledged) = self.sample.get_or_insert((now, 0));
        *acknowledged += segments;
        if now.saturating_since(*begin) < round_trip {
            return;
        }
        let sample = *acknowledged;
        self.sample = None;

        let period = (round_trip * SAMPLING_ROUND_TRIPS).max(SAMPLING_PERIOD_MIN);
        let part = now.saturating_since(Instant::ZERO) / (period / PARTS as u64);
        let slot = &mut self.maxima[part as usize % PARTS];
        match slot {
            Some((number, maximum)) if *number == part => *maximum = sample.max(*maximum),
            _ => *slot = Some((part, sample)),
        }
        self.pipe_ack = self
            .maxima
            .iter()
            .flatten()
            .filter(|(number, _)| number + PARTS as u64 > part)
            .map(|(_, maximum)| *maximum)
            .max();
    }

    /// Whether at least half of the window was used (4.3); `true` without a sample.
    pub(super) fn is_validated(&self, window: &Window) -> bool {
        self.pipe_ack.is_none_or(|pipe_ack| pipe_ack >= window.size / 2)
    }

    pub(super) fn handle_sent(&mut self, now: Instant, window: &mut Window) {
        if self.is_validated(window) {
            self.validated = now;
        } else if now.saturating_since(self.validated) >= NON_VALIDATED_PERIOD {
            keep_threshold(window);
            window.size = (window.size / 2).max(self.initial_window.min(window.size));
            self.validated = now;
        }
    }

    /// The slow start threshold after a loss: half of the window in use, if the window was not
    /// validated (4.4.2).
    pub(super) fn threshold_after_loss(
        &mut self,
        in_flight: u32,
        threshold: u32,
        window: &Window,
    ) -> u32 {
        let is_validated = self.is_validated(window);
        let in_use = self.pipe_ack.unwrap_or(0).max(in_flight);
        // Samples disturbed by recovery do not count (4.5.2).
        self.sample = None;
        self.maxima = [None; PARTS];
        self.pipe_ack = None;
        if is_validated { threshold } else { (in_use / 2).max(2).min(threshold) }
    }
}
