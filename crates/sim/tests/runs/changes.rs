//! `[[change]]`: changes during a run, compared with runs of equivalent scenarios and with
//! calculations by hand.

use lasthop_hosts::Sink;
use lasthop_hosts::sink::NoSink;
use lasthop_net::network::NetworkStats;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_scenario::{Scenario, parse};
use lasthop_sim::{Simulation, go_on, simulate};
use lasthop_units::{Duration, Instant, Seed};
use proptest::prelude::*;

/// A laptop, an access point, a server behind a wire; TCP up, UDP down, a ping.
const BED: &str = r#"
    duration = "3s"
    [[node]]
    name = "ap"
    role = "access-point"
    queue = { kind = "drop-tail", packets = 100 }
    [[node]]
    name = "laptop"
    role = "station"
    queue = "drop-tail"
    rate_control = "ideal"
    [[node]]
    name = "phone"
    role = "station"
    position = ["4m", "0m"]
    [[node]]
    name = "server"
    role = "host"
    [[wire]]
    between = ["server", "ap"]
    rate = "20Mb/s"
    delay = "10ms"
    [[link]]
    between = ["ap", "laptop"]
    snr = "30dB"
    [[flow]]
    name = "up"
    from = "laptop"
    to = "server"
    kind = "tcp"
    [[flow]]
    name = "down"
    from = "server"
    to = "laptop"
    kind = "udp"
    rate = "8Mb/s"
    [[flow]]
    name = "ping"
    from = "phone"
    to = "server"
    kind = "ping"
    interval = "10ms"
"#;

/// Arrivals, losses and answers, with their instants.
#[derive(Debug, Default, PartialEq)]
struct Log {
    arrived: Vec<(Instant, FlowId, u64)>,
    lost: Vec<(Instant, FlowId, DropReason)>,
    round_trips: Vec<(Instant, FlowId, Duration)>,
}

impl Sink for Log {
    fn arrived(&mut self, now: Instant, _node: NodeId, packet: &Packet) {
        assert_eq!(packet.parts.total(), now - packet.created, "parts add up");
        self.arrived.push((now, packet.flow, packet.tag));
    }

    fn dropped(&mut self, now: Instant, _node: NodeId, packet: &Packet, reason: DropReason) {
        self.lost.push((now, packet.flow, reason));
    }

    fn round_trip(&mut self, now: Instant, flow: FlowId, rtt: Duration) {
        self.round_trips.push((now, flow, rtt));
    }
}

fn scenario(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    parse("changes.toml", text, &sets).unwrap_or_else(|why| panic!("{why}"))
}

fn go(scenario: &Scenario) -> (Log, NetworkStats) {
    let mut log = Log::default();
    let stats = simulate(scenario, Seed::new(5, 0), &mut log, &mut go_on).expect("it runs");
    (log, stats)
}

/// Both are the same to the last packet; else says where they part.
fn same_run(one: &(Log, NetworkStats), other: &(Log, NetworkStats)) {
    let pairs = one.0.arrived.iter().zip(&other.0.arrived);
    let parting = pairs.enumerate().find(|(_, (one, other))| one != other);
    assert!(one == other, "{parting:?}");
}

fn change(at: &str, set: &str) -> String {
    format!("[[change]]\nat = \"{at}\"\nset = {{ {set} }}\n")
}

fn with(changes: &[(&str, &str)]) -> Scenario {
    let tables: Vec<String> = changes.iter().map(|(at, set)| change(at, set)).collect();
    scenario(&[BED, &tables.concat()].concat(), &[])
}

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(milliseconds)
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A change of an SNR is the same as `snr_changes` of the link, to the last packet.
#[test]
fn an_snr_that_is_set_is_one_that_the_link_knew() {
    let known = "link=[{ between = [\"ap\", \"laptop\"], snr = \"30dB\", \
                 snr_changes = [{ from = \"1s\", snr = \"14dB\" }, { from = \"2s\", snr = \"25dB\" }] }]";
    let known = go(&scenario(BED, &[known]));
    let set =
        with(&[("1s", "link.ap-laptop.snr = \"14dB\""), ("2s", "link.ap-laptop.snr = \"25dB\"")]);
    same_run(&go(&set), &known);
    let other = with(&[("1s", "link.ap-laptop.snr = \"14dB\"")]);
    assert!(go(&other) != known);
}

