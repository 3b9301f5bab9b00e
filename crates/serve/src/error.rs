//! Errors of starting a server.

use std::io;
use std::path::PathBuf;

/// Errors of starting a server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port is in use, or not permitted.
    #[error("cannot listen on 127.0.0.1, port {port}: {source}; --port 0 selects a free one")]
    Listen {
        /// Port of the server.
        port: u16,
        /// The error of the system.
        source: io::Error,
    },
    /// The system refuses a thread or random bytes.
    #[error("cannot start the server: {0}")]
    System(io::Error),
    /// The folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder has no run.
    #[error(
        "{}: expected a folder with run.json (simulate, emulate), or with such folders in it, which \
         --out made", path.display()
    )]
    NoRuns {
        /// Path of the folder.
        path: PathBuf,
    },
}
