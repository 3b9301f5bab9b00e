//! A sweep in a folder: the request (`sweep.json`), a journal with a line for each finished run,
//! and the tables made from it.
//!
//! The journal is only appended to, so a sweep can be killed at any moment: complete lines stay,
//! and an incomplete one is dropped. Each line has a checksum; the run of a damaged line is
//! missing. One process at a time writes the journal. Shards have separate journals and tables
//! beside each other; `merge` combines them. Left out: the meaning of a run (`plan`) and of columns
//! (`tables`).

use crate::asked::{Asked, AskedKey};
use crate::error::StoreError;
use crate::means::{Collector, Means};
use crate::plan::{Plan, Task};
use crate::record::{Ended, Outcome, Record, is_sound};
use crate::tables::{self, NamedTables};
use crate::value::{Value, ValueColumn};
use lasthop_trace::{OutputDir, OutputLock, holder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The part `number` of `of` of a sweep's runs, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 1.
    pub number: u32,
    /// Number of shards.
    pub of: u32,
}

/// A finished run, and the place of its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Index of the run's values.
    values: u32,
    run: u32,
    offset: u64,
    bytes: u32,
    has_failed: bool,
}

/// The folder of a sweep, open for writing.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    asked: Asked,
    shard: Option<Shard>,
    journal: Journal,
    writer: BufWriter<File>,
    /// Runs in journals of other shards.
    elsewhere: BTreeSet<(Vec<String>, u32)>,
    /// Lines of the journals that were damaged when they were opened.
    damaged: usize,
    _lock: OutputLock,
}

/// Result of [`merge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Number of present runs.
    pub runs: usize,
    /// Number of requested runs.
    pub asked: u64,
    /// Damaged lines, which were left out.
    pub damaged: usize,
}

/// Runs that failed for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRuns {
    /// Reason for the failure.
    pub error: String,
    /// Number of runs with this reason.
    pub runs: usize,
    /// The keys and values of the first one.
    pub first: String,
}

/// The lines of a journal.
#[derive(Debug)]
struct Journal {
    path: PathBuf,
    /// Combinations of the runs, with their indices.
    values: BTreeMap<Vec<String>, u32>,
    entries: Vec<Entry>,
    /// Length of the file in bytes, without an incomplete line.
    length: u64,
    /// Damaged lines: their offsets, and their lengths in bytes.
    damaged: Vec<(u64, usize)>,
}

impl Shard {
    /// Reads a shard from `I/N`.
    ///
    /// # Errors
    /// The allowed values.
    pub fn parse(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.trim().parse().ok()?, of.trim().parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("expected I/N with I from 1 to N, like 3/8".into()),
        }
    }

    fn takes(self, task: usize) -> bool {
        task % self.of as usize == self.number as usize - 1
    }
}

/// Prefix of the extensions of a shard's files.
fn part(shard: Option<Shard>) -> String {
    shard.map_or(String::new(), |shard| format!(".{}-of-{}", shard.number, shard.of))
}

impl Store {
    /// Opens the folder of a sweep, and creates it if it does not exist. Continues the sweep there
    /// if scenario, version and keys are the same.
    ///
    /// # Errors
    /// If the folder is another sweep's, if another process writes it, or if it cannot be written.
    pub fn open(
        folder: &Path,
        plan: &Plan,
        shard: Option<Shard>,
        series: bool,
    ) -> Result<Self, StoreError> {
        let asked = Asked::from_plan(plan, series);
        // Shards have files of their own; whoever makes everything has the folder alone.
        let lock = match shard {
            Some(_) => OutputLock::shared(folder),
            None => OutputLock::exclusive(folder),
        }?;
        let before = read_asked(folder)?;
        if let Some(difference) = before.as_ref().and_then(|before| asked.difference(before)) {
            return Err(StoreError::Another { path: folder.to_owned(), difference });
        }
        if before.is_none() && folder.is_dir() && !journals(folder)?.is_empty() {
            let message = "there is a journal, but no sweep.json beside it".to_owned();
            return Err(StoreError::Damaged { path: folder.to_owned(), message });
        }
        if before.as_ref() != Some(&asked) {
            let mut json = serde_json::to_string_pretty(&asked).expect("it is valid JSON");
            json.push('\n');
            let mut directory = OutputDir::create(folder)?;
            directory.write("sweep.json", json.as_bytes())?;
            directory.commit()?;
        }
        let path = folder.join(format!("journal{}.jsonl", part(shard)));
        let error = |source| StoreError::File { path: path.clone(), source };
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = file.map_err(error)?;
        if !file.metadata().map_err(error)?.is_file() {
            let message = "expected a file".to_owned();
            return Err(StoreError::Damaged { path, message });
        }
        lock_journal(&file, &path)?;
        let mut journal = Journal::read(&path, asked.keys.len())?;
        file.set_len(journal.length).map_err(error)?;
        let mut damaged = journal.damaged.len();
        journal.blank_damaged().map_err(error)?;
        let mut elsewhere = BTreeSet::new();
        for other in journals(folder)?.into_iter().filter(|other| *other != path) {
            let other = Journal::read(&other, asked.keys.len())?;
            damaged += other.damaged.len();
            elsewhere.extend(other.runs());
        }
        let writer = BufWriter::new(file);
        let folder = folder.to_owned();
        Ok(Self { folder, asked, shard, journal, writer, elsewhere, damaged, _lock: lock })
    }

