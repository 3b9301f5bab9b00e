//! The driver of an emulation in the event loop: the network, the programs and the traffic. Frames,
//! signals, reports of the supervisor, and time wake it. The session ends with the run, with the
//! command, or with a signal, and gives programs [`GRACE`] to end.

use crate::control::Control;
use crate::error::EmulateError;
use crate::hop::{Begun, Hop};
use crate::jobs::{Jobs, Life};
use crate::options::Say;
use crate::outside::Counted;
use crate::saturation::Saturation;
use crate::traffic::{Note, Traffic};
use lasthop_hosts::Sink;
use lasthop_linux::clock::Clock;
use lasthop_linux::event_loop::{Driver, EventLoop, Progress, Registry};
use lasthop_linux::signal::Signals;
use lasthop_linux::supervisor::{Supervisor, SupervisorOrder, SupervisorReport};
use lasthop_linux::terminal::{Terminal, stop_ourselves};
use lasthop_units::{Duration, Instant};
use nix::sys::signal::Signal;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Interval of the calls of `on_tick`.
pub const TICK: Duration = Duration::from_millis(100);
/// Time limit for programs to end after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);
/// Time limit for the command to end after a signal was passed on to it.
const COMMAND_GRACE: Duration = Duration::from_secs(5);

/// Events that wake the loop, beside time and signals.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Reports of the supervisor.
    Supervisor,
    /// Frames, by number of the door.
    Door(usize),
    /// A change from outside.
    Control,
}

/// The running parts of an emulation.
pub struct Session<'a, S: Sink> {
    /// The network, and the interfaces of its nodes.
    pub hop: Hop<'a, S>,
    /// The process that runs the programs.
    pub supervisor: &'a Supervisor,
    /// The signals that end the run early.
    pub signals: &'a Signals,
    /// The terminal of the command, if it has one.
    pub terminal: Option<&'a Terminal>,
    /// The flows of the scenario whose endpoints are the kernel's.
    pub traffic: &'a mut Traffic,
    /// Programs of the scenario.
    pub jobs: &'a mut Jobs,
    /// Changes from outside.
    pub control: Option<&'a Control>,
    /// Counters of the ways to the machine.
    pub counted: &'a mut Counted,
    /// Receiver of messages.
    pub say: &'a Say,
    /// Grants of packets to saturated flows.
    pub saturation: Saturation,
    /// The instant at which the next saturated flow starts.
    pub saturated_start: Option<Instant>,
    /// The function that is called every [`TICK`].
    pub on_tick: &'a mut dyn FnMut(Instant, &mut S),
    /// The instant of its next call.
    pub next_tick: Instant,
    /// The instant at which the run ends without a command or signal.
    pub end: Instant,
    /// During the end: the instant at which the wait for programs stops.
    pub deadline: Option<Instant>,
    /// The first signal that came.
    pub interrupted: Option<Signal>,
    /// Flows whose program is not known yet; the supervisor is asked for the first one.
    pub unnamed: VecDeque<Begun>,
    /// Whether a question to the supervisor is open.
    pub is_asked: bool,
    /// Longest time for which due work waits to share a wake-up ([`EventLoop::moderate`]).
    pub rest_max: Duration,
}

