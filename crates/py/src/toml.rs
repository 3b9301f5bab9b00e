//! Python's values as the right side of `--set path=value`. Text is written as on the
//! command line, without quotes, if it then parses as the same text, so that a run reports
//! its changes in the same form. Leaves out dates, which no key has.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml_edit::{Array, InlineTable, Value};

/// Returns the argument `path=value`.
pub fn set(path: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if path.is_empty() || path.contains('=') {
        return Err(PyValueError::new_err(format!("{path:?} is no path of a key")));
    }
    let text = match value.cast::<PyString>() {
        Ok(text) if reads_as_itself(text.to_str()?) => text.to_str()?.to_owned(),
        _ => toml(value)?.to_string(),
    };
    Ok(format!("{path}={text}"))
}

/// Whether `--set` parses this text as the same text.
fn reads_as_itself(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && text.parse::<Value>().is_err()
}

/// Returns a value of `vary`, with quotes around text that the argument `--vary` would take
/// for several values or for a range.
pub fn varied(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let separates =
        |text: &str| text.contains([',', '[', ']', '{', '}', '"', '\'']) || text.contains("..");
    match value.cast::<PyString>() {
        Ok(text) if reads_as_itself(text.to_str()?) && !separates(text.to_str()?) => {
            Ok(text.to_str()?.to_owned())
        }
        _ => Ok(toml(value)?.to_string().trim().to_owned()),
    }
}

fn toml(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // A truth is a whole number in Python, too.
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(value.extract::<i64>()?.into());
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.value().into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let elements = value.try_iter()?.map(|element| toml(&element?));
        return Ok(elements.collect::<PyResult<Array>>()?.into());
    }
    if let Ok(entries) = value.cast::<PyDict>() {
        let entries = entries
            .iter()
            .map(|(key, value)| Ok((key.cast::<PyString>()?.to_str()?.to_owned(), toml(&value)?)));
        return Ok(entries.collect::<PyResult<InlineTable>>()?.into());
    }
    // A number of NumPy's, which gives Python's.
    if value.hasattr("dtype")? && value.getattr("ndim")?.extract::<usize>()? == 0 {
        return toml(&value.call_method0("item")?);
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("a scenario file has no value of type {kind}")))
}
