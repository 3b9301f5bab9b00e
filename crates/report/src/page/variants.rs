//! The page of several folders beside each other: a scenario simulated and emulated, or with
//! and without a remedy. Findings side by side, a table of differences, plots together.

use super::set::{QUANTITIES, listed};
use super::{head, scenario_text, seconds, section, short};
use crate::finding::often;
use crate::links::{self, LinkTaken};
use crate::plots::{beside, causes};
use lasthop_figures::page::{document, table};
use lasthop_figures::text::escaped;
use lasthop_trace::{RunDocument, RunSet, SeriesReading};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Largest number of rows of the table.
const ROWS_MAX: usize = 400;

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Name of the side.
    pub name: String,
    /// Runs of the side.
    pub set: RunSet,
    /// Means of the series of the runs; empty without series.
    pub series: Vec<SeriesReading>,
    /// Path and text of the scenario; `None` if there is no such file.
    pub scenario: Option<(String, String)>,
}

/// Returns the page as HTML. `command` is the command that made all sides, if there is one.
pub fn html(title: &str, variants: &[Variant], command: Option<&str>) -> String {
    let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
    let mut body = head(title, &names.join(" | "));
    body.push_str(
        "<section id=\"findings\"><h2>What is wrong, worst first</h2><div class=\"sides\">",
    );
    for variant in variants {
        let scenario = variant.scenario.as_ref().map(|(path, text)| super::Source { path, text });
        let runs = &variant.set.runs;
        let made = runs.first().map_or(String::new(), made);
        // One level below the name of the side; texts are escaped, so these are tags.
        let found = listed(&often(runs), runs.len(), scenario);
        let found = found.replace("<h3>", "<h4>").replace("</h3>", "</h4>");
        let _ = write!(
            body,
            "<div><h3>{}</h3><p class=\"muted\">{}</p>{found}",
            escaped(&variant.name),
            escaped(&made)
        );
        if runs.iter().any(|run| run.emulation.as_ref().is_some_and(|emulation| emulation.late)) {
            let _ = write!(
                body,
                "<p><strong>Warning:</strong> {}: an emulation was late too often: do not trust \
                 its delays.</p>",
                escaped(&variant.name)
            );
        }
        body.push_str("</div>");
    }
    body.push_str("</div></section>\n");
    body.push_str(&differences(variants));
    if let Some(figure) = together(variants).as_ref().and_then(causes) {
        body.push_str(&section(&figure));
    }
    let series: Vec<(&str, &[SeriesReading])> =
        variants.iter().map(|variant| (variant.name.as_str(), &variant.series[..])).collect();
    let figures = beside(&series);
    if figures.is_empty() {
        body.push_str(
            "<section><p class=\"muted\">There is no series.parquet, so nothing is shown over \
             time.</p></section>\n",
        );
    }
    let is_mean = variants.iter().any(|variant| variant.set.runs.len() > 1);
    for mut figure in figures {
        if is_mean {
            figure.shows = format!("Means over runs. {}", figure.shows);
        }
        body.push_str(&section(&figure));
    }
    if let Some(command) = command {
        let _ = writeln!(
            body,
            "<section><h2>Made by</h2><pre class=\"command\">{}</pre></section>",
            escaped(command)
        );
    }
    body.push_str(&scenarios(variants));
    document(title, &body)
}

/// Returns a line about the origin of a run.
fn made(run: &RunDocument) -> String {
    let how = if run.emulation.is_some() { "emulated" } else { "simulated" };
    let set =
        if run.set.is_empty() { String::new() } else { format!(", with {}", run.set.join(", ")) };
    format!("{}, {how}, {} s, seed {}{set}", run.scenario, seconds(run.duration_s), run.seed)
}

