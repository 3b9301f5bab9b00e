//! Reads distributions of delays and round-trip times from `events.parquet`: for each flow, the
//! one-way delays of the packets that arrived and the round trips, after the warm-up. Reads no
//! other columns, and of a long file only row groups at equal distances.

use crate::histogram::Histogram;
use crate::read::{TableError, TableReader};
use parquet::data_type::ByteArray;
use std::collections::BTreeMap;
use std::path::Path;

/// Largest number of row groups to read, a million rows: reading all rows of a long run would need
/// a third of the run's time.
const GROUPS_MAX: usize = 16;

/// Distributions of a run's delays, by flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Delays from entering the network to leaving it, from the sender to the receiver.
    pub one_way: BTreeMap<String, Histogram>,
    /// Round-trip times of echo requests and TCP segments.
    pub round_trips: BTreeMap<String, Histogram>,
    /// Step between the row groups read; 1 if the whole file was read.
    pub every: usize,
}

/// Packets of a flow that arrived at a node.
struct Arrived {
    node: ByteArray,
    delays: Histogram,
    bytes: u64,
}

/// State of a flow while the file is read.
#[derive(Default)]
struct Flow {
    /// Destination of the flow's first packet.
    receiver: Option<ByteArray>,
    /// Packets in both directions: acknowledgements and answers belong to the flow, too.
    arrived: Vec<Arrived>,
    round_trips: Histogram,
}

impl Flow {
    fn arrived(&mut self, node: &ByteArray, nanos: u64, bytes: u64) {
        let known = self.arrived.iter_mut().find(|known| known.node == *node);
        if let Some(known) = known {
            known.delays.add(nanos);
            known.bytes += bytes;
            return;
        }
        let mut delays = Histogram::default();
        delays.add(nanos);
        self.arrived.push(Arrived { node: node.clone(), delays, bytes });
    }

    /// Returns the delays from the sender to the receiver, which is the destination of the first
    /// packet or, if that was not read, the node where most bytes arrived.
    fn one_way(self, is_whole: bool) -> Option<Histogram> {
        let receiver = self.receiver.as_ref();
        let is_it = |it: &Arrived| receiver == Some(&it.node);
        let (first, rest): (Vec<_>, Vec<_>) = self.arrived.into_iter().partition(is_it);
        let all = first.into_iter().chain(rest);
        let chosen = if is_whole {
            all.into_iter().find(|it| receiver == Some(&it.node))
        } else {
            all.reduce(|a, b| if b.bytes > a.bytes { b } else { a })
        };
        chosen.map(|it| it.delays)
    }
}

impl Delays {
    /// Reads the distributions in the file at `path`, for the time from `from_s` seconds on.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn read(path: &Path, from_s: f64) -> Result<Self, TableError> {
        let table = TableReader::open(path, "events")?;
        let every = table.step(GROUPS_MAX);
        let mut flows: BTreeMap<String, Flow> = BTreeMap::new();
        for group in table.groups(GROUPS_MAX) {
            let (at, kind, flow) =
                (group.int64("at_ns")?, group.text("kind")?, group.text("flow")?);
            let (node, peer, bytes) =
                (group.text("node")?, group.text("peer")?, group.int32("bytes")?);
            let (delay, rtt) = (group.int64("delay_ns")?, group.int64("rtt_ns")?);
            for row in 0..at.len() {
                let (Some(at), Some(kind), Some(flow)) = (at[row], &kind[row], &flow[row]) else {
                    continue;
                };
                let kind = kind.data();
                if ![&b"sent"[..], b"arrived", b"round_trip"].contains(&kind) {
                    continue;
                }
                let name = std::str::from_utf8(flow.data()).unwrap_or_default();
                if !flows.contains_key(name) {
                    flows.insert(name.to_owned(), Flow::default());
                }
                let Some(flow) = flows.get_mut(name) else { continue };
                if kind == b"sent" {
                    flow.receiver = flow.receiver.take().or_else(|| peer[row].clone());
                    continue;
                }
                let nanos = if kind == b"arrived" { delay[row] } else { rtt[row] };
                let Some(nanos) = nanos.and_then(|nanos| u64::try_from(nanos).ok()) else {
                    continue;
                };
                if (at as f64) < from_s * 1e9 {
                    continue;
                }
                if kind == b"round_trip" {
                    flow.round_trips.add(nanos);
                } else if let Some(node) = &node[row] {
                    let bytes = bytes[row].and_then(|it| u64::try_from(it).ok());
                    flow.arrived(node, nanos, bytes.unwrap_or(0));
                }
            }
        }
        let mut delays = Self { every, ..Self::default() };
        for (name, flow) in flows {
            if flow.round_trips.count() > 0 {
                delays.round_trips.insert(name.clone(), flow.round_trips.clone());
            }
            if let Some(one_way) = flow.one_way(every == 1) {
                delays.one_way.insert(name, one_way);
            }
        }
        Ok(delays)
    }
}
