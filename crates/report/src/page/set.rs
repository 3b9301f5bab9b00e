//! The page of several runs of one scenario: findings with the number of runs that have them, the
//! mean of each quantity with its 95 % confidence interval and spread, and means over time.

use super::{Source, head, quoted, scenario_text, seconds, section, short, taken, told};
use crate::finding::{Often, often};
use crate::plots::{Figure, Own, mean_series, over_time};
use crate::trial::{OF_SEVERAL, Trials};
use lasthop_figures::page::{document, table};
use lasthop_figures::plot::{Axis, Look, Panel, Series};
use lasthop_figures::text::escaped;
use lasthop_trace::{Estimate, FlowEstimates, RunDocument, RunSet, SeriesReading};
use std::fmt::Write;

/// Largest number of flows drawn; the table has [`ROWS_MAX`].
const FLOWS_MAX: usize = 12;
/// The name of the intervals.
const INTERVAL: &str = "95 % confidence interval of the mean";
/// Largest number of flows in the table.
const ROWS_MAX: usize = 200;

/// The contents of the page.
#[derive(Clone, Debug)]
pub struct SetContent<'a> {
    /// Runs with their estimates.
    pub set: &'a RunSet,
    /// Series of some runs; empty if there are no such files.
    pub series: &'a [Vec<SeriesReading>],
    /// Scenario of the runs; `None` if there is no such file.
    pub scenario: Option<Source<'a>>,
}

