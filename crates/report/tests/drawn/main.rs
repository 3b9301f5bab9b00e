//! The findings judged on drawn scenarios (`draw.rs`), whose causes are computed by removing each
//! (`truth.rs`). The draws have five parts (to 129, 259, 519, 779, 899). Each part ran once before
//! any finding was changed for it: `docs/report.md` has those results. All draws have been seen
//! since, so a verdict needs new draws. `data/drawn.json` keeps the truths;
//! `the_truths_are_kept` makes them anew.

#[path = "../common/mod.rs"]
mod common;
mod draw;
mod truth;

use draw::Draw;
use lasthop_report::finding::findings;
use lasthop_trace::RunDocument;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, thread};
use truth::{Truth, truth};

/// Number of draws, some without a cause that stands out.
const DRAWS: u64 = 900;

/// Runs a scenario.
fn run(text: &str) -> RunDocument {
    common::run("drawn.toml", text, &[])
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/drawn.json")
}

/// Applies `work` to each of `all` on all cores; returns the results in order.
fn on_all_cores<T: Sync, U: Send>(all: &[T], work: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = |first: usize| {
        let mine = all.iter().enumerate().skip(first).step_by(threads);
        mine.map(|(index, it)| (index, work(it))).collect::<Vec<_>>()
    };
    let mut made: Vec<(usize, U)> = thread::scope(|scope| {
        let share = &share;
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, it)| it).collect()
}

/// The draws whose first finding is not their cause, with the kinds of findings.
const WRONG: [&str; 40] = [
    "own_queue 96: [\"slow_station\"]",
    "aggregation 109: [\"own_queue\", \"aggregation\"]",
    "aggregation 187: [\"own_queue\", \"aggregation\"]",
    "tcp_window 252: [\"slow_station\", \"own_queue\", \"tcp_window\"]",
    "scan 265: [\"own_queue\"]",
    "scan 287: [\"retries\", \"scan\"]",
    "tcp_window 330: [\"slow_station\", \"tcp_window\", \"own_queue\"]",
    "own_queue 356: [\"slow_station\", \"own_queue\"]",
    "aggregation 359: [\"slow_station\", \"aggregation\", \"retries\"]",
    "retries 398: []",
    "tcp_window 421: [\"slow_station\", \"own_queue\"]",
    "tcp_window 451: []",
    "retries 460: [\"own_queue\", \"retries\"]",
    "wire 476: [\"retries\", \"wire\"]",
    "retries 483: [\"contention\", \"retries\", \"overload\"]",
    "overload 527: [\"wire\"]",
    "tcp_window 594: []",
    "retries 600: [\"contention\"]",
    "retries 612: [\"scan\", \"retries\"]",
    "slow_station 616: [\"own_queue\", \"overload\"]",
    "tcp_window 661: []",
    "own_queue 663: [\"scan\"]",
    "slow_station 668: [\"retries\"]",
    "own_queue 681: [\"slow_station\"]",
    "tcp_window 698: []",
    "own_queue 707: []",
    "own_queue 733: [\"slow_station\", \"own_queue\"]",
    "scan 734: [\"sleep\", \"scan\"]",
    "healthy 744: [\"retries\"]",
    "wire 803: []",
    "coded_link 820: []",
    "sleep 834: []",
    "coded_link 836: []",
    "overload 844: [\"own_queue\", \"overload\", \"wire\"]",
    "overload 860: [\"own_queue\", \"overload\"]",
    "tcp_window 862: []",
    "own_queue 864: [\"slow_station\", \"own_queue\"]",
    "retries 872: [\"contention\", \"retries\"]",
    "slow_station 875: [\"wire\", \"own_queue\", \"overload\"]",
    "coded_link 890: []",
];

/// Judges the kept draws of a half: exactly those of [`WRONG`] have another first finding.
fn judge(is_odd: bool) {
    let json = fs::read_to_string(kept()).expect("the truths are kept");
    let all: Vec<Truth> = serde_json::from_str(&json).expect("truths");
    let half: Vec<Truth> = all.into_iter().filter(|it| (it.number % 2 == 1) == is_odd).collect();
    let numbers: Vec<u64> = half.iter().map(|truth| truth.number).collect();
    let wrong = on_all_cores(&half, |truth| {
        let run = run(&Draw::new(truth.number).text(None));
        let found: Vec<&str> = findings(&run).iter().map(|it| it.kind.as_str()).collect();
        let is_right = found.first().copied().unwrap_or("healthy") == truth.cause;
        (!is_right).then(|| format!("{} {}: {found:?}", truth.cause, truth.number))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    half.iter().for_each(|it| *causes.entry(&it.cause).or_default() += 1);
    eprintln!("{} of {} right; {causes:?}", half.len() - wrong.len(), half.len());
    assert!(half.len() >= 100, "{} draws", half.len());
    let of_half = |line: &&str| {
        let number = line.split([' ', ':']).nth(1).and_then(|number| number.parse().ok());
        number.is_some_and(|number| numbers.contains(&number))
    };
    let known: Vec<&str> = WRONG.into_iter().filter(of_half).collect();
    assert_eq!(wrong, known);
}

#[test]
fn even_draws_have_their_causes() {
    judge(false);
}

#[test]
fn odd_draws_have_their_causes() {
    judge(true);
}

/// With `LASTHOP_KEEP_TRUTHS` set it writes them.
#[test]
#[ignore = "a campaign"]
fn the_truths_are_kept() {
    let draws: Vec<Draw> = (0..DRAWS).map(Draw::new).collect();
    let truths: Vec<Truth> = on_all_cores(&draws, truth).into_iter().flatten().collect();
    let lines: Vec<String> =
        truths.iter().map(|it| serde_json::to_string(it).expect("it is plain")).collect();
    let json = format!("[\n{}\n]\n", lines.join(",\n"));
    if env::var_os("LASTHOP_KEEP_TRUTHS").is_some() {
        fs::write(kept(), &json).expect("it is written");
    }
    assert_eq!(fs::read_to_string(kept()).expect("they are kept"), json);
}
