//! The host that answers: sends to nobody who has not proven an address, and
//! within bounds.

use crate::plan::PhasePlan;
use crate::{Direction, HostClock, Received, StreamKind, Transmit};
use core::net::SocketAddr;
use lasthop_units::{Duration, Instant, Machine};

/// What a server allows.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The key that clients must know, if any.
    pub key: Option<[u8; 32]>,
    /// 32 bytes that nobody can guess.
    pub secret: [u8; 32],
    /// How it stamps packets.
    pub clock: HostClock,
    /// Most sessions at a time.
    pub sessions_max: usize,
    /// Most bits a second that a session may have sent, IP headers included.
    pub rate_max_bps: u64,
    /// Longest session.
    pub duration_max: Duration,
    /// Most packets of a phase: what a session may hold in memory.
    pub phase_packets_max: u32,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// A client proved its address and was let in.
    Opened(SocketAddr),
    /// A phase began.
    PhaseBegan(SocketAddr, Direction, PhasePlan),
    /// A session ended, and why.
    Closed(SocketAddr, Ending),
    /// A client that proved its address was refused, and why.
    Refused(SocketAddr, &'static str),
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client said so.
    Done,
    /// The client was stopped.
    Stopped,
    /// The client said nothing for too long.
    Vanished,
    /// It took longer than the server allows.
    TooLong,
}

/// Why a server wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A packet of a flow is due.
    Departure,
    /// Something was not answered.
    Retry,
    /// A client has been silent for too long, or a session has taken too long.
    Expiry,
}

/// The host that answers.
#[derive(Clone, Debug)]
pub struct Server {}

impl Server {
    /// One without sessions.
    pub fn new(_config: ServerConfig) -> Self {
        Self {}
    }

    /// Takes a datagram.
    pub fn handle_datagram(&mut self, _now: Instant, _received: Received<'_>) {}

    /// The last packet of that flow to `to` could not be sent: the host had no room for it.
    pub fn handle_unsent(&mut self, _now: Instant, _to: SocketAddr, _kind: StreamKind) {}

    /// Sends nothing more, and tells all clients so.
    pub fn stop(&mut self, _now: Instant) {}

    /// The next datagram that is to leave now.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Transmit> {
        None
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        None
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        0
    }
}

impl Machine for Server {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant) {}
}
