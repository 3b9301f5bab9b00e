//! Pages on an idle wire without a rate, against closed forms: a round trip for each handshake and
//! each exchange, and one more for each window of slow start. The test draws the same pages.

use super::bed::*;
use crate::web::{EMBEDDED, MAIN, PARSING, embedded_objects};
use crate::{Flow, FlowKind, Page, TcpApplication, TcpFlow, WebConfig};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_packet::NodeId;
use lasthop_tcp::{Config, DelayedAck};
use lasthop_units::{Duration, Instant, Seed};

const ROUND_TRIP: Duration = Duration::from_millis(40);

/// A reader at node 1 of pages at node 0, whose host acknowledges each segment: windows then double.
fn reader(scale: f64, connections: u8) -> Flow {
    let web = WebConfig { scale, think: Duration::from_secs(5), connections };
    let delayed_ack = DelayedAck { quick_segments: u32::MAX, ..DelayedAck::default() };
    let tcp = TcpFlow {
        metrics_save: false,
        receive_offload: None,
        congestion_control: "cubic".to_string(),
        bytes: None,
        application: TcpApplication::Web(web),
        endpoints: Some([Config { delayed_ack, ..Config::default() }; 2]),
    };
    flow("web", 0, 1, FlowKind::Tcp(Box::new(tcp)))
}

/// Lengths of the objects of each page, in bytes, and the time to parse.
fn drawn(flow: &Flow, scale: f64, pages: usize) -> Vec<(Vec<u64>, Duration)> {
    let mut stream = Seed::new(1, 0).stream_of("flow/web", flow.identity());
    let think = Duration::from_secs(5);
    let page = |_| {
        stream.exponential_time(think);
        let mut objects = vec![MAIN.draw(&mut stream)];
        let parse = stream.exponential_time(PARSING);
        for _ in 0..embedded_objects(&mut stream) {
            objects.push(EMBEDDED.draw(&mut stream));
        }
        (objects.iter().map(|bytes| (bytes * scale).round().max(1.0) as u64).collect(), parse)
    };
    (0..pages).map(page).collect()
}

fn run(flow: Flow, seconds: u64) -> Log {
    let network = chain([both(&delay(20))]);
    Bed::new(&hosts(2, vec![flow], ms(seconds * 1000)), &network).run().0
}

/// Round trips from a request to the last byte of `bytes` on a new connection: initial windows of
/// ten segments that double (RFC 6928, RFC 5681).
fn rounds(bytes: u64) -> u64 {
    let segments = bytes.div_ceil(1448);
    (1..).find(|&rounds| 10 * ((1 << rounds) - 1) >= segments).expect("it ends")
}

/// Objects of one segment each. Over one connection: the handshake, the main object, each other
/// object. Over six: after parsing, the open connection has fetched `t` objects after `t` round
/// trips, and the others one less, because they open.
#[test]
fn small_objects_cost_round_trips() {
    for connections in [1, 2, 6] {
        let scale = 1e-4;
        let flow = reader(scale, connections);
        let drawn = drawn(&flow, scale, 1000);
        let log = run(flow, 1000);
        let pages: Vec<Page> = log.pages.iter().map(|page| page.1).collect();
        assert!(pages.len() > 100, "{}", pages.len());
        for (page, (objects, parse)) in pages.iter().zip(&drawn) {
            let Some(load) = page.load else { continue };
            let embedded = objects.len() as u64 - 1;
            let others = u64::from(connections) - 1;
            let fetched = |t: u64| t + others * t.saturating_sub(1);
            let rounds = (0..).find(|&t| fetched(t) >= embedded).expect("it ends");
            assert_eq!(load, ROUND_TRIP * (2 + rounds) + *parse, "{connections}: {embedded}");
        }
    }
}

/// Pages without embedded objects, and main objects of up to 3.7 MB: the handshake, and the rounds of
/// slow start.
#[test]
fn a_long_object_costs_the_rounds_of_slow_start() {
    let scale = 30.0;
    let flow = reader(scale, 6);
    let drawn = drawn(&flow, scale, 4000);
    let log = run(flow, 4000);
    let mut longest = 0;
    for ((_, page), (objects, parse)) in log.pages.iter().zip(&drawn) {
        let (Some(load), &[bytes]) = (page.load, &objects[..]) else { continue };
        // From 3 MiB on, the receiver's window limits.
        if bytes > 3_000_000 {
            continue;
        }
        longest = longest.max(rounds(bytes));
        assert_eq!(load, ROUND_TRIP * (1 + rounds(bytes)) + *parse, "{bytes}");
    }
    assert!(longest >= 7, "{longest}");
}

/// All bytes of all objects are counted at the flow's end, with losses and a narrow wire; packets of
/// forgotten connections do no harm, and tags of live packets differ.
#[test]
fn pages_survive_losses() {
    let wires = [lossy(limited(PACKET_A_MS, 50, 5), 0.05), lossy(delay(5), 0.05)];
    let mut flow = reader(1.0, 6);
    let FlowKind::Tcp(tcp) = &mut flow.kind else { panic!("it is") };
    let TcpApplication::Web(web) = &mut tcp.application else { panic!("it is") };
    web.think = Duration::from_millis(1);
    let config = hosts(2, vec![flow], ms(60_000));
    let mut bed = Bed::new(&config, &chain([wires]));
    bed.log.wants_segments = true;
    let log = bed.run().0;
    let loaded = log.pages.iter().filter(|(_, page)| page.load.is_some()).count();
    assert!(loaded > 20, "{loaded}");
    assert!(log.pages.windows(2).all(|pair| pair[0].1.begun < pair[1].1.begun));
    let mut tags: Vec<_> = log.sent.iter().map(|(_, packet)| packet.tag).collect();
    tags.sort_unstable();
    assert!(tags.windows(2).all(|pair| pair[0] < pair[1]), "each tag is used once");
    let connections = log.sent.iter().map(|(_, packet)| crate::connection_of(packet.tag)).max();
    assert_eq!(connections, Some(5));
}

/// A reader who stops asks for no further page; a page that is being loaded at the end is reported
/// without its time.
#[test]
fn a_reader_stops() {
    let flow = Flow { stop: Some(ms(30_000)), ..reader(1.0, 6) };
    let log = run(flow, 100);
    assert!(log.pages.iter().all(|(_, page)| page.begun < ms(30_000)));
    assert!(log.sent.iter().all(|(at, _)| *at < ms(40_000)));
    // Nothing comes back.
    let network = chain([[lossy(delay(20), 1.0), delay(20)]]);
    let (log, _) = Bed::new(&hosts(2, vec![reader(1.0, 6)], ms(100_000)), &network).run();
    let [(at, page)] = log.pages[..] else { panic!("{:?}", log.pages) };
    assert_eq!((at, page.load), (ms(100_000), None));
    assert!(log.arrived.iter().all(|(_, node, _)| *node == NodeId(0)));
    assert!(page.begun > Instant::ZERO);
}
