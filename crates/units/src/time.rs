//! Points in time and lengths of time, both in whole nanoseconds.
//!
//! [`Instant`] counts from the start of a run (0 to 584 years). [`Duration`] is
//! never negative. Arithmetic panics on overflow in debug builds; the
//! `saturating_*` methods clamp instead. Leaves out calendar time and every clock.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// A point in time: nanoseconds since the start of the run.
///
/// ```
/// use lasthop_units::{Duration, Instant};
///
/// let sent = Instant::ZERO + Duration::from_millis(3);
/// let received = sent + Duration::from_micros(750);
/// assert_eq!(received - sent, Duration::from_micros(750));
/// assert_eq!(sent.saturating_since(received), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A length of time in nanoseconds, never negative.
///
/// ```
/// use lasthop_units::Duration;
///
/// // Beacons are 100 time units of 1024 us apart.
/// let interval = Duration::from_micros(1024) * 100;
/// assert_eq!(Duration::from_secs(1) / interval, 9);
/// assert_eq!(Duration::from_secs(1) % interval, Duration::from_micros(78_400));
/// assert_eq!(interval.to_string(), "102400us");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// The latest instant; no machine ever waits for it.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start of the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the run, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time since `earlier`, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The instant `duration` later, or [`Instant::MAX`].
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    /// The instant `duration` earlier, or [`Instant::ZERO`].
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.0))
    }
}

impl Duration {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// The longest duration: 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A duration of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A duration of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A duration of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// A duration of `secs` seconds, rounded to the nearest nanosecond; negative
    /// numbers and NaN give zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(libm::round(secs * 1e9) as u64)
    }

    /// The duration in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The duration in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// The duration in seconds, for output and ratios.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The duration in milliseconds, for output.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The duration in microseconds, for output.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Whether the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The sum, or [`Duration::MAX`].
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The duration multiplied by `factor`, rounded to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(libm::round(self.0 as f64 * factor) as u64)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        self.0 += rhs.0;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// The time from `rhs` to `self`; panics in debug builds if `rhs` is later.
    fn sub(self, rhs: Self) -> Duration {
        Duration(self.0 - rhs.0)
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, rhs: Self) {
        self.0 -= rhs.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0 * rhs)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl Div for Duration {
    type Output = u64;
    /// Number of whole times that `rhs` fits into `self`; panics if `rhs` is zero.
    fn div(self, rhs: Self) -> u64 {
        self.0 / rhs.0
    }
}

impl Rem for Duration {
    type Output = Self;
    fn rem(self, rhs: Self) -> Self {
        Self(self.0 % rhs.0)
    }
}

impl core::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t={}", Duration(self.0))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration(self.0), f)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Duration {
    /// Writes the largest unit in which the number is exact: `16us`, `102400us`,
    /// `5ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        if n == 0 {
            f.write_str("0s")
        } else if n.is_multiple_of(1_000_000_000) {
            write!(f, "{}s", n / 1_000_000_000)
        } else if n.is_multiple_of(1_000_000) {
            write!(f, "{}ms", n / 1_000_000)
        } else if n.is_multiple_of(1_000) {
            write!(f, "{}us", n / 1_000)
        } else {
            write!(f, "{n}ns")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate alloc;
    use alloc::string::ToString;

    #[test]
    fn display_is_exact() {
        assert_eq!(Duration::from_micros(102_400).to_string(), "102400us");
        assert_eq!(Duration::from_nanos(3_600).to_string(), "3600ns");
        assert_eq!(Duration::from_secs(2).to_string(), "2s");
        assert_eq!(Duration::from_millis(1_500).to_string(), "1500ms");
        assert_eq!(Duration::from_nanos(9).to_string(), "9ns");
        assert_eq!(Duration::ZERO.to_string(), "0s");
        let (instant, length) = (Instant::from_nanos(2_000), Duration::from_nanos(2_000));
        assert_eq!(alloc::format!("{instant} {instant:?} {length:?}"), "2us t=2us 2us");
    }

    /// A minute and a half, in every unit.
    #[test]
    fn units_are_a_thousand_apart() {
        let length = Duration::from_secs(90);
        assert_eq!(length, Duration::from_millis(90_000));
        assert_eq!(length, Duration::from_micros(90_000_000));
        assert_eq!(length, Duration::from_nanos(90_000_000_000));
        assert_eq!(length, Duration::from_secs_f64(90.0));
        assert_eq!((length.as_nanos(), length.as_micros()), (90_000_000_000, 90_000_000));
        let fractions = (length.as_secs_f64(), length.as_millis_f64(), length.as_micros_f64());
        assert_eq!(fractions, (90.0, 90e3, 90e6));
        assert_eq!((Instant::ZERO + length).as_secs_f64(), 90.0);
        assert_eq!(Duration::from_nanos(1_999).as_micros(), 1);
        assert!(Duration::ZERO.is_zero() && !Duration::from_nanos(1).is_zero());
    }

    #[test]
    fn fractions_are_rounded_to_the_nearest_nanosecond() {
        assert_eq!(Duration::from_secs_f64(1.4e-9), Duration::from_nanos(1));
        assert_eq!(Duration::from_secs_f64(1.6e-9), Duration::from_nanos(2));
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_nanos(10).mul_f64(0.26), Duration::from_nanos(3));
        assert_eq!(Duration::from_secs(8).mul_f64(1.125), Duration::from_secs(9));
    }

    /// 17 s are three times 5 s and 2 s.
    #[test]
    fn lengths_are_reckoned_with() {
        let [two, five, all] = [2, 5, 17].map(Duration::from_secs);
        assert_eq!((all / five, all % five), (3, two));
        assert_eq!(five * 3 + two, all);
        assert_eq!((all - two) / 3, five);
        let mut length = five;
        length += two;
        assert_eq!(length, Duration::from_secs(7));
        length -= five;
        assert_eq!(length, two);
        assert_eq!([five, five, five, two].into_iter().sum::<Duration>(), all);
        assert_eq!(all.saturating_sub(five), Duration::from_secs(12));
        assert_eq!(five.saturating_sub(all), Duration::ZERO);
        assert_eq!(five.saturating_add(two), Duration::from_secs(7));
        assert_eq!(five.saturating_add(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn instants_are_moved_by_lengths() {
        let second = Duration::from_secs(1);
        let mut now = Instant::from_nanos(7);
        now += second;
        assert_eq!(now.as_nanos(), 1_000_000_007);
        assert_eq!(now + second - second, now);
        assert_eq!(now - second, Instant::from_nanos(7));
        assert_eq!(now.saturating_since(Instant::from_nanos(7)), second);
        assert_eq!(now.saturating_add(second) - second, now);
        assert_eq!(now.saturating_add(Duration::MAX), Instant::MAX);
        assert_eq!(now.saturating_sub(second), Instant::from_nanos(7));
        assert_eq!(now.saturating_sub(second * 2), Instant::ZERO);
    }

    #[test]
    fn an_earlier_instant_is_zero_away() {
        let early = Instant::from_nanos(5);
        let late = Instant::from_nanos(9);
        assert_eq!(early.saturating_since(late), Duration::ZERO);
        assert_eq!(late - early, Duration::from_nanos(4));
    }
}
