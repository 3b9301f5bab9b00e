//! Whole links: ends, helpers, recoders and forwarders over ways with a rate, a queue, a
//! delay and losses. What comes out is held against what went in.

use super::*;
use crate::config::{Keys, Losses, Mode, PaceConfig, SyntheticLoss};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use lasthop_rlnc::Field;
use lasthop_units::{Probability, Seed};
use proptest::prelude::*;

const KEY: [u8; 32] = [9; 32];

/// A way from one node to another.
#[derive(Clone, Debug)]
struct Way {
    bytes_per_s: f64,
    delay: Duration,
    loss: f64,
    queue_max: Duration,
    free_at: Instant,
    reorder: f64,
    duplicate: f64,
    corrupt: f64,
}

impl Way {
    fn new(mbps: f64, delay_ms: u64, loss: f64) -> Self {
        Self {
            bytes_per_s: mbps * 1e6 / 8.0,
            delay: Duration::from_millis(delay_ms),
            loss,
            queue_max: Duration::from_millis(100),
            free_at: Instant::ZERO,
            reorder: 0.0,
            duplicate: 0.0,
            corrupt: 0.0,
        }
    }
}

/// Bytes that a datagram has around it on the way (UDP over IPv4).
const AROUND: usize = 28;

/// Nodes and ways in virtual time.
struct Net {
    now: Instant,
    nodes: BTreeMap<NodeId, Node>,
    ways: BTreeMap<(NodeId, NodeId), Way>,
    /// Nodes that overhear all that these two say to each other.
    helpers: Vec<(NodeId, [NodeId; 2])>,
    air: BTreeMap<(Instant, u64), (NodeId, Vec<u8>)>,
    count: u64,
    stream: Stream,
    /// What came out where, and when.
    out: BTreeMap<NodeId, Vec<(Instant, Vec<u8>)>>,
    events: Vec<(NodeId, Event)>,
}