    /// Returns the missing runs of the plan, of this shard.
    pub fn missing(&self, plan: &Plan) -> Vec<Task> {
        let done: BTreeSet<(u32, u32)> =
            self.journal.entries.iter().map(|entry| (entry.values, entry.run)).collect();
        let mut missing = Vec::new();
        for combination in 0..plan.combinations() {
            let values: Vec<String> =
                plan.values(combination).into_iter().map(Into::into).collect();
            let known = self.journal.values.get(&values);
            let mut sought = (values, 0);
            for run in 0..plan.runs_each() {
                let task = combination * plan.runs_each() as usize + run as usize;
                sought.1 = run;
                let is_ours = self.shard.is_none_or(|shard| shard.takes(task));
                let is_done = known.is_some_and(|&values| done.contains(&(values, run)))
                    || !self.elsewhere.is_empty() && self.elsewhere.contains(&sought);
                if is_ours && !is_done {
                    missing.push(Task { combination: combination as u32, run });
                }
            }
        }
        missing
    }

    /// Number of runs in this journal.
    pub fn len(&self) -> usize {
        self.journal.entries.len()
    }

    /// Whether this journal has no runs.
    pub fn is_empty(&self) -> bool {
        self.journal.entries.is_empty()
    }

    /// Number of failed runs in the journal.
    pub fn failed(&self) -> usize {
        self.journal.entries.iter().filter(|entry| entry.has_failed).count()
    }

    /// Lines that were damaged when the folder was opened: their runs are missing.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    /// Returns the runs in it that failed, by the reason, in the order of the journal.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn failures(&mut self) -> Result<Vec<FailedRuns>, StoreError> {
        self.flush()?;
        let file = File::open(&self.journal.path).map_err(|source| self.error(source))?;
        let names = self.journal.names();
        let mut failures: Vec<FailedRuns> = Vec::new();
        for entry in self.journal.entries.iter().filter(|entry| entry.has_failed) {
            let line = line_of(&file, entry).map_err(|source| self.error(source))?;
            let ended: Ended = serde_json::from_slice(&line).map_err(|why| self.damage(&why))?;
            let error = ended.error.unwrap_or_default();
            if let Some(known) = failures.iter_mut().find(|known| known.error == error) {
                known.runs += 1;
                continue;
            }
            let values = names[entry.values as usize].iter();
            let pairs = self.asked.keys.iter().zip(values);
            let pairs: Vec<String> =
                pairs.map(|(key, value)| format!("{}={value}", key.key)).collect();
            failures.push(FailedRuns { error, runs: 1, first: pairs.join(", ") });
        }
        Ok(failures)
    }

    fn damage(&self, why: &serde_json::Error) -> StoreError {
        StoreError::Damaged { path: self.journal.path.clone(), message: why.to_string() }
    }

    /// Appends a result, which is in the file after [`flush`](Self::flush) at the latest.
    ///
    /// # Errors
    /// If the file cannot be written, for example because the disk is full.
    pub fn append(&mut self, record: &Record, line: &str) -> Result<(), StoreError> {
        let has_failed = record.outcome.has_failed();
        self.append_line(record.values.clone(), record.run, has_failed, line)
    }

    /// Like [`append`](Self::append), with a line that another process wrote, and the record in it.
    ///
    /// # Errors
    /// The same errors as [`append`](Self::append).
    pub(crate) fn append_line(
        &mut self,
        values: Vec<String>,
        run: u32,
        has_failed: bool,
        line: &str,
    ) -> Result<(), StoreError> {
        self.writer.write_all(line.as_bytes()).map_err(|source| self.error(source))?;
        self.journal.note(values, run, line.len(), has_failed);
        Ok(())
    }

    /// Writes the appended lines to the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.writer.flush().map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> StoreError {
        StoreError::File { path: self.journal.path.clone(), source }
    }

    /// Makes the tables and, unless this is a shard, `index.html`, which `page` returns for the
    /// means of all runs in the journal.
    ///
    /// # Errors
    /// If they cannot be written; earlier ones stay.
    pub fn finish(mut self, page: impl FnOnce(Means<'_>) -> String) -> Result<PathBuf, StoreError> {
        self.flush()?;
        self.writer.get_ref().sync_data().map_err(|source| self.error(source))?;
        write_tables(&self.folder, &self.asked, &self.journal, self.shard, page)?;
        Ok(self.folder)
    }
}

