//! The result of one run of a sweep, and its line in the journal.

use lasthop_trace::RunDocument;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Text before the checksum of a line, which is the last of its keys.
const SUM_KEY: &str = ",\"sha256\":\"";
/// Text after the checksum.
const SUM_END: &str = "\"}\n";
/// Bytes of the SHA-256 in a line: one of 2^64 damaged lines is not detected.
const SUM_BYTES: usize = 8;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Values of the varied keys, as written, in the order of the keys.
    pub values: Vec<String>,
    /// Number of the run.
    pub run: u32,
    /// Result of the run.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Document of the run.
    Document(Box<RunDocument>),
    /// Reason for the missing document.
    Error(String),
}

impl Record {
    /// Returns the record as a line, with its checksum and its end.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("a document is valid JSON");
        line.pop();
        let sum = sum(line.as_bytes());
        line + SUM_KEY + &sum + SUM_END
    }
}

/// Whether the checksum of a line is right.
pub(crate) fn is_sound(line: &[u8]) -> bool {
    let tail = SUM_KEY.len() + 2 * SUM_BYTES + SUM_END.len();
    let Some(at) = line.len().checked_sub(tail) else { return false };
    let (content, tail) = line.split_at(at);
    tail == [SUM_KEY, &sum(content), SUM_END].concat().as_bytes()
}

/// Returns the first digits of the SHA-256 of the text before the checksum.
fn sum(content: &[u8]) -> String {
    Sha256::digest(content).iter().take(SUM_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// A line of the journal for tables, with the document as JSON.
#[derive(Debug, Deserialize)]
pub(crate) struct Ended {
    #[serde(default)]
    pub document: Option<serde_json::Value>,
    #[serde(default)]
    pub error: Option<String>,
}
