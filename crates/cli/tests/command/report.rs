//! `lasthop report`: the page of a run that `simulate` wrote, and folders that have none.

use crate::lasthop::{Scratch, output, run};
use lasthop_trace::{Delays, Histogram, RunDocument, TimeSummary};
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
    let printed = output(&["simulate", "scenarios/upload.toml", "--out", scratch.text()]);
    let file = scratch.path().join("report.html");
    assert!(printed.ends_with(&format!("\nReport: {}\n", file.display())), "{printed}");
    let added = fs::read_to_string(&file).expect("it is there");
    output(&["report", scratch.text(), "--no-trials"]);
    let untried = fs::read_to_string(&file).expect("it is there");
    assert!(untried.contains("Worth a try:") && !untried.contains("Tried"));
    assert!(untried.contains("Not tried, because --no-trials leaves trials out."), "{untried}");
    let told = output(&["report", scratch.text()]);
    assert!(
        told.starts_with("What is wrong, worst first\n  1. A queue that is too long"),
        "{told}"
    );
    assert!(told.ends_with(&format!("\nReport: {}\n", file.display())), "{told}");
    let page = fs::read_to_string(&file).expect("it is there");
    assert!(page == added, "simulate tries its remedies, too");
    assert!(page.contains("A queue that is too long (bufferbloat)"), "{page}");
    assert!(page.contains("--set node.laptop.queue.kind=fq-codel"));
    assert!(page.contains("name = &quot;upload&quot;"), "the scenario is on it");
    let titles = [
        "Where the delay went",
        "How delays are distributed",
        "Throughput",
        "Round-trip time",
        "Queues",
        "Who held the air",
        "Aggregates",
    ];
    for title in titles {
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

/// The page's distributions, drawn from `events.parquet`, are those of `run.json`: packets from the
/// sender to the receiver only, after the warm-up.
#[test]
fn distributions_are_those_of_the_summary() {
    let scratch = Scratch::new("report-delays");
    let warm = ["simulate", "upload", "--set", "duration=6s", "--set", "warmup=1s"];
    output(&[&warm[..], &["--out", scratch.text()]].concat());
    let json = fs::read_to_string(scratch.path().join("run.json")).expect("it is there");
    let run: RunDocument = serde_json::from_str(&json).expect("a summary");
    let events = scratch.path().join("events.parquet");
    let delays = Delays::read(&events, run.warmup_s).expect("events");
    let told = |of: &Histogram| {
        let [p50, p95, p99] =
            [0.5, 0.95, 0.99].map(|q| of.quantile(q).expect("values") as f64 / 1e6);
        (p50, p95, p99, of.max().expect("values") as f64 / 1e6)
    };
    for (name, flow) in &run.flows {
        let summary = |of: Option<TimeSummary>| {
            of.map(|of| (of.p50, of.p95, of.p99, of.max)).expect("packets arrived")
        };
        assert_eq!(told(&delays.one_way[name]), summary(flow.one_way_delay_ms), "{name}");
        assert_eq!(told(&delays.round_trips[name]), summary(flow.rtt_ms), "{name}");
    }
    assert_eq!((run.warmup_s, run.flows.len(), delays.every), (1.0, 2, 1));
}

#[test]
fn a_run_of_several_has_its_scenario_above() {
    let scratch = Scratch::new("report-several");
    let several = ["--runs", "2", "--out", scratch.text()];
    output(&[&["simulate", "scenarios/doze.toml", "--set", "duration=5s"], &several[..]].concat());
    let page = fs::read_to_string(scratch.path().join("report.html")).expect("it is there");
    assert!(page.contains("doze: 2 runs") && page.contains("In 2 of 2 runs"), "{page}");
    assert!(page.contains("How runs differ") && page.contains("Means over all runs"), "{page}");
    assert!(page.contains("scenario.toml --runs 2</pre>"));
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
    assert!(error(&["report", missing]).contains("missing: there is no such folder; expected"));
    fs::create_dir_all(scratch.path()).expect("a directory");
    let message = error(&["report", scratch.text()]);
    for needed in ["run.json (simulate", "runs.json", "comparison.json", "apq.json", "sweep.json"] {
        assert!(message.contains(needed), "{message}");
    }
    output(&["simulate", "scenarios/doze.toml", "--set", "duration=2s", "--out", scratch.text()]);
    let file = |name: &str| scratch.path().join(name);
    let series = fs::read(file("series.parquet")).expect("it is there");
    fs::write(file("series.parquet"), &series[..series.len() / 2]).expect("written");
    let message = error(&["report", scratch.text()]);
    assert!(message.contains("series.parquet: expected a whole Parquet file"), "{message}");
    fs::write(file("series.parquet"), &series).expect("written");
    let events = fs::read(file("events.parquet")).expect("it is there");
    fs::write(file("events.parquet"), &events[..events.len() / 2]).expect("written");
    let message = error(&["report", scratch.text()]);
    assert!(message.contains("events.parquet: expected a whole Parquet file"), "{message}");
    fs::remove_file(file("events.parquet")).expect("removed");
    let json = fs::read(file("run.json")).expect("it is there");
    fs::write(file("run.json"), &json[..json.len() / 2]).expect("written");
    let message = error(&["report", scratch.text()]);
    assert!(message.contains("run.json: expected the summary of a run: EOF"), "{message}");
    fs::write(file("run.json"), &json).expect("written");
    fs::remove_file(file("series.parquet")).expect("removed");
    let message = error(&["report", scratch.text(), "-o", scratch.text()]);
    assert!(message.contains("expected the path of a file, not of a directory"), "{message}");
    fs::remove_file(file("scenario.toml")).expect("removed");
    output(&["report", scratch.text()]);
    let page = fs::read_to_string(file("report.html")).expect("it is there");
    assert!(
        page.contains("There is no series.parquet") && page.contains("There is no scenario.toml")
    );
}

#[test]
fn folders_are_shown_beside_each_other() {
    let scratch = Scratch::new("report-beside");
    let folder = |name: &str| scratch.path().join(name).display().to_string();
    let (before, after) = (folder("before"), folder("after"));
    let short = ["simulate", "upload", "--set", "duration=5s"];
    output(&[&short[..], &["--out", &before]].concat());
    let set = ["--set", "node.laptop.queue.kind=fq-codel", "--out", &after];
    output(&[&short[..], &set[..]].concat());
    let message = error(&["report", &before, &after]);
    assert!(message.contains("several folders: expected --output FILE"), "{message}");
    let file = folder("both.html");
    output(&["report", &before, &after, "-o", &file]);
    let page = fs::read_to_string(&file).expect("it is there");
    assert!(page.contains("What differs") && page.contains("Change</th>"), "{page}");
    assert!(page.contains("with duration=5s, node.laptop.queue.kind=fq-codel"), "{page}");
    let sweep = folder("sweep");
    let vary = ["sweep", "hello", "--set", "duration=1s", "--vary", "seed=1,2", "--out", &sweep];
    assert!(run(&vary).status.success());
    let message = error(&["report", &before, &sweep, "-o", &file]);
    assert!(message.contains("only these are shown beside each other"), "{message}");
    output(&["report", &sweep]);
    let page = |name: &str| fs::read(scratch.path().join("sweep").join(name)).expect("a page");
    assert_eq!(page("report.html"), page("index.html"), "a sweep has its page");
    fs::remove_file(scratch.path().join("sweep/index.html")).expect("removed");
    let message = error(&["report", &sweep]);
    assert!(message.contains("lasthop sweep --merge DIR makes it"), "{message}");
}

/// The example of the page on reports is what the command prints.
#[test]
fn the_example_of_the_documentation_is_printed() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let (_, example) = page.split_once("```\nWhat is wrong, worst first\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let scratch = Scratch::new("report-example");
    output(&["simulate", "upload", "--out", scratch.text()]);
    let printed = output(&["report", scratch.text()]).replace(scratch.text(), "before");
    let (_, printed) = printed.split_once("What is wrong, worst first\n").expect("the heading");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(printed), words(example));
}

