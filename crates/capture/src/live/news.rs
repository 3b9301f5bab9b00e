//! New findings: those of a kind, about a station or a flow, that earlier readings did not have. A
//! finding that returns is not new; its numbers may change.

use crate::analysis::Analysis;
use crate::finding::{Extent, Finding, Kind, findings};
use lasthop_units::Duration;
use std::collections::BTreeMap;

/// A finding, and the time since it was first found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Current form of the finding.
    pub finding: Finding,
    /// Time since the first reading with the finding; zero in that reading.
    pub age: Duration,
}

impl Found {
    /// Whether it is marked as new.
    pub fn is_new(&self) -> bool {
        self.age < NEW
    }
}

/// Findings of earlier readings.
#[derive(Debug, Default)]
pub struct News {
    /// Time of the first reading with each finding.
    seen: BTreeMap<Subject, Duration>,
    now: Duration,
}

/// Subject of a finding: its kind, its station, the first of its frames if it has no station, and
/// the number of such findings before it, as a station may have two directions.
type Subject = (Kind, Option<String>, Option<u64>, usize);

/// Time for which a finding is new.
const NEW: Duration = Duration::from_secs(10);
/// Largest number of findings remembered. Beyond it, old ones may become new again.
const SEEN_MAX: usize = 10_000;

impl News {
    /// Returns the findings of an analysis, `interval` after the previous ones.
    pub fn found_in(&mut self, analysis: &Analysis, interval: Duration) -> Vec<Found> {
        self.mark(findings(analysis, Extent::LATEST), interval)
    }

    fn mark(&mut self, found: Vec<Finding>, interval: Duration) -> Vec<Found> {
        self.now = self.now.saturating_add(interval);
        if self.seen.len() > SEEN_MAX {
            self.seen.clear();
        }
        let mut same = BTreeMap::new();
        let mark = |finding: Finding| {
            let first = finding.station.is_none().then_some(finding.frames[0]);
            let key = (finding.kind, finding.station.clone(), first);
            let number: &mut usize = same.entry(key.clone()).or_default();
            let subject = (key.0, key.1, key.2, *number);
            *number += 1;
            let since = *self.seen.entry(subject).or_insert(self.now);
            Found { finding, age: self.now - since }
        };
        found.into_iter().map(mark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: Kind, station: Option<&str>, frame: u64) -> Finding {
        Finding {
            kind,
            sentence: String::new(),
            frames: [frame, frame],
            from_s: 0.0,
            to_s: 0.0,
            harm: 0.5,
            check: String::new(),
            station: station.map(str::to_owned),
        }
    }

    /// New for ten seconds are a second direction of the same station and another flow, but not the
    /// same finding with other frames.
    #[test]
    fn what_was_seen_is_not_new() {
        let mut news = News::default();
        let mut new = |found: &[(Kind, Option<&str>, u64)], seconds: u64| {
            let found = found.iter().map(|(kind, station, frame)| finding(*kind, *station, *frame));
            let marked = news.mark(found.collect(), Duration::from_secs(seconds));
            marked.iter().map(Found::is_new).collect::<Vec<_>>()
        };
        let (retry, loss) = (Kind::HighRetry, Kind::TcpLoss);
        assert_eq!(new(&[(retry, Some("a"), 1)], 1), [true]);
        assert_eq!(new(&[(retry, Some("a"), 1)], 9), [true]);
        assert_eq!(new(&[(retry, Some("a"), 7)], 1), [false]);
        assert_eq!(new(&[(retry, Some("a"), 7), (retry, Some("a"), 9)], 1), [false, true]);
        assert_eq!(new(&[], 60), [false; 0]);
        assert_eq!(new(&[(loss, None, 3), (retry, Some("a"), 7)], 1), [true, false]);
        assert_eq!(new(&[(loss, None, 4), (loss, None, 3)], 20), [true, false]);
    }
}
