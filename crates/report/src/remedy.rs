//! Remedies as arguments of `--set`. A finding names a part of the network and its change:
//! `node.NAME.KEY=VALUE`, `node_defaults.KEY=VALUE` (every node with Wi-Fi),
//! `wire.FROM->TO.KEY=VALUE` (that direction), `flow.NAME.KEY=VALUE`. Scenarios write a key in
//! several places, and a nearer one wins: a node over `[node_defaults]`, a direction over its
//! wire. So each place is tried, the nearest first, and the first one that the scenario takes
//! and with which the assembled part differs is the argument. A `[[change]]` during the run may
//! set the same key again; the remedy then has another argument for that change. Remedies that
//! change nothing, that a scenario refuses, or that a change undoes all the same, are none.

use crate::finding::Finding;
use lasthop_scenario::{Scenario, parse, written_changes};
use std::collections::BTreeMap;
use std::slice;

/// Largest number of nodes beyond the reach of `[node_defaults]` that get the key themselves: each
/// requires another reading of the scenario.
const OWN_KEYS_MAX: usize = 32;

/// Largest number of changes during a run that get arguments of a remedy: each requires other
/// readings of the scenario.
const CHANGES_MAX: usize = 16;

/// Changes of a node, and those in their place where a scenario has them already.
const INSTEAD: [(&str, &str); 3] = [
    ("scan.channels=1", "scan=off"),
    ("power_save.trigger_interval=20ms", "power_save=off"),
    ("power_save.wake_interval=20ms", "power_save=off"),
];

/// Fast transitions, and those of networks that authenticate by SAE: no remedy gives up WPA3.
const FAST_TRANSITIONS: [&str; 2] = ["roaming.security=ft-wpa2", "roaming.security=ft-wpa3"];

/// Returns the remedy of `finding` as arguments of `--set` that the scenario `text` accepts; empty
/// if it accepts none, or if they change nothing.
pub fn applicable(text: &str, finding: &Finding) -> Vec<String> {
    Remedies::new(text).for_finding(finding)
}

/// The remedies of one scenario; each remedy is searched for once.
#[derive(Debug)]
pub struct Remedies<'a> {
    text: &'a str,
    known: BTreeMap<Vec<String>, Vec<String>>,
}

impl<'a> Remedies<'a> {
    /// Creates the remedies of the scenario `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, known: BTreeMap::new() }
    }

    /// Returns the remedy of `finding` as arguments of `--set`.
    pub fn for_finding(&mut self, finding: &Finding) -> Vec<String> {
        if finding.remedy.is_empty() {
            return Vec::new();
        }
        if let Some(known) = self.known.get(&finding.remedy) {
            return known.clone();
        }
        let sets = self.found(&finding.remedy).unwrap_or_default();
        self.known.insert(finding.remedy.clone(), sets.clone());
        sets
    }

    /// The arguments; `None` if the scenario cannot be read.
    fn found(&self, changes: &[String]) -> Option<Vec<String>> {
        let mut sets = Sets { text: self.text, last: bare(self.text, &[])?, taken: Vec::new() };
        for change in changes {
            let Some(part) = ChangedPart::parse(change) else { continue };
            match part {
                ChangedPart::Nodes { rest } => sets.take_for_all(rest),
                part => sets.take(&part),
            }
        }
        Some(sets.taken)
    }
}

/// The arguments that were taken, and the scenario with them.
struct Sets<'a> {
    text: &'a str,
    last: Scenario,
    taken: Vec<String>,
}

