//! CUBIC ([RFC 9438](https://www.rfc-editor.org/rfc/rfc9438)) with the arithmetic
//! of Linux. After a loss the window follows a cubic function of time that is flat
//! around the window at which the loss occurred, and it is never smaller than
//! Reno's would be. Integers only: time in 1/1024 s, windows in segments.
//!
//! Left out: the quantisation of Linux' clock to ticks, except that the curve is evaluated at most
//! once per tick.

use lasthop_units::{Duration, Instant};

use super::new_reno::THRESHOLD_MIN;
use super::{Acknowledgement, Control, Window, hystart, hystart_plus_plus};
use crate::HyStart;

/// Share of the window that remains after a loss, in 1024ths: 0.7 (RFC 9438, 4.6).
pub(super) const BETA: u32 = 717;
pub(super) const BETA_SCALE: u32 = 1024;
/// C = 0.4 segments per cubed second (RFC 9438, 5.1), as 410/1024.
pub(super) const C: u64 = 410;
/// log2 of the units of time per second.
pub(super) const TIME_SHIFT: u32 = 10;
/// log2 of the units of C times units of time cubed in one segment.
pub(super) const CURVE_SHIFT: u32 = 10 + 3 * TIME_SHIFT;
/// Segments to be acknowledged, in eighths of the window, before Reno with CUBIC's
/// beta grows by one: 8 (1 + beta) / (3 (1 - beta)), rounded down (4.3).
pub(super) const RENO_EIGHTHS: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Number of acknowledged segments for one segment of growth, at most, before the first loss: 5 %
/// per round trip.
pub(super) const COUNT_MAX_UNTIL_LOSS: u32 = 20;
/// Number of acknowledged segments for one segment of growth, at least (4.4: 1.5 times per round
/// trip).
const COUNT_MIN: u32 = 2;
/// Shortest time between two evaluations of the curve: Linux' tick at 250 Hz.
const TICK: Duration = Duration::from_millis(4);
/// Time after which the curve is evaluated again while the window does not change.
const LOOKUP_AGAIN: Duration = Duration::from_micros(31_250);
/// Time after a loss for which round-trip times do not count for the minimum.
const RECOVERY_DELAY: Duration = Duration::from_secs(1);

/// CUBIC (RFC 9438).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubic {
    slow_start: SlowStart,
    /// Acknowledged segments per segment of growth.
    pub(super) count: u32,
    /// Window before the last loss (W_max), in segments; 0 before the first loss.
    pub(super) window_max: u32,
    pub(super) epoch: Option<Epoch>,
    /// Window and time of the last evaluation of the curve.
    looked_up: Option<(u32, Instant)>,
    /// Smallest round-trip time since the start or the last timeout.
    delay_min: Option<Duration>,
}

/// The growth since the last loss (RFC 9438's epoch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    start: Instant,
    /// Time from `start` to the origin of the curve (K), in 1/1024 s.
    pub(super) origin_after: u64,
    /// Window at the origin of the curve, in segments.
    pub(super) origin: u32,
    /// Window that Reno would have (W_est), in segments.
    reno: u32,
    /// Acknowledged segments counted towards the next increase of `reno`.
    reno_fraction: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SlowStart {
    UntilLoss,
    HyStart { is_paced: bool, state: hystart::HystartState },
    PlusPlus(hystart_plus_plus::HystartPlusPlusState),
}

impl Cubic {
    /// Returns the state of a new connection.
    pub fn new(hystart: HyStart, is_paced: bool) -> Self {
        let slow_start = match hystart {
            HyStart::Off => SlowStart::UntilLoss,
            HyStart::Linux => {
                SlowStart::HyStart { is_paced, state: hystart::HystartState::new(is_paced) }
            }
            HyStart::PlusPlus => {
                SlowStart::PlusPlus(hystart_plus_plus::HystartPlusPlusState::new(is_paced))
            }
        };
        Self { slow_start, count: 0, window_max: 0, epoch: None, looked_up: None, delay_min: None }
    }

    /// Updates the minimum delay, and ends slow start if HyStart says so.
    fn measure(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window) {
        let is_recent =
            self.epoch.is_some_and(|epoch| now.saturating_since(epoch.start) < RECOVERY_DELAY);
        let round_trip = ack.round_trip.filter(|_| !is_recent);
        if let Some(round_trip) = round_trip {
            self.delay_min = Some(self.delay_min.map_or(round_trip, |min| min.min(round_trip)));
        }
        if !window.is_slow_start() {
            return;
        }
        match &mut self.slow_start {
            SlowStart::UntilLoss => {}
            SlowStart::HyStart { state, .. } => {
                if let (Some(round_trip), Some(delay_min)) = (round_trip, self.delay_min)
                    && state.is_exit(now, ack, round_trip, delay_min, window.size)
                {
                    window.threshold = window.size;
                }
            }
            SlowStart::PlusPlus(state) => state.handle_acknowledgement(ack, window),
        }
    }

