//! Pages: findings and remedies, plots, the scenario, and the command that repeats the run. Each
//! page is one HTML file without scripts that needs no network. [`html`] returns the page of a run.
//! [`set`], [`variants`], [`measured`] and [`outside`] have the pages of several runs, of several
//! folders beside each other, of a measured queue, and of a measurement beside simulated runs.

mod coded;
pub mod measured;
pub mod outside;
pub mod set;
pub mod variants;

use crate::advice::summary;
use crate::finding::{Finding, findings};
use crate::plots::{Figure, Own, causes, causes_table, distributions, over_time};
use crate::remedy::Remedies;
use crate::trial::Trials;
use crate::{links, together, ways};
use lasthop_figures::page::{document, preformatted, table};
use lasthop_figures::plot::{Panel, inline_svg};
use lasthop_figures::text::{escaped, number};
use lasthop_scenario::{WrittenChange, written_changes};
use lasthop_trace::{Delays, LossReason, RunDocument, SeriesReading, TrialQuantity, TrialSummary};
use std::fmt::Write;

/// Style of these pages, beside that of all pages.
const STYLE: &str = include_str!("page.css");

/// The contents of a page.
#[derive(Clone, Debug)]
pub struct Content<'a> {
    /// Document of the run.
    pub run: &'a RunDocument,
    /// Series of the run; `None` if there is no such file.
    pub series: Option<&'a [SeriesReading]>,
    /// Distributions of delays; `None` if there is no file of events.
    pub delays: Option<&'a Delays>,
    /// Scenario of the run; `None` if there is no such file.
    pub scenario: Option<Source<'a>>,
    /// Trials of the remedies, or the reason why there are none.
    pub trials: &'a Trials,
}

/// The scenario of a run.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Path of the file, for commands.
    pub path: &'a str,
    /// Text of the file.
    pub text: &'a str,
}

/// Returns the page as HTML.
pub fn html(content: &Content<'_>) -> String {
    let run = content.run;
    let title = format!("{}: run {}", run.scenario, run.run);
    let how = if run.emulation.is_some() { "emulated" } else { "simulated" };
    let mut body = head(
        &title,
        &format!(
            "{how}, {} s, seed {}, run {}; lasthop {}",
            seconds(run.duration_s),
            run.seed,
            run.run,
            run.version
        ),
    );
    for warning in &run.warnings {
        let _ = write!(body, "<p><strong>Warning:</strong> {}.</p>", escaped(warning));
    }
    if run.emulation.as_ref().is_some_and(|emulation| emulation.late) {
        body.push_str(
            "<p><strong>Warning:</strong> the emulation was late too often: do not trust the \
             delays, and what follows from them.</p>",
        );
    }
    for (name, way) in run.emulation.iter().flat_map(|emulation| &emulation.ways) {
        if let Some(dropped) = ways::dropped(way) {
            let told = escaped(&format!("{name}: {dropped}"));
            let _ = write!(body, "<p><strong>Warning:</strong> {told}.</p>");
        }
    }
    let own = Own::new(run);
    body.push_str(&wrong(content));
    if let Some(figure) = causes(run) {
        let (heads, rows) = causes_table(run);
        let numbers = table("Parts of the delay, ms", &heads, 2, &rows);
        let numbers = format!("<details><summary>In numbers, ms</summary>{numbers}</details>");
        body.push_str(&section_with(&figure, &numbers));
    }
    if let Some(figure) = content.delays.and_then(|delays| distributions(delays, &own)) {
        body.push_str(&section(&figure));
    }
    match content.series {
        Some(series) => {
            let changes = content.scenario.map_or_else(Vec::new, |it| written_changes(it.text));
            body.push_str(&changed(&changes));
            let figures = over_time(series, &own)
                .into_iter()
                .map(|figure| marked(figure, &changes, run.duration_s));
            figures.for_each(|figure| body.push_str(&section(&figure)));
        }
        None => body.push_str(
            "<section><p class=\"muted\">There is no series.parquet, so nothing is shown over \
             time.</p></section>\n",
        ),
    }
    body.push_str(&programs(run));
    body.push_str(&flows(run));
    body.push_str(&taken(std::slice::from_ref(run)));
    body.push_str(&reassembly(run));
    body.push_str(&coded::links(run));
    body.push_str(&made_by(content));
    document(&title, &body)
}

/// Changes of a scenario that are listed, and marked in plots, at most.
const CHANGES_MAX: usize = 40;

