//! Segmentation and coalescing as the kernel's own TCP and UDP see them: both ends of a connection
//! are this host's, and everything between them crosses a TUN device twice. The other side of the
//! device swaps the addresses, so that packets to 10.9.9.2 return as if from there.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_types, reason = "the kernel's sockets are the judges")]

use lasthop_linux::device::{Tun, configure_tun};
use lasthop_linux::offload::{Coalescer, HEADER_BYTES, PACKET_BYTES_MAX, segment};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const MTU: u32 = 1_400;
const HERE: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 2);

/// Packets that crossed the device.
#[derive(Debug, Default)]
struct Crossed {
    packets: usize,
    reads: usize,
    writes: usize,
}

/// Moves packets until `is_over`. Outgoing packets are at most the MTU.
fn reflect(tun: &Tun, is_over: &AtomicBool) -> Crossed {
    let mut crossed = Crossed::default();
    let mut coalescer = Coalescer::new(tun.kinds());
    let (mut buffer, mut scratch) = (vec![0; HEADER_BYTES + PACKET_BYTES_MAX], Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        let mut writes = 0;
        let mut write = |packet: &[u8], _| {
            writes += 1;
            tun.write(packet).expect("a packet that the kernel takes");
        };
        loop {
            match tun.read(&mut buffer) {
                Ok(length) => {
                    crossed.reads += 1;
                    let mut take = |packet: &[u8]| {
                        assert!(packet.len() <= MTU as usize, "{} bytes", packet.len());
                        let mut packet = packet.to_vec();
                        // Sums do not change when addresses are swapped.
                        let (source, destination) = packet[12..20].split_at_mut(4);
                        source.swap_with_slice(destination);
                        coalescer.push(&packet, &mut write);
                    };
                    let taken = segment(&mut buffer[..length], &mut scratch, &mut take);
                    crossed.packets += taken.expect("what a device gives");
                }
                Err(Errno::EAGAIN) => break,
                Err(error) => panic!("{error}"),
            }
        }
        coalescer.flush(&mut write);
        crossed.writes += writes;
        std::thread::yield_now();
    }
    crossed
}

/// Runs `traffic` in a new network namespace while packets are reflected. `None` if the system
/// refuses.
fn reflected(traffic: fn()) -> Option<(Crossed, Tun)> {
    std::thread::spawn(move || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!("skipped, because unshare says {error}");
            return None;
        }
        let (tun, refused) = match Tun::create("reflect0") {
            Ok(made) => made,
            Err(error) => {
                eprintln!("skipped, because {error}");
                return None;
            }
        };
        if !refused.is_empty() {
            eprintln!("this kernel offloads less: {refused:?}");
        }
        configure_tun("reflect0", MTU, &[(IpAddr::V4(HERE), 24)]).expect("our own device");
        let is_over = AtomicBool::new(false);
        let crossed = std::thread::scope(|scope| {
            // A thread begins in the namespace of the one that made it.
            let reflector = scope.spawn(|| reflect(&tun, &is_over));
            let traffic = scope.spawn(traffic).join();
            is_over.store(true, Ordering::Relaxed);
            let crossed = reflector.join().expect("it does not panic");
            traffic.expect("nor does the traffic");
            crossed
        });
        Some((crossed, tun))
    })
    .join()
    .expect("no panic")
}

/// Bytes that are other ones everywhere.
fn pattern(length: usize) -> Vec<u8> {
    (0..length as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

const TCP_BYTES: usize = 4 << 20;

fn tcp() {
    let listener = TcpListener::bind((HERE, 7_000)).expect("a port of its own");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = TcpStream::connect((THERE, 7_000)).expect("a listener is there");
            stream.write_all(&pattern(TCP_BYTES)).expect("it is taken");
        });
        let (mut stream, from) = listener.accept().expect("it comes");
        assert_eq!(from.ip(), THERE);
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        let mut came = Vec::new();
        stream.read_to_end(&mut came).expect("all of it");
        assert!(came == pattern(TCP_BYTES), "{} bytes", came.len());
    });
}

#[test]
fn tcp_crosses_in_long_packets_and_nothing_changes() {
    let Some((crossed, tun)) = reflected(tcp) else { return };
    assert!(crossed.packets > TCP_BYTES / MTU as usize, "{crossed:?}");
    if tun.kinds().tcp {
        assert!(crossed.reads * 2 < crossed.packets, "{crossed:?}");
        assert!(crossed.writes * 2 < crossed.packets, "{crossed:?}");
    }
}

const DATAGRAMS: u8 = 40;
const DATAGRAM_BYTES: usize = 1_000;

fn udp() {
    let receiver = UdpSocket::bind((HERE, 7_001)).expect("a port of its own");
    let sender = UdpSocket::bind((HERE, 0)).expect("a port");
    sender.connect((THERE, 7_001)).expect("a route");
    let datagram = |number: u8| {
        let length = if number + 1 == DATAGRAMS { 10 } else { DATAGRAM_BYTES };
        [&[number][..], &pattern(length)].concat()
    };
    // One message that the kernel, or who reads the device, has to cut.
    let cut = (DATAGRAM_BYTES + 1) as i32;
    nix::sys::socket::setsockopt(&sender, nix::sys::socket::sockopt::UdpGsoSegment, &cut)
        .expect("UDP_SEGMENT");
    let all: Vec<u8> = (0..DATAGRAMS).flat_map(datagram).collect();
    sender.send(&all).expect("it is taken");
    receiver.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
    let mut buffer = [0; 2_000];
    for number in 0..DATAGRAMS {
        let (length, from) = receiver.recv_from(&mut buffer).expect("it comes");
        assert_eq!(from.ip(), THERE);
        assert!(buffer[..length] == datagram(number)[..], "datagram {number}");
    }
}

#[test]
fn datagrams_cross_in_long_packets_and_nothing_changes() {
    let Some((crossed, tun)) = reflected(udp) else { return };
    assert!(crossed.packets >= usize::from(DATAGRAMS), "{crossed:?}");
    if tun.kinds().udp {
        assert!(crossed.reads < crossed.packets, "{crossed:?}");
        assert!(crossed.writes < crossed.packets, "{crossed:?}");
    }
}
