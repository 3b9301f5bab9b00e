//! `lasthop sweep`: output during the runs of a sweep, and its interruption. The crate `sweep` has
//! everything else.

use crate::args::{ScenarioArgs, Sweep};
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::scenario;
use crate::lab::simulate::{QUIET, wall_s};
use crate::table::counted;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lasthop_linux::clock::Clock;
use lasthop_report::sweep;
use lasthop_sweep::{Engine, FailedRuns, Merged, Plan, Progress, Request, Store, StoreError, Task};
use lasthop_units::Instant;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time;

/// Exit status if a run failed.
const RUN_FAILED: u8 = 1;
/// Seconds between two flushes of the journal.
const FLUSH_EVERY_S: f64 = 0.5;
/// Largest number of printed reasons of failed runs.
const ERRORS_SHOWN: usize = 8;
/// Seconds after which one run of each thread gives an estimate of the total time; earlier if each
/// thread made more runs.
const ESTIMATE_AFTER_S: f64 = 1.0;
/// Number of runs of each thread that give the estimate earlier.
const ESTIMATE_AFTER_RUNS: usize = 3;

/// Runs the command; returns its status.
pub fn sweep(args: &Sweep) -> Result<u8, Failure> {
    let interrupt = Interrupt::catch()?;
    if let Some(folder) = &args.merge {
        return merge(folder, args.json);
    }
    let (Some(scenario), Some(folder)) = (&args.scenario, &args.out) else {
        return Err(Failure::message("expected a scenario, and --out DIR"));
    };
    let plan = plan(args, scenario)?;
    let threads = args.threads.map_or_else(
        || thread::available_parallelism().map_or(1, usize::from),
        |threads| threads as usize,
    );
    check(&plan, threads, &interrupt)?;
    let mut store =
        Store::open(folder, &plan, args.shard, args.series).map_err(Failure::message)?;
    let mut tasks = store.missing(&plan);
    spread(&mut tasks, ESTIMATE_AFTER_RUNS * threads);
    if store.damaged() > 0 {
        let (lines, are) = (counted(store.damaged(), "line"), were(store.damaged()));
        let runs = if store.damaged() == 1 { "its run is" } else { "their runs are" };
        console::error(&format!("{lines} of the journal {are} damaged: {runs} made again\n"));
    }
    console::error(&announced(&plan, args, tasks.len(), store.len(), threads));
    let series = args.series.then(|| folder.join("series"));
    let engine = Engine { plan: &plan, threads, series };
    let mut watch = SweepWatch::new(&mut store, tasks.len(), threads, &interrupt);
    let made = engine.make(&tasks, &mut |progress| watch.note(progress));
    let SweepWatch { clock, done, failure, bar, .. } = watch;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    // Finished runs are kept in any case.
    let (there, failed) = (store.len(), store.failed());
    let failures = store.failures().map_err(Failure::message)?;
    let finished = match failure {
        Some(failure) => Err(failure),
        None => store.finish(sweep::page),
    };
    finished.map_err(Failure::message)?;
    made.map_err(Failure::message)?;
    if interrupt.came() {
        let left = tasks.len() - done;
        let made = counted(done, "run");
        let are = if left == 1 { "is" } else { "are" };
        console::error(&format!("{made} made, {left} {are} missing; the same command resumes\n"));
        interrupt.check()?;
    }
    let wall_s = wall_s(clock);
    if args.json {
        let document = json!({
            "out": folder.display().to_string(),
            "combinations": plan.combinations(),
            "runs": there,
            "runs_made": done,
            "runs_failed": failed,
            "errors": failures.iter().map(|one| json!({
                "error": one.error,
                "runs": one.runs,
                "first": one.first,
            })).collect::<Vec<_>>(),
            "wall_s": (wall_s * 1e6).round() / 1e6,
        });
        console::print(&format!("{document:#}\n"))?;
    } else {
        console::print(&report(folder, args, done, there, &failures, wall_s))?;
    }
    Ok(if failed > 0 { RUN_FAILED } else { 0 })
}

fn merge(folder: &Path, is_json: bool) -> Result<u8, Failure> {
    let Merged { runs, asked, damaged } =
        lasthop_sweep::merge(folder, sweep::page).map_err(Failure::message)?;
    if damaged > 0 {
        let lines = counted(damaged, "line");
        console::error(&format!("{lines} of the journals {} left out: damaged\n", were(damaged)));
    }
    let missing = asked.saturating_sub(runs as u64);
    if missing > 0 {
        let of = counted(asked as usize, "run");
        let are = if missing == 1 { "is" } else { "are" };
        console::error(&format!(
            "{missing} of {of} that {} asked for {are} missing\n",
            were(asked as usize)
        ));
    }
    let folder = folder.display();
    console::print(&if is_json {
        format!("{:#}\n", json!({ "out": folder.to_string(), "runs": runs }))
    } else {
        format!("{} in {folder}/runs.parquet and the tables beside it\n", counted(runs, "run"))
    })?;
    Ok(0)
}

