//! Tests of client and server over a network that loses, delays and repeats datagrams: properties
//! that hold over any network. Attacks are in a file of their own. Times are virtual.

use crate::client::{Client, ClientConfig, ClientError, ClientEvent};
use crate::plan::{Direction, PhasePlan, StreamKind};
use crate::record::{PhaseRecord, StreamCount};
use crate::server::{Ending, Server, ServerConfig, ServerEvent};
use crate::survey::{ExactConfig, Method, Survey, SurveyConfig};
use crate::wire::{self, Datagram};
use crate::{HostClock, Received, SocketId, Transmit, TransmitKind};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;
use lasthop_units::{Duration, Instant, Machine, Probability, Seed, Stream};
use proptest::prelude::*;

mod attacks;

const SERVER: &str = "192.0.2.9:4000";

fn address(text: &str) -> SocketAddr {
    text.parse().expect("it is an address")
}

fn client_address(socket: SocketId) -> SocketAddr {
    address(if socket == SocketId::Control { "192.0.2.1:5000" } else { "192.0.2.1:5001" })
}

/// The behaviour of the network.
#[derive(Clone, Copy, Debug)]
struct Weather {
    loss: f64,
    repeat: f64,
    delay: Duration,
    jitter: Duration,
}

const FAIR: Weather =
    Weather { loss: 0.0, repeat: 0.0, delay: Duration::from_millis(2), jitter: Duration::ZERO };

/// A datagram in flight: the client's socket, or `None` for the server, its sender,
/// payload and length.
type OnTheWay = (Option<SocketId>, SocketAddr, Vec<u8>, u16);

struct World {
    now: Instant,
    client: Client,
    server: Server,
    weather: Weather,
    stream: Stream,
    /// Datagrams in flight, by time of arrival and number.
    way: BTreeMap<(Instant, u64), OnTheWay>,
    number: u64,
    events: Vec<(Instant, ClientEvent)>,
    server_events: Vec<(Instant, ServerEvent)>,
    /// Number of flow packets that the server sent, and when it sent the last one.
    server_probes: u64,
    server_probe_last: Instant,
    server_is_there: bool,
    /// A queue in front of the client: service time of a packet, capacity, and when
    /// its last packet leaves.
    queue: Option<(Duration, u64, Instant)>,
}

fn survey(direction: Direction) -> Survey {
    let method = Method::Exact(ExactConfig {
        saturation_pps: Some(400.0),
        sessions: 1,
        time_scale: 0.05,
        ..ExactConfig::default()
    });
    Survey::new(SurveyConfig {
        directions: vec![direction],
        packet_bytes: vec![500],
        method,
        discipline: false,
        rate_max_pps: 1_000.0,
    })
}

fn client_config() -> ClientConfig {
    ClientConfig {
        server: address(SERVER),
        key: None,
        secret: [1; 32],
        clock: HostClock { offset_ns: 11, drift_ppm: 0 },
        idle_timeout: Duration::from_secs(10),
    }
}

fn server_config() -> ServerConfig {
    ServerConfig {
        key: None,
        secret: [2; 32],
        clock: HostClock { offset_ns: u64::MAX - 5, drift_ppm: 0 },
        sessions_max: 2,
        rate_max_bps: 100_000_000,
        rate_total_max_bps: 100_000_000,
        duration_max: Duration::from_secs(3_600),
        phase_packets_max: 1_000_000,
        samples_max: 2_000_000,
    }
}

impl World {
    fn new(direction: Direction, weather: Weather) -> Self {
        Self::with(client_config(), server_config(), direction, weather)
    }

    fn with(
        client: ClientConfig,
        server: ServerConfig,
        direction: Direction,
        weather: Weather,
    ) -> Self {
        let now = Instant::ZERO;
        Self {
            now,
            client: Client::new(client, survey(direction), now),
            server: Server::new(server),
            weather,
            stream: Seed::new(1, 0).stream("weather"),
            way: BTreeMap::new(),
            number: 0,
            events: Vec::new(),
            server_events: Vec::new(),
            server_probes: 0,
            server_probe_last: now,
            server_is_there: true,
            queue: None,
        }
    }

