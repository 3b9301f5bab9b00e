//! UDP sockets for measurements: many datagrams a system call (recvmmsg(2),
//! sendmmsg(2)), each with the instant at which the kernel received it
//! (`SO_TIMESTAMPNS`, socket(7)), and never cut into fragments
//! (`IP_MTU_DISCOVER`, ip(7), ipv6(7)).
//!
//! Leaves out pacing, which is the caller's: `SO_TXTIME` needs the queueing discipline
//! `fq` or `etf` on the interface, which a measurement must not install.
//! The crate quinn-udp reports neither the instant of reception nor the drops of the socket.

#![expect(clippy::disallowed_types, reason = "this crate has the sockets")]

use super::socket::set;
use super::{Call, OsError};
use lasthop_units::Duration;
use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Largest number of datagrams in one system call.
pub const BATCH: usize = 64;
/// Buffer space of a socket in each direction, in bytes: some thousand long packets.
const BUFFER_BYTES: i32 = 16 << 20;
/// Bytes for the ancillary data of one datagram: a time stamp and a count.
const CONTROL_BYTES: usize = 64;
/// The largest age that is believed: a larger one means that the clock was set meanwhile.
const AGE_MAX_NS: u64 = 10_000_000_000;
/// The zeros after the head of a datagram.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A UDP socket that never blocks.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UdpSocket,
}

/// A datagram to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The recipient; `None`: that of a connected socket.
    pub to: Option<SocketAddr>,
    /// First bytes of the datagram.
    pub head: &'a [u8],
    /// Length in bytes, at least that of the head; zeros follow the head.
    pub length: u16,
}

impl DatagramSocket {
    /// Opens a socket at `address`; port 0 for any.
    ///
    /// # Errors
    /// If the kernel refuses it, or the address is taken or not this host's.
    pub fn bind(address: SocketAddr) -> Result<Self, OsError> {
        Self::bind_to(address, None)
    }

    /// Opens a socket at `address` that sends and receives only through `interface`, if there is
    /// one. Sockets of several interfaces may have the same address.
    ///
    /// # Errors
    /// As of [`bind`](Self::bind), and if there is no such interface.
    pub fn bind_to(address: SocketAddr, interface: Option<&str>) -> Result<Self, OsError> {
        let socket = open(address)?;
        if let Some(name) = interface {
            set(&socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, name.as_bytes())
                .call(&format!("setsockopt(SO_BINDTODEVICE, {name})"))?;
        }
        let result = Self { socket: UdpSocket::from(socket) };
        result.prepare(address.is_ipv6()).call("setsockopt(UDP)")?;
        let (name, length) = encode(address);
        // SAFETY: the kernel reads `length` bytes of an address that lives.
        #[expect(unsafe_code, reason = "bind an address of either family")]
        let bound = unsafe { libc::bind(result.raw(), (&raw const name).cast(), length) };
        Errno::result(bound).call(&format!("bind({address})"))?;
        Ok(result)
    }

