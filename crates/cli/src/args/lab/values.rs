//! Values that flags of several verbs take.

use lasthop_scenario::quantity::Quantity;
use lasthop_units::Duration;
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
