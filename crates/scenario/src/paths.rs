//! Completions of half-written paths of `--set`, for shells. Keys come from the declarations in
//! `raw`, elements of arrays from the names in the scenario.

use crate::raw;
use crate::reference::without_links;
use crate::set;
use lasthop_config::table::Keys;
use lasthop_config::tree::{Node, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// All tables by name. Describing them costs more than a completion, so they are described
/// once a process.
static TABLES: LazyLock<BTreeMap<String, Keys>> =
    LazyLock::new(|| raw::all().into_iter().map(|(name, _, keys)| (name, keys)).collect());

/// A completed path, or a path and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The whole text from the beginning. Tables end in `.`, keys in `=`.
    pub text: String,
    /// Meaning of the key, in one or more sentences; empty for names and values.
    pub docs: String,
}

/// Returns completions by one step of `written`, the beginning of `path=value`, in the scenario
/// `text`, in the order of the declarations. An invalid or empty scenario has no names, so `*`
/// stands for all of them.
pub fn complete(text: &str, written: &str) -> Vec<Completion> {
    let tree = Node::parse(text).ok();
    let (path, value) = match written.split_once('=') {
        Some((path, value)) => (path, Some(value)),
        None => (written, None),
    };
    // What stands before the part that is being written, and that part.
    let mut table = "Scenario";
    let mut nodes: Vec<&Node> = tree.iter().collect();
    let mut done = String::new();
    let mut rest = path;
    loop {
        let keys = &TABLES[table];
        let Some((name, after)) = rest.split_once('.') else { break };
        let Some(key) = keys.0.iter().find(|key| key.name == name) else { return Vec::new() };
        let Some(inner) = key.table.as_deref().filter(|inner| TABLES.contains_key(*inner)) else {
            return Vec::new();
        };
        nodes = nodes.into_iter().filter_map(|node| node.child(name)).collect();
        table = inner;
        done.push_str(name);
        done.push('.');
        rest = after;
        if key.allowed != "tables" {
            continue;
        }
        let elements: Vec<(String, &Node)> = nodes
            .iter()
            .filter_map(|node| node.elements())
            .flat_map(|elements| elements.iter().enumerate())
            .map(|(index, element)| (element.label(index), element))
            .collect();
        let list = name;
        let is_it = |name: &str, label: &str, element: &Node| {
            set::is_called(name, label, element)
                || set::directions_called(Some(list), name, element).next().is_some()
        };
        // Names may hold dots: the longest that fits is taken, as a path is read.
        let ends = rest.match_indices('.').map(|(end, _)| end).collect::<Vec<_>>();
        let named = ends.into_iter().rev().find(|&end| {
            let name = &rest[..end];
            name == "*" || elements.iter().any(|(label, element)| is_it(name, label, element))
        });
        let Some(end) = named else {
            let all = [("*".to_owned(), String::new())].into_iter();
            let begins = |text: &str| text.starts_with(rest);
            let labels = elements.into_iter().map(|(label, element)| {
                let turned = element.ends().map(|[one, other]| format!("{other}-{one}"));
                let turned = turned.filter(|turned| !begins(&label) && begins(turned));
                (turned.unwrap_or(label), String::new())
            });
            return fitting(
                &done,
                rest,
                labels.chain(all).map(|(label, docs)| (label + ".", docs)),
            );
        };
        let name = &rest[..end];
        nodes = elements
            .iter()
            .filter(|(label, element)| is_it(name, label, element))
            .map(|(_, element)| *element)
            .collect();
        done.push_str(&rest[..=end]);
        rest = &rest[end + 1..];
    }
    let keys = &TABLES[table];
    let Some(value) = value else {
        let text = |key: &lasthop_config::table::Key| {
            let is_table = key.table.is_some();
            (format!("{}{}", key.name, if is_table { '.' } else { '=' }), key.docs.clone())
        };
        return fitting(&done, rest, keys.0.iter().map(text));
    };
    let Some(key) = keys.0.iter().find(|key| key.name == rest) else { return Vec::new() };
    // A table may be written as its kind.
    let kind = key
        .table
        .as_deref()
        .and_then(|inner| TABLES.get(inner)?.0.iter().find(|key| key.name == "kind"));
    let allowed = words(&kind.unwrap_or(key).allowed);
    let now = nodes.iter().filter_map(|node| node.child(rest)).filter_map(shown);
    let values = allowed.into_iter().chain(now).map(|word| (word, String::new()));
    fitting(&format!("{done}{rest}="), value, values)
}

