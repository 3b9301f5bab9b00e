//! Tables of a file. Each key is declared once, in the style of [`tables!`](crate::tables!), with its
//! documentation, type and default, for the reader, the check for unknown keys, the JSON Schema and
//! the reference page.
//!
//! A key has one of these forms:
//!
//! | form | meaning |
//! |---|---|
//! | `required key: T` | a required key |
//! | `value key: T = literal` | a key with this default, written as in the file |
//! | `option key: T = "text"` | a key whose default depends on other keys, as in the text |
//! | `table key: T` | a table; all its defaults if left out |
//! | `option_table key: T = "text"` | a table that may be missing |
//! | `off_table key: T = "text"` | such a table, or "off": none, even with defaults |
//! | `off_tables key: T = "text"` | such a table, or several as an array |
//! | `checked key: T = "text"` | such a table that is only checked, and used elsewhere |
//! | `list key: T` | `[[key]]`, any number of them |
//! | `flatten key: T` | the keys of another table, inside this one |
//! | `moved key: () = "text"` | a former key; the text names its replacement |
//!
//! A table `Name = key { .. }` may be written as a plain value of that key; one with a `kind` as
//! that word.

use crate::error::{Place, Problems};
use crate::scalar::{At, Scalar, did_you_mean, mismatch, shown};
use crate::tree::{Node, OFF, Origin, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Map;
use std::marker::PhantomData;

/// A table whose keys are known.
pub trait Table: JsonSchema + Sized {
    /// Key of a plain value in place of the table.
    const PLAIN: Option<&'static str>;
    /// Reads the keys from `reader`; `None` if a required one is missing or wrong.
    fn read(reader: &mut Reader<'_>) -> Option<Self>;
    /// Allowed words of the key `kind`, if there is one: a word that stands for the whole table.
    /// Made once, since it requires a schema and there may be thousands of such tables.
    fn kind() -> Option<&'static str>;
    /// Adds the keys to a JSON Schema.
    fn describe(generator: &mut SchemaGenerator, keys: &mut Keys);
}

/// A table during reading.
pub struct Reader<'a> {
    node: &'a Node,
    /// Place of the table.
    pub place: Place,
    problems: &'a mut Problems,
    known: Vec<&'static str>,
    /// Key of a plain value in place of the table, if there is one.
    plain: Option<&'static str>,
}

/// Node of a missing table.
pub static NOTHING: Node = Node { value: Value::Table(Vec::new()), origin: Origin::Absent };

/// Reads the table `node`, and reports unknown keys.
pub fn read<T: Table>(node: &Node, place: Place, problems: &mut Problems) -> Option<T> {
    let plain = match T::PLAIN {
        _ if node.entries().is_some() => None,
        // A word stands for the table's kind: `rate_control = "ideal"`.
        _ if node.is_word() && T::kind().is_some() => Some("kind"),
        plain => plain,
    };
    let short = plain.map(|key| node.clone().under(key));
    let node = short.as_ref().unwrap_or(node);
    let Some(entries) = node.entries() else {
        let words = T::kind().map_or(String::new(), |allowed| format!("{allowed} or "));
        problems.push(&place, format!("expected {words}a table, got {}", shown(&node.value)));
        return None;
    };
    let mut reader = Reader { node, place: place.clone(), problems, known: Vec::new(), plain };
    let table = T::read(&mut reader);
    let known = reader.known;
    for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
        let hint = match did_you_mean(&entry.key, known.iter().copied()) {
            Some(hint) => hint,
            None => format!("known here: {}", known.join(", ")),
        };
        let place = place.child(&entry.key, entry.key_origin.clone());
        problems.push(&place, format!("unknown key; {hint}"));
    }
    table
}

/// Returns the key `kind` of the table, if it has one.
pub fn kind_key<T: Table>() -> Option<Key> {
    #[cfg(test)]
    tests::SCHEMAS_BUILT.with(|built| built.set(built.get() + 1));
    let mut keys = Keys::default();
    T::describe(&mut SchemaGenerator::default(), &mut keys);
    keys.0.into_iter().find(|key| key.name == "kind")
}

