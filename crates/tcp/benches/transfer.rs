//! Wall time of a delivered segment, with both endpoints and a queue between them.
//!
//! `cargo bench -p lasthop-tcp --bench transfer`; the inverse of the reported throughput is the
//! cost of one segment. Left out: hosts, links and recording.

#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]

#[path = "transfer/mod.rs"]
mod path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lasthop_tcp::SmallQueues;
use lasthop_units::Bytes;
use path::Transfer;

/// Segments delivered per iteration.
const SEGMENTS: u64 = 10_000;

fn transfers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("delivered segment");
    group.throughput(Throughput::Elements(SEGMENTS));
    let small = SmallQueues::Fixed { limit: Bytes::new(128 << 10), overhead: Bytes::new(0) };
    for (name, lose_every, small_queues) in [
        ("small queues", None, small),
        ("full queue", None, SmallQueues::Off),
        ("1 in 1000 lost", Some(1_000), SmallQueues::Off),
    ] {
        let mut transfer = Transfer::new(lose_every, small_queues);
        group.bench_function(name, |bencher| bencher.iter(|| transfer.deliver(SEGMENTS)));
    }
    group.finish();
}

criterion_group!(benches, transfers);
criterion_main!(benches);
