//! Effects of setting a key, the same for `--set`, `[[change]]`, `lasthop set` and sweeps. A key
//! may affect other places. A link without a `[[link]]` gets one. The ratio, the path loss and the
//! loss of a link replace each other. A key of a whole wire also sets a direction with a separate
//! value. A pattern skips elements that cannot have the key, unless none can.

use crate::set;
use lasthop_config::edit::{self, Step, argument, with_origin};
use lasthop_config::error::{Place, Problems};
use lasthop_config::tree::{Entry, Node, Origin, Value, value};
use std::collections::{BTreeMap, BTreeSet};
use toml_edit::DocumentMut;

/// Keys for the strength of a link, of which it has one.
const LINK_GIVEN: [&str; 3] = ["snr", "path_loss", "loss"];
/// Keys that a link with a fixed loss cannot have.
const LINK_WITHOUT_LOSS: [&str; 2] = ["snr_changes", "fading"];
/// The directions of a wire.
const DIRECTIONS: [&str; 2] = ["up", "down"];

/// Settings that nodes without a radio have, too.
const HOST_KEYS: [&str; 5] = ["profile", "mtu", "buffer_bytes", "host_cost", "receive_offload"];

/// Whether nodes without a radio have this setting, too.
pub(crate) fn is_of_hosts(key: &str) -> bool {
    HOST_KEYS.contains(&key)
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
        match setting.put(index, path, &node, Some(&toml), left_out, &mut edited) {
            Ok(pattern) => named.extend(pattern),
            Err(message) => problems.push(&Place::new(path, origin), message),
        }
    }
    named
}

/// Message about a malformed argument.
pub(crate) const ARGUMENT: &str = "expected path=value, like channel.width=40MHz";

/// A scenario in which keys are set.
pub(crate) struct Edited<'a> {
    pub tree: &'a mut Node,
    /// The text of the scenario, if it is kept.
    pub document: Option<&'a mut DocumentMut>,
}

impl Edited<'_> {
    /// Puts `node` at the end of `steps`; `toml` is its form in the text.
    fn insert(
        &mut self,
        steps: &[Step],
        node: &Node,
        toml: Option<&toml_edit::Value>,
    ) -> Result<(), String> {
        edit::insert(self.tree, steps, node.clone(), &node.origin)?;
        if let Some(document) = &mut self.document {
            let made = toml.is_none().then(|| node.to_toml());
            let toml = toml.or(made.as_ref()).expect("one of them is there");
            edit::edit(document.as_item_mut(), steps, toml);
        }
        Ok(())
    }

    /// Removes a key from the table at the end of `steps`; `None` if it is not there.
    fn remove(&mut self, steps: &[Step], key: &str) -> Option<Entry> {
        let Node { value: Value::Table(entries), .. } = edit::at(self.tree, steps)? else {
            return None;
        };
        let index = entries.iter().position(|entry| entry.key == key)?;
        let entry = entries.remove(index);
        if let Some(document) = &mut self.document {
            let all: Vec<Step> = steps.iter().cloned().chain([Step::Key(key.into())]).collect();
            edit::remove(document.as_table_mut(), &all);
        }
        Some(entry)
    }

    /// Adds the `[[link]]` that a path names by two nodes, if there is none.
    fn ensure_link(&mut self, path: &str, origin: &Origin) {
        let Some(rest) = path.strip_prefix("link.") else { return };
        let links = self.tree.child("link").and_then(Node::elements);
        if links.is_some() && set::resolve(self.tree, path).is_ok() {
            return;
        }
        // Names may hold dots: the longest that fits is taken, as a path is read.
        let mut labels = rest.match_indices('.').map(|(end, _)| &rest[..end]).rev();
        let Some((one, other)) = labels.find_map(|label| self.ends_of(label)) else { return };
        let text = |text: &str| Node { value: Value::String(text.into()), origin: origin.clone() };
        let ends = Value::Array(vec![text(one), text(other)]);
        let link = Node { value: ends, origin: origin.clone() }.under("between");
        if let Some(document) = &mut self.document {
            edit::push_table(document, "link", &link);
        }
        let Value::Table(entries) = &mut self.tree.value else { return };
        match entries.iter_mut().find(|entry| entry.key == "link") {
            Some(Entry { node: Node { value: Value::Array(links), .. }, .. }) => links.push(link),
            Some(_) => {}
            None => {
                let node = Node { value: Value::Array(vec![link]), origin: origin.clone() };
                entries.push(Entry { key: "link".into(), key_origin: origin.clone(), node });
            }
        }
    }

    /// Returns the two nodes of a link with this label: names, or patterns of names.
    fn ends_of<'b>(&self, label: &'b str) -> Option<(&'b str, &'b str)> {
        let nodes = self.tree.child("node").and_then(Node::elements).unwrap_or_default();
        let is_node = |pattern: &str| {
            nodes.iter().filter_map(|node| Some((node, node.child("name")?.as_str()?))).any(
                |(node, name)| match node.child("count").map(|count| &count.value) {
                    Some(Value::Integer(count)) => (1..=(*count).min(1_000))
                        .any(|n| edit::matches(pattern, &format!("{name}{n}"))),
                    _ => edit::matches(pattern, name),
                },
            )
        };
        let mut splits = label.match_indices('-').map(|(at, _)| (&label[..at], &label[at + 1..]));
        splits.find(|(one, other)| is_node(one) && is_node(other))
    }

    /// Returns the reason why a path that begins with `link.` matches nothing in a scenario without
    /// a `[[link]]`.
    fn without_links(&self) -> String {
        let nodes = self.tree.child("node").and_then(Node::elements).unwrap_or_default();
        let of_role = |role: &str| {
            let is_it = |node: &&Node| node.child("role").and_then(Node::as_str) == Some(role);
            nodes.iter().find(is_it).and_then(|node| node.child("name")?.as_str())
        };
        let example = match (of_role("access-point"), of_role("station")) {
            (Some(one), Some(other)) => format!(", such as link.{one}-{other}.snr"),
            _ => String::new(),
        };
        format!("there is no [[link]]; a link is called by the two nodes at its ends{example}")
    }
}

