//! The messages between the supervisor and the emulator: each a packet of a
//! `SOCK_SEQPACKET` pair, with at most one descriptor (unix(7)). Both sides are the
//! same program, so there is no version, and the byte order is the host's.

use super::OsError;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A message from the supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The TAP device of the next node, whose descriptor is with this.
    Tap,
    /// The packet socket of all veth ends, whose descriptor is with this.
    PacketSocket,
    /// The interface index of the next node's veth end.
    Interface(u32),
    /// The next of the sockets of the plan, whose descriptor is with this.
    Socket,
    /// The answer to [`Order::FindSender`].
    Sender {
        /// The number of the flow.
        flow: u32,
        /// The name of the program; empty if it was not found.
        name: String,
    },
    /// The network namespace in which the outside begins, whose descriptor is with this.
    NetNamespace,
    /// The user namespace that owns it, whose descriptor is with this.
    UserNamespace,
    /// All of the above were sent.
    Ready,
    /// The plan could not be executed; the supervisor ends.
    Failed(OsError),
    /// A job could not be started.
    NotStarted {
        /// Index of the job.
        job: u32,
        /// The error number of execve(2).
        errno: i32,
    },
    /// A job ended: exit status, or 128 and the number of the signal that killed it.
    Exited {
        /// Index of the job.
        job: u32,
        /// The status as in a shell.
        status: i32,
    },
    /// A job was stopped by a signal.
    Stopped {
        /// Index of the job.
        job: u32,
    },
    /// A job is ready ([`super::supervisor::Job::ready`]).
    JobReady {
        /// Index of the job.
        job: u32,
    },
    /// The answer to [`Order::CountDrops`], one for each node.
    Drops {
        /// Number of frames that the node's interface has dropped on sending.
        frames: u32,
    },
}

/// A message to the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Start a job.
    Start {
        /// Index of the job.
        job: u32,
    },
    /// Send a signal to the process group of a job.
    Signal {
        /// Index of the job.
        job: u32,
        /// Number of the signal.
        signal: i32,
    },
    /// Put a stopped job in the terminal's foreground, and resume it.
    Resume {
        /// Index of the job.
        job: u32,
    },
    /// Read every node's drop counter.
    CountDrops,
    /// Find the program that has a socket.
    FindSender {
        /// Number of the flow, for the answer.
        flow: u16,
        /// Position of the node.
        node: u16,
        /// Protocol above IP.
        protocol: u8,
        /// Local port of the socket.
        port: u16,
    },
    /// Forward packets to the interface [`INTERFACE`](super::slirp::INTERFACE) in the outside's
    /// first node; answered by [`Report::Ready`] or [`Report::Failed`].
    Route,
}

/// A message before it is encoded: its kind, two numbers, and a text.
type Raw = (u8, u32, i32, String);

impl Report {
    fn encode(&self) -> Raw {
        let none = String::new();
        match self {
            Self::Tap => (0, 0, 0, none),
            Self::PacketSocket => (1, 0, 0, none),
            Self::Interface(index) => (2, *index, 0, none),
            Self::Socket => (3, 0, 0, none),
            Self::Ready => (4, 0, 0, none),
            Self::Failed(error) => (5, 0, error.errno, error.call.clone()),
            Self::NotStarted { job, errno } => (6, *job, *errno, none),
            Self::Exited { job, status } => (7, *job, *status, none),
            Self::Stopped { job } => (8, *job, 0, none),
            Self::Drops { frames } => (9, *frames, 0, none),
            Self::JobReady { job } => (10, *job, 0, none),
            Self::NetNamespace => (11, 0, 0, none),
            Self::UserNamespace => (12, 0, 0, none),
            Self::Sender { flow, name } => (13, *flow, 0, name.clone()),
        }
    }

    fn decode((kind, a, b, text): Raw) -> Option<Self> {
        Some(match kind {
            0 => Self::Tap,
            1 => Self::PacketSocket,
            2 => Self::Interface(a),
            3 => Self::Socket,
            4 => Self::Ready,
            5 => Self::Failed(OsError { call: text, errno: b }),
            6 => Self::NotStarted { job: a, errno: b },
            7 => Self::Exited { job: a, status: b },
            8 => Self::Stopped { job: a },
            9 => Self::Drops { frames: a },
            10 => Self::JobReady { job: a },
            11 => Self::NetNamespace,
            12 => Self::UserNamespace,
            13 => Self::Sender { flow: a, name: text },
            _ => return None,
        })
    }
}

impl Order {
    fn encode(self) -> Raw {
        match self {
            Self::Start { job } => (0, job, 0, String::new()),
            Self::Signal { job, signal } => (1, job, signal, String::new()),
            Self::Resume { job } => (2, job, 0, String::new()),
            Self::CountDrops => (3, 0, 0, String::new()),
            Self::Route => (4, 0, 0, String::new()),
            Self::FindSender { flow, node, protocol, port } => {
                let ends = u32::from(flow) << 16 | u32::from(node);
                (5, ends, i32::from(protocol) << 16 | i32::from(port), String::new())
            }
        }
    }

    fn decode((kind, job, signal, _): Raw) -> Option<Self> {
        Some(match kind {
            0 => Self::Start { job },
            1 => Self::Signal { job, signal },
            2 => Self::Resume { job },
            3 => Self::CountDrops,
            4 => Self::Route,
            5 => Self::FindSender {
                flow: (job >> 16) as u16,
                node: job as u16,
                protocol: (signal >> 16) as u8,
                port: signal as u16,
            },
            _ => return None,
        })
    }
}

