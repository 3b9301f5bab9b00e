//! Whole runs in virtual time, against calculations by hand.

use lasthop_hosts::{HostsError, Sink};
use lasthop_net::network::NetworkStats;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_sim::{RunError, go_on, simulate};
use lasthop_units::{Duration, Instant, Seed};

/// Counts the events of a sink, and hashes them into a number.
#[derive(Debug, Default, PartialEq)]
struct Fingerprint {
    hash: u64,
    arrived: Vec<u64>,
    dropped: u64,
    round_trips: Vec<Duration>,
    delays: Duration,
}

impl Fingerprint {
    fn mix(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Sink for Fingerprint {
    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        assert_eq!(packet.parts.total(), now - packet.created, "parts add up");
        self.mix(now.as_nanos() ^ packet.tag << 20 ^ u64::from(node.0));
        let flow = usize::from(packet.flow.0);
        self.arrived.resize(self.arrived.len().max(flow + 1), 0);
        self.arrived[flow] += 1;
        self.delays += now - packet.created;
    }

    fn dropped(&mut self, now: Instant, _node: NodeId, packet: &Packet, reason: DropReason) {
        self.mix(now.as_nanos() ^ packet.tag << 24 ^ reason as u64);
        self.dropped += 1;
    }

    fn round_trip(&mut self, _now: Instant, _flow: FlowId, rtt: Duration) {
        self.round_trips.push(rtt);
    }
}

fn scenario(text: &str) -> Scenario {
    lasthop_scenario::parse("test.toml", text, &[]).expect("a sound scenario")
}

fn go(scenario: &Scenario, seed: u64) -> (Fingerprint, NetworkStats) {
    let mut sink = Fingerprint::default();
    let stats = simulate(scenario, Seed::new(seed, 0), &mut sink, &mut go_on).expect("it runs");
    (sink, stats)
}

const CONTENTION: &str = r#"
    duration = "300ms"
    [node_defaults]
    rate_control = { kind = "fixed", mcs = 7 }
    [[node]]
    name = "ap"
    role = "access-point"
    [[node]]
    name = "sta"
    role = "station"
    count = 5
    ring = "3m"
    [[flow]]
    name = "up"
    from = "sta*"
    to = "ap"
    kind = "udp"
    rate = "saturated"
    [[flow]]
    name = "ping"
    from = "sta1"
    to = "ap"
    kind = "ping"
    interval = "10ms"
"#;

#[test]
fn the_same_seed_gives_the_same_run() {
    let scenario = scenario(CONTENTION);
    assert_eq!(go(&scenario, 7), go(&scenario, 7));
    assert_ne!(go(&scenario, 7).0.hash, go(&scenario, 8).0.hash);
}

#[test]
fn pings_cross_wires_in_their_delay() {
    let scenario = scenario(
        r#"
        duration = "1s"
        [[node]]
        name = "near"
        role = "host"
        [[node]]
        name = "far"
        role = "host"
        [[wire]]
        between = ["near", "far"]
        rate = "8Mb/s"
        delay = "10ms"
        [[flow]]
        name = "ping"
        from = "near"
        to = "far"
        kind = "ping"
        interval = "100ms"
        packet_bytes = 986
        "#,
    );
    let (sink, stats) = go(&scenario, 1);
    // 986 + 14 bytes at 8 Mb/s take 1 ms, both ways.
    assert_eq!(sink.round_trips, vec![Duration::from_millis(22); 10]);
    assert_eq!(stats.wires[0].2.packets, 10);
}

#[test]
fn a_full_queue_delays_by_its_length() {
    let scenario = scenario(
        r#"
        duration = "2s"
        [channel]
        beacon_interval = "10s"
        [[node]]
        name = "ap"
        role = "access-point"
        queue = { kind = "drop-tail", packets = 100 }
        rate_control = { kind = "fixed", mcs = 7 }
        aggregation = { ampdu_bytes_max = 0 }
        [[node]]
        name = "sta"
        role = "station"
        [[flow]]
        name = "down"
        from = "ap"
        to = "sta"
        kind = "udp"
        rate = "60Mb/s"
        packet_bytes = 1500
        "#,
    );
    let (sink, stats) = go(&scenario, 1);
    let rate = sink.arrived[0] as f64 / 2.0;
    let mean = sink.delays.as_secs_f64() / sink.arrived[0] as f64;
    // Little's law, without the ramp at the start.
    assert!((mean * rate / 100.0 - 1.0).abs() < 0.03, "{mean} s at {rate} packets/s");
    assert!(sink.dropped > 1_000);
    assert!(stats.stations[0].1.queue_packets.max() <= Some(100));
}

#[test]
fn a_congestion_control_of_kernels_is_refused_by_name() {
    let text = CONTENTION.replace(r#"kind = "ping""#, r#"kind = "tcp""#);
    let text = text.replace(r#"interval = "10ms""#, r#"congestion_control = "vegas""#);
    let mut sink = Fingerprint::default();
    let error = simulate(&scenario(&text), Seed::new(1, 0), &mut sink, &mut go_on);
    let Err(RunError::Hosts(HostsError::CongestionControl { flow, name })) = error else {
        panic!("{error:?}")
    };
    assert_eq!((&*flow, &*name), ("ping", "vegas"));
}

/// When which packets arrived, with events or without.
#[derive(Default)]
struct Arrivals {
    wants_events: bool,
    all: Vec<(Instant, u16, u64, Duration)>,
    /// Number of arrivals at each sample.
    sampled: Vec<usize>,
}

impl Sink for Arrivals {
    fn wants_events(&self) -> bool {
        self.wants_events
    }

    fn arrived(&mut self, now: Instant, _node: NodeId, packet: &Packet) {
        self.all.push((now, packet.flow.0, packet.tag, packet.parts.air));
    }

    fn queue(&mut self, _now: Instant, node: NodeId, _packets: u32) {
        if node == NodeId(0) {
            self.sampled.push(self.all.len());
        }
    }
}

/// Without events the network is not woken for packets whose arrival changes nothing.
#[test]
fn packets_arrive_at_the_same_instants_with_events_and_without() {
    let text = format!("series_interval = \"7ms\"\n{CONTENTION}");
    let arrivals = [false, true].map(|wants_events| {
        let mut sink = Arrivals { wants_events, ..Arrivals::default() };
        simulate(&scenario(&text), Seed::new(1, 0), &mut sink, &mut go_on).expect("it runs");
        sink.all.sort_unstable();
        sink
    });
    assert!(arrivals[0].all.len() > 500, "{} packets", arrivals[0].all.len());
    assert!(arrivals[0].all == arrivals[1].all);
    assert_eq!(arrivals[0].sampled, arrivals[1].sampled);
}
