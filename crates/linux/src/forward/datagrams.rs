//! UDP passed on from one network namespace to another. Each client, an address with its port,
//! has one socket at the far side, as at a NAT (RFC 4787): answers to that socket go to the
//! client. A client is forgotten [`IDLE`] after its last datagram. The DSCP is copied, the ECN
//! field is not. Dropped datagrams are counted.

use super::super::clock::Clock;
use super::super::socket::{receive_drops, set};
use super::super::{Call, OsError};
use super::tally::{Count, Tally};
use super::{Route, Waits};
use lasthop_units::{Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::sockopt::SocketError;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
    SockaddrStorage, bind, connect, getsockopt, recvmsg, sendmsg, socket,
};
use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Largest number of clients at a time; a new one displaces the one that was idle for longest.
pub const CLIENTS_MAX: usize = 256;
/// The time after which a client without datagrams is forgotten (RFC 4787, REQ-5: five minutes).
pub const IDLE: Duration = Duration::from_secs(300);
/// Largest number of datagrams of a socket in a turn, so that the others have theirs.
const TURN_DATAGRAMS: usize = 64;
/// The longest datagram (RFC 768).
const DATAGRAM_BYTES_MAX: usize = 65_535;
/// The bits of the type of service that are the DSCP (RFC 2474).
const DSCP: u8 = 0xfc;

/// Opens a UDP socket at `address` in the calling thread's network namespace.
///
/// # Errors
/// If the address is taken, or not one of the namespace.
pub fn datagrams_at(address: SocketAddr) -> Result<OwnedFd, OsError> {
    let call = format!("bind({address}, UDP)");
    let socket = datagram_socket(address).call("socket(UDP)")?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address)).call(&call)?;
    Ok(socket)
}

/// A client of a route.
pub(super) type Key = (usize, SocketAddr);

/// The clients of all ways.
pub(super) struct Clients<'a> {
    routes: &'a [&'a Route],
    tally: &'a Tally,
    clock: Clock,
    all: BTreeMap<Key, Client>,
    /// The drops of the routes' own sockets that were counted.
    drops: Vec<u64>,
    buffer: Vec<u8>,
}

/// A client's socket at the far side.
struct Client {
    socket: OwnedFd,
    /// The index of the connected target.
    target: usize,
    is_answered: bool,
    /// The last datagram, while another target may have to get it.
    unanswered: Option<(Vec<u8>, u8)>,
    used: Instant,
    drops: u64,
}

/// The fate of a datagram.
enum SentDatagram {
    Passed,
    Refused,
    Overflowed,
}

impl<'a> Clients<'a> {
    pub(super) fn new(routes: &'a [&'a Route], tally: &'a Tally) -> Self {
        Self {
            routes,
            tally,
            clock: Clock::start(),
            all: BTreeMap::new(),
            drops: vec![0; routes.len()],
            buffer: vec![0; DATAGRAM_BYTES_MAX],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds the sockets that are to be waited for.
    pub(super) fn wait<'f>(&'f self, waiting: &mut Vec<PollFd<'f>>, waits: &mut Vec<Waits>) {
        for (index, route) in self.routes.iter().enumerate() {
            waiting.push(PollFd::new(route.datagrams.as_fd(), PollFlags::POLLIN));
            waits.push(Waits::Datagrams(index));
        }
        for (key, client) in &self.all {
            waiting.push(PollFd::new(client.socket.as_fd(), PollFlags::POLLIN));
            waits.push(Waits::Client(*key));
        }
    }

    /// Forgets clients that were idle for too long.
    pub(super) fn forget_idle(&mut self) {
        let now = self.clock.now();
        self.all.retain(|_, client| now.saturating_since(client.used) < IDLE);
    }

