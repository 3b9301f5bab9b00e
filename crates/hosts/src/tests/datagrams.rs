//! Flows of datagrams: their packets and instants, pings, and saturated flows, which
//! keep their share of the queue at their source, no more and no less.

use super::bed::*;
use crate::{Flow, FlowKind, SourceConfig};
use alloc::vec;
use alloc::vec::Vec;
use lasthop_packet::{AccessCategory, DropReason, FlowId, NodeId};
use lasthop_units::{Duration, Instant};

#[test]
fn a_constant_rate_takes_the_delay_of_its_path() {
    let network = chain([both(&delay(3)), both(&delay(7))]);
    let one = Flow { start: ms(5), stop: Some(ms(15)), ..cbr("one", 0, 2) };
    let other = Flow { start: us(500), ..cbr("other", 2, 0) };
    let (log, stats) = Bed::new(&hosts(3, vec![one, other], ms(30)), &network).run();
    assert_eq!(log.sent_by(0, 0), (5..15).map(ms).collect::<Vec<_>>());
    let arrivals: Vec<_> = (0..10).map(|tag| (ms(15 + tag), tag)).collect();
    assert_eq!(log.arrived_at(0, 2), arrivals);
    // Without a stop it sends to the end.
    assert_eq!(log.sent_by(1, 2), (0..30).map(|n| us(500 + 1_000 * n)).collect::<Vec<_>>());
    assert_eq!(log.arrived_at(1, 0).len(), 20, "the rest is on its path");
    assert_eq!((log.sent.len(), log.dropped.len()), (40, 0));
    for (at, packet) in &log.sent {
        assert_eq!((packet.bytes, packet.created), (1_000, *at));
        assert_eq!(packet.access_category, AccessCategory::Video);
        assert_eq!(packet.destination, NodeId(2 - packet.source.0));
        // Nothing reacts to it, and nobody waits for it to leave.
        assert!(packet.passive && !packet.notify);
        let same = log.sent.iter().filter(|(_, p)| p.flow_hash == packet.flow_hash);
        assert!(same.clone().all(|(_, p)| p.flow == packet.flow), "flows differ in their hash");
        assert_eq!(same.filter(|(_, p)| p.tag == packet.tag).count(), 1);
    }
    let packets: Vec<_> = stats.wires.iter().map(|(_, _, wire)| wire.packets).collect();
    assert_eq!(packets[..2], [10, 20]);
}

/// A stop after the end of the run, or none, is the end.
#[test]
fn nobody_sends_after_the_end() {
    let late = Flow { stop: Some(ms(50)), ..cbr("late", 0, 1) };
    let full = Flow { stop: Some(ms(50)), ..saturated("full", 1, 0) };
    let config = hosts(2, vec![late, full], ms(10));
    let mut bed = Bed::new(&config, &chain([both(&limited(PACKET_A_MS, 5, 0))]));
    bed.run_until(ms(40), &|_| None);
    assert_eq!(bed.log.sent_by(0, 0), (0..10).map(ms).collect::<Vec<_>>());
    assert!(bed.log.sent_by(1, 1).iter().all(|at| *at < ms(10)));
}

#[test]
fn pings_are_answered_at_once_and_once() {
    let kind = FlowKind::Ping { interval: Duration::from_millis(20), bytes: 84 };
    let flows = vec![flow("ping", 0, 1, kind.clone()), flow("pong", 1, 0, kind)];
    let (log, _) = Bed::new(&hosts(2, flows, ms(195)), &chain([[delay(10), delay(25)]])).run();
    for (id, from, out, back) in [(0, 0, 10, 25), (1, 1, 25, 10)] {
        let requests: Vec<_> = (0..10).map(|n| ms(20 * n)).collect();
        assert_eq!(log.sent_by(id, from), requests);
        let expected: Vec<_> = requests.iter().map(|at| *at + MS * out).collect();
        let answers: Vec<_> = expected.into_iter().filter(|at| *at < ms(195)).collect();
        assert_eq!(log.sent_by(id, 1 - from), answers);
        let trips: Vec<_> = log.round_trips.iter().filter(|trip| trip.1 == FlowId(id)).collect();
        // The answer to the request of 160 ms would come at the end.
        assert_eq!(trips.len(), 8);
        for (trip, sent) in trips.into_iter().zip(requests) {
            assert_eq!((trip.0, trip.2), (sent + MS * (out + back), MS * (out + back)));
        }
    }
    for (_, packet) in &log.sent {
        // Both hosts react to it.
        assert_eq!((packet.bytes, packet.passive, packet.notify), (84, false, false));
    }
}

