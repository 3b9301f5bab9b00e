//! Wakes an event loop from another thread (eventfd(2)).

use super::{Call, OsError};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::os::fd::{AsFd, BorrowedFd};

/// A descriptor that is readable from a ring until it is cleared.
#[derive(Debug)]
pub struct Wake {
    event: EventFd,
}

impl Wake {
    /// Returns a descriptor that has not rung.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn new() -> Result<Self, OsError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self { event: EventFd::from_flags(flags).call("eventfd")? })
    }

    /// Makes the descriptor readable.
    pub fn ring(&self) {
        // Refused only if it has rung 2^64 - 2 times, and is readable then.
        let _ = self.event.write(1);
    }

    /// Makes it unreadable again.
    pub fn clear(&self) {
        let _ = self.event.read();
    }

    /// Descriptor of the event.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