/// Sends a report, with a descriptor if it has one.
pub fn send_report(
    to: &impl AsFd,
    report: &Report,
    descriptor: Option<&OwnedFd>,
) -> nix::Result<()> {
    send(to, report.encode(), descriptor.map(AsRawFd::as_raw_fd))
}

/// Sends an order.
pub fn send_order(to: &impl AsFd, order: Order) -> nix::Result<()> {
    send(to, order.encode(), None)
}

/// Waits for a report; `None` once the supervisor is gone.
pub fn receive_report(from: &impl AsFd) -> nix::Result<Option<(Report, Option<OwnedFd>)>> {
    let Some((raw, descriptor)) = receive(from, MsgFlags::empty())? else { return Ok(None) };
    Ok(Some((Report::decode(raw).ok_or(Errno::EBADMSG)?, descriptor)))
}

/// Returns a report without waiting: `Err(EAGAIN)` if none waits, `None` once the supervisor is
/// gone.
pub fn poll_report(from: &impl AsFd) -> nix::Result<Option<Report>> {
    let Some((raw, _)) = receive(from, MsgFlags::MSG_DONTWAIT)? else { return Ok(None) };
    Ok(Some(Report::decode(raw).ok_or(Errno::EBADMSG)?))
}

/// Waits for an order; `None` once the emulator is gone.
pub fn receive_order(from: &impl AsFd) -> nix::Result<Option<Order>> {
    let Some((raw, _)) = receive(from, MsgFlags::empty())? else { return Ok(None) };
    Ok(Some(Order::decode(raw).ok_or(Errno::EBADMSG)?))
}

fn send(to: &impl AsFd, (kind, a, b, text): Raw, descriptor: Option<RawFd>) -> nix::Result<()> {
    let mut bytes = vec![kind];
    bytes.extend(a.to_ne_bytes());
    bytes.extend(b.to_ne_bytes());
    bytes.extend(text.as_bytes());
    let descriptors: Vec<RawFd> = descriptor.into_iter().collect();
    let rights = [ControlMessage::ScmRights(&descriptors)];
    let control = if descriptors.is_empty() { &[][..] } else { &rights[..] };
    let pieces = [IoSlice::new(&bytes)];
    let fd = to.as_fd().as_raw_fd();
    sendmsg::<()>(fd, &pieces, control, MsgFlags::MSG_NOSIGNAL, None).map(drop)
}

#[expect(unsafe_code, reason = "takes ownership of a descriptor that was sent")]
fn receive(from: &impl AsFd, flags: MsgFlags) -> nix::Result<Option<(Raw, Option<OwnedFd>)>> {
    let mut bytes = [0; 4096];
    let mut control = cmsg_space!([RawFd; 1]);
    let mut pieces = [IoSliceMut::new(&mut bytes)];
    let flags = flags | MsgFlags::MSG_CMSG_CLOEXEC;
    let fd = from.as_fd().as_raw_fd();
    let message = loop {
        match recvmsg::<()>(fd, &mut pieces, Some(&mut control), flags) {
            Err(Errno::EINTR) => {}
            // The other end was closed before it had read everything.
            Err(Errno::ECONNRESET) => return Ok(None),
            result => break result?,
        }
    };
    let mut descriptor = None;
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(fds) = part {
            // SAFETY: the kernel made these descriptors for this message, nobody else has them.
            descriptor = fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).next();
        }
    }
    let length = message.bytes;
    let [kind, a0, a1, a2, a3, b0, b1, b2, b3, text @ ..] = &bytes[..length] else {
        return if length == 0 { Ok(None) } else { Err(Errno::EBADMSG) };
    };
    let text = String::from_utf8_lossy(text).into_owned();
    let a = u32::from_ne_bytes([*a0, *a1, *a2, *a3]);
    let b = i32::from_ne_bytes([*b0, *b1, *b2, *b3]);
    Ok(Some(((*kind, a, b, text), descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        let kind = SockType::SeqPacket;
        socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC).unwrap()
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's Unix sockets")]
    fn reports_and_orders_come_out_as_they_went_in() {
        let (a, b) = pair();
        let error = OsError { call: "unshare(CLONE_NEWUSER)".into(), errno: libc::EPERM };
        for report in [
            Report::Interface(7),
            Report::Failed(error),
            Report::Exited { job: 3, status: 143 },
            Report::JobReady { job: 2 },
            Report::Sender { flow: 300, name: "curl".into() },
            Report::NotStarted { job: 0, errno: libc::ENOENT },
        ] {
            send_report(&a, &report, None).unwrap();
            assert_eq!(receive_report(&b).unwrap().unwrap().0, report);
        }
        for order in [
            Order::Signal { job: 1, signal: libc::SIGTERM },
            Order::FindSender { flow: 65_535, node: 65_534, protocol: 17, port: 65_533 },
        ] {
            send_order(&b, order).unwrap();
            assert_eq!(receive_order(&a).unwrap(), Some(order));
        }
        drop(b);
        assert_eq!(receive_order(&a).unwrap(), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's Unix sockets")]
    fn a_descriptor_comes_along() {
        let (a, b) = pair();
        let (sent, other) = pair();
        send_report(&a, &Report::Tap, Some(&sent)).unwrap();
        let (_, received) = receive_report(&b).unwrap().unwrap();
        send_order(&received.unwrap(), Order::CountDrops).unwrap();
        assert_eq!(receive_order(&other).unwrap(), Some(Order::CountDrops));
    }
}