/// Lost requests and answers yield no round-trip time; others yield their own.
#[test]
fn a_ping_that_is_lost_is_lost() {
    let kind = FlowKind::Ping { interval: MS, bytes: 84 };
    let config = hosts(2, vec![flow("ping", 0, 1, kind)], ms(2_000));
    let wires = [lossy(delay(2), 0.3), lossy(delay(3), 0.2)];
    let (log, _) = Bed::new(&config, &chain([wires])).run();
    assert_eq!(log.sent_by(0, 0).len(), 2_000);
    let lost = |node: u16| log.dropped.iter().filter(move |(_, _, p, _)| p.source == NodeId(node));
    assert!(log.dropped.iter().all(|(.., reason)| *reason == DropReason::WireLoss));
    // What is on its path at the end is neither lost nor there.
    let known = log.round_trips.len() + lost(0).count() + lost(1).count();
    assert!((1_995..=2_000).contains(&known), "{known}");
    assert!(log.round_trips.iter().all(|trip| trip.2 == MS * 5));
    // 0.7 * 0.8 of 2 000, within four standard deviations.
    let trips = log.round_trips.len() as f64;
    assert!((trips - 1_120.0).abs() < 4.0 * libm::sqrt(1_120.0 * 0.44), "{trips}");
}

/// Number of packets from `node` that are not in transmission yet, after each instant at which it
/// sent: a packet arrives one transmission and one delay after it begins.
fn waiting(log: &Log, node: u16, delay: Duration) -> Vec<(Instant, usize)> {
    let sent = log.sent.iter().filter(|(_, p)| p.source == NodeId(node)).map(|(at, _)| *at);
    let mut instants: Vec<Instant> = sent.clone().collect();
    instants.dedup();
    let begun = |by: Instant| {
        let of_node = log.arrived.iter().filter(|(_, _, p)| p.source == NodeId(node));
        of_node.filter(|(at, ..)| *at <= by + delay + MS).count()
    };
    let held = |at: Instant| sent.clone().filter(|sent| *sent <= at).count() - begun(at);
    instants.into_iter().map(|at| (at, held(at))).collect()
}

#[test]
fn a_saturated_flow_keeps_the_queue_full_and_loses_nothing() {
    let network = chain([both(&limited(PACKET_A_MS, 20, 5))]);
    let full = Flow { start: ms(10), stop: Some(ms(110)), ..saturated("full", 0, 1) };
    let mut bed = Bed::new(&hosts(2, vec![full], ms(300)), &network);
    bed.run_until(ms(300), &|_| None);
    let log = &bed.log;
    assert_eq!(log.dropped.len(), 0);
    let arrivals = log.arrived_at(0, 1);
    // One a millisecond without a gap, in order.
    for (number, (at, tag)) in arrivals.iter().enumerate() {
        assert_eq!((*at, *tag), (ms(16 + number as u64), number as u64));
    }
    assert_eq!(log.sent.len(), arrivals.len());
    // In transmission at 110 ms is the hundredth; then 20 wait, and one more may.
    assert!((119..=121).contains(&arrivals.len()), "{}", arrivals.len());
    let held = waiting(log, 0, MS * 5);
    // One of those that fill it at first is transmitted at once.
    assert_eq!(held[0], (ms(10), 19));
    assert!(held[1..].iter().all(|(at, held)| *at < ms(110) && *held == 20), "{held:?}");
    assert_eq!(held.len(), 100, "it is filled up whenever a packet leaves");
    assert!(log.sent.iter().all(|(_, packet)| packet.notify && packet.passive));
}

