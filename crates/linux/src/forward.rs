//! Passes TCP and UDP on from one network namespace to another. Connections accepted at a listener
//! of the one are connected in the other, that of the calling thread, and the bytes are copied both
//! ways. An end of data is passed on as one, a reset as a reset; a connection that the far side
//! refuses is reset here, since it was accepted already. Datagrams are in `datagrams`, counters in
//! `tally`.
//!
//! One thread with poll(2), no more than [`CONNECTIONS_MAX`] connections at a time: others
//! wait in the listeners' backlogs.

mod datagrams;
mod tally;

pub use datagrams::{CLIENTS_MAX, IDLE, datagrams_at};
pub use tally::{Passed, Tally};

use super::socket::{accept, set};
use super::{Call, OsError};
use datagrams::{Clients, Key};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::SocketError;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrStorage, bind, connect,
    getsockopt, listen, send, shutdown, socket,
};
use nix::unistd::{pipe2, read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use tally::Count;

/// Largest number of connections at a time.
pub const CONNECTIONS_MAX: usize = 256;
/// Connections that wait in the backlog of a listener.
const BACKLOG: i32 = 128;
/// Bytes in flight in each direction of a connection, beside those in the sockets.
const BUFFER_BYTES: usize = 32 * 1024;
/// Time for which no connection is accepted after the system had no descriptors or memory, in
/// milliseconds.
const FULL_MS: u8 = 100;
/// Reads of a connection in a turn, so that the others have theirs.
const TURN_READS: usize = 8;

/// Interval of the search for clients without datagrams, in milliseconds.
const LOOK_MS: u16 = 10_000;

/// Sockets of a port, and the targets of their connections and datagrams.
#[derive(Debug)]
pub struct Route {
    /// Index of the way in the counters.
    pub way: usize,
    /// The TCP socket that listens; it never blocks.
    pub listener: OwnedFd,
    /// The UDP socket; it never blocks.
    pub datagrams: OwnedFd,
    /// The addresses of the other end, which are tried in this order.
    pub targets: Vec<SocketAddr>,
}

/// Opens a TCP socket that listens at `address` in the calling thread's network namespace.
///
/// # Errors
/// If the address is taken, or not one of the namespace.
pub fn listen_at(address: SocketAddr) -> Result<OwnedFd, OsError> {
    let call = format!("bind({address})");
    let socket = stream(address).call("socket(TCP)")?;
    set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1i32.to_ne_bytes()).call(&call)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address)).call(&call)?;
    listen(&socket, Backlog::new(BACKLOG).expect("it is small")).call(&call)?;
    Ok(socket)
}

/// A thread that passes connections on until it is dropped, which ends them all.
#[derive(Debug)]
pub struct Forwarder {
    /// Descriptor whose closing stops the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// Starts the thread in the network namespace of the caller.
    ///
    /// # Errors
    /// If the system refuses another thread or descriptor.
    pub fn start(routes: Vec<Route>, tally: Arc<Tally>) -> Result<Self, OsError> {
        let (stopped, stop) = pipe2(OFlag::O_CLOEXEC).call("pipe")?;
        let thread = std::thread::Builder::new()
            .name("forward".into())
            .spawn(move || forward(&routes.iter().collect::<Vec<_>>(), &tally, Some(&stopped)))
            .call("clone(a thread)")?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Passes connections and datagrams on until the other end of the pipe `stop` is closed; without
/// `stop`, for ever.
pub fn forward(routes: &[&Route], tally: &Tally, stop: Option<&OwnedFd>) {
    let mut connections: Vec<Connection<'_>> = Vec::new();
    let mut clients = Clients::new(routes, tally);
    // Whether the system had no descriptor or memory left for one more.
    let mut is_full = false;
    loop {
        let is_room = !is_full && connections.len() < CONNECTIONS_MAX;
        let listeners = if is_room { routes } else { &[] };
        let mut waiting: Vec<PollFd<'_>> = Vec::new();
        let mut waits: Vec<Waits> = Vec::new();
        if let Some(fd) = stop {
            waiting.push(PollFd::new(fd.as_fd(), PollFlags::POLLIN));
            waits.push(Waits::Stop);
        }
        for (index, route) in listeners.iter().enumerate() {
            waiting.push(PollFd::new(route.listener.as_fd(), PollFlags::POLLIN));
            waits.push(Waits::Listener(index));
        }
        for (index, connection) in connections.iter().enumerate() {
            for (end, socket) in connection.ends.iter().enumerate() {
                // What waits for nothing is left out: its hang-up would end every wait.
                let interest = connection.interest(end);
                if !interest.is_empty() {
                    waiting.push(PollFd::new(socket.as_fd(), interest));
                    waits.push(Waits::Connection(index));
                }
            }
        }
        clients.wait(&mut waiting, &mut waits);
        let timeout = match (is_full, clients.is_empty()) {
            (true, _) => FULL_MS.into(),
            (false, false) => LOOK_MS.into(),
            (false, true) => PollTimeout::NONE,
        };
        is_full = false;
        if poll(&mut waiting, timeout).is_err() {
            continue;
        }
        let is_ready = waiting.iter().map(|fd| fd.any().unwrap_or(false));
        let ready: Vec<Waits> = waits
            .iter()
            .zip(is_ready)
            .filter_map(|(waits, ready)| ready.then_some(*waits))
            .collect();
        drop(waiting);
        for waits in ready {
            match waits {
                Waits::Stop => return,
                Waits::Listener(index) => match accept(&routes[index].listener) {
                    Ok(client) => {
                        let Route { way, targets, .. } = routes[index];
                        tally.add(*way, Count::Connections, 1);
                        match Connection::new(client, *way, targets) {
                            Some(connection) => connections.push(connection),
                            None => tally.add(*way, Count::ConnectionsRefused, 1),
                        }
                    }
                    Err(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM) => {
                        is_full = true;
                    }
                    // The client is gone again.
                    Err(_) => {}
                },
                Waits::Connection(index) => connections[index].turn(),
                Waits::Datagrams(index) => clients.take(index),
                Waits::Client(key) => clients.answer(key),
            }
        }
        for refused in connections.iter().filter(|connection| connection.is_refused()) {
            tally.add(refused.way, Count::ConnectionsRefused, 1);
        }
        connections.retain(|connection| !connection.is_over());
        clients.forget_idle();
    }
}

/// The owner of a descriptor that is waited for.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Stop,
    Listener(usize),
    Connection(usize),
    /// Datagrams of a route's clients.
    Datagrams(usize),
    /// Answers to a client.
    Client(Key),
}

/// A connection at both ends: that of the client, and that of the target.
#[derive(Debug)]
struct Connection<'a> {
    way: usize,
    ends: [OwnedFd; 2],
    /// Bytes in flight from each end to the other.
    ways: [Way; 2],
    /// The addresses to be tried if the target refuses; `None` once it has accepted.
    connecting: Option<&'a [SocketAddr]>,
    is_reset: bool,
}

