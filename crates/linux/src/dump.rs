//! A netlink socket that asks and collects whole answers: dumps of many messages, or one message
//! and its acknowledgement (netlink(7)). The socket only carries requests; the caller decides
//! whether they change anything. Each wait for the kernel takes at most a second.

use super::{Call, OsError};
use crate::message::{Message, messages};
use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};
use std::os::fd::{AsRawFd, OwnedFd};

/// Seconds that the kernel may take for a datagram.
const PATIENCE_S: i64 = 1;
/// Bytes of a datagram: the kernel fills up to 32 KiB in a dump.
const DATAGRAM_BYTES: usize = 64 * 1024;
/// Largest number of messages of an answer; later ones are left out.
const MESSAGES_MAX: usize = 65_536;

/// Protocol family that a socket asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The routing family, rtnetlink(7).
    Route,
    /// Generic netlink, families by number.
    Generic,
}

/// Descriptor of the socket.
#[derive(Debug)]
pub struct DumpSocket {
    socket: OwnedFd,
    sequence: u32,
}

impl DumpSocket {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// If the kernel has no such protocol.
    pub fn open(protocol: Protocol) -> Result<Self, OsError> {
        let (protocol, call) = match protocol {
            Protocol::Route => (SockProtocol::NetlinkRoute, "socket(NETLINK_ROUTE)"),
            Protocol::Generic => (SockProtocol::NetlinkGeneric, "socket(NETLINK_GENERIC)"),
        };
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol).call(call)?;
        setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(PATIENCE_S))
            .call("setsockopt(SO_RCVTIMEO)")?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).call("bind(netlink)")?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends a request, which has `NLM_F_DUMP` or `NLM_F_ACK`, and returns the answer: the payloads
    /// of the messages, without the final one.
    ///
    /// # Errors
    /// Errors of the kernel; `EAGAIN` after the timeout.
    pub fn ask(&mut self, request: Message) -> nix::Result<Vec<Vec<u8>>> {
        // Zero is that of messages that answer nothing.
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let bytes = request.finish(self.sequence);
        let kernel = NetlinkAddr::new(0, 0);
        sendto(self.socket.as_raw_fd(), &bytes, &kernel, MsgFlags::empty())?;
        let mut answers = Vec::new();
        let mut buffer = vec![0; DATAGRAM_BYTES];
        loop {
            let length = match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Err(Errno::EINTR) => continue,
                result => result?,
            };
            for message in messages(&buffer[..length]) {
                if message.sequence != self.sequence {
                    continue;
                }
                match message.outcome() {
                    Some(code) if code < 0 => return Err(Errno::from_raw(-code)),
                    Some(_) => return Ok(answers),
                    None if i32::from(message.kind) == libc::NLMSG_DONE => return Ok(answers),
                    None if answers.len() < MESSAGES_MAX => answers.push(message.payload.to_vec()),
                    None => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::attributes;

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's netlink")]
    fn a_dump_of_links_has_the_loopback() {
        let mut socket = DumpSocket::open(Protocol::Route).unwrap();
        let mut request = Message::new(libc::RTM_GETLINK, libc::NLM_F_DUMP);
        request.raw(&[0; 16]);
        let links = socket.ask(request).unwrap();
        let is_loopback = |link: &Vec<u8>| {
            attributes(&link[16..]).any(|(kind, name)| kind == libc::IFLA_IFNAME && name == b"lo\0")
        };
        assert_eq!(links.iter().filter(|link| is_loopback(link)).count(), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's netlink")]
    fn a_refusal_is_the_kernels_error() {
        let mut socket = DumpSocket::open(Protocol::Route).unwrap();
        let mut request = Message::new(libc::RTM_GETLINK, libc::NLM_F_ACK);
        request.raw(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(socket.ask(request), Err(Errno::ENODEV));
        // The socket is good for another question.
        let mut request = Message::new(libc::RTM_GETLINK, libc::NLM_F_DUMP);
        request.raw(&[0; 16]);
        assert!(!socket.ask(request).unwrap().is_empty());
    }
}
