//! A run that a figure requests: a scenario file that is part of the program, its changes, and
//! records beyond the series.

use crate::reproduce::air::Air;
use crate::reproduce::record::Watch;

/// A scenario file that is part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioFile {
    /// Path from the root of the repository; the crate has the same folder `scenarios`.
    pub path: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

/// Returns the [`ScenarioFile`](crate::reproduce::request::ScenarioFile) at a path below
/// `scenarios/`.
#[macro_export]
macro_rules! scenario_file {
    ($path:literal) => {
        $crate::reproduce::request::ScenarioFile {
            path: concat!("scenarios/", $path),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/", $path)),
        }
    };
}

/// A run of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Name of the run in the figure. Runs that differ only in their names are equal.
    pub name: String,
    /// The scenario file.
    pub file: ScenarioFile,
    /// Changes of the scenario, as after `--set`.
    pub sets: Vec<String>,
    /// Number of the run: runs that differ only in it have different random numbers.
    pub number: u64,
    /// Records beyond the series.
    pub watch: Watch,
}

impl Run {
    /// Returns a run of `file` without changes.
    pub fn new(name: impl Into<String>, file: ScenarioFile) -> Self {
        let (sets, watch) = (Vec::new(), Watch::default());
        Self { name: name.into(), file, sets, number: 0, watch }
    }

    /// Changes a key, as after `--set`, such as `"flow.up.packet_bytes=4000"`.
    #[must_use]
    pub fn set(mut self, set: impl Into<String>) -> Self {
        self.sets.push(set.into());
        self
    }

    /// Sets the number of the run, for other random numbers.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.number = number;
        self
    }

    /// Also captures the air and analyses the capture. The run takes about three times the
    /// processor time.
    #[must_use]
    pub fn capturing_air(mut self) -> Self {
        self.watch.air = Air::Everything;
        self
    }

    /// Also captures the air without data, for absences. The capture costs little time.
    #[must_use]
    pub fn capturing_absences(mut self) -> Self {
        self.watch.air = Air::WithoutData;
        self
    }

    /// Also records every packet of measurements, which costs memory.
    #[must_use]
    pub fn watching_phases(mut self) -> Self {
        self.watch.phases = true;
        self
    }

    /// Also records every round trip.
    #[must_use]
    pub fn watching_round_trips(mut self) -> Self {
        self.watch.round_trips = true;
        self
    }
}
