//! The document of a machine, from its facts alone.

use crate::document::{DoctorDocument, Facts};

impl DoctorDocument {
    /// Derives the states of verbs and the findings from the facts.
    pub fn new(facts: Facts) -> Self {
        let findings = crate::finding::findings(&facts);
        let verbs = crate::verb::verbs(&facts, &findings);
        Self { version: env!("CARGO_PKG_VERSION").into(), facts, verbs, findings }
    }
}
