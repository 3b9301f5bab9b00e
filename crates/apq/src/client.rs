//! The host that measures: proves its address, has phases run, collects their
//! records and hands them to the survey.

use crate::record::PhaseRecord;
use crate::survey::Survey;
use crate::{HostClock, Received, StreamKind, Transmit};
use alloc::string::String;
use core::net::SocketAddr;
use lasthop_units::{Duration, Instant, Machine};

/// What a client needs to know.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The far host.
    pub server: SocketAddr,
    /// The key both hosts know, if the server asks for one.
    pub key: Option<[u8; 32]>,
    /// 32 bytes that nobody can guess.
    pub secret: [u8; 32],
    /// How it stamps packets.
    pub clock: HostClock,
    /// Gives up if the server says nothing for so long.
    pub patience: Duration,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The server takes part.
    Accepted,
    /// A phase began.
    PhaseBegan {
        /// Its number, from 0.
        number: u32,
        /// What it is.
        phase: crate::Phase,
    },
    /// A phase is over, and the survey has its record.
    PhaseDone {
        /// Its number, from 0.
        number: u32,
        /// What became of it.
        record: PhaseRecord,
    },
    /// The survey is done; its report is in [`Client::survey`].
    Done,
    /// It was stopped, and the server knows it or did not answer.
    Stopped,
    /// Nothing more will happen.
    Failed(ClientError),
}

/// Why a measurement failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The server never answered.
    #[error("{0} does not answer: `lasthop apq serve` must run there, and UDP must get through")]
    Silent(SocketAddr),
    /// The server answered before, and no more.
    #[error("{0} no longer answers")]
    Vanished(SocketAddr),
    /// There is no program at that port.
    #[error("nothing listens at {0}: `lasthop apq serve` must run there")]
    Unreachable(SocketAddr),
    /// The server speaks another version.
    #[error("the server speaks version {theirs} of the protocol, this program version {ours}")]
    Version {
        /// The server's.
        theirs: u8,
        /// This program's.
        ours: u8,
    },
    /// The server asks for a key and there is none.
    #[error("the server asks for a key")]
    KeyNeeded,
    /// The server has another key, or none.
    #[error("the server has another key")]
    WrongKey,
    /// The server refuses, and why.
    #[error("the server refuses: {0}")]
    Refused(String),
}

/// Why a client wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Something was not answered.
    Retry,
    /// A packet of a flow is due.
    Departure,
    /// The server must know that we are there.
    Alive,
    /// Packets that are on their way have had time to arrive.
    Drained,
    /// The server has been silent for too long.
    Patience,
}

/// The host that measures.
#[derive(Clone, Debug)]
pub struct Client {
    survey: Survey,
}

impl Client {
    /// One that begins at its first wake-up.
    pub fn new(_config: ClientConfig, survey: Survey, _now: Instant) -> Self {
        Self { survey }
    }

    /// What it found out so far.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Takes a datagram.
    pub fn handle_datagram(&mut self, _now: Instant, _received: Received<'_>) {}

    /// The network says that nothing listens there (ICMP port unreachable).
    pub fn handle_unreachable(&mut self, _now: Instant) {}

    /// The last packet of that flow could not be sent: the host had no room for it.
    pub fn handle_unsent(&mut self, _now: Instant, _kind: StreamKind) {}

    /// Ends the measurement: nothing more is sent but a word to the server.
    pub fn stop(&mut self, _now: Instant) {}

    /// The next datagram that is to leave now.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Transmit> {
        None
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        None
    }
}

impl Machine for Client {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant) {}
}
