//! Quantities as users write them: a decimal number and its unit, with or without a space between,
//! `10ms`, `300Mb/s`, `128KiB`, `-82dBm`, `10m`, `1.4m/s`, `5Hz`.
//!
//! Times, rates and byte counts are exact integers in `units`, so `1.5us` is accepted and `0.1ns`
//! refused. Units are case sensitive, as in the SI (`Mb/s` is not `MB/s`). Printed values are
//! always read back as the same value.

use lasthop_units::{Bitrate, Bytes, Db, Dbm, Duration, Meters, Probability};
use thiserror::Error;

/// A frequency in hertz.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Hertz(pub f64);

/// A speed in metres a second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Speed(pub f64);

/// Reason why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// The text does not begin with a number.
    #[error("there is no number")]
    NoNumber,
    /// The number has no unit.
    #[error("the unit is missing")]
    NoUnit,
    /// The unit is not one of those allowed.
    #[error("the unit is not one of those")]
    UnknownUnit,
    /// The value is below zero, and the quantity cannot be.
    #[error("it is negative")]
    Negative,
    /// The value is outside the range of the type.
    #[error("it is too large")]
    TooLarge,
    /// The number has an exponent, as in `1e3s`.
    #[error("write the number without an exponent")]
    Exponent,
    /// The value is not a whole number of the smallest unit.
    #[error("it is finer than the smallest unit")]
    TooFine,
}

/// A quantity that is written as a number and a unit.
pub trait Quantity: Sized {
    /// Name of the quantity with its article, such as `a time`.
    const NAME: &'static str;
    /// An example for messages and the schema.
    const EXAMPLE: &'static str;
    /// Units that [`Quantity::parse`] accepts.
    const UNITS: &'static [&'static str];
    /// Whether values below zero are allowed.
    const SIGNED: bool = false;

    /// Reads a quantity from text.
    ///
    /// # Errors
    /// If `text` is no such quantity.
    fn parse(text: &str) -> Result<Self, QuantityError>;
}

/// Spelling of a unit, and its size in smallest units.
type Scale = (&'static str, u64);

const TIME: &[Scale] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const RATE: &[Scale] = &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)];

const SIZE: &[Scale] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

impl Quantity for Duration {
    const NAME: &'static str = "a time";
    const EXAMPLE: &'static str = "10ms";
    const UNITS: &'static [&'static str] = &["ns", "us", "ms", "s", "min", "h"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        whole(text, TIME).map(Self::from_nanos)
    }
}

impl Quantity for Bitrate {
    const NAME: &'static str = "a bit rate";
    const EXAMPLE: &'static str = "300Mb/s";
    const UNITS: &'static [&'static str] = &["b/s", "kb/s", "Mb/s", "Gb/s"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        whole(text, RATE).map(Self::from_bps)
    }
}

impl Quantity for Bytes {
    const NAME: &'static str = "a size";
    const EXAMPLE: &'static str = "128KiB";
    const UNITS: &'static [&'static str] = &["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        whole(text, SIZE).map(Self::new)
    }
}

impl Quantity for Dbm {
    const NAME: &'static str = "a power";
    const EXAMPLE: &'static str = "20dBm";
    const UNITS: &'static [&'static str] = &["dBm"];
    const SIGNED: bool = true;
    fn parse(text: &str) -> Result<Self, QuantityError> {
        real(text, &[("dBm", 1.0)]).map(Self)
    }
}

impl Quantity for Db {
    const NAME: &'static str = "a power ratio";
    const EXAMPLE: &'static str = "7dB";
    const UNITS: &'static [&'static str] = &["dB"];
    const SIGNED: bool = true;
    fn parse(text: &str) -> Result<Self, QuantityError> {
        real(text, &[("dB", 1.0)]).map(Self)
    }
}

impl Quantity for Meters {
    const NAME: &'static str = "a distance";
    const EXAMPLE: &'static str = "10m";
    const UNITS: &'static [&'static str] = &["m", "km"];
    const SIGNED: bool = true;
    fn parse(text: &str) -> Result<Self, QuantityError> {
        real(text, &[("m", 1.0), ("km", 1_000.0)]).map(Self)
    }
}

impl Quantity for Hertz {
    const NAME: &'static str = "a frequency";
    const EXAMPLE: &'static str = "5Hz";
    const UNITS: &'static [&'static str] = &["Hz", "kHz"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        let hertz = real(text, &[("Hz", 1.0), ("kHz", 1_000.0)])?;
        if hertz < 0.0 { Err(QuantityError::Negative) } else { Ok(Self(hertz)) }
    }
}

