//! `lasthop compare RUN --with FILE`: a measurement of the user beside simulated runs of a scenario,
//! or of a folder of `simulate`. A folder's runs are repeated from its scenario, seed and run numbers,
//! because its files have no throughput of senders; results are the same.

use crate::args::Compare;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::page;
use crate::lab::scenario;
use crate::lab::simulate;
use crate::table::{self, alone, number, text, value};
use lasthop_capture::analysis::Analysis;
use lasthop_capture::decrypt::Credentials;
use lasthop_capture::file::{Capture, ReadError};
use lasthop_capture::measured;
use lasthop_report::page::outside;
use lasthop_scenario::Scenario;
use lasthop_sim::RunError;
use lasthop_trace::{
    FlowWatch, MeasuredComparison, Measurement, OutputDir, RunDocument, RunSet,
    read_measurement_text, replace_earlier,
};
use lasthop_units::Seed;
use std::fmt::Write;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Name of the document in the folder of `--out`.
const DOCUMENT: &str = "measured.json";
/// Name of the page.
const PAGE: &str = "report.html";

/// Runs the command.
pub fn with(args: &Compare, file: &Path) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let asked = args.scenario.asked();
    let is_own = |out: &Path| {
        out.canonicalize().ok().is_some_and(|it| asked.canonicalize().ok() == Some(it))
    };
    if let Some(out) = args.out.as_deref().filter(|out| is_own(out)) {
        return Err(Failure::Message(format!(
            "--out {}: expected another folder than that of the runs, whose files it would replace",
            out.display()
        )));
    }
    let begin_s = args.at.map_or(0.0, |at| at.as_secs_f64());
    let measured = read(file)?.later(begin_s);
    let Repeated { scenario, seed, numbers } = Repeated::new(args)?;
    let window = window(file, &measured, &scenario)?;
    let _lock = simulate::lock(args.out.as_deref())?;
    let mut runs = Vec::new();
    for number in numbers {
        runs.push(run(args, &scenario, Seed::new(seed, number), &interrupt)?);
    }
    let file = file.display().to_string();
    let document =
        MeasuredComparison::new(&scenario.name, seed, &file, &measured, &runs, begin_s, window);
    let page = match &args.out {
        Some(out) => Some(write(out, &document, &measured, &runs, &scenario)?),
        None => None,
    };
    if args.json {
        return console::print(&document.to_json());
    }
    let named = page.map_or(String::new(), |page| page::named(&page, Stream::Output));
    console::print(&(report(&document, Stream::Output) + &named))
}

/// Reads a measurement: a capture, or the results of flent, iperf3 or irtt.
pub fn read(file: &Path) -> Result<Measurement, Failure> {
    let shown = file.display();
    let failed = |why: &dyn std::fmt::Display| Failure::Message(format!("{shown}: {why}"));
    let opened = File::open(file).map_err(|why| failed(&why))?;
    let mut capture = match Capture::open(opened) {
        Ok(capture) => capture,
        Err(ReadError::NotACapture { .. } | ReadError::Empty) => {
            let text = read_measurement_text(file).map_err(Failure::message)?;
            return Measurement::parse(&shown.to_string(), &text).map_err(Failure::message);
        }
        Err(why) => return Err(failed(&why)),
    };
    let mut analysis = Analysis::new(Credentials::default());
    while let Some(packet) = capture.next_packet().map_err(|why| failed(&why))? {
        analysis.handle_packet(&packet);
    }
    analysis.finish();
    let measured = measured::measurement(&analysis);
    if measured.series.is_empty() {
        return Err(failed(&"expected flows of TCP or UDP with payload that is not encrypted"));
    }
    Ok(measured)
}

/// Runs to make, or to repeat.
struct Repeated {
    scenario: Scenario,
    seed: u64,
    numbers: Vec<u64>,
}

impl Repeated {
    fn new(args: &Compare) -> Result<Self, Failure> {
        let asked = args.scenario.asked();
        let inside = asked.join("scenario.toml");
        if asked.is_dir() && inside.exists() {
            return Self::of_folder(args, &asked, &inside);
        }
        let mut sets = args.scenario.sets();
        sets.extend(args.duration.map(|duration| format!("duration=\"{duration}\"")));
        let scenario = scenario::load(&args.scenario, &sets)?;
        let numbers = (0..u64::from(args.runs)).collect();
        Ok(Self { seed: scenario.seed, numbers, scenario })
    }

    fn of_folder(args: &Compare, folder: &Path, inside: &Path) -> Result<Self, Failure> {
        let shown = folder.display();
        if !args.scenario.sets().is_empty() || args.duration.is_some() {
            return Err(Failure::Message(format!(
                "{shown}: the runs of a folder are repeated as they were; give {} to change keys",
                inside.display()
            )));
        }
        let runs = documents(folder)?;
        let Some(first) = runs.first() else {
            return Err(Failure::Message(format!("{shown}: expected at least one run")));
        };
        if runs.iter().any(|run| run.emulation.is_some()) {
            return Err(Failure::Message(format!(
                "{shown}: expected runs of simulate, got those of emulate, which cannot be repeated"
            )));
        }
        let version = env!("CARGO_PKG_VERSION");
        if first.version != version {
            console::error(&format!(
                "note: {shown} was made by lasthop {}; its runs are repeated by {version}\n",
                first.version
            ));
        }
        let label = inside.display().to_string();
        let scenario = lasthop_scenario::parse(&label, &lasthop_scenario::read_text(inside)?, &[])?;
        Ok(Self { scenario, seed: first.seed, numbers: runs.iter().map(|run| run.run).collect() })
    }
}