    /// Passes datagrams of a route's clients on.
    pub(super) fn take(&mut self, route: usize) {
        let Route { way, datagrams: socket, .. } = self.routes[route];
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..TURN_DATAGRAMS {
            match receive(socket, &mut buffer) {
                Ok((bytes, Some(client), service)) => {
                    self.pass_on((route, client), &buffer[..bytes], service);
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        self.buffer = buffer;
        let drops = receive_drops(socket);
        self.tally.add(*way, Count::Overflowed, drops.saturating_sub(self.drops[route]));
        self.drops[route] = drops.max(self.drops[route]);
    }

    fn pass_on(&mut self, key: Key, data: &[u8], service: u8) {
        let Route { way, targets, .. } = self.routes[key.0];
        let (way, tally, now) = (*way, self.tally, self.clock.now());
        let Some(client) = self.client(key, now) else {
            return tally.add(way, Count::Overflowed, 1);
        };
        client.used = now;
        let what = client.send(targets, data, service, || {
            tally.add(way, Count::Refused, 1);
        });
        match what {
            SentDatagram::Passed => tally.add(way, Count::Sent, 1),
            SentDatagram::Overflowed => tally.add(way, Count::Overflowed, 1),
            SentDatagram::Refused => {
                tally.add(way, Count::Refused, 1);
                // The next datagram tries all targets again.
                if !client.is_answered {
                    self.all.remove(&key);
                }
            }
        }
    }

    /// Passes answers on to a client.
    pub(super) fn answer(&mut self, key: Key) {
        let (route, address) = (self.routes[key.0], key.1);
        let (way, tally, now) = (route.way, self.tally, self.clock.now());
        let Some(client) = self.all.get_mut(&key) else { return };
        let mut is_gone = false;
        for _ in 0..TURN_DATAGRAMS {
            match receive(&client.socket, &mut self.buffer) {
                Ok((bytes, _, service)) => {
                    client.used = now;
                    client.is_answered = true;
                    client.unanswered = None;
                    let data = &self.buffer[..bytes];
                    match send(&route.datagrams, data, service, Some(address)) {
                        Ok(()) => tally.add(way, Count::Answers, 1),
                        Err(_) => tally.add(way, Count::Overflowed, 1),
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                // Of a datagram before: its target has told so by now.
                Err(_) => {
                    let again = client.unanswered.take();
                    let next = client.next(&route.targets);
                    let sent = match (next, again) {
                        (true, Some((data, service))) => {
                            client.send(&route.targets, &data, service, || {})
                        }
                        _ => SentDatagram::Refused,
                    };
                    if !matches!(sent, SentDatagram::Passed) {
                        tally.add(way, Count::Refused, 1);
                        is_gone = !client.is_answered;
                        break;
                    }
                }
            }
        }
        let drops = receive_drops(&client.socket);
        tally.add(way, Count::Overflowed, drops.saturating_sub(client.drops));
        client.drops = drops.max(client.drops);
        if is_gone {
            self.all.remove(&key);
        }
    }

    /// The client, new if need be; `None` if the system refuses another socket.
    fn client(&mut self, key: Key, now: Instant) -> Option<&mut Client> {
        if !self.all.contains_key(&key) {
            if self.all.len() >= CLIENTS_MAX {
                self.displace();
            }
            let targets = &self.routes[key.0].targets;
            let client = Client::new(targets, now).or_else(|| {
                self.displace();
                Client::new(targets, now)
            })?;
            self.tally.add(self.routes[key.0].way, Count::Clients, 1);
            self.all.insert(key, client);
        }
        self.all.get_mut(&key)
    }

    /// Forgets the client that was idle for longest.
    fn displace(&mut self) {
        let idle = self.all.iter().min_by_key(|(_, client)| client.used).map(|(key, _)| *key);
        if let Some(key) = idle {
            self.all.remove(&key);
            self.tally.add(self.routes[key.0].way, Count::ClientsDisplaced, 1);
        }
    }
}

impl Client {
    fn new(targets: &[SocketAddr], now: Instant) -> Option<Self> {
        let (target, socket) = connected(targets, 0)?;
        Some(Self { socket, target, is_answered: false, unanswered: None, used: now, drops: 0 })
    }

    /// Takes the next target, if there is one and none has answered.
    fn next(&mut self, targets: &[SocketAddr]) -> bool {
        if self.is_answered {
            return false;
        }
        let Some((target, socket)) = connected(targets, self.target + 1) else { return false };
        (self.target, self.socket, self.drops) = (target, socket, 0);
        true
    }

    /// Sends a datagram to the first target that does not refuse it. Calls `refused` for each
    /// earlier datagram that was refused meanwhile.
    fn send(
        &mut self,
        targets: &[SocketAddr],
        data: &[u8],
        service: u8,
        refused: impl Fn(),
    ) -> SentDatagram {
        loop {
            match send(&self.socket, data, service, None) {
                Ok(()) => {}
                Err(Errno::ECONNREFUSED) => {
                    refused();
                    continue;
                }
                Err(_) => return SentDatagram::Overflowed,
            }
            // On one machine a refusal is known as soon as the datagram was sent.
            if getsockopt(&self.socket, SocketError) != Ok(libc::ECONNREFUSED) {
                let may_move = !self.is_answered && self.target + 1 < targets.len();
                self.unanswered = may_move.then(|| (data.to_vec(), service));
                return SentDatagram::Passed;
            }
            if !self.next(targets) {
                return SentDatagram::Refused;
            }
        }
    }
}

/// A socket that is connected to the first of the targets from `first` on that can be.
fn connected(targets: &[SocketAddr], first: usize) -> Option<(usize, OwnedFd)> {
    let targets = targets.iter().enumerate().skip(first);
    targets.into_iter().find_map(|(index, target)| {
        let socket = datagram_socket(*target).ok()?;
        connect(socket.as_raw_fd(), &SockaddrStorage::from(*target)).ok()?;
        Some((index, socket))
    })
}

fn datagram_socket(address: SocketAddr) -> nix::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Datagram, flags, None)?;
    if address.is_ipv4() {
        set(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, &1i32.to_ne_bytes())?;
    }
    Ok(socket)
}

/// Receives a datagram: its length, its sender, and its type of service.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<(usize, Option<SocketAddr>, u8)> {
    let mut control = nix::cmsg_space!(libc::c_int);
    let mut pieces = [IoSliceMut::new(buffer)];
    let flags = MsgFlags::MSG_DONTWAIT;
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut pieces, Some(&mut control), flags)?;
    let service = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::Ipv4Tos(service) => Some(service & DSCP),
        _ => None,
    });
    let sender = message.address.and_then(|address| {
        let v4 = address.as_sockaddr_in().map(|it| SocketAddr::V4((*it).into()));
        v4.or_else(|| address.as_sockaddr_in6().map(|it| SocketAddr::V6((*it).into())))
    });
    Ok((message.bytes, sender, service.unwrap_or(0)))
}

/// Sends a datagram, to `peer` or where the socket is connected.
fn send(socket: &OwnedFd, data: &[u8], service: u8, peer: Option<SocketAddr>) -> nix::Result<()> {
    let peer = peer.map(SockaddrStorage::from);
    let marked = [ControlMessage::Ipv4Tos(&service)];
    // A socket of IPv6 passes over the mark, which is of IPv4.
    let control = if service == 0 { &[][..] } else { &marked[..] };
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    loop {
        match sendmsg(socket.as_raw_fd(), &[IoSlice::new(data)], control, flags, peer.as_ref()) {
            Err(Errno::EINTR) => {}
            sent => return sent.map(drop),
        }
    }
}

#[cfg(test)]
mod tests;
