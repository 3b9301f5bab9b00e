//! Instructions for 1000 delivered packets in saturated cells, counted by
//! Valgrind: the same on every machine and under any load.
//!
//! `cargo bench -p lasthop-wifi --bench cell_instructions`; needs `valgrind` and
//! `cargo install gungraun-runner@0.20`, and prints a notice without them.

#![allow(missing_docs, reason = "gungraun's macros write undocumented functions")]

mod saturated;

use gungraun::{library_benchmark, library_benchmark_group, main};
use saturated::{FIFTY_SINGLE, ONE_AMPDU, ONE_HE, ONE_SINGLE, ONE_VHT, Saturated, TEN_AMPDU};

#[library_benchmark]
#[bench::one_station_ampdu(Saturated::new(ONE_AMPDU))]
#[bench::one_station(Saturated::new(ONE_SINGLE))]
#[bench::one_station_vht(Saturated::new(ONE_VHT))]
#[bench::one_station_he(Saturated::new(ONE_HE))]
#[bench::ten_stations_ampdu(Saturated::new(TEN_AMPDU))]
#[bench::fifty_stations(Saturated::new(FIFTY_SINGLE))]
fn deliver(mut saturated: Saturated) -> Saturated {
    saturated.deliver(1_000);
    saturated
}

library_benchmark_group!(name = cells, benchmarks = deliver);
main!(library_benchmark_groups = cells);
