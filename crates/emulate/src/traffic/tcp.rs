//! A bulk transfer between two TCP sockets of the kernel, and the sender's state (`TCP_INFO`) at a
//! regular interval. Arriving bytes are discarded unread (`MSG_TRUNC`), so the receiver costs
//! little and its window stays open; if the kernel allows it, the receiver acknowledges without
//! waiting to be read.

use super::{FlowPlan, Note, Notes, Side, Sockets};
use crate::frame::type_of_service;
use lasthop_hosts::TcpSample;
use lasthop_linux::socket::{
    TcpInfo, discard_received, set_patient_reader, set_type_of_service, set_unsent_limit, tcp_info,
};
use lasthop_linux::{Call, OsError};
use lasthop_units::{Bytes, Duration, Instant};
use nix::errno::Errno;
use nix::sys::socket::{
    Backlog, MsgFlags, Shutdown, SockaddrIn, bind, connect, getsockopt, listen, send, shutdown,
    sockopt,
};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Bytes of one call of send(2) at most.
static CHUNK: [u8; 128 << 10] = [0; 128 << 10];
/// Bytes that may wait unsent in the sender's socket: enough that it always has some to send.
const UNSENT_MAX: u32 = 256 << 10;
/// Bytes of buffer space of a receiver.
const RECEIVE_MEMORY: u32 = 16 << 20;
/// Interval between attempts to connect.
const RETRY: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Bulk {
    plan: FlowPlan,
    source: OwnedFd,
    listener: OwnedFd,
    connection: Option<OwnedFd>,
    state: TransferState,
    left: Option<u64>,
    interval: Duration,
    next_sample: Instant,
}

#[derive(Debug, PartialEq, Eq)]
enum TransferState {
    /// The flow connects at that instant.
    Waiting(Instant),
    Connecting,
    Sending,
    /// All bytes are sent, or the flow's time is over.
    Finished,
}

impl Bulk {
    pub fn new(
        plan: FlowPlan,
        bytes: Option<Bytes>,
        source: OwnedFd,
        listener: OwnedFd,
        sockets: &mut Sockets<'_>,
        interval: Duration,
    ) -> Result<Self, OsError> {
        bind(listener.as_raw_fd(), &SockaddrIn::from(plan.destination())).call("bind(TCP)")?;
        listen(&listener, Backlog::MAXCONN).call("listen")?;
        sockets.watch_readable(listener.as_fd(), Side::Sink)?;
        for socket in [&source, &listener] {
            set_type_of_service(socket, type_of_service(plan.access_category))
                .call("setsockopt(IP_TOS)")?;
        }
        // Where it is refused, a busy machine makes stretch acknowledgements.
        let _ = set_patient_reader(&listener, RECEIVE_MEMORY);
        set_unsent_limit(&source, UNSENT_MAX).call("setsockopt(TCP_NOTSENT_LOWAT)")?;
        Ok(Self {
            source,
            listener,
            connection: None,
            state: TransferState::Waiting(plan.start),
            left: bytes.map(Bytes::as_u64),
            interval,
            next_sample: plan.start + interval,
            plan,
        })
    }

    pub fn next_wakeup(&self) -> Option<Instant> {
        match self.state {
            TransferState::Waiting(at) => Some(at),
            TransferState::Connecting => Some(self.plan.stop),
            TransferState::Sending => Some(self.next_sample.min(self.plan.stop)),
            TransferState::Finished => None,
        }
    }

    pub fn handle_timeout(&mut self, now: Instant, sockets: &mut Sockets<'_>, notes: &Notes) {
        if now >= self.plan.stop && self.state != TransferState::Finished {
            self.finish(sockets);
        }
        match self.state {
            TransferState::Waiting(at) if at <= now => self.connect(now, sockets),
            TransferState::Sending if self.next_sample <= now => {
                while self.next_sample <= now {
                    self.next_sample += self.interval;
                }
                if let Ok(info) = tcp_info(&self.source) {
                    notes.push(Note::Tcp(now, self.plan.id, sample(info)));
                }
            }
            _ => {}
        }
    }

    pub fn handle_ready(&mut self, side: Side, now: Instant, sockets: &mut Sockets<'_>) {
        if side == Side::Sink {
            return self.receive(sockets);
        }
        if self.state == TransferState::Connecting {
            match getsockopt(&self.source, sockopt::SocketError) {
                Ok(0) => self.state = TransferState::Sending,
                _ => return self.retry(now, sockets),
            }
        }
        if self.state == TransferState::Sending {
            self.send(sockets);
        }
    }

    fn connect(&mut self, now: Instant, sockets: &mut Sockets<'_>) {
        self.state = TransferState::Connecting;
        let destination = SockaddrIn::from(self.plan.destination());
        let started = connect(self.source.as_raw_fd(), &destination);
        let watched = sockets.watch_writable(self.source.as_fd(), Side::Source);
        if watched.is_err() || !matches!(started, Ok(()) | Err(Errno::EINPROGRESS)) {
            self.retry(now, sockets);
        }
    }

    /// Connects again later: attempts sometimes fail over a hop with many losses.
    fn retry(&mut self, now: Instant, sockets: &mut Sockets<'_>) {
        sockets.forget(self.source.as_fd());
        self.state = TransferState::Waiting(now + RETRY);
    }

    fn send(&mut self, sockets: &mut Sockets<'_>) {
        loop {
            let most = self.left.map_or(CHUNK.len(), |left| CHUNK.len().min(left as usize));
            if most == 0 {
                return self.finish(sockets);
            }
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            match send(self.source.as_raw_fd(), &CHUNK[..most], flags) {
                Ok(sent) => self.left = self.left.map(|left| left - sent as u64),
                Err(Errno::EAGAIN | Errno::EINTR) => return,
                Err(_) => return self.finish(sockets),
            }
        }
    }

    fn receive(&mut self, sockets: &mut Sockets<'_>) {
        if let Some(connection) = &self.connection {
            // Nothing more comes after an end or an error.
            if !discard_received(connection) {
                sockets.forget(connection.as_fd());
            }
            return;
        }
        if let Ok(connection) = lasthop_linux::socket::accept(&self.listener) {
            sockets.forget(self.listener.as_fd());
            if sockets.watch_readable(connection.as_fd(), Side::Sink).is_ok() {
                self.connection = Some(connection);
            }
        }
    }

    fn finish(&mut self, sockets: &mut Sockets<'_>) {
        sockets.forget(self.source.as_fd());
        let _ = shutdown(self.source.as_raw_fd(), Shutdown::Write);
        self.state = TransferState::Finished;
    }
}

/// Returns the sample of a kernel's sender. The kernel reports smoothed round trips only.
fn sample(info: TcpInfo) -> TcpSample {
    TcpSample {
        cwnd_packets: info.cwnd_packets,
        ssthresh_packets: None,
        smoothed_rtt: info.smoothed_rtt,
        latest_rtt: info.smoothed_rtt,
        retransmissions: info.retransmissions,
        bytes_acked: info.bytes_acked,
        bytes_in_flight: info.bytes_in_flight,
        bytes_written: None,
    }
}
