//! Finds the program that has a socket: by the socket's port in the calling thread's network
//! namespace (the tables of `/proc/net`) and the descriptors of the processes (`/proc/PID/fd`,
//! proc(5)).
//!
//! The search takes a readlink(2) for each descriptor of each process of the emulation. The
//! supervisor, which is in no hurry, makes it once for a flow.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Protocols above IP, by their IANA numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Largest number of descriptors examined.
const DESCRIPTORS_MAX: usize = 20_000;

/// Returns the name of the program that has a socket of `protocol` at the local `port`, as the
/// kernel has it: up to 15 bytes. `None` if it is gone, or a `/proc` of the emulation's own
/// processes could not be mounted.
pub fn program_at(protocol: u8, port: u16) -> Option<String> {
    let tables = match protocol {
        TCP => ["tcp", "tcp6"],
        UDP => ["udp", "udp6"],
        _ => return None,
    };
    // In another /proc there are all processes of the machine.
    let own = fs::read_link("/proc/self").ok()?;
    if own.as_os_str() != std::process::id().to_string().as_str() {
        return None;
    }
    let mut sockets = BTreeSet::new();
    for name in tables {
        let table = fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
        sockets.extend(inodes(&table, port).map(|inode| format!("socket:[{inode}]")));
    }
    if sockets.is_empty() {
        return None;
    }
    let mut looked_at = 0;
    for process in fs::read_dir("/proc").ok()?.filter_map(Result::ok) {
        if process.file_name().to_str().is_none_or(|name| name.parse::<u32>().is_err()) {
            continue;
        }
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else { continue };
        for descriptor in descriptors.filter_map(Result::ok) {
            looked_at += 1;
            let is_it =
                |target: PathBuf| target.to_str().is_some_and(|name| sockets.contains(name));
            if fs::read_link(descriptor.path()).is_ok_and(is_it) {
                let name = fs::read_to_string(process.path().join("comm")).ok()?;
                return Some(name.trim_end().to_owned());
            }
            if looked_at == DESCRIPTORS_MAX {
                return None;
            }
        }
    }
    None
}

/// The inodes of the sockets at a local port, in a table of `/proc/net`. Sockets that no program
/// has accepted yet, or has closed, have none.
fn inodes(table: &str, wanted: u16) -> impl Iterator<Item = u64> {
    table.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_whitespace();
        let port = u16::from_str_radix(words.nth(1)?.rsplit_once(':')?.1, 16).ok()?;
        let inode = words.nth(7)?.parse().ok()?;
        (port == wanted && inode != 0).then_some(inode)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.1 writes it.
    const TCP_TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7001 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 7002 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:9C41 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0
   3: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 7003 1 0 20 4 30 10 -1
";

    #[test]
    fn sockets_of_a_port_are_found_by_their_inodes() {
        assert_eq!(inodes(TCP_TABLE, 0x1f90).collect::<Vec<_>>(), [7001, 7002]);
        assert_eq!(inodes(TCP_TABLE, 0x9c40).collect::<Vec<_>>(), [7003]);
        assert_eq!(inodes("head\n 0: x", 80).count(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's sockets")]
    #[expect(clippy::disallowed_types, reason = "a socket of this process")]
    fn our_own_socket_is_ours() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = fs::read_to_string("/proc/self/comm").unwrap();
        let found = program_at(TCP, port);
        // Another process may have inherited it for a moment; it has our name then.
        assert_eq!(found.as_deref().map(str::len), Some(own.trim_end().len()), "{found:?}");
        drop(listener);
        assert_eq!(program_at(TCP, port), None);
        assert_eq!(program_at(1, port), None);
    }
}
