//! Which findings are new: those of a kind, about a station (or a flow), that the readings before
//! did not have. A finding that comes back is not new; its numbers may change.

use crate::analysis::Analysis;
use crate::finding::{Extent, Finding, Kind, findings};
use lasthop_units::Duration;
use std::collections::BTreeMap;

/// A finding, and how long it has been known.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The finding as it is now.
    pub finding: Finding,
    /// Time since the reading that had it first; zero in that reading.
    pub age: Duration,
}

impl Found {
    /// Whether it is to be marked as new.
    pub fn is_new(&self) -> bool {
        self.age < NEW
    }
}

/// The findings that were seen.
#[derive(Debug, Default)]
pub struct News {
    /// When each was first seen.
    seen: BTreeMap<Subject, Duration>,
    now: Duration,
}

/// What a finding is about: its kind, its station, of those without a station the first of its
/// frames, and how many there were of the same before: a station may have two directions.
type Subject = (Kind, Option<String>, Option<u64>, usize);

/// How long a finding is new.
const NEW: Duration = Duration::from_secs(10);
/// Most findings that are remembered. With more than these, old ones may be new again.
const SEEN_MAX: usize = 10_000;

impl News {
    /// The findings of an analysis, `interval` after the last ones.
    pub fn of(&mut self, analysis: &Analysis, interval: Duration) -> Vec<Found> {
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

    /// New for ten seconds: a second direction of the same station, another flow, but not the
    /// same one again with other frames.
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
