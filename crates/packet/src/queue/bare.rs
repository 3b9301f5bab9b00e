//! A packet as a long queue keeps it: without the parts of its delay, which are more than
//! half of a [`Packet`] and of which most that wait at their source have none yet.

use crate::packet::{DelayParts, Fragment, Transport};
use crate::{AccessCategory, FlowId, NodeId, Packet};
use lasthop_units::Instant;

/// A packet without the parts of its delay: what is in [`Packet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bare {
    tag: u64,
    created: Instant,
    arrived: Instant,
    flow_hash: u32,
    pub bytes: u16,
    fragment: Fragment,
    flow: FlowId,
    source: NodeId,
    destination: NodeId,
    access_category: AccessCategory,
    transport: Transport,
    ecn_capable: bool,
    ecn_marked: bool,
    passive: bool,
    notify: bool,
    /// Its delay has parts, which are kept elsewhere.
    pub has_parts: bool,
}

impl Bare {
    /// A packet, and the parts of its delay if it has any.
    #[inline]
    pub fn of(packet: &Packet) -> (Self, Option<DelayParts>) {
        // Whatever a packet is given one day has to be named here.
        let &Packet {
            tag,
            bytes,
            fragment,
            flow,
            flow_hash,
            source,
            destination,
            access_category,
            ecn_capable,
            ecn_marked,
            transport,
            passive,
            notify,
            created,
            arrived,
            parts,
        } = packet;
        let has_parts = parts != DelayParts::default();
        let bare = Self {
            tag,
            created,
            arrived,
            flow_hash,
            bytes,
            fragment,
            flow,
            source,
            destination,
            access_category,
            transport,
            ecn_capable,
            ecn_marked,
            passive,
            notify,
            has_parts,
        };
        (bare, has_parts.then_some(parts))
    }

    /// The packet, given the parts of its delay.
    #[inline]
    pub fn with(&self, parts: DelayParts) -> Packet {
        Packet {
            tag: self.tag,
            bytes: self.bytes,
            fragment: self.fragment,
            flow: self.flow,
            flow_hash: self.flow_hash,
            source: self.source,
            destination: self.destination,
            access_category: self.access_category,
            ecn_capable: self.ecn_capable,
            ecn_marked: self.ecn_marked,
            transport: self.transport,
            passive: self.passive,
            notify: self.notify,
            created: self.created,
            arrived: self.arrived,
            parts,
        }
    }
}