/// The bytes in flight in one direction.
#[derive(Debug)]
struct Way {
    buffer: Vec<u8>,
    sent: usize,
    /// Whether the end of the data has been read.
    is_ended: bool,
    /// Whether the other end was shut down for writing.
    is_shut: bool,
}

impl<'a> Connection<'a> {
    /// Begins to connect; `None`, after a reset, if no target can be tried.
    fn new(client: OwnedFd, of: usize, targets: &'a [SocketAddr]) -> Option<Self> {
        let Some((target, rest)) = connect_to(targets) else {
            reset(&client);
            return None;
        };
        let way = || Way { buffer: Vec::new(), sent: 0, is_ended: false, is_shut: false };
        set_no_delay(&client);
        let (ends, ways) = ([client, target], [way(), way()]);
        Some(Self { way: of, ends, ways, connecting: Some(rest), is_reset: false })
    }

    /// Whether the connection was reset because no target accepted it.
    fn is_refused(&self) -> bool {
        self.is_reset && self.connecting.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_reset || self.ways.iter().all(|way| way.is_shut)
    }

    /// The events to wait for at `end`.
    fn interest(&self, end: usize) -> PollFlags {
        let mut interest = PollFlags::empty();
        if self.connecting.is_some() {
            if end == 1 {
                interest |= PollFlags::POLLOUT;
            }
            return interest;
        }
        let (out, back) = (&self.ways[end], &self.ways[1 - end]);
        if !out.is_ended && out.is_empty() {
            interest |= PollFlags::POLLIN;
        }
        if !back.is_empty() {
            interest |= PollFlags::POLLOUT;
        }
        interest
    }

    /// Connects, or copies waiting bytes.
    fn turn(&mut self) {
        if self.is_reset {
            return;
        }
        if let Some(rest) = self.connecting {
            match getsockopt(&self.ends[1], SocketError) {
                Ok(0) => self.connecting = None,
                Ok(_) | Err(_) => match connect_to(rest) {
                    Some((target, rest)) => {
                        self.ends[1] = target;
                        self.connecting = Some(rest);
                    }
                    None => self.reset(),
                },
            }
            return;
        }
        let [client, target] = &self.ends;
        let [out, back] = &mut self.ways;
        if out.copy(client, target).and_then(|()| back.copy(target, client)).is_err() {
            self.reset();
        }
    }

    fn reset(&mut self) {
        self.ends.iter().for_each(reset);
        self.is_reset = true;
    }
}

impl Way {
    fn is_empty(&self) -> bool {
        self.sent == self.buffer.len()
    }

