//! Feeds any bytes as the journal of a sweep, which is read into tables, resumed, cut anywhere, and
//! merged from shards. A line with a wrong checksum is damaged: tables leave it out, and a resumed
//! sweep or a merge counts it and ignores it. A cut journal loses only the line of the cut; merged
//! halves are the same sweep; an error names the folder. Random lines rarely have a right checksum,
//! so each line also gets one, and then one bit is flipped. Bytes before a NUL are `sweep.json`;
//! without a NUL, it is that of a sweep of two combinations with two runs each.
#![no_main]

use lasthop_fuzz::{Folder, quiet, watched};
use lasthop_sweep::{
    NamedTables, Outcome, Plan, Record, Request, Store, StoreError, Task, merge, read_tables,
};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use sha2::{Digest, Sha256};
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
    /// Content of the sweep's `sweep.json`.
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

    fn key(&self, task: Task) -> Key {
        let values = self.plan.values(task.combination as usize);
        Key { values: values.into_iter().map(str::to_owned).collect(), run: task.run }
    }
}

fuzz_target!(init: quiet(), |bytes: &[u8]| {
    watched(|| SWEEP.with(|sweep| whole(sweep.get_or_init(Sweep::new), bytes)));
});

/// Text before and behind the checksum of a line.
const SUM: (&[u8], &[u8]) = (br#","sha256":""#, b"\"}\n");
/// Bytes of a line from there on.
const SUM_LENGTH: usize = SUM.0.len() + 16 + SUM.1.len();

/// The lines of a journal that have an end.
struct Lines<'a> {
    /// Lines with a right checksum.
    sound: Vec<&'a [u8]>,
    /// Number of lines with a wrong checksum or none, without blank lines.
    damaged: usize,
    /// All lines, with blanks for damaged ones.
    blanked: Vec<u8>,
}

/// Values and number of the run of a line.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    values: Vec<String>,
    run: u32,
}

fn whole(sweep: &Sweep, bytes: &[u8]) {
    let nul = bytes.iter().position(|byte| *byte == 0);
    let (asked, journal) = nul.map_or((None, bytes), |at| (Some(&bytes[..at]), &bytes[at + 1..]));
    let drawn = bytes.iter().fold(17_usize, |at, byte| at.wrapping_mul(31) ^ usize::from(*byte));
    check(sweep, asked, journal, drawn);
    if ended(journal).is_empty() {
        return;
    }
    let mut sealed = sealed(journal);
    if sealed != journal {
        check(sweep, asked, &sealed, drawn);
    }
    let at = drawn % sealed.len();
    sealed[at] ^= 1 << (drawn / sealed.len() % 8);
    check(sweep, asked, &sealed, drawn);
}

/// Checks a journal; where it is cut is drawn.
fn check(sweep: &Sweep, asked: Option<&[u8]>, journal: &[u8], drawn: usize) {
    let folder = Folder::new();
    let folder = folder.path();
    let file = folder.join("journal.jsonl");
    let write = |bytes: &[u8]| fs::write(&file, bytes).expect("there is room");
    fs::write(folder.join("sweep.json"), asked.unwrap_or(&sweep.asked)).expect("there is room");
    let lines = Lines::new(journal);
    // Tables of nothing take as long as others.
    let is_empty = lines.sound.is_empty() && asked.is_none();
    write(journal);
    if lines.damaged > 0 {
        assert!(read(read_tables(folder), folder).is_none(), "tables were made of damaged lines");
        write(&lines.blanked);
    }
    let tables = if is_empty { None } else { read(read_tables(folder), folder) };
    if asked.is_none() {
        write(journal);
        go_on(sweep, folder, &lines, tables.is_some());
    }
    if is_empty {
        return;
    }
    write(&lines.sound.concat());
    assert!(read(read_tables(folder), folder) == tables, "no other line makes a difference");

    fs::remove_file(&file).expect("it is there");
    let half = ended(&journal[..drawn % (journal.len() + 1)]).len();
    let (first, second) = journal.split_at(half);
    fs::write(folder.join("journal.1-of-2.jsonl"), first).expect("there is room");
    fs::write(folder.join("journal.2-of-2.jsonl"), second).expect("there is room");
    assert!(read(read_tables(folder), folder).is_none(), "they are not merged");
    let merged = read(merge(folder, |_| String::new()), folder);
    let Some((asked, tables)) = tables else {
        assert!(merged.is_none(), "no tables can be made of it");
        return;
    };
    let merged = merged.expect("its lines can be read");
    assert_eq!(merged.runs, rows(&tables));
    assert_eq!(merged.runs, keys(&lines.sound).len());
    assert_eq!(merged.asked, asked.combinations.saturating_mul(asked.runs.into()));
    assert_eq!(merged.damaged, lines.damaged);
    let (_, whole) = read(read_tables(folder), folder).expect("it was merged");
    assert!(whole == tables, "halves that are merged are the whole");

    let cut = &lines.blanked[..drawn % (lines.blanked.len() + 1)];
    let kept = Lines::new(ended(cut)).sound;
    assert!(lines.sound.starts_with(&kept), "only the line that it was cut in is lost");
    write(cut);
    let (_, cut) = read(read_tables(folder), folder).expect("its lines can be read");
    assert_eq!(rows(&cut), keys(&kept).len());
}

