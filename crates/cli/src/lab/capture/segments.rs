//! The joined segments of several captures: rows of `segments.parquet` and, for the page, the parts
//! of their delay by second.

use crate::failure::Failure;
use lasthop_capture::join::{Join, SegmentWay};
use lasthop_report::capture::{BySecond, SegmentSeconds};
use lasthop_trace::{OutputDir, OutputError, SegmentRow, SegmentWriter};
use std::collections::BTreeMap;

/// Largest number of flows' directions with seconds: those with the most segments.
const DIRECTIONS_MAX: usize = 64;
/// Receiver of the joined segments.
pub struct Segments {
    writer: SegmentWriter,
    /// Names of both directions, by flow.
    names: BTreeMap<usize, [String; 2]>,
    directions: BTreeMap<(usize, bool), (u64, SegmentSeconds)>,
    begin_ns: i64,
    failed: Option<OutputError>,
}

impl Segments {
    /// Makes the receiver for files that are about to be read together. Seconds count from
    /// `begin_ns` by the reference clock.
    ///
    /// # Errors
    /// An error if no file can be made in `directory`.
    pub fn new(directory: &mut OutputDir, join: &Join, begin_ns: i64) -> Result<Self, Failure> {
        let names = join.flows().map(|(index, key, _)| {
            let [a, b] = key.ends.map(|end| end.to_string());
            (index, [format!("tcp {a}->{b}"), format!("tcp {b}->{a}")])
        });
        Ok(Self {
            names: names.collect(),
            writer: SegmentWriter::new(directory).map_err(Failure::message)?,
            directions: BTreeMap::new(),
            begin_ns,
            failed: None,
        })
    }

    /// Adds a segment. [`finish`](Self::finish) returns an error of writing.
    pub fn handle(&mut self, way: &SegmentWay) {
        self.count(way);
        let Some(names) = self.names.get(&way.flow).filter(|_| self.failed.is_none()) else {
            return;
        };
        let written = self.writer.segment(&SegmentRow {
            flow: &names[usize::from(way.back)],
            sequence: way.sequence,
            payload_bytes: way.payload_bytes,
            retransmission: way.retransmission,
            left: way.left_ns.zip(way.left_frame),
            gateway_ns: way.gateway_ns,
            air_begin_ns: way.air_begin_ns,
            air_end_ns: way.air_end_ns,
            air_frames: way.air_frames,
            attempts: way.attempts,
            first_attempt_missed: way.first_attempt_missed,
            hops: way.hops,
            air_acknowledged_ns: way.air_acknowledged_ns,
            arrived: way.arrived_ns.zip(way.arrived_frame),
            acknowledged_ns: way.acknowledged_ns,
            sent_again_ns: way.sent_again_ns,
            sent_again_by: way.trigger.map(|trigger| trigger.name()),
            fate: way.fate.name(),
        });
        self.failed = written.err();
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The error of a row that could not be written.
    pub fn finish(self) -> Result<BySecond, Failure> {
        match self.failed {
            Some(error) => return Err(Failure::message(error)),
            None => self.writer.close().map_err(Failure::message)?,
        }
        let mut all: Vec<_> = self.directions.into_iter().collect();
        all.sort_by_key(|(key, (segments, _))| (std::cmp::Reverse(*segments), *key));
        let named = all.into_iter().filter_map(|((flow, back), (_, seconds))| {
            Some((self.names.get(&flow)?[usize::from(back)].clone(), seconds))
        });
        Ok(named.collect())
    }

    fn count(&mut self, way: &SegmentWay) {
        let key = (way.flow, way.back);
        if !self.directions.contains_key(&key) && self.directions.len() >= DIRECTIONS_MAX {
            let least = self.directions.iter().min_by_key(|(_, (segments, _))| *segments);
            if let Some(least) = least.map(|(least, _)| *least) {
                self.directions.remove(&least);
            }
        }
        let Some(at_ns) = way.first_seen_ns() else { return };
        let (segments, seconds) = self.directions.entry(key).or_default();
        *segments += 1;
        let after_ns = at_ns.saturating_sub(self.begin_ns);
        let second = seconds.at(usize::try_from(after_ns / 1_000_000_000).unwrap_or_default());
        for ((sum, number), part) in
            second.parts.iter_mut().zip([way.wait_ns(), way.air_ns(), way.behind_ns()])
        {
            if let Some(part) = part {
                (*sum, *number) = (sum.saturating_add(part), number.saturating_add(1));
            }
        }
        second.lost += u32::from(way.fate.is_loss());
    }
}
