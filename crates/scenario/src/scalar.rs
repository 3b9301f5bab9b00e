//! Values of keys: one trait for reading them, for messages about allowed values, and for the JSON
//! Schema.

use crate::Ready;
use crate::error::{Place, Problems};
use crate::quantity::{Hertz, Quantity, QuantityError, parse_probability};
use crate::tree::Value;
use lasthop_units::{Bitrate, Bytes, Db, Dbm, Duration, MacAddr, Meters, Probability};
use schemars::{Schema, json_schema};

/// A value and the place of its key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct At<T> {
    pub value: T,
    pub place: Place,
}

/// One kind of value.
pub(crate) trait Scalar: Sized {
    /// Allowed values, in words that follow "expected".
    fn allowed() -> String;
    /// Returns the value, or the reason beyond not being an allowed value.
    fn read(value: &Value) -> Result<Self, Option<String>>;
    /// Returns the schema of the values, for the JSON Schema.
    fn schema() -> Schema;
}

/// "expected .., got .."
pub(crate) fn mismatch<T: Scalar>(value: &Value, why: Option<String>) -> String {
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    format!("expected {}, got {}{why}", T::allowed(), shown(value))
}

/// Returns a value in the form of messages.
pub(crate) fn shown(value: &Value) -> String {
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
pub(crate) fn quoted(text: &str) -> String {
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
}

fn pattern<T: Quantity>() -> String {
    let sign = if T::SIGNED { "[+-]?" } else { "\\+?" };
    format!("^{sign}[0-9]+(\\.[0-9]+)? ?({})$", T::UNITS.join("|"))
}

impl Scalar for Bytes {
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

/// A name of the scenario, a node or a flow. Names become file names, interface names and keys of
/// the results, so only plain characters are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub String);

impl Name {
    pub const BYTES_MAX: usize = 64;
}

impl Scalar for Name {
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

/// The path of a file, absolute after the scenario is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePath(pub String);

impl Scalar for FilePath {
    fn allowed() -> String {
        "the path of a file, relative to the scenario's folder".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::String(text) if !text.is_empty() && !text.contains('\0') => {
                Ok(Self(text.clone()))
            }
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command(pub Vec<String>);

impl Scalar for Command {
    fn allowed() -> String {
        "a program and its arguments like [\"iperf3\", \"-s\"], or a line for the shell".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::String(line) if line.trim().is_empty() => Err(None),
            Value::String(line) => Ok(Self(vec!["sh".into(), "-c".into(), line.clone()])),
            Value::Array(_) => match Vec::<String>::read(value)? {
                words if words[0].is_empty() => Err(Some("the program's name is empty".into())),
                words => Ok(Self(words)),
            },
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        let line = json_schema!({ "type": "string", "pattern": "\\S" });
        json_schema!({ "anyOf": [line, Vec::<String>::schema()] })
    }
}

impl Scalar for Ready {
    fn allowed() -> String {
        "what to wait for like \"tcp:8000\", \"udp:5000\", \"file:/run/ready\" or \"1s\"".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        let Value::String(text) = value else { return Err(None) };
        let port = |port: &str| match port.parse() {
            Ok(0) | Err(_) => Err(Some(format!("{port:?} is no port from 1 to 65535"))),
            Ok(port) => Ok(port),
        };
        match text.split_once(':') {
            Some(("tcp", number)) => Ok(Self::Tcp(port(number)?)),
            Some(("udp", number)) => Ok(Self::Udp(port(number)?)),
            Some(("file", "")) => Err(Some("the path is empty".into())),
            Some(("file", path)) => Ok(Self::File(path.into())),
            Some((kind, _)) => Err(Some(format!("{kind:?} is none of tcp, udp, file"))),
            None => Duration::read(value).map(Self::After),
        }
    }
    fn schema() -> Schema {
        let what = json_schema!({
            "type": "string",
            "pattern": "^((tcp|udp):[0-9]{1,5}|file:.+)$",
            "examples": ["tcp:8000", "file:/run/ready"],
        });
        json_schema!({ "anyOf": [what, Duration::schema()] })
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole<const MIN: i64, const MAX: i64>(pub i64);

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
pub(crate) struct Factor(pub f64);

impl Scalar for Factor {
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
pub(crate) fn positive<T: Default + PartialEq>(at: &At<T>, problems: &mut Problems) {
    if at.value == T::default() {
        problems.push(&at.place, "expected more than zero");
    }
}

/// A value, or the word "off".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OrOff<T>(pub Option<T>);

impl<T: Scalar> Scalar for OrOff<T> {
    fn allowed() -> String {
        format!("{} or \"off\"", T::allowed())
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::String(text) if text == "off" => Ok(Self(None)),
            _ => T::read(value).map(|value| Self(Some(value))),
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
    fn allowed() -> String {
        format!("an array of two, each {}", T::allowed())
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
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
    fn allowed() -> String {
        format!("an array of at least one, each {}", T::allowed())
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
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

/// Declares a closed set of words: `choices! { Type { "word" => value, .. } }`.
macro_rules! choices {
    ($($ty:ty { $($word:literal => $value:expr),* $(,)? })*) => {$(
        impl $crate::scalar::Scalar for $ty {
            fn allowed() -> String {
                $crate::scalar::one_of(&[$($word),*])
            }
            fn read(value: &$crate::tree::Value) -> Result<Self, Option<String>> {
                match value {
                    $($crate::tree::Value::String(text) if text == $word => Ok($value),)*
                    $crate::tree::Value::String(text) => {
                        Err($crate::scalar::not_modelled(text)
                            .or_else(|| $crate::scalar::did_you_mean(text, [$($word),*])))
                    }
                    $crate::tree::Value::Integer(_) | $crate::tree::Value::Float(_) => {
                        Err($crate::scalar::with_its_unit(value, [$($word),*]))
                    }
                    _ => Err(None),
                }
            }
            fn schema() -> schemars::Schema {
                schemars::json_schema!({ "enum": [$($word),*] })
            }
        }
    )*};
}
pub(crate) use choices;

/// `"a"`, `"b"` or `"c"`.
pub(crate) fn one_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".into(),
        [word] => format!("{word:?}"),
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(|word| format!("{word:?}")).collect();
            format!("{} or {last:?}", rest.join(", "))
        }
    }
}

/// Returns the message about an amendment that exists, similar to others by its letters only.
pub(crate) fn not_modelled(text: &str) -> Option<String> {
    const AMENDMENTS: [&str; 10] = ["ac", "ad", "af", "ah", "ax", "ay", "be", "bn", "j", "p"];
    let is_one = text.strip_prefix("802.11").is_some_and(|rest| AMENDMENTS.contains(&rest));
    is_one.then(|| format!("lasthop does not model {text}"))
}

/// `did you mean "20MHz"?` of the number 20, if one word alone is that number with a unit.
pub(crate) fn with_its_unit<'a>(
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
