//! Pacing: the rate that Linux derives from the congestion window, and the time
//! that a segment waits for the one before it. The rate is a percentage of window
//! over smoothed round-trip time: 200 % while the window is below half of the slow
//! start threshold, else 120 %. TCP small queues use the rate even if the sender
//! does not pace. The first ten segments of a connection are not paced. Rates are
//! in payload bits per second.

use lasthop_units::{Bitrate, Duration, Instant};

use crate::Pacing;
use crate::congestion::Window;

/// Number of segments at the start of a connection that are not paced.
const UNPACED_SEGMENTS: u64 = 10;
/// Percent of window over round-trip time (tcp_pacing_ss_ratio,
/// tcp_pacing_ca_ratio).
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;

/// The time at which the next segment may leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pacer {
    rules: Pacing,
    next: Instant,
    segments: u64,
    /// Whether a segment waits for `next`.
    pub is_waiting: bool,
}

impl Pacer {
    pub(crate) fn new(rules: Pacing) -> Self {
        Self { rules, next: Instant::ZERO, segments: 0, is_waiting: false }
    }

    /// Returns whether the next segment must wait, and stores it.
    pub(crate) fn must_wait(&mut self, now: Instant) -> bool {
        self.is_waiting = self.rules != Pacing::Off && now < self.next;
        self.is_waiting
    }

    /// The time at which the next segment may leave (tcp_wstamp_ns).
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// The time until which the next segment waits.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.is_waiting.then_some(self.next)
    }

    /// Records that a segment with `bytes` of payload leaves. `rate` is the result of [`rate`].
    pub(crate) fn handle_sent(&mut self, now: Instant, bytes: u32, rate: Bitrate) {
        let rate = match self.rules {
            Pacing::Off => return,
            Pacing::Linux => rate,
            Pacing::Fixed(most) => rate.min(most),
        };
        // A segment that left late shortens the wait for the next by at most half of
        // its own.
        let late = now.saturating_since(self.next);
        self.next = self.next.max(now);
        self.segments += 1;
        if self.segments <= UNPACED_SEGMENTS || rate.as_bps() == 0 {
            return;
        }
        let nanos = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.as_bps());
        let length = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 4));
        self.next += length.saturating_sub(late.min(length / 2));
    }
}

/// The pacing rate of the window, in payload bits per second. The rate is unlimited without a
/// measured round-trip time.
pub(crate) fn rate(
    window: &Window,
    segments_out: u32,
    segment_bytes: u32,
    smoothed: Option<Duration>,
) -> Bitrate {
    let Some(smoothed) = smoothed else {
        return Bitrate::from_bps(u64::MAX);
    };
    let is_slow_start = window.size < window.threshold / 2;
    let percent = if is_slow_start { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
    let bytes = u64::from(segment_bytes) * u64::from(window.size.max(segments_out));
    let percent_bits = bytes * 8 * percent;
    // In microseconds, as in Linux, so that 64-bit division suffices.
    let micros = smoothed.as_micros().max(1);
    Bitrate::from_bps(percent_bits.saturating_mul(1_000_000 / 100) / micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_window_each_round_trip_in_slow_start_then_six_fifths() {
        let round_trip = Some(Duration::from_millis(20));
        let window = Window { size: 10, fraction: 0, threshold: u32::MAX };
        // 10 * 1448 * 8 bits in 20 ms are 5.792 Mb/s.
        assert_eq!(rate(&window, 0, 1448, round_trip), Bitrate::from_bps(2 * 5_792_000));
        let later = Window { threshold: 20, ..window };
        assert_eq!(rate(&later, 0, 1448, round_trip), Bitrate::from_bps(5_792_000 * 6 / 5));
        // More is out than the window has: after a reduction.
        assert_eq!(rate(&later, 20, 1448, round_trip), Bitrate::from_bps(2 * 5_792_000 * 6 / 5));
        assert_eq!(rate(&window, 0, 1448, None), Bitrate::from_bps(u64::MAX));
    }

    #[test]
    fn a_late_segment_makes_up_half_of_its_length() {
        let rate = Bitrate::from_bps(8_000);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut pacer = Pacer::new(Pacing::Fixed(rate));
        for _ in 0..UNPACED_SEGMENTS {
            pacer.handle_sent(at(0), 10, rate);
        }
        assert!(!pacer.must_wait(at(0)));
        // 10 bytes take 10 ms.
        pacer.handle_sent(at(0), 10, rate);
        assert!(pacer.must_wait(at(9)));
        assert_eq!(pacer.due(), Some(at(10)));
        pacer.handle_sent(at(12), 10, rate);
        assert!(pacer.must_wait(at(19)) && !pacer.must_wait(at(20)));
        pacer.handle_sent(at(50), 10, rate);
        assert!(pacer.must_wait(at(54)) && !pacer.must_wait(at(55)));
    }
}
