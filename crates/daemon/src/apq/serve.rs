//! The far host: drives a server until a signal ends it. One socket for each
//! family of addresses, since the length of headers follows from the family.
//! A host with several addresses of one family answers from the one that its
//! routes choose: bind to the address that clients use.

use super::io::Io;
use super::{ApqError, FAREWELL_MAX};
use lasthop_apq::{Received, Server, ServerConfig, ServerEvent, SocketId, Transmit};
use lasthop_linux::OsError;
use lasthop_linux::clock::{Clock, Priority};
use lasthop_linux::confine::{Needs, confine};
use lasthop_linux::datagram::DatagramSocket;
use lasthop_linux::entropy;
use lasthop_linux::event_loop::{Driver, EventLoop, Progress, Registry};
use lasthop_linux::signal::Signals;
use lasthop_units::{Duration, Instant, Machine};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;
use zeroize::Zeroize;

/// Shortest interval of reports of datagrams lost in this host.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

/// The address of a server and its limits.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The addresses to bind to.
    pub bind: Bind,
    /// The key that clients must have; `None`: every client may measure.
    pub key: Option<[u8; 32]>,
    /// Largest number of sessions at a time. One address may have half of them (rounded up).
    pub sessions_max: usize,
    /// Largest number of bits that are sent in any second to a session or to an address, IP headers
    /// included.
    pub rate_max_bps: u64,
    /// Largest number of bits that are sent in any second to all clients together.
    pub rate_total_max_bps: u64,
    /// The longest that a session may last.
    pub duration_max: Duration,
    /// Largest number of packets of a phase.
    pub phase_packets_max: u32,
    /// Largest number of packets of the uplink phases of all sessions together; each takes 24 bytes
    /// of memory.
    pub samples_max: u64,
}

impl Drop for ServeOptions {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// The addresses that a server binds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// One address of the server.
    Address(SocketAddr),
    /// All addresses of the host, IPv4 and IPv6, at this port.
    Everywhere(u16),
}

/// A report of a server to its caller.
#[derive(Clone, Copy, Debug)]
pub enum ServerReport<'a> {
    /// The server listens at these addresses.
    Listening(&'a [SocketAddr]),
    /// The parts of the confinement that the kernel refused; the server runs without them.
    Unconfined(&'a [OsError]),
    /// An event of the server.
    Event(&'a ServerEvent),
    /// The number of datagrams that arrived since the last report and were never read, because
    /// this host was too busy: to clients they look as if the access point had dropped them.
    Overflowed(u64),
}

/// Serves until a signal comes, and returns its number; 0 if `report_to` ended it by
/// [`ControlFlow::Break`]. Clients receive the end of their sessions. The calling thread can do
/// little else from here on (see [`confine`]), also afterwards.
///
/// # Errors
/// If the address cannot be bound to, or another call is refused.
pub fn serve(
    options: &ServeOptions,
    report_to: &mut dyn FnMut(ServerReport<'_>) -> ControlFlow<()>,
) -> Result<i32, ApqError> {
    let sockets = sockets(options.bind)?;
    let (signals, clock) = (Signals::catch()?, Clock::start());
    let mut events = EventLoop::new(clock)?;
    let io = Io::new(clock, sockets);
    io.register(events.registry())?;
    let addresses: Result<Vec<_>, _> = io.sockets.iter().map(DatagramSocket::address).collect();
    let addresses = addresses?;
    let server = Server::new(ServerConfig {
        key: options.key,
        secret: entropy::secret()?,
        clock: io.host_clock(),
        sessions_max: options.sessions_max,
        rate_max_bps: options.rate_max_bps,
        rate_total_max_bps: options.rate_total_max_bps,
        duration_max: options.duration_max,
        phase_packets_max: options.phase_packets_max,
        samples_max: options.samples_max,
    });
    let refused = confine(Needs { raises_priority: true, ..Needs::default() });
    let mut ended = report_to(ServerReport::Listening(&addresses)).is_break().then_some(0);
    if !refused.is_empty() && report_to(ServerReport::Unconfined(&refused)).is_break() {
        ended = Some(0);
    }
    let mut serving = Serving {
        io,
        server,
        addresses,
        report_to,
        overflowed: 0,
        complain_at: clock.now(),
        priority: None,
        ended,
        give_up: None,
    };
    events.run(&mut serving, Some(&signals))
}

/// A running server.
struct Serving<'a> {
    io: Io,
    server: Server,
    /// The addresses of the sockets, in the same order.
    addresses: Vec<SocketAddr>,
    report_to: &'a mut dyn FnMut(ServerReport<'_>) -> ControlFlow<()>,
    /// The number of datagrams lost in this host that were reported.
    overflowed: u64,
    /// The instant from which on more of them may be reported.
    complain_at: Instant,
    /// Held while there are sessions, whose packets are paced.
    priority: Option<Priority>,
    /// The signal that ended it, 0 if the caller did; `None` while it serves.
    ended: Option<i32>,
    /// After the end: the instant at which the wait for clients ends.
    give_up: Option<Instant>,
}

impl Driver for Serving<'_> {
    /// The position of a socket.
    type Source = usize;
    type Outcome = i32;
    type Error = ApqError;

    fn handle_timeout(&mut self, now: Instant, _: &mut Registry<usize>) -> Progress<Self> {
        Ok(self.advance(now))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let next = self.server.poll_timeout().map(|(at, _)| at);
        next.into_iter().chain(self.give_up).min()
    }

    fn handle_ready(&mut self, index: usize, _: &mut Registry<usize>) -> Result<(), ApqError> {
        let Self { io, server, .. } = self;
        // An unconnected socket has no reports of the network; what it cannot receive now
        // makes it ready again.
        let _ = io.receive(index, &mut |now, datagram| {
            let at = now.saturating_sub(datagram.age);
            let (from, payload, length) = (datagram.from, datagram.head, datagram.length);
            let socket = SocketId::Control;
            server.handle_datagram(now, Received { socket, from, at, payload, length });
        });
        Ok(())
    }

    fn handle_signals(&mut self, signals: &[Signal]) -> Progress<Self> {
        let signal = signals.last().map_or(0, |&signal| signal as i32);
        if self.ended.is_some() {
            // A second signal: do not wait for the clients.
            return Ok(ControlFlow::Break(signal));
        }
        self.ended = Some(signal);
        Ok(ControlFlow::Continue(()))
    }
}

