//! The findings of a run are the same everywhere: on the terminal of `simulate` and of `report`, in
//! `run.json` and `--json`, and on the pages of both. Over shipped scenarios and over draws of the
//! crate `report` that no test there uses.

#[path = "../../../report/tests/drawn/draw.rs"]
mod draw;

use crate::lasthop::{Scratch, output};
use draw::Draw;
use lasthop_trace::{FindingSummary, RunDocument, RunSet};
use std::fs;

/// Text without line breaks and indentation.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The findings on a terminal: of all of them, each title and sentence as they are there.
fn on_terminal(text: &str) -> String {
    let (_, found) = text.split_once("What is wrong, worst first\n").expect("the heading");
    flat(found)
}

/// The findings of a page as the terminal has them.
fn on_page(page: &str) -> String {
    let (_, found) = page.split_once("<section id=\"findings\">").expect("the section");
    let (found, _) = found.split_once("</section>").expect("its end");
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let text = found.replace("</h3><p>", ". ").replace("</p>", " ").replace("</pre>", " ");
    let mut plain = String::new();
    let mut is_tag = false;
    for character in text.chars() {
        match character {
            '<' => is_tag = true,
            '>' => is_tag = false,
            it if !is_tag => plain.push(it),
            _ => {}
        }
    }
    flat(&marks.iter().fold(plain, |text, (mark, plain)| text.replace(mark, plain)))
}

/// Checks all places against the document; returns its findings.
fn check(scenario: &str, sets: &[&str]) -> Vec<FindingSummary> {
    let name = scenario.rsplit('/').next().expect("a split has at least one part");
    let scratch = Scratch::new(&format!("findings-{name}"));
    let simulate = [&["simulate", scenario], sets].concat();
    let terminal = output(&[&simulate[..], &["--out", scratch.text()]].concat());
    let read = |name: &str| fs::read_to_string(scratch.path().join(name)).expect("it is there");
    let run: RunDocument = serde_json::from_str(&read("run.json")).expect("a document");
    let set: RunSet = serde_json::from_str(&output(&[&simulate[..], &["--json"]].concat()))
        .expect("a document of runs");
    let untried = |findings: &[FindingSummary]| {
        let untried = |finding: &FindingSummary| FindingSummary {
            trial: None,
            not_tried: None,
            ..finding.clone()
        };
        findings.iter().map(untried).collect::<Vec<_>>()
    };
    assert_eq!(untried(&set.runs[0].findings), untried(&run.findings), "{scenario}");
    let page = on_page(&read("report.html"));
    let report = output(&["report", scratch.text()]);
    let places =
        [on_terminal(&terminal), page, on_terminal(&report), on_page(&read("report.html"))];
    let Some(first) = run.findings.first() else {
        for place in &places {
            assert!(place.to_lowercase().contains("nothing that lasthop looks for"), "{place}");
        }
        return Vec::new();
    };
    let sentence = format!("{}. {}.", first.title, first.sentence);
    for (number, place) in places.iter().enumerate() {
        let place = place.trim_start_matches("What is wrong, worst first").trim_start();
        let place = place.trim_start_matches("1. ");
        assert!(place.starts_with(&sentence), "{scenario}, {number}: {sentence}\n{place}");
        let first = match place.split_once(" 2. ") {
            Some((first, _)) if number % 2 == 0 => first,
            _ => place,
        };
        for set in &run.findings[0].remedy {
            let is_there = first.contains(set) || first.contains(&set.replace('"', "\\\""));
            assert!(is_there, "{scenario}, {number}: {set}\n{place}");
        }
    }
    // A remedy says what it brought, or why it was not tried; `simulate` and `report` may differ in
    // that they tried it, and then the remedy helps in both or in none.
    let helps = |place: &String| {
        let tried =
            place.find("Tried, and it ").map(|at| place[at..].starts_with("Tried, and it helps"));
        (!first.remedy.is_empty()).then_some(tried).flatten()
    };
    for (number, place) in places.iter().enumerate() {
        let says = place.contains("Tried, and it ") || place.contains("Not tried, because ");
        assert!(first.remedy.is_empty() || says, "{scenario}, {number}: {place}");
    }
    if let Some(helps_there) = helps(&places[0]) {
        places.iter().for_each(|place| assert_eq!(helps(place), Some(helps_there), "{scenario}"));
    }
    for finding in &run.findings {
        let is_said = finding.trial.is_some() != finding.not_tried.is_some();
        assert_eq!(is_said, !finding.remedy.is_empty(), "{scenario}: {finding:?}");
        assert_eq!(finding.trial.as_ref().map(|trial| trial.helps), {
            let is_first = finding.sentence == first.sentence;
            if is_first { helps(&places[0]) } else { finding.trial.as_ref().map(|it| it.helps) }
        });
    }
    for finding in &set.runs[0].findings {
        assert!(finding.trial.is_none(), "{scenario}: simulate --json tries none");
        assert_eq!(finding.not_tried.is_some(), !finding.remedy.is_empty(), "{scenario}");
    }
    run.findings
}

#[test]
fn shipped_scenarios_have_the_same_first_finding_everywhere() {
    let short = ["--set", "duration=4s"];
    for (name, kind) in [
        ("hello", "overload"),
        ("hidden", "contention"),
        ("contention", "contention"),
        ("edca", "overload"),
        ("upload", "own_queue"),
    ] {
        let found = check(&format!("scenarios/{name}.toml"), &short);
        assert_eq!(found[0].kind, kind, "{name}: {found:?}");
    }
    check("scenarios/apartment.toml", &short);
}

#[test]
fn drawn_scenarios_have_the_same_first_finding_everywhere() {
    let scratch = Scratch::new("findings-drawn");
    fs::create_dir_all(scratch.path()).expect("a folder");
    let file = scratch.path().join("drawn.toml");
    let mut healthy = 0;
    for number in 4_000..4_012 {
        let draw = Draw::new(number);
        fs::write(&file, draw.text(None)).expect("it is written");
        let found = check(file.to_str().expect("text"), &["--set", "duration=10s"]);
        let is_length = draw.has_long_line() && found.iter().any(|it| it.kind == "wire");
        assert!(!is_length, "the length of a line is no fault: {found:?}");
        healthy += usize::from(found.is_empty());
    }
    assert!(healthy < 8, "{healthy} of 12 have nothing to compare");
}
