//! The lateness with which the kernel wakes a thread that sleeps until an instant: the least
//! lateness of an emulation's packets (timerfd_create(2), on CLOCK_MONOTONIC, as in
//! [`event_loop`](super::event_loop)). Times are in nanoseconds.

use super::clock::{Clock, Priority, Scheduling};
use super::{Call, OsError};
use lasthop_units::{Duration, Instant};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// Result of the measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// Scheduling of the thread meanwhile.
    pub scheduling: Scheduling,
    /// Lateness of each wake-up, ascending.
    pub late_ns: Vec<u64>,
}

impl Lateness {
    /// The smallest lateness that at least this share of the wake-ups does not exceed, from 0
    /// to 1; zero without wake-ups.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = (share * self.late_ns.len() as f64).ceil() as usize;
        let index = rank.clamp(1, self.late_ns.len().max(1)) - 1;
        self.late_ns.get(index).copied().unwrap_or(0)
    }
}

/// Sleeps `wakeups` times until the next multiple of `period`, with the scheduling of an emulation.
/// A wake-up that is late by more than a period skips the next one.
///
/// # Errors
/// If there is no timer.
pub fn measure(wakeups: usize, period: Duration) -> Result<Lateness, OsError> {
    let timer =
        TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC).call("timerfd_create")?;
    let priority = Priority::raise();
    let clock = Clock::start();
    let mut late_ns = Vec::with_capacity(wakeups);
    let mut due = Instant::ZERO;
    for _ in 0..wakeups {
        let now = clock.now();
        due += period;
        while due <= now {
            due += period;
        }
        let expiration = Expiration::OneShot(clock.absolute(due));
        timer.set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME).call("timerfd_settime")?;
        timer.wait().call("read(timerfd)")?;
        late_ns.push(clock.now().as_nanos().saturating_sub(due.as_nanos()));
    }
    late_ns.sort_unstable();
    Ok(Lateness { scheduling: priority.scheduling(), late_ns })
}

/// The resolution of timers (clock_getres(2)): 1 ns with high-resolution timers, else a jiffy.
///
/// # Errors
/// The error of the call.
pub fn resolution_ns() -> Result<u64, OsError> {
    let time = nix::time::clock_getres(nix::time::ClockId::CLOCK_MONOTONIC).call("clock_getres")?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let of = |late_ns: &[u64]| Lateness {
            scheduling: Scheduling::Ordinary,
            late_ns: late_ns.to_vec(),
        };
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(
            [0.0, 0.5, 0.99, 1.0].map(|share| of(&hundred).quantile(share)),
            [1, 50, 99, 100]
        );
        assert_eq!(of(&[7]).quantile(0.99), 7);
        assert_eq!(of(&[]).quantile(0.5), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "a timer")]
    fn no_wake_up_is_early() {
        let measured = measure(20, Duration::from_millis(1)).unwrap();
        assert_eq!(measured.late_ns.len(), 20);
        assert!(measured.late_ns.is_sorted());
        // The kernel never wakes before the instant: a lateness of zero would be a wrong clock.
        assert!(measured.late_ns[0] > 0, "{:?}", measured.late_ns);
        assert!(resolution_ns().unwrap() >= 1);
    }
}
