//! The segments of several captures, as they are put together: rows of `segments.parquet`, and by
//! second where their time went, for the page.

use crate::failure::Failure;
use lasthop_capture::join::{Join, SegmentWay};
use lasthop_capture::series::Seconds;
use lasthop_capture::transport;
use lasthop_trace::{OutputDir, OutputError, SegmentRow, SegmentWriter};
use std::collections::BTreeMap;

/// Directions of flows of which seconds are kept: those with the most segments.
const DIRECTIONS_MAX: usize = 64;
/// Latest seconds of each that are kept: an hour.
const SECONDS_MAX: usize = 3_600;

/// A second of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SegmentSecond {
    /// Sums in ns, and how many segments: until the first attempt, on the air, and behind it.
    pub parts: [(i64, u32); 3],
    /// Segments that were lost anywhere.
    pub lost: u32,
}

/// Seconds of one direction, by when its segments were seen first.
pub type SegmentSeconds = Seconds<SegmentSecond, SECONDS_MAX>;

/// Where the time of each direction's segments went, with the direction's name; most segments first.
pub type BySecond = Vec<(String, SegmentSeconds)>;

/// What takes segments as they are put together.
pub struct Segments {
    writer: SegmentWriter,
    /// By flow, of both directions.
    names: BTreeMap<usize, [String; 2]>,
    directions: BTreeMap<(usize, bool), (u64, SegmentSeconds)>,
    begin_ns: i64,
    failed: Option<OutputError>,
}

impl Segments {
    /// For files that are about to be read together; seconds count from `begin_ns` by the clock of
    /// reference.
    ///
    /// # Errors
    /// If no file can be made in `directory`.
    pub fn new(directory: &mut OutputDir, join: &Join, begin_ns: i64) -> Result<Self, Failure> {
        let names = join.flows().map(|(index, key, _)| {
            let [a, b] = key.ends.map(|(address, port)| transport::end(address, port));
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

    /// Takes a segment. What cannot be written is an error of [`finish`](Self::finish).
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
    /// If something could not be written.
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
