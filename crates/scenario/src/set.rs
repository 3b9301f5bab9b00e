//! `--set path=value`: changes to a scenario before it is typed.
//!
//! Paths are those of error messages: `channel.width`, `node.laptop.queue.packets`,
//! `flow.up.start`, `wire.server-ap.delay`, `run.0.command`. Elements of an array are named by name
//! (a `*` stands for any characters), by their ends in either order, or by index; a direction of a
//! wire by its ends, `wire.server->ap.rate`. A value is TOML if it can be read as TOML, else text,
//! so that `40MHz` needs no quotes. Both the tree and the kept text are changed, at the same place
//! ([`crate::setting`]).

use crate::error::{Place, Problems};
use crate::scalar::did_you_mean;
use crate::setting::{Edited, LeftOut, Named, Setting};
use crate::tree::{Entry, Node, OFF, Origin, Value, value};
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

/// One step from a table or array to an element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// Applies the arguments in their order to `tree` and to `document`, its text, except at skipped
/// elements. Returns the elements that patterns named.
pub(crate) fn apply(
    sets: &[String],
    left_out: &LeftOut,
    tree: &mut Node,
    document: &mut DocumentMut,
    problems: &mut Problems,
) -> Vec<Named> {
    let mut setting = Setting::default();
    let mut named = Vec::new();
    for (index, set) in sets.iter().enumerate() {
        let origin = Origin::Set(index);
        let Some((path, toml)) = argument(set) else {
            problems.push(&Place::new("", origin), ARGUMENT);
            continue;
        };
        let node = with_origin(value(&toml, &origin), &origin);
        let mut edited = Edited { tree, document: Some(document) };
        match setting.put((index, path), (&node, Some(&toml)), left_out, &mut edited) {
            Ok(pattern) => named.extend(pattern),
            Err(message) => problems.push(&Place::new(path, origin), message),
        }
    }
    named
}

/// Message about a malformed argument.
pub(crate) const ARGUMENT: &str = "expected path=value, like channel.width=40MHz";

/// Returns the path and the value of an argument; `None` if it is malformed.
pub(crate) fn argument(set: &str) -> Option<(&str, toml_edit::Value)> {
    let (path, text) = set.split_once('=')?;
    let (path, text) = (path.trim(), text.trim());
    let mut toml = text.parse().unwrap_or_else(|_| toml_edit::Value::from(text));
    toml.decor_mut().clear();
    Some((path, toml))
}

/// Replaces every text at `path` for which `change` returns a new one, in `tree` and in `document`.
/// The origin stays.
pub(crate) fn change(
    path: &str,
    tree: &mut Node,
    document: &mut DocumentMut,
    change: &dyn Fn(&Value) -> Option<String>,
) {
    // Without a flow `flow.*` is an error: there is nothing to change.
    for steps in resolve(tree, path).unwrap_or_default() {
        let Some(node) = at(tree, &steps) else { continue };
        let Some(text) = change(&node.value) else { continue };
        edit(document.as_item_mut(), &steps, &toml_edit::Value::from(text.as_str()));
        node.value = Value::String(text);
    }
}

/// Returns the value at the end of `steps`.
pub(crate) fn at<'a>(tree: &'a mut Node, steps: &[Step]) -> Option<&'a mut Node> {
    steps.iter().try_fold(tree, |node, step| match (step, &mut node.value) {
        (Step::Index(index), Value::Array(elements)) => elements.get_mut(*index),
        (Step::Key(key), Value::Table(entries)) => {
            entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
        }
        _ => None,
    })
}

