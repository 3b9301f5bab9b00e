//! The JSON document of `lasthop reproduce --json`: one entry for each quantity of each
//! figure, in the order of the papers, and the points of the plots. The doc comments here are
//! the descriptions in the published JSON Schema. No clock is read: the caller passes the date.

use crate::Verdict;
use crate::reproduce::figure::{Ours, Paper, Quantity, Statement};
use crate::reproduce::kernels::{KernelRow, OnKernels};
use crate::reproduce::run::Outcome;
use lasthop_figures::plot::Series;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;

/// Values of papers beside those of lasthop, each with a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of lasthop that made the figures.
    #[serde(default)]
    pub version: String,
    /// Day on which the figures were made, in UTC, as YYYY-MM-DD; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub date: Option<String>,
    /// Every quantity of every figure that was made.
    pub figures: Vec<Entry>,
    /// Measurements of the papers' methods on real kernels, beside those of the model.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub on_kernels: Vec<OnKernel>,
    /// Curves of every figure.
    #[serde(default)]
    pub curves: Vec<Curves>,
}

/// One quantity of a method on a real kernel, in a virtual machine, and of the model in the same
/// setting. No verdict is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnKernel {
    /// Key of the paper.
    pub key: String,
    /// Setting that distinguishes the case.
    pub case: String,
    /// Name of the quantity.
    pub quantity: String,
    /// Unit of the quantity.
    pub unit: String,
    /// Series of the kernel, such as `6.1`.
    pub kernel: String,
    /// Value of the kernel without the method.
    pub without: f64,
    /// Value of the kernel with the method.
    pub with: f64,
    /// Value of the model without the method: the mean of several seeds.
    pub model_without: f64,
    /// Value of the model with the method.
    pub model_with: f64,
}

/// The panels of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Curves {
    /// Key of the paper.
    pub key: String,
    /// Id of the figure or table.
    pub figure: String,
    /// Panels of the figure, from top to bottom.
    pub panels: Vec<CurvesPanel>,
}

/// A panel of a figure, with its axes and series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurvesPanel {
    /// Title of the panel; empty if the figure has only one.
    pub title: String,
    /// Label of the x axis, with the unit.
    pub x: String,
    /// Names at the x axis in place of the numbers 0, 1, 2 ..; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub x_names: Vec<String>,
    /// Label of the left y axis, with the unit.
    pub y: String,
    /// Names at the left y axis; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub y_names: Vec<String>,
    /// Label of the right y axis; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub y_right: Option<String>,
    /// Series of the panel.
    pub series: Vec<Curve>,
}

/// A series of points in a panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Curve {
    /// Name of the series.
    pub name: String,
    /// Mark of the series: `line`, `dotted-line`, `dots`, `bars`, `intervals` (points are start and
    /// end in turn) or `band` (lower and upper end in turn).
    pub mark: String,
    /// Whether y belongs to the right axis.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub on_right: bool,
    /// x and y of the points, in six significant digits; points that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// One quantity of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// Key of the paper.
    pub key: String,
    /// Id of the figure or table.
    pub figure: String,
    /// Name of the quantity.
    pub quantity: String,
    /// Unit of the quantity; empty for a ratio or a statement in words.
    pub unit: String,
    /// Value in the paper: a number, from and to, the number of one example, or words.
    pub paper: PaperValue,
    /// Value of lasthop: a number, from and to, or whether a statement in words is shown; absent
    /// if it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ours: Option<Measured>,
    /// Least and greatest of our numbers over several seeds, whose mean is `ours`; absent if they
    /// do not differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<(f64, f64)>,
    /// Least and greatest value that agree with the paper; null at an open side. If ours is a
    /// range, at least half of each has to lie in the other; an example has to lie in our range.
    /// Absent for a statement in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub band: Option<(Option<f64>, Option<f64>)>,
    /// Verdict: pass if ours agrees with the paper.
    pub verdict: Verdict,
    /// Cause of a failure, where it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// Seeds of the runs behind the quantity.
    pub seeds: Vec<u64>,
}

