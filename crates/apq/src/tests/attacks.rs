//! Tests of attacks on a server: by strangers, and by an accepted client that
//! ignores all rules. Lengths and rates are those of IP packets, headers included,
//! as [`ServerConfig::rate_max_bps`] counts them.

use super::*;
use crate::auth::{self, Key, Nonce, Side, Token, handshake_key};
use crate::plan::StreamPlan;
use crate::proof::Proofs;
use crate::wire::{Message, Refusal};
use alloc::format;
use alloc::string::ToString;
use lasthop_units::Bitrate;

const MBPS: u64 = 1_000_000;

/// A datagram that the server sent.
#[derive(Clone, Debug)]
struct Left {
    at: Instant,
    transmit: Transmit,
}

impl Left {
    fn bits(&self) -> u64 {
        8 * u64::from(self.transmit.length + crate::header_bytes(&self.transmit.to))
    }
}

/// A server, and everything that it sent.
struct Target {
    server: Server,
    now: Instant,
    left: Vec<Left>,
}

impl Target {
    fn new(config: ServerConfig) -> Self {
        Self { server: Server::new(config), now: Instant::ZERO, left: Vec::new() }
    }

    fn drain(&mut self) {
        while let Some(transmit) = self.server.poll_transmit(self.now) {
            self.left.push(Left { at: self.now, transmit });
        }
    }

    /// Passes a datagram to the server. Returns its answers.
    fn give(&mut self, from: SocketAddr, payload: &[u8]) -> Vec<Transmit> {
        let before = self.left.len();
        let (socket, length) = (SocketId::Control, payload.len() as u16);
        self.server
            .handle_datagram(self.now, Received { socket, from, at: self.now, payload, length });
        self.drain();
        self.left[before..].iter().map(|left| left.transmit.clone()).collect()
    }

    /// Lets time pass, and wakes the server whenever it asks for that.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((at, _)) = self.server.poll_timeout().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.server.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    /// Bits sent to `to` since `since`.
    fn bits_to(&self, to: SocketAddr, since: Instant) -> u64 {
        let is_it = |left: &&Left| left.transmit.to == to && left.at >= since;
        self.left.iter().filter(is_it).map(Left::bits).sum()
    }

    /// Asserts that in every window of a second, the bits selected by `of` are
    /// within 1 % of `rate_bps`.
    fn assert_rate(&self, rate_bps: u64, of: impl Fn(&Transmit) -> bool) {
        let left: Vec<&Left> = self.left.iter().filter(|left| of(&left.transmit)).collect();
        let (mut first, mut bits, mut most) = (0, 0, 0);
        for last in &left {
            bits += last.bits();
            while last.at - left[first].at >= Duration::from_secs(1) {
                bits -= left[first].bits();
                first += 1;
            }
            most = most.max(bits);
        }
        let allowed = rate_bps + rate_bps / 100;
        let rate = Bitrate::from_bps(rate_bps);
        assert!(most <= allowed, "{most} bits in a second; allowed is {rate}");
        assert!(most > rate_bps / 2, "{most} bits of {rate}: the attack does nothing");
    }
}

/// An accepted client that ignores all rules.
struct Rogue {
    control: SocketAddr,
    bulk: SocketAddr,
    handshake: Key,
    session: u64,
    number: u32,
    phase: u32,
    /// The proofs that it shows; [`Rogue::look`] collects those that it receives.
    proofs: Proofs,
    seen: usize,
}

fn ask(target: &mut Target, from: SocketAddr, nonce: Nonce) -> Option<Token> {
    let hello = wire::emit(&Datagram::Hello(nonce));
    let answer = target.give(from, &hello).pop()?;
    match wire::parse(&answer.payload) {
        Ok(Datagram::Challenge { token, .. }) => Some(token),
        other => panic!("{other:?}"),
    }
}

impl Rogue {
    /// An accepted client at `ip`, whose ports are `port` and the next.
    fn enter(target: &mut Target, ip: [u8; 4], port: u16) -> Self {
        let mut rogue = Self::open(target, ip, port).expect("it lets us in");
        rogue.attach(target);
        rogue
    }

