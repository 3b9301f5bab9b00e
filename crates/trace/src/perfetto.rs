//! Writes a run's air for the Perfetto viewer (ui.perfetto.dev): a trace in the protocol buffers of
//! Perfetto's `trace.proto`, with track events. Times are nanoseconds of the run's time.
//!
//! Each node is a process with these tracks: PPDUs sent (slices), time off the channel or dozing
//! (slices), queue in packets and airtime (counters). Each flow is a process, too: its packets are
//! slices from entering the network to leaving it, with arrows to the PPDUs that carried them.
//!
//! Memory is limited: at most [`LANES`] packets of a flow are followed at a time; packets that
//! enter meanwhile are not. Leaves out acknowledgements of flows, the content of a PPDU beyond its
//! first MPDU and its counts, and interned names; files of `upload` and `contention` are still
//! shorter than their `air.pcapng`.

mod wire;

use crate::error::OutputError;
use crate::events::{frame_name, rate_name};
use crate::names::Names;
use crate::output::PartFile;
use crate::snapshot::Snapshot;
use crate::value::LossReason;
use lasthop_packet::{DelayParts, DropReason, FlowId, NodeId, Packet};
use lasthop_units::Instant;
use lasthop_wifi::event::{Event, PowerState, Ppdu, Psdu, RoamStep, SwitchStep};
use lasthop_wifi::{Address, StationId};
use std::collections::BTreeMap;
use std::io::Write;
use wire::{Annotation, Message};

/// Largest number of packets followed in a flow at a time.
const LANES: usize = 16;
/// Largest number of arrows that end at a PPDU.
const ARROWS_MAX: usize = 64;
/// Number of waiting bytes at which they are written.
const WAITING_BYTES: usize = 64 * 1024;
/// Sequence of all track events.
const SEQUENCE: u64 = 1;

/// Tracks of a node, in their order.
#[derive(Clone, Copy)]
enum Track {
    Process,
    Ppdus,
    Absences,
    Queue,
    Airtime,
}

/// Number of tracks of a node, the process itself included.
const NODE_TRACKS: u64 = 5;

/// A flow whose packets are followed.
struct FlowTrack {
    name: String,
    source: NodeId,
    process: u64,
    /// Packet in each lane.
    lanes: Vec<Option<Followed>>,
    /// Number of lanes that have a track.
    made: usize,
}

/// A packet in flight.
#[derive(Clone, Copy)]
struct Followed {
    tag: u64,
    sent: Instant,
    bytes: u16,
}

/// A trace that is being written. Packets are made in the buffer of waiting bytes.
pub(crate) struct PerfettoWriter {
    file: PartFile,
    waiting: Vec<u8>,
    nodes: Vec<String>,
    stations: Vec<NodeId>,
    /// Link of each station, if nodes have several; else empty.
    links: Vec<String>,
    flows: Vec<FlowTrack>,
    /// Start and kind of each node's current absence.
    away: BTreeMap<usize, (Instant, &'static str)>,
}

impl PerfettoWriter {
    pub(crate) fn new(file: PartFile, names: &Names) -> Result<Self, OutputError> {
        let mut writer = Self {
            file,
            waiting: Vec::with_capacity(2 * WAITING_BYTES),
            nodes: names.nodes.iter().map(|node| node.name.clone()).collect(),
            stations: names.stations.clone(),
            links: names
                .link_of
                .iter()
                .filter_map(|it| names.links.get(usize::from(*it)))
                .cloned()
                .collect(),
            flows: Vec::new(),
            away: BTreeMap::new(),
        };
        for index in 0..writer.nodes.len() {
            writer.describe_node(index);
        }
        for flow in &names.flows {
            writer.flow(&flow.name, flow.from);
        }
        writer.write_if_full()?;
        Ok(writer)
    }

    /// Adds the next flow.
    pub(crate) fn flow(&mut self, name: &str, source: NodeId) {
        let number = self.flows.len() as u64;
        let process = FLOWS + number * (1 + LANES as u64);
        let pid = self.nodes.len() as u64 + number + 1;
        let name = format!("flow {name}");
        self.process(process, pid, &name);
        self.flows.push(FlowTrack { name, source, process, lanes: vec![None; LANES], made: 0 });
    }

