//! The wall clock of a run: CLOCK_MONOTONIC, a timer on it, what wakes the
//! loop, and the thread's scheduling.

use super::{Call, OsError};
use lasthop_units::Instant;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;
use std::os::fd::{AsFd, BorrowedFd};

/// Priority of the loop under SCHED_FIFO (1 to 99): above programs, below the kernel's own threads.
const FIFO_PRIORITY: i32 = 20;
/// Priority of the traffic thread: below the loop, above programs.
const FIFO_PRIORITY_OF_TRAFFIC: i32 = 19;
/// Niceness where SCHED_FIFO is refused.
const NICE: i32 = -20;

/// Wall clock that starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_nanos: u64,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self { start_nanos: read_nanos(nix::time::ClockId::CLOCK_MONOTONIC) }
    }

    /// The instant it is.
    pub fn now(self) -> Instant {
        Instant::from_nanos(read_nanos(nix::time::ClockId::CLOCK_MONOTONIC) - self.start_nanos)
    }

    fn absolute(self, at: Instant) -> TimeSpec {
        // A time of zero would disarm the timer.
        let nanos = self.start_nanos.saturating_add(at.as_nanos()).clamp(1, i64::MAX as u64);
        TimeSpec::new((nanos / 1_000_000_000) as i64, (nanos % 1_000_000_000) as i64)
    }
}

/// Processor time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_nanos() -> u64 {
    read_nanos(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn read_nanos(clock: nix::time::ClockId) -> u64 {
    let time = clock_gettime(clock).expect("the clock exists on every Linux");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// A timer that becomes readable at an instant.
#[derive(Debug)]
pub struct Timer {
    timer: TimerFd,
    armed: Option<Instant>,
}

impl Timer {
    /// One that is not armed.
    pub fn new() -> Result<Self, OsError> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).call("timerfd_create")?;
        Ok(Self { timer, armed: None })
    }

    /// Readable from `at` on. Costs no system call if it was set to that before.
    pub fn set(&mut self, clock: Clock, at: Option<Instant>) -> Result<(), OsError> {
        if self.armed == at {
            return Ok(());
        }
        self.armed = at;
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
        self.armed = None;
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

/// How the loop's thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Ahead of every ordinary thread (SCHED_FIFO).
    Realtime,
    /// As an ordinary thread of the highest weight.
    Nice,
    /// As any other thread.
    Ordinary,
}

/// Puts the calling thread ahead of the others as far as it may; undone when dropped.
#[derive(Debug)]
pub struct Priority {
    scheduling: Scheduling,
}

impl Priority {
    /// Takes the best that is allowed.
    pub fn raise() -> Self {
        Self::raise_to(FIFO_PRIORITY)
    }

    /// Takes the best that is allowed below the loop: for the thread that reads
    /// and writes sockets, without which the kernel's TCP waits.
    pub fn raise_traffic() -> Self {
        Self::raise_to(FIFO_PRIORITY_OF_TRAFFIC)
    }

    #[expect(unsafe_code, reason = "scheduling calls that nix does not offer")]
    fn raise_to(sched_priority: i32) -> Self {
        let parameter = libc::sched_param { sched_priority };
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        // SAFETY: both calls concern the calling thread and read their arguments only.
        let scheduling = unsafe {
            if libc::sched_setscheduler(0, policy, &raw const parameter) == 0 {
                Scheduling::Realtime
            } else if libc::setpriority(libc::PRIO_PROCESS, thread_id(), NICE) == 0 {
                Scheduling::Nice
            } else {
                Scheduling::Ordinary
            }
        };
        Self { scheduling }
    }

    /// What was allowed.
    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }
}

impl Drop for Priority {
    #[expect(unsafe_code, reason = "scheduling calls that nix does not offer")]
    fn drop(&mut self) {
        let parameter = libc::sched_param { sched_priority: 0 };
        // SAFETY: as in `raise`.
        unsafe {
            match self.scheduling {
                Scheduling::Realtime => {
                    libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameter);
                }
                Scheduling::Nice => {
                    libc::setpriority(libc::PRIO_PROCESS, thread_id(), 0);
                }
                Scheduling::Ordinary => {}
            }
        }
    }
}

fn thread_id() -> u32 {
    nix::unistd::gettid().as_raw() as u32
}
