//! Whole links: ends, helpers, recoders and forwarders over ways with a rate, a queue, a delay and
//! losses. Packets delivered are held against packets sent.

mod attacks;
mod forged;
mod integrity;
mod links;
mod net;
mod paths;
mod rates;
mod restarts;
mod soak;
mod strangers;

use super::*;
use crate::config::{Keys, Losses, Mode, PaceConfig, PaperRules, SyntheticLoss};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use lasthop_rlnc::Field;
use lasthop_units::{Probability, Seed};
use net::{Flying, Link, Net, node, share_of_packets};
use proptest::prelude::*;

const KEY: [u8; 32] = [9; 32];

fn end(id: u8, peer: u8, via: u8) -> Config {
    let role = Role::End { peer: NodeId(peer), via: NodeId(via), helpers: 0 };
    Config::new(NodeId(id), role, Keys::Shared(KEY), 1472)
}

/// A UDP packet of IPv4 in a flow, with a number.
fn packet(flow: u8, number: u32, length: usize) -> Vec<u8> {
    let length = length.max(32);
    let mut packet = vec![0; length];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    (packet[8], packet[9]) = (64, 17);
    packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    packet[20..24].copy_from_slice(&[flow, 1, 2, 3]);
    packet[28..32].copy_from_slice(&number.to_be_bytes());
    for (at, byte) in packet[32..].iter_mut().enumerate() {
        *byte = (number as usize * 7 + at * 13) as u8;
    }
    packet
}

fn number(packet: &[u8]) -> u32 {
    u32::from_be_bytes(packet[28..32].try_into().expect("four bytes"))
}

/// All came out as they went in, each once, each flow in order.
fn check(out: &[(Instant, Vec<u8>)], sent: &BTreeMap<(u8, u32), Vec<u8>>) {
    let mut seen = BTreeSet::new();
    let mut last = BTreeMap::new();
    for (_, packet) in out {
        let key = (packet[20], number(packet));
        assert_eq!(sent.get(&key), Some(packet), "what came out went in");
        assert!(seen.insert(key), "{key:?} came twice");
        let last = last.insert(key.0, key.1);
        assert!(last < Some(key.1), "{key:?} after {last:?}");
    }
}

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("it is a probability")
}

fn between(id: u8, role: Role, field: Field) -> Config {
    let mut config = Config::new(NodeId(id), role, Keys::Hop(crate::hop_key(&KEY)), 1472);
    config.field = field;
    config
}

const STREAM: Mode = Mode::Stream {
    blocks_max: 16,
    pace: Some(PaceConfig { queue_target: Duration::from_millis(5), rate_max: None }),
};

const PAPER: Mode = Mode::Paper { overshoot: 1.05, systematic: false, rules: PaperRules::TEXT };

/// Packets both ways between ends 1 and 2, one flow each way, at a given rate a second.
fn chat(net: &mut Net, from: Instant, until: Instant, sent: &mut BTreeMap<(u8, u32), Vec<u8>>) {
    let mut next = sent.len() as u32;
    net.run(until, |net| {
        if net.now >= from {
            for (end, flow) in [(1, 1), (2, 2)] {
                let packet = packet(flow, next, 40 + (next as usize * 97) % 1_200);
                if net.nodes.contains_key(&NodeId(end)) {
                    net.send(end, &packet);
                    sent.insert((flow, next), packet);
                }
            }
            next += 1;
        }
        Some(net.now.max(from) + Duration::from_millis(5))
    });
}

fn seconds(s: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(s)
}

/// Saturated from one end to the other for so long, with packets of `length` bytes: megabits
/// per second of packets that came out after the first second.
fn saturate(net: &mut Net, [from, to]: [u8; 2], seconds: u64, length: usize) -> f64 {
    let mut sent = BTreeMap::new();
    let mut count = 0;
    let begin = Instant::ZERO + Duration::from_secs(1);
    let end = begin + Duration::from_secs(seconds);
    net.run(end, |net| {
        if net.now < begin {
            return Some(begin);
        }
        // As a TCP would: a few packets wait, never more.
        while net.stats(from).backlog_packets < 8 {
            let packet = packet(1, count, length);
            net.send(from, &packet);
            sent.insert((1, count), packet);
            count += 1;
        }
        Some(net.now + Duration::from_micros(500))
    });
    check(net.out(to), &sent);
    let late = begin + Duration::from_secs(1);
    let bytes: usize = net.out(to).iter().filter(|(at, _)| *at > late).map(|(_, p)| p.len()).sum();
    bytes as f64 * 8.0 / 1e6 / (seconds - 1) as f64
}

fn three_hops(role: impl Fn(u8) -> Role, via: [u8; 2], loss: f64, seed: u64) -> Net {
    let field = Field::Gf256;
    let mut configs = vec![end(1, 4, via[0]), end(4, 1, via[1])];
    for config in &mut configs {
        config.symbol_bytes = 1_300;
    }
    for id in [2, 3] {
        let mut config = between(id, role(id), field);
        config.symbol_bytes = 1_300;
        configs.push(config);
    }
    let hop = || Link::new(12.0, 3, loss);
    // What a forwarder passes on is from the end, but goes its own way.
    let links = [(1, 2), (2, 3), (3, 4), (4, 3), (3, 2), (2, 1)];
    let mut links: Vec<_> = links.into_iter().map(|(a, b)| (a, b, hop())).collect();
    links.extend([(1, 4, hop()), (4, 1, hop())]);
    Net::new(configs, links, seed)
}

/// Two ends and helpers that overhear them; all ways at 12 Mb/s, each its own air.
fn helped(mode: Mode, losses: Option<Losses>, e: [f64; 3], helpers: u8, seed: u64) -> Net {
    let [e1, e2, e3] = e;
    let adjust = |config: &mut Config| {
        config.mode = mode;
        config.losses = losses;
        if let Role::End { helpers: beside, .. } = &mut config.role {
            *beside = helpers;
        }
        config.field = Field::Gf2;
        config.block_symbols = 150;
        config.symbol_bytes = 1_400;
    };
    let mut configs = vec![end(1, 2, 2), end(2, 1, 1)];
    let mut links = vec![(1, 2, Link::new(12.0, 1, e3)), (2, 1, Link::new(12.0, 1, e3))];
    for id in 3..3 + helpers {
        configs.push(between(
            id,
            Role::Helper { between: [NodeId(1), NodeId(2)], helpers },
            Field::Gf2,
        ));
        links.extend([(1, id, Link::new(12.0, 1, e1)), (id, 2, Link::new(12.0, 1, e2))]);
        links.extend([(2, id, Link::new(12.0, 1, e1)), (id, 1, Link::new(12.0, 1, e2))]);
    }
    configs.iter_mut().for_each(adjust);
    let mut net = Net::new(configs, links, seed);
    net.helpers = (3..3 + helpers).map(|id| (NodeId(id), [NodeId(1), NodeId(2)])).collect();
    net
}
