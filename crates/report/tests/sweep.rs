//! The page of a sweep: its sentences, and its script, run by node where there is one.

use lasthop_report::sweep::page;
use lasthop_sweep::{Engine, Plan, Progress, Request, Store};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{self, Command};
use std::{env, fs};

/// A cell of 20 ms with one flow.
const SCENARIO: &str = r#"
duration = "20ms"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "sta"
role = "station"
[[flow]]
name = "up"
from = "sta"
to = "ap"
kind = "udp"
rate = "1Mb/s"
"#;

/// A queue that stays empty is the same in any discipline; the page says so.
#[test]
fn values_without_a_difference_are_told() {
    let kinds = "node.sta.queue.kind=drop-tail,fq-codel";
    let told = "node.sta.queue.kind = drop-tail, fq-codel: the same results to the last digit";
    let text = swept(&[kinds, "flow.up.rate=1Mb/s,2Mb/s"]);
    assert!(text.contains(told));
    assert!(!text.contains("flow.up.rate_mbps = 1"));
    // Above what the link carries they differ.
    let text = swept(&[kinds, "flow.up.rate=1Mb/s,900Mb/s", "duration=200ms"]);
    assert!(!text.contains("the same results"));
}

#[test]
fn the_page_draws_what_the_data_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (test, script) = (folder.join("tests/sweep.js"), folder.join("src/sweep/page.js"));
    match Command::new("node").args([&test, &script]).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n", "{errors}");
        }
        Err(why) => eprintln!("skipped, because node cannot be run: {why}"),
    }
}

/// Returns the page of a sweep of the keys `vary`.
fn swept(vary: &[&str]) -> String {
    let folder = env::temp_dir().join(format!("lasthop-report-{}-sweep", process::id()));
    let _ = fs::remove_dir_all(&folder);
    let vary = vary.iter().map(|one| (*one).to_owned()).collect();
    let request = Request { vary, zip: false, runs: Some(1) };
    let plan = Plan::new("cell.toml", SCENARIO, &[], &request).expect("it is right");
    let mut store = Store::open(&folder, &plan, None, false).expect("the folder is new");
    let engine = Engine { plan: &plan, threads: 1, series: None };
    let made = engine.make(&store.missing(&plan), &mut |progress| {
        if let Progress::Record(record, line) = progress {
            store.append(record, line).expect("there is room");
        }
        ControlFlow::Continue(())
    });
    made.expect("no series is written");
    store.finish(page).expect("there is room");
    let page = fs::read_to_string(folder.join("index.html")).expect("it is there");
    let _ = fs::remove_dir_all(&folder);
    page
}
