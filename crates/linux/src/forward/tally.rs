//! Counters of the ways between network namespaces, in memory that processes share: a way may
//! be served by another process, which is killed at the end.

use super::super::OsError;
use nix::errno::Errno;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    Connections,
    ConnectionsRefused,
    Clients,
    ClientsDisplaced,
    Sent,
    Answers,
    Refused,
    Overflowed,
}

/// The number of counters of a way.
const COUNTS: usize = Count::Overflowed as usize + 1;

/// The counts of a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// TCP connections that were accepted.
    pub connections: u64,
    /// TCP connections that were reset because the far side had no listener.
    pub connections_refused: u64,
    /// UDP clients: addresses with ports.
    pub clients: u64,
    /// UDP clients that newer ones displaced.
    pub clients_displaced: u64,
    /// Datagrams that were passed on from clients.
    pub sent: u64,
    /// Datagrams that were passed on to clients.
    pub answers: u64,
    /// Datagrams dropped because no program had the port at the far side.
    pub refused: u64,
    /// Datagrams dropped because the buffer of a socket was full, or the system had no memory or
    /// descriptors.
    pub overflowed: u64,
}

impl Passed {
    /// Whether anything was refused or dropped.
    pub fn is_lossy(&self) -> bool {
        self.connections_refused + self.refused + self.overflowed > 0
    }
}

/// The counters of some ways. A process that is forked has the same ones.
#[derive(Debug)]
pub struct Tally {
    counts: NonNull<AtomicU64>,
    ways: usize,
}

#[expect(unsafe_code, reason = "a pointer to memory that is shared on purpose")]
// SAFETY: the memory is atomic counters, and is unmapped when nobody borrows it.
unsafe impl Send for Tally {}
#[expect(unsafe_code, reason = "a pointer to memory that is shared on purpose")]
// SAFETY: as above.
unsafe impl Sync for Tally {}

impl Tally {
    /// Counters at zero.
    ///
    /// # Errors
    /// If the system has no memory left.
    #[expect(unsafe_code, reason = "mmap")]
    pub fn new(ways: usize) -> Result<Self, OsError> {
        let bytes = bytes(ways);
        // SAFETY: a new mapping that nobody else knows; it is zero.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(OsError::new("mmap(counters)", Errno::last()));
        }
        let counts = NonNull::new(memory.cast()).expect("mmap gives no null page unless asked to");
        Ok(Self { counts, ways })
    }

    #[expect(unsafe_code, reason = "memory by its address")]
    fn count(&self, way: usize, what: Count) -> &AtomicU64 {
        assert!(way < self.ways, "there are {} ways", self.ways);
        // SAFETY: the mapping has this many counters, aligned to its page, and outlives `self`.
        unsafe { self.counts.add(way * COUNTS + what as usize).as_ref() }
    }

    pub(super) fn add(&self, way: usize, what: Count, number: u64) {
        self.count(way, what).fetch_add(number, Ordering::Relaxed);
    }

    /// The counts of a way so far.
    pub fn read(&self, way: usize) -> Passed {
        let count = |what| self.count(way, what).load(Ordering::Relaxed);
        Passed {
            connections: count(Count::Connections),
            connections_refused: count(Count::ConnectionsRefused),
            clients: count(Count::Clients),
            clients_displaced: count(Count::ClientsDisplaced),
            sent: count(Count::Sent),
            answers: count(Count::Answers),
            refused: count(Count::Refused),
            overflowed: count(Count::Overflowed),
        }
    }
}

impl Drop for Tally {
    #[expect(unsafe_code, reason = "munmap")]
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no reference outlives `self`.
        unsafe { libc::munmap(self.counts.as_ptr().cast(), bytes(self.ways)) };
    }
}

fn bytes(ways: usize) -> usize {
    (ways.max(1) * COUNTS) * size_of::<AtomicU64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "shared memory")]
    fn each_way_has_its_own() {
        let tally = Tally::new(2).unwrap();
        tally.add(1, Count::Overflowed, 3);
        tally.add(0, Count::Connections, 1);
        assert_eq!(tally.read(0), Passed { connections: 1, ..Passed::default() });
        assert_eq!(tally.read(1), Passed { overflowed: 3, ..Passed::default() });
        assert!(!tally.read(0).is_lossy() && tally.read(1).is_lossy());
    }
}
