//! `lasthop emulate`: real programs and the kernel's TCP over the modelled hop. COMMAND uses the
//! terminal if there is one; without COMMAND the live view does. The exit status is that of
//! COMMAND; without COMMAND, 128 plus the number of the signal that ended the emulation, or the
//! status of the expectations.

use crate::args::Emulate;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::dashboard::Dashboard;
use crate::lab::page;
use crate::lab::perfetto;
use crate::lab::report::{self, Own, wrong};
use crate::lab::scenario;
use crate::lab::simulate::{lock, wall_s};
use crate::lab::view::View;
use crate::lab::web::Web;
use crate::table::many;
use lasthop_emulate::control::Control;
use lasthop_emulate::{
    EmulateOptions, EmulateOutcome, OutsideOptions, Passed, ProgramEnd, Say, Way,
};
use lasthop_linux::clock::Clock;
use lasthop_report::advice;
use lasthop_report::remedy::Remedies;
use lasthop_report::trial::Trials;
use lasthop_scenario::Scenario;
use lasthop_trace::{
    Names, NodeFrames, OutputDir, Recorder, Recording, RunDocument, RunInfo, WaySummary,
    replace_earlier,
};
use lasthop_units::{Duration, Instant};
use nix::unistd;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;
use std::os::fd::OwnedFd;
use std::slice;
use std::sync::Arc;

/// Why `emulate` does not try remedies.
const NOT_TRIED: &str = "emulate tries none; with --out DIR, lasthop report DIR does";

/// Runs the command; returns the exit status.
pub fn emulate(args: &Emulate) -> Result<u8, Failure> {
    let interrupt = Interrupt::catch()?;
    let scenario = scenario::load(&args.scenario, &args.scenario.sets())?;
    args.expected.check(&scenario, !(args.command.is_empty() && scenario.programs.is_empty()))?;
    let _lock = lock(args.output.out.as_deref())?;
    let out = args.output.out.as_ref();
    let mut directory = out.map(OutputDir::create).transpose().map_err(Failure::message)?;
    let has_command = !args.command.is_empty();
    let reach = args.reach.iter().copied().collect::<BTreeSet<u16>>();
    let outside = OutsideOptions {
        network: args.outside,
        reach: reach.into_iter().collect(),
        publish: args.publish.clone(),
        at: args.outside_at.clone(),
    };
    if outside.at.is_some() && !outside.is_any() {
        return Err(Failure::Message(
            "--outside-at is the node of --outside, --reach and --publish: give one of these, too"
                .into(),
        ));
    }
    let control = Control::new(&scenario::label(&args.scenario.asked()), &scenario, 0)
        .map_err(Failure::message)?;
    let is_watched = !has_command
        && args.web.is_none()
        && !args.output.json
        && !args.quiet
        && console::is_view_wanted();
    // A view that draws over the terminal leaves no room for lines.
    let say = Say((!is_watched).then(|| -> Arc<dyn Fn(&str) + Send + Sync> { Arc::new(note) }));
    let options = EmulateOptions {
        control: Some(control.clone()),
        outside,
        say,
        duration: args.duration,
        command: has_command.then(|| args.command.clone()),
        in_node: args.in_node.clone(),
        signal_noted: interrupt.noted(),
        ..EmulateOptions::default()
    };
    let length = match (args.duration, has_command) {
        (Some(duration), true) => scenario.warmup + duration,
        (Some(duration), false) => duration,
        (None, true) => Duration::MAX,
        (None, false) => scenario.duration,
    };
    let recording = recording(&scenario, length, is_watched || args.web.is_some());
    let hosts = lasthop_emulate::host_names(&scenario);
    let names = Names { hosts, ..lasthop_sim::names(&scenario) };
    let recorder = match &mut directory {
        Some(directory) => {
            let captures = args.output.pcap.then_some(NodeFrames::Real);
            let files = lasthop_sim::files(&scenario, true, captures);
            Recorder::with_files(names, recording, &files, directory).map_err(Failure::message)?
        }
        None => Recorder::new(names, recording),
    };
    let (recorder, perfetto) = match &args.output.perfetto {
        Some(path) => {
            let (file, named) = perfetto::begin(path)?;
            (recorder.with_perfetto(file).map_err(Failure::message)?, Some(named))
        }
        None => (recorder, None),
    };
    interrupt.check()?;
    let web = match args.web {
        Some(port) => {
            let duration = (length != Duration::MAX).then_some(length);
            let own = Own::new(&scenario, args.in_node.as_deref());
            let web = Web::start(&scenario, &control, &recorder, duration, port, own)?;
            console::error(&format!("{}\n", Stream::Error.bold(web.address())));
            Some(web)
        }
        None => None,
    };
    let mut show = Show::new(is_watched.then(|| {
        let mut dashboard = Dashboard::new(&scenario.name, recorder.names(), length);
        dashboard.begin_phase("");
        dashboard
    }));
    show.web = web;
    let aside = (args.output.json && has_command).then(Aside::begin).transpose()?;
    let run = run(&scenario, &options, recorder, &mut show);
    if let (Some(web), Ok((_, outcome))) = (show.web.take(), &run) {
        web.end(outcome.duration, outcome.exit_status);
    }
    drop(show);
    drop(aside);
    let (document, outcome) = run?;
    if let Some(perfetto) = perfetto {
        perfetto.commit().map_err(Failure::message)?;
    }

    let mut written_page = None;
    if let Some(mut directory) = directory {
        directory.write("run.json", document.to_json().as_bytes()).map_err(Failure::message)?;
        let text = control.source_text(outcome.duration);
        directory.write("scenario.toml", text.as_bytes()).map_err(Failure::message)?;
        let (top, mut written) = (directory.path().to_owned(), directory.files());
        directory.commit().map_err(Failure::message)?;
        let page = page::add(&top, &Trials::none(NOT_TRIED))?;
        written.push(page.clone());
        replace_earlier(&top, &written).map_err(Failure::message)?;
        written_page = Some(page);
    }
    let judged = args.expected.judge(slice::from_ref(&document));
    let mut expected_on = Stream::Error;
    if args.output.json {
        warn(&outcome, &document);
        console::print(&document.to_json())?;
    } else {
        // Standard output is for COMMAND only.
        let stream = if has_command { Stream::Error } else { Stream::Output };
        let text = if args.quiet {
            outcome.programs.iter().map(|program| text(&program.output)).collect()
        } else {
            let own = Own::new(&scenario, args.in_node.as_deref());
            let found = wrong::of_run(&document, "", stream);
            let report = if args.all {
                report::run(&document, &found, stream)
            } else {
                own.report(&document, &found, stream)
            };
            programs(&scenario, &outcome, stream)
                + &report
                + &ways(&document, stream)
                + &lost_outside(&outcome, stream)
                + &written_page.map_or(String::new(), |page| page::named(&page, stream))
        };
        stream.write(&text)?;
        if !args.quiet {
            expected_on = stream;
        }
    }
    let by_expectation = args.expected.report(judged.as_ref(), expected_on, args.quiet)?;
    let by_signal = outcome.interrupted.map(|signal| 128 + signal);
    let status = match outcome.exit_status.or(by_signal) {
        None | Some(0) => by_expectation.into(),
        Some(status) => status,
    };
    Ok(u8::try_from(status).unwrap_or(u8::MAX))
}

