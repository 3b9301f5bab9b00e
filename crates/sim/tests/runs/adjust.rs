//! Runs that are read and changed between steps: any steps give the same run, and a change before
//! the first event equals the same value in the scenario.

use lasthop_hosts::sink::NoSink;
use lasthop_net::network::NetworkStats;
use lasthop_packet::AccessCategory;
use lasthop_scenario::{Scenario, parse};
use lasthop_sim::Simulation;
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::cell::{AdjustError, Adjustment};
use lasthop_wifi::phy::{ChannelWidth, GuardInterval, Rate};
use proptest::prelude::*;

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(milliseconds)
}

/// Three stations that all send, one of them TCP.
fn scenario(defaults: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "1s"
        [node_defaults]
        {defaults}
        [[node]]
        name = "ap"
        role = "access-point"
        [[node]]
        name = "sta"
        role = "station"
        count = 3
        ring = "2m"
        [[node]]
        name = "server"
        role = "host"
        [[wire]]
        between = ["server", "ap"]
        rate = "1Gb/s"
        delay = "1ms"
        [[flow]]
        name = "up"
        from = "sta1"
        to = "ap"
        kind = "udp"
        rate = "saturated"
        [[flow]]
        name = "also"
        from = "sta2"
        to = "ap"
        kind = "udp"
        rate = "8Mb/s"
        [[flow]]
        name = "tcp"
        from = "sta3"
        to = "server"
        kind = "tcp"
        "#
    );
    parse("adjust.toml", &text, &[]).expect("it is right")
}

const PLAIN: &str =
    "rate_control = { kind = \"fixed\", mcs = 4 }\nqueue = { kind = \"drop-tail\", packets = 50 }";

fn mcs(mcs: u8) -> Rate {
    Rate::Ht { mcs, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long }
}

fn run(defaults: &str) -> NetworkStats {
    lasthop_sim::simulate(
        &scenario(defaults),
        Seed::new(7, 0),
        &mut NoSink,
        &mut lasthop_sim::go_on,
    )
    .expect("it runs")
}

/// The same with changes at every radio before anything happens.
fn run_with(defaults: &str, changes: &[Adjustment]) -> NetworkStats {
    let scenario = scenario(defaults);
    let mut run = Simulation::new(&scenario, Seed::new(7, 0), &mut NoSink).expect("it is right");
    for name in ["ap", "sta1", "sta2", "sta3"] {
        let node = scenario.node(name).expect("it is there");
        for &change in changes {
            run.hosts().adjust(node, change).expect("it has a radio").expect("it is allowed");
        }
    }
    run.advance(Instant::MAX, &mut NoSink);
    assert!(run.is_over());
    run.finish(&mut NoSink)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn steps_change_nothing(mut steps in prop::collection::vec(0_u64..1_100, 0..40)) {
        steps.sort_unstable();
        let whole = run(PLAIN);
        let scenario = scenario(PLAIN);
        let mut run = Simulation::new(&scenario, Seed::new(7, 0), &mut NoSink).expect("right");
        for step in steps {
            run.advance(at(step), &mut NoSink);
            // Looking changes nothing.
            let now = run.now();
            let node = scenario.node("sta1").expect("it is there");
            prop_assert!(run.hosts().network().station_stats(now, node).is_some());
        }
        run.advance(at(1_000), &mut NoSink);
        prop_assert!(run.is_over());
        prop_assert_eq!(run.finish(&mut NoSink), whole);
    }
}

