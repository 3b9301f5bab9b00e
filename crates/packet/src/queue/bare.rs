//! Packets in the compact form of long queues: without the parts of their delay, which are more
//! than half of a [`Packet`] and which most packets at their source do not have yet.

use crate::aqm;
use crate::packet::{DelayParts, Fragment, Transport};
use crate::{AccessCategory, FlowId, NodeId, Packet};
use alloc::vec::Vec;
use lasthop_units::Instant;

/// A packet without the parts of its delay, its fields and their order as in [`Packet`]; or a run
/// of packets that differ only by their tags, which count up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bare {
    tag: u64,
    pub bytes: u16,
    fragment: Fragment,
    flow: FlowId,
    flow_hash: u32,
    source: NodeId,
    destination: NodeId,
    access_category: AccessCategory,
    ecn_capable: bool,
    ecn_l4s: bool,
    ecn_marked: bool,
    transport: Transport,
    passive: bool,
    notify: bool,
    follows: bool,
    created: Instant,
    arrived: Instant,
    /// Index of the parts of its delay, or [`NO_PARTS`].
    parts: u32,
    /// Number of packets of the run; this is the first.
    pub count: u32,
}

/// Marks a packet without an index of [`Parts`].
const NO_PARTS: u32 = u32::MAX;

/// The parts of the delays of packets that have any.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parts {
    kept: Vec<DelayParts>,
    /// Unused indices of `kept`.
    free: Vec<u32>,
}

impl Bare {
    /// Returns the compact form of a packet that arrived at `arrived`; the parts of its delay, if
    /// it has any, are stored in `all`.
    #[inline]
    pub fn new(packet: &Packet, arrived: Instant, all: &mut Parts) -> Self {
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
            ecn_l4s,
            ecn_marked,
            transport,
            passive,
            notify,
            follows,
            created,
            arrived: _,
            parts,
        } = packet;
        // A sum takes one comparison instead of one for each part.
        let has_parts = !parts.total().is_zero();
        Self {
            tag,
            bytes,
            fragment,
            flow,
            flow_hash,
            source,
            destination,
            access_category,
            ecn_capable,
            ecn_l4s,
            ecn_marked,
            transport,
            passive,
            notify,
            follows,
            created,
            arrived,
            parts: if has_parts { all.keep(parts) } else { NO_PARTS },
            count: 1,
        }
    }

    /// Whether it may stand for several packets: the parts of a delay belong to one.
    #[inline]
    pub fn may_be_several(&self) -> bool {
        self.parts == NO_PARTS
    }

    /// Returns a single packet of the run, that at index `place`.
    pub fn nth(&self, place: u32) -> Self {
        Self { tag: self.tag + u64::from(place), count: 1, ..*self }
    }

    /// Removes the first `count` packets of the run, which has more.
    #[inline]
    pub fn pass(&mut self, count: u32) {
        self.tag += u64::from(count);
        self.count -= count;
    }

    /// Returns the first packet, with the parts of its delay, which leave `all`.
    #[inline]
    pub fn into_packet(self, all: &mut Parts) -> Packet {
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
            ecn_l4s: self.ecn_l4s,
            ecn_marked: self.ecn_marked,
            transport: self.transport,
            passive: self.passive,
            notify: self.notify,
            follows: self.follows,
            created: self.created,
            arrived: self.arrived,
            parts: match self.parts {
                NO_PARTS => DelayParts::default(),
                place => all.take(place),
            },
        }
    }
}

impl aqm::Queueable for Bare {
    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn len_bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    fn mark(&mut self) -> bool {
        self.ecn_marked |= self.ecn_capable;
        self.ecn_capable
    }

    #[inline]
    fn count(&self) -> usize {
        self.count as usize
    }

    #[inline]
    fn split_first(&mut self) -> Option<Self> {
        if self.count == 1 {
            return None;
        }
        let first = self.nth(0);
        self.pass(1);
        Some(first)
    }
}

impl Parts {
    /// Returns an empty store.
    pub const fn new() -> Self {
        Self { kept: Vec::new(), free: Vec::new() }
    }

    #[inline]
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

    #[inline]
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
