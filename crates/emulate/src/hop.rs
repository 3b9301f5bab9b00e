//! Network and hosts in real time: frames enter when they are read, and are delivered at the
//! instants of the machines. Flows and coded links of the model run beside them.
//!
//! Events that fall due between two wake-ups are computed at their own instants, in order, however
//! late the wake-up is. The lateness of a delivery is the difference between its due instant and
//! the instant at which the driver gets it. So the model never drifts: a late wake-up delays only
//! deliveries.

use crate::frame::{self, Header};
use crate::frames::Frames;
use crate::programs::Programs;
use crate::traffic::FIRST_PORT;
use lasthop_hosts::{Backlog, FrameDirection, Hosts, ProgramsLeftOut, Sink};
use lasthop_linux::clock::Clock;
use lasthop_linux::event_loop::TURN_PACKETS;
use lasthop_linux::port::Ports;
use lasthop_net::network::{Change, NetworkStats, Output};
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant, MacAddr};
use lasthop_wifi::stats::Levels;
use std::collections::VecDeque;

/// Largest number of deliveries that wait while the machines catch up.
const WRITE_BATCH: usize = 64;
/// The longest that the rest of an A-MPDU is on the air after one of its packets was
/// delivered, whose bytes its event still needs (aPPDUMaxTime; IEEE 802.11-2020, table 19-25).
const PPDU_MAX: Duration = Duration::from_millis(10);

/// The nodes that have an interface.
#[derive(Clone, Debug, Default)]
pub struct NodePorts {
    /// The node of each port.
    pub nodes: Vec<NodeId>,
    /// The port of each node; relays have none.
    pub ports: Vec<Option<u16>>,
}

/// The ends of a flow whose endpoints are the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The node where it begins.
    pub from: NodeId,
    /// The node where it ends.
    pub to: NodeId,
}

/// Counters of frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Frames that entered the network.
    pub entered: u64,
    /// Frames delivered to nodes.
    pub delivered: u64,
    /// Frames to an address that no node has, or that are no Ethernet frames.
    pub unaddressed: u64,
    /// Frames that a node's interface refused, such as one that a program has set down.
    pub refused: u64,
    /// The lateness of each delivery, in nanoseconds.
    pub lateness_ns: Levels,
}

/// The machines, and the interfaces through which frames enter and leave.
pub struct Hop<'a, S: Sink> {
    /// The network, with the flows and links of its nodes.
    hosts: Hosts,
    /// Counters of frames.
    pub counts: Counts,
    /// The sink of events.
    pub sink: &'a mut S,
    clock: Clock,
    /// The latest `now` of the machines.
    last: Instant,
    ports: Ports,
    doors: NodePorts,
    /// The ends of each flow of the scenario; `None` for those of the model.
    flows: Vec<Option<Ends>>,
    frames: Frames,
    outbox: Vec<Delivery>,
    done: Vec<u64>,
    /// Frames that were delivered or dropped and may still be in an event, and until when.
    kept: VecDeque<(Instant, u64)>,
    /// The flows of programs.
    programs: Programs,
    /// Planned changes with their instants, in ascending order.
    planned: VecDeque<(Instant, Change)>,
    /// Changes that have begun since the last call of [`Hop::take_begun`].
    begun: Vec<Begun>,
}

/// A flow that a program of a node has begun to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Number of the flow.
    pub flow: FlowId,
    /// The port of the node.
    pub port: u16,
    /// The protocol above IP.
    pub protocol: u8,
    /// The port of the program's socket.
    pub source_port: u16,
}

/// A frame to be delivered to a node.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    due: Instant,
    port: u16,
    tag: u64,
}

impl<'a, S: Sink> Hop<'a, S> {
    /// Returns `hosts` at the instant zero of `clock`, for frames of up to `frame_bytes_max`
    /// bytes.
    pub fn new(
        hosts: Hosts,
        ports: Ports,
        doors: NodePorts,
        flows: Vec<Option<Ends>>,
        frame_bytes_max: usize,
        clock: Clock,
        sink: &'a mut S,
    ) -> Self {
        Self {
            hosts,
            counts: Counts::default(),
            sink,
            clock,
            last: Instant::ZERO,
            ports,
            doors,
            programs: Programs::new(flows.len()),
            planned: VecDeque::new(),
            begun: Vec::new(),
            flows,
            frames: Frames::new(frame_bytes_max),
            outbox: Vec::with_capacity(WRITE_BATCH),
            done: Vec::new(),
            kept: VecDeque::new(),
        }
    }

