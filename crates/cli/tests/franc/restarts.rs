//! Every role is killed without warning under traffic, and restarted at once.
//!
//! The time is measured from when the shell starts the new process (before that has read its key or
//! opened anything, so that its start counts) to the arrival of the first answer to a ping that was
//! sent after the kill; a ping is sent every 20 ms. For a helper, it ends when the helper reports
//! that it hears the session. A measurement above a second is repeated up to twice, and the best
//! one counts: load on the machine and consecutive losses only make it longer.

use crate::RECOVERY_MS;
use crate::stage::{Stage, TRANSFER, daemon, served, stats};
use std::collections::BTreeMap;

/// Kills WHO while pings pass, and prints the milliseconds until they pass again.
const RECOVERS: &str = r#"
killed() {
    ping -D -n -i 0.02 10.9.0.2 > pings.txt 2>/dev/null & load=$!
    sleep 0.7
    at=$(date +%s.%N); kill -9 $(cat $1.pid)
    sleep 2.3
    kill -INT $load; wait $load
    awk -v at=$at -v began=$(cat $1.began) '
        /^\[[0-9.]+\] .* time=/ {
            came = substr($1, 2) + 0; split($0, parts, "time="); sent = came - parts[2] / 1000
            if (sent >= at && came >= began) { print int((came - began) * 1000 + 0.5); exit }
        }' pings.txt
}
helper_killed() {
    ping -q -i 0.02 10.9.0.2 >/dev/null 2>&1 & load=$!
    sleep 0.7; kill -9 $(cat $1.pid)
    for attempt in $(seq 200); do
        LASTHOP franc stats --json --socket $1.sock 2>/dev/null | grep -q '"connected": *true' && break
        sleep 0.01
    done
    at=$(date +%s.%N); kill $load
    awk -v began=$(cat $1.began) -v at=$at 'BEGIN { print int((at - began) * 1000 + 0.5) }'
}
recovers() {
    for attempt in 1 2 3; do
        ms=$($1 $2); echo $2 ${ms:-none} >> times.txt
        [ ${ms:-9999} -gt 1000 ] || break
    done
}
"#;

/// Asserts that the best measurement of each node is at most a second.
fn check(stage: &Stage, nodes: &[&str]) {
    let times = stage.text("times.txt");
    eprintln!("milliseconds until it was back:\n{times}");
    let mut best = BTreeMap::new();
    for line in times.lines() {
        let (who, ms) = line.split_once(' ').expect("who and how long");
        let ms = ms.parse().unwrap_or(u64::MAX);
        best.entry(who).and_modify(|best: &mut u64| *best = ms.min(*best)).or_insert(ms);
    }
    assert_eq!(best.len(), nodes.len(), "{times}");
    assert!(best.values().all(|&ms| ms <= RECOVERY_MS), "{times}{}", stage.logs());
}

fn end(name: &str, flags: &str) -> String {
    daemon(name, &format!("{flags} --key-file key"))
}

fn script(lines: &str) -> String {
    let recovers = RECOVERS.replace("LASTHOP", env!("CARGO_BIN_EXE_lasthop"));
    format!("{recovers}until_passes 10.9.0.2\n{lines}")
}

#[test]
fn ends_and_recoders_that_are_killed_are_back_within_a_second() {
    let stage = Stage::new("kill");
    stage.keys();
    let recoder = "--id 2 --role recoder --between 1,3 --neighbours 1=a,3=b --key-file hop";
    let programs = vec![
        ("a", end("a", "--id 1 --peer 3 --via 2 --neighbours 2=r --address 10.9.0.1/24")),
        ("r", daemon("r", recoder)),
        ("b", end("b", "--id 3 --peer 1 --via 2 --neighbours 2=r --address 10.9.0.2/24")),
        served(),
    ];
    let script = script(&format!("for who in a r b; do recovers killed $who; done\n{TRANSFER}"));
    let Some(()) = stage.emulate(&["a", "r", "b"], "5%", &programs, &script) else { return };
    check(&stage, &["a", "r", "b"]);
}

#[test]
fn a_forwarder_that_is_killed_is_back_within_a_second() {
    let stage = Stage::new("forwarder");
    stage.keys();
    let forwarder = "--id 2 --role forwarder --between 1,3 --neighbours 1=a,3=b --key-file hop";
    let programs = vec![
        ("a", end("a", "--id 1 --peer 3 --neighbours 3=f --address 10.9.0.1/24")),
        ("f", daemon("f", forwarder)),
        ("b", end("b", "--id 3 --peer 1 --neighbours 1=f --address 10.9.0.2/24")),
        served(),
    ];
    let script = script(&format!("recovers killed f\n{TRANSFER}"));
    let Some(()) = stage.emulate(&["a", "f", "b"], "5%", &programs, &script) else { return };
    check(&stage, &["f"]);
}

#[test]
fn a_helper_that_vanishes_is_not_missed_and_back_within_a_second() {
    let stage = Stage::new("helper");
    stage.keys();
    // The helper is in the middle, so that all three hear each other; it gets copies.
    let programs = vec![
        (
            "a",
            daemon(
                "a",
                "--id 1 --peer 3 --helpers 2 --copies-to 2 --neighbours 2=h,3=b --address 10.9.0.1/24 --key-file key",
            ),
        ),
        (
            "h",
            daemon("h", "--id 2 --role helper --between 1,3 --neighbours 1=a,3=b --key-file hop"),
        ),
        (
            "b",
            daemon(
                "b",
                "--id 3 --peer 1 --helpers 2 --copies-to 2 --neighbours 1=a,2=h --address 10.9.0.2/24 --key-file key",
            ),
        ),
        served(),
    ];
    let script = script(&format!(
        "(sleep 1; kill -9 $(cat h.pid); sleep 1; kill -9 $(cat h.pid)) &\n{TRANSFER}\
         recovers helper_killed h\n{}",
        stats("h")
    ));
    let Some(()) = stage.emulate(&["a", "h", "b"], "5%", &programs, &script) else { return };
    check(&stage, &["h"]);
    let stats = stage.stats("h.json");
    assert_eq!(stats["role"], "helper");
    assert!(stats["neighbours"].as_array().is_some_and(|all| all.len() == 2), "{stats:#}");
}