    /// The same, but it has not used its session yet.
    fn open(target: &mut Target, ip: [u8; 4], port: u16) -> Option<Self> {
        let (control, bulk) = (SocketAddr::from((ip, port)), SocketAddr::from((ip, port + 1)));
        let nonce = [port as u8; 16];
        let token = ask(target, control, nonce).expect("it asks for a proof");
        let handshake = handshake_key(None, &nonce, &token);
        let mac_tag = auth::mac_tag(&handshake, &wire::open_covered(&nonce, &token));
        let open = wire::emit(&Datagram::Open { nonce, token, mac_tag });
        let answer = target.give(control, &open).pop().expect("it answers");
        let session = match wire::parse(&answer.payload) {
            Ok(Datagram::Accepted { accepted, .. }) => accepted.session,
            Ok(Datagram::Turned { reason: Refusal::Busy, .. }) => return None,
            other => panic!("{other:?}"),
        };
        let (number, phase, seen) = (0, 0, 0);
        let proofs = Proofs::default();
        Some(Self { control, bulk, handshake, session, number, phase, proofs, seen })
    }

    /// Registers its bulk socket.
    fn attach(&mut self, target: &mut Target) {
        let nonce = [9; 16];
        let token = ask(target, self.bulk, nonce).expect("it asks for a proof");
        let attach = self.seal(&Message::Attach { nonce, token });
        target.give(self.bulk, &attach);
        self.look(target, |_| true);
    }

    /// Collects the proofs that were sent to it since the last call, at addresses
    /// for which `receives` returns true.
    fn look(&mut self, target: &Target, receives: impl Fn(SocketAddr) -> bool) {
        for Left { transmit, .. } in &target.left[self.seen..] {
            let is_mine = [self.control, self.bulk].contains(&transmit.to);
            if !is_mine || !receives(transmit.to) {
                continue;
            }
            let proofs = match wire::parse(&transmit.payload) {
                Ok(Datagram::Probe(probe)) if transmit.to == self.bulk => {
                    [Default::default(), probe.proof]
                }
                Ok(Datagram::Probe(probe)) => [probe.proof, Default::default()],
                Ok(Datagram::Sealed(sealed)) => sealed.proofs,
                _ => continue,
            };
            for (newest, proof) in self.proofs.iter_mut().zip(proofs) {
                if proof.at_ms > newest.at_ms {
                    *newest = proof;
                }
            }
        }
        self.seen = target.left.len();
    }

    fn seal(&mut self, message: &Message) -> Vec<u8> {
        self.number += 1;
        let key = auth::session_key(&self.handshake, self.session, Side::Client);
        wire::seal(message, self.session, self.number, &self.proofs, &key)
    }

    fn say(&mut self, target: &mut Target, message: &Message) {
        let bytes = self.seal(message);
        target.give(self.control, &bytes);
    }

    /// Sends the packets of a phase, so that the server stores `packets` samples.
    fn fill(&mut self, target: &mut Target, packets: u32) {
        let phase = self.phase;
        let interval = Duration::from_micros(500);
        let end = interval * u64::from(packets);
        let (kind, begin) = (StreamKind::Bulk, Duration::ZERO);
        let stream = StreamPlan { kind, packet_bytes: 100, interval, begin, end };
        self.begin(target, Direction::Up, vec![stream]);
        for sequence in 0..packets {
            let session = self.session;
            let probe = wire::Probe {
                kind,
                session,
                phase,
                sequence,
                sent_ns: 0,
                proof: Default::default(),
            };
            target.give(self.bulk, &wire::emit(&Datagram::Probe(probe)));
        }
        let (started_ns, counts) = (0, Vec::new());
        self.say(target, &Message::Finished { phase, started_ns, counts });
        target.pass(Duration::from_secs(1));
    }

    /// Requests another phase.
    fn begin(&mut self, target: &mut Target, direction: Direction, streams: Vec<StreamPlan>) {
        let (phase, plan) = (self.phase, PhasePlan { streams });
        self.phase += 1;
        self.say(target, &Message::Prepare { phase, direction, plan });
    }
}

/// Packets of 1500 bytes at `rate_bps`, for an hour.
fn at_rate(kind: StreamKind, rate_bps: u64) -> StreamPlan {
    let interval = Duration::from_nanos((1_500 * 8 * 1_000_000_000u64).div_ceil(rate_bps));
    let (begin, end) = (Duration::ZERO, Duration::from_secs(3_000));
    StreamPlan { kind, packet_bytes: 1_500, interval, begin, end }
}

