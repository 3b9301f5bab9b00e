//! Packets as long queues keep them: without the parts of their delay, which are more than
//! half of a [`Packet`] and of which most that wait at their source have none yet.

use crate::aqm;
use crate::packet::{DelayParts, Fragment, Transport};
use crate::{AccessCategory, FlowId, NodeId, Packet};
use alloc::vec::Vec;
use lasthop_units::Instant;

/// A packet, as it is in [`Packet`], but for the parts of its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bare {
    tag: u64,
    created: Instant,
    arrived: Instant,
    flow_hash: u32,
    /// Where the parts of its delay are, or [`NO_PARTS`].
    parts: u32,
    pub bytes: u16,
    fragment: Fragment,
    flow: FlowId,
    source: NodeId,
    destination: NodeId,
    access_category: AccessCategory,
    transport: Transport,
    /// What it is besides, a bit each: four truth values would take four bytes.
    is: u8,
}

/// In place of an index of [`Parts`].
const NO_PARTS: u32 = u32::MAX;

const ECN_CAPABLE: u8 = 1;
const ECN_MARKED: u8 = 1 << 1;
const PASSIVE: u8 = 1 << 2;
const NOTIFY: u8 = 1 << 3;

/// The parts of the delays of packets that have some.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parts {
    kept: Vec<DelayParts>,
    /// Indices of `kept` that are nobody's.
    free: Vec<u32>,
}

impl Bare {
    /// A packet, the parts of whose delay, if it has any, go to `all`.
    #[inline]
    pub fn new(packet: &Packet, all: &mut Parts) -> Self {
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
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        Self {
            tag,
            created,
            arrived,
            flow_hash,
            parts: if parts == DelayParts::default() { NO_PARTS } else { all.keep(parts) },
            bytes,
            fragment,
            flow,
            source,
            destination,
            access_category,
            transport,
            is: bit(ecn_capable, ECN_CAPABLE)
                | bit(ecn_marked, ECN_MARKED)
                | bit(passive, PASSIVE)
                | bit(notify, NOTIFY),
        }
    }

    /// The packet, with the parts of its delay, which leave `all`.
    #[inline]
    pub fn into_packet(self, all: &mut Parts) -> Packet {
        let is = |bit: u8| self.is & bit != 0;
        Packet {
            tag: self.tag,
            bytes: self.bytes,
            fragment: self.fragment,
            flow: self.flow,
            flow_hash: self.flow_hash,
            source: self.source,
            destination: self.destination,
            access_category: self.access_category,
            ecn_capable: is(ECN_CAPABLE),
            ecn_marked: is(ECN_MARKED),
            transport: self.transport,
            passive: is(PASSIVE),
            notify: is(NOTIFY),
            created: self.created,
            arrived: self.arrived,
            parts: match self.parts {
                NO_PARTS => DelayParts::default(),
                place => all.take(place),
            },
        }
    }
}

impl aqm::Packet for Bare {
    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn len_bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    fn mark(&mut self) -> bool {
        let is_capable = self.is & ECN_CAPABLE != 0;
        if is_capable {
            self.is |= ECN_MARKED;
        }
        is_capable
    }
}

impl Parts {
    /// No packet has any.
    pub const fn new() -> Self {
        Self { kept: Vec::new(), free: Vec::new() }
    }

    fn keep(&mut self, parts: DelayParts) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.kept[place as usize] = parts;
                place
            }
            None => {
                self.kept.push(parts);
                (self.kept.len() - 1) as u32
            }
        }
    }

    fn take(&mut self, place: u32) -> DelayParts {
        let parts = core::mem::take(&mut self.kept[place as usize]);
        self.free.push(place);
        if self.free.len() == self.kept.len() {
            // It is as it was before: nothing tells what was here.
            self.kept.clear();
            self.free.clear();
        }
        parts
    }
}
