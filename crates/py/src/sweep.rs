//! Sweeps for Python: the crate `sweep`, with runs on threads of this process or in other
//! processes. Between processes, a sweep is JSON, and finished runs are a batch of Arrow's
//! IPC stream format, so that nothing is pickled. Long operations run without the
//! interpreter's lock, and Ctrl-C ends them. `python/lasthop/_dask.py` has the other
//! processes.

use crate::scenario::{Scenario, raised};
use crate::simulate::{LOOK_EVERY, now};
use crate::table::Table;
use crate::toml;
use arrow_array::array::{Int64Array, StringArray};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use lasthop_report::sweep::page;
use lasthop_sweep::afar::{self, AfarError, Blueprint, Made, Pending};
use lasthop_sweep::vary::{Axis, VaryError};
use lasthop_sweep::{Engine, Plan, PlanError, Progress, Store, StoreError};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyType};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Key of a batch's duration in seconds, in its schema's metadata.
const SECONDS: &str = "lasthop.seconds";

/// The plan of a sweep; see ``lasthop.sweep``.
#[pyclass(frozen, module = "lasthop._lasthop")]
pub struct SweepPlan {
    plan: Plan,
}

#[pymethods]
impl SweepPlan {
    /// ``vary`` has values for each key: a list, or text in the form of ``--vary``; without
    /// it, the scenario's ``[sweep]`` counts.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, Scenario>,
        vary: Option<&Bound<'_, PyDict>>,
        zip: bool,
        runs: Option<u32>,
    ) -> PyResult<Self> {
        let (file, text, sets) = scenario.get().parts();
        let plan = match vary {
            Some(vary) => {
                let mut axes = Vec::new();
                for (path, values) in vary.iter() {
                    axes.push(axis(py, path.cast::<PyString>()?.to_str()?, &values)?);
                }
                if axes.is_empty() {
                    return Err(sweep_error(py, "no key is varied: vary is empty".into()));
                }
                Plan::from_axes(file, text, sets, axes, zip, runs)
            }
            None => {
                let request = lasthop_sweep::Request { vary: Vec::new(), zip, runs };
                Plan::new(file, text, sets, &request)
            }
        };
        plan.map(|plan| Self { plan }).map_err(|why| not_planned(py, why))
    }

    /// Reads every combination; raises with all invalid ones.
    fn check(&self, py: Python<'_>, threads: usize) -> PyResult<()> {
        let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut interrupted = None;
        let checked = py.detach(|| {
            thread::scope(|scope| {
                let checking = scope.spawn(|| {
                    let checked = self.plan.check(threads.max(1), &stop);
                    done.store(true, Ordering::Release);
                    checked
                });
                while !done.load(Ordering::Acquire) {
                    thread::park_timeout(CHECK_EVERY);
                    if let Err(error) = Python::attach(|py| py.check_signals()) {
                        stop.store(true, Ordering::Relaxed);
                        interrupted.get_or_insert(error);
                    }
                }
                checking.join()
            })
        });
        match (interrupted, checked) {
            (Some(error), _) => Err(error),
            (None, Ok(checked)) => checked.map_err(|why| not_planned(py, why.into())),
            (None, Err(_)) => Err(PyRuntimeError::new_err("reading a combination panicked")),
        }
    }

    /// Number of combinations.
    #[getter]
    fn combinations(&self) -> usize {
        self.plan.combinations()
    }

    /// Number of runs.
    #[getter]
    fn runs(&self) -> usize {
        self.plan.runs()
    }

    /// Returns the description from which another process makes its runs.
    fn blueprint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, Blueprint::from_plan(&self.plan).to_json().as_bytes())
    }

    /// Opens the folder of the sweep, and creates it if missing.
    fn open(&self, py: Python<'_>, folder: PathBuf, series: bool) -> PyResult<SweepWork> {
        let store = py
            .detach(|| Store::open(&folder, &self.plan, None, series))
            .map_err(|why| not_kept(py, why))?;
        let pending = Pending::new(self.plan.clone(), &store);
        let series = series.then(|| folder.join("series"));
        Ok(SweepWork { plan: self.plan.clone(), pending, series, store: Some(store) })
    }
}

/// A sweep in progress, with its folder.
#[pyclass(module = "lasthop._lasthop")]
pub struct SweepWork {
    plan: Plan,
    pending: Pending,
    series: Option<PathBuf>,
    /// Store of results; `None` after it was closed.
    store: Option<Store>,
}

