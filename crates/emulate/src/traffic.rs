//! The scenario's flows as real traffic: kernel sockets inside the nodes'
//! namespaces. The thread of the network sends datagrams; the event loop of another thread serves
//! the sockets of TCP and pings.
//!
//! | module | contents |
//! |---|---|
//! | `tcp` | a bulk transfer, its sender read at an interval |
//! | `datagrams` | UDP, paced by a [`Source`](lasthop_hosts::Source) or by free space in the queue |
//! | `ping` | ICMP echo |
//! | `notes` | reports to the thread of the network |
//!
//! The network counts the packets of a flow at both ends. This thread reports only facts that the
//! network cannot know: TCP's state and round trips.

mod datagrams;
mod notes;
mod ping;
mod tcp;

use datagrams::Datagrams;
use lasthop_hosts::{SourceConfig, TcpSample};
use lasthop_linux::clock::{Clock, Priority};
use lasthop_linux::event_loop::{Driver, EventLoop, Progress, Registry};
use lasthop_linux::supervisor::SocketKind;
use lasthop_linux::{Call, OsError};
use lasthop_packet::{AccessCategory, FlowId};
use lasthop_units::{Bytes, Duration, Instant, Stream};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::Signal;
use notes::Notes;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Flow `n` uses the port (the identifier, for ICMP) `FIRST_PORT + n`. Below
/// Linux's ephemeral ports, above those of usual servers.
pub const FIRST_PORT: u16 = 20_000;
/// Largest number of flows of a scenario: the number of ports for them.
pub const FLOWS_MAX: usize = 12_000;

/// Events that wake the thread, beside time.
#[derive(Clone, Copy, Debug)]
enum TrafficSource {
    /// A message of the other thread: it ends this one.
    Wake,
    /// A socket, by position of its flow's generator.
    Socket(usize, Side),
}

/// One end of a flow, as a name of its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The beginning of the flow.
    Source,
    /// The end of the flow.
    Sink,
}

/// A flow that kernel sockets generate.
#[derive(Debug)]
pub struct FlowPlan {
    /// Number of the flow in the scenario.
    pub id: FlowId,
    /// Traffic of the flow.
    pub kind: Kind,
    /// Address of the sender.
    pub from: Ipv4Addr,
    /// Address of the recipient.
    pub to: Ipv4Addr,
    /// Time at which the flow begins.
    pub start: Instant,
    /// Time at which the flow ends; the end of the run at the latest.
    pub stop: Instant,
    /// Priority on the air.
    pub access_category: AccessCategory,
    /// The random stream of its source.
    pub stream: Stream,
}

/// Traffic of a flow.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A bulk transfer.
    Tcp {
        /// Congestion control, by its name in the kernel.
        congestion_control: String,
        /// Bytes to be sent; `None`: as many as fit into the time.
        bytes: Option<Bytes>,
    },
    /// Datagrams of a source.
    Datagrams(SourceConfig),
    /// ICMP echo requests.
    Ping {
        /// Interval between requests.
        interval: Duration,
        /// Length of the IP packet in bytes.
        bytes: u16,
    },
}

/// A report of the thread, with facts that only the sockets have.
#[derive(Clone, Copy, Debug)]
pub enum Note {
    /// State of a TCP sender at an instant.
    Tcp(Instant, FlowId, TcpSample),
    /// A ping's answer: the instant of its arrival, the flow, and the round trip.
    RoundTrip(Instant, FlowId, Duration),
}

impl FlowPlan {
    /// Returns the port of both ends, which is the identifier of ICMP.
    pub fn port(&self) -> u16 {
        FIRST_PORT + self.id.0
    }