/// Returns the allowed words, if the sentence lists them.
fn words(allowed: &str) -> Vec<String> {
    if allowed.contains("true or false") {
        return vec!["true".into(), "false".into()];
    }
    // In `a time like "10ms" or "off"` only what follows the `or` is a word of its own.
    let listed = match allowed.rsplit_once(" like ") {
        Some((_, rest)) => rest.split_once(" or ").map_or("", |(_, rest)| rest),
        None => allowed,
    };
    listed.split('"').skip(1).step_by(2).map(Into::into).collect()
}

/// Returns a value of the scenario, as written behind `=`.
fn shown(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(is) => Some(is.to_string()),
        _ => None,
    }
}

/// Returns the candidates that begin with `written`, behind `done`, each once.
fn fitting(
    done: &str,
    written: &str,
    all: impl Iterator<Item = (String, String)>,
) -> Vec<Completion> {
    let mut found: Vec<Completion> = Vec::new();
    for (text, docs) in all.filter(|(text, _)| text.starts_with(written)) {
        let text = format!("{done}{text}");
        if !found.iter().any(|completion| completion.text == text) {
            found.push(Completion { text, docs: without_links(&docs) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "phone.old"
role = "station"
[node.queue]
kind = "codel"
packets = 70
[[wire]]
between = ["server", "ap"]
"#;

    fn texts(written: &str) -> Vec<String> {
        complete(TEXT, written).into_iter().map(|completion| completion.text).collect()
    }

    #[test]
    fn every_step_has_what_may_follow() {
        assert_eq!(texts("cha"), ["channel.", "change."]);
        assert_eq!(texts("channel.wid"), ["channel.width="]);
        let widths = ["20MHz", "40MHz", "80MHz", "160MHz", "320MHz"];
        let widths = widths.map(|w| format!("channel.width={w}"));
        assert_eq!(texts("channel.width="), widths);
        assert_eq!(texts("node."), ["node.ap.", "node.phone.old.", "node.*."]);
        assert_eq!(texts("node.ph"), ["node.phone.old."]);
        assert_eq!(texts("node.phone.old.que"), ["node.phone.old.queue."]);
        assert_eq!(texts("wire.server-ap.del"), ["wire.server-ap.delay="]);
        assert_eq!(texts("node.*.queue.kind=f"), ["node.*.queue.kind=fq-codel"]);
        assert_eq!(texts("node.ap.queue=f"), ["node.ap.queue=fq-codel"]);
        assert_eq!(texts("node.phone.old.queue.packets="), ["node.phone.old.queue.packets=70"]);
        assert_eq!(texts("node.ap.qos="), ["node.ap.qos=true", "node.ap.qos=false"]);
        assert_eq!(texts("node.ap.msdu_lifetime="), ["node.ap.msdu_lifetime=off"]);
    }

    #[test]
    fn what_cannot_be_has_no_completion() {
        for wrong in
            ["nothing", "channel.nothing.", "duration.x", "node.nobody.queue.", "x=", "..", "="]
        {
            assert!(texts(wrong).is_empty(), "{wrong}");
        }
        assert_eq!(complete("not [ toml", "node.").len(), 1);
    }

    /// Completion reaches every key of the reference step by step.
    #[test]
    fn every_key_of_the_reference_is_reached() {
        let mut open = vec![String::new()];
        let mut found = std::collections::BTreeSet::new();
        while let Some(written) = open.pop() {
            for Completion { text, .. } in complete("", &written) {
                if text.ends_with('.') {
                    open.push(text)
                } else {
                    let path = text.trim_end_matches('=');
                    found.insert(path.rsplit('.').next().unwrap_or(path).to_owned());
                }
            }
        }
        for table in crate::reference::scenario() {
            for key in table.keys {
                let is_table = key.allowed == "tables" || key.allowed.contains("a table");
                assert!(is_table || found.contains(key.name), "{:?} {}", table.places, key.name);
            }
        }
    }
}
