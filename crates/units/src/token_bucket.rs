//! A token bucket (as `srTCM` of RFC 2697 has two): a limit on the amount that passes in any window
//! of time. Amounts are in any unit that the caller chooses: bits, bytes, packets. Integer
//! arithmetic, exact to 10^-9 of a unit; time is an argument. Leaves out borrowing: an amount that
//! exceeds the level is refused, not delayed.

use crate::{Duration, Instant};

/// Parts of a token, so that one nanosecond at one token per second is a whole
/// number.
const PARTS: u128 = 1_000_000_000;

/// A bucket that lets at most `rate_per_s * w + burst` tokens pass in any window of `w` seconds.
///
/// ```
/// use lasthop_units::{Duration, Instant, TokenBucket};
///
/// // A thousand answers a second, three at once.
/// let start = Instant::ZERO;
/// let mut answers = TokenBucket::new(1_000, 3, start);
/// assert_eq!([0; 5].map(|_| answers.take(start, 1)), [true, true, true, false, false]);
/// let next = start + Duration::from_millis(1);
/// assert_eq!(answers.next_at(1), Some(next));
/// assert!(answers.take(next, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate_per_s: u64,
    burst: u64,
    /// Level of the bucket at `updated`, in [`PARTS`] of a token.
    level_parts: u128,
    updated: Instant,
}

impl TokenBucket {
    /// Returns a full bucket of `burst` tokens that gains `rate_per_s` tokens per second.
    pub const fn new(rate_per_s: u64, burst: u64, now: Instant) -> Self {
        Self { rate_per_s, burst, level_parts: burst as u128 * PARTS, updated: now }
    }

    /// Tokens gained per second.
    pub const fn rate_per_s(&self) -> u64 {
        self.rate_per_s
    }

    /// Tokens in a full bucket.
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// Takes `amount` tokens if the bucket has all of them, otherwise none. Returns
    /// whether it did. A `now` before an earlier one counts as that earlier one.
    pub fn take(&mut self, now: Instant, amount: u64) -> bool {
        self.level_parts = self.parts(now);
        self.updated = self.updated.max(now);
        let Some(left) = self.level_parts.checked_sub(u128::from(amount) * PARTS) else {
            return false;
        };
        self.level_parts = left;
        true
    }

    /// Returns `amount` tokens that were taken and not used.
    pub fn put_back(&mut self, amount: u64) {
        let full = u128::from(self.burst) * PARTS;
        self.level_parts = full.min(self.level_parts + u128::from(amount) * PARTS);
    }

    /// Whole tokens in the bucket at `now`.
    pub fn level(&self, now: Instant) -> u64 {
        // The level is never above `burst`.
        (self.parts(now) / PARTS) as u64
    }

    /// Whether the bucket is full at `now`, and so equal to a new one.
    pub fn is_full(&self, now: Instant) -> bool {
        self.parts(now) == u128::from(self.burst) * PARTS
    }

    /// The earliest instant at which the bucket has `amount` tokens if none are
    /// taken before; `None` if it never has that many.
    pub fn next_at(&self, amount: u64) -> Option<Instant> {
        if amount > self.burst {
            return None;
        }
        let missing = (u128::from(amount) * PARTS).saturating_sub(self.level_parts);
        if missing == 0 {
            return Some(self.updated);
        }
        if self.rate_per_s == 0 {
            return None;
        }
        let nanos = u64::try_from(missing.div_ceil(u128::from(self.rate_per_s))).ok()?;
        self.updated.as_nanos().checked_add(nanos).map(Instant::from_nanos)
    }

