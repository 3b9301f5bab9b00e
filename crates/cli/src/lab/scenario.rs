//! `lasthop scenario`, and the sources of a command's scenario: a file, standard input (`-`), or
//! the program itself (`shipped`). A file takes precedence over a built-in name, but not over a
//! place (`--place`). Each source gives a text, and everything else is the same: results do not
//! name the source.

pub mod shipped;

use crate::args::{ScenarioArgs, ScenarioFrom, ScenarioInit, ScenarioVerb};
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::table::wrapped;
use lasthop_scenario::file::{read_from, text};
use lasthop_scenario::{Scenario, ScenarioError, TEXT_BYTES_MAX, did_you_mean};
use lasthop_trace::{FlentMetadata, read_measurement_text};
use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Text that `init` writes by default.
const START: &str = include_str!("scenario/start.toml");
/// Largest number of files in a folder to search for a similar name.
const NEAR_FILES_MAX: usize = 1000;

/// Runs the command.
pub fn scenario(verb: &ScenarioVerb) -> Result<(), Failure> {
    match verb {
        ScenarioVerb::List => console::print(&list(Stream::Output)),
        ScenarioVerb::Show(args) => console::print(named(&args.name)?),
        ScenarioVerb::Init(args) => init(args),
        ScenarioVerb::From(args) => begin(args),
    }
}

/// Returns a line for each scenario; on a terminal, sentences are wrapped beside their names.
fn list(stream: Stream) -> String {
    let names = shipped::ALL.iter().map(|shipped| shipped.name.len());
    let longest = names.max().unwrap_or_default();
    let width = if stream.is_terminal() { console::width() } else { usize::MAX };
    let line = |shipped: &shipped::Shipped| {
        wrapped(&format!("{:longest$}  ", shipped.name), &shipped.first_sentence(), width)
    };
    shipped::ALL.iter().map(line).collect()
}

/// Returns the text of the built-in scenario `name`.
fn named(name: &str) -> Result<&'static str, Failure> {
    shipped::find(name).map(|shipped| shipped.text).ok_or_else(|| {
        let near = did_you_mean(name, shipped::ALL.iter().map(|shipped| shipped.name));
        let near = near.map_or(String::new(), |near| format!("; {near}"));
        Failure::Message(format!(
            "there is no built-in scenario {name:?}{near} (`lasthop scenario list` has all)"
        ))
    })
}

/// Prints the scenario that begins with the metadata of flent's results.
fn begin(args: &ScenarioFrom) -> Result<(), Failure> {
    let file = args.file.display().to_string();
    let text = read_measurement_text(&args.file).map_err(Failure::message)?;
    let metadata = FlentMetadata::parse(&file, &text).map_err(Failure::message)?;
    console::print(&lasthop_report::begin::scenario(&file, &metadata))
}

/// Writes a new scenario file.
fn init(args: &ScenarioInit) -> Result<(), Failure> {
    let text = args.from.as_deref().map_or(Ok(START), named)?;
    let file = args.file.display();
    let failed = |why: io::Error| match why.kind() {
        ErrorKind::AlreadyExists => {
            Failure::Message(format!("{file}: it exists already, and stays unchanged"))
        }
        ErrorKind::NotFound => Failure::Message(format!("{file}: there is no such folder")),
        _ => Failure::Message(format!("{file}: {why}")),
    };
    let mut new =
        OpenOptions::new().write(true).create_new(true).open(&args.file).map_err(failed)?;
    let written = new.write_all(text.as_bytes()).and_then(|()| new.sync_all());
    written.map_err(|why| {
        // Half a file is none. It is ours, so nothing of anybody's is lost.
        let _ = fs::remove_file(&args.file);
        failed(why)
    })?;
    console::error(&format!("{file} is written; next: lasthop simulate {file}\n"));
    Ok(())
}

/// Returns the name of the scenario `asked` in messages.
pub fn label(asked: &Path) -> Cow<'_, str> {
    if is_standard_input(asked) { "stdin".into() } else { asked.to_string_lossy() }
}

/// Reads the scenario with all changes.
///
/// # Errors
/// The errors of the scenario.
pub fn load(args: &ScenarioArgs, sets: &[String]) -> Result<Scenario, ScenarioError> {
    lasthop_scenario::parse(&label(&args.asked()), &read_text(args)?, sets)
}

