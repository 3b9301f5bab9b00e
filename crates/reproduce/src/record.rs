//! The sink of a run for a figure: a recorder that keeps its intervals, and what is
//! watched beyond them. Everything is kept in memory; no file is written. Bare frames
//! carry no data and acknowledge none under Block Ack.

use lasthop_apq::{PhaseRecord, Report};
use lasthop_hosts::{ApqEnding, FrameDirection, FrancReport, Sink, TcpSample};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_trace::Recorder;
use lasthop_units::{Duration, Instant, SeqNo12};
use lasthop_wifi::event::{Event, FrameKind};
use lasthop_wifi::{Address, StationId};

/// What to record beyond the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Watch {
    /// PPDUs over time, and each frame without data.
    pub air: bool,
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
    /// How it ended.
    pub ending: ApqEnding,
    /// Its estimates of the queues.
    pub report: Report,
    /// Its phases in their order; empty unless they were watched.
    pub phases: Vec<PhaseRecord>,
}

/// A frame that carries no data and acknowledges none under Block Ack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BareFrame {
    /// Start of its PPDU.
    pub start: Instant,
    /// End of its PPDU.
    pub end: Instant,
    /// The station that sent it.
    pub transmitter: StationId,
    /// The receiver address.
    pub receiver: Address,
    /// Its type and subtype.
    pub kind: FrameKind,
    /// Sequence number, of management and Null frames.
    pub sequence: SeqNo12,
    /// The Retry bit.
    pub retry: bool,
    /// Whether the receiver decoded it.
    pub received: bool,
}

/// The sink of a run.
#[derive(Debug)]
pub struct Recording {
    /// Makes the summary and the intervals.
    pub recorder: Recorder,
    watch: Watch,
    /// Frames without data, in the order of their ends.
    pub frames: Vec<BareFrame>,
    /// Flow, time of the answer and round-trip time of each round trip.
    pub round_trips: Vec<(FlowId, Instant, Duration)>,
    /// Phases of measurements that have not ended.
    phases: Vec<(FlowId, PhaseRecord)>,
    /// Results of measurements, in the order of their ends.
    pub measurements: Vec<Measurement>,
}

impl Recording {
    /// Returns the sink of a run that has not started.
    pub fn new(scenario: &Scenario, watch: Watch) -> Self {
        let recording =
            lasthop_trace::Recording { watch_air: watch.air, ..lasthop_run::recording(scenario) };
        let recorder = Recorder::new(lasthop_run::names(scenario), recording).keeping_intervals();
        Self {
            recorder,
            watch,
            frames: Vec::new(),
            round_trips: Vec::new(),
            phases: Vec::new(),
            measurements: Vec::new(),
        }
    }
}

impl Sink for Recording {
    fn wants_events(&self) -> bool {
        self.recorder.wants_events()
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
        if let Event::Ppdu(ppdu) = event
            && self.watch.air
        {
            let frames = ppdu
                .psdus
                .iter()
                .flat_map(|psdu| psdu.frames.iter().map(move |frame| (psdu.receiver, frame)));
            let bare = frames.filter(|(_, frame)| is_bare(frame.kind));
            self.frames.extend(bare.map(|(receiver, frame)| BareFrame {
                start: ppdu.start,
                end: ppdu.end,
                transmitter: ppdu.transmitter,
                receiver,
                kind: frame.kind,
                sequence: frame.sequence,
                retry: frame.retry,
                received: frame.received,
            }));
        }
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

fn is_bare(kind: FrameKind) -> bool {
    !matches!(
        kind,
        FrameKind::Data
            | FrameKind::QosData { .. }
            | FrameKind::BlockAck { .. }
            | FrameKind::BlockAckRequest { .. }
    )
}
