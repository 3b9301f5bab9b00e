//! The sink that counts for each flow, node and link. Memory does not depend on the duration of the
//! run, unless intervals are kept; rows of files are written at once.
//! [`Recorder::arrived`](Sink::arrived) is on the hot path of a simulator that spends 100 ns a
//! packet, so it only does a few additions and updates two sets of bins.
//!
//! Only the forward direction of a flow is counted: packets that enter the network at
//! its `from` node. Acknowledgements and echo replies are recorded as events and in the
//! round-trip times.

#[cfg(feature = "files")]
mod writing;

use crate::apq::ApqFlowSummary;
use crate::coded::CodedTally;
use crate::files::Writers;
use crate::histogram::Histogram;
use crate::names::Names;
use crate::parts::PartTotals;
use crate::programs;
use crate::snapshot::{FlowReading, LinkReading, NodeReading, Snapshot};
use crate::tally::{FlowTally, LinkTally, NodeTally};
use crate::value::LossReason;
use lasthop_apq::Report;
use lasthop_hosts::{
    ApqEnding, FrameDirection, FrancLinkChange, FrancReport, Page, ProgramFlow, ProgramsLeftOut,
    Sink, StreamEvent, TcpSample,
};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_tcp::wire::Header;
use lasthop_units::{Bytes, Duration, Instant};
use lasthop_wifi::event::{Event, FrameKind, Ppdu};
use lasthop_wifi::{Address, StationId};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Settings of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Time at the start of the run, left out of statistics.
    pub warmup: Duration,
    /// Duration of the run. Later events are not part of the statistics.
    pub duration: Duration,
    /// Time between two rows of the series and between two snapshots; above zero.
    pub interval: Duration,
    /// Whether to request events from the cell even if no file needs them. Live views show readings
    /// derived from them.
    pub watch_air: bool,
}

/// A [`Sink`] that counts what a driver reports, and writes the files of a run.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) names: Names,
    pub(crate) recording: Recording,
    pub(crate) flows: Vec<FlowTally>,
    /// Flows of programs, by flow number minus the number of flows in the scenario.
    pub(crate) programs: Vec<(ProgramFlow, FlowTally)>,
    /// Names of the programs that send them, by the same index.
    pub(crate) program_names: BTreeMap<usize, String>,
    pub(crate) programs_left_out: ProgramsLeftOut,
    pub(crate) francs: Vec<CodedTally>,
    pub(crate) lateness: Histogram,
    nodes: Vec<NodeTally>,
    links: BTreeMap<(StationId, StationId), LinkTally>,
    next_tick: Instant,
    /// End of a run that ended before its duration, else `None`.
    ended: Option<Instant>,
    totals: Vec<FlowTotals>,
    snapshot: Snapshot,
    /// Readings of every interval so far; `None` if they are not kept.
    kept: Option<Vec<Snapshot>>,
    pub(crate) writers: Option<Box<Writers>>,
}

/// The counts of a flow at the end of the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct FlowTotals {
    payload_bytes: u64,
    written: Option<u64>,
    sent: u64,
    received: u64,
    lost: u64,
    acks_replaced: u64,
    delay_nanos: u64,
    round_trips: u64,
    round_trip_nanos: u64,
    parts: PartTotals,
}

