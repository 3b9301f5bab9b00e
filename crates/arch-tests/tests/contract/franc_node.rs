//! [`Node`] as an end whose datagrams arrive, are lost, duplicated or modified, with a
//! driver that polls at any time: datagrams are not too long, and it does not transmit
//! without end. Leaves out helpers, recoders and forwarders.

use crate::{one_in, pause};
use lasthop_arch_tests::contract::Driver;
use lasthop_franc::config::{Config, Keys, Mode, PaperRules, Role};
use lasthop_franc::{Address, Entropy, Node, NodeId};
use lasthop_units::{Duration, Instant, Seed};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Work {
    Packet(u16),
    /// Delivers a datagram of the other end, counted back from its last one (0). If
    /// `flip` is given, one bit of the byte at this index (modulo the length) is
    /// flipped.
    Datagram {
        back: usize,
        flip: Option<u16>,
    },
    /// The other end receives all datagrams sent since it last did, and may transmit.
    Answer,
    Nothing,
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        3 => (20..1_400u16).prop_map(Work::Packet),
        4 => (0..4usize, prop::option::weighted(0.1, any::<u16>()))
            .prop_map(|(back, flip)| Work::Datagram { back, flip }),
        4 => Just(Work::Answer),
        2 => Just(Work::Nothing),
    ]
}

fn node(id: u8, peer: u8, mode: Mode) -> Node {
    let role = Role::End { peer: NodeId(peer), via: NodeId(peer), helpers: 0 };
    let mut config = Config::new(NodeId(id), role, Keys::Shared([3; 32]), 1_472);
    (config.mode, config.block_symbols) = (mode, 8);
    config.symbol_bytes = config.symbol_bytes_max();
    let mut stream = Seed::new(1, 0).indexed("node", u64::from(id));
    let entropy = Entropy::from_stream(&mut stream);
    Node::new(config, entropy, stream, Instant::ZERO).expect("it is sound")
}

fn packet(length: u16) -> Vec<u8> {
    let mut packet = vec![0; usize::from(length)];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet
}

proptest! {
    #![proptest_config(one_in(8))]

    #[test]
    fn keeps_the_contract(
        paper: bool,
        work in prop::collection::vec(
            (pause(Duration::from_millis(400)), work(), prop::bool::weighted(0.8)), 1..150),
    ) {
        let mode = if paper {
            Mode::Paper { overshoot: 1.05, systematic: false, rules: PaperRules::TEXT }
        } else {
            node(1, 2, Mode::Stream { blocks_max: 4, pace: None }).config().mode
        };
        let mut other = node(2, 1, mode);
        let mut driver = Driver::new(node(1, 2, mode));
        let (mut said, mut heard) = (Vec::new(), Vec::new());
        for (pause, work, polls) in work {
            pause.pass(&mut driver, |now, node| {
                // A driver whose interface is full takes no datagram.
                while polls && let Some(transmit) = node.poll_transmit(now) {
                    assert!(transmit.datagram.len() <= 1_472);
                    said.push(transmit.datagram);
                    assert!(said.len() < 20_000, "it goes on and on: {:?}", node.stats(now));
                }
                while node.poll_packet().is_some() {}
                while node.poll_event().is_some() {}
            });
            let now = driver.now();
            match work {
                Work::Packet(length) => driver.machine.handle_packet(now, &packet(length)),
                Work::Datagram { back, flip } => {
                    let datagram: Option<&Vec<u8>> = heard.iter().rev().nth(back);
                    if let Some(mut datagram) = datagram.cloned() {
                        if let Some(flip) = flip {
                            let at = usize::from(flip) % datagram.len();
                            datagram[at] ^= 1;
                        }
                        driver.machine.handle_datagram(now, Address::Node(NodeId(2)), &datagram);
                    }
                }
                Work::Answer => {
                    for datagram in said.drain(..) {
                        other.handle_datagram(now, Address::Node(NodeId(1)), &datagram);
                    }
                    other.handle_packet(now, &packet(100));
                    lasthop_units::Machine::handle_timeout(&mut other, now);
                    while let Some(transmit) = other.poll_transmit(now) {
                        heard.push(transmit.datagram);
                    }
                    while other.poll_packet().is_some() {}
                }
                Work::Nothing => {}
            }
        }
    }
}
