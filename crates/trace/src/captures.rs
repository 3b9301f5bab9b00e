//! The captures of a run, in the air and at nodes. Those of a simulation are written by a thread of
//! their own, if there is more than one core: the model passes notes in batches, and the thread makes
//! frames of them. Captures with real frames, and streams, are written at once.

use crate::air::{AirWriter, Contents};
use crate::ethernet::{self, Frames};
use crate::names::Names;
use crate::output::OutputError;
use crate::pcapng::Capture;
use crate::segments::{Segments, TcpHeader};
use lasthop_hosts::FrameDirection;
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_tcp::wire::Header;
use lasthop_units::Instant;
use lasthop_wifi::StationId;
use lasthop_wifi::event::{Event, Ppdu, SwitchStep};
use lasthop_wifi::phy::Subchannel;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// Number of notes in a full batch.
const BATCH_NOTES: usize = 1024;
/// Largest number of batches that wait for the thread.
const BATCHES_WAITING: usize = 16;

/// The captures of a run.
pub(crate) struct Captures {
    /// Notes that are not written yet.
    notes: Vec<Note>,
    /// Whether notes are collected in batches.
    in_batches: bool,
    has_air: bool,
    has_nodes: bool,
    wants_segments: bool,
    /// Buffer of the next TCP header.
    room: Vec<u8>,
    /// Writer of the files; `None` after an error.
    writing: Option<CaptureWriting>,
}

/// Files of captures, and the knowledge from which frames are made.
pub(crate) struct CaptureFiles {
    /// Names of the run.
    pub names: Names,
    /// Capture in the air.
    pub air: Option<AirWriter>,
    /// Capture at each node.
    pub nodes: Vec<Capture>,
    /// Smallest number of bytes made of a node's made-up frame; headers are always made.
    pub bytes_made: usize,
    /// Maker of the frames at nodes.
    pub frames: Frames,
    /// TCP headers of the latest segments.
    pub segments: Segments,
}

/// Writer of the files.
enum CaptureWriting {
    /// The thread that collects notes.
    Here(Box<CaptureFiles>),
    /// A separate thread.
    Beside(CaptureThread),
}

struct CaptureThread {
    filled: SyncSender<Vec<Note>>,
    /// Batches to fill again.
    emptied: Receiver<Vec<Note>>,
    thread: JoinHandle<Result<Box<CaptureFiles>, OutputError>>,
}

/// An event that a capture shows, or that changes one.
enum Note {
    /// A node sent or received a packet.
    Packet { at: Instant, node: NodeId, direction: FrameDirection, packet: Packet },
    /// TCP header of a packet of a flow.
    Segment { flow: FlowId, header: TcpHeader },
    /// A PPDU was on the air; bytes of packets that have any, by tag.
    Ppdu { ppdu: Ppdu, real: BTreeMap<u64, Vec<u8>> },
    /// An access point, or a station, changes its channel.
    Switch { station: StationId, access_point: StationId, step: SwitchStep, to: Subchannel },
    /// A station changes its access point.
    Roam { station: StationId },
}

impl Captures {
    /// Makes captures; `made_up` if the frames of nodes are made up, which makes it a simulation.
    pub(crate) fn new(files: CaptureFiles, made_up: bool) -> Self {
        Self {
            notes: Vec::new(),
            in_batches: made_up,
            has_air: files.air.is_some(),
            has_nodes: !files.nodes.is_empty(),
            wants_segments: made_up || files.air.as_ref().is_some_and(AirWriter::wants_data),
            room: Vec::new(),
            writing: Some(CaptureWriting::Here(Box::new(files))),
        }
    }

    /// Whether there is a capture in the air.
    pub(crate) const fn has_air(&self) -> bool {
        self.has_air
    }

    /// Whether a capture shows segments of the model.
    pub(crate) const fn want_segments(&self) -> bool {
        self.wants_segments
    }

    /// Keeps the TCP header of the packet of `flow` with this tag.
    pub(crate) fn segment(
        &mut self,
        flow: FlowId,
        tag: u64,
        source: NodeId,
        header: &Header<'_>,
        names: &Names,
    ) -> Result<(), OutputError> {
        self.room.clear();
        ethernet::segment(flow, tag, source, header, names, &mut self.room);
        let header = TcpHeader::new(tag, &self.room);
        self.note(Note::Segment { flow, header })
    }

    /// Makes up the frame of a packet that a node sent or received, in a simulation.
    pub(crate) fn packet(
        &mut self,
        at: Instant,
        node: NodeId,
        direction: FrameDirection,
        packet: &Packet,
    ) -> Result<(), OutputError> {
        if !self.in_batches || !self.has_nodes {
            return Ok(());
        }
        self.note(Note::Packet { at, node, direction, packet: *packet })
    }

    /// Writes a real frame of a node.
    pub(crate) fn frame(
        &mut self,
        at: Instant,
        node: NodeId,
        direction: FrameDirection,
        bytes: &[u8],
    ) -> Result<(), OutputError> {
        let Some(CaptureWriting::Here(files)) = &mut self.writing else { return Ok(()) };
        match files.nodes.get_mut(node.index()) {
            Some(capture) if !self.in_batches => capture.packet(at, Some(direction), |out| {
                out.extend_from_slice(bytes);
                0
            }),
            _ => Ok(()),
        }
    }

