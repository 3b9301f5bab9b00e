//! A share of a queue that others fill: a window that grows and shrinks as CUBIC's does
//! (RFC 9438), where more is lost than is lost anyway.

use super::window::Window;
use lasthop_units::{Duration, Instant};

/// RFC 9438, section 4.6, and section 5.
const BETA: f64 = 0.7;
const C: f64 = 0.4;
/// A segment of those that compete, in bytes.
const SEGMENT_BYTES: f64 = 1_500.0;
/// Segments at least.
const SEGMENTS_MIN: f64 = 2.0;
/// The rate beyond a window in a round trip, so that the window rules.
const AHEAD: f64 = 1.2;
/// A test of whose queue it is after so long at first and at last, and so many round trips.
const TEST_INTERVAL: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(20)];
const TEST_ROUND_TRIPS: u64 = 20;
/// A window is gone on with after so long.
const RECENT: Duration = Duration::from_secs(30);
/// Losses beyond what is expected are no chance by so many standard deviations.
const CERTAIN: f64 = 3.0;

/// A window in segments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compete {
    segments: f64,
    /// Before the last reduction.
    segments_max: f64,
    /// When the window was reduced last, and after how many seconds it is as large again.
    epoch: Instant,
    k_s: f64,
    /// What Reno's would be.
    reno: f64,
    /// Nothing was lost yet: slow start.
    is_starting: bool,
    round_trip: Duration,
    /// What was sent before is not looked at again.
    looked_at: Instant,
    test_after: Duration,
    test_at: Instant,
}

impl Compete {
    /// Begins with so many bytes in flight.
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

    /// When to test whether the others are still there.
    pub fn test_at(&self) -> Instant {
        self.test_at
    }

    /// Whether what it knows may still hold.
    pub fn is_recent(&self, now: Instant) -> bool {
        now < self.test_at + RECENT
    }

    /// They are.
    pub fn go_on(&mut self, now: Instant, round_trip: Duration) {
        self.test_after = (self.test_after * 2).min(TEST_INTERVAL[1]);
        self.test_at = now + self.test_after.max(round_trip * TEST_ROUND_TRIPS);
        self.looked_at = now;
    }

    /// Takes what became of a window; the share `loss` is lost anyway.
    pub fn handle_window(
        &mut self,
        now: Instant,
        window: &Window,
        round_trip: Duration,
        loss: f64,
    ) {
        self.round_trip = round_trip;
        let (sent, lost) = window.losses();
        let chance = CERTAIN * libm::sqrt(sent * loss * (1.0 - loss));
        if window.began() >= self.looked_at && lost > sent * loss + chance + 0.5 {
            self.reduce(now);
            return;
        }
        if window.is_free() {
            // What is not used does not grow (RFC 9438, section 5.8).
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
        // No more than half as much again in a round trip (section 4.4).
        let most = self.segments * (1.0 + 0.5 * rounds);
        self.segments = cubic.clamp(self.segments, most).max(self.reno);
    }

    fn reduce(&mut self, now: Instant) {
        self.is_starting = false;
        // What was sent at the old window may still be lost.
        self.looked_at = now;
        let is_shrinking = self.segments < self.segments_max;
        self.segments_max = self.segments * if is_shrinking { (1.0 + BETA) / 2.0 } else { 1.0 };
        self.segments = (self.segments * BETA).max(SEGMENTS_MIN);
        self.reno = self.segments;
        self.k_s = libm::cbrt((self.segments_max - self.segments).max(0.0) / C);
        self.epoch = now;
    }
}
