//! Wall time of encoding, recoding and decoding a block of 150 symbols of 1 450
//! bytes, with the fastest kernel.
//!
//! `cargo bench -p lasthop-rlnc --bench codec`. The bench `table` shows the same
//! relative to this machine's limit, and with more kernels.

#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]

#[path = "block/mod.rs"]
mod block;

use block::{BLOCK_BYTES, Decoding, Encoding, LIMIT_BYTES, Limit, PACKETS, SYMBOL_BYTES, SYMBOLS};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lasthop_rlnc::{Density, Field, Kernel};

fn codecs(criterion: &mut Criterion) {
    let kernel = Kernel::best();
    for field in Field::ALL {
        let mut group = criterion.benchmark_group(format!("{field:?} with {}", kernel.name()));
        let mut limit = Limit::new(field, kernel);
        group.throughput(Throughput::Bytes(u64::from(SYMBOLS) * LIMIT_BYTES as u64));
        group.bench_function("limit", |bencher| bencher.iter(|| limit.run()));
        let mut encoding = Encoding::new(field, kernel);
        group.throughput(Throughput::Bytes((PACKETS * SYMBOL_BYTES) as u64));
        group.bench_function("batch of coded packets", |bencher| bencher.iter(|| encoding.run()));
        let mut recoder = block::recoder(field, kernel);
        let mut seed = 0;
        group.throughput(Throughput::Bytes(SYMBOL_BYTES as u64));
        group.bench_function("recoded packet", |bencher| {
            bencher.iter(|| {
                seed += 1;
                recoder.recode(seed, Density::DENSE).map(|(_, payload)| payload[0])
            });
        });
        group.throughput(Throughput::Bytes(BLOCK_BYTES));
        let mut dense = Decoding::new(field, kernel, None);
        group.bench_function("decode, dense", |bencher| bencher.iter(|| dense.run()));
        let mut lost = Decoding::new(field, kernel, Some(10));
        group.bench_function("decode, a tenth lost", |bencher| bencher.iter(|| lost.run()));
        group.finish();
    }
}

criterion_group!(benches, codecs);
criterion_main!(benches);