impl Recorder {
    /// Makes a recorder, without files, of a run that has not started.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(names: Names, recording: Recording) -> Self {
        assert!(!recording.interval.is_zero(), "the series interval is longer than zero");
        let warmup = Instant::ZERO + recording.warmup;
        let end = Instant::ZERO + recording.duration;
        Self {
            flows: names.flows.iter().map(|flow| FlowTally::new(flow, warmup, end)).collect(),
            francs: names.francs.iter().map(|_| CodedTally::new(warmup)).collect(),
            programs: Vec::new(),
            program_names: BTreeMap::new(),
            programs_left_out: ProgramsLeftOut::default(),
            lateness: Histogram::default(),
            nodes: vec![NodeTally::default(); names.nodes.len()],
            links: BTreeMap::new(),
            next_tick: Instant::ZERO + recording.interval,
            ended: None,
            totals: vec![FlowTotals::default(); names.flows.len()],
            snapshot: Snapshot::default(),
            kept: None,
            writers: None,
            names,
            recording,
        }
    }

    /// Keeps the readings of every interval, for
    /// [`finish_with_intervals`](Self::finish_with_intervals).
    #[must_use]
    pub fn keeping_intervals(self) -> Self {
        Self { kept: Some(Vec::new()), ..self }
    }

    /// Whether a file could not be written. [`finish`](Self::finish) will return its error, so that
    /// a long run may stop early.
    pub fn failed(&self) -> bool {
        self.writers.as_ref().is_some_and(|writers| writers.failed())
    }

    /// Returns the names of flows, nodes and stations.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the name of a flow: of the scenario or, after those, of a program.
    ///
    /// # Panics
    /// If there is no such flow yet.
    pub fn flow_name(&self, index: usize) -> String {
        match index.checked_sub(self.flows.len()) {
            None => self.names.flows[index].name.clone(),
            Some(program) => programs::name(&self.programs[program].0, &self.names),
        }
    }

    /// Returns the readings of the last complete interval. Before the first one ends, the snapshot
    /// is empty and its interval zero.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    #[inline]
    fn advance(&mut self, now: Instant) {
        if now >= self.next_tick {
            self.tick(now);
        }
    }

    /// Closes every interval that ended at or before `now`.
    #[cold]
    fn tick(&mut self, now: Instant) {
        while now >= self.next_tick {
            let at = self.next_tick;
            self.next_tick = at + self.recording.interval;
            self.close_interval(at);
        }
    }

    /// Whether the parts of an interval's delay have a reader: they require a walk over the bins of
    /// each flow.
    fn wants_parts(&self) -> bool {
        self.recording.watch_air
            || self.writers.as_ref().is_some_and(|writers| writers.want_parts())
    }

    fn close_interval(&mut self, at: Instant) {
        let wants_parts = self.wants_parts();
        let snapshot = &mut self.snapshot;
        snapshot.at = at;
        snapshot.interval = self.recording.interval;
        snapshot.flows.clear();
        let flows = self.flows.iter().chain(self.programs.iter().map(|(_, tally)| tally));
        for (flow, before) in flows.zip(&mut self.totals) {
            let now = FlowTotals::new(flow, wants_parts);
            snapshot.flows.push(now.since(before, flow));
            *before = now;
        }
        snapshot.nodes.clear();
        let own = self.names.own_nodes();
        for (index, node) in self.nodes.iter_mut().take(own).enumerate() {
            snapshot.nodes.push(NodeReading {
                node: NodeId(index as u16),
                queue_packets: node.queue_packets,
                airtime: core::mem::take(&mut node.airtime),
            });
        }
        snapshot.links.clear();
        for (&(from, to), link) in &mut self.links {
            if link.ppdus > 0 && !self.names.sends_for_neighbour(from) {
                let LinkTally { ppdus, mpdus, mpdus_failed, rate } = *link;
                snapshot.links.push(LinkReading { from, to, ppdus, mpdus, mpdus_failed, rate });
                *link = LinkTally::new(rate);
            }
        }
        if let Some(writers) = &mut self.writers {
            writers.interval(&self.snapshot, &self.names);
        }
        if let Some(kept) = &mut self.kept {
            kept.push(self.snapshot.clone());
        }
    }

    /// Returns the readings of the intervals so far; none if they are not kept.
    pub(crate) fn take_intervals(&mut self) -> Vec<Snapshot> {
        self.kept.take().unwrap_or_default()
    }

    /// Returns the duration of the run: `duration`, or less if the run ended earlier.
    pub(crate) fn lasted(&self, duration: Duration) -> Duration {
        self.ended.map_or(duration, |at| (at - Instant::ZERO).min(duration))
    }

    /// Closes every interval that ended at or before `end`, the end of the run.
    pub(crate) fn close_until(&mut self, end: Instant) {
        self.advance(end);
    }

    /// Returns the tally of the flow of `packet`; `None` if the packet belongs to no flow, or
    /// travels in the reverse direction.
    #[inline]
    fn forward(&mut self, packet: &Packet) -> Option<&mut FlowTally> {
        let index = usize::from(packet.flow.0);
        let tally = match self.flows.len() {
            flows if index < flows => &mut self.flows[index],
            flows => &mut self.programs.get_mut(index - flows)?.1,
        };
        Some(tally).filter(|tally| tally.source == packet.source)
    }

    fn write_event(&mut self, event: Cow<'_, Event>, frames: &dyn Fn(u64) -> Option<Vec<u8>>) {
        if let Event::Ppdu(ppdu) = &*event {
            self.advance(ppdu.end);
            self.ppdu(ppdu);
        }
        if let Some(writers) = &mut self.writers {
            writers.event(event, frames);
        }
    }

    fn ppdu(&mut self, ppdu: &Ppdu) {
        let node = self.names.stations.get(ppdu.transmitter.index());
        if let Some(node) = node.and_then(|node| self.nodes.get_mut(node.index())) {
            node.airtime += ppdu.end.saturating_since(ppdu.start);
        }
        for psdu in &ppdu.psdus {
            if let Address::Station(receiver) = psdu.receiver
                && psdu.frames.first().is_some_and(|frame| is_data(frame.kind))
            {
                self.links
                    .entry((ppdu.transmitter, receiver))
                    .or_insert_with(|| LinkTally::new(psdu.rate))
                    .add(psdu);
            }
        }
    }
}

