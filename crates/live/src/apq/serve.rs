//! The far host: drives a server until a signal ends it. One socket for each
//! family of addresses, since the length of headers follows from the family.
//! A host with several addresses in one family answers by the one that its
//! routes choose: bind to the one that clients name.

use super::io::Io;
use super::{ApqError, FAREWELL_MAX};
use crate::os::OsError;
use crate::os::clock::Priority;
use crate::os::confine::{Needs, confine};
use crate::os::datagram::DatagramSocket;
use crate::os::entropy;
use lasthop_apq::{Received, Server, ServerConfig, ServerEvent, SocketId, Transmit};
use lasthop_units::{Duration, Machine};
use nix::errno::Errno;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;
use zeroize::Zeroize;

/// What is lost in this host is told at most so often.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

/// What is served, and what is allowed.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where.
    pub bind: Bind,
    /// The key that clients must know, if any.
    pub key: Option<[u8; 32]>,
    /// Most sessions at a time, half of them (rounded up) of one address.
    pub sessions_max: usize,
    /// Most bits that are sent in any second to a session or to an address, IP
    /// headers included.
    pub rate_max_bps: u64,
    /// Most bits that are sent in any second to all clients together.
    pub rate_total_max_bps: u64,
    /// Longest session.
    pub duration_max: Duration,
    /// Most packets of a phase.
    pub phase_packets_max: u32,
    /// Most packets of the uplink phases of all sessions together: what is held
    /// in memory, 24 bytes each.
    pub samples_max: u64,
}

impl Drop for ServeOptions {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// Where to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// At one address.
    Address(SocketAddr),
    /// At all of the host's, IPv4 and IPv6, at this port.
    Everywhere(u16),
}

/// What a caller is told.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// Clients are heard at these addresses.
    Listening(&'a [SocketAddr]),
    /// The kernel refuses to take this from the server, which serves all the same.
    Unconfined(&'a [OsError]),
    /// Something happened.
    Event(&'a ServerEvent),
    /// So many more datagrams arrived and were never read, because this host was
    /// too busy: in what clients send they look as if the access point had
    /// dropped them.
    Overflowed(u64),
}

/// Serves until a signal comes, and gives its number; 0 if `tell` wants it to
/// end. Clients are told that it ends. The calling thread can do little else from
/// here on (see [`confine`]), also afterwards.
///
/// # Errors
/// If the address cannot be served at, or the system refuses something else.
pub fn serve(
    options: &ServeOptions,
    tell: &mut dyn FnMut(Told<'_>) -> ControlFlow<()>,
) -> Result<i32, ApqError> {
    let mut io = Io::new(sockets(options.bind)?)?;
    let addresses: Result<Vec<_>, _> = io.sockets.iter().map(DatagramSocket::address).collect();
    let addresses = addresses?;
    let mut server = Server::new(ServerConfig {
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
    // The socket of the family.
    let place = |transmit: &Transmit| {
        addresses.iter().position(|address| address.is_ipv6() == transmit.to.is_ipv6())
    };
    let refused = confine(Needs { raises_priority: true, ..Needs::default() });
    let mut ended = tell(Told::Listening(&addresses)).is_break().then_some(0);
    if !refused.is_empty() && tell(Told::Unconfined(&refused)).is_break() {
        ended = Some(0);
    }
    let (mut overflowed, mut complain) = (0, io.clock.now());
    let mut priority = None;
    let mut give_up = None;
    loop {
        let now = io.clock.now();
        server.handle_timeout(now);
        let (unsent, _) = io.send(&mut |now| server.poll_transmit(now), &place, false);
        let now = io.clock.now();
        unsent.iter().for_each(|packet| server.handle_unsent(now, packet.to, packet.kind));
        while let Some(event) = server.poll_event() {
            if tell(Told::Event(&event)).is_break() {
                ended = ended.or(Some(0));
            }
        }
        let lost = io.overflowed().saturating_sub(overflowed);
        if lost > 0 && server.sessions() > 0 && now >= complain {
            overflowed += lost;
            complain = now + COMPLAINT_INTERVAL;
            if tell(Told::Overflowed(lost)).is_break() {
                ended = ended.or(Some(0));
            }
        }
        // Ahead of other programs only while there is something to pace.
        match (server.sessions(), &priority) {
            (0, Some(_)) => priority = None,
            (1.., None) => priority = Some(Priority::raise_traffic()),
            _ => {}
        }
        match (ended, give_up) {
            (Some(_), None) => {
                server.stop(now);
                give_up = Some(now + FAREWELL_MAX);
                continue;
            }
            (Some(signal), Some(at)) if at <= now || server.poll_timeout().is_none() => {
                return Ok(signal);
            }
            _ => {}
        }
        let next = server.poll_timeout().map(|(at, _)| at);
        let woken = io.wait(next.into_iter().chain(give_up).min())?;
        for index in woken.sockets {
            // An unconnected socket reports nothing of the network; what it cannot
            // receive now it is asked for again.
            let _ = io.receive(index, &mut |now, datagram| {
                let at = now.saturating_sub(datagram.age);
                let (from, payload, length) = (datagram.from, datagram.head, datagram.length);
                let socket = SocketId::Control;
                server.handle_datagram(now, Received { socket, from, at, payload, length });
            });
        }
        match woken.signal {
            // Whoever insists does not want to wait for the farewell.
            Some(signal) if ended.is_some() => return Ok(signal),
            Some(signal) => ended = Some(signal),
            None => {}
        }
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

/// The host has no IPv6.
fn is_without_v6(errno: i32) -> bool {
    matches!(Errno::from_raw(errno), Errno::EAFNOSUPPORT | Errno::EADDRNOTAVAIL)
}