/// Setting present values, and another order of tables, change nothing.
#[test]
fn values_that_are_there_and_the_order_of_the_file_change_nothing() {
    let same = with(&[
        ("1s", "wire.server-ap.delay = \"10ms\", node.laptop.queue = \"drop-tail\""),
        ("2s", "link.ap-laptop.snr = \"30dB\""),
    ]);
    assert_eq!(same.changes, []);
    same_run(&go(&same), &go(&scenario(BED, &[])));
    let changes = [
        ("500ms", "wire.server-ap.delay = \"30ms\""),
        ("1s", "node.laptop.queue.packets = 20, wire.server-ap.loss = 0.1"),
        ("2s", "wire.server-ap.loss = 0, link.ap-laptop.snr = \"14dB\""),
    ];
    let one = with(&changes);
    let mut reversed = changes;
    reversed.reverse();
    let other = with(&reversed);
    assert_eq!(one.changes, other.changes);
    same_run(&go(&one), &go(&other));
    // The text that is kept says the same.
    let again = parse("again.toml", &one.source_text, &[]).expect("it is a scenario");
    assert_eq!(again.changes, one.changes);
}

#[test]
fn a_delay_is_that_of_packets_sent_from_then_on() {
    let quiet = "flow=[{ name = \"ping\", from = \"phone\", to = \"server\", kind = \"ping\", \
                 interval = \"10ms\" }]";
    let text = [BED, &change("1s", "wire.server-ap.delay = \"60ms\"")].concat();
    let (log, _) = go(&scenario(&text, &[quiet]));
    for (now, _, rtt) in &log.round_trips {
        let sent = *now - *rtt;
        // An echo that is on its way meets it on the way there, on the way back, or not at all.
        let expected = match sent {
            _ if *now < at(1_000) => &[20][..],
            sent if sent < at(1_000) => &[20, 70, 120],
            _ => &[120],
        };
        let on_the_air = expected.iter().map(|wires| rtt.saturating_sub(ms(*wires)));
        let is_short = |air: Duration| air > Duration::ZERO && air < ms(5);
        assert!(on_the_air.clone().any(is_short), "at {now:?}: {rtt:?}");
    }
    assert!(log.round_trips.iter().filter(|(now, ..)| *now > at(1_200)).count() > 150);
}

#[test]
fn a_rate_is_kept_from_then_on() {
    let text = [BED, &change("1500ms", "wire.server-ap.rate = \"5Mb/s\"")].concat();
    let (log, _) = go(&scenario(&text, &[]));
    let megabits = |from: u64, until: u64| {
        let count = log
            .arrived
            .iter()
            .filter(|(now, flow, _)| *flow == FlowId(1) && *now >= at(from) && *now < at(until));
        count.count() as f64 * 1_500.0 * 8.0 / ((until - from) as f64 * 1e3)
    };
    assert!((megabits(500, 1_500) - 8.0).abs() < 0.2, "{}", megabits(500, 1_500));
    // The acknowledgements of the upload take some of it.
    let after = megabits(2_000, 3_000);
    assert!((4.0..5.0).contains(&after), "{after}");
}

#[test]
fn an_outage_begins_and_ends() {
    let (log, stats) = go(&with(&[
        ("1s", "wire.server-ap.loss = 1.0"),
        ("1500ms", "wire.server-ap.loss = 0"),
        ("2s", "\"link.ap-laptop\" = { between = [\"ap\", \"laptop\"], loss = 1.0 }"),
    ]));
    let through = |flow: u16, from: u64, until: u64| {
        let is_in = |now: Instant| now >= at(from) && now < at(until);
        log.arrived.iter().filter(|(now, of, _)| *of == FlowId(flow) && is_in(*now)).count()
    };
    // What is on its way goes on: 10 ms on the wire, then the air.
    assert_eq!(through(2, 1_050, 1_500), 0);
    assert!(through(2, 1_550, 3_000) > 100);
    assert_eq!(through(1, 1_100, 1_500), 0);
    assert!(log.lost.iter().any(|(.., reason)| *reason == DropReason::WireLoss));
    assert!(stats.wires.iter().all(|(.., wire)| wire.lost > 0));
    // A dead link loses what is sent after it began; its retries end soon.
    assert_eq!(through(1, 2_300, 3_000), 0);
    assert!(through(2, 2_300, 3_000) > 50, "the phone has a link of its own");
}

