//! The wall clock of a run (CLOCK_MONOTONIC, nanoseconds since its start), and the scheduling of
//! the calling thread (sched(7)). Sleeping is [`event_loop`](super::event_loop)'s.

use lasthop_units::Instant;
use nix::sys::time::TimeSpec;
use nix::time::clock_gettime;

/// Priority of the network's loop under SCHED_FIFO (1 to 99): above programs, below the kernel's
/// own threads.
const FIFO_PRIORITY: i32 = 20;
/// Priority of the traffic thread: below the network's loop, above programs.
const FIFO_PRIORITY_OF_TRAFFIC: i32 = 19;
/// Niceness where SCHED_FIFO is refused.
const NICE: i32 = -20;

/// A wall clock that starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_nanos: u64,
}

impl Clock {
    /// Returns a clock that reads zero now.
    pub fn start() -> Self {
        Self { start_nanos: read_nanos(nix::time::ClockId::CLOCK_MONOTONIC) }
    }

    /// Reads the clock, in user space (vdso(7)).
    pub fn now(self) -> Instant {
        Instant::from_nanos(read_nanos(nix::time::ClockId::CLOCK_MONOTONIC) - self.start_nanos)
    }

    pub(super) fn absolute(self, at: Instant) -> TimeSpec {
        // A time of zero would disarm the timer.
        let nanos = self.start_nanos.saturating_add(at.as_nanos()).clamp(1, i64::MAX as u64);
        TimeSpec::new((nanos / 1_000_000_000) as _, (nanos % 1_000_000_000) as _)
    }
}

/// Returns the processor time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_nanos() -> u64 {
    read_nanos(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn read_nanos(clock: nix::time::ClockId) -> u64 {
    let time = clock_gettime(clock).expect("the clock exists on every Linux");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// The scheduling of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Ahead of every ordinary thread (SCHED_FIFO).
    Realtime,
    /// As an ordinary thread of the highest weight.
    Nice,
    /// As any other thread.
    Ordinary,
}

/// Schedules the calling thread ahead of the others, as far as the kernel allows; undone when
/// dropped.
#[derive(Debug)]
pub struct Priority {
    scheduling: Scheduling,
}

impl Priority {
    /// Takes the best scheduling that is allowed.
    pub fn raise() -> Self {
        Self::raise_to(FIFO_PRIORITY)
    }

    /// Takes the best scheduling that is allowed below [`raise`](Self::raise): for a thread that
    /// reads and writes sockets, for which the kernel's TCP waits.
    pub fn raise_traffic() -> Self {
        Self::raise_to(FIFO_PRIORITY_OF_TRAFFIC)
    }

    #[expect(unsafe_code, reason = "scheduling calls that nix does not offer")]
    fn raise_to(sched_priority: i32) -> Self {
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        // SAFETY: both calls concern the calling thread and read their arguments only.
        let scheduling = unsafe {
            if set_scheduler(policy, sched_priority) {
                Scheduling::Realtime
            } else if libc::setpriority(libc::PRIO_PROCESS, thread_id(), NICE) == 0 {
                Scheduling::Nice
            } else {
                Scheduling::Ordinary
            }
        };
        Self { scheduling }
    }

    /// The scheduling that was allowed.
    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }
}

impl Drop for Priority {
    #[expect(unsafe_code, reason = "scheduling calls that nix does not offer")]
    fn drop(&mut self) {
        // SAFETY: as in `raise`.
        unsafe {
            match self.scheduling {
                Scheduling::Realtime => {
                    set_scheduler(libc::SCHED_OTHER, 0);
                }
                Scheduling::Nice => {
                    libc::setpriority(libc::PRIO_PROCESS, thread_id(), 0);
                }
                Scheduling::Ordinary => {}
            }
        }
    }
}

/// Sets policy and priority of the calling thread; returns whether the kernel allowed it. The
/// system call itself, because musl's function of that name refuses without asking the kernel.
///
/// # Safety
/// As of the call: it concerns the calling thread only.
#[expect(unsafe_code, reason = "a scheduling call that nix does not offer")]
unsafe fn set_scheduler(policy: i32, priority: i32) -> bool {
    // What the kernel calls `struct sched_param` has this one member.
    let parameter: libc::c_int = priority;
    // SAFETY: the kernel reads `parameter` during the call.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameter) == 0 }
}

fn thread_id() -> u32 {
    nix::unistd::gettid().as_raw() as u32
}
