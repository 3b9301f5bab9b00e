//! Runs that fail, runs that are stopped, and what a folder keeps of them.

mod common;

use common::{Folder, page, plan};
use lasthop_sweep::{
    Asked, Engine, Outcome, Plan, PlanError, Progress, Record, Request, Shard, Store, Task, merge,
    read_tables,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn open(folder: &Path, plan: &Plan) -> Store {
    Store::open(folder, plan, None, false).expect("it is this sweep's")
}

fn make(plan: &Plan, tasks: &[Task], threads: usize, most: usize) -> Vec<(Record, String)> {
    let mut made = Vec::new();
    let engine = Engine { plan, threads, series: None };
    let kept = engine.make(tasks, &mut |progress| {
        if let Progress::Record(record, line) = progress {
            made.push((record.clone(), line.to_owned()));
        }
        if made.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    kept.expect("nothing is written");
    made
}

#[test]
fn a_run_that_failed_is_a_row_and_is_not_made_again() {
    let folder = Folder::new("failed");
    let plan = plan(&["flow.up.rate=1Mb/s,2Mb/s"], 2);
    let mut store = open(&folder.0, &plan);
    let tasks = store.missing(&plan);
    assert_eq!(tasks.len(), 4);
    for (mut record, mut line) in make(&plan, &tasks, 2, usize::MAX) {
        if record.values == ["2Mb/s"] && record.run == 1 {
            record.outcome = Outcome::Error("it \"failed\"\nhere".into());
            line = record.to_line();
        }
        store.append(&record, &line).expect("there is room");
    }
    assert_eq!((store.len(), store.failed()), (4, 1));
    store.finish(page).expect("there is room");
    let expected = [
        "flows.parquet",
        "index.html",
        "journal.jsonl",
        "links.parquet",
        "nodes.parquet",
        "runs.parquet",
        "sweep.json",
    ];
    assert_eq!(folder.names(), expected);
    let store = open(&folder.0, &plan);
    assert_eq!((store.missing(&plan).len(), store.failed()), (0, 1));
    let text = std::fs::read_to_string(folder.0.join("sweep.json")).expect("it is there");
    let asked: Asked = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(asked.keys[0].column, "flow.up.rate_mbps");
}

#[test]
fn threads_make_the_same_and_stop_when_told() {
    let plan = plan(&["node.sta.queue.packets=1..20", "flow.up.rate=1Mb/s,30Mb/s"], 3);
    let folder = Folder::new("threads");
    let tasks = open(&folder.0, &plan).missing(&plan);
    assert_eq!(tasks.len(), 120);
    let lines = |threads| {
        let without_wall = |(record, _): (Record, String)| {
            let Outcome::Document(mut document) = record.outcome else { panic!("it ran") };
            document.wall_s = 0.0;
            (record.values, record.run, serde_json::to_string(&document).expect("it is JSON"))
        };
        let mut lines: Vec<_> =
            make(&plan, &tasks, threads, usize::MAX).into_iter().map(without_wall).collect();
        lines.sort();
        lines
    };
    let one = lines(1);
    assert_eq!(one.len(), 120);
    assert!(one == lines(4));
    // Not one more is begun; those that were finished meanwhile are told.
    let few = make(&plan, &tasks, 4, 5);
    assert!((5..120).contains(&few.len()), "{}", few.len());
}

#[test]
fn every_task_is_of_one_shard() {
    let plan = plan(&["node.sta.queue.packets=1..7"], 3);
    let folder = Folder::new("shards");
    let mut all = Vec::new();
    for number in 1..=4 {
        let shard = Shard { number, of: 4 };
        let store = Store::open(&folder.0, &plan, Some(shard), false).expect("it is this sweep's");
        let missing = store.missing(&plan);
        assert!((5..=6).contains(&missing.len()), "{}", missing.len());
        all.extend(missing);
    }
    all.sort();
    assert_eq!(all, open(&folder.0, &plan).missing(&plan));
}

#[test]
fn all_combinations_that_cannot_be_are_found() {
    let plan = plan(&["node.sta.queue.packets=0,1,2", "flow.up.rate=1Mb/s,1ms"], 1);
    let wrong = plan.check(3, &AtomicBool::new(false)).expect_err("some are wrong");
    assert_eq!((wrong.combinations, wrong.of), (4, 6));
    assert_eq!(wrong.faults.len(), 2, "{wrong}");
    let request = Request { vary: vec!["a=1".into()], ..Request::default() };
    let error = Plan::new("cell.toml", "duration = [", &[], &request).expect_err("no TOML");
    assert!(matches!(error, PlanError::Scenario(_)));
}

/// Lines of another sweep's journal, and one that a killed process left.
#[test]
fn a_line_that_was_cut_is_dropped_and_one_with_other_values_is_an_error() {
    let folder = Folder::new("lines");
    let plan = plan(&["flow.up.rate=1Mb/s,2Mb/s"], 2);
    drop(open(&folder.0, &plan));
    let journal = folder.0.join("journal.jsonl");
    let line = |values: &[&str]| {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Record { values, run: 0, outcome: Outcome::Error("none".into()) }.to_line()
    };
    let whole = line(&["1Mb/s"]);
    for end in 0..whole.len() {
        std::fs::write(&journal, format!("{whole}{}", &whole[..end])).expect("there is room");
        let store = open(&folder.0, &plan);
        assert_eq!((store.len(), store.missing(&plan).len()), (1, 3), "{end} bytes");
        assert_eq!(std::fs::read_to_string(&journal).expect("it is there"), whole);
    }
    for (values, count) in [(&[][..], 0), (&["1Mb/s", "7"], 2)] {
        std::fs::write(&journal, format!("{whole}{}", line(values))).expect("there is room");
        let expected = format!("line 2 has {count} values: expected 1");
        let opened = Store::open(&folder.0, &plan, None, false).map(drop);
        let errors = [opened, read_tables(&folder.0).map(drop), merge(&folder.0, page).map(drop)];
        for error in errors.map(|it| it.expect_err("no such run").to_string()) {
            assert!(error.contains(&expected), "{error}");
            assert!(error.starts_with(journal.to_str().expect("text")), "{error}");
        }
    }
}

/// Whatever byte of a journal is changed: no other result is taken, and the runs whose lines are
/// damaged are missing. Then they are made again.
#[test]
fn a_damaged_line_is_no_result() {
    let plan = plan(&["flow.up.rate=1Mb/s,2Mb/s", "node.sta.queue.packets=10,20,30"], 1);
    let folder = Folder::new("damaged");
    let mut store = open(&folder.0, &plan);
    for (record, line) in make(&plan, &store.missing(&plan), 1, usize::MAX) {
        store.append(&record, &line).expect("there is room");
    }
    store.finish(page).expect("there is room");
    let journal = folder.0.join("journal.jsonl");
    let sound = std::fs::read(&journal).expect("it is there");
    let lines: Vec<&[u8]> = sound.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 6);
    let tables = std::fs::read(folder.0.join("flows.parquet")).expect("it is there");
    let ends = lines.iter().scan(0, |end, line| {
        *end += line.len();
        Some(*end - 1)
    });
    // Ends of lines, and places all over them.
    let places: Vec<usize> = ends.chain((0..sound.len()).step_by(293)).collect();
    for place in places {
        for flip in [0x01_u8, 0x80, b'\n' ^ sound[place]] {
            if flip == 0 {
                continue;
            }
            let mut bytes = sound.clone();
            bytes[place] ^= flip;
            std::fs::write(&journal, &bytes).expect("there is room");
            // The end of the last line makes it one that was not finished.
            let is_cut = place == sound.len() - 1;
            if !is_cut {
                let why = read_tables(&folder.0).expect_err("a line is damaged").to_string();
                assert!(why.contains("damaged"), "{why}");
            }
            let mut store = open(&folder.0, &plan);
            let missing = store.missing(&plan);
            assert!((1..=2).contains(&missing.len()), "byte {place} by {flip}: {missing:?}");
            assert_eq!(store.len() + missing.len(), 6);
            assert_eq!(store.damaged() > 0, !is_cut, "byte {place} by {flip}");
            let kept = std::fs::read(&journal).expect("it is there");
            let kept = kept.split_inclusive(|byte| *byte == b'\n');
            let kept = kept.filter(|line| !line.trim_ascii().is_empty());
            assert!(kept.clone().all(|line| lines.contains(&line)), "byte {place} by {flip}");
            for (record, line) in make(&plan, &missing, 1, usize::MAX) {
                store.append(&record, &line).expect("there is room");
            }
            store.finish(page).expect("there is room");
            assert_eq!(open(&folder.0, &plan).damaged(), 0);
            let again = std::fs::read(folder.0.join("flows.parquet")).expect("it is there");
            assert!(again == tables, "byte {place} by {flip}");
        }
    }
}

/// A folder has one writer; shards have separate files beside each other.
#[test]
fn a_folder_has_one_writer() {
    let folder = Folder::new("writer");
    let plan = plan(&["flow.up.rate=1Mb/s,2Mb/s"], 1);
    let shard = |number| Store::open(&folder.0, &plan, Some(Shard { number, of: 2 }), false);
    let (one, two) = (shard(1).expect("it is free"), shard(2).expect("it is another one"));
    let own = std::process::id().to_string();
    for why in [
        shard(1).expect_err("it is written").to_string(),
        Store::open(&folder.0, &plan, None, false).expect_err("it is written").to_string(),
        merge(&folder.0, page).expect_err("it is written").to_string(),
    ] {
        assert!(why.contains("another process works on this sweep"), "{why}");
        assert!(why.contains(&own), "{why}");
    }
    drop((one, two));
    merge(&folder.0, page).expect("nobody writes it");
}
