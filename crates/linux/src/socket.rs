//! Socket options and calls that the standard library lacks: congestion control and
//! TCP_INFO (tcp(7), linux/tcp.h), the type of service (ip(7)), time stamps of the
//! kernel (socket(7)).

use lasthop_units::Duration;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockFlag, accept4, recvmsg};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, clock_gettime};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Bytes of struct tcp_info up to and with `tcpi_bytes_acked` (Linux 4.1).
const TCP_INFO_BYTES: usize = 128;

/// Numbers of a socket's memory (asm-generic/socket.h), which libc lacks.
const SO_MEMINFO: libc::c_int = 55;
/// Index of the drops among these values (linux/sock_diag.h).
const RECEIVE_DROPS: usize = libc::SK_MEMINFO_DROPS as usize;

/// Chooses the congestion control of a TCP socket.
pub fn set_congestion_control(socket: &impl AsFd, name: &str) -> nix::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
}

/// Returns the congestion controls that the kernel has loaded, separated by spaces.
pub fn available_congestion_controls() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Sets the IPv4 type of service byte of the socket's packets.
pub fn set_type_of_service(socket: &impl AsFd, value: u8) -> nix::Result<()> {
    set(socket, libc::IPPROTO_IP, libc::IP_TOS, &i32::from(value).to_ne_bytes())
}

/// Sets the number of unsent bytes of a TCP socket above which it is no longer writable.
pub fn set_unsent_limit(socket: &impl AsFd, bytes: u32) -> nix::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes.to_ne_bytes())
}

/// Lets a TCP receiver acknowledge at once, whether or not the program has read: gives
/// it `buffer_bytes` bytes of buffer space, and a quarter of that as the amount waited for.
/// Otherwise Linux acknowledges every second segment only if the window can grow, that
/// is if the program has read what arrived before.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`; nothing is changed then.
pub fn set_patient_reader(socket: &impl AsFd, buffer_bytes: u32) -> nix::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &buffer_bytes.to_ne_bytes())?;
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &(buffer_bytes / 4).to_ne_bytes())
}

/// Makes the kernel stamp each datagram with the time of its arrival.
pub fn stamp_received(socket: &impl AsFd) -> nix::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32.to_ne_bytes())
}

/// Receives a datagram. Returns its length in bytes (at most the buffer's), and the time since
/// its arrival.
pub fn receive_stamped(socket: &impl AsFd, buffer: &mut [u8]) -> nix::Result<(usize, Duration)> {
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut pieces = [IoSliceMut::new(buffer)];
    let fd = socket.as_fd().as_raw_fd();
    let message = recvmsg::<()>(fd, &mut pieces, Some(&mut control), MsgFlags::MSG_DONTWAIT)?;
    let came = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmTimestampns(time) => Some(time),
        _ => None,
    });
    // The stamp is of the clock that may be set; only its distance from now is used.
    let age = match (came, clock_gettime(ClockId::CLOCK_REALTIME)) {
        (Some(came), Ok(now)) => u64::try_from((now - came).num_nanoseconds()).unwrap_or(0),
        _ => 0,
    };
    Ok((message.bytes, Duration::from_nanos(age)))
}

/// Returns the number of datagrams that the kernel has dropped at this socket, mostly because its
/// buffer was full; 0 if the kernel does not report it (before Linux 4.12).
#[expect(unsafe_code, reason = "getsockopt of a list of integers")]
pub fn receive_drops(socket: &impl AsFd) -> u64 {
    let mut values = [0u32; RECEIVE_DROPS + 1];
    let mut length = size_of_val(&values) as libc::socklen_t;
    let (fd, level) = (socket.as_fd().as_raw_fd(), libc::SOL_SOCKET);
    // SAFETY: the kernel writes at most `length` bytes.
    let result = unsafe {
        let values = (&raw mut values).cast();
        libc::getsockopt(fd, level, SO_MEMINFO, values, &raw mut length)
    };
    Errno::result(result).map_or(0, |_| u64::from(values[RECEIVE_DROPS]))
}

/// Accepts a waiting connection; the accepted socket never blocks.
#[expect(unsafe_code, reason = "takes ownership of a new descriptor")]
pub fn accept(listener: &impl AsFd) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = accept4(listener.as_fd().as_raw_fd(), flags)?;
    // SAFETY: the kernel made it for this call, nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Discards the waiting bytes of a TCP socket, without a copy (tcp(7), `MSG_TRUNC`). Returns
/// `false` at the end of the stream, and after an error.
#[expect(unsafe_code, reason = "recv without a buffer")]
pub fn discard_received(socket: &impl AsFd) -> bool {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    loop {
        // SAFETY: with MSG_TRUNC the kernel writes nothing to the buffer of a TCP socket.
        let n =
            unsafe { libc::recv(socket.as_fd().as_raw_fd(), std::ptr::null_mut(), 1 << 20, flags) };
        match Errno::result(n) {
            Ok(0) => return false,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return true,
            Err(_) => return false,
        }
    }
}

/// Sets the buffer space of received data in bytes, beyond the limit of the system where this
/// process may.
pub fn force_receive_buffer(socket: &impl AsFd, bytes: i32) -> nix::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes.to_ne_bytes())
        .or_else(|_| set_receive_buffer(socket, bytes))
}

/// Sets the buffer space of received data, in bytes, as far as the kernel allows.
pub fn set_receive_buffer(socket: &impl AsFd, bytes: i32) -> nix::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes.to_ne_bytes())
}

/// State of a TCP sender (`TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Congestion window in segments.
    pub cwnd_packets: u32,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Number of segments retransmitted so far.
    pub retransmissions: u64,
    /// Number of bytes acknowledged so far.
    pub bytes_acked: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
}

/// Reads the state of a TCP socket (`TCP_INFO`).
#[expect(unsafe_code, reason = "getsockopt into bytes")]
pub fn tcp_info(socket: &impl AsFd) -> nix::Result<TcpInfo> {
    let mut info = [0u8; TCP_INFO_BYTES];
    let mut length = TCP_INFO_BYTES as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    Errno::result(result)?;
    Ok(parse_tcp_info(&info))
}

/// Parses struct tcp_info by the offsets of linux/tcp.h, to which fields are only appended.
fn parse_tcp_info(info: &[u8; TCP_INFO_BYTES]) -> TcpInfo {
    let word = |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
    let (snd_mss, unacked, sacked, lost, retrans) =
        (word(16), word(24), word(28), word(32), word(36));
    // tcp_packets_in_flight() of net/tcp.h.
    let packets_in_flight = (unacked + retrans).saturating_sub(sacked + lost);
    let bytes_acked = info[120..128].try_into().expect("eight bytes were taken");
    TcpInfo {
        cwnd_packets: word(80),
        smoothed_rtt: Duration::from_micros(u64::from(word(68))),
        retransmissions: u64::from(word(100)),
        bytes_acked: u64::from_ne_bytes(bytes_acked),
        bytes_in_flight: u64::from(packets_in_flight) * u64::from(snd_mss),
    }
}

#[expect(unsafe_code, reason = "setsockopt from bytes")]
pub(super) fn set(socket: &impl AsFd, level: i32, option: i32, value: &[u8]) -> nix::Result<()> {
    // SAFETY: the kernel reads `value.len()` bytes.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    Errno::result(result).map(drop)
}
