//! A running scenario with changes by a user. Each change equals a `[[change]]` at that instant,
//! with the same checks, so a recorded session is a scenario again. Later changes of the file still
//! apply: they are assembled anew from the changed scenario.

use crate::ScenarioError;
use crate::change::{Evolved, KEYS_MAX, Settings};
use crate::knobs::{self, Knob};
use crate::raw::{RawChange, RawScenario};
use crate::{Scenario, assemble, read_toml, setting};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::shown;
use lasthop_config::tree::{Node, Origin, value};
use lasthop_config::{edit, table};
use lasthop_net::network::Change;
use lasthop_units::{Duration, Instant, Seed};
use std::collections::VecDeque;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table};

/// A scenario, and the changes since its run began.
#[derive(Clone, Debug)]
pub struct Evolving {
    file: String,
    seed: Seed,
    /// The scenario at the beginning.
    scenario: Scenario,
    /// The scenario after the last change.
    evolved: Evolved,
    /// Later changes of the file, in ascending order.
    pending: VecDeque<RawChange>,
    recorded: Vec<Recorded>,
    /// Keys that were set, or will be.
    keys: usize,
}

/// A change by a user.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Instant since the beginning of the run.
    pub at: Duration,
    /// Paths and their values.
    pub set: Vec<(String, toml_edit::Value)>,
}

impl Recorded {
    /// Returns paths, and values as in a scenario file; texts without quotes.
    pub fn texts(&self) -> impl Iterator<Item = (&str, String)> {
        self.set.iter().map(|(path, value)| {
            (&**path, value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        })
    }
}

/// A change of a scenario as written: its instant since the beginning of the run, and paths with
/// their values, texts without quotes.
pub type WrittenChange = (Duration, Vec<(String, String)>);

/// Returns the changes in the scenario `text`, in ascending order; none if the text is not a
/// scenario.
pub fn written_changes(text: &str) -> Vec<WrittenChange> {
    let mut problems = Problems::default();
    let Some((tree, _)) = read_toml(text, &mut problems) else { return Vec::new() };
    let root = Place::new("", Origin::Absent);
    let Some(raw) = table::read::<RawScenario>(&tree, root, &mut problems) else {
        return Vec::new();
    };
    let text = |node: &Node| node.as_str().map_or_else(|| shown(&node.value), str::to_owned);
    let keys = |change: &RawChange| {
        change.set.value.0.iter().map(|(path, node)| (path.clone(), text(node))).collect()
    };
    let mut changes: Vec<WrittenChange> =
        raw.change.iter().map(|change| (change.at.value, keys(change))).collect();
    changes.sort_by_key(|(at, _)| *at);
    changes
}

impl Evolving {
    /// Starts with `scenario` at the beginning of its run under `seed`; `file` is its name in
    /// messages.
    ///
    /// # Errors
    /// If the kept text does not parse to `scenario`.
    pub fn new(file: &str, scenario: &Scenario, seed: Seed) -> Result<Self, ScenarioError> {
        let text = &scenario.source_text;
        let mut problems = Problems::default();
        let read = read_toml(text, &mut problems).and_then(|(tree, _)| {
            let mut whole = tree.clone();
            assemble::inherit_defaults(&mut whole, &mut problems);
            let raw =
                table::read::<RawScenario>(&whole, Place::new("", Origin::Absent), &mut problems)?;
            Some((tree, raw.change))
        });
        let Some((tree, mut changes)) = read.filter(|_| problems.is_empty()) else {
            let error = problems.into_error(file, text, &[]);
            return Err(error.expect("without a scenario there is a problem"));
        };
        changes.sort_by_key(|change| change.at.value);
        let varies = scenario.network.cell.as_ref().is_some_and(|cell| cell.varies());
        Ok(Self {
            file: file.into(),
            seed,
            evolved: Evolved::new(scenario, &tree, varies),
            keys: changes.iter().map(|change| change.set.value.0.len()).sum(),
            pending: changes.into(),
            scenario: scenario.clone(),
            recorded: Vec::new(),
        })
    }

    /// Sets keys (`path=value`) at an instant not before that of the last call. Returns all later
    /// changes of the run in ascending order; they replace the known changes from `at` on.
    ///
    /// # Errors
    /// If a value is wrong, or cannot change during a run; then nothing is set.
    pub fn set(
        &mut self,
        at: Duration,
        sets: &[String],
    ) -> Result<Vec<(Instant, Change)>, ScenarioError> {
        let mut problems = Problems::default();
        let found = self.try_set(at, sets, &mut problems);
        match (problems.into_error(&self.file, &self.scenario.source_text, sets), found) {
            (Some(error), _) => Err(error),
            (None, Some((next, changes))) => {
                *self = next;
                Ok(changes)
            }
            (None, None) => unreachable!("without changes there is a problem"),
        }
    }