/// The page without its plots, tables and scenario, which the data make.
#[test]
fn a_page_without_data_is_small() {
    let scratch = Scratch::new("report-size");
    output(&["simulate", "contention", "--set", "duration=2s", "--out", scratch.text()]);
    let page = fs::read_to_string(scratch.path().join("report.html")).expect("it is there");
    let mut frame = page.len();
    for (begin, end) in [("<svg", "</svg>"), ("<tbody", "</tbody>"), ("<pre", "</pre>")] {
        let parts = page.split(begin).skip(1);
        frame -= parts.map(|part| part.find(end).expect("it ends")).sum::<usize>();
    }
    assert!(frame < 150_000, "{frame} of {} bytes", page.len());
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn a_page_can_be_used_without_a_mouse_and_without_eyes() {
    let scratch = Scratch::new("report-access");
    output(&["simulate", "scan", "--set", "duration=12s", "--out", scratch.text()]);
    let page = fs::read_to_string(scratch.path().join("report.html")).expect("it is there");
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"), "a language");
    let mut level = 0;
    for (at, _) in page.match_indices("<h") {
        let Some(next) = page[at + 2..].chars().next().and_then(|it| it.to_digit(10)) else {
            continue;
        };
        assert!(next <= level + 1, "a heading of level {next} below one of {level}");
        level = next;
    }
    assert_eq!(page.matches("<h1").count(), 1);
    let of = |tag: &str| {
        page.match_indices(tag)
            .map(|(at, _)| page[at..].split('>').next().expect("a tag").to_owned())
            .collect::<Vec<_>>()
    };
    assert!(!of("<svg").is_empty() && !of("<table").is_empty());
    for tag in of("<svg") {
        assert!(tag.contains("role=\"img\"") && tag.contains("aria-label=\""), "{tag}");
    }
    for tag in of("<th ") {
        assert!(tag.contains("scope=\"col\"") || tag.contains("scope=\"row\""), "{tag}");
    }
    assert!(!page.contains("<th>"));
    for tag in of("<div class=\"scroll\"") {
        assert!(tag.contains("tabindex=\"0\"") && tag.contains("aria-label=\""), "{tag}");
    }
}
