//! How a command fails, and what the person is told. Everything that lasthop
//! itself cannot do ends in status 2, an interrupt in 128 and the signal's
//! number, as in a shell. A reader that went away is no news to anybody.

use crate::console::{self, Stream};
use lasthop_live::EmulateError;
use lasthop_live::os::OsError;
use lasthop_scenario::ScenarioError;
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::fmt::Display;

/// Status after an error.
pub const ERROR_STATUS: u8 = 2;
/// Why a command did not do what it should.
#[derive(Debug)]
pub enum Failure {
    /// The scenario is wrong.
    Scenario(Box<ScenarioError>),
    /// Something else is; the message says what, and what to do.
    Message(String),
    /// The system refuses what an emulation needs.
    System(OsError),
    /// A signal asked to end.
    Interrupted {
        /// Its number.
        signal: u8,
    },
    /// A run was left early because another one failed, or a signal came.
    Stopped,
    /// Whoever read standard output has gone.
    NoReader,
}

impl Failure {
    /// A failure that says what `error` says.
    pub fn message(error: impl Display) -> Self {
        Self::Message(error.to_string())
    }

    /// Tells on standard error; gives the exit status.
    pub fn report(&self) -> u8 {
        match self {
            Self::Scenario(error) => console::error(&scenario_text(error)),
            Self::Message(message) => tell(message),
            Self::System(error) => tell(&EmulateError::Os(error.clone()).to_string()),
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

impl From<EmulateError> for Failure {
    fn from(error: EmulateError) -> Self {
        match error {
            EmulateError::Os(error) => Self::System(error),
            _ => Self::message(error),
        }
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(Box::new(error))
    }
}

fn tell(message: &str) {
    console::error(&format!("{} {message}\n", Stream::Error.red("error:")));
}

/// With the lines of the file on a terminal; one line a problem elsewhere, for
/// editors and logs.
fn scenario_text(error: &ScenarioError) -> String {
    if !Stream::Error.is_plain() {
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