/// A quantity of a flow: its name, unit included, and its estimate.
pub(super) type SetQuantity = (&'static str, fn(&FlowEstimates) -> Option<Estimate>);

/// The quantities of a flow over several runs.
pub(super) const QUANTITIES: [SetQuantity; 6] = [
    ("goodput, Mb/s", |flow| flow.goodput_mbps),
    ("RTT, mean, ms", |flow| flow.rtt_mean_ms),
    ("RTT, p95, ms", |flow| flow.rtt_p95_ms),
    ("delay, mean, ms", |flow| flow.one_way_delay_mean_ms),
    ("delay, p95, ms", |flow| flow.one_way_delay_p95_ms),
    ("lost packets, %", |flow| {
        let percent = |value: f64| 100.0 * value;
        flow.loss_fraction.map(|it| Estimate {
            mean: percent(it.mean),
            ci95: it.ci95.map(percent),
            min: percent(it.min),
            max: percent(it.max),
            runs: it.runs,
        })
    }),
];

/// The page as HTML.
pub fn html(content: &SetContent<'_>) -> String {
    let runs = &content.set.runs;
    let (name, line) = match runs.first() {
        Some(first) => (
            format!(
                "{}: {} run{}",
                first.scenario,
                runs.len(),
                if runs.len() == 1 { "" } else { "s" }
            ),
            format!(
                "{} s each, seed {}, runs {} to {}; lasthop {}",
                seconds(first.duration_s),
                first.seed,
                first.run,
                runs.last().map_or(first.run, |last| last.run),
                first.version
            ),
        ),
        None => ("No runs".to_owned(), String::new()),
    };
    let mut body = head(&name, &line);
    body.push_str("<section id=\"findings\"><h2>What is wrong, worst first</h2>");
    body.push_str(&listed(&often(runs), runs.len(), content.scenario));
    body.push_str("</section>\n");
    body.push_str(&estimates(content.set));
    body.push_str(&taken(runs));
    if let Some(figure) = spread(content.set) {
        body.push_str(&section(&figure));
    }
    match content.series {
        [] => body.push_str(
            "<section><p class=\"muted\">There is no series.parquet of a run, so nothing is \
             shown over time.</p></section>\n",
        ),
        series => {
            let mean = mean_series(series);
            let of = if series.len() == runs.len() {
                "all runs".to_owned()
            } else {
                format!("the first {} runs", series.len())
            };
            for mut figure in over_time(&mean, &Own::default()) {
                figure.shows = format!("Means over {of}. {}", figure.shows);
                body.push_str(&section(&figure));
            }
        }
    }
    body.push_str(&made_by(content));
    document(&name, &body)
}

/// The findings as a list that says in how many of `all` runs each holds.
pub(super) fn listed(often: &[Often], all: usize, scenario: Option<Source<'_>>) -> String {
    if often.is_empty() {
        return "<p>Nothing that lasthop looks for.</p>".to_owned();
    }
    let mut out = String::from("<ol>");
    for Often { finding, run, runs, .. } in often {
        let note = match all {
            0 | 1 => String::new(),
            _ => format!("In {runs} of {all} runs. In run {run}, where it weighs most: "),
        };
        let mut finding = finding.clone();
        finding.sentence = format!("{note}{}", finding.sentence);
        out.push_str(&told(&finding, scenario, &Trials::none(OF_SEVERAL)));
    }
    out.push_str("</ol>");
    out
}

/// The table of estimates.
fn estimates(set: &RunSet) -> String {
    let mut rows = Vec::new();
    for (name, flow) in set.summary.iter().take(ROWS_MAX) {
        for (quantity, of) in QUANTITIES {
            let Some(it) = of(flow) else { continue };
            rows.push(vec![
                name.clone(),
                quantity.to_owned(),
                short(it.mean),
                it.ci95.map_or(String::new(), |ci95| format!("\u{b1} {}", short(ci95))),
                short(it.min),
                short(it.max),
                it.runs.to_string(),
            ]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let heads = ["Flow", "Quantity", "Mean", "95 % CI", "Least", "Greatest", "Runs"];
    let left_out = if set.summary.len() > ROWS_MAX {
        format!("<p>The first {ROWS_MAX} of {} flows.</p>", set.summary.len())
    } else {
        String::new()
    };
    format!(
        "<section><h2>Over all runs</h2><p>The confidence interval is that of the mean \
         (Student); runs are independent. Delays are one-way.</p>{}{left_out}</section>\n",
        table("Over all runs", &heads, 2, &rows)
    )
}

/// A quantity of a flow in one run, in the order of [`QUANTITIES`].
fn of_run(run: &RunDocument, flow: &str, quantity: usize) -> Option<f64> {
    let flow = run.flows.get(flow)?;
    match quantity {
        0 => flow.goodput_mbps,
        1 => Some(flow.rtt_ms?.mean),
        2 => Some(flow.rtt_ms?.p95),
        3 => Some(flow.one_way_delay_ms?.mean),
        4 => Some(flow.one_way_delay_ms?.p95),
        _ => (flow.packets_sent > 0)
            .then(|| 100.0 * flow.packets_lost as f64 / flow.packets_sent as f64),
    }
}

/// Every run as a dot, on the confidence interval of the mean; `None` of a single run.
fn spread(set: &RunSet) -> Option<Figure> {
    if set.runs.len() < 2 {
        return None;
    }
    let flows: Vec<_> = set.summary.iter().take(FLOWS_MAX).collect();
    let names: Vec<&str> = flows.iter().map(|(name, _)| name.as_str()).collect();
    let mut panels = Vec::new();
    for (index, (quantity, of)) in QUANTITIES.into_iter().enumerate() {
        let (mut means, mut dots) = (Vec::new(), Vec::new());
        for (row, (name, flow)) in flows.iter().enumerate() {
            let row = row as f64;
            if let Some(it) = of(flow) {
                let half = it.ci95.unwrap_or(0.0);
                means.push((it.mean - half, it.mean + half, row));
            }
            let values = set.runs.iter().filter_map(|run| of_run(run, name, index));
            dots.extend(values.map(|value| (value, row)));
        }
        if dots.iter().all(|(value, _)| *value == 0.0) {
            continue;
        }
        let lanes = Axis::new("").names(names.iter().copied());
        panels.push(
            Panel::new("", Axis::new(quantity), lanes)
                .with(Series::intervals(INTERVAL, means).looking(Look::Muted))
                .with(Series::dots("a run", dots).looking(Look::Of(0))),
        );
    }
    let left_out = match set.summary.len().saturating_sub(FLOWS_MAX) {
        0 => String::new(),
        _ => format!(" The first {FLOWS_MAX} of {} flows are shown.", set.summary.len()),
    };
    (!panels.is_empty()).then(|| Figure {
        title: "How runs differ",
        shows: format!("Every run is a dot.{left_out}"),
        panels,
    })
}

fn made_by(content: &SetContent<'_>) -> String {
    let Some(scenario) = content.scenario else {
        return "<section><p class=\"muted\">There is no scenario.toml, so remedies and the \
                command that repeats the runs are not shown.</p></section>\n"
            .to_owned();
    };
    let runs = content.set.runs.len();
    let mut out = String::from("<section><h2>Made by</h2>");
    let command = format!("lasthop simulate {} --runs {runs}", quoted(scenario.path));
    let _ = writeln!(out, "<pre class=\"command\">{}</pre></section>", escaped(&command));
    out + &scenario_text(scenario.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u64, goodput_mbps: f64, queue_ms: f64) -> RunDocument {
        let parts = format!(
            r#"{{"queue": {queue_ms}, "contention": 1, "retries": 0, "reorder": 0, "air": 1, "wire": 0}}"#
        );
        let json = format!(
            r#"{{"scenario": "s<", "seed": 1, "run": {number}, "duration_s": 2, "warmup_s": 0,
                "wall_s": 1, "version": "0", "links": {{}},
                "nodes": {{"ap": {{"queue_drops": 0, "airtime_fraction": 0.5}}}},
                "flows": {{"<up>": {{"kind": "tcp", "goodput_mbps": {goodput_mbps},
                "packets_sent": 900, "packets_received": 890, "packets_lost": 9,
                "delay_parts_ms": {parts}, "delay_parts_slowest_ms": {parts}}}}}}}"#
        );
        serde_json::from_str(&json).expect("a document")
    }

    #[test]
    fn findings_say_in_how_many_runs_they_hold() {
        let runs = [run(0, 9.0, 1.0), run(1, 10.0, 200.0), run(2, 11.0, 900.0)];
        let found = often(&runs);
        let [queue] = &found[..] else { panic!("one kind: {found:?}") };
        assert_eq!((queue.runs, queue.run), (2, 2));
        let set = RunSet::new(runs.to_vec());
        let page = html(&SetContent { set: &set, series: &[], scenario: None });
        assert!(page.contains("In 2 of 3 runs. In run 2, where it weighs most: "), "{page}");
        assert!(page.contains("\u{b1} 2.484"), "Student's 4.303 / sqrt(3): {page}");
        assert!(!page.contains("<up>") && !page.contains("s<:"), "escaped");
    }

    #[test]
    fn every_run_is_a_dot() {
        let set = RunSet::new(vec![run(0, 9.0, 1.0), run(1, 10.0, 1.0)]);
        let figure = spread(&set).expect("two runs");
        let goodput = &figure.panels[0];
        assert_eq!(goodput.series[1].points, [(9.0, 0.0), (10.0, 0.0)]);
        assert!(goodput.series[0].points[0].0 < 9.0, "the interval of two runs is wide");
        assert_eq!(spread(&RunSet::new(vec![run(0, 9.0, 1.0)])), None);
    }
}