    /// Copies waiting bytes, as far as the other end accepts them.
    fn copy(&mut self, from: &OwnedFd, to: &OwnedFd) -> nix::Result<()> {
        for _ in 0..TURN_READS {
            while !self.is_empty() {
                match send(to.as_raw_fd(), &self.buffer[self.sent..], MsgFlags::MSG_NOSIGNAL) {
                    Ok(bytes) => self.sent += bytes,
                    Err(Errno::EINTR) => {}
                    Err(Errno::EAGAIN) => return Ok(()),
                    Err(errno) => return Err(errno),
                }
            }
            if self.is_ended {
                break;
            }
            self.buffer.resize(BUFFER_BYTES, 0);
            let bytes = match read(from, &mut self.buffer) {
                Ok(bytes) => bytes,
                Err(Errno::EAGAIN | Errno::EINTR) => {
                    (self.sent, self.buffer) = (0, Vec::new());
                    return Ok(());
                }
                Err(errno) => return Err(errno),
            };
            self.buffer.truncate(bytes);
            (self.sent, self.is_ended) = (0, bytes == 0);
        }
        if self.is_ended && self.is_empty() && !self.is_shut {
            self.is_shut = true;
            // An error means that the other end is gone, which its own way notices.
            let _ = shutdown(to.as_raw_fd(), Shutdown::Write);
        }
        Ok(())
    }
}

/// Begins to connect to the first of the addresses that can be tried; returns those behind it,
/// too.
fn connect_to(targets: &[SocketAddr]) -> Option<(OwnedFd, &[SocketAddr])> {
    let mut rest = targets;
    while let Some((&target, others)) = rest.split_first() {
        rest = others;
        let Ok(socket) = stream(target) else { continue };
        set_no_delay(&socket);
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(target)) {
            Ok(()) | Err(Errno::EINPROGRESS) => return Some((socket, rest)),
            Err(_) => {}
        }
    }
    None
}

fn stream(address: SocketAddr) -> nix::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)
}

/// Passes small pieces on at once.
fn set_no_delay(socket: &OwnedFd) {
    let _ = set(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1i32.to_ne_bytes());
}

/// Has the connection reset when it is closed (socket(7), SO_LINGER).
fn reset(socket: &OwnedFd) {
    let at_once = [1i32.to_ne_bytes(), 0i32.to_ne_bytes()].concat();
    let _ = set(socket, libc::SOL_SOCKET, libc::SO_LINGER, &at_once);
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "clients and servers of the tests")]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    fn any() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 0).into()
    }

    /// A forwarder to `targets`, and the address of its listener.
    fn forwarder(targets: Vec<SocketAddr>) -> (Forwarder, SocketAddr) {
        let listener = TcpListener::from(listen_at(any()).unwrap());
        let address = listener.local_addr().unwrap();
        let datagrams = datagrams_at(any()).unwrap();
        let route = Route { way: 0, listener: listener.into(), datagrams, targets };
        let tally = Arc::new(Tally::new(1).unwrap());
        (Forwarder::start(vec![route], tally).unwrap(), address)
    }

    /// An address without a listener.
    fn nobody() -> SocketAddr {
        TcpListener::bind(any()).unwrap().local_addr().unwrap()
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's TCP")]
    fn bytes_and_their_end_go_both_ways() {
        let server = TcpListener::bind(any()).unwrap();
        // The first target refuses.
        let (_forwarder, address) = forwarder(vec![nobody(), server.local_addr().unwrap()]);
        let content: Vec<u8> =
            (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut connection, _) = server.accept().unwrap();
                let mut request = Vec::new();
                connection.read_to_end(&mut request).unwrap();
                assert!(request == content);
                request.reverse();
                connection.write_all(&request).unwrap();
            });
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(&content).unwrap();
            // Half of the connection is closed, the other half still works.
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            answer.reverse();
            assert!(answer == content);
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's TCP")]
    fn a_refusal_and_a_reset_go_over() {
        let (_refusing, address) = forwarder(vec![nobody()]);
        let mut client = TcpStream::connect(address).unwrap();
        let refused = client.read(&mut [0]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionReset);

        let server = TcpListener::bind(any()).unwrap();
        let (forwarder, address) = forwarder(vec![server.local_addr().unwrap()]);
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"unread").unwrap();
        let (connection, _) = server.accept().unwrap();
        connection.peek(&mut [0]).unwrap();
        // Data that nobody has read: the kernel resets the connection.
        drop(connection);
        let reset = client.read(&mut [0]).unwrap_err();
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        drop(forwarder);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's TCP")]
    fn when_it_is_dropped_its_connections_end() {
        let server = TcpListener::bind(any()).unwrap();
        let (forwarder, address) = forwarder(vec![server.local_addr().unwrap()]);
        let mut clients: Vec<TcpStream> =
            (0..CONNECTIONS_MAX + 3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let (mut connection, _) = server.accept().unwrap();
        connection.write_all(b"x").unwrap();
        clients[0].read_exact(&mut [0]).unwrap();
        drop(forwarder);
        assert!(matches!(clients[0].read(&mut [0]), Ok(0) | Err(_)));
        assert!(TcpStream::connect(address).is_err());
    }
}