    /// The level at `now`, in [`PARTS`] of a token.
    fn parts(&self, now: Instant) -> u128 {
        let elapsed: Duration = now.saturating_since(self.updated);
        let gained = u128::from(elapsed.as_nanos()) * u128::from(self.rate_per_s);
        self.level_parts.saturating_add(gained).min(u128::from(self.burst) * PARTS)
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn it_is_full_at_birth_and_refills() {
        let mut bucket = TokenBucket::new(1_000, 10, at_ms(5));
        assert_eq!((bucket.rate_per_s(), bucket.burst()), (1_000, 10));
        assert!(bucket.is_full(at_ms(5)));
        assert!(bucket.take(at_ms(5), 10) && !bucket.take(at_ms(5), 1));
        assert_eq!((bucket.next_at(3), bucket.next_at(10)), (Some(at_ms(8)), Some(at_ms(15))));
        assert!(!bucket.is_full(at_ms(15) - Duration::from_nanos(1)) && bucket.is_full(at_ms(15)));
        assert_eq!((bucket.level(at_ms(7)), bucket.level(at_ms(8))), (2, 3));
        assert!(!bucket.take(at_ms(7), 3), "refused, and nothing is lost by it");
        assert!(bucket.take(at_ms(8), 3));
        bucket.put_back(2);
        assert_eq!(bucket.level(at_ms(8)), 2);
        assert_eq!(bucket.level(at_ms(1_000_000)), 10, "never more than the burst");
        assert_eq!(bucket.next_at(11), None);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_loses_nothing() {
        let mut bucket = TokenBucket::new(3, 1, Instant::ZERO);
        let mut taken = 0;
        for ms in 0..10_000 {
            taken += u64::from(bucket.take(at_ms(ms), 1));
        }
        assert_eq!(taken, 30);
    }

    #[test]
    fn the_ends_of_time_and_of_numbers_do_not_overflow() {
        let mut bucket = TokenBucket::new(u64::MAX, u64::MAX, Instant::ZERO);
        assert!(bucket.take(Instant::ZERO, u64::MAX));
        bucket.put_back(u64::MAX);
        assert!(bucket.take(Instant::MAX, u64::MAX) && !bucket.take(Instant::MAX, 1));
        assert_eq!(bucket.next_at(1), None, "the end of time is now");
        assert!(!bucket.take(Instant::ZERO, 1), "time does not go back");
        let mut stopped = TokenBucket::new(0, 1, Instant::ZERO);
        assert!(stopped.take(Instant::ZERO, 1) && !stopped.take(Instant::MAX, 1));
        assert_eq!((stopped.next_at(0), stopped.next_at(1)), (Some(Instant::MAX), None));
        let slow = TokenBucket { level_parts: 0, ..TokenBucket::new(1, u64::MAX, Instant::ZERO) };
        assert_eq!(slow.next_at(u64::MAX), None, "not in 584 years");
    }

    proptest! {
        /// The limit holds for every window between two calls of `take`.
        #[test]
        fn no_window_passes_more(
            rate in 0..2_000_000_000u64,
            burst in 0..100_000u64,
            steps in proptest::collection::vec((0..20_000_000u64, 0..20_000u64), 0..100),
        ) {
            let mut now = Instant::from_nanos(77);
            let mut bucket = TokenBucket::new(rate, burst, now);
            let mut taken: Vec<(Instant, u64)> = Vec::new();
            for (pause, amount) in steps {
                now += Duration::from_nanos(pause);
                let level = bucket.level(now);
                let is_taken = bucket.take(now, amount);
                prop_assert_eq!(is_taken, level >= amount);
                if is_taken {
                    taken.push((now, amount));
                } else if let Some(at) = bucket.next_at(amount) {
                    prop_assert!(at > now && bucket.level(at) >= amount);
                    let before = at - Duration::from_nanos(1);
                    prop_assert!(bucket.level(before) < amount, "it waits too long");
                } else {
                    prop_assert!(amount > burst || rate == 0);
                }
            }
            for first in 0..taken.len() {
                let mut sum = 0u128;
                for (at, amount) in &taken[first..] {
                    sum += u128::from(*amount) * PARTS;
                    let window = u128::from((*at - taken[first].0).as_nanos());
                    prop_assert!(sum <= window * u128::from(rate) + u128::from(burst) * PARTS);
                }
            }
        }
    }
}
