//! The look of text for people: with escape sequences of a terminal or plain, and its width.

/// How text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether the text has no escape sequences.
    pub is_plain: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Style {
    /// Text without escape sequences, for files and pages.
    pub const PLAIN: Self = Self { is_plain: true, width: 80 };

    /// Returns the text in bold, unless the style is plain.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Returns the text dimmed, unless the style is plain.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Returns the text in red, unless the style is plain.
    pub fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Returns the text in yellow, unless the style is plain.
    pub fn yellow(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// Returns the text with the sequence `code`, unless the style is plain.
    pub fn paint(self, code: &str, text: &str) -> String {
        if text.is_empty() || self.is_plain {
            text.into()
        } else {
            format!("\x1b[{code}m{text}\x1b[0m")
        }
    }
}
