//! Errors of an emulation that cannot run.

use lasthop_hosts::HostsError;
use lasthop_linux::OsError;

/// Why an emulation could not run. Everything that it had set up is removed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EmulateError {
    /// A system call was refused.
    #[error("cannot emulate here: {0}")]
    Os(#[from] OsError),
    /// The network, a flow or a coded link of the model cannot be built.
    #[error("cannot emulate this: {0}")]
    Hosts(#[from] HostsError),
    /// There is no such node to run the command in.
    #[error("there is no node {name:?} to run a command in; the nodes are: {known}")]
    UnknownNode {
        /// The name that was given.
        name: String,
        /// The names of the nodes, separated by commas.
        known: String,
    },
    /// There is no station to run the command in.
    #[error("the scenario has no station to run the command in; name a node: {known}")]
    NoStation {
        /// Existing names, separated by commas.
        known: String,
    },
    /// A program could not be started.
    #[error("cannot run {command:?} in node {node:?}: {reason}")]
    NotStarted {
        /// Name of the program.
        command: String,
        /// Name of the node.
        node: String,
        /// The error of execve(2).
        reason: String,
    },
    /// There is no such node at which the outside could begin.
    #[error(
        "the outside cannot begin at {name:?}: name a node with an interface in which COMMAND does not run; there are: {known}"
    )]
    NoOutside {
        /// The name that was given; empty for none.
        name: String,
        /// The names of the nodes, separated by commas.
        known: String,
    },
    /// There is no such node to publish a port of.
    #[error("--publish: there is no node {name:?}; the nodes are: {known}")]
    NotPublished {
        /// The name that was given.
        name: String,
        /// The names of the nodes, separated by commas.
        known: String,
    },
    /// A program that the way to the network requires is not installed.
    #[error("--outside requires the program {program}: install the package {package}")]
    NoHelper {
        /// Name of the program.
        program: &'static str,
        /// Package of the program.
        package: &'static str,
    },
    /// The program does not start.
    #[error("--outside: {program} does not start: {reason}{remedy}")]
    HelperFailed {
        /// Name of the program.
        program: &'static str,
        /// Message of the program.
        reason: String,
        /// Advice, with the words that introduce it; empty if none is known.
        remedy: &'static str,
    },
    /// A port of the machine cannot lead to two places.
    #[error("--publish: port {port} is published twice")]
    PublishedTwice {
        /// The port of the machine.
        port: u16,
    },
    /// The model has no hop between a published port and its node.
    #[error(
        "--publish {published}: --outside-at {node} is that node itself, so nothing of the model \
         is crossed; without --outside-at connections enter at {other}"
    )]
    NothingCrossed {
        /// Published port, as the user gave it.
        published: String,
        /// Name of the node.
        node: String,
        /// Node where connections enter by default.
        other: String,
    },
    /// A program of the scenario is not ready, and others wait for it.
    #[error("program {command:?} in node {node:?} {what} before it was ready ({ready}){output}")]
    NotReady {
        /// The program and its arguments.
        command: String,
        /// Name of the node.
        node: String,
        /// Event that happened instead.
        what: String,
        /// Condition that was waited for.
        ready: String,
        /// The last lines of its output, after a text that leads to them.
        output: String,
    },
    /// A word of a command has a zero byte in it.
    #[error("{word:?} cannot be part of a command: it has a zero byte in it")]
    ZeroByte {
        /// Word that cannot be read.
        word: String,
    },
    /// The kernel has no such congestion control.
    #[error(
        "flow {flow:?}: the kernel has no congestion control {name:?} ({reason}); it has: {available}; \
         load another with `modprobe tcp_{name}`"
    )]
    CongestionControl {
        /// The name of the flow.
        flow: String,
        /// Requested name.
        name: String,
        /// The error of the kernel.
        reason: String,
        /// The congestion controls of the kernel.
        available: String,
    },
    /// The scenario has more flows than there are ports for them.
    #[error("an emulation has at most {max} flows, this scenario has {flows}")]
    TooManyFlows {
        /// The number of flows.
        flows: usize,
        /// The number of ports.
        max: usize,
    },
}
