//! Any bytes as the journal of a sweep, which is read into tables, gone on from, cut anywhere, and
//! merged from shards. A journal that is cut loses the line that it was cut in, and nothing before;
//! halves of one that are merged are the same sweep; an error names the folder. Bytes before a NUL
//! are `sweep.json`; without one it is that of a sweep of two combinations, two runs each.
#![no_main]

use lasthop_fuzz::{Folder, quiet, watched};
use lasthop_sweep::{
    NamedTables, Outcome, Plan, Record, Request, Store, StoreError, merge, read_tables,
};
use libfuzzer_sys::fuzz_target;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

struct Sweep {
    plan: Plan,
    /// Its `sweep.json`.
    asked: Vec<u8>,
}

thread_local! {
    static SWEEP: OnceCell<Sweep> = const { OnceCell::new() };
}

impl Sweep {
    fn new() -> Self {
        let vary = vec!["flow.up.rate=1Mb/s,2Mb/s".to_owned()];
        let request = Request { vary, zip: false, runs: Some(2) };
        let plan = Plan::new("cell.toml", SCENARIO, &[], &request).expect("it is right");
        let folder = Folder::new();
        drop(Store::open(folder.path(), &plan, None, false).expect("there is room"));
        let asked = fs::read(folder.path().join("sweep.json")).expect("it was written");
        Self { plan, asked }
    }
}

fuzz_target!(init: quiet(), |bytes: &[u8]| {
    watched(|| SWEEP.with(|sweep| whole(sweep.get_or_init(Sweep::new), bytes)));
});

fn whole(sweep: &Sweep, bytes: &[u8]) {
    let nul = bytes.iter().position(|byte| *byte == 0);
    let (asked, journal) =
        nul.map_or((&sweep.asked[..], bytes), |at| (&bytes[..at], &bytes[at + 1..]));
    let folder = Folder::new();
    let folder = folder.path();
    let file = folder.join("journal.jsonl");
    fs::write(folder.join("sweep.json"), asked).expect("there is room");
    fs::write(&file, journal).expect("there is room");
    // Tables of nothing take as long as others.
    let is_empty = lines(journal).is_empty() && nul.is_none();
    let tables = if is_empty { None } else { read(read_tables(folder), folder) };
    if nul.is_none() {
        go_on(sweep, folder, journal, tables.is_some());
    }
    let Some((_, tables)) = tables else { return };

    if lines(journal).is_empty() {
        return;
    }
    let end = bytes.iter().fold(17_usize, |at, byte| at.wrapping_mul(31) ^ usize::from(*byte))
        % (journal.len() + 1);
    let kept = lines(&journal[..end]);
    fs::write(&file, &journal[..end]).expect("there is room");
    let (_, cut) = read(read_tables(folder), folder).expect("its lines can be read");
    assert_eq!(rows(&cut), keys(kept).len());
    assert!(rows(&cut) <= rows(&tables));

    fs::remove_file(&file).expect("it is there");
    let (all, first) = (lines(journal), kept.len());
    fs::write(folder.join("journal.1-of-2.jsonl"), &all[..first]).expect("there is room");
    fs::write(folder.join("journal.2-of-2.jsonl"), &all[first..]).expect("there is room");
    assert!(read(read_tables(folder), folder).is_none(), "they are not merged");
    let (runs, _) = merge(folder).expect("its lines can be read");
    assert_eq!(runs, rows(&tables));
    let (_, merged) = read(read_tables(folder), folder).expect("it was merged");
    assert!(merged == tables, "halves that are merged are the whole");
}

/// Goes on from the journal, if its lines are runs.
fn go_on(sweep: &Sweep, folder: &Path, journal: &[u8], is_read: bool) {
    let open = || read(Store::open(folder, &sweep.plan, None, false), folder);
    let Some(mut store) = open() else {
        assert!(!is_read, "tables were made of it");
        return;
    };
    let kept = lines(journal);
    let count = kept.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(store.len(), count);
    assert_eq!(fs::read(folder.join("journal.jsonl")).expect("it is there"), kept);
    let missing = store.missing(&sweep.plan);
    assert!(missing.len() <= sweep.plan.runs());
    if let Some(task) = missing.first() {
        let values = sweep.plan.values(task.combination as usize);
        let values = values.into_iter().map(str::to_owned).collect();
        let record = Record { values, run: task.run, outcome: Outcome::Error("none".into()) };
        store.append(&record, &record.to_line()).expect("there is room");
        store.flush().expect("there is room");
        drop(store);
        let store = open().expect("one line was added");
        assert_eq!(store.len(), count + 1);
        assert_eq!(store.missing(&sweep.plan), missing[1..]);
    }
    fs::write(folder.join("journal.jsonl"), journal).expect("there is room");
}

fn read<T>(read: Result<T, StoreError>, folder: &Path) -> Option<T> {
    read.map_err(|why| assert!(why.to_string().contains(folder.to_str().expect("text")), "{why}"))
        .ok()
}

/// The lines that have an end.
fn lines(journal: &[u8]) -> &[u8] {
    let end = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &journal[..end]
}

/// Which runs lines are of.
fn keys(lines: &[u8]) -> BTreeSet<(Vec<String>, u32)> {
    let lines = lines.split_inclusive(|byte| *byte == b'\n');
    let key = |line: &[u8]| {
        let line: serde_json::Value = serde_json::from_slice(line).expect("it was read");
        let values = line["values"].as_array().expect("it was read").iter();
        let values = values.map(|value| value.as_str().expect("it was read").to_owned()).collect();
        let run = line["run"].as_u64().expect("it was read");
        (values, u32::try_from(run).expect("it was read"))
    };
    lines.map(key).collect()
}

/// The rows of the table of runs.
fn rows(tables: &NamedTables) -> usize {
    let runs = tables.iter().find(|(name, _)| *name == "runs");
    runs.expect("there always is one").1.rows
}
