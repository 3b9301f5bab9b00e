//! Blocks of packets over two lossy hops: a recoder between them, compared with a forwarder.
//!
//! In each slot the source sends one packet and the node between sends one. A hop loses 20 % of
//! them. A forwarder suffers the losses of both hops, so 1 / (0.8 * 0.8) slots are needed for each
//! symbol. A recoder sends a new combination of all its packets, so that the hops' losses do not
//! multiply: the slots come near 1 / 0.8, the capacity of the path.
//!
//! `cargo run -p lasthop-rlnc --example relay`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_rlnc::{Code, Decoder, Density, Encoder, Field, Received, Recoder};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::error::Error;

const SYMBOLS: u16 = 64;
const SYMBOL_BYTES: usize = 1_024;
const BLOCKS: u32 = 50;
const LOSS: f64 = 0.2;

/// Cost of bringing the blocks to the destination.
#[derive(Default)]
struct Taken {
    slots: u32,
    redundant: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{BLOCKS} blocks of {SYMBOLS} symbols of {SYMBOL_BYTES} bytes, each hop loses 20 %");
    println!();
    println!("field     between the hops  slots a symbol  redundant packets");
    for field in Field::ALL {
        for recodes in [false, true] {
            let mut random = StdRng::seed_from_u64(1);
            let code = Code::new(field, SYMBOLS, SYMBOL_BYTES)?;
            let mut taken = Taken::default();
            for _ in 0..BLOCKS {
                block(code, recodes, &mut random, &mut taken)?;
            }
            let each = f64::from(taken.slots) / f64::from(BLOCKS * u32::from(SYMBOLS));
            let node = if recodes { "recoder" } else { "forwarder" };
            println!(
                "{:<8}  {node:<16}  {each:14.2}  {:17}",
                format!("GF(2^{})", field.bits()),
                taken.redundant
            );
        }
    }
    Ok(())
}

/// Sends one block until it is decoded, and compares every byte.
fn block(
    code: Code,
    recodes: bool,
    random: &mut StdRng,
    taken: &mut Taken,
) -> Result<(), Box<dyn Error>> {
    let source: Vec<Vec<u8>> =
        (0..SYMBOLS).map(|_| (0..SYMBOL_BYTES).map(|_| random.random()).collect()).collect();
    let mut encoder = Encoder::new(code);
    for symbol in &source {
        encoder.push(symbol)?;
    }
    let (mut recoder, mut decoder) = (Recoder::new(code), Decoder::new(code));

    while !decoder.is_complete() {
        taken.slots += 1;
        let (vector, payload) = encoder.coded(random.random(), Density::DENSE)?;
        let is_heard = !random.random_bool(LOSS);
        let reaches = !random.random_bool(LOSS);
        let received = if !recodes {
            (is_heard && reaches).then(|| decoder.push(vector, payload)).transpose()?
        } else {
            if is_heard {
                recoder.push(vector, payload)?;
            }
            if reaches && recoder.rank() > 0 {
                let (vector, payload) = recoder.recode(random.random(), Density::DENSE)?;
                Some(decoder.push(vector, payload)?)
            } else {
                None
            }
        };
        taken.redundant += u32::from(received == Some(Received::Redundant));
    }
    for (index, symbol) in (0..).zip(&source) {
        assert_eq!(decoder.symbol(index), Some(symbol.as_slice()), "decoded as it was sent");
    }
    Ok(())
}
