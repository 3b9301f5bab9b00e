//! Coded links: each packet that enters at one end leaves at the other, unchanged, once and in
//! order, or is reported as dropped; places of the machines, outages, overhearing.

use super::bed::*;
use crate::{
    DRIVER_TAGS, Flow, FlowKind, FrancLink, FrancMachine, FrancNode, FrancOutage, FrancPart,
    HostsConfig, HostsError, SourceConfig, traffic,
};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_franc::config::{Keys, SyntheticLoss};
use lasthop_franc::{Config, NodeId as Number, Role};
use lasthop_net::network::{NetworkConfig, NodeConfig, Output};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_units::{Bitrate, Duration, Identity, Instant, MacAddr, Probability};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{CellConfig, PairConfig, Role as CellRole, RxInterrupt, StationConfig};
use lasthop_wifi::phy::{Band, ChannelWidth, GuardInterval, OfdmRate, Propagation, Rate, Standard};

fn config(number: u8, role: Role) -> Config {
    Config::new(Number(number), role, Keys::Shared([7; 32]), 1_400)
}

fn end(number: u8, peer: u8, via: u8, helpers: u8) -> Config {
    config(number, Role::End { peer: Number(peer), via: Number(via), helpers })
}

/// A link of these machines, the first of them in node `first` of the network.
fn link(first: u16, machines: Vec<FrancMachine>) -> FrancLink {
    let node = |(at, machine)| FrancNode { node: NodeId(first + at as u16), machine };
    let nodes: Vec<_> = machines.into_iter().enumerate().map(node).collect();
    FrancLink {
        name: "link".to_string(),
        path: nodes.len(),
        nodes,
        mtu: 1_200,
        interface_packets: None,
        second: None,
        outages: Vec::new(),
    }
}

fn coded(configs: impl IntoIterator<Item = Config>) -> Vec<FrancMachine> {
    configs.into_iter().map(|config| FrancMachine::Coded(Box::new(config))).collect()
}

/// Machines that lose each other's frames with these probabilities.
fn plain<const N: usize>(loss_from: [[f64; N]; N], packets_max: u32) -> Vec<FrancMachine> {
    let machine = |loss: &[f64; N]| FrancMachine::Plain {
        packets_max,
        loss_from: loss.iter().map(|&p| probability(p)).collect(),
    };
    loss_from.iter().map(machine).collect()
}

fn fast(ms: u64, loss: f64) -> [lasthop_net::cable::CableConfig; 2] {
    both(&lossy(limited(Bitrate::from_mbps(60), 1_000, ms), loss))
}

/// Asserts that all packets of `flow` arrived at `node`, once, in order, and later than
/// they can.
#[track_caller]
fn assert_all_arrived(log: &Log, flow: u16, node: u16, least: Duration) {
    let sent = log.sent.iter().filter(|(_, p)| p.flow == FlowId(flow));
    let sent: Vec<_> = sent.map(|(at, p)| (*at, p.tag)).collect();
    let arrived = log.arrived_at(flow, node);
    let tags = |list: &[(Instant, u64)]| list.iter().map(|(_, tag)| *tag).collect::<Vec<_>>();
    assert!(sent.len() > 100);
    assert_eq!(tags(&arrived), tags(&sent), "flow {flow}");
    assert!(sent.iter().zip(&arrived).all(|(sent, arrived)| arrived.0 >= sent.0 + least));
}