/// Returns the settings of an emulation's recorder.
pub fn recording(scenario: &Scenario, length: Duration, is_watched: bool) -> Recording {
    Recording { duration: length, watch_air: is_watched, ..lasthop_sim::recording(scenario) }
}

/// Runs an emulation with the live view.
pub fn run(
    scenario: &Scenario,
    options: &EmulateOptions,
    mut recorder: Recorder,
    show: &mut Show,
) -> Result<(RunDocument, EmulateOutcome), Failure> {
    let clock = Clock::start();
    let mut on_tick = |_: Instant, recorder: &mut Recorder| show.tick(recorder);
    let outcome = lasthop_emulate::emulate(scenario, options, &mut recorder, &mut on_tick)?;
    let info = RunInfo {
        duration: outcome.duration,
        lateness_max: Some(scenario.emulation.lateness_max),
        ..lasthop_sim::info(scenario, options.run, wall_s(clock))
    };
    let mut document = recorder.finish(&info, &outcome.stats).map_err(Failure::message)?;
    if let Some(emulation) = &mut document.emulation {
        emulation.ways = summaries(&outcome.ways);
    }
    let mut remedies = Remedies::new(&scenario.source_text);
    advice::note(&mut document, &mut remedies, &Trials::none(NOT_TRIED));
    Ok((document, outcome))
}

/// Passes snapshots to a view, which starts with the first one: earlier errors may need the
/// terminal.
pub struct Show {
    dashboard: Option<Dashboard>,
    view: Option<View>,
    shown: Instant,
    /// Browsers' view of the emulation.
    pub web: Option<Web>,
}

impl Show {
    /// Makes a show on `dashboard`; `None` shows nothing.
    pub fn new(dashboard: Option<Dashboard>) -> Self {
        Self { dashboard, view: None, shown: Instant::ZERO, web: None }
    }

    /// Starts a phase called `caption`, with its time at zero.
    pub fn begin_phase(&mut self, caption: &str) {
        self.shown = Instant::ZERO;
        match (&self.view, &mut self.dashboard) {
            (Some(view), _) => view.begin_phase(caption),
            (None, Some(dashboard)) => dashboard.begin_phase(caption),
            (None, None) => {}
        }
    }

