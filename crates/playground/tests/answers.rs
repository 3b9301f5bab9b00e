//! Runs in chunks against `lasthop_sim::record`, which the command uses; knobs against the
//! scenarios that ship.

use lasthop_playground::job::{Job, run};
use lasthop_playground::knobs::{self, Control};
use lasthop_playground::{Request, answer::Answer};
use lasthop_scenario::parse;
use lasthop_trace::{Recorder, RunDocument};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

fn request(name: &str, sets: &[&str]) -> Request {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
    let text = fs::read_to_string(path).expect("it ships");
    let sets = sets.iter().map(|&set| set.to_owned()).collect();
    Request { file: format!("{name}.toml"), text, sets, run: 0 }
}

fn document(request: &Request) -> String {
    let scenario = parse(&request.file, &request.text, &request.sets).expect("it is right");
    let recorder = Recorder::new(lasthop_sim::names(&scenario), lasthop_sim::recording(&scenario));
    let on = &mut |_| ControlFlow::Continue(());
    let document = lasthop_sim::record(&scenario, request.run, recorder, on).expect("it runs");
    RunDocument { wall_s: 0.0, ..document }.to_json()
}

fn in_chunks(request: &Request, seconds: f64) -> Answer {
    let mut job = Job::new(request).expect("it is right");
    let mut done = job.done();
    while job.advance(seconds) {
        assert!(job.done() > done && job.done() < 1.0, "it goes on");
        done = job.done();
    }
    job.finish()
}

/// One of each kind: UDP, TCP, scans, power save, a place, a coded link, and a measurement, which
/// ends before the run.
#[test]
fn the_document_is_that_of_the_command() {
    let cases: [(&str, &[&str]); 8] = [
        ("hello", &["duration=1s"]),
        ("upload", &["duration=6s", "node.laptop.queue.kind=codel", "seed=9"]),
        ("scan", &["duration=5s"]),
        ("doze", &["duration=3s"]),
        ("contention", &["duration=1s", "node.sta.count=3"]),
        ("places/train", &["duration=3s"]),
        ("franc", &["duration=2s"]),
        ("apq", &[]),
    ];
    for (name, sets) in cases {
        let request = Request { run: 2, ..request(name, sets) };
        let expected = document(&request);
        for seconds in [0.37, 1e9] {
            assert!(in_chunks(&request, seconds).document == expected, "{name} by {seconds} s");
        }
    }
}

#[test]
fn the_parts_of_a_delay_add_up() {
    let answer = run(&request("upload", &["duration=8s"])).expect("it is right");
    let flow = answer.flows.iter().find(|flow| flow.name == "upload").expect("it is there");
    let parts = &flow.parts_ms;
    let mut compared = 0;
    for (index, delay) in flow.delay_ms.iter().enumerate() {
        let columns = [
            &parts.queue,
            &parts.away,
            &parts.asleep,
            &parts.contention,
            &parts.retries,
            &parts.air,
            &parts.reorder,
            &parts.other,
            &parts.wire,
        ];
        let sum: f64 = columns.iter().filter_map(|column| column[index]).sum();
        let Some(delay) = delay else {
            assert!(parts.queue[index].is_none(), "nothing arrived in interval {index}");
            continue;
        };
        assert!((sum - delay).abs() < 0.01 + 0.001 * delay, "{sum} of {delay} ms in {index}");
        compared += 1;
    }
    assert!(compared > 20);
    let curve = &flow.delay_curve;
    assert!(curve.ms.is_sorted() && curve.share.is_sorted() && curve.ms.len() > 50);
}

#[test]
fn findings_have_remedies_that_help() {
    let request = request("upload", &["duration=15s"]);
    let answer = run(&request).expect("it is right");
    let finding = answer.findings.first().expect("its queue is too long");
    assert_eq!(finding.kind, "own_queue");
    assert!(!finding.remedy.is_empty(), "the scenario takes it");
    let better = Request { sets: [request.sets, finding.remedy.clone()].concat(), ..request };
    let better = run(&better).expect("it is right");
    let p99 = |answer: &Answer| {
        let document: RunDocument = serde_json::from_str(&answer.document).expect("a document");
        document.flows["ping"].rtt_ms.expect("it was answered").p99
    };
    assert!(p99(&better) < p99(&answer) / 2.0);
}

#[test]
fn what_is_wrong_is_said_as_the_command_says_it() {
    let wrong = |text: &str, sets: &[&str]| {
        let sets = sets.iter().map(|&set| set.to_owned()).collect();
        let request = Request { file: "mine.toml".to_owned(), text: text.to_owned(), sets, run: 0 };
        Job::new(&request).expect_err("it is wrong")
    };
    let node = "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n";
    let text = format!("{node}[[node]]\nname = \"sta\"\nrole = \"statoin\"\n");
    let expected = parse("mine.toml", &text, &[]).expect_err("it is wrong").to_string();
    assert_eq!(wrong(&text, &[]), expected);
    assert!(expected.starts_with("mine.toml:6: node.sta.role: "), "{expected}");
    assert!(wrong(node, &["channel.width=41MHz"]).starts_with("--set channel.width=41MHz: "));
    assert!(wrong(node, &["duration=25h"]).contains("expected at most 86400 s here, got 90000 s"));
    let small = wrong(node, &["duration=2h", "series_interval=1ms"]);
    assert!(small.contains("series_interval: expected one with at most"), "{small}");
    assert!(wrong("x = ", &[]).starts_with("mine.toml:1"));
}

#[test]
fn knobs_are_there_where_they_change_something() {
    let paths = |name: &str| -> Vec<String> {
        let knobs = knobs::for_request(&request(name, &[])).expect("it is right").knobs;
        knobs.into_iter().map(|knob| knob.path).collect()
    };
    let hello = paths("hello");
    for path in
        ["node.laptop.position", "node.laptop.queue.kind", "node.laptop.queue.packets", "seed"]
    {
        assert!(hello.iter().any(|it| it == path), "{path} is not in {hello:?}");
    }
    assert!(hello.iter().all(|path| !path.ends_with("count")), "its flow names the laptop");
    assert!(paths("contention").iter().any(|path| path == "node.sta.count"));
    assert!(paths("upload").iter().any(|path| path == "wire.server-ap.delay"));
    assert!(hello.iter().any(|path| path == "link"));
    assert!(paths("places/edge-of-cell").iter().any(|path| path == "link.0.snr"));
    assert!(paths("places/home").iter().any(|path| path == "wire.ap-server.down.rate"));
}

/// A knob set to its shown value gives the same scenario.
#[test]
fn a_knob_shows_what_is_set() {
    let mut compared = 0;
    for name in ["hello", "upload", "contention", "places/cafe", "places/hotel", "scan"] {
        let request = request(name, &[]);
        let scenario = parse(&request.file, &request.text, &[]).expect("it is right");
        for knob in knobs::for_request(&request).expect("it is right").knobs {
            let now = match &knob.control {
                Control::Range { now, line, .. } if line.is_none() => now.to_string(),
                Control::Choice { now: Some(now), .. } => now.clone(),
                _ => continue,
            };
            // A loss of nothing replaces the error model.
            if knob.path == "link" {
                continue;
            }
            let set = format!("{}={}", knob.path, knob.value.replace('$', &now));
            let same = parse(&request.file, &request.text, std::slice::from_ref(&set));
            let same = same.unwrap_or_else(|why| panic!("{why}"));
            assert!(same.network == scenario.network, "{name}: {set}");
            assert!((same.seed, same.duration) == (scenario.seed, scenario.duration), "{set}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}
