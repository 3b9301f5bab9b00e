//! A TCP flow in virtual time: an endpoint and an application at each end, and the
//! segments in flight. Neither end needs a kernel.
//!
//! A [`Packet`] has no payload; its tag identifies the segment that it carries. An end requests
//! only a wake-up that is earlier than the one it has requested: a timer that moves back with every
//! acknowledgement, as most do, costs nothing. A flow that fetches has several connections
//! (`fetching`); their numbers are in the tags of packets and in the wake-ups.

use crate::HostsError;
use crate::in_flight::InFlight;
use crate::port::{Port, Wake};
use crate::receive_offload::{Merged, ReceiveOffload};
use crate::web::{REQUEST, Request};
use crate::{Flow, Sink, TcpApplication, TcpFlow, TcpSample};
use alloc::collections::VecDeque;
use lasthop_net::network::Network;
use lasthop_packet::{AccessCategory, FlowId, NodeId, Packet, Released, Transport};
use lasthop_tcp::application::{Application, ApplicationKind, Side};
use lasthop_tcp::wire::{Announced, Header};
use lasthop_tcp::{Config, Endpoint, HEADER_BYTES, Segment, SmallQueues};
use lasthop_units::{Bytes, Instant, Machine, Stream};

/// Bytes that an application with a limited rate writes at once: a frame of video, a line of a log.
const CHUNK: Bytes = Bytes::new(10_000);

/// Limit of unsent bytes in a socket: the maximum of Linux' `tcp_wmem`.
const SEND_BUFFER_BYTES: u64 = 4 << 20;

/// Index of the end at which the flow starts.
const SENDER: usize = 0;
/// Index of the end at which the flow ends.
const RECEIVER: usize = 1;

/// A TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tcp {
    id: FlowId,
    nodes: [NodeId; 2],
    /// Flow hash of the packets that leave each end.
    hashes: [u32; 2],
    access_category: AccessCategory,
    endpoints: [Endpoint; 2],
    /// Options that each end announces in its SYN.
    announced: [Announced; 2],
    /// Whether the sink needs a report of every segment.
    tells: bool,
    applications: [Application; 2],
    /// Number of bytes that each application has read.
    read: [u64; 2],
    /// Writes of the sending application that the other one has not read: the number of the last
    /// byte, and the time. Empty for a bulk transfer, which never stops writing.
    unread: VecDeque<(u64, Instant)>,
    written: u64,
    segments: InFlight<Segment>,
    /// The earliest wake-up that each end has asked for.
    asked: [Instant; 2],
    /// Whether full queues of the sender's node refuse segments instead of dropping them.
    refuses: bool,
    /// Whether the node of each end reports when its packets leave: small queues count them.
    notify: [bool; 2],
    /// Whether segments are as long as the path permits at the time.
    adapts: bool,
    /// The end that opens the connection.
    opener: usize,
    /// Added to the number of an end in its wake-ups: twice the number of the connection.
    first_end: usize,
    /// Instant at which the application stops.
    stop: Instant,
    /// Rules for merging segments that arrive, and those that wait at each end.
    receive_offload: Option<ReceiveOffload>,
    merged: [Option<Merged>; 2],
    /// Bytes that the socket of an endless stream holds; a socket's buffer never shrinks.
    socket_bytes: u64,
    /// Whether the threshold of earlier connections counts, and whether this one's is to be kept.
    inherits: bool,
    bequeaths: bool,
}

