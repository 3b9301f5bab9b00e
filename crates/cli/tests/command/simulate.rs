//! `lasthop simulate`: equal seeds give equal bytes; and which files are written where.

use crate::lasthop::{Scratch, lasthop, names, output};

const CONTENTION: &str = "scenarios/contention.toml";
const HELLO: &str = "scenarios/hello.toml";
const SHORT: &str = "duration=300ms";

/// A document without the only key that depends on the machine.
fn without_wall(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("\"wall_s\""));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn threads_change_nothing() {
    let of = |threads| {
        let several = ["simulate", CONTENTION, "--set", SHORT, "--runs", "5", "--json"];
        output(&[&several[..], &["--threads", threads]].concat())
    };
    let one = of("1");
    assert_eq!(without_wall(&one), without_wall(&of("2")));
    assert_eq!(without_wall(&one), without_wall(&of("7")));
    let set: serde_json::Value = serde_json::from_str(&one).expect("JSON");
    let runs = set["runs"].as_array().expect("the runs");
    let numbers: Vec<_> = runs.iter().map(|run| run["run"].as_u64().expect("a number")).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    assert_ne!(runs[0]["flows"], runs[1]["flows"], "runs are independent");
}

#[test]
fn a_seed_is_a_result() {
    let of = |seed| {
        without_wall(&output(&["simulate", CONTENTION, "--set", SHORT, "--json", "--seed", seed]))
    };
    assert_eq!(of("3"), of("3"));
    assert_ne!(of("3"), of("4"));
}

/// `LASTHOP_OTHER_BUILD` is the path of the binary of the other profile.
#[test]
fn debug_and_release_agree() {
    let Some(other) = std::env::var_os("LASTHOP_OTHER_BUILD") else {
        eprintln!("skipped, because LASTHOP_OTHER_BUILD is not set");
        return;
    };
    for name in ["hello", "contention", "hidden"] {
        let file = format!("scenarios/{name}.toml");
        let arguments = ["simulate", &file, "--set", "duration=1s", "--runs", "2", "--json"];
        let mut command = lasthop(&arguments);
        let here = command.output().expect("it can be run");
        let there = std::process::Command::new(&other)
            .args(arguments)
            .current_dir(command.get_current_dir().expect("it has one"))
            .output()
            .expect("the other build can be run");
        assert!(there.status.success(), "{}", String::from_utf8_lossy(&there.stderr));
        let [here, there] = [here, there]
            .map(|output| without_wall(&String::from_utf8(output.stdout).expect("it prints text")));
        assert_eq!(here, there, "{name}");
    }
}

#[test]
fn recording_changes_nothing() {
    let scratch = Scratch::new("recording");
    let plain = ["simulate", CONTENTION, "--set", SHORT, "--json"];
    let recorded = output(&[&plain[..], &["--pcap", "--out", scratch.text()]].concat());
    assert_eq!(without_wall(&output(&plain)), without_wall(&recorded));
    let file = std::fs::read_to_string(scratch.path().join("runs.json")).expect("it is there");
    assert_eq!(file, recorded, "the file is what is printed");
    let only = std::fs::read_to_string(scratch.path().join("run.json")).expect("it is there");
    let [set, only]: [serde_json::Value; 2] =
        [&file, &only].map(|text| serde_json::from_str(text).expect("JSON"));
    assert_eq!(set["runs"], serde_json::json!([only]));
}

#[test]
fn a_scenario_as_run_runs_again() {
    let scratch = Scratch::new("again");
    let changes = ["--set", SHORT, "--set", "node.sta.count=3", "--seed", "9"];
    let first = [&["simulate", CONTENTION, "--json", "--out", scratch.text()], &changes[..]];
    let first = output(&first.concat());
    let kept = scratch.path().join("scenario.toml");
    let second = output(&["simulate", kept.to_str().expect("a path of ASCII"), "--json"]);
    let [first, second] = [&first, &second].map(|text| {
        let mut set: serde_json::Value = serde_json::from_str(&without_wall(text)).expect("JSON");
        let run = set["runs"][0].as_object_mut().expect("a run");
        (run.remove("set"), set)
    });
    let sets = serde_json::json!([SHORT, "node.sta.count=3", "seed=9"]);
    assert_eq!((first.0, second.0), (Some(sets), None), "what was changed is said");
    assert_eq!(first.1, second.1);
}

