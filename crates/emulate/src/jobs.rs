//! The programs that run in the nodes: the command behind the hop, and those of the
//! scenario's `[[run]]`, with their environment and the files for their output. Leaves
//! out starting them, which is the supervisor's.

use crate::error::EmulateError;
use crate::layout::Layout;
use crate::options::EmulateOptions;
use lasthop_linux::{output_file, read_output};
use lasthop_packet::NodeId;
use lasthop_scenario::{Ready, Role, Scenario};
use lasthop_units::{Duration, Instant};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStringExt;

/// The outcome of a `[[run]]` program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOutcome {
    /// The node in which it ran.
    pub node: NodeId,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// End of the program.
    pub end: ProgramEnd,
    /// Standard output and standard error of the program.
    pub output: Vec<u8>,
}

/// The end of a `[[run]]` program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// The emulation was over before it was started.
    NotStarted,
    /// The program exited with this status, as in a shell.
    Itself(i32),
    /// The end of the emulation ended it, whatever its exit status was then.
    Emulation,
}

/// The programs and their states.
#[derive(Debug)]
pub struct Jobs {
    /// Whether there is a command behind the hop; it is the first in `list`.
    pub has_command: bool,
    /// All programs; the index is that of the supervisor.
    pub list: Vec<JobState>,
}

/// A program and its state.
#[derive(Debug)]
pub struct JobState {
    /// The port of the node in which it runs.
    pub port: u16,
    /// The name of that node.
    pub node_name: String,
    /// The program and its arguments.
    pub command: Vec<CString>,
    /// Whole environment of the program.
    pub environment: Vec<CString>,
    /// The file for its output; the terminal if `None`.
    pub output: Option<File>,
    /// The earliest instant at which the program starts.
    pub start: Instant,
    /// Condition under which the program is ready; `None`: no program waits for it.
    pub ready: Option<Ready>,
    /// Longest time until the program is ready.
    pub ready_timeout: Duration,
    /// Whether it waits, runs or has ended.
    pub life: Life,
    /// The instant at which the program started.
    pub started: Option<Instant>,
    /// Whether the programs after it may be started.
    pub is_ready: bool,
    /// Whether the emulation has asked the program to end.
    pub is_asked_to_end: bool,
}

/// The stages of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The program has not been started.
    Waiting,
    /// The program runs.
    Running,
    /// The program ended with this status; 128 plus the number of a signal that ended it, as in a
    /// shell.
    Ended(i32),
}

impl Jobs {
    /// Returns the programs of a scenario, and the command if there is one.
    pub fn new(
        scenario: &Scenario,
        options: &EmulateOptions,
        layout: &Layout,
    ) -> Result<Self, EmulateError> {
        let mut list = Vec::new();
        if let Some(command) = &options.command {
            let node = command_node(scenario, layout, options.in_node.as_deref())?;
            // What happens before does not count.
            let start = Instant::ZERO + scenario.warmup;
            list.push(JobState::new(scenario, layout, node, command.clone(), start, None)?);
            list[0].is_ready = true;
        }
        for program in &scenario.programs {
            let words = program.command.iter().map(OsString::from).collect();
            let output = Some(output_file()?);
            let (node, start) = (program.node, program.start);
            let job = JobState::new(scenario, layout, node, words, start, output)?;
            list.push(JobState {
                is_ready: program.ready.is_none(),
                ready: program.ready.clone(),
                ready_timeout: program.ready_timeout,
                ..job
            });
        }
        Ok(Self { has_command: options.command.is_some(), list })
    }

    /// The exit status of the command; `None` if it did not end, the emulation ended it, or
    /// there is none.
    pub fn command_status(&self) -> Option<i32> {
        let command = self.list.first().filter(|_| self.has_command)?;
        match command.life {
            Life::Ended(status) if !command.is_asked_to_end => Some(status),
            _ => None,
        }
    }

    /// Whether a program waits for another to be ready: those of the scenario for those above
    /// them, the command for all.
    pub fn is_held_up(&self, index: usize) -> bool {
        let above =
            if self.has_command && index == 0 { &self.list[..] } else { &self.list[..index] };
        above.iter().any(|job| !job.is_ready)
    }

    /// Notes the programs that are ready by `now` because of the time alone.
    pub fn note_ready(&mut self, now: Instant) {
        for job in &mut self.list {
            if let (Some(started), Some(Ready::After(time))) = (job.started, &job.ready) {
                job.is_ready |= started + *time <= now;
            }
        }
    }

    /// The instant at which one of them is ready, or exceeds its time.
    pub fn next_ready(&self) -> Option<Instant> {
        let waited = self.list.iter().filter(|job| !job.is_ready && job.life == Life::Running);
        let instant = |job: &JobState| match job.ready {
            Some(Ready::After(time)) => Some(job.started? + time),
            _ => Some(job.started? + job.ready_timeout),
        };
        waited.filter_map(instant).min()
    }

