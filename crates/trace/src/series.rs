//! Writes `series.parquet`: the readings of each flow, node and link, one row for each interval and
//! subject. Nodes without a queue that did not transmit, links without data, and programs' flows
//! without packets have no row. Units are in the names of the columns, which `docs/files.md`
//! describes; a test compares them.

pub(crate) mod read;

use crate::names::Names;
use crate::output::OutputError;
use crate::snapshot::Snapshot;
use crate::table::{Columns, Destination, Kind, Table, Word, columns};
use lasthop_wifi::StationId;

columns! {
    AT "at_ns" Int64,
    FLOW "flow" Text,
    NODE "node" Text,
    LINK "link" Text,
    THROUGHPUT "throughput_mbps" Double,
    WRITTEN "written_mbps" Double,
    SENT "packets_sent" Int64,
    RECEIVED "packets_received" Int64,
    LOST "packets_lost" Int64,
    REPLACED "acks_replaced" Int64,
    DELAY "one_way_delay_ms" Double,
    PART_QUEUE "queue_ms" Double,
    PART_AWAY "away_ms" Double,
    PART_ASLEEP "asleep_ms" Double,
    PART_CONTENTION "contention_ms" Double,
    PART_RETRIES "retries_ms" Double,
    PART_REORDER "reorder_ms" Double,
    PART_AIR "air_ms" Double,
    PART_WIRE "wire_ms" Double,
    PART_OTHER "other_ms" Double,
    RTT "rtt_ms" Double,
    SRTT "srtt_ms" Double,
    CWND "cwnd_packets" Int32,
    QUEUE "queue_packets" Int32,
    AIRTIME "airtime_fraction" Double,
    PPDUS "ppdus" Int64,
    MPDUS_PER_PPDU "mpdus_per_ppdu" Double,
    ERROR_RATE "mpdu_error_rate" Double,
    RATE "data_rate_mbps" Double,
    // The last one: only runs with roaming nodes have it.
    PART_ROAM "roam_ms" Double,
}

/// The writer of `series.parquet`.
pub(crate) struct SeriesWriter {
    table: Table,
    /// Names of the scenario's flows, then of programs' flows.
    flows: Vec<Word>,
    scenario_flows: usize,
    nodes: Vec<Word>,
    links: Vec<((StationId, StationId), Word)>,
}

impl SeriesWriter {
    pub(crate) fn new(
        destination: impl Into<Destination>,
        names: &Names,
    ) -> Result<Self, OutputError> {
        let columns = &COLUMNS[..COLUMNS.len() - usize::from(!names.roams)];
        let mut table = Table::new(destination, columns, &[("lasthop.schema", "series 1".into())])?;
        Ok(Self {
            scenario_flows: names.flows.len(),
            flows: names.flows.iter().map(|flow| table.word(&flow.name)).collect(),
            nodes: names.nodes.iter().map(|node| table.word(&node.name)).collect(),
            links: Vec::new(),
            table,
        })
    }

    /// Adds the name of the next flow of a program.
    pub(crate) fn program_flow(&mut self, name: &str) {
        let word = self.table.word(name);
        self.flows.push(word);
    }

    /// Completes the table; returns it if it is in memory.
    pub(crate) fn finish(self) -> Result<Option<Columns>, OutputError> {
        self.table.finish()
    }

    pub(crate) fn interval(
        &mut self,
        snapshot: &Snapshot,
        names: &Names,
    ) -> Result<(), OutputError> {
        let at = snapshot.at.as_nanos();
        for (index, (flow, name)) in snapshot.flows.iter().zip(&self.flows).enumerate() {
            let is_quiet = flow.sent == 0 && flow.received == 0 && flow.lost == 0;
            if index >= self.scenario_flows && is_quiet {
                continue;
            }
            let mut row = self.table.row()?;
            row.int64(AT, at).text(FLOW, *name);
            row.double(THROUGHPUT, snapshot.throughput_mbps(flow));
            if let Some(written) = flow.written {
                let nanos = snapshot.interval.as_nanos().max(1) as f64;
                row.double(WRITTEN, written.as_u64() as f64 * 8e3 / nanos);
            }
            row.int64(SENT, flow.sent).int64(RECEIVED, flow.received).int64(LOST, flow.lost);
            row.int64(REPLACED, flow.acks_replaced);
            if let Some(delay) = flow.delay {
                row.double(DELAY, delay.as_millis_f64());
            }
            if let Some(parts) = flow.parts {
                row.double(PART_QUEUE, parts.queue).double(PART_AWAY, parts.away);
                row.double(PART_ASLEEP, parts.asleep).double(PART_CONTENTION, parts.contention);
                row.double(PART_RETRIES, parts.retries).double(PART_REORDER, parts.reorder);
                row.double(PART_AIR, parts.air).double(PART_WIRE, parts.wire);
                row.double(PART_OTHER, parts.other.unwrap_or(0.0));
                if names.roams {
                    row.double(PART_ROAM, parts.roam);
                }
            }
            if let Some(rtt) = flow.rtt {
                row.double(RTT, rtt.as_millis_f64());
            }
            if let Some(rtt) = flow.smoothed_rtt {
                row.double(SRTT, rtt.as_millis_f64());
            }
            if let Some(cwnd) = flow.cwnd_packets {
                row.int32(CWND, i32::try_from(cwnd).unwrap_or(i32::MAX));
            }
        }
        let interval = snapshot.interval.as_nanos() as f64;
        for (node, name) in snapshot.nodes.iter().zip(&self.nodes) {
            if node.queue_packets.is_none() && node.airtime.is_zero() {
                continue;
            }
            let mut row = self.table.row()?;
            row.int64(AT, at).text(NODE, *name);
            row.double(AIRTIME, node.airtime.as_nanos() as f64 / interval);
            if let Some(packets) = node.queue_packets {
                row.int32(QUEUE, i32::try_from(packets).unwrap_or(i32::MAX));
            }
        }
        for link in &snapshot.links {
            let key = (link.from, link.to);
            let index =
                self.links.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                    let name = names.direction(link.from, link.to);
                    self.links.push((key, self.table.word(&name)));
                    self.links.len() - 1
                });
            let mut row = self.table.row()?;
            row.int64(AT, at).text(LINK, self.links[index].1).int64(PPDUS, link.ppdus);
            row.double(MPDUS_PER_PPDU, link.mpdus as f64 / link.ppdus as f64);
            row.double(ERROR_RATE, link.mpdus_failed as f64 / link.mpdus as f64);
            row.double(RATE, link.rate.bitrate().as_mbps_f64());
        }
        Ok(())
    }
}
