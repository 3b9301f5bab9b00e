//! Problems of a file, as messages for users.
//!
//! One [`ConfigError`] holds every [`Problem`]. The plain text has one line for each, `file:line:
//! key: message`; `miette` shows the source with the place marked.

use crate::tree::{Origin, join};
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::collections::BTreeMap;
use std::fmt;

/// The place of a key, for messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Name as in `--set`: `node.laptop.queue.packets`; empty for the document.
    pub key: String,
    /// Origin of the key.
    pub origin: Origin,
}

impl Place {
    /// Returns the place of `key`.
    pub fn new(key: impl Into<String>, origin: Origin) -> Self {
        Self { key: key.into(), origin }
    }

    /// Returns the place of `key` in the table of this place.
    pub fn child(&self, key: &str, origin: Origin) -> Self {
        Self { key: join(&self.key, key), origin }
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
pub struct Problems {
    found: Vec<(Place, String)>,
    /// Place at which an inherited key was written.
    written: BTreeMap<String, String>,
    /// Keys that do not apply to their element.
    unfit: Vec<Place>,
}

impl Problems {
    /// Adds a problem. The same problem at the same place (a default of several nodes) is added
    /// once.
    pub fn push(&mut self, place: &Place, message: impl Into<String>) {
        let message = message.into();
        let known = |(other, text): &(Place, String)| {
            other.origin == place.origin && place.origin != Origin::Absent && *text == message
        };
        if !self.found.iter().any(known) && self.found.len() < Self::MAX {
            let key = self.written_key(&place.key);
            self.found.push((Place::new(key, place.origin.clone()), message));
        }
    }

    /// Like [`Problems::push`], for messages that take time to make: beyond the limit none is made.
    pub fn push_made(&mut self, place: &Place, message: &dyn Fn() -> String) {
        if self.found.len() < Self::MAX {
            self.push(place, message());
        }
    }

    /// Like [`Problems::push`], for a key that its table cannot have, whatever its value: the node,
    /// flow or queue is of another kind.
    pub fn push_unfit(&mut self, place: &Place, message: impl Into<String>) {
        if place.origin != Origin::Absent {
            self.unfit.push(place.clone());
        }
        self.push(place, message);
    }

    /// Whether a key from `origin` is one that `element`, such as `node.laptop`, cannot have.
    pub fn is_unfit(&self, element: &str, origin: &Origin) -> bool {
        let is_in = |key: &str| key.strip_prefix(element).is_some_and(|rest| rest.starts_with('.'));
        self.unfit.iter().any(|place| place.origin == *origin && is_in(&place.key))
    }

    /// Adds the problems of `others`.
    pub fn append(&mut self, others: Self) {
        for (place, message) in others.found {
            self.push(&place, message);
        }
    }

    /// From here on, reports problems with `key`, or with keys inside it, for `written`.
    pub fn rename(&mut self, key: String, written: String) {
        self.written.insert(key, written);
    }

    /// Replaces a phrase in all messages.
    pub fn reword(&mut self, from: &str, to: &str) {
        for (_, message) in &mut self.found {
            *message = message.replace(from, to);
        }
    }

    /// Replaces a phrase in messages about arguments of the command line.
    pub fn reword_sets(&mut self, from: &str, to: &str) {
        for (place, message) in &mut self.found {
            if matches!(place.origin, Origin::Set(_)) {
                *message = message.replace(from, to);
            }
        }
    }

    fn written_key(&self, key: &str) -> String {
        let ends = key.match_indices('.').map(|(end, _)| end).chain([key.len()]);
        ends.filter_map(|end| {
            Some(join(self.written.get(&key[..end])?, key[end..].trim_start_matches('.')))
        })
        .next()
        .unwrap_or_else(|| key.into())
    }

    /// Largest number of problems reported.
    const MAX: usize = 100;

    /// Returns the number of problems.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether there is no problem.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the error, if there is a problem. `file` is the user's name of the file, `text`
    /// its contents, `sets` the `--set` arguments.
    pub fn into_error(self, file: &str, text: &str, sets: &[String]) -> Option<ConfigError> {
        if self.found.is_empty() {
            return None;
        }
        let mut problems: Vec<Problem> = self
            .found
            .into_iter()
            .map(|(place, message)| Problem::new(file, text, sets, place, message))
            .collect();
        problems.sort_by_key(|problem| (problem.set.is_some(), problem.line));
        Some(ConfigError { problems, source: NamedSource::new(file, text.to_owned()) })
    }
}

/// A single problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Name of the file, as given by the user.
    pub file: String,
    /// Line in the file, from 1; `None` if no line is at fault.
    pub line: Option<usize>,
    /// The `--set` argument or the flag at fault, if it is one.
    pub set: Option<String>,
    /// The key, as in `--set`: `node.laptop.queue.packets`; empty if no key is at fault.
    pub key: String,
    /// Expected and actual value.
    pub message: String,
    /// The bytes of the file at fault.
    span: Option<core::ops::Range<usize>>,
}

impl Problem {
    fn new(file: &str, text: &str, sets: &[String], place: Place, message: String) -> Self {
        let (span, set) = match place.origin {
            Origin::File(span) => (Some(clamp(span, text)), None),
            Origin::Set(index) => (None, sets.get(index).cloned()),
            Origin::Absent => (None, None),
        };
        let line = span.as_ref().map(|span| 1 + count_newlines(&text.as_bytes()[..span.start]));
        Self { file: file.into(), line, set, key: place.key, message, span }
    }
}

/// Returns the span cut to the text: an editor may ask about a changed text.
fn clamp(span: core::ops::Range<usize>, text: &str) -> core::ops::Range<usize> {
    let start = span.start.min(text.len());
    start..span.end.clamp(start, text.len())
}

fn count_newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.set, self.line) {
            // A flag of its own says so itself.
            (Some(set), _) if set.starts_with("--") => f.write_str(set)?,
            (Some(set), _) => write!(f, "--set {set}")?,
            (None, Some(line)) => write!(f, "{}:{line}", self.file)?,
            (None, None) => write!(f, "{}", self.file)?,
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A message prints a list that is longer than this, in bytes, once.
const LIST_ONCE: usize = 60;

/// A file that cannot be used, with all its problems.
#[derive(Debug)]
pub struct ConfigError {
    problems: Vec<Problem>,
    source: NamedSource<String>,
}

impl ConfigError {
    /// Returns the error of a file called `file` without a text to show.
    pub fn unreadable(file: &str, message: String) -> Self {
        let place = Place::new("", Origin::Absent);
        let problem = Problem::new(file, "", &[], place, message);
        Self { problems: vec![problem], source: NamedSource::new(file, String::new()) }
    }

    /// Returns the problems in the order of the file, at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let (before, same) = (&self.problems[..index], &problem.message);
            let line = before.iter().find(|one| one.message == *same).and_then(|one| one.line);
            match line.zip(same.split_once("; ")) {
                // Forty nodes may lack the same list of keys.
                Some((line, (what, list))) if list.len() > LIST_ONCE => {
                    let message = format!("{what}; see line {line}");
                    Problem { message, ..problem.clone() }.fmt(f)?;
                }
                _ => problem.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

impl Diagnostic for ConfigError {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.problems.iter().any(|problem| problem.span.is_some()).then_some(&self.source as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let labels = self.problems.iter().filter_map(|problem| {
            let span = problem.span.clone()?;
            (!problem.key.is_empty()).then(|| LabeledSpan::at(span, problem.key.clone()))
        });
        Some(Box::new(labels))
    }
}
