//! Drives a machine as a driver would, and checks at every step what [`Machine`]
//! promises: polling has no side effects, wake-ups that are not due change nothing, and
//! a machine does not ask to be woken at the same instant without end.

use core::fmt::Debug;
use lasthop_units::{Duration, Instant, Machine};

/// Largest number of wake-ups that a machine may request for the instant that was just handled.
const WAKEUPS_AT_ONE_INSTANT_MAX: usize = 1_000;

/// A machine under test, with its clock, which never goes back.
#[derive(Clone, Debug)]
pub struct Driver<M> {
    /// The machine under test. Tests call its `handle_*` functions at [`Driver::now`].
    pub machine: M,
    now: Instant,
}

impl<M: Machine + Clone + PartialEq + Debug> Driver<M> {
    /// A driver of `machine` at [`Instant::ZERO`].
    pub fn new(machine: M) -> Self {
        Self { machine, now: Instant::ZERO }
    }

    /// The current instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Advances by `length`. Wakes the machine at every instant that it requests, and
    /// calls `drain` after each wake-up. Panics if the machine breaks its promise.
    pub fn pause(&mut self, length: Duration, mut drain: impl FnMut(Instant, &mut M)) {
        let end = self.now + length;
        drain(self.now, &mut self.machine);
        while let Some((due, _)) = self.due_by(end) {
            self.check_early(due);
            // A timer that the last work made overdue is handled at once.
            self.wake(due.max(self.now), &mut drain);
        }
        self.check_early(end);
        self.now = end;
    }

    /// Advances by `length` and wakes the machine only at the end, like a driver that
    /// was delayed.
    pub fn oversleep(&mut self, length: Duration, mut drain: impl FnMut(Instant, &mut M)) {
        drain(self.now, &mut self.machine);
        self.wake(self.now + length, &mut drain);
    }

    /// Wakes the machine until it requests a later instant, or none.
    fn wake(&mut self, now: Instant, drain: &mut impl FnMut(Instant, &mut M)) {
        self.now = now;
        for _ in 0..WAKEUPS_AT_ONE_INSTANT_MAX {
            self.machine.handle_timeout(now);
            drain(now, &mut self.machine);
            if self.due_by(now).is_none() {
                return;
            }
        }
        panic!("{:?} comes back at {now} without end", self.machine.poll_timeout());
    }

    fn due_by(&self, end: Instant) -> Option<(Instant, M::Reason)> {
        let polled = self.machine.poll_timeout();
        assert_eq!(polled, self.machine.poll_timeout(), "asking twice gives two answers");
        polled.filter(|&(due, _)| due <= end)
    }

    /// Checks that a wake-up now, and one halfway to `until`, change nothing if none is
    /// due.
    fn check_early(&self, until: Instant) {
        if self.due_by(self.now).is_some() {
            return;
        }
        let mut early = self.machine.clone();
        for instant in [self.now, self.now + (until - self.now) / 2] {
            if self.due_by(instant).is_none() {
                early.handle_timeout(instant);
                assert!(early == self.machine, "waking it at {instant} did something: {early:#?}");
            }
        }
    }
}