/// Value in a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Paper"))]
#[serde(untagged)]
pub enum PaperValue {
    /// A number, in the unit of the quantity.
    Value(f64),
    /// From and to.
    Range(f64, f64),
    /// Number of a single example.
    Example {
        /// Number in the unit of the quantity.
        example: f64,
    },
    /// Statement in words.
    Text(String),
}

/// Value of lasthop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Measured {
    /// A number, in the unit of the quantity.
    Value(f64),
    /// From and to.
    Range(f64, f64),
    /// Whether a statement in words is shown.
    Shown(bool),
}

impl Report {
    /// Returns the report of the outcomes, in their order.
    pub fn new(outcomes: &[Outcome]) -> Self {
        let entries = outcomes.iter().flat_map(|outcome| {
            outcome.findings.quantities.iter().map(|quantity| Entry::new(outcome, quantity))
        });
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: None,
            figures: entries.collect(),
            on_kernels: on_kernels(outcomes),
            curves: outcomes.iter().map(Curves::new).collect(),
        }
    }

    /// Sets the day on which the figures were made, as YYYY-MM-DD.
    #[must_use]
    pub fn dated(self, date: String) -> Self {
        Self { date: Some(date), ..self }
    }

    /// The report as indented JSON, with a newline at its end. The curves of a figure, which are
    /// many numbers, are on one line.
    pub fn to_json(&self) -> String {
        let sound = "a report has string keys and no fallible serializer";
        let head = Self { curves: Vec::new(), ..self.clone() };
        let head = serde_json::to_string_pretty(&head).expect(sound);
        let curve = |it| format!("\n    {}", serde_json::to_string(it).expect(sound));
        let curves: Vec<String> = self.curves.iter().map(curve).collect();
        let end = if curves.is_empty() { "" } else { "\n  " };
        match head.strip_suffix("[]\n}") {
            Some(head) => format!("{head}[{}{end}]\n}}\n", curves.join(",")),
            None => unreachable!("the last key is that of the curves, which are empty"),
        }
    }
}

/// The measurements of all papers with outcomes, each paper once.
fn on_kernels(outcomes: &[Outcome]) -> Vec<OnKernel> {
    let mut papers: Vec<&Paper> = Vec::new();
    for outcome in outcomes {
        if papers.iter().all(|paper| paper.key != outcome.paper.key) {
            papers.push(outcome.paper);
        }
    }
    let rows = papers.into_iter().flat_map(|paper| {
        let rows = paper.on_kernels.iter().flat_map(OnKernels::rows);
        rows.map(|row| OnKernel::new(paper.key, row))
    });
    rows.collect()
}

impl OnKernel {
    fn new(key: &str, row: KernelRow) -> Self {
        let KernelRow { case, quantity, unit, kernel, without, with } = row;
        Self {
            key: key.to_owned(),
            case: case.to_owned(),
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            kernel: kernel.to_owned(),
            without: without.kernel,
            with: with.kernel,
            model_without: without.model,
            model_with: with.model,
        }
    }
}

impl Curves {
    fn new(outcome: &Outcome) -> Self {
        let panels = outcome.findings.panels.iter().map(|panel| CurvesPanel {
            title: panel.title.clone(),
            x: panel.x.label.clone(),
            x_names: panel.x.names.clone(),
            y: panel.left.label.clone(),
            y_names: panel.left.names.clone(),
            y_right: panel.right.as_ref().map(|axis| axis.label.clone()),
            series: panel.series.iter().map(Curve::new).collect(),
        });
        Self {
            key: outcome.paper.key.to_owned(),
            figure: outcome.figure.id.to_owned(),
            panels: panels.collect(),
        }
    }
}

