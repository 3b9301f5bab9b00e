//! Reads `series.parquet` back: the readings of flows, nodes and links over time, in the
//! order of the file. Columns that are not there are absent from every reading, so that
//! older files can be read; a file that is not whole is an error.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A column that every series has, and no other table of a run.
const SIGN: &str = "throughput_mbps";

/// Why a series cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is no Parquet file, or not a whole one.
    #[error("{}: expected a whole Parquet file: {source}", path.display())]
    Parquet {
        /// Path of the file.
        path: PathBuf,
        /// What its reader says.
        source: ParquetError,
    },
    /// It is another table.
    #[error("{}: expected a table of series, got one without the column {SIGN}", path.display())]
    Table {
        /// Path of the file.
        path: PathBuf,
    },
    /// A row does not have what every row has.
    #[error("{}: row {row}: expected at_ns, and one of flow, node and link", path.display())]
    Row {
        /// Path of the file.
        path: PathBuf,
        /// Number of the row, from 0.
        row: usize,
    },
}

/// What a reading is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesOf {
    /// A flow, by name.
    Flow(String),
    /// A node, by name.
    Node(String),
    /// A direction of a link, `sender->receiver`.
    Link(String),
}

/// The readings of one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesReading {
    /// End of the interval in seconds since the start of the run.
    pub at_s: f64,
    /// What it is about.
    pub of: SeriesOf,
    /// Payload of a flow that arrived, in Mb/s.
    pub throughput_mbps: Option<f64>,
    /// Mean one-way delay of a flow's packets that arrived, in ms.
    pub one_way_delay_ms: Option<f64>,
    /// Mean round-trip time in ms; where there is none, the smoothed one.
    pub rtt_ms: Option<f64>,
    /// Congestion window in segments.
    pub cwnd_packets: Option<f64>,
    /// Packets in a node's Wi-Fi queues.
    pub queue_packets: Option<f64>,
    /// Share of the interval in which a node transmitted, 0 to 1.
    pub airtime_fraction: Option<f64>,
    /// Mean number of MPDUs in a link's data PPDUs.
    pub mpdus_per_ppdu: Option<f64>,
    /// Share of a link's MPDUs that were not decoded, 0 to 1.
    pub mpdu_error_rate: Option<f64>,
    /// PHY rate of a link's last data PPDU in Mb/s.
    pub data_rate_mbps: Option<f64>,
}

impl SeriesReading {
    /// The readings in the file at `path`.
    ///
    /// # Errors
    /// See [`SeriesError`].
    pub fn read(path: &Path) -> Result<Vec<Self>, SeriesError> {
        let bytes =
            fs::read(path).map_err(|source| SeriesError::File { path: path.to_owned(), source })?;
        let broken = |source| SeriesError::Parquet { path: path.to_owned(), source };
        let reader = SerializedFileReader::new(Bytes::from(bytes)).map_err(broken)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        if schema.columns().iter().all(|column| column.name() != SIGN) {
            return Err(SeriesError::Table { path: path.to_owned() });
        }
        let rows = reader.get_row_iter(None).map_err(broken)?;
        let mut readings = Vec::new();
        for (number, row) in rows.enumerate() {
            let row = row.map_err(broken)?;
            let reading = Self::of_row(&row)
                .ok_or_else(|| SeriesError::Row { path: path.to_owned(), row: number })?;
            readings.push(reading);
        }
        Ok(readings)
    }

    fn of_row(row: &Row) -> Option<Self> {
        let number = |name: &str| match field(row, name)? {
            Field::Int(value) => Some(f64::from(*value)),
            Field::Long(value) => Some(*value as f64),
            Field::Double(value) => Some(*value),
            _ => None,
        };
        let text = |name: &str| match field(row, name)? {
            Field::Str(value) => Some(value.clone()),
            _ => None,
        };
        let of = text("flow")
            .map(SeriesOf::Flow)
            .or_else(|| text("node").map(SeriesOf::Node))
            .or_else(|| text("link").map(SeriesOf::Link))?;
        Some(Self {
            at_s: number("at_ns")? / 1e9,
            of,
            throughput_mbps: number("throughput_mbps"),
            one_way_delay_ms: number("one_way_delay_ms"),
            rtt_ms: number("rtt_ms").or_else(|| number("srtt_ms")),
            cwnd_packets: number("cwnd_packets"),
            queue_packets: number("queue_packets"),
            airtime_fraction: number("airtime_fraction"),
            mpdus_per_ppdu: number("mpdus_per_ppdu"),
            mpdu_error_rate: number("mpdu_error_rate"),
            data_rate_mbps: number("data_rate_mbps"),
        })
    }
}

fn field<'a>(row: &'a Row, name: &str) -> Option<&'a Field> {
    row.get_column_iter().find(|(column, _)| *column == name).map(|(_, field)| field)
}
