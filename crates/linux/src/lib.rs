//! Linux as the programs of lasthop need it: every system call and all `unsafe` of theirs, and the
//! one event loop. Knows no machine.
//!
//! | module | contents |
//! |---|---|
//! | [`supervisor`] | the process that holds the namespaces, and requests to it |
//! | [`namespace`] | user, PID, mount and network namespaces |
//! | [`netlink`] | devices, addresses and queueing disciplines over rtnetlink |
//! | [`device`] | TAP devices, veth pairs and their offloads |
//! | [`port`] | frames in and out of a node's interface |
//! | [`ring`] | a packet socket with its receive ring |
//! | [`capture`] | all packets of an interface, stamped by the kernel |
//! | [`monitor`] | data frames of a monitor interface, as they come |
//! | [`clock`] | the monotonic clock, and scheduling |
//! | [`event_loop`] | the loop that sleeps and calls a driver: timers and epoll |
//! | [`ready`] | whether a program is ready: its socket, its file |
//! | [`forward`](mod@forward) | TCP connections passed on between namespaces |
//! | [`slirp`] | the way out by slirp4netns |
//! | `sender` | the program that has a socket |
//! | [`signal`] | signals as a readable file descriptor |
//! | [`terminal`] | the foreground process group |
//! | [`socket`] | socket options that the standard library lacks |
//! | [`datagram`] | UDP, many datagrams a call, stamped by the kernel |
//! | [`entropy`] | unpredictable bytes |
//! | [`batch`] | whole datagrams of any socket, many a call |
//! | [`link`] | frames with an EtherType of our own |
//! | [`refusal`] | errors that the network reports of datagrams |
//! | [`listener`] | sockets for questions to a daemon: Unix, and TCP |
//! | [`confine`] | the rights that a daemon gives up after set-up |
//! | [`trial`] | trials of the rights of this process |
//! | [`lateness`] | lateness of wake-ups by the kernel |
//! | [`dump`] | netlink requests with whole answers |
//! | [`message`] | netlink messages as bytes |
//! | [`offload`] | packets that a TUN device passes together: segmented, coalesced |
//! | [`door`] | the Unix socket by which a running emulation is changed |
//! | `report` | messages between the supervisor and its creator |
//! | [`wake`] | a descriptor that wakes a thread |
//!
//! A wait for descriptors in real time is a `Driver` of [`event_loop`]: it reads, does due work and
//! returns its next wake-up; the loop has timer, signals and turns. A system call of a running daemon
//! is also in [`confine`].
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

#![cfg(target_os = "linux")]

pub mod batch;
pub mod capture;
pub mod clock;
pub mod confine;
pub mod datagram;
pub mod device;
pub mod door;
pub mod dump;
pub mod entropy;
pub mod event_loop;
pub mod forward;
pub mod lateness;
pub mod link;
pub mod listener;
pub mod message;
pub mod monitor;
pub mod namespace;
pub mod netlink;
pub mod offload;
pub mod port;
pub mod ready;
pub mod refusal;
mod report;
pub mod ring;
mod sender;
pub mod signal;
pub mod slirp;
pub mod socket;
pub mod supervisor;
pub mod terminal;
pub mod trial;
pub mod wake;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::FromRawFd;

/// A system call that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {}{}", self.reason(), hint(.call, *.errno))]
pub struct OsError {
    /// The call and its purpose, such as `unshare(CLONE_NEWUSER)`.
    pub call: String,
    /// The error number.
    pub errno: i32,
}

impl OsError {
    /// `call` was refused with `errno`.
    pub fn new(call: impl Into<String>, errno: Errno) -> Self {
        Self { call: call.into(), errno: errno as i32 }
    }

    /// Returns the meaning of the error number.
    pub fn reason(&self) -> &'static str {
        Errno::from_raw(self.errno).desc()
    }
}

/// Names the system call of an error.
pub trait Call<T> {
    /// The error as one of `call`.
    fn call(self, call: &str) -> Result<T, OsError>;
}

impl<T> Call<T> for Result<T, Errno> {
    fn call(self, call: &str) -> Result<T, OsError> {
        self.map_err(|errno| OsError::new(call, errno))
    }
}

impl<T> Call<T> for io::Result<T> {
    fn call(self, call: &str) -> Result<T, OsError> {
        self.map_err(|error| OsError {
            call: call.into(),
            errno: error.raw_os_error().unwrap_or(0),
        })
    }
}

