//! The near host: drives a client until its survey is done, it fails, or a signal ends it. The host
//! has two sockets, because a queue that separates flows separates them by port.

use super::io::Io;
use super::{ApqError, FAREWELL_MAX};
use lasthop_apq::{
    Client, ClientConfig, ClientEvent, Received, SocketId, Survey, SurveyConfig, Transmit,
};
use lasthop_linux::clock::{Clock, Priority};
use lasthop_linux::datagram::DatagramSocket;
use lasthop_linux::entropy;
use lasthop_linux::event_loop::{Driver, EventLoop, Progress, Registry};
use lasthop_linux::signal::Signals;
use lasthop_units::{Duration, Instant, Machine};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use zeroize::Zeroize;

/// Time without a message after which the client gives up on the server.
const PROOF_TIMEOUT: Duration = Duration::from_secs(8);
/// The sockets in the order of their positions.
const SOCKETS: [SocketId; 2] = [SocketId::Control, SocketId::Bulk];
/// Interval of [`Update::Tick`].
const TICK: Duration = Duration::from_millis(100);

/// Options of a measurement.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// Address of the far host.
    pub server: SocketAddr,
    /// Key that both hosts share; `None`: no key.
    pub key: Option<[u8; 32]>,
    /// The survey to be made.
    pub survey: SurveyConfig,
}

impl Drop for MeasureOptions {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// An event for the caller during a measurement.
#[derive(Clone, Copy, Debug)]
pub enum Update<'a> {
    /// An event of the client.
    Event(&'a ClientEvent),
    /// Time has passed: 100 ms since the last one.
    Tick,
}

/// The result of a measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The survey as far as it was made.
    pub survey: Survey,
    /// The duration of the measurement.
    pub elapsed: Duration,
    /// Reason of an early end; `None`: the survey is done.
    pub stopped: Option<Stopped>,
    /// The number of datagrams that arrived and were never read, because this host was too
    /// busy: they look as if the access point had dropped them.
    pub overflowed: u64,
}

/// Reason of an early end of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The signal of this number.
    Signal(i32),
    /// The caller, by [`ControlFlow::Break`].
    Caller,
}

