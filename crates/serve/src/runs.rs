//! Finds the runs: the folder itself and folders in it with a `run.json`, to a limited depth and
//! number. The search runs once, at the start, and numbers the runs; it follows no symbolic links.
//! Broken runs are listed with their errors. Documents and reports are read on request; of
//! timelines, which are large, the latest are kept.

use crate::air::Timeline;
use crate::error::ServeError;
use crate::order::natural;
use lasthop_report::page::{self, Content, Source};
use lasthop_report::remedy::Remedies;
use lasthop_report::trial::Trials;
use lasthop_report::{advice, links};
use lasthop_trace::{Delays, EventsReading, RunDocument, SeriesReading, SeriesTable, check_table};
use serde::Serialize;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reason why `serve` does not try remedies.
const NOT_TRIED: &str = "serve tries none; lasthop report DIR does";

/// Depth of the search below the folder: a sweep's folders are three deep.
const DEPTH_MAX: usize = 4;
/// Largest number of folders searched.
const FOLDERS_MAX: usize = 10_000;
/// Largest number of runs listed.
const RUNS_MAX: usize = 1_000;
/// Longest document or report, in bytes.
const DOCUMENT_MAX: u64 = 64 << 20;
/// Largest number of a run's events read.
const EVENTS_MAX: u64 = 4_000_000;
/// Largest number of events of all kept timelines, unless one of them has more.
const KEPT_MAX: u64 = 6_000_000;

/// Runs of a folder.
pub(crate) struct Runs {
    root: PathBuf,
    runs: Vec<Run>,
    is_cut: bool,
    kept: Mutex<Vec<Kept>>,
}

/// A run found in the folder.
struct Run {
    folder: PathBuf,
    /// Path below the served folder.
    name: String,
    head: Result<Head, String>,
    /// Errors of its other files.
    notes: Vec<String>,
    has_series: bool,
    has_events: bool,
}

/// Entry of a run in the list.
#[derive(Serialize)]
struct Head {
    scenario: String,
    seed: u64,
    run: u64,
    duration_s: f64,
    is_emulated: bool,
    set: Vec<String>,
}

/// A timeline that was read, or is being read.
struct Kept {
    run: usize,
    stamp: Stamp,
    timeline: Arc<Mutex<Option<Arc<Timeline>>>>,
}

/// Version of a file that was read: time of its last change, in seconds and nanoseconds, and its
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp(i64, i64, u64);

/// Status and text of a failed request.
pub(crate) type Failure = (u16, String);