impl Sets<'_> {
    /// Takes the first of the places of `part` at which it changes. A table of the node may exclude
    /// one of the defaults; then both are replaced.
    fn take(&mut self, part: &ChangedPart<'_>) {
        let places = part.places(&self.last);
        let alone = places.iter().map(|set| vec![set.clone()]);
        let both = places.iter().filter_map(|own| match part {
            ChangedPart::Node { rest, .. } => {
                Some(vec![own.clone(), format!("node_defaults.{rest}")])
            }
            _ => None,
        });
        let changes = if self.last.changes.is_empty() { 0 } else { self.changes() };
        let later = (0..changes)
            .flat_map(|index| places.iter().map(move |place| vec![in_change(index, place)]));
        for sets in alone.chain(both).chain(later) {
            if let Some(after) = self.with(&sets)
                && part.differs(&self.last, &after)
                && let Some((sets, after)) = self.held(part, &places, sets, after)
            {
                self.taken.extend(sets);
                self.last = after;
                return;
            }
        }
    }

    /// `sets` with arguments for the changes during the run that would undo them, and the scenario
    /// with all; `None` if a change undoes them all the same.
    fn held(
        &self,
        part: &ChangedPart<'_>,
        places: &[String],
        mut sets: Vec<String>,
        mut after: Scenario,
    ) -> Option<(Vec<String>, Scenario)> {
        let mut undone = part.undone(&self.last, &after);
        if undone == 0 {
            return Some((sets, after));
        }
        for index in 0..self.changes() {
            for place in places {
                let more = [sets.clone(), vec![in_change(index, place)]].concat();
                if let Some(then) = self.with(&more)
                    && part.undone(&self.last, &then) < undone
                {
                    undone = part.undone(&self.last, &then);
                    (sets, after) = (more, then);
                    break;
                }
            }
        }
        (undone == 0).then_some((sets, after))
    }

    /// The number of changes during the run, [`CHANGES_MAX`] at most.
    fn changes(&self) -> usize {
        written_changes(self.text).len().min(CHANGES_MAX)
    }

    /// Takes `rest` for all nodes, and for those that it does not reach.
    fn take_for_all(&mut self, rest: &str) {
        let set = format!("node_defaults.{rest}");
        let before = self.last.clone();
        if let Some(after) = self.with(slice::from_ref(&set))
            && after != before
        {
            self.taken.push(set);
            self.last = after;
        }
        let nodes = before.nodes.iter().filter(|node| node.role.is_wifi() && !node.is_neighbours);
        let names = nodes.map(|node| node.name.as_str());
        let mut left = OWN_KEYS_MAX;
        for name in names {
            let part = ChangedPart::Node { name, rest };
            if left == 0 || part.differs(&before, &self.last) {
                continue;
            }
            left -= 1;
            self.take(&part);
        }
    }

    /// The scenario with more arguments.
    fn with(&self, more: &[String]) -> Option<Scenario> {
        let sets: Vec<String> = self.taken.iter().chain(more).cloned().collect();
        bare(self.text, &sets)
    }
}

/// The argument that sets `KEY=VALUE` in a change during the run.
fn in_change(index: usize, set: &str) -> String {
    format!("change.{index}.set.{set}")
}

