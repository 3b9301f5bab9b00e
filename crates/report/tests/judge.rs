//! The findings judged: a grid of scenarios with known causes (`data/grid.json`), of which
//! one half was there when thresholds were chosen and the other half judges them. A
//! healthy scenario has no finding.

mod common;

use lasthop_report::finding::findings;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, thread};

/// Scenarios with one cause: every combination of the values of `vary`.
#[derive(Deserialize)]
struct Group {
    cause: String,
    base: String,
    vary: BTreeMap<String, Vec<String>>,
}

/// A scenario of the grid.
struct Case {
    cause: String,
    base: String,
    sets: Vec<String>,
    is_judge: bool,
}

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    fs::read_to_string(path).expect("it is there")
}

/// The cases; neighbours in any key are in different halves.
fn grid() -> Vec<Case> {
    let groups: Vec<Group> = serde_json::from_str(&data("grid.json")).expect("a grid");
    let mut cases = Vec::new();
    for group in groups {
        let mut combinations = vec![(Vec::new(), 0)];
        for (key, values) in &group.vary {
            let longer = combinations.iter().flat_map(|(sets, sum): &(Vec<String>, usize)| {
                values.iter().enumerate().map(move |(index, value)| {
                    let set = format!("{key}={value}");
                    (sets.iter().cloned().chain([set]).collect(), sum + index)
                })
            });
            combinations = longer.collect();
        }
        cases.extend(combinations.into_iter().map(|(sets, sum)| Case {
            cause: group.cause.clone(),
            base: group.base.clone(),
            sets,
            is_judge: sum % 2 == 1,
        }));
    }
    cases
}

/// The kinds of the findings of a case, in their order.
fn found(case: &Case) -> Vec<&'static str> {
    let name = format!("{}.toml", case.base);
    let run = common::run(&name, &data(&name), &case.sets);
    findings(&run).iter().map(|finding| finding.kind.as_str()).collect()
}

/// Returns the number of cases of a half, and the lines of those that are judged wrongly.
fn score(is_judge: bool) -> (usize, Vec<String>) {
    let cases: Vec<Case> = grid().into_iter().filter(|case| case.is_judge == is_judge).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let wrong = |first: usize| {
        let mine = cases.iter().skip(first).step_by(threads);
        let judged = mine.filter_map(|case| {
            let found = found(case);
            let is_right = found.first().copied().unwrap_or("healthy") == case.cause;
            (!is_right).then(|| format!("{} {} {:?}: {found:?}", case.cause, case.base, case.sets))
        });
        judged.collect::<Vec<_>>()
    };
    let wrong = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || wrong(first))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    (cases.len(), wrong)
}

fn check(is_judge: bool) {
    let (cases, wrong): (usize, Vec<String>) = score(is_judge);
    eprintln!("{} of {cases} right", cases - wrong.len());
    wrong.iter().for_each(|line| eprintln!("wrong: {line}"));
    assert!(cases >= 60, "{cases} cases");
    let is_healthy = |line: &&String| line.starts_with("healthy");
    assert_eq!(wrong.iter().filter(is_healthy).count(), 0, "{wrong:#?}");
    assert!(wrong.len() * 20 <= cases, "{} of {cases} wrong: {wrong:#?}", wrong.len());
}

/// The half with which thresholds were chosen.
#[test]
fn the_tuned_half_has_its_causes() {
    check(false);
}

#[test]
fn the_judged_half_has_its_causes() {
    check(true);
}
