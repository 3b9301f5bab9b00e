//! Reads `series.parquet`: the readings of flows, nodes and links over time, in the order of the
//! file. A column missing from the file is absent from every reading, so that older files can be
//! read; an incomplete file is an error.

use crate::read::{Group, TableError, TableReader};
use crate::value::DelayPartsSummary;
use std::path::Path;

/// Column of every series, which other tables of a run lack.
const SIGN: &str = "throughput_mbps";

/// Subject of a reading.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesOf {
    /// A flow of this name.
    Flow(String),
    /// A node of this name.
    Node(String),
    /// A direction of a link, `sender->receiver`.
    Link(String),
}

/// Readings of one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesReading {
    /// End of the interval, in seconds since the start of the run.
    pub at_s: f64,
    /// Subject of the readings.
    pub of: SeriesOf,
    /// Payload of a flow that arrived, in Mb/s.
    pub throughput_mbps: Option<f64>,
    /// Mean one-way delay of a flow's packets that arrived, in ms.
    pub one_way_delay_ms: Option<f64>,
    /// Mean parts of that delay, in ms.
    pub parts_ms: Option<DelayPartsSummary>,
    /// Mean round-trip time in ms, or else the smoothed one.
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
    /// Reads the readings in the file at `path`.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn read(path: &Path) -> Result<Vec<Self>, TableError> {
        let table = TableReader::open(path, "series")?;
        let mut readings = Vec::new();
        for group in table.whole()? {
            group.double(SIGN)?;
            readings.extend(read_group(&table, &group, readings.len())?);
        }
        Ok(readings)
    }
}

/// Reads a row group, whose first row is number `first` of the table.
fn read_group(
    table: &TableReader,
    group: &Group<'_>,
    first: usize,
) -> Result<Vec<SeriesReading>, TableError> {
    let at = group.int64("at_ns")?;
    let rows = at.len();
    // Older tables have fewer columns.
    let number =
        |column| if table.has(column) { group.double(column) } else { Ok(vec![None; rows]) };
    let count = |column| if table.has(column) { group.int32(column) } else { Ok(vec![None; rows]) };
    let texts = [group.text("flow")?, group.text("node")?, group.text("link")?];
    let (throughput, delay) = (number(SIGN)?, number("one_way_delay_ms")?);
    let (rtt, smoothed) = (number("rtt_ms")?, number("srtt_ms")?);
    let (cwnd, queue) = (count("cwnd_packets")?, count("queue_packets")?);
    let (airtime, mpdus) = (number("airtime_fraction")?, number("mpdus_per_ppdu")?);
    let (errors, rate) = (number("mpdu_error_rate")?, number("data_rate_mbps")?);
    let mut parts = Vec::new();
    for column in PARTS {
        parts.push(number(column)?);
    }
    let reading = |row: usize| {
        let kinds = [SeriesOf::Flow, SeriesOf::Node, SeriesOf::Link];
        let mut filled = texts.iter().zip(kinds).filter_map(|(texts, kind)| {
            let name = std::str::from_utf8(texts[row].as_ref()?.data()).ok()?;
            Some(kind(name.to_owned()))
        });
        let part = |index: usize| parts[index][row];
        let parts_ms = part(0).map(|queue| DelayPartsSummary {
            queue,
            away: part(1).unwrap_or(0.0),
            asleep: part(2).unwrap_or(0.0),
            roam: part(9).unwrap_or(0.0),
            contention: part(3).unwrap_or(0.0),
            retries: part(4).unwrap_or(0.0),
            reorder: part(5).unwrap_or(0.0),
            air: part(6).unwrap_or(0.0),
            wire: part(7).unwrap_or(0.0),
            other: part(8).filter(|other| *other > 0.0),
        });
        Some(SeriesReading {
            at_s: at[row]? as f64 / 1e9,
            of: filled.next()?,
            throughput_mbps: throughput[row],
            one_way_delay_ms: delay[row],
            parts_ms,
            rtt_ms: rtt[row].or(smoothed[row]),
            cwnd_packets: cwnd[row].map(f64::from),
            queue_packets: queue[row].map(f64::from),
            airtime_fraction: airtime[row],
            mpdus_per_ppdu: mpdus[row],
            mpdu_error_rate: errors[row],
            data_rate_mbps: rate[row],
        })
    };
    let of_row = |row| {
        reading(row).ok_or_else(|| table.wrong_row(first + row, "at_ns, and flow, node or link"))
    };
    (0..rows).map(of_row).collect()
}

/// Columns of the parts of a delay, in the order of reading.
const PARTS: [&str; 10] = [
    "queue_ms",
    "away_ms",
    "asleep_ms",
    "contention_ms",
    "retries_ms",
    "reorder_ms",
    "air_ms",
    "wire_ms",
    "other_ms",
    "roam_ms",
];
