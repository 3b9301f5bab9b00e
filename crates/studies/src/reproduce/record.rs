//! The sink of a run for a figure: a recorder that keeps its intervals, and
//! records beyond them. Everything is kept in memory but a capture of the air, which goes
//! to whoever analyses it; no file is written.

use crate::reproduce::air::Air;
use lasthop_apq::{PhaseRecord, Report};
use lasthop_hosts::{
    ApqEnding, FrameDirection, FrancLinkChange, FrancReport, Page, Sink, StreamEvent, TcpSample,
};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_tcp::wire::Header;
use lasthop_trace::{OutputError, Recorder};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Event;
use std::io::Write;

/// Records beyond the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Watch {
    /// Capture of the air, which is analysed.
    pub air: Air,
    /// Every round trip.
    pub round_trips: bool,
    /// Every packet of measurements.
    pub phases: bool,
}

/// The result of the measurement of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The measuring flow.
    pub flow: FlowId,
    /// Ending of the measurement.
    pub ending: ApqEnding,
    /// Estimates of the queues.
    pub report: Report,
    /// Phases in their order; empty unless they were watched.
    pub phases: Vec<PhaseRecord>,
}

/// The sink of a run.
#[derive(Debug)]
pub struct Recording {
    /// Makes the summary and the intervals.
    pub recorder: Recorder,
    watch: Watch,
    /// Flow, time of the answer and round-trip time of each round trip.
    pub round_trips: Vec<(FlowId, Instant, Duration)>,
    /// Phases of measurements that have not ended.
    phases: Vec<(FlowId, PhaseRecord)>,
    /// Results of measurements, in the order of their ends.
    pub measurements: Vec<Measurement>,
}

impl Recording {
    /// Returns the sink of a run that has not started. If the air is captured, the capture
    /// goes to `target`.
    ///
    /// # Errors
    /// If `target` does not take the head of the capture.
    pub fn new(
        scenario: &Scenario,
        watch: Watch,
        target: impl Write + Send + 'static,
    ) -> Result<Self, OutputError> {
        let (names, recording) = (lasthop_sim::names(scenario), lasthop_sim::recording(scenario));
        let recorder = match watch.air.stream(scenario) {
            Some(stream) => Recorder::with_air_stream(names, recording, &stream, Box::new(target))?,
            None => Recorder::new(names, recording),
        };
        Ok(Self {
            recorder: recorder.keeping_intervals(),
            watch,
            round_trips: Vec::new(),
            phases: Vec::new(),
            measurements: Vec::new(),
        })
    }
}

impl Sink for Recording {
    fn wants_events(&self) -> bool {
        self.recorder.wants_events()
    }

    fn wants_segments(&self) -> bool {
        self.recorder.wants_segments()
    }

    fn segment(&mut self, flow: FlowId, tag: u64, source: NodeId, header: &Header<'_>) {
        self.recorder.segment(flow, tag, source, header);
    }

    fn sent(&mut self, now: Instant, packet: &Packet) {
        self.recorder.sent(now, packet);
    }

    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        self.recorder.arrived(now, node, packet);
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        self.recorder.dropped(now, node, packet, reason);
    }

    fn event(&mut self, event: &Event, payload: &dyn Fn(u64) -> Option<Vec<u8>>) {
        self.recorder.event(event, payload);
    }

    fn round_trip(&mut self, now: Instant, id: FlowId, rtt: Duration) {
        self.recorder.round_trip(now, id, rtt);
        if self.watch.round_trips {
            self.round_trips.push((id, now, rtt));
        }
    }

    fn application_delay(&mut self, now: Instant, id: FlowId, delay: Duration) {
        self.recorder.application_delay(now, id, delay);
    }

    fn page(&mut self, now: Instant, id: FlowId, page: &Page) {
        self.recorder.page(now, id, page);
    }

    fn stream(&mut self, now: Instant, id: FlowId, event: &StreamEvent) {
        self.recorder.stream(now, id, event);
    }

    fn tcp(&mut self, now: Instant, id: FlowId, sample: &TcpSample) {
        self.recorder.tcp(now, id, sample);
    }

    fn apq_phase(&mut self, now: Instant, id: FlowId, record: &PhaseRecord) {
        self.recorder.apq_phase(now, id, record);
        if self.watch.phases {
            self.phases.push((id, record.clone()));
        }
    }

    fn apq_ended(&mut self, now: Instant, id: FlowId, ending: &ApqEnding, report: &Report) {
        self.recorder.apq_ended(now, id, ending, report);
        let (ours, others) = core::mem::take(&mut self.phases)
            .into_iter()
            .partition::<Vec<_>, _>(|(flow, _)| *flow == id);
        self.phases = others;
        self.measurements.push(Measurement {
            flow: id,
            ending: ending.clone(),
            report: report.clone(),
            phases: ours.into_iter().map(|(_, record)| record).collect(),
        });
    }

    fn carried(&mut self, now: Instant, link: usize, end: NodeId, delay: Duration) {
        self.recorder.carried(now, link, end, delay);
    }

    fn franc_link(&mut self, now: Instant, link: usize, change: &FrancLinkChange) {
        self.recorder.franc_link(now, link, change);
    }

    fn franc(&mut self, now: Instant, link: usize, report: &FrancReport) {
        self.recorder.franc(now, link, report);
    }

    fn ended(&mut self, now: Instant) {
        self.recorder.ended(now);
    }

    fn queue(&mut self, now: Instant, node: NodeId, packets: u32) {
        self.recorder.queue(now, node, packets);
    }

    fn frame(&mut self, now: Instant, node: NodeId, direction: FrameDirection, bytes: &[u8]) {
        self.recorder.frame(now, node, direction, bytes);
    }

    fn lateness(&mut self, now: Instant, late: Duration) {
        self.recorder.lateness(now, late);
    }
}
