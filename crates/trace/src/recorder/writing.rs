//! Recorders that write files, keep tables in memory, or write to a stream.

use super::{Recorder, Recording};
use crate::air::AirStream;
use crate::document::RunDocument;
use crate::files::{Files, Tables, Writers};
use crate::names::Names;
use crate::output::{OutputDir, OutputError, PartFile};
use crate::perfetto::PerfettoWriter;
use crate::summary::RunInfo;
use crate::table::Columns;
use lasthop_net::network::NetworkStats;
use std::io::Write;

impl Recorder {
    /// Makes a recorder that also writes `files` into `directory`.
    ///
    /// # Errors
    /// An error if a file cannot be made.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn with_files(
        names: Names,
        recording: Recording,
        files: &Files,
        directory: &mut OutputDir,
    ) -> Result<Self, OutputError> {
        let writers = Writers::new(files, &names, directory)?;
        Ok(Self::new(names, recording).writing(Some(writers)))
    }

    /// Makes a recorder that also keeps tables in memory, for
    /// [`finish_with_tables`](Self::finish_with_tables).
    ///
    /// # Errors
    /// None, since memory accepts everything.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn with_tables(
        names: Names,
        recording: Recording,
        tables: &Tables<bool>,
    ) -> Result<Self, OutputError> {
        // Without tables, no packet needs a check.
        let wanted = tables.events || tables.series;
        let writers = wanted.then(|| Writers::tables(tables, &names)).transpose()?;
        Ok(Self::new(names, recording).writing(writers))
    }

    /// Makes a recorder that also writes a capture of the air to `target` during the run, as in
    /// `air.pcapng`, and no files. An error of `target` ends the capture, and
    /// [`finish`](Self::finish) returns it.
    ///
    /// # Errors
    /// An error if `target` rejects the head of the capture.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn with_air_stream(
        names: Names,
        recording: Recording,
        stream: &AirStream,
        target: Box<dyn Write + Send>,
    ) -> Result<Self, OutputError> {
        let writers = Writers::stream(target, stream, &names)?;
        Ok(Self::new(names, recording).writing(Some(writers)))
    }

    /// Makes a recorder that also writes the air for the Perfetto viewer into `file`.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn with_perfetto(mut self, file: PartFile) -> Result<Self, OutputError> {
        let perfetto = PerfettoWriter::new(file, &self.names)?;
        self.writers.get_or_insert_default().perfetto = Some(perfetto);
        Ok(self)
    }

    /// Finishes as [`finish`](Self::finish), and also returns the tables [kept in
    /// memory](Self::with_tables).
    ///
    /// # Errors
    /// The errors of [`finish`](Self::finish).
    pub fn finish_with_tables(
        mut self,
        info: &RunInfo,
        stats: &NetworkStats,
    ) -> Result<(RunDocument, Tables<Option<Columns>>), OutputError> {
        self.close_last(info);
        let end = self.end(info);
        let tables = self.writers.take().map_or(Ok(Tables::default()), |it| it.close(end))?;
        Ok((self.document(info, stats), tables))
    }

    fn writing(mut self, writers: Option<Writers>) -> Self {
        self.writers = writers.map(Box::new);
        self
    }
}
