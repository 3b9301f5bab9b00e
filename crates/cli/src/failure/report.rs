//! Prints the failures of commands. Errors end in status 2, an interrupt in 128 plus the number of
//! the signal, as in a shell. If the reader of standard output is gone, nothing is printed, and the
//! status is 0.

use super::Failure;
use crate::console::{self, Stream};
use lasthop_config::ConfigError;
#[cfg(feature = "lab")]
use lasthop_emulate::EmulateError;
#[cfg(feature = "lab")]
use miette::{GraphicalReportHandler, GraphicalTheme};

/// Exit status after an error.
pub const ERROR_STATUS: u8 = 2;

impl Failure {
    /// Prints the failure on standard error; returns the exit status.
    pub fn report(&self) -> u8 {
        match self {
            Self::Config(error) => console::error(&config_text(error)),
            Self::Message(message) => print_error(message),
            #[cfg(feature = "lab")]
            Self::System(error) => print_error(&EmulateError::Os(error.clone()).to_string()),
            Self::Interrupted { signal } => {
                console::error("interrupted\n");
                return 128 + signal;
            }
            Self::Stopped => {}
            Self::NoReader => return 0,
        }
        ERROR_STATUS
    }
}

fn print_error(message: &str) {
    console::error(&format!("{} {message}\n", Stream::Error.red("error:")));
}

/// Formats the errors of a file: on a terminal with the lines of the file, otherwise one line
/// for each error, for editors and logs.
fn config_text(error: &ConfigError) -> String {
    #[cfg(feature = "lab")]
    if Stream::Error.is_terminal() && !Stream::Error.is_plain() {
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode())
            .with_width(console::width())
            .without_cause_chain();
        let mut text = String::new();
        if handler.render_report(&mut text, error).is_ok() {
            return text;
        }
    }
    format!("{error}\n")
}
