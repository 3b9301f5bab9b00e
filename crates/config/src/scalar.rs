//! Values of keys: one trait for reading them, for messages about allowed values, and for the JSON
//! Schema.

use crate::error::{Place, Problems};
use crate::quantity::{Hertz, Quantity, QuantityError, Speed, parse_probability};
use crate::tree::Value;
use lasthop_units::{Bitrate, Bytes, Db, Dbm, Duration, MacAddr, Meters, Probability};
use schemars::{Schema, json_schema};

/// A value and the place of its key.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Place of the key.
    pub place: Place,
}

/// One kind of value.
pub trait Scalar {
    /// Type of the values: this type, if it is not only the name of a kind.
    type Value;
    /// Allowed values, in words that follow "expected".
    fn allowed() -> String;
    /// Returns the value, or the reason beyond not being an allowed value.
    fn read(value: &Value) -> Result<Self::Value, Option<String>>;
    /// Returns the schema of the values, for the JSON Schema.
    fn schema() -> Schema;
}

/// "expected .., got .."
pub fn mismatch<T: Scalar>(value: &Value, why: Option<String>) -> String {
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("expected {}, got {}{why}", T::allowed(), shown(value))
}

/// Returns a value in the form of messages.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(truth) => truth.to_string(),
        Value::Datetime(date) => format!("the date {date}"),
        Value::Array(elements) if elements.is_empty() => "an empty array".into(),
        Value::Array(_) => "an array".into(),
        Value::Table(_) => "a table".into(),
    }
}

/// Returns a text in the form of messages.
pub fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    if text.chars().count() > CHARS_MAX {
        format!("{:?}..", text.chars().take(CHARS_MAX).collect::<String>())
    } else {
        format!("{text:?}")
    }
}

/// Implements scalars for every quantity with a unit, up to a size beyond which sums could leave
/// the range of the type, or which is physically meaningless.
macro_rules! quantities {
    ($($ty:ty, $fits:expr;)*) => {$(
        impl Scalar for $ty {
            type Value = Self;

            fn allowed() -> String {
                format!(
                    "{} like \"{}\" (units: {})",
                    Self::NAME, Self::EXAMPLE, Self::UNITS.join(", ")
                )
            }
            fn read(value: &Value) -> Result<Self, Option<String>> {
                let fits: fn(&Self) -> bool = $fits;
                match value {
                    Value::String(text) => match Self::parse(text) {
                        Ok(quantity) if fits(&quantity) => Ok(quantity),
                        Ok(_) => Err(Some(QuantityError::TooLarge.to_string())),
                        Err(why) => Err(Some(why.to_string())),
                    },
                    Value::Integer(_) | Value::Float(_) => {
                        Err(Some(QuantityError::NoUnit.to_string()))
                    }
                    _ => Err(None),
                }
            }
            fn schema() -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": pattern::<Self>(),
                    "examples": [Self::EXAMPLE],
                })
            }
        }
    )*};
}

quantities! {
    Duration, |time| *time <= Self::from_secs(10_000 * 3_600);
    Bitrate, |rate| rate.as_bps() <= 1_000_000_000_000;
    Dbm, |power| power.0.abs() <= 300.0;
    Db, |ratio| ratio.0.abs() <= 300.0;
    Meters, |distance| distance.0.abs() <= 1e6;
    Hertz, |frequency| frequency.0 <= 1e6;
    Speed, |speed| speed.0 <= 1e6;
}

fn pattern<T: Quantity>() -> String {
    let sign = if T::SIGNED { "[+-]?" } else { "\\+?" };
    format!("^{sign}[0-9]+(\\.[0-9]+)? ?({})$", T::UNITS.join("|"))
}

impl Scalar for Bytes {
    type Value = Self;

    fn allowed() -> String {
        "a number of bytes, plain or with a unit like \"128KiB\" (units: B, kB, MB, GB, KiB, MiB, GiB)"
            .into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::Integer(number) => {
                u64::try_from(*number).map(Self::new).map_err(|_| Some("it is negative".into()))
            }
            Value::String(text) => Self::parse(text).map_err(|why| Some(why.to_string())),
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({
            "type": ["integer", "string"],
            "minimum": 0,
            "pattern": pattern::<Self>(),
            "examples": [Self::EXAMPLE, 65535],
        })
    }
}

