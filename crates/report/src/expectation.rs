//! Expected values of a run, such as `flow.ping.rtt_ms.p95 < 100`, and their check.
//!
//! An expectation is a quantity of the document, a comparison and a number in the quantity's
//! unit. Quantities of flows, programs' flows, nodes, links and wires have their names in the
//! document (`flow.ping.rtt_ms.p95`, `link.laptop->ap.mpdu_error_rate`) or the names of table
//! columns (`flow.ping.rtt_p95_ms`). `*` in a name matches any characters, and every match must meet
//! the expectation. Any other path is a number of the document itself
//! (`emulation.lateness_us.p99`). A missing value does not meet the expectation.

use lasthop_scenario::{did_you_mean, matches};
use lasthop_trace::{ColumnKind, DocumentColumn, DocumentSchema, RunDocument};
use serde_json::Value;
use std::fmt;

/// Largest number of quantities that a message lists.
const LISTED_MAX: usize = 12;

/// An expected value of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    text: String,
    /// Part of the document and a pattern of names; `None` for the document itself.
    of: Option<(Part, String)>,
    path: Vec<String>,
    comparison: Comparison,
    bound: f64,
}

/// A part of a document with entries by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Flows of the scenario by name.
    Flow,
    /// Flows of real programs, each direction, such as `tcp laptop:39394 -> server:8000`.
    Program,
    /// Nodes with Wi-Fi by name.
    Node,
    /// Directions of Wi-Fi links, as `sender->receiver`.
    Link,
    /// Directions of wires, as `from->to`.
    Wire,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// The error for a text that is no expectation; the message lists the allowed forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoExpectation(String);

/// The result of an expectation for one run and one entry of its document.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Index of the run among the given runs.
    pub run: usize,
    /// Name of the entry, such as that of a flow. The pattern of the expectation if no entry
    /// matches; empty for the document itself.
    pub name: String,
    /// Value of the entry; `None` if the run has none.
    pub value: Option<f64>,
    /// Whether the value meets the expectation.
    pub is_met: bool,
}

impl Part {
    const ALL: [Self; 5] = [Self::Flow, Self::Program, Self::Node, Self::Link, Self::Wire];

    const fn word(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Program => "program",
            Self::Node => "node",
            Self::Link => "link",
            Self::Wire => "wire",
        }
    }

    /// Returns the key of the part in the document.
    const fn key(self) -> &'static str {
        match self {
            Self::Flow => "flows",
            Self::Program => "programs",
            Self::Node => "nodes",
            Self::Link => "links",
            Self::Wire => "wires",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for NoExpectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoExpectation {}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Comparison {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
        }
    }
}

impl Expectation {
    /// Parses an expectation, such as `flow.ping.rtt_ms.p95 < 100`.
    ///
    /// # Errors
    /// If there is no comparison, no number behind it, or no such quantity.
    pub fn parse(text: &str) -> Result<Self, NoExpectation> {
        let wrong = |why: String| NoExpectation(why);
        let form = "expected QUANTITY < NUMBER (or <=, >, >=), such as flow.ping.rtt_ms.p95 < 100";
        // Links have an arrow in their names: the last one compares.
        let at = text.rfind(['<', '>']).ok_or_else(|| wrong(form.into()))?;
        let (quantity, rest) = (text[..at].trim(), &text[at + 1..]);
        let (is_equal_too, rest) = match rest.strip_prefix('=') {
            Some(rest) => (true, rest.trim()),
            None => (false, rest.trim()),
        };
        let comparison = match (text.as_bytes()[at], is_equal_too) {
            (b'<', false) => Comparison::Below,
            (b'<', true) => Comparison::AtMost,
            (_, false) => Comparison::Above,
            (_, true) => Comparison::AtLeast,
        };
        let bound =
            rest.parse::<f64>().ok().filter(|bound| bound.is_finite()).ok_or_else(|| {
                wrong(format!(
                    "{form}: {rest:?} is no number (it has no unit; that of the quantity holds)"
                ))
            })?;
        let schema = DocumentSchema::of_a_run();
        let part = Part::ALL
            .into_iter()
            .find_map(|part| Some((part, quantity.strip_prefix(part.word())?.strip_prefix('.')?)));
        let (of, path) = match part {
            Some((part, rest)) => {
                let columns = numbers(schema.columns_at(&[part.key()]));
                let (name, path) = split(rest, &columns).ok_or_else(|| {
                    let asked = rest.split_once('.').map_or("", |(_, asked)| asked);
                    wrong(unknown(&format!("a {part}"), asked, &columns))
                })?;
                (Some((part, name.to_owned())), path)
            }
            None => {
                let columns = numbers(schema.columns());
                let column = columns.iter().find(|column| is_called(column, quantity));
                let column = column.ok_or_else(|| {
                    wrong(format!(
                        "{} (a flow's is flow.NAME.QUANTITY, and so for program, node, link and wire)",
                        unknown("a run", quantity, &columns)
                    ))
                })?;
                (None, column.path.clone())
            }
        };
        Ok(Self { text: text.trim().to_owned(), of, path, comparison, bound })
    }

