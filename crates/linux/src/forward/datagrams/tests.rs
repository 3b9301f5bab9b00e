//! Datagrams over the kernel's loopback.

#![expect(clippy::disallowed_types, reason = "clients and servers of the tests")]
#![expect(clippy::disallowed_methods, reason = "the kernel takes real time")]

use super::super::{Forwarder, Passed, Route, Tally, listen_at};
use super::*;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration as Wait;

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A forwarder to `targets`, where it is, and its counters.
fn forwarder(targets: Vec<SocketAddr>) -> (Forwarder, SocketAddr, Arc<Tally>) {
    let datagrams = UdpSocket::from(datagrams_at(any()).unwrap());
    let address = datagrams.local_addr().unwrap();
    let listener = listen_at(any()).unwrap();
    let route = Route { way: 0, listener, datagrams: datagrams.into(), targets };
    let tally = Arc::new(Tally::new(1).unwrap());
    (Forwarder::start(vec![route], Arc::clone(&tally)).unwrap(), address, tally)
}

/// A socket that waits for two seconds at most.
fn patient() -> UdpSocket {
    let socket = UdpSocket::bind(any()).unwrap();
    socket.set_read_timeout(Some(Wait::from_secs(2))).unwrap();
    socket
}

/// An address without a listener.
fn nobody() -> SocketAddr {
    UdpSocket::bind(any()).unwrap().local_addr().unwrap()
}

/// The counters once they are what `until` asks for, or after two seconds.
fn counted(tally: &Tally, until: impl Fn(&Passed) -> bool) -> Passed {
    for _ in 0..200 {
        if until(&tally.read(0)) {
            break;
        }
        std::thread::sleep(Wait::from_millis(10));
    }
    tally.read(0)
}

#[test]
#[cfg_attr(miri, ignore = "the kernel's UDP")]
fn each_client_has_its_answers() {
    let server = patient();
    // The first target refuses; what it refused goes to the second.
    let (_forwarder, address, tally) = forwarder(vec![nobody(), server.local_addr().unwrap()]);
    let clients = [patient(), patient(), patient()];
    for (index, client) in clients.iter().enumerate() {
        client.send_to(&[index as u8; 1_200], address).unwrap();
        client.send_to(&[], address).unwrap();
    }
    let mut buffer = [0; 2_000];
    let mut ports = std::collections::BTreeSet::new();
    for _ in 0..6 {
        let (bytes, from) = server.recv_from(&mut buffer).unwrap();
        ports.insert(from.port());
        server.send_to(&buffer[..bytes / 2], from).unwrap();
    }
    assert_eq!(ports.len(), 3);
    for (index, client) in clients.iter().enumerate() {
        let mut lengths = [0; 2].map(|_: usize| {
            let (bytes, from) = client.recv_from(&mut buffer).unwrap();
            assert!(from == address && buffer[..bytes].iter().all(|it| *it == index as u8));
            bytes
        });
        lengths.sort_unstable();
        assert_eq!(lengths, [0, 600]);
    }
    let passed = counted(&tally, |passed| passed.answers == 6);
    assert_eq!(passed, Passed { clients: 3, sent: 6, answers: 6, ..Passed::default() });
}

#[test]
#[cfg_attr(miri, ignore = "the kernel's UDP")]
fn a_refused_datagram_is_counted_and_a_later_server_is_found() {
    let address_of_server = nobody();
    let (_forwarder, address, tally) = forwarder(vec![nobody(), address_of_server]);
    let client = patient();
    client.send_to(b"early", address).unwrap();
    let passed = counted(&tally, |passed| passed.refused == 1);
    assert_eq!((passed.sent, passed.refused), (0, 1));
    let server = UdpSocket::bind(address_of_server).unwrap();
    server.set_read_timeout(Some(Wait::from_secs(2))).unwrap();
    client.send_to(b"late", address).unwrap();
    let mut buffer = [0; 10];
    let (bytes, _) = server.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..bytes], b"late");
}

/// Without a reader, overflow of the server's socket is the server's loss, and overflow of the
/// way's socket is counted.
#[test]
#[cfg_attr(miri, ignore = "the kernel's UDP")]
fn nothing_vanishes_at_the_way_itself() {
    let server = patient();
    let (_forwarder, address, tally) = forwarder(vec![server.local_addr().unwrap()]);
    let client = patient();
    const SENT: u64 = 20_000;
    for _ in 0..SENT {
        client.send_to(&[1; 1_000], address).unwrap();
    }
    let all = |passed: &Passed| passed.sent + passed.overflowed == SENT;
    let passed = counted(&tally, all);
    assert!(all(&passed), "{passed:?}");
}

#[test]
#[cfg_attr(miri, ignore = "the kernel's UDP")]
fn the_client_that_was_idle_longest_makes_room() {
    let server = patient();
    let (_forwarder, address, tally) = forwarder(vec![server.local_addr().unwrap()]);
    let clients: Vec<UdpSocket> = (0..CLIENTS_MAX + 2).map(|_| patient()).collect();
    for (index, client) in clients.iter().enumerate() {
        client.send_to(&[0], address).unwrap();
        let passed = counted(&tally, |passed| passed.sent == index as u64 + 1);
        assert_eq!(passed.sent, index as u64 + 1);
    }
    let passed = tally.read(0);
    assert_eq!((passed.clients, passed.clients_displaced), (CLIENTS_MAX as u64 + 2, 2));
}

/// A mark for a class of service is kept.
#[test]
#[cfg_attr(miri, ignore = "the kernel's UDP")]
fn the_dscp_goes_over_and_the_ecn_field_does_not() {
    let server = datagrams_at(any()).unwrap();
    let target = UdpSocket::from(server.try_clone().unwrap()).local_addr().unwrap();
    let (_forwarder, address, tally) = forwarder(vec![target]);
    let client = datagrams_at(any()).unwrap();
    // Expedited forwarding (RFC 3246), and ECT(1).
    send(&client, b"voice", 46 << 2 | 1, Some(address)).unwrap();
    counted(&tally, |passed| passed.sent == 1);
    let mut buffer = [0; 10];
    let (bytes, _, service) = receive(&server, &mut buffer).unwrap();
    assert_eq!((bytes, service), (5, 46 << 2));
}
