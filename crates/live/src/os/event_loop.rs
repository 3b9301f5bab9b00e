//! What wakes a loop: a timer on the clock of the run, and descriptors that are ready
//! (epoll(7), timerfd_create(2)).

use super::clock::Clock;
use super::{Call, OsError};
use lasthop_units::Instant;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::os::fd::{AsFd, BorrowedFd};

/// A timer that becomes readable at an instant.
#[derive(Debug)]
pub struct Timer {
    timer: TimerFd,
    armed: Option<Instant>,
    /// It went off and is readable until it is set again, if only to nothing.
    is_expired: bool,
}

impl Timer {
    /// One that is not armed.
    pub fn new() -> Result<Self, OsError> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).call("timerfd_create")?;
        Ok(Self { timer, armed: None, is_expired: false })
    }

    /// Readable from `at` on. Costs no system call if it was set to that before.
    pub fn set(&mut self, clock: Clock, at: Option<Instant>) -> Result<(), OsError> {
        if self.armed == at && !self.is_expired {
            return Ok(());
        }
        self.armed = at;
        self.is_expired = false;
        match at {
            Some(at) => {
                let expiration = Expiration::OneShot(clock.absolute(at));
                self.timer.set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            }
            None => self.timer.unset(),
        }
        .call("timerfd_settime")
    }

    /// To be called once it was readable.
    pub fn expired(&mut self) {
        self.is_expired = true;
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

/// Waits for many descriptors.
#[derive(Debug)]
pub struct Waiter {
    epoll: Epoll,
}

impl Waiter {
    /// One that waits for nothing.
    pub fn new() -> Result<Self, OsError> {
        Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map(|epoll| Self { epoll }).call("epoll_create")
    }

    /// Wakes with `token` while `fd` is readable.
    pub fn add_readable(&self, fd: BorrowedFd<'_>, token: u64) -> Result<(), OsError> {
        self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, token)).call("epoll_ctl")
    }

    /// Wakes with `token` while `fd` is writable.
    pub fn add_writable(&self, fd: BorrowedFd<'_>, token: u64) -> Result<(), OsError> {
        self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLOUT, token)).call("epoll_ctl")
    }

    /// No longer wakes for `fd`.
    pub fn remove(&self, fd: BorrowedFd<'_>) {
        let _ = self.epoll.delete(fd);
    }

    /// Waits until something is ready and gives the tokens.
    pub fn wait(&self, tokens: &mut Vec<u64>) -> Result<(), OsError> {
        let mut events = [EpollEvent::empty(); 64];
        let ready = loop {
            match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                result => break result.call("epoll_wait")?,
            }
        };
        tokens.clear();
        tokens.extend(events[..ready].iter().map(EpollEvent::data));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    #[test]
    #[cfg_attr(miri, ignore = "timers of the kernel")]
    fn a_timer_that_went_off_is_silent_once_nothing_is_due() {
        let is_readable = |timer: &Timer| {
            let mut fds = [PollFd::new(timer.as_fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
        };
        let (clock, mut timer) = (Clock::start(), Timer::new().unwrap());
        timer.set(clock, Some(Instant::ZERO)).unwrap();
        assert!(is_readable(&timer));
        timer.expired();
        timer.set(clock, None).unwrap();
        assert!(!is_readable(&timer));
    }
}
