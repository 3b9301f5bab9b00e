//! Any traffic at any instants through a lossy cell with a host behind it: no
//! panic, and every packet ends once.

#![no_main]

use lasthop_net::network::{Network, Output};
use lasthop_packet::{AccessCategory, NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant, Machine, Seed};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SCENARIO: LazyLock<Scenario> = LazyLock::new(|| {
    let text = include_str!("network.toml");
    lasthop_scenario::parse("network.toml", text, &[]).expect("a sound scenario")
});

fuzz_target!(|bytes: &[u8]| {
    let seed = Seed::new(bytes.len() as u64, 0);
    let mut network = Network::new(&SCENARIO.network_for(seed), seed).expect("a sound network");
    let nodes = SCENARIO.nodes.len() as u16;
    let mut now = Instant::ZERO;
    let (mut sent, mut ended) = (0, 0);
    let mut count = |network: &mut Network| {
        while let Some(output) = network.poll_output() {
            // A packet for everywhere ends when its tag is released.
            ended += match output {
                Output::Arrived { packet, .. } | Output::Dropped { packet, .. } => {
                    usize::from(packet.destination != Packet::EVERYWHERE)
                }
                Output::Released { .. } => 1,
                Output::Left(_) | Output::Space { .. } => 0,
                Output::Diverted { .. } | Output::Overheard { .. } => {
                    unreachable!("the scenario has no coded link")
                }
            };
        }
    };
    for step in bytes.chunks_exact(4) {
        let [way, class, wait, length] = [step[0], step[1], step[2], step[3]].map(u16::from);
        now += Duration::from_micros(u64::from(wait) * u64::from(wait));
        network.handle_timeout(now);
        let source = way % nodes;
        let destination = match way / nodes % (nodes + 1) {
            other if other == nodes || other == source => Packet::EVERYWHERE,
            other => NodeId(other),
        };
        let packet = Packet {
            source: NodeId(source),
            destination,
            flow_hash: u32::from(class / 4),
            access_category: AccessCategory::ALL[usize::from(class % 4)],
            ..Packet::new(sent as u64, 40 + 30 * length, now)
        };
        network.handle_packet(now, packet);
        sent += 1;
        count(&mut network);
    }
    while let Some((at, _)) = network.poll_timeout() {
        network.handle_timeout(at);
        count(&mut network);
    }
    assert_eq!(ended, sent);
});
