//! A build without the feature `monitor`: no monitor interface opens, so that none of the other
//! functions is called.

use super::FrancError;
use super::monitored::{Deaf, MonitorCounts};
use lasthop_linux::clock::Clock;
use lasthop_units::{Instant, MacAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// The monitor interface of a helper, of which there is none.
pub(super) enum Overhearing {}

impl Overhearing {
    /// Refuses the monitor interface called `name`.
    pub fn open(name: &str, _now: Instant) -> Result<Self, FrancError> {
        Err(FrancError::WithoutMonitor { name: name.into() })
    }

    pub fn name(&self) -> &str {
        match *self {}
    }

    pub fn counts(&mut self) -> (MonitorCounts, u64) {
        match *self {}
    }

    pub fn receive(
        &mut self,
        _own: Option<MacAddr>,
        _clock: Clock,
        _each: &mut dyn FnMut(Instant, MacAddr, &[u8]),
    ) {
        match *self {}
    }

    pub fn take_deaf(&mut self, _now: Instant) -> Result<Option<Deaf>, FrancError> {
        match *self {}
    }

    pub fn next_check(&self) -> Option<Instant> {
        match *self {}
    }
}

impl AsFd for Overhearing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match *self {}
    }
}