    /// A program that has exceeded its time to be ready.
    pub fn too_slow(&mut self, now: Instant) -> Option<&mut JobState> {
        let is_late = |job: &&mut JobState| {
            let started = job.started.filter(|_| !job.is_ready && job.life == Life::Running);
            started.is_some_and(|started| started + job.ready_timeout <= now)
        };
        self.list.iter_mut().find(is_late)
    }

    /// The indices of the programs that run.
    pub fn running(&self) -> impl Iterator<Item = u32> {
        let running =
            |(index, job): (usize, &JobState)| (job.life == Life::Running).then_some(index as u32);
        self.list.iter().enumerate().filter_map(running)
    }

    /// Returns the outcomes of the scenario's programs, in their order.
    pub fn outcomes(&mut self, scenario: &Scenario) -> Vec<ProgramOutcome> {
        let first = usize::from(self.has_command);
        let programs = scenario.programs.iter().zip(&mut self.list[first..]);
        let outcome =
            |(program, job): (&lasthop_scenario::Program, &mut JobState)| ProgramOutcome {
                node: program.node,
                command: program.command.clone(),
                end: match job.life {
                    Life::Waiting => ProgramEnd::NotStarted,
                    Life::Ended(status) if !job.is_asked_to_end => ProgramEnd::Itself(status),
                    Life::Running | Life::Ended(_) => ProgramEnd::Emulation,
                },
                output: job.output.as_mut().map(read_output).unwrap_or_default(),
            };
        programs.map(outcome).collect()
    }
}

impl JobState {
    fn new(
        scenario: &Scenario,
        layout: &Layout,
        node: NodeId,
        words: Vec<OsString>,
        start: Instant,
        output: Option<File>,
    ) -> Result<Self, EmulateError> {
        let to_c = |word: OsString| {
            let text = word.to_string_lossy().into_owned();
            CString::new(word.into_vec()).map_err(|_| EmulateError::ZeroByte { word: text })
        };
        let node_name = scenario.nodes[node.index()].name.clone();
        let port = layout.doors.ports[node.index()].ok_or_else(|| EmulateError::UnknownNode {
            name: node_name.clone(),
            known: names(layout),
        })?;
        Ok(Self {
            port,
            node_name,
            command: words.into_iter().map(to_c).collect::<Result<_, _>>()?,
            environment: layout.environment(port),
            output,
            start,
            ready: None,
            ready_timeout: Duration::MAX,
            life: Life::Waiting,
            started: None,
            is_ready: false,
            is_asked_to_end: false,
        })
    }

    /// The error that this program is not ready, since `what` happened.
    pub fn not_ready(&mut self, what: String) -> EmulateError {
        let words = self.command.iter().map(|word| word.to_string_lossy());
        EmulateError::NotReady {
            command: words.collect::<Vec<_>>().join(" "),
            node: self.node_name.clone(),
            what,
            ready: self.ready.as_ref().map(Ready::to_string).unwrap_or_default(),
            output: last_lines(&self.output.as_mut().map(read_output).unwrap_or_default()),
        }
    }
}

/// Largest number of lines that an error repeats from a program's output, and of characters in each
/// line.
const LINES_MAX: usize = 10;
const LINE_CHARS_MAX: usize = 200;

/// The last lines of a program's output, each indented on a separate line, after a text that leads
/// to them.
fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES_MAX)..];
    let line =
        |line: &&str| format!("\n  {}", line.chars().take(LINE_CHARS_MAX).collect::<String>());
    match last {
        [] => "; it wrote nothing".into(),
        _ => format!("; it wrote last:{}", last.iter().map(line).collect::<String>()),
    }
}

/// Returns the node in which the command is to run.
pub fn command_node(
    scenario: &Scenario,
    layout: &Layout,
    wanted: Option<&str>,
) -> Result<NodeId, EmulateError> {
    let known = || names(layout);
    match wanted {
        Some(name) => scenario
            .node(name)
            .ok_or_else(|| EmulateError::UnknownNode { name: name.into(), known: known() }),
        None => {
            let station = scenario.own_nodes().iter().position(|node| node.role == Role::Station);
            let node = station.map(|index| NodeId(index as u16));
            node.ok_or_else(|| EmulateError::NoStation { known: known() })
        }
    }
}

/// The names of the nodes with an interface, separated by commas.
pub fn names(layout: &Layout) -> String {
    let names: Vec<&str> = layout.nodes.iter().map(|node| node.name.as_str()).collect();
    names.join(", ")
}
