//! [`Client`] and [`Server`] of the measurement of queues, each with a peer that has
//! the keys of the session and follows no rule: sessions end, and no machine transmits
//! without end. Time and sequence numbers of the peer may have any value.

use crate::pause;
use core::cell::Cell;
use lasthop_apq::auth::{self, Key, Nonce, Side, Token};
use lasthop_apq::record::StreamCount;
use lasthop_apq::survey::{ExactConfig, FastConfig, Method};
use lasthop_apq::wire::{self, Accepted, Datagram, Limits, Message, Probe, Refusal};
use lasthop_apq::{
    Client, ClientConfig, Direction, HostClock, PhasePlan, Proof, Proofs, Received, Sample, Server,
    ServerConfig, SocketId, StreamKind, StreamPlan, Survey, SurveyConfig, Transmit, TransmitKind,
};
use lasthop_arch_tests::contract::Driver;
use lasthop_units::{Duration, Instant, Machine};
use proptest::prelude::*;
use std::net::SocketAddr;

const SERVER: ([u8; 4], u16) = ([192, 0, 2, 9], 4_000);
const CONTROL: ([u8; 4], u16) = ([192, 0, 2, 1], 5_000);
const BULK: ([u8; 4], u16) = ([192, 0, 2, 1], 5_001);
/// Most packets that may leave after one event.
const BURST_MAX: usize = 1_000_000;

fn direction() -> impl Strategy<Value = Direction> + Clone {
    prop_oneof![Just(Direction::Down), Just(Direction::Up)]
}

fn kind() -> impl Strategy<Value = StreamKind> + Clone {
    prop_oneof![Just(StreamKind::Sparse), Just(StreamKind::Bulk)]
}

/// Generates times in milliseconds, most of them plausible.
fn time() -> impl Strategy<Value = Duration> + Clone {
    let nanos = prop_oneof![
        9 => (0..3_000u64).prop_map(|ms| ms * 1_000_000),
        1 => any::<u64>(),
    ];
    nanos.prop_map(Duration::from_nanos)
}

fn stream() -> impl Strategy<Value = StreamPlan> + Clone {
    let interval = prop_oneof![8 => 100_000..100_000_000u64, 1 => Just(1u64), 1 => any::<u64>()];
    (kind(), 0..10_000u16, interval, time(), time()).prop_map(
        |(kind, packet_bytes, interval, begin, end)| StreamPlan {
            kind,
            packet_bytes: packet_bytes.clamp(100, 9_000),
            interval: Duration::from_nanos(interval.max(1)),
            begin,
            end,
        },
    )
}

fn sample() -> impl Strategy<Value = Sample> + Clone {
    (kind(), 0..5_000u32, any::<u64>(), any::<u64>()).prop_map(
        |(kind, sequence, sent_ns, received_ns)| Sample { kind, sequence, sent_ns, received_ns },
    )
}

/// Generates numbers of phases, which are counted from 0.
fn phase() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![0..4u32, any::<u32>()]
}

fn message() -> impl Strategy<Value = Message> {
    let counts = any::<(u32, u32, u64)>().prop_map(|(sent, unsent, late)| StreamCount {
        sent,
        unsent,
        late_max: Duration::from_nanos(late),
    });
    let reason = prop_oneof![
        Just(Refusal::WrongKey),
        Just(Refusal::TooFast),
        Just(Refusal::Ending),
        Just(Refusal::Senseless)
    ];
    prop_oneof![
        8 => (phase(), direction(), prop::collection::vec(stream(), 0..4)).prop_map(
            |(phase, direction, streams)| Message::Prepare {
                phase,
                direction,
                plan: PhasePlan { streams },
            }
        ),
        4 => phase().prop_map(|phase| Message::Ready { phase }),
        4 => (phase(), any::<u64>(), prop::collection::vec(counts, 0..4)).prop_map(
            |(phase, started_ns, counts)| Message::Finished { phase, started_ns, counts }
        ),
        2 => phase().prop_map(|phase| Message::FinishedHeard { phase }),
        4 => (phase(), any::<(u32, u32)>()).prop_map(|(phase, (samples, duplicates))| {
            Message::Summary { phase, samples: samples % 3_000, duplicates }
        }),
        4 => (phase(), 0..60u32, any::<u16>())
            .prop_map(|(phase, first, wanted)| Message::Fetch { phase, first, wanted }),
        4 => (phase(), 0..60u32, prop::collection::vec(sample(), 0..=wire::CHUNK_SAMPLES))
            .prop_map(|(phase, index, samples)| Message::Chunk { phase, index, samples }),
        2 => Just(Message::Alive),
        1 => Just(Message::Attached),
        1 => any::<bool>().prop_map(|done| Message::Stop { done }),
        1 => Just(Message::Stopped),
        1 => reason.prop_map(|reason| Message::Refused { reason }),
    ]
}

