//! Findings as text: those of the document of a run, worst first, each with its remedy in the
//! model, the result of its trial or the reason why it was not tried, and the remedy for real
//! devices.

use crate::console::{self, Stream};
use crate::table::wrapped;
use lasthop_report::finding::often;
use lasthop_report::page::{quoted, value};
use lasthop_trace::{FindingSummary, RunDocument, TrialQuantity, TrialSummary};
use std::fmt::Write;

/// Longest line of a sentence, in columns.
const WIDTH_MAX: usize = 100;
/// Title of the section, the same as on the page.
pub const TITLE: &str = "What is wrong, worst first";

/// Returns the findings of a run. `command` precedes the arguments of a remedy.
pub fn of_run(run: &RunDocument, command: &str, stream: Stream) -> String {
    let mut out = String::new();
    for (index, finding) in run.findings.iter().enumerate() {
        out.push_str(&told(index + 1, finding, "", command, stream));
    }
    or_nothing(out)
}

/// Returns the findings of several runs: of each kind, the one with the greatest weight.
pub fn of_set(runs: &[RunDocument], command: &str, stream: Stream) -> String {
    let mut out = String::new();
    for (index, often) in often(runs).iter().enumerate() {
        let kind = often.finding.kind.as_str();
        let run = runs.iter().find(|run| run.run == often.run);
        let finding = run.and_then(|run| run.findings.iter().find(|it| it.kind == kind));
        let Some(finding) = finding else { continue };
        let note = format!("In {} of {} runs; in run {}: ", often.runs, runs.len(), often.run);
        out.push_str(&told(index + 1, finding, &note, command, stream));
    }
    or_nothing(out)
}

fn or_nothing(out: String) -> String {
    if out.is_empty() { "  nothing that lasthop looks for\n".to_owned() } else { out }
}

/// Length of a line of sentences, in columns.
pub fn width() -> usize {
    console::width().min(WIDTH_MAX)
}

fn told(
    index: usize,
    finding: &FindingSummary,
    note: &str,
    command: &str,
    stream: Stream,
) -> String {
    let text = format!("{}. {note}{}.", finding.title, finding.sentence);
    let mut out = wrapped(&format!("{index:>3}. "), &text, width());
    let mut below = Vec::new();
    if !finding.remedy.is_empty() {
        let sets: Vec<String> =
            finding.remedy.iter().map(|set| format!("--set {}", quoted(set))).collect();
        let lead = match &finding.trial {
            None => "Worth a try:",
            Some(trial) if trial.helps => "Tried, and it helps:",
            Some(_) => "Tried, and it does not help:",
        };
        below.push(format!("{lead} {command}{}", sets.join(" ")));
        below.extend(finding.trial.as_ref().map(brought));
        below.extend(finding.not_tried.as_ref().map(|why| format!("Not tried, because {why}.")));
    }
    below.extend(finding.device.as_ref().map(|device| format!("On real devices: {device}.")));
    for line in below {
        for line in wrapped("     ", &line, width()).lines() {
            let _ = writeln!(out, "{}", stream.dim(line));
        }
    }
    out
}

/// Returns the numbers without and with a remedy.
fn brought(trial: &TrialSummary) -> String {
    let number = |number: &TrialQuantity| {
        let [before, after] = [number.before, number.after].map(value);
        format!("{} {after} {} (before: {before})", number.quantity, number.unit)
    };
    format!("{}.", trial.quantities.iter().map(number).collect::<Vec<_>>().join("; "))
}
