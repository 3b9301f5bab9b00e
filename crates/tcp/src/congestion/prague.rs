//! Prague (draft-briscoe-iccrg-prague-congestion-control), the congestion control of L4S (RFC 9330 and
//! 9331), by the rules of the Linux module's version 0.7. Prague reduces the window in proportion to the
//! share of marked packets, once a round trip, and grows with each packet that is not marked. Below a
//! round trip of 25 ms flows grow as if they had 25 ms, so that their rates do not depend on it: with
//! a share p of marks a flow has 1/p - 1 Mb/s, and 25 ms / RTT of it above. Segments are paced with 3
//! % more in the first half of a round trip and 3 % less in the second. While the window is small the
//! control keeps a rate instead of a window.
//!
//! Numbers with a fraction are fixed-point as in the module: windows in 2^-20 segments, α in 2^-24,
//! round-trip times in eighths of a microsecond; rates are in bytes of IP packets per second. Left out:
//! shorter segments below 1 Mb/s.

use lasthop_units::{Bitrate, Duration, Instant};

use super::{Acknowledgement, Control, DeliveryReport, Window};
use crate::segment::HEADER_BYTES;
use crate::{Config, State};

const WINDOW_SHIFT: u32 = 20;
const ALPHA_SHIFT: u32 = 24;
const ALPHA_MAX: u64 = 1 << ALPHA_SHIFT;
/// log2 of 1/g, the weight of a round trip in α: 1/16 (2.4.2 of the draft).
const GAIN_SHIFT: u32 = 4;
/// Smallest window in segments, and smallest rate: 100 kb/s.
const WINDOW_MIN: u32 = 2;
const RATE_MIN: u64 = 12_500;
/// Rounds after slow start until the rate does not depend on the round trip.
const ROUNDS_OF_TRANSITION: u32 = 4;
/// The reference round trip, 25 ms, and the largest one whose growth is scaled, 100 ms.
const ROUND_TRIP_REFERENCE: u64 = 25_000 * 8;
const ROUND_TRIP_SCALED_MAX: u64 = 100_000 * 8;
const REFERENCE: Duration = Duration::from_millis(25);
/// Bytes of the packet by which the rate grows in a reference round trip.
const PACKET_BYTES: u64 = 1_500;
/// Variation of the pacing rate: 4/128.
const VARIATION: u64 = 4;
const VARIATION_SHIFT: u32 = 7;
/// Weight of the mean of the smoothed round trip, as a shift.
const MEAN_SHIFT: u32 = 7;
/// log2 of about the eighths of a microsecond in a second, as the module approximates it.
const SECOND_SHIFT: u32 = 23;
/// Largest window, in full packets, with which the control keeps a rate.
const PACKETS_BY_RATE: u64 = 4;
const MICROS_8_PER_SECOND: u64 = 8_000_000;

/// State of the sender at an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub now: Instant,
    pub smoothed: Option<Duration>,
    /// Segments in flight after the acknowledgement.
    pub in_flight: u32,
    pub state: State,
    /// Whether the window limits the sender.
    pub is_limited: bool,
}

impl Moment {
    fn round_trip(&self) -> u64 {
        self.smoothed.map_or(0, |smoothed| smoothed.as_nanos() * 8 / 1_000)
    }
}

/// The state of Prague.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prague {
    packet_bytes: u64,
    window: u64,
    rate: u64,
    pacing_rate: u64,
    /// α times 16, the mean share of marked packets.
    alpha: u64,
    /// Instants at which α changed, and at which marks last reduced the window.
    alpha_at: Instant,
    reduced_at: Option<Instant>,
    /// Growth of the window for each window of packets.
    growth: u64,
    /// Mean of the smoothed round trip, times 128.
    round_trip_mean: u64,
    /// Smoothed round trip at the last acknowledgement.
    round_trip: u64,
    /// Window and rate before a loss.
    before_loss: (u32, u64),
    /// Packets delivered in this round, marked ones among them, and the position that ends it.
    delivered: u64,
    marked: u64,
    round_end: u64,
    /// Rounds since slow start ended.
    rounds: u32,
    has_seen_mark: bool,
    keeps_rate: bool,
    is_in_loss: bool,
}

impl Prague {
    /// Returns the state of a new connection.
    pub fn new(config: &Config) -> Self {
        Self {
            packet_bytes: packet_bytes(u32::from(config.segment_bytes)),
            window: 0,
            rate: RATE_MIN,
            pacing_rate: RATE_MIN,
            alpha: 0,
            alpha_at: Instant::ZERO,
            reduced_at: None,
            growth: 1 << WINDOW_SHIFT,
            round_trip_mean: 0,
            round_trip: 0,
            before_loss: (0, 0),
            delivered: 0,
            marked: 0,
            round_end: 0,
            rounds: 0,
            has_seen_mark: false,
            keeps_rate: false,
            is_in_loss: false,
        }
    }

