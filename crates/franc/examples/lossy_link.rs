//! Two nodes of a coded link over a path that loses datagrams: packets delivered, and the cost in
//! datagrams.
//!
//! Packets of 1000 bytes enter one node at 4 Mb/s. The path carries 10 Mb/s with a delay of 10 ms
//! each way and loses datagrams of both directions, redundancy and acknowledgements included.
//! Redundancy uses the capacity that the packets leave free, so it exceeds the need of the losses
//! where the path has capacity to spare. The loop in `Path::run` is a complete driver of the
//! machines.
//!
//! `cargo run -p lasthop-franc --example lossy_link`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_franc::config::{Config, ConfigError, Keys, Role};
use lasthop_franc::{Address, Entropy, Node, NodeId};
use lasthop_units::{
    Bitrate, Bytes, Duration, Identity, Instant, Machine, Probability, Seed, Stream,
};
use std::collections::VecDeque;

const PACKETS: u32 = 5_000;
const PACKET_BYTES: usize = 1_000;
const INTERVAL: Duration = Duration::from_millis(2);
/// Time for the handshake, before the first packet.
const START: Instant = Instant::from_nanos(500_000_000);
const RATE: Bitrate = Bitrate::from_mbps(10);
const DELAY: Duration = Duration::from_millis(10);
/// Payload of UDP over an MTU of 1500 bytes, and the headers around it on the wire.
const DATAGRAM_BYTES_MAX: u16 = 1_472;
const AROUND_BYTES: u64 = 28;

fn main() -> Result<(), ConfigError> {
    println!("{PACKETS} packets of {PACKET_BYTES} bytes, one every {INTERVAL}, over {RATE}");
    println!();
    println!(
        "loss %  sent     in order  missing   delay ms: mean   99 %    max   bytes sent a byte"
    );
    for loss in [0.0, 0.05, 0.1, 0.2, 0.3] {
        let mut path = Path::new(Probability::new(loss).expect("from 0 to 1"))?;
        path.run();
        let mut delays: Vec<f64> = path.delays.iter().map(|d| d.as_millis_f64()).collect();
        delays.sort_by(f64::total_cmp);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let stats = path.nodes[0].stats(path.now);
        let useful = stats.bytes_in as f64;
        println!(
            "{:6.0}  {:4}  {:11}  {:7}  {:15.1}  {:5.1}  {:5.1}  {:18.2}",
            loss * 100.0,
            path.entered,
            path.delays.len(),
            path.entered as usize - path.delays.len(),
            mean,
            delays[delays.len() * 99 / 100],
            delays[delays.len() - 1],
            stats.datagram_bytes_sent as f64 / useful,
        );
    }
    Ok(())
}

/// A datagram and when it arrives.
type Flying = (Instant, Vec<u8>);

/// Two ends of a link, and one direction of a path from each to the other.
struct Path {
    nodes: [Node; 2],
    /// By the node that sends: datagrams in the order in which they arrive.
    flying: [VecDeque<Flying>; 2],
    /// By the node that sends: when the path has taken its last datagram.
    free_at: [Instant; 2],
    loss: Probability,
    stream: Stream,
    now: Instant,
    entered: u32,
    /// Of packets that came out, in order.
    delays: Vec<Duration>,
}

impl Path {
    fn new(loss: Probability) -> Result<Self, ConfigError> {
        let seed = Seed::new(1, 0);
        let node = |id: u8, peer: u8, name: &str| {
            let peer = NodeId(peer);
            let role = Role::End { peer, via: peer, helpers: 0 };
            // In earnest a key and entropy are secret, and drawn from the system.
            let keys = Keys::Shared([7; 32]);
            let config = Config::new(NodeId(id), role, keys, DATAGRAM_BYTES_MAX);
            let mut stream = seed.stream_of("node", Identity::from_name(name));
            let entropy = Entropy::from_stream(&mut stream);
            Node::new(config, entropy, stream, Instant::ZERO)
        };
        Ok(Self {
            nodes: [node(1, 2, "alpha")?, node(2, 1, "beta")?],
            flying: [VecDeque::new(), VecDeque::new()],
            free_at: [Instant::ZERO; 2],
            loss,
            stream: seed.stream("path"),
            now: Instant::ZERO,
            entered: 0,
            delays: Vec::new(),
        })
    }

    /// Runs until two seconds after the last packet has entered.
    fn run(&mut self) {
        let end = enters_at(PACKETS) + Duration::from_secs(2);
        self.settle();
        while let Some(next) = self.next().filter(|next| *next < end) {
            self.now = next;
            for to in [0, 1] {
                while self.flying[1 - to].front().is_some_and(|(at, _)| *at <= self.now) {
                    let (_, datagram) = self.flying[1 - to].pop_front().expect("it is there");
                    let from = Address::Node(NodeId(2 - to as u8));
                    self.nodes[to].handle_datagram(self.now, from, &datagram);
                }
                self.nodes[to].handle_timeout(self.now);
            }
            if self.entered < PACKETS && enters_at(self.entered) <= self.now {
                self.nodes[0].handle_packet(self.now, &packet(self.entered));
                self.entered += 1;
            }
            self.settle();
        }
    }

    /// The next instant at which something arrives, enters, or a node wants to be woken.
    fn next(&self) -> Option<Instant> {
        let arrivals = self.flying.iter().filter_map(|way| way.front().map(|(at, _)| *at));
        let timers = self.nodes.iter().filter_map(|node| node.poll_timeout().map(|(at, _)| at));
        let enters = (self.entered < PACKETS).then(|| enters_at(self.entered));
        arrivals.chain(timers).chain(enters).min()
    }

    /// Takes everything that the nodes have to say.
    fn settle(&mut self) {
        for from in [0, 1] {
            while let Some(transmit) = self.nodes[from].poll_transmit(self.now) {
                let bytes = Bytes::new(transmit.datagram.len() as u64 + AROUND_BYTES);
                self.free_at[from] = self.free_at[from].max(self.now) + bytes / RATE;
                if !self.stream.chance(self.loss) {
                    self.flying[from].push_back((self.free_at[from] + DELAY, transmit.datagram));
                }
            }
            while self.nodes[from].poll_event().is_some() {}
        }
        while let Some(packet) = self.nodes[1].poll_packet() {
            let number = number(&packet);
            assert_eq!(packet, self::packet(number), "unchanged");
            assert!(number as usize >= self.delays.len(), "once, and in order");
            self.delays.push(self.now - enters_at(number));
        }
    }
}

/// When packet `number` enters.
fn enters_at(number: u32) -> Instant {
    START + INTERVAL * u64::from(number)
}

/// An IPv4 packet with UDP in it, whose payload begins with its number (RFC 791, RFC 768).
fn packet(number: u32) -> Vec<u8> {
    let mut packet = vec![0; PACKET_BYTES];
    let length = (PACKET_BYTES as u16).to_be_bytes();
    packet[..4].copy_from_slice(&[0x45, 0, length[0], length[1]]);
    packet[8..10].copy_from_slice(&[64, 17]);
    packet[12..20].copy_from_slice(&[10, 9, 0, 1, 10, 9, 0, 2]);
    packet[20..24].copy_from_slice(&[0x13, 0x88, 0x13, 0x89]);
    let length = (PACKET_BYTES as u16 - 20).to_be_bytes();
    packet[24..26].copy_from_slice(&length);
    packet[28..32].copy_from_slice(&number.to_be_bytes());
    packet
}

fn number(packet: &[u8]) -> u32 {
    u32::from_be_bytes([packet[28], packet[29], packet[30], packet[31]])
}
