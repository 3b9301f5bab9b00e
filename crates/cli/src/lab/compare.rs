//! `lasthop compare`: the scenario in virtual time and in real time, side by side, with several
//! runs of each. For a TCP flow this compares lasthop's TCP with the kernel's over the same hop.
//! The simulation runs without small queues, because the kernel's have no effect behind a TAP
//! device. With a measurement (`with`) nothing is emulated.

mod with;

use crate::args::Compare;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::emulate::{self, Show};
use crate::lab::page;
use crate::lab::scenario;
use crate::lab::simulate;
use crate::table::{self, alone, number, text, value};
use lasthop_emulate::EmulateOptions;
use lasthop_report::advice;
use lasthop_report::remedy::Remedies;
use lasthop_report::trial::{OF_SEVERAL, Trials};
use lasthop_scenario::Scenario;
use lasthop_trace::{
    Comparison, FlowComparison, NodeComparison, OutputDir, Pair, Recorder, RunDocument, RunSet,
    replace_earlier,
};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Note on TCP small queues, which have no effect behind a TAP device.
const SMALL_QUEUES_NOTE: &str = "  simulated without TCP small queues: a TAP device takes packets \
                                 from the kernel's at once\n";

/// Runs the command.
pub fn compare(args: &Compare) -> Result<(), Failure> {
    if let Some(file) = &args.with {
        return with::with(args, file);
    }
    let interrupt = Interrupt::catch()?;
    let mut sets = args.scenario.sets();
    sets.extend(args.duration.map(|duration| format!("duration=\"{duration}\"")));
    let scenario = scenario::load(&args.scenario, &sets)?;
    let runs = u64::from(args.runs);
    let as_kernel = scenario.clone().without_small_queues();
    let _lock = simulate::lock(args.out.as_deref())?;
    let mut files =
        args.out.as_deref().map(|out| ComparedFiles::create(out, args.runs)).transpose()?;
    let mut simulated = Vec::new();
    for run in 0..runs {
        let into = files.as_mut().map(|files| files.run("simulated", run)).transpose()?;
        simulated.push(simulate_one(args, &as_kernel, run, into, &interrupt)?);
    }
    if console::is_progress_wanted() {
        let length = alone(scenario.duration.as_secs_f64() * runs as f64);
        console::error(&format!("emulating for {length} s ..\n"));
    }
    let mut emulated = Vec::new();
    for run in 0..runs {
        let into = files.as_mut().map(|files| files.run("emulated", run)).transpose()?;
        emulated.push(emulate_one(&scenario, run, into, &interrupt)?);
    }
    let comparison =
        Comparison::new(&simulated, &emulated).expect("there is at least one run of each");
    let page = match files {
        Some(files) => {
            let sides = [("simulated", simulated), ("emulated", emulated)];
            Some(files.commit(&comparison, sides, &scenario.source_text, &interrupt)?)
        }
        None => None,
    };
    if args.json {
        return console::print(&comparison.to_json());
    }
    let named = page.map_or(String::new(), |page| page::named(&page, Stream::Output));
    console::print(&(report(&comparison, &scenario, Stream::Output) + &named))
}

/// The files of `--out`. The folders `simulated` and `emulated` have the files of a run, or of
/// several as `simulate --runs` writes them; beside them are `comparison.json`, `scenario.toml` and
/// the page.
struct ComparedFiles {
    top: OutputDir,
    /// Directories of the runs, in their order.
    runs: Vec<OutputDir>,
    is_single: bool,
}

impl ComparedFiles {
    fn create(path: &Path, runs: u32) -> Result<Self, Failure> {
        let top = OutputDir::create(path).map_err(Failure::message)?;
        Ok(Self { top, runs: Vec::new(), is_single: runs == 1 })
    }

    /// Makes the directory of a run of one side.
    fn run(&mut self, side: &str, run: u64) -> Result<&mut OutputDir, Failure> {
        let side = self.top.path().join(side);
        let path = if self.is_single { side } else { side.join(format!("run-{run}")) };
        self.runs.push(OutputDir::create(path).map_err(Failure::message)?);
        Ok(self.runs.last_mut().expect("it was pushed"))
    }

    /// Writes the documents, gives all files their names, and adds the page; returns its path.
    fn commit(
        mut self,
        comparison: &Comparison,
        sides: [(&str, Vec<RunDocument>); 2],
        scenario: &str,
        interrupt: &Interrupt,
    ) -> Result<PathBuf, Failure> {
        let mut directories = self.runs.iter_mut();
        let mut remedies = Remedies::new(scenario);
        for (side, mut documents) in sides {
            for document in &mut documents {
                advice::note(document, &mut remedies, &Trials::none(OF_SEVERAL));
                let directory = directories.next().expect("each run has a directory");
                let json = document.to_json();
                directory.write("run.json", json.as_bytes()).map_err(Failure::message)?;
            }
            if !self.is_single {
                let json = RunSet::new(documents).to_json();
                let name = format!("{side}/runs.json");
                self.top.write(&name, json.as_bytes()).map_err(Failure::message)?;
            }
        }
        let json = comparison.to_json();
        self.top.write("comparison.json", json.as_bytes()).map_err(Failure::message)?;
        self.top.write("scenario.toml", scenario.as_bytes()).map_err(Failure::message)?;
        interrupt.check()?;
        let (path, mut written) = (self.top.path().to_owned(), self.top.files());
        for directory in self.runs {
            written.extend(directory.files());
            directory.commit().map_err(Failure::message)?;
        }
        self.top.commit().map_err(Failure::message)?;
        let page = page::add(&path, &Trials::default())?;
        written.push(page.clone());
        replace_earlier(&path, &written).map_err(Failure::message)?;
        Ok(page)
    }
}

