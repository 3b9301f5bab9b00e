//! A node of any role: IP packets on one side, datagrams on the other.

use crate::config::{Config, ConfigError, Key};
use crate::stats::Stats;
use crate::wire::NodeId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_units::{Instant, Machine, Stream};

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The neighbour it is for.
    pub to: NodeId,
    /// The datagram.
    pub datagram: Vec<u8>,
}

/// What a driver or a user wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session began.
    Connected {
        /// With this end.
        peer: NodeId,
    },
    /// The other end is silent or began anew: packets under way may be lost.
    Disconnected {
        /// Which end.
        peer: NodeId,
    },
    /// Datagrams come that our key does not open (told at most once a second).
    KeyMismatch {
        /// Who says to be their sender.
        sender: NodeId,
    },
    /// The other end codes in another way (told at most once a second).
    CodeMismatch {
        /// Which end.
        peer: NodeId,
    },
}

/// Why a node wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The next datagram may leave.
    Pace,
    /// An acknowledgement is due.
    Acknowledge,
    /// An acknowledgement did not come.
    EncoderTimeout,
    /// A session is to be begun or kept.
    Hello,
    /// Something is too old.
    Expiry,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    config: Config,
    stream: Stream,
    stats: Stats,
    events: VecDeque<Event>,
}

/// The key for nodes that code anew but must not read.
pub fn hop_key(shared: &Key) -> Key {
    *shared
}

impl Node {
    /// A node that begins at `now`. Nonces and coefficients are drawn from `stream`,
    /// which must never be the same twice on real networks.
    ///
    /// # Errors
    /// If the configuration is unsound.
    pub fn new(config: Config, stream: Stream, _now: Instant) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config, stream, stats: Stats::default(), events: VecDeque::new() })
    }

    /// Takes an IP packet from the tunnel. It may be dropped at once or later, if more
    /// comes than the link carries.
    pub fn handle_packet(&mut self, _now: Instant, _packet: &[u8]) {}

    /// Takes a datagram, wherever it came from and whomever it is for. Returns the
    /// neighbour that sent it if that is proven: its address may have changed.
    pub fn handle_datagram(&mut self, _now: Instant, _datagram: &[u8]) -> Option<NodeId> {
        None
    }

    /// The next datagram that may be sent now. A driver whose interface is full asks
    /// again when it is not.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Transmit> {
        None
    }

    /// The next IP packet for the tunnel.
    pub fn poll_packet(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What was counted until `now`.
    pub fn stats(&self, _now: Instant) -> Stats {
        self.stats.clone()
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Says good-bye to the other end, so that it does not wait.
    pub fn close(&mut self, _now: Instant) {}
}

impl Machine for Node {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant) {}
}
