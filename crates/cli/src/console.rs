//! Standard output and standard error: whether they are terminals, and writing to them. A failed
//! write to standard output is an error (a full disk); a reader that is gone is reported as
//! [`Failure::NoReader`]. In contrast to `println!`, no function here panics.

use crate::failure::Failure;
use lasthop_report::style::Style;
#[cfg(feature = "lab")]
use ratatui::crossterm::terminal;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// A standard stream for text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The standard output.
    Output,
    /// The standard error.
    Error,
}

impl Stream {
    /// Whether the stream is a terminal.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        }
    }

    /// Whether text must have no escape sequences: the stream is no terminal, or a dumb one, and
    /// `CLICOLOR_FORCE` is not set to something other than 0 (<https://bixense.com/clicolors>); or
    /// `NO_COLOR` is set, which takes precedence (<https://no-color.org>).
    pub fn is_plain(self) -> bool {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        set("NO_COLOR").is_some() || !is_forced && (is_dumb || !self.is_terminal())
    }

    /// Returns the text in bold, unless the stream is plain.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Returns the text dimmed, unless the stream is plain.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Returns the text in red, unless the stream is plain.
    pub fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Returns the text in yellow, unless the stream is plain.
    pub fn yellow(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// Returns the look of text on the stream.
    pub fn style(self) -> Style {
        Style { is_plain: self.is_plain(), width: width() }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if text.is_empty() || self.is_plain() {
            text.into()
        } else {
            format!("\x1b[{code}m{text}\x1b[0m")
        }
    }

    /// Writes the whole of `text`.
    ///
    /// # Errors
    /// An error if it cannot be written to standard output. Failures of standard error are ignored,
    /// because there is no other place to report them.
    pub fn write(self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Output => print(text),
            Self::Error => {
                error(text);
                Ok(())
            }
        }
    }
}

/// Writes the whole of `text` to standard output.
///
/// # Errors
/// An error if it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|why| {
        match why.kind() {
            ErrorKind::BrokenPipe => Failure::NoReader,
            _ => Failure::Message(format!("cannot write to standard output: {why}")),
        }
    })
}

/// Escapes characters that a terminal obeys or hides: control characters other than line breaks,
/// and those that turn the direction of writing.
pub fn printable(text: &str) -> String {
    let is_hidden = |c: char| {
        c != '\n' && c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::new();
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Writes `text` to standard error; ignores failures.
pub fn error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Number of columns of the terminal, at least 20; 80 without a terminal, or if it does
/// not report any.
#[cfg(feature = "lab")]
pub fn width() -> usize {
    match terminal::size() {
        Ok((columns @ 1.., _)) => usize::from(columns.max(20)),
        _ => Style::PLAIN.width,
    }
}

/// Number of columns, where nothing reports them.
#[cfg(not(feature = "lab"))]
fn width() -> usize {
    Style::PLAIN.width
}

/// Whether a view that redraws itself can be shown on standard output.
pub fn is_view_wanted() -> bool {
    Stream::Output.is_terminal() && !is_dumb()
}

/// Whether a progress bar that redraws itself can be shown on standard error.
pub fn is_progress_wanted() -> bool {
    Stream::Error.is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let text = "a=1\n\u{1b}]0;title\u{7}\u{9b}2Jb\r\u{202e}é";
        let shown = "a=1\n\\u{1b}]0;title\\u{7}\\u{9b}2Jb\\r\\u{202e}é";
        assert_eq!(printable(text), shown);
    }
}
