//! Tests of the properties of all queues, with arbitrary operations: every packet that enters
//! leaves exactly once, unchanged and in order, or is dropped. Separate files compare each
//! discipline with a reference model.

mod cake;
mod codel;
mod drop_tail;
mod dual_pi2;
mod ebdp;
mod fq_codel;
mod replay;

use super::*;
use crate::ip::Ecn;
use alloc::vec;
use proptest::prelude::*;

pub(super) fn peer(index: u8) -> PeerId {
    PeerId(u32::from(index))
}

pub(super) fn packet(tag: u64, bytes: u16) -> Packet {
    Packet::new(tag, bytes, Instant::ZERO)
}

/// A packet whose header has the ECN field `ecn`.
pub(super) fn coded(tag: u64, bytes: u16, ecn: Ecn) -> Packet {
    let packet = packet(tag, bytes);
    Packet {
        ecn_capable: ecn != Ecn::NotCapable,
        ecn_l4s: ecn == Ecn::Capable1,
        ecn_marked: ecn == Ecn::Congestion,
        ..packet
    }
}

/// Fair queueing without CoDel drops no packet for its delay: two flows leave in turn, after an
/// hour.
#[test]
fn fair_queueing_needs_no_codel() {
    for usual in [QueueConfig::MAC80211, QueueConfig::RFC_8290] {
        let fair = usual.with_target(QueueConfig::NO_TARGET).expect("above zero");
        assert!(usual.is_delay_managed() && !fair.is_delay_managed());
        let mut queue = Queue::new(&fair, 0);
        let mut dropped = Vec::new();
        for tag in 0..1_000 {
            let packet = Packet { flow_hash: (tag / 500) as u32, ..packet(tag, 1_500) };
            queue.enqueue(Instant::ZERO, PeerId::ONLY, packet, Held::NONE, &mut dropped);
        }
        let mut served = [0_i64; 2];
        for step in 0..1_000 {
            let now = Instant::ZERO + Duration::from_secs(3_600 + step);
            let (_, packet) = queue.dequeue(now, &mut dropped).expect("all are there");
            served[(packet.tag / 500) as usize] += 1;
            assert!((served[0] - served[1]).abs() <= 2, "{served:?}");
        }
        assert!(dropped.is_empty());
    }
}

fn any_config() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1..40u32).prop_map(Limit::Packets),
        (1500..40_000u64).prop_map(|b| Limit::Bytes(Bytes::new(b))),
    ];
    let (target, interval) = (Duration::from_millis(5), Duration::from_millis(20));
    (0..7, limit, 1..40u32, any::<bool>(), any::<bool>(), 1..8u16).prop_map(
        move |(which, limit, limit_packets, ecn, airtime, flows)| match which {
            0 => QueueConfig::DropTail { limit },
            3 => QueueConfig::DropTailByPeer { limit, peer_packets: flows.into() },
            1 => QueueConfig::CoDel { limit, target, interval, ecn },
            2 => QueueConfig::EmulatedBdp {
                limit_packets,
                target,
                burst_packets: u32::from(flows),
                average_packets: 10,
                flows: ecn.then_some(interval),
            },
            5 => QueueConfig::Cake {
                bandwidth: None,
                memory_limit: Some(Bytes::new(30_000)),
                target,
                interval,
                isolation: [Isolation::Triple, Isolation::Flows][usize::from(ecn)],
                tins: [Tins::BestEffort, Tins::Diffserv3][usize::from(airtime)],
                overhead_bytes: 14,
            },
            4 => QueueConfig::DualPi2 {
                limit_packets,
                pi2: Pi2Parameters {
                    target,
                    alpha: 41 << flows,
                    beta: 819,
                    coupling: 2,
                    drop_overload: ecn,
                },
                update_interval: Duration::from_millis(1),
                step: Duration::from_millis(1),
                classic_percent: 10,
            },
            _ => QueueConfig::FqCodel {
                limit_packets,
                memory_limit: Bytes::new(30_000),
                flows,
                quantum_bytes: 300,
                target,
                interval,
                ecn,
                airtime,
                ce_threshold: None,
            },
        },
    )
}

#[derive(Clone, Debug)]
enum Step {
    Enqueue { peer: u8, bytes: u16, flow: u8, ecn: bool },
    Dequeue { put_back: bool },
    DequeueFor { peer: u8, put_back: bool },
    Charge { peer: u8, micros: u64 },
    Wait { micros: u64 },
}

