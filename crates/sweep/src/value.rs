//! Varied values in a column of a table: a number in the unit of the column's name, a truth value,
//! or text.

use std::cmp::Ordering;
use std::fmt;

/// A value of a varied key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// Any other value, as text.
    Text(String),
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Whole numbers in every row.
    Int,
    /// Floating-point numbers in some rows.
    Float,
    /// Truth values in every row.
    Bool,
    /// Text in some rows.
    Text,
}

/// A value and the dimension of its unit, read from the text of `--set`.
#[derive(Clone, Debug, PartialEq)]
struct Read {
    value: Value,
    /// Suffix of the column's name; empty without a unit.
    suffix: &'static str,
}

/// Units of scenario files: their size in the column's unit, as a fraction, and the column's
/// suffix.
const UNITS: &[(&str, f64, f64, &str)] = &[
    ("ns", 1.0, 1e6, "_ms"),
    ("us", 1.0, 1e3, "_ms"),
    ("ms", 1.0, 1.0, "_ms"),
    ("s", 1e3, 1.0, "_ms"),
    ("min", 6e4, 1.0, "_ms"),
    ("h", 3.6e6, 1.0, "_ms"),
    ("b/s", 1.0, 1e6, "_mbps"),
    ("kb/s", 1.0, 1e3, "_mbps"),
    ("Mb/s", 1.0, 1.0, "_mbps"),
    ("Gb/s", 1e3, 1.0, "_mbps"),
    ("B", 1.0, 1.0, "_bytes"),
    ("kB", 1e3, 1.0, "_bytes"),
    ("MB", 1e6, 1.0, "_bytes"),
    ("GB", 1e9, 1.0, "_bytes"),
    ("KiB", 1_024.0, 1.0, "_bytes"),
    ("MiB", 1_048_576.0, 1.0, "_bytes"),
    ("GiB", 1_073_741_824.0, 1.0, "_bytes"),
    ("dBm", 1.0, 1.0, "_dbm"),
    ("dB", 1.0, 1.0, "_db"),
    ("m", 1.0, 1.0, "_m"),
    ("km", 1e3, 1.0, "_m"),
    ("Hz", 1.0, 1.0, "_hz"),
    ("kHz", 1e3, 1.0, "_hz"),
    ("MHz", 1.0, 1.0, "_mhz"),
    ("%", 1.0, 100.0, ""),
];

/// Returns the number at the beginning of `text`, as written, and the rest.
pub(crate) fn split_number(text: &str) -> Option<(&str, &str)> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut end = text.len() - digits.len();
    let mut is_exponent = false;
    for (at, c) in text.char_indices().skip(end) {
        let rest = &text[at + c.len_utf8()..];
        match c {
            '0'..='9' | '_' => end = at + 1,
            // `1..5` is a range, not `1.` and `.5`.
            '.' if !rest.starts_with('.') && !text[..at].contains('.') => {}
            'e' | 'E' if !is_exponent && begins_exponent(rest) => is_exponent = true,
            '-' | '+' if is_exponent && text[..at].ends_with(['e', 'E']) => {}
            _ => break,
        }
    }
    let number = &text[..end];
    number.contains(|c: char| c.is_ascii_digit()).then(|| (number, text[end..].trim_start()))
}

fn begins_exponent(rest: &str) -> bool {
    rest.strip_prefix(['-', '+']).unwrap_or(rest).starts_with(|c: char| c.is_ascii_digit())
}

fn read(text: &str) -> Read {
    let plain = |value| Read { value, suffix: "" };
    let text = unquoted(text);
    match text {
        "true" => return plain(Value::Bool(true)),
        "false" => return plain(Value::Bool(false)),
        _ => {}
    }
    let words = || plain(Value::Text(text.to_owned()));
    let Some((number, unit)) = split_number(text) else { return words() };
    let number = number.replace('_', "");
    if unit.is_empty() {
        return match (number.parse(), number.parse::<f64>()) {
            (Ok(whole), _) => plain(Value::Int(whole)),
            (_, Ok(real)) if real.is_finite() => plain(Value::Float(real)),
            _ => words(),
        };
    }
    let known = UNITS.iter().find(|(name, ..)| *name == unit);
    let (Some(&(_, times, over, suffix)), Ok(number)) = (known, number.parse::<f64>()) else {
        return words();
    };
    let value = number * times / over;
    Read {
        value: if value.fract() == 0.0 && value.abs() < 9e15 {
            Value::Int(value as i64)
        } else {
            Value::Float(value)
        },
        suffix,
    }
}

/// Returns the text without the quotes that TOML would have around it.
fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// A column for the values of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueColumn {
    /// Path of the key with the unit of the numbers, such as `wire.cable.delay_ms`.
    pub name: String,
    /// Type of the column.
    pub kind: ValueKind,
}