fn plan(args: &Sweep, asked: &ScenarioArgs) -> Result<Plan, Failure> {
    let text = scenario::read_text(asked)?;
    let request = Request { vary: args.vary.clone(), zip: args.zip, runs: args.runs };
    let asked_for = asked.asked();
    let file = scenario::label(&asked_for);
    Plan::new(&file, &text, &asked.sets(), &request).map_err(|error| match error {
        lasthop_sweep::PlanError::Scenario(error) => Failure::from(error),
        error => Failure::message(error),
    })
}

/// Checks every combination; an interrupt ends the check.
fn check(plan: &Plan, threads: usize, interrupt: &Interrupt) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let (done, looked) = (AtomicBool::new(false), &stop);
    let checked = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if interrupt.came() {
                    looked.store(true, Ordering::Relaxed);
                }
                thread::park_timeout(time::Duration::from_millis(20));
            }
        });
        let checked = plan.check(threads, &stop);
        done.store(true, Ordering::Relaxed);
        checked
    });
    interrupt.check()?;
    checked.map_err(Failure::message)
}

/// Returns the announcement of the sweep.
fn announced(plan: &Plan, args: &Sweep, missing: usize, there: usize, threads: usize) -> String {
    let axes = plan.axes().iter();
    let keys: Vec<String> =
        axes.map(|axis| format!("{} ({})", axis.path, axis.values.len())).collect();
    let (combinations, each) = (plan.combinations(), plan.runs_each());
    let shard = args.shard.map_or(String::new(), |shard| {
        format!(", part {} of {} of them here", shard.number, shard.of)
    });
    let there = match there {
        0 => String::new(),
        1 => ", 1 is there".into(),
        there => format!(", {there} are there"),
    };
    format!(
        "{} of {}, {} each: {}{shard}{there}; {missing} to make on {}\n",
        counted(combinations, "combination"),
        keys.join(", "),
        counted(each as usize, "run"),
        counted(plan.runs(), "run"),
        counted(threads.min(missing.max(1)), "thread"),
    )
}

fn report(
    folder: &Path,
    args: &Sweep,
    done: usize,
    there: usize,
    failures: &[FailedRuns],
    wall_s: f64,
) -> String {
    let part =
        args.shard.map_or(String::new(), |shard| format!(".{}-of-{}", shard.number, shard.of));
    let failed = failed(failures, &part);
    let folder = folder.display();
    let page = match args.shard {
        Some(_) => String::new(),
        None => format!("curves with confidence intervals: {folder}/index.html\n"),
    };
    format!(
        "{failed}{} made in {wall_s:.1} s; {there} in {folder}/runs{part}.parquet and the tables beside it\n{page}",
        counted(done, "run")
    )
}

/// Returns the reasons of failed runs, each once.
fn failed(failures: &[FailedRuns], part: &str) -> String {
    let all: usize = failures.iter().map(|one| one.runs).sum();
    if all == 0 {
        return String::new();
    }
    let mut out = format!("{} failed:\n", counted(all, "run"));
    for FailedRuns { error, runs, first } in failures.iter().take(ERRORS_SHOWN) {
        let which = match runs {
            1 => format!("with {first}"),
            runs => format!("{runs} runs, the first with {first}"),
        };
        out.push_str(&format!("  {error} ({which})\n"));
    }
    if failures.len() > ERRORS_SHOWN {
        let others = failures.len() - ERRORS_SHOWN;
        out.push_str(&format!("  and {others} more: the column error of runs{part}.parquet\n"));
    }
    out
}

