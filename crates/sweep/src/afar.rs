//! Runs that other processes make, on this machine or another: what they are told
//! ([`Blueprint`]), what comes back ([`Made`]), and which runs nobody has or makes yet
//! ([`Pending`]). Leaves out how bytes get there and back, and who is alive.

use crate::engine::{Engine, Progress, Task};
use crate::plan::{Plan, PlanError};
use crate::record::{Outcome, Record, is_sound};
use crate::store::{Head, Store, StoreError};
use crate::vary::Axis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A plan as another process gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blueprint {
    version: String,
    file: String,
    text: String,
    sets: Vec<String>,
    axes: Vec<Axis>,
    zip: bool,
    runs: u32,
    /// Other files that the scenario names, with their SHA-256.
    attached: Vec<(String, String)>,
}

/// Why runs cannot be made here, or what came back cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum AfarError {
    /// It is no blueprint.
    #[error("this is no blueprint of a sweep: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// Another version makes other runs.
    #[error(
        "lasthop {here} is here, and the sweep is one of {there}: results of two versions are not mixed"
    )]
    Version {
        /// The version that was to make runs.
        here: String,
        /// The one that asked.
        there: String,
    },
    /// The scenario cannot be read here.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A file that the scenario names is another one here.
    #[error("{0} has another content here")]
    Attached(String),
    /// A run that the sweep does not have.
    #[error("run {number} of {runs} was asked for")]
    Number {
        /// Its number, from 0.
        number: u64,
        /// How many there are.
        runs: usize,
    },
    /// What came back is not the result of the run that it is said to be.
    #[error("what came back for run {number} is no result of it{why}")]
    Strange {
        /// Number of the run.
        number: u64,
        /// Why.
        why: String,
    },
    /// The folder of the sweep.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Blueprint {
    /// That of a plan. Where the scenario names other files, they are looked for at the same
    /// place there, whatever the folder is in which the other process runs.
    pub fn of(plan: &Plan) -> Self {
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

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("it is valid JSON")
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// If it is none, or of another version.
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

    /// The plan.
    ///
    /// # Errors
    /// If it is another one here, because a file that it names is missing or differs.
    pub fn plan(&self) -> Result<Plan, AfarError> {
        let axes = self.axes.clone();
        let plan = Plan::of(&self.file, &self.text, &self.sets, axes, self.zip, Some(self.runs))?;
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

/// A run that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its number, counted through all combinations.
    pub number: u64,
    /// The line of the journal that it is.
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

/// The runs of a sweep that are missing, and those that somebody makes.
#[derive(Debug)]
pub struct Pending {
    plan: Plan,
    missing: Vec<Task>,
    /// How many of them were given out.
    next: usize,
    out: BTreeSet<Task>,
}

impl Pending {
    /// What is missing of `plan` in its folder.
    pub fn new(plan: Plan, store: &Store) -> Self {
        let missing = store.missing(&plan);
        Self { plan, missing, next: 0, out: BTreeSet::new() }
    }

    /// Runs that are missing and that nobody was told to make.
    pub fn left(&self) -> usize {
        self.missing.len() - self.next
    }

    /// Gives out so many runs at most, by number.
    pub fn take(&mut self, most: usize) -> Vec<u64> {
        let end = self.missing.len().min(self.next.saturating_add(most));
        let taken = &self.missing[self.next..end];
        self.next = end;
        self.out.extend(taken);
        taken.iter().map(|&task| self.plan.number(task) as u64).collect()
    }

    /// All that nobody was told to make, for the engine of this process: their results come
    /// to the folder by themselves.
    pub fn take_here(&mut self) -> Vec<Task> {
        let taken = self.missing.split_off(self.next);
        self.missing.shrink_to_fit();
        taken
    }

    /// Takes a result; `false` if it is there already, or nobody asked for it.
    ///
    /// # Errors
    /// If it is not what it is said to be, or the folder does not take it.
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

    /// Notes that a run cannot be made, and why.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub fn fail(&mut self, number: u64, why: &str, store: &mut Store) -> Result<(), AfarError> {
        let Some(task) = self.task(number)? else { return Ok(()) };
        let values = self.plan.values(task.combination as usize);
        let values = values.into_iter().map(str::to_owned).collect();
        let record = Record { values, run: task.run, outcome: Outcome::Error(why.to_owned()) };
        store.append(&record, &record.to_line())?;
        self.out.remove(&task);
        Ok(())
    }

    /// The run, if somebody makes it.
    fn task(&self, number: u64) -> Result<Option<Task>, AfarError> {
        let runs = self.plan.runs();
        if number >= runs as u64 {
            return Err(AfarError::Number { number, runs });
        }
        let task = self.plan.task(number as usize);
        Ok(self.out.contains(&task).then_some(task))
    }
}
