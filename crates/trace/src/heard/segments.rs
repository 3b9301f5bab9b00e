//! Writes the segments seen by several simultaneous captures: `segments.parquet`, one row for each
//! copy of a TCP segment. `docs/files.md` describes its columns; a test compares them.

use crate::output::{OutputDir, OutputError};
use crate::table::{Table, Word};

/// A copy of a segment. Times are in ns since 1970 by the clock of the reference capture; times not
/// captured are `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentRow<'a> {
    /// Flow of the segment, `tcp sender->receiver`.
    pub flow: &'a str,
    /// Sequence number of the first byte.
    pub sequence: u32,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// Whether its first byte was sent before.
    pub retransmission: bool,
    /// Time at which it left its sender's host, and its packet number there.
    pub left: Option<(i64, u64)>,
    /// Time at which it was captured at the last wired place before the air.
    pub gateway_ns: Option<i64>,
    /// Start of the first attempt on the air.
    pub air_begin_ns: Option<i64>,
    /// End of the successful attempt.
    pub air_end_ns: Option<i64>,
    /// Numbers of the first and last frame on the air.
    pub air_frames: Option<[u64; 2]>,
    /// Attempts captured on the air.
    pub attempts: u32,
    /// Whether attempts before the first captured one were missed.
    pub first_attempt_missed: bool,
    /// Number of hops on the air.
    pub hops: u32,
    /// Time of the first acknowledgement of its MPDU.
    pub air_acknowledged_ns: Option<i64>,
    /// Time at which it was captured at the receiver's host, and its packet number there.
    pub arrived: Option<(i64, u64)>,
    /// Time at which the first TCP acknowledgement that covers it reached the sender's host.
    pub acknowledged_ns: Option<i64>,
    /// Time at which its first byte was sent again.
    pub sent_again_ns: Option<i64>,
    /// Cause of the retransmission.
    pub sent_again_by: Option<&'a str>,
    /// Outcome of the copy.
    pub fate: &'a str,
}

mod columns {
    use crate::table::{Kind, columns};
    columns! {
        FLOW "flow" Text,
        SEQUENCE "sequence" Int64,
        PAYLOAD "payload_bytes" Int64,
        RETRANSMISSION "retransmission" Bool,
        LEFT "left_ns" Int64,
        LEFT_FRAME "left_frame" Int64,
        GATEWAY "gateway_ns" Int64,
        AIR_BEGIN "air_begin_ns" Int64,
        AIR_END "air_end_ns" Int64,
        AIR_FIRST "air_first_frame" Int64,
        AIR_LAST "air_last_frame" Int64,
        ATTEMPTS "attempts" Int32,
        FIRST_MISSED "first_attempt_missed" Bool,
        HOPS "hops" Int32,
        AIR_ACKNOWLEDGED "air_acknowledged_ns" Int64,
        ARRIVED "arrived_ns" Int64,
        ARRIVED_FRAME "arrived_frame" Int64,
        ACKNOWLEDGED "acknowledged_ns" Int64,
        SENT_AGAIN "sent_again_ns" Int64,
        SENT_AGAIN_BY "sent_again_by" Text,
        FATE "fate" Text,
    }

    pub(super) fn write(
        row: &mut crate::table::Row<'_>,
        it: &super::SegmentRow<'_>,
        words: &super::SegmentWords,
    ) {
        let small = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        row.text(FLOW, words.flow).text(FATE, words.fate);
        row.int64(SEQUENCE, it.sequence.into()).int64(PAYLOAD, it.payload_bytes.into());
        row.bool(RETRANSMISSION, it.retransmission).bool(FIRST_MISSED, it.first_attempt_missed);
        row.int32(ATTEMPTS, small(it.attempts)).int32(HOPS, small(it.hops));
        if let Some(by) = words.sent_again_by {
            row.text(SENT_AGAIN_BY, by);
        }
        // A clock that was never set may be before 1970.
        for (column, at_ns) in [
            (LEFT, it.left.map(|(at_ns, _)| at_ns)),
            (GATEWAY, it.gateway_ns),
            (AIR_BEGIN, it.air_begin_ns),
            (AIR_END, it.air_end_ns),
            (AIR_ACKNOWLEDGED, it.air_acknowledged_ns),
            (ARRIVED, it.arrived.map(|(at_ns, _)| at_ns)),
            (ACKNOWLEDGED, it.acknowledged_ns),
            (SENT_AGAIN, it.sent_again_ns),
        ] {
            if let Some(at_ns) = at_ns {
                row.int64(column, at_ns.cast_unsigned());
            }
        }
        for (column, frame) in [
            (LEFT_FRAME, it.left.map(|(_, frame)| frame)),
            (AIR_FIRST, it.air_frames.map(|[first, _]| first)),
            (AIR_LAST, it.air_frames.map(|[_, last]| last)),
            (ARRIVED_FRAME, it.arrived.map(|(_, frame)| frame)),
        ] {
            if let Some(frame) = frame {
                row.int64(column, frame);
            }
        }
    }
}

/// The writer of `segments.parquet`.
pub struct SegmentWriter {
    table: Table,
}

/// Texts of a row.
struct SegmentWords {
    flow: Word,
    sent_again_by: Option<Word>,
    fate: Word,
}

impl SegmentWriter {
    /// Makes the file in `directory`, without rows.
    ///
    /// # Errors
    /// An error if the file cannot be made.
    pub fn new(directory: &mut OutputDir) -> Result<Self, OutputError> {
        let metadata = [("lasthop.schema", "segments 1".to_owned())];
        let table = Table::new(directory.file("segments.parquet")?, columns::COLUMNS, &metadata)?;
        Ok(Self { table })
    }

    /// Adds a copy of a segment.
    ///
    /// # Errors
    /// An error if the rows cannot be written.
    pub fn segment(&mut self, segment: &SegmentRow<'_>) -> Result<(), OutputError> {
        let words = SegmentWords {
            flow: self.table.word(segment.flow),
            sent_again_by: segment.sent_again_by.map(|by| self.table.word(by)),
            fate: self.table.word(segment.fate),
        };
        columns::write(&mut self.table.row()?, segment, &words);
        Ok(())
    }

    /// Writes the remaining rows and completes the file.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn close(self) -> Result<(), OutputError> {
        self.table.close()
    }
}

impl std::fmt::Debug for SegmentWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentWriter").finish_non_exhaustive()
    }
}
