//! The figures of papers, as the command `lasthop reproduce` makes them: quantities with
//! verdicts, and the drawn series, as tables. Figures are made without the interpreter's
//! lock, in separate threads; the caller's thread checks for signals, so that Ctrl-C ends
//! it, and reports the progress.

use crate::table::{Table, counts, numbers, texts, truths};
use lasthop_figures::plot::style::Ink;
use lasthop_figures::plot::{self, Axis, Panel, Point, Series, Span};
use lasthop_studies::reproduce::report::{Entry, Measured, PaperValue as Stated};
use lasthop_studies::reproduce::{
    Claim, Figure, Outcome, PAPERS, Paper, Quantity, Report, ReproduceError, Tested, date, files,
    select,
};
use lasthop_trace::{OutputDir, OutputError, OutputLock};
use pyo3::exceptions::{PyIndexError, PyLookupError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::{panic, thread, time};

/// Interval between two checks for signals, each of which waits for the lock.
const LOOK_EVERY: time::Duration = time::Duration::from_millis(50);

/// The compiled part of ``lasthop.figures.Paper``.
#[pyclass(frozen, module = "lasthop._lasthop")]
pub struct RawPaper(&'static Paper);

/// Returns the papers, in the order of the command.
#[pyfunction]
pub fn papers() -> Vec<RawPaper> {
    PAPERS.into_iter().map(RawPaper).collect()
}

#[pymethods]
impl RawPaper {
    #[getter]
    fn key(&self) -> &'static str {
        self.0.key
    }

    #[getter]
    fn title(&self) -> &'static str {
        self.0.title
    }

    #[getter]
    fn source(&self) -> &'static str {
        self.0.source
    }

    #[getter]
    fn setting(&self) -> &'static str {
        self.0.setting
    }

    /// Returns id, title, explanation and number of runs of each figure.
    fn figures(&self) -> Vec<(&'static str, &'static str, &'static str, usize)> {
        let about =
            |figure: &Figure| (figure.id, figure.title, figure.shows, (figure.runs)().len());
        self.0.figures.iter().map(about).collect()
    }

    fn claims(&self) -> PyResult<Table> {
        let rows: Vec<_> = self.0.claims.iter().flat_map(tests).collect();
        Table::from_columns([
            ("place", texts(rows.iter().map(|row| Some(row.claim.place)))),
            ("says", texts(rows.iter().map(|row| Some(row.claim.says)))),
            ("figure", texts(rows.iter().map(|row| row.by.map(|(figure, _)| figure)))),
            ("quantities", texts(rows.iter().map(|row| row.by.map(|(_, begin)| begin)))),
            ("untested", texts(rows.iter().map(|row| row.untested()))),
        ])
    }

    fn calibrated(&self) -> PyResult<Table> {
        let all = self.0.calibrated;
        Table::from_columns([
            ("key", texts(all.iter().map(|one| Some(one.key)))),
            ("value", texts(all.iter().map(|one| Some(one.value)))),
            ("reason", texts(all.iter().map(|one| Some(one.reason)))),
        ])
    }
}

/// The compiled part of ``lasthop.figures.Figures``.
#[pyclass(frozen, module = "lasthop._lasthop")]
pub struct RawFigures {
    outcomes: Vec<Outcome>,
    report: Report,
}