/// Combines journals and tables of all shards in a folder into one journal and one set of tables,
/// and removes the files of the shards. `page` returns `index.html`, as in [`Store::finish`].
///
/// # Errors
/// If a shard is still being written, a file cannot be read or written, or there is no sweep.
pub fn merge(folder: &Path, page: impl FnOnce(Means<'_>) -> String) -> Result<Merged, StoreError> {
    let Some(asked) = read_asked(folder)? else {
        let message = "there is no sweep.json here".to_owned();
        return Err(StoreError::Damaged { path: folder.to_owned(), message });
    };
    let whole = folder.join("journal.jsonl");
    let _lock = OutputLock::exclusive(folder)?;
    let mut damaged = 0;
    let mut locks = Vec::new();
    let mut known = BTreeSet::new();
    let mut directory = OutputDir::create(folder)?;
    let mut merged = BufWriter::new(directory.file("journal.jsonl")?);
    let parts = journals(folder)?;
    for path in &parts {
        let error = |source| StoreError::File { path: path.clone(), source };
        let file = File::open(path).map_err(error)?;
        lock_journal(&file, path)?;
        let journal = Journal::read(path, asked.keys.len())?;
        damaged += journal.damaged.len();
        let names = journal.names();
        for entry in &journal.entries {
            if known.insert((names[entry.values as usize].clone(), entry.run)) {
                let line = line_of(&file, entry).map_err(error)?;
                let written = merged.write_all(&line);
                written.map_err(|source| StoreError::File { path: whole.clone(), source })?;
            }
        }
        locks.push(file);
    }
    merged.flush().map_err(|source| StoreError::File { path: whole.clone(), source })?;
    drop(merged);
    directory.commit()?;
    let journal = Journal::read(&whole, asked.keys.len())?;
    write_tables(folder, &asked, &journal, None, page)?;
    for path in parts.iter().filter(|path| **path != whole) {
        remove_part(folder, path)?;
    }
    let runs = journal.entries.len();
    Ok(Merged { runs, asked: asked.combinations.saturating_mul(asked.runs.into()), damaged })
}

/// Locks a journal against other writers.
fn lock_journal(file: &File, path: &Path) -> Result<(), StoreError> {
    file.try_lock().map_err(|_| StoreError::Busy { path: path.to_owned(), holder: holder(file) })
}

/// Removes the journal of a shard and its tables.
fn remove_part(folder: &Path, journal: &Path) -> Result<(), StoreError> {
    let name = journal.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let part = name.trim_start_matches("journal").trim_end_matches(".jsonl");
    let tables = tables::NAMES.iter().map(|table| folder.join(format!("{table}{part}.parquet")));
    for path in tables.chain([journal.to_owned()]) {
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::File { path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

fn read_asked(folder: &Path) -> Result<Option<Asked>, StoreError> {
    let path = folder.join("sweep.json");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StoreError::File { path, source }),
    };
    match serde_json::from_str(&text) {
        Ok(asked) => Ok(Some(asked)),
        Err(why) => {
            Err(StoreError::Damaged { path, message: format!("this is not of a sweep: {why}") })
        }
    }
}

/// Returns the journals in a folder, in the order of their names.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let error = |source| StoreError::File { path: folder.to_owned(), source };
    let mut journals = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("journal.") && name.ends_with(".jsonl") {
            journals.push(path);
        }
    }
    journals.sort();
    Ok(journals)
}

