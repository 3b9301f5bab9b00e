//! Runs two ends, a recoder and a helper over an arbitrary network, with injected bytes. No machine
//! panics, and every delivered packet was sent.

#![no_main]

use lasthop_franc::config::{Config, Keys, Role};
use lasthop_franc::{Address, Entropy, Node, NodeId, hop_key};
use lasthop_rlnc::Field;
use lasthop_units::{Duration, Instant, Machine, Seed};
use libfuzzer_sys::fuzz_target;

const KEY: [u8; 32] = [5; 32];
/// Datagrams that are on their way at most.
const AIR_MAX: usize = 256;

fn node(id: u8, role: Role) -> Node {
    let keys = match role {
        Role::End { .. } => Keys::Shared(KEY),
        _ => Keys::Hop(hop_key(&KEY)),
    };
    let mut config = Config::new(NodeId(id), role, keys, 400);
    (config.field, config.block_symbols) = (Field::Gf16, 8);
    config.symbol_bytes = 200;
    let mut stream = Seed::new(1, 0).indexed("node", id.into());
    let entropy = Entropy::from_stream(&mut stream);
    Node::new(config, entropy, stream, Instant::ZERO).expect("sound")
}

fn packet(number: u16, length: u8) -> Vec<u8> {
    let length = u16::from(length).clamp(24, 170);
    let mut packet = vec![0; usize::from(length)];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[20..22].copy_from_slice(&number.to_be_bytes());
    packet
}

fuzz_target!(|bytes: &[u8]| {
    let ends = |peer| Role::End { peer: NodeId(peer), via: NodeId(3), helpers: 1 };
    let between = [NodeId(1), NodeId(2)];
    let mut nodes = [
        node(1, ends(2)),
        node(2, ends(1)),
        node(3, Role::Recoder { between }),
        node(4, Role::Helper { between: [NodeId(1), NodeId(3)], helpers: 1 }),
    ];
    let mut now = Instant::ZERO;
    let mut air: Vec<(usize, usize, Vec<u8>)> = Vec::new();
    let address = |index: usize| Address::Node(NodeId(index as u8 + 1));
    let (mut sent, mut came) = (0u16, Vec::new());
    let mut rest = bytes;
    while let [op, argument, tail @ ..] = rest {
        rest = tail;
        let at = usize::from(*argument) % air.len().max(1);
        match op % 8 {
            0 | 1 => {
                nodes[0].handle_packet(now, &packet(sent, *argument));
                sent += 1;
            }
            // The oldest datagram arrives; another is lost, comes twice or damaged.
            2 | 3 if !air.is_empty() => {
                let (from, to, datagram) = air.remove(0);
                nodes[to].handle_datagram(now, address(from), &datagram);
            }
            4 if !air.is_empty() => drop(air.remove(at)),
            5 if !air.is_empty() => {
                let (from, to, datagram) = air[at].clone();
                // It comes again, perhaps from elsewhere.
                let from = if argument & 0x80 == 0 { from } else { 9 };
                nodes[to].handle_datagram(now, address(from), &datagram);
            }
            6 => {
                let length = usize::from(*argument).min(rest.len());
                for node in &mut nodes {
                    node.handle_datagram(now, address(8), &rest[..length]);
                }
                rest = &rest[length..];
            }
            7 => {
                now += Duration::from_millis(u64::from(*argument));
                for node in &mut nodes {
                    if node.poll_timeout().is_some_and(|(at, _)| at <= now) {
                        node.handle_timeout(now);
                    }
                }
            }
            _ => {}
        }
        for (from, node) in nodes.iter_mut().enumerate() {
            while let Some(transmit) = node.poll_transmit(now) {
                let to = usize::from(transmit.to.0) - 1;
                for to in [to, 3] {
                    if to != from && air.len() < AIR_MAX {
                        air.push((from, to, transmit.datagram.clone()));
                    }
                }
            }
            while node.poll_event().is_some() {}
            while let Some(packet) = node.poll_packet() {
                assert_eq!(from, 1, "only one end sends");
                let number = u16::from_be_bytes([packet[20], packet[21]]);
                assert!(number < sent && packet[22..].iter().all(|&byte| byte == 0));
                came.push(number);
            }
        }
    }
    assert!(came.is_sorted_by(|a, b| a < b), "once, in order: {came:?}");
});
