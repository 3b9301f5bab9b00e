//! The options of an emulation.

use crate::control::Control;
use lasthop_linux::device::DeviceChoice;
use lasthop_units::Duration;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The options of an emulation.
#[derive(Clone, Debug, Default)]
pub struct EmulateOptions {
    /// Duration of the emulation, from its start or that of its command. Without it, the scenario's
    /// duration or the command ends it.
    pub duration: Option<Duration>,
    /// A program to run behind the hop, on this terminal, after the scenario's warm-up; the
    /// emulation ends with it.
    pub command: Option<Vec<OsString>>,
    /// The node to run it in; the first station if `None`.
    pub in_node: Option<String>,
    /// Number of the run under the scenario's seed.
    pub run: u64,
    /// The kind of devices to use.
    pub device: DeviceChoice,
    /// Ways between the nodes and the machine.
    pub outside: OutsideOptions,
    /// Changes from outside during the run.
    pub control: Option<Control>,
    /// Receiver of the emulation's messages during the run.
    pub say: Say,
    /// Cell in which a handler of the caller stores the number of a signal, 0 for none: one that came
    /// before the emulation catches its own ends it as well.
    pub signal_noted: Arc<AtomicUsize>,
}

/// A function that takes a line of text.
pub type TakesLine = Arc<dyn Fn(&str) + Send + Sync>;

/// Function that receives a line for the user, such as a way to the outside that leads nowhere.
#[derive(Clone, Default)]
pub struct Say(pub Option<TakesLine>);

impl Say {
    /// Calls it, if there is one.
    pub fn line(&self, line: &str) {
        if let Some(say) = &self.0 {
            say(line);
        }
    }
}

impl fmt::Debug for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Say").field(&self.0.is_some()).finish()
    }
}

/// Ways between the nodes and the machine's own network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideOptions {
    /// Whether nodes reach the machine's network and its name servers.
    pub network: bool,
    /// Ports of the machine's loopback that nodes reach, at [`MACHINE_NAME`](crate::MACHINE_NAME).
    pub reach: Vec<u16>,
    /// Ports of the machine's loopback that lead to a node.
    pub publish: Vec<Published>,
    /// The node where the outside begins. `None`: for packets of the command, the first host that
    /// the air separates from it, else such an access point, else such a station; for each
    /// published port the same as its node sees it, and of stations first that of the command.
    pub at: Option<String>,
}

/// A port of the machine's loopback that leads to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The port of the machine.
    pub port: u16,
    /// Node of the port; `None`: that of the command, else the first station.
    pub node: Option<String>,
    /// The port of the node.
    pub node_port: u16,
}

impl OutsideOptions {
    /// Whether there is any way.
    pub fn is_any(&self) -> bool {
        self.network || !self.reach.is_empty() || !self.publish.is_empty()
    }
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.port)?;
        if let Some(node) = &self.node {
            write!(f, ":{node}")?;
        }
        if self.node_port == self.port { Ok(()) } else { write!(f, ":{}", self.node_port) }
    }
}
