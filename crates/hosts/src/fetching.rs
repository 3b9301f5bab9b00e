//! A flow whose fetcher, at its end, fetches objects over TCP connections that it opens: the fetcher
//! decides (`web`, `player`), and each connection is that of a bulk transfer (`tcp`).
//!
//! Connections of a page are closed at its end, and forgotten when the next one begins; packets of
//! them that are still on their way are then ignored. Pages have no small queues, because a flow's
//! packets that leave a node are counted together: the server stands behind the node, as on the
//! Internet. Windows of pages are not sampled. A stream has one connection for all its time.

use crate::HostsError;
use crate::player::Player;
use crate::port::{Port, Wake};
use crate::tcp::Tcp;
use crate::web::{Page, Reader, Request};
use crate::{Flow, Sink, TcpApplication, TcpFlow, connection_of};
use alloc::vec::Vec;
use lasthop_net::network::Network;
use lasthop_packet::{FlowId, Packet, Released};
use lasthop_tcp::{Segment, SmallQueues};
use lasthop_units::{Identity, Instant, Stream};

/// Number of the end of a wake-up for the fetcher.
const FETCHER: usize = usize::MAX;

/// A reader of pages, or a player of a film.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fetcher {
    Reader(Reader),
    Player(Player),
}

impl Fetcher {
    /// Returns the fetcher of an application; `None` if it does not fetch. `stream` draws a
    /// reader's pages.
    pub fn new(application: &TcpApplication, start: Instant, stream: Stream) -> Option<Self> {
        match application {
            TcpApplication::Web(web) => Some(Self::Reader(Reader::new(*web, start, stream))),
            TcpApplication::Stream(film) => Some(Self::Player(Player::new(film.clone(), start))),
            TcpApplication::Bulk | TcpApplication::Rate(_) | TcpApplication::Requests { .. } => {
                None
            }
        }
    }

    /// Largest number of connections at a time.
    fn connections(&self) -> usize {
        match self {
            Self::Reader(reader) => reader.connections(),
            Self::Player(_) => 1,
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Reader(reader) => reader.poll_timeout(),
            Self::Player(player) => player.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Reader(reader) => reader.handle_timeout(now),
            Self::Player(player) => player.handle_timeout(now),
        }
    }

    /// Handles the last byte of the object on the connection with this number.
    fn handle_object(&mut self, now: Instant, connection: usize) {
        match self {
            Self::Reader(reader) => reader.handle_object(now, connection),
            Self::Player(player) => player.handle_segment(now),
        }
    }

    fn poll_request(&mut self) -> Option<Request> {
        match self {
            Self::Reader(reader) => reader.poll_request(),
            Self::Player(player) => {
                player.poll_request().map(|response| Request { connection: 0, response })
            }
        }
    }
}

/// A flow that fetches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fetching {
    id: FlowId,
    flow: Flow,
    tcp: TcpFlow,
    /// Seeds of the endpoints.
    seeds: Stream,
    fetcher: Fetcher,
    /// The connections by number; `None` if it was not opened.
    connections: Vec<Option<Tcp>>,
    /// Whether all connections are closed.
    is_closed: bool,
    /// Number of connections that were opened.
    opened: u64,
    /// Number of segments that forgotten connections sent.
    sent: u64,
    /// The earliest wake-up that the fetcher has asked for.
    asked: Instant,
    /// Instant from which the fetcher makes no request.
    stop: Instant,
}

impl Fetching {
    /// Returns a flow without a connection. `seeds` draws the seeds of its endpoints.
    pub fn new(
        id: FlowId,
        flow: &Flow,
        tcp: &TcpFlow,
        fetcher: Fetcher,
        stop: Instant,
        network: &Network,
        mut seeds: Stream,
    ) -> Result<Self, HostsError> {
        let mut tcp = tcp.clone();
        if matches!(fetcher, Fetcher::Reader(_)) {
            for endpoint in tcp.endpoints.iter_mut().flatten() {
                endpoint.small_queues = SmallQueues::Off;
            }
        }
        // The configuration is sound for all connections if it is for one.
        Tcp::new(id, flow, &tcp, 0, stop, network, &mut seeds)?;
        Ok(Self {
            id,
            connections: (0..fetcher.connections()).map(|_| None).collect(),
            fetcher,
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

    /// Starts the fetcher.
    pub fn start<S: Sink>(&mut self, net: &mut Port<'_, S>) {
        self.ask(net);
    }

    /// Handles a wake-up of the fetcher, or of an end of a connection that may be closed.
    pub fn wake<S: Sink>(&mut self, wake: Wake, net: &mut Port<'_, S>) {
        if wake.end != FETCHER {
            let number = wake.end / 2;
            if let Some(connection) = &mut self.connections[number] {
                connection.wake(wake, net);
                self.look(number, wake.at, net);
            }
        } else if wake.at == self.asked {
            self.asked = Instant::MAX;
            self.fetcher.handle_timeout(wake.at);
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

    /// Handles packets of a stream that have left the node of one end.
    pub fn released<S: Sink>(&mut self, released: Released, net: &mut Port<'_, S>) {
        if let Some(Some(connection)) = self.connections.first_mut() {
            connection.released(released, net);
        }
    }

    /// Reports the state of a stream's sender.
    pub fn sample<S: Sink>(&mut self, now: Instant, sink: &mut S) {
        if let (Fetcher::Player(_), Some(Some(connection))) =
            (&self.fetcher, self.connections.first_mut())
        {
            connection.sample(now, sink);
        }
    }

    /// Reports the page that is not complete, or the stall that lasts.
    pub fn stop<S: Sink>(&self, now: Instant, sink: &mut S) {
        match &self.fetcher {
            Fetcher::Reader(reader) => {
                if let Some(page) = reader.page() {
                    sink.page(now, self.id, &page);
                }
            }
            Fetcher::Player(player) => {
                let until = now.min(self.stop);
                if let Some(stall) = player.stall(until) {
                    sink.stream(until, self.id, &stall);
                }
            }
        }
    }

    /// Tells the fetcher of an object that arrived on the connection.
    fn look<S: Sink>(&mut self, number: usize, now: Instant, net: &mut Port<'_, S>) {
        if self.connections[number].as_mut().is_some_and(Tcp::has_fetched) {
            self.fetcher.handle_object(now, number);
            self.act(now, net);
        }
    }

    /// Reports what the fetcher notices, and makes its requests.
    fn act<S: Sink>(&mut self, now: Instant, net: &mut Port<'_, S>) {
        match &mut self.fetcher {
            Fetcher::Reader(reader) => {
                if let Some(page) = reader.poll_page() {
                    self.end_page(now, &page, net);
                }
            }
            Fetcher::Player(player) => {
                while let Some(event) = player.poll_event() {
                    net.sink.stream(now, self.id, &event);
                }
            }
        }
        while now < self.stop
            && let Some(request) = self.fetcher.poll_request()
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

    /// Reports a page, and closes its connections.
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

    /// Asks for the next wake-up of the fetcher.
    fn ask<S: Sink>(&mut self, net: &mut Port<'_, S>) {
        if let Some(at) = self.fetcher.poll_timeout().filter(|&at| at < self.stop)
            && at < self.asked
        {
            self.asked = at;
            net.wakes.push(Wake { at, flow: self.id, end: FETCHER });
        }
    }
}
