//! One run, as the command `lasthop simulate` makes it: a pure function of scenario, seed
//! and number. It runs without the interpreter's lock, and checks for signals from time to
//! time, so that Ctrl-C ends it. Events and series stay in memory.

use crate::scenario::{Scenario, unreadable};
use crate::table::Table;
use lasthop_report::advice;
use lasthop_report::remedy::Remedies;
use lasthop_report::trial::Trials;
use lasthop_sim::{RunError, info, names, recording};
use lasthop_trace::{Recorder, RunDocument, Tables, Tidy};
use lasthop_units::Seed;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::time;

/// Interval between two checks for signals, each of which waits for the lock.
pub const LOOK_EVERY: time::Duration = time::Duration::from_millis(50);

/// The compiled part of ``lasthop.Run``.
#[pyclass(frozen, module = "lasthop._lasthop")]
pub struct RawRun {
    document: RunDocument,
    #[pyo3(get)]
    events: Option<Py<Table>>,
    #[pyo3(get)]
    series: Option<Py<Table>>,
}

#[pymethods]
impl RawRun {
    fn json(&self) -> String {
        self.document.to_json()
    }

    fn flows(&self) -> PyResult<Table> {
        Table::new(Tidy::Flows.table(&self.document))
    }

    fn nodes(&self) -> PyResult<Table> {
        Table::new(Tidy::Nodes.table(&self.document))
    }

    fn links(&self) -> PyResult<Table> {
        Table::new(Tidy::Links.table(&self.document))
    }
}

/// Makes run `run` of `scenario`.
#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    run: u64,
    series: bool,
    events: bool,
) -> PyResult<RawRun> {
    let valid = scenario.get().valid(py)?;
    let mut interrupted = None;
    let result = py.detach(|| {
        let mut looked = now();
        let wanted = Tables { events, series };
        let mut recorder = Recorder::with_tables(names(&valid), recording(&valid), &wanted)?;
        let seed = Seed::new(valid.seed, run);
        let begin = now();
        let stats = lasthop_sim::simulate(&valid, seed, &mut recorder, &mut |_| {
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
        })?;
        let info = info(&valid, run, begin.elapsed().as_secs_f64());
        let (mut document, tables) = recorder.finish_with_tables(&info, &stats)?;
        let trials = Trials::none("Python tries none; lasthop report DIR does");
        advice::note(&mut document, &mut Remedies::new(&valid.source_text), &trials);
        let table = |columns: Option<_>| columns.map(Table::new).transpose();
        Ok((document, table(tables.events), table(tables.series)))
    });
    let (document, events, series) = result.map_err(|why: RunError| match (why, interrupted) {
        (RunError::Stopped, Some(error)) => error,
        (RunError::Output(why), _) => PyOSError::new_err(why.to_string()),
        (why, _) => unreadable(py, &scenario.get().file_name(), &why.to_string()),
    })?;
    let table = |table: Option<Table>| table.map(|table| Py::new(py, table)).transpose();
    Ok(RawRun { document, events: table(events?)?, series: table(series?)? })
}

#[expect(clippy::disallowed_methods, reason = "a person waits for Ctrl-C in real time")]
pub fn now() -> time::Instant {
    time::Instant::now()
}
