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
    assert_eq!(set.runs[0].findings, run.findings, "{scenario}");
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
    // Whether a remedy helps is said alike, by those who tried it.
    let helps = |place: &String| {
        let tried =
            place.find("Tried, and it ").map(|at| place[at..].starts_with("Tried, and it helps"));
        (!first.remedy.is_empty()).then_some(tried).flatten()
    };
    if let Some(helps_there) = helps(&places[0]) {
        places.iter().for_each(|place| assert_eq!(helps(place), Some(helps_there), "{scenario}"));
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
        fs::write(&file, Draw::new(number).text(None)).expect("it is written");
        let found = check(file.to_str().expect("text"), &["--set", "duration=10s"]);
        healthy += usize::from(found.is_empty());
    }
    assert!(healthy < 8, "{healthy} of 12 have nothing to compare");
}
