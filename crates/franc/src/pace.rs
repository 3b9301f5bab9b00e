//! How fast to send so that the way's queue stays short, however many datagrams are lost.
//!
//! A receiver tells when it heard which datagram. From this follow the rate at which the
//! way lets datagrams through (numbers that were lost behind the bottleneck count, so
//! losses do not lower it) and the delay of its queue: how much later than the least
//! delay of the last ten seconds a datagram came. The rate is that of the way, a little
//! more while the delay is below its target and less above: a proportional controller
//! with gain [`GAIN`], stable while a round trip is shorter than about `target / GAIN`.
//! Clocks need not agree; a drift of 100 ppm is one millisecond in the ten seconds.
//! Left out: fairness against flows that fill queues (they win, as against any control by
//! delay), and losses as a sign of a full queue (a queue that is full is also long).

use crate::config::PaceConfig;
use lasthop_units::{Duration, Instant};

/// How much the rate changes for a delay that is off by its target.
const GAIN: f64 = 0.25;
/// The rate relative to that of the way at most and at least.
const RELATIVE_RATE: (f64, f64) = (0.5, 1.25);
/// While no queue was seen yet.
const STARTUP_RATE: f64 = 2.0;
/// The rate before anything is known, in bytes per second.
const RATE_FIRST: f64 = 125_000.0;
/// Silence alone makes it no slower than this, so that it is soon as fast again.
const RATE_SILENT: f64 = 62_500.0;
/// Never slower, in bytes per second: a sign of life every few seconds gets through.
const RATE_MIN: f64 = 4_000.0;
/// The shortest time over which a rate is measured, in microseconds.
const SAMPLE_US: f64 = 10_000.0;
/// A queue this long keeps the bottleneck busy, in microseconds.
const BUSY_US: f64 = 800.0;
/// The least delay is remembered for one to two of these.
const BASE_PERIOD: Duration = Duration::from_secs(5);
/// What was not sent when it could have been is made up for, so much.
const BURST: Duration = Duration::from_millis(1);

/// A rate under control.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pace {
    config: PaceConfig,
    /// Of the way, in bytes per second.
    capacity: f64,
    is_starting: bool,
    /// Delay in queues, in microseconds.
    queue_us: f64,
    /// The least delay of this period and the one before.
    base: [Base; 2],
    period_ends: Instant,
    /// Reference of delays, so that differences of clocks fit in 32 bits.
    reference_us: Option<u32>,
    sample: Option<Sample>,
    drain_until: Instant,
    next_at: Instant,
}

/// A delay without a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Base {
    delay_us: f64,
    /// Of the datagram that it was measured with: longer ones take longer.
    bytes: u64,
}

impl Base {
    const UNKNOWN: Self = Self { delay_us: f64::INFINITY, bytes: 0 };

    fn min(self, other: Self) -> Self {
        if other.delay_us < self.delay_us { other } else { self }
    }
}

/// The beginning of a measurement of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    heard_at_us: u32,
    bytes_before: u64,
    queue_min_us: f64,
}

/// What an acknowledgement says of the latest datagram that was heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// When it was sent.
    pub sent_at: Instant,
    /// When it came, on the receiver's clock.
    pub heard_at_us: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes sent up to it, it included.
    pub bytes_up_to: u64,
    /// The smoothed round trip.
    pub round_trip: Duration,
}

impl Pace {
    pub fn new(config: PaceConfig, now: Instant) -> Self {
        Self {
            config,
            capacity: RATE_FIRST,
            is_starting: true,
            queue_us: 0.0,
            base: [Base::UNKNOWN; 2],
            period_ends: now + BASE_PERIOD,
            reference_us: None,
            sample: None,
            drain_until: Instant::ZERO,
            next_at: now,
        }
    }

    /// What it was made with.
    pub fn config(&self) -> PaceConfig {
        self.config
    }

    /// Bytes per second now.
    pub fn rate(&self, now: Instant) -> f64 {
        let target = self.config.queue_target.as_micros_f64();
        let relative = if now < self.drain_until {
            RELATIVE_RATE.0
        } else if self.is_starting {
            STARTUP_RATE
        } else {
            let off = (target - self.queue_us) / target;
            (1.0 + GAIN * off).clamp(RELATIVE_RATE.0, RELATIVE_RATE.1)
        };
        let max = self.config.rate_max.map_or(f64::INFINITY, |max| max.as_bps() as f64 / 8.0);
        (self.capacity * relative).clamp(RATE_MIN, max.max(RATE_MIN))
    }

