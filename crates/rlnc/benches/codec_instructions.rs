//! Instructions for a block of 150 symbols of 1 450 bytes, counted by Valgrind: the
//! same under any load. Valgrind does not support AVX-512, so the kernel is the one
//! for AVX2.
//!
//! `cargo bench -p lasthop-rlnc --bench codec_instructions`; needs `valgrind`
//! and `cargo install gungraun-runner@0.20`, and says so without them.

#![allow(missing_docs, reason = "gungraun's macros write undocumented functions")]

#[path = "block/mod.rs"]
mod block;

use block::{Decoding, Encoding};
use gungraun::{library_benchmark, library_benchmark_group, main};
use lasthop_rlnc::{Field, Kernel};

#[library_benchmark]
#[bench::gf2(Encoding::new(Field::Gf2, Kernel::best()))]
#[bench::gf16(Encoding::new(Field::Gf16, Kernel::best()))]
#[bench::gf256(Encoding::new(Field::Gf256, Kernel::best()))]
fn encode(mut encoding: Encoding) -> Encoding {
    encoding.run();
    encoding
}

#[library_benchmark]
#[bench::gf2(Decoding::new(Field::Gf2, Kernel::best(), None))]
#[bench::gf256(Decoding::new(Field::Gf256, Kernel::best(), None))]
#[bench::gf2_tenth_lost(Decoding::new(Field::Gf2, Kernel::best(), Some(10)))]
#[bench::gf256_tenth_lost(Decoding::new(Field::Gf256, Kernel::best(), Some(10)))]
fn decode(mut decoding: Decoding) -> Decoding {
    decoding.run();
    decoding
}

library_benchmark_group!(name = codecs, benchmarks = [encode, decode]);
main!(library_benchmark_groups = codecs);
