//! Workloads of the benchmarks: one simulated second of whole scenarios at HT MCS 15
//! (40 MHz, short guard interval) or, with 50 stations, MCS 7 (20 MHz). Packets of 1500
//! bytes, defaults of 802.11n, queues of 500 packets; for TCP a server behind 1 Gb/s
//! and 1 ms. Nothing is recorded.

use lasthop_fixtures::{flow, host, wire};
use lasthop_hosts::sink::NoSink;
use lasthop_scenario::{Scenario, parse};
use lasthop_units::Seed;
use std::hint::black_box;

/// The access point sends A-MPDUs to one station, saturated.
pub const UDP_AMPDU: &str = "ampdu";
/// The access point sends packets one by one, without A-MPDUs, to one station,
/// saturated.
pub const UDP_SINGLE: &str = "single";
/// Fifty stations send to the access point, saturated, without A-MPDU.
pub const UDP_FIFTY: &str = "fifty";
/// One bulk TCP flow from the server to a station.
pub const TCP_DOWN: &str = "down";
/// One bulk TCP flow from a station to the server.
pub const TCP_UP: &str = "up";

/// Returns the scenario of a workload.
pub fn scenario(workload: &str) -> Scenario {
    let fast = (40, "400ns", 15, 65_535);
    let (channel, body) = match workload {
        UDP_AMPDU => (fast, saturated("ap", "sta")),
        UDP_SINGLE => ((40, "400ns", 15, 0), saturated("ap", "sta")),
        UDP_FIFTY => ((20, "800ns", 7, 0), saturated("sta*", "ap")),
        TCP_DOWN => (fast, tcp("server", "sta")),
        TCP_UP => (fast, tcp("sta", "server")),
        _ => unreachable!("all workloads are above"),
    };
    let (width, guard_interval, mcs, ampdu) = channel;
    let stations = if workload == UDP_FIFTY { "count = 50\nring = \"1m\"" } else { "" };
    let text = format!(
        r#"
        duration = "1s"
        [channel]
        width = "{width}MHz"
        guard_interval = "{guard_interval}"
        [node_defaults]
        queue = {{ kind = "drop-tail", packets = 500 }}
        rate_control = {{ kind = "fixed", mcs = {mcs} }}
        aggregation = {{ ampdu_bytes_max = {ampdu} }}
        [[node]]
        name = "ap"
        role = "access-point"
        [[node]]
        name = "sta"
        role = "station"
        position = ["1m", "0m"]
        {stations}
        {body}
        "#
    );
    parse("workload.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"))
}

fn saturated(from: &str, to: &str) -> String {
    flow("data", [from, to], "udp", "rate = \"saturated\"")
}

fn tcp(from: &str, to: &str) -> String {
    let cable = wire(["server", "ap"], "rate = \"1Gb/s\"\ndelay = \"1ms\"");
    [host("server"), cable, flow("data", [from, to], "tcp", "")].concat()
}

/// Runs `scenario`.
pub fn run(scenario: &Scenario) {
    let stats = lasthop_sim::run(scenario, Seed::new(1, 0), &mut NoSink, |_| {});
    black_box(stats.expect("it can be simulated"));
}
