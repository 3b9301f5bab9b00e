//! Writes the contents of a capture: `seconds.parquet`, one row for each second and active flow,
//! link or channel, and `absences.parquet`, one row for each absence of a station. Columns shared
//! with `series.parquet` have its names and units. `docs/files.md` describes the columns; a test
//! compares them. `segments` writes the segments of several captures.

mod segments;

pub use segments::{SegmentRow, SegmentWriter};

use crate::output::{OutputDir, OutputError};
use crate::table::{Table, Word};

/// Subject of a row of `seconds.parquet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heard<'a> {
    /// Everything on the air.
    Channel,
    /// Data from one station to another, `sender->receiver`.
    Link(&'a str),
    /// One direction of a flow, `protocol sender->receiver`.
    Flow(&'a str),
}

/// Readings of one second; values that do not apply are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondReading {
    /// Payload in Mb/s, each byte once: of MSDUs on a link, of the transport protocol in a flow.
    pub throughput_mbps: Option<f64>,
    /// Share of the second on the air, 0 to 1; a PPDU counts at its end.
    pub airtime_fraction: Option<f64>,
    /// Number of data PPDUs.
    pub ppdus: Option<u64>,
    /// Number of MPDUs in these PPDUs.
    pub mpdus: Option<u64>,
    /// Number of A-MPDUs.
    pub ampdus: Option<u64>,
    /// Mean number of MPDUs in A-MPDUs.
    pub mpdus_per_ampdu: Option<f64>,
    /// Number of MPDUs with the Retry bit.
    pub retries: Option<u64>,
    /// Mean PHY rate of the PPDUs, in Mb/s.
    pub data_rate_mbps: Option<f64>,
    /// Most bytes of TCP in flight, as seen at the monitor.
    pub flight_bytes_max: Option<u64>,
    /// Mean time from a segment to its acknowledgement at the monitor, in ms.
    pub ack_ms: Option<f64>,
    /// Number of retransmitted TCP segments.
    pub retransmissions: Option<u64>,
}

/// An absence of a station. Times are in ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbsenceRow<'a> {
    /// Address of the station.
    pub station: &'a str,
    /// Time of the first frame that announced the absence, or of its substitute.
    pub from_ns: u64,
    /// Time of the last frame that ended the absence, or of its substitute.
    pub to_ns: u64,
    /// Numbers of the first and last frame.
    pub frames: (u64, u64),
    /// Attempts of the frames that announced and ended the absence; `None` if none was captured.
    pub attempts: [Option<u32>; 2],
    /// Acks of these attempts.
    pub acks: [Option<u32>; 2],
    /// Beacons of the access point during the absence.
    pub beacons: u32,
    /// PS-Polls, and other frames with the Power Management bit.
    pub polls: u32,
    /// Data frames from the access point to the station during the absence.
    pub sent_while_away: u32,
}

mod seconds {
    use crate::table::{Kind, columns};
    columns! {
        AT "at_ns" Int64,
        FLOW "flow" Text,
        LINK "link" Text,
        THROUGHPUT "throughput_mbps" Double,
        AIRTIME "airtime_fraction" Double,
        PPDUS "ppdus" Int64,
        MPDUS "mpdus" Int64,
        AMPDUS "ampdus" Int64,
        MPDUS_PER_AMPDU "mpdus_per_ampdu" Double,
        RETRIES "retries" Int64,
        RATE "data_rate_mbps" Double,
        FLIGHT "flight_bytes_max" Int64,
        ACK "ack_ms" Double,
        RETRANSMISSIONS "retransmissions" Int64,
    }

    pub(super) fn write(row: &mut crate::table::Row<'_>, reading: &super::SecondReading) {
        for (column, value) in [
            (THROUGHPUT, reading.throughput_mbps),
            (AIRTIME, reading.airtime_fraction),
            (MPDUS_PER_AMPDU, reading.mpdus_per_ampdu),
            (RATE, reading.data_rate_mbps),
            (ACK, reading.ack_ms),
        ] {
            if let Some(value) = value {
                row.double(column, value);
            }
        }
        for (column, value) in [
            (PPDUS, reading.ppdus),
            (MPDUS, reading.mpdus),
            (AMPDUS, reading.ampdus),
            (RETRIES, reading.retries),
            (FLIGHT, reading.flight_bytes_max),
            (RETRANSMISSIONS, reading.retransmissions),
        ] {
            if let Some(value) = value {
                row.int64(column, value);
            }
        }
    }

