//! Rate control: how fast to send so that the queues of the path stay short,
//! whatever the losses, the variation of delays and the traffic of others. Rates
//! are in bytes per second, delays in microseconds.
//!
//! A receiver reports when it received which datagram. Datagrams sent within about
//! a round trip are evaluated together, as a [`Window`]: their sending rate, their
//! *least* delay, which is that of a standing queue (RFC 8289's argument), and
//! their losses.
//!
//! - **Capacity** is the rate that the path can carry. It is measured while the standing queue
//!   grows or drains, because the path is busy then: bytes sent, over the time in which they
//!   arrived. While the queue does neither, the rate sent is a lower bound. So neither varying
//!   delays nor other causes of delay reduce the rate.
//! - **Queue.** The rate is the capacity, slightly more while the standing queue is below its
//!   target and less above. The target in bytes grows with the spread of delays and with the rate:
//!   as its square root, and faster at low rates, where it is little more than a datagram. Two
//!   links that share a queue therefore converge to the same rate, as with FAST TCP's constant
//!   number of packets. A queue that becomes long within a window is seen in that window, and
//!   drained within a round trip.
//! - **Losses** by themselves say nothing. Losses at full rate in excess of those
//!   at a lower rate occurred in a queue that is too short to be seen in delays,
//!   and count as queue. From time to time a window is sent at a lower rate to
//!   measure this.
//! - **Others.** A queue that stands although this link sends less is caused by others, or is none:
//!   half the rate for two round trips decides ([`Drain`]). If the queue disappears, it was this
//!   link's. If it does not change, it is no queue but part of the path. If it falls a little,
//!   others fill it, and a short queue is not possible: the link then takes its share as CUBIC (RFC
//!   9438) does, until another test shows that the queue is its own.
//!
//! Clocks need not agree; a drift of 100 ppm is 3 to 6 ms in the 30 to 60 s for
//! which the least delay is remembered.

mod compete;
mod delays;
mod gaps;
mod window;

use crate::config::PaceConfig;
use compete::Compete;
use delays::{Delay, Delays};
use gaps::Gaps;
use lasthop_units::{Duration, Instant};
use window::{Ratio, Tally, Window};

/// Relative change of the rate for a queue that is off by its target.
const GAIN: f64 = 0.25;
/// Lowest and highest rate relative to the capacity: those of a queue off by its target.
const RELATIVE_RATE: (f64, f64) = (1.0 - GAIN, 1.0 + GAIN);
/// A queue of this many targets is long: it is drained at [`REDUCED`] ..
const LONG: f64 = 4.0;
/// .. or within a window and a round trip if it became long within a window, but no slower than
/// this in relation to the capacity: reports must go on.
const RELATIVE_RATE_DRAIN: f64 = 0.1;
/// The relative rate while no queue was seen yet: the arriving rate doubles per
/// round trip, and is measured a little later.
const STARTUP_RATE: f64 = 2.885;
/// Round trips of data that may be in flight in that phase, in addition to one: as much as arrives
/// before it is known that the rate doubled.
const STARTUP_ROUND_TRIPS: f64 = 1.0;
/// The relative rate while a queue is drained, also to test whose it is, and the factor of the capacity
/// after a long silence: half, as the congestion window of RFC 5681 is reduced.
const REDUCED: f64 = 0.5;
/// One of this many windows is sent at the lower rate [`CALM_RATE`].
const CALM_EVERY: u32 = 12;
const CALM_RATE: f64 = 0.85;
/// A window sent at less than this share of the capacity counts as calm.
const CALM_BELOW: f64 = 0.92;
/// The rate before anything is known, in bytes per second.
const RATE_FIRST: f64 = 500_000.0;
/// Bytes that may be in flight before the first report (RFC 6928's ten segments).
const WINDOW_FIRST: u64 = 16_000;
/// Lower bound of the rate when it falls because of silence, in bytes per second,
/// so that it recovers soon.
const RATE_SILENT: f64 = 62_500.0;
/// Lower bound of the rate in bytes per second: enough for a datagram every few
/// seconds.
const RATE_MIN: f64 = 4_000.0;
/// The rate at which the queue's target is the configured one, in bytes per second.
const RATE_OF_TARGET: f64 = 1_500_000.0;
/// Lowest and highest target of the queue, without the spread of delays.
const TARGET: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));
/// Highest target with the spread of delays, in microseconds.
const TARGET_MAX_US: f64 = 25_000.0;
/// Shortest window: it takes half a round trip, but no less than twice the highest target, so that most
/// of it is more than a queue. At the start, a quarter of either, because the rate doubles meanwhile.
const WINDOW_MIN: Duration = Duration::from_nanos(2 * TARGET.1.as_nanos());
/// Share of losses in excess of the usual ones that counts as much as a queue of
/// the target.
const EXCESS_OF_TARGET: f64 = 0.02;
/// Weight of a window's measurement in the capacity.
const CAPACITY_WEIGHT: f64 = 0.5;
/// Variation of delays, as a share of the window, below which rates of arrival are
/// precise.
const EVEN: f64 = 0.03;
/// A queue of this many targets at the start is tested at once.
const FOREIGN: f64 = 2.0;
/// Number of windows for which a queue must stand before it is tested.
const STANDING_WINDOWS: u32 = 4;
/// Other traffic below this share of the path does not count.
const ALONE: f64 = 0.2;
/// Time for which delays and results of tests are remembered: clocks drift, and routes and other
/// traffic change.
const REMEMBERED: Duration = Duration::from_secs(30);

