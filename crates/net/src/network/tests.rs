//! Networks of hosts and wires; with a cell they are tested through `sim`.

use super::*;
use alloc::vec;
use proptest::prelude::*;

fn wires(ends: &[(u16, u16)], delay_ms: u64) -> Vec<WiredLink> {
    let direction = WireConfig { delay: Duration::from_millis(delay_ms), ..WireConfig::default() };
    let link = |&(a, b): &(u16, u16)| WiredLink {
        ends: [NodeId(a), NodeId(b)],
        directions: [direction; 2],
    };
    ends.iter().map(link).collect()
}

fn hosts(nodes: usize, ends: &[(u16, u16)]) -> NetworkConfig {
    NetworkConfig { nodes: vec![NodeConfig::default(); nodes], cell: None, wires: wires(ends, 10) }
}

fn packet(tag: u64, source: u16, destination: u16) -> Packet {
    Packet { source, destination, ..Packet::new(tag, 1000, Instant::ZERO) }
}

/// Runs until nothing is left and returns what came out.
fn drain(network: &mut Network) -> Vec<Output> {
    let mut outputs = Vec::new();
    loop {
        outputs.extend(core::iter::from_fn(|| network.poll_output()));
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
fn what_is_no_tree_is_refused() {
    let error = |nodes, ends: &[(u16, u16)]| {
        Network::new(&hosts(nodes, ends), Seed::new(1, 0)).expect_err("it must be refused")
    };
    assert_eq!(error(3, &[(0, 1)]), NetworkError::Unreachable(0, 2));
    assert_eq!(error(4, &[(0, 1), (1, 2), (2, 3), (3, 1)]), NetworkError::Loop(1));
    assert_eq!(error(2, &[(0, 0)]), NetworkError::Wire(0));
    assert_eq!(error(2, &[(0, 5)]), NetworkError::Wire(0));
}

#[test]
fn a_host_works_on_one_packet_after_the_other() {
    let mut config = hosts(2, &[(0, 1)]);
    let cost =
        HostCost { per_packet: Duration::from_micros(100), per_byte: Duration::from_nanos(50) };
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
        network.handle_packet(Instant::ZERO, packet(5, source, Packet::EVERYWHERE));
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
