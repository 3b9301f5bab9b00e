//! Runs by other processes, on this machine or another: their input ([`Blueprint`]), their results
//! ([`Made`]), and the missing runs ([`Pending`]). Left out: transport of the bytes, and the
//! detection of dead processes.

use crate::engine::{Engine, Progress};
use crate::error::StoreError;
use crate::plan::{Plan, PlanError, Task};
use crate::record::{Outcome, Record, is_sound};
use crate::store::{Head, Store};
use crate::vary::Axis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A plan for another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blueprint {
    version: String,
    file: String,
    text: String,
    sets: Vec<String>,
    axes: Vec<Axis>,
    zip: bool,
    runs: u32,
    /// Other files of the scenario, with their SHA-256.
    attached: Vec<(String, String)>,
}

/// Reason why runs cannot be made here, or why a result cannot be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AfarError {
    /// The text is not a blueprint.
    #[error("this is not a blueprint of a sweep: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// The other version makes different runs.
    #[error(
        "lasthop {here} is here, and the sweep is one of {there}: results of two versions are not mixed"
    )]
    Version {
        /// Version that should make the runs.
        here: String,
        /// Version that requested them.
        there: String,
    },
    /// The scenario cannot be read here.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A file of the scenario has other contents here.
    #[error("{0} has other contents here")]
    Attached(String),
    /// The sweep has no run with this number.
    #[error("run {number} of {runs} was asked for")]
    Number {
        /// Number of the run, from 0.
        number: u64,
        /// Number of runs in the sweep.
        runs: usize,
    },
    /// The result is not that of the named run.
    #[error("the result of run {number} is invalid{why}")]
    Strange {
        /// Number of the run.
        number: u64,
        /// Reason, for messages.
        why: String,
    },
    /// The folder of the sweep.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Blueprint {
    /// Returns the blueprint of a plan. Other files of the scenario must exist there at the same
    /// absolute paths.
    pub fn from_plan(plan: &Plan) -> Self {
        let absolute = || std::path::absolute(plan.file()).ok()?.to_str().map(str::to_owned);
        let has_files = plan.attached().next().is_some();
        let file = if has_files { absolute() } else { None };
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            file: file.unwrap_or_else(|| plan.file().to_owned()),
            text: plan.text().to_owned(),
            sets: plan.sets().to_vec(),
            axes: plan.axes().to_vec(),
            zip: plan.zip(),
            runs: plan.runs_each(),
            attached: plan.attached().collect(),
        }
    }

    /// Returns the blueprint as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("it is valid JSON")
    }

    /// Reads a blueprint from JSON.
    ///
    /// # Errors
    /// If the text is not a blueprint, or is one of another version.
    pub fn from_json(json: &[u8]) -> Result<Self, AfarError> {
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        let Version { version } = serde_json::from_slice(json)?;
        let here = env!("CARGO_PKG_VERSION");
        if version != here {
            return Err(AfarError::Version { here: here.to_owned(), there: version });
        }
        Ok(serde_json::from_slice(json)?)
    }

    /// Returns the plan of the sweep.
    ///
    /// # Errors
    /// If the scenario differs here, because one of its files is missing or differs.
    pub fn plan(&self) -> Result<Plan, AfarError> {
        let axes = self.axes.clone();
        let plan =
            Plan::from_axes(&self.file, &self.text, &self.sets, axes, self.zip, Some(self.runs))?;
        let mut here = plan.attached();
        for (there, digest) in &self.attached {
            if here.next().is_none_or(|(path, found)| path != *there || found != *digest) {
                return Err(AfarError::Attached(there.clone()));
            }
        }
        drop(here);
        Ok(plan)
    }
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Number of the run, counted through all combinations.
    pub number: u64,
    /// Line of the journal for this run.
    pub line: String,
}