/// Flows that share a queue take turns, in the order of their names; one that stops
/// leaves its share to the others.
#[test]
fn saturated_flows_share_their_queue() {
    let flows = || {
        vec![
            Flow { stop: Some(ms(100)), ..saturated("b", 0, 1) },
            saturated("a", 0, 1),
            // In the other direction there is another queue.
            saturated("c", 1, 0),
        ]
    };
    let run = |packets| {
        let network = chain([both(&limited(PACKET_A_MS, packets, 0))]);
        let (log, _) = Bed::new(&hosts(2, flows(), ms(200)), &network).run();
        assert_eq!(log.dropped.len(), 0);
        assert_eq!(log.arrived_at(2, 0).len(), 199);
        let held = waiting(&log, 0, Duration::ZERO);
        // What arrives at the end is not counted.
        let full = |(at, held): &(Instant, usize)| *held == packets as usize || *at >= ms(199);
        assert!(held[1..].iter().all(full), "{held:?}");
        log
    };
    let log = run(20);
    let order: Vec<_> = log.arrived.iter().filter(|(_, at, _)| *at == NodeId(1)).collect();
    let turns: Vec<_> = order.iter().take(100).map(|(.., p)| p.flow.0).collect();
    assert_eq!(turns, [1, 0].repeat(50));
    // The last packet of "b" may wait behind a whole queue.
    assert!(order[125..].iter().all(|(.., p)| p.flow == FlowId(1)));
    // 21 is 11 and 10: the first flow by name has one more, and one is in transmission.
    let log = run(21);
    let share = |flow| log.sent_by(flow, 0).iter().filter(|at| **at == Instant::ZERO).count();
    assert_eq!([share(1), share(0)], [12, 10]);
}

/// A packet longer than the MTU counts as its parts.
#[test]
fn a_saturated_flow_counts_parts() {
    let mut network = chain([both(&limited(PACKET_A_MS, 20, 0))]);
    network.nodes[0].mtu = 576;
    let config = hosts(2, vec![saturated("full", 0, 1)], ms(100));
    let (log, _) = Bed::new(&config, &network).run();
    assert_eq!(log.dropped.len(), 0);
    // 980 bytes are 552 and 428: two parts, 1 020 bytes of packets and 28 of frames.
    let first = log.sent_by(0, 0).iter().filter(|at| **at == Instant::ZERO).count();
    assert!((10..=11).contains(&first), "{first}");
    let whole = 8.0 * (1_020.0 + 28.0) / PACKET_A_MS.as_bps() as f64 * 1e3;
    let arrived = log.arrived_at(0, 1).len() as f64;
    assert!((arrived - 99.9 / whole).abs() <= 1.0, "{arrived}");
}

/// At one instant flows act in the order of their names, independent of their numbers.
#[test]
fn names_decide_who_is_first() {
    let flows = vec![cbr("b", 0, 1), cbr("c", 0, 1), cbr("a", 0, 1)];
    let (log, _) = Bed::new(&hosts(2, flows, ms(5)), &chain([both(&delay(1))])).run();
    let order: Vec<_> = log.sent.iter().map(|(_, packet)| packet.flow.0).collect();
    assert_eq!(order, [2, 0, 1].repeat(5));
    let order: Vec<_> = log.arrived.iter().map(|(.., packet)| packet.flow.0).collect();
    assert_eq!(order, [2, 0, 1].repeat(4));
}

/// The name of a flow determines its datagrams: other flows do not change them, and flows of
/// different names differ.
#[test]
fn a_flow_draws_from_a_stream_of_its_own() {
    let poisson = |name| {
        let rate = lasthop_units::Bitrate::from_mbps(8);
        flow(name, 0, 1, FlowKind::Udp(SourceConfig::Poisson { rate, bytes: 1_000 }))
    };
    let network = chain([both(&delay(1))]);
    let alone = Bed::new(&hosts(2, vec![poisson("one")], ms(50)), &network).run().0;
    let flows = vec![poisson("other"), poisson("one")];
    let both = Bed::new(&hosts(2, flows, ms(50)), &network).run().0;
    assert_eq!(alone.sent_by(0, 0), both.sent_by(1, 0));
    assert_ne!(both.sent_by(0, 0), both.sent_by(1, 0));
}
