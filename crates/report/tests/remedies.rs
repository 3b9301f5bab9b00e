//! Causes and the remedies that are taken for them, tried: queues of drivers, power save, and
//! wires whose queue is written at one direction. Bounds are those of the queues themselves: a
//! driver holds no more packets than its limit, and Airtime Queue Limits leave 12 ms of airtime.

mod common;

use lasthop_report::finding::{Finding, Kind, findings};
use lasthop_report::remedy::applicable;
use lasthop_report::trial::{Trial, Trials};
use lasthop_run::{names, recording, simulate};
use lasthop_scenario::Scenario;
use lasthop_trace::{Recorder, RunDocument};
use std::ops::ControlFlow;

/// A slow link under FQ-CoDel, with a driver that holds 1424 packets below it.
const DEEP: &str = r#"
duration = "16s"
warmup = "6s"
[[node]]
name = "ap"
role = "access-point"
rate_control = { kind = "fixed", mcs = 1 }
driver_queue = { packets = 1424 }
[[node]]
name = "laptop"
role = "station"
rate_control = { kind = "fixed", mcs = 1 }
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["server", "ap"]
delay = "1ms"
[[flow]]
name = "down"
from = "server"
to = "laptop"
kind = "tcp"
[[flow]]
name = "ping"
from = "server"
to = "laptop"
kind = "ping"
"#;

fn run(text: &str, sets: &[&str]) -> RunDocument {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    common::run("test.toml", text, &sets)
}

/// The first finding, its remedy, and what it brings.
fn first(text: &str) -> (Finding, Vec<String>, Option<Trial>) {
    let document = run(text, &[]);
    let found = findings(&document);
    let first = found.first().unwrap_or_else(|| panic!("nothing found in\n{text}")).clone();
    let mut again = |scenario: &Scenario, number| {
        let recorder = Recorder::new(names(scenario), recording(scenario));
        simulate(scenario, number, recorder, &mut |_| ControlFlow::Continue(()))
            .map_err(|why| why.to_string())
    };
    let sets = applicable(text, &first);
    let trial = Trials::of(&document, text, &mut again).with(&sets).cloned();
    (first, sets, trial)
}

/// The delay of a trial without its remedy and with it.
fn delays(trial: Option<Trial>) -> [f64; 2] {
    let trial = trial.expect("it was tried");
    assert!(trial.helps, "{trial:?}");
    let delay = trial.numbers.iter().find(|number| number.unit == "ms").expect("a delay");
    [delay.before, delay.after].map(|it| it.expect("packets came"))
}

#[test]
fn a_drivers_queue_below_fq_codel_is_named_and_bounded() {
    let document = run(DEEP, &[]);
    let node = &document.nodes["ap"];
    let (all, below) =
        (node.queue_packets.expect("held"), node.driver_queue_packets.expect("held"));
    assert!(below.max <= 1_424 && below.max > 1_000, "{below:?}");
    assert!(below.mean <= all.mean && all.mean - below.mean < 0.5 * all.mean, "{all:?} {below:?}");
    assert_eq!(node.driver_queue.and_then(|it| it.limit_packets), Some(1_424));
    let (found, sets, trial) = first(DEEP);
    assert_eq!(found.kind, Kind::DriverQueue, "{found:?}");
    assert!(found.sentence.contains("driver's queue (1424 packets at most)"), "{}", found.sentence);
    assert_eq!(sets, ["node.ap.driver_queue={airtime=\"12ms\"}"]);
    let [before, after] = delays(trial);
    assert!(before > 800.0 && after < 100.0, "{before} {after}");
    assert!(found.device.is_some_and(|device| device.contains("aql_enable")));
}

/// Above a deep driver a first-in-first-out queue needs both; with Airtime Queue Limits there is
/// no such finding, and none where the driver is not what is full.
#[test]
fn only_a_drivers_queue_that_is_long_is_named() {
    let both = DEEP.replace("driver_queue =", "queue = \"drop-tail\"\ndriver_queue =");
    let (found, sets, trial) = first(&both);
    assert_eq!(found.kind, Kind::DriverQueue, "{found:?}");
    let aql = "node.ap.driver_queue={airtime=\"12ms\"}";
    assert_eq!(sets, [aql, "node.ap.queue.kind=fq-codel"]);
    let [before, after] = delays(trial);
    assert!(before > 800.0 && after < 100.0, "{before} {after}");
    let kinds = |text: &str, sets: &[&str]| {
        findings(&run(text, sets)).iter().map(|it| it.kind).collect::<Vec<_>>()
    };
    assert!(!kinds(DEEP, &[aql]).contains(&Kind::DriverQueue));
    assert!(!kinds(DEEP, &["node.ap.driver_queue.packets=8"]).contains(&Kind::DriverQueue));
    let shallow = ["node.ap.driver_queue.packets=64"];
    assert_eq!(kinds(&both, &shallow).first(), Some(&Kind::OwnQueue), "most wait above");
}

#[test]
fn power_save_is_switched_off() {
    let text = r#"
duration = "60s"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "pi"
role = "station"
power_save = { kind = "legacy" }
[[flow]]
name = "ping"
from = "ap"
to = "pi"
kind = "ping"
interval = "500ms"
"#;
    let (found, sets, trial) = first(text);
    assert_eq!(found.kind, Kind::Sleep, "{found:?}");
    assert!(found.sentence.contains("(listen interval + beacons missed) beacon intervals"));
    assert_eq!(sets, ["node.pi.power_save=off"]);
    let [before, after] = delays(trial);
    // Up to a beacon interval of 102.4 ms, and nothing of it when awake.
    assert!(before > 90.0 && after < 5.0, "{before} {after}");
}

/// 780 kB at 25 Mb/s are 250 ms, whichever key they are written at.
#[test]
fn a_line_that_is_full_gets_its_queue_at_the_key_that_decides() {
    let text = r#"
duration = "12s"
warmup = "4s"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[node]]
name = "head"
role = "relay"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["server", "head"]
[[wire]]
between = ["head", "ap"]
delay = "15ms"
queue = "drop-tail"
[wire.up]
rate = "25Mb/s"
queue = { kind = "drop-tail", bytes = "780kB" }
[wire.down]
rate = "6Mb/s"
[[flow]]
name = "down"
from = "server"
to = "laptop"
kind = "tcp"
[[flow]]
name = "ping"
from = "laptop"
to = "server"
kind = "ping"
"#;
    let (found, sets, trial) = first(text);
    assert_eq!(found.kind, Kind::Wire, "{found:?}");
    assert_eq!(sets, ["wire.head-ap.up.queue.kind=fq-codel"]);
    let [before, after] = delays(trial);
    assert!(before > 150.0 && after < 60.0, "{before} {after}");
}