    fn send(&mut self, transmit: Transmit, from_server: bool) {
        let (to, from) = match (from_server, transmit.to) {
            (false, _) => (None, client_address(transmit.socket)),
            (true, to) => {
                let sockets = [SocketId::Control, SocketId::Bulk];
                let socket = sockets.into_iter().find(|s| client_address(*s) == to);
                (Some(socket.expect("the server sends to addresses that asked")), address(SERVER))
            }
        };
        let copies = 1 + usize::from(self.stream.chance(probability(self.weather.repeat)));
        for _ in 0..copies {
            if self.stream.chance(probability(self.weather.loss)) {
                continue;
            }
            let jitter = self.weather.jitter.mul_f64(self.stream.uniform());
            let mut leaves = self.now;
            if let (Some((each, limit, through)), true) = (&mut self.queue, from_server) {
                if through.saturating_since(self.now) > *each * *limit {
                    continue;
                }
                *through = self.now.max(*through) + *each;
                leaves = *through;
            }
            self.number += 1;
            let arrival = (leaves + self.weather.delay + jitter, self.number);
            self.way.insert(arrival, (to, from, transmit.payload.clone(), transmit.length));
        }
    }

    fn drain(&mut self) {
        while let Some(transmit) = self.client.poll_transmit(self.now) {
            self.send(transmit, false);
        }
        while let Some(transmit) = self.server.poll_transmit(self.now) {
            if matches!(transmit.kind, TransmitKind::Probe(_)) {
                self.server_probes += 1;
                self.server_probe_last = self.now;
            }
            self.send(transmit, true);
        }
        while let Some(event) = self.client.poll_event() {
            self.events.push((self.now, event));
        }
        while let Some(event) = self.server.poll_event() {
            self.server_events.push((self.now, event));
        }
    }

    /// Handles one event; `false` once nothing more will happen.
    fn step(&mut self) -> bool {
        self.drain();
        let by_way = self.way.keys().next().map(|(at, _)| *at);
        let by_client = self.client.poll_timeout().map(|(at, _)| at);
        let by_server = self.server.poll_timeout().map(|(at, _)| at);
        let Some(next) = [by_way, by_client, by_server].into_iter().flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        let now = self.now;
        if by_way == Some(next) {
            let (_, (to, from, payload, length)) = self.way.pop_first().expect("it is there");
            let socket = to.unwrap_or(SocketId::Control);
            let received = Received { socket, from, at: now, payload: &payload, length };
            match to {
                None if self.server_is_there => self.server.handle_datagram(now, received),
                None => {}
                Some(_) => self.client.handle_datagram(now, received),
            }
        }
        self.client.handle_timeout(now);
        if self.server_is_there {
            self.server.handle_timeout(now);
        }
        true
    }

    fn run_until(&mut self, end: Instant) {
        while self.now < end && self.step() {}
        self.drain();
    }

    fn last_event(&self) -> Option<&ClientEvent> {
        self.events.last().map(|(_, event)| event)
    }

    fn records(&self) -> Vec<PhaseRecord> {
        let record = |(_, event): &'_ (Instant, ClientEvent)| match event {
            ClientEvent::PhaseDone { record, .. } => Some(record.clone()),
            _ => None,
        };
        self.events.iter().filter_map(record).collect()
    }
}

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("it is one")
}