/// Returns the steps to every place that `path` names.
pub(crate) fn resolve(tree: &Node, path: &str) -> Result<Vec<Vec<Step>>, String> {
    let mut places: Vec<(Vec<Step>, Option<&Node>)> = vec![(Vec::new(), Some(tree))];
    let mut rest = Some(path);
    while let Some(text) = rest {
        let mut next = Vec::new();
        let mut taken = None;
        for (steps, node) in places {
            let (found, length) = match node.map(|node| &node.value) {
                Some(Value::Array(elements)) => {
                    let list = steps.last().and_then(|step| match step {
                        Step::Key(key) => Some(key.as_str()),
                        Step::Index(_) => None,
                    });
                    elements_named(list, elements, text)?
                }
                _ => {
                    let length = text.find('.').unwrap_or(text.len());
                    if length == 0 {
                        return Err("a path has no empty parts".into());
                    }
                    (vec![vec![Step::Key(text[..length].into())]], length)
                }
            };
            // Arrays in parallel places have the same kind of elements, so that
            // a name takes the same length everywhere.
            taken = Some(length);
            for found in found {
                let inner = node.and_then(|node| {
                    found.iter().try_fold(node, |node, step| match (step, &node.value) {
                        (Step::Index(index), Value::Array(elements)) => elements.get(*index),
                        (Step::Key(key), _) => node.child(key),
                        (Step::Index(_), _) => None,
                    })
                });
                let steps = steps.iter().cloned().chain(found).collect();
                next.push((steps, inner));
            }
        }
        places = next;
        rest = text[taken.unwrap_or(text.len())..].strip_prefix('.');
    }
    Ok(places.into_iter().map(|(steps, _)| steps).collect())
}

/// Whether an element of `list` is called `name`, which may be a pattern: by its label, or by
/// its ends in the other order.
pub(crate) fn is_called(name: &str, label: &str, element: &Node) -> bool {
    let turned = || element.ends().map(|[one, other]| format!("{other}-{one}"));
    matches(name, label) || turned().is_some_and(|label| matches(name, &label))
}

/// Returns the directions of an element of the list `list` that are called `name`, such as
/// `server->ap`.
pub(crate) fn directions_called(
    list: Option<&str>,
    name: &str,
    element: &Node,
) -> impl Iterator<Item = &'static str> {
    let ends = element.ends().filter(|_| list == Some("wire") && name.contains("->"));
    let directions = ends.map(|[one, other]| [("up", one, other), ("down", other, one)]);
    let is_it = move |(_, from, to): &(_, &str, &str)| matches(name, &format!("{from}->{to}"));
    directions.into_iter().flatten().filter(is_it).map(|(key, ..)| key)
}

/// Returns the elements with whose name `text` begins, as steps to them, and the name's length.
/// Names may contain dots, so the longest match counts; a label comes before one with its ends in
/// the other order.
fn elements_named(
    list: Option<&str>,
    elements: &[Node],
    text: &str,
) -> Result<(Vec<Vec<Step>>, usize), String> {
    let ends = text.match_indices('.').map(|(end, _)| end).chain([text.len()]);
    let labels: Vec<String> =
        elements.iter().enumerate().map(|(index, element)| element.label(index)).collect();
    for end in ends.collect::<Vec<_>>().into_iter().rev() {
        let name = &text[..end];
        let is_pattern = name.contains('*');
        let is_label = |index: &usize| !is_pattern && labels[*index] == name;
        let mut indices: Vec<usize> = (0..elements.len()).filter(is_label).collect();
        if indices.is_empty() {
            let is_it = |&it: &usize| is_called(name, &labels[it], &elements[it]);
            indices.extend((0..elements.len()).filter(is_it));
        }
        let mut named: Vec<Vec<Step>> =
            indices.into_iter().map(|index| vec![Step::Index(index)]).collect();
        for (index, element) in elements.iter().enumerate() {
            for direction in directions_called(list, name, element) {
                named.push(vec![Step::Index(index), Step::Key(direction.into())]);
            }
        }
        if named.len() > 1 && !is_pattern {
            return Err(format!("{name:?} names {} of them; use an index", named.len()));
        }
        if !named.is_empty() {
            return Ok((named, end));
        }
    }
    let end = text.find('.').unwrap_or(text.len());
    let name = &text[..end];
    match name.parse::<usize>() {
        Ok(index) if index < elements.len() => return Ok((vec![vec![Step::Index(index)]], end)),
        _ => {}
    }
    let hint = did_you_mean(name, labels.iter().map(String::as_str))
        .unwrap_or_else(|| format!("there are: {}", labels.join(", ")));
    Err(format!("there is no {name:?}; {hint}"))
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
pub(crate) fn with_origin(mut node: Node, origin: &Origin) -> Node {
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
pub(crate) fn insert(
    tree: &mut Node,
    steps: &[Step],
    new: Node,
    origin: &Origin,
) -> Result<(), String> {
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
pub(crate) fn edit(item: &mut Item, steps: &[Step], new: &toml_edit::Value) {
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
pub(crate) fn remove(table: &mut dyn TableLike, steps: &[Step]) {
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
pub(crate) fn push_table(document: &mut DocumentMut, key: &str, node: &Node) {
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