fn limited(rate_max_bps: u64) -> ServerConfig {
    ServerConfig {
        rate_max_bps,
        rate_total_max_bps: rate_max_bps,
        phase_packets_max: u32::MAX,
        ..server_config()
    }
}

/// Each start of a phase sends packets at once, and packets that were due are due
/// again in the next phase.
#[test]
fn phases_without_end_stay_within_the_rate() {
    let rate = 10 * MBPS;
    let mut target = Target::new(limited(rate));
    let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    for _ in 0..3_000 {
        let streams = StreamKind::ALL.map(|kind| at_rate(kind, rate / 2)).to_vec();
        rogue.begin(&mut target, Direction::Down, streams);
        target.pass(Duration::from_millis(1));
        rogue.look(&target, |_| true);
    }
    target.assert_rate(rate, |_| true);
}

/// The driver of a busy host is late, and finds many packets due.
#[test]
fn a_late_driver_stays_within_the_rate() {
    let rate = 20 * MBPS;
    let mut target = Target::new(limited(rate));
    let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    rogue.begin(&mut target, Direction::Down, vec![at_rate(StreamKind::Bulk, rate)]);
    let mut stream = Seed::new(1, 0).stream("late");
    while target.now < at_secs(4) {
        target.now += Duration::from_micros(stream.next_u64() % 100_000);
        target.server.handle_timeout(target.now);
        target.drain();
        target.pass(Duration::from_micros(stream.next_u64() % 100_000));
        rogue.look(&target, |_| true);
        rogue.say(&mut target, &Message::Alive);
    }
    target.assert_rate(rate, |_| true);
}

/// The sessions of one address share the rate of that address, and all sessions share the rate of
/// the server.
#[test]
fn sessions_share_the_rates() {
    let (rate, total) = (10 * MBPS, 15 * MBPS);
    let config = ServerConfig { sessions_max: 8, rate_total_max_bps: total, ..limited(rate) };
    let mut target = Target::new(config);
    let ips = [[192, 0, 2, 1], [192, 0, 2, 2]];
    let mut rogues: Vec<Rogue> = ips
        .iter()
        .flat_map(|ip| [(*ip, 5_000), (*ip, 6_000)])
        .map(|(ip, port)| Rogue::enter(&mut target, ip, port))
        .collect();
    for rogue in &mut rogues {
        rogue.begin(&mut target, Direction::Down, vec![at_rate(StreamKind::Bulk, rate)]);
    }
    target.pass(Duration::from_millis(900));
    target.assert_rate(total, |_| true);
    for ip in ips {
        let ip = core::net::IpAddr::from(ip);
        target.assert_rate(rate, |transmit| transmit.to.ip() == ip);
    }
    for rogue in &rogues {
        let share = target.bits_to(rogue.bulk, Instant::ZERO) as f64 / total as f64;
        assert!((0.15..0.3).contains(&share), "a session gets {share} of it");
    }
}

/// A request for chunks is short, and the chunks are long.
#[test]
fn chunks_stay_within_the_rate() {
    let rate = 2 * MBPS;
    let mut target = Target::new(limited(rate));
    let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    rogue.fill(&mut target, 2_000);
    for _ in 0..2_000 {
        rogue.say(&mut target, &Message::Fetch { phase: 0, first: 0, wanted: u16::MAX });
        target.pass(Duration::from_millis(1));
        rogue.look(&target, |_| true);
    }
    target.assert_rate(rate, |_| true);
}

/// At exactly the allowed rate a phase is sent as planned, also by a driver that is
/// late. Below 1.2 Mb/s the bucket holds one packet and cannot catch up, and our
/// clients stay 50 packets per second below.
#[test]
fn a_phase_at_the_limit_loses_nothing() {
    for (rate, late_us_max) in [(MBPS, 1), (10 * MBPS, 8_000), (200 * MBPS, 8_000)] {
        let mut target = Target::new(limited(rate));
        let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
        target.pass(Duration::from_secs(1));
        let end = Duration::from_millis(900);
        let streams =
            StreamKind::ALL.map(|kind| StreamPlan { end, ..at_rate(kind, rate / 2) }).to_vec();
        let packets = PhasePlan { streams: streams.clone() }.packets();
        rogue.begin(&mut target, Direction::Down, streams);
        let mut stream = Seed::new(1, 0).stream("late");
        while target.now < at_secs(3) {
            let late = Duration::from_micros(stream.next_u64() % late_us_max);
            let Some((at, _)) = target.server.poll_timeout() else { break };
            target.now = target.now.max(at + late);
            target.server.handle_timeout(target.now);
            target.drain();
        }
        let probe = |left: &&Left| matches!(left.transmit.kind, TransmitKind::Probe(_));
        let left = target.left.iter().filter(probe).count() as u64;
        assert_eq!(left, packets, "at {}", Bitrate::from_bps(rate));
    }
}

