//! The event loop of every driver in this crate. The loop sleeps until a descriptor is ready, a
//! signal comes or an instant is reached (epoll(7), timerfd_create(2), with the kernel's
//! high-resolution timers), and calls the [`Driver`]. One thread, no spinning.
//!
//! A round reads ready sources, then handles due timers, then sleeps. Reads come first because an
//! acknowledgement that waits in a socket must be heard before the timer that misses it. The timer
//! is set only when nothing is ready and nothing due, since setting costs several times as much as
//! asking. Beside those of the driver a round takes one system call, or up to three if it sleeps,
//! and no allocation. A confined daemon may make them ([`confine`](super::confine)).
//!
//! A sleep that a timer ends costs far more than the work that is due then (on a virtual machine
//! tens of microseconds). With [`EventLoop::moderate`] a loop lets work that falls due in quick
//! succession share a wake-up, as drivers moderate the interrupts of network cards.

use super::clock::Clock;
use super::signal::Signals;
use super::{Call, OsError};
use lasthop_units::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::Signal;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The number of packets or frames that [`Driver::handle_ready`] takes from a source before it
/// returns, so that the other sources and the timers have their turn. Batches that one system
/// call delivers are not divided.
pub const TURN_PACKETS: usize = 64;

/// The number of sources that one round serves; the kernel gives the others the next round.
const ROUND_SOURCES: usize = 64;

/// Rest of a loop with moderation after due work, in multiples of the time that the work took. Due
/// work therefore takes at most a third of a core, unless the rest is limited.
const REST: u64 = 2;
/// The rest that a loop may owe before it takes any: a few wake-ups after a pause are not
/// delayed, such as those of one exchange on the air.
const REST_OWED_MAX: Duration = Duration::from_millis(1);

/// Result of a call of a driver `D`: the outcome of the loop, if the call ends it.
pub type Progress<D> = Result<ControlFlow<<D as Driver>::Outcome>, <D as Driver>::Error>;

/// A driver that an event loop runs: machines, and the descriptors between them and the world.
pub trait Driver {
    /// The driver's name for a descriptor, such as a variant of an enum.
    type Source: Copy;
    /// Result of the loop.
    type Outcome;
    /// Error that ends the loop early.
    type Error: From<OsError>;

    /// Does the work that is due by `now` and passes on its results. Called once before the first
    /// sleep, and after every sleep, also if nothing is due. [`ControlFlow::Break`] ends the loop;
    /// the driver must finish its work before it returns that.
    ///
    /// # Errors
    /// The error that ends the loop.
    fn handle_timeout(
        &mut self,
        now: Instant,
        registry: &mut Registry<Self::Source>,
    ) -> Progress<Self>;

    /// The instant of the next call of [`handle_timeout`](Self::handle_timeout), if nothing
    /// else happens before; `None` if nothing will be due.
    fn next_wakeup(&self) -> Option<Instant>;

    /// Reads from `source`, or writes to it, without blocking and [`TURN_PACKETS`] at most:
    /// remaining packets make the source ready again. Called spuriously at times.
    ///
    /// There is no `now`: a driver that stamps packets takes the clock's time after the read, since
    /// no stamp may be earlier than the packet.
    ///
    /// # Errors
    /// The error that ends the loop.
    fn handle_ready(
        &mut self,
        source: Self::Source,
        registry: &mut Registry<Self::Source>,
    ) -> Result<(), Self::Error>;

    /// Handles signals, at least one. [`ControlFlow::Break`] ends the loop at once.
    ///
    /// # Errors
    /// The error that ends the loop.
    fn handle_signals(&mut self, signals: &[Signal]) -> Progress<Self>;
}

/// A loop whose sources are named by `S`.
#[derive(Debug)]
pub struct EventLoop<S> {
    clock: Clock,
    timer: Timer,
    registry: Registry<S>,
    moderation: Moderation,
}