/// Makes the runs with these numbers, on the calling thread and one more, until `go_on`
/// breaks.
///
/// # Errors
/// If the plan has no such run.
pub fn make(
    plan: &Plan,
    numbers: &[u64],
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Vec<Made>, AfarError> {
    let runs = plan.runs();
    if let Some(&number) = numbers.iter().find(|&&number| number >= runs as u64) {
        return Err(AfarError::Number { number, runs });
    }
    let tasks: Vec<Task> = numbers.iter().map(|&number| plan.task(number as usize)).collect();
    let mut made = Vec::with_capacity(tasks.len());
    let engine = Engine { plan, threads: 1, series: None };
    let done = engine.make(&tasks, &mut |progress| {
        if let Progress::Record(_, line) = progress {
            // One thread makes them in order.
            made.push(Made { number: numbers[made.len()], line: line.to_owned() });
        }
        go_on()
    });
    done.map_err(StoreError::from)?;
    Ok(made)
}

/// The missing runs of a sweep, and those in progress elsewhere.
#[derive(Debug)]
pub struct Pending {
    plan: Plan,
    missing: Vec<Task>,
    /// Number of runs that were given out.
    next: usize,
    out: BTreeSet<Task>,
}

impl Pending {
    /// Returns the runs of `plan` that are missing in its folder.
    pub fn new(plan: Plan, store: &Store) -> Self {
        let missing = store.missing(&plan);
        Self { plan, missing, next: 0, out: BTreeSet::new() }
    }

    /// Number of missing runs that were not given out.
    pub fn left(&self) -> usize {
        self.missing.len() - self.next
    }

    /// Gives out up to this number of runs, by number.
    pub fn take(&mut self, most: usize) -> Vec<u64> {
        let end = self.missing.len().min(self.next.saturating_add(most));
        let taken = &self.missing[self.next..end];
        self.next = end;
        self.out.extend(taken);
        taken.iter().map(|&task| self.plan.number(task) as u64).collect()
    }

    /// Gives out all remaining runs for the engine of this process, which writes their results to
    /// the folder.
    pub fn take_here(&mut self) -> Vec<Task> {
        let taken = self.missing.split_off(self.next);
        self.missing.shrink_to_fit();
        taken
    }

    /// Records a result; `false` if it is known already, or was not requested.
    ///
    /// # Errors
    /// If the result is not that of the named run, or the folder does not accept it.
    pub fn settle(&mut self, made: &Made, store: &mut Store) -> Result<bool, AfarError> {
        let Some(task) = self.task(made.number)? else { return Ok(false) };
        let strange = |why: String| AfarError::Strange { number: made.number, why };
        let head: Head =
            serde_json::from_str(&made.line).map_err(|why| strange(format!(": {why}")))?;
        let values = self.plan.values(task.combination as usize);
        let is_one_line = made.line.find('\n') == Some(made.line.len() - 1);
        if head.run != task.run
            || head.values != values
            || !is_one_line
            || !is_sound(made.line.as_bytes())
        {
            return Err(strange(String::new()));
        }
        store.append_line(head.values, head.run, head.error.is_some(), &made.line)?;
        self.out.remove(&task);
        Ok(true)
    }

    /// Records the reason why a run cannot be made.
    ///
    /// # Errors
    /// The same errors as [`settle`](Self::settle).
    pub fn fail(&mut self, number: u64, why: &str, store: &mut Store) -> Result<(), AfarError> {
        let Some(task) = self.task(number)? else { return Ok(()) };
        let values = self.plan.values(task.combination as usize);
        let values = values.into_iter().map(str::to_owned).collect();
        let record = Record { values, run: task.run, outcome: Outcome::Error(why.to_owned()) };
        store.append(&record, &record.to_line())?;
        self.out.remove(&task);
        Ok(())
    }

    /// Returns the run, if it is in progress.
    fn task(&self, number: u64) -> Result<Option<Task>, AfarError> {
        let runs = self.plan.runs();
        if number >= runs as u64 {
            return Err(AfarError::Number { number, runs });
        }
        let task = self.plan.task(number as usize);
        Ok(self.out.contains(&task).then_some(task))
    }
}
