//! Causes and the remedies that are taken for them, tried: queues of drivers, power save, and
//! wires whose queue is written at one direction. Bounds are those of the queues themselves: a
//! driver holds no more packets than its limit, and Airtime Queue Limits leave 12 ms of airtime.

mod common;

use lasthop_report::finding::{Finding, Kind, findings};
use lasthop_report::remedy::applicable;
use lasthop_report::trial::{Trial, Trials};
use lasthop_scenario::Scenario;
use lasthop_sim::{names, record, recording};
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

/// Returns the first finding, its remedy, and the trial of the remedy.
fn first(text: &str) -> (Finding, Vec<String>, Option<Trial>) {
    let document = run(text, &[]);
    let found = findings(&document);
    let first = found.first().unwrap_or_else(|| panic!("nothing found in\n{text}")).clone();
    let mut again = |scenario: &Scenario, number| {
        let recorder = Recorder::new(names(scenario), recording(scenario));
        record(scenario, number, recorder, &mut |_| ControlFlow::Continue(()))
            .map_err(|why| why.to_string())
    };
    let sets = applicable(text, &first);
    let trial = Trials::try_all(&document, text, &mut again).with(&sets).cloned();
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

/// A laptop behind a line of 25 Mb/s downwards, and pings over it.
const LINE: &str = r#"
duration = "12s"
warmup = "4s"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["server", "ap"]
delay = "150ms"
rate = "25Mb/s"
[[flow]]
name = "ping"
from = "laptop"
to = "server"
kind = "ping"
"#;

const DOWNLOAD: &str =
    "[[flow]]\nname = \"down\"\nfrom = \"server\"\nto = \"laptop\"\nkind = \"tcp\"\n";

#[test]
fn the_length_of_a_line_is_no_fault_and_its_queue_is() {
    assert_eq!(findings(&run(LINE, &[])), []);
    assert_eq!(findings(&run(LINE, &["wire.server-ap.jitter=40ms"])), [], "nor does it vary");
    let change = "[[change]]\nat = \"6s\"\nset = { wire.server-ap.delay = \"400ms\" }\n";
    assert_eq!(findings(&run(&format!("{LINE}{change}"), &[])), [], "nor if it grows");
    // 780 kB at 25 Mb/s are 250 ms.
    let full = format!("{LINE}{DOWNLOAD}");
    let sets = ["wire.server-ap.delay=15ms", "wire.server-ap.up.queue.bytes=780kB"];
    let document = run(&full, &sets);
    let waits = document.wires["server->ap"].queue_ms.expect("it has a rate");
    assert!((150.0..260.0).contains(&waits), "{waits}");
    assert_eq!(document.wires["server->ap"].delay_ms, Some(15.0));
    let found = findings(&document);
    assert_eq!(found[0].kind, Kind::Wire, "{found:?}");
    assert!(found[0].sentence.contains("in the queue before the wire server->ap (drop-tail"));
    let empty = run(LINE, &[]).wires["ap->server"].queue_ms;
    assert!(empty.is_some_and(|waits| waits < 0.1), "{empty:?}");
}

/// Twelve guests, two of them with films, share a line of 25 Mb/s. Bursts of a film wait for their
/// own packets.
#[test]
fn nothing_is_wrong_in_the_cafe() {
    let path = format!("{}/../../scenarios/places/cafe.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the place is shipped");
    assert_eq!(findings(&run(&text, &["duration=20s"])), []);
}

/// UDP of 20 Mb/s into a coded link over 16 Mb/s of which a tenth is lost: the backlog drops, whole
/// packets and those in two pieces alike, and the wire's losses are repaired.
#[test]
fn a_coded_link_is_overloaded_and_its_wire_is_not_blamed() {
    for bytes in [1_400, 1_500] {
        let text = format!(
            "duration = \"30s\"\nwarmup = \"10s\"\n[[node]]\nname = \"here\"\nrole = \"host\"\n\
             [[node]]\nname = \"there\"\nrole = \"host\"\n[[wire]]\nbetween = [\"here\", \"there\"]\n\
             rate = \"16Mb/s\"\ndelay = \"55ms\"\nloss = 0.1\nqueue = {{ packets = 100 }}\n[[franc]]\n\
             name = \"link\"\nends = [\"here\", \"there\"]\npace = \"5ms\"\n[[flow]]\nname = \"up\"\n\
             from = \"here\"\nto = \"there\"\nkind = \"udp\"\nrate = \"20Mb/s\"\npacket_bytes = {bytes}\n"
        );
        let (found, sets, trial) = first(&text);
        assert_eq!(found.kind, Kind::Overload, "{found:?}");
        let named = "the coded link link carries no more of it. The backlog of here drops";
        assert!(found.sentence.contains(named), "{}", found.sentence);
        assert!(sets[0].starts_with("flow.up.rate="), "{sets:?}");
        let [before, after] = delays(trial);
        assert!(after < before, "{before} {after}");
        let slow = run(&text, &["flow.up.rate=2Mb/s"]);
        assert!(slow.wires["here->there"].packets_lost > 50);
        assert_eq!(findings(&slow), [], "the coded link repairs its wire");
    }
}

/// A queue that a change during the run sets again has to be set there, too.
#[test]
fn a_remedy_holds_after_a_change_that_sets_its_key() {
    let full = format!("{LINE}{DOWNLOAD}").replace("150ms", "15ms").replace(
        "rate = \"25Mb/s\"",
        "rate = \"25Mb/s\"\nqueue = { kind = \"drop-tail\", packets = 520 }",
    );
    let change = |set: &str| format!("{full}[[change]]\nat = \"2s\"\nset = {{ {set} }}\n");
    let again = "wire.server-ap.queue = { kind = \"drop-tail\", packets = 520 }";
    let before = run(&change(again), &[]);
    let alone = run(&change(again), &["wire.server-ap.queue.kind=fq-codel"]);
    let waits = |run: &RunDocument| run.wires["server->ap"].queue_ms.expect("it has a rate");
    assert!(waits(&before) > 25.0 && waits(&alone) > 20.0, "{} {}", waits(&before), waits(&alone));
    for again in
        [again, "wire.server-ap.queue = \"drop-tail\"", "\"wire.*.queue.kind\" = \"drop-tail\""]
    {
        let text = change(again);
        let (found, sets, trial) = first(&text);
        assert_eq!(found.kind, Kind::Wire, "{found:?}");
        assert_eq!(sets[0], "wire.server-ap.up.queue.kind=fq-codel");
        assert!(sets[1].starts_with("change.0.set.wire.server-ap."), "{sets:?}");
        let [before, after] = delays(trial);
        assert!(before > 60.0 && after < 60.0, "{again}: {before} {after}");
    }
    // Another key, and the remedy itself, undo nothing.
    for other in ["wire.server-ap.delay = \"25ms\"", "wire.server-ap.queue.kind = \"fq-codel\""] {
        let sets = applicable(
            &change(other),
            &Finding {
                kind: Kind::Wire,
                sentence: String::new(),
                weight: 1.0,
                remedy: vec!["wire.server->ap.queue.kind=fq-codel".to_owned()],
                device: None,
            },
        );
        let is_alone = sets.len() == 1 && sets[0].ends_with("queue.kind=fq-codel");
        assert!(is_alone, "{other}: {sets:?}");
    }
}