/// Returns the table of differences: means over the runs of each side, and for two sides the
/// change in percent.
fn differences(variants: &[Variant]) -> String {
    let names: BTreeSet<&String> =
        variants.iter().flat_map(|variant| variant.set.summary.keys()).collect();
    let mut rows = Vec::new();
    for name in names {
        for (quantity, of) in QUANTITIES {
            let value = |variant: &Variant| Some(of(variant.set.summary.get(name)?)?.mean);
            rows.extend(row(name, quantity, variants, &value));
        }
    }
    rows.extend(links_taken(variants));
    let nodes: BTreeSet<&String> = variants
        .iter()
        .flat_map(|variant| variant.set.runs.iter().flat_map(|run| run.nodes.keys()))
        .collect();
    for name in nodes {
        let mean = |variant: &Variant, of: &dyn Fn(&RunDocument) -> Option<f64>| {
            let values: Vec<f64> = variant.set.runs.iter().filter_map(of).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let queue = |variant: &Variant| {
            mean(variant, &|run| Some(run.nodes.get(name)?.queue_packets?.mean))
        };
        let air = |variant: &Variant| {
            mean(variant, &|run| Some(100.0 * run.nodes.get(name)?.airtime_fraction))
        };
        rows.extend(row(name, "mean queue, packets", variants, &queue));
        rows.extend(row(name, "airtime, %", variants, &air));
    }
    if rows.is_empty() {
        return String::new();
    }
    let all = rows.len();
    rows.truncate(ROWS_MAX);
    let mut heads = vec!["Flow or node", "Quantity"];
    heads.extend(variants.iter().map(|variant| variant.name.as_str()));
    if variants.len() == 2 {
        heads.push("Change");
    }
    let left_out = if all > ROWS_MAX {
        format!("<p>The first {ROWS_MAX} of {all} rows.</p>")
    } else {
        String::new()
    };
    format!(
        "<section><h2>What differs</h2>{}{left_out}</section>\n",
        table("What differs", &heads, 2, &rows)
    )
}

/// A quantity of a flow on a link: its name, unit included, and its value.
type LinkQuantity = (&'static str, fn(&LinkTaken) -> Option<f64>);

/// The quantities of a flow on a link of devices of several links.
const LINK_QUANTITIES: [LinkQuantity; 5] = [
    ("packets of the flow, %", |it| Some(100.0 * it.share)),
    ("delay of the hop, mean, ms", |it| it.delay_ms),
    ("delay of the hop, p99, ms", |it| it.delay_p99_ms),
    ("first in line for it, ms", |it| it.wait_ms),
    ("first in line for another, ms", |it| it.other_wait_ms),
];

/// The rows of flows by link; none without devices of several links.
fn links_taken(variants: &[Variant]) -> Vec<Vec<String>> {
    let sides: Vec<_> = variants.iter().map(|it| links::taken(&it.set.runs)).collect();
    let names: BTreeSet<_> = sides.iter().flatten().map(|it| (&it.flow, &it.link)).collect();
    let mut rows = Vec::new();
    for (flow, link) in names {
        let is_it = |it: &&LinkTaken| (&it.flow, &it.link) == (flow, link);
        let each: Vec<Option<&LinkTaken>> =
            sides.iter().map(|side| side.iter().find(is_it)).collect();
        for (quantity, of) in LINK_QUANTITIES {
            let values = each.iter().map(|it| it.and_then(of)).collect();
            rows.extend(cells(&format!("{flow}, {link}"), quantity, values));
        }
    }
    rows
}

/// A row of the table; `None` if no side has the quantity.
fn row(
    name: &str,
    quantity: &str,
    variants: &[Variant],
    value: &dyn Fn(&Variant) -> Option<f64>,
) -> Option<Vec<String>> {
    cells(name, quantity, variants.iter().map(value).collect())
}

fn cells(name: &str, quantity: &str, values: Vec<Option<f64>>) -> Option<Vec<String>> {
    if values.iter().all(Option::is_none) {
        return None;
    }
    let told = values.iter().map(|value| value.map_or(String::new(), short));
    let mut cells: Vec<String> =
        [name.to_owned(), quantity.to_owned()].into_iter().chain(told).collect();
    if let [before, after] = values[..] {
        cells.push(change(before, after));
    }
    Some(cells)
}

/// From one value to the other in percent; empty if one is missing or the first is zero.
fn change(before: Option<f64>, after: Option<f64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) if before != 0.0 => {
            let percent = 100.0 * (after / before - 1.0);
            if percent.abs() < 0.05 {
                "0 %".to_owned()
            } else {
                format!("{percent:+.1} %").replace('-', "\u{2212}")
            }
        }
        _ => String::new(),
    }
}

/// A document with the flows of all sides, named by their side: those of the first run of each.
fn together(variants: &[Variant]) -> Option<RunDocument> {
    let mut all = variants.iter().find_map(|variant| variant.set.runs.first())?.clone();
    all.flows.clear();
    all.programs.clear();
    for variant in variants {
        let Some(first) = variant.set.runs.first() else { continue };
        let named = |name: &str| format!("{name}, {}", variant.name);
        all.flows.extend(first.flows.iter().map(|(name, flow)| (named(name), flow.clone())));
        all.programs.extend(first.programs.iter().map(|(name, it)| (named(name), it.clone())));
    }
    Some(all)
}

/// The scenarios; once if all have the same text.
fn scenarios(variants: &[Variant]) -> String {
    let mut out = String::new();
    let mut last = None;
    for text in variants.iter().filter_map(|variant| Some(&variant.scenario.as_ref()?.1)) {
        if last != Some(text) {
            out.push_str(&scenario_text(text));
        }
        last = Some(text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(name: &str, goodput_mbps: f64) -> Variant {
        let json = format!(
            r#"{{"scenario": "s", "seed": 1, "run": 0, "duration_s": 2, "warmup_s": 0,
                "wall_s": 1, "version": "0", "links": {{}}, "set": ["a=<i>"],
                "nodes": {{"ap": {{"queue_drops": 0, "airtime_fraction": 0.5}}}},
                "flows": {{"<up>": {{"kind": "tcp", "goodput_mbps": {goodput_mbps},
                "packets_sent": 900, "packets_received": 900, "packets_lost": 0}}}}}}"#
        );
        let run = serde_json::from_str(&json).expect("a document");
        let (set, name) = (RunSet::new(vec![run]), name.to_owned());
        Variant { name, set, series: Vec::new(), scenario: None }
    }

    #[test]
    fn sides_are_beside_each_other_with_the_change() {
        let variants = [variant("<before>", 8.0), variant("after", 10.0)];
        let page = html("a < b", &variants, None);
        assert!(page.contains(">8.000</td>") && page.contains(">10.00</td>"), "{page}");
        assert!(page.contains("+25.0 %") && page.contains("50.00"), "{page}");
        assert!(!page.contains("<before>") && !page.contains("<up>") && !page.contains("<i>"));
        assert!(page.contains("There is no series.parquet"));
        assert!(page.contains("Change</th>"));
        let three = [variant("a", 8.0), variant("b", 10.0), variant("c", 9.0)];
        assert!(!html("three", &three, None).contains("Change</th>"));
    }

    #[test]
    fn a_change_needs_something_to_change() {
        assert_eq!(change(Some(10.0), Some(9.0)), "\u{2212}10.0 %");
        assert_eq!(change(Some(10.0), Some(10.0)), "0 %");
        assert_eq!((change(Some(0.0), Some(1.0)), change(None, Some(1.0))), <_>::default());
    }
}
