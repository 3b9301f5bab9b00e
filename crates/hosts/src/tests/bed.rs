//! The network of the tests: nodes in a chain, a wire between each and the next, and a sink that
//! records the reports.

use crate::sink::{Frames, Sink};
use crate::{
    ApqEnding, Endpoints, Flow, FlowKind, FrancLink, FrancReport, Hosts, HostsConfig, HostsError,
    Page, SourceConfig, StreamEvent, TcpSample,
};
use alloc::string::ToString;
use alloc::vec::Vec;
use lasthop_apq::{PhaseRecord, Report};
use lasthop_net::cable::CableConfig;
use lasthop_net::loss::Loss;
use lasthop_net::network::{NetworkConfig, NetworkStats, NodeConfig, WiredLink};
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_packet::{AccessCategory, DropReason, FlowId, NodeId, Packet};
use lasthop_tcp::Segment;
use lasthop_tcp::wire::{Announced, Header};
use lasthop_units::{Bitrate, Duration, Identity, Instant, Probability, Seed};

/// Reports that the sink recorded.
#[derive(Default)]
pub struct Log {
    pub wants_segments: bool,
    pub sent: Vec<(Instant, Packet)>,
    pub arrived: Vec<(Instant, NodeId, Packet)>,
    pub dropped: Vec<(Instant, NodeId, Packet, DropReason)>,
    pub round_trips: Vec<(Instant, FlowId, Duration)>,
    pub application_delays: Vec<(Instant, Duration)>,
    pub pages: Vec<(Instant, Page)>,
    pub stream: Vec<(Instant, StreamEvent)>,
    pub samples: Vec<(Instant, TcpSample)>,
    pub segments: Vec<(u64, NodeId, Segment, Announced)>,
    /// Initial sequence numbers and PSH of the same segments.
    pub headers: Vec<([u32; 2], bool)>,
    pub phases: Vec<PhaseRecord>,
    pub endings: Vec<(Instant, ApqEnding, Report)>,
    pub carried: Vec<(Instant, usize, NodeId, Duration)>,
    pub francs: Vec<FrancReport>,
    pub ended: Option<Instant>,
}

impl Log {
    /// Instants at which packets of `flow` from `node` were sent.
    pub fn sent_by(&self, flow: u16, node: u16) -> Vec<Instant> {
        let of_flow = self.sent.iter().filter(|(_, p)| p.flow == FlowId(flow));
        of_flow.filter(|(_, p)| p.source == NodeId(node)).map(|(at, _)| *at).collect()
    }

    /// Instants and tags of packets of `flow` that arrived at `node`.
    pub fn arrived_at(&self, flow: u16, node: u16) -> Vec<(Instant, u64)> {
        let of_flow = self.arrived.iter().filter(|(_, _, p)| p.flow == FlowId(flow));
        of_flow.filter(|(_, at, _)| *at == NodeId(node)).map(|(at, _, p)| (*at, p.tag)).collect()
    }
}

impl Sink for Log {
    fn wants_segments(&self) -> bool {
        self.wants_segments
    }

    fn segment(&mut self, _flow: FlowId, tag: u64, source: NodeId, header: &Header<'_>) {
        self.segments.push((tag, source, *header.segment, header.announced));
        self.headers.push((header.initial, header.push));
    }

    fn sent(&mut self, now: Instant, packet: &Packet) {
        self.sent.push((now, *packet));
    }

    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        self.arrived.push((now, node, *packet));
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        self.dropped.push((now, node, *packet, reason));
    }

    fn round_trip(&mut self, now: Instant, flow: FlowId, rtt: Duration) {
        self.round_trips.push((now, flow, rtt));
    }

    fn application_delay(&mut self, now: Instant, _flow: FlowId, delay: Duration) {
        self.application_delays.push((now, delay));
    }

    fn page(&mut self, now: Instant, _flow: FlowId, page: &Page) {
        self.pages.push((now, *page));
    }

    fn stream(&mut self, now: Instant, _flow: FlowId, event: &StreamEvent) {
        self.stream.push((now, *event));
    }

    fn tcp(&mut self, now: Instant, _flow: FlowId, sample: &TcpSample) {
        self.samples.push((now, *sample));
    }

    fn apq_phase(&mut self, _now: Instant, _flow: FlowId, record: &PhaseRecord) {
        self.phases.push(record.clone());
    }

    fn apq_ended(&mut self, now: Instant, _flow: FlowId, ending: &ApqEnding, report: &Report) {
        self.endings.push((now, ending.clone(), report.clone()));
    }

    fn carried(&mut self, now: Instant, link: usize, end: NodeId, delay: Duration) {
        self.carried.push((now, link, end, delay));
    }

    fn franc(&mut self, _now: Instant, link: usize, report: &FrancReport) {
        assert_eq!(link, self.francs.len(), "links report in their order");
        self.francs.push(report.clone());
    }

    fn ended(&mut self, now: Instant) {
        self.ended = Some(now);
    }
}