/// Makes the figures that `figures` selects, `jobs` runs in parallel. Calls `progress` with
/// the simulated seconds so far, and at the end.
#[pyfunction]
pub fn reproduce(
    py: Python<'_>,
    figures: Option<&str>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RawFigures> {
    let selected = select(figures).map_err(|why| PyLookupError::new_err(why.to_string()))?;
    let epoch = std::env::var_os("SOURCE_DATE_EPOCH");
    let date = date(epoch.as_deref(), seconds_since_1970()).map_err(PyValueError::new_err)?;
    let jobs = match jobs {
        Some(0) => return Err(PyValueError::new_err("expected jobs of 1 or more, got 0")),
        Some(jobs) => jobs,
        None => thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    let stop = AtomicBool::new(false);
    let (simulated_ms, total_ms) = (AtomicU64::new(0), AtomicU64::new(0));
    let tell = |progress: lasthop_studies::reproduce::run::Progress| {
        // Several threads call this, so an older value may arrive later.
        total_ms.store(progress.total_ms, Ordering::Relaxed);
        simulated_ms.fetch_max(progress.simulated_ms, Ordering::Release);
    };
    let mut told_ms = 0;
    let mut look = || {
        Python::attach(|py| {
            py.check_signals()?;
            let so_far_ms = simulated_ms.load(Ordering::Acquire);
            match &progress {
                Some(progress) if so_far_ms > told_ms => {
                    told_ms = so_far_ms;
                    let seconds = [so_far_ms, total_ms.load(Ordering::Relaxed)].map(seconds);
                    progress.call1(py, (seconds[0], seconds[1])).map(drop)
                }
                _ => Ok(()),
            }
        })
    };
    let (made, looked) = py.detach(|| {
        let (running, ended) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                // Dropped at the end, also that of a panic, which wakes the caller's thread.
                let _running = running;
                lasthop_studies::reproduce::reproduce(&selected, jobs, &stop, &tell)
            });
            let mut looked = Ok(());
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK_EVERY) {
                if looked.is_ok() {
                    looked = look();
                    stop.fetch_or(looked.is_err(), Ordering::Relaxed);
                }
            }
            let made = worker.join().unwrap_or_else(|bug| panic::resume_unwind(bug));
            (made, looked.and_then(|()| look()))
        })
    });
    looked?;
    // The scenarios are part of the program, and tests run them all.
    let outcomes = made.map_err(|why: ReproduceError| PyRuntimeError::new_err(why.to_string()))?;
    let report = Report::new(&outcomes).dated(date);
    Ok(RawFigures { outcomes, report })
}