/// Makes the recorder of a run, which writes its series into `directory`.
fn recorder(scenario: &Scenario, directory: Option<&mut OutputDir>) -> Result<Recorder, Failure> {
    let recording = emulate::recording(scenario, scenario.duration, false);
    let names = lasthop_sim::names(scenario);
    match directory {
        Some(directory) => {
            let files = lasthop_sim::files(scenario, false, None);
            Recorder::with_files(names, recording, &files, directory).map_err(Failure::message)
        }
        None => Ok(Recorder::new(names, recording)),
    }
}

fn simulate_one(
    args: &Compare,
    scenario: &Scenario,
    run: u64,
    directory: Option<&mut OutputDir>,
    interrupt: &Interrupt,
) -> Result<RunDocument, Failure> {
    let recorder = recorder(scenario, directory)?;
    let document = simulate::run(&args.scenario.asked(), scenario, run, recorder, &mut |_| {
        if interrupt.came() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    interrupt.check()?;
    document
}

fn emulate_one(
    scenario: &Scenario,
    run: u64,
    directory: Option<&mut OutputDir>,
    interrupt: &Interrupt,
) -> Result<RunDocument, Failure> {
    let recorder = recorder(scenario, directory)?;
    let options = EmulateOptions {
        // Without it the end would depend on the scenario's programs.
        duration: Some(scenario.duration),
        run,
        signal_noted: interrupt.noted(),
        ..EmulateOptions::default()
    };
    let (document, outcome) = emulate::run(scenario, &options, recorder, &mut Show::new(None))?;
    interrupt.check()?;
    match outcome.interrupted {
        Some(signal) => Err(Failure::Interrupted { signal: signal as u8 }),
        None => Ok(document),
    }
}

fn report(comparison: &Comparison, scenario: &Scenario, stream: Stream) -> String {
    let runs = match comparison.runs {
        1 => String::new(),
        runs => format!(", means of {runs} runs each"),
    };
    let heading = format!(
        "{}: {} s simulated and emulated{runs}",
        comparison.scenario,
        alone(comparison.duration_s)
    );
    let columns = [
        text(""),
        text("quantity"),
        number("", "simulated"),
        number("", "emulated"),
        number("", "ratio"),
    ];
    let mut out = format!("{}\n", stream.bold(&heading));
    let mut section = |title: &str, rows: Vec<Vec<String>>| {
        let table = table::render(&columns, &rows, stream);
        if !table.is_empty() {
            let _ = write!(out, "\n{}\n{table}", stream.bold(title));
        }
    };
    section("Flows", rows(&comparison.flows, flow_pairs));
    section("Nodes", rows(&comparison.nodes, node_pairs));
    let has_tcp =
        scenario.flows.iter().any(|flow| matches!(flow.kind, lasthop_hosts::FlowKind::Tcp(_)));
    if has_tcp {
        out.push_str(&stream.dim(SMALL_QUEUES_NOTE));
    }
    if comparison.late_runs > 0 {
        let _ = writeln!(
            out,
            "{} {} of {} emulations were later than the scenario allows \
             (emulation.lateness_max); do not trust the delays\n{}",
            stream.yellow("late:"),
            comparison.late_runs,
            comparison.runs,
            crate::lab::report::WHEN_LATE
        );
    }
    out
}

type NamedPairs = Vec<(&'static str, Pair)>;

fn flow_pairs(flow: &FlowComparison) -> NamedPairs {
    vec![
        ("goodput Mb/s", flow.goodput_mbps),
        ("RTT p50 ms", flow.rtt_p50_ms),
        ("one-way delay mean ms", flow.one_way_delay_mean_ms),
        ("cwnd mean packets", flow.cwnd_mean_packets),
        ("retransmitted", flow.retransmissions),
        ("packets lost", flow.packets_lost),
    ]
}

fn node_pairs(node: &NodeComparison) -> NamedPairs {
    vec![
        ("queue mean packets", node.queue_mean_packets),
        ("queue drops", node.queue_drops),
        ("air, share of time", node.airtime_fraction),
    ]
}

/// Returns a row for each quantity that either side has.
fn rows<T>(
    all: &std::collections::BTreeMap<String, T>,
    pairs: fn(&T) -> NamedPairs,
) -> Vec<Vec<String>> {
    let cell = |number: Option<f64>| number.map_or_else(String::new, value);
    let mut rows = Vec::new();
    for (name, item) in all {
        let known = pairs(item).into_iter();
        let known = known.filter(|(_, pair)| pair.simulated.is_some() || pair.emulated.is_some());
        for (index, (quantity, pair)) in known.enumerate() {
            let name = if index == 0 { name.clone() } else { String::new() };
            let numbers = [pair.simulated, pair.emulated, pair.ratio].map(cell);
            rows.push([name, quantity.to_owned()].into_iter().chain(numbers).collect());
        }
    }
    rows
}