impl Scalar for Probability {
    type Value = Self;

    fn allowed() -> String {
        "a probability from 0 to 1, or \"0%\" to \"100%\"".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::Integer(number) => Self::new(*number as f64).ok_or(None),
            Value::Float(number) => Self::new(*number).ok_or(None),
            Value::String(text) => parse_probability(text).map_err(|why| Some(why.to_string())),
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "minimum": 0,
            "maximum": 1,
            "pattern": "^[0-9]+(\\.[0-9]+)? ?%?$",
            "examples": [0.1, "10%"],
        })
    }
}

impl Scalar for String {
    type Value = Self;

    fn allowed() -> String {
        "text".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl Scalar for bool {
    type Value = Self;

    fn allowed() -> String {
        "true or false".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::Boolean(truth) => Ok(*truth),
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

/// A name, such as that of a node. Names become file names, interface names and keys of
/// the results, so only plain characters are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(pub String);

impl Name {
    /// Longest name, in bytes.
    pub const BYTES_MAX: usize = 64;
}

impl Scalar for Name {
    type Value = Self;

    fn allowed() -> String {
        "a name of up to 64 letters, digits, \"-\", \"_\" or \".\" that begins with a letter or digit"
            .into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        let Value::String(text) = value else { return Err(None) };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if begins && text.len() <= Self::BYTES_MAX && text.chars().all(plain) {
            Ok(Self(text.clone()))
        } else {
            Err(None)
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" })
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const MIN: i64, const MAX: i64>(pub i64);

impl<const MIN: i64, const MAX: i64> Whole<MIN, MAX> {
    /// Returns the number in a smaller type.
    ///
    /// # Panics
    /// If the bounds do not fit the type.
    pub fn get<T: TryFrom<i64>>(self) -> T {
        T::try_from(self.0).ok().expect("the bounds are within the type's")
    }
}

impl<const MIN: i64, const MAX: i64> Scalar for Whole<MIN, MAX> {
    type Value = Self;

    fn allowed() -> String {
        match MAX {
            i64::MAX => format!("a whole number from {MIN}"),
            _ => format!("a whole number from {MIN} to {MAX}"),
        }
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::Integer(number) if (MIN..=MAX).contains(number) => Ok(Self(*number)),
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        match MAX {
            i64::MAX => json_schema!({ "type": "integer", "minimum": MIN }),
            _ => json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX }),
        }
    }
}

/// A number from 0 to a million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor(pub f64);

impl Scalar for Factor {
    type Value = Self;

    fn allowed() -> String {
        "a number from 0 to 1000000".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::Integer(number) if (0..=1_000_000).contains(number) => Ok(Self(*number as f64)),
            Value::Float(number) if (0.0..=1e6).contains(number) => Ok(Self(*number)),
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1e6 })
    }
}

/// Reports a time or rate of zero where zero has no meaning.
pub fn positive<T: Default + PartialEq>(at: &At<T>, problems: &mut Problems) {
    if at.value == T::default() {
        problems.push(&at.place, "expected more than zero");
    }
}

/// A value, or the word "off".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrOff<T>(pub Option<T>);

impl<T: Scalar> Scalar for OrOff<T> {
    type Value = OrOff<T::Value>;

    fn allowed() -> String {
        format!("{} or \"off\"", T::allowed())
    }
    fn read(value: &Value) -> Result<Self::Value, Option<String>> {
        match value {
            Value::String(text) if text == "off" => Ok(OrOff(None)),
            _ => T::read(value).map(|value| OrOff(Some(value))),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "const": "off" }, T::schema()] })
    }
}

/// Describes an element that makes an array wrong.
fn inside(value: &Value) -> String {
    format!("with {} in it", shown(value))
}

/// An array of two values.
impl<T: Scalar> Scalar for [T; 2] {
    type Value = [T::Value; 2];

