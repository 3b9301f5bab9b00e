//! The packets with which a queue was measured as `samples.parquet`. The delays of samples
//! include the offset between two clocks, so only their changes are meaningful.

use crate::output::{OutputDir, OutputError};
use crate::table::{Kind, Table, Word, columns};
use lasthop_apq::{Direction, PhaseRecord, StreamKind};

columns! {
    PHASE "phase" Int32,
    DIRECTION "direction" Text,
    KIND "kind" Text,
    SEQUENCE "sequence" Int32,
    PACKET_BYTES "packet_bytes" Int32,
    SENT "sent_ns" Int64,
    RECEIVED "received_ns" Int64,
    DELAY "delay_ns" Int64,
}

/// Writes `samples.parquet`, with a row for each packet that arrived.
pub struct SamplesWriter {
    table: Table,
    ways: [Word; 2],
    kinds: [Word; 2],
}

impl SamplesWriter {
    /// A writer of `samples.parquet` in `directory`, without rows so far.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn new(directory: &mut OutputDir) -> Result<Self, OutputError> {
        let file = directory.file("samples.parquet")?;
        let mut table = Table::new(file, COLUMNS, &[("lasthop.schema", "samples 1".into())])?;
        Ok(Self {
            ways: ["down", "up"].map(|way| table.word(way)),
            kinds: ["sparse", "bulk"].map(|kind| table.word(kind)),
            table,
        })
    }

    /// Adds the packets of a phase. Phases are numbered from 0.
    ///
    /// # Errors
    /// If the rows cannot be written.
    pub fn phase(&mut self, number: u32, record: &PhaseRecord) -> Result<(), OutputError> {
        let way = match record.direction {
            Direction::Down => self.ways[0],
            Direction::Up => self.ways[1],
        };
        for sample in &record.samples {
            let mut row = self.table.row()?;
            row.int32(PHASE, number as i32).text(DIRECTION, way);
            row.text(
                KIND,
                match sample.kind {
                    StreamKind::Sparse => self.kinds[0],
                    StreamKind::Bulk => self.kinds[1],
                },
            );
            row.int32(SEQUENCE, sample.sequence as i32);
            if let Some((stream, _)) = record.plan.locate(sample.kind, sample.sequence) {
                row.int32(PACKET_BYTES, record.plan.streams[stream].packet_bytes.into());
            }
            row.int64(SENT, sample.sent_ns).int64(RECEIVED, sample.received_ns);
            // The difference of two hosts' clocks can be negative; the column is
            // signed.
            row.int64(DELAY, sample.delay_ns() as u64);
        }
        Ok(())
    }

    /// Writes the remaining rows and completes the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn close(self) -> Result<(), OutputError> {
        self.table.close()
    }
}

impl std::fmt::Debug for SamplesWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamplesWriter").finish_non_exhaustive()
    }
}
