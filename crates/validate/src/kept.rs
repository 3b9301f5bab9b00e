//! Files of `data/` that hold what runs in real time came to: such runs take minutes, so what
//! they found is kept, and documents are made from that.

use crate::data::{self, Record};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, iter};

/// A file of `data/`, a line a run.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Its name.
    pub file: &'static str,
    /// Its first line: the names of the columns.
    pub header: &'static str,
}

impl Kept {
    /// What is there now; nothing if there is no such file.
    ///
    /// # Panics
    /// If the file is there and wrong.
    pub fn records(self) -> Vec<Record> {
        self.text().map_or(Vec::new(), data::records)
    }

    /// The text of the file, if there is one.
    pub fn text(self) -> Option<&'static str> {
        // It lives as long as the program, as the files that are part of it do.
        fs::read_to_string(self.path()).ok().map(|text| &*text.leak())
    }

    /// Adds lines at the end. Several processes may do so at a time.
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

    /// Puts these lines in place of what is there, all at once.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn replace(self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        let aside = self.path().with_extension("new");
        fs::write(&aside, self.with_header(lines))?;
        fs::rename(aside, self.path())
    }

    /// The lines below the names of their columns.
    pub fn with_header(self, lines: impl IntoIterator<Item = String>) -> String {
        let all = iter::once(self.header.to_owned()).chain(lines);
        all.flat_map(|line| [line, "\n".to_owned()]).collect()
    }

    fn path(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(self.file)
    }
}
