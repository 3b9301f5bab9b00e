//! The workload that all benchmarks share: a block of 150 symbols of 1 450 bytes,
//! encoded, recoded and decoded, and the limit that the machine sets for work row
//! by row. Leaves out sliding windows.

#![allow(dead_code, reason = "no benchmark measures all of it")]

pub mod time;

use lasthop_rlnc::{Code, Decoder, Density, Encoder, Field, Kernel, Recoder, Symbols, Vector};

/// Symbols of the block.
pub const SYMBOLS: u16 = 150;
/// Bytes of a symbol.
pub const SYMBOL_BYTES: usize = 1_450;
/// Bytes of the block.
pub const BLOCK_BYTES: u64 = SYMBOLS as u64 * SYMBOL_BYTES as u64;
/// Length of a symbol in whole cache lines, in bytes.
pub const LIMIT_BYTES: usize = SYMBOL_BYTES.next_multiple_of(64);
/// Coded packets of a dense batch: a few more than the block has symbols.
pub const PACKETS: usize = 156;

/// The code of the block over `field`.
pub fn code(field: Field) -> Code {
    Code::new(field, SYMBOLS, SYMBOL_BYTES).expect("a block of this size is allowed")
}

/// An encoder that holds the whole block.
pub fn encoder(field: Field, kernel: Kernel) -> Encoder {
    let mut encoder = Encoder::with_kernel(code(field), kernel);
    let mut symbol = [0; SYMBOL_BYTES];
    for i in 0..u64::from(SYMBOLS) {
        for (at, byte) in symbol.iter_mut().enumerate() {
            *byte = ((i * 1_000_003 + at as u64 * 7_919) >> 5) as u8;
        }
        encoder.push(&symbol).expect("there is room for all");
    }
    encoder
}

/// A batch of coded packets.
pub struct Encoding {
    encoder: Encoder,
    seeds: Vec<u64>,
    payloads: Symbols,
}

impl Encoding {
    /// A batch of [`PACKETS`] dense packets.
    pub fn new(field: Field, kernel: Kernel) -> Self {
        let seeds = (1..=PACKETS as u64).collect();
        let payloads = Symbols::new(PACKETS, SYMBOL_BYTES);
        Self { encoder: encoder(field, kernel), seeds, payloads }
    }

    /// Encodes the batch.
    pub fn run(&mut self) {
        let density = Density::DENSE;
        let done = self.encoder.coded_many(&self.seeds, density, &mut self.payloads);
        done.expect("the block has symbols");
    }

    /// Encodes one packet.
    pub fn one(&mut self, seed: u64) -> u8 {
        let coded = self.encoder.coded(seed, Density::DENSE).expect("the block has symbols");
        coded.1[0]
    }
}

/// The packets of a block, and a decoder for them.
pub struct Decoding {
    decoder: Decoder,
    packets: Vec<(Vector<'static>, Vec<u8>)>,
}

impl Decoding {
    /// First all source symbols except every `lost`-th (`None`: no source symbols),
    /// then coded packets.
    pub fn new(field: Field, kernel: Kernel, lost: Option<u16>) -> Self {
        let mut encoder = encoder(field, kernel);
        let mut packets = Vec::new();
        if let Some(every) = lost {
            for index in (0..SYMBOLS).filter(|index| index % every != 0) {
                let symbol = encoder.source(index).expect("it was pushed").to_vec();
                packets.push((Vector::Source(u64::from(index)), symbol));
            }
        }
        let mut decoder = Decoder::with_kernel(code(field), kernel);
        for (vector, payload) in &packets {
            decoder.push(*vector, payload).expect("packets of this code");
        }
        for seed in 0.. {
            if decoder.is_complete() {
                break;
            }
            let (vector, payload) =
                encoder.coded(seed, Density::DENSE).expect("the block has symbols");
            decoder.push(vector, payload).expect("packets of this code");
            packets.push((vector, payload.to_vec()));
        }
        Self { decoder, packets }
    }

    /// Decodes the block.
    pub fn run(&mut self) {
        self.decoder.clear();
        for (vector, payload) in &self.packets {
            self.decoder.push(*vector, payload).expect("packets of this code");
        }
        assert!(self.decoder.is_complete());
    }
}

/// A recoder that holds the whole block as coded packets.
pub fn recoder(field: Field, kernel: Kernel) -> Recoder {
    let mut encoder = encoder(field, kernel);
    let mut recoder = Recoder::with_kernel(code(field), kernel);
    let mut seed = 0;
    while recoder.rank() < usize::from(SYMBOLS) {
        let (vector, payload) = encoder.coded(seed, Density::DENSE).expect("it has symbols");
        recoder.push(vector, payload).expect("packets of this code");
        seed += 1;
    }
    recoder
}

/// Multiplies and adds as many rows as the block has symbols to one row, from the
/// second-level cache: the limit of a decoder that works row by row.
pub struct Limit {
    rows: Symbols,
    sum: Symbols,
    field: Field,
    kernel: Kernel,
}

impl Limit {
    /// Over GF(2) the operation is an exclusive or.
    pub fn new(field: Field, kernel: Kernel) -> Self {
        let rows = Symbols::new(usize::from(SYMBOLS), LIMIT_BYTES);
        Self { rows, sum: Symbols::new(1, LIMIT_BYTES), field, kernel }
    }

    /// Performs the operation once per row.
    pub fn run(&mut self) -> u8 {
        for row in 0..self.rows.rows() {
            match self.field {
                Field::Gf2 => self.kernel.add(self.sum.row_mut(0), self.rows.row(row)),
                field => {
                    let c = (row % 14 + 2) as u8;
                    self.kernel.multiply_add(field, self.sum.row_mut(0), c, self.rows.row(row));
                }
            }
        }
        self.sum.row(0)[0]
    }
}
