//! The files that are written while a run proceeds: events, series and captures; and
//! which of them each report of a driver is passed to. After the first error nothing
//! more is written, and the error is returned when the files are closed. On which thread
//! that happens is no matter of this module (see `writing`).

use crate::air::{AirInfo, AirStream, AirWriter, Contents};
use crate::ethernet;
use crate::events::EventsWriter;
use crate::names::Names;
use crate::output::{OutputDir, OutputError};
use crate::pcapng::{Address, Capture, LinkType, SNAP_BYTES};
use crate::segments::Segments;
use crate::series::SeriesWriter;
use crate::snapshot::Snapshot;
use lasthop_hosts::{FrameDirection, Frames, TcpSample};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Event;
use std::io::Write;

/// The files that a recorder writes.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Files {
    /// Whether to write `events.parquet`.
    pub events: bool,
    /// Whether to write `series.parquet`.
    pub series: bool,
    /// The cell of which `air.pcapng` is written; `None` for no such file.
    pub air: Option<AirInfo>,
    /// The frames of which a `node-NAME.pcapng` is written for every node; `None` for
    /// no such files.
    pub nodes: Option<NodeFrames>,
    /// Whether captures leave out the payload of made-up frames, which is zero: the FCS
    /// with it, and all but 16 bytes. A-MSDUs, and what is not data, remain whole.
    pub cut: bool,
}

/// The origin of the frames in the capture of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeFrames {
    /// Real frames, from [`Sink::frame`](lasthop_hosts::Sink::frame): emulation.
    Real,
    /// Frames made up for the packets that the node sent and received: simulation.
    MadeUp,
}

/// What a driver or the recorder reports, with all that is written of it.
#[derive(Debug)]
pub(crate) enum Report {
    Sent {
        at: Instant,
        packet: Packet,
    },
    Arrived {
        at: Instant,
        node: NodeId,
        packet: Packet,
    },
    Lost {
        at: Instant,
        node: NodeId,
        packet: Packet,
        reason: DropReason,
    },
    Event(Event),
    /// The TCP header of the packet of `flow` with this tag.
    Segment {
        flow: FlowId,
        tag: u64,
        header: Box<[u8]>,
    },
    /// The name of the flow that has the next number.
    ProgramFlow(String),
    RoundTrip {
        at: Instant,
        flow: FlowId,
        rtt: Duration,
    },
    Tcp {
        at: Instant,
        flow: FlowId,
        sample: TcpSample,
    },
    /// A real Ethernet frame.
    Frame {
        at: Instant,
        node: NodeId,
        direction: FrameDirection,
        bytes: Box<[u8]>,
    },
    /// The readings of an interval.
    Interval(Box<Snapshot>),
}

/// Which reports some file needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    /// Packets that were sent or arrived.
    pub packets: bool,
    /// Everything that has a row in `events.parquet`.
    pub rows: bool,
    /// PPDUs, of all events of the cell.
    pub ppdus: bool,
    /// The end of each interval.
    pub intervals: bool,
    /// Segments of the model.
    pub segments: bool,
    /// Real frames.
    pub frames: bool,
}

/// The files that a recorder is writing.
#[derive(Default)]
pub(crate) struct Writers {
    events: Option<EventsWriter>,
    series: Option<SeriesWriter>,
    air: Option<AirWriter>,
    nodes: Vec<Capture>,
    made_up: bool,
    /// Bytes of a made-up frame of a node that are made at least; headers always are.
    bytes_made: usize,
    frame: Vec<u8>,
    segments: Segments,
    error: Option<OutputError>,
}

impl Writers {
    pub(crate) fn new(
        files: &Files,
        names: &Names,
        directory: &mut OutputDir,
    ) -> Result<Self, OutputError> {
        let mut writers = Self {
            made_up: files.nodes == Some(NodeFrames::MadeUp),
            bytes_made: if files.cut { 0 } else { usize::MAX },
            ..Self::default()
        };
        let known = addresses(names, files.nodes != Some(NodeFrames::Real));
        if files.events {
            writers.events = Some(EventsWriter::new(directory.file("events.parquet")?, names)?);
        }
        if files.series {
            writers.series = Some(SeriesWriter::new(directory.file("series.parquet")?, names)?);
        }
        if let Some(info) = &files.air {
            let mut air = AirWriter::new(directory.file("air.pcapng")?, info, names, files.cut)?;
            air.names(&known)?;
            writers.air = Some(air);
        }
        if files.nodes.is_some() {
            for node in &names.nodes {
                let file = directory.file(&file_name(&node.name))?;
                let snap_bytes = files.cut.then_some(SNAP_BYTES);
                let mut capture = Capture::new(file, LinkType::Ethernet, &node.name, snap_bytes)?;
                capture.names(&known)?;
                writers.nodes.push(capture);
            }
        }
        Ok(writers)
    }