#[derive(Clone, Debug)]
enum Work {
    /// A message of the peer with the key of the session.
    Say(Message),
    Probe(StreamKind, u32, u32, u64),
    Bytes(Vec<u8>),
    Unsent(StreamKind),
    Unreachable,
    Stop,
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        20 => message().prop_map(Work::Say),
        20 => (kind(), phase(), 0..5_000u32, any::<u64>())
            .prop_map(|(kind, phase, sequence, ns)| Work::Probe(kind, phase, sequence, ns)),
        3 => prop::collection::vec(any::<u8>(), 0..300).prop_map(Work::Bytes),
        2 => kind().prop_map(Work::Unsent),
        1 => Just(Work::Unreachable),
        1 => Just(Work::Stop),
    ]
}

fn received<'a>(
    socket: SocketId,
    from: SocketAddr,
    at: Instant,
    payload: &'a [u8],
) -> Received<'a> {
    Received { socket, from, at, payload, length: payload.len() as u16 }
}

/// Drains a machine and returns the transmitted datagrams.
fn drained<M>(
    machine: &mut M,
    now: Instant,
    poll: impl Fn(&mut M, Instant) -> Option<Transmit>,
) -> Vec<Transmit> {
    let mut said = Vec::new();
    for _ in 0..BURST_MAX {
        let Some(transmit) = poll(machine, now) else { return said };
        // Of the packets of a flow at one instant, the first ones represent all.
        if transmit.kind == TransmitKind::Control || said.len() < 2 {
            said.push(transmit);
        }
    }
    panic!("it sends without end");
}

/// A client that the server has accepted. The client returns received proofs, so that the
/// server continues to send.
struct RogueClient {
    handshake: Key,
    session: u64,
    number: u32,
    proofs: Proofs,
}

/// Stores the proofs in a datagram of the server, if they are newer.
fn note(proofs: &mut Proofs, transmit: &Transmit) {
    let shown = match wire::parse(&transmit.payload) {
        Ok(Datagram::Sealed(sealed)) => sealed.proofs,
        Ok(Datagram::Probe(probe)) if transmit.to == BULK.into() => [Proof::default(), probe.proof],
        Ok(Datagram::Probe(probe)) => [probe.proof, Proof::default()],
        _ => return,
    };
    for (newest, proof) in proofs.iter_mut().zip(shown) {
        if proof.at_ms > newest.at_ms {
            *newest = proof;
        }
    }
}

impl RogueClient {
    fn enter(server: &mut Server, now: Instant) -> Self {
        let (nonce, control): (Nonce, SocketAddr) = ([1; 16], CONTROL.into());
        let token = Self::prove(server, now, nonce, control);
        let handshake = auth::handshake_key(None, &nonce, &token);
        let mac_tag = auth::mac_tag(&handshake, &wire::open_covered(&nonce, &token));
        let open = wire::emit(&Datagram::Open { nonce, token, mac_tag });
        server.handle_datagram(now, received(SocketId::Control, control, now, &open));
        let answer = server.poll_transmit(now).expect("it lets us in").payload;
        let Ok(Datagram::Accepted { accepted, .. }) = wire::parse(&answer) else {
            panic!("{answer:?}")
        };
        let (session, proofs) = (accepted.session, Proofs::default());
        let mut rogue = Self { handshake, session, number: 0, proofs };
        let token = Self::prove(server, now, [2; 16], BULK.into());
        let attach = rogue.seal(&Message::Attach { nonce: [2; 16], token });
        server.handle_datagram(now, received(SocketId::Control, BULK.into(), now, &attach));
        let attached = server.poll_transmit(now).expect("it knows the bulk socket");
        note(&mut rogue.proofs, &attached);
        rogue
    }