fn at_secs(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

#[test]
fn a_fair_way_loses_nothing_either_way() {
    for direction in [Direction::Down, Direction::Up] {
        let mut world = World::new(direction, FAIR);
        world.run_until(at_secs(100));
        assert_eq!(world.last_event(), Some(&ClientEvent::Done), "{direction:?}");
        assert_eq!(world.server.sessions(), 0);
        let records = world.records();
        assert!(!records.is_empty());
        for record in records {
            assert_eq!(record.samples.len() as u64, record.plan.packets(), "{direction:?}");
            assert_eq!(record.duplicates, 0);
            for (stream, count) in record.plan.streams.iter().zip(&record.counts) {
                assert_eq!(u64::from(count.sent), stream.packets());
                assert_eq!((count.unsent, count.late_max), (0, Duration::ZERO));
            }
            // Delay plus the offset of the clocks, the same for every packet.
            let delays: Vec<i64> = record.samples.iter().map(|s| s.delay_ns()).collect();
            let clocks = match direction {
                Direction::Down => 11i64.wrapping_sub(-6),
                Direction::Up => (-6i64).wrapping_sub(11),
            };
            assert!(delays.iter().all(|d| *d == 2_000_000 + clocks), "{delays:?}");
            for sample in &record.samples {
                let (stream, index) =
                    record.plan.locate(sample.kind, sample.sequence).expect("it was planned");
                let departure = record.plan.streams[stream].departure(index).as_nanos();
                assert_eq!(sample.sent_ns.wrapping_sub(record.started_ns), departure);
            }
        }
        let closed = world.server_events.last().map(|(_, event)| event.clone());
        let client = client_address(SocketId::Control);
        assert_eq!(closed, Some(ServerEvent::Closed(client, Ending::Done)));
    }
}

/// A stop ends transmission on both sides within a round trip.
#[test]
fn a_stopped_client_stops_the_server() {
    let mut world = World::new(Direction::Down, FAIR);
    world.run_until(at_secs(3));
    assert!(world.server_probes > 0);
    let now = world.now;
    world.client.stop(now);
    world.run_until(at_secs(60));
    assert_eq!(world.last_event(), Some(&ClientEvent::Stopped));
    assert_eq!(world.server.sessions(), 0);
    assert!(world.server_probe_last <= now + FAIR.delay, "{}", world.server_probe_last);
}

/// A client that dies without notice receives packets for a few seconds at most.
#[test]
fn a_silent_client_is_not_sent_to() {
    let mut world = World::new(Direction::Down, FAIR);
    world.run_until(at_secs(3));
    world.weather.loss = 1.0;
    let now = world.now;
    world.run_until(at_secs(100));
    assert!(world.server_probe_last <= now + Duration::from_secs(7));
    let server = address(SERVER);
    let failed = ClientEvent::Failed(ClientError::Vanished(server));
    assert_eq!(world.last_event(), Some(&failed));
    assert_eq!(world.server.sessions(), 0);
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let mut world = World::new(Direction::Down, FAIR);
    world.server_is_there = false;
    world.run_until(at_secs(100));
    let server = address(SERVER);
    assert_eq!(world.last_event(), Some(&ClientEvent::Failed(ClientError::Silent(server))));
    assert!(world.now < at_secs(12), "{}", world.now);
}

/// A server may be started shortly after the client; if there is none, the client
/// reports that soon.
#[test]
fn a_server_gets_a_moment_to_start() {
    let mut world = World::new(Direction::Down, FAIR);
    world.server_is_there = false;
    let mut told = None;
    while told.is_none() && world.step() {
        world.client.handle_unreachable(world.now);
        world.drain();
        told = world.events.last().cloned();
    }
    let failed = ClientEvent::Failed(ClientError::Unreachable(address(SERVER)));
    let (at, event) = told.expect("it gives up");
    assert_eq!(event, failed);
    assert!(at >= at_secs(3) && at < at_secs(5), "{at}");
}

#[test]
fn keys_must_agree() {
    let (one, other) = (Some([3; 32]), Some([4; 32]));
    let cases = [
        (one, one, None),
        (one, other, Some(ClientError::WrongKey)),
        (one, None, Some(ClientError::WrongKey)),
        (None, one, Some(ClientError::KeyNeeded)),
    ];
    for (client_key, server_key, expected) in cases {
        let client = ClientConfig { key: client_key, ..client_config() };
        let server = ServerConfig { key: server_key, ..server_config() };
        let mut world = World::with(client, server, Direction::Up, FAIR);
        world.run_until(at_secs(100));
        let expected = expected.map_or(ClientEvent::Done, ClientEvent::Failed);
        assert_eq!(world.last_event(), Some(&expected), "{client_key:?} {server_key:?}");
        assert_eq!(world.server.sessions(), 0);
    }
}

#[test]
fn a_server_keeps_to_its_bounds() {
    let cases = [
        (ServerConfig { sessions_max: 0, ..server_config() }, "as many sessions"),
        (ServerConfig { phase_packets_max: 10, ..server_config() }, "at most 10 packets"),
        (ServerConfig { duration_max: Duration::from_secs(2), ..server_config() }, "2s at most"),
    ];
    for (config, words) in cases {
        let mut world = World::with(client_config(), config, Direction::Down, FAIR);
        world.run_until(at_secs(100));
        match world.last_event() {
            Some(ClientEvent::Failed(ClientError::Refused(why))) => {
                assert!(why.contains(words), "{why}");
            }
            other => panic!("{other:?} instead of {words}"),
        }
        assert_eq!(world.server_probes, 0);
    }
}

/// A peer of another version receives the version used here.
#[test]
fn versions_tell_each_other_apart() {
    let mut server = Server::new(server_config());
    let hello = wire::emit(&Datagram::HelloOfVersion(9, [6; 16]));
    let from = client_address(SocketId::Control);
    let at = Instant::ZERO;
    let socket = SocketId::Control;
    let length = hello.len() as u16;
    server.handle_datagram(at, Received { socket, from, at, payload: &hello, length });
    let answer = server.poll_transmit(at).expect("it answers");
    assert_eq!((answer.to, answer.payload[4]), (from, wire::VERSION));

    let mut client = Client::new(client_config(), survey(Direction::Down), at);
    let hello = client.poll_transmit(at).expect("it begins");
    let Ok(Datagram::Hello(nonce)) = wire::parse(&hello.payload) else { panic!("{hello:?}") };
    let answer = wire::emit(&Datagram::OtherVersion { version: 9, nonce });
    let from = address(SERVER);
    let length = answer.len() as u16;
    client.handle_datagram(at, Received { socket, from, at, payload: &answer, length });
    let failed = ClientError::Version { theirs: 9, ours: wire::VERSION };
    assert_eq!(client.poll_event(), Some(ClientEvent::Failed(failed)));
}

/// Datagrams from addresses that never answered a challenge.
#[test]
fn strangers_get_challenges_only_and_not_many() {
    let mut server = Server::new(server_config());
    let mut stream = Seed::new(1, 0).stream("strangers");
    let mut answers = 0;
    for index in 0..20_000u32 {
        let at = Instant::ZERO + Duration::from_micros(u64::from(index) * 100);
        let from = SocketAddr::from((index.to_be_bytes(), 7));
        let payload: Vec<u8> = match index % 4 {
            0 => wire::emit(&Datagram::Hello([index as u8; 16])),
            1 => {
                let (nonce, token) = ([0; 16], [index as u8; 24]);
                wire::emit(&Datagram::Open { nonce, token, mac_tag: [0; 16] })
            }
            2 => {
                let mut bytes = b"lapq\x02".to_vec();
                bytes.extend((0..60).map(|_| stream.next_u64() as u8));
                bytes
            }
            _ => (0..200).map(|_| stream.next_u64() as u8).collect(),
        };
        let (socket, length) = (SocketId::Control, payload.len() as u16);
        server.handle_datagram(at, Received { socket, from, at, payload: &payload, length });
        server.handle_timeout(at);
        while let Some(answer) = server.poll_transmit(at) {
            assert_eq!(answer.to, from);
            assert!(answer.length < length && index % 4 == 0, "{answer:?}");
            answers += 1;
        }
    }
    // Each address asks once.
    assert_eq!(answers, 5_000);
    assert_eq!((server.sessions(), server.poll_timeout()), (0, None));
    assert!(server.poll_event().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A bad network costs only time and packets of flows: the record has the packets sent, no
    /// sample twice, and none of a packet that was not sent.
    #[test]
    fn a_bad_way_ends_well(
        loss in 0.0..0.3f64,
        repeat in 0.0..0.3f64,
        delay_ms in 0u64..200,
        jitter_ms in 0u64..100,
        up: bool,
        seed: u64,
    ) {
        let direction = if up { Direction::Up } else { Direction::Down };
        let weather = Weather {
            loss,
            repeat,
            delay: Duration::from_millis(delay_ms),
            jitter: Duration::from_millis(jitter_ms),
        };
        let mut world = World::new(direction, weather);
        world.stream = Seed::new(seed, 0).stream("weather");
        world.run_until(at_secs(600));
        prop_assert_eq!(world.last_event(), Some(&ClientEvent::Done));
        for record in world.records() {
            let mut seen = alloc::collections::BTreeSet::new();
            for sample in &record.samples {
                prop_assert!(seen.insert((sample.kind, sample.sequence)));
                let (stream, index) =
                    record.plan.locate(sample.kind, sample.sequence).expect("it was planned");
                let departure = record.plan.streams[stream].departure(index).as_nanos();
                prop_assert_eq!(sample.sent_ns.wrapping_sub(record.started_ns), departure);
            }
            let sent: u64 = record.counts.iter().map(|count| u64::from(count.sent)).sum();
            prop_assert_eq!(sent, record.plan.packets());
            let kept = record.samples.len() as f64 / sent as f64;
            prop_assert!((kept - (1.0 - loss)).abs() < 0.25, "{} of 1 arrived at a loss of {}", kept, loss);
        }
    }
}

/// On some of many networks keep-alive messages, their answers and the messages of
/// a handshake are lost several times in a row: no packet is skipped, and no
/// session is closed.
#[test]
fn a_loss_of_a_quarter_ends_well_each_time() {
    let mut stream = Seed::new(7, 0).stream("ways");
    for run in 0..600 {
        let mut any = |least: f64, most: f64| least + (most - least) * stream.uniform();
        let weather = Weather {
            loss: any(0.2, 0.3),
            repeat: any(0.0, 0.3),
            delay: Duration::from_secs_f64(any(0.0, 0.2)),
            jitter: Duration::from_secs_f64(any(0.0, 0.1)),
        };
        let mut world = World::new(Direction::Down, weather);
        world.stream = Seed::new(run, 0).stream("weather");
        world.run_until(at_secs(600));
        assert_eq!(world.last_event(), Some(&ClientEvent::Done), "run {run}: {weather:?}");
        for record in world.records() {
            let sent: u64 = record.counts.iter().map(|count| u64::from(count.sent)).sum();
            assert_eq!(sent, record.plan.packets(), "run {run}: {weather:?}");
        }
    }
}

/// A queue that holds six seconds, filled at three times its rate of service: no
/// packet of the phase is skipped, although packets arrive long after they were
/// sent.
#[test]
fn a_slow_queue_is_no_lack_of_proof() {
    let mut world = World::new(Direction::Down, FAIR);
    world.queue = Some((Duration::from_millis(8), 750, Instant::ZERO));
    world.run_until(at_secs(100));
    assert_eq!(world.last_event(), Some(&ClientEvent::Done));
    let records = world.records();
    let longest = records.iter().flat_map(|record| &record.samples).map(|s| s.delay_ns()).max();
    assert!(longest.is_some_and(|ns| ns > 5_000_000_000), "{longest:?}");
    for record in records {
        for (stream, count) in record.plan.streams.iter().zip(&record.counts) {
            assert_eq!((u64::from(count.sent), count.unsent), (stream.packets(), 0));
        }
    }
}

/// Four of five datagrams of a session are lost in both directions: it takes
/// longer, and some packets may not be sent, but the measurement ends.
#[test]
fn heavy_losses_end_no_session() {
    for seed in 0..8 {
        let mut world = World::new(Direction::Down, FAIR);
        world.stream = Seed::new(seed, 0).stream("weather");
        // It waits that long for single answers.
        world.client = Client::new(
            ClientConfig { idle_timeout: Duration::from_secs(60), ..client_config() },
            survey(Direction::Down),
            Instant::ZERO,
        );
        world.run_until(at_secs(1));
        world.weather.loss = 0.8;
        world.run_until(at_secs(600));
        assert_eq!(world.last_event(), Some(&ClientEvent::Done), "seed {seed}");
        for record in world.records() {
            let sum = |of: fn(&StreamCount) -> u32| record.counts.iter().map(of).sum::<u32>();
            let (sent, unsent) = (sum(|count| count.sent), sum(|count| count.unsent));
            assert_eq!(u64::from(sent + unsent), record.plan.packets());
            assert!(sent > unsent / 4, "{unsent} and {sent} sent, seed {seed}");
        }
    }
}

/// A host whose buffer is full reports how many packets it could not send.
#[test]
fn packets_that_could_not_be_sent_are_told() {
    let mut world = World::new(Direction::Up, FAIR);
    let mut refused = 0;
    loop {
        let now = world.now;
        while let Some(transmit) = world.client.poll_transmit(now) {
            if transmit.kind == TransmitKind::Probe(StreamKind::Bulk)
                && world.number.is_multiple_of(3)
            {
                world.client.handle_unsent(now, StreamKind::Bulk);
                world.number += 1;
                refused += 1;
            } else {
                world.send(transmit, false);
            }
        }
        if !world.step() || world.now > at_secs(100) {
            break;
        }
    }
    world.drain();
    let records = world.records();
    let [record] = records.as_slice() else { panic!("{} records", records.len()) };
    let unsent: u32 = record.counts.iter().map(|count| count.unsent).sum();
    assert!(refused > 100);
    assert_eq!(unsent, refused);
    let sent: u32 = record.counts.iter().map(|count| count.sent).sum();
    assert_eq!(record.samples.len() as u32, sent);
}

/// A phase is run once, however often it is requested.
#[test]
fn a_phase_is_not_begun_twice() {
    let mut world = World::new(Direction::Down, Weather { repeat: 1.0, ..FAIR });
    world.run_until(at_secs(100));
    let began = |event: &&(Instant, ServerEvent)| matches!(event.1, ServerEvent::PhaseBegan(..));
    let phases = world.server_events.iter().filter(began).count();
    assert_eq!(phases, world.records().len());
    let packets: u64 = world.records().iter().map(|record| record.plan.packets()).sum();
    assert_eq!(world.server_probes, packets);
    assert_eq!(PhasePlan::default().packets(), 0);
}