    /// Opens a socket that sends to `peer` and receives only from it.
    ///
    /// # Errors
    /// If the kernel refuses it, or there is no route.
    pub fn connect(peer: SocketAddr) -> Result<Self, OsError> {
        let any: SocketAddr = match peer {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let result = Self::bind(any)?;
        result.socket.connect(peer).call(&format!("connect({peer})"))?;
        Ok(result)
    }

    /// Returns the address of this socket.
    ///
    /// # Errors
    /// Errors of getsockname(2).
    pub fn address(&self) -> Result<SocketAddr, OsError> {
        self.socket.local_addr().call("getsockname")
    }

    /// Returns the MTU in bytes of the route to the peer of a connected socket, if the kernel
    /// knows it.
    pub fn mtu(&self) -> Option<u32> {
        let (level, option) = match self.socket.local_addr().ok()? {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
        };
        let mut value: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes.
        #[expect(unsafe_code, reason = "getsockopt of an integer")]
        let result = unsafe {
            let value = (&raw mut value).cast();
            libc::getsockopt(self.raw(), level, option, value, &raw mut length)
        };
        Errno::result(result).ok().and_then(|_| u32::try_from(value).ok())
    }

    fn prepare(&self, is_v6: bool) -> nix::Result<()> {
        let on = 1i32.to_ne_bytes();
        set(&self.socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
        set(&self.socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &on)?;
        if is_v6 {
            // IPv4 has a socket of its own: the length of headers follows from the address.
            set(&self.socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &on)?;
            let probe = libc::IPV6_PMTUDISC_PROBE.to_ne_bytes();
            set(&self.socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &probe)?;
        } else {
            let probe = libc::IP_PMTUDISC_PROBE.to_ne_bytes();
            set(&self.socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &probe)?;
        }
        let room = BUFFER_BYTES.to_ne_bytes();
        for (forced, plain) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            // Beyond the system's limit for a privileged process only; else up to it.
            set(&self.socket, libc::SOL_SOCKET, forced, &room)
                .or_else(|_| set(&self.socket, libc::SOL_SOCKET, plain, &room))?;
        }
        Ok(())
    }

    fn raw(&self) -> i32 {
        self.socket.as_raw_fd()
    }
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The buffers for the datagrams of one system call.
pub struct StampedInbox {
    /// Bytes that are kept of each datagram.
    kept: usize,
    bytes: Vec<u8>,
    names: Vec<libc::sockaddr_storage>,
    control: Vec<[u64; CONTROL_BYTES / 8]>,
    ages_ns: [u64; BATCH],
    lengths: [u16; BATCH],
    count: usize,
    overflowed: Option<u32>,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Address of the sender.
    pub from: SocketAddr,
    /// First bytes of the datagram.
    pub head: &'a [u8],
    /// Whole length in bytes.
    pub length: u16,
    /// The time since the kernel received it.
    pub age: Duration,
}

impl StampedInbox {
    /// Returns buffers for the first `kept` bytes of each datagram.
    #[expect(unsafe_code, reason = "addresses of zeros")]
    pub fn new(kept: usize) -> Self {
        // SAFETY: zeros are an address of no family.
        let nowhere: libc::sockaddr_storage = unsafe { zeroed() };
        Self {
            kept,
            bytes: vec![0; kept * BATCH],
            names: vec![nowhere; BATCH],
            control: vec![[0; CONTROL_BYTES / 8]; BATCH],
            ages_ns: [0; BATCH],
            lengths: [0; BATCH],
            count: 0,
            overflowed: None,
        }
    }

    /// Receives the waiting datagrams of `socket`, [`BATCH`] at most; returns their number.
    ///
    /// # Errors
    /// Errors that the network reports of an earlier datagram, such as `ECONNREFUSED`. An empty
    /// socket is no error.
    #[expect(unsafe_code, reason = "recvmmsg")]
    pub fn receive(&mut self, socket: &DatagramSocket) -> nix::Result<usize> {
        (self.count, self.overflowed) = (0, None);
        let mut pieces: Vec<libc::iovec> = self
            .bytes
            .chunks_exact_mut(self.kept)
            .map(|piece| libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() })
            .collect();
        let mut headers: Vec<libc::mmsghdr> = pieces
            .iter_mut()
            .zip(&mut self.names)
            .zip(&mut self.control)
            .map(|((piece, name), control)| {
                // SAFETY: zeros are a header without anything.
                let mut header: libc::mmsghdr = unsafe { zeroed() };
                header.msg_hdr.msg_name = (&raw mut *name).cast();
                header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as _;
                header.msg_hdr.msg_iov = piece;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = control.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
                header
            })
            .collect();
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: every header points to buffers that live, with their lengths.
        let count = unsafe {
            let (first, number) = (headers.as_mut_ptr(), headers.len() as libc::c_uint);
            libc::recvmmsg(socket.raw(), first, number, flags as _, std::ptr::null_mut())
        };
        let count = match Errno::result(count) {
            Ok(count) => count as usize,
            Err(Errno::EAGAIN | Errno::EINTR) => 0,
            Err(error) => return Err(error),
        };
        // The stamps are of the clock that may be set; only their distance from now is used.
        let now_ns = clock_gettime(ClockId::CLOCK_REALTIME)
            .map_or(0, |now| now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64);
        for (index, header) in headers[..count].iter().enumerate() {
            // SAFETY: the kernel filled this header and its buffers.
            let (stamp_ns, overflowed) = unsafe { ancillary(&header.msg_hdr) };
            self.overflowed = overflowed.or(self.overflowed);
            let age_ns = stamp_ns.map_or(0, |stamp_ns| now_ns.saturating_sub(stamp_ns));
            self.ages_ns[index] = if age_ns > AGE_MAX_NS { 0 } else { age_ns };
            self.lengths[index] = header.msg_len.min(u32::from(u16::MAX)) as u16;
        }
        self.count = count;
        Ok(count)
    }

    /// Returns the number of datagrams dropped since the socket was opened because its buffer
    /// was full, as of the last [`receive`](Self::receive); `None` if that had no such report.
    pub fn overflowed(&self) -> Option<u32> {
        self.overflowed
    }

    /// The datagrams of the last [`receive`](Self::receive).
    pub fn datagrams(&self) -> impl Iterator<Item = Incoming<'_>> {
        (0..self.count).filter_map(|index| {
            let length = self.lengths[index];
            let head = &self.bytes[index * self.kept..][..self.kept.min(length.into())];
            let age = Duration::from_nanos(self.ages_ns[index]);
            Some(Incoming { from: decode(&self.names[index])?, head, length, age })
        })
    }
}

