//! A fair share of a queue that others fill: a congestion window that grows and
//! shrinks as CUBIC's does (RFC 9438), when losses exceed the usual ones. The
//! window is in segments of 1 500 bytes, times in seconds. Leaves out
//! retransmission, which the sender of blocks does.

use super::window::{Ratio, Window};
use lasthop_units::{Duration, Instant};

/// Constants of RFC 9438, sections 4.6 and 5.
const BETA: f64 = 0.7;
const C: f64 = 0.4;
/// Length of a segment of the competing flows in bytes.
const SEGMENT_BYTES: f64 = 1_500.0;
/// Smallest window in segments (RFC 5681, section 3.1, and RFC 9438, section 4.6), and in bytes.
const SEGMENTS_MIN: f64 = 2.0;
pub(super) const BYTES_MIN: u64 = (SEGMENTS_MIN * SEGMENT_BYTES) as u64;
/// Rate relative to a window per round trip: higher, so that the window is the
/// limit.
const AHEAD: f64 = 1.2;
/// First and longest interval of tests of whose queue it is, and its minimum in
/// round trips.
const TEST_INTERVAL: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(20)];
const TEST_ROUND_TRIPS: u64 = 20;
/// Losses in excess of the expected ones are significant from this many standard
/// deviations on.
const CERTAIN: f64 = 3.0;

/// The congestion window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compete {
    segments: f64,
    /// Window before the last reduction, in segments.
    segments_max: f64,
    /// Time at which the window was last reduced, and after how many seconds it is that large
    /// again.
    epoch: Instant,
    k_s: f64,
    /// The window that Reno would have, in segments.
    reno: f64,
    /// Whether it is in slow start: nothing was lost yet.
    is_starting: bool,
    round_trip: Duration,
    /// Datagrams sent before this instant are not evaluated again.
    looked_at: Instant,
    test_after: Duration,
    test_at: Instant,
}

impl Compete {
    /// Starts with `bytes` in flight.
    pub fn new(now: Instant, bytes: f64, round_trip: Duration) -> Self {
        let segments = (bytes / SEGMENT_BYTES).max(SEGMENTS_MIN);
        Self {
            segments,
            segments_max: segments,
            epoch: now,
            k_s: 0.0,
            reno: segments,
            is_starting: true,
            round_trip,
            looked_at: now,
            test_after: TEST_INTERVAL[0],
            test_at: now + TEST_INTERVAL[0],
        }
    }

    pub fn rate(&self) -> f64 {
        AHEAD * self.segments * SEGMENT_BYTES / self.round_trip.as_secs_f64().max(1e-4)
    }

    pub fn window_bytes(&self) -> u64 {
        (self.segments * SEGMENT_BYTES) as u64
    }

    /// Returns the instant of the next test for competing traffic.
    pub fn test_at(&self) -> Instant {
        self.test_at
    }

    /// Resumes: the others are still there.
    pub fn go_on(&mut self, now: Instant, round_trip: Duration) {
        self.test_after = (self.test_after * 2).min(TEST_INTERVAL[1]);
        self.test_at = now + self.test_after.max(round_trip * TEST_ROUND_TRIPS);
        self.looked_at = now;
    }

    /// Handles the result of a window of datagrams; the share `loss` is lost in any
    /// case.
    pub fn handle_window(
        &mut self,
        now: Instant,
        window: &Window,
        round_trip: Duration,
        loss: f64,
    ) {
        self.round_trip = round_trip;
        let Ratio { sent, lost } = window.losses();
        let chance = CERTAIN * libm::sqrt(sent * loss * (1.0 - loss));
        if window.began() >= self.looked_at && lost > sent * loss + chance + 0.5 {
            self.reduce(now);
            return;
        }
        if window.is_free() {
            // A window that is not used does not grow (RFC 9438, section 5.8).
            self.epoch += Duration::from_secs_f64(window.seconds());
            return;
        }
        if self.is_starting {
            let rounds = window.seconds() / round_trip.as_secs_f64().max(1e-3);
            self.segments *= libm::exp2(rounds);
            return;
        }
        let t = now.saturating_since(self.epoch).as_secs_f64() - self.k_s;
        let cubic = self.segments_max + C * t * t * t;
        let alpha = 3.0 * (1.0 - BETA) / (1.0 + BETA);
        self.reno += alpha * window.seconds() / round_trip.as_secs_f64().max(1e-3);
        let rounds = window.seconds() / round_trip.as_secs_f64().max(1e-3);
        // At most half as much again per round trip (section 4.4).
        let most = self.segments * (1.0 + 0.5 * rounds);
        self.segments = cubic.clamp(self.segments, most).max(self.reno);
    }

    fn reduce(&mut self, now: Instant) {
        self.is_starting = false;
        // Datagrams sent with the old window may still be lost.
        self.looked_at = now;
        let is_shrinking = self.segments < self.segments_max;
        self.segments_max = self.segments * if is_shrinking { (1.0 + BETA) / 2.0 } else { 1.0 };
        self.segments = (self.segments * BETA).max(SEGMENTS_MIN);
        self.reno = self.segments;
        self.k_s = libm::cbrt((self.segments_max - self.segments).max(0.0) / C);
        self.epoch = now;
    }
}