#[pymethods]
impl SweepWork {
    /// Number of finished runs.
    #[getter]
    fn there(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.store(py)?.len())
    }

    /// Number of failed runs among them.
    #[getter]
    fn failed(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.store(py)?.failed())
    }

    /// Number of missing runs that are not given out.
    #[getter]
    fn left(&self) -> usize {
        self.pending.left()
    }

    /// Makes all remaining runs on threads; calls ``progress`` with the number of finished
    /// ones.
    fn make(
        &mut self,
        py: Python<'_>,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let callback = progress.map(|progress| progress.clone().unbind());
        let tasks = self.pending.take_here();
        let Some(store) = &mut self.store else { return Err(closed(py)) };
        let engine =
            Engine { plan: &self.plan, threads: threads.max(1), series: self.series.clone() };
        let (mut made, mut failure, mut raised) = (0_usize, None, None);
        let result = py.detach(|| {
            let mut looked = now();
            engine.make(&tasks, &mut |progress| {
                if let Progress::Record(record, line) = progress {
                    match store.append(record, line) {
                        Ok(()) => made += 1,
                        Err(why) => {
                            failure.get_or_insert(why);
                        }
                    }
                }
                if failure.is_some() || raised.is_some() {
                    return ControlFlow::Break(());
                }
                if looked.elapsed() < LOOK_EVERY {
                    return ControlFlow::Continue(());
                }
                looked = now();
                if let Err(why) = store.flush() {
                    failure = Some(why);
                    return ControlFlow::Break(());
                }
                let heard = Python::attach(|py| {
                    py.check_signals()?;
                    callback.as_ref().map_or(Ok(()), |call| call.call1(py, (made,)).map(drop))
                });
                match heard {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        raised = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })
        });
        if let Some(why) = failure {
            return Err(not_kept(py, why));
        }
        result.map_err(|why| not_kept(py, why.into()))?;
        store.flush().map_err(|why| not_kept(py, why))?;
        raised.map_or(Ok(()), Err)
    }

    /// Gives out up to ``most`` missing runs, by number.
    fn take(&mut self, most: usize) -> Vec<u64> {
        self.pending.take(most)
    }

    /// Adds the result of ``make_runs``; returns the number of new runs, and their duration
    /// in seconds.
    fn add(&mut self, py: Python<'_>, batch: &[u8]) -> PyResult<(usize, f64)> {
        let Some(store) = &mut self.store else { return Err(closed(py)) };
        let (made, seconds) = from_ipc(batch)
            .map_err(|why| sweep_error(py, format!("the result is not a batch of runs: {why}")))?;
        let mut new = 0;
        for made in made {
            new += usize::from(self.pending.settle(&made, store).map_err(|why| not_afar(py, why))?);
        }
        store.flush().map_err(|why| not_kept(py, why))?;
        Ok((new, seconds))
    }

    /// Records that a run cannot be made.
    fn fail(&mut self, py: Python<'_>, number: u64, message: &str) -> PyResult<()> {
        let Some(store) = &mut self.store else { return Err(closed(py)) };
        self.pending.fail(number, message, store).map_err(|why| not_afar(py, why))
    }

    /// Closes the sweep and keeps its results; makes tables and the page if ``tables``.
    fn close(&mut self, py: Python<'_>, tables: bool) -> PyResult<()> {
        let Some(mut store) = self.store.take() else { return Ok(()) };
        let closed =
            py.detach(|| if tables { store.finish(page).map(drop) } else { store.flush() });
        closed.map_err(|why| not_kept(py, why))
    }
}

impl SweepWork {
    fn store(&self, py: Python<'_>) -> PyResult<&Store> {
        self.store.as_ref().ok_or_else(|| closed(py))
    }
}