impl std::fmt::Debug for StampedInbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StampedInbox")
            .field("kept", &self.kept)
            .field("count", &self.count)
            .finish()
    }
}

/// Sends `datagrams`, at most [`BATCH`] of them, in order. `refused` is called with the index
/// and the error of each that the kernel refused; the others are sent.
#[expect(unsafe_code, reason = "sendmmsg")]
pub fn send(
    socket: &DatagramSocket,
    datagrams: &[Outgoing<'_>],
    refused: &mut dyn FnMut(usize, Errno),
) {
    let names: Vec<_> = datagrams.iter().map(|datagram| datagram.to.map(encode)).collect();
    let mut pieces: Vec<[libc::iovec; 2]> = datagrams
        .iter()
        .map(|datagram| {
            let rest = usize::from(datagram.length).saturating_sub(datagram.head.len());
            [&datagram.head, &&ZEROS[..rest]].map(|piece| libc::iovec {
                iov_base: piece.as_ptr().cast_mut().cast(),
                iov_len: piece.len(),
            })
        })
        .collect();
    let mut headers: Vec<libc::mmsghdr> = names
        .iter()
        .zip(&mut pieces)
        .map(|(name, pieces)| {
            // SAFETY: zeros are a header without anything.
            let mut header: libc::mmsghdr = unsafe { zeroed() };
            if let Some((name, length)) = name {
                header.msg_hdr.msg_name = (&raw const *name).cast_mut().cast();
                header.msg_hdr.msg_namelen = *length;
            }
            header.msg_hdr.msg_iov = pieces.as_mut_ptr();
            header.msg_hdr.msg_iovlen = pieces.len() as _;
            header
        })
        .collect();
    let mut first = 0;
    while first < headers.len() {
        let rest = &mut headers[first..];
        // SAFETY: every header points to buffers that live, and the kernel only reads them.
        let sent = unsafe {
            let (begin, number) = (rest.as_mut_ptr(), rest.len() as libc::c_uint);
            libc::sendmmsg(socket.raw(), begin, number, libc::MSG_DONTWAIT as _)
        };
        match Errno::result(sent) {
            Ok(sent) => first += sent as usize,
            Err(Errno::EINTR) => {}
            Err(error) => {
                refused(first, error);
                first += 1;
            }
        }
    }
}

/// Reads a clock that is never set and not slewed: nanoseconds since an arbitrary instant.
pub fn host_clock_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW).expect("every Linux has this clock");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

#[expect(unsafe_code, reason = "a socket of either family")]
fn open(address: SocketAddr) -> Result<OwnedFd, OsError> {
    let family = if address.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the kernel makes a new descriptor, nobody else has it.
    unsafe {
        let fd = Errno::result(libc::socket(family, kind, 0)).call("socket(UDP)")?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Returns the time at which the kernel received the datagram, in nanoseconds of
/// CLOCK_REALTIME, and the number of datagrams dropped before it (`SO_RXQ_OVFL`).
///
/// # Safety
/// The kernel has filled `header`, and its buffers live.
#[expect(unsafe_code, reason = "ancillary data")]
unsafe fn ancillary(header: &libc::msghdr) -> (Option<u64>, Option<u32>) {
    let (mut stamp_ns, mut overflowed) = (None, None);
    // SAFETY: CMSG_* walk within msg_controllen; the data of these kinds are a
    // timespec and a 32-bit count.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = part.as_ref() {
            let data = libc::CMSG_DATA(part);
            match (found.cmsg_level, found.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    stamp_ns = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    overflowed = Some(data.cast::<u32>().read_unaligned());
                }
                _ => {}
            }
            part = libc::CMSG_NXTHDR(header, part);
        }
    }
    (stamp_ns, overflowed)
}

