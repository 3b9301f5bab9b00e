//! Tests of the codecs against the slow reference: which symbols are known after
//! each packet, that no byte is ever wrong, and that the overhead in packets agrees
//! with theory. Random blocks and windows, over all three fields.

use crate::reference::Reference;
use crate::vector::{SplitMix64, get, row_bytes};
use crate::{
    Code, CodeError, Decoder, Density, Encoder, Field, Kernel, PacketError, Received, Recoder,
    SymbolError, Symbols, Vector, window,
};
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// A packet that owns its vector.
#[derive(Clone, Debug)]
struct Packet {
    coefficients: Vec<u8>,
    payload: Vec<u8>,
    vector: Owned,
}

#[derive(Clone, Debug)]
enum Owned {
    Short(Vector<'static>),
    Full(Vec<u8>),
}

impl Packet {
    fn new(field: Field, columns: usize, vector: Vector<'_>, payload: &[u8]) -> Self {
        let owned = match vector {
            Vector::Source(index) => Owned::Short(Vector::Source(index)),
            Vector::Seeded { seed, first, count, density } => {
                Owned::Short(Vector::Seeded { seed, first, count, density })
            }
            Vector::Full { packed, .. } => Owned::Full(packed.to_vec()),
        };
        let mut row = vec![0; row_bytes(field, columns)];
        vector.expand(field, columns, &mut row);
        let coefficients = (0..columns).map(|i| get(field, &row, i)).collect();
        Self { coefficients, payload: payload.to_vec(), vector: owned }
    }

    fn vector(&self) -> Vector<'_> {
        match &self.vector {
            Owned::Short(vector) => *vector,
            Owned::Full(packed) => {
                Vector::Full { first: 0, count: self.coefficients.len() as u16, packed }
            }
        }
    }
}

fn symbols(count: usize, bytes: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut random = SplitMix64::new(seed);
    let mut symbol = || (0..bytes).map(|_| random.next() as u8).collect();
    (0..count).map(|_| symbol()).collect()
}

