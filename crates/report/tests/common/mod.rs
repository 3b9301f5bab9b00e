//! What tests of this crate share: run number 0 of a scenario, whose findings they judge, in
//! virtual time and without files. It panics with what is wrong, and the text.

use lasthop_run::{names, recording, simulate};
use lasthop_trace::{Recorder, RunDocument};
use std::ops::ControlFlow;

/// Runs the scenario of this name, with these `--set` arguments.
pub fn run(name: &str, text: &str, sets: &[String]) -> RunDocument {
    let scenario = lasthop_scenario::parse(name, text, sets)
        .unwrap_or_else(|why| panic!("{name} {sets:?}: {why}\n{text}"));
    let recorder = Recorder::new(names(&scenario), recording(&scenario));
    simulate(&scenario, 0, recorder, &mut |_| ControlFlow::Continue(())).expect("it runs")
}
