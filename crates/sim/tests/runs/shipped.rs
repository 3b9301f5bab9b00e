//! The shipped scenarios in virtual time: they run, they show what their first lines
//! claim, and their results change only on purpose.

use lasthop_hosts::Sink;
use lasthop_packet::{DropReason, NodeId, Packet};
use lasthop_scenario::{Scenario, load};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Duration, Instant, Seed};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// A shipped scenario with `--set` arguments, shortened to `duration`. All of its flows
/// start at once.
fn shipped(name: &str, sets: &[&str], duration: Duration) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let path = folder().join(name).with_extension("toml");
    let mut scenario = load(&path, &sets).unwrap_or_else(|why| panic!("{why}"));
    scenario.duration = duration;
    scenario.warmup = Duration::ZERO;
    for flow in &mut scenario.flows {
        (flow.start, flow.stop) = (Instant::ZERO, None);
    }
    scenario
}

/// Counters of a flow's packets.
#[derive(Clone, Debug, Default)]
struct Flow {
    packets: u64,
    bytes: u64,
    lost: u64,
    delays: Vec<Duration>,
    round_trips: Vec<Duration>,
}

/// Counters of all flows, and a hash of their events.
#[derive(Debug, Default)]
struct Story {
    hash: u64,
    flows: Vec<Flow>,
    duration: Duration,
}

impl Story {
    fn run(name: &str, sets: &[&str], duration: Duration) -> Self {
        let scenario = shipped(name, sets, duration);
        let flows = vec![Flow::default(); scenario.flows.len()];
        let mut story = Self { flows, duration, ..Self::default() };
        let seed = Seed::new(scenario.seed, 0);
        simulate(&scenario, seed, &mut story, &mut go_on).unwrap_or_else(|why| panic!("{why}"));
        for flow in &mut story.flows {
            flow.delays.sort();
            flow.round_trips.sort();
        }
        story
    }

    fn mix(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// Rate of the IP packets of a flow that arrived, in Mb/s.
    fn mbps(&self, flow: usize) -> f64 {
        self.flows[flow].bytes as f64 * 8e-6 / self.duration.as_secs_f64()
    }

    fn median_delay(&self, flow: usize) -> Duration {
        let delays = &self.flows[flow].delays;
        delays[delays.len() / 2]
    }

    fn fingerprint(&self) -> (u64, u64, u64) {
        let sum = |of: fn(&Flow) -> u64| self.flows.iter().map(of).sum();
        (sum(|flow| flow.packets), sum(|flow| flow.lost), self.hash)
    }
}

impl Sink for Story {
    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        self.mix(now.as_nanos() ^ packet.tag << 20 ^ u64::from(node.0) << 50);
        // Datagrams of coded links have no flow.
        let Some(flow) = self.flows.get_mut(usize::from(packet.flow.0)) else { return };
        flow.packets += 1;
        flow.bytes += u64::from(packet.bytes);
        flow.delays.push(now - packet.created);
    }

    fn dropped(&mut self, now: Instant, _node: NodeId, packet: &Packet, reason: DropReason) {
        self.mix(now.as_nanos() ^ packet.tag << 24 ^ reason as u64);
        if let Some(flow) = self.flows.get_mut(usize::from(packet.flow.0)) {
            flow.lost += 1;
        }
    }

