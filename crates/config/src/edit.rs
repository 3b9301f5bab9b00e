//! Changes of a file before it is typed: values at places of the tree, and the same in the text,
//! which keeps its comments. An argument `path=value` has TOML as its value if it can be read as
//! TOML, else text, so that `40MHz` needs no quotes.

use crate::tree::{Entry, Node, OFF, Origin, Value};
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

/// One step from a table or array to an element.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A key of a table.
    Key(String),
    /// An element of an array, by position.
    Index(usize),
}

/// Returns the path and the value of an argument; `None` if it is malformed.
pub fn argument(set: &str) -> Option<(&str, toml_edit::Value)> {
    let (path, text) = set.split_once('=')?;
    let (path, text) = (path.trim(), text.trim());
    let mut toml = text.parse().unwrap_or_else(|_| toml_edit::Value::from(text));
    toml.decor_mut().clear();
    Some((path, toml))
}

/// Returns the value at the end of `steps`.
pub fn at<'a>(tree: &'a mut Node, steps: &[Step]) -> Option<&'a mut Node> {
    steps.iter().try_fold(tree, |node, step| match (step, &mut node.value) {
        (Step::Index(index), Value::Array(elements)) => elements.get_mut(*index),
        (Step::Key(key), Value::Table(entries)) => {
            entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
        }
        _ => None,
    })
}

/// Whether `name` matches `pattern`, where `*` stands for any characters.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().expect("a split has at least one part");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Returns the same value with `origin` everywhere.
pub fn with_origin(mut node: Node, origin: &Origin) -> Node {
    node.origin = origin.clone();
    node.value = match node.value {
        Value::Array(elements) => {
            Value::Array(elements.into_iter().map(|inner| with_origin(inner, origin)).collect())
        }
        Value::Table(entries) => {
            let entries = entries.into_iter().map(|entry| Entry {
                key: entry.key,
                key_origin: origin.clone(),
                node: with_origin(entry.node, origin),
            });
            Value::Table(entries.collect())
        }
        plain => plain,
    };
    node
}

/// Puts `new` into the tree, with the tables on the way.
pub fn insert(tree: &mut Node, steps: &[Step], new: Node, origin: &Origin) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *tree = new;
        return Ok(());
    };
    let (is_word, is_off) = (tree.is_word(), tree.as_str() == Some(OFF));
    match (step, &mut tree.value) {
        (Step::Index(index), Value::Array(elements)) => {
            insert(&mut elements[*index], rest, new, origin)
        }
        (Step::Key(key), Value::Table(entries)) => {
            let at = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
                let node = Node { value: Value::Table(Vec::new()), origin: origin.clone() };
                entries.push(Entry { key: key.clone(), key_origin: origin.clone(), node });
                entries.len() - 1
            });
            if rest.is_empty() {
                entries[at].key_origin = origin.clone();
            }
            insert(&mut entries[at].node, rest, new, origin)
        }
        (Step::Key(_), Value::String(_)) if is_word => {
            *tree = tree.clone().with_kind();
            insert(tree, steps, new, origin)
        }
        // No table: the key begins one.
        (Step::Key(_), Value::String(_)) if is_off => {
            tree.value = Value::Table(Vec::new());
            insert(tree, steps, new, origin)
        }
        (Step::Key(key), _) => Err(format!("there is no {key:?} here, since this is not a table")),
        (Step::Index(_), _) => unreachable!("resolve() gives an index for arrays only"),
    }
}

/// Puts `new` into the text, where [`insert`] put it into the tree.
pub fn edit(item: &mut Item, steps: &[Step], new: &toml_edit::Value) {
    let Some((step, rest)) = steps.split_first() else {
        return;
    };
    match step {
        Step::Index(index) => match item {
            Item::ArrayOfTables(tables) => {
                let table = tables.get_mut(*index).expect("insert() went the same way");
                if rest.is_empty() {
                    replace_table(table, new);
                } else {
                    edit_table(table, rest, new);
                }
            }
            Item::Value(toml_edit::Value::Array(array)) => {
                let value = array.get_mut(*index).expect("insert() went the same way");
                edit_value(value, rest, new);
            }
            _ => unreachable!("insert() went the same way"),
        },
        Step::Key(_) => match item {
            Item::Table(table) => edit_table(table, steps, new),
            Item::Value(value) => edit_value(value, steps, new),
            _ => unreachable!("insert() went the same way"),
        },
    }
}

