//! `--vary PATH=VALUES`: a key and its values.
//!
//! | values | meaning |
//! |---|---|
//! | `a,b,c` | these values; commas within quotes, `[]` and `{}` do not separate |
//! | `a..b:n` | `n` values from `a` to `b`, both included, at equal distances |
//! | `log:a..b:n` | `n` values at equal ratios |
//! | `a..b` | every whole number from `a` to `b` |
//!
//! Both ends of a range have the same unit, or only the last has one. If both are written
//! without a decimal point and without a unit, all values are whole numbers (`0..1:5` is an
//! error, `0.0..1:5` is not). Other values are rounded to six digits.

use crate::value::{Value, split_number};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Largest number of values of one key.
pub const VALUES_MAX: usize = 100_000;

/// A key and its values, in the form of `--set`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The key in the form of `--set`.
    pub path: String,
    /// The values, each once, in the requested order.
    pub values: Vec<String>,
}

/// Reason why an argument of `--vary` is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--vary {argument}: {message}")]
pub struct VaryError {
    /// The argument at fault.
    pub argument: String,
    /// Expected and actual values.
    pub message: String,
}

impl Axis {
    /// Reads an argument `path=values`.
    ///
    /// # Errors
    /// If the argument cannot be read.
    pub fn parse(argument: &str) -> Result<Self, VaryError> {
        let error = |message: String| VaryError { argument: argument.to_owned(), message };
        let Some((path, values)) = argument.split_once('=') else {
            return Err(error("expected PATH=VALUES, like node.sta.count=1,2,5".into()));
        };
        let (path, values) = (path.trim(), values.trim());
        if path.is_empty() {
            return Err(error("expected a key before the =, like node.sta.count".into()));
        }
        let values = match range(values) {
            Some(range) => range.map_err(error)?,
            None => list(values).map_err(error)?,
        };
        check(&values).map_err(error)?;
        Ok(Self { path: path.to_owned(), values })
    }

    /// Returns a key with these values, each as `--set` takes it, without a comma outside of quotes
    /// and brackets.
    ///
    /// # Errors
    /// If one of the arguments cannot be read.
    pub fn new(path: &str, values: Vec<String>) -> Result<Self, VaryError> {
        let error = |message: String| VaryError { argument: path.to_owned(), message };
        if path.is_empty() || path.contains('=') {
            return Err(error("expected a key, like node.sta.count".into()));
        }
        match values.len() {
            0 => return Err(error("expected one value at least".into())),
            1..=VALUES_MAX => {}
            more => return Err(error(too_many(more))),
        }
        check(&values).map_err(error)?;
        Ok(Self { path: path.to_owned(), values })
    }
}

fn too_many(values: usize) -> String {
    format!("expected at most {VALUES_MAX} values, got {values}")
}

/// Reports a repeated value.
fn check(values: &[String]) -> Result<(), String> {
    match repeated(values) {
        Some((again, first)) if again == first => Err(format!("{again} is there twice")),
        Some((again, first)) => Err(format!("{again} and {first} are the same")),
        None => Ok(()),
    }
}

/// Returns a repeated value, and its first spelling. Equal texts are found among all values; equal
/// values in another unit only among few, since that takes the square of their number.
fn repeated(values: &[String]) -> Option<(&str, &str)> {
    let mut sorted: Vec<&str> = values.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some((pair[0], pair[0]));
    }
    const FEW: usize = 500;
    let few = &values[..values.len().min(FEW)];
    few.iter().enumerate().find_map(|(index, again)| {
        let first = few[..index].iter().find(|first| Value::is_same(first, again))?;
        Some((again.as_str(), first.as_str()))
    })
}

/// Returns the values between commas.
fn list(text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    let (mut depth, mut quote, mut begin) = (0_u32, None, 0);
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                values.push(text[begin..at].trim().to_owned());
                begin = at + 1;
            }
            _ => {}
        }
    }
    values.push(text[begin..].trim().to_owned());
    match values {
        values if values.iter().any(String::is_empty) => {
            Err("expected values between commas, like 1,2,5, but one is empty".into())
        }
        values if values.len() > VALUES_MAX => Err(too_many(values.len())),
        values => Ok(values),
    }
}

/// An end of a range: the number, its spelling, and its unit.
struct End<'a> {
    number: f64,
    is_whole: bool,
    unit: &'a str,
}

