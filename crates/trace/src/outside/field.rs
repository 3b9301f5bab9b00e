//! Fields of JSON with their paths, so that errors name the field and its content.

use serde_json::{Map, Value};
use std::fmt;

/// Longest content that an error shows, in characters.
const SHOWN_MAX: usize = 40;

/// A field that is missing or has another value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: expected {expected}, got {got}")]
pub struct FieldError {
    /// Path of the field, such as `intervals[3].sum.bytes`.
    pub path: String,
    /// The allowed content.
    pub expected: String,
    /// The content, in short.
    pub got: String,
}

/// A field and its path.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    path: Path<'a>,
    value: &'a Value,
}

/// A path, written only for errors.
#[derive(Clone, Debug)]
enum Path<'a> {
    Top,
    Key(Box<Path<'a>>, &'a str),
    Index(Box<Path<'a>>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain =
            |key: &str| key.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '.');
        match self {
            Self::Top => Ok(()),
            Self::Key(above, key) => {
                let dot = if matches!(**above, Self::Top) { "" } else { "." };
                if is_plain(key) {
                    write!(f, "{above}{dot}{key}")
                } else {
                    write!(f, "{above}{dot}{key:?}")
                }
            }
            Self::Index(above, index) => write!(f, "{above}[{index}]"),
        }
    }
}

impl<'a> Field<'a> {
    /// The whole text.
    pub(super) fn top(value: &'a Value) -> Self {
        Self { path: Path::Top, value }
    }

    /// An error that something else was expected here.
    pub(super) fn other(&self, expected: impl Into<String>) -> FieldError {
        let path = match self.path {
            Path::Top => "the text".to_owned(),
            _ => self.path.to_string(),
        };
        FieldError { path, expected: expected.into(), got: shown(self.value) }
    }

    /// Whether there is this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }

    /// The field of this key; `None` if it is missing or null.
    pub(super) fn get(&self, key: &'a str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { path: Path::Key(Box::new(self.path.clone()), key), value })
    }

    /// The field of this key.
    pub(super) fn need(&self, key: &'a str) -> Result<Self, FieldError> {
        self.get(key).ok_or_else(|| self.other(format!("a table with {key}")))
    }

    /// The elements of an array.
    pub(super) fn items(&self) -> Result<impl Iterator<Item = Self> + use<'a>, FieldError> {
        let items = self.value.as_array().ok_or_else(|| self.other("an array"))?;
        let above = self.path.clone();
        Ok(items.iter().enumerate().map(move |(index, value)| Self {
            path: Path::Index(Box::new(above.clone()), index),
            value,
        }))
    }

    /// The entries of a table, by their keys.
    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Self)>, FieldError> {
        let table: &'a Map<String, Value> =
            self.value.as_object().ok_or_else(|| self.other("a table"))?;
        let entry = |key: &'a String, value: &'a Value| {
            let path = Path::Key(Box::new(self.path.clone()), key);
            (key.as_str(), Self { path, value })
        };
        Ok(table.iter().map(|(key, value)| entry(key, value)).collect())
    }

    /// A finite number.
    pub(super) fn number(&self) -> Result<f64, FieldError> {
        self.value.as_f64().filter(|it| it.is_finite()).ok_or_else(|| self.other("a number"))
    }

    /// A number of moderate size, so that sums of many are numbers.
    pub(super) fn amount(&self) -> Result<f64, FieldError> {
        let moderate = self.value.as_f64().filter(|it| it.abs() <= 1e12);
        moderate.ok_or_else(|| self.other("a number from -1e12 to 1e12"))
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'a str, FieldError> {
        self.value.as_str().ok_or_else(|| self.other("a text"))
    }

    /// A text, or a number as text.
    pub(super) fn word(&self) -> Option<String> {
        match self.value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Whether the field is true, 1, or "true".
    pub(super) fn is_true(&self) -> bool {
        match self.value {
            Value::Bool(value) => *value,
            Value::Number(number) => number.as_f64() == Some(1.0),
            Value::String(text) => text != "false",
            _ => false,
        }
    }

    /// Whether the field is null.
    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "a table without it".into(),
        value => {
            let text = value.to_string();
            match text.char_indices().nth(SHOWN_MAX) {
                Some((end, _)) => format!("{}..", &text[..end]),
                None => text,
            }
        }
    }
}