/// Reads the text of the scenario.
///
/// # Errors
/// An error if there is no such file, or it is no text; with similar names.
pub fn read_text(args: &ScenarioArgs) -> Result<Cow<'static, str>, ScenarioError> {
    match &args.place {
        Some(place) => place_text(place).map(Cow::Borrowed),
        None => asked_text(&args.asked()),
    }
}

/// Returns the text of the place `name`.
fn place_text(name: &str) -> Result<&'static str, ScenarioError> {
    let found = shipped::places().find(|(place, _)| *place == name);
    found.map(|(_, shipped)| shipped.text).ok_or_else(|| {
        let near = did_you_mean(name, shipped::places().map(|(place, _)| place));
        let near = near.map_or(String::new(), |near| format!("; {near}"));
        let message = format!("there is no such place{near} (`lasthop places` has all)");
        ScenarioError::unreadable(&format!("--place {name}"), message)
    })
}

/// Reads the text of the scenario `asked`.
pub fn asked_text(asked: &Path) -> Result<Cow<'static, str>, ScenarioError> {
    let unreadable =
        |why: &dyn std::fmt::Display| ScenarioError::unreadable(&label(asked), why.to_string());
    if is_standard_input(asked) {
        let bytes =
            read_from(io::stdin().lock(), TEXT_BYTES_MAX as u64).map_err(|why| unreadable(&why))?;
        return text(&bytes).map(|text| text.to_owned().into()).map_err(|why| unreadable(&why));
    }
    let about = fs::metadata(asked);
    // A folder is no scenario: that of results may be called as the scenario is.
    if about.as_ref().map_or(true, |about| about.is_dir())
        && let Some(shipped) = asked.to_str().and_then(shipped::find)
    {
        return Ok(shipped.text.into());
    }
    if about.is_err_and(|why| why.kind() == ErrorKind::NotFound) {
        let near = near(asked).map_or(String::new(), |near| format!("; {near}"));
        return Err(unreadable(&format!(
            "there is no such file, and no built-in scenario of this name{near} \
             (`lasthop scenario list` has all)"
        )));
    }
    lasthop_scenario::read_text(asked).map(Cow::Owned)
}

fn is_standard_input(asked: &Path) -> bool {
    asked.as_os_str() == "-"
}

/// Returns similar names among the files beside it and the built-in scenarios.
fn near(asked: &Path) -> Option<String> {
    let asked_text = asked.to_str()?;
    let bare = asked_text.strip_suffix(".toml").unwrap_or(asked_text);
    let bare = bare.strip_prefix("scenarios/").unwrap_or(bare);
    if let Some(shipped) = shipped::find(bare) {
        return Some(format!("did you mean {:?}?", shipped.name));
    }
    let files = files_beside(asked);
    let names = shipped::ALL.iter().map(|shipped| shipped.name);
    did_you_mean(asked_text, files.iter().map(String::as_str).chain(names))
        .or_else(|| did_you_mean(bare, shipped::ALL.iter().map(|shipped| shipped.name)))
}

/// Returns the TOML files in the folder of `asked`, as written there, in order.
fn files_beside(asked: &Path) -> Vec<String> {
    let folder = asked.parent().unwrap_or(Path::new(""));
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(listed).into_iter().flatten().flatten().take(NEAR_FILES_MAX);
    let paths = entries.map(|entry| folder.join(entry.file_name()));
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml");
    let mut files: Vec<String> =
        paths.filter(is_toml).filter_map(|path| path.to_str().map(str::to_owned)).collect();
    files.sort_unstable();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file is valid as written, and with each key that it offers.
    #[test]
    fn what_init_writes_is_valid() {
        lasthop_scenario::parse("start.toml", START, &[]).expect("it is valid");
        let is_offered =
            |line: &str| line.starts_with(|c: char| c == '[' || c.is_ascii_lowercase());
        let all: Vec<&str> = START
            .lines()
            .map(|line| line.strip_prefix('#').filter(|key| is_offered(key)).unwrap_or(line))
            .collect();
        let all = all.join("\n");
        assert_ne!(all, START.trim_end(), "it offers some");
        lasthop_scenario::parse("start.toml", &all, &[]).unwrap_or_else(|why| panic!("{why}"));
    }
}