    /// Sets `count` from the curve and from Reno's window, after `segments` were
    /// acknowledged.
    fn update(&mut self, now: Instant, size: u32, segments: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.reno_fraction += segments;
            if let Some((looked_size, looked)) = self.looked_up {
                let age = now.saturating_since(looked);
                if looked_size == size && age <= LOOKUP_AGAIN {
                    return;
                }
                if age < TICK {
                    self.keep_up_with_reno(size);
                    return;
                }
            }
        }
        self.looked_up = Some((size, now));
        let epoch = *self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            origin_after: cubic_root(
                (u64::from(self.window_max.saturating_sub(size)) << CURVE_SHIFT) / C,
            ),
            origin: self.window_max.max(size),
            reno: size,
            reno_fraction: segments,
        });

        // The window that the curve reaches one round trip from now (4.2).
        let ahead = now.saturating_since(epoch.start) + self.delay_min.unwrap_or(Duration::ZERO);
        let time = (ahead.as_nanos() << TIME_SHIFT) / 1_000_000_000;
        let distance = u128::from(time.abs_diff(epoch.origin_after));
        let delta = (u128::from(C) * distance * distance * distance) >> CURVE_SHIFT;
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        let target = if time < epoch.origin_after {
            epoch.origin.saturating_sub(delta)
        } else {
            epoch.origin.saturating_add(delta)
        };

        self.count = if target > size { size / (target - size) } else { 100 * size };
        if self.window_max == 0 {
            self.count = self.count.min(COUNT_MAX_UNTIL_LOSS);
        }
        self.keep_up_with_reno(size);
    }

    /// Lowers `count` if Reno would have a larger window (4.3).
    fn keep_up_with_reno(&mut self, size: u32) {
        let epoch = self.epoch.as_mut().expect("only called in an epoch");
        let interval = ((size * RENO_EIGHTHS) >> 3).max(1);
        // Like Linux, an increase takes more than the interval.
        let increases = epoch.reno_fraction.saturating_sub(1) / interval;
        epoch.reno += increases;
        epoch.reno_fraction -= increases * interval;
        if epoch.reno > size {
            self.count = self.count.min(size / (epoch.reno - size));
        }
        self.count = self.count.max(COUNT_MIN);
    }
}

impl Control for Cubic {
    fn handle_acknowledgement(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window) {
        self.measure(now, ack, window);
        if !ack.is_limited {
            return;
        }
        let mut segments = ack.segments;
        if window.is_slow_start() {
            if let SlowStart::PlusPlus(state) = &mut self.slow_start {
                segments = state.growth(segments);
            }
            segments = window.increase_to_threshold(segments);
            if segments == 0 {
                return;
            }
        }
        if segments > 0 {
            self.update(now, window.size, segments);
            window.increase_every(self.count, segments);
        }
    }

    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        self.epoch = None;
        // Fast convergence (4.7): a window that did not reach its former maximum gives
        // up capacity for new flows.
        self.window_max = if window.size < self.window_max {
            window.size * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            window.size
        };
        if let SlowStart::PlusPlus(state) = &mut self.slow_start {
            state.finish();
        }
        (window.size * BETA / BETA_SCALE).max(THRESHOLD_MIN)
    }

    fn handle_timeout(&mut self, _now: Instant) {
        self.count = 0;
        self.window_max = 0;
        self.epoch = None;
        self.looked_up = None;
        self.delay_min = None;
        if let SlowStart::HyStart { is_paced, state } = &mut self.slow_start {
            *state = hystart::HystartState::new(*is_paced);
        }
    }

    fn handle_restart(&mut self, now: Instant, idle: Duration) {
        // Idle time does not count as time of growth (4.2).
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(idle).min(now);
        }
    }
}

/// The integer cube root: the largest integer whose cube is at most `value`.
pub(super) fn cubic_root(value: u64) -> u64 {
    // The floating-point root is off by one at most; the integers decide.
    let mut root = libm::cbrt(value as f64) as u64;
    while u128::from(root).pow(3) > u128::from(value) {
        root -= 1;
    }
    while u128::from(root + 1).pow(3) <= u128::from(value) {
        root += 1;
    }
    root
}

#[cfg(test)]
mod cubic_root_tests {
    use super::cubic_root;

    #[test]
    fn roots_of_cubes_are_exact() {
        for root in [0u64, 1, 2, 10, 9_302, 100_000, 2_642_244] {
            assert_eq!(cubic_root(root.pow(3)), root);
            assert_eq!(cubic_root(root.pow(3) + 1), root.max(1));
            if root > 0 {
                assert_eq!(cubic_root(root.pow(3) - 1), root - 1);
            }
        }
        assert_eq!(cubic_root(u64::MAX), 2_642_245);
    }
}