impl Quantity for Speed {
    const NAME: &'static str = "a speed";
    const EXAMPLE: &'static str = "1.4m/s";
    const UNITS: &'static [&'static str] = &["m/s", "km/h"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        let speed = real(text, &[("m/s", 1.0), ("km/h", 1.0 / 3.6)])?;
        if speed < 0.0 { Err(QuantityError::Negative) } else { Ok(Self(speed)) }
    }
}

/// Returns a probability as text: `0.1` or `10%`.
///
/// # Errors
/// If `text` is no probability.
pub fn parse_probability(text: &str) -> Result<Probability, QuantityError> {
    let number = match text.strip_suffix('%') {
        Some(percent) => float(percent.trim_end())? / 100.0,
        None => float(text)?,
    };
    if number < 0.0 {
        return Err(QuantityError::Negative);
    }
    Probability::new(number).ok_or(QuantityError::TooLarge)
}

/// Returns the number and the unit of `text`.
fn split(text: &str) -> Result<(&str, &str), QuantityError> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return Err(QuantityError::NoNumber);
    }
    match rest.strip_prefix(' ').unwrap_or(rest) {
        "" => Err(QuantityError::NoUnit),
        unit if is_exponent(unit) => Err(QuantityError::Exponent),
        unit => Ok((number, unit)),
    }
}

/// Whether `text`, behind the digits of a number, is an exponent, maybe with a unit behind it.
fn is_exponent(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return false };
    rest.strip_prefix(['+', '-']).unwrap_or(rest).starts_with(|c: char| c.is_ascii_digit())
}

/// Returns a whole number of the smallest unit of `scales`, without rounding.
fn whole(text: &str, scales: &[Scale]) -> Result<u64, QuantityError> {
    use QuantityError::{Negative, NoNumber, TooFine, TooLarge, UnknownUnit};
    let (number, unit) = split(text)?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if number.starts_with('-') {
        return Err(Negative);
    }
    let number = number.strip_prefix('+').unwrap_or(number);
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !digits(integer) || !digits(fraction) || integer.is_empty() {
        return Err(NoNumber);
    }
    let &(_, scale) = scales.iter().find(|(name, _)| *name == unit).ok_or(UnknownUnit)?;
    let scale = u128::from(scale);
    let integer: u128 = integer.parse().map_err(|_| TooLarge)?;
    let mut total = integer.checked_mul(scale).ok_or(TooLarge)?;
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        // 10^18 is more than any unit here has smallest units, so that longer
        // fractions cannot be whole.
        let places = u32::try_from(fraction.len()).map_err(|_| TooFine)?;
        if places > 18 {
            return Err(TooFine);
        }
        let parts = scale * fraction.parse::<u128>().map_err(|_| NoNumber)?;
        let divisor = 10_u128.pow(places);
        if parts % divisor != 0 {
            return Err(TooFine);
        }
        total = total.checked_add(parts / divisor).ok_or(TooLarge)?;
    }
    u64::try_from(total).map_err(|_| TooLarge)
}

/// Returns a real number in the first unit of `scales`.
fn real(text: &str, scales: &[(&str, f64)]) -> Result<f64, QuantityError> {
    let (number, unit) = split(text)?;
    let &(_, scale) =
        scales.iter().find(|(name, _)| *name == unit).ok_or(QuantityError::UnknownUnit)?;
    let number = float(number)? * scale;
    if number.is_finite() { Ok(number) } else { Err(QuantityError::TooLarge) }
}