impl Reader<'_> {
    fn lookup(&mut self, key: &'static str) -> (Option<&Node>, Place) {
        self.known.push(key);
        let node = self.node.child(key);
        let origin = node.map_or(Origin::Absent, |node| node.origin.clone());
        (node, self.place_of(key, origin))
    }

    /// Returns the place of `key`, or that of the table if a plain value stands there.
    fn place_of(&self, key: &'static str, origin: Origin) -> Place {
        match self.plain {
            Some(plain) if plain == key => Place::new(self.place.key.clone(), origin),
            _ => self.place.child(key, origin),
        }
    }

    /// Reads a key that may be missing; `None` if its value is wrong.
    pub fn option<T: Scalar>(&mut self, key: &'static str) -> Option<Option<At<T::Value>>> {
        self.known.push(key);
        let Some(node) = self.node.child(key) else { return Some(None) };
        let place = self.place_of(key, node.origin.clone());
        match T::read(&node.value) {
            Ok(value) => Some(Some(At { value, place })),
            Err(why) => {
                self.problems.push(&place, mismatch::<T>(&node.value, why));
                None
            }
        }
    }

    /// Reports a former key; `text` names its replacement.
    pub fn moved(&mut self, key: &'static str, text: &str) -> Option<()> {
        if let Some(node) = self.node.child(key) {
            let place = self.place_of(key, node.origin.clone());
            self.problems.push(&place, text);
            // It is not among those that a message calls known.
            self.known.push(key);
        }
        Some(())
    }

    /// Reads a required key.
    pub fn required<T: Scalar>(&mut self, key: &'static str) -> Option<At<T::Value>> {
        let value = self.option::<T>(key)?;
        if value.is_none() {
            let message = format!("the key \"{key}\" is missing: {}", T::allowed());
            self.problems.push(&self.place, message);
        }
        value
    }

    /// Reads a key with a default.
    pub fn value<T: Scalar>(&mut self, key: &'static str, default: Value) -> Option<At<T::Value>> {
        let value = self.option::<T>(key)?;
        Some(value.unwrap_or_else(|| At {
            value: T::read(&default).expect("a test reads every default"),
            place: self.place.child(key, Origin::Absent),
        }))
    }

    /// Reads a table; all its defaults if it is missing.
    pub fn table<T: Table>(&mut self, key: &'static str) -> Option<T> {
        let node = self.node;
        let (_, place) = self.lookup(key);
        read(node.child(key).unwrap_or(&NOTHING), place, self.problems)
    }

    /// Reads a table that may be missing.
    pub fn option_table<T: Table>(&mut self, key: &'static str) -> Option<Option<T>> {
        let node = self.node;
        let (_, place) = self.lookup(key);
        match node.child(key) {
            Some(node) => read(node, place, self.problems).map(Some),
            None => Some(None),
        }
    }

    /// Reads a table that may be missing or "off".
    pub fn off_table<T: Table>(&mut self, key: &'static str) -> Option<Option<T>> {
        match self.node.child(key).and_then(Node::as_str) {
            Some(OFF) => {
                self.known.push(key);
                Some(None)
            }
            _ => self.option_table(key),
        }
    }

    /// Reads a table or an array of tables; none if the key is missing or "off".
    pub fn off_tables<T: Table>(&mut self, key: &'static str) -> Option<Vec<T>> {
        match self.node.child(key).map(|node| &node.value) {
            Some(Value::Array(_)) => self.list(key),
            _ => self.off_table(key).map(|table| table.into_iter().collect()),
        }
    }

    /// Reads a table that is only checked.
    pub fn checked<T: Table>(&mut self, key: &'static str) -> Option<PhantomData<T>> {
        self.option_table::<T>(key).map(|_| PhantomData)
    }

    /// Reads an array of tables.
    pub fn list<T: Table>(&mut self, key: &'static str) -> Option<Vec<T>> {
        let node = self.node;
        let (_, place) = self.lookup(key);
        let Some(node) = node.child(key) else { return Some(Vec::new()) };
        let Value::Array(elements) = &node.value else {
            let got = shown(&node.value);
            // A change of what is inside makes a table where there was nothing.
            let hint = match place.origin {
                Origin::Set(_) if got == "a table" => format!("is there a [[{key}]] to change?"),
                _ => "one pair of brackets?".into(),
            };
            let message = format!("expected [[{key}]], got {got} ({hint})");
            self.problems.push(&place, message);
            return None;
        };
        let read = |(index, element): (usize, &Node)| {
            let place = place.child(&element.label(index), element.origin.clone());
            read(element, place, self.problems)
        };
        // Every element is read, so that every problem is noted.
        let tables: Vec<Option<T>> = elements.iter().enumerate().map(read).collect();
        tables.into_iter().collect()
    }
}

