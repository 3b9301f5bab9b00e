//! Errors that a UDP socket learns of earlier datagrams (`IP_RECVERR`, ip(7); `IPV6_RECVERR`,
//! ipv6(7)): ICMP messages of the other host, of routers, or of this host if the address belongs to no
//! host of its network.
//!
//! ICMP is not authenticated, so a refusal is for a person to read. Leaves out the type and code of
//! the message, of which the kernel makes an error number.

use super::socket::set;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

/// A refusal of an earlier datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The address to which the datagram was sent.
    pub to: SocketAddr,
    /// The host that refused it by ICMP; `None`: the kernel, which never sent it.
    pub by: Option<IpAddr>,
    /// The reason, such as `ECONNREFUSED` for a port without a program.
    pub why: Errno,
}

/// Lets a UDP socket keep refusals until they are taken.
///
/// # Errors
/// If the kernel lacks the option.
pub fn keep(socket: &impl AsFd, is_v6: bool) -> nix::Result<()> {
    let on = 1i32.to_ne_bytes();
    if is_v6 {
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, &on)
    } else {
        set(socket, libc::IPPROTO_IP, libc::IP_RECVERR, &on)
    }
}

/// Takes the oldest refusal; `None` if there is none.
pub fn take(socket: &impl AsFd) -> Option<Refusal> {
    // A socket may also add a time stamp and a count.
    let mut control =
        nix::cmsg_space!(libc::sock_extended_err, libc::sockaddr_in6, libc::timespec, u32);
    let mut datagram = [0; 1];
    let mut pieces = [IoSliceMut::new(&mut datagram)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let fd = socket.as_fd().as_raw_fd();
    let message = recvmsg::<SockaddrStorage>(fd, &mut pieces, Some(&mut control), flags).ok()?;
    let to = address(message.address.as_ref()?)?;
    message.cmsgs().ok()?.find_map(|part| {
        let (error, by) = match part {
            ControlMessageOwned::Ipv4RecvErr(error, by) => {
                let ip = by.map(|by| IpAddr::V4(u32::from_be(by.sin_addr.s_addr).into()));
                (error, ip)
            }
            ControlMessageOwned::Ipv6RecvErr(error, by) => {
                (error, by.map(|by| IpAddr::V6(by.sin6_addr.s6_addr.into())))
            }
            _ => return None,
        };
        let is_icmp =
            [libc::SO_EE_ORIGIN_ICMP, libc::SO_EE_ORIGIN_ICMP6].contains(&error.ee_origin);
        let why = Errno::from_raw(error.ee_errno as i32);
        Some(Refusal { to, by: by.filter(|_| is_icmp), why })
    })
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|&name| SocketAddrV4::from(name).into());
    v4.or_else(|| storage.as_sockaddr_in6().map(|&name| SocketAddrV6::from(name).into()))
}