/// The ends of a link may be anywhere on the path of a flow; nodes between them recode
/// or forward. Losses on the wires of the link are repaired.
#[test]
fn all_that_enters_comes_out_once_and_in_order() {
    let recoder = || config(2, Role::Recoder { between: [Number(1), Number(3)] });
    let forwarder = || config(2, Role::Forwarder { between: [Number(1), Number(3)] });
    // Ends send by way of a recoder, but through a forwarder.
    for (between, via) in [(vec![], [2, 1]), (vec![recoder()], [2, 2]), (vec![forwarder()], [3, 1])]
    {
        let relays = between.len() as u16;
        let last = 2 + relays as u8;
        let ends = [end(1, last, via[0], 0), end(last, 1, via[1], 0)];
        let machines = coded([ends[0].clone()].into_iter().chain(between).chain([ends[1].clone()]));
        let mut wires = vec![both(&delay(1))];
        wires.extend((0..=relays).map(|_| fast(4, 0.1)));
        wires.push(both(&delay(2)));
        let far = wires.len() as u16;
        let flows = vec![
            Flow { start: ms(300), stop: Some(ms(700)), ..cbr("there", 0, far) },
            Flow { start: ms(350), stop: Some(ms(600)), ..cbr("back", far, 0) },
            // Not by way of the link.
            Flow { stop: Some(ms(400)), ..cbr("beside", 0, 1) },
        ];
        let config = with_link(hosts(usize::from(far) + 1, flows, ms(3_000)), link(1, machines));
        let (log, stats) = Bed::new(&config, &chain(wires)).run();
        let across = MS * (3 + 4 * (u64::from(relays) + 1));
        assert_all_arrived(&log, 0, far, across);
        assert_all_arrived(&log, 1, 0, across);
        assert_eq!(log.arrived_at(2, 1), (0..400).map(|n| (ms(1 + n), n)).collect::<Vec<_>>());
        let of_flows = log.dropped.iter().filter(|(_, _, p, _)| p.flow != FlowId::NONE);
        assert_eq!(of_flows.count(), 0);
        assert!(stats.wires.iter().map(|wire| wire.2.lost).sum::<u64>() > 50, "wires do lose");
        // What the link reports of each packet: where it entered, and the time inside.
        assert_eq!(log.carried.len(), 650);
        for (near, delays, flow) in [(1, 3, 0), (1 + relays + 1, 3, 1)] {
            let arrivals = log.arrived_at(flow, if flow == 0 { far } else { 0 });
            let carried: Vec<_> = log.carried.iter().filter(|c| c.2 == NodeId(near)).collect();
            assert_eq!(carried.len(), arrivals.len());
            let sent: Vec<_> = log.sent.iter().filter(|(_, p)| p.flow == FlowId(flow)).collect();
            for ((carried, arrival), sent) in carried.into_iter().zip(arrivals).zip(sent) {
                assert_eq!(carried.3 + MS * delays, arrival.0 - sent.0);
            }
        }
        let [report] = &log.francs[..] else { panic!("{:?}", log.francs) };
        assert_eq!((report.corrupt, report.path), (0, 2 + usize::from(relays)));
        let nodes: Vec<_> = report.nodes.iter().map(|node| node.node.0).collect();
        assert_eq!(nodes, (1..=2 + relays).collect::<Vec<_>>());
        let [near, .., far] = &report.nodes[..] else { panic!("it has two ends") };
        let packets = [&near.stats, &far.stats].map(|stats| (stats.packets_in, stats.packets_out));
        assert_eq!(packets, [(400, 250), (250, 400)]);
    }
}

/// A transfer over a coded link sees the losses of the wires as delay.
#[test]
fn tcp_sees_no_losses() {
    let machines = coded([end(1, 2, 2, 0), end(2, 1, 1, 0)]);
    let flow = Flow { start: ms(300), ..super::tcp::transfer("tcp", 500_000) };
    let config = with_link(hosts(2, vec![flow], ms(20_000)), link(0, machines));
    let (log, _) = Bed::new(&config, &chain([fast(4, 0.1)])).run();
    let (_, last) = log.samples.last().expect("it is read");
    assert_eq!(last.bytes_acked, 500_000);
    // Datagrams, and acknowledgements that the backlog replaced.
    let of_flow: Vec<_> =
        log.dropped.iter().filter(|(_, _, p, _)| p.flow != FlowId::NONE).collect();
    assert!(of_flow.iter().all(|(_, _, p, _)| p.bytes < 80), "no data");
    let superseded: u64 = log.francs[0].nodes.iter().map(|node| node.stats.acks_superseded).sum();
    assert_eq!(of_flow.len() as u64, superseded);
    assert!(of_flow.iter().all(|dropped| dropped.3 == DropReason::AckReplaced));
    assert!(log.dropped.len() > 30);
    assert_eq!((log.francs[0].corrupt, last.retransmissions), (0, 0));
    // Segments fit in the link.
    let data = log.sent.iter().filter(|(_, p)| p.flow == FlowId(0)).map(|(_, p)| p.bytes);
    assert_eq!(data.max(), Some(1_200));
}