/// A queue that is replaced keeps its packets: nothing but the new discipline loses any.
#[test]
fn a_queue_is_mended_while_it_is_full() {
    let bed = scenario(
        BED,
        &[
            "wire.server-ap.rate=1Gb/s",
            "link.ap-laptop.snr=6dB",
            "flow.up.tcp.small_queues=off",
            "flow.down.rate=100kb/s",
        ],
    );
    let text = bed.source_text.clone();
    let before = go(&scenario(&text, &["flow.ping.from=laptop"])).0;
    let mended = change("1500ms", "node.laptop.queue.kind = \"fq-codel\"");
    let mended = scenario(&[&text[..], &mended].concat(), &["flow.ping.from=laptop"]);
    let (log, _) = go(&mended);
    let slowest = |log: &Log, from: u64, until: u64| {
        let of = log
            .round_trips
            .iter()
            .filter(|(now, flow, _)| *flow == FlowId(2) && *now >= at(from) && *now < at(until));
        of.map(|(.., rtt)| *rtt).max().expect("there are some")
    };
    assert_eq!(slowest(&log, 500, 1_500), slowest(&before, 500, 1_500));
    let full_for = slowest(&log, 500, 1_500);
    assert!(full_for > ms(150), "{full_for:?}");
    assert!(slowest(&log, 2_200, 3_000) < ms(120), "{:?}", slowest(&log, 2_200, 3_000));
    assert!(slowest(&before, 2_200, 3_000) > full_for);
    let full = |log: &Log| log.lost.iter().filter(|(.., it)| *it == DropReason::QueueFull).count();
    assert_eq!(full(&log), 0);
    // Back again: a bound of 10 packets drops what is beyond.
    let back = [
        ("1500ms", "node.laptop.queue.kind = \"fq-codel\""),
        ("2s", "node.laptop.queue = { kind = \"drop-tail\", packets = 10 }"),
    ];
    let tables: Vec<String> = back.iter().map(|(at, set)| change(at, set)).collect();
    let back = scenario(&[&text[..], &tables.concat()].concat(), &["flow.ping.from=laptop"]);
    let (log, stats) = go(&back);
    let drops: u64 = stats.stations.iter().map(|(_, station)| station.queue_drops).sum();
    let queue = |it: &DropReason| matches!(it, DropReason::QueueFull | DropReason::ActiveQueue);
    let lost = log.lost.iter().filter(|(.., it)| queue(it)).count() as u64;
    assert_eq!(drops, lost, "what is dropped is counted once");
    assert!(full(&log) > 0);
}

/// Moving a node changes each of its links, and keeps the run's shadowing.
#[test]
fn a_node_moves_and_keeps_its_shadowing() {
    let shadowed = ["channel.path_loss.shadowing=6dB", "link=[]"];
    let text = [BED, &change("1s", "node.laptop.position = [\"20m\", \"0m\"]")].concat();
    let moved = scenario(&text, &shadowed);
    let (log, _) = go(&moved);
    let there =
        scenario(BED, &[&shadowed[..], &["node.laptop.position=[\"20m\", \"0m\"]"]].concat());
    let seed = Seed::new(5, 0);
    let links = |network: &lasthop_net::NetworkConfig| network.cell.clone().expect("a cell").links;
    let expected = links(&there.network_for(seed));
    let mut reached = links(&moved.network_for(seed));
    let reached = std::sync::Arc::make_mut(&mut reached);
    for (_, change) in moved.hosts(seed).changes {
        let lasthop_net::network::Change::Link { from, to, snr, .. } = change else {
            panic!("{change:?}")
        };
        let station = |node: NodeId| moved.network.nodes[node.index()].station.expect("a radio");
        reached.set_snr(station(from), station(to), snr);
    }
    for pair in expected.iter() {
        let is = reached.snr(pair.from, pair.to).expect("a link");
        assert!((is.0 - pair.link.snr.0).abs() < 1e-9, "{pair:?}");
    }
    assert!(!log.arrived.is_empty());
}