fn any_step() -> impl Strategy<Value = Step> {
    let enqueue = || {
        (0..4u8, 40..3000u16, 0..4u8, any::<bool>())
            .prop_map(|(peer, bytes, flow, ecn)| Step::Enqueue { peer, bytes, flow, ecn })
    };
    prop_oneof![
        6 => enqueue(),
        2 => any::<bool>().prop_map(|put_back| Step::Dequeue { put_back }),
        2 => (0..4u8, any::<bool>())
            .prop_map(|(peer, put_back)| Step::DequeueFor { peer, put_back }),
        1 => (0..4u8, 0..5000u64).prop_map(|(peer, micros)| Step::Charge { peer, micros }),
        2 => (0..8000u64).prop_map(|micros| Step::Wait { micros }),
    ]
}

/// The packets that a queue should hold, in order of arrival.
struct Ledger(Vec<(PeerId, Packet)>);

impl Ledger {
    fn take(&mut self, tag: u64) -> (PeerId, Packet) {
        let index = self.0.iter().position(|(_, p)| p.tag == tag);
        self.0.remove(index.expect("the queue gave what it does not hold"))
    }

    /// Whether `tag` is the oldest packet of its peer and flow.
    fn is_first_of_flow(&self, tag: u64) -> bool {
        let flow_of = |(peer, p): &(PeerId, Packet)| (*peer, p.flow_hash);
        let entry = self.0.iter().find(|(_, p)| p.tag == tag).expect("held");
        self.0.iter().find(|other| flow_of(other) == flow_of(entry)) == Some(entry)
    }
}

