//! An APQ flow in virtual time: the host that measures and the host that answers, as the programs
//! of `lasthop apq` run them. The hosts' datagrams are packets of the network; the tag of a packet
//! identifies the content of its datagram, which is kept here. A packet has the length of the IPv4
//! packet.
//!
//! The hosts send whenever they have a datagram: if the queue of their node does not accept it, it
//! is lost as in any other queue, and such losses are measured.

use crate::in_flight::InFlight;
use crate::port::{Port, Wake};
use crate::{ApqEnding, ApqFlow, Flow, Sink};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use lasthop_apq::server::ServerConfig;
use lasthop_apq::{
    Client, ClientConfig, ClientEvent, HostClock, Received, Server, SocketId, Survey, Transmit,
    header_bytes,
};
use lasthop_packet::{AccessCategory, FlowId, NodeId, Packet};
use lasthop_units::{Duration, Identity, Instant, Machine, Seed};

/// Index of the end that measures.
const CLIENT: usize = 0;
/// Index of the end that answers.
const SERVER: usize = 1;

/// An odd number, so that the four directions of the sockets have different hashes
/// (2^32 divided by the golden ratio, rounded).
const HASH_FACTOR: u32 = 0x9e37_79b9;

const SERVER_PORT: u16 = 7_766;
const CONTROL_PORT: u16 = 49_152;
const BULK_PORT: u16 = 49_153;

/// Time without a datagram from the server after which the client gives up. The time is long,
/// because a simulated network never stops working: silence only means many losses in a row.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// An APQ flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Apq {
    id: FlowId,
    /// The node of each end.
    nodes: [NodeId; 2],
    hash: u32,
    access_category: AccessCategory,
    client: Client,
    server: Server,
    in_flight: InFlight<Datagram>,
    /// The earliest wake-up that each end has asked for.
    asked: [Instant; 2],
    ending: Option<ApqEnding>,
}

/// The content of a packet.
#[derive(Clone, Debug, PartialEq)]
struct Datagram {
    from: SocketAddr,
    to: SocketAddr,
    payload: Vec<u8>,
    length: u16,
}

impl Apq {
    /// Returns a measurement that has not started.
    pub fn new(id: FlowId, flow: &Flow, apq: &ApqFlow, hash: u32, seed: Seed) -> Self {
        let nodes =
            if apq.measured_by_sender { [flow.from, flow.to] } else { [flow.to, flow.from] };
        let identity = flow.identity();
        let client = ClientConfig {
            server: SocketAddr::new(address(nodes[SERVER]), SERVER_PORT),
            key: None,
            secret: secret(seed, "flow/apq/client", identity),
            clock: HostClock::default(),
            idle_timeout: IDLE_TIMEOUT,
        };
        let server = ServerConfig {
            key: None,
            secret: secret(seed, "flow/apq/server", identity),
            clock: apq.far_clock,
            sessions_max: 1,
            rate_max_bps: u64::MAX,
            rate_total_max_bps: u64::MAX,
            duration_max: Duration::MAX,
            phase_packets_max: u32::MAX,
            samples_max: u64::MAX,
        };
        Self {
            id,
            nodes,
            hash,
            access_category: flow.access_category,
            client: Client::new(client, Survey::new(apq.survey.clone()), flow.start),
            server: Server::new(server),
            in_flight: InFlight::default(),
            asked: [Instant::MAX; 2],
            ending: None,
        }
    }

    /// Starts the measurement.
    pub fn start<S: Sink>(&mut self, now: Instant, net: &mut Port<'_, S>) {
        self.client.handle_timeout(now);
        self.act(CLIENT, now, net);
    }

    /// Handles a wake-up; the timer may have moved since.
    pub fn wake<S: Sink>(&mut self, wake: Wake, net: &mut Port<'_, S>) {
        let now = wake.at;
        if now != self.asked[wake.end] {
            // An earlier wake-up was asked for later, and has done everything.
            return;
        }
        self.asked[wake.end] = Instant::MAX;
        match wake.end {
            CLIENT => self.client.handle_timeout(now),
            _ => self.server.handle_timeout(now),
        }
        self.act(wake.end, now, net);
    }