    pub(crate) fn sent(&mut self, now: Instant, packet: &Packet) {
        let Some(flow) = self.flows.get_mut(usize::from(packet.flow.0)) else { return };
        if flow.source != packet.source {
            return;
        }
        if let Some(lane) = flow.lanes.iter_mut().find(|lane| lane.is_none()) {
            *lane = Some(Followed { tag: packet.tag, sent: now, bytes: packet.bytes });
        }
    }

    pub(crate) fn arrived(&mut self, now: Instant, packet: &Packet) -> Result<(), OutputError> {
        self.ended(now, packet, "arrived")
    }

    pub(crate) fn lost(
        &mut self,
        now: Instant,
        packet: &Packet,
        reason: DropReason,
    ) -> Result<(), OutputError> {
        self.ended(now, packet, LossReason::from(reason).as_str())
    }

    pub(crate) fn event(&mut self, event: &Event) -> Result<(), OutputError> {
        match event {
            Event::Ppdu(ppdu) => self.ppdu(ppdu),
            Event::Power { at, station, state } => self.power(*at, *station, *state),
            Event::Roam { at, station, step, .. } => self.roam(*at, *station, *step),
            Event::ChannelSwitch { at, station, access_point, step, .. } => {
                self.switch(*at, *station, station == access_point, *step);
            }
            _ => {}
        }
        self.write_if_full()
    }

    pub(crate) fn interval(&mut self, snapshot: &Snapshot) -> Result<(), OutputError> {
        let begin = snapshot.at - snapshot.interval;
        for node in &snapshot.nodes {
            if let Some(packets) = node.queue_packets {
                let track = node_track(node.node.index(), Track::Queue);
                self.counter(snapshot.at, track, f64::from(packets));
                let share = node.airtime.as_secs_f64() / snapshot.interval.as_secs_f64();
                let track = node_track(node.node.index(), Track::Airtime);
                self.counter(begin, track, 100.0 * share);
            }
        }
        self.write_if_full()
    }

    /// Ends open absences, and completes the file.
    pub(crate) fn close(mut self, end: Instant) -> Result<(), OutputError> {
        for (node, (since, name)) in core::mem::take(&mut self.away) {
            self.absence(node, since, end, name);
        }
        self.write()
    }

    fn ended(&mut self, now: Instant, packet: &Packet, how: &str) -> Result<(), OutputError> {
        let Some(flow) = self.flows.get_mut(usize::from(packet.flow.0)) else { return Ok(()) };
        if flow.source != packet.source {
            return Ok(());
        }
        let is_it = |lane: &Option<Followed>| lane.is_some_and(|it| it.tag == packet.tag);
        let Some(lane) = flow.lanes.iter().position(is_it) else { return Ok(()) };
        let followed = flow.lanes[lane].take().expect("it was found there");
        let (process, track) = (flow.process, flow.process + 1 + lane as u64);
        // Lanes of one name are one track of the viewer.
        while flow.made <= lane {
            flow.made += 1;
            let (uuid, name) = (process + flow.made as u64, flow.name.clone());
            descriptor(&mut self.waiting, uuid, Some(process), &name, |_| {});
        }
        let DelayParts { queue, absent, contention, retries, air, reorder, wire } = packet.parts;
        let parts = [
            ("queue", queue),
            ("away", absent.away()),
            ("asleep", absent.asleep()),
            ("roam", absent.roam()),
            ("contention", contention),
            ("retries", retries),
            ("air", air),
            ("reorder", reorder),
            ("wire", wire),
        ];
        let parts = parts.into_iter().filter(|(_, part)| !part.is_zero());
        let parts = parts.map(|(name, part)| (name, Annotation::Nanos(part.as_nanos())));
        let bytes = ("bytes", Annotation::Number(followed.bytes.into()));
        let notes: Vec<_> =
            [("outcome", Annotation::Text(how)), bytes].into_iter().chain(parts).collect();
        let begin = followed.sent;
        let arrow = [arrow(packet.flow, packet.tag)];
        self.slice(begin, now.max(begin), track, &format!("packet {how}"), &arrow, &notes);
        self.write_if_full()
    }