/// Runs a measurement. `watch` is called with every update, the client and the time elapsed;
/// it ends the measurement early by [`ControlFlow::Break`]. After a signal only the end is
/// reported to the server, and `watch` is not called any more; a second signal ends the wait
/// for that.
///
/// # Errors
/// If the kernel refuses a socket, there is no route to the server, or the server does not
/// take part until the end.
pub fn measure(
    options: &MeasureOptions,
    watch: &mut dyn FnMut(Update<'_>, &Client, Duration) -> ControlFlow<()>,
) -> Result<Measured, ApqError> {
    let server = options.server;
    let connect = || {
        DatagramSocket::connect(server).map_err(|error| {
            if error.call.starts_with("connect") {
                ApqError::NoRoute { to: server, error }
            } else {
                ApqError::Os(error)
            }
        })
    };
    let sockets = vec![connect()?, connect()?];
    let longest = options.survey.packet_bytes.iter().copied().max().unwrap_or(0);
    if let Some(mtu) = sockets[0].mtu().filter(|&mtu| u32::from(longest) > mtu) {
        return Err(ApqError::TooLong { to: server, packet_bytes: longest, mtu });
    }
    let (signals, clock) = (Signals::catch()?, Clock::start());
    let mut events = EventLoop::new(clock)?;
    let io = Io::new(clock, sockets);
    io.register(events.registry())?;
    let _priority = Priority::raise_traffic();
    let config = ClientConfig {
        server,
        key: options.key,
        secret: entropy::secret()?,
        clock: io.host_clock(),
        idle_timeout: PROOF_TIMEOUT,
    };
    let begin = clock.now();
    let client = Client::new(config, Survey::new(options.survey.clone()), begin);
    let (next_tick, stopped, give_up) = (begin, None, None);
    let mut measurement = Measurement { io, client, watch, begin, next_tick, stopped, give_up };
    events.run(&mut measurement, Some(&signals))
}

/// The function that is called with updates.
type Watch<'a> = &'a mut dyn FnMut(Update<'_>, &Client, Duration) -> ControlFlow<()>;

/// A running measurement.
struct Measurement<'a> {
    io: Io,
    client: Client,
    watch: Watch<'a>,
    begin: Instant,
    next_tick: Instant,
    stopped: Option<Stopped>,
    /// After a stop: the instant at which the wait for the server ends.
    give_up: Option<Instant>,
}

impl Driver for Measurement<'_> {
    /// The position of a socket.
    type Source = usize;
    type Outcome = Measured;
    type Error = ApqError;

    fn handle_timeout(&mut self, now: Instant, _: &mut Registry<usize>) -> Progress<Self> {
        self.advance(now)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let next = self.client.poll_timeout().map(|(at, _)| at);
        next.into_iter().chain([self.give_up.unwrap_or(self.next_tick)]).min()
    }

    fn handle_ready(&mut self, index: usize, _: &mut Registry<usize>) -> Result<(), ApqError> {
        let Self { io, client, .. } = self;
        let socket = SOCKETS[index];
        let taken = io.receive(index, &mut |now, datagram| {
            let at = now.saturating_sub(datagram.age);
            let (from, payload, length) = (datagram.from, datagram.head, datagram.length);
            client.handle_datagram(now, Received { socket, from, at, payload, length });
        });
        if taken == Err(Errno::ECONNREFUSED) {
            client.handle_unreachable(io.clock.now());
        }
        Ok(())
    }

    fn handle_signals(&mut self, signals: &[Signal]) -> Progress<Self> {
        if self.stopped.is_some() {
            // A second signal: do not wait for the server.
            return Ok(ControlFlow::Break(self.measured(self.io.clock.now())));
        }
        self.stopped = signals.last().map(|&signal| Stopped::Signal(signal as i32));
        Ok(ControlFlow::Continue(()))
    }
}

impl Measurement<'_> {
    /// Does due work, sends its datagrams, and calls the caller's function.
    fn advance(&mut self, now: Instant) -> Result<ControlFlow<Measured>, ApqError> {
        self.client.handle_timeout(now);
        self.transmit();
        let elapsed = now - self.begin;
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Failed(error) if self.stopped.is_none() => return Err(error.into()),
                ClientEvent::Done | ClientEvent::Stopped | ClientEvent::Failed(_) => {
                    return Ok(ControlFlow::Break(self.measured(now)));
                }
                _ => self.report(Update::Event(&event), elapsed),
            }
        }
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.report(Update::Tick, elapsed);
        }
        match self.give_up {
            None if self.stopped.is_some() => {
                self.give_up = Some(now + FAREWELL_MAX);
                self.client.stop(now);
                // Sends the report of the end.
                self.advance(now)
            }
            Some(at) if at <= now => Ok(ControlFlow::Break(self.measured(now))),
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    /// Calls the caller's function, unless the measurement is stopped.
    fn report(&mut self, update: Update<'_>, elapsed: Duration) {
        if self.stopped.is_none() && (self.watch)(update, &self.client, elapsed).is_break() {
            self.stopped = Some(Stopped::Caller);
        }
    }

    fn transmit(&mut self) {
        let Self { io, client, .. } = self;
        let place = |transmit: &Transmit| SOCKETS.iter().position(|&id| id == transmit.socket);
        let (unsent, is_refused) = io.send(&mut |now| client.poll_transmit(now), &place, true);
        let now = io.clock.now();
        unsent.iter().for_each(|packet| client.handle_unsent(now, packet.kind));
        if is_refused {
            client.handle_unreachable(now);
        }
    }

    fn measured(&self, now: Instant) -> Measured {
        Measured {
            survey: self.client.survey().clone(),
            elapsed: now - self.begin,
            stopped: self.stopped,
            overflowed: self.io.overflowed(),
        }
    }
}