    /// Handles a packet that arrived at its destination.
    pub fn arrived<S: Sink>(&mut self, at: Instant, packet: &Packet, net: &mut Port<'_, S>) {
        let end = usize::from(packet.destination == self.nodes[SERVER]);
        let datagram = self.in_flight.take(packet.tag);
        let received = Received {
            socket: match datagram.to.port() {
                BULK_PORT => SocketId::Bulk,
                _ => SocketId::Control,
            },
            from: datagram.from,
            at,
            payload: &datagram.payload,
            length: datagram.length,
        };
        match end {
            CLIENT => self.client.handle_datagram(at, received),
            _ => self.server.handle_datagram(at, received),
        }
        self.act(end, at, net);
    }

    /// Handles the loss of a packet.
    pub fn dropped(&mut self, packet: &Packet) {
        self.in_flight.take(packet.tag);
    }

    /// Whether the measurement is complete or has failed.
    pub fn is_done(&self) -> bool {
        self.ending.is_some()
    }

    /// Reports a measurement that is not complete at the end of the run.
    pub fn stop<S: Sink>(&self, now: Instant, sink: &mut S) {
        if self.ending.is_none() {
            let report = self.client.survey().report();
            sink.apq_ended(now, self.id, &ApqEnding::Unfinished, &report);
        }
    }

    /// Reports the results of `end`, sends its datagrams, and asks for its next wake-up.
    fn act<S: Sink>(&mut self, end: usize, now: Instant, net: &mut Port<'_, S>) {
        if end == CLIENT {
            self.report_events(now, net.sink);
        } else {
            while self.server.poll_event().is_some() {}
        }
        loop {
            let transmit = match end {
                CLIENT => self.client.poll_transmit(now),
                _ => self.server.poll_transmit(now),
            };
            let Some(transmit) = transmit else { break };
            let packet = self.packet(end, transmit, now);
            net.sink.sent(now, &packet);
            net.network.handle_packet(now, packet);
        }
        let timer = match end {
            CLIENT => self.client.poll_timeout().map(|(at, _)| at),
            _ => self.server.poll_timeout().map(|(at, _)| at),
        };
        if let Some(at) = timer.map(|at| at.max(now))
            && at < self.asked[end]
        {
            self.asked[end] = at;
            net.wakes.push(Wake { at, flow: self.id, end });
        }
    }

    fn report_events<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        while let Some(event) = self.client.poll_event() {
            let ending = match event {
                ClientEvent::PhaseDone { record, .. } => {
                    sink.apq_phase(now, self.id, &record);
                    continue;
                }
                ClientEvent::Accepted | ClientEvent::PhaseBegan { .. } => continue,
                ClientEvent::Done => ApqEnding::Done,
                ClientEvent::Stopped => ApqEnding::Unfinished,
                ClientEvent::Failed(why) => ApqEnding::Failed(why),
            };
            sink.apq_ended(now, self.id, &ending, &self.client.survey().report());
            self.ending = Some(ending);
        }
    }

    fn packet(&mut self, end: usize, transmit: Transmit, now: Instant) -> Packet {
        let port = match (end, transmit.socket) {
            (SERVER, _) => SERVER_PORT,
            (_, SocketId::Control) => CONTROL_PORT,
            (_, SocketId::Bulk) => BULK_PORT,
        };
        let from = SocketAddr::new(address(self.nodes[end]), port);
        let Transmit { to, payload, length, .. } = transmit;
        let sockets = u32::from(port) << 16 | u32::from(to.port());
        Packet {
            flow: self.id,
            flow_hash: self.hash ^ sockets.wrapping_mul(HASH_FACTOR),
            source: self.nodes[end],
            destination: self.nodes[1 - end],
            access_category: self.access_category,
            ..Packet::new(
                self.in_flight.put(Datagram { from, to, payload, length }),
                length + header_bytes(&to),
                now,
            )
        }
    }
}

/// The address of a node, in 10.0.0.0/8.
fn address(node: NodeId) -> IpAddr {
    let [high, low] = node.0.to_be_bytes();
    Ipv4Addr::new(10, 0, high, low).into()
}

/// Returns a secret for a host. The secret is drawn from the seed so that runs with one seed are
/// equal; virtual time has no attackers.
fn secret(seed: Seed, path: &str, identity: Identity) -> [u8; 32] {
    let mut stream = seed.stream_of(path, identity);
    let mut secret = [0; 32];
    secret.fill_with(|| stream.next_u64() as u8);
    secret
}