    pub(super) const PLACES: [usize; 3] = [AT, FLOW, LINK];
}

mod absences {
    use crate::table::{Kind, columns};
    columns! {
        STATION "station" Text,
        FROM "from_ns" Int64,
        TO "to_ns" Int64,
        FIRST "first_frame" Int64,
        LAST "last_frame" Int64,
        LEAVE_ATTEMPTS "leave_attempts" Int32,
        LEAVE_ACKS "leave_acks" Int32,
        BACK_ATTEMPTS "back_attempts" Int32,
        BACK_ACKS "back_acks" Int32,
        BEACONS "beacons" Int32,
        POLLS "polls" Int32,
        SENT "sent_while_away" Int32,
    }

    pub(super) fn write(
        row: &mut crate::table::Row<'_>,
        station: super::Word,
        absence: &super::AbsenceRow<'_>,
    ) {
        let small = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        row.text(STATION, station).int64(FROM, absence.from_ns).int64(TO, absence.to_ns);
        row.int64(FIRST, absence.frames.0).int64(LAST, absence.frames.1);
        let [leave, back] = absence.attempts;
        let [leave_acks, back_acks] = absence.acks;
        for (column, count) in [
            (LEAVE_ATTEMPTS, leave),
            (LEAVE_ACKS, leave_acks),
            (BACK_ATTEMPTS, back),
            (BACK_ACKS, back_acks),
        ] {
            if let Some(count) = count {
                row.int32(column, small(count));
            }
        }
        row.int32(BEACONS, small(absence.beacons)).int32(POLLS, small(absence.polls));
        row.int32(SENT, small(absence.sent_while_away));
    }
}

/// The writer of `seconds.parquet` and `absences.parquet`.
pub struct HeardWriter {
    seconds: Table,
    absences: Table,
}

impl HeardWriter {
    /// Makes both files in `directory`, without rows.
    ///
    /// # Errors
    /// An error if a file cannot be made.
    pub fn new(directory: &mut OutputDir) -> Result<Self, OutputError> {
        let mut table = |name: &str, columns: &[_], schema: &str| {
            let metadata = [("lasthop.schema", schema.to_owned())];
            Table::new(directory.file(name)?, columns, &metadata)
        };
        Ok(Self {
            seconds: table("seconds.parquet", seconds::COLUMNS, "seconds 1")?,
            absences: table("absences.parquet", absences::COLUMNS, "absences 1")?,
        })
    }

    /// Adds a second that begins at `at_ns` (ns since 1970).
    ///
    /// # Errors
    /// An error if the rows cannot be written.
    pub fn second(
        &mut self,
        at_ns: u64,
        heard: Heard<'_>,
        reading: &SecondReading,
    ) -> Result<(), OutputError> {
        let [at, flow, link] = seconds::PLACES;
        let name = match heard {
            Heard::Channel => None,
            Heard::Link(name) => Some((link, self.seconds.word(name))),
            Heard::Flow(name) => Some((flow, self.seconds.word(name))),
        };
        let mut row = self.seconds.row()?;
        row.int64(at, at_ns);
        if let Some((column, name)) = name {
            row.text(column, name);
        }
        seconds::write(&mut row, reading);
        Ok(())
    }

    /// Adds an absence.
    ///
    /// # Errors
    /// An error if the rows cannot be written.
    pub fn absence(&mut self, absence: &AbsenceRow<'_>) -> Result<(), OutputError> {
        let station = self.absences.word(absence.station);
        absences::write(&mut self.absences.row()?, station, absence);
        Ok(())
    }

    /// Writes the remaining rows and completes both files.
    ///
    /// # Errors
    /// An error if a file cannot be written.
    pub fn close(self) -> Result<(), OutputError> {
        self.seconds.close()?;
        self.absences.close()
    }
}

impl std::fmt::Debug for HeardWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeardWriter").finish_non_exhaustive()
    }
}
