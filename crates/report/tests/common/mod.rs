//! Run number 0 of a scenario in virtual time and without files, for all tests of this crate. An
//! error panics with its message and the text of the scenario.

use lasthop_sim::{go_on, names, record, recording};
use lasthop_trace::{Recorder, RunDocument};

/// Runs the scenario of this name, with these `--set` arguments.
pub fn run(name: &str, text: &str, sets: &[String]) -> RunDocument {
    let scenario = lasthop_scenario::parse(name, text, sets)
        .unwrap_or_else(|why| panic!("{name} {sets:?}: {why}\n{text}"));
    let recorder = Recorder::new(names(&scenario), recording(&scenario));
    record(&scenario, 0, recorder, &mut go_on).expect("it runs")
}