/// The rate control of one path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pace {
    config: PaceConfig,
    /// Capacity of the path in bytes per second.
    capacity: f64,
    /// The rate relative to the capacity.
    relative: f64,
    phase: Phase,
    delays: Delays,
    gaps: Gaps,
    window: Option<Window>,
    /// Losses of calm windows, and of the others.
    calm: Ratio,
    busy: Ratio,
    /// Number of windows since a calm one; number of windows with a standing queue
    /// above the target.
    since_calm: u32,
    standing: u32,
    /// Time at which the rate was last changed.
    changed_at: Instant,
    /// Number of windows without a queue.
    empty: u32,
    /// Time at which a queue turned out to be none.
    phantom_at: Option<Instant>,
    next_at: Instant,
    /// Time at which the start last ended.
    started_at: Instant,
    /// Whether a queue that became long within a window is still there.
    drains: bool,
}

/// The phase of the rate control.
#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// No queue was seen yet; the highest rate of arrival so far, and when it was
    /// reached.
    Startup { delivered: f64, since: Instant },
    /// The queue is kept at its target.
    Steady,
    /// A test of whose queue it is.
    Drain(Drain),
    /// Others fill the queue.
    Compete(Compete),
}

/// A test: half the rate for two round trips, or until the result must show.
#[derive(Clone, Debug, PartialEq)]
struct Drain {
    began: Instant,
    ends: Instant,
    /// The rate and the standing queue before the test.
    rate: f64,
    queue_us: f64,
    /// The shortest queue since then.
    least_us: f64,
    /// Bytes sent before the test, and since.
    before: Tally,
    since: Tally,
    /// The window to continue with, if the link was competing.
    compete: Option<Compete>,
}

/// A report about the latest datagram received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathReport {
    /// Time at which it was sent.
    pub sent_at: Instant,
    /// Time at which it was received, in microseconds of the receiver's clock.
    pub heard_at_us: u32,
    /// Length of the datagram in bytes.
    pub bytes: u64,
    /// Bytes sent up to and including it.
    pub bytes_up_to: u64,
    /// Number of the datagram, and the count of numbers received up to it.
    pub number: u32,
    pub received: u32,
    /// Latest time at which no data was waiting, as of its transmission.
    pub free_at: Instant,
    /// The smoothed and the least round-trip time.
    pub round_trip: Duration,
    pub round_trip_min: Duration,
}

