//! Workloads of the benchmarks: one simulated second of each, without records.

pub use lasthop_fixtures::workloads::{
    TCP_DOWN, TCP_UP, UDP_AC, UDP_AMPDU, UDP_AX, UDP_FIFTY, UDP_FIFTY_AMPDU, UDP_SINGLE,
    UDP_TWENTY_SETS, UDP_TWO_HUNDRED,
};
use lasthop_hosts::sink::NoSink;
use lasthop_scenario::{Scenario, parse};
use lasthop_units::Seed;
use std::hint::black_box;

/// Returns the scenario of a workload.
pub fn scenario(workload: &str) -> Scenario {
    let text = lasthop_fixtures::workloads::scenario(workload, "1s");
    parse("workload.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"))
}

/// Runs `scenario` without records.
pub fn run(scenario: &Scenario) {
    let stats =
        lasthop_sim::simulate(scenario, Seed::new(1, 0), &mut NoSink, &mut lasthop_sim::go_on);
    black_box(stats.expect("it can be simulated"));
}
