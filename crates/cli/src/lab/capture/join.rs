//! Joins simultaneous captures. Each file is read once for its own analysis and a sample of its packets,
//! and then all are read together. Standard input can be read only once, so its bytes are kept
//! until the end, in an unnamed file in the directory for temporary files.

use super::segments::Segments;
use super::source;
use super::{NOTHING, is_readable, report_cut};
use crate::args::Capture;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::decrypt::Credentials;
use lasthop_capture::document::{self, JoinedFile, JoinedSummary};
use lasthop_capture::file;
use lasthop_capture::join::{self, Join, SegmentWay, Survey};
use lasthop_report::capture::BySecond;
use lasthop_trace::OutputDir;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The other files, and the surveys of all files.
pub struct Together {
    others: Vec<Other>,
    /// Surveys of the other files.
    surveys: Vec<Survey>,
    /// Survey of the first file.
    first: Survey,
    path: PathBuf,
    credentials: Credentials,
    spool: Option<File>,
}

struct Other {
    path: PathBuf,
    name: String,
    analysis: Analysis,
}

impl Together {
    /// Reads the other files; `None` if there are none.
    pub fn read(
        args: &Capture,
        credentials: &Credentials,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>, Failure> {
        let (Some(first), false) = (&args.file, args.with.is_empty()) else { return Ok(None) };
        let all = args.with.iter().chain([first]);
        if all.filter(|path| is_standard_input(path)).count() > 1 {
            return Err(Failure::message("-: the standard input can be one of the files only"));
        }
        let mut together = Self {
            others: Vec::new(),
            surveys: Vec::new(),
            first: Survey::default(),
            path: first.clone(),
            credentials: credentials.clone(),
            spool: None,
        };
        for path in &args.with {
            let (name, analysis, survey) = together.survey(path, interrupt)?;
            report_cut(&name, &analysis);
            together.others.push(Other { path: path.clone(), name, analysis });
            together.surveys.push(survey);
        }
        Ok(Some(together))
    }

    /// Reads the first file; returns its name and its analysis.
    pub fn read_first(&mut self, interrupt: &Interrupt) -> Result<(String, Analysis), Failure> {
        let path = self.path.clone();
        let (name, analysis, survey) = self.survey(&path, interrupt)?;
        self.first = survey;
        Ok((name, analysis))
    }

    /// Reads a file for the first time.
    fn survey(
        &mut self,
        path: &Path,
        interrupt: &Interrupt,
    ) -> Result<(String, Analysis, Survey), Failure> {
        let name = path.display().to_string();
        let failed = |why: &dyn std::fmt::Display| Failure::message(format!("{name}: {why}"));
        let source = self.open(path).map_err(|why| failed(&why))?;
        let mut capture = file::Capture::open(source).map_err(|why| failed(&why))?;
        let (mut analysis, mut survey) =
            (Analysis::new(self.credentials.clone()), Survey::default());
        analysis.watch();
        loop {
            match capture.next_packet() {
                Ok(Some(packet)) => analysis.handle_packet(&packet),
                Ok(None) => break,
                Err(error) => {
                    analysis.handle_error(&error);
                    break;
                }
            }
            survey.take(&mut analysis);
            if analysis.packets % 4_096 == 0 && interrupt.came() {
                break;
            }
        }
        analysis.finish();
        survey.take(&mut analysis);
        is_readable(&name, &analysis, NOTHING)?;
        Ok((name, analysis, survey))
    }

    /// Opens a file for the first time; keeps the bytes of standard input.
    fn open(&mut self, path: &Path) -> io::Result<Box<dyn Read>> {
        if !is_standard_input(path) {
            return Ok(Box::new(source::open(path)?));
        }
        let spool = unnamed()?;
        self.spool = Some(spool.try_clone()?);
        Ok(Box::new(Tee { source: Box::new(io::stdin()), spool }))
    }

    /// Joins all files. Writes segments to `out`, if present, and returns the parts of their delays
    /// by second.
    pub fn join(
        self,
        name: &str,
        analysis: &Analysis,
        mut out: Option<&mut OutputDir>,
        interrupt: &Interrupt,
    ) -> Result<(JoinedSummary, BySecond), Failure> {
        let mut files = vec![JoinedFile { name, analysis }];
        let (mut surveys, mut paths) = (vec![self.first], vec![self.path]);
        for other in &self.others {
            files.push(JoinedFile { name: &other.name, analysis: &other.analysis });
            paths.push(other.path.clone());
        }
        surveys.extend(self.surveys);
        let mut join = Join::new(surveys);
        let begin_ns = document::begin_ns(&files, &join);
        let segments = out.as_mut().map(|out| Segments::new(out, &join, begin_ns));
        let mut segments = segments.transpose()?;
        let spool = self.spool;
        let mut open = |file: usize| -> io::Result<join::Source> {
            match (&spool, &paths[file]) {
                (Some(spool), path) if is_standard_input(path) => {
                    let mut again = spool.try_clone()?;
                    again.rewind()?;
                    Ok(Box::new(again))
                }
                (_, path) => Ok(Box::new(File::open(path)?)),
            }
        };
        let credentials = self.credentials;
        let begin = || Analysis::new(credentials.clone());
        let mut each = |way: &SegmentWay| {
            if let Some(segments) = &mut segments {
                segments.handle(way);
            }
        };
        let again = join::read(&mut join, &mut open, &begin, &mut each, &|| interrupt.came());
        let again =
            again.map_err(|why| Failure::message(format!("cannot read the files again: {why}")))?;
        let by_second = segments.map(Segments::finish).transpose()?.unwrap_or_default();
        Ok((JoinedSummary::new(&files, &join, again), by_second))
    }
}

/// Returns the problems of files that could not be aligned with the others.
pub fn unaligned(joined: &JoinedSummary) -> Vec<String> {
    let is_known = |place: &&lasthop_capture::document::PlaceSummary| {
        place.clock.is_some() || place.name == joined.reference
    };
    let is_aligned = |file: &str| joined.places.iter().filter(is_known).any(|it| it.file == file);
    let names = joined.places.iter().map(|place| place.file.as_str());
    let mut all = names.chain(joined.files.iter().map(|file| file.file.as_str()));
    if all.all(is_aligned) { Vec::new() } else { joined.problems.clone() }
}

fn is_standard_input(path: &Path) -> bool {
    path.to_str() == Some("-")
}

/// Reader that copies its bytes.
struct Tee {
    source: Box<dyn Read>,
    spool: File,
}

impl Read for Tee {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.spool.write_all(&buffer[..read])?;
        Ok(read)
    }
}

/// Makes a file that the system removes when it is closed, however the command ends.
fn unnamed() -> io::Result<File> {
    let directory = env::temp_dir();
    for number in 0u32.. {
        let path = directory.join(format!("lasthop-capture-{}-{number}", std::process::id()));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
        }
    }
    unreachable!("some number is free")
}
