//! The TCP headers of the model's segments, for captures: a packet has only a tag. A station may
//! retransmit an MPDU that the receiver already has, so the end of a packet does not mean that its
//! header is no longer needed. The latest headers of each flow are kept, both directions together,
//! so memory does not depend on the duration of the run. A Block Ack window and a TCP window hold
//! far fewer.

use lasthop_packet::ip::checksum;
use lasthop_packet::{FlowId, Packet};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

/// Number of headers kept for a flow.
const KEPT: usize = 1 << 16;
/// Length in bytes of the longest TCP header.
const HEADER_BYTES_MAX: usize = 60;
/// Number of headers after the last one found that are tried before a search.
const NEAR: usize = 4;

/// Headers of the latest segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segments {
    flows: BTreeMap<FlowId, Latest>,
}

/// The latest headers of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Latest {
    /// Those whose tag was the highest so far: the first one is the oldest.
    kept: VecDeque<TcpHeader>,
    /// The others, by tag: of a flow with several connections, only one has the highest tags.
    others: BTreeMap<u64, TcpHeader>,
    /// Place after the last header found: packets are mostly read in the order of their tags.
    next: Cell<usize>,
}

/// The header of a segment, with checksum 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpHeader {
    tag: u64,
    /// Sum of its words ([`checksum::sum`]).
    sum: u16,
    length: u8,
    bytes: [u8; HEADER_BYTES_MAX],
}

impl TcpHeader {
    /// Returns the header of the packet with this tag; it has 60 bytes at most.
    pub(crate) fn new(tag: u64, header: &[u8]) -> Self {
        let mut bytes = [0; HEADER_BYTES_MAX];
        bytes[..header.len()].copy_from_slice(header);
        let sum = checksum::fold(checksum::sum(header));
        Self { tag, sum, length: header.len() as u8, bytes }
    }

    /// The header as bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length).min(HEADER_BYTES_MAX)]
    }

    /// Sum of its words.
    pub(crate) fn sum(&self) -> u64 {
        self.sum.into()
    }
}

impl Segments {
    /// Keeps the header of a packet of `flow`.
    pub(crate) fn put(&mut self, flow: FlowId, header: TcpHeader) {
        let Latest { kept, others, next } = self.flows.entry(flow).or_default();
        if kept.back().is_some_and(|last| last.tag >= header.tag) {
            others.insert(header.tag, header);
            if others.len() > KEPT {
                others.pop_first();
            }
            return;
        }
        kept.push_back(header);
        if kept.len() > KEPT {
            kept.pop_front();
            next.set(next.get().saturating_sub(1));
        }
    }

    /// Returns the TCP header of `packet`, or of the packet of which it is a fragment; `None` if it
    /// is no segment of the model, or too old.
    pub(crate) fn get(&self, packet: &Packet) -> Option<&TcpHeader> {
        let Latest { kept, others, next } = self.flows.get(&packet.flow)?;
        if let Some(header) = others.get(&packet.tag) {
            return Some(header);
        }
        let is_it = |at: &usize| kept.get(*at).is_some_and(|header| header.tag == packet.tag);
        let last = kept.len().checked_sub(1)?;
        if is_it(&last) {
            return kept.get(last);
        }
        let near = next.get();
        let at = (near..near + NEAR).find(is_it);
        let at = at.or_else(|| kept.binary_search_by_key(&packet.tag, |header| header.tag).ok())?;
        next.set(at + 1);
        kept.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Instant;

    #[test]
    fn the_latest_are_kept() {
        let packet =
            |flow, tag| Packet { flow: FlowId(flow), ..Packet::new(tag, 60, Instant::ZERO) };
        let mut segments = Segments::default();
        segments.put(FlowId(1), TcpHeader::new(7 << 32, &[1]));
        for count in 0..=KEPT as u64 {
            segments.put(FlowId(0), TcpHeader::new(count << 32, &[count as u8; 20]));
        }
        let found = |flow, tag| segments.get(&packet(flow, tag)).map(|header| header.as_bytes());
        assert_eq!(found(0, 0), None);
        assert_eq!(found(0, 1 << 32), Some(&[1; 20][..]));
        assert_eq!(found(0, (KEPT as u64) << 32), Some(&[0; 20][..]));
        assert_eq!(found(1, 7 << 32), Some(&[1][..]));
        assert_eq!(found(1, 0), None);
        assert_eq!(found(2, 7 << 32), None);
        // In any order, and with gaps.
        for count in [9, 10, 12, 17, 3, 2, 60_000, 1, 5] {
            assert_eq!(found(0, count << 32), Some(&[count as u8; 20][..]), "{count}");
            assert_eq!(found(0, (count << 32) + 1), None);
        }
    }

    /// Two connections of one flow send in turns, and one sends the same packet again.
    #[test]
    fn tags_need_not_increase() {
        let packet = |tag| Packet { flow: FlowId(0), ..Packet::new(tag, 60, Instant::ZERO) };
        let mut segments = Segments::default();
        let tag = |connection: u64, count: u64| (connection << 48) | (count << 32);
        for count in 0..100 {
            for connection in [1, 0] {
                let header = [connection as u8, count as u8];
                segments.put(FlowId(0), TcpHeader::new(tag(connection, count), &header));
            }
        }
        segments.put(FlowId(0), TcpHeader::new(tag(1, 50), &[7]));
        for (connection, count) in (0..2).flat_map(|one| (0..100).map(move |count| (one, count))) {
            let found = segments.get(&packet(tag(connection, count))).map(TcpHeader::as_bytes);
            let sent = [connection as u8, count as u8];
            let sent = if (connection, count) == (1, 50) { &[7][..] } else { &sent[..] };
            assert_eq!(found, Some(sent), "{connection} {count}");
        }
    }
}