/// During an outage of an end, packets that reach it are dropped there; afterwards another machine
/// runs. The counters continue meanwhile.
#[test]
fn an_outage_loses_what_comes_meanwhile() {
    let machines = coded([end(1, 2, 2, 0), end(2, 1, 1, 0)]);
    let (from, until) = (us(500_500), us(700_500));
    let outage = FrancOutage { part: FrancPart::Node(0), from, until: Some(until) };
    let link = FrancLink { outages: [outage].into(), ..link(0, machines) };
    let flow = Flow { start: ms(300), stop: Some(ms(2_000)), ..cbr("one", 0, 1) };
    let config = with_link(hosts(2, vec![flow], ms(4_000)), link);
    let (log, _) = Bed::new(&config, &chain([fast(1, 0.0)])).run();
    let lost: Vec<_> = log.dropped.iter().filter(|(_, _, p, _)| p.flow == FlowId(0)).collect();
    assert!(lost.iter().all(|lost| (lost.1, lost.3) == (NodeId(0), DropReason::CodedLink)));
    let meanwhile = lost.iter().filter(|lost| from < lost.0 && lost.0 < until);
    assert_eq!(meanwhile.count(), 200);
    let arrived: Vec<_> = log.arrived_at(0, 1).into_iter().map(|(at, _)| at).collect();
    assert!(arrived.iter().all(|at| *at < from + MS * 50 || *at > until), "nothing comes out");
    assert!(arrived.contains(&ms(400)) || arrived.iter().filter(|at| **at < from).count() > 190);
    assert!(arrived.iter().filter(|at| **at > until).count() > 1_000, "it recovers");
    let stats = &log.francs[0].nodes[0].stats;
    // 1 700 packets less those of the outage, over both lives.
    assert_eq!((stats.packets_in, log.francs[0].corrupt), (1_500, 0));
    assert!(stats.sessions >= 2);
    // An end that stays dead.
    let never = FrancOutage { until: None, ..outage };
    let link = FrancLink { outages: [never].into(), ..config.francs[0].clone() };
    let config = HostsConfig { francs: [link].into(), ..config };
    let (log, _) = Bed::new(&config, &chain([fast(1, 0.0)])).run();
    let lost = log.dropped.iter().filter(|(at, _, p, _)| p.flow == FlowId(0) && *at > from);
    assert_eq!(lost.count(), 1_499);
    assert_eq!(log.francs[0].nodes[0].stats.packets_in, 201);
}

/// Packets that enter at the other end meanwhile are all accounted for: a packet that does not
/// leave is missing before the first that does, and is reported as dropped.
#[test]
fn what_an_outage_swallows_is_reported() {
    let machines = coded([end(1, 2, 2, 0), end(2, 1, 1, 0)]);
    let outage =
        FrancOutage { part: FrancPart::Node(0), from: us(500_500), until: Some(us(1_500_500)) };
    let link = FrancLink { outages: [outage].into(), ..link(0, machines) };
    let flow = Flow { start: ms(300), stop: Some(ms(3_000)), ..cbr("back", 1, 0) };
    let config = with_link(hosts(2, vec![flow], ms(8_000)), link);
    let (log, _) = Bed::new(&config, &chain([fast(10, 0.0)])).run();
    let lost: Vec<_> = log.dropped.iter().filter(|(_, _, p, _)| p.flow == FlowId(0)).collect();
    assert!(lost.len() > 10, "{}", lost.len());
    assert!(lost.iter().all(|lost| (lost.1, lost.3) == (NodeId(1), DropReason::CodedLink)));
    let mut tags: Vec<_> = log.arrived_at(0, 0).into_iter().map(|(_, tag)| tag).collect();
    assert!(tags.is_sorted() && tags.last() == Some(&2_699));
    tags.extend(lost.iter().map(|(_, _, packet, _)| packet.tag));
    tags.sort_unstable();
    assert_eq!(tags, (0..2_700).collect::<Vec<_>>());
}