/// Goes on from the journal in the folder, if its lines are runs.
fn go_on(sweep: &Sweep, folder: &Path, lines: &Lines<'_>, is_read: bool) {
    let open = || read(Store::open(folder, &sweep.plan, None, false), folder);
    let journal = || fs::read(folder.join("journal.jsonl")).expect("it is there");
    let Some(mut store) = open() else {
        assert!(!is_read, "tables were made of it");
        return;
    };
    assert_eq!(store.len(), lines.sound.len());
    assert_eq!(store.damaged(), lines.damaged);
    assert_eq!(journal(), lines.blanked);
    let missing = store.missing(&sweep.plan);
    let done = keys(&lines.sound);
    let runs = 0..sweep.plan.runs_each();
    let all = (0..sweep.plan.combinations() as u32)
        .flat_map(|combination| runs.clone().map(move |run| Task { combination, run }));
    let undone: Vec<Task> = all.filter(|task| !done.contains(&sweep.key(*task))).collect();
    assert_eq!(missing, undone, "runs of damaged lines are made again");
    if let Some(task) = missing.first() {
        let Key { values, run } = sweep.key(*task);
        let record = Record { values, run, outcome: Outcome::Error("none".into()) };
        let line = record.to_line();
        store.append(&record, &line).expect("there is room");
        store.flush().expect("there is room");
        drop(store);
        let store = open().expect("one line was added");
        assert_eq!(store.len(), lines.sound.len() + 1);
        assert_eq!(store.damaged(), 0);
        assert_eq!(journal(), [&lines.blanked, line.as_bytes()].concat());
        assert_eq!(store.missing(&sweep.plan), missing[1..]);
    }
}

fn read<T>(read: Result<T, StoreError>, folder: &Path) -> Option<T> {
    read.map_err(|why| assert!(why.to_string().contains(folder.to_str().expect("text")), "{why}"))
        .ok()
}

impl<'a> Lines<'a> {
    fn new(journal: &'a [u8]) -> Self {
        let (mut sound, mut damaged, mut blanked) = (Vec::new(), 0, Vec::new());
        for line in ended(journal).split_inclusive(|byte| *byte == b'\n') {
            if line.len() >= SUM_LENGTH && line.ends_with(&sum(content(line))) {
                sound.push(line);
                blanked.extend_from_slice(line);
            } else if line.trim_ascii().is_empty() {
                blanked.extend_from_slice(line);
            } else {
                damaged += 1;
                blanked.resize(blanked.len() + line.len() - 1, b' ');
                blanked.push(b'\n');
            }
        }
        Self { sound, damaged, blanked }
    }
}

/// The lines that have an end.
fn ended(journal: &[u8]) -> &[u8] {
    let end = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &journal[..end]
}

/// Returns the text of a line before its checksum, or before its last brace.
fn content(line: &[u8]) -> &[u8] {
    let at = line.len().saturating_sub(SUM_LENGTH);
    if line[at..].starts_with(SUM.0) && line.ends_with(SUM.1) {
        return &line[..at];
    }
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"}").unwrap_or(line)
}

/// Returns the checksum of the text before it, in the format of lines.
fn sum(content: &[u8]) -> Vec<u8> {
    let sum = Sha256::digest(content);
    let digits: String = sum.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    [SUM.0, digits.as_bytes(), SUM.1].concat()
}

/// The journal with the right checksum in each line that is not blank and has an end.
fn sealed(journal: &[u8]) -> Vec<u8> {
    let lines = ended(journal).split_inclusive(|byte| *byte == b'\n');
    let sealed = lines.flat_map(|line| match line.trim_ascii().is_empty() {
        true => line.to_vec(),
        false => [content(line), &sum(content(line))].concat(),
    });
    sealed.chain(journal[ended(journal).len()..].iter().copied()).collect()
}

/// Returns the runs of the lines.
fn keys(lines: &[&[u8]]) -> BTreeSet<Key> {
    lines.iter().map(|line| serde_json::from_slice(line).expect("it was read")).collect()
}

/// The rows of the table of runs.
fn rows(tables: &NamedTables) -> usize {
    let runs = tables.iter().find(|(name, _)| *name == "runs");
    runs.expect("there always is one").1.rows
}