impl Pace {
    pub fn new(config: PaceConfig, now: Instant) -> Self {
        Self {
            config,
            capacity: RATE_FIRST,
            relative: 1.0,
            phase: Phase::Startup { delivered: 0.0, since: now },
            delays: Delays::new(now),
            gaps: Gaps::default(),
            window: None,
            calm: Ratio::default(),
            busy: Ratio::default(),
            since_calm: 0,
            standing: 0,
            changed_at: now,
            empty: 0,
            phantom_at: None,
            next_at: now,
            started_at: now,
            drains: false,
        }
    }

    /// The configuration that it was created with.
    pub fn config(&self) -> PaceConfig {
        self.config
    }

    /// The present rate in bytes per second.
    pub fn rate(&self, now: Instant) -> f64 {
        let rate = match &self.phase {
            Phase::Startup { .. } => self.capacity * STARTUP_RATE,
            Phase::Steady => self.capacity * self.relative,
            Phase::Drain(drain) if now < drain.ends => drain.rate * REDUCED,
            Phase::Drain(drain) => drain.rate * RELATIVE_RATE.0,
            Phase::Compete(compete) => compete.rate(),
        };
        let max = self.config.rate_max.map_or(f64::INFINITY, |max| max.as_bps() as f64 / 8.0);
        rate.clamp(RATE_MIN, max.max(RATE_MIN))
    }

    /// Delay in standing queues of the path.
    pub fn queue_delay(&self) -> Duration {
        Duration::from_nanos((self.delays.standing_us() * 1e3) as u64)
    }

    /// Bytes that may be in flight, if the least round-trip time is
    /// `round_trip_min`.
    pub fn window_bytes(&self, round_trip_min: Duration) -> u64 {
        if let Phase::Compete(compete) = &self.phase {
            return compete.window_bytes();
        }
        if matches!(self.phase, Phase::Startup { delivered, .. } if delivered == 0.0) {
            return WINDOW_FIRST;
        }
        // Time beyond the least round trip and the target: the highest queue, or until the next report.
        let beyond = TARGET.1.as_micros_f64().max(self.gaps.longest_us());
        let beyond = beyond + 2.0 * self.target_us();
        let time_us = round_trip_min.as_micros_f64() + beyond;
        let more_us = match self.phase {
            Phase::Startup { .. } => STARTUP_ROUND_TRIPS * round_trip_min.as_micros_f64(),
            _ => 0.0,
        };
        (self.capacity * (time_us + more_us) * 1e-6) as u64 + compete::BYTES_MIN
    }

    /// Whether the rate is reduced for a while to test whose queue it is.
    pub fn is_testing(&self) -> bool {
        matches!(self.phase, Phase::Drain(_))
    }

    /// Returns the time at which the next datagram may be sent.
    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// A datagram of `bytes` is sent.
    pub fn sent(&mut self, now: Instant, bytes: usize) {
        // Missed transmissions are made up for the time of the shortest queue that counts.
        let from = self.next_at.max(now.saturating_sub(TARGET.0));
        self.next_at = from + Duration::from_secs_f64(bytes as f64 / self.rate(now));
    }

    /// Handles a long time without reports: the path may have become much slower, or be broken.
    pub fn silence(&mut self, now: Instant) {
        self.capacity = (self.capacity * REDUCED).max(RATE_SILENT.min(self.capacity));
        self.phase = Phase::Startup { delivered: 0.0, since: now };
        self.window = None;
    }

    /// The target of the standing queue in microseconds.
    fn target_us(&self) -> f64 {
        let configured = self.config.queue_target.as_micros_f64();
        let slower = RATE_OF_TARGET / self.capacity;
        let target =
            configured * if slower > 1.0 { libm::cbrt(slower) } else { libm::sqrt(slower) };
        let (least, most) = (TARGET.0.as_micros_f64(), TARGET.1.as_micros_f64());
        let target = target.clamp(least.min(configured), most.max(configured));
        (target + 2.0 * self.delays.spread_us()).min(TARGET_MAX_US.max(target))
    }