#[test]
fn counters_restart_after_the_warm_up() {
    let machines = || coded([end(1, 2, 2, 0), end(2, 1, 1, 0)]);
    let packets_in = |machines: Vec<FrancMachine>, warmup, outages: Vec<FrancOutage>| {
        let flow = Flow { start: ms(300), stop: Some(ms(600)), ..cbr("one", 0, 1) };
        let link = FrancLink { outages, ..link(0, machines) };
        let config = HostsConfig { warmup, ..with_link(hosts(2, vec![flow], ms(1_000)), link) };
        let (log, _) = Bed::new(&config, &chain([fast(1, 0.0)])).run();
        let [one, other] = &log.francs[0].nodes[..] else { panic!("two nodes") };
        (one.stats.packets_in, other.stats.packets_out)
    };
    let half = Duration::from_micros(450_500);
    assert_eq!(packets_in(machines(), Duration::ZERO, vec![]), (300, 300));
    // What enters at 451 to 599 ms.
    assert_eq!(packets_in(machines(), half, vec![]).0, 149);
    assert_eq!(packets_in(plain([[0.0; 2]; 2], 9), half, vec![]).0, 149);
    // The counters of a machine that died before do not count either.
    let outage =
        FrancOutage { part: FrancPart::Node(0), from: us(400_500), until: Some(us(420_500)) };
    assert_eq!(packets_in(machines(), half, vec![outage]).0, 149);
}

/// A link that is not coded forwards every packet, and injects losses hop by hop.
#[test]
fn a_plain_link_loses_what_it_injects() {
    let machines = plain([[0.0, 0.1, 0.0], [0.2, 0.0, 0.3], [0.0, 0.25, 0.0]], 50);
    let flows = vec![
        Flow { stop: Some(ms(2_000)), ..cbr("there", 0, 2) },
        Flow { stop: Some(ms(2_000)), ..cbr("back", 2, 0) },
    ];
    let config = with_link(hosts(3, flows, ms(2_100)), link(0, machines));
    let (log, _) = Bed::new(&config, &chain([both(&delay(2)), both(&delay(3))])).run();
    let lost = |flow: u16, node: u16| {
        let of_flow = log.dropped.iter().filter(|(_, _, p, _)| p.flow == FlowId(flow));
        of_flow.filter(|lost| lost.1 == NodeId(node)).count()
    };
    // Of 2 000 packets: lost at the relay, at the far end, and what arrives.
    for (flow, far, first, second) in [(0, 2, 0.2, 0.25), (1, 0, 0.3, 0.1)] {
        let arrived = log.arrived_at(flow, far);
        assert_eq!(arrived.len() + lost(flow, 1) + lost(flow, far), 2_000);
        let close = |count: usize, of: f64, p: f64| {
            let deviation = libm::sqrt(of * p * (1.0 - p));
            assert!((count as f64 - of * p).abs() < 4.0 * deviation, "{count} is not {p} of {of}");
        };
        close(lost(flow, 1), 2_000.0, first);
        close(lost(flow, far), 2_000.0 * (1.0 - first), second);
        assert!(
            arrived
                .iter()
                .all(|(at, _)| (*at - Instant::ZERO).as_nanos().is_multiple_of(1_000_000))
        );
        assert!(log.carried.iter().all(|carried| carried.3 == MS * 5));
    }
    assert!(log.dropped.iter().all(|(.., reason)| *reason == DropReason::CodedLink));
    let stats: Vec<_> = log.francs[0].nodes.iter().map(|node| &node.stats).collect();
    let injected: Vec<_> = stats.iter().map(|stats| stats.injected_losses as usize).collect();
    assert_eq!(injected, [lost(1, 0), lost(0, 1) + lost(1, 1), lost(0, 2)]);
    let count = |flow, node| log.arrived_at(flow, node).len() as u64;
    for (at, arrived) in [(0, count(1, 0)), (2, count(0, 2))] {
        let stats = stats[at];
        assert_eq!((stats.packets_in, stats.bytes_in), (2_000, 2_000_000));
        assert_eq!((stats.packets_out, stats.bytes_out), (arrived, 1_000 * arrived));
        assert_eq!((stats.source_sent, stats.datagram_bytes_sent), (2_000, 2_000_000));
        // An end receives what it delivers, as its neighbour sent it.
        assert_eq!(stats.datagram_bytes_received, 1_000 * arrived);
        assert_eq!(stats.backlog_drops, 0);
    }
    let relayed = 4_000 - lost(0, 1) as u64 - lost(1, 1) as u64;
    assert_eq!((stats[1].source_sent, stats[1].packets_in), (relayed, 0));
    assert_eq!(stats[1].datagram_bytes_received, 1_000 * relayed);
}

