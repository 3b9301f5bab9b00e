//! `lasthop simulate`: runs of a scenario in virtual time, on all cores. Every run is a pure
//! function of scenario, seed and run number, and results are in the order of that number, so the
//! number of threads changes only the elapsed time.

use crate::args::Simulate;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::page;
use crate::lab::perfetto;
use crate::lab::report::{self, wrong};
use crate::lab::scenario;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lasthop_linux::clock::Clock;
use lasthop_report::advice;
use lasthop_report::remedy::Remedies;
use lasthop_report::trial::{OF_SEVERAL, Trials};
use lasthop_scenario::Scenario;
use lasthop_sim::RunError;
use lasthop_trace::{
    Files, NodeFrames, OutputDir, OutputLock, PartFile, Recorder, RunDocument, RunSet,
    replace_earlier,
};
use lasthop_units::{Duration, Instant};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time;

/// Shortest duration of work for which a progress bar is shown.
pub const QUIET: Duration = Duration::from_secs(2);
/// Largest number of packets and MPDUs that trials of remedies send together: they need a second or
/// two, for which a user waits.
const TRIED_PACKETS_MAX: u64 = 400_000;
/// Interval between redraws of the bar, and between checks for signals.
const LOOK_EVERY: time::Duration = time::Duration::from_millis(50);

/// Runs the command; returns the exit status.
pub fn simulate(args: &Simulate) -> Result<u8, Failure> {
    let interrupt = Interrupt::catch()?;
    let scenario = scenario::load(&args.scenario, &args.scenario.sets())?;
    args.expected.check(&scenario, false)?;
    let _lock = lock(args.output.out.as_deref())?;
    let mut top =
        args.output.out.as_ref().map(OutputDir::create).transpose().map_err(Failure::message)?;
    if !scenario.programs.is_empty() {
        console::error("note: the programs under [[run]] run under `emulate` only\n");
    }
    let (file, perfetto) = match &args.output.perfetto {
        Some(_) if args.runs > 1 => {
            let runs = args.runs;
            return Err(Failure::Message(format!(
                "--perfetto takes a single run, got --runs {runs}"
            )));
        }
        Some(path) => perfetto::begin(path).map(|(file, named)| (Some(file), Some(named)))?,
        None => (None, None),
    };
    let batch = Batch::new(&scenario, args, file);
    let finished = batch.run_all(&interrupt, &mut top)?;

    let (documents, directories): (Vec<_>, Vec<_>) = finished.into_iter().unzip();
    let mut set = RunSet::new(documents);
    let trials = match &mut set.runs[..] {
        [only] if !args.output.json => {
            let text = &scenario.source_text;
            let trials = Trials::of_fresh(only, text, TRIED_PACKETS_MAX, &mut page::simulated);
            advice::note(only, &mut Remedies::new(text), &trials);
            trials
        }
        _ => untried(args),
    };
    interrupt.check()?;
    // With many nodes and runs it is most of what no other core does: not for a table.
    let is_needed = top.is_some() || args.output.json;
    let json = if is_needed { set.to_json() } else { String::new() };
    let mut named = String::new();
    if let Some(mut top) = top {
        if let ([only], 1) = (&set.runs[..], args.runs) {
            top.write("run.json", only.to_json().as_bytes()).map_err(Failure::message)?;
        }
        top.write("runs.json", json.as_bytes()).map_err(Failure::message)?;
        top.write("scenario.toml", scenario.source_text.as_bytes()).map_err(Failure::message)?;
        interrupt.check()?;
        let (path, mut written) = (top.path().to_owned(), top.files());
        for directory in directories.into_iter().flatten() {
            written.extend(directory.files());
            directory.commit().map_err(Failure::message)?;
        }
        top.commit().map_err(Failure::message)?;
        let page = page::add(&path, &trials)?;
        written.push(page.clone());
        replace_earlier(&path, &written).map_err(Failure::message)?;
        named = page::named(&page, Stream::Output);
    }
    if let Some(perfetto) = perfetto {
        perfetto.commit().map_err(Failure::message)?;
    }
    let judged = args.expected.judge(&set.runs);
    if args.output.json {
        console::print(&json)?;
        return args.expected.report(judged.as_ref(), Stream::Error, false);
    }
    let text = match &set.runs[..] {
        [only] => {
            let found = wrong::of_run(only, "", Stream::Output);
            report::run(only, &found, Stream::Output)
        }
        runs => {
            let found = wrong::of_set(runs, "", Stream::Output);
            report::run_set(&set, &found, Stream::Output)
        }
    };
    console::print(&(text + &named))?;
    args.expected.report(judged.as_ref(), Stream::Output, false)
}