    fn prove(server: &mut Server, now: Instant, nonce: Nonce, from: SocketAddr) -> Token {
        let hello = wire::emit(&Datagram::Hello(nonce));
        server.handle_datagram(now, received(SocketId::Control, from, now, &hello));
        let answer = server.poll_transmit(now).expect("it asks for a proof").payload;
        let Ok(Datagram::Challenge { token, .. }) = wire::parse(&answer) else {
            panic!("{answer:?}")
        };
        token
    }

    fn seal(&mut self, message: &Message) -> Vec<u8> {
        self.number += 1;
        let key = auth::session_key(&self.handshake, self.session, Side::Client);
        wire::seal(message, self.session, self.number, &self.proofs, &key)
    }
}

fn server() -> Server {
    Server::new(ServerConfig {
        key: None,
        secret: [2; 32],
        clock: HostClock { offset_ns: u64::MAX - 5, drift_ppm: -200 },
        sessions_max: 2,
        rate_max_bps: 1_000_000_000,
        rate_total_max_bps: 1_000_000_000,
        duration_max: Duration::from_secs(600),
        phase_packets_max: 20_000,
        samples_max: 40_000,
    })
}

fn client(method: Method, direction: Direction) -> Client {
    let config = SurveyConfig {
        directions: vec![direction],
        packet_bytes: vec![1500, 750],
        method,
        discipline: true,
        rate_max_pps: 2_000.0,
    };
    let client = ClientConfig {
        server: SERVER.into(),
        key: None,
        secret: [1; 32],
        clock: HostClock { offset_ns: 7, drift_ppm: 200 },
        idle_timeout: Duration::from_secs(10),
    };
    Client::new(client, Survey::new(config), Instant::ZERO)
}

fn method() -> impl Strategy<Value = Method> {
    let exact = ExactConfig {
        dwell: Duration::from_secs(1),
        sessions: 2,
        time_scale: 0.02,
        ..ExactConfig::default()
    };
    prop_oneof![
        Just(Method::Exact(exact.clone())),
        Just(Method::Exact(ExactConfig { saturation_pps: Some(300.0), ..exact })),
        Just(Method::Fast(FastConfig::default())),
    ]
}

/// A server by which a client believes to be accepted.
struct RogueServer {
    handshake: Key,
    number: u32,
}

const SESSION: u64 = 77;