impl Runs {
    /// Finds the runs in `root`.
    pub(crate) fn find(root: &Path) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Folder { path: root.to_owned(), source };
        let real = fs::canonicalize(root).map_err(failed)?;
        fs::read_dir(&real).map_err(failed)?;
        let mut found = Vec::new();
        let mut looked = 0;
        search(&real, DEPTH_MAX, &mut looked, &mut found);
        if found.is_empty() {
            return Err(ServeError::NoRuns { path: root.to_owned() });
        }
        found.sort_by_cached_key(|folder| (made(folder), natural(&folder.display().to_string())));
        let is_cut = found.len() > RUNS_MAX || looked > FOLDERS_MAX;
        found.truncate(RUNS_MAX);
        let runs = found.into_iter().map(|folder| Run::new(&real, folder)).collect();
        Ok(Self { root: real, runs, is_cut, kept: Mutex::default() })
    }

    /// Number of runs, and number of those with errors.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let is_broken = |run: &&Run| run.head.is_err() || !run.notes.is_empty();
        (self.runs.len(), self.runs.iter().filter(is_broken).count())
    }

    /// Returns the list of runs.
    pub(crate) fn list(&self) -> Value {
        let entry = |(id, run): (usize, &Run)| {
            json!({
                "id": id,
                "name": run.name,
                "run": run.head.as_ref().ok(),
                "error": run.head.as_ref().err(),
                "notes": run.notes,
                "has_series": run.has_series,
                "has_events": run.has_events,
            })
        };
        json!({
            "folder": self.root.file_name().map(|name| name.to_string_lossy()),
            "runs": self.runs.iter().enumerate().map(entry).collect::<Vec<_>>(),
            "is_cut": self.is_cut,
        })
    }

    /// Returns the document of a run, and its errors.
    pub(crate) fn document(&self, id: usize) -> Result<Value, Failure> {
        let run = self.run(id)?;
        let mut document = run.document().map_err(broken)?;
        // An earlier version may have found something else.
        let text = run.scenario().map_err(broken)?.unwrap_or_default();
        let trials = Trials::noted(&document, NOT_TRIED);
        advice::note(&mut document, &mut Remedies::new(&text), &trials);
        let found = document.findings.clone();
        let taken = links::taken(std::slice::from_ref(&document));
        let rows: Vec<_> = taken.iter().map(links::LinkTaken::cells).collect();
        let taken = json!({ "title": links::TITLE, "meaning": links::MEANING, "heads": links::HEADS, "rows": rows });
        Ok(json!({ "id": id, "document": document, "findings": found, "taken": taken }))
    }

    /// Returns the series of a run.
    pub(crate) fn series(&self, id: usize) -> Result<SeriesTable, Failure> {
        let path = self.file(id, "series.parquet")?;
        SeriesTable::read(&path).map_err(|why| broken(why.to_string()))
    }

    /// Returns the report of a run: from its file, or made now without trials of remedies.
    pub(crate) fn report(&self, id: usize) -> Result<Vec<u8>, Failure> {
        let run = self.run(id)?;
        let file = run.folder.join("report.html");
        if is_file(&file) {
            return bounded(&file).map_err(broken);
        }
        let document = run.document().map_err(broken)?;
        let there = |name: &str| Some(run.folder.join(name)).filter(|path| is_file(path));
        let failed = |why: String| broken(why);
        let series = there("series.parquet").map(|path| SeriesReading::read(&path));
        let series = series.transpose().map_err(|why| failed(why.to_string()))?;
        let delays = there("events.parquet").map(|path| Delays::read(&path, document.warmup_s));
        let delays = delays.transpose().map_err(|why| failed(why.to_string()))?;
        let text = run.scenario().map_err(failed)?;
        let page = page::html(&Content {
            run: &document,
            series: series.as_deref(),
            delays: delays.as_ref(),
            scenario: text.as_deref().map(|text| Source { path: "scenario.toml", text }),
            trials: &Trials::noted(&document, NOT_TRIED),
        });
        Ok(page.into_bytes())
    }

    /// Returns the timeline of a run, and reads it unless it is kept.
    pub(crate) fn timeline(&self, id: usize) -> Result<Arc<Timeline>, Failure> {
        let path = self.file(id, "events.parquet")?;
        let stamp = Stamp::read(&path).map_err(|why| broken(why.to_string()))?;
        let place = {
            let mut kept = self.kept();
            let found = kept.iter().position(|it| it.run == id && it.stamp == stamp);
            let entry = match found {
                Some(at) => kept.remove(at),
                None => {
                    kept.retain(|it| it.run != id);
                    Kept { run: id, stamp, timeline: Arc::default() }
                }
            };
            let timeline = Arc::clone(&entry.timeline);
            kept.push(entry);
            timeline
        };
        // Held while it is read, so that several requests read it once.
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(timeline) = &*place {
            return Ok(Arc::clone(timeline));
        }
        let events =
            EventsReading::read(&path, EVENTS_MAX).map_err(|why| broken(why.to_string()))?;
        let timeline = Arc::new(Timeline::new(events));
        *place = Some(Arc::clone(&timeline));
        drop(place);
        self.forget();
        Ok(timeline)
    }

    /// Drops the timelines with the oldest requests until the others are few enough.
    fn forget(&self) {
        let mut kept = self.kept();
        let rows = |it: &Kept| {
            let timeline = it.timeline.try_lock().ok();
            timeline.and_then(|it| it.as_ref().map(|it| it.rows())).unwrap_or(0)
        };
        while kept.len() > 1 && kept.iter().map(rows).sum::<u64>() > KEPT_MAX {
            kept.remove(0);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, id: usize) -> Result<&Run, Failure> {
        let last = self.runs.len().saturating_sub(1);
        let missing = || (404, format!("there is no run {id}; expected a number from 0 to {last}"));
        self.runs.get(id).ok_or_else(missing)
    }

    fn file(&self, id: usize, name: &str) -> Result<PathBuf, Failure> {
        let run = self.run(id)?;
        let path = run.folder.join(name);
        if is_file(&path) {
            Ok(path)
        } else {
            Err((404, format!("{}: there is no {name}", run.name)))
        }
    }
}

/// Makes the failure of a file with unexpected content.
fn broken(why: String) -> Failure {
    (422, why)
}

