//! Instructions for 1000 delivered segments, counted by Valgrind: the same on
//! every machine and under any load.
//!
//! `cargo bench -p lasthop-tcp --bench transfer_instructions`; needs `valgrind` and
//! `cargo install gungraun-runner@0.20`, and prints a notice without them.

#![allow(missing_docs, reason = "gungraun's macros write undocumented functions")]

#[path = "transfer/mod.rs"]
mod path;

use gungraun::{library_benchmark, library_benchmark_group, main};
use lasthop_tcp::SmallQueues;
use lasthop_units::Bytes;
use path::Transfer;

const SMALL: SmallQueues =
    SmallQueues::Fixed { limit: Bytes::new(128 << 10), overhead: Bytes::new(0) };

#[library_benchmark]
#[bench::small_queues(Transfer::new(None, SMALL))]
#[bench::full_queue(Transfer::new(None, SmallQueues::Off))]
#[bench::one_in_1000_lost(Transfer::new(Some(1_000), SmallQueues::Off))]
fn deliver(mut transfer: Transfer) -> Transfer {
    transfer.deliver(1_000);
    transfer
}

library_benchmark_group!(name = transfers, benchmarks = deliver);
main!(library_benchmark_groups = transfers);