impl Serving<'_> {
    /// Does due work, sends its datagrams, and calls the caller's function.
    fn advance(&mut self, now: Instant) -> ControlFlow<i32> {
        self.server.handle_timeout(now);
        self.transmit();
        let now = self.io.clock.now();
        while let Some(event) = self.server.poll_event() {
            self.report(ServerReport::Event(&event));
        }
        let lost = self.io.overflowed().saturating_sub(self.overflowed);
        if lost > 0 && self.server.sessions() > 0 && now >= self.complain_at {
            self.overflowed += lost;
            self.complain_at = now + COMPLAINT_INTERVAL;
            self.report(ServerReport::Overflowed(lost));
        }
        // Ahead of other programs only while there is something to pace.
        match (self.server.sessions(), &self.priority) {
            (0, Some(_)) => self.priority = None,
            (1.., None) => self.priority = Some(Priority::raise_traffic()),
            _ => {}
        }
        match (self.ended, self.give_up) {
            (Some(_), None) => {
                self.server.stop(now);
                self.give_up = Some(now + FAREWELL_MAX);
                // Sends the reports of the end.
                self.advance(now)
            }
            (Some(ended), Some(at)) if at <= now || self.server.poll_timeout().is_none() => {
                ControlFlow::Break(ended)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Calls the caller's function, which may end the server.
    fn report(&mut self, report: ServerReport<'_>) {
        if (self.report_to)(report).is_break() {
            self.ended = self.ended.or(Some(0));
        }
    }

    fn transmit(&mut self) {
        let Self { io, server, addresses, .. } = self;
        // The socket of the family.
        let place = |transmit: &Transmit| {
            addresses.iter().position(|address| address.is_ipv6() == transmit.to.is_ipv6())
        };
        let (unsent, _) = io.send(&mut |now| server.poll_transmit(now), &place, false);
        let now = io.clock.now();
        unsent.iter().for_each(|packet| server.handle_unsent(now, packet.to, packet.kind));
    }
}

fn sockets(bind: Bind) -> Result<Vec<DatagramSocket>, ApqError> {
    let open = |address: SocketAddr| {
        DatagramSocket::bind(address).map_err(|error| ApqError::Address { address, error })
    };
    match bind {
        Bind::Address(address) => Ok(vec![open(address)?]),
        Bind::Everywhere(port) => {
            let mut sockets = vec![open((Ipv4Addr::UNSPECIFIED, port).into())?];
            match open((Ipv6Addr::UNSPECIFIED, port).into()) {
                Ok(socket) => sockets.push(socket),
                Err(ApqError::Address { error, .. }) if is_without_v6(error.errno) => {}
                Err(error) => return Err(error),
            }
            Ok(sockets)
        }
    }
}

/// Whether the error means that the host has no IPv6.
fn is_without_v6(errno: i32) -> bool {
    matches!(Errno::from_raw(errno), Errno::EAFNOSUPPORT | Errno::EADDRNOTAVAIL)
}
