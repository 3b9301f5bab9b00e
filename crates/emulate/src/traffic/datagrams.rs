//! UDP datagrams, paced by a source machine, or (saturated flows) by the free packets of the
//! sender's queue, which the network's loop grants.
//!
//! That loop also sends them: on another thread each would cost two more wake-ups, which take far
//! more processor time than the datagram.
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
use lasthop_linux::event_loop::TURN_PACKETS;
use lasthop_linux::socket::{set_receive_buffer, set_type_of_service};
use lasthop_linux::{Call, OsError};
use lasthop_units::Instant;
use nix::sys::socket::{SockaddrIn, bind, connect};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};

#[derive(Debug)]
pub struct Datagrams {
    source: Source,
    socket: UdpSocket,
    _sink: OwnedFd,
    /// Packets granted and not sent yet.
    credit: u32,
    /// The instant of the last call, if packets were left over.
    left_over: Option<Instant>,
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
            credit: 0,
            left_over: None,
            sequence: 0,
            payload: vec![0; usize::from(u16::MAX)],
        })
    }

    pub fn next_wakeup(&self) -> Option<Instant> {
        self.source.next_departure().into_iter().chain(self.left_over).min()
    }

    /// Lets a saturated flow send `packets` more.
    pub fn grant(&mut self, packets: u32) {
        self.credit += packets;
    }

    /// Sends what is due at `now`, [`TURN_PACKETS`] at most.
    pub fn handle_timeout(&mut self, now: Instant) {
        for _ in 0..TURN_PACKETS {
            let Some(departure) = self.source.poll_packet(now) else { break };
            self.send(departure.at, departure.bytes);
        }
        self.left_over = None;
        let Some(bytes) = self.source.refill(now) else { return };
        let turn = self.credit.min(TURN_PACKETS as u32);
        for _ in 0..turn {
            self.send(now, bytes);
        }
        self.credit -= turn;
        self.left_over = (self.credit > 0).then_some(now);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Kind;
    use lasthop_packet::{AccessCategory, FlowId};
    use lasthop_units::Seed;
    use std::net::Ipv4Addr;

    const STOP: Instant = Instant::from_nanos(1_000);

    fn new_socket() -> OwnedFd {
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        socket(AddressFamily::Inet, SockType::Datagram, flags, None).unwrap()
    }

    /// A turn sends [`TURN_PACKETS`], and the rest asks for another turn, but not once the flow has
    /// ended.
    #[test]
    fn a_grant_is_sent_in_turns_until_the_flow_ends() {
        let config = SourceConfig::Saturated { bytes: 100 };
        let plan = FlowPlan {
            id: FlowId(11_001),
            kind: Kind::Datagrams(config.clone()),
            from: Ipv4Addr::new(127, 0, 0, 1),
            to: Ipv4Addr::new(127, 0, 0, 2),
            start: Instant::ZERO,
            stop: STOP,
            access_category: AccessCategory::BestEffort,
            stream: Seed::new(1, 0).stream("source"),
        };
        let sink = UdpSocket::from(new_socket());
        let heard = sink.try_clone().unwrap();
        let mut flow = Datagrams::new(plan, &config, new_socket(), sink.into()).unwrap();
        set_receive_buffer(&heard, 1 << 20).unwrap();
        let arrived = || std::iter::from_fn(|| heard.recv(&mut [0; 200]).ok()).count();
        let now = Instant::from_nanos(500);

        flow.grant(3 * TURN_PACKETS as u32);
        assert_eq!(flow.next_wakeup(), None);
        for _ in 0..2 {
            flow.handle_timeout(now);
            assert_eq!((arrived(), flow.next_wakeup()), (TURN_PACKETS, Some(now)));
        }
        flow.handle_timeout(STOP);
        assert_eq!((arrived(), flow.next_wakeup()), (0, None));
    }
}
