//! Failures of a command. The module `report` prints them.

mod report;

use lasthop_config::ConfigError;
#[cfg(feature = "lab")]
use lasthop_emulate::EmulateError;
#[cfg(feature = "lab")]
use lasthop_linux::OsError;
use std::fmt::Display;

pub use report::ERROR_STATUS;

/// Reasons for the failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// The scenario or the configuration is invalid.
    Config(Box<ConfigError>),
    /// Another error; the message has the cause and the remedy.
    Message(String),
    /// The system refuses an operation of an emulation.
    #[cfg(feature = "lab")]
    System(OsError),
    /// A signal ended the command.
    Interrupted {
        /// Number of the signal.
        signal: u8,
    },
    /// A run was stopped early, because another one failed or a signal came.
    Stopped,
    /// The reader of standard output is gone.
    NoReader,
}

impl Failure {
    /// Returns a failure with the message of `error`.
    pub fn message(error: impl Display) -> Self {
        Self::Message(error.to_string())
    }
}

#[cfg(feature = "lab")]
impl From<EmulateError> for Failure {
    fn from(error: EmulateError) -> Self {
        match error {
            EmulateError::Os(error) => Self::System(error),
            _ => Self::message(error),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Config(Box::new(error))
    }
}