/// Pings and packets for the laptop stop while the access point has failed, and go on when it is
/// back. Pings wait at the phone, whose retries continue.
#[test]
fn an_access_point_fails_and_comes_back() {
    let (log, _) = go(&with(&[("1s", "node.ap.failed = true"), ("2s", "node.ap.failed = false")]));
    let answered = |from: u64, until: u64| {
        let span = at(from)..at(until);
        log.round_trips.iter().filter(|(now, ..)| span.contains(now)).count()
    };
    let down = |from: u64, until: u64| {
        let span = at(from)..at(until);
        let is_down = |(now, flow, _): &&(Instant, FlowId, u64)| flow.0 == 1 && span.contains(now);
        log.arrived.iter().filter(is_down).count()
    };
    assert!(answered(500, 1_000) > 45 && down(500, 1_000) > 300);
    assert_eq!((answered(1_050, 2_000), down(1_010, 2_000)), (0, 0));
    assert!(answered(2_050, 3_000) > 85 && down(2_050, 3_000) > 550);
    let of_station = lasthop_scenario::parse(
        "changes.toml",
        &[BED, &change("1s", "node.phone.failed = true")].concat(),
        &[],
    );
    let why = of_station.expect_err("it is a station").to_string();
    assert!(why.contains("only an access point fails"), "{why}");
}

/// Changes have no effect before their instant: until the first one, a run equals the run without
/// changes. Any steps give the same run.
#[test]
fn until_it_changes_it_is_the_run_without() {
    let plain = go(&scenario(BED, &[])).0;
    let set = "wire.server-ap.delay = \"30ms\", wire.server-ap.loss = 0.05, \
               wire.server-ap.rate = \"10Mb/s\", wire.server-ap.queue.packets = 30, \
               link.ap-laptop.snr = \"20dB\", node.ap.queue.packets = 50, node.phone.queue = \"codel\"";
    let changed = go(&with(&[("2s", set)])).0;
    let before = |log: &Log| {
        let arrived = log.arrived.iter().filter(|(now, ..)| *now <= at(2_000));
        arrived.copied().collect::<Vec<_>>()
    };
    assert!(before(&plain).len() > 1_000);
    assert!(before(&changed) == before(&plain));
    assert!(changed != plain);
}

