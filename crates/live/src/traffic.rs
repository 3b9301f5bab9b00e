//! The scenario's flows as real traffic: kernel sockets inside the nodes'
//! namespaces, all served by the event loop of one thread beside that of the network.
//!
//! | module | what it is |
//! |---|---|
//! | `tcp` | a bulk transfer, its sender read at an interval |
//! | `datagrams` | UDP, paced by a [`Source`](lasthop_hosts::Source) or by room in the queue |
//! | `ping` | ICMP echo |
//!
//! What of a flow enters and leaves the network is seen by the network's loop; this thread
//! reports only what the network cannot know: TCP's state and round trips.

mod datagrams;
mod ping;
mod tcp;

use crate::os::clock::{Clock, Priority};
use crate::os::event_loop::{Driver, EventLoop, Progress, Registry};
use crate::os::supervisor::SocketKind;
use crate::os::{Call, OsError};
use lasthop_hosts::{SourceConfig, TcpSample};
use lasthop_packet::{AccessCategory, FlowId};
use lasthop_units::{Bytes, Duration, Instant, Stream};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::Signal;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Flow `n` uses the port (the identifier, for ICMP) `FIRST_PORT + n`. Below
/// Linux's ephemeral ports, above those of usual servers.
pub const FIRST_PORT: u16 = 20_000;
/// Most flows that there are ports for.
pub const FLOWS_MAX: usize = 12_000;

/// What wakes the thread beside time.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The other thread: room, or the end.
    Wake,
    /// A socket, by position of its flow's generator.
    Socket(usize, Side),
}

/// Which of a flow's sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Where the flow begins.
    Source,
    /// Where the flow ends.
    Sink,
}

/// A flow to be generated.
#[derive(Debug)]
pub struct FlowPlan {
    /// Which flow of the scenario it is.
    pub id: FlowId,
    /// What it sends.
    pub kind: Kind,
    /// Address where it begins.
    pub from: Ipv4Addr,
    /// Address where it ends.
    pub to: Ipv4Addr,
    /// When it begins.
    pub start: Instant,
    /// When it ends, if before the run does.
    pub stop: Instant,
    /// Priority on the air.
    pub access_category: AccessCategory,
    /// Randomness of its source.
    pub stream: Stream,
}

/// What a flow sends.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A bulk transfer.
    Tcp {
        /// Congestion control, by the kernel's name.
        congestion_control: String,
        /// How many bytes; as many as fit into the time if `None`.
        bytes: Option<Bytes>,
    },
    /// Datagrams.
    Datagrams(SourceConfig),
    /// ICMP echo requests.
    Ping {
        /// From one to the next.
        interval: Duration,
        /// Length of the IP packet.
        bytes: u16,
    },
}

/// What only the sockets know.
#[derive(Clone, Copy, Debug)]
pub enum Note {
    /// A TCP sender was read.
    Tcp(Instant, FlowId, TcpSample),
    /// An answer came.
    RoundTrip(Instant, FlowId, Duration),
}

impl FlowPlan {
    /// The port of both ends, or the ICMP identifier.
    pub fn port(&self) -> u16 {
        FIRST_PORT + self.id.0
    }

    /// The sockets it needs: where it begins, and where it ends.
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

/// The running thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Traffic {
    shared: Arc<Shared>,
    notes: Receiver<Note>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    wake: EventFd,
    stop: AtomicBool,
    /// By number of the flow: packets that it may send because its queue has room for them.
    room: Vec<AtomicU32>,
}

