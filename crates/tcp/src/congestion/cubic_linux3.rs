//! CUBIC of Linux 3.2 and 3.13 (`net/ipv4/tcp_cubic.c`). The curve is that of [`super::Cubic`];
//! windows are in segments, times in ticks of 4 ms. The differences from today's are:
//!
//! - The window grows with acknowledgements, not with acknowledged segments: the
//!   interval is divided by the smoothed number of segments per acknowledgement,
//!   while Reno's window counts acknowledgements without that.
//! - HyStart ends slow start when a train lasts half the smallest round-trip time, without a
//!   cushion, or when the delay rises by a sixteenth, of the first eight samples of a round.
//! - Round-trip times are in ticks, so a short path measures none or one.
//! - The curve continues while the sender is idle.
//!
//! Left out: the error of up to 0.2 % of the kernel's cube root.

use lasthop_units::{Duration, Instant};

use super::cubic::{
    BETA, BETA_SCALE, C, COUNT_MAX_UNTIL_LOSS, CURVE_SHIFT, RENO_EIGHTHS, TIME_SHIFT, cubic_root,
};
use super::hystart::{RISE_MAX, RISE_MIN, SAMPLES_MIN, TRAIN_GAP_MAX, WINDOW_MIN};
use super::new_reno::THRESHOLD_MIN;
use super::{Acknowledgement, Control, Window};
use crate::{HyStart, Recovery};

/// log2 of the units of the smoothed number of segments per acknowledgement
/// (ACK_RATIO_SHIFT), and its upper bound (ACK_RATIO_LIMIT).
const RATIO_SHIFT: u32 = 4;
const RATIO_MAX: u32 = 32 << RATIO_SHIFT;
/// Initial number of segments for which an acknowledgement counts: two.
const RATIO_INITIAL: u32 = 2 << RATIO_SHIFT;
/// Ticks per second.
const HZ: u64 = 250;
/// Smallest delay: one of the kernel's units of an eighth of a millisecond.
const DELAY_MIN: Duration = Duration::from_micros(125);

/// CUBIC of Linux 3.2 and 3.13.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CubicLinux3 {
    rules: Recovery,
    has_hystart: bool,
    /// Acknowledgements per segment of growth.
    count: u32,
    /// Window before the last loss (W_max), in segments; 0 before the first loss.
    window_max: u32,
    epoch: Option<Linux3Epoch>,
    /// Window and tick of the last evaluation of the curve.
    looked_up: Option<(u32, u64)>,
    delay_min: Option<Duration>,
    /// Smoothed number of segments per acknowledgement, in sixteenths.
    ratio: u32,
    is_found: bool,
    round: Linux3Round,
}

/// The growth since the last loss; fields as in [`super::Cubic`], times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Linux3Epoch {
    start: u64,
    origin_after: u64,
    origin: u32,
    reno: u32,
    reno_fraction: u32,
}

/// A round of HyStart; times are in milliseconds, as its clock in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Linux3Round {
    start: u64,
    end: u64,
    train_last: u64,
    delay: Option<Duration>,
    samples: u8,
}

impl CubicLinux3 {
    /// Returns the state of a new connection. HyStart replaces HyStart++, which did not exist yet.
    pub fn new(rules: Recovery, hystart: HyStart) -> Self {
        Self {
            rules,
            has_hystart: hystart != HyStart::Off,
            count: 0,
            window_max: 0,
            epoch: None,
            looked_up: None,
            delay_min: None,
            ratio: RATIO_INITIAL,
            is_found: false,
            round: Linux3Round::default(),
        }
    }

    /// Updates the smoothed ratio, the minimum delay and HyStart (bictcp_acked).
    fn measure(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window) {
        if ack.is_open {
            let ratio = self.ratio - (self.ratio >> RATIO_SHIFT) + ack.segments;
            self.ratio = ratio.min(RATIO_MAX);
        }
        let is_recent = self.epoch.is_some_and(|epoch| ticks(now) - epoch.start < HZ);
        let Some(delay) = ack.round_trip.filter(|_| !is_recent) else { return };
        let delay = delay.max(DELAY_MIN);
        let delay_min = self.delay_min.map_or(delay, |min| min.min(delay));
        self.delay_min = Some(delay_min);
        if self.has_hystart && window.may_start_slowly() && window.size >= WINDOW_MIN {
            self.look_for_exit(now, delay, delay_min, window);
        }
    }