proptest! {
    /// A replaced queue passes its packets on: unchanged but for their position, in order within a
    /// peer and flow, and with the time that they have waited. Packets are lost only beyond the
    /// limit of the new queue.
    #[test]
    fn what_replaces_a_queue_has_its_packets(
        configs in (any_config(), any_config()),
        packets in prop::collection::vec((0..4u8, 40..1500u16, 0..4u8, 0..9_000u64), 0..60),
        served in 0..20usize,
    ) {
        let mut queue = Queue::new(&configs.0, 7);
        let (mut now, mut gone, mut ledger) = (Instant::ZERO, vec![], Ledger(vec![]));
        for (tag, (p, bytes, flow, micros)) in packets.into_iter().enumerate() {
            now += Duration::from_micros(micros);
            let mut packet = packet(tag as u64, bytes);
            packet.flow_hash = u32::from(flow);
            queue.enqueue(now, peer(p), packet, Held::NONE, &mut gone);
            ledger.0.push((peer(p), Packet { arrived: now, ..packet }));
        }
        for _ in 0..served {
            gone.extend(queue.dequeue(now, &mut vec![]).map(|(_, packet)| packet));
        }
        let before = queue.len_packets();
        let mut dropped = vec![];
        queue.replace(now, &configs.1, 7, Held::NONE, &mut dropped);
        prop_assert_eq!(before, queue.len_packets() + dropped.len() as u32);
        // These may hold less than their limit.
        let may_be_less = matches!(
            configs.1,
            QueueConfig::EmulatedBdp { .. } | QueueConfig::DropTailByPeer { .. }
        );
        if before <= configs.1.packets_max(1500) && !may_be_less {
            prop_assert_eq!(&dropped, &vec![]);
        }
        let fresh = Queue::new(&configs.1, 7);
        prop_assert_eq!(core::mem::discriminant(&queue), core::mem::discriminant(&fresh));
        let mut last = [Instant::ZERO; 16];
        while let Some((of, packet)) = queue.dequeue(Instant::ZERO, &mut vec![]) {
            let last = &mut last[of.index() * 4 + packet.flow_hash as usize];
            prop_assert!(*last <= packet.arrived);
            *last = packet.arrived;
            // It leaves once, and has not left before.
            let (peer, was) = ledger.take(packet.tag);
            prop_assert_eq!((of, packet.arrived, packet.bytes), (peer, was.arrived, was.bytes));
            prop_assert!(!gone.iter().chain(&dropped).any(|other| other.tag == packet.tag));
        }
    }

    /// Every packet leaves exactly once, unchanged and in order, or is dropped, or
    /// is still there.
    #[test]
    fn packets_are_conserved(
        config in any_config(),
        steps in prop::collection::vec(any_step(), 0..300),
        held in 0..6u32,
    ) {
        let held = Held { packets: held, bytes: Bytes::new(u64::from(held) * 100) };
        let mut queue = Queue::new(&config, 7);
        let mut ledger = Ledger(vec![]);
        let mut now = Instant::ZERO;
        for (tag, step) in steps.into_iter().enumerate() {
            let mut dropped = vec![];
            let served = match step {
                Step::Enqueue { peer: p, bytes, flow, ecn } => {
                    let mut packet = packet(tag as u64, bytes);
                    packet.flow_hash = u32::from(flow);
                    packet.ecn_capable = ecn;
                    let admitted = queue.admits_for(peer(p), &packet, held);
                    queue.enqueue(now, peer(p), packet, held, &mut dropped);
                    match config {
                        // One flow more may shrink its share.
                        QueueConfig::EmulatedBdp { flows: Some(_), .. } => {}
                        QueueConfig::FqCodel { .. } | QueueConfig::Cake { .. } => {
                            prop_assert!(admitted);
                        }
                        _ => prop_assert_eq!(dropped.is_empty(), admitted),
                    }
                    packet.arrived = now;
                    ledger.0.push((peer(p), packet));
                    let packets = queue.len_packets();
                    let bytes = queue.len_bytes();
                    match config {
                        QueueConfig::DropTail { limit }
                        | QueueConfig::DropTailByPeer { limit, .. }
                        | QueueConfig::CoDel { limit, .. } => {
                            let within = match limit {
                                Limit::Packets(n) => packets + held.packets <= n,
                                Limit::Bytes(n) => bytes + held.bytes <= n,
                            };
                            prop_assert!(packets == 0 || within);
                        }
                        QueueConfig::EmulatedBdp { limit_packets, .. }
                        | QueueConfig::DualPi2 { limit_packets, .. } => {
                            prop_assert!(packets == 0 || packets + held.packets <= limit_packets);
                        }
                        QueueConfig::Cake { .. } => {
                            prop_assert!(packets == 0 || bytes + held.bytes <= Bytes::new(30_000));
                        }
                        QueueConfig::FqCodel { limit_packets, memory_limit, .. } => {
                            prop_assert!(packets == 0 || packets + held.packets <= limit_packets);
                            prop_assert!(packets == 0 || bytes + held.bytes <= memory_limit);
                        }
                    }
                    None
                }
                Step::Dequeue { put_back } => {
                    let next = queue.next_peer();
                    prop_assert_eq!(queue.next_peer(), next);
                    let served = queue.dequeue(now, &mut dropped);
                    prop_assert_eq!(served.is_some(), !ledger.0.is_empty());
                    if dropped.is_empty() {
                        prop_assert_eq!(served.map(|(peer, _)| peer), next);
                    }
                    served.map(|(peer, packet)| (peer, packet, put_back))
                }
                Step::DequeueFor { peer: p, put_back } => {
                    let announced = queue.peek_len_for(peer(p));
                    prop_assert_eq!(announced.is_some(), queue.len_packets_for(peer(p)) > 0);
                    let served = queue.dequeue_for(now, peer(p), &mut dropped);
                    if dropped.is_empty() {
                        prop_assert_eq!(served.map(|packet| packet.bytes), announced);
                    }
                    served.map(|packet| (peer(p), packet, put_back))
                }
                Step::Charge { peer: p, micros } => {
                    queue.charge_airtime(peer(p), Duration::from_micros(micros));
                    None
                }
                Step::Wait { micros } => {
                    now += Duration::from_micros(micros);
                    None
                }
            };
            for packet in dropped {
                ledger.take(packet.tag);
            }
            if let Some((peer, mut packet, put_back)) = served {
                prop_assert!(ledger.is_first_of_flow(packet.tag));
                if put_back {
                    queue.put_back(peer, packet);
                    prop_assert_eq!(queue.peek_len_for(peer), Some(packet.bytes));
                } else {
                    let (expected_peer, expected) = ledger.take(packet.tag);
                    packet.ecn_marked = false;
                    prop_assert_eq!((peer, packet), (expected_peer, expected));
                }
            }
            prop_assert_eq!(queue.len_packets() as usize, ledger.0.len());
            let bytes: u64 = ledger.0.iter().map(|(_, p)| u64::from(p.bytes)).sum();
            prop_assert_eq!(queue.len_bytes(), Bytes::new(bytes));
            for p in 0..4 {
                let count = ledger.0.iter().filter(|(q, _)| *q == peer(p)).count();
                prop_assert_eq!(queue.len_packets_for(peer(p)) as usize, count);
            }
            prop_assert_eq!(queue.next_peer().is_none(), ledger.0.is_empty());
            prop_assert_eq!(queue.is_empty(), ledger.0.is_empty());
        }
    }
}

