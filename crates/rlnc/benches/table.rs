//! Speeds of a block beside this machine's own limit, measured in the same run.
//!
//! `cargo bench -p lasthop-rlnc --bench table`; a word behind `--` selects a kernel
//! by its name, for example `-- avx2`, or `all`. One core; processor time of the
//! thread, of 301 short runs the fastest tenth and the median. MB/s are 10^6 bytes of coded packets or of decoded symbols. The limit is
//! what multiplying and adding row by row from the second-level cache would
//! allow; encoding in tiles and batches goes beyond it.

#![allow(clippy::print_stdout, reason = "this program prints a table")]

#[path = "block/mod.rs"]
mod block;

use block::{BLOCK_BYTES, Decoding, Encoding, Limit, PACKETS, SYMBOL_BYTES, SYMBOLS, recoder};
use lasthop_rlnc::{Density, Field, Kernel};
use nix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::Duration;

/// Runs of which the median is taken.
const RUNS: usize = 301;

/// What this thread has used: other work on the machine does not count.
fn processor_time() -> Duration {
    let clock = ClockId::CLOCK_THREAD_CPUTIME_ID;
    clock_gettime(clock).expect("every Linux has this clock").into()
}

/// Seconds of a run: the tenth part's bound, for cold caches only add to it,
/// and the median.
fn seconds(mut run: impl FnMut()) -> Times {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = processor_time();
            run();
            (processor_time() - start).as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Times { quiet: times[RUNS / 10], median: times[RUNS / 2] }
}

#[derive(Clone, Copy)]
struct Times {
    quiet: f64,
    median: f64,
}

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
    let limit_rows = seconds(|| _ = black_box(limit.run()));
    let limit_row_s = limit_rows.quiet / symbols;
    let line = |what: &str, bytes: f64, packets: f64, additions: f64, times: Times| {
        let share = limit_row_s * additions / times.quiet;
        println!(
            "{:<10} {:<6} {what:<28} {:>9.0} {:>9.0} {:>11.3} {share:>14.2}",
            kernel.name(),
            format!("{field:?}"),
            bytes / times.quiet / 1e6,
            bytes / times.median / 1e6,
            times.quiet / packets * 1e6,
        );
    };
    // Additions of rows that a packet takes, without zeros.
    let dense = symbols * (1.0 - 1.0 / field.order() as f64);
    line("limit: rows from L2", BLOCK_BYTES as f64, symbols, symbols, limit_rows);
    let mut encoding = Encoding::new(field, kernel);
    let packets = PACKETS as f64;
    let bytes = packets * SYMBOL_BYTES as f64;
    line("coded packets, batch", bytes, packets, packets * dense, seconds(|| encoding.run()));
    let one = seconds(|| (0..10).for_each(|seed| _ = black_box(encoding.one(seed))));
    line("coded packets, one by one", 10.0 * SYMBOL_BYTES as f64, 10.0, 10.0 * dense, one);
    let mut recoder = recoder(field, kernel);
    let mut seed = 0;
    let one = seconds(|| {
        for _ in 0..10 {
            seed += 1;
            _ = black_box(recoder.recode(seed, Density::DENSE).is_ok());
        }
    });
    line("recoded packets", 10.0 * SYMBOL_BYTES as f64, 10.0, 10.0 * dense, one);
    let mut decoding = Decoding::new(field, kernel, None);
    let time = seconds(|| decoding.run());
    line("decode, dense", BLOCK_BYTES as f64, symbols, symbols * dense, time);
    let mut decoding = Decoding::new(field, kernel, Some(10));
    let time = seconds(|| decoding.run());
    line("decode, 10 % of source lost", BLOCK_BYTES as f64, symbols, 0.1 * symbols * dense, time);
}