/// No packet leaves at the instant of a burst: of ten packets two are in the interface, three in
/// the program, and the rest is dropped.
#[test]
fn a_plain_link_holds_what_it_may() {
    let link = FrancLink { interface_packets: Some(2), ..link(0, plain([[0.0; 2]; 2], 3)) };
    let burst = FlowKind::Video(SourceConfig::Video {
        frames_per_s: 2.0,
        sizes: traffic::Sizes::Constant(10 * 972),
        key_frames: None,
        packet_bytes_max: 1_000,
    });
    let flow = Flow { stop: Some(ms(900)), ..flow("burst", 0, 1, burst) };
    let config = with_link(hosts(2, vec![flow], ms(1_000)), link);
    let (log, _) = Bed::new(&config, &chain([both(&limited(PACKET_A_MS, 100, 0))])).run();
    let arrived: Vec<_> = log.arrived_at(0, 1).into_iter().map(|(at, _)| at).collect();
    let expected: Vec<_> =
        [0, 500].iter().flat_map(|at| (1..=5).map(move |n| ms(at + n))).collect();
    assert_eq!(arrived, expected);
    assert_eq!(log.dropped.len(), 10);
    let stats = &log.francs[0].nodes[0].stats;
    assert_eq!((stats.backlog_drops, stats.packets_in, stats.backlog_packets), (10, 20, 0));
}

/// A frame that a queue of the network drops is a packet that a plain link loses.
#[test]
fn a_plain_link_reports_frames_that_queues_drop() {
    let wire = limited(PACKET_A_MS, 4, 0);
    let burst = FlowKind::Video(SourceConfig::Video {
        frames_per_s: 2.0,
        sizes: traffic::Sizes::Constant(10 * 972),
        key_frames: None,
        packet_bytes_max: 1_000,
    });
    let config = with_link(
        hosts(2, vec![flow("burst", 0, 1, burst)], ms(400)),
        link(0, plain([[0.0; 2]; 2], 100)),
    );
    let (log, _) = Bed::new(&config, &chain([both(&wire)])).run();
    let of_flow = |p: &Packet| p.flow == FlowId(0);
    // One in transmission, four in the queue.
    assert_eq!(log.arrived.iter().filter(|(_, _, p)| of_flow(p)).count(), 5);
    let lost: Vec<_> = log.dropped.iter().filter(|(_, _, p, _)| of_flow(p)).collect();
    assert_eq!(lost.len(), 5);
    assert!(lost.iter().all(|lost| (lost.1, lost.3) == (NodeId(0), DropReason::CodedLink)));
}

