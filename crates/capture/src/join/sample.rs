//! Packets that two captures have in common, without keeping all packets: each capture keeps the
//! packets with the smallest digests. A digest depends only on the packet, so both likely keep the
//! same ones (bottom-k sketches, Cohen and Kaplan 2007). Captures with up to [`SAMPLES_MAX`]
//! packets keep all of them.

use crate::sighting::Sighting;
use crate::transport::{FLOWS_MAX, FlowKey};
use std::collections::BTreeMap;

/// Largest number of packets kept for a capture.
pub(super) const SAMPLES_MAX: usize = 1 << 17;

/// Longest time between equal packets on a wire that are one packet captured twice (interface
/// `any`, a bridge, a mirror port), in ns.
pub(super) const COPIES_NS: u64 = 1_000_000;

/// Latest time that is accepted, in ns since 1970: the year 2116. Differences of such times do not
/// overflow.
const TIME_NS_MAX: u64 = 1 << 62;

/// Kept packets of a capture.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Packets by digest and flow.
    kept: BTreeMap<(u64, u32), Sample>,
    index: BTreeMap<FlowKey, u32>,
    pub flows: Vec<FlowKey>,
    /// Number of packets of IP.
    pub packets: u64,
    /// Number of packets of IP on the air.
    pub packets_air: u64,
    /// Times of the first and the last packet, in ns since 1970.
    pub times: Option<(u64, u64)>,
}

/// A kept packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub begin_ns: u64,
    pub end_ns: u64,
    /// Whether the end of its last hop is exact.
    pub exact: bool,
    /// End of its transmission on the last hop, or earlier. An access point relays packets between
    /// its stations.
    last_sent_ns: u64,
    pub back: bool,
    pub hops_left: u8,
    pub id: u16,
    /// Whether its first transmission is unknown: it was captured more than once, or only as a
    /// retransmission.
    unclear: bool,
    /// Sender, receiver, TID and number of its MPDU.
    mpdu: Option<(u32, u32, u8, u16)>,
}

impl Sample {
    /// Returns the end of its transmission, or an earlier time.
    pub const fn sent_ns(&self) -> i64 {
        self.last_sent_ns as i64
    }

    /// Returns the start of its reception, or a later time.
    pub const fn came_ns(&self) -> i64 {
        self.begin_ns as i64
    }
}

/// The same packet at two places.
#[derive(Clone, Copy, Debug)]
pub(super) struct SamplePair {
    pub samples: [Sample; 2],
    pub flows: [u32; 2],
    /// Whether addresses and ports are the same.
    pub same_flow: bool,
}

impl Samples {
    pub fn handle(&mut self, sighting: &Sighting) {
        // No real clock shows a later time.
        if sighting.end_ns > TIME_NS_MAX {
            return;
        }
        self.packets += 1;
        self.packets_air += u64::from(sighting.air.is_some());
        let (first, last) = self.times.unwrap_or((sighting.begin_ns, sighting.end_ns));
        self.times = Some((first.min(sighting.begin_ns), last.max(sighting.end_ns)));
        let header = &sighting.header;
        let Some(flow) = self.flow(header.flow) else { return };
        let key = (header.digest, flow);
        if self.kept.len() >= SAMPLES_MAX
            && self.kept.last_key_value().is_some_and(|(last, _)| *last < key)
        {
            return;
        }
        let mpdu = sighting.air.map(|air| (air.from, air.to, air.tid, air.sequence));
        let retry = sighting.air.is_some_and(|air| air.retry);
        let sent_ns = if sighting.exact { sighting.end_ns } else { sighting.begin_ns };
        if let Some(known) = self.kept.get_mut(&key) {
            if let (Some((_, to, ..)), Some((from, ..)), false) = (known.mpdu, mpdu, retry)
                && to == from
            {
                (known.mpdu, known.last_sent_ns, known.exact) = (mpdu, sent_ns, sighting.exact);
                return;
            }
            let same_mpdu = retry && known.mpdu == mpdu;
            let is_copy = mpdu.is_none()
                && known.id == header.id
                && sighting.begin_ns.abs_diff(known.begin_ns) < COPIES_NS;
            known.unclear |= !(same_mpdu || is_copy);
            return;
        }
        let sample = Sample {
            begin_ns: sighting.begin_ns,
            end_ns: sighting.end_ns,
            exact: sighting.exact,
            last_sent_ns: sent_ns,
            back: header.back,
            hops_left: header.hops_left,
            id: header.id,
            unclear: retry,
            mpdu,
        };
        self.kept.insert(key, sample);
        if self.kept.len() > SAMPLES_MAX {
            self.kept.pop_last();
        }
    }

    /// Returns the packets that both captures have, in the order of their digests.
    pub fn pairs(&self, other: &Self) -> Vec<SamplePair> {
        let mut pairs = Vec::new();
        let mut kept = self.kept.iter().peekable();
        while let Some((&(digest, flow), sample)) = kept.next() {
            let alone = kept.peek().is_none_or(|((next, _), _)| *next != digest)
                && pairs.last().is_none_or(|(last, _): &(u64, SamplePair)| *last != digest);
            let same = other.kept.range((digest, 0)..=(digest, u32::MAX));
            let key = self.flows[flow as usize];
            let there: Vec<_> = same.collect();
            let equal = there.iter().find(|((_, flow), _)| other.flows[*flow as usize] == key);
            let found = match (equal, &there[..]) {
                (Some(found), _) => Some((*found, true)),
                (None, [found]) if alone => Some((*found, false)),
                _ => None,
            };
            if let Some(((&(_, to), there), same_flow)) = found
                && !sample.unclear
                && !there.unclear
                && sample.end_ns > 0
                && there.end_ns > 0
            {
                let pair = SamplePair { samples: [*sample, *there], flows: [flow, to], same_flow };
                pairs.push((digest, pair));
            }
        }
        pairs.into_iter().map(|(_, pair)| pair).collect()
    }

    fn flow(&mut self, key: FlowKey) -> Option<u32> {
        if let Some(flow) = self.index.get(&key) {
            return Some(*flow);
        }
        if self.flows.len() >= FLOWS_MAX {
            return None;
        }
        let flow = self.flows.len() as u32;
        self.flows.push(key);
        self.index.insert(key, flow);
        Some(flow)
    }
}