    /// Delay in queues of the way.
    pub fn queue_delay(&self) -> Duration {
        Duration::from_nanos((self.queue_us * 1e3) as u64)
    }

    /// Bytes that may be under way.
    pub fn window_bytes(&self, round_trip: Duration) -> u64 {
        let time = round_trip + self.config.queue_target * 2 + Duration::from_millis(20);
        let relative = if self.is_starting { STARTUP_RATE } else { RELATIVE_RATE.1 };
        (self.capacity * relative * time.as_secs_f64()) as u64 + 16_384
    }

    /// When the next datagram may leave.
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// A datagram leaves.
    pub fn sent(&mut self, now: Instant, bytes: usize) {
        let from = self.next_at.max(now.saturating_sub(BURST));
        self.next_at = from + Duration::from_secs_f64(bytes as f64 / self.rate(now));
    }

    /// Nothing was heard for long: the way may have become much slower, or be broken.
    pub fn silence(&mut self) {
        self.capacity = (self.capacity * 0.5).max(RATE_SILENT.min(self.capacity));
        self.is_starting = true;
        self.sample = None;
    }

    /// A datagram was heard of.
    pub fn heard(&mut self, now: Instant, heard: Heard) {
        let sent_at_us = (heard.sent_at.as_nanos() / 1_000) as u32;
        let delay = heard.heard_at_us.wrapping_sub(sent_at_us);
        let reference = *self.reference_us.get_or_insert(delay);
        let delay_us = f64::from(delay.wrapping_sub(reference) as i32);
        self.follow_base(now, Base { delay_us, bytes: heard.bytes }, heard.round_trip);
        let base = self.base[0].min(self.base[1]);
        self.queue_us = self.queue_us(&base, &Base { delay_us, bytes: heard.bytes });
        let Some(sample) = &mut self.sample else {
            self.begin_sample(&heard);
            return;
        };
        sample.queue_min_us = sample.queue_min_us.min(self.queue_us);
        let time_us = f64::from(heard.heard_at_us.wrapping_sub(sample.heard_at_us));
        if time_us < SAMPLE_US {
            return;
        }
        let rate = (heard.bytes_up_to - sample.bytes_before) as f64 / (time_us * 1e-6);
        let is_busy = sample.queue_min_us > BUSY_US;
        if is_busy {
            let weight = if self.is_starting { 1.0 } else { 0.25 };
            self.capacity += weight * (rate - self.capacity);
            self.is_starting = false;
        } else if rate > self.capacity {
            self.capacity = rate;
        }
        if self.queue_us > self.config.queue_target.as_micros_f64() {
            self.is_starting = false;
        }
        self.begin_sample(&heard);
    }

    /// The queue's part of a delay; without any, more bytes would also take longer.
    fn queue_us(&self, base: &Base, measured: &Base) -> f64 {
        let longer_us = measured.bytes.saturating_sub(base.bytes) as f64 / self.capacity * 1e6;
        (measured.delay_us - base.delay_us - longer_us).max(0.0)
    }

    fn begin_sample(&mut self, heard: &Heard) {
        self.sample = Some(Sample {
            heard_at_us: heard.heard_at_us,
            bytes_before: heard.bytes_up_to,
            queue_min_us: self.queue_us,
        });
    }

    /// Keeps the least delay; where a queue never emptied for a period, lets it.
    fn follow_base(&mut self, now: Instant, measured: Base, round_trip: Duration) {
        if now >= self.period_ends {
            // What was measured before a long silence says nothing: clocks drift.
            let is_recent = now < self.period_ends + BASE_PERIOD;
            self.base = [Base::UNKNOWN, if is_recent { self.base[0] } else { Base::UNKNOWN }];
            self.period_ends = now + BASE_PERIOD;
        }
        self.base[0] = self.base[0].min(measured);
        let is_late = now + BASE_PERIOD / 5 >= self.period_ends;
        let never_empty = self.queue_us(&self.base[1], &self.base[0]) > BUSY_US;
        if is_late && never_empty && now >= self.drain_until {
            let queue = self.queue_delay();
            self.drain_until = now + queue * 2 + round_trip / 2;
        }
    }
}