impl<'a> End<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let wrong = || format!("expected a range like 1ms..50ms:8, but {text:?} is no number");
        let (number, unit) = split_number(text.trim()).ok_or_else(wrong)?;
        let is_whole = !number.contains(['.', 'e', 'E']);
        let number: f64 = number.replace('_', "").parse().map_err(|_| wrong())?;
        if !number.is_finite() {
            return Err(wrong());
        }
        Ok(Self { number, is_whole, unit: unit.trim_end() })
    }
}

/// Returns the values of a range; `None` if `text` is a list.
fn range(text: &str) -> Option<Result<Vec<String>, String>> {
    let (is_log, ends) = match text.strip_prefix("log:") {
        Some(ends) => (true, ends),
        None => (false, text),
    };
    let split = ends.split_once("..");
    match split {
        // `../table.csv` and `a/../b` are values.
        Some((from, _)) if is_log || split_number(from).is_some() => {}
        None if is_log => {
            return Some(Err("expected log:FROM..TO:COUNT, like log:1ms..1s:4".into()));
        }
        _ => return None,
    }
    let (from, rest) = split?;
    let (to, count) = match rest.split_once(':') {
        Some((to, count)) => (to, Some(count.trim())),
        None => (rest, None),
    };
    Some(between(from, to, count, is_log))
}

fn between(from: &str, to: &str, count: Option<&str>, is_log: bool) -> Result<Vec<String>, String> {
    let (from, to) = (End::parse(from)?, End::parse(to)?);
    if !from.unit.is_empty() && from.unit != to.unit {
        return Err(match to.unit {
            "" => format!("the end needs a unit, too: {}{}", to.number, from.unit),
            unit => format!(
                "both ends need the same unit, but one has {:?} and the other {unit:?}",
                from.unit
            ),
        });
    }
    let unit = to.unit;
    let is_whole = from.is_whole && to.is_whole && unit.is_empty();
    let count = match count {
        Some(count) => match count.parse::<usize>() {
            Ok(count @ 2..=VALUES_MAX) => count,
            _ => return Err(format!("expected 2 to {VALUES_MAX} values, got {count}")),
        },
        None if is_log => {
            return Err("expected log:FROM..TO:COUNT, but the count is missing".into());
        }
        None => return steps(&from, &to, unit),
    };
    if from.number == to.number {
        return Err("both ends are the same".into());
    }
    if is_log && (from.number <= 0.0 || to.number <= 0.0) {
        return Err("equal ratios need ends above zero".into());
    }
    let last = (count - 1) as f64;
    let value = |step: usize| match step as f64 / last {
        0.0 => from.number,
        1.0 => to.number,
        share if is_log => from.number * (to.number / from.number).powf(share),
        share => from.number + (to.number - from.number) * share,
    };
    let values: Vec<String> = (0..count)
        .map(|step| {
            if is_whole {
                format!("{:.0}", value(step))
            } else {
                format!("{}{unit}", six_digits(value(step)))
            }
        })
        .collect();
    if values.windows(2).all(|pair| pair[0] != pair[1]) {
        Ok(values)
    } else if is_whole {
        Err(format!(
            "there are no {count} whole numbers at such distances; for others write {:?}..{:?}",
            from.number, to.number
        ))
    } else {
        Err(format!("{count} values are more than six digits can tell apart here"))
    }
}

/// Returns every whole number from one end to the other.
fn steps(from: &End<'_>, to: &End<'_>, unit: &str) -> Result<Vec<String>, String> {
    if !from.is_whole || !to.is_whole {
        return Err("how many values? write FROM..TO:COUNT".into());
    }
    // Whole numbers up to 2^53 are exact.
    let Range { start, end } = from.number as i64..to.number as i64;
    if start > end {
        return Err(format!("the range is empty: {start} is above {end}"));
    }
    match usize::try_from(end - start).ok().and_then(|n| n.checked_add(1)) {
        Some(count @ 2..=VALUES_MAX) => {
            Ok((0..count as i64).map(|step| format!("{}{unit}", start + step)).collect())
        }
        Some(1) => Err("both ends are the same".into()),
        _ => Err(format!("expected 2 to {VALUES_MAX} values; write FROM..TO:COUNT")),
    }
}

