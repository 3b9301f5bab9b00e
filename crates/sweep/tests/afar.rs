//! Runs that other processes make.

mod common;

use common::{Folder, page, plan};
use lasthop_sweep::afar::{self, AfarError, Blueprint, Made, Pending};
use lasthop_sweep::vary::Axis;
use lasthop_sweep::{Engine, Plan, Progress, Store, read_tables};
use std::ops::ControlFlow;

const VARY: [&str; 2] = ["flow.up.rate=1Mb/s,2Mb/s,3Mb/s", "channel.width=20MHz,40MHz"];

fn made(plan: &Plan, numbers: &[u64]) -> Vec<Made> {
    afar::make(plan, numbers, &mut || ControlFlow::Continue(())).expect("there are such runs")
}

/// A plan that went through a message.
fn sent(plan: &Plan) -> Result<Plan, AfarError> {
    Blueprint::from_json(Blueprint::from_plan(plan).to_json().as_bytes())?.plan()
}

#[test]
fn another_process_makes_the_same_runs() {
    let plan = plan(&VARY, 3);
    let here = Folder::new("afar-here");
    let mut store = Store::open(&here.0, &plan, None, false).expect("it can be made");
    let engine = Engine { plan: &plan, threads: 2, series: None };
    let tasks = store.missing(&plan);
    let mut watch = |progress: Progress<'_>| {
        if let Progress::Record(record, line) = progress {
            store.append(record, line).expect("there is room");
        }
        ControlFlow::Continue(())
    };
    engine.make(&tasks, &mut watch).expect("nothing is written");
    store.finish(page).expect("there is room");

    let there = Folder::new("afar-there");
    let mut store = Store::open(&there.0, &plan, None, false).expect("it can be made");
    let mut pending = Pending::new(plan.clone(), &store);
    let copy = sent(&plan).expect("it is the same here");
    assert_eq!(copy, plan);
    let mut batches = Vec::new();
    while pending.left() > 0 {
        batches.push(pending.take(5));
    }
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5, 3]);
    for numbers in batches.iter().rev() {
        for made in made(&copy, numbers) {
            assert!(pending.settle(&made, &mut store).expect("it is right"));
            // From a worker that was thought dead.
            assert!(!pending.settle(&made, &mut store).expect("it is right"), "it is there");
        }
    }
    assert_eq!((store.len(), store.failed()), (18, 0));
    store.finish(page).expect("there is room");
    assert_eq!(here.names(), there.names());
    let rows = |folder: &Folder| {
        let (_, mut tables) = read_tables(&folder.0).expect("it is there");
        for (_, table) in &mut tables {
            table.columns.retain(|column| column.name != "wall_s");
        }
        tables
    };
    let (here, there) = (rows(&here), rows(&there));
    assert_eq!(
        here.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["runs", "flows", "links", "nodes"]
    );
    assert_eq!(here[0].1.rows, 18);
    assert_eq!(here, there);
}

#[test]
fn a_run_that_cannot_be_made_is_a_row() {
    let plan = plan(&VARY, 1);
    let folder = Folder::new("afar-failed");
    let mut store = Store::open(&folder.0, &plan, None, false).expect("it can be made");
    let mut pending = Pending::new(plan, &store);
    let numbers = pending.take(2);
    for _ in 0..2 {
        pending.fail(numbers[1], "every worker died", &mut store).expect("there is such a run");
    }
    assert_eq!((store.len(), store.failed()), (1, 1));
    assert!(matches!(
        pending.fail(6, "", &mut store),
        Err(AfarError::Number { number: 6, runs: 6 })
    ));
}

#[test]
fn what_is_no_result_of_the_run_is_refused() {
    let plan = plan(&VARY, 2);
    let folder = Folder::new("afar-strange");
    let mut store = Store::open(&folder.0, &plan, None, false).expect("it can be made");
    let mut pending = Pending::new(plan.clone(), &store);
    let right = made(&plan, &pending.take(1)).remove(0);
    let lines = [
        String::new(),
        "{}\n".into(),
        right.line.trim_end().into(),
        format!("{0}{0}", right.line),
        right.line.replacen("1Mb/s", "2Mb/s", 1),
        right.line.replacen("\"run\":0", "\"run\":1", 1),
    ];
    for line in lines {
        let strange = Made { number: right.number, line };
        let settled = pending.settle(&strange, &mut store);
        assert!(matches!(settled, Err(AfarError::Strange { number: 0, .. })), "{:?}", strange.line);
    }
    assert!(store.is_empty());
    let unasked = Made { number: 3, ..right.clone() };
    assert!(!pending.settle(&unasked, &mut store).expect("nobody asked for it"));
    assert!(pending.settle(&right, &mut store).expect("it is right"));
}

#[test]
fn another_version_or_scenario_makes_no_runs() {
    let plan = plan(&VARY, 1);
    let json = Blueprint::from_plan(&plan).to_json();
    let version = env!("CARGO_PKG_VERSION");
    let other = json.replacen(version, "0.0.1-other", 1);
    let why = Blueprint::from_json(other.as_bytes()).expect_err("it is of another version");
    let text = why.to_string();
    assert!(text.contains(version) && text.contains("0.0.1-other"), "{text}");
    for wrong in ["", "{}", &json[..json.len() / 2]] {
        assert!(matches!(Blueprint::from_json(wrong.as_bytes()), Err(AfarError::Unreadable(_))));
    }
    let runs = afar::make(&plan, &[6], &mut || ControlFlow::Continue(()));
    assert!(matches!(runs, Err(AfarError::Number { number: 6, runs: 6 })));
}

/// The scenario's own files are part of it.
#[test]
fn a_file_that_differs_makes_no_runs() {
    let folder = Folder::new("afar-attached");
    std::fs::create_dir_all(&folder.0).expect("it can be made");
    let sizes = folder.0.join("sizes.csv");
    let scenario = r#"
duration = "20ms"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "sta"
role = "station"
[[flow]]
name = "down"
from = "ap"
to = "sta"
kind = "video"
trace = "sizes.csv"
"#;
    let file = folder.0.join("cell.toml").display().to_string();
    std::fs::write(&sizes, "1000\n2000\n").expect("there is room");
    let vary = Axis::new("node.sta.queue.packets", vec!["5".into(), "6".into()]);
    let axes = vec![vary.expect("they differ")];
    let plan = Plan::from_axes(&file, scenario, &[], axes, false, Some(1)).expect("it is right");
    assert_eq!(plan.attached().count(), 1);
    let copy = sent(&plan).expect("it is the same here");
    assert_eq!(made(&copy, &[0, 1]).len(), 2);
    std::fs::write(&sizes, "1000\n2001\n").expect("there is room");
    let why = sent(&plan).expect_err("it is another one").to_string();
    assert!(why.contains("sizes.csv has other contents here"), "{why}");
    std::fs::remove_file(&sizes).expect("it was there");
    let why = sent(&plan).expect_err("it is gone").to_string();
    assert!(why.contains("sizes.csv"), "{why}");
}
