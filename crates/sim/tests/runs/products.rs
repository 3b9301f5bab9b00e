//! Products in whole runs: profiles and kinds of power save against published measurements of
//! hardware.

use lasthop_hosts::Sink;
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Duration, Instant, Seed};

/// Round trips of pings in ms, and bytes of TCP's payload that arrived after the first second.
#[derive(Default)]
struct Seen {
    round_trips: Vec<f64>,
    bytes: u64,
}

impl Sink for Seen {
    fn round_trip(&mut self, _now: Instant, _flow: FlowId, rtt: Duration) {
        self.round_trips.push(rtt.as_secs_f64() * 1e3);
    }

    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        if node != packet.source && now > Instant::ZERO + Duration::from_secs(1) {
            self.bytes += u64::from(packet.bytes.saturating_sub(52));
        }
    }
}

impl Seen {
    fn percentile(&mut self, n: usize) -> f64 {
        self.round_trips.sort_by(f64::total_cmp);
        self.round_trips[self.round_trips.len() * n / 100]
    }
}

fn go(text: &str, sets: &[&str]) -> Seen {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let scenario = lasthop_scenario::parse("p.toml", text, &sets).expect("a sound scenario");
    let mut seen = Seen::default();
    simulate(&scenario, Seed::new(1, 0), &mut seen, &mut go_on).expect("it runs");
    seen
}

const PING: &str = r#"
    duration = "300s"
    [[node]]
    name = "ap"
    role = "access-point"
    [[node]]
    name = "laptop"
    role = "station"
    [[flow]]
    name = "ping"
    from = "laptop"
    to = "ap"
    kind = "ping"
    interval = "1s"
"#;

/// A laptop that pings its own router each second: measured medians of 55 to 110 ms, and 18 to 300 in
/// all, where hardware sends without leaving power save mode.
#[test]
fn a_ping_of_ones_own_router() {
    let mut awake = go(PING, &["node.laptop.power_save=legacy"]);
    assert!(awake.percentile(50) < 1.0, "{}", awake.percentile(50));
    let mut firmware = go(PING, &["node.laptop.power_save=firmware"]);
    assert_eq!(firmware.round_trips.len(), 300);
    let median = firmware.percentile(50);
    // Half a beacon interval, and what the poll takes.
    assert!((45.0..60.0).contains(&median), "{median}");
    assert!(firmware.percentile(99) < 105.0);
    let sets = ["node.laptop.power_save=firmware", "node.laptop.power_save.wake_jitter=2.5ms"];
    let mut jittery = go(PING, &sets);
    let median = jittery.percentile(50);
    assert!((55.0..110.0).contains(&median), "{median}");
}

/// An idle hop of hardware has a round trip of 1.6 to 4 ms, one of ath9k 1.3 to 1.8 ms.
#[test]
fn an_idle_hop_of_a_product() {
    let mut bare = go(PING, &["duration=20s"]);
    assert!(bare.percentile(50) < 0.5);
    for (profile, measured) in
        [("iwlwifi", 1.6..4.0), ("ath9k-4.4", 1.3..1.8), ("ath9k-4.8", 1.3..1.8)]
    {
        let set = format!("profile={profile}");
        let mut product = go(PING, &["duration=20s", &set]);
        let median = product.percentile(50);
        assert!(measured.contains(&median), "{profile}: {median}");
    }
}

/// Two-stream adapters of 802.11ac carried 556 to 627 Mb/s of one TCP upload, 80 MHz. Fading changes
/// the rate of a single second by a tenth, so that five are averaged.
#[test]
fn an_upload_of_a_laptop() {
    const UPLOAD: &str = r#"
        duration = "6s"
        profile = "iwlwifi"
        [[node]]
        name = "ap"
        role = "access-point"
        [[node]]
        name = "laptop"
        role = "station"
        [[link]]
        between = ["ap", "laptop"]
        snr = "45dB"
        [[node]]
        name = "server"
        role = "host"
        [[wire]]
        between = ["server", "ap"]
        [[flow]]
        name = "up"
        from = "laptop"
        to = "server"
        kind = "tcp"
    "#;
    let goodput = go(UPLOAD, &[]).bytes as f64 * 8e-6 / 5.0;
    assert!((556.0..627.0).contains(&goodput), "{goodput}");
}
