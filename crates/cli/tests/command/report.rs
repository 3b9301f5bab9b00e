//! `lasthop report`: the page of a run that `simulate` wrote, and folders that have none.

use crate::lasthop::{Scratch, output, run};
use std::fs;

fn error(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_page_says_what_is_wrong_and_needs_nothing_else() {
    let scratch = Scratch::new("report");
    output(&["simulate", "scenarios/upload.toml", "--out", scratch.text()]);
    let file = scratch.path().join("report.html");
    assert_eq!(output(&["report", scratch.text()]), format!("{}\n", file.display()));
    let page = fs::read_to_string(&file).expect("it is there");
    assert!(page.contains("A queue that is too long (bufferbloat)"), "{page}");
    assert!(page.contains("--set node.laptop.queue.kind=fq-codel"));
    assert!(page.contains("name = &quot;upload&quot;"), "the scenario is on it");
    for title in ["Where the delay went", "Throughput", "Round-trip time", "Queues", "Airtime"] {
        assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
    for outside in ["http:", "https:", "<script", "<link", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("Tried, and it helps:"), "{page}");
    let delays = numbers(&page, "ping, 99 % of its round trips take at most");
    assert!(delays[0] > 1_000.0 && delays[1] < 60.0, "{delays:?}");
    let carried = numbers(&page, "upload carries");
    assert!(carried.iter().all(|mbps| (4.0..7.0).contains(mbps)), "{carried:?}");
    output(&["report", scratch.text(), "--no-trials"]);
    let untried = fs::read_to_string(&file).expect("it is there");
    assert!(untried.contains("Worth a try:") && !untried.contains("Tried"));
    // What still waits with it is the upload's own packets, in their own queue.
    let remedied = ["--set", "node.laptop.queue.kind=fq-codel"];
    output(
        &[&["simulate", "scenarios/upload.toml", "--out", scratch.text()], &remedied[..]].concat(),
    );
    let other = scratch.path().join("other.html");
    output(&["report", scratch.text(), "-o", other.to_str().expect("text")]);
    let page = fs::read_to_string(other).expect("it is there");
    assert!(page.contains("Nothing that lasthop looks for"), "{page}");
}

/// The numbers without and with a remedy behind `what`.
fn numbers(page: &str, what: &str) -> [f64; 2] {
    let (_, rest) = page.split_once(what).expect("it is there");
    let (before, rest) = rest.split_once(" → <strong>").expect("two numbers");
    let (after, _) = rest.split_once("</strong>").expect("two numbers");
    [before, after].map(|number| number.trim().parse().expect("a number"))
}

#[test]
fn udp_that_offers_too_much_is_no_bufferbloat() {
    let scratch = Scratch::new("report-overload");
    output(&["simulate", "scenarios/edca.toml", "--out", scratch.text()]);
    output(&["report", scratch.text()]);
    let page = fs::read_to_string(scratch.path().join("report.html")).expect("it is there");
    assert!(page.contains("More is offered than the hop carries"), "{page}");
    assert!(page.contains("bulk offers") && !page.contains("bufferbloat"), "{page}");
    assert!(!page.contains("fq-codel=") && !page.contains("queue.kind="), "{page}");
}

#[test]
fn a_run_of_several_has_its_scenario_above() {
    let scratch = Scratch::new("report-several");
    let several = ["--runs", "2", "--out", scratch.text()];
    output(&[&["simulate", "scenarios/doze.toml", "--set", "duration=5s"], &several[..]].concat());
    let message = error(&["report", scratch.text()]);
    assert!(message.contains("holds several runs; expected one of them"), "{message}");
    let second = scratch.path().join("run-1");
    output(&["report", second.to_str().expect("text")]);
    let page = fs::read_to_string(second.join("report.html")).expect("it is there");
    assert!(page.contains("A station that saves power"));
    assert!(page.contains("scenario.toml --runs 2</pre>"));
}

#[test]
fn what_is_no_run_or_broken_is_an_error() {
    let scratch = Scratch::new("report-broken");
    let missing = scratch.path().join("missing");
    let missing = missing.to_str().expect("text");
    assert!(error(&["report", missing]).contains("missing: expected the directory of a run"));
    fs::create_dir_all(scratch.path()).expect("a directory");
    let message = error(&["report", scratch.text()]);
    assert!(message.contains("there is no run.json"), "{message}");
    output(&["simulate", "scenarios/doze.toml", "--set", "duration=2s", "--out", scratch.text()]);
    let file = |name: &str| scratch.path().join(name);
    let series = fs::read(file("series.parquet")).expect("it is there");
    fs::write(file("series.parquet"), &series[..series.len() / 2]).expect("written");
    let message = error(&["report", scratch.text()]);
    assert!(message.contains("series.parquet: expected a whole Parquet file"), "{message}");
    let json = fs::read(file("run.json")).expect("it is there");
    fs::write(file("run.json"), &json[..json.len() / 2]).expect("written");
    let message = error(&["report", scratch.text()]);
    assert!(message.contains("run.json: expected the summary of a run: EOF"), "{message}");
    fs::write(file("run.json"), &json).expect("written");
    fs::remove_file(file("series.parquet")).expect("removed");
    let message = error(&["report", scratch.text(), "-o", scratch.text()]);
    assert!(message.contains("expected the path of a file, not of a directory"), "{message}");
    assert!(!file("report.html").exists());
    fs::remove_file(file("scenario.toml")).expect("removed");
    output(&["report", scratch.text()]);
    let page = fs::read_to_string(file("report.html")).expect("it is there");
    assert!(
        page.contains("There is no series.parquet") && page.contains("There is no scenario.toml")
    );
}
