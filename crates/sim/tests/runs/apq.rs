//! A measured queue in virtual time: the hosts of `lasthop apq` over simulated packets,
//! against the queue limit in the scenario.

use lasthop_apq::{PhaseRecord, Report};
use lasthop_hosts::{ApqEnding, Sink};
use lasthop_packet::FlowId;
use lasthop_scenario::{Scenario, parse};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Instant, Seed};

/// The report of a measurement.
#[derive(Debug, Default)]
struct Told {
    phases: Vec<PhaseRecord>,
    ending: Option<ApqEnding>,
    report: Report,
    ended: Option<Instant>,
}

impl Sink for Told {
    fn apq_phase(&mut self, _now: Instant, _flow: FlowId, record: &PhaseRecord) {
        self.phases.push(record.clone());
    }

    fn apq_ended(&mut self, _now: Instant, _flow: FlowId, ending: &ApqEnding, report: &Report) {
        assert_eq!(self.ending, None, "it ends once");
        (self.ending, self.report) = (Some(ending.clone()), report.clone());
    }

    fn ended(&mut self, now: Instant) {
        self.ended = Some(now);
    }
}

/// 802.11b, which carries 577 packets of 1500 bytes per second, between a wired host
/// and a station; the queue of 50 packets is in the node from which the flow crosses
/// the air.
const CELL: &str = r#"
duration = "10min"
[channel]
standard = "802.11b"
preamble = "short"
[node_defaults]
rate_control = { kind = "fixed", rate = "11Mb/s" }
queue = { kind = "drop-tail", packets = 50 }
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "client"
role = "station"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["server", "ap"]
rate = "100Mb/s"
"#;

fn scenario(flow: &str, keys: &str) -> Scenario {
    let text = format!(
        "{CELL}\n[[flow]]\nname = \"q\"\nkind = \"apq\"\n{flow}\n[flow.apq]\nsaturation_rate = 800\n\
         packet_bytes = [1500]\nsessions = 2\ntime_scale = 0.1\n{keys}\n"
    );
    parse("test.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"))
}

fn measured(flow: &str, keys: &str) -> Told {
    let mut told = Told::default();
    simulate(&scenario(flow, keys), Seed::new(1, 0), &mut told, &mut go_on).expect("it is sound");
    told
}

const DOWN: &str = "from = \"server\"\nto = \"client\"";
const UP: &str = "from = \"client\"\nto = \"server\"";

fn equation_1(told: &Told) -> f64 {
    assert_eq!(told.ending, Some(ApqEnding::Done));
    told.report.directions[0].sizes[0].equation_1_packets.expect("two sessions").mean
}

#[test]
fn the_queue_is_found_whichever_end_measures() {
    for flow in [DOWN, UP] {
        for end in ["to", "from"] {
            let told = measured(flow, &format!("measured_by = \"{end}\""));
            let packets = equation_1(&told);
            assert!((packets - 50.0).abs() < 2.0, "{flow} {end}: {packets}");
            assert_eq!(told.phases.len(), 2, "one for each session");
            // Two sessions of 12 s each, and little more.
            let ended = told.ended.expect("there is nothing else to do") - Instant::ZERO;
            assert!((24.0..27.0).contains(&ended.as_secs_f64()), "{ended}");
        }
    }
}

/// The clocks of the two hosts may differ in offset and rate: only differences between
/// differences of their readings count.
#[test]
fn clocks_that_differ_change_nothing() {
    let alike = equation_1(&measured(DOWN, ""));
    for keys in ["clock_offset = \"3h\"", "clock_drift = 200", "clock_drift = -200"] {
        for end in ["to", "from"] {
            let packets = equation_1(&measured(DOWN, &format!("{keys}\nmeasured_by = \"{end}\"")));
            assert!((packets - alike).abs() < 0.2, "{keys} {end}: {packets}, not {alike}");
        }
    }
}

/// A run that is too short reports so, with the results so far.
#[test]
fn a_run_may_be_over_before_the_measurement() {
    let mut scenario = scenario(DOWN, "");
    scenario.duration = lasthop_units::Duration::from_secs(15);
    let mut told = Told::default();
    simulate(&scenario, Seed::new(1, 0), &mut told, &mut go_on).expect("it is sound");
    assert_eq!((told.ending, told.ended), (Some(ApqEnding::Unfinished), None));
    assert_eq!(told.report.directions[0].sizes[0].sessions.len(), 1);
}

#[test]
fn a_run_goes_on_while_other_flows_do() {
    let text = "[[flow]]\nname = \"other\"\nfrom = \"ap\"\nto = \"client\"\nkind = \"ping\"\n";
    let mut scenario = scenario(&format!("{DOWN}\n"), "");
    let source = format!("{}\n{text}", scenario.source_text);
    scenario = parse("test.toml", &source, &["duration=40s".into()]).expect("it is sound");
    let mut told = Told::default();
    simulate(&scenario, Seed::new(1, 0), &mut told, &mut go_on).expect("it is sound");
    assert_eq!((told.ending, told.ended), (Some(ApqEnding::Done), None));
}

/// A measurement does not know how the queue is built: 250 packets of the upper queue
/// and 40 of the driver queue count as one.
#[test]
fn a_driver_queue_counts_too() {
    let sets = ["node.ap.queue.packets=250".to_owned(), "node.ap.driver_queue.packets=40".into()];
    let scenario = scenario(DOWN, "");
    let scenario = parse("test.toml", &scenario.source_text, &sets).expect("it is sound");
    let mut told = Told::default();
    simulate(&scenario, Seed::new(1, 0), &mut told, &mut go_on).expect("it is sound");
    let packets = equation_1(&told);
    assert!((packets - 290.0).abs() < 3.0, "{packets}");
}
