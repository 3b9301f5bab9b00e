//! The near host: drives a client until its survey is done, it fails, or a
//! signal ends it. It has two sockets, for a queue that tells flows apart tells
//! ports apart.

use super::io::Io;
use super::{ApqError, FAREWELL_MAX};
use crate::os::clock::Priority;
use crate::os::datagram::DatagramSocket;
use crate::os::entropy;
use lasthop_apq::{
    Client, ClientConfig, ClientEvent, Received, SocketId, Survey, SurveyConfig, Transmit,
};
use lasthop_units::{Duration, Machine};
use nix::errno::Errno;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use zeroize::Zeroize;

/// A server is given up if it says nothing for so long.
const PROOF_TIMEOUT: Duration = Duration::from_secs(8);
/// In this order.
const SOCKETS: [SocketId; 2] = [SocketId::Control, SocketId::Bulk];
/// How often the caller is told that time goes by.
const TICK: Duration = Duration::from_millis(100);

/// What to measure.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// The far host.
    pub server: SocketAddr,
    /// The key both hosts know, if there is one.
    pub key: Option<[u8; 32]>,
    /// What is to be found out.
    pub survey: SurveyConfig,
}

impl Drop for MeasureOptions {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// What a caller is told meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum Update<'a> {
    /// Something happened.
    Event(&'a ClientEvent),
    /// Time goes by.
    Tick,
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What is known.
    pub survey: Survey,
    /// How long it took.
    pub elapsed: Duration,
    /// What ended it early.
    pub stopped: Option<Stopped>,
    /// Datagrams that arrived and were never read, because this host was too
    /// busy: they look as if the access point had dropped them.
    pub overflowed: u64,
}

/// What ended a measurement early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A signal of this number.
    Signal(i32),
    /// The caller.
    Caller,
}

/// Measures. `watch` is told what happens, what is known and how long it has
/// taken; it ends the measurement early by [`ControlFlow::Break`]. On a signal
/// nothing more is sent but a word to the server, and `watch` is not told any more.
///
/// # Errors
/// If the system refuses a socket, there is no way to the server, or it does not
/// take part until the end.
pub fn measure(
    options: &MeasureOptions,
    watch: &mut dyn FnMut(Update<'_>, &Client, Duration) -> ControlFlow<()>,
) -> Result<Measured, ApqError> {
    let server = options.server;
    let connect = || {
        DatagramSocket::connect(server).map_err(|error| match error.call.starts_with("connect") {
            true => ApqError::NoRoute { to: server, error },
            false => ApqError::Os(error),
        })
    };
    let sockets = vec![connect()?, connect()?];
    let longest = options.survey.packet_bytes.iter().copied().max().unwrap_or(0);
    if let Some(mtu) = sockets[0].mtu().filter(|&mtu| u32::from(longest) > mtu) {
        return Err(ApqError::TooLong { to: server, packet_bytes: longest, mtu });
    }
    let mut io = Io::new(sockets)?;
    let _priority = Priority::raise_traffic();
    let config = ClientConfig {
        server,
        key: options.key,
        secret: entropy::secret()?,
        clock: io.host_clock(),
        idle_timeout: PROOF_TIMEOUT,
    };
    let begin = io.clock.now();
    let mut client = Client::new(config, Survey::new(options.survey.clone()), begin);
    let mut tick = begin;
    let mut stopped = None;
    let mut give_up = None;
    loop {
        let now = io.clock.now();
        client.handle_timeout(now);
        transmit(&mut io, &mut client);
        let elapsed = now - begin;
        while let Some(event) = client.poll_event() {
            match event {
                ClientEvent::Failed(error) if stopped.is_none() => return Err(error.into()),
                ClientEvent::Done | ClientEvent::Stopped | ClientEvent::Failed(_) => {
                    return Ok(measured(&io, &client, elapsed, stopped));
                }
                _ => {}
            }
            if stopped.is_none() && watch(Update::Event(&event), &client, elapsed).is_break() {
                stopped = Some(Stopped::Caller);
            }
        }
        if now >= tick && stopped.is_none() {
            tick = now + TICK;
            if watch(Update::Tick, &client, elapsed).is_break() {
                stopped = Some(Stopped::Caller);
            }
        }
        if stopped.is_some() && give_up.is_none() {
            give_up = Some(now + FAREWELL_MAX);
            client.stop(now);
            continue;
        }
        if give_up.is_some_and(|at| at <= now) {
            return Ok(measured(&io, &client, elapsed, stopped));
        }
        let next = client.poll_timeout().map(|(at, _)| at);
        let until = next.into_iter().chain([give_up.unwrap_or(tick)]).min();
        let woken = io.wait(until)?;
        for index in woken.sockets {
            receive(&mut io, &mut client, index);
        }
        if let Some(signal) = woken.signal {
            if stopped.is_some() {
                // Whoever insists does not want to wait for the farewell.
                let elapsed = io.clock.now() - begin;
                return Ok(measured(&io, &client, elapsed, stopped));
            }
            stopped = Some(Stopped::Signal(signal));
        }
    }
}

fn measured(io: &Io, client: &Client, elapsed: Duration, stopped: Option<Stopped>) -> Measured {
    let overflowed = io.overflowed();
    Measured { survey: client.survey().clone(), elapsed, stopped, overflowed }
}

fn transmit(io: &mut Io, client: &mut Client) {
    let place = |transmit: &Transmit| SOCKETS.iter().position(|&id| id == transmit.socket);
    let (unsent, is_refused) = io.send(&mut |now| client.poll_transmit(now), &place, true);
    let now = io.clock.now();
    unsent.iter().for_each(|packet| client.handle_unsent(now, packet.kind));
    if is_refused {
        client.handle_unreachable(now);
    }
}

fn receive(io: &mut Io, client: &mut Client, index: usize) {
    let socket = SOCKETS[index];
    let taken = io.receive(index, &mut |now, datagram| {
        let at = now.saturating_sub(datagram.age);
        let (from, payload, length) = (datagram.from, datagram.head, datagram.length);
        client.handle_datagram(now, Received { socket, from, at, payload, length });
    });
    if taken == Err(Errno::ECONNREFUSED) {
        client.handle_unreachable(io.clock.now());
    }
}
