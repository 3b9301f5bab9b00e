//! The programs that run in the nodes: the command behind the hop, and those of the
//! scenario's `[[run]]`, with their environment and the files for their output. Leaves
//! out starting them, which is the supervisor's.

use crate::emulate::{EmulateOptions, ProgramOutcome};
use crate::error::EmulateError;
use crate::layout::Layout;
use crate::os::{output_file, read_output};
use lasthop_packet::NodeId;
use lasthop_scenario::{Role, Scenario};
use lasthop_units::Instant;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStringExt;

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
    /// Its whole environment.
    pub environment: Vec<CString>,
    /// The file for its output; the terminal if `None`.
    pub output: Option<File>,
    /// The instant at which it is started.
    pub start: Instant,
    /// Whether it waits, runs or has ended.
    pub life: Life,
}

/// The stages of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It has not been started.
    Waiting,
    /// It runs.
    Running,
    /// It ended with this status; 128 plus the number of a signal that ended it, as in a shell.
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
            list.push(JobState::new(scenario, layout, node, command.clone(), Instant::ZERO, None)?);
        }
        for program in &scenario.programs {
            let words = program.command.iter().map(OsString::from).collect();
            let output = Some(output_file()?);
            let (node, start) = (program.node, program.start);
            list.push(JobState::new(scenario, layout, node, words, start, output)?);
        }
        Ok(Self { has_command: options.command.is_some(), list })
    }

    /// The exit status of the command; `None` while it runs, or if there is none.
    pub fn command_status(&self) -> Option<i32> {
        match self.list.first()?.life {
            Life::Ended(status) if self.has_command => Some(status),
            _ => None,
        }
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
                exit_status: match job.life {
                    Life::Ended(status) => Some(status),
                    _ => None,
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
            life: Life::Waiting,
        })
    }
}

/// Returns the port and name of the node in which the command is to run.
fn command_node(
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
            let station = scenario.nodes.iter().position(|node| node.role == Role::Station);
            let node = station.map(|index| NodeId(index as u16));
            node.ok_or_else(|| EmulateError::NoStation { known: known() })
        }
    }
}

fn names(layout: &Layout) -> String {
    let names: Vec<&str> = layout.nodes.iter().map(|node| node.name.as_str()).collect();
    names.join(", ")
}
