//! Benchmark: wall time per simulated second.
//!
//! `cargo bench -p lasthop-sim --bench run`

#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]

mod workloads;

use criterion::{Criterion, criterion_group, criterion_main};
use workloads::{
    TCP_DOWN, TCP_UP, UDP_AC, UDP_AMPDU, UDP_AX, UDP_FIFTY, UDP_FIFTY_AMPDU, UDP_SINGLE,
    UDP_TWENTY_SETS, UDP_TWO_HUNDRED, run, scenario,
};

fn seconds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulated second");
    for (name, workload) in [
        ("UDP, A-MPDU", UDP_AMPDU),
        ("UDP", UDP_SINGLE),
        ("UDP, 802.11ac", UDP_AC),
        ("UDP, 802.11ax", UDP_AX),
        ("UDP, 50 stations", UDP_FIFTY),
        ("UDP, A-MPDU, 50 stations", UDP_FIFTY_AMPDU),
        ("UDP, 200 stations", UDP_TWO_HUNDRED),
        ("UDP, 20 sets", UDP_TWENTY_SETS),
        ("TCP down", TCP_DOWN),
        ("TCP up", TCP_UP),
    ] {
        let scenario = scenario(workload);
        group.bench_function(name, |bencher| bencher.iter(|| run(&scenario)));
    }
    group.finish();
}

criterion_group!(benches, seconds);
criterion_main!(benches);