#[test]
fn a_run_fills_a_directory() {
    let scratch = Scratch::new("fills");
    output(&["simulate", HELLO, "--set", SHORT, "--pcap", "--out", scratch.text()]);
    let captures = ["air.pcapng", "node-ap.pcapng", "node-laptop.pcapng"];
    let tables = ["events.parquet", "files.json", "report.html", "run.json", "runs.json"];
    let captures = [&captures[..], &["scenario.toml", "series.parquet"]].concat();
    let mut expected = [&captures[..], &tables].concat();
    expected.sort_unstable();
    assert_eq!(scratch.names(), expected);
}

#[test]
fn several_runs_have_a_directory_each() {
    let scratch = Scratch::new("several");
    let arguments = ["simulate", HELLO, "--set", SHORT, "--runs", "2", "--out", scratch.text()];
    output(&arguments);
    assert_eq!(
        scratch.names(),
        ["files.json", "report.html", "run-0", "run-1", "runs.json", "scenario.toml"]
    );
    assert_eq!(names(&scratch.path().join("run-1")), ["run.json", "series.parquet"]);
    output(&[&arguments[..], &["--events"]].concat());
    let with_events = ["events.parquet", "run.json", "series.parquet"];
    assert_eq!(names(&scratch.path().join("run-1")), with_events);
}

#[test]
fn a_smaller_set_leaves_nothing_of_a_larger_one() {
    let scratch = Scratch::new("smaller");
    let arguments = ["simulate", HELLO, "--set", SHORT, "--out", scratch.text()];
    output(&[&arguments[..], &["--runs", "3", "--pcap"]].concat());
    std::fs::write(scratch.path().join("run-2/notes"), "mine").expect("it can be written");
    output(&[&arguments[..], &["--runs", "2"]].concat());
    let expected =
        ["files.json", "report.html", "run-0", "run-1", "run-2", "runs.json", "scenario.toml"];
    assert_eq!(scratch.names(), expected);
    assert_eq!(names(&scratch.path().join("run-2")), ["notes"]);
    assert_eq!(names(&scratch.path().join("run-1")), ["run.json", "series.parquet"]);
    output(&arguments);
    let expected = [
        "events.parquet",
        "files.json",
        "report.html",
        "run-2",
        "run.json",
        "runs.json",
        "scenario.toml",
        "series.parquet",
    ];
    assert_eq!(scratch.names(), expected);
}

/// The delay caused by a scan or by power save is not attributed to the queue.
#[test]
fn absences_are_named_as_such() {
    let scans = ("scan", "laptop", "away", "leaves its channel to scan");
    let leaves = "leaves its channel for 90 ms every 500 ms (to channel 149)";
    let awdl = ("awdl", "laptop", "away", leaves);
    let dozes = ("doze", "phone", "asleep", "dozes to save power");
    for (name, node, cause, does) in [scans, awdl, dozes] {
        let file = format!("scenarios/{name}.toml");
        let text = output(&["simulate", &file]);
        let words = text.split("What is wrong, worst first").nth(1).expect("it says what it is");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!(". {node} {does}: the slowest 1 %")), "{words}");
        assert!(!words.contains("queue.kind=fq-codel"), "{words}");
        let set: serde_json::Value =
            serde_json::from_str(&output(&["simulate", &file, "--json"])).expect("JSON");
        let flow = &set["runs"][0]["flows"][format!("ping-{node}")];
        assert_eq!(flow["absent_nodes"], serde_json::json!([node]));
        for key in ["delay_parts_ms", "delay_parts_slowest_ms"] {
            let part = |part: &str| flow[key][part].as_f64().expect("a number");
            assert!(part(cause) > 5.0 * part("queue"), "{key}: {flow:#}");
        }
    }
}

#[test]
fn a_link_over_which_nothing_comes_is_a_warning() {
    let far = ["--set", "node.laptop.position=[\"5km\", \"0m\"]", "--set", SHORT];
    let text = output(&[&["simulate", HELLO], &far[..]].concat());
    assert!(text.contains("warning: laptop -> ap: almost no frame arrives"), "{text}");
    let near = output(&["simulate", HELLO, "--set", SHORT]);
    assert!(!near.contains("warning"), "{near}");
}
