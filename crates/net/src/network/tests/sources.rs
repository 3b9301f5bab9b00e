//! Queries of sources: whether a queue accepts a packet, the number of packets that a node holds,
//! notice of a shorter queue, the longest packet.

use super::*;
use alloc::vec;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_units::{Bitrate, MacAddr, Probability};
use lasthop_wifi::cell::{CellConfig, PairConfig, Role, StationConfig};
use lasthop_wifi::mac::adaptive_mtu::AdaptiveMtuConfig;
use lasthop_wifi::phy::{Band, ChannelWidth, OfdmRate, Propagation, Rate, Standard};

const MS: Duration = Duration::from_millis(1);

fn ms(ms: u64) -> Instant {
    Instant::ZERO + MS * ms
}

/// Hosts whose wires carry a packet of 1 000 bytes, 1 014 with its frame, in 1 ms, and
/// queue `packets`.
fn narrow(nodes: usize, ends: &[(u16, u16)], packets: u32) -> NetworkConfig {
    let mut config = hosts(nodes, ends);
    for direction in config.wires.iter_mut().flat_map(|wire| &mut wire.directions) {
        direction.rate = Some(Bitrate::from_bps(8_112_000));
        direction.queue = QueueConfig::DropTail { limit: Limit::Packets(packets) };
    }
    config
}

fn network(config: &NetworkConfig) -> Network {
    Network::new(config, Seed::new(1, 0)).expect("a sound network")
}

/// A cell of an access point and two stations, the last of them promiscuous.
fn cell(change: impl Fn(&mut StationConfig)) -> NetworkConfig {
    let rate = Rate::Ofdm(OfdmRate::Mbps24);
    let station = |index: u16| {
        let role = if index == 0 { Role::AccessPoint } else { Role::Station };
        let identity = Identity::numbered(u64::from(index));
        let mut station = StationConfig {
            address: MacAddr::local(u32::from(index)),
            promiscuous: index == 2,
            ..StationConfig::fixed(role, identity, rate)
        };
        change(&mut station);
        station
    };
    let propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
    let link = propagation.link_with_loss(Probability::new(0.0).expect("a probability"));
    let pairs = (0..3u16).flat_map(|from| (0..3u16).map(move |to| (from, to)));
    let links = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| PairConfig::steady(StationId(from), StationId(to), link))
        .collect();
    let node = |n: u16| NodeConfig { station: Some(StationId(n)), ..host(u64::from(n)) };
    let stations = (0..3).map(station).collect();
    let cell = CellConfig {
        beacon_interval: None,
        ..CellConfig::new(Standard::Dot11a, Band::Ghz5, stations, links)
    };
    let mut nodes: Vec<_> = (0..3).map(node).collect();
    nodes.push(host(3));
    NetworkConfig { nodes, cell: Some(cell), wires: wires(&[(3, 0)], 1) }
}

