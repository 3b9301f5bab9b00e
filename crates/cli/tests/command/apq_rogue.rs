//! `lasthop apq serve` and an accepted client that breaks the rules, over real sockets: the
//! server's traffic to it stays within `--max-rate`, and stops when the client receives nothing. No
//! result depends on the load of the host: times are taken before the measured event can have
//! started, and after it has ended.

#![expect(clippy::disallowed_types, reason = "sockets that stand for a client, and its clock")]

use crate::apq::Serving;
use lasthop_apq::auth::{self, Key, Side, handshake_key, mac_tag};
use lasthop_apq::record::StreamCount;
use lasthop_apq::wire::{self, Datagram, Message};
use lasthop_apq::{Direction, PhasePlan, Proof, Proofs, StreamKind, StreamPlan};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const CONTROL: usize = 0;
const BULK: usize = 1;
/// Length of the headers of IPv4 and UDP.
const HEADER_BYTES: usize = 28;
const PACKET_BYTES: u16 = 1_500;

struct Rogue {
    sockets: [UdpSocket; 2],
    handshake: Key,
    session: u64,
    number: u32,
    phase: u32,
    proofs: Proofs,
    /// Bits of the IP packets that it received.
    bits: u64,
    finished: Option<Vec<StreamCount>>,
}

fn socket(server: &str) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.connect(server).expect("loopback");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time above zero");
    socket
}

fn answer(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = vec![0; 2_048];
    let length = socket.recv(&mut buffer).expect("there is an answer");
    buffer.truncate(length);
    buffer
}

impl Rogue {
    fn enter(server: &str) -> Self {
        let sockets = [socket(server), socket(server)];
        let nonce = [7; 16];
        let tokens = [CONTROL, BULK].map(|index| {
            sockets[index].send(&wire::emit(&Datagram::Hello(nonce))).expect("it is there");
            match wire::parse(&answer(&sockets[index])) {
                Ok(Datagram::Challenge { token, .. }) => token,
                other => panic!("{other:?}"),
            }
        });
        let token = tokens[CONTROL];
        let handshake = handshake_key(None, &nonce, &token);
        let mac_tag = mac_tag(&handshake, &wire::open_covered(&nonce, &token));
        let open = wire::emit(&Datagram::Open { nonce, token, mac_tag });
        sockets[CONTROL].send(&open).expect("it is there");
        let session = match wire::parse(&answer(&sockets[CONTROL])) {
            Ok(Datagram::Accepted { accepted, .. }) => accepted.session,
            other => panic!("{other:?}"),
        };
        let (number, phase, bits) = (0, 0, 0);
        let proofs = Proofs::default();
        let mut rogue =
            Self { sockets, handshake, session, number, phase, proofs, bits, finished: None };
        rogue.say(BULK, &Message::Attach { nonce, token: tokens[BULK] });
        let attached = answer(&rogue.sockets[BULK]);
        rogue.note(BULK, &attached);
        for socket in &rogue.sockets {
            socket.set_nonblocking(true).expect("a socket can");
        }
        rogue
    }

    fn say(&mut self, from: usize, message: &Message) {
        self.number += 1;
        let key = auth::session_key(&self.handshake, self.session, Side::Client);
        let bytes = wire::seal(message, self.session, self.number, &self.proofs, &key);
        let _ = self.sockets[from].send(&bytes);
    }

    fn begin(&mut self, streams: Vec<StreamPlan>) {
        let (phase, direction, plan) = (self.phase, Direction::Down, PhasePlan { streams });
        self.phase += 1;
        self.say(CONTROL, &Message::Prepare { phase, direction, plan });
    }

    fn note(&mut self, at: usize, bytes: &[u8]) {
        let proof = match wire::parse(bytes) {
            Ok(Datagram::Probe(probe)) => probe.proof,
            Ok(Datagram::Sealed(sealed)) => {
                if let Ok(Message::Finished { counts, .. }) = sealed.message() {
                    self.finished = Some(counts);
                }
                sealed.proofs[at]
            }
            _ => Proof::default(),
        };
        if proof.at_ms > self.proofs[at].at_ms {
            self.proofs[at] = proof;
        }
    }

    /// Reads the datagrams that have arrived at the sockets in `read`.
    fn receive(&mut self, read: &[usize]) {
        let mut buffer = vec![0; 2_048];
        for &index in read {
            while let Ok(length) = self.sockets[index].recv(&mut buffer) {
                self.bits += 8 * (length + HEADER_BYTES) as u64;
                self.note(index, &buffer[..length]);
            }
        }
    }
}

fn stream(kind: StreamKind, rate_bps: u64, end: Duration) -> StreamPlan {
    let units = lasthop_units::Duration::from_nanos;
    let interval = units((8_000_000_000 * u64::from(PACKET_BYTES)).div_ceil(rate_bps));
    let end = units(end.as_nanos() as u64);
    StreamPlan { kind, packet_bytes: PACKET_BYTES, interval, begin: units(0), end }
}

#[expect(clippy::disallowed_methods, reason = "the bound is one of real time")]
#[test]
fn phases_without_end_stay_within_the_rate() {
    const RATE_BPS: u64 = 5_000_000;
    let serving = Serving::new(&["--max-rate", "5Mb/s"]);
    let mut rogue = Rogue::enter(&serving.address);
    let hour = Duration::from_secs(3_600);
    let begin = Instant::now();
    let mut most = 0.0f64;
    while begin.elapsed() < Duration::from_secs(3) {
        for _ in 0..20 {
            let half =
                [StreamKind::Sparse, StreamKind::Bulk].map(|k| stream(k, RATE_BPS / 2, hour));
            rogue.begin(half.to_vec());
        }
        rogue.receive(&[CONTROL, BULK]);
        let elapsed = begin.elapsed();
        // The content of a full bucket leaves at once.
        let allowed = RATE_BPS as f64 * (elapsed.as_secs_f64() + 0.01);
        most = most.max(rogue.bits as f64 / allowed);
        assert!(most <= 1.0, "{} bits in {elapsed:?}", rogue.bits);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(rogue.bits > RATE_BPS / 2, "{} bits: the attack does nothing", rogue.bits);
}

/// The bulk socket is closed when the phase starts. The control socket continues to
/// report that the client is there, and proves that for itself only.
#[expect(clippy::disallowed_methods, reason = "the phase takes real time")]
#[test]
fn a_closed_socket_is_not_sent_to() {
    let serving = Serving::new(&[]);
    let mut rogue = Rogue::enter(&serving.address);
    let streams = vec![
        stream(StreamKind::Sparse, 600_000, Duration::from_secs(6)),
        stream(StreamKind::Bulk, 12_000_000, Duration::from_secs(6)),
    ];
    let plan = PhasePlan { streams: streams.clone() };
    rogue.sockets[BULK] = socket(&serving.address);
    rogue.begin(streams);
    let begin = Instant::now();
    while rogue.finished.is_none() && begin.elapsed() < Duration::from_secs(30) {
        rogue.receive(&[CONTROL]);
        rogue.say(CONTROL, &Message::Alive);
        std::thread::sleep(Duration::from_millis(20));
    }
    let counts = rogue.finished.expect("the phase ends");
    let planned = plan.streams[1].packets();
    assert_eq!(u64::from(counts[1].sent + counts[1].unsent), planned);
    assert!(u64::from(counts[1].sent) < planned / 2, "{} of {planned}", counts[1].sent);
    assert!(counts[1].sent > 0 && counts[0].sent > counts[0].unsent, "{counts:?}");
}
