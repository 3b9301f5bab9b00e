//! All verbs but `franc`: runs, results, captures, measurements. Builds for routers leave them out.
//!
//! | module | content |
//! |---|---|
//! | `simulate`, `sweep`, `emulate`, `set`, `compare`, `reproduce`, `serve`, `apq`, `medium`, `capture`, `doctor`, `scenario`, `places`, `demo` | the verbs |
//! | `page` | the verb `report` |
//! | `report` | a run as tables |
//! | `completions`, `manual` | completions of shells, manual pages |
//! | `expect` | conditions on runs (`--expect`) |
//! | `perfetto` | the air of a run for the Perfetto viewer |
//! | `dashboard`, `view`, `web` | the live view of a run: its content, in a terminal, in a browser |

mod apq;
mod capture;
mod compare;
pub mod completions;
mod dashboard;
mod demo;
pub mod doctor;
mod emulate;
mod expect;
mod manual;
mod medium;
mod page;
mod perfetto;
mod places;
mod report;
#[cfg(feature = "studies")]
mod reproduce;
pub mod scenario;
mod serve;
mod set;
mod simulate;
mod sweep;
mod view;
mod web;

use crate::args::LabVerb;
use crate::failure::Failure;

/// Runs the verb; returns the exit status.
pub fn run(verb: &LabVerb) -> Result<u8, Failure> {
    match verb {
        LabVerb::Simulate(args) => simulate::simulate(args),
        LabVerb::Sweep(args) => sweep::sweep(args),
        LabVerb::Emulate(args) => emulate::emulate(args),
        LabVerb::Set(args) => set::set(args).map(|()| 0),
        #[cfg(feature = "studies")]
        LabVerb::Reproduce(args) => reproduce::reproduce(args),
        #[cfg(not(feature = "studies"))]
        LabVerb::Reproduce(_) => Err(without_studies()),
        LabVerb::Report(args) => page::report(args).map(|()| 0),
        LabVerb::Serve(args) => serve::serve(args),
        LabVerb::Compare(args) => compare::compare(args).map(|()| 0),
        LabVerb::Apq(verb) => apq::apq(verb),
        LabVerb::Medium(args) => medium::medium(args).map(|()| 0),
        LabVerb::Capture(args) => capture::capture(args).map(|()| 0),
        LabVerb::Scenario(verb) => scenario::scenario(verb).map(|()| 0),
        LabVerb::Places => places::places().map(|()| 0),
        LabVerb::Doctor(args) => doctor::doctor(args),
        LabVerb::Demo => demo::demo(),
        LabVerb::Completions(args) => completions::completions(args).map(|()| 0),
        LabVerb::Manual(args) => manual::manual(args).map(|()| 0),
    }
}

/// The failure of a verb that this build lacks.
#[cfg(not(feature = "studies"))]
pub fn without_studies() -> Failure {
    let message = "this build has no papers: install a released package, or \
                   cargo run --release --features studies -- reproduce";
    Failure::Message(message.into())
}
