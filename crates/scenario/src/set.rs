//! `--set path=value`: changes to a scenario before it is typed.
//!
//! Paths are those of error messages: `channel.width`, `node.laptop.queue.packets`,
//! `flow.up.start`, `wire.server-ap.delay`, `run.0.command`. Elements of an array are named by name
//! (a `*` stands for any characters), by their ends in either order, or by index; a direction of a
//! wire by its ends, `wire.server->ap.rate`. A value is TOML if it can be read as TOML, else text,
//! so that `40MHz` needs no quotes. Both the tree and the kept text are changed, at the same place
//! ([`crate::setting`]).

use lasthop_config::did_you_mean;
use lasthop_config::edit::{Step, at, edit, matches};
use lasthop_config::tree::{Node, Value};
use toml_edit::DocumentMut;

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
