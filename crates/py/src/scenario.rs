//! Scenario files for Python: immutable, and derived from another one by setting keys, as
//! with `--set`. The text is parsed again after every change, so that errors are those of
//! the command, with line and key.

use crate::toml;
use lasthop_figures::text::escaped;
use lasthop_scenario::file::{self, Accepts};
use lasthop_scenario::{Problem, ScenarioError, TEXT_BYTES_MAX};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple, PyType};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// A scenario file with its changes. Instances are immutable.
///
/// ``load``, ``parse`` and ``with_`` raise ``ScenarioError`` with all problems of an
/// invalid scenario. With ``check=False`` they, and all methods of the result, raise
/// nothing: ``problems`` returns the problems, and ``simulate`` raises.
#[pyclass(frozen, module = "lasthop")]
pub struct Scenario {
    file: String,
    text: String,
    sets: Vec<String>,
    check: bool,
    parsed: Result<Arc<lasthop_scenario::Scenario>, ScenarioError>,
}

impl Scenario {
    fn new(
        py: Python<'_>,
        file: String,
        text: String,
        sets: Vec<String>,
        check: bool,
    ) -> PyResult<Self> {
        let parsed = py.detach(|| lasthop_scenario::parse(&file, &text, &sets)).map(Arc::new);
        match parsed {
            Err(error) if check => Err(raised(py, &error)),
            parsed => Ok(Self { file, text, sets, check, parsed }),
        }
    }

    /// Returns the scenario, if it is valid.
    pub fn valid(&self, py: Python<'_>) -> PyResult<Arc<lasthop_scenario::Scenario>> {
        self.parsed.as_ref().map(Arc::clone).map_err(|error| raised(py, error))
    }

    /// Returns the name of the file in messages.
    pub fn file_name(&self) -> String {
        self.file.clone()
    }

    /// Returns the name of the file, its text, and the changes.
    pub fn parts(&self) -> (&str, &str, &[String]) {
        (&self.file, &self.text, &self.sets)
    }

    fn found(&self) -> &[Problem] {
        self.parsed.as_ref().map_or_else(ScenarioError::problems, |_| &[])
    }
}

#[pymethods]
impl Scenario {
    /// Loads the scenario file at ``path``. Raises ``ScenarioError``, also if it cannot be
    /// read.
    #[staticmethod]
    #[pyo3(signature = (path, *, check = true))]
    fn load(py: Python<'_>, path: PathBuf, check: bool) -> PyResult<Self> {
        let name = path.display().to_string();
        let bytes = py
            .detach(|| file::read(&path, Accepts::FilesAndPipes, TEXT_BYTES_MAX as u64))
            .and_then(|bytes| file::text(&bytes).map(str::to_owned));
        match bytes {
            Ok(text) => Self::new(py, name, text, Vec::new(), check),
            Err(why) => Err(unreadable(py, &name, &why.to_string())),
        }
    }

    /// Parses the scenario in ``text``, TOML.
    ///
    /// ``file`` is its name in messages. Other files that it names are looked for beside
    /// that file, whose name is also the default name of the scenario. ``set`` has changes
    /// as ``path=value``.
    #[staticmethod]
    #[pyo3(signature = (text, *, file = "scenario.toml", set = Vec::new(), check = true))]
    fn parse(
        py: Python<'_>,
        text: &str,
        file: &str,
        set: Vec<String>,
        check: bool,
    ) -> PyResult<Self> {
        Self::new(py, file.to_owned(), text.to_owned(), set, check)
    }

    /// Returns the scenario with other values of keys, as ``lasthop --set`` sets them.
    ///
    /// Keys are paths: ``s.with_(duration="2s")``, ``s.with_({"node.*.queue.packets": 50})``.
    /// Values are text with a unit, numbers, booleans, lists and dictionaries.
    #[pyo3(signature = (changes = None, /, **keys))]
    fn with_(
        &self,
        py: Python<'_>,
        changes: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut sets = self.sets.clone();
        let mut add = |key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>| {
            sets.push(toml::set(key.cast::<PyString>()?.to_str()?, value)?);
            PyResult::Ok(())
        };
        if let Some(changes) = changes {
            let changes = changes.cast::<PyMapping>().map_err(|_| {
                PyTypeError::new_err("changes are a mapping of paths to values, or keywords")
            })?;
            for item in changes.items()?.iter() {
                let (key, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
                add(&key, &value)?;
            }
        }
        for (key, value) in keys.into_iter().flatten() {
            add(key.as_any(), &value)?;
        }
        Self::new(py, self.file.clone(), self.text.clone(), sets, self.check)
    }

    /// Returns the problems of the scenario; never any if it was checked.
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        problems(py, self.found())
    }