impl Sink for Recorder {
    fn wants_events(&self) -> bool {
        self.recording.watch_air
            || self.writers.as_ref().is_some_and(|writers| writers.want_events())
    }

    fn wants_segments(&self) -> bool {
        self.writers.as_ref().is_some_and(|writers| writers.want_segments())
    }

    fn segment(&mut self, flow: FlowId, tag: u64, source: NodeId, header: &Header<'_>) {
        if let Some(writers) = &mut self.writers {
            writers.segment(flow, tag, source, header, &self.names);
        }
    }

    fn sent(&mut self, now: Instant, packet: &Packet) {
        self.advance(now);
        if let Some(flow) = self.forward(packet) {
            flow.sent(now, packet);
        }
        if let Some(writers) = &mut self.writers {
            writers.sent(now, packet);
        }
    }

    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        self.advance(now);
        if let Some(flow) = self.forward(packet) {
            flow.arrived(now, packet);
        }
        if let Some(writers) = &mut self.writers {
            writers.arrived(now, node, packet);
        }
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        self.advance(now);
        if let Some(flow) = self.forward(packet) {
            flow.losses[LossReason::from(reason).index()] += 1;
        }
        if let Some(writers) = &mut self.writers {
            writers.lost(now, node, packet, reason);
        }
    }

    fn program_flow(&mut self, _now: Instant, id: FlowId, flow: &ProgramFlow) {
        debug_assert_eq!(usize::from(id.0), self.flows.len() + self.programs.len());
        if let Some(writers) = &mut self.writers {
            writers.program_flow(&programs::name(flow, &self.names), flow.from);
        }
        self.programs.push((*flow, FlowTally::of_program(flow)));
        self.totals.push(FlowTotals::default());
    }

    fn program_name(&mut self, _now: Instant, id: FlowId, name: &str) {
        let index = usize::from(id.0).checked_sub(self.flows.len());
        if let Some(index) = index.filter(|index| *index < self.programs.len()) {
            self.program_names.insert(index, name.to_owned());
        }
    }

    fn programs_left_out(&mut self, left_out: ProgramsLeftOut) {
        self.programs_left_out = left_out;
    }

    fn event(&mut self, event: &Event, frames: &dyn Fn(u64) -> Option<Vec<u8>>) {
        self.write_event(Cow::Borrowed(event), frames);
    }

    fn take_event(&mut self, event: Event, frames: &dyn Fn(u64) -> Option<Vec<u8>>) {
        self.write_event(Cow::Owned(event), frames);
    }

    fn round_trip(&mut self, now: Instant, id: FlowId, rtt: Duration) {
        self.advance(now);
        if let Some(flow) = self.flows.get_mut(usize::from(id.0)) {
            flow.round_trip(now, rtt);
        }
        if let Some(writers) = &mut self.writers {
            writers.round_trip(now, id, rtt);
        }
    }

    fn application_delay(&mut self, now: Instant, id: FlowId, delay: Duration) {
        self.advance(now);
        if let Some(flow) = self.flows.get_mut(usize::from(id.0)) {
            flow.application_delay(now, delay);
        }
    }

    fn page(&mut self, now: Instant, id: FlowId, page: &Page) {
        self.advance(now);
        if let Some(flow) = self.flows.get_mut(usize::from(id.0))
            && let Some(experience) = &mut flow.experience
        {
            experience.page(page);
        }
    }

    fn stream(&mut self, now: Instant, id: FlowId, event: &StreamEvent) {
        self.advance(now);
        if let Some(flow) = self.flows.get_mut(usize::from(id.0))
            && let Some(experience) = &mut flow.experience
        {
            experience.stream(now, event);
        }
    }

    fn tcp(&mut self, now: Instant, id: FlowId, sample: &TcpSample) {
        self.advance(now);
        if let Some(flow) = self.flows.get_mut(usize::from(id.0)) {
            flow.tcp(now, sample);
        }
        if let Some(writers) = &mut self.writers {
            writers.tcp(now, id, sample);
        }
    }

    fn apq_ended(&mut self, now: Instant, id: FlowId, ending: &ApqEnding, report: &Report) {
        self.advance(now);
        if let Some(flow) = self.flows.get_mut(usize::from(id.0)) {
            flow.apq = Some(Box::new(ApqFlowSummary::new(ending, report)));
        }
    }

    fn carried(&mut self, now: Instant, link: usize, end: NodeId, delay: Duration) {
        self.advance(now);
        if let Some(link) = self.francs.get_mut(link) {
            link.carried(now, end, delay);
        }
    }

    fn franc_link(&mut self, now: Instant, link: usize, change: &FrancLinkChange) {
        self.advance(now);
        if let Some(link) = self.francs.get_mut(link) {
            link.changed(now, change);
        }
    }

    fn franc(&mut self, now: Instant, link: usize, report: &FrancReport) {
        self.advance(now);
        if let Some(link) = self.francs.get_mut(link) {
            link.ended(report);
        }
    }

    fn ended(&mut self, now: Instant) {
        self.advance(now);
        self.ended = Some(now);
    }

    fn queue(&mut self, now: Instant, node: NodeId, packets: u32) {
        self.advance(now);
        if let Some(node) = self.nodes.get_mut(node.index()) {
            node.queue_packets = Some(packets);
        }
    }

    fn frame(&mut self, now: Instant, node: NodeId, direction: FrameDirection, bytes: &[u8]) {
        self.advance(now);
        if let Some(writers) = &mut self.writers {
            writers.frame(now, node, direction, bytes);
        }
    }

    fn lateness(&mut self, now: Instant, late: Duration) {
        self.advance(now);
        self.lateness.add(late.as_nanos());
    }
}

