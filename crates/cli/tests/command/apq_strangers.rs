//! `lasthop apq serve` and strangers: to an unproven address it sends nothing but a
//! shorter answer to a request, it continues to serve under a flood of invalid
//! datagrams, and its memory does not grow. The flood is ten thousand datagrams per
//! second; no result depends on how many of them arrive.

#![expect(clippy::disallowed_types, reason = "sockets that stand for other hosts")]

use crate::apq::{SHORT, Serving};
use lasthop_apq::auth::{handshake_key, mac_tag};
use lasthop_apq::wire::{self, Datagram, HELLO_BYTES};
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Datagrams per burst; below, bursts per second.
const BURST: usize = 100;
const BURSTS_PER_SECOND: u64 = 100;
/// Greatest growth of the server's memory, in KiB: a part of what one session takes.
const GROWTH_MAX_KIB: u64 = 16 * 1_024;
/// Greatest memory of the server, in KiB.
const RESIDENT_MAX_KIB: u64 = 32 * 1_024;

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time above zero");
    socket
}

/// The next datagram that `socket` receives.
fn answer(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = vec![0; 2_048];
    let length = socket.recv(&mut buffer).expect("there is an answer");
    buffer.truncate(length);
    buffer
}

/// Asserts that nothing has arrived at `socket`, although the server has handled
/// everything sent to it before: it answers a later request.
fn assert_silence(socket: &UdpSocket, server: &str) {
    let other = self::socket();
    other.send_to(&wire::emit(&Datagram::Hello([9; 16])), server).expect("it is there");
    answer(&other);
    socket.set_nonblocking(true).expect("a socket can");
    let got = socket.recv(&mut [0; 2_048]).expect_err("nothing was sent here");
    assert_eq!(got.kind(), ErrorKind::WouldBlock);
}

fn resident_kib(serving: &Serving) -> u64 {
    let path = format!("/proc/{}/status", serving.child.id());
    let status = std::fs::read_to_string(path).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says it");
    line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number of KiB")
}

/// A generator of random numbers (xorshift64).
struct Rubbish(u64);

impl Rubbish {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A datagram that is no request; most start with the first bytes of this protocol.
    fn datagram(&mut self) -> Vec<u8> {
        let length = self.next() % 1_400;
        let mut bytes: Vec<u8> = (0..length).map(|_| self.next() as u8).collect();
        if !self.next().is_multiple_of(4) && bytes.len() > 6 {
            bytes[..4].copy_from_slice(&wire::MAGIC);
            bytes[4] = wire::VERSION;
            bytes[5] %= 32;
        }
        match wire::parse(&bytes) {
            Ok(Datagram::Hello(_) | Datagram::HelloOfVersion(..)) => Vec::new(),
            _ => bytes,
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a flood takes real time")]
fn a_flood_changes_nothing() {
    let serving = Serving::new(&[]);
    assert!(serving.measure(&SHORT).status.success());
    let before_kib = resident_kib(&serving);
    let stranger = socket();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rubbish = Rubbish(0x9e37_79b9_7f4a_7c15);
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..BURST {
                    let _ = stranger.send_to(&rubbish.datagram(), &serving.address);
                }
                std::thread::sleep(Duration::from_millis(1_000 / BURSTS_PER_SECOND));
            }
        });
        let output = serving.measure(&SHORT);
        is_over.store(true, Ordering::Relaxed);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    assert_silence(&stranger, &serving.address);
    let after_kib = resident_kib(&serving);
    assert!(after_kib < before_kib + GROWTH_MAX_KIB, "{before_kib} KiB, then {after_kib}");
    assert!(after_kib < RESIDENT_MAX_KIB, "{after_kib} KiB");
}

#[test]
fn nobody_answers_for_another_address() {
    let serving = Serving::new(&[]);
    let (asker, other) = (socket(), socket());
    let nonce = [7; 16];
    let hello = wire::emit(&Datagram::Hello(nonce));
    assert_eq!(hello.len(), HELLO_BYTES);
    asker.send_to(&hello, &serving.address).expect("it is there");
    let challenge = answer(&asker);
    assert!(challenge.len() < hello.len(), "{} bytes for {}", challenge.len(), hello.len());
    let Ok(Datagram::Challenge { token, keyed: false, .. }) = wire::parse(&challenge) else {
        panic!("a challenge");
    };
    let key = handshake_key(None, &nonce, &token);
    let mac_tag = mac_tag(&key, &wire::open_covered(&nonce, &token));
    let open = wire::emit(&Datagram::Open { nonce, token, mac_tag });
    other.send_to(&open, &serving.address).expect("it is there");
    assert_silence(&other, &serving.address);
    // It was valid, except for the address.
    asker.send_to(&open, &serving.address).expect("it is there");
    assert!(matches!(wire::parse(&answer(&asker)), Ok(Datagram::Accepted { .. })));
}

/// Requests from many addresses: all of 127.0.0.0/8 belong to this host.
#[test]
#[expect(clippy::disallowed_methods, reason = "a flood takes real time")]
fn a_flood_of_questions_shuts_nobody_out() {
    let serving = Serving::new(&[]);
    let is_over = AtomicBool::new(false);
    let strangers: Vec<UdpSocket> = (1..=200)
        .map(|low| UdpSocket::bind(format!("127.0.77.{low}:0")).expect("a free port"))
        .collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let hello = wire::emit(&Datagram::Hello([7; 16]));
            for stranger in strangers.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                for _ in 0..BURST {
                    let _ = stranger.send_to(&hello, &serving.address);
                }
                std::thread::sleep(Duration::from_millis(1_000 / BURSTS_PER_SECOND));
            }
        });
        let output = serving.measure(&SHORT);
        is_over.store(true, Ordering::Relaxed);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    assert!(resident_kib(&serving) < RESIDENT_MAX_KIB, "{} KiB", resident_kib(&serving));
}
