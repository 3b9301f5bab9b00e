//! Problems of a machine, and facts worth knowing, by a pure function of the facts. A finding names
//! a cause that was tried or read, or states that it is unknown. Thresholds are constants with
//! their reasons.

mod system;
mod wifi;

use crate::document::{Facts, Finding, Severity};

/// Returns all findings: problems first, otherwise in the order of the search.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut all = system::findings(facts);
    all.extend(wifi::findings(facts));
    all.sort_by_key(|finding| finding.severity);
    all
}

/// Makes a finding about the machine.
fn finding(
    key: &str,
    severity: Severity,
    what: impl Into<String>,
    means: impl Into<String>,
    remedy: Option<String>,
) -> Finding {
    Finding {
        key: key.into(),
        severity,
        interface: None,
        what: what.into(),
        means: means.into(),
        remedy,
    }
}

/// Formats milliseconds for readers with three digits, long ones as seconds: a unit that changes is
/// not `figures::text::number`.
fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms >= 1_000.0 => format!("{:.1} s", ms / 1e3),
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 10.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.2} ms"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