impl Traffic {
    /// Starts it. `flows` come with the sockets that [`FlowPlan::sockets`] asked for.
    ///
    /// # Errors
    /// A socket that cannot be bound.
    pub fn start(
        flows: Vec<(FlowPlan, OwnedFd, Option<OwnedFd>)>,
        clock: Clock,
        sample_interval: Duration,
    ) -> Result<Self, OsError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = EventFd::from_value_and_flags(0, flags).call("eventfd")?;
        let numbers = flows.iter().map(|(plan, ..)| usize::from(plan.id.0) + 1).max();
        let room = (0..numbers.unwrap_or(0)).map(|_| AtomicU32::new(0)).collect();
        let shared = Arc::new(Shared { wake, stop: AtomicBool::new(false), room });
        let (sender, notes) = channel();
        let mut events = EventLoop::new(clock)?;
        events.registry().add_readable(shared.wake.as_fd(), Source::Wake)?;
        let mut generators = Vec::new();
        for (index, (plan, source, sink)) in flows.into_iter().enumerate() {
            let mut sockets = Sockets { registry: events.registry(), index };
            let id = plan.id;
            let generator = Generator::new(plan, source, sink, &mut sockets, sample_interval)?;
            generators.push((id, generator));
        }
        let mut server = Server { shared: Arc::clone(&shared), clock, generators, notes: sender };
        let serve = move || {
            let _priority = Priority::raise_traffic();
            // Without its traffic the network goes on.
            let _ = events.run(&mut server, None);
        };
        let thread = std::thread::Builder::new()
            .name("traffic".into())
            .spawn(serve)
            .call("clone(traffic)")?;
        Ok(Self { shared, notes, thread: Some(thread) })
    }

    /// The next note that waits.
    pub fn note(&self) -> Option<Note> {
        self.notes.try_recv().ok()
    }

    /// Lets a saturated flow send so many packets more. Flows are by their identity.
    pub fn grant(&self, flow: FlowId, packets: u32) {
        self.shared.room[usize::from(flow.0)].fetch_add(packets, Ordering::Relaxed);
        let _ = self.shared.wake.write(1);
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

/// What the thread holds.
struct Server {
    shared: Arc<Shared>,
    clock: Clock,
    generators: Vec<(FlowId, Generator)>,
    notes: Sender<Note>,
}

impl Driver for Server {
    type Source = Source;
    type Outcome = ();
    type Error = OsError;

    fn handle_timeout(&mut self, _now: Instant, registry: &mut Registry<Source>) -> Progress<Self> {
        if self.shared.stop.load(Ordering::Relaxed) {
            return Ok(ControlFlow::Break(()));
        }
        for (index, (id, generator)) in self.generators.iter_mut().enumerate() {
            let mut sockets = Sockets { registry: &mut *registry, index };
            let room = &self.shared.room[usize::from(id.0)];
            // Each reads the clock: those before it took time to send.
            generator.handle_timeout(self.clock.now(), room, &mut sockets, &self.notes);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.generators.iter().filter_map(|(_, generator)| generator.next_wakeup()).min()
    }

    fn handle_ready(
        &mut self,
        source: Source,
        registry: &mut Registry<Source>,
    ) -> Result<(), OsError> {
        match source {
            Source::Wake => {
                let _ = self.shared.wake.read();
            }
            Source::Socket(index, side) => {
                let mut sockets = Sockets { registry, index };
                let (_, generator) = &mut self.generators[index];
                generator.handle_ready(side, self.clock.now(), &mut sockets, &self.notes);
            }
        }
        Ok(())
    }

    fn handle_signals(&mut self, _: &[Signal]) -> Progress<Self> {
        unreachable!("signals are the network's")
    }
}

/// How a generator has its sockets watched.
struct Sockets<'a> {
    registry: &'a mut Registry<Source>,
    /// The position of the generator.
    index: usize,
}

impl Sockets<'_> {
    fn watch_readable(&mut self, fd: BorrowedFd<'_>, side: Side) -> Result<(), OsError> {
        self.registry.add_readable(fd, Source::Socket(self.index, side))
    }

    fn watch_writable(&mut self, fd: BorrowedFd<'_>, side: Side) -> Result<(), OsError> {
        self.registry.add_writable(fd, Source::Socket(self.index, side))
    }

    fn forget(&mut self, fd: BorrowedFd<'_>) {
        self.registry.remove(fd);
    }
}

/// One flow at work.
#[derive(Debug)]
enum Generator {
    Tcp(tcp::Bulk),
    Datagrams(datagrams::Datagrams),
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
            (Kind::Datagrams(config), Some(sink)) => {
                let config = config.clone();
                datagrams::Datagrams::new(plan, &config, source, sink).map(Self::Datagrams)
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
            Self::Datagrams(datagrams) => datagrams.next_wakeup(),
            Self::Ping(ping) => ping.next_wakeup(),
        }
    }

    /// A watched socket is ready.
    fn handle_ready(
        &mut self,
        side: Side,
        now: Instant,
        sockets: &mut Sockets<'_>,
        notes: &Sender<Note>,
    ) {
        match self {
            Self::Tcp(tcp) => tcp.handle_ready(side, now, sockets),
            Self::Datagrams(_) => {}
            Self::Ping(ping) => ping.handle_ready(now, notes),
        }
    }

    /// Does what is due at `now`.
    fn handle_timeout(
        &mut self,
        now: Instant,
        room: &AtomicU32,
        sockets: &mut Sockets<'_>,
        notes: &Sender<Note>,
    ) {
        match self {
            Self::Tcp(tcp) => tcp.handle_timeout(now, sockets, notes),
            Self::Datagrams(datagrams) => datagrams.handle_timeout(now, room),
            Self::Ping(ping) => ping.handle_timeout(now),
        }
    }
}