/// Hosts with the recorded reports.
pub struct Bed {
    pub hosts: Hosts,
    pub log: Log,
    pub end: Instant,
}

impl Bed {
    pub fn try_new(config: &HostsConfig, network: &NetworkConfig) -> Result<Self, HostsError> {
        let hosts = Hosts::new(config, network, Seed::new(1, 0))?;
        Ok(Self { hosts, log: Log::default(), end: config.end })
    }

    pub fn new(config: &HostsConfig, network: &NetworkConfig) -> Self {
        let mut bed = Self::try_new(config, network).expect("it is sound");
        bed.hosts.start(Instant::ZERO, &mut bed.log);
        bed
    }

    /// Performs all steps due by `until`. Returns whether measurements have ended the run.
    pub fn run_until(&mut self, until: Instant, frames: Frames<'_>) -> bool {
        while let Some(now) = self.hosts.step(until, &mut self.log, frames) {
            assert!(now <= until, "{now} is after {until}");
            if self.hosts.is_done() {
                self.end = now;
                return true;
            }
        }
        false
    }

    /// Runs to the end.
    pub fn run(mut self) -> (Log, NetworkStats) {
        self.run_until(self.end - Duration::from_nanos(1), &|_| None);
        let stats = self.hosts.finish(self.end, &mut self.log);
        (self.log, stats)
    }
}

pub fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

pub const MS: Duration = Duration::from_millis(1);

/// The rate at which a packet of 1 000 bytes occupies a wire for 1 ms.
pub const PACKET_A_MS: Bitrate = Bitrate::from_bps(8_112_000);

/// A wire without a rate.
pub fn delay(ms: u64) -> CableConfig {
    CableConfig { delay: Duration::from_millis(ms), ..CableConfig::default() }
}

/// A wire with a rate and a queue of `packets` in front of it.
pub fn limited(rate: Bitrate, packets: u32, ms: u64) -> CableConfig {
    let queue = QueueConfig::DropTail { limit: Limit::Packets(packets) };
    CableConfig { rate: Some(rate), queue, ..delay(ms) }
}

/// `cable` as an interface of the node at its near end.
pub fn interface(cable: CableConfig) -> CableConfig {
    CableConfig { is_interface: true, ..cable }
}

/// `cable` with losses.
pub fn lossy(cable: CableConfig, loss: f64) -> CableConfig {
    CableConfig { loss: Loss::Random(probability(loss)), ..cable }
}

pub fn probability(p: f64) -> Probability {
    Probability::new(p).expect("a probability")
}

fn identity(number: usize) -> Identity {
    Identity::numbered(number as u64)
}

/// A chain of nodes 0 to the number of `wires`, with the cables from each to the next and back.
pub fn chain(wires: impl IntoIterator<Item = [CableConfig; 2]>) -> NetworkConfig {
    let wires: Vec<_> = wires
        .into_iter()
        .enumerate()
        .map(|(at, directions)| WiredLink {
            ends: [NodeId(at as u16), NodeId(at as u16 + 1)],
            directions,
        })
        .collect();
    let node = |number| NodeConfig { identity: identity(number), ..NodeConfig::default() };
    NetworkConfig { nodes: (0..=wires.len()).map(node).collect(), cell: None, wires }
}

/// The same cable in both directions.
pub fn both(cable: &CableConfig) -> [CableConfig; 2] {
    [cable.clone(), cable.clone()]
}

/// `flows` in a chain of `nodes`, for `end`.
pub fn hosts(nodes: usize, flows: Vec<Flow>, end: Instant) -> HostsConfig {
    HostsConfig {
        background: Vec::new(),
        nodes: (0..nodes).map(identity).collect(),
        flows,
        francs: Vec::new(),
        end,
        warmup: Duration::ZERO,
        sample_interval: Duration::from_millis(10),
        changes: Vec::new(),
    }
}

/// The same configuration with a coded link.
pub fn with_link(config: HostsConfig, link: FrancLink) -> HostsConfig {
    HostsConfig { francs: [link].into(), ..config }
}

pub fn flow(name: &str, from: u16, to: u16, kind: FlowKind) -> Flow {
    Flow {
        name: name.to_string(),
        table: None,
        from: NodeId(from),
        to: NodeId(to),
        kind,
        start: Instant::ZERO,
        stop: None,
        access_category: AccessCategory::Video,
        endpoints: Endpoints::Model,
        deadline: None,
        group: None,
    }
}

/// A packet of 1 000 bytes each millisecond.
pub fn cbr(name: &str, from: u16, to: u16) -> Flow {
    let rate = Bitrate::from_mbps(8);
    flow(name, from, to, FlowKind::Udp(SourceConfig::Cbr { rate, bytes: 1_000 }))
}

/// A saturated flow of packets of 1 000 bytes.
pub fn saturated(name: &str, from: u16, to: u16) -> Flow {
    flow(name, from, to, FlowKind::Udp(SourceConfig::Saturated { bytes: 1_000 }))
}
