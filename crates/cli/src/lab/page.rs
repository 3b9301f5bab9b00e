//! `lasthop report`: the folder of a run, of several runs, of a comparison, a sweep, a measured
//! queue or a capture as one HTML page. The crate `report` makes the pages; sweeps and captures
//! already have a page, which is copied. The commands that write such folders add the page with
//! [`add`].
//!
//! | module | content |
//! |---|---|
//! | `folder` | kinds of folders, and their files |

mod folder;

use crate::args::Report;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::lab::report::wrong;
use folder::{FolderKind, FolderSet, Run, Text};
use lasthop_report::advice;
use lasthop_report::page::variants::Variant;
use lasthop_report::page::{self, Source, measured, set, variants};
use lasthop_report::plots::mean_series;
use lasthop_report::remedy::Remedies;
use lasthop_report::trial::{OF_SEVERAL, Trials};
use lasthop_scenario::Scenario;
use lasthop_trace::{OutputDir, Recorder, RunDocument, RunSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::slice;

/// Name of the page in a folder.
const NAME: &str = "report.html";

/// Runs the command.
pub fn report(args: &Report) -> Result<(), Failure> {
    let none = Trials::none("--no-trials leaves trials out");
    let tried = if args.no_trials { Tried::Are(&none) } else { Tried::Now };
    let Page { html, found } = match &args.folders[..] {
        [only] => page(only, &tried)?,
        several => beside(several)?,
    };
    let file = match (&args.output, &args.folders[..]) {
        (Some(file), _) => file.clone(),
        (None, [only]) => only.join(NAME),
        (None, _) => {
            return Err(Failure::message("several folders: expected --output FILE for their page"));
        }
    };
    write(&file, &html)?;
    if found.is_empty() {
        return console::print(&format!("{}\n", file.display()));
    }
    let head = Stream::Output.bold(wrong::TITLE);
    console::print(&format!("{head}\n{found}{}", named(&file, Stream::Output)))
}

/// A page, and its findings as text; the text is empty for pages without findings.
struct Page {
    html: String,
    found: String,
}

/// Trials of a run's remedies.
enum Tried<'a> {
    /// Try all remedies now, in virtual time.
    Now,
    /// Use these earlier trials, or the reason why there are none.
    Are(&'a Trials),
}

/// Simulates run `number` of a scenario, for the trial of a remedy.
pub fn simulated(scenario: &Scenario, number: u64) -> Result<RunDocument, String> {
    let recorder = Recorder::new(lasthop_sim::names(scenario), lasthop_sim::recording(scenario));
    lasthop_sim::record(scenario, number, recorder, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| error.to_string())
}

/// Adds the page to a folder with complete files, with the trials of its run's remedies; returns
/// its path.
pub fn add(folder: &Path, trials: &Trials) -> Result<PathBuf, Failure> {
    let file = folder.join(NAME);
    write(&file, &page(folder, &Tried::Are(trials))?.html)?;
    Ok(file)
}

/// Returns the line that names the page of a folder.
pub fn named(file: &Path, stream: Stream) -> String {
    stream.dim(&format!("\nReport: {}", file.display())) + "\n"
}

/// Makes the page of a folder.
fn page(folder: &Path, tried: &Tried<'_>) -> Result<Page, Failure> {
    let without_text = |html: String| Page { html, found: String::new() };
    match FolderKind::recognise(folder)? {
        FolderKind::Run => Ok(of_run(&mut Run::read(folder)?, tried)),
        FolderKind::Set => Ok(of_set(&mut FolderSet::read(folder)?)),
        FolderKind::Comparison => of_comparison(folder),
        FolderKind::Measured => of_measured(folder).map(without_text),
        FolderKind::Made { page, .. } => folder::required(&folder.join(page)).map(without_text),
    }
}

fn of_run(it: &mut Run, tried: &Tried<'_>) -> Page {
    let made = match (tried, &it.scenario) {
        (Tried::Now, Some((_, text))) => Trials::try_all(&it.run, text, &mut simulated),
        _ => Trials::default(),
    };
    let trials = match tried {
        Tried::Now => &made,
        Tried::Are(trials) => *trials,
    };
    note(slice::from_mut(&mut it.run), it.scenario.as_ref(), trials);
    let html = page::html(&page::Content {
        run: &it.run,
        series: it.series.as_deref(),
        delays: it.delays.as_ref(),
        scenario: it.scenario.as_ref().map(|(path, text)| Source { path, text }),
        trials,
    });
    let command = command(it.scenario.as_ref());
    Page { html, found: wrong::of_run(&it.run, &command, Stream::Output) }
}

fn of_set(it: &mut FolderSet) -> Page {
    note(&mut it.set.runs, it.scenario.as_ref(), &Trials::none(OF_SEVERAL));
    let html = set::html(&set::SetContent {
        set: &it.set,
        series: &it.series,
        scenario: it.scenario.as_ref().map(|(path, text)| Source { path, text }),
    });
    let command = command(it.scenario.as_ref());
    Page { html, found: wrong::of_set(&it.set.runs, &command, Stream::Output) }
}

/// Finds the problems of runs again, since an earlier version may have found others.
fn note(runs: &mut [RunDocument], scenario: Option<&Text>, trials: &Trials) {
    let mut remedies = Remedies::new(scenario.map_or("", |(_, text)| text));
    runs.iter_mut().for_each(|run| advice::note(run, &mut remedies, trials));
}

/// Returns the command that runs a scenario, to be followed by arguments.
fn command(scenario: Option<&Text>) -> String {
    scenario
        .map_or_else(String::new, |(path, _)| format!("lasthop simulate {} ", page::quoted(path)))
}

/// Returns the findings of each of several sides.
fn of_sides(sides: &[Variant]) -> String {
    let told = |side: &Variant| {
        let mut runs = side.set.runs.clone();
        note(&mut runs, side.scenario.as_ref(), &Trials::none(OF_SEVERAL));
        let command = command(side.scenario.as_ref());
        let found = match &runs[..] {
            [only] => wrong::of_run(only, &command, Stream::Output),
            runs => wrong::of_set(runs, &command, Stream::Output),
        };
        format!("{}\n{found}", Stream::Output.bold(&side.name))
    };
    sides.iter().map(told).collect()
}

fn of_comparison(folder: &Path) -> Result<Page, Failure> {
    let sides = ["simulated", "emulated"];
    let sides = sides.map(|side| variant(&folder.join(side), side));
    let sides = sides.into_iter().collect::<Result<Vec<_>, _>>()?;
    let first = sides.first().and_then(|side| side.set.runs.first());
    let title = first.map_or("comparison", |run| run.scenario.as_str());
    let scenario = folder.join("scenario.toml");
    let runs = sides.first().map_or(1, |side| side.set.runs.len());
    let command =
        format!("lasthop compare {} --runs {runs}", page::quoted(&scenario.display().to_string()));
    let command = scenario.exists().then_some(command);
    let title = format!("{title}: simulated and emulated");
    let html = variants::html(&title, &sides, command.as_deref());
    Ok(Page { html, found: of_sides(&sides) })
}

/// Makes the page of several folders of runs, beside each other.
fn beside(folders: &[PathBuf]) -> Result<Page, Failure> {
    let of = |folder: &PathBuf| match FolderKind::recognise(folder)? {
        FolderKind::Run | FolderKind::Set => variant(folder, &folder.display().to_string()),
        _ => Err(Failure::Message(format!(
            "{}: expected the folder of a run or of several, which simulate or emulate wrote; \
             only these are shown beside each other",
            folder.display()
        ))),
    };
    let sides = folders.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let html = variants::html(&format!("{} beside each other", names.join(", ")), &sides, None);
    Ok(Page { html, found: of_sides(&sides) })
}

fn variant(folder: &Path, name: &str) -> Result<Variant, Failure> {
    let name = name.to_owned();
    Ok(match FolderKind::recognise(folder)? {
        FolderKind::Set => {
            let FolderSet { set, series, scenario } = FolderSet::read(folder)?;
            Variant { name, set, series: mean_series(&series), scenario }
        }
        _ => {
            let Run { run, series, scenario, .. } = Run::read(folder)?;
            let (set, series) = (RunSet::new(vec![run]), series.unwrap_or_default());
            Variant { name, set, series, scenario }
        }
    })
}

fn of_measured(folder: &Path) -> Result<String, Failure> {
    let (document, samples) = folder::measured(folder)?;
    let samples = samples.as_deref();
    Ok(measured::html(&measured::MeasuredContent { document: &document, samples }))
}

/// Writes a file under another name, then renames it.
pub fn write(file: &Path, page: &str) -> Result<(), Failure> {
    let name = file.file_name().and_then(|name| name.to_str());
    let Some(name) = name.filter(|_| !file.is_dir()) else {
        let shown = file.display();
        return Err(Failure::Message(format!(
            "{shown}: expected the path of a file, not of a directory"
        )));
    };
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut directory = OutputDir::create(folder).map_err(Failure::message)?;
    directory.write(name, page.as_bytes()).map_err(Failure::message)?;
    directory.commit().map_err(Failure::message)
}