    /// Handles a report about a datagram.
    pub fn heard(&mut self, now: Instant, heard: PathReport) {
        self.gaps.hear(now, &heard);
        let delay = self.delays.delay(&heard);
        let queue_us = self.delays.queue_us(&delay, self.capacity);
        if queue_us > now.saturating_since(heard.sent_at).as_micros_f64() {
            // It waited for longer than it has been on its way: the least delay was forged,
            // or a clock was set.
            self.forget_delays(now);
            return;
        }
        let Some(window) = &mut self.window else {
            self.window = Some(Window::new(&heard));
            return;
        };
        if !window.goes_on(&heard) {
            self.window = Some(Window::new(&heard));
            return;
        }
        window.take(&heard, delay, queue_us);
        let is_starting = matches!(self.phase, Phase::Startup { .. });
        let least = if is_starting {
            (heard.round_trip_min / 4).max(WINDOW_MIN / 4)
        } else {
            (heard.round_trip_min / 2).max(WINDOW_MIN)
        };
        if !window.is_complete(least) {
            return;
        }
        let window = self.window.replace(Window::new(&heard)).expect("it was there");
        self.handle_window(now, &window, &heard);
    }

    /// Measures delays anew. Results of earlier delays are void.
    fn forget_delays(&mut self, now: Instant) {
        (self.delays, self.window) = (Delays::new(now), None);
        (self.standing, self.phantom_at) = (0, None);
        if matches!(self.phase, Phase::Drain(_) | Phase::Compete(_)) {
            (self.phase, self.relative) = (Phase::Steady, 1.0);
        }
    }

    fn handle_window(&mut self, now: Instant, window: &Window, heard: &PathReport) {
        let long_us = LONG * self.target_us();
        let grew_us = self.delays.handle_window(now, window, self.capacity, long_us);
        let rate = window.sent_rate();
        let target_us = self.target_us();
        match &mut self.phase {
            Phase::Startup { .. } => self.start_up(now, window, heard),
            Phase::Steady => {
                self.count_losses(window);
                self.follow_capacity(window, grew_us);
                if window.began() >= self.changed_at {
                    self.steer(now, window, heard, grew_us);
                }
            }
            Phase::Drain(drain) => {
                let standing_us = self.delays.standing_us();
                if window.began() >= drain.began {
                    drain.least_us = drain.least_us.min(standing_us);
                    drain.since.add(window);
                } else {
                    drain.before.add(window);
                    // What was sent before the test began counts for the time before.
                    drain.queue_us = drain.queue_us.max(standing_us);
                    drain.least_us = drain.queue_us;
                }
                if window.ended() >= drain.ends || drain.least_us <= target_us {
                    self.judge(now, heard);
                }
            }
            Phase::Compete(compete) => {
                compete.handle_window(now, window, heard.round_trip, self.calm.share());
                if now >= compete.test_at() {
                    let compete = compete.clone();
                    let rate = rate.min(window.arrival_rate());
                    self.drain(now, rate, heard.round_trip, Some(compete));
                }
            }
        }
    }

    /// The rate doubles until no more arrives, or a queue stands.
    fn start_up(&mut self, now: Instant, window: &Window, heard: &PathReport) {
        let Phase::Startup { delivered, since } = self.phase else { return };
        let came = window.came_rate();
        let queue_us = self.delays.standing_us();
        let rate = window.arrival_rate().min(window.sent_rate());
        if came > delivered * 1.2 {
            let losses = window.losses();
            // Many more are lost in a queue that overflows: those are not the usual ones.
            if losses.share() <= self.calm.share() + 2.0 * self.calm.deviation() {
                self.calm.forget(0.5);
                self.calm.add(&losses);
            }
            self.phase = Phase::Startup { delivered: came, since: now };
        }
        let is_growing = came > delivered * 1.2
            || now < since + heard.round_trip * 2 + WINDOW_MIN / 2
            || window.is_free();
        let over_us = queue_us - self.target_us() - TARGET.0.as_micros_f64();
        let is_queueing = over_us > 0.0
            && (window.arrival_rate() < 0.9 * window.sent_rate()
                || over_us > 2.0 * self.target_us());
        if rate > self.capacity {
            // Datagrams lost in a queue did not arrive.
            let bound = came.max(delivered) / (1.0 - self.calm.share());
            self.capacity = rate.min(bound).max(self.capacity);
        }
        if is_queueing {
            self.capacity = self.capacity.min(came.max(delivered) / (1.0 - self.calm.share()));
        }
        if is_queueing || !is_growing {
            self.started_at = now;
            self.phase = Phase::Steady;
            self.relative = 1.0;
        }
        if is_queueing && over_us > FOREIGN * self.target_us() {
            self.drain(now, self.capacity, heard.round_trip, None);
        }
    }