impl Tcp {
    /// Returns a connection that is not open. `stream` draws the seeds of its endpoints.
    pub fn new(
        id: FlowId,
        flow: &Flow,
        tcp: &TcpFlow,
        hash: u32,
        stop: Instant,
        network: &Network,
        stream: &mut Stream,
    ) -> Result<Self, HostsError> {
        let Some(endpoints) = tcp.endpoints else {
            let (flow, name) = (flow.name.clone(), tcp.congestion_control.clone());
            return Err(HostsError::CongestionControl { flow, name });
        };
        let [there, back] = [(flow.from, flow.to), (flow.to, flow.from)]
            .map(|(from, to)| network.path_mtu(from, to));
        let segment_bytes = there.min(back) - HEADER_BYTES;
        let adapts = network.adaptive_mtu(flow.from, flow.to).is_some();
        // Small queues hold for what a node itself queues: a line is another box.
        let owns = [(flow.from, flow.to), (flow.to, flow.from)]
            .map(|(from, to)| network.has_own_queue(from, to));
        let mut endpoints = endpoints;
        for (endpoint, _) in endpoints.iter_mut().zip(owns).filter(|(_, owns)| !owns) {
            endpoint.small_queues = SmallQueues::Off;
        }
        for endpoint in &mut endpoints {
            endpoint.seed = stream.next_u64();
        }
        // What an end announces is for the segments of the other one.
        let mut announced =
            endpoints.map(|end| Announced::from_config(&Config { segment_bytes, ..end }));
        if adapts {
            let segment_bytes = network.path_mtu_max(flow.from, flow.to) - HEADER_BYTES;
            let longest = Announced::from_config(&Config { segment_bytes, ..endpoints[RECEIVER] });
            announced[RECEIVER] = longest;
        }
        let application = application(tcp);
        // Who fetches opens the connection.
        let sides = match application {
            ApplicationKind::Fetches => [Side::Server, Side::Client],
            _ => [Side::Client, Side::Server],
        };
        Ok(Self {
            id,
            nodes: [flow.from, flow.to],
            hashes: [hash, !hash],
            access_category: flow.access_category,
            endpoints: endpoints.map(|config| Endpoint::new(&Config { segment_bytes, ..config })),
            announced,
            tells: false,
            applications: sides.map(|side| Application::new(application, side, flow.start)),
            read: [0; 2],
            unread: VecDeque::new(),
            written: 0,
            segments: InFlight::default(),
            asked: [Instant::MAX; 2],
            adapts,
            refuses: endpoints[SENDER].local_congestion,
            notify: endpoints.map(|end| end.small_queues != SmallQueues::Off),
            opener: usize::from(sides[RECEIVER] == Side::Client),
            first_end: 0,
            stop,
            receive_offload: tcp.receive_offload,
            merged: [None; 2],
            socket_bytes: 0,
            inherits: tcp.metrics_save,
            bequeaths: tcp.metrics_save,
        })
    }

    /// Returns the connection with this number among those of its flow, which have sent `sent`
    /// segments.
    pub fn numbered(self, number: u8, sent: u64) -> Self {
        let segments = InFlight::after(sent, number);
        Self { segments, first_end: 2 * usize::from(number), ..self }
    }

    /// Number of segments sent so far, those before this connection included.
    pub fn segments_sent(&self) -> u64 {
        self.segments.count()
    }

    /// Opens the connection.
    pub fn start<S: Sink>(&mut self, now: Instant, net: &mut Port<'_, S>) {
        self.tells = net.sink.wants_segments();
        if self.inherits
            && let Some(&threshold) = net.thresholds.get(&self.nodes)
        {
            self.endpoints[SENDER].set_ssthresh(threshold);
        }
        self.endpoints[self.opener].connect(now);
        if self.stop < Instant::MAX {
            net.wakes.push(Wake { at: self.stop, flow: self.id, end: self.first_end + SENDER });
        }
        self.act(self.opener, now, net);
    }

    /// Fetches an object, after the one before.
    pub fn fetch<S: Sink>(&mut self, now: Instant, request: Request, net: &mut Port<'_, S>) {
        for application in &mut self.applications {
            application.fetch(now, REQUEST, request.response);
        }
        self.act(self.opener, now, net);
    }

    /// Whether an object has arrived since the last call.
    pub fn has_fetched(&mut self) -> bool {
        self.applications[self.opener].poll_exchange().is_some()
    }

    /// Closes the connection after the current object.
    pub fn close<S: Sink>(&mut self, now: Instant, net: &mut Port<'_, S>) {
        self.applications[self.opener].close();
        self.act(self.opener, now, net);
    }

    /// Handles a wake-up; the timer may have moved since.
    pub fn wake<S: Sink>(&mut self, wake: Wake, net: &mut Port<'_, S>) {
        let now = wake.at;
        let end = wake.end - self.first_end;
        if now == self.stop {
            // Discards what the application wrote and the connection has not sent.
            self.endpoints[SENDER].discard_unsent();
        } else if now != self.asked[end] {
            // An earlier wake-up was asked for later, and has done everything.
            return;
        }
        self.asked[end] = Instant::MAX;
        if self.merged[end].as_ref().is_some_and(|merged| merged.due <= now) {
            self.merged[end] = None;
        }
        self.endpoints[end].handle_timeout(now);
        self.act(end, now, net);
    }

