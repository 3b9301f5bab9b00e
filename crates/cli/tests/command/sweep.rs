//! A sweep gives the same tables with any division into processes, order and number of
//! interruptions.

use crate::lasthop::{Scratch, interruptible, names, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Tables without the time on the wall.
const TABLES: [&str; 3] = ["flows.parquet", "links.parquet", "nodes.parquet"];

/// The scenario and what varies: 12 combinations of 3 runs.
const SWEEP: [&str; 10] = [
    "sweep",
    "scenarios/contention.toml",
    "--set",
    "duration=200ms",
    "--vary",
    "node.sta.count=1,2,5",
    "--vary",
    "channel.width=20MHz,40MHz",
    "--vary",
    "node.*.queue.packets=10..30:2",
];

/// Runs a sweep to its end; returns standard output.
fn sweep(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn swept(name: &str, more: &[&str]) -> Scratch {
    let scratch = Scratch::new(name);
    let arguments = [&SWEEP[..], &["--runs", "3", "--out", scratch.text()], more].concat();
    sweep(&arguments, 0);
    scratch
}

/// The lines of all journals, sorted, without the time on the wall.
fn rows(folder: &Path) -> Vec<String> {
    let journals = names(folder).into_iter().filter(|name| name.ends_with(".jsonl"));
    let mut rows = Vec::new();
    for name in journals {
        let text = std::fs::read_to_string(folder.join(name)).expect("it is there");
        // A line that was damaged is blank.
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let mut row: Value = serde_json::from_str(line).expect("a line of JSON");
            row["document"]["wall_s"].take();
            row["sha256"].take();
            rows.push(row.to_string());
        }
    }
    rows.sort();
    rows
}

fn assert_same(folder: &Path, other: &Path) {
    assert_eq!(rows(folder), rows(other));
    for table in TABLES {
        let read = |folder: &Path| std::fs::read(folder.join(table)).expect("it is there");
        assert!(read(folder) == read(other), "{table} of {}", other.display());
    }
}

#[test]
fn threads_shards_and_more_runs_give_the_same() {
    let one = swept("sweep-1", &["--threads", "1"]);
    assert_eq!(rows(one.path()).len(), 36);
    assert_same(one.path(), swept("sweep-3", &["--threads", "3"]).path());

    // Runs and values that are added are made, and no others.
    let added = Scratch::new("sweep-added");
    let few = [
        &SWEEP[..4],
        &["--vary", "node.sta.count=5", "--vary", "channel.width=40MHz"],
        &["--vary", "node.*.queue.packets=30", "--out", added.text()],
    ];
    sweep(&few.concat(), 0);
    let rest = [&SWEEP[..], &["--runs", "3", "--json", "--out", added.text()]].concat();
    let document: Value = serde_json::from_str(&sweep(&rest, 0)).expect("it is JSON");
    assert_eq!((&document["runs"], &document["runs_made"]), (&36.into(), &35.into()));
    assert_same(one.path(), added.path());
    let again: Value = serde_json::from_str(&sweep(&rest, 0)).expect("it is JSON");
    assert_eq!(again["runs_made"], 0);

    let shards = Scratch::new("sweep-shards");
    for shard in ["2/3", "1/3", "3/3"] {
        let arguments =
            [&SWEEP[..], &["--runs", "3", "--shard", shard, "--out", shards.text()]].concat();
        sweep(&arguments, 0);
    }
    assert_eq!(rows(one.path()), rows(shards.path()));
    assert!(shards.names().contains(&"runs.2-of-3.parquet".to_owned()), "{:?}", shards.names());
    // A part that is missing is told.
    let part = Scratch::new("sweep-part");
    let third = [&SWEEP[..], &["--runs", "3", "--shard", "1/3", "--out", part.text()]].concat();
    sweep(&third, 0);
    let merged = run(&["sweep", "--merge", part.text()]);
    let told = String::from_utf8_lossy(&merged.stderr);
    assert_eq!(told, "24 of 36 runs that were asked for are missing\n");
    // What shards made is not made again.
    let whole = [&SWEEP[..], &["--runs", "3", "--json", "--out", shards.text()]].concat();
    let document: Value = serde_json::from_str(&sweep(&whole, 0)).expect("it is JSON");
    assert_eq!(document["runs_made"], 0);
    sweep(&["sweep", "--merge", shards.text()], 0);
    assert_same(one.path(), shards.path());
    assert_eq!(shards.names(), one.names());
}

#[expect(clippy::disallowed_methods, reason = "what is interrupted tells nobody how far it is")]
fn wait_ms(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

#[test]
fn a_sweep_that_is_stopped_goes_on() {
    let whole = swept("sweep-whole", &[]);
    let stopped = Scratch::new("sweep-stopped");
    let arguments = [&SWEEP[..], &["--runs", "3", "--out", stopped.text()]].concat();
    // Ends by itself, or after so many times, of which each may be too early for a run.
    for (number, moment) in (0..).zip([2, 5, 10, 20, 30, 40, 60, 80, 100, 150]) {
        let signal = [Signal::SIGKILL, Signal::SIGINT, Signal::SIGTERM][number % 3];
        let mut child = interruptible(&arguments).spawn().expect("it can be run");
        wait_ms(moment);
        let _ = kill(Pid::from_raw(child.id() as i32), signal);
        child.wait().expect("it ends");
    }
    sweep(&arguments, 0);
    assert_same(whole.path(), stopped.path());
    // A file that was being replaced when the process was killed is gone, too.
    assert_eq!(stopped.names(), whole.names());
}

#[test]
fn a_line_that_was_not_finished_is_made_again() {
    let whole = swept("sweep-lines", &[]);
    let cut = swept("sweep-cut", &[]);
    let journal = cut.path().join("journal.jsonl");
    let bytes = std::fs::read(&journal).expect("it is there");
    std::fs::write(&journal, &bytes[..bytes.len() - 100]).expect("it can be written");
    let arguments = [&SWEEP[..], &["--runs", "3", "--json", "--out", cut.text()]].concat();
    let document: Value = serde_json::from_str(&sweep(&arguments, 0)).expect("it is JSON");
    assert_eq!(document["runs_made"], 1);
    assert_same(whole.path(), cut.path());
    // Lines that are damaged are told, and their runs are made again.
    let text = String::from_utf8(bytes).expect("it is text");
    let damaged = text.replacen("\"goodput_mbps\":", "\"goodput_mbps\":1", 1);
    assert_ne!(damaged, text);
    std::fs::write(&journal, damaged).expect("it can be written");
    let merged = run(&["sweep", "--merge", cut.text()]);
    let told = String::from_utf8(merged.stderr).expect("text");
    let expected = "1 line of the journals was left out: damaged\n\
                    1 of 36 runs that were asked for is missing\n";
    assert_eq!(told, expected);
    std::fs::write(&journal, text.replacen("\"run\"", "\"ran\"", 2)).expect("it can be written");
    let again = run(&arguments);
    let errors = String::from_utf8(again.stderr).expect("text");
    let told = "1 line of the journal was damaged: its run is made again\n";
    assert!(errors.starts_with(told), "{errors}");
    let document: Value = serde_json::from_slice(&again.stdout).expect("it is JSON");
    assert_eq!(document["runs_made"], 1);
    assert_same(whole.path(), cut.path());
    // They are told once.
    let errors = String::from_utf8(run(&arguments).stderr).expect("text");
    assert!(!errors.contains("damaged"), "{errors}");
}

#[test]
fn a_scenario_says_what_varies() {
    let scratch = Scratch::new("sweep-table");
    std::fs::create_dir_all(scratch.path()).expect("it can be made");
    let file = scratch.path().join("contention.toml");
    let scenario = include_str!("../../../../scenarios/contention.toml");
    let table = "[sweep]\nvary = [\"node.sta.count=1,2\", \"channel.width=20MHz,40MHz\"]\nzip = true\nruns = 2\n";
    std::fs::write(&file, format!("{scenario}\n{table}")).expect("it can be written");
    let file = file.to_str().expect("it is text");
    let out = scratch.path().join("out");
    let arguments = [
        "sweep",
        file,
        "--set",
        "duration=100ms",
        "--series",
        "--out",
        out.to_str().expect("text"),
    ];
    sweep(&arguments, 0);
    let series = out.join("series");
    assert_eq!(names(&series), ["node.sta.count=1", "node.sta.count=2"]);
    let run = series.join("node.sta.count=2/channel.width=40MHz/run=1");
    assert_eq!(names(&run), ["series.parquet"]);
    let combinations: BTreeSet<String> = rows(&out)
        .iter()
        .map(|row| serde_json::from_str::<Value>(row).expect("JSON")["values"].to_string())
        .collect();
    assert_eq!(
        combinations.into_iter().collect::<Vec<_>>(),
        [r#"["1","20MHz"]"#, r#"["2","40MHz"]"#]
    );
    // Another command runs it as it stands.
    sweep(&["simulate", file, "--set", "duration=10ms"], 0);
}

/// The error, which changes nothing that was there.
fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn what_cannot_be_is_told_at_once() {
    let scratch = Scratch::new("sweep-wrong");
    let vary = |values: &[&str]| {
        let mut arguments = vec!["sweep", "scenarios/contention.toml", "--out", scratch.text()];
        values.iter().for_each(|one| arguments.extend(["--vary", one]));
        refused(&arguments)
    };
    for (values, told) in [
        (&["node.sta.cuont=1,2"][..], "did you mean"),
        (&["node.sta.count=1ms,2"], "expected a whole number from 1 to 1000, got \"1ms\""),
        (&["channel.width=20Mb/s"], "expected"),
        (&["node.sta.count=5..1"], "the range is empty"),
        (&["flow.nobody.rate=1Mb/s,2Mb/s"], "there is no \"nobody\""),
        (&["a=1", "b", "c=1,1"], "--vary b: expected PATH=VALUES"),
        (&["a=1", "b", "c=1,1"], "--vary c=1,1: 1 is there twice"),
        (&["a=1..1000:1000", "b=1..1000:1000", "c=1..1000:1000"], "1000 * 1000 * 1000"),
        (&["seed=1..100000", "warmup=1ms..2ms:100"], "expected at most 1000000 combinations"),
        (&["seed=1,2", "seed=3"], "varied twice"),
        (&["sweep.runs=1,2"], "not a run"),
        (&["node.sta.count=0,1,2000"], "2 of 3 combinations are impossible; nothing was run"),
    ] {
        let errors = vary(values);
        assert!(errors.contains(told), "{values:?}: {errors}");
    }
    // What the model has not is known before the first run.
    let errors = refused(&[
        "sweep",
        "scenarios/upload.toml",
        "--vary",
        "flow.upload.congestion_control=cubic,vegas",
        "--out",
        scratch.text(),
    ]);
    assert!(errors.contains("1 of 2 combinations are impossible; nothing was run"), "{errors}");
    assert!(errors.contains("not \"vegas\"; emulate takes those of the kernel"), "{errors}");
    let nothing = refused(&["sweep", "scenarios/contention.toml", "--out", scratch.text()]);
    assert!(nothing.contains("no key is varied"), "{nothing}");
    assert!(!scratch.path().exists());
}

#[test]
fn results_of_two_are_not_mixed() {
    let scratch = swept("sweep-mixed", &[]);
    let before = rows(scratch.path());
    let other = |set: &str, vary: &str| {
        refused(&[
            "sweep",
            "scenarios/contention.toml",
            "--set",
            set,
            "--vary",
            vary,
            "--vary",
            "channel.width=20MHz",
            "--vary",
            "node.*.queue.packets=10",
            "--out",
            scratch.text(),
        ])
    };
    let errors = other("duration=1s", "node.sta.count=1");
    assert!(errors.contains(r#"was "duration = \"200ms\"" there"#), "{errors}");
    let errors = other("duration=200ms", "node.sta.mtu=1500");
    assert!(errors.contains("it varies node.sta.count, channel.width"), "{errors}");
    let asked = scratch.path().join("sweep.json");
    let text = std::fs::read_to_string(&asked).expect("it is there");
    let version = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    std::fs::write(&asked, text.replace(version, "\"version\": \"0.0.9\"")).expect("it is written");
    let errors = refused(&[&SWEEP[..], &["--out", scratch.text()]].concat());
    assert!(errors.contains("it was made by version 0.0.9, and this is version"), "{errors}");
    std::fs::remove_file(&asked).expect("it is there");
    let errors = refused(&[&SWEEP[..], &["--out", scratch.text()]].concat());
    assert!(errors.contains("there is a journal, but no sweep.json"), "{errors}");
    assert_eq!(rows(scratch.path()), before);
}

#[test]
fn two_at_a_time_are_told() {
    let scratch = swept("sweep-busy", &[]);
    let journal = scratch.path().join("journal.jsonl");
    let held = std::fs::File::open(&journal).expect("it is there");
    held.lock().expect("nobody else has it");
    let errors = refused(&[&SWEEP[..], &["--out", scratch.text()]].concat());
    let expected = format!("another process works on this sweep: process {}", std::process::id());
    assert!(errors.contains(&expected), "{errors}");
}

/// Why a run failed is printed, not only a column.
#[test]
fn a_run_that_failed_says_why() {
    let scratch = swept("sweep-failed", &[]);
    let journal = scratch.path().join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).expect("it is there");
    let row: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let values = serde_json::from_value(row["values"].clone()).expect("a list");
    let outcome = lasthop_sweep::Outcome::Error("panicked: no room".into());
    let failed = lasthop_sweep::Record { values, run: 0, outcome }.to_line();
    let rest = text.split_once('\n').expect("a line").1;
    std::fs::write(&journal, failed + rest).expect("it can be written");
    let arguments = [&SWEEP[..], &["--runs", "3", "--out", scratch.text()]].concat();
    let told = sweep(&arguments, 1);
    assert!(told.contains("1 run failed:\n  panicked: no room (with node.sta.count="), "{told}");
}

/// A sweep on a file system with space for the journal of some runs only.
#[test]
fn a_full_disk_loses_nothing() {
    let scratch = Scratch::new("sweep-full");
    std::fs::create_dir_all(scratch.path()).expect("it can be made");
    let inside = |script: &str| {
        let script = format!("mount -t tmpfs -o size=48k tmpfs {} && {script}", scratch.text());
        let output =
            std::process::Command::new("unshare").args(["-rm", "sh", "-c", &script]).output();
        output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
    };
    match inside("true") {
        Ok(errors) if errors.is_empty() => {}
        refused => return eprintln!("skipped, because no file system can be mounted: {refused:?}"),
    }
    let arguments = [&SWEEP[..], &["--runs", "3", "--out", scratch.text()]].concat();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/contention.toml");
    let words: Vec<String> = arguments
        .iter()
        .map(|word| match *word {
            "scenarios/contention.toml" => scenario.display().to_string(),
            word => format!("'{word}'"),
        })
        .collect();
    let command = format!("{} {}", env!("CARGO_BIN_EXE_lasthop"), words.join(" "));
    let kept =
        "cat OUT/journal.jsonl | grep -c document >&2; ls OUT >&2".replace("OUT", scratch.text());
    let more = format!("mount -o remount,size=4m {}", scratch.text());
    let script = format!(
        "{command}; echo status $? >&2; {kept}; {more}; {command} --json >&2; echo status $? >&2"
    );
    let errors = inside(&script).expect("it ran before");
    assert!(errors.contains("journal.jsonl: No space left on device"), "{errors}");
    assert!(errors.contains("status 2"), "{errors}");
    let lines: Vec<&str> = errors.lines().collect();
    let kept = lines.iter().find_map(|line| line.parse::<u32>().ok());
    assert!(kept.is_some_and(|lines| (1..36).contains(&lines)), "{errors}");
    assert!(errors.contains("status 0") && errors.contains("\"runs\": 36"), "{errors}");
    assert!(!errors.contains(".part"), "{errors}");
}

#[test]
fn what_was_asked_is_as_its_schema_says() {
    let scratch = swept("sweep-schema", &[]);
    let schema: Value = serde_json::from_str(&sweep(&["schema", "sweep"], 0)).expect("JSON");
    let text = std::fs::read_to_string(scratch.path().join("sweep.json")).expect("it is there");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    assert!(validator.is_valid(&document), "{document:#}");
    // The command in it makes the same.
    let again = Scratch::new("sweep-again");
    let command = document["command"].as_str().expect("text");
    let words: Vec<&str> = command.split(' ').skip(1).map(|word| word.trim_matches('\'')).collect();
    sweep(&[&words[..], &["--out", again.text()]].concat(), 0);
    assert_same(scratch.path(), again.path());
}