/// Returns a number rounded to six digits, as short as it can be written.
fn six_digits(number: f64) -> f64 {
    format!("{number:.5e}").parse().expect("a number was just written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(argument: &str) -> Vec<String> {
        Axis::parse(&format!("a.b={argument}")).expect("it is right").values
    }

    fn wrong(argument: &str) -> String {
        Axis::parse(argument).expect_err("it is wrong").message
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(values("1, 2,5"), ["1", "2", "5"]);
        assert_eq!(values("[1, 2],[3]"), ["[1, 2]", "[3]"]);
        assert_eq!(values(r#""a,b",c"#), [r#""a,b""#, "c"]);
        assert_eq!(values("{ kind = 'x', packets = 5 },codel").len(), 2);
        assert_eq!(values("../per.csv,a/../b.csv"), ["../per.csv", "a/../b.csv"]);
        assert_eq!(values("1..5"), ["1", "2", "3", "4", "5"]);
        assert_eq!(values("1..50:8"), ["1", "8", "15", "22", "29", "36", "43", "50"]);
        assert_eq!(values("0.0..1:5"), ["0", "0.25", "0.5", "0.75", "1"]);
        assert_eq!(values("10ms..20ms:3"), ["10ms", "15ms", "20ms"]);
        assert_eq!(values("1..3MHz"), ["1MHz", "2MHz", "3MHz"]);
        assert_eq!(values("log:1ms..1000ms:4"), ["1ms", "10ms", "100ms", "1000ms"]);
        assert_eq!(values("log:1..1000:3"), ["1", "32", "1000"]);
        assert_eq!(values("log:1ms..10ms:3"), ["1ms", "3.16228ms", "10ms"]);
        assert_eq!(values("5dB..-5dB:3"), ["5dB", "0dB", "-5dB"]);
        assert_eq!(values("true,false"), ["true", "false"]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (argument, message_part) in [
            ("a", "expected PATH=VALUES"),
            ("=1", "a key before the ="),
            ("a=", "one is empty"),
            ("a=1,,2", "one is empty"),
            ("a=1,2,1", "1 is there twice"),
            ("a=1s,1000ms", "1000ms and 1s are the same"),
            ("a=1ms..1s:3", "one has \"ms\" and the other \"s\""),
            ("a=1ms..5:3", "the end needs a unit, too: 5ms"),
            ("a=5..1", "the range is empty: 5 is above 1"),
            ("a=1..1", "both ends are the same"),
            ("a=1..1:4", "both ends are the same"),
            ("a=1..9:0", "expected 2 to 100000 values, got 0"),
            ("a=1..9:1000000000", "expected 2 to 100000 values, got 1000000000"),
            ("a=1..1000000000", "write FROM..TO:COUNT"),
            ("a=0..1:5", "for others write 0.0..1.0"),
            ("a=0.5..1", "how many values"),
            ("a=1..x:4", "\"x\" is no number"),
            ("a=log:0..5:3", "above zero"),
            ("a=log:1..5", "the count is missing"),
            ("a=log:5", "expected log:FROM..TO:COUNT"),
            ("a=1.0..1.000001:9", "six digits"),
        ] {
            let message = wrong(argument);
            assert!(message.contains(message_part), "{argument}: {message}");
        }
    }

    proptest! {
        /// No text panics, and accepted arguments have the announced number of values.
        #[test]
        fn whatever_is_written_is_taken_or_refused(text in "[a.]{1,3}=?[-+0-9a-z.,:\\[\\]\"_ ]{0,24}") {
            if let Ok(axis) = Axis::parse(&text) {
                prop_assert!((1..=VALUES_MAX).contains(&axis.values.len()));
                prop_assert!(axis.values.iter().all(|value| !value.is_empty()));
            }
        }

        #[test]
        fn ranges_have_their_ends(from in 1_i64..1_000, more in 1_i64..1_000, count in 2_usize..40, is_log: bool) {
            let to = from + more;
            let log = if is_log { "log:" } else { "" };
            let values = Axis::parse(&format!("a={log}{from}.0ms..{to}ms:{count}"));
            let values = values.expect("there is room").values;
            prop_assert_eq!(values.len(), count);
            prop_assert_eq!(&values[0], &format!("{from}ms"));
            prop_assert_eq!(&values[count - 1], &format!("{to}ms"));
        }
    }
}