/// Keys and their values, all of which may change.
fn any_setting() -> impl Strategy<Value = String> {
    let queue = prop_oneof![
        Just("\"fq-codel\"".to_owned()),
        Just("\"codel\"".to_owned()),
        Just("\"ebdp\"".to_owned()),
        (1..200u32).prop_map(|packets| format!("{{ kind = \"drop-tail\", packets = {packets} }}")),
        (1..200u32).prop_map(|packets| format!("{{ kind = \"fq-codel\", packets = {packets} }}")),
    ];
    let node = prop_oneof![Just("ap"), Just("laptop"), Just("phone"), Just("*")];
    prop_oneof![
        (node, queue.clone()).prop_map(|(node, queue)| match node {
            "*" => format!("\"node.laptop.queue\" = {queue}, \"node.phone.queue\" = {queue}"),
            node => format!("\"node.{node}.queue\" = {queue}"),
        }),
        queue
            .prop_filter("for wires", |queue| !queue.contains("ebdp"))
            .prop_map(|queue| format!("\"wire.server-ap.queue\" = {queue}")),
        (1..200u32).prop_map(|ms| format!("\"wire.server-ap.delay\" = \"{ms}ms\"")),
        (1..50u32).prop_map(|ms| format!("\"wire.server-ap.jitter\" = \"{ms}ms\"")),
        (1..40u32).prop_map(|rate| format!("\"wire.server-ap.up.rate\" = \"{rate}Mb/s\"")),
        (0..=4u32).prop_map(|loss| format!("\"wire.server-ap.loss\" = {}", f64::from(loss) / 4.0)),
        (8..40u32).prop_map(|snr| format!("\"link.ap-laptop.snr\" = \"{snr}dB\"")),
        (1..9u32).prop_map(|m| format!("\"node.phone.position\" = [\"{m}m\", \"1m\"]")),
        (0..8u32).prop_map(|mcs| {
            format!("\"node.phone.rate_control\" = {{ kind = \"fixed\", mcs = {mcs} }}")
        }),
        (2..6u32).prop_map(|n| {
            format!("\"node.phone.edca.best_effort.cw_min\" = {}", (1u32 << n) - 1)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever changes, and when: packets end once, counters agree, and the run is the same
    /// again, in any steps.
    #[test]
    fn any_changes_keep_the_books(
        changes in prop::collection::vec((1..1_000u64, any_setting()), 1..6),
        mut steps in prop::collection::vec(0..1_100u64, 0..10),
    ) {
        let tables: Vec<String> =
            changes.iter().map(|(ms, set)| change(&format!("{ms}ms"), set)).collect();
        let text = [BED, &tables.concat()].concat().replace("\"3s\"", "\"1s\"");
        let scenario = match parse("any.toml", &text, &[]) {
            Ok(scenario) => scenario,
            Err(why) => return Err(TestCaseError::fail(why.to_string())),
        };
        let whole = go(&scenario);
        let mut log = Log::default();
        let mut simulation = Simulation::new(&scenario, Seed::new(5, 0), &mut log).expect("right");
        steps.sort_unstable();
        for step in steps {
            simulation.advance(at(step), &mut log);
        }
        simulation.advance(Instant::MAX, &mut log);
        let stats = simulation.finish(&mut NoSink);
        // What nobody acts on is told when somebody looks, with its own time.
        let sorted = |log: &Log| {
            let (mut arrived, mut lost) = (log.arrived.clone(), log.lost.clone());
            arrived.sort_unstable();
            lost.sort_unstable_by_key(|(at, flow, reason)| (*at, *flow, *reason as u8));
            (arrived, lost)
        };
        prop_assert!(sorted(&log) == sorted(&whole.0));
        let ended = |flow: u16| {
            let arrived = log.arrived.iter().filter(|(_, of, _)| *of == FlowId(flow));
            let mut tags: Vec<u64> = arrived.map(|(.., tag)| *tag).collect();
            tags.sort_unstable();
            tags
        };
        // Datagrams arrive once.
        let tags = ended(1);
        let mut once = tags.clone();
        once.dedup();
        prop_assert!(tags == once);
        let drops: u64 = stats.stations.iter().map(|(_, station)| station.queue_drops).sum();
        let on_wires: u64 = stats.wires.iter().map(|(.., wire)| wire.queue_drops).sum();
        let queue = |it: &DropReason| matches!(it, DropReason::QueueFull | DropReason::ActiveQueue);
        let lost = log.lost.iter().filter(|(.., it)| queue(it)).count() as u64;
        prop_assert_eq!(drops + on_wires, lost);
    }
}

/// A scan that is set before it begins equals one in the file; after a scan is removed, the run
/// equals one without it; a scan that is set after its start begins at once.
#[test]
fn scans_begin_and_end() {
    let scan = r#"scan = { start = "1500ms", period = "500ms", channels = 2, back = "50ms" }"#;
    let text =
        BED.replace("rate_control = \"ideal\"", &format!("rate_control = \"ideal\"\n{scan}"));
    let of_file = go(&scenario(&text, &[]));
    same_run(&go(&with(&[("700ms", &scan.replace("scan =", "node.laptop.scan ="))])), &of_file);

    let absences = |run: &(Log, NetworkStats)| {
        run.1.stations.iter().map(|(_, station)| station.absences).sum::<u64>()
    };
    assert_eq!(absences(&of_file), 6);
    let ended =
        scenario(&[&text[..], &change("1800ms", "\"node.laptop.scan\" = \"off\"")].concat(), &[]);
    assert_eq!(absences(&go(&ended)), 2, "those of the first scan");
    let never =
        scenario(&[&text[..], &change("1s", "\"node.laptop.scan\" = \"off\"")].concat(), &[]);
    same_run(&go(&never), &go(&scenario(BED, &[])));
    let late = scan.replace("1500ms", "0s").replace("scan =", "node.laptop.scan =");
    assert_eq!(absences(&go(&with(&[("2600ms", &late)]))), 2, "one scan, at once");
    let ap = go(&with(&[("700ms", &scan.replace("scan =", "node.ap.scan ="))]));
    assert!(absences(&ap) > 0, "an access point leaves its channel, too");
}