/// The state that one key leaves to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    /// Entries of links that a loss replaced, by the place of the link.
    replaced: BTreeMap<String, Vec<Entry>>,
}

/// The elements that the pattern of a path named.
pub(crate) struct Named {
    /// The number of the path.
    index: usize,
    origin: Origin,
    /// Name as in messages, such as `node.laptop`.
    elements: Vec<String>,
}

/// Elements that cannot have the key of a pattern, each with the number of the path.
#[derive(Default)]
pub(crate) struct LeftOut(BTreeSet<(usize, String)>);

impl LeftOut {
    /// Adds elements that cannot have the key, if others can; returns whether there are new ones.
    pub fn add(&mut self, named: &[Named], problems: &Problems) -> bool {
        let mut grew = false;
        for Named { index, origin, elements } in named {
            let unfit = |element: &&String| problems.is_unfit(element, origin);
            let unfit: Vec<&String> = elements.iter().filter(unfit).collect();
            if unfit.len() < elements.len() {
                grew |= !unfit.is_empty();
                self.0.extend(unfit.into_iter().map(|element| (*index, element.clone())));
            }
        }
        grew
    }
}

impl Setting {
    /// Sets the key at `path`, the argument with this `index`, to `node`; in the text to `toml`, if
    /// given. Returns the elements that a pattern named.
    pub fn put(
        &mut self,
        index: usize,
        path: &str,
        node: &Node,
        toml: Option<&toml_edit::Value>,
        left_out: &LeftOut,
        edited: &mut Edited<'_>,
    ) -> Result<Option<Named>, String> {
        edited.ensure_link(path, &node.origin);
        if path.starts_with("link.") && edited.tree.child("link").is_none() {
            return Err(edited.without_links());
        }
        let mut places = set::resolve(edited.tree, path)?;
        let mut named = None;
        if path.contains('*') && places.len() > 1 {
            let is_left_out = |steps: &Vec<Step>| {
                let element = element_of(edited.tree, steps);
                element.is_some_and(|element| left_out.0.contains(&(index, element)))
            };
            places.retain(|steps| !is_left_out(steps));
            let elements = places.iter().filter_map(|steps| element_of(edited.tree, steps));
            let elements = elements.collect();
            named = Some(Named { index, origin: node.origin.clone(), elements });
        }
        for steps in &places {
            if let Some(message) = taken_by_none(edited.tree, steps) {
                return Err(message);
            }
            self.make_room(steps, node, edited)?;
            edited.insert(steps, node, toml)?;
            for own in own_of_directions(edited.tree, steps) {
                edited.insert(&own, node, toml)?;
            }
        }
        Ok(named)
    }

