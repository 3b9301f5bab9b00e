//! Networks of hosts and wires, and of a small cell; larger cells are tested through
//! `sim`.

mod backlogs;
mod offload;
mod sources;

use super::*;
use crate::cable::CableConfig;
use lasthop_units::{Duration, Identity};
use proptest::prelude::*;

fn wires(ends: &[(u16, u16)], delay_ms: u64) -> Vec<WiredLink> {
    let direction =
        CableConfig { delay: Duration::from_millis(delay_ms), ..CableConfig::default() };
    let link = |&(a, b): &(u16, u16)| WiredLink {
        ends: [NodeId(a), NodeId(b)],
        directions: [direction.clone(), direction.clone()],
    };
    ends.iter().map(link).collect()
}

fn host(number: u64) -> NodeConfig {
    NodeConfig { identity: Identity::numbered(number), ..NodeConfig::default() }
}

fn hosts(nodes: usize, ends: &[(u16, u16)]) -> NetworkConfig {
    let nodes = (0..nodes as u64).map(host).collect();
    NetworkConfig { nodes, cell: None, wires: wires(ends, 10) }
}

fn packet(tag: u64, source: u16, destination: u16) -> Packet {
    Packet {
        source: NodeId(source),
        destination: NodeId(destination),
        ..Packet::new(tag, 1000, Instant::ZERO)
    }
}

/// Offers a packet; returns whether it was accepted.
fn offer(network: &mut Network, now: Instant, packet: &Packet) -> bool {
    network.handle_offer(now, packet, 1, |_| {}) == 1
}

/// Returns the outputs but the nodes that have space.
fn polled(network: &mut Network) -> impl Iterator<Item = Output> {
    let outputs = core::iter::from_fn(|| network.poll_output());
    outputs.filter(|output| !matches!(output, Output::Space { .. }))
}

/// Runs the network until nothing is due; returns its outputs.
fn drain(network: &mut Network) -> Vec<Output> {
    let mut outputs = Vec::new();
    loop {
        outputs.extend(polled(network));
        match network.poll_timeout() {
            Some((at, _)) => network.handle_timeout(at),
            None => return outputs,
        }
    }
}

