//! Makes the missing runs of a plan on threads, and passes on each result at once.

use crate::plan::{Plan, Task};
use crate::record::{Outcome, Record};
use lasthop_scenario::Scenario;
use lasthop_sim::RunError;
use lasthop_trace::{OutputDir, OutputError, Recorder};
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Duration of the work that a thread takes at a time: threads seldom meet, and none works long
/// alone at the end.
const TAKE: Duration = Duration::from_millis(20);
/// Interval at which `watch` is called even if no run ends.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Results waiting to be taken, for each thread.
const WAITING_MAX: usize = 256;

/// Settings for making runs.
#[derive(Clone, Debug)]
pub struct Engine<'a> {
    /// The plan of the runs.
    pub plan: &'a Plan,
    /// Number of threads, at least one.
    pub threads: usize,
    /// Folder for the series of each run, if any.
    pub series: Option<PathBuf>,
}

/// Progress that the engine reports.
pub enum Progress<'a> {
    /// A run ended: its result, and its line of the journal.
    Record(&'a Record, &'a str),
    /// The interval has passed without a result.
    Time,
}

impl Engine<'_> {
    /// Makes `tasks` and reports every result in order of arrival. Stops early when `watch` returns
    /// [`ControlFlow::Break`]; a stopped run has no result.
    ///
    /// # Errors
    /// If the series of a run cannot be written.
    pub fn make(
        &self,
        tasks: &[Task],
        watch: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<(), OutputError> {
        let stop = AtomicBool::new(false);
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::sync_channel(WAITING_MAX * self.threads);
        let mut failure = None;
        thread::scope(|scope| {
            for _ in 0..self.threads.min(tasks.len()) {
                let sender = sender.clone();
                let (stop, next) = (&stop, &next);
                scope.spawn(move || {
                    let mut worker = Worker { engine: self, stop, scenario: None };
                    let mut take = 1;
                    loop {
                        let first = next.fetch_add(take, Ordering::Relaxed);
                        if first >= tasks.len() {
                            break;
                        }
                        let taken = &tasks[first..tasks.len().min(first + take)];
                        let (begin, rest) = (now(), tasks.len() - first - taken.len());
                        for &task in taken {
                            let Some(result) = worker.make(task) else { return };
                            let is_failed = result.is_err();
                            let result = result.map(|record| {
                                let line = record.to_line();
                                (record, line)
                            });
                            if sender.send(result).is_err() || is_failed {
                                return;
                            }
                        }
                        let each = begin.elapsed() / taken.len() as u32;
                        let fair = (rest / (4 * self.threads)).max(1) as u32;
                        take = (TAKE.as_nanos() / each.as_nanos().max(1)).clamp(1, fair.into())
                            as usize;
                    }
                });
            }
            drop(sender);
            loop {
                let flow = match receiver.recv_timeout(LOOK_EVERY) {
                    Ok(Ok((record, line))) => watch(Progress::Record(&record, &line)),
                    Ok(Err(why)) => {
                        failure.get_or_insert(why);
                        ControlFlow::Break(())
                    }
                    Err(RecvTimeoutError::Timeout) => watch(Progress::Time),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if flow.is_break() {
                    // What is finished already is still taken.
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        failure.map_or(Ok(()), Err)
    }
}

/// A thread that makes runs.
struct Worker<'a> {
    engine: &'a Engine<'a>,
    stop: &'a AtomicBool,
    /// The scenario of the last run, and its combination.
    scenario: Option<(u32, Scenario)>,
}

impl Worker<'_> {
    /// Makes a run; `None` if it was stopped.
    fn make(&mut self, task: Task) -> Option<Result<Record, OutputError>> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let plan = self.engine.plan;
        let values = plan.values(task.combination as usize);
        let values = values.into_iter().map(str::to_owned).collect();
        let record = |outcome| Some(Ok(Record { values, run: task.run, outcome }));
        if self.scenario.as_ref().is_none_or(|(combination, _)| *combination != task.combination) {
            match plan.scenario(task.combination as usize) {
                Ok(scenario) => self.scenario = Some((task.combination, scenario)),
                Err(error) => return record(Outcome::Error(error.to_string())),
            }
        }
        let (_, scenario) = self.scenario.as_ref().expect("it was just read");
        let made = panic::catch_unwind(AssertUnwindSafe(|| self.run(scenario, task)));
        match made {
            Ok(Ok(document)) => record(Outcome::Document(Box::new(document))),
            Ok(Err(RunError::Stopped)) => None,
            Ok(Err(RunError::Output(why))) => Some(Err(why)),
            Ok(Err(RunError::Hosts(why))) => record(Outcome::Error(why.to_string())),
            Err(payload) => record(Outcome::Error(format!("panicked: {}", message_of(&*payload)))),
        }
    }

    fn run(&self, scenario: &Scenario, task: Task) -> Result<lasthop_trace::RunDocument, RunError> {
        let names = lasthop_sim::names(scenario);
        let recording = lasthop_sim::recording(scenario);
        let mut go_on = |_| {
            if self.stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let number = u64::from(task.run);
        let Some(top) = &self.engine.series else {
            return lasthop_sim::record(
                scenario,
                number,
                Recorder::new(names, recording),
                &mut go_on,
            );
        };
        let mut directory = OutputDir::create(top.join(self.folder(task)))?;
        let files = lasthop_sim::files(scenario, false, None);
        let recorder = Recorder::with_files(names, recording, &files, &mut directory)?;
        let document = lasthop_sim::record(scenario, number, recorder, &mut go_on)?;
        directory.commit()?;
        Ok(document)
    }

    /// `KEY=VALUE` for each key, then the run: names that readers of Parquet take as columns.
    fn folder(&self, task: Task) -> PathBuf {
        let plan = self.engine.plan;
        let values = plan.values(task.combination as usize);
        let keys = plan.axes().iter().zip(values);
        keys.map(|(axis, value)| format!("{}={}", escaped(&axis.path), escaped(value)))
            .chain([format!("run={}", task.run)])
            .collect()
    }
}

/// Replaces characters that a file name cannot have, as in an address.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '/' | '%' | '=' | '\0'..='\x1f' | '*' | '?' | ':' | '"' | '\\' => {
                escaped.push_str(&format!("%{:02X}", c as u32));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long runs take says how many are taken at a time"
)]
fn now() -> Instant {
    Instant::now()
}
