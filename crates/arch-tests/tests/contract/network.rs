//! [`Network`] with a server on a wire, an access point, its stations, and another host
//! on a wire to one of them: every packet arrives or is dropped, once, and not before
//! its time. Leaves out nodes that divert or overhear packets.

use crate::air::{self, Shown};
use crate::{cable, one_in, pause};
use lasthop_arch_tests::contract::Driver;
use lasthop_net::fragment::MTU_BYTES_MIN;
use lasthop_net::network::{
    HostCost, Network, NetworkConfig, NodeConfig, Output, ReceiveOffload, WiredLink,
};
use lasthop_packet::{NodeId, Packet};
use lasthop_units::{Duration, Identity, Instant, Seed};
use lasthop_wifi::StationId;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn config() -> impl Strategy<Value = NetworkConfig> {
    let directions = prop::array::uniform4(cable::config());
    let cost = prop::option::of((0..50u64, 0..50u64));
    let mtus = prop::collection::vec(MTU_BYTES_MIN..=1_500, 1..4);
    (air::config(), directions, cost, mtus).prop_map(|(Shown(cell), wires, cost, mtus)| {
        let stations = cell.stations.len() as u16;
        let node = |index: u16| NodeConfig {
            identity: Identity::numbered(index.into()),
            station: (index < stations).then_some(StationId(index)),
            ..NodeConfig::default()
        };
        let mut nodes: Vec<NodeConfig> = (0..stations + 2).map(node).collect();
        nodes[1].host_cost = cost.map(|(per_packet, per_byte)| HostCost {
            per_packet: Duration::from_micros(per_packet),
            per_byte: Duration::from_nanos(per_byte),
            ..HostCost::default()
        });
        nodes[0].receive_offload = cost.map(|(interval, segments)| ReceiveOffload {
            interval: Duration::from_micros(interval),
            segments_max: segments as u32 + 1,
        });
        for (node, mtu) in nodes.iter_mut().zip(mtus.into_iter().cycle()) {
            node.mtu = mtu;
        }
        let (server, behind) = (NodeId(stations), NodeId(stations + 1));
        let [a, b, c, d] = wires;
        NetworkConfig {
            nodes,
            cell: Some(cell),
            wires: vec![
                WiredLink { ends: [server, NodeId(0)], directions: [a, b] },
                WiredLink { ends: [NodeId(1), behind], directions: [c, d] },
            ],
        }
    })
}

proptest! {
    #![proptest_config(one_in(16))]
    #[test]
    fn keeps_the_contract(
        config in config(),
        work in prop::collection::vec(
            (pause(Duration::from_millis(10)), any::<u16>(), any::<u16>(), 40..1_500u16, 1..8), 1..50),
    ) {
        let nodes = config.nodes.len() as u16;
        let network = Network::new(&config, Seed::new(1, 0)).expect("a tree");
        let mut driver = Driver::new(network);
        let mut ended = BTreeSet::new();
        let mut next_tag = 0;
        for (pause, from, to, bytes, packets) in work {
            pause.pass(&mut driver, |now, network| drain(now, network, &mut ended));
            let now = driver.now();
            for _ in 0..packets {
                let mut packet = Packet::new(next_tag, bytes, now);
                packet.source = NodeId(from % nodes);
                packet.destination = match to % (nodes + 1) {
                    node if node == nodes => Packet::EVERYWHERE,
                    node if node == packet.source.0 => NodeId((node + 1) % nodes),
                    node => NodeId(node),
                };
                driver.machine.handle_packet(now, packet);
                next_tag += 1;
            }
        }
        driver.pause(Duration::from_secs(20), |now, network| drain(now, network, &mut ended));
        prop_assert_eq!(ended.len() as u64, next_tag, "every packet comes to an end");
    }
}

/// Takes all outputs; adds the tags of packets that have ended to `ended`.
fn drain(now: Instant, network: &mut Network, ended: &mut BTreeSet<u64>) {
    while let Some(output) = network.poll_output() {
        let tag = match output {
            Output::Arrived { at, packet, .. } | Output::Dropped { at, packet, .. } => {
                assert!(at <= now, "it came before its time: {output:?}");
                if packet.destination == Packet::EVERYWHERE {
                    assert!(!ended.contains(&packet.tag), "it ended before: {output:?}");
                    continue;
                }
                packet.tag
            }
            Output::Released { tag } => tag,
            Output::Left(_) | Output::Space { .. } => continue,
            Output::Diverted { packet, .. } | Output::Overheard { packet, .. } => {
                panic!("nobody diverts {packet:?}")
            }
        };
        assert!(ended.insert(tag), "it ended before: {output:?}");
    }
    while network.poll_event().is_some() {}
}