    fn ppdu(&mut self, ppdu: &Ppdu) {
        let track = self.track(ppdu.transmitter, Track::Ppdus);
        for psdu in &ppdu.psdus {
            let peer = match psdu.receiver {
                Address::Station(station) => self.name(station).to_owned(),
                Address::Group => "all".to_owned(),
            };
            let kind = psdu.frames.first().map_or("ndp", |frame| frame_name(frame.kind));
            let count = |it: usize| Annotation::Number(it as u64);
            let rate = rate_name(psdu.rate);
            let link = self.links.get(ppdu.transmitter.index()).cloned();
            let link = link.as_ref().map(|link| ("link", Annotation::Text(link)));
            let notes = [
                ("receiver", Annotation::Text(&peer)),
                ("rate", Annotation::Text(&rate)),
                ("bytes", Annotation::Number(psdu.bytes.into())),
                ("mpdus", count(psdu.frames.len())),
                ("retries", count(psdu.frames.iter().filter(|it| it.retry).count())),
                ("received", count(psdu.frames.iter().filter(|it| it.received).count())),
                ("collided", Annotation::Flag(psdu.collided)),
            ];
            let notes: Vec<_> = notes.into_iter().chain(link).collect();
            let arrows = self.arrows(psdu);
            let name = format!("{kind} to {peer}");
            self.slice(ppdu.start, ppdu.end, track, &name, &arrows, &notes);
        }
    }

    /// Returns the arrows of followed packets in a PSDU.
    fn arrows(&self, psdu: &Psdu) -> Vec<u64> {
        let packets = psdu.frames.iter().flat_map(|frame| &frame.packets);
        let followed = packets.filter(|packet| {
            let flow = self.flows.get(usize::from(packet.flow.0));
            flow.is_some_and(|flow| {
                flow.source == packet.source
                    && flow.lanes.iter().flatten().any(|it| it.tag == packet.tag)
            })
        });
        followed.take(ARROWS_MAX).map(|packet| arrow(packet.flow, packet.tag)).collect()
    }

    fn power(&mut self, at: Instant, station: StationId, state: PowerState) {
        let name = match state {
            PowerState::Awake => None,
            PowerState::OffChannel => Some("off its channel"),
            PowerState::Dozing => Some("dozing"),
        };
        self.change(at, station, name);
    }

    fn roam(&mut self, at: Instant, station: StationId, step: RoamStep) {
        match step {
            RoamStep::Left => self.change(at, station, Some("joining")),
            RoamStep::Joined => self.change(at, station, None),
            RoamStep::Failed | RoamStep::Lost | RoamStep::Removed => {
                self.change(at, station, Some("without an access point"));
            }
            RoamStep::Authenticated
            | RoamStep::Associated
            | RoamStep::Reported
            | RoamStep::Unreported
            | RoamStep::Requested
            | RoamStep::Accepted
            | RoamStep::Refused => {}
        }
    }

    /// Shows the time from the order of a move to its end, and from an announcement to the first beacon
    /// on the new channel.
    fn switch(&mut self, at: Instant, station: StationId, is_its: bool, step: SwitchStep) {
        let name = match step {
            SwitchStep::Ordered | SwitchStep::Heard => Some("is to change its channel"),
            SwitchStep::Checking => Some("listens for radar"),
            SwitchStep::Moved if is_its => None,
            SwitchStep::Moved => Some("waits for a beacon on the new channel"),
            SwitchStep::Checked | SwitchStep::Followed => None,
        };
        self.change(at, station, name);
    }

    /// Ends the absence of a station, and begins another.
    fn change(&mut self, at: Instant, station: StationId, name: Option<&'static str>) {
        let node = self.node(station);
        if let Some((since, before)) = self.away.remove(&node) {
            self.absence(node, since, at, before);
        }
        if let Some(name) = name {
            self.away.insert(node, (at, name));
        }
    }

