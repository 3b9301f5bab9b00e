//! Guarantees for a driver in real time: each of its packets leaves once; wake-ups have their
//! instant; the backlogs of flows between a kernel's sockets are counted.

use super::bed::*;
use crate::hosts::HostsReason;
use crate::sink::{NoSink, Sink};
use crate::{
    Backlog, DRIVER_TAGS, Endpoints, Flow, FlowKind, Hosts, HostsConfig, HostsError, SourceConfig,
};
use alloc::vec;
use alloc::vec::Vec;
use lasthop_net::network::{NetworkError, Output};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant, Seed};

fn drivers(tag: u64, source: u16, destination: u16, now: Instant) -> Packet {
    Packet {
        source: NodeId(source),
        destination: NodeId(destination),
        ..Packet::new(DRIVER_TAGS + tag, 1_000, now)
    }
}

fn enter(bed: &mut Bed, now: Instant, packet: Packet) {
    bed.hosts.handle_packet(now, packet, &mut bed.log, &|_| None);
}

/// Instant, node and tag of a driver's packet that arrived.
type Arrival = (Instant, u16, u64);

/// The driver's packets that arrived, and the tags of those that were dropped and released.
fn outputs(bed: &mut Bed) -> (Vec<Arrival>, Vec<u64>, Vec<u64>) {
    let (mut arrived, mut dropped, mut released) = (vec![], vec![], vec![]);
    while let Some(output) = bed.hosts.poll_output() {
        match output {
            Output::Arrived { at, node, packet } => {
                arrived.push((at, node.0, packet.tag - DRIVER_TAGS));
            }
            Output::Dropped { packet, .. } => dropped.push(packet.tag - DRIVER_TAGS),
            Output::Released { tag } => released.push(tag - DRIVER_TAGS),
            other => panic!("{other:?}"),
        }
    }
    (arrived, dropped, released)
}

#[test]
fn packets_of_the_driver_end_once() {
    // Flows of the model beside them, with numbers that packets of programs have, too.
    let flows = vec![cbr("one", 0, 2), cbr("back", 2, 0)];
    let network = chain([both(&limited(PACKET_A_MS, 2, 3)), both(&delay(4))]);
    let mut bed = Bed::new(&hosts(3, flows, ms(1)), &network);
    bed.run_until(ms(50), &|_| None);
    assert_eq!(outputs(&mut bed), (vec![], vec![], vec![]));
    let before = (bed.log.sent.len(), bed.log.arrived.len());
    // One is in transmission, two wait, and there is no space for the others.
    for tag in 0..5 {
        let flow = if tag == 1 { FlowId::NONE } else { FlowId(9) };
        enter(&mut bed, ms(50), Packet { flow, ..drivers(tag, 0, 2, ms(50)) });
    }
    enter(&mut bed, ms(50), drivers(5, 2, Packet::EVERYWHERE.0, ms(50)));
    bed.run_until(ms(100), &|_| None);
    let (mut arrived, dropped, released) = outputs(&mut bed);
    assert!(arrived.is_sorted_by_key(|(at, ..)| *at));
    arrived.sort_unstable();
    let each = [(ms(54), 1, 5), (ms(58), 0, 5), (ms(58), 2, 0), (ms(59), 2, 1), (ms(60), 2, 2)];
    assert_eq!(arrived, each);
    assert_eq!((dropped, released), (vec![3, 4], vec![5]));
    // The sink gets them like all others.
    assert_eq!(bed.log.sent.len() - before.0, 6);
    assert_eq!(bed.log.arrived.len() - before.1, 5);
    let reasons: Vec<_> = bed.log.dropped.iter().map(|(at, _, _, reason)| (*at, *reason)).collect();
    assert_eq!(reasons, [(ms(50), DropReason::QueueFull); 2]);
}

#[test]
fn a_queue_that_became_shorter_is_reported_once() {
    let mut bed = Bed::new(&hosts(2, vec![], ms(1)), &chain([both(&limited(PACKET_A_MS, 9, 0))]));
    assert!(bed.hosts.take_space(), "a driver tries first");
    assert!(!bed.hosts.take_space());
    enter(&mut bed, ms(1), drivers(0, 0, 1, ms(1)));
    enter(&mut bed, ms(1), drivers(1, 0, 1, ms(1)));
    bed.hosts.take_space();
    bed.run_until(us(1_900), &|_| None);
    assert!(!bed.hosts.take_space(), "the first is still in transmission");
    bed.run_until(ms(2), &|_| None);
    assert!(bed.hosts.take_space(), "the second has left the queue");
}