/// The part of a scenario that a remedy shall change, and the rest of it: `KEY=VALUE`.
#[derive(Clone, Copy, Debug)]
enum ChangedPart<'a> {
    Node { name: &'a str, rest: &'a str },
    Nodes { rest: &'a str },
    Wire { from: &'a str, to: &'a str, rest: &'a str },
    Flow { name: &'a str, rest: &'a str },
}

impl<'a> ChangedPart<'a> {
    /// The part of a change; names may hold dots, keys of remedies are the ones below.
    fn parse(change: &'a str) -> Option<Self> {
        const KEYS: [&str; 12] = [
            ".queue",
            ".driver_queue",
            ".scan",
            ".absence",
            ".power_save",
            ".roaming",
            ".rts_threshold",
            ".rate_control",
            ".aggregation",
            ".block_ack",
            ".edca",
            ".tcp",
        ];
        if let Some(rest) = change.strip_prefix("node_defaults.") {
            return Some(Self::Nodes { rest });
        }
        let (kind, after) = change.split_once('.')?;
        let path_bytes = after.find('=')?;
        let named = |key: &str| {
            let inside = after.find(&format!("{key}.")).filter(|end| *end < path_bytes);
            inside.or_else(|| after[..path_bytes].strip_suffix(key).map(str::len))
        };
        let end = KEYS.iter().filter_map(|key| named(key)).min();
        let end = end.or_else(|| after[..path_bytes].rfind('.'))?;
        let (name, rest) = (&after[..end], &after[end + 1..]);
        Some(match kind {
            "node" => Self::Node { name, rest },
            "wire" => {
                let (from, to) = name.split_once("->")?;
                Self::Wire { from, to, rest }
            }
            "flow" => Self::Flow { name, rest },
            _ => return None,
        })
    }

    /// The places where a scenario may write it, the nearest first.
    fn places(&self, scenario: &Scenario) -> Vec<String> {
        let (paths, rest) = match *self {
            Self::Nodes { rest } => (vec!["node_defaults".to_owned()], rest),
            Self::Node { name, rest } => {
                let bare = name.trim_end_matches(|it: char| it.is_ascii_digit());
                let names = [name, bare].into_iter().filter(|name| !name.is_empty());
                let nodes = names.map(|name| format!("node.{name}"));
                let [usual, by_sae] = FAST_TRANSITIONS;
                let is_sae = has_sae(scenario, name).unwrap_or(false);
                let rest = if is_sae && rest == usual { by_sae } else { rest };
                (nodes.chain(["node_defaults".to_owned()]).collect(), rest)
            }
            Self::Flow { name, rest } => {
                let ends = name.match_indices('-').map(|(end, _)| end).rev();
                let names = [name].into_iter().chain(ends.map(|end| &name[..end]));
                (names.map(|name| format!("flow.{name}")).collect(), rest)
            }
            Self::Wire { from, to, rest } => {
                let mut paths =
                    vec![format!("wire.{from}-{to}.up"), format!("wire.{to}-{from}.down")];
                for index in 0..scenario.network.wires.len() {
                    paths.extend(["up", "down"].map(|end| format!("wire.{index}.{end}")));
                }
                paths.extend([format!("wire.{from}-{to}"), format!("wire.{to}-{from}")]);
                (paths, rest)
            }
        };
        // A kind may not bear other keys of the table that it is written in.
        let whole =
            rest.split_once(".kind=").map(|(key, kind)| format!("{key}={{kind=\"{kind}\"}}"));
        let instead = INSTEAD.iter().find(|(usual, _)| *usual == rest);
        let rests = [Some(rest.to_owned()), whole, instead.map(|(_, other)| (*other).to_owned())];
        rests
            .iter()
            .flatten()
            .flat_map(|rest| paths.iter().map(move |path| format!("{path}.{rest}")))
            .collect()
    }

    /// Whether the part is another one in `after`, at the beginning or later: the configuration that
    /// its machine is given.
    fn differs(&self, before: &Scenario, after: &Scenario) -> bool {
        self.differs_at_first(before, after)
            || stages(before, after).iter().any(|(was, is)| self.differs_at_first(was, is))
    }

    /// Returns the number of changes during the run that undo the difference of the part between
    /// `before` and `after`.
    fn undone(&self, before: &Scenario, after: &Scenario) -> usize {
        let mut states = stages(before, after).into_iter();
        let Some((_, remedied)) = states.find(|(was, is)| self.differs_at_first(was, is)) else {
            return 0;
        };
        let is_undone = |(was, is): &(Scenario, Scenario)| {
            !self.differs_at_first(was, is) && self.differs_at_first(&remedied, is)
        };
        states.filter(is_undone).count()
    }

    /// Whether the part is another one in `after` at the beginning.
    fn differs_at_first(&self, before: &Scenario, after: &Scenario) -> bool {
        match *self {
            Self::Nodes { .. } => before != after,
            Self::Node { name, .. } => {
                let station = |scenario: &Scenario| {
                    let index = station_of(scenario, name)?;
                    let cell = scenario.network.cell.as_ref()?;
                    let mut devices = cell.devices.iter();
                    let device = devices.find(|device| {
                        device.links.first().is_some_and(|first| first.index() == index)
                    });
                    let links = device.map(|device| (device.links.len(), device.mode));
                    Some((cell.stations.get(index).cloned(), links))
                };
                station(before) != station(after)
            }
            Self::Wire { from, to, .. } => {
                let direction = |scenario: &Scenario| {
                    scenario.network.wires.iter().find_map(|wire| {
                        let name = |end: usize| &scenario.nodes[wire.ends[end].index()].name;
                        match (name(0) == from, name(1) == to, name(0) == to, name(1) == from) {
                            (true, true, ..) => Some(wire.directions[0].clone()),
                            (_, _, true, true) => Some(wire.directions[1].clone()),
                            _ => None,
                        }
                    })
                };
                direction(before) != direction(after)
            }
            Self::Flow { name, .. } => {
                let flow = |scenario: &Scenario| {
                    scenario.flows.iter().find(|flow| flow.name == name).cloned()
                };
                flow(before) != flow(after)
            }
        }
    }
}

/// The index of a node among the stations of the cell, if it has a radio.
fn station_of(scenario: &Scenario, name: &str) -> Option<usize> {
    let node = scenario.nodes.iter().position(|node| node.name == name)?;
    Some(scenario.network.nodes.get(node)?.station?.index())
}

/// Whether a station that roams authenticates by SAE; `None` if it does not roam.
fn has_sae(scenario: &Scenario, name: &str) -> Option<bool> {
    let stations = &scenario.network.cell.as_ref()?.stations;
    let roaming = stations.get(station_of(scenario, name)?)?.roaming.as_ref()?;
    Some(roaming.security.is_sae())
}

/// Both scenarios at the beginning, and after each instant at which one of them changes.
fn stages(before: &Scenario, after: &Scenario) -> Vec<(Scenario, Scenario)> {
    let mut instants: Vec<_> =
        before.changes.iter().chain(&after.changes).map(|(at, _)| *at).collect();
    instants.sort_unstable();
    instants.dedup();
    let later = instants.into_iter().map(|at| (before.by(at), after.by(at)));
    [(before.clone(), after.clone())].into_iter().chain(later).collect()
}

/// Returns the scenario with `sets`, without the record of them.
fn bare(text: &str, sets: &[String]) -> Option<Scenario> {
    let mut scenario = parse("scenario.toml", text, sets).ok()?;
    scenario.set.clear();
    scenario.source_text.clear();
    Some(scenario)
}

#[cfg(test)]
mod tests;
