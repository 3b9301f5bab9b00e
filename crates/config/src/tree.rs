//! A TOML document as a tree. Every key and value knows its origin: a byte range of the file, or
//! one `--set` argument.
//!
//! The raw layer: `--set` and sweeps change values here, before anything is
//! typed. Nesting is bounded by the TOML parser (80 levels).

use core::ops::Range;
use toml_edit::{Document, Item, TomlError};

/// `parent.key`, or one of them if the other is empty.
pub fn join(parent: &str, key: &str) -> String {
    match (parent, key) {
        ("", key) => key.into(),
        (parent, "") => parent.into(),
        (parent, key) => format!("{parent}.{key}"),
    }
}

/// Origin of a key or value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Bytes of the text.
    File(Range<usize>),
    /// The `--set` argument with this index.
    Set(usize),
    /// Not written anywhere: a default, or a missing value.
    Absent,
}

/// Value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `"text"`
    String(String),
    /// `1`
    Integer(i64),
    /// `1.5`
    Float(f64),
    /// `true`
    Boolean(bool),
    /// A date or time; no key takes one.
    Datetime(String),
    /// `[..]` or `[[..]]`
    Array(Vec<Node>),
    /// `{..}` or `[..]`
    Table(Vec<Entry>),
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Origin of the value.
    pub origin: Origin,
}

/// A key of a table with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the key.
    pub key: String,
    /// Origin of the key.
    pub key_origin: Origin,
    /// The value of the key.
    pub node: Node,
}

/// Word for a table that may be missing: none, even with defaults.
pub const OFF: &str = "off";

impl Node {
    /// Returns the tree of a TOML document.
    pub fn parse(text: &str) -> Result<Self, TomlError> {
        let document = Document::parse(text)?;
        let root = Origin::File(0..0);
        Ok(Self { value: table(document.as_table(), &root), origin: root })
    }

    /// Returns the entries, if this is a table.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the elements, if this is an array.
    pub fn elements(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the value of `key`, if this is a table that has it.
    pub fn child(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Returns the text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the name of an element of an array of tables in messages and in `--set`: its name,
    /// its two ends, its node, or else its index.
    pub fn label(&self, index: usize) -> String {
        let text = |key: &str| self.child(key).and_then(Self::as_str);
        if let Some(name) = text("name") {
            return name.into();
        }
        if let Some([one, other]) = self.ends() {
            return format!("{one}-{other}");
        }
        if let (Some(from), Some(to)) = (text("from"), text("to")) {
            return format!("{from}-{to}");
        }
        text("node").map_or_else(|| index.to_string(), Into::into)
    }

    /// Returns the two names in `between`, if this is a table that has it.
    pub fn ends(&self) -> Option<[&str; 2]> {
        match self.child("between")?.elements()? {
            [one, other] => Some([one.as_str()?, other.as_str()?]),
            _ => None,
        }
    }

    /// Returns the value for the TOML parser, with inline tables.
    pub fn to_toml(&self) -> toml_edit::Value {
        match &self.value {
            Value::String(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Boolean(truth) => (*truth).into(),
            Value::Datetime(date) => date
                .parse::<toml_edit::Datetime>()
                .map_or_else(|_| date.as_str().into(), toml_edit::Value::from),
            Value::Array(elements) => elements.iter().map(Self::to_toml).collect(),
            Value::Table(entries) => {
                let entries = entries.iter().map(|entry| (&*entry.key, entry.node.to_toml()));
                toml_edit::Value::InlineTable(entries.collect())
            }
        }
    }

    /// Fills missing keys of this table from `defaults`. Tables are merged key by key, unless both
    /// name a `kind` and the kinds differ. Calls `taken` with the path of every value that is
    /// copied whole.
    pub fn merge_defaults(&mut self, defaults: &Self, taken: &mut dyn FnMut(&str)) {
        self.merge_at("", defaults, taken);
    }

    fn merge_at(&mut self, path: &str, defaults: &Self, taken: &mut dyn FnMut(&str)) {
        let Value::Table(theirs) = &defaults.value else { return };
        let Value::Table(ours) = &mut self.value else { return };
        for entry in theirs {
            let Some(own) = ours.iter_mut().find(|own| own.key == entry.key) else {
                taken(&join(path, &entry.key));
                ours.push(entry.clone());
                continue;
            };
            let (one, other) = (&mut own.node, entry.node.clone());
            let other = if one.entries().is_some() { other.with_kind() } else { other };
            if other.entries().is_some() && one.as_str().is_some() {
                *one = one.clone().with_kind();
            }
            if same_kind(one, &other) {
                one.merge_at(&join(path, &entry.key), &other, taken);
            }
        }
    }

    /// Whether this is a word, and not a quantity (which begins with a digit or a sign) or "off".
    pub fn is_word(&self) -> bool {
        let is_word = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
        self.as_str().is_some_and(|text| text != OFF && is_word(text))
    }

    /// Returns a word as the table that it stands for: `{ kind = word }`.
    pub fn with_kind(self) -> Self {
        if self.is_word() { self.under("kind") } else { self }
    }

    /// Returns the table `{ key = self }`.
    pub fn under(self, key: &str) -> Self {
        let origin = self.origin.clone();
        let entry = Entry { key: key.into(), key_origin: origin.clone(), node: self };
        Self { value: Value::Table(vec![entry]), origin }
    }
}

fn same_kind(one: &Node, other: &Node) -> bool {
    match (one.child("kind"), other.child("kind")) {
        (Some(one), Some(other)) => one.value == other.value,
        _ => true,
    }
}

/// Converts a value of the TOML parser; `around` is the place of the surrounding table, for tables
/// without a header.
pub fn value(value: &toml_edit::Value, around: &Origin) -> Node {
    use toml_edit::Value as Toml;
    let origin = value.span().map_or_else(|| around.clone(), Origin::File);
    let value = match value {
        Toml::String(text) => Value::String(text.value().clone()),
        Toml::Integer(number) => Value::Integer(*number.value()),
        Toml::Float(number) => Value::Float(*number.value()),
        Toml::Boolean(truth) => Value::Boolean(*truth.value()),
        Toml::Datetime(date) => Value::Datetime(date.value().to_string()),
        Toml::Array(array) => {
            Value::Array(array.iter().map(|element| self::value(element, &origin)).collect())
        }
        Toml::InlineTable(inline) => table(inline, &origin),
    };
    Node { value, origin }
}

fn item(item: &Item, around: &Origin) -> Option<Node> {
    let origin = item.span().map_or_else(|| around.clone(), Origin::File);
    match item {
        Item::None => None,
        Item::Value(inner) => Some(value(inner, around)),
        Item::Table(inner) => Some(Node { value: table(inner, &origin), origin }),
        Item::ArrayOfTables(tables) => {
            let elements = tables.iter().map(|element| {
                let origin = element.span().map_or_else(|| origin.clone(), Origin::File);
                Node { value: table(element, &origin), origin }
            });
            Some(Node { value: Value::Array(elements.collect()), origin })
        }
    }
}

fn table(table: &dyn toml_edit::TableLike, around: &Origin) -> Value {
    let entries = table.iter().filter_map(|(name, inner)| {
        let key_origin = table
            .key(name)
            .and_then(toml_edit::Key::span)
            .map_or_else(|| around.clone(), Origin::File);
        let node = item(inner, &key_origin)?;
        Some(Entry { key: name.into(), key_origin, node })
    });
    Value::Table(entries.collect())
}