/// The announced step is the next one, and no step happens before it.
#[test]
fn wake_ups_have_their_instant_and_their_reason() {
    let one = Flow { start: ms(5), stop: Some(us(8_500)), ..cbr("one", 0, 1) };
    let config =
        HostsConfig { sample_interval: Duration::from_millis(100), ..hosts(2, vec![one], ms(50)) };
    let mut bed = Bed::new(&config, &chain([both(&delay(2))]));
    let mut due = Vec::new();
    while let Some((at, reason)) = bed.hosts.poll_timeout()
        && at < ms(50)
    {
        if at > Instant::ZERO {
            let early = at - Duration::from_nanos(1);
            assert_eq!(bed.hosts.step(early, &mut bed.log, &|_| None), None);
        }
        assert_eq!(bed.hosts.step(at, &mut bed.log, &|_| None), Some(at));
        due.push((at, reason));
    }
    due.dedup();
    let expected = [
        (Instant::ZERO, HostsReason::Event),
        (ms(5), HostsReason::Event),
        (ms(6), HostsReason::Event),
        // What arrives is before what is sent.
        (ms(7), HostsReason::Network),
        (ms(7), HostsReason::Event),
        (ms(8), HostsReason::Network),
        (ms(8), HostsReason::Event),
        (ms(9), HostsReason::Network),
        (ms(10), HostsReason::Network),
    ];
    assert_eq!(due, expected);
    assert_eq!((bed.log.sent.len(), bed.log.arrived.len()), (4, 4));
}

/// One call performs all steps due by an instant, and no later one.
#[test]
fn a_wake_up_does_all_that_is_due() {
    let mut bed = Bed::new(&hosts(2, vec![cbr("one", 0, 1)], ms(50)), &chain([both(&delay(2))]));
    bed.hosts.handle_timeout(us(7_500), &mut bed.log);
    assert_eq!((bed.log.sent.len(), bed.log.arrived.len()), (8, 6));
    assert_eq!(bed.hosts.poll_timeout(), Some((ms(8), HostsReason::Network)));
}

#[test]
fn counters_restart_after_the_warm_up() {
    let config = HostsConfig {
        warmup: Duration::from_micros(50_500),
        ..hosts(2, vec![cbr("one", 0, 1)], ms(100))
    };
    let (log, stats) = Bed::new(&config, &chain([both(&delay(1))])).run();
    assert_eq!(log.arrived.len(), 99);
    // At 1 to 99 ms, less those of 1 to 50.
    assert_eq!(stats.wires[0].2.packets, 49);
    let config = HostsConfig { warmup: Duration::ZERO, ..config };
    let (_, stats) = Bed::new(&config, &chain([both(&delay(1))])).run();
    assert_eq!(stats.wires[0].2.packets, 99);
}

/// Background flows use the network, and their packets are of no flow.
#[test]
fn background_is_of_no_flow() {
    let config = HostsConfig {
        background: vec![cbr("theirs", 1, 0)],
        ..hosts(2, vec![cbr("ours", 0, 1)], ms(10))
    };
    let (log, stats) = Bed::new(&config, &chain([both(&delay(1))])).run();
    let of = |flow: FlowId| log.arrived.iter().filter(|it| it.2.flow == flow).count();
    assert_eq!((of(FlowId(0)), of(FlowId::BACKGROUND), log.arrived.len()), (9, 9, 18));
    assert_eq!(stats.wires.iter().map(|wire| wire.2.packets).collect::<Vec<_>>(), [9, 9]);
}

/// Every sender has a path to its receiver, also in the background.
#[test]
fn flows_between_trees_are_refused() {
    let mut network = chain([both(&delay(1)), both(&delay(1))]);
    network.wires.pop();
    let refused = |config: &HostsConfig| Hosts::new(config, &network, Seed::new(1, 0)).err();
    let ours = hosts(3, vec![cbr("ours", 0, 2)], ms(10));
    let expected = HostsError::Network(NetworkError::Unreachable(0, 2));
    assert_eq!(refused(&ours), Some(expected.clone()));
    let theirs = HostsConfig { background: ours.flows.clone(), flows: Vec::new(), ..ours };
    assert_eq!(refused(&theirs), Some(expected));
    assert_eq!(refused(&hosts(3, vec![cbr("ours", 1, 0)], ms(10))), None);
}

