//! The plan of a sweep: a scenario, the keys that vary, and the number of runs of each combination.
//! A plan describes every run, and makes none.

use crate::value::{Value, ValueColumn};
use crate::vary::{Axis, VaryError};
use lasthop_scenario::{Scenario, ScenarioError, SweepBase};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// A run of a plan: its combination and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Index of the combination.
    pub combination: u32,
    /// Number of the run.
    pub run: u32,
}

/// Largest number of combinations of values.
pub const COMBINATIONS_MAX: usize = 1_000_000;
/// Largest number of runs of a sweep.
pub const RUNS_MAX: usize = 10_000_000;

/// Requests that replace the scenario's `[sweep]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Keys and values (`path=values`); empty: those of `[sweep]`.
    pub vary: Vec<String>,
    /// Whether values are taken together instead of every combination.
    pub zip: bool,
    /// Runs of each combination.
    pub runs: Option<u32>,
}

/// A sweep of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The user's name of the scenario file.
    file: String,
    text: String,
    sets: Vec<String>,
    base: SweepBase,
    /// Digests of `base.attached`, in hexadecimal.
    attached: Vec<String>,
    axes: Vec<Axis>,
    zip: bool,
    runs: u32,
}

/// Reason why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The scenario file, a `--set`, or a key of `[sweep]`.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Arguments of `--vary`, one in each line.
    #[error("{}", lines(.0))]
    Vary(Vec<VaryError>),
    /// Problem of arguments that are sound one by one.
    #[error("{0}")]
    Together(String),
    /// Combinations with impossible values.
    #[error(transparent)]
    Combinations(#[from] Impossible),
}

