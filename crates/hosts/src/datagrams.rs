//! A flow of datagrams: a source that sends, and pings that are answered. Lengths are
//! in bytes of network-layer packets. Datagrams that arrive are not acknowledged, and
//! lost ones not repeated.

use crate::Source;
use crate::saturation::Saturation;
use alloc::collections::BTreeMap;
use lasthop_packet::{AccessCategory, FlowId, NodeId, Packet};
use lasthop_units::Instant;

/// A flow of datagrams.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Datagrams {
    pub id: FlowId,
    pub from: NodeId,
    pub to: NodeId,
    /// Flow hash of its packets.
    pub hash: u32,
    pub access_category: AccessCategory,
    pub source: Source,
    pub next_tag: u64,
    /// Number of packets that the source keeps, for a saturated flow.
    pub saturation: Option<Saturation>,
    /// Instant at which each ping in flight was sent, by tag; `None` for other kinds.
    pub requests: Option<BTreeMap<u64, Instant>>,
}

impl Datagrams {
    /// Makes the next packet of the source.
    pub fn packet(&mut self, bytes: u16, now: Instant) -> Packet {
        let tag = self.next_tag;
        self.next_tag += 1;
        let packet = self.packet_with(tag, bytes, now);
        if let Some(requests) = &mut self.requests {
            requests.insert(tag, now);
        }
        packet
    }

    /// Makes the answer to a request that arrived at its destination; `None` if the
    /// packet is no request.
    pub fn answer(&self, request: &Packet, now: Instant) -> Option<Packet> {
        let is_request = self.requests.is_some() && request.destination == self.to;
        is_request.then(|| Packet {
            source: self.to,
            destination: self.from,
            notify: false,
            ..self.packet_with(request.tag, request.bytes, now)
        })
    }

    /// Makes a packet from the start of the flow to its end.
    pub fn packet_with(&self, tag: u64, bytes: u16, now: Instant) -> Packet {
        Packet {
            flow: self.id,
            flow_hash: self.hash,
            source: self.from,
            destination: self.to,
            access_category: self.access_category,
            passive: self.requests.is_none(),
            notify: self.saturation.as_ref().is_some_and(|saturation| !saturation.is_diverted),
            ..Packet::new(tag, bytes, now)
        }
    }
}