/// Replaces a `[[table]]`, keeping its place and the comments above it. The tree will report
/// anything but a table as an error.
fn replace_table(table: &mut Table, new: &toml_edit::Value) {
    if let toml_edit::Value::InlineTable(inline) = new {
        let (position, decor) = (table.position(), table.decor().clone());
        *table = inline.clone().into_table();
        table.set_position(position);
        *table.decor_mut() = decor;
    }
}

fn edit_value(value: &mut toml_edit::Value, steps: &[Step], new: &toml_edit::Value) {
    let Some((step, rest)) = steps.split_first() else {
        let decor = value.decor().clone();
        *value = new.clone();
        *value.decor_mut() = decor;
        return;
    };
    match (step, value) {
        (Step::Index(index), toml_edit::Value::Array(array)) => {
            let inner = array.get_mut(*index).expect("insert() went the same way");
            edit_value(inner, rest, new);
        }
        (Step::Key(_), toml_edit::Value::InlineTable(table)) => edit_table(table, steps, new),
        (Step::Key(_), value) => {
            let mut table = InlineTable::new();
            if let toml_edit::Value::String(word) = &*value
                && word.value() != OFF
            {
                table.insert("kind", word.value().as_str().into());
            }
            let decor = value.decor().clone();
            *value = toml_edit::Value::InlineTable(table);
            *value.decor_mut() = decor;
            edit_value(value, steps, new);
        }
        (Step::Index(_), _) => unreachable!("insert() went the same way"),
    }
}

fn edit_table(table: &mut dyn TableLike, steps: &[Step], new: &toml_edit::Value) {
    let Some((Step::Key(key), rest)) = steps.split_first() else {
        unreachable!("insert() went the same way");
    };
    if rest.is_empty() {
        match table.get_mut(key).map(|item| item.as_value_mut()) {
            Some(Some(value)) => edit_value(value, rest, new),
            _ => {
                table.insert(key, Item::Value(new.clone()));
            }
        }
        return;
    }
    if table.get(key).is_none_or(Item::is_none) {
        table.insert(key, Item::Value(toml_edit::Value::InlineTable(InlineTable::new())));
    }
    let inner = table.get_mut(key).expect("it was inserted above");
    edit(inner, rest, new);
}

/// Removes a key from the text, if it is there.
pub fn remove(table: &mut dyn TableLike, steps: &[Step]) {
    let [Step::Key(key), rest @ ..] = steps else { return };
    if rest.is_empty() {
        table.remove(key);
        return;
    }
    match (table.get_mut(key), rest) {
        (Some(Item::ArrayOfTables(tables)), [Step::Index(index), rest @ ..]) => {
            if let Some(table) = tables.get_mut(*index) {
                remove(table, rest);
            }
        }
        (Some(Item::Value(toml_edit::Value::Array(array))), [Step::Index(index), rest @ ..]) => {
            let element = array.get_mut(*index).and_then(toml_edit::Value::as_inline_table_mut);
            if let Some(table) = element {
                remove(table, rest);
            }
        }
        (Some(item), rest) => {
            if let Some(table) = item.as_table_like_mut() {
                remove(table, rest);
            }
        }
        (None, _) => {}
    }
}

/// Adds a `[[key]]` to the text.
pub fn push_table(document: &mut DocumentMut, key: &str, node: &Node) {
    let toml_edit::Value::InlineTable(inline) = node.to_toml() else { return };
    let tables = document.entry(key).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    match tables {
        Item::ArrayOfTables(tables) => tables.push(inline.into_table()),
        Item::Value(toml_edit::Value::Array(array)) => array.push(inline),
        // The tree shows that this is no list.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, is_match) in [
            ("ping", "ping", true),
            ("ping", "pings", false),
            ("*", "", true),
            ("*", "a->b", true),
            ("a*", "ab", true),
            ("*->ap", "laptop->ap", true),
            ("*->ap", "laptop->api", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*a", "a", false),
            ("a*b*b", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }
}