/// 20 000 requests per second from random addresses, and our clients among them:
/// they are accepted within two seconds. 4.9 strangers per second share a client's
/// class of addresses and its 8 answers per second, so one request in a thousand is
/// not answered; it is repeated four times in these two seconds.
#[test]
fn a_flood_of_questions_shuts_nobody_out() {
    const CLIENTS: usize = 60;
    let config = ServerConfig { sessions_max: CLIENTS, ..server_config() };
    let mut target = Target::new(config);
    let mut stream = Seed::new(1, 0).stream("flood");
    let mut flood = |target: &mut Target, until: Instant| {
        while target.now < until {
            target.now += Duration::from_micros(50);
            let from = SocketAddr::from(((stream.next_u64() as u32).to_be_bytes(), 99));
            let hello = wire::emit(&Datagram::Hello([3; 16]));
            target.give(from, &hello);
        }
        target.left.clear();
    };
    flood(&mut target, at_secs(2));
    let begin = target.now;
    let mut clients: Vec<(Client, u8)> = (1..=CLIENTS as u8)
        .map(|low| {
            let config = ClientConfig { secret: [low; 32], ..client_config() };
            (Client::new(config, survey(Direction::Up), begin), low)
        })
        .collect();
    let mut accepted = 0;
    while target.now < begin + Duration::from_secs(2) {
        let now = target.now;
        for (client, low) in &mut clients {
            client.handle_timeout(now);
            while let Some(transmit) = client.poll_transmit(now) {
                let port = 5_000 + transmit.socket.index() as u16;
                for answer in
                    target.give(SocketAddr::from(([192, 0, 2, *low], port)), &transmit.payload)
                {
                    let socket = match answer.to.port() {
                        5_000 => SocketId::Control,
                        _ => SocketId::Bulk,
                    };
                    let (from, payload) = (address(SERVER), &answer.payload);
                    let length = answer.length;
                    client
                        .handle_datagram(now, Received { socket, from, at: now, payload, length });
                }
            }
            while let Some(event) = client.poll_event() {
                accepted += usize::from(event == ClientEvent::Accepted);
            }
        }
        flood(&mut target, now + Duration::from_millis(1));
    }
    assert_eq!(accepted, CLIENTS);
}

/// An address that asks endlessly gets eight answers per second, and whatever
/// strangers send, the answers are shorter, headers included.
#[test]
fn strangers_get_less_than_they_send() {
    let mut target = Target::new(ServerConfig { key: Some([3; 32]), ..server_config() });
    let mut stream = Seed::new(1, 0).stream("strangers");
    let (mut answers, from) = (0, address("192.0.2.50:7"));
    for index in 0..40_000u64 {
        target.now = Instant::from_nanos(index * 100_000);
        let (nonce, token) = ([0; 16], [index as u8; 24]);
        let mut bytes = match index % 6 {
            0 => wire::emit(&Datagram::Hello(nonce)),
            1 => wire::emit(&Datagram::HelloOfVersion(1, nonce)),
            2 => wire::emit(&Datagram::Open { nonce, token, mac_tag: [0; 16] }),
            3 => wire::seal(&Message::Alive, index, 1, &Proofs::default(), &[0; 32]),
            _ => (0..stream.next_u64() % 300).map(|_| stream.next_u64() as u8).collect(),
        };
        if index % 6 == 5 && bytes.len() > 6 {
            bytes[..4].copy_from_slice(&wire::MAGIC);
            bytes[4] = stream.next_u64() as u8 % 4;
            bytes[5] = stream.next_u64() as u8 % 32;
        }
        let answered = target.give(from, &bytes);
        let sent: usize = answered.iter().map(|answer| usize::from(answer.length) + 28).sum();
        assert!(sent < bytes.len() + 28, "{sent} bytes for {}", bytes.len() + 28);
        answers += answered.len();
    }
    assert!((30..=8 * 5).contains(&answers), "{answers} in four seconds");
    assert_eq!(target.server.held().sessions, 0);
}

