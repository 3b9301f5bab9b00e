//! Queues of valid scenarios as typed values: documented defaults, and values that are refused.

use lasthop_packet::queue::QueueConfig;
use lasthop_scenario::{Scenario, parse};
use lasthop_units::{Bitrate, Bytes, Duration};
use lasthop_wifi::cell::CellConfig;

const CELL: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
"#;

const WIRE: &str = r#"
[[node]]
name = "a"
role = "host"
[[node]]
name = "b"
role = "host"
[[wire]]
between = ["a", "b"]
"#;

fn with(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    parse("test.toml", text, &sets).unwrap_or_else(|why| panic!("{why}"))
}

fn cell(scenario: &Scenario) -> &CellConfig {
    scenario.network.cell.as_ref().expect("there is a cell")
}

/// Thresholds of marks have the documented defaults: the longest A-MPDU on the air, 1 ms on wires.
#[test]
fn a_threshold_of_marks() {
    let of = |keys: &str| {
        let set = format!("node.laptop.queue={{ {keys} }}");
        let queue = cell(&with(CELL, &[&set])).stations[1].queue;
        let QueueConfig::FqCodel { ce_threshold, airtime: true, .. } = queue else {
            panic!("{queue:?}")
        };
        ce_threshold.map(|it| (it.sojourn, it.ect1_only))
    };
    assert_eq!(of(""), None);
    assert_eq!(of("ce_threshold = \"2ms\""), Some((Duration::from_millis(2), false)));
    let l4s = "ce_threshold_selector = \"ect1\"";
    assert_eq!(of(l4s), Some((Duration::from_micros(5_484), true)));
    let both = format!("{l4s}, ce_threshold = \"700us\"");
    assert_eq!(of(&both), Some((Duration::from_micros(700), true)));
    for (keys, wrong) in [
        ("ce_threshold = \"0s\"", "more than zero"),
        ("ce_threshold_selector = \"any\"", "write ce_threshold"),
        ("ce_threshold_selector = \"ect2\"", "\"ect1\""),
        ("kind = \"codel\", ce_threshold = \"1ms\"", "is for kind"),
    ] {
        let set = format!("node.laptop.queue={{ {keys} }}");
        let why = parse("test.toml", CELL, &[set]).expect_err(keys);
        assert!(why.to_string().contains(wrong), "{why}");
    }
}

