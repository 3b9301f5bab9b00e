//! A plain forwarder: passes on what is authentic, as it is.

use super::sessions::Sessions;
use super::{Shared, Transmit};
use crate::stats::Stats;
use crate::wire::{Header, Hello, NodeId};
use lasthop_units::Instant;

/// Datagrams that wait for the interface at most; more are dropped.
const QUEUE_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Forwarder {
    between: [NodeId; 2],
    sessions: Sessions,
}

impl Forwarder {
    pub fn new(between: [NodeId; 2]) -> Self {
        Self { between, sessions: Sessions::default() }
    }

    pub fn handle_hello(
        &mut self,
        shared: &mut Shared,
        header: &Header,
        hello: &Hello,
        datagram: &[u8],
    ) -> bool {
        self.sessions.hear(&shared.secrets, hello);
        self.pass(shared, header, datagram)
    }

    pub fn handle_datagram(
        &mut self,
        shared: &mut Shared,
        _now: Instant,
        header: &Header,
        datagram: &[u8],
    ) -> bool {
        if self.sessions.find(header.session, datagram).is_none() {
            shared.stats.unauthentic += 1;
            return false;
        }
        self.pass(shared, header, datagram)
    }

    fn pass(&self, shared: &mut Shared, header: &Header, datagram: &[u8]) -> bool {
        let passes = self.between.contains(&header.to)
            && self.between.contains(&header.sender)
            && header.to != header.sender;
        if passes && shared.urgent.len() < QUEUE_MAX {
            shared.stats.datagram_bytes_sent += datagram.len() as u64;
            shared.urgent.push_back(Transmit { to: header.to, datagram: datagram.to_vec() });
        }
        passes
    }

    pub fn fill(&self, stats: &mut Stats) {
        stats.connected = !self.sessions.is_empty();
    }
}
