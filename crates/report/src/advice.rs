//! Findings as they stand in documents and on pages: with the remedies that the scenario accepts,
//! and their trials.

use crate::finding::{Finding, findings};
use crate::remedy::Remedies;
use crate::trial::{Trial, Trials};
use lasthop_trace::{FindingSummary, RunDocument};

/// Writes the findings of a run into its document, with the arguments of `--set` that its
/// scenario accepts, and their trials.
pub fn note(run: &mut RunDocument, remedies: &mut Remedies<'_>, trials: &Trials) {
    let found = findings(run);
    run.findings = found.iter().map(|finding| summary(finding, remedies, trials)).collect();
}

/// Returns a finding as it stands in documents and on pages.
pub fn summary(finding: &Finding, remedies: &mut Remedies<'_>, trials: &Trials) -> FindingSummary {
    let remedy = remedies.for_finding(finding);
    let trial = trials.with(&remedy);
    FindingSummary {
        kind: finding.kind.as_str().to_owned(),
        title: finding.kind.title().to_owned(),
        sentence: finding.sentence.clone(),
        weight: (finding.weight * 1e6).round() / 1e6,
        not_tried: (trial.is_none() && !remedy.is_empty())
            .then(|| trials.why_not(&remedy).to_owned()),
        trial: trial.map(Trial::summary),
        remedy,
        device: finding.device.map(str::to_owned),
    }
}
