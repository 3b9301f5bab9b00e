//! TCP flows: the times of a handshake and of data on a wire without a rate, the data that the
//! other application reads and when, and the segments that wait in the sender's node.

use super::bed::*;
use crate::{Flow, FlowKind, HostsError, ReceiveOffload, TcpApplication, TcpFlow};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_net::network::NetworkConfig;
use lasthop_packet::{AccessCategory, DropReason, FlowId, NodeId, Transport};
use lasthop_tcp::{Config, CongestionControlKind, HEADER_BYTES, SmallQueues};
use lasthop_units::{Bitrate, Bytes, Duration, Instant};

fn tcp(name: &str, application: TcpApplication, bytes: Option<u64>, config: Config) -> Flow {
    let tcp = TcpFlow {
        metrics_save: false,
        receive_offload: None,
        congestion_control: "cubic".to_string(),
        bytes: bytes.map(Bytes::new),
        application,
        endpoints: Some([config; 2]),
    };
    flow(name, 0, 1, FlowKind::Tcp(Box::new(tcp)))
}

pub fn transfer(name: &str, bytes: u64) -> Flow {
    tcp(name, TcpApplication::Bulk, Some(bytes), Config::default())
}

fn bulk(config: Config) -> Flow {
    tcp("bulk", TcpApplication::Bulk, None, config)
}

fn run(flow: Flow, network: &NetworkConfig, end: Instant) -> Log {
    let mut bed = Bed::new(&hosts(network.nodes.len(), vec![flow], end), network);
    // A flow asks when it starts.
    bed.log.wants_segments = true;
    bed.run().0
}

/// SYN, SYN and ACK, data: a message of one segment is read after one and a half round
/// trips, and is acknowledged after two.
#[test]
fn a_message_takes_one_and_a_half_round_trips() {
    let start = ms(7);
    let flow = Flow { start, ..transfer("one", 1_000) };
    let log = run(flow, &chain([[interface(delay(10)), delay(30)]]), ms(200));
    // The application writes when it starts, before the connection is open.
    assert_eq!(log.application_delays, [(start + MS * 50, MS * 50)]);
    assert!(log.round_trips.iter().all(|trip| trip.2 == MS * 40), "{:?}", log.round_trips);
    assert!(log.round_trips.iter().any(|trip| trip.0 == start + MS * 80));
    let (_, last) = log.samples.last().expect("it is read");
    assert_eq!((last.bytes_acked, last.bytes_in_flight, last.retransmissions), (1_000, 0, 0));
    assert_eq!((last.smoothed_rtt, last.latest_rtt), (MS * 40, MS * 40));
    assert_eq!(last.bytes_written, Some(1_000));
    assert_eq!(log.samples[0].1.smoothed_rtt, Duration::ZERO, "nothing is known yet");
    // Initial window: RFC 6928.
    assert_eq!(log.samples[0].1.cwnd_packets, 10);
    let (at, syn) = &log.sent[0];
    assert_eq!((*at, syn.source, syn.destination), (start, NodeId(0), NodeId(1)));
    // IPv4, TCP, and 20 bytes of options: RFC 9293, 7323, 2018.
    assert_eq!((u32::from(syn.bytes), syn.transport), (60, Transport::Tcp));
    let data = log.sent.iter().find(|(_, p)| p.bytes > 1_000).expect("it has data");
    assert_eq!((data.0, u64::from(data.1.bytes)), (start + MS * 40, 1_052));
    // The two directions have different sockets, and only data in an own queue is awaited.
    let hash =
        |node| log.sent.iter().find(|(_, p)| p.source == NodeId(node)).map(|s| s.1.flow_hash);
    assert_ne!(hash(0), hash(1));
    for (_, packet) in &log.sent {
        assert_eq!(packet.notify, packet.bytes > 100);
        assert_eq!(packet.access_category, AccessCategory::Video);
        assert_eq!(Some(packet.flow_hash), hash(packet.source.0));
    }
}