/// TCP senders are read at the start and then at the interval.
#[test]
fn senders_are_read_at_the_interval() {
    let config = hosts(2, vec![super::tcp::transfer("tcp", 10_000)], ms(95));
    let (log, _) = Bed::new(&config, &chain([both(&delay(1))])).run();
    let instants: Vec<_> = log.samples.iter().map(|(at, _)| *at).collect();
    assert_eq!(instants, (0..10).map(|n| ms(10 * n)).collect::<Vec<_>>());
}

fn kernels(flow: Flow) -> Flow {
    Flow { endpoints: Endpoints::Kernel, ..flow }
}

/// A saturated flow between sockets: the target of its queue, the packets held, and the packets
/// entered.
#[test]
fn the_backlog_of_a_kernels_flow_is_counted() {
    let flows = vec![
        kernels(Flow { start: ms(10), stop: Some(ms(40)), ..saturated("full", 0, 1) }),
        kernels(cbr("cbr", 0, 1)),
        Flow { start: ms(500), ..saturated("model", 1, 0) },
    ];
    let mut bed =
        Bed::new(&hosts(2, flows, ms(1_000)), &chain([both(&limited(PACKET_A_MS, 20, 0))]));
    let backlog = |bed: &mut Bed, now| bed.hosts.backlog(now, FlowId(0));
    let of = |target, held, entered| Some(Backlog { target, held, entered });
    bed.run_until(ms(9), &|_| None);
    assert!(bed.log.sent.is_empty(), "a kernel's sockets send by themselves");
    assert_eq!(backlog(&mut bed, ms(9)), of(0, 0, 0));
    bed.run_until(ms(10), &|_| None);
    assert_eq!(backlog(&mut bed, ms(10)), of(20, 0, 0));
    for tag in 0..5 {
        enter(&mut bed, ms(10), Packet { flow: FlowId(0), ..drivers(tag, 0, 1, ms(10)) });
    }
    // One is in transmission.
    assert_eq!(backlog(&mut bed, ms(10)), of(20, 4, 5));
    // Answers, other flows and programs are not of its backlog.
    enter(&mut bed, ms(10), Packet { flow: FlowId(0), ..drivers(5, 1, 0, ms(10)) });
    enter(&mut bed, ms(10), Packet { flow: FlowId(1), ..drivers(6, 0, 1, ms(10)) });
    enter(&mut bed, ms(10), drivers(7, 0, 1, ms(10)));
    bed.run_until(ms(12), &|_| None);
    assert_eq!(backlog(&mut bed, ms(12)), of(20, 2, 5));
    bed.run_until(ms(39), &|_| None);
    assert_eq!(backlog(&mut bed, ms(39)), of(20, 0, 5));
    assert_eq!(backlog(&mut bed, ms(40)), of(0, 0, 5));
    for other in [1, 2, 3] {
        assert_eq!(bed.hosts.backlog(ms(40), FlowId(other)), None);
    }
    assert_eq!(outputs(&mut bed).0.len(), 8);
    assert!(bed.log.round_trips.is_empty());
    bed.run_until(ms(501), &|_| None);
    assert!(bed.log.sent.iter().any(|(at, packet)| packet.flow == FlowId(2) && *at == ms(500)));
}

/// Only measurements end a run before its time, and only without other flows.
#[test]
fn a_run_without_measurements_is_not_done() {
    let ping = FlowKind::Ping { interval: MS, bytes: 84 };
    let video = FlowKind::Udp(SourceConfig::Saturated { bytes: 600 });
    for flows in [vec![], vec![flow("a", 0, 1, ping)], vec![kernels(flow("b", 0, 1, video))]] {
        let mut bed = Bed::new(&hosts(2, flows, ms(5)), &chain([both(&delay(1))]));
        assert!(!bed.run_until(ms(20), &|_| None));
        assert!(!bed.hosts.is_done());
        bed.hosts.finish(ms(20), &mut bed.log);
        assert_eq!(bed.log.ended, None);
    }
}

/// A sink that implements nothing costs nothing: no machine records for it.
#[test]
fn a_sink_wants_nothing_unless_it_says_so() {
    assert!(!NoSink.wants_events() && !NoSink.wants_segments());
}
