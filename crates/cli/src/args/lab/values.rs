//! Parsers of values that several verbs share.

use lasthop_scenario::quantity::Quantity;
use lasthop_units::Duration;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Returns a parser of whole numbers within bounds.
pub fn within<T>(
    bounds: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| format!("expected {} to {}", bounds.start(), bounds.end()))
    }
}

/// Parses a count, 1 or more.
pub fn count(text: &str) -> Result<u32, String> {
    within(1..=u32::MAX)(text)
}

/// Parses a port, 1 to 65535.
pub fn port(text: &str) -> Result<u16, String> {
    within(1..=u16::MAX)(text)
}

/// Parses a port to listen on; 0 selects a free one.
pub fn port_or_free(text: &str) -> Result<u16, String> {
    within(0..=u16::MAX)(text)
}

/// Parses a duration above zero, such as `30s`.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    let expected = |why: &dyn std::fmt::Display| {
        format!("expected a time, such as 30s (units: {}): {why}", Duration::UNITS.join(", "))
    };
    match Duration::parse(text) {
        Ok(Duration::ZERO) => Err(expected(&"it is zero")),
        Ok(duration) => Ok(duration),
        Err(why) => Err(expected(&why)),
    }
}

/// Parses a seed within the range of TOML integers, 0 to 2^63 - 1.
pub fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| *seed <= i64::MAX as u64);
    seed.ok_or_else(|| format!("expected a whole number from 0 to {}", i64::MAX))
}
