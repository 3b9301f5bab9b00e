//! The files written during a run: events, series and captures, and the dispatch of a driver's
//! reports to them. After the first error nothing more is written; closing the files returns the
//! error.

use crate::air::{AirInfo, AirStream, AirWriter};
use crate::captures::{CaptureFiles, Captures};
use crate::ethernet::{self, Frames};
use crate::events::EventsWriter;
use crate::names::Names;
use crate::output::{OutputDir, OutputError};
use crate::pcapng::{Address, Capture, LinkType, SNAP_BYTES};
use crate::perfetto::PerfettoWriter;
use crate::segments::Segments;
use crate::series::SeriesWriter;
use crate::snapshot::Snapshot;
use crate::table::{Columns, Destination};
use lasthop_hosts::{FrameDirection, TcpSample};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_tcp::wire::Header;
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Event;
use std::borrow::Cow;
use std::io::Write;

/// Files that a recorder writes.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Files {
    /// Whether to write `events.parquet`.
    pub events: bool,
    /// Whether to write `series.parquet`.
    pub series: bool,
    /// Cell whose frames are written to `air.pcapng`; `None` for no such file.
    pub air: Option<AirInfo>,
    /// Source of the frames in `node-NAME.pcapng`, one file for every node; `None` for no such
    /// files.
    pub nodes: Option<NodeFrames>,
    /// Whether captures leave out the zero payload of made-up frames, except for 16 bytes, and so
    /// the FCS. A-MSDUs and frames without data remain whole.
    pub cut: bool,
}

/// Sources of the frames in a node's capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeFrames {
    /// Real frames, from [`Sink::frame`](lasthop_hosts::Sink::frame): emulation.
    Real,
    /// Frames made up for the packets that the node sent and received: simulation.
    MadeUp,
}

/// Tables that a recorder keeps in memory, with the columns of the files of that name.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Tables<T = Columns> {
    /// Table of `events.parquet`: 270 bytes for each event.
    pub events: T,
    /// Table of `series.parquet`.
    pub series: T,
}

/// Open files of a recorder.
#[derive(Default)]
pub(crate) struct Writers {
    events: Option<EventsWriter>,
    series: Option<SeriesWriter>,
    captures: Option<Captures>,
    pub(crate) perfetto: Option<PerfettoWriter>,
    error: Option<OutputError>,
}

impl Writers {
    pub(crate) fn new(
        files: &Files,
        names: &Names,
        directory: &mut OutputDir,
    ) -> Result<Self, OutputError> {
        let mut writers = Self::default();
        let mut captures = CaptureFiles {
            names: names.clone(),
            air: None,
            nodes: Vec::new(),
            bytes_made: if files.cut { 0 } else { usize::MAX },
            frames: Frames::default(),
            segments: Segments::default(),
        };
        let known = addresses(names, files.nodes != Some(NodeFrames::Real));
        if files.events {
            writers.events = Some(EventsWriter::new(directory.file("events.parquet")?, names)?);
        }
        if files.series {
            writers.series = Some(SeriesWriter::new(directory.file("series.parquet")?, names)?);
        }
        if let Some(info) = &files.air {
            let mut air = AirWriter::new(directory.file("air.pcapng")?, info, files.cut)?;
            air.names(&known, names)?;
            captures.air = Some(air);
        }
        if files.nodes.is_some() {
            // Neighbours on the channel have no interface to be captured.
            for node in &names.nodes[..names.own_nodes()] {
                let file = directory.file(&file_name(&node.name))?;
                let snap_bytes = files.cut.then_some(SNAP_BYTES);
                let mut capture = Capture::new(file, LinkType::Ethernet, &node.name, snap_bytes)?;
                capture.names(&known)?;
                captures.nodes.push(capture);
            }
        }
        if files.air.is_some() || files.nodes.is_some() {
            let made_up = files.nodes == Some(NodeFrames::MadeUp);
            writers.captures = Some(Captures::new(captures, made_up));
        }
        Ok(writers)
    }

    /// Writes the air to a stream, and no files.
    pub(crate) fn stream(
        target: Box<dyn Write + Send>,
        stream: &AirStream,
        names: &Names,
    ) -> Result<Self, OutputError> {
        let mut air = AirWriter::stream(target, stream)?;
        air.names(&addresses(names, true), names)?;
        let captures = CaptureFiles {
            names: names.clone(),
            air: Some(air),
            nodes: Vec::new(),
            bytes_made: 0,
            frames: Frames::default(),
            segments: Segments::default(),
        };
        Ok(Self { captures: Some(Captures::new(captures, false)), ..Self::default() })
    }

    /// Keeps these tables in memory, and writes no files.
    pub(crate) fn tables(tables: &Tables<bool>, names: &Names) -> Result<Self, OutputError> {
        let kept = || Destination::Memory;
        Ok(Self {
            events: tables.events.then(|| EventsWriter::new(kept(), names)).transpose()?,
            series: tables.series.then(|| SeriesWriter::new(kept(), names)).transpose()?,
            ..Self::default()
        })
    }

    /// Whether a file needs the events of the cell.
    pub(crate) fn want_events(&self) -> bool {
        self.events.is_some()
            || self.series.is_some()
            || self.captures.as_ref().is_some_and(Captures::has_air)
            || self.perfetto.is_some()
    }

    /// Whether a file has the parts of delays over time.
    pub(crate) fn want_parts(&self) -> bool {
        self.series.is_some()
    }

