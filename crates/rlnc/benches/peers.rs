//! Other crates on the same block of 150 symbols of 1 450 bytes (`raptorq`: 1 448,
//! a multiple of eight): erasure codes, and another implementation of network
//! coding.
//!
//! `cargo bench -p lasthop-rlnc --bench peers`; this crate is in the bench `table`.
//! Processor time of one core: the fastest tenth and the median of 51 runs. Only
//! `rlnc` can recode. ISA-L is a C library without a binding for its erasure codes:
//! where `cc` finds it (Debian: `libisal-dev`), `isal.c` is compiled and run.

#![allow(clippy::print_stdout, reason = "this program prints a table")]

#[path = "block/mod.rs"]
mod block;

use block::time::{Times, time};
use block::{PACKETS, SYMBOL_BYTES, SYMBOLS, encoder};
use lasthop_rlnc::{Field, Kernel};
use rand::SeedableRng;
use rand::rngs::StdRng;
use raptorq::{ObjectTransmissionInformation, SourceBlockDecoder, SourceBlockEncoder};
use rlnc::full::{Decoder, Encoder, Recoder};
use std::hint::black_box;
use std::process::Command;

/// Runs per measurement.
const RUNS: usize = 51;
/// Lost symbols: a tenth of the block.
const LOST: usize = SYMBOLS as usize / 10;

fn line(peer: &str, what: &str, bytes: usize, times: Times) {
    let speed = |seconds: f64| bytes as f64 / seconds / 1e6;
    println!("{peer:<18} {what:<34} {:>7.0} {:>7.0}", speed(times.quiet_s), speed(times.median_s));
}

fn main() {
    println!("peer               what                                  MB/s  median");
    let source = encoder(Field::Gf256, Kernel::best());
    let symbols: Vec<Vec<u8>> = (0..SYMBOLS)
        .map(|index| source.source(index).expect("the block is full").to_vec())
        .collect();
    reed_solomon(&symbols);
    raptor(&symbols);
    network_coding(symbols.concat());
    if let Err(why) = isal() {
        println!("ISA-L              not measured: {why}");
    }
}

fn reed_solomon(symbols: &[Vec<u8>]) {
    let bytes = symbols.len() * SYMBOL_BYTES;
    let encode = || reed_solomon_simd::encode(symbols.len(), LOST, symbols).expect("valid sizes");
    let times = time(RUNS, || _ = black_box(encode()));
    line("reed-solomon-simd", "encode +10 %, per source", bytes, times);
    let repair = encode();
    let times = time(RUNS, || {
        let left = symbols.iter().enumerate().skip(LOST);
        let repair = repair.iter().enumerate();
        let decoded = reed_solomon_simd::decode(symbols.len(), LOST, left, repair);
        assert_eq!(black_box(decoded).expect("enough came").len(), LOST);
    });
    line("reed-solomon-simd", "decode, 10 % lost", bytes, times);
}

fn raptor(symbols: &[Vec<u8>]) {
    const SYMBOL: usize = SYMBOL_BYTES / 8 * 8;
    let data = &symbols.concat()[..symbols.len() * SYMBOL];
    let length = data.len() as u64;
    let config = ObjectTransmissionInformation::new(length, SYMBOL as u16, 1, 1, 8);
    let encode = || SourceBlockEncoder::new(0, &config, data).repair_packets(0, LOST as u32 + 2);
    let times = time(RUNS, || _ = black_box(encode()));
    line("raptorq", "encode +10 %, per source", data.len(), times);
    let mut packets = SourceBlockEncoder::new(0, &config, data).source_packets().split_off(LOST);
    packets.extend(encode());
    let times = time(RUNS, || {
        let mut decoder = SourceBlockDecoder::new(0, &config, length);
        assert!(black_box(decoder.decode(packets.clone())).is_some());
    });
    line("raptorq", "decode, 10 % lost and 2 more", data.len(), times);
}

fn network_coding(mut data: Vec<u8>) {
    // The crate marks the end of the data with one byte of its own.
    data.pop();
    let bytes = data.len();
    let pieces = usize::from(SYMBOLS);
    let mut random = StdRng::seed_from_u64(1);
    let encoder = Encoder::new(data, pieces).expect("valid sizes");
    let times = time(RUNS, || _ = black_box(encoder.code(&mut random)));
    line("rlnc, GF(2^8)", "coded packets, one by one", SYMBOL_BYTES, times);
    let coded: Vec<_> = (0..pieces + 4).map(|_| encoder.code(&mut random)).collect();
    let all = coded[..pieces].concat();
    let mut recoder = Recoder::new(all, coded[0].len(), pieces).expect("valid sizes");
    let times = time(RUNS, || _ = black_box(recoder.recode(&mut random)));
    line("rlnc, GF(2^8)", "recoded packets", SYMBOL_BYTES, times);
    let times = time(RUNS / 5, || {
        let mut decoder = Decoder::new(SYMBOL_BYTES, pieces).expect("valid sizes");
        for packet in &coded {
            if !decoder.is_already_decoded() {
                // The crate returns an error for a redundant packet.
                let _ = decoder.decode(packet);
            }
        }
        assert!(decoder.is_already_decoded());
    });
    line("rlnc, GF(2^8)", "decode, dense", bytes, times);
}

/// Compiles and runs `isal.c`.
fn isal() -> Result<(), String> {
    let program = concat!(env!("CARGO_TARGET_TMPDIR"), "/isal");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/isal.c");
    output(Command::new("cc").args(["-O2", "-o", program, source, "-lisal"]))?;
    let (symbols, bytes) = (usize::from(SYMBOLS), SYMBOL_BYTES);
    let arguments = [symbols, PACKETS, bytes, RUNS].map(|argument| argument.to_string());
    for measured in output(Command::new(program).args(arguments))?.lines() {
        let fields: Vec<&str> = measured.split(',').collect();
        let &[set, what, quiet_s, median_s] = fields.as_slice() else {
            return Err(format!("four fields, not {measured:?}"));
        };
        let (what, packets) = match what {
            "fixed" => ("coded packets, matrix known", PACKETS),
            "random" => ("coded packets, batch", PACKETS),
            _ => ("decode, dense, matrix inverted", symbols),
        };
        let seconds = |field: &str| field.parse().map_err(|error| format!("{field:?}: {error}"));
        let times = Times { quiet_s: seconds(quiet_s)?, median_s: seconds(median_s)? };
        line(&format!("ISA-L, {set}"), what, packets * bytes, times);
    }
    Ok(())
}

/// The output of a command, or the first line of its error.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr).lines().next().unwrap_or("no message").to_owned())
    }
}
