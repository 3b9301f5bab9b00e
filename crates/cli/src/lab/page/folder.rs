//! Folders with results: recognises their kind by the file that only this kind has, and reads their
//! files. A broken file is an error.

use crate::failure::Failure;
use lasthop_trace::{ApqDocument, ApqSample, Delays, RunDocument, RunSet, SeriesReading};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Largest number of runs of a folder whose series are read.
const SERIES_MAX: usize = 20;

/// Kinds of folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderKind {
    /// A run of a scenario.
    Run,
    /// Several runs of a scenario.
    Set,
    /// A simulated and emulated scenario.
    Comparison,
    /// A measured queue.
    Measured,
    /// Results that already have a page.
    Made {
        /// Name of the page.
        page: &'static str,
        /// Command that makes a missing page.
        again: &'static str,
    },
}

/// Kinds by the file that only they have, in the order of the search.
const KINDS: [(&str, FolderKind); 7] = [
    ("comparison.json", FolderKind::Comparison),
    ("run.json", FolderKind::Run),
    ("runs.json", FolderKind::Set),
    ("apq.json", FolderKind::Measured),
    (
        "measured.json",
        FolderKind::Made {
            page: "report.html",
            again: "lasthop compare RUN --with FILE --out DIR",
        },
    ),
    ("sweep.json", FolderKind::Made { page: "index.html", again: "lasthop sweep --merge DIR" }),
    (
        "capture.json",
        FolderKind::Made { page: "capture.html", again: "lasthop capture FILE --out DIR" },
    ),
];

/// Expected content of a folder, for errors.
const EXPECTED: &str = "expected a folder with run.json (simulate, emulate), runs.json (simulate \
                        --runs), comparison.json (compare), measured.json (compare --with), apq.json \
                        (apq measure), sweep.json (sweep) or capture.json (capture), which --out \
                        made";

/// Path of a file, and its text.
pub type Text = (String, String);

/// The files of a run.
pub struct Run {
    pub run: RunDocument,
    pub series: Option<Vec<SeriesReading>>,
    pub delays: Option<Delays>,
    pub scenario: Option<Text>,
}

/// The files of several runs.
pub struct FolderSet {
    pub set: RunSet,
    pub series: Vec<Vec<SeriesReading>>,
    pub scenario: Option<Text>,
}

impl FolderKind {
    /// Recognises the kind of `folder`.
    pub fn recognise(folder: &Path) -> Result<Self, Failure> {
        let shown = folder.display();
        if !folder.is_dir() {
            return Err(Failure::Message(format!("{shown}: there is no such folder; {EXPECTED}")));
        }
        let found = KINDS.iter().find(|(name, _)| folder.join(name).exists());
        let Some((name, kind)) = found else {
            let other = if folder.join("reproduce.json").exists() {
                " (reproduce.json: the pages of papers start at index.html)"
            } else {
                ""
            };
            return Err(Failure::Message(format!("{shown}: {EXPECTED}{other}")));
        };
        match kind {
            Self::Made { page, again } if !folder.join(page).exists() => Err(Failure::Message(
                format!("{shown}: there is {name} and no {page}, the page of it; {again} makes it"),
            )),
            kind => Ok(*kind),
        }
    }
}

impl Run {
    /// Reads the files of the run in `folder`.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join("run.json");
        let run: RunDocument = serde_json::from_str(&required(&path)?)
            .map_err(|why| unreadable(&path, "the summary of a run", &why))?;
        let (series, events) = (folder.join("series.parquet"), folder.join("events.parquet"));
        let series = series.exists().then(|| SeriesReading::read(&series)).transpose();
        let delays = events.exists().then(|| Delays::read(&events, run.warmup_s)).transpose();
        Ok(Self {
            series: series.map_err(Failure::message)?,
            delays: delays.map_err(Failure::message)?,
            scenario: scenario(folder)?,
            run,
        })
    }
}

impl FolderSet {
    /// Reads the files of the runs in `folder`.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join("runs.json");
        let set: RunSet = serde_json::from_str(&required(&path)?)
            .map_err(|why| unreadable(&path, "the summary of several runs", &why))?;
        let mut series = Vec::new();
        for run in set.runs.iter().take(SERIES_MAX) {
            let file = folder.join(format!("run-{}/series.parquet", run.run));
            if file.exists() {
                series.push(SeriesReading::read(&file).map_err(Failure::message)?);
            }
        }
        Ok(Self { set, series, scenario: scenario(folder)? })
    }
}

/// Reads the result and the packets of a measured queue.
pub fn measured(folder: &Path) -> Result<(ApqDocument, Option<Vec<ApqSample>>), Failure> {
    let path = folder.join("apq.json");
    let document = serde_json::from_str(&required(&path)?)
        .map_err(|why| unreadable(&path, "the result of a measured queue", &why))?;
    let samples = folder.join("samples.parquet");
    let samples = samples.exists().then(|| ApqSample::read(&samples)).transpose();
    Ok((document, samples.map_err(Failure::message)?))
}

/// Returns path and text of the scenario. For a run of several, or for a side of a comparison, it
/// is in a folder above.
fn scenario(folder: &Path) -> Result<Option<Text>, Failure> {
    let is_part =
        |name: &str| name.starts_with("run-") || ["simulated", "emulated"].contains(&name);
    let mut path = folder.to_owned();
    let mut real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    loop {
        let file = path.join("scenario.toml");
        if let Some(text) = text(&file)? {
            return Ok(Some((file.display().to_string(), text)));
        }
        let name = real.file_name().map(|name| name.to_string_lossy().into_owned());
        if !name.is_some_and(|name| is_part(&name)) || !real.pop() {
            return Ok(None);
        }
        path.push("..");
    }
}

/// Makes the error of a document that is not `what` it should be.
fn unreadable(path: &Path, what: &str, why: &serde_json::Error) -> Failure {
    Failure::Message(format!("{}: expected {what}: {why}", path.display()))
}

/// Returns the text of a required file.
pub fn required(path: &Path) -> Result<String, Failure> {
    text(path)?
        .ok_or_else(|| Failure::Message(format!("{}: there is no such file", path.display())))
}

/// Returns the text of a file; `None` if there is no such file.
fn text(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Failure::Message(format!("cannot read {}: {error}", path.display()))),
    }
}