/// Segments are as long as the path permits, in both directions, and each is reported before it is
/// sent; the SYN announces the MTU less 40 (RFC 9293, 3.7.1).
#[test]
fn segments_fill_the_mtu_of_the_path() {
    let mut network = chain([both(&delay(1)), both(&delay(1))]);
    (network.nodes[1].mtu, network.nodes[2].mtu) = (900, 700);
    let flow = Flow { to: NodeId(2), ..transfer("one", 100_000) };
    let log = run(flow, &network, ms(500));
    let longest = |node| {
        let of_node = log.sent.iter().filter(|(_, p)| p.source == NodeId(node));
        of_node.map(|(_, p)| p.bytes).max()
    };
    assert_eq!(longest(0), Some(700));
    assert_eq!(log.segments.len(), log.sent.len());
    let mut read = 0;
    let initial = log.headers[0].0;
    assert!(initial[0] != initial[1] && !initial.contains(&0));
    for ((tag, source, segment, announced), ((_, packet), header)) in
        log.segments.iter().zip(log.sent.iter().zip(&log.headers))
    {
        assert_eq!((*tag, *source), (packet.tag, packet.source));
        assert_eq!(segment.packet_bytes(), u32::from(packet.bytes));
        assert_eq!(announced.segment_bytes, 660);
        let [own, peer] = header.0;
        assert_eq!([own, peer] == initial, *source == NodeId(0));
        assert_eq!([peer, own] == initial, *source == NodeId(2));
        if *source == NodeId(0) && segment.payload_bytes > 0 {
            // The first byte of the stream is behind the SYN.
            assert_eq!(segment.sequence, 1 + read);
            read += u64::from(segment.payload_bytes);
            // PSH where nothing is left to send.
            if read == 100_000 {
                assert!(header.1);
            }
        }
    }
    assert_eq!(read, 100_000);
    let tags = |node: u16| log.segments.iter().filter(move |s| s.1 == NodeId(node)).map(|s| s.0);
    assert!(tags(0).is_sorted() && tags(2).is_sorted());
    // A sink that does not ask gets none.
    let config = hosts(3, vec![transfer("one", 1_000)], ms(50));
    assert!(Bed::new(&config, &network).run().0.segments.is_empty());
}

/// All bytes arrive although segments are lost, because lost segments are retransmitted.
#[test]
fn what_is_lost_is_sent_again() {
    let wires = [lossy(limited(PACKET_A_MS, 1_000, 5), 0.03), delay(5)];
    let log = run(transfer("one", 400_000), &chain([wires]), ms(20_000));
    let lost = log.dropped.len();
    assert!(lost > 3, "{lost}");
    assert!(log.dropped.iter().all(|(.., reason)| *reason == DropReason::WireLoss));
    let (_, last) = log.samples.last().expect("it is read");
    assert_eq!(last.bytes_acked, 400_000);
    assert!(last.retransmissions >= lost as u64 - 1, "{lost}: {last:?}");
    // Written at once, read when the last byte is there.
    assert_eq!(log.application_delays.len(), 1);
}

/// Contents of packets that were lost are removed: slots (the lower 32 bits of a tag) are
/// no more than the packets in flight at once.
#[test]
fn what_is_lost_leaves_nothing_behind() {
    let wires = [lossy(limited(PACKET_A_MS, 1_000, 5), 0.05), delay(5)];
    let log = run(transfer("one", 6_000_000), &chain([wires]), ms(60_000));
    assert!(log.dropped.len() > 150);
    let ended = log.arrived.iter().map(|(at, ..)| (*at, -1));
    let ended = ended.chain(log.dropped.iter().map(|(at, ..)| (*at, -1)));
    let mut changes: Vec<_> = log.sent.iter().map(|(at, _)| (*at, 1)).chain(ended).collect();
    // What is sent and what ends at one instant is counted twice.
    changes.sort_by_key(|&(at, change)| (at, -change));
    let in_flight = changes.iter().scan(0, |flying, (_, change)| {
        *flying += change;
        Some(*flying)
    });
    let slots = log.sent.iter().map(|(_, packet)| packet.tag as u32).max().map_or(0, |max| max + 1);
    assert!(i64::from(slots) <= in_flight.max().unwrap_or(0), "{slots}");
}

