//! `[[neighbour]]`s become sets of stations with levels and load.

use lasthop_hosts::{FlowKind, SourceConfig};
use lasthop_packet::NodeId;
use lasthop_scenario::{Scenario, parse};
use lasthop_units::Seed;
use lasthop_wifi::StationId;
use lasthop_wifi::cell::CellConfig;

const CELL: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
"#;

fn scenario(text: &str) -> Scenario {
    parse("test.toml", text, &[]).unwrap_or_else(|why| panic!("{why}"))
}

fn cell(scenario: &Scenario) -> &CellConfig {
    scenario.network.cell.as_ref().expect("a cell")
}

/// A neighbour's set comes after the one without a name, wherever it is in the file. Settings of
/// the file's nodes do not apply to the neighbour's: another rate does not concern a station of one
/// stream there.
#[test]
fn neighbours_are_sets_of_their_own() {
    const NEIGHBOUR: &str = r#"
[node_defaults]
rate_control = { kind = "fixed", mcs = 15 }
[[node]]
name = "guest"
role = "station"
bss = "next-door"
count = 2
position = ["20m", "0m"]
streams = 1
rate_control = { kind = "fixed", mcs = 3 }
[[node]]
name = "their-ap"
role = "access-point"
bss = "next-door"
position = ["20m", "3m"]
rate_control = { kind = "fixed", mcs = 3 }
[[wire]]
between = ["ap", "their-ap"]
"#;
    let scenario = scenario(&format!("{NEIGHBOUR}{CELL}"));
    let cell = cell(&scenario);
    let sets: Vec<u16> = cell.stations.iter().map(|station| station.bss.0).collect();
    assert_eq!(sets, [1, 1, 1, 0, 0]);
    assert_eq!(scenario.nodes[2].name, "their-ap");
    // Everybody hears everybody.
    assert_eq!(cell.links.iter().count(), 20);
    assert!(scenario.warnings().is_empty(), "{:?}", scenario.warnings());
}

/// Levels of neighbours, by 20 dBm over the same path loss both ways, and their load. A noise of
/// -94 dBm is that of 20 MHz and a noise figure of 7 dB.
#[test]
fn neighbours_are_what_is_heard_of_them() {
    const NEIGHBOURS: &str = r#"
[node_defaults]
tx_power = "14dBm"
[channel]
fading = "rayleigh"
path_loss = { shadowing = "6dB" }
[[neighbour]]
name = "left"
level = "-70dBm"
levels = [{ node = "laptop", level = "-90dBm" }, { node = "right", level = "-84dBm" }]
busy = 0.3
stations = 2
uplink = 0.25
[[neighbour]]
name = "off"
level = "-50dBm"
busy = 0
[[neighbour]]
name = "right"
level = "-60dBm"
busy = 0.1
[[neighbour]]
name = "far"
level = "-100dBm"
busy = 0.1
"#;
    let scenario = scenario(&format!("{NEIGHBOURS}{CELL}"));
    let cell = cell(&scenario);
    let names: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    let theirs = ["left:ap", "left:sta1", "left:sta2", "right:ap", "right:sta1", "far:ap"];
    assert_eq!(names[..2], ["ap", "laptop"]);
    assert_eq!(names[2..8], theirs);
    assert_eq!((scenario.own_nodes().len(), scenario.node("left:ap")), (2, None));
    let sets: Vec<u16> = cell.stations.iter().map(|station| station.bss.0).collect();
    assert_eq!(sets, [0, 0, 1, 1, 1, 2, 2, 3, 3]);
    let power = |from: u16, to: u16| {
        let link = cell.links.link(StationId(from), StationId(to)).expect("a link");
        (link.noise + link.snr).0
    };
    let is = |expected: f64, (from, to): (u16, u16)| {
        let power = power(from, to);
        assert!((power - expected).abs() < 1e-9, "{from} -> {to}: {power}, not {expected}");
    };
    // The access point, and the laptop; both send with 6 dB less.
    for (level, there, back) in [(-70.0, 2, 0), (-90.0, 3, 1), (-60.0, 5, 1), (-100.0, 7, 0)] {
        is(level, (there, back));
        is(level - 6.0, (back, there));
    }
    // In one flat; as was said; and the weaker of two.
    for (level, one, other) in [(-40.0, 2, 4), (-84.0, 4, 5), (-100.0, 3, 8), (-100.0, 6, 7)] {
        is(level, (one, other));
        is(level, (other, one));
    }
    let fades = |from, to| {
        let link = cell.links.link(StationId(from), StationId(to)).expect("a link");
        link.fading != lasthop_wifi::phy::Fading::None
    };
    assert!(fades(0, 1) && !fades(0, 2) && !fades(2, 3));
    assert_eq!(
        scenario
            .network_for(Seed::new(1, 0))
            .cell
            .expect("a cell")
            .links
            .snr(StationId(2), StationId(0)),
        cell.links.snr(StationId(2), StationId(0))
    );

    let left = &scenario.neighbours[0];
    assert_eq!(scenario.neighbours.len(), 3);
    assert_eq!(left.nodes, [2, 3, 4].map(NodeId));
    let flows: Vec<_> = left.flows.iter().map(|flow| (flow.name.as_str(), flow.from.0)).collect();
    let expected =
        [("left:sta1-down", 2), ("left:sta1-up", 3), ("left:sta2-down", 2), ("left:sta2-up", 4)];
    assert_eq!(flows, expected);
    let rates: Vec<f64> = left
        .flows
        .iter()
        .map(|flow| match flow.kind {
            FlowKind::Udp(SourceConfig::Bursts { rate, bytes: 1_500, packets: 12 }) => {
                rate.as_mbps_f64()
            }
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((rates[0], rates[1]), (rates[2], rates[3]));
    assert!((rates[0] / rates[1] - 3.0).abs() < 1e-6);
    // MCS 12 has 312 bits a symbol. 12 MPDUs are 11 * 1 544 + 1 542 bytes, 476 symbols of 4 us
    // behind 40 us; a Block Ack of 32 bytes lasts 32 us. A beacon of 129 bytes at 6 Mb/s lasts
    // 196 us of 102.4 ms.
    let bursts_per_s = (0.3 - 196.0 / 102_400.0) / 1_976e-6;
    let expected = bursts_per_s * 12.0 * 12_000.0 / 1e6 * 0.75 / 2.0;
    assert!((rates[0] / expected - 1.0).abs() < 1e-6, "{} and {expected}", rates[0]);
}
