//! Packet lengths in whole runs: the cost of cutting against a calculation by hand, and
//! an adaptive MTU against fixed ones.

use lasthop_hosts::Sink;
use lasthop_packet::{DropReason, NodeId, Packet};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Instant, Seed};

/// Counts the packets of the flow at its destination.
#[derive(Default)]
struct Count {
    payload_bytes: u64,
    packets: u64,
    lost: u64,
}

impl Sink for Count {
    fn arrived(&mut self, _now: Instant, node: NodeId, packet: &Packet) {
        if node == NodeId(1) {
            self.packets += 1;
            self.payload_bytes += u64::from(packet.bytes) - 28;
        }
    }

    fn dropped(&mut self, _now: Instant, _node: NodeId, _packet: &Packet, _reason: DropReason) {
        self.lost += 1;
    }
}

const LINK: &str = r#"
    duration = "2s"
    [channel]
    width = "40MHz"
    guard_interval = "400ns"
    [node_defaults]
    queue = { kind = "drop-tail", packets = 64 }
    rate_control = { kind = "fixed", mcs = 7 }
    [[node]]
    name = "ap"
    role = "access-point"
    [[node]]
    name = "sta"
    role = "station"
    [[link]]
    between = ["ap", "sta"]
    snr = "35dB"
    [[flow]]
    name = "down"
    from = "ap"
    to = "sta"
    kind = "udp"
"#;

/// Runs the scenario; returns payload in Mb/s, and the counts.
fn go(sets: &[&str]) -> (f64, Count) {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let scenario = lasthop_scenario::parse("mtu.toml", LINK, &sets).expect("a sound scenario");
    let mut count = Count::default();
    simulate(&scenario, Seed::new(1, 0), &mut count, &mut go_on).expect("it runs");
    (count.payload_bytes as f64 * 8e-6 / scenario.duration.as_secs_f64(), count)
}

#[test]
fn a_processor_pays_for_every_fragment() {
    let sets = [
        "node.ap.host_cost={ per_packet = \"80us\", per_byte = \"26ns\" }",
        "flow.down.packet_bytes=4028",
    ];
    let (cut, count) = go(&sets);
    assert_eq!(count.lost, 0);
    // Parts of 1500, 1500 and 1068 bytes.
    let expected = 4_000.0 * 8.0 / (3.0 * 80.0 + 4_068.0 * 0.026);
    assert!((cut / expected - 1.0).abs() < 0.02, "{cut} {expected}");
    let (whole, _) = go(&[sets[0], sets[1], "node.ap.mtu=4028"]);
    // The processor allows more than MCS 7 carries.
    assert!(whole > 1.4 * cut && whole < 4_000.0 * 8.0 / (80.0 + 4_028.0 * 0.026), "{whole} {cut}");
}

#[test]
fn a_queue_that_is_too_short_for_all_fragments_gets_them_all_the_same() {
    let (_, count) = go(&["flow.down.packet_bytes=7900", "node.ap.queue.packets=4"]);
    assert_eq!(count.packets, 0);
    assert!(count.lost > 100);
    let (_, count) = go(&["flow.down.packet_bytes=7900", "node.ap.queue.packets=6"]);
    assert_eq!(count.lost, 0);
    assert!(count.packets > 100);
}

#[test]
fn an_adaptive_mtu_beats_every_fixed_one() {
    let single = "node_defaults.aggregation={ ampdu_bytes_max = 0 }";
    let links = ["link.0.snr=23dB", "link.0.snr=23.5dB", "link.0.snr=25dB"];
    let total = |sets: [&str; 2]| links.map(|link| go(&[single, link, sets[0], sets[1]]).0);
    let adaptive = total(["node.ap.mtu=\"adaptive\"", "seed=1"]);
    for bytes in [500, 1_500, 4_000, 7_900] {
        let (mtu, length) =
            (format!("node.ap.mtu={bytes}"), format!("flow.down.packet_bytes={bytes}"));
        let fixed = total([&mtu, &length]);
        let sums = (adaptive.iter().sum::<f64>(), fixed.iter().sum::<f64>());
        assert!(sums.0 > 1.03 * sums.1, "{bytes}: {adaptive:?} {fixed:?}");
    }
}

#[test]
fn tcp_follows_an_adaptive_mtu() {
    let tcp = "flow.down.kind=tcp";
    let single = "node_defaults.aggregation={ ampdu_bytes_max = 0 }";
    let (plain, _) = go(&[tcp, single]);
    let (adaptive, count) = go(&[tcp, single, "node.ap.mtu=adaptive"]);
    assert!(adaptive > 1.5 * plain, "{adaptive} {plain}");
    assert_eq!(count.lost, 0);
    let mean_bytes = count.payload_bytes / count.packets;
    assert!(mean_bytes > 3_000, "{mean_bytes}");
}