/// The changes that were made during a run.
fn changed(changes: &[WrittenChange]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut items = String::new();
    for (at, keys) in changes.iter().take(CHANGES_MAX) {
        let keys: Vec<String> = keys
            .iter()
            .map(|(path, value)| format!("<code>{} = {}</code>", escaped(path), escaped(value)))
            .collect();
        let _ = write!(items, "<li>At {} s: {}</li>", seconds(at.as_secs_f64()), keys.join(", "));
    }
    let more = match changes.len().saturating_sub(CHANGES_MAX) {
        0 => String::new(),
        more => format!("<p>And {more} more, in the scenario.</p>"),
    };
    format!(
        "<section><h2>What was changed meanwhile</h2><p>Lines mark it in the plots below.</p>\
         <ul>{items}</ul>{more}</section>\n"
    )
}

/// A figure over time with a line at each change.
fn marked(mut figure: Figure, changes: &[WrittenChange], duration_s: f64) -> Figure {
    // As wide as can be seen.
    let width = duration_s / 250.0;
    let at = || changes.iter().take(CHANGES_MAX).map(|(at, _)| at.as_secs_f64());
    let mark = |panel: Panel| at().fold(panel, |panel, at| panel.shade(at, at + width, "changed"));
    figure.panels = figure.panels.into_iter().map(mark).collect();
    figure
}

/// A time in seconds in whole ms: emulations end at any ns.
fn seconds(time_s: f64) -> f64 {
    (time_s * 1e3).round() / 1e3
}

/// A number with about four digits.
fn short(value: f64) -> String {
    number(value, &[999.95, 99.995, 9.9995])
}

/// Style, title and a line below it.
fn head(title: &str, line: &str) -> String {
    format!(
        "<style>{STYLE}</style>\n<header><h1>{}</h1><p class=\"muted\">{}</p></header>\n",
        escaped(title),
        escaped(line)
    )
}

fn wrong(content: &Content<'_>) -> String {
    let found = findings(content.run);
    let mut out = String::from("<section id=\"findings\"><h2>What is wrong, worst first</h2>");
    if found.is_empty() {
        out.push_str("<p>Nothing that lasthop looks for.</p>");
    } else {
        out.push_str("<ol>");
        found
            .iter()
            .for_each(|finding| out.push_str(&told(finding, content.scenario, content.trials)));
        out.push_str("</ol>");
        out.push_str(&how_tried(content.trials, content.run));
    }
    out.push_str("</section>\n");
    out
}

/// Returns a finding with its remedy, and the trial or the reason why there is none.
fn told(finding: &Finding, scenario: Option<Source<'_>>, trials: &Trials) -> String {
    let mut remedies = Remedies::new(scenario.map_or("", |it| it.text));
    let finding = summary(finding, &mut remedies, trials);
    let mut out =
        format!("<li><h3>{}</h3><p>{}.</p>", escaped(&finding.title), escaped(&finding.sentence));
    if let (Some(scenario), false) = (scenario, finding.remedy.is_empty()) {
        let arguments: Vec<String> =
            finding.remedy.iter().map(|set| format!("--set {}", quoted(set))).collect();
        let (lead, numbers) = match (&finding.trial, &finding.not_tried) {
            (Some(trial), _) if trial.helps => ("Tried, and it helps:", brought(trial)),
            (Some(trial), _) => ("Tried, and it does not help:", brought(trial)),
            (None, why) => {
                let why = why.as_deref().map(|why| {
                    format!("<p class=\"muted\">Not tried, because {}.</p>", escaped(why))
                });
                ("Worth a try:", why.unwrap_or_default())
            }
        };
        let _ = write!(
            out,
            "<p class=\"muted\">{lead}</p><pre class=\"command\">lasthop simulate {} {}</pre>{numbers}",
            escaped(&quoted(scenario.path)),
            escaped(&arguments.join(" "))
        );
    }
    if let Some(device) = &finding.device {
        let _ = write!(out, "<p class=\"muted\">On real devices: {}.</p>", escaped(device));
    }
    out.push_str("</li>");
    out
}

/// The numbers without and with a remedy.
fn brought(trial: &TrialSummary) -> String {
    let number = |number: &TrialQuantity| {
        let [before, after] = [number.before, number.after].map(value);
        format!("{} {before} → <strong>{after}</strong> {}", escaped(&number.quantity), number.unit)
    };
    format!("<p>{}.</p>", trial.quantities.iter().map(number).collect::<Vec<_>>().join("; "))
}

/// A value of a trial with about three digits, or `nothing`.
pub fn value(value: Option<f64>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(value) if value < 99.95 => format!("{value:.1}"),
        Some(value) => format!("{value:.0}"),
    }
}

