//! The loop: it sleeps until a frame, a signal, a report or an instant comes,
//! and keeps the network, the programs and the traffic going. One thread, no
//! spinning.

use crate::error::EmulateError;
use crate::hop::Hop;
use crate::jobs::{Jobs, Life};
use crate::os::clock::Clock;
use crate::os::event_loop::{Timer, Waiter};
use crate::os::signal::Signals;
use crate::os::supervisor::{Supervisor, SupervisorOrder, SupervisorReport};
use crate::os::terminal::{Terminal, stop_ourselves};
use crate::saturation::Saturation;
use crate::traffic::{Note, Traffic};
use lasthop_hosts::Sink;
use lasthop_units::{Duration, Instant};
use nix::sys::signal::Signal;
use std::os::fd::AsFd;

/// From one call of `on_tick` to the next.
pub const TICK: Duration = Duration::from_millis(100);
/// How long programs that were asked to end may take.
const GRACE: Duration = Duration::from_millis(500);
/// How long the command may take after a signal that was passed on to it.
const COMMAND_GRACE: Duration = Duration::from_secs(5);
const DOORS: u64 = 1 << 32;
const KEEPER: u64 = 1;
const SIGNALS: u64 = 2;
const TIMER: u64 = 3;

/// The loop and what it works with.
pub struct Session<'a, S: Sink> {
    /// The network and its doors.
    pub hop: Hop<'a, S>,
    /// Who runs the programs.
    pub supervisor: &'a Supervisor,
    /// What ends the run early.
    pub signals: &'a Signals,
    /// The command's terminal.
    pub terminal: Option<&'a Terminal>,
    /// The scenario's flows.
    pub traffic: &'a Traffic,
    /// The programs.
    pub jobs: &'a mut Jobs,
    /// How much saturated flows may send.
    pub saturation: Saturation,
    /// When the run is over.
    pub end: Instant,
    /// Once it is ending: when to wait no longer.
    pub deadline: Option<Instant>,
    /// A signal came.
    pub interrupted: Option<Signal>,
}

