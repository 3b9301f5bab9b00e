//! `lasthop report`: the folder of a run as one HTML page. What is on it, is in the crate
//! `report`. Reads `run.json`, and `series.parquet` and `scenario.toml` if they are there;
//! a file that is there and broken is an error.

use crate::args::Report;
use crate::console;
use crate::failure::Failure;
use lasthop_report::page::{Content, Source, html};
use lasthop_report::trial::Trials;
use lasthop_scenario::Scenario;
use lasthop_trace::{OutputDir, Recorder, RunDocument, SeriesReading};
use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn report(args: &Report) -> Result<(), Failure> {
    let folder = &args.folder;
    let run = document(folder)?;
    let series = folder.join("series.parquet");
    let series = match series.exists() {
        true => Some(SeriesReading::read(&series).map_err(Failure::message)?),
        false => None,
    };
    let scenario = scenario(folder)?;
    let source = scenario.as_ref().map(|(path, text)| Source { path, text });
    let trials = match (&source, args.no_trials) {
        (Some(source), false) => Some(Trials::of(&run, source.text, &mut simulated)),
        _ => None,
    };
    let page = html(&Content {
        run: &run,
        series: series.as_deref(),
        scenario: source,
        trials: trials.as_ref(),
    });
    let file = args.output.clone().unwrap_or_else(|| folder.join("report.html"));
    write(&file, &page)?;
    console::print(&format!("{}\n", file.display()))
}

/// Run `number` of a scenario, for the trial of a remedy.
fn simulated(scenario: &Scenario, number: u64) -> Result<RunDocument, String> {
    let recorder = Recorder::new(lasthop_run::names(scenario), lasthop_run::recording(scenario));
    lasthop_run::simulate(scenario, number, recorder, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| error.to_string())
}

fn document(folder: &Path) -> Result<RunDocument, Failure> {
    let path = folder.join("run.json");
    match text(&path)? {
        Some(json) => serde_json::from_str(&json).map_err(|error| {
            Failure::Message(format!("{}: expected the summary of a run: {error}", path.display()))
        }),
        None => Err(Failure::Message(none(folder))),
    }
}

/// Why there is no run in `folder`, and where one is.
fn none(folder: &Path) -> String {
    let shown = folder.display();
    if !folder.is_dir() {
        return format!("{shown}: expected the directory of a run, which --out made");
    }
    if folder.join("run-0").is_dir() {
        return format!("{shown} holds several runs; expected one of them, such as {shown}/run-0");
    }
    let pages = [
        ("capture.json", "the page of a capture is capture.html"),
        ("sweep.json", "the page of a sweep is index.html"),
        ("apq.json", "the plots of a measurement are session.svg and delays.svg"),
    ];
    let other = pages.iter().find(|(name, _)| folder.join(name).exists());
    let other = other.map_or(String::new(), |(name, what)| format!(" ({name}: {what})"));
    format!(
        "{shown}: there is no run.json; expected the directory of a run, which simulate or emulate wrote with --out{other}"
    )
}

/// The path and text of the scenario; it is beside the folders `run-N` of several runs.
fn scenario(folder: &Path) -> Result<Option<(String, String)>, Failure> {
    let own = folder.join("scenario.toml");
    let is_one_of_several = fs::canonicalize(folder).is_ok_and(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"))
    });
    let above = is_one_of_several.then(|| folder.join("../scenario.toml"));
    for path in [Some(own), above].into_iter().flatten() {
        if let Some(text) = text(&path)? {
            return Ok(Some((path.display().to_string(), text)));
        }
    }
    Ok(None)
}

/// The text of a file; `None` if there is no such file.
fn text(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Failure::Message(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Writes the page aside, and gives it its name.
fn write(file: &Path, page: &str) -> Result<(), Failure> {
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