impl Run {
    fn new(root: &Path, folder: PathBuf) -> Self {
        let below = folder.strip_prefix(root).unwrap_or(&folder);
        let name =
            if below.as_os_str().is_empty() { ".".to_owned() } else { below.display().to_string() };
        let mut run = Self {
            name,
            head: Err(String::new()),
            notes: Vec::new(),
            has_series: false,
            has_events: false,
            folder,
        };
        run.head = run.document().map(|document| Head {
            scenario: document.scenario,
            seed: document.seed,
            run: document.run,
            duration_s: document.duration_s,
            is_emulated: document.emulation.is_some(),
            set: document.set,
        });
        run.has_series = run.is_whole("series.parquet");
        run.has_events = run.is_whole("events.parquet");
        run
    }

    /// Whether a table exists and is complete; records an error.
    fn is_whole(&mut self, name: &str) -> bool {
        let path = self.folder.join(name);
        if !is_file(&path) {
            return false;
        }
        match check_table(&path) {
            Ok(()) => true,
            Err(why) => {
                self.notes.push(shown(&why.to_string(), &path, name));
                false
            }
        }
    }

    /// Returns the text of the scenario: in the run's folder, or in the folder of all runs made
    /// with it.
    fn scenario(&self) -> Result<Option<String>, String> {
        let of_all = self.folder.parent().filter(|parent| is_file(&parent.join("runs.json")));
        let mut paths = [Some(&*self.folder), of_all].into_iter().flatten();
        let Some(path) = paths
            .find_map(|folder| Some(folder.join("scenario.toml")).filter(|path| is_file(path)))
        else {
            return Ok(None);
        };
        let bytes = bounded(&path).map_err(|why| shown(&why, &path, "scenario.toml"))?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn document(&self) -> Result<RunDocument, String> {
        let path = self.folder.join("run.json");
        let bytes = bounded(&path).map_err(|why| shown(&why, &path, "run.json"))?;
        serde_json::from_slice(&bytes)
            .map_err(|why| format!("run.json: expected the summary of a run: {why}"))
    }
}

/// Returns a message with the name of a file instead of its path.
fn shown(why: &str, path: &Path, name: &str) -> String {
    why.replace(&path.display().to_string(), name)
}

/// Adds the folders with a `run.json`, `folder` itself first.
fn search(folder: &Path, depth: usize, looked: &mut usize, found: &mut Vec<PathBuf>) {
    *looked += 1;
    if *looked > FOLDERS_MAX || found.len() > RUNS_MAX {
        return;
    }
    if is_file(&folder.join("run.json")) {
        found.push(folder.to_owned());
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut below: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    below.sort();
    if depth > 0 {
        below.iter().for_each(|folder| search(folder, depth - 1, looked, found));
    }
}

/// Time of a run: that of its document, or of the document of all runs made with it.
fn made(folder: &Path) -> Option<Stamp> {
    let all = folder.parent().map(|parent| parent.join("runs.json"));
    let path = all.filter(|path| is_file(path)).unwrap_or_else(|| folder.join("run.json"));
    Stamp::read(&path).ok()
}

/// Whether the path is a file and not a symbolic link.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

/// Returns the content of a file that is not a symbolic link and not too long.
fn bounded(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |why: io::Error| format!("cannot read {}: {why}", path.display());
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    if !metadata.is_file() || metadata.len() > DOCUMENT_MAX {
        return Err(format!("{}: expected a file of at most {DOCUMENT_MAX} bytes", path.display()));
    }
    fs::read(path).map_err(failed)
}

impl Stamp {
    fn read(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self(metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of one command are together, in the order of their numbers.
    #[test]
    fn runs_are_in_the_order_in_which_they_were_made() {
        let root = std::env::temp_dir().join(format!("lasthop-made-{}", std::process::id()));
        let write = |name: &str, at_s: u64| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            let file = fs::File::create(&path).expect("it is made");
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(at_s);
            file.set_modified(at).expect("it has a time");
        };
        write("before/run.json", 1);
        write("after/run.json", 2);
        write("several/run-10/run.json", 4);
        write("several/run-9/run.json", 5);
        write("several/runs.json", 3);
        let runs = Runs::find(&root).expect("there are some");
        let names: Vec<&str> = runs.runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names, ["before", "after", "several/run-9", "several/run-10"]);
        fs::remove_dir_all(&root).expect("it is removed");
    }
}