impl Journal {
    /// Returns the lines in the file at `path`, each of a run, with `keys` values.
    fn read(path: &Path, keys: usize) -> Result<Self, StoreError> {
        let error = |source| StoreError::File { path: path.to_owned(), source };
        let file = File::open(path).map_err(error)?;
        let mut lines = BufReader::new(file);
        let mut journal = Self {
            path: path.to_owned(),
            values: BTreeMap::new(),
            entries: Vec::new(),
            length: 0,
            damaged: Vec::new(),
        };
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let bytes = lines.read_until(b'\n', &mut line).map_err(error)?;
            // The process was killed in the middle of the last line.
            if bytes == 0 || !line.ends_with(b"\n") {
                break;
            }
            if !is_sound(&line) {
                // A line that was damaged is blank since its run was made again.
                if !line.trim_ascii().is_empty() {
                    journal.damaged.push((journal.length, bytes));
                }
                journal.length += bytes as u64;
                continue;
            }
            let damaged = |message| StoreError::Damaged { path: path.to_owned(), message };
            let head: Head = serde_json::from_slice(&line)
                .map_err(|why| damaged(format!("line {number} is no result: {why}")))?;
            let values = head.values.len();
            if values != keys {
                let expected = format!("expected {keys}, one for each key in sweep.json");
                return Err(damaged(format!("line {number} has {values} values: {expected}")));
            }
            journal.note(head.values, head.run, bytes, head.error.is_some());
        }
        Ok(journal)
    }

    /// Overwrites damaged lines with blanks. Lines stay damaged if the process is killed meanwhile.
    fn blank_damaged(&mut self) -> io::Result<()> {
        if self.damaged.is_empty() {
            return Ok(());
        }
        // Not the handle that appends: it would append these, too.
        let file = OpenOptions::new().write(true).open(&self.path)?;
        for (offset, bytes) in self.damaged.drain(..) {
            file.write_all_at(&vec![b' '; bytes - 1], offset)?;
        }
        Ok(())
    }

    /// Checks that no line is damaged, for readers that make no run again.
    fn check(&self) -> Result<(), StoreError> {
        match self.damaged.len() {
            0 => Ok(()),
            lines => Err(StoreError::Damaged {
                path: self.path.clone(),
                message: format!(
                    "{lines} of its lines {} damaged; the command in sweep.json makes their runs again",
                    if lines == 1 { "is" } else { "are" }
                ),
            }),
        }
    }

    fn note(&mut self, values: Vec<String>, run: u32, bytes: usize, has_failed: bool) {
        let next = self.values.len() as u32;
        let values = *self.values.entry(values).or_insert(next);
        let bytes = u32::try_from(bytes).expect("a document is far below 4 GiB");
        self.entries.push(Entry { values, run, offset: self.length, bytes, has_failed });
        self.length += u64::from(bytes);
    }

    /// Returns the values by their index.
    fn names(&self) -> Vec<&Vec<String>> {
        let mut names: Vec<(&Vec<String>, u32)> =
            self.values.iter().map(|(values, &index)| (values, index)).collect();
        names.sort_by_key(|&(_, index)| index);
        names.into_iter().map(|(values, _)| values).collect()
    }

    fn runs(&self) -> Vec<(Vec<String>, u32)> {
        let names = self.names();
        let run = |entry: &Entry| (names[entry.values as usize].clone(), entry.run);
        self.entries.iter().map(run).collect()
    }
}

/// Keys of a line that identify its run.
#[derive(Deserialize)]
pub(crate) struct Head {
    pub values: Vec<String>,
    pub run: u32,
    #[serde(default)]
    pub error: Option<serde::de::IgnoredAny>,
}

/// Keys of a line that show the contents of its document.
#[derive(Deserialize)]
struct SketchLine {
    #[serde(default)]
    document: tables::Sketch,
}

fn line_of(file: &File, entry: &Entry) -> io::Result<Vec<u8>> {
    let mut line = vec![0; entry.bytes as usize];
    file.read_exact_at(&mut line, entry.offset)?;
    Ok(line)
}

