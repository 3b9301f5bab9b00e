//! The TCP headers of the model's segments, for captures: a packet has only a tag. A station may
//! retransmit an MPDU that the receiver already has, so the end of a packet does not mean that its
//! header is no longer needed. The latest headers of each flow are kept, both directions together,
//! so memory does not depend on the duration of the run. A Block Ack window and a TCP window hold
//! far fewer.

use lasthop_packet::{FlowId, Packet};
use std::collections::BTreeMap;

/// Number of headers kept for a flow.
const KEPT: usize = 1 << 16;

/// Headers of the latest segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segments {
    /// Headers by flow, then by tag. Tags increase, so the first one is the oldest.
    flows: BTreeMap<FlowId, BTreeMap<u64, Box<[u8]>>>,
}

impl Segments {
    /// Keeps the header of the packet of `flow` with this tag.
    pub(crate) fn put(&mut self, flow: FlowId, tag: u64, header: Vec<u8>) {
        let flow = self.flows.entry(flow).or_default();
        flow.insert(tag, header.into_boxed_slice());
        if flow.len() > KEPT {
            flow.pop_first();
        }
    }

    /// Returns the TCP header of `packet`, or of the packet of which it is a fragment; `None` if it
    /// is no segment of the model, or too old.
    pub(crate) fn get(&self, packet: &Packet) -> Option<&[u8]> {
        self.flows.get(&packet.flow)?.get(&packet.tag).map(|header| &**header)
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
        segments.put(FlowId(1), 7 << 32, vec![1]);
        for count in 0..=KEPT as u64 {
            segments.put(FlowId(0), count << 32, vec![count as u8; 20]);
        }
        assert_eq!(segments.get(&packet(0, 0)), None);
        assert_eq!(segments.get(&packet(0, 1 << 32)), Some(&[1; 20][..]));
        assert_eq!(segments.get(&packet(0, (KEPT as u64) << 32)), Some(&[0; 20][..]));
        assert_eq!(segments.get(&packet(1, 7 << 32)), Some(&[1][..]));
        assert_eq!(segments.get(&packet(1, 0)), None);
        assert_eq!(segments.get(&packet(2, 7 << 32)), None);
    }
}