/// Returns no trials, with the reason, if the command makes none.
fn untried(args: &Simulate) -> Trials {
    Trials::none(match args.runs {
        1 => "simulate --json tries none; with --out DIR, lasthop report DIR does",
        _ => OF_SEVERAL,
    })
}

/// Locks the directory of `--out` against other commands, until dropped.
pub fn lock(out: Option<&Path>) -> Result<Option<OutputLock>, Failure> {
    out.map(OutputLock::exclusive).transpose().map_err(Failure::message)
}

/// Runs of one command.
struct Batch<'a> {
    scenario: &'a Scenario,
    args: &'a Simulate,
    next: AtomicU32,
    /// Simulated time of all runs so far, in ns.
    simulated_ns: AtomicU64,
    stop: AtomicBool,
    /// File of a single run, until the run takes it.
    perfetto: Mutex<Option<PartFile>>,
    remedies: Mutex<Remedies<'a>>,
}

/// Document of a run, and the temporary directory with its files.
type Finished = (RunDocument, Option<OutputDir>);

impl<'a> Batch<'a> {
    fn new(scenario: &'a Scenario, args: &'a Simulate, perfetto: Option<PartFile>) -> Self {
        Self {
            scenario,
            args,
            next: AtomicU32::new(0),
            simulated_ns: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            perfetto: Mutex::new(perfetto),
            remedies: Mutex::new(Remedies::new(&scenario.source_text)),
        }
    }

