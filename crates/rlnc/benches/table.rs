//! Speed of encoding, recoding and decoding a block relative to this machine's
//! limit, measured in the same run.
//!
//! `cargo bench -p lasthop-rlnc --bench table`; an argument after `--` selects a
//! kernel by name, for example `-- avx2`, or `all`. Processor time of one core: the
//! fastest tenth and the median of 301 short runs. MB/s are 10^6 bytes of coded
//! packets or of decoded symbols. The limit is what multiplying and adding row by
//! row from the second-level cache allows; encoding in tiles and batches exceeds
//! it.

#![allow(clippy::print_stdout, reason = "this program prints a table")]

#[path = "block/mod.rs"]
mod block;

use block::time::{Times, time};
use block::{
    BLOCK_BYTES, Decoding, Encoding, LIMIT_BYTES, Limit, PACKETS, SYMBOL_BYTES, SYMBOLS, recoder,
};
use lasthop_rlnc::{Density, Field, Kernel};
use std::hint::black_box;

/// Runs per measurement.
const RUNS: usize = 301;

fn main() {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    println!(
        "kernel     field  what                              MB/s    median   us/packet   of the limit"
    );
    for kernel in Kernel::supported() {
        let chosen = match wanted.as_deref() {
            None => kernel == Kernel::best(),
            Some(name) => name == "all" || name == kernel.name(),
        };
        if chosen {
            Field::ALL.into_iter().for_each(|field| table(kernel, field));
        }
    }
}

fn table(kernel: Kernel, field: Field) {
    let symbols = f64::from(SYMBOLS);
    let mut limit = Limit::new(field, kernel);
    let limit_rows = time(RUNS, || _ = black_box(limit.run()));
    let limit_row_s = limit_rows.quiet_s / symbols;
    let line = |what: &str, bytes: f64, packets: f64, additions: f64, times: Times| {
        let share = limit_row_s * additions / times.quiet_s;
        println!(
            "{:<10} {:<6} {what:<28} {:>9.0} {:>9.0} {:>11.3} {share:>14.2}",
            kernel.name(),
            format!("{field:?}"),
            bytes / times.quiet_s / 1e6,
            bytes / times.median_s / 1e6,
            times.quiet_s / packets * 1e6,
        );
    };
    // Additions of rows per packet, not counting coefficients that are zero.
    let dense = symbols * (1.0 - 1.0 / field.order() as f64);
    let limit_bytes = symbols * LIMIT_BYTES as f64;
    line("limit: rows from L2", limit_bytes, symbols, symbols, limit_rows);
    let mut encoding = Encoding::new(field, kernel);
    let packets = PACKETS as f64;
    let bytes = packets * SYMBOL_BYTES as f64;
    line("coded packets, batch", bytes, packets, packets * dense, time(RUNS, || encoding.run()));
    let one = time(RUNS, || (0..10).for_each(|seed| _ = black_box(encoding.one(seed))));
    line("coded packets, one by one", 10.0 * SYMBOL_BYTES as f64, 10.0, 10.0 * dense, one);
    let mut recoder = recoder(field, kernel);
    let mut seed = 0;
    let one = time(RUNS, || {
        for _ in 0..10 {
            seed += 1;
            _ = black_box(recoder.recode(seed, Density::DENSE).is_ok());
        }
    });
    line("recoded packets", 10.0 * SYMBOL_BYTES as f64, 10.0, 10.0 * dense, one);
    let mut decoding = Decoding::new(field, kernel, None);
    let times = time(RUNS, || decoding.run());
    line("decode, dense", BLOCK_BYTES as f64, symbols, symbols * dense, times);
    let mut decoding = Decoding::new(field, kernel, Some(10));
    let times = time(RUNS, || decoding.run());
    line("decode, 10 % of source lost", BLOCK_BYTES as f64, symbols, 0.1 * symbols * dense, times);
}