/// The documents of the runs in a folder.
fn documents(folder: &Path) -> Result<Vec<RunDocument>, Failure> {
    let (several, one) = (folder.join("runs.json"), folder.join("run.json"));
    let path = if several.exists() { &several } else { &one };
    let failed = |why: &dyn std::fmt::Display| {
        Failure::Message(format!("{}: expected what simulate --out wrote: {why}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|why| failed(&why))?;
    if path == &several {
        let set: RunSet = serde_json::from_str(&text).map_err(|why| failed(&why))?;
        return Ok(set.runs);
    }
    Ok(vec![serde_json::from_str(&text).map_err(|why| failed(&why))?])
}

/// The seconds of the scenario that both sides have, without the warm-up.
fn window(file: &Path, measured: &Measurement, scenario: &Scenario) -> Result<[f64; 2], Failure> {
    let [warmup, end] = [scenario.warmup, scenario.duration].map(|time| time.as_secs_f64());
    let [first, last] = measured.extent().unwrap_or_default();
    let window = [first.max(warmup), last.min(end)];
    if window[0] < window[1] {
        return Ok(window);
    }
    Err(Failure::Message(format!(
        "{}: expected values between {} and {} s of the scenario, got them between {} and {} s; \
         --at moves the file",
        file.display(),
        alone(warmup),
        alone(end),
        alone(first),
        alone(last)
    )))
}

/// Makes a run.
fn run(
    args: &Compare,
    scenario: &Scenario,
    seed: Seed,
    interrupt: &Interrupt,
) -> Result<Measurement, Failure> {
    let is_asked = |name: &str, pattern: &str| match pattern.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == pattern,
    };
    let is_wanted = |name: &str| {
        args.flow.is_empty() || args.flow.iter().any(|pattern| is_asked(name, pattern))
    };
    let names = lasthop_sim::names(scenario);
    if !names.flows.iter().any(|flow| is_wanted(&flow.name)) {
        let all: Vec<&str> = names.flows.iter().map(|flow| flow.name.as_str()).collect();
        return Err(Failure::Message(format!(
            "--flow: expected the name of a flow, one of {}",
            all.join(", ")
        )));
    }
    let mut watch = FlowWatch::new(&names, &is_wanted);
    let mut go_on =
        |_| if interrupt.came() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let ended = lasthop_sim::simulate(scenario, seed, &mut watch, &mut go_on);
    interrupt.check()?;
    match ended {
        Ok(_) => Ok(watch.finish(&scenario.name, scenario.duration)),
        Err(RunError::Stopped) => Err(Failure::Stopped),
        Err(why) => Err(Failure::message(why)),
    }
}

/// Writes document, scenario and page; returns the page's path.
fn write(
    out: &Path,
    document: &MeasuredComparison,
    measured: &Measurement,
    runs: &[Measurement],
    scenario: &Scenario,
) -> Result<PathBuf, Failure> {
    let mut top = OutputDir::create(out).map_err(Failure::message)?;
    let page = outside::html(document, measured, runs);
    for (name, content) in [
        (DOCUMENT, document.to_json().as_str()),
        ("scenario.toml", &scenario.source_text),
        (PAGE, &page),
    ] {
        top.write(name, content.as_bytes()).map_err(Failure::message)?;
    }
    let written = top.files();
    top.commit().map_err(Failure::message)?;
    replace_earlier(out, &written).map_err(Failure::message)?;
    Ok(out.join(PAGE))
}

fn report(document: &MeasuredComparison, stream: Stream) -> String {
    let heading = format!(
        "{}: {} beside {} ({}), {} to {} s",
        document.scenario,
        table::counted(document.runs as usize, "run"),
        document.file,
        outside::made_by(document),
        alone(document.from_s),
        alone(document.to_s)
    );
    let mut out = format!("{}\n", stream.bold(&heading));
    for note in &document.notes {
        let _ = writeln!(out, "{}", stream.dim(&format!("  {note}")));
    }
    let heads = outside::HEADS.map(|head| number("", head));
    let columns: Vec<_> = [text("quantity")].into_iter().chain(heads).collect();
    let mut section = |title: &str, columns: &[table::Column], rows: &[Vec<String>]| {
        let table = table::render(columns, rows, stream);
        if !table.is_empty() {
            let _ = write!(out, "\n{}\n{table}", stream.bold(title));
        }
    };
    section("Both sides", &columns, &outside::rows(document, &value));
    let columns = [text("share"), number("", "measured"), number("", "simulated")];
    for (name, title) in [("rtt_ms", "Round trips, ms"), ("tcp_rtt_ms", "TCP's round trips, ms")] {
        if let Some(distribution) = document.distributions.get(name) {
            section(title, &columns, &outside::distribution_rows(distribution, &value));
        }
    }
    let columns = [text("flow"), text("side"), number("", "Mb/s")];
    let of_side = |side: &str, flows: &std::collections::BTreeMap<String, f64>| {
        let row = |(name, mbps): (&String, &f64)| vec![name.clone(), side.into(), value(*mbps)];
        flows.iter().map(row).collect::<Vec<_>>()
    };
    let mut rows = of_side("measured", &document.flows.measured_mbps);
    rows.extend(of_side("simulated", &document.flows.simulated_mbps));
    section("Flows", &columns, &rows);
    out
}