impl Net {
    fn new(configs: Vec<Config>, ways: Vec<(u8, u8, Way)>, seed: u64) -> Self {
        let seed = Seed::new(seed, 0);
        let nodes = configs.into_iter().map(|config| {
            let id = config.id;
            let stream = seed.indexed("node", u64::from(id.0));
            (id, Node::new(config, stream, Instant::ZERO).expect("the configuration is sound"))
        });
        Self {
            now: Instant::ZERO,
            nodes: nodes.collect(),
            ways: ways.into_iter().map(|(a, b, way)| ((NodeId(a), NodeId(b)), way)).collect(),
            helpers: Vec::new(),
            air: BTreeMap::new(),
            count: 0,
            stream: seed.stream("net"),
            out: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Two ends and a way both ways.
    fn pair(adjust: impl Fn(&mut Config), way: &Way, seed: u64) -> Self {
        let configs = [(1, 2), (2, 1)].map(|(id, peer)| {
            let mut config = end(id, peer, peer);
            adjust(&mut config);
            config
        });
        Self::new(configs.into(), vec![(1, 2, way.clone()), (2, 1, way.clone())], seed)
    }

    fn chance(&mut self, p: f64) -> bool {
        self.stream.uniform() < p
    }

    fn drain(&mut self) {
        let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        for id in ids {
            loop {
                let is_full = self.is_full(id);
                let node = self.nodes.get_mut(&id).expect("it is there");
                if !is_full && let Some(transmit) = node.poll_transmit(self.now) {
                    assert!(transmit.datagram.len() <= 1472, "{}", transmit.datagram.len());
                    self.carry(id, transmit);
                    continue;
                }
                if let Some(packet) = node.poll_packet() {
                    self.out.entry(id).or_default().push((self.now, packet));
                    continue;
                }
                let Some(event) = node.poll_event() else { break };
                self.events.push((id, event));
            }
        }
    }

    /// The interface takes no more: the driver's part where nothing is paced.
    fn is_full(&self, id: NodeId) -> bool {
        let limit = self.now + Duration::from_millis(4);
        matches!(self.nodes[&id].config().mode, Mode::Paper { .. })
            && self.ways.iter().any(|(&(from, _), way)| from == id && way.free_at > limit)
    }

    fn carry(&mut self, from: NodeId, transmit: Transmit) {
        let Some(way) = self.ways.get(&(from, transmit.to)).cloned() else { return };
        let start = way.free_at.max(self.now);
        if start.saturating_since(self.now) > way.queue_max {
            return;
        }
        let time = (transmit.datagram.len() + AROUND) as f64 / way.bytes_per_s;
        let sent = start + Duration::from_secs_f64(time);
        self.ways.get_mut(&(from, transmit.to)).expect("it is there").free_at = sent;
        let mut listeners = vec![transmit.to];
        listeners.extend(self.helpers.iter().filter_map(|&(helper, ends)| {
            (ends.contains(&from) && ends.contains(&transmit.to)).then_some(helper)
        }));
        for to in listeners {
            // A listener's losses are its own way's, or made at the listener.
            let loss = self.ways.get(&(from, to)).map_or(0.0, |way| way.loss);
            for _ in 0..1 + usize::from(self.chance(way.duplicate)) {
                if self.chance(loss) {
                    continue;
                }
                let mut datagram = transmit.datagram.clone();
                if self.chance(way.corrupt) {
                    let at = self.stream.up_to(datagram.len() as u32 - 1) as usize;
                    datagram[at] ^= 1 << self.stream.up_to(7);
                }
                let extra = match self.chance(way.reorder) {
                    true => Duration::from_micros(u64::from(self.stream.up_to(8_000))),
                    false => Duration::ZERO,
                };
                self.count += 1;
                self.air.insert((sent + way.delay + extra, self.count), (to, datagram));
            }
        }
    }

    /// Runs until `end`; `feed` says when and where the next packet goes in.
    fn run(&mut self, end: Instant, mut feed: impl FnMut(&mut Self) -> Option<Instant>) {
        let mut feed_at = feed(self);
        let mut standstill = 0;
        loop {
            self.drain();
            let timers = self.nodes.values().filter_map(|node| node.poll_timeout());
            let timer = timers.map(|(at, _)| at).min().unwrap_or(Instant::MAX);
            let air = self.air.keys().next().map_or(Instant::MAX, |&(at, _)| at);
            let room = self
                .nodes
                .keys()
                .filter(|&&id| self.is_full(id))
                .map(|_| self.now + Duration::from_millis(1));
            let timer = timer.min(room.min().unwrap_or(Instant::MAX));
            let next = timer.min(air).min(feed_at.unwrap_or(Instant::MAX)).max(self.now);
            if next >= end {
                self.now = end;
                return;
            }
            standstill = if next == self.now { standstill + 1 } else { 0 };
            let wishes = || self.nodes.values().map(|node| node.poll_timeout()).collect::<Vec<_>>();
            assert!(standstill < 10_000, "{} goes on and on: {:?}", self.now, wishes());
            self.now = next;
            if air <= next {
                let (_, (to, datagram)) = self.air.pop_first().expect("it is there");
                if let Some(node) = self.nodes.get_mut(&to) {
                    node.handle_datagram(self.now, &datagram);
                }
            } else if feed_at.is_some_and(|at| at <= next) {
                feed_at = feed(self);
            } else {
                for node in self.nodes.values_mut() {
                    node.handle_timeout(self.now);
                }
            }
        }
    }

    fn send(&mut self, to: u8, packet: &[u8]) {
        let now = self.now;
        self.nodes.get_mut(&NodeId(to)).expect("it is there").handle_packet(now, packet);
    }

    fn stats(&self, id: u8) -> Stats {
        self.nodes[&NodeId(id)].stats(self.now)
    }

    fn out(&self, id: u8) -> &[(Instant, Vec<u8>)] {
        self.out.get(&NodeId(id)).map_or(&[], Vec::as_slice)
    }
}

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

/// Saturated for so long: megabits per second of packets that came out, and stats.
fn saturate(net: &mut Net, seconds: u64, length: usize) -> f64 {
    let mut sent = BTreeMap::new();
    let mut count = 0;
    let begin = Instant::ZERO + Duration::from_secs(1);
    let end = begin + Duration::from_secs(seconds);
    net.run(end, |net| {
        if net.now < begin {
            return Some(begin);
        }
        // As a TCP would: a few packets wait, never more.
        while net.stats(1).backlog_packets < 8 {
            let packet = packet(1, count, length);
            net.send(1, &packet);
            sent.insert((1, count), packet);
            count += 1;
        }
        Some(net.now + Duration::from_micros(500))
    });
    check(net.out(2), &sent);
    let late = begin + Duration::from_secs(1);
    let bytes: usize = net.out(2).iter().filter(|(at, _)| *at > late).map(|(_, p)| p.len()).sum();
    bytes as f64 * 8.0 / 1e6 / (seconds - 1) as f64
}

#[test]
fn a_saturated_lossy_link_carries_what_the_losses_leave() {
    for loss in [0.0, 0.01, 0.05, 0.1, 0.2, 0.3] {
        let mut net = Net::pair(|_| {}, &Way::new(12.0, 10, loss), 1);
        let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
        let goodput = saturate(&mut net, 10, mtu);
        let ideal = 12.0 * (1.0 - loss) * mtu as f64 / 1500.0;
        // A second of ten is not in steady state; chance moves the losses by a percent.
        assert!(goodput > 0.96 * ideal, "{loss}: {goodput} of {ideal} Mb/s");
        let redundant = net.stats(2).redundant as f64 / net.stats(1).source_sent as f64;
        assert!(redundant < 0.025, "{loss}: {redundant} of what was sent said nothing new");
    }
}

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("it is a probability")
}

/// Every so often a packet each way; how long each took.
fn sparse(net: &mut Net, interval: Duration, count: u32) -> Vec<Duration> {
    let mut sent = BTreeMap::new();
    let mut at = BTreeMap::new();
    let mut next = 0;
    let begin = Instant::ZERO + Duration::from_secs(1);
    net.run(begin + interval * u64::from(count + 20), |net| {
        if net.now >= begin && next < count {
            let packet = packet(3, next, 84);
            net.send(1, &packet);
            sent.insert((3, next), packet);
            at.insert(next, net.now);
            next += 1;
        }
        Some(net.now.max(begin - interval) + interval)
    });
    check(net.out(2), &sent);
    assert_eq!(net.out(2).len(), count as usize, "nothing is lost");
    let mut delays: Vec<_> = net.out(2).iter().map(|(t, p)| *t - at[&number(p)]).collect();
    delays.sort_unstable();
    delays
}

#[test]
fn sparse_packets_wait_a_round_trip_and_a_timeout_at_most() {
    let mut net = Net::pair(|_| {}, &Way::new(12.0, 10, 0.2), 2);
    let delays = sparse(&mut net, Duration::from_millis(50), 2_000);
    let p99 = delays[delays.len() * 99 / 100];
    // The bare link takes 10 ms; a round trip 20, the encoder timeout 20.
    assert!(p99 <= Duration::from_millis(10 + 20 + 20), "{p99}");
    assert!(delays[delays.len() / 2] < Duration::from_millis(11));
}

fn three_hops(between: impl Fn(u8) -> Role, via: [u8; 2], loss: f64) -> Net {
    let field = Field::Gf256;
    let mut configs = vec![end(1, 4, via[0]), end(4, 1, via[1])];
    for config in &mut configs {
        config.symbol_bytes = 1_300;
    }
    for id in [2, 3] {
        let mut config = super::tests::between(id, between(id), field);
        config.symbol_bytes = 1_300;
        configs.push(config);
    }
    let hop = || Way::new(12.0, 3, loss);
    // What a forwarder passes on is from the end, but goes its own way.
    let ways = [(1, 2), (2, 3), (3, 4), (4, 3), (3, 2), (2, 1)];
    let mut ways: Vec<_> = ways.into_iter().map(|(a, b)| (a, b, hop())).collect();
    ways.extend([(1, 4, hop()), (4, 1, hop())]);
    Net::new(configs, ways, 3)
}

fn between(id: u8, role: Role, field: Field) -> Config {
    let mut config = Config::new(NodeId(id), role, Keys::Hop(crate::hop_key(&KEY)), 1472);
    config.field = field;
    config
}

fn saturate_to(net: &mut Net, from: u8, to: u8, seconds: u64) -> f64 {
    let mut sent = BTreeMap::new();
    let mut count = 0;
    let begin = Instant::ZERO + Duration::from_secs(1);
    net.run(begin + Duration::from_secs(seconds), |net| {
        if net.now < begin {
            return Some(begin);
        }
        while net.stats(from).backlog_packets < 8 {
            let packet = packet(1, count, 1_279);
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

#[test]
fn recoders_make_three_lossy_hops_as_good_as_one() {
    let recoder = |id: u8| Role::Recoder { between: [NodeId(id - 1), NodeId(id + 1)] };
    let mut net = three_hops(recoder, [2, 3], 0.2);
    let recoded = saturate_to(&mut net, 1, 4, 6);
    // End to end: what three ways leave, over one way as fast with their losses together.
    let lost = 1.0 - 0.8f64.powi(3);
    let mut way = Way::new(12.0, 9, lost);
    way.queue_max = Duration::from_millis(100);
    let mut net = Net::pair(|config| config.symbol_bytes = 1_300, &way, 3);
    let plain = saturate_to(&mut net, 1, 2, 6);
    assert!(recoded > 0.95 * 12.0 * 0.8 * 1_279.0 / 1_400.0, "{recoded} Mb/s");
    assert!(recoded > 1.5 * plain, "{recoded} and {plain} Mb/s");
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
    let mut ways = vec![(1, 2, Way::new(12.0, 1, e3)), (2, 1, Way::new(12.0, 1, e3))];
    for id in 3..3 + helpers {
        configs.push(between(
            id,
            Role::Helper { between: [NodeId(1), NodeId(2)], helpers },
            Field::Gf2,
        ));
        ways.extend([(1, id, Way::new(12.0, 1, e1)), (id, 2, Way::new(12.0, 1, e2))]);
        ways.extend([(2, id, Way::new(12.0, 1, e1)), (id, 1, Way::new(12.0, 1, e2))]);
    }
    configs.iter_mut().for_each(adjust);
    let mut net = Net::new(configs, ways, seed);
    net.helpers = (3..3 + helpers).map(|id| (NodeId(id), [NodeId(1), NodeId(2)])).collect();
    net
}

/// Bytes that source and helpers sent for each that came out.
fn cost(net: &Net, helpers: u8) -> f64 {
    let sent = |id: u8| net.stats(id).datagram_bytes_sent as f64;
    let all: f64 = sent(1) + (3..3 + helpers).map(sent).sum::<f64>();
    all / net.stats(2).bytes_out as f64
}

const STREAM: Mode = Mode::Stream {
    blocks_max: 16,
    pace: Some(PaceConfig { queue_target: Duration::from_millis(5), rate_max: None }),
};

const PAPER: Mode = Mode::Paper { overshoot: 1.05, systematic: false };

/// Goodput in Mb/s and cost with so many helpers, over a bad link with good ways around.
fn with_helpers(mode: Mode, losses: Option<Losses>, helpers: u8) -> (f64, f64) {
    let mut net = helped(mode, losses, [0.3, 0.3, 0.6], helpers, 5);
    let goodput = saturate(&mut net, 5, 1_300);
    (goodput, cost(&net, helpers))
}

#[test]
fn helpers_spare_the_source_and_the_air() {
    let given = Losses { e1: probability(0.3), e2: probability(0.3), e3: probability(0.6) };
    for losses in [None, Some(given)] {
        let [alone, one, two] = [0, 1, 2].map(|helpers| with_helpers(STREAM, losses, helpers));
        // Helpers have air of their own here: the bound is what the destination or any helper
        // hears of the source.
        for (helpers, (goodput, _)) in [(0, alone), (1, one), (2, two)] {
            let heard = 1.0 - 0.6 * 0.3f64.powi(helpers);
            let share = goodput / (12.0 * heard * 1_300.0 / 1_450.0);
            assert!((0.7..=1.0).contains(&share), "{helpers} helpers: {share} of the bound");
        }
        assert!(one.1 < alone.1 && two.1 < one.1, "{alone:?} {one:?} {two:?}");
        let [alone, one] = [0, 1].map(|helpers| with_helpers(PAPER, losses, helpers));
        assert!(one.1 < 0.9 * alone.1, "{alone:?} {one:?}");
    }
}

/// Packets both ways between ends 1 and 2, a flow each, so many a second.
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

/// When something came out of `end` for the first time after `since`.
fn next_out(net: &Net, end: u8, since: Instant) -> Option<Duration> {
    net.out(end).iter().find(|(at, _)| *at >= since).map(|(at, _)| *at - since)
}

#[test]
fn an_end_that_restarts_is_back_within_a_second() {
    for seed in 0..8 {
        let mut net = Net::pair(|_| {}, &Way::new(12.0, 10, 0.2), seed);
        let mut sent = BTreeMap::new();
        chat(&mut net, seconds(0.5), seconds(3.0), &mut sent);
        check(net.out(1), &sent);
        check(net.out(2), &sent);
        let restarted = Node::new(end(2, 1, 1), Seed::new(seed, 9).stream("new"), net.now);
        net.nodes.insert(NodeId(2), restarted.expect("it is sound"));
        chat(&mut net, Instant::ZERO, seconds(6.0), &mut sent);
        for end in [1, 2] {
            check(net.out(end), &sent);
            let back = next_out(&net, end, seconds(3.03)).expect("it is back");
            assert!(back < Duration::from_secs(1), "{end}: {back}");
        }
    }
}

#[test]
fn a_recoder_that_restarts_loses_nothing() {
    for seed in 0..4 {
        let recoder = |id: u8| Role::Recoder { between: [NodeId(id - 1), NodeId(id + 1)] };
        let mut net = three_hops(recoder, [2, 3], 0.1);
        net.stream = Seed::new(seed, 1).stream("net");
        let mut sent = BTreeMap::new();
        let mut next = 0;
        let mut restarted = false;
        net.run(seconds(8.0), |net| {
            if net.now >= seconds(3.0) && !restarted {
                restarted = true;
                let role = Role::Recoder { between: [NodeId(1), NodeId(3)] };
                let mut config = between(2, role, Field::Gf256);
                config.symbol_bytes = 1_300;
                let node = Node::new(config, Seed::new(seed, 9).stream("new"), net.now);
                net.nodes.insert(NodeId(2), node.expect("it is sound"));
            }
            if net.now >= seconds(1.0) && net.now < seconds(6.0) {
                let packet = packet(1, next, 700);
                net.send(1, &packet);
                sent.insert((1, next), packet);
                next += 1;
            }
            Some(net.now.max(seconds(0.99)) + Duration::from_millis(4))
        });
        check(net.out(4), &sent);
        let back = next_out(&net, 4, seconds(3.02)).expect("it is back");
        assert!(back < Duration::from_secs(1), "{back}");
        assert_eq!(net.out(4).len() as u64 + net.stats(1).backlog_drops, sent.len() as u64);
    }
}

#[test]
fn a_helper_that_vanishes_is_not_waited_for() {
    let mut net = helped(STREAM, None, [0.1, 0.1, 0.3], 1, 7);
    let mut sent = BTreeMap::new();
    chat(&mut net, seconds(0.5), seconds(2.0), &mut sent);
    net.nodes.remove(&NodeId(3));
    chat(&mut net, Instant::ZERO, seconds(4.0), &mut sent);
    check(net.out(2), &sent);
    let late = net.out(2).iter().filter(|(at, _)| *at >= seconds(3.0)).count();
    assert!(late >= 195, "{late} of 200 packets in the last second");
}

#[test]
fn ends_with_other_keys_or_codes_say_so_and_carry_nothing() {
    let mut net = Net::pair(
        |config| {
            if config.id == NodeId(2) {
                config.keys = Keys::Shared([8; 32]);
            }
        },
        &Way::new(12.0, 10, 0.0),
        1,
    );
    chat(&mut net, seconds(0.0), seconds(3.0), &mut BTreeMap::new());
    assert!(net.out.is_empty());
    for (id, other) in [(NodeId(1), NodeId(2)), (NodeId(2), NodeId(1))] {
        let told = net.events.iter().filter(|event| event.0 == id).collect::<Vec<_>>();
        assert!((2..=3).contains(&told.len()), "{told:?}");
        assert_eq!(told[0].1, Event::KeyMismatch { sender: other });
    }
    let adjust = |config: &mut Config| config.block_symbols = 50 + u16::from(config.id.0);
    let mut net = Net::pair(adjust, &Way::new(12.0, 10, 0.0), 1);
    chat(&mut net, seconds(0.0), seconds(1.0), &mut BTreeMap::new());
    assert!(net.out.is_empty());
    for (id, other) in [(NodeId(1), NodeId(2)), (NodeId(2), NodeId(1))] {
        assert!(net.events.contains(&(id, Event::CodeMismatch { peer: other })));
    }
}

#[test]
fn what_was_recorded_in_one_session_is_nothing_in_another() {
    let mut net = Net::pair(|_| {}, &Way::new(12.0, 10, 0.0), 1);
    let mut recorded = Vec::new();
    let mut sent = BTreeMap::new();
    for step in 0..100 {
        chat(&mut net, seconds(0.3), seconds(0.02 * f64::from(step)), &mut sent);
        recorded
            .extend(net.air.values().filter(|(to, _)| *to == NodeId(2)).map(|(_, d)| d.clone()));
    }
    assert!(recorded.len() > 100);
    let restarted = Node::new(end(2, 1, 1), Seed::new(1, 9).stream("new"), net.now);
    net.nodes.insert(NodeId(2), restarted.expect("it is sound"));
    chat(&mut net, Instant::ZERO, seconds(3.0), &mut sent);
    let (out, corrupt) = (net.out(2).len(), net.stats(2).corrupt);
    let now = net.now;
    let node = net.nodes.get_mut(&NodeId(2)).expect("it is there");
    for datagram in &recorded {
        node.handle_datagram(now, datagram);
        assert_eq!(node.poll_packet(), None);
    }
    assert_eq!((net.out(2).len(), net.stats(2).corrupt), (out, corrupt));
    // The session goes on.
    chat(&mut net, Instant::ZERO, seconds(4.0), &mut sent);
    check(net.out(2), &sent);
    assert!(net.out(2).len() > out + 150);
}

#[test]
fn losses_on_purpose_are_of_their_neighbour() {
    let lossy = |config: &mut Config| {
        config.synthetic = vec![
            SyntheticLoss { from: NodeId(1), loss: probability(0.25) },
            SyntheticLoss { from: NodeId(9), loss: probability(1.0) },
        ];
    };
    let mut net = Net::pair(lossy, &Way::new(12.0, 5, 0.0), 4);
    chat(&mut net, seconds(0.5), seconds(6.0), &mut BTreeMap::new());
    let loss = net.stats(2).neighbours[0].loss_in.expect("it heard something");
    assert!((loss - 0.25).abs() < 0.1, "{loss}");
    assert_eq!(net.stats(1).synthetic_lost, 0);
    assert_eq!(net.stats(1).neighbours[0].loss_in, Some(0.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 100, ..ProptestConfig::default() })]

    /// Whatever the way does to datagrams, packets come out unchanged, once, in order, and
    /// all of them if no session broke.
    #[test]
    fn nothing_comes_twice_or_changed(
        seed: u64,
        loss in 0.0..0.5f64,
        reorder in 0.0..0.3f64,
        duplicate in 0.0..0.3f64,
        corrupt in 0.0..0.1f64,
        delay_ms in 0u64..40,
        field in prop::sample::select(&[Field::Gf2, Field::Gf16, Field::Gf256][..]),
        block in 4u16..150,
        paper: bool,
        alone: bool,
    ) {
        let mut way = Way::new(12.0, delay_ms, loss);
        (way.reorder, way.duplicate, way.corrupt) = (reorder, duplicate, corrupt);
        let adjust = |config: &mut Config| {
            (config.field, config.block_symbols) = (field, block);
            // No drops in the backlog, so that everything must come out.
            config.backlog.target = None;
            if paper {
                config.mode = PAPER;
            }
            if alone {
                config.small = crate::config::Small::Alone;
            }
            config.rekey_blocks = 16;
            config.symbol_bytes = config.symbol_bytes_max();
        };
        let mut net = Net::pair(adjust, &way, seed);
        let mut sent = BTreeMap::new();
        chat(&mut net, seconds(0.5), seconds(2.0), &mut sent);
        let until = net.now + Duration::from_secs(60);
        net.run(until, |_| None);
        check(net.out(1), &sent);
        check(net.out(2), &sent);
        let idle = 120 * 200;
        prop_assert!(net.stats(1).datagram_bytes_sent < 20_000_000 + idle, "quiet when idle");
        prop_assert_eq!(net.stats(1).corrupt + net.stats(2).corrupt, 0);
        if net.stats(1).sessions == 1 && net.stats(2).sessions == 1 {
            let dropped = net.stats(1).backlog_drops + net.stats(2).backlog_drops;
            let out = net.out(1).len() + net.out(2).len();
            prop_assert_eq!(out as u64 + dropped, sent.len() as u64);
        }
    }

    /// Any bytes at all: nothing comes out and memory does not grow with them.
    #[test]
    fn strangers_say_nothing(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..200),
        kind in 0x11..0x16u8,
    ) {
        let mut net = Net::pair(|_| {}, &Way::new(12.0, 5, 0.0), 1);
        net.run(seconds(0.5), |_| None);
        let now = net.now;
        let node = net.nodes.get_mut(&NodeId(2)).expect("it is there");
        for mut datagram in datagrams {
            prop_assert_eq!(node.handle_datagram(now, &datagram), None);
            if datagram.len() > 3 {
                datagram[..3].copy_from_slice(&[kind, 1, 2]);
            }
            prop_assert_eq!(node.handle_datagram(now, &datagram), None);
            prop_assert!(node.poll_packet().is_none());
        }
    }
}

/// The tagger of the session that ends 1 and 2 have, as somebody with the hop key knows it.
fn tagger_of(net: &mut Net) -> (u16, Tagger) {
    let secrets = crate::keys::Secrets::new(&Keys::Hop(crate::hop_key(&KEY)));
    let mut heard = sessions::Sessions::default();
    let until = net.now + Duration::from_secs(1);
    let mut found = None;
    net.run(until, |net| {
        for (_, datagram) in net.air.values() {
            if let (true, Ok(Body::Hello(hello))) =
                (Header::is_hello(datagram), wire::parse(datagram, Field::Gf256))
            {
                heard.hear(&secrets, &hello);
                if hello.echo != [0; 16] {
                    found = Some(secrets.session(&crate::keys::Nonces::of(&hello)));
                }
            }
        }
        Some(net.now + Duration::from_millis(3))
    });
    found.expect("a session is kept by HELLOs")
}

/// What somebody with the hop key may say.
#[derive(Clone, Debug)]
enum Forged {
    Enc { block: u32, below: u8, vector: crate::coded::CodedVector, payload: Vec<u8> },
    Ack(wire::Ack),
}

fn forged() -> impl Strategy<Value = Forged> {
    use crate::coded::CodedVector;
    let block = || prop_oneof![0..4u32, 0..400u32, any::<u32>()];
    let symbol = || prop_oneof![0..70u16, any::<u16>()];
    let vector =
        prop_oneof![
            symbol().prop_map(CodedVector::Source),
            (any::<u32>(), symbol(), symbol())
                .prop_map(|(seed, first, count)| CodedVector::Seeded { seed, first, count }),
            (symbol(), 0..80u16, any::<u8>()).prop_map(|(first, count, byte)| CodedVector::Full {
                first,
                count,
                packed: vec![byte; usize::from(count)],
            }),
        ];
    let payload = prop::collection::vec(any::<u8>(), 0..1_500);
    let enc =
        (block(), any::<u8>(), vector, payload).prop_map(|(block, below, vector, payload)| {
            let below = below.min(u8::try_from(block).unwrap_or(u8::MAX));
            Forged::Enc { block, below, vector, payload }
        });
    let link = (0..5u8, any::<[u32; 3]>(), any::<u16>()).prop_map(|(node, n, delay_4us)| {
        let [highest, received, heard_at_us] = n;
        wire::LinkReport {
            node: NodeId(node),
            highest: highest >> (highest % 32),
            received,
            heard_at_us,
            delay_4us,
        }
    });
    let report =
        (block(), symbol(), 0..200u16, any::<u8>()).prop_map(|(block, rank, bits, byte)| {
            wire::BlockReport {
                block,
                rank,
                bits,
                bitmap: vec![byte; usize::from(bits).div_ceil(8)],
            }
        });
    let ack = (
        block(),
        any::<u16>(),
        prop::collection::vec(link, 0..4),
        prop::collection::vec(report, 0..6),
    );
    let ack = ack.prop_map(|(done, state, links, blocks)| {
        Forged::Ack(wire::Ack { done, state: state & 1, links, blocks })
    });
    prop_oneof![enc, ack]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// A helper or recoder with the hop key that keeps no rule: nothing that was not sealed
    /// comes out, nothing panics, and what is kept is bounded.
    #[test]
    fn forgers_with_the_hop_key_deliver_nothing(
        lies in prop::collection::vec((forged(), 1..5u8, 1..5u8, 0..30u64), 1..120),
    ) {
        let mut configs = vec![end(1, 2, 2), end(2, 1, 1)];
        configs.push(between(3, Role::Helper { between: [NodeId(1), NodeId(2)], helpers: 1 }, Field::Gf256));
        configs.push(between(4, Role::Recoder { between: [NodeId(1), NodeId(2)] }, Field::Gf256));
        for config in &mut configs {
            config.symbol_bytes = 1_300;
        }
        let way = || Way::new(12.0, 2, 0.0);
        let mut net = Net::new(configs, vec![(1, 2, way()), (2, 1, way())], 1);
        net.helpers = vec![(NodeId(3), [NodeId(1), NodeId(2)])];
        let (session, tagger) = tagger_of(&mut net);
        let mut sent = BTreeMap::new();
        let mut number = 1_000;
        for (lie, sender, to, pause) in lies {
            let header = Header { sender: NodeId(sender), to: NodeId(to), session, number };
            number += 1;
            let mut datagram = Vec::new();
            match &lie {
                Forged::Enc { block, below, vector, payload } => {
                    let (block, oldest) = (*block, block - u32::from(*below));
                    let enc = wire::Enc { block, oldest, vector: vector.as_vector(), payload };
                    wire::emit(&header, &Body::Enc(enc), &mut datagram);
                }
                Forged::Ack(ack) => wire::emit(&header, &Body::Ack(ack.clone()), &mut datagram),
            }
            tagger.seal(&mut datagram);
            let now = net.now;
            for node in net.nodes.values_mut() {
                node.handle_datagram(now, &datagram);
            }
            let packet = packet(1, number, 600);
            net.send(1, &packet);
            sent.insert((1, number), packet);
            let until = net.now + Duration::from_millis(pause);
            net.run(until, |_| None);
        }
        let until = net.now + Duration::from_secs(2);
        net.run(until, |_| None);
        let mut seen = BTreeSet::new();
        for (_, packet) in net.out(2) {
            let key = (packet[20], number_of(packet));
            prop_assert_eq!(sent.get(&key), Some(packet));
            prop_assert!(seen.insert(key));
        }
        prop_assert!(net.out(1).is_empty());
    }
}

fn number_of(packet: &[u8]) -> u32 {
    number(packet)
}
