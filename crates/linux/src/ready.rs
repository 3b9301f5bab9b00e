//! Whether a program is ready, seen from its network namespace: a socket that listens, from
//! `/proc/net` (proc(5)), or a file. The program receives no packets from this check.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// `TCP_LISTEN` of the kernel's tcp_states.h, as in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// Condition under which a program is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A TCP socket listens at this port.
    Tcp(u16),
    /// A UDP socket has this port.
    Udp(u16),
    /// This file was created or changed after the start.
    File(PathBuf),
}

/// Evidence that a program is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A TCP socket listens at this port.
    Tcp(u16),
    /// A UDP socket has this port.
    Udp(u16),
    /// The file has changed.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Identity of the file before the program started.
        before: Option<Identity>,
    },
}

/// The identity of a file, which every change of it alters: its device, number and time of change
/// (`st_ctim`, inode(7)).
type Identity = (u64, u64, i64, i64);

impl Probe {
    /// Returns the probe of a program that is not started yet.
    pub fn new(awaited: &Awaited) -> Self {
        match awaited {
            Awaited::Tcp(port) => Self::Tcp(*port),
            Awaited::Udp(port) => Self::Udp(*port),
            Awaited::File(path) => Self::File { path: path.clone(), before: identity(path) },
        }
    }

    /// Whether the program is ready. Sockets are those of the calling thread's network
    /// namespace.
    pub fn is_ready(&self) -> bool {
        let any = |names: [&str; 2], is_wanted: &dyn Fn(u16, &str) -> bool| {
            names.iter().any(|name| {
                let table = fs::read_to_string(format!("/proc/thread-self/net/{name}"));
                sockets(&table.unwrap_or_default()).any(|(port, state)| is_wanted(port, state))
            })
        };
        match self {
            Self::Tcp(wanted) => {
                any(["tcp", "tcp6"], &|port, state| port == *wanted && state == LISTEN)
            }
            Self::Udp(wanted) => any(["udp", "udp6"], &|port, _| port == *wanted),
            Self::File { path, before } => {
                let now = identity(path);
                now.is_some() && now != *before
            }
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

/// The local port and the state of each socket in a table of `/proc/net`.
fn sockets(table: &str) -> impl Iterator<Item = (u16, &str)> {
    table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, _, state) = (words.next()?, words.next()?, words.next()?);
        let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        Some((port, state))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.1 writes it: sshd on all addresses, a connection of it, and one over IPv6.
    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0
";
    const TCP6: &str = "\
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000001000000:0277 00000000000000000000000000000000:0000 0A
";

    #[test]
    fn a_port_is_read_with_its_state() {
        let found: Vec<_> = sockets(TCP).collect();
        assert_eq!(found, [(22, "0A"), (8080, "01")]);
        assert_eq!(sockets(TCP6).collect::<Vec<_>>(), [(631, "0A")]);
        assert_eq!(sockets("").count() + sockets("head\n 0: x").count(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's sockets")]
    #[expect(clippy::disallowed_types, reason = "a real socket that listens")]
    fn a_listening_socket_is_found_and_a_closed_one_is_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let probe = Probe::Tcp(listener.local_addr().unwrap().port());
        assert!(probe.is_ready());
        drop(listener);
        assert!(!probe.is_ready());
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(Probe::Udp(socket.local_addr().unwrap().port()).is_ready());
    }

    #[test]
    #[cfg_attr(miri, ignore = "the times of files")]
    fn a_file_from_before_does_not_count_until_it_changes() {
        let path = std::env::temp_dir().join(format!("lasthop-ready-{}", std::process::id()));
        let probe = || Probe::new(&Awaited::File(path.clone()));
        let early = probe();
        assert!(!early.is_ready());
        fs::write(&path, "one").unwrap();
        let late = probe();
        assert!(early.is_ready() && !late.is_ready());
        fs::rename(&path, path.with_extension("old")).unwrap();
        fs::write(&path, "two").unwrap();
        assert!(late.is_ready());
        fs::remove_file(path.with_extension("old")).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!late.is_ready());
    }
}