    /// Handles a packet that arrived at its destination.
    #[inline]
    pub fn arrived<S: Sink>(&mut self, at: Instant, packet: &Packet, net: &mut Port<'_, S>) {
        let end = usize::from(packet.destination == self.nodes[RECEIVER]);
        let segment = self.segments.get(packet.tag).expect("a packet ends once");
        if let Some(rules) = self.receive_offload
            && segment.payload_bytes > 0
        {
            let segment = *segment;
            self.segments.end(packet.tag);
            return self.merge(rules, end, at, &segment, packet.ecn_marked, net);
        }
        self.endpoints[end].handle_segment(at, segment, packet.ecn_marked);
        self.segments.end(packet.tag);
        self.tell_round_trips(end, at, net);
        self.act(end, at, net);
    }

    /// Reports the round-trip times that the last segment measured.
    fn tell_round_trips<S: Sink>(&self, end: usize, at: Instant, net: &mut Port<'_, S>) {
        if end == SENDER {
            for &round_trip in self.endpoints[SENDER].round_trips() {
                net.sink.round_trip(at, self.id, round_trip);
            }
        }
    }

    /// Handles data that arrived at `end` and waits for more; it is acknowledged later. TCP sees it
    /// at once, which changes nothing but the time of acknowledgements.
    fn merge<S: Sink>(
        &mut self,
        rules: ReceiveOffload,
        end: usize,
        now: Instant,
        segment: &Segment,
        is_marked: bool,
        net: &mut Port<'_, S>,
    ) {
        let merged = self.merged[end].as_mut();
        if !merged.is_some_and(|merged| merged.take(rules, segment, is_marked)) {
            if self.merged[end].is_some() {
                self.act(end, now, net);
            }
            self.merged[end] = Some(Merged::new(rules, now, segment, is_marked));
        }
        self.endpoints[end].handle_segment(now, segment, is_marked);
        self.tell_round_trips(end, now, net);
        let merged = self.merged[end].filter(|merged| !merged.is_complete(rules));
        self.merged[end] = merged;
        let Some(Merged { due, .. }) = merged else { return self.act(end, now, net) };
        if due < self.asked[end] {
            self.asked[end] = due;
            net.wakes.push(Wake { at: due, flow: self.id, end: self.first_end + end });
        }
    }

    /// The segment of a packet; `None` if the packet has ended.
    pub fn segment(&self, packet: &Packet) -> Option<&Segment> {
        self.segments.get(packet.tag)
    }

    /// Handles the loss of a packet.
    pub fn dropped(&mut self, packet: &Packet) {
        self.segments.end(packet.tag);
    }

    /// Notes that packets of one end have left its node.
    #[inline]
    pub fn released<S: Sink>(&mut self, released: Released, net: &mut Port<'_, S>) {
        let now = net.network.now();
        let end = usize::from(released.source == self.nodes[RECEIVER]);
        let endpoint = &mut self.endpoints[end];
        endpoint.handle_released(now, released.packets, released.bytes);
        // Usually nothing waited for it; then no timer has changed either.
        if self.adapts || !endpoint.is_settled() {
            self.transmit(end, now, net);
        }
    }

