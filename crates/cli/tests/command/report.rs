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
    // The remedy is not proposed again; what still waits is the upload's own packets.
    let remedied = ["--set", "node.laptop.queue.kind=fq-codel"];
    output(
        &[&["simulate", "scenarios/upload.toml", "--out", scratch.text()], &remedied[..]].concat(),
    );
    let other = scratch.path().join("other.html");
    output(&["report", scratch.text(), "-o", other.to_str().expect("text")]);
    let page = fs::read_to_string(other).expect("it is there");
    assert!(page.contains("Packets of upload wait 19 ms"), "{page}");
    assert!(!page.contains("Worth a try"), "{page}");
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