    /// Removes the keys of a link that a key replaces. The loss "off" restores them.
    fn make_room(
        &mut self,
        steps: &[Step],
        node: &Node,
        edited: &mut Edited<'_>,
    ) -> Result<(), String> {
        let [link @ .., Step::Key(key)] = steps else { return Ok(()) };
        let [Step::Key(list), Step::Index(_)] = link else { return Ok(()) };
        if list != "link" || !LINK_GIVEN.contains(&key.as_str()) {
            return Ok(());
        }
        let place = format!("{link:?}");
        if key != "loss" {
            for other in LINK_GIVEN.into_iter().filter(|other| other != key) {
                edited.remove(link, other);
            }
            self.replaced.remove(&place);
        } else if node.as_str() == Some("off") {
            for Entry { key, node, .. } in self.replaced.remove(&place).unwrap_or_default() {
                let steps: Vec<Step> = link.iter().cloned().chain([Step::Key(key)]).collect();
                edited.insert(&steps, &node, None)?;
            }
        } else {
            let others = LINK_GIVEN.into_iter().filter(|other| *other != "loss");
            let others = others.chain(LINK_WITHOUT_LOSS);
            let others: Vec<Entry> =
                others.filter_map(|other| edited.remove(link, other)).collect();
            if !others.is_empty() {
                self.replaced.insert(place, others);
            }
        }
        Ok(())
    }
}

/// Returns the element of a list that `steps` lead into, as in messages.
fn element_of(tree: &Node, steps: &[Step]) -> Option<String> {
    let [Step::Key(list), Step::Index(index), ..] = steps else { return None };
    let element = tree.child(list)?.elements()?.get(*index)?;
    Some(format!("{list}.{}", element.label(*index)))
}

/// Returns the reason why a default has no effect, if all possible nodes have a separate value.
fn taken_by_none(tree: &Node, steps: &[Step]) -> Option<String> {
    let [Step::Key(table), Step::Key(key), rest @ ..] = steps else { return None };
    if table != "node_defaults" {
        return None;
    }
    let can_take = |node: &&Node| {
        let role = node.child("role").and_then(Node::as_str);
        !matches!(role, Some("host" | "relay")) || is_of_hosts(key)
    };
    let has_own = |node: &Node| {
        let mut keys = rest.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key),
            Step::Index(_) => None,
        });
        node.child(key).is_some_and(|own| {
            let own = own.clone().with_kind();
            keys.try_fold(&own, |node, key| node.child(key)).is_some()
        })
    };
    let nodes = tree.child("node").and_then(Node::elements).unwrap_or_default();
    let mut takers = nodes.iter().filter(can_take).peekable();
    let is_none = takers.peek().is_some() && takers.all(has_own);
    is_none
        .then(|| format!("every node has its own {key}, so this has no effect; set node.*.{key}"))
}

/// Returns the steps to a key in the directions of a wire with a separate value; `steps` set it for
/// the whole wire.
fn own_of_directions(tree: &Node, steps: &[Step]) -> Vec<Vec<Step>> {
    let [Step::Key(list), Step::Index(index), Step::Key(key), rest @ ..] = steps else {
        return Vec::new();
    };
    if list != "wire" || key == "between" || DIRECTIONS.contains(&key.as_str()) {
        return Vec::new();
    }
    let wire = tree.child(list).and_then(Node::elements).and_then(|wires| wires.get(*index));
    let has_own =
        |direction: &&str| wire.and_then(|wire| wire.child(direction)?.child(key)).is_some();
    let of_direction = |direction: &str| {
        let key = Step::Key(key.clone());
        [steps[0].clone(), steps[1].clone(), Step::Key(direction.into()), key]
            .into_iter()
            .chain(rest.iter().cloned())
            .collect()
    };
    DIRECTIONS.iter().filter(|direction| has_own(direction)).map(|it| of_direction(it)).collect()
}
