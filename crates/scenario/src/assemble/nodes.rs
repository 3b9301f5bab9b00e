//! Nodes: defaults, counts, names, roles.

use super::{NODES_MAX, is_written};
use crate::Role;
use crate::profile::Profile;
use crate::raw::{RawNode, RawNodeSettings, RawScenario};
use crate::setting::is_of_hosts;
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::one_of;
use lasthop_config::table::{Keys, Table};
use lasthop_config::tree::{Node, Value};
use lasthop_wifi::phy::Standard;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Keys of a `[[node]]` alone that require a radio.
const RADIO_KEYS: [&str; 8] =
    ["position", "ring", "waypoints", "path", "trace", "failed", "bss", "address"];

/// One node of the network.
pub(crate) struct Expanded<'a> {
    pub name: String,
    pub raw: &'a RawNode,
    /// Index of the node within `raw`, and the number of nodes there.
    pub index: usize,
    pub count: usize,
}

impl Expanded<'_> {
    pub fn role(&self) -> Role {
        self.raw.role.value
    }

    pub fn is_wifi(&self) -> bool {
        self.role().is_wifi()
    }

    /// Returns the name of its basic service set, if it has one.
    pub fn bss(&self) -> Option<&str> {
        self.raw.bss.as_ref().map(|at| at.value.0.as_str())
    }

    /// Whether the node has QoS frames; `standard` is the node's.
    pub fn has_qos(&self, standard: Standard) -> bool {
        let qos = self.raw.settings.qos.as_ref();
        qos.map_or(standard.has_block_ack(), |qos| qos.value)
    }

    /// Whether two nodes with a radio are in one basic service set.
    pub fn shares_bss(&self, other: &Expanded<'_>) -> bool {
        self.is_wifi() && other.is_wifi() && self.bss() == other.bss()
    }
}

/// The keys of a node's settings, collected once: a description with schemas takes longer than
/// reading a short scenario.
static NODE_KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let mut keys = Keys::default();
    RawNodeSettings::describe(&mut schemars::SchemaGenerator::default(), &mut keys);
    keys
});

/// Fills every `[[node]]` from `[node_defaults]`. Hosts and relays get only keys that apply to
/// them, and may not have others.
pub(crate) fn inherit_defaults(tree: &mut Node, problems: &mut Problems) {
    let defaults = tree.child("node_defaults").cloned();
    inherit_wires(tree, problems);
    let Value::Table(entries) = &mut tree.value else { return };
    let Some(nodes) = entries.iter_mut().find(|entry| entry.key == "node") else { return };
    let Value::Array(nodes) = &mut nodes.node.value else { return };
    let is_radio = |key: &str| !is_of_hosts(key) && NODE_KEYS.contains(key);
    for (index, node) in nodes.iter_mut().enumerate() {
        let role = node.child("role").and_then(Node::as_str);
        if !matches!(role, Some("host" | "relay")) {
            if role == Some("station") {
                refuse_of_access_points(node, index, problems);
            }
            if let Some(defaults) = &defaults {
                inherit(node, index, defaults, problems);
            }
            continue;
        }
        let role = role.unwrap_or_default().to_owned();
        let label = node.label(index);
        for entry in node.entries().unwrap_or_default() {
            let radio = RADIO_KEYS.contains(&entry.key.as_str());
            if radio || is_radio(&entry.key) {
                let key = format!("node.{label}.{}", entry.key);
                let message = format!("a {role} has no radio, and this key requires one");
                problems.push_unfit(&Place::new(key, entry.key_origin.clone()), message);
            }
            if entry.key == "profile"
                && entry.node.as_str().and_then(Profile::parse).is_some_and(|of| !of.is_of_hosts())
            {
                let key = format!("node.{label}.profile");
                let message = format!("this is a class of radios, and a {role} has none");
                problems.push_unfit(&Place::new(key, entry.key_origin.clone()), message);
            }
        }
        if let Some(host) = defaults.as_ref().map(host_part) {
            inherit(node, index, &host, problems);
        }
    }
}

/// Reports keys at a station that only an access point has. Among defaults they apply to access
/// points.
fn refuse_of_access_points(node: &Node, index: usize, problems: &mut Problems) {
    let key = "power_save_buffer";
    for entry in node.entries().unwrap_or_default().iter().filter(|entry| entry.key == key) {
        let place =
            Place::new(format!("node.{}.{key}", node.label(index)), entry.key_origin.clone());
        problems.push_unfit(
            &place,
            "only an access point holds packets for dozing and absent stations",
        );
    }
}

/// Fills `node` from `defaults`; problems with these values are reported for `[node_defaults]`.
fn inherit(node: &mut Node, index: usize, defaults: &Node, problems: &mut Problems) {
    let label = node.label(index);
    node.merge_defaults(defaults, &mut |path| {
        problems.rename(format!("node.{label}.{path}"), format!("node_defaults.{path}"));
    });
}

