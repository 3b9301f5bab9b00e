//! Standard output and standard error: whether they are terminals, and writing
//! to them. A full disk behind standard output is an error, a reader that went
//! away is not; nothing here panics, as `println!` would.

use crate::failure::Failure;
use ratatui::crossterm::terminal;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Stream {
    /// It is a terminal.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        }
    }

    /// Text without escape sequences is wanted: no terminal, a dumb one, or `NO_COLOR`
    /// (<https://no-color.org>).
    pub fn is_plain(self) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        is_set("NO_COLOR") || is_dumb || !self.is_terminal()
    }

    /// In bold, unless plain text is wanted.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Dim, unless plain text is wanted.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// In red, unless plain text is wanted.
    pub fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// In yellow, unless plain text is wanted.
    pub fn yellow(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if text.is_empty() || self.is_plain() {
            text.into()
        } else {
            format!("\x1b[{code}m{text}\x1b[0m")
        }
    }

    /// Writes all of `text`.
    ///
    /// # Errors
    /// If it is standard output and cannot be written. There is nobody to tell
    /// that standard error cannot be.
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

/// Writes all of `text` to standard output.
///
/// # Errors
/// If it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|why| {
        match why.kind() {
            ErrorKind::BrokenPipe => Failure::NoReader,
            _ => Failure::Message(format!("cannot write to standard output: {why}")),
        }
    })
}

/// Writes `text` to standard error, if that can be done.
pub fn error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Columns of the terminal; 80 without one, or with one that does not say.
pub fn width() -> usize {
    match terminal::size() {
        Ok((columns @ 1.., _)) => usize::from(columns.max(20)),
        _ => 80,
    }
}

/// A view that redraws itself can be shown on standard output.
pub fn is_view_wanted() -> bool {
    Stream::Output.is_terminal() && !is_dumb()
}

/// A bar that redraws itself can be shown on standard error.
pub fn is_progress_wanted() -> bool {
    Stream::Error.is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}