proptest! {
    /// A reverted dequeue does not change the order of later packets.
    #[test]
    fn an_undone_dequeue_changes_no_order(
        config in any_config(),
        packets in prop::collection::vec((0..4u8, 40..3000u16, 0..4u32), 1..40),
        served in 0..40usize,
    ) {
        let now = Instant::ZERO;
        let mut queue = Queue::new(&config, 7);
        for (tag, (p, bytes, flow_hash)) in packets.into_iter().enumerate() {
            let packet = Packet { flow_hash, ..packet(tag as u64, bytes) };
            queue.enqueue(now, peer(p), packet, Held::NONE, &mut vec![]);
        }
        let order = |queue: &mut Queue, count: usize| -> Vec<_> {
            let next = || queue.dequeue(now, &mut vec![]).map(|(peer, packet)| (peer, packet.tag));
            core::iter::from_fn(next).take(count).collect()
        };
        order(&mut queue, served);
        let mut other = queue.clone();
        for _ in 0..3 {
            if let Some((peer, packet)) = other.dequeue(now, &mut vec![]) {
                other.put_back(peer, packet);
            }
        }
        prop_assert_eq!(order(&mut other, usize::MAX), order(&mut queue, usize::MAX));
    }
}

const ALL: [QueueConfig; 7] = [
    QueueConfig::DropTail { limit: Limit::Packets(10) },
    QueueConfig::RFC_8289,
    QueueConfig::RFC_8290,
    QueueConfig::MAC80211,
    QueueConfig::EMULATED_BDP,
    QueueConfig::DUAL_PI2,
    QueueConfig::CAKE,
];

/// The queue was asked for another packet while its only one was taken, so its flow left the turns;
/// the flow joins again when the packet returns.
#[test]
fn a_packet_that_comes_back_late_is_not_forgotten() {
    for config in ALL {
        let mut queue = Queue::new(&config, 0);
        let mut dropped = vec![];
        queue.enqueue(Instant::ZERO, peer(1), packet(5, 100), Held::NONE, &mut dropped);
        let (to, served) = queue.dequeue(Instant::ZERO, &mut dropped).expect("it holds one");
        assert_eq!(queue.next_peer(), None);
        assert_eq!(queue.dequeue_for(Instant::ZERO, peer(1), &mut dropped), None);
        queue.put_back(to, served);
        assert_eq!((to, queue.next_peer()), (peer(1), Some(peer(1))));
        assert_eq!(queue.dequeue(Instant::ZERO, &mut dropped), Some((to, served)));
    }
}

/// A dozing station is passed over, and served when it wakes.
#[test]
fn an_ineligible_peer_is_passed_over() {
    for config in ALL {
        let mut queue = Queue::new(&config, 0);
        for (tag, p) in [(0, 1), (1, 1), (2, 2)] {
            queue.enqueue(Instant::ZERO, peer(p), packet(tag, 100), Held::NONE, &mut vec![]);
        }
        assert_eq!(queue.next_peer_where(|p| p != peer(1)), Some(peer(2)));
        assert_eq!(queue.next_peer_where(|p| p == PeerId(0)), None);
        assert_eq!(queue.next_peer(), Some(peer(1)));
    }
}

/// mac80211's limit without VHT is 4 MiB: 2 796 packets of 1 500 bytes. The next packet causes the
/// flow with the most bytes to lose 32 packets.
#[test]
fn the_default_holds_four_mebibytes() {
    let mut queue = Queue::new(&QueueConfig::default(), 0);
    let mut dropped = vec![];
    for tag in 0..2796 {
        queue.enqueue(Instant::ZERO, peer(1), packet(tag, 1500), Held::NONE, &mut dropped);
    }
    assert_eq!((queue.len_packets(), dropped.len()), (2796, 0));
    queue.enqueue(Instant::ZERO, peer(1), packet(2796, 1500), Held::NONE, &mut dropped);
    assert_eq!((queue.len_packets(), dropped.len()), (2765, 32));
}
