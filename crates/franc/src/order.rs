//! Delivers packets in the order in which they were sent, flow by flow: a lost
//! symbol delays only the flows with a packet in it. Flows are identified by
//! buckets, packets numbered within their bucket (16 bits, modulo 2^16). Headers
//! are restored in that order ([`crate::headers`]).
//!
//! After a block was given up, a missing packet may never come. Packets are numbered in the order of
//! symbols: once all symbols before that of a held packet are known or given up, the packets missing
//! before the held one are given up.
//!
//! The packets held are limited in bytes: above the limit, the bucket that holds most gives up its
//! missing packets. Packets that are ready are not limited: the driver takes them after each
//! datagram, and they never exceed the packets held, with headers. Leaves out retransmission.

use crate::headers::{BUCKETS, Headers, is_ip};
use crate::symbol::Piece;
use alloc::collections::VecDeque;
use alloc::collections::btree_map::{BTreeMap, Entry};
use alloc::vec::Vec;

/// Approximate memory of a held packet in addition to its bytes.
const HELD_BYTES: usize = 64;

/// Numbers the packets of each bucket.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers(Vec<u16>);

impl Numbers {
    pub fn new() -> Self {
        Self(alloc::vec![0; BUCKETS])
    }

    /// The number of the next packet of `bucket`.
    pub fn next(&mut self, bucket: u8) -> u16 {
        let next = &mut self.0[usize::from(bucket)];
        let number = *next;
        *next = next.wrapping_add(1);
        number
    }
}

/// A packet that waits for others.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    at: Place,
    record: Vec<u8>,
}

/// Block and index of a symbol.
pub(crate) type Place = (u32, u16);

/// Holds packets until the missing ones before them arrive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    next: Vec<u16>,
    /// Held packets, by bucket and number.
    held: BTreeMap<(u8, u16), Held>,
    /// Whether symbols were given up.
    has_gaps: bool,
    /// Bytes held in each bucket, plus [`HELD_BYTES`] per packet; and their sum.
    held_bytes: Vec<usize>,
    held_bytes_sum: usize,
    held_bytes_max: usize,
    headers: Headers,
    /// The beginnings of packets in pieces, by bucket, with the number of the next
    /// piece.
    begun: BTreeMap<u8, (u16, Vec<u8>)>,
    ready: VecDeque<Vec<u8>>,
    /// Number of packets whose headers could not be restored, or that were forged.
    pub corrupt: u64,
}

