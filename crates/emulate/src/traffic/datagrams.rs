//! UDP datagrams, paced by a source machine, or (saturated flows) by the free packets of the
//! sender's queue, which the network's loop grants.
//!
//! Each carries its sequence number and its departure in nanoseconds of the run (8 bytes each,
//! big-endian), as far as its length permits. The receiving socket is never read: the network has
//! counted the packet at its arrival. Without the socket the kernel would answer that the port is
//! closed.

#![expect(clippy::disallowed_types, reason = "this crate has the sockets")]

use super::FlowPlan;
use crate::frame::type_of_service;
use lasthop_hosts::traffic::UDP_OVERHEAD_BYTES;
use lasthop_hosts::{Source, SourceConfig};
use lasthop_linux::socket::{set_receive_buffer, set_type_of_service};
use lasthop_linux::{Call, OsError};
use lasthop_units::Instant;
use nix::sys::socket::{SockaddrIn, bind, connect};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug)]
pub struct Datagrams {
    source: Source,
    socket: UdpSocket,
    _sink: OwnedFd,
    sequence: u64,
    payload: Vec<u8>,
}

impl Datagrams {
    pub fn new(
        plan: FlowPlan,
        config: &SourceConfig,
        source: OwnedFd,
        sink: OwnedFd,
    ) -> Result<Self, OsError> {
        let destination = SockaddrIn::from(plan.destination());
        bind(sink.as_raw_fd(), &destination).call("bind(UDP)")?;
        set_receive_buffer(&sink, 0).call("setsockopt(SO_RCVBUF)")?;
        bind(source.as_raw_fd(), &SockaddrIn::from(plan.source())).call("bind(UDP)")?;
        set_type_of_service(&source, type_of_service(plan.access_category))
            .call("setsockopt(IP_TOS)")?;
        connect(source.as_raw_fd(), &destination).call("connect(UDP)")?;
        Ok(Self {
            source: Source::new(config, plan.start, plan.stop, plan.stream),
            socket: UdpSocket::from(source),
            _sink: sink,
            sequence: 0,
            payload: vec![0; usize::from(u16::MAX)],
        })
    }

    pub fn next_wakeup(&self) -> Option<Instant> {
        self.source.next_departure()
    }

    pub fn handle_timeout(&mut self, now: Instant, credit: &AtomicU32) {
        while let Some(departure) = self.source.poll_packet(now) {
            self.send(departure.at, departure.bytes);
        }
        if let Some(bytes) = self.source.refill(now) {
            for _ in 0..credit.swap(0, Ordering::Relaxed) {
                self.send(now, bytes);
            }
        }
    }

    fn send(&mut self, at: Instant, bytes: u16) {
        let payload = &mut self.payload[..usize::from(bytes.saturating_sub(UDP_OVERHEAD_BYTES))];
        let stamps = [self.sequence.to_be_bytes(), at.as_nanos().to_be_bytes()];
        for (to, from) in payload.iter_mut().zip(stamps.as_flattened()) {
            *to = *from;
        }
        self.sequence += 1;
        // A full socket buffer (ARP is not answered yet) or an unreachable peer
        // loses the datagram, as it would that of any program.
        let _ = self.socket.send(payload);
    }
}
