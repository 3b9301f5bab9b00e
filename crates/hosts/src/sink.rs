//! Whom a driver tells what happened. `trace` implements it to make summaries
//! and files; drivers call it and write nothing themselves. Every method has an
//! empty default, so a sink takes what it needs.

use core::net::IpAddr;
use lasthop_apq::{ClientError, PhaseRecord, Report};
use lasthop_franc::Stats;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Event;

/// Into or out of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDirection {
    /// The node sent it.
    Sent,
    /// The node received it.
    Received,
}

/// One direction of a flow of real programs, as its packets' headers say (emulation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramFlow {
    /// Where its packets enter the network.
    pub from: NodeId,
    /// Where they leave it.
    pub to: NodeId,
    /// Protocol above IP, by its IANA number.
    pub protocol: u8,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source and destination port, or the identifier of an ICMP echo twice;
    /// none in later fragments and with other protocols.
    pub ports: Option<[u16; 2]>,
}

/// Flows of real programs that a driver saw and did not number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramsLeftOut {
    /// How many, as far as they were told apart.
    pub flows: u64,
    /// Their packets.
    pub packets: u64,
}

/// One reading of a TCP sender's state.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TcpSample {
    /// Congestion window in segments.
    pub cwnd_packets: u32,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Latest raw round-trip time if the stack tells it, else the smoothed one.
    pub latest_rtt: Duration,
    /// Segments retransmitted so far.
    pub retransmissions: u64,
    /// Bytes acknowledged so far.
    pub bytes_acked: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
}

/// How an APQ flow ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApqEnding {
    /// The measurement is done.
    Done,
    /// The run was over before the measurement was.
    Unfinished,
    /// It failed, and why.
    Failed(ClientError),
}

/// What a coded link counted.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancReport {
    /// Its nodes: from one end over the relays to the other, then helpers.
    pub nodes: alloc::vec::Vec<FrancNodeReport>,
    /// How many of them are on the path.
    pub path: usize,
    /// Packets that came out of it and were not, or not again, what went in.
    pub corrupt: u64,
}

/// What a node of a coded link counted.
#[derive(Clone, Debug, PartialEq)]
pub struct FrancNodeReport {
    /// Which.
    pub node: NodeId,
    /// Its counters, from the end of the warm-up on.
    pub stats: Stats,
}

/// The Ethernet frame of a driver's packet, by the packet's tag, while the driver has it.
pub type Frames<'a> = &'a dyn Fn(u64) -> Option<alloc::vec::Vec<u8>>;

/// Whom a driver tells what happened.
pub trait Sink {
    /// `true` if [`Sink::event`] should be called; machines then record events.
    fn wants_events(&self) -> bool {
        false
    }

    /// A packet entered the network at its source.
    fn sent(&mut self, _now: Instant, _packet: &Packet) {}

    /// A packet arrived at `node`, its destination.
    fn arrived(&mut self, _now: Instant, _node: NodeId, _packet: &Packet) {}

    /// A packet was given up at `node`.
    fn dropped(&mut self, _now: Instant, _node: NodeId, _packet: &Packet, _reason: DropReason) {}

    /// Packets with the number `id`, which is none of the scenario's, are of this
    /// flow (emulation). Numbers follow those of the scenario without a gap.
    fn program_flow(&mut self, _now: Instant, _id: FlowId, _flow: &ProgramFlow) {}

    /// The run is over, and these flows were not numbered (emulation).
    fn programs_left_out(&mut self, _left_out: ProgramsLeftOut) {}

    /// The cell did something. `frames` has the bytes of packets that have any (emulation).
    fn event(&mut self, _event: &Event, _frames: Frames<'_>) {}

    /// A request of `flow` was answered after `rtt`: an echo request, or each
    /// segment of a simulated TCP sender.
    fn round_trip(&mut self, _now: Instant, _flow: FlowId, _rtt: Duration) {}

    /// What an application wrote to a TCP flow in one go was read at its other end after
    /// `delay`; of applications that do not always have more to write.
    fn application_delay(&mut self, _now: Instant, _flow: FlowId, _delay: Duration) {}

    /// A TCP sender was read.
    fn tcp(&mut self, _now: Instant, _flow: FlowId, _sample: &TcpSample) {}

    /// A phase of an APQ flow is over, and what became of it.
    fn apq_phase(&mut self, _now: Instant, _flow: FlowId, _record: &PhaseRecord) {}

    /// An APQ flow is over, and what it found out.
    fn apq_ended(&mut self, _now: Instant, _flow: FlowId, _ending: &ApqEnding, _report: &Report) {}

    /// The coded link with this index carried a packet that went in at `end`, in so long.
    fn carried(&mut self, _now: Instant, _link: usize, _end: NodeId, _delay: Duration) {}

    /// The run is over, and this is what the coded link with this index counted.
    fn franc(&mut self, _now: Instant, _link: usize, _report: &FrancReport) {}

    /// Nothing is left to do: the run is over before its time.
    fn ended(&mut self, _now: Instant) {}

    /// The packets that `node` holds in its Wi-Fi queues, read at a regular interval.
    fn queue(&mut self, _now: Instant, _node: NodeId, _packets: u32) {}

    /// A real Ethernet frame passed `node`'s interface (emulation).
    fn frame(&mut self, _now: Instant, _node: NodeId, _direction: FrameDirection, _bytes: &[u8]) {}

    /// A delivery was handed over `late` after its release instant (emulation).
    fn lateness(&mut self, _now: Instant, _late: Duration) {}
}

/// The sink that forgets everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl Sink for NoSink {}
