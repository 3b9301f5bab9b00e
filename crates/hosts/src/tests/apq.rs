//! A queue of known length is measured: the result is the number of packets that it holds, for
//! either measuring host and any clock of the other one.

use super::bed::*;
use crate::{ApqEnding, ApqFlow, Flow, FlowKind};
use alloc::boxed::Box;
use alloc::vec;
use lasthop_apq::survey::{ExactConfig, Method};
use lasthop_apq::{Direction, HostClock, SurveyConfig};
use lasthop_net::network::NetworkConfig;
use lasthop_packet::NodeId;
use lasthop_units::{Bitrate, Duration, Instant};

/// 20 packets wait in front of a wire that carries 250 of 1 500 bytes a second.
const QUEUE_PACKETS: u32 = 20;

fn network() -> NetworkConfig {
    let rate = Bitrate::from_bps(250 * 8 * 1_514);
    chain([[limited(rate, QUEUE_PACKETS, 5), delay(5)]])
}

/// An APQ flow with two sessions. `direction` is that of the queue as the host that measures sees
/// it.
fn apq(direction: Direction, measured_by_sender: bool, far_clock: HostClock) -> Flow {
    let method = Method::Exact(ExactConfig {
        saturation_pps: Some(400.0),
        sessions: 2,
        time_scale: 0.1,
        ..ExactConfig::default()
    });
    let survey = SurveyConfig {
        directions: [direction].into(),
        packet_bytes: [1_500].into(),
        method,
        discipline: false,
        rate_max_pps: 60_000.0,
    };
    flow("apq", 0, 1, FlowKind::Apq(Box::new(ApqFlow { survey, measured_by_sender, far_clock })))
}

#[test]
fn the_queue_is_found_whichever_host_measures() {
    let wrong = HostClock { offset_ns: 3_600_000_000_000, drift_ppm: 100 };
    for (direction, by_sender, clock) in [
        (Direction::Up, true, HostClock::default()),
        (Direction::Down, false, HostClock::default()),
        (Direction::Up, true, wrong),
    ] {
        let mut bed =
            Bed::new(&hosts(2, vec![apq(direction, by_sender, clock)], ms(600_000)), &network());
        assert!(bed.run_until(ms(600_000), &|_| None), "there is nothing else to do");
        let end = bed.end;
        bed.hosts.finish(end, &mut bed.log);
        let log = &bed.log;
        assert_eq!(log.ended, Some(end));
        let [(at, ApqEnding::Done, report)] = &log.endings[..] else { panic!("{:?}", log.endings) };
        assert_eq!((*at, log.phases.len()), (end, 2));
        let counted = report.directions[0].sizes[0].capacity_packets.expect("two sessions").mean;
        // With the one in transmission when another one is accepted, and that one.
        let expected = f64::from(QUEUE_PACKETS) + 1.0;
        assert!((counted - expected).abs() <= 1.5, "{direction:?} {by_sender}: {counted}");
        // The queue is full in the middle third of 12 s a session: losses are measured.
        assert!(log.dropped.iter().all(|(_, node, ..)| *node == NodeId(0)));
        assert!(log.dropped.len() > 100);
        let measures = if by_sender { NodeId(0) } else { NodeId(1) };
        assert_eq!((log.sent[0].1.source, log.sent[0].0), (measures, Instant::ZERO));
        assert!((24_000..30_000).contains(&((end - Instant::ZERO).as_nanos() / 1_000_000)));
        // Each socket is a flow of its own for queues that separate flows: control and
        // bulk, there and back.
        let mut hashes = vec![];
        for (_, packet) in &log.sent {
            if !hashes.contains(&(packet.source, packet.flow_hash)) {
                hashes.push((packet.source, packet.flow_hash));
            }
        }
        hashes.sort_by_key(|(_, hash)| *hash);
        hashes.dedup_by_key(|(_, hash)| *hash);
        assert_eq!(hashes.len(), 4);
        assert_eq!(log.sent.iter().map(|(_, packet)| packet.bytes).max(), Some(1_500));
    }
}

#[test]
fn a_run_may_end_before_the_measurement() {
    let flow = Flow { start: ms(500), ..apq(Direction::Up, true, HostClock::default()) };
    let (log, _) = Bed::new(&hosts(2, vec![flow], ms(15_000)), &network()).run();
    let [(at, ApqEnding::Unfinished, report)] = &log.endings[..] else {
        panic!("{:?}", log.endings)
    };
    assert_eq!((*at, log.ended, log.sent[0].0), (ms(15_000), None, ms(500)));
    assert_eq!(report.directions[0].sizes[0].sessions.len(), 1);
}

/// Other flows continue to the end of the run.
#[test]
fn a_run_goes_on_while_other_flows_do() {
    let kind = FlowKind::Ping { interval: Duration::from_secs(1), bytes: 84 };
    let flows = vec![apq(Direction::Up, true, HostClock::default()), flow("ping", 0, 1, kind)];
    let (log, _) = Bed::new(&hosts(2, flows, ms(40_000)), &network()).run();
    assert!(matches!(log.endings[..], [(_, ApqEnding::Done, _)]), "{:?}", log.endings);
    assert_eq!((log.ended, log.sent_by(1, 0).len()), (None, 40));
}