#[test]
fn what_is_set_first_is_as_if_it_was_configured() {
    let plain = run(PLAIN);
    let cases: [(&str, &str, Vec<Adjustment>); 4] = [
        (
            PLAIN,
            "edca = { best_effort = { cw_min = 63, cw_max = 63 } }",
            vec![Adjustment::ContentionWindow {
                access_category: AccessCategory::BestEffort,
                cw_min: 63,
                cw_max: 63,
            }],
        ),
        (PLAIN, "mcs = 2", vec![Adjustment::Rate(mcs(2))]),
        (PLAIN, "packets = 11", vec![Adjustment::QueuePackets(11)]),
        (
            "rate_control = { kind = \"fixed\", mcs = 4 }\nqueue = { kind = \"fq-codel\", packets = 1000 }",
            "target = \"2ms\"",
            vec![Adjustment::QueueTarget(Duration::from_millis(2))],
        ),
    ];
    for (before, key, changes) in cases {
        let configured = match key.split_once(" = ") {
            Some(("mcs", _)) => before.replace("mcs = 4", key),
            Some(("packets", _)) => before.replace("packets = 50", key),
            Some(("target", _)) => {
                before.replace("packets = 1000", &format!("packets = 1000, {key}"))
            }
            _ => format!("{before}\n{key}"),
        };
        let adjusted = run_with(before, &changes);
        assert!(adjusted == run(&configured), "{key}");
        assert!(adjusted != plain, "{key}: it does something");
    }
}

#[test]
fn what_is_set_later_is_so_from_then_on() {
    let scenario = scenario(PLAIN);
    let node = |name| scenario.node(name).expect("it is there");
    let mut run = Simulation::new(&scenario, Seed::new(7, 0), &mut NoSink).expect("it is right");
    run.advance(at(150), &mut NoSink);
    let hosts = run.hosts();
    for change in [Adjustment::Rate(mcs(1)), Adjustment::QueuePackets(5)] {
        hosts.adjust(node("sta1"), change).expect("it has a radio").expect("it is allowed");
    }
    run.advance(at(151), &mut NoSink);
    let before =
        run.hosts().network().link_stats(node("sta1"), node("ap")).expect("it sent").clone();
    run.advance(at(1_000), &mut NoSink);
    let hosts = run.hosts();
    let after = hosts.network().link_stats(node("sta1"), node("ap")).expect("it sent").clone();
    let ppdus = |of: &lasthop_wifi::stats::LinkStats, rate| {
        of.ppdus_by_rate.iter().find(|(other, _)| *other == rate).map_or(0, |(_, ppdus)| *ppdus)
    };
    // One that was built before may still have had the old rate.
    assert!(ppdus(&after, mcs(4)) <= ppdus(&before, mcs(4)) + 1);
    assert!(ppdus(&after, mcs(1)) > ppdus(&before, mcs(1)) + 1, "{before:?} {after:?}");
    assert_eq!(hosts.network().wifi_packets(node("sta1")), 5);
    // Others are as they were.
    let other = hosts.network().link_stats(node("sta2"), node("ap")).expect("it sent");
    assert_eq!(ppdus(other, mcs(1)), 0);
}

#[test]
fn what_is_not_allowed_changes_nothing() {
    let scenario = scenario(PLAIN);
    let mut run = Simulation::new(&scenario, Seed::new(7, 0), &mut NoSink).expect("it is right");
    let before = run.clone();
    let station = scenario.node("sta1").expect("it is there");
    let windows = |cw_min, cw_max| Adjustment::ContentionWindow {
        access_category: AccessCategory::BestEffort,
        cw_min,
        cw_max,
    };
    for (change, why) in [
        (windows(16, 31), AdjustError::Windows),
        (windows(63, 31), AdjustError::Windows),
        (windows(15, 65_535), AdjustError::Windows),
        (Adjustment::Rate(mcs(31)), AdjustError::Rate),
        (Adjustment::QueuePackets(0), AdjustError::QueuePackets),
        (Adjustment::QueueTarget(Duration::from_millis(5)), AdjustError::QueueTarget),
    ] {
        assert_eq!(run.hosts().adjust(station, change), Some(Err(why)), "{change:?}");
    }
    let host = scenario.node("server").expect("it is there");
    assert_eq!(run.hosts().adjust(host, Adjustment::QueuePackets(5)), None);
    assert!(run == before);
}