impl RogueServer {
    fn let_in(client: &mut Client) -> Self {
        let now = Instant::ZERO;
        let tell = |client: &mut Client, socket, datagram: &Datagram<'_>| {
            let bytes = wire::emit(datagram);
            client.handle_datagram(now, received(socket, SERVER.into(), now, &bytes));
        };
        let hello = |client: &mut Client| {
            let bytes = client.poll_transmit(now).expect("it knocks").payload;
            match wire::parse(&bytes) {
                Ok(Datagram::Hello(nonce)) => nonce,
                other => panic!("{other:?}"),
            }
        };
        let (nonce, token) = (hello(client), [3; 24]);
        tell(client, SocketId::Control, &Datagram::Challenge { nonce, token, keyed: false });
        let handshake = auth::handshake_key(None, &nonce, &token);
        client.poll_transmit(now).expect("it gives the token back");
        let limits = Limits {
            rate_max_bps: 1_000_000_000,
            duration_max: Duration::from_secs(600),
            phase_packets_max: 1_000_000,
        };
        let accepted = Accepted { nonce, session: SESSION, limits };
        let mac_tag = auth::mac_tag(&handshake, &accepted.covered());
        tell(client, SocketId::Control, &Datagram::Accepted { accepted, mac_tag });
        let nonce = hello(client);
        tell(client, SocketId::Bulk, &Datagram::Challenge { nonce, token, keyed: false });
        client.poll_transmit(now).expect("it attaches");
        let mut rogue = Self { handshake, number: 0 };
        let attached = rogue.seal(&Message::Attached);
        client.handle_datagram(now, received(SocketId::Bulk, SERVER.into(), now, &attached));
        rogue
    }

    fn seal(&mut self, message: &Message) -> Vec<u8> {
        self.number += 1;
        let key = auth::session_key(&self.handshake, SESSION, Side::Server);
        wire::seal(message, SESSION, self.number, &Proofs::default(), &key)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The server sends only to addresses that were proven, and every session ends.
    #[test]
    fn a_server_keeps_the_contract(
        work in prop::collection::vec((pause(Duration::from_secs(2)), work()), 1..60),
    ) {
        let mut server = server();
        let mut rogue = RogueClient::enter(&mut server, Instant::ZERO);
        let mut driver = Driver::new(server);
        let proofs = Cell::new(rogue.proofs);
        let mut drain = |now, server: &mut Server| {
            for transmit in drained(server, now, Server::poll_transmit) {
                assert!([CONTROL.into(), BULK.into()].contains(&transmit.to), "{transmit:?}");
                let mut newest = proofs.get();
                note(&mut newest, &transmit);
                proofs.set(newest);
            }
            while server.poll_event().is_some() {}
        };
        for (pause, work) in work {
            pause.pass(&mut driver, &mut drain);
            let (now, server) = (driver.now(), &mut driver.machine);
            rogue.proofs = proofs.get();
            let (mut from, mut bytes) = (SocketAddr::from(CONTROL), Vec::new());
            match work {
                Work::Say(message) => bytes = rogue.seal(&message),
                Work::Probe(kind, phase, sequence, sent_ns) => {
                    let session = rogue.session;
                    let proof = Proof::default();
                    let probe = Probe { kind, session, phase, sequence, sent_ns, proof };
                    bytes = wire::emit(&Datagram::Probe(probe));
                    if kind == StreamKind::Bulk {
                        from = BULK.into();
                    }
                }
                Work::Bytes(any) => bytes = any,
                Work::Unsent(kind) => server.handle_unsent(now, BULK.into(), kind),
                Work::Unreachable => {}
                Work::Stop => server.stop(now),
            }
            server.handle_datagram(now, received(SocketId::Control, from, now, &bytes));
        }
        driver.pause(Duration::from_secs(700), &mut drain);
        prop_assert_eq!(driver.machine.sessions(), 0, "every session ends");
    }

    /// The client ends, whatever the server does.
    #[test]
    fn a_client_keeps_the_contract(
        method in method(),
        direction in direction(),
        work in prop::collection::vec((pause(Duration::from_secs(1)), work()), 1..60),
    ) {
        let mut client = client(method, direction);
        let mut rogue = RogueServer::let_in(&mut client);
        let mut driver = Driver::new(client);
        let mut drain = |now, client: &mut Client| {
            for transmit in drained(client, now, Client::poll_transmit) {
                assert_eq!(transmit.to, SERVER.into());
            }
            while client.poll_event().is_some() {}
        };
        for (pause, work) in work {
            pause.pass(&mut driver, &mut drain);
            let (now, client) = (driver.now(), &mut driver.machine);
            let (mut socket, mut bytes) = (SocketId::Control, Vec::new());
            match work {
                Work::Say(message) => bytes = rogue.seal(&message),
                Work::Probe(kind, phase, sequence, sent_ns) => {
                    let session = SESSION;
                    let proof = Proof::default();
                    let probe = Probe { kind, session, phase, sequence, sent_ns, proof };
                    bytes = wire::emit(&Datagram::Probe(probe));
                    if kind == StreamKind::Bulk {
                        socket = SocketId::Bulk;
                    }
                }
                Work::Bytes(any) => bytes = any,
                Work::Unsent(kind) => client.handle_unsent(now, kind),
                Work::Unreachable => client.handle_unreachable(now),
                Work::Stop => client.stop(now),
            }
            client.handle_datagram(now, received(socket, SERVER.into(), now, &bytes));
        }
        driver.pause(Duration::from_secs(100), &mut drain);
        prop_assert_eq!(driver.machine.poll_timeout(), None, "it is at rest");
    }
}
