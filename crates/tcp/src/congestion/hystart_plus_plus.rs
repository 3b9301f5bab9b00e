//! HyStart++ ([RFC 9406](https://www.rfc-editor.org/rfc/rfc9406)): when the round-trip time rises,
//! slow start continues at a quarter of its growth (Conservative Slow Start, CSS). CSS ends after
//! five rounds, or returns to full growth if the round-trip time falls below that at the start of
//! CSS. The algorithm applies to the first slow start of a connection only (section 4.3). Windows
//! are in segments.

use lasthop_units::Duration;

use super::{Acknowledgement, Window};

// Constants of section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
/// L: limit of segments that count for one acknowledgement, unless the sender paces.
const SEGMENTS_PER_ACK_MAX: u32 = 8;

/// The state of HyStart++ for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HystartPlusPlusState {
    is_paced: bool,
    phase: Phase,
    /// Byte offset at which the round ends (windowEnd).
    round_end: Option<u64>,
    last_round_min: Option<Duration>,
    current_round_min: Option<Duration>,
    samples: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    Conservative {
        baseline: Duration,
        rounds: u32,
        /// Acknowledged segments that do not yet make one segment of growth.
        fraction: u32,
    },
    Done,
}

impl HystartPlusPlusState {
    pub(super) fn new(is_paced: bool) -> Self {
        Self {
            is_paced,
            phase: Phase::SlowStart,
            round_end: None,
            last_round_min: None,
            current_round_min: None,
            samples: 0,
        }
    }

    /// Ends HyStart++ for good after a loss.
    pub(super) fn finish(&mut self) {
        self.phase = Phase::Done;
    }

    /// Handles an acknowledgement in slow start, before the window grows. Ends slow start by
    /// setting the threshold to the window.
    pub(super) fn handle_acknowledgement(&mut self, ack: &Acknowledgement, window: &mut Window) {
        if self.phase == Phase::Done {
            return;
        }
        if self.round_end.is_none_or(|end| ack.acknowledged > end) {
            self.begin_round(ack.next);
        }
        if let Some(round_trip) = ack.round_trip {
            self.current_round_min =
                Some(self.current_round_min.map_or(round_trip, |min| min.min(round_trip)));
            self.samples += 1;
        }
        if let (true, Some(current)) = (self.samples >= N_RTT_SAMPLE, self.current_round_min) {
            self.judge(current);
        }
        if matches!(self.phase, Phase::Conservative { rounds, .. } if rounds >= CSS_ROUNDS) {
            window.threshold = window.size;
            self.phase = Phase::Done;
        }
    }

    /// Returns the number of segments by which the window grows when `segments` are acknowledged.
    pub(super) fn growth(&mut self, segments: u32) -> u32 {
        let counted = if self.is_paced { segments } else { segments.min(SEGMENTS_PER_ACK_MAX) };
        match &mut self.phase {
            Phase::SlowStart => counted,
            Phase::Conservative { fraction, .. } => {
                *fraction += counted;
                let whole = *fraction / CSS_GROWTH_DIVISOR;
                *fraction %= CSS_GROWTH_DIVISOR;
                whole
            }
            Phase::Done => segments,
        }
    }

    fn begin_round(&mut self, next: u64) {
        // The first acknowledgement opens the first round.
        if self.round_end.is_some()
            && let Phase::Conservative { rounds, .. } = &mut self.phase
        {
            *rounds += 1;
        }
        self.round_end = Some(next);
        self.last_round_min = self.current_round_min.take();
        self.samples = 0;
    }

    /// Enters or leaves Conservative Slow Start, given the smallest round-trip time
    /// of this round (section 4.2).
    fn judge(&mut self, current: Duration) {
        match (self.phase, self.last_round_min) {
            (Phase::SlowStart, Some(last)) => {
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if current >= last + threshold {
                    self.phase = Phase::Conservative { baseline: current, rounds: 0, fraction: 0 };
                }
            }
            (Phase::Conservative { baseline, .. }, _) if current < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    #[cfg(test)]
    pub(super) fn is_conservative(&self) -> bool {
        matches!(self.phase, Phase::Conservative { .. })
    }
}