/// Makes runs of a sweep by number; returns a batch of Arrow's IPC stream for
/// ``SweepWork.add``.
///
/// Python delivers signals to the main thread only, so on other threads Ctrl-C has no
/// effect.
#[pyfunction]
pub fn make_runs<'py>(
    py: Python<'py>,
    blueprint: &[u8],
    numbers: Vec<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut interrupted = None;
    let begin = now();
    let made = py.detach(|| {
        let plan = Blueprint::from_json(blueprint)?.plan()?;
        let mut looked = begin;
        afar::make(&plan, &numbers, &mut || {
            if looked.elapsed() < LOOK_EVERY {
                return ControlFlow::Continue(());
            }
            looked = now();
            match Python::attach(|py| py.check_signals()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    interrupted = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let made = made.map_err(|why| not_afar(py, why))?;
    let bytes = to_ipc(made, begin.elapsed().as_secs_f64());
    bytes
        .map(|bytes| PyBytes::new(py, &bytes))
        .map_err(|why| PyRuntimeError::new_err(why.to_string()))
}

/// Returns the document ``sweep.json`` as text, and the tables of a sweep's folder by name.
#[pyfunction]
pub fn sweep_tables(
    py: Python<'_>,
    folder: PathBuf,
) -> PyResult<(String, Vec<(&'static str, Table)>)> {
    let read = py.detach(|| {
        if !folder.join("sweep.json").is_file() {
            return Ok(None);
        }
        lasthop_sweep::read_tables(&folder).map(Some)
    });
    let Some((asked, tables)) = read.map_err(|why| not_kept(py, why))? else {
        let message = format!("{}: no sweep.json in this folder", folder.display());
        return Err(PyFileNotFoundError::new_err(message));
    };
    let asked = serde_json::to_string(&asked).expect("it is valid JSON");
    let table = |(name, columns)| Ok((name, Table::new(columns)?));
    Ok((asked, tables.into_iter().map(table).collect::<PyResult<_>>()?))
}

/// Interval between two checks whether all combinations are read.
const CHECK_EVERY: std::time::Duration = std::time::Duration::from_millis(5);

/// Returns the key at `path` with its values: text in the form of `--vary`, or any number
/// of values.
fn axis(py: Python<'_>, path: &str, values: &Bound<'_, PyAny>) -> PyResult<Axis> {
    let axis = match values.cast::<PyString>() {
        Ok(text) => Axis::parse(&format!("{path}={}", text.to_str()?)),
        Err(_) => {
            let mut found = Vec::new();
            for value in values.try_iter().map_err(|_| {
                let kind = values
                    .get_type()
                    .name()
                    .map_or_else(|_| "another".into(), |name| name.to_string());
                PyValueError::new_err(format!(
                    "vary[{path:?}]: expected a list of values, got {kind}"
                ))
            })? {
                found.push(toml::varied(&value?)?);
            }
            Axis::new(path, found)
        }
    };
    axis.map_err(|VaryError { message, .. }| sweep_error(py, format!("vary[{path:?}]: {message}")))
}

fn batch_schema(seconds: f64) -> Schema {
    let fields = [("number", DataType::Int64), ("line", DataType::Utf8)];
    let fields = fields.map(|(name, kind)| Field::new(name, kind, false));
    Schema::new(fields.to_vec()).with_metadata(
        [(SECONDS.to_owned(), seconds.to_string())].into_iter().collect::<BTreeMap<_, _>>(),
    )
}

fn to_ipc(made: Vec<Made>, seconds: f64) -> Result<Vec<u8>, ArrowError> {
    let schema = Arc::new(batch_schema(seconds));
    let numbers: Int64Array = made.iter().map(|made| Some(made.number as i64)).collect();
    let lines: StringArray = made.iter().map(|made| Some(made.line.as_str())).collect();
    let columns: [ArrayRef; 2] = [Arc::new(numbers), Arc::new(lines)];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.to_vec())?;
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    writer.into_inner()
}

fn from_ipc(bytes: &[u8]) -> Result<(Vec<Made>, f64), ArrowError> {
    let reader = StreamReader::try_new(bytes, None)?;
    let schema = reader.schema();
    let expected = batch_schema(0.0);
    let seconds = schema.metadata().get(SECONDS).and_then(|text| text.parse().ok());
    let (true, Some(seconds)) = (schema.fields() == expected.fields(), seconds) else {
        return Err(ArrowError::SchemaError("it has other columns".into()));
    };
    let mut all = Vec::new();
    for batch in reader {
        let batch = batch?;
        let numbers = batch.column(0).as_primitive::<Int64Type>().values().iter();
        let lines = batch.column(1).as_string::<i32>().iter();
        all.extend(numbers.zip(lines).map(|(&number, line)| Made {
            number: number as u64,
            line: line.unwrap_or_default().to_owned(),
        }));
    }
    Ok((all, seconds))
}

/// Makes the exception `lasthop.SweepError`.
fn sweep_error(py: Python<'_>, message: String) -> PyErr {
    let make = || {
        let kind = py.import("lasthop._sweep")?.getattr("SweepError")?;
        kind.cast_into::<PyType>()?.call1((message,))
    };
    make().map_or_else(|why: PyErr| why, PyErr::from_value)
}

fn not_planned(py: Python<'_>, why: PlanError) -> PyErr {
    match why {
        PlanError::Scenario(error) => raised(py, &error),
        PlanError::Vary(errors) => {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            sweep_error(py, lines.join("\n"))
        }
        why => sweep_error(py, why.to_string().replace("--vary ", "vary ")),
    }
}

fn not_kept(py: Python<'_>, why: StoreError) -> PyErr {
    match why {
        StoreError::File { path, source } => match source.raw_os_error() {
            Some(errno) => PyOSError::new_err((errno, os_message(&source), path)),
            None => PyOSError::new_err(format!("{}: {source}", path.display())),
        },
        StoreError::Output(why) => PyOSError::new_err(why.to_string()),
        why => sweep_error(py, why.to_string()),
    }
}

/// Returns the system's message, without its number.
fn os_message(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn not_afar(py: Python<'_>, why: AfarError) -> PyErr {
    match why {
        AfarError::Plan(why) => not_planned(py, why),
        AfarError::Store(why) => not_kept(py, why),
        why => sweep_error(py, why.to_string()),
    }
}

fn closed(py: Python<'_>) -> PyErr {
    sweep_error(py, "this sweep was ended".into())
}
