//! The trait to which a driver reports events. `trace` implements it to make summaries and files;
//! drivers only call it. Every method has an empty default, so a sink implements only the methods
//! that it needs.

use crate::player::StreamEvent;
use crate::web::Page;
use core::net::IpAddr;
use lasthop_apq::{ClientError, PhaseRecord, Report};
use lasthop_franc::Stats;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_tcp::wire::Header;
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Event;

/// Whether a frame enters or leaves a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDirection {
    /// The node sent the frame.
    Sent,
    /// The node received the frame.
    Received,
}

/// One direction of a flow of real programs, from the headers of its packets
/// (emulation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramFlow {
    /// The node at which its packets enter the network.
    pub from: NodeId,
    /// The node at which they leave the network.
    pub to: NodeId,
    /// Protocol above IP, by its IANA number.
    pub protocol: u8,
    /// IP address of the sender.
    pub source: IpAddr,
    /// IP address of the receiver.
    pub destination: IpAddr,
    /// Source and destination port, or twice the identifier of an ICMP echo; `None` in later
    /// fragments and with other protocols.
    pub ports: Option<[u16; 2]>,
}

/// Flows of real programs without a number: the driver saw them after it had used all numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramsLeftOut {
    /// Number of flows, as far as they could be distinguished.
    pub flows: u64,
    /// Number of their packets.
    pub packets: u64,
}

/// A reading of the state of a TCP sender.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TcpSample {
    /// Congestion window in segments.
    pub cwnd_packets: u32,
    /// Slow start threshold in segments; `None` before the first loss, or if the stack does not
    /// report it.
    pub ssthresh_packets: Option<u32>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Latest unsmoothed round-trip time if the stack reports it, else the smoothed
    /// one.
    pub latest_rtt: Duration,
    /// Number of segments retransmitted so far.
    pub retransmissions: u64,
    /// Number of bytes acknowledged so far.
    pub bytes_acked: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// Number of bytes that the socket has accepted so far: netperf and iperf count these at their
    /// sender. `None` if the stack does not report it.
    pub bytes_written: Option<u64>,
}

/// End of an APQ flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApqEnding {
    /// The measurement is complete.
    Done,
    /// The run ended before the measurement was complete.
    Unfinished,
    /// The measurement failed.
    Failed(ClientError),
}

/// The counters of a coded link.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancReport {
    /// The counters of its nodes: from one end over the relays to the other, then of
    /// helpers.
    pub nodes: alloc::vec::Vec<FrancNodeReport>,
    /// Number of nodes on the path.
    pub path: usize,
    /// Nodes that are the second network interface of each end, if there are two links.
    pub second: Option<[NodeId; 2]>,
    /// Number of packets that left the link with other bytes than at its entrance, or twice.
    pub corrupt: u64,
}

/// A change of one of the two links of a coded link, as one end noticed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrancLinkChange {
    /// The end that noticed it.
    pub end: NodeId,
    /// Number of the link, from 0 on.
    pub link: u8,
    /// Whether it works again; else it died.
    pub is_alive: bool,
    /// Time since the newest datagram before was sent there that arrived.
    pub silent: Duration,
}

/// The counters of a node of a coded link.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancNodeReport {
    /// The node of the network.
    pub node: NodeId,
    /// Counters of the node since the end of the warm-up.
    pub stats: Stats,
}

/// Returns the Ethernet frame of a driver's packet, by the packet's tag, as long as the
/// driver has it.
pub type Frames<'a> = &'a dyn Fn(u64) -> Option<alloc::vec::Vec<u8>>;

/// Receives the reports of a driver.
pub trait Sink {
    /// Whether [`Sink::event`] should be called; machines record events only then.
    fn wants_events(&self) -> bool {
        false
    }

    /// Whether [`Sink::segment`] should be called. A flow asks when it starts.
    fn wants_segments(&self) -> bool {
        false
    }

