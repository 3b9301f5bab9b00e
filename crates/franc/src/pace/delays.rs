//! Delays of datagrams in microseconds: that of the path itself, that of a standing
//! queue, and their variation. The clocks of sender and receiver need not agree;
//! only changes count. Leaves out the choice of the rate.

use super::gaps::{DEVIATIONS, SMOOTHING};
use super::window::Window;
use super::{PathReport, REMEMBERED};
use lasthop_units::Instant;

/// Difference of the least delays of two windows that is not significant, in
/// microseconds, in addition to the spread of delays.
const NOISE_US: f64 = 500.0;

/// The delay of a datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Delay {
    us: f64,
    /// Length of the datagram in bytes: longer ones take longer.
    bytes: u64,
}

/// The delays of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Delays {
    /// Reference of all delays, so that differences of clocks fit in 32 bits.
    reference_us: Option<u32>,
    /// The least delays of windows, of this period of [`REMEMBERED`] and of the one before.
    base: [Option<Delay>; 2],
    period_ends: Instant,
    /// The shortest queue of the last window, in microseconds.
    standing_us: f64,
    /// Excess of the mean queue of a window over its shortest, in microseconds.
    spread_us: f64,
    /// By how much the queue grew within the last window if it became long, in microseconds.
    ramp_us: f64,
}

impl Delays {
    pub fn new(now: Instant) -> Self {
        Self {
            reference_us: None,
            base: [None; 2],
            period_ends: now + REMEMBERED,
            standing_us: 0.0,
            spread_us: 0.0,
            ramp_us: 0.0,
        }
    }

    /// The delay of a datagram, with any offset of the clocks.
    pub fn delay(&mut self, heard: &PathReport) -> Delay {
        let sent_at_us = (heard.sent_at.as_nanos() / 1_000) as u32;
        let delay = heard.heard_at_us.wrapping_sub(sent_at_us);
        let reference = *self.reference_us.get_or_insert(delay);
        Delay { us: f64::from(delay.wrapping_sub(reference) as i32), bytes: heard.bytes }
    }

    /// The queue's part of a delay in microseconds; without a queue, longer
    /// datagrams also take longer.
    pub fn queue_us(&self, delay: &Delay, capacity: f64) -> f64 {
        let base = self.base.iter().flatten().map(|base| beyond_us(delay, base, capacity));
        base.fold(f64::NEG_INFINITY, f64::max).max(0.0)
    }

    /// The standing queue in microseconds.
    pub fn standing_us(&self) -> f64 {
        self.standing_us
    }

    /// By how much the queue grew within the last window if it became long, in microseconds.
    pub fn ramp_us(&self) -> f64 {
        self.ramp_us
    }

    pub fn spread_us(&self) -> f64 {
        self.spread_us
    }

    /// Smallest significant change of a standing queue, in microseconds.
    pub fn noise_us(&self) -> f64 {
        NOISE_US + self.spread_us
    }

    /// Takes a window. A queue that grows by `long_us` within it is long. Returns by how much the
    /// standing queue grew since the last window, in microseconds.
    pub fn handle_window(
        &mut self,
        now: Instant,
        window: &Window,
        capacity: f64,
        long_us: f64,
    ) -> f64 {
        if now >= self.period_ends {
            // Measurements from before a long silence are useless: clocks drift.
            let is_recent = now < self.period_ends + REMEMBERED;
            self.base = [None, self.base[0].filter(|_| is_recent)];
            self.period_ends = now + REMEMBERED;
        }
        let Some(least) = window.least() else { return 0.0 };
        if window.is_dense() || self.base == [None; 2] {
            let is_less = self.base[0].is_none_or(|base| beyond_us(&least, &base, capacity) < 0.0);
            if is_less {
                self.base[0] = Some(least);
            }
        }
        let before_us = self.standing_us;
        self.standing_us = self.queue_us(&least, capacity);
        let grew_us = self.standing_us - before_us;
        let inner_us = window.grew_us();
        // The spread, a mean less a minimum, is some 1.5 standard deviations.
        let is_ramp = inner_us > DEVIATIONS * self.noise_us() + long_us && !window.is_free();
        self.ramp_us = if is_ramp { inner_us } else { 0.0 };
        let spread_us = (window.spread_us() - grew_us.abs().max(self.ramp_us) / 2.0).max(0.0);
        self.spread_us += SMOOTHING * (spread_us - self.spread_us);
        grew_us
    }

    /// Takes the delay of the last window for that of the path itself.
    pub fn anchor(&mut self) {
        for base in self.base.iter_mut().flatten() {
            base.us += self.standing_us;
        }
        self.standing_us = 0.0;
    }
}

/// Delay in excess of `base`, allowing for the length of the datagrams, in
/// microseconds.
fn beyond_us(delay: &Delay, base: &Delay, capacity: f64) -> f64 {
    let longer_us = (delay.bytes as f64 - base.bytes as f64) / capacity * 1e6;
    delay.us - base.us - longer_us
}