    /// Returns the kinds of the flow's sockets: the sender's, and the recipient's if it has one.
    pub fn sockets(&self) -> (SocketKind, Option<SocketKind>) {
        match &self.kind {
            Kind::Tcp { congestion_control, .. } => {
                let tcp = SocketKind::Tcp { congestion_control: Some(congestion_control.clone()) };
                (tcp.clone(), Some(tcp))
            }
            Kind::Datagrams(_) => (SocketKind::Udp, Some(SocketKind::Udp)),
            Kind::Ping { .. } => (SocketKind::Ping, None),
        }
    }

    fn source(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.from, self.port())
    }

    fn destination(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.to, self.port())
    }
}

/// The traffic, with the thread of TCP and pings, which ends when this is dropped.
#[derive(Debug)]
pub struct Traffic {
    datagrams: Vec<(FlowId, Datagrams)>,
    shared: Arc<SharedTraffic>,
    notes: Notes,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedTraffic {
    wake: EventFd,
    stop: AtomicBool,
}

impl Traffic {
    /// Starts the thread. `flows` come with the sockets of [`FlowPlan::sockets`]; senders of TCP
    /// are read every `sample_interval`. Due work may wait for up to `rest_max`
    /// ([`EventLoop::moderate`]).
    ///
    /// # Errors
    /// If a socket cannot be bound.
    pub fn start(
        flows: Vec<(FlowPlan, OwnedFd, Option<OwnedFd>)>,
        clock: Clock,
        sample_interval: Duration,
        rest_max: Duration,
    ) -> Result<Self, OsError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = EventFd::from_value_and_flags(0, flags).call("eventfd")?;
        let shared = Arc::new(SharedTraffic { wake, stop: AtomicBool::new(false) });
        let notes = Notes::default();
        let mut events = EventLoop::new(clock)?;
        events.moderate(rest_max);
        events.registry().add_readable(shared.wake.as_fd(), TrafficSource::Wake)?;
        let (mut generators, mut datagrams) = (Vec::new(), Vec::new());
        for (plan, source, sink) in flows {
            let id = plan.id;
            match (plan.kind.clone(), sink) {
                (Kind::Datagrams(config), Some(sink)) => {
                    datagrams.push((id, Datagrams::new(plan, &config, source, sink)?));
                }
                (_, sink) => {
                    let index = generators.len();
                    let mut sockets = Sockets { registry: events.registry(), index };
                    generators.push(Generator::new(
                        plan,
                        source,
                        sink,
                        &mut sockets,
                        sample_interval,
                    )?);
                }
            }
        }
        let mut server =
            Server { shared: Arc::clone(&shared), clock, generators, notes: notes.clone() };
        let serve = move || {
            let _priority = Priority::raise_traffic();
            // Without its traffic the network goes on.
            let _ = events.run(&mut server, None);
        };
        let thread = std::thread::Builder::new()
            .name("traffic".into())
            .spawn(serve)
            .call("clone(traffic)")?;
        Ok(Self { datagrams, shared, notes, thread: Some(thread) })
    }

    /// The instant at which the next datagram is due.
    pub fn next_wakeup(&self) -> Option<Instant> {
        self.datagrams.iter().filter_map(|(_, flow)| flow.next_wakeup()).min()
    }