/// The keys of a table in their order, for the JSON Schema and the reference.
#[derive(Default)]
pub struct Keys(pub Vec<Key>);

/// A key as it is documented.
pub struct Key {
    /// Name of the key.
    pub name: &'static str,
    /// Allowed values, or "a table", or "tables".
    pub allowed: String,
    /// Meaning of the key.
    pub docs: String,
    /// Default, as written in a file or in words.
    pub default: Option<String>,
    /// Whether the key is required.
    pub required: bool,
    /// Name of its table in the schema.
    pub table: Option<String>,
    /// JSON Schema of the values.
    pub schema: Schema,
}

impl Keys {
    /// Adds a key with one value.
    pub fn scalar<T: Scalar>(&mut self, name: &'static str, docs: &str) -> &mut Key {
        self.add(Key {
            name,
            allowed: T::allowed(),
            docs: paragraph(docs),
            default: None,
            required: false,
            table: None,
            schema: T::schema(),
        })
    }

    /// Adds a key with a table, or with tables.
    pub fn table<T: Table>(
        &mut self,
        name: &'static str,
        docs: &str,
        allowed: &str,
        schema: Schema,
    ) -> &mut Key {
        self.add(Key {
            name,
            allowed: allowed.into(),
            docs: paragraph(docs),
            default: None,
            required: false,
            table: Some(T::schema_name().into_owned()),
            schema,
        })
    }

    fn add(&mut self, key: Key) -> &mut Key {
        self.0.push(key);
        self.0.last_mut().expect("it was pushed above")
    }

    /// Whether there is a key called `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|key| key.name == name)
    }

    /// Returns the schema of a table with these keys.
    pub fn into_schema(self, docs: &str) -> Schema {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for mut key in self.0 {
            let mut description = without_links(&key.docs);
            if let Some(default) = key.default.filter(|_| key.schema.get("default").is_none()) {
                description.push_str(&format!(" Default: {default}."));
            }
            key.schema.insert("description".into(), description.into());
            properties.insert(key.name.into(), key.schema.to_value());
            if key.required {
                required.push(key.name);
            }
        }
        let mut schema = json_schema!({
            "type": "object",
            "description": without_links(&paragraph(docs)),
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        schema
    }
}

/// Returns `text` with the words of its Markdown links only, for manual pages, terminals and
/// editors.
pub fn without_links(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((words, (_, behind))) =
            before.rsplit_once('[').map(|(_, words)| words).zip(after.split_once(')'))
        else {
            break;
        };
        kept.push_str(&before[..before.len() - words.len() - 1]);
        kept.push_str(words);
        rest = behind;
    }
    kept + rest
}