#[expect(clippy::disallowed_methods, reason = "the date of a report is that of its making")]
fn seconds_since_1970() -> u64 {
    let since = time::SystemTime::now().duration_since(time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[pymethods]
impl RawFigures {
    fn json(&self) -> String {
        self.report.to_json()
    }

    /// Returns paper and id of each figure.
    fn names(&self) -> Vec<(&'static str, &'static str)> {
        self.outcomes.iter().map(|outcome| (outcome.paper.key, outcome.figure.id)).collect()
    }

    fn verdict(&self, index: usize) -> PyResult<&'static str> {
        self.outcome(index).map(|outcome| outcome.findings.verdict().as_str())
    }

    fn faults(&self, index: usize) -> PyResult<Vec<String>> {
        self.outcome(index).map(|outcome| plot::faults(&outcome.findings.panels))
    }

    /// Returns the quantities of a figure, or of all.
    fn quantities(&self, index: Option<usize>) -> PyResult<Table> {
        let wanted = match index {
            Some(index) => std::slice::from_ref(self.outcome(index)?),
            None => &self.outcomes,
        };
        quantities(wanted)
    }

    fn claims(&self) -> PyResult<Table> {
        let mut rows = Vec::new();
        for outcomes in self.outcomes.chunk_by(|one, other| one.paper.key == other.paper.key) {
            let Some(first) = outcomes.first() else { continue };
            for test in first.paper.claims.iter().flat_map(tests) {
                let before = rows.len();
                for outcome in outcomes.iter() {
                    let tested = outcome.findings.quantities.iter();
                    let tested = tested.filter(|quantity| test.is_of(outcome.figure, quantity));
                    rows.extend(tested.map(|quantity| (first.paper, test, Some(quantity))));
                }
                if rows.len() == before {
                    rows.push((first.paper, test, None));
                }
            }
        }
        let verdict = |quantity: Option<&Quantity>| quantity.map(|q| q.verdict().as_str());
        Table::from_columns([
            ("key", texts(rows.iter().map(|(paper, ..)| Some(paper.key)))),
            ("place", texts(rows.iter().map(|(_, test, _)| Some(test.claim.place)))),
            ("says", texts(rows.iter().map(|(_, test, _)| Some(test.claim.says)))),
            ("figure", texts(rows.iter().map(|(_, test, _)| test.by.map(|(figure, _)| figure)))),
            ("quantity", texts(rows.iter().map(|(.., by)| by.map(|quantity| &quantity.name)))),
            ("verdict", texts(rows.iter().map(|&(.., by)| verdict(by)))),
            ("untested", texts(rows.iter().map(|(_, test, _)| test.untested()))),
        ])
    }

    fn series(&self, index: usize) -> PyResult<Table> {
        let rows: Vec<_> = all_series(self.panels(index)?).collect();
        let y = |of: &Of<'_>| match &of.panel.right {
            Some(right) if of.series.on_right => right.label.clone(),
            _ => of.panel.left.label.clone(),
        };
        let colour = |of: &Of<'_>| format!("#{:06x}", Ink::Series(of.number).light());
        Table::from_columns([
            ("panel", counts(rows.iter().map(|of| Some(of.panel_number)))),
            ("panel_title", texts(rows.iter().map(|of| Some(&of.panel.title)))),
            ("series_number", counts(rows.iter().map(|of| Some(of.number)))),
            ("series", texts(rows.iter().map(|of| Some(&of.series.name)))),
            ("mark", texts(rows.iter().map(|of| Some(of.series.mark.as_str())))),
            ("axis", texts(rows.iter().map(|of| Some(of.axis())))),
            ("x_label", texts(rows.iter().map(|of| Some(&of.panel.x.label)))),
            ("y_label", texts(rows.iter().map(|of| Some(y(of))))),
            ("colour", texts(rows.iter().map(|of| Some(colour(of))))),
        ])
    }

    fn points(&self, index: usize) -> PyResult<Table> {
        let panels = self.panels(index)?;
        let rows: Vec<(Of<'_>, Point)> = all_series(panels)
            .flat_map(|of| of.series.points.iter().map(move |&point| (of, point)))
            .collect();
        Table::from_columns([
            ("panel", counts(rows.iter().map(|(of, _)| Some(of.panel_number)))),
            ("panel_title", texts(rows.iter().map(|(of, _)| Some(&of.panel.title)))),
            ("series_number", counts(rows.iter().map(|(of, _)| Some(of.number)))),
            ("series", texts(rows.iter().map(|(of, _)| Some(&of.series.name)))),
            ("x", numbers(rows.iter().map(|(_, (x, _))| measured(*x)))),
            ("y", numbers(rows.iter().map(|(_, (_, y))| measured(*y)))),
            ("x_name", texts(rows.iter().map(|(of, (x, _))| name(&of.panel.x, *x)))),
            ("y_name", texts(rows.iter().map(|(of, (_, y))| name(&of.panel.left, *y)))),
        ])
    }

    fn bands(&self, index: usize) -> PyResult<Table> {
        let mut rows = Vec::new();
        for (number, panel) in self.panels(index)?.iter().enumerate() {
            for band in &panel.targets {
                let of = panel.series.get(band.series).map(|series| (band.series, &series.name));
                rows.push((number, of, band.x, Some(band.y), &band.label));
            }
            for shade in &panel.shades {
                rows.push((number, None, Some(shade.x.into()), None, &shade.label));
            }
        }
        let end = |span: Option<Span>, end: fn(Span) -> f64| span.map(end);
        Table::from_columns([
            ("panel", counts(rows.iter().map(|row| Some(row.0)))),
            ("series_number", counts(rows.iter().map(|row| row.1.map(|(number, _)| number)))),
            ("series", texts(rows.iter().map(|row| row.1.map(|(_, name)| name)))),
            ("x_from", numbers(rows.iter().map(|row| end(row.2, |x| x.from)))),
            ("x_to", numbers(rows.iter().map(|row| end(row.2, |x| x.to)))),
            ("y_from", numbers(rows.iter().map(|row| end(row.3, |y| y.from)))),
            ("y_to", numbers(rows.iter().map(|row| end(row.3, |y| y.to)))),
            ("label", texts(rows.iter().map(|row| Some(row.4)))),
        ])
    }

    fn axes(&self, index: usize) -> PyResult<Table> {
        let mut rows = Vec::new();
        for (number, panel) in self.panels(index)?.iter().enumerate() {
            let ends = plot::ends(panel);
            rows.push((number, panel, "x", &panel.x, ends.x));
            rows.push((number, panel, "left", &panel.left, ends.left));
            if let Some((axis, ends)) = panel.right.as_ref().zip(ends.right) {
                rows.push((number, panel, "right", axis, ends));
            }
        }
        Table::from_columns([
            ("panel", counts(rows.iter().map(|row| Some(row.0)))),
            ("panel_title", texts(rows.iter().map(|row| Some(&row.1.title)))),
            ("axis", texts(rows.iter().map(|row| Some(row.2)))),
            ("label", texts(rows.iter().map(|row| Some(&row.3.label)))),
            ("from", numbers(rows.iter().map(|row| Some(row.4.0)))),
            ("to", numbers(rows.iter().map(|row| Some(row.4.1)))),
        ])
    }

    /// Returns the names at an axis of a panel, at 0, 1, 2 ..; empty if it has numbers.
    fn tick_names(&self, index: usize, panel: usize, axis: &str) -> PyResult<Vec<String>> {
        let panel = self.panels(index)?.get(panel).ok_or_else(no_such)?;
        let axis = match axis {
            "x" => Some(&panel.x),
            "left" => Some(&panel.left),
            _ => panel.right.as_ref(),
        };
        Ok(axis.map(|axis| axis.names.clone()).unwrap_or_default())
    }

    fn runs(&self, index: usize) -> PyResult<Table> {
        let runs = &self.outcome(index)?.runs;
        Table::from_columns([
            ("name", texts(runs.iter().map(|run| Some(&run.name)))),
            ("scenario", texts(runs.iter().map(|run| Some(run.path)))),
            ("set", texts(runs.iter().map(|run| Some(run.sets.join("\n"))))),
            ("seed", counts(runs.iter().map(|run| Some(run.seed)))),
            ("run", counts(runs.iter().map(|run| Some(run.number)))),
        ])
    }

    fn svg(&self, index: usize) -> PyResult<String> {
        self.panels(index).map(plot::svg)
    }

    fn png<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let panels = self.panels(index)?;
        let image = py.detach(|| plot::png(panels));
        Ok(PyBytes::new(py, &image))
    }

    /// Writes the files of the command into a directory, all or none.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| {
            let _lock = OutputLock::exclusive(&path)?;
            let mut directory = OutputDir::create(path)?;
            for (name, content) in files(&self.outcomes, &self.report) {
                directory.write(&name, &content)?;
            }
            directory.commit()
        });
        written.map_err(|why: OutputError| PyOSError::new_err(why.to_string()))
    }
}