    fn round_trip(&mut self, _now: Instant, flow: lasthop_packet::FlowId, rtt: Duration) {
        self.mix(rtt.as_nanos());
        self.flows[usize::from(flow.0)].round_trips.push(rtt);
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn every_one_runs() {
    let entries = std::fs::read_dir(folder()).expect("the folder is there").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        // The handshake of a coded link suffers losses, too: one of six starts only
        // after half a second.
        let duration = if name == "franc" { SECOND * 3 } else { SECOND / 2 };
        let story = Story::run(&name, &[], duration);
        let (packets, ..) = story.fingerprint();
        assert!(packets > 0, "{name}");
    }
}

/// Number of packets that arrived, number that were lost, and a hash of the instants. State the
/// reason for a changed number in the commit message.
const FINGERPRINTS: [(&str, (u64, u64, u64)); 8] = [
    ("hello", (5_060, 0, 0x613c_9a1a_1c38_9a61)),
    ("hidden", (858, 645, 0x5032_56fe_490b_1093)),
    ("edca", (3_037, 194, 0x3b72_44b9_a98a_00c8)),
    ("fading", (5_317, 98, 0xff5a_e091_3775_02db)),
    ("scan", (11_447, 1, 0x1610_23a7_63fb_0ea3)),
    ("doze", (52, 0, 0x2290_7e12_3f11_d124)),
    ("phone-call", (600, 0, 0xdc1b_1a3c_86b5_9144)),
    ("twt", (184, 0, 0xe73b_99fe_e35c_cb1a)),
];

#[test]
fn trajectories_stay_as_they_are() {
    let long = ["scan", "doze", "phone-call", "twt"];
    let duration = |name| if long.contains(&name) { SECOND * 6 } else { SECOND };
    let now =
        FINGERPRINTS.map(|(name, _)| (name, Story::run(name, &[], duration(name)).fingerprint()));
    assert_eq!(now, FINGERPRINTS);
}

/// 59.6 Mb/s of UDP payload, out of the 65 Mb/s of MCS 7.
#[test]
fn hello_shows_what_mcs_7_carries() {
    let payload = Story::run("hello", &[], SECOND).mbps(0) * 1472.0 / 1500.0;
    assert!((payload - 59.6).abs() < 0.4, "{payload} Mb/s");
}

#[test]
fn hidden_stations_need_rts() {
    let without = Story::run("hidden", &[], SECOND);
    assert!(without.mbps(0) + without.mbps(1) < 13.0, "{without:?}");
    let with = Story::run("hidden", &["node_defaults.rts_threshold=0"], SECOND);
    assert!(with.mbps(0) + with.mbps(1) > 19.5);
    assert!(
        with.flows.iter().all(|flow| flow.lost * 100 < flow.packets),
        "{:?}",
        with.fingerprint()
    );
}

#[test]
fn a_far_sensor_needs_extended_range() {
    let flows = Story::run("far-sensor", &[], SECOND * 10).flows;
    // One reading every 100 ms, and nothing else that could be late for long.
    assert!((96..=100).contains(&flows[0].packets) && flows[0].lost <= 2, "{}", flows[0].packets);
    assert!(flows[1].packets > 1_000);
    for without in ["node_defaults.extended_range=false", "node.ap.extended_range=false"] {
        let flows = Story::run("far-sensor", &[without], SECOND * 10).flows;
        assert_eq!((flows[0].packets, flows[0].lost > 90), (0, true));
        assert!(flows[1].packets > 1_000);
    }
}

/// With evenly shared airtime, only the station that saves power is slower, from 4 to 8 s.
#[test]
fn an_operating_mode_costs_others_what_the_queue_lets_it() {
    // Each second's megabits of the phone and of the laptop.
    let goodput = |sets: &[&str]| {
        let until = |seconds: u64| {
            let flows = Story::run("operating-mode", sets, SECOND * seconds).flows;
            [0, 1].map(|flow: usize| flows[flow].bytes as f64 * 8e-6)
        };
        let (four, five, seven) = (until(4), until(5), until(7));
        [0, 1].map(|flow: usize| (four[flow] / 4.0, (seven[flow] - five[flow]) / 2.0))
    };
    let [(phone, saving), (laptop, beside)] = goodput(&[]);
    assert!(saving < phone * 0.2, "{phone} and {saving}");
    assert!(beside > laptop * 0.95, "{laptop} and {beside}");
    let [(phone, saving), (laptop, beside)] = goodput(&["node.ap.queue.airtime_fairness=false"]);
    assert!(saving < phone * 0.25 && beside < laptop * 0.75, "{laptop} and {beside}");
}

#[test]
fn a_queue_without_management_delays_everybody() {
    let longest = |sets: &[&str]| {
        let round_trips = Story::run("upload", sets, SECOND * 15).flows.remove(1).round_trips;
        *round_trips.last().expect("pings are answered")
    };
    let (deep, fair) = (longest(&[]), longest(&["node.laptop.queue.kind=fq-codel"]));
    assert!(deep > SECOND, "{deep}");
    assert!(fair < Duration::from_millis(150), "{fair}");
}

#[test]
fn voice_overtakes_background() {
    let apart = Story::run("edca", &[], SECOND * 2);
    assert!(apart.median_delay(0) < Duration::from_millis(6), "{}", apart.median_delay(0));
    assert_eq!(apart.flows[0].lost, 0);
    let together = Story::run("edca", &["flow.call.access_category=background"], SECOND * 2);
    assert!(together.flows[0].delays.last() > Some(&Duration::from_millis(200)));
    assert!(together.flows[0].lost > 0);
}

#[test]
fn long_packets_pay_once() {
    let mbps = |sets: &[&str]| Story::run("jumbo", sets, SECOND).mbps(0);
    let (jumbo, plain) = (mbps(&[]), mbps(&["flow.up.packet_bytes=1500"]));
    let aggregates =
        mbps(&["flow.up.packet_bytes=1500", "node.*.aggregation.ampdu_bytes_max=65535"]);
    assert!(jumbo > 1.6 * plain, "{jumbo} {plain}");
    assert!(aggregates > jumbo, "{aggregates} {jumbo}");
}

#[test]
fn a_scan_delays_only_the_one_that_scans() {
    let story = Story::run("scan", &[], SECOND * 8);
    let longest = |flow: usize| *story.flows[flow].round_trips.last().expect("it was answered");
    assert!(longest(1) > Duration::from_millis(100), "{}", longest(1));
    assert!(longest(2) < Duration::from_millis(20), "{}", longest(2));
    // The FQ-CoDel of the access point drops a few packets that waited for so long.
    assert!(story.flows[0].lost < 10, "{:?}", story.fingerprint());
    assert_eq!(story.flows[1].lost + story.flows[2].lost, 0);
}

/// The call waits for absences of 90 ms, and for none if the access point is on AWDL's channel.
#[test]
fn awdl_interrupts_a_call() {
    let worst = |sets: &[&str]| {
        let flows = Story::run("awdl", sets, SECOND * 4).flows;
        flows.iter().flat_map(|flow| flow.delays.iter().copied()).max().expect("it was heard")
    };
    let ms = Duration::from_millis;
    let late = worst(&[]);
    assert!(late > ms(75) && late < ms(95), "{late}");
    assert!(worst(&["cell.0.channel=149"]) < ms(5));
}

#[test]
fn who_dozes_answers_late() {
    let of = |sets: &[&str]| {
        let flows = Story::run("doze", sets, SECOND * 10).flows;
        assert!(flows.iter().all(|flow| flow.lost == 0 && flow.round_trips.len() >= 21));
        let median = |flow: usize| flows[flow].round_trips[flows[flow].round_trips.len() / 2];
        (median(0), median(1))
    };
    let (phone, tablet) = of(&[]);
    let ms = Duration::from_millis;
    assert!(phone > ms(20) && phone < ms(103) && tablet < ms(1), "{phone} {tablet}");
    let (rarely, _) = of(&["node.phone.power_save.listen_interval=3"]);
    assert!(rarely > phone + ms(40), "{rarely}");
    let (polling, _) = of(&["node.phone.power_save.retrieval=ps-poll"]);
    assert!(polling > ms(20) && polling < ms(103), "{polling}");
}

/// The round trips of a phone that wakes up every 50 ms, of a sensor that does so every second,
/// and of a laptop that does not doze: a request waits for half an interval in the mean, and is
/// answered in the same service period.
#[test]
fn who_has_a_target_wake_time_answers_at_it() {
    let of = |sets: &[&str]| {
        let flows = Story::run("twt", sets, SECOND * 60).flows;
        assert!(flows.iter().all(|flow| flow.lost == 0 && flow.round_trips.len() >= 40));
        [0, 1, 2].map(|flow| {
            let trips = &flows[flow].round_trips;
            let mean = trips.iter().map(|trip| trip.as_secs_f64()).sum::<f64>();
            (mean / trips.len() as f64, trips[trips.len() - 1])
        })
    };
    let ms = Duration::from_millis;
    let [phone, sensor, laptop] = of(&[]);
    assert!((phone.0 - 0.025).abs() < 0.002 && phone.1 < ms(52), "{phone:?}");
    assert!((sensor.0 - 0.5).abs() < 0.15 && sensor.1 < ms(1_003), "{sensor:?}");
    assert!(laptop.0 < 0.001, "{laptop:?}");
    let [phone, ..] = of(&["node.phone.power_save.wake_interval=20ms"]);
    assert!((phone.0 - 0.010).abs() < 0.002 && phone.1 < ms(22), "{phone:?}");
}

#[test]
fn fast_fading_costs_throughput() {
    let mbps = |sets: &[&str]| Story::run("fading", sets, SECOND * 10).mbps(0);
    let walking = mbps(&[]);
    let (still, fast) = (mbps(&["channel.fading=none"]), mbps(&["channel.fading.doppler=100Hz"]));
    assert!(still > walking && walking > fast, "{still} {walking} {fast}");
}