#[test]
fn packets_take_every_wire_on_their_path() {
    let mut network = Network::new(&hosts(4, &[(0, 1), (1, 2), (1, 3)]), Seed::new(1, 0))
        .expect("a sound network");
    network.handle_packet(Instant::ZERO, packet(7, 0, 3));
    let at = Instant::ZERO + Duration::from_millis(20);
    match drain(&mut network)[..] {
        [Output::Arrived { at: when, node, packet }] => {
            assert_eq!((when, node, packet.tag), (at, NodeId(3), 7));
            assert_eq!(packet.parts.total(), Duration::from_millis(20));
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn what_has_a_loop_is_refused() {
    let error = |nodes, ends: &[(u16, u16)]| {
        Network::new(&hosts(nodes, ends), Seed::new(1, 0)).expect_err("it must be refused")
    };
    assert_eq!(error(4, &[(0, 1), (1, 2), (2, 3), (3, 1)]), NetworkError::Loop(1));
    // As many wires as a tree has, but a loop beside a node on its own.
    assert_eq!(error(4, &[(1, 2), (2, 3), (3, 1)]), NetworkError::Loop(1));
    assert_eq!(error(2, &[(0, 1), (1, 0)]), NetworkError::Loop(0));
    assert_eq!(error(2, &[(0, 0)]), NetworkError::Wire(0));
    assert_eq!(error(2, &[(0, 5)]), NetworkError::Wire(0));
}

/// Two trees and a single node: packets reach their own tree, and those to another one are only
/// counted.
#[test]
fn between_trees_nothing_gets_across() {
    // 0 - 1 - 2, 3 - 4, 5.
    let mut network = Network::new(&hosts(6, &[(0, 1), (1, 2), (3, 4)]), Seed::new(1, 0))
        .expect("a sound network");
    let joined: Vec<bool> = (0..6).map(|to| network.joins(NodeId(2), NodeId(to))).collect();
    assert_eq!(joined, [true, true, true, false, false, false]);
    let parts = [(0, 2), (3, 4)];
    for (tag, (source, destination)) in (0..).zip([(0, 2), (0, 4), (4, 0), (3, 4), (5, 0), (2, 5)])
    {
        assert_eq!(network.path_mtu(NodeId(source), NodeId(destination)) == u16::MAX, {
            !parts.contains(&(source, destination))
        });
        let packet = packet(tag, source, destination);
        // A saturated source finds no space rather than a queue that is always empty.
        assert!(
            network.joins(NodeId(source), NodeId(destination)) || {
                !offer(&mut network, Instant::ZERO, &packet)
            }
        );
        network.handle_packet(Instant::ZERO, packet);
    }
    network.handle_packet(Instant::ZERO, packet(6, 4, Packet::EVERYWHERE.0));
    network.handle_packet(Instant::ZERO, packet(7, 5, Packet::EVERYWHERE.0));
    let (mut arrived, mut dropped, mut released) = (Vec::new(), Vec::new(), Vec::new());
    for output in drain(&mut network) {
        match output {
            Output::Arrived { node, packet, .. } => arrived.push((packet.tag, node.0)),
            Output::Dropped { node, packet, reason: DropReason::Unreachable, .. } => {
                dropped.push((packet.tag, node.0));
            }
            Output::Released { tag } => released.push(tag),
            other => panic!("{other:?}"),
        }
    }
    arrived.sort_unstable();
    assert_eq!(arrived, [(0, 2), (3, 4), (6, 3)]);
    assert_eq!(dropped, [(1, 0), (2, 4), (4, 5), (5, 2)]);
    released.sort_unstable();
    assert_eq!(released, [6, 7]);
}

#[test]
fn a_host_works_on_one_packet_after_the_other() {
    let mut config = hosts(2, &[(0, 1)]);
    let cost = HostCost {
        per_packet: Duration::from_micros(100),
        per_byte: Duration::from_nanos(50),
        ..HostCost::default()
    };
    config.nodes[1].host_cost = Some(cost);
    let mut network = Network::new(&config, Seed::new(1, 0)).expect("a sound network");
    network.handle_packet(Instant::ZERO, packet(0, 0, 1));
    network.handle_packet(Instant::ZERO, packet(1, 0, 1));
    let arrivals: Vec<_> = drain(&mut network)
        .into_iter()
        .map(|output| match output {
            Output::Arrived { at, packet, .. } => {
                assert_eq!(packet.parts.total(), at - packet.created);
                at.as_nanos() / 1_000
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(arrivals, [10_150, 10_300]);
}

/// Routers forward packets one by one, and drop those beyond their backlog
/// (`net.core.netdev_max_backlog`: 1000).
#[test]
fn a_node_that_forwards_takes_its_time_for_it() {
    let mut config = hosts(4, &[(0, 1), (1, 2), (1, 3)]);
    let cost = HostCost {
        per_packet: Duration::from_micros(100),
        per_byte: Duration::from_nanos(50),
        ..HostCost::default()
    };
    config.nodes[1].host_cost = Some(cost);
    let mut network = Network::new(&config, Seed::new(1, 0)).expect("a sound network");
    network.handle_packet(Instant::ZERO, packet(0, 0, 2));
    network.handle_packet(Instant::ZERO, packet(1, 3, 0));
    // To all: one packet of it for the processor, whatever the number of copies.
    network.handle_packet(Instant::ZERO, packet(2, 0, Packet::EVERYWHERE.0));
    let mut arrivals: Vec<_> = drain(&mut network)
        .into_iter()
        .filter_map(|output| match output {
            Output::Arrived { at, node, packet } => {
                assert_eq!(packet.parts.total(), at - packet.created);
                Some((packet.tag, node.0, at.as_nanos() / 1_000))
            }
            Output::Released { tag: 2 } => None,
            other => panic!("{other:?}"),
        })
        .collect();
    arrivals.sort_unstable();
    // By the order of their arrival over the wires, 150 us each.
    let expected = [(0, 2, 20_150), (1, 0, 20_450), (2, 1, 10_300), (2, 2, 20_300), (2, 3, 20_300)];
    assert_eq!(arrivals, expected);

    for tag in 0..2_000 {
        network.handle_packet(network.now(), packet(tag, 0, 2));
    }
    let outputs = drain(&mut network);
    let dropped = |output: &&Output| {
        matches!(output, Output::Dropped { node: NodeId(1), reason: DropReason::QueueFull, .. })
    };
    assert_eq!((outputs.len(), outputs.iter().filter(dropped).count()), (2_000, 1_000));
}

proptest! {
    /// Every other node gets one copy, and the tag is released once, at the end.
    #[test]
    fn broadcasts_reach_everyone_once(parents in proptest::collection::vec(any::<u16>(), 1..12), source in any::<u16>()) {
        let ends: Vec<(u16, u16)> = parents
            .iter()
            .enumerate()
            .map(|(index, parent)| (index as u16 + 1, parent % (index as u16 + 1)))
            .collect();
        let nodes = ends.len() + 1;
        let source = source % nodes as u16;
        let mut network = Network::new(&hosts(nodes, &ends), Seed::new(1, 0)).expect("a sound network");
        network.handle_packet(Instant::ZERO, packet(5, source, Packet::EVERYWHERE.0));
        let outputs = drain(&mut network);
        let mut reached: Vec<u16> = outputs
            .iter()
            .filter_map(|output| match output {
                Output::Arrived { node, .. } => Some(node.0),
                _ => None,
            })
            .collect();
        reached.sort_unstable();
        let others: Vec<u16> = (0..nodes as u16).filter(|node| *node != source).collect();
        prop_assert_eq!(reached, others);
        let released = outputs.iter().filter(|o| matches!(o, Output::Released { .. })).count();
        prop_assert_eq!(released, 1);
        prop_assert_eq!(outputs.last(), Some(&Output::Released { tag: 5 }));
    }
}

/// An access point, three stations, and a host on a wire behind the access point.
fn cell_and_host(loss: f64) -> NetworkConfig {
    use lasthop_units::{MacAddr, Probability};
    use lasthop_wifi::cell::*;
    use lasthop_wifi::phy::*;

    let rate = Rate::Ofdm(OfdmRate::Mbps24);
    let radio = |index: u16| {
        let role = if index == 0 { Role::AccessPoint } else { Role::Station };
        let request = BlockAckRequestPolicy::AfterDrop;
        StationConfig {
            address: MacAddr::local(u32::from(index)),
            capabilities: lasthop_wifi::Capabilities {
                ampdu_bytes_max: 65_535,
                ampdu_mpdu_bytes_max: 4_095,
                block_ack_window_max: 64,
                ..lasthop_wifi::Capabilities::new(alloc::vec![rate], true)
            },
            block_ack: BlockAck { request, ..BlockAck::STANDARD },
            ..StationConfig::fixed(role, Identity::numbered(u64::from(index)), rate)
        }
    };
    let propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
    let link = propagation.link_with_loss(Probability::new(loss).expect("a probability"));
    let pairs = (0..4u16).flat_map(|from| (0..4u16).map(move |to| (from, to)));
    let links = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| PairConfig::steady(StationId(from), StationId(to), link))
        .collect();
    let station = |n| NodeConfig { station: Some(StationId(n)), ..host(u64::from(n)) };
    let mut nodes: Vec<_> = (0..4).map(station).collect();
    nodes.push(host(4));
    NetworkConfig {
        nodes,
        cell: Some(CellConfig {
            beacon_interval: None,
            ..CellConfig::new(Standard::Dot11a, Band::Ghz5, (0..4).map(radio).collect(), links)
        }),
        wires: wires(&[(4, 0)], 1),
    }
}

#[test]
fn broadcasts_cross_the_air_once_and_wires_too() {
    for source in 0..5 {
        let mut network = Network::new(&cell_and_host(0.0), Seed::new(1, 0)).expect("sound");
        network.handle_packet(Instant::ZERO, packet(9, source, Packet::EVERYWHERE.0));
        let outputs = drain(&mut network);
        let mut reached: Vec<u16> = outputs
            .iter()
            .filter_map(|output| match output {
                Output::Arrived { node, packet, at } => {
                    assert_eq!(packet.parts.total(), *at - packet.created);
                    Some(node.0)
                }
                _ => None,
            })
            .collect();
        reached.sort_unstable();
        let others: Vec<u16> = (0..5).filter(|node| *node != source).collect();
        assert_eq!(reached, others, "from {source}");
        assert_eq!(outputs.last(), Some(&Output::Released { tag: 9 }));
    }
}

#[test]
fn stations_talk_through_the_access_point() {
    let mut network = Network::new(&cell_and_host(0.0), Seed::new(1, 0)).expect("sound");
    network.handle_packet(Instant::ZERO, packet(1, 1, 2));
    network.handle_packet(Instant::ZERO, packet(2, 3, 4));
    let mut arrived: Vec<_> = drain(&mut network)
        .into_iter()
        .map(|output| match output {
            Output::Arrived { node, packet, .. } => (packet.tag, node.0),
            other => panic!("{other:?}"),
        })
        .collect();
    arrived.sort_unstable();
    assert_eq!(arrived, [(1, 2), (2, 4)]);
    let stats = network.stats(network.now());
    let hops: Vec<_> = stats.links.iter().map(|(from, to, _)| (from.0, to.0)).collect();
    assert_eq!(hops, [(0, 2), (1, 0), (3, 0)]);
}

proptest! {
    /// With any loss every packet is accounted for. Tags of group packets are released once, and
    /// the node at which a packet entered releases it once.
    #[test]
    fn nothing_vanishes_on_a_lossy_network(
        loss in 0.0f64..0.9,
        packets in proptest::collection::vec((0u16..5, 0u16..6, 0u64..2_000), 1..60),
    ) {
        let mut network = Network::new(&cell_and_host(loss), Seed::new(3, 0)).expect("sound");
        let (mut unicast, mut group) = (0, 0);
        let mut now = Instant::ZERO;
        let mut outputs = Vec::new();
        for (tag, (source, destination, wait_us)) in packets.into_iter().enumerate() {
            let destination = match destination {
                5 => Packet::EVERYWHERE.0,
                other if other == source => (source + 1) % 5,
                other => other,
            };
            if destination == Packet::EVERYWHERE.0 { group += 1 } else { unicast += 1 }
            now += Duration::from_micros(wait_us);
            network.handle_timeout(now);
            let new = packet(tag as u64, source, destination);
            let notify = destination != Packet::EVERYWHERE.0;
            let new = Packet { created: now, arrived: now, notify, ..new };
            network.handle_packet(now, new);
            outputs.extend(polled(&mut network));
        }
        outputs.extend(drain(&mut network));
        let held: Vec<u32> = (0..5).map(|n| network.queue_packets(NodeId(n))).collect();
        prop_assert_eq!(held, [0; 5], "something is stuck");
        let (mut released, mut gone, mut left) = (0, 0, 0);
        for output in outputs {
            match output {
                Output::Released { .. } => released += 1,
                Output::Left(packets) => left += packets.packets,
                Output::Arrived { packet, at, .. } => {
                    prop_assert_eq!(packet.parts.total(), at - packet.created);
                    gone += u32::from(packet.destination != Packet::EVERYWHERE);
                }
                Output::Dropped { packet, .. } => {
                    gone += u32::from(packet.destination != Packet::EVERYWHERE);
                }
                other => panic!("{other:?}"),
            }
        }
        prop_assert_eq!((gone, released), (unicast, group));
        prop_assert_eq!(left, unicast);
    }
}

#[test]
fn a_packet_is_cut_for_a_narrow_link_and_ends_whole() {
    let mut config = hosts(4, &[(0, 1), (1, 2), (2, 3)]);
    (config.nodes[0].mtu, config.nodes[1].mtu, config.nodes[2].mtu) = (1_500, 300, 100);
    let mut network = Network::new(&config, Seed::new(1, 0)).expect("a sound network");
    assert_eq!(network.path_mtu(NodeId(0), NodeId(2)), 300);
    assert_eq!(network.path_mtu(NodeId(3), NodeId(0)), 100);
    network.handle_packet(Instant::ZERO, packet(7, 0, 3));
    match drain(&mut network)[..] {
        [Output::Arrived { node: NodeId(3), packet, .. }] => {
            assert_eq!((packet.tag, packet.bytes), (7, 1_000));
            assert!(packet.fragment.is_whole());
        }
        ref other => panic!("{other:?}"),
    }
    // 980 bytes of payload: one packet; three parts of 280 bytes and one of 140; each
    // of these again in parts of at most 80.
    let packets: Vec<_> = network.stats(network.now()).wires.iter().map(|w| w.2.packets).collect();
    assert_eq!(packets, [1, 0, 4, 0, 4 + 4 + 4 + 2, 0]);
}

#[test]
fn a_processor_takes_its_time_for_every_part() {
    let mut config = hosts(2, &[(0, 1)]);
    let cost = HostCost {
        per_packet: Duration::from_micros(100),
        per_byte: Duration::from_nanos(50),
        ..HostCost::default()
    };
    config.nodes[0].mtu = 520;
    config.nodes[1].host_cost = Some(cost);
    let mut network = Network::new(&config, Seed::new(1, 0)).expect("a sound network");
    network.handle_packet(Instant::ZERO, packet(0, 0, 1));
    match drain(&mut network)[..] {
        // 980 bytes of payload in parts of 496 and 484, and two headers.
        [Output::Arrived { at, packet, .. }] => {
            assert_eq!(at.as_nanos(), 10_000_000 + 2 * 100_000 + 1_020 * 50);
            assert_eq!(packet.parts.total(), at - packet.created);
        }
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn an_mtu_below_that_of_ip_is_refused() {
    let mut config = hosts(2, &[(0, 1)]);
    config.nodes[1].mtu = 67;
    let error = Network::new(&config, Seed::new(1, 0)).expect_err("it must be refused");
    assert_eq!(error, NetworkError::Mtu(1, 67));
}

proptest! {
    /// With any loss a cut packet ends once, after all of its parts; it arrives with its original
    /// length, and no state is left.
    #[test]
    fn cut_packets_end_once(
        loss in 0.0f64..0.9,
        mtus in proptest::collection::vec(68u16..1_200, 5),
        packets in proptest::collection::vec((0u16..5, 0u16..5, 60u16..7_900, 0u64..20_000), 1..40),
    ) {
        let mut config = cell_and_host(loss);
        for (node, mtu) in config.nodes.iter_mut().zip(mtus) {
            node.mtu = mtu;
        }
        let mut network = Network::new(&config, Seed::new(3, 0)).expect("sound");
        let mut now = Instant::ZERO;
        let mut outputs = Vec::new();
        let mut sent = Vec::new();
        for (tag, (source, destination, bytes, wait_us)) in packets.into_iter().enumerate() {
            let destination = if destination == source { (source + 1) % 5 } else { destination };
            now += Duration::from_micros(wait_us);
            network.handle_timeout(now);
            let new = packet(tag as u64, source, destination);
            sent.push((tag as u64, bytes, destination));
            network.handle_packet(now, Packet { bytes, created: now, arrived: now, ..new });
            outputs.extend(polled(&mut network));
        }
        outputs.extend(drain(&mut network));
        let mut ended: Vec<_> = outputs
            .into_iter()
            .map(|output| match output {
                Output::Arrived { at, node, packet } => {
                    assert_eq!(packet.parts.total(), at - packet.created);
                    assert_eq!(node, packet.destination);
                    packet
                }
                Output::Dropped { packet, .. } => packet,
                other => panic!("{other:?}"),
            })
            .map(|packet| (packet.tag, packet.bytes, packet.destination.0))
            .collect();
        ended.sort_unstable();
        prop_assert_eq!(ended, sent);
        let held: Vec<u32> = (0..5).map(|n| network.queue_packets(NodeId(n))).collect();
        prop_assert_eq!(held, [0; 5], "something is stuck");
        prop_assert!(network.datagrams.is_empty(), "something is remembered");
    }
}

/// Packets of flows are outputs at the node where their link is diverted, and continue at its far
/// end; packets without a flow pass.
#[test]
fn what_is_diverted_goes_on_at_the_far_end() {
    // 0 - 1 ~ 2 - 3: the link in the middle is diverted.
    let mut network = Network::new(&hosts(4, &[(0, 1), (1, 2), (2, 3)]), Seed::new(1, 0))
        .expect("a sound network");
    let (near, far) = (NodeId(1), NodeId(2));
    network.divert(near, far, 600);
    network.divert(far, near, 600);
    assert_eq!(network.path_mtu(NodeId(0), NodeId(3)), 600);
    assert_eq!(network.path_mtu(NodeId(0), NodeId(1)), 1_500);
    let of_a_flow = |tag, source, destination| Packet {
        flow: FlowId(0),
        bytes: 600,
        ..packet(tag, source, destination)
    };
    network.handle_packet(Instant::ZERO, of_a_flow(1, 0, 3));
    network.handle_packet(Instant::ZERO, of_a_flow(2, 3, 0));
    network.handle_packet(Instant::ZERO, packet(3, 1, 2));
    let mut diverted = Vec::new();
    for output in drain(&mut network) {
        match output {
            Output::Diverted { node, packet, .. } => diverted.push((node, packet)),
            Output::Arrived { packet, .. } => assert_eq!(packet.tag, 3),
            other => panic!("{other:?}"),
        }
    }
    diverted.sort_by_key(|(_, packet)| packet.tag);
    let [(first, there), (second, back)] = diverted[..] else { panic!("{diverted:?}") };
    assert_eq!((first, second), (near, far));
    let now = network.now() + Duration::from_millis(5);
    network.handle_carried(now, far, there);
    network.handle_lost(now, near, back, DropReason::ActiveQueue);
    match drain(&mut network)[..] {
        [
            Output::Dropped { node: NodeId(1), packet: lost, .. },
            Output::Arrived { node: NodeId(3), packet, .. },
        ] => assert_eq!((lost.tag, packet.tag, packet.bytes), (2, 1, 600)),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn in_an_independent_cell_stations_need_no_access_point() {
    let mut config = cell_and_host(0.0);
    config.cell.as_mut().expect("there is one").independent = true;
    let mut network = Network::new(&config, Seed::new(1, 0)).expect("sound");
    network.handle_packet(Instant::ZERO, packet(1, 1, 2));
    network.handle_packet(Instant::ZERO, packet(2, 3, Packet::EVERYWHERE.0));
    let outputs = drain(&mut network);
    let arrived = |tag| {
        let of_tag = |o: &&Output| matches!(o, Output::Arrived { packet, .. } if packet.tag == tag);
        outputs.iter().filter(of_tag).count()
    };
    assert_eq!((arrived(1), arrived(2)), (1, 4));
    let stats = network.stats(network.now());
    let hops: Vec<_> = stats.links.iter().map(|(from, to, _)| (from.0, to.0)).collect();
    assert_eq!(hops, [(1, 2), (3, 0)]);
}
