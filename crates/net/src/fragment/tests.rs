//! Tests against the example of RFC 791 (appendix A, example 2) and against a reference that cuts
//! real bytes by section 3.2, and tests of the receiver's limits in time and memory.

use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

fn packet(bytes: u16) -> Packet {
    Packet::new(7, bytes, Instant::ZERO)
}

fn shapes(parts: impl Iterator<Item = Packet>) -> Vec<(u16, u16, bool)> {
    parts.map(|p| (p.bytes, p.fragment.offset_bytes(), p.fragment.more())).collect()
}

#[test]
fn the_example_of_rfc_791() {
    // 452 bytes of data; the network carries packets of at most 280 bytes.
    let parts: Vec<_> = cut(packet(472), 280).collect();
    assert_eq!(parts.iter().map(|p| p.bytes).collect::<Vec<_>>(), [276, 216]);
    // MF and an offset of 0; the last with an offset of 32 units.
    let bits: Vec<_> = parts.iter().map(|p| p.fragment.header_bits()).collect();
    assert_eq!(bits, [0x2000, 32]);
    assert_eq!(count(472, 280), 2);
}

#[test]
fn four_thousand_bytes_of_payload_are_three_packets_on_ethernet() {
    // As Linux sends a datagram of 4 000 bytes at an MTU of 1500.
    let parts = shapes(cut(packet(4028), 1500));
    assert_eq!(parts, [(1500, 0, true), (1500, 1480, true), (1068, 2960, false)]);
}

/// The procedure of section 3.2 on bytes: header fields and payload of every part.
fn by_the_book(payload: &[u8], (base, more): (u16, bool), mtu: u16) -> Vec<(u16, bool, Vec<u8>)> {
    let total_length = payload.len() as u16 + 20;
    if total_length <= mtu {
        return alloc::vec![(base, more, payload.to_vec())];
    }
    let header_words = 5u16;
    let blocks = (mtu - header_words * 4) / 8;
    let (first, rest) = payload.split_at(usize::from(blocks * 8));
    let mut parts = alloc::vec![(base, true, first.to_vec())];
    parts.extend(by_the_book(rest, (base + blocks, more), mtu));
    parts
}

proptest! {
    /// Lengths, offsets and flags are those of the standard, also for parts that are
    /// cut again, and no byte is lost or added.
    #[test]
    fn every_byte_is_in_one_part(
        bytes in MTU_BYTES_MIN + 1..9_000u16,
        first in MTU_BYTES_MIN..9_000u16,
        second in MTU_BYTES_MIN..9_000u16,
    ) {
        let payload: Vec<u8> = (0..bytes - 20).map(|n| n as u8).collect();
        let mut book = by_the_book(&payload, (0, false), first);
        let mut parts: Vec<Packet> = if bytes > first { cut(packet(bytes), first).collect() } else { alloc::vec![packet(bytes)] };
        prop_assert_eq!(parts.len() as u32, count(bytes, first));
        book = book.into_iter().flat_map(|(o, more, p)| by_the_book(&p, (o, more), second)).collect();
        parts = parts
            .into_iter()
            .flat_map(|part| if part.bytes > second { cut(part, second).collect() } else { alloc::vec![part] })
            .collect();
        let theirs: Vec<_> =
            book.iter().map(|(o, more, p)| (p.len() as u16 + 20, o * 8, *more)).collect();
        prop_assert_eq!(shapes(parts.iter().copied()), theirs);
        let whole: Vec<u8> = book.into_iter().flat_map(|(.., payload)| payload).collect();
        prop_assert_eq!(whole, payload);
        prop_assert!(parts.len() == 1 || parts.iter().all(|p| p.fragment.whole_bytes() == bytes));
    }

    /// In any order of arrival, the last part completes the packet.
    #[test]
    fn the_last_part_completes_the_packet(bytes in 1_501..9_000u16, seed in any::<u64>()) {
        let mut parts: Vec<_> = cut(packet(bytes), 600).collect();
        let mut stream = lasthop_units::Seed::new(seed, 0).stream("order");
        for index in (1..parts.len()).rev() {
            parts.swap(index, (stream.uniform() * (index + 1) as f64) as usize);
        }
        let mut reassembly = Reassembly::default();
        let (last, others) = parts.split_last().expect("there are several");
        for part in others {
            prop_assert_eq!(reassembly.handle_part(Instant::ZERO, 1, part), Reassembled::Kept);
        }
        prop_assert_eq!(reassembly.handle_part(Instant::ZERO, 1, last), Reassembled::Complete);
        prop_assert_eq!(reassembly.buffered_bytes, 0);
    }
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn a_receiver_waits_thirty_seconds() {
    let parts: Vec<_> = cut(packet(3000), 1500).collect();
    let mut reassembly = Reassembly::default();
    assert_eq!(parts.len(), 3);
    assert_eq!(reassembly.handle_part(at(1), 1, &parts[0]), Reassembled::Kept);
    assert_eq!(reassembly.handle_part(at(2), 2, &parts[0]), Reassembled::Kept);
    // The other parts of packet 1 start a new packet; those of packet 2 are in time.
    assert_eq!(reassembly.handle_part(at(31), 1, &parts[1]), Reassembled::Kept);
    assert_eq!(reassembly.handle_part(at(31), 1, &parts[2]), Reassembled::Kept);
    assert_eq!(reassembly.handle_part(at(31), 2, &parts[1]), Reassembled::Kept);
    assert_eq!(reassembly.handle_part(at(31), 2, &parts[2]), Reassembled::Complete);
    assert_eq!(reassembly.incomplete.len(), 1);
    assert_eq!(reassembly.handle_part(at(61), 3, &parts[0]), Reassembled::Kept);
    assert_eq!(reassembly.incomplete.len(), 1);
}

#[test]
fn a_receiver_keeps_four_mebibytes() {
    let parts: Vec<_> = cut(packet(4028), 1500).collect();
    let mut reassembly = Reassembly::default();
    let each = 1500 + BUFFER_OVERHEAD_BYTES;
    let most = REASSEMBLY_BYTES_MAX / each + 1;
    for id in 0..most {
        assert_eq!(reassembly.handle_part(at(0), id, &parts[0]), Reassembled::Kept);
    }
    assert_eq!(reassembly.handle_part(at(0), most, &parts[0]), Reassembled::Refused);
    // A packet that has started is completed nevertheless, and frees its memory.
    assert_eq!(reassembly.handle_part(at(0), 5, &parts[1]), Reassembled::Kept);
    assert_eq!(reassembly.handle_part(at(0), 5, &parts[2]), Reassembled::Complete);
    assert_eq!(reassembly.handle_part(at(0), most, &parts[1]), Reassembled::Kept);
}

#[test]
fn completed_packets_leave_nothing_behind_an_incomplete_one() {
    let parts: Vec<_> = cut(packet(3000), 1500).collect();
    let mut reassembly = Reassembly::default();
    reassembly.handle_part(at(0), 0, &parts[0]);
    for id in 1..10_000 {
        for part in &parts {
            reassembly.handle_part(at(1), id, part);
        }
    }
    assert_eq!(reassembly.incomplete.len(), 1);
    assert!(reassembly.by_age.len() <= SKIPPED_MAX + 4);
}
