//! The verbs of the feature `lab`, one module for each subject.

mod apq;
mod doctor;
mod install;
mod results;
mod runs;
mod values;

pub use apq::{Apq, ApqMeasure, ApqMethodName, ApqServe, ApqWay};
pub use doctor::Doctor;
pub use install::{Completions, Manual, Shell};
pub use results::{Capture, Report, Reproduce, Serve};
pub use runs::{
    AggregationBy, Compare, Emulate, ExpectArgs, Medium, PLACES, ScenarioArgs, ScenarioFrom,
    ScenarioInit, ScenarioVerb, Set, Simulate, Sweep,
};

use clap::Subcommand;

/// The verbs that are left out of builds for routers.
#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Run a scenario in virtual time: fast and repeatable
    Simulate(Simulate),
    /// Run a scenario for many values of its keys, into tables
    Sweep(Sweep),
    /// Run real programs over a scenario's Wi-Fi hop, in real time
    Emulate(Emulate),
    /// Change a running emulation, or list its keys
    Set(Set),
    /// Write an HTML page with a run's problems, causes and remedies
    Report(Report),
    /// Show runs in a browser: series, frames on the air, comparisons
    Serve(Serve),
    /// Reproduce published figures and compare the results
    Reproduce(Reproduce),
    /// Simulate and emulate a scenario, and compare the results
    Compare(Compare),
    /// Measure the queue of an access point
    #[command(subcommand)]
    Apq(Apq),
    /// Connect mac80211_hwsim radios through a scenario's air
    Medium(Medium),
    /// Analyse a capture of the air and find the link's problems
    Capture(Capture),
    /// Check this machine: usable commands, delay of its Wi-Fi, remedies
    Doctor(Doctor),
    /// List, show and copy the built-in scenarios
    #[command(subcommand)]
    Scenario(ScenarioVerb),
    /// List typical places, such as a café, a train or a conference
    #[command(
        after_help = "A place is a built-in scenario; its values are explained in the file itself: see
`lasthop scenario show places/cafe`. In every place, the node laptop is behind Wi-Fi and the node
server is behind the access line.

Examples:
  lasthop places
  lasthop emulate --place cafe -- ping -c 10 server"
    )]
    Places,
    /// Show how a long queue ruins a ping and FQ-CoDel repairs it (30 s)
    #[command(after_help = "Example:
  lasthop demo")]
    Demo,
    /// Print a shell's completion script
    Completions(Completions),
    /// Write the manual pages to a directory
    Manual(Manual),
}
