//! Remedies of scenarios that write their keys in unusual places: with the arguments, the assembled
//! machine has the value that the remedy is for.

use super::*;
use crate::finding::Kind;

const TEXT: &str = "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
    [[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 3\nqueue = { kind = \"drop-tail\" }\n";

fn remedy(sets: &[&str]) -> Finding {
    let remedy = sets.iter().map(|&set| set.to_owned()).collect();
    Finding { kind: Kind::OwnQueue, sentence: String::new(), weight: 1.0, remedy, device: None }
}

fn taken(text: &str, sets: &[&str]) -> Vec<String> {
    applicable(text, &remedy(sets))
}

#[test]
fn a_remedy_is_valid_and_changes_something() {
    let taken = |sets: &[&str]| taken(TEXT, sets);
    assert_eq!(taken(&["node.sta2.queue.kind=fq-codel"]), ["node.sta.queue.kind=fq-codel"]);
    assert_eq!(taken(&["node.ap.queue.kind=fq-codel"]), [""; 0], "it is so already");
    assert_eq!(taken(&["node.nobody.queue.kind=fq-codel"]), [""; 0]);
    assert_eq!(taken(&["node.sta.queue.kind=fq-codel"]), [""; 0], "the nodes are sta1 to sta3");
    assert_eq!(taken(&["flow.none.tcp.sack=true"]), [""; 0]);
    assert_eq!(applicable("no scenario", &remedy(&["node.a.scan.channels=1"])), [""; 0]);
}

/// Keys of tables below a node, in the shipped office, where `roaming` is a table of its own.
#[test]
fn remedies_of_roaming_reach_the_station() {
    let text = include_str!("../../../../scenarios/office-walk.toml");
    for key in ["short_interval=off", "security=ft-wpa2", "policy=learn", "threshold=-60dBm"] {
        let set = format!("node.laptop.roaming.{key}");
        assert_eq!(taken(text, &[&set]).join(" "), set);
    }
}

/// A network with WPA3 keeps it, and has nothing left to change if it has fast transitions.
#[test]
fn no_remedy_lowers_the_security() {
    let text = include_str!("../../../../scenarios/places/mesh-home.toml");
    assert!(text.contains("security = \"wpa3\""));
    let change = "node.laptop.roaming.security=ft-wpa2";
    assert_eq!(taken(text, &[change]), ["node.laptop.roaming.security=ft-wpa3"]);
    let fast = text.replace("security = \"wpa3\"", "security = \"ft-wpa3\"");
    assert!(taken(&fast, &[change]).is_empty());
}

/// Whether a node, wire or flow of a scenario has the value of a remedy.
type Has = fn(&Scenario) -> bool;

/// Checks that the scenario has the value of the remedy with its arguments, and without none of
/// them.
fn check(text: &str, change: &str, has: Has) {
    let sets = taken(text, &[change]);
    let read = |sets: &[String]| {
        parse("test.toml", text, sets)
            .unwrap_or_else(|why| panic!("{change} {sets:?}: {why}\n{text}"))
    };
    assert!(!has(&read(&[])), "{change} is there already:\n{text}");
    assert!(has(&read(&sets)), "{change} became {sets:?} of\n{text}");
    for left_out in 0..sets.len() {
        let mut fewer = sets.clone();
        fewer.remove(left_out);
        let is_enough = parse("test.toml", text, &fewer).is_ok_and(|scenario| has(&scenario));
        assert!(!is_enough, "{change}: {sets:?} without number {left_out}");
    }
}

/// Text of a `queue` that is none of those wanted.
const QUEUES: [&str; 4] = [
    "queue = \"drop-tail\"",
    "queue = { kind = \"drop-tail\", packets = 80 }",
    "queue = { kind = \"codel\", bytes = \"80kB\", target = \"9ms\" }",
    "queue = { kind = \"ebdp\", burst_packets = 9, average_packets = 77 }",
];

fn has_fq_codel(debug: &dyn std::fmt::Debug) -> bool {
    format!("{debug:?}").contains("FqCodel")
}

/// The queue of a wire may stand at the wire, at a direction or at both, and the wire may be
/// written from either end.
#[test]
fn the_direction_of_a_wire_gets_the_queue_that_it_needs() {
    fn down(scenario: &Scenario) -> bool {
        let wire = &scenario.network.wires[1];
        let from_server = usize::from(wire.ends[0].index() != 3);
        has_fq_codel(&wire.directions[from_server])
    }
    for between in ["[\"server\", \"router\"]", "[\"router\", \"server\"]"] {
        for queue in QUEUES {
            for (both, up, other) in
                [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (0, 0, 0), (0, 1, 1)]
            {
                let line = |is_there: i32| if is_there == 1 { queue } else { "" };
                let text = format!(
                    "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
                     [[node]]\nname = \"sta\"\nrole = \"station\"\n\
                     [[node]]\nname = \"router\"\nrole = \"relay\"\n\
                     [[node]]\nname = \"server\"\nrole = \"host\"\n\
                     [[wire]]\nbetween = [\"ap\", \"router\"]\n\
                     [[wire]]\nbetween = {between}\n{}\n[wire.up]\nrate = \"9Mb/s\"\n{}\n\
                     [wire.down]\nrate = \"3Mb/s\"\n{}\n",
                    line(both),
                    line(up),
                    line(other)
                );
                check(&text, "wire.server->router.queue.kind=fq-codel", down);
            }
        }
    }
}

/// A node's key may stand at the node, at the name of several, or in the defaults.
#[test]
fn a_node_gets_what_it_needs_wherever_its_keys_are() {
    fn station<'a>(scenario: &'a Scenario, name: &str) -> impl std::fmt::Debug + 'a {
        let node = scenario.nodes.iter().position(|node| node.name == name).expect("it is there");
        let station = scenario.network.nodes[node].station.expect("it has Wi-Fi");
        &scenario.network.cell.as_ref().expect("a cell").stations[station.index()]
    }
    fn shown(scenario: &Scenario, name: &str) -> String {
        format!("{:?}", station(scenario, name))
    }
    let cases: [(&str, &[&str], Has); 7] = [
        ("queue.kind=fq-codel", &QUEUES, |it| shown(it, "sta2").contains("FqCodel")),
        (
            "driver_queue={airtime=\"12ms\"}",
            &["driver_queue = { packets = 1424 }", "driver_queue = { airtime = \"300ms\" }"],
            |it| shown(it, "sta2").contains("driver_queue: Airtime(12"),
        ),
        (
            "power_save=off",
            &["power_save = \"legacy\"", "power_save = { idle = \"50ms\" }"],
            |it| shown(it, "sta2").contains("power_save: None"),
        ),
        (
            "absence=off",
            &["absence = { away = \"90ms\", every = \"1s\" }", "absence = [{ away = \"1s\" }]"],
            |it| shown(it, "sta2").contains("absences: []"),
        ),
        ("scan.channels=1", &["scan = { period = \"20s\" }", "scan = { channels = 13 }"], |it| {
            shown(it, "sta2").contains("channels: 1,")
        }),
        (
            "rate_control={kind=\"minstrel-ht\"}",
            &["rate_control = { kind = \"fixed\", mcs = 7 }", "rate_control = \"ideal\""],
            |it| shown(it, "sta2").contains("MinstrelHt"),
        ),
        ("aggregation.ampdu_frames_max=64", &["aggregation = { ampdu_frames_max = 2 }"], |it| {
            shown(it, "sta2").contains("ampdu_frames_max: 64")
        }),
    ];
    for (rest, written, has) in cases {
        for line in written {
            for (defaults, own) in [(*line, ""), ("", *line), (*line, *line)] {
                let stations = "name = \"sta\"\ncount = 3\n";
                for (name, number) in [(stations, "sta2"), ("name = \"sta2\"\n", "sta2")] {
                    let text = format!(
                        "[node_defaults]\n{defaults}\n\
                         [[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
                         scan = \"off\"\nabsence = \"off\"\npower_save = \"off\"\n\
                         [[node]]\n{name}role = \"station\"\n{own}\n"
                    );
                    check(&text, &format!("node.{number}.{rest}"), has);
                }
            }
        }
    }
}

/// RTS and CTS for all reaches nodes that have a threshold of their own.
#[test]
fn all_nodes_get_what_all_nodes_need() {
    fn all(scenario: &Scenario) -> bool {
        let cell = scenario.network.cell.as_ref().expect("a cell");
        cell.stations.iter().all(|it| it.rts_threshold == Some(0))
    }
    for own in ["", "rts_threshold = \"off\"", "rts_threshold = 2000"] {
        for defaults in ["", "[node_defaults]\nrts_threshold = 900\n"] {
            let text = format!(
                "{defaults}[[node]]\nname = \"ap\"\nrole = \"access-point\"\n{own}\n\
                 [[node]]\nname = \"server\"\nrole = \"host\"\n\
                 [[wire]]\nbetween = [\"ap\", \"server\"]\n\
                 [[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 4\n{own}\n"
            );
            check(&text, "node_defaults.rts_threshold=0", all);
        }
    }
}

/// Scans of a single channel are switched off.
#[test]
fn what_is_so_already_has_another_remedy() {
    let text = TEXT.replace("count = 3\n", "count = 3\nscan = { channels = 1, period = \"9s\" }\n");
    assert_eq!(taken(&text, &["node.sta2.scan.channels=1"]), ["node.sta.scan=off"]);
}

/// Remedies set flows whose name has a `*` by the name in the file.
#[test]
fn a_flow_that_a_pattern_made_is_set() {
    let text = "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
                [[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 3\n\
                [[flow]]\nname = \"up-all\"\nfrom = \"sta*\"\nto = \"ap\"\nkind = \"udp\"\nrate = \"9Mb/s\"\n";
    check(text, "flow.up-all-sta2.rate=500kb/s", |scenario| {
        scenario
            .flows
            .iter()
            .any(|flow| flow.name == "up-all-sta2" && format!("{flow:?}").contains("500000"))
    });
    let tcp =
        text.replace("\"udp\"\nrate = \"9Mb/s\"", "\"tcp\"\ntcp = { receive_window = \"9kB\" }");
    check(&tcp, "flow.up-all-sta2.tcp.receive_window=5MiB", |scenario| {
        scenario
            .flows
            .iter()
            .any(|flow| flow.name == "up-all-sta2" && format!("{flow:?}").contains("5242880"))
    });
}
