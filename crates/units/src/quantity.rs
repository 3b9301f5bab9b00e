//! Bit rates in whole bits per second, byte counts, and probabilities from 0 to 1.
//! Prefixes of bits are decimal (kb/s, Mb/s), those of bytes are binary when
//! displayed. Arithmetic panics on overflow in debug builds.

use crate::Duration;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// A rate in whole bits per second.
///
/// ```
/// use lasthop_units::{Bitrate, Bytes, Duration};
///
/// let rate = Bitrate::from_mbps(54);
/// // 12 000 bits last 222 222.2 ns, rounded up.
/// assert_eq!(Bytes::new(1500) / rate, Duration::from_nanos(222_223));
/// assert_eq!((rate.as_bps(), rate.to_string()), (54_000_000, "54Mb/s".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bitrate(u64);

/// A number of bytes.
///
/// ```
/// use lasthop_units::Bytes;
///
/// let packets = Bytes::new(1500) * 2 + Bytes::new(72);
/// assert_eq!((packets.as_u64(), packets.to_string()), (3072, "3KiB".to_owned()));
/// assert_eq!(Bytes::new(40).saturating_sub(packets), Bytes::ZERO);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A probability in `[0, 1]`; the constructor rejects other numbers.
///
/// ```
/// use lasthop_units::Probability;
///
/// // Two hops in a row, each of which loses every fourth packet.
/// let loss = Probability::new(0.25).expect("it is between 0 and 1");
/// let arrival = loss.complement() * loss.complement();
/// assert_eq!(arrival.as_f64(), 0.5625);
/// assert_eq!(Probability::new(1.5), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Bitrate {
    /// A rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate of `kbps` thousand bits per second.
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }

    /// A rate of `mbps` million bits per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The rate in million bits per second, for output.
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The rate at which `bytes` pass in `time`, rounded down; zero if `time` is
    /// zero.
    pub fn from_bytes_in(bytes: Bytes, time: Duration) -> Self {
        if time.is_zero() {
            return Self(0);
        }
        let bits = u128::from(bytes.0) * 8 * 1_000_000_000;
        Self((bits / u128::from(time.as_nanos())) as u64)
    }
}

impl Bytes {
    /// A count of zero bytes.
    pub const ZERO: Self = Self(0);

    /// A count of `n` bytes.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number of bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The difference, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0 * rhs)
    }
}

impl Div<Bitrate> for Bytes {
    type Output = Duration;
    /// The serialisation time of these bytes at `rate`, rounded up to the
    /// nanosecond. Panics if `rate` is zero.
    fn div(self, rate: Bitrate) -> Duration {
        let bits = u128::from(self.0) * 8 * 1_000_000_000;
        Duration::from_nanos(bits.div_ceil(u128::from(rate.0)) as u64)
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1_000_000) {
            write!(f, "{}Mb/s", self.0 / 1_000_000)
        } else if self.0.is_multiple_of(1_000) {
            write!(f, "{}kb/s", self.0 / 1_000)
        } else {
            write!(f, "{}b/s", self.0)
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != 0 && self.0.is_multiple_of(1 << 20) {
            write!(f, "{}MiB", self.0 >> 20)
        } else if self.0 != 0 && self.0.is_multiple_of(1024) {
            write!(f, "{}KiB", self.0 >> 10)
        } else {
            write!(f, "{}B", self.0)
        }
    }
}

impl Probability {
    /// The probability of an event that never happens.
    pub const ZERO: Self = Self(0.0);
    /// The probability of an event that always happens.
    pub const ONE: Self = Self(1.0);

    /// A probability, or `None` if `p` is not in `[0, 1]`.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Self(p))
    }

    /// The probability as a number.
    pub const fn as_f64(self) -> f64 {
        self.0
    }

    /// The probability that the event does not happen.
    pub fn complement(self) -> Self {
        Self(1.0 - self.0)
    }
}

impl Mul for Probability {
    type Output = Self;
    /// The probability that two independent events both happen.
    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_over_rate_is_time() {
        assert_eq!(Bytes::new(1500) / Bitrate::from_mbps(100), Duration::from_micros(120));
        assert_eq!(Bytes::new(1) / Bitrate::from_bps(3), Duration::from_nanos(2_666_666_667));
    }

    #[test]
    fn bytes_over_time_is_a_rate() {
        let gigabyte = Bytes::new(1_000_000_000);
        assert_eq!(
            Bitrate::from_bytes_in(gigabyte, Duration::from_secs(8)),
            Bitrate::from_mbps(1_000)
        );
        // 8 bits in 3 s: 2.67 b/s.
        assert_eq!(
            Bitrate::from_bytes_in(Bytes::new(1), Duration::from_secs(3)),
            Bitrate::from_bps(2)
        );
        assert_eq!(Bitrate::from_bytes_in(gigabyte, Duration::ZERO), Bitrate::from_bps(0));
        let dsss = Bitrate::from_kbps(5_500);
        assert_eq!((dsss.as_bps(), dsss.as_mbps_f64()), (5_500_000, 5.5));
        assert_eq!(Bitrate::from_mbps(54).as_bps(), 54_000_000);
    }

    #[test]
    fn bytes_are_counted() {
        let mut held = Bytes::new(1500) * 3 + Bytes::new(40);
        assert_eq!(held.as_u64(), 4540);
        held += Bytes::new(60);
        assert_eq!(held - Bytes::new(600), Bytes::new(4000));
        assert_eq!(held.saturating_sub(Bytes::new(4600)), Bytes::ZERO);
        assert_eq!(held.saturating_sub(Bytes::new(4599)), Bytes::new(1));
        assert_eq!(held.saturating_sub(Bytes::new(9000)), Bytes::ZERO);
    }

    /// The largest unit with a whole number, so that no digit is lost.
    #[test]
    fn display_is_exact() {
        extern crate alloc;
        use alloc::string::ToString;
        let rates = [
            (54_000_000, "54Mb/s"),
            (5_500_000, "5500kb/s"),
            (1_000, "1kb/s"),
            (999, "999b/s"),
            (1_000_001, "1000001b/s"),
        ];
        for (bps, text) in rates {
            assert_eq!(Bitrate::from_bps(bps).to_string(), text);
        }
        let sizes = [
            (0, "0B"),
            (1500, "1500B"),
            (1024, "1KiB"),
            (1536 * 1024, "1536KiB"),
            (4 << 20, "4MiB"),
            ((4 << 20) + 1, "4194305B"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(Bytes::new(bytes).to_string(), text);
        }
    }

    /// Two dice show a six each with one chance in 36, at least one of them with 11 in 36.
    #[test]
    fn two_dice() {
        let six = Probability::new(1.0 / 6.0).expect("in range");
        let near = |p: Probability, expected: f64| (p.as_f64() - expected).abs() < 1e-15;
        assert!(near(six * six, 1.0 / 36.0));
        assert!(near((six.complement() * six.complement()).complement(), 11.0 / 36.0));
        assert_eq!(Probability::new(0.0), Some(Probability::ZERO));
        assert_eq!(Probability::new(1.0), Some(Probability::ONE));
        assert_eq!(Probability::new(-1e-9), None);
    }

    #[test]
    fn a_probability_stays_in_range() {
        assert!(Probability::new(1.1).is_none());
        assert!(Probability::new(f64::NAN).is_none());
        assert_eq!(Probability::new(0.25).map(|p| p.complement().as_f64()), Some(0.75));
    }
}
