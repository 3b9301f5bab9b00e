//! `lasthop sweep`: what is printed while the runs of a sweep are made, and how it stops.
//! What a sweep is, is in the crate of that name.

use crate::args::{ScenarioArgs, Sweep};
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::scenario;
use crate::lab::simulate::{QUIET, wall_s};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lasthop_live::os::clock::Clock;
use lasthop_sweep::{Engine, Plan, Progress, Request, Store, StoreError};
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
/// Seconds between two times that the journal is given to the system.
const FLUSH_EVERY_S: f64 = 0.5;
/// Seconds after which the first runs say how long all take; earlier if each thread made some.
const ESTIMATE_AFTER_S: f64 = 1.0;
/// Runs of each thread that say so.
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
    let tasks = store.missing(&plan);
    console::error(&announced(&plan, args, tasks.len(), store.len(), threads));
    let series = args.series.then(|| folder.join("series"));
    let engine = Engine { plan: &plan, threads, series };
    let mut watch = Watch::new(&mut store, tasks.len(), &interrupt);
    let made = engine.make(&tasks, &mut |progress| watch.note(progress));
    let Watch { clock, done, failure, bar, .. } = watch;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    // Whatever happened, what is done is kept.
    let (there, failed) = (store.len(), store.failed());
    let finished = match failure {
        Some(failure) => Err(failure),
        None => store.finish(),
    };
    finished.map_err(Failure::message)?;
    made.map_err(Failure::message)?;
    if interrupt.came() {
        let left = tasks.len() - done;
        console::error(&format!(
            "{done} runs made, {left} are missing; the same command goes on with them\n"
        ));
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
            "wall_s": (wall_s * 1e6).round() / 1e6,
        });
        console::print(&format!("{document:#}\n"))?;
    } else {
        console::print(&report(folder, args, done, there, failed, wall_s))?;
    }
    Ok(if failed > 0 { RUN_FAILED } else { 0 })
}

fn merge(folder: &Path, is_json: bool) -> Result<u8, Failure> {
    let (runs, asked) = lasthop_sweep::merge(folder).map_err(Failure::message)?;
    let missing = asked.saturating_sub(runs as u64);
    if missing > 0 {
        console::error(&format!("{missing} of {asked} runs that were asked for are missing\n"));
    }
    let folder = folder.display();
    console::print(&match is_json {
        true => format!("{:#}\n", json!({ "out": folder.to_string(), "runs": runs })),
        false => format!("{runs} runs in {folder}/runs.parquet and the tables beside it\n"),
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

/// Looks at every combination; an interrupt ends it.
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

/// What will be done.
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
        there => format!(", {there} are there"),
    };
    format!(
        "{combinations} combinations of {}, {each} runs each: {} runs{shard}{there}; {missing} to make on {} threads\n",
        keys.join(", "),
        plan.runs(),
        threads.min(missing.max(1)),
    )
}

fn report(
    folder: &Path,
    args: &Sweep,
    done: usize,
    there: usize,
    failed: usize,
    wall_s: f64,
) -> String {
    let part =
        args.shard.map_or(String::new(), |shard| format!(".{}-of-{}", shard.number, shard.of));
    let failed = match failed {
        0 => String::new(),
        failed => format!("{failed} runs failed: see the column error of runs{part}.parquet\n"),
    };
    let folder = folder.display();
    let page = match args.shard {
        Some(_) => String::new(),
        None => format!("curves with confidence intervals: {folder}/index.html\n"),
    };
    format!(
        "{failed}{done} runs made in {wall_s:.1} s; {there} in {folder}/runs{part}.parquet and the tables beside it\n{page}"
    )
}

/// Takes results and shows how far it is.
struct Watch<'a> {
    store: &'a mut Store,
    interrupt: &'a Interrupt,
    clock: Clock,
    done: usize,
    total: usize,
    flushed_s: f64,
    is_estimated: bool,
    bar: Option<ProgressBar>,
    failure: Option<StoreError>,
}

impl<'a> Watch<'a> {
    fn new(store: &'a mut Store, total: usize, interrupt: &'a Interrupt) -> Self {
        Self {
            store,
            interrupt,
            clock: Clock::start(),
            done: 0,
            total,
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
        match self.interrupt.came() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn show(&mut self, now_s: f64) {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let is_known =
            self.done >= ESTIMATE_AFTER_RUNS * threads || self.done > 0 && now_s > ESTIMATE_AFTER_S;
        if !self.is_estimated && is_known {
            self.is_estimated = true;
            let all_s = now_s / self.done as f64 * self.total as f64;
            let memory = memory_mb().map_or(String::new(), |mb| format!(" and {mb:.0} MB"));
            console::error(&format!("about {}{memory}\n", shown_duration(all_s)));
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

/// A time in the unit that a person would say.
fn shown_duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// The most memory that this process had so far, in MB (10^6 bytes).
fn memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    Some(kib * 1_024.0 / 1e6)
}