impl FlowTotals {
    fn new(flow: &FlowTally, wants_parts: bool) -> Self {
        Self {
            payload_bytes: flow.payload_bytes,
            written: flow.tcp.as_ref().and_then(|tcp| tcp.latest.bytes_written),
            sent: flow.sent,
            received: flow.received,
            lost: flow.lost(),
            acks_replaced: flow.acks_replaced(),
            delay_nanos: flow.delay_nanos,
            round_trips: flow.round_trips_all,
            round_trip_nanos: flow.round_trip_nanos,
            parts: if wants_parts { flow.parts.totals() } else { PartTotals::default() },
        }
    }

    fn since(&self, before: &Self, flow: &FlowTally) -> FlowReading {
        let received = self.received - before.received;
        let round_trips = self.round_trips - before.round_trips;
        let tcp = flow.tcp.as_ref().map(|tcp| &tcp.latest);
        FlowReading {
            payload: Bytes::new(self.payload_bytes - before.payload_bytes),
            written: self
                .written
                .map(|written| Bytes::new(written.saturating_sub(before.written.unwrap_or(0)))),
            sent: self.sent - before.sent,
            received,
            lost: self.lost - before.lost,
            acks_replaced: self.acks_replaced - before.acks_replaced,
            delay: mean(self.delay_nanos - before.delay_nanos, received),
            parts: self.parts.since(&before.parts),
            rtt: mean(self.round_trip_nanos - before.round_trip_nanos, round_trips),
            cwnd_packets: tcp.map(|tcp| tcp.cwnd_packets),
            smoothed_rtt: tcp.map(|tcp| tcp.smoothed_rtt).filter(|rtt| !rtt.is_zero()),
            retransmissions: tcp.map(|tcp| tcp.retransmissions),
        }
    }
}

fn mean(nanos: u64, count: u64) -> Option<Duration> {
    nanos.checked_div(count).map(Duration::from_nanos)
}

/// Whether a frame of this kind carries an MSDU.
pub(crate) fn is_data(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Data | FrameKind::QosData { .. })
}
