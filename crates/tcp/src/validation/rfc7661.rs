//! [RFC 7661](https://www.rfc-editor.org/rfc/rfc7661): a window is validated
//! while a round trip acknowledges at least half of it (pipeACK). One that is
//! not may be used for five minutes, but does not grow, and a loss counts from
//! what was really in use.
//!
//! Leaves out: the deduction of what was retransmitted at the end of recovery
//! (4.4.2), and pacing of what is sent in bulk after a pause (4.4.1).

use lasthop_units::{Duration, Instant};

use super::keep_threshold;
use crate::congestion::Window;

/// How long a window may stay non-validated (4.4.3).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// The pipeACK sampling period: so many round trips, at least so long (4.2).
const SAMPLING_ROUND_TRIPS: u64 = 3;
const SAMPLING_PERIOD_MIN: Duration = Duration::from_secs(1);
/// Parts of the sampling period whose maxima are kept (4.5.1).
const PARTS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rfc7661 {
    initial_window: u32,
    /// When the present sample began, and the segments acknowledged since.
    sample: Option<(Instant, u32)>,
    /// Largest sample of each part, with the part's number since the start.
    maxima: [Option<(u64, u32)>; PARTS],
    /// Most segments acknowledged in a round trip; `None` before the first one.
    pipe_ack: Option<u32>,
    /// When the window was last validated.
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

    /// 4.3: half of the window is enough; without a sample it is taken for valid.
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

    /// 4.4.2: half of what was in use, if the window was not validated.
    pub(super) fn threshold_after_loss(
        &mut self,
        in_flight: u32,
        threshold: u32,
        window: &Window,
    ) -> u32 {
        let is_validated = self.is_validated(window);
        let in_use = self.pipe_ack.unwrap_or(0).max(in_flight);
        // Samples that recovery disturbs do not count (4.5.2).
        self.sample = None;
        self.maxima = [None; PARTS];
        self.pipe_ack = None;
        if is_validated { threshold } else { (in_use / 2).max(2).min(threshold) }
    }
}
