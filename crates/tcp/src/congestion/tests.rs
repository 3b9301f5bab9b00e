//! Tests of the congestion controls, one file for each. The tests compare with the closed forms of
//! the RFCs and with values calculated by hand from the kernel's arithmetic. The tests share
//! [`Path`]: a sender that is always limited by its window, over a path with a fixed round-trip
//! time.

mod cubic;
mod hystart;
mod hystart_plus_plus;
mod linux3;
mod new_reno;

use lasthop_units::{Duration, Instant};

use super::{Acknowledgement, CongestionControl, Control, Window};
use crate::{Config, CongestionControlKind, HyStart, Recovery};

/// A timeout discards the state set by a loss (RFC 9438, 4.8; bictcp_reset), by each kernel's
/// rules.
#[test]
fn a_timeout_discards_what_was_learned() {
    for rules in [Recovery::Linux32, Recovery::Linux313, Recovery::Today] {
        let congestion_control = CongestionControlKind::Cubic { hystart: HyStart::Off };
        let config = Config { recovery: rules, congestion_control, ..Config::default() };
        let mut control = CongestionControl::new(&config);
        let fresh = control.clone();
        let window = Window { size: 100, fraction: 0, threshold: 100 };
        let now = Instant::ZERO;
        assert_eq!(control.threshold_after_loss(now, &window), 70);
        assert_ne!(control, fresh, "{rules:?}");
        control.handle_timeout(now);
        assert_eq!(control, fresh, "{rules:?}");
    }
}

/// An acknowledgement of `segments` while the window is full.
pub(super) fn ack(segments: u32, round_trip: Duration) -> Acknowledgement {
    Acknowledgement {
        segments,
        acknowledged: 0,
        next: 0,
        in_flight: segments,
        round_trip: Some(round_trip),
        round_trip_min: round_trip,
        is_limited: true,
        is_open: true,
    }
}

/// A path whose segments have one byte each, so that an offset of the stream counts segments.
pub(super) struct Path<C> {
    pub control: C,
    pub window: Window,
    pub now: Instant,
    pub round_trip: Duration,
    pub acknowledged: u64,
    /// The integral of the window over time, in segment seconds.
    window_seconds: f64,
    seconds: f64,
}

impl<C: Control> Path<C> {
    pub fn new(control: C, window: Window, round_trip: Duration) -> Self {
        Self {
            control,
            window,
            now: Instant::ZERO,
            round_trip,
            acknowledged: 0,
            window_seconds: 0.0,
            seconds: 0.0,
        }
    }

    /// Acknowledges one segment; a window of them takes one round trip.
    pub fn step(&mut self) {
        let gap = self.round_trip / u64::from(self.window.size);
        self.now += gap;
        self.window_seconds += f64::from(self.window.size) * gap.as_secs_f64();
        self.seconds += gap.as_secs_f64();
        self.acknowledged += 1;
        let ack = Acknowledgement {
            acknowledged: self.acknowledged,
            next: self.acknowledged + u64::from(self.window.size),
            in_flight: self.window.size,
            ..ack(1, self.round_trip)
        };
        self.control.handle_acknowledgement(self.now, &ack, &mut self.window);
    }

    pub fn lose(&mut self) {
        self.window.threshold = self.control.threshold_after_loss(self.now, &self.window);
        self.window.size = self.window.threshold;
        self.window.fraction = 0;
    }

    /// Returns the average window when every `interval`-th segment is lost.
    pub fn average_window(mut self, interval: u64, losses: u32) -> f64 {
        for loss in 0..losses {
            // The first half of the losses leads to the steady state and does not count.
            if loss == losses / 2 {
                (self.window_seconds, self.seconds) = (0.0, 0.0);
            }
            for _ in 0..interval {
                self.step();
            }
            self.lose();
        }
        self.window_seconds / self.seconds
    }
}