impl ValueColumn {
    /// Returns the column for `values` of the key at `path`, and each value as the column has it.
    /// Values that have no kind in common are text, as they were written.
    pub fn for_values<'a>(
        path: &str,
        values: impl Iterator<Item = &'a str> + Clone,
    ) -> (Self, Vec<Value>) {
        let reads: Vec<Read> = values.clone().map(read).collect();
        let suffix = reads.first().map_or("", |first| first.suffix);
        let is_one = reads.iter().all(|read| read.suffix == suffix);
        let all = |is: fn(&Value) -> bool| is_one && reads.iter().all(|read| is(&read.value));
        let kind = if all(|value| matches!(value, Value::Int(_))) {
            ValueKind::Int
        } else if all(|value| matches!(value, Value::Int(_) | Value::Float(_))) {
            ValueKind::Float
        } else if all(|value| matches!(value, Value::Bool(_))) {
            ValueKind::Bool
        } else {
            ValueKind::Text
        };
        let is_number = matches!(kind, ValueKind::Int | ValueKind::Float);
        let suffix = if is_number && !path.ends_with(suffix) { suffix } else { "" };
        let column = Self { name: format!("{path}{suffix}"), kind };
        let values = reads.into_iter().zip(values).map(|(read, text)| match (kind, read.value) {
            (ValueKind::Float, Value::Int(whole)) => Value::Float(whole as f64),
            (ValueKind::Text, Value::Text(text)) => Value::Text(text),
            (ValueKind::Text, _) => Value::Text(unquoted(text).to_owned()),
            (_, value) => value,
        });
        (column, values.collect())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Bool(truth) => truth.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Value {
    /// Whether two texts have the same value: `1s` and `1000ms`.
    pub(crate) fn is_same(a: &str, b: &str) -> bool {
        a == b || read(a) == read(b)
    }

    /// Order of rows: numbers by size, text by its characters, different kinds by kind.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    /// Returns the number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Int(_) => 1,
            Self::Float(_) => 2,
            Self::Text(_) => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(path: &str, values: &[&str]) -> (String, ValueKind, Vec<Value>) {
        let (column, values) = ValueColumn::for_values(path, values.iter().copied());
        (column.name, column.kind, values)
    }

    #[test]
    fn columns_have_a_type_and_a_unit() {
        use Value::{Bool, Float, Int, Text};
        let int = |name: &str, values: &[i64]| {
            (name.to_owned(), ValueKind::Int, values.iter().map(|&v| Int(v)).collect::<Vec<_>>())
        };
        assert_eq!(column("node.sta.count", &["1", "50"]), int("node.sta.count", &[1, 50]));
        assert_eq!(column("wire.c.delay", &["1ms", "2 s"]), int("wire.c.delay_ms", &[1, 2_000]));
        assert_eq!(column("channel.width", &["20MHz"]), int("channel.width_mhz", &[20]));
        assert_eq!(column("x.buffer_bytes", &["1KiB"]), int("x.buffer_bytes", &[1_024]));
        let name = |name: &str| name.to_owned();
        assert_eq!(
            column("wire.c.rate", &["500kb/s", "1Gb/s"]),
            (name("wire.c.rate_mbps"), ValueKind::Float, vec![Float(0.5), Float(1_000.0)])
        );
        assert_eq!(
            column("a.loss", &["1%", "0.1"]),
            (name("a.loss"), ValueKind::Float, vec![Float(0.01), Float(0.1)])
        );
        assert_eq!(
            column("a.b", &["true", "false"]),
            (name("a.b"), ValueKind::Bool, vec![Bool(true), Bool(false)])
        );
        // Words among numbers, units of two dimensions, words.
        for values in [["1500", "adaptive"], ["1ms", "1m"], ["codel", "\"drop-tail\""]] {
            let (name, kind, values) = column("a.b", &values);
            assert_eq!((name.as_str(), kind), ("a.b", ValueKind::Text));
            assert!(values.iter().all(|value| matches!(value, Text(_))), "{values:?}");
        }
        assert_eq!(column("q.kind", &["\"drop-tail\""]).2, [Text(name("drop-tail"))]);
    }

    #[test]
    fn numbers_end_where_they_end() {
        for (text, number, rest) in [
            ("1..5", "1", "..5"),
            ("1.5ms..2ms", "1.5", "ms..2ms"),
            ("-3dB", "-3", "dB"),
            ("1e3", "1e3", ""),
            ("1e-3s", "1e-3", "s"),
            ("20 MHz", "20", "MHz"),
            ("5e", "5", "e"),
        ] {
            assert_eq!(split_number(text), Some((number, rest)), "{text}");
        }
        for text in ["", "ms", "..5", "-", "x1"] {
            assert_eq!(split_number(text), None, "{text}");
        }
    }
}