    /// Counts the losses of a window.
    fn count_losses(&mut self, window: &Window) {
        self.calm.forget(Ratio::KEEP);
        self.busy.forget(Ratio::KEEP);
        if window.began() < self.started_at {
            // The start sends more than the path carries, to learn what that is.
            return;
        }
        if window.sent_rate() >= CALM_BELOW * self.capacity {
            self.busy.add(&window.losses());
        } else {
            // If a queue overflows at both rates, the share lost still grows with the rate.
            self.calm.add(&window.losses());
        }
    }

    /// Losses at full rate in excess of the usual ones, as far as they are
    /// significant.
    fn excess(&self) -> f64 {
        let (calm, busy) = (self.calm.share(), self.busy.share());
        let chance = 2.0 * (self.calm.deviation() + self.busy.deviation());
        (1.0 - (1.0 - busy) / (1.0 - calm) - chance).max(0.0)
    }

    /// Adapts the capacity to a window.
    fn follow_capacity(&mut self, window: &Window, grew_us: f64) {
        let noise_us = self.delays.noise_us();
        let rate = window.sent_rate();
        let excess = self.excess();
        // Losses in excess of the usual ones did not enter the queue.
        let took = window.came_rate() / (1.0 - self.calm.share());
        let is_ramp = self.delays.ramp_us() > 0.0;
        let is_moving = grew_us.abs() > noise_us || is_ramp;
        if is_moving && window.is_free() {
            // A burst after idle time shows neither.
        } else if grew_us < 0.0 && is_moving && self.delays.standing_us() <= noise_us {
            // The queue emptied: the window gives a lower bound of the capacity only.
            self.capacity = self.capacity.max(took.min(rate));
        } else if is_moving {
            // Few datagrams arrive evenly enough; where delays vary, the least ones are
            // reliable.
            let is_even = is_ramp || self.delays.spread_us() * 1e-6 < window.seconds() * EVEN;
            let measured = if is_even {
                window.arrival_rate()
            } else {
                rate / (1.0 + grew_us * 1e-6 / window.seconds()).max(0.25)
            };
            let measured = if excess > 0.0 { measured.min(took) } else { measured };
            // Behind a queue that became long within the window nothing is idle.
            let weight = if is_ramp { 1.0 } else { CAPACITY_WEIGHT };
            self.capacity += weight * (measured - self.capacity);
        } else if excess == 0.0 {
            self.capacity = self.capacity.max(rate.min(window.arrival_rate()).min(took));
        } else {
            let slower = 1.0 - excess * GAIN;
            self.capacity *= slower;
            self.busy.slower(slower);
        }
        self.capacity = self.capacity.max(RATE_MIN);
    }