/// A saturated flow into a link keeps the queue behind the link full.
#[test]
fn a_saturated_flow_keeps_a_link_busy() {
    let full = Flow { start: ms(10), stop: Some(ms(210)), ..saturated("full", 0, 1) };
    let link = link(0, plain([[0.0; 2]; 2], 100));
    let config = with_link(hosts(2, vec![full], ms(400)), link);
    let mut bed = Bed::new(&config, &chain([both(&limited(PACKET_A_MS, 20, 0))]));
    bed.run_until(ms(400), &|_| None);
    let log = &bed.log;
    assert!(log.dropped.is_empty(), "{:?}", log.dropped.first());
    let arrived: Vec<_> = log.arrived_at(0, 1).into_iter().map(|(at, _)| at).collect();
    let sent = log.sent.iter().filter(|(_, p)| p.flow == FlowId(0));
    assert!(sent.clone().all(|(at, p)| ms(10) <= *at && *at < ms(210) && !p.notify));
    assert_eq!((arrived.len(), arrived[0]), (sent.count(), ms(11)));
    assert!(arrived.windows(2).all(|pair| pair[1] == pair[0] + MS), "without a gap");
    assert!((215..=225).contains(&arrived.len()), "{}", arrived.len());
}

/// Frames of a driver pass as they are; equal ones stay in order.
#[test]
fn frames_of_a_driver_pass_unchanged() {
    let machines = coded([end(1, 2, 2, 0), end(2, 1, 1, 0)]);
    let config = with_link(hosts(2, vec![], ms(2_000)), link(0, machines));
    let mut bed = Bed::new(&config, &chain([fast(2, 0.1)]));
    bed.run_until(ms(300), &|_| None);
    // An Ethernet header, and an IPv4 packet of 60 bytes (RFC 791) of which the last is
    // the tag, halved: two and two are equal. The driver no longer has the last,
    // which is of other sockets.
    let frames = |tag: u64| {
        let mut frame = vec![0; 74];
        (frame[12], frame[14], frame[17], frame[23]) = (8, 0x45, 60, 17);
        frame[73] = (tag - DRIVER_TAGS) as u8 / 2;
        (tag < DRIVER_TAGS + 20).then_some(frame)
    };
    for tag in 0..=20 {
        let packet = Packet {
            flow: FlowId(3),
            flow_hash: u32::from(tag == 20),
            destination: NodeId(1),
            ..Packet::new(DRIVER_TAGS + tag, 60, ms(300))
        };
        bed.hosts.handle_packet(ms(300), packet, &mut bed.log, &frames);
    }
    bed.run_until(ms(1_999), &frames);
    let mut out = vec![];
    while let Some(output) = bed.hosts.poll_output() {
        let Output::Arrived { node: NodeId(1), packet, .. } = output else { panic!("{output:?}") };
        out.push((packet.tag - DRIVER_TAGS, packet.bytes));
    }
    out.sort_by_key(|(tag, _)| *tag == 20);
    assert_eq!(out, (0..=20).map(|tag| (tag, 60)).collect::<Vec<_>>());
    bed.hosts.finish(ms(2_000), &mut bed.log);
    assert_eq!(bed.log.francs[0].corrupt, 0);
}

/// Three stations that hear each other. The third overhears the first two.
fn cell() -> NetworkConfig {
    cell_at(Rate::Ofdm(OfdmRate::Mbps24), Standard::Dot11a, RxInterrupt::Mpdu)
}

fn cell_at(rate: Rate, standard: Standard, rx_interrupt: RxInterrupt) -> NetworkConfig {
    let station = |index: u16| {
        let identity = Identity::numbered(u64::from(index));
        let role = if index == 0 { CellRole::AccessPoint } else { CellRole::Station };
        StationConfig {
            address: MacAddr::local(u32::from(index)),
            promiscuous: index == 2,
            rx_interrupt,
            ..StationConfig::fixed(role, identity, rate)
        }
    };
    let propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
    let link = propagation.link_with_loss(Probability::new(0.0).expect("a probability"));
    let pairs = (0..3u16).flat_map(|from| (0..3u16).map(move |to| (from, to)));
    let links = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| PairConfig::steady(StationId(from), StationId(to), link))
        .collect();
    let node = |index: u16| NodeConfig {
        station: Some(StationId(index)),
        identity: Identity::numbered(u64::from(index)),
        ..NodeConfig::default()
    };
    let cell = CellConfig {
        beacon_interval: None,
        independent: true,
        ..CellConfig::new(standard, Band::Ghz5, (0..3).map(station).collect(), links)
    };
    NetworkConfig { nodes: (0..3).map(node).collect(), cell: Some(cell), wires: vec![] }
}