/// An application with a rate writes a chunk each 20 ms until the flow stops. Each is read
/// one delay of the path later, or one round trip after that, because its last segment is
/// not full and may wait for an acknowledgement (RFC 9293, 3.7.4).
#[test]
fn a_limited_application_writes_chunk_by_chunk() {
    // 10 000 bytes each 20 ms.
    let rate = TcpApplication::Rate(Bitrate::from_mbps(4));
    let flow = Flow { stop: Some(ms(190)), ..tcp("rate", rate, None, Config::default()) };
    let log = run(flow, &chain([both(&delay(5))]), ms(400));
    let written: Vec<_> =
        log.application_delays.iter().map(|(at, delay)| (*at - ms(0)) - *delay).collect();
    assert_eq!(written, (0..10).map(|n| MS * (20 * n)).collect::<Vec<_>>());
    // First the connection is opened.
    assert_eq!(log.application_delays[0].1, MS * 15);
    assert!(log.application_delays.iter().all(|(_, delay)| (MS * 5..=MS * 15).contains(delay)));
    assert_eq!(log.samples.last().map(|s| s.1.bytes_acked), Some(100_000));
}

/// A response takes a round trip, and another request follows after the think time.
#[test]
fn requests_follow_responses() {
    let kind = TcpApplication::Requests {
        request: Bytes::new(500),
        response: Bytes::new(1_000),
        think: Duration::from_millis(30),
    };
    let web = || tcp("web", kind.clone(), None, Config::default());
    let network = chain([both(&delay(10))]);
    let data = |log: &Log, node: u16, bytes: u16| {
        let of_node = log.sent.iter().filter(|(_, p)| (p.source, p.bytes) == (NodeId(node), bytes));
        of_node.map(|(at, _)| *at).collect::<Vec<_>>()
    };
    let log = run(web(), &network, ms(1_000));
    // The handshake takes 20 ms; then a cycle is 20 + 30 ms.
    assert_eq!(data(&log, 0, 552), (0..20).map(|n| ms(20 + 50 * n)).collect::<Vec<_>>());
    assert_eq!(data(&log, 1, 1_052), (0..20).map(|n| ms(30 + 50 * n)).collect::<Vec<_>>());
    // Of a request: from its write to its end at the server.
    assert_eq!(log.application_delays.len(), 20);
    assert!(log.application_delays[1..].iter().all(|(_, delay)| *delay == MS * 10));
    // A flow that stops while the client thinks.
    let log = run(Flow { stop: Some(ms(445)), ..web() }, &network, ms(1_000));
    assert_eq!(data(&log, 0, 552), (0..9).map(|n| ms(20 + 50 * n)).collect::<Vec<_>>());
}

/// tcp_sndbuf_expand by hand: an Ethernet segment needs 4 096 + 256 bytes, and the socket has
/// memory for twice the window; a segment holds 2 396 bytes of it.
#[test]
fn an_endless_stream_fills_the_socket() {
    let window = 40;
    let config = Config { receive_window: Bytes::new(window * 1_448), ..Config::default() };
    let network = chain([both(&limited(PACKET_A_MS, 1_000, 50))]);
    let log = run(bulk(config), &network, ms(5_000));
    let mut most = 0;
    for (at, sample) in log.samples.iter().filter(|(at, _)| *at > ms(0)) {
        let written = sample.bytes_written.expect("the model knows it");
        let held = written - sample.bytes_acked;
        assert!(held >= sample.bytes_in_flight && held >= most, "{at}: {sample:?}");
        most = held;
        let each = 4_352 * 1_448 / 2_396;
        let least = 2 * u64::from(sample.cwnd_packets) * each;
        assert!(held + each >= least.min((4 << 20) * 1_448 / 2_396), "{at}: {sample:?}");
    }
}

