//! Reads from `events.parquet` how delays and round-trip times are distributed: of each flow
//! the one-way delays of the packets that arrived and the round trips, after the warm-up. The
//! other columns are not read, and of a long file only parts at equal distances.

use crate::histogram::Histogram;
use crate::read::{TableError, TableReader};
use std::collections::BTreeMap;
use std::path::Path;

/// Most row groups that are read, a million rows: distributions of more do not change, but take
/// as long to read as a third of the run.
const GROUPS_MAX: usize = 16;

/// The distributions of a run's delays, by flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// From entering the network to leaving it.
    pub one_way: BTreeMap<String, Histogram>,
    /// Of echo requests and TCP segments.
    pub round_trips: BTreeMap<String, Histogram>,
    /// Every n-th row group of the file was read: 1 if all of it was.
    pub every: usize,
}

impl Delays {
    /// What the file at `path` has of the time from `from_s` seconds on.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn read(path: &Path, from_s: f64) -> Result<Self, TableError> {
        let table = TableReader::open(path, "events")?;
        let mut delays = Self { every: table.step(GROUPS_MAX), ..Self::default() };
        for group in table.groups(GROUPS_MAX) {
            let group = group?;
            let (at, kind, flow) =
                (group.int64("at_ns")?, group.text("kind")?, group.text("flow")?);
            let (delay, rtt) = (group.int64("delay_ns")?, group.int64("rtt_ns")?);
            for row in 0..at.len() {
                let (Some(at), Some(kind), Some(flow)) = (at[row], &kind[row], &flow[row]) else {
                    continue;
                };
                let (of, nanos) = match kind.data() {
                    b"arrived" => (&mut delays.one_way, delay[row]),
                    b"round_trip" => (&mut delays.round_trips, rtt[row]),
                    _ => continue,
                };
                let Some(nanos) = nanos.and_then(|nanos| u64::try_from(nanos).ok()) else {
                    continue;
                };
                if (at as f64) < from_s * 1e9 {
                    continue;
                }
                let name = std::str::from_utf8(flow.data()).unwrap_or_default();
                match of.get_mut(name) {
                    Some(histogram) => histogram.add(nanos),
                    None => of.entry(name.to_owned()).or_default().add(nanos),
                }
            }
        }
        Ok(delays)
    }
}
