//! The backlog: order, bounds, marks; packets are built by hand after the RFCs.

use super::*;
use alloc::vec;
use proptest::prelude::*;

/// Of the hash of flows.
const KEYS: [u64; 2] = [0x6c61_7374_686f_7021, 0x6672_616e_6321_6261];

/// An IPv4 packet of `bytes` bytes with a right header checksum.
fn ipv4(protocol: u8, ports: [u8; 4], tos: u8, bytes: usize) -> Vec<u8> {
    let mut packet = vec![0x45, tos, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(ports);
    packet.resize(bytes.max(28), 0);
    let length = (packet.len() as u16).to_be_bytes();
    packet[2..4].copy_from_slice(&length);
    let checksum = !sum(&packet[..20]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

fn udp(port: u8, bytes: usize) -> Vec<u8> {
    ipv4(17, [0, port, 0, 53], 0, bytes)
}

fn ipv6(next: u8, rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, rest.len() as u8, next, 64];
    packet.extend([0xfd; 15]);
    packet.push(1);
    packet.extend([0xfd; 15]);
    packet.push(2);
    packet.extend(rest);
    packet
}

/// The one's complement sum of RFC 1071.
fn sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn flows_are_told_apart() {
    let tcp = |ports| flow_hash(KEYS, &ipv4(6, ports, 0, 60));
    assert_eq!(tcp([1, 2, 3, 4]), tcp([1, 2, 3, 4]));
    assert_ne!(tcp([1, 2, 3, 4]), tcp([1, 2, 3, 5]));
    assert_ne!(tcp([1, 2, 3, 4]), flow_hash(KEYS, &ipv4(17, [1, 2, 3, 4], 0, 60)));
    // What is in it and how long it is does not matter, nor how it is marked.
    assert_eq!(tcp([1, 2, 3, 4]), flow_hash(KEYS, &ipv4(6, [1, 2, 3, 4], 3, 900)));
    // Echo requests by their identifier, not by checksum and sequence number.
    let echo = |identifier, sequence| {
        let mut packet = ipv4(1, [8, 0, sequence, sequence], 0, 60);
        (packet[25], packet[27]) = (identifier, sequence);
        flow_hash(KEYS, &packet)
    };
    assert_eq!(echo(1, 1), echo(1, 2));
    assert_ne!(echo(1, 1), echo(2, 1));
    // Fragments by addresses: the first has ports, the others bytes of the payload.
    let fragment = |offset: u16, ports| {
        let mut packet = ipv4(17, ports, 0, 60);
        packet[6..8].copy_from_slice(&offset.to_be_bytes());
        flow_hash(KEYS, &packet)
    };
    assert_eq!(fragment(0x2000, [1, 2, 3, 4]), fragment(185, [9, 9, 9, 9]));
    assert_ne!(fragment(0x4000, [1, 2, 3, 4]), fragment(0x4000, [9, 9, 9, 9]), "DF is none");
    // IPv6, with a header for destination options before UDP.
    let plain = ipv6(17, &[1, 2, 3, 4, 0, 8, 0, 0]);
    let options = ipv6(60, &[17, 0, 1, 4, 0, 0, 0, 0, 1, 2, 3, 4, 0, 8, 0, 0]);
    assert_eq!(flow_hash(KEYS, &plain), flow_hash(KEYS, &options));
    assert_ne!(flow_hash(KEYS, &plain), flow_hash(KEYS, &ipv6(17, &[1, 2, 3, 5, 0, 8, 0, 0])));
}

/// Two machines put the same flows into different buckets.
#[test]
fn other_keys_put_flows_into_other_buckets() {
    let buckets = |keys| {
        let mut backlog = Backlog::new(BacklogConfig::default(), keys);
        let mut bucket = |port| {
            backlog.push(at(0), udp(port, 100));
            backlog.pop(at(0), 1_500).unwrap().bucket
        };
        (0..200).map(&mut bucket).collect::<Vec<_>>()
    };
    let here = buckets(KEYS);
    assert_eq!(here, buckets(KEYS));
    let collide = |buckets: &[u8]| {
        let pairs = (0..200usize).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| buckets[a] == buckets[b]).collect::<Vec<_>>()
    };
    let pairs = collide(&here);
    // 200 * 199 / 2 pairs, of which one in 256 shares a bucket: 78 with a deviation of 9.
    assert!((42..114).contains(&pairs.len()), "{}", pairs.len());
    for keys in [[KEYS[0], !KEYS[1]], [KEYS[0] + 1, KEYS[1]]] {
        let there = buckets(keys);
        let same = here.iter().zip(&there).filter(|(a, b)| a == b).count();
        assert!(same < 10, "{same} of 200 flows are in the same bucket");
        let still = collide(&there).iter().filter(|pair| pairs.contains(pair)).count();
        assert!(still < 5, "{still} of {} pairs still collide", pairs.len());
    }
}

#[test]
fn marks_keep_the_checksum_right() {
    for tos in 0..=u8::MAX {
        let mut packet = ipv4(6, [1, 2, 3, 4], tos, 60);
        let before = packet.clone();
        let capable = tos & 3 != 0;
        assert_eq!(ip::mark_congestion(&mut packet), capable);
        assert_eq!(packet[1], if capable { tos | 3 } else { tos });
        assert_eq!(sum(&packet[..20]), 0xffff);
        assert_eq!(packet == before, !capable || tos & 3 == 3);
        // The traffic class of IPv6 lies across two bytes.
        let mut packet = ipv6(6, &[0; 20]);
        packet[0] |= tos >> 4;
        packet[1] |= tos << 4;
        let before = packet.clone();
        assert_eq!(ip::mark_congestion(&mut packet), capable);
        let class = packet[0] << 4 | packet[1] >> 4;
        assert_eq!(class, if capable { tos | 3 } else { tos });
        assert_eq!((packet[0], &packet[2..]), (before[0], &before[2..]));
    }
}

/// A flow that does not slow down is dropped from or marked, and the packets of a sparse
/// one pass it at once.
#[test]
fn a_standing_queue_is_kept_short() {
    for ecn in [false, true] {
        let mut backlog = Backlog::new(BacklogConfig { ecn, ..BacklogConfig::default() }, KEYS);
        let (mut marked, mut worst_sparse) = (0, Duration::ZERO);
        for ms in 0..4_000 {
            // Two in and one out, a ping every 50 ms.
            (0..2).for_each(|_| backlog.push(at(ms), ipv4(6, [1, 1, 1, 1], 2, 1_000)));
            if ms % 50 == 0 {
                backlog.push(at(ms), udp(7, 64));
            }
            let waiting = backlog.pop(at(ms), 1_500).unwrap();
            let sojourn = at(ms).saturating_since(waiting.arrived);
            if waiting.packet.len() == 64 {
                assert!(waiting.sparse);
                worst_sparse = worst_sparse.max(sojourn);
            }
            marked += u32::from(waiting.packet[1] & 3 == 3);
        }
        assert!(worst_sparse <= Duration::from_millis(1), "{worst_sparse:?}");
        // Drops interval / sqrt(count) apart (RFC 8289, 5.3) are (t / 2 / interval)^2 by t:
        // 380 here. Half of that, as not all of the time is spent dropping.
        let acted = if ecn { u64::from(marked) } else { backlog.drops() };
        assert!(acted > 190, "ecn {ecn}: {acted}");
        assert_eq!(marked > 0, ecn);
    }
}

#[test]
fn the_papers_queue_drops_what_arrives() {
    let config = BacklogConfig { packets_max: 2, target: None, ..BacklogConfig::default() };
    let mut backlog = Backlog::new(config, KEYS);
    (1..=3).for_each(|port| backlog.push(at(0), udp(port, 100)));
    assert_eq!((backlog.packets(), backlog.drops()), (2, 1));
    assert_eq!(backlog.pop(at(9_000), 99), None, "too long for the symbol");
    assert_eq!(backlog.pop(at(9_000), 100).unwrap().packet, udp(1, 100));
    assert_eq!(backlog.pop(at(9_000), 100).unwrap().packet, udp(2, 100));
    assert!(backlog.is_empty());
}

proptest! {
    /// Bounds are kept, each packet comes out once and unchanged or is counted as
    /// dropped, and those of a flow come out in order.
    #[test]
    fn nothing_is_invented(
        (packets_max, bytes_max) in (1..40u32, 100..20_000u32),
        target in prop::option::of(0..50u64),
        // Flow, length, space for it; time passes by up to 60 ms.
        work in prop::collection::vec((0..5u8, 0..1_600usize, 0..3_000usize, 0..60u64, 0..3u8), 1..300),
    ) {
        let target = target.map(Duration::from_millis);
        let config = BacklogConfig { packets_max, bytes_max, target, ..BacklogConfig::default() };
        let mut backlog = Backlog::new(config, KEYS);
        let (mut pushed, mut popped) = (0u64, 0u64);
        let mut last = [0u64; 5];
        let mut now = at(0);
        for (port, length, bytes_max, pause_ms, pops) in work {
            now += Duration::from_millis(pause_ms);
            pushed += 1;
            let mut packet = udp(port, length.max(36));
            packet[28..36].copy_from_slice(&pushed.to_be_bytes());
            backlog.push(now, packet);
            for _ in 0..pops {
                let Some(waiting) = backlog.pop(now, bytes_max) else { break };
                let mut packet = waiting.packet;
                prop_assert!(packet.len() <= bytes_max);
                let number = u64::from_be_bytes(packet[28..36].try_into().unwrap());
                let port = packet[21];
                prop_assert!(number > last[usize::from(port)], "in order, and once");
                prop_assert!(number <= pushed);
                last[usize::from(port)] = number;
                packet[28..36].fill(0);
                let sent = udp(port, packet.len());
                prop_assert_eq!(packet, sent);
                popped += 1;
            }
            prop_assert!(backlog.packets() <= packets_max as usize);
            prop_assert_eq!(pushed, popped + backlog.drops() + backlog.packets() as u64);
            prop_assert_eq!(backlog.is_empty(), backlog.packets() == 0);
        }
        while backlog.pop(now, 1_600).is_some() {
            popped += 1;
        }
        prop_assert!(backlog.is_empty());
        prop_assert_eq!(pushed, popped + backlog.drops());
    }

    /// Packets of any bytes are hashed and marked without a panic, and a mark changes at most the
    /// mark and the checksum.
    #[test]
    fn any_bytes_are_a_packet(mut packet in prop::collection::vec(any::<u8>(), 0..120), first: u8) {
        if let Some(byte) = packet.first_mut() {
            *byte = [0x45, 0x60, 0x4f, first][usize::from(first % 4)];
        }
        flow_hash(KEYS, &packet);
        let before = packet.clone();
        ip::mark_congestion(&mut packet);
        prop_assert_eq!(packet.len(), before.len());
        let changed = (0..packet.len()).filter(|&i| packet[i] != before[i]);
        prop_assert!(changed.into_iter().all(|i| [1, 10, 11].contains(&i)));
    }
}

/// The two fragments of packet `id`.
fn fragments(id: u16, bytes: usize) -> [Vec<u8>; 2] {
    [(0x2000, bytes), (175, 48)].map(|(bits, bytes): (u16, usize)| {
        let mut packet = ipv4(17, [1, 2, 3, 4], 0, bytes);
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet[6..8].copy_from_slice(&bits.to_be_bytes());
        packet
    })
}

/// More than a backlog takes, as fragments: each packet leaves whole or not at all, whatever
/// drops it.
#[test]
fn fragments_leave_together_or_not_at_all() {
    for (packets_max, target_ms, pops) in [(20, 1_000, 1), (100_000, 5, 1), (9, 5, 1), (3, 5, 7)] {
        let target = Some(Duration::from_millis(target_ms));
        let config = BacklogConfig { packets_max, target, ..BacklogConfig::default() };
        let mut backlog = Backlog::new(config, KEYS);
        let mut left = alloc::collections::BTreeMap::<u16, u32>::new();
        let mut count = |waiting: Waiting| {
            let id = u16::from_be_bytes([waiting.packet[4], waiting.packet[5]]);
            *left.entry(id).or_default() += 1;
        };
        for id in 0..2_000u16 {
            for fragment in fragments(id, 1_424) {
                backlog.push(at(id.into()), fragment);
            }
            for _ in 0..pops {
                backlog.pop(at(id.into()), usize::MAX).into_iter().for_each(&mut count);
            }
        }
        while let Some(waiting) = backlog.pop(at(2_000), usize::MAX) {
            count(waiting);
        }
        assert_eq!((backlog.packets(), backlog.bytes()), (0, 0));
        let parts: u32 = left.values().sum();
        assert!(left.len() >= 900 && left.values().all(|&parts| parts == 2), "{}", left.len());
        assert_eq!(u64::from(parts) + backlog.drops(), 4_000);
    }
}

/// A packet of more fragments than the backlog takes is dropped; those that leave stay.
#[test]
fn fragments_that_leave_are_not_dropped() {
    let config = BacklogConfig { packets_max: 4, ..BacklogConfig::default() };
    let mut backlog = Backlog::new(config, KEYS);
    let [first, later] = fragments(1, 1_424);
    for fragment in [&first, &later, &later, &later] {
        backlog.push(at(0), fragment.clone());
    }
    assert_eq!(backlog.pop(at(0), usize::MAX).expect("the first").packet, first);
    for id in 2..9 {
        fragments(id, 1_424).into_iter().for_each(|fragment| backlog.push(at(0), fragment));
    }
    let left = || backlog.pop(at(0), usize::MAX).map(|waiting| waiting.packet);
    let left: Vec<Vec<u8>> = core::iter::from_fn(left).collect();
    assert!(
        left.starts_with(&[later.clone(), later.clone(), later]) && left.len() <= 4,
        "{left:?}"
    );
}

/// Fragments that arrive after the others were dropped are dropped, too.
#[test]
fn a_late_fragment_of_a_dropped_packet_is_of_no_use() {
    let mut backlog =
        Backlog::new(BacklogConfig { packets_max: 1, ..BacklogConfig::default() }, KEYS);
    let [[first, late], [other, _]] = [1, 2].map(|id| fragments(id, 1_424));
    backlog.push(at(0), first);
    backlog.push(at(0), other.clone());
    backlog.push(at(0), late);
    assert_eq!(backlog.pop(at(0), usize::MAX).expect("the other").packet, other);
    assert_eq!((backlog.packets(), backlog.drops()), (0, 2));
}