    fn absence(&mut self, node: usize, since: Instant, until: Instant, name: &str) {
        self.slice(since, until, node_track(node, Track::Absences), name, &[], &[]);
    }

    fn node(&self, station: StationId) -> usize {
        self.stations.get(station.index()).map_or(0, |node| node.index())
    }

    fn name(&self, station: StationId) -> &str {
        self.nodes.get(self.node(station)).map_or("?", String::as_str)
    }

    fn track(&self, station: StationId, track: Track) -> u64 {
        node_track(self.node(station), track)
    }

    fn describe_node(&mut self, index: usize) {
        let process = node_track(index, Track::Process);
        let name = self.nodes[index].clone();
        self.process(process, index as u64 + 1, &name);
        if !self.stations.iter().any(|node| node.index() == index) {
            return;
        }
        let mut track = |track, name: &str, unit: Option<&str>| {
            descriptor(&mut self.waiting, node_track(index, track), Some(process), name, |it| {
                if let Some(unit) = unit {
                    it.message(8, |counter| counter.text(6, unit));
                }
            });
        };
        track(Track::Ppdus, "PPDUs sent", None);
        track(Track::Absences, "absences", None);
        track(Track::Queue, "queue", Some("packets"));
        track(Track::Airtime, "airtime", Some("%"));
    }

    fn process(&mut self, uuid: u64, pid: u64, name: &str) {
        descriptor(&mut self.waiting, uuid, None, name, |it| {
            it.message(3, |process| {
                process.number(1, pid);
                process.text(6, name);
            });
        });
    }

    fn slice(
        &mut self,
        begin: Instant,
        end: Instant,
        track: u64,
        name: &str,
        arrows: &[u64],
        notes: &[(&str, Annotation<'_>)],
    ) {
        const BEGIN: u64 = 1;
        const END: u64 = 2;
        track_event(&mut self.waiting, begin, |event| {
            event.number(9, BEGIN);
            event.number(11, track);
            event.text(23, name);
            arrows.iter().for_each(|id| event.fixed(47, *id));
            notes.iter().for_each(|(name, note)| event.annotation(4, name, note));
        });
        track_event(&mut self.waiting, end, |event| {
            event.number(9, END);
            event.number(11, track);
        });
    }

    fn counter(&mut self, at: Instant, track: u64, value: f64) {
        const COUNTER: u64 = 4;
        track_event(&mut self.waiting, at, |event| {
            event.number(9, COUNTER);
            event.number(11, track);
            event.double(44, value);
        });
    }

    fn write_if_full(&mut self) -> Result<(), OutputError> {
        if self.waiting.len() >= WAITING_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), OutputError> {
        self.file.write_all(&self.waiting).map_err(|source| self.file.error(source))?;
        self.waiting.clear();
        Ok(())
    }
}

/// First track number of flows; those of nodes are below.
const FLOWS: u64 = 1 << 32;

fn node_track(node: usize, track: Track) -> u64 {
    1 + node as u64 * NODE_TRACKS + track as u64
}

/// Returns the identity of a packet's arrows.
fn arrow(flow: FlowId, tag: u64) -> u64 {
    (u64::from(flow.0) << 48) ^ tag
}

/// Appends the descriptor of a track (`TrackDescriptor`).
fn descriptor(
    out: &mut Vec<u8>,
    uuid: u64,
    parent: Option<u64>,
    name: &str,
    more: impl FnOnce(&mut Message<'_>),
) {
    Message::new(out).message(1, |packet| {
        packet.number(10, SEQUENCE);
        packet.message(60, |track| {
            track.number(1, uuid);
            if let Some(parent) = parent {
                track.number(5, parent);
                track.text(2, name);
            }
            more(track);
        });
    });
}

/// Appends a track event (`TrackEvent`).
fn track_event(out: &mut Vec<u8>, at: Instant, event: impl FnOnce(&mut Message<'_>)) {
    Message::new(out).message(1, |packet| {
        packet.number(8, at.as_nanos());
        packet.number(10, SEQUENCE);
        packet.message(11, event);
    });
}

impl std::fmt::Debug for PerfettoWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PerfettoWriter").finish_non_exhaustive()
    }
}