    /// Writes an event of the cell. `frames` returns the bytes of packets that have any.
    pub(crate) fn event(
        &mut self,
        event: Cow<'_, Event>,
        frames: &dyn Fn(u64) -> Option<Vec<u8>>,
    ) -> Result<(), OutputError> {
        if !self.has_air {
            return Ok(());
        }
        match &*event {
            Event::Ppdu(ppdu) if !self.in_batches => match &mut self.writing {
                Some(CaptureWriting::Here(files)) => files.ppdu(ppdu, frames),
                _ => Ok(()),
            },
            Event::Ppdu(_) => match event.into_owned() {
                Event::Ppdu(ppdu) => {
                    let tags = ppdu.frames().flat_map(|frame| &frame.packets).map(|it| it.tag);
                    let real = tags.filter_map(|tag| Some((tag, frames(tag)?))).collect();
                    self.note(Note::Ppdu { ppdu, real })
                }
                _ => Ok(()),
            },
            &Event::ChannelSwitch { station, access_point, step, to, .. } => {
                self.note(Note::Switch { station, access_point, step, to })
            }
            &Event::Roam { station, .. } => self.note(Note::Roam { station }),
            _ => Ok(()),
        }
    }

    /// Writes the remaining notes, and closes the files.
    pub(crate) fn close(mut self) -> Result<(), OutputError> {
        let mut files = match self.writing.take() {
            Some(CaptureWriting::Here(files)) => files,
            Some(CaptureWriting::Beside(beside)) => beside.join()?,
            None => return Ok(()),
        };
        files.write_all(&mut self.notes)?;
        files.air.map_or(Ok(()), AirWriter::close)?;
        files.nodes.into_iter().try_for_each(Capture::close)
    }

    #[inline]
    fn note(&mut self, note: Note) -> Result<(), OutputError> {
        self.notes.push(note);
        if self.notes.len() >= BATCH_NOTES || !self.in_batches { self.hand_over() } else { Ok(()) }
    }

    /// Passes the batch on and takes an empty one.
    fn hand_over(&mut self) -> Result<(), OutputError> {
        let has_cores = || thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        let beside = match self.writing.take() {
            Some(CaptureWriting::Here(files)) if self.in_batches && has_cores() => {
                CaptureThread::new(files)
            }
            Some(CaptureWriting::Here(mut files)) => {
                files.write_all(&mut self.notes)?;
                self.writing = Some(CaptureWriting::Here(files));
                return Ok(());
            }
            Some(CaptureWriting::Beside(beside)) => beside,
            // The error was returned already.
            None => {
                self.notes.clear();
                return Ok(());
            }
        };
        let empty = beside.emptied.try_recv();
        let empty = empty.unwrap_or_else(|_| Vec::with_capacity(BATCH_NOTES));
        let batch = std::mem::replace(&mut self.notes, empty);
        if beside.filled.send(batch).is_err() {
            // The thread ended early.
            return beside.join().map(drop);
        }
        self.writing = Some(CaptureWriting::Beside(beside));
        Ok(())
    }
}

impl CaptureThread {
    /// Starts the thread, which ends without further batches, or after an error.
    fn new(mut files: Box<CaptureFiles>) -> Self {
        let (filled, batches) = mpsc::sync_channel::<Vec<Note>>(BATCHES_WAITING);
        let (returned, emptied) = mpsc::sync_channel(BATCHES_WAITING + 2);
        let thread = thread::spawn(move || {
            for mut batch in batches {
                files.write_all(&mut batch)?;
                // The last batches are not returned.
                let _ = returned.try_send(batch);
            }
            Ok(files)
        });
        Self { filled, emptied, thread }
    }

    /// Waits until all batches are written.
    fn join(self) -> Result<Box<CaptureFiles>, OutputError> {
        drop(self.filled);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl CaptureFiles {
    fn write_all(&mut self, notes: &mut Vec<Note>) -> Result<(), OutputError> {
        notes.drain(..).try_for_each(|note| self.write(&note))
    }

    fn write(&mut self, note: &Note) -> Result<(), OutputError> {
        match note {
            Note::Packet { at, node, direction, packet } => {
                let Self { names, nodes, bytes_made, frames, segments, .. } = self;
                // Neighbours on the channel have no capture.
                let Some(capture) = nodes.get_mut(node.index()) else { return Ok(()) };
                capture.packet(*at, Some(*direction), |out| {
                    frames.append(packet, names, segments, *bytes_made, 0, out)
                })
            }
            Note::Segment { flow, header } => {
                self.segments.put(*flow, *header);
                Ok(())
            }
            Note::Ppdu { ppdu, real } => self.ppdu(ppdu, &|tag| real.get(&tag).cloned()),
            Note::Switch { station, access_point, step, to } => {
                if let Some(air) = &mut self.air {
                    air.switch(*station, *access_point, *step, *to);
                }
                Ok(())
            }
            Note::Roam { station } => {
                if let Some(air) = &mut self.air {
                    air.roam(*station);
                }
                Ok(())
            }
        }
    }

    fn ppdu(
        &mut self,
        ppdu: &Ppdu,
        frames: &dyn Fn(u64) -> Option<Vec<u8>>,
    ) -> Result<(), OutputError> {
        let Self { names, air, segments, .. } = self;
        match air {
            Some(air) => air.ppdu(ppdu, Contents { frames, segments, names }),
            None => Ok(()),
        }
    }
}