/// Fills the missing keys of each direction of a `[[wire]]` from the wire.
fn inherit_wires(tree: &mut Node, problems: &mut Problems) {
    let Value::Table(entries) = &mut tree.value else { return };
    let Some(wires) = entries.iter_mut().find(|entry| entry.key == "wire") else { return };
    let Value::Array(wires) = &mut wires.node.value else { return };
    for (index, wire) in wires.iter_mut().enumerate() {
        let label = wire.label(index);
        let mut both = wire.clone();
        let Value::Table(entries) = &mut both.value else { continue };
        entries.retain(|entry| !["between", "up", "down"].contains(&entry.key.as_str()));
        let Value::Table(entries) = &mut wire.value else { continue };
        for entry in entries.iter_mut().filter(|entry| ["up", "down"].contains(&entry.key.as_str()))
        {
            let key = &entry.key;
            entry.node.merge_defaults(&both, &mut |path| {
                problems
                    .rename(format!("wire.{label}.{key}.{path}"), format!("wire.{label}.{path}"));
            });
        }
    }
}

/// Returns the defaults that apply to a node without a radio.
fn host_part(defaults: &Node) -> Node {
    let entries = defaults.entries().unwrap_or_default();
    let is_host = |key: &str| is_of_hosts(key);
    let entries = entries.iter().filter(|entry| is_host(&entry.key)).cloned().collect();
    Node { value: Value::Table(entries), origin: defaults.origin.clone() }
}

/// Returns one entry for each node, with counts expanded.
pub(crate) fn expand<'a>(raw: &'a [RawNode], problems: &mut Problems) -> Option<Vec<Expanded<'a>>> {
    let mut nodes = Vec::new();
    for node in raw {
        let name = &node.name.value.0;
        let Some(count) = &node.count else {
            nodes.push(Expanded { name: name.clone(), raw: node, index: 0, count: 1 });
            if let Some(ring) = &node.ring {
                problems.push(&ring.place, "a ring needs a count, the number of nodes on it");
            }
            continue;
        };
        let count: usize = count.value.get();
        if let Some(address) = &node.address {
            problems.push(&address.place, "several nodes cannot have one address");
        }
        nodes.extend((0..count).map(|index| Expanded {
            name: format!("{name}{}", index + 1),
            raw: node,
            index,
            count,
        }));
    }
    if nodes.is_empty() {
        let place = Place::new("node", lasthop_config::tree::Origin::Absent);
        problems.push(&place, "there are no nodes; a scenario needs at least one [[node]]");
        return None;
    }
    check_number(&nodes, problems)?;
    let mut seen = BTreeSet::new();
    for node in &nodes {
        if !seen.insert(&node.name) {
            let message = format!("there are two nodes called {:?}", node.name);
            problems.push(&node.raw.name.place, message);
        }
    }
    Some(nodes)
}

/// Adds the nodes of neighbours on the channel.
pub(crate) fn add<'a>(
    nodes: &mut Vec<Expanded<'a>>,
    others: impl Iterator<Item = Expanded<'a>>,
    problems: &mut Problems,
) -> Option<()> {
    nodes.extend(others);
    check_number(nodes, problems)
}

fn check_number(nodes: &[Expanded<'_>], problems: &mut Problems) -> Option<()> {
    if nodes.len() > NODES_MAX {
        let message = format!("expected at most {NODES_MAX} nodes, got {}", nodes.len());
        problems.push(&nodes[NODES_MAX].raw.here, message);
        return None;
    }
    Some(())
}

/// Checks that each basic service set has one access point, if any node is on the air.
pub(crate) fn check_roles(nodes: &[Expanded<'_>], raw: &RawScenario, problems: &mut Problems) {
    let mut access_points: BTreeMap<Option<&str>, &str> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.role() == Role::AccessPoint) {
        match access_points.get(&node.bss()) {
            None => {
                access_points.insert(node.bss(), &node.name);
            }
            Some(first) => {
                let message = format!(
                    "a cell has one access point, and {first:?} is one already; \
                     a neighbour's needs another bss"
                );
                problems.push(&node.raw.role.place, message);
            }
        }
    }
    let mut reported: BTreeSet<Option<&str>> = BTreeSet::new();
    for node in nodes.iter().filter(|node| node.is_wifi()) {
        if access_points.contains_key(&node.bss()) || !reported.insert(node.bss()) {
            continue;
        }
        let role = one_of(&["access-point"]);
        let Some(bss) = &node.raw.bss else {
            let message = if access_points.is_empty() {
                format!("a station needs an access point, and no node has role = {role}")
            } else {
                format!(
                    "a station needs an access point, and no node without bss has role = {role}; \
                     there are bss = {}",
                    names_of(&access_points)
                )
            };
            problems.push(&node.raw.role.place, message);
            continue;
        };
        let known = if access_points.is_empty() {
            String::new()
        } else {
            format!("; the access points are in {}", names_of(&access_points))
        };
        let message = format!(
            "a station needs an access point, and no node with bss = {:?} has role = {role}{known}",
            bss.value.0
        );
        problems.push(&bss.place, message);
    }
    if nodes.iter().all(|node| !node.is_wifi()) && is_written(&raw.channel.here) {
        problems.push(&raw.channel.here, "there is a channel, but no node with a radio");
    }
}

/// Returns the basic service sets of access points, in words.
fn names_of(access_points: &BTreeMap<Option<&str>, &str>) -> String {
    let names = access_points.keys().map(|bss| match bss {
        Some(name) => format!("{name:?}"),
        None => "the one without a name".to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}
