//! Nodes that move: levels against the formula of the path loss, goodput against nodes that stand
//! on the way, and one movement written in several forms.

use lasthop_hosts::Sink;
use lasthop_hosts::sink::Frames;
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_scenario::{Scenario, parse};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::Address;
use lasthop_wifi::event::Event;

/// A saturated flow to a phone, another station beside it, and a ping from there.
const BED: &str = r#"
    duration = "18s"
    [[node]]
    name = "ap"
    role = "access-point"
    queue = { kind = "drop-tail", packets = 100 }
    rate_control = "ideal"
    [[node]]
    name = "phone"
    role = "station"
    position = ["10m", "0m"]
    [[node]]
    name = "laptop"
    role = "station"
    position = ["0m", "4m"]
    [[flow]]
    name = "down"
    from = "ap"
    to = "phone"
    kind = "udp"
    [[flow]]
    name = "ping"
    from = "laptop"
    to = "ap"
    kind = "ping"
    interval = "10ms"
"#;

/// Arrivals, and the level of each PPDU at its receiver, if it was alone there.
#[derive(Debug, Default, PartialEq)]
struct Log {
    arrived: Vec<(Instant, FlowId, u64)>,
    levels: Vec<(Instant, u16, u16, f64)>,
}

impl Sink for Log {
    fn wants_events(&self) -> bool {
        true
    }

    fn arrived(&mut self, now: Instant, _node: NodeId, packet: &Packet) {
        self.arrived.push((now, packet.flow, packet.tag));
    }

    fn event(&mut self, event: &Event, _frames: Frames<'_>) {
        let Event::Ppdu(ppdu) = event else { return };
        for psdu in &ppdu.psdus {
            if let Address::Station(receiver) = psdu.receiver
                && !psdu.collided
            {
                let ends = (ppdu.transmitter.0, receiver.0);
                self.levels.push((ppdu.start, ends.0, ends.1, psdu.signal.0));
            }
        }
    }
}

impl Log {
    /// Packets of a flow that arrived between two seconds.
    fn between(&self, flow: u16, from: u64, until: u64) -> f64 {
        let second = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let span = second(from)..second(until);
        let arrived = self.arrived.iter().filter(|(at, of, _)| of.0 == flow && span.contains(at));
        arrived.count() as f64
    }
}

fn scenario(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    parse("moving.toml", text, &sets).unwrap_or_else(|why| panic!("{why}"))
}

fn go(scenario: &Scenario) -> Log {
    let mut log = Log::default();
    simulate(scenario, Seed::new(5, 0), &mut log, &mut go_on).expect("it runs");
    log
}

/// Level by hand: 20 dBm less 40.05 dB at 1 m in the 2.4 GHz band, and 30 dB for each decade.
fn level(meters: f64) -> f64 {
    let reference = 20.0 * (4.0 * core::f64::consts::PI * 2.4e9 / 299_792_458.0).log10();
    20.0 - reference - 30.0 * meters.max(1.0).log10()
}

#[test]
fn levels_follow_the_distance() {
    let walk = "node.phone.path={ speed = \"7.2km/h\", through = [[\"20m\", \"0m\"], \
                [\"20m\", \"-10m\"]], repeat = true, start = \"2s\" }";
    let log = go(&scenario(BED, &["channel.band=2.4GHz", walk]));
    // A triangle of 10, 10 and 14.14 m at 2 m/s.
    let round = (20.0 + 200f64.sqrt()) / 2.0;
    let place = |seconds: f64| {
        let way = 2.0 * ((seconds - 2.0).max(0.0) % round);
        match way {
            ..10.0 => (10.0 + way, 0.0),
            10.0..20.0 => (20.0, 10.0 - way),
            _ => {
                let share = (way - 20.0) / 200f64.sqrt();
                (20.0 - 10.0 * share, -10.0 + 10.0 * share)
            }
        }
    };
    let mut seen = 0;
    for &(at, from, to, found) in &log.levels {
        let (x, y) = place(at.as_secs_f64());
        let meters = match (from.min(to), from.max(to)) {
            (0, 1) => x.hypot(y),
            (0, 2) => 4.0,
            ends => panic!("nobody else sends: {ends:?}"),
        };
        seen += u32::from(from + to == 1);
        assert!((found - level(meters)).abs() < 0.01, "{at:?}: {found} at {meters} m");
    }
    assert!(seen > 2_000, "{seen}");
}