/// Returns the conditions of the trials; empty without trials.
fn how_tried(trials: &Trials, run: &RunDocument) -> String {
    // Trials that a document has noted do not say for how long they ran.
    if trials.trials.is_empty() || trials.duration_s == 0.0 {
        return String::new();
    }
    let shortened = if trials.is_shortened { ", shorter than the scenario" } else { "" };
    let emulated = match run.emulation {
        Some(_) => {
            " The run itself was emulated; both numbers are simulated, of the scenario's flows \
             alone, and the first may differ from what was measured."
        }
        None => "",
    };
    format!(
        "<p class=\"muted\">Each remedy was tried alone: without → with it, in virtual time, {} s \
         with seed {} and run {}{shortened}.{emulated}</p>",
        trials.duration_s, run.seed, run.run
    )
}

/// Returns the table of flows with fragments that did not become packets; empty without them.
fn reassembly(run: &RunDocument) -> String {
    let flows = run.flows.iter().map(|(name, flow)| {
        (name, flow.packets_sent, flow.packets_lost_by_reason.get(&LossReason::Reassembly))
    });
    let programs = run.programs.iter().map(|(name, flow)| {
        (name, flow.packets_sent, flow.packets_lost_by_reason.get(&LossReason::Reassembly))
    });
    let row = |(name, sent, lost): (&String, u64, Option<&u64>)| {
        let lost = *lost?;
        let share = format!("{:.1}", 100.0 * lost as f64 / sent.max(1) as f64);
        Some(vec![name.clone(), lost.to_string(), share])
    };
    let rows: Vec<Vec<String>> = flows.chain(programs).filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads = ["Flow", "Packets", "% of those sent"];
    format!(
        "<section><h2>Packets that were not reassembled</h2><p>Fragments of them arrived, and the \
         receiver had no room or no time left to put them together.</p>{}</section>\n",
        table("Packets that were not reassembled", &heads, 1, &rows)
    )
}

fn section(figure: &Figure) -> String {
    section_with(figure, "")
}

/// A figure with HTML below it.
fn section_with(figure: &Figure, below: &str) -> String {
    format!(
        "<section><h2>{}</h2><p>{}</p><figure class=\"plot\">{}</figure>{below}</section>\n",
        figure.title,
        escaped(&figure.shows),
        inline_svg(&figure.panels, &format!("{}. {}", figure.title, figure.shows))
    )
}