    /// Reports the TCP segment that the packet of `flow` with this tag carries from `source`,
    /// before [`Sink::sent`] reports the packet; if the queues of `source` refuse it,
    /// [`Sink::sent`] does not follow. Tags of a flow's packets increase.
    fn segment(&mut self, _flow: FlowId, _tag: u64, _source: NodeId, _header: &Header<'_>) {}

    /// Reports a packet that entered the network at its source.
    fn sent(&mut self, _now: Instant, _packet: &Packet) {}

    /// Reports a packet that arrived at its destination `node`.
    fn arrived(&mut self, _now: Instant, _node: NodeId, _packet: &Packet) {}

    /// Reports a packet that was dropped or lost at `node`.
    fn dropped(&mut self, _now: Instant, _node: NodeId, _packet: &Packet, _reason: DropReason) {}

    /// Reports that packets with the number `id` are of this flow of a program (emulation). Such
    /// numbers follow those of the scenario's flows without a gap.
    fn program_flow(&mut self, _now: Instant, _id: FlowId, _flow: &ProgramFlow) {}

    /// Reports the program that sends the packets with the number `id`, by the kernel's name for it
    /// (emulation). The report comes after the flow, or never: the program may have exited by then,
    /// or not belong to the emulation.
    fn program_name(&mut self, _now: Instant, _id: FlowId, _name: &str) {}

    /// Reports the number of flows of programs without a number, at the end of the run (emulation).
    fn programs_left_out(&mut self, _left_out: ProgramsLeftOut) {}

    /// Reports an event of the cell. `frames` returns the bytes of packets that have any
    /// (emulation).
    fn event(&mut self, _event: &Event, _frames: Frames<'_>) {}

    /// Reports an event as [`Sink::event`] does, and gives it away: a driver calls this, and a sink
    /// that keeps events need not copy them.
    fn take_event(&mut self, event: Event, frames: Frames<'_>) {
        self.event(&event, frames);
    }

    /// Reports a round-trip time of `flow`: from a ping to its answer, or of a segment of a
    /// simulated TCP sender.
    fn round_trip(&mut self, _now: Instant, _flow: FlowId, _rtt: Duration) {}

    /// Reports the time from one write of an application to a TCP flow until it was read at the
    /// other end. There is no report for applications that always have more to write.
    fn application_delay(&mut self, _now: Instant, _flow: FlowId, _delay: Duration) {}

    /// Reports a web page that the reader of `flow` has loaded, or that was not complete at the end of
    /// the run.
    fn page(&mut self, _now: Instant, _flow: FlowId, _page: &Page) {}

    /// Reports what the viewer of a stream notices.
    fn stream(&mut self, _now: Instant, _flow: FlowId, _event: &StreamEvent) {}

    /// Reports the state of a TCP sender.
    fn tcp(&mut self, _now: Instant, _flow: FlowId, _sample: &TcpSample) {}

    /// Reports the end of a phase of an APQ flow.
    fn apq_phase(&mut self, _now: Instant, _flow: FlowId, _record: &PhaseRecord) {}

    /// Reports the end of an APQ flow.
    fn apq_ended(&mut self, _now: Instant, _flow: FlowId, _ending: &ApqEnding, _report: &Report) {}

    /// Reports a packet that entered the coded link with this index at `end`, and left it `delay`
    /// later.
    fn carried(&mut self, _now: Instant, _link: usize, _end: NodeId, _delay: Duration) {}

    /// Reports a change of one of the two links of the coded link with this index.
    fn franc_link(&mut self, _now: Instant, _link: usize, _change: &FrancLinkChange) {}

    /// Reports the counters of the coded link with this index, at the end of the run.
    fn franc(&mut self, _now: Instant, _link: usize, _report: &FrancReport) {}

    /// Reports that the run ended before its time, because nothing is left to do.
    fn ended(&mut self, _now: Instant) {}

    /// Reports the number of packets that `node` holds in its Wi-Fi queues and in flight, read at a
    /// regular interval.
    fn queue(&mut self, _now: Instant, _node: NodeId, _packets: u32) {}

    /// Reports a real Ethernet frame that passed the interface of `node` (emulation).
    fn frame(&mut self, _now: Instant, _node: NodeId, _direction: FrameDirection, _bytes: &[u8]) {}

    /// Reports a packet that was delivered `late` after its instant (emulation).
    fn lateness(&mut self, _now: Instant, _late: Duration) {}
}

/// A sink that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl Sink for NoSink {}