impl Order {
    /// An order for packets of which at most `bytes_max` bytes are in flight. Twice
    /// that is held, so that no packet in flight is given up, unless records are
    /// shorter than [`HELD_BYTES`] on average and more than half of the limit is
    /// used.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            next: alloc::vec![0; BUCKETS],
            held: BTreeMap::new(),
            has_gaps: false,
            held_bytes: alloc::vec![0; BUCKETS],
            held_bytes_sum: 0,
            held_bytes_max: bytes_max.saturating_mul(2),
            headers: Headers::new(),
            begun: BTreeMap::new(),
            ready: VecDeque::new(),
            corrupt: 0,
        }
    }

    /// Handles a packet, whole or short, of the symbol `at`; drops it if it was received before.
    pub fn push(&mut self, at: Place, bucket: u8, number: u16, record: &[u8]) {
        let next = self.next[usize::from(bucket)];
        let ahead = number.wrapping_sub(next);
        if ahead >= 1 << 15 {
            return;
        }
        if ahead > 0 {
            self.hold(bucket, number, Held { at, record: record.to_vec() });
            return;
        }
        self.give_out(bucket, number, record);
        self.go_on(bucket);
    }

    /// Gives out the packets that wait for none.
    fn go_on(&mut self, bucket: u8) {
        while let Some(record) = self.release(bucket, self.next[usize::from(bucket)]) {
            self.give_out(bucket, self.next[usize::from(bucket)], &record);
        }
    }

    fn hold(&mut self, bucket: u8, number: u16, held: Held) {
        if let Entry::Vacant(entry) = self.held.entry((bucket, number)) {
            let bytes = HELD_BYTES + held.record.len();
            entry.insert(held);
            self.held_bytes[usize::from(bucket)] += bytes;
            self.held_bytes_sum += bytes;
        }
        while self.held_bytes_sum > self.held_bytes_max {
            let most = (0..=u8::MAX).max_by_key(|&bucket| self.held_bytes[usize::from(bucket)]);
            self.give_up_in(most.expect("there are buckets"), |_| true);
        }
    }

    fn release(&mut self, bucket: u8, number: u16) -> Option<Vec<u8>> {
        let record = self.held.remove(&(bucket, number))?.record;
        self.held_bytes[usize::from(bucket)] -= HELD_BYTES + record.len();
        self.held_bytes_sum -= HELD_BYTES + record.len();
        Some(record)
    }

    fn give_out(&mut self, bucket: u8, number: u16, record: &[u8]) {
        self.next[usize::from(bucket)] = number.wrapping_add(1);
        if let Some(piece) = Piece::parse(record) {
            return self.join(bucket, number, &piece);
        }
        match self.headers.restore(bucket, number, record) {
            Some(packet) => self.ready.push_back(packet),
            None => self.corrupt += 1,
        }
    }

    /// Handles the next piece of a packet, and delivers the packet once it is
    /// complete.
    fn join(&mut self, bucket: u8, number: u16, piece: &Piece<'_>) {
        let begun = self.begun.remove(&bucket).filter(|(next, _)| *next == number);
        let mut packet = match (piece.is_first, begun) {
            (true, _) => Vec::new(),
            (false, Some((_, packet))) => packet,
            // Its beginning was given up.
            (false, None) => {
                self.corrupt += u64::from(piece.is_last);
                return;
            }
        };
        packet.extend(piece.bytes);
        if !piece.is_last && packet.len() <= usize::from(u16::MAX) {
            self.begun.insert(bucket, (number.wrapping_add(1), packet));
        } else if is_ip(&packet) {
            self.headers.begin_anew(bucket, number, &packet);
            self.ready.push_back(packet);
        } else {
            self.corrupt += 1;
        }
    }

    /// Symbols were given up: packets in them never come.
    pub fn has_gaps(&mut self) {
        self.has_gaps = true;
    }

    /// All symbols before `frontier` are known or given up: delivers the packets in them, in order,
    /// and gives up those that they wait for.
    pub fn settle(&mut self, frontier: Place) {
        if !self.has_gaps || self.held.is_empty() {
            return;
        }
        let is_settled = |held: &Held| held.at < frontier;
        let settled = self.held.iter().filter(|(_, held)| is_settled(held));
        let mut buckets: Vec<u8> = settled.map(|(&(bucket, _), _)| bucket).collect();
        buckets.dedup();
        for bucket in buckets {
            self.give_up_in(bucket, is_settled);
            self.go_on(bucket);
        }
    }

    /// Gives up the packets missing before those that are `settled`.
    fn give_up_in(&mut self, bucket: u8, is_settled: impl Fn(&Held) -> bool) {
        let held = self.held.range((bucket, 0)..=(bucket, u16::MAX));
        let settled = held.filter(|(_, held)| is_settled(held));
        let mut numbers: Vec<u16> = settled.map(|(&(_, number), _)| number).collect();
        let next = self.next[usize::from(bucket)];
        numbers.sort_unstable_by_key(|number| number.wrapping_sub(next));
        for number in numbers {
            if let Some(record) = self.release(bucket, number) {
                self.give_out(bucket, number, &record);
            }
        }
    }

    /// The next packet in order.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 packet that names bucket and number.
    fn packet(bucket: u8, number: u16, length: usize) -> Vec<u8> {
        let mut packet = alloc::vec![0; length];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[17] = bucket;
        packet[18..20].copy_from_slice(&number.to_be_bytes());
        packet
    }

    fn drain(order: &mut Order) -> Vec<(u8, u16)> {
        let name = |packet: Vec<u8>| (packet[17], u16::from_be_bytes([packet[18], packet[19]]));
        core::iter::from_fn(|| order.pop()).map(name).collect()
    }

    /// The attack: the first packets of all buckets never come, all others do.
    #[test]
    fn what_is_held_is_bounded() {
        let mut order = Order::new(50_000);
        let mut out = Vec::new();
        for number in 1..3_000 {
            for bucket in [1, 2, 200] {
                let length = if bucket == 2 { 1_000 } else { 28 };
                let at = (u32::from(number), 0);
                order.push(at, bucket, number, &packet(bucket, number, length));
                let held: usize = order.held.values().map(|held| 64 + held.record.len()).sum();
                assert!(held <= 100_000, "{held} bytes are held");
                assert_eq!(held, order.held_bytes_sum);
                out.extend(drain(&mut order));
            }
        }
        // The bucket that holds most gave up first, and has waited for nothing since.
        assert_eq!(out[0], (2, 1));
        order.has_gaps();
        order.settle((3_000, 0));
        out.extend(drain(&mut order));
        assert_eq!((order.held.len(), order.held_bytes_sum), (0, 0));
        for bucket in [1, 2, 200] {
            let of_bucket = out.iter().filter(|(of, _)| *of == bucket).map(|(_, number)| *number);
            assert!(of_bucket.eq(1..3_000), "each once and in order, but for the first");
        }
    }

    /// The newest packets of a block that is given up never come: later ones wait for them no longer
    /// than until all symbols before theirs are known, and for those that may come as always.
    #[test]
    fn packets_of_later_blocks_do_not_wait_for_lost_ones() {
        let mut order = Order::new(1_000_000);
        let push = |order: &mut Order, at, number| {
            order.push(at, 7, number, &packet(7, number, 100));
        };
        let numbers = |order: &mut Order| -> Vec<u16> {
            drain(order).into_iter().map(|(_, number)| number).collect()
        };
        push(&mut order, (0, 0), 0);
        assert_eq!(numbers(&mut order), [0]);
        // Number 1 was in block 0.
        order.has_gaps();
        order.settle((1, 0));
        push(&mut order, (1, 1), 3);
        push(&mut order, (1, 3), 5);
        order.settle((1, 0));
        assert_eq!(numbers(&mut order), []);
        push(&mut order, (1, 0), 2);
        order.settle((1, 2));
        assert_eq!(numbers(&mut order), [2, 3]);
        push(&mut order, (1, 2), 4);
        assert_eq!(numbers(&mut order), [4, 5]);
    }

    /// The records of packets that are cut at some places, numbered from 0 on.
    fn cut(packets: &[Vec<u8>], places: &[usize]) -> Vec<(u16, Vec<u8>)> {
        let mut records = Vec::new();
        let mut number = 0;
        for packet in packets {
            let mut ends: Vec<usize> =
                places.iter().copied().filter(|at| *at < packet.len()).collect();
            ends.push(packet.len());
            let mut start = 0;
            for &end in &ends {
                let mut record = Vec::new();
                let (is_first, is_last) = (start == 0, end == packet.len());
                if is_first && is_last {
                    record.extend(packet)
                } else {
                    Piece { is_first, is_last, bytes: &packet[start..end] }.emit(&mut record)
                }
                records.push((number, record));
                (number, start) = (number + 1, end);
            }
        }
        records
    }

    proptest! {
        /// Packets in pieces come out whole and in order, whatever order pieces come in; of one
        /// whose piece is given up nothing does, and others do not suffer.
        #[test]
        fn pieces_become_packets(
            lengths in prop::collection::vec(30..2_000usize, 1..40),
            places in prop::collection::btree_set(1..1_999usize, 0..4),
            keys in prop::collection::vec(any::<u32>(), 160),
            lost in prop::option::of(0..160usize),
        ) {
            let places: Vec<usize> = places.into_iter().collect();
            let packets: Vec<_> =
                lengths.iter().enumerate().map(|(n, &length)| packet(7, n as u16, length)).collect();
            let mut records = cut(&packets, &places);
            let numbers_of = |n: usize| cut(&packets[..=n], &places).len();
            let lost = lost.filter(|&lost| lost < records.len());
            let is_whole = |n: usize| {
                let begins = if n == 0 { 0 } else { numbers_of(n - 1) };
                lost.is_none_or(|lost| !(begins..numbers_of(n)).contains(&lost))
            };
            let expected: Vec<_> = (0..packets.len()).filter(|&n| is_whole(n)).collect();
            records.sort_by_key(|(number, _)| keys[usize::from(*number)]);
            let mut order = Order::new(1_000_000);
            for (number, record) in records {
                if lost != Some(usize::from(number)) {
                    order.push((0, number), 7, number, &record);
                }
            }
            order.has_gaps();
            order.settle((1, 0));
            let came: Vec<_> = core::iter::from_fn(|| order.pop()).collect();
            let expected: Vec<_> = expected.into_iter().map(|n| packets[n].clone()).collect();
            prop_assert_eq!(came, expected);
            // What was begun may still wait for its end.
            prop_assert!(order.begun.len() <= 1);
        }

        /// Packets in flight together are delivered without loss, whatever their order.
        #[test]
        fn within_the_bound_nothing_is_given_up(
            keys in prop::collection::vec((0..4u8, 64..200usize, any::<u32>()), 1..300),
        ) {
            let mut numbers = Numbers::new();
            let number = |(bucket, length, key)| (key, bucket, numbers.next(bucket), length);
            let mut packets: Vec<_> = keys.into_iter().map(number).collect();
            let mut order = Order::new(packets.iter().map(|(.., length)| length).sum());
            let mut sent: Vec<_> = packets.iter().map(|&(_, bucket, number, _)| (bucket, number)).collect();
            packets.sort_unstable();
            for (_, bucket, number, length) in packets {
                order.push((0, number), bucket, number, &packet(bucket, number, length));
            }
            let mut came = drain(&mut order);
            prop_assert!(came.iter().all(|&(_, number)| number < 300));
            for bucket in 0..4 {
                let of_bucket: Vec<_> = came.iter().filter(|(of, _)| *of == bucket).collect();
                prop_assert!(of_bucket.is_sorted());
            }
            sent.sort_unstable();
            came.sort_unstable();
            prop_assert_eq!(came, sent);
        }
    }
}