#[test]
fn goodput_on_the_way_is_that_of_nodes_that_stand_there() {
    let stops = "node.phone.waypoints=[{ at = \"5s\", position = [\"10m\", \"0m\"] }, \
                 { at = \"6s\", position = [\"0m\", \"30m\"] }, \
                 { at = \"11s\", position = [\"0m\", \"30m\"] }, \
                 { at = \"12s\", position = [\"-60m\", \"0m\"] }]";
    let moving = go(&scenario(BED, &[stops]));
    for (place, from, until) in
        [("[\"10m\", \"0m\"]", 1, 5), ("[\"0m\", \"30m\"]", 7, 11), ("[\"-60m\", \"0m\"]", 13, 17)]
    {
        let position = format!("node.phone.position={place}");
        let still = go(&scenario(BED, &[&position]));
        for flow in [0, 1] {
            let found = moving.between(flow, from, until);
            let expected = still.between(flow, from, until);
            // Backoffs differ; some 10 000 packets in exchanges of 40.
            let most = if flow == 0 { 0.02 } else { 0.01 };
            assert!(
                expected > 300.0 && (found / expected - 1.0).abs() < most,
                "{place}: {found} for {expected}"
            );
        }
    }
}

/// Waypoints, a path, and traces in both formats say the same.
#[test]
fn one_movement_in_several_forms() {
    let folder = std::env::temp_dir().join(format!("lasthop-moving-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::write(&file, text).expect("there is room");
        file.to_str().expect("text").to_owned()
    };
    let ns2 = write(
        "walk.ns_movements",
        "$node_(7) set X_ 10.0\n$node_(7) set Y_ 0.0\n\
         $ns_ at 2.0 \"$node_(7) setdest 20.0 0.0 2.0\"\n\
         $ns_ at 7.0 \"$node_(7) setdest 20.0 -8.0 2.0\"\n",
    );
    let csv = write("walk.csv", "time,node,x,y\n2,phone,10,0\n7,phone,20,0\n11,phone,20,-8\n");
    let waypoints = "node.phone.waypoints=[{ at = \"2s\", position = [\"10m\", \"0m\"] }, \
                     { at = \"7s\", position = [\"20m\", \"0m\"] }, \
                     { at = \"11s\", position = [\"20m\", \"-8m\"] }]";
    let path = "node.phone.path={ speed = \"2m/s\", through = [[\"20m\", \"0m\"], \
                [\"20m\", \"-8m\"]], start = \"2s\" }";
    let bed = BED.replace("    position = [\"10m\", \"0m\"]\n", "");
    let given = go(&scenario(BED, &[waypoints]));
    assert_eq!(go(&scenario(BED, &[path])), given);
    let ns2 = format!("node.phone.trace={{ file = \"{ns2}\", node = 7 }}");
    assert_eq!(go(&scenario(&bed, &[&ns2])), given);
    let by_csv = scenario(&bed, &[&format!("node.phone.trace={csv}")]);
    assert_eq!(go(&by_csv), given);
    // The kept text says the same from any folder.
    let again = parse("elsewhere/again.toml", &by_csv.source_text, &[]).expect("it is a scenario");
    assert_eq!(again.network, by_csv.network);
    for (trace, words) in [
        (
            format!("{{ file = \"{csv}\", node = \"desk\" }}"),
            "there is no node desk; there are phone",
        ),
        (format!("{csv}.csv"), "walk.csv.csv: "),
    ] {
        let sets = [format!("node.phone.trace={trace}")];
        let why = parse("moving.toml", &bed, &sets).expect_err("a mistake").to_string();
        assert!(why.contains(words), "{why}");
    }
    let sets = [format!("node.phone.trace={csv}")];
    let why = parse("moving.toml", BED, &sets).expect_err("two positions").to_string();
    assert!(
        why.contains(
            "moving.toml:11: node.phone.position: the position of this node is in its trace"
        ),
        "{why}"
    );
    std::fs::remove_dir_all(&folder).expect("it was there");
}

/// Both directions keep the shadowing of the run wherever the node goes.
#[test]
fn shadowing_stays_with_the_pair() {
    let shadowed = "channel.path_loss.shadowing=6dB";
    let walk = "node.phone.path={ speed = \"2m/s\", through = [[\"30m\", \"0m\"]] }";
    let log = go(&scenario(BED, &[shadowed, walk, "channel.band=2.4GHz"]));
    let mut shadows = Vec::new();
    for &(at, from, to, found) in log.levels.iter().filter(|(_, from, to, _)| from + to == 1) {
        let meters = (10.0 + 2.0 * at.as_secs_f64()).min(30.0);
        shadows.push(level(meters) - found);
        let _ = (from, to);
    }
    let [least, most] = [f64::min, f64::max]
        .map(|choose| shadows.iter().copied().reduce(choose).expect("there are PPDUs"));
    assert!(most - least < 0.02 && least.abs() > 0.1, "{least} to {most}");
}

/// A position that a change sets beyond carrier sense: the two stations are hidden from then on.
#[test]
fn a_change_may_begin_and_end_carrier_sense() {
    const CELL: &str = r#"
        duration = "14s"
        [node_defaults]
        rate_control = { kind = "fixed", mcs = 1 }
        queue = { kind = "drop-tail", packets = 100 }
        aggregation = { ampdu_frames_max = 1 }
        [channel]
        carrier_sense = "-82dBm"
        [[node]]
        name = "ap"
        role = "access-point"
        [[node]]
        name = "west"
        role = "station"
        position = ["-40m", "0m"]
        [[node]]
        name = "east"
        role = "station"
        position = ["-6m", "0m"]
        [[flow]]
        name = "west-up"
        from = "west"
        to = "ap"
        kind = "udp"
        [[flow]]
        name = "east-up"
        from = "east"
        to = "ap"
        kind = "udp"
    "#;
    let far = "\"node.east.position\" = [\"40m\", \"0m\"]";
    let near = "\"node.east.position\" = [\"-6m\", \"0m\"]";
    let text = [
        CELL,
        &format!("[[change]]\nat = \"5s\"\nset = {{ {far} }}\n"),
        &format!("[[change]]\nat = \"9s\"\nset = {{ {near} }}\n"),
    ]
    .concat();
    let changing = go(&scenario(&text, &["channel.band=5GHz"]));
    let sum = |log: &Log, from, until| log.between(0, from, until) + log.between(1, from, until);
    let still = go(&scenario(CELL, &["channel.band=5GHz"]));
    let hidden =
        go(&scenario(CELL, &["channel.band=5GHz", "node.east.position=[\"40m\", \"0m\"]"]));
    let ratio = |from, until, other: &Log| sum(&changing, from, until) / sum(other, from, until);
    for (found, what) in [
        (ratio(1, 5, &still), "before"),
        (ratio(6, 9, &hidden), "hidden"),
        (ratio(10, 13, &still), "after"),
    ] {
        assert!((found - 1.0).abs() < 0.1, "{what}: {found}");
    }
    assert!(sum(&hidden, 6, 9) < 0.9 * sum(&still, 6, 9));
    let plain = |log: &Log| {
        let first =
            log.arrived.iter().filter(|(at, ..)| *at <= Instant::ZERO + Duration::from_secs(5));
        first.copied().collect::<Vec<_>>()
    };
    assert!(plain(&changing) == plain(&still), "nothing changes before");
}

/// What cannot be set while nodes move is told; the power can.
#[test]
fn changes_beside_movement() {
    let walk = "node.phone.path={ speed = \"2m/s\", through = [[\"30m\", \"0m\"]] }";
    let with = |set: &str| {
        let text = format!("{BED}[[change]]\nat = \"1s\"\nset = {{ {set} }}\n");
        parse("moving.toml", &text, &[walk.to_owned(), "channel.band=2.4GHz".to_owned()])
    };
    let why =
        with("\"node.laptop.position\" = [\"1m\", \"1m\"]").expect_err("a position").to_string();
    assert!(why.contains("a position cannot change during a run in which nodes move"), "{why}");
    let log = go(&with("\"node.phone.tx_power\" = \"17dBm\"").expect("it may"));
    for &(at, from, to, found) in log.levels.iter().filter(|(_, from, to, _)| from + to == 1) {
        let seconds = at.as_secs_f64();
        let less = if from == 1 && seconds >= 1.0 { 3.0 } else { 0.0 };
        let expected = level((10.0 + 2.0 * seconds).min(30.0)) - less;
        assert!(
            (found - expected).abs() < 0.01,
            "{seconds} s, {from} to {to}: {found} for {expected}"
        );
    }
    // A given ratio stays, from then on.
    let log = go(&with("\"link.ap-phone.snr\" = \"25dB\"").unwrap_or_else(|why| panic!("{why}")));
    let of_phone = log.levels.iter().filter(|(_, from, to, _)| from + to == 1);
    for &(at, _, _, found) in of_phone.filter(|(at, ..)| at.as_secs_f64() >= 1.0) {
        assert!((found + 93.99 - 25.0).abs() < 0.01, "{at:?}: {found}");
    }
}