/// A client with a token but without a session number is answered with no more than
/// it sends.
#[test]
fn a_token_used_again_and_again_is_no_amplifier() {
    let mut target = Target::new(server_config());
    let (from, nonce) = (address("192.0.2.50:7"), [5; 16]);
    let token = ask(&mut target, from, nonce).expect("it asks for a proof");
    for key in [None, Some([3; 32])] {
        let handshake = handshake_key(key.as_ref(), &nonce, &token);
        let mac_tag = auth::mac_tag(&handshake, &wire::open_covered(&nonce, &token));
        let open = wire::emit(&Datagram::Open { nonce, token, mac_tag });
        for _ in 0..1_000 {
            target.now += Duration::from_micros(100);
            let answered = target.give(from, &open);
            let sent: usize = answered.iter().map(|answer| usize::from(answer.length) + 28).sum();
            assert!(sent < open.len() + 28, "{sent} bytes for {}", open.len() + 28);
        }
    }
    assert_eq!(target.server.held().sessions, 1);
}

/// The sockets at which a client that ignores all rules still receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nowhere,
    Control,
    Bulk,
}

/// Asserts that a socket that receives nothing is sent one second of the phase, and
/// a few packets more.
fn assert_given_up(target: &Target, to: SocketAddr, since: Instant, rate: u64, what: &str) {
    let bits = target.bits_to(to, since);
    let few = 80 * 1_500 * 8;
    assert!(bits < rate + rate / 50 + few, "{bits} bits to a closed socket: {what}");
}

/// A client whose sockets are closed, one or both, sends keep-alive messages and
/// requests phase after phase.
#[test]
fn who_receives_nothing_is_sent_a_second_of_it() {
    let rate = 50 * MBPS;
    for open in [Open::Nowhere, Open::Control, Open::Bulk] {
        for phases in [1, 60] {
            let mut target = Target::new(limited(rate));
            let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
            let (control, bulk) = (rogue.control, rogue.bulk);
            let since = target.now;
            for second in 0..60 {
                if second < phases {
                    let streams = StreamKind::ALL.map(|kind| at_rate(kind, rate / 2)).to_vec();
                    rogue.begin(&mut target, Direction::Down, streams);
                }
                for _ in 0..10 {
                    rogue.say(&mut target, &Message::Alive);
                    target.pass(Duration::from_millis(100));
                    rogue.look(&target, |to| match open {
                        Open::Nowhere => false,
                        Open::Control => to == control,
                        Open::Bulk => to == bulk,
                    });
                }
            }
            let closed = match open {
                Open::Nowhere => vec![control, bulk],
                Open::Control => vec![bulk],
                Open::Bulk => vec![control],
            };
            for to in closed {
                assert_given_up(&target, to, since, rate / 2, &format!("{open:?} {phases} {to}"));
            }
        }
    }
}

/// Values that a client has hoarded are of use for ten seconds.
#[test]
fn hoarded_proofs_serve_for_a_while_only() {
    let rate = 10 * MBPS;
    let mut target = Target::new(limited(rate));
    let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    rogue.begin(&mut target, Direction::Down, vec![at_rate(StreamKind::Bulk, rate)]);
    let mut hoard = Vec::new();
    while target.now < at_secs(20) {
        target.pass(Duration::from_millis(20));
        rogue.look(&target, |_| true);
        hoard.push(rogue.proofs);
        rogue.say(&mut target, &Message::Alive);
    }
    // From now on it receives nothing. Values that it has shown, it cannot show
    // again.
    let since = target.now;
    for _ in 0..60 {
        for proofs in &hoard {
            rogue.proofs = *proofs;
            rogue.say(&mut target, &Message::Alive);
        }
        target.pass(Duration::from_millis(500));
    }
    assert_given_up(&target, rogue.bulk, since, rate, "shown again");

    // It shows the values that it received one at a time.
    let mut target = Target::new(limited(rate));
    let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    rogue.begin(&mut target, Direction::Down, vec![at_rate(StreamKind::Bulk, rate)]);
    hoard.clear();
    for _ in 0..100 {
        target.pass(Duration::from_millis(10));
        rogue.look(&target, |_| true);
        hoard.push(rogue.proofs);
    }
    let since = target.now;
    for proofs in &hoard {
        rogue.proofs = *proofs;
        rogue.say(&mut target, &Message::Alive);
        target.pass(Duration::from_millis(900));
    }
    let bits = target.bits_to(rogue.bulk, since);
    assert!(bits < 12 * rate, "{bits} bits");
}

