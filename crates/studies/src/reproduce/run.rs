//! Runs the scenarios of figures, several at a time, and each only once if several
//! figures read it. A run is a pure function of scenario and seed, and results are in
//! the order of the figures, so the number of threads changes only the time that it
//! takes.

use crate::reproduce::air::{self, Air};
use crate::reproduce::data::{RunData, Runs};
use crate::reproduce::figure::{Figure, Findings, Paper, Run};
use crate::reproduce::record::Recording;
use lasthop_scenario::{Scenario, ScenarioError};
use lasthop_sim::RunError;
use lasthop_trace::RunInfo;
use lasthop_units::{Instant, Seed};
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Why figures could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// A scenario is invalid.
    #[error(transparent)]
    Scenario(Box<ScenarioError>),
    /// A scenario could not be simulated.
    #[error("{path}: {why}")]
    Run {
        /// Path of the scenario file.
        path: &'static str,
        /// Why the run failed.
        why: RunError,
    },
    /// `stop` was set.
    #[error("stopped")]
    Stopped,
}

/// The result of a figure.
#[derive(Debug)]
pub struct Outcome {
    /// The paper with the figure.
    pub paper: &'static Paper,
    /// The figure that was made.
    pub figure: &'static Figure,
    /// Quantities and panels, read from the runs.
    pub findings: Findings,
    /// The runs that were read, of the first seed.
    pub runs: Vec<RunNote>,
}

/// Description of a run for pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunNote {
    /// Name of the run in the figure.
    pub name: String,
    /// Path of the scenario file.
    pub path: &'static str,
    /// Text of the scenario file.
    pub text: &'static str,
    /// Changes of the scenario, as after `--set`.
    pub sets: Vec<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of the run.
    pub number: u64,
}

/// Progress of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time of all runs so far, in ms.
    pub simulated_ms: u64,
    /// Simulated time of all runs at the end, in ms.
    pub total_ms: u64,
}

/// A run, different from all others, and its scenario.
struct Job {
    run: Run,
    scenario: Scenario,
}

impl Job {
    /// Simulated time in ms.
    fn millis(&self) -> u64 {
        self.scenario.duration.as_nanos() / 1_000_000
    }
}

/// Makes the figures, with at most `jobs` runs at a time. `progress` is called at
/// intervals, from several threads; setting `stop` ends all runs early.
///
/// # Errors
/// The error of the first run that fails, in the order of the figures.
///
/// # Panics
/// If a figure reads something that its runs do not have.
pub fn reproduce(
    figures: &[(&'static Paper, &'static Figure)],
    jobs: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<Outcome>, ReproduceError> {
    let (unique, wanted) = plan(figures)?;
    let results = run_all(&unique, jobs, stop, progress)?;
    let outcomes = figures.iter().zip(wanted).map(|(&(paper, figure), indices)| {
        let of_seed = indices.len() / paper.seeds as usize;
        let runs = indices[..of_seed].iter();
        let runs = runs.map(|(run, index)| note(run, &unique[*index].scenario)).collect();
        let read = |indices: &[(Run, usize)]| {
            let data = indices.iter().map(|(run, index)| (run.clone(), &results[*index]));
            (figure.read)(&Runs(data.collect()))
        };
        let findings = Findings::over_seeds(indices.chunks(of_seed).map(read).collect());
        Outcome { paper, figure, findings, runs }
    });
    Ok(outcomes.collect())
}

/// Cost of figures: their runs; a run of several figures counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Number of runs.
    pub runs: usize,
    /// Simulated time of all of them, in ms. Measurements may end earlier.
    pub simulated_ms: u64,
}

/// Cost of each figure alone, of each paper, and of all.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Cost of each figure, in their order.
    pub figures: Vec<Cost>,
    /// Cost of each paper, in the order of the papers.
    pub papers: Vec<(&'static Paper, Cost)>,
    /// Cost of all figures.
    pub all: Cost,
}

/// Returns the cost of `figures`, whose papers follow each other.
///
/// # Errors
/// If a scenario is invalid.
pub fn costs(figures: &[(&'static Paper, &'static Figure)]) -> Result<Costs, ReproduceError> {
    let (unique, wanted) = plan(figures)?;
    let of = |wanted: &[Vec<(Run, usize)>]| {
        let runs: BTreeSet<usize> = wanted.iter().flatten().map(|(_, index)| *index).collect();
        let simulated_ms = runs.iter().map(|&index| unique[index].millis()).sum();
        Cost { runs: runs.len(), simulated_ms }
    };
    let mut papers = Vec::new();
    let mut begin = 0;
    for paper in figures.chunk_by(|(one, _), (other, _)| one.key == other.key) {
        let end = begin + paper.len();
        papers.push((paper[0].0, of(&wanted[begin..end])));
        begin = end;
    }
    let figures = wanted.iter().map(|one| of(std::slice::from_ref(one))).collect();
    Ok(Costs { figures, papers, all: of(&wanted) })
}

/// Difference of the numbers of a run with one seed and with the next. Figures number their runs
/// below it.
const SEED_STEP: u64 = 1_000;

/// Of each figure its runs, seed by seed, and which of the jobs each is.
type Wanted = Vec<Vec<(Run, usize)>>;

