//! CAKE against Linux' own. The functions `cake_enqueue`, `cake_dequeue` and all below them, of
//! `sch_cake.c` in Debian's 6.12.117, were compiled as a program with the clock, the packets and the
//! lists of a harness. The harness passed the events of [`Scene::events`], the hashes and draws of the queue
//! here (`skb->hash`, `get_random_u16`, `get_random_u32`), and code points CS1, 0, AF41 and EF. A
//! packet's memory was the length of its frame, as here.
//!
//! The decisions are in `cake/`, written as [`super::replay`] says.

use super::*;
use crate::aqm::mixed;
use crate::queue::cake::{Isolation, Tins};
use crate::queue::tests::replay::{Event, assert_decides};
use crate::{AccessCategory, NodeId};

use lasthop_units::{Bitrate, Seed, Stream};

/// The key of the queues' hash and draws.
const PERTURBATION: u32 = 7;

/// Events begin here, since the kernel's clock is never near zero.
const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

/// Arrivals and requests at a queue.
struct Scene {
    name: &'static str,
    kernel: &'static str,
    config: QueueConfig,
    /// Number of events.
    events: u32,
    flows: u64,
    /// Mean times between arrivals, and between requests.
    arrival: Duration,
    request: Duration,
}

fn config(
    bandwidth: Option<Bitrate>,
    memory_limit: Option<Bytes>,
    isolation: Isolation,
    tins: Tins,
    overhead_bytes: u16,
) -> QueueConfig {
    let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
    QueueConfig::Cake { bandwidth, memory_limit, target, interval, isolation, tins, overhead_bytes }
}

fn scenes() -> [Scene; 9] {
    let us = Duration::from_micros;
    let mbps = |rate| Some(Bitrate::from_mbps(rate));
    let bytes = |bytes| Some(Bytes::new(bytes));
    let scene = |name, kernel, config, (flows, arrival, request): (u64, u64, u64)| Scene {
        name,
        kernel,
        config,
        events: 3_000,
        flows,
        arrival: us(arrival),
        request: us(request),
    };
    [
        scene(
            "triple",
            include_str!("cake/triple.txt"),
            config(None, None, Isolation::Triple, Tins::BestEffort, 14),
            (24, 900, 1_000),
        ),
        scene(
            "flows",
            include_str!("cake/flows.txt"),
            config(None, None, Isolation::Flows, Tins::BestEffort, 14),
            (40, 950, 1_000),
        ),
        scene(
            "sources",
            include_str!("cake/sources.txt"),
            config(None, None, Isolation::DualSource, Tins::Diffserv3, 14),
            (24, 900, 1_000),
        ),
        scene(
            "destinations",
            include_str!("cake/destinations.txt"),
            config(None, None, Isolation::DualDestination, Tins::Diffserv4, 14),
            (24, 900, 1_000),
        ),
        scene(
            "full",
            include_str!("cake/full.txt"),
            config(None, bytes(60_000), Isolation::Triple, Tins::BestEffort, 14),
            (12, 500, 1_000),
        ),
        scene(
            "sparse",
            include_str!("cake/sparse.txt"),
            config(None, None, Isolation::Triple, Tins::Diffserv3, 14),
            (30, 1_500, 1_000),
        ),
        scene(
            "set",
            include_str!("cake/set.txt"),
            config(None, None, Isolation::Triple, Tins::BestEffort, 14),
            (14, 900, 1_000),
        ),
        scene(
            "shaped",
            include_str!("cake/shaped.txt"),
            config(mbps(10), None, Isolation::Triple, Tins::Diffserv3, 38),
            (20, 600, 400),
        ),
        scene(
            "slow",
            include_str!("cake/slow.txt"),
            config(mbps(1), bytes(100_000), Isolation::Triple, Tins::Diffserv4, 14),
            (10, 5_000, 3_000),
        ),
    ]
}

impl Scene {
    /// The events, in order.
    fn events(&self) -> Vec<(Instant, Event)> {
        let mut stream = Seed::new(1, 0).stream(self.name);
        let mut flows: Vec<Packet> =
            (0..self.flows).map(|index| flow(index, &mut stream)).collect();
        if self.name == "set" {
            // All at home in one set of eight queues.
            let is_there = |hash: &u32| mixed(*hash, PERTURBATION) as usize % 1_024 / 8 == 3;
            let hashes = (0..).filter(is_there);
            flows.iter_mut().zip(hashes).for_each(|(flow, hash)| flow.flow_hash = hash);
        }
        let mut events = Vec::new();
        let (mut arrives, mut asks) = (BEGIN, BEGIN);
        let mut tag = 0;
        while events.len() < self.events as usize {
            if asks <= arrives {
                events.push((asks, Event::Request));
                asks += self.request;
                continue;
            }
            // The first flows have most of the packets.
            let most = stream.up_to(self.flows as u32 - 1);
            let of = flows[stream.up_to(most) as usize];
            let shorter = stream.up_to(400) as u16;
            let bytes = of.bytes - shorter.min(of.bytes - 40);
            events.push((arrives, Event::Arrival(Packet { tag, bytes, arrived: arrives, ..of })));
            tag += 1;
            // Bursts: every other packet follows the one before.
            if stream.up_to(1) == 0 {
                let mean = self.arrival.as_nanos() as u32;
                arrives += Duration::from_nanos(u64::from(stream.up_to(4 * mean)));
            }
        }
        events
    }
}

/// A packet of a flow: four sources, six destinations, all classes.
fn flow(index: u64, stream: &mut Stream) -> Packet {
    let host = |number: u32| NodeId(number as u16);
    Packet {
        flow_hash: stream.next_u64() as u32,
        source: host(stream.up_to(3)),
        destination: host(stream.up_to(5)),
        access_category: AccessCategory::ALL[[1, 1, 0, 1, 3, 2, 1][(index % 7) as usize]],
        ecn_capable: index % 3 == 1,
        ..packet(0, [1_500, 1_500, 600, 440][(index % 4) as usize])
    }
}

/// Every packet leaves, is dropped or marked at the same event as in Linux.
#[test]
fn decisions_are_the_kernels() {
    for scene in scenes() {
        let events = scene.events();
        assert_decides(scene.name, &scene.config, PERTURBATION, events, scene.kernel);
    }
}