    /// The ports, whose doors the loop waits for.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    /// The backlog of a saturated flow whose endpoints are the kernel's; `None` for other flows.
    pub fn backlog(&mut self, now: Instant, flow: FlowId) -> Option<Backlog> {
        self.hosts.backlog(now, flow)
    }

    /// Replaces the plan from `at` on by `changes`, in ascending order; earlier plans for later
    /// instants are dropped. Every change must be possible, as for [`Hosts::change`].
    pub fn plan_changes(&mut self, at: Instant, changes: Vec<(Instant, Change)>) {
        self.planned.retain(|(due, _)| *due <= at);
        self.planned.extend(changes);
    }

    /// Starts the machines.
    pub fn start(&mut self) {
        self.hosts.start(Instant::ZERO, self.sink);
    }

    /// Whether all flows are measurements, and all are done.
    pub fn is_done(&self) -> bool {
        self.hosts.is_done()
    }

    /// The next instant at which the machines must be woken.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let of_hosts = self.hosts.poll_timeout().map(|(at, _)| at);
        of_hosts.into_iter().chain(self.planned.front().map(|(at, _)| *at)).min()
    }

    /// Does the work that is due by `now`, and passes on the deliveries.
    pub fn advance(&mut self, now: Instant) {
        self.catch_up(now);
        self.hand_over();
    }

    /// Reads the frames that wait at a door, [`TURN_PACKETS`] at most. Deliveries that are due
    /// are handed over first, so that they do not wait for the reads.
    pub fn take_frames(&mut self, door: usize) {
        self.advance(self.clock.now());
        for _ in 0..TURN_PACKETS {
            let tag = self.frames.take();
            let Some((port, length)) = self.ports.read(door, self.frames.buffer(tag)) else {
                self.frames.release(tag);
                break;
            };
            self.frames.set_length(tag, length);
            let now = self.clock.now();
            self.catch_up(now);
            self.enter(now, self.doors.nodes[usize::from(port)], tag);
        }
        self.hand_over();
    }

    fn catch_up(&mut self, now: Instant) {
        while self.planned.front().is_some_and(|(at, _)| *at <= now) {
            let Some((at, change)) = self.planned.pop_front() else { break };
            self.step_until(at);
            // An instant that the machines have passed is not come back to.
            self.last = self.last.max(at);
            let frames = &self.frames;
            let bytes = |tag| frames.get(tag).map(<[u8]>::to_vec);
            let made = self.hosts.change(self.last, &change, self.sink, &bytes);
            debug_assert!(made.is_ok(), "it was tried before: {made:?}");
            self.drain();
        }
        self.step_until(now);
    }

    fn step_until(&mut self, until: Instant) {
        loop {
            let frames = &self.frames;
            let bytes = |tag| frames.get(tag).map(<[u8]>::to_vec);
            let Some(at) = self.hosts.step(until, self.sink, &bytes) else { return };
            self.last = self.last.max(at);
            self.drain();
        }
    }

    fn enter(&mut self, now: Instant, node: NodeId, tag: u64) {
        let now = now.max(self.last);
        self.last = now;
        let Some(frame) = self.frames.get(tag) else { return };
        self.sink.frame(now, node, FrameDirection::Sent, frame);
        let Some((header, destination)) =
            Header::parse(frame).and_then(|h| Some((h, self.destination(h.destination)?)))
        else {
            self.counts.unaddressed += 1;
            self.frames.release(tag);
            return;
        };
        let mut packet = Packet::new(tag, header.packet_bytes, now);
        packet.source = node;
        packet.destination = destination;
        packet.flow = self.flow_of(&header, node, destination);
        if packet.flow == FlowId::NONE && destination != Packet::EVERYWHERE {
            let (id, new) = self.programs.number(&header, node, destination);
            packet.flow = id;
            if let Some(flow) = new {
                self.sink.program_flow(now, id, &flow);
                if let (Some([source_port, _]), Some(port)) =
                    (flow.ports, self.doors.ports[node.index()])
                {
                    let protocol = flow.protocol;
                    self.begun.push(Begun { flow: id, port, protocol, source_port });
                }
            }
        }
        packet.flow_hash = header.flow_hash;
        packet.access_category = header.access_category;
        packet.ecn_capable = header.ecn_capable;
        packet.ecn_l4s = header.ecn_l4s;
        packet.transport = header.transport;
        self.counts.entered += 1;
        let frames = &self.frames;
        let bytes = |tag| frames.get(tag).map(<[u8]>::to_vec);
        self.hosts.handle_packet(now, packet, self.sink, &bytes);
        self.drain();
    }

    /// Handles the outputs of the machines.
    fn drain(&mut self) {
        while let Some(output) = self.hosts.poll_output() {
            match output {
                Output::Arrived { at, node, packet } => self.arrive(at, node, &packet),
                Output::Dropped { packet, .. } => {
                    if packet.destination != Packet::EVERYWHERE {
                        self.done.push(packet.tag);
                    }
                }
                Output::Released { tag } => self.done.push(tag),
                Output::Diverted { .. }
                | Output::Overheard { .. }
                | Output::Left(_)
                | Output::Space { .. } => unreachable!("flows and coded links take these"),
            }
        }
        if self.outbox.len() >= WRITE_BATCH {
            self.hand_over();
        }
    }

    fn arrive(&mut self, at: Instant, node: NodeId, packet: &Packet) {
        if packet.ecn_marked
            && let Some(frame) = self.frames.get_mut(packet.tag)
        {
            frame::mark_congestion(frame);
        }
        if let Some(frame) = self.frames.get(packet.tag)
            && let Some(port) = self.doors.ports[node.index()]
        {
            self.sink.frame(at, node, FrameDirection::Received, frame);
            self.outbox.push(Delivery { due: at, port, tag: packet.tag });
        }
        if packet.destination != Packet::EVERYWHERE {
            self.done.push(packet.tag);
        }
    }

    /// Writes the deliveries to the nodes' interfaces, and releases the buffers.
    fn hand_over(&mut self) {
        for batch in self.outbox.chunks(self.ports.batch()) {
            let frames = &self.frames;
            let frame = |d: &Delivery| frames.get(d.tag).map(|frame| (d.port, frame));
            let out: Vec<(u16, &[u8])> = batch.iter().filter_map(frame).collect();
            self.counts.refused += self.ports.write(&out) as u64;
            self.counts.delivered += out.len() as u64;
            let now = self.clock.now();
            for delivery in batch {
                let late = now.saturating_since(delivery.due);
                let level = u32::try_from(late.as_nanos()).unwrap_or(u32::MAX);
                self.counts.lateness_ns.add(level, 1);
                self.sink.lateness(now, late);
            }
        }
        self.outbox.clear();
        if self.sink.wants_events() {
            let until = self.last + PPDU_MAX;
            self.kept.extend(self.done.drain(..).map(|tag| (until, tag)));
        }
        while self.kept.front().is_some_and(|(until, _)| *until < self.last) {
            self.done.extend(self.kept.pop_front().map(|(_, tag)| tag));
        }
        for tag in self.done.drain(..) {
            self.frames.release(tag);
        }
    }

    /// Returns the node with that address, or everywhere for a group address.
    fn destination(&self, address: MacAddr) -> Option<NodeId> {
        if address.is_multicast() {
            return Some(Packet::EVERYWHERE);
        }
        let MacAddr([_, _, a, b, c, d]) = address;
        let node = usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
        let known = address == MacAddr::local(node as u32) && self.doors.ports.get(node)?.is_some();
        known.then_some(NodeId(node as u16))
    }

    fn flow_of(&self, header: &Header, from: NodeId, to: NodeId) -> FlowId {
        let numbers = header.ports.into_iter().flatten();
        for index in numbers.filter_map(|port| port.checked_sub(FIRST_PORT)) {
            let flow = self.flows.get(usize::from(index)).copied().flatten();
            let ends = flow.map(|flow| (flow.from, flow.to));
            if ends == Some((from, to)) || ends == Some((to, from)) {
                return FlowId(index);
            }
        }
        FlowId::NONE
    }

    /// The flows of programs that have begun since the last call.
    pub fn take_begun(&mut self) -> Vec<Begun> {
        std::mem::take(&mut self.begun)
    }

    /// The flows of programs that got no number.
    pub fn programs_left_out(&self) -> ProgramsLeftOut {
        self.programs.left_out()
    }

    /// The number of frames that the ports dropped since the last call because they were not
    /// read in time.
    pub fn unread_drops(&self) -> u64 {
        self.ports.drops()
    }

    /// Ends the machines at `now`, and returns their counters.
    pub fn finish(&mut self, now: Instant) -> NetworkStats {
        self.hosts.finish(self.last.max(now), self.sink)
    }

    /// Whether a queue became shorter since the last call.
    pub fn take_space(&mut self) -> bool {
        self.hosts.take_space()
    }

    /// The time on the clock.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }
}
