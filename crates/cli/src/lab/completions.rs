//! Completions of a shell. The script of `lasthop completions SHELL` calls the command with the
//! variable `COMPLETE` set, and gets the candidates for the next word: also scenarios, places, keys
//! of `--set`, and nodes of the scenario on the line.

use super::scenario::{self, shipped};
use crate::args::{self, Completions, PLACES, Shell};
use crate::console;
use crate::failure::Failure;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{EnvCompleter, Fish, Zsh};
use clap_complete::{ArgValueCompleter, CompleteEnv};
use lasthop_scenario::{Completion, complete};
#[cfg(feature = "studies")]
use lasthop_studies::reproduce::PAPERS;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Variable that a script sets for its call.
const VARIABLE: &str = "COMPLETE";
/// Name of the command in packages and on command lines.
const NAME: &str = "lasthop";

/// Answers a script's call, and then ends the process.
pub fn answer() {
    if std::env::var_os(VARIABLE).is_some() {
        CompleteEnv::with_factory(args::command).var(VARIABLE).complete();
    }
}

/// Prints the script for a shell.
pub fn completions(args: &Completions) -> Result<(), Failure> {
    let shell: &dyn EnvCompleter = match args.shell {
        // Clap's own script does not join what readline breaks at =.
        Shell::Bash => return console::print(include_str!("completions/lasthop.bash")),
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, NAME, NAME, NAME, &mut script)
        .expect("a vector takes all that is written");
    console::print(&String::from_utf8_lossy(&script))
}

/// Completes files with scenarios, folders, and names of built-in scenarios.
pub fn scenarios() -> ArgValueCompleter {
    ArgValueCompleter::new(|written: &OsStr| {
        let files = PathCompleter::any()
            .filter(|path| path.is_dir() || path.extension().is_some_and(|it| it == "toml"));
        let names = fitting(written, shipped::ALL.iter().map(|it| (it.name, it.first_sentence())));
        files.complete(written).into_iter().chain(names).collect()
    })
}

/// Completes names of built-in scenarios.
pub fn names() -> ArgValueCompleter {
    ArgValueCompleter::new(|written: &OsStr| {
        fitting(written, shipped::ALL.iter().map(|it| (it.name, it.first_sentence())))
    })
}

/// Completes names of places.
pub fn places() -> ArgValueCompleter {
    ArgValueCompleter::new(|written: &OsStr| {
        fitting(written, shipped::places().map(|(name, it)| (name, it.first_sentence())))
    })
}

/// Completes keys of the scenario on the line, and their values.
pub fn keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|written: &OsStr| {
        let Some(written) = written.to_str() else { return Vec::new() };
        let text = on_the_line(std::env::args_os());
        let mut found = complete(&text, written);
        // A table alone would be followed by a space.
        while let [Completion { text: only, .. }] = found.as_slice()
            && only.ends_with('.')
        {
            found = complete(&text, &only.clone());
        }
        found.into_iter().map(|it| candidate(&it.text, &it.docs)).collect()
    })
}

/// Completes nodes of the scenario on the line.
pub fn nodes() -> ArgValueCompleter {
    ArgValueCompleter::new(|written: &OsStr| {
        let text = on_the_line(std::env::args_os());
        let nodes = complete(&text, "node.");
        let names = nodes.iter().filter_map(|it| it.text.strip_prefix("node.")?.strip_suffix('.'));
        fitting(written, names.filter(|name| *name != "*").map(|name| (name, String::new())))
    })
}

/// Completes papers and figures, if this build has them.
pub fn figures() -> ArgValueCompleter {
    ArgValueCompleter::new(|written: &OsStr| fitting(written, papers_and_figures()))
}

#[cfg(not(feature = "studies"))]
fn papers_and_figures() -> [(&'static str, String); 0] {
    []
}

/// The names of papers and figures, with their titles.
#[cfg(feature = "studies")]
fn papers_and_figures() -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    for paper in PAPERS {
        names.push((paper.key.into(), paper.title.into()));
        let figures = paper.figures.iter();
        names.extend(figures.map(|it| (format!("{}/{}", paper.key, it.id), it.title.to_string())));
    }
    names
}

/// Returns the text of the scenario named on the command line; empty if none can be read.
fn on_the_line(words: impl Iterator<Item = OsString>) -> Cow<'static, str> {
    let words: Vec<OsString> = words.skip_while(|word| word != "--").skip(1).collect();
    let mut is_place = false;
    for word in &words {
        let Some(text) = word.to_str() else { continue };
        let place = match text.strip_prefix("--place=") {
            Some(place) => Some(place),
            None => is_place.then_some(text),
        };
        is_place = text == "--place";
        let name = place.map_or(Cow::Borrowed(text), |name| format!("{PLACES}/{name}").into());
        if let Some(shipped) = shipped::find(&name) {
            return shipped.text.into();
        }
        if text.ends_with(".toml")
            && let Ok(text) = scenario::asked_text(Path::new(text))
        {
            return text;
        }
    }
    "".into()
}

fn fitting<N: AsRef<str>>(
    written: &OsStr,
    all: impl IntoIterator<Item = (N, String)>,
) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else { return Vec::new() };
    let all = all.into_iter().filter(|(name, _)| name.as_ref().starts_with(written));
    all.map(|(name, docs)| candidate(name.as_ref(), &docs)).collect()
}

fn candidate(name: &str, docs: &str) -> CompletionCandidate {
    let help = Some(docs).filter(|docs| !docs.is_empty()).map(|docs| docs.to_owned().into());
    CompletionCandidate::new(name).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenario_is_found_on_the_line() {
        let of = |line: &str| on_the_line(line.split(' ').map(Into::into));
        let hello = shipped::find("hello").expect("it is shipped").text;
        assert_eq!(of("lasthop -- lasthop simulate hello --set node."), hello);
        let cafe = shipped::find("places/cafe").expect("it is shipped").text;
        assert_eq!(of("lasthop -- lasthop emulate --place cafe --set node."), cafe);
        assert_eq!(of("lasthop -- lasthop emulate --set node. --place=cafe"), cafe);
        assert_eq!(of("lasthop -- lasthop simulate nothing.toml --set node."), "");
    }
}