    fn tick(&mut self, recorder: &Recorder) {
        if let Some(dashboard) = self.dashboard.take() {
            self.view = Some(View::start(dashboard));
        }
        if let Some(web) = &mut self.web {
            web.tick(recorder);
        }
        let snapshot = recorder.snapshot();
        if let Some(view) = &self.view
            && snapshot.at > self.shown
        {
            self.shown = snapshot.at;
            view.show(snapshot.clone());
        }
    }
}

/// Redirects standard output to standard error until it is dropped.
struct Aside {
    output: OwnedFd,
}

impl Aside {
    fn begin() -> Result<Self, Failure> {
        let refused = |why: nix::Error| Failure::Message(format!("dup(standard output): {why}"));
        let output = unistd::dup(io::stdout()).map_err(refused)?;
        unistd::dup2_stdout(io::stderr()).map_err(refused)?;
        Ok(Self { output })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // The descriptor is open, so this fails only if a signal interrupts it; then it
        // is repeated.
        while unistd::dup2_stdout(&self.output) == Err(nix::Error::EINTR) {}
    }
}

/// Warns on standard error, for users of `--json` at a terminal.
fn warn(outcome: &EmulateOutcome, document: &RunDocument) {
    if let Some(emulation) = document.emulation.as_ref().filter(|emulation| emulation.late) {
        console::error(&report::lateness(emulation, Stream::Error));
    }
    console::error(&lossy_ways(document, Stream::Error));
    console::error(&lost_outside(outcome, Stream::Error));
}

/// Prints a line about a running emulation.
fn note(line: &str) {
    console::error(&format!("{} {line}\n", Stream::Error.yellow("note:")));
}

/// Returns the table of the ports between the nodes and the machine.
fn ways(document: &RunDocument, stream: Stream) -> String {
    let mut out = String::new();
    for (name, way) in document.emulation.iter().flat_map(|emulation| &emulation.ways) {
        let _ = writeln!(
            out,
            "{name}: {}, {} of {}, {}",
            many(way.connections, "connection"),
            many(way.datagrams_sent, "datagram"),
            many(way.clients, "UDP client"),
            many(way.datagrams_answered, "answer"),
        );
    }
    out + &lossy_ways(document, stream)
}

/// Returns the table of the ports that dropped data.
fn lossy_ways(document: &RunDocument, stream: Stream) -> String {
    let all = document.emulation.iter().flat_map(|emulation| &emulation.ways);
    let dropped = all.filter_map(|(name, way)| Some((name, lasthop_report::ways::dropped(way)?)));
    let warning = stream.yellow("warning:");
    dropped.map(|(name, dropped)| format!("{warning} {name}: {dropped}\n")).collect()
}

/// Returns the ports as a part of the document.
fn summaries(ways: &[Way]) -> BTreeMap<String, WaySummary> {
    let summary = |way: &Way| {
        let Passed {
            connections,
            connections_refused,
            clients,
            clients_displaced,
            sent,
            answers,
            refused,
            overflowed,
        } = way.passed;
        let summary = WaySummary {
            far_side: way.far_side.clone(),
            connections,
            connections_refused,
            clients,
            clients_displaced,
            datagrams_sent: sent,
            datagrams_answered: answers,
            datagrams_refused: refused,
            datagrams_overflowed: overflowed,
        };
        (way.option.clone(), summary)
    };
    ways.iter().map(summary).collect()
}

fn lost_outside(outcome: &EmulateOutcome, stream: Stream) -> String {
    match outcome.frames_lost_outside {
        0 => String::new(),
        1 => format!(
            "{} 1 frame was lost outside the model: this machine was too slow\n",
            stream.yellow("warning:")
        ),
        lost => format!(
            "{} {lost} frames were lost outside the model: this machine was too slow\n",
            stream.yellow("warning:")
        ),
    }
}

/// Returns the output of a program, with a line end.
fn text(output: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(output).into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns the output of the scenario's programs, and their exit.
fn programs(scenario: &Scenario, outcome: &EmulateOutcome, stream: Stream) -> String {
    let mut out = String::new();
    for program in &outcome.programs {
        let node = &scenario.nodes[program.node.index()].name;
        let end = match program.end {
            ProgramEnd::Itself(0) => String::new(),
            ProgramEnd::Itself(status) => format!(", exit status {status}"),
            ProgramEnd::Emulation => ", ended with the emulation".into(),
            ProgramEnd::NotStarted => ", not started".into(),
        };
        let heading = format!("{node}: {}{end}", program.command.join(" "));
        let _ = writeln!(out, "{}", stream.bold(&heading));
        for line in text(&program.output).lines() {
            let _ = writeln!(out, "  {line}");
        }
        out.push('\n');
    }
    out
}
