//! [`Hosts`] with flows of every kind and a coded link, over a cell and a wire that
//! loses packets: the state does not depend on how it was woken, and every packet of a
//! driver leaves once. Frames have zeros as payload.

use crate::{one_in, pause};
use lasthop_arch_tests::contract::Driver;
use lasthop_hosts::hosts::HostsReason;
use lasthop_hosts::sink::NoSink;
use lasthop_hosts::{DRIVER_TAGS, Hosts};
use lasthop_net::network::Output;
use lasthop_packet::ip::Ipv4;
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant, Machine, Seed};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Hosts without a sink for their reports.
#[derive(Clone, Debug, PartialEq)]
struct Unwatched(Hosts);

impl Machine for Unwatched {
    type Reason = HostsReason;

    fn poll_timeout(&self) -> Option<(Instant, HostsReason)> {
        self.0.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now, &mut NoSink);
    }
}

const NODES: &str = r#"
duration = "2s"
warmup = "200ms"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "phone"
role = "station"
[[node]]
name = "laptop"
role = "station"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["ap", "server"]
rate = "30Mb/s"
delay = "3ms"
"#;

const KINDS: [&str; 10] = [
    "\"tcp\"",
    "\"tcp\"\nbytes = \"200kB\"",
    "\"udp\"\nrate = \"saturated\"",
    "\"udp\"\nrate = \"3Mb/s\"",
    "\"ping\"\ninterval = \"7ms\"",
    "\"video\"\nrate = \"2Mb/s\"",
    "\"apq\"",
    "\"web\"\nweb.think = \"100ms\"",
    "\"stream\"\nstream = { segment = \"100ms\", buffer = \"1s\" }",
    "\"game\"",
];

/// The index of the saturated flow in [`KINDS`].
const SATURATED: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Traffic {
    kind: usize,
    ends: usize,
    start_ms: u32,
}

fn scenario(flows: &[Traffic], loss: u8, has_link: bool) -> String {
    let mut text = format!("{NODES}loss = \"{loss}%\"\n");
    let ends = [["phone", "server"], ["server", "phone"], ["laptop", "server"], ["phone", "ap"]];
    for (index, flow) in flows.iter().enumerate() {
        let [from, to] = ends[flow.ends];
        text.push_str(&format!(
            "[[flow]]\nname = \"flow{index}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             start = \"{}ms\"\nkind = {}\n",
            flow.start_ms,
            // A coded link has no queue that a saturated flow could fill.
            KINDS[if has_link && flow.kind == SATURATED { 0 } else { flow.kind }]
        ));
    }
    if has_link {
        text.push_str("[[franc]]\nname = \"link\"\nends = [\"phone\", \"server\"]\n");
    }
    text
}

fn traffic() -> impl Strategy<Value = Traffic> {
    (0..KINDS.len(), 0..4_usize, 0..300_u32).prop_map(|(kind, ends, start_ms)| Traffic {
        kind,
        ends,
        start_ms,
    })
}