    /// Selects the rate of the next window.
    fn steer(&mut self, now: Instant, window: &Window, heard: &PathReport, grew_us: f64) {
        let target_us = self.target_us();
        let queue_us = self.delays.standing_us() + self.delays.ramp_us();
        let felt_us = queue_us + target_us * self.excess() / EXCESS_OF_TARGET;
        let sent_us = self.under_way_us(now, window);
        let off = (target_us - felt_us - sent_us) / target_us;
        let lag_us = 1.5 * window.seconds() * 1e6 + heard.round_trip.as_micros_f64();
        let gain = GAIN.min(0.5 * target_us / lag_us);
        let is_growing = grew_us > self.delays.noise_us();
        let is_empty = felt_us < target_us / 2.0 && !window.is_free() && !is_growing;
        self.empty = if is_empty { self.empty + 1 } else { 0 };
        let boost = f64::from(1 << self.empty.saturating_sub(1).min(8));
        let (least, most) = RELATIVE_RATE;
        let is_long = queue_us > LONG * target_us;
        let least = if is_long { REDUCED } else { least };
        self.relative = (1.0 + gain * boost * off).clamp(least, most);
        // A queue that others fill, too, is long for other reasons, and does not drain so soon.
        self.drains = self.delays.ramp_us() > 0.0 || self.drains && queue_us > target_us;
        if is_long && self.drains {
            let span_us = window.seconds() * 1e6 + heard.round_trip_min.as_micros_f64();
            let drains = 1.0 - (queue_us + sent_us - target_us) / span_us;
            self.relative = self.relative.min(drains).max(RELATIVE_RATE_DRAIN);
        }
        self.changed_at = now;
        self.since_calm += 1;
        if self.since_calm >= CALM_EVERY {
            self.since_calm = 0;
            self.relative = self.relative.min(CALM_RATE);
        }
        let is_draining = grew_us < -self.delays.noise_us();
        let is_standing = queue_us > 2.0 * target_us && !window.is_free();
        self.standing = if !is_standing || is_draining && !is_long {
            0
        } else if is_long && grew_us > self.delays.noise_us() {
            // A long queue that grows at a reduced rate is tested sooner.
            self.standing + 2
        } else if is_draining {
            self.standing
        } else {
            self.standing + 1
        };
        if self.standing >= STANDING_WINDOWS {
            let rate = window.sent_rate().min(window.arrival_rate());
            self.drain(now, rate, heard.round_trip, None);
        }
    }

    /// The queue that the bytes sent since the shortest queue of a window will add, in
    /// microseconds.
    fn under_way_us(&self, now: Instant, window: &Window) -> f64 {
        let relative = window.sent_rate() / self.capacity - 1.0;
        let since = if relative > 0.0 { window.began() } else { window.ended() };
        let (least, most) = RELATIVE_RATE;
        relative.clamp(least - 1.0, most - 1.0) * now.saturating_since(since).as_micros_f64()
    }

    /// Starts a test of whose queue it is.
    fn drain(&mut self, now: Instant, rate: f64, round_trip: Duration, compete: Option<Compete>) {
        self.standing = 0;
        let queue_us = self.delays.standing_us();
        // At half the rate this link's own queue is half as long after that time.
        let queue = Duration::from_secs_f64(queue_us * 1e-6);
        self.phase = Phase::Drain(Drain {
            began: now,
            ends: now + round_trip + round_trip.max(queue),
            rate,
            queue_us,
            least_us: queue_us,
            before: Tally::default(),
            since: Tally::default(),
            compete,
        });
    }

    /// Evaluates the test.
    fn judge(&mut self, now: Instant, heard: &PathReport) {
        let Phase::Drain(drain) = &self.phase else { return };
        let drain = drain.clone();
        let fell_us = drain.queue_us - drain.least_us;
        let is_alone = drain.before.others(&drain.since).is_some_and(|share| share < ALONE);
        let is_gone = drain.least_us <= self.target_us()
            || is_alone
            || drain.compete.is_none() && fell_us > (1.0 - REDUCED) * drain.queue_us;
        // A queue that others fill grows although this link sends less.
        let moved_us = self.delays.standing_us() - drain.queue_us;
        let is_unmoved = fell_us.max(moved_us) <= self.delays.noise_us();
        let is_first = self.phantom_at.is_none_or(|at| now > at + REMEMBERED);
        self.phase = match (is_gone, drain.compete) {
            (true, _) => {
                self.capacity = self.capacity.min(drain.rate);
                Phase::Steady
            }
            (false, Some(mut compete)) => {
                compete.go_on(now, heard.round_trip);
                Phase::Compete(compete)
            }
            (false, None) if is_unmoved && is_first => {
                self.phantom_at = Some(now);
                self.delays.anchor();
                Phase::Steady
            }
            (false, None) => {
                let window = drain.rate * heard.round_trip.as_secs_f64();
                Phase::Compete(Compete::new(now, window, heard.round_trip))
            }
        };
        self.relative = 1.0;
    }
}
