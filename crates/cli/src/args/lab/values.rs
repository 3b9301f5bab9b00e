//! Values that flags of several verbs take.

use lasthop_scenario::quantity::Quantity;
use lasthop_units::Duration;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Reads a whole number within bounds.
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

/// Reads how many.
pub fn count(text: &str) -> Result<u32, String> {
    within(1..=u32::MAX)(text)
}

/// Reads a port that programs can be reached at.
pub fn port(text: &str) -> Result<u16, String> {
    within(1..=u16::MAX)(text)
}

/// Reads a port to listen at; 0 takes a free one.
pub fn port_or_free(text: &str) -> Result<u16, String> {
    within(0..=u16::MAX)(text)
}

/// Reads a time above zero.
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

/// Reads a seed, which a whole number of TOML can hold.
pub fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| *seed <= i64::MAX as u64);
    seed.ok_or_else(|| format!("expected a whole number from 0 to {}", i64::MAX))
}
