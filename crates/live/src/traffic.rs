//! The scenario's flows as real traffic: kernel sockets inside the nodes'
//! namespaces, all served by one thread beside the loop.
//!
//! | module | what it is |
//! |---|---|
//! | `tcp` | a bulk transfer, its sender read at an interval |
//! | `datagrams` | UDP, paced by a [`Source`](lasthop_hosts::Source) or by room in the queue |
//! | `ping` | ICMP echo |
//!
//! What of a flow enters and leaves the network is seen by the loop; this thread
//! reports only what the network cannot know: TCP's state and round trips.

mod datagrams;
mod ping;
mod tcp;

use crate::os::clock::{Clock, Priority};
use crate::os::event_loop::{Timer, Waiter};
use crate::os::supervisor::SocketKind;
use crate::os::{Call, OsError};
use lasthop_hosts::{SourceConfig, TcpSample};
use lasthop_packet::{AccessCategory, FlowId};
use lasthop_units::{Bytes, Duration, Instant, Stream};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::net::{Ipv4Addr, SocketAddrV4};
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

const WAKE: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

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
        let waiter = Waiter::new()?;
        waiter.add_readable(shared.wake.as_fd(), WAKE)?;
        let timer = Timer::new()?;
        waiter.add_readable(timer.as_fd(), TIMER)?;
        let mut generators = Vec::new();
        for (index, (plan, source, sink)) in flows.into_iter().enumerate() {
            let tokens = Tokens { waiter: &waiter, first: 2 * index as u64 };
            let id = plan.id;
            generators.push((id, Generator::new(plan, source, sink, tokens, sample_interval)?));
        }
        let server =
            Server { shared: Arc::clone(&shared), clock, waiter, timer, generators, notes: sender };
        let thread = std::thread::Builder::new()
            .name("traffic".into())
            .spawn(move || server.run())
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
    waiter: Waiter,
    timer: Timer,
    generators: Vec<(FlowId, Generator)>,
    notes: Sender<Note>,
}

impl Server {
    fn run(mut self) {
        let _priority = Priority::raise_traffic();
        let mut ready = Vec::new();
        while !self.shared.stop.load(Ordering::Relaxed) {
            let next = self.generators.iter().filter_map(|(_, one)| one.next_wakeup()).min();
            if self.timer.set(self.clock, next).is_err() || self.waiter.wait(&mut ready).is_err() {
                return;
            }
            for &token in &ready {
                match token {
                    WAKE => {
                        let _ = self.shared.wake.read();
                    }
                    TIMER => self.timer.expired(),
                    token => {
                        let tokens = Tokens { waiter: &self.waiter, first: token & !1 };
                        let (_, generator) = &mut self.generators[token as usize / 2];
                        generator.handle_ready(token & 1, self.clock.now(), &tokens, &self.notes);
                    }
                }
            }
            for (index, (id, generator)) in self.generators.iter_mut().enumerate() {
                let tokens = Tokens { waiter: &self.waiter, first: 2 * index as u64 };
                let room = &self.shared.room[usize::from(id.0)];
                generator.handle_time(self.clock.now(), room, &tokens, &self.notes);
            }
        }
    }
}

/// How a generator has its two sockets watched: where the flow begins (0) and ends (1).
struct Tokens<'a> {
    waiter: &'a Waiter,
    first: u64,
}

/// Where a flow begins.
const SOURCE: u64 = 0;
/// Where a flow ends.
const SINK: u64 = 1;

impl Tokens<'_> {
    fn watch_readable(&self, fd: BorrowedFd<'_>, side: u64) -> Result<(), OsError> {
        self.waiter.add_readable(fd, self.first + side)
    }

    fn watch_writable(&self, fd: BorrowedFd<'_>, side: u64) -> Result<(), OsError> {
        self.waiter.add_writable(fd, self.first + side)
    }

    fn forget(&self, fd: BorrowedFd<'_>) {
        self.waiter.remove(fd);
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
        tokens: Tokens<'_>,
        sample_interval: Duration,
    ) -> Result<Self, OsError> {
        match (&plan.kind, sink) {
            (Kind::Tcp { bytes, .. }, Some(sink)) => {
                let bytes = *bytes;
                tcp::Bulk::new(plan, bytes, source, sink, &tokens, sample_interval).map(Self::Tcp)
            }
            (Kind::Datagrams(config), Some(sink)) => {
                let config = config.clone();
                datagrams::Datagrams::new(plan, &config, source, sink).map(Self::Datagrams)
            }
            (Kind::Ping { interval, bytes }, _) => {
                let (interval, bytes) = (*interval, *bytes);
                ping::Ping::new(plan, interval, bytes, source, &tokens).map(Self::Ping)
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
    fn handle_ready(&mut self, side: u64, now: Instant, tokens: &Tokens<'_>, notes: &Sender<Note>) {
        match self {
            Self::Tcp(tcp) => tcp.handle_ready(side, now, tokens),
            Self::Datagrams(_) => {}
            Self::Ping(ping) => ping.handle_ready(now, notes),
        }
    }

    /// Does what is due at `now`.
    fn handle_time(
        &mut self,
        now: Instant,
        room: &AtomicU32,
        tokens: &Tokens<'_>,
        notes: &Sender<Note>,
    ) {
        match self {
            Self::Tcp(tcp) => tcp.handle_time(now, tokens, notes),
            Self::Datagrams(datagrams) => datagrams.handle_time(now, room),
            Self::Ping(ping) => ping.handle_time(now),
        }
    }
}
