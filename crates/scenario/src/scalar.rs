//! Kinds of values that only scenarios have: paths, programs, conditions, and words for the types of
//! machines.

use crate::Ready;
use lasthop_config::scalar::Scalar;
use lasthop_config::tree::Value;
use lasthop_units::Duration;
use schemars::{Schema, json_schema};
use std::marker::PhantomData;

/// A value of `T` by its name, where `T` is a type of another crate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<T>(PhantomData<T>);

/// The path of a file, absolute after the scenario is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePath(pub String);

impl Scalar for FilePath {
    type Value = Self;

    fn allowed() -> String {
        "the path of a file, relative to the scenario's folder".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::String(text) if !text.is_empty() && !text.contains('\0') => {
                Ok(Self(text.clone()))
            }
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}

/// The name of a node in a trace of movements; a number is a name, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceNode(pub String);

impl Scalar for TraceNode {
    type Value = Self;

    fn allowed() -> String {
        "the number or name of a node in the file".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::Integer(number) if *number >= 0 => Ok(Self(number.to_string())),
            Value::String(text) if !text.is_empty() => Ok(Self(text.clone())),
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": 0, "minLength": 1 })
    }
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command(pub Vec<String>);

impl Scalar for Command {
    type Value = Self;

    fn allowed() -> String {
        "a program and its arguments like [\"iperf3\", \"-s\"], or a line for the shell".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        match value {
            Value::String(line) if line.trim().is_empty() => Err(None),
            Value::String(line) => Ok(Self(vec!["sh".into(), "-c".into(), line.clone()])),
            Value::Array(_) => match Vec::<String>::read(value)? {
                words if words[0].is_empty() => Err(Some("the program's name is empty".into())),
                words => Ok(Self(words)),
            },
            _ => Err(None),
        }
    }
    fn schema() -> Schema {
        let line = json_schema!({ "type": "string", "pattern": "\\S" });
        json_schema!({ "anyOf": [line, Vec::<String>::schema()] })
    }
}

impl Scalar for Ready {
    type Value = Self;

    fn allowed() -> String {
        "what to wait for like \"tcp:8000\", \"udp:5000\", \"file:/run/ready\" or \"1s\"".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        let Value::String(text) = value else { return Err(None) };
        let port = |port: &str| match port.parse() {
            Ok(0) | Err(_) => Err(Some(format!("{port:?} is no port from 1 to 65535"))),
            Ok(port) => Ok(port),
        };
        match text.split_once(':') {
            Some(("tcp", number)) => Ok(Self::Tcp(port(number)?)),
            Some(("udp", number)) => Ok(Self::Udp(port(number)?)),
            Some(("file", "")) => Err(Some("the path is empty".into())),
            Some(("file", path)) => Ok(Self::File(path.into())),
            Some((kind, _)) => Err(Some(format!("{kind:?} is none of tcp, udp, file"))),
            None => Duration::read(value).map(Self::After),
        }
    }
    fn schema() -> Schema {
        let what = json_schema!({
            "type": "string",
            "pattern": "^((tcp|udp):[0-9]{1,5}|file:.+)$",
            "examples": ["tcp:8000", "file:/run/ready"],
        });
        json_schema!({ "anyOf": [what, Duration::schema()] })
    }
}

/// Returns the message about an amendment that exists, similar to others by its letters only.
pub(crate) fn not_modelled(text: &str) -> Option<String> {
    const AMENDMENTS: [&str; 9] = ["ac", "ad", "af", "ah", "ax", "ay", "bn", "j", "p"];
    let is_one = text.strip_prefix("802.11").is_some_and(|rest| AMENDMENTS.contains(&rest));
    is_one.then(|| format!("lasthop does not model {text}"))
}