/// The runs that figures need, each once, and which of them each figure reads.
fn plan(
    figures: &[(&'static Paper, &'static Figure)],
) -> Result<(Vec<Job>, Wanted), ReproduceError> {
    let mut unique: Vec<Job> = Vec::new();
    let mut wanted = Vec::new();
    for (paper, figure) in figures {
        let mut indices = Vec::new();
        let runs = (0..paper.seeds).flat_map(|seed| {
            let renumbered = move |run: Run| {
                let number = run.number + seed * SEED_STEP;
                run.number(number)
            };
            (figure.runs)().into_iter().map(renumbered)
        });
        for run in runs {
            let index = match unique.iter().position(|job| is_same(&job.run, &run)) {
                Some(index) => index,
                None => {
                    let scenario = scenario(&run)?;
                    unique.push(Job { run: run.clone(), scenario });
                    unique.len() - 1
                }
            };
            indices.push((run, index));
        }
        wanted.push(indices);
    }
    Ok((unique, wanted))
}

/// Returns the scenario of a run.
///
/// # Errors
/// If it is invalid.
pub fn scenario(run: &Run) -> Result<Scenario, ReproduceError> {
    lasthop_scenario::parse(run.file.path, run.file.text, &run.sets)
        .map_err(|why| ReproduceError::Scenario(Box::new(why)))
}

fn is_same(one: &Run, other: &Run) -> bool {
    let key = |run: &Run| (run.file.path, run.number, run.watch);
    key(one) == key(other) && one.sets == other.sets
}

fn note(run: &Run, scenario: &Scenario) -> RunNote {
    RunNote {
        name: run.name.clone(),
        path: run.file.path,
        text: run.file.text,
        sets: run.sets.clone(),
        seed: scenario.seed,
        number: run.number,
    }
}

/// Makes the runs; returns the results in the order of `jobs`.
fn run_all(
    jobs: &[Job],
    threads: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<RunData>, ReproduceError> {
    let total_ms = jobs.iter().map(Job::millis).sum();
    // The longest one first, so that none runs alone at the end.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(jobs[index].millis()));
    let next = AtomicUsize::new(0);
    let simulated = Mutex::new(0);
    let results = Mutex::new(jobs.iter().map(|_| None).collect::<Vec<_>>());
    let work = || {
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut reported = Instant::ZERO;
            let mut report = |now: Instant| {
                let more = (now - reported).as_nanos() / 1_000_000;
                reported = now;
                let mut simulated = simulated.lock().unwrap_or_else(|broken| broken.into_inner());
                *simulated += more;
                progress(Progress { simulated_ms: *simulated, total_ms });
            };
            let result = run_one(&jobs[index], stop, &mut report);
            match result {
                // Measurements may end early.
                Ok(_) => report(Instant::ZERO + jobs[index].scenario.duration),
                Err(_) => stop.store(true, Ordering::Relaxed),
            }
            results.lock().unwrap_or_else(|broken| broken.into_inner())[index] = Some(result);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(work);
        }
    });
    // After a failure, some runs are missing or stopped; the failure is what to return.
    let mut results = results.into_inner().unwrap_or_else(|broken| broken.into_inner());
    let failed = results.iter().position(
        |result| matches!(result, Some(Err(why)) if !matches!(why, ReproduceError::Stopped)),
    );
    if let Some(Some(Err(why))) = failed.map(|index| results[index].take()) {
        return Err(why);
    }
    results.into_iter().map(|result| result.unwrap_or(Err(ReproduceError::Stopped))).collect()
}

/// Makes a run, and analyses its air in another thread, if that is captured; `progress`
/// is called with the simulated time at intervals.
fn run_one(
    job: &Job,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Instant),
) -> Result<RunData, ReproduceError> {
    if job.run.watch.air == Air::Nothing {
        return record(job, std::io::empty(), stop, progress);
    }
    thread::scope(|scope| {
        let (writer, reader) = air::pipe();
        let analysis = scope.spawn(move || air::analyse(reader));
        // The capture ends with the run, also if that fails.
        let data = record(job, writer, stop, progress);
        let analysis = analysis.join().unwrap_or_else(|bug| std::panic::resume_unwind(bug));
        let data = data?;
        assert!(
            analysis.file.errors.is_empty(),
            "a capture of ours is sound: {:?}",
            analysis.file.errors
        );
        Ok(RunData { capture: Some(analysis), ..data })
    })
}

/// Makes a run, whose air is written to `target`, if it is captured.
fn record(
    job: &Job,
    target: impl Write + Send + 'static,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Instant),
) -> Result<RunData, ReproduceError> {
    let Job { run, scenario } = job;
    let failed = |why: RunError| match why {
        RunError::Stopped => ReproduceError::Stopped,
        why => ReproduceError::Run { path: run.file.path, why },
    };
    let mut sink = Recording::new(scenario, run.watch, target).map_err(|why| failed(why.into()))?;
    let mut progress = |now| {
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            progress(now);
            ControlFlow::Continue(())
        }
    };
    let seed = Seed::new(scenario.seed, run.number);
    let stats = lasthop_sim::simulate(scenario, seed, &mut sink, &mut progress);
    let stats = stats.map_err(failed)?;
    // A page does not depend on the wall time, and lists the changes itself.
    let info = RunInfo {
        set: Vec::new(),
        warnings: Vec::new(),
        ..lasthop_sim::info(scenario, run.number, 0.0)
    };
    let names = sink.recorder.names().clone();
    let (document, intervals) =
        sink.recorder.finish_with_intervals(&info, &stats).map_err(|why| failed(why.into()))?;
    Ok(RunData {
        scenario: scenario.clone(),
        document,
        names,
        intervals,
        capture: None,
        round_trips: sink.round_trips,
        measurements: sink.measurements,
    })
}

/// Makes one run without a figure.
#[cfg(test)]
pub(crate) fn alone(run: &Run, stop: &AtomicBool) -> Result<RunData, ReproduceError> {
    let job = Job { run: run.clone(), scenario: scenario(run)? };
    run_one(&job, stop, &mut |_| ())
}
