//! The request of a sweep, as in `sweep.json`, and its comparison with that of a folder.

use crate::plan::Plan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The request, as in `sweep.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Version of lasthop that makes the runs.
    pub version: String,
    /// The user's name of the scenario file.
    pub file: String,
    /// The scenario without varied keys, as TOML.
    pub scenario: String,
    /// Other files of the scenario, with the SHA-256 of their content.
    pub attached: BTreeMap<String, String>,
    /// The varied keys, and their columns in the tables.
    pub keys: Vec<AskedKey>,
    /// Whether values are taken together instead of every combination.
    pub zip: bool,
    /// Runs of each combination.
    pub runs: u32,
    /// Number of combinations.
    pub combinations: u64,
    /// A command that makes the same sweep.
    pub command: String,
}

/// A varied key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AskedKey {
    /// The key in the form of `--set`.
    pub key: String,
    /// Column of the key in the tables.
    pub column: String,
    /// Values of the key, as they were written.
    pub values: Vec<String>,
}

impl Asked {
    pub(crate) fn from_plan(plan: &Plan, series: bool) -> Self {
        let columns = plan.columns();
        let keys = plan.axes().iter().zip(columns).map(|(axis, (column, _))| AskedKey {
            key: axis.path.clone(),
            column: column.name,
            values: axis.values.clone(),
        });
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            file: plan.file().to_owned(),
            scenario: plan.base_text().to_owned(),
            attached: plan.attached().collect(),
            keys: keys.collect(),
            zip: plan.zip(),
            runs: plan.runs_each(),
            combinations: plan.combinations() as u64,
            command: command(plan, series),
        }
    }

    /// Returns the difference that makes results of another sweep incomparable with these.
    pub(crate) fn difference(&self, before: &Self) -> Option<String> {
        if before.version != self.version {
            let (was, is) = (&before.version, &self.version);
            return Some(format!("it was made by version {was}, and this is version {is}"));
        }
        if before.scenario != self.scenario {
            let number = (1..).zip(before.scenario.lines().zip(self.scenario.lines()));
            let mut differing = number.filter(|(_, (was, is))| was != is);
            return Some(match differing.next() {
                Some((line, (was, is))) => {
                    format!("line {line} of the scenario was {was:?} there, and is {is:?} here")
                }
                None => format!(
                    "the scenario has {} lines there, and {} here",
                    before.scenario.lines().count(),
                    self.scenario.lines().count()
                ),
            });
        }
        if let Some((path, _)) = self
            .attached
            .iter()
            .find(|&(path, digest)| before.attached.get(path).is_none_or(|before| before != digest))
        {
            return Some(format!("{path} has other contents"));
        }
        let keys = |asked: &Self| {
            let keys: Vec<&str> = asked.keys.iter().map(|key| key.key.as_str()).collect();
            keys.join(", ")
        };
        let (was, is) = (keys(before), keys(self));
        (was != is).then(|| format!("it varies {was}, and this one {is}"))
    }
}

/// Returns a command that makes the sweep, whatever the scenario file says under `[sweep]`.
fn command(plan: &Plan, series: bool) -> String {
    let mut words = vec!["lasthop".into(), "sweep".into(), quoted(plan.file())];
    for set in plan.sets() {
        words.extend(["--set".into(), quoted(set)]);
    }
    for axis in plan.axes() {
        words
            .extend(["--vary".into(), quoted(&format!("{}={}", axis.path, axis.values.join(",")))]);
    }
    if plan.zip() {
        words.push("--zip".into());
    }
    if series {
        words.push("--series".into());
    }
    words.extend(["--runs".into(), plan.runs_each().to_string()]);
    words.join(" ")
}

/// Returns a word in the form of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