    /// Returns the part of the document and the name of the entry, in which `*` matches any
    /// characters; `None` for a number of the document itself.
    pub fn place(&self) -> Option<(Part, &str)> {
        self.of.as_ref().map(|(part, name)| (*part, name.as_str()))
    }

    /// Whether the pattern matches `name`.
    pub fn names(&self, name: &str) -> bool {
        self.of.as_ref().is_some_and(|(_, pattern)| matches(pattern, name))
    }

    /// Checks each of `runs`; returns at least one reading of each.
    pub fn read(&self, runs: &[RunDocument]) -> Vec<Reading> {
        let mut readings = Vec::new();
        for (run, document) in runs.iter().enumerate() {
            let document = serde_json::to_value(document).expect("a document has string keys");
            let Some((part, pattern)) = self.place() else {
                readings.push(self.reading(run, "", Some(&document)));
                continue;
            };
            let before = readings.len();
            for (name, entry) in document[part.key()].as_object().into_iter().flatten() {
                if matches(pattern, name) {
                    readings.push(self.reading(run, name, Some(entry)));
                }
            }
            if readings.len() == before {
                readings.push(self.reading(run, pattern, None));
            }
        }
        readings
    }

    fn reading(&self, run: usize, name: &str, entry: Option<&Value>) -> Reading {
        let value = entry
            .and_then(|entry| self.path.iter().try_fold(entry, |object, key| object.get(key)))
            .and_then(Value::as_f64);
        let is_met = value.is_some_and(|value| self.comparison.holds(value, self.bound));
        Reading { run, name: name.to_owned(), value, is_met }
    }

    /// Returns the reading farthest from the expectation: one without a value, else the largest or
    /// smallest.
    ///
    /// # Panics
    /// If there are no readings.
    pub fn worst<'a>(&self, readings: &'a [Reading]) -> &'a Reading {
        let badness = |reading: &Reading| match (reading.value, self.comparison) {
            (None, _) => f64::INFINITY,
            (Some(value), Comparison::Below | Comparison::AtMost) => value,
            (Some(value), Comparison::Above | Comparison::AtLeast) => -value,
        };
        let worst =
            readings.iter().reduce(
                |worst, reading| {
                    if badness(reading) > badness(worst) { reading } else { worst }
                },
            );
        worst.expect("there is a reading of each run")
    }
}

/// Columns that can be compared with a number.
fn numbers(columns: Vec<DocumentColumn>) -> Vec<DocumentColumn> {
    let is_number =
        |column: &DocumentColumn| matches!(column.kind, ColumnKind::Int | ColumnKind::Double);
    columns.into_iter().filter(is_number).collect()
}

fn is_called(column: &DocumentColumn, quantity: &str) -> bool {
    column.name == quantity || column.path.join(".") == quantity
}