/// The numbers of flows of programs; of many, those with most packets.
fn programs(run: &RunDocument) -> String {
    const ROWS_MAX: usize = 32;
    if run.programs.is_empty() {
        return String::new();
    }
    let heads = ["Flow", "Sent by", "MB", "Delay, ms", "p99", "Lost", "of packets"];
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
    let mut programs: Vec<_> = run.programs.iter().collect();
    programs.sort_by_key(|(_, program)| std::cmp::Reverse(program.packets_sent));
    let rows = programs.iter().take(ROWS_MAX).map(|(name, program)| {
        vec![
            (*name).clone(),
            program.program.clone().unwrap_or_default(),
            format!("{:.3}", program.bytes_received as f64 / 1e6),
            number(program.one_way_delay_ms.map(|it| it.mean)),
            number(program.one_way_delay_ms.map(|it| it.p99)),
            program.packets_lost.to_string(),
            program.packets_sent.to_string(),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let left_out = if programs.len() > ROWS_MAX {
        format!("<p>The {ROWS_MAX} of {} flows with most packets.</p>", programs.len())
    } else {
        String::new()
    };
    let title = "Flows of programs";
    format!("<section><h2>{title}</h2>{}{left_out}</section>\n", table(title, &heads, 2, &rows))
}

/// The numbers of flows; of many, the first in the order of their names.
fn flows(run: &RunDocument) -> String {
    const ROWS_MAX: usize = 200;
    if run.flows.is_empty() {
        return String::new();
    }
    let heads = ["Flow", "Mb/s", "Delay, ms", "p99", "RTT, ms", "p99", "Lost", "of packets"];
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
    let rows = run.flows.iter().take(ROWS_MAX).map(|(name, flow)| {
        vec![
            name.clone(),
            number(flow.goodput_mbps),
            number(flow.one_way_delay_ms.map(|it| it.mean)),
            number(flow.one_way_delay_ms.map(|it| it.p99)),
            number(flow.rtt_ms.map(|it| it.mean)),
            number(flow.rtt_ms.map(|it| it.p99)),
            flow.packets_lost.to_string(),
            flow.packets_sent.to_string(),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let left_out = if run.flows.len() > ROWS_MAX {
        format!("<p>The first {ROWS_MAX} of {} flows.</p>", run.flows.len())
    } else {
        String::new()
    };
    let sentences = together::experiences(run).into_iter().flat_map(|(_, sentences)| sentences);
    let sentences = sentences.chain(together::groups(run)).chain(together::senders(run));
    let items: String = sentences.map(|it| format!("<li>{}</li>", escaped(&it))).collect();
    let list = if items.is_empty() { items } else { format!("<ul>{items}</ul>") };
    let table = table("Flows", &heads, 1, &rows);
    format!("<section><h2>Flows</h2>{table}{left_out}{list}</section>\n")
}

/// The links that packets took, in one run or as means over several; empty without devices of
/// several links.
fn taken(runs: &[RunDocument]) -> String {
    const ROWS_MAX: usize = 200;
    let rows: Vec<Vec<String>> = links::taken(runs).iter().map(links::LinkTaken::cells).collect();
    if rows.is_empty() {
        return String::new();
    }
    let means = match runs.len() {
        1 => String::new(),
        several => format!(" Means over {several} runs."),
    };
    let left_out = match rows.len().saturating_sub(ROWS_MAX) {
        0 => String::new(),
        _ => format!("<p>The first {ROWS_MAX} of {} rows.</p>", rows.len()),
    };
    format!(
        "<section><h2>{}</h2><p>{}{means}</p>{}{left_out}</section>\n",
        links::TITLE,
        links::MEANING,
        table(links::TITLE, &links::HEADS, 2, &rows[..rows.len().min(ROWS_MAX)])
    )
}

fn made_by(content: &Content<'_>) -> String {
    let run = content.run;
    let Some(scenario) = content.scenario else {
        return "<section><p class=\"muted\">There is no scenario.toml, so remedies and the \
                command that repeats the run are not shown.</p></section>\n"
            .to_owned();
    };
    let path = quoted(scenario.path);
    let (command, note) = match (&run.emulation, run.run) {
        (Some(_), _) => (
            format!("lasthop emulate {path}"),
            "<p>An emulation is not the same twice. A COMMAND that it ran is not in its files: \
             add it after --.</p>",
        ),
        (None, 0) => (format!("lasthop simulate {path}"), ""),
        (None, number) => (
            format!("lasthop simulate {path} --runs {}", number + 1),
            "<p>Runs are numbered from 0; this is the last of these.</p>",
        ),
    };
    let set = match &run.set[..] {
        [] => String::new(),
        sets => format!(
            "<p>It was made with {}, which the scenario below already has.</p>",
            sets.iter()
                .map(|set| format!("<code>{}</code>", escaped(set)))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    format!(
        "<section><h2>Made by</h2><pre class=\"command\">{}</pre>{note}{set}</section>\n{}",
        escaped(&command),
        scenario_text(scenario.text)
    )
}

/// The scenario, collapsed.
fn scenario_text(text: &str) -> String {
    format!(
        "<section><details><summary>The scenario</summary>{}</details></section>\n",
        preformatted("The scenario", text)
    )
}

/// `text` as one word of a shell.
pub fn quoted(text: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./=:,@%+".contains(it);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_files_is_escaped_and_quoted() {
        let json = r#"{"scenario": "<b>", "seed": 1, "run": 2, "duration_s": 1.0,
            "warmup_s": 0.0, "wall_s": 0.0, "version": "0", "flows": {}, "nodes": {},
            "links": {}, "set": ["a=<i>"]}"#;
        let run: RunDocument = serde_json::from_str(json).expect("a document");
        let scenario = Some(Source { path: "my dir/scenario.toml", text: "# </pre><script>" });
        let page = html(&Content {
            run: &run,
            series: None,
            delays: None,
            scenario,
            trials: &Trials::default(),
        });
        assert!(!page.contains("<script>") && !page.contains("<b>") && !page.contains("<i>"));
        assert!(page.contains("lasthop simulate 'my dir/scenario.toml' --runs 3"), "{page}");
        assert!(page.contains("Nothing that lasthop looks for."));
        let numbers = [1234.5, 123.45, 12.345, 1.2345, 0.0].map(short);
        assert_eq!(numbers, ["1234", "123.5", "12.35", "1.234", "0.000"].map(str::to_owned));
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("node.ap.queue.kind=fq-codel"), "node.ap.queue.kind=fq-codel");
    }
}