/// A client that requests what the server stores, and does not receive it.
#[test]
fn chunks_need_proof_too() {
    let rate = 50 * MBPS;
    let mut target = Target::new(limited(rate));
    let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    rogue.fill(&mut target, 2_000);
    let since = target.now;
    for _ in 0..20_000 {
        rogue.say(&mut target, &Message::Fetch { phase: 0, first: 0, wanted: u16::MAX });
        target.pass(Duration::from_millis(1));
    }
    assert_given_up(&target, rogue.control, since, rate, "chunks");
}

/// A token of the bulk socket does not prove what that socket receives later.
#[test]
fn a_token_is_no_proof_of_reception() {
    let rate = 50 * MBPS;
    let mut target = Target::new(ServerConfig { sessions_max: 64, ..limited(rate) });
    let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    let victim = address("192.0.2.2:7");
    let token = ask(&mut target, victim, [9; 16]).expect("it asks for a proof");
    target.pass(Duration::from_millis(1));
    let since = target.now;
    for _ in 0..150 {
        let attach = rogue.seal(&Message::Attach { nonce: [9; 16], token });
        target.give(victim, &attach);
        rogue.begin(&mut target, Direction::Down, vec![at_rate(StreamKind::Bulk, rate)]);
        target.pass(Duration::from_millis(100));
        rogue.look(&target, |to| to != victim);
    }
    let attached = wire::seal(&Message::Attached, 0, 0, &rogue.proofs, &[0; 32]);
    let bits = 8 * (attached.len() as u64 + 28);
    assert_eq!(target.bits_to(victim, since), 150 * bits, "answers, and nothing else");
}

fn opened(target: &mut Target) -> usize {
    let is_it = |event: &ServerEvent| matches!(event, ServerEvent::Opened(_));
    core::iter::from_fn(|| target.server.poll_event()).filter(is_it).count()
}

/// One address gets half of the sessions, with any ports; an IPv6 host has as many
/// addresses as it likes.
#[test]
fn an_address_does_not_get_all_sessions() {
    let mut target = Target::new(ServerConfig { sessions_max: 4, ..server_config() });
    let mut rogues = Vec::new();
    for port in 0..20 {
        target.pass(Duration::from_secs(1));
        rogues.extend(Rogue::open(&mut target, [192, 0, 2, 66], 5_000 + 2 * port));
        rogues.iter_mut().for_each(|rogue| rogue.say(&mut target, &Message::Alive));
    }
    assert_eq!((target.server.sessions(), opened(&mut target)), (2, 2));
    Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    assert_eq!(target.server.sessions(), 3);
}

/// Unused sessions take no place from others, and few of them are stored.
#[test]
fn sessions_that_are_not_used_hold_no_place() {
    let mut target = Target::new(ServerConfig { sessions_max: 4, ..server_config() });
    for index in 0..5_000u16 {
        target.pass(Duration::from_micros(500));
        let [high, low] = index.to_be_bytes();
        Rogue::open(&mut target, [198, 18, high, low], 5_000).expect("no place is taken");
        target.left.clear();
    }
    assert!(target.server.held().sessions <= 64 + 4, "{:?}", target.server.held());
    assert_eq!(opened(&mut target), 0, "nobody measures");
    let mut honest = Rogue::open(&mut target, [192, 0, 2, 1], 5_000).expect("there are places");
    honest.attach(&mut target);
    assert_eq!((target.server.sessions(), opened(&mut target)), (1, 1));
}

