//! Flows to the group in whole runs: one transmission for all, against a calculation by hand, and what
//! each receiver gets of it; and what forwarding costs.

use lasthop_hosts::Sink;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Instant, Seed};
use std::collections::BTreeMap;

/// Packets of each flow: sent, arrived at its node, lost.
#[derive(Default)]
struct Count(BTreeMap<u16, [u64; 3]>);

impl Count {
    fn add(&mut self, FlowId(flow): FlowId, place: usize) {
        self.0.entry(flow).or_default()[place] += 1;
    }
}

impl Sink for Count {
    fn sent(&mut self, _now: Instant, packet: &Packet) {
        self.add(packet.flow, 0);
    }

    fn arrived(&mut self, _now: Instant, node: NodeId, packet: &Packet) {
        assert_eq!(packet.destination, node);
        self.add(packet.flow, 1);
    }

    fn dropped(&mut self, _now: Instant, _node: NodeId, packet: &Packet, _reason: DropReason) {
        self.add(packet.flow, 2);
    }
}

const CELL: &str = r#"
    duration = "4s"
    [channel]
    group_mcs = 1
    [node_defaults]
    queue = { kind = "drop-tail", packets = 64 }
    [[node]]
    name = "ap"
    role = "access-point"
    [[node]]
    name = "drone"
    role = "station"
    count = 3
    [[link]]
    between = ["ap", "drone3"]
    loss = 0.25
    [[node]]
    name = "server"
    role = "host"
    [[wire]]
    between = ["server", "ap"]
    [[flow]]
    name = "video"
    from = "ap"
    to = "drone*"
    kind = "udp"
    packet_bytes = 1400
    group = true
"#;

fn go(sets: &[&str]) -> BTreeMap<u16, [u64; 3]> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let scenario = lasthop_scenario::parse("group.toml", CELL, &sets).expect("a sound scenario");
    let mut count = Count::default();
    simulate(&scenario, Seed::new(1, 0), &mut count, &mut go_on).expect("it runs");
    count.0
}

/// DCF's broadcast (10.23.2.2): AIFS and a mean backoff of 7.5 slots, then a frame of MCS 1, without
/// acknowledgement and aggregation: 36 us of preamble and 4 us for each 52 bits of 1438 bytes.
#[test]
fn a_saturated_flow_to_the_group() {
    let count = go(&["channel.beacon_interval=off"]);
    let symbols = (16.0_f64 + 6.0 + 1_438.0 * 8.0) / 52.0;
    let frame = 43.0 + 7.5 * 9.0 + 36.0 + 4.0 * symbols.ceil();
    for flow in 0..2 {
        let [sent, arrived, lost] = count[&flow];
        let expected = 4e6 / frame;
        assert!((arrived as f64 / expected - 1.0).abs() < 0.01, "{arrived} {expected}");
        assert!(lost == 0 && sent >= arrived && sent - arrived <= 65, "{sent} {arrived} {lost}");
    }
    // Each receiver has losses of its own, and nothing is sent again.
    let [sent, arrived, lost] = count[&2];
    assert_eq!(arrived + lost, count[&0][1], "each that was sent");
    assert!((lost as f64 / sent as f64 - 0.25).abs() < 0.03, "{lost} of {sent}");
}

/// From behind a wire a packet crosses it once, and the air once.
#[test]
fn a_group_behind_an_access_point() {
    let rate = "flow.video.rate=2Mb/s";
    let count = go(&["flow.video.from=server", rate]);
    let sent = count[&0][0];
    assert!((700..=720).contains(&sent), "2 Mb/s in 4 s: {sent}");
    for flow in 0..2 {
        let [also, arrived, lost] = count[&flow];
        assert!(also == sent && lost == 0 && sent - arrived <= 1, "{also} {arrived} {lost}");
    }
    let [_, arrived, lost] = count[&2];
    assert!(arrived + lost >= sent - 1 && lost > sent / 6, "{arrived} {lost}");
}

/// The processor time of an access point for each packet limits its forwarding rate.
#[test]
fn forwarding_takes_the_processors_time() {
    let sets = |cost: &'static str| {
        ["flow.video.group=false", "flow.video.from=server", "flow.video.to=drone1", cost]
    };
    let free = go(&sets("node.ap.host_cost.per_packet=0s"));
    let slow = go(&sets("node.ap.host_cost.per_packet=500us"));
    assert!(free[&0][1] > 2 * slow[&0][1], "{free:?} {slow:?}");
    // 2000 packets a second, and what is more is dropped.
    assert!((7_900..=8_000).contains(&slow[&0][1]), "{slow:?}");
    assert!(slow[&0][2] > 0);
}