/// Name and path in `NAME.QUANTITY`, where either may have dots: the longest quantity wins.
fn split<'a>(text: &'a str, columns: &[DocumentColumn]) -> Option<(&'a str, Vec<String>)> {
    let dots = text.match_indices('.').map(|(at, _)| at);
    dots.filter(|&at| at > 0).find_map(|at| {
        let column = columns.iter().find(|column| is_called(column, &text[at + 1..]))?;
        Some((&text[..at], column.path.clone()))
    })
}

fn unknown(of: &str, asked: &str, columns: &[DocumentColumn]) -> String {
    let paths: Vec<String> = columns.iter().map(|column| column.path.join(".")).collect();
    let names = columns.iter().map(|column| column.name.as_str());
    let near = did_you_mean(asked, paths.iter().map(String::as_str).chain(names));
    let near = near.unwrap_or_else(|| {
        let listed = paths.iter().take(LISTED_MAX).map(String::as_str).collect::<Vec<_>>();
        let more = if paths.len() > LISTED_MAX { ", .. (lasthop schema run has all)" } else { "" };
        format!("its numbers are {}{more}", listed.join(", "))
    });
    format!("{of} has no number {asked:?}; {near}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Expectation {
        Expectation::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn quantities_of_every_part() {
        for (text, part, name, path) in [
            ("flow.ping.rtt_ms.p95 < 100", Some(Part::Flow), "ping", "rtt_ms.p95"),
            ("flow.ping.rtt_p95_ms<=1e2", Some(Part::Flow), "ping", "rtt_ms.p95"),
            ("flow.a.b.goodput_mbps >= 5", Some(Part::Flow), "a.b", "goodput_mbps"),
            (
                "program.tcp laptop:* -> 10.77.0.3:80.one_way_delay_ms.p99 < 50",
                Some(Part::Program),
                "tcp laptop:* -> 10.77.0.3:80",
                "one_way_delay_ms.p99",
            ),
            ("flow.*.packets_lost <= 0", Some(Part::Flow), "*", "packets_lost"),
            ("node.ap.queue_packets.p95 < 3", Some(Part::Node), "ap", "queue_packets.p95"),
            (
                "link.laptop->ap.mpdu_error_rate > -1",
                Some(Part::Link),
                "laptop->ap",
                "mpdu_error_rate",
            ),
            ("wire.ap->server.packets>3", Some(Part::Wire), "ap->server", "packets"),
            ("duration_s >= 1", None, "", "duration_s"),
        ] {
            let expectation = parse(text);
            let of = part.map(|part| (part, name));
            assert_eq!((expectation.place(), expectation.path.join(".")), (of, path.to_owned()));
            assert_eq!(expectation.to_string(), text);
        }
    }

    #[test]
    fn what_is_none_says_what_was_allowed() {
        for (text, words) in [
            ("", "expected QUANTITY < NUMBER"),
            ("flow.ping.rtt_ms.p95 = 3", "expected QUANTITY < NUMBER"),
            ("link.laptop->ap.mpdu_error_rate", "\"ap.mpdu_error_rate\" is no number"),
            ("flow.ping.rtt_ms.p95 < 100ms", "\"100ms\" is no number (it has no unit"),
            ("flow.ping.rtt_ms.p95 < nan", "is no number"),
            ("flow.ping.rtt_ms.p59 < 1", "has no number \"rtt_ms.p59\"; did you mean \"rtt_ms.p95"),
            ("flow.ping.kind < 1", "a flow has no number \"kind\""),
            ("flow.rtt_ms.p95 < 1", "a flow has no number \"p95\""),
            ("flow..goodput_mbps < 1", "a flow has no number"),
            ("node.ap.rtt_ms.p95 < 1", "a node has no number"),
            ("goodput < 1", "(a flow's is flow.NAME.QUANTITY"),
        ] {
            let why = Expectation::parse(text).expect_err(text).to_string();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
