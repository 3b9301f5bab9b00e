//! The sink of a run in a browser: a recorder, and the distributions of delays after the warm-up.
//! Only packets in a flow's forward direction count, as in the document.

use crate::answer::{Answer, Curve};
use lasthop_apq::Report;
use lasthop_hosts::{ApqEnding, FrancLinkChange, FrancReport, Page, Sink, StreamEvent, TcpSample};
use lasthop_net::network::NetworkStats;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_tcp::wire::Header;
use lasthop_trace::{Histogram, Names, Recorder, Recording, RunInfo};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Event;

/// Distributions of one flow.
#[derive(Debug)]
struct WatchedFlow {
    source: NodeId,
    delays: Histogram,
    round_trips: Histogram,
}

/// A recorder with distributions of delays.
#[derive(Debug)]
pub(crate) struct Watch {
    recorder: Recorder,
    warmup: Duration,
    flows: Vec<WatchedFlow>,
}

impl Watch {
    pub(crate) fn new(names: Names, recording: Recording) -> Self {
        let flow = |name: &lasthop_trace::FlowName| WatchedFlow {
            source: name.from,
            delays: Histogram::default(),
            round_trips: Histogram::default(),
        };
        let flows = names.flows.iter().map(flow).collect();
        // For airtime and the parts of delays in each interval.
        let watched = Recording { watch_air: true, ..recording };
        let recorder = Recorder::new(names, watched).keeping_intervals();
        Self { recorder, warmup: recording.warmup, flows }
    }

    /// Returns the results of the run; `text` is its scenario with all changes.
    pub(crate) fn answer(self, text: &str, info: &RunInfo, stats: &NetworkStats) -> Answer {
        let names = self.recorder.names().clone();
        let (document, intervals) = self
            .recorder
            .finish_with_intervals(info, stats)
            .expect("a recorder without files has no errors");
        let curves = |of: fn(&WatchedFlow) -> &Histogram| {
            self.flows.iter().map(|flow| Curve::from_histogram(of(flow))).collect::<Vec<_>>()
        };
        let (delays, round_trips) = (curves(|flow| &flow.delays), curves(|flow| &flow.round_trips));
        Answer::new(&document, text, &names, &intervals, [delays, round_trips])
    }

    fn is_measured(&self, now: Instant) -> bool {
        now >= Instant::ZERO + self.warmup
    }
}

impl Sink for Watch {
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
        let is_measured = self.is_measured(now);
        let flow = self.flows.get_mut(usize::from(packet.flow.0)).filter(|_| is_measured);
        if let Some(flow) = flow.filter(|flow| flow.source == packet.source) {
            flow.delays.add(now.saturating_since(packet.created).as_nanos());
        }
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        self.recorder.dropped(now, node, packet, reason);
    }

    fn event(&mut self, event: &Event, frames: &dyn Fn(u64) -> Option<Vec<u8>>) {
        self.recorder.event(event, frames);
    }

    fn round_trip(&mut self, now: Instant, id: FlowId, rtt: Duration) {
        self.recorder.round_trip(now, id, rtt);
        let is_measured = self.is_measured(now);
        if let Some(flow) = self.flows.get_mut(usize::from(id.0)).filter(|_| is_measured) {
            flow.round_trips.add(rtt.as_nanos());
        }
    }

    fn application_delay(&mut self, now: Instant, flow: FlowId, delay: Duration) {
        self.recorder.application_delay(now, flow, delay);
    }

    fn page(&mut self, now: Instant, flow: FlowId, page: &Page) {
        self.recorder.page(now, flow, page);
    }

    fn stream(&mut self, now: Instant, flow: FlowId, event: &StreamEvent) {
        self.recorder.stream(now, flow, event);
    }

    fn tcp(&mut self, now: Instant, flow: FlowId, sample: &TcpSample) {
        self.recorder.tcp(now, flow, sample);
    }

    fn apq_ended(&mut self, now: Instant, flow: FlowId, ending: &ApqEnding, report: &Report) {
        self.recorder.apq_ended(now, flow, ending, report);
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
}