/// More clients are accepted at once than there are sessions; the last one to send
/// its first message is refused.
#[test]
fn places_go_to_those_who_use_them() {
    let mut target = Target::new(ServerConfig { sessions_max: 2, ..server_config() });
    let mut open = |low| Rogue::open(&mut target, [192, 0, 2, low], 5_000).expect("a place");
    let mut rogues: Vec<Rogue> = (1..=5).map(&mut open).collect();
    for rogue in &mut rogues {
        rogue.say(&mut target, &Message::Alive);
    }
    assert_eq!(target.server.sessions(), 2);
    for rogue in &mut rogues {
        let refused = |left: &&Left| {
            left.transmit.to == rogue.control && {
                matches!(wire::parse(&left.transmit.payload), Ok(Datagram::Sealed(sealed))
                if matches!(sealed.message(), Ok(Message::Refused { reason: Refusal::Busy })))
            }
        };
        let told = target.left.iter().filter(refused).count();
        assert_eq!(told, usize::from(rogue.control.to_string() > "192.0.2.3".into()));
    }
}

/// The number of stored packets of uplink phases is limited for all sessions
/// together, and they are released.
#[test]
fn samples_of_all_sessions_are_bounded() {
    let config = ServerConfig {
        sessions_max: 8,
        samples_max: 25_000,
        phase_packets_max: 10_000,
        ..server_config()
    };
    let mut target = Target::new(config);
    let mut rogues: Vec<Rogue> =
        (1..=4).map(|low| Rogue::enter(&mut target, [192, 0, 2, low], 5_000)).collect();
    for _ in 0..3 {
        for rogue in &mut rogues {
            rogue.fill(&mut target, 10_000);
        }
        let held = target.server.held();
        assert!(held.samples <= 25_000, "{held:?}");
        assert!(held.samples >= 10_000, "{held:?}: the attack does nothing");
    }
    for rogue in &mut rogues {
        rogue.say(&mut target, &Message::Stop { done: false });
    }
    assert_eq!(target.server.held().samples, 0);
}

/// A driver that takes no datagrams or events.
#[test]
fn what_waits_in_a_server_is_bounded() {
    let mut target = Target::new(ServerConfig { sessions_max: 64, ..limited(10_000 * MBPS) });
    let mut rogue = Rogue::enter(&mut target, [192, 0, 2, 1], 5_000);
    let mut stream = Seed::new(1, 0).stream("bounds");
    let hello = wire::emit(&Datagram::Hello([1; 16]));
    let other = wire::emit(&Datagram::HelloOfVersion(9, [1; 16]));
    for _ in 0..3_000 {
        target.now += Duration::from_millis(1);
        let now = target.now;
        let (phase, direction) = (rogue.phase, Direction::Down);
        rogue.phase += 1;
        let streams = vec![at_rate(StreamKind::Bulk, 5_000 * MBPS)];
        let plan = PhasePlan { streams };
        let prepare = rogue.seal(&Message::Prepare { phase, direction, plan });
        for (from, bytes) in [
            (rogue.control, &prepare),
            (address("0.0.0.0:1"), &hello),
            (address("0.0.0.0:1"), &other),
        ] {
            let from = if from == rogue.control {
                from
            } else {
                SocketAddr::from(((stream.next_u64() as u32).to_be_bytes(), 1))
            };
            let (socket, length) = (SocketId::Control, bytes.len() as u16);
            let received = Received { socket, from, at: now, payload: bytes, length };
            target.server.handle_datagram(now, received);
        }
        target.server.handle_timeout(now);
        let held = target.server.held();
        assert!(held.outbox <= 4_096 && held.events <= 1_024, "{held:?}");
    }
    assert_eq!(target.server.held().outbox, 4_096, "the attack does nothing");
}

/// A peer of another version is reported, but not every time.
#[test]
fn another_version_is_named_now_and_then() {
    let mut target = Target::new(server_config());
    let from = address("192.0.2.7:5000");
    for version in [1, wire::VERSION + 1] {
        let hello = wire::emit(&Datagram::HelloOfVersion(version, [6; 16]));
        for _ in 0..50 {
            for answer in target.give(from, &hello) {
                assert!(answer.length < hello.len() as u16);
            }
            target.pass(Duration::from_millis(10));
        }
        let events: Vec<_> = core::iter::from_fn(|| target.server.poll_event()).collect();
        assert_eq!(events, [ServerEvent::OtherVersion(from, version)]);
        target.pass(Duration::from_secs(10));
    }
}
