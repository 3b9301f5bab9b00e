//! ICMP echo requests on a datagram socket (icmp(7), RFC 792). The kernel fills
//! in identifier and checksum. A round trip ends at the kernel's receive timestamp,
//! not when this thread reads the answer. Leaves out ICMPv6.

use super::{FlowPlan, Note, Notes, Side, Sockets};
use crate::frame::type_of_service;
use lasthop_linux::event_loop::TURN_PACKETS;
use lasthop_linux::socket::{receive_stamped, set_type_of_service, stamp_received};
use lasthop_linux::{Call, OsError};
use lasthop_packet::FlowId;
use lasthop_units::{Duration, Instant};
use nix::sys::socket::{MsgFlags, SockaddrIn, bind, connect, send};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

const ICMP_ECHO_REQUEST: u8 = 8;
const ICMP_ECHO_REPLY: u8 = 0;
/// Length of the headers of IPv4 and ICMP together.
const OVERHEAD_BYTES: u16 = 28;
const ICMP_HEADER_BYTES: usize = 8;

#[derive(Debug)]
pub struct Ping {
    id: FlowId,
    socket: OwnedFd,
    interval: Duration,
    next: Instant,
    stop: Instant,
    packet: Vec<u8>,
    sequence: u16,
    /// Departure of the request with each sequence number.
    sent: Vec<Option<Instant>>,
}

impl Ping {
    pub fn new(
        plan: FlowPlan,
        interval: Duration,
        bytes: u16,
        socket: OwnedFd,
        sockets: &mut Sockets<'_>,
    ) -> Result<Self, OsError> {
        bind(socket.as_raw_fd(), &SockaddrIn::from(plan.source())).call("bind(ICMP)")?;
        connect(socket.as_raw_fd(), &SockaddrIn::from(plan.destination())).call("connect(ICMP)")?;
        set_type_of_service(&socket, type_of_service(plan.access_category))
            .call("setsockopt(IP_TOS)")?;
        stamp_received(&socket).call("setsockopt(SO_TIMESTAMPNS)")?;
        sockets.watch_readable(socket.as_fd(), Side::Source)?;
        let payload = usize::from(bytes.saturating_sub(OVERHEAD_BYTES));
        Ok(Self {
            id: plan.id,
            socket,
            interval,
            next: plan.start,
            stop: plan.stop,
            packet: vec![0; ICMP_HEADER_BYTES + payload],
            sequence: 0,
            sent: vec![None; 1 << 16],
        })
    }

    pub fn next_wakeup(&self) -> Option<Instant> {
        (self.next < self.stop).then_some(self.next)
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        while self.next <= now && self.next < self.stop {
            self.next += self.interval;
            let [high, low] = self.sequence.to_be_bytes();
            self.packet[0] = ICMP_ECHO_REQUEST;
            self.packet[6..8].copy_from_slice(&[high, low]);
            self.sent[usize::from(self.sequence)] = Some(now);
            self.sequence = self.sequence.wrapping_add(1);
            let _ = send(self.socket.as_raw_fd(), &self.packet, MsgFlags::MSG_DONTWAIT);
        }
    }

    pub fn handle_ready(&mut self, now: Instant, notes: &Notes) {
        let mut answer = [0; ICMP_HEADER_BYTES];
        for _ in 0..TURN_PACKETS {
            let Ok((length, age)) = receive_stamped(&self.socket, &mut answer) else { return };
            if length < ICMP_HEADER_BYTES || answer[0] != ICMP_ECHO_REPLY {
                continue;
            }
            let sequence = usize::from(u16::from_be_bytes([answer[6], answer[7]]));
            if let Some(sent) = self.sent[sequence].take() {
                let at = now.saturating_sub(age);
                notes.push(Note::RoundTrip(at, self.id, at.saturating_since(sent)));
            }
        }
    }
}