fn lines(errors: &[VaryError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Combinations that the scenario does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Number of combinations.
    pub combinations: usize,
    /// Number of combinations in all.
    pub of: usize,
    /// The problem, the number of combinations with it, and the first of them.
    pub faults: Vec<(String, usize, String)>,
}

impl std::error::Error for Impossible {}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} combinations are impossible; nothing was run",
            self.combinations, self.of
        )?;
        for (message, count, first) in &self.faults {
            write!(f, "\n  {message}")?;
            match count {
                1 => write!(f, " (with {first})")?,
                more => write!(f, " ({more} combinations, the first {first})")?,
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Returns the sweep of the scenario `text`, which the user calls `file`, with `--set`
    /// arguments.
    ///
    /// # Errors
    /// If the plan is wrong before any combination is read.
    pub fn new(
        file: &str,
        text: &str,
        sets: &[String],
        request: &Request,
    ) -> Result<Self, PlanError> {
        let base = lasthop_scenario::sweep_base(file, text, sets)?;
        let vary = if request.vary.is_empty() { &base.vary } else { &request.vary };
        if vary.is_empty() {
            let message = "no key is varied: add --vary PATH=VALUES, or vary in [sweep]";
            return Err(PlanError::Together(message.into()));
        }
        let (axes, errors): (Vec<_>, Vec<_>) =
            vary.iter().map(|argument| Axis::parse(argument)).partition(Result::is_ok);
        let errors: Vec<VaryError> = errors.into_iter().filter_map(Result::err).collect();
        if !errors.is_empty() {
            return Err(PlanError::Vary(errors));
        }
        let axes = axes.into_iter().filter_map(Result::ok).collect();
        let zip = request.zip || base.zip && request.vary.is_empty();
        let runs = request.runs.unwrap_or(base.runs);
        Self::with(base, file, text, sets, axes, zip, runs)
    }

    /// Returns the sweep with varied keys instead of `--vary` arguments.
    ///
    /// # Errors
    /// The same errors as [`Plan::new`].
    pub fn from_axes(
        file: &str,
        text: &str,
        sets: &[String],
        axes: Vec<Axis>,
        zip: bool,
        runs: Option<u32>,
    ) -> Result<Self, PlanError> {
        let base = lasthop_scenario::sweep_base(file, text, sets)?;
        let runs = runs.unwrap_or(base.runs);
        Self::with(base, file, text, sets, axes, zip, runs)
    }

    fn with(
        base: SweepBase,
        file: &str,
        text: &str,
        sets: &[String],
        axes: Vec<Axis>,
        zip: bool,
        runs: u32,
    ) -> Result<Self, PlanError> {
        let attached = base.attached.iter().map(digest).collect::<Result<_, _>>()?;
        let plan = Self {
            file: file.to_owned(),
            text: text.to_owned(),
            sets: sets.to_vec(),
            axes,
            zip,
            runs,
            base,
            attached,
        };
        plan.check_axes().map_err(PlanError::Together)?;
        Ok(plan)
    }

    fn check_axes(&self) -> Result<(), String> {
        for (index, axis) in self.axes.iter().enumerate() {
            if self.axes[..index].iter().any(|other| other.path == axis.path) {
                return Err(format!("--vary {}: this key is varied twice", axis.path));
            }
            if axis.path == "sweep" || axis.path.starts_with("sweep.") {
                return Err(format!(
                    "--vary {}: this key describes the sweep, not a run",
                    axis.path
                ));
            }
        }
        let lengths = self.axes.iter().map(|axis| axis.values.len());
        if self.zip && lengths.clone().any(|length| length != self.axes[0].values.len()) {
            let said: Vec<String> = self
                .axes
                .iter()
                .map(|axis| format!("{} has {}", axis.path, axis.values.len()))
                .collect();
            let said = said.join(", ");
            return Err(format!("keys that are varied together need as many values: {said}"));
        }
        let combinations = if self.zip {
            Some(self.axes[0].values.len())
        } else {
            lengths.clone().try_fold(1_usize, usize::checked_mul)
        };
        let times = || lengths.map(|n| n.to_string()).collect::<Vec<_>>().join(" * ");
        match combinations {
            Some(n)
                if n <= COMBINATIONS_MAX && n.saturating_mul(self.runs as usize) <= RUNS_MAX =>
            {
                Ok(())
            }
            Some(n) if n <= COMBINATIONS_MAX => Err(format!(
                "{n} combinations with {} runs each: expected at most {RUNS_MAX} runs",
                self.runs
            )),
            _ => Err(format!("expected at most {COMBINATIONS_MAX} combinations, got {}", times())),
        }
    }

    /// Returns the keys that vary.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Whether values are taken together.
    pub fn zip(&self) -> bool {
        self.zip
    }

    /// Returns the user's name of the scenario file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the scenario file, as it is.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `--set` arguments before those of a combination.
    pub fn sets(&self) -> &[String] {
        &self.sets
    }

    /// Returns the scenario without varied keys, as text.
    pub fn base_text(&self) -> &str {
        &self.base.text
    }

    /// Other files of the scenario, with the SHA-256 of their content in hexadecimal.
    pub fn attached(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let paths = self.base.attached.iter().map(|path| path.display().to_string());
        paths.zip(self.attached.iter().cloned())
    }

    /// Runs of each combination.
    pub fn runs_each(&self) -> u32 {
        self.runs
    }

    /// Number of combinations.
    pub fn combinations(&self) -> usize {
        if self.zip {
            self.axes[0].values.len()
        } else {
            self.axes.iter().map(|axis| axis.values.len()).product()
        }
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.combinations() * self.runs as usize
    }

    /// Returns the run with this number, counted through all combinations.
    ///
    /// # Panics
    /// If the number is too high.
    pub fn task(&self, number: usize) -> Task {
        assert!(number < self.runs(), "there are {} runs", self.runs());
        let each = self.runs as usize;
        Task { combination: (number / each) as u32, run: (number % each) as u32 }
    }

    /// Returns the number of a run, counted through all combinations.
    pub fn number(&self, task: Task) -> usize {
        task.combination as usize * self.runs as usize + task.run as usize
    }

    /// Returns the values of a combination, one for each key; of the last key they change first.
    pub fn values(&self, combination: usize) -> Vec<&str> {
        if self.zip {
            return self.axes.iter().map(|axis| axis.values[combination].as_str()).collect();
        }
        let mut rest = combination;
        let mut values: Vec<&str> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let value = &axis.values[rest % axis.values.len()];
                rest /= axis.values.len();
                value.as_str()
            })
            .collect();
        values.reverse();
        values
    }

    /// Returns a combination in readable form.
    pub fn describe(&self, combination: usize) -> String {
        let values = self.values(combination);
        let pairs =
            self.axes.iter().zip(values).map(|(axis, value)| format!("{}={value}", axis.path));
        pairs.collect::<Vec<_>>().join(", ")
    }

    /// Returns the scenario of a combination.
    ///
    /// # Errors
    /// If the combination is impossible.
    pub fn scenario(&self, combination: usize) -> Result<Scenario, ScenarioError> {
        let values = self.values(combination);
        let varied =
            self.axes.iter().zip(values).map(|(axis, value)| format!("{}={value}", axis.path));
        let sets: Vec<String> = self.sets.iter().cloned().chain(varied).collect();
        lasthop_scenario::parse(&self.file, &self.text, &sets)
    }

    /// Reads the scenario of every combination and builds the initial state of its runs, on this
    /// number of threads, until `stop` is set.
    ///
    /// # Errors
    /// All impossible combinations.
    pub fn check(&self, threads: usize, stop: &AtomicBool) -> Result<(), Impossible> {
        let combinations = self.combinations();
        let next = AtomicUsize::new(0);
        let faults: Mutex<BTreeMap<String, (usize, usize)>> = Mutex::default();
        let wrong = AtomicUsize::new(0);
        let look = || {
            while !stop.load(Ordering::Relaxed) {
                let combination = next.fetch_add(1, Ordering::Relaxed);
                if combination >= combinations {
                    break;
                }
                let messages: Vec<String> = match self.scenario(combination) {
                    Err(error) => error.problems().iter().map(shown).collect(),
                    Ok(scenario) => match cannot_begin(&scenario) {
                        None => continue,
                        Some(why) => vec![why],
                    },
                };
                wrong.fetch_add(1, Ordering::Relaxed);
                let mut faults = faults.lock().expect("no thread panics with it");
                for message in messages {
                    let known = faults.len() < Impossible::FAULTS_MAX;
                    if let Some((count, first)) = faults.get_mut(&message) {
                        (*count, *first) = (*count + 1, combination.min(*first));
                    } else if known {
                        faults.insert(message, (1, combination));
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.min(combinations) {
                scope.spawn(look);
            }
            look();
        });
        let combinations_wrong = wrong.into_inner();
        if combinations_wrong == 0 {
            return Ok(());
        }
        let mut faults: Vec<_> =
            faults.into_inner().expect("no thread panicked with it").into_iter().collect();
        faults.sort_by_key(|(_, (_, first))| *first);
        let fault = |(message, (count, first))| (message, count, self.describe(first));
        Err(Impossible {
            combinations: combinations_wrong,
            of: combinations,
            faults: faults.into_iter().map(fault).collect(),
        })
    }

    /// Returns a column with all values for each key.
    pub fn columns(&self) -> Vec<(ValueColumn, Vec<Value>)> {
        let column = |axis: &Axis| {
            ValueColumn::for_values(&axis.path, axis.values.iter().map(String::as_str))
        };
        self.axes.iter().map(column).collect()
    }
}

impl Impossible {
    /// Largest number of problems listed.
    const FAULTS_MAX: usize = 50;
}

/// Returns the reason why no run of a scenario can begin, as far as it is known before. A bug of
/// lasthop is reported by each run.
fn cannot_begin(scenario: &Scenario) -> Option<String> {
    let checked = panic::catch_unwind(AssertUnwindSafe(|| lasthop_sim::check(scenario)));
    checked.ok()?.err().map(|why| why.to_string())
}

/// Returns a problem in the form of `--vary`.
fn shown(problem: &lasthop_scenario::Problem) -> String {
    match &problem.set {
        Some(set) => {
            let mut shown = set.clone();
            // The key is what the argument begins with, unless something inside is wrong.
            if !problem.key.is_empty() && !set.starts_with(&format!("{}=", problem.key)) {
                let _ = write!(shown, ": {}", problem.key);
            }
            format!("{shown}: {}", problem.message)
        }
        None => problem.to_string(),
    }
}

fn digest(path: &PathBuf) -> Result<String, PlanError> {
    let content = std::fs::read(path)
        .map_err(|why| PlanError::Together(format!("{}: {why}", path.display())))?;
    Ok(Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect())
}