impl<S: Copy> EventLoop<S> {
    /// Returns a loop without sources, with the instants of `clock`.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn new(clock: Clock) -> Result<Self, OsError> {
        let mut registry = Registry::new()?;
        let timer = Timer::new()?;
        // Told once when it goes off, so that it need not be set again at once.
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        registry.add(timer.as_fd(), flags, Token::Timer)?;
        Ok(Self { clock, timer, registry, moderation: Moderation::default() })
    }

    /// Lets due work wait for up to `rest_max`, so that wake-ups are fewer. For the time that a
    /// round took, from the instant at which it was due to the end of the work, the loop owes a
    /// rest twice as long. Once the debt exceeds a millisecond, the loop takes the excess before a
    /// timer may end the sleep. Rarer work is not delayed, nor are descriptors and signals; a round
    /// that these begin does all due work.
    pub fn moderate(&mut self, rest_max: Duration) {
        self.moderation.rest_max = rest_max;
    }

    /// The sources, to add the first ones.
    pub fn registry(&mut self) -> &mut Registry<S> {
        &mut self.registry
    }

    /// Runs `driver` until it ends the loop. `signals`, if given, are passed to it.
    ///
    /// # Errors
    /// Errors of the driver, and those of the system during the wait.
    pub fn run<D: Driver<Source = S>>(
        mut self,
        driver: &mut D,
        signals: Option<&Signals>,
    ) -> Result<D::Outcome, D::Error> {
        if let Some(signals) = signals {
            self.registry.add(signals.as_fd(), EpollFlags::EPOLLIN, Token::Signals)?;
        }
        let mut events = [EpollEvent::empty(); ROUND_SOURCES];
        loop {
            let now = self.clock.now();
            let due = driver.next_wakeup().filter(|due| *due <= now);
            let progress = driver.handle_timeout(now, &mut self.registry)?;
            if let ControlFlow::Break(outcome) = progress {
                return Ok(outcome);
            }
            if let Some(due) = due {
                self.moderation.note(due, now, self.clock.now());
            }
            let mut ready = self.registry.wait(&mut events, EpollTimeout::ZERO)?;
            if ready == 0 {
                let next = driver.next_wakeup().map(|at| at.max(self.moderation.rest_until));
                if next.is_some_and(|next| next <= self.clock.now()) {
                    continue;
                }
                self.timer.set(self.clock, next)?;
                ready = self.registry.wait(&mut events, EpollTimeout::NONE)?;
            }
            for event in &events[..ready] {
                if let ControlFlow::Break(outcome) = self.dispatch(event, driver, signals)? {
                    return Ok(outcome);
                }
            }
        }
    }

    fn dispatch<D: Driver<Source = S>>(
        &mut self,
        event: &EpollEvent,
        driver: &mut D,
        signals: Option<&Signals>,
    ) -> Progress<D> {
        match self.registry.token(event) {
            Some(Token::Source(source)) => driver.handle_ready(source, &mut self.registry)?,
            Some(Token::Timer) => self.timer.expired(),
            Some(Token::Signals) => {
                let came = signals.map(Signals::take).unwrap_or_default();
                if !came.is_empty() {
                    return driver.handle_signals(&came);
                }
            }
            // It was removed in this round, by what was called before.
            None => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// When a timer may end the next sleep.
#[derive(Clone, Copy, Debug, Default)]
struct Moderation {
    /// The longest rest; zero: none.
    rest_max: Duration,
    /// Recent time of the due work. The value fades: a round that a descriptor began does not
    /// measure the time of the wake-up.
    took: Duration,
    /// The instant at which the debt will be zero, if no work is due until then.
    settled_at: Instant,
    /// The end of the rest.
    rest_until: Instant,
}

impl Moderation {
    /// Notes a round that began at `now` and had finished at `done` all work due since `due`.
    fn note(&mut self, due: Instant, now: Instant, done: Instant) {
        // To wake up is part of what it took, the rest before is not.
        let begun = due.max(self.rest_until).min(now);
        let took = done.saturating_since(begun).min(self.rest_max);
        self.took = took.max(self.took - self.took / 8);
        let settled_at = self.settled_at.max(begun) + self.took * (1 + REST);
        self.settled_at = settled_at.min(done + REST_OWED_MAX + self.rest_max);
        self.rest_until = self.settled_at.saturating_sub(REST_OWED_MAX);
    }
}

/// The meaning of a descriptor.
#[derive(Clone, Copy, Debug)]
enum Token<S> {
    Timer,
    Signals,
    Source(S),
}

/// The descriptors that a loop waits for. Level-triggered: a source is ready as long as it has data
/// to read, or space to write.
#[derive(Debug)]
pub struct Registry<S> {
    epoll: Epoll,
    /// Tokens by number of the descriptor.
    tokens: Vec<Option<Token<S>>>,
}

impl<S: Copy> Registry<S> {
    fn new() -> Result<Self, OsError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).call("epoll_create")?;
        Ok(Self { epoll, tokens: Vec::new() })
    }

    /// `source` is ready while `fd` is readable.
    ///
    /// # Errors
    /// Errors of epoll_ctl(2), such as `EEXIST` for a descriptor that was added before.
    pub fn add_readable(&mut self, fd: BorrowedFd<'_>, source: S) -> Result<(), OsError> {
        self.add(fd, EpollFlags::EPOLLIN, Token::Source(source))
    }

    /// `source` is ready while `fd` is writable.
    ///
    /// # Errors
    /// As of [`add_readable`](Self::add_readable).
    pub fn add_writable(&mut self, fd: BorrowedFd<'_>, source: S) -> Result<(), OsError> {
        self.add(fd, EpollFlags::EPOLLOUT, Token::Source(source))
    }

    /// Stops waiting for `fd`, also for events of this round.
    pub fn remove(&mut self, fd: BorrowedFd<'_>) {
        let _ = self.epoll.delete(fd);
        if let Some(token) = self.tokens.get_mut(fd.as_raw_fd() as usize) {
            *token = None;
        }
    }

    fn add(
        &mut self,
        fd: BorrowedFd<'_>,
        flags: EpollFlags,
        token: Token<S>,
    ) -> Result<(), OsError> {
        let number = fd.as_raw_fd() as usize;
        self.epoll.add(fd, EpollEvent::new(flags, number as u64)).call("epoll_ctl")?;
        self.tokens.resize(self.tokens.len().max(number + 1), None);
        self.tokens[number] = Some(token);
        Ok(())
    }

    /// Waits until something is ready, `most` at most; returns the number of `events`.
    fn wait(&self, events: &mut [EpollEvent], most: EpollTimeout) -> Result<usize, OsError> {
        loop {
            match self.epoll.wait(events, most) {
                Err(Errno::EINTR) => {}
                result => return result.call("epoll_wait"),
            }
        }
    }

    fn token(&self, event: &EpollEvent) -> Option<Token<S>> {
        self.tokens.get(event.data() as usize).copied().flatten()
    }
}

