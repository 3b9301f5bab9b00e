//! A quantity by second of a capture, second 0 being that of the first packet. The seconds of
//! the latest hours are kept, so that memory is bounded in a capture of days, and whatever times
//! a file holds: a time stamp that is years off costs what was kept, not memory. Before the first
//! second in which there was something nothing is kept either.

use std::collections::VecDeque;

/// Seconds of a link that are kept: four hours.
pub const SECONDS_MAX: usize = 4 * 3_600;

/// Values by second, at most `MAX` of them: from the first that is kept to the latest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seconds<T, const MAX: usize = SECONDS_MAX> {
    first: usize,
    values: VecDeque<T>,
}

impl<T, const MAX: usize> Default for Seconds<T, MAX> {
    fn default() -> Self {
        Self { first: 0, values: VecDeque::new() }
    }
}

impl<T: Clone + Default, const MAX: usize> Seconds<T, MAX> {
    /// The value of a second, to be changed. If it is later than all before, the earliest ones
    /// are forgotten, as far as there are more than `MAX`; if it is too early to be kept, it is
    /// that of the earliest second that is kept.
    pub fn at(&mut self, second: usize) -> &mut T {
        if self.values.is_empty() {
            self.first = second;
        }
        if second < self.first && self.end() - second <= MAX {
            for _ in second..self.first {
                self.values.push_front(T::default());
            }
            self.first = second;
        }
        let mut index = second.saturating_sub(self.first);
        if index >= MAX {
            let forgotten = (index + 1 - MAX).min(self.values.len());
            self.values.drain(..forgotten);
            self.first = if self.values.is_empty() { second } else { self.first + forgotten };
            index = second - self.first;
        }
        if self.values.len() <= index {
            self.values.resize(index + 1, T::default());
        }
        &mut self.values[index]
    }

    /// The value of a second; `None` if it is not kept, or there was nothing from it on.
    pub fn get(&self, second: usize) -> Option<&T> {
        self.values.get(second.checked_sub(self.first)?)
    }

    /// The seconds that are kept, in their order, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        (self.first..).zip(&self.values)
    }

    /// The seconds from this one on, as far as they are kept.
    pub fn since(&self, second: usize) -> impl Iterator<Item = (usize, &T)> {
        let skipped = second.saturating_sub(self.first).min(self.values.len());
        (self.first + skipped..).zip(self.values.range(skipped..))
    }

    /// The first second that is kept.
    pub const fn first(&self) -> usize {
        self.first
    }

    /// The second behind the last one.
    pub fn end(&self) -> usize {
        self.first + self.values.len()
    }
}

/// Time on the air by second, with what stays of the seconds that are forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// In ns, of the seconds that are kept.
    pub seconds_ns: Seconds<u64>,
    /// In ns, of all seconds.
    pub sum_ns: u64,
    /// The greatest of all seconds but the latest one.
    busiest_ns: u64,
}

impl Busy {
    /// Adds time on the air to a second.
    pub fn add(&mut self, second: usize, ns: u64) {
        let latest = self.seconds_ns.end().saturating_sub(1);
        if second > latest {
            let whole = self.seconds_ns.get(latest).copied().unwrap_or_default();
            self.busiest_ns = self.busiest_ns.max(whole);
        }
        let value = self.seconds_ns.at(second);
        *value += ns;
        if second < latest {
            self.busiest_ns = self.busiest_ns.max(*value);
        }
        self.sum_ns += ns;
    }

    /// Time on the air in the busiest second in ns. The latest one, which is most often not a
    /// whole one, counts only if it is the only one.
    pub fn busiest_ns(&self) -> u64 {
        match self.seconds_ns.end() {
            end @ ..=1 => self.seconds_ns.get(end.saturating_sub(1)).copied().unwrap_or_default(),
            _ => self.busiest_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// A map without bounds, of which only the latest seconds are looked at.
        #[test]
        fn seconds_are_those_of_a_map(
            added in proptest::collection::vec((0usize..60, any::<bool>(), 1u64..9), 1..80),
        ) {
            let mut seconds = Seconds::<u64, 8>::default();
            let mut map = BTreeMap::<usize, u64>::new();
            let mut now = 0;
            for (ahead, back, value) in added {
                // Mostly ascending, now and then some seconds back, or far ahead.
                let second =
                    if back { now - now.min(ahead % 10) } else { now + ahead % 4 * (ahead / 4) };
                now = now.max(second);
                let first = (now + 1).saturating_sub(8);
                let counted = if second < first { seconds.first() } else { second };
                *seconds.at(second) += value;
                *map.entry(counted).or_default() += value;
                map.retain(|second, _| *second >= first);
                for second in first..now + 3 {
                    let expected = map.get(&second).copied().unwrap_or_default();
                    prop_assert_eq!(seconds.get(second).copied().unwrap_or_default(), expected);
                }
                prop_assert!(seconds.values.len() <= 8);
                prop_assert_eq!(seconds.iter().count(), seconds.end() - seconds.first());
                for from in [0, first, now, now + 1] {
                    let since = seconds.iter().filter(|(second, _)| *second >= from);
                    prop_assert!(seconds.since(from).eq(since));
                }
            }
        }

        /// The busiest of all seconds but the last, and the sum, although few are kept.
        #[test]
        fn what_is_forgotten_stays_in_sum_and_maximum(
            added in proptest::collection::vec((0usize..3, 1u64..9), 1..200),
        ) {
            let mut busy = Busy::default();
            let mut all = vec![0];
            for (ahead, value) in added {
                all.resize(all.len() + ahead * 3_000, 0);
                let second = all.len() - 1;
                all[second] += value;
                busy.add(second, value);
                let whole = all.len().saturating_sub(1).max(1);
                prop_assert_eq!(busy.busiest_ns(), all[..whole].iter().copied().max().unwrap());
                prop_assert_eq!(busy.sum_ns, all.iter().sum::<u64>());
            }
        }
    }

    /// A time stamp in the year 2262 behind one in 1970 takes no memory.
    #[test]
    fn years_take_no_memory() {
        let mut seconds = Seconds::<u64>::default();
        *seconds.at(0) += 1;
        *seconds.at(usize::MAX - 1) += 2;
        *seconds.at(5) += 4;
        assert_eq!(seconds.iter().collect::<Vec<_>>(), [(usize::MAX - 1, &6)]);
    }
}