    fn allowed() -> String {
        format!("an array of two, each {}", T::allowed())
    }
    fn read(value: &Value) -> Result<Self::Value, Option<String>> {
        match value {
            Value::Array(elements) => match elements.as_slice() {
                [one, other] => Ok([
                    T::read(&one.value).map_err(|_| Some(inside(&one.value)))?,
                    T::read(&other.value).map_err(|_| Some(inside(&other.value)))?,
                ]),
                _ => Err(Some(format!("of {}", elements.len()))),
            },
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "array", "items": T::schema(), "minItems": 2, "maxItems": 2 })
    }
}

/// Any number of values, at least one.
impl<T: Scalar> Scalar for Vec<T> {
    type Value = Vec<T::Value>;

    fn allowed() -> String {
        format!("an array of at least one, each {}", T::allowed())
    }
    fn read(value: &Value) -> Result<Self::Value, Option<String>> {
        match value {
            Value::Array(elements) if !elements.is_empty() => elements
                .iter()
                .map(|element| {
                    T::read(&element.value).map_err(|why| {
                        let why = why.map_or(String::new(), |why| format!(": {why}"));
                        Some(inside(&element.value) + &why)
                    })
                })
                .collect(),
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "array", "items": T::schema(), "minItems": 1 })
    }
}

impl Scalar for MacAddr {
    type Value = Self;

    fn allowed() -> String {
        "a MAC address like \"02:1a:00:00:00:01\"".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        let Value::String(text) = value else { return Err(None) };
        text.parse().map_err(|_| None)
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$" })
    }
}

/// Declares a closed set of words: `choices! { Type { "word" => value, .. } }`, or
/// `Name as Type { .. }` for a type of another crate, where `Name` is a type of this one. After a
/// semicolon, a function may give the message about other words.
#[macro_export]
macro_rules! choices {
    (@value $ty:ty) => { Self };
    (@value $ty:ty, $value:ty) => { $value };
    ($($ty:ty $(as $value:ty)? {
        $($word:literal => $made:expr),* $(,)? $(; else $other:path)?
    })*) => {$(
        impl $crate::scalar::Scalar for $ty {
            type Value = $crate::choices!(@value $ty $(, $value)?);

            fn allowed() -> String {
                $crate::scalar::one_of(&[$($word),*])
            }
            fn read(value: &$crate::tree::Value) -> Result<Self::Value, Option<String>> {
                match value {
                    $($crate::tree::Value::String(text) if text == $word => Ok($made),)*
                    $crate::tree::Value::String(text) => {
                        $(if let Some(message) = $other(text) {
                            return Err(Some(message));
                        })?
                        Err($crate::scalar::did_you_mean(text, [$($word),*]))
                    }
                    $crate::tree::Value::Integer(_) | $crate::tree::Value::Float(_) => {
                        Err($crate::scalar::with_its_unit(value, [$($word),*]))
                    }
                    _ => Err(None),
                }
            }
            fn schema() -> $crate::export::schemars::Schema {
                $crate::export::schemars::json_schema!({ "enum": [$($word),*] })
            }
        }
    )*};
}

/// `"a"`, `"b"` or `"c"`.
pub fn one_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".into(),
        [word] => format!("{word:?}"),
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(|word| format!("{word:?}")).collect();
            format!("{} or {last:?}", rest.join(", "))
        }
    }
}

/// `did you mean "20MHz"?` of the number 20, if one word alone is that number with a unit.
pub fn with_its_unit<'a>(
    number: &Value,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let number = shown(number);
    let is_it = |word: &&str| {
        let unit = word.strip_prefix(number.as_str());
        unit.is_some_and(|unit| unit.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    let mut fitting = words.into_iter().filter(is_it);
    let word = fitting.next().filter(|_| fitting.next().is_none())?;
    Some(format!("did you mean {word:?}?"))
}

/// `did you mean "x"?`, if one of the words is near to `text`.
pub fn did_you_mean<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const SIMILARITY_MIN: f64 = 0.8;
    // A key can be as long as a file; nothing that long is a misspelt word.
    const BYTES_MAX: usize = 100;
    if text.len() > BYTES_MAX {
        return None;
    }
    words
        .into_iter()
        .map(|word| (strsim::jaro_winkler(text, word), word))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, word)| format!("did you mean {word:?}?"))
}
