//! A flow of datagrams: a source that sends, and pings that are answered.

use lasthop_net::{NodeId, Source};
use lasthop_units::Instant;
use lasthop_wifi::{AccessCategory, FlowId, Packet};
use std::collections::BTreeMap;

/// A flow.
pub(crate) struct Datagrams {
    pub id: FlowId,
    pub from: NodeId,
    pub to: NodeId,
    /// Of its packets, for flow queueing.
    pub hash: u32,
    pub access_category: AccessCategory,
    pub source: Source,
    pub next_tag: u64,
    /// Pings under way by tag; none for other kinds.
    pub requests: Option<BTreeMap<u64, Instant>>,
}

impl Datagrams {
    /// The next packet of the source.
    pub fn packet(&mut self, bytes: u16, now: Instant) -> Packet {
        let tag = self.next_tag;
        self.next_tag += 1;
        let packet = self.packet_with(tag, bytes, now);
        if let Some(requests) = &mut self.requests {
            requests.insert(tag, now);
        }
        packet
    }

    /// The answer to a request that arrived at its destination.
    pub fn answer(&self, request: &Packet, now: Instant) -> Option<Packet> {
        let is_request = self.requests.is_some() && request.destination == self.to.0;
        is_request.then(|| Packet {
            source: self.to.0,
            destination: self.from.0,
            ..self.packet_with(request.tag, request.bytes, now)
        })
    }

    fn packet_with(&self, tag: u64, bytes: u16, now: Instant) -> Packet {
        Packet {
            flow: self.id,
            flow_hash: self.hash,
            source: self.from.0,
            destination: self.to.0,
            access_category: self.access_category,
            ..Packet::new(tag, bytes, now)
        }
    }
}
