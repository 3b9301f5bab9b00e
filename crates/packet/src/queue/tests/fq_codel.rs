//! Tests of FQ-CoDel against a model written from RFC 8290, 4.1 and 4.2, with
//! arbitrary operations, and of the airtime scheduler: shares of airtime,
//! precedence, overflow, hashing.

use super::codel::Model as CoDelModel;
use super::*;

const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(20);
const QUANTUM: u16 = 300;

/// The model: every flow in one vector, the lists as vectors of names.
#[derive(Default)]
struct Model {
    flows: Vec<ModelFlow>,
    new: Vec<u32>,
    old: Vec<u32>,
}

#[derive(Default)]
struct ModelFlow {
    hash: u32,
    deficit: i64,
    codel: CoDelModel,
}

impl Model {
    fn flow(&mut self, hash: u32) -> &mut ModelFlow {
        if !self.flows.iter().any(|f| f.hash == hash) {
            self.flows.push(ModelFlow { hash, ..Default::default() });
        }
        self.flows.iter_mut().find(|f| f.hash == hash).expect("made above")
    }

    fn enqueue(&mut self, packet: Packet, limit: usize, dropped: &mut Vec<Packet>) {
        let hash = packet.flow_hash;
        let listed = self.new.contains(&hash) || self.old.contains(&hash);
        let flow = self.flow(hash);
        flow.codel.packets.push_back(packet);
        if !listed {
            flow.deficit = i64::from(QUANTUM);
            self.new.push(hash);
        }
        if self.flows.iter().map(|f| f.codel.packets.len()).sum::<usize>() > limit {
            let size = |f: &ModelFlow| f.codel.packets.iter().map(|p| u64::from(p.bytes)).sum();
            let fattest: u64 = self.flows.iter().map(size).max().expect("a flow");
            let fat = self.flows.iter_mut().find(|f| size(f) == fattest).expect("a flow");
            let half = fat.codel.packets.len().div_ceil(2).min(64);
            dropped.extend(fat.codel.packets.drain(..half));
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Packet>) -> Option<Packet> {
        loop {
            let from_new = !self.new.is_empty();
            let hash = *self.new.first().or(self.old.first())?;
            let unlist = |model: &mut Self| {
                if from_new {
                    model.new.remove(0)
                } else {
                    model.old.remove(0)
                };
            };
            let flow = self.flow(hash);
            if flow.deficit <= 0 {
                flow.deficit += i64::from(QUANTUM);
                unlist(self);
                self.old.push(hash);
                continue;
            }
            let (target, interval) = (TARGET.as_nanos(), INTERVAL.as_nanos());
            match flow.codel.dequeue(now.as_nanos(), target, interval, dropped) {
                Some(packet) => {
                    flow.deficit -= i64::from(packet.bytes);
                    return Some(packet);
                }
                None => {
                    unlist(self);
                    if from_new {
                        self.old.push(hash);
                    }
                }
            }
        }
    }
}

proptest! {
    /// One peer, few flows without collisions, bursts that overflow, runs of alike packets, and an
    /// active CoDel.
    #[test]
    fn follows_the_rfc(
        steps in prop::collection::vec((0..6000u64, 0..9u32, 0..5u32, 40..=1500u16), 1..600),
        limit in 5..200u32,
    ) {
        let config = QueueConfig::FqCodel {
            limit_packets: limit,
            memory_limit: Bytes::new(1 << 30),
            flows: 1024,
            quantum_bytes: QUANTUM,
            target: TARGET,
            interval: INTERVAL,
            ecn: false,
            airtime: false,
            ce_threshold: None,
        };
        let mut queue = Queue::new(&config, 1);
        let mut model = Model::default();
        let mut now = Instant::from_nanos(1);
        for (tag, (micros, arrivals, flow, bytes)) in steps.into_iter().enumerate() {
            now += Duration::from_micros(micros);
            let (mut dropped, mut expected_drops) = (vec![], vec![]);
            let mut packet = Packet { flow_hash: flow, ..packet(9 * tag as u64, bytes) };
            let arrives = |packet: &Packet| {
                let packet = Packet { arrived: now, ..*packet };
                model.enqueue(packet, limit as usize, &mut expected_drops);
            };
            // Half of the arrivals are runs.
            let count = if micros % 2 == 0 { arrivals } else { arrivals.min(1) };
            let run = PacketRun { packet: &mut packet, count };
            let taken = queue.offer_run(now, peer(1), run, Held::NONE, &mut dropped, arrives);
            prop_assert_eq!(taken, count);
            let expected = model.dequeue(now, &mut expected_drops);
            let served = queue.dequeue(now, &mut dropped);
            prop_assert_eq!(served.map(|(_, packet)| packet), expected);
            prop_assert_eq!(dropped, expected_drops);
        }
    }
}

fn fill(queue: &mut Queue, now: Instant, p: u8, packets: u32) {
    while queue.len_packets_for(peer(p)) < packets {
        queue.enqueue(now, peer(p), packet(u64::from(p), 1500), Held::NONE, &mut vec![]);
    }
}

/// Stations whose packets cost 1:10 in airtime get equal airtime, within one
/// exchange and a quantum.
#[test]
fn airtime_is_shared_evenly() {
    let mut queue = Queue::new(&QueueConfig::MAC80211, 0);
    let cost = [Duration::from_micros(200), Duration::from_micros(2000)];
    let mut used = [Duration::ZERO; 2];
    let mut served = [0u32; 2];
    let mut now = Instant::ZERO;
    for _ in 0..10_000 {
        fill(&mut queue, now, 1, 10);
        fill(&mut queue, now, 2, 10);
        let peer = queue.next_peer().expect("a backlog");
        let station = peer.index() - 1;
        queue.dequeue_for(now, peer, &mut vec![]).expect("a backlog");
        queue.charge_airtime(peer, cost[station]);
        used[station] += cost[station];
        served[station] += 1;
        now += cost[station];
        let apart = used[0].max(used[1]) - used[0].min(used[1]);
        assert!(apart <= cost[1] + Duration::from_micros(2 * 256), "{used:?}");
    }
    assert!((9.9..10.1).contains(&(f64::from(served[0]) / f64::from(served[1]))), "{served:?}");
}

/// A station with retransmissions has its turns without a packet in the queue, and gets no more air
/// time by it than one with a backlog: within an exchange and a quantum, and the quantum of the
/// station that has just joined.
#[test]
fn repetitions_are_turns_of_their_station() {
    let mut queue = Queue::new(&QueueConfig::MAC80211, 0);
    assert!(queue.schedules_airtime());
    queue.set_waiting(peer(1), true);
    assert_eq!((queue.next_peer(), queue.len_packets()), (Some(peer(1)), 0));
    let cost = [Duration::from_micros(700), Duration::from_micros(300)];
    let mut used = [Duration::ZERO; 2];
    for _ in 0..1000 {
        fill(&mut queue, Instant::ZERO, 2, 10);
        queue.set_waiting(peer(1), true);
        let next = queue.next_peer().expect("a backlog");
        if next == peer(2) {
            queue.dequeue_for(Instant::ZERO, next, &mut vec![]).expect("a backlog");
        }
        queue.charge_airtime(next, cost[next.index() - 1]);
        used[next.index() - 1] += cost[next.index() - 1];
        let apart = used[0].max(used[1]) - used[0].min(used[1]);
        assert!(apart <= cost[0] + Duration::from_micros(2 * 256), "{used:?}");
    }
    queue.set_waiting(peer(1), false);
    for _ in 0..100 {
        fill(&mut queue, Instant::ZERO, 2, 10);
        assert_eq!(queue.dequeue(Instant::ZERO, &mut vec![]).map(|(p, _)| p), Some(peer(2)));
        queue.charge_airtime(peer(2), cost[1]);
    }
}

/// Without airtime fairness, bytes determine the turns, independent of air time.
#[test]
fn bytes_alone_decide_without_airtime() {
    let order = |charge: Duration| {
        let mut queue = Queue::new(&QueueConfig::RFC_8290, 0);
        assert!(!queue.schedules_airtime());
        queue.set_waiting(peer(3), true);
        assert_eq!(queue.next_peer(), None, "nothing to repeat is known here");
        fill(&mut queue, Instant::ZERO, 1, 6);
        fill(&mut queue, Instant::ZERO, 2, 6);
        queue.charge_airtime(peer(1), charge);
        let served = || queue.dequeue(Instant::ZERO, &mut vec![]).map(|(peer, _)| peer.0);
        core::iter::from_fn(served).collect::<Vec<_>>()
    };
    // The quantum of 1 514 bytes is a full packet and 14 bytes, so a second one at first.
    assert_eq!(order(Duration::ZERO), [1, 1, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    assert_eq!(order(Duration::from_secs(1)), order(Duration::ZERO));
}

/// A station that has just become active is served before the backlogged ones.
#[test]
fn a_sparse_station_goes_first() {
    let mut queue = Queue::new(&QueueConfig::MAC80211, 0);
    let now = Instant::ZERO;
    fill(&mut queue, now, 1, 20);
    for _ in 0..5 {
        let peer = queue.next_peer().expect("a backlog");
        queue.dequeue_for(now, peer, &mut vec![]);
        queue.charge_airtime(peer, Duration::from_micros(300));
    }
    fill(&mut queue, now, 2, 1);
    assert_eq!(queue.dequeue(now, &mut vec![]).map(|(peer, _)| peer), Some(peer(2)));
}

/// A new flow with one packet is served before a flow with a long queue (RFC 8290,
/// 4.2).
#[test]
fn a_sparse_flow_goes_first() {
    let mut queue = Queue::new(&QueueConfig::RFC_8290, 3);
    let now = Instant::ZERO;
    fill(&mut queue, now, 1, 50);
    queue.dequeue(now, &mut vec![]);
    queue.dequeue(now, &mut vec![]);
    let mut sparse = packet(99, 100);
    sparse.flow_hash = 1;
    queue.enqueue(now, peer(1), sparse, Held::NONE, &mut vec![]);
    assert_eq!(queue.dequeue(now, &mut vec![]).map(|(_, packet)| packet.tag), Some(99));
}

/// Overflow drops half of the fattest flow from its head, but at most 64 packets.
#[test]
fn overflow_empties_the_fattest_flow() {
    let mut queue = Queue::new(&QueueConfig::RFC_8290, 3);
    let mut dropped = vec![];
    for tag in 0..10_241 {
        let mut packet = packet(tag, 1500);
        packet.flow_hash = u32::from(tag % 10 == 0);
        queue.enqueue(Instant::ZERO, peer(1), packet, Held::NONE, &mut dropped);
    }
    let expected: Vec<u64> = (0..).filter(|tag| tag % 10 != 0).take(64).collect();
    assert_eq!(dropped.iter().map(|packet| packet.tag).collect::<Vec<_>>(), expected);
    assert_eq!(queue.len_packets(), 10_241 - 64);
}

/// Of two flows with equal bytes the first loses half of its packets.
#[test]
fn overflow_does_not_depend_on_the_search() {
    let config = QueueConfig::FqCodel {
        limit_packets: 8,
        memory_limit: Bytes::new(1 << 20),
        flows: 1024,
        quantum_bytes: QUANTUM,
        target: TARGET,
        interval: INTERVAL,
        ecn: false,
        airtime: false,
        ce_threshold: None,
    };
    let mut queue = Queue::new(&config, 3);
    let mut dropped = vec![];
    for (tag, flow) in [7, 2, 7, 2, 7, 2, 7, 2, 9].into_iter().enumerate() {
        let packet = Packet { flow_hash: flow, ..packet(tag as u64, 1500) };
        queue.enqueue(Instant::ZERO, peer(1), packet, Held::NONE, &mut dropped);
    }
    assert_eq!(dropped.iter().map(|packet| packet.tag).collect::<Vec<_>>(), [0, 2]);
}

/// The flow hash spreads consecutive values evenly, and depends on its key.
#[test]
fn the_hash_spreads_flows() {
    use crate::aqm::bucket_of;
    let mut counts = [0u32; 64];
    (0..6400).for_each(|hash| counts[usize::from(bucket_of(hash, 5, 64))] += 1);
    // Chi-squared with 63 degrees of freedom: below 110 except for one key in
    // 4 000.
    let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 100.0).powi(2) / 100.0).sum();
    assert!(chi < 110.0, "{counts:?}");
    assert!((0..100).any(|hash| bucket_of(hash, 5, 1024) != bucket_of(hash, 6, 1024)));
}

/// A packet leaves marked if it waited longer than the threshold, in the units of the control law
/// (nanoseconds, or 1 024 ns in mac80211): 1 ms is 976 such units, so the first mark comes after
/// 977 of them. CoDel itself, whose target is 5 ms or more, marks none of these.
#[test]
fn a_threshold_marks_by_sojourn_time() {
    for (usual, unmarked_ns, marked_ns) in [
        (QueueConfig::RFC_8290, 1_000_000, 1_000_001),
        (QueueConfig::MAC80211, 977 * 1024 - 1, 977 * 1024),
    ] {
        let sojourn = Duration::from_millis(1);
        for (ect1_only, codes) in [
            (false, [(Ecn::Capable0, true), (Ecn::Capable1, true), (Ecn::NotCapable, false)]),
            (true, [(Ecn::Capable0, false), (Ecn::Capable1, true), (Ecn::NotCapable, false)]),
        ] {
            let config = usual.with_ce_threshold(CeThreshold { sojourn, ect1_only });
            for (code, is_selected) in codes {
                for (waited_ns, is_late) in [(unmarked_ns, false), (marked_ns, true)] {
                    let mut queue = Queue::new(&config.expect("it is FQ-CoDel"), 3);
                    let packet = coded(1, 1500, code);
                    queue.enqueue(Instant::ZERO, peer(1), packet, Held::NONE, &mut vec![]);
                    let now = Instant::from_nanos(waited_ns);
                    let (_, packet) = queue.dequeue(now, &mut vec![]).expect("one waits");
                    assert_eq!(packet.ecn_marked, is_late && is_selected, "{code:?} {waited_ns}");
                }
            }
        }
    }
}