/// Returns the tables of a sweep's folder by name, in memory, and the request.
///
/// # Errors
/// If there is no sweep, if it is in shards that were not merged, or a file cannot be read.
pub fn read_tables(folder: &Path) -> Result<(Asked, NamedTables), StoreError> {
    let Some(asked) = read_asked(folder)? else {
        let message = "there is no sweep.json here".to_owned();
        return Err(StoreError::Damaged { path: folder.to_owned(), message });
    };
    let whole = folder.join("journal.jsonl");
    if journals(folder)?.iter().any(|path| *path != whole) {
        let message = "there are shards: merge them with lasthop sweep --merge".to_owned();
        return Err(StoreError::Damaged { path: folder.to_owned(), message });
    }
    let journal = Journal::read(&whole, asked.keys.len())?;
    journal.check()?;
    let tables = Results::new(&asked, &journal)?.fill(tables::Destination::Memory, None)?;
    Ok((asked, tables))
}

/// Makes the tables of a journal and, unless it is a shard's, the page.
fn write_tables(
    folder: &Path,
    asked: &Asked,
    journal: &Journal,
    shard: Option<Shard>,
    page: impl FnOnce(Means<'_>) -> String,
) -> Result<(), StoreError> {
    let results = Results::new(asked, journal)?;
    let mut directory = OutputDir::create(folder)?;
    let flows = results.found.flows.iter().cloned();
    let mut means = shard.is_none().then(|| Collector::new(results.places.len(), flows));
    let files = tables::Destination::Files(&mut directory, part(shard));
    results.fill(files, means.as_mut())?;
    if let Some(means) = means {
        let html = page(means.finish(asked, &results.keys, &results.places));
        directory.write("index.html", html.as_bytes())?;
    }
    directory.commit()?;
    Ok(())
}

/// Records of a journal, in the order of the values.
struct Results<'a> {
    asked: &'a Asked,
    path: &'a Path,
    file: File,
    /// A column for each key, with the values of the combinations.
    keys: Vec<(ValueColumn, Vec<Value>)>,
    /// The combinations in order.
    places: Vec<u32>,
    /// The runs in order, each once.
    entries: Vec<Entry>,
    found: tables::Found,
}

impl<'a> Results<'a> {
    fn new(asked: &'a Asked, journal: &'a Journal) -> Result<Self, StoreError> {
        let path = journal.path.as_path();
        let file = File::open(path)
            .map_err(|source| StoreError::File { path: path.to_owned(), source })?;
        let names = journal.names();
        // Of all that are there, so that more values give more rows, and no other ones.
        let column = |(at, key): (usize, &AskedKey)| {
            ValueColumn::for_values(&key.key, names.iter().map(move |values| values[at].as_str()))
        };
        let keys: Vec<_> = asked.keys.iter().enumerate().map(column).collect();
        let order = |a: u32, b: u32| {
            let mut columns =
                keys.iter().map(|(_, values)| values[a as usize].order(&values[b as usize]));
            columns.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        };
        let mut places: Vec<u32> = (0..names.len() as u32).collect();
        places.sort_by(|&a, &b| order(a, b));
        let mut place = vec![0_u32; names.len()];
        for (at, &values) in (0..).zip(&places) {
            place[values as usize] = at;
        }
        let mut entries = journal.entries.clone();
        entries.sort_by_key(|entry| (place[entry.values as usize], entry.run));
        entries.dedup_by_key(|entry| (entry.values, entry.run));
        let found = tables::Found::default();
        let mut results = Self { asked, path, file, keys, places, entries, found };
        for entry in &results.entries {
            let sketch: SketchLine = results.read(entry)?;
            results.found.add(&sketch.document);
        }
        Ok(results)
    }

    /// Makes the tables, and adds every run to the means.
    fn fill(
        &self,
        to: tables::Destination<'_>,
        mut means: Option<&mut Collector>,
    ) -> Result<NamedTables, StoreError> {
        let mut tables = tables::Tables::new(to, self.asked, &self.keys, &self.found)?;
        for entry in &self.entries {
            let ended: Ended = self.read(entry)?;
            tables.add(entry.values as usize, entry.run, &ended)?;
            if let (Some(document), Some(means)) = (&ended.document, &mut means) {
                means.add(entry.values, document);
            }
        }
        tables.finish()
    }

    fn read<T: DeserializeOwned>(&self, entry: &Entry) -> Result<T, StoreError> {
        let path = || self.path.to_owned();
        let line = line_of(&self.file, entry)
            .map_err(|source| StoreError::File { path: path(), source })?;
        serde_json::from_slice(&line).map_err(|why| StoreError::Damaged {
            path: path(),
            message: format!("at byte {}: {why}", entry.offset),
        })
    }
}

impl Outcome {
    /// Whether there is no document.
    pub fn has_failed(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}
