//! A generic netlink socket to `mac80211_hwsim` (netlink(7), genetlink; [`wire`] has the
//! meaning of messages). The kernel handles a request within the call that sends it, so the
//! answer waits when the call returns. Radios made over the socket end with it, and so does the
//! medium.

use crate::wire;
use lasthop_linux::message::{Message, messages};
use lasthop_linux::socket::force_receive_buffer;
use lasthop_linux::{Call, OsError};
use lasthop_units::MacAddr;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    socket,
};
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Buffer space of frames in bytes, as the kernel counts it: two thousand long ones.
const RECEIVE_BYTES: i32 = 16 << 20;
/// A bound above the length of any message, in bytes.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// The socket by which radios and medium talk.
#[derive(Debug)]
pub struct HwsimSocket {
    socket: OwnedFd,
    family: u16,
    sequence: u32,
    /// Messages that came while an answer was awaited.
    backlog: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
}

impl HwsimSocket {
    /// Opens a socket in the calling thread's network namespace; nothing changes yet.
    ///
    /// # Errors
    /// `ENOENT` if the kernel has no `mac80211_hwsim`, or its module is not loaded.
    pub fn open() -> Result<Self, OsError> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::NetlinkGeneric,
        )
        .call("socket(NETLINK_GENERIC)")?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).call("bind(NETLINK_GENERIC)")?;
        force_receive_buffer(&socket, RECEIVE_BYTES).call("setsockopt(SO_RCVBUF)")?;
        let buffer = vec![0; MESSAGE_BYTES_MAX];
        let mut hwsim = Self { socket, family: 0, sequence: 0, backlog: VecDeque::new(), buffer };
        let call = "mac80211_hwsim";
        let answer = hwsim.ask(wire::ask_family()).call(call)?;
        let family = messages(&answer).next().as_ref().and_then(wire::family);
        hwsim.family = family.ok_or(Errno::EBADMSG).call(call)?;
        Ok(hwsim)
    }

    /// Takes the medium over: from now on every frame of the namespace's radios comes here.
    ///
    /// # Errors
    /// `EBUSY` if another program has it, `EPERM` without CAP_NET_ADMIN, `EOPNOTSUPP` if a radio
    /// uses several channels at a time.
    pub fn register(&mut self) -> Result<(), OsError> {
        let request = wire::register(self.family);
        self.ask(request).map(drop).call("mac80211_hwsim: medium")
    }

    /// Makes a radio called `name`, which ends with the socket.
    ///
    /// # Errors
    /// `EEXIST` or `EINVAL` for a name that is taken or invalid.
    pub fn create(&mut self, name: &str, address: MacAddr) -> Result<(), OsError> {
        let request = wire::new_radio(self.family, name, address);
        self.ask(request).map(drop).call(&format!("mac80211_hwsim: radio {name}"))
    }

    /// Delivers a frame to a radio. With `verdict` returns whether the radio accepted it, which one
    /// that is off or on another channel does not; else `true`.
    pub fn deliver(&mut self, delivery: &wire::Delivery<'_>, verdict: bool) -> bool {
        let message = wire::deliver(self.family, delivery, verdict);
        if verdict { self.ask(message).is_ok() } else { self.send(message).is_ok() }
    }

    /// Reports the outcome of a frame; the kernel ignores one that it has given up meanwhile.
    pub fn report(&mut self, report: &wire::Report) {
        let message = wire::report(self.family, report);
        let _ = self.send(message);
    }

    /// The next message, if one waits. Unrequested answers are passed as well.
    ///
    /// # Errors
    /// Errors of recv(2), except `EAGAIN`.
    pub fn receive(&mut self) -> Result<Option<Vec<u8>>, OsError> {
        if let Some(message) = self.backlog.pop_front() {
            return Ok(Some(message));
        }
        match self.take() {
            Err(Errno::EAGAIN) => Ok(None),
            result => result.map(Some).call("recv(NETLINK_GENERIC)"),
        }
    }

    /// Whether messages wait that the descriptor does not show.
    pub fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    fn take(&mut self) -> nix::Result<Vec<u8>> {
        loop {
            match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Err(Errno::EINTR) => {}
                result => return Ok(self.buffer[..result?].to_vec()),
            }
        }
    }

    fn send(&mut self, message: Message) -> nix::Result<u32> {
        // Zero is that of messages that answer nothing.
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let bytes = message.finish(self.sequence);
        sendto(self.socket.as_raw_fd(), &bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        Ok(self.sequence)
    }

    /// Sends a request and returns its answer, which is empty if that is an acknowledgement.
    fn ask(&mut self, message: Message) -> nix::Result<Vec<u8>> {
        let sequence = self.send(message)?;
        loop {
            let datagram = self.take()?;
            let Some(answer) = messages(&datagram).find(|m| m.sequence == sequence) else {
                self.backlog.push_back(datagram);
                continue;
            };
            return match answer.outcome() {
                Some(code) if code < 0 => Err(Errno::from_raw(-code)),
                Some(_) => Ok(Vec::new()),
                None => Ok(datagram),
            };
        }
    }
}

impl AsFd for HwsimSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