/// A file in memory that a program can write to; every write goes to its end.
#[expect(unsafe_code, reason = "memfd_create")]
pub fn output_file() -> Result<File, OsError> {
    // glibc has a function of this name from 2.27 on only; wheels run with 2.17.
    // SAFETY: the kernel reads a string that ends; the descriptor is new, nobody else has it.
    let file = unsafe {
        let fd = libc::syscall(libc::SYS_memfd_create, c"output".as_ptr(), libc::MFD_CLOEXEC);
        File::from_raw_fd(Errno::result(fd).call("memfd_create")? as libc::c_int)
    };
    fcntl(&file, FcntlArg::F_SETFL(OFlag::O_APPEND)).call("fcntl(O_APPEND)")?;
    Ok(file)
}

/// Returns the whole content of the file.
pub fn read_output(file: &mut File) -> Vec<u8> {
    let mut output = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut output));
    read.map_or_else(|_| Vec::new(), |_| output)
}

/// Advice about refusals that a user can avoid.
fn hint(call: &str, errno: i32) -> &'static str {
    let errno = Errno::from_raw(errno);
    if call.contains("CLONE_NEWUSER") || call.contains("uid_map") {
        return match errno {
            Errno::ENOSPC => {
                "; the limit of user namespaces is reached: raise it with `sysctl user.max_user_namespaces=10000`"
            }
            Errno::EPERM | Errno::EACCES => {
                "; the kernel refuses user namespaces to this user: allow them with \
                 `sysctl kernel.unprivileged_userns_clone=1` (Debian), \
                 `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu) or \
                 `sysctl user.max_user_namespaces=10000`, start the container with \
                 `--security-opt seccomp=unconfined`, or run as root"
            }
            Errno::EINVAL | Errno::ENOSYS => {
                "; this kernel is built without user namespaces: run as root"
            }
            _ => "",
        };
    }
    if call.starts_with("unshare") && errno == Errno::ENOSPC {
        return "; a limit of namespaces is reached: `sysctl -a --pattern 'user.max_.*_namespaces'` \
                shows which is low";
    }
    if call.starts_with("ioctl(TUNSETIFF)") {
        return match errno {
            Errno::EPERM => {
                "; this takes the capability CAP_NET_ADMIN: `setcap \
                 cap_net_admin,cap_net_raw+ep lasthop`, or AmbientCapabilities= in a systemd unit"
            }
            Errno::EBUSY => "; another program has an interface of that name: choose another",
            Errno::EINVAL => {
                "; there is an interface of that name that is no TUN device: choose another"
            }
            _ => "",
        };
    }
    if call.starts_with("socket(AF_PACKET)") && errno == Errno::EPERM {
        return "; this takes the capability CAP_NET_RAW: `setcap \
                cap_net_admin,cap_net_raw+ep lasthop`, or AmbientCapabilities= in a systemd unit";
    }
    if call.starts_with("socket(AF_PACKET, SOCK_RAW)") && errno == Errno::EPERM {
        return "; to capture takes the capability CAP_NET_RAW: run it as root, or allow it with \
                `setcap cap_net_raw+ep` and the path of lasthop";
    }
    if call.starts_with("if_nametoindex(") && errno == Errno::ENODEV {
        return "; `ip link` shows the interfaces that there are";
    }
    if call.starts_with("capture of ") && errno == Errno::ENETDOWN {
        return "; `ip link set IFACE up` sets it up";
    }
    if call.starts_with("bind(") {
        return match errno {
            Errno::EADDRNOTAVAIL => "; this host has no such address: `ip address` shows them",
            Errno::EADDRINUSE => "; another program has that port: choose another",
            Errno::EACCES => {
                "; a port below 1024 takes the capability CAP_NET_BIND_SERVICE, a file a folder \
                 where this user may write"
            }
            Errno::ENOENT | Errno::ENOTDIR => "; there is no such folder",
            Errno::EEXIST => "; that is a file and no socket: choose another place",
            Errno::ENAMETOOLONG => "; the path of a socket has up to 107 bytes",
            _ => "",
        };
    }
    if call.starts_with("write(/proc/sys/net/ipv4") {
        return "; --outside needs a /proc/sys that can be written: start the container with \
                `--security-opt systempaths=unconfined`";
    }
    if call.starts_with("rtnetlink") && errno == Errno::EPERM {
        return "; this takes the capability CAP_NET_ADMIN";
    }
    if errno == Errno::EMFILE {
        return "; allow this process more with `ulimit -n`";
    }
    if call.starts_with("open(/dev/net/tun)") && errno == Errno::EACCES {
        return "; let all users open it, as most systems do, with `chmod 666 /dev/net/tun`: \
                what counts is the capability CAP_NET_ADMIN";
    }
    if call.starts_with("open(/dev/net/tun)") {
        return "; load it with `modprobe tun`, or leave the choice of devices to lasthop";
    }
    ""
}

#[cfg(test)]
mod tests;