    /// Writes the air to a stream, and no file.
    pub(crate) fn stream(
        target: Box<dyn Write + Send>,
        stream: &AirStream,
        names: &Names,
    ) -> Result<Self, OutputError> {
        let mut air = AirWriter::stream(target, stream, names)?;
        air.names(&addresses(names, true))?;
        Ok(Self { air: Some(air), ..Self::default() })
    }

    /// Which reports are needed.
    pub(crate) fn wants(&self) -> Wants {
        let rows = self.events.is_some();
        Wants {
            packets: rows || self.made_up,
            rows,
            ppdus: rows || self.air.is_some(),
            intervals: self.series.is_some(),
            segments: self.made_up || self.air.as_ref().is_some_and(AirWriter::wants_data),
            frames: !self.nodes.is_empty() && !self.made_up,
        }
    }

    /// Whether a file could not be written.
    pub(crate) fn failed(&self) -> bool {
        self.error.is_some()
    }

    pub(crate) fn close(self) -> Result<(), OutputError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.events.map_or(Ok(()), EventsWriter::close)?;
        self.series.map_or(Ok(()), SeriesWriter::close)?;
        self.air.map_or(Ok(()), AirWriter::close)?;
        self.nodes.into_iter().try_for_each(Capture::close)
    }

    /// Writes what is reported. `frames` returns the bytes of packets that have any.
    pub(crate) fn handle(&mut self, report: &Report, frames: Frames<'_>, names: &Names) {
        if self.error.is_none()
            && let Err(error) = self.write(report, frames, names)
        {
            self.error = Some(error);
        }
    }

    fn write(
        &mut self,
        report: &Report,
        frames: Frames<'_>,
        names: &Names,
    ) -> Result<(), OutputError> {
        if let Some(events) = &mut self.events {
            match report {
                Report::Sent { at, packet } => events.sent(*at, packet)?,
                Report::Arrived { at, node, packet } => events.arrived(*at, *node, packet)?,
                Report::Lost { at, node, packet, reason } => {
                    events.lost(*at, *node, packet, *reason)?;
                }
                Report::Event(event) => events.event(event)?,
                Report::RoundTrip { at, flow, rtt } => events.round_trip(*at, *flow, *rtt)?,
                Report::Tcp { at, flow, sample } => events.tcp(*at, *flow, sample)?,
                Report::ProgramFlow(name) => events.program_flow(name),
                Report::Segment { .. } | Report::Frame { .. } | Report::Interval(_) => {}
            }
        }
        match report {
            Report::Sent { at, packet } => {
                self.make_up(*at, packet.source, FrameDirection::Sent, packet, names)
            }
            Report::Arrived { at, node, packet } => {
                self.make_up(*at, *node, FrameDirection::Received, packet, names)
            }
            Report::Event(Event::Ppdu(ppdu)) => match &mut self.air {
                Some(air) => air.ppdu(ppdu, Contents { frames, segments: &self.segments, names }),
                None => Ok(()),
            },
            Report::Segment { flow, tag, header } => {
                self.segments.put(*flow, *tag, header);
                Ok(())
            }
            Report::Frame { at, node, direction, bytes } => {
                match self.nodes.get_mut(node.index()) {
                    Some(capture) if !self.made_up => {
                        capture.packet(*at, Some(*direction), bytes, bytes.len())
                    }
                    _ => Ok(()),
                }
            }
            Report::Interval(snapshot) => match &mut self.series {
                Some(series) => series.interval(snapshot, names),
                None => Ok(()),
            },
            Report::Lost { .. }
            | Report::Event(_)
            | Report::RoundTrip { .. }
            | Report::Tcp { .. }
            | Report::ProgramFlow(_) => Ok(()),
        }
    }

    fn make_up(
        &mut self,
        now: Instant,
        node: NodeId,
        direction: FrameDirection,
        packet: &Packet,
        names: &Names,
    ) -> Result<(), OutputError> {
        match self.nodes.get_mut(node.index()) {
            Some(capture) if self.made_up => {
                let Self { segments, bytes_made, frame, .. } = self;
                let length = ethernet::frame(packet, names, segments, *bytes_made, frame);
                capture.packet(now, Some(direction), frame, length)
            }
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Writers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writers").field("error", &self.error).finish_non_exhaustive()
    }
}

/// The addresses of nodes that captures name. `made_up`: those of made-up IP headers, too.
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

/// The name `node-NAME.pcapng`, in which every character of the node's name other than
/// letters, digits, `-`, `_` and `.` is replaced by `_`.
fn file_name(node: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("node-{}.pcapng", node.chars().map(safe).collect::<String>())
}
