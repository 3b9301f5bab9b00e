//! Wall time of a delivered packet in saturated cells.
//!
//! `cargo bench -p lasthop-wifi --bench cell`; the inverse of the reported
//! throughput is the cost of a packet.

#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]

mod saturated;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use saturated::{FIFTY_SINGLE, ONE_AMPDU, ONE_HE, ONE_SINGLE, ONE_VHT, Saturated, TEN_AMPDU};

/// Packets delivered in one iteration.
const PACKETS: u64 = 1_000;

fn cells(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("delivered packet");
    group.throughput(Throughput::Elements(PACKETS));
    for (name, case) in [
        ("1 station, A-MPDU", ONE_AMPDU),
        ("1 station", ONE_SINGLE),
        ("1 station, 802.11ac", ONE_VHT),
        ("1 station, 802.11ax", ONE_HE),
        ("10 stations, A-MPDU", TEN_AMPDU),
        ("50 stations", FIFTY_SINGLE),
    ] {
        let mut saturated = Saturated::new(case);
        group.bench_function(name, |bencher| bencher.iter(|| saturated.deliver(PACKETS)));
    }
    group.finish();
}

criterion_group!(benches, cells);
criterion_main!(benches);