/// A queue with adaptive capacity has the documented defaults.
#[test]
fn an_adapting_queue() {
    let of = |sets: &[&str]| cell(&with(CELL, sets)).stations[1].queue;
    let usual = of(&["node.laptop.queue=ebdp"]);
    assert_eq!(usual, QueueConfig::EMULATED_BDP);
    let written = "node.laptop.queue={ kind = \"ebdp\", packets = 400, target = \"200ms\", \
                   burst_packets = 5, average_packets = 1000, count_flows = false }";
    assert_eq!(of(&[written]), usual);
    let counting = |more: &str| {
        let set = format!("node.laptop.queue={{ kind = \"ebdp\", count_flows = true{more} }}");
        match of(&[&set]) {
            QueueConfig::EmulatedBdp { flows, .. } => flows,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(counting(""), Some(Duration::from_secs(1)));
    assert_eq!(counting(", interval = \"3s\""), Some(Duration::from_secs(3)));
    for (keys, wrong) in [
        ("packets = 3", "a burst of 5 packets is more than the queue's 3"),
        ("burst_packets = 0", "expected a whole number from 1"),
        ("average_packets = 0", "expected a whole number from 1"),
        ("target = \"0s\"", "more than zero"),
        ("interval = \"2s\"", "count_flows = true"),
        ("bytes = \"1MB\"", "bounded by packets"),
        ("ecn = true", "is for kind"),
    ] {
        let set = format!("node.laptop.queue={{ kind = \"ebdp\", {keys} }}");
        let why = parse("test.toml", CELL, &[set]).expect_err(keys);
        assert!(format!("{why:?}").contains(wrong), "{keys}: {why:?}");
    }
}

/// DualPI2 has Linux' defaults, on the air and on wires.
#[test]
fn coupled_queues() {
    let of = |sets: &[&str]| cell(&with(CELL, sets)).stations[1].queue;
    let usual = of(&["node.laptop.queue=dualpi2"]);
    assert_eq!(usual, QueueConfig::DUAL_PI2);
    let written = "node.laptop.queue={ kind = \"dualpi2\", packets = 10000, target = \"15ms\", \
                   tupdate = \"16ms\", alpha = 0.16, beta = 3.2, coupling_factor = 2, \
                   step_thresh = \"1ms\", classic_protection = 10, drop_on_overload = true }";
    assert_eq!(of(&[written]), usual);
    for (keys, wrong) in [
        ("packets = 0", "expected a whole number from 1"),
        ("tupdate = \"0s\"", "more than zero"),
        ("alpha = 0.001", "expected a gain"),
        ("beta = 40000", "expected a gain"),
        ("coupling_factor = 0", "expected a whole number from 1"),
        ("classic_protection = 101", "expected a whole number from 0 to 100"),
        ("target = \"off\"", "only fq-codel"),
        ("interval = \"2s\"", "is for kind"),
        ("bytes = \"1MB\"", "bounded by packets"),
        ("ecn = true", "is for kind"),
        ("flows = 8", "is for kind"),
    ] {
        let set = format!("node.laptop.queue={{ kind = \"dualpi2\", {keys} }}");
        let why = parse("test.toml", CELL, &[set]).expect_err(keys);
        assert!(format!("{why:?}").contains(wrong), "{keys}: {why:?}");
    }
    let set = "node.laptop.queue={ kind = \"codel\", tupdate = \"1ms\" }".to_owned();
    let why = parse("test.toml", CELL, &[set]).expect_err("another kind");
    assert!(format!("{why:?}").contains("dualpi2"), "{why:?}");
}

/// CAKE has the defaults of `tc-cake`; a shaper is for wires.
#[test]
fn queues_that_share_among_hosts() {
    use lasthop_packet::queue::{Isolation, Tins};
    let of = |sets: &[&str]| cell(&with(CELL, sets)).stations[1].queue;
    let usual = of(&["node.laptop.queue=cake"]);
    assert_eq!(usual, QueueConfig::CAKE);
    let written = "node.laptop.queue={ kind = \"cake\", rtt = \"100ms\", overhead_bytes = 14, \
                   isolation = \"triple-isolate\", diffserv = \"diffserv3\" }";
    assert_eq!(of(&[written]), usual);
    let wire = |keys: &str| {
        let set = format!("wire.a-b.queue={{ kind = \"cake\", {keys} }}");
        with(WIRE, &[&set]).network.wires[0].directions[0].queue
    };
    assert_eq!(
        wire(
            "bandwidth = \"20Mb/s\", rtt = \"40ms\", isolation = \"dual-dsthost\", \
              diffserv = \"besteffort\", bytes = \"1MB\", overhead_bytes = 38"
        ),
        QueueConfig::Cake {
            bandwidth: Some(Bitrate::from_mbps(20)),
            memory_limit: Some(Bytes::new(1_000_000)),
            target: Duration::from_millis(2),
            interval: Duration::from_millis(40),
            isolation: Isolation::DualDestination,
            tins: Tins::BestEffort,
            overhead_bytes: 38,
        }
    );
    for (keys, wrong) in [
        ("bandwidth = \"20Mb/s\"", "no shaper is modelled above the air"),
        ("bandwidth = \"1kb/s\"", "at least 64 kb/s"),
        ("rtt = \"0s\"", "more than zero"),
        ("isolation = \"triple\"", "triple-isolate"),
        ("diffserv = \"diffserv8\"", "diffserv4"),
        ("overhead_bytes = 300", "expected a whole number from 0 to 256"),
        ("bytes = \"1kB\"", "expected room"),
        ("packets = 100", "bounded by bytes"),
        ("target = \"5ms\"", "is for kind"),
        ("interval = \"2s\"", "is for kind"),
        ("ecn = true", "is for kind"),
        ("flows = 8", "is for kind"),
    ] {
        let set = format!("node.laptop.queue={{ kind = \"cake\", {keys} }}");
        let why = parse("test.toml", CELL, &[set]).expect_err(keys);
        assert!(format!("{why:?}").contains(wrong), "{keys}: {why:?}");
    }
    let set = "node.laptop.queue={ kind = \"codel\", rtt = \"1ms\" }".to_owned();
    let why = parse("test.toml", CELL, &[set]).expect_err("another kind");
    assert!(format!("{why:?}").contains("cake"), "{why:?}");
}