/// The next packet of the sender. Packets that are not listed are lost; one may arrive twice and
/// late.
#[derive(Clone, Debug)]
enum Action {
    Source(u16),
    Coded {
        seed: u64,
        density: Density,
    },
    /// A packet of a recoder that received some of the packets.
    Recoded {
        seed: u64,
    },
    Again(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let density =
        prop_oneof![Just(Density::DENSE), (3_000..60_000u16).prop_map(Density::from_parts)];
    prop_oneof![
        any::<u16>().prop_map(Action::Source),
        (any::<u64>(), density).prop_map(|(seed, density)| Action::Coded { seed, density }),
        any::<u64>().prop_map(|seed| Action::Recoded { seed }),
        any::<usize>().prop_map(Action::Again),
    ]
}

fn field() -> impl Strategy<Value = Field> {
    prop::sample::select(&Field::ALL)
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop::sample::select(Kernel::supported().collect::<Vec<_>>())
}

proptest! {
    /// Packets of a growing block, and from recoders, in any order: rank, known
    /// symbols and their bytes equal the reference's after each.
    #[test]
    fn a_block_is_known_as_far_as_the_packets_say(
        field in field(),
        kernel in kernel(),
        count in 1..24u16,
        bytes in 1..80usize,
        seed: u64,
        actions in prop::collection::vec((action(), 0..8u8), 1..60),
    ) {
        let code = Code::new(field, count, bytes).unwrap();
        let columns = code.symbols();
        let source = symbols(columns, bytes, seed);
        let mut encoder = Encoder::with_kernel(code, kernel);
        let mut recoder = Recoder::with_kernel(code, kernel);
        let mut decoder = Decoder::with_kernel(code, kernel);
        // A second block in the same memory.
        let dirty = decoder.push(Vector::Full { first: 0, count, packed: &vec![1; code.packed_bytes()] }, &source[0]);
        prop_assert_eq!(dirty, Ok(Received::Innovative));
        decoder.clear();
        let mut reference = Reference::new(field);
        let mut sent: Vec<Packet> = Vec::new();
        let mut told = 0;
        for (action, chance) in actions {
            if chance < 3 && !encoder.is_full() {
                encoder.push(&source[usize::from(encoder.len())]).unwrap();
            }
            if encoder.is_empty() {
                continue;
            }
            let packet = match action {
                Action::Source(index) => {
                    let index = index % encoder.len();
                    let symbol = encoder.source(index).unwrap();
                    Packet::new(field, columns, Vector::Source(u64::from(index)), symbol)
                }
                Action::Coded { seed, density } => {
                    let (vector, payload) = encoder.coded(seed, density).unwrap();
                    Packet::new(field, columns, vector, payload)
                }
                Action::Recoded { seed } => match recoder.recode(seed, Density::DENSE) {
                    Ok((vector, payload)) => Packet::new(field, columns, vector, payload),
                    Err(_) => continue,
                },
                Action::Again(at) if !sent.is_empty() => sent[at % sent.len()].clone(),
                Action::Again(_) => continue,
            };
            if chance % 2 == 0 {
                recoder.push(packet.vector(), &packet.payload).unwrap();
            }
            let innovative = reference.push(packet.coefficients.clone(), packet.payload.clone());
            let received = decoder.push(packet.vector(), &packet.payload).unwrap();
            prop_assert_eq!(received == Received::Innovative, innovative);
            prop_assert_eq!(decoder.rank(), reference.rank());
            for (index, symbol) in source.iter().enumerate() {
                let known = decoder.symbol(index as u16);
                prop_assert_eq!(known, reference.symbol(index), "symbol {}", index);
                prop_assert!(known.is_none_or(|known| known == symbol));
                let bit = decoder.bitmap()[index / 8] >> (index % 8) & 1 == 1;
                prop_assert_eq!(bit, known.is_some());
            }
            while let Some(index) = decoder.next_known() {
                prop_assert!(decoder.symbol(index).is_some());
                told += 1;
            }
            prop_assert_eq!(told, decoder.known());
            prop_assert_eq!(decoder.is_complete(), reference.rank() == columns);
            sent.push(packet);
        }
    }

    /// A window that slides, with losses: equals the reference, which also forgets
    /// symbols.
    #[test]
    fn a_window_is_known_as_far_as_the_packets_say(
        field in field(),
        kernel in kernel(),
        capacity in 1..12u16,
        bytes in 1..80usize,
        seed: u64,
        start in prop::sample::select(&[0, 1_000_003, u64::MAX - 70]),
        actions in prop::collection::vec((action(), 0..16u8), 1..60),
    ) {
        const STREAM: usize = 61;
        let sender = Code::new(field, capacity, bytes).unwrap();
        let receiver = Code::new(field, capacity + 2, bytes).unwrap();
        let source = symbols(STREAM, bytes, seed);
        let mut encoder = window::WindowEncoder::with_kernel(sender, kernel);
        let mut decoder = window::WindowDecoder::with_kernel(receiver, kernel);
        let mut reference = Reference::new(field);
        let mut known = [false; STREAM];
        decoder.slide(start);
        let mut first = 0;
        for (action, chance) in actions {
            let (oldest, end) = encoder.range();
            if chance < 8 && encoder.push(&source[end as usize]).is_err() {
                encoder.slide(oldest + 1 + u64::from(chance) / 2);
                continue;
            }
            let (oldest, end) = encoder.range();
            if oldest == end {
                continue;
            }
            let (vector, payload) = match action {
                Action::Source(index) => {
                    let index = oldest + u64::from(index) % (end - oldest);
                    (Vector::Source(index), encoder.source(index).unwrap().to_vec())
                }
                Action::Coded { seed, density } => {
                    let (vector, payload) = encoder.coded(seed, density).unwrap();
                    (vector, payload.to_vec())
                }
                Action::Recoded { .. } | Action::Again(_) => continue,
            };
            // The decoder's numbers start elsewhere.
            let moved = match vector {
                Vector::Source(index) => Vector::Source(start + index),
                Vector::Seeded { seed, first, count, density } => {
                    Vector::Seeded { seed, first: start + first, count, density }
                }
                Vector::Full { .. } => unreachable!("nothing recodes a window"),
            };
            let packet = Packet::new(field, STREAM, vector, &payload);
            let (from, to) = vector.range().unwrap();
            let received = decoder.push(moved, &payload);
            if from < first as u64 {
                prop_assert_eq!(received, Err(PacketError::Stale));
                continue;
            }
            while first + receiver.symbols() < to as usize {
                reference.forget(first);
                first += 1;
            }
            let innovative = reference.push(packet.coefficients, packet.payload);
            prop_assert_eq!(received == Ok(Received::Innovative), innovative);
            prop_assert_eq!(decoder.rank(), reference.rank());
            prop_assert_eq!(decoder.range().0, start + first as u64);
            while let Some(index) = decoder.next_known() {
                let index = (index - start) as usize;
                prop_assert!(!known[index], "symbol {} was told twice", index);
                known[index] = true;
            }
            let stream = source.iter().zip(&known).enumerate().skip(first);
            for (index, (sent, &told)) in stream.take(receiver.symbols()) {
                let symbol = decoder.symbol(start + index as u64);
                prop_assert_eq!(symbol, reference.symbol(index), "symbol {}", index);
                prop_assert!(symbol.is_none_or(|symbol| symbol == sent));
                prop_assert_eq!(symbol.is_some(), told);
            }
        }
    }

    /// A batch equals the same packets encoded one by one.
    #[test]
    fn many_packets_are_as_one_by_one(
        field in field(),
        kernel in kernel(),
        count in 1..80u16,
        bytes in 1..300usize,
        packets in 1..100usize,
        sparse: bool,
        seed: u64,
    ) {
        let code = Code::new(field, count, bytes).unwrap();
        let density = if sparse { Density::from_parts(5_000) } else { Density::DENSE };
        let mut encoder = Encoder::with_kernel(code, kernel);
        for symbol in symbols(usize::from(count), bytes, seed) {
            encoder.push(&symbol).unwrap();
        }
        let seeds: Vec<_> = (0..packets as u64).map(|i| seed.wrapping_add(i)).collect();
        let mut payloads = Symbols::new(packets, bytes);
        encoder.coded_many(&seeds, density, &mut payloads).unwrap();
        for (row, &seed) in seeds.iter().enumerate() {
            prop_assert_eq!(encoder.coded(seed, density).unwrap().1, payloads.row(row));
        }
    }
}

/// A whole block of the size in use: dense, and systematic with losses.
#[test]
fn a_block_of_150_comes_out_as_it_went_in() {
    for field in Field::ALL {
        for kernel in Kernel::supported() {
            let code = Code::new(field, 150, 1_450).unwrap();
            let source = symbols(150, 1_450, 1);
            let mut encoder = Encoder::with_kernel(code, kernel);
            let mut decoder = Decoder::with_kernel(code, kernel);
            for symbol in &source {
                encoder.push(symbol).unwrap();
            }
            for systematic in [false, true] {
                decoder.clear();
                for index in (0..150).filter(|index| systematic && index % 10 != 3) {
                    let symbol = encoder.source(index).unwrap();
                    decoder.push(Vector::Source(u64::from(index)), symbol).unwrap();
                }
                let mut seed = 0;
                while !decoder.is_complete() {
                    let (vector, payload) = encoder.coded(seed, Density::DENSE).unwrap();
                    decoder.push(vector, payload).unwrap();
                    seed += 1;
                    assert!(seed < 180, "{field:?} {} does not end", kernel.name());
                }
                for (index, symbol) in source.iter().enumerate() {
                    assert_eq!(decoder.symbol(index as u16), Some(symbol.as_slice()));
                }
            }
        }
    }
}

/// The expected number of packets in excess of a block's size is the sum of 1 /
/// (q^i - 1) over i from 1 to that size, for random matrices over GF(q).
#[test]
#[cfg_attr(miri, ignore = "thousands of blocks")]
fn overheads_are_those_of_random_matrices() {
    for (field, blocks, symbols) in
        [(Field::Gf2, 1_500, 100), (Field::Gf16, 3_000, 40), (Field::Gf256, 6_000, 20)]
    {
        let code = Code::new(field, symbols, 1).unwrap();
        let mut decoder = Decoder::new(code);
        let mut beyond = 0;
        for block in 0..blocks {
            decoder.clear();
            let mut sent = 0;
            while decoder.rank() < code.symbols() {
                let seed = block << 32 | sent;
                let vector =
                    Vector::Seeded { seed, first: 0, count: symbols, density: Density::DENSE };
                decoder.push(vector, &[0]).unwrap();
                sent += 1;
            }
            beyond += sent - u64::from(symbols);
        }
        let order = field.order() as f64;
        let powers = (1..=i32::from(symbols)).map(|i| (0..i).fold(1.0, |power, _| power * order));
        let (mean, variance) = powers.fold((0.0, 0.0), |(mean, variance), power: f64| {
            (mean + 1.0 / (power - 1.0), variance + power / ((power - 1.0) * (power - 1.0)))
        });
        let measured = beyond as f64 / blocks as f64;
        // Four standard deviations, squared.
        let bound = 16.0 * variance / blocks as f64;
        assert!((measured - mean).powi(2) < bound, "{field:?}: {measured}, theory {mean}");
    }
}

#[test]
fn what_is_no_packet_of_the_code_changes_nothing() {
    let code = Code::new(Field::Gf16, 9, 3).unwrap();
    let mut decoder = Decoder::new(code);
    let seeded = |first, count| Vector::Seeded { seed: 1, first, count, density: Density::DENSE };
    let full = |count, packed| Vector::Full { first: 0, count, packed };
    let before = alloc::format!("{decoder:?}");
    for (vector, payload, error) in [
        (Vector::Source(0), [0; 2].as_slice(), PacketError::PayloadLength { is: 2, expected: 3 }),
        (Vector::Source(9), &[0; 3], PacketError::Range),
        (Vector::Source(u64::MAX), &[0; 3], PacketError::Range),
        (seeded(0, 0), &[0; 3], PacketError::Coefficients),
        (seeded(0, 10), &[0; 3], PacketError::Range),
        (seeded(9, 1), &[0; 3], PacketError::Range),
        (full(9, [0; 4].as_slice()), &[0; 3], PacketError::Coefficients),
        (full(11, &[0; 6]), &[0; 3], PacketError::Range),
    ] {
        assert_eq!(decoder.push(vector, payload), Err(error), "{vector:?}");
    }
    assert_eq!(before, alloc::format!("{decoder:?}"));
}

/// The sum of the symbols that `vector` says, by definition.
fn sum_of(field: Field, source: &[Vec<u8>], vector: Vector<'_>) -> Vec<u8> {
    let columns = source.len();
    let mut row = vec![0; row_bytes(field, columns)];
    vector.expand(field, columns, &mut row);
    let mut sum = vec![0; source[0].len()];
    for (column, symbol) in source.iter().enumerate() {
        let coefficient = get(field, &row, column);
        for (sum, byte) in sum.iter_mut().zip(symbol) {
            // A byte has one, two or eight elements.
            for at in (0..8).step_by(field.bits()) {
                let element = byte >> at & (field.order() - 1) as u8;
                *sum ^= field.multiply(coefficient, element) << at;
            }
        }
    }
    sum
}

/// Any range of the symbols that a block has so far can be combined, and no other.
#[test]
fn a_range_is_combined_if_the_block_has_it() {
    for field in Field::ALL {
        let code = Code::new(field, 9, 5).unwrap();
        let source = symbols(9, 5, 3);
        let mut encoder = Encoder::new(code);
        assert_eq!(encoder.coded(1, Density::DENSE), Err(SymbolError::Nothing));
        assert_eq!(encoder.vector(1, Density::DENSE), Err(SymbolError::Nothing));
        let mut none = Symbols::new(1, 5);
        let many = encoder.coded_many(&[1], Density::DENSE, &mut none);
        assert_eq!(many, Err(SymbolError::Nothing));
        for symbol in &source[..6] {
            encoder.push(symbol).unwrap();
        }
        let ends = [0, 1, 5, 6, 7, 9, 10, u16::MAX];
        for (first, count) in (0..10).flat_map(|first| ends.map(move |count| (first, count))) {
            let there = count > 0 && u32::from(first) + u32::from(count) <= 6;
            match encoder.coded_range(7, first, count) {
                Ok((vector, payload)) => {
                    assert!(there, "{first} {count}");
                    let end = u64::from(first + count);
                    assert_eq!(vector.range(), Some((u64::from(first), end)));
                    assert_eq!(
                        payload,
                        sum_of(field, &source, vector),
                        "{field:?} {first} {count}"
                    );
                }
                Err(why) => assert_eq!((why, there), (SymbolError::Nothing, false)),
            }
        }
    }
}

/// Shorter symbols are padded with zeros, longer ones and too many are refused, by blocks and
/// windows alike; a refusal changes nothing.
#[test]
fn symbols_that_do_not_fit_are_refused() {
    let code = Code::new(Field::Gf256, 3, 4).unwrap();
    let (mut block, mut window) = (Encoder::new(code), window::WindowEncoder::new(code));
    assert!(block.is_empty() && !block.is_full());
    let too_long = SymbolError::TooLong { is: 5, allowed: 4 };
    let full = SymbolError::Full { symbols: 3 };
    // A symbol of before, which has to vanish.
    (block.push(&[9; 4]), window.push(&[9; 4])).0.unwrap();
    block.clear();
    for (number, symbol) in [&[1, 2, 3, 4][..], &[5], &[]].into_iter().enumerate() {
        assert_eq!(block.push(&[0; 5]), Err(too_long));
        assert_eq!((block.len(), block.push(symbol)), (number as u16, Ok(number as u16)));
        let mut padded = symbol.to_vec();
        padded.resize(4, 0);
        assert_eq!(block.source(number as u16), Some(&padded[..]));
        assert_eq!(block.source(number as u16 + 1), None);
    }
    assert!(block.is_full() && !block.is_empty());
    assert_eq!(block.push(&[1]), Err(full));
    assert_eq!(block.len(), 3);
    for number in 1..3 {
        assert_eq!(window.push(&[0; 5]), Err(too_long));
        assert_eq!(window.push(&[1; 4]), Ok(number));
    }
    assert_eq!((window.push(&[1]), window.range()), (Err(full), (0, 3)));
    // A window slides neither back nor past its end.
    window.slide(1);
    window.slide(0);
    assert_eq!((window.range(), window.source(0)), ((1, 3), None));
    assert_eq!(window.push(&[7]), Ok(3));
    assert_eq!(window.source(3), Some(&[7, 0, 0, 0][..]));
    window.slide(9);
    assert_eq!((window.range(), window.source(3)), ((4, 4), None));
    assert_eq!(window.coded(1, Density::DENSE), Err(SymbolError::Nothing));
}

/// A window takes a combination of as many symbols as it holds, and no more.
#[test]
fn a_window_takes_what_it_can_hold() {
    for field in Field::ALL {
        let code = Code::new(field, 8, 3).unwrap();
        let mut decoder = window::WindowDecoder::new(code);
        let seeded = |first, count| {
            let density = Density::DENSE;
            Vector::Seeded { seed: 1, first, count, density }
        };
        assert_eq!(decoder.push(seeded(0, 9), &[0; 3]), Err(PacketError::Range));
        assert_eq!(decoder.push(seeded(u64::MAX - 3, 8), &[0; 3]), Err(PacketError::Range));
        assert_eq!((decoder.rank(), decoder.range()), (0, (0, 8)));
        assert_eq!(decoder.push(seeded(0, 8), &[0; 3]), Ok(Received::Innovative));
        assert_eq!(decoder.push(seeded(0, 8), &[0; 3]), Ok(Received::Redundant));
        assert_eq!((decoder.rank(), decoder.range()), (1, (0, 8)));
        // It has symbols 2 to 9, so the window gives up the first two.
        assert_eq!(decoder.push(seeded(2, 8), &[0; 3]), Ok(Received::Innovative));
        assert_eq!(decoder.range(), (2, 10));
        assert_eq!(decoder.push(seeded(1, 8), &[0; 3]), Err(PacketError::Stale));
        assert_eq!(decoder.push(Vector::Source(2), &[5; 3]), Ok(Received::Innovative));
        assert_eq!(decoder.symbol(2), Some(&[5; 3][..]));
        // All that it had has left.
        decoder.slide(100);
        assert_eq!((decoder.rank(), decoder.range()), (0, (100, 108)));
        assert_eq!((decoder.next_known(), decoder.symbol(2)), (None, None));
    }
}

/// Blocks whose rows of coefficients fill whole words and cache lines, without padding:
/// 64 symbols of a byte, 512 of a bit.
#[test]
#[cfg_attr(miri, ignore = "thousands of rows")]
fn blocks_without_padding_come_out() {
    for (field, counts) in
        [(Field::Gf2, [64, 512]), (Field::Gf16, [8, 64]), (Field::Gf256, [64, 192])]
    {
        for count in counts {
            let code = Code::new(field, count, 2).unwrap();
            let source = symbols(usize::from(count), 2, 5);
            let mut encoder = Encoder::new(code);
            let mut decoder = Decoder::new(code);
            let mut recoder = Recoder::new(code);
            for symbol in &source {
                encoder.push(symbol).unwrap();
            }
            let mut seed = 0;
            while !decoder.is_complete() {
                let (vector, payload) = encoder.coded(seed, Density::DENSE).unwrap();
                let received = recoder.push(vector, payload).unwrap();
                assert_eq!(decoder.push(vector, payload), Ok(received));
                seed += 1;
                assert!(seed < u64::from(count) + 40, "{field:?} {count} does not end");
            }
            assert_eq!((decoder.known(), recoder.rank()), (source.len(), source.len()));
            for (index, symbol) in source.iter().enumerate() {
                assert_eq!(decoder.symbol(index as u16), Some(symbol.as_slice()));
            }
            assert_eq!(decoder.symbol(count), None);
            // Nothing more can be learned, in whatever form.
            let (vector, payload) = encoder.coded(seed, Density::DENSE).unwrap();
            assert_eq!(decoder.push(vector, payload), Ok(Received::Redundant));
            let (vector, payload) = recoder.recode(seed, Density::DENSE).unwrap();
            assert_eq!(payload, sum_of(field, &source, vector));
            assert_eq!(decoder.push(vector, payload), Ok(Received::Redundant));
            let last = Vector::Source(u64::from(count) - 1);
            assert_eq!(decoder.push(last, &source[source.len() - 1]), Ok(Received::Redundant));
        }
    }
}

/// The limits of a code: what a block of coefficients and symbols takes.
#[test]
fn a_code_has_symbols_and_fits_in_memory() {
    assert_eq!(Code::new(Field::Gf2, 0, 1), Err(CodeError::Empty));
    assert_eq!(Code::new(Field::Gf2, 1, 0), Err(CodeError::Empty));
    let too_large = Err(CodeError::TooLarge { allowed: 1 << 28 });
    // A row of 1 << 14 coefficients and a byte does not fit 1 << 14 times.
    let columns = (1 << 14) - 1;
    assert_eq!(Code::new(Field::Gf256, columns, 1).map(|code| code.symbols()), Ok(16_383));
    assert_eq!(Code::new(Field::Gf256, columns + 1, 1), too_large);
    assert_eq!(
        Code::new(Field::Gf256, 1, (1 << 28) - 1).map(|code| code.symbol_bytes()),
        Ok((1 << 28) - 1)
    );
    assert_eq!(Code::new(Field::Gf256, 1, 1 << 28), too_large);
    assert_eq!(Code::new(Field::Gf256, 2, usize::MAX), too_large);
    let bytes = [(Field::Gf2, 2), (Field::Gf16, 5), (Field::Gf256, 9)];
    for (field, bytes) in bytes {
        let code = Code::new(field, 9, 7).unwrap();
        assert_eq!((code.packed_bytes(), code.field()), (bytes, field));
    }
}