    /// Starts the control when the connection opens.
    pub(crate) fn open(&mut self, at: &Moment, window: &Window) {
        self.alpha_at = at.now;
        self.window = u64::from(window.size) << WINDOW_SHIFT;
        self.round_trip = at.round_trip();
        // Without a round trip a microsecond.
        self.round_trip_mean = self.round_trip.max(8) << MEAN_SHIFT;
        let each = (MICROS_8_PER_SECOND * self.packet_bytes).checked_div(self.round_trip);
        self.rate = (each.unwrap_or(0) * u64::from(window.size)).max(RATE_MIN);
        self.update_pacing_rate(at, window);
        self.begin_round(0, window);
    }

    pub(crate) fn set_segment_bytes(&mut self, bytes: u32) {
        self.packet_bytes = packet_bytes(bytes);
    }

    /// The pacing rate.
    pub(crate) fn pacing_rate(&self) -> Bitrate {
        Bitrate::from_bps(self.pacing_rate.saturating_mul(8))
    }

    /// Handles an acknowledgement (prague_cong_control).
    pub(crate) fn control(&mut self, at: &Moment, report: &DeliveryReport, window: &mut Window) {
        self.round_trip = at.round_trip();
        self.is_in_loss &= at.state != State::Open;
        self.delivered += u64::from(report.packets);
        self.marked += u64::from(report.marked);
        self.update_window(at, report, window);
        let has_passed = !self.is_independent(window) || at.now >= self.alpha_at + REFERENCE;
        if report.acknowledged >= self.round_end && has_passed {
            self.update_alpha(at, report.next, window);
        }
        self.update_pacing_rate(at, window);
        let bytes = u64::from(window.size) * self.packet_bytes;
        self.keeps_rate = self.has_seen_mark && bytes <= PACKETS_BY_RATE * PACKET_BYTES;
        if self.keeps_rate {
            self.window = self.window_of_rate();
        } else {
            self.rate = self.rate_of_window();
        }
    }

    /// Reduces window and rate by half of α, at most once in 25 ms (prague_enter_cwr).
    pub(crate) fn handle_mark(&mut self, now: Instant, window: &Window) {
        let is_soon = self.reduced_at.is_some_and(|at| now < at + REFERENCE);
        if self.is_independent(window) && is_soon {
            return;
        }
        self.reduced_at = Some(now);
        let alpha = self.alpha >> GAIN_SHIFT;
        if self.is_by_rate(window) {
            let reduction = share(self.rate, alpha, ALPHA_SHIFT + 1);
            self.rate = (self.rate - reduction).max(RATE_MIN);
            self.window = self.window_of_rate();
        } else {
            let reduction = (u128::from(alpha) * u128::from(self.window) + u128::from(ALPHA_MAX))
                >> (ALPHA_SHIFT + 1);
            self.window -= reduction as u64;
            self.rate = self.rate_of_window();
        }
    }

    /// Restores the rate before a loss that was none. Returns the window.
    pub(crate) fn handle_undo(&mut self, window: u32) -> u32 {
        self.is_in_loss = false;
        self.rate = self.rate.max(self.before_loss.1);
        self.window = self.window_of_rate();
        window.max(self.before_loss.0)
    }

    /// Whether the rate no longer depends on the round trip.
    fn is_independent(&self, window: &Window) -> bool {
        !window.is_slow_start() && self.rounds >= ROUNDS_OF_TRANSITION
    }

    fn is_by_rate(&self, window: &Window) -> bool {
        self.keeps_rate && self.is_independent(window)
    }

    fn round_trip_virtual(&self) -> u64 {
        self.round_trip.max(ROUND_TRIP_REFERENCE)
    }

    fn update_window(&mut self, at: &Moment, report: &DeliveryReport, window: &mut Window) {
        if report.marked > 0 {
            if !self.has_seen_mark {
                self.window = (self.window + 1) >> 1;
            }
            self.has_seen_mark = true;
        }
        let mut packets = report.packets.saturating_sub(report.marked);
        if packets > 0 && !self.is_in_loss && at.is_limited {
            if window.is_slow_start() {
                packets = window.increase_to_threshold(packets);
                self.window = u64::from(window.size) << WINDOW_SHIFT;
                if packets == 0 {
                    self.update_growth();
                    return;
                }
            }
            self.grow(u64::from(packets), window);
        }
        let target = (self.window.div_ceil(1 << WINDOW_SHIFT) as u32).max(WINDOW_MIN);
        if window.size > target {
            window.size -= 1;
            window.threshold = window.size;
            self.update_growth();
        } else if window.size < target {
            window.size += 1;
            self.update_growth();
        }
    }