/// A helper overhears frames that an end misses, and sends combinations of them.
#[test]
fn a_helper_helps() {
    let loss = Probability::new(0.4).expect("a probability");
    let deaf = |config: Config, from| Config {
        synthetic: [SyntheticLoss { from: Number(from), loss }].into(),
        ..config
    };
    let helper = config(3, Role::Helper { between: [Number(1), Number(2)], helpers: 1 });
    let machines = coded([deaf(end(1, 2, 2, 1), 2), deaf(end(2, 1, 1, 1), 1), helper]);
    let link = FrancLink { path: 2, ..link(0, machines) };
    let rate = Bitrate::from_mbps(2);
    let kind = FlowKind::Udp(SourceConfig::Cbr { rate, bytes: 1_000 });
    let flow = Flow { start: ms(300), stop: Some(ms(1_300)), ..flow("one", 0, 1, kind) };
    let config = with_link(hosts(3, vec![flow], ms(3_000)), link);
    let (log, stats) = Bed::new(&config, &cell()).run();
    assert_all_arrived(&log, 0, 1, Duration::ZERO);
    let [near, far, helper] = &log.francs[0].nodes[..] else { panic!("three nodes") };
    assert!(helper.stats.innovative > 200, "it overhears: {:?}", helper.stats);
    assert!(helper.stats.coded_sent > 20, "it sends: {:?}", helper.stats);
    assert!(far.stats.injected_losses > 50 && near.stats.packets_in == 250);
    // Its datagrams go to the far end over the air.
    let hops: Vec<_> = stats.links.iter().map(|(from, to, _)| (from.0, to.0)).collect();
    assert!(hops.contains(&(2, 1)), "{hops:?}");
}

/// MPDUs of an A-MPDU are overheard as well, whether the receiver delivers each MPDU at its end or
/// all at the end of the PPDU.
#[test]
fn aggregates_are_overheard() {
    let helper = config(3, Role::Helper { between: [Number(1), Number(2)], helpers: 1 });
    let machines = coded([end(1, 2, 2, 1), end(2, 1, 1, 1), helper]);
    let link = FrancLink { path: 2, ..link(0, machines) };
    // More than single MPDUs at 13 Mb/s carry.
    let kind = FlowKind::Udp(SourceConfig::Cbr { rate: Bitrate::from_mbps(11), bytes: 1_000 });
    let flow = Flow { start: ms(300), stop: Some(ms(1_300)), ..flow("one", 0, 1, kind) };
    let config = with_link(hosts(3, vec![flow], ms(3_000)), link);
    let rate = Rate::Ht { mcs: 1, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
    for rx_interrupt in [RxInterrupt::Mpdu, RxInterrupt::Ppdu] {
        let network = cell_at(rate, Standard::Dot11n, rx_interrupt);
        let (log, stats) = Bed::new(&config, &network).run();
        let [near, _, helper] = &log.francs[0].nodes[..] else { panic!("three nodes") };
        let (_, _, air) = stats
            .links
            .iter()
            .find(|(from, to, _)| (from.0, to.0) == (0, 1))
            .expect("the ends talk");
        assert!(air.mpdus > 2 * air.ppdus, "{} MPDUs in {} PPDUs", air.mpdus, air.ppdus);
        // Nothing is lost: all that is sent is new to the helper.
        let sent = near.stats.packets_in;
        let heard = helper.stats.innovative;
        assert!(sent > 1_000 && heard > 9 * sent / 10, "{rx_interrupt:?}: {heard} of {sent}");
    }
}

#[test]
fn a_link_names_itself_in_an_error() {
    let machines = coded([end(1, 1, 1, 0), end(2, 1, 1, 0)]);
    let config = with_link(hosts(2, vec![], ms(1)), link(0, machines));
    let Err(HostsError::Franc { link, why }) = Bed::try_new(&config, &chain([both(&delay(1))]))
    else {
        panic!("an end is not its own peer");
    };
    assert_eq!((link.as_str(), why), ("link", lasthop_franc::ConfigError::Twice(Number(1))));
}
