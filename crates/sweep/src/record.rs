//! The result of one run of a sweep, and the line that it is in the journal.

use lasthop_trace::RunDocument;
use serde::{Deserialize, Serialize};

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The values of the keys that vary, as they were written, in the keys' order.
    pub values: Vec<String>,
    /// Number of the run.
    pub run: u32,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its document.
    Document(Box<RunDocument>),
    /// Why it has none.
    Error(String),
}

impl Record {
    /// The record as a line, with its end.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("a document is valid JSON");
        line.push('\n');
        line
    }
}

/// A line of the journal as it is read for tables: the document as JSON.
#[derive(Debug, Deserialize)]
pub(crate) struct Ended {
    #[serde(default)]
    pub document: Option<serde_json::Value>,
    #[serde(default)]
    pub error: Option<String>,
}
