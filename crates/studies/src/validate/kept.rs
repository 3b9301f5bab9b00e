//! Files in `data/` with the results of runs in real time. Such runs take minutes, so
//! their results are stored as CSV, one line per run, and tables are made from the
//! files.

use crate::validate::data::{self, Record};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, iter};

/// A file in `data/` with one line per run.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Name of the file.
    pub file: &'static str,
    /// First line of the file: the names of the columns.
    pub header: &'static str,
}

impl Kept {
    /// Reads the rows of the file; none if the file does not exist.
    ///
    /// # Panics
    /// If the file has lines of a wrong format.
    pub fn records(self) -> Vec<Record> {
        self.text().map_or(Vec::new(), data::records)
    }

    /// Reads the text of the file; `None` if it cannot be read.
    pub fn text(self) -> Option<&'static str> {
        // Leaked because rows borrow from static text, as those of compiled-in files
        // do.
        fs::read_to_string(self.path()).ok().map(|text| &*text.leak())
    }

    /// Appends lines to a file. Several processes may do so concurrently.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(self, lines: &[String]) -> io::Result<()> {
        let path = self.path();
        if !path.exists() {
            fs::write(&path, format!("{}\n", self.header))?;
        }
        let mut file = fs::OpenOptions::new().append(true).open(path)?;
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        file.write_all(text.as_bytes())
    }

    /// Replaces the content of the file with these lines, atomically.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn replace(self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        let aside = self.path().with_extension("new");
        fs::write(&aside, self.with_header(lines))?;
        fs::rename(aside, self.path())
    }

    /// The text of a file with these lines after the names of the columns.
    pub fn with_header(self, lines: impl IntoIterator<Item = String>) -> String {
        let all = iter::once(self.header.to_owned()).chain(lines);
        all.flat_map(|line| [line, "\n".to_owned()]).collect()
    }

    fn path(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(self.file)
    }
}