impl RawFigures {
    fn outcome(&self, index: usize) -> PyResult<&Outcome> {
        self.outcomes.get(index).ok_or_else(no_such)
    }

    fn panels(&self, index: usize) -> PyResult<&[Panel]> {
        self.outcome(index).map(|outcome| outcome.findings.panels.as_slice())
    }
}

fn no_such() -> PyErr {
    PyIndexError::new_err("there are fewer figures or panels")
}

/// A statement of a paper with one of its tests, or without.
#[derive(Clone, Copy)]
struct Test {
    claim: &'static Claim,
    /// Id of a figure, and the start of the names of its quantities.
    by: Option<(&'static str, &'static str)>,
}

fn tests(claim: &'static Claim) -> Vec<Test> {
    match claim.tested {
        Tested::By(by) => by.iter().map(|&by| Test { claim, by: Some(by) }).collect(),
        Tested::No(_) => vec![Test { claim, by: None }],
    }
}

impl Test {
    fn is_of(&self, figure: &Figure, quantity: &Quantity) -> bool {
        self.by.is_some_and(|(id, begin)| figure.id == id && quantity.name.starts_with(begin))
    }

    /// Returns the reason why the statement has no test.
    fn untested(&self) -> Option<&'static str> {
        match self.claim.tested {
            Tested::By(_) => None,
            Tested::No(why) => Some(why),
        }
    }
}