/// Returns an address as the kernel takes it, and its length in bytes.
#[expect(unsafe_code, reason = "addresses as bytes")]
pub(super) fn encode(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: zeros are an address of no family, and both families fit.
    unsafe {
        let mut name: libc::sockaddr_storage = zeroed();
        let length = match address {
            SocketAddr::V4(address) => {
                let to = (&raw mut name).cast::<libc::sockaddr_in>();
                (*to).sin_family = libc::AF_INET as _;
                (*to).sin_port = address.port().to_be();
                (*to).sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(address) => {
                let to = (&raw mut name).cast::<libc::sockaddr_in6>();
                (*to).sin6_family = libc::AF_INET6 as _;
                (*to).sin6_port = address.port().to_be();
                (*to).sin6_flowinfo = address.flowinfo();
                (*to).sin6_addr.s6_addr = address.ip().octets();
                (*to).sin6_scope_id = address.scope_id();
                size_of::<libc::sockaddr_in6>()
            }
        };
        (name, length as libc::socklen_t)
    }
}

/// Returns an address of the kernel; `None` if it is of another family.
#[expect(unsafe_code, reason = "addresses as bytes")]
pub(super) fn decode(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    // SAFETY: the family says which of the two it is, and both fit.
    unsafe {
        match i32::from(name.ss_family) {
            libc::AF_INET => {
                let from = &*(&raw const *name).cast::<libc::sockaddr_in>();
                let ip = Ipv4Addr::from(from.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddrV4::new(ip, u16::from_be(from.sin_port)).into())
            }
            libc::AF_INET6 => {
                let from = &*(&raw const *name).cast::<libc::sockaddr_in6>();
                let ip = Ipv6Addr::from(from.sin6_addr.s6_addr);
                // The flow label may change from packet to packet; it is no part of who it is.
                Some(
                    SocketAddrV6::new(ip, u16::from_be(from.sin6_port), 0, from.sin6_scope_id)
                        .into(),
                )
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    fn wait(socket: &DatagramSocket) {
        let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut fds, PollTimeout::from(5_000u16)).unwrap(), 1);
    }

    fn no_refusal(index: usize, error: Errno) {
        panic!("{index}: {error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn datagrams_arrive_with_length_sender_and_age() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let any: SocketAddr = any.parse().unwrap();
            let Ok(server) = DatagramSocket::bind(any) else {
                eprintln!("skipped, because {any} cannot be bound");
                continue;
            };
            let client = DatagramSocket::connect(server.address().unwrap()).unwrap();
            let long = Outgoing { to: None, head: b"a long one", length: 1_472 };
            let short = Outgoing { to: None, head: b"short", length: 5 };
            send(&client, &[long, short], &mut no_refusal);
            let mut inbox = StampedInbox::new(8);
            let mut heads = Vec::new();
            while heads.len() < 2 {
                wait(&server);
                inbox.receive(&server).unwrap();
                for datagram in inbox.datagrams() {
                    assert_eq!(datagram.from, client.address().unwrap());
                    assert!(datagram.age < Duration::from_secs(5), "{}", datagram.age);
                    heads.push((datagram.head.to_vec(), datagram.length));
                }
            }
            assert_eq!(heads, [(b"a long o".to_vec(), 1_472), (b"short".to_vec(), 5)]);
            let back = Outgoing { to: Some(client.address().unwrap()), head: b"back", length: 4 };
            send(&server, &[back], &mut no_refusal);
            wait(&client);
            assert_eq!(inbox.receive(&client), Ok(1));
            assert_eq!(inbox.datagrams().next().unwrap().head, b"back");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn a_port_without_a_program_refuses() {
        let taken = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = taken.address().unwrap();
        drop(taken);
        let client = DatagramSocket::connect(address).unwrap();
        send(&client, &[Outgoing { to: None, head: b"x", length: 1 }], &mut no_refusal);
        wait(&client);
        assert_eq!(StampedInbox::new(8).receive(&client), Err(Errno::ECONNREFUSED));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn what_is_too_long_is_refused_and_the_rest_sent() {
        let server = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let client = DatagramSocket::connect(server.address().unwrap()).unwrap();
        assert!(client.mtu().unwrap() >= 1_500);
        let short = Outgoing { to: None, head: b"x", length: 1 };
        let long = Outgoing { to: None, head: b"x", length: u16::MAX };
        let mut refusals = Vec::new();
        send(&client, &[short, long, short], &mut |index, error| refusals.push((index, error)));
        assert_eq!(refusals, [(1, Errno::EMSGSIZE)]);
        wait(&server);
        assert_eq!(StampedInbox::new(8).receive(&server), Ok(2));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn what_finds_no_room_is_counted() {
        let server = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        crate::socket::set_receive_buffer(&server, 0).unwrap();
        let client = DatagramSocket::connect(server.address().unwrap()).unwrap();
        let long = Outgoing { to: None, head: b"x", length: 1_472 };
        send(&client, &[long; BATCH], &mut no_refusal);
        wait(&server);
        let mut inbox = StampedInbox::new(8);
        let taken = inbox.receive(&server).unwrap();
        assert!((1..BATCH).contains(&taken), "{taken}");
        // The count comes with the next one that finds room.
        send(&client, &[long], &mut no_refusal);
        wait(&server);
        assert_eq!(inbox.receive(&server), Ok(1));
        assert_eq!(inbox.overflowed(), Some((BATCH - taken) as u32));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn a_taken_port_is_named() {
        let first = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = first.address().unwrap();
        let error = DatagramSocket::bind(address).unwrap_err();
        assert_eq!(error.errno, Errno::EADDRINUSE as i32);
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }
}
