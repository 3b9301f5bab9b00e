//! Benchmark: CPU instructions per simulated second, counted by Valgrind. The load of
//! the machine makes no difference.
//!
//! `cargo bench -p lasthop-sim --bench run_instructions`; needs `valgrind` and
//! `cargo install gungraun-runner@0.20`, and reports if they are missing.

#![allow(missing_docs, reason = "gungraun's macros write undocumented functions")]

mod workloads;

use gungraun::{library_benchmark, library_benchmark_group, main};
use lasthop_scenario::Scenario;
use workloads::{
    TCP_DOWN, TCP_UP, UDP_AC, UDP_AMPDU, UDP_AX, UDP_FIFTY, UDP_FIFTY_AMPDU, UDP_SINGLE,
    UDP_TWENTY_SETS, UDP_TWO_HUNDRED, run, scenario,
};

#[library_benchmark]
#[bench::udp_ampdu(scenario(UDP_AMPDU))]
#[bench::udp(scenario(UDP_SINGLE))]
#[bench::udp_ac(scenario(UDP_AC))]
#[bench::udp_ax(scenario(UDP_AX))]
#[bench::udp_fifty_stations(scenario(UDP_FIFTY))]
#[bench::udp_fifty_stations_ampdu(scenario(UDP_FIFTY_AMPDU))]
#[bench::udp_two_hundred_stations(scenario(UDP_TWO_HUNDRED))]
#[bench::udp_twenty_sets(scenario(UDP_TWENTY_SETS))]
#[bench::tcp_down(scenario(TCP_DOWN))]
#[bench::tcp_up(scenario(TCP_UP))]
fn second(scenario: Scenario) -> Scenario {
    run(&scenario);
    scenario
}

library_benchmark_group!(name = seconds, benchmarks = second);
main!(library_benchmark_groups = seconds);
