//! Errors of writing a file or a stream of a run.

use std::io;
use std::path::PathBuf;

/// An error with a file, a directory or a stream.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The directory cannot be made, or no file can be made in it.
    #[error("cannot write to directory {}: {source}", path.display())]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another process writes to the directory.
    #[error(
        "{}: {} writes its results to this directory; wait until it has ended, or choose another one",
        path.display(),
        holder.map_or("another process".to_owned(), |process| format!("process {process}"))
    )]
    Busy {
        /// Path of the directory.
        path: PathBuf,
        /// The process, if the system reports it.
        holder: Option<u32>,
    },
    /// A file cannot be made, written or given its name.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Path of the file with its final name.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A stream rejected the data.
    #[error("cannot write to a stream: {0}")]
    Stream(io::Error),
}
