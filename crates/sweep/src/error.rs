//! Errors of the folder of a sweep.

use lasthop_trace::OutputError;
use std::io;
use std::path::PathBuf;

/// Errors of the folder of a sweep.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file of the folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Output(OutputError),
    /// The folder belongs to another sweep.
    #[error("{}: the sweep in this folder is another one, and results of two are not mixed: {difference}", path.display())]
    Another {
        /// Path of the folder.
        path: PathBuf,
        /// The difference between the sweeps.
        difference: String,
    },
    /// Another process writes the folder.
    #[error(
        "{}: another process works on this sweep{}; wait until it has ended",
        path.display(),
        holder.map_or(String::new(), |process| format!(": process {process}"))
    )]
    Busy {
        /// The locked journal or folder.
        path: PathBuf,
        /// The process, if the system names it.
        holder: Option<u32>,
    },
    /// The folder contains text that no sweep wrote.
    #[error("{}: {message}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Place and kind of the damage.
        message: String,
    },
}

impl From<OutputError> for StoreError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Busy { path, holder } => Self::Busy { path, holder },
            error => Self::Output(error),
        }
    }
}