    /// Makes the runs; returns them in the order of their numbers. A single run writes into `top`
    /// itself, several into one directory each inside it.
    fn run_all(
        &self,
        interrupt: &Interrupt,
        top: &mut Option<OutputDir>,
    ) -> Result<Vec<Finished>, Failure> {
        let runs = self.args.runs;
        let cores = || thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let threads = self.args.threads.unwrap_or_else(cores).min(runs);
        let mut results: Vec<Option<Result<Finished, Failure>>> = (0..runs).map(|_| None).collect();
        let mut bar = None;
        let clock = Clock::start();
        let parent = top.as_ref().filter(|_| runs > 1).map(|top| top.path().to_owned());
        let mut only = top.as_mut().filter(|_| runs == 1);
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..threads {
                let sender = sender.clone();
                let parent = parent.as_deref();
                let mut only = only.take();
                scope.spawn(move || {
                    while let Some(run) = self.take_run() {
                        let result = self.run_in(run, parent, only.as_deref_mut());
                        if result.is_err() {
                            self.stop.store(true, Ordering::Relaxed);
                        }
                        if sender.send((run, result)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(LOOK_EVERY) {
                    Ok((run, result)) => results[run as usize] = Some(result),
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
                if interrupt.came() {
                    self.stop.store(true, Ordering::Relaxed);
                }
                if clock.now() - Instant::ZERO >= QUIET {
                    let bar = bar.get_or_insert_with(|| self.bar());
                    bar.set_position(self.simulated_ns.load(Ordering::Relaxed) / 1_000_000);
                }
            }
        });
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        interrupt.check()?;
        // After a failure, some runs are missing or stopped; the failure is what to
        // return.
        let mut results: Vec<_> = results.into_iter().flatten().collect();
        let failure = |result: &Result<Finished, Failure>| {
            result.as_ref().is_err_and(|failure| !matches!(failure, Failure::Stopped))
        };
        match results.iter().position(failure) {
            Some(first) => results.swap_remove(first).map(|finished| vec![finished]),
            None => results.into_iter().collect(),
        }
    }

    fn take_run(&self) -> Option<u32> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let run = self.next.fetch_add(1, Ordering::Relaxed);
        (run < self.args.runs).then_some(run)
    }

    fn run_in(
        &self,
        run: u32,
        parent: Option<&Path>,
        only: Option<&mut OutputDir>,
    ) -> Result<Finished, Failure> {
        let Some(parent) = parent else {
            return Ok((self.run(run, only)?, None));
        };
        let path = parent.join(format!("run-{run}"));
        let mut directory = OutputDir::create(path).map_err(Failure::message)?;
        let document = self.run(run, Some(&mut directory))?;
        directory.write("run.json", document.to_json().as_bytes()).map_err(Failure::message)?;
        Ok((document, Some(directory)))
    }

    fn run(&self, number: u32, directory: Option<&mut OutputDir>) -> Result<RunDocument, Failure> {
        let scenario = self.scenario;
        let names = lasthop_sim::names(scenario);
        let recording = lasthop_sim::recording(scenario);
        let recorder = match directory {
            Some(directory) => {
                let events = self.args.events || self.args.runs == 1;
                let captures = self.args.output.pcap.then_some(NodeFrames::MadeUp);
                let files = lasthop_sim::files(scenario, events, captures);
                let files = Files { cut: files.cut && !self.args.payload, ..files };
                Recorder::with_files(names, recording, &files, directory)
                    .map_err(Failure::message)?
            }
            None => Recorder::new(names, recording),
        };
        let perfetto = self.perfetto.lock().unwrap_or_else(PoisonError::into_inner).take();
        let recorder = match perfetto {
            Some(file) => recorder.with_perfetto(file).map_err(Failure::message)?,
            None => recorder,
        };
        let mut reported = Instant::ZERO;
        let asked = self.args.scenario.asked();
        let mut document = run(&asked, scenario, u64::from(number), recorder, &mut |now| {
            self.simulated_ns.fetch_add((now - reported).as_nanos(), Ordering::Relaxed);
            reported = now;
            if self.stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        advice::note(
            &mut document,
            &mut self.remedies.lock().unwrap_or_else(PoisonError::into_inner),
            &untried(self.args),
        );
        Ok(document)
    }

    fn bar(&self) -> ProgressBar {
        let runs = u64::from(self.args.runs);
        let total_ms = self.scenario.duration.as_nanos() / 1_000_000 * runs;
        let bar = ProgressBar::with_draw_target(Some(total_ms), ProgressDrawTarget::stderr());
        let total_s = total_ms as f64 / 1e3;
        let style = ProgressStyle::with_template("  {bar:40} {percent:>3} % of {msg}  {eta} left")
            .expect("the template is right")
            .progress_chars("=> ");
        bar.set_style(style);
        bar.set_message(match runs {
            1 => format!("{total_s} s"),
            _ => format!("{runs} runs, {total_s} s"),
        });
        if !console::is_progress_wanted() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar
    }
}

/// Makes a run of the scenario in `file`. Calls `progress` with the simulated time at intervals,
/// which may stop the run.
pub fn run(
    file: &Path,
    scenario: &Scenario,
    number: u64,
    recorder: Recorder,
    progress: lasthop_sim::Progress<'_>,
) -> Result<RunDocument, Failure> {
    lasthop_sim::record(scenario, number, recorder, progress).map_err(|why| match why {
        RunError::Stopped => Failure::Stopped,
        RunError::Output(why) => Failure::message(why),
        RunError::Hosts(why) => Failure::Message(format!("{}: {why}", scenario::label(file))),
    })
}

/// Returns the seconds since `clock` was started.
pub fn wall_s(clock: Clock) -> f64 {
    (clock.now() - Instant::ZERO).as_secs_f64()
}