impl<S: Sink> Session<'_, S> {
    /// Runs until the end, whatever brings it about.
    pub fn run(
        &mut self,
        clock: Clock,
        on_tick: &mut dyn FnMut(Instant, &mut S),
    ) -> Result<(), EmulateError> {
        let waiter = Waiter::new()?;
        let mut timer = Timer::new()?;
        waiter.add_readable(timer.as_fd(), TIMER)?;
        waiter.add_readable(self.supervisor.as_fd(), KEEPER)?;
        waiter.add_readable(self.signals.as_fd(), SIGNALS)?;
        for (door, fd) in self.hop.ports().doors().into_iter().enumerate() {
            waiter.add_readable(fd, DOORS + door as u64)?;
        }
        let mut next_tick = Instant::ZERO + TICK;
        let mut saturated = None;
        let mut ready = Vec::new();
        self.hop.start();
        loop {
            let now = clock.now();
            self.start_jobs(now)?;
            if self.hop.take_room() || saturated.is_some_and(|start| start <= now) {
                self.grant_room(now);
                saturated = self.saturation.next_start(now);
            }
            let starts = [self.next_start(), saturated];
            let wakeups = [self.hop.next_wakeup(), self.deadline].into_iter().chain(starts);
            let next = wakeups.flatten().min();
            let next = next.unwrap_or(Instant::MAX).min(next_tick).min(self.end);
            timer.set(clock, Some(next))?;
            waiter.wait(&mut ready)?;
            self.hop.advance(clock.now());
            for &token in &ready {
                match token {
                    TIMER => timer.expired(),
                    KEEPER => self.hear_supervisor()?,
                    SIGNALS => self.hear_signals()?,
                    door => self.hop.take_frames((door - DOORS) as usize),
                }
            }
            self.pass_notes_on();
            let now = clock.now();
            self.hop.advance(now);
            if now >= next_tick {
                self.saturation.forget_lost(|flow| self.hop.backlog(now, flow));
                self.grant_room(now);
                on_tick(now, self.hop.sink);
                while next_tick <= now {
                    next_tick += TICK;
                }
            }
            if now >= self.end || (self.hop.is_done() && self.jobs.list.is_empty()) {
                self.end = Instant::MAX;
                self.wind_up(now)?;
            }
            if self
                .deadline
                .is_some_and(|deadline| now >= deadline || self.jobs.running().next().is_none())
            {
                return Ok(());
            }
        }
    }

    /// When the next program is due.
    fn next_start(&self) -> Option<Instant> {
        let waiting = self.jobs.list.iter().filter(|job| job.life == Life::Waiting);
        waiting.map(|job| job.start).min().filter(|_| self.deadline.is_none())
    }

    fn start_jobs(&mut self, now: Instant) -> Result<(), EmulateError> {
        if self.deadline.is_some() {
            return Ok(());
        }
        for (index, job) in self.jobs.list.iter_mut().enumerate() {
            if job.life == Life::Waiting && job.start <= now {
                job.life = Life::Running;
                self.supervisor.order(SupervisorOrder::Start { job: index as u32 })?;
            }
        }
        Ok(())
    }

    fn hear_supervisor(&mut self) -> Result<(), EmulateError> {
        while let Some(report) = self.supervisor.report()? {
            match report {
                SupervisorReport::Exited { job, status } => {
                    self.jobs.list[job as usize].life = Life::Ended(status);
                    if job == 0 && self.jobs.has_command {
                        self.wind_up(self.hop.now())?;
                    }
                }
                SupervisorReport::Stopped { job } => {
                    if let Some(terminal) = self.terminal
                        && job == 0
                    {
                        // As a shell would: we stop as well, and go on with it.
                        terminal.take_back();
                        stop_ourselves();
                        self.supervisor.order(SupervisorOrder::Resume { job })?;
                    }
                }
                SupervisorReport::NotStarted { job, errno } => {
                    let job = &self.jobs.list[job as usize];
                    let program = job.command.first().map(|word| word.to_string_lossy());
                    return Err(EmulateError::NotStarted {
                        command: program.unwrap_or_default().into_owned(),
                        node: job.node_name.clone(),
                        reason: nix::errno::Errno::from_raw(errno).desc().into(),
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn hear_signals(&mut self) -> Result<(), EmulateError> {
        self.signals.take().into_iter().try_for_each(|signal| self.interrupt(signal))
    }

    /// The first signal ends the run, or goes to the command if there is one; the second ends all.
    pub fn interrupt(&mut self, signal: Signal) -> Result<(), EmulateError> {
        let now = self.hop.now();
        if self.interrupted.is_some() {
            self.deadline = Some(now);
            return Ok(());
        }
        self.interrupted = Some(signal);
        if self.jobs.has_command && self.jobs.list[0].life == Life::Running {
            self.supervisor.order(SupervisorOrder::Signal { job: 0, signal: signal as i32 })?;
            self.deadline = Some(now + COMMAND_GRACE);
            Ok(())
        } else {
            self.wind_up(now)
        }
    }

    /// Asks the programs to end, and waits for them a while; the network goes on meanwhile.
    fn wind_up(&mut self, now: Instant) -> Result<(), EmulateError> {
        for job in self.jobs.running() {
            self.supervisor.order(SupervisorOrder::Signal { job, signal: libc::SIGTERM })?;
        }
        self.deadline = Some(self.deadline.unwrap_or(Instant::MAX).min(now + GRACE));
        Ok(())
    }

    fn pass_notes_on(&mut self) {
        while let Some(note) = self.traffic.note() {
            match note {
                Note::Tcp(at, flow, sample) => self.hop.sink.tcp(at, flow, &sample),
                Note::RoundTrip(at, flow, rtt) => self.hop.sink.round_trip(at, flow, rtt),
            }
        }
    }

    fn grant_room(&mut self, now: Instant) {
        let (hop, traffic) = (&mut self.hop, self.traffic);
        let backlog = |flow| hop.backlog(now, flow);
        self.saturation.grant(backlog, |flow, packets| traffic.grant(flow, packets));
    }
}