impl<S: Sink> Session<'_, S> {
    /// Runs until the end, for any of its causes.
    pub fn run(&mut self, clock: Clock) -> Result<(), EmulateError> {
        let mut events = EventLoop::new(clock)?;
        events.moderate(self.rest_max);
        let registry = events.registry();
        registry.add_readable(self.supervisor.as_fd(), Source::Supervisor)?;
        for (door, fd) in self.hop.ports().doors().into_iter().enumerate() {
            registry.add_readable(fd, Source::Door(door))?;
        }
        if let Some(control) = self.control {
            registry.add_readable(control.wake(), Source::Control)?;
            control.begin(clock);
        }
        self.hop.start();
        let signals = self.signals;
        events.run(self, Some(signals))
    }

    /// Returns the instant at which the next program is to be started, or to be ready.
    fn next_start(&self) -> Option<Instant> {
        let jobs = self.jobs.list.iter().enumerate();
        let waiting =
            jobs.filter(|(index, job)| job.life == Life::Waiting && !self.jobs.is_held_up(*index));
        let next = waiting.map(|(_, job)| job.start).min();
        let next = next.into_iter().chain(self.jobs.next_ready()).min();
        next.filter(|_| self.deadline.is_none())
    }

    fn start_jobs(&mut self, now: Instant) -> Result<(), EmulateError> {
        if self.deadline.is_some() {
            return Ok(());
        }
        self.jobs.note_ready(now);
        if let Some(job) = self.jobs.too_slow(now) {
            let timeout = job.ready_timeout;
            return Err(job.not_ready(format!("took {timeout} (ready_timeout)")));
        }
        for index in 0..self.jobs.list.len() {
            let is_held_up = self.jobs.is_held_up(index);
            let job = &mut self.jobs.list[index];
            if job.life == Life::Waiting && job.start <= now && !is_held_up {
                job.life = Life::Running;
                job.started = Some(now);
                self.supervisor.order(SupervisorOrder::Start { job: index as u32 })?;
            }
        }
        Ok(())
    }

    fn hear_supervisor(&mut self) -> Result<(), EmulateError> {
        while let Some(report) = self.supervisor.report()? {
            match report {
                SupervisorReport::JobReady { job } => {
                    self.jobs.list[job as usize].is_ready = true;
                }
                SupervisorReport::Exited { job, status } => {
                    self.jobs.note_ready(self.hop.now());
                    let ended = &mut self.jobs.list[job as usize];
                    ended.life = Life::Ended(status);
                    if !ended.is_ready && self.deadline.is_none() {
                        return Err(ended.not_ready(format!("ended with exit status {status}")));
                    }
                    if job == 0 && self.jobs.has_command {
                        self.wind_up(self.hop.now())?;
                    }
                }
                SupervisorReport::Sender { name, .. } => {
                    self.is_asked = false;
                    if let Some(begun) = self.unnamed.pop_front()
                        && !name.is_empty()
                    {
                        self.hop.sink.program_name(self.hop.now(), begun.flow, &name);
                    }
                    self.ask_for_name()?;
                }
                SupervisorReport::Stopped { job } => {
                    if let Some(terminal) = self.terminal
                        && job == 0
                    {
                        // As a shell does: stop too, and resume it when resumed.
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

    /// Asks the supervisor for the program of the next flow, one at a time.
    fn ask_for_name(&mut self) -> Result<(), EmulateError> {
        let Some(begun) = self.unnamed.front().filter(|_| !self.is_asked) else { return Ok(()) };
        self.is_asked = true;
        let Begun { flow, port: node, protocol, source_port: port } = *begun;
        let flow = flow.0;
        self.supervisor.order(SupervisorOrder::FindSender { flow, node, protocol, port })?;
        Ok(())
    }

    /// The first signal ends the run, or is passed on to the command if one runs; the second
    /// ends the run at once.
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

    /// Asks the programs to end and sets the deadline for them; the network runs meanwhile.
    fn wind_up(&mut self, now: Instant) -> Result<(), EmulateError> {
        for job in self.jobs.running() {
            self.supervisor.order(SupervisorOrder::Signal { job, signal: libc::SIGTERM })?;
        }
        for job in self.jobs.list.iter_mut().filter(|job| job.life == Life::Running) {
            job.is_asked_to_end = true;
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

    fn grant_credit(&mut self, now: Instant) {
        let (hop, traffic) = (&mut self.hop, &mut *self.traffic);
        let backlog = |flow| hop.backlog(now, flow);
        self.saturation.grant(backlog, |flow, packets| traffic.grant(flow, packets));
    }
}

impl<S: Sink> Driver for Session<'_, S> {
    type Source = Source;
    type Outcome = ();
    type Error = EmulateError;

    fn handle_timeout(&mut self, now: Instant, _: &mut Registry<Source>) -> Progress<Self> {
        self.hop.advance(now);
        self.pass_notes_on();
        let is_tick = now >= self.next_tick;
        if is_tick {
            self.saturation.forget_lost(|flow| self.hop.backlog(now, flow));
            (self.on_tick)(now, self.hop.sink);
            self.counted.news().iter().for_each(|line| self.say.line(line));
            while self.next_tick <= now {
                self.next_tick += TICK;
            }
        }
        if now >= self.end || (self.hop.is_done() && self.jobs.list.is_empty()) {
            self.end = Instant::MAX;
            self.wind_up(now)?;
        }
        let is_over = |deadline| now >= deadline || self.jobs.running().next().is_none();
        if self.deadline.is_some_and(is_over) {
            return Ok(ControlFlow::Break(()));
        }
        self.start_jobs(now)?;
        let is_start = self.saturated_start.is_some_and(|start| start <= now);
        if self.hop.take_space() || is_start || is_tick {
            self.grant_credit(now);
            self.saturated_start = self.saturation.next_start(now);
        }
        self.traffic.handle_timeout(self.hop.now());
        Ok(ControlFlow::Continue(()))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let due = [Some(self.next_tick), Some(self.end), self.deadline];
        let wanted = [
            self.hop.next_wakeup(),
            self.traffic.next_wakeup(),
            self.next_start(),
            self.saturated_start,
        ];
        due.into_iter().chain(wanted).flatten().min()
    }

    fn handle_ready(
        &mut self,
        source: Source,
        _: &mut Registry<Source>,
    ) -> Result<(), EmulateError> {
        match source {
            Source::Supervisor => self.hear_supervisor(),
            Source::Control => {
                if let Some(control) = self.control {
                    self.hop.advance(self.hop.now());
                    for (at, changes) in control.take() {
                        self.hop.plan_changes(at, changes);
                    }
                }
                Ok(())
            }
            Source::Door(door) => {
                self.hop.take_frames(door);
                self.unnamed.extend(self.hop.take_begun());
                self.ask_for_name()
            }
        }
    }

    fn handle_signals(&mut self, signals: &[Signal]) -> Progress<Self> {
        signals.iter().try_for_each(|&signal| self.interrupt(signal))?;
        Ok(ControlFlow::Continue(()))
    }
}