    /// Sends the datagrams that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.datagrams.iter_mut().for_each(|(_, flow)| flow.handle_timeout(now));
    }

    /// Returns the next report; `None` if none waits.
    pub fn note(&self) -> Option<Note> {
        self.notes.take()
    }

    /// Lets a saturated flow send `packets` more at the next [`Traffic::handle_timeout`].
    pub fn grant(&mut self, flow: FlowId, packets: u32) {
        let flows = self.datagrams.iter_mut().filter(|(id, _)| *id == flow);
        flows.for_each(|(_, datagrams)| datagrams.grant(packets));
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let _ = self.shared.wake.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The driver of the thread.
struct Server {
    shared: Arc<SharedTraffic>,
    clock: Clock,
    generators: Vec<Generator>,
    notes: Notes,
}

impl Driver for Server {
    type Source = TrafficSource;
    type Outcome = ();
    type Error = OsError;

    fn handle_timeout(
        &mut self,
        _now: Instant,
        registry: &mut Registry<TrafficSource>,
    ) -> Progress<Self> {
        if self.shared.stop.load(Ordering::Relaxed) {
            return Ok(ControlFlow::Break(()));
        }
        for (index, generator) in self.generators.iter_mut().enumerate() {
            let mut sockets = Sockets { registry: &mut *registry, index };
            // Each reads the clock: those before it took time to send.
            generator.handle_timeout(self.clock.now(), &mut sockets, &self.notes);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.generators.iter().filter_map(Generator::next_wakeup).min()
    }

    fn handle_ready(
        &mut self,
        source: TrafficSource,
        registry: &mut Registry<TrafficSource>,
    ) -> Result<(), OsError> {
        match source {
            TrafficSource::Wake => {
                let _ = self.shared.wake.read();
            }
            TrafficSource::Socket(index, side) => {
                let mut sockets = Sockets { registry, index };
                let generator = &mut self.generators[index];
                generator.handle_ready(side, self.clock.now(), &mut sockets, &self.notes);
            }
        }
        Ok(())
    }

    fn handle_signals(&mut self, _: &[Signal]) -> Progress<Self> {
        unreachable!("signals are the network's")
    }
}

/// Registration of a generator's sockets with the loop.
struct Sockets<'a> {
    registry: &'a mut Registry<TrafficSource>,
    /// The position of the generator.
    index: usize,
}

impl Sockets<'_> {
    fn watch_readable(&mut self, fd: BorrowedFd<'_>, side: Side) -> Result<(), OsError> {
        self.registry.add_readable(fd, TrafficSource::Socket(self.index, side))
    }

    fn watch_writable(&mut self, fd: BorrowedFd<'_>, side: Side) -> Result<(), OsError> {
        self.registry.add_writable(fd, TrafficSource::Socket(self.index, side))
    }

    fn forget(&mut self, fd: BorrowedFd<'_>) {
        self.registry.remove(fd);
    }
}

/// The sockets of a flow that the thread serves.
#[derive(Debug)]
enum Generator {
    Tcp(tcp::Bulk),
    Ping(ping::Ping),
}

impl Generator {
    fn new(
        plan: FlowPlan,
        source: OwnedFd,
        sink: Option<OwnedFd>,
        sockets: &mut Sockets<'_>,
        sample_interval: Duration,
    ) -> Result<Self, OsError> {
        match (&plan.kind, sink) {
            (Kind::Tcp { bytes, .. }, Some(sink)) => {
                let bytes = *bytes;
                tcp::Bulk::new(plan, bytes, source, sink, sockets, sample_interval).map(Self::Tcp)
            }
            (Kind::Ping { interval, bytes }, _) => {
                let (interval, bytes) = (*interval, *bytes);
                ping::Ping::new(plan, interval, bytes, source, sockets).map(Self::Ping)
            }
            _ => unreachable!("every flow gets the sockets it asked for"),
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        match self {
            Self::Tcp(tcp) => tcp.next_wakeup(),
            Self::Ping(ping) => ping.next_wakeup(),
        }
    }

    /// Reads from a socket that is ready, or writes to it.
    fn handle_ready(&mut self, side: Side, now: Instant, sockets: &mut Sockets<'_>, notes: &Notes) {
        match self {
            Self::Tcp(tcp) => tcp.handle_ready(side, now, sockets),
            Self::Ping(ping) => ping.handle_ready(now, notes),
        }
    }

    /// Does the work that is due at `now`.
    fn handle_timeout(&mut self, now: Instant, sockets: &mut Sockets<'_>, notes: &Notes) {
        match self {
            Self::Tcp(tcp) => tcp.handle_timeout(now, sockets, notes),
            Self::Ping(ping) => ping.handle_timeout(now),
        }
    }
}
