//! COBALT, the active queue management of Linux' `cake`: CoDel for flows that react, and BLUE for
//! those that do not.
//!
//! CoDel's count of signals falls again, step by step, once the delay is below the target. BLUE's
//! probability of drops grows while a full queue drops packets, and falls when the queue is found
//! empty. The arithmetic is Linux': nanoseconds, and 1 / sqrt(count) in 32 bits, by a step of
//! Newton's method from a count of 16 on. Left out: the queue itself, and `ingress` mode.

use lasthop_units::{Duration, Instant};

/// Counts below this number have a stored reciprocal root.
const STORED: usize = 16;

/// Steps of Newton's method for a stored root, until it changes no more.
const STEPS: usize = 8;

/// Growth of BLUE's probability, 1/256 in units of 2^-32.
const BLUE_UP: u32 = 1 << 24;

/// Decline of BLUE's probability, 1/4096.
const BLUE_DOWN: u32 = 1 << 20;

/// Number of transmission times of the longest packet that every packet may wait.
const PACKETS_EXEMPT: u64 = 4;

/// The parameters of COBALT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CobaltParameters {
    /// Acceptable standing delay, and the least time between two steps of BLUE.
    pub target: Duration,
    /// Time in which a burst may drain.
    pub interval: Duration,
    /// Time for which a shaper sends the longest packet; zero without one.
    pub packet_time: Duration,
}

/// Treatment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet passes, marked or not.
    Pass,
    /// The packet is dropped.
    Drop,
}

/// The state of COBALT, one per queue.
///
/// Packets wait for 10 ms. The second one is dropped, the next one 1 / sqrt(2) of an interval after
/// that, then 1 / sqrt(3):
///
/// ```
/// use lasthop_packet::aqm::{Cobalt, CobaltParameters, Verdict};
/// use lasthop_units::{Duration, Instant};
///
/// let parameters = CobaltParameters {
///     target: Duration::from_millis(5),
///     interval: Duration::from_millis(100),
///     packet_time: Duration::ZERO,
/// };
/// let waited = Duration::from_millis(10);
/// let mut control = Cobalt::default();
/// let drops: Vec<u64> = (1_000..1_300)
///     .filter(|&ms| {
///         let now = Instant::ZERO + Duration::from_millis(ms);
///         control.decide(now, waited, &parameters, || false, || 0) == Verdict::Drop
///     })
///     .collect();
/// assert_eq!(drops[..4], [1_001, 1_071, 1_129, 1_179]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cobalt {
    count: u32,
    /// 1 / sqrt(`count`) in units of 2^-32; 0 before the first signal, as in Linux, so that the
    /// first one comes at once.
    root: u32,
    /// Instant of the next signal; without signals, end of the time in which the state is kept.
    drop_next: u64,
    /// Instant of BLUE's last step.
    blue_at: u64,
    /// BLUE's probability of drops in units of 2^-32.
    blue: u32,
    is_dropping: bool,
}

impl Cobalt {
    /// Whether the state is that of an idle queue at `now`, so that it may be forgotten.
    pub fn is_at_rest(&self, now: Instant) -> bool {
        self.blue == 0 && self.count == 0 && now.as_nanos() >= self.drop_next
    }

    /// BLUE's probability of drops, 0 to 1.
    pub fn blue_probability(&self) -> f64 {
        f64::from(self.blue) / f64::from(u32::MAX)
    }

    /// Notes that the queue was full, so that a packet had to be dropped.
    pub fn note_full(&mut self, now: Instant, parameters: &CobaltParameters) {
        let now = now.as_nanos();
        if now.saturating_sub(self.blue_at) > parameters.target.as_nanos() {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_at = now;
        }
        self.is_dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Notes that the queue was served and found empty.
    pub fn note_empty(&mut self, now: Instant, parameters: &CobaltParameters) {
        let now = now.as_nanos();
        if self.blue > 0 && now.saturating_sub(self.blue_at) > parameters.target.as_nanos() {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_at = now;
        }
        self.is_dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.update_root();
            self.drop_next += self.until_next(parameters);
        }
    }

    /// Decides about a packet that leaves at `now`. `mark` marks the packet and returns whether
    /// it is ECN-capable; `draw` returns 32 random bits.
    pub fn decide(
        &mut self,
        now: Instant,
        sojourn: Duration,
        parameters: &CobaltParameters,
        mark: impl FnOnce() -> bool,
        draw: impl FnOnce() -> u32,
    ) -> Verdict {
        let now = now.as_nanos();
        let exempt_ns = parameters.packet_time.as_nanos() * PACKETS_EXEMPT;
        let is_over = sojourn > parameters.target && sojourn.as_nanos() > exempt_ns;
        let mut is_due = self.count > 0 && now >= self.drop_next;
        let mut is_late = now > self.drop_next;
        if is_over && !self.is_dropping {
            self.is_dropping = true;
            self.drop_next = now + self.until_next(parameters);
        }
        self.is_dropping = is_over;
        if is_over {
            self.count = self.count.max(1);
        }
        let mut drops = false;
        if is_due && self.is_dropping {
            drops = !mark();
            self.count = self.count.saturating_add(1);
            self.update_root();
            self.drop_next += self.until_next(parameters);
            is_late = now > self.drop_next;
        } else {
            while is_due {
                self.count -= 1;
                self.update_root();
                self.drop_next += self.until_next(parameters);
                is_late = now > self.drop_next;
                is_due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.blue > 0 {
            drops |= draw() < self.blue;
        }
        if self.count == 0 {
            self.drop_next = now + parameters.interval.as_nanos();
        } else if is_late && !drops {
            self.drop_next = now;
        }
        if drops { Verdict::Drop } else { Verdict::Pass }
    }

    fn until_next(&self, parameters: &CobaltParameters) -> u64 {
        let scaled = u128::from(parameters.interval.as_nanos()) * u128::from(self.root);
        (scaled >> 32) as u64
    }

    fn update_root(&mut self) {
        self.root = match ROOTS.get(self.count as usize) {
            Some(root) => *root,
            None => newton_step(self.root, self.count),
        };
    }
}

/// 1 / sqrt(n) for n below 16; for 0 and 1 as near to 1 as 32 bits permit. Linux 6.12 has the same
/// numbers, but one unit more for 10.
const ROOTS: [u32; STORED] = {
    let mut roots = [u32::MAX; STORED];
    let (mut root, mut count) = (u32::MAX, 1);
    while count < STORED {
        let mut step = 0;
        while step < STEPS {
            root = newton_step(root, count as u32);
            step += 1;
        }
        roots[count] = root;
        count += 1;
    }
    roots
};

/// A step of Newton's method towards 1 / sqrt(`count`).
const fn newton_step(root: u32, count: u32) -> u32 {
    let square = (root as u64 * root as u64) >> 32;
    let rest = (3_u64 << 32).wrapping_sub(count as u64 * square) >> 2;
    (rest.wrapping_mul(root as u64) >> 31) as u32
}
