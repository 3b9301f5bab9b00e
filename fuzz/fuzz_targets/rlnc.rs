//! Any packets, sound ones and others, for decoders of blocks and of windows and
//! for a recoder: no panic, no wrong byte, and no more rank than there are symbols.

#![no_main]

use lasthop_rlnc::{Code, Decoder, Density, Encoder, Field, Recoder, Vector, window};
use libfuzzer_sys::fuzz_target;

/// Symbols of the stream that windows see.
const STREAM: u64 = 48;

/// Bytes of the input that are one action.
const ACTION_BYTES: usize = 12;

/// Very sparse vectors are drawn again for long.
const PARTS_MIN: u16 = 256;

fn symbol(index: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|at| (((index * 31 + at + 1) * 0x9E37_79B9) >> 16) as u8).collect()
}

fuzz_target!(|input: &[u8]| {
    let [field, symbols, bytes, actions @ ..] = input else { return };
    let field = Field::ALL[usize::from(*field) % 3];
    let (symbols, bytes) = (u16::from(symbols % 40) + 1, usize::from(*bytes) + 1);
    let code = Code::new(field, symbols, bytes).expect("it is small");
    let mut encoder = Encoder::new(code);
    for index in 0..u64::from(symbols) {
        encoder.push(&symbol(index, bytes)).expect("there is room");
    }
    let (mut recoder, mut decoder) = (Recoder::new(code), Decoder::new(code));
    let (mut source, mut sink) =
        (window::WindowEncoder::new(code), window::WindowDecoder::new(code));
    // These get strange packets among others.
    let (mut victim, mut victim_window) = (Decoder::new(code), window::WindowDecoder::new(code));
    for action in actions.chunks_exact(ACTION_BYTES) {
        let number = u64::from_le_bytes(*action.first_chunk().expect("twelve are there"));
        let count = u16::from_le_bytes([action[8], action[9]]);
        let length = action[10];
        let density = Density::from_parts(count.max(PARTS_MIN));
        match action[11] % 7 {
            0 => {
                let index = number % u64::from(symbols);
                let payload = encoder.source(index as u16).expect("it was pushed");
                decoder.push(Vector::Source(index), payload).expect("a packet of this code");
                recoder.push(Vector::Source(index), payload).expect("a packet of this code");
            }
            1 => {
                let (vector, payload) = encoder.coded(number, density).expect("it has symbols");
                recoder.push(vector, payload).expect("a packet of this code");
                if length % 3 > 0 {
                    decoder.push(vector, payload).expect("a packet of this code");
                }
            }
            2 => {
                if let Ok((vector, payload)) = recoder.recode(number, density) {
                    decoder.push(vector, payload).expect("a packet of this code");
                }
            }
            3 => {
                let (first, end) = source.range();
                if end < STREAM && source.push(&symbol(end, bytes)).is_err() {
                    source.slide(first + 1 + u64::from(length) % 4);
                    continue;
                }
                let Ok((vector, payload)) = source.coded(number, density) else { continue };
                if length % 3 > 0 {
                    let _ = sink.push(vector, payload);
                }
                let _ = victim_window.push(vector, payload);
            }
            4 => {
                let (seed, first) = (number >> 32, number % 64);
                let vector = Vector::Seeded { seed, first, count, density };
                strange(&mut victim, &mut victim_window, vector, length, bytes);
            }
            5 => {
                let (first, count) = (number % 64, count % 64);
                let packed = number.to_be_bytes().repeat(8);
                let packed = match length % 4 {
                    0 => &packed[..usize::from(length) / 4],
                    _ => &packed[..field.packed_bytes(usize::from(count))],
                };
                let vector = Vector::Full { first, count, packed };
                strange(&mut victim, &mut victim_window, vector, length, bytes);
            }
            _ => {
                strange(&mut victim, &mut victim_window, Vector::Source(number), length, bytes);
            }
        }
        assert!(decoder.rank() <= code.symbols() && decoder.known() <= decoder.rank());
        assert!(victim.rank() <= code.symbols() && victim_window.rank() <= code.symbols());
        while let Some(index) = decoder.next_known() {
            assert_eq!(decoder.symbol(index), Some(symbol(u64::from(index), bytes).as_slice()));
        }
        while let Some(index) = sink.next_known() {
            assert_eq!(sink.symbol(index), Some(symbol(index, bytes).as_slice()));
        }
    }
});

/// Mostly as long as the code has it.
fn strange(
    block: &mut Decoder,
    window: &mut window::WindowDecoder,
    vector: Vector<'_>,
    length: u8,
    bytes: usize,
) {
    let payload = vec![0x5A; if length.is_multiple_of(8) { usize::from(length) } else { bytes }];
    let _ = block.push(vector, &payload);
    let _ = window.push(vector, &payload);
    let _ = (block.next_known(), window.next_known());
}
