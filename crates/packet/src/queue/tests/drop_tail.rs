//! Tests of the drop-tail queue against a plain list of packets, with arbitrary operations and
//! limits in packets or bytes. The folder's main file tests the properties of all queues.

use super::*;
use alloc::vec;

#[derive(Clone, Debug)]
enum Step {
    Enqueue { peer: u8, bytes: u16 },
    Dequeue,
    DequeueFor(u8),
    PutBack,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..4u8, 40..1500u16).prop_map(|(peer, bytes)| Step::Enqueue { peer, bytes }),
        1 => Just(Step::Dequeue),
        1 => (0..4u8).prop_map(Step::DequeueFor),
        1 => Just(Step::PutBack),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    /// Compared with a plain list of (peer, packet) in order of arrival.
    #[test]
    fn drop_tail_is_a_list(
        steps in steps(),
        limit in prop_oneof![
            (1..20u32).prop_map(Limit::Packets),
            (1500..20_000u64).prop_map(|b| Limit::Bytes(Bytes::new(b))),
        ],
        held in 0..5u32,
        peer_packets in proptest::option::of(1..6_u32),
    ) {
        let held = Held { packets: held, bytes: Bytes::new(u64::from(held) * 300) };
        let config = match peer_packets {
            None => QueueConfig::DropTail { limit },
            Some(peer_packets) => QueueConfig::DropTailByPeer { limit, peer_packets },
        };
        let mut queue = Queue::new(&config, 0);
        let mut model: Vec<(PeerId, Packet)> = vec![];
        let mut last = None;
        for (tag, step) in steps.into_iter().enumerate() {
            let now = Instant::from_nanos(tag as u64);
            let mut dropped = vec![];
            match step {
                Step::Enqueue { peer: p, bytes } => {
                    let mut packet = packet(tag as u64, bytes);
                    let queue_admits = queue.admits_for(peer(p), &packet, held);
                    queue.enqueue(now, peer(p), packet, held, &mut dropped);
                    packet.arrived = now;
                    let bytes_held: u64 = model.iter().map(|(_, p)| u64::from(p.bytes)).sum();
                    let fits = match limit {
                        Limit::Packets(n) => model.len() as u32 + held.packets < n,
                        Limit::Bytes(n) => {
                            bytes_held + held.bytes.as_u64() + u64::from(bytes) <= n.as_u64()
                        }
                    };
                    let waiting = model.iter().filter(|(other, _)| *other == peer(p)).count();
                    let has_space = peer_packets.is_none_or(|most| (waiting as u32) < most);
                    let fits = fits && has_space;
                    prop_assert_eq!(queue_admits, fits);
                    if fits {
                        model.push((peer(p), packet));
                        prop_assert!(dropped.is_empty());
                    } else {
                        prop_assert_eq!(&dropped, &vec![packet]);
                    }
                    last = None;
                }
                Step::Dequeue => {
                    let expected = (!model.is_empty()).then(|| model.remove(0));
                    prop_assert_eq!(queue.next_peer(), expected.map(|(peer, _)| peer));
                    prop_assert_eq!(queue.dequeue(now, &mut dropped), expected);
                    last = expected.map(|e| (0, e));
                }
                Step::DequeueFor(p) => {
                    let index = model.iter().position(|(q, _)| *q == peer(p));
                    let expected = index.map(|i| (i, model.remove(i)));
                    prop_assert_eq!(queue.peek_len_for(peer(p)), expected.map(|(_, e)| e.1.bytes));
                    prop_assert_eq!(
                        queue.dequeue_for(now, peer(p), &mut dropped),
                        expected.map(|(_, e)| e.1)
                    );
                    last = expected;
                }
                Step::PutBack => {
                    if let Some((index, entry)) = last.take() {
                        queue.put_back(entry.0, entry.1);
                        model.insert(index, entry);
                    }
                }
            }
            prop_assert_eq!(queue.len_packets() as usize, model.len());
            let bytes: u64 = model.iter().map(|(_, p)| u64::from(p.bytes)).sum();
            prop_assert_eq!(queue.len_bytes(), Bytes::new(bytes));
            for p in 0..4 {
                let expected = model.iter().filter(|(q, _)| *q == peer(p)).count();
                prop_assert_eq!(queue.len_packets_for(peer(p)) as usize, expected);
            }
        }
    }
}

/// Many packets for one peer fill its 64 places, of 100 in all: the packet for another finds space.
/// Packets that were merged with a refused one are refused, too.
#[test]
fn a_flood_leaves_space_for_others() {
    let limit = Limit::Packets(100);
    for (config, expected) in [
        (QueueConfig::DropTail { limit }, [100, 0]),
        (QueueConfig::DropTailByPeer { limit, peer_packets: 64 }, [64, 1]),
    ] {
        let mut queue = Queue::new(&config, 0);
        let mut dropped = vec![];
        let mut enqueue = |to: u8, follows| {
            let packet = Packet { follows, ..packet(0, 1_500) };
            queue.enqueue(Instant::ZERO, peer(to), packet, Held::NONE, &mut dropped);
        };
        (0..200).for_each(|_| enqueue(0, false));
        enqueue(0, true);
        enqueue(1, false);
        assert_eq!([0, 1].map(|it| queue.len_packets_for(peer(it))), expected);
        assert_eq!(dropped.len() as u32, 202 - queue.len_packets());
    }
}

/// Packets that follow the one before share its fate and its place: a limit of two has space for two
/// merged packets of three, and a third one is dropped whole.
#[test]
fn merged_packets_count_as_one() {
    let limit = Limit::Packets(2);
    let mut queue = Queue::new(&QueueConfig::DropTail { limit }, 0);
    let mut dropped = vec![];
    let mut enqueue = |queue: &mut Queue, tag: u64| {
        let follows = !tag.is_multiple_of(3);
        let packet = Packet { follows, ..Packet::new(tag, 1_500, Instant::ZERO) };
        queue.enqueue(Instant::ZERO, PeerId::ONLY, packet, Held::NONE, &mut dropped);
    };
    (0..9).for_each(|tag| enqueue(&mut queue, tag));
    assert_eq!(queue.len_packets(), 6);
    let taken = |queue: &mut Queue, count: usize| {
        (0..count).filter_map(|_| queue.dequeue(Instant::ZERO, &mut vec![])).count()
    };
    // A place is free when the first of a merged packet has left.
    assert_eq!(taken(&mut queue, 1), 1);
    (9..12).for_each(|tag| enqueue(&mut queue, tag));
    assert_eq!(queue.len_packets(), 8);
    assert_eq!(taken(&mut queue, 20), 8);
    // The first may bypass an empty queue.
    enqueue(&mut queue, 13);
    assert_eq!(queue.len_packets(), 1);
    assert_eq!(dropped.iter().map(|packet| packet.tag).collect::<Vec<_>>(), [6, 7, 8]);
}