    fn grow(&mut self, packets: u64, window: &Window) {
        if self.is_by_rate(window) {
            let round_trip = self.round_trip_virtual();
            let increase = ((packets * PACKET_BYTES) << SECOND_SHIFT) / round_trip;
            let in_window = self.rate * round_trip;
            let segments = in_window.div_ceil(self.packet_bytes << SECOND_SHIFT);
            if segments > 0 {
                self.rate += divide_to_nearest(increase, segments);
            }
            self.window = (self.window + packets).max(self.window_of_rate());
        } else {
            let mut increase = packets * self.growth;
            if self.window > 0 {
                increase = divide_to_nearest(increase << WINDOW_SHIFT, self.window);
            }
            increase = increase * PACKET_BYTES / self.packet_bytes;
            self.window += increase.max(packets);
            self.rate = (self.rate + packets).max(self.rate_of_window());
        }
    }

    /// The growth of a window in its round trip: one segment, scaled by the square of the round trip
    /// over 25 ms, so that the rate grows by one packet per 25 ms in 25 ms (3.2 of the draft's
    /// RTT-independence).
    fn update_growth(&mut self) {
        let round_trip = self.round_trip;
        let is_scaled = self.rounds >= ROUNDS_OF_TRANSITION
            && round_trip > 0
            && round_trip <= ROUND_TRIP_SCALED_MAX
            && round_trip < ROUND_TRIP_REFERENCE;
        self.growth = 1 << WINDOW_SHIFT;
        if is_scaled {
            let square = ROUND_TRIP_REFERENCE * ROUND_TRIP_REFERENCE;
            self.growth = divide_to_nearest((round_trip << WINDOW_SHIFT) * round_trip, square);
        }
    }

    fn update_alpha(&mut self, at: &Moment, next: u64, window: &Window) {
        if self.has_seen_mark {
            let share = (self.marked << ALPHA_SHIFT) / self.delivered.max(1);
            let alpha = self.alpha - (self.alpha >> GAIN_SHIFT) + share;
            self.alpha = alpha.min(ALPHA_MAX << GAIN_SHIFT);
            self.alpha_at = at.now;
        }
        let faded = self.round_trip_mean >> MEAN_SHIFT;
        self.round_trip_mean = self.round_trip_mean + self.round_trip - faded;
        self.begin_round(next, window);
    }

    fn begin_round(&mut self, next: u64, window: &Window) {
        (self.round_end, self.delivered, self.marked) = (next, 0, 0);
        if !window.is_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.update_growth();
    }

    fn update_pacing_rate(&mut self, at: &Moment, window: &Window) {
        let mut rate;
        if self.is_by_rate(window) {
            let variation = (VARIATION * self.rate) >> VARIATION_SHIFT;
            let half = Duration::from_nanos(self.round_trip_virtual() * 1_000 / 16);
            let is_late = at.now >= self.alpha_at + half;
            rate = if is_late { self.rate - variation } else { self.rate + variation };
        } else {
            let segments = (self.window >> WINDOW_SHIFT).max(u64::from(at.in_flight));
            let each = MICROS_8_PER_SECOND * self.packet_bytes / self.round_trip.max(1);
            rate = each.saturating_mul(segments).max(RATE_MIN);
            self.rate = rate;
        }
        if window.size < window.threshold / 2 {
            rate = rate.saturating_mul(2);
        }
        self.pacing_rate = rate;
    }

    fn window_of_rate(&self) -> u64 {
        let mean = self.round_trip_mean >> MEAN_SHIFT;
        let round_trip = if mean > 0 { mean } else { self.round_trip };
        share(self.rate, round_trip, SECOND_SHIFT - WINDOW_SHIFT).div_ceil(self.packet_bytes)
    }

    fn rate_of_window(&self) -> u64 {
        let each = MICROS_8_PER_SECOND * self.packet_bytes / self.round_trip.max(1);
        share(each, self.window, WINDOW_SHIFT).max(RATE_MIN)
    }
}

impl Control for Prague {
    fn handle_acknowledgement(&mut self, _: Instant, _: &Acknowledgement, _: &mut Window) {}

    /// The threshold changes with the window only.
    fn threshold_after_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        window.threshold
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    /// Halves window and rate (prague_enter_loss).
    fn handle_lost(&mut self, window: &mut Window) {
        self.before_loss = (window.size, self.rate);
        if self.is_by_rate(window) {
            self.rate -= self.rate >> 1;
            self.window = self.window_of_rate();
        } else {
            self.window -= self.window >> 1;
            self.rate = self.rate_of_window();
        }
        self.is_in_loss = true;
    }
}

fn packet_bytes(segment_bytes: u32) -> u64 {
    u64::from(segment_bytes) + u64::from(HEADER_BYTES)
}

/// `value` times `factor`, shifted to the right.
fn share(value: u64, factor: u64, shift: u32) -> u64 {
    let product = (u128::from(value) * u128::from(factor)) >> shift;
    u64::try_from(product).unwrap_or(u64::MAX)
}

const fn divide_to_nearest(value: u64, divisor: u64) -> u64 {
    (value + divisor / 2) / divisor
}