    fn try_set(
        &self,
        at: Duration,
        sets: &[String],
        problems: &mut Problems,
    ) -> Option<(Self, Vec<(Instant, Change)>)> {
        let whole = Place::new("", Origin::Absent);
        if self.keys + sets.len() > KEYS_MAX {
            let message = format!("expected at most {KEYS_MAX} keys that a run sets, got more");
            problems.push(&whole, message);
            return None;
        }
        let mut next = self.clone();
        next.catch_up(at);
        let mut settings = Vec::new();
        let mut set = Vec::new();
        for (index, argument) in sets.iter().enumerate() {
            let origin = Origin::Set(index);
            let Some((path, toml)) = edit::argument(argument) else {
                problems.push(&Place::new("", origin), setting::ARGUMENT);
                continue;
            };
            settings.push((path.to_owned(), edit::with_origin(value(&toml, &origin), &origin)));
            set.push((path.to_owned(), toml));
        }
        if sets.is_empty() {
            problems.push(&whole, setting::ARGUMENT);
        }
        if !problems.is_empty() {
            return None;
        }
        let place_of =
            |path: &str, node: &lasthop_config::tree::Node| Place::new(path, node.origin.clone());
        let settings = Settings(settings);
        let found = next.evolved.set(&settings, &whole, &place_of, &self.file, problems)?;
        next.keys += set.len();
        next.recorded.push(Recorded { at, set });
        let start = Instant::ZERO;
        let mut changes: Vec<_> = found.into_iter().map(|change| (start + at, change)).collect();
        // What is to come is held against the scenario as it is then.
        let mut later = next.evolved.clone();
        for change in &next.pending {
            let at = change.at.value;
            let place_of = |path: &str, _: &lasthop_config::tree::Node| {
                Place::new(
                    format!("the change at {at} could not be made then: {path}"),
                    Origin::Absent,
                )
            };
            let settings = &change.set.value;
            let found = later.set(
                settings,
                &place_of("", &self.evolved.tree().clone()),
                &place_of,
                &self.file,
                problems,
            )?;
            changes.extend(found.into_iter().map(|change| (start + at, change)));
        }
        Some((next, self.scenario.drawn(changes, self.seed)))
    }

    /// Applies the file's changes up to `at`, which were checked when it was read.
    fn catch_up(&mut self, at: Duration) {
        while self.pending.front().is_some_and(|change| change.at.value <= at) {
            let Some(change) = self.pending.pop_front() else { return };
            let mut none = Problems::default();
            let place_of = |_: &str, _: &lasthop_config::tree::Node| Place::new("", Origin::Absent);
            let (settings, place) = (&change.set.value, &change.set.place);
            self.evolved.set(settings, place, &place_of, &self.file, &mut none);
        }
    }

    /// Returns the changes so far, in ascending order of instants.
    pub fn recorded(&self) -> &[Recorded] {
        &self.recorded
    }

    /// Returns the knobs at `at`, with their positions.
    pub fn knobs(&self, at: Duration) -> Vec<Knob> {
        let mut now = self.clone();
        now.catch_up(at);
        knobs::list(&now.evolved)
    }

    /// Returns the scenario as a file, with the changes as `[[change]]`; its duration becomes
    /// `duration` if there are changes.
    pub fn source_text(&self, duration: Duration) -> String {
        let text = &self.scenario.source_text;
        if self.recorded.is_empty() {
            return text.clone();
        }
        let mut document: DocumentMut = text.parse().expect("it was read from this text");
        document.insert("duration", toml_edit::value(duration.to_string()));
        for Recorded { at, set } in &self.recorded {
            let mut keys = InlineTable::new();
            for (path, value) in set {
                keys.insert(path, value.clone());
            }
            let (at, keys) = (toml_edit::Value::from(at.to_string()), toml_edit::Value::from(keys));
            let changes =
                document.entry("change").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
            match changes {
                Item::ArrayOfTables(tables) => {
                    let mut table = Table::new();
                    table.insert("at", Item::Value(at));
                    table.insert("set", Item::Value(keys));
                    tables.push(table);
                }
                Item::Value(toml_edit::Value::Array(array)) => push(array, at, keys),
                _ => unreachable!("changes are a list"),
            }
        }
        document.to_string()
    }
}

fn push(array: &mut Array, at: toml_edit::Value, keys: toml_edit::Value) {
    let mut table = InlineTable::new();
    table.insert("at", at);
    table.insert("set", keys);
    array.push(table);
}
