//! Packets that were cut, from the cut until the end of their last part. Each is reported once, and
//! only when no part of it travels, so that a driver's tag stays in use until then. A packet is
//! lost if any part of it is; node and reason are those of the first part lost.

use crate::fragment::{Reassembled, Reassembly};
use alloc::collections::BTreeMap;
use lasthop_packet::{DropReason, FlowId, Fragment, NodeId, Packet};
use lasthop_units::Instant;

/// The end of a packet that was cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// All parts were reassembled at `node`.
    Arrived { node: NodeId, packet: Packet },
    /// The first lost part was lost at `node`.
    Lost { node: NodeId, packet: Packet, reason: DropReason },
}

/// Tag, flow, source and destination, which all parts share.
type Key = (u64, FlowId, NodeId, NodeId);

#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Datagrams {
    travelling: BTreeMap<Key, Datagram>,
    /// The incomplete packets at each destination.
    reassembly: BTreeMap<NodeId, Reassembly>,
    /// Number of packets cut so far.
    cut: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Datagram {
    /// Number that distinguishes it from earlier packets with the same tag.
    id: u64,
    /// Number of parts that travel.
    parts: u32,
    lost: Option<(NodeId, DropReason)>,
    ecn_marked: bool,
}

impl Datagrams {
    /// Records that a packet, or a part of one, was cut into this many parts.
    pub fn cut(&mut self, packet: &Packet, parts: u32) {
        if !packet.fragment.is_whole() {
            self.datagram(packet).parts += parts - 1;
            return;
        }
        self.cut += 1;
        let datagram = Datagram { id: self.cut, parts, lost: None, ecn_marked: false };
        let before = self.travelling.insert(key(packet), datagram);
        debug_assert!(before.is_none(), "the driver uses a tag again that is not free");
    }

    /// Handles a part that arrived at its destination.
    pub fn arrived(&mut self, now: Instant, node: NodeId, part: &Packet) -> Option<End> {
        let datagram = self.datagram(part);
        // The packet is marked if any part is (RFC 3168, section 5.3).
        datagram.ecn_marked |= part.ecn_marked;
        let (id, ecn_marked) = (datagram.id, datagram.ecn_marked);
        let reassembly = self.reassembly.entry(node).or_default();
        match reassembly.handle_part(now, id, part) {
            Reassembled::Complete => {
                self.travelling.remove(&key(part));
                Some(End::Arrived { node, packet: Packet { ecn_marked, ..whole(part) } })
            }
            Reassembled::Kept => self.end_part(node, part, DropReason::Reassembly),
            Reassembled::Refused => self.lost(node, part, DropReason::Reassembly),
        }
    }

    /// Handles a part that was lost at `node`.
    pub fn lost(&mut self, node: NodeId, part: &Packet, reason: DropReason) -> Option<End> {
        self.datagram(part).lost.get_or_insert((node, reason));
        self.end_part(node, part, reason)
    }

    /// Counts a part as ended. If it was the last one, the packet is lost, for `reason`
    /// unless a part was lost for another one before.
    fn end_part(&mut self, node: NodeId, part: &Packet, reason: DropReason) -> Option<End> {
        let datagram = self.datagram(part);
        datagram.parts -= 1;
        if datagram.parts > 0 {
            return None;
        }
        let (node, reason) = datagram.lost.unwrap_or((node, reason));
        self.travelling.remove(&key(part));
        Some(End::Lost { node, packet: whole(part), reason })
    }

    /// Whether no part travels.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.travelling.is_empty()
    }

    fn datagram(&mut self, part: &Packet) -> &mut Datagram {
        self.travelling.get_mut(&key(part)).expect("it was entered when it was cut")
    }
}

fn key(packet: &Packet) -> Key {
    (packet.tag, packet.flow, packet.source, packet.destination)
}

/// The packet from which a part was cut, with the delays and stamps of that part.
fn whole(part: &Packet) -> Packet {
    Packet { bytes: part.fragment.whole_bytes(), fragment: Fragment::WHOLE, ..*part }
}