impl Curve {
    fn new(series: &Series) -> Self {
        let finite = series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        Self {
            name: series.name.clone(),
            mark: series.mark.as_str().to_owned(),
            on_right: series.on_right,
            points: finite.map(|&(x, y)| (rounded(x), rounded(y))).collect(),
        }
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
                Statement::Value(value) => PaperValue::Value(value),
                Statement::Range(from, to) => PaperValue::Range(from, to),
                Statement::Example(example) => PaperValue::Example { example },
                Statement::Text(text) => PaperValue::Text(text.to_owned()),
            },
            ours: match quantity.ours {
                Ours::Value(value) => value.is_finite().then(|| Measured::Value(rounded(value))),
                Ours::Range(from, to) => (from.is_finite() && to.is_finite())
                    .then(|| Measured::Range(rounded(from), rounded(to))),
                Ours::Shown(shows) => Some(Measured::Shown(shows)),
            },
            spread: quantity.spread.map(|spread| (rounded(spread.from), rounded(spread.to))),
            band: match quantity.ours {
                Ours::Shown(_) => None,
                _ => Some((side(quantity.band.from), side(quantity.band.to))),
            },
            verdict,
            note: quantity.because.filter(|_| verdict == Verdict::Fail).map(str::to_owned),
            seeds,
        }
    }
}

/// The day in UTC as YYYY-MM-DD: that of SOURCE_DATE_EPOCH
/// (<https://reproducible-builds.org/specs/source-date-epoch>) if it is set, in seconds since
/// 1970, and otherwise that of `now`, in the same seconds.
///
/// # Errors
/// If the variable is no whole number; the message names the expected form.
pub fn date(source_date_epoch: Option<&OsStr>, now: u64) -> Result<String, String> {
    let Some(set) = source_date_epoch else { return Ok(day(now)) };
    let seconds = set.to_str().and_then(|text| text.parse().ok());
    let set = set.to_string_lossy();
    let wrong = || format!("SOURCE_DATE_EPOCH={set}: expected whole seconds since 1970");
    seconds.map(day).ok_or_else(wrong)
}

/// The day of an instant in the Gregorian calendar. Years are counted from March, so that the
/// day of a leap year is the last one, in eras of 400 years, which are of equal length.
fn day(seconds: u64) -> String {
    const ERA_DAYS: u64 = 146_097;
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (day - day / 1_460 + day / 36_524 - day / (ERA_DAYS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March have 153 days, again and again.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + 400 * era + carry)
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
    let text = include_str!("../../schemas/reproduce.json");
    serde_json::from_str(text).expect("a test compares it with what schemars makes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        // As `date -u -d @SECONDS +%F` has them.
        let days = [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_735_603_200, "2024-12-31"),
            (1_795_564_800, "2026-11-25"),
            (4_107_542_400, "2100-03-01"),
        ];
        for (seconds, expected) in days {
            assert_eq!(day(seconds), expected);
        }
    }

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
            spread: None,
            band,
            verdict: Verdict::Pass,
            note: None,
            seeds: vec![1],
        };
        let figures = vec![
            entry(
                PaperValue::Value(136.0),
                Some(Measured::Value(1.5)),
                Some((Some(1.0), Some(2.0))),
            ),
            entry(
                PaperValue::Range(1.0, 2.0),
                Some(Measured::Range(1.0, 2.0)),
                Some((None, Some(2.0))),
            ),
            entry(PaperValue::Text("it falls".into()), Some(Measured::Shown(true)), None),
            entry(PaperValue::Value(1.0), None, Some((Some(1.0), None))),
            entry(PaperValue::Example { example: 1.8 }, Some(Measured::Range(1.0, 2.0)), None),
        ];
        let series =
            Series::line("throughput", vec![(0.0, 1.0), (f64::NAN, 2.0), (1.0, 1e-7 / 3.0)]);
        let curve = Curve::new(&series);
        assert_eq!(curve.points, [(0.0, 1.0), (1.0, 3.333_33e-8)]);
        let panel = CurvesPanel {
            title: String::new(),
            x: "time, s".into(),
            x_names: Vec::new(),
            y: "throughput, Mb/s".into(),
            y_names: Vec::new(),
            y_right: None,
            series: vec![curve],
        };
        let curves =
            vec![Curves { key: "scan".into(), figure: "fig3".into(), panels: vec![panel] }; 2];
        let empty = Report { version: "0".into(), ..Report::new(&[]) };
        assert!(empty.to_json().ends_with("\"curves\": []\n}\n"), "{}", empty.to_json());
        let report = Report { figures, curves, ..empty }.dated("2026-11-25".into());
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
