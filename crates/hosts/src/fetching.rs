//! A flow whose reader, at its end, fetches objects over TCP connections that it opens: the reader
//! decides (`web`), and each connection is that of a bulk transfer (`tcp`).
//!
//! Connections that were closed are forgotten when the reader asks again; packets of them that are
//! still on their way are then ignored. Small queues are off, because a flow's packets that leave a
//! node are counted together: the server stands behind the node, as on the Internet. So is the
//! adaption of segments to an MTU that changes while a connection is open.

use crate::HostsError;
use crate::port::{Port, Wake};
use crate::tcp::Tcp;
use crate::web::{Page, Reader, WebConfig};
use crate::{Flow, Sink, TcpFlow, connection_of};
use alloc::vec::Vec;
use lasthop_net::network::Network;
use lasthop_packet::{FlowId, Packet};
use lasthop_tcp::{Segment, SmallQueues};
use lasthop_units::{Identity, Instant, Seed, Stream};

/// Number of the end of a wake-up for the reader.
const READER: usize = usize::MAX;

/// A flow that fetches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fetching {
    id: FlowId,
    flow: Flow,
    tcp: TcpFlow,
    /// Seeds of the endpoints.
    seeds: Stream,
    reader: Reader,
    /// The connections by number; `None` if it was not opened.
    connections: Vec<Option<Tcp>>,
    /// Whether all connections are closed.
    is_closed: bool,
    /// Number of connections that were opened.
    opened: u64,
    /// Number of segments that forgotten connections sent.
    sent: u64,
    /// The earliest wake-up that the reader has asked for.
    asked: Instant,
    /// Instant from which the reader asks for nothing.
    stop: Instant,
}

impl Fetching {
    /// Returns a flow without a connection.
    pub fn new(
        id: FlowId,
        flow: &Flow,
        tcp: &TcpFlow,
        web: WebConfig,
        stop: Instant,
        network: &Network,
        seed: Seed,
    ) -> Result<Self, HostsError> {
        let mut tcp = tcp.clone();
        for endpoint in tcp.endpoints.iter_mut().flatten() {
            endpoint.small_queues = SmallQueues::Off;
        }
        let mut seeds = seed.stream_of("flow/tcp", flow.identity());
        // The configuration is sound for all connections if it is for one.
        Tcp::new(id, flow, &tcp, 0, stop, network, &mut seeds)?;
        let stream = seed.stream_of("flow/web", flow.identity());
        Ok(Self {
            id,
            reader: Reader::new(web, flow.start, stream),
            connections: (0..web.connections.max(1)).map(|_| None).collect(),
            is_closed: false,
            flow: flow.clone(),
            tcp,
            seeds,
            opened: 0,
            sent: 0,
            asked: Instant::MAX,
            stop,
        })
    }

    /// Starts the reader.
    pub fn start<S: Sink>(&mut self, net: &mut Port<'_, S>) {
        self.ask(net);
    }

    /// Handles a wake-up of the reader, or of an end of a connection that may be closed.
    pub fn wake<S: Sink>(&mut self, wake: Wake, net: &mut Port<'_, S>) {
        if wake.end != READER {
            let number = wake.end / 2;
            if let Some(connection) = &mut self.connections[number] {
                connection.wake(wake, net);
                self.look(number, wake.at, net);
            }
        } else if wake.at == self.asked {
            self.asked = Instant::MAX;
            self.reader.handle_timeout(wake.at);
            self.act(wake.at, net);
        }
    }

    /// Handles a packet that arrived at its destination.
    pub fn arrived<S: Sink>(&mut self, at: Instant, packet: &Packet, net: &mut Port<'_, S>) {
        if self.segment(packet).is_none() {
            return;
        }
        let number = usize::from(connection_of(packet.tag));
        if let Some(connection) = &mut self.connections[number] {
            connection.arrived(at, packet, net);
            self.look(number, at, net);
        }
    }

    /// The segment of a packet; `None` if its connection is forgotten.
    pub fn segment(&self, packet: &Packet) -> Option<&Segment> {
        let number = usize::from(connection_of(packet.tag));
        self.connections.get(number)?.as_ref()?.segment(packet)
    }

    /// Handles the loss of a packet.
    pub fn dropped(&mut self, packet: &Packet) {
        if self.segment(packet).is_some()
            && let Some(connection) = &mut self.connections[usize::from(connection_of(packet.tag))]
        {
            connection.dropped(packet);
        }
    }

    /// Reports the page that is not complete.
    pub fn stop<S: Sink>(&self, now: Instant, sink: &mut S) {
        if let Some(page) = self.reader.page() {
            sink.page(now, self.id, &page);
        }
    }

    /// Tells the reader of an object that arrived on the connection.
    fn look<S: Sink>(&mut self, number: usize, now: Instant, net: &mut Port<'_, S>) {
        if self.connections[number].as_mut().is_some_and(Tcp::has_fetched) {
            self.reader.handle_object(now, number);
            self.act(now, net);
        }
    }

    /// Makes the reader's requests.
    fn act<S: Sink>(&mut self, now: Instant, net: &mut Port<'_, S>) {
        if let Some(page) = self.reader.poll_page() {
            self.end_page(now, &page, net);
        }
        while now < self.stop
            && let Some(request) = self.reader.poll_request()
        {
            self.forget();
            let number = request.connection;
            let connection = match &mut self.connections[number] {
                Some(connection) => connection,
                None => self.open(number, now, net),
            };
            connection.fetch(now, request, net);
        }
        self.ask(net);
    }

    /// Reports a page, and closes its connections. They end by themselves.
    fn end_page<S: Sink>(&mut self, now: Instant, page: &Page, net: &mut Port<'_, S>) {
        net.sink.page(now, self.id, page);
        for connection in self.connections.iter_mut().flatten() {
            connection.close(now, net);
        }
        self.is_closed = true;
    }

    /// Forgets the connections if they are closed.
    fn forget(&mut self) {
        if core::mem::take(&mut self.is_closed) {
            self.sent = self.segments_sent();
            self.connections.iter_mut().for_each(|connection| *connection = None);
        }
    }

    /// Number of segments sent so far, at least those of the connection that sent most.
    fn segments_sent(&self) -> u64 {
        let sent = self.connections.iter().flatten().map(Tcp::segments_sent).max();
        sent.unwrap_or(0).max(self.sent)
    }

    /// Opens the connection with this number.
    fn open<S: Sink>(&mut self, number: usize, now: Instant, net: &mut Port<'_, S>) -> &mut Tcp {
        let identity = self.flow.identity().to(Identity::numbered(self.opened));
        self.opened += 1;
        let connection = Tcp::new(
            self.id,
            &self.flow,
            &self.tcp,
            identity.hash(),
            self.stop,
            net.network,
            &mut self.seeds,
        );
        let connection = connection.expect("its configuration was tried before");
        let sent = self.segments_sent();
        let connection = connection.numbered(number as u8, sent);
        let connection = self.connections[number].insert(connection);
        connection.start(now, net);
        connection
    }

    /// Asks for the next wake-up of the reader.
    fn ask<S: Sink>(&mut self, net: &mut Port<'_, S>) {
        if let Some(at) = self.reader.poll_timeout().filter(|&at| at < self.stop)
            && at < self.asked
        {
            self.asked = at;
            net.wakes.push(Wake { at, flow: self.id, end: READER });
        }
    }
}