proptest! {
    #![proptest_config(one_in(16))]
    #[test]
    fn keeps_the_contract(
        flows in prop::collection::vec(traffic(), 1..5),
        loss in 0..20_u8,
        has_link: bool,
        pauses in prop::collection::vec(pause(Duration::from_millis(60)), 1..12),
    ) {
        let text = scenario(&flows, loss, has_link);
        let scenario = lasthop_scenario::parse("hosts.toml", &text, &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let seed = Seed::new(1, 0);
        let network = scenario.network_for(seed);
        let mut hosts = Hosts::new(&scenario.hosts(seed), &network, seed).expect("it is sound");
        hosts.start(Instant::ZERO, &mut NoSink);
        let mut driver = Driver::new(Unwatched(hosts.clone()));
        for pause in pauses {
            pause.pass(&mut driver, |_, _| {});
        }
        // The state does not depend on when it was woken.
        let now = driver.now();
        hosts.handle_timeout(now, &mut NoSink);
        prop_assert_eq!(hosts, driver.machine.0);
    }
}

/// A packet of a program, from outside.
#[derive(Clone, Copy, Debug)]
struct Outside {
    wait_us: u32,
    /// Index into the ends of flows.
    ends: usize,
    bytes: u16,
    /// Whether the packet has a flow number, above those of the scenario; otherwise
    /// none.
    is_numbered: bool,
    ecn_capable: bool,
}

fn outside() -> impl Strategy<Value = Outside> {
    (0..4_000_u32, 0..4_usize, 28..2_000_u16, any::<bool>(), any::<bool>()).prop_map(
        |(wait_us, ends, bytes, is_numbered, ecn_capable)| Outside {
            wait_us,
            ends,
            bytes,
            is_numbered,
            ecn_capable,
        },
    )
}

/// The Ethernet frame of an IPv4 packet (RFC 791) whose payload is zero.
fn frame(packet: &Packet) -> Vec<u8> {
    let header = Ipv4 {
        dscp: 0,
        ecn: packet.ecn(),
        total_bytes: packet.bytes,
        identification: 0,
        fragment_bits: 0,
        time_to_live: 64,
        protocol: 17,
        source: [10, 0, 0, packet.source.0 as u8],
        destination: [10, 0, 0, packet.destination.0 as u8],
    };
    let mut frame = vec![0; 14];
    frame.extend(header.to_bytes());
    frame.resize(14 + usize::from(packet.bytes), 0);
    frame
}

proptest! {
    #![proptest_config(one_in(16))]
    /// With any flows, and through a coded link too (whose payloads are equal): every
    /// packet of a driver arrives at its destination or is dropped, once, unless it is
    /// still inside.
    #[test]
    fn what_a_driver_puts_in_comes_out_once(
        flows in prop::collection::vec(traffic(), 0..3),
        loss in 0..20_u8,
        has_link: bool,
        packets in prop::collection::vec(outside(), 1..200),
    ) {
        let text = scenario(&flows, loss, has_link);
        let scenario = lasthop_scenario::parse("hosts.toml", &text, &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let seed = Seed::new(1, 0);
        let mut hosts = Hosts::new(&scenario.hosts(seed), &scenario.network_for(seed), seed)
            .expect("it is sound");
        hosts.start(Instant::ZERO, &mut NoSink);
        let ends = [(1, 3), (3, 1), (2, 3), (1, 0)].map(|(from, to)| (NodeId(from), NodeId(to)));
        let mut now = Instant::ZERO;
        let mut inside: BTreeMap<u64, Packet> = BTreeMap::new();
        let sent = packets.len();
        let mut arrived = 0;
        let mut take = |hosts: &mut Hosts, inside: &mut BTreeMap<u64, Packet>| {
            while let Some(output) = hosts.poll_output() {
                match output {
                    Output::Arrived { node, packet, .. } => {
                        let known = inside.remove(&packet.tag).expect("it ends once");
                        assert_eq!((node, packet.bytes), (known.destination, known.bytes));
                        arrived += 1;
                    }
                    Output::Dropped { packet, .. } => {
                        inside.remove(&packet.tag).expect("it ends once");
                    }
                    output => panic!("{output:?} is nothing for a driver"),
                }
            }
        };
        for (index, one) in packets.into_iter().enumerate() {
            let at = now + Duration::from_micros(u64::from(one.wait_us));
            let all = inside.clone();
            let bytes = |tag| all.get(&tag).map(frame);
            while hosts.step(at, &mut NoSink, &bytes).is_some() {}
            take(&mut hosts, &mut inside);
            now = at;
            let (source, destination) = ends[one.ends];
            let flow = if one.is_numbered {
                FlowId((flows.len() + one.ends) as u16)
            } else {
                FlowId::UNNUMBERED
            };
            let packet = Packet {
                source,
                destination,
                flow,
                ecn_capable: one.ecn_capable,
                flow_hash: one.ends as u32,
                ..Packet::new(DRIVER_TAGS + index as u64, one.bytes, now)
            };
            inside.insert(packet.tag, packet);
            let all = inside.clone();
            hosts.handle_packet(now, packet, &mut NoSink, &|tag| all.get(&tag).map(frame));
            take(&mut hosts, &mut inside);
        }
        let all = inside.clone();
        let end = now + Duration::from_secs(20);
        while hosts.step(end, &mut NoSink, &|tag| all.get(&tag).map(frame)).is_some() {}
        take(&mut hosts, &mut inside);
        // A coded link does not report the packets that it dropped last.
        prop_assert!(has_link || inside.is_empty(), "{inside:?} did not come out");
        prop_assert!(inside.len() * 2 <= sent, "{} of {sent} did not come out", inside.len());
        // In front of a tunnel, or with flows that fill the queue, not all are carried.
        if flows.is_empty() && loss == 0 {
            prop_assert!(arrived * 10 >= sent * 9, "{arrived} of {sent} arrived");
        }
    }
}