fn quantities(outcomes: &[Outcome]) -> PyResult<Table> {
    // The entries of the report have the numbers as they are printed.
    let entries = Report::new(outcomes).figures;
    let all = outcomes.iter().flat_map(|outcome| {
        outcome.findings.quantities.iter().map(move |quantity| (outcome, quantity))
    });
    let rows: Vec<(Entry, &Outcome, &Quantity)> =
        entries.into_iter().zip(all).map(|(entry, (of, quantity))| (entry, of, quantity)).collect();
    let places = |of: &Outcome, quantity: &Quantity| {
        let tests = of.paper.claims.iter().flat_map(tests);
        let tests = tests.filter(|test| test.is_of(of.figure, quantity));
        let places: Vec<_> = tests.map(|test| test.claim.place).collect();
        (!places.is_empty()).then(|| places.join("; "))
    };
    let paper = |entry: &Entry| match entry.paper {
        Stated::Value(value) | Stated::Example { example: value } => Some((value, value)),
        Stated::Range(from, to) => Some((from, to)),
        Stated::Text(_) => None,
    };
    let ours = |entry: &Entry| match entry.ours {
        Some(Measured::Value(value)) => Some((value, value)),
        Some(Measured::Range(from, to)) => Some((from, to)),
        Some(Measured::Shown(_)) | None => None,
    };
    let shown = |entry: &Entry| match entry.ours {
        Some(Measured::Shown(shown)) => Some(shown),
        _ => None,
    };
    let off = |quantity: &Quantity| Some(quantity.off_text()).filter(|text| !text.is_empty());
    Table::from_columns([
        ("key", texts(rows.iter().map(|row| Some(&row.0.key)))),
        ("figure", texts(rows.iter().map(|row| Some(&row.0.figure)))),
        ("quantity", texts(rows.iter().map(|row| Some(&row.0.quantity)))),
        ("unit", texts(rows.iter().map(|row| Some(&row.0.unit)))),
        ("paper", texts(rows.iter().map(|row| Some(row.2.paper_text())))),
        ("ours", texts(rows.iter().map(|row| Some(row.2.ours_text())))),
        ("off", texts(rows.iter().map(|row| off(row.2)))),
        ("band", texts(rows.iter().map(|row| Some(row.2.band_text())))),
        ("verdict", texts(rows.iter().map(|row| Some(row.0.verdict.as_str())))),
        ("note", texts(rows.iter().map(|row| row.0.note.as_ref()))),
        ("place", texts(rows.iter().map(|row| places(row.1, row.2)))),
        ("paper_from", numbers(rows.iter().map(|row| paper(&row.0).map(|pair| pair.0)))),
        ("paper_to", numbers(rows.iter().map(|row| paper(&row.0).map(|pair| pair.1)))),
        ("ours_from", numbers(rows.iter().map(|row| ours(&row.0).map(|pair| pair.0)))),
        ("ours_to", numbers(rows.iter().map(|row| ours(&row.0).map(|pair| pair.1)))),
        ("ours_shown", truths(rows.iter().map(|row| shown(&row.0)))),
        ("band_from", numbers(rows.iter().map(|row| row.0.band.and_then(|band| band.0)))),
        ("band_to", numbers(rows.iter().map(|row| row.0.band.and_then(|band| band.1)))),
    ])
}

/// A series, and its place in the plot.
#[derive(Clone, Copy)]
struct Of<'a> {
    panel_number: usize,
    panel: &'a Panel,
    number: usize,
    series: &'a Series,
}

impl Of<'_> {
    fn axis(&self) -> &'static str {
        match (self.series.on_right, &self.panel.right) {
            (true, Some(_)) => "right",
            _ => "left",
        }
    }
}

fn all_series(panels: &[Panel]) -> impl Iterator<Item = Of<'_>> {
    panels.iter().enumerate().flat_map(|(panel_number, panel)| {
        let of = move |(number, series)| Of { panel_number, panel, number, series };
        panel.series.iter().enumerate().map(of)
    })
}

/// Returns the name at a place of an axis with names.
fn name(axis: &Axis, place: f64) -> Option<&String> {
    // Places of names are whole numbers from 0 on; everything else is between them.
    let is_whole = place >= 0.0 && place.fract() == 0.0;
    is_whole.then(|| axis.names.get(place as usize)).flatten()
}

/// Returns `None` for a value that was not measured.
fn measured(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

fn seconds(millis: u64) -> f64 {
    time::Duration::from_millis(millis).as_secs_f64()
}