/// Unsent data is discarded when the flow stops; sent data is delivered.
#[test]
fn a_flow_that_stops_sends_nothing_new() {
    for (flow, least) in [
        (bulk(Config::default()), 50),
        (tcp("rate", TcpApplication::Rate(Bitrate::from_mbps(80)), None, Config::default()), 50),
    ] {
        let network = chain([both(&interface(limited(PACKET_A_MS, 1_000, 5)))]);
        let log = run(Flow { stop: Some(ms(300)), ..flow }, &network, ms(3_000));
        assert!(log.dropped.is_empty());
        let new = |(_, source, segment, _): &&(u64, NodeId, lasthop_tcp::Segment, _)| {
            *source == NodeId(0) && segment.payload_bytes > 0
        };
        let data = log.segments.iter().filter(new).count();
        let by_stop = log.sent.iter().filter(|(at, p)| *at <= ms(300) && p.notify).count();
        assert!(data >= least && data == by_stop, "{data} {by_stop}");
        let sent: u64 = log.segments.iter().filter(new).map(|s| u64::from(s.2.payload_bytes)).sum();
        let (_, last) = log.samples.last().expect("it is read");
        assert_eq!((last.bytes_acked, last.bytes_in_flight), (sent, 0));
    }
}

/// Small queues limit the data in the sender's interface. Without them the whole window waits
/// there, as it does in front of a line, which is another device, with or without small queues. A
/// bulk transfer fills the wire in either case.
#[test]
fn small_queues_bound_what_waits() {
    let line = limited(PACKET_A_MS, 5_000, 50);
    let most = |cable: &lasthop_net::CableConfig, small_queues| {
        let network = chain([both(cable)]);
        let config = Config { small_queues, ..Config::default() };
        let mut bed = Bed::new(&hosts(2, vec![bulk(config)], ms(3_000)), &network);
        bed.run_until(ms(3_000) - Duration::from_nanos(1), &|_| None);
        let Log { sent, arrived, .. } = &bed.log;
        let data = arrived.iter().filter(|(_, _, p)| p.bytes == 1_500).count();
        // Of 1 514 bytes a frame.
        let share = data as f64 * 1_514.0 * 8.0 / PACKET_A_MS.as_bps() as f64;
        assert!(share > 2.0, "{share}");
        let waits = |at: Instant| {
            let of_sender = |p: &lasthop_packet::Packet| p.source == NodeId(0);
            let sent = sent.iter().filter(|(sent, p)| of_sender(p) && *sent <= at).count();
            let left = arrived.iter().filter(|(left, _, p)| of_sender(p) && *left <= at + MS * 50);
            sent - left.count()
        };
        (1..58).map(|n| waits(ms(50 * n))).max().unwrap_or(0)
    };
    let limit = Bytes::new(10_000);
    // Seven packets exceed 10 000 bytes; the one that does is still sent. Another one or
    // two are in transmission, or about to be released.
    let fixed = SmallQueues::Fixed { limit, overhead: Bytes::ZERO };
    let own = interface(line.clone());
    let bounded = most(&own, fixed);
    assert!((6..=9).contains(&bounded), "{bounded}");
    let free = most(&own, SmallQueues::Off);
    assert!(free > 100, "{free}");
    assert_eq!(most(&line, fixed), free);
}

/// A full queue of the sender's node refuses segments if the kernel supports that, so none is lost;
/// otherwise it drops them.
#[test]
fn a_full_queue_refuses_or_drops() {
    let network = chain([both(&limited(PACKET_A_MS, 20, 20))]);
    for local_congestion in [true, false] {
        let config =
            Config { local_congestion, small_queues: SmallQueues::Off, ..Config::default() };
        let log = run(bulk(config), &network, ms(5_000));
        assert_eq!(log.dropped.is_empty(), local_congestion, "{}", log.dropped.len());
        let (_, last) = log.samples.last().expect("it is read");
        assert_eq!(last.retransmissions == 0, local_congestion);
        let share =
            last.bytes_acked as f64 * 8.0 * (1_514.0 / 1_448.0) / PACKET_A_MS.as_bps() as f64;
        assert!((3.5..5.0).contains(&share), "{local_congestion}: {share}");
        // A refused segment was reported, but not sent.
        assert_eq!(log.segments.len() > log.sent.len(), local_congestion);
    }
}