/// Doc comment lines as running text.
pub fn paragraph(docs: &str) -> String {
    docs.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A default, as written in a macro.
pub trait IntoValue {
    /// Returns the value as in a file.
    fn value(self) -> Value;
}

impl IntoValue for &str {
    fn value(self) -> Value {
        Value::String(self.into())
    }
}

impl IntoValue for i32 {
    fn value(self) -> Value {
        Value::Integer(self.into())
    }
}

impl IntoValue for f64 {
    fn value(self) -> Value {
        Value::Float(self)
    }
}

impl IntoValue for bool {
    fn value(self) -> Value {
        Value::Boolean(self)
    }
}

impl<const N: usize> IntoValue for [&str; N] {
    fn value(self) -> Value {
        let node = |text: &str| Node { value: text.value(), origin: Origin::Absent };
        Value::Array(self.into_iter().map(node).collect())
    }
}

impl<const N: usize> IntoValue for [i32; N] {
    fn value(self) -> Value {
        let node = |number: i32| Node { value: number.value(), origin: Origin::Absent };
        Value::Array(self.into_iter().map(node).collect())
    }
}

/// Declares tables; the forms of keys are listed at the top of the file.
#[macro_export]
macro_rules! tables {
    ($(
        $(#[doc = $docs:literal])*
        $name:ident $(= $plain:ident)? {
            $($(#[doc = $key_docs:literal])* $form:ident $key:ident: $ty:ty $(= $default:expr)?;)*
        }
    )*) => {$(
        $(#[doc = $docs])*
        #[derive(Clone, Debug)]
        pub struct $name {
            /// The place of the table.
            #[allow(dead_code, reason = "not every table is complained about as a whole")]
            pub here: $crate::error::Place,
            $($(#[doc = $key_docs])* pub $key: $crate::form!(type $form $ty),)*
        }

        impl $crate::table::Table for $name {
            const PLAIN: Option<&'static str> = $crate::plain!($($plain)?);

            fn read(reader: &mut $crate::table::Reader<'_>) -> Option<Self> {
                $(let $key = $crate::form!(read $form reader, $key, $ty, $($default)?);)*
                let table = Self { here: reader.place.clone(), $($key: $key?,)* };
                $($crate::form!(done $form table, $key);)*
                Some(table)
            }

            fn kind() -> Option<&'static str> {
                static ALLOWED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
                let allowed = || Some($crate::table::kind_key::<Self>()?.allowed);
                ALLOWED.get_or_init(allowed).as_deref()
            }

            fn describe(
                generator: &mut $crate::export::schemars::SchemaGenerator,
                keys: &mut $crate::table::Keys,
            ) {
                // Tables of plain values have no use for it.
                let _ = &generator;
                $($crate::form!(
                    describe $form generator, keys, $key, $ty,
                    concat!($($key_docs, "\n"),*), $($default)?
                );)*
            }
        }

        impl $crate::export::schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name)["Raw".len()..].into()
            }

            fn json_schema(generator: &mut $crate::export::schemars::SchemaGenerator) -> $crate::export::schemars::Schema {
                let mut keys = $crate::table::Keys::default();
                <Self as $crate::table::Table>::describe(generator, &mut keys);
                keys.into_schema(concat!($($docs, "\n"),*))
            }
        }
    )*

        /// Returns every table: its name in the schema, its documentation and its keys.
        #[allow(dead_code, reason = "tables that are parts of others' are listed there")]
        pub(crate) fn all() -> Vec<(String, String, $crate::table::Keys)> {
            use $crate::export::schemars::JsonSchema as _;
            let generator = &mut $crate::export::schemars::SchemaGenerator::default();
            vec![$({
                let mut keys = $crate::table::Keys::default();
                <$name as $crate::table::Table>::describe(generator, &mut keys);
                // Reads every default.
                let place = $crate::error::Place::new("", $crate::tree::Origin::Absent);
                let problems = &mut $crate::error::Problems::default();
                $crate::table::read::<$name>(&$crate::table::NOTHING, place, problems);
                let docs = $crate::table::paragraph(concat!($($docs, "\n"),*));
                ($name::schema_name().into_owned(), docs, keys)
            }),*]
        }
    };
}

/// The key of a plain value, for [`tables!`].
#[doc(hidden)]
#[macro_export]
macro_rules! plain {
    () => {
        None
    };
    ($key:ident) => {
        Some(stringify!($key))
    };
}

/// Meaning of each form of key, for [`tables!`].
#[doc(hidden)]
#[macro_export]
macro_rules! form {
    (type required $ty:ty) => { $crate::scalar::At<<$ty as $crate::scalar::Scalar>::Value> };
    (type value $ty:ty) => { $crate::scalar::At<<$ty as $crate::scalar::Scalar>::Value> };
    (type option $ty:ty) => { Option<$crate::scalar::At<<$ty as $crate::scalar::Scalar>::Value>> };
    (type table $ty:ty) => { $ty };
    (type option_table $ty:ty) => { Option<$ty> };
    (type off_table $ty:ty) => { Option<$ty> };
    (type off_tables $ty:ty) => { Vec<$ty> };
    (type checked $ty:ty) => { std::marker::PhantomData<$ty> };
    (type list $ty:ty) => { Vec<$ty> };
    (type flatten $ty:ty) => { $ty };
    (type moved $ty:ty) => { $ty };

    (read required $reader:ident, $key:ident, $ty:ty,) => { $reader.required::<$ty>(stringify!($key)) };
    (read value $reader:ident, $key:ident, $ty:ty, $default:expr) => {
        $reader.value::<$ty>(stringify!($key), $crate::table::IntoValue::value($default))
    };
    (read option $reader:ident, $key:ident, $ty:ty, $default:expr) => { $reader.option::<$ty>(stringify!($key)) };
    (read table $reader:ident, $key:ident, $ty:ty,) => { $reader.table(stringify!($key)) };
    (read option_table $reader:ident, $key:ident, $ty:ty, $default:expr) => {
        $reader.option_table(stringify!($key))
    };
    (read off_table $reader:ident, $key:ident, $ty:ty, $default:expr) => {
        $reader.off_table(stringify!($key))
    };
    (read off_tables $reader:ident, $key:ident, $ty:ty, $default:expr) => {
        $reader.off_tables(stringify!($key))
    };
    (read checked $reader:ident, $key:ident, $ty:ty, $default:expr) => {
        $reader.checked(stringify!($key))
    };
    (read list $reader:ident, $key:ident, $ty:ty,) => { $reader.list(stringify!($key)) };
    (read flatten $reader:ident, $key:ident, $ty:ty,) => { $crate::table::Table::read($reader) };

    (read moved $reader:ident, $key:ident, $ty:ty, $text:expr) => {
        $reader.moved(stringify!($key), $text)
    };

    // Nobody else reads these, and every other key has to be read by somebody.
    (done moved $table:ident, $key:ident) => { let () = $table.$key; };
    (done $form:ident $table:ident, $key:ident) => {};

    (describe required $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr,) => {
        $keys.scalar::<$ty>(stringify!($key), $docs).required = true;
    };
    (describe value $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr, $default:expr) => {
        let default = $crate::export::serde_json::json!($default);
        let key = $keys.scalar::<$ty>(stringify!($key), $docs);
        key.default = Some(default.to_string());
        key.schema.insert("default".into(), default);
    };
    (describe option $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr, $default:expr) => {
        $keys.scalar::<$ty>(stringify!($key), $docs).default = Some($default.into());
    };
    (describe table $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr,) => {
        let schema = $crate::table::table_schema::<$ty>($gen);
        let allowed = $crate::table::table_allowed::<$ty>($gen);
        $keys.table::<$ty>(stringify!($key), $docs, &allowed, schema);
    };
    (describe checked $($rest:tt)*) => { $crate::form!(describe option_table $($rest)*) };
    (describe option_table $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr, $default:expr) => {
        let schema = $crate::table::table_schema::<$ty>($gen);
        let allowed = $crate::table::table_allowed::<$ty>($gen);
        let key = $keys.table::<$ty>(stringify!($key), $docs, &allowed, schema);
        key.default = Some($default.into());
    };
    (describe off_table $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr, $default:expr) => {
        let schema = $crate::table::table_schema::<$ty>($gen);
        let schema = $crate::export::schemars::json_schema!({ "anyOf": [{ "const": $crate::tree::OFF }, schema] });
        let allowed = format!("\"off\" or {}", $crate::table::table_allowed::<$ty>($gen));
        let key = $keys.table::<$ty>(stringify!($key), $docs, &allowed, schema);
        key.default = Some($default.into());
    };
    (describe off_tables $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr, $default:expr) => {
        let schema = $gen.subschema_for::<$ty>();
        let schema = $crate::export::schemars::json_schema!({ "anyOf": [
            { "const": $crate::tree::OFF },
            schema,
            { "type": "array", "items": schema },
        ] });
        let key = $keys.table::<$ty>(stringify!($key), $docs, "\"off\", a table or several", schema);
        key.default = Some($default.into());
    };
    (describe list $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr,) => {
        let schema = $crate::export::schemars::json_schema!({ "type": "array", "items": $gen.subschema_for::<$ty>() });
        $keys.table::<$ty>(stringify!($key), $docs, "tables", schema);
    };
    (describe flatten $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr,) => {
        <$ty as $crate::table::Table>::describe($gen, $keys);
    };
    (describe moved $gen:ident, $keys:ident, $key:ident, $ty:ty, $docs:expr, $text:expr) => {
        let _ = ($docs, $text);
    };
}

/// Returns the key whose value may replace the table.
fn plain_key<T: Table>(generator: &mut SchemaGenerator) -> Option<Key> {
    let mut keys = Keys::default();
    T::describe(generator, &mut keys);
    keys.0.into_iter().find(|key| Some(key.name) == T::PLAIN)
}

/// Returns the allowed values in place of the table.
pub fn table_allowed<T: Table>(generator: &mut SchemaGenerator) -> String {
    match plain_key::<T>(generator) {
        Some(key) => format!("{}; or a table", key.allowed),
        None => "a table".into(),
    }
}

/// Returns the schema of a table, or of the word or plain value that stands for one.
pub fn table_schema<T: Table>(generator: &mut SchemaGenerator) -> Schema {
    let table = generator.subschema_for::<T>();
    let kind = kind_key::<T>();
    let words = kind.as_ref().and_then(|kind| kind.schema.get("enum"));
    let mut choices = Vec::new();
    choices.extend(words.map(|words| json_schema!({ "enum": words })));
    choices.extend(plain_key::<T>(generator).map(|key| key.schema));
    if choices.is_empty() {
        return table;
    }
    choices.push(table);
    json_schema!({ "anyOf": choices })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// Schemas that this thread built for the kinds of tables.
        pub static SCHEMAS_BUILT: Cell<usize> = const { Cell::new(0) };
    }

    #[derive(Clone, Copy, Debug)]
    pub enum Kind {
        Near,
        Far,
    }

    crate::choices! {
        Kind { "near" => Self::Near, "far" => Self::Far }
    }

    crate::tables! {
        /// A list.
        RawList {
            /// Its elements.
            list element: RawElement;
        }

        /// An element.
        RawElement {
            /// A table that a word may stand for.
            table place: RawPlace;
        }

        /// A place.
        RawPlace {
            /// Its kind.
            value kind: Kind = "near";
        }
    }

    /// Otherwise twenty thousand elements took twenty seconds.
    #[test]
    fn a_schema_is_built_once_and_not_for_each_table() {
        let built = |elements: usize| {
            let text = "[[element]]\nplace = \"far\"\n".repeat(elements);
            let tree = Node::parse(&text).expect("it is TOML");
            let before = SCHEMAS_BUILT.with(Cell::get);
            let problems = &mut Problems::default();
            let list = read::<RawList>(&tree, Place::new("", Origin::Absent), problems);
            let list = list.expect("it is sound");
            assert_eq!(list.element.len(), elements);
            assert!(list.element.iter().all(|it| matches!(it.place.kind.value, Kind::Far)));
            SCHEMAS_BUILT.with(Cell::get) - before
        };
        // What is built once for the program is built here.
        built(1);
        assert_eq!(built(10), built(20));
    }

    #[test]
    fn every_default_is_read() {
        assert_eq!(all().len(), 3);
    }

    #[test]
    fn links_lose_their_targets() {
        let text = "Scans, `[[node]]` ([all keys](a.md#b), [more](c.md)).";
        assert_eq!(without_links(text), "Scans, `[[node]]` (all keys, more).");
        assert_eq!(without_links("no [link] (here)"), "no [link] (here)");
    }
}