fn were(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// Moves `first` runs that represent all to the beginning: their durations give an estimate of the
/// total. The middle run comes first, then those at the quarters, and so on: combinations are in
/// the order of their values, with which the duration of a run grows or shrinks.
fn spread(tasks: &mut Vec<Task>, first: usize) {
    if tasks.len() <= first {
        return;
    }
    let places = (1..).map(|number| (van_der_corput(number) * tasks.len() as f64) as usize);
    let mut chosen: Vec<usize> = Vec::with_capacity(first);
    for place in places.take(2 * first) {
        if chosen.len() < first && !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    let mut sample: Vec<Task> = chosen.iter().map(|&place| tasks[place]).collect();
    let mut place = 0..;
    tasks.retain(|_| !chosen.contains(&place.next().expect("it has no end")));
    sample.append(tasks);
    *tasks = sample;
}

/// Reverses the digits of `number` in base 2 behind the point: numbers between 0 and 1, of which
/// any first ones are spread evenly.
fn van_der_corput(number: u32) -> f64 {
    f64::from(number.reverse_bits()) / 2_f64.powi(32)
}

/// Collects results and shows the progress.
struct SweepWatch<'a> {
    store: &'a mut Store,
    interrupt: &'a Interrupt,
    clock: Clock,
    done: usize,
    total: usize,
    /// Number of parallel runs.
    threads: usize,
    flushed_s: f64,
    is_estimated: bool,
    bar: Option<ProgressBar>,
    failure: Option<StoreError>,
}

impl<'a> SweepWatch<'a> {
    fn new(store: &'a mut Store, total: usize, threads: usize, interrupt: &'a Interrupt) -> Self {
        Self {
            store,
            interrupt,
            clock: Clock::start(),
            done: 0,
            total,
            threads,
            flushed_s: 0.0,
            is_estimated: false,
            bar: None,
            failure: None,
        }
    }

    fn note(&mut self, progress: Progress<'_>) -> ControlFlow<()> {
        if self.failure.is_some() {
            return ControlFlow::Break(());
        }
        let mut kept = Ok(());
        if let Progress::Record(record, line) = progress {
            self.done += 1;
            kept = self.store.append(record, line);
        }
        let now_s = wall_s(self.clock);
        if kept.is_ok() && now_s > self.flushed_s + FLUSH_EVERY_S {
            self.flushed_s = now_s;
            kept = self.store.flush();
        }
        if let Err(failure) = kept {
            self.failure = Some(failure);
            return ControlFlow::Break(());
        }
        self.show(now_s);
        if self.interrupt.came() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn show(&mut self, now_s: f64) {
        let threads = self.threads;
        let is_known = self.done >= ESTIMATE_AFTER_RUNS * threads
            || self.done >= threads.min(self.total) && now_s > ESTIMATE_AFTER_S;
        if !self.is_estimated && is_known {
            self.is_estimated = true;
            // Runs in progress are half done on average.
            let underway = threads.min(self.total - self.done) as f64 / 2.0;
            let all_s = now_s / (self.done as f64 + underway) * self.total as f64;
            let memory = memory_mb().map_or(String::new(), |mb| format!(" and {mb:.0} MB"));
            console::error(&format!("about {} in all{memory}\n", shown_duration(all_s)));
        }
        if self.clock.now() - Instant::ZERO >= QUIET {
            let total = self.total;
            let bar = self.bar.get_or_insert_with(|| bar(total));
            bar.set_position(self.done as u64);
        }
    }
}

fn bar(total: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("  {bar:40} {pos} of {len} runs  {eta} left")
        .expect("the template is right")
        .progress_chars("=> ");
    bar.set_style(style);
    if !console::is_progress_wanted() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}

/// Formats a time in a suitable unit.
pub fn shown_duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// Returns the peak memory of this process so far, in MB (10^6 bytes).
fn memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    Some(kib * 1_024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With runs of increasing duration, the first ones have the mean duration of all.
    #[test]
    fn the_first_runs_stand_for_all() {
        let task = |combination| Task { combination, run: 0 };
        for (all, first) in [(1_000, 6), (100, 12), (40, 24), (7, 6)] {
            let mut tasks: Vec<Task> = (0..all).map(task).collect();
            spread(&mut tasks, first);
            let cost = |tasks: &[Task]| {
                let sum: f64 = tasks.iter().map(|task| f64::from(task.combination)).sum();
                sum / tasks.len() as f64
            };
            for taken in [first / 2, first] {
                let off = cost(&tasks[..taken]) / cost(&tasks) - 1.0;
                assert!(off.abs() < 0.25, "{taken} of {all}: off by {off}");
            }
            tasks.sort();
            assert_eq!(tasks, (0..all).map(task).collect::<Vec<_>>());
        }
        let mut few: Vec<Task> = (0..3).map(task).collect();
        spread(&mut few, 6);
        assert_eq!(few, (0..3).map(task).collect::<Vec<_>>());
    }

    #[test]
    fn each_reason_is_told_once() {
        let one = |error: &str, runs| FailedRuns {
            error: error.into(),
            runs,
            first: "node.sta.count=2".into(),
        };
        assert_eq!(failed(&[], ""), "");
        assert_eq!(
            failed(&[one("no room", 1)], ""),
            "1 run failed:\n  no room (with node.sta.count=2)\n"
        );
        let many: Vec<FailedRuns> = (0..10).map(|n| one(&n.to_string(), 2)).collect();
        let text = failed(&many, ".1-of-2");
        assert!(text.starts_with("20 runs failed:\n  0 (2 runs, the first with"), "{text}");
        assert!(text.ends_with("and 2 more: the column error of runs.1-of-2.parquet\n"), "{text}");
    }
}