    /// Returns warnings about settings that distort the results.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.valid(py)?.warnings())
    }

    /// Name of its file in messages.
    #[getter]
    fn file(&self) -> &str {
        &self.file
    }

    /// Changes as ``path=value``, in order.
    #[getter]
    fn set<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.sets)
    }

    /// Text of the file with all changes.
    #[getter]
    fn text(&self) -> &str {
        self.parsed.as_ref().map_or(&self.text, |scenario| &scenario.source_text)
    }

    /// Name of the scenario.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.valid(py)?.name.clone())
    }

    /// Seed of its random numbers.
    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.valid(py)?.seed)
    }

    /// Duration of a run, in seconds.
    #[getter]
    fn duration_s(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.valid(py)?.duration.as_secs_f64())
    }

    /// Seconds at the beginning that are left out of results.
    #[getter]
    fn warmup_s(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.valid(py)?.warmup.as_secs_f64())
    }

    /// Names of its nodes, without those of neighbours.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.valid(py)?.own_nodes().iter().map(|node| node.name.clone()).collect())
    }

    /// Names of its flows.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.valid(py)?.flows.iter().map(|flow| flow.name.clone()).collect())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let key =
            |scenario: &Self| (scenario.file.clone(), scenario.text.clone(), scenario.sets.clone());
        other.cast::<Self>().is_ok_and(|other| key(other.get()) == key(self))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (&self.file, &self.text, &self.sets).into_pyobject(py)?.get_item(1)?.hash()
    }

    /// Pickles the scenario by its text, which is parsed again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, PyState)> {
        let again = py.import("lasthop._scenario")?.getattr("_again")?;
        Ok((again, (self.file.clone(), self.text.clone(), self.sets.clone(), self.check)))
    }

    fn __repr__(&self) -> String {
        let mut text = match &self.parsed {
            Ok(scenario) => format!(
                "<lasthop.Scenario {:?}: {} s, {}, {}, seed {}",
                scenario.name,
                scenario.duration.as_secs_f64(),
                counted(scenario.own_nodes().len(), "node"),
                counted(scenario.flows.len(), "flow"),
                scenario.seed
            ),
            Err(error) => format!(
                "<lasthop.Scenario {:?}: {}",
                self.file,
                counted(error.problems().len(), "problem")
            ),
        };
        for set in &self.sets {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {set}");
        }
        text + ">"
    }

    fn _repr_html_(&self) -> String {
        let mut html = String::from("<div><b>lasthop scenario</b> ");
        let list = |html: &mut String, title: &str, items: &mut dyn Iterator<Item = String>| {
            let items: Vec<_> = items.map(|item| format!("<li>{}</li>", escaped(&item))).collect();
            if !items.is_empty() {
                html.push_str(&format!("<br>{title}<ul>{}</ul>", items.concat()));
            }
        };
        match &self.parsed {
            Ok(scenario) => {
                html.push_str(&format!(
                    "{}: {} s, seed {}",
                    escaped(&scenario.name),
                    scenario.duration.as_secs_f64(),
                    scenario.seed
                ));
                let name = |index: usize| scenario.nodes[index].name.as_str();
                let flows = scenario.flows.iter().map(|flow| {
                    format!(
                        "{}: {} → {}",
                        flow.name,
                        name(flow.from.index()),
                        name(flow.to.index())
                    )
                });
                list(&mut html, "flows", &mut flows.into_iter());
                list(&mut html, "warnings", &mut scenario.warnings().into_iter());
            }
            Err(error) => {
                html.push_str(&escaped(&self.file));
                let problems = error.problems().iter().map(Problem::to_string);
                list(&mut html, "problems", &mut problems.into_iter());
            }
        }
        list(&mut html, "set", &mut self.sets.iter().cloned());
        let text = escaped(self.text());
        html.push_str(&format!(
            "<details><summary>text</summary><pre>{text}</pre></details></div>"
        ));
        html
    }
}

/// File, text, changes, and whether it is checked.
type PyState = (String, String, Vec<String>, bool);

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Makes the exception `lasthop.ScenarioError` with every problem.
pub fn raised(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let make = || error_type(py)?.call1((error.to_string(), problems(py, error.problems())?));
    make().map_or_else(|why| why, PyErr::from_value)
}

/// Makes the exception with one problem, of a file as a whole.
pub fn unreadable(py: Python<'_>, file: &str, message: &str) -> PyErr {
    let make = || {
        let problem = problem_type(py)?.call1((file, None::<usize>, None::<&str>, "", message))?;
        error_type(py)?.call1((format!("{file}: {message}"), [problem]))
    };
    make().map_or_else(|why| why, PyErr::from_value)
}

fn problems<'py>(py: Python<'py>, problems: &[Problem]) -> PyResult<Bound<'py, PyList>> {
    let kind = problem_type(py)?;
    let list = PyList::empty(py);
    for Problem { file, line, set, key, message, .. } in problems {
        list.append(kind.call1((file, line, set, key, message))?)?;
    }
    Ok(list)
}

fn problem_type(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    Ok(py.import("lasthop._scenario")?.getattr("Problem")?.cast_into()?)
}

fn error_type(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    Ok(py.import("lasthop._scenario")?.getattr("ScenarioError")?.cast_into()?)
}