    /// Whether a capture shows segments of the model.
    pub(crate) fn want_segments(&self) -> bool {
        self.captures.as_ref().is_some_and(Captures::want_segments)
    }

    /// Whether a file could not be written.
    pub(crate) fn failed(&self) -> bool {
        self.error.is_some()
    }

    /// Completes the files of a run that ended at `end`; returns the tables in memory.
    pub(crate) fn close(self, end: Instant) -> Result<Tables<Option<Columns>>, OutputError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let tables = Tables {
            events: self.events.map_or(Ok(None), EventsWriter::finish)?,
            series: self.series.map_or(Ok(None), SeriesWriter::finish)?,
        };
        self.captures.map_or(Ok(()), Captures::close)?;
        self.perfetto.map_or(Ok(()), |perfetto| perfetto.close(end))?;
        Ok(tables)
    }

    /// Keeps the TCP header of the packet of `flow` with this tag.
    pub(crate) fn segment(
        &mut self,
        flow: FlowId,
        tag: u64,
        source: NodeId,
        header: &Header<'_>,
        names: &Names,
    ) {
        self.attempt(|files| match &mut files.captures {
            Some(captures) => captures.segment(flow, tag, source, header, names),
            None => Ok(()),
        });
    }

    pub(crate) fn sent(&mut self, now: Instant, packet: &Packet) {
        self.attempt(|files| {
            if let Some(events) = &mut files.events {
                events.sent(now, packet)?;
            }
            if let Some(perfetto) = &mut files.perfetto {
                perfetto.sent(now, packet);
            }
            match &mut files.captures {
                Some(captures) => captures.packet(now, packet.source, FrameDirection::Sent, packet),
                None => Ok(()),
            }
        });
    }

    pub(crate) fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        self.attempt(|files| {
            if let Some(events) = &mut files.events {
                events.arrived(now, node, packet)?;
            }
            if let Some(perfetto) = &mut files.perfetto {
                perfetto.arrived(now, packet)?;
            }
            match &mut files.captures {
                Some(captures) => captures.packet(now, node, FrameDirection::Received, packet),
                None => Ok(()),
            }
        });
    }

    pub(crate) fn lost(&mut self, now: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        self.attempt(|files| {
            if let Some(events) = &mut files.events {
                events.lost(now, node, packet, reason)?;
            }
            match &mut files.perfetto {
                Some(perfetto) => perfetto.lost(now, packet, reason),
                None => Ok(()),
            }
        });
    }

    pub(crate) fn event(&mut self, event: Cow<'_, Event>, frames: &dyn Fn(u64) -> Option<Vec<u8>>) {
        self.attempt(|files| {
            if let Some(events) = &mut files.events {
                events.event(&event)?;
            }
            if let Some(perfetto) = &mut files.perfetto {
                perfetto.event(&event)?;
            }
            match &mut files.captures {
                Some(captures) => captures.event(event, frames),
                None => Ok(()),
            }
        });
    }

    /// Adds the name of the next flow of a program.
    pub(crate) fn program_flow(&mut self, name: &str, source: NodeId) {
        if let Some(events) = &mut self.events {
            events.program_flow(name);
        }
        if let Some(series) = &mut self.series {
            series.program_flow(name);
        }
        if let Some(perfetto) = &mut self.perfetto {
            perfetto.flow(name, source);
        }
    }

    pub(crate) fn round_trip(&mut self, now: Instant, flow: FlowId, rtt: Duration) {
        self.attempt(|files| match &mut files.events {
            Some(events) => events.round_trip(now, flow, rtt),
            None => Ok(()),
        });
    }

    pub(crate) fn tcp(&mut self, now: Instant, flow: FlowId, sample: &TcpSample) {
        self.attempt(|files| match &mut files.events {
            Some(events) => events.tcp(now, flow, sample),
            None => Ok(()),
        });
    }

    pub(crate) fn frame(
        &mut self,
        now: Instant,
        node: NodeId,
        direction: FrameDirection,
        bytes: &[u8],
    ) {
        self.attempt(|files| match &mut files.captures {
            Some(captures) => captures.frame(now, node, direction, bytes),
            None => Ok(()),
        });
    }

    pub(crate) fn interval(&mut self, snapshot: &Snapshot, names: &Names) {
        self.attempt(|files| {
            if let Some(series) = &mut files.series {
                series.interval(snapshot, names)?;
            }
            match &mut files.perfetto {
                Some(perfetto) => perfetto.interval(snapshot),
                None => Ok(()),
            }
        });
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Self) -> Result<(), OutputError>) {
        if self.error.is_none()
            && let Err(error) = write(self)
        {
            self.error = Some(error);
        }
    }
}

impl std::fmt::Debug for Writers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writers").field("error", &self.error).finish_non_exhaustive()
    }
}

/// Returns the addresses of nodes that captures name; with `made_up`, those of made-up IP headers,
/// too.
fn addresses(names: &Names, made_up: bool) -> Vec<(Address, &str)> {
    let mut list = Vec::new();
    for (index, node) in names.nodes.iter().enumerate() {
        if made_up {
            list.push((Address::Ipv4(ethernet::ip_address(NodeId(index as u16))), &*node.name));
        }
        list.push((Address::Eui48(node.address.0), &*node.name));
    }
    list
}

/// Returns the name `node-NAME.pcapng`. Replaces every character of the node's name other than
/// letters, digits, `-`, `_` and `.` by `_`.
fn file_name(node: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("node-{}.pcapng", node.chars().map(safe).collect::<String>())
}
