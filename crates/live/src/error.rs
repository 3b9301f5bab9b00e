//! Why an emulation could not be run.

use crate::os::OsError;
use lasthop_hosts::HostsError;

/// Why an emulation could not be run. Nothing of it is left behind.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EmulateError {
    /// A system call was refused.
    #[error("cannot emulate here: {0}")]
    Os(#[from] OsError),
    /// The network, a flow or a coded link of the model cannot be built.
    #[error("cannot emulate this: {0}")]
    Hosts(#[from] HostsError),
    /// No such node.
    #[error("there is no node {name:?} to run a command in; the nodes are: {known}")]
    UnknownNode {
        /// What was asked for.
        name: String,
        /// What there is, separated by commas.
        known: String,
    },
    /// There is no station to run the command in.
    #[error("the scenario has no station to run the command in; name a node: {known}")]
    NoStation {
        /// What there is, separated by commas.
        known: String,
    },
    /// A program could not be started.
    #[error("cannot run {command:?} in node {node:?}: {reason}")]
    NotStarted {
        /// The program.
        command: String,
        /// Where.
        node: String,
        /// What `exec` says.
        reason: String,
    },
    /// A word of a command has a zero byte in it.
    #[error("{word:?} cannot be part of a command: it has a zero byte in it")]
    ZeroByte {
        /// The word.
        word: String,
    },
    /// The kernel has no such congestion control.
    #[error(
        "flow {flow:?}: the kernel has no congestion control {name:?} ({reason}); it has: {available}; \
         load another with `modprobe tcp_{name}`"
    )]
    CongestionControl {
        /// The flow.
        flow: String,
        /// What was asked for.
        name: String,
        /// What the kernel says.
        reason: String,
        /// What it has.
        available: String,
    },
    /// More flows than there are ports for them.
    #[error("an emulation has at most {max} flows, this scenario has {flows}")]
    TooManyFlows {
        /// How many there are.
        flows: usize,
        /// How many there may be.
        max: usize,
    },
}