fn float(text: &str) -> Result<f64, QuantityError> {
    let digits = |c: char| c.is_ascii_digit() || "+-.".contains(c);
    if let Some(end) = text.find(|c| !digits(c)) {
        if end > 0 && is_exponent(&text[end..]) {
            return Err(QuantityError::Exponent);
        }
        return Err(QuantityError::NoNumber);
    }
    let number: f64 = text.parse().map_err(|_| QuantityError::NoNumber)?;
    if number.is_finite() { Ok(number) } else { Err(QuantityError::TooLarge) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(Duration::parse("102.4ms"), Ok(Duration::from_micros(102_400)));
        assert_eq!(Duration::parse("5.484 ms"), Ok(Duration::from_micros(5_484)));
        assert_eq!(Duration::parse("1.5min"), Ok(Duration::from_secs(90)));
        assert_eq!(Bitrate::parse("5.5Mb/s"), Ok(Bitrate::from_kbps(5_500)));
        assert_eq!(Bitrate::parse("54Mbit/s"), Err(QuantityError::UnknownUnit));
        assert_eq!(Bytes::parse("1.5KiB"), Ok(Bytes::new(1536)));
        assert_eq!(Meters::parse("-1.5m"), Ok(Meters(-1.5)));
        assert_eq!(Speed::parse("1.4 m/s"), Ok(Speed(1.4)));
        assert_eq!(Speed::parse("36km/h"), Ok(Speed(10.0)));
        assert_eq!(parse_probability("10%"), Ok(Probability::new(0.1).expect("in range")));
    }

    #[test]
    fn what_is_wrong_is_told() {
        use QuantityError::*;
        assert_eq!(Duration::parse("10"), Err(NoUnit));
        assert_eq!(Duration::parse("ms"), Err(NoNumber));
        assert_eq!(Duration::parse(""), Err(NoNumber));
        assert_eq!(Duration::parse("1.2.3s"), Err(NoNumber));
        assert_eq!(Duration::parse("-1s"), Err(Negative));
        assert_eq!(Duration::parse("0.1ns"), Err(TooFine));
        assert_eq!(Duration::parse("10 sec"), Err(UnknownUnit));
        assert_eq!(Duration::parse("10  s"), Err(UnknownUnit));
        assert_eq!(Duration::parse("600000h"), Ok(Duration::from_secs(600_000 * 3_600)));
        assert_eq!(Duration::parse("99999999999999999999h"), Err(TooLarge));
        for exponent in ["1e30s", "1e3s", "2.5E-3 s", "1e+3"] {
            assert_eq!(Duration::parse(exponent), Err(Exponent), "{exponent}");
        }
        assert_eq!(Db::parse("1e1dB"), Err(Exponent));
        assert_eq!(parse_probability("1e-3"), Err(Exponent));
        assert_eq!(Bitrate::parse("3e/s"), Err(UnknownUnit));
        assert_eq!(Bitrate::parse("3MB/s"), Err(UnknownUnit));
        assert_eq!(Bitrate::parse("10Mbps"), Err(UnknownUnit));
        assert_eq!(Db::parse("infdB"), Err(NoNumber));
        assert_eq!(Hertz::parse("-1Hz"), Err(Negative));
        assert_eq!(Speed::parse("-1m/s"), Err(Negative));
        assert_eq!(Speed::parse("5m"), Err(UnknownUnit));
        assert_eq!(parse_probability("101%"), Err(TooLarge));
        assert_eq!(parse_probability("NaN"), Err(NoNumber));
    }

    /// The pattern of the schema accepts the same texts as the reader.
    #[test]
    fn every_unit_is_read() {
        fn all<T: Quantity>() {
            for unit in T::UNITS {
                assert!(T::parse(&format!("1{unit}")).is_ok(), "{unit}");
            }
            assert!(T::parse(T::EXAMPLE).is_ok());
        }
        all::<Duration>();
        all::<Bitrate>();
        all::<Bytes>();
        all::<Dbm>();
        all::<Db>();
        all::<Meters>();
        all::<Hertz>();
        all::<Speed>();
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(nanos: u64, bps: u64, bytes: u64) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(Duration::parse(&duration.to_string()), Ok(duration));
            let rate = Bitrate::from_bps(bps);
            prop_assert_eq!(Bitrate::parse(&rate.to_string()), Ok(rate));
            let size = Bytes::new(bytes);
            prop_assert_eq!(Bytes::parse(&size.to_string()), Ok(size));
        }

        #[test]
        fn levels_and_distances_are_read_back(number in -1e9..1e9_f64) {
            prop_assert_eq!(Dbm::parse(&Dbm(number).to_string()), Ok(Dbm(number)));
            prop_assert_eq!(Db::parse(&Db(number).to_string()), Ok(Db(number)));
            prop_assert_eq!(Meters::parse(&Meters(number).to_string()), Ok(Meters(number)));
        }

        #[test]
        fn any_text_is_answered(text: String) {
            let _ = Duration::parse(&text);
            let _ = Bitrate::parse(&text);
            let _ = Bytes::parse(&text);
            let _ = Meters::parse(&text);
            let _ = Speed::parse(&text);
            let _ = parse_probability(&text);
        }
    }
}