/// Ten segments of one window arrive 1.5 ms apart. One by one each has an acknowledgement at once
/// (quick acknowledgements); merged, one answers all, or as many as one may have; a wait that ends
/// between two segments cuts the rest off.
#[test]
fn merged_segments_have_one_acknowledgement() {
    let network = chain([both(&limited(PACKET_A_MS, 1_000, 20))]);
    let acknowledgements = |receive_offload| {
        let mut flow = tcp("one", TcpApplication::Bulk, Some(14_480), Config::default());
        let FlowKind::Tcp(tcp) = &mut flow.kind else { panic!("it is") };
        tcp.receive_offload = receive_offload;
        let log = run(flow, &network, ms(300));
        let bare = log.segments.iter().filter(|s| s.1 == NodeId(1) && !s.2.syn);
        bare.map(|s| (s.2.acknowledgement.unwrap_or(0) - 1) / 1_448).collect::<Vec<_>>()
    };
    let merged = |segments_max, wait| {
        let wait = Duration::from_micros(wait);
        acknowledgements(Some(ReceiveOffload { segments_max, wait }))
    };
    assert_eq!(acknowledgements(None), (1..=10).collect::<Vec<_>>());
    assert_eq!(merged(64, 30_000), [10]);
    assert_eq!(merged(4, 30_000), [4, 8, 10]);
    assert_eq!(merged(64, 7_000), [5, 10]);
}

/// tcp_update_metrics and tcp_init_metrics: a connection between the same nodes begins with the
/// threshold of the one before, so that slow start does not overflow the queue again. One in the
/// other direction, or that starts before the first has ended, knows nothing.
#[test]
fn a_later_connection_inherits_the_threshold() {
    // Slow start until loss: 20 packets of 1 500 bytes wait in front of 8 Mb/s.
    let network = chain([both(&limited(PACKET_A_MS, 20, 20))]);
    let lost = |metrics_save, from, start| {
        let congestion_control = CongestionControlKind::NewReno;
        let config = Config { congestion_control, ..Config::default() };
        let flows = [("first", 0, ms(0)), ("second", from, start)].map(|(name, from, start)| {
            let mut flow = tcp(name, TcpApplication::Bulk, Some(3_000_000), config);
            let FlowKind::Tcp(tcp) = &mut flow.kind else { panic!("it is") };
            tcp.metrics_save = metrics_save;
            Flow { from: NodeId(from), to: NodeId(1 - from), start, ..flow }
        });
        let (log, _) = Bed::new(&hosts(2, flows.into(), ms(20_000)), &network).run();
        // Of slow start, in the first half second.
        [(0, ms(0)), (1, start)].map(|(id, start)| {
            let is_early = |at: Instant| (start..start + MS * 500).contains(&at);
            let of_flow = log.dropped.iter().filter(|(_, _, p, _)| p.flow == FlowId(id));
            of_flow.filter(|(at, ..)| is_early(*at)).count()
        })
    };
    let [first, second] = lost(false, 0, ms(10_000));
    assert_eq!(first, second, "nothing is kept");
    assert!(first > 10, "{first}");
    assert_eq!(lost(true, 0, ms(10_000)), [first, 0]);
    assert_eq!(lost(true, 1, ms(10_000)), [first, second]);
}

#[test]
fn a_congestion_control_of_a_kernel_is_refused() {
    let mut flow = transfer("one", 1);
    let FlowKind::Tcp(tcp) = &mut flow.kind else { panic!("it is") };
    (tcp.endpoints, tcp.congestion_control) = (None, "vegas".to_string());
    let refused = Bed::try_new(&hosts(2, vec![flow], ms(1)), &chain([both(&delay(1))]));
    let name = "vegas".to_string();
    let expected = HostsError::CongestionControl { flow: "one".to_string(), name };
    assert_eq!(refused.err(), Some(expected));
    assert_eq!(HEADER_BYTES, 20 + 20 + 12);
}