/// A timer that becomes readable at an instant.
#[derive(Debug)]
struct Timer {
    timer: TimerFd,
    armed: Option<Instant>,
    /// Whether the timer has expired: it is readable until it is set again, if only to no time.
    is_expired: bool,
}

impl Timer {
    /// Returns a timer that is not armed.
    fn new() -> Result<Self, OsError> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).call("timerfd_create")?;
        Ok(Self { timer, armed: None, is_expired: false })
    }

    /// Readable from `at` on. Costs no system call if it was set to that before.
    fn set(&mut self, clock: Clock, at: Option<Instant>) -> Result<(), OsError> {
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

    /// Call this once the timer was readable.
    fn expired(&mut self) {
        self.is_expired = true;
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::unistd::{pipe, read, write};
    use std::os::fd::OwnedFd;

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

    /// A driver that reads a byte a round, and ends at the second instant that it wanted.
    struct Reader {
        clock: Clock,
        pipe: OwnedFd,
        next: Option<Instant>,
        /// Calls of the driver, in order.
        calls: Vec<&'static str>,
    }

    impl Driver for Reader {
        type Source = &'static str;
        type Outcome = ();
        type Error = OsError;

        fn handle_timeout(
            &mut self,
            now: Instant,
            _: &mut Registry<Self::Source>,
        ) -> Progress<Self> {
            let is_due = self.next.take_if(|next| *next <= now).is_some();
            self.calls.push(if is_due { "due" } else { "round" });
            let times = self.calls.iter().filter(|&&call| call == "due").count();
            Ok(if times == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        }

        fn next_wakeup(&self) -> Option<Instant> {
            self.next
        }

        fn handle_ready(
            &mut self,
            source: Self::Source,
            registry: &mut Registry<Self::Source>,
        ) -> Result<(), OsError> {
            self.calls.push(source);
            if read(&self.pipe, &mut [0]).call("read")? == 0 {
                registry.remove(self.pipe.as_fd());
                self.next = Some(self.clock.now() + Duration::from_millis(20));
            }
            Ok(())
        }

        fn handle_signals(&mut self, _: &[Signal]) -> Progress<Self> {
            unreachable!("it has none")
        }
    }

    #[test]
    fn a_loop_rests_once_it_owes_more_than_a_millisecond() {
        let at = |us: u64| Instant::from_nanos(us * 1_000);
        let rest_max = Duration::from_micros(200);
        let mut moderation = Moderation { rest_max, ..Moderation::default() };
        // Something is due every 50 us, is woken for 30 us late and done 10 us later, unless the
        // loop rests. A rest of 80 us for each of them is owed, less 10 us until the next.
        let mut due = 10_000;
        let mut wake = |moderation: &mut Moderation| {
            let is_rest = moderation.rest_until > at(due);
            let end = moderation.rest_until.max(at(due));
            let [now, done] = [30, 40].map(|us| end + Duration::from_micros(us));
            moderation.note(at(due), now, done);
            due = done.as_nanos() / 1_000 + 10;
            is_rest
        };
        let woken = (0..100).take_while(|_| !wake(&mut moderation)).count();
        // 1 000 us / (120 - 50) us.
        assert!((14..=16).contains(&woken), "{woken}");
        // From then on a third of the time, and each rest is limited.
        for _ in 0..100 {
            let before = moderation.rest_until;
            wake(&mut moderation);
            assert_eq!(moderation.rest_until.saturating_since(before).as_micros(), 120);
        }
        // After a pause nothing is owed.
        moderation.note(at(900_000), at(900_030), at(900_040));
        assert!(moderation.rest_until < at(900_000));
        // For a while nobody served the machine.
        (0..30).for_each(|_| moderation.note(at(998_000), at(999_000), at(999_010)));
        assert_eq!(moderation.rest_until, at(999_210));
    }

    #[test]
    fn a_loop_without_moderation_never_rests() {
        let at = |us: u64| Instant::from_nanos(us * 1_000);
        let mut moderation = Moderation::default();
        (0..30).for_each(|_| moderation.note(at(1_000), at(9_030), at(9_040)));
        assert!(moderation.rest_until <= at(9_040));
    }

    #[test]
    #[cfg_attr(miri, ignore = "descriptors of the kernel")]
    fn what_a_turn_leaves_unread_is_read_in_the_next_round() {
        let (pipe, input) = pipe().unwrap();
        write(&input, b"ab").unwrap();
        drop(input);
        let clock = Clock::start();
        let mut reader = Reader { clock, pipe, next: Some(Instant::ZERO), calls: Vec::new() };
        let mut events = EventLoop::new(clock).unwrap();
        events.registry().add_readable(reader.pipe.as_fd(), "read").unwrap();
        events.run(&mut reader, None).unwrap();
        let rounds = ["due", "read", "round", "read", "round", "read", "round", "due"];
        assert_eq!(reader.calls, rounds);
    }

    #[test]
    #[cfg_attr(miri, ignore = "descriptors of the kernel")]
    fn a_source_that_was_removed_in_a_round_is_not_ready_in_it() {
        let (one, input) = pipe().unwrap();
        let mut registry = Registry::new().unwrap();
        registry.add_readable(one.as_fd(), 1).unwrap();
        registry.add_writable(input.as_fd(), 2).unwrap();
        write(&input, b"a").unwrap();
        let mut events = [EpollEvent::empty(); 4];
        assert_eq!(registry.wait(&mut events, EpollTimeout::NONE).unwrap(), 2);
        registry.remove(one.as_fd());
        let tokens = events[..2].iter().filter_map(|event| registry.token(event));
        assert!(matches!(tokens.collect::<Vec<_>>()[..], [Token::Source(2)]));
    }
}
