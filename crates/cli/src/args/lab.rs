//! The verbs of the laboratory, by what they are about.

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
    AggregationBy, Compare, Emulate, ExpectArgs, Medium, PLACES, ScenarioArgs, ScenarioInit,
    ScenarioVerb, Set, Simulate, Sweep,
};

use clap::Subcommand;

/// The verbs that a router does without.
#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Run a scenario in virtual time: fast, and the same result every time
    Simulate(Simulate),
    /// Run every combination of some keys of a scenario, many times, into tables
    Sweep(Sweep),
    /// Run real programs and the kernel's TCP over the scenario's hop, in real time
    Emulate(Emulate),
    /// Change a running emulation, or list what can be changed
    Set(Set),
    /// Say what is wrong with a run, and why: a folder with results as one HTML page
    Report(Report),
    /// Show runs in a browser: over time, side by side, and every frame on the air
    Serve(Serve),
    /// Reproduce the figures of papers: theirs, ours, verdict
    Reproduce(Reproduce),
    /// Run a scenario in virtual time and in real time, and show both side by side
    Compare(Compare),
    /// Measure the queue of an access point on a real network
    #[command(subcommand)]
    Apq(Apq),
    /// Put the kernel's simulated radios (mac80211_hwsim) on a scenario's air
    Medium(Medium),
    /// Read a capture of the air, and say what is wrong with the link
    Capture(Capture),
    /// Say what this machine can do, what its Wi-Fi adds to delay, and what helps
    Doctor(Doctor),
    /// List, show and copy the scenarios that are inside the program
    #[command(subcommand)]
    Scenario(ScenarioVerb),
    /// List places that people know, and what to expect there: a café, a train, a conference
    #[command(
        after_help = "A place is a scenario inside the program: `lasthop scenario show places/cafe` has its reasons.
In all of them laptop is behind Wi-Fi, and server behind the line.

Examples:
  lasthop places
  lasthop emulate --place cafe -- ping -c 10 server"
    )]
    Places,
    /// Watch a queue ruin a ping, and see it mended: half a minute of real TCP
    #[command(after_help = "Example:
  lasthop demo")]
    Demo,
    /// Print the completions of a shell
    Completions(Completions),
    /// Write the manual pages to a directory
    Manual(Manual),
}
