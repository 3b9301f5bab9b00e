//! Drives any machine as a driver would and checks at every step what
//! [`Machine`] promises.

use core::fmt::Debug;
use lasthop_units::{Duration, Instant, Machine};

/// How often a machine may want to be woken again at the instant just handled.
const WAKEUPS_AT_ONE_INSTANT_MAX: usize = 1_000;

/// A machine under observation. Time only moves forward.
#[derive(Clone, Debug)]
pub struct Driver<M> {
    /// The machine. Give it work with its own `handle_*` at [`Driver::now`].
    pub machine: M,
    now: Instant,
}

impl<M: Machine + Clone + PartialEq + Debug> Driver<M> {
    /// `machine` at the beginning of time.
    pub fn new(machine: M) -> Self {
        Self { machine, now: Instant::ZERO }
    }

    /// The current instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Moves on by `length`, waking the machine at every instant it asks for,
    /// and calls `drain` after each. Panics where the machine breaks its promise.
    pub fn pause(&mut self, length: Duration, mut drain: impl FnMut(Instant, &mut M)) {
        let end = self.now + length;
        drain(self.now, &mut self.machine);
        while let Some((due, _)) = self.due_by(end) {
            self.check_early(due);
            // What its last work made overdue is done at once.
            self.wake(due.max(self.now), &mut drain);
        }
        self.check_early(end);
        self.now = end;
    }

    /// Moves on by `length` and wakes the machine only then, as a driver does
    /// that was held up.
    pub fn oversleep(&mut self, length: Duration, mut drain: impl FnMut(Instant, &mut M)) {
        drain(self.now, &mut self.machine);
        self.wake(self.now + length, &mut drain);
    }

    /// Wakes the machine until it asks for a later instant.
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

    /// Waking the machine now and halfway to `until`, while nothing is due, changes nothing.
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