/// A queue accepts packets up to its limit, and a rejected packet has no effect.
#[test]
fn an_offer_is_taken_if_the_queue_has_space() {
    let mut network = network(&narrow(3, &[(0, 1), (1, 2)], 5));
    let mut taken = Vec::new();
    for tag in 0..10 {
        if offer(&mut network, ms(0), &packet(tag, 0, 2)) {
            taken.push(tag);
        }
    }
    // One is in transmission.
    assert_eq!((taken.clone(), network.queue_packets(NodeId(0))), ((0..6).collect(), 5));
    // A millisecond later there is space for one more.
    assert_eq!([7, 8].map(|tag| offer(&mut network, ms(1), &packet(tag, 0, 2))), [true, false]);
    taken.push(7);
    // A packet that is not offered is dropped.
    network.handle_packet(ms(1), packet(9, 0, 2));
    let ended: Vec<_> = drain(&mut network)
        .into_iter()
        .map(|output| match output {
            Output::Arrived { node, packet, .. } => (node.0, packet.tag),
            Output::Dropped { at, node, packet, reason } => {
                assert_eq!((at, node, reason), (ms(1), NodeId(0), DropReason::QueueFull));
                (node.0, packet.tag)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let mut expected = vec![(0, 9)];
    expected.extend(taken.into_iter().map(|tag| (2, tag)));
    assert_eq!(ended, expected);
    let stats = network.stats(network.now());
    let of = |from, to| {
        let wire = stats.wires.iter().find(|wire| (wire.0, wire.1) == (NodeId(from), NodeId(to)));
        wire.map(|wire| (wire.2.packets, wire.2.queue_drops, wire.2.lost))
    };
    assert_eq!([of(0, 1), of(1, 2), of(1, 0)], [Some((7, 1, 0)), Some((7, 0, 0)), Some((0, 0, 0))]);
    network.clear_stats(network.now());
    assert!(network.stats(network.now()).wires.iter().all(|wire| wire.2 == WireStats::default()));
}

/// A processor, a tunnel and a flooding node accept every packet, and so does a node that sends to
/// itself.
#[test]
fn what_does_not_enter_a_queue_is_always_taken() {
    let fill = |network: &mut Network| {
        while offer(network, ms(0), &packet(0, 0, 1)) {
            assert!(network.queue_packets(NodeId(0)) < 100, "it is not full");
        }
    };
    let config = narrow(3, &[(0, 1), (0, 2)], 2);
    let mut one = network(&config);
    fill(&mut one);
    // There is another queue in front of the other wire.
    assert!(offer(&mut one, ms(0), &packet(1, 0, 2)));
    assert!(offer(&mut one, ms(0), &packet(2, 0, 0)));
    let group = Packet::EVERYWHERE.0;
    assert!(offer(&mut one, ms(0), &packet(3, 0, group)));
    let outputs: Vec<_> = polled(&mut one).collect();
    assert!(
        matches!(outputs[0], Output::Arrived { node: NodeId(0), packet, .. } if packet.tag == 2)
    );
    let mut diverting = network(&config);
    fill(&mut diverting);
    diverting.divert(NodeId(0), NodeId(1), 1_500);
    assert!(diverting.diverts(NodeId(0), NodeId(1)) && !diverting.diverts(NodeId(0), NodeId(2)));
    let of_a_flow = Packet { flow: FlowId(0), ..packet(4, 0, 1) };
    assert!(!offer(&mut diverting, ms(0), &packet(5, 0, 1)), "datagrams of the tunnel");
    assert!(offer(&mut diverting, ms(0), &of_a_flow));
    let mut busy = config.clone();
    busy.nodes[0].host_cost =
        Some(HostCost { per_packet: MS, per_byte: Duration::ZERO, ..HostCost::default() });
    let mut busy = network(&busy);
    for tag in 0..20 {
        assert!(offer(&mut busy, ms(0), &packet(tag, 0, 1)));
    }
    assert_eq!(busy.queue_packets(NodeId(0)), 20);
}

/// The air has queues, too: an offer concerns the queue of the station's access category.
#[test]
fn an_offer_to_the_air_is_taken_if_the_queue_has_space() {
    let config = cell(|station| {
        station.queue = QueueConfig::DropTail { limit: Limit::Packets(4) };
    });
    let mut network = network(&config);
    let taken = (0..20).filter(|tag| offer(&mut network, ms(0), &packet(*tag, 1, 0))).count();
    assert!((4..=6).contains(&taken), "{taken}");
    assert_eq!(network.wifi_packets(NodeId(1)), taken as u32);
    assert_eq!(network.queue_packets(NodeId(1)), taken as u32);
    assert_eq!([0, 2, 3].map(|node| network.wifi_packets(NodeId(node))), [0; 3]);
    let arrived =
        drain(&mut network).iter().filter(|o| matches!(o, Output::Arrived { .. })).count();
    assert_eq!((arrived, network.wifi_packets(NodeId(1))), (taken, 0));
    assert_eq!(network.node(StationId(2)), NodeId(2));
}

/// Number of packets that a node holds: in front of each wire, and of its processor.
#[test]
fn a_node_holds_what_waits_for_wires_and_processor() {
    let mut config = narrow(4, &[(0, 1), (1, 2), (1, 3)], 50);
    let mut relay = network(&config);
    for tag in 0..4 {
        relay.handle_packet(ms(0), packet(tag, 1, 2));
        relay.handle_packet(ms(0), packet(10 + tag, 1, 3));
    }
    relay.handle_packet(ms(0), packet(20, 1, 0));
    // Three and three; one is in transmission on each wire.
    assert_eq!(relay.queue_packets(NodeId(1)), 6);
    assert_eq!([0, 2, 3].map(|node| relay.queue_packets(NodeId(node))), [0; 3]);
    relay.handle_timeout(ms(1));
    assert_eq!(relay.queue_packets(NodeId(1)), 4);
    // A processor that takes 10 ms a packet: what it has to send, not what it received.
    config.nodes[1].host_cost =
        Some(HostCost { per_packet: MS * 10, per_byte: Duration::ZERO, ..HostCost::default() });
    let mut busy = network(&config);
    for tag in 0..4 {
        busy.handle_packet(ms(0), packet(tag, 1, 2));
        busy.handle_packet(ms(0), packet(10 + tag, 0, 1));
    }
    assert_eq!([0, 1].map(|node| busy.queue_packets(NodeId(node))), [3, 4]);
    busy.handle_timeout(ms(25));
    assert_eq!(busy.queue_packets(NodeId(1)), 2);
    assert_eq!(drain(&mut busy).len(), 8);
}

/// A source is called when its queue becomes shorter, and when its processor has finished a packet;
/// TCP has other means.
#[test]
fn sources_are_called_when_a_packet_leaves_the_queue() {
    let mut config = narrow(3, &[(0, 1), (1, 2)], 50);
    let calls = |config: &NetworkConfig, transport| {
        let mut network = network(config);
        for tag in 0..3 {
            network.handle_packet(ms(0), Packet { transport, ..packet(tag, 0, 2) });
        }
        let mut calls = Vec::new();
        while let Some((at, _)) = network.poll_timeout() {
            network.handle_timeout(at);
            let outputs = core::iter::from_fn(|| network.poll_output());
            calls.extend(outputs.filter_map(|output| match output {
                Output::Space { node } => Some((at, node.0)),
                _ => None,
            }));
        }
        calls
    };
    // The first is in transmission at once. Relays are not sources.
    assert_eq!(calls(&config, Transport::Other), [(ms(1), 0), (ms(2), 0)]);
    assert_eq!(calls(&config, Transport::Tcp), []);
    config.nodes[0].host_cost =
        Some(HostCost { per_packet: MS * 3, per_byte: Duration::ZERO, ..HostCost::default() });
    // Each finds the wire idle.
    assert_eq!(calls(&config, Transport::Tcp), [(ms(3), 0), (ms(6), 0), (ms(9), 0)]);
}

/// The next step is of the cell, a wire or a processor, and a wake-up performs it.
#[test]
fn a_wake_up_has_its_reason() {
    let mut config = narrow(2, &[(0, 1)], 50);
    config.nodes[1].host_cost =
        Some(HostCost { per_packet: MS * 2, per_byte: Duration::ZERO, ..HostCost::default() });
    let mut network = network(&config);
    assert_eq!((network.poll_timeout(), network.due()), (None, Instant::MAX));
    network.handle_packet(ms(0), packet(0, 0, 1));
    network.handle_packet(ms(0), packet(1, 0, 1));
    let mut due = Vec::new();
    while let Some((at, reason)) = network.poll_timeout() {
        assert_eq!(network.due(), at);
        network.advance(at);
        assert_eq!(network.now(), at);
        due.push((at, reason));
    }
    let expected = [
        (ms(1), Reason::Wire(CableReason::Transmit)),
        // 10 ms of delay.
        (ms(11), Reason::Wire(CableReason::Arrival)),
        (ms(12), Reason::Wire(CableReason::Arrival)),
        (ms(13), Reason::Host),
        (ms(15), Reason::Host),
    ];
    assert_eq!(due, expected);
    let mut air = Network::new(&cell(|_| {}), Seed::new(1, 0)).expect("sound");
    air.handle_packet(ms(0), packet(0, 1, 0));
    assert!(matches!(air.poll_timeout(), Some((_, Reason::Cell(_)))));
}

/// A driver may run ahead: it stops at an output.
#[test]
fn advancing_stops_at_the_first_output() {
    let mut network = network(&hosts(2, &[(0, 1)]));
    for tag in 0..3 {
        network.handle_packet(ms(tag), packet(tag, 0, 1));
    }
    for tag in 0..3 {
        network.advance(ms(100));
        assert_eq!(network.now(), ms(10 + tag));
        match network.poll_output() {
            Some(Output::Arrived { at, packet, .. }) => {
                assert_eq!((at, packet.tag), (ms(10 + tag), tag));
            }
            other => panic!("{other:?}"),
        }
        assert!(!network.has_outputs());
    }
}

/// A driver may be late: steps due before a packet enters happen at their own instants.
#[test]
fn what_is_due_is_done_before_a_packet_enters() {
    for offers in [false, true] {
        let mut network = network(&hosts(3, &[(0, 1), (1, 2)]));
        for (tag, at) in [(0, ms(0)), (1, ms(15)), (2, ms(50))] {
            let packet = Packet { created: at, ..packet(tag, 0, 2) };
            if offers {
                assert!(offer(&mut network, at, &packet))
            } else {
                network.handle_packet(at, packet)
            }
            assert_eq!(network.now(), at);
            let arrived: Vec<_> = polled(&mut network).collect();
            let expected = if tag == 2 { &[(20, 0), (35, 1)][..] } else { &[] };
            assert_eq!(arrived.len(), expected.len());
            for (output, (when, tag)) in arrived.iter().zip(expected) {
                let Output::Arrived { at, packet, .. } = output else { panic!("{output:?}") };
                assert_eq!((*at, packet.tag), (ms(*when), *tag));
                assert_eq!(packet.parts.total(), MS * 20);
            }
        }
    }
}

proptest! {
    /// Outputs are announced, each has its instant, and outputs read without a copy come in the
    /// same order.
    #[test]
    fn outputs_are_announced(
        costs in any::<[bool; 4]>(),
        packets in proptest::collection::vec((0u16..4, 0u16..5, 0u64..2_000, any::<[bool; 2]>()), 1..30),
    ) {
        let mut config = cell(|_| {});
        for (node, cost) in config.nodes.iter_mut().zip(costs) {
            let cost = cost.then_some(HostCost {
                per_packet: Duration::from_micros(100),
                per_byte: Duration::from_nanos(10), ..HostCost::default() });
            node.host_cost = cost;
        }
        config.wires[0].directions[0].rate = Some(Bitrate::from_mbps(20));
        let mut network = network(&config);
        let mut now = Instant::ZERO;
        let (mut ended, mut released) = (0, 0);
        let mut sent = Vec::new();
        let mut poll = |network: &mut Network| {
            let announced = network.has_outputs();
            let mut any = false;
            let mut copy = network.clone();
            let mut copied = core::iter::from_fn(|| copy.poll_output());
            loop {
                let is_passive = network.poll_passive(|at, node, packet| {
                    let packet = *packet;
                    assert_eq!(copied.next(), Some(Output::Arrived { at, node, packet }));
                    assert!(packet.passive && node == packet.destination);
                    ended += 1;
                });
                if is_passive {
                    any = true;
                    continue;
                }
                if let Some(output) = network.poll_output() {
                    assert_eq!(copied.next(), Some(output));
                    match output {
                        Output::Arrived { at, node, packet } => {
                            assert!(at == network.now() || packet.passive);
                            let is_group = packet.destination == Packet::EVERYWHERE;
                            assert!(is_group || node == packet.destination);
                            ended += u32::from(!is_group);
                        }
                        Output::Dropped { at, .. } | Output::Overheard { at, .. } => {
                            assert_eq!(at, network.now());
                        }
                        Output::Released { .. } => ended += 1,
                        Output::Diverted { .. } => panic!("nothing is diverted"),
                        Output::Left(left) => released += left.packets,
                        Output::Space { .. } => {}
                    }
                } else {
                    break;
                }
                any = true;
            }
            assert!(announced || !any, "something was put out");
            assert!(!network.has_outputs());
        };
        for (tag, (source, destination, wait_us, [passive, notify])) in packets.into_iter().enumerate() {
            let destination = match destination {
                4 => Packet::EVERYWHERE.0,
                other if other == source => (source + 1) % 4,
                other => other,
            };
            let until = now + Duration::from_micros(wait_us);
            while network.due() <= until {
                network.advance(until);
                poll(&mut network);
            }
            now = until;
            let is_group = destination == Packet::EVERYWHERE.0;
            let notify = notify && !is_group;
            let new = Packet { created: now, passive: passive && !is_group, notify, ..packet(tag as u64, source, destination) };
            sent.push(notify);
            network.handle_packet(now, new);
            poll(&mut network);
        }
        while network.due() < Instant::MAX {
            network.advance(Instant::MAX);
            poll(&mut network);
        }
        network.take_arrived(network.now());
        poll(&mut network);
        prop_assert_eq!(ended as usize, sent.len());
        prop_assert_eq!(released as usize, sent.iter().filter(|notify| **notify).count());
    }
}

/// A promiscuous station overhears whole packets between others, through its processor.
#[test]
fn a_promiscuous_station_overhears() {
    let mut config = cell(|_| {});
    let overheard = |config: &NetworkConfig, bytes| {
        let mut network = network(config);
        network.handle_packet(ms(0), Packet { bytes, ..packet(1, 1, 0) });
        let outputs = drain(&mut network);
        let arrived = outputs.iter().find_map(|output| match output {
            Output::Arrived { at, node: NodeId(0), .. } => Some(*at),
            _ => None,
        });
        let heard: Vec<_> = outputs
            .iter()
            .filter_map(|output| match output {
                Output::Overheard { at, node, packet } => Some((*at, node.0, packet.tag)),
                _ => None,
            })
            .collect();
        (arrived.expect("it arrives"), heard)
    };
    let (arrived, heard) = overheard(&config, 1_000);
    assert_eq!(heard, [(arrived, 2, 1)]);
    config.nodes[2].host_cost =
        Some(HostCost { per_packet: MS, per_byte: Duration::ZERO, ..HostCost::default() });
    let (arrived, heard) = overheard(&config, 1_000);
    assert_eq!(heard, [(arrived + MS, 2, 1)]);
    // Parts of a cut packet are not overheard.
    config.nodes[1].mtu = 600;
    assert_eq!(overheard(&config, 1_000).1, []);
}

/// If a station adapts its MTU, the MTU of every path through the station changes.
#[test]
fn a_path_adapts_if_a_node_on_it_does() {
    let mut config = cell(|station| {
        if station.role == Role::AccessPoint {
            station.adaptive_mtu = Some(AdaptiveMtuConfig {
                bytes_min: 256,
                bytes_max: 1_500,
                host_per_packet: Duration::ZERO,
                host_per_byte: Duration::ZERO,
            });
        }
    });
    config.nodes[3].mtu = 1_400;
    let network = network(&config);
    // From the host by way of the access point to a station, and back.
    let [down, up] = [(3, 1), (1, 3)].map(|(from, to)| (NodeId(from), NodeId(to)));
    let now = network.path_mtu(down.0, down.1);
    assert!((256..=1_400).contains(&now), "{now}");
    assert_eq!(network.adaptive_mtu(down.0, down.1), Some(now));
    assert_eq!(network.path_mtu_max(down.0, down.1), 1_400);
    assert_eq!(network.adaptive_mtu(NodeId(0), NodeId(3)), network.adaptive_mtu(up.0, up.1));
    assert_eq!(network.path_mtu(NodeId(0), NodeId(3)), 1_500, "a wire adapts nothing");
    let fixed = Network::new(&hosts(2, &[(0, 1)]), Seed::new(1, 0)).expect("sound");
    let [one, other] = [NodeId(0), NodeId(1)];
    assert_eq!((fixed.adaptive_mtu(one, other), fixed.path_mtu_max(one, other)), (None, 1_500));
    assert_eq!([fixed.path_mtu(one, one), fixed.path_mtu_max(one, one)], [u16::MAX; 2]);
}

/// A packet as long as the MTU is not fragmented, but one that is a byte longer is. TCP segments
/// and group packets are never fragmented.
#[test]
fn only_what_is_longer_than_the_mtu_is_cut() {
    let mut config = hosts(3, &[(0, 1), (1, 2)]);
    (config.nodes[0].mtu, config.nodes[1].mtu) = (1_000, 500);
    let crossed = |bytes, destination| {
        let mut network = network(&config);
        assert_eq!(network.packets_for(NodeId(1), NodeId(2), 500), 1);
        assert_eq!(network.packets_for(NodeId(1), NodeId(2), 501), 2);
        network.handle_packet(ms(0), Packet { bytes, ..packet(0, 0, destination) });
        drain(&mut network);
        let stats = network.stats(network.now());
        let of = |from| {
            let wire = stats
                .wires
                .iter()
                .find(|wire| (wire.0, wire.1) == (NodeId(from), NodeId(from + 1)));
            wire.map_or(0, |wire| wire.2.packets)
        };
        [of(0), of(1)]
    };
    assert_eq!(
        [500, 501, 1_000, 1_001].map(|bytes| crossed(bytes, 2)),
        [[1, 1], [1, 2], [1, 3], [2, 4]]
    );
    assert_eq!(crossed(1_400, Packet::EVERYWHERE.0), [1, 1]);
}

#[test]
fn nodes_that_are_not_one_each_are_refused() {
    let error = |config: &NetworkConfig| {
        Network::new(config, Seed::new(1, 0)).expect_err("it must be refused")
    };
    let mut twice = hosts(4, &[(0, 1), (1, 2), (2, 3)]);
    twice.nodes[3].identity = twice.nodes[1].identity;
    assert_eq!(error(&twice), NetworkError::SameIdentity(1, 3));
    let mut shared = cell(|_| {});
    shared.nodes[2].station = Some(StationId(1));
    assert_eq!(error(&shared), NetworkError::Station(2));
    let mut beyond = cell(|_| {});
    beyond.nodes[1].station = Some(StationId(3));
    assert_eq!(error(&beyond), NetworkError::Station(1));
}
