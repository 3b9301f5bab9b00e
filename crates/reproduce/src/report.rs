//! What `lasthop reproduce --json` prints: one entry for each quantity of each
//! figure, in the order of the papers. The doc comments here are the
//! descriptions in the published JSON Schema.

use crate::figure::{Ours, Quantity, Statement};
use crate::run::Outcome;
use lasthop_evidence::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What papers state, what lasthop gets, and whether they agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Every quantity of every figure that was made.
    pub figures: Vec<Entry>,
}

/// One quantity of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The paper.
    pub key: String,
    /// The figure or table.
    pub figure: String,
    /// What it is.
    pub quantity: String,
    /// Its unit; empty for what has none.
    pub unit: String,
    /// What the paper says: a number, from and to, the number of one example, or words.
    pub paper: Paper,
    /// What we get: a number, from and to, or whether it shows; absent if it
    /// could not be measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ours: Option<Measured>,
    /// Least and greatest value that agree with the paper; null at an open side.
    /// Of a range of ours and it, half and more of each has to lie in the other; an example has to
    /// be in our range. Absent of what shows or does not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub band: Option<(Option<f64>, Option<f64>)>,
    /// Whether ours agrees.
    pub verdict: Verdict,
    /// Why it does not, where we know.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// The seeds of the runs behind it.
    pub seeds: Vec<u64>,
}

/// What a paper says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Paper {
    /// A number.
    Value(f64),
    /// From and to.
    Range(f64, f64),
    /// What was seen once.
    Example {
        /// The number.
        example: f64,
    },
    /// In words.
    Text(String),
}

/// What we get.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Measured {
    /// A number.
    Value(f64),
    /// From and to.
    Range(f64, f64),
    /// It shows, or it does not.
    Shown(bool),
}

impl Report {
    /// Returns the report of the outcomes, in their order.
    pub fn new(outcomes: &[Outcome]) -> Self {
        let entries = outcomes.iter().flat_map(|outcome| {
            outcome.findings.quantities.iter().map(|quantity| Entry::new(outcome, quantity))
        });
        Self { figures: entries.collect() }
    }

    /// The report as indented JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("a report has string keys and no fallible serializer");
        text.push('\n');
        text
    }
}

impl Entry {
    fn new(outcome: &Outcome, quantity: &Quantity) -> Self {
        let verdict = quantity.verdict();
        let side = |limit: f64| limit.is_finite().then_some(limit);
        let mut seeds: Vec<u64> = outcome.runs.iter().map(|run| run.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        Self {
            key: outcome.paper.key.to_owned(),
            figure: outcome.figure.id.to_owned(),
            quantity: quantity.name.clone(),
            unit: quantity.unit.to_owned(),
            paper: match quantity.paper {
                Statement::Value(value) => Paper::Value(value),
                Statement::Range(from, to) => Paper::Range(from, to),
                Statement::Example(example) => Paper::Example { example },
                Statement::Text(text) => Paper::Text(text.to_owned()),
            },
            ours: match quantity.ours {
                Ours::Value(value) => value.is_finite().then(|| Measured::Value(rounded(value))),
                Ours::Range(from, to) => (from.is_finite() && to.is_finite())
                    .then(|| Measured::Range(rounded(from), rounded(to))),
                Ours::Shown(shows) => Some(Measured::Shown(shows)),
            },
            band: match quantity.ours {
                Ours::Shown(_) => None,
                _ => Some((side(quantity.band.0), side(quantity.band.1))),
            },
            verdict,
            note: quantity.because.filter(|_| verdict == Verdict::Fail).map(str::to_owned),
            seeds,
        }
    }
}

/// Rounds to six significant digits, which are enough for a reader. The verdict is on
/// the unrounded number.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let places = 5 - value.abs().log10().floor() as i32;
    let scale = 10f64.powi(places.clamp(-300, 300));
    (value * scale).round() / scale
}

/// The JSON Schema (2020-12) of a [`Report`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_left() {
        assert_eq!(rounded(135.234_567), 135.235);
        assert_eq!(rounded(0.001_234_567_8), 0.001_234_57);
        assert_eq!(rounded(-1_234_567.0), -1_234_570.0);
        assert_eq!(rounded(0.0), 0.0);
    }

    #[test]
    fn documents_are_as_the_schema_says() {
        let entry = |paper, ours, band| Entry {
            key: "scan".into(),
            figure: "fig3".into(),
            quantity: "throughput".into(),
            unit: "Mb/s".into(),
            paper,
            ours,
            band,
            verdict: Verdict::Pass,
            note: None,
            seeds: vec![1],
        };
        let figures = vec![
            entry(Paper::Value(136.0), Some(Measured::Value(1.5)), Some((Some(1.0), Some(2.0)))),
            entry(Paper::Range(1.0, 2.0), Some(Measured::Range(1.0, 2.0)), Some((None, Some(2.0)))),
            entry(Paper::Text("it falls".into()), Some(Measured::Shown(true)), None),
            entry(Paper::Value(1.0), None, Some((Some(1.0), None))),
            entry(Paper::Example { example: 1.8 }, Some(Measured::Range(1.0, 2.0)), None),
        ];
        let report = Report { figures };
        let document: serde_json::Value =
            serde_json::from_str(&report.to_json()).expect("it is JSON");
        let schema = schema();
        let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
        let errors: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(document["figures"][0]["paper"], 136.0);
        assert_eq!(document["figures"][1]["band"], serde_json::json!([null, 2.0]));
        assert!(document["figures"][3].get("ours").is_none());
        assert!(!validator.is_valid(&serde_json::json!({ "figures": [{ "key": "scan" }] })));
        let again: Report = serde_json::from_value(document).expect("it can be read again");
        assert_eq!(again, report);
    }
}