    /// Reports the state of the sender.
    pub fn sample<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        let sender = &self.endpoints[SENDER];
        self.socket_bytes = self.socket_bytes.max(sender.socket_bytes());
        // An endless stream is never written: its application fills the socket.
        let bytes_written = match sender.unsent_bytes() {
            Endpoint::BULK => sender.acknowledged_bytes() + self.socket_bytes,
            _ if self.socket_bytes > 0 && self.written == 0 => {
                sender.acknowledged_bytes() + sender.bytes_in_flight()
            }
            _ => self.written,
        };
        let sample = TcpSample {
            cwnd_packets: sender.cwnd_packets(),
            ssthresh_packets: Some(sender.ssthresh()).filter(|&segments| segments < u32::MAX),
            smoothed_rtt: sender.smoothed_rtt().unwrap_or_default(),
            latest_rtt: sender.latest_rtt().unwrap_or_default(),
            retransmissions: sender.retransmissions(),
            bytes_acked: sender.acknowledged_bytes(),
            bytes_in_flight: sender.bytes_in_flight(),
            bytes_written: Some(bytes_written),
        };
        sink.tcp(now, self.id, &sample);
    }

    /// Lets the application at `end` read and write, and its endpoint send.
    fn act<S: Sink>(&mut self, end: usize, now: Instant, net: &mut Port<'_, S>) {
        let (application, endpoint) = (&mut self.applications[end], &mut self.endpoints[end]);
        let received = endpoint.received_bytes();
        if received > self.read[end] {
            application.handle_received(now, received - self.read[end]);
            self.read[end] = received;
            while end == RECEIVER
                && let Some(&(until, at)) = self.unread.front()
                && until <= received
            {
                self.unread.pop_front();
                net.sink.application_delay(now, self.id, now - at);
            }
        }
        if now < self.stop {
            application.handle_timeout(now);
            let space = match application.pending() {
                Endpoint::BULK if endpoint.unsent_bytes() == 0 => Endpoint::BULK,
                Endpoint::BULK => 0,
                _ => SEND_BUFFER_BYTES.saturating_sub(endpoint.unsent_bytes()),
            };
            let bytes = application.write(space);
            if bytes > 0 {
                if end == SENDER && bytes != Endpoint::BULK {
                    self.written += bytes;
                    self.unread.push_back((self.written, now));
                }
                endpoint.write(now, bytes);
            }
            if application.is_finished() {
                endpoint.finish(now);
            }
        }
        self.transmit(end, now, net);
        if self.bequeaths && end == SENDER {
            self.bequeath(now, net);
        }
    }

    /// Keeps the slow start threshold of a connection that has ended: its application has finished
    /// or stopped, and everything is acknowledged.
    fn bequeath<S: Sink>(&mut self, now: Instant, net: &mut Port<'_, S>) {
        let sender = &self.endpoints[SENDER];
        let is_over = sender.is_sent() || (now >= self.stop && sender.bytes_in_flight() == 0);
        if !is_over {
            return;
        }
        self.bequeaths = false;
        let kept = net.thresholds.get(&self.nodes).copied();
        if let Some(threshold) = sender.ssthresh_to_keep(kept) {
            net.thresholds.insert(self.nodes, threshold);
        }
    }

    /// Sends the segments of an end, and asks for its next wake-up.
    fn transmit<S: Sink>(&mut self, end: usize, now: Instant, net: &mut Port<'_, S>) {
        loop {
            if self.adapts && end == SENDER {
                let mtu = net.network.path_mtu(self.nodes[end], self.nodes[1 - end]);
                self.endpoints[end].set_segment_bytes(mtu - HEADER_BYTES);
            }
            let Some(segment) = self.endpoints[end].poll_transmit(now) else { break };
            let bytes = u16::try_from(segment.packet_bytes()).expect("an MTU is below 65 536");
            let packet = Packet {
                flow: self.id,
                flow_hash: self.hashes[end],
                source: self.nodes[end],
                destination: self.nodes[1 - end],
                access_category: self.access_category,
                transport: Transport::Tcp,
                ecn_capable: segment.ecn_capable,
                ecn_l4s: segment.ecn_l4s,
                notify: self.notify[end] && segment.payload_bytes > 0,
                ..Packet::new(self.segments.put(segment), bytes, now)
            };
            if self.tells {
                self.tell(end, packet.tag, net.sink);
            }
            if !self.refuses {
                net.sink.sent(now, &packet);
                net.network.handle_packet(now, packet);
            } else if net.network.handle_offer(now, &packet, 1, |_| {}) == 1 {
                net.sink.sent(now, &packet);
            } else {
                self.segments.end(packet.tag);
                self.endpoints[end].handle_refused(now, &segment);
                break;
            }
        }
        let timer = self.endpoints[end].poll_timeout().map(|(at, _)| at);
        // From the stop on it writes nothing, whenever it would.
        let writes = self.applications[end].poll_timeout().filter(|&at| at < self.stop);
        if let Some(at) = timer.into_iter().chain(writes).min()
            && at < self.asked[end]
        {
            self.asked[end] = at;
            net.wakes.push(Wake { at: at.max(now), flow: self.id, end: self.first_end + end });
        }
    }

    /// Reports the segment that `end` sends in the packet with this tag.
    #[cold]
    fn tell<S: Sink>(&self, end: usize, tag: u64, sink: &mut S) {
        let segment = self.segments.get(tag).expect("it has not left");
        let header = Header {
            segment,
            announced: self.announced[end],
            initial: [end, 1 - end].map(|end| self.hashes[end].max(1)),
            push: self.endpoints[end].is_pushed(segment),
        };
        sink.segment(self.id, tag, self.nodes[end], &header);
    }
}

/// Returns the application at the ends of `flow`.
fn application(flow: &TcpFlow) -> ApplicationKind {
    match &flow.application {
        TcpApplication::Bulk => match flow.bytes {
            None => ApplicationKind::Bulk,
            Some(bytes) => ApplicationKind::Transfer(bytes),
        },
        &TcpApplication::Rate(rate) => ApplicationKind::Limited { rate, chunk: CHUNK },
        &TcpApplication::Requests { request, response, think } => {
            ApplicationKind::RequestResponse { request, response, think, exchanges: None }
        }
        TcpApplication::Web(_) | TcpApplication::Stream(_) => ApplicationKind::Fetches,
    }
}
