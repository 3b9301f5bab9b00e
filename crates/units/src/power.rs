//! Powers, power ratios and distances, as floating-point numbers in dBm, dB and
//! metres.
//!
//! A [`Dbm`] is a level and a [`Db`] a ratio: levels cannot be added, and their difference is a
//! ratio. To add powers, convert them to milliwatts. Leaves out other units.

use core::fmt;
use core::ops::{Add, Neg, Sub};

/// A power level in dBm: relative to one milliwatt.
///
/// ```
/// use lasthop_units::{Db, Dbm};
///
/// let (signal, noise) = (Dbm(-61.0), Dbm(-94.0));
/// assert_eq!(signal - noise, Db(33.0));
/// // Two equal powers together are 3 dB more than one.
/// let both = Dbm::from_milliwatts(signal.as_milliwatts() * 2.0);
/// assert!(((both - signal).0 - 3.0103).abs() < 1e-4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Dbm(pub f64);

/// A power ratio in dB: a gain, a loss or an SNR.
///
/// ```
/// use lasthop_units::Db;
///
/// assert_eq!(Db(20.0).as_linear(), 100.0);
/// assert_eq!(Db::from_linear(1000.0) + Db(-10.0), Db(20.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Db(pub f64);

/// A distance in metres.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Meters(pub f64);

impl Dbm {
    /// The level of `mw` milliwatts; zero gives minus infinity.
    pub fn from_milliwatts(mw: f64) -> Self {
        Self(10.0 * libm::log10(mw))
    }

    /// The power in milliwatts.
    pub fn as_milliwatts(self) -> f64 {
        libm::pow(10.0, self.0 / 10.0)
    }
}

impl Db {
    /// The ratio `linear` in decibels.
    pub fn from_linear(linear: f64) -> Self {
        Self(10.0 * libm::log10(linear))
    }

    /// The ratio as a plain factor.
    pub fn as_linear(self) -> f64 {
        libm::pow(10.0, self.0 / 10.0)
    }
}

impl Sub for Dbm {
    type Output = Db;
    fn sub(self, rhs: Self) -> Db {
        Db(self.0 - rhs.0)
    }
}

impl Add<Db> for Dbm {
    type Output = Self;
    fn add(self, rhs: Db) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl Sub<Db> for Dbm {
    type Output = Self;
    fn sub(self, rhs: Db) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Add for Db {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl Sub for Db {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Neg for Db {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}dBm", self.0)
    }
}

impl fmt::Display for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}dB", self.0)
    }
}

impl fmt::Display for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}m", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_milliwatts_is_twenty_dbm() {
        assert!((Dbm::from_milliwatts(100.0).0 - 20.0).abs() < 1e-12);
        assert!((Db(3.0).as_linear() - 1.995_262_314_968_879_6).abs() < 1e-12);
        assert_eq!(Dbm(-40.0) - Dbm(-94.0), Db(54.0));
    }

    /// Ten decibels are a factor of ten: 1 W is 30 dBm, 1 pW is -90 dBm, and three digits of
    /// 10^0.3 are those of every table of decibels.
    #[test]
    fn decibels_are_tenths_of_powers_of_ten() {
        let powers = [(30.0, 1e3), (0.0, 1.0), (-90.0, 1e-9), (3.0, 1.995_262_314_968_88)];
        for (level, plain) in powers {
            assert!((Dbm(level).as_milliwatts() / plain - 1.0).abs() < 1e-12, "{level}");
            assert!((Dbm::from_milliwatts(plain).0 - level).abs() < 1e-12, "{level}");
            assert!((Db(level).as_linear() / plain - 1.0).abs() < 1e-12, "{level}");
            assert!((Db::from_linear(plain).0 - level).abs() < 1e-12, "{level}");
        }
        assert_eq!(Dbm::from_milliwatts(0.0).0, f64::NEG_INFINITY);
    }

    /// A link budget: 20 dBm, antennas of 3 and 2 dB, 80 dB of path loss, noise at -94 dBm.
    #[test]
    fn a_link_budget_adds_up() {
        let gain = Db(3.0) + Db(2.0) - Db(80.0);
        assert_eq!(gain, Db(-75.0));
        let received = Dbm(20.0) + gain;
        assert_eq!(received, Dbm(-55.0));
        assert_eq!(Dbm(20.0) - -gain, received);
        assert_eq!(received - Dbm(-94.0), Db(39.0));
    }

    #[test]
    fn units_are_shown() {
        extern crate alloc;
        use alloc::string::ToString;
        let shown = [Dbm(-62.5).to_string(), Db(3.0).to_string(), Meters(0.5).to_string()];
        assert_eq!(shown, ["-62.5dBm", "3dB", "0.5m"]);
    }
}
