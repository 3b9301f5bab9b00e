//! Files of the kernel, below a root that tests choose. Records the reason if an expected file
//! cannot be read.

use crate::document::Unread;
use flate2::read::GzDecoder;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Largest number of bytes read from a file: `modules.dep` has up to 800 kB.
const BYTES_MAX: u64 = 4 << 20;

/// Files below a root.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    unread: Vec<Unread>,
}

impl Files {
    /// Makes a reader of the files below `root`, by their absolute paths.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), unread: Vec::new() }
    }

    /// Returns the text of a file without surrounding white space. Records a failure.
    pub fn read(&mut self, path: &str) -> Option<String> {
        match self.text(path) {
            Ok(text) => Some(text),
            Err(error) => {
                self.add_unread(path, &reason(&error));
                None
            }
        }
    }

    /// Returns the text of an optional file.
    pub fn read_if_there(&self, path: &str) -> Option<String> {
        self.text(path).ok()
    }

    /// Returns the text of a file, or the reason of a failure.
    pub fn try_read(&self, path: &str) -> Result<String, String> {
        self.text(path).map_err(|error| reason(&error))
    }

    /// Returns the text of an optional file compressed by gzip(1).
    pub fn read_gzip(&self, path: &str) -> Option<String> {
        let file = fs::File::open(self.place(path)).ok()?;
        let mut bytes = Vec::new();
        GzDecoder::new(file).take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether such a file exists, or is hidden from the reader.
    pub fn exists(&self, path: &str) -> bool {
        self.place(path).exists()
    }

    /// Returns the names in a folder, in order; none if it cannot be read.
    pub fn list(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.place(path)) else { return Vec::new() };
        let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
        let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        names
    }

    /// Checks that a folder can be read.
    pub fn can_list(&self, path: &str) -> Result<(), String> {
        fs::read_dir(self.place(path)).map(drop).map_err(|error| reason(&error))
    }

    /// Returns the last part of a symbolic link's target.
    pub fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.place(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// Records that a fact could not be read.
    pub fn add_unread(&mut self, what: &str, why: &str) {
        self.unread.push(Unread { what: what.into(), why: why.into() });
    }

    /// Returns the facts that could not be read.
    pub fn into_unread(self) -> Vec<Unread> {
        self.unread
    }

    fn text(&self, path: &str) -> io::Result<String> {
        let mut bytes = Vec::new();
        fs::File::open(self.place(path))?.take(BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    fn place(&self, path: &str) -> PathBuf {
        self.root.join(Path::new(path).strip_prefix("/").unwrap_or(Path::new(path)))
    }
}

/// Returns the meaning of a file's error.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is none".into(),
        // EACCES; the EPERM of a kernel under lockdown is for root, too.
        ErrorKind::PermissionDenied if error.raw_os_error() == Some(13) => {
            "only root may read it".into()
        }
        _ => error.to_string(),
    }
}
