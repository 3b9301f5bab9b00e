//! Shared parts of this crate's tests: a scenario from a text and `--set` arguments, and its run
//! number 0 in virtual time, without files. Both panic with the error.

use lasthop_scenario::Scenario;
use lasthop_sim::{go_on, names, record, recording};
use lasthop_trace::{Recorder, RunDocument};

pub fn scenario(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    lasthop_scenario::parse("test.toml", text, &sets).unwrap_or_else(|why| panic!("{why}"))
}

pub fn run(scenario: &Scenario) -> RunDocument {
    let recorder = Recorder::new(names(scenario), recording(scenario));
    record(scenario, 0, recorder, &mut go_on).expect("it runs")
}