    /// Ends slow start at a long train or a rise of the delay (hystart_update).
    fn look_for_exit(
        &mut self,
        now: Instant,
        delay: Duration,
        delay_min: Duration,
        window: &mut Window,
    ) {
        if self.is_found {
            return;
        }
        let (now, round) = (millis(now), &mut self.round);
        if Duration::from_millis(now - round.train_last) <= TRAIN_GAP_MAX {
            round.train_last = now;
            self.is_found = now - round.start > (delay_min / 2).as_nanos() / 1_000_000;
        }
        if round.samples < SAMPLES_MIN {
            round.delay = Some(round.delay.map_or(delay, |least| least.min(delay)));
            round.samples += 1;
        } else {
            let rise = (delay_min / 16).clamp(RISE_MIN, RISE_MAX);
            self.is_found |= round.delay.is_some_and(|least| least > delay_min + rise);
        }
        if self.is_found {
            window.threshold = window.size;
        }
    }

    /// Begins a round of HyStart (bictcp_hystart_reset).
    fn begin_round(&mut self, now: Instant, next: u64) {
        let now = millis(now);
        self.round =
            Linux3Round { start: now, end: next, train_last: now, ..Linux3Round::default() };
    }

    /// Sets `count` from the curve and from Reno's window (bictcp_update).
    fn update(&mut self, now: Instant, size: u32) {
        let now = ticks(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.reno_fraction += 1;
        }
        let is_fresh = |(window, at)| window == size && now - at <= HZ / 32;
        if self.looked_up.is_some_and(is_fresh) {
            return;
        }
        self.looked_up = Some((size, now));
        let window_max = self.window_max;
        let epoch = self.epoch.get_or_insert_with(|| Linux3Epoch {
            start: now,
            origin_after: cubic_root(
                (u64::from(window_max.saturating_sub(size)) << CURVE_SHIFT) / C,
            ),
            origin: window_max.max(size),
            reno: size,
            reno_fraction: 1,
        });

        let delay = self.delay_min.unwrap_or(Duration::ZERO).as_nanos() / 1_000_000;
        let ahead = now - epoch.start + (delay * HZ).div_ceil(1_000);
        let time = (ahead << TIME_SHIFT) / HZ;
        let distance = u128::from(time.abs_diff(epoch.origin_after));
        let delta = (u128::from(C) * distance * distance * distance) >> CURVE_SHIFT;
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        let target = if time < epoch.origin_after {
            epoch.origin.saturating_sub(delta)
        } else {
            epoch.origin.saturating_add(delta)
        };
        let mut count = if target > size { size / (target - size) } else { 100 * size };
        if self.window_max == 0 {
            count = count.min(COUNT_MAX_UNTIL_LOSS);
        }

        let interval = ((size * RENO_EIGHTHS) >> 3).max(1);
        let increases = epoch.reno_fraction.saturating_sub(1) / interval;
        epoch.reno += increases;
        epoch.reno_fraction -= increases * interval;
        if epoch.reno > size {
            count = count.min(size / (epoch.reno - size));
        }
        self.count = ((count << RATIO_SHIFT) / self.ratio).max(1);
    }
}

impl Control for CubicLinux3 {
    fn handle_acknowledgement(&mut self, now: Instant, ack: &Acknowledgement, window: &mut Window) {
        self.measure(now, ack, window);
        if !ack.is_limited {
            return;
        }
        if window.may_start_slowly() {
            if self.has_hystart && ack.acknowledged > self.round.end {
                self.begin_round(now, ack.next);
            }
            window.start_slowly(self.rules, ack.segments);
        } else {
            self.update(now, window.size);
            window.count_acknowledgement(self.count);
        }
    }

    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        self.epoch = None;
        self.window_max = if window.size < self.window_max {
            window.size * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            window.size
        };
        (window.size * BETA / BETA_SCALE).max(THRESHOLD_MIN)
    }

    fn handle_timeout(&mut self, now: Instant) {
        let Self { rules, has_hystart, round, .. } = *self;
        let hystart = if has_hystart { HyStart::Linux } else { HyStart::Off };
        *self = Self::new(rules, hystart);
        // The round goes on until the segments that are now in flight are acknowledged,
        // or as many as there were at its beginning; the window stays below HyStart's
        // minimum for longer than that.
        self.begin_round(now, round.end);
    }
}

fn ticks(at: Instant) -> u64 {
    (at - Instant::ZERO).as_nanos() / (1_000_000_000 / HZ)
}

fn millis(at: Instant) -> u64 {
    (at - Instant::ZERO).as_nanos() / 1_000_000
}
